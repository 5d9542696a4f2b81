//! What `check`, `run` and `probe` have in common: looking at a target before anything is written,
//! saying what will be, and running rows on it into a run.

use super::CommandError;
use super::common::{OutputArgs, SafetyArgs};
use super::drafts::Drafts;
use super::ground::Ground;
use super::judge::note_failure;
use super::limits::{KEEP_BYTES, Limits, needs_of, shares};
use super::loads::{limited, phase_name, row_name, shortened_row};
use crate::cleanup::WorkFolder;
use crate::experiment::capture::Capture;
use crate::experiment::row::{self, Lab, Spec};
use crate::experiment::target::{LogTarget, Setup};
use crate::experiment::{Failure, doubt};
use crate::observe::diskstats::Counters;
use crate::observe::mountstats::Share;
use crate::observe::sampler::Sampler;
use crate::observe::topology::{DevNo, counted_devices};
use crate::observe::{background, machine, tools};
use crate::safety::{self, Holder, Plan, Room};
use crate::signals::Interrupt;
use crate::store::{RunWriter, new_run_id, now_rfc3339};
use device::Caps;
use measure::Nanos;
use measure::run::{Origin, Run, SCHEMA, Target, Validity, WorkloadInfo};
use measure::stack::Stack;
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

/// A target that was looked at.
pub(crate) struct Look {
    pub(crate) ground: Ground,
    pub(crate) stack: Stack,
    pub(crate) counted: Vec<DevNo>,
    room: Room,
}

impl Look {
    /// Identifies what `path` names and what stands below it.
    pub(crate) fn at(path: &Path, safety: &SafetyArgs) -> Result<Look, CommandError> {
        let ground = Ground::at(path, safety)?;
        let mut stack = ground.stack()?;
        tools::complete(&mut stack);
        let failed = |e| CommandError::usage(format!("{}: {e}", path.display()));
        let room = ground.room().map_err(failed)?;
        let counted = counted_devices(&stack);
        Ok(Look {
            ground,
            stack,
            counted,
            room,
        })
    }

    /// A run on it that begins now.
    pub(crate) fn begin(&self) -> Run {
        begin(self.ground.path(), self.ground.kind(), self.stack.clone())
    }

    /// Counters of the device below, where there is exactly one that counts.
    pub(crate) fn counters(&self) -> Option<Counters> {
        match self.counted.as_slice() {
            [one] => Counters::open(*one).ok(),
            _ => None,
        }
    }

    /// Refuses a log that cannot be made here, before anything is measured.
    pub(crate) fn check_setup(&self, setup: &Setup, specs: &[Spec]) -> Result<(), CommandError> {
        let layers = || self.stack.layers.iter();
        let sectors = |bytes: Option<u64>| bytes.and_then(|b| u32::try_from(b).ok());
        let logical_bytes = layers().find_map(|l| sectors(l.logical_block_bytes));
        let physical_bytes = layers().find_map(|l| sectors(l.physical_block_bytes));
        let caps = Caps {
            logical_bytes: logical_bytes.unwrap_or(512),
            physical_bytes: physical_bytes.unwrap_or(4096),
            memory_align: 4096,
            max_io_bytes: 1 << 20,
            durable_writes: false,
            blocking: true,
        };
        let refused = |e: redo::Error| CommandError::from(Failure::Log(e));
        let geometry = setup.shape.geometry(&caps, self.ground.path());
        let geometry = geometry.map_err(refused)?;
        let options = redo::Options::default().buffer_bytes(setup.buffer_bytes);
        let ring_blocks = options.ring_blocks(&geometry).map_err(refused)?;
        let record = |s: &Spec| u64::from(s.workload.redo_bytes / s.workload.records.max(1));
        let (len, max) = (
            specs.iter().map(record).max().unwrap_or(0),
            geometry.max_record(ring_blocks),
        );
        if len > max {
            let too_large = redo::Error::RecordTooLarge { len, max };
            return Err(CommandError::usage(format!(
                "{too_large}: raise --log-buffer and --log-file-size"
            )));
        }
        Ok(())
    }

    /// Whether the run may go on: somebody else may be filling the volume.
    pub(crate) fn recheck(&self) -> Result<(), Failure> {
        let path = self.ground.path().display().to_string();
        let room = self.ground.room().map_err(Failure::system(path))?;
        Ok(safety::recheck(room)?)
    }

