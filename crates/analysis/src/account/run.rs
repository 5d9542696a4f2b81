//! The account of a run: measured, watched or read from evidence.
//!
//! Invariant: an answer and a doubt are spelled here alone; each renderer shows them in its form.

use super::answer::{
    Account, AccountAnswer, BASED_ON, DURABILITY, NEED, PERFORMANCE, SCOPE, capitalised, one_line,
};
use super::columns::Columns;
use super::document::{self, DocumentAnswer};
use super::findings::{claim, diagnosis};
use super::{Body, Section, Shown, Statement, imported, place};
use crate::bytes::has_server;
use crate::envelope::Envelope;
use crate::findings::{self, catalogue};
use crate::verdict::{need_places, needed};
use crate::{format, size_sweep};
use measure::judgement::{Answer, Finding, Need, Verdict, Weight};
use measure::run::{Origin, Run, TargetFacts, problems};

/// A need that nobody stated.
pub const NO_NEED: &str = "none stated";

/// The run, its rows in `columns`; `all` with what repeats figures in more detail.
#[must_use]
pub fn run(run: &Run, columns: &Columns, all: bool) -> Account {
    let answer = match (&run.imported, &run.verdict) {
        (Some(_), _) => causes(run),
        (None, Some(verdict)) => judged(run, verdict),
        (None, None) => AccountAnswer {
            words: "Not judged".to_owned(),
            why: vec![format!(
                "This run was measured without a verdict: {}.",
                Envelope::of(run).sentence()
            )],
            ..AccountAnswer::default()
        },
    };
    Account {
        question: question(run),
        answer: AccountAnswer {
            facts: place::facts(run),
            doubts: doubts(run),
            ..answer
        },
        sections: match run.imported {
            Some(_) => imported::evidence(run, all),
            None => measured(run, columns, all),
        },
        origin: run.origin.to_string(),
        made: format!(
            "run {}, {}, redolab {}",
            run.run_id, run.created, run.redolab_version
        ),
    }
}

/// What was looked at, as far as it is known.
pub(crate) fn path(run: &Run) -> &str {
    match run.target.path.as_str() {
        "" => "this target",
        path => path,
    }
}

fn question(run: &Run) -> String {
    let path = path(run);
    if let TargetFacts::Simulated(of) = &run.target.facts {
        return format!("What if: {}?", of.model);
    }
    match (run.imported.is_some(), run.verdict.is_some()) {
        (true, _) => own_answer(run).map_or_else(
            || "Why do commits wait? What the evidence shows".to_owned(),
            |own| own.question,
        ),
        (false, true) => format!("Should a redo log live on {path}?"),
        (false, false) => format!("What was measured on {path}"),
    }
}

fn judged(run: &Run, verdict: &Verdict) -> AccountAnswer {
    let words = capitalised(verdict.answer.word());
    let figures = Envelope::of(run);
    let sentence = figures.sentence();
    let mut why = vec![reason(&verdict.summary, &words, &sentence)];
    if figures != Envelope::default() && run.validity.valid {
        let doubt = match verdict.answer {
            Answer::Undetermined => " (doubtful)",
            Answer::Yes | Answer::Conditional | Answer::No => "",
        };
        let most = sentence.replace("up to ", "");
        let made = match run.origin {
            Origin::Simulated => "Simulated",
            _ => "Measured",
        };
        why.push(format!("{made}{doubt}: {most}"));
    }
    let mut based_on = rests_on(verdict);
    if let TargetFacts::Simulated(of) = &run.target.facts {
        why.push(super::simulated::in_short(of));
        let seconds = format::digits(verdict.scope.seconds);
        based_on = format!("{seconds} s of virtual time on a model");
    }
    let mut axes = vec![
        (DURABILITY, verdict.durability_in_words()),
        (PERFORMANCE, verdict.performance.to_string()),
        (NEED, need_in_words(&run.need)),
        (BASED_ON, based_on),
    ];
    let watched = verdict.scope.watched;
    axes.extend(watched.then(|| (SCOPE, "watched".to_owned())));
    AccountAnswer {
        weight: match verdict.answer {
            Answer::Yes => Weight::Good,
            Answer::Conditional => Weight::Caution,
            Answer::No => Weight::Bad,
            Answer::Undetermined => Weight::Info,
        },
        words,
        why,
        axes,
        ..AccountAnswer::default()
    }
}

