//! What `run` and `check` share: the target, the need, the options of sessions and log, and the one
//! way from a plan to a stored, judged and printed run.
//!
//! What it must not know: which rows are measured.

use super::common::{OutputArgs, SafetyArgs, SessionArgs, most_jobs};
use super::console::{ReportTo, Terminal};
use super::loads::LoadArgs;
use super::log_options::LogArgs;
use super::need::NeedArgs;
use super::notes::NotesArgs;
use super::stored::{EventArgs, StoreArgs};
use super::targets::TargetArgs;
use super::values::{self, Ladder};
use super::{CommandError, ended};
use crate::experiment::conduct;
use crate::experiment::console::Console;
use crate::experiment::load::CommitApi;
use crate::experiment::plan::{ExperimentPlan, JudgementPlan, MeasurementPlan};
use crate::experiment::row::Spec;
use crate::output::{overview, table};
use crate::store::Store;
use analysis::verdict::exit_code;
use clap::Args;
use measure::Nanos;
use measure::driver::DriverKind;
use measure::run::Run;
use measure::units::parse_duration;
use measure::words::sanitize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The target of a run that is judged, and what is kept of it.
#[derive(Debug, Args)]
pub(crate) struct JudgedArgs {
    #[command(flatten)]
    pub(super) target: TargetArgs,
    /// File of the report [default: check redolab-RUN.html, run none]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    events: EventArgs,
    #[command(flatten)]
    notes: NotesArgs,
}

/// How long is measured with how many sessions, on what kind of log, and what becomes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct MeasureArgs {
    /// Numbers of jobs, such as 1,8,32 or 2..64 (doubling) or 2..64+2 (steps of 2) [default:
    /// 1,2,8,32,64]
    ///
    /// Other defaults: compare 1,8,32; storm 20; size-sweep 1; tproc-c 1,2,4,8; --rate 32; --soak
    /// 8; check --quick and check --explain-latency have their own.
    #[arg(short, long, value_name = "LADDER", value_parser = Ladder::read)]
    pub(super) jobs: Option<Ladder>,
    /// Measured time of each row, such as 30s [default: check 4s, run 10s, compare 2s]
    ///
    /// Without it, a row of check also ends when it has written 4 GiB (--quick: 1500ms or 1 GiB),
    /// and a row of compare at 256 MiB. The default of tproc-c is 5m.
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    pub(super) time: Option<Nanos>,
    /// Time before each row that is not measured, such as 500ms; 0 for none [default: check 1s, run
    /// 2s; compare and check --quick 500ms; tproc-c 2m]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(super) warmup: Option<Nanos>,
    #[command(flatten)]
    pub(super) load: LoadArgs,
    #[command(flatten)]
    pub(super) sessions: SessionArgs,
    #[command(flatten)]
    pub(super) log: LogArgs,
    #[command(flatten)]
    pub(super) safety: SafetyArgs,
    #[command(flatten)]
    pub(super) output: OutputArgs,
    #[command(flatten)]
    pub(super) store: StoreArgs,
}

/// A command that measures one target and judges the run.
pub(super) struct JudgedCommand<'a> {
    pub(super) need: &'a NeedArgs,
    pub(super) judged: &'a JudgedArgs,
    pub(super) measure: &'a MeasureArgs,
    /// A report is written also where none was named.
    pub(super) reports: bool,
    /// The verdict is the exit code also where no need was stated.
    pub(super) decides: bool,
}

impl JudgedArgs {
    /// The plan of `rows` and more, with what these options say.
    ///
    /// # Errors
    /// The option that is wrong, and what it takes.
    pub(super) fn plan(
        &self,
        need: &NeedArgs,
        measured: MeasurementPlan,
        not_judged: Option<&str>,
        safety: &SafetyArgs,
    ) -> Result<ExperimentPlan, CommandError> {
        let mut measured = measured;
        for row in &mut measured.rows {
            on_nodes(row, self.target.nodes())?;
        }
        Ok(ExperimentPlan {
            target: self.target.planned(safety)?,
            measured: MeasurementPlan {
                log: self.target.log(measured.log)?,
                events: self.events.events,
                judgement: JudgementPlan {
                    need: need.need(),
                    declared: need.declared(),
                    thresholds: need.thresholds()?,
                    not_judged: not_judged.map(str::to_owned).into_iter().collect(),
                },
                notes: self.notes.notes()?,
                ..measured
            },
        })
    }
}

