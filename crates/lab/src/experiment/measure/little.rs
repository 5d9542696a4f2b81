//! Little's law of real rows: honest ones obey it, and a lie of 3 % in one figure is found.
//!
//! The rows are short and the machine may be loaded: what the law allows must not depend on either.

use super::fixture::in_a_quiet_lab;
use super::load::CommitApi;
use super::planted::{Lie, PlantedLie};
use super::row::{self, Spec};
use crate::cleanup::WorkFolder;
use crate::experiment::target::{LoadTarget, Setup};
use analysis::findings::is_sampled;
use analysis::thresholds::Thresholds;
use measure::Nanos;
use measure::judgement::{Finding, Need};
use measure::run::{Environment, Origin, Row, Run, Target, Validity, WorkloadInfo};
use measure::workload::{STAMP_BYTES, Workload, split_mix};
use redo::{Log, Shape};
use std::collections::BTreeMap;
use std::io::Write;

/// A log of one kind, and what holds it.
struct Place {
    target: LoadTarget,
    folder: Option<WorkFolder>,
    _scratch: tempfile::TempDir,
}

impl Place {
    fn new(files: bool) -> Place {
        let mut setup = Setup::default();
        setup.log.shape = Shape::default().groups(2).file_bytes(48 << 20);
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let folder = files.then(|| WorkFolder::create(scratch.path()).expect("a folder"));
        let target = match &folder {
            Some(folder) => LoadTarget::in_folder(folder, setup, &|_, _| {}, &|| false),
            None => LoadTarget::null(setup),
        };
        Place {
            target: target.expect("a log"),
            folder,
            _scratch: scratch,
        }
    }

    fn run(&self, spec: &Spec) -> Row {
        let row = in_a_quiet_lab(&self.target, |lab| row::run(lab, 1, spec));
        row.expect("nothing fails")
    }

    /// Closes the log and counts what recovery finds in it: records of each session.
    fn recovered(self) -> BTreeMap<u32, u64> {
        let Place { target, folder, .. } = self;
        drop(target);
        let folder = folder.expect("files");
        let (log, recovery) = Log::builder(folder.directory().path())
            .open()
            .expect("opens");
        let mut found = BTreeMap::new();
        let visit = |_, bytes: &[u8]| {
            let stamp = bytes.first_chunk::<STAMP_BYTES>().expect("a stamp");
            let session = stamp.first_chunk::<4>().expect("four bytes");
            *found.entry(u32::from_le_bytes(*session)).or_insert(0) += 1;
            Ok::<(), redo::Error>(())
        };
        recovery.recover(visit).expect("readable");
        drop((recovery, log));
        folder.remove().expect("removable");
        found
    }
}

fn spec(workload: &str, jobs: u32, api: CommitApi) -> Spec {
    let workload = Workload::by_name(workload).expect("known");
    let (time, warmup) = (Nanos::from_millis(120), Nanos::from_millis(30));
    Spec {
        api,
        ..Spec::closed(workload, jobs, time, warmup)
    }
}

/// What the findings say of Little's law.
fn finding(row: &Row) -> Option<Finding> {
    let run = Run {
        schema: String::new(),
        run_id: String::new(),
        created: String::new(),
        origin: Origin::Measured,
        redolab_version: String::new(),
        notes: measure::run::RunNotes::default(),
        command: Vec::new(),
        target: Target::default(),
        workload: WorkloadInfo::default(),
        environment: Environment::default(),
        rows: vec![row.clone()],
        floor: Vec::new(),
        placement: None,
        power_tests: None,
        lab_overhead_ns: None,
        findings: Vec::new(),
        validity: Validity::default(),
        need: Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    };
    let all = analysis::findings::findings(&run, &Thresholds::default());
    all.into_iter().find(|f| f.id == "validity.little")
}

const SHARED: CommitApi = CommitApi::Async { threads: 2 };

#[test]
fn fifty_honest_rows_obey_littles_law() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut state = now.map_or(1, |t| t.as_nanos() as u64);
    println!("seed {state}");
    let places = [Place::new(false), Place::new(true)];
    let mut rows = 0;
    while rows < 50 {
        for (files, place) in places.iter().enumerate() {
            for (workload, jobs) in [("LAT1", 1), ("LAT1", 8), ("LAT1", 64), ("THR", 8)] {
                let api = if rows % 16 < 8 {
                    CommitApi::Sync
                } else {
                    SHARED
                };
                let mut spec = spec(workload, jobs, api);
                spec.seed = split_mix(&mut state);
                let row = place.run(&spec);
                let check = row.cross_check.as_ref().expect("a closed loop");
                let what = format!("files: {files}, {workload}, {jobs} jobs, {api:?}");
                assert_eq!(finding(&row), None, "{what}: {check:?}\n{:?}", row.commits);
                assert_eq!(check.log_bytes, check.session_bytes, "{what}");
                assert_eq!((check.miscounted, check.worst), (0, None), "{what}");
                rows += 1;
            }
        }
    }
}

