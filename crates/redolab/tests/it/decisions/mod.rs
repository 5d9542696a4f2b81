//! One decision, whatever shows it: verdict, durability, need, winner and gate of 200 drawn runs
//! and comparisons are read back from terminal text, JSON, Markdown and HTML, and compared with
//! each other and with the exit code. Planted contradictions have to be found.
//!
//! The message of a failure has the seed, which draws the same again.

pub mod draw;
pub mod read;

use analysis::account::columns::Columns;
use analysis::account::{self, markdown};
use analysis::report::{self, ReportData};
use measure::comparison::{Comparison, ConditionState};
use measure::judgement::{Answer, Durability};
use measure::run::Run;
use read::Answers;
use redolab::output::overview::View;
use redolab::output::table::Style;
use redolab::output::{comparison, overview};
use serde_json::Value;

/// What an output is called, and the answers that were read from it.
type Read = (&'static str, Answers);

const VIEW: View<'static> = View {
    columns: &Columns::Usual,
    verbose: false,
};

fn style(seed: u64) -> Style {
    Style {
        width: if seed.is_multiple_of(3) { 80 } else { 200 },
        frame: false,
    }
}

/// What the button of a page copies.
fn ticket(run: &Run) -> String {
    markdown::ticket(account::run(run, &Columns::Usual, false))
}

/// The answers of a run by each output; `of` is the run that this output is made of.
fn read_run<'a>(seed: u64, of: impl Fn(&'static str) -> &'a Run) -> Vec<Read> {
    let text = |run: &Run| overview::text(run, VIEW, style(seed));
    let json = |run: &Run| serde_json::to_value(run).expect("a run is JSON");
    vec![
        ("text", read::run_of_text(&text(of("text")))),
        ("json", read::run_of_json(&json(of("json")))),
        (
            "markdown",
            read::run_of_markdown(&markdown::run(of("markdown"), &Columns::Usual, false)),
        ),
        ("ticket", read::run_of_markdown(&ticket(of("ticket")))),
        (
            "html",
            read::run_of_html(&report::html(of("html"), &ReportData::default())),
        ),
    ]
}

fn read_comparison<'a>(seed: u64, of: impl Fn(&'static str) -> &'a Comparison) -> Vec<Read> {
    let names: Vec<String> = of("json").runs.iter().map(|r| r.name.clone()).collect();
    let text = comparison::text(of("text"), style(seed), false);
    let json = serde_json::to_value(of("json")).expect("a comparison is JSON");
    let html = report::compare::html(of("html"), &[]);
    let mut csv = Vec::new();
    comparison::csv(of("csv"), &mut csv).expect("memory");
    vec![
        ("text", read::comparison_of_text(&text, &names)),
        ("json", read::comparison_of_json(&json)),
        (
            "markdown",
            read::comparison_of_text(&markdown::comparison(of("markdown"), false), &names),
        ),
        ("html", read::comparison_of_html(&html, &names)),
        ("csv", read::comparison_of_csv(&csv, &names)),
    ]
}

