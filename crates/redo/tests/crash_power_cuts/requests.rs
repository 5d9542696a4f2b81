//! The requests of a log at work, taken below its file system, and the recovery of what a power
//! cut at any of them may have left.
//!
//! What lives here: a file system on a loop device on a file that this process serves (`fuse`), a
//! child that commits there, and the crash states (`states`) of the log's own blocks. The log's
//! files are never extended, so where they lie does not change: a state is made of their blocks
//! alone, and recovered in memory.
//!
//! Invariant: this process reads and writes nothing above the file that it serves; other programs
//! do it.

use crate::common::options;
use crate::fuse;
use crate::life::{self, Known, Way};
use crate::program::done;
use crate::states::{self, Mapped, States};
use crate::volume::{Janitor, PLACES};
use device::SyncMethod;
use measure::workload::split_mix;
use redo::engine::Paths;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The disk: its log files take 1.5 MiB of it.
const DISK_BYTES: u64 = 64 << 20;
/// How long a child is listened to.
const LIFE: Duration = Duration::from_millis(150);

/// What happened, in order.
pub enum Event {
    Write {
        at: u64,
        data: Vec<u8>,
    },
    Flush,
    /// A record was acknowledged to its session as durable.
    Ack(u32, u32),
}

/// What happened since it was asked for.
#[derive(Default)]
struct History(Option<Vec<Event>>);

impl History {
    fn note(&mut self, event: Event) {
        if let Some(events) = &mut self.0 {
            events.push(event);
        }
    }
}

impl fuse::Journal for History {
    fn written(&mut self, at: u64, data: &[u8]) {
        let data = data.to_vec();
        self.note(Event::Write { at, data });
    }

    fn flushed(&mut self) -> Result<(), i32> {
        self.note(Event::Flush);
        Ok(())
    }
}

type Shared = fuse::Shared<History>;

/// A file system whose block requests are logged.
pub struct Bench {
    directory: PathBuf,
    disk: Shared,
    // Dropped first of what matters: it unmounts while requests are still served.
    _janitor: Janitor,
}

/// A log's life, seen from below.
pub struct Recording {
    files: Vec<Mapped>,
    events: Vec<Event>,
    /// What had been acknowledged, and was durable, before.
    known: Known,
}

/// What came of the crash states of a recording.
#[derive(Default)]
pub struct Explored {
    pub states: u64,
    /// States in which writes to the log were under way.
    pub under_way: u64,
    pub lost: u64,
    /// The first loss.
    pub what: Option<String>,
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.disk.lock().given_up = true;
    }
}

