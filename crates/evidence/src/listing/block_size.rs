//! Block sizes: what `/sys/block/*/queue` says of a device, and Oracle's refusal of a redo block
//! size (ORA-01378).

use crate::origin::{SourceLine, SourcedCell};
use crate::quick::QuickWord;
use crate::sheets::Sheets;
use measure::imported::Cell;
use measure::printed;

const ASKED: &[&str] = &["physical_block_size", "logical_block_size"];
const REFUSED: &str = "ORA-01378: The logical block size (";

/// Whether a line begins one.
pub fn opens(line: &str) -> bool {
    asked(line).is_some() || line.contains(REFUSED)
}

fn asked(line: &str) -> Option<&'static str> {
    if !QuickWord::exactly("_block_size").is_in(line.as_bytes()) {
        return None;
    }
    let is_asked = line.contains("cat ") || line.contains("/queue/");
    ASKED
        .iter()
        .find(|a| is_asked && line.contains(**a))
        .copied()
}

/// The sizes of a file.
#[derive(Debug, Default)]
pub struct Sizes {
    table: Option<usize>,
    waiting: Option<&'static str>,
    refused: Option<SourcedCell>,
}

impl Sizes {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let trimmed = line.trim();
        let source = SourceLine::new(number, line);
        if let Some(what) = asked(line) {
            // `grep . /sys/block/sdb/queue/*` answers on the same line.
            let same = trimmed.rsplit_once([':', ' ']);
            let same = same.and_then(|(_, v)| size(source, v));
            match same.filter(|_| !line.contains("cat ")) {
                Some(bytes) => self.give(SourcedCell::label(what), bytes, number, sheets),
                None => self.waiting = Some(what),
            }
            return;
        }
        if let Some(what) = self.waiting {
            if let Some(bytes) = size(source, trimmed) {
                self.waiting = None;
                self.give(SourcedCell::label(what), bytes, number, sheets);
            } else if trimmed.len() > 2 {
                self.waiting = None;
            }
        }
        let is_refusal = QuickWord::exactly("ORA-01378").is_in(line.as_bytes());
        if let Some(at) = is_refusal.then(|| line.find(REFUSED)).flatten() {
            self.refused = leading(source, &line[at + REFUSED.len()..]);
        }
        for (phrase, what) in [
            ("media sector size is ", "media_sector_size"),
            ("host sector size is ", "host_sector_size"),
        ] {
            let Some(at) = self.refused.as_ref().and_then(|_| line.find(phrase)) else {
                continue;
            };
            if let Some(bytes) = leading(source, &line[at + phrase.len()..]) {
                self.give(SourcedCell::label(what), bytes, number, sheets);
                if what == "host_sector_size"
                    && let Some(asked) = self.refused.take()
                {
                    self.give(
                        SourcedCell::label("redo_block_size_refused"),
                        asked,
                        number,
                        sheets,
                    );
                }
            }
        }
    }

    fn give(&mut self, what: SourcedCell, bytes: SourcedCell, number: u64, sheets: &mut Sheets) {
        let columns = [("name", "What"), ("bytes", "Bytes")];
        let open = || sheets.open("block_sizes", "Block sizes of the device", number, &columns);
        let table = *self.table.get_or_insert_with(open);
        sheets.sourced_row(table, number, vec![what, bytes]);
    }
}

/// A whole number that is all of a part of a line.
fn size(line: SourceLine<'_>, part: &str) -> Option<SourcedCell> {
    let bytes = printed::plain(part)?;
    let cell = Cell::Count(bytes.max(0.0) as u64);
    Some(SourcedCell::read(cell, line.span(part)))
}

/// The whole number that a part of a line begins with.
fn leading(line: SourceLine<'_>, part: &str) -> Option<SourcedCell> {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    size(line, &part[..digits])
}
