//! Figures of evidence by their place: which table, which row, which column. Two sources are
//! compared place by place, whatever their files are called.
//!
//! Several rows at one place, such as the reports of `iostat`, are averaged; how many they were is
//! kept.

use crate::compare::metrics;
use measure::imported::{Cell, Table};
use measure::run::Run;
use std::collections::BTreeMap;

/// Heading of a mean that is computed of a sum and a number of waits.
pub(crate) const TIME_PER_WAIT: &str = "Time / waits (ms)";
/// Columns that say what a row is about.
const IDENTITY: [&str; 21] = [
    "name",
    "event",
    "device",
    "process",
    "statistic",
    "function",
    "test",
    "operation",
    "method",
    "call",
    "what",
    "metric",
    "platform",
    "workload",
    "nodes",
    "jobs",
    "snapshot",
    "wait_time_milli",
    "wait_time_micro",
    "wait_time_under_ms",
    "bytes_per_write",
];
/// Columns that say where or when a row was read, and figures that redolab computed of others.
const NO_FIGURE: [&str; 6] = [
    "report",
    "line",
    "run",
    "implied_window_s",
    "implied_window_decimal_s",
    "half_digit",
];
/// Tables whose rows are not figures of a system.
const NO_SYSTEM: [&str; 9] = [
    "claims",
    "column_pairing",
    "commit_modes",
    "parameters",
    "platform_spelling",
    "size_claims",
    "stated_unlike",
    "stated_window",
    "sweep_peaks",
];

/// A figure at its place.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedFigure {
    /// Id of the table.
    pub table: String,
    /// Title of the table, without what is in parentheses at its end.
    pub title: String,
    /// What is in parentheses at the end of the title: what the page calls the listing.
    pub label: String,
    /// What the row is about: event, device, function, in the order of the columns.
    pub names: Vec<String>,
    /// Key of the column.
    pub key: String,
    /// Heading of the column.
    pub heading: String,
    /// The figure; the mean of `rows` rows.
    pub value: f64,
    /// Rows at this place.
    pub rows: u64,
    /// The file, and the line of the table's heading.
    pub origin: String,
    /// redolab computed it from other columns of the row.
    pub is_computed: bool,
}

/// The figures of a run: of its tables if it was imported, else of its rows.
#[must_use]
pub fn of(run: &Run) -> Vec<PlacedFigure> {
    match run.imported {
        Some(_) => of_tables(run),
        None => of_rows(run),
    }
}

/// The figures of a run's rows: its metrics, and the waits of each event.
fn of_rows(run: &Run) -> Vec<PlacedFigure> {
    let mut found = Vec::new();
    for row in &run.rows {
        let mut add = |names: Vec<String>, key: &str, unit: &str, value: Option<f64>| {
            let unit = match unit {
                "" => String::new(),
                unit => format!(" ({unit})"),
            };
            found.extend(value.map(|value| PlacedFigure {
                table: "rows".to_owned(),
                title: row.label(),
                label: String::new(),
                names,
                key: key.to_owned(),
                heading: format!("{key}{unit}"),
                value,
                rows: 1,
                origin: run.run_id.clone(),
                is_computed: false,
            }));
        };
        for metric in &metrics::ROW {
            add(Vec::new(), metric.key, metric.unit, metric.of(row));
        }
        for event in metrics::events() {
            let stats = metrics::wait_of(row, event);
            for metric in metrics::WAIT.iter().filter(|m| m.statistic.is_some()) {
                let value = stats.and_then(|s| metric.of(s));
                add(vec![event.to_owned()], metric.name, metric.unit, value);
            }
        }
    }
    found
}

/// What kind of process a trace is of, from the name of its file as Oracle forms it
/// (`orcl_lg00_1234.trc`): `LGWR`, `LG00`, `foreground`; `process` if the name does not show it.
#[must_use]
pub fn role(process: &str) -> String {
    let file = process
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(process)
        .to_lowercase();
    let words = file.split(|c: char| !c.is_alphanumeric());
    for word in words {
        let rest = |start: &str| {
            word.strip_prefix(start)
                .map(|r| r.chars().collect::<Vec<_>>())
        };
        let worker = rest("lg").is_some_and(|r| r.len() == 2 && r.iter().all(char::is_ascii_digit));
        let writer = rest("dbw").is_some_and(|r| r.len() == 1);
        if worker || writer || word == "lgwr" || word == "ckpt" {
            return word.to_uppercase();
        }
        if word == "ora" {
            return "foreground".to_owned();
        }
    }
    "process".to_owned()
}

/// The figures of a run's tables, in the order of the tables.
fn of_tables(run: &Run) -> Vec<PlacedFigure> {
    let mut found: Vec<PlacedFigure> = Vec::new();
    let mut places: BTreeMap<(String, String, Vec<String>, String), usize> = BTreeMap::new();
    let mut snapshots: Vec<String> = Vec::new();
    for table in run.imported.iter().flat_map(|i| &i.tables) {
        if NO_SYSTEM.contains(&table.id.as_str()) {
            continue;
        }
        for figure in of_table(table, &mut snapshots) {
            let place = (
                figure.table.clone(),
                figure.label.clone(),
                figure.names.clone(),
                figure.key.clone(),
            );
            match places.get(&place).and_then(|i| found.get_mut(*i)) {
                Some(known) => {
                    known.rows += 1;
                    known.value += (figure.value - known.value) / known.rows as f64;
                }
                None => {
                    places.insert(place, found.len());
                    found.push(figure);
                }
            }
        }
    }
    found
}

