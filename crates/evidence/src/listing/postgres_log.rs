//! PostgreSQL's server log: checkpoints with the times of their phases, commits that took longer
//! than `log_min_duration_statement`, and checkpoints that come too often. Shorter statements are
//! in no line, so that they are a list and no distribution.

use crate::origin::SourceLine;
use crate::sheets::Sheets;
use crate::stamps;

const COMPLETE: &str = "checkpoint complete: ";
const OFTEN: &str = "checkpoints are occurring too frequently (";
const DURATION: &str = "duration: ";

type Columns = &'static [(&'static str, &'static str)];
/// The tables: ids, titles, and columns behind the time.
const TABLES: [(&str, &str, Columns); 3] = [
    ("pg_checkpoints", "PostgreSQL's log: checkpoints", &PHASES),
    (
        "pg_slow_commits",
        "PostgreSQL's log: commits over its limit",
        &[("took_ms", "duration ms"), ("statement", "Statement")],
    ),
    (
        "pg_frequent_checkpoints",
        "PostgreSQL's log: checkpoints too frequently",
        &[("apart_s", "seconds apart")],
    ),
];
/// Seconds of a checkpoint: `write=269.812 s, sync=14.220 s, ... longest=3.914 s`.
const PHASES: [(&str, &str); 4] = [
    ("write_s", " write="),
    ("sync_s", " sync="),
    ("total_s", " total="),
    ("longest_s", " longest="),
];

/// Whether a line is one of those that are read.
pub fn opens(line: &str) -> bool {
    message(line).is_some_and(|(_, text)| {
        text.starts_with(COMPLETE) || text.starts_with(OFTEN) || commit(text).is_some()
    })
}

/// When, and the message, behind any `log_line_prefix` that begins with a time.
fn message(line: &str) -> Option<(&str, &str)> {
    let (prefix, text) = line.split_once("LOG:  ")?;
    let time = prefix.get(..stamps::length(prefix)?)?;
    Some((time.trim(), text))
}

/// Milliseconds and words of a commit: `duration: 1155.044 ms  statement: COMMIT`.
fn commit(text: &str) -> Option<(&str, &str)> {
    let (ms, rest) = text.strip_prefix(DURATION)?.split_once(" ms  ")?;
    let words = rest.split_once(": ")?.1.trim().trim_end_matches(';');
    let first = words.split_whitespace().next()?.to_ascii_lowercase();
    ["commit", "end"]
        .contains(&first.as_str())
        .then_some((ms, words))
}

/// What the log has of its checkpoints and commits.
#[derive(Debug, Default)]
pub struct PostgresLog {
    tables: [Option<usize>; TABLES.len()],
}

impl PostgresLog {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let Some((time, text)) = message(line) else {
            return;
        };
        let source = SourceLine::new(number, line);
        let seconds = |name: &str| text.split_once(name)?.1.split_once(" s").map(|(s, _)| s);
        let (at, cells) = if text.starts_with(COMPLETE) {
            let times = PHASES.map(|(_, name)| source.cell(seconds(name).unwrap_or_default()));
            (0, times.to_vec())
        } else if let Some((ms, words)) = commit(text) {
            (1, vec![source.cell(ms), source.text(words)])
        } else if let Some(rest) = text.strip_prefix(OFTEN) {
            let apart = rest.split(' ').next().unwrap_or_default();
            (2, vec![source.cell(apart)])
        } else {
            return;
        };
        let (id, title, columns) = TABLES[at];
        let columns = [&[("time", "Time")], columns].concat();
        let open = || sheets.open(id, title, number, &columns);
        let table = *self.tables[at].get_or_insert_with(open);
        let row = std::iter::once(source.text(time)).chain(cells).collect();
        sheets.sourced_row(table, number, row);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_and_statements_of_usual_settings() {
        let of = |line: &'static str| message(line).map(|(time, text)| (time, commit(text)));
        let took = Some(("1155.044", "COMMIT"));
        assert_eq!(
            of(
                "2024-02-20 13:02:19.754 UTC [25848] LOG:  duration: 1155.044 ms  statement: COMMIT"
            ),
            Some(("2024-02-20 13:02:19.754", took))
        );
        assert_eq!(
            of(
                "2024-02-20 13:02:19 UTC:10.0.0.1(5):u@d:[9]:LOG:  duration: 1155.044 ms  execute S_1: COMMIT;"
            ),
            Some(("2024-02-20 13:02:19", took))
        );
        assert_eq!(
            of("2024-02-20 13:02:19 UTC LOG:  duration: 8366.098 ms  statement: select 'COMMIT'"),
            Some(("2024-02-20 13:02:19", None))
        );
        assert_eq!(of("LOG:  duration: 1.0 ms  statement: COMMIT"), None);
    }
}
