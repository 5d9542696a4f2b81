//! Files that look like evidence and are none: of other databases, of other tools, reports of
//! Oracle's without the figures that are needed. They are recognised by what only they contain, and
//! named.

use super::head::Head;

/// What to import instead of a log of PostgreSQL's, which has only what took longer than a limit.
const OF_POSTGRES: LookAlike = (
    "a PostgreSQL log",
    Some(
        "import pg_stat_io or pg_stat_wal twice, with track_wal_io_timing on, or a log of pgbench -l",
    ),
);

/// What a file is, and what to import instead of it, where something of the same server is read.
type LookAlike = (&'static str, Option<&'static str>);

/// Each with the words of which all are in such a file.
const LOOK_ALIKES: &[(LookAlike, &[&str])] = &[
    (OF_POSTGRES, &["LOG:  ", "STATEMENT:  "]),
    (OF_POSTGRES, &["LOG:  duration: "]),
    (OF_POSTGRES, &["LOG:  checkpoint "]),
    (OF_POSTGRES, &[",LOG,00000,\""]),
    (
        ("a MySQL or MariaDB slow query log", None),
        &["# Query_time: "],
    ),
    (("a SQL Server trace", None), &["<TraceData"]),
    (
        ("a SQL Server error log", None),
        &["Microsoft SQL Server 20"],
    ),
    (("a Db2 trace", None), &["DB2 UDB", "fnc ("]),
    (("Db2's diagnostic log", None), &["LEVEL: ", "PROC : db2"]),
    (
        ("a Db2 event monitor's output", None),
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
        "an ASH report, whose samples contain no latency",
        "make an AWR report of the same time with awrrpt.sql",
        &["ASH Report For", "ASH Report - From", "<title>ASH Report"],
    ),
    (
        "a profile of tkprof, which has sums only",
        "import the trace that it was made of",
        &["TKPROF: Release"],
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

fn one_of(head: &Head<'_>, of: &[Other]) -> Option<(&'static str, &'static str)> {
    let found = of
        .iter()
        .find(|(_, _, words)| words.iter().any(|w| head.has(w)));
    found.map(|(what, instead, _)| (*what, *instead))
}

/// What the file is, if it is of another database.
pub(super) fn of(head: &Head<'_>) -> Option<LookAlike> {
    let banner = Head {
        bytes: &head.bytes[..head.bytes.len().min(BANNER_BYTES)],
    };
    // A trace names its own product; SQL text below may name any.
    if banner.has("Oracle Database") || banner.has("Oracle8i") || banner.has("Oracle9i") {
        return None;
    }
    let other = OTHER_BANNERS.iter().find(|(_, word)| banner.has(word));
    if let Some((what, _)) = other {
        return Some((what, None));
    }
    let all = |words: &[&str]| words.iter().all(|w| head.has(w));
    let found = LOOK_ALIKES.iter().find(|(_, words)| all(words));
    // Of PostgreSQL's, checkpoints and slow commits are read.
    let is_read =
        |of: &LookAlike| *of == OF_POSTGRES && super::listing::is(super::Kind::ServerLog, head);
    found.map(|(found, _)| *found).filter(|of| !is_read(of))
}
