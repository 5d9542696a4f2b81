//! A run as one self-contained HTML file: nothing fetched, light, dark and print. The first screen
//! answers by itself; findings beside their figures follow, and an appendix with everything else.
//!
//! Invariants: every text of a run passes [`escape::esc`]; the content security policy allows the
//! one style sheet and the one script by their hashes and nothing else; no element has a style or
//! handler attribute; the page is whole without the script; the origin of figures stands on every
//! table and plot.
//!
//! What it must not know: where the file goes; how anything was measured; how the store is read.

mod answer;
mod bars;
mod buckets;
mod cases;
mod chart;
pub mod compare;
pub mod data;
mod density;
mod document;
pub mod escape;
mod export;
mod figure;
mod figures;
mod first;
mod forest;
pub mod grid;
mod heat;
mod imported;
mod links;
mod log_options;
mod page;
mod reasons;
mod repeat;
pub mod sample;
mod scale;
mod scatter;
mod section;
mod series;
mod svg;
mod sweep;
mod target;
mod ticks;
mod tiles;
mod topic;
mod winner;
mod zoom;

/// What the drawings of reports are made of, for those of the documentation.
pub mod drawing {
    pub use super::export::file;
    pub use super::scale::{Scale, ScaleKind};
    pub use super::svg::{Anchor, Svg, width};
    pub use super::ticks::count;
}

pub use data::ReportData;

use crate::account::{self, columns::Columns};
use escape::esc;
use measure::judgement::Weight;
use measure::run::{Origin, Run};
use page::{Page, Section};

/// Most entries of a list that are shown; the rest is counted.
const MAX_ENTRIES: usize = 200;

/// The report of a run, with what the store holds beside it.
#[must_use]
pub fn html(run: &Run, data: &ReportData) -> String {
    page(run, data).html()
}

/// A figure of a run's report as an SVG file of its own.
///
/// # Errors
/// The ids and captions of the figures that there are, where none has this id.
pub fn figure(run: &Run, data: &ReportData, id: &str) -> Result<String, Vec<(String, String)>> {
    let page = page(run, data);
    let all = page.figures();
    match all.iter().find(|f| f.id == id) {
        Some(figure) => Ok(export::svg(figure, &export::source(run))),
        None => Err(all
            .iter()
            .map(|f| (f.id.clone(), f.caption.clone()))
            .collect()),
    }
}

fn page<'a>(run: &'a Run, data: &ReportData) -> Page<'a> {
    let account = account::run(run, &Columns::Study, true);
    let (title, tags) = (first::title(run, &account), origin_tag(run));
    let header = first::header(&account, &tags, &tiles::html(run));
    let sections = match &run.imported {
        Some(evidence) => imported::sections(run, evidence, data),
        None => measured(run, account.sections, data),
    };
    let mut sections: Vec<Section> = sections.into_iter().flatten().collect();
    let mut main = Vec::new();
    let answer = match &run.imported {
        Some(evidence) => {
            main = document::main(run, evidence);
            let mut all: Vec<&mut Section> = main.iter_mut().chain(&mut sections).collect();
            imported::answer(run, evidence, &mut all)
        }
        None => answer::figure(run),
    };
    let layers = target::layers(&run.target.stack);
    Page {
        title,
        header,
        answer,
        run: Some(run),
        beside: match layers.is_empty() {
            true => Vec::new(),
            false => vec![("stack", layers)],
        },
        main,
        sections,
        markdown: account::markdown::ticket(account::run(run, &Columns::Usual, false)),
        footer: footer(run),
    }
}

/// Sections of an account that the page has in another form: above its contents, and beside the
/// figures that findings rest on.
const ELSEWHERE: [&str; 3] = ["headline", "findings", "sizes"];

/// The sections of the account, with the drawings behind the rows.
fn measured(run: &Run, parts: Vec<account::Section>, data: &ReportData) -> Vec<Option<Section>> {
    let mut out = vec![target::stack(run)];
    for part in parts {
        if ELSEWHERE.contains(&&*part.id) {
            continue;
        }
        let is_of_rows = part.id == "rows";
        out.push(section::of(part, run));
        if is_of_rows {
            out.extend([
                figures::load(run),
                figures::percentiles(run),
                density::section(run, data),
                heat::section(run, data),
                series::series(run),
                figures::commit_path(run),
                density::histograms(run, data),
                scatter::section(run, data),
                sweep::section(run, data),
            ]);
        }
    }
    out.extend([target::environment(run), repeat::command(run)]);
    out
}

fn footer(run: &Run) -> String {
    format!(
        "<footer>redolab {} · schema {} · run {} · {}. Units: 1 kB = 1024 B, 1 MB = 1024 kB, as in \
         study 003. Percentiles come from merged histograms and are not given from fewer than ten \
         samples beyond them; counts, sums, minima and maxima are exact.</footer>\n",
        esc(&run.redolab_version),
        esc(&run.schema),
        esc(&run.run_id),
        esc(&run.created),
    )
}

/// Where figures come from, as a label for tables and plots.
fn origin_tag(run: &Run) -> String {
    let doubt = if run.validity.valid {
        ""
    } else {
        " <span class=\"tag loud\">run invalid</span>"
    };
    format!("{}{doubt}", origin_class(run.origin))
}

fn origin_class(origin: Origin) -> String {
    let class = match origin {
        Origin::Measured | Origin::Watched => "tag",
        Origin::Simulated | Origin::Imported => "tag loud",
    };
    format!("<span class=\"{class}\">{origin}</span>")
}

/// The class and the mark of what weighs so.
const fn mark_of(weight: Weight) -> (&'static str, &'static str) {
    match weight {
        Weight::Bad => ("bad", "▲"),
        Weight::Caution => ("caution", "◆"),
        Weight::Good => ("good", "●"),
        Weight::Info => ("info", "○"),
    }
}

/// A list of at most [`MAX_ENTRIES`] of what `entry` makes, and how many more there are.
fn entries<T>(items: &[T], entry: impl Fn(&T) -> String) -> String {
    let mut out: String = items.iter().take(MAX_ENTRIES).map(entry).collect();
    if items.len() > MAX_ENTRIES {
        out.push_str(&format!("<li>and {} more</li>", items.len() - MAX_ENTRIES));
    }
    out
}

/// `<dt>`/`<dd>` pairs of what is known.
fn pairs(items: &[(&str, Option<String>)]) -> String {
    let known: String = items
        .iter()
        .filter_map(|(k, v)| Some((k, v.as_ref().filter(|v| !v.is_empty())?)))
        .map(|(k, v)| format!("<dt>{k}</dt><dd>{}</dd>", esc(v)))
        .collect();
    if known.is_empty() {
        known
    } else {
        format!("<dl class=\"kv\">{known}</dl>")
    }
}
