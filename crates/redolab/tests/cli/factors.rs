//! `redolab compare --factor`: study 001's design from its own lines, designs of one source per
//! cell, and what is no design.

use crate::harness::{Place, schema_problems};
use serde_json::Value;
use std::path::Path;

fn study_001() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/001");
    folder.display().to_string()
}

const DESIGN: [&str; 5] = [
    "compare",
    "--factor",
    "medium=SSD,HDD",
    "--factor",
    "volume=RAW,ASM",
];

/// The effect of a factor on a figure: first level over second, and at each level of the other.
fn effect(json: &Value, place: &str, key: &str, factor: usize) -> (f64, Vec<f64>) {
    let figures = json["figures"].as_array().expect("figures");
    let of = |f: &&Value| f["place"] == place && f["key"] == key;
    let found = figures.iter().find(of);
    let found = found.unwrap_or_else(|| panic!("{place} {key}: {json:#}"));
    let effect = &found["effects"][factor];
    let at = effect["at"].as_array().expect("effects at levels");
    let at = at.iter().map(|a| a[1].as_f64().expect("a ratio"));
    (
        1.0 / effect["ratio"].as_f64().expect("a ratio"),
        at.collect(),
    )
}

#[test]
fn one_command_prints_the_claims_of_study_001() {
    let place = Place::new();
    let study = study_001();
    let arguments = [&DESIGN[..], &[&study]].concat();
    place.run(&arguments).expect(
        0,
        &[
            "wMB/s: SSD 167.86, HDD 130.68",
            "SSD / HDD 1.28x",
            "w/s: SSD 21357.3, HDD 3,343",
            "SSD / HDD 6.39x",
            "Waits: SSD 6,700,242, HDD 5,366,376",
            "SSD / HDD 1.25x",
            "Reqs per sec: SSD/RAW 24,582, SSD/ASM 20,506, HDD/RAW 3,252, HDD/ASM 3,252",
            "at SSD: ASM / RAW 0.834 (-16.6 %), RAW / ASM 1.20x",
            "at SSD: ASM / RAW 0.988 (-1.2 %)",
            "at HDD: ASM / RAW 1.00 (0 %)",
            "interaction: ASM / RAW at HDD is 1.20 times that at SSD;",
            "differences 4,076",
            "There are no intervals",
        ],
    );
    let json = place
        .run(&[&arguments[..], &["--format", "json"]].concat())
        .json();
    let problems = schema_problems("factors-1.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    let near = |found: f64, wanted: f64| assert!((found / wanted - 1.0).abs() < 1e-9, "{found}");
    near(
        effect(&json, "iostat, the device", "write_mb_per_s", 0).0,
        167.86 / 130.68,
    );
    near(
        effect(&json, "iostat, the device", "writes_per_s", 0).0,
        21_357.33 / 3343.0,
    );
    let sync = "Top timed events, log file sync";
    near(effect(&json, sync, "waits", 0).0, 6_700_242.0 / 5_366_376.0);
    let each = [12_709.0 / 5_366_376.0, 4_059.0 / 6_700_242.0];
    near(
        1.0 / effect(&json, sync, "time_per_wait_ms", 0).0,
        each[0] / each[1],
    );
    let asm = effect(&json, "I/O by file type", "write_reqs_per_s", 1).1;
    near(asm[0], 20_506.0 / 24_582.0);
    near(asm[1], 1.0);
}

#[test]
fn sides_that_a_text_calls_unlike_are_said_beside_its_effects() {
    let place = Place::new();
    let table = include_str!("../../../../studies/001/filetype-13-17.txt");
    let text = format!(
        "Obviously there were 15 HDDs compared to 8 SSDs, and it has 512MB of cache compared to the 4GB here.\n\n{table}"
    );
    for (name, text) in [("study.txt", text.as_str()), ("table.txt", table)] {
        std::fs::write(place.path().join(name), text).expect("writes");
    }
    let arguments = [&DESIGN[..], &["study.txt"]].concat();
    let said = "15 HDDs against 8 SSDs, 512MB of cache against 4GB";
    place
        .run(&arguments)
        .expect(0, &["not like for like", said]);
    let json = place
        .run(&[&arguments[..], &["--format", "json"]].concat())
        .json();
    assert_eq!(
        schema_problems("factors-1.schema.json", &json),
        Vec::<String>::new()
    );
    let alone = place.run(&[&DESIGN[..], &["table.txt"]].concat());
    assert!(!alone.out.contains("like for like"), "{}", alone.out);
}

fn iostat(writes: f64) -> String {
    let heading = "Device:  r/s  w/s  rMB/s  wMB/s  await  %util";
    format!(
        "{heading}\nsdb  0.00  {writes:.2}  0.00  {:.2}  0.50  40.00\n",
        writes / 100.0
    )
}

#[test]
fn sources_are_cells_and_several_of_a_cell_give_intervals() {
    let place = Place::new();
    let mut arguments: Vec<String> = DESIGN.map(str::to_owned).to_vec();
    for (cell, level) in [
        ("ssd,raw", 4000.0),
        ("ssd,asm", 4000.0),
        ("hdd,raw", 2000.0),
        ("asm,hdd", 1000.0),
    ] {
        for (round, noise) in [0.99, 1.0, 1.01].iter().enumerate() {
            let file = format!("{}-{round}.txt", cell.replace(',', "-"));
            std::fs::write(place.path().join(&file), iostat(level * noise)).expect("writes");
            arguments.extend(["--cell".to_owned(), format!("{cell}={file}")]);
        }
    }
    place.run(&arguments).expect(
        0,
        &[
            "SSD/RAW 4,000 (mean of 3)",
            "1,000 (mean of 3)",
            "at HDD: ASM / RAW 0.500 (-50.0 %)",
            "is 0.500 times that at SSD [0.487 to 0.513 at 95 %]",
            "Intervals are at 95 %",
        ],
    );
    place.run(&arguments[..5]).expect(
        2,
        &["name the document or run", "--cell LEVEL,LEVEL=SOURCE"],
    );
    let missing: Vec<String> = arguments[..arguments.len() - 6].to_vec();
    place.run(&missing).expect(4, &["of 4 cells"]);

    // Runs that were measured are cells, too.
    let (a, b) = (place.store_a_run(), place.store_a_run());
    let runs = [
        "compare",
        "--factor",
        "day=one,two",
        "--cell",
        &format!("one={a}"),
        "--cell",
        &format!("two={b}"),
    ];
    place
        .run(&runs)
        .expect(0, &["commit_throughput_tps (1/s): one", "two / one"]);
}

#[test]
fn what_is_no_design_is_refused() {
    let place = Place::new();
    std::fs::write(place.path().join("a.txt"), iostat(100.0)).expect("writes");
    for (arguments, words) in [
        (vec!["--factor", "medium=SSD"], "write NAME=LEVEL,LEVEL"),
        (vec!["--factor", "medium=SSD,ssd"], "same name"),
        (vec!["--factor", "medium=SSD,HDD,NVME"], "two levels"),
        (vec!["--factor", "m=a,b", "--factor", "n=b,c"], "same name"),
        (
            vec![
                "--factor", "m=a,b", "--factor", "n=c,d", "--factor", "o=e,f",
            ],
            "one or two factors",
        ),
        (
            vec!["--factor", "m=a,b", "--cell", "c=a.txt"],
            "no --factor has the level c",
        ),
        (
            vec!["--factor", "m=a,b", "--cell", "a,b=a.txt"],
            "one level in a cell",
        ),
        (
            vec![
                "--factor", "m=a,b", "--cell", "a=a.txt", "--cell", "b=a.txt",
            ],
            "named twice",
        ),
        (
            vec!["--factor", "m=a,b", "--cell", "a=none.txt"],
            "no such file",
        ),
        (
            vec!["--factor", "m=a,b", "--format", "csv"],
            "table or json",
        ),
    ] {
        let has_source = arguments.contains(&"--cell");
        let file: &[&str] = if has_source { &[] } else { &["a.txt"] };
        place
            .run(&[&["compare"], &arguments[..], file].concat())
            .expect(2, &[words]);
    }
    let none = ["compare", "--factor", "m=a,b", "a.txt"];
    place
        .run(&none)
        .expect(4, &["No figure has a row or a label"]);
    let both = "Test Data/Sec (MB) Reqs/Sec\na/b 170 24582\na 130 3252\nb 10 5\n";
    std::fs::write(place.path().join("both.txt"), both).expect("writes");
    let found = place.run(&["compare", "--factor", "m=a,b", "both.txt"]);
    found.expect(0, &["names both levels of m"]);
}
