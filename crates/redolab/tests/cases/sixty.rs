//! Sixty inputs whose author had not seen the rules: what `keys.md` beside them asks for, in words
//! of the answer. A word here is a figure or a judgement of the key, not all that redolab says.

use crate::harness::{Done, Place};
use std::path::{Path, PathBuf};

/// The begin of a file's name; words that the answer has; words that it must not have.
pub(super) type Key = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// What is read.
const READ: &[Key] = &[
    (
        "35-",
        &[
            "10.42 ms per write (largest mean of an interval 28.81 ms at 00:20:01)",
            "sdc alone is slow",
            "1.62 ms per request, read or write",
        ],
        &["sdb 1.62 ms per write", "12:20:01 PM", "4 intervals"],
    ),
    (
        "01-",
        &[
            "412,600",
            "98.70",
            "under 0.05 % of the waits took over 16 ms",
            "from 1.00 ms to 2.00 ms",
        ],
        &["caution", "0 % of the waits"],
    ),
    (
        "02-",
        &[
            "842,404",
            "0.573 % from 128 ms to 1.02 s",
            "1.28 % from 128 ms to 2.05 s",
            "stalls, not a slow medium",
        ],
        &[],
    ),
    (
        "03-",
        &[
            "6.60 ms",
            "5.60 ms",
            "500 µs",
            "the log's device or its path alone is slow",
        ],
        &["560 µs", "0.56 ms"],
    ),
    (
        "04-",
        &[
            "7 slow syncs",
            "16.4 s together",
            "4.98 s at 2021-06-08 02:41:08",
            "2 bursts that began at 02:11, 02:41",
            "how long the others took is not in its log",
        ],
        &["mean"],
    ),
    (
        "05-",
        &["7.32 ms", "288 ms", "percentile of 26.0 ms", "caution"],
        &["26.0 µs"],
    ),
    (
        "06-",
        &["22.3 µs", "38.1 µs", "18,449,730", "1.20 ms"],
        &["caution"],
    ),
    (
        "07-",
        &["nothing reaches a medium", "5.47 us", "4.66 us"],
        &["takes good"],
    ),
    (
        "08-",
        &[
            "two writes cannot be faster than one",
            "2,427 us",
            "826.0 us",
            "Choose no method",
        ],
        &[],
    ),
    (
        "09-",
        &["3 of 12 intervals", "25, 30, 55 s", "61,423"],
        &["changed its level"],
    ),
    (
        "10-",
        &["9.20 ms", "20,098,417", "caution"],
        &["wal_buffers were full"],
    ),
    (
        "11-",
        &["client backend", "370 µs", "2,410,338", "under 1 ms"],
        &["24.0 ms", "caution"],
    ),
    (
        "12-",
        &[
            "nvme1n1: 98.7 % utilised",
            "0.210 ms per write",
            "a single stream",
            "no sign that the device is full",
        ],
        &["caution"],
    ),
    (
        "13-",
        &[
            "400 µs",
            "1.70 ms is waiting for a processor",
            "processors come first",
        ],
        &["Measure the device"],
    ),
    (
        "14-",
        &[
            "17,687",
            "3.04 % from 65.5 ms to 524 ms",
            "99 % under 131 ms",
        ],
        &[],
    ),
    (
        "15-",
        &[
            "commits are 0.6 % of DB time",
            "not what makes this database slow",
            "9.12 ms",
            "9.80 ms",
        ],
        &[],
    ),
    (
        "16-",
        &["45.2 %", "12.10 ms", "13.60 ms", "device or its path alone"],
        &["storage as a whole"],
    ),
    (
        "17-",
        &["14.22 ms", "0.45 ms", "98.3 % busy", "it is not the device"],
        &["alone is slow"],
    ),
    (
        "18-",
        &[
            "5.20 ms for the standby",
            "from 4.78 to 5.20 ms longer",
            "38.4 %",
            "0.42 ms",
        ],
        &["alone is slow"],
    ),
    (
        "19-",
        &[
            "is no part of a commit",
            "commits are 2 % of DB time",
            "1.30 ms",
        ],
        &["waits 13.76 ms for the standby"],
    ),
    (
        "20-",
        &["storage as a whole is slow", "31.4 ms", "38.1 ms", "14.9 %"],
        &["alone is slow"],
    ),
    (
        "21-",
        &["alone is slow", "28.1 ms", "604 µs", "40 % of DB time"],
        &["storage as a whole"],
    ),
    (
        "22-",
        &[
            "10 log writes",
            "242,519 ms",
            "8 of them took 30.0 s",
            "a time-out has such constants",
        ],
        &["on average"],
    ),
    (
        "23-",
        &["812,400", "1.38 ms", "640,221", "507.44", "30.1 %"],
        &[],
    ),
    (
        "25-",
        &["7.30", "6.10 ms", "902 times", "41.9 %"],
        &["storage as a whole"],
    ),
    (
        "26-",
        &["21,204,118", "15.0 ms", "longest 15.0 s"],
        &["processors come first"],
    ),
    (
        "28-",
        &[
            "102,995",
            "94,457",
            "two groups",
            "49.96 % from 4.00 ms to 32.0 ms",
            "64.81 % from 4.00 ms to 64.0 ms",
        ],
        &["205,990", "stalls"],
    ),
    (
        "31-",
        &[
            "18,610,440",
            "1.01 syncs of the log per commit",
            "48,211 waits",
        ],
        &["46 ms"],
    ),
    (
        "33-",
        &["144,210", "9.00 ms", "8.00 ms", "48.6 %", "alone is slow"],
        &["2,144,210"],
    ),
    (
        "42-",
        &["1.19 ms with open_datasync", "from 1 to 5 ms"],
        &["contradict"],
    ),
];

