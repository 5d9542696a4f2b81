//! Listings: histograms of wait events, slow log writes, metrics of a cell, samples one by one,
//! `pg_test_fsync`, and what R prints.

use super::{Fact, Seeded, grouped};
use std::fmt::Write as _;

/// How histograms of wait events are listed.
pub const HISTOGRAMS: &[&str] = &["query", "snapshots", "micro-csv"];
const EVENT: &str = "log file parallel write";

/// Two snapshots of a histogram; `heavier` is by what the second one's slow share is larger.
pub fn histogram(layout: &str, r: &mut Seeded, heavier: f64) -> (String, Vec<Fact>) {
    let counts = [
        r.whole(200_000, 900_000),
        r.whole(2_000, 9_000),
        r.whole(100, 900),
        r.whole(10, 90),
    ];
    let times = r.whole(3, 30);
    let slow: u64 = counts[1..].iter().sum();
    let more = ((heavier - 1.0) * (slow * times) as f64) as u64;
    let mut later = counts.map(|c| c * times);
    later[1] += more;
    let mut out = String::new();
    let mut names = ["snapshot 1", "snapshot 2"];
    match layout {
        "micro-csv" => {
            // The first bucket that is slow holds what took 1 to 2 ms.
            for counts in [counts, later] {
                out += "EVENT,WAIT_TIME_MICRO,WAIT_COUNT\n";
                for (bound, count) in [1024, 2048, 4096, 8192].iter().zip(counts) {
                    let _ = writeln!(out, "\"{EVENT}\",{bound},{count}");
                }
            }
        }
        "snapshots" => {
            names = ["snap 528", "snap 529"];
            for (snap, counts) in [(528, counts), (529, later)] {
                out += "   SNAP_ID WAIT_CLASS   EVENT_NAME                WAIT_TIME_MILLI WAIT_COUNT\n\
                        ---------- ------------ ------------------------- --------------- ----------\n";
                for (bound, count) in [1, 2, 4, 8].iter().zip(counts) {
                    let _ = writeln!(
                        out,
                        "{snap:>10} System I/O   {EVENT:<25} {bound:>15} {count:>10}"
                    );
                }
                out.push('\n');
            }
        }
        _ => {
            for counts in [counts, later] {
                let _ = writeln!(
                    out,
                    "select wait_time_milli, wait_count from v$event_histogram where event = '{EVENT}'\n\
                     --------------- ----------"
                );
                for (bound, count) in [1, 2, 4, 8].iter().zip(counts) {
                    let _ = writeln!(out, "{bound:>15} {count:>10}");
                }
                out.push('\n');
            }
        }
    }
    let of = |name: &str, counts: &[u64; 4]| {
        let values = counts.map(|c| c as f64);
        Fact::of("event_histogram", "wait_count", &values).only("snapshot", name)
    };
    let mut between = later;
    between.iter_mut().zip(counts).for_each(|(a, b)| *a -= b);
    let difference = format!("{} to {}", names[0], names[1]);
    let facts = vec![
        of(names[0], &counts),
        of(names[1], &later),
        of(&difference, &between),
    ];
    (out, facts)
}

/// Samples one by one, in microseconds.
pub fn count_elapsed(layout: &str, r: &mut Seeded, rows: u64) -> (String, Vec<Fact>) {
    let mut out = match layout {
        "unit" => "count,elapsed_us\n".to_owned(),
        _ => "count,elapsed\n".to_owned(),
    };
    let values: Vec<u64> = (0..rows.max(3)).map(|_| r.whole(200, 9000)).collect();
    for (n, value) in values.iter().enumerate() {
        let _ = writeln!(out, "{},{value}", n + 1);
    }
    let total: u64 = values.iter().sum();
    let one = |column, value: u64| Fact::of("rows", column, &[value as f64]);
    let facts = vec![one("waits", rows.max(3)), one("total_ns", total * 1000)];
    (out, facts)
}

