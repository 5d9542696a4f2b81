//! Output of sysbench and HammerDB, histograms of eBPF tools, copies of /proc/diskstats. The files
//! of `real` were printed here; HammerDB and eBPF do not run here, and their layouts are those of
//! their documentation, with our own figures.

use crate::{cell, import, import_in, number, table};
use evidence::{Kind, Outcome};
use measure::imported::{Cell, Table};

const OLTP: &str = include_str!("real/sysbench-oltp.txt");
const FILES: &str = include_str!("real/sysbench-fileio.txt");
const DISKSTATS: &str = include_str!("real/diskstats.txt");

fn text_of<'a>(table: &'a Table, row: usize, key: &str) -> &'a str {
    match cell(table, row, key) {
        Cell::Text(text) => text,
        other => panic!("{key} of line {row} is {other:?}"),
    }
}

fn kind_of(out: &Outcome) -> &str {
    out.imported.sources[0].kind.as_str()
}

/// The line of the summary with that name.
fn figure(table: &Table, section: &str, name: &str) -> usize {
    let of = |row: &usize| {
        text_of(table, *row, "section") == section && text_of(table, *row, "figure") == name
    };
    (0..table.rows.len())
        .find(of)
        .unwrap_or_else(|| panic!("{section}: {name}"))
}

/// The first number behind a name in a text.
fn behind(text: &str, name: &str) -> f64 {
    let at = text.find(name).unwrap_or_else(|| panic!("no {name}")) + name.len();
    let word = text[at..].split_whitespace().next().expect("a word");
    let end = word
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(word.len());
    word[..end]
        .parse()
        .unwrap_or_else(|_| panic!("{name} {word}"))
}

#[test]
fn sysbench_of_a_database() {
    assert!(crate::places::checked(OLTP) > 40);
    let out = import(&[OLTP]);
    assert_eq!(kind_of(&out), "sysbench");
    let intervals = table(&out, "sysbench_intervals");
    assert_eq!(intervals.rows.len(), 3);
    let mix = OLTP.split("(r/w/o: ").nth(1).expect("a mix");
    let mix: Vec<f64> = mix
        .split(')')
        .next()
        .expect("its end")
        .split('/')
        .map(|n| n.parse().expect("a number"))
        .collect();
    for (key, want) in [
        ("at_s", 1.0),
        ("threads", 2.0),
        ("tps", behind(OLTP, " tps: ")),
        ("qps", behind(OLTP, "qps: ")),
        ("reads_per_s", mix[0]),
        ("writes_per_s", mix[1]),
        ("others_per_s", mix[2]),
        ("errors_per_s", behind(OLTP, "err/s: ")),
        ("percentile", 95.0),
        ("latency_ms", behind(OLTP, "(ms,95%): ")),
    ] {
        assert_eq!(number(intervals, 0, key), want, "{key}");
    }
    assert_eq!(*cell(intervals, 0, "fsyncs_per_s"), Cell::Blank);
    let summary = table(&out, "sysbench");
    let row = figure(summary, "SQL statistics", "transactions");
    assert_eq!(
        number(summary, row, "value"),
        behind(OLTP, "transactions: ")
    );
    let rate = OLTP.split("transactions: ").nth(1).expect("them");
    assert_eq!(number(summary, row, "per_s"), behind(rate, "("));
    let row = figure(summary, "Latency (ms)", "max");
    assert_eq!(number(summary, row, "value"), behind(OLTP, "max: "));
    let row = figure(summary, "General statistics", "total time");
    assert_eq!(number(summary, row, "value"), behind(OLTP, "total time: "));
    assert_eq!(text_of(summary, row, "unit"), "s");
    let row = figure(summary, "Threads fairness", "events (avg/stddev)");
    assert_eq!(
        number(summary, row, "value"),
        behind(OLTP, "events (avg/stddev): ")
    );
    assert!(number(summary, row, "stddev") >= 0.0);
}

