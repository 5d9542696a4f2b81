//! Joins scanned blocks in order: whose waits they are, in which unit, when.

use super::cell::{EventWaits, Track, WaitMoment};
use super::group::PROCESSES_MAX;
use super::header::HeaderFact;
use super::mark::{Call, Mark, PlacedMark, TracedError, Wait};
use super::mixer::Mixed;
use super::scan::Scanned;
use crate::Sink;
use crate::notes::quote;
use crate::tally::TallyBudget;
use measure::imported::Severity;
use std::collections::{BTreeMap, HashMap};

/// Pairs of process and event.
pub const CELLS_MAX: usize = 16_384;
/// Event names over all blocks.
pub const EVENTS_MAX: usize = 8_192;
/// Pairs that have a track.
const TRACKS_MAX: usize = 256;
/// Slow writes and mode switches that are kept one by one.
const LISTED_MAX: usize = 10_000;
/// Numbers of errors of a process.
const ERRORS_MAX: usize = 1000;
/// Facts of the header.
const FACTS_MAX: usize = 64;

/// Nanoseconds of the unit since 9i.
const MICROSECOND_NS: u64 = 1_000;
/// Nanoseconds of the unit until 8i.
const CENTISECOND_NS: u64 = 10_000_000;

/// A traced process.
#[derive(Debug, Default)]
pub struct TracedProcess {
    /// Number of the process, if the trace contains it.
    pub pid: Option<u64>,
    /// Its name, such as `LG00`.
    pub name: Option<String>,
    /// Transactions that ended with a change.
    pub commits: u64,
    /// Transactions that ended at all.
    pub ends: u64,
    /// By [`Call::ALL`]: calls, elapsed and processor time in nanoseconds.
    pub calls: [(u64, u128, u128); Call::ALL.len()],
    /// First begin and last end by `tim`, microseconds.
    pub tims: Option<(u64, u64)>,
    /// First and last stamp; the last is none before the first.
    pub stamps: Option<(i64, i64)>,
    /// The last stamp, as it is written.
    pub stamp: Option<i64>,
    /// Errors by kind and number: how many, and the line of the first.
    pub errors: BTreeMap<TracedError, (u64, u64)>,
}

/// A line of a log writer's that is no wait.
#[derive(Debug)]
pub struct LogWriterLine {
    /// Whose.
    pub process: usize,
    /// Its line, from 1.
    pub line: u64,
    /// What it said.
    pub said: HeaderFact,
    /// The stamp of its process above it.
    pub above: Option<i64>,
    /// The first stamp of its process below it.
    pub below: Option<i64>,
    /// Of a switch: redo synch writes per second, and the line that has them.
    pub rate: Option<(u64, u64)>,
}

/// What was joined so far.
#[derive(Debug)]
pub struct Merge {
    /// The processes; the first one has no name until the trace gives it one.
    pub processes: Vec<TracedProcess>,
    /// Names of events.
    pub events: Vec<String>,
    /// Waits by process and event.
    pub cells: HashMap<(usize, usize), usize, Mixed>,
    /// Where [`Merge::cells`] points to.
    pub slots: Vec<EventWaits>,
    /// Slow writes and mode switches.
    pub listed: Vec<LogWriterLine>,
    /// What the header says.
    pub facts: Vec<(String, String)>,
    /// Lines.
    pub lines: u64,
    /// Waits.
    pub waits: u64,
    /// Blocks that were taken by their groups.
    pub grouped: u64,
    /// Something only 10.2 and later write was seen.
    pub is_modern: bool,
    /// The release was named.
    pub release: Option<u64>,
    /// The user said what the unit is.
    pub is_unit_stated: bool,
    event_ids: HashMap<Vec<u8>, usize>,
    bounds: Vec<&'static str>,
    /// Those of [`Merge::listed`] below which no stamp of their process was met yet.
    without_stamp: Vec<usize>,
    pub(super) pids: HashMap<u64, usize, Mixed>,
    /// Names that `ps` lists, by number.
    pub(super) listed_names: BTreeMap<u64, String>,
    pub(super) current: usize,
    pub(super) unit_ns: u64,
    tracks: usize,
    pub(super) budget: TallyBudget,
}

