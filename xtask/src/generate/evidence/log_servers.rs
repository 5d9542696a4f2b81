//! What benchmarks, servers and the kernel print of a healthy log, or of one with a fault.

use super::Seeded;
use super::log_lists::LogWaits;
use std::fmt::Write as _;

/// `pgbench -P 10`: each level and the number of its lines.
pub fn pgbench_progress(r: &mut Seeded, levels: &[(f64, u64)]) -> String {
    let mut out = "pgbench (17.5)\nstarting vacuum...end.\n".to_owned();
    let mut at = 0;
    for (tps, lines) in levels {
        for _ in 0..*lines {
            at += 10;
            let tps = tps * (1.0 + 0.03 * r.normal());
            let _ = writeln!(
                out,
                "progress: {at}.0 s, {tps:.1} tps, lat {:.3} ms stddev {:.3}, 0 failed",
                8e3 / tps,
                2e3 / tps
            );
        }
    }
    out
}

/// A log of `pgbench --aggregate-interval`; one interval has the longest transaction.
pub fn pgbench_intervals(r: &mut Seeded, mean_us: f64, longest_us: f64) -> String {
    let mut out = String::new();
    let longest_at = r.whole(0, 20);
    for n in 0..20 {
        let count = (8e6 / mean_us * r.between(0.95, 1.05)).round();
        let most = if n == longest_at {
            longest_us
        } else {
            mean_us * r.between(2.0, 9.0)
        };
        let _ = writeln!(
            out,
            "{} {count:.0} {:.0} {:.0} {:.0} {most:.0}",
            1_740_000_000 + n,
            count * mean_us,
            count * mean_us * mean_us * 1.3,
            mean_us / 2.0
        );
    }
    out
}

/// `pg_test_fsync`: time of one durable write, how much longer two take, and the time of fsync.
pub fn pg_test_fsync(r: &mut Seeded, one_us: f64, two: f64, fsync_us: f64) -> String {
    let mut out = "2 seconds per test\nO_DIRECT supported on this platform for open_datasync and open_sync.\n"
        .to_owned();
    for (words, by) in [("one 8kB write", 1.0), ("two 8kB writes", two)] {
        let _ = writeln!(
            out,
            "\nCompare file sync methods using {words}:\n\
             (in wal_sync_method preference order, except fdatasync is Linux's default)"
        );
        for (method, us) in [
            ("open_datasync", one_us * by),
            ("fdatasync", one_us * by),
            ("fsync", fsync_us * by),
            ("open_sync", fsync_us * by),
        ] {
            let us = us * r.between(0.98, 1.02);
            let _ = writeln!(
                out,
                "        {method:<35}{:>12.3} ops/sec  {us:>6.0} usecs/op",
                1e6 / us
            );
        }
    }
    out
}

/// `pg_stat_wal`: the part of the writes for which buffers were full, and the mean sync in ms.
pub fn pg_stat_wal(r: &mut Seeded, full: f64, sync_ms: f64) -> String {
    let syncs = r.printed(2_000.0, 90_000.0, 0);
    let writes = (syncs * r.between(1.0, 1.4)).round();
    format!(
        " wal_records | wal_fpi | wal_bytes | wal_buffers_full | wal_write | wal_sync | wal_write_time | wal_sync_time | stats_reset\n\
         -------------+---------+-----------+------------------+-----------+----------+----------------+---------------+-------------\n \
         {:.0} | {:.0} | {:.0} | {:.0} | {writes:.0} | {syncs:.0} | {:.3} | {:.3} | 2025-03-03 10:00:00.5+00\n(1 row)\n",
        syncs * 9.0,
        syncs * 0.1,
        syncs * 4_100.0,
        writes * full,
        writes * 0.02,
        syncs * sync_ms
    )
}

