//! Oracle's alert log: log switches, and those that could not be made at once with the reason:
//! `cannot allocate new log`, and the line behind it. The stamp is a line of its own above the
//! messages, of either form.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use crate::stamps;

const SWITCHED: &str = " advanced to log sequence ";
const REFUSED: &str = " cannot allocate new log, sequence ";
/// How the line behind a refusal begins.
const REASONS: [&str; 4] = ["Checkpoint", "Private strand", "All online", "all online"];
const COLUMNS: [(&str, &str); 5] = [
    ("thread", "Thread"),
    ("sequence", "Sequence"),
    ("asked_at", "Cannot allocate since"),
    ("reason", "Because"),
    ("time", "Switched at"),
];
const REASON: usize = 3;
const TIME: usize = 4;

/// Whether a line is a switch, or a refused one.
pub fn opens(line: &str) -> bool {
    message(line, REFUSED)
        .or_else(|| message(line, SWITCHED))
        .is_some()
}

/// Thread and sequence of a message.
fn message<'a>(line: &'a str, words: &str) -> Option<[&'a str; 2]> {
    let (thread, rest) = line.strip_prefix("Thread ")?.split_once(words)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let both = [thread, rest.get(..digits)?];
    both.iter()
        .all(|word| word.parse::<u64>().is_ok())
        .then_some(both)
}

/// The switches of a file.
#[derive(Debug, Default)]
pub struct AlertLog {
    stamp: SourcedCell,
    rows: Vec<(u64, [SourcedCell; COLUMNS.len()])>,
}

impl AlertLog {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64) {
        let source = SourceLine::new(number, line);
        let is_open = |row: &[SourcedCell]| row[TIME] == SourcedCell::blank();
        let last = self.rows.last_mut().filter(|(_, row)| is_open(row));
        if let Some(stamp) = stamps::alone(line) {
            self.stamp = source.text(stamp);
        } else if let Some(both) = message(line, REFUSED) {
            let [thread, sequence] = both.map(|word| source.cell(word));
            let (none, stamp) = (SourcedCell::blank, self.stamp.clone());
            self.rows
                .push((number, [thread, sequence, stamp, none(), none()]));
        } else if let Some(both) = message(line, SWITCHED) {
            let both = both.map(|word| source.cell(word));
            match last.filter(|(_, row)| row.iter().zip(&both).all(|(a, b)| a.cell == b.cell)) {
                Some((_, row)) => row[TIME] = self.stamp.clone(),
                None => {
                    let ([thread, sequence], none) = (both, SourcedCell::blank);
                    let stamp = self.stamp.clone();
                    self.rows
                        .push((number, [thread, sequence, none(), none(), stamp]));
                }
            }
        } else if let Some((_, row)) = last
            && REASONS
                .iter()
                .any(|reason| line.trim_start().starts_with(reason))
        {
            row[REASON] = source.text(line);
        }
    }

    /// Ends the file.
    pub fn end(&mut self, sheets: &mut Sheets) {
        let first = self.rows.first().map(|(line, _)| *line);
        let Some(first) = first else {
            return;
        };
        let table = sheets.open("log_switches", "Alert log: log switches", first, &COLUMNS);
        for (line, row) in self.rows.drain(..) {
            sheets.sourced_row(table, line, row.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_of_both_forms_and_a_switch_that_was_never_made() {
        let mut log = AlertLog::default();
        let text = "2024-03-14T10:00:00.123456+01:00\n\
                    Thread 1 cannot allocate new log, sequence 8\nCheckpoint not complete\n\
                    Tue Mar 12 14:02:11 2019\n\
                    Thread 1 advanced to log sequence 8 (LGWR switch),  current SCN: 4\n\
                    Thread 2 cannot allocate new log, sequence 9\nPrivate strand flush not complete\n";
        text.lines()
            .zip(1..)
            .for_each(|(line, n)| log.line(line, n));
        let words = |row: usize| {
            log.rows[row]
                .1
                .clone()
                .map(|cell| format!("{:?}", cell.cell))
        };
        assert!(
            words(0)[2].contains("2024-03-14T10:00:00.123456+01:00"),
            "{:?}",
            words(0)
        );
        assert!(words(0)[TIME].contains("Tue Mar 12") && words(1)[TIME] == "Blank");
        assert_eq!(log.rows.len(), 2);
    }
}
