//! What load generators print: pgbench and fio. The files of `real` were printed by the tools (see
//! its README); texts in this file have the layouts of releases that are not installed.

use crate::{cell, import, import_in, number, table};
use evidence::{Kind, Outcome};
use measure::imported::{Cell, Table};

const PROGRESS: &str = include_str!("real/pgbench-progress.txt");
const STATEMENTS: &str = include_str!("real/pgbench-statements.txt");
const RATE: &str = include_str!("real/pgbench-rate.txt");
const SCRIPTS: &str = include_str!("real/pgbench-scripts.txt");
const NORMAL: &str = include_str!("real/fio-normal.txt");
const JOBS: &str = include_str!("real/fio-jobs.txt");
const CLIENTS: &str = include_str!("real/fio-clients.txt");

fn kind_of(out: &Outcome) -> &str {
    out.imported.sources[0].kind.as_str()
}

fn has(out: &Outcome, id: &str) -> bool {
    out.imported.tables.iter().any(|t| t.id == id)
}

/// The figures of a line by their keys.
fn figures(table: &Table, row: usize, want: &[(&str, f64)]) {
    for (key, value) in want {
        let found = number(table, row, key);
        assert!(
            (found - value).abs() < 1e-9 * value.abs().max(1.0),
            "{key} is {found}"
        );
    }
}

/// A number in the text that pgbench printed, between two words: the tests know the layout, and
/// the files are never altered.
fn between(text: &str, before: &str, after: &str) -> f64 {
    let at = text.find(before).unwrap_or_else(|| panic!("no {before}")) + before.len();
    let rest = &text[at..];
    let end = rest.find(after).unwrap_or_else(|| panic!("no {after}"));
    rest[..end]
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("{before}"))
}

#[test]
fn a_summary_of_pgbench_is_read_whole() {
    let out = import(&[PROGRESS]);
    assert_eq!(kind_of(&out), "pgbench");
    let summary = table(&out, "pgbench");
    assert_eq!(summary.rows.len(), 1);
    figures(
        summary,
        0,
        &[
            ("scale", 2.0),
            ("clients", 4.0),
            ("threads", 2.0),
            ("duration_s", 3.0),
            ("failed", 0.0),
            ("transactions", between(PROGRESS, "processed: ", "\n")),
            (
                "latency_avg_ms",
                between(PROGRESS, "latency average = ", " ms"),
            ),
            (
                "latency_stddev_ms",
                between(PROGRESS, "latency stddev = ", " ms"),
            ),
            (
                "connection_ms",
                between(PROGRESS, "connection time = ", " ms"),
            ),
            ("tps", between(PROGRESS, "tps = ", " (")),
        ],
    );
    assert_eq!(
        *cell(summary, 0, "query_mode"),
        Cell::Text("simple".to_owned())
    );
    assert_eq!(*cell(summary, 0, "tps_with_connecting"), Cell::Blank);
    let progress = table(&out, "pgbench_progress");
    let lines = PROGRESS.lines().filter(|l| l.starts_with("progress: "));
    assert_eq!(progress.rows.len(), lines.count());
    figures(
        progress,
        0,
        &[
            ("at_s", 1.0),
            ("tps", between(PROGRESS, "progress: 1.0 s, ", " tps")),
            ("latency_avg_ms", between(PROGRESS, "lat ", " ms")),
            ("latency_stddev_ms", between(PROGRESS, " ms stddev ", ",")),
            ("failed", 0.0),
        ],
    );
    assert_eq!(*cell(progress, 0, "lag_ms"), Cell::Blank);
}

