//! Study 004 in virtual time: 20 sessions commit 200,000 times each, to a disk alone (OFF) and to a
//! race of that disk and flash (ON), behind protected caches.
//!
//! `cargo bench -p redolab-redo --features crash --bench flash_log -- run [COMMITS]` prints the
//! conditions of experiments/smart-flash-logging, one line per figure; `fit` searches the
//! parameters of OFF, and `flash` those of the flash device, which is all that ON has of its own.

use measure::workload::split_mix;
use redo::virtual_time::{CommitTimes, DiskModel, RaceModel, SessionModel, Tail, run};

/// What the study prints of OFF: first quartile, median, mean, third quartile, microseconds.
const OFF: [f64; 4] = [435.0, 481.0, 508.6763, 535.0];
/// The same of ON.
const ON: [f64; 4] = [452.0, 500.0, 542.3583, 567.0];
/// Flash was first in so many per cent of the log writes while ON was measured: 19,190 of 551,342.
const FLASH_FIRST: f64 = 100.0 * 19_190.0 / 551_342.0;
/// Both maxima, 3998 and 3999, look cut at 4 ms.
const CUT_US: f64 = 4000.0;
/// Spread of the flash device: of its times nothing is known but how often it was first.
const FLASH_SIGMA: f64 = 0.4;
/// 20 sessions of 200,000 commits.
const COMMITS: u64 = 4_000_000;
const SEED: u64 = 4;

/// The parameters of OFF: what `fit` found.
#[derive(Clone, Copy, Debug)]
struct Parameters {
    median_us: f64,
    sigma: f64,
    tail: Tail,
    between_us: f64,
    wakeup_us: f64,
}

const FITTED: Parameters = Parameters {
    median_us: 180.9,
    sigma: 0.1435,
    tail: Tail {
        share: 0.01537,
        mean_us: 486.7,
    },
    between_us: 382.4,
    wakeup_us: 201.6,
};

/// Where the tail of OFF is: the study cannot say.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// In the disk: a race can hide it.
    Disk,
    /// Before disk and flash.
    Upstream,
}

fn quiet(median_us: f64, sigma: f64) -> DiskModel {
    let tail = Tail::default();
    DiskModel {
        median_us,
        sigma,
        tail,
    }
}

fn off(of: Parameters, place: Place, commits: u64) -> RaceModel {
    let mut disk = quiet(of.median_us, of.sigma);
    let mut upstream = Tail::default();
    match place {
        Place::Disk => disk.tail = of.tail,
        Place::Upstream => upstream = of.tail,
    }
    RaceModel {
        disks: vec![disk],
        upstream,
        overhead_us: 0.0,
        sessions: SessionModel {
            sessions: 20,
            redo_bytes: 500,
            between_us: of.between_us,
            wakeup_us: of.wakeup_us,
        },
        gather: false,
        commits,
        seed: SEED,
    }
}

/// OFF with a flash device beside the disk and nothing else changed.
fn on(off: &RaceModel, flash: DiskModel, overhead_us: f64) -> RaceModel {
    let mut on = off.clone();
    on.disks.push(flash);
    on.overhead_us = overhead_us;
    on
}

/// The times of a condition, microseconds, in order, without those that the study's data lack.
struct Times {
    kept: Vec<f64>,
    all: Vec<f64>,
}

impl Times {
    fn of(outcome: &CommitTimes) -> Times {
        let mut all: Vec<f64> = outcome
            .log_file_syncs
            .iter()
            .map(|ns| *ns as f64 / 1000.0)
            .collect();
        all.sort_unstable_by(f64::total_cmp);
        let kept = all.iter().copied().filter(|us| *us < CUT_US).collect();
        Times { kept, all }
    }

    /// First quartile, median, mean, third quartile.
    fn summary(&self) -> [f64; 4] {
        let at = |part: f64| self.kept[(part * (self.kept.len() - 1) as f64) as usize];
        let mean = self.kept.iter().sum::<f64>() / self.kept.len() as f64;
        [at(0.25), at(0.5), mean, at(0.75)]
    }

    fn quantile(&self, part: f64) -> f64 {
        self.all[(part * (self.all.len() - 1) as f64) as usize]
    }
}

/// The sum of the squared relative errors.
fn distance(found: [f64; 4], wanted: [f64; 4]) -> f64 {
    let each = found.iter().zip(wanted);
    each.map(|(f, w)| ((f - w) / w).powi(2)).sum()
}

fn flash_first(outcome: &CommitTimes) -> f64 {
    let flash = outcome.first.get(1).copied().unwrap_or(0);
    100.0 * flash as f64 / outcome.log_writes as f64
}

impl Parameters {
    fn each(&mut self) -> [&mut f64; 6] {
        [
            &mut self.median_us,
            &mut self.sigma,
            &mut self.tail.share,
            &mut self.tail.mean_us,
            &mut self.between_us,
            &mut self.wakeup_us,
        ]
    }
}

