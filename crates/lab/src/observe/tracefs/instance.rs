//! A private instance of the trace: buffers, clock, events and filters of its own, and its pages.
//!
//! Invariants: nothing outside the instance is changed; it is removed when it is dropped, and after
//! a kill by the next start: its name holds the process, when that began and its PID namespace, so
//! that an instance of a process that lives, or of another namespace, is left alone.

use super::events::{TraceDecoder, TraceEventKind};
use super::format::{PageHeader, check_entries};
use super::mount::Tracefs;
use super::{TracefsError, failed};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What the names of all instances of redolab begin with.
const PREFIX: &str = "redolab";
/// Bytes of the buffers of all processors together, and of each at least and at most, in KiB.
const BUFFERS_KB: u64 = 128 << 10;
const BUFFER_KB: std::ops::RangeInclusive<u64> = (1 << 10)..=(16 << 10);
/// Bytes of a page that is read at once, in KiB, where the kernel lets it be chosen (Linux 6.8).
const PAGE_KB: u64 = 64;
/// How often a removal is tried: a reader in the kernel may keep an instance for a moment.
const REMOVALS: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(20);
/// Bytes of a text file of tracefs that are read at once, and at most.
const TEXT_BYTES: usize = 64 << 10;
const TEXT_MAX: usize = 1 << 20;

/// A private instance of the trace.
#[derive(Debug)]
pub struct TraceInstance {
    path: PathBuf,
    header: PageHeader,
    buffers: Vec<CpuBuffer>,
    page: Vec<u8>,
    /// Keeps the mount.
    _tracefs: Tracefs,
}

#[derive(Debug)]
struct CpuBuffer {
    stats: PathBuf,
    pipe: File,
}

/// What became of the events of an instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceLosses {
    /// Events that were overwritten before they were read.
    pub overrun: u64,
    /// Events that found no room.
    pub dropped: u64,
}

impl TraceLosses {
    /// All of them.
    #[must_use]
    pub fn all(self) -> u64 {
        self.overrun.saturating_add(self.dropped)
    }
}

impl TraceInstance {
    /// Makes one, after the instances of processes that have ended were removed.
    ///
    /// # Errors
    /// The user may not, or the kernel is not as expected.
    pub fn create(tracefs: Tracefs) -> Result<TraceInstance, TracefsError> {
        let instances = tracefs.root().join("instances");
        remove_stale(&instances);
        let owner = InstanceOwner::own().ok_or_else(|| TracefsError::NotMounted {
            why: "/proc does not show this process".to_owned(),
        })?;
        let path = instances.join(owner.name());
        std::fs::create_dir(&path).map_err(failed(&path, "making a private instance"))?;
        // From here on a failure removes it.
        let made = Unfinished(path);
        let path = made.0.clone();
        set(&path.join("tracing_on"), "0")?;
        set(&path.join("trace_clock"), "mono")?;
        // Names of commands would be recorded at each switch of a task.
        set(&path.join("trace_options"), "norecord-cmd")?;
        // Kernels before 6.8 have pages of one size.
        let _ = set(&path.join("buffer_subbuf_size_kb"), &PAGE_KB.to_string());
        let cpus = cpus_of(&path)?;
        let share = BUFFERS_KB / (cpus.len() as u64).max(1);
        let kb = share.clamp(*BUFFER_KB.start(), *BUFFER_KB.end());
        set(&path.join("buffer_size_kb"), &kb.to_string())?;
        let header = described(&path.join("events/header_page"), PageHeader::parse)?;
        described(&path.join("events/header_event"), check_entries)?;
        let buffers = cpus.into_iter().map(CpuBuffer::open);
        let buffers = buffers.collect::<Result<Vec<_>, _>>()?;
        let page = vec![0; header.page_bytes().unwrap_or(0)];
        std::mem::forget(made);
        Ok(TraceInstance {
            path,
            header,
            buffers,
            page,
            _tracefs: tracefs,
        })
    }

    /// How its pages are laid out.
    #[must_use]
    pub fn header(&self) -> &PageHeader {
        &self.header
    }

