//! `cargo xtask prove mutants`: how many small changes of the product the tests notice.
//!
//! What lives here: the options, two copies of the tree that take mutants in turn, and the file of
//! verdicts. Each verdict is appended at once; a later start goes on behind the last.
//!
//! Invariant: the mutants are the first ones of an order that the printed seed decides; one that
//! does not compile is recorded and replaced by the next.

mod draw;
mod tiers;
mod worker;

use crate::Outcome;
use crate::prove::record::{self, Row};
use draw::{Mutant, PACKAGES};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;
use worker::{Verdict, Worker};

const COLUMNS: &str = "package,number,verdict,tier,stage,test,seconds,function,mutation,reason";
/// Copies of the tree that are worked in at once.
const WORKERS: usize = 2;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    seed: u64,
    /// Mutants of each crate that compile.
    each: usize,
}

impl Options {
    /// Reads the words after `mutants`.
    ///
    /// # Errors
    /// When an option is not known or lacks its number.
    pub fn parse(words: &[&str]) -> Outcome<Options> {
        let mut options = Options { seed: 9, each: 100 };
        let (pairs, rest) = words.as_chunks::<2>();
        if let [word] = rest {
            return Err(format!("{word} needs a value"));
        }
        for [name, value] in pairs {
            let wrong = |_| format!("{name} {value}: not a number");
            match *name {
                "--seed" => options.seed = value.parse().map_err(wrong)?,
                "--each" => options.each = value.parse().map_err(wrong)?,
                _ => return Err(format!("no option {name}; there are --seed, --each")),
            }
        }
        Ok(options)
    }
}

/// What has been decided, and what is next.
struct Ledger {
    orders: BTreeMap<&'static str, Vec<Mutant>>,
    next: BTreeMap<&'static str, usize>,
    /// Of each crate those that compile, decided or under way.
    counted: BTreeMap<&'static str, usize>,
    done: BTreeMap<(String, usize), String>,
    each: usize,
    file: std::fs::File,
    begun: Instant,
    problem: Option<String>,
}

/// Tests the mutants. Whether every one that compiles was noticed.
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
    Worker::new(root, 0)?.build(PACKAGES)?;
    std::thread::scope(|scope| {
        for number in 0..WORKERS {
            let ledger = &ledger;
            scope.spawn(move || {
                if let Err(problem) = work(root, number, ledger) {
                    locked(ledger).problem.get_or_insert(problem);
                }
            });
        }
    });
    let ledger = ledger.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(problem) = ledger.problem {
        return Err(problem);
    }
    summary(&path)
}

fn locked(ledger: &Mutex<Ledger>) -> std::sync::MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

fn work(root: &Path, number: usize, ledger: &Mutex<Ledger>) -> Outcome<()> {
    let mut worker = Worker::new(root, number)?;
    loop {
        // Not in the loop's head, where the lock would be held while the mutant is tested.
        let taken = locked(ledger).take();
        let Some((package, number, mutant)) = taken else {
            return Ok(());
        };
        let begun = Instant::now();
        let verdict = worker.judge(&mutant)?;
        let seconds = begun.elapsed().as_secs_f64();
        locked(ledger).decide(package, number, &mutant, &verdict, seconds)?;
    }
}

