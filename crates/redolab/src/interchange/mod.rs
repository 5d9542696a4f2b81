//! A run for other programs: fio's JSON and logs, HdrHistogram logs, Parquet datasets, OpenMetrics,
//! traces in the form of event 10046.
//!
//! Invariants: one exporter a format; each is made from the run and its histograms alone (a trace
//! from its events), and says the run's name and origin where the format has room for it;
//! percentiles come from merged histograms. docs/interchange.md says what reads them. What it must
//! not know: where files go.

mod datasets;
mod fio;
mod hdr_log;
mod openmetrics;
mod parquet_table;
pub mod trace;

pub use datasets::{datasets, has_series};
pub use fio::{document as fio_document, files as fio_files, pretty as fio_pretty};
pub use hdr_log::files as hdr_log_files;
pub use openmetrics::text as openmetrics_text;

use crate::store::{Histograms, StoredSeries};
use measure::run::{Row, Run};

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct ExportSource<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its histograms.
    pub histograms: &'a Histograms,
}

/// A file of an export.
#[derive(Clone, Debug)]
pub struct ExportedFile {
    /// Path in the folder that the export makes.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// A series whose values are nanoseconds.
const IN_NS: [&str; 3] = ["log_file_sync", "commit_latency", "log_file_parallel_write"];

impl<'a> ExportSource<'a> {
    /// The rows with their numbers, from 1.
    fn rows(&self) -> impl Iterator<Item = (usize, &'a Row)> {
        self.run
            .rows
            .iter()
            .enumerate()
            .map(|(i, row)| (i + 1, row))
    }

    /// The series of a row by the row's number.
    fn series(&self, number: usize, event: &str) -> Option<&'a StoredSeries> {
        let found = self.histograms.series.iter().find(|(name, _)| {
            row_and_event(name).is_some_and(|(row, of)| row == number && of == event)
        });
        found.map(|(_, series)| series)
    }
}

/// `03-LGWR-LAT1-64/log_file_sync`: row 3, and the event.
fn row_and_event(series: &str) -> Option<(usize, &str)> {
    let (row, event) = series.split_once('/')?;
    let (number, _) = row.split_once('-')?;
    Some((number.parse().ok()?, event))
}

/// Text as a component of a path: what is not in `[A-Za-z0-9._-]` becomes `_`.
fn component(text: &str) -> String {
    let plain = |c: char| match c {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '_' | '-' => c,
        _ => '_',
    };
    let text: String = text.chars().map(plain).take(64).collect();
    match text.trim_start_matches('.') {
        "" => "_".to_owned(),
        rest => rest.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_tell_their_row_and_paths_stay_inside() {
        assert_eq!(
            row_and_event("03-LGWR-LAT1-64/log_file_sync"),
            Some((3, "log_file_sync"))
        );
        assert_eq!(row_and_event("x-LGWR/log_file_sync"), None);
        for (text, want) in [
            ("../../etc", "_.._etc"),
            ("", "_"),
            ("..", "_"),
            ("LGWR-LAT1", "LGWR-LAT1"),
            ("a b/ä", "a_b__"),
        ] {
            assert_eq!(component(text), want, "{text}");
        }
    }
}
