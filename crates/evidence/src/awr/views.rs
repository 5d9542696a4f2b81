//! Views that are listed by themselves: samples of Oracle's `v$active_session_history`, and SQL
//! Server's `sys.dm_io_virtual_file_stats`, whose log is the file of type LOG or of the name
//! `*.ldf`, else file 2, as it is where none was added. A sampled wait is no latency: long ones are
//! sampled more often, and 0 is one that goes on.

use super::{Grid, squeeze};
use crate::origin::SourcedCell;
use crate::sheets::Sheets;
use measure::printed;

/// Columns of each view.
const COLUMNS: usize = 7;

/// A listed view: id and title of its table, how many columns it needs, and each column: our key,
/// its heading, and those of listings.
type ListedView = (
    &'static str,
    &'static str,
    usize,
    [(&'static str, &'static str); COLUMNS],
);

const VIEWS: [ListedView; 2] = [
    (
        "ash",
        "v$active_session_history",
        3,
        [
            ("program", "PROGRAM"),
            ("event", "EVENT"),
            ("time", "SAMPLE_TIME T TIME TS"),
            ("state", "SESSION_STATE SESSION STATE ST"),
            ("session", "SESSION_ID SID"),
            ("blocked_by", "BLOCKING_SESSION BLOCKER BS"),
            ("time_waited", "TIME_WAITED"),
        ],
    ),
    (
        "sqlserver_files",
        "sys.dm_io_virtual_file_stats",
        2,
        [
            ("writes", "num_of_writes writes"),
            ("stall_ms", "io_stall_write_ms write_stall_ms"),
            ("file_id", "file_id fileid"),
            ("file", "physical_name file_name filename type_desc name"),
            ("database", "database_name database db (nocolumnname) name"),
            ("bytes", "num_of_bytes_written"),
            ("read_stall_ms", "io_stall_read_ms read_stall_ms"),
        ],
    ),
];
/// What the file holds, behind the columns of SQL Server's.
const HOLDS: (&str, &str) = ("holds", "Holds");

/// Where the columns of a view are, if headings are its.
fn columns(view: &ListedView, headings: &[String]) -> Option<[Option<usize>; COLUMNS]> {
    let headings: Vec<String> = headings.iter().map(|h| squeeze(h)).collect();
    // A query above the headings may be joined with them.
    let is = |heading: &String, name: &str| {
        let before = heading.strip_suffix(&name.to_ascii_lowercase());
        before.is_some_and(|b| b.is_empty() || name.len() > 4 && !b.ends_with('_'))
    };
    // Names are in the order in which they are looked for.
    let at = view.3.map(|(_, names)| {
        let mut names = names.split(' ');
        names.find_map(|name| headings.iter().position(|h| is(h, name)))
    });
    at[..view.2].iter().all(Option::is_some).then_some(at)
}

/// Whether cells are the headings of a view.
pub(super) fn heads(names: &[String]) -> bool {
    VIEWS.iter().any(|view| columns(view, names).is_some())
}

/// Whether a line is the heading of a view: of the first, or of SQL Server's.
#[must_use]
pub fn opens(line: &str, is_oracle: bool) -> bool {
    let may = line.len() < 400 && (line.contains("PROGRAM") || line.contains("stall"));
    let words = line
        .split([' ', '\t', '|', ',', ';'])
        .filter(|w| !w.is_empty());
    let view = &VIEWS[usize::from(!is_oracle)];
    may && columns(view, &words.map(str::to_owned).collect::<Vec<String>>()).is_some()
}

/// Takes a grid, if it is one of a view.
pub(super) fn take(grid: &Grid, sheets: &mut Sheets) -> bool {
    let found = VIEWS
        .iter()
        .find_map(|view| Some((view, columns(view, &grid.headings)?)));
    let Some(((id, title, _, names), at)) = found else {
        return false;
    };
    let heading = |names: &'static str| names.split(' ').next().unwrap_or(names);
    let mut keys = names.map(|(key, names)| (key, heading(names))).to_vec();
    let is_files = *id == VIEWS[1].0;
    keys.extend(is_files.then_some(HOLDS));
    let table = sheets.open(id, title, grid.line, &keys);
    for (line, row) in &grid.rows {
        let cell = |i: usize| at[i].and_then(|at| row.get(at));
        let text = |i: usize| cell(i).map_or("", |cell| cell.as_str());
        let mut cells: Vec<SourcedCell> = (0..at.len())
            .map(|i| match cell(i) {
                Some(cell) if printed::plain(cell).is_some() => cell.number(),
                cell => cell.map_or_else(SourcedCell::blank, |cell| cell.sourced_or_blank()),
            })
            .collect();
        let file = text(3).to_ascii_lowercase();
        let holds = match (file.as_str(), text(2)) {
            ("log", _) | ("", "2") => "log",
            ("rows", _) | ("", "1") => "data",
            ("", _) => "",
            (name, _) if name.ends_with(".ldf") || name.ends_with("_log") => "log",
            (name, _) if name.ends_with("df") || name.contains("data") => "data",
            _ => "",
        };
        cells.extend(is_files.then(|| SourcedCell::label(holds)));
        sheets.sourced_row(table, *line, cells);
    }
    true
}
