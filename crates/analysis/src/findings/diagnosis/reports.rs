//! The figures of every report, of every instance, and of every interval between listings of views.
//!
//! Invariant: what was divided into intervals is not judged once more as a whole.

use super::super::evidence::view::{Line, Tables, lines};
use super::figures::{EVENTS, ReportFigures};
use super::intervals;
use measure::imported::Table;
use std::collections::{BTreeMap, BTreeSet};

/// The instance that a table of wait events, or a line of a listing of all instances, is of.
fn instance_of(table: &Table, line: &Line<'_>, of_several: bool) -> String {
    match table.id.as_str() {
        "system_event" if of_several => line
            .number("instance")
            .map_or_else(String::new, |number| format!("instance {number}")),
        "system_event_change" => intervals::instance(table).to_owned(),
        id if EVENTS.contains(&id) => {
            let label = table
                .title
                .rsplit_once(" (")
                .and_then(|(_, l)| l.strip_suffix(')'));
            let label = label.filter(|label| label.starts_with("instance "));
            label.unwrap_or_default().to_owned()
        }
        _ => String::new(),
    }
}

/// The last listing of `v$system_event` of each instance, by the number of its table.
fn last_listings(tables: Tables<'_>) -> BTreeMap<String, usize> {
    let all = tables.0.iter().enumerate();
    let listings = all.filter(|(_, table)| table.id == "system_event");
    let each = listings.flat_map(|(number, table)| {
        let of_several = is_of_several(table);
        lines(table).map(move |line| (instance_of(table, &line, of_several), number))
    });
    each.collect()
}

/// Whether a listing has lines of several instances.
fn is_of_several(table: &Table) -> bool {
    let mut numbers = lines(table).filter_map(|line| line.number("instance"));
    let first = numbers.next();
    numbers.any(|number| Some(number) != first)
}

/// The figures of each report; those of traces are of one set, because the log writer and the
/// sessions have files of their own.
pub(in crate::findings) fn reports<'a>(tables: Tables<'a>) -> Vec<ReportFigures<'a>> {
    let mut out: Vec<ReportFigures<'a>> = Vec::new();
    let mut places: BTreeMap<(&str, String), usize> = BTreeMap::new();
    let changes = tables.of("system_event_change");
    let changed: BTreeSet<&str> = changes.map(intervals::instance).collect();
    let last = last_listings(tables);
    let intervals = intervals::of(tables);
    let is_in = |table: &Table| {
        let instance = Some(intervals::instance(table));
        let mut of = intervals.iter().map(|each| each.interval);
        of.any(|interval| interval.map(|(instance, _)| instance) == instance)
    };
    for (number, table) in tables.0.iter().enumerate() {
        let is_split = match table.id.as_str() {
            "system_event" => !intervals.is_empty(),
            id => id.ends_with("_change") && is_in(table),
        };
        if is_split {
            continue;
        }
        let file = match table.id.as_str() {
            "wait_events" => "",
            _ => table.file.as_str(),
        };
        let of_several = is_of_several(table);
        for line in lines(table) {
            let instance = instance_of(table, &line, of_several);
            // Since the start, of which an interval is known, or which ended with a restart.
            let is_older = !changed.is_empty() && last.get(&instance) != Some(&number);
            if table.id == "system_event" && (changed.contains(instance.as_str()) || is_older) {
                continue;
            }
            let at = *places.entry((file, instance.clone())).or_insert_with(|| {
                let mut figures = ReportFigures::of(file);
                figures.instance = instance;
                out.push(figures);
                out.len() - 1
            });
            out[at].line(&table.id, &line);
        }
    }
    out.extend(intervals);
    out.retain(ReportFigures::is_of_log);
    out
}
