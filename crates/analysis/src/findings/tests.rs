//! The clean run cautions about nothing; a table of changes, each of which makes exactly
//! the finding that it should.

use super::fixture::{clean_run, row, set_sync, stats};
use super::*;
use measure::run::*;
use measure::stack::{Layer, LayerKind};

fn set_write(run: &mut Run, change: impl Fn(&mut WaitStats)) {
    for row in &mut run.rows {
        change(
            row.waits
                .get_mut("log_file_parallel_write")
                .expect("the row writes"),
        );
    }
}

/// Log file sync takes half as long again in an interval.
fn slow(interval: &mut Interval) {
    interval.log_file_sync_mean_ns = interval.log_file_sync_mean_ns.map(|ns| ns * 1.5);
}

fn push(run: &mut Run, layer: Layer) {
    run.target.stack.layers.insert(0, layer);
    run.target.stack.depths.insert(0, 0);
}

fn with_options(kind: LayerKind, name: &str, options: &[&str]) -> Layer {
    Layer {
        options: options.iter().map(|o| (*o).to_owned()).collect(),
        ..Layer::new(kind, name)
    }
}

fn fs(run: &mut Run, name: &str, options: &[&str]) {
    run.target.stack.layers[0] = with_options(LayerKind::FileSystem, name, options);
}

fn last_disk(run: &mut Run) -> &mut Layer {
    run.target
        .stack
        .layers
        .last_mut()
        .expect("the run has a disk")
}

fn redo(run: &mut Run, row: usize) -> &mut RedoFigures {
    run.rows[row].redo.get_or_insert_default()
}

fn device(run: &mut Run, row: usize) -> &mut DeviceFigures {
    run.rows[row].device.get_or_insert_default()
}

fn scale(figure: &mut Option<f64>, factor: f64) {
    *figure = figure.map(|value| value * factor);
}

#[test]
fn one_row_that_met_a_neighbour_does_not_put_the_run_in_doubt() {
    let mut run = clean_run();
    let row = run.rows[0].clone();
    run.rows = vec![row; 8];
    run.rows[3]
        .device
        .get_or_insert_default()
        .background_write_pct = Some(30.0);
    assert!(found(&run, "validity.background").is_none());
    let said = found(&run, "load.background").expect("it is said");
    assert_eq!(said.weight, Caution);
    for row in &mut run.rows[..3] {
        row.device.get_or_insert_default().background_write_pct = Some(30.0);
    }
    assert!(found(&run, "validity.background").is_some());
}

/// The finding `id` of a run, if it is made.
fn found(run: &Run, id: &str) -> Option<Finding> {
    let all = findings(run, &Thresholds::default());
    all.into_iter().find(|f| f.id == id)
}

#[test]
fn metadata_of_a_copy_on_write_file_system_is_not_called_a_neighbour() {
    let mut run = clean_run();
    run.rows[0]
        .device
        .get_or_insert_default()
        .background_write_pct = Some(50.0);
    assert!(found(&run, "validity.background").is_some());
    fs(&mut run, "btrfs", &[]);
    assert!(found(&run, "validity.background").is_none());
    let said = found(&run, "load.background").expect("it is still said");
    assert!(
        said.weight == Info && said.claim.contains("metadata"),
        "{said:?}"
    );
}

#[test]
fn littles_law_allows_for_the_ends_of_a_row_and_the_labs_own_time() {
    let mut run = clean_run();
    scale(&mut run.rows[1].commit_latency_ms, 0.95);
    assert!(found(&run, "validity.little").is_some());
    // One transaction that took a tenth of the row explains it.
    run.rows[1].commit_latency = Some(WaitStats {
        max_ns: run.rows[1].elapsed_ns.expect("measured") / 10,
        ..WaitStats::default()
    });
    assert!(found(&run, "validity.little").is_none());
    // Where the row kept what its latencies leave out, that is no excuse, and what it kept is.
    run.rows[1].session_time = Some(SessionTime::default());
    assert!(found(&run, "validity.little").is_some());
    let elapsed_ns = run.rows[1].elapsed_ns.expect("measured");
    let missing = 0.05 * elapsed_ns as f64 * f64::from(run.rows[1].jobs);
    run.rows[1].session_time = Some(SessionTime {
        beyond_ns: (-0.6 * missing) as i64,
        lab_ns: (0.4 * missing) as u64,
    });
    assert!(found(&run, "validity.little").is_none());
}