fn of_table(table: &Table, snapshots: &mut Vec<String>) -> Vec<PlacedFigure> {
    let at = |key: &str| table.columns.iter().position(|c| c.key == key);
    let identity: Vec<usize> = (0..table.columns.len())
        .filter(|i| IDENTITY.contains(&table.columns[*i].key.as_str()))
        .collect();
    if identity.is_empty() {
        return Vec::new();
    }
    let (title, label) = split_title(&table.title);
    let line = table.line.map_or(String::new(), |l| format!(":{l}"));
    let covers = at("covers");
    let mut found = Vec::new();
    for row in &table.rows {
        let since_boot = Cell::Text("since boot".to_owned());
        if covers.is_some_and(|i| row.get(i) == Some(&since_boot)) {
            continue;
        }
        let mut name = |i: &usize| {
            let name = named(row.get(*i)?)?;
            Some(match table.columns.get(*i).map(|c| c.key.as_str()) {
                Some("process") => role(&name),
                Some("snapshot") => in_order(snapshots, name),
                _ => name,
            })
        };
        let names: Vec<String> = identity.iter().filter_map(&mut name).collect();
        let mut add = |key: &str, heading: &str, value: f64, is_computed: bool| {
            found.push(PlacedFigure {
                table: table.id.clone(),
                title: title.to_owned(),
                label: label.to_owned(),
                names: names.clone(),
                key: key.to_owned(),
                heading: heading.to_owned(),
                value,
                rows: 1,
                origin: format!("{}{line}", table.file),
                is_computed,
            });
        };
        for (i, column) in table.columns.iter().enumerate() {
            let skipped = identity.contains(&i) || NO_FIGURE.contains(&column.key.as_str());
            if let Some(value) = row.get(i).and_then(number).filter(|_| !skipped) {
                add(&column.key, &column.heading, value, false);
            }
        }
        let cell = |key: &str| at(key).and_then(|i| row.get(i)).and_then(number);
        if let (Some(time), Some(waits)) = (cell("time_s"), cell("waits").filter(|w| *w > 0.0)) {
            // A printed average in whole milliseconds is too coarse to be compared.
            add("time_per_wait_ms", TIME_PER_WAIT, 1e3 * time / waits, true);
        }
    }
    found
}

/// A snapshot by its order in the run, since its number is another one in another run.
fn in_order(known: &mut Vec<String>, name: String) -> String {
    let at = known.iter().position(|k| *k == name).unwrap_or_else(|| {
        known.push(name);
        known.len() - 1
    });
    format!("snapshot {}", at + 1)
}

fn number(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Count(n) => Some(*n as f64),
        Cell::Real(x) => Some(*x).filter(|x| x.is_finite()),
        Cell::Blank | Cell::Text(_) => None,
    }
}

fn named(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()).filter(|t| !t.is_empty()),
        Cell::Count(n) => Some(n.to_string()),
        Cell::Real(x) => Some(x.to_string()),
        Cell::Blank => None,
    }
}

/// `Top timed events (SSD)` into the title and `SSD`.
fn split_title(title: &str) -> (&str, &str) {
    let inner = title.strip_suffix(')').and_then(|t| t.rsplit_once(" ("));
    inner.unwrap_or((title, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::imported::{Column, Imported};

    fn run(tables: Vec<Table>) -> Run {
        Run {
            imported: Some(Imported {
                tables,
                ..Imported::default()
            }),
            ..crate::findings::fixture::clean_run()
        }
    }

    #[test]
    fn a_process_has_its_role_and_not_its_file() {
        for (file, wanted) in [
            ("/u01/trace/orcl1_lg00_4711.trc", "LG00"),
            ("orcl_lgwr_12.trc.gz", "LGWR"),
            ("orcl_ora_99.trc", "foreground"),
            ("lgwrite.trc", "process"),
            ("C:\\x\\orcl_dbw0_1.trc", "DBW0"),
            ("", "process"),
        ] {
            assert_eq!(role(file), wanted, "{file}");
        }
    }

    #[test]
    fn reports_are_averaged_and_what_is_since_boot_is_left_out() {
        let columns = ["report", "covers", "device", "util_pct"].map(|key| Column {
            key: key.to_owned(),
            heading: key.to_owned(),
        });
        let row = |report: u64, covers: &str, util: Cell| {
            let text = |t: &str| Cell::Text(t.to_owned());
            vec![Cell::Count(report), text(covers), text("sdb"), util]
        };
        let table = Table {
            id: "iostat".to_owned(),
            title: "iostat (SSD)".to_owned(),
            columns: columns.to_vec(),
            rows: vec![
                row(1, "since boot", Cell::Real(90.0)),
                row(2, "interval", Cell::Real(10.0)),
                row(3, "interval", Cell::Blank),
                row(4, "interval", Cell::Real(20.0)),
            ],
            ..Table::default()
        };
        let found = of_tables(&run(vec![table]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].value, found[0].rows), (15.0, 2));
        assert_eq!(
            (found[0].title.as_str(), found[0].label.as_str()),
            ("iostat", "SSD")
        );
        assert_eq!(found[0].names, ["sdb"]);
    }
}
