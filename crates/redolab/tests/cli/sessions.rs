//! Sessions as `run` and `check` make them: thousands on a few threads, and how they learn that
//! their redo is durable.

use crate::harness::{Place, schema_problems};
use measure::run::Run;

fn run(place: &Place, more: &[&str]) -> Run {
    let fixed = [
        "run", "--null", "--warmup", "0", "--format", "json", "-q", "--time", "200ms",
    ];
    let done = place.run(&[&fixed[..], more].concat());
    done.expect(0, &[]);
    let json = done.json();
    let problems = schema_problems("run-1.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new(), "{more:?}");
    serde_json::from_value(json).expect("a run")
}

#[test]
fn thousands_of_sessions_run_on_a_few_threads() {
    let place = Place::new();
    for writer in ["inline", "lgwr"] {
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
        assert_eq!(run.workload.commit_api, "async");
        let threads: Vec<_> = run.rows.iter().map(|r| (r.jobs, r.threads)).collect();
        assert_eq!(threads, [(1, 1), (300, 2), (6000, 2)]);
        for row in &run.rows {
            assert!(row.commits > 0, "{} jobs", row.jobs);
            let attributed = row.commit_path.attributed;
            assert!(attributed > 0 && attributed <= row.commits);
            // No time of a session is lost between two transactions, however many share a thread.
            let time = row.session_time.expect("kept");
            let spent = row.commit_latency.total_ns as i128 + i128::from(time.lab_ns);
            let there = i128::from(row.jobs) * i128::from(row.elapsed_ns);
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
    assert!(row.commits > 0 && row.log_file_sync_ms.is_none());
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
    let fixed = run(&place, &["--jobs", "4", "--log-file-sync", "polling"]);
    assert_eq!(fixed.workload.log_file_sync, "polling");
    assert_eq!(fixed.workload.flush_triggers, "commit,third,1MB,3s");
    assert_eq!(fixed.rows[0].log_file_sync_switches, None);
    assert!(fixed.rows[0].commits > 0);
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
    assert_eq!(learned.workload.flush_triggers, "commit,1MB,20ms");
    let row = &learned.rows[0];
    let switches = row.log_file_sync_switches.expect("counted");
    assert!(row.log_file_sync_switch_log.len() as u64 <= switches);
    let polled = row.log_file_sync_polled_pct.expect("there were commits");
    assert!((0.0..=100.0).contains(&polled), "{polled}");
}

/// Nothing has redo written while the row runs; its end does, and nobody hangs.
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
        assert_eq!(run.workload.flush_triggers, "none");
    }
}
