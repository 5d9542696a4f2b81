//! Stored runs and exported files as sides of a comparison. Memory is bounded by the intervals that
//! a bootstrap keeps, not by the length of the runs.

use super::super::CommandError;
use super::super::runs::{load_any, resolve};
use crate::output::sanitize;
use crate::store::{Store, hlog, read_export};
use analysis::compare::{Options, Series, Side, stored};
use measure::comparison::Comparison;
use measure::run::Run;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

pub(super) fn compare(
    names: &[String],
    store: &Store,
    options: &Options,
) -> Result<Comparison, CommandError> {
    if names.len() < 2 {
        let message = "compare: name two runs or more, the base first";
        return Err(CommandError::usage(message));
    }
    let sides: Vec<Side> = names
        .iter()
        .map(|name| side(store, name))
        .collect::<Result<_, _>>()?;
    for (i, side) in sides.iter().enumerate() {
        let same = |s: &&Side| s.run.run_id == side.run.run_id;
        if sides.iter().take(i).any(|s| same(&s)) {
            return Err(CommandError::usage(format!(
                "compare: run {} is named twice; it differs from itself in nothing",
                sanitize::line(&side.run.run_id)
            )));
        }
    }
    Ok(stored::compare(&sides, options))
}

/// A run of the store, else an exported file.
fn side(store: &Store, name: &str) -> Result<Side, CommandError> {
    let path = Path::new(name);
    let looks = name.contains('/') || path.extension().is_some_and(|e| e == "json");
    if looks && path.is_file() {
        return exported(path);
    }
    let id = resolve(store, name)?;
    let (run, complete) = load_any(store, &id)?;
    let mut found = Gathered::default();
    store.for_each_interval(&id, &mut |series, record| found.add(series, &record))?;
    Ok(found.side(run, complete))
}

fn exported(path: &Path) -> Result<Side, CommandError> {
    let failed = |e: String| CommandError::failed(format!("{}: {e}", path.display()));
    let mut file = File::open(path).map_err(|e| failed(e.to_string()))?;
    let mut found = Gathered::default();
    let run = read_export(&mut file, &mut |series, record| found.add(series, &record))
        .map_err(|e| failed(e.to_string()))?;
    Ok(found.side(run, true))
}

/// Series by row and event.
#[derive(Default)]
struct Gathered {
    rows: BTreeMap<usize, BTreeMap<String, Series>>,
}

impl Gathered {
    fn add(&mut self, name: &str, record: &hlog::Record) {
        let Some((row, event)) = place(name) else {
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
            let points = || Series::of_points(&series.points);
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

/// Row (from 0) and event of a series such as `03-LGWR-LAT1-64/log_file_sync`.
pub(super) fn place(name: &str) -> Option<(usize, &str)> {
    let (row, event) = name.split_once('/')?;
    let number: usize = row.split_once('-')?.0.parse().ok()?;
    Some((number.checked_sub(1)?, event))
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn series_name_their_row() {
        let series = "03-LGWR-LAT1-64/log_file_sync";
        assert_eq!(place(series), Some((2, "log_file_sync")));
        assert_eq!(
            place("103-X-1/commit_latency"),
            Some((102, "commit_latency"))
        );
        for bad in ["", "x/y", "00-X/y", "-1-X/y", "03-X"] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }
}
