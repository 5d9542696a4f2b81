//! The part of a source that answers first: of several rows the one with most waits, of several
//! histograms the one that a commit waits for, of two copies their difference. Each kind has a slow
//! and a healthy input, and the first screen has a word of both.

use crate::harness::Place;

/// An input: the name of a file of `parts`, or a text; words of the first screen; words that must
/// not be there.
type Part = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// Inputs whose author had not seen the rules.
const FILES: &[Part] = &[
    (
        "02-system-event-md.txt",
        &[
            "Log file sync takes 4.20 ms",
            "log file parallel write is 60.00 ms",
            "0.600 ms",
            "factor of 100",
            "4 of 5 lines agree",
            "likelier",
        ],
        &["6.00 ms"],
    ),
    (
        "06-pgbench-r.txt",
        &[
            "Commits (END) take 10.1 ms of the 11.4 ms",
            "89 %",
            "from 5 to 20 ms",
            "pgbench cannot distinguish",
            "1 caution",
        ],
        &["UPDATE"],
    ),
    (
        "08-pg-stat-io-18.txt",
        &[
            "Syncs of PostgreSQL's log (client backend): a mean of 3.80 ms over 1,198,774",
            "a rare cost apart from these: 96 ",
            "151 ms",
            "new segments",
        ],
        &["caution"],
    ),
    (
        "09-innodb-57.txt",
        &[
            "InnoDB's redo log is 82 % full",
            "nearly full",
            "418 MiB",
            "512 MiB",
            "2 files of 256 MiB",
            "Enlarge",
            "1.15 ms",
            "bound their mean",
            "big enough",
        ],
        &["innodb_log_buffer_size"],
    ),
    (
        "11-biolatency-F.txt",
        &[
            "Flushes and syncs in a histogram of the kernel",
            "29,531",
            "flags = Flush",
            "the median from 4.10 ms to 8.19 ms",
            "volatile cache",
            "flags = Sync-Write",
            "the median from 64.0 µs to 128 µs",
        ],
        &["flags = Read", "two groups"],
    ),
    (
        "05-pg-test-fsync.txt",
        &[
            "open_datasync takes 26.38 us, fdatasync 8,410 us and fsync 16,703 us",
            "open_datasync flushes nothing",
        ],
        &["quickest method"],
    ),
    (
        "13-diskstats-two.txt",
        &[
            "All storage is slow, not one device",
            "sda 27.0 ms per write, 26.0 ms per read",
            "sdb 29.0 ms per write, 28.0 ms per read",
            "sdc 26.0 ms per write, 27.0 ms per read",
            "a cause that they share",
        ],
        &["22.1", "24.9", "flush", "alone is slow"],
    ),
];