    /// Says what will be written, and refuses what would endanger the machine. Returns `false`
    /// for a dry run.
    pub(crate) fn preflight(
        &self,
        plan: &Plan,
        limits: &Limits,
        args: &SafetyArgs,
        output: &OutputArgs,
    ) -> Result<(bool, Option<String>), CommandError> {
        let warning = self.ground.warning();
        for line in warning
            .into_iter()
            .chain(safety::announcement(plan, self.room))
            .chain(limits.lines.iter().cloned())
        {
            output.say(&line);
        }
        let refused = |r: safety::Refusal| CommandError::usage(r.to_string());
        safety::check_plan(plan, self.room).map_err(refused)?;
        let busy = self.busy();
        let holders = self.holders(output)?;
        let warning = safety::check_busy(busy, &holders, args.allow_busy).map_err(refused)?;
        let warning = warning.map(|w| w.fact());
        if let Some(warning) = &warning {
            output.say(&format!("Warning (--allow-busy): {warning}"));
        }
        if args.dry_run {
            output.say("Dry run: nothing was written.");
        }
        Ok((!args.dry_run, warning))
    }

    fn busy(&self) -> Option<f64> {
        let window = Duration::from_secs(safety::BUSY_WINDOW_S);
        let idleness = background::watch(&self.counters()?, window).ok()?;
        Some(idleness.utilisation_pct)
    }

    fn holders(&self, output: &OutputArgs) -> Result<Vec<Holder>, CommandError> {
        if self.ground.is_device() {
            // Whoever may write to it was refused before, whatever the user insists on.
            return Ok(Vec::new());
        }
        let found = device::identify::holders(self.ground.path())
            .map_err(|e| CommandError::failed(e.to_string()))?;
        if found.unreadable > 0 && output.verbose {
            eprintln!(
                "{} processes could not be looked at; they may hold redo or WAL files here",
                found.unreadable
            );
        }
        let each = |h: device::identify::Holder| Holder {
            pid: h.pid,
            name: h.command,
            file: h.files.into_iter().next().unwrap_or_default(),
        };
        Ok(found.found.into_iter().map(each).collect())
    }
}

/// Keeps what was measured before a failure, as an incomplete run, and says so. A run whose log was
/// never made is removed. The failure that is reported is the first one.
pub(crate) fn keep(failure: Failure, run: &mut Run, writer: &RunWriter) -> CommandError {
    note_failure(run, &failure);
    let log_exists = run.target.log_groups > 0;
    if !log_exists && run.rows.is_empty() && run.floor.is_empty() {
        // What cannot be removed is listed as incomplete.
        let _ = writer.discard();
        return CommandError::from(failure);
    }
    let kept = writer.draft(run).is_ok();
    let mut error = CommandError::from(failure);
    if kept && !run.rows.is_empty() {
        let rows = analysis::format::plural(run.rows.len() as u64, "row");
        error
            .message
            .push_str(&format!("; kept {rows} as run {} (incomplete)", run.run_id));
    }
    error
}

/// Has every event of what is run on `target` captured into the run.
pub(crate) fn begin_events(target: &LogTarget, writer: &mut RunWriter) -> Result<(), Failure> {
    target.meter.with_events();
    let events = writer.begin_events()?;
    let started = |shards| Capture::start(shards, events);
    let outcome = target.recorder.capture_with(started);
    outcome.map_err(Failure::system("starting the capture of events"))
}

/// Takes over what was captured, and says where something is missing.
pub(crate) fn end_events(
    target: &LogTarget,
    writer: &mut RunWriter,
    run: &mut Run,
) -> Result<(), Failure> {
    let Some(capture) = target.recorder.capture() else {
        return Ok(());
    };
    writer.end_events(capture.end()?)?;
    for row in &run.rows {
        let Some(events) = row.events.as_ref().filter(|events| events.lost > 0) else {
            continue;
        };
        let kept = events.log_file_syncs + events.log_file_parallel_writes;
        let lost = format!(
            "{} with {}: {} of {} events were lost, since they came faster than they could be \
             stored; the histograms count all of them. Put the store on another device, leave a \
             processor free, or measure without --events",
            row.workload,
            analysis::format::jobs(row.jobs),
            events.lost,
            kept + events.lost
        );
        run.validity.add("events_lost", true, lost);
    }
    Ok(())
}

