//! `redolab calibrate`: a model of a device and of this machine, and how far it is to be believed.

use super::common::{OutputArgs, SafetyArgs};
use super::console::Terminal;
use super::notes::NotesArgs;
use super::stored::StoreArgs;
use super::values;
use super::{CommandError, INCOMPLETE};
use crate::experiment::plan::{LogPlan, MeasurementPlan};
use crate::experiment::{CalibrationPlan, Failure, QUICK_EFFORT, USUAL_EFFORT, calibrate};
use crate::output::file::Audience;
use crate::output::section;
use analysis::account::calibration::account;
use clap::Args;
use measure::Nanos;
use measure::units::parse_duration;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `calibrate`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Cells of jobs and redo are measured with three log writers, each twice. A model of the machine and \
of the device is fitted to them. It predicts other cells, which are drawn by --holdout-seed; the \
predictions are written beside the model before their cells are measured, and judge it. Where two \
runs of a cell differ by more than 25 %, there is no model. It takes about three minutes.

  redolab calibrate /u01 --model u01.toml
  redolab simulate u01.toml --jobs 8,64,256")]
pub(crate) struct CalibrateArgs {
    /// A directory on the device, or a raw device with --destroy
    #[arg(value_name = "PATH", help_heading = "Target")]
    path: PathBuf,
    /// Write the model to this file
    #[arg(
        long,
        value_name = "FILE",
        default_value = "redolab-model.toml",
        help_heading = "Output"
    )]
    model: PathBuf,
    /// Measured time of each cell
    #[arg(
        long,
        value_name = "TIME",
        default_value = "800ms",
        value_parser = values::time_over_zero,
        help_heading = "Load"
    )]
    time: Nanos,
    /// Time before each cell that is not measured
    #[arg(
        long,
        value_name = "TIME",
        default_value = "200ms",
        value_parser = parse_duration,
        help_heading = "Load"
    )]
    warmup: Nanos,
    /// Look for the model in seconds, coarsely
    #[arg(long, help_heading = "Load")]
    quick: bool,
    /// Of which the cells are drawn that judge the model
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Load")]
    holdout_seed: u64,
    #[command(flatten)]
    notes: NotesArgs,
    #[command(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// Logs are made for each set of cells: small ones take less than the cells, and are switched.
const LOG_FILE_BYTES: u64 = 64 << 20;

pub(crate) fn main(args: &CalibrateArgs) -> Result<ExitCode, CommandError> {
    let output = &args.output;
    let store = args.store.open_to_store()?;
    output.check_beside(&store)?;
    let kept = beside(&args.model, "predictions.json");
    for file in [&args.model, &kept] {
        output.check_report(Some(file))?;
    }
    let terminal = Terminal::new(output, None)?.agreeing(args.safety.yes);
    let mut log = LogPlan::default();
    log.shape.file_bytes = LOG_FILE_BYTES;
    let plan = CalibrationPlan {
        target: args.safety.target_of_several(&args.path),
        name: args.path.display().to_string(),
        measured: MeasurementPlan {
            log,
            notes: args.notes.notes()?,
            ..args.safety.plan()
        },
        time: args.time,
        warmup: args.warmup,
        holdout_seed: args.holdout_seed,
        effort: if args.quick {
            QUICK_EFFORT
        } else {
            USUAL_EFFORT
        },
    };
    let keep = |predictions: &[u8]| {
        let text = String::from_utf8_lossy(predictions);
        let written = output.write_report(&kept, &text, Audience::Everyone);
        written.map_err(|error| Failure::Unusable(error.message))?;
        let sum = Sha256::digest(predictions);
        Ok(sum.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let Some(mut found) = calibrate(&plan, &keep, &terminal, &store)? else {
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(model) = &found.model {
        output.write_report(&args.model, &model.in_toml(), Audience::Everyone)?;
        found.facts.model = Some(args.model.display().to_string());
    }
    let facts = &found.facts;
    output.emit_view(facts, Audience::Everyone, |style| {
        section::account(&account(facts), style, output.verbose)
    })?;
    Ok(match found.model {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::from(INCOMPLETE),
    })
}

/// A file beside `model`: `u01.predictions.json` of `u01.toml`.
fn beside(model: &Path, ending: &str) -> PathBuf {
    model.with_extension(ending)
}
