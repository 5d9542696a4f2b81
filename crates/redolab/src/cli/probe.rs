//! `redolab probe`: the device's floor, without a log in the way.

use super::CommandError;
use super::common::{OutputArgs, SafetyArgs, StoreArgs, duration};
use super::session::{Look, remove};
use crate::experiment::floor;
use crate::experiment::site::{Site, device_bytes};
use crate::output::{sanitize, table};
use crate::safety::Plan;
use crate::signals;
use clap::Args;
use measure::Nanos;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `probe`.
#[derive(Debug, Args)]
pub(crate) struct ProbeArgs {
    /// A directory on the device, or a raw block device (which needs --destroy)
    #[arg(default_value = ".")]
    path: PathBuf,
    /// Time of each point
    #[arg(long, value_name = "TIME", default_value = "1s")]
    time: String,
    #[command(flatten)]
    safety: SafetyArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn main(args: &ProbeArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let time = duration("time", &args.time)?;
    if time == Nanos::ZERO {
        return Err(CommandError::usage("--time: must be over 0"));
    }
    let look = Look::at(&args.path, &args.safety)?;
    let store = args.store.open()?;
    args.output.spares(&store);
    let points = floor::full();
    let fresh = points.iter().filter(|p| !p.pre_written).count() as u64;
    let files = if look.ground.is_device() {
        1
    } else {
        1 + fresh
    };
    let footprint_bytes = floor::FILE_BYTES * files;
    // Large writes at the speed of fast devices are what counts.
    let write_bytes = footprint_bytes + (time.as_secs() * points.len() as f64 * 0.5e9) as u64;
    let plan = Plan {
        footprint_bytes,
        device_bytes: device_bytes(floor::FILE_BYTES),
        write_bytes,
        max_write_bytes: args.safety.max_write_bytes()?,
        endurance_bytes: None,
    };
    let (go, busy) = look.preflight(&plan, &args.safety, &args.output)?;
    if !go {
        return Ok(ExitCode::SUCCESS);
    }
    let mut run = look.begin();
    if let Some(busy) = busy {
        run.validity.add("busy_device", false, busy);
    }
    let site = look.ground.site(&args.output)?;
    let phase = args
        .output
        .progress()
        .phase("the device's floor", points.len() as u64);
    let measured = floor::measure(&site, &points, time, &interrupt, &|done| {
        phase.at(done as u64);
        look.budget(&plan, 0)
    })?;
    phase.done("measured");
    let (rows, refused) = measured;
    for refusal in &refused {
        args.output
            .say(&format!("Not measured: {}", sanitize::line(refusal)));
    }
    run.floor = rows;
    if let Site::Folder(folder) = site {
        remove(folder)?;
    }
    look.ground.say_what_stays(&args.output, false);
    store.begin(&run.run_id)?.finish(&run)?;
    args.output
        .emit_run(&run, |style| table::floor(&run, style))?;
    Ok(ExitCode::SUCCESS)
}
