//! `redolab simulate`: what if? The rows of a run in virtual time, on a model of a machine and a
//! device.

use super::CommandError;
use super::console::{ReportTo, Terminal};
use super::ended;
use super::members::{MembersChoice, MembersRole};
use super::need::NeedArgs;
use super::notes::NotesArgs;
use super::run::RunOptions;
use crate::experiment::plan::{JudgementPlan, MeasurementPlan};
use crate::experiment::{Console, WhatIf, simulate_rows};
use crate::input;
use crate::output::overview;
use clap::Args;
use simulate::{DeviceModel, Model, ModelDevice};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `simulate`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The log writer is the one that runs live; the machine and the device are those of MODEL, a TOML file \
of which every value has a unit in its name. Options of run that are not simulated are refused. The \
answer is never a yes: it is a computation. What it rests on, its error, and which value of the model \
matters most are in the section \"The model\".

  redolab simulate disk.toml --jobs 8,64
  redolab simulate disk.toml --jobs 128 --processors 4
  redolab simulate disk.toml --jobs 8,64 --device gp2-100
  redolab simulate disk.toml --jobs 20 --members race:model,nvme
  redolab simulate disk.toml -w LGWR-LAT25 --jobs 32 --log-writer lgwr")]
pub(crate) struct SimulateArgs {
    /// The model, a TOML file
    #[arg(value_name = "MODEL", help_heading = "Target")]
    model: PathBuf,
    /// Processors in the place of the model's
    #[arg(
        long,
        value_name = "N",
        help_heading = "Target",
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    processors: Option<u32>,
    /// A device in the place of the model's: a TOML file, or one of hdd, hdd-array, sata, nvme,
    /// pmem, gp2-100, gp3 and io2
    #[arg(long, value_name = "NAME|FILE", help_heading = "Target")]
    device: Option<String>,
    /// Devices of members that race or mirror each other, such as race:model,nvme or
    /// mirror:model,model: model is the model's own, others are named as for --device
    #[arg(long, value_name = "KIND:DEVICES", help_heading = "Target")]
    members: Option<MembersChoice>,
    #[command(flatten)]
    need: NeedArgs,
    #[command(flatten)]
    options: RunOptions,
    /// Write a report to this file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    notes: NotesArgs,
}

pub(crate) fn main(args: &SimulateArgs) -> Result<ExitCode, CommandError> {
    let output = &args.options.measure.output;
    let named = |why: String| CommandError::usage(format!("{}: {why}", args.model.display()));
    let text = input::read_settings(&args.model).map_err(|e| named(e.to_string()))?;
    let model = Model::parse(&text, &args.model).map_err(|e| CommandError::usage(e.to_string()))?;
    output.reads(&args.model);
    let model = match &args.device {
        Some(named) => model.with_device(device(named)?),
        None => model,
    };
    if !args.options.measure.safety.destroy.is_empty() {
        return Err(CommandError::usage(
            "--destroy: a simulation writes to no device; leave it out",
        ));
    }
    let mut plan = args.plan()?;
    let store = args.options.measure.store.open_to_store()?;
    output.check_beside(&store)?;
    if let Some(path) = &args.report {
        output.check_report(Some(path))?;
    }
    let report = args.report.as_ref().map(|path| ReportTo {
        store: &store,
        path: Some(path.clone()),
    });
    let terminal = Terminal::new(output, report)?;
    if let Some((need, lines)) = (args.need).of_production(&store, terminal.interrupt())? {
        lines.iter().for_each(|line| output.say(line));
        plan.judgement.need = need;
    }
    let (members, cell) = args.members(&model)?;
    let what_if = WhatIf {
        model,
        path: &args.model,
        processors: args.processors,
        members,
        cell,
    };
    let run = simulate_rows(&plan, &what_if, &terminal, &store)?;
    output.emit_stored(&store, &run, |style| {
        overview::text(&run, output.view(), style)
    })?;
    terminal.reported()?;
    Ok(ended(&run, true))
}

/// A device that comes with redolab, or that of a file.
fn device(named: &str) -> Result<ModelDevice, CommandError> {
    if let Some(shipped) = ModelDevice::shipped(named) {
        return Ok(shipped);
    }
    let path = Path::new(named);
    let text = input::read_settings(path).map_err(|error| {
        let names: Vec<&str> = ModelDevice::shipped_names().collect();
        CommandError::usage(format!(
            "{named}: not a device, nor a file that can be read ({error}); devices that come with \
             redolab: {}",
            names.join(", ")
        ))
    })?;
    ModelDevice::parse(&text, path).map_err(|error| CommandError::usage(error.to_string()))
}

/// A member's device by its name, and its cell.
type NamedDevices = Vec<(String, DeviceModel)>;

impl SimulateArgs {
    /// The devices of all members, and how many are in a cell.
    fn members(&self, model: &Model) -> Result<(NamedDevices, usize), CommandError> {
        let Some(choice) = &self.members else {
            return Ok((Vec::new(), 1));
        };
        let MembersRole::Cells { cell } = choice.role else {
            return Err(CommandError::usage(
                "--members: a ring and failover are not simulated; use race or mirror",
            ));
        };
        let of = |path: &PathBuf| {
            let named = path.display().to_string();
            Ok(match named.as_str() {
                "model" => (model.name.clone(), model.device.clone()),
                other => (named.clone(), device(other)?.device),
            })
        };
        let all: Result<_, CommandError> = choice.directories.iter().map(of).collect();
        Ok((all?, cell))
    }

    fn plan(&self) -> Result<MeasurementPlan, CommandError> {
        Ok(MeasurementPlan {
            judgement: JudgementPlan {
                need: self.need.need(),
                declared: Vec::new(),
                thresholds: self.need.thresholds()?,
                not_judged: Vec::new(),
            },
            notes: self.notes.notes()?,
            ..self.options.plan()?
        })
    }
}
