//! The figures of a row, from its recording.

use super::interval;
use super::observed::{DeviceCounts, ProcessorTicks};
use super::{
    ArrivalRecord, Background, Foreground, LearntSwitch, Recording, ServerRecord, SlowWrite,
    SlowWrites, WaitSum,
};
use crate::run::{
    CommitPathFigures, CommitsPerWrite, DeviceFigures, Interval, LearningFigures, OpenLoop,
    OpenLoopFigures, ProcessorFigures, RecordedSyncSwitch, RedoFigures, Row, SlowLogWrite,
    SlowLogWrites, WaitStats, Worker, measured,
};
use crate::units::{KB_BYTES, MB_BYTES};
use crate::{Histogram, Nanos, WaitEvent};

impl Recording {
    /// The row.
    #[must_use]
    pub fn row(&self) -> Row {
        let fg = self.foreground();
        let elapsed = Nanos(self.elapsed_ns());
        let seconds = elapsed.as_secs().max(1e-9);
        let commits = fg.latency.count();
        // A target that reports neither its log writes nor a wait reports nothing of the wait.
        let known = self.background.is_some() || fg.sync.count() > 0;
        let mut row = Row {
            workload: self.load.workload.clone(),
            nodes: u32::try_from(self.load.nodes.len())
                .unwrap_or(u32::MAX)
                .max(1),
            jobs: self.load.jobs,
            threads: Some(self.load.threads),
            redo_bytes_per_txn: self.load.redo_bytes_per_txn,
            records_per_txn: self.load.records_per_txn,
            commits_per_session: self.load.commits_per_session,
            soak: self.load.soak,
            condition: self.load.condition.clone(),
            commit_throughput_tps: Some(commits as f64 / seconds),
            commit_latency_ms: Some(fg.latency.mean() / 1e6),
            redo_synch_writes_iops: known.then(|| fg.sync.count() as f64 / seconds),
            log_file_sync_ms: (self.load.waits && known).then(|| fg.sync.mean() / 1e6),
            elapsed_s: Some(seconds),
            commits: Some(commits),
            elapsed_ns: Some(elapsed.0),
            commit_latency: Some(fg.latency.stats()),
            commit_path: (self.background.is_some() || fg.attributed > 0)
                .then(|| self.commit_path(&fg)),
            session_time: self.session_time,
            cross_check: self.cross_check.clone(),
            sessions: self.sessions.clone(),
            events: self.events.clone(),
            intervals: self.interval_figures(),
            redo: self
                .background
                .as_ref()
                .map(|bg| redo_figures(bg, self.returned(commits), seconds)),
            by_node: (1..)
                .zip(&self.nodes)
                .map(|(n, node)| node.figures(n, seconds))
                .collect(),
            device: self.device_figures(),
            processors: self.processor_figures(commits),
            learning: self.learning_figures(),
            log_life: self
                .log_life
                .as_ref()
                .and_then(|life| life.figures(seconds)),
            server: self.server.as_ref().and_then(ServerRecord::figures),
            tproc_c: self.tproc_c.as_ref().map(|c| c.figures(&self.foregrounds)),
            ..Row::default()
        };
        let space_waits = self.space_waits.unwrap_or_default();
        add_waits(&mut row, &fg, self.background.as_ref(), space_waits);
        if let Some(arrivals) = &self.arrivals {
            self.add_open_loop(&mut row, arrivals, &fg);
        }
        if let Some(watched) = &self.watched {
            self.add_watched(&mut row, watched);
        }
        row
    }

    fn commit_path(&self, fg: &Foreground) -> CommitPathFigures {
        let waited = self.run_queue;
        CommitPathFigures {
            run_queue_ns: waited.and_then(|sum| per(sum.total_ns as f64, sum.count)),
            ..fg.commit_path()
        }
    }

    /// Transactions that returned in the window. With a backlog those due in it are others.
    fn returned(&self, commits: u64) -> u64 {
        self.arrivals.as_ref().map_or(commits, |a| a.returned)
    }

