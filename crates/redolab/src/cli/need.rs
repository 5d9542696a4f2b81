//! What `check` is given besides the target: the need, what the user declares of the storage, and
//! thresholds of their own.

use super::CommandError;
use super::common::OutputArgs;
use super::sources::source;
use super::values;
use crate::input;
use crate::signals::Interrupt;
use crate::store::Store;
use analysis::findings::production::{
    self, AGREE_PCT, ProductionConflict, ProductionEvidence, ProductionFigure,
};
use analysis::thresholds::Thresholds;
use clap::Args;
use measure::judgement::{Need, NeedQuantity, NeedSource};
use measure::run::{Origin, Run};
use measure::stack::Declaration;
use measure::{Nanos, WaitEvent};
use std::path::{Path, PathBuf};

/// Options that say what is needed and known.
#[derive(Debug, Args)]
#[command(next_help_heading = "The need")]
pub(crate) struct NeedArgs {
    /// Needed commits per second, such as 5000 or 5k
    #[arg(long, value_name = "N", value_parser = values::commit_rate)]
    commit_rate: Option<f64>,
    /// Needed redo per second, such as 80M
    #[arg(long, value_name = "SIZE", value_parser = values::redo_rate)]
    redo_rate: Option<u64>,
    /// Highest acceptable 99th percentile of log file sync, such as 2ms
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    p99: Option<Nanos>,
    /// Take the need from a production system: a stored run or a file of evidence
    ///
    /// A run that was imported or watched, or evidence that `redolab import` reads (AWR or
    /// Statspack, a trace, two readings of v$sysstat, SHOW GLOBAL STATUS or pg_stat_wal, a sweep,
    /// published tables, ...): commits and redo per second, sessions, log file sync and log file
    /// parallel write, as far as it contains them; of several loads the largest, of a folder of
    /// hourly reports the busiest hour. --commit-rate, --redo-rate and --p99 override it.
    #[arg(long, value_name = "RUN|FILE")]
    need_from: Option<String>,
    /// Exit with 3 also if the verdict is conditional
    #[arg(long)]
    pub(super) strict: bool,
    /// Rated endurance of the drive (TBW in its data sheet), such as 600T; here 1 T is 10^12 bytes
    #[arg(long, value_name = "SIZE", value_parser = values::rated_bytes)]
    tbw: Option<u64>,
    /// Number of years that the drive must last; needs --tbw [default: 5]
    #[arg(long, value_name = "N", requires = "tbw", value_parser = values::years)]
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
    #[command(flatten)]
    bound: CutsBoundArgs,
}

/// From which number of power cuts on a stack is called tested.
#[derive(Debug, Args)]
pub(crate) struct CutsBoundArgs {
    /// Highest share of power cuts with a loss, in percent, at which a power test makes durability
    /// tested. It follows from the number of cuts without a loss (95 % confidence): 20 cuts show
    /// less than 14 %, 59 less than 5 %, 299 less than 1 % [default: 14]
    #[arg(long, value_name = "PERCENT", help_heading = "What is known", value_parser = cuts_bound)]
    cuts_bound: Option<f64>,
}

/// The threshold that it overrides.
const CUTS_BOUND: &str = "cuts_bound_pct";

impl CutsBoundArgs {
    /// The bound.
    pub(super) fn percent(&self) -> f64 {
        let usual = || Thresholds::default().cuts_bound_pct.value;
        self.cuts_bound.unwrap_or_else(usual)
    }

    /// Thresholds with this one over that of the text.
    pub(super) fn over(&self, thresholds: String) -> String {
        let Some(percent) = self.cuts_bound else {
            return thresholds;
        };
        let others = thresholds.lines().filter(|line| {
            let key = line.split('=').next().unwrap_or_default();
            key.trim().trim_matches(['"', '\'']) != CUTS_BOUND
        });
        let own = format!("{CUTS_BOUND} = {{ value = {percent:?}, source = \"--cuts-bound\" }}");
        let lines: Vec<&str> = std::iter::once(own.as_str()).chain(others).collect();
        lines.join("\n")
    }
}

