//! A section of an account in the report.
//!
//! Invariant: text of the account is cleaned and bounded here, and escaped by the type of what it
//! is put into; what a table leaves out is counted.

use super::escape::bounded;
use super::topic::Topic;
use super::{Section, mark_of, origin_tag};
use crate::account::{self, AccountTable, Body, ColumnHeading, ColumnRole, Shown, Statement};
use crate::format::count;
use maud::{Markup, html};
use measure::run::Run;

/// Most lines of a table.
const LINES_MAX: usize = 400;
/// A table with more columns has small figures on paper.
const WIDE: usize = 12;

/// The section, with the origin of its figures.
pub(super) fn of(section: account::Section, run: &Run) -> Option<Section> {
    tagged(section, origin_tag(run))
}

/// The section with these tags behind its heading.
pub(super) fn tagged(section: account::Section, tags: String) -> Option<Section> {
    let (id, title, about) = (&section.id, &section.title, &section.about);
    let mut made = Section::html(id, title, about, markup_of(&section.body))?;
    made.topic = Topic::of_section(id);
    Some(made.tagged(tags))
}

/// Parts of a section.
pub(super) fn markup_of(body: &[Body]) -> String {
    html! { @for part in body { (markup(part)) } }.into_string()
}

fn markup(part: &Body) -> Markup {
    match part {
        Body::Table(of) => table(of),
        Body::Text(text) => html! { p { (bounded(text)) } },
        Body::Findings(all) => html! {
            @if !all.is_empty() {
                ul.reasons { @for of in all.iter().take(LINES_MAX) { (statement(of)) } }
            }
        },
        Body::Facts(facts) => html! {
            @if !facts.is_empty() {
                dl.kv { @for (name, cell) in facts {
                    dt { (bounded(name)) } dd { (bounded(&cell.words(""))) }
                } }
            }
        },
    }
}

fn statement(of: &Statement) -> Markup {
    let (class, mark) = mark_of(of.weight);
    let details = of.details.iter().filter(|detail| !detail.is_empty());
    html! { li {
        span class={ "w " (class) } { (mark) " " (bounded(&of.word)) }
        div { p.c { (bounded(&of.claim)) } @for detail in details { p.d { (bounded(detail)) } } }
    } }
}

fn words_or_none(words: &str) -> Option<&str> {
    (!words.is_empty()).then_some(words)
}

fn table(of: &AccountTable) -> Markup {
    let left_out = of.lines.len().saturating_sub(LINES_MAX);
    let begins = |at: usize| at == 0 || of.lines[at].first() != of.lines[at - 1].first();
    let words = |column: usize, cell: &Shown| bounded(&cell.words(of.columns[column].unit));
    let class = |heading: &ColumnHeading| (heading.role == ColumnRole::Label).then_some("t");
    html! {
        div.scroll.wide-table[of.columns.len() > WIDE] tabindex="0" role="group" { table {
            thead { tr { @for heading in &of.columns {
                th class=[class(heading)] title=[words_or_none(heading.meaning)] {
                    (bounded(&heading.name))
                    @if !heading.unit.is_empty() { small { (heading.unit) } }
                }
            } } }
            tbody { @for (at, line) in of.lines.iter().take(LINES_MAX).enumerate() {
                tr class=[begins(at).then_some("g")] {
                    @for (column, cell) in line.iter().enumerate() {
                        @if column == 0 { th.t { (words(column, cell)) } }
                        @else { td class=[class(&of.columns[column])] { (words(column, cell)) } }
                    }
                }
            } }
        } }
        @if left_out > 0 { p { (count(left_out as u64)) " more lines are in the run." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::{AccountColumn, figure, label};
    use crate::findings::fixture::clean_run;
    use crate::report::page::Content;

    #[test]
    fn text_of_a_run_is_no_markup_and_what_is_left_out_is_counted() {
        let columns: [AccountColumn<'_, u64>; 2] = [
            (label("Worker"), &|n| {
                Shown::Text(format!("<b>{}\u{202e}", n / 100))
            }),
            (figure("Mean", "ms"), &|n| Shown::Ns(*n as f64 * 1e6)),
        ];
        let section = account::Section {
            id: "x".into(),
            title: "X".to_owned(),
            about: String::new(),
            body: vec![
                Body::Table(AccountTable::of(1..=404, &columns).expect("lines")),
                Body::Facts(vec![("Node 1".to_owned(), Shown::text("</u02>"))]),
            ],
        };
        let made = of(section, &clean_run()).expect("a section");
        let Content::Html(html) = made.content else {
            panic!("a table");
        };
        assert!(html.contains("<th class=\"t\">&lt;b&gt;0</th><td>1.00</td>"));
        assert!(html.contains("&lt;/u02&gt;") && !html.contains('\u{202e}'));
        assert_eq!(html.matches("<tr class=\"g\">").count(), 5);
        assert!(html.contains("4 more lines are in the run."));
    }
}
