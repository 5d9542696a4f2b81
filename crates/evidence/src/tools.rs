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
        "output of PyLatencyMap, whose colours are not counts",
        "import the listing of v$event_histogram_micro or the trace that it was fed with",
        &[&["PyLatencyMap"], &["LatencyMap", "Frequency Heatmap"]],
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

/// The tool whose output the file is, and what to do.
pub(super) fn named(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    let all = |words: &[&str]| words.iter().all(|w| head.has(w));
    let found = TOOLS
        .iter()
        .find(|(_, _, groups)| groups.iter().any(|g| all(g)));
    found.map(|(what, instead, _)| (*what, *instead))
}
