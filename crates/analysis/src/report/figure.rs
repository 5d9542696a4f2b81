//! A figure as the page shows it: caption, a sentence on how to read it, the drawing, the findings
//! that rest on it, and its numbers as a table for readers who cannot or would not read a drawing.
//!
//! Invariants: a figure's id is made of digits and our own words, never of a run's text; a figure
//! without a drawing is nothing; tables are bounded and say what they leave out.

use super::chart::{Chart, Series};
use super::escape::esc;
use super::topic::Topic;
use crate::account::{AccountTable, ColumnHeading, Shown};
use std::collections::BTreeSet;

/// Most lines of a figure's table.
const LINES_MAX: usize = 40;
/// Most lines of a table that a figure is drawn of.
const TABLE_LINES_MAX: usize = 400;

/// A figure.
pub(super) struct Figure {
    /// Unique in the page.
    pub(super) id: String,
    /// What it shows, for the findings that rest on it.
    pub(super) topic: Topic,
    /// The workload or process that it shows; empty where it shows all.
    pub(super) of: String,
    pub(super) caption: String,
    /// Markup of tags behind the caption: the origin.
    pub(super) tags: String,
    /// How to read it, one sentence or two.
    pub(super) how: String,
    pub(super) drawing: String,
    /// A second drawing beside the first, below it on a narrow screen; else empty.
    pub(super) second: String,
    pub(super) table: Numbers,
    /// As wide as the page.
    pub(super) is_wide: bool,
    /// Data of a series that a script can zoom, as JSON without markup.
    pub(super) zoom: Option<String>,
}

/// The numbers of a figure, as text.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) head: Vec<String>,
    pub(super) lines: Vec<Vec<String>>,
    /// What was left out or joined.
    pub(super) note: String,
}

impl Figure {
    /// The figure of a chart, its table made from the chart's own lines.
    pub(super) fn of_chart(topic: Topic, chart: &Chart<'_>, tags: String, how: &str) -> Figure {
        Figure {
            id: chart.id.to_owned(),
            topic,
            of: String::new(),
            caption: chart.title.to_owned(),
            tags,
            how: how.to_owned(),
            drawing: chart.svg(),
            table: Numbers::of(chart),
            is_wide: chart.size.0 > 600.0,
            second: String::new(),
            zoom: None,
        }
    }

    /// The same, of a workload or process.
    pub(super) fn of(mut self, name: &str) -> Figure {
        name.clone_into(&mut self.of);
        self
    }

    /// As markup; `back` links to the findings that rest on it.
    pub(super) fn html(&self, back: &str) -> String {
        if self.drawing.is_empty() {
            return String::new();
        }
        let class = if self.is_wide { " class=\"full\"" } else { "" };
        let drawing = match self.second.as_str() {
            "" => self.drawing.clone(),
            second => format!("<div class=\"pair\">{}{second}</div>", self.drawing),
        };
        let zoom = self.zoom.as_ref().map_or_else(String::new, |json| {
            format!(
                "<script type=\"application/json\" class=\"zd\" data-for=\"{}\">{json}</script>",
                self.id
            )
        });
        format!(
            "<figure id=\"{id}\"{class}><figcaption>{}{}</figcaption><p class=\"how\">{}</p>\
             <div class=\"pan\" tabindex=\"0\" role=\"group\" aria-label=\"Figure: {}\">{}</div>\
             {zoom}<div class=\"below\">{}{}</div></figure>",
            esc(&self.caption),
            self.tags,
            esc(&self.how),
            esc(&self.caption),
            drawing,
            back,
            self.table.html(),
            id = self.id,
        )
    }
}

impl Numbers {
    /// The lines of a table, as far as a page has room for them.
    pub(super) fn of_table(of: &AccountTable) -> Numbers {
        let lines = of.lines.iter().take(TABLE_LINES_MAX);
        let words = |line: &Vec<Shown>| {
            let cells = line.iter().zip(&of.columns);
            cells
                .map(|(cell, heading)| cell.words(heading.unit))
                .collect()
        };
        Numbers {
            head: of.columns.iter().map(ColumnHeading::words).collect(),
            lines: lines.map(words).collect(),
            note: String::new(),
        }
    }

    /// The points of a chart's lines by their place on the x axis.
    fn of(chart: &Chart<'_>) -> Numbers {
        let named = |s: &Series| match s.name.as_str() {
            "" => chart.y.label.clone(),
            name => name.to_owned(),
        };
        let usable = |p: &&(f64, f64)| p.0.is_finite() && p.1.is_finite();
        let places: BTreeSet<u64> = chart
            .series
            .iter()
            .flat_map(|s| {
                s.points
                    .iter()
                    .filter(usable)
                    .map(|p| p.0.max(0.0).to_bits())
            })
            .collect();
        let places: Vec<f64> = places.into_iter().map(f64::from_bits).collect();
        let kept = thinned(&places, LINES_MAX);
        let value = |s: &Series, x: f64| {
            let found = s
                .points
                .iter()
                .find(|p| p.0.max(0.0) == x && p.1.is_finite());
            found.map_or_else(String::new, |p| (chart.y.say)(p.1))
        };
        let line = |x: f64| {
            let cells = chart.series.iter().map(|s| value(s, x));
            std::iter::once((chart.x.say)(x)).chain(cells).collect()
        };
        Numbers {
            head: std::iter::once(chart.x.label.clone())
                .chain(chart.series.iter().map(named))
                .collect(),
            lines: kept.iter().map(|x| line(*x)).collect(),
            note: left_out(places.len(), kept.len()),
        }
    }

    fn html(&self) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let cells = |tag: &str, line: &[String]| -> String {
            line.iter()
                .map(|c| format!("<{tag}>{}</{tag}>", esc(c)))
                .collect()
        };
        let body: String = self
            .lines
            .iter()
            .map(|l| format!("<tr>{}</tr>", cells("td", l)))
            .collect();
        let note = if self.note.is_empty() {
            String::new()
        } else {
            format!("<p class=\"how\">{}</p>", esc(&self.note))
        };
        format!(
            "<details><summary>As a table</summary>{note}<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>{body}</tbody></table></div></details>",
            cells("th", &self.head)
        )
    }
}

/// At most `most` of `items`, evenly, the first and the last always among them.
pub(super) fn thinned<T: Clone>(items: &[T], most: usize) -> Vec<T> {
    let n = items.len();
    if n <= most || most < 2 {
        return items.iter().take(most.max(1)).cloned().collect();
    }
    (0..most)
        .filter_map(|i| items.get(i * (n - 1) / (most - 1)).cloned())
        .collect()
}

/// What a thinned table says of itself.
pub(super) fn left_out(all: usize, kept: usize) -> String {
    if kept >= all {
        return String::new();
    }
    format!(
        "{} of {} points at even distances, including the first and the last.",
        crate::format::count(kept as u64),
        crate::format::count(all as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_ends() {
        let all: Vec<u32> = (1..=36).collect();
        let few = thinned(&all, 6);
        assert_eq!(
            (few.len(), few.first(), few.last()),
            (6, Some(&1), Some(&36))
        );
        assert_eq!(thinned(&all, 100).len(), 36);
    }
}