impl Ledger {
    fn open(root: &Path, path: &Path, list: &[Mutant], options: &Options) -> Outcome<Ledger> {
        let failed = |e: std::io::Error| format!("{}: {e}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let before = std::fs::read_to_string(path).unwrap_or_default();
        let mut file = std::fs::OpenOptions::new();
        let mut file = file.create(true).append(true).open(path).map_err(failed)?;
        if before.is_empty() {
            writeln!(file, "{COLUMNS}").map_err(failed)?;
        }
        let mut note = format!("mutants: seed {}, {} each", options.seed, options.each);
        for package in PACKAGES {
            let listed = list.iter().filter(|m| m.package == *package).count();
            note.push_str(&format!(", {listed} listed of {package}"));
        }
        println!("{note}");
        for line in record::provenance(root, &note) {
            writeln!(file, "{line}").map_err(failed)?;
        }
        let order = |package: &&'static str| (*package, draw::order(list, package, options.seed));
        let mut ledger = Ledger {
            orders: PACKAGES.iter().map(order).collect(),
            next: BTreeMap::new(),
            counted: BTreeMap::new(),
            done: BTreeMap::new(),
            each: options.each,
            file,
            begun: Instant::now(),
            problem: None,
        };
        ledger.recall(&before, path)?;
        Ok(ledger)
    }

    /// Takes over the verdicts of earlier starts; they have to be of the same order.
    fn recall(&mut self, before: &str, path: &Path) -> Outcome<()> {
        for row in record::rows(before) {
            let of = |column: &str| row.get(column).cloned().unwrap_or_default();
            let Some(package) = PACKAGES.iter().find(|p| **p == of("package")) else {
                continue;
            };
            let number: usize = of("number").parse().unwrap_or(usize::MAX);
            let drawn = self.orders.get(package).and_then(|order| order.get(number));
            if drawn.is_none_or(|mutant| mutant.name != of("mutation")) {
                return Err(format!(
                    "{}: mutant {number} of {package} is another one now: the code or the seed \
                     has changed; move the file away to begin again",
                    path.display()
                ));
            }
            if of("verdict") != "unviable" {
                *self.counted.entry(package).or_default() += 1;
            }
            self.done
                .insert(((*package).to_owned(), number), of("verdict"));
        }
        Ok(())
    }

    /// The next mutant that is not decided yet.
    fn take(&mut self) -> Option<(&'static str, usize, Mutant)> {
        if self.problem.is_some() {
            return None;
        }
        for package in PACKAGES {
            let order = self.orders.get(package)?;
            let next = self.next.entry(package).or_default();
            let counted = self.counted.entry(package).or_default();
            while *counted < self.each
                && let Some(mutant) = order.get(*next)
            {
                let number = *next;
                *next += 1;
                if !self.done.contains_key(&((*package).to_owned(), number)) {
                    *counted += 1;
                    return Some((package, number, mutant.clone()));
                }
            }
        }
        None
    }

    fn decide(
        &mut self,
        package: &'static str,
        number: usize,
        mutant: &Mutant,
        verdict: &Verdict,
        seconds: f64,
    ) -> Outcome<()> {
        if verdict.how == "unviable" {
            *self.counted.entry(package).or_default() -= 1;
        }
        let how = verdict.how.to_owned();
        self.done.insert((package.to_owned(), number), how);
        let row: Row = vec![
            package.to_owned(),
            number.to_string(),
            verdict.how.to_owned(),
            verdict.tier.to_owned(),
            verdict.stage.to_owned(),
            verdict.test.clone(),
            format!("{seconds:.1}"),
            mutant.function.clone(),
            mutant.name.clone(),
            String::new(),
        ];
        let line = record::line(&row);
        writeln!(self.file, "{line}").map_err(|e| format!("the file of verdicts: {e}"))?;
        println!(
            "{:>5} done, {:.0?}: {} ({}, {seconds:.0} s) {}",
            self.done.len(),
            self.begun.elapsed(),
            verdict.how,
            verdict.stage,
            mutant.name
        );
        Ok(())
    }
}

/// Prints what the file says. Whether nothing survived.
fn summary(path: &Path) -> Outcome<bool> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let rows = record::rows(&text);
    let mut survivors = 0;
    for package in PACKAGES {
        let of = |column: &str, wanted: &str| {
            let mine = |row: &&BTreeMap<String, String>| {
                row.get("package").is_some_and(|p| p == package)
                    && row.get(column).is_some_and(|value| value == wanted)
            };
            rows.iter().filter(mine).count()
        };
        let (caught, late) = (of("verdict", "caught"), of("verdict", "timeout"));
        let survived = of("verdict", "survived");
        survivors += survived;
        let all = caught + late + survived;
        println!(
            "{package}: {} of {all} mutants noticed ({late} by their time), {survived} survived, \
             {} did not compile",
            caught + late,
            of("verdict", "unviable")
        );
    }
    println!("verdicts: {}", path.display());
    Ok(survivors == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_numbers() {
        let options = Options::parse(&["--seed", "7", "--each", "5"]);
        assert_eq!(options, Ok(Options { seed: 7, each: 5 }));
        for wrong in [&["--seed"][..], &["--each", "many"], &["--fast", "1"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
