//! What the user decides about an import: the kind of its files, the time zone of a source.
//!
//! What it must not know: how a kind is recognised (`kind`) and read (`readers`).

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Oracle's extended SQL trace, and what log writers write into theirs.
    OracleTrace,
    /// Listings of `v$event_histogram`.
    EventHistogram,
    /// `count,elapsed`, as the script of study 000 writes.
    CountElapsed,
    /// A report of AWR or Statspack in HTML.
    AwrHtml,
    /// A report of AWR or Statspack as text, or a passage of one.
    AwrText,
    /// Output of sysstat's `iostat`.
    Iostat,
    /// The same as JSON.
    IostatJson,
    /// fio's JSON or JSON+.
    FioJson,
    /// Output of `pg_test_fsync`.
    PgTestFsync,
    /// An HdrHistogram interval log.
    Hlog,
    /// `V$LGWRIO_OUTLIER` or `X$KSFDSTLL`.
    LgwrOutliers,
    /// Metrics of a cell's flash log.
    CellMetrics,
    /// Output of `pgbench`.
    Pgbench,
    /// A log of `pgbench -l`.
    PgbenchLog,
    /// Views of PostgreSQL's statistics, as `psql` prints them.
    PgStats,
    /// fio's text for people.
    FioText,
    /// A log of fio: latencies, bandwidth, IOPS or bins of latencies.
    FioLog,
    /// Listings of `v$system_event`, `v$sysstat` and `v$active_session_history`.
    OracleCounters,
    /// Output of HammerDB.
    HammerDb,
    /// Output of sysbench.
    Sysbench,
    /// Histograms of eBPF tools.
    EbpfHistogram,
    /// Copies of `/proc/diskstats`.
    Diskstats,
    /// InnoDB status and status variables.
    Innodb,
    /// Statistics of waits and of files of SQL Server.
    SqlServerWaits,
    /// Histograms in Prometheus text.
    Prometheus,
    /// Warnings of etcd about slow syncs of its log.
    EtcdLog,
    /// Logs of a database's server: Oracle's alert log, PostgreSQL's log.
    ServerLog,
    /// R's `summary` and `t.test`.
    RSummary,
    /// A table of a published study.
    StudyTable,
}

/// What the user decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What the files are; `None` recognises each from its content.
    pub kind: Option<Kind>,
    /// Statements and bind values are replaced before they are kept anywhere.
    pub redact_sql: bool,
    /// Nanoseconds of the unit of `ela` in traces, against whatever their headers say.
    pub ela_unit_ns: Option<u64>,
    /// The wait whose every value is kept for `count,elapsed`, by the evidence's own name.
    pub samples_of: Option<String>,
    /// The distributions of traced waits are kept beside their series, so that they can be added.
    pub keeps_distributions: bool,
    /// Offsets from UTC of sources whose times have none.
    pub utc_offsets: Vec<SourceOffset>,
}

/// The offset from UTC of a source, as the user states it: `lg00.trc=+02:00`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOffset {
    /// The file as the user named it, or its name without folders.
    pub source: String,
    /// Minutes east of UTC.
    pub minutes: i32,
}

/// A stated offset that cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{given}` is not an offset of a source: write SOURCE=+02:00, SOURCE=-05:30 or SOURCE=Z")]
pub struct SourceOffsetError {
    given: String,
}

impl SourceOffset {
    /// Whether it is of the file of that name.
    #[must_use]
    pub fn is_of(&self, file: &str) -> bool {
        let last = file.rsplit(['/', '\\']).next();
        self.source == file || last == Some(self.source.as_str())
    }
}

impl fmt::Display for SourceOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.minutes < 0 { '-' } else { '+' };
        let minutes = self.minutes.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

impl FromStr for SourceOffset {
    type Err = SourceOffsetError;

    fn from_str(given: &str) -> Result<SourceOffset, SourceOffsetError> {
        let parsed = given.rsplit_once('=').and_then(|(source, offset)| {
            let minutes = minutes(offset).filter(|_| !source.is_empty())?;
            let source = source.to_owned();
            Some(SourceOffset { source, minutes })
        });
        let given = given.to_owned();
        parsed.ok_or(SourceOffsetError { given })
    }
}

/// Minutes of `+02:00`, `-05:30` or `Z`; zones are from -12:00 to +14:00.
fn minutes(offset: &str) -> Option<i32> {
    if offset == "Z" {
        return Some(0);
    }
    let (sign, rest) = match offset.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, offset.strip_prefix('+')?),
    };
    let (hours, minutes) = rest.split_once(':')?;
    let two = |text: &str| {
        let is_two = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        text.parse::<i32>().ok().filter(|_| is_two)
    };
    let minutes = two(hours)? * 60 + two(minutes).filter(|m| *m < 60)?;
    Some(sign * minutes).filter(|m| (-12 * 60..=14 * 60).contains(m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_whole_or_not_at_all() {
        for (text, source, minutes, shown) in [
            ("lg00.trc=+02:00", "lg00.trc", 120, "+02:00"),
            ("a=b.trc=-05:30", "a=b.trc", -330, "-05:30"),
            ("x=Z", "x", 0, "+00:00"),
            ("x=+14:00", "x", 840, "+14:00"),
        ] {
            let read: SourceOffset = text.parse().expect(text);
            assert_eq!((read.source.as_str(), read.minutes), (source, minutes));
            assert_eq!(read.to_string(), shown);
        }
        for text in [
            "+02:00", "=+02:00", "x=2", "x=+2:00", "x=+02:60", "x=-12:30", "x=+15:00", "x=+0200",
        ] {
            assert!(text.parse::<SourceOffset>().is_err(), "{text}");
        }
        let offset: SourceOffset = "lg00.trc=Z".parse().expect("an offset");
        assert!(
            offset.is_of("a/lg00.trc") && offset.is_of("lg00.trc") && !offset.is_of("xlg00.trc")
        );
    }
}
