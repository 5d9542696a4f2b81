//! Reports, listings and JSON of several versions, and what is broken in them.

use crate::samples::{AWR_TEXT, FIO, OUTLIERS};
use crate::{cell, import, import_in, number, table};
use base64::Engine as _;
use evidence::Kind;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use measure::imported::Cell;
use std::io::Write as _;

#[test]
fn a_report_as_text() {
    let out = import(&[AWR_TEXT]);
    assert_eq!(out.imported.sources[0].kind, "awr-text");
    let facts = &out.imported.sources[0].facts;
    for (name, value) in [
        ("Release", "11.2.0.3.0"),
        ("DB Name", "ORCL"),
        ("Elapsed", "10.00 (mins)"),
    ] {
        assert!(
            facts.iter().any(|(n, v)| n == name && v == value),
            "{name}: {facts:?}"
        );
    }
    let top = table(&out, "top_events");
    assert_eq!(number(top, 1, "waits"), 76_800.0);
    assert_eq!(number(top, 1, "db_time_pct"), 43.6);
    assert_eq!(*cell(top, 1, "wait_class"), Cell::Text("Commit".to_owned()));
    assert_eq!(*cell(top, 0, "waits"), Cell::Blank);
    assert_eq!(
        *cell(top, 2, "wait_class"),
        Cell::Text("User I/O".to_owned())
    );
    let background = table(&out, "background_waits");
    assert_eq!(number(background, 0, "avg_wait_ms"), 0.9);
    assert_eq!(number(background, 0, "bg_time_pct"), 61.2);
    let long = "a very long name of a background event";
    assert_eq!(*cell(background, 1, "event"), Cell::Text(long.to_owned()));
    let histogram = table(&out, "wait_histogram");
    assert_eq!(number(histogram, 0, "waits"), 70_000.0);
    assert_eq!(number(histogram, 1, "pct_under_2ms"), 60.0);
    assert_eq!(*cell(histogram, 0, "pct_to_1s"), Cell::Blank);
    let io = table(&out, "iostat_by_function");
    assert_eq!(number(io, 0, "write_data_bytes"), 615.0 * 1_048_576.0);
    assert_eq!(number(io, 0, "write_mb_per_s"), 1.025);
    assert_eq!(number(io, 0, "implied_window_s"), 600.0);
    let row = &out.rows[0];
    let (redo, cpu) = (row.redo(), row.processors());
    assert_eq!(
        (redo.redo_size_bytes, row.commits),
        (Some(629_145_600), Some(76_800))
    );
    assert_eq!(
        (row.elapsed_s, redo.redo_data_mbps),
        (Some(600.0), Some(1.0))
    );
    assert_eq!(
        (row.commit_throughput_tps, redo.redo_wastage_bytes),
        (Some(128.0), Some(14_000_000))
    );
    assert_eq!(row.log_file_sync_ms, Some(2.0));
    assert_eq!(
        (cpu.cpu_user_pct, cpu.cpu_idle_pct),
        (Some(2.6), Some(96.5))
    );
    let blocks = redo.redo_blocks_per_s.expect("it is in the report");
    assert!((blocks - 1_300_000.0 / 600.0).abs() < 1e-9);
    assert_eq!((row.commit_latency_ms, redo.flushes), (None, None));
    assert_eq!((row.device.is_none(), cpu.cpu_busy_pct), (true, None));
}

#[test]
fn a_report_in_html_with_decimal_commas() {
    let page = "<html><head><title>AWR Report for DB: X</title></head><body class='awr'>\
        <table summary=\"This table displays load profile\"><tr><th></th><th>Per Second</th>\
        <th>Per Transaction</th></tr><tr><td>Redo size (bytes):</td><td>2.097.152,0</td><td>8.192,5</td>\
        </tr></table><h3>Foreground Wait Events</h3>\
        <table><tr><th>Event</th><th>Waits</th><th>%Time -outs</th><th>Total Wait Time (s)</th>\
        <th>Avg wait</th><th>Waits /txn</th><th>% DB time</th></tr>\
        <tr><td>log file sync</td><td>1.234.567</td><td>&#160;</td><td>1.358</td><td>1,10ms</td><td>1,00</td>\
        <td>43,60</td></tr>\
        <tr><td>short</td><td>1</td></tr></table></body></html>";
    let out = import(&[page]);
    assert_eq!(out.imported.sources[0].kind, "awr-html");
    let t = table(&out, "foreground_waits");
    assert_eq!(number(t, 0, "waits"), 1_234_567.0);
    assert_eq!(number(t, 0, "avg_wait_ms"), 1.1);
    assert_eq!(number(t, 0, "db_time_pct"), 43.6);
    assert_eq!(out.rows[0].redo().redo_data_mbps, Some(2.0));
    let ids: Vec<&str> = out.diagnostics.iter().map(|d| d.id.as_str()).collect();
    assert_eq!(ids, ["awr.decimal_comma", "awr.columns"]);
}

