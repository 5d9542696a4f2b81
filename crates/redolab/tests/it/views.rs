//! What the judge of runs finds is in every view of a run: head, tables, findings, JSON, report.

use analysis::account::{self, columns::Columns};
use analysis::thresholds::Thresholds;
use measure::judgement::Weight;
use measure::run::{Origin, Row, Run, WaitStats};
use measure::stack::Stack;
use redolab::experiment::Failure;
use redolab::experiment::begin::new_run;
use redolab::experiment::judge::{judge, note_failure};
use redolab::output::head::head;
use redolab::output::overview::View;
use redolab::output::{json, overview, report, section, table};
use redolab::store::Store;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// A run that a device ended is invalid in every view, with what the device reported. That each
/// fault of a device ends a run so is tested beside the judge.
#[test]
fn every_view_of_a_run_that_its_device_ended_calls_it_invalid() {
    let failures = [
        (
            Error::from_raw_os_error(5),
            "io_error",
            "Input/output error",
        ),
        (Error::from_raw_os_error(28), "io_error", "No space left"),
        (
            Error::from(ErrorKind::WriteZero),
            "short_write",
            "write zero",
        ),
    ];
    for (source, id, word) in failures {
        let mut run = run_with_writes("run", 0.5);
        note_failure(&mut run, &Failure::system("writing redo")(source));
        judge(&mut run, &Thresholds::default(), Vec::new());
        let problem = run.validity.problems.iter().find(|p| p.id == id);
        let detail = &problem.expect("it was noted").detail;
        let account = account::run(&run, &Columns::Usual, false);
        let said = head(&account, &run, table::Style::detect(false, None));
        assert!(
            said.starts_with("Verdict: UNDETERMINED") && said.contains("INVALID"),
            "{id}: {said}"
        );
        assert!(said.contains(word), "{id}: {said}");
        expect_in_findings(&run, (id, detail), id);
        let mut bytes = Vec::new();
        json::write(&run, &mut bytes).expect("into memory");
        let value: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(value["validity"]["valid"], false, "{id}");
        assert_eq!(value["verdict"]["answer"], "undetermined", "{id}");
    }
}

/// The findings as text name a problem whose detail the head above has.
fn expect_in_findings(run: &Run, (id, detail): (&str, &str), name: &str) {
    let style = table::Style::detect(false, None);
    let below = account::findings::section(run, false);
    let below = section::texts([below], style, false);
    assert!(
        below.contains(&format!("Invalid: {id}, see above")) && !below.contains(detail),
        "{name}: {below}"
    );
}

/// A run of one row whose log writes take `mean_ms`.
fn run_with_writes(command: &str, mean_ms: f64) -> Run {
    let command = ["redolab", command].map(str::to_owned);
    let mut run = new_run(Path::new("/u01"), "file", Stack::default(), &command);
    let stats = WaitStats {
        count: 1000,
        mean_ns: mean_ms * 1e6,
        total_ns: (mean_ms * 1e9) as u64,
        max_ns: (mean_ms * 3e6) as u64,
        ..WaitStats::default()
    };
    let events = ["log_file_parallel_write", "log_file_sync"];
    run.rows.push(Row {
        workload: "LGWR-LAT1".to_owned(),
        jobs: 8,
        commits: Some(1000),
        waits: events.map(|e| (e.to_owned(), stats.clone())).into(),
        ..Row::default()
    });
    if command[1] == "import" {
        run.origin = Origin::Imported;
        run.imported = Some(measure::imported::Imported::default());
    }
    run
}

/// The rule of thumb for log file parallel write is in every view of a stored run, whatever
/// command made it.
#[test]
fn slow_log_writes_show_in_every_view_whatever_made_the_run() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(folder.path()).expect("a store");
    assert_eq!(Thresholds::default().write_mean_problem_ms.value, 20.0);
    for command in ["check", "run", "compare", "import"] {
        for (mean_ms, slow) in [(25.0, true), (0.5, false)] {
            let mut made = run_with_writes(command, mean_ms);
            judge(&mut made, &Thresholds::default(), Vec::new());
            let writer = store.begin(&made.run_id).expect("a folder");
            writer.finish(&made).expect("stored");
            let mut held = store.load(&made.run_id).expect("complete");
            let found = held.findings.iter().find(|f| f.id == "latency.write_mean");
            let found = found
                .unwrap_or_else(|| panic!("{command}: no finding"))
                .clone();
            assert_eq!(found.weight == Weight::Bad, slow, "{command}: {found:?}");
            let style = table::Style::detect(false, None);
            let mut bytes = Vec::new();
            json::write(&held, &mut bytes).expect("into memory");
            let views = [
                overview::text(
                    &held,
                    View {
                        columns: &Columns::Usual,
                        verbose: false,
                    },
                    style,
                ),
                String::from_utf8(bytes).expect("UTF-8"),
                report::html(&store, &mut held),
            ];
            for view in views {
                let view: Vec<&str> = view.split_whitespace().collect();
                let says = view.join(" ").contains(&found.claim);
                assert!(says, "{command} at {mean_ms} ms: {}", found.claim);
            }
        }
    }
}
