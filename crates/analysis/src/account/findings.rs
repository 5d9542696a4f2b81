//! Findings as claims: with a word for what is only suspected, and with what to do.

use super::{Body, Section, Statement};
use measure::judgement::{Confidence, Finding, Weight};
use measure::run::{Problem, Run, problems};
use measure::words;

/// How the ids of findings begin that hold figures of the evidence against each other.
pub(crate) const EVIDENCE: &str = "evidence.";

/// The claim; one that other explanations fit too is a suspicion.
#[must_use]
pub fn claim(f: &Finding) -> String {
    match f.confidence {
        Confidence::Low => format!("Suspicion: {}", f.claim),
        Confidence::Medium | Confidence::High => f.claim.clone(),
    }
}

/// What a finding is called: one about the evidence says how wrong that is, another how it weighs.
#[must_use]
pub fn weight_word(f: &Finding) -> &'static str {
    match (f.weight, f.id.starts_with(EVIDENCE)) {
        (Weight::Bad, true) => "wrong",
        (Weight::Caution, true) => "doubtful",
        (Weight::Bad, false) => "bad",
        (Weight::Caution, false) => "caution",
        (Weight::Good | Weight::Info, _) => "note",
    }
}

/// The finding with its id and its advice; of evidence with the word of its weight.
#[must_use]
pub fn statement(f: &Finding, is_evidence: bool) -> Statement {
    Statement {
        weight: f.weight,
        word: match is_evidence {
            true => weight_word(f).to_owned(),
            false => String::new(),
        },
        claim: format!("{} [{}]", claim(f), f.id),
        details: match f.advice.as_str() {
            "" => Vec::new(),
            advice => vec![format!("What to do: {advice}")],
        },
    }
}

/// All findings: of a judged run those that its verdict follows from, plain facts last.
pub(crate) fn ordered(run: &Run) -> Vec<&Finding> {
    let all = run.verdict.as_ref().map_or(&run.findings, |v| &v.reasons);
    let (facts, mut ordered): (Vec<&Finding>, Vec<&Finding>) =
        all.iter().partition(|f| f.weight == Weight::Info);
    ordered.extend(facts);
    ordered
}

/// What evidence shows of the causes of waits, the weightiest first. What is wrong with the
/// evidence itself is no diagnosis.
pub(crate) fn diagnosis(run: &Run) -> Vec<&Finding> {
    let mut all = ordered(run);
    all.retain(|f| f.id.starts_with("diagnosis.") || f.id.starts_with("latency."));
    all.sort_by_key(|f| std::cmp::Reverse(f.weight));
    all
}

/// The findings of a measured run, with what to do; `all` with plain facts, which are counted
/// otherwise, with their ids and thresholds. `None` without findings.
#[must_use]
pub fn section(run: &Run, all: bool) -> Option<Section> {
    let found = ordered(run);
    if found.is_empty() {
        return None;
    }
    // The answer has the details of problems; of the doubts about a valid run with a verdict, a
    // terminal has the names alone.
    let mut problems = problems::each_once(&run.validity.problems);
    let is_named = run.verdict.is_some() && run.validity.valid;
    problems.retain(|p| p.invalidates || !is_named);
    let of = |f: &&Finding| {
        let mut of = statement(f, false);
        if !all {
            of.claim = claim(f);
        }
        of.claim = not_again(&of.claim, &problems);
        if f.weight < Weight::Caution {
            of.details.clear();
        } else if all && !f.threshold.is_empty() {
            let limit = format!("threshold: {} ({})", f.threshold, f.source);
            of.details.push(limit);
        }
        of
    };
    let is_fact = |f: &&&Finding| f.weight == Weight::Info;
    let facts = found.iter().filter(is_fact).count() as u64;
    let shown = found.iter().filter(|f| all || !is_fact(f));
    let mut body = vec![Body::Findings(shown.map(of).collect())];
    if all {
        let text = "(redolab findings ID explains the id in brackets)";
        body.push(Body::Text(text.to_owned()));
    } else if facts > 0 {
        let facts = words::plural(facts, "more fact");
        body.push(Body::Text(format!("({facts} with -v)")));
    }
    Some(Section::of("findings", "Findings", "", body))
}

/// `text` without the details of problems, which are above.
fn not_again(text: &str, problems: &[Problem]) -> String {
    problems.iter().fold(text.to_owned(), |text, problem| {
        let word = match problem.invalidates {
            true => "Invalid",
            false => "Doubtful",
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

    #[test]
    fn what_the_answer_says_is_named_and_not_said_again() {
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
