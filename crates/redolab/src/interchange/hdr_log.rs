//! HdrHistogram logs, version 2 payloads, as every reader of the format takes them: a heading, a
//! legend, no tags, one series a file. Values are nanoseconds, the column of maxima milliseconds.

use super::{ExportedFile, IN_NS, component, row_and_event};
use crate::store::{Store, StoreError};
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use measure::run::Run;
use std::collections::BTreeMap;
use std::time::Duration;

/// Nanoseconds of the unit in which maxima are shown.
const MAX_UNIT_NS: f64 = 1e6;
/// Between heading and intervals.
const LEGEND: &str =
    "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// The logs of a run's series, read interval by interval from the store.
///
/// # Errors
/// Those of reading the run.
pub fn files(store: &Store, run: &Run) -> Result<Vec<ExportedFile>, StoreError> {
    let mut logs: BTreeMap<String, (u64, Vec<u8>)> = BTreeMap::new();
    let mut failed = None;
    store.for_each_interval(&run.run_id, &mut |name, record| {
        let Some((_, event)) = row_and_event(name).filter(|(_, e)| IN_NS.contains(e)) else {
            return;
        };
        let row = name.split('/').next().unwrap_or_default();
        let path = format!("{}.{}.hlog", component(row), component(event));
        let from = record.start.0;
        let (zero, log) = logs
            .entry(path)
            .or_insert_with(|| (from, heading(run, name).into_bytes()));
        let start = Duration::from_nanos(from.saturating_sub(*zero));
        let length = Duration::from_nanos(record.end.since(record.start).0);
        let mut serializer = V2DeflateSerializer::new();
        let mut line = Vec::new();
        let written = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(MAX_UNIT_NS)
            .begin_log_with(&mut line, &mut serializer)
            .map_err(|e| e.to_string())
            .and_then(|mut out| {
                out.write_histogram(record.histogram.buckets(), start, length, None)
                    .map_err(|e| e.to_string())
            });
        match written {
            Ok(()) => log.append(&mut line),
            Err(e) => failed = Some(e),
        }
    })?;
    if let Some(what) = failed {
        let id = run.run_id.clone();
        return Err(StoreError::NotStorable { id, what });
    }
    let file = |(path, (_, bytes))| ExportedFile { path, bytes };
    Ok(logs.into_iter().map(file).collect())
}

fn heading(run: &Run, series: &str) -> String {
    let created: Option<jiff::Timestamp> = run.created.parse().ok();
    let start = created.map_or(0.0, |t| t.as_millisecond() as f64 / 1e3);
    let name = measure::words::sanitize::line(&format!(
        "redolab run {} ({}): {series}, nanoseconds",
        run.run_id,
        run.origin.word()
    ));
    format!(
        "#[{name}]\n#[Histogram log format version 1.3]\n\
         #[StartTime: {start:.3} (seconds since epoch), {}]\n\
         #[BaseTime: {start:.3} (seconds since epoch)]\n{LEGEND}",
        measure::words::sanitize::line(&run.created)
    )
}