impl Merge {
    /// Nothing yet. `stated_ns` is the unit of `ela` if the user stated it.
    #[must_use]
    pub fn new(stated_ns: Option<u64>) -> Merge {
        Merge {
            processes: vec![TracedProcess::default()],
            events: Vec::new(),
            cells: HashMap::default(),
            slots: Vec::new(),
            listed: Vec::new(),
            facts: Vec::new(),
            lines: 0,
            waits: 0,
            grouped: 0,
            is_modern: false,
            release: None,
            event_ids: HashMap::new(),
            bounds: Vec::new(),
            without_stamp: Vec::new(),
            pids: HashMap::default(),
            listed_names: BTreeMap::new(),
            current: 0,
            unit_ns: stated_ns.unwrap_or(MICROSECOND_NS),
            is_unit_stated: stated_ns.is_some(),
            tracks: 0,
            budget: TallyBudget::default(),
        }
    }

    /// Takes the next block.
    pub fn absorb(&mut self, block: &Scanned, sink: &mut Sink) {
        let ids: Vec<usize> = block.events.iter().map(|e| self.event(e, sink)).collect();
        if self.absorb_groups(block, &ids, sink) {
            self.grouped += 1;
        } else {
            self.absorb_in_order(block, &ids, sink);
        }
        self.waits += block.waits.len() as u64;
        self.is_modern |= block.is_modern;
        self.tell(block, sink);
        self.lines += block.lines;
    }

    fn absorb_in_order(&mut self, block: &Scanned, ids: &[usize], sink: &mut Sink) {
        let wanted = self.wanted(sink);
        // Each with the process that it is of, so that a switch costs the same for many events.
        let mut slots = vec![(usize::MAX, 0); ids.len()];
        let mut marks = block.marks.iter().peekable();
        for (at, wait) in block.waits.iter().enumerate() {
            while let Some(placed) = marks.next_if(|m| m.before <= at) {
                self.mark(placed, sink);
            }
            let local = wait.event as usize;
            if slots[local].0 != self.current {
                slots[local] = (self.current, self.slot(ids[local], sink));
            }
            let ns = wait.ela.saturating_mul(self.unit_ns);
            let when = self.when(wait);
            self.slots[slots[local].1].add(wait.blocks, ns, when, &mut self.budget);
            if wanted == Some(ids[local]) {
                sink.samples.add(ns);
            }
        }
        for placed in marks {
            self.mark(placed, sink);
        }
    }

    /// The event whose values are asked for one by one.
    fn wanted(&self, sink: &Sink) -> Option<usize> {
        let event = sink.samples.event()?;
        self.event_ids.get(event.as_bytes()).copied()
    }

    fn event(&mut self, name: &[u8], sink: &mut Sink) -> usize {
        if let Some(id) = self.event_ids.get(name) {
            return *id;
        }
        if self.events.len() >= EVENTS_MAX {
            self.bound("trace.many_events", sink, || {
                format!("over {EVENTS_MAX} event names: the others count under the last of them")
            });
            return self.events.len() - 1;
        }
        let id = self.events.len();
        self.event_ids.insert(name.to_vec(), id);
        self.events.push(String::from_utf8_lossy(name).into_owned());
        id
    }

    /// Says once that a bound was met: how often depends on the blocks.
    fn bound(&mut self, id: &'static str, sink: &mut Sink, detail: impl FnOnce() -> String) {
        if !self.bounds.contains(&id) {
            self.bounds.push(id);
            sink.notes.add(Severity::Warning, id, None, None, detail);
        }
    }

    /// The slot of the current process and an event.
    pub(super) fn slot(&mut self, event: usize, sink: &mut Sink) -> usize {
        let key = (self.current, event);
        if let Some(slot) = self.cells.get(&key) {
            return *slot;
        }
        if self.slots.len() >= CELLS_MAX {
            self.bound("trace.many_pairs", sink, || {
                format!("over {CELLS_MAX} pairs of process and event: the others count as the last")
            });
            return self.slots.len() - 1;
        }
        let is_redo = is_redo(&self.events[event]) && self.tracks < TRACKS_MAX;
        self.tracks += usize::from(is_redo);
        self.slots.push(EventWaits {
            track: is_redo.then(|| Box::new(Track::default())),
            ..EventWaits::default()
        });
        self.cells.insert(key, self.slots.len() - 1);
        self.slots.len() - 1
    }

