//! What a server keeps, over its own crashes, and directories that are no keep.

use super::*;
use crate::powertest::identity::read_clocks;
use measure::power_test::{CutKind, LossClass, PowerTestCounts, SCHEMA, StackFingerprint};
use measure::stack::Stack;
use std::path::PathBuf;

const FILE: u64 = 1 << 20;

fn new_test(number: u8, path: &str) -> NewTest {
    NewTest {
        test_id: TestId([number; 16]).to_string(),
        opened: "2026-11-24T10:00:00.000Z".to_owned(),
        machine_id: "m".to_owned(),
        boot_id: "b".to_owned(),
        clock: read_clocks(),
        path: path.to_owned(),
        mount_point: "/".to_owned(),
        mode: "redo log".to_owned(),
        jobs: 1,
        payload_bytes: 100,
        sync_method: "direct".to_owned(),
        fingerprint: StackFingerprint::of(&Stack::default(), Some("direct")),
        stack: None,
        abandon: false,
    }
}

fn acks(from: u64, count: u64) -> Vec<PowerAck> {
    let ack = |at| PowerAck {
        at,
        sequence: at,
        length: 100,
        hash: at * 3,
        ..PowerAck::default()
    };
    (from..from + count).map(ack).collect()
}

fn cycle(new: &NewTest) -> PowerCycle {
    PowerCycle {
        schema: SCHEMA.to_owned(),
        test_id: new.test_id.clone(),
        redolab_version: "0.1.0".to_owned(),
        opened: new.opened.clone(),
        judged: "2026-11-24T10:05:00.000Z".to_owned(),
        path: new.path.clone(),
        mode: new.mode.clone(),
        cut: CutKind::HostPower,
        hypervisor: None,
        class: LossClass::NothingLost,
        counted: true,
        counts: PowerTestCounts::default(),
        stack: new.fingerprint.clone(),
        notes: Vec::new(),
        first_lost: None,
        evidence: None,
    }
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().expect("a temporary directory"))
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("keep")
    }

    /// Opens it again, as after a crash: it was not closed.
    fn open(&self) -> PowerKeep {
        PowerKeep::open(&self.path(), FILE).expect("opens")
    }
}

fn all(keep: &PowerKeep, id: &str) -> Vec<PowerAck> {
    let mut out: Vec<PowerAck> = Vec::new();
    loop {
        let some = keep.acks(id, out.len() as u64).expect("it is known");
        if some.is_empty() {
            return out;
        }
        out.extend(some);
    }
}

#[test]
fn what_was_answered_is_there_after_a_crash_and_what_was_released_is_not_asked_for() {
    let place = Place::new();
    let id = TestId([1; 16]);
    let test = new_test(1, "/u01");
    let mut keep = place.open();
    keep.begin(test.clone()).expect("keeps").expect("accepts");
    for from in (0..3000).step_by(100) {
        let count = keep
            .acknowledge(id, &acks(from, 100))
            .expect("keeps")
            .expect("has room");
        assert_eq!(count, from + 100);
    }
    drop(keep);
    let mut keep = place.open();
    assert_eq!(all(&keep, &test.test_id), acks(0, 3000));
    keep.release(&test.test_id, (0, 2500, 0)).expect("keeps");
    keep.noted(&test.test_id, TestNote::ClockJumped(-7))
        .expect("keeps");
    // One that comes late, of what was released.
    keep.acknowledge(id, &acks(2499, 1))
        .expect("keeps")
        .expect("has room");
    drop(keep);
    let keep = place.open();
    assert_eq!(all(&keep, &test.test_id), acks(2500, 500));
    let (open, earlier) = keep.list("m", "/u01", |_| false);
    assert_eq!((open.len(), earlier.len()), (1, 0));
    assert_eq!((open[0].acknowledged, open[0].demanded), (3001, 500));
    assert_eq!(open[0].clock_jumps, [-7]);
    assert!(keep.list("m", "/u02", |_| false).0.is_empty());
    assert!(keep.list("other", "/u01", |_| false).0.is_empty());
}

#[test]
fn many_times_its_size_goes_through_the_log() {
    let place = Place::new();
    let id = TestId([1; 16]);
    let test = new_test(1, "/u01");
    let mut keep = place.open();
    keep.begin(test.clone()).expect("keeps").expect("accepts");
    let mut next = 0;
    // Each hundred takes a block or more: this is several times the log.
    for round in 0..4000 {
        keep.acknowledge(id, &acks(next, 100))
            .expect("keeps")
            .expect("has room");
        next += 100;
        if round % 40 == 0 {
            keep.release(&test.test_id, (0, next - 50, 0))
                .expect("keeps");
        }
        if round % 1000 == 999 {
            drop(keep);
            keep = place.open();
        }
    }
    let kept = all(&keep, &test.test_id);
    assert_eq!(kept.last().map(|ack| ack.at), Some(next - 1));
    assert_eq!(kept.first().map(|ack| ack.at), Some(next - 50 - 39 * 100));
    assert_eq!(keep.list("m", "/u01", |_| false).0[0].acknowledged, next);
}

