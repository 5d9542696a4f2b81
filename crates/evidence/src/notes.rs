//! Collecting diagnostics of one file: positions, and a bound on how many are kept.

use super::regions::LineMarks;
use measure::imported::{Diagnostic, Severity};
use measure::origin::TextSpan;
use std::collections::BTreeMap;

/// Diagnostics of one id that are kept one by one; the last of them stands for all after it.
const EACH_MAX: usize = 8;
/// Characters of a detail.
const DETAIL_MAX: usize = 400;

/// The diagnostics of one file.
#[derive(Debug)]
pub struct Notes {
    file: String,
    kept: Vec<Diagnostic>,
    /// By id: how many are kept, and where the last of them is.
    seen: BTreeMap<&'static str, (usize, usize)>,
    /// What became of lines.
    pub(crate) lines: LineMarks,
}

impl Notes {
    /// None yet, of the file by the name that the user gave.
    #[must_use]
    pub fn new(file: &str) -> Notes {
        Notes {
            file: file.to_owned(),
            kept: Vec::new(),
            seen: BTreeMap::new(),
            lines: LineMarks::default(),
        }
    }

    /// Reports a last line without an end, which is left out.
    pub fn last_line(&mut self, id: &'static str, line: u64) {
        self.add(Severity::Note, id, Some(line), None, || {
            "the last line has no end, so that it may be cut: left out".to_owned()
        });
    }

    /// Adds one. `line` and `column` count from 1; `detail` is only made where it is kept.
    pub fn add(
        &mut self,
        severity: Severity,
        id: &'static str,
        line: Option<u64>,
        column: Option<u64>,
        detail: impl FnOnce() -> String,
    ) {
        let (count, last) = self.seen.entry(id).or_insert((0, 0));
        if let Some(at) = line.filter(|_| severity > Severity::Note) {
            self.lines.passed(at, at, || format!("see `{id}`"));
        }
        if *count >= EACH_MAX {
            if let Some(stands) = self.kept.get_mut(*last) {
                stands.count += 1;
                stands.severity = stands.severity.max(severity);
            }
            return;
        }
        *count += 1;
        *last = self.kept.len();
        let mut detail = detail();
        if let Some((at, _)) = detail.char_indices().nth(DETAIL_MAX) {
            detail.truncate(at);
            detail.push('…');
        }
        self.kept.push(Diagnostic {
            severity,
            id: id.to_owned(),
            file: self.file.clone(),
            line,
            column,
            detail,
            count: 1,
        });
    }

    /// Adds one that stands for `count` of its kind.
    pub fn add_many(
        &mut self,
        severity: Severity,
        id: &'static str,
        line: Option<u64>,
        column: Option<u64>,
        count: u64,
        detail: impl FnOnce() -> String,
    ) {
        self.add(severity, id, line, column, detail);
        let last = self
            .seen
            .get(id)
            .and_then(|(_, last)| self.kept.get_mut(*last));
        if let Some(stands) = last {
            stands.count += count.saturating_sub(1);
        }
    }

    /// Moves the places of those that have one.
    pub(crate) fn move_places(&mut self, move_it: &dyn Fn(&mut TextSpan)) {
        for found in &mut self.kept {
            let number = |n: Option<u64>| n.and_then(|n| u32::try_from(n).ok());
            if let (Some(line), Some(column)) = (number(found.line), number(found.column)) {
                let mut span = TextSpan {
                    line,
                    column,
                    length: 1,
                };
                move_it(&mut span);
                found.column = Some(u64::from(span.column));
            }
        }
    }

    /// The first one.
    #[must_use]
    pub fn first(&self) -> Option<&Diagnostic> {
        self.kept.first()
    }

    /// All of them, in the order of their lines, and then those without one in the order in which
    /// they were found: a reader may see two kinds of them apart.
    #[must_use]
    pub fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        let place = |d: &Diagnostic| (d.line.is_none(), d.line, d.column);
        self.kept.sort_by_key(place);
        self.kept
    }
}

/// Text of the evidence for a detail: short, on one line, without control characters.
#[must_use]
pub fn quote(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let part = &bytes[..bytes.len().min(4 * SHOWN)];
    let text = String::from_utf8_lossy(part);
    let mut out = String::from("`");
    for (n, c) in text.chars().enumerate() {
        if n == SHOWN {
            out.push('…');
            break;
        }
        out.push(if c.is_control() { '·' } else { c });
    }
    out.push('`');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_of_one_kind_are_counted_and_not_kept() {
        let mut notes = Notes::new("f");
        for n in 0..1_000_000 {
            notes.add(Severity::Warning, "a", Some(n + 1), None, || n.to_string());
        }
        notes.add(Severity::Note, "b", None, None, || "x".repeat(10_000));
        let kept = notes.into_diagnostics();
        assert_eq!(kept.len(), EACH_MAX + 1);
        assert_eq!(kept.iter().map(|d| d.count).sum::<u64>(), 1_000_001);
        assert_eq!(kept[0].line, Some(1));
        assert_eq!(kept[EACH_MAX].detail.chars().count(), DETAIL_MAX + 1);
    }

    #[test]
    fn quoted_text_is_short_and_tame() {
        assert_eq!(quote(b"a\x1b[31m\n\xff"), "`a·[31m·\u{fffd}`");
        assert!(quote(&[b'x'; 500]).chars().count() < 70);
    }
}
