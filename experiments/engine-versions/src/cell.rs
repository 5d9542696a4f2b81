//! The cells of the experiment, and a life of one: two logs are opened and measured in turns.

use crate::place::Folders;
use crate::side::{Chunk, Engine, Place, Sessions, Side, Writer};
use crate::{AnyError, new, old};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::path::Path;
use std::time::Duration;

/// Columns of the data. `a` is the earlier engine, or the present one where it is compared with
/// itself; numbers count its chunks within a group.
pub const HEADING: &str = "cell,life,group,processor,order,a1,a1_ns,b1,b1_ns,b2,b2_ns,a2,a2_ns";

/// Where the redo goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Files.
    Disk,
    /// The null device.
    Null,
}

impl Target {
    /// Its name in arguments and data.
    pub fn name(self) -> &'static str {
        match self {
            Target::Disk => "disk",
            Target::Null => "null",
        }
    }

    /// How long a chunk takes unless it was given.
    fn length(self) -> Duration {
        match self {
            Target::Disk => Duration::from_millis(40),
            Target::Null => Duration::from_millis(20),
        }
    }
}

/// What is compared, and how.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Where the redo goes.
    pub target: Target,
    writer: Writer,
    jobs: u32,
    observed: bool,
    /// The present engine with itself.
    same: bool,
    /// How long a chunk takes.
    chunk: Duration,
}

impl Cell {
    /// Every cell.
    pub fn all(chunk: Option<Duration>) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (target, observed, jobs) in [
            (Target::Disk, true, &[1, 8, 64][..]),
            (Target::Null, true, &[1, 8]),
            (Target::Null, false, &[1, 8]),
        ] {
            for writer in [Writer::Inline, Writer::Lgwr] {
                cells.extend(jobs.iter().map(|&jobs| Cell {
                    target,
                    writer,
                    jobs,
                    observed,
                    same: false,
                    chunk: chunk.unwrap_or(target.length()),
                }));
            }
        }
        for (target, jobs) in [(Target::Disk, 8), (Target::Null, 1)] {
            cells.push(Cell {
                target,
                writer: Writer::Inline,
                jobs,
                observed: true,
                same: true,
                chunk: chunk.unwrap_or(target.length()),
            });
        }
        cells
    }

    /// Its name in the data, such as `disk inline 8`.
    pub fn name(&self) -> String {
        let writer = match self.writer {
            Writer::Inline => "inline",
            Writer::Lgwr => "lgwr",
        };
        let observed = if self.observed { "" } else { " unobserved" };
        let same = if self.same { " same" } else { "" };
        let target = self.target.name();
        format!("{target} {writer} {}{observed}{same}", self.jobs)
    }

    /// Opens both logs, measures so many groups, prints them and closes the logs.
    pub fn live(&self, folders: &Folders, life: u32, groups: u32) -> Result<(), AnyError> {
        let place = |folder: &'static str| -> Place<'_> {
            let folder: &Path = match folder {
                "old" => &folders.old,
                "new" => &folders.new,
                _ => &folders.twin,
            };
            match self.target {
                Target::Disk => Place::Folder(folder),
                Target::Null => Place::Null,
            }
        };
        let open_a = || -> Result<Box<dyn Side>, AnyError> {
            if self.same {
                self.start(new::open(place("twin"), self.writer, self.observed)?)
            } else {
                self.start(old::open(place("old"), self.writer, self.observed)?)
            }
        };
        let open_b = || self.start(new::open(place("new"), self.writer, self.observed)?);
        let (mut a, mut b);
        if life.is_multiple_of(2) {
            a = open_a()?;
            b = open_b()?;
        } else {
            b = open_b()?;
            a = open_a()?;
        }
        let processors = processors()?;
        // The first chunk of each faults memory in and learns; it is not recorded.
        a.chunk(self.chunk)?;
        b.chunk(self.chunk)?;
        for group in 0..groups {
            self.group(&mut *a, &mut *b, &processors, (life, group))?;
        }
        a.close()?;
        b.close()
    }

    fn start<E: Engine>(&self, log: E) -> Result<Box<dyn Side>, AnyError> {
        Ok(Box::new(Sessions::start(log, self.jobs)))
    }

    /// Measures one group and prints its line.
    fn group(
        &self,
        a: &mut dyn Side,
        b: &mut dyn Side,
        processors: &[usize],
        (life, group): (u32, u32),
    ) -> Result<(), AnyError> {
        // One session is as fast as the processor that it happens to be on: interrupts of the disk
        // go to one of them. Both versions are put on the same one.
        let pinned = (self.jobs == 1).then(|| processors[group as usize % processors.len()]);
        if let Some(processor) = pinned {
            pin(&[processor])?;
        }
        let length = self.chunk;
        let a_first = (group / 2 + life).is_multiple_of(2);
        let (order, [a1, b1, b2, a2]) = if a_first {
            let all = [
                a.chunk(length)?,
                b.chunk(length)?,
                b.chunk(length)?,
                a.chunk(length)?,
            ];
            ("ABBA", all)
        } else {
            let [b1, a1, a2, b2] = [
                b.chunk(length)?,
                a.chunk(length)?,
                a.chunk(length)?,
                b.chunk(length)?,
            ];
            ("BAAB", [a1, b1, b2, a2])
        };
        let processor = pinned.map_or_else(|| "any".to_owned(), |p| p.to_string());
        let name = self.name();
        print!("{name},{life},{group},{processor},{order}");
        for Chunk { commits, ns } in [a1, b1, b2, a2] {
            print!(",{commits},{ns}");
        }
        println!();
        Ok(())
    }
}

/// Processors that the main thread, which is never pinned, may use.
fn processors() -> Result<Vec<usize>, AnyError> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU)
        .filter(|&p| allowed.is_set(p))
        .collect())
}

/// Puts every thread of the process but the one that calls on these processors.
fn pin(processors: &[usize]) -> Result<(), AnyError> {
    let mut set = CpuSet::new();
    for &processor in processors {
        set.set(processor);
    }
    let own = rustix::thread::gettid();
    for entry in std::fs::read_dir("/proc/self/task")? {
        let thread = entry?.file_name().to_string_lossy().parse()?;
        let thread = Pid::from_raw(thread).ok_or("a thread without a number")?;
        if thread != own {
            sched_setaffinity(Some(thread), &set)?;
        }
    }
    Ok(())
}
