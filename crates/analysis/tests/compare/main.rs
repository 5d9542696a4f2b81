//! Comparisons of runs with known differences, and of runs that are not as they should be.

mod decisions;

use analysis::compare::condition::FailIf;
use analysis::compare::live::{LiveSide, Round};
use analysis::compare::rounds;
use analysis::compare::{Options, Side, WaitSeries, stored};
use analysis::stats::random::Random;
use measure::Histogram;
use measure::comparison::{Basis, Comparison, Difference, RowOutcome, Size};
use measure::imported::Cell;
use measure::run::{
    DeviceFigures, Interval, Origin, PayloadInfo, RedoFigures, RedoLogFacts, RedoWorkload, Row,
    Run, SCHEMA, Target, Validity, WorkloadInfo,
};
use measure::stack::{Layer, LayerKind};
use measure::workload::CommitMode;
use std::collections::BTreeMap;

const SYNC: &str = "log_file_sync";

fn run(name: &str, rows: Vec<Row>) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        run_id: name.to_owned(),
        created: "2026-11-20T10:00:00.000Z".to_owned(),
        origin: Origin::Measured,
        redolab_version: "0".to_owned(),
        notes: measure::run::RunNotes::default(),
        command: Vec::new(),
        target: Target::default(),
        workload: WorkloadInfo::default(),
        environment: measure::run::Environment::default(),
        rows,
        floor: Vec::new(),
        placement: None,
        power_tests: None,
        lab_overhead_ns: None,
        findings: Vec::new(),
        validity: Validity::sound(),
        need: measure::judgement::Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    }
}

/// A row of `seconds` seconds whose waits are around `mean_us`.
fn row(
    seed: u64,
    workload: &str,
    seconds: usize,
    mean_us: f64,
) -> (Row, BTreeMap<String, WaitSeries>) {
    let mut r = Random::new(seed);
    let mut series = WaitSeries::new();
    let mut intervals = Vec::new();
    for second in 0..seconds {
        let level = 1.0 + 0.02 * r.normal();
        let mut h = Histogram::new();
        for _ in 0..400 {
            h.record((mean_us * 1e3 * level * (0.2 * r.normal()).exp()) as u64);
        }
        intervals.push(Interval {
            t_s: second as f64 + 1.0,
            seconds: 1.0,
            commits: (8e6 / (mean_us * level)) as u64,
            redo_bytes: Some(2_000 * (8e6 / (mean_us * level)) as u64),
            ..Interval::default()
        });
        series.push(&h);
    }
    let commits: u64 = intervals.iter().map(|i| i.commits).sum();
    let stats = series.merged.stats();
    let row = Row {
        workload: workload.to_owned(),
        nodes: 1,
        jobs: 8,
        elapsed_s: Some(seconds as f64),
        elapsed_ns: Some(seconds as u64 * 1_000_000_000),
        commits: Some(commits),
        commit_throughput_tps: Some(commits as f64 / seconds as f64),
        waits: [(SYNC.to_owned(), stats)].into(),
        intervals,
        redo: Some(RedoFigures {
            redo_data_mbps: Some(2_000.0 * commits as f64 / seconds as f64 / f64::from(1 << 20)),
            ..RedoFigures::default()
        }),
        device: Some(DeviceFigures {
            device_writes: Some(commits / 2),
            device_written_bytes: Some(commits * 2048),
            ..DeviceFigures::default()
        }),
        ..Row::default()
    };
    (row, [(SYNC.to_owned(), series)].into())
}

fn side(name: &str, seed: u64, seconds: usize, mean_us: f64) -> Side {
    let (row, series) = row(seed, "LGWR-LAT1", seconds, mean_us);
    Side {
        name: name.to_owned(),
        run: run(name, vec![row]),
        complete: true,
        series: vec![series],
    }
}

fn compare(sides: &[Side]) -> Comparison {
    let options = Options {
        resamples: 200,
        ..Options::default()
    };
    stored::compare(sides, &options)
}

