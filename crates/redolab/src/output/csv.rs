//! Rows as CSV, for spreadsheets and data frames.
//!
//! Columns: `run_id`, `origin`, `valid`, then every metric of the catalogue, and where a row has
//! counts of a server those of the catalogue's servers. Numbers have all
//! their digits, an empty field was not measured. Text that a spreadsheet would run as a formula
//! is preceded by an apostrophe; numbers never are.

use super::cells::{RowCell, cell};
use measure::catalogue::{ROW, SERVER};
use measure::run::Run;
use measure::words::sanitize;
use std::io::{self, Write};

/// Writes the runs' rows under one heading.
///
/// # Errors
/// An error of `out`.
pub fn write(runs: &[&Run], out: &mut dyn Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let has_server = |run: &&Run| run.rows.iter().any(|row| row.server.is_some());
    let server = match runs.iter().any(has_server) {
        true => SERVER,
        false => &[],
    };
    let metrics = || ROW.iter().chain(server);
    let keys = metrics().map(|m| m.key);
    writer.write_record(["run_id", "origin", "valid"].into_iter().chain(keys))?;
    for run in runs {
        for row in &run.rows {
            let mut record = vec![
                safe(&run.run_id),
                run.origin.word().to_owned(),
                run.validity.valid.to_string(),
            ];
            record.extend(metrics().map(|metric| match cell(row, metric.key) {
                Some(RowCell::Text(text)) => safe(&text),
                Some(other) => other.exact(),
                None => String::new(),
            }));
            writer.write_record(&record)?;
        }
    }
    writer.flush()
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
        write(&[&run], &mut out).expect("memory");
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
    }
}
