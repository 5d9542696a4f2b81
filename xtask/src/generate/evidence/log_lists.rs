//! Single waits of a healthy log, or of one with a fault, as Oracle and SQL Server list them:
//! histograms, wait views, traces, warnings.

use super::{Seeded, log_report::LogReport};
use std::fmt::Write as _;

/// Waits of a histogram or trace, and how long they took.
#[derive(Clone, Debug)]
pub struct LogWaits {
    /// Number.
    pub waits: u64,
    /// Median, ms; the logarithm of a wait has a normal distribution around it.
    pub median_ms: f64,
    /// Standard deviation of the logarithm.
    pub spread: f64,
    /// Part of the waits that take `slow_ms` instead.
    pub slow: f64,
    /// From and to, ms.
    pub slow_ms: (f64, f64),
    /// Single waits of a time-out, ms, and their number.
    pub outliers: (f64, u64),
}

impl LogWaits {
    /// At most three in a thousand over 16 ms, and none of them over 200 ms.
    pub fn healthy(r: &mut Seeded) -> LogWaits {
        LogWaits {
            waits: r.whole(3_000, 12_000),
            median_ms: 0.15 * r.between(0.0, 2.3).exp(),
            spread: r.between(0.2, 0.6),
            slow: r.between(0.0, 0.003),
            slow_ms: (16.0, 200.0),
            outliers: (0.0, 0),
        }
    }

    /// Each wait in ms.
    pub fn all(&self, r: &mut Seeded) -> Vec<f64> {
        let mut all: Vec<f64> = (0..self.waits)
            .map(|_| match r.unit() < self.slow {
                true => r.between(self.slow_ms.0, self.slow_ms.1),
                false => self.median_ms * (self.spread * r.normal()).exp(),
            })
            .collect();
        let step = all.len() / (self.outliers.1 as usize + 1);
        for n in 0..self.outliers.1 as usize {
            all[(n + 1) * step - 1] = self.outliers.0 * r.between(1.0, 1.05);
        }
        all
    }

    /// `V$EVENT_HISTOGRAM` of log file sync.
    pub fn histogram(&self, r: &mut Seeded) -> String {
        let all = self.all(r);
        let mut out = "EVENT,WAIT_TIME_MILLI,WAIT_COUNT\n".to_owned();
        for bucket in 0..15 {
            let (to, from) = ((1_u64 << bucket) as f64, (1_u64 << bucket) as f64 / 2.0);
            let from = if bucket == 0 { 0.0 } else { from };
            let count = all.iter().filter(|ms| **ms >= from && **ms < to).count();
            if count > 0 {
                let _ = writeln!(out, "\"log file sync\",{to},{count}");
            }
        }
        out
    }

    /// A trace of the log writer.
    pub fn trace(&self, r: &mut Seeded) -> String {
        let mut out = "*** 2025-03-03 10:00:00.000\n".to_owned();
        let mut at = 1_000_000.0;
        for ms in self.all(r) {
            at += ms * 1e3 + r.between(100.0, 4_000.0);
            let _ = writeln!(
                out,
                "WAIT #0: nam='log file parallel write' ela= {:.0} files=1 blocks={} requests=1 obj#=-1 tim={at:.0}",
                ms * 1e3,
                r.whole(1, 12)
            );
        }
        out
    }
}

/// `v$system_event` of an instance like that of a report.
pub fn system_event(of: &LogReport, sync_ms: f64) -> String {
    let mut out = "EVENT                                                            TOTAL_WAITS \
        TIME_WAITED_MICRO AVERAGE_WAIT\n---------------------------------------------------------------- \
        ----------- ----------------- ------------\n"
        .to_owned();
    let commits = (of.writes * of.per_write).round();
    for (event, waits, ms) in [
        ("log file sync", commits, sync_ms),
        ("log file parallel write", of.writes, of.write_ms),
        ("db file sequential read", of.writes, 0.6),
    ] {
        let _ = writeln!(
            out,
            "{event:<64} {waits:>11.0} {:>17.0} {:>12.2}",
            waits * ms * 1e3,
            ms / 10.0
        );
    }
    out
}

/// Warnings of the log writer; `hour` is of most of them.
pub fn warnings(r: &mut Seeded, hour: Option<u64>) -> String {
    let mut out = String::new();
    for n in 0..r.whole(12, 40) {
        let at = match hour {
            Some(hour) if r.unit() < 0.85 => hour,
            _ => r.whole(0, 24),
        };
        let _ = writeln!(
            out,
            "*** 2025-03-{:02} {at:02}:{:02}:{:02}.100\nWarning: log write elapsed time {}ms, size {}KB",
            3 + n / 4,
            r.whole(0, 60),
            r.whole(0, 60),
            r.whole(500, 6_000),
            r.whole(1, 900)
        );
    }
    out
}

/// `sys.dm_os_wait_stats`: mean and longest WRITELOG in ms.
pub fn writelog(r: &mut Seeded, mean_ms: f64, longest_ms: f64) -> String {
    let waits = r.printed(20_000.0, 900_000.0, 0);
    format!(
        "wait_type,waiting_tasks_count,wait_time_ms,max_wait_time_ms,signal_wait_time_ms\n\
         SOS_SCHEDULER_YIELD,{:.0},{:.0},20,{:.0}\nWRITELOG,{waits:.0},{:.0},{longest_ms:.0},{:.0}\n",
        waits * 3.0,
        waits * 0.2,
        waits * 0.2,
        waits * mean_ms,
        waits * 0.02
    )
}