#[test]
fn a_lie_of_three_percent_is_found() {
    for files in [false, true] {
        let place = Place::new(files);
        for jobs in [1, 8, 64] {
            for lie in [Lie::Latency, Lie::SessionCount, Lie::Window] {
                for api in [CommitApi::Sync, SHARED] {
                    let mut spec = spec("LAT1", jobs, api);
                    spec.planted = PlantedLie::with(lie);
                    // Longer where the machine is so busy that hardly anything is committed, or
                    // too little to tell a latency that is 3 % off from how two clocks are read:
                    // of commits of 3 µs that takes 20,000.
                    let rows = [250, 1000, 4000, 16_000].into_iter().map(|ms| {
                        spec.time = Nanos::from_millis(ms);
                        place.run(&spec)
                    });
                    let enough = |row: &Row| {
                        row.commits > Some(200 * u64::from(jobs))
                            && (lie != Lie::Latency
                                || row.cross_check.as_ref().is_some_and(is_sampled))
                    };
                    let mut last = None;
                    for row in rows {
                        let done = enough(&row);
                        last = Some(row);
                        if done {
                            break;
                        }
                    }
                    let row = last.expect("at least one");
                    let what = format!("files: {files}, {jobs} jobs, {api:?}, {lie:?}");
                    if files && !enough(&row) {
                        // On the null device there is always enough.
                        let out = &mut std::io::stdout();
                        let _ = writeln!(out, "skipped: {what}: the device is too busy");
                        continue;
                    }
                    let check = &row.cross_check;
                    let found = finding(&row).unwrap_or_else(|| panic!("{what}: {check:?}"));
                    // The law itself may find a lie too, and by more.
                    let own = match lie {
                        Lie::Latency => "timed with another clock",
                        Lie::SessionCount => "counted",
                        Lie::Window => "that of another clock",
                        Lie::Interruption => unreachable!("not among them"),
                    };
                    let words = [own, "Throughput times latency"];
                    let is_named = words.iter().any(|word| found.claim.contains(word));
                    assert!(is_named, "{what}: {}", found.claim);
                    let worst = check.as_ref().and_then(|c| c.worst);
                    let lies = worst.map(|w| (w.session, w.own > w.by_log));
                    let expected = (lie == Lie::SessionCount).then_some((0, true));
                    assert_eq!(lies, expected, "{what}");
                    let off = found.numbers.iter().find(|n| n.0 == "deviation_pct");
                    let off = off.expect("a number").1;
                    let exact = lie == Lie::SessionCount;
                    assert!(exact || off.abs() > 2.0, "{what}: {off}");
                }
            }
        }
    }
}

/// A session that has made its commits is in no transaction, whatever its thread does.
#[test]
fn what_a_session_does_after_its_last_commit_is_not_lost_time() {
    for api in [CommitApi::Sync, SHARED] {
        let mut spec = spec("LAT1", 3, api);
        spec.commits = Some(40);
        spec.planted = PlantedLie::with(Lie::Interruption);
        let row = Place::new(true).run(&spec);
        assert_eq!(finding(&row), None, "{api:?}: {:?}", row.cross_check);
    }
}

#[test]
fn what_sessions_count_is_what_recovery_finds() {
    const COMMITS: u64 = 300;
    for (api, lie) in [(CommitApi::Sync, None), (SHARED, None), (SHARED, Some(()))] {
        let place = Place::new(true);
        let mut spec = spec("LAT1", 8, api);
        spec.commits = Some(COMMITS);
        if lie.is_some() {
            spec.planted = PlantedLie::with(Lie::SessionCount);
        }
        let row = place.run(&spec);
        assert_eq!(finding(&row).is_some(), lie.is_some(), "{api:?}");
        let own: BTreeMap<u32, u64> = row
            .sessions
            .iter()
            .map(|s| (s.session, s.commits))
            .collect();
        let found = place.recovered();
        assert!(
            found.len() == 8 && found.values().all(|n| *n == COMMITS),
            "{found:?}"
        );
        assert_eq!(own == found, lie.is_none(), "{own:?}");
    }
}