/// `pg_stat_io` of the log; `fsyncs` is of each write.
pub fn pg_stat_io(r: &mut Seeded, fsyncs: f64, sync_ms: f64) -> String {
    let mut out = " backend_type   | object | context | writes | write_bytes | write_time | fsyncs | fsync_time\n\
        ----------------+--------+---------+--------+-------------+------------+--------+------------\n"
        .to_owned();
    for name in ["client backend", "walwriter"] {
        let writes = r.printed(900.0, 90_000.0, 0);
        let syncs = (writes * fsyncs).round();
        let _ = writeln!(
            out,
            " {name:<14} | wal    | normal  | {writes:.0} | {:.0} | {:.3} | {syncs:.0} | {:.3}",
            writes * 8_192.0,
            writes * 0.02,
            syncs * sync_ms
        );
    }
    out + "(2 rows)\n"
}

/// fio's JSON of writes that were each synchronised.
pub fn fio_syncs(r: &mut Seeded, of: &LogWaits) -> String {
    let mut all = of.all(r);
    all.sort_by(f64::total_cmp);
    let n = all.len();
    let at = |q: f64| all[((n as f64 * q) as usize).min(n - 1)] * 1e6;
    let mean = all.iter().sum::<f64>() / n as f64 * 1e6;
    let mut percentiles = String::new();
    for q in [1.0, 50.0, 90.0, 99.0, 99.9] {
        let end = if q == 99.9 { "" } else { ", " };
        let _ = write!(percentiles, "\"{q:.6}\": {:.0}{end}", at(q / 100.0));
    }
    format!(
        "{{\"fio version\": \"fio-3.33\", \"global options\": {{\"rw\": \"write\", \"bs\": \"8k\", \"fdatasync\": \"1\"}}, \
         \"jobs\": [{{\"jobname\": \"log\", \"error\": 0, \"write\": {{\"total_ios\": {n}, \"iops\": {:.2}, \
         \"clat_ns\": {{\"min\": 3000, \"max\": 90000, \"mean\": 9000.5, \"N\": {n}}}}}, \
         \"sync\": {{\"total_ios\": {n}, \"lat_ns\": {{\"min\": {:.0}, \"max\": {:.0}, \"mean\": {mean:.2}, \"N\": {n}, \
         \"percentile\": {{{percentiles}}}}}}}}}]}}\n",
        1e9 / mean,
        all[0] * 1e6,
        all[n - 1] * 1e6
    )
}

/// Cumulative buckets of etcd's syncs.
pub fn etcd(r: &mut Seeded, of: &LogWaits) -> String {
    let all = of.all(r);
    let mut out = "# TYPE etcd_disk_wal_fsync_duration_seconds histogram\n".to_owned();
    let name = "etcd_disk_wal_fsync_duration_seconds";
    for bucket in 0..14 {
        let to = 0.001 * f64::from(1 << bucket);
        let count = all.iter().filter(|ms| **ms <= to * 1e3).count();
        let _ = writeln!(out, "{name}_bucket{{le=\"{to}\"}} {count}");
    }
    let sum = all.iter().sum::<f64>() / 1e3;
    let n = all.len();
    let _ = writeln!(
        out,
        "{name}_bucket{{le=\"+Inf\"}} {n}\n{name}_sum {sum:.6}\n{name}_count {n}"
    );
    out
}

/// `iostat -x 1` of one device: writes per second and their ms, in each interval.
pub fn iostat(r: &mut Seeded, intervals: &[(f64, f64)]) -> String {
    let mut out = "Linux 5.4.17 (host)\t03/03/2025\t_x86_64_\t(8 CPU)\n".to_owned();
    for (writes, wait) in intervals {
        let (writes, wait) = (
            writes * r.between(0.997, 1.003),
            wait * r.between(0.95, 1.05),
        );
        let queue = writes * wait / 1e3;
        let _ = write!(
            out,
            "\nDevice            r/s     rkB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wkB/s   wrqm/s  %wrqm w_await wareq-sz  aqu-sz  %util\n\
             sdb              0.00      0.00     0.00   0.00    0.00     0.00 {writes:.2} {:.2}     0.00   0.00 {wait:.2}     8.00 {queue:.2} {:.2}\n",
            writes * 8.0,
            (100.0 * queue).min(99.0)
        );
    }
    out
}
