//! Rates that hold, tilt, decay and fall, made second by second.

use super::*;
use crate::findings::fixture::{clean_run, row};
use measure::judgement::{Finding, Weight};
use measure::run::WaitStats;

/// A row of `rates.len()` seconds with these MB/s.
fn seconds(rates: &[f64]) -> Row {
    let mut row = row("LGWR-THR", 8, 1_000.0, mean(rates), 400_000.0);
    row.elapsed_s = Some(rates.len() as f64);
    let interval = |(i, rate): (usize, &f64)| Interval {
        t_s: (i + 1) as f64,
        seconds: 1.0,
        redo_bytes: Some((rate * MB_BYTES) as u64),
        ..Interval::default()
    };
    row.intervals = rates.iter().enumerate().map(interval).collect();
    row
}

fn found(rates: &[f64]) -> Vec<Finding> {
    let mut run = clean_run();
    run.rows = vec![seconds(rates)];
    let mut notes = Vec::new();
    collect(&run, &Thresholds::default(), &mut notes);
    notes.into_iter().map(Note::done).collect()
}

fn ids(found: &[Finding]) -> Vec<(&str, Weight)> {
    found.iter().map(|f| (f.id.as_str(), f.weight)).collect()
}

/// `n` seconds around `level`, with a ripple of 2 %.
fn ripple(level: f64, n: usize) -> Vec<f64> {
    let wave = |i: usize| level * (1.0 + 0.02 * ((i * 7 % 5) as f64 / 2.0 - 1.0));
    (0..n).map(wave).collect()
}

fn number(finding: &Finding, name: &str) -> f64 {
    let found = finding.numbers.iter().find(|(n, _)| n == name);
    found.unwrap_or_else(|| panic!("{name}: {finding:?}")).1
}

#[test]
fn a_level_rate_is_steady() {
    let all = found(&ripple(200.0, 120));
    assert_eq!(ids(&all), [("steady.state", Weight::Good)]);
    assert!((number(&all[0], "rate_mbps") - 200.0).abs() < 2.0);
}

#[test]
fn a_short_row_is_not_spoken_of() {
    assert_eq!(ids(&found(&ripple(200.0, 59))), []);
}

#[test]
fn a_slope_is_not_steady_and_decays() {
    let rates: Vec<f64> = (0..100).map(|i| 300.0 - 1.5 * i as f64).collect();
    let all = found(&rates);
    assert!(
        ids(&all).contains(&("steady.state", Weight::Caution)),
        "{all:#?}"
    );
    let fell = all
        .iter()
        .any(|f| f.id == "steady.decay" || f.id == "steady.step");
    assert!(fell, "{all:#?}");
    // By hand: rounds of ten seconds from 50 on have means 218.25, 203.25, … 158.25.
    let state = all.iter().find(|f| f.id == "steady.state").expect("judged");
    assert!((number(state, "slope_pct") + 100.0 * 60.0 / 188.25).abs() < 1e-6);
    assert!((number(state, "span_pct") - 100.0 * 60.0 / 188.25).abs() < 1e-6);
}

#[test]
fn a_slow_decay_is_told_although_its_end_is_steady() {
    let rates: Vec<f64> = (0..200).map(|i| 200.0 - 0.15 * i as f64).collect();
    let all = found(&rates);
    let wanted = [
        ("steady.state", Weight::Good),
        ("steady.decay", Weight::Caution),
    ];
    assert_eq!(ids(&all), wanted, "{all:#?}");
}

#[test]
fn spent_credits_are_a_step() {
    let mut rates = ripple(250.0, 70);
    rates.extend(ripple(125.0, 130));
    let all = found(&rates);
    let wanted = [
        ("steady.state", Weight::Good),
        ("steady.step", Weight::Caution),
    ];
    assert_eq!(ids(&all), wanted, "{all:#?}");
    assert_eq!(number(&all[1], "at_s"), 70.0);
    assert!((number(&all[1], "before_mbps") - 250.0).abs() < 2.0);
    assert!((number(&all[1], "after_mbps") - 125.0).abs() < 1.0);
}

