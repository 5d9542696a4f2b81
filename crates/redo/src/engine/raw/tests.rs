//! The layout, and what a device holds when making a log on it was interrupted anywhere. Real
//! devices are written in the tests of the command line, which have loop devices.

use super::*;
use crate::commit::CommitMode;
use crate::control::COPY_BYTES;
use crate::error::ShapeError;
use crate::recovery::End;
use device::fault::{Fault, FaultDevice, FaultTarget, Injection};
use device::sim_disk::{CrashMix, SimDisk};

const SHAPE: Shape = Shape {
    block_bytes: Some(4096),
    groups: 2,
    file_bytes: 512 << 10,
};
const BYTES: usize = 4 << 20;
const PATH: &str = "/dev/simulated";

fn disk(content: &[u8]) -> SimDisk {
    let disk = SimDisk::new(BYTES, 4096, false);
    disk.load(content);
    disk.set_immediate(true);
    disk
}

/// What another user of the device left: no byte is zero.
fn foreign() -> Vec<u8> {
    (0..BYTES).map(|at| (at % 251) as u8 + 1).collect()
}

fn create(space: &Arc<dyn LogDevice>, shape: Shape) -> Result<(), Error> {
    Log::create_in(space, Path::new(PATH), shape, &|_, _| {}, &|| false)
}

fn options() -> Options {
    Options {
        buffer_bytes: 1 << 20,
        ..Options::default()
    }
}

fn open(space: &Arc<dyn LogDevice>) -> Result<(Log, Recovery), Error> {
    Log::open_in(space, Path::new(PATH), options())
}

fn commit(log: &Log, records: std::ops::Range<u8>) {
    let mut session = log.session();
    for n in records {
        session.append(&[&[n; 3000][..]]).expect("fits");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("commits");
    }
}

/// The first byte of every record.
fn records(recovery: &Recovery) -> Vec<u8> {
    let mut found = Vec::new();
    let each = |_, record: &[u8]| {
        found.push(record[0]);
        Ok::<(), crate::Error>(())
    };
    recovery.recover(each).expect("readable");
    found
}

#[test]
fn a_log_stands_where_the_layout_says_and_recovers() {
    let mut before = foreign();
    // The second header of an encrypted volume, between the log and the end.
    let second = 2 << 20;
    before[second..second + 6].copy_from_slice(b"SKUL\xba\xbe");
    let sim = disk(&before);
    let space: Arc<dyn LogDevice> = Arc::new(sim.clone());
    create(&space, SHAPE).expect("room");
    let made = sim.durable_image();
    let log_end = (RAW_LOG_AT + 2 * SHAPE.file_bytes) as usize;
    for copy in [0, COPY_BYTES] {
        assert_eq!(made[copy..copy + 8], *b"REDOCTL\0", "{copy}");
    }
    for group in [0, SHAPE.file_bytes] {
        let at = (RAW_LOG_AT + group) as usize;
        assert_eq!(made[at..at + 8], *b"REDOLAB\0", "{group}");
    }
    let (head, tail) = (CONTROL_BYTES as usize, BYTES - RAW_TAIL_BYTES as usize);
    let is_zero = |bytes: &[u8]| bytes.iter().all(|b| *b == 0);
    assert!(is_zero(&made[head..RAW_LOG_AT as usize]) && is_zero(&made[tail..]));
    assert_eq!(log_end, second);
    let unused = log_end + 4096..tail;
    assert!(is_zero(&made[second..unused.start]), "no signature is left");
    let same = made[unused.clone()] == before[unused];
    assert!(same, "what is not used is left");

    let (log, _) = open(&space).expect("a log");
    commit(&log, 0..20);
    log.close().expect("closes");
    let (log, recovery) = open(&space).expect("a log");
    assert_eq!(
        (records(&recovery), recovery.scan().how),
        ((0..20).collect(), End::Clean)
    );
    commit(&log, 20..40);
    drop(log); // as after a crash
    let (log, recovery) = open(&space).expect("a log");
    assert_eq!(records(&recovery), (0..40).collect::<Vec<_>>());
    drop(log);
    let now = sim.durable_image();
    assert!(is_zero(&now[head..RAW_LOG_AT as usize]));
    let same = now[log_end..] == made[log_end..];
    assert!(same, "nothing outside of the log is written");
    assert_eq!(sim.violations(), Vec::<String>::new());
}