#[test]
fn statspack_with_headings_over_three_lines() {
    let text = "\
STATSPACK report for

Top 5 Timed Events                                                    Avg %Total
~~~~~~~~~~~~~~~~~~                                                   wait   Call
Event                                            Waits    Time (s)   (ms)   Time
----------------------------------------- ------------ ----------- ------ ------
CPU time                                                       123          56.7
log file parallel write                         12,345          50      4   23.0
          -------------------------------------------------------------
";
    let out = import(&[text]);
    let t = table(&out, "top_events");
    assert_eq!(number(t, 0, "time_s"), 123.0);
    let keys = ["waits", "time_s", "avg_wait_ms", "call_time_pct"];
    assert_eq!(keys.map(|k| number(t, 1, k)), [12_345.0, 50.0, 4.0, 23.0]);
}

#[test]
fn iostat_by_heading() {
    // Old: sectors, one await, decimal commas, a long name on a line of its own.
    let old = "Linux 2.6.18 (h) \t01/02/2012\n\n\
        Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n\
        sda               0,00     0,02    0,00  100,50     0,00  2048,00    20,38     0,10    1,00   0,50   5,00\n\n\
        Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util\n\
        mapper-long-name\n\
        \t               0,00     0,02    0,00  200,25     0,00  4096,00    20,45     0,20    1,00   0,50  10,00\n";
    let out = import(&[old]);
    let t = table(&out, "iostat");
    assert_eq!(*cell(t, 0, "covers"), Cell::Text("since boot".to_owned()));
    assert_eq!(*cell(t, 1, "covers"), Cell::Text("interval".to_owned()));
    assert_eq!(
        *cell(t, 1, "device"),
        Cell::Text("mapper-long-name".to_owned())
    );
    assert_eq!(number(t, 1, "write_mb_per_s"), 2.0);
    assert_eq!(number(t, 1, "writes_per_s"), 200.25);
    assert_eq!(*cell(t, 1, "write_await_ms"), Cell::Blank);
    // New: time stamps, MB, flushes, the device last, a row that is short.
    let new = "11/30/2021 10:15:00 AM\n\
        r/s w/s rMB/s wMB/s r_await w_await f/s f_await aqu-sz %util Device\n\
        1.00 50.00 0.01 12.50 0.50 2.00 10.00 1.00 0.11 40.00% nvme0n1\n\
        1.00 50.00 nvme1n1\n";
    let out = import(&[new]);
    let t = table(&out, "iostat");
    assert_eq!(t.rows.len(), 1);
    assert_eq!(
        *cell(t, 0, "time"),
        Cell::Text("11/30/2021 10:15:00".to_owned())
    );
    assert_eq!(number(t, 0, "write_mb_per_s"), 12.5);
    assert_eq!(number(t, 0, "flush_await_ms"), 1.0);
    assert_eq!(number(t, 0, "util_pct"), 40.0);
    assert_eq!(out.diagnostics[0].id, "iostat.columns");
    assert_eq!(out.diagnostics[0].line, Some(4));
    // Basic, in kB.
    let basic = "Device             tps    kB_read/s    kB_wrtn/s    kB_read    kB_wrtn\n\
        sda              10.00         0.00      2048.00          0       4096\n";
    assert_eq!(
        number(table(&import(&[basic]), "iostat"), 0, "write_mb_per_s"),
        2.0
    );
}

#[test]
fn iostat_as_json_whole_and_cut() {
    let disk = |w: f64| {
        format!(
            "{{\"disk_device\": \"sda\", \"r/s\": 0.00, \"w/s\": {w}, \"wkB/s\": 1024.00, \"w_await\": 0.50, \
             \"f/s\": 2.00, \"f_await\": 1.0, \"aqu-sz\": 0.05, \"util\": 12.00}}"
        )
    };
    let text = format!(
        "{{\"sysstat\": {{\"hosts\": [{{\"nodename\": \"h\", \"statistics\": [\n{{\"avg-cpu\": {{\"user\": 1}}, \
         \"disk\": [{}]}},\n{{\"timestamp\": \"t2\", \"disk\": [{}]}}\n]}}]}}}}",
        disk(10.0),
        disk(100.0)
    );
    let out = import(&[&text]);
    assert_eq!(out.imported.sources[0].kind, "iostat-json");
    let t = table(&out, "iostat");
    assert_eq!((t.rows.len(), number(t, 1, "writes_per_s")), (2, 100.0));
    assert_eq!(*cell(t, 0, "covers"), Cell::Text("since boot".to_owned()));
    assert_eq!(number(t, 1, "write_mb_per_s"), 1.0);
    assert_eq!(*cell(t, 1, "time"), Cell::Text("t2".to_owned()));
    // Ended with ^C: the sample that is not closed is not given.
    let at = text.rfind("\"util\"").expect("it is there");
    let cut = import(&[&text[..at]]);
    assert_eq!(table(&cut, "iostat").rows.len(), 1);
    assert!(cut.diagnostics.iter().any(|d| d.id == "json.cut"));
    let broken = import(&[&text.replace("\"timestamp\":", "timestamp:")]);
    assert!(
        broken
            .diagnostics
            .iter()
            .any(|d| d.id == "json.broken" && d.line == Some(3))
    );
}

