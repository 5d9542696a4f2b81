//! A directory of a log's files served over FUSE, which keeps the promise of fdatasync for each
//! file and no more, and holds requests until a test answers them.
//!
//! Invariants: a write that is held has changed nothing; a sync makes durable what had been
//! answered of its file before the sync was received, and only if it is answered with success;
//! the sync of one file says nothing of another, as on a server of network file systems.

use crate::fuse::{self, Request, Served};
use crate::program::done;
use crate::volume::{Janitor, PLACES};
use measure::workload::split_mix;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

const EINVAL: i32 = 22;
const O_DIRECT: u32 = 0o40_000;
const SECTOR: usize = 512;
/// Direct I/O that does not wait, as on a block device.
const ASYNC_DIO: u32 = 1 << 15;
/// FOPEN_DIRECT_IO and FOPEN_PARALLEL_DIRECT_WRITES.
const DIRECT_AND_PARALLEL: u32 = 1 | 1 << 6;

/// What is asked of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Write,
    Sync,
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub struct Held {
    pub unique: u64,
    /// Place of the file in the list that the shelf was made of.
    pub file: usize,
    pub asked: Asked,
    at: usize,
    data: Vec<u8>,
    /// Answered writes of the file that a sync covers.
    covers: usize,
}

/// Which requests are held.
pub type Rule = fn(file: usize, asked: Asked) -> bool;

/// What becomes of a write that no sync covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Lost,
    /// Of each sector any: lost, kept, or destroyed.
    Drawn,
}

#[derive(Default)]
struct Kept {
    name: String,
    /// As reads see it.
    image: Vec<u8>,
    durable: Vec<u8>,
    /// Answered writes that no sync has covered: where, and what.
    unsynced: Vec<(usize, Vec<u8>)>,
    /// Writes that syncs have covered.
    synced: usize,
    /// Syncs that were answered.
    syncs: usize,
}

#[derive(Default)]
struct Inside {
    files: Vec<Kept>,
    direct: bool,
    rule: Option<Rule>,
    held: Vec<Held>,
    given_up: bool,
}

#[derive(Clone, Default)]
struct State(Arc<(Mutex<Inside>, Condvar)>);

/// The directory.
pub struct Shelf {
    state: State,
    answers: File,
    at: PathBuf,
    // Dropped last: it unmounts when nothing is held any more.
    _janitor: Janitor,
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.0.lock().expect("nobody panics with the files")
    }
}

