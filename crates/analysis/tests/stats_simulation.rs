//! Statistics against simulated truth: how often do tests cry wolf, do intervals hold what they
//! promise, what do they find?
//!
//! Each test prints its seed and its rates. `REDOLAB_SEED` sets the seed, `REDOLAB_STATS_TRIALS`
//! multiplies the trials (the default stays within seconds of one processor, unoptimised). Limits
//! are the promised rate and three standard deviations of a binomial, so that a sound method fails
//! about once in a thousand seeds, and the default seed is fixed.

use analysis::stats::blocks::{self, Blocks, Statistic};
use analysis::stats::bootstrap::{self, BootstrapPlan, Scheme};
use analysis::stats::pooled::{self, PooledSample};
use analysis::stats::random::Random;
use analysis::stats::{Counts, Moments, change, rank, shift, welch};
use measure::Histogram;

fn setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|t| t.parse().ok()).unwrap_or(default)
}

fn start(test: &str) -> Random {
    let seed = setting("REDOLAB_SEED", 20_261_120);
    println!("{test}: REDOLAB_SEED={seed}");
    Random::new(seed)
}

fn trials(least: u64) -> u64 {
    least * setting("REDOLAB_STATS_TRIALS", 1)
}

/// A share of trials that is at most `promised`, but for chance.
fn at_most(promised: f64, hits: u64, trials: u64, what: &str) {
    let n = trials as f64;
    let limit = promised + 3.0 * (promised * (1.0 - promised) / n).sqrt();
    let rate = hits as f64 / n;
    println!(
        "{what}: {:.2} % of {trials}, limit {:.2} %",
        100.0 * rate,
        100.0 * limit
    );
    assert!(rate <= limit, "{what}: {rate} of {trials}, limit {limit}");
}

fn at_least(promised: f64, hits: u64, trials: u64, what: &str) {
    at_most(
        1.0 - promised,
        trials - hits,
        trials,
        &format!("{what}, missed"),
    );
}

/// Latencies as logs have them: skewed.
fn skewed(r: &mut Random, n: usize) -> Vec<f64> {
    (0..n).map(|_| 400.0 * (0.5 * r.normal()).exp()).collect()
}

/// A series of unit variance with the lag-one autocorrelation `phi`.
fn ar1(r: &mut Random, phi: f64, n: usize) -> Vec<f64> {
    let mut x = r.normal();
    (0..n)
        .map(|_| {
            let now = x;
            x = phi * x + (1.0 - phi * phi).sqrt() * r.normal();
            now
        })
        .collect()
}

#[test]
fn tests_of_equal_samples_cry_wolf_in_five_percent() {
    let mut r = start("A/A of independent values");
    let n = trials(1500);
    let (mut t, mut u, mut outside) = (0, 0, 0);
    for _ in 0..n {
        let (a, b) = (skewed(&mut r, 60), skewed(&mut r, 80));
        let (ma, mb) = (Moments::of(&a).expect("a"), Moments::of(&b).expect("b"));
        t += u64::from(welch::test(&ma, &mb, 0.95).expect("vary").p.value() < 0.05);
        let (ca, cb) = (Counts::of(&a).expect("a"), Counts::of(&b).expect("b"));
        u += u64::from(rank::mann_whitney(&ca, &cb).expect("vary").p.value() < 0.05);
        let hl = shift::hodges_lehmann(&ca, &cb, 0.95).expect("enough");
        outside += u64::from(hl.low > 0.0 || hl.high < 0.0);
    }
    at_most(0.05, t, n, "Welch");
    at_most(0.05, u, n, "Mann-Whitney");
    at_most(0.05, outside, n, "Hodges-Lehmann interval without 0");
}

