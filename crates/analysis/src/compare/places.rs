//! Figures of imported tables side by side, paired by their place: table, event, device, function,
//! column. They are single figures, so there is a ratio and no interval.

use super::cells::real;
use crate::figures::{self, PlacedFigure};
use measure::comparison::EVIDENCE_TABLE;
use measure::imported::{Cell, Column, Table};
use measure::run::{Origin, Run};

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
    let mut rows = Vec::new();
    for figure in &base {
        let found: Vec<Option<&PlacedFigure>> = others
            .iter()
            .map(|(_, all)| paired(figure, &base, all))
            .collect();
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

/// The figure of the same place: with the same heading where a place has several, as the histograms
/// of a report in different units.
fn paired<'a>(
    figure: &PlacedFigure,
    base: &[PlacedFigure],
    other: &'a [PlacedFigure],
) -> Option<&'a PlacedFigure> {
    let same = |f: &&PlacedFigure| {
        f.table == figure.table && f.names == figure.names && f.key == figure.key
    };
    let mut all = other.iter().filter(same);
    let first = all.next()?;
    let is_alone = all.next().is_none() && base.iter().filter(same).count() == 1;
    let alike = || {
        other
            .iter()
            .filter(same)
            .find(|f| f.heading == figure.heading)
    };
    is_alone.then_some(first).or_else(alike)
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
