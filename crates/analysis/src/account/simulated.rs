//! What a simulation rests on: the model, its error, what moves the answer most, what is left out.

use super::{AccountColumn, AccountTable, Body, Section, Shown, figure, label};
use measure::run::{ModelInfluence, Run, SimulatedFacts, SimulatedMember, TargetFacts};

/// A change that is less than this, percent, is none.
const NO_INFLUENCE_PCT: f64 = 1.0;

/// A model; `None` of every other run.
#[must_use]
pub fn simulated(run: &Run) -> Option<Section> {
    let TargetFacts::Simulated(of) = &run.target.facts else {
        return None;
    };
    let mut body = vec![Body::Facts(basis(of))];
    body.extend(influence(of).map(Body::Table));
    body.extend(members(of).map(Body::Table));
    Some(Section {
        id: "model".into(),
        title: "The model".to_owned(),
        about: "The log writer is the one that runs live; sessions, processors and the device are \
                models in virtual time. What a fifth more of each value would change shows which \
                of them to measure best."
            .to_owned(),
        body,
    })
}

/// How far it is to be believed, and what moves it most, in one sentence.
pub(super) fn in_short(of: &SimulatedFacts) -> String {
    let mut parts = vec![match of.error_pct {
        Some(pct) => format!("Error of measured cells that were not fitted: {pct:.1} %"),
        None => "Its error was not measured".to_owned(),
    }];
    if !of.extrapolated.is_empty() {
        parts.push(format!("extrapolated: {}", of.extrapolated.join(", ")));
    }
    if let Some(most) = of.influence.first().filter(|most| !is_minor(most)) {
        let (value, change) = (&most.value, most.change_pct);
        parts.push(format!(
            "what matters most is {value}: a fifth more changes commits/s by {change:+.1} %"
        ));
    }
    parts.join("; ")
}

fn is_minor(of: &ModelInfluence) -> bool {
    of.change_pct.abs() < NO_INFLUENCE_PCT
}

fn basis(of: &SimulatedFacts) -> Vec<(String, Shown)> {
    let minor = of.influence.iter().filter(|i| is_minor(i));
    let none: Vec<&str> = minor.map(|i| i.value.as_str()).collect();
    let error = of.error_pct.map_or_else(
        || "not measured: nobody knows how wrong this is".to_owned(),
        |pct| format!("{pct:.1} % of commits/s"),
    );
    let fitted = of
        .fitted_jobs
        .map(|[least, most]| format!("{least} to {most} jobs"));
    [
        ("Values from", of.basis.clone()),
        ("Error of cells that were not fitted", error),
        ("Fitted to", fitted.unwrap_or_default()),
        ("Extrapolated", of.extrapolated.join("; ")),
        ("Not modelled", of.not_modelled.join(", ")),
        ("No influence", none.join(", ")),
    ]
    .into_iter()
    .filter(|(_, words)| !words.is_empty())
    .map(|(name, words)| (name.to_owned(), Shown::Text(words)))
    .collect()
}

fn members(of: &SimulatedFacts) -> Option<AccountTable> {
    let all: u64 = of.members.iter().filter_map(|member| member.first).sum();
    let columns: [AccountColumn<'_, &SimulatedMember>; 3] = [
        (label("Member"), &|of| Shown::text(&of.device)),
        (figure("Cell", ""), &|of| Shown::Count(of.cell)),
        (figure("First of log writes", ""), &|of| {
            let first = of.first.map(|n| n as f64 / all.max(1) as f64);
            first.map(|share| Shown::Share(share * 100.0)).into()
        }),
    ];
    AccountTable::of(&of.members, &columns)
}

fn influence(of: &SimulatedFacts) -> Option<AccountTable> {
    let major = of.influence.iter().filter(|i| !is_minor(i));
    let columns: [AccountColumn<'_, &ModelInfluence>; 2] = [
        (label("A fifth more of"), &|of| Shown::text(&of.value)),
        (figure("Changes commits/s", "%"), &|of| {
            Shown::Number(of.change_pct)
        }),
    ];
    AccountTable::of(major, &columns)
}
