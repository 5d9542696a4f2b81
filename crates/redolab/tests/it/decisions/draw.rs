//! Runs and comparisons that are drawn: own logs with and without members, servers, watched logs,
//! imports of several files; on disks, in memory, with and without need, doubt and errors. Each is
//! judged by what judges the runs of commands.

use crate::common::{full_run, histogram};
use crate::ratios::row;
use analysis::compare::condition::FailIf;
use analysis::compare::live::{LiveSide, Round};
use analysis::compare::{Options, Side, WaitSeries, rounds, stored};
use analysis::stats::random::Random;
use analysis::thresholds::Thresholds;
use measure::comparison::Comparison;
use measure::judgement::Need;
use measure::run::{
    DatabaseFacts, Origin, Row, Run, RunNotes, TargetFacts, Validity, WatchedFacts, WorkloadInfo,
};
use measure::stack::{Layer, LayerKind, Stack};
use redolab::experiment::judge::judge;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A row, and its waits by interval.
type DrawnRow = (Row, BTreeMap<String, WaitSeries>);

fn disk(cache: &str) -> Layer {
    Layer {
        write_cache: Some(cache.to_owned()),
        drive_write_cache: Some(cache == "write back"),
        ..Layer::new(LayerKind::Disk, "nvme0n1")
    }
}

/// What is below the target: a disk of either kind, memory, or options that lose writes.
fn layers(r: &mut Random) -> Vec<Layer> {
    let ext4 = |options: &[&str]| Layer {
        options: options.iter().map(|o| (*o).to_owned()).collect(),
        ..Layer::new(LayerKind::FileSystem, "ext4")
    };
    match r.below(6) {
        0 => vec![Layer::new(LayerKind::MemoryFileSystem, "tmpfs")],
        1 => vec![ext4(&["nobarrier"]), disk("write back")],
        2 => vec![ext4(&[]), disk("write back")],
        _ => vec![ext4(&[]), disk("write through")],
    }
}

fn need(r: &mut Random) -> Need {
    let some = |r: &mut Random, value: f64| (r.below(3) == 0).then_some(value);
    let rate = 10_f64.powi(1 + r.below(5) as i32);
    Need {
        commit_rate: some(r, rate),
        redo_bytes_per_s: some(r, 1e6),
        p99_ns: some(r, 2e6).map(|ns| ns as u64),
        ..Need::default()
    }
}

/// Whether the user stated a need that is judged.
pub fn has_need(run: &Run) -> bool {
    let need = &run.need;
    need.commit_rate.is_some() || need.redo_bytes_per_s.is_some() || need.p99_ns.is_some()
}

/// A run of these rows on a drawn target, judged.
fn on_target(r: &mut Random, name: &str, rows: Vec<Row>) -> Run {
    let mut run = full_run(name, &histogram(1, 50));
    run.notes = RunNotes::default();
    run.rows = rows;
    (run.findings, run.verdict, run.imported) = (Vec::new(), None, None);
    (run.power_tests, run.placement, run.report) = (None, None, None);
    run.diagnostics.clear();
    run.validity = Validity::sound();
    let layers = layers(r);
    run.target.stack = Stack {
        depths: (0..layers.len()).collect(),
        layers,
        ..Stack::default()
    };
    if let WorkloadInfo::Redo(load) = &mut run.workload {
        load.names = vec!["LGWR-LAT1".to_owned()];
        load.commit_write.clear();
        (load.arrivals, load.tproc_c, load.size_sweep) = (None, None, None);
    }
    run.need = need(r);
    if let TargetFacts::RedoLog(log) = &mut run.target.facts {
        (log.stripe, log.ring) = (None, None);
        if r.below(2) == 0 {
            log.members.clear();
        }
    }
    match r.below(6) {
        0 => {
            let fsync = if r.below(2) == 0 { "off" } else { "on" };
            run.target.facts = TargetFacts::Database(DatabaseFacts {
                product: "PostgreSQL".to_owned(),
                version: "15".to_owned(),
                settings: [("fsync".to_owned(), fsync.to_owned())].into(),
                ..DatabaseFacts::default()
            });
        }
        1 => {
            run.origin = Origin::Watched;
            run.target.facts = TargetFacts::Watched(WatchedFacts::default());
        }
        _ => {}
    }
    match r.below(6) {
        0 => run
            .validity
            .add("busy_device", false, "others used the device"),
        1 => run.validity.add("io_error", true, "EIO on a write"),
        _ => {}
    }
    judge(&mut run, &Thresholds::default(), Vec::new());
    run
}

fn rows(r: &mut Random, jobs: &[u32]) -> Vec<DrawnRow> {
    jobs.iter().map(|n| row(r, "LGWR-LAT1", *n)).collect()
}

/// A run, judged.
pub fn run(seed: u64) -> Run {
    let mut r = Random::new(seed);
    if seed.is_multiple_of(6) {
        return evidence(&mut r);
    }
    let (rows, _): (Vec<Row>, Vec<_>) = rows(&mut r, &[1, 8]).into_iter().unzip();
    on_target(&mut r, "20261120-101500-4f2a11", rows)
}

/// A run of which a verdict is known to follow, with a need.
pub fn judged_well() -> Run {
    let mut all = (1..).map(run);
    let fits = |run: &Run| {
        let verdict = run
            .verdict
            .as_ref()
            .is_some_and(|v| !v.durability.loses_commits());
        verdict && run.validity.valid && has_need(run)
    };
    let mut found = all.find(fits).expect("drawn before long");
    found.need.commit_rate = Some(5.0);
    let verdict = found.verdict.as_mut().expect("judged");
    verdict.answer = measure::judgement::Answer::Conditional;
    found
}