    #[inline]
    fn when(&mut self, wait: &Wait) -> WaitMoment {
        let process = &mut self.processes[self.current];
        let unit_us = self.unit_ns / 1_000;
        let mut when = WaitMoment::default();
        if wait.tim > 0 {
            let end = wait.tim.saturating_mul(unit_us);
            let begin = end.saturating_sub(wait.ela.saturating_mul(unit_us));
            let (first, last) = process.tims.get_or_insert((begin, end));
            *last = (*last).max(end);
            when.tim_us = Some(end.saturating_sub(*first));
        }
        if let Some((first, last)) = process.stamps {
            when.stamp_us = u64::try_from(last - first).ok();
        }
        when
    }

    pub(super) fn mark(&mut self, placed: &PlacedMark, sink: &mut Sink) {
        let process = &mut self.processes[self.current];
        match &placed.mark {
            Mark::Call(call, elapsed, cpu) => {
                let unit = u128::from(self.unit_ns);
                let sums = &mut process.calls[*call as usize];
                sums.0 += 1;
                sums.1 += u128::from(*elapsed) * unit;
                sums.2 += u128::from(*cpu) * unit;
            }
            Mark::Commit => {
                process.commits += 1;
                process.ends += 1;
            }
            Mark::NoCommit => process.ends += 1,
            Mark::Failed(error) => {
                let line = self.lines.saturating_add_signed(placed.line) + 1;
                let is_known = process.errors.contains_key(error);
                if is_known || process.errors.len() < ERRORS_MAX {
                    process.errors.entry(*error).or_insert((0, line)).0 += 1;
                } else {
                    self.bound("trace.many_errors", sink, || {
                        format!(
                            "over {ERRORS_MAX} error numbers of one process: more are not listed"
                        )
                    });
                }
            }
            Mark::Header(said) => {
                let number = self.lines.saturating_add_signed(placed.line) + 1;
                self.said(said, number, sink);
            }
        }
    }

    fn said(&mut self, said: &HeaderFact, line: u64, sink: &mut Sink) {
        match said {
            HeaderFact::Begins => {
                self.release = None;
                self.unit(MICROSECOND_NS);
            }
            HeaderFact::Release(release) => {
                let release = *release;
                self.release = Some(release);
                self.unit(if release < 9 {
                    CENTISECOND_NS
                } else {
                    MICROSECOND_NS
                });
                self.fact("Oracle release", &release.to_string());
            }
            HeaderFact::Process(pid, name) => self.switch(*pid, name.as_deref(), sink),
            HeaderFact::Listed(pid, name) => {
                if self.listed_names.len() < PROCESSES_MAX {
                    self.listed_names
                        .entry(*pid)
                        .or_insert_with(|| name.clone());
                }
            }
            HeaderFact::Stamp(at) => {
                let process = &mut self.processes[self.current];
                let (first, last) = process.stamps.get_or_insert((*at, *at));
                // A clock that was set back does not make time negative.
                *last = (*at).max(*first);
                self.stamped(*at, *at);
            }
            HeaderFact::Broken(text) => {
                sink.notes.add(
                    Severity::Warning,
                    "trace.not_whole",
                    Some(line),
                    Some(1),
                    || format!("the trace says: {text}"),
                );
            }
            HeaderFact::CutWarning(text) => {
                let (id, at) = ("trace.not_whole", Some(line));
                sink.notes.add(Severity::Warning, id, at, Some(1), || {
                    let text = quote(text.as_bytes());
                    format!("a warning of the log writer is cut ({text}): it is not counted")
                });
            }
            HeaderFact::Fact(name, value) => self.fact(name, value),
            HeaderFact::SlowWrite(..)
            | HeaderFact::SlowBroadcast(_)
            | HeaderFact::AdaptiveMode(_) => {
                if self.listed.len() < LISTED_MAX {
                    let process = self.current;
                    self.without_stamp.push(self.listed.len());
                    self.listed.push(LogWriterLine {
                        process,
                        line,
                        said: said.clone(),
                        above: self.processes[process].stamp,
                        below: None,
                        rate: None,
                    });
                } else {
                    let more = || "more slow writes and switches than are listed".to_owned();
                    let at = Some(line);
                    sink.notes
                        .add(Severity::Warning, "trace.many_listed", at, None, more);
                }
            }
            HeaderFact::SyncRate(rate) => self.sync_rate(*rate, line, sink),
            HeaderFact::Nothing => {}
        }
    }

