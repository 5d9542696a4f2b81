//! Which columns of a run's rows a view shows: those that people ask for first, those of study 003,
//! or the ones that are named.
//!
//! Invariants: a name of a column is a key of the catalogue, and so of CSV; a column that no row
//! has a value for is left out unless it was named; all times of the default view have one unit,
//! which its headings name.

use super::row_cells::cell;
use super::{AccountTable, Body, ColumnHeading, ColumnRole, Section, Shown};
use measure::catalogue::{self, COMMIT_LATENCY, Metric};
use measure::run::{Row, Run};
use measure::words::sanitize;
use measure::workload::TPROC_C_NOTICE;
use std::borrow::Cow;

/// The columns that a view shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Columns {
    /// Workload, jobs, commits per second, percentiles, redo, group commit, processors.
    #[default]
    Usual,
    /// The columns of study 003, and what else redolab has of a row but percentiles.
    Study,
    /// These, in this order.
    Named(Vec<&'static str>),
}

/// How many names are suggested for one that is unknown.
const SUGGESTED: usize = 3;

impl Columns {
    /// Reads `study` or names that are separated by commas.
    ///
    /// # Errors
    /// An unknown name, with those that are most alike.
    pub fn read(text: &str) -> Result<Columns, String> {
        if text == "study" {
            return Ok(Columns::Study);
        }
        let known = |name: &str| catalogue::all().find(|m| m.key == name).map(|m| m.key);
        let read = |name| known(name).ok_or_else(|| unknown(name));
        let named: Vec<&str> = text
            .split(',')
            .map(|name| read(name.trim()))
            .collect::<Result<_, _>>()?;
        Ok(Columns::Named(named))
    }
}

fn unknown(name: &str) -> String {
    let mut scored: Vec<(usize, &str)> = catalogue::all()
        .map(|m| (likeness(name, m.key), m.key))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, key)| (std::cmp::Reverse(*score), key.len()));
    let near: Vec<&str> = scored.iter().take(SUGGESTED).map(|(_, key)| *key).collect();
    let hint = match near.as_slice() {
        [] => "use study, or keys of CSV such as workload,jobs,log_file_sync_p99_ms".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    format!(
        "there is no column `{}`; {hint} (docs/metrics.md lists them all)",
        sanitize::line(name)
    )
}

/// How alike two keys are: characters of the words that they share, and of words that begin alike.
fn likeness(name: &str, key: &str) -> usize {
    let name = name.to_ascii_lowercase();
    let words = name.split(['_', '-', '.', ' ', '/']);
    let shared = |word: &str| {
        let alike = |known: &str| {
            let pairs = word.bytes().zip(known.bytes());
            let same = pairs.take_while(|(a, b)| a == b).count();
            match word == known {
                true => same + 2,
                false => same,
            }
        };
        key.split('_').map(alike).max().filter(|n| *n >= 3)
    };
    let all: usize = words.filter_map(shared).sum();
    // A key that has everything and little else comes first.
    all * 8 / (8 + key.len().abs_diff(name.len()))
}

/// A column with its cells, one for each row.
#[derive(Clone, Debug)]
pub struct RowColumn {
    /// Key of the metric.
    pub key: &'static str,
    /// Titles of the columns that belong together, the longest first; empty for a column of its
    /// own.
    pub group: &'static [&'static str],
    /// Heading; lines are separated by `\n`.
    pub heading: String,
    /// What the rows have.
    pub cells: Vec<Shown>,
    /// Aligned to the left.
    pub is_text: bool,
}

/// The columns of a view.
#[derive(Clone, Debug)]
pub struct RowTable {
    /// In order.
    pub columns: Vec<RowColumn>,
    /// Keys of columns that are left out where they do not fit, the first first. A column that is
    /// not in it stays.
    pub drop_first: &'static [&'static str],
    /// Units, in a sentence.
    pub units: String,
}

