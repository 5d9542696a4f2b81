//! What readers give: rows, tables, series. Readers add; nobody takes away.

use super::counters::CounterListing;
use super::snapshots::Snapshot;
use measure::imported::{Series, Table};
use measure::origin::{CellOrigin, OriginInput, TextSpan};
use measure::run::Row;

/// What the files of an import gave so far.
#[derive(Debug, Default)]
pub struct Gathered {
    /// One row for each process or snapshot.
    pub rows: Vec<Row>,
    /// Tables of the evidence.
    pub tables: Vec<Table>,
    /// Latency over time or sequence; `row` indexes `rows`.
    pub series: Vec<Series>,
    /// Event histograms, in the order in which they were read.
    pub snapshots: Vec<Snapshot>,
    /// Listings of counters since a start, in the order in which they were read.
    pub counters: Vec<CounterListing>,
    /// Devices that a file says hold the log, with the file and its line.
    pub log_devices: Vec<(String, String, u64)>,
    /// Pieces of evidence that were found: a file that adds none is an error.
    pub yielded: u64,
}

/// How much was gathered before a file.
#[derive(Clone, Copy, Debug)]
pub struct GatheredMark {
    rows: usize,
    tables: usize,
    series: usize,
    snapshots: usize,
    counters: usize,
    yielded: u64,
}

impl Gathered {
    /// How much there is now.
    #[must_use]
    pub fn mark(&self) -> GatheredMark {
        GatheredMark {
            rows: self.rows.len(),
            tables: self.tables.len(),
            series: self.series.len(),
            snapshots: self.snapshots.len(),
            counters: self.counters.len(),
            yielded: self.yielded,
        }
    }

    /// Moves the places that were added since.
    pub(super) fn move_places(&mut self, since: GatheredMark, move_it: &dyn Fn(&mut TextSpan)) {
        let tables = self.tables.iter_mut().skip(since.tables);
        let cells = tables
            .flat_map(|t| &mut t.origins)
            .flat_map(|o| &mut o.cells);
        cells.for_each(|cell| match cell {
            CellOrigin::Given => {}
            CellOrigin::Read(span) => move_it(span),
            CellOrigin::Scaled(scaled) => move_it(&mut scaled.span),
            CellOrigin::Derived(derived) => {
                for input in &mut derived.inputs {
                    if let OriginInput::Span(span) = input {
                        move_it(span);
                    }
                }
            }
        });
        let snapshots = self.snapshots.iter_mut().skip(since.snapshots);
        snapshots.for_each(|s| s.move_places(move_it));
        let counters = self.counters.iter_mut().skip(since.counters);
        counters.for_each(|c| c.move_places(move_it));
    }

    /// Takes back what was added since: its file is not of the kind that was asked for.
    pub fn take_back(&mut self, to: GatheredMark) {
        self.rows.truncate(to.rows);
        self.tables.truncate(to.tables);
        self.series.truncate(to.series);
        self.snapshots.truncate(to.snapshots);
        self.counters.truncate(to.counters);
        self.yielded = to.yielded;
    }
}

/// What a reader knows of its file at the end.
#[derive(Debug, Default)]
pub struct Ended {
    /// Lines.
    pub lines: u64,
    /// What the file says of itself, by its own names.
    pub facts: Vec<(String, String)>,
}