/// Where two outputs have different answers. An output that has none where the JSON has one
/// contradicts it too; the JSON alone does not spell the need, and CSV has only the decisions.
fn contradictions(read: &[Read]) -> Vec<String> {
    let mut found = Vec::new();
    for (at, (one, answers)) in read.iter().enumerate() {
        for (other, others) in &read[at + 1..] {
            let names = answers.keys().chain(others.keys());
            let is = |output: &str| [*one, *other].contains(&output);
            let decisions = ["answer ", "both "];
            let has = |name: &&String| {
                let decides = decisions.iter().any(|d| name.starts_with(d));
                (*name != "need" || !is("json")) && (decides || !is("csv"))
            };
            for name in names.filter(has) {
                let (a, b) = (answers.get(name), others.get(name));
                if a != b {
                    found.push(format!("{name}: {a:?} in {one}, {b:?} in {other}"));
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The exit code of `check` by the answers that an output shows.
fn run_code(answers: &Answers, strict: bool) -> u8 {
    let answer = answers.get("verdict").map(String::as_str);
    match (answers["valid"].as_str(), answer) {
        ("no", _) | (_, None | Some("undetermined")) => 4,
        (_, Some("yes")) => 0,
        (_, Some("conditional")) => {
            if strict {
                3
            } else {
                0
            }
        }
        _ => 3,
    }
}

/// What no answers may say, whatever made them: a winner that loses commits over one that is not
/// known to, and a yes or a conditional yes of what loses them.
fn falsehoods(answers: &Answers) -> Vec<String> {
    const LOSES: [&str; 2] = ["volatile", "refuted"];
    let mut found = Vec::new();
    for (name, both) in answers.iter().filter(|(name, _)| name.starts_with("both ")) {
        let answer = &answers[&name.replace("both", "answer")];
        let losers: usize = LOSES
            .iter()
            .map(|w| both.matches(&format!(" {w}")).count())
            .sum();
        let loses = |winner: &str| {
            LOSES
                .iter()
                .any(|w| both.contains(&format!("{winner} {w}")))
        };
        if answer.strip_suffix(" wins").is_some_and(loses) && losers < 2 {
            found.push(format!("{answer}, though {both}"));
        }
    }
    let word = |name: &str| answers.get(name).map_or("", String::as_str);
    let loses = LOSES.iter().any(|w| word("durability").starts_with(w));
    if loses && matches!(word("verdict"), "yes" | "conditional") {
        found.push(format!("a yes of what loses commits: {answers:?}"));
    }
    found
}

/// The states of conditions, judged again from the differences as the JSON has them.
fn judged_again(json: &Value, condition: &draw::Asked) -> &'static str {
    let mut states = Vec::new();
    for d in json["differences"].as_array().expect("differences") {
        if d["metric"] != condition.metric {
            continue;
        }
        let run = usize::try_from(d["run_b"].as_u64().expect("a place")).expect("small");
        let is_sound = |at: usize| {
            let run = &json["runs"][at];
            run["valid"] == true && run["complete"] == true
        };
        let beyond = |v: f64| (v > condition.limit) == condition.above && v != condition.limit;
        let number = |key: &str| d[key].as_f64();
        states.push(match (number("ci_low"), number("ci_high"), number("b")) {
            _ if !is_sound(run) || !(condition.is_value || is_sound(0)) => "undetermined",
            (_, _, Some(b)) if condition.is_value => match beyond(b) {
                true => "breached",
                false => "not breached",
            },
            // Rounds that decide nothing have an interval, but no significance.
            (Some(_), Some(_), _) if d["significant"].is_null() => "undetermined",
            (Some(low), Some(high), _) => match (beyond(low), beyond(high)) {
                (true, true) => "breached",
                (false, false) => "not breached",
                _ => "undetermined",
            },
            _ => "undetermined",
        });
    }
    let worst = ["breached", "undetermined", "not breached"];
    let found = worst.into_iter().find(|state| states.contains(state));
    found.unwrap_or("undetermined")
}

#[test]
fn every_output_of_a_run_has_one_verdict_and_one_need() {
    let mut seen = std::collections::BTreeSet::new();
    for seed in 0..120 {
        let run = draw::run(seed);
        let read = read_run(seed, |_| &run);
        assert_eq!(contradictions(&read), Vec::<String>::new(), "seed {seed}");
        for (name, answers) in &read {
            assert_eq!(
                falsehoods(answers),
                Vec::<String>::new(),
                "seed {seed}, {name}"
            );
            for strict in [false, true] {
                let code = analysis::verdict::exit_code(&run, strict);
                assert_eq!(code, run_code(answers, strict), "seed {seed}, {name}");
            }
        }
        let need = read[0].1.get("need").map(String::as_str);
        let stated = run.verdict.is_some().then_some(draw::has_need(&run));
        assert_eq!(
            need.map(|n| n != "none stated"),
            stated,
            "seed {seed}: {need:?}"
        );
        seen.insert(format!(
            "{:?}",
            run.verdict.as_ref().map(|v| (v.answer, v.durability))
        ));
        seen.insert(format!("{:?}", (run.origin, run.validity.valid)));
    }
    // Yes, conditional, no, undetermined and none; measured, watched, imported; valid and not.
    assert!(seen.len() >= 10, "too little was drawn: {seen:?}");
}

#[test]
fn every_output_of_a_comparison_has_one_winner_and_one_gate() {
    let (mut outcomes, mut codes) = (Vec::new(), Vec::new());
    for seed in 0..80 {
        let (found, asked) = draw::comparison(seed);
        let read = read_comparison(seed, |_| &found);
        assert_eq!(contradictions(&read), Vec::<String>::new(), "seed {seed}");
        let json = serde_json::to_value(&found).expect("JSON");
        for (name, answers) in &read {
            assert_eq!(
                falsehoods(answers),
                Vec::<String>::new(),
                "seed {seed}, {name}"
            );
            // CSV has the decisions alone.
            if *name == "csv" {
                continue;
            }
            let mut states = Vec::new();
            for (at, asked) in asked.iter().enumerate() {
                let state = answers[&format!("gate {at}")].clone();
                assert_eq!(
                    state,
                    judged_again(&json, asked),
                    "seed {seed}, {name}: {asked:?}"
                );
                states.push(state);
            }
            let has = |wanted: &str| states.iter().any(|s| s == wanted);
            let is_sound = found.runs.iter().all(|r| r.valid && r.complete);
            let code = match (has("breached"), has("undetermined")) {
                (true, _) => 3,
                (false, true) => 4,
                (false, false) if !is_sound || found.differences.is_empty() => 4,
                (false, false) => 0,
            };
            assert_eq!(found.exit_code, code, "seed {seed}, {name}");
        }
        outcomes.extend(found.decisions.iter().map(|d| format!("{:?}", d.outcome)));
        codes.push(found.exit_code);
    }
    outcomes.sort();
    outcomes.dedup();
    codes.sort_unstable();
    codes.dedup();
    assert!(outcomes.len() >= 6, "too little was drawn: {outcomes:?}");
    assert_eq!(codes, [0, 3, 4]);
}

/// Evidence has no verdict: what weighs most of what it shows comes first, in every output.
#[test]
fn every_output_of_evidence_has_its_weightiest_finding_and_no_verdict() {
    let mut weights = std::collections::BTreeSet::new();
    for seed in (0..120).step_by(6) {
        let run = draw::run(seed);
        let is_shown = |id: &str| id.starts_with("diagnosis.") || id.starts_with("latency.");
        let shown = run.findings.iter().filter(|f| is_shown(&f.id));
        // The first of equal weight.
        let Some(first) = shown.rev().max_by_key(|f| f.weight) else {
            continue;
        };
        weights.insert(first.weight);
        for text in [
            overview::text(&run, VIEW, style(seed)),
            serde_json::to_string(&run).expect("JSON"),
            markdown::run(&run, &Columns::Usual, true),
            ticket(&run),
            report::html(&run, &ReportData::default()),
        ] {
            let text = read::plain_and_joined(&text);
            let claim = read::plain_and_joined(&first.claim);
            assert!(text.contains(&claim), "seed {seed}: {claim}: {text}");
            assert!(!text.contains("verdict: "), "seed {seed}: {text}");
        }
    }
    assert!(weights.len() > 1, "{weights:?}");
}

/// One output of a run is made of another run than the others.
#[test]
fn planted_contradictions_of_a_run_are_found() {
    let run = draw::judged_well();
    assert_eq!(contradictions(&read_run(1, |_| &run)), Vec::<String>::new());
    type Plant = (&'static str, fn(&mut Run));
    let plants: [Plant; 4] = [
        ("verdict", |run| {
            run.verdict.as_mut().expect("judged").answer = Answer::No
        }),
        ("durability", |run| {
            run.verdict.as_mut().expect("judged").durability = Durability::Volatile;
        }),
        ("need", |run| run.need.commit_rate = Some(77.0)),
        ("valid", |run| run.validity.add("io_error", true, "EIO")),
    ];
    for (name, plant) in plants {
        let mut other = run.clone();
        plant(&mut other);
        for output in ["text", "json", "markdown", "ticket", "html"] {
            if (name, output) == ("need", "json") {
                continue;
            }
            let read = read_run(1, |o| if o == output { &other } else { &run });
            let found = contradictions(&read);
            let is_it = |c: &String| c.starts_with(&format!("{name}: ")) && c.contains(output);
            assert!(found.iter().any(is_it), "{name} in {output}: {found:?}");
        }
    }
}

#[test]
fn planted_contradictions_of_a_comparison_are_found() {
    let found = draw::decided_well();
    assert_eq!(
        contradictions(&read_comparison(1, |_| &found)),
        Vec::<String>::new()
    );
    type Plant = (&'static str, fn(&mut Comparison));
    let plants: [Plant; 4] = [
        ("answer 1", |c| {
            c.decisions[0].winner = Some(0);
            c.decisions[0].answer = "alpha wins".to_owned();
        }),
        ("judged 1", |c| {
            c.runs[1].durability = Some(Durability::Refuted)
        }),
        ("both 1", |c| {
            c.runs[1].durability = Some(Durability::Tested);
            c.decisions[0].durability = "Durability: alpha unverified, beta tested.".to_owned();
        }),
        ("gate 0", |c| {
            let text = c.conditions[0].text.clone();
            let state = ConditionState::Undetermined;
            c.conditions[0] = measure::comparison::Condition::new(&text, state, String::new());
        }),
    ];
    for (name, plant) in plants {
        let mut other = found.clone();
        plant(&mut other);
        let in_csv = ["answer", "both"].iter().any(|n| name.starts_with(n));
        let csv = in_csv.then_some("csv");
        for output in ["text", "json", "markdown", "html"].into_iter().chain(csv) {
            let read = read_comparison(1, |o| if o == output { &other } else { &found });
            let seen = contradictions(&read);
            let is_it = |c: &String| c.starts_with(&format!("{name}: ")) && c.contains(output);
            assert!(seen.iter().any(is_it), "{name} in {output}: {seen:?}");
        }
    }
    // All outputs agree on what is false.
    let mut lie = found.clone();
    lie.runs[1].durability = Some(Durability::Volatile);
    lie.decisions[0].durability = "Durability: alpha unverified, beta volatile.".to_owned();
    let read = read_comparison(1, |_| &lie);
    assert_eq!(contradictions(&read), Vec::<String>::new());
    assert!(
        read.iter()
            .all(|(_, answers)| !falsehoods(answers).is_empty()),
        "{read:?}"
    );
}
