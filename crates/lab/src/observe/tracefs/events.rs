//! Records of the trace as typed events: what a file system, the block layer and system calls did.
//!
//! Invariants: the events that are decoded are those of [`TraceEventKind`]; each names the fields
//! that it needs, and a kernel whose event lacks one is refused by name. A record that is too
//! short, or of another event, is not decoded.

use super::format::{EventFormat, Field};
use std::collections::BTreeMap;

/// `IOCB_DSYNC` and `IOCB_SYNC` of `ki_flags` (RWF_DSYNC, RWF_SYNC of the kernel's interface).
const DURABLE_FLAGS: u64 = 0x2 | 0x4;
/// Number of the operation `IORING_OP_FSYNC` of io_uring.
pub const RING_FSYNC: u64 = 3;

/// An event of the kernel that is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TraceEventKind {
    /// A direct operation begins; the kernel's filter passes writes only.
    DirectBegin,
    /// A direct write goes on without its thread.
    DirectQueued,
    /// A direct write is complete.
    DirectEnd,
    /// Part of a write into the page cache of ext4 begins.
    Ext4Buffered,
    /// The same where ext4 allocates blocks at once.
    Ext4BufferedAtOnce,
    /// A write into the page cache of XFS begins.
    XfsBuffered,
    /// ext4 begins to make a file durable.
    Ext4SyncBegin,
    /// ext4 has made it durable.
    Ext4SyncEnd,
    /// XFS begins to make a file durable.
    XfsSyncBegin,
    /// A request is handed to a device.
    BlockIssue,
    /// A device has completed it.
    BlockDone,
    /// io_uring hands an operation to a worker.
    RingQueued,
    /// An operation of io_uring is complete.
    RingDone,
    /// A system call returns.
    CallEnd(SystemCall),
}

/// A system call whose end is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemCall {
    /// `pwrite64`.
    Pwrite,
    /// `write`.
    Write,
    /// `pwritev`.
    Pwritev,
    /// `pwritev2`.
    Pwritev2,
    /// `writev`.
    Writev,
    /// `fsync`.
    Fsync,
    /// `fdatasync`.
    Fdatasync,
}

impl SystemCall {
    /// Those that write.
    pub const WRITES: [SystemCall; 5] = [
        SystemCall::Pwrite,
        SystemCall::Write,
        SystemCall::Pwritev,
        SystemCall::Pwritev2,
        SystemCall::Writev,
    ];
    /// Those that make a file durable.
    pub const SYNCS: [SystemCall; 2] = [SystemCall::Fsync, SystemCall::Fdatasync];

    /// It makes a file durable.
    #[must_use]
    pub fn is_sync(self) -> bool {
        SystemCall::SYNCS.contains(&self)
    }
}