/// What the study's view drops first where it is narrow. What is not named stays.
const STUDY_DROP_FIRST: [&str; 33] = [
    "log_write_warnings",
    "neighbour_fsync_max_us",
    "neighbour_fsync_p50_us",
    "neighbour_fsyncs",
    "archived_bytes",
    "archived_files",
    "log_checkpoints",
    "data_blocks_written",
    "nowait_window_bytes",
    "nowait_window_ms",
    "flash_cache_write_pct",
    "redo_size_bytes",
    "redo_wastage_bytes",
    "device_writes",
    "commits",
    "context_switches_per_commit",
    "flushes",
    "log_file_sync_switches",
    "redo_bytes_per_txn",
    "cpu_us_per_commit",
    "commits_per_write",
    "log_file_sync_polled_pct",
    "nodes",
    "cpu_idle_pct",
    "cpu_iowait_pct",
    "cpu_user_pct",
    "cpu_sys_pct",
    "redo_synch_writes_iops",
    "redo_blocks_per_s",
    "elapsed_s",
    "redo_data_kb_per_txn",
    "cpu_busy_pct",
    "redo_writes_iops",
];

/// What the default view drops first.
const USUAL_DROP_FIRST: [&str; 12] = [
    "commits_per_write",
    "log_file_sync_p50_ms",
    "commit_latency_p50_ms",
    "lateness_ms",
    "log_file_sync_p999_ms",
    "commit_latency_p999_ms",
    "log_file_parallel_write_p99_ms",
    "threads",
    "cpu_busy_pct",
    "redo_data_mbps",
    "log_file_parallel_write_ms",
    "log_file_sync_max_ms",
];

/// As study 003 has them.
const UNITS: &str = "1 MB = 1024 kB = 1,048,576 bytes (1 MiB).";

/// The view of a run's rows.
#[must_use]
pub fn grid(run: &Run, columns: &Columns) -> RowTable {
    let column = |m: &Metric| catalogue_column(run, m);
    match columns {
        Columns::Usual => usual(run),
        Columns::Study => RowTable {
            columns: catalogue::ROW
                .iter()
                .map(column)
                .filter(has_figures)
                .collect(),
            drop_first: &STUDY_DROP_FIRST,
            units: UNITS.to_owned(),
        },
        Columns::Named(keys) => RowTable {
            columns: keys
                .iter()
                .filter_map(|key| catalogue::all().find(|m| m.key == *key))
                .map(column)
                .collect(),
            drop_first: &[],
            units: UNITS.to_owned(),
        },
    }
}

fn has_figures(column: &RowColumn) -> bool {
    column.cells.iter().any(|cell| *cell != Shown::Missing)
}

fn catalogue_column(run: &Run, metric: &Metric) -> RowColumn {
    let value = |row| cell(row, metric.key).unwrap_or(Shown::Missing);
    RowColumn {
        key: metric.key,
        group: &[],
        heading: metric.heading.replacen(' ', "\n", 1),
        cells: run.rows.iter().map(value).collect(),
        is_text: metric.key == "workload",
    }
}

/// The unit of the times of a view.
#[derive(Clone, Copy)]
enum TimeUnit {
    Milliseconds,
    Microseconds,
}

/// Below this mean, in milliseconds, of every wait in it a view has microseconds.
const MICROSECONDS_BELOW_MS: f64 = 0.1;

impl TimeUnit {
    fn of(run: &Run, keys: &[&str]) -> TimeUnit {
        let means = run.rows.iter().flat_map(|row| {
            let mean = |key: &&str| match cell(row, key) {
                Some(Shown::Number(ms)) => Some(ms),
                _ => None,
            };
            keys.iter().filter_map(mean)
        });
        match means.fold(0.0, f64::max) {
            longest if longest > 0.0 && longest < MICROSECONDS_BELOW_MS => TimeUnit::Microseconds,
            _ => TimeUnit::Milliseconds,
        }
    }

    fn word(self) -> &'static str {
        match self {
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Microseconds => "µs",
        }
    }

    fn shown(self, cell: Shown) -> Shown {
        match (self, cell) {
            (TimeUnit::Microseconds, Shown::Number(ms)) => Shown::Number(ms * 1e3),
            (_, cell) => cell,
        }
    }
}

