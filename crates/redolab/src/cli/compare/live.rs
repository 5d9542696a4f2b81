//! Targets measured in interleaved rounds: from the options to the plan, and from its rounds to the
//! comparison.

use super::super::CommandError;
use super::super::common::{SafetyArgs, without_password};
use super::super::console::Terminal;
use super::super::members::{MemberArgs, MembersChoice};
use super::super::need::CutsBoundArgs;
use super::super::run::RunOptions;
use super::super::targets::ServerArgs;
use crate::experiment::conduct_rounds;
use crate::experiment::plan::{
    LogPlan, MeasurementPlan, MembersPlan, NamedTarget, PlannedTarget, RoundsPlan,
};
use crate::folder::is_name;
use analysis::compare::{Options, rounds};
use measure::comparison::Comparison;
use measure::driver::DriverKind;
use measure::run::RunNotes;
use std::path::Path;

/// What is measured, and where the report goes.
pub(super) struct Asked<'a> {
    /// Each as `NAME=PATH`.
    pub(super) targets: &'a [String],
    /// The servers that are made on them, if any.
    pub(super) server: &'a ServerArgs,
    /// Options of members that targets name.
    pub(super) members: &'a MemberArgs,
    /// Rounds on each of them.
    pub(super) rounds: u32,
    /// Each target has the back end that its own probe finds fastest.
    pub(super) own_back_ends: bool,
    /// From which number of power cuts on a stack is called tested.
    pub(super) bound: &'a CutsBoundArgs,
    /// The file of the report.
    pub(super) report: Option<&'a Path>,
    /// What the user notes about every run.
    pub(super) notes: RunNotes,
}

/// Measures and compares; `None` after a dry run.
pub(super) fn compare(
    asked: &Asked<'_>,
    args: &RunOptions,
    options: &Options,
    drivers: &[DriverKind],
) -> Result<Option<Comparison>, CommandError> {
    let round = args.plan_of_rounds(asked.bound)?;
    let args = &args.measure;
    let plan = RoundsPlan {
        targets: with_logs(targets(asked, &args.safety, drivers)?, &round.logs)?,
        rounds: asked.rounds,
        own_back_ends: asked.own_back_ends,
        measured: MeasurementPlan {
            notes: asked.notes.clone(),
            ..round.measured
        },
    };
    let store = args.store.open_to_store()?;
    args.output.check_beside(&store)?;
    args.output.check_report(asked.report)?;
    let terminal = Terminal::new(&args.output, None)?.agreeing(args.safety.yes);
    let Some(measured) = conduct_rounds(&plan, &terminal, &store, drivers)? else {
        return Ok(None);
    };
    let options = Options {
        asked: round.varied,
        ..options.clone()
    };
    let mut found = rounds::compare(&measured.sides, &options);
    found.notices = measured.notices;
    found.method.notes.extend(measured.notes);
    Ok(Some(found))
}

/// Names and paths of `NAME=PATH`.
fn targets(
    asked: &Asked<'_>,
    safety: &SafetyArgs,
    drivers: &[DriverKind],
) -> Result<Vec<NamedTarget>, CommandError> {
    let mut found: Vec<NamedTarget> = Vec::new();
    let mut all_members = Vec::new();
    for text in asked.targets {
        let shown = without_password(text);
        let (name, path) = text.split_once('=').ok_or_else(|| {
            CommandError::usage(format!("--on {shown}: write NAME=PATH, such as ssd=/u01"))
        })?;
        if !is_name(name) || path.is_empty() {
            return Err(CommandError::usage(format!(
                "--on {shown}: write NAME=PATH; a name has letters, digits, dots, dashes and \
                 underscores"
            )));
        }
        if found.iter().any(|known| known.name == name) {
            return Err(CommandError::usage(format!(
                "--on {shown}: two targets have this name"
            )));
        }
        let (target, members) = match members_of(asked, text, path)? {
            Some((target, plan, choice)) => {
                all_members.push(choice);
                (target, Some(plan))
            }
            None => match asked.server.at_either(Path::new(path), drivers)? {
                Some(planned) => (PlannedTarget::Managed(planned), None),
                None => (safety.target_of_several(Path::new(path)), None),
            },
        };
        found.push(NamedTarget {
            name: name.to_owned(),
            target,
            log: None,
            members,
        });
    }
    asked.members.check(all_members.iter(), false)?;
    safety.check_destroyed(&found)?;
    Ok(found)
}

/// The members that the target `text` names with `path`; `None` where it names something else.
fn members_of(
    asked: &Asked<'_>,
    text: &str,
    path: &str,
) -> Result<Option<(PlannedTarget, MembersPlan, MembersChoice)>, CommandError> {
    let usage = |why: String| CommandError::usage(format!("--on {text}: {why}"));
    let Some(choice) = MembersChoice::of_target(path).transpose().map_err(usage)? else {
        return Ok(None);
    };
    if asked.server.names_driver() {
        let why = "--driver makes a server on every target, and a server has no members; name the \
                   driver in its own target, such as pg=postgres:/u01";
        return Err(usage(why.to_owned()));
    }
    let plan = asked.members.plan(&choice)?;
    Ok(choice.target().map(|target| (target, plan, choice)))
}

/// Every target with every log that the options name.
fn with_logs(
    targets: Vec<NamedTarget>,
    logs: &[(String, LogPlan)],
) -> Result<Vec<NamedTarget>, CommandError> {
    if targets.len() * logs.len() < 2 {
        let message = "compare: give at least two targets with --on NAME=PATH, the base first; or \
                       one target and several values of --log-writer, --io, --sync-method or \
                       --log-file-sync";
        return Err(CommandError::usage(message));
    }
    if logs.len() < 2 {
        return Ok(targets);
    }
    let is_directory = |target: &NamedTarget| match &target.target {
        PlannedTarget::Path { destroy, .. } => destroy.is_none(),
        _ => false,
    };
    if let Some(other) = targets.iter().find(|target| !is_directory(target)) {
        return Err(CommandError::usage(format!(
            "compare: --on {} is not a directory; several values of the options of redolab's own log \
             are compared in directories only",
            other.name
        )));
    }
    let single = targets.len() == 1;
    let with = |target: &NamedTarget| -> Vec<NamedTarget> {
        let one = |(label, log): &(String, LogPlan)| NamedTarget {
            name: match single {
                true => label.clone(),
                false => format!("{}+{label}", target.name),
            },
            log: Some(log.clone()),
            ..target.clone()
        };
        logs.iter().map(one).collect()
    };
    Ok(targets.iter().flat_map(with).collect())
}
