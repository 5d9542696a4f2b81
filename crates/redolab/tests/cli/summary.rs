//! `compare --as r2` and `--as r4`: R's lines, two samples with a known difference, pooled files,
//! and what is no sample.

use crate::harness::{Place, schema_problems};
use std::fmt::Write;

/// Waits of a session: a wave, so that neighbours are alike, around `level`.
fn waits(level: u64, session: u64, n: u64) -> Vec<u64> {
    let wave = |i: u64| (i * 7919 + session * 104_729) % 97 + (i / 40 % 2) * 30;
    (0..n).map(|i| level + wave(i)).collect()
}

fn trace(event: &str, waits: &[u64]) -> String {
    let mut text = "*** 2026-08-09 10:00:00.000\n".to_owned();
    let mut at = 1_000_000;
    for ela in waits {
        at += ela;
        let rest = "p1=1 p2=2 p3=0 obj#=-1";
        writeln!(text, "WAIT #1: nam='{event}' ela= {ela} {rest} tim={at}").expect("memory");
    }
    text
}

fn write(place: &Place, file: &str, text: &str) {
    let path = place.path().join(file);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("writes");
}

fn pairs(waits: &[u64]) -> String {
    let lines = waits.iter().enumerate();
    let lines = lines.map(|(i, ela)| format!("{},{ela}\n", i + 1));
    std::iter::once("count,elapsed\n".to_owned())
        .chain(lines)
        .collect()
}

/// The lines are R's: `Rscript -e 'summary(c(1, 5, 9, 800, 12345))'`, and
/// `t.test(c(1, 5, 9, 800), c(2, 7, 11))`.
#[test]
fn a_summary_and_a_test_have_the_lines_of_r() {
    let place = Place::new();
    write(&place, "one.csv", &pairs(&[1, 5, 9, 800, 12_345]));
    place.run(&["compare", "--as", "r2", "one.csv"]).expect(
        0,
        &[
            "x: elapsed, 5 values in 1 file, in µs",
            "   Min. 1st Qu.  Median    Mean 3rd Qu.    Max. \n",
            "      1       5       9    2632     800   12345 \n",
        ],
    );
    write(&place, "x.csv", &pairs(&[1, 5, 9, 800]));
    write(&place, "y.csv", &pairs(&[2, 7, 11]));
    let both = [
        "compare", "--as", "r2", "--label", "x=x.csv", "--label", "y=y.csv",
    ];
    place.run(&both).expect(
        0,
        &[
            "\tWelch Two Sample t-test\n\ndata:  x and y\nt = 0.9915, df = 3.001, p-value = 0.3945\n",
            "alternative hypothesis: true difference in means is not equal to 0\n",
            "95 percent confidence interval:\n -435.3807  829.5474\nsample estimates:\n",
            " mean of x  mean of y \n203.750000   6.666667 \n",
            "differences are x minus y",
        ],
    );
    let r4 = [
        &["compare", "--as", "r4"],
        &both[3..],
        &["--confidence", "90"],
    ]
    .concat();
    place.run(&r4).expect(
        0,
        &[
            "t = 0.9915, df = 3.001,",
            "90 percent confidence interval:\n -270.6382  664.8048\n",
        ],
    );
}

