//! Files that look like evidence and are none: of other databases, of other tools, reports of
//! Oracle's without the figures that are needed. They are recognised by what only they contain, and
//! named.

use super::head::Head;

/// Each with the words of which all stand in such a file.
const LOOK_ALIKES: &[(&str, &[&str])] = &[
    ("a PostgreSQL log", &["LOG:  ", "STATEMENT:  "]),
    ("a PostgreSQL log", &["LOG:  duration: "]),
    ("a PostgreSQL log", &["LOG:  checkpoint "]),
    ("a PostgreSQL log", &[",LOG,00000,\""]),
    ("a MySQL or MariaDB slow query log", &["# Query_time: "]),
    ("InnoDB monitor output", &["INNODB MONITOR OUTPUT"]),
    ("a SQL Server trace", &["<TraceData"]),
    ("a SQL Server error log", &["Microsoft SQL Server 20"]),
    (
        "a listing of SQL Server's waits",
        &["wait_type", "waiting_tasks_count"],
    ),
    ("a Db2 trace", &["DB2 UDB", "fnc ("]),
    ("Db2's diagnostic log", &["LEVEL: ", "PROC : db2"]),
    (
        "a Db2 event monitor's output",
        &["EVENT LOG HEADER", "Event Monitor name"],
    ),
];

/// Words of a 10046 trace's header: what names another product there is no Oracle trace.
const OTHER_BANNERS: &[(&str, &str)] = &[
    ("an OceanBase trace", "OceanBase"),
    ("a Dameng trace", "DM Database Server"),
    ("a Dameng trace", "dmserver"),
    ("a KingbaseES trace", "KingbaseES"),
    ("an EDB Postgres trace", "EnterpriseDB"),
    ("an openGauss trace", "openGauss"),
    ("a Tibero trace", "Tibero"),
    ("a YashanDB trace", "YashanDB"),
];

/// What a file is, what to import instead, and the words of which one stands in its first lines.
type Other = (&'static str, &'static str, &'static [&'static str]);

/// Reports of Oracle's that would be read as if they were of a whole instance.
const OTHER_REPORTS: &[Other] = &[
    (
        "an AWR report of one SQL statement (awrsqrpt)",
        "make one of the instance with awrrpt.sql",
        &["WORKLOAD REPOSITORY SQL Report", "AWR SQL Report"],
    ),
    (
        "an AWR report that compares two periods (awrddrpt)",
        "make one of each period with awrrpt.sql",
        &[
            "WORKLOAD REPOSITORY COMPARE PERIOD",
            "AWR Compare Period Report",
        ],
    ),
    (
        "an AWR report of a whole cluster (awrgrpt)",
        "make one of each instance with awrrpti.sql",
        &["WORKLOAD REPOSITORY REPORT (RAC)", "AWR RAC Report"],
    ),
    (
        "an ASH report, whose samples tell no latency",
        "make an AWR report of the same time with awrrpt.sql",
        &["ASH Report For", "ASH Report - From", "<title>ASH Report"],
    ),
    (
        "an ADDM report, which holds advice and few figures",
        "make an AWR report of the same snapshots with awrrpt.sql",
        &[
            "ADDM Report for Task",
            "<title>ADDM Report",
            "DETAILED ADDM REPORT FOR TASK",
        ],
    ),
];

/// Tools whose output contains nothing about single log writes.
const OTHER_TOOLS: &[Other] = &[
    (
        "a profile of tkprof, which has sums only",
        "import the trace that it was made of",
        &["TKPROF: Release"],
    ),
    (
        "fio's text for people",
        "run fio with --output-format=json+",
        &[
            "fsync/fdatasync/sync_file_range:",
            "clat percentiles (",
            "clat (usec): min",
            "clat (nsec): min",
            "clat (msec): min",
        ],
    ),
    (
        "fio's terse output",
        "run fio with --output-format=json+",
        &["3;fio-", "4;fio-", "5;fio-"],
    ),
    (
        "a percentile table of HdrHistogram (wrk2 and others)",
        "import the interval log (.hlog) of the same run",
        &["1/(1-Percentile)", "Latency Distribution (HdrHistogram"],
    ),
    (
        "output of vmstat",
        "import iostat -x of the same time",
        &["procs ---", " r  b   swpd"],
    ),
    (
        "output of nmon",
        "import iostat -x of the same time",
        &["AAA,progname"],
    ),
    (
        "output of dstat",
        "import iostat -x of the same time",
        &["--total-cpu-usage--", "-dsk/total-"],
    ),
    (
        "output of sar or mpstat",
        "import iostat -x of the same time",
        &[
            "     CPU     %u",
            "          DEV       tps",
            "  CPU    %usr",
            "        CPU      %u",
        ],
    ),
    (
        "output of sysbench",
        "import fio's JSON or a trace instead",
        &["sysbench 0.", "sysbench 1."],
    ),
    (
        "output of ioping",
        "import fio's JSON instead",
        &["ioping statistics ---"],
    ),
    (
        "an alert log without warnings of the log writer",
        "import the log writer's own trace",
        &["advanced to log sequence", "Starting ORACLE instance"],
    ),
];