fn cuts_bound(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let fits = number.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    fits.ok_or_else(|| format!("{text}: use a number of percent over 0 and up to 100, such as 5"))
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
            ..Need::default()
        }
    }

    /// The need with what the evidence of `--need-from` adds, and lines that say so; `None` without
    /// that option.
    ///
    /// # Errors
    /// Evidence that cannot be read, contains no figure of a need, or contradicts itself.
    pub(super) fn of_production(
        &self,
        store: &Store,
        interrupt: &Interrupt,
    ) -> Result<Option<(Need, Vec<String>)>, CommandError> {
        let Some(name) = &self.need_from else {
            return Ok(None);
        };
        let run = source(name, store, interrupt)?;
        let refused = |why: String| CommandError::usage(format!("--need-from {name}: {why}"));
        if run.imported.is_none() && run.origin != Origin::Watched {
            return Err(refused(
                "this run was measured by redolab, and shows what a device can do, not what is \
                 needed; name a run that `redolab import` stored, or a file of evidence"
                    .to_owned(),
            ));
        }
        let mut need = self.need();
        let is_open = |quantity| match quantity {
            NeedQuantity::CommitRate => need.commit_rate.is_none(),
            NeedQuantity::RedoRate => need.redo_bytes_per_s.is_none(),
            NeedQuantity::P99 => need.p99_ns.is_none(),
            NeedQuantity::Sessions => true,
        };
        let thresholds = thresholds(self.thresholds.as_deref())?;
        let found = production::of(&run, &thresholds, is_open);
        let found = found.map_err(|e| refused(conflict(&e)))?;
        let is_rate = |figure: &ProductionFigure| figure.quantity != NeedQuantity::Sessions;
        let has_figure = found.figures.iter().any(is_rate) || !found.waits.is_empty();
        if !has_figure && need == Need::default() {
            return Err(refused(nothing(&run)));
        }
        let absent = absent(&found, is_open);
        let stated = analysis::verdict::needed(&need);
        let mut lines = vec![format!("The need, from {name}:")];
        lines.extend(found.load.map(|load| format!("  taken: {load}")));
        for figure in found.figures {
            lines.push(format!("  {} ({})", figure.shown(), figure.place));
            take(&mut need, figure);
        }
        for wait in &found.waits {
            let words = analysis::verdict::production_wait(wait);
            lines.push(format!("  {words} ({})", wait.place));
        }
        need.production = found.waits;
        if !stated.is_empty() {
            lines.push(format!("  stated: {}", stated.join(", ")));
        }
        if !absent.is_empty() {
            lines.push(format!("  not in this evidence: {}", absent.join(", ")));
        }
        Ok(Some((need, lines)))
    }

    /// What the user declares.
    pub(crate) fn declared(&self) -> Vec<Declaration> {
        self.declare.clone()
    }

    /// Keeps results off the files that are read.
    pub(crate) fn spared(&self, output: &OutputArgs) {
        self.thresholds.iter().for_each(|path| output.reads(path));
        let evidence = self.need_from.iter().map(Path::new);
        evidence.for_each(|path| output.reads(path));
    }

    /// What overrides the built-in thresholds, as text that was read once already; empty for none.
    ///
    /// # Errors
    /// Names the file, and line and key of what is wrong in it.
    pub(crate) fn thresholds(&self) -> Result<String, CommandError> {
        let text = thresholds_text(self.thresholds.as_deref())?;
        Ok(self.bound.over(text))
    }
}

/// As [`NeedArgs::thresholds`], of the file at `path`.
pub(crate) fn thresholds_text(path: Option<&Path>) -> Result<String, CommandError> {
    let read = |path: &Path| self::read(path).map(|(text, _)| text);
    let text = path.map(read).transpose()?;
    Ok(text.unwrap_or_default())
}

/// What the evidence does not contain.
fn absent(found: &ProductionEvidence, is_open: impl Fn(NeedQuantity) -> bool) -> Vec<String> {
    let has = |quantity| found.figures.iter().any(|f| f.quantity == quantity);
    let rates = NeedQuantity::ALL.into_iter();
    let rates = rates.filter(|q| *q != NeedQuantity::P99 && is_open(*q) && !has(*q));
    let mut out: Vec<String> = rates.map(|q| q.words().to_owned()).collect();
    for event in [WaitEvent::LogFileSync, WaitEvent::LogFileParallelWrite] {
        let wait = found.waits.iter().find(|w| w.event == event.key());
        let name = event.name();
        match wait.map(|w| (w.mean_ns, w.p99_ns)) {
            None => out.push(name.to_owned()),
            Some((None, _)) => out.push(format!("mean {name}")),
            Some((_, None)) => out.push(format!("99th percentile of {name}")),
            Some(_) => {}
        }
    }
    out
}

/// Takes a figure of evidence over, with its place.
fn take(need: &mut Need, figure: ProductionFigure) {
    let ProductionFigure {
        quantity,
        value,
        place,
    } = figure;
    match quantity {
        NeedQuantity::CommitRate => need.commit_rate = Some(value),
        NeedQuantity::RedoRate => need.redo_bytes_per_s = Some(value),
        // Casts saturate.
        NeedQuantity::Sessions => need.sessions = Some(value as u32),
        NeedQuantity::P99 => need.p99_ns = Some(value as u64),
    }
    need.sources.push(NeedSource { quantity, place });
}

/// Figures that contradict each other, and what to do.
fn conflict(found: &ProductionConflict) -> String {
    let figures = found.figures.iter();
    let figures: Vec<String> = figures
        .map(|f| format!("{} ({})", f.shown(), f.place))
        .collect();
    let option = match found.quantity {
        NeedQuantity::CommitRate => "state it with --commit-rate",
        NeedQuantity::RedoRate => "state it with --redo-rate",
        NeedQuantity::P99 => "state it with --p99",
        NeedQuantity::Sessions => "name the evidence of one system",
    };
    format!(
        "{} differ by more than {AGREE_PCT} %: {}; name one file, or {option}",
        found.quantity.words(),
        figures.join(", ")
    )
}

/// Why the evidence makes no need, and what would.
fn nothing(run: &Run) -> String {
    let imported = run.imported.iter();
    let mut kinds: Vec<&str> = imported
        .flat_map(|i| i.sources.iter().map(|source| source.kind.as_str()))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    format!(
        "the evidence ({}) contains no commits per second, redo per second, log file sync or log file \
         parallel write. Rates of counters need two readings with their times, such as SELECT now(), * \
         FROM pg_stat_wal twice, or redolab collect. Or state the need with --commit-rate, --redo-rate \
         and --p99",
        kinds.join(", ")
    )
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
