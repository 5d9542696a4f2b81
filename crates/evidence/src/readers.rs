//! The readers, one arm a kind: adding one adds an arm here and a line in [`super::kind`].

use super::gathered::Ended;
use super::{
    Gathered, Kind, Options, Sink, awr, count_elapsed, event_histogram, hlog, json_reader, listing,
    trace,
};

/// The reader of a file.
#[derive(Debug)]
pub enum Reader {
    /// A 10046 trace.
    OracleTrace(Box<trace::Reader>),
    /// Listings of `v$event_histogram`.
    EventHistogram(Box<event_histogram::Reader>),
    /// `count,elapsed`.
    CountElapsed(Box<count_elapsed::Reader>),
    /// A report of AWR or Statspack in HTML.
    AwrHtml(Box<awr::Reader>),
    /// Evidence in lines, of the kind that was recognised or asked for.
    Listing(Kind, Box<listing::Reader>),
    /// Evidence in JSON.
    Json(Kind, Box<json_reader::Reader>),
    /// An HdrHistogram interval log.
    Hlog(Box<hlog::Reader>),
}

impl Reader {
    /// The reader of a kind, for the file of that name.
    #[must_use]
    pub fn new(kind: Kind, options: &Options, file: &str) -> Reader {
        match kind {
            Kind::OracleTrace => Reader::OracleTrace(Box::new(trace::Reader::new(options, file))),
            Kind::EventHistogram => {
                Reader::EventHistogram(Box::new(event_histogram::Reader::new(options, file)))
            }
            Kind::CountElapsed => {
                Reader::CountElapsed(Box::new(count_elapsed::Reader::new(options, file)))
            }
            Kind::AwrHtml => Reader::AwrHtml(Box::new(awr::Reader::new(options, file))),
            Kind::IostatJson | Kind::FioJson => Reader::Json(
                kind,
                Box::new(json_reader::Reader::new(kind, options, file)),
            ),
            Kind::Hlog => Reader::Hlog(Box::new(hlog::Reader::new(options, file))),
            Kind::AwrText
            | Kind::Iostat
            | Kind::LgwrOutliers
            | Kind::CellMetrics
            | Kind::RSummary
            | Kind::PgTestFsync
            | Kind::StudyTable => {
                Reader::Listing(kind, Box::new(listing::Reader::new(options, file)))
            }
        }
    }

    /// What it reads.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Reader::OracleTrace(_) => Kind::OracleTrace,
            Reader::EventHistogram(_) => Kind::EventHistogram,
            Reader::CountElapsed(_) => Kind::CountElapsed,
            Reader::AwrHtml(_) => Kind::AwrHtml,
            Reader::Listing(kind, _) | Reader::Json(kind, _) => *kind,
            Reader::Hlog(_) => Kind::Hlog,
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        match self {
            Reader::OracleTrace(r) => r.feed(text, sink),
            Reader::EventHistogram(r) => r.feed(text, sink),
            Reader::CountElapsed(r) => r.feed(text, sink),
            Reader::AwrHtml(r) => r.feed(text, sink),
            Reader::Listing(_, r) => r.feed(text, sink),
            Reader::Json(_, r) => r.feed(text, sink),
            Reader::Hlog(r) => r.feed(text, sink),
        }
    }

    /// Ends the file, and gives what it held.
    pub fn end(self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        match self {
            Reader::OracleTrace(r) => r.end(sink, out),
            Reader::EventHistogram(r) => r.end(sink, out),
            Reader::CountElapsed(r) => r.end(sink, out),
            Reader::AwrHtml(r) => r.end(sink, out),
            Reader::Listing(_, r) => r.end(sink, out),
            Reader::Json(_, r) => r.end(sink, out),
            Reader::Hlog(r) => r.end(sink, out),
        }
    }
}
