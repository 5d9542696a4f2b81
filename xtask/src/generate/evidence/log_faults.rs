//! Healthy evidence of a log from a seed, and evidence with one fault each, with the finding that
//! has to report it. Distributions are healthy by what they are drawn from, not by any rule; sizes
//! of faults begin below the thresholds.

use super::Seeded;
use super::log_lists::{LogWaits, system_event, warnings, writelog};
use super::log_report::{LogReport, day};
use super::log_servers as servers;

/// Makes the texts of one input.
type Maker = fn(&mut Seeded) -> Vec<String>;

fn report(r: &mut Seeded, of: impl Fn(&mut LogReport, &mut Seeded)) -> Vec<String> {
    let mut report = LogReport::healthy(r);
    of(&mut report, r);
    vec![if r.unit() < 0.5 {
        report.text()
    } else {
        report.html()
    }]
}

fn waits(r: &mut Seeded, of: impl Fn(&mut LogWaits, &mut Seeded)) -> LogWaits {
    let mut waits = LogWaits::healthy(r);
    of(&mut waits, r);
    waits
}

fn is_slow(waits: &mut LogWaits, r: &mut Seeded) {
    waits.slow = r.between(0.006, 0.2);
    waits.slow_ms = (40.0, 400.0);
}

fn slow_medium(waits: &mut LogWaits, r: &mut Seeded) {
    waits.median_ms = r.between(4.5, 30.0);
}

/// Write loads of a device with room, and its times.
fn room(r: &mut Seeded) -> Vec<(f64, f64)> {
    let wait = r.between(0.1, 2.0);
    (0..20)
        .map(|_| (r.between(200.0, 3_000.0), wait * r.between(0.8, 1.3)))
        .collect()
}

fn capped(r: &mut Seeded) -> Vec<(f64, f64)> {
    let (top, wait) = (r.between(1_000.0, 6_000.0), r.between(0.5, 1.5));
    let each = (0..20).map(|n| match n % 5 < 3 {
        true => (top, wait * r.between(4.0, 12.0)),
        false => (top * r.between(0.3, 0.8), wait),
    });
    each.collect()
}

/// What is healthy: a name, and its maker.
pub const HEALTHY_LOGS: &[(&str, Maker)] = &[
    ("report", |r| report(r, |_, _| {})),
    ("series", |r| day(r, |_, _| {})),
    ("histogram", |r| vec![waits(r, |_, _| {}).histogram(r)]),
    ("trace", |r| vec![waits(r, |_, _| {}).trace(r)]),
    ("system-event", |r| {
        let report = LogReport::healthy(r);
        vec![system_event(
            &report,
            report.write_ms * report.share + report.wake_ms,
        )]
    }),
    ("writelog", |r| {
        let (mean, longest) = (r.between(0.2, 3.0), r.between(20.0, 200.0));
        vec![writelog(r, mean, longest)]
    }),
    ("pgbench-progress", |r| {
        let tps = r.between(200.0, 9_000.0);
        vec![servers::pgbench_progress(r, &[(tps, 30)])]
    }),
    ("pgbench-intervals", |r| {
        let mean = r.between(900.0, 9_000.0);
        let longest = mean * r.between(5.0, 20.0);
        vec![servers::pgbench_intervals(r, mean, longest)]
    }),
    ("pg-test-fsync", |r| {
        let one = r.between(60.0, 3_000.0);
        let (two, fsync) = (r.between(1.05, 2.0), one * r.between(1.0, 1.8));
        vec![servers::pg_test_fsync(r, one, two, fsync)]
    }),
    ("pg-stat-wal", |r| {
        let (full, ms) = (r.between(0.0, 0.03), r.between(0.1, 3.0));
        vec![servers::pg_stat_wal(r, full, ms)]
    }),
    ("pg-stat-io", |r| {
        let (fsyncs, ms) = (r.between(0.7, 1.0), r.between(0.1, 3.0));
        vec![servers::pg_stat_io(r, fsyncs, ms)]
    }),
    ("fio", |r| {
        let of = waits(r, |_, _| {});
        vec![servers::fio_syncs(r, &of)]
    }),
    ("etcd", |r| {
        let of = waits(r, |_, _| {});
        vec![servers::etcd(r, &of)]
    }),
    ("iostat", |r| {
        let room = room(r);
        vec![servers::iostat(r, &room)]
    }),
];

