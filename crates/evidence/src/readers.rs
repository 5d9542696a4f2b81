//! The readers, one arm a kind: adding one adds an arm here and a line in [`super::kind`].

use super::gathered::Ended;
use super::{
    Gathered, Kind, Options, Sink, awr, count_elapsed, event_histogram, fio_log, hlog, json_reader,
    listing, pgbench_log, trace,
};

/// The reader of a file.
#[derive(Debug)]
pub enum KindReader {
    /// A 10046 trace.
    OracleTrace(Box<trace::TraceReader>),
    /// Listings of `v$event_histogram`.
    EventHistogram(Box<event_histogram::HistogramReader>),
    /// `count,elapsed`.
    CountElapsed(Box<count_elapsed::CountElapsedReader>),
    /// A report of AWR or Statspack in HTML.
    AwrHtml(Box<awr::AwrReader>),
    /// Evidence in lines, of the kind that was recognised or asked for.
    Listing(Kind, Box<listing::ListingReader>),
    /// Evidence in JSON.
    Json(Kind, Box<json_reader::JsonReader>),
    /// A log of `pgbench -l`.
    PgbenchLog(Box<pgbench_log::PgbenchLogReader>),
    /// A log of fio.
    FioLog(Box<fio_log::FioLogReader>),
    /// An HdrHistogram interval log.
    Hlog(Box<hlog::HlogReader>),
    /// A page with lines of traces among other evidence.
    Page(Box<PageReader>),
}

/// Reads a page twice: its lines of traces, and everything else.
#[derive(Debug)]
pub struct PageReader {
    trace: trace::TraceReader,
    listing: listing::ListingReader,
}

impl KindReader {
    /// The reader of a kind, for the file of that name.
    #[must_use]
    pub fn new(kind: Kind, options: &Options, file: &str) -> KindReader {
        match kind {
            Kind::OracleTrace => {
                KindReader::OracleTrace(Box::new(trace::TraceReader::new(options, file)))
            }
            Kind::EventHistogram => KindReader::EventHistogram(Box::new(
                event_histogram::HistogramReader::new(options, file),
            )),
            Kind::CountElapsed => KindReader::CountElapsed(Box::new(
                count_elapsed::CountElapsedReader::new(options, file),
            )),
            Kind::AwrHtml => KindReader::AwrHtml(Box::new(awr::AwrReader::new(options, file))),
            Kind::IostatJson | Kind::FioJson => KindReader::Json(
                kind,
                Box::new(json_reader::JsonReader::new(kind, options, file)),
            ),
            Kind::Hlog => KindReader::Hlog(Box::new(hlog::HlogReader::new(options, file))),
            Kind::PgbenchLog => {
                KindReader::PgbenchLog(Box::new(pgbench_log::PgbenchLogReader::new(options, file)))
            }
            Kind::FioLog => KindReader::FioLog(Box::new(fio_log::FioLogReader::new(options, file))),
            Kind::AwrText
            | Kind::Iostat
            | Kind::LgwrOutliers
            | Kind::CellMetrics
            | Kind::RSummary
            | Kind::PgTestFsync
            | Kind::Pgbench
            | Kind::Prometheus
            | Kind::EtcdLog
            | Kind::SqlServerWaits
            | Kind::Innodb
            | Kind::Diskstats
            | Kind::EbpfHistogram
            | Kind::Sysbench
            | Kind::HammerDb
            | Kind::OracleCounters
            | Kind::PgStats
            | Kind::FioText
            | Kind::StudyTable => {
                KindReader::Listing(kind, Box::new(listing::ListingReader::new(options, file)))
            }
        }
    }

    /// The reader of a page with lines of traces among other evidence.
    #[must_use]
    pub fn of_page(options: &Options, file: &str) -> KindReader {
        KindReader::Page(Box::new(PageReader {
            trace: trace::TraceReader::new(options, file),
            listing: listing::ListingReader::new(options, file),
        }))
    }

    /// What it reads.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            KindReader::OracleTrace(_) | KindReader::Page(_) => Kind::OracleTrace,
            KindReader::EventHistogram(_) => Kind::EventHistogram,
            KindReader::CountElapsed(_) => Kind::CountElapsed,
            KindReader::AwrHtml(_) => Kind::AwrHtml,
            KindReader::Listing(kind, _) | KindReader::Json(kind, _) => *kind,
            KindReader::Hlog(_) => Kind::Hlog,
            KindReader::PgbenchLog(_) => Kind::PgbenchLog,
            KindReader::FioLog(_) => Kind::FioLog,
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        match self {
            KindReader::OracleTrace(r) => r.feed(text, sink),
            KindReader::EventHistogram(r) => r.feed(text, sink),
            KindReader::CountElapsed(r) => r.feed(text, sink),
            KindReader::AwrHtml(r) => r.feed(text, sink),
            KindReader::Listing(_, r) => r.feed(text, sink),
            KindReader::Json(_, r) => r.feed(text, sink),
            KindReader::Hlog(r) => r.feed(text, sink),
            KindReader::PgbenchLog(r) => r.feed(text, sink),
            KindReader::FioLog(r) => r.feed(text, sink),
            KindReader::Page(r) => {
                r.trace.feed(text, sink);
                r.listing.feed(text, sink);
            }
        }
    }

    /// Ends the file, and gives what it held.
    pub fn end(self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        match self {
            KindReader::OracleTrace(r) => r.end(sink, out),
            KindReader::EventHistogram(r) => r.end(sink, out),
            KindReader::CountElapsed(r) => r.end(sink, out),
            KindReader::AwrHtml(r) => r.end(sink, out),
            KindReader::Listing(_, r) => r.end(sink, out),
            KindReader::Json(_, r) => r.end(sink, out),
            KindReader::Hlog(r) => r.end(sink, out),
            KindReader::PgbenchLog(r) => r.end(sink, out),
            KindReader::FioLog(r) => r.end(sink, out),
            KindReader::Page(r) => {
                let mut ended = r.trace.end(sink, out);
                ended.facts.extend(r.listing.end(sink, out).facts);
                ended
            }
        }
    }
}
