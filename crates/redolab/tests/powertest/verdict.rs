//! What power tests make of the verdict of `check`, and how they are listed.

use crate::bench::{Bench, Ended, Medium, Scratch, Server, Writer, await_kept, run, verify};
use crate::disk::Fault;
use crate::raw_device::wipe;
use crate::{alone, skipped};
use serde_json::Value;

pub fn check(scratch: &Scratch, at: &str, method: &str, more: &[&str]) -> Ended {
    // A raw device has sectors of 512 bytes, so that the largest records need larger files.
    let file_size = if more.is_empty() { "4M" } else { "8M" };
    let report = scratch.place("report.html");
    let usual = [
        "check",
        at,
        "--quick",
        "--jobs",
        "1",
        "--time",
        "150ms",
        "--warmup",
        "20ms",
        "--log-file-size",
        file_size,
        "--log-groups",
        "2",
        "--allow-busy",
        "--max-write",
        "8G",
        "--sync-method",
        method,
        "--report",
        &report,
        "--format",
        "json",
        "--quiet",
    ];
    run(scratch.command(&[&usual[..], more].concat()))
}

/// Ids of findings on durability tests, with their claims.
pub fn tests_in(run: &Value) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = run["findings"].as_array().cloned().unwrap_or_default();
    let of_tests = [
        "durability.tested",
        "durability.partly_tested",
        "durability.refuted",
        "durability.stack_changed",
    ];
    let pairs = findings.iter().map(|f| (text(f, "id"), text(f, "claim")));
    pairs
        .filter(|(id, _)| of_tests.contains(&id.as_str()))
        .collect()
}

/// Cuts on this very device: partly tested by default, tested with the bound that they allow, for
/// this sync method alone; and one loss refutes it. The bound is shown with the word everywhere.
#[test]
fn check_takes_over_what_was_tested_on_this_stack() {
    let _alone = alone();
    let mut bench = match Bench::make_on("verdict", Fault::Honest, 23, Medium::RawDevice) {
        Ok(bench) => bench,
        Err(why) => return skipped(&why),
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let cut = |bench: &mut Bench, loses: bool| {
        let consent = ["--destroy", at.as_str()];
        let mut writer = Writer::on(&bench.scratch, &server, &at, &consent);
        await_kept(&bench.scratch, &server.address, &at, 10);
        bench.cut(|| writer.fails()).expect("it is attached again");
        if loses {
            // What a device does that loses a part of itself: the first files of the log.
            wipe(&at, 1 << 20, 2 << 20);
        }
        let kind = ["--cut-kind", "device-power"];
        verify(&bench.scratch, &server.address, &at, &kind)
    };
    for _ in 0..3 {
        let passed = cut(&mut bench, false);
        assert_eq!(passed.code, Some(0), "{passed:?}");
    }
    let checked = |bench: &Bench, method: &str, more: &[&str]| {
        let consent = ["--destroy", at.as_str()];
        check(&bench.scratch, &at, method, &[&consent, more].concat())
    };
    let few = checked(&bench, "direct", &[]).json();
    assert_eq!(few["verdict"]["durability"], "unverified", "{few}");
    assert_ne!(few["verdict"]["answer"], "yes");
    let found = tests_in(&few);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "durability.partly_tested");
    assert!(found[0].1.contains("too few"), "{found:?}");
    let enough = ["--cuts-bound", "64%"];
    let run = checked(&bench, "direct", &enough).json();
    let verdict = &run["verdict"];
    assert_eq!(verdict["durability"], "tested", "{verdict}");
    let bound = verdict["loss_per_cut_below"].as_f64().expect("a number");
    assert!((bound - 0.6316).abs() < 1e-3, "{bound}");
    let claim = &tests_in(&run)[0].1;
    let beside = "3 cuts: below 63.2 % per cut";
    assert!(claim.contains("below 63.2 %"), "{claim}");
    shown_everywhere(&bench.scratch, &run, beside);
    let other = checked(&bench, "dsync", &enough).json();
    assert_eq!(other["verdict"]["durability"], "unverified");
    let found = tests_in(&other);
    let change = "sync method: from direct to dsync";
    assert!(found[0].1.contains(change), "{found:?}");
    let lost = cut(&mut bench, true);
    assert_eq!(lost.code, Some(3), "{lost:?}");
    let refuted = checked(&bench, "direct", &enough).json();
    assert_eq!(refuted["verdict"]["durability"], "refuted");
    assert_eq!(refuted["verdict"]["answer"], "no");
    listed(&bench.scratch);
}

/// The bound is shown with the word in the table, in Markdown and in HTML.
fn shown_everywhere(scratch: &Scratch, checked: &Value, beside: &str) {
    let id = checked["run_id"].as_str().expect("an id");
    let report = std::fs::read_to_string(scratch.path.join("report.html")).expect("written");
    let words = format!("tested ({beside})");
    assert!(report.contains(&words), "the report shows it");
    for form in ["table", "markdown"] {
        let shown = run(scratch.command(&["runs", "show", id, "--format", form]));
        let one_line = shown.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(&words), "{form}: {one_line}");
    }
}

fn listed(scratch: &Scratch) {
    let json = run(scratch.command(&["powertest", "list", "--format", "json"])).json();
    let cycles = json["cycles"].as_array().expect("a list");
    assert_eq!(
        (cycles.len(), json["series"][0]["refuted_cuts"].as_u64()),
        (4, Some(1))
    );
    assert_eq!(
        problems("powertests-1.schema.json", &json),
        Vec::<String>::new()
    );
    for cycle in cycles {
        assert_eq!(
            problems("powertest-1.schema.json", cycle),
            Vec::<String>::new()
        );
    }
    let text = run(scratch.command(&["powertest", "list"]));
    assert!(
        text.out.contains("refuted") && text.out.contains("nothing lost"),
        "{text:?}"
    );
    let file = std::fs::read_dir(scratch.path.join("store/powertests"))
        .expect("stored")
        .next();
    let file = file.expect("one").expect("listed");
    use std::os::unix::fs::PermissionsExt;
    let mode = file.metadata().expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A file that cannot be read hides no other, and no run is made of the folder.
    std::fs::write(file.path(), "{").expect("writes");
    let damaged = run(scratch.command(&["powertest", "list", "--format", "json"])).json();
    assert_eq!(damaged["cycles"].as_array().map(Vec::len), Some(3));
    assert_eq!(damaged["problems"].as_array().map(Vec::len), Some(1));
    let runs = run(scratch.command(&["runs", "list", "--format", "json"])).json();
    let ids: Vec<&str> = runs["runs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|run| run["run_id"].as_str())
        .collect();
    assert!(!ids.is_empty() && !ids.contains(&"powertests"), "{ids:?}");
}

fn problems(schema: &str, value: &Value) -> Vec<String> {
    let path = format!("{}/../../schemas/{schema}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the schema is in the repository");
    let json = serde_json::from_str(&text).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&json).expect("the schema is a schema");
    let errors = validator.iter_errors(value);
    errors
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect()
}
