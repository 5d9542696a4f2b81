//! The first lines of what a command prints of a run: the verdict, why, what the target can do,
//! and which run it is. Five lines where the verdict has a reason and the width is 80 or more.
//!
//! Invariants: an invalid run is called that above its figures, with each problem; a doubtful one
//! names its problems, which the findings explain.

use super::lines::{LINE_MAX, wrap};
use super::table::{Style, caption, which};
use analysis::envelope::Envelope;
use analysis::verdict::needed;
use measure::judgement::{Answer, Verdict};
use measure::run::Run;
use measure::words::sanitize;

/// Lines for the reason of the verdict at most; the findings have it whole.
const WHY_LINES: usize = 2;

/// Why, without the figures: the summary is one sentence for a ticket; here its figures have a line
/// of their own.
fn why(verdict: &Verdict, sentence: &str) -> String {
    let parts = [
        format!(" Doubtful figures: {sentence}."),
        // As earlier versions worded it.
        format!(" In doubt: {sentence}."),
        format!("; {sentence}"),
    ];
    let whole = verdict.summary.clone();
    parts.iter().fold(whole, |why, part| why.replace(part, ""))
}

/// The first lines.
#[must_use]
pub fn head(run: &Run, style: Style) -> String {
    let Some(verdict) = &run.verdict else {
        return format!("{}\n", caption(run));
    };
    let width = style.width.min(LINE_MAX);
    let scope = if verdict.scope.watched {
        "   scope: watched"
    } else {
        ""
    };
    let mut out = format!(
        "Verdict: {}   durability: {}   performance: {}{scope}\n",
        verdict.answer.word().to_uppercase(),
        verdict.durability_in_words(),
        verdict.performance,
    );
    if out.chars().count() > width + 1 {
        out = out.replacen("   performance: ", "\n  performance: ", 1);
    }
    let figures = Envelope::of(run);
    let sentence = figures.sentence();
    out.push_str(&clipped(&why(verdict, &sentence), width));
    if figures != Envelope::default() && run.validity.valid {
        let doubt = match verdict.answer == Answer::Undetermined {
            true => " (doubtful)",
            false => "",
        };
        let measured = format!("Measured{doubt}: {}", sentence.replace("up to ", ""));
        wrap(&mut out, "  ", &measured, width);
    }
    let need = needed(&run.need);
    if !need.is_empty() {
        wrap(&mut out, "  ", &format!("Need: {}", need.join(", ")), width);
    }
    if !run.validity.valid {
        return format!("{out}{}\n", caption(run));
    }
    wrap(&mut out, "", &which(run), width);
    if !run.notes.tags.is_empty() {
        wrap(&mut out, "  ", &run.notes.tags_in_words(), width);
    }
    if let Some(doubts) = doubts(run) {
        wrap(&mut out, "  ", &doubts, width);
    }
    for line in &run.validity.shortened {
        let line = format!("not all was measured: {}", sanitize::line(line));
        wrap(&mut out, "  ", &line, width);
    }
    out
}

/// The problems of a run that is not invalid, which the findings explain.
fn doubts(run: &Run) -> Option<String> {
    let mut doubts: Vec<String> = Vec::new();
    for problem in &run.validity.problems {
        let id = sanitize::line(&problem.id);
        if !doubts.contains(&id) {
            doubts.push(id);
        }
    }
    (!doubts.is_empty()).then(|| format!("doubtful: {}", doubts.join(", ")))
}

/// A reason of a few lines; what is cut ends with an ellipsis.
fn clipped(why: &str, width: usize) -> String {
    let mut whole = String::new();
    wrap(&mut whole, "  ", why, width);
    let lines: Vec<&str> = whole.lines().collect();
    if lines.len() <= WHY_LINES {
        return whole;
    }
    let mut kept: Vec<String> = lines
        .iter()
        .take(WHY_LINES)
        .map(|l| (*l).to_owned())
        .collect();
    if let Some(last) = kept.last_mut() {
        let cut: String = last.chars().take(width.saturating_sub(4)).collect();
        *last = format!("{} ...", cut.trim_end());
    }
    format!("{}\n", kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines;
    use crate::output::table::tests::run;
    use measure::judgement::{Durability, Performance, Scope};

    fn judged(summary: &str, answer: Answer) -> Run {
        let mut run = run();
        run.verdict = Some(Verdict {
            answer,
            durability: Durability::Unverified,
            performance: Performance::NoNeedStated,
            scope: Scope::default(),
            reasons: Vec::new(),
            summary: summary.to_owned(),
            durability_basis: None,
            loss_per_cut_below: None,
        });
        run
    }

    #[test]
    fn the_answer_is_in_five_lines() {
        let mut run = judged("", Answer::Conditional);
        let sentence = Envelope::of(&run).sentence();
        for (summary, answer, measured) in [
            (
                format!("Conditional: durability is unverified; {sentence}."),
                Answer::Conditional,
                "Measured: ",
            ),
            (
                format!(
                    "Undetermined: {}. Doubtful figures: {sentence}.",
                    "why ".repeat(90)
                ),
                Answer::Undetermined,
                "Measured (doubtful): ",
            ),
        ] {
            run.verdict = judged(&summary, answer).verdict;
            let text = head(
                &run,
                Style {
                    width: 80,
                    frame: true,
                },
            );
            assert!(text.lines().count() <= 5, "{text}");
            assert!(text.lines().all(|l| lines::width(l) <= 80), "{text}");
            assert!(text.starts_with("Verdict: "), "{text}");
            let after = text
                .split(measured)
                .nth(1)
                .expect("the envelope has a line");
            let figures = sentence.replace("up to ", "");
            assert!(after.starts_with(&figures[..20]), "{text}");
            assert_eq!(text.matches(&figures[..20]).count(), 1, "{text}");
            assert!(
                text.contains("origin: measured  target: file /redo"),
                "{text}"
            );
        }
    }

    #[test]
    fn an_invalid_run_has_no_envelope_and_a_doubtful_one_names_its_doubts() {
        let mut run = judged("Undetermined: EIO.", Answer::Undetermined);
        run.validity.add("max_write", false, "it ended early");
        let style = Style {
            width: 80,
            frame: true,
        };
        assert!(head(&run, style).contains("doubtful: max_write"));
        run.validity.shortened.push("a row ended early".to_owned());
        assert!(head(&run, style).contains("a row ended early"));
        run.validity.add("io_error", true, "EIO on a write");
        let text = head(&run, style);
        for must in [
            "INVALID",
            "invalid: io_error: EIO on a write",
            "doubtful: max_write",
        ] {
            assert!(text.contains(must), "{must}: {text}");
        }
        assert!(!text.contains("Measured"), "{text}");
    }
}
