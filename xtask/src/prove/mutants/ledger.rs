//! What has been decided about the mutants, and which one is next.
//!
//! What lives here: the file of verdicts, and what a start takes up: mutants that only the lower
//! tiers have met, those that were asked for again, and then new ones.
//!
//! Invariant: each verdict is written at once. A later verdict about a mutant replaces the earlier
//! one and keeps the reason that somebody wrote.

use super::Options;
use super::draw::{self, Mutant, PACKAGES};
use super::tiers::Tier;
use super::worker::Verdict;
use crate::Outcome;
use crate::prove::record::{self, Row};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

const COLUMNS: &str = "package,number,verdict,tier,stage,test,seconds,function,mutation,reason";

/// Which mutants a start takes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Those that survived a lower tier than the one asked for, behind that tier; then new ones.
    Next,
    /// Those whose last verdict is this one, from the first stage on.
    Again(String),
    /// These, by crate and number in its order, from the first stage on.
    Only(Vec<(String, usize)>),
}

/// A mutant that a worker is to test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its crate.
    pub package: &'static str,
    /// Its number in the crate's order.
    pub number: usize,
    /// The change.
    pub mutant: Mutant,
    /// The tier that it survived and need not meet again.
    pub survived: Option<Tier>,
}

/// A row of the file, as far as it decides what is next.
struct Decided {
    how: String,
    tier: String,
    reason: String,
}

