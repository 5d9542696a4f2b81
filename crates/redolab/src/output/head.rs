//! The first lines of what a command prints of a run: the verdict, why, what the target can do,
//! and which run it is. Five lines where the verdict has a reason and the width is 80 or more.
//!
//! Invariants: an invalid run is called that above its figures, with each problem; a doubtful one
//! names its problems, which the findings explain.

use super::lines::{LINE_MAX, wrap};
use super::table::{Style, caption, which};
use analysis::account::Account;
use analysis::account::answer::{DURABILITY, NEED, PERFORMANCE, SCOPE};
use analysis::account::run::NO_NEED;
use measure::judgement::Weight;
use measure::run::Run;

/// Lines for the reason of the verdict at most, and for each sentence about evidence; the findings
/// have them whole.
const WHY_LINES: usize = 2;
const EVIDENCE_LINES: usize = 3;

/// The first lines of the account of `run`.
#[must_use]
pub fn head(account: &Account, run: &Run, style: Style) -> String {
    let answer = &account.answer;
    let width = style.width.min(LINE_MAX);
    let judged = answer.axis(DURABILITY).zip(answer.axis(PERFORMANCE));
    let Some((durability, performance)) = judged.filter(|_| answer.is_verdict()) else {
        let mut out = format!("{}\n", caption(run));
        if run.imported.is_some() {
            wrap(&mut out, "", &answer.words, width);
            out.extend(
                answer
                    .why
                    .iter()
                    .map(|why| clipped(why, width, EVIDENCE_LINES)),
            );
            let axes = answer
                .axes
                .iter()
                .map(|(name, words)| format!("{name}: {words}"));
            wrap(
                &mut out,
                "  ",
                &axes.collect::<Vec<String>>().join("   "),
                width,
            );
        }
        return out;
    };
    let scope = answer.axis(SCOPE);
    let scope = scope.map_or_else(String::new, |scope| format!("   scope: {scope}"));
    let mut out = format!(
        "Verdict: {}   durability: {durability}   performance: {performance}{scope}\n",
        answer.words.to_uppercase(),
    );
    if out.chars().count() > width + 1 {
        out = out.replacen("   performance: ", "\n  performance: ", 1);
    }
    let mut why = answer.why.iter();
    out.extend(why.next().map(|why| clipped(why, width, WHY_LINES)));
    why.for_each(|why| wrap(&mut out, "  ", why, width));
    let need = answer.axis(NEED).filter(|need| *need != NO_NEED);
    if let Some(need) = need {
        wrap(&mut out, "  ", &format!("Need: {need}"), width);
    }
    if answer.is_wrong() {
        return format!("{out}{}\n", caption(run));
    }
    wrap(&mut out, "", &which(run), width);
    if !run.notes.tags.is_empty() {
        wrap(&mut out, "  ", &run.notes.tags_in_words(), width);
    }
    // The findings explain them.
    let mut names: Vec<&str> = Vec::new();
    for problem in &run.validity.problems {
        if !names.contains(&problem.id.as_str()) {
            names.push(&problem.id);
        }
    }
    if !names.is_empty() {
        let names = format!("doubtful: {}", names.join(", "));
        wrap(&mut out, "  ", &names, width);
    }
    let doubts = answer.doubts.iter().map(|(of, _)| of);
    for note in doubts.filter(|of| of.weight == Weight::Info) {
        wrap(
            &mut out,
            "  ",
            &format!("{}: {}", note.word, note.claim),
            width,
        );
    }
    out
}

/// A reason of a few lines; what is cut ends with an ellipsis.
fn clipped(why: &str, width: usize, most: usize) -> String {
    let mut whole = String::new();
    wrap(&mut whole, "  ", why, width);
    let lines: Vec<&str> = whole.lines().collect();
    if lines.len() <= most {
        return whole;
    }
    let mut kept: Vec<String> = lines.iter().take(most).map(|l| (*l).to_owned()).collect();
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
    use analysis::account::{self, columns::Columns};
    use analysis::envelope::Envelope;
    use measure::judgement::{Answer, Durability, Performance, Scope, Verdict};

    fn head_of(run: &Run) -> String {
        let style = Style {
            width: 80,
            frame: true,
        };
        head(&account::run(run, &Columns::Usual, false), run, style)
    }

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
            let text = head_of(&run);
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
        assert!(head_of(&run).contains("doubtful: max_write"));
        run.validity.shortened.push("a row ended early".to_owned());
        assert!(head_of(&run).contains("a row ended early"));
        run.validity.add("io_error", true, "EIO on a write");
        let text = head_of(&run);
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
