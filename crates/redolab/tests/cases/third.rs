//! Excerpts as people send them: with what another program put before each line, with collapsed
//! blanks, wrapped columns, merged headings, or rows without headings. Each has its right answer.

use super::sixty::{Key, answers, compare, import};

const READ: &[Key] = &[
    (
        "third/01-",
        &["255,454", "two groups", "13.48 % from 8.19 ms to 262 ms"],
        &["left out"],
    ),
    (
        "third/03-",
        &[
            "387,460 syncs is from 32.0 ms to 64.0 ms",
            "40 lines begin with the number of a line",
        ],
        &["left out"],
    ),
    (
        "third/07-",
        &[
            "43,200,117",
            "track_wal_io_timing",
            "8,812,034 of 52,203,311",
            "a quoted mail",
        ],
        &["0.00 ms"],
    ),
    (
        "third/12-",
        &[
            "Sdc: 98.4 % utilised",
            "20.70",
            "begin with a time stamp (`Mar 04 02:14:11`)",
        ],
        &[],
    ),
    (
        "third/14-",
        &[
            "ommits are 0.6 % of DB time",
            "Log file parallel write takes 20.02 ms on average over 11,940 waits",
            "db file parallel write 40,211 161.00 4.00",
        ],
        &[],
    ),
    (
        "third/16-",
        &[
            "1.23 ms",
            "0.92 ms",
            "ASYNC Remote Write takes 18.50 ms on average and is no part of a commit",
            "dest_id, target, status",
        ],
        &["left out"],
    ),
    (
        "third/18-",
        &[
            "1.10 ms on instance 1 and 24.8 ms on instance 2",
            "instance 2 24.8 ms (611,208 waits, 64.78 % of its DB time)",
            "commits are 64.78 % of DB time: a faster log gives back at most that",
        ],
        &["12.95 ms on average", "16.76 ms on average"],
    ),
    (
        "third/20-",
        &[
            "8 log writes were reported as slow",
            "3,402",
            "18,670",
            "16 lines begin with a file and a line of it",
        ],
        &["4,123"],
    ),
    // Those of the sixty and of the thirty that were refused for the same reasons.
    ("29-", &["Dm-3", "26.40 ms", "begin with a time stamp"], &[]),
    ("32-", &["4.60 ms", "4.20 ms", "402,118"], &["left out"]),
    ("34-", &["a quoted mail", "31,044,120"], &[]),
    (
        "thirty/17-",
        &[
            "1 of 20 intervals (those that end at 45 s)",
            "begin with a time stamp",
        ],
        &[],
    ),
    (
        "thirty/18-",
        &[
            "14.20 ms on average over 288,410 waits",
            "log file sync, mean 16.8 ms",
        ],
        &[],
    ),
    ("thirty/21-", &["5.50 ms", "4.50 ms"], &["left out"]),
];

#[test]
fn excerpts_are_read() {
    answers(READ, import);
}

#[test]
fn a_summary_of_system_calls_has_its_name() {
    let words = [
        "strace -c",
        "unless -w was given",
        "strace -f -T -e trace=fdatasync,fsync",
    ];
    import("third/25-").expect(1, &words);
}

/// What else a mail or a ticket has: instances, snapshots, time-outs, contradictions.
const FOURTH: &[Key] = &[
    (
        "third/19-",
        &["6 of them took 1.00 s, within 1 %", "wake-up is missed"],
        &["0 log writes"],
    ),
    (
        "fourth/03-",
        &[
            "instance 1 9.84 ms (904,112 waits); the others are quick: instance 2 930 µs",
            "Log file parallel write takes 0.61 ms on average over 861,540 waits",
        ],
        &["5.45 ms"],
    ),
    (
        "fourth/04-",
        &[
            "14.60 ms on average over 391,442 waits, from 5 to 20 ms (snap 8807, 2024-03-05 07:00:00)",
        ],
        &["5.08 ms on average"],
    ),
    (
        "fourth/07-",
        &["5 of them took 30.0 s, within 1 %", "152,125 ms together"],
        &["1.20 s or"],
    ),
    (
        "fourth/08-",
        &[
            "5 commits over its limit, from 1.03 s to 4.91 s",
            "1 of them are in the sync phase at the end of 1 checkpoint (",
            "which does not explain them",
        ],
        &["1.51 s"],
    ),
    (
        "fourth/09-",
        &[
            "Log file parallel write takes 420 µs on average",
            "neither is a verdict",
        ],
        &[],
    ),
    (
        "fourth/17-",
        &[
            "A commit waits 12.6 ms for the synchronous secondary",
            "1.50 ms for its own log",
        ],
        &[],
    ),
];
const FOURTH_PAIRS: &[Key] = &[
    (
        "fourth/27",
        &["305 µs per flush", "6.90 ms per flush", "flush: × 22.6"],
        &[],
    ),
    (
        "fourth/28",
        &[
            "redo 4.88 MB/s to 77.4 MB/s",
            "look at what makes the redo before the device",
        ],
        &["so look at the device and at what else it does"],
    ),
];

#[test]
fn instances_snapshots_and_contradictions_are_judged() {
    answers(FOURTH, import);
    answers(FOURTH_PAIRS, compare);
}

#[test]
fn logs_of_other_programs_have_their_names() {
    for (begin, name) in [
        ("fourth/16-", "performance_schema"),
        ("fourth/18-", "ZooKeeper"),
        ("fourth/19-", "Ceph's perf dump"),
    ] {
        import(begin).expect(1, &[name]);
    }
}
