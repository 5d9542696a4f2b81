//! The readers, one arm a kind; of evidence in lines all are [`super::listing`]'s. Adding a kind
//! adds a line in [`super::kind`].

use super::count_elapsed::CountElapsedReader;
use super::event_histogram::HistogramLines;
use super::fio_log::FioLogReader;
use super::gathered::Ended;
use super::hlog::HlogReader;
use super::line_reader::LineFile;
use super::listing::ListingReader;
use super::pgbench_log::PgbenchLogReader;
use super::{Gathered, Kind, Options, Sink, awr, json_reader, trace};

/// The reader of a file.
#[derive(Debug)]
pub enum KindReader {
    /// A 10046 trace.
    OracleTrace(Box<trace::TraceReader>),
    /// A report of AWR or Statspack in HTML.
    AwrHtml(Box<awr::AwrReader>),
    /// Evidence in lines, of the kind that was recognised or asked for.
    Lines(Kind, LineFile),
    /// Evidence in JSON.
    Json(Kind, Box<json_reader::JsonReader>),
    /// A page with lines of traces among other evidence.
    Page(Box<PageReader>),
}

/// Reads a page twice: its lines of traces, and everything else.
#[derive(Debug)]
pub struct PageReader {
    trace: trace::TraceReader,
    listing: LineFile,
}

impl KindReader {
    /// The reader of a kind, for the file of that name.
    #[must_use]
    pub fn new(kind: Kind, options: &Options, file: &str) -> KindReader {
        let lines = match kind {
            Kind::OracleTrace => {
                return KindReader::OracleTrace(Box::new(trace::TraceReader::new(options, file)));
            }
            Kind::AwrHtml => {
                return KindReader::AwrHtml(Box::new(awr::AwrReader::new(options, file)));
            }
            Kind::IostatJson | Kind::FioJson => {
                let reader = json_reader::JsonReader::new(kind, options, file);
                return KindReader::Json(kind, Box::new(reader));
            }
            Kind::EventHistogram => LineFile::of(HistogramLines::new(file, false)),
            Kind::CountElapsed => LineFile::of(CountElapsedReader::new(file)),
            Kind::Hlog => LineFile::of(HlogReader::new(file)),
            Kind::PgbenchLog => LineFile::of(PgbenchLogReader::new(file)),
            Kind::FioLog => LineFile::of(FioLogReader::new(file)),
            _ => LineFile::of(ListingReader::new(options, file)),
        };
        KindReader::Lines(kind, lines)
    }

    /// The reader of a page with lines of traces among other evidence.
    #[must_use]
    pub fn of_page(options: &Options, file: &str) -> KindReader {
        KindReader::Page(Box::new(PageReader {
            trace: trace::TraceReader::new(options, file),
            listing: LineFile::of(ListingReader::new(options, file)),
        }))
    }

    /// What it reads.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            KindReader::OracleTrace(_) | KindReader::Page(_) => Kind::OracleTrace,
            KindReader::AwrHtml(_) => Kind::AwrHtml,
            KindReader::Lines(kind, _) | KindReader::Json(kind, _) => *kind,
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        match self {
            KindReader::OracleTrace(r) => r.feed(text, sink),
            KindReader::AwrHtml(r) => r.feed(text, sink),
            KindReader::Lines(_, r) => r.feed(text, sink),
            KindReader::Json(_, r) => r.feed(text, sink),
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
            KindReader::AwrHtml(r) => r.end(sink, out),
            KindReader::Lines(_, r) => r.end(sink, out),
            KindReader::Json(_, r) => r.end(sink, out),
            KindReader::Page(r) => {
                let mut ended = r.trace.end(sink, out);
                ended.facts.extend(r.listing.end(sink, out).facts);
                ended
            }
        }
    }
}
