//! Oracle's extended SQL trace (event 10046), of every release from 8i on and of every process: log
//! writer, its workers, foregrounds, and merges of several.
//!
//! ```text
//! chunks ─► blocks of whole lines ─► scan, group (any thread) ─► merge, join (in order) ─► give
//! ```
//! `scan::scan` knows one block, `merge::Merge` knows the file. A block is scanned as if it
//! began between records; where the block before it ended inside a statement it is scanned again.
//! Where processes take turns `group` sorts a block's waits and `join` takes them sorted.
//!
//! The unit of `ela` is the release's: centiseconds until 8i, microseconds since 9i. Where neither
//! a header nor anything that only newer releases write shows the release, microseconds are taken
//! and an error says so.

mod cell;
mod give;
mod group;
mod header;
mod join;
mod mark;
mod merge;
mod mixer;
mod scan;
mod text;
mod wait;

pub(crate) use header::stamp;
pub use scan::Scanned;

use super::gathered::Ended;
use super::head::Head;
use super::lines::LineBlocks;
use super::{Gathered, Options, Sink};
use measure::imported::Severity;
use merge::Merge;
use text::TraceMode;

/// Whether the head of a file is a trace, or what log writers write into theirs.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    head.lines().any(|line| {
        let line = line.trim_ascii_start();
        let is_wait = line.starts_with(wait::WAIT) && wait::tolerant(line).is_ok();
        is_wait
            || line.starts_with(b"PARSING IN CURSOR #")
            || line.starts_with(b"Warning: log write ")
            || header::ADAPTIVE
                .iter()
                .any(|a| line.starts_with(a.as_bytes()))
            || (line.starts_with(b"*** SESSION ID:(") && line.contains(&b')'))
            || (line.starts_with(b"Trace file ") && head.has("Oracle"))
            || (text::is_call(line) && line.contains(&b'#') && has_tim(line))
    })
}

fn has_tim(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"tim=").is_some()
}

/// Reads one file.
#[derive(Debug)]
pub struct TraceReader {
    file: String,
    redact: bool,
    keeps: bool,
    blocks: LineBlocks,
    block: Vec<u8>,
    scanned: Scanned,
    mode: TraceMode,
    merge: Merge,
}

/// Scans a block of whole lines into `out`, whatever stands before it; for [`TraceReader::absorb`].
/// What `out` held is forgotten, and its memory used again.
pub fn scan(block: &[u8], out: &mut Scanned) {
    scan::scan(block, TraceMode::Records, out);
    out.groups.fill(&out.waits, &out.marks);
}

impl TraceReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(options: &Options, file: &str) -> TraceReader {
        TraceReader {
            file: file.to_owned(),
            redact: options.redact_sql,
            keeps: options.keeps_distributions,
            blocks: LineBlocks::default(),
            block: Vec::new(),
            scanned: Scanned::default(),
            mode: TraceMode::Records,
            merge: Merge::new(options.ela_unit_ns),
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], sink: &mut Sink) {
        let mut block = std::mem::take(&mut self.block);
        self.cut(text, &mut block);
        if !block.is_empty() {
            self.scan_here(&block, sink);
        }
        self.block = block;
    }

    /// Cuts a chunk into a block of whole lines, to be scanned anywhere and absorbed in order.
    pub fn cut(&mut self, chunk: &[u8], block: &mut Vec<u8>) {
        self.blocks.feed(chunk, block);
    }

    /// Takes the next block and what [`scan`] found in it.
    pub fn absorb(&mut self, block: &[u8], scanned: &mut Scanned, sink: &mut Sink) {
        if self.mode == TraceMode::Records {
            self.take(scanned, sink);
        } else {
            // The block before ended in a statement.
            self.scan_here(block, sink);
        }
    }

    fn scan_here(&mut self, block: &[u8], sink: &mut Sink) {
        let mut scanned = std::mem::take(&mut self.scanned);
        scan::scan(block, std::mem::take(&mut self.mode), &mut scanned);
        self.take(&mut scanned, sink);
        self.scanned = scanned;
    }

    fn take(&mut self, scanned: &mut Scanned, sink: &mut Sink) {
        self.mode = std::mem::take(&mut scanned.exit);
        if self.redact {
            scanned.odd.iter_mut().for_each(|odd| odd.text.clear());
        }
        self.merge.absorb(scanned, sink);
    }

    /// Ends the file.
    pub fn end(mut self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        let rest = self.blocks.end();
        if !rest.is_empty() {
            self.scan_here(&rest, sink);
        }
        if let Some(held) = std::mem::take(&mut self.mode).into_held() {
            // More of the file might have shown it to be text: a part says no more than the whole.
            let at = Some(self.merge.lines);
            sink.notes.add(Severity::Warning, "trace.ends_in_text", at, None, || {
                format!(
                    "the file ends inside a statement or bind value; its last {} bytes were not \
                     read as records",
                    held.text.len()
                )
            });
        }
        let dropped = self.blocks.dropped();
        if dropped > 0 {
            sink.notes
                .add(Severity::Warning, "trace.long_line", None, None, || {
                    format!("{dropped} bytes of lines over 1 MiB were not read")
                });
        }
        give::give(self.merge, (&self.file, self.keeps), sink, out)
    }
}
