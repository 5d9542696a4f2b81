//! The fast way of long traces: this thread reads and joins, others scan.
//!
//! Blocks go to the scanners in turn and come back in turn, so that they are joined in the order of
//! the file; a few are under way at once, so that memory does not grow with the file.

use super::failed::Failed;
use crate::signals::Interrupt;
use evidence::{Reading, trace};
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Bytes of a block.
const BLOCK_BYTES: usize = 1 << 20;
/// Blocks under way for each scanner.
const AHEAD: usize = 3;
/// More scanners than this gain nothing: one thread joins.
const SCANNERS_MAX: usize = 4;

/// A block and what was found in it; both are used again, so that their memory is asked for once
/// and what a scanner made it takes apart itself.
type Job = (Vec<u8>, trace::Scanned);

struct Scanner {
    jobs: SyncSender<Job>,
    done: Receiver<Job>,
}

/// Reads `from` to its end into `to`, which [`Reading::is_scannable`].
pub(super) fn pump(
    from: &mut dyn Read,
    to: &mut Reading,
    interrupt: &Interrupt,
    samples: &mut dyn Write,
) -> Result<(), Failed> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let count = processors.clamp(1, SCANNERS_MAX);
    std::thread::scope(|scope| {
        let scanners: Vec<Scanner> = (0..count)
            .map(|_| {
                let (jobs, todo) = sync_channel::<Job>(AHEAD);
                let (give, done) = sync_channel(AHEAD);
                scope.spawn(move || {
                    while let Ok((block, mut scanned)) = todo.recv() {
                        trace::scan(&block, &mut scanned);
                        if give.send((block, scanned)).is_err() {
                            return;
                        }
                    }
                });
                Scanner { jobs, done }
            })
            .collect();
        let mut join = Join {
            scanners: &scanners,
            sent: 0,
            taken: 0,
            spare: Vec::new(),
        };
        let read = join.all(from, to, interrupt, samples);
        while join.taken < join.sent {
            join.take(to, samples)?;
        }
        read
    })
}

/// Blocks in turn.
struct Join<'a> {
    scanners: &'a [Scanner],
    sent: usize,
    taken: usize,
    spare: Vec<Job>,
}

impl Join<'_> {
    fn all(
        &mut self,
        from: &mut dyn Read,
        to: &mut Reading,
        interrupt: &Interrupt,
        samples: &mut dyn Write,
    ) -> Result<(), Failed> {
        let mut chunk = vec![0; BLOCK_BYTES];
        let under_way = AHEAD * self.scanners.len();
        loop {
            let (n, ended) = fill(from, &mut chunk, interrupt);
            let (mut block, scanned) = self.spare.pop().unwrap_or_default();
            to.cut_block(&chunk[..n], &mut block);
            if block.is_empty() {
                self.spare.push((block, scanned));
            } else {
                if self.sent - self.taken == under_way {
                    self.take(to, samples)?;
                }
                let scanner = &self.scanners[self.sent % self.scanners.len()];
                let sent = scanner.jobs.send((block, scanned));
                sent.expect(
                    "a scanner ends only when its channel does, or with a panic of its own",
                );
                self.sent += 1;
            }
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Joins the next block of the file.
    fn take(&mut self, to: &mut Reading, samples: &mut dyn Write) -> Result<(), Failed> {
        let scanner = &self.scanners[self.taken % self.scanners.len()];
        let (block, mut scanned) = scanner
            .done
            .recv()
            .expect("a scanner gives back every block that it was sent");
        self.taken += 1;
        to.absorb(&block, &mut scanned);
        self.spare.push((block, scanned));
        samples
            .write_all(&to.take_samples())
            .map_err(Failed::Samples)
    }
}

/// Fills `chunk`: pipes and unpackers give little at once, and small blocks gain nothing. The bytes
/// that are there, and how the file ended if it did.
fn fill(
    from: &mut dyn Read,
    chunk: &mut [u8],
    interrupt: &Interrupt,
) -> (usize, Option<Result<(), Failed>>) {
    let mut filled = 0;
    while filled < chunk.len() {
        if interrupt.requested() {
            return (filled, Some(Err(Failed::Interrupted)));
        }
        match from.read(&mut chunk[filled..]) {
            Ok(0) => return (filled, Some(Ok(()))),
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return (filled, Some(Err(Failed::Cut(e.to_string())))),
        }
    }
    (filled, None)
}
