//! Truth (R15): a device that fails in any of the ways of R5 makes the run invalid, and every view
//! of it says so: table, JSON, report, store.

use super::*;
use crate::experiment::begin::new_run;
use crate::experiment::console::Silent;
use crate::experiment::ending::keep;
use crate::experiment::fixture::in_a_quiet_lab;
use crate::experiment::limits::ServersToMake;
use crate::experiment::plan::MeasurementPlan;
use crate::experiment::prepare::{Extent, prepare};
use crate::experiment::row::{self, Spec};
use crate::experiment::target::{LoadTarget, Setup};
use crate::output::head::head;
use crate::output::overview::View;
use crate::output::stored::tables;
use crate::output::{json, report, table, verdict};
use crate::store::Store;
use analysis::account::columns::Columns;
use device::LogDevice;
use device::fault::{EINTR, EIO, ENOSPC, Fault, FaultDevice, FaultTarget, Injection};
use measure::Nanos;
use measure::judgement::{Answer, Weight};
use measure::run::{Row, WaitStats};
use measure::stack::Stack;
use measure::workload::Workload;
use std::path::Path;
use std::sync::Arc;

/// What strikes, its problem's id, and a word of what is reported.
const FAULTS: [(&str, FaultTarget, Fault, &str, &str); 6] = [
    (
        "EIO of a write",
        FaultTarget::Write,
        Fault::Errno(EIO),
        "io_error",
        "a log write failed",
    ),
    (
        "ENOSPC of a write",
        FaultTarget::Write,
        Fault::Errno(ENOSPC),
        "io_error",
        "No space left",
    ),
    (
        "EINTR of a write",
        FaultTarget::Write,
        Fault::Errno(EINTR),
        "io_error",
        "Interrupted system call",
    ),
    (
        "a short write",
        FaultTarget::Write,
        Fault::Short(512),
        "short_write",
        "cut short",
    ),
    (
        "EIO of a flush",
        FaultTarget::Flush,
        Fault::Errno(EIO),
        "io_error",
        "a flush failed",
    ),
    (
        "ENOSPC of a flush",
        FaultTarget::Flush,
        Fault::Errno(ENOSPC),
        "io_error",
        "No space left",
    ),
];

fn spec(jobs: u32) -> Spec {
    let workload = Workload::standard().remove(0);
    Spec {
        commits: Some(20),
        ..Spec::closed(workload, jobs, Nanos::ZERO, Nanos::ZERO)
    }
}

/// A row that is sound, then one into which the fault strikes: what the command is left with.
fn run_into(target: FaultTarget, fault: Fault, for_good: bool) -> (Run, Failure) {
    let mut faults = None;
    let log = LoadTarget::null_in(Setup::default(), |inner| {
        let device = Arc::new(FaultDevice::new(inner));
        faults = Some(Arc::clone(&device));
        device as Arc<dyn LogDevice>
    });
    let (log, faults) = (log.expect("no fault yet"), faults.expect("it was wrapped"));
    let mut run = new_run(Path::new("/redo"), "file", Stack::default(), &[]);
    let row = |number, jobs| in_a_quiet_lab(&log, |lab| row::run(lab, number, &spec(jobs)));
    run.rows.push(row(1, 1).expect("no fault yet"));
    let counts = faults.counts();
    let before = match target {
        FaultTarget::Write => counts.writes,
        FaultTarget::Flush => counts.flushes,
        FaultTarget::Read => counts.reads,
    };
    faults.inject(Injection {
        target,
        nth: before + 3,
        fault,
        for_good,
    });
    let failure = row(2, 2).expect_err("the log has failed");
    assert!(faults.counts().struck > 0);
    (run, failure)
}

#[test]
fn every_fault_makes_the_run_invalid_and_every_view_says_so() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(folder.path()).expect("a store");
    let plan = MeasurementPlan {
        rows: vec![spec(1)],
        ..MeasurementPlan::default()
    };
    let on = Extent {
        targets: 0,
        logs: 1,
        rounds: 1,
        raw: false,
        servers: ServersToMake::default(),
    };
    let prepared = prepare(&plan, on).expect("without a limit everything fits");
    let each = FAULTS
        .iter()
        .flat_map(|fault| [(fault, false), (fault, true)]);
    let mut told = 0;
    for ((name, target, fault, id, word), for_good) in each {
        let name = format!("{name}, {}", if for_good { "for good" } else { "once" });
        let (mut run, failure) = run_into(*target, *fault, for_good);
        run.run_id = format!("fault-{told}");
        let writer = store.begin(&run.run_id).expect("a folder");
        let stopped = keep(failure, run, &prepared, &writer, &Silent::default());
        let message = stopped.to_string();
        assert!(message.contains(word), "{name}: {message}");
        assert!(message.contains("(incomplete)"), "{name}: {message}");
        let by_device = stopped.by_the_device().cloned();
        let run = by_device.unwrap_or_else(|| panic!("{name}: no run was kept: {message}"));

        assert!(!run.validity.valid, "{name}");
        let problem = run.validity.problems.iter().find(|p| p.id == *id);
        let detail = &problem
            .unwrap_or_else(|| panic!("{name}: {:?}", run.validity))
            .detail;
        assert!(detail.contains(word), "{name}: {detail}");
        let finding = run
            .findings
            .iter()
            .find(|f| f.id == format!("validity.{id}"));
        assert!(finding.is_some(), "{name}: {:?}", run.findings);
        let answer = run.verdict.as_ref().map(|v| v.answer);
        assert_eq!(answer, Some(Answer::Undetermined), "{name}");

        let style = table::Style::detect(false, None);
        let said = head(&run, style);
        assert!(
            said.starts_with("Verdict: UNDETERMINED") && said.contains("INVALID"),
            "{name}: {said}"
        );
        assert!(said.contains(word), "{name}: {said}");
        expect_in_findings(&run, (id, detail), &name);
        let mut bytes = Vec::new();
        json::write(&run, &mut bytes).expect("into memory");
        let value: serde_json::Value = serde_json::from_slice(&bytes).expect("JSON");
        assert_eq!(value["validity"]["valid"], false, "{name}");
        assert_eq!(value["verdict"]["answer"], "undetermined", "{name}");
        let html = analysis::report::html(&run, &analysis::report::ReportData::default());
        assert!(
            html.contains("Invalid: do not use these figures."),
            "{name}"
        );
        assert!(html.contains("run invalid"), "{name}: beside every figure");

        let draft = store.load_draft(&run.run_id).expect("reads").expect("kept");
        assert!(!draft.validity.valid && draft == run, "{name}");
        assert!(store.load(&run.run_id).is_err(), "{name}: never complete");
        told += 1;
    }
    assert_eq!(told, 12);
}

/// The findings as text name a problem whose detail the head above has.
fn expect_in_findings(run: &Run, (id, detail): (&str, &str), name: &str) {
    let style = table::Style::detect(false, None);
    let below = verdict::findings(run, style, false);
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
                tables(
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