impl TraceEventKind {
    /// Its folder below `events`.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            TraceEventKind::DirectBegin => "iomap/iomap_iter",
            TraceEventKind::DirectQueued => "iomap/iomap_dio_rw_queued",
            TraceEventKind::DirectEnd => "iomap/iomap_dio_complete",
            TraceEventKind::Ext4Buffered => "ext4/ext4_da_write_begin",
            TraceEventKind::Ext4BufferedAtOnce => "ext4/ext4_write_begin",
            TraceEventKind::XfsBuffered => "xfs/xfs_file_buffered_write",
            TraceEventKind::Ext4SyncBegin => "ext4/ext4_sync_file_enter",
            TraceEventKind::Ext4SyncEnd => "ext4/ext4_sync_file_exit",
            TraceEventKind::XfsSyncBegin => "xfs/xfs_file_fsync",
            TraceEventKind::BlockIssue => "block/block_rq_issue",
            TraceEventKind::BlockDone => "block/block_rq_complete",
            TraceEventKind::RingQueued => "io_uring/io_uring_queue_async_work",
            TraceEventKind::RingDone => "io_uring/io_uring_complete",
            TraceEventKind::CallEnd(call) => match call {
                SystemCall::Pwrite => "syscalls/sys_exit_pwrite64",
                SystemCall::Write => "syscalls/sys_exit_write",
                SystemCall::Pwritev => "syscalls/sys_exit_pwritev",
                SystemCall::Pwritev2 => "syscalls/sys_exit_pwritev2",
                SystemCall::Writev => "syscalls/sys_exit_writev",
                SystemCall::Fsync => "syscalls/sys_exit_fsync",
                SystemCall::Fdatasync => "syscalls/sys_exit_fdatasync",
            },
        }
    }

    /// The fields that are read, in the order in which [`decoded`] takes them.
    const fn fields(self) -> &'static [&'static str] {
        match self {
            TraceEventKind::DirectBegin => &["dev", "ino", "pos"],
            TraceEventKind::DirectQueued => &["dev", "ino"],
            TraceEventKind::DirectEnd => &["dev", "ino", "pos", "ki_flags", "ret"],
            TraceEventKind::Ext4Buffered | TraceEventKind::Ext4BufferedAtOnce => {
                &["dev", "ino", "pos", "len"]
            }
            TraceEventKind::XfsBuffered => &["dev", "ino", "offset", "count"],
            TraceEventKind::Ext4SyncBegin => &["dev", "ino", "datasync"],
            TraceEventKind::Ext4SyncEnd => &["dev", "ino", "ret"],
            TraceEventKind::XfsSyncBegin => &["dev", "ino"],
            TraceEventKind::BlockIssue | TraceEventKind::BlockDone => {
                &["dev", "sector", "nr_sector", "rwbs"]
            }
            TraceEventKind::RingQueued => &["req", "opcode"],
            TraceEventKind::RingDone => &["req", "res"],
            TraceEventKind::CallEnd(_) => &["ret"],
        }
    }
}

/// A file in the trace: the number of its device as the kernel has it, and its inode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TracedFile {
    /// Its device: major number in the bits from 20 on, minor below.
    pub dev: u32,
    /// Its inode.
    pub ino: u64,
}

/// The number of a device as the kernel's traces have it.
#[must_use]
pub const fn traced_device(major: u32, minor: u32) -> u32 {
    (major << 20) | (minor & 0xf_ffff)
}

/// What a request to a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRequest {
    /// The device.
    pub dev: u32,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Sectors; 0 of a flush.
    pub sectors: u32,
    /// It flushes the device's cache.
    pub is_flush: bool,
    /// It writes.
    pub is_write: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceEvent {
    /// A direct write begins, or goes on with a further extent.
    DirectBegin {
        /// The file.
        file: TracedFile,
        /// Where it writes.
        pos: u64,
    },
    /// The thread's direct write goes on without it.
    DirectQueued {
        /// The file.
        file: TracedFile,
    },
    /// A direct write is complete.
    DirectEnd {
        /// The file.
        file: TracedFile,
        /// Where it ended, or where it began if it failed.
        pos: u64,
        /// It was durable when it was complete.
        is_durable: bool,
        /// Bytes, or an error below 0.
        result: i64,
    },
    /// A write into the page cache, or a part of one, begins.
    BufferedBegin {
        /// The file.
        file: TracedFile,
        /// Where it writes.
        pos: u64,
        /// Bytes from there.
        length: u64,
    },
    /// The file system begins to make a file durable.
    SyncBegin {
        /// The file.
        file: TracedFile,
        /// Without its times of change; `None` where the event does not say.
        is_data_only: Option<bool>,
        /// An event marks its end.
        has_end: bool,
    },
    /// It has made it durable.
    SyncEnd {
        /// The file.
        file: TracedFile,
        /// 0, or an error.
        result: i64,
    },
    /// A request is handed to a device.
    BlockIssue(BlockRequest),
    /// A device has completed a request.
    BlockDone(BlockRequest),
    /// io_uring hands an operation to a worker.
    RingQueued {
        /// The operation.
        request: u64,
        /// Its kind.
        opcode: u64,
    },
    /// An operation of io_uring is complete.
    RingDone {
        /// The operation.
        request: u64,
        /// Its result.
        result: i64,
    },
    /// A system call returns.
    CallEnd {
        /// Which.
        call: SystemCall,
        /// Its result.
        result: i64,
    },
}

