//! Reports of stored runs and of comparisons, with the histograms that the store holds.

use super::lines::tell;
use crate::store::events::{EventColumn, Query};
use crate::store::{Store, StoreError};
use analysis::report::{self, ReportData};
use measure::comparison::Comparison;
use measure::run::Run;
use measure::words::sanitize;

/// The report of a run of `store`, finished or not. Where its intervals cannot be read it is drawn
/// without them, which is said here and in the report.
pub fn html(store: &Store, run: &mut Run) -> String {
    let data = known_data(store, run);
    report::html(run, &data)
}

/// A figure of the run's report as SVG.
///
/// # Errors
/// The ids and captions of the figures that there are, where none has this id.
pub fn figure(store: &Store, run: &mut Run, id: &str) -> Result<String, Vec<(String, String)>> {
    let data = known_data(store, run);
    report::figure(run, &data, id)
}

/// What the store holds beside the run; nothing where that cannot be read, which becomes a
/// problem of the run.
fn known_data(store: &Store, run: &mut Run) -> ReportData {
    data(store, &run.run_id).unwrap_or_else(|why| {
        let why = format!("the figures that need every interval are missing: {why}");
        tell(&format!("redolab: {}", sanitize::line(&why)));
        run.validity.add("intervals_unreadable", false, why);
        ReportData::default()
    })
}

/// The report of a comparison. Runs that are not in the store, such as exported files, have no
/// heat maps; those of a live comparison show all rounds.
pub fn comparison(store: &Store, found: &Comparison) -> String {
    let read = |id: &String| {
        let (run, _) = store.load_any(id).ok()?;
        let data = intervals(store, id).ok()?;
        Some((run, data))
    };
    let held = found
        .runs
        .iter()
        .map(|side| match side.round_ids.as_slice() {
            [] => read(&side.run_id).into_iter().collect(),
            rounds => rounds.iter().filter_map(read).collect(),
        });
    let held: Vec<Vec<(Run, ReportData)>> = held.collect();
    let held: Vec<Vec<_>> = held
        .iter()
        .map(|side| side.iter().map(|(run, data)| (run, data)).collect())
        .collect();
    report::compare::html(found, &held)
}

/// What the store holds of a run beside its manifest.
fn data(store: &Store, id: &str) -> Result<ReportData, StoreError> {
    let mut data = intervals(store, id)?;
    events(store, id, &mut data)?;
    Ok(data)
}

fn intervals(store: &Store, id: &str) -> Result<ReportData, StoreError> {
    let mut data = ReportData::default();
    store.for_each_interval(id, &mut |series, record| {
        data.interval(series, record.start.0, record.end.0, &record.histogram);
    })?;
    Ok(data)
}

/// Samples of the run's log writes and waits, where they were stored one by one.
fn events(store: &Store, id: &str, data: &mut ReportData) -> Result<(), StoreError> {
    let query = Query {
        event: None,
        row: None,
        columns: vec![
            EventColumn::StartUtcUs,
            EventColumn::StartExtraNs,
            EventColumn::LatencyNs,
            EventColumn::RedoBytes,
        ],
    };
    let chunks = match store.events(id, query) {
        Err(StoreError::NoEvents { .. }) => return Ok(()),
        chunks => chunks?,
    };
    for chunk in chunks {
        let chunk = chunk?;
        let Some(row) = chunk.row.checked_sub(1) else {
            continue;
        };
        let Some(sample) = data.sample_mut(row as usize, chunk.event.name()) else {
            continue;
        };
        for i in 0..chunk.events {
            let figure = |column| chunk.column(column).get(i).copied().flatten();
            let (us, extra) = (
                figure(EventColumn::StartUtcUs),
                figure(EventColumn::StartExtraNs),
            );
            let at = us.map(|us| us.saturating_mul(1000).saturating_add(extra.unwrap_or(0)));
            let whole = |v: i64| u64::try_from(v).ok();
            if let (Some(at), Some(ns)) = (at, figure(EventColumn::LatencyNs).and_then(whole)) {
                let bytes = figure(EventColumn::RedoBytes).and_then(whole);
                sample.add_at(at, ns, bytes);
            }
        }
    }
    Ok(())
}
