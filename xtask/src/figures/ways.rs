//! The figures of the default log writer: beside every fixed way, and how its cost grows.

use super::chart::{Chart, Group, Line, ScaleKind};
use super::data::{Row, Spread, Table};
use super::plan::{Tables, bars, column, group, one};

pub const CELLS: &str = "experiments/default/data.csv";
pub const GROWTH: &str = "experiments/default/growth.csv";

/// Commits per second of each way, by sessions, quiet and beside other work.
pub fn one_default(tables: &Tables<'_>) -> Chart {
    let groups = tables(CELLS).map_or_else(Vec::new, |table| {
        let loads = [("0", "quiet"), ("2", "beside two busy loops")];
        let cells = loads
            .into_iter()
            .flat_map(|load| ["1", "8", "64", "256"].map(|sessions| (load, sessions)));
        cells
            .filter_map(|((load, heading), sessions)| {
                let here = |row: Row<'_>| {
                    row.is("device", "disk")
                        && row.is("cpus", "any")
                        && row.is("load", load)
                        && row.is("sessions", sessions)
                };
                let modes = table.distinct("mode");
                let line = |mode: &String| {
                    let wanted = |row: Row<'_>| here(row) && row.is("mode", mode);
                    one(mode, mode == "auto", column(table, "per_s", &wanted))
                };
                let heading = format!("{}, {heading}", of_sessions(sessions));
                group(heading, modes.iter().filter_map(line).collect())
            })
            .collect()
    });
    let mut chart = bars(
        "The default, auto, and every fixed way",
        "commits per second, logarithmic",
        groups,
    );
    chart.kind = ScaleKind::Log;
    chart
}

/// Processor time of a commit by sessions and by record, on all processors and on one.
pub fn growth(tables: &Tables<'_>) -> Chart {
    let groups = tables(GROWTH).map_or_else(Vec::new, |table| {
        let sessions = by(table, "sessions", ("record", "2000"), &of_sessions);
        let bytes = |bytes: &str| format!("{bytes} bytes");
        let records = by(table, "record", ("sessions", "8"), &bytes);
        let groups = [
            group("records of 2,000 bytes".to_owned(), sessions),
            group("8 sessions".to_owned(), records),
        ];
        groups.into_iter().flatten().collect::<Vec<Group>>()
    });
    Chart {
        kind: ScaleKind::Log,
        marks: vec!["2 processors", "1 processor"],
        ..bars(
            "Processor time of a commit with the default",
            "µs per commit, logarithmic",
            groups,
        )
    }
}

fn by(
    table: &Table,
    name: &str,
    (fixed, value): (&str, &str),
    label: &dyn Fn(&str) -> String,
) -> Vec<Line> {
    let line = |at: &String| {
        let cost = |cpus: &str| -> Option<Spread> {
            column(table, "cpu_us_per_commit", &|row| {
                row.is(name, at) && row.is(fixed, value) && row.is("cpus", cpus)
            })
        };
        let values = vec![cost("any"), cost("1")];
        values.iter().any(Option::is_some).then_some(Line {
            label: label(at),
            own: true,
            values,
        })
    };
    table.distinct(name).iter().filter_map(line).collect()
}

fn of_sessions(count: &str) -> String {
    format!("{count} session{}", if count == "1" { "" } else { "s" })
}