const NO_GROUP: &[&str] = &[];
const SYNC_MS: &[&str] = &["log file sync (ms)", "LFS (ms)"];
const SYNC_US: &[&str] = &["log file sync (µs)", "LFS (µs)"];
const WRITE_MS: &[&str] = &["log file parallel write (ms)", "LFPW (ms)"];
const WRITE_US: &[&str] = &["log file parallel write (µs)", "LFPW (µs)"];
const LATENCY_MS: &[&str] = &["transaction (ms)"];
const LATENCY_US: &[&str] = &["transaction (µs)"];

/// The columns that people ask for first.
fn usual(run: &Run) -> RowTable {
    // A server's sessions wait for their transactions, whose log file sync nobody sees.
    let has_sync = run.rows.iter().any(|row| row.log_file_sync_ms.is_some());
    let wait = match has_sync {
        true => "log_file_sync",
        false => COMMIT_LATENCY,
    };
    let mean = [
        format!("{wait}_ms"),
        "log_file_parallel_write_ms".to_owned(),
    ];
    let unit = TimeUnit::of(run, &mean.each_ref().map(String::as_str));
    let (waits, writes) = match (unit, has_sync) {
        (TimeUnit::Milliseconds, true) => (SYNC_MS, WRITE_MS),
        (TimeUnit::Microseconds, true) => (SYNC_US, WRITE_US),
        (TimeUnit::Milliseconds, false) => (LATENCY_MS, WRITE_MS),
        (TimeUnit::Microseconds, false) => (LATENCY_US, WRITE_US),
    };
    let mut wanted: Vec<(String, &'static [&'static str], &'static str)> = Vec::new();
    let mut want = |key: &str, group, heading| wanted.push((key.to_owned(), group, heading));
    want("workload", NO_GROUP, "Workload");
    if run.rows.iter().any(|row| row.nodes > 1) {
        want("nodes", NO_GROUP, "Nodes");
    }
    if crate::has_jobs(run) {
        want("jobs", NO_GROUP, "Jobs");
    }
    want("threads", NO_GROUP, "Threads");
    want("offered_tps", NO_GROUP, "Offered\n/s");
    want("commit_throughput_tps", NO_GROUP, "Commits\n/s");
    want("backlog_end", NO_GROUP, "Backlog");
    want("nopm", NO_GROUP, "NOPM");
    want("tpm", NO_GROUP, "TPM");
    for (figure, heading) in [
        ("", "mean"),
        ("_p50", "p50"),
        ("_p99", "p99"),
        ("_p999", "p99.9"),
        ("_max", "max"),
    ] {
        want(&format!("{wait}{figure}_ms"), waits, heading);
    }
    want("log_file_parallel_write_ms", writes, "mean");
    want("log_file_parallel_write_p99_ms", writes, "p99");
    want("redo_data_mbps", NO_GROUP, "Redo\nMB/s");
    want("commits_per_write", NO_GROUP, "Commits\n/write");
    want("cpu_busy_pct", NO_GROUP, "CPU\n%");
    let columns = wanted
        .into_iter()
        .filter_map(|(key, group, heading)| usual_column(run, &key, group, heading, unit));
    RowTable {
        columns: columns.filter(has_figures).collect(),
        drop_first: &USUAL_DROP_FIRST,
        units: format!("Times in {}. {UNITS}", unit.word()),
    }
}

fn usual_column(
    run: &Run,
    key: &str,
    group: &'static [&'static str],
    heading: &str,
    unit: TimeUnit,
) -> Option<RowColumn> {
    let metric = catalogue::all().find(|m| m.key == key)?;
    let is_text = key == "workload";
    let value = |row: &Row| match (is_text, group.is_empty()) {
        (true, _) => Shown::Text(row.label()),
        (false, true) => cell(row, metric.key).unwrap_or(Shown::Missing),
        (false, false) => unit.shown(cell(row, metric.key).unwrap_or(Shown::Missing)),
    };
    Some(RowColumn {
        key: metric.key,
        group,
        heading: heading.to_owned(),
        cells: run.rows.iter().map(value).collect(),
        is_text,
    })
}