impl<'a> JudgedCommand<'a> {
    /// The store, once all places of results were looked at.
    ///
    /// # Errors
    /// A place to which a result could not be written.
    pub(super) fn store(&self) -> Result<Store, CommandError> {
        let store = self.measure.store.open_to_store()?;
        self.need.spared(&self.measure.output);
        self.measure.output.check_beside(&store)?;
        Ok(store)
    }

    /// The terminal, which writes the report.
    ///
    /// # Errors
    /// A place to which the report could not be written.
    pub(super) fn terminal<'s>(&self, store: &'s Store) -> Result<Terminal<'s>, CommandError>
    where
        'a: 's,
    {
        let named = &self.judged.report;
        let report = (self.reports || named.is_some()).then(|| ReportTo {
            store,
            path: named.clone(),
        });
        let file = report.as_ref().map(|to| to.file("RUN"));
        let checked = self.measure.output.check_report(file.as_deref());
        checked.map_err(|e| match named {
            Some(_) => e,
            // Nobody named this place.
            None => CommandError {
                message: format!("{} (--report FILE), or write none (--no-report)", e.message),
                ..e
            },
        })?;
        let terminal = Terminal::new(&self.measure.output, report)?;
        Ok(terminal.agreeing(self.measure.safety.yes))
    }

    /// Carries out `plan`, which `complete` completes once the need is known, and prints the run.
    ///
    /// # Errors
    /// What refuses or ends the experiment.
    pub(super) fn carry_out(
        &self,
        mut plan: ExperimentPlan,
        complete: impl FnOnce(&mut ExperimentPlan, Option<u32>),
        drivers: &[DriverKind],
    ) -> Result<ExitCode, CommandError> {
        let (store, output) = (self.store()?, &self.measure.output);
        let terminal = self.terminal(&store)?;
        let found = (self.need).of_production(&store, terminal.interrupt())?;
        if let Some((need, lines)) = found {
            lines.iter().for_each(|line| output.say(line));
            plan.measured.judgement.need = need;
        }
        let sessions = plan.measured.judgement.need.sessions;
        complete(&mut plan, sessions);
        let is_needed = plan.measured.judgement.need.is_stated();
        let text = |run: &Run, style: table::Style| {
            let text = overview::text(run, output.view(), style);
            format!("{text}{}", report_place(run))
        };
        let run = match conduct(&plan, &terminal, &store, drivers) {
            Ok(Some(run)) => run,
            Ok(None) => return Ok(ExitCode::SUCCESS),
            Err(stopped) => {
                if let Some(run) = stopped.by_the_device() {
                    // The failure is what is reported; this is a view of it.
                    let _ = output.emit_run(run, |style| text(run, style));
                }
                return Err(stopped.into());
            }
        };
        output.emit_stored(&store, &run, |style| text(&run, style))?;
        terminal.reported()?;
        if is_needed && run.verdict.is_none() {
            output.say(NOT_JUDGED);
        }
        Ok(match self.decides || self.need.strict || is_needed {
            true => ExitCode::from(exit_code(&run, self.need.strict)),
            false => ended(&run, true),
        })
    }
}

/// Said of a run without a verdict where a need was stated.
const NOT_JUDGED: &str = "The need was not judged: this run says nothing about the device of a log. On \
     a database server redolab judges the LGWR workloads with commits that wait, if it knows the device \
     of the log.";

/// Gives `row` its sessions on each of so many logs.
fn on_nodes(row: &mut Spec, nodes: u32) -> Result<(), CommandError> {
    let most = most_jobs(row.api);
    let jobs = row.jobs.saturating_mul(nodes);
    if jobs > most {
        return Err(CommandError::usage(format!(
            "--nodes {nodes}: {} sessions on each are {jobs} together; at most {most} are possible",
            row.jobs
        )));
    }
    if let CommitApi::Async { threads } = row.api
        && !threads.is_multiple_of(nodes)
    {
        return Err(CommandError::usage(format!(
            "--threads {threads}: with --nodes {nodes} the threads of --commit-api async are shared \
             out evenly; use a multiple of {nodes}"
        )));
    }
    row.jobs = jobs;
    Ok(())
}

/// Where the report of a run is.
pub(super) fn report_place(run: &Run) -> String {
    run.report.as_deref().map_or_else(String::new, |report| {
        format!("Report: {}\n", sanitize::line(report))
    })
}