/// Slow log writes; `ksfdstll` has times beside the latencies.
pub fn outliers(layout: &str, r: &mut Seeded, rows: u64) -> (String, Vec<Fact>) {
    let mut rest: Vec<(f64, f64, f64)> = Vec::new();
    let mut at = 1_500_000_000.0;
    for _ in 0..rows.max(6) {
        at += r.printed(1.0, 900.0, 0);
        rest.push((r.printed(4.0, 400.0, 0), r.printed(500.0, 3000.0, 0), at));
    }
    let mut out = String::new();
    if layout == "ksfdstll" {
        out += "   IO_SIZE IO_LATENCY  TIMESTAMP\n---------- ---------- ----------\n";
        for (size, latency, at) in &rest {
            let _ = writeln!(out, "{size:>10.0} {latency:>10.0} {at:>10.0}");
        }
    } else {
        out += "SQL> select * from v$lgwrio_outlier;\n\n\
            FUNCTION_NAME      IO_SIZE WAIT_EVENT                IO_LATENCY DISK1_NAME\n\
            --------------- ---------- ------------------------- ---------- ----------\n";
        for (size, latency, _) in &rest {
            let _ = writeln!(
                out,
                "LGWR            {size:>10.0} {EVENT:<25} {latency:>10.0} +DATA"
            );
        }
        let _ = writeln!(out, "\n{} rows selected.", rest.len());
    }
    let column = |f: fn(&(f64, f64, f64)) -> f64| rest.iter().map(f).collect::<Vec<f64>>();
    let facts = vec![
        Fact::of("io_outliers", "io_size", &column(|x| x.0)),
        Fact::of("io_outliers", "io_latency", &column(|x| x.1)),
    ];
    (out, facts)
}

/// Metrics of a cell before and after a test.
pub fn metrics(layout: &str, r: &mut Seeded) -> (String, Vec<Fact>) {
    let counters = [
        ("FL_DISK_FIRST", r.between(1e6, 9e7)),
        ("FL_FLASH_FIRST", r.between(1e6, 9e6)),
        ("FL_IO_W", r.between(1e7, 9e7)),
    ];
    let grown = r.between(1.01, 1.2);
    let cell = if layout == "cells" { "cel01: " } else { "" };
    let mut out = String::new();
    let mut values = Vec::new();
    for by in [1.0, grown] {
        for (name, value) in counters {
            values.push((value * by).round());
            let _ = writeln!(
                out,
                "{cell}{name} FLASHLOG {} IO requests",
                grouped(value * by)
            );
        }
    }
    (out, vec![Fact::of("flash_log_metrics", "value", &values)])
}

/// Methods of a sync and what they give.
pub fn pg_test_fsync(r: &mut Seeded) -> (String, Vec<Fact>) {
    let mut out = "5 seconds per test\nO_DIRECT supported on this platform for open_datasync and \
        open_sync.\n\nCompare file sync methods using one 8kB write:\n(in wal_sync_method preference \
        order, except fdatasync is Linux's default)\n"
        .to_owned();
    let mut rates = Vec::new();
    for method in ["open_datasync", "fdatasync", "fsync", "open_sync"] {
        let rate = r.printed(90.0, 9000.0, 3);
        rates.push(rate);
        let _ = writeln!(
            out,
            "        {method:<35}{rate:>12.3} ops/sec  {:>7.0} usecs/op",
            1e6 / rate
        );
    }
    (out, vec![Fact::of("pg_test_fsync", "ops_per_s", &rates)])
}

/// A summary of two samples, then a t test.
pub fn summaries(r: &mut Seeded) -> (String, Vec<Fact>) {
    let mut out = String::new();
    let mut maxima = Vec::new();
    for name in ["a_us", "b_us"] {
        let q1 = r.between(50.0, 400.0);
        let max = r.printed(q1 * 20.0, q1 * 900.0, 1);
        let rest = [q1 * 1.1, q1 * 1.2, q1 * 1.4, max];
        let _ = write!(
            out,
            "> summary({name})\n   Min. 1st Qu.  Median    Mean 3rd Qu.    Max.\n{:.1} {q1:.1}",
            q1 / 3.0
        );
        rest.iter().for_each(|v| out += &format!(" {v:.1}"));
        out.push('\n');
        maxima.push(max);
    }
    let (y, n) = (r.printed(100.0, 900.0, 4), r.between(200.0, 900.0).round());
    out += &t_test(n, y * 1.3, y, y * 0.4, y * 0.5);
    let facts = vec![
        Fact::of("r_summary", "max", &maxima),
        Fact::of("welch_t_test", "mean_y", &[y]),
    ];
    (out, facts)
}

/// A t test of two samples of `n` with these means and standard deviations, as R prints it.
pub fn t_test(n: f64, x: f64, y: f64, sx: f64, sy: f64) -> String {
    let (vx, vy) = (sx * sx / n, sy * sy / n);
    let error = (vx + vy).sqrt();
    let t = (x - y) / error;
    let df = (vx + vy).powi(2) / ((vx * vx + vy * vy) / (n - 1.0));
    let z = 1.959_964_f64;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * df * df);
    let quantile = z + (z.powi(3) + z) / (4.0 * df) + second;
    format!(
        "data:  a and b\nt = {t:.4}, df = {df:.2}, p-value < 2.2e-16\n95 percent confidence interval:\n\
         {:.6} {:.6}\nmean of x mean of y\n{x:.4} {y:.4}\n",
        x - y - quantile * error,
        x - y + quantile * error
    )
}