#[test]
fn statements_and_limits_of_pgbench() {
    let out = import(&[STATEMENTS]);
    let statements = table(&out, "pgbench_statements");
    assert_eq!(statements.rows.len(), 9);
    assert_eq!(
        *cell(statements, 8, "statement"),
        Cell::Text("END;".to_owned())
    );
    let end = STATEMENTS.lines().last().expect("a line");
    let ms: f64 = end
        .split_whitespace()
        .next()
        .expect("a word")
        .parse()
        .expect("a number");
    figures(statements, 8, &[("latency_avg_ms", ms), ("failures", 0.0)]);

    let out = import(&[RATE]);
    figures(
        table(&out, "pgbench"),
        0,
        &[
            ("skipped", 0.0),
            ("above_limit", between(RATE, "latency limit: ", "/")),
        ],
    );
    let progress = table(&out, "pgbench_progress");
    figures(
        progress,
        0,
        &[("lag_ms", between(RATE, "lag ", " ms")), ("skipped", 0.0)],
    );

    // Several scripts have one summary, whose latency is that of all.
    let out = import(&[SCRIPTS]);
    let summary = table(&out, "pgbench");
    assert_eq!(summary.rows.len(), 1);
    let latency = between(SCRIPTS, "latency average = ", " ms");
    figures(summary, 0, &[("latency_avg_ms", latency)]);
    let statements = table(&out, "pgbench_statements");
    assert_eq!(statements.rows.len(), 10);
    assert_eq!(
        *cell(statements, 0, "script"),
        Cell::Text("1: s1.sql".to_owned())
    );
}

/// With `--max-tries` statements have failures and retries before them.
#[test]
fn statements_with_failures_and_retries() {
    let text = STATEMENTS
        .replace(
            "milliseconds and failures:",
            "milliseconds, failures and retries:",
        )
        .replace("           0  END;", "           2           5  END;")
        .replace("           0  BEGIN;", "           0           0  BEGIN;");
    let out = import(&[&text]);
    let statements = table(&out, "pgbench_statements");
    assert_eq!(statements.rows.len(), 9);
    figures(statements, 8, &[("failures", 2.0), ("retries", 5.0)]);
    for (row, want) in [(4, "BEGIN;"), (8, "END;")] {
        assert_eq!(
            *cell(statements, row, "statement"),
            Cell::Text(want.to_owned())
        );
    }
    assert_eq!(*cell(statements, 0, "retries"), Cell::Blank);
}

/// 9.x prints colons, both rates, and statements without failures.
#[test]
fn pgbench_of_older_releases() {
    let text = "starting vacuum...end.\n\
        progress: 5.0 s, 412.6 tps, lat 19.385 ms stddev 7.102\n\
        transaction type: TPC-B (sort of)\nscaling factor: 7\nquery mode: prepared\n\
        number of clients: 8\nnumber of threads: 2\nnumber of transactions per client: 250\n\
        number of transactions actually processed: 2000/2000\nlatency average: 19.401 ms\n\
        latency stddev: 7.320 ms\ntps = 411.203944 (including connections establishing)\n\
        tps = 411.877021 (excluding connections establishing)\n\
        statement latencies in milliseconds:\n\t0.002\t\\set nbranches 1 * :scale\n\
        \t18.250\tEND;\n\n16 rows are none of it\n";
    let out = import(&[text]);
    figures(
        table(&out, "pgbench"),
        0,
        &[
            ("transactions_per_client", 250.0),
            ("transactions", 2000.0),
            ("latency_avg_ms", 19.401),
            ("tps_with_connecting", 411.203944),
            ("tps", 411.877021),
        ],
    );
    let statements = table(&out, "pgbench_statements");
    assert_eq!(statements.rows.len(), 2);
    figures(statements, 1, &[("latency_avg_ms", 18.25)]);
    assert_eq!(*cell(statements, 1, "failures"), Cell::Blank);
}

/// Prose, other listings and parts of lines are none of pgbench.
#[test]
fn prose_gives_no_figures_of_pgbench() {
    for text in [
        "transaction type: TPC-B\n\nis what pgbench prints, with tps = 411.8 (excluding) at its end\n",
        "progress: 5.0 s, 412 tps, lat 19.385 ms stddev 7.102\n",
        "progress: 5.0 s, 412.6 tps, lat 19.385 ms stddev 7.1\n",
        "latency average = 19.401 ms\ntps = 411.877021 (without initial connection time)\n",
        "scaling factor: 7\nnumber of clients: 8\n",
    ] {
        let read = import_in(&[text.as_bytes()], usize::MAX, Some(Kind::Pgbench));
        assert!(
            read.is_err(),
            "{text}\n{:?}",
            read.map(|o| o.imported.tables)
        );
    }
}

