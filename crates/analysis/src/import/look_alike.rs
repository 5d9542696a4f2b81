//! Files of other databases that look like Oracle's evidence, told by what only they hold.

use super::kind::Head;

/// Each with the words of which all stand in such a file.
const LOOK_ALIKES: &[(&str, &[&str])] = &[
    ("a PostgreSQL log", &["LOG:  ", "STATEMENT:  "]),
    ("a PostgreSQL log", &["LOG:  duration: "]),
    ("a PostgreSQL log", &["LOG:  checkpoint "]),
    ("a MySQL or MariaDB slow query log", &["# Query_time: "]),
    ("InnoDB monitor output", &["INNODB MONITOR OUTPUT"]),
    ("a SQL Server trace", &["<TraceData"]),
    ("a SQL Server error log", &["Microsoft SQL Server 20"]),
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
];

/// `iostat` of other systems, whose columns are others: what it is, and words that all stand in it,
/// the most specific first.
const IOSTATS: &[(&str, &[&str])] = &[
    ("iostat of FreeBSD", &["extended device statistics", "qlen"]),
    (
        "iostat of Solaris",
        &["extended device statistics", "svc_t"],
    ),
    ("iostat of AIX", &["% tm_act"]),
    ("iostat of macOS or a BSD", &["KB/t", "tps", "MB/s"]),
];

/// Bytes in which a banner stands.
const BANNER_BYTES: usize = 4096;

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