/// Ends the log, and removes the folder that it was in, where there is one.
pub(crate) fn finish(target: LogTarget, folder: Option<WorkFolder>) -> Result<(), Failure> {
    target.close()?;
    folder.map_or(Ok(()), remove)
}

/// Removes a work folder, and says what stayed.
pub(crate) fn remove(folder: WorkFolder) -> Result<(), Failure> {
    folder.remove().map_err(|left| Failure::System {
        what: "removing the work folder".to_owned(),
        source: std::io::Error::other(left),
    })
}

/// A run that has begun.
pub(crate) fn begin(path: &Path, kind: &str, stack: Stack) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        run_id: new_run_id(),
        created: now_rfc3339(),
        origin: Origin::Measured,
        redolab_version: env!("CARGO_PKG_VERSION").to_owned(),
        // Arguments need not be UTF-8: paths are any bytes.
        command: std::env::args_os()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect(),
        target: Target {
            kind: kind.to_owned(),
            path: path.display().to_string(),
            stack,
            ..Target::default()
        },
        workload: WorkloadInfo::default(),
        environment: machine::environment(true),
        rows: Vec::new(),
        floor: Vec::new(),
        lab_overhead_ns: None,
        findings: Vec::new(),
        validity: Validity::sound(),
        need: measure::judgement::Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    }
}

/// Takes over what the log target says of itself, keeping kind, path and stack.
pub(crate) fn describe(run: &mut Run, target: &LogTarget) {
    let before = std::mem::take(&mut run.target);
    run.target = Target {
        kind: before.kind,
        path: before.path,
        stack: before.stack,
        ..target.describe()
    };
}

/// What rows are run with.
pub(crate) struct Bench<'a> {
    pub(crate) look: Option<&'a Look>,
    pub(crate) limits: &'a Limits,
    pub(crate) setup: &'a Setup,
    pub(crate) output: &'a OutputArgs,
    pub(crate) interrupt: &'a Interrupt,
}

impl Bench<'_> {
    /// Runs `specs` one after the other into `run`. On failure the run keeps the rows before, and
    /// says that it is incomplete.
    pub(crate) fn rows(
        &mut self,
        run: &mut Run,
        target: &LogTarget,
        specs: &[Spec],
        mut store: Option<&mut RunWriter>,
    ) -> Result<(), Failure> {
        let counters = || self.look.and_then(Look::counters);
        let declares_cache = counters().and_then(|c| c.declares_cache());
        // As long as the longest intervals: what is kept of a soak is bounded.
        let interval = specs.iter().map(|s| s.interval().0).max();
        let interval = Duration::from_nanos(interval.unwrap_or(row::INTERVAL.0));
        let share = self.look.and_then(|look| Share::of(&look.stack));
        let sampler = Sampler::start_on(counters(), share, interval)
            .map_err(Failure::system("starting the sampling thread"))?;
        let progress = self.output.progress();
        let mut drafts = Drafts::new(&self.limits.budget);
        let mut shortened = Vec::new();
        for (index, spec) in specs.iter().enumerate() {
            if !self.give_share(target, &specs[index..], index) {
                shortened.push(format!("{} was left out", row_name(spec)));
                continue;
            }
            let phase = progress.phase(&phase_name(spec, index, specs.len()), 1000);
            let look = self.look;
            let guard = |_: u64| look.map_or(Ok(()), Look::recheck);
            let soak = spec.soak.then(|| SoakLines::new(spec.time));
            let mut lab = Lab {
                target,
                sampler: &sampler,
                declares_cache,
                devices: look.map_or(0, |l| l.counted.len()),
                store: store.as_deref_mut(),
                interrupt: self.interrupt,
                guard: &guard,
                progress: &|part, rate| {
                    phase.at((part * 1000.0) as u64);
                    phase.say(&format!("{rate:.0} commits/s"));
                    if let Some(line) = soak.as_ref().and_then(|s| s.line(part, rate, look)) {
                        self.output.say(&line);
                    }
                },
                log: &|line| {
                    if self.output.verbose {
                        self.output.say(line);
                    }
                },
            };
            // Rows that were left out have no number: what is stored of a row is found by it.
            let row = row::run(&mut lab, run.rows.len() + 1, spec)?;
            phase.done(&summary(&row));
            let limited = limited(&target.meter, spec, &row);
            if limited.ended {
                shortened.push(shortened_row(spec, &row));
                if row.commits == 0 {
                    continue;
                }
            }
            doubt::row(&row, limited, &mut run.validity);
            run.rows.push(row);
            if let Some(look) = look.filter(|_| index + 1 < specs.len()) {
                look.recheck()?;
            }
            if let Some(store) = store.as_deref_mut() {
                drafts.write(store, run)?;
            }
        }
        self.say_shortened(run, &shortened);
        Ok(())
    }

    /// Gives the first of `rest` its share of what is left; false when it is left out.
    fn give_share(&self, target: &LogTarget, rest: &[Spec], index: usize) -> bool {
        let budget = &self.limits.budget;
        if budget.limit().is_none() || self.look.is_none() {
            return true;
        }
        let events = target.recorder.capture().is_some();
        let needs = needs_of(rest, self.setup, target.meter.is_cached(), events);
        let kept: u64 = needs.iter().map(|need| need.kept).sum();
        let room = budget.left().saturating_sub(kept + KEEP_BYTES);
        let share = match &self.limits.fixed {
            Some(fixed) => fixed.get(index).copied().flatten().map(|s| s.min(room)),
            None => shares(&needs, room).first().copied().flatten(),
        };
        let Some((share, need)) = share.zip(needs.first()) else {
            return false;
        };
        target.meter.allow(share, need.tail);
        share >= need.least
    }

    /// Says which rows --max-write made shorter or left out, and keeps that in the run.
    fn say_shortened(&self, run: &mut Run, shortened: &[String]) {
        if let Some(limit) = self.limits.budget.limit().filter(|_| !shortened.is_empty()) {
            let all = shortened.join("; ");
            let line = format!("--max-write {}: {all}", safety::size(limit));
            self.output.say(&line);
            run.validity.add("max_write", false, line);
        }
    }
}

