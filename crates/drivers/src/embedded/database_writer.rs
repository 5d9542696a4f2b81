//! The database writer (DBWR): writes the blocks of a data file that redo dirtied, and moves the
//! checkpoint behind them. Without a data file it is a stand-in: what a workload writes is never
//! needed again, so the checkpoint moves after each log switch.
//!
//! Invariants: the checkpoint passes redo only when every block that this redo dirtied is durable;
//! a block is queued once, at the redo that dirtied it first, so that the queue is never longer
//! than the data file.

use super::background::{Background, Progress, Stop};
use device::queue::{self, Op, OpKind, Piece};
use device::{LogDevice, Queue, Region};
use measure::record::DATA_BLOCK_BYTES;
use measure::workload::split_mix;
use redo::{Log, Rba};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often it looks for redo.
const LOOK: Duration = Duration::from_millis(2);
/// The checkpoint moves at least so often while there is redo: as often as Oracle's CKPT records
/// the progress of DBWR in the control file.
const HEARTBEAT: Duration = Duration::from_secs(3);
/// Blocks that are written before they are flushed together.
const BATCH_BLOCKS: usize = 64;
/// Distinct contents of blocks.
const CONTENTS: u64 = 1024;

/// Bytes that DBWR writes for each byte of redo, in study 000: IOStat by function, DBWR 110.681
/// MB/s beside LGWR 342.071 MB/s.
pub const WRITTEN_PER_REDO: f64 = 110.681 / 342.071;

/// The data file of a database writer.
#[derive(Clone)]
pub struct DataFile {
    /// Where it is; of whole blocks of [`DATA_BLOCK_BYTES`] (`DB_BLOCK_SIZE`'s default), at least
    /// one.
    pub device: Arc<dyn LogDevice>,
    /// Bytes of blocks that each byte of redo dirties.
    pub written_per_redo: f64,
    /// Bytes of redo that became durable so far.
    pub redo_bytes: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl std::fmt::Debug for DataFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataFile")
            .field("bytes", &self.device.bytes())
            .field("written_per_redo", &self.written_per_redo)
            .finish_non_exhaustive()
    }
}

/// What a database writer did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrittenSoFar {
    /// Blocks of the data file that are durable; `None` without a data file.
    pub blocks: Option<u64>,
    /// Checkpoints that moved.
    pub checkpoints: u64,
}

#[derive(Debug, Default)]
pub(super) struct WriterCounts {
    blocks: AtomicU64,
    checkpoints: AtomicU64,
}

impl WriterCounts {
    /// `writes`: there is a data file.
    pub(super) fn read(&self, writes: bool) -> WrittenSoFar {
        WrittenSoFar {
            blocks: writes.then(|| self.blocks.load(Ordering::Relaxed)),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
        }
    }
}

/// Moves the checkpoint of a log.
struct Checkpoints {
    log: Arc<Log>,
    counts: Arc<WriterCounts>,
    progress: Progress,
}

impl Checkpoints {
    /// False where the log failed, which it reports to its sessions.
    fn advance(&self, upto: Rba) -> bool {
        if self.log.checkpoint(upto).is_err() {
            return false;
        }
        self.counts.checkpoints.fetch_add(1, Ordering::Relaxed);
        self.progress.updated_control();
        true
    }
}

/// Begins to move the checkpoint of `log`. What recovery found needs no block of the data file, so
/// that the checkpoint moves to its end before this returns, which is not counted: a log that was
/// full when it ended could otherwise not be written to, and no switch would come for the
/// checkpoint to follow.
///
/// # Errors
/// When the system gives no thread, or no memory to write from.
pub(super) fn start(
    log: &Arc<Log>,
    data: Option<DataFile>,
    counts: Arc<WriterCounts>,
    progress: Progress,
) -> std::io::Result<Background> {
    // A log that fails reports it to its sessions.
    drop(log.checkpoint(log.durable()));
    let checkpoints = Checkpoints {
        log: Arc::clone(log),
        counts,
        progress: progress.clone(),
    };
    match data {
        None => Background::start("dbwr", progress, move |stop| {
            follow(&checkpoints, stop);
            Ok(())
        }),
        Some(data) => {
            let mut writer = Writer::new(data, checkpoints)?;
            Background::start("dbwr", progress, move |stop| writer.run(stop))
        }
    }
}

/// The stand-in: the checkpoint follows each log switch.
fn follow(checkpoints: &Checkpoints, stop: &Stop) {
    let mut last = checkpoints.log.durable().log_seq;
    while !stop.is_asked() {
        let durable = checkpoints.log.durable();
        if durable.log_seq > last {
            last = durable.log_seq;
            if !checkpoints.advance(durable) {
                return;
            }
        }
        stop.sleep(LOOK);
    }
}

/// Blocks that redo dirtied and that are not durable, by the redo that dirtied them first.
struct DirtyBlocks {
    queue: VecDeque<(u32, Rba)>,
    is_dirty: Vec<bool>,
    rng: u64,
    /// Blocks that redo has dirtied, less those that were drawn.
    owed: f64,
}

impl DirtyBlocks {
    fn new(blocks: usize) -> DirtyBlocks {
        DirtyBlocks {
            queue: VecDeque::new(),
            is_dirty: vec![false; blocks],
            rng: 0x6462_7772,
            owed: 0.0,
        }
    }

