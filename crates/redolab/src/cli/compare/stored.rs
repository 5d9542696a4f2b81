//! Stored runs and exported files as sides of a comparison. Memory is bounded by the intervals that
//! a bootstrap keeps, not by the length of the runs.

use super::super::CommandError;
use super::super::sources::{self, source};
use crate::input;
use crate::signals::{self, Interrupt};
use crate::store::events::{EventColumn, EventKind, Query};
use crate::store::{Store, hlog, read_export, row_and_event};
use analysis::compare::roles::by_role;
use analysis::compare::{Options, Side, WaitSeries, stored};
use measure::comparison::Comparison;
use measure::run::Run;
use measure::words::sanitize;
use std::collections::BTreeMap;
use std::path::Path;

/// Fewer events than this tell no more in stretches than in seconds.
const EVENTS_MIN: usize = 4_000;

pub(super) fn compare(
    names: &[String],
    store: &Store,
    options: &Options,
) -> Result<Comparison, CommandError> {
    if names.len() < 2 {
        let message = "compare: name at least two runs, the base first";
        return Err(CommandError::usage(message));
    }
    let interrupt = interrupt()?;
    let evidence: Vec<bool> = names.iter().map(|name| is_evidence(store, name)).collect();
    if names.len() > 2 && evidence.contains(&true) {
        let of = evidence.iter().filter(|is| **is).count();
        let message = format!(
            "compare: {of} of {} names are evidence, and only two are compared without labels. Name the \
             sets: redolab compare --label before=DIR --label after=DIR",
            names.len()
        );
        return Err(CommandError::usage(message));
    }
    let sides: Vec<Side> = names
        .iter()
        .zip(evidence)
        .map(|(name, is_evidence)| match is_evidence {
            // Neither: what is wrong with it as an exported run says more.
            true => named_evidence(name, store, &interrupt).or_else(|why| match is_json(name) {
                true => side(store, name),
                false => Err(why),
            }),
            false => side(store, name),
        })
        .collect::<Result<_, _>>()?;
    compared(sides, options)
}

fn interrupt() -> Result<Interrupt, CommandError> {
    signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))
}

/// Whether a name is of evidence: a file, directory or pattern that is neither a stored run nor an
/// exported one.
fn is_evidence(store: &Store, name: &str) -> bool {
    let path = Path::new(name);
    // A pipe or a device has no end: what reads runs refuses it.
    let is_there = path.is_file() || path.is_dir() || name.contains(['*', '?', '[']);
    is_there && !sources::is_export(path) && store.resolve(name).is_err()
}

/// A set of evidence under the name that the user gave it.
fn named_evidence(name: &str, store: &Store, interrupt: &Interrupt) -> Result<Side, CommandError> {
    let mut found = Gathered::default().side(source(name, store, interrupt)?, true);
    name.clone_into(&mut found.name);
    Ok(found)
}

/// Sets of evidence or runs under the names that the user gives them: `NAME=SOURCE`.
pub(super) fn compare_labels(
    labels: &[String],
    store: &Store,
    options: &Options,
) -> Result<Comparison, CommandError> {
    let interrupt = interrupt()?;
    let mut sides: Vec<Side> = Vec::new();
    for text in labels {
        let wrong = |why: &str| CommandError::usage(format!("--label {text}: {why}"));
        let (name, place) = text
            .split_once('=')
            .filter(|(name, place)| !name.is_empty() && !place.is_empty())
            .ok_or_else(|| wrong("write NAME=SOURCE, such as before=traces/"))?;
        if sides.iter().any(|known| known.name == name) {
            return Err(wrong("two sets have this name"));
        }
        let run = source(place, store, &interrupt)?;
        // What was measured has its intervals in the store.
        let mut found = match run.imported {
            Some(_) => Gathered::default().side(run, true),
            None => side(store, place)?,
        };
        name.clone_into(&mut found.name);
        sides.push(found);
    }
    if sides.len() < 2 {
        let message = "compare: give at least two sets with --label NAME=SOURCE, the base first";
        return Err(CommandError::usage(message));
    }
    compared(sides, options)
}

fn compared(sides: Vec<Side>, options: &Options) -> Result<Comparison, CommandError> {
    let sides = with_labels(sides.into_iter().map(by_role).collect());
    for (i, side) in sides.iter().enumerate() {
        let same = |s: &&Side| s.run.run_id == side.run.run_id;
        if sides.iter().take(i).any(|s| same(&s)) {
            return Err(CommandError::usage(format!(
                "compare: run {} is named twice; name two different runs",
                sanitize::line(&side.run.run_id)
            )));
        }
    }
    Ok(stored::compare(&sides, options))
}