fn find<'a>(c: &'a Comparison, metric: &str) -> &'a Difference {
    let found = c.differences.iter().find(|d| d.metric == metric);
    found.unwrap_or_else(|| panic!("{metric} is not compared"))
}

#[test]
fn a_slower_run_is_found_with_its_ratio() {
    let c = compare(&[side("a", 1, 40, 400.0), side("b", 2, 40, 480.0)]);
    for metric in [
        "log_file_sync.mean",
        "log_file_sync.p50",
        "log_file_sync.p99",
    ] {
        let d = find(&c, metric);
        assert_eq!(
            (d.significant, d.basis),
            (Some(true), Basis::Intervals),
            "{d:?}"
        );
        assert_eq!(d.size, Some(Size::Medium), "{d:?}");
        let (low, high) = (d.ci_low.expect("low"), d.ci_high.expect("high"));
        assert!(low < 1.2 && 1.2 < high && high < 1.25, "{d:?}");
        assert!(
            d.sentence.starts_with("significant and medium: +"),
            "{}",
            d.sentence
        );
    }
    assert_eq!(find(&c, "log_file_sync.mean").effect_kind, "cohens_d");
    assert_eq!(find(&c, "log_file_sync.p50").effect_kind, "cliffs_delta");
    assert!(find(&c, "log_file_sync.p50").effect.expect("delta") > 0.3);
    let rate = find(&c, "commit_throughput_tps");
    assert!(
        (rate.ratio.expect("a ratio") - 1.0 / 1.2).abs() < 0.02,
        "{rate:?}"
    );
    let longest = find(&c, "log_file_sync.max");
    assert_eq!((longest.basis, longest.ci_low), (Basis::None, None));
    assert!(
        longest.sentence.contains("extremes"),
        "{}",
        longest.sentence
    );
    assert_eq!(c.distributions.len(), 2);
    let shares: f64 = c.distributions[0].density.iter().map(|d| d.2).sum();
    assert!((shares - 1.0).abs() < 1e-9);
    let ids: Vec<&str> = c.tables.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "compare_throughput",
            "compare_device",
            "compare_events",
            "compare_ratios"
        ]
    );
}

#[test]
fn equal_runs_say_what_would_have_been_found() {
    let c = compare(&[side("a", 1, 40, 400.0), side("b", 3, 40, 400.0)]);
    let d = find(&c, "log_file_sync.mean");
    assert_eq!(d.significant, Some(false), "{d:?}");
    assert!(
        d.sentence.starts_with("no difference found"),
        "{}",
        d.sentence
    );
    assert!(
        d.detectable_pct.is_some_and(|p| p > 0.1 && p < 10.0),
        "{d:?}"
    );
    // The interval shows it already.
    assert!(!d.sentence.contains("power"), "{}", d.sentence);
    for rounds in [5, 6, 12] {
        for spread in [1.0, 40.0, 150.0, 380.0] {
            let mean = |i: usize| 400.0 + spread * [-1.0, 1.0, 0.2, -0.7, 0.9][i % 5];
            let of = |shift: usize| (0..rounds).map(|i| mean(i + shift)).collect::<Vec<f64>>();
            let sides = [live("a", 1, &of(0)), live("b", 2, &of(3))];
            let c = rounds::compare(&sides, &Options::default());
            for d in &c.differences {
                let said = d.sentence.contains("80 % power");
                let worth = d.detectable_pct.is_some_and(|p| (10.0..=99.0).contains(&p));
                assert_eq!(said, worth && d.significant == Some(false), "{d:?}");
            }
        }
    }
}

#[test]
fn a_sure_difference_may_be_negligible() {
    let c = compare(&[side("a", 1, 390, 400.0), side("b", 2, 390, 404.0)]);
    let d = find(&c, "log_file_sync.mean");
    assert_eq!(
        (d.significant, d.size),
        (Some(true), Some(Size::Negligible)),
        "{d:?}"
    );
    assert!(
        d.sentence.starts_with("significant and negligible"),
        "{}",
        d.sentence
    );
}

