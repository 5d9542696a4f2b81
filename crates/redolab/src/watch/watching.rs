//! A log that is being watched: its instance of the trace, its files, and what its events are
//! joined to.
//!
//! Invariants: events are taken in the order of their times, whatever processor they come from; a
//! file that becomes one of the log is followed from its first event on, where files change in the
//! ordinary course of things.

use super::files::FilesFound;
use super::filters::WantedEvents;
use super::join::{Join, JoinCounts};
use super::subject::Subject;
use super::tally::WatchTally;
use super::{WatchError, place, processes};
use crate::experiment::Failure;
use crate::experiment::console::Console;
use crate::observe::tracefs::events::{TimedEvent, TraceDecoder};
use crate::observe::tracefs::instance::TraceInstance;
use crate::observe::tracefs::mount::Tracefs;
use crate::observe::tracefs::ring::Records;
use measure::run::WatchedFacts;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Events of this age are in the buffers of all processors.
pub(super) const SETTLED_NS: u64 = 5_000_000;

/// How often it is looked how the files are opened, in seconds.
const OPENED_EVERY: u32 = 5;

/// A log that is being watched.
pub(super) struct Watching {
    pub(super) subject: Subject,
    /// `None` when it has ended.
    pub(super) instance: Option<TraceInstance>,
    decoder: TraceDecoder,
    pub(super) wanted: WantedEvents,
    pub(super) join: Join,
    /// Events that are too young for those of other processors to be there.
    pending: Vec<TimedEvent>,
    pub(super) events: u64,
    pub(super) broken_pages: u64,
    pub(super) notes: BTreeSet<String>,
    /// Files that were replaced where only known ones are recorded.
    pub(super) late: BTreeSet<PathBuf>,
    pub(super) added_files: u64,
    pub(super) facts: WatchedFacts,
}

impl Watching {
    /// Has the events of the log recorded.
    pub(super) fn begin(subject: Subject, console: &dyn Console) -> Result<Watching, WatchError> {
        let facts = WatchedFacts {
            product: subject.product.clone(),
            processes: subject.processes(),
            ..WatchedFacts::default()
        };
        let instance = TraceInstance::create(Tracefs::find()?)?;
        let mut watching = Watching {
            subject,
            instance: Some(instance),
            decoder: TraceDecoder::default(),
            wanted: WantedEvents::default(),
            join: Join::default(),
            pending: Vec::new(),
            events: 0,
            broken_pages: 0,
            notes: BTreeSet::new(),
            late: BTreeSet::new(),
            added_files: 0,
            facts,
        };
        for (file, known) in watching.subject.files.known() {
            watching.join.follow(*file, known.rules, false);
        }
        watching.record()?;
        if watching.wanted.traces_system_calls() {
            console.say(
                "The log is written through the page cache, or lies on XFS: system calls are traced, \
                 which slows down every system call of this machine a little.",
            );
        }
        Ok(watching)
    }

    /// Has the kernel record what the files need now.
    fn record(&mut self) -> Result<(), WatchError> {
        let Some(instance) = &self.instance else {
            return Ok(());
        };
        let files = &self.subject.files;
        let ranges = place::ranges(files.known());
        let opened = self.subject.opened_as();
        let wanted = WantedEvents::of(files, &opened, &ranges);
        for flags in opened.flags {
            if !self.facts.open_flags.contains(&flags) {
                self.facts.open_flags.push(flags);
            }
        }
        for (kind, filter) in &wanted.0 {
            match self.wanted.0.get(kind) {
                Some(before) if before == filter => {}
                Some(_) => instance.filter(*kind, filter)?,
                None => instance.enable(*kind, filter, &mut self.decoder)?,
            }
        }
        // What was recorded once goes on: a file may be opened in the old way again.
        self.wanted.0.extend(wanted.0);
        for (dev, ranges) in ranges {
            self.join.place(dev, ranges);
        }
        Ok(())
    }

    /// What is watched.
    pub(super) fn in_words(&self) -> String {
        let files = self.subject.files.known().len() as u64;
        let files = measure::words::plural(files, "log file");
        let of = match self.subject.process {
            Some(pid) => format!("{} (process {pid})", self.subject.product),
            None => self.subject.product.clone(),
        };
        format!(
            "Watching {files} of {of} in {}; nothing is changed there. Ctrl-C ends it.",
            self.subject.folder.display()
        )
    }

    /// Begins recording.
    pub(super) fn start(&self) -> Result<(), Failure> {
        let started = self.instance.as_ref().map(TraceInstance::start).transpose();
        started.map_err(WatchError::from)?;
        Ok(())
    }

