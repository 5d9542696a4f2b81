//! What a run shows, as text: findings with advice, and what was not judged. The answer itself is
//! in the first lines ([`super::head`]).
//!
//! Invariant: nothing against the target is left out; plain facts are counted where
//! they are not listed.

use super::lines::{LINE_MAX, wrap};
use super::section;
use super::table::Style;
use analysis::account::findings::{claim, statement};
use measure::judgement::{Finding, Need, Weight};
use measure::run::{Problem, Run, problems};
use measure::words::sanitize;

/// The reasons of a verdict, or a run's findings where there is none; plain facts only when
/// `verbose`. Empty for a run without findings.
#[must_use]
pub fn findings(run: &Run, style: Style, verbose: bool) -> String {
    let found = match &run.verdict {
        Some(verdict) => &verdict.reasons,
        None => &run.findings,
    };
    if found.is_empty() {
        return String::new();
    }
    let mut out = String::from("Findings:\n");
    let width = style.width.min(LINE_MAX);
    // The head has their details; of the doubts about a valid run with a verdict the names alone.
    let mut problems = problems::each_once(&run.validity.problems);
    let is_named = run.verdict.is_some() && run.validity.valid;
    problems.retain(|p| p.invalidates || !is_named);
    reasons(&mut out, found, &problems, (width, verbose));
    out
}

/// Where the figures of the need come from; empty where all were stated.
#[must_use]
pub fn need_sources(need: &Need) -> String {
    if !need.is_of_production() {
        return String::new();
    }
    let figures = analysis::verdict::need_places(need).into_iter();
    let lines = figures.map(|(what, place)| format!("  {what}: {}\n", sanitize::line(&place)));
    format!("The need comes from:\n{}", lines.collect::<String>())
}

/// What a verdict does not judge; empty where there is no verdict.
#[must_use]
pub fn not_judged(run: &Run, style: Style) -> String {
    let Some(verdict) = &run.verdict else {
        return String::new();
    };
    let mut out = String::from("Not judged:\n");
    for what in &verdict.scope.not_judged {
        wrap(&mut out, "  ", what, style.width.min(LINE_MAX));
    }
    out
}

/// Each finding with its advice; plain facts only when `verbose`, and then all with their ids.
fn reasons(
    out: &mut String,
    findings: &[Finding],
    problems: &[Problem],
    (width, verbose): (usize, bool),
) {
    let is_fact = |f: &&Finding| f.weight == Weight::Info;
    for reason in findings.iter().filter(|f| verbose || !is_fact(f)) {
        let mut of = statement(reason, false);
        if !verbose {
            of.claim = claim(reason);
        }
        of.claim = not_again(&of.claim, problems);
        match reason.weight >= Weight::Caution {
            true if verbose && !reason.threshold.is_empty() => {
                let limit = format!("threshold: {} ({})", reason.threshold, reason.source);
                of.details.push(limit);
            }
            true => {}
            false => of.details.clear(),
        }
        section::statement(out, &of, width);
    }
    let facts = findings.iter().filter(is_fact).count() as u64;
    if facts > 0 && !verbose {
        let facts = measure::words::plural(facts, "more fact");
        out.push_str(&format!("  ({facts} with -v)\n"));
    }
    if verbose {
        out.push_str("  (redolab findings ID explains the id in brackets)\n");
    }
}