#[test]
fn acknowledgements_without_room_are_refused_with_what_to_do() {
    let place = Place::new();
    let id = TestId([1; 16]);
    let mut keep = place.open();
    keep.begin(new_test(1, "/u01"))
        .expect("keeps")
        .expect("accepts");
    let mut refused = None;
    for from in (0..40_000).step_by(1000) {
        if let Err(why) = keep.acknowledge(id, &acks(from, 1000)).expect("keeps") {
            refused = Some(why);
            break;
        }
    }
    assert!(refused.expect("it is full").contains("--log-file-size"));
    assert!(keep.release(&id.to_string(), (0, 40_000, 0)).is_ok());
    assert!(
        keep.acknowledge(id, &acks(40_000, 1000))
            .expect("keeps")
            .is_ok()
    );
}

#[test]
fn a_test_is_judged_once_and_stays_judged() {
    let place = Place::new();
    let test = new_test(1, "/u01");
    let mut keep = place.open();
    keep.begin(test.clone()).expect("keeps").expect("accepts");
    let again = keep.begin(new_test(2, "/u01")).expect("answers");
    assert!(again.expect_err("it is in the way").contains("--abandon"));
    keep.begin(new_test(3, "/u02"))
        .expect("keeps")
        .expect("another path");
    keep.judged(cycle(&test)).expect("keeps");
    drop(keep);
    let mut keep = place.open();
    assert_eq!(keep.cycles().len(), 1);
    let (open, earlier) = keep.list("m", "/u01", |_| false);
    assert!(open.is_empty());
    assert_eq!(earlier, std::slice::from_ref(&test.test_id));
    assert!(
        keep.begin(test).expect("answers").is_err(),
        "its identity is used"
    );
    let abandons = NewTest {
        abandon: true,
        ..new_test(4, "/u02")
    };
    keep.begin(abandons)
        .expect("keeps")
        .expect("gives the other one up");
    assert_eq!(keep.open_tests(), [TestId([4; 16]).to_string()]);
    keep.close().expect("closes");
}

#[test]
fn a_cut_in_a_file_is_judged_whatever_the_log_says() {
    let place = Place::new();
    let test = new_test(1, "/u01");
    let mut keep = place.open();
    keep.begin(test.clone()).expect("keeps").expect("accepts");
    // A crash between the file and the log's event.
    files::write_cycle(&keep.folder, &cycle(&test)).expect("writes");
    drop(keep);
    let keep = place.open();
    assert!(keep.open_tests().is_empty());
    assert_eq!(keep.cycles().len(), 1);
}

#[test]
fn a_copy_without_an_end_is_ignored() {
    let mut tests = KeptTests::default();
    let mut apply = |event: &KeepEvent| {
        let record = event_record(event).expect("is JSON");
        tests.apply(&record).expect("applies");
        tests.tests.keys().cloned().collect::<Vec<_>>()
    };
    let (one, two) = (new_test(1, "/a"), new_test(2, "/b"));
    let opened = |test: &NewTest| KeepEvent::Opened(Box::new(test.clone()));
    let before = apply(&opened(&one));
    assert_eq!(
        apply(&KeepEvent::CopyBegun),
        before,
        "nothing is forgotten yet"
    );
    let after = apply(&opened(&two));
    assert_eq!(after, [one.test_id.clone(), two.test_id.clone()]);
    assert_eq!(apply(&KeepEvent::CopyBegun), after);
    assert!(apply(&KeepEvent::CopyEnded).is_empty(), "a copy of nothing");
    assert!(tests.apply(b"?").is_err() && tests.apply(b"A123").is_err());
}

#[test]
fn what_is_no_keep_is_refused_and_left_alone() {
    let place = Place::new();
    std::fs::create_dir(place.path()).expect("makes");
    std::fs::write(place.path().join("diary.txt"), "mine").expect("writes");
    let refused = PowerKeep::open(&place.path(), FILE)
        .err()
        .expect("not a keep")
        .to_string();
    assert!(
        refused.contains("something else") && refused.contains("--keep"),
        "{refused}"
    );
    assert!(!place.path().join("redo.ctl").exists());
    let other = Place::new();
    drop(other.open());
    std::fs::write(
        other.path().join(MARKER),
        "{\"schema\": \"redolab.powertest-keep/9\"}",
    )
    .expect("writes");
    let refused = PowerKeep::open(&other.path(), FILE)
        .err()
        .expect("newer")
        .to_string();
    assert!(refused.contains("not of this version"), "{refused}");
    let held = Place::new();
    let _first = held.open();
    let refused = PowerKeep::open(&held.path(), FILE)
        .err()
        .expect("in use")
        .to_string();
    assert!(refused.contains("--keep"), "{refused}");
}