#[test]
fn events_are_compared_as_stretches_of_them() {
    let mut r = Random::new(9);
    let mut events = |scale: f64| -> Vec<u64> {
        (0..50_000)
            .map(|_| (scale * (0.3 * r.normal()).exp()) as u64)
            .collect()
    };
    let (a, b) = (
        WaitSeries::of_events(&events(4e5)),
        WaitSeries::of_events(&events(4.4e5)),
    );
    let mut sides = [side("a", 1, 10, 400.0), side("b", 2, 10, 440.0)];
    for (side, series) in sides.iter_mut().zip([a, b]) {
        side.run.rows[0]
            .waits
            .insert(SYNC.to_owned(), series.merged.stats());
        side.series[0].insert(SYNC.to_owned(), series);
    }
    let c = compare(&sides);
    let d = find(&c, "log_file_sync.p999");
    assert_eq!(
        (d.basis, d.significant),
        (Basis::Events, Some(true)),
        "{d:?}"
    );
    assert!(c.runs.iter().all(|r| r.has_events));
}

type Change = fn(&mut RedoLogFacts, &mut RedoWorkload);

fn text(word: &str) -> Option<String> {
    Some(word.to_owned())
}

/// One change for each option that may explain a difference, and how its report begins.
const CHANGES: [(&str, Change); 15] = [
    ("log writer: inline in the base, lgwr here", |t, _| {
        t.log_writer = text("lgwr")
    }),
    (
        "CPUs of the log writer: any in the base, 0, 2 here",
        |t, _| t.log_writer_cpus = vec![0, 2],
    ),
    (
        "log file sync mode: post-wait in the base, polling here",
        |t, _| t.log_file_sync = text("polling"),
    ),
    (
        "flush triggers: commit,third,1MB,3s in the base, none here",
        |t, _| t.flush_triggers = text("none"),
    ),
    (
        "sync method: not recorded in the base, dsync here",
        |t, _| "dsync".clone_into(&mut t.sync_method),
    ),
    ("I/O engine: threads in the base, io_uring here", |t, _| {
        t.io = text("io_uring")
    }),
    ("batches in flight: 1 in the base, 4 here", |t, _| {
        t.io_depth = Some(4)
    }),
    (
        "redo block size: 0 bytes in the base, 512 bytes here",
        |t, _| t.redo_block_bytes = 512,
    ),
    (
        "padding of log writes: 0 bytes in the base, 4096 bytes here",
        |t, _| t.seal_bytes = 4096,
    ),
    (
        "log buffer: 0 B in the base, 0 B, huge pages here",
        |t, _| t.huge_pages = true,
    ),
    (
        "log files: 0 groups of 0 B in the base, 1 group of 0 B here",
        |t, _| t.log_groups = 1,
    ),
    ("commit API: sync in the base, not recorded here", |_, w| {
        w.commit_api = None
    }),
    (
        "payload: compressibility 0, deduplication 0 in the base, compressibility 2",
        |_, w| {
            w.payload = Some(PayloadInfo {
                compressibility: 2.0,
                ..PayloadInfo::default()
            })
        },
    ),
    (
        "COMMIT WRITE of LGWR-LAT1: WAIT IMMEDIATE in the base, NOWAIT BATCH here",
        |_, w| {
            w.commit_write
                .insert("LGWR-LAT1".to_owned(), CommitMode::NOWAIT_BATCH);
        },
    ),
    (
        "COMMIT WRITE of LGWR-LAT1: WAIT IMMEDIATE in the base, not recorded here",
        |_, w| w.commit_write.clear(),
    ),
];