impl Shelf {
    /// Serves copies of the files; `direct` ones are written past the page cache, several requests
    /// at once, others refuse O_DIRECT. The error says why there can be none here.
    pub fn make(name: &str, files: &[PathBuf], direct: bool) -> Result<Shelf, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("mounting needs root".to_owned());
        }
        let device = fuse::open().map_err(|e| format!("/dev/fuse: {e}"))?;
        let (directory, janitor) = Janitor::hire(name)?;
        let state = State::default();
        for path in files {
            let image = std::fs::read(path).map_err(|e| e.to_string())?;
            let name = path.file_name().expect("a file has a name");
            state.lock().files.push(Kept {
                name: name.to_string_lossy().into_owned(),
                durable: image.clone(),
                image,
                ..Kept::default()
            });
        }
        state.lock().direct = direct;
        let answers = device.try_clone().map_err(|e| e.to_string())?;
        let shelf = Shelf {
            state: state.clone(),
            answers,
            at: directory.join(PLACES[1]),
            _janitor: janitor,
        };
        let (keep, mounted) = fuse::serving(device, &state)?;
        let place = shelf.at.display().to_string();
        let result = done(
            "mount",
            &["-i", "-t", "fuse", "-o", &mounted, "redo-shelf", &place],
        );
        drop(keep);
        result.map(|_| shelf)
    }

    /// Where the files are.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// Holds from now on what the rule names.
    pub fn hold(&self, rule: Rule) {
        self.state.lock().rule = Some(rule);
    }

    /// Holds nothing new; what is held stays.
    pub fn hold_no_more(&self) {
        self.state.lock().rule = None;
    }

    /// Waits until so many requests are held.
    pub fn await_held(&self, count: usize, patience: Duration) -> Result<Vec<Held>, String> {
        let end = Instant::now() + patience;
        let mut inside = self.state.lock();
        while inside.held.len() < count {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let all: Vec<_> = inside.held.iter().map(|h| (h.file, h.asked)).collect();
                return Err(format!("{count} held requests were waited for: {all:?}"));
            }
            let waited = self.state.0.1.wait_timeout(inside, left);
            inside = waited.expect("nobody panics with the files").0;
        }
        Ok(inside.held.clone())
    }

    /// Carries a held request out and answers it.
    pub fn release(&self, unique: u64) {
        self.end(unique, None);
    }

    /// Answers a held request with an error; it has changed nothing.
    pub fn fail(&self, unique: u64) {
        self.end(unique, Some(fuse::EIO));
    }

    /// Holds nothing new, and answers all that is held.
    pub fn release_all(&self) {
        self.hold_no_more();
        let held = self.state.lock().held.clone();
        for held in held {
            self.release(held.unique);
        }
    }

    fn end(&self, unique: u64, error: Option<i32>) {
        let answer = {
            let mut inside = self.state.lock();
            let at = inside.held.iter().position(|h| h.unique == unique);
            let held = inside.held.remove(at.expect("it is held"));
            match error {
                Some(errno) => Err(errno),
                None => Ok(inside.files[held.file].carry_out(held)),
            }
        };
        let mut device = self.answers.try_clone().expect("a descriptor more");
        fuse::reply(&mut device, unique, answer).expect("the system takes the answer");
    }

    /// Writes of a file that were answered.
    pub fn writes(&self, file: usize) -> usize {
        let file = &self.state.lock().files[file];
        file.synced + file.unsynced.len()
    }

    /// Syncs of a file that were answered.
    pub fn syncs(&self, file: usize) -> usize {
        self.state.lock().files[file].syncs
    }

    /// Writes into a directory what a power cut now would leave.
    pub fn after_power_cut(&self, to: &Path, fate: Fate, state: &mut u64) -> std::io::Result<()> {
        for file in &self.state.lock().files {
            let mut bytes = file.durable.clone();
            if fate == Fate::Drawn {
                for (at, data) in &file.unsynced {
                    draw(&mut bytes, *at, data, state);
                }
            }
            std::fs::write(to.join(&file.name), bytes)?;
        }
        Ok(())
    }

    /// Writes into a directory what the files hold, nothing lost.
    pub fn copy(&self, to: &Path) -> std::io::Result<()> {
        for file in &self.state.lock().files {
            std::fs::write(to.join(&file.name), &file.image)?;
        }
        Ok(())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.release_all();
        self.state.lock().given_up = true;
    }
}

/// Each sector of a write on its way: lost, kept, or destroyed.
fn draw(bytes: &mut [u8], at: usize, data: &[u8], state: &mut u64) {
    let fate = split_mix(state) % 4;
    for (number, sector) in data.chunks(SECTOR).enumerate() {
        let from = at + number * SECTOR;
        let place = &mut bytes[from..from + sector.len()];
        match if fate < 3 { fate } else { split_mix(state) % 3 } {
            0 => {}
            1 => place.copy_from_slice(sector),
            _ => place.fill_with(|| split_mix(state) as u8),
        }
    }
}

impl Kept {
    /// The answer's body.
    fn carry_out(&mut self, held: Held) -> Vec<u8> {
        match held.asked {
            Asked::Write => {
                let size = held.data.len();
                self.image[held.at..held.at + size].copy_from_slice(&held.data);
                self.unsynced.push((held.at, held.data));
                [size as u32, 0].map(u32::to_le_bytes).concat()
            }
            Asked::Sync => {
                let covered = held.covers.saturating_sub(self.synced);
                for (at, data) in self.unsynced.drain(..covered) {
                    self.durable[at..at + data.len()].copy_from_slice(&data);
                }
                self.synced += covered;
                self.syncs += 1;
                Vec::new()
            }
        }
    }
}

