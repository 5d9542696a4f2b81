//! Logs with a ring or with failover, on real files and on devices that fail and stall: what is
//! acknowledged, what the next opening gives the disk, and which words refuse what was given.

use crate::common::{SMALL, Scratch, options, until};
use device::fault::{EIO, Fault, FaultDevice, FaultTarget, Injection};
use device::{FileSet, LogDevice, SyncMethod};
use redo::control::CONTROL_BYTES;
use redo::engine::{Paths, RingInspection};
use redo::{Error, Log, LogWriter, MemberLayout, Recovery, RingState};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const RING_BYTES: u64 = 1 << 20;
/// Longer than any healthy disk takes, as long as a delay may be.
const PATIENT: Duration = Duration::from_secs(1);

/// Directories of a disk and a ring below a scratch directory.
struct Places(Scratch);

impl Places {
    fn new() -> Places {
        let places = Places(Scratch::new());
        for name in ["disk", "ring"] {
            std::fs::create_dir(places.path(name)).expect("a directory");
        }
        places
    }

    fn with_log() -> Places {
        let places = Places::new();
        create(places.ring()).expect("a new log");
        places
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.0.join(name)
    }

    fn ring_file(&self) -> PathBuf {
        self.path("ring").join(Paths::RING)
    }

    /// Both are in one scratch directory, hence on one disk.
    fn ring(&self) -> MemberLayout {
        let layout = MemberLayout::ring(self.path("disk"), self.path("ring"), RING_BYTES);
        layout.force_same_device(true)
    }

    /// Devices of the disk and of the ring that a test can have fail.
    fn devices(&self) -> [Arc<FaultDevice>; 2] {
        let logs = Paths::new(self.path("disk")).logs(SMALL.groups);
        let set = |files: &[PathBuf]| {
            let bytes = std::fs::metadata(&files[0]).expect("a file").len();
            let set = FileSet::open(files, bytes, SyncMethod::Buffered).expect("files");
            Arc::new(FaultDevice::new(Arc::new(set)))
        };
        [set(&logs), set(&[self.ring_file()])]
    }

    fn on(&self, [disk, ring]: &[Arc<FaultDevice>; 2], delay: Option<Duration>) -> MemberLayout {
        let control = [Paths::new(self.path("disk")).control()];
        let control = FileSet::open(&control, CONTROL_BYTES, SyncMethod::Buffered);
        let disk: Arc<dyn LogDevice> = disk.clone();
        let control = Arc::new(control.expect("control information"));
        MemberLayout::ring_on_devices((disk, control), ring.clone(), delay)
    }
}

fn create(layout: MemberLayout) -> Result<(), Error> {
    Log::builder(layout).shape(SMALL).create().map(drop)
}

fn try_open(layout: MemberLayout) -> Result<(Log, Recovery), Error> {
    Log::builder(layout).options(options()).open()
}

fn open(layout: MemberLayout) -> (Log, Recovery) {
    try_open(layout).expect("a log with a ring")
}

fn refusal(layout: MemberLayout) -> String {
    let refused = try_open(layout).map(|_| ()).expect_err("refused");
    refused.to_string()
}

fn commit(log: &Log, numbers: std::ops::Range<u32>) {
    let mut session = log.session();
    for number in numbers {
        crate::common::commit(&mut session, 0, number).expect("acknowledged");
    }
}

/// How many records of session 0 there are, each of them right.
fn count(recovery: &Recovery) -> usize {
    let mut records = Vec::new();
    let read = recovery.recover(|rba, bytes| {
        records.push((rba, bytes.to_vec()));
        Ok::<(), Error>(())
    });
    read.expect("what was recovered is readable");
    crate::common::assert_prefixes(&records, &[0]);
    records.len()
}

fn state(log: &Log) -> RingState {
    log.ring().expect("a ring that is used")
}

fn notes(log: &Log) -> String {
    log.back_end().fallbacks.join("\n")
}

