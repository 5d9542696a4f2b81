//! Loading TPROC-C: its progress, and what was loaded.

use super::progress::{Phase, Progress};
use drivers::tprocc::load::{LoadOptions, LoadPhase, LoadProgress, LoadResult};
use measure::words::plural;
use std::cell::RefCell;

/// What was loaded, and how long it took.
#[must_use]
pub fn loaded_in_words(options: &LoadOptions, loaded: &LoadResult) -> String {
    let seconds = loaded.rows_time.as_secs_f64();
    let rate = loaded.rows as f64 / seconds.max(1e-9);
    let replaced = if loaded.replaced {
        "Removed a load that had not ended.\n"
    } else {
        ""
    };
    format!(
        "{replaced}Loaded {}: {} rows in {seconds:.1} s ({rate:.0} rows/s); with indexes and \
         statistics in {:.1} s.\n",
        plural(u64::from(options.warehouses), "warehouse"),
        loaded.rows,
        loaded.time.as_secs_f64()
    )
}

/// The progress of a load as phases.
pub struct ShownLoad {
    progress: Progress,
    phase: RefCell<Option<(LoadPhase, Phase)>>,
}

impl ShownLoad {
    /// Nothing has begun.
    #[must_use]
    pub fn new(progress: Progress) -> ShownLoad {
        ShownLoad {
            progress,
            phase: RefCell::default(),
        }
    }

    /// The load has come so far.
    pub fn at(&self, load: &LoadProgress) {
        let mut phase = self.phase.borrow_mut();
        if phase.as_ref().is_none_or(|(shown, _)| *shown != load.phase) {
            if let Some((_, ended)) = phase.take() {
                ended.done("done");
            }
            let begun = self.progress.phase(load.phase.name(), load.total);
            *phase = Some((load.phase, begun));
        }
        if let Some((_, phase)) = &*phase {
            phase.at(load.done.min(load.total));
        }
    }

    /// It has ended.
    pub fn end(&self) {
        if let Some((_, phase)) = self.phase.take() {
            phase.done("done");
        }
    }
}