/// A cut summary is never read as a smaller number.
#[test]
fn a_cut_pgbench_says_less_and_nothing_else() {
    for text in [PROGRESS, RATE, SCRIPTS] {
        let whole = import(&[text]);
        let row = |out: &Outcome, id: &str| {
            let found = out.imported.tables.iter().find(|t| t.id == id);
            found.map(|t| t.rows.clone()).unwrap_or_default()
        };
        for end in crate::cut::cuts(text.len()) {
            let read = import_in(&[&text.as_bytes()[..end]], 64, Some(Kind::Pgbench));
            let Ok(part) = read else { continue };
            for id in ["pgbench", "pgbench_progress"] {
                for (cut, full) in row(&part, id).iter().zip(row(&whole, id)) {
                    let differs = cut
                        .iter()
                        .zip(&full)
                        .find(|(a, b)| **a != Cell::Blank && a != b);
                    assert!(differs.is_none(), "cut at {end}: {differs:?}");
                }
            }
        }
    }
}

#[test]
fn a_log_of_pgbench_is_a_row_and_a_series() {
    let log = include_str!("real/pgbench_rate.log");
    let out = import(&[log]);
    assert_eq!(kind_of(&out), "pgbench-log");
    let waits = &out.rows[0].waits["pgbench_transaction"];
    let times: Vec<u64> = log
        .lines()
        .map(|l| {
            l.split(' ')
                .nth(2)
                .expect("a time")
                .parse()
                .expect("a number")
        })
        .collect();
    assert_eq!(waits.count, times.len() as u64);
    assert_eq!(waits.total_ns, times.iter().sum::<u64>() * 1000);
    assert_eq!(waits.max_ns, times.iter().max().expect("one") * 1000);
    assert_eq!(out.imported.series.len(), 1);

    let log = include_str!("real/pgbench_aggregate.log");
    let out = import(&[log]);
    let intervals = table(&out, "pgbench_intervals");
    assert_eq!(intervals.rows.len(), log.lines().count());
    let words: Vec<f64> = log
        .lines()
        .next()
        .expect("a line")
        .split(' ')
        .map(|w| w.parse().expect("a number"))
        .collect();
    let (n, mean) = (words[1], words[2] / words[1] / 1000.0);
    let spread = (words[3] / n / 1e6 - mean * mean).sqrt();
    let first = |key: &str| number(intervals, 0, key);
    assert_eq!((first("start_s"), first("transactions")), (words[0], n));
    assert!((first("latency_avg_ms") - mean).abs() < 1e-9);
    assert!((first("latency_stddev_ms") - spread).abs() < 1e-6);
    assert_eq!(
        (first("latency_min_ms"), first("latency_max_ms")),
        (words[4] / 1e3, words[5] / 1e3)
    );
}

/// Transactions without a time are counted apart; a cut last line and other numbers are left out.
#[test]
fn lines_of_a_pgbench_log_that_have_no_time() {
    let text = "0 1 2729 0 1795405908 531772 73\n1 4 skipped 0 1795405908 540000 20011\n\
        0 2 failed 0 1795405908 541772 73\n0 3 1271 1 1795405909 531772 12\n0 4 99 0 17954059";
    let out = import(&[text]);
    assert_eq!(out.rows.len(), 2, "{:?}", out.rows);
    let total = |row: usize| out.rows[row].waits["pgbench_transaction"].total_ns;
    assert_eq!((total(0), total(1)), (2_729_000, 1_271_000));
    assert!(out.rows[1].workload.ends_with("script 1"));
    let noted = |id: &str| out.diagnostics.iter().any(|d| d.id == id);
    assert!(noted("pgbench_log.without_time") && noted("pgbench_log.last_line"));
    for other in [
        "1 2 3 4 5 6\n",
        "1795405908 5 100 20 10 30\n",
        "0 1 2729 0 12 531772\n",
    ] {
        let read = import_in(&[other.as_bytes()], 64, None);
        assert!(read.is_err(), "{other}");
    }
}

