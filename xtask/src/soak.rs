//! `cargo xtask soak MINUTES`: what exceeds the budget of a check, for as long as is asked for.
//!
//! What lives here: the table of parts, and taking turns among them, each time with other seeds,
//! until the time is up. A part that has begun is not cut short. It stops at the first failure,
//! which names its seed.

use crate::{Outcome, cargo};
use std::path::Path;
use std::time::{Duration, Instant};

/// Histories of a round of the crash simulation.
const HISTORIES: u64 = 250_000;
/// Schedules of a round of each test under shuttle.
const SCHEDULES: u64 = 50_000;
/// Kills of a round.
const KILLS: u64 = 500;

struct Part {
    name: &'static str,
    /// Whose tests they are.
    package: &'static str,
    /// What a cargo test command is given.
    arguments: &'static [&'static str],
    /// What its test binary is given.
    filter: &'static [&'static str],
    /// The environment of a round, counted from 0.
    env: fn(u64) -> Vec<(&'static str, String)>,
    /// A target folder of its own, as the checks have them.
    apart: Option<&'static str>,
    /// Once says all; otherwise it is repeated with other seeds.
    once: bool,
}

const PARTS: &[Part] = &[
    Part {
        name: "crash-simulation",
        package: "redolab-redo",
        arguments: &["--features", "crash", "--test", "crash_simulation"],
        filter: &["no_promise"],
        env: |round| {
            vec![
                ("REDOLAB_CRASH_FROM", (round * HISTORIES).to_string()),
                ("REDOLAB_CRASH_SEEDS", HISTORIES.to_string()),
            ]
        },
        apart: None,
        once: false,
    },
    Part {
        name: "schedules",
        package: "redolab-redo",
        arguments: &["--lib", "schedules"],
        filter: &["--skip", "planted"],
        env: |round| {
            vec![
                ("RUSTFLAGS", "--cfg shuttle".to_owned()),
                ("REDO_SCHEDULE_SEED", (round + 2).to_string()),
                ("REDO_SCHEDULES", SCHEDULES.to_string()),
            ]
        },
        apart: Some("shuttle"),
        once: false,
    },
    Part {
        name: "kills",
        package: "redolab-redo",
        arguments: &["--test", "kill"],
        filter: &[],
        env: |_| vec![("REDO_KILLS", KILLS.to_string())],
        apart: None,
        once: false,
    },
    Part {
        name: "flips",
        package: "redolab-redo",
        arguments: &["--test", "corruption"],
        filter: &["no_flip_in_a_mebibyte"],
        env: |_| vec![("REDO_FLIPS", "8".to_owned())],
        apart: None,
        once: true,
    },
    Part {
        name: "interleavings",
        package: "redolab-redo",
        arguments: &["--lib", "interleavings"],
        filter: &[],
        env: |_| {
            vec![
                ("RUSTFLAGS", "--cfg loom".to_owned()),
                ("LOOM_MAX_PREEMPTIONS", "4".to_owned()),
                // Seconds of each model.
                ("LOOM_MAX_DURATION", "600".to_owned()),
            ]
        },
        apart: Some("loom"),
        once: true,
    },
    Part {
        name: "stream",
        package: "redolab",
        arguments: &["--test", "cli"],
        filter: &["a_long_stream"],
        env: |_| vec![("REDOLAB_STREAM_BYTES", "10000000000".to_owned())],
        apart: None,
        once: true,
    },
    Part {
        name: "evidence",
        package: "redolab-analysis",
        arguments: &["--lib", "blocks"],
        filter: &[],
        env: |round| vec![("REDOLAB_IMPORT_SEED", (round + 2).to_string())],
        apart: None,
        once: false,
    },
];

/// The time that was asked for: minutes, or hours as in `8h`.
pub fn parse(text: &str) -> Result<Duration, String> {
    let (number, minutes) = match text.strip_suffix('h') {
        Some(hours) => (hours, 60),
        None => (text.strip_suffix('m').unwrap_or(text), 1),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| format!("`{text}` is no time: write minutes, or hours as in 8h"))?;
    let seconds = number.checked_mul(minutes * 60);
    Ok(Duration::from_secs(
        seconds.ok_or("as long as nobody lives")?,
    ))
}

/// Runs the parts in turn until `time` is up. Whether all passed.
pub fn run(root: &Path, time: Duration) -> Outcome<bool> {
    let begun = Instant::now();
    for round in 0.. {
        for part in PARTS.iter().filter(|part| round == 0 || !part.once) {
            if begun.elapsed() >= time {
                println!("{round} whole rounds in {:.0?}", begun.elapsed());
                return Ok(true);
            }
            println!("== {}, round {}", part.name, round + 1);
            if !carry_out(root, part, round)? {
                println!("{} failed in round {}", part.name, round + 1);
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn carry_out(root: &Path, part: &Part, round: u64) -> Outcome<bool> {
    let mut command = cargo();
    command.args(["test", "--release", "-p", part.package, "--locked"]);
    command.args(part.arguments).arg("--").args(part.filter);
    command.arg("--nocapture").envs((part.env)(round));
    command.current_dir(root);
    if let Some(name) = part.apart {
        let common = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        command.env("CARGO_TARGET_DIR", Path::new(&common).join(name));
    }
    let status = command.status().map_err(|e| format!("cargo test: {e}"))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn each_round_has_seeds_of_its_own() {
        for part in PARTS.iter().filter(|part| part.name != "kills") {
            let (first, second) = ((part.env)(0), (part.env)(1));
            assert_eq!(part.once, first == second, "{}", part.name);
        }
    }
}
