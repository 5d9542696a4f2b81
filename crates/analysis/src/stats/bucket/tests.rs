//! Buckets that were generated are found with their parameters; series of other kinds are none.

use super::*;
use crate::stats::random::Random;

const CRITERION: BucketCriterion = BucketCriterion {
    fall: 0.25,
    even: 0.03,
};

fn found(rates: &[f64]) -> Option<EmptiedBucket> {
    emptied(rates, &vec![1.0; rates.len()], &CRITERION).expect("suitable rates")
}

/// `n` intervals of a load of `burst` that a bucket of `tokens` with a refill of `refill` limits.
struct Limiter {
    burst: f64,
    refill: f64,
    tokens: f64,
}

impl Limiter {
    /// Noise as shares of the level, in the burst and after it.
    fn rates(&self, n: usize, (in_burst, after): (f64, f64), r: &mut Random) -> Vec<f64> {
        let mut tokens = self.tokens;
        let mut one = || {
            let wanted = (self.burst * (1.0 + in_burst * r.normal())).max(self.refill);
            let passes = wanted.min(tokens + self.refill);
            tokens -= passes - self.refill;
            let noise = if tokens > 0.0 { 0.0 } else { after };
            passes * (1.0 + noise * r.normal())
        };
        (0..n).map(|_| one()).collect()
    }
}

#[test]
fn a_bucket_is_found_to_the_digit_where_nothing_is_noisy() {
    // 3,000 per second until 60,000 are drained above 500: 24 s.
    let limiter = Limiter {
        burst: 3_000.0,
        refill: 500.0,
        tokens: 60_000.0,
    };
    let rates = limiter.rates(60, (0.0, 0.0), &mut Random::new(1));
    let b = found(&rates).expect("a bucket");
    assert_eq!((b.burst, b.sustained, b.spread), (3_000.0, 500.0, 0.0));
    assert!((b.drained - 60_000.0).abs() < 1e-6, "{b:?}");
    assert!((b.emptied_at - 24.0).abs() < 1e-9, "{b:?}");
    // Empty in the middle of an interval, and intervals of three seconds.
    let limiter = Limiter {
        tokens: 61_000.0,
        ..limiter
    };
    let rates = limiter.rates(60, (0.0, 0.0), &mut Random::new(1));
    let b = emptied(&rates, &[3.0; 60], &CRITERION)
        .expect("suitable rates")
        .expect("a bucket");
    assert!((b.drained - 183_000.0).abs() < 1e-6, "{b:?}");
    assert!((b.emptied_at - 73.2).abs() < 1e-9, "{b:?}");
}

#[test]
fn random_buckets_are_found_within_five_percent() {
    let mut r = Random::new(2026);
    let (mut missed, mut wrong) = (Vec::new(), Vec::new());
    const SERIES: usize = 2_000;
    for at in 0..SERIES {
        let n = 25 + r.below(500);
        let refill = 50.0 * (1.0 + 40.0 * r.uniform());
        let burst = refill * (1.45 + 15.0 * r.uniform().powi(2));
        let lasts = 4.0 + r.uniform() * (n as f64 - 18.0);
        let limiter = Limiter {
            burst,
            refill,
            tokens: lasts * (burst - refill),
        };
        let noise = (0.05 * r.uniform(), 0.015 * r.uniform());
        let rates = limiter.rates(n, noise, &mut r);
        let Some(b) = found(&rates) else {
            missed.push((at, n, burst / refill, lasts, noise));
            continue;
        };
        let off = |found: f64, is: f64| (found / is - 1.0).abs();
        let errors = [
            off(b.burst, burst),
            off(b.sustained, refill),
            off(b.drained, limiter.tokens),
        ];
        if errors.iter().any(|e| *e > 0.05) || (b.emptied_at - lasts).abs() > 1.0 + 0.05 * lasts {
            wrong.push((at, n, burst / refill, lasts, noise, b, errors));
        }
    }
    println!("{} missed, {} wrong of {SERIES}", missed.len(), wrong.len());
    assert!(missed.len() <= SERIES / 50, "{missed:#?}");
    assert!(wrong.len() <= SERIES / 200, "{wrong:#?}");
}