#[test]
fn sysbench_of_files() {
    let out = import(&[FILES]);
    let intervals = table(&out, "sysbench_intervals");
    assert_eq!(
        number(intervals, 0, "fsyncs_per_s"),
        behind(FILES, "fsyncs: ")
    );
    assert_eq!(
        number(intervals, 0, "write_mb_per_s"),
        behind(FILES, "writes: ")
    );
    assert_eq!(
        number(intervals, 0, "latency_ms"),
        behind(FILES, "(ms,95%): ")
    );
    let summary = table(&out, "sysbench");
    let row = figure(summary, "File operations", "fsyncs/s");
    assert_eq!(number(summary, row, "value"), behind(FILES, "fsyncs/s: "));
    let histogram = table(&out, "sysbench_histogram");
    let counted: f64 = (0..histogram.rows.len())
        .map(|i| number(histogram, i, "count"))
        .sum();
    assert_eq!(counted, behind(FILES, "total number of events: "));
    assert!(FILES.contains(&format!("{:.3} |", number(histogram, 0, "value_ms"))));
}

#[test]
fn prose_gives_no_figures_of_sysbench() {
    for text in [
        "sysbench prints tps: 1012.86 and Latency (ms): in its summary\n",
        "[ 2s ] was when it stalled\n[note] tps: 5\n",
        "Throughput: 5\n    read: 3\n",
        "    transactions:    29611  (986.49 per sec.)\n",
    ] {
        let read = import_in(&[text.as_bytes()], usize::MAX, Some(Kind::Sysbench));
        assert!(
            read.is_err(),
            "{text}\n{:?}",
            read.map(|o| o.imported.tables)
        );
    }
}

const PROFILE: &str = "Postgres Hammerdb Time Profile Report @ Mon Jan 06 10:00:00 UTC 2025\n\
    +-+-+-+-+\n>>>>> VIRTUAL USER 2 : ELAPSED TIME : 301505ms\n>>>>> PROC: NEWORD\n\
    CALLS: 51234MIN: 1.409msAVG: 4.169msMAX: 52.726msTOTAL: 213594.854ms\n\
    P99: 9.159msP95: 7.367msP50: 4.026msSD: 1240.094RATIO: 70.435%\n>>>>> PROC: SLEV\n\
    CALLS: 612\tMIN: 0.349ms\tAVG: 1.476ms\tMAX: 6.625ms\tTOTAL: 903.312ms\n\
    P99: 5.763ms\tP95: 4.076ms\tP50: 1.266ms\tSD: 800.438\tRATIO: 0.300%\n\
    >>>>> SUMMARY OF 4 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 301167ms\n>>>>> PROC: NEWORD\n\
    CALLS: 204936MIN: 1.209msAVG: 4.236msMAX: 66.366msTOTAL: 868108.896ms\n\
    P99: 9.197msP95: 7.399msP50: 4.087msSD: 1308.882RATIO: 71.115%\n";

#[test]
fn results_and_profiles_of_hammerdb() {
    let text = format!(
        "Vuser 1:16 Active Virtual Users configured\n\
         Vuser 1:TEST RESULT : System achieved 41234 NOPM from 95120 PostgreSQL TPM\n\
         Vuser 1:TEST RESULT : System achieved 88001 Oracle TPM at 29120 NOPM\n{PROFILE}"
    );
    assert!(crate::places::checked(&text) > 30);
    let out = import(&[&text]);
    assert_eq!(kind_of(&out), "hammerdb");
    let results = table(&out, "hammerdb");
    let figures = |row: usize| (number(results, row, "nopm"), number(results, row, "tpm"));
    assert_eq!(
        (figures(0), figures(1)),
        ((41_234.0, 95_120.0), (29_120.0, 88_001.0))
    );
    assert_eq!(number(results, 0, "users"), 16.0);
    assert_eq!(text_of(results, 0, "database"), "PostgreSQL");
    assert_eq!(text_of(results, 1, "database"), "Oracle");
    let profile = table(&out, "hammerdb_profile");
    assert_eq!(profile.rows.len(), 3);
    for (key, want) in [
        ("elapsed_ms", 301_505.0),
        ("calls", 51_234.0),
        ("min_ms", 1.409),
        ("mean_ms", 4.169),
        ("max_ms", 52.726),
        ("total_ms", 213_594.854),
        ("p99_ms", 9.159),
        ("p95_ms", 7.367),
        ("p50_ms", 4.026),
        ("sd", 1240.094),
        ("ratio_pct", 70.435),
    ] {
        assert_eq!(number(profile, 0, key), want, "{key}");
    }
    assert_eq!(text_of(profile, 1, "procedure"), "SLEV");
    assert_eq!(number(profile, 1, "p50_ms"), 1.266);
    // The sum of all users is a row of its own name.
    assert_eq!(
        text_of(profile, 2, "user"),
        "SUMMARY OF 4 ACTIVE VIRTUAL USERS"
    );
}