    fn processor_figures(&self, commits: u64) -> Option<ProcessorFigures> {
        let ticks = self.processors.sum().filter(|ticks| ticks.total() > 0);
        let share = |part: fn(&ProcessorTicks) -> u64| {
            ticks.map(|ticks| percent(part(&ticks), ticks.total()))
        };
        let (used, returned) = (self.processes.sum(), self.returned(commits));
        measured(ProcessorFigures {
            cpu_busy_pct: share(ProcessorTicks::busy),
            cpu_user_pct: share(|ticks| ticks.user),
            cpu_sys_pct: share(|ticks| ticks.sys),
            cpu_idle_pct: share(|ticks| ticks.idle),
            cpu_iowait_pct: share(|ticks| ticks.iowait),
            cpu_us_per_commit: used.and_then(|u| per(u.cpu_us as f64, returned)),
            context_switches_per_commit: used
                .and_then(|u| per(u.context_switches as f64, returned)),
        })
    }

    fn device_figures(&self) -> Option<DeviceFigures> {
        let device = self.devices.sum();
        let util = |d: DeviceCounts| {
            percent(d.busy_ms.saturating_mul(1_000_000), d.observed_ns).min(100.0)
        };
        measured(DeviceFigures {
            device_writes: device.map(|d| d.writes),
            device_written_bytes: device.map(|d| d.written_bytes),
            device_util_pct: device.map(util),
            background_write_pct: self.others_pct(),
            flush_audit: self.flush_audit.clone(),
        })
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
        let (lateness, due) = (&arrivals.lateness, fg.latency.count());
        let seconds = Nanos(self.elapsed_ns()).as_secs().max(1e-9);
        // Nobody's time between transactions is missing: sessions wait for arrivals.
        (row.session_time, row.cross_check) = (None, None);
        row.commit_throughput_tps = Some(arrivals.returned as f64 / seconds);
        row.open_loop = Some(OpenLoopFigures {
            offered_tps: self.load.offered_tps,
            backlog_end: Some(arrivals.backlog_end),
            lateness_ms: (lateness.count() > 0).then(|| lateness.mean() / 1e6),
            detail: Some(OpenLoop {
                arrivals: due.saturating_add(arrivals.not_served),
                not_served: arrivals.not_served,
                oldest_not_served_ns: arrivals.oldest_not_served_ns,
                backlog_max: arrivals.backlog_max,
                lateness_pct: share(lateness.sum() as f64, fg.latency.sum() as f64),
                lab_busy_pct: (arrivals.busy_ns > 0)
                    .then(|| share(arrivals.lab_busy_ns as f64, arrivals.busy_ns as f64)),
                queue: arrivals.queue.stats(),
                lateness: lateness.stats(),
            }),
        });
    }

    /// What adaptive learning did in the window.
    fn learning_figures(&self) -> Option<LearningFigures> {
        let learning = self.learning.as_ref()?;
        let (commits, polled) = (learning.commits, learning.polled);
        let name = |switch: &LearntSwitch| match (switch.to_polling, switch.to_inline) {
            (true, _) => "polling",
            (false, true) => "inline",
            (false, false) => "post-wait",
        };
        let switches = learning.recent.iter().map(|switch| RecordedSyncSwitch {
            t_s: self.since_start(switch.at_ns).as_secs(),
            to: name(switch).to_owned(),
            left_per_s: switch.left_per_s,
            taken_per_s: switch.taken_per_s,
        });
        Some(LearningFigures {
            log_file_sync_switches: Some(learning.switches),
            log_file_sync_polled_pct: (commits > 0).then(|| polled as f64 / commits as f64 * 100.0),
            log_file_sync_switch_log: switches.collect(),
        })
    }

