//! The figures of a row, from its recording.

use super::observed::ProcessorTicks;
use super::{ArrivalRecord, Background, Foreground, Recording, WaitSum, interval};
use crate::run::{CommitsPerWrite, Interval, OpenLoop, Row, SyncSwitch, WaitStats, Worker};
use crate::units::{KB_BYTES, MB_BYTES};
use crate::{Histogram, Nanos, WaitEvent};

impl Recording {
    /// The row.
    #[must_use]
    pub fn row(&self) -> Row {
        let fg = self.foreground();
        let nothing = Background::default();
        let bg = self.background.as_ref().unwrap_or(&nothing);
        let elapsed = Nanos(self.elapsed_ns());
        let seconds = elapsed.as_secs().max(1e-9);
        let commits = fg.latency.count();
        let mut row = Row {
            workload: self.load.workload.clone(),
            nodes: u32::try_from(self.load.nodes.len())
                .unwrap_or(u32::MAX)
                .max(1),
            jobs: self.load.jobs,
            threads: self.load.threads,
            commit_throughput_tps: commits as f64 / seconds,
            commit_latency_ms: fg.latency.mean() / 1e6,
            redo_synch_writes_iops: fg.sync.count() as f64 / seconds,
            log_file_sync_ms: self.load.waits.then(|| fg.sync.mean() / 1e6),
            elapsed_s: seconds,
            commits,
            elapsed_ns: elapsed.0,
            commit_latency: fg.latency.stats(),
            commit_path: fg.commit_path(),
            session_time: self.session_time,
            cross_check: self.cross_check.clone(),
            redo_bytes_per_txn: self.load.redo_bytes_per_txn,
            records_per_txn: self.load.records_per_txn,
            commits_per_session: self.load.commits_per_session,
            soak: self.load.soak,
            sessions: self.sessions.clone(),
            events: self.events.clone(),
            ..Row::default()
        };
        self.add_redo(&mut row, bg, seconds);
        self.add_processors(&mut row);
        self.add_device(&mut row);
        add_waits(&mut row, &fg, bg, self.space_waits);
        if let Some(arrivals) = &self.arrivals {
            self.add_open_loop(&mut row, arrivals, &fg);
        }
        self.add_learning(&mut row);
        row.intervals = self.interval_figures();
        row
    }

    /// Transactions that returned in the window. With a backlog those due in it are others.
    fn returned(&self, commits: u64) -> u64 {
        self.arrivals.as_ref().map_or(commits, |a| a.returned)
    }

    fn add_redo(&self, row: &mut Row, bg: &Background, seconds: f64) {
        let returned = self.returned(row.commits);
        row.redo_blocks_per_s = bg.blocks as f64 / seconds;
        row.redo_writes_iops = bg.write.count() as f64 / seconds;
        row.redo_data_mbps = bg.redo_bytes as f64 / MB_BYTES / seconds;
        row.redo_data_kb_per_txn =
            per(bg.redo_bytes as f64 / KB_BYTES, returned).unwrap_or_default();
        row.redo_size_bytes = bg.redo_bytes;
        row.commits_per_write = CommitsPerWrite {
            mean: bg.commits.mean(),
            p50: bg.commits.quantile_raw(0.5),
            p99: bg.commits.quantile_raw(0.99),
        };
        row.redo_wastage_bytes = bg.block_bytes.saturating_sub(bg.redo_bytes);
        row.flushes = bg.flushes;
        row.log_switches = bg.switches;
        row.log_writer_switches = bg.mode_switches;
        row.workers = workers(bg);
    }

    fn add_processors(&self, row: &mut Row) {
        let ticks = self.processors.sum().filter(|ticks| ticks.total() > 0);
        let share = |part: fn(&ProcessorTicks) -> u64| {
            ticks.map(|ticks| percent(part(&ticks), ticks.total()))
        };
        row.cpu_busy_pct = share(ProcessorTicks::busy);
        row.cpu_user_pct = share(|ticks| ticks.user);
        row.cpu_sys_pct = share(|ticks| ticks.sys);
        row.cpu_idle_pct = share(|ticks| ticks.idle);
        row.cpu_iowait_pct = share(|ticks| ticks.iowait);
        let (used, returned) = (self.processes.sum(), self.returned(row.commits));
        row.cpu_us_per_commit = used.and_then(|u| per(u.cpu_us as f64, returned));
        row.context_switches_per_commit =
            used.and_then(|u| per(u.context_switches as f64, returned));
    }

    fn add_device(&self, row: &mut Row) {
        let device = self.devices.sum();
        row.device_writes = device.map(|d| d.writes);
        row.device_written_bytes = device.map(|d| d.written_bytes);
        row.device_util_pct =
            device.map(|d| percent(d.busy_ms.saturating_mul(1_000_000), d.observed_ns).min(100.0));
        row.background_write_pct = self.others_pct();
        row.flush_audit = self.flush_audit.clone();
    }

    /// Bytes that others wrote to the devices, in percent of all; `None` where nothing was written,
    /// or one of both counts is missing.
    #[must_use]
    pub fn others_pct(&self) -> Option<f64> {
        let all = self.devices.sum()?.written_bytes;
        let own = self.processes.sum()?.written_bytes?;
        (all > 0).then(|| percent(all.saturating_sub(own), all))
    }