/// Each figure of a row that was counted twice is compared with its second count.
#[test]
fn a_row_that_was_counted_twice_is_compared_figure_by_figure() {
    let mut run = clean_run();
    let row = &mut run.rows[1];
    let elapsed_ns = row.elapsed_ns.expect("measured");
    row.commit_latency = Some(WaitStats {
        total_ns: elapsed_ns * u64::from(row.jobs),
        ..WaitStats::default()
    });
    row.session_time = Some(SessionTime::default());
    row.cross_check = Some(CrossCheck {
        log_commits: row.commits.expect("measured"),
        uncertain_commits: u64::from(row.jobs),
        window_ns: elapsed_ns,
        sampled: 1000,
        sampled_ns: 100_000_000,
        sampled_recorded_ns: 100_000_000,
        log_bytes: 1000,
        session_bytes: 1000,
        ..CrossCheck::default()
    });
    assert!(found(&run, "validity.little").is_none());
    type Change = fn(&mut Row, &mut CrossCheck);
    let changes: [(&str, Change); 6] = [
        ("timed with another clock", |_, c| {
            c.sampled_recorded_ns += 3_000_000
        }),
        ("that of another clock", |r, _| {
            r.elapsed_ns = r.elapsed_ns.map(|ns| ns + ns * 3 / 100)
        }),
        ("the log writer made the redo of", |_, c| {
            c.log_commits -= c.log_commits / 30
        }),
        ("Session 7 counted", |_, c| {
            (c.miscounted, c.worst) = (
                1,
                Some(SessionCount {
                    session: 7,
                    own: 103,
                    by_log: 100,
                }),
            );
        }),
        ("bytes of redo", |_, c| c.log_bytes += 1),
        ("Throughput times latency", |_, c| {
            c.outside_ns = c.window_ns
        }),
    ];
    for (word, change) in changes {
        let mut run = run.clone();
        let mut check = run.rows[1].cross_check.take().expect("it is there");
        change(&mut run.rows[1], &mut check);
        run.rows[1].cross_check = Some(check);
        let found = found(&run, "validity.little").unwrap_or_else(|| panic!("{word}"));
        assert!(found.claim.contains(word), "{}", found.claim);
    }
}

#[test]
fn times_are_compared_only_where_reading_them_is_certain_enough() {
    // 1,000 transactions, 3 % off.
    let check = |error: Option<u64>, each_ns: u64| CrossCheck {
        sampled: 1000,
        sampled_ns: 1000 * each_ns,
        sampled_recorded_ns: 1030 * each_ns,
        sampled_error_ns: error,
        ..CrossCheck::default()
    };
    assert!(is_sampled(&check(Some(490_000), 100_000)));
    assert!(!is_sampled(&check(Some(510_000), 100_000)));
    // Not measured: 0.5 us from one transaction to another.
    assert!(is_sampled(&check(None, 4_000)));
    assert!(!is_sampled(&check(None, 3_000)));
    // A few that agree by chance: 0.1 us at least.
    assert!(is_sampled(&check(Some(0), 700)));
    assert!(!is_sampled(&check(Some(0), 600)));
}

#[test]
fn one_slow_interval_is_chance() {
    let mut run = clean_run();
    let weight = |run: &Run| found(run, "space.log_switches").map(|f| f.weight);
    redo(&mut run, 1).log_switches = Some(1);
    for (i, wanted) in [(1, Info), (3, Caution)] {
        run.rows[1].intervals[i].log_switches = Some(1);
        slow(&mut run.rows[1].intervals[i]);
        assert_eq!(weight(&run), Some(wanted));
    }
}

#[test]
fn what_has_no_maximum_states_none() {
    let mut run = clean_run();
    let sum_only = WaitStats {
        count: 3,
        total_ns: 4_000_000,
        ..WaitStats::default()
    };
    run.rows[0]
        .waits
        .insert("log_buffer_space".to_owned(), sum_only);
    let said = found(&run, "space.log_buffer_space").expect("it waited");
    assert!(!said.claim.contains("longest"), "{}", said.claim);
}

#[test]
fn a_clean_run_cautions_about_nothing() {
    for finding in findings(&clean_run(), &Thresholds::default()) {
        assert!(finding.weight <= Good, "{}: {}", finding.id, finding.claim);
        assert!(
            !finding.claim.is_empty() && finding.claim.ends_with('.'),
            "{}",
            finding.claim
        );
    }
}

