//! What each grid of a report is, by its headings; and the run's row that all of them give.

use super::cell::GridCell;
use super::listed::ListedStatistics;
use super::over::SharesOver;
use super::storage::StorageSections;
use super::{Grid, events, instances, io, rows, squeeze, views};
use crate::Notes;
use crate::gathered::Gathered;
use crate::notes::quote;
use crate::origin::SourcedCell;
use crate::sheets::Sheets;
use crate::tables::row;
use measure::imported::{Cell, Severity};
use measure::origin::TextSpan;
use measure::printed;
use measure::run::{ProcessorFigures, RedoFigures, Row, measured};
use std::collections::BTreeMap;

/// Statistics of the instance that concern redo and commits: these and all that begin so.
const STATISTICS: &[&str] = &["redo ", "user commits", "user rollbacks", "log switches"];
/// Parameters that bear on commits and the log writer.
const PARAMETERS: &[&str] = &[
    "commit_",
    "log_buffer",
    "_log_",
    "log_archive_dest",
    "log_checkpoint",
    "_use_adaptive",
    "_use_single_log_writer",
    "_max_outstanding_log",
    "filesystemio_options",
    "disk_asynch_io",
    "fast_start_mttr_target",
];

/// What the grids gave so far.
#[derive(Debug, Default)]
pub struct ReportFigures {
    /// What the report says of itself.
    pub facts: Vec<(String, String)>,
    /// Time between the snapshots: seconds, and the words.
    elapsed: Option<[SourcedCell; 2]>,
    profile: BTreeMap<String, f64>,
    statistics: BTreeMap<String, f64>,
    listed: ListedStatistics,
    storage: StorageSections,
    sync_ms: Option<f64>,
    cpu: Option<[f64; 4]>,
    comma_said: bool,
    over: SharesOver,
    /// The report prints decimal commas: `66.310` is grouped there.
    commas: bool,
}

impl ReportFigures {
    /// Takes a grid, if it is one of those that are read.
    pub fn grid(&mut self, grid: &Grid, sheets: &mut Sheets, notes: &mut Notes) {
        let grid = rows::only_fitting(grid, notes);
        self.commas |= prints_commas(&grid);
        if self.commas {
            self.comma(&grid, notes);
            self.pointed_grid(&pointed(&grid), sheets, notes);
        } else {
            self.pointed_grid(&grid, sheets, notes);
        }
    }

    /// Takes a grid whose numbers have decimal points.
    fn pointed_grid(&mut self, grid: &Grid, sheets: &mut Sheets, notes: &mut Notes) {
        if let Some(each) = instances::apart(grid, sheets, notes) {
            for own in &each {
                let own = rows::only_fitting(own, notes);
                self.comma(&own, notes);
                events::waits(&own, sheets);
            }
            return;
        }
        let first = grid
            .headings
            .first()
            .map(|h| squeeze(h))
            .unwrap_or_default();
        let has = |name: &str| grid.column(|h| h == name).is_some();
        // The section's own title stands above these headings.
        let ends = |s: &str| grid.column(|h| h.ends_with(s)).is_some();
        if has("persecond") && has("pertransaction") {
            self.load_profile(grid, sheets);
        } else if has("snaptime") && has("snapid") {
            self.snapshots(grid);
            facts_lines(grid, notes);
        } else if [
            "dbname",
            "database",
            "hostname",
            "instance",
            "host",
            "containerdbid",
        ]
        .contains(&first.as_str())
        {
            self.facts(grid);
            facts_lines(grid, notes);
        } else if first == "event"
            && has("waits")
            && grid
                .column(|h| h.contains("time") && !h.contains("out"))
                .is_some()
        {
            count_cells(grid, notes);
            self.comma(grid, notes);
            self.sync_ms = events::waits(grid, sheets).or(self.sync_ms);
        } else if first == "event" && events::is_histogram(grid) {
            events::histogram(grid, sheets, &mut self.over);
        } else if ["functionname", "filetypename"].contains(&first.as_str())
            || (first == "function" && ends("requests/sec"))
        {
            count_cells(grid, notes);
            io::by(grid, sheets);
        } else if first == "statistic" && has("total") {
            self.statistics(grid, sheets, notes);
        } else if ends("user") && ends("idle") && ends("system") {
            self.host_cpu(grid, sheets);
        } else if first == "parametername" {
            parameters(grid, sheets, notes);
        } else {
            let is_taken = self.storage.take(grid, sheets) || views::take(grid, sheets);
            if let Some((last, _)) = grid.rows.last().filter(|_| !is_taken) {
                let name = grid_name(grid);
                let why = || format!("section {name}: not read");
                notes.lines.passed(grid.line, *last, why);
            }
        }
    }