#[test]
fn a_job_of_fio_is_read_whole() {
    let out = import(&[NORMAL]);
    assert_eq!(kind_of(&out), "fio-text");
    let jobs = table(&out, "fio_jobs");
    assert_eq!(jobs.rows.len(), 1);
    figures(
        jobs,
        0,
        &[
            ("ios", between(NORMAL, "total=0,", ",")),
            ("iops", between(NORMAL, "IOPS=", ",")),
            ("mb_per_s", between(NORMAL, "BW=", "KiB/s") / 1024.0),
            (
                "runtime_s",
                between(
                    &NORMAL[NORMAL.find(")(").expect("a runtime")..],
                    "KiB/",
                    "msec",
                ) / 1000.0,
            ),
        ],
    );
    let Cell::Text(method) = cell(jobs, 0, "method") else {
        panic!("{:?}", jobs.rows)
    };
    assert!(
        method.starts_with("rw=write, bs=") && method.contains("ioengine=sync"),
        "{method}"
    );
    let shares = table(&out, "fio_shares");
    let pct: f64 = (0..shares.rows.len())
        .map(|i| number(shares, i, "pct"))
        .sum();
    assert!((99.0..101.0).contains(&pct), "{pct}");
}

#[test]
fn latencies_of_writes_and_syncs_of_fio() {
    let out = import(&[NORMAL]);
    let latencies = table(&out, "fio_latency");
    let row = |direction: &str, kind: &str| {
        let fits = |r: &Vec<Cell>| {
            r[1] == Cell::Text(direction.to_owned()) && r[2] == Cell::Text(kind.to_owned())
        };
        latencies
            .rows
            .iter()
            .position(fits)
            .unwrap_or_else(|| panic!("no {direction} {kind}"))
    };
    let sync = row("sync", "lat");
    let text = &NORMAL[NORMAL.find("sync (usec)").expect("syncs")..];
    figures(
        latencies,
        sync,
        &[
            ("min_us", between(text, "min=", ",")),
            ("max_us", between(text, "max=", ",")),
            ("mean_us", between(text, "avg=", ",")),
            ("stddev_us", between(text, "stdev=", "\n")),
            ("p50_us", between(text, "50.00th=[", "]")),
            ("p99_us", between(text, "99.00th=[", "]")),
            ("p9999_us", between(text, "99.99th=[", "]")),
        ],
    );
    assert_eq!(*cell(latencies, sync, "count"), Cell::Blank);
    let clat = row("write", "clat");
    let text = &NORMAL[NORMAL.find("    clat (").expect("clat")..];
    let unit = if text.contains("clat (nsec)") {
        1e-3
    } else {
        1.0
    };
    figures(
        latencies,
        clat,
        &[("mean_us", between(text, "avg=", ",") * unit)],
    );
}

#[test]
fn jobs_of_fio_in_every_unit() {
    let out = import(&[JOBS]);
    let jobs = table(&out, "fio_jobs");
    // Two jobs read and write, one writes.
    assert_eq!(jobs.rows.len(), 5, "{:?}", jobs.rows);
    let ios: f64 = (0..5).map(|i| number(jobs, i, "ios")).sum();
    let issued = JOBS
        .lines()
        .filter_map(|l| l.split_once("issued rwts: total="));
    let issued: f64 = issued
        .flat_map(|(_, l)| l.split(' ').next().expect("counts").split(','))
        .map(|n| n.parse::<f64>().expect("a number"))
        .sum();
    assert_eq!(ios, issued);
    let latencies = table(&out, "fio_latency");
    let Cell::Text(kind) = cell(latencies, 1, "latency") else {
        panic!("{:?}", latencies.rows)
    };
    assert_eq!(kind, "clat");
    // `clat (nsec): min=420, max=17746k`.
    let text = &JOBS[JOBS.find("clat (nsec)").expect("nanoseconds")..];
    figures(
        latencies,
        1,
        &[
            ("min_us", between(text, "min=", ",") / 1e3),
            ("max_us", between(text, "max=", "k,")),
            ("mean_us", between(text, "avg=", ",") / 1e3),
            ("p50_us", between(text, " 50.00th=[", "]") / 1e3),
        ],
    );
}

