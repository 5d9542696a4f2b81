//! Twenty inputs of a fifth writer: logs and views of servers, cells that are wider than their
//! column, restarts between snapshots, time-outs, sweeps. Each has its right answer, in words of
//! it, and what must not be said.

use super::harness::Place;
use super::inputs;
use super::sixty::{Key, answers, import};

const READ: &[Key] = &[
    (
        "fifth/01-",
        &[
            "changed at 2024-06-11 14:00:00: 1.28 ms before, 9.12 ms from then on",
            "redo did not rise (3.06 and 2.99 MB/s): it is not the load",
        ],
        &["changed at 2024-06-11 12:00", "left out"],
    ),
    (
        "fifth/02-",
        &[
            "Commits are 0.7 % of DB time",
            "db file sequential read with 54 %",
            "0.35 ms",
        ],
        &["caution: log file sync"],
    ),
    (
        "fifth/03-",
        &[
            "Log file sync takes 12.10 ms on average, 7.6 times the 1.60 ms of",
            "over about 15,000,000 waits (time / average, their number is not printed)",
            "how busy the processors were",
            "8,120 times, 406.0 s in all and 50.0 ms each",
        ],
        &["1.21 ms on average", "0.16 ms", "over 0 waits"],
    ),
    (
        "fifth/04-",
        &[
            "snap 7702 to snap 7703: 5.82 % of its 43,322 waits took over 16 ms, and 26.13 % over 8 ms",
            "43.50 % over 8 ms",
            "the restart to snap 7704",
            "the instance was restarted: counts begin again there",
        ],
        &["6.7 % of 87,140,875", "not subtracted"],
    ),
    (
        "fifth/05-",
        &[
            "5 of them took 1.00 s, within 1 %",
            "99.1 % of the time of all 26, and the other 21 took 2.24 ms on average",
            "wake-up is missed",
        ],
        &["racing two devices"],
    ),
    (
        "fifth/06-",
        &[
            "5 times the log could not switch because of a checkpoint",
            "194.0 s in all from the message to the switch, the longest 71.00 s",
            "10 switches in 24.0 min, one every 2.7 min",
            "2 \"Private strand flush not complete\" are normal",
            "nothing here measures a log write",
        ],
        &["7 times"],
    ),
    (
        "fifth/07-",
        &[
            "In 20 samples the log writer is on a processor, or waits for one, 17 times",
            "in log file parallel write 3 times",
            "for session 1142 in log file sync 52 times",
            "processors come first",
        ],
        &["on average"],
    ),
    (
        "fifth/08-",
        &[
            "sdc 28.1 ms per write, 18.8 ms per read, 100.0 % utilised, 47.8 requests in its queue",
            "Sdd: 15.4 % utilised",
            "0.311 ms per write",
        ],
        &[],
    ),
    (
        "fifth/10-",
        &[
            "a 99th percentile of 43.8 µs",
            "a mean of 27.9 µs",
            "3.91 ms",
        ],
        &["caution", "no device answers"],
    ),
    (
        "fifth/11-",
        &[
            "1: 402 (2.49 ms), 4: 1,180 (3.39 ms), 16: 2,411 (6.64 ms), 64: 2,466 (26.0 ms)",
            "from 16 clients on it is level (+2.3 %",
            "10 rows of pgbench_branches",
            "a run of pgbench that failed",
        ],
        &["state its kind with --kind; 128: 0"],
    ),
    (
        "fifth/12-",
        &[
            "8.40 ms with fdatasync",
            "a turn of a disk of 7200 rpm",
            "8.39 ms with open_datasync, which is noise, and slower for two writes",
            "119 per second from one session",
        ],
        &["the quickest method"],
    ),
    (
        "fifth/13-",
        &["a mean of 200 µs over 118,020 of them"],
        &["caution", "wal_buffers were full"],
    ),
    (
        "fifth/14-",
        &[
            "18 commits over its limit, from 1.03 s to 2.84 s, 33.2 s in all",
            "16 of them are in the sync phase at the end of 3 checkpoints (11.5 s to 17.9 s, the longest file 4.40 s)",
            "no mean follows",
        ],
        &["too frequently", "8.37 s"],
    ),
    (
        "fifth/15-",
        &[
            "InnoDB's redo log is 80 % full",
            "19.6 MiB of redo per second write it through in 4.89 s",
            "no flush of the log is pending",
        ],
        &[],
    ),
    (
        "fifth/16-",
        &[
            "WRITELOG is 2.8 % of the waits that are not idle",
            "first comes PAGELATCH_EX with 62 %",
            "Writes of SQL Server's log file (Shop): a mean of 50.0 µs over 8,190,442",
            "360 µs is waiting for a processor",
        ],
        &["first comes SOS_WORK_DISPATCHER", "3.00 ms over"],
    ),
    (
        "fifth/17-",
        &[
            "9 slow syncs of its log, 85.4 s together, the longest 64.1 s at 2024-03-07T02:13:45.307Z",
        ],
        &["10 slow syncs"],
    ),
    (
        "fifth/18-",
        &[
            "57,166",
            "78.96 % under 512 µs",
            "16.50 % from 16.4 ms to 131 ms",
        ],
        &[],
    ),
];

#[test]
fn logs_and_views_of_servers_are_judged() {
    answers(READ, import);
}

#[test]
fn other_programs_have_their_names_and_how_to_read_them() {
    for (begin, words) in [
        (
            "fifth/09-",
            [
                "btt (blktrace), in seconds",
                "D2C is the time of the device",
            ],
        ),
        ("fifth/19-", ["Db2", "over its number of log write I/Os"]),
        (
            "fifth/20-",
            ["a log of Cassandra", "put it on a device apart"],
        ),
    ] {
        import(begin).expect(1, &words);
    }
}

/// A program that is known by name beside evidence changes no answer; the code says that a file was
/// not read.
#[test]
fn what_is_known_by_name_changes_no_answer() {
    let folder = inputs().with_file_name("fifth").join("07-ash-and-vmstat");
    let of = |name: &str| folder.join(name).display().to_string();
    let both = ["import".to_owned(), of("ash.txt"), of("vmstat5.txt")];
    let done = Place::new().run(&both);
    done.expect(4, &["output of vmstat"]);
    assert!(done.out.contains("processors come first"), "{}", done.out);
    let alone = ["import".to_owned(), of("vmstat5.txt")];
    Place::new().run(&alone).expect(1, &["output of vmstat"]);
}