#[test]
fn cut_profiles_of_hammerdb_have_whole_rows_only() {
    let whole = import(&[PROFILE]);
    let rows = &table(&whole, "hammerdb_profile").rows;
    for end in 0..PROFILE.len() {
        let read = import_in(&[&PROFILE.as_bytes()[..end]], 64, Some(Kind::HammerDb));
        let Ok(part) = read else { continue };
        let found = &table(&part, "hammerdb_profile").rows;
        assert_eq!(found[..], rows[..found.len()], "cut at {end}");
    }
    let prose = "HammerDB reports TEST RESULT : System achieved many NOPM from few TPM\n>>>>> PROC: NEWORD\n\
        CALLS: 5MIN: 1.0msAVG: 2.0msMAX: 3.0msTOTAL: 4.0ms\n";
    assert!(import_in(&[prose.as_bytes()], 64, Some(Kind::HammerDb)).is_err());
}

const EBPF: &str = "The tool prints a histogram of the time of each fsync, such as:\n\n\
    # ./ext4dist -T 10\nTracing ext4 operation latency... Hit Ctrl-C to end.\n\n10:20:30:\n\n\
    operation = 'fsync'\n\
    \x20    usecs               : count     distribution\n\
    \x20      128 -> 255        : 81       |****      |\n\
    \x20      256 -> 511        : 912      |**********|\n\n\
    operation = 'write'\n\
    \x20    usecs               : count     distribution\n\
    \x20        0 -> 1          : 7        |**********|\n\n\
    where 912 of them : took | between 256 and 511 |\n\n\
    @usecs[fsync]: \n[64, 128)            12 |@@@@      |\n[1K, 2K)             99 |@@@@@@@@@@|\n\n\
    [64, 128)            55 |@@@@      |\n\
    \x20    msecs         : count     distribution\n\
    \x20       3          : 4        |*****|\n";

#[test]
fn histograms_of_ebpf_inside_of_prose() {
    assert!(crate::places::checked(EBPF) > 10);
    let out = import(&[EBPF]);
    assert_eq!(kind_of(&out), "ebpf-histogram");
    let buckets = table(&out, "ebpf_histogram");
    let row = |i: usize| {
        let number = |key: &str| number(buckets, i, key);
        (number("from"), number("to"), number("count"))
    };
    let rows: Vec<_> = (0..buckets.rows.len()).map(row).collect();
    let want = [
        (128.0, 256.0, 81.0),
        (256.0, 512.0, 912.0),
        (0.0, 2.0, 7.0),
        (64.0, 128.0, 12.0),
        (1024.0, 2048.0, 99.0),
        (3.0, 4.0, 4.0),
    ];
    assert_eq!(rows, want);
    let of: Vec<&Cell> = (0..6).map(|i| cell(buckets, i, "of")).collect();
    let label = |text: &str| Cell::Text(text.to_owned());
    assert_eq!(*of[0], label("operation = 'fsync'"));
    assert_eq!(*of[2], label("operation = 'write'"));
    assert_eq!(*of[4], label("@usecs[fsync]"));
    assert_eq!(*cell(buckets, 0, "time"), label("10:20:30"));
    let unit: Vec<&str> = (0..6).map(|i| text_of(buckets, i, "unit")).collect();
    assert_eq!(unit, ["usecs", "usecs", "usecs", "usecs", "usecs", "msecs"]);
}

const EBPF_RUNS: &str = "# ./biolatency -F\n\
    Tracing block device I/O... Hit Ctrl-C to end.\n^C\n\n10:20:30\nflags = Read\n\
    \x20    msecs               : count     distribution\n\
    \x20        0 -> 1          : 180      |*************    |\n\nwhich is quick.\n\n\
    # ./biolatency -e\n^C\n\
    \x20    usecs               : count     distribution\n\
    \x20      512 -> 1023       : 25       |*****************|\n\n\
    avg = 663 usecs, total: 16575 usecs, count: 25\n\n\
    # ./biolatency -j\n^C\n\
    {'ts': '2026-12-30 14:33:03', 'val_type': 'usecs', 'data': [{'interval-start': 0, \
    'interval-end': 1, 'count': 7}]}\n\n\
    $ bpftrace -e sync\nAttaching 2 probes...\n\
    @diff_us:\n(..., 0)               3 |@@@  |\n[0]                    2 |@@   |\n\
    [1]                    5 |@@@@@|\n[2, 4)                 1 |@    |\n\n\
    @ms[sync]:\n[0, 100)               4 |@@@@ |\n[100, ...)              1 |@    |\n\
    [x, 9)              1 |@    |\n\n\
    [8, 16)             1 |@    |\n";

