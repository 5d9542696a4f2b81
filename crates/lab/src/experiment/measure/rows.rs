//! Running the rows of a plan one after the other, each within its share of what may be written.
//!
//! Invariant: on a failure the run keeps the rows before it.

use super::row::{self, Lab, RowProgress, Spec};
use crate::experiment::Failure;
use crate::experiment::console::{Console, ConsolePhase};
use crate::experiment::drafts::Drafts;
use crate::experiment::guard::limits::{KEEP_BYTES, Limits, shares};
use crate::experiment::guard::meter::Meter;
use crate::experiment::judge::doubt;
use crate::experiment::judge::doubt::Limited;
use crate::experiment::plan::LogPlan;
use crate::experiment::plan::expected::{phase_name, row_name};
use crate::experiment::target::place::LogPlace;
use crate::experiment::target::storage::Storage;
use crate::experiment::target::{LoadTarget, Setup};
use crate::observe::machine;
use crate::observe::mountstats::Share;
use crate::observe::sampler::Sampler;
use crate::safety::Room;
use crate::signals::Interrupt;
use crate::store::RunWriter;
use measure::run::{Row, Run};
use measure::words;
use measure::workload::Workload;
use measure::{Nanos, WaitEvent};
use std::cell::Cell;
use std::time::Duration;

/// What rows are run with.
pub(crate) struct RowRunner<'a> {
    /// The target; `None` for the null device.
    pub(crate) target: Option<&'a LogPlace>,
    /// What each row may write.
    pub(crate) limits: &'a Limits,
    /// How the log is made and written.
    pub(crate) log: &'a LogPlan,
    /// Where it is said how the rows go.
    pub(crate) console: &'a dyn Console,
    /// Where the rows are some of a plan whose rows are not run in order.
    pub(crate) among: Option<RowPlace>,
    /// More rows follow these, and somebody else estimates the time that they all take.
    pub(crate) is_one_of_many: bool,
}

/// The place of the first of some rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    /// Its index among the rows of the plan, by which it has its share of `--max-write`.
    pub(crate) planned: usize,
    /// How many rows ran before it, and how many run in all.
    pub(crate) done: (usize, usize),
}

