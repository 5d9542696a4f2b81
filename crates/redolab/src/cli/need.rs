//! What `check` is given besides the target: the need, what the user declares of the storage, and
//! thresholds of their own.

use super::CommandError;
use super::common::OutputArgs;
use super::values;
use crate::input;
use analysis::thresholds::Thresholds;
use clap::Args;
use measure::Nanos;
use measure::judgement::Need;
use measure::stack::Declaration;
use std::path::{Path, PathBuf};

/// Options that say what is needed and known.
#[derive(Debug, Args)]
pub(crate) struct NeedArgs {
    /// Needed commits per second, such as 5000 or 5k
    #[arg(long, value_name = "N", value_parser = values::commit_rate, help_heading = "The need")]
    commit_rate: Option<f64>,
    /// Needed redo per second, such as 80M
    #[arg(long, value_name = "SIZE", help_heading = "The need", value_parser = values::redo_rate)]
    redo_rate: Option<u64>,
    /// Highest acceptable 99th percentile of log file sync, such as 2ms
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "The need",
        value_parser = values::time_over_zero
    )]
    p99: Option<Nanos>,
    /// Rated endurance of the drive (TBW in its data sheet), such as 600T; here 1 T is 10^12 bytes
    #[arg(long, value_name = "SIZE", help_heading = "The need", value_parser = values::rated_bytes)]
    tbw: Option<u64>,
    /// Number of years that the drive must last; needs --tbw [default: 5]
    #[arg(
        long,
        value_name = "N",
        requires = "tbw",
        help_heading = "The need",
        value_parser = values::years
    )]
    years: Option<f64>,
    /// Declare a protection against power loss: plp (every drive keeps its cache on power loss) or
    /// battery (the battery of the RAID controller works, and the caches of its disks are off). Add
    /// the basis, as in --declare plp="data sheet of the maker". Can be given twice
    #[arg(
        long,
        value_name = "WHAT[=BASIS]",
        help_heading = "What is known",
        value_parser = values::declaration
    )]
    declare: Vec<Declaration>,
    /// File with thresholds that override the built-in ones (`redolab findings` lists these)
    #[arg(long, value_name = "FILE", help_heading = "What is known")]
    thresholds: Option<PathBuf>,
}

impl NeedArgs {
    /// The need.
    pub(crate) fn need(&self) -> Need {
        Need {
            commit_rate: self.commit_rate,
            redo_bytes_per_s: self.redo_rate.map(|bytes| bytes as f64),
            p99_ns: self.p99.map(|p| p.0),
            rated_bytes: self.tbw.map(|bytes| bytes as f64),
            years: self.years,
        }
    }

    /// What the user declares.
    pub(crate) fn declared(&self) -> Vec<Declaration> {
        self.declare.clone()
    }

    /// Keeps results off the file of thresholds.
    pub(crate) fn spared(&self, output: &OutputArgs) {
        self.thresholds.iter().for_each(|path| output.reads(path));
    }

    /// What overrides the built-in thresholds, as text that was read once already; empty for none.
    ///
    /// # Errors
    /// Names the file, and line and key of what is wrong in it.
    pub(crate) fn thresholds(&self) -> Result<String, CommandError> {
        let read = |path: &PathBuf| self::read(path).map(|(text, _)| text);
        let text = self.thresholds.as_ref().map(read).transpose()?;
        Ok(text.unwrap_or_default())
    }
}

/// The built-in thresholds, with what the file at `path` overrides.
///
/// # Errors
/// Names the file, and line and key of what is wrong in it.
pub(crate) fn thresholds(path: Option<&Path>) -> Result<Thresholds, CommandError> {
    let read = |path| self::read(path).map(|(_, thresholds)| thresholds);
    path.map_or_else(|| Ok(Thresholds::default()), read)
}

/// A file of thresholds, as text and as thresholds.
fn read(path: &Path) -> Result<(String, Thresholds), CommandError> {
    let named = |why: String| CommandError::usage(format!("{}: {why}", path.display()));
    let text = input::read_settings(path).map_err(|e| named(e.to_string()))?;
    let thresholds = Thresholds::parse(&text).map_err(|e| named(e.to_string()))?;
    Ok((text, thresholds))
}
