//! Sessions as `run` and `check` make them: thousands on a few threads, and how they learn that
//! their redo is durable.

use crate::harness::{Place, schema_problems};
use measure::run::{RedoLogFacts, RedoWorkload, Run};

/// The workload of a run that appended redo.
fn redo(run: &Run) -> &RedoWorkload {
    run.workload.redo().expect("a redo workload")
}

/// The redo log of a run.
fn log(run: &Run) -> &RedoLogFacts {
    run.target.redo_log().expect("a redo log")
}

fn run(place: &Place, more: &[&str]) -> Run {
    let fixed = [
        "run", "--null", "--warmup", "0", "--format", "json", "-q", "--time", "200ms",
    ];
    let done = place.run(&[&fixed[..], more].concat());
    let json = done.json();
    let is_valid = json["validity"]["valid"] == true;
    done.expect(if is_valid { 0 } else { 4 }, &[]);
    let problems = schema_problems("run-2.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new(), "{more:?}");
    serde_json::from_value(json).expect("a run")
}

#[test]
fn thousands_of_sessions_run_on_a_few_threads() {
    let place = Place::new();
    for writer in ["auto", "inline", "lgwr"] {
        let run = run(
            &place,
            &[
                "--commit-api",
                "async",
                "--threads",
                "2",
                "--jobs",
                "1,300,6000",
                "--log-writer",
                writer,
            ],
        );
        assert_eq!(redo(&run).commit_api.as_deref(), Some("async"));
        let threads: Vec<_> = run.rows.iter().map(|r| (r.jobs, r.threads)).collect();
        assert_eq!(threads, [(1, Some(1)), (300, Some(2)), (6000, Some(2))]);
        for row in &run.rows {
            assert!(row.commits > Some(0), "{} jobs", row.jobs);
            let attributed = row.commit_path.as_ref().map(|path| path.attributed);
            assert!(attributed > Some(0) && attributed <= row.commits);
            // No time of a session is lost between two transactions, however many share a thread.
            let time = row.session_time.expect("kept");
            let latency = row.commit_latency.as_ref().expect("measured");
            let spent = latency.total_ns as i128 + i128::from(time.lab_ns);
            let there = i128::from(row.jobs) * i128::from(row.elapsed_ns.expect("measured"));
            assert_eq!(
                spent - i128::from(time.beyond_ns),
                there,
                "{} jobs",
                row.jobs
            );
        }
    }
    let nobody_waits = ["--commit-api", "async", "--jobs", "50", "-w", "THR"];
    let row = run(&place, &nobody_waits).rows.remove(0);
    assert!(row.commits > Some(0) && row.log_file_sync_ms.is_none());
}

#[test]
fn commits_of_each_session_are_counted_on_shared_threads_too() {
    let place = Place::new();
    let done = place.run(&[
        "run",
        "--null",
        "--commit-api",
        "async",
        "--jobs",
        "700",
        "--commits",
        "9",
        "--format",
        "json",
        "-q",
    ]);
    done.expect(0, &[]);
    assert_eq!(done.json()["rows"][0]["commits"], 6300);
}

#[test]
fn a_run_says_how_foregrounds_learned_and_what_had_redo_written() {
    let place = Place::new();
    let polling = [
        "--jobs",
        "4",
        "--log-writer",
        "lgwr",
        "--log-file-sync",
        "polling",
    ];
    let fixed = run(&place, &polling);
    assert_eq!(log(&fixed).log_file_sync.as_deref(), Some("polling"));
    let triggers = |run: &Run| log(run).flush_triggers.clone();
    assert_eq!(triggers(&fixed).as_deref(), Some("commit,third,1MB,3s"));
    assert_eq!(fixed.rows[0].learning, None);
    assert!(fixed.rows[0].commits > Some(0));
    let learned = run(
        &place,
        &[
            "--jobs",
            "4",
            "--log-file-sync",
            "adaptive",
            "--flush-triggers",
            "commit,1MB,20ms",
        ],
    );
    assert_eq!(triggers(&learned).as_deref(), Some("commit,1MB,20ms"));
    let row = learned.rows[0].learning();
    let switches = row.log_file_sync_switches.expect("counted");
    assert!(row.log_file_sync_switch_log.len() as u64 <= switches);
    let polled = row.log_file_sync_polled_pct.expect("there were commits");
    assert!((0.0..=100.0).contains(&polled), "{polled}");
}

/// Nothing makes the log writer write while the row runs; its end does, and nobody hangs.
#[test]
fn a_run_without_flush_triggers_ends() {
    let place = Place::new();
    for more in [
        &["--commit-api", "async"][..],
        &["--log-writer", "lgwr"],
        &["--log-file-sync", "polling"],
    ] {
        let run = run(
            &place,
            &[&["--jobs", "3", "--flush-triggers", "none"], more].concat(),
        );
        assert_eq!(log(&run).flush_triggers.as_deref(), Some("none"));
        zeros_are_told(&run);
    }
}

/// A row in which nobody's transaction began has figures of zero; that is no fast device.
fn zeros_are_told(run: &Run) {
    let nothing = run.rows.iter().any(|row| row.commits == Some(0));
    let mut problems = run.validity.problems.iter();
    let told = problems.any(|p| p.id == "no_commits" && p.invalidates);
    assert_eq!(nothing, told, "{:?}", run.validity);
}

/// A commit BATCH posts nobody, so the trigger that is left serves nobody: the end of the row does.
/// It took the patience for hanging devices, twice, and was called one.
#[test]
fn batch_commits_that_only_others_would_have_written_end() {
    let place = Place::new();
    let batch = ["--commit-write", "wait-batch", "--flush-triggers", "commit"];
    for more in [
        &["--jobs", "3"][..],
        &["--jobs", "40", "--commit-api", "async"],
    ] {
        zeros_are_told(&run(&place, &[&batch[..], more].concat()));
    }
}

#[test]
fn sessions_that_would_wait_for_ever_are_refused() {
    let place = Place::new();
    let never = ["run", "--null", "--commits", "5", "--flush-triggers"];
    let said = ["--commits", "would never end", "3s"];
    place
        .run(&[&never[..], &["none"]].concat())
        .expect(2, &said);
    let batch = ["commit,1MB", "--commit-write", "wait-batch"];
    place.run(&[&never[..], &batch].concat()).expect(2, &said);
    for ends in [&["50ms"][..], &["none", "--commit-write", "nowait-batch"]] {
        let few = ["--jobs", "2", "-q"];
        place.run(&[&never[..], ends, &few].concat()).expect(0, &[]);
    }
}

/// Where rings are not to be had, the depth that was asked for is not what was measured.
#[test]
fn a_depth_that_calls_that_block_cannot_have_is_not_claimed() {
    let place = Place::new();
    let deep = ["--log-writer", "lgwr", "--io-depth", "4", "--jobs", "2"];
    let run = run(&place, &deep);
    let target = log(&run);
    let engine = target.io.as_deref();
    assert_ne!(engine, Some("io_uring"), "the null device has no rings");
    assert_eq!(target.io_depth, Some(1));
    let told = |f: &String| f.contains("4 batches in flight");
    assert!(target.fallbacks.iter().any(told), "{:?}", target.fallbacks);
}

/// A worker that has nothing to do all the time is idle all the time.
#[test]
fn workers_that_never_write_are_idle() {
    let place = Place::new();
    let mut run = run(&place, &["--log-writer", "workers=8", "--jobs", "1"]);
    let redo = run.rows.remove(0).redo.expect("observed");
    assert_eq!(redo.workers.len(), 8);
    for worker in redo.workers {
        let idle = worker.idle_count > 0 && worker.idle_ns > 0;
        assert!(worker.operations > 0 || idle, "{worker:?}");
    }
}
