//! Bursts, endurance and protection: what a need is judged by, and whose word is taken.

use super::fixture::{clean_run, stats};
use super::*;
use crate::thresholds::Thresholds;
use measure::judgement::{Answer, Durability, Performance, ProductionWait, Scope, Verdict};
use measure::run::{AuditStatus, Interval, NfsRequests};
use measure::stack::{ControllerCache, Declaration, Layer, LayerKind, Protection};

const MB: f64 = 1_048_576.0;

fn judged(run: &Run) -> (Vec<Finding>, Verdict) {
    let found = findings(run, &Thresholds::default());
    let verdict = crate::verdict(run, &found, &run.need, Scope::default());
    (found, verdict)
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

fn disk(run: &mut Run) -> &mut Layer {
    run.target.stack.layers.last_mut().expect("a disk")
}

fn behind_a_controller() -> Run {
    let mut run = clean_run();
    let disk = disk(&mut run);
    disk.model = Some("PERC H755 Front".to_owned());
    (disk.drive_write_cache, disk.detail) = (None, Some("scsi".to_owned()));
    run
}

fn sound_controller() -> ControllerCache {
    ControllerCache {
        name: "storcli: PERC H755 Front".to_owned(),
        protection: Some("Optimal".to_owned()),
        protected: Some(true),
        cache_bytes: Some(8 << 30),
        forced_write_back: Some(false),
        write_through: Some(false),
        drive_caches: Some(false),
    }
}

/// The THR row writes at one rate and then, in its last two fifths, at another.
fn two_rates(run: &mut Run, first: f64, last: f64, seconds: u64) {
    let row = run.rows.last_mut().expect("a row");
    let rate = |i: u64| if i * 5 < seconds * 3 { first } else { last };
    let interval = |i: u64| Interval {
        t_s: (i + 1) as f64,
        seconds: 1.0,
        redo_bytes: Some((rate(i) * MB) as u64),
        ..Interval::default()
    };
    row.intervals = (0..seconds).map(interval).collect();
    let bytes = row.intervals.iter().filter_map(|i| i.redo_bytes).sum();
    row.elapsed_s = Some(seconds as f64);
    let redo = row.redo.get_or_insert_default();
    redo.redo_size_bytes = Some(bytes);
    redo.redo_wastage_bytes = Some(0);
    redo.redo_data_mbps = Some(bytes as f64 / MB / seconds as f64);
}

#[test]
fn redo_behind_a_controller_is_judged_by_what_its_disks_take() {
    let mut run = behind_a_controller();
    run.target.stack.controllers = vec![sound_controller()];
    run.need.redo_bytes_per_s = Some(300.0 * MB);
    // Ten seconds fit the cache: met, for as long as it takes redo.
    let (found, verdict) = judged(&run);
    assert_eq!(one(&found, "need.redo_rate").weight, Good);
    assert!(
        one(&found, "need.sustained")
            .claim
            .contains("drains is not known")
    );
    assert_eq!(
        (verdict.answer, verdict.performance),
        (Answer::Undetermined, Performance::Marginal)
    );
    assert!(
        verdict.summary.contains("drains is not known"),
        "{}",
        verdict.summary
    );
    // 2,000 MB/s into the cache, 200 behind it.
    two_rates(&mut run, 2_000.0, 200.0, 100);
    let (found, verdict) = judged(&run);
    let rate = one(&found, "need.redo_rate");
    assert_eq!((rate.weight, number(rate, "reached_mbps")), (Bad, 200.0));
    assert!((number(rate, "burst_mbps") - 1_280.0).abs() < 1.0);
    assert!(
        rate.claim.contains("behind the controller's cache"),
        "{}",
        rate.claim
    );
    assert_eq!(verdict.answer, Answer::No);
    // Log files that fit the cache never leave it.
    run.target.redo_log_mut().log_file_bytes = 1 << 30;
    assert_eq!(judged(&run).1.answer, Answer::Undetermined);
}

#[test]
fn a_rate_that_a_burst_misses_is_missed() {
    let mut run = behind_a_controller();
    run.need.redo_bytes_per_s = Some(5_000.0 * MB);
    let (found, verdict) = judged(&run);
    assert!(found.iter().all(|f| f.id != "need.sustained"));
    assert_eq!(
        (verdict.answer, verdict.performance),
        (Answer::No, Performance::Misses)
    );
}

#[test]
fn a_cloud_volumes_rate_is_undetermined_before_a_soak() {
    let mut run = clean_run();
    disk(&mut run).model = Some("Amazon Elastic Block Store".to_owned());
    let (_, verdict) = judged(&run);
    assert_eq!(
        verdict.answer,
        Answer::Conditional,
        "no need, no rate to doubt"
    );
    for need in [
        |r: &mut Run| r.need.commit_rate = Some(10_000.0),
        |r: &mut Run| r.need.redo_bytes_per_s = Some(100.0 * MB),
    ] {
        let mut run = run.clone();
        need(&mut run);
        let (found, verdict) = judged(&run);
        assert!(one(&found, "need.sustained").claim.contains("45 minutes"));
        assert_eq!(verdict.answer, Answer::Undetermined, "{}", verdict.summary);
        two_rates(&mut run, 250.0, 125.0, 2_699);
        assert_eq!(
            judged(&run).1.answer,
            Answer::Undetermined,
            "a second short"
        );
        two_rates(&mut run, 250.0, 125.0, 2_700);
        let (found, verdict) = judged(&run);
        assert!(found.iter().all(|f| f.id != "need.sustained"));
        assert_ne!(verdict.answer, Answer::Undetermined, "{}", verdict.summary);
        let spent = one(&found, "steady.step");
        assert_eq!(number(spent, "after_mbps"), 125.0);
        assert!(!verdict.scope.not_judged.iter().any(|n| n.contains("soak")));
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn whose_word_protects_a_disk() {
    let declare = |protection| Declaration {
        protection,
        basis: "data sheet of 2024".to_owned(),
    };
    let volatile = || {
        let mut run = clean_run();
        let disk = disk(&mut run);
        (disk.drive_write_cache, disk.write_cache) = (Some(true), Some("write back".to_owned()));
        run
    };
    let mut cases: Vec<(&str, Run, Durability, Answer)> = Vec::new();
    cases.push((
        "the drive itself",
        clean_run(),
        Durability::Declared,
        Answer::Yes,
    ));
    cases.push((
        "nobody",
        volatile(),
        Durability::Unverified,
        Answer::Conditional,
    ));
    let mut run = volatile();
    run.target.stack.declared = vec![declare(Protection::Plp)];
    cases.push(("the user", run.clone(), Durability::Declared, Answer::Yes));
    run.target.stack.hypervisor = Some("KVM".to_owned());
    cases.push((
        "the user in a guest",
        run,
        Durability::Unverified,
        Answer::Conditional,
    ));
    let mut run = volatile();
    run.target.stack.declared = vec![declare(Protection::Battery)];
    cases.push((
        "of something else",
        run,
        Durability::Unverified,
        Answer::Conditional,
    ));
    let mut run = volatile();
    disk(&mut run).model = Some("Micron_9200_MTFDHAL3T8TCT".to_owned());
    cases.push(("a data sheet", run, Durability::Declared, Answer::Yes));
    let mut run = volatile();
    disk(&mut run).model = Some("INTEL SSDSC2KB960G7".to_owned());
    cases.push((
        "a data sheet, in blanks",
        run,
        Durability::Declared,
        Answer::Yes,
    ));
    let mut run = volatile();
    disk(&mut run).model = Some("Samsung SSD 990 PRO 2TB".to_owned());
    cases.push((
        "a consumer drive",
        run,
        Durability::Unverified,
        Answer::Conditional,
    ));
    cases.push((
        "a controller",
        behind_a_controller(),
        Durability::Unverified,
        Answer::Conditional,
    ));
    let mut run = behind_a_controller();
    run.target.stack.declared = vec![declare(Protection::Battery)];
    cases.push(("an inspection", run, Durability::Declared, Answer::Yes));
    for (name, change, durability, answer) in [
        ("sound", None, Durability::Declared, Answer::Yes),
        (
            "battery failed",
            Some("battery"),
            Durability::Unverified,
            Answer::Conditional,
        ),
        ("forced", Some("forced"), Durability::Volatile, Answer::No),
        (
            "disk caches on",
            Some("disks"),
            Durability::Unverified,
            Answer::Conditional,
        ),
    ] {
        let mut run = behind_a_controller();
        let mut told = sound_controller();
        if matches!(change, Some("battery" | "forced")) {
            (told.protected, told.protection) = (Some(false), Some("Failed".to_owned()));
        }
        told.forced_write_back = Some(change == Some("forced"));
        told.drive_caches = Some(change == Some("disks"));
        run.target.stack.controllers = vec![told];
        cases.push((name, run, durability, answer));
    }
    for (name, run, durability, answer) in cases {
        let (_, verdict) = judged(&run);
        let got = (verdict.durability, verdict.answer);
        assert_eq!(got, (durability, answer), "{name}: {}", verdict.summary);
    }
}

#[test]
fn endurance_is_judged_by_the_need_else_said() {
    let mut run = clean_run();
    // The fixture's device writes 1.1 bytes for each of redo; THR does 900 MB/s.
    run.need.rated_bytes = Some(1e15);
    let (found, _) = judged(&run);
    let said = one(&found, "space.endurance");
    let years = 1e15 / (900.0 * MB * 1.1) / (365.25 * 86_400.0);
    assert_eq!(said.weight, Info);
    assert!((number(said, "years") / years - 1.0).abs() < 1e-6);
    // The fixture's drive has 1 TiB.
    let per_day = 900.0 * MB * 1.1 * 86_400.0 / 2_f64.powi(40);
    assert!((number(said, "drive_writes_per_day") / per_day - 1.0).abs() < 1e-6);
    let rated = 1e15 / (5.0 * 365.25 * 2_f64.powi(40));
    assert!((number(said, "rated_drive_writes_per_day") / rated - 1.0).abs() < 1e-6);
    assert!(
        said.claim
            .contains("drive writes per day (DWPD) of 1.10 TB"),
        "{}",
        said.claim
    );
    for layer in &mut run.target.stack.layers {
        layer.size_bytes = None;
    }
    let (found, _) = judged(&run);
    let said = one(&found, "space.endurance");
    assert!(
        !said.claim.contains("DWPD"),
        "of an unknown size: {}",
        said.claim
    );
    // Ten MB/s: 2.75 years, against five, then against two and a half, then two.
    run.need.redo_bytes_per_s = Some(10.0 * MB);
    for (years, weight, performance) in [
        (None, Bad, Performance::Misses),
        (Some(3.0), Caution, Performance::Marginal),
        (Some(2.0), Good, Performance::Meets),
    ] {
        run.need.years = years;
        let (found, verdict) = judged(&run);
        let lasts = one(&found, "need.endurance");
        assert_eq!(
            (lasts.weight, verdict.performance),
            (weight, performance),
            "{years:?}"
        );
        assert!((number(lasts, "years") - 2.747).abs() < 0.01, "{lasts:?}");
    }
    // By commits: 1,000 a second of 1.9 KB each.
    run.need.redo_bytes_per_s = None;
    run.need.commit_rate = Some(1_000.0);
    let (found, _) = judged(&run);
    assert!(number(one(&found, "need.endurance"), "years") > 10.0);
    run.need.rated_bytes = None;
    let (found, verdict) = judged(&run);
    assert!(found.iter().all(|f| !f.id.contains("endurance")));
    assert_eq!(verdict.answer, Answer::Undetermined, "{}", verdict.summary);
}

#[test]
fn what_zfs_says_of_itself_is_judged() {
    let zfs = |options: &[&str]| {
        let mut run = clean_run();
        run.target.stack.layers = vec![Layer {
            options: options.iter().map(|o| (*o).to_owned()).collect(),
            copy_on_write: Some(true),
            ..Layer::new(LayerKind::FileSystem, "zfs")
        }];
        run.target.stack.depths = vec![0];
        judged(&run)
    };
    let (found, verdict) = zfs(&["rw"]);
    assert!(one(&found, "stack.zfs").claim.contains("could not be read"));
    assert_eq!(
        (verdict.durability, verdict.answer),
        (Durability::Unverified, Answer::Conditional)
    );
    let (found, verdict) = zfs(&[
        "rw",
        "sync=standard",
        "recordsize=131072",
        "logbias=latency",
    ]);
    let told = one(&found, "stack.zfs");
    assert_eq!(number(told, "record_bytes"), 131_072.0);
    assert!(told.claim.contains("sync=standard") && told.claim.contains("logbias=latency"));
    assert_eq!(verdict.answer, Answer::Conditional);
    assert_eq!(zfs(&["rw", "sync=disabled"]).1.answer, Answer::No);
}

#[test]
fn btrfs_in_place_is_no_copy_on_write() {
    for (copies, options, said) in [
        (Some(true), "rw", true),
        (Some(false), "rw", false),
        (None, "rw", true),
        (None, "nodatacow", false),
    ] {
        let mut run = clean_run();
        let fs = &mut run.target.stack.layers[0];
        fs.name = "btrfs".to_owned();
        (fs.copy_on_write, fs.options) = (copies, vec![options.to_owned()]);
        let (found, _) = judged(&run);
        let is_said = found.iter().any(|f| f.id == "stack.copy_on_write");
        assert_eq!(is_said, said, "{copies:?} {options}");
    }
}

#[test]
fn a_flush_that_does_not_grow_is_suspect_only_where_a_cache_has_to_be_emptied() {
    // The fixture's drive has none, and flushes 64 MiB as fast as 4 KiB after direct writes.
    let flat = |run: &Run| {
        judged(run)
            .0
            .into_iter()
            .find(|f| f.id == "durability.flat_flush")
    };
    let mut run = clean_run();
    assert_eq!(flat(&run), None);
    disk(&mut run).drive_write_cache = Some(true);
    disk(&mut run).write_cache = Some("write back".to_owned());
    let found = flat(&run).expect("a volatile cache");
    assert!(found.claim.contains("direct writes"), "{}", found.claim);
    assert_eq!(found.confidence, measure::judgement::Confidence::Low);
    run.floor.last_mut().expect("the large one").flush_mean_ns = 9e6;
    assert_eq!(flat(&run), None, "it grew");
    let mut run = clean_run();
    run.target.stack.hypervisor = Some("KVM".to_owned());
    assert!(flat(&run).is_some(), "a host decides");
}

#[test]
fn requests_of_an_nfs_client_are_shown() {
    let mut run = clean_run();
    for audit in run
        .rows
        .iter_mut()
        .filter_map(|r| r.device.as_mut()?.flush_audit.as_mut())
    {
        audit.status = AuditStatus::LowerBound;
        audit.nfs = Some(NfsRequests {
            writes: 7,
            commits: 100,
        });
    }
    let (found, _) = judged(&run);
    let said = one(&found, "flush.audit");
    assert_eq!(number(said, "nfs_commits"), 300.0);
    assert!(
        said.claim.contains("cannot be seen from here"),
        "{}",
        said.claim
    );
}

#[test]
fn a_long_first_write_of_a_log_is_told() {
    for (max_ns, weight) in [(40_000_000, Info), (600_000_000, Caution)] {
        let mut run = clean_run();
        let mut switch = stats(3, 1e7);
        switch.max_ns = max_ns;
        let waits = &mut run.rows[0].waits;
        waits.insert("log_file_switch_completion".to_owned(), switch);
        let (found, _) = judged(&run);
        let said = one(&found, "space.log_file_switch_completion");
        assert_eq!(said.weight, weight, "{}", said.claim);
    }
}

#[test]
fn the_need_is_set_beside_the_knee() {
    let mut run = clean_run();
    let knee = super::fixture::row("LGWR-LAT1", 32, 40_400.0, 79.0, 700_000.0);
    run.rows.push(knee);
    run.need.commit_rate = Some(30_000.0);
    let (found, _) = judged(&run);
    let said = one(&found, "concurrency.knee");
    assert_eq!(number(said, "need_over_knee_pct"), 75.0);
    assert!(
        said.claim
            .ends_with("The need is 75 % of the rate at the knee."),
        "{}",
        said.claim
    );
}

#[test]
fn the_atomic_unit_is_said_where_there_is_one() {
    let mut run = clean_run();
    assert!(judged(&run).0.iter().all(|f| f.id != "block.atomic"));
    for (unit, words) in [(131_072, "neither"), (512, "checksums")] {
        disk(&mut run).atomic_write_bytes = Some(unit);
        let (found, _) = judged(&run);
        let said = one(&found, "block.atomic");
        assert!(said.claim.contains(words), "{}", said.claim);
    }
}

#[test]
fn every_finding_that_is_made_has_its_confidence_from_the_catalogue() {
    for finding in findings(&clean_run(), &Thresholds::default()) {
        let entry = catalogue::entry(&finding.id);
        let entry = entry.unwrap_or_else(|| panic!("{}", finding.id));
        assert_eq!(finding.confidence, entry.confidence, "{}", finding.id);
    }
}

/// What production waits for, mean in ms.
fn production(event: measure::WaitEvent, mean_ms: f64, is_target: bool) -> ProductionWait {
    ProductionWait {
        event: event.key().to_owned(),
        mean_ns: Some(mean_ms * 1e6),
        p50_ns: None,
        p99_ns: None,
        p999_ns: None,
        is_target,
        place: "a report".to_owned(),
    }
}

#[test]
fn the_waits_of_production_stand_beside_those_of_the_device() {
    use measure::WaitEvent::{LogFileParallelWrite, LogFileSync};
    let mut run = clean_run();
    run.need.commit_rate = Some(1_000.0);
    let own = |run: &Run| {
        let (found, verdict) = judged(run);
        (one(&found, "need.production").clone(), verdict)
    };
    let sync_ms = number(
        &{
            run.need.production = vec![production(LogFileSync, 100.0, true)];
            own(&run).0
        },
        "log_file_sync_device_ms",
    );
    // A target: shorter with headroom, shorter without, longer.
    for (times, weight, performance) in [
        (2.0, Good, Performance::Meets),
        (1.1, Caution, Performance::Marginal),
        (0.5, Bad, Performance::Misses),
    ] {
        run.need.production = vec![production(LogFileSync, times * sync_ms, true)];
        let (said, verdict) = own(&run);
        assert_eq!(
            (said.weight, verdict.performance),
            (weight, performance),
            "{times}"
        );
    }
    // What production suffers from is beaten or not, and is no target.
    run.need.production = vec![production(LogFileSync, 17.1, false)];
    let (said, verdict) = own(&run);
    assert_eq!(said.weight, Good);
    for words in [
        "17.1 ms on average in production",
        "to be beaten",
        "which beats it",
    ] {
        assert!(said.claim.contains(words), "{words}: {}", said.claim);
    }
    assert!(
        verdict.summary.contains("17.1 ms on average in production"),
        "{}",
        verdict.summary
    );
    let open = &verdict.scope.not_judged;
    assert!(
        open.iter()
            .any(|t| t.contains("a target for commit latency")),
        "{open:?}"
    );
    // A slower write leaves commits fast, which is a doubt; without these it is a miss.
    run.need
        .production
        .push(production(LogFileParallelWrite, 0.001, true));
    assert_eq!(own(&run).0.weight, Caution);
    run.need.production.remove(0);
    assert_eq!(own(&run).1.performance, Performance::Misses);
}

/// A rate that is met says nothing of a latency that nobody measured.
#[test]
fn rates_alone_do_not_meet_a_need_with_latency() {
    let mut run = clean_run();
    run.need.commit_rate = Some(1_000.0);
    run.need.production = vec![production(
        measure::WaitEvent::LogFileParallelWrite,
        1.0,
        true,
    )];
    for row in &mut run.rows {
        row.waits.remove("log_file_parallel_write");
    }
    let (_, verdict) = judged(&run);
    assert_ne!(verdict.performance, Performance::Meets);
    let open = &verdict.scope.not_judged;
    let named = open
        .iter()
        .any(|t| t.starts_with("production's log file parallel write (1.00 ms"));
    assert!(named, "{open:?}");
    // Evidence without latency says so.
    run.need.production.clear();
    run.need.sources = vec![measure::judgement::NeedSource {
        quantity: measure::judgement::NeedQuantity::CommitRate,
        place: "a report".to_owned(),
    }];
    let (_, verdict) = judged(&run);
    let open = &verdict.scope.not_judged;
    assert!(
        open.iter()
            .any(|t| t.starts_with("commit latency: the evidence")),
        "{open:?}"
    );
}

/// With under 1,000 waits the 99th percentile is not known: neither kept nor missed.
#[test]
fn an_unknown_percentile_is_not_judged() {
    let mut run = clean_run();
    for row in &mut run.rows {
        super::fixture::set_sync(row, |w| {
            (w.count, w.p99_ns, w.p999_ns) = (700, None, None);
            (w.p50_ns, w.p90_ns, w.max_ns) = (Some(500_000), Some(900_000), 30_000_000);
        });
    }
    for need in [(None, 10_000_000), (Some(1_000.0), 10_000_000)] {
        (run.need.commit_rate, run.need.p99_ns) = (need.0, Some(need.1));
        let (found, verdict) = judged(&run);
        assert!(
            found
                .iter()
                .all(|f| f.id != "need.p99" && f.id != "need.commit_rate"),
            "{need:?}"
        );
        assert_eq!(verdict.answer, Answer::Undetermined, "{need:?}");
        let open = &verdict.scope.not_judged;
        let named = open
            .iter()
            .any(|t| t.contains("p99 not known: under 1,000 waits"));
        assert!(named, "{open:?}");
    }
    // No load reached the rate, whatever its percentile.
    run.need.commit_rate = Some(1e9);
    assert_eq!(judged(&run).1.performance, Performance::Misses);
    // Nine waits of ten are longer already: that is a miss.
    run.need.commit_rate = None;
    run.need.p99_ns = Some(400_000);
    assert_eq!(judged(&run).1.performance, Performance::Misses);
}
