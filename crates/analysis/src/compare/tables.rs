//! Tables beside the differences, as study 001 prints them: data and requests, the device's own
//! counters, where the time went, ratios. Imported tables of the same kind stand under each other.

use super::cells::{real, text};
use crate::findings::diagnosis::before_after::{self, BeforeAfter};
use measure::WaitEvent;
use measure::comparison::BEFORE_AFTER;
use measure::imported::{Cell, Column, Table};
use measure::run::{Row, Run};

/// All tables that the runs have something for.
pub(super) fn of<'a>(runs: impl Iterator<Item = (&'a str, &'a Run)>) -> Vec<Table> {
    let runs: Vec<(&str, &Run)> = runs.collect();
    let mut tables = vec![throughput(&runs), device(&runs), events(&runs)];
    tables.extend(evidence_of_both(&runs));
    tables.retain(|t| !t.rows.is_empty());
    add_ratios(&mut tables, runs.first().map_or("", |(name, _)| name));
    tables.extend(imported(&runs));
    tables.extend(super::places::table(&runs));
    tables.retain(|t| !t.rows.is_empty());
    tables
}

/// What two sets of evidence show of the same thing.
fn evidence_of_both(runs: &[(&str, &Run)]) -> Option<Table> {
    let [(base_name, base), (name, other)] = runs else {
        return None;
    };
    let all = before_after::of(base, other);
    let row = |of: BeforeAfter| {
        [of.what, of.before, of.after, of.change]
            .map(Cell::Text)
            .to_vec()
    };
    Some(Table {
        id: BEFORE_AFTER.to_owned(),
        title: "Before and after, and the findings of one alone".to_owned(),
        columns: vec![
            column("what", "What"),
            column("base", base_name),
            column("other", name),
            column("change", "Change"),
        ],
        rows: all.into_iter().map(row).collect(),
        ..Table::default()
    })
}

/// Id of the table of ratios.
pub(super) const RATIOS: &str = "compare_ratios";
const THROUGHPUT: &str = "compare_throughput";
const DEVICE: &str = "compare_device";

/// Whether a column says which row it is, and is no figure of it.
pub(super) fn is_key(column: &str) -> bool {
    matches!(column, "run" | "workload" | "jobs" | "event")
}

fn column(key: &str, heading: &str) -> Column {
    Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    }
}

pub(super) fn table(
    id: &str,
    title: &str,
    columns: &[(&str, &str)],
    rows: Vec<Vec<Cell>>,
) -> Table {
    let first = [("run", "Run"), ("workload", "Workload"), ("jobs", "Jobs")];
    Table {
        id: id.to_owned(),
        title: title.to_owned(),
        file: String::new(),
        line: None,
        columns: first
            .iter()
            .chain(columns)
            .map(|(k, h)| column(k, h))
            .collect(),
        rows,
        ..Table::default()
    }
}

pub(super) fn head(name: &str, row: &Row) -> Vec<Cell> {
    vec![
        text(name),
        text(&row.workload),
        Cell::Count(u64::from(row.jobs)),
    ]
}

/// One line a row of a run, where `cells` has anything to say of it.
fn lines<'a>(runs: &[(&'a str, &'a Run)], cells: impl Fn(&Row) -> Vec<Cell>) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    for (name, run) in runs {
        for row in &run.rows {
            let told = cells(row);
            if told.iter().any(|c| *c != Cell::Blank) {
                lines.push(head(name, row).into_iter().chain(told).collect());
            }
        }
    }
    lines
}

/// A figure that was measured, and is not zero.
fn some(value: Option<f64>) -> Option<f64> {
    value.filter(|v| *v != 0.0)
}

/// The row's measured seconds, where there are any.
fn seconds(row: &Row) -> Option<f64> {
    row.elapsed_s.filter(|s| *s > 0.0)
}

/// Study 001's first table: MB/s and requests/s.
fn throughput(runs: &[(&str, &Run)]) -> Table {
    let rows = lines(runs, |row| {
        vec![
            real(some(row.redo().redo_data_mbps)),
            real(some(row.redo().redo_writes_iops)),
            real(some(row.commit_throughput_tps)),
        ]
    });
    let columns = [
        ("redo_data_mbps", "MB/s"),
        ("redo_writes_iops", "Requests/s"),
        ("commit_throughput_tps", "Commits/s"),
    ];
    table(THROUGHPUT, "Data and requests", &columns, rows)
}

/// What iostat shows, from the device's counters over each row. Queue length and await are not
/// kept in runs, and are left out.
fn device(runs: &[(&str, &Run)]) -> Table {
    let rows = lines(runs, |row| {
        let rate = |n: u64| seconds(row).map(|s| n as f64 / s);
        let writes = row.device().device_writes;
        let bytes = row.device().device_written_bytes;
        let size = bytes.zip(writes.filter(|w| *w > 0));
        vec![
            real(writes.and_then(rate)),
            real(bytes.and_then(rate).map(|b| b / f64::from(1 << 20))),
            real(size.map(|(b, w)| b as f64 / w as f64 / 512.0)),
            real(row.device().device_util_pct),
        ]
    });
    let columns = [
        ("writes_per_s", "w/s"),
        ("written_mbps", "wMB/s"),
        ("avgrq_sectors", "avgrq-sz"),
        ("util_pct", "%util"),
    ];
    table(
        DEVICE,
        "The device's own counters (as iostat)",
        &columns,
        rows,
    )
}