/// A label and a time end with their run, open buckets are read, and what is not read is named.
#[test]
fn runs_of_ebpf_tools_are_apart_and_nothing_is_dropped_silently() {
    assert!(crate::places::checked(EBPF_RUNS) > 10);
    let out = import(&[EBPF_RUNS]);
    let buckets = table(&out, "ebpf_histogram");
    assert_eq!(*cell(buckets, 0, "of"), Cell::Text("flags = Read".into()));
    assert_eq!(*cell(buckets, 0, "time"), Cell::Text("10:20:30".into()));
    assert_eq!(*cell(buckets, 1, "of"), Cell::Blank, "of a later run");
    assert_eq!(*cell(buckets, 1, "time"), Cell::Blank);
    let summary = table(&out, "ebpf_summary");
    assert_eq!(text_of(summary, 0, "histogram"), "2");
    assert_eq!(*cell(summary, 0, "of"), Cell::Blank);
    let figures = ["avg", "total", "count"].map(|key| number(summary, 0, key));
    assert_eq!(figures, [663.0, 16_575.0, 25.0]);
    assert_eq!(text_of(summary, 0, "unit"), "usecs");
    assert_eq!(buckets.rows.len(), 8);
    assert_eq!(*cell(buckets, 2, "from"), Cell::Blank);
    assert_eq!(number(buckets, 2, "to"), 0.0);
    let row = |i| (number(buckets, i, "from"), number(buckets, i, "to"));
    assert_eq!(
        [row(3), row(4), row(5)],
        [(0.0, 1.0), (1.0, 2.0), (2.0, 4.0)]
    );
    assert_eq!(row(6), (0.0, 100.0));
    assert_eq!(number(buckets, 7, "from"), 100.0);
    assert_eq!(*cell(buckets, 7, "to"), Cell::Blank);
    let lines = |id: &str| {
        let of = out.diagnostics.iter().filter(|d| d.id == id);
        of.map(|d| d.line.expect("a line")).collect::<Vec<_>>()
    };
    let line = |begin: &str| {
        let at = EBPF_RUNS.lines().position(|l| l.starts_with(begin));
        at.expect("a line") as u64 + 1
    };
    assert_eq!(lines("ebpf.json_left_out"), [line("{'ts'")]);
    assert_eq!(
        lines("ebpf.bucket_left_out"),
        [line("[x, 9)"), line("[8, 16)")]
    );
}

#[test]
fn what_only_looks_like_a_histogram_gives_nothing() {
    for text in [
        "     usecs               : count     distribution\nand 128 -> 255 : 5 |**| in prose\n",
        "  128 -> 255        : 81       |****      |\n",
        "mailto: @name:\n[see 1, 2) 5 |x|\n",
        "[64, 128)            12 |@@@@      |\n",
    ] {
        let read = import_in(&[text.as_bytes()], usize::MAX, Some(Kind::EbpfHistogram));
        assert!(
            read.is_err(),
            "{text}\n{:?}",
            read.map(|o| o.imported.tables)
        );
    }
}

