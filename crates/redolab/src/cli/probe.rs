//! `redolab probe`: the device's floor, without a log in the way.

use super::CommandError;
use super::common::{OutputArgs, SafetyArgs, StoreArgs, duration};
use super::limits::{KEEP_BYTES, Limits};
use super::session::{Look, remove};
use crate::budget::Budget;
use crate::experiment::floor::{self, Allowed};
use crate::experiment::site::{Site, device_bytes};
use crate::output::{sanitize, table};
use crate::safety::{Plan, Refusal, size};
use crate::signals;
use clap::Args;
use measure::Nanos;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

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

/// Kept for what a raw device, the journal of the work folder and the store take.
const KEPT_BYTES: u64 = KEEP_BYTES + (16 << 20);
/// The points of small writes have room for a few hundred each.
const POINTS_BYTES: u64 = 32 << 20;

/// What `--max-write` leaves to the points: each an equal part of what the points before it left.
///
/// # Errors
/// A limit that does not hold the file and a few small writes.
fn limits(output: &OutputArgs, limit: Option<u64>) -> Result<Limits, CommandError> {
    let budget = Budget::of(limit);
    let _ = output.budget.set(Arc::clone(&budget));
    let (planned, mut lines) = (floor::FILE_BYTES + KEPT_BYTES + POINTS_BYTES, Vec::new());
    if let Some(allowed) = limit {
        if allowed < planned {
            let parts = format!(
                "{} for the file, {} kept for the store, {} for the writes",
                size(floor::FILE_BYTES),
                size(KEPT_BYTES),
                size(POINTS_BYTES)
            );
            let refusal = Refusal::Budget {
                planned,
                allowed,
                parts,
            };
            return Err(CommandError::usage(refusal.to_string()));
        }
        lines.push(
            "The points share this equally; what a point does not use goes to those after it, and \
             one whose share holds fewer than 4 writes is left out."
                .to_owned(),
        );
    }
    Ok(Limits {
        budget,
        making: floor::FILE_BYTES,
        floor: limit.map(|limit| limit - KEPT_BYTES),
        direct_only: false,
        fixed: None,
        lines,
    })
}

pub(crate) fn main(args: &ProbeArgs) -> Result<ExitCode, CommandError> {
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let time = duration("time", &args.time)?;
    if time == Nanos::ZERO {
        return Err(CommandError::usage("--time: must be over 0"));
    }
    let max_write_bytes = args.safety.max_write_bytes()?;
    let look = Look::at(&args.path, &args.safety)?;
    let store = args.store.open()?;
    args.output.check_beside(&store)?;
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
        write_bytes: max_write_bytes.map_or(write_bytes, |max| max.min(write_bytes)),
        max_write_bytes,
        endurance_bytes: None,
    };
    let limits = limits(&args.output, plan.max_write_bytes)?;
    let (go, busy) = look.preflight(&plan, &limits, &args.safety, &args.output)?;
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
    let allowed = Allowed {
        budget: &limits.budget,
        ends_at: limits.floor_ends_at(),
    };
    let measured = floor::measure(&site, &points, time, allowed, &interrupt, &|done| {
        phase.at(done as u64);
        look.recheck()
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
    let writer = store.begin(&run.run_id)?.within(&limits.budget);
    writer.finish(&run)?;
    args.output
        .emit_run(&run, |style| table::floor(&run, style))?;
    Ok(ExitCode::SUCCESS)
}
