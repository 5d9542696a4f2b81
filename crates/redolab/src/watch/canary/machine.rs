//! What the canary finds on a machine before it begins: the directory to write to, the device
//! below it, and which evidence there is none of.
//!
//! Invariant: nothing is written here.

use super::heartbeat::Watched;
use crate::experiment::Failure;
use crate::observe::diskstats::Counters;
use crate::observe::pressure::{DirtyPages, PressureTotals};
use measure::stack::{LayerKind, Stack};
use std::path::{Path, PathBuf};

/// The directory to write to.
pub(super) fn folder_of(path: &Path) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let unusable = |why: String| {
        Failure::Unusable(format!(
            "--canary {shown}: {why}; name a directory of the log's file system, or a file in it"
        ))
    };
    let whole = path.canonicalize().map_err(|e| unusable(e.to_string()))?;
    let about = whole.metadata().map_err(|e| unusable(e.to_string()))?;
    match (about.is_dir(), about.is_file(), whole.parent()) {
        (true, ..) => Ok(whole),
        (false, true, Some(parent)) => Ok(parent.to_owned()),
        _ => Err(unusable("it is neither a directory nor a file".to_owned())),
    }
}

/// Name and number of the device.
pub(super) fn name_of(stack: &Stack, device: &Counters) -> String {
    let number = device.dev().to_string();
    let layer = stack
        .layers
        .iter()
        .filter(|layer| matches!(layer.kind, LayerKind::Disk | LayerKind::Loop))
        .find(|layer| layer.dev.as_deref() == Some(&number));
    match layer {
        Some(layer) => format!("{} ({number})", layer.name),
        None => number,
    }
}

/// Evidence that this machine does not provide, in words.
pub(super) fn not_available(watched: &Watched, has_memory: bool) -> Vec<String> {
    let pressure = PressureTotals::now();
    let lacks = [
        (
            watched.device.is_none(),
            "counters of the device: the path does not lie on exactly one disk that counts",
        ),
        (
            watched.thread.run_delay_ns().is_none(),
            "run delay of the canary's thread (/proc/self/task/TID/schedstat)",
        ),
        (
            !watched.thread.reports_waits(),
            "functions in which the canary waits (/proc/self/task/TID/wchan)",
        ),
        (
            DirtyPages::now().is_none(),
            "dirty pages and pages under writeback (/proc/meminfo)",
        ),
        (
            pressure.io_us.is_none(),
            "pressure of I/O (/proc/pressure/io)",
        ),
        (
            pressure.cpu_us.is_none(),
            "pressure of processors (/proc/pressure/cpu)",
        ),
        (
            pressure.memory_us.is_none(),
            "pressure of memory (/proc/pressure/memory)",
        ),
        (
            !has_memory,
            "a file in memory for the heartbeat, which is a timer alone (memfd_create)",
        ),
    ];
    let lacking = lacks.iter().filter(|(lacks, _)| *lacks);
    lacking.map(|(_, what)| (*what).to_owned()).collect()
}
