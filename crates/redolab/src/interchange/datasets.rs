//! The run as Parquet datasets, a folder a kind, partitioned by run and machine:
//! `hist/run_id=…/node=…/part-0.parquet`, and so `interval`, `device` and `series`. (`events` are
//! written by the store as they are.)
//!
//! Invariants: rows of `hist` are the histograms' own buckets, whose bounds are the same in every
//! run, so that adding counts merges histograms exactly; the exact extremes have columns of their
//! own. A series of reports (`series`) has the columns of its table, whose times have no zone: they
//! are the text that the reports print.

use super::parquet_table::{Values, encode};
use super::{ExportSource, ExportedFile, IN_NS, component};
use analysis::findings::diagnosis::series::{self, REPORT_SERIES};
use measure::imported::Cell;
use measure::run::{Interval, Row, Run};
use parquet::errors::ParquetError;

/// A table that is built row by row.
#[derive(Default)]
struct Table {
    columns: Vec<(&'static str, Values)>,
}

/// Whether evidence is a series of reports.
#[must_use]
pub fn has_series(run: &Run) -> bool {
    let mut tables = run.imported.iter().flat_map(|i| &i.tables);
    tables.any(|table| table.id == REPORT_SERIES)
}

/// The series of all instances, one after the other.
fn of_series(source: &ExportSource<'_>) -> Table {
    let mut out = Table::default();
    let tables = source.run.imported.iter().flat_map(|i| &i.tables);
    for table in tables.filter(|table| table.id == REPORT_SERIES) {
        for row in &table.rows {
            let cell = |key: &str| {
                let at = table.columns.iter().position(|c| c.key == key);
                at.and_then(|at| row.get(at))
            };
            let text = |key: &str| match cell(key) {
                Some(Cell::Text(text)) => Some(text.clone()),
                _ => None,
            };
            out.text("instance", Some(series::instance(table).to_owned()));
            out.text("begin", text("begin"));
            for key in series::keys() {
                let number = match cell(key) {
                    Some(Cell::Real(number)) => Some(*number),
                    _ => None,
                };
                out.real(key, number);
            }
            out.text("restarted", text("restarted"));
            out.text("report", text("report"));
        }
    }
    out
}

impl Table {
    fn text(&mut self, name: &'static str, value: Option<String>) {
        match self.column(name, || Values::Text(Vec::new())) {
            Values::Text(values) => values.push(value),
            _ => unreachable!("a column keeps its kind"),
        }
    }

    fn count(&mut self, name: &'static str, value: Option<u64>) {
        match self.column(name, || Values::Count(Vec::new())) {
            Values::Count(values) => values.push(value),
            _ => unreachable!("a column keeps its kind"),
        }
    }

    fn real(&mut self, name: &'static str, value: Option<f64>) {
        match self.column(name, || Values::Real(Vec::new())) {
            Values::Real(values) => values.push(value),
            _ => unreachable!("a column keeps its kind"),
        }
    }

    fn utc_us(&mut self, name: &'static str, value: Option<i64>) {
        match self.column(name, || Values::Utc(Vec::new())) {
            Values::Utc(values) => values.push(value),
            _ => unreachable!("a column keeps its kind"),
        }
    }

    fn column(&mut self, name: &'static str, new: impl FnOnce() -> Values) -> &mut Values {
        let found = self.columns.iter().position(|(n, _)| *n == name);
        let index = found.unwrap_or_else(|| {
            self.columns.push((name, new()));
            self.columns.len() - 1
        });
        &mut self.columns[index].1
    }