/// The results of two clients that ended at once have no host, and their sum is apart.
#[test]
fn clients_of_fio_are_not_counted_twice() {
    let out = import(&[CLIENTS]);
    let jobs = table(&out, "fio_jobs");
    assert_eq!(jobs.rows.len(), 4);
    let all = table(&out, "fio_all_clients");
    assert_eq!(all.rows.len(), 1);
    let ios: f64 = (0..4).map(|i| number(jobs, i, "ios")).sum();
    assert_eq!(number(all, 0, "ios"), ios);
    let rate: f64 = (0..4).map(|i| number(jobs, i, "iops")).sum();
    assert!((number(all, 0, "iops") / rate - 1.0).abs() < 0.01);
    let hosts: Vec<&Cell> = (0..4).map(|i| cell(jobs, i, "host")).collect();
    assert_eq!(hosts, [&Cell::Blank; 4]);
    // One after the other, as fio 3.33 prints them.
    let text = "<one> redo: (g=0): rw=write, bs=4k, ioengine=sync, iodepth=1\n<one> Starting 1 process\n\
        Jobs: 2 (f=2)<one> \n\
        redo: (groupid=0, jobs=1): err= 0: pid=7: x\n\
        \x20 write: IOPS=812, BW=3248KiB/s (3326kB/s)(9744KiB/3000msec); 0 zone resets\n\
        \x20    issued rwts: total=0,2436,0,0 short=0,0,0,0 dropped=0,0,0,0\n\n\
        Run status group 0 (all jobs):\n  WRITE: bw=3248KiB/s, io=9744KiB, run=3000-3000msec\n<two> \n\
        redo: (groupid=0, jobs=1): err= 0: pid=8: x\n\
        \x20 write: IOPS=1.6k, BW=6.5MiB/s (6.8MB/s)(19.5MiB/3001msec); 0 zone resets\n\
        \x20    issued rwts: total=0,4801,0,0 short=0,0,0,0 dropped=0,0,0,0\n";
    let out = import(&[text]);
    let jobs = table(&out, "fio_jobs");
    let hosts: Vec<&Cell> = (0..2).map(|i| cell(jobs, i, "host")).collect();
    let host = |name: &str| Cell::Text(name.to_owned());
    assert_eq!(hosts, [&host("one"), &host("two")]);
    figures(
        jobs,
        1,
        &[
            ("iops", 1600.0),
            ("mb_per_s", 6.5),
            ("runtime_s", 3.001),
            ("ios", 4801.0),
        ],
    );
}

/// fio 2 prints `io=`, `runt=` and kilobytes of 1024.
#[test]
fn fio_of_release_2() {
    let text = "w: (groupid=0, jobs=2): err= 0: pid=31: Mon Jan  4 10:00:00 2016\n\
        \x20 write: io=81264KB, bw=2708.8KB/s, iops=677, runt= 30001msec\n\
        \x20   slat (usec): min=11, max=902, avg=33.25, stdev=10.50\n\
        \x20   clat (msec): min=1, max=212, avg=47.22, stdev=19.75\n\
        \x20   clat percentiles (msec):\n\
        \x20    |  1.00th=[    6], 50.00th=[   45], 99.00th=[  101],\n\
        \x20    | 99.90th=[  190], 99.99th=[>=2000]\n\
        \x20   lat (msec) : 2=0.50%, 50=61.25%, >=2000=0.25%\n\
        \x20    issued    : total=r=0/w=20316/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0\n";
    let out = import(&[text]);
    let rates = [
        ("ios", 20316.0),
        ("iops", 677.0),
        ("mb_per_s", 2708.8 / 1024.0),
        ("runtime_s", 30.001),
    ];
    figures(table(&out, "fio_jobs"), 0, &rates);
    let latencies = table(&out, "fio_latency");
    figures(
        latencies,
        1,
        &[
            ("count", 20316.0),
            ("mean_us", 47220.0),
            ("p99_us", 101_000.0),
            ("p999_us", 190_000.0),
        ],
    );
    assert_eq!(*cell(latencies, 1, "p9999_us"), Cell::Blank);
    let shares = table(&out, "fio_shares");
    figures(shares, 1, &[("to_us", 50_000.0), ("pct", 61.25)]);
    figures(shares, 2, &[("from_us", 2_000_000.0), ("pct", 0.25)]);
    assert_eq!(*cell(shares, 2, "to_us"), Cell::Blank);
}