/// Evidence of two or three files: traces of log writes and a histogram.
fn evidence(r: &mut Random) -> Run {
    let mut import = evidence::Import::new(evidence::Options::default());
    let count = 2 + r.below(2);
    let mut names = Vec::new();
    for file in 0..count {
        let level = 10_f64.powf(2.0 + 2.7 * r.uniform());
        let mut text = format!("Trace file /t/orcl_lg0{file}_1.trc\nInstance name: orcl\n");
        for n in 0..200_u64 {
            let us = (level * (0.3 * r.normal()).exp()) as u64;
            let _ = writeln!(
                text,
                "WAIT #0: nam='log file parallel write' ela= {us} files=1 blocks=4 requests=1 obj#=-1 tim={}",
                1_000_000 + n * 40_000
            );
        }
        let name = format!("lg0{file}.trc");
        let mut reading = import.open(&name, "");
        reading.feed(text.as_bytes()).expect("a trace");
        import.close(reading).1.expect("evidence");
        names.push(name);
    }
    let mut run = redolab::intake::run::imported(&names, import, None, &[]);
    judge(&mut run, &Thresholds::default(), Vec::new());
    run
}

/// A condition as it was asked for, in parts.
#[derive(Debug)]
pub struct Asked {
    pub metric: &'static str,
    pub above: bool,
    pub limit: f64,
    /// The limit is of the other run's own figure, not of a ratio.
    pub is_value: bool,
}

/// Conditions whose limits are now within and now beyond what is drawn.
fn conditions(r: &mut Random) -> Vec<(FailIf, Asked)> {
    let mut all = Vec::new();
    for _ in 0..r.below(3) {
        let is_value = r.below(3) == 0;
        let above = r.below(2) == 0;
        let sign = if above { '>' } else { '<' };
        let (text, metric, limit) = match is_value {
            true => {
                let ms = 10_f64.powi(r.below(6) as i32 - 2);
                (
                    format!("log_file_sync.mean {sign} {ms}ms"),
                    "log_file_sync.mean",
                    ms * 1e6,
                )
            }
            false => {
                let percent = [-90.0, -10.0, 10.0, 10_000.0][r.below(4)];
                let text = format!("commit_throughput_tps {sign} {percent:+}%");
                (text, "commit_throughput_tps", 1.0 + percent / 100.0)
            }
        };
        let asked = Asked {
            metric,
            above,
            limit,
            is_value,
        };
        all.push((text.parse().expect("a condition"), asked));
    }
    all
}

/// Rows of the same loads at one level, a little different each time.
fn alike(r: &mut Random, level: u64, jobs: &[u32]) -> Vec<DrawnRow> {
    let mut same = Random::new(level);
    let mut rows = rows(&mut same, jobs);
    for (row, _) in &mut rows {
        let factor = 1.0 + 0.002 * r.normal();
        row.commit_throughput_tps = row.commit_throughput_tps.map(|tps| tps * factor);
    }
    rows
}

/// A comparison of two or three runs, stored or in one to six rounds, with what was asked.
pub fn comparison(seed: u64) -> (Comparison, Vec<Asked>) {
    let mut r = Random::new(seed);
    let (conditions, asked): (Vec<FailIf>, Vec<Asked>) = conditions(&mut r).into_iter().unzip();
    let options = Options {
        resamples: 25,
        seed,
        conditions,
        ..Options::default()
    };
    let names = &["alpha", "beta", "gamma"][..2 + r.below(2)];
    let jobs = &[1, 8][..1 + r.below(2)];
    let count = [1, 2, 5, 6][r.below(4)];
    // Equal targets, or targets of their own levels.
    let equal = r.below(3) == 0;
    let drawn = |r: &mut Random, name: &str, level: u64| {
        let level = if equal { seed } else { level };
        let (rows, series): (Vec<Row>, Vec<_>) = alike(r, level, jobs).into_iter().unzip();
        (on_target(r, name, rows), series)
    };
    if r.below(2) == 0 {
        let mut sides = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let (run, series) = drawn(&mut r, name, seed + 1_000 * at as u64);
            sides.push(Side {
                name: (*name).to_owned(),
                run,
                complete: r.below(8) > 0,
                series,
            });
        }
        return (stored::compare(&sides, &options), asked);
    }
    let mut sides = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let mut rounds = Vec::new();
        for i in 0..count {
            let name = format!("{name}-{i}");
            let (run, series) = drawn(&mut r, &name, seed + 1_000 * at as u64);
            let merged = |of_row: BTreeMap<String, WaitSeries>| {
                of_row.into_iter().map(|(e, s)| (e, s.merged)).collect()
            };
            let merged = series.into_iter().map(merged).collect();
            rounds.push(Round { run, merged });
        }
        sides.push(LiveSide {
            name: (*name).to_owned(),
            rounds,
        });
    }
    (rounds::compare(&sides, &options), asked)
}

/// A comparison that `beta` wins, with a condition that is not breached.
pub fn decided_well() -> Comparison {
    let fits = |(c, _): &(Comparison, Vec<Asked>)| {
        let wins = c.decisions.first().is_some_and(|d| d.winner == Some(1));
        wins && c.runs.len() == 2 && c.runs.iter().all(|r| !r.loses_commits())
    };
    let (mut c, _) = (0..).map(comparison).find(fits).expect("drawn before long");
    for run in &mut c.runs {
        run.durability = Some(measure::judgement::Durability::Unverified);
    }
    let condition: FailIf = "log_file_sync.mean > 1000s".parse().expect("a condition");
    analysis::compare::decision::decide(&mut c, &[condition]);
    c
}
