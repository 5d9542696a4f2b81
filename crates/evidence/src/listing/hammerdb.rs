//! Output of HammerDB: NOPM and TPM of a test, and the time profile of its procedures. There is no
//! HammerDB here; the layouts are those of HammerDB 3.3 to 4.12 as their logs print them.
//!
//! NOPM and TPM are read as printed: which of the two comes first depends on the release.

use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::printed;

const RESULT: &str = "TEST RESULT : System achieved ";
const PROFILE: &str = ">>>>> ";

/// Whether a line is its output.
pub fn opens(line: &str) -> bool {
    let result = line.split_once(RESULT);
    result.is_some_and(|(_, rest)| achieved(rest, SourceLine::new(1, line)).is_some())
        || user(line).is_some()
}

/// NOPM, TPM and the database.
fn achieved(rest: &str, source: SourceLine<'_>) -> Option<[SourcedCell; 3]> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let before = |unit: &str| {
        let at = words.iter().position(|w| *w == unit)?;
        // The name of the database is between TPM and its figure: `24772 MySQL TPM`.
        let figures = words.get(..at)?.iter().rev();
        let word = figures.take(4).find(|w| printed::plain(w).is_some())?;
        Some(*word)
    };
    let (nopm, tpm) = (before("NOPM")?, before("TPM")?);
    let name = rest.split(tpm).nth(1).and_then(|r| r.split("TPM").next());
    Some([
        source.cell(nopm),
        source.cell(tpm),
        source.text(name.unwrap_or_default()),
    ])
}

/// `>>>>> VIRTUAL USER 2 : ELAPSED TIME : 912505ms`, or the summary of all of them: who, and
/// milliseconds.
fn user(line: &str) -> Option<(&str, &str)> {
    let (who, rest) = line.strip_prefix(PROFILE)?.split_once(" : ")?;
    let known = who.starts_with("VIRTUAL USER ") || who.starts_with("SUMMARY OF ");
    let ms = rest.rsplit(": ").next()?.trim().strip_suffix("ms")?;
    (known && printed::plain(ms).is_some()).then_some((who, ms))
}

/// Figures of a procedure, in the order of the columns: the text before the number, and behind it.
const FIGURES: [(&str, &str); 10] = [
    ("CALLS: ", ""),
    ("MIN: ", "ms"),
    ("AVG: ", "ms"),
    ("MAX: ", "ms"),
    ("TOTAL: ", "ms"),
    ("P99: ", "ms"),
    ("P95: ", "ms"),
    ("P50: ", "ms"),
    ("SD: ", ""),
    ("RATIO: ", "%"),
];

/// The tests and profiles of a file.
#[derive(Debug, Default)]
pub struct HammerDbOutput {
    results: Option<usize>,
    profile: Option<usize>,
    users: SourcedCell,
    /// Whose procedures follow: who, and elapsed time.
    user: Option<[SourcedCell; 2]>,
    /// The procedure, its line and the first half of its figures.
    procedure: Option<(SourcedCell, u64, Vec<SourcedCell>)>,
}

impl HammerDbOutput {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        match line.as_bytes().first() {
            Some(b'V' | b'T' | b'H' | b'>' | b'C' | b'P') => {}
            _ => return,
        }
        let source = SourceLine::new(number, line);
        if let Some((_, rest)) = line.split_once(RESULT) {
            self.result(rest, source, sheets);
        } else if let Some(before) = line
            .trim_end()
            .strip_suffix(" Active Virtual Users configured")
        {
            let users = before.rsplit(':').next().unwrap_or_default();
            self.users = source.cell(users);
        } else if let Some((who, ms)) = user(line) {
            self.user = Some([source.text(who), source.cell(ms)]);
            self.procedure = None;
        } else if let Some(name) = line.strip_prefix(">>>>> PROC: ") {
            self.procedure = Some((source.text(name), number, Vec::new()));
        } else {
            self.figures(line, source, sheets);
        }
    }

    fn result(&mut self, rest: &str, source: SourceLine<'_>, sheets: &mut Sheets) {
        let Some([nopm, tpm, database]) = achieved(rest, source) else {
            return;
        };
        let columns = [
            ("users", "Virtual users"),
            ("nopm", "NOPM"),
            ("tpm", "TPM"),
            ("database", "Database"),
        ];
        let open = || sheets.open("hammerdb", "HammerDB: results", source.number, &columns);
        let table = *self.results.get_or_insert_with(open);
        let row = vec![std::mem::take(&mut self.users), nopm, tpm, database];
        sheets.sourced_row(table, source.number, row);
    }

    /// `CALLS: 41234 MIN: 2.409ms …`, then `P99: 14.159ms …`, with blanks between them or without.
    fn figures(&mut self, line: &str, source: SourceLine<'_>, sheets: &mut Sheets) {
        let (Some(user), Some((name, first, found))) = (&self.user, &mut self.procedure) else {
            return;
        };
        let wanted = match found.len() {
            0 => &FIGURES[..5],
            5 => &FIGURES[5..],
            _ => return,
        };
        let mut rest = line;
        let mut cells = Vec::new();
        for (begin, end) in wanted {
            let Some(after) = rest.trim_start().strip_prefix(begin) else {
                return;
            };
            let digits = after
                .bytes()
                .take_while(|b| b.is_ascii_digit() || *b == b'.')
                .count();
            let (word, after) = after.split_at(digits);
            let Some(after) = after.strip_prefix(end) else {
                return;
            };
            cells.push(source.cell(word));
            rest = after;
        }
        found.extend(cells);
        if found.len() < FIGURES.len() {
            return;
        }
        let mut row = vec![user[0].clone(), user[1].clone(), name.clone()];
        row.append(found);
        let columns = [
            ("user", "Virtual user"),
            ("elapsed_ms", "Elapsed (ms)"),
            ("procedure", "Procedure"),
            ("calls", "Calls"),
            ("min_ms", "Min ms"),
            ("mean_ms", "Avg ms"),
            ("max_ms", "Max ms"),
            ("total_ms", "Total ms"),
            ("p99_ms", "p99 ms"),
            ("p95_ms", "p95 ms"),
            ("p50_ms", "p50 ms"),
            ("sd", "SD as printed"),
            ("ratio_pct", "Ratio %"),
        ];
        let first = *first;
        let open = || {
            sheets.open(
                "hammerdb_profile",
                "HammerDB: time profile",
                first,
                &columns,
            )
        };
        let table = *self.profile.get_or_insert_with(open);
        sheets.sourced_row(table, first, row);
        self.procedure = None;
    }
}