    /// Has `kind` recorded where `filter` holds (everywhere where it is empty), and decoded.
    ///
    /// # Errors
    /// The kernel has no such event, or does not accept the filter.
    pub fn enable(
        &self,
        kind: TraceEventKind,
        filter: &str,
        decoder: &mut TraceDecoder,
    ) -> Result<(), TracefsError> {
        let event = self.path.join("events").join(kind.path());
        if !event.is_dir() {
            return Err(TracefsError::NoEvent(kind.path().replace('/', ":")));
        }
        described(&event.join("format"), |text| decoder.add(kind, text))?;
        self.filter(kind, filter)?;
        set(&event.join("enable"), "1")
    }

    /// Changes the filter of an event.
    ///
    /// # Errors
    /// The kernel does not accept it.
    pub fn filter(&self, kind: TraceEventKind, filter: &str) -> Result<(), TracefsError> {
        let path = self.path.join("events").join(kind.path()).join("filter");
        // Zero takes a filter away.
        set(&path, if filter.is_empty() { "0" } else { filter })
    }

    /// Begins to record.
    ///
    /// # Errors
    /// The system's.
    pub fn start(&self) -> Result<(), TracefsError> {
        set(&self.path.join("tracing_on"), "1")
    }

    /// Ends recording; what is in the buffers can still be read.
    ///
    /// # Errors
    /// The system's.
    pub fn stop(&self) -> Result<(), TracefsError> {
        set(&self.path.join("tracing_on"), "0")
    }

    /// Hands out what was recorded since the last call, page by page; those of one processor come
    /// in their order.
    ///
    /// # Errors
    /// The system's.
    pub fn read(&mut self, mut take: impl FnMut(&[u8])) -> Result<(), TracefsError> {
        for buffer in &mut self.buffers {
            loop {
                match buffer.pipe.read(&mut self.page) {
                    Ok(0) => break,
                    Ok(bytes) => take(self.page.get(..bytes).unwrap_or_default()),
                    Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                    Err(e) if e.kind() == ErrorKind::Interrupted => {}
                    Err(e) => return Err(failed(&buffer.stats, "reading the trace")(e)),
                }
            }
        }
        Ok(())
    }

    /// What was lost since the instance was made.
    ///
    /// # Errors
    /// The system's.
    pub fn losses(&self) -> Result<TraceLosses, TracefsError> {
        let mut losses = TraceLosses::default();
        for buffer in &self.buffers {
            let text = text_of(&buffer.stats)?;
            losses = losses_of(&text, losses);
        }
        Ok(losses)
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        // Open buffers keep an instance.
        self.buffers.clear();
        remove(&self.path);
    }
}

/// An instance that is being made.
struct Unfinished(PathBuf);

impl Drop for Unfinished {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

impl CpuBuffer {
    fn open(folder: PathBuf) -> Result<CpuBuffer, TracefsError> {
        let pipe = folder.join("trace_pipe_raw");
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        Ok(CpuBuffer {
            pipe: options
                .open(&pipe)
                .map_err(failed(&pipe, "opening a buffer"))?,
            stats: folder.join("stats"),
        })
    }
}

/// Adds the losses that a `stats` file lists.
fn losses_of(text: &str, before: TraceLosses) -> TraceLosses {
    let count = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(':'));
        let value = lines.find(|(key, _)| key.trim() == name)?.1;
        value.trim().parse::<u64>().ok()
    };
    let sum = |names: &[&str]| {
        let counts = names.iter().filter_map(|name| count(name));
        counts.fold(0, u64::saturating_add)
    };
    TraceLosses {
        overrun: before
            .overrun
            .saturating_add(sum(&["overrun", "commit overrun"])),
        dropped: before.dropped.saturating_add(sum(&["dropped events"])),
    }
}

/// The folders of the processors of an instance.
fn cpus_of(path: &Path) -> Result<Vec<PathBuf>, TracefsError> {
    let folder = path.join("per_cpu");
    let entries = std::fs::read_dir(&folder).map_err(failed(&folder, "listing the buffers"))?;
    let is_cpu = |name: &str| {
        let number = name.strip_prefix("cpu");
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_cpu))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}

fn set(path: &Path, value: &str) -> Result<(), TracefsError> {
    std::fs::write(path, value).map_err(failed(path, "setting it"))
}

