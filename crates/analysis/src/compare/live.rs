//! What interleaved rounds gave, target by target, and how many of them decide anything.
//!
//! Plain data that `rounds` compares; what a difference means is not known here.

use measure::Histogram;
use measure::comparison::{Basis, Difference};
use measure::run::Run;
use std::collections::BTreeMap;

/// One round: a run of all rows on one target.
#[derive(Clone, Debug)]
pub struct Round {
    /// The run.
    pub run: Run,
    /// All waits of each row by event.
    pub merged: Vec<BTreeMap<String, Histogram>>,
}

/// A target with its rounds, all of the same rows.
#[derive(Clone, Debug)]
pub struct LiveSide {
    /// What it is called.
    pub name: String,
    /// Its rounds in the order in which they ran.
    pub rounds: Vec<Round>,
}

/// Rounds below which nothing is decided: of two or three pairs an interval can be narrow by
/// chance.
pub const ROUNDS_MIN: usize = 5;

/// Whether `d` is of so few rounds that it decides nothing.
pub(super) fn undecided(d: &Difference) -> bool {
    d.basis == Basis::Rounds && d.significant.is_none()
}