#[test]
fn copies_of_diskstats_are_subtracted() {
    assert!(crate::places::checked(DISKSTATS) > 5);
    let out = import(&[DISKSTATS]);
    assert_eq!(kind_of(&out), "diskstats");
    let samples = table(&out, "diskstats");
    let copies: Vec<Vec<f64>> = DISKSTATS
        .lines()
        .filter(|l| l.contains(" vda "))
        .map(|l| {
            l.split_whitespace()
                .skip(3)
                .map(|n| n.parse().expect("a number"))
                .collect()
        })
        .collect();
    let stamps: Vec<f64> = DISKSTATS
        .lines()
        .filter_map(|l| l.strip_prefix("TS ")?.parse().ok())
        .collect();
    let of = |row: &usize| text_of(samples, *row, "device") == "vda";
    let rows: Vec<usize> = (0..samples.rows.len()).filter(of).collect();
    assert_eq!(rows.len(), 3);
    assert_eq!(text_of(samples, rows[0], "covers"), "since boot");
    assert_eq!(number(samples, rows[0], "writes"), copies[0][4]);
    let change = |at: usize| copies[1][at] - copies[0][at];
    let seconds = stamps[1] - stamps[0];
    for (key, want) in [
        ("seconds", seconds),
        ("reads", change(0)),
        ("writes", change(4)),
        ("write_sectors", change(6)),
        ("flushes", change(15)),
        ("writes_per_s", change(4) / seconds),
        ("write_mb_per_s", change(6) * 512.0 / 1_048_576.0 / seconds),
        ("write_await_ms", change(7) / change(4)),
        ("util_pct", change(9) * 0.1 / seconds),
        ("in_flight", copies[1][8]),
    ] {
        let found = number(samples, rows[1], key);
        assert!(
            (found - want).abs() < 1e-9 * want.abs().max(1.0),
            "{key} {found} {want}"
        );
    }
    assert!(change(4) >= 300.0, "dd wrote 300 times");
}

/// Without times there are no rates; a counter that goes back is not subtracted; others have fewer
/// columns.
#[test]
fn counters_of_disks_without_times_and_after_a_restart() {
    let line = |name: &str, writes: u32| {
        format!("   8       0 {name} 5 0 40 3 {writes} 0 800 60 0 50 63\n")
    };
    let text = line("sda", 100) + &line("sdb", 100) + &line("sda", 140) + &line("sdb", 99);
    let out = import(&[&text]);
    let samples = table(&out, "diskstats");
    assert_eq!(samples.rows.len(), 3);
    assert_eq!(number(samples, 2, "writes"), 40.0);
    assert_eq!(*cell(samples, 2, "writes_per_s"), Cell::Blank);
    assert_eq!(*cell(samples, 2, "flushes"), Cell::Blank);
    let back = out
        .diagnostics
        .iter()
        .find(|d| d.id == "diskstats.goes_back")
        .expect("said");
    assert!(
        back.detail.contains("`sdb`: counter 5") && back.line == Some(4),
        "{}",
        back.detail
    );
    for text in [
        "8 0 sda 5 0 40\n",
        "8 0 sda 5 0 40 3 100 0 800 60 x 50 63\n",
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14\n",
    ] {
        assert!(
            import_in(&[text.as_bytes()], 64, Some(Kind::Diskstats)).is_err(),
            "{text}"
        );
    }
}

/// The time of a copy: seconds alone, with a part, in thousandths or billionths, dates; without
/// one there are waits and no rates.
#[test]
fn copies_of_diskstats_have_their_times_above_them() {
    let copies = |first: &str, second: &str| {
        format!(
            "{first}\n   8       0 sdq 9 0 72 4 100 0 800 60 0 900 64\n\
             {second}\n   8       0 sdq 9 0 72 4 300 0 2400 90 0 2900 4064\n"
        )
    };
    for (first, second) in [
        ("1710151200", "1710151210"),
        ("1710151200.25", "1710151210.25"),
        ("1710151200250", "1710151210250"),
        ("1710151200250000000", "1710151210250000000"),
        ("2024-03-11 10:00:00", "2024-03-11 10:00:10"),
        ("2024-03-11T23:59:55.5+01:00", "2024-03-12T00:00:05.5+01:00"),
        (
            "Mon Mar 11 10:00:00 CET 2024",
            "Mon Mar 11 10:00:10 CET 2024",
        ),
        (
            "Tue Mar  5 10:00:00 UTC 2024",
            "Tue Mar  5 10:00:10 UTC 2024",
        ),
    ] {
        let out = import(&[&copies(first, second)]);
        let samples = table(&out, "diskstats");
        assert_eq!(samples.rows.len(), 2, "{first}");
        for (key, want) in [
            ("writes_per_s", 20.0),
            ("write_await_ms", 0.15),
            ("util_pct", 20.0),
            ("queue", 0.4),
        ] {
            let value = number(samples, 1, key);
            assert!((value - want).abs() < 1e-3, "{first}: {key} is {value}");
        }
    }
    for (first, second) in [("", ""), ("42", "52"), ("Monday", "Tuesday")] {
        let out = import(&[&copies(first, second)]);
        let samples = table(&out, "diskstats");
        assert_eq!(*cell(samples, 1, "writes_per_s"), Cell::Blank, "{first}");
        assert_eq!(number(samples, 1, "write_await_ms"), 0.15, "{first}");
    }
}