/// What is refused: by the name of what it is, and with what to do.
const REFUSED: &[Key] = &[
    ("24-", &["grep", "oracle-trace", "sed -E"], &[]),
    ("27-", &["names Oracle's waits, in which no table"], &[]),
    (
        "30-",
        &["AWR report of a whole cluster", "awrrpti.sql"],
        &[],
    ),
    ("36-", &["vdbench"], &[]),
    ("37-", &["rados bench"], &[]),
    ("38-", &["DiskSpd"], &[]),
    ("39-", &["bonnie++"], &[]),
    ("40-", &["tkprof", "import the trace"], &[]),
    ("41-", &["HammerDB"], &[]),
    ("43-", &["dd"], &[]),
    ("44-", &["ioping"], &[]),
    ("45-", &["btt"], &[]),
    ("46-", &["YCSB"], &[]),
    ("47-", &["counters of Windows"], &[]),
    ("48-", &["zpool iostat"], &[]),
    ("thirty/22-", &["vmstat"], &[]),
    ("thirty/23-", &["pidstat"], &[]),
    ("thirty/24-", &["ESXi"], &[]),
    ("thirty/25-", &["mysqlslap"], &[]),
];

/// Pairs, compared as before and after.
const PAIRS: &[Key] = &[
    (
        "49",
        &[
            "Log file parallel write 1.19 ms to 743 µs",
            "−37.7 %",
            "0.600 to 0.648",
        ],
        &["Not comparable"],
    ),
    (
        "50",
        &[
            "Log file sync 1.21 ms to 6.51 ms (× 5.38)",
            "log file parallel write unchanged at 63",
            "it is not the device",
            "96.9 % busy",
        ],
        &["alone is slow"],
    ),
    (
        "51",
        &[
            "p50 between 4.00 ms and 8.00 ms, p99 between 16.0 ms and 32.0 ms",
            "then p50 under 1.00 ms, p99 between 1.00 ms and 2.00 ms",
            "(shorter)",
        ],
        &["longer"],
    ),
    (
        "52",
        &["5,120", "7,951", "+55.3 %"],
        &["Nothing is comparable"],
    ),
    (
        "53",
        &[
            "Device dm-5: 6.22 ms per write at 152 writes/s, then 353 µs per write at 1,400",
            "Device dm-2: 1.12 ms per write at 120 writes/s, then 1.13 ms",
        ],
        &["Nothing is comparable"],
    ),
    (
        "54",
        &[
            "1.50 ms per sync over 8,000,000 syncs, then 12.0 ms per sync over 280,000",
            "the first reading was subtracted",
        ],
        &["(× 1.24"],
    ),
    (
        "55",
        &[
            "Log file sync 10.4 ms to 1.01 ms (−90.3 %)",
            "log file parallel write 9.20 ms to 80",
        ],
        &["not the device"],
    ),
    (
        "56",
        &["Log file parallel write unchanged at 941 µs", "cannot tell"],
        &["slower", "faster"],
    ),
];