impl Bench {
    /// Makes and mounts it; the error says why there can be none here.
    pub fn make() -> Result<Bench, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("loop devices need root".to_owned());
        }
        done("filefrag", &["-V"])?;
        let device = fuse::open().map_err(|e| format!("/dev/fuse: {e}"))?;
        let (directory, janitor) = Janitor::hire("requests")?;
        let image = directory.join("image");
        let told = |e: std::io::Error| e.to_string();
        let file = std::fs::File::create(&image).map_err(told)?;
        file.set_len(DISK_BYTES).map_err(told)?;
        done("mkfs.ext4", &["-q", "-b", "4096", &text(&image)])?;
        let disk = Shared::new(std::fs::read(&image).map_err(told)?);
        std::fs::remove_file(&image).map_err(told)?;
        let bench = Bench {
            directory,
            disk,
            _janitor: janitor,
        };
        bench.mount(device)?;
        Ok(bench)
    }

    fn mount(&self, device: std::fs::File) -> Result<(), String> {
        let [at, below] = PLACES.map(|place| text(&self.directory.join(place)));
        let (keep, mounted) = fuse::serving(device, &self.disk)?;
        let arguments = ["-i", "-t", "fuse", "-o", &mounted, "redo-disk", &below];
        let result = done("mount", &arguments);
        drop(keep);
        result?;
        let file = format!("{below}/{}", fuse::NAME);
        done("mount", &["-t", "ext4", "-o", "loop", &file, &at]).map(drop)
    }

    /// Has a log made, and listens to a life of it.
    pub fn record(&self, name: &str, way: &Way) -> Result<Recording, String> {
        let log = self.directory.join(PLACES[0]).join(name);
        let first = life::start(&log, way, |_, _| {})?.committing()?;
        let told = first.finish(None)?;
        let mut known = Known::default();
        for (who, which) in told.acks {
            known[who as usize] = Some(which);
        }
        done("sync", &["-f", &text(&log)])?;
        let mut files = mapped(&log)?;
        let before = self.begin(&mut files);
        let heard = self.disk.clone();
        let note = move |who, which| heard.lock().journal.note(Event::Ack(who, which));
        let second = life::start(&log, way, note)?.committing()?;
        std::thread::sleep(LIFE);
        let events = self.disk.lock().journal.0.take().unwrap_or_default();
        second.finish(None)?;
        if mapped(&log)?.iter().map(|f| &f.extents).ne(before.iter()) {
            return Err("the files of the log moved".to_owned());
        }
        // The disk holds about forty logs.
        done("rm", &["-rf", &text(&log)])?;
        Ok(Recording {
            files,
            events,
            known,
        })
    }

    /// Takes the files' bytes from the disk and begins its log, in one moment.
    fn begin(&self, files: &mut [Mapped]) -> Vec<Vec<states::Extent>> {
        let mut disk = self.disk.lock();
        for file in &mut *files {
            for extent in &file.extents {
                let from = extent.physical as usize..(extent.physical + extent.len) as usize;
                let to = extent.logical as usize..(extent.logical + extent.len) as usize;
                file.bytes[to].copy_from_slice(&disk.image[from]);
            }
        }
        disk.journal.0 = Some(Vec::new());
        files.iter().map(|file| file.extents.clone()).collect()
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Where the log's files lie, as another program sees it.
fn mapped(log: &Path) -> Result<Vec<Mapped>, String> {
    let paths = Paths::new(log);
    let mut files = Vec::new();
    for path in std::iter::once(paths.control()).chain(paths.logs(crate::common::SMALL.groups)) {
        let said = done("filefrag", &["-v", "-b512", &text(&path)])?;
        let (size, extents) = states::extents(&said)
            .ok_or_else(|| format!("filefrag prints no written extents: {said}"))?;
        let end = extents.iter().map(|e| e.logical + e.len).max();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        files.push(Mapped {
            name: name.unwrap_or_default(),
            size,
            bytes: vec![0; end.unwrap_or(0) as usize],
            extents,
        });
    }
    Ok(files)
}

impl Recording {
    /// Writes, flushes and acknowledgements in it.
    pub fn counts(&self) -> [usize; 3] {
        let count = |of: fn(&Event) -> bool| self.events.iter().filter(|e| of(e)).count();
        [
            count(|e| matches!(e, Event::Write { .. })),
            count(|e| matches!(e, Event::Flush)),
            count(|e| matches!(e, Event::Ack(..))),
        ]
    }

    /// Before which events the power goes, in order: mostly while a write is under way, since
    /// acknowledgements, which change nothing, are most of the events.
    fn crashes(&self, count: u64, state: &mut u64) -> Vec<usize> {
        let events = (1..).zip(&self.events);
        let writes = events.filter(|(_, event)| matches!(event, Event::Write { .. }));
        let after_writes: Vec<usize> = writes.map(|(next, _)| next).collect();
        let mut any = |below: usize| (split_mix(state) % below as u64) as usize;
        let crash = |_| match any(4) {
            0 => any(self.events.len() + 1),
            _ if after_writes.is_empty() => self.events.len(),
            _ => after_writes[any(after_writes.len())],
        };
        let mut crashes: Vec<usize> = (0..count).map(crash).collect();
        crashes.sort_unstable();
        crashes
    }

    /// Recovers from `count` crash states.
    pub fn explore(&self, count: u64, state: &mut u64) -> Result<Explored, String> {
        let scratch = Memory::make()?;
        let crashes = self.crashes(count, state);
        let mut states = States::new(self.files.clone(), &self.events);
        let (mut known, mut told) = (self.known, 0);
        let mut explored = Explored::default();
        for at in crashes {
            for event in &self.events[told..at] {
                if let Event::Ack(who, which) = event {
                    known[*who as usize] = Some(*which);
                }
            }
            told = at;
            let (files, under_way) = states.after(at, state);
            states::put(&scratch.0, &files).map_err(|e| e.to_string())?;
            explored.states += 1;
            explored.under_way += u64::from(under_way > 0);
            let buffered = options().sync_method(SyncMethod::Buffered);
            if let Err(what) = life::verify_end(&scratch.0, buffered, &known) {
                explored.lost += 1;
                let end = self.events.len();
                explored
                    .what
                    .get_or_insert(format!("crash before event {at} of {end}: {what}"));
            }
        }
        Ok(explored)
    }
}

/// A directory in memory, where there is one; removed when it is dropped.
pub struct Memory(pub PathBuf);

impl Memory {
    pub fn make() -> Result<Memory, String> {
        let memory = Path::new("/dev/shm");
        let place = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        let path = place.join(format!("redo-states-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|e| e.to_string())?;
        Ok(Memory(path))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Best effort: the test has told its result already.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
