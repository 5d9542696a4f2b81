//! The kinds of evidence, and how each is recognised from its content.
//!
//! A kind is a line of `KINDS`: its name, what is looked for in such a file, and a function that
//! says whether the head of a file is one. They are asked in order, the most specific first.

use super::head::Head;
use super::notes::quote;
use super::options::Kind;
use super::prefixes::LinePrefix;
use super::refusal::ImportRefusal;
use super::{
    awr, blanks, count_elapsed, event_histogram, fio_log, hlog, json_reader, listing, look_alike,
    miner, pgbench_log, prefixes, tools, trace,
};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

struct Spec {
    kind: Kind,
    name: &'static str,
    looked_for: &'static str,
    is: fn(&Head<'_>) -> bool,
}

/// Every kind, the most specific first.
const KINDS: &[Spec] = &[
    Spec {
        kind: Kind::OracleTrace,
        name: "oracle-trace",
        looked_for: "lines `WAIT #1: nam='…' ela= …` of a 10046 trace, or a log writer's warnings",
        is: trace::recognise,
    },
    Spec {
        kind: Kind::AwrHtml,
        name: "awr-html",
        looked_for: "an AWR or Statspack report in HTML",
        is: awr::recognise_html,
    },
    Spec {
        kind: Kind::IostatJson,
        name: "iostat-json",
        looked_for: "the JSON of `iostat -o JSON`",
        is: json_reader::is_iostat,
    },
    Spec {
        kind: Kind::FioJson,
        name: "fio-json",
        looked_for: "the JSON of fio --output-format=json or json+",
        is: json_reader::is_fio,
    },
    Spec {
        kind: Kind::Hlog,
        name: "hlog",
        looked_for: "an HdrHistogram interval log",
        is: hlog::recognise,
    },
    Spec {
        kind: Kind::PgTestFsync,
        name: "pg-test-fsync",
        looked_for: "output of pg_test_fsync",
        is: |head| listing::is(Kind::PgTestFsync, head),
    },
    Spec {
        kind: Kind::LgwrOutliers,
        name: "lgwr-outliers",
        looked_for: "a listing of V$LGWRIO_OUTLIER or X$KSFDSTLL with IO_LATENCY",
        is: |head| listing::is(Kind::LgwrOutliers, head),
    },
    Spec {
        kind: Kind::CellMetrics,
        name: "cell-metrics",
        looked_for: "metrics FL_* as CellCLI lists them",
        is: |head| listing::is(Kind::CellMetrics, head),
    },
    Spec {
        kind: Kind::RSummary,
        name: "r-summary",
        looked_for: "a summary (`Min. 1st Qu. Median …`) or t test of R",
        is: |head| listing::is(Kind::RSummary, head),
    },
    Spec {
        kind: Kind::StudyTable,
        name: "study-table",
        looked_for: "a published sweep of jobs, workers' shares or block sizes",
        is: |head| listing::is(Kind::StudyTable, head),
    },
    Spec {
        kind: Kind::Iostat,
        name: "iostat",
        looked_for: "headings `Device … w/s …` of iostat, or `DEV … tps …` of sar -d",
        is: |head| listing::is(Kind::Iostat, head),
    },
    Spec {
        kind: Kind::AwrText,
        name: "awr-text",
        looked_for: "sections of an AWR or Statspack report as text",
        is: listing::is_awr,
    },
    Spec {
        kind: Kind::Pgbench,
        name: "pgbench",
        looked_for: "the summary of pgbench (`transaction type: ...`) or its lines of progress",
        is: |head| listing::is(Kind::Pgbench, head),
    },
    Spec {
        kind: Kind::PgStats,
        name: "pg-stats",
        looked_for: "pg_stat_wal, pg_stat_io, pg_stat_bgwriter or pg_stat_checkpointer of psql",
        is: |head| listing::is(Kind::PgStats, head),
    },
    Spec {
        kind: Kind::FioText,
        name: "fio-text",
        looked_for: "jobs (`NAME: (groupid=0, jobs=1): err= 0: ...`) of fio as text",
        is: |head| listing::is(Kind::FioText, head),
    },
    Spec {
        kind: Kind::OracleCounters,
        name: "oracle-counters",
        looked_for: "a listing of v$system_event, v$sysstat or v$active_session_history",
        is: |head| listing::is(Kind::OracleCounters, head),
    },
    Spec {
        kind: Kind::HammerDb,
        name: "hammerdb",
        looked_for: "output of HammerDB (NOPM, time profile)",
        is: |head| listing::is(Kind::HammerDb, head),
    },
    Spec {
        kind: Kind::Sysbench,
        name: "sysbench",
        looked_for: "output of sysbench",
        is: |head| listing::is(Kind::Sysbench, head),
    },
    Spec {
        kind: Kind::EbpfHistogram,
        name: "ebpf-histogram",
        looked_for: "a histogram of an eBPF tool (biolatency, ext4dist, xfsdist, bpftrace)",
        is: |head| listing::is(Kind::EbpfHistogram, head),
    },
    Spec {
        kind: Kind::Diskstats,
        name: "diskstats",
        looked_for: "a copy of /proc/diskstats",
        is: |head| listing::is(Kind::Diskstats, head),
    },
    Spec {
        kind: Kind::Innodb,
        name: "innodb",
        looked_for: "InnoDB status, or variables of SHOW GLOBAL STATUS about its log",
        is: |head| listing::is(Kind::Innodb, head),
    },
    Spec {
        kind: Kind::SqlServerWaits,
        name: "sqlserver-waits",
        looked_for: "sys.dm_os_wait_stats or sys.dm_io_virtual_file_stats of SQL Server",
        is: |head| listing::is(Kind::SqlServerWaits, head),
    },
    Spec {
        kind: Kind::Prometheus,
        name: "prometheus",
        looked_for: "histograms of log syncs in the text format of Prometheus",
        is: |head| listing::is(Kind::Prometheus, head),
    },
    Spec {
        kind: Kind::EtcdLog,
        name: "etcd-log",
        looked_for: "warnings `wal: sync duration of ...` or `slow fdatasync` of etcd",
        is: |head| listing::is(Kind::EtcdLog, head),
    },
    Spec {
        kind: Kind::ServerLog,
        name: "server-log",
        looked_for: "log switches of Oracle's alert log, or checkpoints and slow commits of PostgreSQL's",
        is: |head| listing::is(Kind::ServerLog, head),
    },
    Spec {
        kind: Kind::EventHistogram,
        name: "event-histogram",
        looked_for: "WAIT_TIME_MILLI or WAIT_TIME_MICRO with WAIT_COUNT of v$event_histogram",
        is: event_histogram::recognise,
    },
    Spec {
        kind: Kind::CountElapsed,
        name: "count-elapsed",
        looked_for: "lines of `count,elapsed`",
        is: count_elapsed::recognise,
    },
    Spec {
        kind: Kind::PgbenchLog,
        name: "pgbench-log",
        looked_for: "lines of numbers of pgbench -l",
        is: pgbench_log::recognise,
    },
    Spec {
        kind: Kind::FioLog,
        name: "fio-log",
        looked_for: "lines of numbers of fio --write_lat_log, --write_bw_log or --write_hist_log",
        is: fio_log::recognise,
    },
];

impl Kind {
    /// Every kind.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().map(|s| s.kind)
    }

