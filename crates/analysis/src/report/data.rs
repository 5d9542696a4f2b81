//! What a report shows beside the run itself, as plain data: the caller that can read the store
//! hands it in. Empty parts are figures that are not drawn.

use super::grid::LatencyGrid;
use super::sample::EventSample;
use measure::{Histogram, WaitEvent};

/// Most series of a report: a run with more rows shows the first ones.
pub const SERIES_MAX: usize = 400;

/// The histograms of one event of one row.
#[derive(Clone, Debug, PartialEq)]
pub struct RowGrid {
    /// Index into the run's rows.
    pub row: usize,
    /// Key of the wait event, as in the row's `waits`.
    pub event: String,
    /// Its waits by time and latency.
    pub grid: LatencyGrid,
}

/// Events of one row.
#[derive(Clone, Debug)]
pub struct RowEvents {
    /// Index into the run's rows.
    pub row: usize,
    /// Key of the wait event.
    pub event: String,
    /// The events have time stamps: `at` is nanoseconds, not a number.
    pub has_time: bool,
    /// The sample.
    pub sample: EventSample,
}

/// A redo size of a size sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizePoint {
    /// Redo of a transaction, bytes.
    pub redo_bytes: u64,
    /// Mean log file sync, nanoseconds.
    pub mean_ns: f64,
    /// 99th percentile; `None` with fewer than ten samples beyond it.
    pub p99_ns: Option<u64>,
    /// Waits.
    pub count: u64,
}

/// Log file sync against redo size on one target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeLine {
    /// The target, for the label.
    pub name: String,
    /// Points by ascending size.
    pub points: Vec<SizePoint>,
}

/// A size sweep (study 002).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SizeSweepLines {
    /// A line for each target.
    pub lines: Vec<SizeLine>,
    /// The two sizes in bytes between which the first line that breaks does.
    pub break_at: Option<[u64; 2]>,
    /// What the counts show, in words.
    pub found: String,
}

/// What a report shows beside the run.
#[derive(Clone, Debug, Default)]
pub struct ReportData {
    /// Waits by time and latency.
    pub grids: Vec<RowGrid>,
    /// Single events.
    pub events: Vec<RowEvents>,
    /// A size sweep.
    pub size_sweep: Option<SizeSweepLines>,
}

impl ReportData {
    /// Takes an interval of a stored run. `series` is `row/event` as the store names it, the row's
    /// number (from 1) leading: `03-LGWR-LAT1-64/log_file_sync`. Events that no figure shows are
    /// passed over.
    pub fn interval(&mut self, series: &str, start_ns: u64, end_ns: u64, histogram: &Histogram) {
        let Some((row, event)) = series.split_once('/') else {
            return;
        };
        let shown = [WaitEvent::LogFileSync, WaitEvent::LogFileParallelWrite];
        let number = row.split('-').next().and_then(|n| n.parse::<usize>().ok());
        let Some(row) = number.and_then(|n| n.checked_sub(1)) else {
            return;
        };
        if shown.iter().any(|e| e.key() == event)
            && let Some(grid) = self.grid_mut(row, event)
        {
            grid.add(start_ns, end_ns, histogram);
        }
    }

    /// The sample of a row's single events with time stamps; `None` when there are too many rows.
    pub fn sample_mut(&mut self, row: usize, event: &str) -> Option<&mut EventSample> {
        let mut all = self.events.iter();
        let at = match all.rposition(|e| e.row == row && e.event == event) {
            Some(at) => at,
            None if self.events.len() >= SERIES_MAX => return None,
            None => {
                self.events.push(RowEvents {
                    row,
                    event: event.to_owned(),
                    has_time: true,
                    sample: EventSample::default(),
                });
                self.events.len() - 1
            }
        };
        self.events.get_mut(at).map(|e| &mut e.sample)
    }

    fn grid_mut(&mut self, row: usize, event: &str) -> Option<&mut LatencyGrid> {
        let found = self
            .grids
            .iter()
            .rposition(|g| g.row == row && g.event == event);
        let at = match found {
            Some(at) => at,
            None if self.grids.len() >= SERIES_MAX => return None,
            None => {
                self.grids.push(RowGrid {
                    row,
                    event: event.to_owned(),
                    grid: LatencyGrid::default(),
                });
                self.grids.len() - 1
            }
        };
        self.grids.get_mut(at).map(|g| &mut g.grid)
    }

    /// The grid of a row's event.
    #[must_use]
    pub fn grid(&self, row: usize, event: WaitEvent) -> Option<&LatencyGrid> {
        self.grids
            .iter()
            .find(|g| g.row == row && g.event == event.key())
            .map(|g| &g.grid)
            .filter(|g| g.count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_find_their_rows_and_others_are_passed_over() {
        let mut data = ReportData::default();
        let mut h = Histogram::new();
        h.record(100_000);
        for series in [
            "02-LGWR-LAT1-8/log_file_sync",
            "02-LGWR-LAT1-8/log_file_sync",
            "02-LGWR-LAT1-8/commits_per_write",
            "00-x/log_file_sync",
            "x/log_file_sync",
            "nothing",
        ] {
            data.interval(series, 0, 1, &h);
        }
        assert_eq!(data.grids.len(), 1);
        let grid = data.grid(1, WaitEvent::LogFileSync);
        assert_eq!(grid.map(LatencyGrid::count), Some(2));
        assert!(data.grid(0, WaitEvent::LogFileSync).is_none());
    }
}
