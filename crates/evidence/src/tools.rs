//! Output of tools that redolab does not read, by what only they print: it is named, with what to
//! import instead. Asked only about files that no kind fits.

mod benchmarks;
mod monitors;

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
        "output of blktrace (blkparse or btt)",
        "import `iostat -x` or a trace of the log writer of the same time",
        &[
            &["Total (", "Reads Queued:", "Writes Queued:"],
            &["= All Devices =", "Q2C"],
        ],
    ),
    (
        "iostat of macOS or a BSD",
        OTHER_IOSTAT,
        &[&["KB/t", "tps", "MB/s"]],
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
        "output of vdbench",
        FIO,
        &[
            &["Vdbench distribution:"],
            &["Starting RD="],
            &["interval        i/o   MB/sec"],
        ],
    ),
    (
        "output of Orion (ORacle IO Numbers)",
        FIO,
        &[
            &["ORION VERSION"],
            &["ORION: ORacle IO Numbers"],
            &["Maximum Small IOPS="],
            &["Maximum Large MBPS="],
        ],
    ),
    (
        "output of rados bench, whose objects are no redo",
        "run fio with --ioengine=rbd --fdatasync=1 --output-format=json+",
        &[
            &["Total time run:", "Average Latency(s):"],
            &["Maintaining ", "concurrent writes of"],
        ],
    ),
    (
        "output of DiskSpd",
        FIO,
        &[
            &["Command Line: diskspd"],
            &["%-ile", "Read (ms)", "Write (ms)"],
            &["bytes     |     I/Os     |"],
        ],
    ),
    (
        "output of bonnie++",
        FIO,
        &[
            &["Sequential Output-", "Sequential Create-"],
            &["Sequential Output", "Random Create"],
        ],
    ),
    (
        "output of IOzone",
        FIO,
        &[&["Iozone: Performance Test of File I/O"]],
    ),
    ("output of CrystalDiskMark", FIO, &[&["CrystalDiskMark "]]),
    (
        "output of fs_mark",
        FIO,
        &[&["FSUse%", "Files/sec", "App Overhead"]],
    ),
    (
        "output of hdparm",
        FIO,
        &[&["Timing buffered disk reads"], &["Timing cached reads"]],
    ),
    (
        "output of dd, whose one figure is a rate",
        FIO,
        &[&["records in", "records out", "copied"]],
    ),
    (
        "output of smartctl or nvme-cli, which holds no latency",
        "percentage_used from 100 on, available_spare under its threshold or media errors mean: replace the drive; \
         redolab check reads the same of the drive itself",
        &[
            &["=== START OF "],
            &["Smart Log for NVME device"],
            &["smartctl ", "Copyright (C)"],
        ],
    ),
    (
        "counters of Windows or ESXi (PDH-CSV)",
        "import the SQL Server's wait statistics, or `iostat -x` of the guest",
        &[&["(PDH-CSV 4.0)"]],
    ),
    (
        "output of mysqlslap, which has means of whole runs",
        "import SHOW GLOBAL STATUS before and after, or measure with `redolab run --on mariadb://...`",
        &[&["Average number of seconds to run all queries"]],
    ),
    (
        "results of Swingbench",
        "make an AWR report of the same time with awrrpt.sql",
        &[
            &["dominicgiles.com/swingbench"],
            &["<SwingBenchConfiguration"],
        ],
    ),
    (
        "a file of OSWatcher, with a line before each sample",
        "take out the lines that begin with zzz (`grep -v ^zzz`), and import what is left where it is \
         `iostat -x`",
        &[&["zzz ***"]],
    ),
    (
        "output of collectl",
        IOSTAT,
        &[
            &["#<--------"],
            &["#Date Time [DSK"],
            &["# DISK STATISTICS"],
        ],
    ),
    (
        "output of atop",
        IOSTAT,
        &[&["ATOP - "], &["RESET", "DSK "]],
    ),
    (
        "system calls as strace prints them",
        "watch the same writes with `redolab watch`, which counts and times them in the kernel; times that -T \
         printed are read as `count,elapsed`: `awk -F'[<>]' 'BEGIN {print \"count,elapsed\"} /sync\\(.* = 0/ \
         {print ++n \",\" 1e6*$(NF-1)}'`",
        &[
            &["fsync(", ") = 0"],
            &["fdatasync(", ") = 0"],
            &["pwrite64(", ") = "],
        ],
    ),
    (
        "output of sadf",
        IOSTAT,
        &[
            &["# hostname;interval;timestamp"],
            &["hostname;interval;timestamp;"],
        ],
    ),
    (
        "output of sar or mpstat",
        "import `sar -d` of the same time",
        &[
            &["     CPU     %u"],
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
        "a listing of SQL*Plus whose lines are wrapped",
        "spool it again behind `set linesize 250 trimspool on`, and import that",
        &[
            &["EVENT", "\nTIME_WAITED"],
            &["EVENT", "\nTOTAL_TIMEOUTS"],
            &["EVENT", "\nTOTAL_WAITS"],
            &["EVENT", "\nAVERAGE_WAIT"],
            &["EVENT", "\nWAIT_COUNT"],
        ],
    ),
    (
        "the time profile of HammerDB as JSON",
        "import its log (hammerdb.log) or the text of the profile; and whole transactions are in it: for the \
         log, import an AWR report or the server's statistics of the same time",
        &[&["\"NEWORD\"", "\"avg_ms\""]],
    ),
    (
        "a part of an alert log without a log switch or a warning of the log writer",
        "import more of it, or the log writer's own trace",
        &[&["Starting ORACLE instance"], &["Archived Log entry "]],
    ),
    (
        "text that names Oracle's waits, in which no table with known headings is",
        "give the report or the listing itself: a table with its headings is read from any text",
        &[&["log file sync"], &["log file parallel write"]],
    ),
];

/// The tool whose output the file is, and what to do.
pub(super) fn named(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    let all = |words: &[&str]| words.iter().all(|w| head.has(w));
    let lists = [monitors::MONITORS, benchmarks::BENCHMARKS, TOOLS];
    let found = lists
        .into_iter()
        .flatten()
        .find(|(_, _, groups)| groups.iter().any(|g| all(g)));
    found.map(|(what, instead, _)| (*what, *instead))
}