/// What has been decided, and what is next.
pub struct Ledger {
    orders: BTreeMap<&'static str, Vec<Mutant>>,
    next: BTreeMap<&'static str, usize>,
    /// Of each crate those that compile, decided or under way.
    counted: BTreeMap<&'static str, usize>,
    done: BTreeMap<(&'static str, usize), Decided>,
    /// Decided ones that are taken up once more.
    again: VecDeque<(&'static str, usize, Option<Tier>)>,
    draws: bool,
    each: usize,
    path: PathBuf,
    begun: Instant,
    /// What made a worker give up; no more is taken then.
    pub problem: Option<String>,
}

impl Ledger {
    /// Reads the file of verdicts at `path`, and writes into it what is about to run.
    ///
    /// # Errors
    /// When the file is of another order, or cannot be read or written.
    pub fn open(root: &Path, path: &Path, list: &[Mutant], options: &Options) -> Outcome<Ledger> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let mut text = std::fs::read_to_string(path).unwrap_or_default();
        if text.is_empty() {
            text = format!("{COLUMNS}\n");
        }
        let order = |package: &&'static str| (*package, draw::order(list, package, options.seed));
        let mut ledger = Ledger {
            orders: PACKAGES.iter().map(order).collect(),
            next: BTreeMap::new(),
            counted: BTreeMap::new(),
            done: BTreeMap::new(),
            again: VecDeque::new(),
            draws: options.choice == Choice::Next,
            each: options.each,
            path: path.to_owned(),
            begun: Instant::now(),
            problem: None,
        };
        ledger.recall(&text)?;
        ledger.plan(options)?;
        let (seed, each, tier) = (options.seed, options.each, options.tier.name());
        let mut note = format!("mutants: seed {seed}, {each} each, tier {tier}");
        for package in PACKAGES {
            let listed = list.iter().filter(|m| m.package == *package).count();
            note.push_str(&format!(", {listed} listed of {package}"));
        }
        println!("{note}; {} taken up again", ledger.again.len());
        let mut text = settled(&text);
        for line in record::provenance(root, &note) {
            text.push_str(&line);
            text.push('\n');
        }
        ledger.write(&text)?;
        Ok(ledger)
    }

    fn write(&self, text: &str) -> Outcome<()> {
        std::fs::write(&self.path, text).map_err(|e| format!("{}: {e}", self.path.display()))
    }

    /// Takes over the verdicts of earlier starts; they have to be of the same order.
    fn recall(&mut self, text: &str) -> Outcome<()> {
        for row in record::rows(text) {
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
                    self.path.display()
                ));
            }
            let decided = Decided {
                how: of("verdict"),
                tier: of("tier"),
                reason: of("reason"),
            };
            self.done.insert((*package, number), decided);
        }
        for package in PACKAGES {
            let own = self.done.iter().filter(|((name, _), _)| name == package);
            let counted = own.filter(|(_, decided)| decided.how != "unviable").count();
            self.counted.insert(package, counted);
        }
        Ok(())
    }

    /// Decides which mutants are taken up once more.
    fn plan(&mut self, options: &Options) -> Outcome<()> {
        match &options.choice {
            Choice::Next => {
                for ((package, number), decided) in &self.done {
                    let survived = Tier::parse(&decided.tier)?;
                    if decided.how == "survived" && survived < options.tier {
                        self.again.push_back((*package, *number, Some(survived)));
                    }
                }
            }
            Choice::Again(how) => {
                let chosen = self.done.iter().filter(|(_, decided)| decided.how == *how);
                let chosen = chosen.map(|((package, number), _)| (*package, *number, None));
                self.again = chosen.collect();
            }
            Choice::Only(chosen) => {
                for (name, number) in chosen {
                    let known = self.done.keys().find(|(p, n)| p == name && n == number);
                    let (package, number) =
                        known.ok_or_else(|| format!("{name}:{number} has no verdict yet"))?;
                    self.again.push_back((*package, *number, None));
                }
            }
        }
        Ok(())
    }

    /// The mutant that is to be tested next.
    pub fn take(&mut self) -> Option<Task> {
        if self.problem.is_some() {
            return None;
        }
        if let Some((package, number, survived)) = self.again.pop_front() {
            let mutant = self.orders.get(package)?.get(number)?.clone();
            return Some(Task {
                package,
                number,
                mutant,
                survived,
            });
        }
        if !self.draws {
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
                if !self.done.contains_key(&(*package, number)) {
                    *counted += 1;
                    return Some(Task {
                        package,
                        number,
                        mutant: mutant.clone(),
                        survived: None,
                    });
                }
            }
        }
        None
    }

    /// Writes a verdict down.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn decide(&mut self, task: &Task, verdict: &Verdict, seconds: f64) -> Outcome<()> {
        if verdict.how == "unviable" {
            *self.counted.entry(task.package).or_default() -= 1;
        }
        let key = (task.package, task.number);
        let before = self.done.get(&key).map(|decided| decided.reason.clone());
        let reason = before.filter(|_| verdict.how == "survived");
        let decided = Decided {
            how: verdict.how.to_owned(),
            tier: verdict.tier.name().to_owned(),
            reason: reason.unwrap_or_default(),
        };
        let row: Row = vec![
            task.package.to_owned(),
            task.number.to_string(),
            decided.how.clone(),
            decided.tier.clone(),
            verdict.stage.to_owned(),
            verdict.test.clone(),
            format!("{seconds:.1}"),
            task.mutant.function.clone(),
            task.mutant.name.clone(),
            decided.reason.clone(),
        ];
        self.done.insert(key, decided);
        let failed = |e: std::io::Error| format!("{}: {e}", self.path.display());
        let mut file = std::fs::OpenOptions::new();
        let mut file = file.append(true).open(&self.path).map_err(failed)?;
        writeln!(file, "{}", record::line(&row)).map_err(failed)?;
        println!(
            "{:>5} done, {:.0?}: {} ({}, {seconds:.0} s) {}",
            self.done.len(),
            self.begun.elapsed(),
            verdict.how,
            verdict.stage,
            task.mutant.name
        );
        Ok(())
    }

    /// Removes the rows that later ones replace, and returns what is left.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn settle(&self) -> Outcome<String> {
        let text = std::fs::read_to_string(&self.path);
        let text = text.map_err(|e| format!("{}: {e}", self.path.display()))?;
        let settled = settled(&text);
        self.write(&settled)?;
        Ok(settled)
    }
}

