//! How much redo a transaction makes: measured, because InnoDB logs more than the row.
//!
//! Invariants: what is measured is the growth of the LSN by each of at least 1,000 commits of the
//! rows that sessions will insert; what other clients write meanwhile is in it.

use super::counters::LsnSource;
use super::error::MariadbError;
use super::insert::{Insert, RowLayout};
use measure::RealClock;
use measure::run::RedoCalibration;
use measure::workload::{Generator, pool};

/// Commits that are not measured, while a new table gets its first pages.
const WARM_UP: u32 = 50;
/// Commits of the first estimate.
const ESTIMATE: u32 = 200;
/// Commits of a measurement.
const COMMITS: u32 = 1_000;
/// Measurements at most.
const ROUNDS: u32 = 5;
/// A measurement within one part in so many of the aim ends the search.
const NEAR: u64 = 100;
/// Redo of a row beside its value, about; the search begins there.
const OVERHEAD: u64 = 260;
/// Bytes of the pool of its payload.
const POOL: usize = 64 << 10;

/// What makes the redo of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibrated {
    /// The rows.
    pub layout: RowLayout,
    /// What was measured of them.
    pub measured: RedoCalibration,
}

/// Searches the rows whose redo is nearest to the aim.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    aim: u64,
    row_max: u32,
    payload: u64,
}

impl Search {
    /// Begins a search for `aim` bytes of redo.
    #[must_use]
    pub fn new(aim: u64, row_max: u32) -> Search {
        let rows = aim.div_ceil(u64::from(row_max));
        Search {
            aim,
            row_max,
            payload: aim.saturating_sub(rows * OVERHEAD),
        }
    }

    /// The rows to be measured next; `None` where they are too many for a statement.
    #[must_use]
    pub fn layout(&self) -> Option<RowLayout> {
        RowLayout::of(self.payload, self.row_max)
    }

    /// Whether a mean is near the aim.
    #[must_use]
    fn is_near(&self, mean: u64) -> bool {
        mean.abs_diff(self.aim) <= self.aim / NEAR
    }

    /// Takes over that the rows make so much redo. Whether there are other rows to be measured.
    pub fn correct(&mut self, mean: u64) -> bool {
        let before = self.layout();
        self.payload = (self.payload + self.aim).saturating_sub(mean);
        self.layout() != before
    }
}

/// Commits rows until their redo is known.
///
/// # Errors
/// Of the server, or of the connection.
pub fn calibrate(
    mut insert: impl FnMut(RowLayout) -> Result<Insert, MariadbError>,
    source: LsnSource,
    clock: RealClock,
    mut search: Search,
) -> Result<Calibrated, MariadbError> {
    let many = || MariadbError::Unusable("a transaction has too many rows".to_owned());
    let mut generator = Generator::new(pool(1, POOL), u32::MAX, 1);
    let mut round = 0;
    let mut best: Option<Calibrated> = None;
    loop {
        let layout = search.layout().ok_or_else(many)?;
        let mut insert = insert(layout)?;
        if round == 0 {
            growths(&mut insert, &mut generator, source, clock, WARM_UP)?;
        }
        let commits = if round == 0 { ESTIMATE } else { COMMITS };
        let mut growths = growths(&mut insert, &mut generator, source, clock, commits)?;
        let measured = summary(search.aim, layout, &mut growths);
        let mean = measured.mean_bytes;
        let ends = round == ROUNDS || search.is_near(mean) || !search.correct(mean);
        if round > 0 {
            let found = nearer(best.take(), Calibrated { layout, measured });
            if ends {
                return Ok(found);
            }
            best = Some(found);
        }
        round += 1;
    }
}

/// The one whose mean is nearer to the aim: pages that are added now and then make the means of
/// equal rows differ by some percent.
fn nearer(best: Option<Calibrated>, found: Calibrated) -> Calibrated {
    let off = |one: &Calibrated| one.measured.mean_bytes.abs_diff(one.measured.redo_bytes);
    match best {
        Some(best) if off(&best) <= off(&found) => best,
        _ => found,
    }
}

/// Growth of the LSN by each of some commits.
fn growths(
    insert: &mut Insert,
    generator: &mut Generator,
    source: LsnSource,
    clock: RealClock,
    commits: u32,
) -> Result<Vec<u64>, MariadbError> {
    let mut growths = Vec::new();
    let mut before = source.read(insert.connection())?;
    for _ in 0..commits {
        insert.encode(generator);
        insert.commit(clock)?;
        let after = source.read(insert.connection())?;
        growths.push(after.saturating_sub(before));
        before = after;
    }
    Ok(growths)
}

fn summary(aim: u64, layout: RowLayout, growths: &mut [u64]) -> RedoCalibration {
    growths.sort_unstable();
    let count = growths.len().max(1) as f64;
    let mean = growths.iter().map(|growth| *growth as f64).sum::<f64>() / count;
    let square = |growth: &u64| (*growth as f64 - mean).powi(2);
    let variance = growths.iter().map(square).sum::<f64>() / count;
    let at = |index: usize| growths.get(index).copied().unwrap_or_default();
    RedoCalibration {
        workload: String::new(),
        redo_bytes: aim,
        rows: u32::from(layout.rows),
        row_bytes: layout.row_bytes,
        commits: growths.len() as u64,
        mean_bytes: mean.round() as u64,
        deviation_bytes: variance.sqrt().round() as u64,
        median_bytes: at(growths.len() / 2),
        least_bytes: at(0),
        most_bytes: at(growths.len().saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Redo as a server made it: 250 bytes per row and 2 % for new pages.
    fn redo_of(layout: RowLayout) -> u64 {
        u64::from(layout.rows) * 250 + layout.payload() * 102 / 100
    }

    #[test]
    fn a_search_ends_at_its_aim() {
        for aim in [300, 1_997, 8_150, 26_931, 126_976, 1 << 20] {
            let mut search = Search::new(aim, 7_900);
            for _ in 0..ROUNDS {
                let mean = redo_of(search.layout().expect("it fits"));
                search.correct(mean);
            }
            let mean = redo_of(search.layout().expect("it fits"));
            assert!(search.is_near(mean), "{aim}: {mean}");
        }
        let search = Search::new(10_000, 7_900);
        for (mean, is_near) in [
            (9_899, false),
            (9_900, true),
            (10_100, true),
            (10_101, false),
        ] {
            assert_eq!(search.is_near(mean), is_near, "{mean}");
        }
        let mut small = Search::new(100, 7_900);
        assert!(!small.correct(270), "there is no smaller row");
    }

    #[test]
    fn a_summary_has_mean_and_spread() {
        let layout = RowLayout {
            rows: 2,
            row_bytes: 30,
        };
        let found = summary(9, layout, &mut [40, 10, 10, 20]);
        assert_eq!((found.mean_bytes, found.median_bytes), (20, 20));
        assert_eq!((found.least_bytes, found.most_bytes), (10, 40));
        assert_eq!((found.deviation_bytes, found.commits), (12, 4));
        assert_eq!((found.rows, found.row_bytes, found.redo_bytes), (2, 30, 9));
    }

    #[test]
    fn the_nearest_measurement_is_kept() {
        let measured = |mean: u64| {
            let layout = RowLayout::of(1_783, 7_000).expect("one row");
            let mut growths = vec![mean; 3];
            let measured = summary(1_997, layout, &mut growths);
            Calibrated { layout, measured }
        };
        for (first, second, kept) in [(1_990, 1_936, 1_990), (1_900, 2_010, 2_010)] {
            let found = nearer(Some(measured(first)), measured(second));
            assert_eq!(found.measured.mean_bytes, kept);
        }
    }
}
