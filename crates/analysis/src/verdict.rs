//! The verdict: should a redo log live here? It follows from the findings, never the reverse.
//!
//! Two axes, and the answer is the worse of them. Durability that nothing proves is conditional
//! at best; a run that is invalid or doubtful allows no answer, unless the stack alone already
//! says no.

use crate::envelope::{Envelope, why_open};
use crate::findings::beside;
pub use crate::findings::beside::{need_places, production_wait};
use crate::findings::need::{COMMIT_RATE, ENDURANCE, P99, REDO_RATE, SUSTAINED};
use crate::findings::production::shown;
use crate::findings::{
    BUCKET, DECLARED, FAST_FLUSH, FindingAxis, LOSS_PER_CUT, REFUTED, SHOWN_CUTS, TESTED, axis,
    declarers,
};
use crate::rows::{judged_rows, rows_of};
use crate::thresholds::Thresholds;
use measure::judgement::{
    Answer, Durability, Finding, Need, NeedQuantity, Performance, Scope, Verdict, Weight,
};
use measure::power_test::loss_bound;
use measure::run::{Origin, Run};
use measure::words;

/// The verdict on `run` from its `findings`, for `need`; `scope` says what it rests on, and is
/// completed with what was not judged.
#[must_use]
pub fn verdict(run: &Run, findings: &[Finding], need: &Need, scope: Scope) -> Verdict {
    let durability = durability(findings);
    let unjudged = unjudged_needs(run, findings, need);
    let performance = performance(findings, need, &unjudged);
    // A test of this stack says more about its flushes than their time.
    let doubted = has(findings, FAST_FLUSH) && durability != Durability::Tested;
    let believed = believed(run, findings) && unjudged.is_empty() && !doubted;
    let answer = answer(findings, durability, performance, believed);
    let mut scope = scope;
    let open = not_judged(run, durability, &unjudged, has(findings, BUCKET));
    for text in open.into_iter().chain(beside::no_target(need)) {
        if !scope.not_judged.contains(&text) {
            scope.not_judged.push(text);
        }
    }
    let reasons = reasons(findings);
    let (durability_basis, loss_per_cut_below) = basis(run, findings, durability);
    let proven = durability_basis.as_deref().unwrap_or_default();
    let summary = summary(run, answer, (durability, proven), performance, &reasons);
    Verdict {
        answer,
        durability,
        performance,
        scope,
        reasons,
        summary,
        durability_basis,
        loss_per_cut_below,
    }
}

/// Whether acknowledged writes of a stored run survive power loss: as its verdict says, and of a
/// run without one, as its findings do. `None` where nothing is known of the target.
#[must_use]
pub fn durability_of(run: &Run) -> Option<Durability> {
    if let Some(verdict) = &run.verdict {
        return Some(verdict.durability);
    }
    if !matches!(run.origin, Origin::Measured | Origin::Watched) {
        return None;
    }
    let found = match run.findings.is_empty() {
        true => durability(&crate::findings(run, &Thresholds::default())),
        false => durability(&run.findings),
    };
    // Of a server on another machine only its settings are known.
    let is_known = found.loses_commits() || !run.target.stack.layers.is_empty();
    is_known.then_some(found)
}

/// Exit code where the answer is no, or a limit is breached.
pub const EXIT_NO: u8 = 3;
/// Exit code where there is no answer: the run is invalid or unfinished, or its verdict or a limit
/// is undetermined.
pub const EXIT_UNDETERMINED: u8 = 4;

/// How a command that judges ends: as the verdict says. An invalid run ends as in every command,
/// whatever its verdict is. Where `strict`, a conditional yes is a no.
#[must_use]
pub fn exit_code(run: &Run, strict: bool) -> u8 {
    match run.verdict.as_ref().map(|v| v.answer) {
        _ if !run.validity.valid => EXIT_UNDETERMINED,
        Some(Answer::Yes) => 0,
        Some(Answer::Conditional) if !strict => 0,
        Some(Answer::Conditional | Answer::No) => EXIT_NO,
        Some(Answer::Undetermined) | None => EXIT_UNDETERMINED,
    }
}

fn has(findings: &[Finding], id: &str) -> bool {
    findings.iter().any(|f| f.id == id)
}

