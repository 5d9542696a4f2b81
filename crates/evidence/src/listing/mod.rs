//! Evidence in lines: reports as text, `iostat`, listings of SQL*Plus and CellCLI, output of R,
//! `pg_test_fsync`, tables of published studies. Files often hold several of these (a mail, a page,
//! a session's spool), so each line is offered to all; each takes what is its own.
//!
//! A line that is longer than `LINE_MAX` is none of a listing and is left out.

mod alert_log;
mod block_size;
mod cell_metrics;
mod diskstats;
mod ebpf;
mod etcd_log;
mod fio_text;
mod fio_words;
mod hammerdb;
mod innodb;
mod innodb_files;
mod iostat;
mod iostat_columns;
mod iostat_devices;
mod iostat_stamps;
mod oracle_counters;
mod oracle_figures;
mod oracle_layout;
mod outliers;
mod pg_test_fsync;
mod pgbench;
mod postgres_log;
mod prometheus;
mod psql;
mod said;
mod sqlserver_waits;
mod sysbench;

pub use iostat::IostatSamples;
pub use iostat_columns::{IostatValue, reading as iostat_reading};
pub use said::{LOG_DEVICE, log_device, said_in};

use super::awr::ruled::TITLE;
use super::awr::text::{Text, heads_profile};
use super::awr::{delimited, give::ReportFigures, lists_statements, views};
use super::blanks;
use super::event_histogram::HistogramLines;
use super::head::Head;
use super::line_reader::{Facts, LineReader};
use super::lines::Line;
use super::published::{self, Published};
use super::sheets::Sheets;
use super::{Gathered, Kind, Options, Sink};
use measure::imported::Severity;

/// Bytes of a line of a listing.
const LINE_MAX: usize = 4096;

/// Whether the head is a report of AWR or Statspack as text, or a passage of one.
pub(super) fn is_awr(head: &Head<'_>) -> bool {
    let title = ["WORKLOAD REPOSITORY", "STATSPACK report", "AWR Report"];
    if title.iter().any(|t| head.has(t)) {
        return true;
    }
    lines(head).any(|line| {
        let line = line.trim();
        let begins = [
            "Load Profile",
            "Foreground Wait Events",
            "Background Wait Events",
        ];
        begins.iter().any(|b| line.starts_with(b))
            || line.starts_with("Event Waits ")
            || (line.starts_with("I# ") && line.contains(" Event ") && line.contains(" Waits "))
            || delimited::opens(line) && !views::opens(line, false)
            || heads_profile(line)
            || (line.starts_with("Event ")
                && line.contains(" Waits ")
                && (line.contains("Time") || line.contains(" <")))
            || matches!(line, "Function Name" | "Filetype Name" | "Host CPU")
            || (line.starts_with("Function Name") && line.contains("Data"))
            || (line.starts_with("Filetype Name") && line.contains("Data"))
            || (line.contains("Data/Sec") && line.contains("Reqs/Sec"))
            || (line.starts_with("Statistic ") && line.contains("Total"))
    })
}

/// Whether the head is evidence in lines of that kind: one of them begins it.
pub(super) fn is(kind: Kind, head: &Head<'_>) -> bool {
    let opens: fn(&str) -> bool = match kind {
        Kind::Iostat => iostat_columns::is_heading,
        Kind::LgwrOutliers => outliers::opens,
        Kind::CellMetrics => cell_metrics::is_metric,
        Kind::RSummary => published::opens_r_summary,
        Kind::PgTestFsync => pg_test_fsync::opens,
        Kind::Pgbench => pgbench::opens,
        Kind::PgStats => psql::opens,
        Kind::FioText => fio_text::opens,
        Kind::OracleCounters => |l| oracle_counters::opens(l) || views::opens(l, true),
        Kind::HammerDb => hammerdb::opens,
        Kind::Sysbench => sysbench::opens,
        Kind::EbpfHistogram => ebpf::opens,
        Kind::Diskstats => diskstats::opens,
        Kind::Innodb => innodb::opens,
        Kind::SqlServerWaits => |l| sqlserver_waits::opens(l) || views::opens(l, false),
        Kind::Prometheus => prometheus::opens,
        Kind::EtcdLog => etcd_log::opens,
        Kind::ServerLog => |l| alert_log::opens(l) || postgres_log::opens(l),
        Kind::StudyTable => {
            |l| published::opens_study(l) || published::opens_platforms(l) || block_size::opens(l)
        }
        _ => return false,
    };
    let is_wrapped = || kind == Kind::OracleCounters && oracle_counters::opens_wrapped(lines(head));
    lines(head).any(|l| opens(&l)) || is_wrapped()
}

