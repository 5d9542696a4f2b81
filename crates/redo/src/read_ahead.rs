//! Reading a long range of a log in order, with several reads on their way at once.
//!
//! What lives here: [`read_ahead`], a window of [`WINDOW`] chunks that [`DEPTH`] threads fill and
//! the caller empties in order. A short range is read by the caller alone: starting threads costs
//! more than it saves, and small logs are recovered often.
//!
//! Invariants: chunks are given in order and whole; an error is given where its chunk would have
//! been, never before; when the caller has seen enough no read is left behind.
//!
//! What it must not know: what the bytes mean.

use device::{DeviceError, LogDevice, Region, RegionOptions};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Reads on their way at once.
const DEPTH: usize = 8;
/// Chunks in memory at once. More than are on their way: a device that ends reads out of order
/// has work while the caller waits for the oldest.
const WINDOW: usize = 2 * DEPTH;
/// Bytes of a contiguous range that the caller reads alone before others help: about what is read
/// while they start.
pub(crate) const ALONE_BYTES: usize = 1 << 20;
/// Memory of a chunk begins at a multiple of this, so that a device may read straight into it.
const ALIGN: usize = 4096;

/// A contiguous piece of a device's space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk {
    /// First byte.
    pub(crate) addr: u64,
    /// Bytes.
    pub(crate) len: usize,
}

/// How a range is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Bytes that the caller reads before others help.
    pub(crate) alone_bytes: usize,
    /// Bytes of the largest chunk.
    pub(crate) chunk_bytes: usize,
}

/// Reads the chunks of `plan` and hands each to `each`, in order, until it says no or the plan
/// ends.
///
/// # Errors
/// The first read that fails among those that were asked for; no memory.
pub(crate) fn read_ahead<P>(
    data: &dyn LogDevice,
    mut plan: P,
    pace: Pace,
    mut each: impl FnMut(&[u8]) -> bool,
) -> Result<(), DeviceError>
where
    P: Iterator<Item = Chunk> + Send,
{
    let slot_bytes = pace.chunk_bytes.max(1).next_multiple_of(ALIGN);
    let mut done_bytes = 0;
    if pace.alone_bytes > 0 {
        let mut memory = Region::new(slot_bytes)?;
        while done_bytes < pace.alone_bytes {
            let Some(chunk) = plan.next() else {
                return Ok(());
            };
            done_bytes += chunk.len;
            let bytes = &mut memory.bytes_mut()[..chunk.len];
            data.read(chunk.addr, bytes)?;
            if !each(bytes) {
                return Ok(());
            }
        }
    }
    let Some(next) = plan.next() else {
        return Ok(());
    };
    // In huge pages where the system has them: a device is then given a chunk in one piece.
    let mut memory = Region::with(WINDOW * slot_bytes, RegionOptions::default())?;
    let slots = memory.bytes_mut().chunks_exact_mut(slot_bytes).collect();
    let window = Window::new(std::iter::once(next).chain(plan), slots);
    std::thread::scope(|scope| {
        let ends = Ends(&window);
        let helpers = (0..DEPTH)
            .map(|_| std::thread::Builder::new().spawn_scoped(scope, || window.fill(data)))
            .take_while(Result::is_ok)
            .count();
        if helpers == 0 {
            // The system gives no thread: the caller reads on alone.
            return window.alone(data, each);
        }
        while let Some(read) = window.take() {
            let (slot, len) = read?;
            if !each(&slot[..len]) {
                break;
            }
            window.give_back(slot);
        }
        drop(ends);
        Ok(())
    })
}

type Slot<'m> = &'m mut [u8];
type Read<'m> = Result<(Slot<'m>, usize), DeviceError>;

struct State<'m, P> {
    plan: P,
    /// Chunks taken from the plan, and chunks given to the caller.
    begun: usize,
    given: usize,
    /// No chunk follows those begun.
    exhausted: bool,
    /// The caller has seen enough.
    over: bool,
    ready: [Option<Read<'m>>; WINDOW],
    /// Memory that holds no chunk.
    spare: Vec<Slot<'m>>,
}

struct Window<'m, P> {
    state: Mutex<State<'m, P>>,
    /// A chunk became ready, or none will.
    filled: Condvar,
    /// There is room for another chunk, or nothing more is wanted.
    emptied: Condvar,
}

/// Lets the helpers go, also when the caller unwinds.
struct Ends<'a, 'm, P: Iterator<Item = Chunk>>(&'a Window<'m, P>);

impl<P: Iterator<Item = Chunk>> Drop for Ends<'_, '_, P> {
    fn drop(&mut self) {
        self.0.lock().over = true;
        self.0.emptied.notify_all();
    }
}