/// Random steps from the best, larger after a success and smaller after a failure.
fn fit(commits: u64, tries: u32) {
    let mut state = SEED;
    let mut draw = move || (split_mix(&mut state) >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    let error = |of: Parameters| {
        let outcome = run(&off(of, Place::Upstream, commits));
        distance(Times::of(&outcome).summary(), OFF)
    };
    let mut best = FITTED;
    let mut least = error(best);
    let mut step = 0.3;
    for n in 0..tries {
        let mut tried = best;
        for value in tried.each() {
            *value *= (step * draw()).exp();
        }
        let found = error(tried);
        if found < least {
            (best, least, step) = (tried, found, step * 1.5);
            println!("# {n}: {:.2} % {best:?}", 100.0 * (least / 4.0).sqrt());
        } else {
            step = (step * 0.96).max(0.01);
        }
    }
}

/// The flash device of this spread that is first as often as in the study, beside `off`.
fn flash_beside(off: &RaceModel, sigma: f64, overhead_us: f64) -> DiskModel {
    let (mut low, mut high) = (100.0, 2000.0);
    while high / low > 1.0005_f64 {
        let middle = f64::sqrt(low * high);
        let outcome = run(&on(off, quiet(middle, sigma), overhead_us));
        match flash_first(&outcome) > FLASH_FIRST {
            true => low = middle,
            false => high = middle,
        }
    }
    quiet(f64::sqrt(low * high), sigma)
}

/// Local maxima of the density over the logarithm of time, of at least a hundredth of the highest.
fn modes(bins: &[u64]) -> usize {
    let smooth: Vec<u64> = bins.windows(3).map(|three| three.iter().sum()).collect();
    let floor = smooth.iter().max().map_or(0, |most| most / 100);
    let peak =
        |w: &&[u64]| w[2] > floor && w[2] > w[1] && w[2] >= w[3] && w[1] >= w[0] && w[3] >= w[4];
    smooth.windows(5).filter(peak).count()
}

const BINS_PER_DECADE: f64 = 40.0;

fn density(times: &Times) -> Vec<u64> {
    let mut bins = vec![0; (4.0 * BINS_PER_DECADE) as usize];
    for us in &times.kept {
        let bin = (us.max(1.0).log10() * BINS_PER_DECADE) as usize;
        if let Some(bin) = bins.get_mut(bin) {
            *bin += 1;
        }
    }
    bins
}

/// A line of the table.
fn print(name: &str, setup: &RaceModel, study: [f64; 4]) {
    let outcome = run(setup);
    let times = Times::of(&outcome);
    let found = times.summary();
    let bins = density(&times);
    let list = |each: [f64; 4]| each.map(|us| format!("{us:.1}")).join(",");
    let errors = [0, 1, 2, 3].map(|i| 100.0 * (found[i] / study[i] - 1.0));
    let errors = errors.map(|error| format!("{error:.2}")).join(",");
    println!(
        "0,{name},{},{},{},{errors},{:.1},{:.1},{:.2},{}",
        times.all.len(),
        outcome.log_writes,
        list(found),
        times.quantile(0.999),
        times.quantile(1.0),
        flash_first(&outcome),
        modes(&bins),
    );
    for (bin, count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        let from = 10_f64.powf(bin as f64 / BINS_PER_DECADE);
        println!(
            "# density,{name},{from:.1},{:.6}",
            *count as f64 / times.all.len() as f64
        );
    }
}

fn study(commits: u64) {
    println!(
        "round,condition,commits,log_writes,q1_us,median_us,mean_us,q3_us,q1_error,median_error,\
         mean_error,q3_error,p999_us,max_us,flash_first_percent,modes"
    );
    println!("# OFF: {FITTED:?}");
    print("off", &off(FITTED, Place::Upstream, commits), OFF);
    for (place, name) in [(Place::Disk, "disk"), (Place::Upstream, "upstream")] {
        let off = off(FITTED, place, commits);
        let mut short = off.clone();
        short.commits = commits.min(400_000);
        let flash = flash_beside(&short, FLASH_SIGMA, 0.0);
        println!("# tail in {name}: {flash:?}");
        print(&format!("on_{name}"), &on(&off, flash, 0.0), ON);
        let overhead_us = overhead(&short, flash);
        println!("# with an overhead of {overhead_us:.1} us per log write");
        print(
            &format!("on_{name}_overhead"),
            &on(&off, flash, overhead_us),
            ON,
        );
    }
    stalls(commits);
}

/// What a log write has to cost more, so that the median of ON is the study's.
fn overhead(off: &RaceModel, flash: DiskModel) -> f64 {
    let (mut low, mut high) = (0.0, 60.0);
    while high - low > 0.1 {
        let middle = (low + high) / 2.0;
        let outcome = run(&on(off, flash, middle));
        match Times::of(&outcome).summary()[1] < ON[1] {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// The same system with rare stalls in the disk alone, which the cut at 4 ms hides in OFF: there
/// the race wins.
fn stalls(commits: u64) {
    let mut off = off(FITTED, Place::Upstream, commits);
    off.disks[0].tail = Tail {
        share: 0.001,
        mean_us: 20_000.0,
    };
    let mut short = off.clone();
    short.commits = commits.min(400_000);
    let flash = flash_beside(&short, FLASH_SIGMA, 0.0);
    print("stalls_off", &off, OFF);
    let overhead_us = overhead(&short, flash);
    println!("# stalls: {flash:?}, an overhead of {overhead_us:.1} us");
    print("stalls_on", &on(&off, flash, overhead_us), ON);
}

fn main() {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let number = words.get(1).and_then(|word| word.parse().ok());
    match words.first().map(String::as_str) {
        Some("fit") => fit(number.unwrap_or(200_000), 1200),
        Some("run") => study(number.unwrap_or(COMMITS)),
        _ => println!("# skipped without one of the words run and fit"),
    }
}
