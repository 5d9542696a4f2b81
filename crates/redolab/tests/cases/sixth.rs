//! Twenty inputs of a sixth writer: pairs with German figures, columns whose heading has the wrong
//! unit, one sick instance of two, cut lines, mails that name the log's device, sar. Each has its
//! right answer, in words of it, and what must not be said.

use super::harness::Place;
use super::inputs;
use super::sixty::{Key, answers, import};

const READ: &[Key] = &[
    (
        "sixth/22-",
        &[
            "Commits are 1.4 % of DB time",
            "DB CPU with 71 %",
            "3.50 ms",
        ],
        &["caution"],
    ),
    (
        "sixth/23-",
        &[
            "a tenth of the time over the waits in 7 of 7 lines: it is in hundredths of a second",
            "7.50 ms",
            "6.60 ms",
            "41 times, 88.2 s in all and 2150.0 ms each",
            "counts from the start of the instance",
        ],
        &["0.75 ms", "0.66 ms"],
    ),
    (
        "sixth/24-",
        &[
            "instance 2: 11.79 % of its 111,628 waits took over 16 ms, and 41.38 % over 8 ms",
            "of the other 141,030 none took over 16 ms; what it has for itself is the reason",
        ],
        &["of 252,658"],
    ),
    (
        "sixth/25-",
        &[
            "13 of 13 slow log writes",
            "between 02:00 and 03:00, on 3 days",
            "21,755 ms together, the longest 7,214 ms",
        ],
        &["14 log writes", "14 of 14"],
    ),
    (
        "sixth/26-",
        &[
            "No log switch waited for a checkpoint or the archiver",
            "one every 63.1 min",
            "are normal",
        ],
        &["caution"],
    ),
    (
        "sixth/27-",
        &[
            "A log write waits 11.00 ms for the standby",
            "0.70 ms on average",
        ],
        &["700 ms"],
    ),
    (
        "sixth/28-",
        &[
            "The log's device is not slow, another one is: nvme0n1 210 µs per write, 400 µs per flush; sda 42.0 ms",
            "nvme0n1 holds the log, as this line says",
        ],
        &["counter goes"],
    ),
    (
        "sixth/29-",
        &[
            "14.96 ms per write",
            "nvme1n1 alone is slow",
            "replace the drive",
            "no sample: left out",
        ],
        &["1,496", "65,"],
    ),
    (
        "sixth/30-",
        &[
            "the longest 204 ms",
            "28.4 ms",
            "11.8 ms over 5,057",
            "84.28",
        ],
        &["a mean of 21"],
    ),
    (
        "sixth/31-",
        &[
            "Hardly anything ended in 2 of 12 intervals",
            "5 of 31 waits took 23.4 s on average",
            "the other 26 a mean of 7.06 ms",
        ],
        &["3.77 s"],
    ),
    (
        "sixth/32-",
        &[
            "Nobarrier (line 23)",
            "a power cut can lose them",
            "nothing reaches a medium there",
            "124 µs with fdatasync",
        ],
        &[],
    ),
    (
        "sixth/33-",
        &[
            "6.30 ms over 402,118",
            "6.20 ms over 12,050",
            "32 syncs of PostgreSQL's log (client backend) take 37.6 ms on average, for new segments",
        ],
        &["20.1 ms", "25.0 ms over"],
    ),
    (
        "sixth/34-",
        &[
            "7 to 12 s apart",
            "Raise max_wal_size",
            "from 11.9 ms to 47.2 ms",
        ],
        &["percentile of"],
    ),
    (
        "sixth/35-",
        &[
            "150 µs on average between both listings (performance_schema), under 1 ms",
            "31,204 waits for row locks between both listings, 99.4 ms each, 3,101 s in all",
        ],
        &["150 ms", "goes back from"],
    ),
    (
        "sixth/36-",
        &["8.90 ms over 1,702,114", "7.70 ms over 401,204"],
        &["1.52 ms over", "1.00 ms over", "goes back from"],
    ),
    (
        "sixth/37-",
        &[
            "round trips is from 410 ms to 819 ms; the leader changed 41 times: the network",
            "from 2.00 ms to 4.00 ms",
            "from 8.00 ms to 16.0 ms",
        ],
        &["a disk is slow"],
    ),
    (
        "sixth/38-",
        &[
            "nvme1n1, usecs): the longest from 512 µs to 1.02 ms, 99 % under 128 µs",
            "it holds the log",
            "sdc, usecs): the longest from 262 ms to 524 ms",
            "it does not hold the log",
        ],
        &["the longest 524 ms"],
    ),
];

#[test]
fn what_another_writer_sent_is_judged() {
    answers(READ, import);
}

#[test]
fn german_figures_before_and_after() {
    let side = |name: &str, file: &str| {
        let path = inputs().with_file_name("sixth/21-statspack-vorher-nachher");
        format!("{name}={}", path.join(file).display())
    };
    let (before, after) = (side("before", "vorher.lst"), side("after", "nachher.lst"));
    let done = Place::new().run(&["compare", "--label", &before, "--label", &after]);
    done.expect(0, &["9.00", "1.10", "7.80"]);
    assert!(!done.out.contains("412.308"), "{}", done.out);
}

#[test]
fn other_programs_have_their_names() {
    import("sixth/39-").expect(1, &["Kafka"]);
    import("sixth/40-").expect(1, &["RocksDB"]);
}