    /// Redo behind `low` dirties `blocks` more blocks anywhere in the file.
    fn dirty(&mut self, blocks: f64, low: Rba) {
        self.owed += blocks;
        // More draws than there are blocks dirty what is dirty already.
        let most = self.is_dirty.len().saturating_mul(8);
        let draws = (self.owed as usize).min(most);
        self.owed -= self.owed.floor();
        for _ in 0..draws {
            let block = (split_mix(&mut self.rng) % self.is_dirty.len() as u64) as usize;
            if !std::mem::replace(&mut self.is_dirty[block], true) {
                self.queue.push_back((block as u32, low));
            }
        }
    }

    /// The next blocks to be written, oldest first. From now on they can be dirtied again.
    fn take(&mut self, out: &mut Vec<u32>) {
        out.clear();
        while out.len() < BATCH_BLOCKS {
            let Some((block, _)) = self.queue.pop_front() else {
                return;
            };
            self.is_dirty[block as usize] = false;
            out.push(block);
        }
    }

    /// The redo from which recovery would have to begin, where the redo before `all` is known.
    fn low(&self, all: Rba) -> Rba {
        self.queue.front().map_or(all, |(_, low)| *low)
    }
}

/// Writes the blocks of a data file.
struct Writer {
    data: DataFile,
    queue: Box<dyn Queue>,
    dirty: DirtyBlocks,
    checkpoints: Checkpoints,
    written: u64,
    /// Whether completed writes have to be flushed.
    flushes: bool,
}

impl Writer {
    fn new(data: DataFile, checkpoints: Checkpoints) -> std::io::Result<Writer> {
        let blocks = data.device.bytes() / DATA_BLOCK_BYTES;
        let blocks = usize::try_from(blocks.min(u64::from(u32::MAX))).unwrap_or(usize::MAX);
        if blocks == 0 {
            let what = "a data file has at least one block of 8 kB";
            return Err(std::io::Error::other(what));
        }
        let mut region =
            Region::new((CONTENTS * DATA_BLOCK_BYTES) as usize).map_err(std::io::Error::other)?;
        let mut state = 0x6461_7461;
        for word in region.bytes_mut().chunks_exact_mut(8) {
            word.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        let queue = data.device.queue(Arc::new(region));
        Ok(Writer {
            queue: queue.map_err(std::io::Error::other)?,
            flushes: !data.device.caps().durable_writes,
            dirty: DirtyBlocks::new(blocks),
            data,
            checkpoints,
            written: 0,
        })
    }

    fn run(&mut self, stop: &Stop) -> Result<(), String> {
        let mut known = (self.data.redo_bytes)();
        // Redo that is counted next lies behind what was durable before.
        let mut low = self.checkpoints.log.durable();
        let (mut last, mut moved) = (low, Instant::now());
        let mut batch = Vec::with_capacity(BATCH_BLOCKS);
        while !stop.is_asked() {
            let durable = self.checkpoints.log.durable();
            let redo = (self.data.redo_bytes)();
            let bytes = redo.saturating_sub(known) as f64 * self.data.written_per_redo;
            self.dirty.dirty(bytes / DATA_BLOCK_BYTES as f64, low);
            (known, low) = (redo, durable);
            self.dirty.take(&mut batch);
            self.write(&batch)
                .map_err(|error| format!("writing blocks of the data file: {error}"))?;
            let upto = self.dirty.low(durable);
            let due = upto.log_seq > last.log_seq || moved.elapsed() >= HEARTBEAT;
            if due && upto > last {
                if !self.checkpoints.advance(upto) {
                    return Ok(());
                }
                (last, moved) = (upto, Instant::now());
            }
            if batch.is_empty() {
                stop.sleep(LOOK);
            }
        }
        Ok(())
    }

    /// Writes these blocks and makes them durable.
    fn write(&mut self, blocks: &[u32]) -> Result<(), queue::IoOrDevice> {
        if blocks.is_empty() {
            return Ok(());
        }
        for block in blocks {
            let len = DATA_BLOCK_BYTES as usize;
            let at = (self.written % CONTENTS) as usize * len;
            let kind = OpKind::Write {
                addr: u64::from(*block) * DATA_BLOCK_BYTES,
                pieces: [Piece { at, len }, Piece::default()],
            };
            self.written += 1;
            queue::run_one(&mut *self.queue, Op { id: 1, kind }, DATA_BLOCK_BYTES)?;
        }
        if self.flushes {
            queue::flush(&mut *self.queue)?;
        }
        let written = blocks.len() as u64;
        let counts = &self.checkpoints.counts;
        counts.blocks.fetch_add(written, Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rba(log_seq: u64) -> Rba {
        Rba {
            log_seq,
            ..Rba::default()
        }
    }

    #[test]
    fn a_block_keeps_its_place_until_it_is_written_and_the_queue_stays_small() {
        let mut dirty = DirtyBlocks::new(100);
        assert_eq!(dirty.low(rba(9)), rba(9), "nothing is dirty");
        dirty.dirty(0.4, rba(1));
        dirty.dirty(0.4, rba(1));
        assert!(dirty.queue.is_empty(), "not yet a block");
        dirty.dirty(0.4, rba(2));
        assert_eq!(dirty.queue.len(), 1);
        dirty.dirty(10_000.0, rba(3));
        assert!((60..=100).contains(&dirty.queue.len()));
        assert_eq!(dirty.low(rba(9)), rba(2), "the oldest counts");
        let mut batch = Vec::new();
        dirty.take(&mut batch);
        assert_eq!(batch.len(), BATCH_BLOCKS.min(100));
        assert_eq!(dirty.low(rba(9)), rba(3));
        dirty.take(&mut batch);
        assert_eq!(dirty.low(rba(9)), rba(9), "all is written");
        let mut all = dirty.is_dirty.iter();
        assert!(all.all(|dirty| !dirty), "{:?}", dirty.queue);
    }
}