    fn comma(&mut self, grid: &Grid, notes: &mut Notes) {
        let comma = |cell: &GridCell| printed::number(cell).is_some_and(|n| n.comma);
        let found = grid.rows.iter().find(|(_, row)| row.iter().any(comma));
        if let Some((line, _)) = found.filter(|_| !self.comma_said) {
            self.comma_said = true;
            notes.add(
                Severity::Note,
                "awr.decimal_comma",
                Some(*line),
                None,
                || "numbers have decimal commas, and are read as such".to_owned(),
            );
        }
    }

    /// One line `name: per second, per transaction, …`.
    fn load_profile(&mut self, grid: &Grid, sheets: &mut Sheets) {
        let columns = [
            ("name", "Load Profile"),
            ("per_second", "Per Second"),
            ("per_transaction", "Per Transaction"),
        ];
        let table = sheets.open("load_profile", "Load profile", grid.line, &columns);
        for (number, row) in &grid.rows {
            let Some(name) = row.first().map(|n| n.without_end(':')) else {
                continue;
            };
            let cell = |i: usize| row.get(i).map_or_else(SourcedCell::blank, GridCell::number);
            if let Some(n) = row.get(1).and_then(|c| printed::plain(c)) {
                self.profile.insert(squeeze(&name), n);
            }
            sheets.sourced_row(table, *number, vec![name.sourced(), cell(1), cell(2)]);
        }
    }

    fn snapshots(&mut self, grid: &Grid) {
        for (_, row) in &grid.rows {
            let first = row.first().map_or("", |c| &**c);
            // Reports as text print the name before the first column: `Begin Snap:  38483`.
            let (name, number) = first.split_once(':').unwrap_or((first, ""));
            let more = row.iter().skip(1).map(|c| c.trim());
            let rest: Vec<&str> = std::iter::once(number.trim()).chain(more).collect();
            let rest = rest.join(" ");
            let at = row.iter().skip(1).find_map(|c| c.span);
            self.snapshot_line(name, rest.trim(), at);
        }
    }

    /// `Elapsed: 60.25 (mins)`, `Begin Snap: 38483 …`; `at` is where `rest` begins.
    pub fn snapshot_line(&mut self, name: &str, rest: &str, at: Option<TextSpan>) {
        let name = name.trim().trim_end_matches(':');
        let mut words = rest.split_whitespace();
        let shown = words.next().unwrap_or_default();
        let number = printed::plain(shown);
        // What stands behind the unit is another figure of the same line.
        let first = &rest[..rest.find(')').map_or(rest.len(), |at| at + 1)];
        match (name, number) {
            ("Elapsed", Some(n)) => {
                let unit = match words.next().unwrap_or("(mins)") {
                    u if u.contains("sec") => 1.0,
                    u if u.contains("hour") || u.contains("hrs") => 3600.0,
                    _ => 60.0,
                };
                let span = |part: &str| {
                    let length = u32::try_from(part.chars().count()).ok()?;
                    Some(TextSpan { length, ..at? })
                };
                self.elapsed = Some([
                    SourcedCell::scaled(n, unit, span(shown)),
                    SourcedCell::read(crate::origin::text(first), span(first)),
                ]);
                self.fact("Elapsed", first);
            }
            ("DB Time" | "DB time", Some(_)) => self.fact("DB Time", first),
            ("Begin Snap" | "End Snap", _) => self.fact(name, rest),
            _ => {}
        }
    }

    fn facts(&mut self, grid: &Grid) {
        if let Some((_, row)) = grid.rows.first() {
            for (name, value) in grid.headings.iter().zip(row) {
                self.fact(name, value);
            }
        }
    }

    /// Keeps what the report says of itself, once.
    pub fn fact(&mut self, name: &str, value: &str) {
        let known = self.facts.iter().any(|(n, _)| n == name);
        if !known && self.facts.len() < 64 && !name.is_empty() && !value.trim().is_empty() {
            let value = value.trim().chars().take(200).collect();
            self.facts.push((name.chars().take(60).collect(), value));
        }
    }