    /// The rate belongs to the switch above it; a stamp may be between them.
    fn sync_rate(&mut self, rate: u64, line: u64, sink: &mut Sink) {
        let last = self.listed.last_mut().filter(|l| {
            let is_switch = matches!(l.said, HeaderFact::AdaptiveMode(_)) && l.rate.is_none();
            is_switch && l.process == self.current && line - l.line <= 2
        });
        match last {
            Some(switch) => switch.rate = Some((rate, line)),
            None => sink.notes.add(
                Severity::Warning,
                "trace.rate_without_switch",
                Some(line),
                None,
                || format!("{rate} redo synch writes per second: no switch is above the line"),
            ),
        }
    }

    /// The current process has written stamps: the first of them since the last time, and the last.
    pub(super) fn stamped(&mut self, first: i64, last: i64) {
        let current = self.current;
        self.processes[current].stamp = Some(last);
        let listed = &mut self.listed;
        self.without_stamp.retain(|at| {
            let line = &mut listed[*at];
            let is_own = line.process == current;
            if is_own {
                line.below = Some(first);
            }
            !is_own
        });
    }

    fn unit(&mut self, ns: u64) {
        if !self.is_unit_stated {
            self.unit_ns = ns;
        }
    }

    fn fact(&mut self, name: &str, value: &str) {
        let known = self.facts.iter().any(|(n, v)| n == name && v == value);
        if !known && self.facts.len() < FACTS_MAX {
            self.facts.push((name.to_owned(), value.to_owned()));
        }
    }

    /// Whether nothing was said yet of the process that has no name.
    pub(super) fn is_first_unused(&self) -> bool {
        let first = &self.processes[0];
        let is_silent = first.ends == 0
            && first.errors.is_empty()
            && first.calls.iter().all(|(count, _, _)| *count == 0);
        let is_listed = self.listed.iter().any(|l| l.process == 0);
        let waited = self.cells.keys().any(|(process, _)| *process == 0);
        first.pid.is_none() && is_silent && !is_listed && !waited
    }

    /// The lines behind are of this process.
    pub(super) fn switch(&mut self, pid: u64, name: Option<&str>, sink: &mut Sink) {
        if let Some(known) = self.pids.get(&pid) {
            self.current = *known;
        } else if self.current == 0 && self.is_first_unused() {
            self.processes[0].pid = Some(pid);
            self.pids.insert(pid, 0);
        } else if self.processes.len() < PROCESSES_MAX {
            self.current = self.processes.len();
            self.pids.insert(pid, self.current);
            self.processes.push(TracedProcess {
                pid: Some(pid),
                ..TracedProcess::default()
            });
        } else {
            self.bound("trace.many_processes", sink, || {
                format!("over {PROCESSES_MAX} processes: the others count as the last")
            });
            self.current = self.processes.len() - 1;
        }
        let process = &mut self.processes[self.current];
        if process.name.is_none() {
            process.name = name.map(str::to_owned);
        }
    }

    /// Passes the oddities of a block on.
    fn tell(&self, block: &Scanned, sink: &mut Sink) {
        let mut counts = block.odd_counts;
        for odd in &block.odd {
            let count = &mut counts[odd.id as usize];
            let (severity, id, what) = odd.id.described();
            // The last kept of an id stands for those that the block did not keep.
            let is_last = !block
                .odd
                .iter()
                .skip_while(|o| *o != odd)
                .skip(1)
                .any(|o| o.id == odd.id);
            let stands = if is_last { *count } else { 1 };
            *count = count.saturating_sub(stands);
            let line = Some(self.lines.saturating_add_signed(odd.line) + 1);
            let detail = || match odd.text.as_str() {
                "" => what.to_owned(),
                text => format!("{what}: {text}"),
            };
            sink.notes
                .add_many(severity, id, line, Some(odd.column), stands, detail);
        }
    }
}

/// Whether latency over time is kept of an event.
fn is_redo(event: &str) -> bool {
    event.starts_with("log file ") || event == "target log write size"
}