#[test]
fn all_files_of_a_label_are_one_sample() {
    let place = Place::new();
    for session in 0..4 {
        let of = |level| trace("log file sync", &waits(level, session, 3_000));
        write(&place, &format!("on/s{session}.trc"), &of(520));
        write(&place, &format!("off/s{session}.trc"), &of(500));
    }
    let pooled = [
        "compare",
        "--as",
        "r2",
        "--label",
        "on=on",
        "--label",
        "off=off/*.trc",
    ];
    let found = place.run(&pooled);
    found.expect(
        0,
        &[
            "on: log file sync, 12,000 values in 4 files, in µs",
            "Difference of the means: +20 µs",
            "the means differ",
            "Hodges-Lehmann shift, from all pairs of values: +20 µs",
            "Significance is not size",
            "Density on a logarithmic axis",
        ],
    );
    let json = place
        .run(&[&pooled[..], &["--format", "json"]].concat())
        .json();
    let problems = schema_problems("summary-1.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    let difference = &json["difference"];
    assert_eq!(difference["mean_us"].as_f64(), Some(20.0));
    assert_eq!(difference["differs"].as_bool(), Some(true));
    let [low, high] = ["low", "high"].map(|end| {
        let end = difference["block_bootstrap_us"][end].as_f64();
        end.expect("an interval")
    });
    assert!(low < 20.0 && 20.0 < high, "{low} {high}");
    assert_eq!(json["samples"][0]["n"].as_u64(), Some(12_000));

    // The same files on both sides, under other names: no difference.
    for session in 0..4 {
        let text = trace("log file sync", &waits(520, session, 3_000));
        write(&place, &format!("again/s{session}.trc"), &text);
    }
    place
        .run(&[
            "compare", "--as", "r2", "--label", "a=on", "--label", "b=again",
        ])
        .expect(
            0,
            &["Difference of the means: 0 µs", "no difference was found"],
        );
}

#[test]
fn the_event_is_what_every_sample_has() {
    let place = Place::new();
    let syncs = trace("log file sync", &waits(500, 1, 50));
    let writes = trace("log file parallel write", &waits(300, 2, 60));
    write(&place, "both.trc", &format!("{syncs}{writes}"));
    write(&place, "lgwr.trc", &writes);
    place
        .run(&["compare", "--as", "r2", "both.trc"])
        .expect(0, &["x: log file sync, 50 values"]);
    let labels = [
        "compare",
        "--as",
        "r2",
        "--label",
        "a=both.trc",
        "--label",
        "b=lgwr.trc",
    ];
    let found = place.run(&labels);
    found.expect(
        0,
        &[
            "a: log file parallel write, 60",
            "b: log file parallel write, 60",
        ],
    );
    place
        .run(&[
            "compare",
            "--as",
            "r2",
            "lgwr.trc",
            "--event",
            "log file sync",
        ])
        .expect(
            1,
            &[
                "no values of `log file sync`",
                "there are: log file parallel write",
            ],
        );
    let reads = trace("db file sequential read", &waits(300, 2, 60));
    write(&place, "reads.trc", &reads);
    let tried = "no values of `log file sync` or `log file parallel write`";
    place.run(&["compare", "--as", "r2", "reads.trc"]).expect(
        1,
        &["reads.trc: there are ", tried, "db file sequential read"],
    );
    place
        .run(&[
            "compare",
            "--as",
            "r2",
            "--label",
            "on=lgwr.trc",
            "--label",
            "off=reads.trc",
        ])
        .expect(1, &["off (reads.trc): there are ", tried]);
}

#[test]
fn a_line_that_is_not_a_number_and_an_empty_file_are_named() {
    let place = Place::new();
    write(
        &place,
        "bad.csv",
        "count,elapsed\n1,500\n2,501\n3,xx\n4,503\n",
    );
    write(&place, "empty.csv", "");
    for command in [&["compare", "--as", "r2"][..], &["import"]] {
        let bad = place.run(&[command, &["bad.csv"]].concat());
        bad.expect(1, &["bad.csv: line 4: 'xx' is not a number"]);
        let empty = place.run(&[command, &["empty.csv"]].concat());
        empty.expect(1, &["empty.csv: the file is empty"]);
        for done in [bad, empty] {
            assert!(!done.err.contains("looked for"), "{}", done.err);
        }
        let asked = place.run(&[command, &["empty.csv", "--kind", "count-elapsed"]].concat());
        asked.expect(1, &["empty.csv: the file is empty"]);
        assert!(!asked.err.contains("--kind"), "{}", asked.err);
    }
    place
        .run(&[
            "compare",
            "--as",
            "r2",
            "bad.csv",
            "--kind",
            "count-elapsed",
        ])
        .expect(0, &["3 values"]);
}

#[test]
fn one_value_equal_values_and_no_values() {
    let place = Place::new();
    write(&place, "one.csv", &pairs(&[5]));
    write(&place, "equal.csv", &pairs(&[5; 40]));
    write(&place, "no.txt", "nothing of the kind\n");
    place
        .run(&["compare", "--as", "r2", "one.csv"])
        .expect(0, &["One value has no spread"]);
    let found = place.run(&[
        "compare",
        "--as",
        "r2",
        "--label",
        "a=one.csv",
        "--label",
        "b=equal.csv",
    ]);
    found.expect(
        0,
        &[
            "Not computed: Welch's t test",
            "Not computed: block bootstrap",
        ],
    );
    assert!(
        !found.out.contains("NaN") && !found.out.contains("inf"),
        "{}",
        found.out
    );
    place
        .run(&["compare", "--as", "r2", "no.txt"])
        .expect(1, &["no.txt"]);
    let twice = [
        "compare",
        "--as",
        "r2",
        "--label",
        "a=one.csv",
        "--label",
        "b=one.csv",
    ];
    place.run(&twice).expect(2, &["in both samples"]);
    place
        .run(&["compare", "--as", "r2", "--label", "a"])
        .expect(2, &["write NAME=PATH"]);
    let three = [
        &twice[..5],
        &["--label", "b=equal.csv", "--label", "c=no.txt"],
    ]
    .concat();
    place.run(&three).expect(2, &["not three"]);
    place
        .run(&["compare", "--as", "r2", "-"])
        .expect(2, &["--event"]);
    place
        .run(&["compare", "--as", "r2"])
        .expect(2, &["name what to compare"]);
    let path = place.path().join("a\u{1b}[2J.csv");
    std::fs::write(&path, pairs(&[1, 2, 3])).expect("writes");
    let name = path.display().to_string();
    let found = place.run(&["compare", "--as", "r2", &name, "no\u{1b}[2J"]);
    assert!(!found.err.contains('\u{1b}') && !found.out.contains('\u{1b}'));
}
