//! The first screen of a page: what was looked at, the answer, what raises doubt, and a few
//! figures. The drawing that follows is in `answer` and `winner`.
//!
//! Invariants: it fits 900 pixels of height together with its drawing; what is not known is left
//! out.

use super::escape::bounded;
use crate::account::run::path;
use crate::account::{Account, AccountAnswer, Statement};
use maud::{Markup, PreEscaped, html};
use measure::judgement::Weight;
use measure::run::Run;

/// Doubts that are in sight at once: with more, the drawing ends below the first screen.
const DOUBTS: usize = 2;
/// Doubts that unfold; the rest is where the last one leads.
const UNFOLDED: usize = 20;
/// Characters of an answer that is set in large letters.
const SHORT: usize = 60;

/// The top of a page: behind the answer `below`, which is markup.
pub(super) fn header(of: &Account, tags: &str, below: &str) -> String {
    let facts = &of.answer.facts;
    let page = html! {
        header {
            h1 { (bounded(&of.question)) }
            p.meta { (PreEscaped(tags)) " · " (bounded(&of.made)) }
            @if !facts.is_empty() {
                dl.facts { @for (label, words, details) in facts { div {
                    dt { (label) }
                    dd { b { (bounded(words)) } small { (bounded(details)) } }
                } } }
            }
            (banner(&of.answer))
            (doubts(&of.answer))
            (PreEscaped(below))
        }
    };
    page.into_string() + "\n"
}

/// The answer in a frame, coloured by how it weighs.
fn banner(of: &AccountAnswer) -> Markup {
    let tone = match of.weight {
        Weight::Bad => "no",
        Weight::Caution => "conditional",
        Weight::Good => "yes",
        Weight::Info => "none",
    };
    let is_long = of.words.chars().count() > SHORT;
    html! {
        @if !of.words.is_empty() {
            div class={ "banner " (tone) } {
                p class=(if is_long { "a long" } else { "a" }) { (bounded(&of.words)) }
                @for why in &of.why { p.s { (bounded(&clipped(why, 420))) } }
                @if !of.axes.is_empty() {
                    dl.axes { @for (name, words) in &of.axes {
                        div { dt { (name) } dd { (bounded(words)) } }
                    } }
                }
            }
        }
    }
}

/// Why the figures may not mean what they seem to; those behind the first ones unfold.
fn doubts(of: &AccountAnswer) -> Markup {
    let (shown, others) = of.doubts.split_at(DOUBTS.min(of.doubts.len()));
    let all = |doubts: &[(Statement, &str)]| {
        html! { @for (of, section) in doubts { (doubt(of, section)) } }
    };
    html! {
        @if of.is_wrong() { p.warn { b { "Invalid: do not use these figures." } } }
        (all(shown))
        @if !others.is_empty() {
            details.doubts {
                summary { (others.len()) " more of these" }
                (all(&others[..others.len().min(UNFOLDED)]))
            }
        }
    }
}

fn doubt(of: &Statement, section: &str) -> Markup {
    let word = match of.word.as_str() {
        "" => String::new(),
        word => format!("{word}: "),
    };
    html! { p.warn {
        (bounded(&clipped(&format!("{word}{}", of.claim), 280))) " "
        a href={ "#" (section) } { "More" }
    } }
}

/// The name of the page in a list of windows or files: the answer first.
pub(super) fn title(run: &Run, of: &Account) -> String {
    let answer = match run.imported.is_some() {
        true => "Evidence",
        false => of.answer.words.as_str(),
    };
    let host = match run.environment.hostname.as_str() {
        "" => String::new(),
        host => format!(" on {host}"),
    };
    format!("{answer}: {}{host} ({})", path(run), run.run_id)
}

/// A sentence as far as the first screen has room for it.
fn clipped(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let head: String = text.chars().take(most).collect();
    let end = head.rfind(' ').unwrap_or(head.len());
    format!("{} …", head.get(..end).unwrap_or(&head))
}
