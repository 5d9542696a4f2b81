//! The key figures of the first screen, beside each other.

use super::escape::esc;
use crate::account::key_figures::{KeyFigure, key_figures};
use measure::run::Run;

/// Empty without any.
pub(super) fn html(run: &Run) -> String {
    let all = key_figures(run);
    let tile = |of: &KeyFigure| {
        let words = of.value.words("");
        let (value, unit) = words.rsplit_once(' ').unwrap_or((&words, ""));
        format!(
            "<div><dt>{}</dt><dd class=\"v\">{} <small>{}</small></dd><dd class=\"n\">{}</dd></div>",
            of.label,
            esc(value),
            esc(unit),
            esc(&of.note)
        )
    };
    match all.is_empty() {
        true => String::new(),
        false => format!(
            "<dl class=\"tiles\">{}</dl>\n",
            all.iter().map(tile).collect::<String>()
        ),
    }
}