/// `text` without the details of problems, which are in the caption.
fn not_again(text: &str, problems: &[Problem]) -> String {
    problems.iter().fold(text.to_owned(), |text, problem| {
        let word = if problem.invalidates {
            "Invalid"
        } else {
            "Doubtful"
        };
        let detail = problem.detail.trim_end_matches('.');
        match detail.is_empty() {
            true => text,
            false => text.replace(
                &format!("{word}: {detail}"),
                &format!("{word}: {}, see above", problem.id),
            ),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::lines;
    use measure::judgement::{Answer, Durability, Performance, Scope, Verdict};

    fn judged() -> Run {
        let finding = |weight, claim: &str| Finding {
            id: "x.y".to_owned(),
            weight,
            claim: claim.to_owned(),
            numbers: Vec::new(),
            threshold: String::new(),
            source: String::new(),
            confidence: measure::judgement::Confidence::Medium,
            advice: format!("Do something about {claim}."),
        };
        let verdict = Verdict {
            answer: Answer::No,
            durability: Durability::Volatile,
            performance: Performance::NoNeedStated,
            scope: Scope {
                not_judged: vec!["endurance".to_owned()],
                ..Scope::default()
            },
            reasons: vec![
                finding(Weight::Bad, &format!("memory{}", " word".repeat(40))),
                finding(Weight::Good, "blocks fit\u{1b}[2J"),
                finding(Weight::Info, "a fact"),
            ],
            summary: "No: it is memory.".to_owned(),
            durability_basis: None,
            loss_per_cut_below: None,
        };
        Run {
            verdict: Some(verdict),
            ..crate::output::table::tests::run()
        }
    }

    #[test]
    fn lines_fit_and_facts_wait_to_be_asked_for() {
        let style = Style {
            width: 80,
            frame: false,
        };
        let brief = findings(&judged(), style, false);
        for line in brief.lines() {
            assert!(lines::width(line) <= 80, "{line}");
        }
        assert!(
            brief.contains("\n  - memory word") && brief.contains("\n    word"),
            "{brief}"
        );
        assert!(brief.contains("  (1 more fact with -v)\n"), "{brief}");
        assert!(
            brief.contains("  + blocks fit\n") && !brief.contains("a fact"),
            "{brief}"
        );
        assert_eq!(not_judged(&judged(), style), "Not judged:\n  endurance\n");
        assert_eq!(
            brief.matches("Do something").count(),
            1,
            "advice only where it is needed"
        );
        let full = findings(&judged(), style, true);
        assert!(
            full.contains("    a fact [x.y]\n") && !full.contains("with -v"),
            "{full}"
        );
    }

    #[test]
    fn a_doubt_of_several_rows_is_printed_once_with_them() {
        let mut run = judged();
        for jobs in ["1 job", "8 jobs", "64 jobs"] {
            let detail = format!("LGWR-LAT1 with {jobs}: 3 commits are too few.");
            run.validity.add("few_commits", false, detail);
        }
        run.findings = analysis::findings(&run, &analysis::Thresholds::default());
        let style = Style::detect(false, None);
        let with_verdict = run.clone();
        run.verdict = None;
        let rows = "(this also applies to LGWR-LAT1 with 8 jobs; LGWR-LAT1 with 64 jobs)";
        let caption = crate::output::table::caption(&run);
        let below = findings(&run, style, false);
        assert_eq!(caption.matches("too few").count(), 1, "{caption}");
        assert!(caption.contains(rows), "{caption}");
        assert!(!below.contains("too few"), "{below}");
        assert!(
            below.contains("Doubtful: few_commits, see above"),
            "{below}"
        );
        let mut judged = with_verdict;
        if let Some(verdict) = &mut judged.verdict {
            verdict.reasons = judged.findings.clone();
        }
        let below = findings(&judged, style, false);
        assert_eq!(below.matches("too few").count(), 1, "{below}");
    }

    #[test]
    fn what_the_caption_says_is_named_and_not_printed_again() {
        let problem = |id: &str, invalidates, detail: &str| Problem {
            id: id.to_owned(),
            invalidates,
            detail: detail.to_owned(),
        };
        let problems = [
            problem("busy_device", false, "others used it."),
            problem("io_error", true, "a write failed"),
            problem("empty", true, ""),
        ];
        let all = "Undetermined: Doubtful: others used it. Invalid: a write failed. Invalid: x";
        assert_eq!(
            not_again(all, &problems),
            "Undetermined: Doubtful: busy_device, see above. Invalid: io_error, see above. Invalid: x"
        );
    }
}