/// The summary, which is one sentence for a ticket, without the answer and the figures, which have
/// places of their own.
fn reason(summary: &str, answer: &str, figures: &str) -> String {
    let parts = [
        format!(" Doubtful figures: {figures}."),
        // As earlier versions worded it.
        format!(" In doubt: {figures}."),
        format!("; {figures}"),
    ];
    let rest = summary.strip_prefix(answer);
    let rest = rest.and_then(|rest| rest.strip_prefix(": "));
    let whole = rest.unwrap_or(summary).to_owned();
    capitalised(&parts.iter().fold(whole, |why, part| why.replace(part, "")))
}

/// The need: `5,000 commits/s, p99 2 ms`.
fn need_in_words(need: &Need) -> String {
    match needed(need) {
        parts if parts.is_empty() => NO_NEED.to_owned(),
        parts => parts.join(", "),
    }
}

/// Where the figures of the need come from.
fn need_sources(need: &Need) -> Option<Section> {
    let places = need_places(need).into_iter();
    let facts = places.map(|(what, place)| (what, Shown::Text(place)));
    let facts: Vec<(String, Shown)> = facts.collect();
    let title = "The need comes from";
    (!facts.is_empty()).then(|| Section::of("need", title, "", vec![Body::Facts(facts)]))
}

fn rests_on(verdict: &Verdict) -> String {
    let scope = &verdict.scope;
    let cached = match scope.cache_resident {
        true => " (could fit into a cache)",
        false => "",
    };
    let files = match scope.log_footprint_bytes {
        0 => String::new(),
        bytes => format!(", log files of {}{cached}", format::bytes(bytes)),
    };
    format!(
        "{} s, {} written{files}",
        format::digits(scope.seconds),
        format::bytes(scope.bytes_written),
    )
}

/// What evidence answers: by itself, else what its weightiest finding claims.
fn causes(run: &Run) -> AccountAnswer {
    let mut found = diagnosis(run);
    // Commits that are hardly any of DB time are no problem, however long they take.
    let is_small = |of: &Finding| of.id == catalogue::DIAGNOSIS_DB_TIME.id && !of.advice.is_empty();
    found.sort_by_key(|of| !is_small(of));
    let has_small = found.first().is_some_and(|of| is_small(of));
    let own = own_answer(run).filter(|_| !has_small);
    let based_on = own.as_ref().map(|own| (BASED_ON, own.source.clone()));
    let verdict = [
        (DURABILITY, "not in this evidence".to_owned()),
        (PERFORMANCE, performance(&found)),
    ];
    let axes = verdict.into_iter().chain(based_on).collect();
    let short = |f: &Finding| named_shortly(run, &capitalised(&claim(f)));
    if let Some(own) = own {
        // What limits the answer, and what is against it.
        let limits = [findings::UNLIKE, catalogue::EVIDENCE_SMALL_EFFECT.id];
        let limits = run.findings.iter().filter(|f| limits.contains(&&*f.id));
        let limits = limits.map(|f| one_line(&short(f), document::LINE_MAX).0);
        let against = found.iter().filter(|f| f.weight >= Weight::Caution);
        let against = against.take(2).map(|f| short(f));
        return AccountAnswer {
            words: own.words,
            weight: own.weight,
            why: own.why.into_iter().chain(limits).chain(against).collect(),
            axes,
            ..AccountAnswer::default()
        };
    }
    // Figures that contradict each other are no cause, and no cause is believed without them.
    let is_against =
        |f: &&Finding| f.id == catalogue::EVIDENCE_AVERAGE.id && f.weight >= Weight::Caution;
    let contradiction = run.findings.iter().find(is_against).map(short);
    let Some((first, rest)) = found.split_first() else {
        let why = "No finding follows from this evidence about what commits wait for: it takes \
                   figures of log file sync and log file parallel write. The figures and tables \
                   below show what it contains.";
        return AccountAnswer {
            words: "No cause found".to_owned(),
            why: std::iter::once(why.to_owned())
                .chain(contradiction)
                .collect(),
            axes,
            ..AccountAnswer::default()
        };
    };
    let (words, more) = one_line(&short(first), document::LINE_MAX);
    let advice = Some(&first.advice).filter(|advice| !advice.is_empty());
    let advice = advice.map(|advice| format!("What to do: {advice}"));
    let more = Some(more).filter(|more| !more.is_empty());
    AccountAnswer {
        words,
        weight: first.weight,
        why: {
            let others = rest.iter().take(2).map(|f| short(f));
            let more = more.into_iter().chain(advice).chain(contradiction);
            more.chain(others).collect()
        },
        axes,
        ..AccountAnswer::default()
    }
}