/// Every call of the kind from now on fails.
fn fail(device: &FaultDevice, target: FaultTarget) {
    let counts = device.counts();
    device.inject(Injection {
        target,
        nth: counts.writes.max(counts.flushes),
        fault: Fault::Errno(EIO),
        for_good: true,
    });
}

#[test]
fn commits_go_on_while_the_disk_stalls_and_are_recovered() {
    for delay in [None, Some(Duration::from_millis(1))] {
        for log_writer in [LogWriter::Auto, LogWriter::Inline, LogWriter::Lgwr] {
            let places = Places::with_log();
            let devices = places.devices();
            let builder = Log::builder(places.on(&devices, delay));
            let (log, _) = builder
                .options(options().log_writer(log_writer))
                .open()
                .expect("a log with a ring");
            commit(&log, 0..20);
            // What the disk completes is not returned: it answers nothing.
            let gate = devices[0].gate();
            commit(&log, 20..60);
            let found = state(&log);
            assert!(found.first >= 40, "{log_writer}: {found:?}");
            assert!(found.most_lag_bytes > 0 && found.lag_bytes > 0, "{found:?}");
            // They are read while the disk stalls.
            let all = log.read_from(log.durable()).expect("a position").count();
            assert_eq!(all, 0);
            drop(gate);
            drop(log);
            let (log, recovery) = open(places.ring());
            assert_eq!(count(&recovery), 60, "{log_writer}, {delay:?}");
            log.close().expect("closed");
        }
    }
}

/// The blocks are on the ring alone: the disk is put back to what it was.
#[test]
fn what_the_disk_lacks_is_given_to_it() {
    let places = Places::with_log();
    let devices = places.devices();
    let (log, _) = open(places.on(&devices, None));
    commit(&log, 0..20);
    until("the disk has caught up", || state(&log).lag_bytes == 0);
    let logs = Paths::new(places.path("disk")).logs(SMALL.groups);
    let before: Vec<Vec<u8>> = logs
        .iter()
        .map(|l| std::fs::read(l).expect("a log"))
        .collect();
    // What the disk has first does not go to the ring: it answers nothing.
    let gate = devices[0].gate();
    commit(&log, 20..60);
    drop(gate);
    drop(log);
    for (log, bytes) in logs.iter().zip(&before) {
        std::fs::write(log, bytes).expect("put back");
    }
    // Looking foresees what the opening does.
    let ring = places.path("ring");
    let looked = RingInspection::of(places.path("disk"), &ring).expect("reads");
    assert!(
        looked.refused.is_none() && looked.unused.is_none(),
        "{looked:?}"
    );
    assert!(looked.lacking_bytes > 0 && looked.batches > 0, "{looked:?}");
    assert!(looked.end > looked.disk_end, "{looked:?}");
    assert!(looked.table.is_some_and(|table| !table.spare), "{looked:?}");
    // Without the ring the loss has to be accepted.
    std::fs::rename(&ring, places.path("lost")).expect("renamed");
    let words = refusal(places.ring());
    assert!(
        words.contains("accept the loss") && words.contains("is not there"),
        "{words}"
    );
    let alone = Log::builder(&*places.path("disk"))
        .open()
        .expect_err("refused");
    assert!(alone.to_string().contains("a log with a ring"), "{alone}");
    std::fs::rename(places.path("lost"), &ring).expect("renamed");
    let (log, recovery) = open(places.ring());
    assert_eq!(count(&recovery), 60);
    drop(log);
    // It has everything durably, and may be read without the ring when the log was closed.
    let (log, recovery) = open(places.ring());
    assert_eq!(count(&recovery), 60);
    log.close().expect("closed");
    std::fs::remove_dir_all(&ring).expect("removed");
    let (log, recovery) = open(places.ring());
    assert_eq!(count(&recovery), 60);
    assert!(
        notes(&log).contains("the ring is not used"),
        "{}",
        notes(&log)
    );
    assert!(log.ring().is_none());
    commit(&log, 60..70);
    drop(log);
    let (_, recovery) = Log::builder(&*places.path("disk"))
        .open()
        .expect("a log of its own");
    assert_eq!(count(&recovery), 70);
}

