//! What a production system needs, from the evidence of it: commits and redo per second, sessions,
//! and how long its commits and log writes take, each with the place in the evidence.
//!
//! Invariants: what the evidence does not contain is absent; nothing is estimated from another
//! quantity. Rates are means of the stretch that the evidence describes; of several stretches of
//! one listing the busiest is taken, of several loads the largest, and of a series of reports the
//! busiest report, whose hour is named. Sources that differ by more
//! than [`AGREE_PCT`] are a conflict, which the user decides.

mod counters;
pub(super) mod waits;

use super::diagnosis::series::REPORT_SERIES;
use super::diagnosis::{SYNC, WRITE};
use super::evidence::view::{Line, Tables, lines, place};
use crate::format;
use crate::thresholds::Thresholds;
use measure::WaitEvent;
use measure::imported::Imported;
use measure::judgement::{NeedQuantity, ProductionWait};
use measure::run::{Origin, Row, Run};
use measure::units::MB_BYTES;
use std::collections::BTreeSet;
use waits::PlacedWait;
pub use waits::in_words;

/// Figures of one quantity from several sources agree up to this difference, percent.
pub const AGREE_PCT: f64 = 10.0;

/// A figure of a production system.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductionFigure {
    /// What it is a figure of.
    pub quantity: NeedQuantity,
    /// Commits per second, bytes of redo per second, sessions, or nanoseconds.
    pub value: f64,
    /// Where the evidence has it: file, table, line or statistic.
    pub place: String,
}

impl ProductionFigure {
    /// The figure with its unit.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(self.quantity, self.value)
    }
}

/// A figure of `quantity` with its unit.
#[must_use]
pub fn shown(quantity: NeedQuantity, value: f64) -> String {
    match quantity {
        NeedQuantity::CommitRate => format!("{} commits/s", format::digits(value)),
        NeedQuantity::RedoRate => format!("{} MB/s of redo", format::digits(value / MB_BYTES)),
        NeedQuantity::Sessions => format!("{value:.0} sessions"),
        NeedQuantity::P99 => format!("{} of log file sync (p99)", format::latency(value)),
    }
}

/// Figures of one quantity that do not agree.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductionConflict {
    /// The quantity.
    pub quantity: NeedQuantity,
    /// The figures, the lowest first.
    pub figures: Vec<ProductionFigure>,
}

/// What evidence shows of a production system.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProductionEvidence {
    /// Rates, sessions and the percentile that is a target: at most one of each quantity.
    pub figures: Vec<ProductionFigure>,
    /// How long commits and log writes take.
    pub waits: Vec<ProductionWait>,
    /// Of evidence with several loads, or of a series of reports, the one that was taken, and of
    /// how many.
    pub load: Option<String>,
}

/// The figures of the production system that `run` is evidence of.
///
/// # Errors
/// Sources that contradict each other in a quantity that `wanted` accepts.
pub fn of(
    run: &Run,
    t: &Thresholds,
    wanted: impl Fn(NeedQuantity) -> bool,
) -> Result<ProductionEvidence, ProductionConflict> {
    if let Some((hour, words)) = busiest_hour(run) {
        let load = Some(words);
        return Ok(ProductionEvidence {
            load,
            ..of(&hour, t, wanted)?
        });
    }
    let none = Imported::default();
    let (mut all, imported, rows) = match (run.origin, &run.imported) {
        (Origin::Watched, _) => (of_watched(run), &none, largest(run)),
        (Origin::Imported, Some(imported)) => {
            let mut all = of_reports(imported);
            all.extend(counters::of_counters(imported));
            all.extend(of_traces(run, imported));
            let has_load = all.iter().any(|f| f.quantity == NeedQuantity::CommitRate);
            let rows = match has_load || is_trace(imported) {
                true => Rows::All(run.rows.iter().collect()),
                false => largest(run),
            };
            (all, imported, rows)
        }
        _ => return Ok(ProductionEvidence::default()),
    };
    let load = rows.words(run);
    if run.origin == Origin::Imported {
        let is_new = |f: &ProductionFigure| all.iter().all(|known| known.quantity != f.quantity);
        let more: Vec<ProductionFigure> = rows.figures().into_iter().filter(is_new).collect();
        all.extend(more);
    }
    let waits = waits::of(imported, rows.all(), t);
    let is_sync = |w: &&PlacedWait| w.wait.event == WaitEvent::LogFileSync.key();
    let sync = waits.iter().find(is_sync).filter(|w| w.wait.is_target);
    let p99 = sync.and_then(|w| {
        let [_, high] = w.wait.p99_ns?;
        figure(NeedQuantity::P99, high as f64, w.p99_place.clone())
    });
    all.extend(p99);
    let mut figures = Vec::new();
    for quantity in NeedQuantity::ALL.into_iter().filter(|q| wanted(*q)) {
        figures.extend(agreed(&all, quantity)?);
    }
    Ok(ProductionEvidence {
        figures,
        waits: waits.into_iter().map(|w| w.wait).collect(),
        load,
    })
}