/// A text with the names of the evidence's files without their folders: the section of the evidence
/// has the paths.
fn named_shortly(run: &Run, text: &str) -> String {
    let sources = run.imported.iter().flat_map(|of| &of.sources);
    sources.fold(text.to_owned(), |text, source| {
        let name = source
            .file
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty());
        name.map_or(text.clone(), |name| text.replace(&source.file, name))
    })
}

/// What the evidence answers before causes are looked for, unless it shows that waits are slow.
fn own_answer(run: &Run) -> Option<DocumentAnswer> {
    let is_slow = run
        .findings
        .iter()
        .any(|f| f.id == catalogue::DIAGNOSIS_TAIL.id);
    let own = run.imported.as_ref().and_then(document::answer);
    own.filter(|_| !is_slow)
}

/// What the findings about waits are, by how they weigh.
fn performance(found: &[&Finding]) -> String {
    let count = |weight| found.iter().filter(|f| f.weight == weight).count() as u64;
    let judged = found.iter().any(|f| f.weight != Weight::Info);
    match (count(Weight::Bad), count(Weight::Caution)) {
        (0, 0) if judged => "no problem found".to_owned(),
        (0, 0) => "not judged".to_owned(),
        (0, cautions) => format::plural(cautions, "caution"),
        (bad, 0) => format::plural(bad, "problem"),
        (bad, cautions) => {
            let both = [
                format::plural(bad, "problem"),
                format::plural(cautions, "caution"),
            ];
            both.join(", ")
        }
    }
}

/// The problems of a run, each once, and what was not measured.
fn doubts(run: &Run) -> Vec<(Statement, &'static str)> {
    let mut all = problems::each_once(&run.validity.problems);
    all.sort_by_key(|problem| !problem.invalidates);
    let all = all.iter().map(|problem| Statement::problem(problem, ""));
    let shortened = run.validity.shortened.iter().map(|line| Statement {
        word: "not all was measured".to_owned(),
        claim: line.clone(),
        ..Statement::default()
    });
    all.chain(shortened).map(|of| (of, "validity")).collect()
}

/// The sections of a measured run.
fn measured(run: &Run, columns: &Columns, all: bool) -> Vec<Section> {
    let has_rows = !run.rows.is_empty();
    let waits = match all {
        true => super::waits(run),
        false => super::other_waits(run),
    };
    let sections = [
        super::key_figures::headline(run),
        super::explained_latency(run).filter(|_| has_rows),
        Some(super::rows(run, columns)).filter(|_| has_rows || all),
        waits,
        sizes(run),
        super::simulated(run),
        super::watched(run),
        super::workers(run),
        super::nodes(run),
        super::slow_writes(run),
        super::bytes(run).filter(|_| all || has_server(run)),
        super::tproc_c(run),
        super::floor(run).filter(|_| all || !has_rows),
        super::placement(run).filter(|_| all || !has_rows),
        super::probe(run).filter(|_| all),
        super::members(run),
        super::ring(run),
        done_without(run),
        super::validity(run).filter(|_| all),
        super::findings::section(run, all),
        need_sources(&run.need),
        not_judged(run),
    ];
    sections.into_iter().flatten().collect()
}

/// What the counts of a size sweep show.
fn sizes(run: &Run) -> Option<Section> {
    let body: Vec<Body> = size_sweep::sentences(run)
        .into_iter()
        .map(Body::Text)
        .collect();
    let title = "What the sizes show";
    (!body.is_empty()).then(|| Section::of("sizes", title, "", body))
}

/// The directories of a stripe, and what was asked for and done without.
fn done_without(run: &Run) -> Option<Section> {
    let log = run.target.redo_log()?;
    let stripe = log.stripe.iter().map(|stripe| {
        let name = format!("Stripe of {stripe}");
        (name, Shown::Text(stripe.directories.join(", ")))
    });
    let without = log.fallbacks.iter();
    let without = without.map(|what| ("Done without".to_owned(), Shown::text(what)));
    let facts: Vec<(String, Shown)> = stripe.chain(without).collect();
    let title = "How the log was made";
    (!facts.is_empty()).then(|| Section::of("made", title, "", vec![Body::Facts(facts)]))
}

/// What a verdict does not cover.
fn not_judged(run: &Run) -> Option<Section> {
    let not = &run.verdict.as_ref()?.scope.not_judged;
    let of = |what: &String| Statement {
        claim: what.clone(),
        ..Statement::default()
    };
    let body = vec![Body::Findings(not.iter().map(of).collect())];
    let about = "What this verdict does not cover.";
    Some(Section::of("not-judged", "Not judged", about, body))
}