/// An event with its time and its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEvent {
    /// When, on the trace's clock, in nanoseconds.
    pub at_ns: u64,
    /// The thread on whose processor time it happened.
    pub tid: i32,
    /// What happened.
    pub event: TraceEvent,
}

/// Decodes records of the events that it was made for.
#[derive(Clone, Debug, Default)]
pub struct TraceDecoder {
    events: BTreeMap<u16, KindDecoder>,
}

#[derive(Clone, Debug)]
struct KindDecoder {
    kind: TraceEventKind,
    tid: Field,
    fields: Vec<Field>,
}

impl TraceDecoder {
    /// Has records of `kind` decoded, as `format` describes them.
    ///
    /// # Errors
    /// What the description lacks.
    pub fn add(&mut self, kind: TraceEventKind, format: &str) -> Result<(), String> {
        let format = EventFormat::parse(format)?;
        let field = |name: &&str| match *name {
            "rwbs" => format.field("rwbs"),
            name => format.number(name),
        };
        let decoder = KindDecoder {
            kind,
            tid: format.number("common_pid")?,
            fields: kind.fields().iter().map(field).collect::<Result<_, _>>()?,
        };
        self.events.insert(format.id, decoder);
        Ok(())
    }

    /// The event of a record; `None` where it is of another kind, or too short.
    #[must_use]
    pub fn decode(&self, at_ns: u64, record: &[u8]) -> Option<TimedEvent> {
        let id = u16::from_ne_bytes(*record.first_chunk()?);
        let decoder = self.events.get(&id)?;
        let tid = i32::try_from(decoder.tid.value(record)?).ok()?;
        let event = decoded(decoder, record)?;
        Some(TimedEvent { at_ns, tid, event })
    }
}

fn decoded(decoder: &KindDecoder, record: &[u8]) -> Option<TraceEvent> {
    let value = |index: usize| decoder.fields.get(index)?.value(record);
    let unsigned = |index: usize| decoder.fields.get(index)?.unsigned(record);
    let file = || {
        let dev = u32::try_from(unsigned(0)?).ok()?;
        let ino = unsigned(1)?;
        Some(TracedFile { dev, ino })
    };
    Some(match decoder.kind {
        TraceEventKind::DirectBegin => TraceEvent::DirectBegin {
            file: file()?,
            pos: unsigned(2)?,
        },
        TraceEventKind::DirectQueued => TraceEvent::DirectQueued { file: file()? },
        TraceEventKind::DirectEnd => TraceEvent::DirectEnd {
            file: file()?,
            pos: unsigned(2)?,
            is_durable: unsigned(3)? & DURABLE_FLAGS != 0,
            result: value(4)?,
        },
        TraceEventKind::Ext4Buffered
        | TraceEventKind::Ext4BufferedAtOnce
        | TraceEventKind::XfsBuffered => TraceEvent::BufferedBegin {
            file: file()?,
            pos: unsigned(2)?,
            length: unsigned(3)?,
        },
        TraceEventKind::Ext4SyncBegin => TraceEvent::SyncBegin {
            file: file()?,
            is_data_only: Some(value(2)? != 0),
            has_end: true,
        },
        TraceEventKind::XfsSyncBegin => TraceEvent::SyncBegin {
            file: file()?,
            is_data_only: None,
            has_end: false,
        },
        TraceEventKind::Ext4SyncEnd => TraceEvent::SyncEnd {
            file: file()?,
            result: value(2)?,
        },
        TraceEventKind::BlockIssue => TraceEvent::BlockIssue(request(decoder, record)?),
        TraceEventKind::BlockDone => TraceEvent::BlockDone(request(decoder, record)?),
        TraceEventKind::RingQueued => TraceEvent::RingQueued {
            request: unsigned(0)?,
            opcode: unsigned(1)?,
        },
        TraceEventKind::RingDone => TraceEvent::RingDone {
            request: unsigned(0)?,
            result: value(1)?,
        },
        TraceEventKind::CallEnd(call) => TraceEvent::CallEnd {
            call,
            result: value(0)?,
        },
    })
}