/// `iostat` of other systems, whose columns are others: what it is, and words that all stand in it,
/// the most specific first.
const IOSTATS: &[(&str, &[&str])] = &[
    ("iostat of FreeBSD", &["extended device statistics", "qlen"]),
    ("iostat of Solaris", &["extended device statistics"]),
    ("iostat of AIX", &["% tm_act"]),
    ("iostat of macOS or a BSD", &["KB/t", "tps", "MB/s"]),
];

/// Bytes in which a banner stands.
const BANNER_BYTES: usize = 4096;

/// The report of Oracle's that the file is, and what to import instead.
pub(super) fn report(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    let banner = Head {
        bytes: &head.bytes[..head.bytes.len().min(BANNER_BYTES)],
    };
    let whole = [
        "WORKLOAD REPOSITORY report for",
        "WORKLOAD REPOSITORY PDB report",
    ];
    if whole.iter().any(|w| head.has(w)) {
        return None;
    }
    one_of(&banner, OTHER_REPORTS)
}

/// JSON of a program of sysstat's that is not iostat, or of iostat without devices.
pub(super) fn json(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    if !head.has("\"sysstat\"") || head.has("\"disk_device\"") {
        return None;
    }
    let instead = "import the JSON of `iostat -x -o JSON` of the same time";
    let what = if head.has("\"cpu-load\"") && !head.has("\"sysdata-version\"") {
        "JSON of mpstat"
    } else if head.has("\"sysdata-version\"") || head.has("\"disk-device\"") {
        "JSON of sadf (sar)"
    } else if head.has("\"cifs") || head.has("\"filesystem\"") {
        "JSON of cifsiostat, whose file systems are on other machines"
    } else if head.has("\"avg-cpu\"") {
        "JSON of iostat without devices"
    } else {
        "JSON of a program of sysstat other than iostat"
    };
    Some((what, instead))
}

/// The tool whose output a file is that no kind fits.
pub(super) fn tool(head: &Head<'_>) -> Option<(&'static str, &'static str)> {
    one_of(head, OTHER_TOOLS)
}

fn one_of(head: &Head<'_>, of: &[Other]) -> Option<(&'static str, &'static str)> {
    let found = of
        .iter()
        .find(|(_, _, words)| words.iter().any(|w| head.has(w)));
    found.map(|(what, instead, _)| (*what, *instead))
}

/// What the file is, if it is of another database.
pub(super) fn of(head: &Head<'_>) -> Option<&'static str> {
    let banner = Head {
        bytes: &head.bytes[..head.bytes.len().min(BANNER_BYTES)],
    };
    // A trace names its own product; SQL text below may name any.
    if banner.has("Oracle Database") || banner.has("Oracle8i") || banner.has("Oracle9i") {
        return None;
    }
    let other = OTHER_BANNERS.iter().find(|(_, word)| banner.has(word));
    if let Some((what, _)) = other {
        return Some(what);
    }
    let all = |words: &[&str]| words.iter().all(|w| head.has(w));
    let found = LOOK_ALIKES.iter().find(|(_, words)| all(words));
    found.map(|(what, _)| *what)
}

/// Whose `iostat` the file is, if it is not sysstat's.
pub(super) fn iostat(head: &Head<'_>) -> Option<&'static str> {
    let all = |words: &[&str]| words.iter().all(|w| head.has(w));
    let found = IOSTATS.iter().find(|(_, words)| all(words));
    found.map(|(what, _)| *what)
}
