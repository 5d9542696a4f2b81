//! An experiment without a command line: a plan arrives as text, as it would on another machine; it
//! is conducted, and its row is read from the store.

use device::SyncMethod;
use lab::experiment::console::Silent;
use lab::experiment::plan::{LogPlan, MeasurementPlan, PlannedTarget};
use lab::experiment::row::Spec;
use lab::experiment::{ExperimentPlan, conduct};
use lab::store::Store;
use measure::Nanos;
use measure::workload::Workload;
use std::path::Path;

/// 20 commits of each of two sessions, on a log of a few megabytes below `place`.
fn plan(place: &Path) -> ExperimentPlan {
    let workload = Workload::standard().remove(0);
    let mut log = LogPlan {
        sync_method: Some(SyncMethod::Buffered),
        ..LogPlan::default()
    };
    log.shape.file_bytes = 4 << 20;
    ExperimentPlan {
        target: PlannedTarget::Path {
            path: place.to_owned(),
            destroy: None,
            more: Vec::new(),
        },
        measured: MeasurementPlan {
            log,
            rows: vec![Spec {
                commits: Some(20),
                ..Spec::closed(workload, 2, Nanos::ZERO, Nanos::ZERO)
            }],
            // What others do on the machine of a test is not this test's business.
            allow_busy: true,
            ..MeasurementPlan::default()
        },
    }
}

#[test]
fn a_plan_that_arrives_as_text_becomes_a_row_in_the_store() {
    let (place, kept) = (tempfile::tempdir(), tempfile::tempdir());
    let (place, kept) = (place.expect("a directory"), kept.expect("a directory"));
    let sent = serde_json::to_string(&plan(place.path())).expect("a plan is plain data");
    let plan: ExperimentPlan = serde_json::from_str(&sent).expect("the same plan");
    let store = Store::open(kept.path()).expect("a store");

    let run = conduct(&plan, &Silent::default(), &store, &[]).expect("nothing fails");

    let run = run.expect("it was no dry run");
    let stored = store.load(&run.run_id).expect("it is complete");
    assert_eq!(stored, run);
    let [row] = &stored.rows[..] else {
        panic!("one row was planned: {:?}", stored.rows);
    };
    assert_eq!((row.jobs, row.commits), (2, Some(40)));
    assert_eq!(row.waits["log_file_sync"].count, 40);
    let left = place.path().read_dir().expect("a directory").count();
    assert_eq!(left, 0, "what was made for it is gone");
}