/// The text with the last row of each mutant alone.
fn settled(text: &str) -> String {
    let key = |line: &str| {
        let mut fields = line.split(',');
        let package = fields.next().filter(|name| PACKAGES.contains(name))?;
        Some((package.to_owned(), fields.next()?.to_owned()))
    };
    let mut seen = BTreeSet::new();
    let mut lines: Vec<&str> = text.lines().rev().collect();
    lines.retain(|line| key(line).is_none_or(|key| seen.insert(key)));
    let kept = lines.iter().rev();
    kept.map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that is removed in the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("redolab-mutants-{name}-{}", std::process::id());
            let folder = Folder(std::env::temp_dir().join(name));
            std::fs::create_dir_all(&folder.0).expect("a folder");
            folder
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // It is a temporary folder: what is left does no harm.
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn ledger(folder: &Folder, options: &Options) -> Outcome<Ledger> {
        let list: Vec<Mutant> = (0..6)
            .flat_map(|n| {
                PACKAGES
                    .iter()
                    .map(move |package| draw::tests::mutant(package, n))
            })
            .collect();
        Ledger::open(&crate::root(), &folder.0.join("data.csv"), &list, options)
    }

    fn options(tier: Tier, choice: Choice) -> Options {
        let options = Options::parse(&["--each", "3"]).expect("an option");
        Options {
            tier,
            choice,
            ..options
        }
    }

    /// Takes all that is to be tested, and decides it.
    fn run(ledger: &mut Ledger, how: impl Fn(&Task) -> &'static str, tier: Tier) -> Vec<Task> {
        let mut taken = Vec::new();
        while let Some(task) = ledger.take() {
            let verdict = Verdict {
                how: how(&task),
                stage: "",
                tier,
                test: String::new(),
            };
            ledger.decide(&task, &verdict, 1.0).expect("it is written");
            taken.push(task);
        }
        taken
    }

    #[test]
    fn survivors_of_the_fast_tier_go_on_behind_it_and_others_are_not_tested_again() {
        let folder = Folder::new("go_on");
        let (fast, whole) = (Tier::Fast, Tier::Whole);
        let mut first = ledger(&folder, &options(fast, Choice::Next)).expect("a new file");
        let how = |task: &Task| match task.number {
            0 => "caught",
            1 => "unviable",
            _ => "survived",
        };
        // One of each crate does not compile, so that a fourth is drawn.
        assert_eq!(run(&mut first, how, fast).len(), 2 * 4);
        let mut again = ledger(&folder, &options(fast, Choice::Next)).expect("its file");
        assert_eq!(again.take(), None, "all are decided for this tier");
        let mut later = ledger(&folder, &options(whole, Choice::Next)).expect("its file");
        let taken = run(&mut later, |_| "caught", whole);
        assert_eq!(taken.len(), 2 * 2);
        assert!(taken.iter().all(|task| task.survived == Some(fast)));
        let text = later.settle().expect("it is written");
        let rows = record::rows(&text);
        assert_eq!(rows.len(), 2 * 4, "a row of each mutant: {text}");
        let of = |row: &BTreeMap<String, String>| row.get("verdict").cloned();
        let caught = rows
            .iter()
            .filter(|row| of(row).as_deref() == Some("caught"));
        assert_eq!(caught.count(), 2 * 3);
    }

    #[test]
    fn mutants_are_tested_again_by_verdict_or_number_and_keep_their_reason() {
        let folder = Folder::new("again");
        let (fast, whole) = (Tier::Fast, Tier::Whole);
        let how = |task: &Task| ["timeout", "survived", "caught"][task.number];
        let next = options(fast, Choice::Next);
        run(&mut ledger(&folder, &next).expect("new"), how, fast);
        let path = folder.0.join("data.csv");
        let text = std::fs::read_to_string(&path).expect("it is there");
        let second = format!("{},1,", PACKAGES[0]);
        let explain = |line: &str| match line.starts_with(&second) {
            true => format!("{line}\"no, nobody sees it\"\n"),
            false => format!("{line}\n"),
        };
        let explained: String = text.lines().map(explain).collect();
        std::fs::write(&path, explained).expect("it is written");
        let late = options(whole, Choice::Again("timeout".to_owned()));
        let taken = run(
            &mut ledger(&folder, &late).expect("its file"),
            |_| "caught",
            fast,
        );
        let of = |task: &Task| (task.number, task.survived);
        assert_eq!(taken.iter().map(of).collect::<Vec<_>>(), [(0, None); 2]);
        let one = |number| Choice::Only(vec![(PACKAGES[0].to_owned(), number)]);
        let mut only = ledger(&folder, &options(whole, one(1))).expect("its file");
        assert_eq!(run(&mut only, |_| "survived", whole).len(), 1);
        let rows = record::rows(&only.settle().expect("it is written"));
        let reason = |row: &BTreeMap<String, String>| row.get("reason").cloned();
        let kept = rows.last().and_then(reason);
        assert_eq!(kept.as_deref(), Some("no, nobody sees it"));
        assert!(ledger(&folder, &options(whole, one(5))).is_err());
    }

    #[test]
    fn a_file_of_another_order_is_refused() {
        let folder = Folder::new("another");
        let next = options(Tier::Fast, Choice::Next);
        let text = format!("{COLUMNS}\n{},0,caught,fast,,,1,f,another,\n", PACKAGES[0]);
        std::fs::write(folder.0.join("data.csv"), text).expect("it is written");
        assert!(ledger(&folder, &next).is_err());
    }
}