#[test]
fn bootstrap_intervals_hold_what_they_promise_on_autocorrelated_series() {
    let mut r = start("coverage on AR(1)");
    for (scheme, phi, n, median) in [
        (Scheme::Moving, 0.0, 60, false),
        (Scheme::Moving, 0.5, 150, false),
        (Scheme::Stationary, 0.5, 150, false),
        (Scheme::Moving, 0.8, 400, false),
        (Scheme::Moving, 0.5, 200, true),
    ] {
        let rounds = trials(250);
        let mut held = 0;
        for seed in 0..rounds {
            let x = ar1(&mut r, phi, n);
            let plan = BootstrapPlan {
                scheme,
                resamples: 200,
                seed,
                ..BootstrapPlan::default()
            };
            let mut figure = |v: &mut [f64]| {
                if median {
                    bootstrap::quantile(v, 0.5)
                } else {
                    v.iter().sum::<f64>() / v.len() as f64
                }
            };
            let e = bootstrap::one_sample(&x, &mut figure, &plan)
                .expect("a series")
                .estimate;
            held += u64::from(e.low <= 0.0 && 0.0 <= e.high);
        }
        let what = format!("{scheme:?} phi {phi} n {n} median {median}");
        at_least(0.95, held, rounds, &what);
    }
}

/// A run of one-second intervals: the level wanders (AR(1)), and each second holds some waits.
fn run(r: &mut Random, seconds: usize, waits: usize, slower: f64) -> Blocks {
    let levels = ar1(r, 0.5, seconds);
    let mut blocks = Blocks::new();
    let mut h = Histogram::new();
    for level in levels {
        h.clear();
        for _ in 0..waits {
            let ns = 400_000.0 * slower * (0.05 * level + 0.3 * r.normal()).exp();
            h.record(ns as u64);
        }
        blocks.push(&h);
    }
    blocks
}

const FIGURES: [Statistic; 3] = [
    Statistic::Mean,
    Statistic::Quantile(0.5),
    Statistic::Quantile(0.9),
];

fn significant(a: &Blocks, b: &Blocks, seed: u64) -> [bool; 3] {
    let plan = BootstrapPlan {
        resamples: 150,
        seed,
        ..BootstrapPlan::default()
    };
    let fa = blocks::figures(a, &FIGURES, &plan).expect("intervals");
    let fb = blocks::figures(
        b,
        &FIGURES,
        &BootstrapPlan {
            seed: !seed,
            ..plan
        },
    )
    .expect("intervals");
    [0, 1, 2].map(|i| {
        let r = blocks::ratio(&fa[i], &fb[i], 0.95).expect("positive");
        let outside = r.ratio.low > 1.0 || r.ratio.high < 1.0;
        assert_eq!(outside, r.p.value() < 0.05, "{r:?}");
        outside
    })
}

#[test]
fn equal_runs_differ_in_five_percent_and_slower_ones_are_found() {
    let mut r = start("A/A and power of interval histograms");
    let n = trials(100);
    let mut cried = [0_u64; 3];
    let shifts = [1.02, 1.05, 1.10];
    let mut found = [[0_u64; 3]; 3];
    for seed in 0..n {
        let a = run(&mut r, 40, 25, 1.0);
        let count = |b: &Blocks, into: &mut [u64; 3]| {
            for (count, hit) in into.iter_mut().zip(significant(&a, b, seed)) {
                *count += u64::from(hit);
            }
        };
        count(&run(&mut r, 40, 25, 1.0), &mut cried);
        if seed % 4 == 0 {
            for (shift, found) in shifts.iter().zip(&mut found) {
                count(&run(&mut r, 40, 25, *shift), found);
            }
        }
    }
    for (statistic, cried) in FIGURES.iter().zip(cried) {
        at_most(0.05, cried, n, &format!("A/A {statistic:?}"));
    }
    let tried = n.div_ceil(4);
    for (shift, found) in shifts.iter().zip(&found) {
        println!("power at {shift}: {found:?} of {tried} (mean, median, p90)");
    }
    at_least(0.85, found[2][0], tried, "10 % slower, by the mean");
}

