//! Scripts of commands that have another form now: what the old form printed of stored runs and of
//! evidence, recorded with the last binary that had it, and the same figures and exit codes by the
//! new form.

use crate::harness::{Place, entries};
use std::path::{Path, PathBuf};

/// An old form, its new form, the exit code of both, and the file with what both print.
const FORMS: [(&str, &str, i32, &str); 10] = [
    (
        "runs load r1.json r2.json",
        "import r1.json r2.json",
        0,
        "load.txt",
    ),
    (
        "summary --label on=on.csv --label off=off.csv",
        "compare --as r2 --label on=on.csv --label off=off.csv",
        0,
        "r2.txt",
    ),
    ("summary on.csv --r4", "compare --as r4 on.csv", 0, "r4.txt"),
    (
        "capacity tables.tsv --sync-under 1ms --commit-rate 5k --workload LAT25_on_x86",
        "compare --as capacity tables.tsv --sync-under 1ms --commit-rate 5k --curve LAT25_on_x86",
        0,
        "capacity.txt",
    ),
    (
        "capacity tables.tsv --workload NOPE",
        "compare --as capacity tables.tsv --curve NOPE",
        2,
        "",
    ),
    (
        "runs diff r1 r2",
        "compare --as differences r1 r2",
        0,
        "diff.txt",
    ),
    (
        "runs export r1 --format openmetrics",
        "report r1 --format openmetrics",
        0,
        "openmetrics.txt",
    ),
    (
        "runs export r1 --format fio-json",
        "report r1 --format fio-json",
        0,
        "fio.txt",
    ),
    ("runs export r2", "report r2 --format redolab", 0, "r2.json"),
    (
        "tprocc run --url oracle://h/d",
        "run --workload tproc-c --on oracle://h/d",
        2,
        "",
    ),
];

fn recorded(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/old_forms");
    folder.join(name)
}

fn place() -> Place {
    let place = Place::new();
    let study = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/003/tables.tsv");
    std::fs::copy(study, place.path().join("tables.tsv")).expect("copies");
    for name in ["r1.json", "r2.json", "on.csv", "off.csv"] {
        std::fs::copy(recorded(name), place.path().join(name)).expect("copies");
    }
    place
}

/// The words with figures: how a table is laid out, and what its headings are called, may change.
fn figures(text: &str) -> Vec<&str> {
    let words = text.split_whitespace();
    words
        .filter(|word| word.contains(|c: char| c.is_ascii_digit()))
        .collect()
}

#[test]
fn ten_old_scripts_have_new_forms_with_the_same_exit_codes_and_figures() {
    let place = place();
    for (old, new, code, file) in FORMS {
        let words = |form: &str| -> Vec<String> {
            form.split(' ').map(|word| word.replace('_', " ")).collect()
        };
        let refused = place.run(&words(old));
        let (name, _) = new.split_at(new.find(' ').unwrap_or(new.len()));
        refused.expect(2, &["is now: redolab", name]);
        assert_eq!(refused.out, "", "{old}");
        let done = place.run(&words(new));
        done.expect(code, &[]);
        if !file.is_empty() {
            let want = std::fs::read_to_string(recorded(file)).expect("recorded");
            assert_eq!(figures(&done.out), figures(&want), "{old} -> {new}");
            // What another store or program reads is the same to the byte.
            let is_export = new.starts_with("report ");
            assert!(!is_export || done.out == want, "{old} -> {new}");
        }
    }
    let hlogs = ["report", "r1", "--format", "hlog", "-o", "hl"];
    place.run(&hlogs).expect(0, &[]);
    let series = ["commit_latency", "log_file_parallel_write", "log_file_sync"];
    let names = series.map(|name| format!("01-LGWR-LAT1-1.{name}.hlog"));
    assert_eq!(entries(&place.path().join("hl")), names);
}

/// `import --redact` gave these figures; the names of the files are others.
#[test]
fn what_was_redacted_imports_with_the_figures_of_the_old_option() {
    let place = place();
    let old = ["import", "on.csv", "--redact", "names,sql"];
    place.run(&old).expect(2, &["redolab redact"]);
    let redacted = ["redact", "on.csv", "-o", "out"];
    place.run(&redacted).expect(0, &[]);
    let done = place.run(&["import", "out", "--format", "csv"]);
    let want = std::fs::read_to_string(recorded("import.txt")).expect("recorded");
    assert_eq!(
        done.expect(0, &[]).out.replace("out/file-1.csv", "FILE"),
        want
    );
}
