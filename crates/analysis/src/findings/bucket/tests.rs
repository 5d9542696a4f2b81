//! Soaks on volumes with credits, second by second, with the rows behind them; and counterexamples.

use super::*;
use crate::findings::fixture::{clean_run, row, stats};
use crate::findings::{Bad, Caution, Good, findings};
use measure::judgement::{Answer, Finding, Scope, Verdict};
use measure::run::{OpenLoopFigures, RedoFigures};

/// Blocks and redo of a log write of so many commits of LGWR-LAT1.
fn written(commits: f64) -> (f64, f64) {
    let redo = 2_000.0 * commits;
    ((redo / 4_096.0).ceil() * 4_096.0, redo)
}

/// A second in which so many log writes of so many commits pass.
fn second(at: usize, writes: f64, each: f64, sync_ns: f64) -> Interval {
    let (blocks, redo) = written(each);
    Interval {
        t_s: (at + 1) as f64,
        seconds: 1.0,
        commits: (writes * each) as u64,
        redo_bytes: Some((writes * redo) as u64),
        written_bytes: Some((writes * blocks) as u64),
        log_writes: Some(writes as u64),
        log_file_sync_p99_ns: Some((sync_ns * 1.5) as u64),
        ..Interval::default()
    }
}

/// A row of so many log writes per second, each of so many commits.
fn level(name: &str, jobs: u32, seconds: f64, writes: f64, each: f64) -> Row {
    let (blocks, redo) = written(each);
    let tps = writes * each;
    let mut out = row(name, jobs, tps, 1.0, f64::from(jobs) / tps * 1e9);
    let mean_ns = f64::from(jobs) / tps * 1e9;
    out.elapsed_s = Some(seconds);
    out.waits = [(
        "log_file_sync".to_owned(),
        stats((tps * seconds) as u64, mean_ns),
    )]
    .into();
    out.redo = Some(RedoFigures {
        redo_writes_iops: Some(writes),
        redo_data_mbps: Some(writes * redo / MB_BYTES),
        redo_size_bytes: Some((writes * redo * seconds) as u64),
        redo_wastage_bytes: Some((writes * (blocks - redo) * seconds) as u64),
        ..RedoFigures::default()
    });
    out.intervals = (0..seconds as usize)
        .map(|i| second(i, writes, each, mean_ns))
        .collect();
    out
}

/// A soak of 8 jobs with 4 commits per log write: `burst` log writes per second for a minute, then
/// `after`.
fn soak(burst: f64, after: f64) -> Row {
    let mut out = level("soak", 8, 180.0, after, 4.0);
    out.soak = true;
    for (at, interval) in out.intervals.iter_mut().enumerate().take(60) {
        *interval = second(at, burst, 4.0, 1e9 * 8.0 / (burst * 4.0));
    }
    out
}

/// 1,500 log writes per second, then 300; behind the soak 300 with four times the commits in each.
fn requests() -> Run {
    let mut run = clean_run();
    run.rows.extend([
        soak(1_500.0, 300.0),
        level("after-soak", 8, 9.0, 300.0, 4.0),
        level("after-soak", 32, 9.0, 301.0, 16.0),
    ]);
    run
}

/// The same until the bucket is empty; then 300 log writes of 8 KiB, and with 32 jobs 75 of 32 KiB.
fn bytes() -> Run {
    let mut run = requests();
    let last = run.rows.len() - 1;
    run.rows[last] = level("after-soak", 32, 9.0, 75.0, 16.0);
    run
}

fn judged(run: &mut Run) -> (Vec<Finding>, Verdict) {
    run.findings = findings(run, &Thresholds::default());
    let verdict = crate::verdict(run, &run.findings, &run.need, Scope::default());
    (run.findings.clone(), verdict)
}

fn one<'a>(found: &'a [Finding], id: &str) -> &'a Finding {
    let hit = found.iter().find(|f| f.id == id);
    hit.unwrap_or_else(|| panic!("{id} is missing: {found:#?}"))
}

fn number(finding: &Finding, name: &str) -> f64 {
    let hit = finding.numbers.iter().find(|(n, _)| n == name);
    hit.unwrap_or_else(|| panic!("{name} is missing: {finding:#?}"))
        .1
}