/// Latencies outside of a job, and sums of groups, are none of a job.
#[test]
fn prose_gives_no_figures_of_fio() {
    let text = "fio prints lines such as\n  write: IOPS=554, BW=2218KiB/s (2272kB/s)(6664KiB/3004msec)\n\
        \x20   clat (usec): min=2, max=3371, avg=21.78, stdev=135.00\nRun status group 0 (all jobs):\n\
        \x20 WRITE: bw=2218KiB/s, io=6664KiB, run=3004-3004msec\n";
    assert!(import_in(&[text.as_bytes()], 9, Some(Kind::FioText)).is_err());
    let text = format!(
        "{NORMAL}Run status group 0 (all jobs):\n  write: IOPS=9, BW=9KiB/s (9kB/s)(9KiB/9msec)\n"
    );
    assert_eq!(table(&import(&[&text]), "fio_jobs").rows.len(), 1);
}

#[test]
fn a_cut_fio_says_less_and_nothing_else() {
    let whole = import(&[JOBS]);
    let cells = |out: &Outcome, id: &str| {
        let found = out.imported.tables.iter().find(|t| t.id == id);
        found.map(|t| t.rows.clone()).unwrap_or_default()
    };
    for end in crate::cut::cuts(JOBS.len()) {
        let read = import_in(&[&JOBS.as_bytes()[..end]], 64, Some(Kind::FioText));
        let Ok(part) = read else { continue };
        for id in ["fio_jobs", "fio_latency"] {
            let full = cells(&whole, id);
            for row in cells(&part, id) {
                let same =
                    |f: &Vec<Cell>| row.iter().zip(f).all(|(a, b)| *a == Cell::Blank || a == b);
                assert!(full.iter().any(same), "cut at {end}: {row:?}");
            }
        }
    }
}

/// Imports a file of that name.
fn read(name: &str, text: &str) -> Outcome {
    let mut import = evidence::Import::new(evidence::Options::default());
    let mut reading = import.open(name, "");
    reading.feed(text.as_bytes()).expect("evidence");
    import.close(reading).1.expect("evidence");
    import.finish()
}

#[test]
fn logs_of_fio() {
    let clat = include_str!("real/fio_clat.1.log");
    let out = read("fio_clat.1.log", clat);
    assert_eq!(kind_of(&out), "fio-log");
    let log = table(&out, "fio_log");
    let values: Vec<u64> = clat
        .lines()
        .map(|l| {
            l.split(", ")
                .nth(1)
                .expect("a value")
                .parse()
                .expect("a number")
        })
        .collect();
    let sum: u64 = values.iter().sum();
    let mean = sum as f64 / values.len() as f64;
    let (min, max) = (
        values.iter().min().expect("one"),
        values.iter().max().expect("one"),
    );
    figures(
        log,
        0,
        &[
            ("values", values.len() as f64),
            ("mean", mean),
            ("min", *min as f64),
            ("max", *max as f64),
        ],
    );
    assert_eq!(*cell(log, 0, "log"), Cell::Text("clat".to_owned()));
    assert_eq!(*cell(log, 0, "direction"), Cell::Text("write".to_owned()));
    let out = read("fio_bw.1.log", include_str!("real/fio_bw.1.log"));
    assert_eq!(
        *cell(table(&out, "fio_log"), 0, "unit"),
        Cell::Text("KiB/s".to_owned())
    );
}