/// A run whose options are all known.
fn side_with_options(name: &str, seed: u64) -> Side {
    let mut side = side(name, seed, 20, 400.0);
    *side.run.target.redo_log_mut() = RedoLogFacts {
        log_writer: text("inline"),
        log_file_sync: text("post-wait"),
        flush_triggers: text("commit,third,1MB,3s"),
        io: text("threads"),
        io_depth: Some(1),
        ..RedoLogFacts::default()
    };
    let modes = [("LGWR-LAT1".to_owned(), CommitMode::WAIT_IMMEDIATE)];
    side.run.workload = WorkloadInfo::Redo(RedoWorkload {
        commit_write: modes.into(),
        commit_api: text("sync"),
        payload: Some(PayloadInfo::default()),
        ..RedoWorkload::default()
    });
    side
}

/// Each option that may explain a difference is reported where two runs differ in it, and only
/// then.
#[test]
fn every_option_that_differs_is_reported() {
    let reported = |change: Change| -> Vec<String> {
        let mut b = side_with_options("b", 2);
        if let WorkloadInfo::Redo(load) = &mut b.run.workload {
            change(b.run.target.redo_log_mut(), load);
        }
        let c = compare(&[side_with_options("a", 1), b]);
        let said = c.not_compared.into_iter();
        said.map(|n| format!("{}: {}", n.what, n.why)).collect()
    };
    assert_eq!(reported(|_, _| {}), Vec::<String>::new());
    for (want, change) in CHANGES {
        let found = reported(change);
        assert!(
            found.len() == 1 && found[0].starts_with(want),
            "{want}: {found:?}"
        );
    }
    // A workload that only one of both runs has is a missing row, and no option.
    let more = reported(|_, w| {
        w.commit_write
            .insert("LGWR-THR".to_owned(), CommitMode::NOWAIT_BATCH);
    });
    assert_eq!(more, Vec::<String>::new());
}

#[test]
fn what_is_not_comparable_is_named_and_the_rest_is_compared() {
    let mut a = side("a", 1, 20, 400.0);
    let mut b = side("b", 2, 20, 400.0);
    let (other, series) = row(5, "LGWR-THR", 20, 400.0);
    a.run.rows.push(other);
    a.series.push(series);
    let (mut jobs, series) = row(6, "LGWR-LAT1", 20, 400.0);
    jobs.jobs = 32;
    b.run.rows.push(jobs);
    b.series.push(series);
    b.run.origin = Origin::Imported;
    b.run.target.redo_log_mut().log_writer = Some("lgwr".to_owned());
    let c = compare(&[a, b]);
    assert!(!c.differences.is_empty());
    let said: Vec<String> = c
        .not_compared
        .iter()
        .map(|n| format!("{}: {}", n.what, n.why))
        .collect();
    for (what, why) in [
        ("LGWR-THR, 8 jobs of the base", "no row of this workload"),
        ("LGWR-LAT1, 32 jobs", "the base has no such row"),
        ("origin", "measured in the base, imported here"),
        ("log writer", "lgwr here"),
    ] {
        let found = said.iter().any(|s| s.starts_with(what) && s.contains(why));
        assert!(found, "{what}: {why}: {said:?}");
    }
    assert!(c.method.notes.iter().any(|n| n.contains("origin")));
}