/// What a soak says now and then, on standard error.
struct SoakLines {
    time: Nanos,
    every_s: f64,
    next_s: Cell<f64>,
}

/// A soak says something this often, or ten times where it is short.
const SOAK_LINE_S: f64 = 60.0;

impl SoakLines {
    fn new(time: Nanos) -> SoakLines {
        let every_s = (time.as_secs() / 10.0).min(SOAK_LINE_S);
        SoakLines {
            time,
            every_s,
            next_s: Cell::new(every_s),
        }
    }

    /// The line, if one is due: how far it is, how fast, what memory and room are left.
    fn line(&self, part: f64, rate: f64, look: Option<&Look>) -> Option<String> {
        let at_s = part * self.time.as_secs();
        if at_s < self.next_s.get() {
            return None;
        }
        self.next_s.set(at_s + self.every_s);
        let mut line = format!(
            "soak: {at_s:.0} of {:.0} s, {rate:.0} commits/s",
            self.time.as_secs()
        );
        if let Some(bytes) = machine::resident_bytes() {
            line.push_str(&format!(", {} resident", safety::size(bytes)));
        }
        if let Some(Room::Volume(volume)) = look.and_then(|look| look.ground.room().ok()) {
            let free = safety::size(volume.available_bytes);
            line.push_str(&format!(", {free} of the volume available"));
        }
        Some(line)
    }
}

fn summary(row: &measure::run::Row) -> String {
    let sync = row
        .log_file_sync_ms
        .map_or_else(String::new, |ms| format!(", log file sync {ms:.3} ms"));
    format!(
        "{:.0} commits/s, {:.1} MB/s{sync}",
        row.commit_throughput_tps, row.redo_data_mbps
    )
}

/// The lab's own cost: nanoseconds a commit of LGWR-LAT1 with one job on the null device.
pub(crate) fn lab_overhead(interrupt: &Interrupt) -> Result<f64, Failure> {
    let setup = Setup::default();
    let target = LogTarget::null(setup)?;
    let sampler = Sampler::start(None, Duration::from_secs(1))
        .map_err(Failure::system("starting the sampling thread"))?;
    let mut lab = Lab {
        target: &target,
        sampler: &sampler,
        declares_cache: None,
        devices: 0,
        store: None,
        interrupt,
        guard: &|_| Ok(()),
        progress: &|_, _| {},
        log: &|_| {},
    };
    let spec = Spec::closed(
        measure::workload::Workload::standard().remove(0),
        1,
        Nanos::from_millis(400),
        Nanos::from_millis(100),
    );
    let row = row::run(&mut lab, 1, &spec)?;
    Ok(row.elapsed_ns as f64 / row.commits.max(1) as f64)
}