#[test]
fn a_lost_ring_loses_what_it_alone_had_when_that_is_accepted() {
    let places = Places::with_log();
    let devices = places.devices();
    let (log, _) = open(places.on(&devices, None));
    commit(&log, 0..20);
    log.checkpoint(log.durable()).expect("durable");
    let logs = Paths::new(places.path("disk")).logs(SMALL.groups);
    let before: Vec<Vec<u8>> = logs
        .iter()
        .map(|l| std::fs::read(l).expect("a log"))
        .collect();
    commit(&log, 20..60);
    drop(log);
    for (log, bytes) in logs.iter().zip(&before) {
        std::fs::write(log, bytes).expect("put back");
    }
    std::fs::rename(places.path("ring"), places.path("lost")).expect("renamed");
    // The checkpoint waited for the disk: nothing that it says is lost.
    let (log, recovery) = open(places.ring().accept_loss(true));
    assert_eq!(count(&recovery), 0, "what the ring alone had is lost");
    commit(&log, 0..10);
    drop(log);
    // The lost ring returns: nothing in it counts.
    std::fs::rename(places.path("lost"), places.path("ring")).expect("renamed");
    let (log, recovery) = open(places.ring());
    assert_eq!(count(&recovery), 10);
    assert!(log.ring().is_some());
}

#[test]
fn a_ring_that_fails_is_given_up() {
    for target in [FaultTarget::Write, FaultTarget::Flush] {
        let places = Places::with_log();
        let devices = places.devices();
        let (log, _) = open(places.on(&devices, None));
        commit(&log, 0..20);
        fail(&devices[1], target);
        commit(&log, 20..60);
        assert!(!state(&log).in_use, "{target:?}");
        // The checkpoint says that the disk has everything.
        log.checkpoint(log.durable()).expect("durable");
        commit(&log, 60..70);
        drop(log);
        std::fs::rename(places.path("ring"), places.path("lost")).expect("renamed");
        let (log, recovery) = open(places.ring());
        assert!(notes(&log).contains("the ring is not used"));
        assert_eq!(recovery.scan().records, 10, "{target:?}");
    }
}

