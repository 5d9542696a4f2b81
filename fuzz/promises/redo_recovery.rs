//! Recovery of logs that no writer wrote: blocks with right checksums that say anything at all, of
//! other lives and uses, torn ones, noise. A scan ends, within the log, with what it counted.
#![allow(unsafe_code)]

use device::{Caps, DeviceError, LogDevice, Queue, Region};
use redo::control::{ControlInfo, Incarnation, Position};
use redo::format::{BLOCK_HEADER_BYTES, BlockHeader, LifeId, LogId, Summer};
use redo::group::Geometry;
use redo::planted::Planted;
use redo::recovery::{Reader, Scan};
use redo::{DamageScan, Rba};
use std::path::Path;
use std::sync::Arc;

const BLOCK_BYTES: usize = 512;
const HEADER_BYTES: u64 = 4096;

/// A medium in memory, to be read.
struct Medium(Vec<u8>);

// SAFETY: it has no queues.
unsafe impl LogDevice for Medium {
    fn caps(&self) -> Caps {
        Caps {
            logical_bytes: 512,
            physical_bytes: 512,
            memory_align: 512,
            max_io_bytes: 1 << 20,
            durable_writes: true,
            blocking: true,
        }
    }

    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn queue(&self, _region: Arc<Region>) -> Result<Box<dyn Queue>, DeviceError> {
        unreachable!("a scan writes nothing")
    }

    fn read(&self, addr: u64, out: &mut [u8]) -> Result<(), DeviceError> {
        let at = usize::try_from(addr).expect("a small medium");
        out.copy_from_slice(&self.0[at..at + out.len()]);
        Ok(())
    }

    fn settle(&self) -> Result<(), device::queue::IoOrDevice> {
        Ok(())
    }
}

/// Takes small numbers off the input; zeros behind its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        u64::from(*first)
    }

    /// A number near `n`, and now and then a far one.
    fn near(&mut self, n: u64) -> u64 {
        match self.byte() {
            255 => u64::MAX,
            254 => 1 << 60,
            far @ 240.. => n.wrapping_add((far - 239) << 20),
            close => (n + close).saturating_sub(120),
        }
    }
}

/// The life of an incarnation: each third one is of version 1, and has none.
fn life(number: u32) -> Option<LifeId> {
    LifeId::from_bytes([(number % 3) as u8; 16])
}

fn control(input: &mut Input<'_>) -> Option<ControlInfo> {
    let seal = [1, 2, 4][(input.byte() % 3) as usize];
    let per_group = (1 + input.byte() % 6) * u64::from(seal);
    let geometry = Geometry {
        block_bytes: BLOCK_BYTES as u32,
        seal_blocks: seal,
        groups: 2 + (input.byte() % 3) as u32,
        blocks_per_group: per_group,
        header_bytes: HEADER_BYTES,
        file_bytes: HEADER_BYTES + per_group * BLOCK_BYTES as u64,
    };
    let mut info = ControlInfo::new(LogId([3; 16]), geometry);
    if let Some(first) = info.incarnations.first_mut() {
        first.life = life(1);
    }
    info.checkpoint = Position {
        block: input.byte() % 100,
        offset: (input.byte() * 2).min(geometry.payload().into()) as u16,
    };
    info.closed_at = input
        .byte()
        .is_multiple_of(2)
        .then(|| input.near(info.checkpoint.block));
    let mut first = 0;
    for number in 1..1 + (input.byte() % 4) as u32 {
        let previous_end = first + input.byte() % 8;
        first = previous_end + 1 + input.byte() % 4;
        info.incarnations.push(Incarnation {
            number: number + 1,
            previous_end,
            first,
            life: life(number + 1),
        });
    }
    ControlInfo::decode(&info.encode()).ok()
}

/// One block that says something about a place near the checkpoint.
fn write(input: &mut Input<'_>, control: &ControlInfo, medium: &mut [u8]) {
    let geometry = &control.geometry;
    let slot = control.checkpoint.block + input.byte() % geometry.capacity_blocks();
    let how = input.byte();
    let stream_block = match how & 3 {
        0 => slot + geometry.capacity_blocks(),
        1 => slot.saturating_sub(geometry.capacity_blocks()),
        _ => slot,
    };
    let payload = geometry.payload() as usize;
    let used = match input.byte() {
        255 => payload,
        n => (2 * n as usize).min(payload),
    };
    let (durable_upto, incarnation) = (input.near(slot), (input.byte() % 6) as u32);
    let header = BlockHeader {
        stream_block,
        durable_upto,
        incarnation,
        // Now and then that of another copy of the log.
        life: life(incarnation + (how as u32 >> 5 & 1)).map(LifeId::mark),
        used: used as u16,
        first_record: match input.byte() {
            255 => redo::format::NO_RECORD,
            n => (2 * n) as u16,
        },
    };
    let mut body = vec![0; used];
    let mut at = usize::from(header.first_record) % (used + 1);
    while how & 4 == 0 && at + 8 < used {
        let len = input.byte();
        body[at..at + 8].copy_from_slice(&redo::format::encode_record_header(len as u32));
        at += 8 + len as usize;
    }
    body.iter_mut()
        .rev()
        .take(3)
        .for_each(|b| *b = b.wrapping_add(how as u8 >> 6));
    let head = header.encode(&Summer::new(control.log_id), &body);
    let place = geometry.address(slot) as usize;
    medium[place..place + BLOCK_HEADER_BYTES].copy_from_slice(&head);
    medium[place + BLOCK_HEADER_BYTES..][..used].copy_from_slice(&body);
    if how & 0x18 == 0x18 {
        medium[place + BLOCK_HEADER_BYTES..place + BLOCK_BYTES].fill(0x5a);
    }
}

fn scan(
    control: &ControlInfo,
    medium: &Medium,
    damage_scan: DamageScan,
) -> (Vec<(Rba, usize)>, Option<Scan>) {
    let mut seen = Vec::new();
    let reader = Reader::new(medium, control, Path::new("log"), Planted::none());
    let scan = reader
        .damage_scan(damage_scan)
        .scan(|rba, _, record| seen.push((rba, record.len())));
    (seen, scan.ok())
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let mut input = Input(bytes);
    let Some(control) = control(&mut input) else {
        return;
    };
    let geometry = control.geometry;
    let bytes = u64::from(geometry.groups) * geometry.file_bytes;
    let mut medium = Medium(vec![0; bytes as usize]);
    while !input.0.is_empty() {
        write(&mut input, &control, &mut medium.0);
    }
    let (seen, found) = scan(&control, &medium, DamageScan::Whole);
    assert!(seen.is_sorted_by(|a, b| a.0 < b.0), "{seen:?}");
    if let Some(found) = found {
        assert_eq!(found.records, seen.len() as u64);
        assert_eq!(
            found.bytes,
            seen.iter().map(|(_, len)| *len as u64).sum::<u64>()
        );
        assert_eq!(found.first, seen.first().map(|(rba, _)| *rba));
        assert_eq!(found.last, seen.last().map(|(rba, _)| *rba));
        assert!(found.end >= control.checkpoint.block);
        assert!(found.end <= geometry.reuse_limit(control.checkpoint.block));
        assert_eq!(scan(&control, &medium, DamageScan::Whole).1, Some(found));
        // A search that goes less far refuses nothing that the whole search accepts.
        let little = DamageScan::Bounded { window_bytes: 0 };
        let (records, less) = scan(&control, &medium, little);
        let less = less.expect("the whole log proves nothing");
        assert_eq!((records, less.end), (seen, found.end));
    }
}
