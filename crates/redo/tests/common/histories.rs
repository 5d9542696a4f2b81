//! Searches histories of the crash simulation for a broken promise, on all processors.

use redo::crash::{Coverage, MemberCoverage, Report, RingCoverage};
use redo::planted::{Bug, Planted};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Lives through the history of a seed.
pub type Run = fn(u64, Planted) -> Report;

/// What histories reached.
#[derive(Default)]
pub struct Reached {
    pub all: Coverage,
    pub members: MemberCoverage,
    pub rings: RingCoverage,
}

/// The number in this environment variable.
fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{name}: `{value}` is not a number")),
    )
}

/// A history; a panic in it is a violation too.
fn judged(run: Run, seed: u64, planted: Planted) -> Result<Report, String> {
    let report = catch_unwind(AssertUnwindSafe(|| run(seed, planted)))
        .map_err(|_| String::from("panicked"))?;
    match report.violation {
        Some(what) => Err(what),
        None => Ok(report),
    }
}

/// The first violation among `seeds` histories, lowest seed first, and what was reached.
fn search(run: Run, seeds: Range<u64>, planted: Planted) -> (Option<(u64, String)>, Reached) {
    let (next, seeds) = (AtomicU64::new(seeds.start), seeds.end);
    let found = Mutex::new((None::<(u64, String)>, Reached::default()));
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(8));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut reached = Reached::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    match judged(run, seed, planted) {
                        Ok(report) => {
                            reached.all += &report.coverage;
                            reached.members += &report.members;
                            reached.rings += &report.rings;
                        }
                        Err(what) => {
                            let mut found = found.lock().expect("no one panics with it");
                            if found.0.as_ref().is_none_or(|(first, _)| seed < *first) {
                                found.0 = Some((seed, what));
                            }
                            next.fetch_max(seeds, Ordering::Relaxed);
                        }
                    }
                }
                let mut found = found.lock().expect("no one panics with it");
                found.1.all += &reached.all;
                found.1.members += &reached.members;
                found.1.rings += &reached.rings;
            });
        }
    });
    found.into_inner().expect("all threads are done")
}

/// A planted bug is found within so many histories.
const BUG_SEEDS: u64 = 100_000;

/// A kind of histories, by the test file that lives through them.
pub struct Histories {
    pub file: &'static str,
    pub run: Run,
    pub trace: Run,
}

impl Histories {
    /// Lives through as many as the environment says, or `seeds`, and panics at the first broken
    /// promise. Gives how many there were and what they reached; nothing after one was replayed.
    pub fn hold(&self, seeds: u64) -> Option<(u64, Reached)> {
        if let Some(seed) = number("REDOLAB_CRASH_SEED") {
            let report = (self.trace)(seed, Planted::none());
            println!("{}", report.trace.join("\n"));
            assert_eq!(report.violation, None, "seed {seed}");
            return None;
        }
        let seeds = number("REDOLAB_CRASH_SEEDS").unwrap_or(seeds);
        let from = number("REDOLAB_CRASH_FROM").unwrap_or(0);
        let begun = Instant::now();
        let (violation, reached) = search(self.run, from..from + seeds, Planted::none());
        if let Some((seed, what)) = violation {
            let file = self.file;
            panic!(
                "seed {seed}: {what}\nreplay: REDOLAB_CRASH_SEED={seed} cargo test --release \
                 -p redolab-redo --features crash --test crash {file}::no_promise -- --nocapture"
            );
        }
        let bound = 3.0 / seeds as f64;
        let seconds = begun.elapsed().as_secs_f64();
        println!(
            "{seeds} histories in {seconds:.1} s, 0 violations: below {bound:.1e} a history (95 %)"
        );
        Some((seeds, reached))
    }

    /// Each of these bugs breaks a promise; the search for a rare one begins a little before the
    /// seed that is known to show it.
    pub fn find(&self, bugs: &[(Bug, u64)]) {
        let mut escaped = Vec::new();
        for (bug, from) in bugs {
            let (found, _) = search(self.run, *from..from + BUG_SEEDS, Planted::with(*bug));
            match found {
                Some((seed, what)) => println!("{bug:?}: at seed {seed}, from {from} on: {what}"),
                None => escaped.push(bug),
            }
        }
        assert!(
            escaped.is_empty(),
            "not found in {BUG_SEEDS} seeds: {escaped:?}"
        );
    }

    /// Seeds that once broke a promise keep it.
    pub fn pass(&self, seeds: &[u64]) {
        for seed in seeds {
            let report = (self.trace)(*seed, Planted::none());
            assert_eq!(report.violation, None, "seed {seed}");
        }
    }
}

/// Prints what was reached, and panics where something was reached fewer than `least` times.
pub fn expect_reached(all: &[(&str, u64)], least: u64) {
    for (name, count) in all {
        println!("{count:>10} {name}");
    }
    let missed: Vec<_> = all.iter().filter(|(_, count)| *count < least).collect();
    assert!(
        missed.is_empty(),
        "reached fewer than {least} times: {missed:?}"
    );
}