/// Runs under their labels, where a label names one of them alone.
fn with_labels(mut sides: Vec<Side>) -> Vec<Side> {
    let label = |side: &Side| match side.name == side.run.run_id {
        true => side.run.notes.label.clone(),
        false => Some(side.name.clone()),
    };
    let labels: Vec<Option<String>> = sides.iter().map(label).collect();
    for (side, own) in sides.iter_mut().zip(&labels) {
        if let Some(name) = own
            && labels.iter().filter(|other| *other == own).count() == 1
        {
            side.name.clone_from(name);
        }
    }
    sides
}

fn is_json(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|e| e == "json")
}

/// A run of the store, else an exported file.
fn side(store: &Store, name: &str) -> Result<Side, CommandError> {
    let path = Path::new(name);
    let looks = name.contains('/') || is_json(name);
    if looks && path.metadata().is_ok_and(|found| !found.is_dir()) {
        return exported(path);
    }
    let id = store.resolve(name)?;
    let (run, complete) = store.load_any(&id)?;
    let mut found = Gathered::default();
    store.for_each_interval(&id, &mut |series, record| found.add(series, &record))?;
    let whole = |row: &measure::run::Row| row.events.as_ref().is_some_and(|e| e.lost == 0);
    if complete {
        for (row, _) in run.rows.iter().enumerate().filter(|(_, r)| whole(r)) {
            for kind in EventKind::ALL {
                if let Some(series) = events(store, &id, row, kind)? {
                    let series_of = found.rows.entry(row).or_default();
                    series_of.insert(kind.name().to_owned(), series);
                }
            }
        }
    }
    Ok(found.side(run, complete))
}

/// Every event of a kind in a row (from 0), in the order in which they began; `None` where there
/// are too few to be cut into stretches.
fn events(
    store: &Store,
    id: &str,
    row: usize,
    kind: EventKind,
) -> Result<Option<WaitSeries>, CommandError> {
    let query = Query {
        event: Some(kind),
        row: u32::try_from(row + 1).ok(),
        columns: vec![EventColumn::StartUtcUs, EventColumn::LatencyNs],
    };
    let mut timed: Vec<(i64, u64)> = Vec::new();
    for chunk in store.events(id, query)? {
        let chunk = chunk?;
        let starts = chunk.column(EventColumn::StartUtcUs).iter();
        for (start, latency) in starts.zip(chunk.column(EventColumn::LatencyNs)) {
            if let (Some(start), Some(latency)) = (start, latency) {
                timed.push((*start, u64::try_from(*latency).unwrap_or(0)));
            }
        }
    }
    if timed.len() < EVENTS_MIN {
        return Ok(None);
    }
    // Sessions wrote their own; blocks have to hold neighbours in time.
    timed.sort_by_key(|(start, _)| *start);
    let latencies: Vec<u64> = timed.iter().map(|(_, latency)| *latency).collect();
    drop(timed);
    Ok(Some(WaitSeries::of_events(&latencies)))
}

fn exported(path: &Path) -> Result<Side, CommandError> {
    let failed = |e: String| CommandError::failed(format!("{}: {e}", path.display()));
    let mut file = input::open(path).map_err(|e| failed(e.to_string()))?;
    let mut found = Gathered::default();
    let run = read_export(&mut file, &mut |series, record| found.add(series, &record))
        .map_err(|e| failed(e.to_string()))?;
    Ok(found.side(run, true))
}

/// Series by row and event.
#[derive(Default)]
struct Gathered {
    rows: BTreeMap<usize, BTreeMap<String, WaitSeries>>,
}

impl Gathered {
    fn add(&mut self, name: &str, record: &hlog::Record) {
        let Some((row, event)) = row_and_event(name) else {
            return;
        };
        let series = self.rows.entry(row).or_default();
        series
            .entry(event.to_owned())
            .or_default()
            .push(&record.histogram);
    }

    fn side(mut self, run: Run, complete: bool) -> Side {
        for series in run.imported.iter().flat_map(|i| &i.series) {
            let row = self.rows.entry(series.row).or_default();
            let points = || WaitSeries::of_means(series);
            row.entry(series.event.clone()).or_insert_with(points);
        }
        let rows = 0..run.rows.len();
        Side {
            name: run.run_id.clone(),
            complete,
            series: rows
                .map(|row| self.rows.remove(&row).unwrap_or_default())
                .collect(),
            run,
        }
    }
}