#[test]
fn poor_runs_are_compared_as_far_as_they_reach() {
    // Too few intervals.
    let c = compare(&[side("a", 1, 2, 400.0), side("b", 2, 2, 440.0)]);
    let d = find(&c, "log_file_sync.mean");
    assert!(
        d.ratio.is_some() && d.ci_low.is_none() && d.significant.is_none(),
        "{d:?}"
    );
    assert!(
        d.sentence.contains("2 intervals, at least 4"),
        "{}",
        d.sentence
    );
    // No intervals at all.
    let mut bare = side("b", 2, 20, 440.0);
    bare.series.clear();
    let c = compare(&[side("a", 1, 20, 400.0), bare]);
    let d = find(&c, "log_file_sync.mean");
    assert!(
        d.ratio.is_some() && d.sentence.contains("neither events nor interval"),
        "{d:?}"
    );
    // Constant rates.
    let mut sides = [side("a", 1, 20, 400.0), side("b", 2, 20, 400.0)];
    for side in &mut sides {
        for interval in &mut side.run.rows[0].intervals {
            interval.commits = 1000;
        }
    }
    let d = find(&compare(&sides), "commit_throughput_tps").clone();
    assert!(
        d.ci_low.is_none() && d.sentence.contains("nothing varies"),
        "{d:?}"
    );
    // Nothing in common, nothing at all, one run, no runs.
    let mut other = side("b", 2, 20, 400.0);
    other.run.rows[0].workload = "X".to_owned();
    let c = compare(&[side("a", 1, 20, 400.0), other]);
    assert!(c.differences.is_empty() && c.not_compared.len() == 2);
    let empty = || Side {
        name: "e".to_owned(),
        run: run("e", Vec::new()),
        complete: false,
        series: Vec::new(),
    };
    assert!(compare(&[empty(), empty()]).differences.is_empty());
    assert!(compare(&[empty()]).differences.is_empty());
    assert!(compare(&[]).runs.is_empty());
    // A row that nothing was measured of.
    let mut nothing = side("b", 2, 20, 400.0);
    nothing.run.rows[0] = Row {
        workload: "LGWR-LAT1".to_owned(),
        nodes: 1,
        jobs: 8,
        commit_throughput_tps: Some(f64::NAN),
        ..Row::default()
    };
    let c = compare(&[side("a", 1, 20, 400.0), nothing]);
    let d = find(&c, "commit_throughput_tps");
    assert!(
        d.b.is_none() && d.sentence.contains("not in this run"),
        "{d:?}"
    );
}

fn live(name: &str, seed: u64, means_us: &[f64]) -> LiveSide {
    let rounds = means_us.iter().enumerate().map(|(i, mean)| {
        let (row, series) = row(seed + i as u64, "LGWR-LAT1", 3, *mean);
        let merged = series.into_iter().map(|(e, s)| (e, s.merged)).collect();
        Round {
            run: run(&format!("{name}-{i}"), vec![row]),
            merged: vec![merged],
        }
    });
    LiveSide {
        name: name.to_owned(),
        rounds: rounds.collect(),
    }
}

#[test]
fn rounds_are_the_unit_and_drift_cancels() {
    // Both drift by a half; B is slower by a tenth in each pair.
    let a = live("a", 100, &[400.0, 450.0, 500.0, 550.0, 600.0]);
    let b = live("b", 200, &[440.0, 495.0, 550.0, 605.0, 660.0]);
    let fail_if: FailIf = "log_file_sync.mean > +5%".parse().expect("a condition");
    let options = Options {
        conditions: vec![fail_if],
        ..Options::default()
    };
    let c = rounds::compare(&[a, b], &options);
    let d = find(&c, "log_file_sync.mean");
    assert_eq!(
        (d.basis, d.units_a, d.significant),
        (Basis::Rounds, 5, Some(true)),
        "{d:?}"
    );
    assert!((d.ratio.expect("a ratio") - 1.1).abs() < 0.03, "{d:?}");
    assert_eq!(c.method.rounds, Some(5));
    assert!(c.method.notes[0].contains("unit of replication"));
    assert!(c.conditions[0].breached, "{:?}", c.conditions);
    assert_eq!(
        (c.runs[0].name.as_str(), c.runs[0].run_id.as_str()),
        ("a", "a-0")
    );
    let one = rounds::compare(&[live("a", 1, &[400.0]), live("b", 2, &[440.0])], &options);
    let d = find(&one, "log_file_sync.mean");
    assert!(
        d.ci_low.is_none() && d.sentence.contains("one pair of rounds"),
        "{d:?}"
    );
    assert!(
        rounds::compare(&[live("a", 1, &[]), live("b", 1, &[])], &options)
            .differences
            .is_empty()
    );
}