/// A request: `rwbs` has a letter for each of its properties, among them F for a flush and W for a
/// write.
fn request(decoder: &KindDecoder, record: &[u8]) -> Option<BlockRequest> {
    let number = |index: usize| decoder.fields.get(index)?.unsigned(record);
    let letters = decoder.fields.get(3)?.bytes(record)?;
    let letters = letters.split(|byte| *byte == 0).next()?;
    let sectors = u32::try_from(number(2)?).ok()?;
    let has = |letter: u8| letters.contains(&letter);
    Some(BlockRequest {
        dev: u32::try_from(number(0)?).ok()?,
        // A flush has no place; the kernel shows it as 0 or as all bits.
        sector: if sectors == 0 { 0 } else { number(1)? },
        sectors,
        is_flush: sectors == 0 && has(b'F'),
        is_write: has(b'W'),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(id: u16, fields: &[(&str, usize, usize)]) -> String {
        let mut text = format!("name: made_up\nID: {id}\nformat:\n");
        text += "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
        for (name, offset, size) in fields {
            text += &format!("\tfield:long {name};\toffset:{offset};\tsize:{size};\tsigned:1;\n");
        }
        text
    }

    fn record(id: u16, tid: i32, words: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::from(id.to_ne_bytes());
        bytes.extend([0; 2]);
        bytes.extend(tid.to_ne_bytes());
        words
            .iter()
            .for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn records_become_events_by_the_described_fields() {
        let mut decoder = TraceDecoder::default();
        let end = format(
            7,
            &[
                ("dev", 8, 4),
                ("ino", 16, 8),
                ("pos", 24, 8),
                ("ki_flags", 32, 4),
                ("ret", 40, 8),
            ],
        );
        decoder
            .add(TraceEventKind::DirectEnd, &end)
            .expect("described");
        let bytes = record(7, 42, &[0x70_0000, 12, 0xa000, 0x2_0002, 8192]);
        let event = TraceEvent::DirectEnd {
            file: TracedFile {
                dev: traced_device(7, 0),
                ino: 12,
            },
            pos: 0xa000,
            is_durable: true,
            result: 8192,
        };
        let expected = Some(TimedEvent {
            at_ns: 5,
            tid: 42,
            event,
        });
        assert_eq!(decoder.decode(5, &bytes), expected);
        for cut in 0..bytes.len() {
            assert_eq!(decoder.decode(5, &bytes[..cut]), None, "{cut}");
        }
        assert_eq!(decoder.decode(5, &record(8, 42, &[0; 5])), None);
    }

    #[test]
    fn a_kernel_whose_event_lacks_a_field_is_refused_by_its_name() {
        let lacks = format(7, &[("dev", 8, 4), ("ino", 16, 8)]);
        let refused = TraceDecoder::default().add(TraceEventKind::DirectEnd, &lacks);
        assert_eq!(refused, Err("it has no field pos".to_owned()));
    }

    #[test]
    fn a_flush_is_a_request_without_sectors() {
        let mut decoder = TraceDecoder::default();
        let text = format(
            9,
            &[
                ("dev", 8, 4),
                ("sector", 16, 8),
                ("nr_sector", 24, 4),
                ("rwbs", 28, 10),
            ],
        );
        decoder
            .add(TraceEventKind::BlockDone, &text)
            .expect("described");
        let done = |sector: u64, sectors: u32, letters: &[u8]| {
            let mut bytes = record(9, 0, &[0x70_0000, sector]);
            bytes.extend(sectors.to_ne_bytes());
            bytes.extend(letters);
            bytes.resize(40, 0);
            match decoder.decode(0, &bytes).expect("decoded").event {
                TraceEvent::BlockDone(request) => request,
                other => unreachable!("{other:?}"),
            }
        };
        let flush = done(u64::MAX, 0, b"FF");
        assert!(flush.is_flush && !flush.is_write && flush.sector == 0);
        // The write without data that asked for the flush.
        let asked = done(0, 0, b"WS");
        assert!(!asked.is_flush);
        let write = done(2048, 8, b"FWS");
        assert!(write.is_write && !write.is_flush && write.sector == 2048);
    }
}