fn lines<'a>(head: &Head<'a>) -> impl Iterator<Item = std::borrow::Cow<'a, str>> + use<'a> {
    let short = head.lines().filter(|l| l.len() <= LINE_MAX);
    short.map(String::from_utf8_lossy)
}

/// Reads one file.
#[derive(Debug, Default)]
pub struct ListingReader {
    file: String,
    sheets: Sheets,
    give: ReportFigures,
    report: Text,
    statements: StatementList,
    /// What the report called the table before the line.
    label: String,
    iostat: iostat::IostatSamples,
    outliers: outliers::Outliers,
    metrics: cell_metrics::Metrics,
    fsync: pg_test_fsync::Tests,
    blocks: block_size::Sizes,
    pgbench: pgbench::PgbenchOutput,
    psql: psql::PsqlListings,
    fio: fio_text::FioText,
    counters: oracle_counters::OracleCounters,
    hammerdb: hammerdb::HammerDbOutput,
    sysbench: sysbench::SysbenchOutput,
    ebpf: ebpf::EbpfHistograms,
    diskstats: diskstats::DiskstatsCopies,
    innodb: innodb::InnodbOutput,
    sqlserver: sqlserver_waits::SqlServerWaits,
    prometheus: prometheus::PrometheusHistograms,
    etcd: etcd_log::EtcdLog,
    alert: alert_log::AlertLog,
    postgres: postgres_log::PostgresLog,
    published: Published,
    histograms: HistogramLines,
    said: said::SaidBeside,
    asked: AskedKind,
}

/// Rows of the kind that was asked for, among those of all kinds that a file has.
#[derive(Debug, Default)]
struct AskedKind {
    kind: Option<Kind>,
    /// Rows of that kind.
    rows: u64,
    /// Rows of all kinds that were attributed.
    seen: u64,
}

impl AskedKind {
    /// The rows since the last time are of these kinds.
    fn took(&mut self, kinds: &[Kind], sheets: &Sheets) {
        if self.kind.is_some_and(|kind| kinds.contains(&kind)) {
            // A row may be taken back.
            self.rows = (self.rows + sheets.found).saturating_sub(self.seen);
        }
        self.seen = sheets.found;
    }

    /// A kind was asked for, and the file has none of it.
    fn is_missing(&self) -> bool {
        self.kind.is_some() && self.rows == 0
    }
}

/// Whether the lines are in a list of SQL statements of a report: most of its bytes, and of no
/// reader. Such a list has a title with the database, and ends with a rule of its own.
#[derive(Debug, Default)]
struct StatementList {
    is_open: bool,
}

impl StatementList {
    /// Takes a line; whether it is within such a list.
    fn takes(&mut self, line: &[u8]) -> bool {
        /// Dashes of the rule that ends a section; those of columns are in groups.
        const RULE_MIN: usize = 20;
        if TITLE.is_in(line) {
            self.is_open = lists_statements(line.trim_ascii_start());
            return false;
        }
        let inner = line.trim_ascii();
        let is_rule = || inner.len() >= RULE_MIN && inner.iter().all(|b| *b == b'-');
        if self.is_open && line.first() == Some(&b' ') && is_rule() {
            self.is_open = false;
        }
        self.is_open
    }
}

impl ListingReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(options: &Options, file: &str) -> ListingReader {
        ListingReader {
            file: file.to_owned(),
            sheets: Sheets::new(file),
            psql: psql::PsqlListings::new(file),
            counters: oracle_counters::OracleCounters::new(file),
            innodb: innodb::InnodbOutput::new(file),
            sqlserver: sqlserver_waits::SqlServerWaits::new(file),
            prometheus: prometheus::PrometheusHistograms::new(file),
            histograms: HistogramLines::new(file, true),
            asked: AskedKind {
                kind: options.kind,
                ..AskedKind::default()
            },
            ..ListingReader::default()
        }
    }
}

