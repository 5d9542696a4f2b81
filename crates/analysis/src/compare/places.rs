//! Figures of imported tables side by side, paired by their place: table, event, device, function,
//! column. They are single figures, so there is a ratio and no interval.

use super::cells::real;
use crate::figures::{self, PlacedFigure};
use measure::comparison::EVIDENCE_TABLE;
use measure::imported::{Cell, Column, Table};
use measure::run::{Origin, Run};
use std::collections::BTreeMap;

/// The figures of the first run that another imported run has too.
pub(super) fn table(runs: &[(&str, &Run)]) -> Option<Table> {
    let ((base_name, base), others) = runs.split_first()?;
    let is_imported = |run: &Run| run.origin == Origin::Imported;
    if !is_imported(base) || !others.iter().all(|(_, run)| is_imported(run)) {
        return None;
    }
    let base = placed(base);
    let others: Vec<(&str, Vec<PlacedFigure>)> = others
        .iter()
        .map(|(name, run)| (*name, placed(run)))
        .collect();
    let text = |t: &str| Cell::Text(t.to_owned());
    let own = by_place(&base);
    let theirs: Vec<FiguresByPlace<'_>> = others.iter().map(|(_, all)| by_place(all)).collect();
    let mut rows = Vec::new();
    for figure in &base {
        let found = theirs.iter().map(|all| paired(figure, &own, all));
        let found: Vec<Option<&PlacedFigure>> = found.collect();
        if found.iter().all(Option::is_none) {
            continue;
        }
        let computed = if figure.is_computed { ", computed" } else { "" };
        let mut row = vec![
            text(&place(figure)),
            text(&format!("{}{computed}", figure.heading)),
            Cell::Real(figure.value),
        ];
        for other in found {
            row.push(real(other.map(|f| f.value)));
            let ratio = other
                .filter(|_| figure.value != 0.0)
                .map(|f| f.value / figure.value);
            row.push(real(ratio));
        }
        rows.push(row);
    }
    let column = |key: &str, heading: &str| Column {
        key: key.to_owned(),
        heading: heading.to_owned(),
    };
    let mut columns = vec![
        column("place", "Place"),
        column("figure", "Figure"),
        column("base", base_name),
    ];
    for (name, _) in &others {
        columns.push(column("other", name));
        columns.push(column("ratio", "Ratio"));
    }
    (!rows.is_empty()).then(|| Table {
        id: EVIDENCE_TABLE.to_owned(),
        title: "Figures of the evidence, paired by what they are of (single figures: no intervals)"
            .to_owned(),
        columns,
        rows,
        ..Table::default()
    })
}

/// Figures by table, names and key: a place has several where a report has histograms in different
/// units.
type FiguresByPlace<'a> = BTreeMap<(&'a str, &'a [String], &'a str), Vec<&'a PlacedFigure>>;

fn by_place(all: &[PlacedFigure]) -> FiguresByPlace<'_> {
    let mut found = FiguresByPlace::new();
    for figure in all {
        found.entry(key_of(figure)).or_default().push(figure);
    }
    found
}

fn key_of(of: &PlacedFigure) -> (&str, &[String], &str) {
    (&of.table, &of.names, &of.key)
}

/// The figure of the same place: where one of the runs has several there, the one with the same
/// heading.
fn paired<'a>(
    figure: &PlacedFigure,
    own: &FiguresByPlace<'_>,
    theirs: &FiguresByPlace<'a>,
) -> Option<&'a PlacedFigure> {
    let key = key_of(figure);
    match (own.get(&key)?.as_slice(), theirs.get(&key)?.as_slice()) {
        ([_], [one]) => Some(one),
        (_, all) => all.iter().copied().find(|f| f.heading == figure.heading),
    }
}

/// The figures of a run. The device is the device, if a listing of iostat has only one.
fn placed(run: &Run) -> Vec<PlacedFigure> {
    let mut found = figures::of(run);
    let devices = || found.iter().filter(|f| f.table == "iostat");
    let first = devices().next().map(|f| f.names.clone());
    let is_only = first.is_some_and(|first| devices().all(|f| f.names == first));
    for figure in found.iter_mut().filter(|f| is_only && f.table == "iostat") {
        figure.names = vec!["the device".to_owned()];
    }
    found
}

fn place(figure: &PlacedFigure) -> String {
    let mut parts = vec![figure.title.clone()];
    parts.extend(figure.names.iter().cloned());
    let rows = match figure.rows {
        1 => String::new(),
        n => format!(" (mean of {n})"),
    };
    format!("{}{rows}", parts.join(", "))
}
