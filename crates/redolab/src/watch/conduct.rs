//! The steps of a watched run: find the log, have its events recorded, follow them until the end,
//! and make a run of what was seen.
//!
//! Invariants: the private instance of the trace is removed however this ends; a run that ends
//! before its time is whole, because a watched log has no plan; every run passes through the one
//! judge before it is stored.

use super::files::FilesFound;
use super::filters::WantedEvents;
use super::join::Join;
use super::server::{ServerGrown, ServerTally};
use super::subject::{Subject, SubjectPlan};
use super::tally::{SeenEvents, WATCHED_ROW, WatchTally, WatchedSecond};
use super::{WatchError, place, processes};
use crate::experiment::begin::new_run;
use crate::experiment::console::Console;
use crate::experiment::judge::{judge, note_failure};
use crate::experiment::plan::JudgementPlan;
use crate::experiment::{Failure, Stopped};
use crate::observe::diskstats::Counters;
use crate::observe::machine;
use crate::observe::sampler::Sampler;
use crate::observe::tools;
use crate::observe::topology::counted_devices;
use crate::observe::tracefs::TracefsError;
use crate::observe::tracefs::events::{Decoder, TimedEvent};
use crate::observe::tracefs::instance::TraceInstance;
use crate::observe::tracefs::mount::Tracefs;
use crate::observe::tracefs::ring::Records;
use crate::store::events::{EventWriter, RowFacts};
use crate::store::{RunWriter, Store};
use analysis::thresholds::Thresholds;
use drivers::collect::ReadServer;
use measure::record::{DeviceCounts, Observations, Recording};
use measure::run::{
    Origin, Run, RunNotes, TargetFacts, WatchedFacts, WatchedWorkload, WorkloadInfo,
};
use measure::stack::Stack;
use measure::{Nanos, WaitEvent};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the buffers are emptied.
const DRAIN: Duration = Duration::from_millis(50);
/// How often files and processes are looked at, and a line is printed.
const SECOND: Duration = Duration::from_secs(1);
/// How often it is looked how the files are opened, in seconds.
const OPENED_EVERY: u32 = 5;
/// Events of this age are in the buffers of all processors.
const SETTLED_NS: u64 = 5_000_000;
/// Files that facts list, at most.
const FILES_LISTED: usize = 64;
/// Log writes for which figures are given without doubt, at least.
const LEAST_WRITES: u64 = 20;

/// What to watch.
#[derive(Clone, Debug)]
pub struct WatchPlan {
    /// The command that asked for it.
    pub command: Vec<String>,
    /// Whose log.
    pub subject: SubjectPlan,
    /// How long; `None` until somebody ends it.
    pub time: Option<Nanos>,
    /// Log writes that take at least this are kept one by one.
    pub warning: Nanos,
    /// Every log write is stored.
    pub events: bool,
    /// How it is judged.
    pub judgement: JudgementPlan,
    /// What the user noted.
    pub notes: RunNotes,
}

/// Watches a log and stores the run. `server` is asked for what it counts; `look` is called after
/// each second.
///
/// # Errors
/// The log cannot be watched, or the run cannot be stored.
pub fn watch(
    plan: &WatchPlan,
    mut server: Option<Box<dyn ReadServer>>,
    console: &dyn Console,
    look: &mut dyn FnMut(&WatchedSecond),
    store: &Store,
) -> Result<Run, Stopped> {
    let thresholds = Thresholds::parse(&plan.judgement.thresholds)
        .map_err(|error| Failure::Unusable(format!("--thresholds: {error}")))?;
    let subject = Subject::find(&plan.subject).map_err(Failure::from)?;
    let mut stack = device::identify::stack_of(&subject.folder).unwrap_or_default();
    tools::complete(&mut stack);
    let mut run = run_of(plan, &subject, stack);
    let mut watching = Watching::begin(subject, console).map_err(Failure::from)?;
    console.say(&watching.in_words());
    let mut writer = store.begin(&run.run_id)?;
    let outcome = watching.measure(plan, &mut server, console, look, &mut writer);
    drop(watching.instance.take());
    match outcome.and_then(|made| finish(&mut run, made, &watching, &mut writer)) {
        Ok(()) => {}
        Err(failure) => {
            note_failure(&mut run, &failure);
            describe(&mut run, &watching);
            judge(&mut run, &thresholds, plan.judgement.not_judged.clone());
            // What cannot be kept is not: the failure is what is reported.
            let _ = writer.draft(&run);
            return Err(failure.into());
        }
    }
    judge(&mut run, &thresholds, plan.judgement.not_judged.clone());
    console.report(&mut run);
    writer.finish(&run)?;
    Ok(run)
}

