//! The files of a keep beside its log: the marker by which it is recognised, and the judged cuts.

use super::super::PowerTestError;
use crate::folder::Folder;
use measure::power_test::{PowerCycle, SCHEMA};
use std::io::ErrorKind;

/// Name of the marker.
pub(super) const MARKER: &str = "keep.json";
/// The schema in the marker.
pub(super) const MARKER_SCHEMA: &str = "redolab.powertest-keep/1";
/// Name of the folder of judged cuts.
const CYCLES: &str = "cycles";
const FILE_MAX_BYTES: u64 = 1 << 20;

/// Whether there is a file of that name.
pub(super) fn has(folder: &Folder, name: &str) -> Result<bool, PowerTestError> {
    let names = folder.names();
    let shown = folder.path().display().to_string();
    let names = names.map_err(PowerTestError::system(format!("--keep {shown}: listing")))?;
    Ok(names.iter().any(|found| found == name))
}

/// Whether the directory is new. One with anything else in it is refused.
pub(super) fn check_marker(folder: &Folder) -> Result<bool, PowerTestError> {
    let shown = folder.path().display();
    let other = |what: &str| {
        PowerTestError::Refused(format!(
            "--keep {shown}: {what}; name an empty or a new directory, or one that `redolab \
             powertest serve` made"
        ))
    };
    match folder.read(MARKER, FILE_MAX_BYTES) {
        Ok(bytes) => {
            let found: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
            match found["schema"].as_str() {
                Some(MARKER_SCHEMA) => Ok(false),
                _ => Err(other(&format!("its {MARKER} is not of this version"))),
            }
        }
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let names = folder.names();
            let names =
                names.map_err(PowerTestError::system(format!("--keep {shown}: listing")))?;
            // What an interrupted or full making left.
            let is_ours = |name: &String| name.starts_with("redo.ctl.unfinished");
            let foreign = names
                .iter()
                .find(|name| !is_ours(name) && !name.starts_with(crate::folder::TEMPORARY));
            match foreign {
                None => Ok(true),
                Some(_) => Err(other("it holds something else than a power test's keep")),
            }
        }
        Err(e) => Err(PowerTestError::system(format!(
            "--keep {shown}: reading {MARKER}"
        ))(e)),
    }
}

/// The cuts that were judged, the oldest first.
pub(super) fn read_cycles(folder: &Folder) -> Result<Vec<PowerCycle>, PowerTestError> {
    let path = folder.path().join(CYCLES);
    let shown = path.display();
    let cycles = match folder.open(CYCLES) {
        Ok(cycles) => cycles,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(PowerTestError::system(format!("{shown}: opening"))(e)),
    };
    let names = cycles
        .names()
        .map_err(PowerTestError::system(format!("{shown}: listing")))?;
    let mut out: Vec<PowerCycle> = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(".json")) {
        let bytes = cycles
            .read(name, FILE_MAX_BYTES)
            .map_err(PowerTestError::system(format!("{shown}/{name}: reading")))?;
        let cycle: PowerCycle = serde_json::from_slice(&bytes)
            .map_err(|e| PowerTestError::Failed(format!("{shown}/{name}: {e}; move it away")))?;
        if cycle.schema != SCHEMA {
            let schema = measure::words::sanitize::line(&cycle.schema);
            let what = format!("{shown}/{name}: its schema is {schema}, not {SCHEMA}");
            return Err(PowerTestError::Failed(what));
        }
        out.push(cycle);
    }
    out.sort_by(|a, b| a.judged.cmp(&b.judged));
    Ok(out)
}

/// Puts a judged cut into its file, durably.
pub(super) fn write_cycle(folder: &Folder, cycle: &PowerCycle) -> Result<(), PowerTestError> {
    let path = folder.path().join(CYCLES);
    let failed = || PowerTestError::system(format!("{}: keeping a cut", path.display()));
    let cycles = match folder.open(CYCLES) {
        Ok(cycles) => cycles,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let made = folder.create(CYCLES).map_err(failed())?;
            folder.sync().map_err(failed())?;
            made
        }
        Err(e) => return Err(failed()(e)),
    };
    let json = serde_json::to_vec_pretty(cycle)
        .map_err(|e| PowerTestError::Failed(format!("a cut cannot be written: {e}")))?;
    let name = format!("{}.json", cycle.test_id);
    cycles.replace(&name, &json).map_err(failed())
}
