//! `redolab probe`: the device's floor, without a log in the way.

use super::common::{OutputArgs, SafetyArgs};
use super::console::Terminal;
use super::stored::StoreArgs;
use super::values;
use super::{CommandError, ended};
use crate::experiment::conduct;
use crate::experiment::plan::{ExperimentPlan, FloorExtent, FloorPlan, MeasurementPlan};
use crate::output::{section, table};
use analysis::account;
use clap::Args;
use measure::Nanos;
use measure::driver::DriverKind;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// A directory on the device, or a raw block device (which needs --destroy)
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Measured time of each sync method and write size; processors are compared for three times as
    /// long
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = values::time_over_zero)]
    time: Nanos,
    #[command(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The floor per processor is measured for so many times the time of a point.
const PLACEMENT_TIMES: u64 = 3;

pub(crate) fn main(args: &ProbeArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let plan = ExperimentPlan {
        target: args.safety.target(&args.path)?,
        measured: MeasurementPlan {
            floor: Some(FloorPlan {
                extent: FloorExtent::Full,
                time: args.time,
                placement: Nanos(args.time.0.saturating_mul(PLACEMENT_TIMES)),
            }),
            ..args.safety.plan()
        },
    };
    let store = args.store.open_to_store()?;
    args.output.check_beside(&store)?;
    let terminal = Terminal::new(&args.output, None)?.agreeing(args.safety.yes);
    let Some(run) = conduct(&plan, &terminal, &store, drivers)? else {
        return Ok(ExitCode::SUCCESS);
    };
    let verbose = args.output.verbose;
    args.output.emit_run(&run, |style| {
        let sections = [
            account::floor(&run),
            account::placement(&run),
            account::findings::section(&run, verbose),
        ];
        let sections = section::texts(sections, style, verbose);
        format!("{}\n\n{sections}", table::caption(&run))
    })?;
    Ok(ended(&run, true))
}