fn durability(findings: &[Finding]) -> Durability {
    let lost = |f: &Finding| f.weight == Weight::Bad && axis(&f.id) == FindingAxis::Durability;
    // A doubt about what happens to a flush takes a declaration's force, not a test's.
    let doubted =
        |f: &Finding| f.weight == Weight::Caution && axis(&f.id) == FindingAxis::Durability;
    if has(findings, REFUTED) {
        Durability::Refuted
    } else if findings.iter().any(lost) {
        Durability::Volatile
    } else if has(findings, TESTED) {
        Durability::Tested
    } else if has(findings, DECLARED) && !findings.iter().any(doubted) {
        Durability::Declared
    } else {
        Durability::Unverified
    }
}

/// What a word of durability rests on, and the bound where cuts tested it.
fn basis(run: &Run, findings: &[Finding], durability: Durability) -> (Option<String>, Option<f64>) {
    match durability {
        Durability::Tested => {
            let found = findings.iter().find(|f| f.id == TESTED);
            let number = |name: &str| {
                let numbers = &found?.numbers;
                numbers.iter().find(|(of, _)| of == name).map(|n| n.1)
            };
            // As many as the finding counted.
            let cuts = number(SHOWN_CUTS).unwrap_or(0.0) as u64;
            let bound = words::percent(loss_bound(cuts) * 100.0);
            let cuts = words::plural(cuts, "cut");
            let words = format!("{cuts}: below {bound} per cut");
            (Some(words), number(LOSS_PER_CUT))
        }
        Durability::Declared => (Some(declarers(&run.target.stack)), None),
        Durability::Unverified | Durability::Volatile | Durability::Refuted => (None, None),
    }
}

/// Stated needs that no finding judges, each with the reason: nothing was run that could answer.
fn unjudged_needs(run: &Run, findings: &[Finding], need: &Need) -> Vec<String> {
    let mut out = Vec::new();
    let open = need.p99_ns.and_then(|bound| why_open(run, bound));
    let why = open.unwrap_or("LGWR-LAT1 was not run, or no wait of it is known");
    if need.commit_rate.is_some() && !has(findings, COMMIT_RATE) {
        out.push(format!("the needed commit rate: {why}"));
    }
    if need.redo_bytes_per_s.is_some() && !has(findings, REDO_RATE) {
        out.push("the needed redo rate: no redo was measured".to_owned());
    }
    if need.p99_ns.is_some() && !has(findings, COMMIT_RATE) && !has(findings, P99) {
        out.push(format!("the needed 99th percentile: {why}"));
    }
    out.extend(beside::unjudged(run, need));
    if need.years.is_some() && !has(findings, ENDURANCE) && !has(findings, "space.endurance") {
        out.push(
            "the years that the drive must last: no workload was run, or the drive's rating is not known"
                .to_owned(),
        );
    }
    out
}

fn performance(findings: &[Finding], need: &Need, unjudged: &[String]) -> Performance {
    if !need.is_stated() {
        return Performance::NoNeedStated;
    }
    let worst = findings
        .iter()
        .filter(|f| axis(&f.id) == FindingAxis::Need)
        .map(|f| f.weight)
        .max();
    match worst {
        Some(Weight::Bad) => Performance::Misses,
        Some(Weight::Good) if unjudged.is_empty() => Performance::Meets,
        _ => Performance::Marginal,
    }
}

fn believed(run: &Run, findings: &[Finding]) -> bool {
    let doubted = |f: &Finding| f.weight >= Weight::Caution && axis(&f.id) == FindingAxis::Validity;
    run.validity.valid
        && run.origin != Origin::Simulated
        && !run.rows.is_empty()
        && !findings.iter().any(doubted)
}

fn answer(
    findings: &[Finding],
    durability: Durability,
    performance: Performance,
    believed: bool,
) -> Answer {
    // What the medium does is known without any figure, so doubt about figures can't soften it.
    if durability.loses_commits() {
        return Answer::No;
    }
    if !believed {
        return Answer::Undetermined;
    }
    // Missed in a burst is missed; met in a burst is not yet met.
    if has(findings, SUSTAINED) && performance != Performance::Misses {
        return Answer::Undetermined;
    }
    let is_slow = findings
        .iter()
        .any(|f| f.weight == Weight::Bad && axis(&f.id) == FindingAxis::Performance);
    let is_unsafe = durability == Durability::Unverified
        || findings.iter().any(|f| {
            f.weight == Weight::Caution
                && axis(&f.id) == FindingAxis::Durability
                && durability != Durability::Tested
        });
    match performance {
        Performance::Misses => Answer::No,
        Performance::NoNeedStated if is_slow => Answer::No,
        Performance::Marginal => Answer::Conditional,
        _ if is_slow || is_unsafe => Answer::Conditional,
        Performance::Meets | Performance::NoNeedStated => Answer::Yes,
    }
}

