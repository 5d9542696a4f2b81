//! What `check` is given besides the target: the need, what the user declares of the storage, and
//! thresholds of their own.

use super::CommandError;
use super::common::{OutputArgs, duration};
use crate::input;
use analysis::thresholds::Thresholds;
use clap::Args;
use measure::Nanos;
use measure::judgement::Need;
use measure::stack::{Declaration, Protection};
use measure::units::{parse_bytes, parse_decimal_bytes, parse_rate};
use std::path::{Path, PathBuf};

/// Options that say what is needed and known.
#[derive(Debug, Args)]
pub(crate) struct NeedArgs {
    /// The need: commits per second, such as 5000 or 5k
    #[arg(long, value_name = "N", value_parser = parse_rate, help_heading = "The need")]
    commit_rate: Option<f64>,
    /// The need: redo per second, such as 80M
    #[arg(long, value_name = "SIZE", help_heading = "The need")]
    redo_rate: Option<String>,
    /// The need: 99th percentile of log file sync, such as 2ms
    #[arg(long, value_name = "TIME", help_heading = "The need")]
    p99: Option<String>,
    /// Rated endurance of the drive: how much may be written to it, as its data sheet says (TBW),
    /// such as 600T; 1 T is 10^12 bytes here
    #[arg(long, value_name = "SIZE", help_heading = "The need")]
    tbw: Option<String>,
    /// Years that the drive has to last; needs --tbw [default: 5]
    #[arg(long, value_name = "N", requires = "tbw", help_heading = "The need")]
    years: Option<f64>,
    /// Declare the storage protected: plp (every drive keeps its cache over power loss) or battery
    /// (the RAID controller's is in order, and its disks' caches are off), with the evidence for
    /// it: --declare plp="data sheet of the maker". May be given twice
    #[arg(long, value_name = "WHAT[=BASIS]", help_heading = "What is known")]
    declare: Vec<String>,
    /// Thresholds that override the built-in ones; `redolab findings` lists those
    #[arg(long, value_name = "FILE", help_heading = "What is known")]
    thresholds: Option<PathBuf>,
}

impl NeedArgs {
    /// The need.
    ///
    /// # Errors
    /// Names the option and what it takes.
    pub(crate) fn need(&self) -> Result<Need, CommandError> {
        let positive = |name: &str, value: Option<f64>, what: &str| match value {
            Some(v) if !v.is_finite() || v <= 0.0 => Err(CommandError::usage(format!(
                "--{name}: write a number of {what} over 0"
            ))),
            other => Ok(other),
        };
        let redo = match &self.redo_rate {
            None => None,
            Some(text) => Some(
                parse_bytes(text.trim_end_matches("/s"))
                    .map_err(|e| CommandError::usage(format!("--redo-rate: {e}, per second")))?
                    as f64,
            ),
        };
        if redo == Some(0.0) {
            return Err(CommandError::usage("--redo-rate: must be over 0"));
        }
        let p99 = self
            .p99
            .as_deref()
            .map(|text| duration("p99", text))
            .transpose()?;
        if p99 == Some(Nanos::ZERO) {
            return Err(CommandError::usage("--p99: must be over 0"));
        }
        Ok(Need {
            commit_rate: positive("commit-rate", self.commit_rate, "commits per second")?,
            redo_bytes_per_s: redo,
            p99_ns: p99.map(|p| p.0),
            rated_bytes: self.rated_bytes()?.map(|bytes| bytes as f64),
            years: positive("years", self.years, "years")?,
        })
    }

    /// Bytes that the drive is rated to take.
    ///
    /// # Errors
    /// A rating that no drive has.
    pub(crate) fn rated_bytes(&self) -> Result<Option<u64>, CommandError> {
        let rated = |text: &String| {
            let bytes = parse_decimal_bytes(text)
                .map_err(|e| CommandError::usage(format!("--tbw: {e}, such as 600T")))?;
            let fits = (1_000_000_000..=1_000_000_000_000_000_000).contains(&bytes);
            fits.then_some(bytes).ok_or_else(|| {
                CommandError::usage("--tbw: write what may be written to the drive, such as 600T")
            })
        };
        self.tbw.as_ref().map(rated).transpose()
    }

    /// What the user declares.
    ///
    /// # Errors
    /// A word that is not known.
    pub(crate) fn declared(&self) -> Result<Vec<Declaration>, CommandError> {
        let one = |text: &String| {
            let (what, basis) = text.split_once('=').unwrap_or((text, ""));
            let protection = match what.trim() {
                "plp" => Protection::Plp,
                "battery" => Protection::Battery,
                other => {
                    return Err(CommandError::usage(format!(
                        "--declare: no `{other}`; use plp or battery, such as --declare \
                         plp=\"data sheet\""
                    )));
                }
            };
            Ok(Declaration {
                protection,
                basis: basis.trim().to_owned(),
            })
        };
        self.declare.iter().map(one).collect()
    }

    /// Keeps results off the file of thresholds.
    pub(crate) fn spared(&self, output: &OutputArgs) {
        self.thresholds.iter().for_each(|path| output.reads(path));
    }

    /// The thresholds that apply.
    ///
    /// # Errors
    /// Of [`thresholds`].
    pub(crate) fn thresholds(&self) -> Result<Thresholds, CommandError> {
        thresholds(self.thresholds.as_deref())
    }
}

/// The built-in thresholds, with what the file at `path` overrides.
///
/// # Errors
/// Names the file, and line and key of what is wrong in it.
pub(crate) fn thresholds(path: Option<&Path>) -> Result<Thresholds, CommandError> {
    let Some(path) = path else {
        return Ok(Thresholds::default());
    };
    let named = |why: String| CommandError::usage(format!("{}: {why}", path.display()));
    let text = input::read_settings(path).map_err(|e| named(e.to_string()))?;
    Thresholds::parse(&text).map_err(|e| named(e.to_string()))
}