#[test]
fn conditions_that_cannot_be_judged_are_not_passed() {
    let parse = |t: &str| t.parse::<FailIf>().expect(t);
    let options = Options {
        resamples: 100,
        conditions: vec![
            parse("log_file_sync > +10%"),
            parse("log_buffer_space.p99 > +10%"),
            parse("commit_throughput_tps < -5%"),
            parse("log_file_sync.max > +1000%"),
        ],
        ..Options::default()
    };
    let c = stored::compare(
        &[side("a", 1, 20, 400.0), side("b", 2, 20, 480.0)],
        &options,
    );
    let states: Vec<(bool, bool)> = c
        .conditions
        .iter()
        .map(|c| (c.breached, c.undetermined))
        .collect();
    // The longest wait has no interval.
    assert_eq!(
        states,
        [(true, false), (false, true), (true, false), (false, true)]
    );
    assert_eq!(c.exit_code, 3);
    assert!(
        c.conditions[0].detail.contains("LGWR-LAT1, 8 jobs: +"),
        "{:?}",
        c.conditions[0]
    );
}

#[test]
fn tables_have_one_figure_of_all_rounds() {
    let sides = [live("a", 1, &[400.0, 500.0]), live("b", 2, &[440.0, 550.0])];
    let found = rounds::compare(&sides, &Options::default());
    let events = found.tables.iter().find(|t| t.id == "compare_events");
    let events = events.expect("waits were measured");
    assert!(events.title.contains("geometric means of 2 rounds"));
    let of = |name: &str| events.rows.iter().filter(|r| is(&r[0], name)).count();
    assert_eq!((of("a"), of("b")), (1, 1), "{:?}", events.rows);
    let sync = find(&found, "log_file_sync.mean");
    for (name, figure) in [("a", sync.a), ("b", sync.b)] {
        let row = events.rows.iter().find(|r| is(&r[0], name));
        let Some(Cell::Real(avg_ms)) = row.map(|r| &r[6]) else {
            panic!("{:?}", events.rows)
        };
        let figure_ms = figure.expect("a figure") / 1e6;
        assert!(
            (avg_ms / figure_ms - 1.0).abs() < 1e-9,
            "{avg_ms} {figure_ms}"
        );
    }
    // One round is the target itself.
    let one = rounds::compare(
        &[live("a", 1, &[400.0]), live("b", 2, &[440.0])],
        &Options::default(),
    );
    let events = one.tables.iter().find(|t| t.id == "compare_events");
    let events = events.expect("waits were measured");
    assert!(!events.title.contains("rounds") && is(&events.rows[0][0], "a"));
}

#[test]
fn a_winner_needs_five_rounds_and_is_named_with_its_figures() {
    let level = |scale: f64, n: usize| -> Vec<f64> {
        (0..n)
            .map(|i| scale * [400.0, 410.0, 404.0, 396.0, 402.0][i % 5])
            .collect()
    };
    let compare = |n: usize, scale: f64| {
        let sides = [
            live("a", 1, &level(1.0, n)),
            live("b", 50, &level(scale, n)),
        ];
        rounds::compare(&sides, &Options::default())
    };
    for n in 2..5 {
        let c = compare(n, 0.5);
        let answer = &c.answers[0];
        assert_eq!(
            (answer.outcome, answer.winner),
            (RowOutcome::TooFewRounds, None)
        );
        assert!(
            answer.sentence.contains("too few rounds to decide"),
            "{answer:?}"
        );
        for d in c.differences.iter().filter(|d| d.basis == Basis::Rounds) {
            assert!(d.significant.is_none() && d.p_value.is_none(), "{d:?}");
            assert!(d.ci_low.is_some() && d.sentence.contains("too few rounds to decide"));
            assert!(!d.sentence.contains("significant"), "{d:?}");
        }
    }
    let c = compare(5, 0.5);
    let answer = &c.answers[0];
    assert_eq!(
        (answer.outcome, answer.winner),
        (RowOutcome::Better, Some(1))
    );
    let metrics: Vec<&str> = answer
        .by
        .iter()
        .map(|at| c.differences[*at].metric.as_str())
        .collect();
    assert_eq!(metrics, ["commit_throughput_tps", "log_file_sync.p99"]);
    assert!(
        answer
            .sentence
            .starts_with("b is better than a: commits per second "),
        "{answer:?}"
    );
    let c = compare(5, 2.0);
    assert_eq!(c.answers[0].winner, Some(0), "{:?}", c.answers);
    let c = compare(5, 1.0);
    assert_eq!(
        c.answers[0].outcome,
        RowOutcome::NoDifference,
        "{:?}",
        c.answers
    );
}