/// Where the sessions' time went. The share is of jobs × elapsed time; what the log writer waits
/// for is none of it.
fn events(runs: &[(&str, &Run)]) -> Table {
    let mut rows = Vec::new();
    for (name, run) in runs {
        for row in &run.rows {
            let mut found: Vec<_> = WaitEvent::ALL
                .iter()
                .filter_map(|e| Some((*e, row.wait(*e).filter(|w| w.count > 0)?)))
                .collect();
            found.sort_by_key(|(_, w)| std::cmp::Reverse(w.total_ns));
            for (event, stats) in found.into_iter().take(5) {
                let foreground =
                    matches!(event, WaitEvent::LogFileSync | WaitEvent::LogBufferSpace);
                let all = f64::from(row.jobs) * row.elapsed_ns.unwrap_or(0) as f64;
                let share = (foreground && all > 0.0).then(|| 100.0 * stats.total_ns as f64 / all);
                let mut line = head(name, row);
                line.extend([
                    text(event.name()),
                    Cell::Count(stats.count),
                    Cell::Real(stats.total_ns as f64 / 1e9),
                    Cell::Real(stats.mean_ns / 1e6),
                    real(share),
                ]);
                rows.push(line);
            }
        }
    }
    let columns = [
        ("event", "Event"),
        ("waits", "Waits"),
        ("time_s", "Time s"),
        ("avg_wait_ms", "Avg wait ms"),
        ("session_time_pct", "% of session time"),
    ];
    table("compare_events", "Top wait events", &columns, rows)
}

/// Adds study 001's claims behind the tables that they are computed from: so many times the data,
/// the writes, the commits of the base. Each is recomputed from the cells that are printed.
pub(super) fn add_ratios(tables: &mut Vec<Table>, base: &str) {
    let by_id = |id: &str| tables.iter().find(|t| t.id == id);
    let (found, device) = (by_id(THROUGHPUT), by_id(DEVICE));
    let Some(found) = found else { return };
    let mut rows = Vec::new();
    for (at, row) in found.rows.iter().enumerate() {
        let Some(Cell::Text(name)) = row.first().filter(|name| **name != text(base)) else {
            continue;
        };
        // The same row of another run; points of a sweep have one name and come in one order.
        let load = |row: &[Cell]| row.get(1..3).map(<[Cell]>::to_vec);
        let of_run = |rows: &[Vec<Cell>], run: &str| -> Vec<Vec<Cell>> {
            let own = |r: &&Vec<Cell>| r.first() == Some(&text(run)) && load(r) == load(row);
            rows.iter().filter(own).cloned().collect()
        };
        let place = of_run(&found.rows[..at], name).len();
        let over = |table: Option<&Table>, column: &str| {
            let table = table?;
            let column = table.columns.iter().position(|c| c.key == column)?;
            let figure = |run: &str| {
                let rows = of_run(&table.rows, run);
                match rows.get(place)?.get(column)? {
                    Cell::Real(x) => Some(*x).filter(|x| *x > 0.0),
                    Cell::Count(n) => Some(*n as f64).filter(|x| *x > 0.0),
                    _ => None,
                }
            };
            Some(figure(name)? / figure(base)?)
        };
        let ratios = [
            over(Some(found), "redo_data_mbps"),
            over(Some(found), "redo_writes_iops"),
            over(device, "writes_per_s"),
            over(Some(found), "commit_throughput_tps"),
        ];
        if ratios.iter().any(Option::is_some) {
            let head = row.iter().take(3).cloned();
            rows.push(head.chain(ratios.map(real)).collect());
        }
    }
    let columns = [
        ("data_ratio", "× data"),
        ("log_writes_ratio", "× log writes"),
        ("device_writes_ratio", "× device writes"),
        ("commits_ratio", "× commits"),
    ];
    let made = table(RATIOS, "Ratios to the base", &columns, rows);
    tables.extend((!made.rows.is_empty()).then_some(made));
}

/// Tables of the evidence that several imported runs have alike: joined under their runs' names.
fn imported(runs: &[(&str, &Run)]) -> Vec<Table> {
    let tables_of = |run: &Run| run.imported.iter().flat_map(|i| i.tables.clone()).collect();
    let all: Vec<(&str, Vec<Table>)> = runs.iter().map(|(n, r)| (*n, tables_of(r))).collect();
    let mut joined = Vec::new();
    let Some(((first, base), others)) = all.split_first() else {
        return joined;
    };
    for (i, table) in base.iter().enumerate() {
        let keys = |t: &Table| -> Vec<String> { t.columns.iter().map(|c| c.key.clone()).collect() };
        let alike = |t: &&Table| t.id == table.id && keys(t) == keys(table);
        if base.iter().take(i).any(|t| alike(&t)) {
            continue;
        }
        let mut whole = table.clone();
        whole.columns.insert(0, column("run", "Run"));
        whole.rows.clear();
        // Its rows are of several runs, and of one column more.
        whole.origins.clear();
        whole.formulas.clear();
        let mut sides = 1;
        let mut add = |name: &str, tables: &[Table]| {
            let found: Vec<&Table> = tables.iter().filter(alike).collect();
            for line in found.iter().flat_map(|t| &t.rows) {
                whole.rows.push(
                    std::iter::once(text(name))
                        .chain(line.iter().cloned())
                        .collect(),
                );
            }
            !found.is_empty()
        };
        add(first, base);
        for (name, tables) in others {
            sides += usize::from(add(name, tables));
        }
        if sides > 1 {
            (whole.file, whole.line) = (String::new(), None);
            joined.push(whole);
        }
    }
    joined
}