    fn interval_figures(&self) -> Vec<Interval> {
        let series = interval::series(&self.intervals).into_iter();
        series
            .map(|interval| Interval {
                t_s: self.since_start(interval.window.end_ns).as_secs(),
                seconds: Nanos(interval.window.length_ns()).as_secs(),
                commits: interval.commits,
                redo_bytes: interval.redo_bytes,
                written_bytes: interval.written_bytes,
                log_writes: interval.redo_bytes.map(|_| interval.write.count),
                log_file_sync_mean_ns: interval.sync.mean_ns(),
                log_file_sync_p99_ns: interval.sync_p99_ns,
                log_file_sync_max_ns: interval.sync.longest_ns(),
                log_file_parallel_write_mean_ns: interval.write.mean_ns(),
                log_file_parallel_write_max_ns: interval.write.longest_ns(),
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

/// The log writer's figures over `seconds`, in which `returned` transactions returned.
fn redo_figures(bg: &Background, returned: u64, seconds: f64) -> RedoFigures {
    let kb = bg.redo_bytes as f64 / KB_BYTES;
    RedoFigures {
        redo_blocks_per_s: Some(bg.blocks as f64 / seconds),
        redo_writes_iops: Some(bg.write.count() as f64 / seconds),
        redo_data_mbps: Some(bg.redo_bytes as f64 / MB_BYTES / seconds),
        redo_data_kb_per_txn: per(kb, returned),
        flash_cache_write_pct: None,
        redo_size_bytes: Some(bg.redo_bytes),
        commits_per_write: Some(CommitsPerWrite {
            mean: bg.commits.mean(),
            p50: bg.commits.quantile_raw(0.5),
            p99: bg.commits.quantile_raw(0.99),
        }),
        redo_wastage_bytes: Some(bg.block_bytes.saturating_sub(bg.redo_bytes)),
        flushes: Some(bg.flushes),
        nowait_window_bytes: (bg.deferred_ns_max > 0).then_some(bg.deferred_bytes_max),
        nowait_window_ms: (bg.deferred_ns_max > 0).then(|| bg.deferred_ns_max as f64 / 1e6),
        log_switches: Some(bg.switches),
        log_writer_switches: Some(bg.mode_switches),
        workers: workers(bg),
        log_write_warnings: bg.slow.as_ref().map(SlowWrites::count),
        slow_log_writes: bg.slow.as_ref().map(|slow| slow_log_writes(bg, slow)),
    }
}

/// The slow log writes in the order of their time. All blocks of a log have one size.
fn slow_log_writes(bg: &Background, slow: &SlowWrites) -> SlowLogWrites {
    let block_bytes = bg.block_bytes.checked_div(bg.blocks).unwrap_or(0);
    let listed = |write: &SlowWrite| SlowLogWrite {
        at_utc_ns: write.at_ns,
        size_bytes: u64::from(write.blocks).saturating_mul(block_bytes),
        took_ns: write.took_ns,
        member: write.member,
    };
    let mut writes: Vec<SlowLogWrite> = slow.kept.iter().map(listed).collect();
    writes.sort_by_key(|write| (write.at_utc_ns, write.took_ns));
    SlowLogWrites {
        threshold_ns: slow.threshold_ns,
        dropped: slow.dropped,
        writes,
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

fn add_waits(row: &mut Row, fg: &Foreground, bg: Option<&Background>, space: WaitSum) {
    let mut add = |event: WaitEvent, histogram: &Histogram| {
        if histogram.count() > 0 {
            row.waits.insert(event.key().to_owned(), histogram.stats());
            row.curves.insert(event.key().to_owned(), histogram.curve());
        }
    };
    add(WaitEvent::LogFileSync, &fg.sync);
    let mut idle = WaitSum::default();
    if let Some(bg) = bg {
        add(WaitEvent::LogFileParallelWrite, &bg.write);
        add(WaitEvent::LogFileSwitchCheckpointIncomplete, &bg.checkpoint);
        add(WaitEvent::LogFileSwitchArchivingNeeded, &bg.archive);
        add(WaitEvent::LogFileSwitchCompletion, &bg.switch);
        add(WaitEvent::LgwrAnyWorkerGroup, &bg.any_worker);
        idle = bg.workers.iter().fold(idle, |sum, w| sum.plus(w.idle));
    }
    for (event, sum) in [
        (WaitEvent::LogBufferSpace, space),
        (WaitEvent::LgwrWorkerGroupIdle, idle),
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