#[test]
fn fio_with_bins_and_syncs() {
    let out = import(&[FIO]);
    let t = table(&out, "fio_latency");
    let of = |i: usize| {
        [
            cell(t, i, "direction").clone(),
            cell(t, i, "latency").clone(),
        ]
    };
    assert_eq!(
        of(0),
        [Cell::Text("sync".into()), Cell::Text("lat_ns".into())]
    );
    assert_eq!(number(t, 0, "mean_us"), 400.0);
    assert_eq!(number(t, 0, "p99_us"), 800.0);
    assert_eq!(number(t, 1, "over_1ms_pct"), 1.0);
    assert_eq!(number(t, 1, "over_20ms_pct"), 0.2);
    assert_eq!(
        *cell(t, 0, "over_1ms_pct"),
        Cell::Blank,
        "no bins, no share"
    );
    let t = table(&out, "fio_jobs");
    assert_eq!(number(t, 0, "mb_per_s"), 2.0);
    assert_eq!(table(&out, "fio_bins").rows.len(), 3);
    // fio 2: microseconds and kB per second.
    let two = "{\"fio version\": \"fio-2.2\", \"jobs\": [{\"jobname\": \"a\", \"write\": {\"iops\": 10.0, \"bw\": 40,\n\
        \"clat\": {\"min\": 5, \"max\": 900, \"mean\": 80.5, \"stddev\": 1.0}}}]}";
    assert_eq!(
        number(table(&import(&[two]), "fio_latency"), 0, "max_us"),
        900.0
    );
}

#[test]
fn pg_test_fsync_with_what_is_absent() {
    let text = "5 seconds per test\n\nCompare file sync methods using one 8kB write:\n\
        (in preference order)\n        open_datasync                      1234.567 ops/sec     810 usecs/op\n\
        fsync_writethrough                              n/a\n\
        open_sync                           100.000 ops/sec     777 usecs/op\n";
    let out = import(&[text]);
    let t = table(&out, "pg_test_fsync");
    assert_eq!(number(t, 0, "ops_per_s"), 1234.567);
    assert_eq!(*cell(t, 1, "ops_per_s"), Cell::Blank);
    assert_eq!(
        *cell(t, 1, "method"),
        Cell::Text("fsync_writethrough".to_owned())
    );
    assert_eq!(out.diagnostics[0].id, "fsync.not_reciprocal");
}

/// A V2 payload of counts from index 0.
pub fn payload(counts: &[i64]) -> String {
    let mut body = Vec::new();
    for count in counts {
        let mut raw = ((count << 1) ^ (count >> 63)) as u64;
        while raw >= 0x80 {
            body.push((raw as u8 & 0x7f) | 0x80);
            raw >>= 7;
        }
        body.push(raw as u8);
    }
    let mut inner = Vec::new();
    inner.extend(0x1c84_9313_u32.to_be_bytes());
    inner.extend((body.len() as u32).to_be_bytes());
    inner.extend(0_u32.to_be_bytes());
    inner.extend(3_u32.to_be_bytes());
    inner.extend(1_u64.to_be_bytes());
    inner.extend(3_600_000_000_000_u64.to_be_bytes());
    inner.extend(1_f64.to_be_bytes());
    inner.extend(body);
    let mut zip = ZlibEncoder::new(Vec::new(), Compression::default());
    zip.write_all(&inner).expect("memory takes it");
    let zipped = zip.finish().expect("memory takes it");
    let mut outer = 0x1c84_9314_u32.to_be_bytes().to_vec();
    outer.extend((zipped.len() as u32).to_be_bytes());
    outer.extend(zipped);
    base64::engine::general_purpose::STANDARD.encode(outer)
}