/// The text of a file of tracefs. Some of them give their text to the first read only, so it has
/// room for all of it.
fn text_of(path: &Path) -> Result<String, TracefsError> {
    let read = || {
        let (mut file, mut text) = (File::open(path)?, Vec::new());
        let mut some = vec![0; TEXT_BYTES];
        loop {
            match file.read(&mut some)? {
                0 => return Ok(String::from_utf8_lossy(&text).into_owned()),
                bytes if text.len() < TEXT_MAX => text.extend_from_slice(&some[..bytes]),
                _ => return Err(std::io::Error::other("it is longer than such files are")),
            }
        }
    };
    read().map_err(failed(path, "reading it"))
}

/// What `parse` makes of a description of the kernel.
fn described<T>(
    path: &Path,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<T, TracefsError> {
    let text = text_of(path)?;
    parse(&text).map_err(|why| TracefsError::Format {
        what: path.display().to_string(),
        why,
    })
}

fn remove(path: &Path) {
    for _ in 0..REMOVALS {
        match std::fs::remove_dir(path) {
            Err(e) if e.kind() == ErrorKind::ResourceBusy => std::thread::sleep(REMOVAL_PAUSE),
            // The next start tries again.
            _ => return,
        }
    }
}

/// Removes instances of redolab whose process has ended.
fn remove_stale(instances: &Path) {
    let names = std::fs::read_dir(instances).into_iter().flatten().flatten();
    for entry in names {
        let owner = entry.file_name().to_str().and_then(InstanceOwner::parse);
        if owner.is_some_and(|owner| owner.has_ended()) {
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

/// The process that an instance belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct InstanceOwner {
    pid: u32,
    /// When it began, in ticks since the system did.
    began: u64,
    /// Its PID namespace.
    namespace: u64,
}

impl InstanceOwner {
    fn own() -> Option<InstanceOwner> {
        let pid = std::process::id();
        Some(InstanceOwner {
            pid,
            began: began(pid)?,
            namespace: namespace()?,
        })
    }

    fn name(&self) -> String {
        format!("{PREFIX}-{}-{}-{}", self.pid, self.began, self.namespace)
    }

    fn parse(name: &str) -> Option<InstanceOwner> {
        let mut parts = name.split('-');
        if parts.next() != Some(PREFIX) {
            return None;
        }
        let owner = InstanceOwner {
            pid: parts.next()?.parse().ok()?,
            began: parts.next()?.parse().ok()?,
            namespace: parts.next()?.parse().ok()?,
        };
        parts.next().is_none().then_some(owner)
    }

    /// The process is of this namespace and has ended, or its number has another process now.
    fn has_ended(&self) -> bool {
        namespace() == Some(self.namespace) && began(self.pid) != Some(self.began)
    }
}

/// When a process began, in ticks since the system did; `None` of one that is not there.
fn began(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command may contain anything; the fields behind it do not contain parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The PID namespace of this process.
fn namespace() -> Option<u64> {
    Some(std::fs::metadata("/proc/self/ns/pid").ok()?.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_instance_shows_whether_its_process_lives() {
        let own = InstanceOwner::own().expect("/proc shows this process");
        assert_eq!(InstanceOwner::parse(&own.name()), Some(own));
        assert!(!own.has_ended());
        // Another process has the number now; and one of another namespace cannot be seen.
        let replaced = InstanceOwner {
            began: own.began + 1,
            ..own
        };
        assert!(replaced.has_ended());
        let elsewhere = InstanceOwner {
            namespace: own.namespace + 1,
            ..replaced
        };
        assert!(!elsewhere.has_ended());
        for other in [
            "redolab",
            "redolab-1-2",
            "redolab-1-2-3-4",
            "redolab-x-2-3",
            "perf-1-2-3",
        ] {
            assert_eq!(InstanceOwner::parse(other), None, "{other}");
        }
    }

    #[test]
    fn losses_of_all_processors_are_added() {
        let text = "entries: 12\noverrun: 3\ncommit overrun: 1\nbytes: 700\n\
            oldest event ts:  5.000\nnow ts: 6.0\ndropped events: 7\nread events: 99\n";
        let once = losses_of(text, TraceLosses::default());
        assert_eq!((once.overrun, once.dropped, once.all()), (4, 7, 11));
        assert_eq!(losses_of(text, once).all(), 22);
        assert_eq!(losses_of("", once), once);
    }
}