impl RowRunner<'_> {
    /// Runs `specs` on `log` into `run`, and stores them.
    ///
    /// # Errors
    /// Of the row that failed.
    pub(crate) fn rows(
        &self,
        run: &mut Run,
        log: &LoadTarget,
        specs: &[Spec],
        writer: &mut RunWriter,
    ) -> Result<(), Failure> {
        let counters = || self.storage(log).and_then(Storage::counters);
        let declares_cache = counters().and_then(|c| c.declares_cache());
        // As long as the longest intervals: what is kept of a soak is bounded.
        let interval = specs.iter().map(|s| s.interval().0).max();
        let interval = Duration::from_nanos(interval.unwrap_or(row::INTERVAL.0));
        let share = self
            .target
            .and_then(|target| Share::of(&target.storage.stack));
        let sampler = Sampler::start_on(counters(), share, interval)
            .map_err(Failure::system("starting the sampling thread"))?;
        let mut drafts = Drafts::new(&self.limits.budget);
        let (mut shortened, mut capped) = (Vec::new(), Vec::new());
        for (index, spec) in specs.iter().enumerate() {
            if !self.give_share(log, &specs[index..], index) {
                shortened.push(format!("{} was left out", row_name(spec)));
                continue;
            }
            // Rows that were left out have no number: what is stored of a row is found by it.
            let number = run.rows.len() + 1;
            let (done, all) = self.among.map_or((0, specs.len()), |among| among.done);
            let name = phase_name(spec, done + index, all);
            if self.among.is_none() && !self.is_one_of_many {
                self.console.remaining(time_of(&specs[index..]));
            }
            let row = self.one(
                (&name, number),
                spec,
                log,
                (&sampler, declares_cache),
                writer,
            )?;
            let limited = limited(&log.meter, spec, &row);
            if limited.ended {
                shortened.push(shortened_row(spec, &row));
                if row.commits == Some(0) {
                    continue;
                }
            }
            capped.extend(capped_row(spec, &row).filter(|_| !limited.ended));
            doubt::row(&row, limited, &mut run.validity);
            run.rows.push(row);
            if let Some(target) = self.target.filter(|_| index + 1 < specs.len()) {
                target.recheck()?;
            }
            drafts.write(writer, run)?;
        }
        self.say_shortened(run, &shortened);
        if !capped.is_empty() {
            let all = capped.join(", ");
            self.console.say(&format!(
                "Ended early, as announced: {all} (--time measures the whole time)."
            ));
        }
        Ok(())
    }

    /// What is below the target, or below the log of a server, as far as that can be seen.
    fn storage<'a>(&'a self, log: &'a LoadTarget) -> Option<&'a Storage> {
        let below = self.target.map(|target| &target.storage);
        below.or(log.storage.as_ref())
    }

    /// Runs one row.
    fn one(
        &self,
        (name, number): (&str, usize),
        spec: &Spec,
        log: &LoadTarget,
        (sampler, declares_cache): (&Sampler, Option<bool>),
        writer: &mut RunWriter,
    ) -> Result<Row, Failure> {
        let phase = ConsolePhase::begin(self.console, name, 1000);
        let target = self.target;
        let guard = |_: u64| target.map_or(Ok(()), LogPlace::recheck);
        let soak = spec.soak.then(|| SoakLines::new(spec.time));
        let mut lab = Lab {
            target: log,
            sampler,
            declares_cache,
            devices: self.storage(log).map_or(0, |storage| storage.counted.len()),
            store: Some(writer),
            interrupt: self.console.interrupt(),
            guard: &guard,
            progress: &|progress| {
                phase.at((progress.part * 1000.0) as u64);
                phase.note(&current(progress));
                let line = |soak: &SoakLines| soak.line(progress, target);
                if let Some(line) = soak.as_ref().and_then(line) {
                    self.console.say(&line);
                }
            },
            log: &|line| self.console.detail(line),
        };
        let row = row::run(&mut lab, number, spec)?;
        phase.done(&summary(&row));
        Ok(row)
    }

    /// Gives the first of `rest` its share of what is left; false when it is left out.
    fn give_share(&self, log: &LoadTarget, rest: &[Spec], index: usize) -> bool {
        let budget = &self.limits.budget;
        if budget.limit().is_none() || self.target.is_none() {
            return true;
        }
        let events = log.recorder.capture().is_some();
        let needs = (self.limits).needs_of(rest, self.log, log.meter.is_cached(), events);
        let kept: u64 = needs.iter().map(|need| need.kept).sum();
        let room = budget.left().saturating_sub(kept + KEEP_BYTES);
        let planned = index + self.among.map_or(0, |among| among.planned);
        let share = match &self.limits.fixed {
            Some(fixed) => fixed.get(planned).copied().flatten().map(|s| s.min(room)),
            None => shares(&needs, room).first().copied().flatten(),
        };
        let Some((share, need)) = share.zip(needs.first()) else {
            return false;
        };
        log.meter.allow(share, need.tail);
        share >= need.least
    }

    /// Says which rows --max-write made shorter or left out, and keeps that in the run.
    fn say_shortened(&self, run: &mut Run, shortened: &[String]) {
        if let Some(limit) = self.limits.budget.limit().filter(|_| !shortened.is_empty()) {
            let all = shortened.join("; ");
            let line = format!("--max-write {}: {all}", words::size(limit));
            self.console.say(&line);
            run.validity.shortened.push(line);
        }
    }
}

/// Time that a row takes beside its warm-up and its measured time: its sessions start and end.
const AROUND_ROW: Nanos = Nanos::from_millis(50);

/// Time that rows take, as far as it is known before: those that count commits are not.
pub(crate) fn time_of(specs: &[Spec]) -> Nanos {
    let known = specs.iter().filter(|spec| spec.commits.is_none());
    known.fold(Nanos::ZERO, |all, spec| {
        all.plus(spec.time).plus(spec.warmup).plus(AROUND_ROW)
    })
}

/// What `--max-write` did to a row. One that has made all its commits is whole, also where the last
/// of them used up its share.
fn limited(meter: &Meter, spec: &Spec, row: &Row) -> Limited {
    let asked = spec.commits.map(|n| n.saturating_mul(spec.jobs.into()));
    Limited {
        ended: meter.ended_ns().is_some() && asked != row.commits,
        stopped: meter.has_stopped(),
    }
}

/// A row that ended because it had written all the redo that it may.
fn capped_row(spec: &Spec, row: &Row) -> Option<String> {
    let elapsed_s = row.elapsed_s?;
    let is_early = spec.commits.is_none() && elapsed_s < spec.time.as_secs();
    let has_written = row.redo().redo_size_bytes? >= spec.max_redo_bytes;
    (is_early && has_written).then(|| format!("{} after {elapsed_s:.1} s", row_name(spec)))
}

