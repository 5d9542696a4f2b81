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

/// The listings of `v$system_event` of each instance, by the numbers of their tables.
fn listings_of(tables: Tables<'_>) -> BTreeMap<String, BTreeSet<usize>> {
    let all = tables.0.iter().enumerate();
    let listings = all.filter(|(_, table)| table.id == "system_event");
    let mut out: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (number, table) in listings {
        let of_several = is_of_several(table);
        for line in lines(table) {
            let of = out.entry(instance_of(table, &line, of_several));
            of.or_default().insert(number);
        }
    }
    out
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
    let changed: BTreeMap<&str, usize> = changes
        .map(|table| (intervals::instance(table), intervals::stretches(table)))
        .collect();
    let listings = listings_of(tables);
    // Since the start: an interval of it is known, or it ended with a restart. The last one is
    // judged where it was not subtracted.
    let is_passed = |instance: &str, number: usize| {
        let of = listings.get(instance);
        let is_last = of.and_then(BTreeSet::last) == Some(&number);
        let count = of.map_or(0, BTreeSet::len);
        match changed.get(instance) {
            Some(stretches) => !is_last || stretches + 1 == count,
            None => !changed.is_empty() && !is_last,
        }
    };
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
            if table.id == "system_event" && is_passed(&instance, number) {
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