type Case = (&'static str, Weight, fn(&mut Run));

fn stack_cases() -> Vec<Case> {
    use LayerKind as K;
    vec![
        ("stack.volatile", Bad, |r| {
            push(r, Layer::new(K::MemoryFileSystem, "tmpfs"))
        }),
        ("stack.volatile", Bad, |r| {
            push(r, Layer::new(K::Zram, "zram0"))
        }),
        ("stack.volatile", Bad, |r| {
            push(r, Layer::new(K::RamDisk, "ram0"))
        }),
        ("stack.null", Bad, |r| "null".clone_into(&mut r.target.kind)),
        ("stack.overlay", Info, |r| {
            push(r, Layer::new(K::Overlay, "overlay"))
        }),
        ("mount.barrier_off", Bad, |r| {
            push(r, with_options(K::Overlay, "overlay", &["rw", "volatile"]))
        }),
        ("stack.copy_on_write", Caution, |r| fs(r, "btrfs", &["rw"])),
        ("stack.copy_on_write", Caution, |r| fs(r, "zfs", &["rw"])),
        ("mount.barrier_off", Bad, |r| {
            fs(r, "ext4", &["rw", "nobarrier"])
        }),
        ("mount.barrier_off", Bad, |r| fs(r, "ext4", &["barrier=0"])),
        ("mount.barrier_off", Bad, |r| {
            fs(r, "zfs", &["sync=disabled"])
        }),
        ("space.data_journal", Caution, |r| {
            fs(r, "ext4", &["data=journal"])
        }),
    ]
}

fn shared_cases() -> Vec<Case> {
    use LayerKind as K;
    vec![
        ("stack.network", Caution, |r| {
            push(r, Layer::new(K::NetworkFileSystem, "nfs4"))
        }),
        ("mount.soft", Bad, |r| {
            push(
                r,
                with_options(K::NetworkFileSystem, "nfs4", &["soft", "timeo=600"]),
            )
        }),
        ("mount.loose_cache", Caution, |r| {
            push(
                r,
                with_options(K::NetworkFileSystem, "9p", &["cache=loose"]),
            )
        }),
        ("stack.fuse", Caution, |r| {
            push(r, Layer::new(K::FuseFileSystem, "fuse.sshfs"))
        }),
        ("stack.loop", Caution, |r| {
            push(r, Layer::new(K::Loop, "loop0"))
        }),
        ("stack.mapper", Caution, |r| {
            push(
                r,
                Layer {
                    detail: Some("writecache".into()),
                    ..Layer::new(K::DeviceMapper, "dm-0")
                },
            )
        }),
        ("stack.parity", Caution, |r| {
            push(
                r,
                Layer {
                    detail: Some("raid5".into()),
                    ..Layer::new(K::Md, "md0")
                },
            )
        }),
    ]
}

fn disk_cases() -> Vec<Case> {
    vec![
        ("stack.preload", Bad, |r| {
            r.target.stack.preload = Some("libeatmydata.so".into())
        }),
        ("stack.hypervisor", Caution, |r| {
            r.target.stack.hypervisor = Some("KVM".into())
        }),
        ("stack.unknown", Info, |r| {
            r.target.stack.unknown.push("drive's word".into())
        }),
        ("stack.flush_suppressed", Bad, |r| {
            last_disk(r).drive_write_cache = Some(true)
        }),
        ("stack.write_cache", Caution, |r| {
            last_disk(r).drive_write_cache = None
        }),
        ("stack.write_cache", Caution, |r| {
            let d = last_disk(r);
            (d.drive_write_cache, d.write_cache) = (Some(true), Some("write back".into()));
        }),
        ("stack.write_cache", Caution, |r| {
            let d = last_disk(r);
            (d.drive_write_cache, d.write_cache) = (None, None);
        }),
        ("stack.controller", Caution, |r| {
            last_disk(r).model = Some("PERC H730 Mini".into())
        }),
        ("stack.cloud_volume", Caution, |r| {
            last_disk(r).model = Some("Amazon Elastic Block Store".into())
        }),
        ("stack.instance_store", Caution, |r| {
            last_disk(r).model = Some("Amazon EC2 NVMe Instance Storage".into())
        }),
        ("stack.too_fast_to_turn", Caution, |r| {
            last_disk(r).rotational = Some(true)
        }),
        ("block.below_logical", Bad, |r| {
            last_disk(r).logical_block_bytes = Some(4096)
        }),
        ("block.below_physical", Caution, |r| {
            r.target.redo_log_mut().seal_bytes = 512
        }),
        ("block.unwritten_extents", Caution, |r| {
            r.target.redo_log_mut().unwritten_extents = Some(7)
        }),
        ("block.extents_unknown", Info, |r| {
            r.target.redo_log_mut().unwritten_extents = None
        }),
        ("block.raw_device", Info, |r| {
            r.target.kind = "raw_device".into();
            r.target.redo_log_mut().unwritten_extents = None
        }),
    ]
}

fn figure_cases() -> Vec<Case> {
    vec![
        ("latency.write_mean", Info, |r| {
            set_write(r, |w| w.mean_ns = 2e6)
        }),
        ("latency.write_mean", Caution, |r| {
            set_write(r, |w| w.mean_ns = 9e6)
        }),
        ("latency.write_mean", Bad, |r| {
            set_write(r, |w| w.mean_ns = 21e6)
        }),
        ("latency.tail", Caution, |r| {
            set_sync(&mut r.rows[0], |w| w.p999_ns = Some(30_000_000))
        }),
        ("latency.outliers", Caution, |r| {
            set_sync(&mut r.rows[1], |w| w.outliers = 3)
        }),
        ("latency.peaks", Caution, |r| {
            set_write(r, |w| w.max_ns = (w.mean_ns * 80.0) as u64);
            for i in r
                .rows
                .iter_mut()
                .flat_map(|r| r.intervals.iter_mut().take(2))
            {
                i.log_file_parallel_write_max_ns = Some(90_000_000);
                slow(i);
            }
        }),
    ]
}

fn load_cases() -> Vec<Case> {
    vec![
        ("concurrency.knee", Info, |r| {
            r.rows.push(row("LGWR-LAT1", 32, 40_400.0, 79.0, 700_000.0))
        }),
        ("load.processors", Caution, |r| {
            r.rows[1].processors.get_or_insert_default().cpu_busy_pct = Some(97.0)
        }),
        ("load.lab_overhead", Info, |r| {
            r.lab_overhead_ns = Some(50_000.0)
        }),
        ("space.wastage", Caution, |r| {
            let redo = redo(r, 0);
            redo.redo_wastage_bytes = redo.redo_size_bytes.map(|bytes| bytes * 2)
        }),
        ("space.write_amplification", Caution, |r| {
            let bytes = r.rows[0].redo().redo_size_bytes.map(|bytes| bytes * 3);
            device(r, 0).device_written_bytes = bytes
        }),
        ("space.log_switches", Caution, |r| {
            redo(r, 1).log_switches = Some(2);
            for i in [1, 3] {
                r.rows[1].intervals[i].log_switches = Some(1);
                slow(&mut r.rows[1].intervals[i]);
            }
        }),
        (
            "space.log_file_switch_checkpoint_incomplete",
            Caution,
            |r| {
                r.rows[0].waits.insert(
                    "log_file_switch_checkpoint_incomplete".into(),
                    stats(3, 1e6),
                );
            },
        ),
        ("space.log_file_switch_archiving_needed", Caution, |r| {
            r.rows[0]
                .waits
                .insert("log_file_switch_archiving_needed".into(), stats(3, 1e6));
        }),
        ("space.cache_resident", Info, |r| {
            r.target.redo_log_mut().log_file_bytes = 64 << 20
        }),
    ]
}

fn doubt_cases() -> Vec<Case> {
    vec![
        ("validity.io_error", Bad, |r| {
            r.validity.add("io_error", true, "EIO at 4096.")
        }),
        ("validity.clock_step", Caution, |r| {
            r.validity.add("clock_step", false, "The clock stepped.")
        }),
        ("validity.invalid", Bad, |r| r.validity.valid = false),
        ("validity.simulated", Caution, |r| {
            r.origin = Origin::Simulated
        }),
        ("validity.background", Caution, |r| {
            r.rows[0]
                .device
                .get_or_insert_default()
                .background_write_pct = Some(30.0)
        }),
        ("validity.no_commits", Caution, |r| {
            r.rows[0].commits = Some(0)
        }),
        ("validity.little", Caution, |r| {
            scale(&mut r.rows[1].commit_latency_ms, 1.1)
        }),
        ("validity.flushes_missing", Bad, |r| {
            last_disk(r).write_cache = Some("write back".into());
            for a in r
                .rows
                .iter_mut()
                .filter_map(|r| r.device.as_mut()?.flush_audit.as_mut())
            {
                (a.status, a.counted) = (AuditStatus::Missing, Some(3));
            }
        }),
        ("durability.no_flushes_sent", Caution, |r| {
            for a in r
                .rows
                .iter_mut()
                .filter_map(|r| r.device.as_mut()?.flush_audit.as_mut())
            {
                (a.status, a.counted) = (AuditStatus::Missing, Some(0));
            }
        }),
        ("durability.flat_flush", Caution, |r| {
            r.floor[3].flush_mean_ns = 110_000.0
        }),
    ]
}

fn need_cases() -> Vec<Case> {
    vec![
        ("need.commit_rate", Good, |r| {
            r.need.commit_rate = Some(30_000.0)
        }),
        ("need.commit_rate", Caution, |r| {
            r.need.commit_rate = Some(39_000.0)
        }),
        ("need.commit_rate", Bad, |r| {
            r.need.commit_rate = Some(41_000.0)
        }),
        ("need.commit_rate", Bad, |r| {
            (r.need.commit_rate, r.need.p99_ns) = (Some(30_000.0), Some(210_000));
        }),
        ("need.redo_rate", Good, |r| {
            r.need.redo_bytes_per_s = Some(500.0 * 1048576.0)
        }),
        ("need.redo_rate", Bad, |r| {
            r.need.redo_bytes_per_s = Some(1500.0 * 1048576.0)
        }),
        ("need.p99", Good, |r| r.need.p99_ns = Some(1_000_000)),
        ("need.p99", Bad, |r| r.need.p99_ns = Some(100_000)),
    ]
}

fn cases() -> impl Iterator<Item = Case> {
    [
        stack_cases,
        shared_cases,
        disk_cases,
        figure_cases,
        load_cases,
        doubt_cases,
        need_cases,
    ]
    .into_iter()
    .flat_map(|table| table())
}

#[test]
fn each_finding_fires_with_its_weight() {
    let t = Thresholds::default();
    for (id, weight, change) in cases() {
        let mut run = clean_run();
        change(&mut run);
        let found = findings(&run, &t);
        let hit = found.iter().find(|f| f.id == id && f.weight == weight);
        let Some(hit) = hit else {
            let ids: Vec<String> = found
                .iter()
                .map(|f| format!("{} {:?}", f.id, f.weight))
                .collect();
            panic!("{id} {weight:?} did not fire; found {ids:?}");
        };
        let is_bare = hit.numbers.is_empty()
            && axis(id) != FindingAxis::Durability
            && !id.starts_with("validity")
            && id != "block.extents_unknown";
        assert!(!is_bare, "{id} has no numbers");
        assert!(!hit.source.is_empty(), "{id} has no source");
        assert!(hit.claim.ends_with('.'), "{id}: {}", hit.claim);
        assert!(
            weight < Caution || id.starts_with("need.") || !hit.advice.is_empty(),
            "{id}: no advice"
        );
    }
}

#[test]
fn figures_that_a_clean_run_shows_are_said() {
    let found = findings(&clean_run(), &Thresholds::default());
    let number = |id: &str, name: &str| {
        let f = found
            .iter()
            .find(|f| f.id == id)
            .unwrap_or_else(|| panic!("{id} is missing"));
        f.numbers
            .iter()
            .find(|(n, _)| n == name)
            .unwrap_or_else(|| panic!("{id}: {name}"))
            .1
    };
    assert_eq!(number("concurrency.delay", "floor_ms"), 0.09);
    assert!((number("concurrency.delay", "load_tps") - 22_222.2).abs() < 0.1);
    assert!((number("latency.io_share", "highest_io_share_pct") - 80.0).abs() < 1e-6);
    assert_eq!(number("latency.tail", "longest_ms"), 2.4);
    assert!((number("space.wastage", "wastage_pct") - 100.0 / 11.0).abs() < 0.01);
    assert!(found.iter().any(|f| f.id == DECLARED));
}

#[test]
fn an_empty_run_is_no_reason_to_panic() {
    let mut run = clean_run();
    run.rows.clear();
    run.floor.clear();
    run.target = Target::default();
    let found = findings(&run, &Thresholds::default());
    assert!(found.iter().all(|f| f.weight < Bad), "{found:?}");
}

#[test]
fn thresholds_of_the_user_are_applied_and_named() {
    let t =
        Thresholds::parse("cpu_busy_pct = { value = 30, source = \"our rule\" }").expect("valid");
    let found = findings(&clean_run(), &t);
    let cpu = found
        .iter()
        .find(|f| f.id == "load.processors")
        .expect("40 % is over 30 %");
    assert_eq!(
        (cpu.threshold.as_str(), cpu.source.as_str()),
        ("busy over 30 %", "our rule")
    );
}

#[test]
fn what_was_done_without_is_said_and_judges_nothing() {
    let thresholds = Thresholds::default();
    let mut run = clean_run();
    let before = findings(&run, &thresholds).len();
    run.target.redo_log_mut().fallbacks = vec!["io_uring: set up: refused".to_owned()];
    let after = findings(&run, &thresholds);
    assert_eq!(after.len(), before + 1);
    let said = after.iter().find(|f| f.id == "validity.fallback");
    let said = said.expect("it is said");
    assert_eq!(said.weight, Weight::Info);
    assert!(said.claim.contains("io_uring: set up: refused"));
    assert!(run.validity.valid);
}
