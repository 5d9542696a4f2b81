//! The record of each finding: false alarms on healthy inputs, those that other programs made and
//! generated ones apart, and planted faults that it found. `cargo xtask prove findings` runs it
//! whole and publishes the counts; a check takes every tenth input and a few seeds.

#[path = "record/rules.rs"]
mod rules;

use crate::generate::{self, DEFECTS, Seeded, log_faults};
use analysis::findings::catalogue::{self, CatalogueEntry};
use analysis::thresholds::Thresholds;
use evidence::{Import, Options};
use measure::judgement::{Finding, Weight};
use measure::run::Run;
use redolab::experiment::judge::judge;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Where the healthy inputs of other programs are.
const REAL: &str = "../../experiments/findings/healthy";
/// Seeds of each generated kind and of each fault, in a proof and in a check.
const SEEDS: [u64; 2] = [40, 2];
/// A check takes each input of this many.
const EACH: usize = 10;
/// Faults that a finding has to find, percent; some are planted smaller than its threshold.
const RECALL_MIN: f64 = 75.0;

/// Where the counts go; a check has no such file.
fn published() -> Option<String> {
    std::env::var("REDOLAB_FINDINGS_CSV").ok()
}

fn seeds() -> u64 {
    SEEDS[usize::from(published().is_none())]
}

/// Counts of one finding.
#[derive(Default)]
struct Counts {
    /// Inputs and alarms: real, generated.
    healthy: [(u64, u64); 2],
    planted: u64,
    found: u64,
}

/// Of every finding, and what was wrong.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, Counts>,
    alarms: Vec<String>,
    missed: Vec<String>,
}

/// An import that is judged as the command `import` judges it.
fn judged(texts: &[String]) -> Option<Run> {
    let mut import = Import::new(Options::default());
    let mut files = Vec::new();
    for (n, text) in texts.iter().enumerate() {
        let name = format!("f{n:02}");
        let mut reading = import.open(&name, "");
        reading.feed(text.as_bytes()).ok()?;
        import.close(reading).1.ok()?;
        files.push(name);
    }
    let mut run = redolab::intake::run::imported(&files, import, None, &[]);
    judge(&mut run, &Thresholds::default(), Vec::new());
    Some(run)
}

fn is_graver(finding: &Finding) -> bool {
    matches!(finding.weight, Weight::Bad | Weight::Caution)
}

impl Tally {
    fn of(&mut self, entry: &'static CatalogueEntry) -> &mut Counts {
        self.counts.entry(entry.id).or_default()
    }

    /// A healthy input: of each rule that reads one of its tables, whether it was an alarm.
    fn healthy(&mut self, name: &str, run: &Run, which: usize, only: &str) {
        for entry in catalogue::entries().filter(|entry| entry.id.starts_with(only)) {
            let alarm = run
                .findings
                .iter()
                .find(|f| f.id == entry.id && is_graver(f));
            if alarm.is_none() && !rules::applies(entry.id, run) {
                continue;
            }
            let of = &mut self.of(entry).healthy[which];
            of.0 += 1;
            of.1 += u64::from(alarm.is_some());
            if let Some(alarm) = alarm {
                self.alarms
                    .push(format!("{name}: {}: {}", entry.id, alarm.claim));
            }
        }
    }

    fn planted(&mut self, name: &str, id: &str, run: &Run) {
        let entry = catalogue::entry(id).unwrap_or_else(|| panic!("{name}: no finding {id}"));
        let is_found = run.findings.iter().any(|f| f.id == id && is_graver(f));
        let of = self.of(entry);
        of.planted += 1;
        of.found += u64::from(is_found);
        if !is_found {
            self.missed.push(format!("{name}: no {id}"));
        }
    }

    fn csv(&self) -> String {
        let mut out =
            "finding,basis,real_n,real_alarms,generated_n,generated_alarms,planted,found\n"
                .to_owned();
        for (id, of) in &self.counts {
            let entry = catalogue::entry(id).expect("counted by its entry");
            let basis = entry.basis(&Thresholds::default()).word();
            let [real, generated] = of.healthy;
            let _ = writeln!(
                out,
                "{id},{basis},{},{},{},{},{},{}",
                real.0, real.1, generated.0, generated.1, of.planted, of.found
            );
        }
        out
    }
}

/// Inputs of other programs; what cannot be read is counted and has no findings.
fn real(tally: &mut Tally) -> (usize, usize) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(REAL);
    let Ok(listed) = std::fs::read_dir(&folder) else {
        // A package has no experiments.
        return (0, 0);
    };
    let mut files: Vec<_> = listed.map(|file| file.expect("an entry").path()).collect();
    // The list of runs is beside them.
    files.retain(|file| file.extension().is_some_and(|end| end != "csv"));
    files.sort();
    let step = if published().is_some() { 1 } else { EACH };
    let files: Vec<_> = files.iter().step_by(step).collect();
    let mut read = 0;
    for path in &files {
        let text = std::fs::read_to_string(path).expect("text");
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match judged(&[text]) {
            Some(run) => {
                read += 1;
                tally.healthy(&name, &run, 0, "");
            }
            None => println!("{name} is of no kind that is read"),
        }
    }
    (files.len(), read)
}

fn generated(tally: &mut Tally) -> usize {
    let mut inputs = 0;
    for seed in 1..=seeds() {
        for (name, make) in log_faults::HEALTHY_LOGS {
            let run = judged(&make(&mut Seeded(seed))).expect("generated evidence is read");
            tally.healthy(&format!("{name}, seed {seed}"), &run, 1, "");
            inputs += 1;
        }
        // Its figures fit each other; they need not be those of a healthy log.
        for made in generate::all(seed, 60) {
            let name = format!("{} {}, seed {seed}", made.kind, made.layout);
            let run = judged(&[made.text]).expect("generated evidence is read");
            tally.healthy(&name, &run, 1, "evidence.");
            inputs += 1;
        }
    }
    inputs
}

fn planted(tally: &mut Tally) {
    for seed in 1..=seeds() {
        for (name, id, make) in log_faults::LOG_FAULTS {
            let run = judged(&make(&mut Seeded(seed))).expect("generated evidence is read");
            tally.planted(&format!("{name}, seed {seed}"), id, &run);
        }
        for (name, _, id) in DEFECTS.iter().filter(|(.., id)| rules::is_a_caution(id)) {
            let made = generate::defective(name, seed).expect("a known defect");
            let run = judged(&[made.text]).expect("generated evidence is read");
            tally.planted(&format!("{name}, seed {seed}"), id, &run);
        }
    }
}

#[test]
fn findings_have_a_record() {
    let mut tally = Tally::default();
    let (files, read) = real(&mut tally);
    let made = generated(&mut tally);
    planted(&mut tally);
    for alarm in &tally.alarms {
        println!("alarm: {alarm}");
    }
    for missed in &tally.missed {
        println!("missed: {missed}");
    }
    println!("{read} of {files} real inputs were read, {made} were generated");
    for (id, of) in &tally.counts {
        let recall = 100.0 * of.found as f64 / of.planted.max(1) as f64;
        assert!(
            of.planted == 0 || recall >= RECALL_MIN,
            "{id}: finds {recall} % of its faults"
        );
    }
    if let Some(path) = published() {
        std::fs::write(&path, tally.csv()).unwrap_or_else(|e| panic!("{path}: {e}"));
    }
}