impl Served for State {
    fn given_up(&self) -> bool {
        self.lock().given_up
    }

    fn answer(&self, request: &Request<'_>) -> Option<Result<Vec<u8>, i32>> {
        let answer = self.lock().answer(request);
        if answer.is_none() {
            self.0.1.notify_all();
        }
        answer
    }
}

impl Inside {
    fn answer(&mut self, request: &Request<'_>) -> Option<Result<Vec<u8>, i32>> {
        let file = (request.node() as usize).wrapping_sub(2);
        let bytes = |file: usize| self.files.get(file).map_or(0, |f| f.image.len() as u64);
        Some(match request.opcode() {
            fuse::INIT => Ok(fuse::init(if self.direct { ASYNC_DIO } else { 0 })),
            fuse::LOOKUP => {
                let name = request.0.get(fuse::IN_HEADER..).unwrap_or_default();
                let name = name.strip_suffix(&[0]).unwrap_or_default();
                let found = self.files.iter().position(|f| f.name.as_bytes() == name);
                found.ok_or(fuse::ENOENT).map(|file| {
                    let node = file as u64 + 2;
                    let entry = [node, 0, 3600, 3600, 0].map(u64::to_le_bytes).concat();
                    [entry, fuse::attributes(node, bytes(file))].concat()
                })
            }
            fuse::GETATTR | fuse::SETATTR => {
                let valid = [3600, 0].map(u64::to_le_bytes).concat();
                Ok([valid, fuse::attributes(request.node(), bytes(file))].concat())
            }
            fuse::OPEN if !self.direct && request.u32(fuse::IN_HEADER) & O_DIRECT != 0 => {
                Err(EINVAL)
            }
            fuse::OPEN => {
                let flags = if self.direct { DIRECT_AND_PARALLEL } else { 0 };
                Ok([0, 0, flags, 0].map(u32::to_le_bytes).concat())
            }
            fuse::OPENDIR => Ok(vec![0; 16]),
            fuse::STATFS => Ok(vec![0; 80]),
            fuse::READ => {
                let (at, size) = request.place();
                let image = self.files.get(file).map_or(&[][..], |f| &f.image);
                let at = usize::try_from(at).map_or(image.len(), |at| at.min(image.len()));
                Ok(image[at..(at + size).min(image.len())].to_vec())
            }
            fuse::WRITE => return self.asked(request, file, Asked::Write),
            fuse::FSYNC => return self.asked(request, file, Asked::Sync),
            fuse::FLUSH | fuse::RELEASE | fuse::RELEASEDIR => Ok(Vec::new()),
            _ => Err(fuse::ENOSYS),
        })
    }

    fn asked(
        &mut self,
        request: &Request<'_>,
        file: usize,
        asked: Asked,
    ) -> Option<Result<Vec<u8>, i32>> {
        let Some(kept) = self.files.get_mut(file) else {
            return Some(Err(fuse::EIO));
        };
        let (at, size) = match asked {
            Asked::Write => request.place(),
            Asked::Sync => (0, 0),
        };
        let from = fuse::IN_HEADER + fuse::IN_BODY;
        let data = request.0.get(from..from + size).unwrap_or_default();
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let inside = at
            .checked_add(size)
            .is_some_and(|end| end <= kept.image.len());
        if data.len() < size || !inside {
            return Some(Err(fuse::EIO));
        }
        let held = Held {
            unique: request.unique(),
            file,
            asked,
            at,
            data: data.to_vec(),
            covers: kept.synced + kept.unsynced.len(),
        };
        if self.rule.is_some_and(|rule| rule(file, asked)) {
            self.held.push(held);
            return None;
        }
        Some(Ok(kept.carry_out(held)))
    }
}
