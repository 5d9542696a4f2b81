//! Loads as `run` and `check` make them: counted commits, sweeps over redo sizes, open loops,
//! soaks, what redo is made of. Small counts; no assertion on a time or a rate, but on what must
//! add up.

use crate::harness::{Place, schema_problems};
use measure::Nanos;
use measure::run::{RedoWorkload, Row, Run};
use measure::workload::arrivals::Arrivals;

/// The workload of a run that appended redo.
fn redo(run: &Run) -> &RedoWorkload {
    run.workload.redo().expect("a redo workload")
}

fn run(place: &Place, more: &[&str]) -> Run {
    let fixed = ["run", "--null", "--format", "json", "-q"];
    let done = place.run(&[&fixed[..], more].concat());
    done.expect(0, &[]);
    let json = done.json();
    let problems = schema_problems("run-2.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new(), "{more:?}");
    serde_json::from_value(json).expect("a run")
}

fn problems(run: &Run) -> Vec<&str> {
    run.validity
        .problems
        .iter()
        .map(|p| p.id.as_str())
        .collect()
}

#[test]
fn a_storm_says_how_many_commits_each_session_made_and_all_together() {
    let place = Place::new();
    for api in ["sync", "async"] {
        let run = run(
            &place,
            &[
                "-w",
                "storm",
                "--jobs",
                "3",
                "--commits",
                "40",
                "--commit-api",
                api,
            ],
        );
        assert_eq!(
            (run.workload.names()[0].as_str(), redo(&run).commits),
            ("storm", Some(40))
        );
        let row = &run.rows[0];
        assert_eq!(
            (row.commits, row.commits_per_session, row.jobs),
            (Some(120), Some(40), 3)
        );
        assert_eq!(
            row.wait(measure::WaitEvent::LogFileSync).map(|w| w.count),
            Some(120)
        );
        let sessions: Vec<_> = row
            .sessions
            .iter()
            .map(|s| (s.session, s.commits))
            .collect();
        assert_eq!(sessions, [(0, 40), (1, 40), (2, 40)], "{api}");
        for session in &row.sessions {
            assert!(session.max_ns as f64 >= session.mean_ns && session.mean_ns > 0.0);
            assert!(session.elapsed_ns >= session.max_ns);
        }
        let (all, check) = (&run.validity.problems, &row.cross_check);
        assert_eq!(problems(&run), Vec::<&str>::new(), "{all:?}, {check:?}");
    }
}

/// The figures of a row of few commits are right as far as they go, and nobody may rely on them.
#[test]
fn a_row_of_few_commits_is_doubtful() {
    let place = Place::new();
    for (jobs, commits, doubtful) in [
        ("1", "19", true),
        ("1", "20", false),
        ("8", "3", true),
        ("8", "4", false),
    ] {
        let run = run(&place, &["--jobs", jobs, "--commits", commits]);
        let found = problems(&run).contains(&"few_commits");
        assert_eq!(found, doubtful, "{jobs}, {commits}: {:?}", run.validity);
        assert!(run.validity.valid);
    }
}

#[test]
fn a_sweep_has_a_row_for_each_size_and_number_of_jobs() {
    let place = Place::new();
    let run = run(
        &place,
        &[
            "-w",
            "size-sweep",
            "--sizes",
            "1k,512k..1536k+512k",
            "--jobs",
            "1,2",
            "--commits",
            "3",
            "--warmup",
            "0",
        ],
    );
    let rows: Vec<_> = run
        .rows
        .iter()
        .map(|r| (r.redo_bytes_per_txn, r.records_per_txn, r.jobs))
        .collect();
    let of = |bytes: u64, jobs| (Some(bytes), Some(bytes.div_ceil(8192) as u32), jobs);
    let want: Vec<_> = [1 << 10, 512 << 10, 1 << 20, 1536 << 10]
        .into_iter()
        .flat_map(|bytes| [of(bytes, 1), of(bytes, 2)])
        .collect();
    assert_eq!(rows, want);
    for row in run.rows.iter().filter(|row| row.commits > Some(0)) {
        // Zero where all of its redo was written before the commit asked.
        assert!(row.log_file_sync_ms.is_some_and(|ms| ms >= 0.0));
        assert!(row.redo().redo_data_kb_per_txn > Some(0.0));
    }
    let sweep = redo(&run)
        .size_sweep
        .as_ref()
        .expect("a sweep says what was held fixed");
    assert_eq!(sweep.sizes_bytes, [1 << 10, 512 << 10, 1 << 20, 1536 << 10]);
    assert_eq!(sweep.flush_threshold_bytes, Some(1 << 20));
    assert_eq!(sweep.buffer_third_bytes, Some((16 << 20) / 3));
    assert!(!sweep.archiving && !sweep.smart_flash_logging);
    let log = run.target.redo_log().expect("a redo log");
    assert_eq!(sweep.redo_block_bytes, log.redo_block_bytes);
    assert_eq!(redo(&run).jobs, [1, 2]);
}

/// Redo that is larger than the flush threshold is written before its commit requests it: the step
/// is in the counts, whatever the machine does to latencies. Terminal and report say the same.
#[test]
fn a_sweep_breaks_where_redo_is_written_before_its_commit() {
    let place = Place::new();
    let sweep = |sizes: &str| {
        let done = place.run(&[
            "run",
            "--null",
            "-w",
            "size-sweep",
            "--sizes",
            sizes,
            "--jobs",
            "1",
            "--commits",
            "60",
            "--warmup",
            "0",
            "-q",
        ]);
        done.expect(0, &[]);
        done.out
    };
    let found = sweep("64k,896k,1152k,2M");
    // A log writer that has no processor in time writes fewer of the smaller ones early.
    let line = [
        "The line breaks between 896 KiB and 1.12 MiB of redo",
        "The line breaks between 1.12 MiB and 2 MiB of redo",
    ];
    let line = line.into_iter().find(|line| found.contains(line));
    let line = line.unwrap_or_else(|| panic!("no break: {found}"));
    assert!(found.contains("the flush threshold is 1 MiB"), "{found}");
    let page = place.path().join("sweep.html");
    let written = place.run(&["report", "last", "-o", &page.display().to_string()]);
    written.expect(0, &[]);
    let html = std::fs::read_to_string(&page).expect("the report");
    assert!(html.contains(line), "the report says the same");
    let none = sweep("1k,64k,512k");
    assert!(
        none.contains("No break was found: up to 512 KiB of redo"),
        "{none}"
    );
}

/// Every arrival that was due in the measured time is either in the latencies or reported as not
/// served, and each latency is the queue, the lab's lateness and the transaction.
fn adds_up(run: &Run, row: &Row) {
    let open = row.open_loop().detail.as_ref().expect("an open loop");
    let commits = row.commits.expect("measured");
    let latency = row.commit_latency.as_ref().expect("measured");
    assert_eq!(open.arrivals, commits + open.not_served);
    assert_eq!(latency.count, commits);
    assert_eq!((open.queue.count, open.lateness.count), (commits, commits));
    // The same arrivals, made again from what the run says.
    let arrivals: &Arrivals = redo(run).arrivals.as_ref().expect("said");
    let number = run
        .rows
        .iter()
        .position(|r| r == row)
        .expect("one of its rows");
    let schedule = arrivals.schedule(redo(run).seed + 1 + number as u64);
    let from = Nanos((redo(run).warmup_s * 1e9) as u64);
    let until = from.plus(Nanos(row.elapsed_ns.expect("measured")));
    let due = schedule.count_before(until) - schedule.count_before(from);
    assert_eq!(open.arrivals, due);
    let parts = open.queue.total_ns + open.lateness.total_ns;
    assert!(latency.total_ns >= parts);
    assert_eq!(row.session_time, None);
    assert!(row.intervals.iter().all(|i| i.backlog.is_some()));
    assert!(Some(open.backlog_max) >= row.open_loop().backlog_end);
}

#[test]
fn an_open_loop_accounts_for_each_arrival() {
    let place = Place::new();
    for more in [
        &["--jobs", "4"][..],
        &["--jobs", "50", "--commit-api", "async"],
        &["--jobs", "3", "-w", "THR"],
        &["--jobs", "9", "-w", "THR", "--commit-api", "async"],
        &["--jobs", "2", "--log-writer", "lgwr"],
        &[
            "--jobs",
            "20",
            "--commit-api",
            "async",
            "--log-writer",
            "lgwr",
        ],
    ] {
        let open = ["--rate", "300", "--time", "500ms", "--warmup", "50ms"];
        let run = run(&place, &[&open[..], more].concat());
        let arrivals = redo(&run).arrivals.expect("an open loop says so");
        assert!((arrivals.rate_per_s - 300.0).abs() < 1e-9);
        let row = &run.rows[0];
        assert!(row.commits > Some(0), "{more:?}");
        assert!((row.open_loop().offered_tps.expect("offered") - 300.0).abs() < 1e-9);
        adds_up(&run, row);
        assert_eq!(row.log_file_sync_ms.is_none(), more.contains(&"THR"));
    }
}

#[test]
fn bursts_and_poisson_arrivals_are_repeated_by_the_seed_and_said() {
    let place = Place::new();
    let run = run(
        &place,
        &[
            "--rate",
            "200",
            "--arrivals",
            "poisson",
            "--burst",
            "30@100ms",
            "--jobs",
            "8",
            "--time",
            "350ms",
            "--warmup",
            "0",
            "--seed",
            "9",
        ],
    );
    let row = &run.rows[0];
    assert!((row.open_loop().offered_tps.expect("offered") - 500.0).abs() < 1e-9);
    adds_up(&run, row);
}

/// More is offered than any session takes: reported as a backlog, with what was not served, and not
/// as good latencies.
#[test]
fn a_log_that_cannot_keep_pace_is_told() {
    let place = Place::new();
    for more in [
        &["--jobs", "1"][..],
        &["--jobs", "2", "--commit-api", "async"],
    ] {
        let open = ["--rate", "5000000", "--time", "200ms", "--warmup", "0"];
        let run = run(&place, &[&open[..], more].concat());
        assert!(problems(&run).contains(&"backlog"), "{:?}", run.validity);
        let row = &run.rows[0];
        adds_up(&run, row);
        assert!(row.open_loop().backlog_end > Some(0));
        let open = row.open_loop().detail.as_ref().expect("an open loop");
        assert!(
            open.oldest_not_served_ns
                .is_some_and(|ns| Some(ns) <= row.elapsed_ns)
        );
        assert!(row.commit_throughput_tps < Some(5e6));
    }
}

#[test]
fn a_soak_says_how_it_goes_and_keeps_its_intervals() {
    let place = Place::new();
    let done = place.run(&[
        "run", "--null", "--soak", "3s", "--warmup", "0", "--jobs", "2", "--format", "json",
    ]);
    done.expect(0, &["soak: ", " of 3 s", "commits/s", "resident"]);
    let run: Run = serde_json::from_value(done.json()).expect("a run");
    assert_eq!(redo(&run).soak_s, Some(3.0));
    let row = &run.rows[0];
    assert!(row.soak && !row.intervals.is_empty());
    assert!(
        row.intervals
            .iter()
            .all(|i| i.rss_bytes.is_some_and(|b| b > 1 << 20))
    );
    let commits: u64 = row.intervals.iter().map(|i| i.commits).sum();
    assert_eq!(Some(commits), row.commits);
}

#[test]
fn redo_is_as_compressible_as_it_is_said_to_be() {
    let place = Place::new();
    let quick = [
        "--jobs", "1", "--time", "50ms", "--warmup", "0", "-w", "LAT25",
    ];
    for (more, compressibility, dedupe) in [
        (&[][..], 1.0, 1.0),
        (&["--compressibility", "2:1"], 2.0, 1.0),
        (&["--compressibility", "3", "--dedupe", "2.5"], 3.0, 2.5),
    ] {
        let run = run(&place, &[&quick[..], more].concat());
        let payload = redo(&run).payload.as_ref().expect("said");
        assert!((payload.compressibility - compressibility).abs() < 1e-9);
        let found = payload.measured_dedupe / dedupe;
        assert!((0.85..1.15).contains(&found), "{payload:?}");
        let found = payload.measured_compressibility / compressibility;
        let most = if dedupe > 1.0 { 1.7 } else { 1.1 };
        assert!((0.9..most).contains(&found), "{payload:?}");
        assert!(payload.compressor.contains("deflate"));
    }
}

#[test]
fn a_dry_run_says_what_each_row_would_write() {
    let place = Place::new();
    let on = place.target.display().to_string();
    let dry = |more: &[&str]| {
        let fixed = [
            "run",
            "--on",
            &on,
            "--dry-run",
            "--allow-busy",
            "--log-file-size",
            "64M",
        ];
        place.run(&[&fixed[..], more].concat())
    };
    dry(&["-w", "storm"]).expect(
        0,
        &[
            "storm with 20 jobs",
            "200000 commits each, 4000000 in all: up to 15.3 GiB",
            "Dry run",
        ],
    );
    dry(&["-w", "size-sweep", "--sizes", "1k,1M"]).expect(
        0,
        &[
            "1.0 KiB of redo per transaction",
            "1.0 MiB of redo per transaction",
        ],
    );
    let limited = ["--rate", "1000", "--soak", "1h", "--max-write", "1G"];
    dry(&limited).expect(
        0,
        &[
            "1000 commits per second for 3600 s",
            "write up to 1.0 GiB",
            "Writes at most 1.0 GiB",
            "ends at",
        ],
    );
    place.expect_clean(&place.target);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn loads_that_make_no_sense_are_refused() {
    let place = Place::new();
    for (arguments, words) in [
        (
            &["--rate", "0"][..],
            &["--rate: 0", "out of range", "10000000"][..],
        ),
        (&["--rate=-3"], &["--rate", "is not a number"]),
        (&["--rate", "NaN"], &["--rate", "is not a number"]),
        (&["--rate", "fast"], &["--rate", "fast"]),
        (&["--rate", "1e9"], &["--rate", "out of range"]),
        (
            &["--rate", "0.5"],
            &["5.0 commits are due", "measure longer"],
        ),
        (
            &["--rate", "10", "--arrivals", "uniform"],
            &["--arrivals", "poisson"],
        ),
        (&["--arrivals", "poisson"], &["--rate"]),
        (&["--rate", "10", "--burst", "many"], &["--burst", "500@1s"]),
        (
            &["--rate", "10", "--burst", "9999999@1ms"],
            &["with its bursts"],
        ),
        (
            &["--rate", "10", "--commits", "5"],
            &["cannot be used with"],
        ),
        (&["--soak", "1s"], &["--soak 1s", "45m"]),
        (&["--soak", "5m", "--time", "5s"], &["cannot be used with"]),
        (
            &["--compressibility", "0.5"],
            &["--compressibility", "not a ratio"],
        ),
        (&["--dedupe", "1000"], &["--dedupe", "1 to 20"]),
        (
            &["-w", "storm", "--time", "5s"],
            &["storm counts the commits"],
        ),
        (
            &["-w", "storm", "--rate", "500"],
            &["storm counts the commits"],
        ),
        (&["--sizes", "1k"], &["--sizes", "--workload size-sweep"]),
        (
            &["-w", "size-sweep", "--sizes", ""],
            &["--sizes", "a size is missing"],
        ),
        (
            &["-w", "size-sweep", "--sizes", "8k..1k"],
            &["holds no size"],
        ),
        (
            &["-w", "size-sweep", "--sizes", "32M"],
            &["log buffer of 16.0 MiB", "--log-buffer"],
        ),
        (
            &[
                "-w",
                "size-sweep",
                "--sizes",
                "8M",
                "--log-file-size",
                "16M",
            ],
            &["half of a log file of 16.0 MiB", "--log-file-size"],
        ),
        (
            &[
                "-w",
                "size-sweep",
                "--sizes",
                "64B..4k+64B",
                "--jobs",
                "1..32+1",
            ],
            &["2048 rows"],
        ),
    ] {
        let all = [&["run", "--null", "--dry-run"], arguments].concat();
        place.run(&all).expect(2, words);
    }
    let check = ["check", "--rate", "100", "--dry-run"];
    place
        .run(&check)
        .expect(2, &["--rate", "--soak", "redolab run"]);
}

#[test]
fn check_soaks_after_its_other_rows() {
    let place = Place::new();
    let done = place.check(
        &place.target,
        &[
            "--soak",
            "2s",
            "--rate",
            "50",
            "--no-report",
            "--format",
            "json",
        ],
    );
    assert!(
        done.code.is_some_and(|code| [0, 3, 4].contains(&code)),
        "{done:?}"
    );
    let json = done.json();
    assert_eq!(
        schema_problems("run-2.schema.json", &json),
        Vec::<String>::new()
    );
    let run: Run = serde_json::from_value(json).expect("a run");
    let (soak, others) = run.rows.split_last().expect("rows");
    assert_eq!(
        (soak.workload.as_str(), soak.soak, soak.jobs),
        ("soak", true, 32)
    );
    assert!(
        others
            .iter()
            .all(|row| !row.soak && row.open_loop.is_none())
    );
    assert_eq!(redo(&run).soak_s, Some(2.0));
    adds_up(&run, soak);
    place.expect_clean(&place.target);
}
