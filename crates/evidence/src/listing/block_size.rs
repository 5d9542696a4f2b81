//! Block sizes: what `/sys/block/*/queue` says of a device, and Oracle's refusal of a redo block
//! size (ORA-01378).

use crate::sheets::{Sheets, text};
use measure::imported::Cell;
use measure::printed;

const ASKED: &[&str] = &["physical_block_size", "logical_block_size"];
const REFUSED: &str = "ORA-01378: The logical block size (";

/// Whether a line begins one.
pub fn opens(line: &str) -> bool {
    asked(line).is_some() || line.contains(REFUSED)
}

fn asked(line: &str) -> Option<&'static str> {
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
    refused: Option<f64>,
}

impl Sizes {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let trimmed = line.trim();
        if let Some(what) = asked(line) {
            // `grep . /sys/block/sdb/queue/*` answers on the same line.
            let same = trimmed
                .rsplit_once([':', ' '])
                .and_then(|(_, v)| printed::plain(v));
            match same.filter(|_| !line.contains("cat ")) {
                Some(bytes) => self.give(what, bytes, number, sheets),
                None => self.waiting = Some(what),
            }
            return;
        }
        if let Some(what) = self.waiting {
            if let Some(bytes) = printed::plain(trimmed) {
                self.waiting = None;
                self.give(what, bytes, number, sheets);
            } else if trimmed.len() > 2 {
                self.waiting = None;
            }
        }
        if let Some(at) = line.find(REFUSED) {
            self.refused = leading(&line[at + REFUSED.len()..]);
        }
        for (phrase, what) in [
            ("media sector size is ", "media_sector_size"),
            ("host sector size is ", "host_sector_size"),
        ] {
            let Some(at) = line.find(phrase).filter(|_| self.refused.is_some()) else {
                continue;
            };
            if let Some(bytes) = leading(&line[at + phrase.len()..]) {
                self.give(what, bytes, number, sheets);
                if what == "host_sector_size"
                    && let Some(asked) = self.refused.take()
                {
                    self.give("redo_block_size_refused", asked, number, sheets);
                }
            }
        }
    }

    fn give(&mut self, what: &str, bytes: f64, number: u64, sheets: &mut Sheets) {
        let columns = [("name", "What"), ("bytes", "Bytes")];
        let open = || sheets.open("block_sizes", "Block sizes of the device", number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let cells = vec![text(what), Cell::Count(bytes.max(0.0) as u64)];
        sheets.row(table, number, cells);
    }
}

fn leading(text: &str) -> Option<f64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    printed::plain(&text[..digits])
}