#[test]
fn interval_logs_are_merged_by_counts() {
    // Three digits: 2048 values one by one, then pairs. Index 2048 + 1 holds 2050 and 2051.
    let first = payload(&[-100, 40]);
    let second = payload(&[-100, 60, -1948, 900]);
    let text = format!(
        "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\
         \"Interval_Compressed_Histogram\"\n0.000,1.000,0.000,{first}\nTag=b,1.000,1.000,0.002,{second}\n\
         2.000,1.000,0.002,{second}\n3.000,1.000,0.1,HISTF!\nnonsense\n"
    );
    let out = import(&[&text]);
    let t = table(&out, "hlog");
    assert_eq!(t.rows.len(), 2);
    assert_eq!(number(t, 0, "intervals"), 2.0);
    assert_eq!(number(t, 0, "count"), 1000.0);
    assert_eq!(number(t, 0, "max"), 2051.0);
    assert_eq!(number(t, 0, "p50"), 2051.0);
    assert_eq!(
        *cell(t, 0, "p999"),
        Cell::Blank,
        "one value beyond it is too few"
    );
    assert_eq!(number(t, 0, "over_1ms_pct"), 0.0);
    assert_eq!(*cell(t, 1, "tag"), Cell::Text("b".to_owned()));
    let ids: Vec<&str> = out.diagnostics.iter().map(|d| d.id.as_str()).collect();
    assert_eq!(ids, ["hlog.broken", "hlog.no_interval"]);
}

#[test]
fn outliers_with_every_column() {
    let out = import(&[OUTLIERS]);
    let t = table(&out, "io_outliers");
    assert_eq!([0, 1].map(|i| number(t, i, "io_latency")), [612.0, 744.0]);
    let event = Cell::Text("log file parallel write".to_owned());
    assert_eq!(*cell(t, 1, "wait_event"), event);
    assert!(out.diagnostics.is_empty());
}

#[test]
fn cell_metrics_with_cells_and_detail() {
    let text = "cel01: FL_DISK_FIRST  FLASHLOG  1,000 IO requests\n\
        cel01: FL_FLASH_FIRST FLASHLOG 500 IO requests\n\
        cel01: FL_DISK_FIRST  FLASHLOG  3,000 IO requests 2012-08-09T10:00:00-07:00\n\
        cel01: FL_FLASH_FIRST FLASHLOG 1,500 IO requests\n\
        \tname:                  FL_IO_W\n\tmetricObjectName:      FLASHLOG\n\
        \tmetricValue:           42 IO requests\n";
    let out = import(&[text]);
    let t = table(&out, "flash_first");
    assert_eq!(number(t, 0, "flash_first_pct"), 100.0 / 3.0);
    assert_eq!(*cell(t, 0, "cell"), Cell::Text("cel01".to_owned()));
    let t = table(&out, "flash_log_metrics");
    assert_eq!((t.rows.len(), number(t, 4, "value")), (5, 42.0));
}

#[test]
fn summaries_without_a_unit_are_not_guessed() {
    let text = "> summary(x)\n   Min. 1st Qu.  Median    Mean 3rd Qu.    Max.    NA's \n\
        1.0e-01 2.0 3.0 3.5 4.0 9.25 2\n";
    let out = import(&[text]);
    let t = table(&out, "r_summary");
    assert_eq!((number(t, 0, "min"), number(t, 0, "max")), (0.1, 9.25));
    assert_eq!(*cell(t, 0, "unit"), Cell::Blank);
    assert_eq!(out.diagnostics[0].id, "r.unit_unknown");
}

#[test]
fn kinds_are_told_and_what_is_none_is_refused() {
    let refused = |text: &str, kind| {
        let refused = import_in(&[text.as_bytes()], 64, kind);
        refused.expect_err("it is no evidence").to_string()
    };
    assert!(refused("nothing here\n", None).contains("nothing here"));
    let nothing = refused("nothing here\n", Some(Kind::Iostat));
    assert!(nothing.contains("no iostat in it: looked for"), "{nothing}");
    // Another kind than the one that was asked for is none of it.
    let sysbench = include_str!("real/sysbench-oltp.txt");
    assert!(refused(sysbench, Some(Kind::Pgbench)).contains("no pgbench in it"));
    assert!(import_in(&[sysbench.as_bytes()], 64, Some(Kind::Sysbench)).is_ok());
    let other = "2024 LOG:  duration: 3 ms\nDevice r/s w/s %util\nsda 1 2 3\n";
    assert!(refused(other, None).contains("PostgreSQL"));
    for kind in Kind::all() {
        let empty = import_in(&[b""], 1, Some(kind));
        assert!(empty.is_err(), "{kind} of an empty file");
    }
}