    fn statistics(&mut self, grid: &Grid, sheets: &mut Sheets, notes: &mut Notes) {
        let columns = [
            ("statistic", "Statistic"),
            ("total", "Total"),
            ("per_second", "per Second"),
            ("per_transaction", "per Trans"),
            ("unit", "Unit"),
        ];
        let table = sheets.open(
            "instance_activity",
            "Instance activity: redo",
            grid.line,
            &columns,
        );
        let at = |is: &str| grid.column(|h| h == is);
        let (total, second, trans) = (at("total"), at("persecond"), at("pertrans"));
        self.listed.begin(&grid.title);
        for (line, row) in &grid.rows {
            let name = row.first().map_or("", |c| &**c);
            if !STATISTICS.iter().any(|s| name.starts_with(s)) {
                let why = || "statistics that are not about redo or commits".to_owned();
                notes.lines.passed(*line, *line, why);
                continue;
            }
            let get = |i: Option<usize>| i.and_then(|i| row.get(i));
            let cell = |i| get(i).map_or_else(SourcedCell::blank, GridCell::number);
            let printed_total = get(total).map_or("", |c| &**c);
            if !self.listed.is_new(name, printed_total, *line, notes) {
                let why = || "a statistic that another section lists".to_owned();
                notes.lines.passed(*line, *line, why);
                continue;
            }
            if let Some(n) = printed::number(printed_total).and_then(|n| n.count()) {
                self.statistics.entry(name.to_owned()).or_insert(n);
            }
            let unit = unit_of(name).map_or_else(SourcedCell::blank, SourcedCell::label);
            let name = row
                .first()
                .map_or_else(SourcedCell::blank, GridCell::sourced);
            sheets.sourced_row(
                table,
                *line,
                vec![name, cell(total), cell(second), cell(trans), unit],
            );
        }
    }

    fn host_cpu(&mut self, grid: &Grid, sheets: &mut Sheets) {
        let Some((_, row)) = grid.rows.first() else {
            return;
        };
        // By name: Statspack has idle before waiting for I/O. The load stands before the user's.
        let at = |name: &str| grid.column(|h| h.ends_with(name));
        let cell = |i: Option<usize>| i.and_then(|i| row.get(i)).cloned().unwrap_or_default();
        let user = at("user").unwrap_or_default();
        let load = [user.checked_sub(2), user.checked_sub(1)].map(cell);
        let shares = ["user", "system", "wio", "idle"].map(|name| cell(at(name)));
        let cells: Vec<GridCell> = load.into_iter().chain(shares).collect();
        self.host_cpu_line(grid.line, &cells, sheets);
    }

    /// Load average at begin and end, then shares of user, system, waiting for I/O, idle: the last
    /// six numbers of the line; numbers of processors may stand before them.
    pub fn host_cpu_line(&mut self, line: u64, row: &[GridCell], sheets: &mut Sheets) {
        let numbers = row.iter().filter_map(|c| Some((c, printed::plain(c)?)));
        let numbers: Vec<(&GridCell, f64)> = numbers.collect();
        let Some(start) = numbers.len().checked_sub(6) else {
            return;
        };
        let columns = [
            ("load_average_begin", "Load Average Begin"),
            ("load_average_end", "Load Average End"),
            ("cpu_user_pct", "%User"),
            ("cpu_sys_pct", "%System"),
            ("cpu_iowait_pct", "%WIO"),
            ("cpu_idle_pct", "%Idle"),
        ];
        let table = sheets.open("host_cpu", "Host CPU", line, &columns);
        let last = &numbers[start..];
        let cells = last.iter().map(|(cell, _)| cell.scaled(Some(1.0)));
        sheets.sourced_row(table, line, cells.collect());
        if let [_, _, (_, user), (_, system), (_, wio), (_, idle)] = last {
            self.cpu = Some([*user, *system, *wio, *idle]);
        }
    }

    /// The row of the report; gives what it says of itself.
    pub fn end(
        &mut self,
        file: &str,
        sheets: &mut Sheets,
        notes: &mut Notes,
        out: &mut Gathered,
    ) -> Vec<(String, String)> {
        self.over.give(sheets, notes);
        self.storage.say(notes);
        if sheets.found > 0 && !(self.statistics.is_empty() && self.profile.is_empty()) {
            out.rows.push(self.row(file));
        }
        if let Some(cells) = self.elapsed.take().filter(|_| sheets.found > 0) {
            let columns = [("seconds", "Seconds"), ("words", "As printed")];
            let title = "The window that the report states";
            let line = cells[0].line().unwrap_or(1);
            let table = sheets.open("stated_window", title, line, &columns);
            sheets.sourced_row(table, line, cells.into());
            sheets.found -= 1;
        }
        std::mem::take(&mut self.facts)
    }

    fn elapsed_s(&self) -> Option<f64> {
        match self.elapsed.as_ref()?[0].cell {
            Cell::Real(seconds) => Some(seconds),
            _ => None,
        }
    }

