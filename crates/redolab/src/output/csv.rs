//! Rows as CSV, for spreadsheets and data frames.
//!
//! Columns: `run_id`, `origin`, `valid`, then every metric of the catalogue, where a row has counts
//! of a server those of the catalogue's servers, the percentiles of the waits, and `label` and
//! `tags`, what the user noted. A new column comes last, so that a program may count them. Numbers
//! have all their digits, an empty field was not measured. Text that a spreadsheet would run as a
//! formula is preceded by an apostrophe; numbers never are.

use analysis::account::columns::Columns;
use analysis::account::{Shown, cell};
use measure::catalogue::{ROW, SERVER, WAITS};
use measure::run::Run;
use measure::words::sanitize;
use std::io::{self, Write};

/// Writes the runs' rows under one heading: with every column, or with those that are named, behind
/// `run_id`, `origin` and `valid`.
///
/// # Errors
/// An error of `out`.
pub fn write_columns(runs: &[&Run], columns: &Columns, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let keys = keys(runs, columns);
    let first = ["run_id", "origin", "valid"];
    let last: &[&str] = match columns {
        Columns::Usual => &["label", "tags"],
        Columns::Study | Columns::Named(_) => &[],
    };
    writer.write_record(first.iter().chain(&keys).chain(last))?;
    for run in runs {
        for row in &run.rows {
            let mut record = vec![
                safe(&run.run_id),
                run.origin.word().to_owned(),
                run.validity.valid.to_string(),
            ];
            record.extend(keys.iter().map(|key| match cell(row, key) {
                Some(Shown::Text(text)) => safe(&text),
                Some(other) => other.exact(),
                None => String::new(),
            }));
            if !last.is_empty() {
                record.push(safe(run.notes.label.as_deref().unwrap_or_default()));
                record.push(safe(&run.notes.tags_in_words()));
            }
            writer.write_record(&record)?;
        }
    }
    writer.flush()
}

fn keys(runs: &[&Run], columns: &Columns) -> Vec<&'static str> {
    let study = ROW.iter().map(|m| m.key);
    match columns {
        Columns::Named(keys) => keys.clone(),
        Columns::Study => study.collect(),
        Columns::Usual => {
            let has_server = |run: &&Run| run.rows.iter().any(|row| row.server.is_some());
            let server = match runs.iter().any(has_server) {
                true => SERVER,
                false => &[],
            };
            let waits = WAITS.iter().map(|(_, _, metric)| metric.key);
            study
                .chain(server.iter().map(|m| m.key))
                .chain(waits)
                .collect()
        }
    }
}

/// Text that no spreadsheet runs and no terminal obeys: an apostrophe before what begins like a
/// formula, also behind blanks, which some programs trim; without escape sequences.
#[must_use]
pub fn safe(text: &str) -> String {
    let begins = |c: char| matches!(c, '=' | '+' | '-' | '@' | '\t' | '\r' | '\n');
    let full_width = |c: char| matches!(c, '＝' | '＋' | '－' | '＠');
    let runs = |text: &str| {
        let trimmed = text.trim_start_matches([' ', '\u{a0}', '\u{feff}']);
        trimmed.starts_with(begins) || trimmed.starts_with(full_width)
    };
    // What an escape sequence hid may begin like a formula, and so may what it was part of.
    let clean = sanitize::text(text);
    if runs(text) || runs(&clean) {
        format!("'{clean}")
    } else {
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::Row;

    #[test]
    fn formulas_are_text() {
        for bad in [
            "=1+1",
            "+1",
            "-2",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            " =1",
            "\u{feff}=1",
            "＝1",
            "\u{1b}[0m=1",
        ] {
            assert!(safe(bad).starts_with('\''), "{bad:?}");
        }
        for good in ["LGWR-LAT1", "a=b", "", "1"] {
            assert_eq!(safe(good), good);
        }
        assert_eq!(safe("a\u{1b}]0;owned\u{7}b"), "ab");
    }

    #[test]
    fn a_row_reads_back() {
        let mut run: Run = crate::output::table::tests::run();
        run.rows.truncate(1);
        run.rows[0] = Row {
            workload: "=cmd|'/c calc'!A1,\"x\"\n".to_owned(),
            jobs: 8,
            commit_throughput_tps: Some(0.1 + 0.2),
            log_file_sync_ms: None,
            ..Row::default()
        };
        let mut out = Vec::new();
        write_columns(&[&run], &Columns::Usual, &mut out).expect("memory");
        let mut reader = csv::Reader::from_reader(out.as_slice());
        let headings = reader.headers().expect("headings").clone();
        let records: Vec<csv::StringRecord> = reader
            .records()
            .collect::<Result<_, _>>()
            .expect("reads back");
        assert_eq!(records.len(), 1);
        let get = |key: &str| {
            let at = headings.iter().position(|h| h == key).expect("a column");
            records[0].get(at).expect("a field").to_owned()
        };
        assert_eq!(get("workload"), "'=cmd|'/c calc'!A1,\"x\"\n");
        assert_eq!(get("jobs"), "8");
        assert_eq!(get("commit_throughput_tps").parse(), Ok(0.1 + 0.2));
        assert_eq!(get("log_file_sync_ms"), "");
        assert_eq!(get("origin"), "measured");
        let last = headings.iter().next_back();
        assert_eq!(last, Some("tags"), "new columns come last");
    }

    #[test]
    fn named_columns_are_in_their_order() {
        let run = crate::output::table::tests::run();
        let columns = Columns::read("jobs,log_file_sync_p50_ms").expect("keys");
        let mut out = Vec::new();
        write_columns(&[&run], &columns, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "run_id,origin,valid,jobs,log_file_sync_p50_ms");
        assert_eq!(lines[1], "20261120-101500-4f2a11,measured,true,1,0.101");
    }
}