#[test]
fn noise_is_no_step() {
    // A generator of fixed numbers: the test is the same each time.
    let mut state = 12_345_u64;
    let mut noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        150.0 + (state >> 40) as f64 / (1 << 24) as f64 * 100.0
    };
    let rates: Vec<f64> = (0..200).map(|_| noise()).collect();
    let all = found(&rates);
    assert!(all.iter().all(|f| f.id != "steady.step"), "{all:#?}");
}

/// Three rows at one level with waits that grow with the jobs.
fn capped(levels: [f64; 3], waits_ns: [f64; 3]) -> Run {
    let mut run = clean_run();
    let rows = [2, 8, 32].into_iter().zip(levels.into_iter().zip(waits_ns));
    run.rows = rows
        .map(|(jobs, (mbps, ns))| {
            let mut one = seconds(&ripple(mbps, 10));
            one.jobs = jobs;
            one.redo.get_or_insert_default().redo_data_mbps = Some(mbps);
            let stats = WaitStats {
                count: 1_000,
                mean_ns: ns,
                ..WaitStats::default()
            };
            one.waits.insert("log_file_sync".to_owned(), stats);
            one
        })
        .collect();
    run
}

#[test]
fn a_flat_plateau_whose_latency_grows_is_a_cap() {
    let judge = |run: &Run| {
        let mut notes = Vec::new();
        collect(run, &Thresholds::default(), &mut notes);
        notes.into_iter().map(Note::done).next()
    };
    let run = capped([124.0, 125.0, 125.5], [1e6, 4e6, 16e6]);
    let cap = judge(&run).expect("a cap");
    assert_eq!((cap.id.as_str(), cap.weight), ("steady.cap", Weight::Info));
    assert_eq!(number(&cap, "latency_growth"), 16.0);
    let mut cloud = run.clone();
    let disk = cloud.target.stack.layers.last_mut().expect("a disk");
    disk.model = Some("Amazon Elastic Block Store".to_owned());
    assert_eq!(judge(&cloud).map(|f| f.weight), Some(Weight::Caution));
    // Rising, or flat without longer waits, or limited by processors: none.
    assert_eq!(
        judge(&capped([100.0, 125.0, 150.0], [1e6, 4e6, 16e6])),
        None
    );
    assert_eq!(
        judge(&capped([124.0, 125.0, 125.5], [1e6, 1e6, 1.2e6])),
        None
    );
    let mut busy = run;
    for row in &mut busy.rows {
        row.processors.get_or_insert_default().cpu_busy_pct = Some(99.0);
    }
    assert_eq!(judge(&busy), None);
}

#[test]
fn a_rate_that_rises_or_comes_back_changed_its_level() {
    let mut rates = ripple(200.0, 60);
    rates.extend(ripple(120.0, 40));
    rates.extend(ripple(201.0, 60));
    let all = found(&rates);
    let change = all.iter().find(|f| f.id == "steady.change");
    let change = change.unwrap_or_else(|| panic!("{all:#?}"));
    assert_eq!(number(change, "changes"), 2.0);
    assert!(
        (number(change, "first_change_s") - 60.0).abs() < 3.0,
        "{change:?}"
    );
    assert!(
        change.claim.contains("200 MB/s from 0 s on, 120 MB/s"),
        "{}",
        change.claim
    );
    let mut rises = ripple(100.0, 50);
    rises.extend(ripple(150.0, 50));
    assert!(found(&rises).iter().any(|f| f.id == "steady.change"));
    // A fall that stays is a step, and said once.
    let mut falls = ripple(200.0, 60);
    falls.extend(ripple(100.0, 60));
    let all = found(&falls);
    assert!(all.iter().any(|f| f.id == "steady.step"), "{all:#?}");
    assert!(all.iter().all(|f| f.id != "steady.change"), "{all:#?}");
}