    /// What every line of every dataset says first.
    fn row(&mut self, source: &ExportSource<'_>, number: usize, row: &Row) {
        let created: Option<jiff::Timestamp> = source.run.created.parse().ok();
        self.utc_us("created_utc_us", created.map(|t| t.as_microsecond()));
        self.text("origin", Some(source.run.origin.word().to_owned()));
        self.count("row", Some(number as u64));
        self.text("workload", Some(row.workload.clone()));
        self.count("jobs", Some(u64::from(row.jobs)));
    }
}

/// The folder of a run's part in a dataset.
#[must_use]
pub(super) fn partition(source: &ExportSource<'_>, dataset: &str) -> String {
    let node = match source.run.environment.hostname.as_str() {
        "" => "local".to_owned(),
        host => component(host),
    };
    format!(
        "{dataset}/run_id={}/node={node}",
        component(&source.run.run_id)
    )
}

/// The files of `hist`, `interval`, `device` and `series`, and the folder for the parts of
/// `events`.
///
/// # Errors
/// When a table cannot be encoded, which no run should bring about.
pub fn datasets(source: &ExportSource<'_>) -> Result<(Vec<ExportedFile>, String), ParquetError> {
    let mut files = Vec::new();
    for (dataset, table) in [
        ("hist", hist(source)),
        ("interval", intervals(source)),
        ("device", device(source)),
        ("series", of_series(source)),
    ] {
        if table.columns.is_empty() {
            continue;
        }
        files.push(ExportedFile {
            path: format!("{}/part-0.parquet", partition(source, dataset)),
            bytes: encode(&table.columns)?,
        });
    }
    Ok((files, partition(source, "events")))
}

fn hist(source: &ExportSource<'_>) -> Table {
    let mut table = Table::default();
    for (number, row) in source.rows() {
        for event in IN_NS {
            let Some(series) = source.series(number, event) else {
                continue;
            };
            let h = &series.merged;
            for bin in h.buckets().iter_recorded() {
                let value = bin.value_iterated_to();
                table.row(source, number, row);
                table.text("event", Some(event.to_owned()));
                table.count("lo_ns", Some(h.buckets().lowest_equivalent(value)));
                table.count("hi_ns", Some(h.buckets().highest_equivalent(value)));
                table.count("count", Some(bin.count_since_last_iteration()));
                table.count("row_min_ns", Some(h.min()));
                table.count("row_max_ns", Some(h.max()));
            }
        }
    }
    table
}

fn intervals(source: &ExportSource<'_>) -> Table {
    let mut table = Table::default();
    for (number, row) in source.rows() {
        for i in &row.intervals {
            table.row(source, number, row);
            interval(&mut table, i);
        }
    }
    table
}

fn interval(table: &mut Table, i: &Interval) {
    table.real("t_s", Some(i.t_s));
    table.real("seconds", Some(i.seconds));
    table.count("commits", Some(i.commits));
    table.count("redo_bytes", i.redo_bytes);
    table.count("written_bytes", i.written_bytes);
    table.count("log_writes", i.log_writes);
    table.real("log_file_sync_mean_ns", i.log_file_sync_mean_ns);
    table.count("log_file_sync_p99_ns", i.log_file_sync_p99_ns);
    table.count("log_file_sync_max_ns", i.log_file_sync_max_ns);
    let mean_ns = i.log_file_parallel_write_mean_ns;
    table.real("log_file_parallel_write_mean_ns", mean_ns);
    let max_ns = i.log_file_parallel_write_max_ns;
    table.count("log_file_parallel_write_max_ns", max_ns);
    table.count("log_switches", i.log_switches);
    table.real("device_util_pct", i.device_util_pct);
}

fn device(source: &ExportSource<'_>) -> Table {
    let mut table = Table::default();
    let target = &source.run.target;
    let disk = target
        .stack
        .layers
        .iter()
        .rev()
        .find_map(|l| l.dev.as_ref().map(|_| &l.name));
    let method = target.redo_log().map(|log| log.sync_method.clone());
    for (number, row) in source.rows() {
        let device = row.device();
        let audit = device.flush_audit.as_ref();
        table.row(source, number, row);
        table.text("path", Some(target.path.clone()));
        table.text("device", disk.cloned());
        table.text("sync_method", method.clone());
        table.real("seconds", row.elapsed_s);
        table.count("device_writes", device.device_writes);
        table.count("device_written_bytes", device.device_written_bytes);
        table.real("device_util_pct", device.device_util_pct);
        table.real("background_write_pct", device.background_write_pct);
        table.count("log_flushes", row.redo().flushes);
        table.count("device_flushes", audit.and_then(|a| a.counted));
    }
    table
}