/// Of a series of reports, the run without all reports but the one of most commits per second, else
/// of most redo; and what was taken. A mean over a day is no need.
fn busiest_hour(run: &Run) -> Option<(Run, String)> {
    let imported = run.imported.as_ref()?;
    let series = || Tables(&imported.tables).lines(REPORT_SERIES);
    let most = |key: &str, unit: &'static str| {
        let known = series().filter_map(|line| Some((line.number(key)?, unit, line)));
        known.max_by(|a, b| a.0.total_cmp(&b.0))
    };
    let (rate, unit, line) =
        most("commits_per_s", "commits/s").or_else(|| most("redo_mb_per_s", "MB/s of redo"))?;
    let taken = line.text("report");
    let words = format!(
        "the report of the busiest hour of {}, from {} ({taken}, {} {unit})",
        series().count(),
        line.text("begin"),
        format::digits(rate)
    );
    let reports: BTreeSet<&str> = series().map(|line| line.text("report")).collect();
    let keeps = |file: &str| file == taken || !reports.contains(file);
    let mut hour = run.clone();
    hour.rows.retain(|row| keeps(&row.workload));
    let of = hour.imported.as_mut()?;
    of.sources.retain(|source| keeps(&source.file));
    of.tables
        .retain(|table| table.id != REPORT_SERIES && keeps(&table.file));
    Some((hour, words))
}

/// The figure of a quantity: the highest of those that agree.
fn agreed(
    all: &[ProductionFigure],
    quantity: NeedQuantity,
) -> Result<Option<ProductionFigure>, ProductionConflict> {
    let found = all.iter().filter(|figure| figure.quantity == quantity);
    let mut figures: Vec<ProductionFigure> = found.cloned().collect();
    figures.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (Some(lowest), Some(highest)) = (figures.first(), figures.last()) else {
        return Ok(None);
    };
    match highest.value > lowest.value * (1.0 + AGREE_PCT / 100.0) {
        true => Err(ProductionConflict { quantity, figures }),
        false => Ok(Some(highest.clone())),
    }
}

