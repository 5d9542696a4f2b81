//! `cargo xtask prove mutants`: how many small changes of the product the tests notice.
//!
//! What lives here: the options, two copies of the tree that take mutants in turn, and the summary.
//! Each verdict is appended at once; a later start goes on behind the last.
//!
//! Invariant: the mutants are the first ones of an order that the printed seed decides; one that
//! does not compile is recorded and replaced by the next.

mod draw;
mod ledger;
mod tiers;
mod worker;

use crate::Outcome;
use crate::prove::record;
use draw::PACKAGES;
use ledger::{Choice, Ledger};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use tiers::Tier;
use worker::Worker;

/// Percent of the mutants that tests have to notice.
const NOTICED_PERCENT: usize = 95;
/// Copies of the tree that are worked in at once.
const WORKERS: usize = 3;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    seed: u64,
    /// Mutants of each crate that compile.
    each: usize,
    /// How far each is tested.
    tier: Tier,
    choice: Choice,
}

impl Options {
    /// Reads the words after `mutants`.
    ///
    /// # Errors
    /// When an option is not known or lacks its number.
    pub fn parse(words: &[&str]) -> Outcome<Options> {
        let mut options = Options {
            seed: 9,
            each: 100,
            tier: Tier::Whole,
            choice: Choice::Next,
        };
        let (pairs, rest) = words.as_chunks::<2>();
        if let [word] = rest {
            return Err(format!("{word} needs a value"));
        }
        for [name, value] in pairs {
            let wrong = |_| format!("{name} {value}: not a number");
            match *name {
                "--seed" => options.seed = value.parse().map_err(wrong)?,
                "--each" => options.each = value.parse().map_err(wrong)?,
                "--tier" => options.tier = Tier::parse(value)?,
                "--again" => options.choice = again(value)?,
                "--only" => options.choice = only(value)?,
                _ => {
                    return Err(format!(
                        "no option {name}; there are --seed, --each, --tier, --again, --only"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn again(how: &str) -> Outcome<Choice> {
    if ["survived", "timeout"].contains(&how) {
        return Ok(Choice::Again(how.to_owned()));
    }
    Err(format!("--again {how}: there are survived, timeout"))
}

/// Mutants as `crate:number`, with commas between them.
fn only(list: &str) -> Outcome<Choice> {
    let one = |word: &str| {
        let (package, number) = word.split_once(':')?;
        let known = PACKAGES.contains(&package);
        Some((package.to_owned(), number.parse().ok()?)).filter(|_| known)
    };
    let chosen: Option<Vec<_>> = list.split(',').map(one).collect();
    let wrong = || format!("--only {list}: write CRATE:NUMBER, with commas between them");
    chosen.map(Choice::Only).ok_or_else(wrong)
}

/// Tests the mutants. Whether enough were noticed, and each survivor has its reason.
///
/// # Errors
/// When cargo-mutants is missing, the tests fail without a mutant, or the file cannot be written.
pub fn run(root: &Path, options: &Options) -> Outcome<bool> {
    crate::prove::deny::install("cargo-mutants")?;
    let path = root.join("experiments/mutants/data.csv");
    let list = draw::list(root)?;
    let ledger = Ledger::open(root, &path, &list, options)?;
    let ledger = Mutex::new(ledger);
    println!("building what the tests need");
    let mut first = Worker::new(root, 0)?;
    first.prepare(PACKAGES, options.tier)?;
    let fellows = (1..WORKERS).map(|number| first.fellow(root, number));
    let mut workers = fellows.collect::<Outcome<Vec<Worker>>>()?;
    workers.push(first);
    std::thread::scope(|scope| {
        for worker in workers {
            let ledger = &ledger;
            scope.spawn(move || {
                if let Err(problem) = work(worker, ledger, options.tier) {
                    locked(ledger).problem.get_or_insert(problem);
                }
            });
        }
    });
    let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(problem) = ledger.problem {
        return Err(problem);
    }
    let verdicts = ledger.settle()?;
    println!("verdicts: {}", path.display());
    Ok(summary(&verdicts))
}

fn locked(ledger: &Mutex<Ledger>) -> std::sync::MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(mut worker: Worker, ledger: &Mutex<Ledger>, tier: Tier) -> Outcome<()> {
    loop {
        // Not in the loop's head, where the lock would be held while the mutant is tested.
        let taken = locked(ledger).take();
        let Some(task) = taken else {
            return Ok(());
        };
        let begun = Instant::now();
        let verdict = worker.judge(&task.mutant, task.survived, tier)?;
        let seconds = begun.elapsed().as_secs_f64();
        locked(ledger).decide(&task, &verdict, seconds)?;
    }
}

/// Prints what the verdicts add up to. Whether enough mutants were noticed, and each survivor has
/// its reason.
fn summary(text: &str) -> bool {
    let rows = record::rows(text);
    let is = |row: &BTreeMap<String, String>, column: &str, wanted: &str| {
        row.get(column).is_some_and(|value| value == wanted)
    };
    let (mut noticed, mut all) = (0, 0);
    for package in PACKAGES {
        let mine = || rows.iter().filter(|row| is(row, "package", package));
        let of = |how: &str| mine().filter(|row| is(row, "verdict", how)).count();
        let (caught, late, survived) = (of("caught"), of("timeout"), of("survived"));
        noticed += caught + late;
        all += caught + late + survived;
        println!(
            "{package}: {} of {} mutants noticed ({late} by their time), {survived} survived, {} \
             did not compile",
            caught + late,
            caught + late + survived,
            of("unviable")
        );
    }
    let mut explained = true;
    for row in rows.iter().filter(|row| is(row, "verdict", "survived")) {
        let of = |column: &str| row.get(column).map_or("", String::as_str);
        println!(
            "survived {}: {}: {}",
            of("tier"),
            of("mutation"),
            of("reason")
        );
        explained &= !of("reason").is_empty();
    }
    if !explained {
        println!("a survivor without a reason: write it into the last column");
    }
    noticed * 100 >= all * NOTICED_PERCENT && explained
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_values() {
        let words = [
            "--seed", "7", "--each", "5", "--tier", "fast", "--again", "timeout",
        ];
        let options = Options {
            seed: 7,
            each: 5,
            tier: Tier::Fast,
            choice: Choice::Again("timeout".to_owned()),
        };
        assert_eq!(Options::parse(&words), Ok(options));
        let chosen = Options::parse(&["--only", "redolab-redo:17,redolab-device:3"]);
        let pair = |name: &str, number| (name.to_owned(), number);
        let list = vec![pair("redolab-redo", 17), pair("redolab-device", 3)];
        assert_eq!(chosen.map(|o| o.choice), Ok(Choice::Only(list)));
        for wrong in [
            &["--seed"][..],
            &["--each", "many"],
            &["--fast", "1"],
            &["--tier", "slow"],
            &["--again", "caught"],
            &["--only", "redo:1"],
            &["--only", "redolab-redo:x"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn enough_are_noticed_and_survivors_have_reasons() {
        let verdicts = |caught: usize, survivor: &str| {
            let caught = "redolab-redo,1,caught,a\n".repeat(caught);
            format!("package,number,verdict,mutation,reason\n{caught}{survivor}\n")
        };
        let explained = "redolab-device,2,survived,b,it changes nothing";
        assert!(summary(&verdicts(19, explained)));
        assert!(!summary(&verdicts(18, explained)));
        assert!(!summary(&verdicts(19, "redolab-device,2,survived,b,")));
        assert!(!summary(&verdicts(
            18,
            "redolab-device,2,unviable,b,\nredolab-redo,3,survived,c,d"
        )));
    }
}