/// All that weighs for or against, the weightiest first; of what is merely for the record, what
/// was measured.
fn reasons(findings: &[Finding]) -> Vec<Finding> {
    let mut out: Vec<Finding> = findings.to_vec();
    let order = |f: &Finding| match f.weight {
        Weight::Bad => 0,
        Weight::Caution => 1,
        Weight::Good => 2,
        Weight::Info => 3,
    };
    let by_axis = |f: &Finding| match axis(&f.id) {
        FindingAxis::Validity => 0,
        FindingAxis::Durability => 1,
        FindingAxis::Need => 2,
        FindingAxis::Performance => 3,
    };
    out.sort_by_key(|f| (order(f), by_axis(f)));
    out
}

fn not_judged(
    run: &Run,
    durability: Durability,
    unjudged: &[String],
    is_drained: bool,
) -> Vec<String> {
    let mut out: Vec<String> = unjudged.to_vec();
    if matches!(durability, Durability::Unverified | Durability::Declared) {
        let text = match run.power_tests {
            None => "power loss: no power test was run",
            Some(_) => "power loss: no power test of this stack took the power from every cache",
        };
        out.push(text.to_owned());
    }
    if run.origin == Origin::Watched {
        out.push(
            "what the device can carry: a watched log shows the load that its database had"
                .to_owned(),
        );
    } else {
        out.extend(not_run(run));
    }
    let longest = run
        .rows
        .iter()
        .filter_map(|r| r.elapsed_s)
        .fold(0.0, f64::max);
    if longest < SOAK_S {
        out.push(match is_drained {
            true => "steady state and decay: a soak of 45 minutes shows them".to_owned(),
            false => "steady state, decay, burst credits and provisioned caps: a soak of 45 minutes shows them".to_owned(),
        });
    }
    let switches: Vec<u64> = run
        .rows
        .iter()
        .filter_map(|r| r.redo().log_switches)
        .collect();
    match switches.iter().max() {
        None => out.push("log switches: not counted".to_owned()),
        Some(0) => out.push("log switches: none happened".to_owned()),
        Some(_) => {}
    }
    if run.need.rated_bytes.is_none() {
        out.push("endurance: the drive's rating is not known (--tbw)".to_owned());
    }
    out
}

/// What a check runs and this run did not.
fn not_run(run: &Run) -> Vec<String> {
    let mut out = Vec::new();
    for name in ["LGWR-LAT1", "LGWR-LAT25", "LGWR-LAT125", "LGWR-THR"] {
        if rows_of(run, name).is_empty() {
            out.push(format!("{name}: not run"));
        }
    }
    if run.floor.is_empty() {
        out.push("the device's floor: not measured".to_owned());
    }
    out
}

/// Length of a soak, seconds: of one row, since every row begins anew.
const SOAK_S: f64 = 45.0 * 60.0;