#[test]
fn refusals_change_nothing() {
    let sim = disk(&foreign());
    let space: Arc<dyn LogDevice> = Arc::new(sim.clone());
    let large = Shape {
        file_bytes: 2 << 20,
        ..SHAPE
    };
    let refused = create(&space, large).expect_err("too small");
    let text = refused.to_string();
    assert!(
        text.contains("has 4194304 bytes, the log needs 6291456"),
        "{text}"
    );
    let odd = Shape {
        block_bytes: Some(1000),
        ..SHAPE
    };
    let bytes = ShapeError::BlockBytes { bytes: 1000 };
    assert!(matches!(create(&space, odd), Err(Error::Shape(e)) if e == bytes));
    assert!(matches!(open(&space), Err(Error::NotALog { .. })));
    assert!(sim.durable_image() == foreign(), "nothing was written");
}

#[test]
fn a_log_that_was_moved_to_a_smaller_device_is_refused() {
    let sim = disk(&[]);
    let space: Arc<dyn LogDevice> = Arc::new(sim.clone());
    create(&space, SHAPE).expect("room");
    let small = SimDisk::new(3 << 19, 4096, false);
    small.load(&sim.durable_image()[..3 << 19]);
    small.set_immediate(true);
    let small: Arc<dyn LogDevice> = Arc::new(small);
    let refused = open(&small).map(|_| ()).expect_err("cut off").to_string();
    assert!(
        refused.contains("its log takes 2097152 bytes where the device has 1572864"),
        "{refused}"
    );
}

#[test]
fn a_group_of_another_log_is_refused() {
    let (sim, other) = (disk(&[]), disk(&[]));
    for sim in [&sim, &other] {
        let space: Arc<dyn LogDevice> = Arc::new(sim.clone());
        create(&space, SHAPE).expect("room");
    }
    let mut mixed = sim.durable_image();
    let second = (RAW_LOG_AT + SHAPE.file_bytes) as usize;
    mixed[second..second + 4096].copy_from_slice(&other.durable_image()[second..second + 4096]);
    let mixed: Arc<dyn LogDevice> = Arc::new(disk(&mixed));
    let refused = open(&mixed).map(|_| ()).expect_err("mixed").to_string();
    assert!(refused.contains("belongs to another log"), "{refused}");
}

#[test]
fn cancelled_it_holds_no_log() {
    let sim = disk(&foreign());
    let space: Arc<dyn LogDevice> = Arc::new(sim.clone());
    let asked = std::cell::Cell::new(0);
    let cancel = || asked.replace(asked.get() + 1) == 1;
    let result = Log::create_in(&space, Path::new(PATH), SHAPE, &|_, _| {}, &cancel);
    assert!(matches!(
        result,
        Err(Error::Device(DeviceError::Cancelled { .. }))
    ));
    assert!(matches!(
        open(&space),
        Err(Error::NotALog { .. } | Error::ControlDamaged { .. })
    ));
}

/// A log is made over an older one, and fails at each write and flush; then the power goes. What
/// comes back is the older log whole, or none, or the new one: never a mixture of both.
#[test]
fn interrupted_anywhere_it_is_the_old_log_or_none_or_the_new() {
    let old = disk(&[]);
    let space: Arc<dyn LogDevice> = Arc::new(old.clone());
    create(&space, SHAPE).expect("room");
    let (log, _) = open(&space).expect("a log");
    commit(&log, 0..10);
    log.close().expect("closes");
    let before = old.durable_image();
    let mut state = 7;
    let (mut kept, mut none, mut new) = (0, 0, 0);
    for target in [FaultTarget::Write, FaultTarget::Flush] {
        for nth in 1.. {
            let sim = disk(&before);
            let faulty = FaultDevice::new(Arc::new(sim.clone()));
            faulty.inject(Injection {
                target,
                nth,
                fault: Fault::Errno(5),
                for_good: true,
            });
            let faulty: Arc<dyn LogDevice> = Arc::new(faulty);
            let made = create(&faulty, SHAPE).is_ok();
            for _ in 0..8 {
                let image = sim.crash(&mut state, &CrashMix::default()).image;
                let found: Arc<dyn LogDevice> = Arc::new(disk(&image));
                match open(&found) {
                    Ok((_, recovery)) if recovery.scan().records == 0 => new += 1,
                    Ok((_, recovery)) => {
                        assert_eq!(records(&recovery), (0..10).collect::<Vec<_>>());
                        kept += 1;
                    }
                    Err(Error::NotALog { .. } | Error::ControlDamaged { .. }) => none += 1,
                    Err(other) => panic!("{target:?} {nth}: {other}"),
                }
            }
            if made {
                break;
            }
        }
    }
    println!("{kept} times the old log, {none} times none, {new} times the new one");
    assert!(kept > 0 && none > 0 && new > 0);
}
