//! A load: what is asked for, how far it is, what it came to. Plain data.

use super::scale::WAREHOUSES_MAX;
use std::time::Duration;

/// Connections of a load, at most.
pub const CONNECTIONS_MAX: u32 = 256;

/// What is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// Warehouses.
    pub warehouses: u32,
    /// Seed of all rows.
    pub seed: u64,
    /// Connections that load at the same time.
    pub connections: u32,
}

impl LoadOptions {
    /// Checks the numbers.
    ///
    /// # Errors
    /// The number that is wrong, and which are possible.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=WAREHOUSES_MAX).contains(&self.warehouses) {
            return Err(format!("warehouses: use from 1 to {WAREHOUSES_MAX}"));
        }
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) {
            return Err(format!("connections: use from 1 to {CONNECTIONS_MAX}"));
        }
        Ok(())
    }
}

/// What a load is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadPhase {
    /// Rows are sent; they are counted.
    Rows,
    /// Indexes are built; they are counted.
    Indexes,
    /// Tables are vacuumed and analyzed; they are counted.
    Statistics,
}

impl LoadPhase {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LoadPhase::Rows => "rows",
            LoadPhase::Indexes => "indexes",
            LoadPhase::Statistics => "statistics",
        }
    }
}

/// How far a load is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// What it is doing.
    pub phase: LoadPhase,
    /// How much of that is done.
    pub done: u64,
    /// How much that will be; of rows what is expected.
    pub total: u64,
}

/// What a load came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadResult {
    /// Rows of all tables.
    pub rows: u64,
    /// Time of sending and storing them, indexes not included.
    pub rows_time: Duration,
    /// Time of everything.
    pub time: Duration,
    /// A load that had not ended was removed before.
    pub replaced: bool,
}