/// Times of whole seconds bound what rates are worth, and idle devices are named.
#[test]
fn whole_seconds_and_idle_devices_of_diskstats_are_named() {
    let copies = |first: &str, second: &str| {
        let idle = "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0\n";
        format!(
            "TS {first}\n{idle}   8       0 sdq 9 0 72 4 100 0 800 60 0 900 64\n\
             TS {second}\n{idle}   8       0 sdq 9 0 72 4 300 0 2400 90 0 2678 99\n"
        )
    };
    let noted = |text: &str, id: &str| {
        let out = import(&[text]);
        let found = out.diagnostics.into_iter().find(|d| d.id == id);
        found.map(|d| d.detail)
    };
    let whole = copies("1795406400", "1795406401");
    let detail = noted(&whole, "diskstats.whole_seconds").expect("a warning");
    assert!(
        detail.contains("the shortest interval has 1 s (100 %)"),
        "{detail}"
    );
    let idle = noted(&whole, "diskstats.no_io").expect("a note");
    assert_eq!(idle, "1 devices had no I/O and have no rows: loop0");
    let exact = copies("1795406400.25", "1795406402.03");
    assert_eq!(noted(&exact, "diskstats.whole_seconds"), None);
}

/// Rows of `sar -d` have a stamp each; its average is no sample, and pages repeat the heading.
#[test]
fn sar_of_devices() {
    const HEADING: &str = "12:00:01 AM       DEV       tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util\n";
    let row = |stamp: &str, device: &str, tps: &str, wait: &str| {
        format!(
            "{stamp}   {device}    {tps}      0,00   7793,40      0,00     12,00      9,37     {wait}     98,62\n"
        )
    };
    let text = [
        "Linux 5.14.0-362.el9.x86_64 (db4)      01/15/2024      _x86_64_        (32 CPU)\n\n",
        HEADING,
        &row("12:10:01 AM", "nvme1n1", "649,45", "14,42"),
        &row("12:10:01 AM", "sda", "1,50", "0,09"),
        "\n",
        HEADING,
        &row("01:20:01 PM", "nvme1n1", "669,80", "15,68"),
        &row("Durchschn.:", "nvme1n1", "659,62", "15,05"),
    ]
    .concat();
    let out = import(&[&text]);
    assert_eq!(kind_of(&out), "iostat");
    let rows = table(&out, "iostat");
    assert_eq!(rows.rows.len(), 3, "the average is no sample");
    let stamps = [0, 1, 2].map(|row| text_of(rows, row, "time").to_owned());
    assert_eq!(stamps, ["00:10:01", "00:10:01", "13:20:01"]);
    let reports = [0, 1, 2].map(|row| number(rows, row, "report"));
    assert_eq!(reports, [1.0, 1.0, 2.0]);
    assert_eq!(text_of(rows, 0, "covers"), "interval");
    assert_eq!(number(rows, 2, "transfers_per_s"), 669.8);
    assert_eq!(number(rows, 2, "await_ms"), 15.68);
    let ids = out.diagnostics.iter().map(|d| d.id.as_str());
    assert!(ids.clone().any(|id| id == "iostat.average"));
    assert!(!ids.clone().any(|id| id == "iostat.since_boot"));
}

/// The device of the log is the one that the words beside a listing name, if it is in the listing.
#[test]
fn a_mail_names_the_device_of_the_log() {
    let listing = |words: &str| {
        format!(
            "{words}\n\nDevice            r/s     w/s    wkB/s w_await  %util\n\
             sdc            120.40  210.30  3364.80    3.10  26.46\n\
             sdd              0.00  310.20  2481.60    0.41   5.27\n"
        )
    };
    for (words, device) in [
        (
            "Hi all, redo is alone on sdd, data files on sdc.",
            Some("sdd"),
        ),
        ("WAL on /dev/sdc (ext4), data on sdd", Some("sdc")),
        ("redo on sde", None),
        ("redo on sdc; redo mirror on sdd", None),
        ("the redo is not on sdc", None),
    ] {
        let out = import(&[&listing(words)]);
        assert_eq!(out.imported.log_device.as_deref(), device, "{words}");
        let said = out.diagnostics.iter().any(|d| d.id == evidence::LOG_DEVICE);
        assert_eq!(said, device.is_some(), "{words}");
    }
}
