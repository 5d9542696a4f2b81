//! A device that fails in any of the ways of R5 makes the run invalid, in the report and the store
//! too. The other views are tested with them: `tests/it/views.rs` of redolab.

use super::*;
use crate::experiment::begin::new_run;
use crate::experiment::console::Silent;
use crate::experiment::ending::keep;
use crate::experiment::guard::limits::ServersToMake;
use crate::experiment::measure::fixture::in_a_quiet_lab;
use crate::experiment::measure::row::{self, Spec};
use crate::experiment::plan::MeasurementPlan;
use crate::experiment::plan::prepare::{Extent, prepare};
use crate::experiment::target::{LoadTarget, Setup};
use crate::store::Store;
use device::LogDevice;
use device::fault::{EINTR, EIO, ENOSPC, Fault, FaultDevice, FaultTarget, Injection};
use measure::Nanos;
use measure::judgement::Answer;
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
fn every_fault_makes_the_run_invalid_in_the_report_and_the_store() {
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
