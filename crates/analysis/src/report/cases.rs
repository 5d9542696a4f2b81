//! What was found, in three groups (decide, watch, fine), each finding beside the figure that
//! shows it. Findings that rest on one figure are together, and what is for the record is in the
//! appendix.
//!
//! Invariants: every finding is in the page once; a figure is drawn once, beside the first finding
//! that rests on it.

use super::figure::Figure;
use super::links::Links;
use super::reasons;
use super::topic::Topic;
use crate::account::findings::EVIDENCE;
use crate::findings::evidence::is_about_document;
use crate::findings::{FindingAxis, axis};
use measure::judgement::{Finding, Weight};
use measure::run::Run;
use std::ops::Range;

/// What a finding asks of its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Concern {
    /// The answer depends on it.
    Decide,
    /// To be looked at or settled.
    Watch,
    /// In favour.
    Fine,
    /// Misprints and contradictions of a document, apart from what its figures show.
    Document,
    /// For the record.
    Record,
}

/// A group of findings by their places.
pub(super) struct Group {
    pub(super) concern: Concern,
    pub(super) places: Range<usize>,
}

impl Concern {
    pub(super) const fn id(self) -> &'static str {
        match self {
            Concern::Decide => "decide",
            Concern::Watch => "watch",
            Concern::Fine => "fine",
            Concern::Document => "document",
            Concern::Record => "record",
        }
    }

    pub(super) const fn heading(self) -> &'static str {
        match self {
            Concern::Decide => "Decide",
            Concern::Watch => "Watch",
            Concern::Fine => "Fine",
            Concern::Document => "About the document",
            Concern::Record => "For the record",
        }
    }

    const fn how(self) -> &'static str {
        match self {
            Concern::Decide => "The answer depends on these findings.",
            Concern::Watch => "These findings do not decide, but they cost time or may grow.",
            Concern::Fine => "These findings are in favour.",
            Concern::Document => {
                "Misprints, and figures of the document that contradict each other."
            }
            Concern::Record => "Findings that count neither for nor against the device.",
        }
    }
}

/// What decides is against the device, or leaves its durability, the need or the figures open.
pub(super) fn concern(f: &Finding) -> Concern {
    match (f.weight, axis(&f.id)) {
        _ if is_about_document(&f.id) => Concern::Document,
        // What the figures of evidence show decides nothing about a device.
        (Weight::Bad | Weight::Caution, _) if f.id.starts_with(EVIDENCE) => Concern::Watch,
        (Weight::Bad, _) => Concern::Decide,
        (Weight::Caution, FindingAxis::Performance) => Concern::Watch,
        (Weight::Caution, _) => Concern::Decide,
        (Weight::Good, _) => Concern::Fine,
        (Weight::Info, _) => Concern::Record,
    }
}

/// Findings in the order in which the page shows them: by group, those of one figure together.
pub(super) fn ordered<'a>(
    run: &'a Run,
    figures: &[&Figure],
    sections: &[Topic],
) -> (Vec<&'a Finding>, Vec<Group>) {
    let mut all = crate::account::findings::ordered(run);
    all.sort_by_key(|f| concern(f));
    let links = Links::of(&all, figures, sections);
    let mut keyed: Vec<(Concern, usize, &Finding)> = Vec::with_capacity(all.len());
    for (place, finding) in all.iter().enumerate() {
        let group = concern(finding);
        let shown = links.best(place);
        let same = keyed
            .iter()
            .find(|(of, first, _)| *of == group && shown.is_some() && links.best(*first) == shown);
        let first = same.map_or(place, |(_, first, _)| *first);
        keyed.push((group, first, finding));
    }
    keyed.sort_by_key(|(group, first, _)| (*group, *first));
    let mut groups: Vec<Group> = Vec::new();
    for (place, (concern, ..)) in keyed.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if group.concern == *concern => group.places.end = place + 1,
            _ => groups.push(Group {
                concern: *concern,
                places: place..place + 1,
            }),
        }
    }
    (keyed.into_iter().map(|(.., f)| f).collect(), groups)
}

/// A group as markup. `take` gives a figure that is not in the page yet.
pub(super) fn group_html(
    group: &Group,
    findings: &[&Finding],
    links: &Links,
    take: &mut dyn FnMut(&str) -> Option<String>,
) -> String {
    let mut cases = String::new();
    let mut from = group.places.start;
    while from < group.places.end {
        let shown = links.best(from);
        let same = (from..group.places.end)
            .take_while(|p| *p == from || links.best(*p) == shown && shown.is_some());
        let end = same.last().unwrap_or(from) + 1;
        let list = reasons::list(findings, from..end, "reasons full", links);
        let figure = shown.and_then(&mut *take);
        cases.push_str(&match figure {
            Some(figure) => {
                format!("<div class=\"case\">{list}<div class=\"beside\">{figure}</div></div>\n")
            }
            None => format!("<div class=\"case alone\">{list}</div>\n"),
        });
        from = end;
    }
    let (id, count) = (group.concern.id(), group.places.len());
    format!(
        "<section id=\"{id}\" class=\"group {id}\" aria-labelledby=\"{id}-h\">\n<h2 id=\"{id}-h\">{} <small>{count}</small></h2>\n<p class=\"how\">{}</p>\n{cases}</section>\n",
        group.concern.heading(),
        group.concern.how(),
    )
}
