//! What power tests make of the verdict of `check`, and how they are listed.

use crate::bench::{Ended, Scratch, Server, Writer, await_kept, run, verify};
use crate::skipped;
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
        "durability.refuted",
        "durability.stack_changed",
    ];
    let pairs = findings.iter().map(|f| (text(f, "id"), text(f, "claim")));
    pairs
        .filter(|(id, _)| of_tests.contains(&id.as_str()))
        .collect()
}

/// A test passes on this very device: the verdict is tested, for this sync method alone; and one
/// loss refutes it.
#[test]
fn check_takes_over_what_was_tested_on_this_stack() {
    let scratch = Scratch::new("verdict");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let cut = |lose: bool| {
        let mut writer = Writer::on(&scratch, &server, &at, &[]);
        await_kept(&scratch, &server.address, &at, 10);
        writer.kill();
        if lose {
            let folder = scratch.path.join("plain/redolab-powertest");
            std::fs::remove_dir_all(folder).expect("removes");
        }
        verify(
            &scratch,
            &server.address,
            &at,
            &["--cut-kind", "device-power"],
        )
    };
    for _ in 0..4 {
        let passed = cut(false);
        assert_eq!(passed.code, Some(0), "{passed:?}");
    }
    let checked = check(&scratch, &at, "direct", &[]).json();
    if checked["verdict"]["durability"] == "volatile" {
        return skipped("the folder for temporary files is in memory");
    }
    assert_eq!(
        checked["verdict"]["durability"], "tested",
        "{}",
        checked["verdict"]
    );
    let found = tests_in(&checked);
    assert_eq!(found.len(), 1, "{found:?}");
    let claim = &found[0].1;
    assert!(
        claim.contains("0 lost in 4 cuts") && claim.contains("below 3/4 = 75 %"),
        "{claim}"
    );
    let report = std::fs::read_to_string(scratch.path.join("report.html")).expect("written");
    assert!(report.contains("0 lost in 4 cuts"), "the report shows it");
    let other = check(&scratch, &at, "buffered", &[]).json();
    assert_eq!(other["verdict"]["durability"], "unverified");
    let found = tests_in(&other);
    assert!(
        found[0].1.contains("sync method: from direct to buffered"),
        "{found:?}"
    );
    let lost = cut(true);
    assert_eq!(lost.code, Some(3), "{lost:?}");
    let refuted = check(&scratch, &at, "direct", &[]).json();
    assert_eq!(refuted["verdict"]["durability"], "refuted");
    assert_eq!(refuted["verdict"]["answer"], "no");
    listed(&scratch);
}

fn listed(scratch: &Scratch) {
    let json = run(scratch.command(&["powertest", "list", "--format", "json"])).json();
    let cycles = json["cycles"].as_array().expect("a list");
    assert_eq!(
        (cycles.len(), json["series"][0]["refuted_cuts"].as_u64()),
        (5, Some(1))
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
    assert_eq!(damaged["cycles"].as_array().map(Vec::len), Some(4));
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

/// The text that people read: the result, the cut and what it covers.
#[test]
fn the_text_of_a_judged_cut_says_what_it_covers() {
    let scratch = Scratch::new("text");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let mut writer = Writer::on(&scratch, &server, &at, &[]);
    await_kept(&scratch, &server.address, &at, 10);
    writer.kill();
    let token = scratch.token();
    let judged = run(scratch.command(&[
        "powertest",
        "verify",
        "--on",
        &at,
        "--to",
        &server.address,
        "--token-file",
        &token,
        "--cut-kind",
        "file-system-shutdown",
    ]));
    assert_eq!(judged.code, Some(0), "{judged:?}");
    let one_line = judged.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "NOTHING LOST",
        "0 of ",
        "The cut, as stated: file-system shutdown",
        "the device kept its cache",
        "the verdict of check stays unverified",
    ] {
        assert!(one_line.contains(words), "{words}: {one_line}");
    }
}
