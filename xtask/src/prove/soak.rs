//! `cargo xtask prove soak TIME`: the proofs that other seeds repeat, in turn, for as long as is
//! asked for.
//!
//! What lives here: taking turns, each time with other seeds, until the time is up. A part that has
//! begun is not cut short. It stops at the first failure, which names its seed.

use super::tests::{self, PROOFS};
use crate::Outcome;
use std::path::Path;
use std::time::{Duration, Instant};

/// The time that was asked for: minutes, or hours as in `8h`.
///
/// # Errors
/// When it is not a time.
pub fn parse(text: &str) -> Outcome<Duration> {
    let (number, minutes) = match text.strip_suffix('h') {
        Some(hours) => (hours, 60),
        None => (text.strip_suffix('m').unwrap_or(text), 1),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("`{text}` is not a time: write minutes, or hours as in 8h"))?;
    let seconds = number.checked_mul(minutes * 60);
    let seconds = seconds.ok_or_else(|| format!("{text} is longer than can be counted"))?;
    Ok(Duration::from_secs(seconds))
}

/// Runs the parts in turn until `time` is up. Whether all passed.
///
/// # Errors
/// When a part cannot be run.
pub fn run(root: &Path, time: Duration) -> Outcome<bool> {
    let begun = Instant::now();
    // Round 0 is what each proof does by itself.
    for round in 1.. {
        for proof in PROOFS.iter().filter(|proof| proof.repeats) {
            if begun.elapsed() >= time {
                println!("{} whole rounds in {:.0?}", round - 1, begun.elapsed());
                return Ok(true);
            }
            println!("== {}, round {round}", proof.name);
            if !tests::run(root, proof, round, &[])? {
                println!("{} failed in round {round}", proof.name);
                return Ok(false);
            }
        }
    }
    Ok(true)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn minutes_and_hours_are_read() {
        for (text, seconds) in [("5", 300), ("90m", 5_400), ("8h", 28_800), ("0", 0)] {
            assert_eq!(parse(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "h", "-1", "soon", "1.5", "99999999999999999999"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