impl<'m, P: Iterator<Item = Chunk>> Window<'m, P> {
    fn new(plan: P, spare: Vec<Slot<'m>>) -> Window<'m, P> {
        Window {
            state: Mutex::new(State {
                plan,
                begun: 0,
                given: 0,
                exhausted: false,
                over: false,
                ready: std::array::from_fn(|_| None),
                spare,
            }),
            filled: Condvar::new(),
            emptied: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<'m, P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A helper's life: reads chunks into the window until there are none.
    fn fill(&self, data: &dyn LogDevice) {
        let mut state = self.lock();
        loop {
            while !state.over && !state.exhausted && state.spare.is_empty() {
                state = self
                    .emptied
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            if state.over || state.exhausted {
                return;
            }
            let Some(chunk) = state.plan.next() else {
                state.exhausted = true;
                self.filled.notify_all();
                self.emptied.notify_all();
                return;
            };
            let Some(memory) = state.spare.pop() else {
                return;
            };
            // As many chunks have no spare memory as are between these two.
            let at = state.begun % WINDOW;
            state.begun += 1;
            drop(state);
            let read = data.read(chunk.addr, &mut memory[..chunk.len]);
            state = self.lock();
            let oldest = at == state.given % WINDOW;
            state.ready[at] = Some(read.map(|()| (memory, chunk.len)));
            if oldest {
                self.filled.notify_all();
            }
        }
    }

    /// The next chunk in order; `None` at the end of the plan.
    fn take(&self) -> Option<Read<'m>> {
        let mut state = self.lock();
        loop {
            let at = state.given % WINDOW;
            if let Some(read) = state.ready[at].take() {
                state.given += 1;
                return Some(read);
            }
            if state.exhausted && state.given == state.begun {
                return None;
            }
            state = self
                .filled
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn give_back(&self, memory: Slot<'m>) {
        self.lock().spare.push(memory);
        self.emptied.notify_one();
    }

    fn alone(
        &self,
        data: &dyn LogDevice,
        mut each: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), DeviceError> {
        let Some(memory) = self.lock().spare.pop() else {
            return Ok(());
        };
        while let Some(chunk) = self.lock().plan.next() {
            let bytes = &mut memory[..chunk.len];
            data.read(chunk.addr, bytes)?;
            if !each(bytes) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use device::SimDisk;

    const LEN: usize = 64 << 10;
    const PACE: Pace = Pace {
        alone_bytes: ALONE_BYTES,
        chunk_bytes: LEN,
    };
    /// Chunks that the caller reads alone.
    const ALONE: usize = ALONE_BYTES / LEN;

    fn disk(chunks: usize) -> SimDisk {
        let disk = SimDisk::new(chunks * LEN, 512, false);
        let image: Vec<u8> = (0..chunks * LEN).map(|at| (at / LEN) as u8).collect();
        disk.load(&image);
        disk
    }

    fn plan(chunks: usize) -> impl Iterator<Item = Chunk> + Send {
        (0..chunks).map(|at| Chunk {
            addr: (at * LEN) as u64,
            len: LEN,
        })
    }

    #[test]
    fn chunks_come_in_order_and_whole_however_many_there_are() {
        for chunks in [0, 1, ALONE, ALONE + 1, ALONE + DEPTH, ALONE + WINDOW, 100] {
            let disk = disk(chunks.max(1));
            let mut seen = 0;
            let read = read_ahead(&disk, plan(chunks), PACE, |bytes| {
                assert!(bytes.len() == LEN && bytes.iter().all(|b| *b == seen as u8));
                assert_eq!(bytes.as_ptr().align_offset(ALIGN), 0);
                seen += 1;
                true
            });
            read.expect("the disk does not fail");
            assert_eq!(seen, chunks);
        }
    }

    #[test]
    fn who_has_seen_enough_is_given_no_more() {
        for enough in [1, ALONE, ALONE + 1, 50] {
            let (disk, mut seen) = (disk(100), 0);
            let read = read_ahead(&disk, plan(100), PACE, |_| {
                seen += 1;
                seen < enough
            });
            read.expect("the disk does not fail");
            assert_eq!(seen, enough);
        }
    }

    #[test]
    fn an_error_comes_in_its_place_or_not_at_all() {
        // The last chunk lies outside the disk.
        for bad in [2, ALONE, 40] {
            let (disk, mut seen) = (disk(bad), 0);
            let failed = read_ahead(&disk, plan(bad + 3), PACE, |_| {
                seen += 1;
                true
            });
            assert!(failed.is_err() && seen == bad, "{seen} before {bad}");
            let mut seen = 0;
            let stopped = read_ahead(&disk, plan(bad + 3), PACE, |_| {
                seen += 1;
                seen < bad
            });
            stopped.expect("what was not asked for cannot fail");
        }
    }

    #[test]
    fn helpers_go_when_the_caller_panics() {
        let disk = disk(100);
        let caught = std::panic::catch_unwind(|| {
            let mut seen = 0;
            let _ = read_ahead(&disk, plan(100), PACE, |_| {
                seen += 1;
                assert!(seen < 30, "on purpose");
                true
            });
        });
        assert!(caught.is_err());
    }
}