/// What was found of steadiness by its id, without whether it was steady.
fn steady(run: &mut Run) -> Vec<String> {
    let (found, _) = judged(run);
    let ids = found.into_iter().map(|f| f.id);
    ids.filter(|id| id.starts_with("steady.") && id != "steady.state")
        .collect()
}

#[test]
fn a_limit_of_requests_lets_larger_writes_pass() {
    let (found, _) = judged(&mut requests());
    let bucket = one(&found, "steady.bucket");
    assert_eq!(bucket.weight, Caution);
    let close = |name: &str, wanted: f64| {
        let is = number(bucket, name);
        assert!((is / wanted - 1.0).abs() < 0.01, "{name} {is}: {bucket:#?}");
    };
    close("emptied_at_s", 60.0);
    close("burst_tps", 6_000.0);
    close("sustained_tps", 1_200.0);
    close("burst_log_writes_per_s", 1_500.0);
    close("refill_log_writes_per_s", 300.0);
    close("bucket_log_writes", 60.0 * 1_200.0);
    close("best_sustained_tps", 4_816.0);
    assert!(bucket.numbers.iter().all(|(name, _)| name != "bucket_mb"));
    for part in [
        "soak with 8 jobs",
        "counts requests",
        "4.00 times as large",
        "at least 72,000",
    ] {
        assert!(bucket.claim.contains(part), "{part}: {}", bucket.claim);
    }
    // 72,000 log writes at 1,200 above the refill, and at 300.
    assert!(bucket.advice.contains("after 60.0 s"), "{}", bucket.advice);
    assert!(
        bucket.advice.contains("4.00 min to refill"),
        "{}",
        bucket.advice
    );
    assert!(found.iter().all(|f| f.id != "steady.step"), "{found:#?}");
}

#[test]
fn a_limit_of_bytes_makes_more_sessions_wait() {
    let (found, _) = judged(&mut bytes());
    let bucket = one(&found, "steady.bucket");
    let refill = 300.0 * 8_192.0 / MB_BYTES;
    assert!((number(bucket, "refill_mbps") / refill - 1.0).abs() < 0.01);
    assert!((number(bucket, "bucket_mb") / (60.0 * 4.0 * refill) - 1.0).abs() < 0.01);
    assert!(bucket.claim.contains("counts bytes"), "{}", bucket.claim);
    assert!(
        bucket.claim.contains("4.00 times as long"),
        "{}",
        bucket.claim
    );
}