#[test]
fn histogram_logs_of_fio() {
    let hist = include_str!("real/fio_clat_hist.1.log");
    let out = read("fio_clat_hist.1.log", hist);
    let bins = table(&out, "fio_log_bins");
    let counted: u64 = hist
        .lines()
        .flat_map(|l| {
            l.split(", ")
                .skip(3)
                .map(|n| n.parse::<u64>().expect("a number"))
        })
        .sum();
    let sum: f64 = (0..bins.rows.len()).map(|i| number(bins, i, "count")).sum();
    assert_eq!(sum, counted as f64);
    let bounds = |i: usize| (number(bins, i, "from_ns"), number(bins, i, "to_ns"));
    assert!((0..bins.rows.len()).all(|i| bounds(i).0 < bounds(i).1));
    // Bins of fio 2 are of microseconds.
    let mut line = vec!["1000".to_owned(), "1".to_owned(), "4096".to_owned()];
    line.extend((0..1216).map(|i| {
        if i == 130 {
            "7".to_owned()
        } else {
            "0".to_owned()
        }
    }));
    let out = read("h.log", &format!("{}\n", line.join(", ")));
    let bins = table(&out, "fio_log_bins");
    figures(
        bins,
        0,
        &[("from_ns", 132_000.0), ("to_ns", 134_000.0), ("count", 7.0)],
    );
}

/// Numbers with commas that are no log of fio.
#[test]
fn other_numbers_are_no_log_of_fio() {
    for text in [
        "1,2,3\n4,5,6\n",
        "10, 20, 7, 40\n",
        "10, 20, 1, x\n",
        "1000, 1, 4096, 0, 0, 7, 0, 2, 1, 0\n",
    ] {
        assert!(import_in(&[text.as_bytes()], 64, None).is_err(), "{text}");
    }
    let text = format!(
        "{}broken\n502, 30",
        "500, 1000, 1, 4096\n501, 2000, 1, 4096\n".repeat(20)
    );
    let out = import(&[&text]);
    figures(
        table(&out, "fio_log"),
        0,
        &[("values", 40.0), ("mean", 1500.0)],
    );
    assert!(
        out.diagnostics
            .iter()
            .any(|d| d.id == "fio_log.bad_line" && d.line == Some(41))
    );
    assert!(!has(&out, "fio_log_bins"));
}

/// An interval without a transaction has a row, and what limits a run is kept with its unit.
#[test]
fn pgbench_keeps_intervals_without_latency_and_the_limits_of_a_run() {
    let text = "progress: 1.0 s, 7.0 tps, lat 435.396 ms stddev 120.347\n\
        progress: 2.0 s, 0.0 tps, lat NaN ms stddev NaN, lag -nan ms, 0 skipped\n\
        progress: 3.0 s, 0.0 tps, lat -nan ms stddev -nan\n\
        transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nduration: 5 s\n\
        maximum number of tries: 10\nnumber of transactions actually processed: 77\n\
        number of transactions above the 20.5 ms latency limit: 3/77 (3.896%)\n\
        latency average = 11.418 ms\nlatency stddev = 7.944 ms\n\
        rate limit schedule lag: avg 0.112 (max 5.093) ms\n\
        tps = 15.062579 (without initial connection time)\n";
    let out = import(&[text]);
    let progress = table(&out, "pgbench_progress");
    assert_eq!(progress.rows.len(), 3);
    assert_eq!(number(progress, 1, "tps"), 0.0);
    for row in [1, 2] {
        assert_eq!(*cell(progress, row, "latency_avg_ms"), Cell::Blank);
        assert_eq!(*cell(progress, row, "latency_stddev_ms"), Cell::Blank);
    }
    assert_eq!(number(progress, 1, "skipped"), 0.0);
    let run = table(&out, "pgbench");
    let keys = [
        "lag_avg_ms",
        "lag_max_ms",
        "latency_limit_ms",
        "max_tries",
        "above_limit",
    ];
    let figures = keys.map(|key| number(run, 0, key));
    assert_eq!(figures, [0.112, 5.093, 20.5, 10.0, 3.0]);
    let heading = |key: &str| {
        let found = run.columns.iter().find(|c| c.key == key);
        found.expect("a column").heading.as_str()
    };
    assert_eq!(heading("latency_avg_ms"), "latency average (ms)");
    assert_eq!(heading("duration_s"), "duration (s)");
    assert_eq!(heading("tps"), "tps excluding connections");
}