/// The axis that made the answer names the sentence; the first reason on it says why.
fn summary(
    run: &Run,
    answer: Answer,
    (durability, proven): (Durability, &str),
    performance: Performance,
    reasons: &[Finding],
) -> String {
    let first = |wanted: FindingAxis, at_least: Weight| {
        reasons
            .iter()
            .find(|f| axis(&f.id) == wanted && f.weight >= at_least)
            .map(|f| f.claim.trim_end_matches('.').to_owned())
    };
    let figures = figures(run, reasons, performance);
    match answer {
        Answer::Undetermined => {
            let sustained = || {
                let found = reasons.iter().find(|f| f.id == SUSTAINED);
                found.map(|f| f.claim.trim_end_matches('.').to_owned())
            };
            let fast = reasons.iter().find(|f| f.id == FAST_FLUSH);
            let why = first(FindingAxis::Validity, Weight::Caution)
                .or_else(|| fast.map(|f| f.claim.trim_end_matches('.').to_owned()))
                .or_else(sustained)
                .unwrap_or_else(|| match judged_rows(run).is_empty() {
                    true => "the figures that the need refers to were not measured".to_owned(),
                    false => "the run does not allow an answer".to_owned(),
                });
            // Figures in doubt are still the best there are; wrong ones are none.
            let doubtful = run.validity.valid && !run.rows.is_empty();
            match doubtful && performance == Performance::NoNeedStated {
                true => format!("Undetermined: {why}. Doubtful figures: {figures}."),
                false => format!("Undetermined: {why}."),
            }
        }
        Answer::No if durability.loses_commits() => {
            let why = first(FindingAxis::Durability, Weight::Bad)
                .unwrap_or_else(|| "acknowledged writes do not survive".to_owned());
            format!("No: {why}.")
        }
        Answer::No if production(run, reasons).is_some() && performance == Performance::Misses => {
            format!("No: {figures}.")
        }
        Answer::No => {
            let why = first(FindingAxis::Need, Weight::Bad)
                .or_else(|| first(FindingAxis::Performance, Weight::Bad))
                .unwrap_or_else(|| "it is too slow".to_owned());
            format!("No: {why}.")
        }
        Answer::Conditional => {
            let condition = match (durability, performance) {
                (Durability::Unverified, _) => {
                    "durability is unverified until a power test".to_owned()
                }
                (_, Performance::Marginal) => "there is no headroom over the need".to_owned(),
                _ => first(FindingAxis::Performance, Weight::Bad)
                    .or_else(|| first(FindingAxis::Durability, Weight::Caution))
                    .unwrap_or_else(|| "see the reasons against it".to_owned()),
            };
            format!("Conditional: {condition}; {figures}.")
        }
        Answer::Yes => {
            format!(
                "Yes: acknowledged commits survive power loss ({durability}, {proven}); {figures}."
            )
        }
    }
}

fn figures(run: &Run, reasons: &[Finding], performance: Performance) -> String {
    if performance == Performance::NoNeedStated {
        return Envelope::of(run).sentence();
    }
    let claims: Vec<&str> = reasons
        .iter()
        .filter(|f| axis(&f.id) == FindingAxis::Need)
        .map(|f| f.claim.trim_end_matches('.'))
        .collect();
    if claims.is_empty() {
        Envelope::of(run).sentence()
    } else {
        production(run, reasons).unwrap_or_else(|| claims.join("; "))
    }
}

/// What production needs, and what this device reached, where the need was taken from evidence.
fn production(run: &Run, reasons: &[Finding]) -> Option<String> {
    if !run.need.is_of_production() {
        return None;
    }
    let need = &run.need;
    let rates = Need {
        p99_ns: None,
        sessions: None,
        production: Vec::new(),
        ..need.clone()
    };
    let mut all = needed(&rates).join(" and ");
    let behind = [
        (
            NeedQuantity::Sessions,
            need.sessions.map(f64::from),
            " from",
        ),
        (
            NeedQuantity::P99,
            need.p99_ns.map(|ns| ns as f64),
            ", with at most",
        ),
    ];
    for (quantity, value, word) in behind {
        if let Some(value) = value {
            all.push_str(&format!("{word} {}", shown(quantity, value)));
        }
    }
    let judged = reasons.iter().filter(|f| axis(&f.id) == FindingAxis::Need);
    let reached = judged.map(|f| {
        let claim = f.claim.trim_end_matches('.');
        // The need itself was said.
        let rest = claim
            .split_once(" are needed, ")
            .or(claim.split_once(" is needed; "));
        rest.map_or(claim, |(_, reached)| reached)
    });
    let reached: Vec<&str> = reached.collect();
    let all = all.trim_start_matches([',', ' ']);
    Some(match (all.is_empty(), reached.is_empty()) {
        (true, _) => reached.join("; "),
        (false, true) => format!("your production needs {all}"),
        (false, false) => format!(
            "your production needs {all}; this device: {}",
            reached.join("; ")
        ),
    })
}

/// The figures of a need with their units, without the endurance of drives.
#[must_use]
pub fn needed(need: &Need) -> Vec<String> {
    let figures = [
        (NeedQuantity::CommitRate, need.commit_rate),
        (NeedQuantity::RedoRate, need.redo_bytes_per_s),
        (NeedQuantity::P99, need.p99_ns.map(|ns| ns as f64)),
        (NeedQuantity::Sessions, need.sessions.map(f64::from)),
    ];
    let shown = figures
        .into_iter()
        .filter_map(|(quantity, value)| Some(shown(quantity, value?)));
    let waits = need.production.iter().map(production_wait);
    shown.chain(waits).collect()
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
