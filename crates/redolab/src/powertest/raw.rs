//! Raw writes: files of slots, each written by one thread with sectors that describe themselves.
//!
//! Invariants: writes of a file are numbered and written in order; write n lies in slot n modulo
//! the number of slots; a slot is overwritten only when the server has released what was in it; an
//! acknowledgement is queued only when the write is durable, as the sync method makes it.

use super::PowerTestError;
use super::acks::{AckQueue, AckRequests};
use super::messages::{PowerAck, PowerRequest, RawFileShape};
use super::order::{PlantedWriterBug, StopFlags};
use super::records::{SECTOR, SectorName, TestId, hash};
use crate::folder::Folder;
use device::SyncMethod;
use measure::workload::split_mix;
use rustix::fs::{Mode, OFlags};
use rustix::io::ReadWriteFlags;
use std::io::IoSlice;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// Memory of direct writes is aligned to this.
const ALIGN: usize = 4096;
/// Writes between two flushes, at most.
const BATCH_MAX: u64 = 4;

/// The files of raw writes of these sizes.
pub(super) fn shapes(sizes: &[u32], files: u32, file_bytes: u64) -> Vec<RawFileShape> {
    let of_size = |size: &u32| {
        let size = *size;
        (0..files).map(move |number| RawFileShape {
            name: format!("raw-{size}-{number}.dat"),
            write_bytes: size,
            slots: file_bytes / u64::from(size),
        })
    };
    sizes.iter().flat_map(of_size).collect()
}

/// Makes a file, written from end to end and durable.
pub(super) fn make(
    folder: &Folder,
    shape: &RawFileShape,
    seed: u64,
    cancel: &dyn Fn() -> bool,
) -> Result<(), PowerTestError> {
    let at = folder.directory().entry(&shape.name)?;
    let bytes = u64::from(shape.write_bytes) * shape.slots;
    let made = device::file::create_prewritten_at(&at, bytes, &[], seed, &|_| {}, cancel);
    match made {
        Err(_) if cancel() => Err(PowerTestError::Interrupted),
        made => {
            made?.keep();
            Ok(())
        }
    }
}

/// What a thread that writes a file needs.
pub(super) struct RawFile {
    pub(super) shape: RawFileShape,
    pub(super) number: u32,
    pub(super) test: TestId,
    pub(super) method: SyncMethod,
    pub(super) queue: Arc<AckQueue>,
    pub(super) requests: AckRequests,
    pub(super) stop: Arc<StopFlags>,
    pub(super) planted: PlantedWriterBug,
}

fn open(folder: &Folder, name: &str, method: SyncMethod) -> rustix::io::Result<OwnedFd> {
    let own = match method {
        SyncMethod::Dsync => OFlags::DSYNC,
        method if method.is_direct() => OFlags::DIRECT,
        _ => OFlags::empty(),
    };
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | own;
    rustix::fs::openat(folder.directory(), name, flags, Mode::empty())
}

impl RawFile {
    /// Writes until it is stopped.
    pub(super) fn run(&self, folder: &Folder) -> Result<(), PowerTestError> {
        let name = &self.shape.name;
        let failed = |what: &str| {
            PowerTestError::system(format!("{}/{name}: {what}", folder.path().display()))
        };
        let opened = open(folder, name, self.method)
            .map_err(|e| failed("opening with this --sync-method")(e.into()))?;
        let size = self.shape.write_bytes as usize;
        let mut memory = vec![0; size + ALIGN];
        let from = memory.as_ptr().align_offset(ALIGN).min(ALIGN);
        let buffer = &mut memory[from..from + size];
        let (mut next, mut released) = (0, 0);
        let mut state = u64::from(self.number) ^ 0x7261_7721;
        let mut batch: Vec<PowerAck> = Vec::new();
        while !self.stop.is_asked() {
            let after = self.queue.count();
            for _ in 0..1 + split_mix(&mut state) % BATCH_MAX {
                if !self.stop.may_commit() || !self.make_room(next, &mut released) {
                    break;
                }
                self.fill(buffer, next);
                let at = next % self.shape.slots * size as u64;
                write(&opened, buffer, at, self.method).map_err(failed("writing"))?;
                batch.push(PowerAck {
                    stream: self.number,
                    session: self.number,
                    sequence: 0,
                    at: next,
                    offset: 0,
                    length: size as u32,
                    hash: hash(buffer),
                    after,
                });
                next += 1;
            }
            let is_early = self.planted == PlantedWriterBug::AcknowledgeBeforeCommit;
            if !self.method.durable_writes() && !is_early {
                rustix::fs::fdatasync(&opened).map_err(|e| failed("flushing")(e.into()))?;
            }
            if batch.is_empty() || !self.acknowledge(&mut batch) {
                break;
            }
        }
        Ok(())
    }

    fn acknowledge(&self, batch: &mut Vec<PowerAck>) -> bool {
        batch.drain(..).all(|ack| {
            let sequence = self.queue.number();
            self.queue
                .push(self.number as usize, PowerAck { sequence, ..ack })
        })
    }

    /// Has the server release what write `next` would overwrite; false where it does not answer.
    fn make_room(&self, next: u64, released: &mut u64) -> bool {
        let Some(overwritten) = next.checked_sub(self.shape.slots) else {
            return true;
        };
        if overwritten < *released {
            return true;
        }
        let upto = overwritten + 1 + self.shape.slots / 4;
        let request = PowerRequest::Release {
            stream: self.number,
            at: upto,
            offset: 0,
        };
        if self.requests.ask(request).is_err() {
            self.stop.ask();
            return false;
        }
        *released = upto;
        true
    }

    fn fill(&self, buffer: &mut [u8], write: u64) {
        content(buffer, self.test, (self.number, write), self.shape.slots);
    }
}

/// Makes `buffer` the content of write number `write` of a file.
pub(super) fn content(buffer: &mut [u8], test: TestId, (file, write): (u32, u64), slots: u64) {
    let (sectors, _) = buffer.as_chunks_mut::<SECTOR>();
    for (index, sector) in (0..).zip(sectors) {
        let name = SectorName {
            test,
            file,
            write,
            slot: write % slots,
            index,
        };
        name.write_to(sector);
    }
}

/// Writes all of it. Short writes are errors: nothing is retried.
fn write(file: &OwnedFd, bytes: &[u8], at: u64, method: SyncMethod) -> std::io::Result<()> {
    let flags = match method {
        SyncMethod::DirectDsync => ReadWriteFlags::DSYNC,
        _ => ReadWriteFlags::empty(),
    };
    let written = rustix::io::pwritev2(file, &[IoSlice::new(bytes)], at, flags)?;
    match written == bytes.len() {
        true => Ok(()),
        false => Err(std::io::Error::other("a write was short")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_has_its_files_and_every_sector_its_name() {
        let shapes = shapes(&[4096, 16384], 2, 1 << 20);
        let names: Vec<&str> = shapes.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "raw-4096-0.dat",
                "raw-4096-1.dat",
                "raw-16384-0.dat",
                "raw-16384-1.dat"
            ]
        );
        assert_eq!((shapes[0].slots, shapes[2].slots), (256, 64));
        let test = TestId([3; 16]);
        let mut buffer = vec![0; 4096];
        content(&mut buffer, test, (1, 300), 256);
        for (index, sector) in (0..).zip(buffer.as_chunks::<SECTOR>().0) {
            let name = SectorName::read(sector).expect("it is whole");
            assert_eq!(
                (name.file, name.write, name.slot, name.index),
                (1, 300, 44, index)
            );
        }
    }
}
