//! Output of tools that redolab does not read, by what only they print: it is named, with what to
//! import instead. Asked only about files that no kind fits.

use super::head::Head;

/// What a file is, what to do, and groups of words: all words of one group are in such a file.
type Tool = (
    &'static str,
    &'static str,
    &'static [&'static [&'static str]],
);

const IOSTAT: &str = "import `iostat -x` of the same time";
const SERVER: &str = "measure the server with `redolab run --on postgres://...`, or import what \
                      pg_test_fsync prints on the disk of its log";
const OTHER_IOSTAT: &str = "only that of sysstat is read: import the log writer's trace or an AWR \
                            report of the same time";
const FIO: &str = "run fio with --output-format=json+";
const LOG: &str = "import a trace, an AWR report or `iostat -x` of the same time";

/// The most specific first.
const TOOLS: &[Tool] = &[
    (
        "output of HammerDB",
        LOG,
        &[
            &[" NOPM from "],
            &["HammerDB CLI"],
            &["HAMMERDB RESULT"],
            &["Vuser 1:", "NOPM"],
        ],
    ),
    (
        "output of sysbench",
        LOG,
        &[
            &["sysbench 0."],
            &["sysbench 1."],
            &["sysbench v0."],
            &["SQL statistics:", "queries performed:"],
            &["General statistics:", "total number of events:"],
            &["Throughput:", "fsyncs/s:"],
            &["File operations:", "fsyncs/s:"],
            &["] thds: ", " tps: "],
            &["Test execution summary:", "per-request statistics:"],
        ],
    ),
    (
        "output of YCSB",
        LOG,
        &[
            &["[OVERALL], "],
            &["[UPDATE], AverageLatency(us)"],
            &["[READ], AverageLatency(us)"],
        ],
    ),
    (
        "output of pidstat",
        IOSTAT,
        &[
            &["kB_ccwr/s"],
            &[" PID ", "%usr", "Command"],
            &[" PID ", "minflt/s"],
            &[" PID ", "cswch/s"],
        ],
    ),
    (
        "output of cifsiostat or nfsiostat, whose file systems are on other machines",
        "import `iostat -x` of the machine that has the disks",
        &[
            &["Filesystem:", "rops/s", "wops/s"],
            &["Filesystem", "rops/s", "wops/s"],
            &["mounted on ", "avg RTT (ms)"],
        ],
    ),
    (
        "output of zpool iostat, whose latencies are of the pool's queues",
        "import `iostat -x` of the disks of the pool at the same time",
        &[
            &["capacity ", "operations ", "bandwidth"],
            &["syncq_", "asyncq_"],
            &["total_wait", "disk_wait"],
        ],
    ),
    (
        "output of pt-diskstats",
        IOSTAT,
        &[&["device", "rd_s", "wr_s", "wr_rt"], &["#ts", "rd_avkb"]],
    ),
    (
        "a histogram of an eBPF tool (biolatency, ext4dist, xfsdist or bpftrace)",
        "its buckets double, so that they cannot be judged at 10 or 20 ms: import a trace, or fio's \
         JSON+ of the same device",
        &[
            &["usecs ", ": count ", "distribution"],
            &["msecs ", ": count ", "distribution"],
            &["nsecs ", ": count ", "distribution"],
            &["[", ") ", "|@"],
        ],
    ),
    (
        "output of dstat or pcp-dstat",
        IOSTAT,
        &[
            &["----total-usage----"],
            &["--total-cpu-usage--"],
            &["-dsk/total-"],
            &["\"Dstat 0."],
            &["\"pcp-dstat"],
            &["--dsk/", "read  writ"],
        ],
    ),
    (
        "a view of PostgreSQL without writes of the log",
        SERVER,
        &[
            &["xact_commit", "xact_rollback"],
            &["wait_event_type", "wait_event"],
            &["total_exec_time", "calls"],
            &["archived_count", "last_archived_wal"],
        ],
    ),
    (
        "a status listing of MySQL or MariaDB",
        "measure the server with `redolab run --on mysql://...`",
        &[&["Innodb_os_log_fsyncs"], &["Innodb_log_waits"]],
    ),
    (
        "a listing of ASH (gv$active_session_history), whose samples contain no latency",
        "make an AWR report of the same time with awrrpt.sql",
        &[&["SAMPLE_TIME", "SESSION_STATE"]],
    ),
    (
        "iostat of FreeBSD",
        OTHER_IOSTAT,
        &[&["extended device statistics", "qlen"]],
    ),
    (
        "iostat of Solaris",
        OTHER_IOSTAT,
        &[
            &["wsvc_t", "asvc_t"],
            &["svc_t", "%w", "%b"],
            &["tin tout", "serv"],
            &["extended device statistics"],
        ],
    ),
    (
        "iostat or sar of AIX",
        OTHER_IOSTAT,
        &[
            &["%tm_act"],
            &["% tm_act"],
            &["xfer:", "bread", "bwrtn"],
            &["avgserv", "avgtime"],
            &["device", "%busy", "avque"],
            &["xfers", "avg serv"],
            &["System configuration: lcpu="],
        ],
    ),
    (
        "iostat of HP-UX",
        OTHER_IOSTAT,
        &[&["device", "bps", "sps", "msps"]],
    ),
    (
        "output of blktrace (blkparse)",
        "import `iostat -x` or a trace of the log writer of the same time",
        &[&["Total (", "Reads Queued:", "Writes Queued:"]],
    ),
    (
        "iostat of macOS or a BSD",
        OTHER_IOSTAT,
        &[&["KB/t", "tps", "MB/s"]],
    ),
    (
        "a profile of tkprof, which has sums only",
        "import the trace that it was made of",
        &[&["TKPROF: Release"]],
    ),
    (
        "fio's terse output",
        FIO,
        &[&["3;fio-"], &["4;fio-"], &["5;fio-"]],
    ),
    (
        "a percentile table of HdrHistogram (wrk2 and others)",
        "import the interval log (.hlog) of the same run",
        &[
            &["1/(1-Percentile)"],
            &["Latency Distribution (HdrHistogram"],
        ],
    ),
    (
        "output of vmstat",
        IOSTAT,
        &[&["procs ---"], &[" r  b   swpd"]],
    ),
    ("output of nmon", IOSTAT, &[&["AAA,progname"]]),
    (
        "output of sar or mpstat",
        IOSTAT,
        &[
            &["     CPU     %u"],
            &["          DEV       tps"],
            &["  CPU    %usr"],
            &["        CPU      %u"],
        ],
    ),
    (
        "output of ioping",
        "import fio's JSON instead",
        &[&["ioping statistics ---"]],
    ),
    (
        "an alert log without warnings of the log writer",
        "import the log writer's own trace",
        &[&["advanced to log sequence"], &["Starting ORACLE instance"]],
    ),
];

/// Lines that are looked at where each of them has to fit.
const LINES: usize = 20;

/// The tool whose output the file is, and what to do.
pub(super) fn named(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    let all = |words: &[&str]| words.iter().all(|w| head.has(w));
    let found = TOOLS
        .iter()
        .find(|(_, _, groups)| groups.iter().any(|g| all(g)));
    found
        .map(|(what, instead, _)| (*what, *instead))
        .or_else(|| of_numbers(head))
}

/// Files of numbers alone: each of the first lines has to fit.
fn of_numbers(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    let lines: Vec<Vec<String>> = head
        .lines()
        .filter(|l| !l.trim_ascii().is_empty() && !l.starts_with(b"TS "))
        .take(LINES)
        .map(|l| String::from_utf8_lossy(&l[..l.len().min(4096)]).into_owned())
        .map(|l| {
            let words = l.split([',', ' ', '\t']).filter(|w| !w.is_empty());
            words.map(str::to_owned).collect()
        })
        .collect();
    // The head may end inside of the last line.
    let whole = lines
        .split_last()
        .map_or(&lines[..], |(_, before)| match before {
            [] => &lines[..],
            before => before,
        });
    let each =
        |fits: &dyn Fn(&[String]) -> bool| !whole.is_empty() && whole.iter().all(|w| fits(w));
    if each(&|w| is_diskstats(w)) {
        return Some((
            "a copy of /proc/diskstats, whose counters run since boot",
            IOSTAT,
        ));
    }
    None
}

/// `8 0 sda` and at least eleven counters.
fn is_diskstats(words: &[String]) -> bool {
    let number = |w: &String| w.parse::<u64>().is_ok();
    let [major, minor, name, counters @ ..] = words else {
        return false;
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic());
    number(major) && number(minor) && is_name && counters.len() >= 11 && counters.iter().all(number)
}