    fn add_open_loop(&self, row: &mut Row, arrivals: &ArrivalRecord, fg: &Foreground) {
        let share = |part: f64, whole: f64| 100.0 * part / whole.max(1.0);
        let lateness = &arrivals.lateness;
        // Nobody's time between transactions is missing: sessions wait for arrivals.
        (row.session_time, row.cross_check) = (None, None);
        row.commit_throughput_tps = arrivals.returned as f64 / row.elapsed_s.max(1e-9);
        row.offered_tps = self.load.offered_tps;
        row.backlog_end = Some(arrivals.backlog_end);
        row.lateness_ms = (lateness.count() > 0).then(|| lateness.mean() / 1e6);
        row.open_loop = Some(OpenLoop {
            arrivals: row.commits.saturating_add(arrivals.not_served),
            not_served: arrivals.not_served,
            oldest_not_served_ns: arrivals.oldest_not_served_ns,
            backlog_max: arrivals.backlog_max,
            lateness_pct: share(lateness.sum() as f64, fg.latency.sum() as f64),
            lab_busy_pct: (arrivals.busy_ns > 0)
                .then(|| share(arrivals.lab_busy_ns as f64, arrivals.busy_ns as f64)),
            queue: arrivals.queue.stats(),
            lateness: lateness.stats(),
        });
    }

    /// What adaptive learning did in the window.
    fn add_learning(&self, row: &mut Row) {
        let Some(learning) = &self.learning else {
            return;
        };
        let (commits, polled) = (learning.commits, learning.polled);
        row.log_file_sync_switches = Some(learning.switches);
        row.log_file_sync_polled_pct =
            (commits > 0).then(|| polled as f64 / commits as f64 * 100.0);
        let name = |polls| if polls { "polling" } else { "post-wait" };
        row.log_file_sync_switch_log = learning
            .recent
            .iter()
            .map(|switch| SyncSwitch {
                t_s: self.since_start(switch.at_ns).as_secs(),
                to: name(switch.to_polling).to_owned(),
                left_per_s: switch.left_per_s,
                taken_per_s: switch.taken_per_s,
            })
            .collect();
    }

    fn interval_figures(&self) -> Vec<Interval> {
        let series = interval::series(&self.intervals).into_iter();
        series
            .map(|interval| Interval {
                t_s: self.since_start(interval.window.end_ns).as_secs(),
                seconds: Nanos(interval.window.length_ns()).as_secs(),
                commits: interval.commits,
                redo_bytes: interval.redo_bytes,
                log_file_sync_mean_ns: interval.sync.mean_ns(),
                log_file_sync_p99_ns: interval.sync_p99_ns,
                log_file_sync_max_ns: interval.sync.max_ns,
                log_file_parallel_write_mean_ns: interval.write.mean_ns(),
                log_file_parallel_write_max_ns: interval.write.max_ns,
                log_switches: interval.log_switches,
                device_util_pct: interval.device_util_pct,
                rss_bytes: interval.rss_bytes,
                backlog: interval.backlog,
            })
            .collect()
    }

    /// Measured time from the row's start until `at_ns`: the lengths of the windows before its own,
    /// and what has passed of that one.
    fn since_start(&self, at_ns: u64) -> Nanos {
        let begun = self.windows.iter().filter(|w| w.start_ns < at_ns);
        let mut since = 0_u64;
        let mut begun = begun.peekable();
        while let Some(window) = begun.next() {
            let end_ns = match begun.peek() {
                Some(_) => window.end_ns,
                None => at_ns,
            };
            since = since.saturating_add(end_ns - window.start_ns);
        }
        Nanos(since)
    }
}

/// `value` for each of `count`; `None` of none.
fn per(value: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| value / count as f64)
}

/// `part` of `whole` in percent; zero of nothing.
fn percent(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => 100.0 * part as f64 / whole as f64,
    }
}

fn add_waits(row: &mut Row, fg: &Foreground, bg: &Background, space: WaitSum) {
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
    let idle = bg.workers.iter().map(|w| w.idle);
    for (event, sum) in [
        (WaitEvent::LogBufferSpace, space),
        (
            WaitEvent::LgwrWorkerGroupIdle,
            idle.fold(WaitSum::default(), WaitSum::plus),
        ),
    ] {
        if let Some(mean_ns) = per(sum.total_ns as f64, sum.count) {
            let stats = WaitStats {
                count: sum.count,
                total_ns: sum.total_ns,
                mean_ns,
                ..WaitStats::default()
            };
            row.waits.insert(event.key().to_owned(), stats);
        }
    }
}

/// The table of workers of study 000: one line each, also for one that wrote nothing.
fn workers(bg: &Background) -> Vec<Worker> {
    let numbered = bg.workers.iter().enumerate();
    numbered
        .map(|(number, worker)| Worker {
            name: format!("LG{number:02}"),
            log_file_parallel_write: worker.write.stats(),
            operations: worker.operations,
            idle_count: worker.idle.count,
            idle_ns: worker.idle.total_ns,
        })
        .collect()
}