fn is(cell: &Cell, text: &str) -> bool {
    matches!(cell, Cell::Text(t) if t == text)
}

/// A side that was measured in a directory on the disk `vda` of a host.
fn side_on(name: &str, host: &str, path: &str) -> Side {
    let mut side = side(name, 1, 1, 400.0);
    side.run.environment.hostname = host.to_owned();
    side.run.target.path = path.to_owned();
    side.run.target.stack.layers = vec![Layer {
        dev: text("254:0"),
        ..Layer::new(LayerKind::Disk, "vda")
    }];
    side
}

/// Published sweeps state means without waits: they are compared, and without an interval.
#[test]
fn means_of_published_rows_are_compared() {
    let published = |name: &str, sync_ms: f64| {
        let mut side = side(name, 1, 1, 400.0);
        side.run.origin = Origin::Imported;
        side.series.iter_mut().for_each(|row| row.clear());
        for row in &mut side.run.rows {
            row.waits.clear();
            row.commit_latency = None;
            (row.log_file_sync_ms, row.commit_latency_ms) = (Some(sync_ms), Some(2.0 * sync_ms));
        }
        side
    };
    let found = compare(&[published("a", 0.5), published("b", 0.75)]);
    for metric in ["log_file_sync.mean", "commit_latency.mean"] {
        let of = found.differences.iter().find(|d| d.metric == metric);
        let of = of.unwrap_or_else(|| panic!("{metric}: {:?}", found.differences));
        assert_eq!(
            (of.ratio, of.ci_low, of.significant),
            (Some(1.5), None, None)
        );
    }
}

#[test]
fn directories_of_one_device_are_named_and_short_runs_decide_nothing() {
    let sides = [
        side_on("a", "db1", "/u01"),
        side_on("b", "db1", "/u02"),
        side_on("c", "db1", "/u03"),
    ];
    let found = compare(&sides);
    let want = "a, b and c are on the same device (vda): a difference between them is not a \
                difference between devices.";
    assert_eq!(found.notices, [want]);
    let markdown = analysis::account::markdown::comparison(&found, false);
    let decided = " against a: No interval, so nothing can be decided.";
    assert!(markdown.contains("too short for one"), "{markdown}");
    let mut documents = sides.clone();
    documents
        .iter_mut()
        .for_each(|s| s.run.origin = Origin::Imported);
    let of_documents = analysis::account::markdown::comparison(&compare(&documents), false);
    assert!(
        of_documents.contains("no interval is known of published")
            && !of_documents.contains("too short"),
        "{of_documents}"
    );
    assert_eq!(markdown.matches(decided).count(), 2, "{markdown}");
    assert!(markdown.contains("note: a, b and c"), "{markdown}");
    // Before and after a change of one directory, on another host, and on a disk without a number.
    let mut unknown = side_on("b", "db1", "/u02");
    unknown.run.target.stack.layers[0].dev = None;
    for other in [
        side_on("b", "db1", "/u01"),
        side_on("b", "db2", "/u02"),
        unknown,
    ] {
        let sides = [side_on("a", "db1", "/u01"), other];
        assert_eq!(compare(&sides).notices, [""; 0]);
    }
}