/// Further ones: each a kind of its own.
const TEXTS: &[Part] = &[
    // pg_stat_io: an idle server whose segments cost more syncs than its commits.
    (
        " backend_type   | object | context | writes | write_time | fsyncs | fsync_time\n\
         ----------------+--------+---------+--------+------------+--------+------------\n \
         client backend | wal    | init    |    400 |      100.0 |    400 |    80000.0\n \
         client backend | wal    | normal  |    120 |       12.0 |    120 |       60.0\n(2 rows)\n",
        &[
            "(client backend): a mean of 500 µs over 120",
            "a rare cost",
            "400",
            "200 ms",
        ],
        &["caution"],
    ),
    // The same without times.
    (
        " backend_type   | object | context | writes | write_time | fsyncs | fsync_time\n\
         ----------------+--------+---------+--------+------------+--------+------------\n \
         client backend | wal    | normal  |  91200 |          0 |  88000 |          0\n(1 row)\n",
        &[
            "88,000 times",
            "track_wal_io_timing is off",
            "no latency can be given",
        ],
        &["caution", "No cause found"],
    ),
    // pg_stat_wal that is not timed, with buffers that are too small.
    (
        "-[ RECORD 1 ]----+-------------\nwal_records      | 918273645\nwal_fpi          | 21822907\n\
         wal_bytes        | 212907733120\nwal_buffers_full | 8812034\nwal_write        | 52203311\n\
         wal_sync         | 43200117\nwal_write_time   | 0\nwal_sync_time    | 0\n",
        &[
            "8,812,034 of 52,203,311 writes of the log (17 %)",
            "too small",
            "track_wal_io_timing is off",
            "43,200,117",
        ],
        &["fast"],
    ),
    (
        "-[ RECORD 1 ]----+-------------\nwal_records      | 918273645\nwal_fpi          | 21822907\n\
         wal_bytes        | 212907733120\nwal_buffers_full | 12\nwal_write        | 52203311\n\
         wal_sync         | 43200117\nwal_write_time   | 1000000\nwal_sync_time    | 21600058.5\n",
        &["a mean of 500 µs", "43,200,117", "no problem found"],
        &["caution", "wal_buffers were full"],
    ),
    // pgbench with failures and retries, healthy, and without a commit among its statements.
    (
        "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 10\nquery mode: simple\n\
         number of clients: 4\nnumber of threads: 1\nmaximum number of tries: 3\nduration: 10 s\n\
         number of transactions actually processed: 20000\nnumber of failed transactions: 0 (0.000%)\n\
         latency average = 2.000 ms\ninitial connection time = 5.0 ms\ntps = 2000.1 (without initial \
         connection time)\nstatement latencies in milliseconds, failures and retries:\n         \
         0.400           0           0  BEGIN;\n         1.200           0           7  UPDATE t SET a = 1;\n         \
         0.400           0           0  COMMIT;\n",
        &[
            "Commits (COMMIT) take 400 µs of the 2.00 ms",
            "20 %",
            "under 1 ms",
        ],
        &["caution"],
    ),
    (
        "transaction type: i.sql\nscaling factor: 1\nquery mode: simple\nnumber of clients: 1\n\
         number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 900\n\
         latency average = 11.1 ms\ntps = 90.1 (including connections establishing)\n\
         tps = 90.2 (excluding connections establishing)\nstatement latencies in milliseconds:\n        \
         11.100  INSERT INTO t VALUES (1);\n",
        &[
            "Pgbench's transactions: a mean of 11.1 ms",
            "statements are in it",
        ],
        &["caution", "Commits ("],
    ),
    // InnoDB: room in the log, vertical; the age without a capacity; MySQL 8.
    (
        "Log sequence number 1000000000\nLog flushed up to   1000000000\nLast checkpoint at  946000000\n\
         *************************** 1. row ***************************\n\
         Variable_name: innodb_log_file_size\n        Value: 268435456\n\
         *************************** 2. row ***************************\n\
         Variable_name: innodb_log_files_in_group\n        Value: 2\n",
        &[
            "10 % full",
            "there is room",
            "51.5 MiB",
            "2 files of 256 MiB",
        ],
        &["caution", "Enlarge"],
    ),
    (
        "---\nLOG\n---\nLog sequence number          812340987221\nLog buffer assigned up to    812340987221\n\
         Log written up to            812340987221\nLog flushed up to            812340987221\n\
         Pages flushed up to          811902331120\nLast checkpoint at           811902200017\n\
         1211 log i/o's done, 1.00 log i/o's/second\n",
        &["418 MiB", "old", "is not in this evidence"],
        &["% full", "caution"],
    ),
    (
        "Log sequence number 1000000000\nLast checkpoint at  946000000\n@@innodb_log_file_size: 268435456\n",
        &["51.5 MiB old", "how many files of 256 MiB"],
        &["% full", "caution"],
    ),
    (
        "Last checkpoint at 100\n| innodb_redo_log_capacity | 104857600 |\n\
         | Innodb_redo_log_current_lsn | 9094000000 |\n| Innodb_redo_log_checkpoint_lsn | 9004000000 |\n",
        &[
            "86 % full",
            "nearly full",
            "100 MiB (innodb_redo_log_capacity)",
        ],
        &[],
    ),
    // Histograms: syncs by bpftrace, healthy; reads alone; writes alone.
    (
        "@us[fdatasync]:\n[128, 256)          9120 |@@@@@@@@@@@@|\n[256, 512)          6630 |@@@@@@@@@   |\n\n\
         @us[pwrite64]:\n[2, 4)             19120 |@@@@@@@@@@@@|\n[4, 8)               630 |            |\n",
        &[
            "@us[fdatasync]",
            "15,750",
            "under 1 ms",
            "the median from 128 µs to 256 µs",
        ],
        &["caution", "@us[pwrite64]"],
    ),
    (
        "flags = Read\n     usecs               : count     distribution\n     \
         524288 -> 1048575    : 1204     |****************************************|\n",
        &["flags = Read", "reads say nothing of a log"],
        &["caution"],
    ),
    // Copies of diskstats: without times, one device alone; with a date, healthy, and partitions.
    (
        "   8       0 sda 100 0 800 40 1000 0 8000 900 0 900 940 0 0 0 0 10 5\n   \
         8      16 sdb 100 0 800 40 1000 0 8000 900 0 900 940 0 0 0 0 10 5\n   \
         8       0 sda 110 0 880 44 2000 0 16000 1400 0 1400 1444 0 0 0 0 10 5\n   \
         8      16 sdb 110 0 880 44 2000 0 16000 13400 0 13400 13444 0 0 0 0 510 6005\n",
        &[
            "sdb: ",
            "12.50 ms per write",
            "12.00 ms per flush",
            "sdb alone is slow, and not all storage",
            "sda 500 µs per write",
            "1 caution",
        ],
        &["All storage is slow"],
    ),
    (
        "Mon Mar 11 10:00:00 CET 2024\n   8       0 sda 100 0 800 40 1000 0 8000 900 0 900 940\n   \
         8       1 sda1 100 0 800 40 1000 0 8000 900 0 900 940\n\
         Mon Mar 11 10:00:10 CET 2024\n   8       0 sda 110 0 880 44 2000 0 16000 1400 0 1400 1444\n   \
         8       1 sda1 110 0 880 44 2000 0 16000 1400 0 1400 1444\n",
        &["Sda: ", "0.500 ms per write", "5.0 % utilised"],
        &["caution", "sda1", "All storage is slow"],
    ),
    // etcd: healthy and slow.
    (
        "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.001\"} 99000\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.002\"} 99900\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 100000\n\
         etcd_disk_wal_fsync_duration_seconds_sum 60.0\netcd_disk_wal_fsync_duration_seconds_count 100000\n",
        &[
            "wal_fsync_duration",
            "to 1.00 ms",
            "the mean 600 µs",
            "under 10 ms",
            "no problem found",
        ],
        &["caution"],
    ),
    (
        "etcd_disk_backend_commit_duration_seconds_bucket{le=\"0.032\"} 98000\n\
         etcd_disk_backend_commit_duration_seconds_bucket{le=\"0.064\"} 99900\n\
         etcd_disk_backend_commit_duration_seconds_bucket{le=\"+Inf\"} 100000\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.016\"} 98000\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{le=\"0.032\"} 99900\n\
         etcd_disk_wal_fsync_duration_seconds_bucket{le=\"+Inf\"} 100000\n",
        &[
            "Etcd_disk_wal_fsync_duration_seconds: the 99th percentile of 100,000 syncs is from 16.0 ms to 32.0 ms",
            "under 25 ms",
            "2 cautions",
        ],
        &[],
    ),
    // Averages: a listing whose averages all agree, and one whose averages are in another unit.
    (
        "EVENT | TOTAL_WAITS | TOTAL_TIMEOUTS | TIME_WAITED_MICRO | AVERAGE_WAIT\n--- | ---: | ---: | ---: | ---:\n\
         log file sync | 412906 | 3 | 1734205200 | .42\nlog file parallel write | 398115 | 0 | 1592460000 | .4\n",
        &["Log file parallel write takes 4.00 ms"],
        &["contradict", "factor"],
    ),
    (
        "EVENT | TOTAL_WAITS | TOTAL_TIMEOUTS | TIME_WAITED_MICRO | AVERAGE_WAIT\n--- | ---: | ---: | ---: | ---:\n\
         log file sync | 412906 | 3 | 1734205200 | 4.2\nlog file parallel write | 398115 | 0 | 1592460000 | 4\n\
         db file sequential read | 9120443 | 0 | 6384310100 | 7\n",
        &[
            "db file sequential read is 7.00 ms",
            "0.700 ms",
            "factor of 10",
            "2 of 3 lines agree",
        ],
        &[],
    ),
];

