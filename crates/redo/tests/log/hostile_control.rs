//! Control information whose checksum is right and whose content no log can have: refused, before
//! it makes anything panic, hang or take memory that no log needs.

use device::SimDisk;
use device::queue::write_durable;
use redo::control::{CONTROL_BYTES, COPY_BYTES, ControlInfo, CopyProblem, Incarnation};
use redo::format::LogId;
use redo::group::Geometry;
use redo::{Error, Options};
use std::sync::Arc;

fn whole() -> ControlInfo {
    let geometry = Geometry {
        block_bytes: 512,
        seal_blocks: 1,
        groups: 2,
        blocks_per_group: 64,
        header_bytes: 4096,
        file_bytes: 4096 + 64 * 512,
    };
    ControlInfo::new(LogId([4; 16]), geometry)
}

/// Opens a log of empty files whose control information is `info`.
fn open(info: &ControlInfo) -> Result<(), Error> {
    let disk = |bytes: usize| {
        let disk = SimDisk::new(bytes, 512, false);
        disk.set_immediate(true);
        Arc::new(disk)
    };
    let (data, control) = (disk(2 * (4096 + 64 * 512)), disk(CONTROL_BYTES as usize));
    for copy in 0..2 {
        let at = copy * COPY_BYTES as u64;
        write_durable(&*control, at, &info.encode()).expect("memory");
    }
    let (log, recovery) = crate::common::open_on(data, control, Options::default())?;
    recovery.recover(|_, _| Ok::<(), redo::Error>(()))?;
    let mut session = log.session();
    session.append(&[b"redo"])?;
    session.commit(redo::CommitMode::WAIT_IMMEDIATE)?;
    log.checkpoint(log.durable())?;
    log.close()
}

type Change = fn(&mut ControlInfo);

const CASES: &[(&str, Change)] = &[
    ("a header of nearly all bytes", |i| {
        i.geometry.header_bytes = u64::MAX - 100;
    }),
    ("files of all bytes", |i| i.geometry.file_bytes = u64::MAX),
    ("files whose sum overflows", |i| {
        i.geometry.file_bytes = u64::MAX / 2 + 1;
    }),
    ("blocks that hold no record's header", |i| {
        i.geometry.block_bytes = 41;
    }),
    ("blocks that hold a record's header and no more", |i| {
        i.geometry.block_bytes = 48;
    }),
    ("seals of a terabyte", |i| {
        i.geometry.seal_blocks = 1 << 31;
        i.geometry.blocks_per_group = 1 << 31;
        i.geometry.file_bytes = 4096 + (512 << 31);
    }),
    ("seals of 16 GiB", |i| {
        i.geometry.seal_blocks = 1 << 25;
        i.geometry.blocks_per_group = 1 << 25;
        i.geometry.file_bytes = 4096 + (512 << 25);
    }),
    ("a checkpoint at the end of numbers", |i| {
        i.checkpoint.block = u64::MAX;
    }),
    ("a checkpoint that overflows its reuse limit", |i| {
        i.checkpoint.block = u64::MAX - 64;
    }),
    ("a last generation", |i| i.generation = u64::MAX),
    ("a last incarnation", |i| {
        i.incarnations[0].number = u32::MAX
    }),
    ("an incarnation at the end of numbers", |i| {
        i.incarnations.push(Incarnation {
            number: 2,
            previous_end: u64::MAX,
            first: u64::MAX,
            life: None,
        });
    }),
    ("incarnations out of order", |i| {
        for first in [50, 3, 90] {
            i.incarnations.push(Incarnation {
                number: 7,
                previous_end: first + 9,
                first,
                life: None,
            });
        }
    }),
    ("a checkpoint offset that no block has", |i| {
        i.checkpoint.offset = 512 - 40 + 1;
    }),
    ("durable up to the end of numbers", |i| i.durable = u64::MAX),
    ("closed at the end of numbers", |i| {
        i.closed_at = Some(u64::MAX - 1);
    }),
];

/// Strange, and no harm.
const HARMLESS: &[(&str, Change)] = &[("one block a log", |i| i.geometry.blocks_per_group = 1)];

#[test]
fn the_log_itself_opens() {
    open(&whole()).expect("whole");
}

#[test]
fn what_no_log_can_have_is_refused() {
    for (name, change) in CASES {
        let mut info = whole();
        change(&mut info);
        let refused = ControlInfo::decode(&info.encode());
        assert_eq!(refused, Err(CopyProblem::Damaged), "{name}");
        let refused = open(&info);
        assert!(
            matches!(refused, Err(Error::ControlDamaged { .. })),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn what_is_only_strange_opens() {
    for (name, change) in HARMLESS {
        let mut info = whole();
        change(&mut info);
        open(&info).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}