/// A series that is no bucket, and what it is.
fn other(kind: usize, r: &mut Random) -> (&'static str, Vec<f64>) {
    let n = 30 + r.below(400);
    let level = 100.0 * (1.0 + 50.0 * r.uniform());
    let fall = 0.1 + 0.6 * r.uniform();
    let noise = 0.01 + 0.2 * r.uniform();
    let at = 5 + r.below(n - 20);
    let part = |i: usize| i as f64 / n as f64;
    let low = level * fall;
    let mut wander = 0.0;
    let mut rate = |i: usize| -> f64 {
        wander = 0.9 * wander + noise * r.normal();
        let clean = 1.0 + 0.01 * r.normal();
        let step = if i < at { level } else { low };
        match kind {
            0 => level * (1.0 + noise * r.normal()),
            1 => level * (1.0 + wander),
            2 => level * (1.0 - (1.0 - fall) * part(i)) * clean,
            3 => level * (fall + (1.0 - fall) * (-5.0 * part(i)).exp()) * clean,
            // The medium behind a cache that is full.
            4 if i < at => level * clean,
            4 => low * (1.0 + (0.05 + noise) * r.normal()),
            // Two buckets.
            5 if i < at / 2 => level * 2.0 * clean,
            5 => step * clean,
            // A second burst, which an idle time filled.
            6 if i > at + 4 && i < at + 8 => 0.0,
            6 if i >= at + 8 && i < at + 11 => level * clean,
            6 => step * clean,
            // A dip every ten intervals.
            7 if i % 10 < 2 => low * clean,
            7 => level * clean,
            8 => level * (fall + (1.0 - fall) * part(i)) * clean,
            // It comes back.
            _ if i < n - 6 => step * clean,
            _ => level * clean,
        }
    };
    let names = [
        "healthy",
        "wandering",
        "sliding",
        "settling",
        "noisy after a step",
        "two buckets",
        "a second burst",
        "dips",
        "rising",
        "coming back",
    ];
    let rates = (0..n).map(|i| rate(i).max(0.0)).collect();
    (names[kind], rates)
}

#[test]
fn what_is_no_bucket_is_not_called_one() {
    let mut r = Random::new(77);
    let mut called: Vec<(&str, Vec<f64>, EmptiedBucket)> = Vec::new();
    const SERIES: usize = 500;
    for kind in 0..10 {
        for _ in 0..SERIES {
            let (name, rates) = other(kind, &mut r);
            if let Some(b) = found(&rates) {
                called.push((name, rates, b));
            }
        }
    }
    let mut counts = std::collections::BTreeMap::new();
    for (name, ..) in &called {
        *counts.entry(*name).or_insert(0_usize) += 1;
    }
    println!("called a bucket, of {SERIES} each: {counts:?}");
    assert!(called.is_empty(), "{counts:?} {:?}", called.first());
}

#[test]
fn short_empty_and_impossible_series_are_none_or_refused() {
    for rates in [&[1.0][..], &[5.0; 8], &[0.0; 40], &[9.0, 9.0, 9.0, 1.0]] {
        assert_eq!(found(rates), None, "{rates:?}");
    }
    // A device that stopped has no refill.
    let dead: Vec<f64> = (0..40).map(|i| if i < 20 { 9.0 } else { 0.0 }).collect();
    assert_eq!(found(&dead), None);
    for (rates, lengths) in [
        (&[][..], &[][..]),
        (&[1.0], &[]),
        (&[-1.0], &[1.0]),
        (&[1.0], &[0.0]),
        (&[f64::NAN], &[1.0]),
    ] {
        assert!(emptied(rates, lengths, &CRITERION).is_err(), "{rates:?}");
    }
}

#[test]
fn a_dip_and_what_it_held_back_are_no_second_burst() {
    let mut rates = vec![1_000.0; 20];
    rates.extend([100.0; 40]);
    (rates[35], rates[36]) = (50.0, 150.0);
    assert!(found(&rates).is_some());
    // More than was held back came from somewhere else.
    rates[36] = 400.0;
    assert_eq!(found(&rates), None);
}
