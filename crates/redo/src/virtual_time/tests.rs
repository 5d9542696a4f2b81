//! What queueing theory and order statistics give, against the simulation.

use super::*;

fn quiet(median_us: f64, sigma: f64) -> DiskModel {
    DiskModel {
        median_us,
        sigma,
        tail: Tail::default(),
    }
}

fn setup(disks: Vec<DiskModel>, sessions: u32) -> RaceModel {
    RaceModel {
        disks,
        upstream: Tail::default(),
        overhead_us: 0.0,
        sessions: SessionModel {
            sessions,
            redo_bytes: 500,
            between_us: 400.0,
            wakeup_us: 50.0,
        },
        gather: false,
        commits: 20_000,
        seed: 1,
    }
}

fn mean_us(outcome: &CommitTimes) -> f64 {
    let sum: u64 = outcome.log_file_syncs.iter().sum();
    sum as f64 / outcome.log_file_syncs.len() as f64 / 1000.0
}

/// One session waits for nobody: a log file sync is its log write and its wake-up, and time is the
/// sum of both and of what is between.
#[test]
fn one_session_waits_for_its_own_log_write() {
    let outcome = run(&setup(vec![quiet(200.0, 0.0)], 1));
    assert!(
        outcome.log_file_syncs.iter().all(|ns| *ns == 250_000),
        "each takes 250 us"
    );
    assert_eq!(outcome.log_writes, 20_000);
    let between = outcome.elapsed_ns as f64 / 1000.0 / 20_000.0 - 250.0;
    assert!(
        (between - 400.0).abs() < 12.0,
        "{between} us, 400 with 3 of 1,000 to be expected"
    );
}

/// The mean of a lognormal distribution is its median times exp(sigma squared / 2).
#[test]
fn a_disk_takes_what_its_model_says() {
    let outcome = run(&setup(vec![quiet(200.0, 0.5)], 1));
    let expected = 200.0 * (0.125_f64).exp() + 50.0;
    let mean = mean_us(&outcome);
    assert!((mean - expected).abs() < 4.0, "{mean}, {expected} expected");
    let mut tailed = setup(vec![quiet(200.0, 0.0)], 1);
    tailed.upstream = Tail {
        share: 0.1,
        mean_us: 500.0,
    };
    tailed.overhead_us = 20.0;
    let mean = mean_us(&run(&tailed));
    assert!((mean - 320.0).abs() < 6.0, "{mean}, 320 expected");
}

/// With constant times, a commit that comes while a log write is in flight waits for its rest and
/// for its own: between one and two log writes.
#[test]
fn group_commit_takes_between_one_and_two_log_writes() {
    let outcome = run(&setup(vec![quiet(200.0, 0.0)], 20));
    let (least, most) = (250_000, 450_000);
    assert!(
        outcome
            .log_file_syncs
            .iter()
            .all(|ns| (least..=most).contains(ns))
    );
    assert!(
        outcome.log_writes < 10_000,
        "{} log writes",
        outcome.log_writes
    );
}

/// Of two disks alike the first of two draws counts: the median of the minimum is the quantile at
/// 1 - sqrt(1/2), 29.3 %, of one. Each is first half of the time.
#[test]
fn a_race_takes_the_minimum() {
    let disk = quiet(200.0, 0.5);
    let outcome = run(&setup(vec![disk; 2], 1));
    let mut syncs = outcome.log_file_syncs.clone();
    syncs.sort_unstable();
    let median = syncs[syncs.len() / 2] as f64 / 1000.0 - 50.0;
    // A late member may still be writing the one before, so that it is somewhat more.
    let quantile = 200.0 * (0.5 * -0.5449_f64).exp();
    assert!(
        (0.99..1.08).contains(&(median / quantile)),
        "{median}, {quantile} expected"
    );
    let share = outcome.first[0] as f64 / outcome.log_writes as f64;
    assert!((share - 0.5).abs() < 0.02, "{share}");
}

/// What is in the way to both disks no race hides; what is in one of them it does.
#[test]
fn a_race_hides_what_only_one_disk_has() {
    let rare = Tail {
        share: 0.05,
        mean_us: 20_000.0,
    };
    let slow = DiskModel {
        tail: rare,
        ..quiet(200.0, 0.1)
    };
    let p99 = |setup: &RaceModel| {
        let mut syncs = run(setup).log_file_syncs;
        syncs.sort_unstable();
        syncs[syncs.len() * 99 / 100] / 1000
    };
    let alone = p99(&setup(vec![slow], 4));
    let race = p99(&setup(vec![slow, quiet(220.0, 0.1)], 4));
    let mut before_both = setup(vec![quiet(200.0, 0.1); 2], 4);
    before_both.upstream = rare;
    let upstream = p99(&before_both);
    assert!(alone > 10_000 && upstream > 10_000, "{alone} {upstream}");
    assert!(race < 1_000, "{race}");
}

#[test]
fn a_seed_is_a_history() {
    let with = |seed| {
        let mut setup = setup(vec![quiet(200.0, 0.3); 2], 8);
        setup.seed = seed;
        setup.gather = true;
        run(&setup)
    };
    assert_eq!(with(5), with(5));
    assert_ne!(with(5), with(6));
}