/// What `--max-write` made of a row that was ended early.
fn shortened_row(spec: &Spec, row: &Row) -> String {
    match row.commits {
        None | Some(0) => format!("{} was left out in its warm-up", row_name(spec)),
        _ => format!(
            "{} ended after {:.3} s",
            row_name(spec),
            row.elapsed_s.unwrap_or(0.0)
        ),
    }
}

/// The line that a soak prints now and then.
struct SoakLines {
    time: Nanos,
    every_s: f64,
    next_s: Cell<f64>,
}

/// A soak prints a line this often, or ten lines where it is short.
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
    fn line(&self, progress: RowProgress, target: Option<&LogPlace>) -> Option<String> {
        let at_s = progress.part * self.time.as_secs();
        let rate = progress.commits_per_s.unwrap_or(0.0);
        if at_s < self.next_s.get() {
            return None;
        }
        self.next_s.set(at_s + self.every_s);
        let mut line = format!(
            "soak: {at_s:.0} of {:.0} s, {rate:.0} commits/s",
            self.time.as_secs()
        );
        if let Some(bytes) = machine::resident_bytes() {
            line.push_str(&format!(", {} resident", words::size(bytes)));
        }
        if let Some(Room::Volume(volume)) = target.and_then(|t| t.room_now().ok()) {
            let free = words::size(volume.available_bytes);
            line.push_str(&format!(", {free} of the volume available"));
        }
        Some(line)
    }
}

/// What a row does at present, for the line that shows its progress.
fn current(progress: RowProgress) -> String {
    let Some(rate) = progress.commits_per_s else {
        return String::new();
    };
    let p99 = progress.sync_p99_ns.map_or_else(String::new, |ns| {
        format!(", p99 {}", words::latency(ns as f64))
    });
    format!("{} commits/s{p99}", words::count(rate as u64))
}

/// What a row came to, on one line of 80 columns with its name.
fn summary(row: &Row) -> String {
    let sync = row.wait(WaitEvent::LogFileSync).filter(|w| w.count > 0);
    let sync = sync.map_or_else(String::new, |sync| match sync.p99_ns {
        Some(p99) => format!(", p99 {}", words::latency(p99 as f64)),
        None => format!(", mean {}", words::latency(sync.mean_ns)),
    });
    let mbps = row.redo().redo_data_mbps;
    let redo = mbps.map_or_else(String::new, |mbps| {
        format!(", {} MB/s", words::digits(mbps))
    });
    let rate = row.commit_throughput_tps.unwrap_or(0.0);
    format!(
        "{} commits/s{sync}{redo}",
        words::count(rate.round() as u64)
    )
}

/// The cost of the laboratory itself: nanoseconds per commit of LGWR-LAT1 with one job on the null
/// device.
///
/// # Errors
/// When the system gives no thread or memory, or on an interrupt.
pub(crate) fn lab_overhead(interrupt: &Interrupt) -> Result<f64, Failure> {
    let target = LoadTarget::null(Setup::default())?;
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
        progress: &|_| {},
        log: &|_| {},
    };
    let spec = Spec::closed(
        Workload::standard().remove(0),
        1,
        Nanos::from_millis(400),
        Nanos::from_millis(100),
    );
    let row = row::run(&mut lab, 1, &spec)?;
    Ok(row.elapsed_ns.unwrap_or(0) as f64 / row.commits.unwrap_or(0).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::RedoFigures;

    #[test]
    fn a_row_that_wrote_all_it_may_before_its_time_is_named() {
        let spec = |max_redo_bytes, commits| Spec {
            max_redo_bytes,
            commits,
            ..Spec::closed(
                Workload::standard().remove(0),
                8,
                Nanos::from_secs(4),
                Nanos::ZERO,
            )
        };
        let row = |elapsed_s, bytes| Row {
            elapsed_s: Some(elapsed_s),
            redo: Some(RedoFigures {
                redo_size_bytes: Some(bytes),
                ..RedoFigures::default()
            }),
            ..Row::default()
        };
        let early = capped_row(&spec(100, None), &row(2.0, 100));
        assert_eq!(early.as_deref(), Some("LGWR-LAT1 with 8 jobs after 2.0 s"));
        for (spec, row) in [
            (spec(100, None), row(4.0, 100)),
            (spec(100, None), row(2.0, 99)),
            (spec(u64::MAX, None), row(2.0, 100)),
            (spec(100, Some(5)), row(2.0, 100)),
        ] {
            assert_eq!(capped_row(&spec, &row), None);
        }
    }
}