impl From<WatchError> for Failure {
    fn from(error: WatchError) -> Failure {
        match error {
            WatchError::Tracefs(TracefsError::System {
                path,
                action,
                source,
            }) => Failure::System {
                what: format!("{}: {action}", path.display()),
                source,
            },
            other => Failure::Unusable(other.to_string()),
        }
    }
}

/// A run of `plan` that begins now.
fn run_of(plan: &WatchPlan, subject: &Subject, stack: Stack) -> Run {
    let mut run = new_run(&subject.folder, "watched_log", stack, &plan.command);
    run.origin = Origin::Watched;
    run.workload = WorkloadInfo::Watched(WatchedWorkload {
        names: vec![WATCHED_ROW.to_owned()],
        time_s: plan.time.map(Nanos::as_secs),
    });
    run.target.stack.declared = plan.judgement.declared.clone();
    run.need = plan.judgement.need.clone();
    run.notes = plan.notes.clone();
    run
}

/// A log that is being watched.
struct Watching {
    subject: Subject,
    /// `None` when it has ended.
    instance: Option<TraceInstance>,
    decoder: Decoder,
    wanted: WantedEvents,
    join: Join,
    /// Events that are too young for those of other processors to be there.
    pending: Vec<TimedEvent>,
    events: u64,
    broken_pages: u64,
    notes: BTreeSet<String>,
    /// Files that were replaced where only known ones are recorded.
    late: BTreeSet<PathBuf>,
    added_files: u64,
    facts: WatchedFacts,
}

/// What was seen of a log, when the watching has ended.
struct SeenLog {
    recording: Recording,
    lost: u64,
    grown_note: Option<String>,
}