/// The rows whose figures are taken.
enum Rows<'a> {
    /// The sessions of a trace together.
    All(Vec<&'a Row>),
    /// One load of several.
    Largest([&'a Row; 1]),
    /// No row has a load.
    None,
}

impl<'a> Rows<'a> {
    fn all(&self) -> &[&'a Row] {
        match self {
            Rows::All(rows) => rows,
            Rows::Largest(row) => row,
            Rows::None => &[],
        }
    }

    /// Which load of a sweep was taken.
    fn words(&self, run: &Run) -> Option<String> {
        let Rows::Largest([row]) = self else {
            return None;
        };
        let loads = run.rows.iter().filter(|row| load_of(row) > 0.0).count();
        (loads > 1).then(|| {
            format!(
                "{} ({} commits/s), the largest of {loads} loads",
                crate::rows::name_of(row),
                format::digits(load_of(row)),
            )
        })
    }

    fn figures(&self) -> Vec<ProductionFigure> {
        let Rows::Largest([row]) = self else {
            return Vec::new();
        };
        let place = format!("row {}", crate::rows::name_of(row));
        let redo = crate::rows::redo_mbps(row).unwrap_or(0.0) * MB_BYTES;
        let sessions = if row.jobs > 1 {
            f64::from(row.jobs)
        } else {
            0.0
        };
        let each = [
            (NeedQuantity::CommitRate, load_of(row)),
            (NeedQuantity::RedoRate, redo),
            (NeedQuantity::Sessions, sessions),
        ];
        let found = each.map(|(quantity, value)| figure(quantity, value, place.clone()));
        found.into_iter().flatten().collect()
    }
}

fn load_of(row: &Row) -> f64 {
    row.commit_throughput_tps.unwrap_or(0.0)
}

/// The row with the largest load: of a sweep, or of a listing that has several.
fn largest(run: &Run) -> Rows<'_> {
    let rows = run.rows.iter().filter(|row| load_of(row) > 0.0);
    let most = rows.max_by(|a, b| load_of(a).total_cmp(&load_of(b)));
    most.or(run.rows.first())
        .map_or(Rows::None, |row| Rows::Largest([row]))
}

/// The figures of a log that was watched: what its server counted meanwhile.
fn of_watched(run: &Run) -> Vec<ProductionFigure> {
    let Rows::Largest([row]) = largest(run) else {
        return Vec::new();
    };
    let place = |what: &str| {
        let seconds = row.elapsed_s.unwrap_or(0.0);
        format!(
            "run {}: {what} of the server over {seconds:.0} s",
            run.run_id
        )
    };
    let redo = row.redo().redo_data_mbps.unwrap_or(0.0) * MB_BYTES;
    let commits = figure(NeedQuantity::CommitRate, load_of(row), place("commits"));
    let redo = figure(NeedQuantity::RedoRate, redo, place("redo"));
    commits.into_iter().chain(redo).collect()
}

fn figure(quantity: NeedQuantity, value: f64, place: String) -> Option<ProductionFigure> {
    (value.is_finite() && value > 0.0).then_some(ProductionFigure {
        quantity,
        value,
        place,
    })
}

/// The figures of AWR and Statspack reports, and of published tables like theirs, file by file.
fn of_reports(imported: &Imported) -> Vec<ProductionFigure> {
    const TABLES: [&str; 5] = [
        "instance_activity",
        "load_profile",
        "iostat_by_function",
        "iostat_by_filetype",
        "top_events",
    ];
    let tables = Tables(&imported.tables);
    let of_tables = TABLES.into_iter().flat_map(|id| tables.of(id));
    let mut files: Vec<&str> = of_tables.map(|table| table.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let mut out = Vec::new();
    for file in files {
        let rates = [
            (NeedQuantity::CommitRate, commits_of(tables, file)),
            (NeedQuantity::RedoRate, redo_of(tables, file)),
        ];
        for (quantity, found) in rates {
            out.extend(found.and_then(|(rate, place)| figure(quantity, rate, place)));
        }
    }
    out
}

/// A rate with its place in a file.
type Placed = Option<(f64, String)>;

fn in_file<'a>(
    tables: Tables<'a>,
    file: &'a str,
    id: &'static str,
) -> impl Iterator<Item = Line<'a>> {
    let own = tables.of(id).filter(move |table| table.file == file);
    own.flat_map(lines)
}

/// Seconds that a report covers, or that a text states.
fn window(tables: Tables<'_>, file: &str) -> Option<f64> {
    let mut stated = in_file(tables, file, "stated_window");
    stated
        .find_map(|line| line.number("seconds"))
        .filter(|s| *s > 0.0)
}

fn statistic(tables: Tables<'_>, file: &str, name: &str) -> Placed {
    let mut activity = in_file(tables, file, "instance_activity");
    let line = activity.find(|line| line.text("statistic") == name)?;
    let total = line.number("total").zip(window(tables, file));
    let rate = total.map(|(total, seconds)| total / seconds);
    let rate = rate.or(line.number("per_second"))?;
    Some((rate, format!("{file}, instance activity: {name}")))
}

fn profile(tables: Tables<'_>, file: &str, name: &str) -> Placed {
    let mut profile = in_file(tables, file, "load_profile");
    let line = profile.find(|line| line.text("name").starts_with(name))?;
    let rate = line.number("per_second")?;
    Some((rate, format!("{file}, load profile: {}", line.text("name"))))
}