#[test]
fn a_disk_that_fails_ends_the_log_and_the_ring_has_what_it_acknowledged() {
    let places = Places::with_log();
    let devices = places.devices();
    let (log, _) = open(places.on(&devices, None));
    commit(&log, 0..20);
    fail(&devices[0], FaultTarget::Write);
    let mut session = log.session();
    let mut acknowledged = 20;
    let failed = loop {
        match crate::common::commit(&mut session, 0, acknowledged) {
            Ok(_) => acknowledged += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(failed, Error::Poisoned { .. }), "{failed}");
    log.close().expect_err("what the disk lacks is on the ring");
    drop((session, log));
    let (_, recovery) = open(places.ring());
    assert!(count(&recovery) >= acknowledged as usize);
}

/// The disk lost a block in the middle, which the ring has: without the ring that is damage.
#[test]
fn a_loss_that_was_accepted_for_an_opening_that_failed_is_none() {
    let places = Places::with_log();
    let devices = places.devices();
    let (log, _) = open(places.on(&devices, None));
    commit(&log, 0..20);
    until("the disk has caught up", || state(&log).lag_bytes == 0);
    let logs = Paths::new(places.path("disk")).logs(SMALL.groups);
    let before = std::fs::read(&logs[0]).expect("a log");
    let gate = devices[0].gate();
    commit(&log, 20..60);
    drop(gate);
    drop(log);
    let mut bytes = std::fs::read(&logs[0]).expect("a log");
    let blocks = bytes.chunks_mut(4096).zip(before.chunks(4096));
    let mut changed = blocks.filter(|(after, before)| after != before);
    let (after, before) = changed.nth(10).expect("blocks of the last commits");
    after.copy_from_slice(before);
    std::fs::write(&logs[0], &bytes).expect("a block is lost");
    let ring = places.path("ring");
    let loses = || places.ring().accept_loss(true);
    std::fs::rename(&ring, places.path("lost")).expect("renamed");
    let damaged = try_open(loses()).map(|_| ()).expect_err("damaged");
    assert!(matches!(damaged, Error::Corrupt { .. }), "{damaged}");
    // The ring is found again.
    std::fs::rename(places.path("lost"), &ring).expect("renamed");
    let (log, recovery) = open(places.ring());
    assert_eq!(count(&recovery), 60);
    drop(log);
    // It is not, and what lies behind the damage is given up.
    std::fs::write(&logs[0], &bytes).expect("a block is lost");
    std::fs::rename(&ring, places.path("lost")).expect("renamed");
    let Err(Error::Corrupt { rba, .. }) = try_open(loses()) else {
        panic!("damaged");
    };
    let salvaged = Log::builder(loses()).options(options()).salvage(rba);
    let (log, recovery) = salvaged.expect("salvaged").0.open().expect("a log");
    let kept = count(&recovery);
    assert!((20..60).contains(&kept), "{kept}");
    assert!(log.ring().is_none());
}

/// Its head can be read, and the redo behind it cannot.
#[test]
fn a_ring_that_cannot_be_read_is_as_one_that_is_missing() {
    let places = Places::with_log();
    let devices = places.devices();
    let (log, _) = open(places.on(&devices, None));
    commit(&log, 0..20);
    until("the disk has caught up", || state(&log).lag_bytes == 0);
    drop(log);
    devices[1].inject(Injection {
        target: FaultTarget::Read,
        nth: devices[1].counts().reads + 3,
        fault: Fault::Errno(EIO),
        for_good: true,
    });
    let words = refusal(places.on(&devices, None));
    assert!(words.contains("accept the loss"), "{words}");
    devices[1].heal();
    devices[1].inject(Injection {
        target: FaultTarget::Read,
        nth: devices[1].counts().reads + 3,
        fault: Fault::Errno(EIO),
        for_good: true,
    });
    let (log, recovery) = open(places.on(&devices, None).accept_loss(true));
    assert_eq!(count(&recovery), 20);
    assert!(notes(&log).contains("the ring is not used"));
    drop(log);
    // It was done without: what it has does not count when it returns.
    devices[1].heal();
    let (log, recovery) = open(places.ring());
    assert_eq!(count(&recovery), 20);
    assert!(log.ring().is_some());
}

#[test]
fn a_removed_ring_is_given_up_at_the_next_checkpoint() {
    let places = Places::with_log();
    let (log, _) = open(places.ring());
    commit(&log, 0..20);
    std::fs::remove_file(places.ring_file()).expect("removed");
    log.checkpoint(log.durable()).expect("durable");
    assert!(!state(&log).in_use);
    commit(&log, 20..30);
    drop(log);
    let (_, recovery) = open(places.ring());
    assert_eq!(recovery.scan().records, 10);
}

#[test]
fn rings_that_do_not_belong_to_the_disk_are_refused() {
    let places = Places::with_log();
    let unused = std::fs::read(places.ring_file()).expect("a ring");
    let (log, _) = open(places.ring());
    commit(&log, 0..20);
    drop(log);
    let older = std::fs::read(places.ring_file()).expect("a ring");
    for _ in 0..2 {
        let (log, _) = open(places.ring());
        commit(&log, 20..20);
        drop(log);
    }
    let newest = std::fs::read(places.ring_file()).expect("a ring");
    let other = Places::with_log();
    let of_another = std::fs::read(other.ring_file()).expect("a ring");
    let cut = newest[..newest.len() - 8192].to_vec();
    let mut noise = newest.clone();
    noise[..32 << 10].fill(7);
    for (what, bytes, words) in [
        ("another log's", &of_another, "the ring of another log"),
        ("older", &older, "older than its disk"),
        ("unused", &unused, "older than its disk"),
        ("cut", &cut, "smaller than it was made"),
        ("noise", &noise, "not the ring of a log"),
    ] {
        std::fs::write(places.ring_file(), bytes).expect("written");
        let found = refusal(places.ring());
        assert!(found.contains(words), "{what}: {found}");
    }
    // Another log's ring is never written, whatever is accepted.
    std::fs::write(places.ring_file(), &of_another).expect("written");
    let found = refusal(places.ring().accept_loss(true));
    assert!(found.contains("the ring of another log"), "{found}");
    std::fs::write(places.ring_file(), &older).expect("written");
    let (log, recovery) = open(places.ring().accept_loss(true));
    assert_eq!(count(&recovery), 20);
    assert!(log.ring().is_some(), "it is used anew");
}

#[test]
fn impossible_places_delays_and_sizes_are_refused() {
    let places = Places::new();
    let (disk, ring) = (places.path("disk"), places.path("ring"));
    let same = MemberLayout::ring(&disk, &ring, RING_BYTES);
    let words = create(same).expect_err("refused").to_string();
    assert!(words.contains("together they protect nothing"), "{words}");
    let twice = MemberLayout::ring(&disk, &disk, RING_BYTES).force_same_device(true);
    let words = create(twice).expect_err("refused").to_string();
    assert!(words.contains("give each member once"), "{words}");
    let small = MemberLayout::ring(&disk, &ring, 4096).force_same_device(true);
    let words = create(small).expect_err("refused").to_string();
    assert!(words.contains("at least 65536"), "{words}");
    for delay in [Duration::ZERO, PATIENT * 2] {
        let layout = MemberLayout::failover(&disk, &ring, RING_BYTES, delay);
        let words = create(layout).expect_err("refused").to_string();
        assert!(words.contains("failover takes up to 1s"), "{words}");
    }
    // A log of its own is not opened as one with a ring.
    crate::common::create(&disk);
    let words = refusal(places.ring());
    assert!(words.contains("has no ring"), "{words}");
}

#[test]
fn an_interrupted_creation_is_repeated_and_a_used_ring_stays() {
    let places = Places::new();
    let making = b"redolab: a ring in the making\n and noise";
    std::fs::write(places.ring_file(), making).expect("written");
    create(places.ring()).expect("a new log");
    // Its log is gone, and nobody has used it.
    std::fs::remove_dir_all(places.path("disk")).expect("removed");
    std::fs::create_dir(places.path("disk")).expect("a directory");
    create(places.ring()).expect("a new log");
    let (log, _) = open(places.ring());
    commit(&log, 0..5);
    drop(log);
    let used = std::fs::read(places.ring_file()).expect("a ring");
    std::fs::remove_dir_all(places.path("disk")).expect("removed");
    std::fs::create_dir(places.path("disk")).expect("a directory");
    let refused = create(places.ring()).expect_err("it may be needed");
    assert!(matches!(refused, Error::InTheWay { .. }), "{refused}");
    assert_eq!(std::fs::read(places.ring_file()).expect("a ring"), used);
    assert!(!places.path("disk").join(Paths::CONTROL).exists());
}

#[test]
fn a_log_goes_round_with_a_ring_and_is_opened_with_failover() {
    let places = Places::with_log();
    let mut next = 0;
    for life in 0..4 {
        let (disk, ring) = (places.path("disk"), places.path("ring"));
        let failover = MemberLayout::failover(disk, ring, RING_BYTES, PATIENT);
        let layout = match life % 2 {
            0 => places.ring(),
            _ => failover.force_same_device(true),
        };
        let (log, recovery) = open(layout);
        assert!(recovery.scan().records <= 100, "life {life}");
        for _ in 0..30 {
            commit(&log, next..next + 100);
            next += 100;
            log.checkpoint(log.durable()).expect("durable");
        }
        commit(&log, next..next + 100);
        next += 100;
        match life {
            0 | 3 => log.close().expect("closed"),
            _ => drop(log),
        }
    }
    let (_, recovery) = open(places.ring());
    assert_eq!(recovery.scan().records, 100);
}
