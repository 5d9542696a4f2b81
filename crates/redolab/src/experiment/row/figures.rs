//! The figures of a row, from what was collected while it ran. Nothing here measures.

use super::collected::Collected;
use super::workers::WorkerWork;
use super::{Control, Lab, Shared, Spec};
use crate::experiment::recorder::{Background, Foreground};
use crate::experiment::span::Counted;
use crate::observe::audit::{Evidence, audit};
use crate::observe::background::others_pct;
use crate::observe::sampler::Observation;
use measure::run::{CommitsPerWrite, OpenLoop, Row, SyncSwitch, WaitStats, Worker};
use measure::units::{KB_BYTES, MB_BYTES};
use measure::workload::CommitWait;
use measure::{Histogram, WaitEvent};

/// Sessions at most that a row tells one by one.
const SESSIONS_TOLD: u32 = 256;

pub(super) fn row(
    lab: &Lab<'_>,
    spec: &Spec,
    shared: &Shared,
    all: &Collected,
    observed: &Observation,
) -> Row {
    let (fg, bg) = (&all.foreground, &all.background);
    let control = &*shared.control;
    let seconds = all.elapsed.as_secs().max(1e-9);
    let commits = fg.latency.count();
    let waits = spec.workload.commit.wait == CommitWait::Wait;
    let cpu = observed.total.cpu;
    let block_bytes = u64::from(lab.target.log.geometry().block_bytes);
    let returned = returned(shared, commits);
    let per_commit = |value: f64| (returned > 0).then(|| value / returned as f64);
    let mut row = Row {
        workload: spec.workload.name.clone(),
        nodes: 1,
        jobs: spec.jobs,
        threads: spec.api.threads(spec.jobs),
        cpu_busy_pct: cpu.map(|c| c.busy_pct),
        cpu_user_pct: cpu.map(|c| c.user_pct),
        cpu_sys_pct: cpu.map(|c| c.sys_pct),
        cpu_idle_pct: cpu.map(|c| c.idle_pct),
        cpu_iowait_pct: cpu.map(|c| c.iowait_pct),
        commit_throughput_tps: commits as f64 / seconds,
        commit_latency_ms: fg.latency.mean() / 1e6,
        redo_blocks_per_s: bg.blocks as f64 / seconds,
        redo_writes_iops: bg.write.count() as f64 / seconds,
        redo_synch_writes_iops: fg.sync.count() as f64 / seconds,
        redo_data_mbps: bg.redo_bytes as f64 / MB_BYTES / seconds,
        redo_data_kb_per_txn: per_commit(bg.redo_bytes as f64 / KB_BYTES).unwrap_or(0.0),
        log_file_sync_ms: waits.then(|| fg.sync.mean() / 1e6),
        flash_cache_write_pct: None,
        elapsed_s: seconds,
        redo_size_bytes: bg.redo_bytes,
        commits,
        elapsed_ns: all.elapsed.0,
        commit_latency: fg.latency.stats(),
        commits_per_write: CommitsPerWrite {
            mean: bg.commits.mean(),
            p50: bg.commits.quantile_raw(0.5),
            p99: bg.commits.quantile_raw(0.99),
        },
        commit_path: fg.commit_path(),
        session_time: Some(control.session_time(all.from, all.until)),
        cross_check: Some(control.cross_check(&counted(lab, spec, all))),
        redo_wastage_bytes: (bg.blocks * block_bytes).saturating_sub(bg.redo_bytes),
        flushes: bg.flushes,
        log_switches: bg.switches,
        log_writer_switches: bg.mode_switches,
        workers: workers(all),
        cpu_us_per_commit: observed.own.and_then(|own| per_commit(own.cpu_us() as f64)),
        context_switches_per_commit: observed
            .own
            .and_then(|own| per_commit(own.context_switches() as f64)),
        intervals: all.intervals.clone(),
        events: all.events.clone(),
        ..Row::default()
    };
    add_load(&mut row, spec, shared, all);
    add_waits(&mut row, fg, bg, control);
    add_idle(&mut row);
    add_device(&mut row, lab, observed, all.checkpoint_flushes);
    add_learning(&mut row, all);
    row
}

/// What a second count of the row depends on.
fn counted<'a>(lab: &'a Lab<'_>, spec: &Spec, all: &Collected) -> Counted<'a> {
    let waits = spec.workload.commit.wait == CommitWait::Wait;
    let log = &lab.target.log;
    Counted {
        from: all.from,
        until: all.until,
        begun: all.begun,
        ends: all.ends,
        recorder: &lab.target.recorder,
        window_bytes: all.background.redo_bytes,
        records: u64::from(spec.workload.records.max(1)),
        buffered_bytes: if waits { 0 } else { log.buffer_bytes() },
    }
}

/// Transactions that returned in the window. With a backlog those due in it are others.
fn returned(shared: &Shared, commits: u64) -> u64 {
    let pacer = shared.pacer.as_ref();
    pacer.map_or(commits, |pacer| pacer.shares().returned)
}