/// Folders of reports.
const FOLDERS: &[Key] = &[
    (
        "57-",
        &[
            "1 of 12 reports, which begin at 13:00",
            "9.41 ms",
            "RMAN backup & recovery I/O only then (311,204 waits of 18.2 ms)",
            "db file sequential read 604 µs to 4.22 ms",
        ],
        &["commits are the cause"],
    ),
    (
        "58-",
        &[
            "slow at 02:00, 03:00 on 3 of 3 days",
            "22.3 ms against 2.89 ms",
        ],
        &["RMAN", "storage as a whole"],
    ),
    (
        "59-",
        &[
            "10 reports by time show no lasting change",
            "2.44 ms to 2.65 ms",
        ],
        &["caution"],
    ),
    (
        "60-",
        &[
            "10 reports by time show no lasting change",
            "670 µs to 707 µs",
        ],
        &["caution"],
    ),
];

/// What stumbled of thirty inputs that nobody here had seen when they were tried first.
const STUMBLED: &[Key] = &[
    (
        "thirty/14-",
        &["ASYNC Remote Write takes 39.00 ms on average and is no part of a commit"],
        &["for the standby (ASYNC"],
    ),
    (
        "thirty/19-",
        &["1.80 ms", "0.80 ms", "52,210"],
        &["1,800 ms"],
    ),
    (
        "thirty/20-",
        &["21.00 ms", "38.2 % of DB time", "17.5 times the 1.20 ms"],
        &["alone is slow"],
    ),
    (
        "thirty/29-",
        &[
            "9.40 ms in 1 of 10 reports, which begin at 13:00",
            "log file switch (checkpoint in only then (4,120 waits of 1.92 s)",
            "sessions waited for log file switch (checkpoint incomplete) 4,120 times",
        ],
        &["(checkpoin only then"],
    ),
];

/// The folder of an input, and how its name begins.
fn place(begin: &str) -> (PathBuf, &str) {
    let (folder, begin) = begin.split_once('/').unwrap_or(("sixty", begin));
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    (cases.join(folder), begin)
}

/// The inputs whose names begin so, in order.
fn inputs(begin: &str) -> Vec<String> {
    let (folder, begin) = place(begin);
    let all = std::fs::read_dir(folder).expect("the inputs");
    let names = all.map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with(begin)
    };
    let mut found: Vec<PathBuf> = names.filter(is_it).collect();
    found.sort();
    assert!(!found.is_empty(), "no input {begin}");
    found
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

pub(super) fn import(begin: &str) -> Done {
    let place = Place::new();
    let mut arguments = vec!["import".to_owned()];
    arguments.extend(inputs(begin));
    place.run(&arguments)
}

/// The answer in one line: a sentence may be broken into several.
fn joined(done: &Done) -> String {
    let text: Vec<&str> = done.out.split_whitespace().collect();
    text.join(" ")
}

pub(super) fn compare(number: &str) -> Done {
    let side =
        |name: &str, letter: char| format!("{name}={}", inputs(&format!("{number}{letter}-"))[0]);
    let (before, after) = (side("before", 'a'), side("after", 'b'));
    Place::new().run(&["compare", "--label", &before, "--label", &after])
}

/// Each answer has the words of its key and none of the wrong ones.
pub(super) fn answers(keys: &[Key], answer: fn(&str) -> Done) {
    let mut failures = Vec::new();
    for (begin, words, wrong) in keys {
        let done = answer(begin);
        assert!(
            [Some(0), Some(4)].contains(&done.code),
            "{begin}: {}",
            done.err
        );
        let said = joined(&done);
        let missing = words.iter().filter(|word| !said.contains(*word));
        failures.extend(missing.map(|word| format!("{begin}: `{word}` was not said: {said}")));
        let wrong = wrong.iter().filter(|word| said.contains(*word));
        failures.extend(wrong.map(|word| format!("{begin}: `{word}` was said: {said}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_is_read_has_its_figures_and_its_judgement() {
    answers(READ, import);
}

#[test]
fn what_stumbled_once_is_right() {
    answers(STUMBLED, import);
}

#[test]
fn folders_are_series_with_their_hour_and_what_is_beside_it() {
    answers(FOLDERS, import);
}

#[test]
fn pairs_are_compared_by_what_they_are_of() {
    answers(PAIRS, compare);
}

#[test]
fn what_is_refused_has_its_name_and_what_to_do() {
    for (begin, words, _) in REFUSED {
        let done = import(begin);
        done.expect(1, words);
        assert!(
            !done.err.contains("redolab looked for"),
            "{begin}: {}",
            done.err
        );
    }
}