    /// Its name on the command line and in a run.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.spec().name
    }

    /// What is looked for in such a file.
    #[must_use]
    pub fn looked_for(self) -> &'static str {
        self.spec().looked_for
    }

    /// Whether figures are of whole lines: no table has the places of single numbers.
    pub(super) fn is_by_lines(self) -> bool {
        matches!(
            self,
            Kind::OracleTrace | Kind::CountElapsed | Kind::Hlog | Kind::FioLog | Kind::PgbenchLog
        )
    }

    fn spec(self) -> &'static Spec {
        let spec = KINDS.iter().find(|s| s.kind == self);
        spec.expect("every kind stands in the table: a test sees to it")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no kind.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{given}` is not a kind of evidence: use {known}")]
pub struct KindError {
    given: String,
    known: String,
}

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(name: &str) -> Result<Kind, KindError> {
        let found = KINDS.iter().find(|s| s.name == name);
        found.map(|s| s.kind).ok_or_else(|| KindError {
            given: name.to_owned(),
            known: names(),
        })
    }
}

/// The names of every kind.
#[must_use]
pub fn names() -> String {
    let names: Vec<&str> = KINDS.iter().map(|s| s.name).collect();
    names.join(", ")
}

/// What a file is, by its head.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RecognisedKind {
    pub(super) kind: Kind,
    /// What another program put before each of its lines.
    pub(super) prefixes: Vec<LinePrefix>,
    /// The first of these.
    pub(super) example: String,
}

impl RecognisedKind {
    fn plain(kind: Kind) -> RecognisedKind {
        RecognisedKind {
            kind,
            prefixes: Vec::new(),
            example: String::new(),
        }
    }
}

/// The kind of a file by its head.
///
/// # Errors
/// A file of another database, or one that no kind fits.
pub fn recognise(file: &str, head: &[u8]) -> Result<Kind, ImportRefusal> {
    recognise_whole(file, head).map(|found| found.kind)
}

/// The kind of a file by its head, and what is before each of its lines.
pub(super) fn recognise_whole(file: &str, head: &[u8]) -> Result<RecognisedKind, ImportRefusal> {
    let plain = blanks::plain(head);
    let head = Head { bytes: &plain };
    let not_read = |(what, instead)| ImportRefusal::NotRead {
        file: file.to_owned(),
        what,
        instead,
    };
    if let Some((what, instead)) = look_alike::of(&head) {
        // A server's log that is read has words of one that is not, also behind what grep
        // put there.
        let behind = prefixed(file, &head, true).and_then(Result::ok);
        if let Some(found) = behind.filter(|found| found.kind == Kind::ServerLog) {
            return Ok(found);
        }
        let file = file.to_owned();
        return Err(match instead {
            Some(instead) => not_read((what, instead)),
            None => ImportRefusal::LookAlike { file, what },
        });
    }
    if let Some(found) = look_alike::report(&head) {
        return Err(not_read(found));
    }
    // Its histograms may begin behind the head.
    if miner::recognise(&head) {
        return Ok(RecognisedKind::plain(Kind::EventHistogram));
    }
    if let Some(found) = look_alike::json(&head) {
        return Err(not_read(found));
    }
    if let Some(found) = prefixed(file, &head, true) {
        return found;
    }
    if let Some(spec) = KINDS.iter().find(|s| (s.is)(&head)) {
        return Ok(RecognisedKind::plain(spec.kind));
    }
    if let Some(found) = prefixed(file, &head, false) {
        return found;
    }
    if let Some(found) = tools::named(&head) {
        return Err(not_read(found));
    }
    if let Some((line, what)) = count_elapsed::malformed(&head) {
        let file = file.to_owned();
        return Err(ImportRefusal::Malformed { file, line, what });
    }
    let file = file.to_owned();
    if let Some(what) = count_elapsed::columns_of(&head) {
        return Err(ImportRefusal::Numbers { file, what });
    }
    let first = head.lines().find(|l| !l.trim_ascii().is_empty());
    let Some(line) = first else {
        return Err(ImportRefusal::Empty { file });
    };
    Err(ImportRefusal::Unknown {
        file,
        found: match archive(head.bytes) {
            Some(what) => format!("the file is {what}: unpack it, and import what is in it"),
            None => format!("the file begins with {}", quote(line)),
        },
    })
}

/// What a file is of which each line begins with what another program put there, if it is of a kind
/// behind that. Where that is doubtful it is refused with the command that cuts it off.
fn prefixed(
    file: &str,
    head: &Head<'_>,
    is_plain: bool,
) -> Option<Result<RecognisedKind, ImportRefusal>> {
    let found = prefixes::find(head, is_plain, &|rest, prefixes| {
        kind_behind(rest, prefixes)
    })?;
    let (kind, is_one) = found.behind;
    // Each line of a server's log has its own time, of whichever file it is.
    let is_of_one = |p: &LinePrefix| p.is_of_one() || kind == Kind::ServerLog;
    if is_one && found.prefixes.iter().all(is_of_one) {
        return Some(Ok(RecognisedKind {
            kind,
            example: quote(found.example.as_bytes()),
            prefixes: found.prefixes,
        }));
    }
    Some(Err(ImportRefusal::Prefixed {
        file: file.to_owned(),
        what: found.prefixes.first()?.what(),
        example: quote(found.example.as_bytes()),
        how: found.how,
        kind,
    }))
}

/// The kind of what is behind prefixes, and whether it is one: listings in lines are read together.
fn kind_behind(rest: &Head<'_>, prefixes: &[LinePrefix]) -> Option<(Kind, bool)> {
    let is_stamped = prefixes.contains(&LinePrefix::Stamp);
    // Numbers behind a stamp may be anything, and etcd's lines have stamps of their own.
    let is_open = |kind| match kind {
        Kind::CountElapsed | Kind::PgbenchLog | Kind::FioLog => false,
        Kind::EventHistogram => event_histogram::is_headed(rest),
        Kind::EtcdLog | Kind::ServerLog => !is_stamped,
        _ => true,
    };
    let mut kinds = KINDS.iter().filter(|s| (s.is)(rest)).map(|s| s.kind);
    let kind = kinds.next().filter(|kind| is_open(*kind))?;
    let is_apart = |kind: Kind| {
        let apart = [Kind::AwrHtml, Kind::IostatJson, Kind::FioJson];
        kind.is_by_lines() || apart.contains(&kind)
    };
    let is_one = match is_apart(kind) {
        true => kinds.next().is_none(),
        false => !kinds.any(is_apart),
    };
    Some((kind, is_one))
}

/// Whether a file that is known from its beginning to its end is a page that quotes lines of a
/// trace among other evidence. What has the header or the calls of a trace is one: its statements
/// may contain anything.
pub(super) fn is_page(whole: &[u8]) -> bool {
    let plain = blanks::plain(whole);
    let head = Head { bytes: &plain };
    let in_trace = |line: &[u8]| {
        ["*** ", "Trace file ", "PARSING IN CURSOR #", "END OF STMT"]
            .iter()
            .any(|begin| line.starts_with(begin.as_bytes()))
    };
    let among = [
        Kind::LgwrOutliers,
        Kind::CellMetrics,
        Kind::StudyTable,
        Kind::Iostat,
        Kind::AwrText,
        Kind::EventHistogram,
        Kind::ServerLog,
    ];
    let mut others = KINDS.iter().filter(|s| among.contains(&s.kind));
    !head.lines().any(in_trace) && others.any(|s| (s.is)(&head))
}

/// Files that hold files, and what is no text at all.
fn archive(head: &[u8]) -> Option<&'static str> {
    match head {
        [b'P', b'K', 3 | 5, 4 | 6, ..] => Some("a zip archive"),
        [b'7', b'z', 0xbc, 0xaf, ..] => Some("a 7z archive"),
        [b'%', b'P', b'D', b'F', ..] => Some("a PDF document"),
        [0x1f, 0x8b, ..] | [b'B', b'Z', b'h', ..] => Some("packed twice"),
        [0x5d, 0, 0, _, _, ..] => Some("packed with lzma (`unlzma` unpacks it)"),
        [b'L', b'Z', b'I', b'P', ..] => Some("packed with lzip"),
        [0x04, 0x22, 0x4d, 0x18, ..] => Some("packed with lz4"),
        [0x1f, 0x9d, ..] => Some("packed with compress (.Z)"),
        [b'R', b'a', b'r', b'!', ..] => Some("a rar archive"),
        _ if head.get(257..262) == Some(b"ustar") => Some("a tar archive"),
        _ => None,
    }
}

/// What is looked for in files of no stated kind: every kind, as a list that is printed once.
#[must_use]
pub fn looked_for() -> String {
    let each = KINDS
        .iter()
        .map(|s| format!("\n  {:<16} {}", s.name, s.looked_for));
    format!("redolab looked for:{}", each.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_stands_in_the_table_once() {
        for kind in Kind::all() {
            assert_eq!(KINDS.iter().filter(|s| s.kind == kind).count(), 1);
            assert_eq!(kind.name().parse::<Kind>(), Ok(kind));
        }
        assert!("x".parse::<Kind>().is_err());
    }

    #[test]
    fn what_no_kind_fits_says_what_was_looked_for() {
        for (head, word) in [
            (&b"\n \nhello\x1b[2J"[..], "`hello"),
            (b"PK\x03\x04", "zip"),
        ] {
            let refused = recognise("f.txt", head)
                .expect_err("fits nothing")
                .to_string();
            assert!(
                refused.contains(word) && refused.contains("--kind"),
                "{refused}"
            );
            assert!(
                !refused.contains('\x1b') && refused.len() < 200,
                "{refused}"
            );
        }
        for empty in [&b""[..], b"\n \r\n"] {
            let refused = recognise("f.txt", empty).expect_err("contains nothing");
            assert_eq!(refused.to_string(), "f.txt: the file is empty");
        }
        assert!(KINDS.iter().all(|s| looked_for().contains(s.looked_for)));
    }
}