/// A change of a run that makes its bucket none, and what it represents.
type Counterexample = (&'static str, fn(&mut Run));

#[test]
fn what_looks_like_a_bucket_and_is_none_stays_a_step() {
    let cases: [Counterexample; 5] = [
        ("no rows behind it", |run| {
            run.rows.truncate(run.rows.len() - 2);
        }),
        ("more sessions get more", |run| {
            *run.rows.last_mut().expect("rows") = level("after-soak", 32, 9.0, 330.0, 16.0);
        }),
        ("writes do not grow, and no wait does", |run| {
            *run.rows.last_mut().expect("rows") = level("after-soak", 32, 9.0, 330.0, 4.0);
        }),
        ("it came back behind the soak", |run| {
            let at = run.rows.len() - 2;
            run.rows[at] = level("after-soak", 8, 9.0, 1_500.0, 4.0);
            run.rows[at + 1] = level("after-soak", 32, 9.0, 1_500.0, 16.0);
        }),
        ("behind a controller", |run| {
            let disk = run.target.stack.layers.last_mut().expect("a disk");
            disk.model = Some("PERC H755 Front".to_owned());
        }),
    ];
    for (name, change) in cases {
        let mut run = requests();
        change(&mut run);
        assert_eq!(steady(&mut run), ["steady.step"], "{name}");
    }
    // A drive whose fast cache is full holds no level.
    let mut run = requests();
    let at = run.rows.len() - 3;
    for (i, interval) in run.rows[at].intervals.iter_mut().enumerate().skip(60) {
        *interval = second(i, 300.0 + 30.0 * f64::from(i as u32 % 3), 4.0, 1e6);
    }
    assert_eq!(steady(&mut run), ["steady.step"]);
    // And a soak that is level is nothing.
    let mut run = requests();
    run.rows[at] = soak(300.0, 300.0);
    assert_eq!(steady(&mut run), [] as [&str; 0]);
}

#[test]
fn a_need_is_judged_by_what_was_sustained() {
    let mut run = requests();
    run.target.stack.layers.last_mut().expect("a disk").model =
        Some("Amazon Elastic Block Store".to_owned());
    // 40,000 in the burst; 4,816 after it, with 32 jobs.
    run.need.commit_rate = Some(10_000.0);
    let (found, verdict) = judged(&mut run);
    let need = one(&found, "need.commit_rate");
    assert_eq!((need.weight, number(need, "burst_tps")), (Bad, 40_000.0));
    assert_eq!(verdict.answer, Answer::No);
    for part in [
        "after the burst the soak sustained 4,816",
        "up to 40,000 before",
    ] {
        assert!(
            verdict.summary.contains(part),
            "{part}: {}",
            verdict.summary
        );
    }
    assert!(found.iter().all(|f| f.id != "need.sustained"), "{found:#?}");
    run.need.commit_rate = Some(3_000.0);
    let (found, verdict) = judged(&mut run);
    assert_eq!(one(&found, "need.commit_rate").weight, Good);
    assert_ne!(verdict.answer, Answer::Undetermined, "{}", verdict.summary);
    // 3,000 per second are 750 log writes, 450 above the refill.
    let advice = &one(&found, "steady.bucket").advice;
    assert!(advice.contains("peak of the stated need"), "{advice}");
    assert!(advice.contains("after 2.67 min"), "{advice}");
    // The bound is kept by what ran after the burst, not before.
    run.need.p99_ns = Some(5_000_000);
    let (found, _) = judged(&mut run);
    let need = one(&found, "need.commit_rate");
    assert_eq!(need.weight, Bad, "{}", need.claim);
    assert!(
        need.claim.contains("no load that ran after the burst"),
        "{}",
        need.claim
    );
    run.need.commit_rate = None;
    let (found, _) = judged(&mut run);
    let need = one(&found, "need.p99");
    assert_eq!(need.weight, Bad, "{}", need.claim);
    assert!(
        need.claim.contains("the lowest after the burst"),
        "{}",
        need.claim
    );
}

#[test]
fn a_rate_of_redo_is_judged_by_the_row_that_writes_the_most() {
    let mut run = requests();
    run.need.redo_bytes_per_s = Some(20.0 * MB_BYTES);
    let (found, _) = judged(&mut run);
    let small = one(&found, "need.redo_rate");
    assert_eq!(small.weight, Bad, "{}", small.claim);
    assert!(small.claim.contains("up to 900 before"), "{}", small.claim);
    run.rows.push(level("after-soak-thr", 2, 9.0, 300.0, 250.0));
    let (found, _) = judged(&mut run);
    let large = one(&found, "need.redo_rate");
    assert_eq!(large.weight, Good, "{}", large.claim);
    assert!(large.claim.contains("after-soak-thr"), "{}", large.claim);
}

#[test]
fn the_envelope_names_burst_and_sustained() {
    let (_, verdict) = judged(&mut requests());
    for part in ["sustained up to 4,816 commits/s", "in bursts up to 40,000"] {
        assert!(
            verdict.summary.contains(part),
            "{part}: {}",
            verdict.summary
        );
    }
}

#[test]
fn an_open_loop_shows_a_cap_by_its_backlog() {
    let open = |grows: bool| {
        let mut run = requests();
        run.rows.truncate(run.rows.len() - 2);
        let soak = run.rows.last_mut().expect("rows");
        soak.jobs = 32;
        soak.open_loop = Some(OpenLoopFigures {
            offered_tps: Some(6_000.0),
            backlog_end: Some(500_000),
            ..OpenLoopFigures::default()
        });
        for (i, interval) in soak.intervals.iter_mut().enumerate() {
            let behind = if grows {
                i.saturating_sub(60) as u64 * 4_800
            } else {
                7
            };
            interval.backlog = Some(behind);
        }
        run
    };
    let mut run = open(true);
    run.need.commit_rate = Some(2_000.0);
    let (found, _) = judged(&mut run);
    let bucket = one(&found, "steady.bucket");
    assert!(
        bucket.claim.contains("does not show which"),
        "{}",
        bucket.claim
    );
    assert!(number(bucket, "bucket_log_writes") > 0.0 && number(bucket, "bucket_mb") > 0.0);
    let need = one(&found, "need.commit_rate");
    assert_eq!((need.weight, number(need, "reached_tps")), (Bad, 1_200.0));
    assert_eq!(steady(&mut open(false)), ["steady.step"]);
}