/// What was asked of the sessions, and of an open loop what became of it.
fn add_load(row: &mut Row, spec: &Spec, shared: &Shared, all: &Collected) {
    row.redo_bytes_per_txn = Some(u64::from(spec.workload.redo_bytes));
    row.records_per_txn = Some(spec.workload.records.max(1));
    row.commits_per_session = spec.commits;
    row.soak = spec.soak;
    if spec.commits.is_some() && spec.jobs <= SESSIONS_TOLD {
        row.sessions = shared.control.sessions();
    }
    let (Some(arrivals), Some(pacer)) = (spec.arrivals, &shared.pacer) else {
        return;
    };
    let until = all.from.plus(all.elapsed);
    let (shares, not_served) = (pacer.shares(), pacer.not_served(all.from, until));
    // Nobody's time between transactions is missing: sessions wait for arrivals.
    (row.session_time, row.cross_check) = (None, None);
    row.commit_throughput_tps = shares.returned as f64 / row.elapsed_s.max(1e-9);
    row.offered_tps = Some(arrivals.offered_per_s());
    row.backlog_end = Some(all.backlog.0);
    row.lateness_ms = (shares.lateness.count() > 0).then(|| shares.lateness.mean() / 1e6);
    let share = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
    row.open_loop = Some(OpenLoop {
        arrivals: row.commits + not_served.count,
        not_served: not_served.count,
        oldest_not_served_ns: not_served.oldest.map(|at| until.since(at).0),
        backlog_max: all.backlog.1,
        lateness_pct: share(
            shares.lateness.sum() as f64,
            all.foreground.latency.sum() as f64,
        ),
        lab_busy_pct: (shares.busy_ns > 0)
            .then(|| share(shares.lab_busy_ns as f64, shares.busy_ns as f64)),
        queue: shares.queue.stats(),
        lateness: shares.lateness.stats(),
    });
}

/// What adaptive learning did in the window.
fn add_learning(row: &mut Row, all: &Collected) {
    let (Some(before), Some(after)) = (&all.learned_before, &all.learned) else {
        return;
    };
    let switches = after.switches - before.switches;
    let commits = after.commits - before.commits;
    let polled = after.polled - before.polled;
    row.log_file_sync_switches = Some(switches);
    row.log_file_sync_polled_pct = (commits > 0).then(|| polled as f64 / commits as f64 * 100.0);
    let kept = after.recent.len().min(switches as usize);
    let recent = after.recent.iter().skip(after.recent.len() - kept);
    let name = |polls| if polls { "polling" } else { "post-wait" };
    row.log_file_sync_switch_log = recent
        .map(|switch| SyncSwitch {
            t_s: switch.at.since(all.from).as_secs(),
            to: name(switch.to_polling).to_owned(),
            left_per_s: switch.left_per_s,
            taken_per_s: switch.taken_per_s,
        })
        .collect();
}

fn add_waits(row: &mut Row, fg: &Foreground, bg: &Background, control: &Control) {
    let mut add = |event: WaitEvent, histogram: &Histogram| {
        if histogram.count() > 0 {
            row.waits.insert(event.key().to_owned(), histogram.stats());
            row.curves.insert(event.key().to_owned(), histogram.curve());
        }
    };
    add(WaitEvent::LogFileSync, &fg.sync);
    add(WaitEvent::LogFileParallelWrite, &bg.write);
    add(WaitEvent::LogFileSwitchCheckpointIncomplete, &bg.checkpoint);
    add(WaitEvent::LogFileSwitchCompletion, &bg.switch);
    add(WaitEvent::LgwrAnyWorkerGroup, &bg.any_worker);
    let (count, total_ns) = control.space_waits();
    if count > 0 {
        let stats = WaitStats {
            count,
            total_ns,
            mean_ns: total_ns as f64 / count as f64,
            ..WaitStats::default()
        };
        row.waits
            .insert(WaitEvent::LogBufferSpace.key().to_owned(), stats);
    }
}

/// The table of workers of study 000: one line each, also for one that wrote nothing.
fn workers(all: &Collected) -> Vec<Worker> {
    let wrote = &all.background.workers;
    let of = |(number, work): (usize, &WorkerWork)| Worker {
        name: format!("LG{number:02}"),
        log_file_parallel_write: wrote.get(number).map(Histogram::stats).unwrap_or_default(),
        operations: work.operations,
        idle_count: work.idle_count,
        idle_ns: work.idle_ns,
    };
    all.workers.iter().enumerate().map(of).collect()
}

/// `LGWR worker group idle` over all workers.
fn add_idle(row: &mut Row) {
    let count = row.workers.iter().map(|w| w.idle_count).sum();
    let total_ns: u64 = row.workers.iter().map(|w| w.idle_ns).sum();
    if count > 0 {
        let stats = WaitStats {
            count,
            total_ns,
            mean_ns: total_ns as f64 / count as f64,
            ..WaitStats::default()
        };
        row.waits
            .insert(WaitEvent::LgwrWorkerGroupIdle.key().to_owned(), stats);
    }
}

fn add_device(row: &mut Row, lab: &Lab<'_>, observed: &Observation, checkpoint_flushes: u64) {
    let disk = observed.total.disk;
    let own = observed.own_written_bytes;
    row.device_writes = disk.map(|d| d.data_writes());
    row.device_written_bytes = disk.map(|d| d.written_bytes());
    row.device_util_pct = observed.total.device_util_pct;
    row.background_write_pct = disk.zip(own).and_then(|(d, own)| others_pct(&d, own));
    let target = lab.target.describe();
    row.flush_audit = Some(audit(&Evidence {
        // Flushes of the log and of the checkpoint that are asked for together are merged by the
        // kernel; those of either follow each other.
        needed: row.flushes.max(checkpoint_flushes),
        counted: disk,
        declares_cache: lab.declares_cache,
        may_use_fua: matches!(target.sync_method.as_str(), "dsync" | "direct-dsync"),
        background_pct: row.background_write_pct,
        devices: lab.devices,
        nfs: observed.nfs,
    }));
}