impl Watching {
    /// Has the events of the log recorded.
    fn begin(subject: Subject, console: &dyn Console) -> Result<Watching, WatchError> {
        let facts = WatchedFacts {
            product: subject.product.clone(),
            processes: subject.processes(),
            ..WatchedFacts::default()
        };
        let instance = TraceInstance::create(Tracefs::find()?)?;
        let mut watching = Watching {
            subject,
            instance: Some(instance),
            decoder: Decoder::default(),
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

    fn in_words(&self) -> String {
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

    /// Follows the log until its time is over, its process has ended, or somebody asks.
    fn measure(
        &mut self,
        plan: &WatchPlan,
        server: &mut Option<Box<dyn ReadServer>>,
        console: &dyn Console,
        look: &mut dyn FnMut(&WatchedSecond),
        writer: &mut RunWriter,
    ) -> Result<SeenLog, Failure> {
        let mut events = match plan.events {
            true => Some(writer.begin_events()?),
            false => None,
        };
        let sampler = sampler(&self.subject)?;
        let before = counted(server);
        self.start()?;
        let window = sampler.begin();
        let (zero_ns, zero_utc_ns) = (mono_ns(), utc_ns());
        let mut tally = WatchTally::new((zero_ns, zero_utc_ns), plan.warning, plan.events);
        if let Some(events) = &mut events {
            events.begin_row(facts_of_row(zero_utc_ns));
        }
        let begun = Instant::now();
        let mut seconds = 0;
        let end_ns = loop {
            std::thread::sleep(DRAIN);
            self.drain(mono_ns().saturating_sub(SETTLED_NS), &mut tally)?;
            store_events(events.as_mut(), &mut tally);
            let elapsed = begun.elapsed();
            let is_over = plan
                .time
                .is_some_and(|time| elapsed >= Duration::from_nanos(time.0));
            let ends = is_over || console.interrupt().requested() || self.has_ended();
            if ends {
                break self.stop()?;
            }
            if elapsed >= SECOND * (seconds + 1) {
                seconds = u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX);
                self.look_around(seconds)?;
                let now = Nanos(mono_ns().saturating_sub(zero_ns));
                interval(&mut tally, now, look, writer)?;
            }
        };
        self.drain(u64::MAX, &mut tally)?;
        store_events(events.as_mut(), &mut tally);
        let end = Nanos(end_ns.saturating_sub(zero_ns));
        interval(&mut tally, end, look, writer)?;
        let observed = sampler.end(window);
        if let Some(mut events) = events {
            events.end_row()?;
            writer.end_events(events)?;
        }
        let (grown, grown_note) = grown(before, server);
        let lost = self.losses()?;
        let seen = SeenEvents {
            events: self.events,
            lost,
            not_flushed: self.join.not_flushed(),
        };
        let counts = self.join.counts();
        self.note_counts(&counts);
        let notes = std::mem::take(&mut self.notes);
        let mut recording = tally.recording(end, &counts, seen, grown, notes);
        add_observed(&mut recording, &sampler, &observed);
        Ok(SeenLog {
            recording,
            lost,
            grown_note,
        })
    }

    fn start(&self) -> Result<(), Failure> {
        let started = self.instance.as_ref().map(TraceInstance::start).transpose();
        started.map_err(WatchError::from)?;
        Ok(())
    }

    /// Ends recording, and returns when, on the trace's clock.
    fn stop(&self) -> Result<u64, Failure> {
        let end_ns = mono_ns();
        let stopped = self.instance.as_ref().map(TraceInstance::stop).transpose();
        stopped.map_err(WatchError::from)?;
        Ok(end_ns)
    }

    fn losses(&self) -> Result<u64, Failure> {
        let losses = self
            .instance
            .as_ref()
            .map(TraceInstance::losses)
            .transpose();
        Ok(losses.map_err(WatchError::from)?.unwrap_or_default().all())
    }

    /// The process whose log it is has ended.
    fn has_ended(&mut self) -> bool {
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
    fn drain(&mut self, until_ns: u64, tally: &mut WatchTally) -> Result<(), Failure> {
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
    fn look_around(&mut self, seconds: u32) -> Result<(), Failure> {
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
    fn note_counts(&mut self, counts: &super::join::JoinCounts) {
        if counts.device_writes == 0 && counts.calls > 0 {
            self.notes.insert(
                "The device layer is unknown: no request to a device could be joined to the log \
                 files, as below device-mapper, RAID and NVMe multipath."
                    .to_owned(),
            );
        }
        if counts.without_end > 0 {
            self.notes.insert(format!(
                "{} of which the end was not seen are in no figure.",
                measure::words::plural(counts.without_end, "write or flush")
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

/// Takes over what was seen into the run, and stores it.
fn finish(
    run: &mut Run,
    seen: SeenLog,
    watching: &Watching,
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let mut recording = seen.recording;
    if let (Some(note), Some(watched)) = (seen.grown_note, &mut recording.watched) {
        watched.notes.insert(note);
    }
    describe(run, watching);
    let row = recording.row();
    doubt(run, &row, watching, seen.lost);
    run.rows.push(row);
    Ok(writer.recording(&stored_name(), &recording)?)
}

/// Takes over what is known of the log at the end.
fn describe(run: &mut Run, watching: &Watching) {
    let known = watching.subject.files.known();
    let shown = known.values().map(|file| file.shown.display().to_string());
    let mut shown: Vec<String> = shown.collect();
    shown.sort();
    shown.truncate(FILES_LISTED);
    run.target.facts = TargetFacts::Watched(WatchedFacts {
        log_files: shown,
        log_bytes: known.values().map(|file| file.bytes).sum(),
        added_files: watching.added_files,
        events: watching
            .wanted
            .0
            .keys()
            .map(|kind| kind.path().replace('/', ":"))
            .collect(),
        traces_system_calls: watching.wanted.traces_system_calls(),
        ..watching.facts.clone()
    });
}

/// Notes in the run why its figures are to be doubted, if they are.
fn doubt(run: &mut Run, row: &measure::run::Row, watching: &Watching, lost: u64) {
    let validity = &mut run.validity;
    let counts = watching.join.counts();
    if lost > 0 {
        let all = lost.saturating_add(watching.events);
        validity.add(
            "trace_lost",
            false,
            format!(
                "the kernel lost {lost} of {all} events, since they came faster than they were \
                 read: counts are too small, and a log write may be joined to the wrong flush"
            ),
        );
    }
    if watching.broken_pages > 0 {
        let pages = watching.broken_pages;
        let what = format!("{pages} pages of the trace could not be read whole");
        validity.add("trace_unreadable", false, what);
    }
    if counts.errors > 0 {
        let errno = std::io::Error::from_raw_os_error(
            i32::try_from(counts.last_error.unsigned_abs()).unwrap_or(0),
        );
        validity.add(
            "watched_errors",
            false,
            format!(
                "{} writes or flushes of the log failed, the last with: {errno}",
                counts.errors
            ),
        );
    }
    for path in &watching.late {
        let shown = path.display();
        let what = format!("{shown} was replaced; its writes of up to a second were not seen");
        validity.add("log_replaced", false, what);
    }
    let writes = row
        .wait(WaitEvent::LogFileParallelWrite)
        .map_or(0, |stats| stats.count);
    if writes == 0 {
        let what = "no log write was seen: nothing was committed, or another file is the log";
        validity.add("no_log_writes", true, what);
    } else if writes < LEAST_WRITES {
        let what = format!("{writes} log writes are too few for their distribution");
        validity.add("few_log_writes", false, what);
    }
}

fn facts_of_row(zero_utc_ns: u64) -> RowFacts {
    RowFacts {
        row: 1,
        workload: WATCHED_ROW.to_owned(),
        jobs: 0,
        utc_at_zero_ns: i64::try_from(zero_utc_ns).unwrap_or(i64::MAX),
    }
}

fn store_events(events: Option<&mut EventWriter>, tally: &mut WatchTally) {
    if let Some(events) = events {
        events.writes(&tally.take_events());
    }
}

/// The name of the row's files.
fn stored_name() -> String {
    format!("01-{WATCHED_ROW}-0")
}

/// Ends an interval, stores its histogram and hands it to whoever looks on.
fn interval(
    tally: &mut WatchTally,
    end: Nanos,
    look: &mut dyn FnMut(&WatchedSecond),
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let (from, second) = tally.end_interval(end);
    if second.write.count() > 0 {
        let series = format!(
            "{}/{}",
            stored_name(),
            WaitEvent::LogFileParallelWrite.key()
        );
        writer.interval(&series, from, end, &second.write)?;
    }
    look(&second);
    Ok(())
}

/// Reads processors and the device below the log once per second.
fn sampler(subject: &Subject) -> Result<Sampler, Failure> {
    let stack = device::identify::stack_of(&subject.folder).unwrap_or_default();
    let counters = match counted_devices(&stack).as_slice() {
        [one] => Counters::open(*one).ok(),
        _ => None,
    };
    let started = Sampler::start(counters, SECOND);
    started.map_err(Failure::system("starting the sampling thread"))
}

fn add_observed(
    made: &mut Recording,
    sampler: &Sampler,
    observed: &crate::observe::sampler::SampledWindow,
) {
    let window = made.windows.first().copied().unwrap_or_default();
    let machine = machine::boot_id();
    if let Some((device, disk)) = sampler.device().zip(observed.total.disk) {
        let length = observed.total.length.as_nanos();
        let counts = DeviceCounts {
            observed_ns: u64::try_from(length).unwrap_or(u64::MAX),
            writes: disk.data_writes(),
            written_bytes: disk.written_bytes(),
            busy_ms: disk.busy_ms,
        };
        made.devices = Observations::one(&format!("{machine}/{device}"), window, counts);
    }
    if let Some(ticks) = observed.ticks {
        made.processors = Observations::one(&machine, window, ticks);
    }
}

/// What the server has counted so far; `None` where no server is asked.
fn counted(
    server: &mut Option<Box<dyn ReadServer>>,
) -> Option<Result<ServerTally, measure::driver::DriverError>> {
    let server = server.as_mut()?;
    Some(ServerTally::read(&mut **server))
}

/// What the server counted meanwhile, and why that is unknown.
fn grown(
    before: Option<Result<ServerTally, measure::driver::DriverError>>,
    server: &mut Option<Box<dyn ReadServer>>,
) -> (ServerGrown, Option<String>) {
    let Some((before, after)) = before.zip(counted(server)) else {
        return (ServerGrown::default(), None);
    };
    let both = before.and_then(|before| Ok(after?.since(&before)));
    match both {
        Ok(grown) => (grown, None),
        Err(error) => (
            ServerGrown::default(),
            Some(format!("The server's own counts are unknown: {error}")),
        ),
    }
}

/// The clock of the trace.
fn mono_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000) + u64::try_from(now.tv_nsec).unwrap_or(0)
}

fn utc_ns() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