    fn row(&self, file: &str) -> Row {
        let mut row = row(file);
        let total = |name: &str| self.statistics.get(name).copied();
        let elapsed = self.elapsed_s().filter(|s| *s > 0.0);
        let per_s = |name: &str| Some(total(name)? / elapsed?);
        let profile = |name: &str| self.profile.get(name).copied();
        let redo = profile("redosize(bytes)").or_else(|| profile("redosize"));
        let redo = redo.or_else(|| per_s("redo size"));
        let tps = per_s("user commits").or_else(|| profile("transactions"));
        let some_tps = tps.filter(|t| *t > 0.0);
        let whole = |value: Option<f64>| value.filter(|v| *v >= 0.0).map(|v| v as u64);
        row.elapsed_s = elapsed;
        row.elapsed_ns = whole(elapsed.map(|s| s * 1e9));
        row.commits = whole(total("user commits"));
        row.commit_throughput_tps = tps;
        row.redo_synch_writes_iops = per_s("redo synch writes");
        row.log_file_sync_ms = self.sync_ms;
        row.redo = measured(RedoFigures {
            redo_blocks_per_s: per_s("redo blocks written"),
            redo_writes_iops: per_s("redo writes"),
            redo_data_mbps: redo.map(|b| b / 1_048_576.0),
            redo_data_kb_per_txn: redo.zip(some_tps).map(|(b, t)| b / t / 1024.0),
            redo_size_bytes: whole(total("redo size")),
            redo_wastage_bytes: whole(total("redo wastage")),
            ..RedoFigures::default()
        });
        row.processors = self.cpu.map(|[user, sys, iowait, idle]| ProcessorFigures {
            cpu_user_pct: Some(user),
            cpu_sys_pct: Some(sys),
            cpu_iowait_pct: Some(iowait),
            cpu_idle_pct: Some(idle),
            ..ProcessorFigures::default()
        });
        row
    }
}

/// The unit of a statistic of the instance, which reports do not print; Oracle Database Reference,
/// statistics descriptions.
fn unit_of(statistic: &str) -> Option<&'static str> {
    Some(match statistic {
        "redo size" | "redo wastage" | "redo size for direct writes" => "bytes",
        "redo blocks written" | "redo blocks checksummed by FG (exclusive)" => "redo blocks",
        "redo write time" | "redo synch time" | "redo log space wait time" => "10 ms",
        name if name.ends_with("(usec)") => "µs",
        _ => return None,
    })
}

/// Marks the rows of a grid as what the report says of itself.
fn facts_lines(grid: &Grid, notes: &mut Notes) {
    for (line, _) in &grid.rows {
        notes.lines.read_as(*line, *line, "facts");
    }
}

/// The title of a grid or its headings, quoted.
fn grid_name(grid: &Grid) -> String {
    match grid.title.as_str() {
        "" => quote(grid.headings.join(" ").as_bytes()),
        title => quote(title.as_bytes()),
    }
}

/// Whether numbers of a grid have decimal commas, and none a decimal point.
fn prints_commas(grid: &Grid) -> bool {
    let cells = grid.rows.iter().flat_map(|(_, row)| row);
    printed::prints_commas(cells.map(GridCell::as_str))
}

/// The grid with points for commas and commas for points in its numbers.
fn pointed(grid: &Grid) -> Grid {
    let row = |(line, row): &(u64, Vec<GridCell>)| {
        let cells = row.iter().map(GridCell::pointed);
        (*line, cells.collect())
    };
    Grid {
        rows: grid.rows.iter().map(row).collect(),
        ..grid.clone()
    }
}

/// Parameters that bear on redo, with their value at the beginning.
fn parameters(grid: &Grid, sheets: &mut Sheets, notes: &mut Notes) {
    let columns = [("parameter", "Parameter"), ("value", "Value")];
    let table = sheets.open("parameters", "Parameters", grid.line, &columns);
    for (number, row) in &grid.rows {
        if let [name, value, ..] = row.as_slice()
            && PARAMETERS.iter().any(|p| name.starts_with(p))
        {
            sheets.sourced_row(table, *number, vec![name.sourced(), value.sourced()]);
        } else {
            let why = || "parameters that are not about redo or commits".to_owned();
            notes.lines.passed(*number, *number, why);
        }
    }
}

/// Says where a row has another number of cells than there are headings.
fn count_cells(grid: &Grid, notes: &mut Notes) {
    let names = grid.headings.len();
    for (line, row) in grid.rows.iter().filter(|(_, row)| row.len() != names) {
        notes.add(Severity::Warning, "awr.columns", Some(*line), None, || {
            format!(
                "{} values under {names} headings: the missing ones are blank",
                row.len()
            )
        });
    }
}