    /// Ends recording, and returns when, on the trace's clock.
    pub(super) fn stop(&self) -> Result<u64, Failure> {
        let end_ns = mono_ns();
        let stopped = self.instance.as_ref().map(TraceInstance::stop).transpose();
        stopped.map_err(WatchError::from)?;
        Ok(end_ns)
    }

    /// Events that were lost so far.
    pub(super) fn losses(&self) -> Result<u64, Failure> {
        let losses = self
            .instance
            .as_ref()
            .map(TraceInstance::losses)
            .transpose();
        Ok(losses.map_err(WatchError::from)?.unwrap_or_default().all())
    }

    /// The process whose log it is has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        let ended = self
            .subject
            .process
            .filter(|pid| !processes::is_there(*pid));
        if let Some(pid) = ended {
            let what = format!("Process {pid} ended; its log was watched until then.");
            self.notes.insert(what);
        }
        ended.is_some()
    }

    /// Takes all events up to `until_ns` of the trace's clock.
    pub(super) fn drain(&mut self, until_ns: u64, tally: &mut WatchTally) -> Result<(), Failure> {
        let Some(instance) = &mut self.instance else {
            return Ok(());
        };
        let (decoder, pending) = (&self.decoder, &mut self.pending);
        let (header, before) = (*instance.header(), pending.len());
        let broken = &mut self.broken_pages;
        let read = instance.read(|page| match Records::of(&header, page) {
            Ok(records) => {
                for record in records {
                    match record {
                        Ok(record) => pending.extend(decoder.decode(record.at_ns, record.bytes)),
                        Err(_) => *broken += 1,
                    }
                }
            }
            Err(_) => *broken += 1,
        });
        read.map_err(WatchError::from)?;
        self.events += (pending.len() - before) as u64;
        pending.sort_by_key(|event| event.at_ns);
        let settled = pending.partition_point(|event| event.at_ns <= until_ns);
        let rest = pending.split_off(settled);
        let events = std::mem::replace(pending, rest);
        let files = events
            .iter()
            .filter_map(|timed| Join::file_of(&timed.event));
        if self.subject.files.change() && { files }.any(|file| !self.join.follows(file)) {
            // It may be a file that has become one of the log just now.
            self.look_at_files()?;
        }
        events.iter().for_each(|event| self.join.step(event));
        if let Some(last) = events.last() {
            self.join.settle(last.at_ns.min(until_ns));
        }
        if until_ns == u64::MAX {
            self.join.settle(u64::MAX);
        }
        tally.add(self.join.take());
        Ok(())
    }

    /// Looks at files and, now and then, at how they are opened.
    pub(super) fn look_around(&mut self, seconds: u32) -> Result<(), Failure> {
        self.look_at_files()?;
        if seconds.is_multiple_of(OPENED_EVERY) {
            self.record().map_err(Failure::from)?;
        }
        Ok(())
    }

    fn look_at_files(&mut self) -> Result<(), Failure> {
        let FilesFound { added, changed } = self.subject.files.look().map_err(Failure::from)?;
        for path in &changed {
            self.notes.insert(format!(
                "{} leads to another file than before, or to none: it was switched, renamed or \
                 removed. The file that it was is followed on.",
                path.display()
            ));
        }
        if added.is_empty() {
            return Ok(());
        }
        let files = &self.subject.files;
        for file in &added {
            if let Some(known) = files.known().get(file) {
                self.join.follow(*file, known.rules, true);
                if !files.change() {
                    self.late.insert(known.shown.clone());
                }
            }
        }
        self.added_files += added.len() as u64;
        Ok(self.record()?)
    }

    /// Notes what of the counts is to be known.
    pub(super) fn note_counts(&mut self, counts: &JoinCounts) {
        if counts.device_writes == 0 && counts.calls > 0 {
            self.notes.insert(
                "The device layer is unknown: no request to a device could be joined to the log \
                 files, as below device-mapper, RAID and NVMe multipath."
                    .to_owned(),
            );
        }
        if counts.without_end > 0 {
            self.notes.insert(format!(
                "{} writes and flushes of which the end was not seen are in no figure.",
                measure::words::count(counts.without_end)
            ));
        }
        if self.wanted.traces_system_calls() {
            self.notes.insert(
                "System calls were traced, because the log is written through the page cache or \
                 lies on XFS; that slows down every system call of the machine."
                    .to_owned(),
            );
        }
    }
}

/// The clock of the trace.
pub(super) fn mono_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000) + u64::try_from(now.tv_nsec).unwrap_or(0)
}