/// A fault: its name, the finding that has to report it, and its maker.
pub const LOG_FAULTS: &[(&str, &str, Maker)] = &[
    ("slow mean, report", "latency.write_mean", |r| {
        report(r, |of, r| of.write_ms = r.between(4.5, 45.0))
    }),
    ("slow mean, trace", "latency.write_mean", |r| {
        vec![waits(r, slow_medium).trace(r)]
    }),
    ("slow mean, wait view", "latency.write_mean", |r| {
        let mut report = LogReport::healthy(r);
        report.write_ms = r.between(4.5, 45.0);
        vec![system_event(&report, report.write_ms * report.share)]
    }),
    ("a tail", "diagnosis.tail", |r| {
        vec![waits(r, is_slow).histogram(r)]
    }),
    ("time-outs of a path", "diagnosis.tail", |r| {
        let of = waits(r, |of, r| {
            of.outliers = ([1_024.0, 8_192.0][r.whole(0, 2) as usize], r.whole(1, 12))
        });
        vec![of.histogram(r)]
    }),
    ("a tail, fio", "diagnosis.slow_syncs", |r| {
        let of = waits(r, is_slow);
        vec![servers::fio_syncs(r, &of)]
    }),
    ("a slow medium, fio", "diagnosis.slow_syncs", |r| {
        let of = waits(r, slow_medium);
        vec![servers::fio_syncs(r, &of)]
    }),
    ("a tail, etcd", "diagnosis.slow_syncs", |r| {
        let of = waits(r, is_slow);
        vec![servers::etcd(r, &of)]
    }),
    ("slow syncs, pg_stat_wal", "diagnosis.slow_syncs", |r| {
        let ms = r.between(4.5, 40.0);
        vec![servers::pg_stat_wal(r, 0.0, ms)]
    }),
    ("slow syncs, pg_stat_io", "diagnosis.slow_syncs", |r| {
        let ms = r.between(4.5, 40.0);
        vec![servers::pg_stat_io(r, 1.0, ms)]
    }),
    ("slow syncs, SQL Server", "diagnosis.slow_syncs", |r| {
        let mean = r.between(4.5, 40.0);
        vec![writelog(r, mean, mean * 9.0)]
    }),
    ("a stall, SQL Server", "diagnosis.slow_syncs", |r| {
        let longest = r.between(900.0, 30_000.0);
        vec![writelog(r, 1.0, longest)]
    }),
    ("a stall, pgbench", "latency.source", |r| {
        let (mean, longest) = (r.between(900.0, 9_000.0), r.between(700_000.0, 9e6));
        vec![servers::pgbench_intervals(r, mean, longest)]
    }),
    ("no flush, pg_test_fsync", "diagnosis.no_flush", |r| {
        let one = r.between(2.0, 9.0);
        vec![servers::pg_test_fsync(r, one, 1.6, one * 400.0)]
    }),
    ("no flush, fio", "diagnosis.no_flush", |r| {
        let of = waits(r, |of, r| {
            of.median_ms = r.between(0.0003, 0.001);
            (of.slow, of.spread) = (0.0, 0.2);
        });
        vec![servers::fio_syncs(r, &of)]
    }),
    ("no flush, pg_stat_io", "diagnosis.no_flush", |r| {
        vec![servers::pg_stat_io(r, 0.0, 0.0)]
    }),
    ("two writes faster than one", "diagnosis.sync_tests", |r| {
        let (one, two) = (r.between(300.0, 3_000.0), r.between(0.3, 0.8));
        vec![servers::pg_test_fsync(r, one, two, one * 1.1)]
    }),
    ("small buffers", "diagnosis.wal_buffers", |r| {
        let full = r.between(0.08, 0.95);
        vec![servers::pg_stat_wal(r, full, 0.5)]
    }),
    ("a fall to a level", "diagnosis.levels", |r| {
        let (tps, by) = (r.between(500.0, 9_000.0), r.between(0.2, 0.85));
        let lines = r.whole(6, 24);
        vec![servers::pgbench_progress(
            r,
            &[(tps, lines), (tps * by, 30 - lines)],
        )]
    }),
    ("stalls", "diagnosis.stalls", |r| {
        let tps = r.between(500.0, 9_000.0);
        let stalled = (tps * r.between(0.0, 0.06), r.whole(1, 4));
        let after = r.whole(6, 20);
        vec![servers::pgbench_progress(
            r,
            &[(tps, after), stalled, (tps, 26 - after)],
        )]
    }),
    ("all storage is slow", "diagnosis.storage", |r| {
        report(r, |of, r| {
            let ms = r.between(4.5, 45.0);
            of.slow_storage(ms);
        })
    }),
    ("a slow device", "diagnosis.log_device", |r| {
        let (rate, wait) = (r.between(100.0, 900.0), r.between(4.5, 60.0));
        vec![servers::iostat(r, &[(rate, wait); 12])]
    }),
    ("a provisioned limit", "diagnosis.cap", |r| {
        let capped = capped(r);
        vec![servers::iostat(r, &capped)]
    }),
    ("a synchronous standby", "diagnosis.remote_write", |r| {
        report(r, |of, r| {
            of.beside = Some(("SYNC Remote Write", of.write_ms + r.between(0.8, 9.0)))
        })
    }),
    ("workers in turn", "diagnosis.worker_ordering", |r| {
        report(r, |of, r| {
            of.behind = Some((
                "LGWR worker group ordering",
                of.write_ms + r.between(0.8, 9.0),
            ))
        })
    }),
    ("a cluster's acknowledgement", "diagnosis.broadcast", |r| {
        report(r, |of, r| {
            of.behind = Some(("wait for scn ack", of.write_ms + r.between(0.8, 9.0)))
        })
    }),
    (
        "a log writer without a processor",
        "diagnosis.log_writer_cpu",
        |r| report(r, |of, r| of.own_ms = of.write_ms + r.between(0.8, 9.0)),
    ),
    ("sessions wake up late", "diagnosis.wake_up", |r| {
        report(r, |of, r| {
            of.wake_ms = 2.0 * of.write_ms + r.between(0.8, 9.0)
        })
    }),
    (
        "a cause that no figure shows",
        "diagnosis.commit_wait",
        |r| {
            report(r, |of, r| {
                of.hidden_ms = 2.0 * of.write_ms + r.between(0.8, 20.0)
            })
        },
    ),
    ("busy processors", "diagnosis.processors", |r| {
        let mut report = LogReport::healthy(r);
        report.idle = r.printed(0.0, 11.0, 1);
        vec![report.text()]
    }),
    ("a small log buffer", "diagnosis.log_buffer", |r| {
        report(r, |of, r| {
            of.sessions = vec![(
                "log buffer space",
                r.printed(200.0, 9e3, 0),
                r.between(0.05, 0.6),
            )]
        })
    }),
    ("a checkpoint that is late", "diagnosis.log_switches", |r| {
        let name = [
            "log file switch (checkpoint incomplete)",
            "log file switch (archiving needed)",
        ];
        report(r, |of, r| {
            let name = name[r.whole(0, 2) as usize];
            of.sessions = vec![(name, r.printed(20.0, 900.0, 0), r.between(0.05, 0.9))];
        })
    }),
    ("slow log writes, one by one", "diagnosis.outliers", |r| {
        vec![warnings(r, None)]
    }),
    ("a job of the night", "diagnosis.peak_hour", |r| {
        let hour = r.whole(0, 24);
        vec![warnings(r, Some(hour))]
    }),
    ("a change at an hour, device", "diagnosis.change", |r| {
        let (from, by) = (r.whole(5, 19), r.between(1.3, 5.0));
        day(r, |hour, of| {
            of.write_ms *= if hour < from { 1.0 } else { by }
        })
    }),
    (
        "a change at an hour, not the device",
        "diagnosis.change",
        |r| {
            let (from, by) = (r.whole(5, 19), r.between(0.5, 9.0));
            day(r, |hour, of| {
                of.hidden_ms = if hour < from { 0.0 } else { by }
            })
        },
    ),
];