impl LineReader for ListingReader {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let n = line.number;
        if line.cut || line.bytes.len() > LINE_MAX {
            sink.notes.add(
                Severity::Warning,
                "listing.long_line",
                Some(n),
                None,
                || format!("a line of over {LINE_MAX} bytes is not part of a listing: left out"),
            );
            return;
        }
        if self.statements.takes(line.bytes) {
            sink.notes.lines.line(n, line.bytes);
            return;
        }
        let plain = blanks::plain(line.bytes);
        let whole = Line {
            bytes: &plain,
            ..line
        };
        sink.notes.lines.line(n, &plain);
        self.histograms.line(whole, sink);
        let text = &*String::from_utf8_lossy(&plain);
        self.said.line(text, n);
        let (sheets, notes) = (&mut self.sheets, &mut sink.notes);
        let asked = &mut self.asked;
        if self.label != self.report.label() {
            self.report.label().clone_into(&mut self.label);
        }
        self.report.line(text, n, &mut self.give, sheets, notes);
        asked.took(&[Kind::AwrText], sheets);
        self.iostat.line(text, n, &self.label, sheets, notes);
        asked.took(&[Kind::Iostat], sheets);
        self.outliers.line(text, n, sheets, notes);
        asked.took(&[Kind::LgwrOutliers], sheets);
        self.metrics.line(text, n, sheets);
        asked.took(&[Kind::CellMetrics], sheets);
        self.fsync.line(text, n, sheets, notes);
        asked.took(&[Kind::PgTestFsync], sheets);
        self.blocks.line(text, n, sheets);
        asked.took(&[Kind::StudyTable], sheets);
        self.pgbench.line(text, n, sheets);
        asked.took(&[Kind::Pgbench], sheets);
        self.psql.line(text, n, sheets, notes);
        asked.took(&[Kind::PgStats], sheets);
        self.fio.line(text, n, sheets, notes);
        asked.took(&[Kind::FioText], sheets);
        self.counters.line(text, n, sheets, notes);
        asked.took(&[Kind::OracleCounters], sheets);
        self.hammerdb.line(text, n, sheets);
        asked.took(&[Kind::HammerDb], sheets);
        self.sysbench.line(text, n, sheets, notes);
        asked.took(&[Kind::Sysbench], sheets);
        self.ebpf.line(text, n, sheets, notes);
        asked.took(&[Kind::EbpfHistogram], sheets);
        self.diskstats.line(text, n, sheets, notes);
        asked.took(&[Kind::Diskstats], sheets);
        self.innodb.line(text, n, sheets);
        asked.took(&[Kind::Innodb], sheets);
        self.sqlserver.line(text, n, sheets, notes);
        asked.took(&[Kind::SqlServerWaits], sheets);
        self.prometheus.line(text, n, sheets);
        asked.took(&[Kind::Prometheus], sheets);
        self.etcd.line(text, n, sheets);
        asked.took(&[Kind::EtcdLog], sheets);
        self.alert.line(text, n);
        self.postgres.line(text, n, sheets);
        asked.took(&[Kind::ServerLog], sheets);
        self.published.line(text, n, sheets, notes);
        asked.took(&[Kind::RSummary, Kind::StudyTable], sheets);
    }

    fn end(mut self: Box<Self>, _lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts {
        let (sheets, notes) = (&mut self.sheets, &mut sink.notes);
        let (asked, before) = (&mut self.asked, out.mark());
        self.report.end(&mut self.give, sheets, notes);
        asked.took(&[Kind::AwrText], sheets);
        self.iostat.end(sheets, notes);
        asked.took(&[Kind::Iostat], sheets);
        self.metrics.end(sheets);
        asked.took(&[Kind::CellMetrics], sheets);
        self.outliers.end(notes);
        self.pgbench.end(sheets);
        asked.took(&[Kind::Pgbench], sheets);
        self.psql.end(sheets, notes);
        asked.took(&[Kind::PgStats], sheets);
        self.fio.end(sheets);
        asked.took(&[Kind::FioText], sheets);
        self.diskstats.end(notes);
        self.etcd.end(sheets);
        self.alert.end(sheets);
        asked.took(&[Kind::ServerLog], sheets);
        out.counters.append(&mut self.psql.listings);
        self.counters.end(notes);
        out.counters.append(&mut self.counters.listings);
        self.innodb.end(sheets);
        asked.took(&[Kind::Innodb], sheets);
        out.counters.append(&mut self.innodb.listings);
        out.counters.append(&mut self.sqlserver.listings);
        out.counters.append(&mut self.prometheus.listings);
        self.published.end(sheets, notes, out);
        asked.took(&[Kind::RSummary, Kind::StudyTable], sheets);
        self.histograms.end(out);
        let mut facts = self.give.end(&self.file, sheets, notes, out);
        asked.took(&[Kind::AwrText], sheets);
        if asked.is_missing() {
            out.take_back(before);
            return Vec::new();
        }
        facts.append(&mut self.iostat.facts);
        let said = self.said.devices();
        out.log_devices
            .extend(said.map(|(device, line)| (device, self.file.clone(), line)));
        facts.extend(self.said.facts());
        out.yielded += sheets.found;
        out.tables.extend(self.sheets.into_tables(notes));
        facts
    }
}