fn commits_of(tables: Tables<'_>, file: &str) -> Placed {
    // A session that commits waits once: the listing with most waits is that of the largest load.
    let synced = || {
        let events = in_file(tables, file, "top_events");
        let waits = events.filter(|line| line.text("event") == SYNC);
        let most = waits.filter_map(|line| Some((line.number("waits")?, line)));
        let (most, line) = most.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let mut windows =
            in_file(tables, file, "stated_window").filter_map(|w| w.number("seconds"));
        let seconds = windows.next().filter(|s| *s > 0.0)?;
        let is_one = windows.all(|other| other == seconds);
        let place = format!(
            "{}, {} waits for {SYNC} in {seconds:.0} s",
            place(line.table()),
            format::count(most as u64)
        );
        is_one.then_some((most / seconds, place))
    };
    statistic(tables, file, "user commits")
        .or_else(|| profile(tables, file, "Transactions"))
        .or_else(synced)
}

fn redo_of(tables: Tables<'_>, file: &str) -> Placed {
    const FILES: [&str; 6] = [
        "Data File",
        "Temp File",
        "Control File",
        "Archive Log",
        "Other",
        "Flashback Log",
    ];
    // Writes of the log writer, or into log files: the copies of members among them. Published
    // tables of log files have a line for each test.
    let written = |id: &'static str, is_log: &dyn Fn(&str) -> bool| {
        let own = in_file(tables, file, id).filter(|line| is_log(line.text("name")));
        let rates = own.filter_map(|line| Some((line.number("write_mb_per_s")?, line)));
        let (most, line) = rates.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let at = place(line.table());
        let what = line.text("name");
        let place = format!("{at}, I/O statistics: writes of {what}, all members together");
        Some((most * MB_BYTES, place))
    };
    let of_tests = || {
        let has = |name: &str| {
            in_file(tables, file, "iostat_by_filetype").any(|l| l.text("name") == name)
        };
        let is_of_log = has("Log File") || !FILES.into_iter().any(has);
        let is_log = |name: &str| name == "Log File" || !has("Log File");
        written("iostat_by_filetype", &is_log).filter(|_| is_of_log)
    };
    statistic(tables, file, "redo size")
        .or_else(|| profile(tables, file, "Redo size"))
        .or_else(|| written("iostat_by_function", &|name| name == "LGWR"))
        .or_else(of_tests)
}

/// The figures of traces: rates of the traced sessions together, their number, and the 99th
/// percentile where one process has it.
fn of_traces(run: &Run, imported: &Imported) -> Vec<ProductionFigure> {
    if !is_trace(imported) {
        return Vec::new();
    }
    // Rows of reports have the name of their file.
    let is_report = |row: &Row| {
        imported
            .tables
            .iter()
            .any(|t| t.file == row.workload && t.id == "load_profile")
    };
    let rows: Vec<&Row> = run.rows.iter().filter(|row| !is_report(row)).collect();
    let sessions: Vec<&&Row> = rows
        .iter()
        .filter(|row| has_waits(row, "log_file_sync"))
        .collect();
    let mut out = Vec::new();
    let names: Vec<&str> = sessions.iter().map(|row| row.workload.as_str()).collect();
    let place = match names.as_slice() {
        [] => String::new(),
        [one] => format!("trace of {one}"),
        many => format!("sum of {} traced sessions", many.len()),
    };
    let commits: f64 = sessions
        .iter()
        .filter_map(|row| row.commit_throughput_tps)
        .sum();
    out.extend(figure(NeedQuantity::CommitRate, commits, place));
    let count = sessions.iter().filter(|row| row.commits.is_some()).count() as f64;
    let place = format!("traced sessions that waited for {SYNC}");
    out.extend(figure(NeedQuantity::Sessions, count, place));
    let writers: Vec<&&Row> = rows
        .iter()
        .filter(|row| has_waits(row, "log_file_parallel_write"))
        .collect();
    let redo = writers.iter().filter_map(|row| row.redo().redo_data_mbps);
    let place = format!("{WRITE} in the traces");
    out.extend(figure(
        NeedQuantity::RedoRate,
        redo.sum::<f64>() * MB_BYTES,
        place,
    ));
    out
}

fn is_trace(imported: &Imported) -> bool {
    let kinds = imported.sources.iter().map(|source| source.kind.as_str());
    kinds
        .into_iter()
        .any(|kind| matches!(kind, "oracle-trace" | "hlog"))
}

fn has_waits(row: &Row, event: &str) -> bool {
    row.waits.get(event).is_some_and(|stats| stats.count > 0)
}

#[cfg(test)]
mod tests;