/// What is above the tables.
fn first_screen(text: &str) -> String {
    let head = text.split("\n\n").next().unwrap_or_default();
    head.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn judge(name: &str, path: &str, (_, words, wrong): &Part) -> Vec<String> {
    let done = Place::new().run(&["import", path]);
    let said = first_screen(&done.expect(0, &[]).out);
    // A line begins with a capital, wherever it is broken.
    let has = |word: &str| said.to_lowercase().contains(&word.to_lowercase());
    let missing = words.iter().filter(|word| !has(word));
    let missing = missing.map(|word| format!("{name}: `{word}` was not said: {said}"));
    let wrong = wrong.iter().filter(|word| has(word));
    let wrong = wrong.map(|word| format!("{name}: `{word}` was said: {said}"));
    missing.chain(wrong).collect()
}

#[test]
fn the_part_that_a_commit_waits_for_answers_first() {
    let folder = crate::inputs().with_file_name("parts");
    let each = FILES.iter().flat_map(|part| {
        let path = folder.join(part.0).display().to_string();
        judge(part.0, &path, part)
    });
    let failures: Vec<String> = each.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn slow_and_healthy_siblings_have_their_word() {
    let each = TEXTS.iter().enumerate().flat_map(|(at, part)| {
        let place = Place::new();
        let path = place.path().join("of.txt");
        std::fs::write(&path, part.0).expect("writable");
        judge(&format!("text {at}"), &path.display().to_string(), part)
    });
    let failures: Vec<String> = each.collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