/// Tails of few seconds: what a default run of ten seconds has.
#[test]
fn ten_seconds_of_equal_tails_seldom_differ() {
    let mut r = start("A/A of tails over 10 intervals");
    let n = trials(60);
    let tails = [
        Statistic::Quantile(0.99),
        Statistic::Quantile(0.999),
        Statistic::ShareOver(700_000),
    ];
    let mut cried = [0_u64; 3];
    for seed in 0..n {
        let plan = BootstrapPlan {
            resamples: 150,
            seed,
            ..BootstrapPlan::default()
        };
        let mut draw = |seed| {
            let blocks = run(&mut r, 10, 1500, 1.0);
            blocks::figures(&blocks, &tails, &BootstrapPlan { seed, ..plan }).expect("intervals")
        };
        let (a, b) = (draw(seed), draw(!seed));
        for (i, cried) in cried.iter_mut().enumerate() {
            let ratio = blocks::ratio(&a[i], &b[i], 0.95);
            *cried += u64::from(ratio.is_ok_and(|r| r.p.value() < 0.05));
        }
    }
    for (statistic, cried) in tails.iter().zip(cried) {
        at_most(
            0.05,
            cried,
            n,
            &format!("A/A of 10 intervals, {statistic:?}"),
        );
    }
}

/// Rates of few seconds, as a default run has them.
#[test]
fn ten_seconds_of_equal_throughput_seldom_differ() {
    let mut r = start("A/A of rates over 10 and 60 intervals");
    for (seconds, phi) in [(10, 0.0), (10, 0.4), (60, 0.6)] {
        let n = trials(600);
        let mut cried = 0;
        for seed in 0..n {
            let mut rates = || {
                let mut blocks = Blocks::new();
                for level in ar1(&mut r, phi, seconds) {
                    blocks.push_rate(10_000.0 * (0.04 * level).exp(), 1.0);
                }
                blocks
            };
            let (a, b) = (rates(), rates());
            let plan = BootstrapPlan {
                resamples: 200,
                seed,
                ..BootstrapPlan::default()
            };
            let fa = blocks::figures(&a, &FIGURES[..1], &plan).expect("a");
            let fb = blocks::figures(&b, &FIGURES[..1], &plan).expect("b");
            let ratio = blocks::ratio(&fa[0], &fb[0], 0.95).expect("positive");
            cried += u64::from(ratio.p.value() < 0.05);
        }
        at_most(0.05, cried, n, &format!("{seconds} intervals, phi {phi}"));
    }
}

#[test]
fn series_of_one_level_seldom_change() {
    let mut r = start("change points");
    let n = trials(60);
    for phi in [0.0, 0.5, 0.8] {
        let mut cried = 0;
        for _ in 0..n {
            let x: Vec<f64> = ar1(&mut r, phi, 120).iter().map(|v| 50.0 + v).collect();
            cried += u64::from(change::segments(&x, 3).expect("a series").len() > 1);
        }
        at_most(0.05, cried, n, &format!("change points in none, phi {phi}"));
    }
}

/// Waits of sessions that run at the same time: autocorrelated, disturbed together, in whole
/// numbers.
fn sessions(r: &mut Random, count: usize, n: usize) -> PooledSample {
    let common = ar1(r, 0.95, n);
    let mut sample = PooledSample::default();
    for _ in 0..count {
        let own = ar1(r, 0.8, n);
        for (own, common) in own.iter().zip(&common) {
            let wait = 500.0 + 40.0 * own + 15.0 * common;
            sample.add(wait.round().max(0.0) as u64).expect("small");
        }
        sample.end_sequence().expect("few values");
    }
    sample
}

#[test]
fn pooled_sessions_without_a_difference_differ_in_five_percent() {
    let mut r = start("A/A of pooled sessions");
    let n = trials(300);
    let plan = BootstrapPlan {
        resamples: 200,
        ..BootstrapPlan::default()
    };
    let (mut blocks, mut naive) = (0, 0);
    for _ in 0..n {
        let [a, b] = [(); 2].map(|()| sessions(&mut r, 6, 1500));
        let [ma, mb] = [&a, &b].map(|s| s.moments(1).expect("values"));
        let [ea, eb] = [&a, &b].map(|s| s.mean(&plan).expect("values"));
        let found = pooled::difference(ma.mean - mb.mean, &ea, &eb, 0.95).expect("they vary");
        blocks += u64::from(found.low > 0.0 || found.high < 0.0);
        naive += u64::from(welch::test(&ma, &mb, 0.95).expect("they vary").p.value() < 0.05);
    }
    at_most(0.05, blocks, n, "pooled sessions differ");
    at_least(0.015, blocks, n, "pooled sessions differ at all");
    at_least(0.4, naive, n, "Welch's test of the same sessions differs");
}