/// The rows of a run in the columns of a view.
#[must_use]
pub fn rows(run: &Run, columns: &Columns) -> Section {
    let grid = grid(run, columns);
    let heading = |column: &RowColumn| {
        let metric = catalogue::all().find(|metric| metric.key == column.key);
        let group = column
            .group
            .first()
            .and_then(|group| group.rsplit_once(" ("));
        let (name, unit) = match (columns, group, metric) {
            (_, Some((group, unit)), _) => {
                let name = format!("{group} {}", column.heading);
                (Cow::Owned(name), unit.trim_end_matches(')'))
            }
            (Columns::Study | Columns::Named(_), None, Some(metric)) => {
                (Cow::Borrowed(metric.heading), unit_below(metric))
            }
            (_, None, _) => {
                let one_line = column.heading.replace("\n/", "/").replace('\n', " ");
                (Cow::Owned(one_line), "")
            }
        };
        ColumnHeading {
            name,
            unit,
            meaning: metric.map_or("", |metric| metric.definition),
            role: match column.is_text {
                true => ColumnRole::Label,
                false => ColumnRole::Figure,
            },
        }
    };
    let cells = |at: usize| grid.columns.iter().map(move |of| of.cells[at].clone());
    let lines: Vec<Vec<Shown>> = (0..run.rows.len()).map(|at| cells(at).collect()).collect();
    let mut body = match lines.is_empty() {
        true => vec![Body::Text(
            "No row was completed: there are no figures to show.".to_owned(),
        )],
        false => {
            let columns = grid.columns.iter().map(heading).collect();
            let table = AccountTable { columns, lines };
            vec![Body::Table(table), Body::Text(grid.units)]
        }
    };
    if run.rows.iter().any(|row| row.tproc_c.is_some()) {
        body.push(Body::Text(TPROC_C_NOTICE.to_owned()));
    }
    let about = "One row for each workload and number of jobs. Commit latency is measured for each \
                 transaction; log file sync is the part of it that waits for the log.";
    Section::of("rows", "Rows", about, body)
}

/// A metric's unit, where its heading doesn't carry it.
fn unit_below(metric: &Metric) -> &'static str {
    const CARRIED: [&str; 8] = ["%", "ms", "s", "tps", "rbps", "IOPS", "MBps", "kBpt"];
    let last = metric.heading.rsplit(' ').next().unwrap_or_default();
    match metric.heading.contains('/') || CARRIED.contains(&last) {
        true => "",
        false => metric.unit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;

    #[test]
    fn names_are_keys_and_unknown_ones_are_answered() {
        assert_eq!(Columns::read("study"), Ok(Columns::Study));
        assert_eq!(
            Columns::read("jobs, log_file_sync_p99_ms"),
            Ok(Columns::Named(vec!["jobs", "log_file_sync_p99_ms"]))
        );
        for (wrong, likely) in [
            ("log_file_sync_p99", "log_file_sync_p99_ms"),
            ("commit_throughput", "commit_throughput_tps"),
            ("cpu_busy", "cpu_busy_pct"),
            ("jobs,,workload", "use study"),
            ("\u{1b}[2J", "use study"),
        ] {
            let refused = Columns::read(wrong).expect_err("no such column");
            assert!(refused.contains(likely), "{refused}");
            assert!(!refused.contains('\u{1b}'), "{refused:?}");
        }
    }

    #[test]
    fn what_may_be_dropped_is_a_column() {
        let known = |key: &&&str| catalogue::all().any(|m| m.key == **key);
        for keys in [&STUDY_DROP_FIRST[..], &USUAL_DROP_FIRST] {
            assert_eq!(keys.iter().filter(known).count(), keys.len());
        }
    }

    #[test]
    fn short_times_are_in_microseconds_all_of_them() {
        let mut run = clean_run();
        let heading = |run: &Run| grid(run, &Columns::Usual).columns[3].group[0];
        assert_eq!(heading(&run), "log file sync (ms)");
        for row in &mut run.rows {
            row.waits.clear();
            row.log_file_sync_ms = Some(0.0123);
        }
        assert_eq!(heading(&run), "log file sync (µs)");
        let cells = &grid(&run, &Columns::Usual).columns[3].cells;
        assert_eq!(cells[0].words(""), "12.3");
    }
}
