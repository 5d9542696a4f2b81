//! How far a model is to be believed: its errors on cells that it had predicted before they were
//! measured, beside those of predictions without physics.

use super::{Account, AccountAnswer, AccountTable, Body, Section, Shown, detail, figure, label};
use crate::calibration::{
    CalibrationCell, CalibrationErrors, CalibrationFacts, CellFigures, FittedCell, JudgedCell,
    REPEATS_PCT, differ_pct,
};
use measure::judgement::Weight;
use measure::words;

/// The whole of a calibration.
#[must_use]
pub fn account(of: &CalibrationFacts) -> Account {
    Account {
        question: format!("How does {} behave as a model?", of.target),
        answer: answer(of),
        sections: [errors(of), judged(of), fitted(of)]
            .into_iter()
            .flatten()
            .collect(),
        origin: "measured, and simulated".to_owned(),
        made: String::new(),
    }
}

fn answer(of: &CalibrationFacts) -> AccountAnswer {
    if let Some(why) = &of.refused {
        return AccountAnswer {
            words: "No model: the measurements do not repeat".to_owned(),
            weight: Weight::Bad,
            why: vec![format!("Refused: {why}.")],
            ..AccountAnswer::default()
        };
    }
    let mut why = Vec::new();
    if let Some(found) = of.errors(false) {
        why.push(in_words("Between the cells that were fitted", &found));
    }
    if let Some(found) = of.errors(true) {
        why.push(in_words("Beyond them", &found));
    }
    if let Some(better) = than_baselines(of) {
        why.push(better);
    }
    if let Some(model) = &of.model {
        why.push(format!(
            "The model is in {model}: ask it with redolab simulate {model} --jobs 64"
        ));
    }
    let words = match of.held_error_pct() {
        Some(pct) => format!(
            "A model: commits/s at most {} off in 85 of 100 cells that it had predicted",
            words::percent(pct)
        ),
        None => "A model whose error is not known: too few of the cells that it predicted repeat"
            .to_owned(),
    };
    AccountAnswer {
        words,
        weight: Weight::Info,
        why,
        ..AccountAnswer::default()
    }
}

fn in_words(where_: &str, of: &CalibrationErrors) -> String {
    format!(
        "{where_}: commits/s {} off in the mean, median of log file sync {}, 99th percentile {} \
         ({} of {} cells repeat and are judged; the band holds {}).",
        words::percent(of.per_s_pct),
        words::percent(of.p50_pct),
        words::percent(of.p99_pct),
        of.judged,
        of.drawn,
        of.held,
    )
}

fn than_baselines(of: &CalibrationFacts) -> Option<String> {
    let all = crate::calibration::errors(&of.judged)?;
    let others = [
        ("a power law", all.power_law_pct),
        ("the Universal Scalability Law", all.usl_pct),
    ];
    let others: Vec<String> = others
        .iter()
        .filter_map(|(name, pct)| Some(format!("{name} {}", words::percent((*pct)?))))
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "Without physics, from the same cells: {} off; the model {}.",
            others.join(", "),
            words::percent(all.per_s_pct)
        )
    })
}

/// A name of some cells, and their errors.
type Group<'a> = (&'a str, CalibrationErrors);

fn errors(of: &CalibrationFacts) -> Option<Section> {
    let groups: [(&str, Option<CalibrationErrors>); 2] = [
        ("between the fitted", of.errors(false)),
        ("beyond", of.errors(true)),
    ];
    let known = groups
        .into_iter()
        .filter_map(|(name, of)| Some((name, of?)));
    let share = |value: Option<f64>| value.map(Shown::Share).into();
    let table = AccountTable::of(
        known,
        &[
            (label("Cells"), &|(name, _): &Group<'_>| Shown::text(name)),
            (figure("Judged", ""), &|(_, of)| of.judged.into()),
            (detail("Drawn", ""), &|(_, of)| of.drawn.into()),
            (figure("Commits/s", ""), &|(_, of)| {
                Shown::Share(of.per_s_pct)
            }),
            (detail("Mean", ""), &|(_, of)| Shown::Share(of.mean_pct)),
            (figure("p50", ""), &|(_, of)| Shown::Share(of.p50_pct)),
            (figure("p99", ""), &|(_, of)| Shown::Share(of.p99_pct)),
            (figure("Demerit", ""), &|(_, of)| share(of.demerit_pct)),
            (figure("of two runs", ""), &|(_, of)| {
                share(of.demerit_of_runs_pct)
            }),
            (figure("Power law", ""), &|(_, of)| share(of.power_law_pct)),
            (figure("USL", ""), &|(_, of)| share(of.usl_pct)),
            (figure("In band", ""), &|(_, of)| of.held.into()),
        ],
    )?;
    let about = "Absolute errors in the mean. Demerit: the root mean square distance of the two \
                 distributions of log file sync over the mean, of the model and between two runs of \
                 a cell. Power law and USL (Universal Scalability Law): commits/s predicted without \
                 any physics.";
    Some(Section::of(
        "errors",
        "Errors",
        about,
        vec![Body::Table(table)],
    ))
}

fn judged(of: &CalibrationFacts) -> Option<Section> {
    let measured = |of: &JudgedCell| CellFigures::between(of.runs);
    let off = |of: &JudgedCell, what: fn(&CellFigures) -> f64| match of.is_judged() {
        true => Shown::Number(of.off_pct(what)),
        false => Shown::Missing,
    };
    let table = AccountTable::of(
        &of.judged,
        &[
            (label("Log writer"), &|of: &&JudgedCell| {
                writer(&of.predicted.cell)
            }),
            (label("Jobs"), &|of| Shown::jobs(of.predicted.cell.jobs)),
            (label("Redo"), &|of| redo(&of.predicted.cell)),
            (figure("Predicted", "/s"), &|of| {
                of.predicted.model.per_s.into()
            }),
            (detail("Band", "/s"), &|of| {
                let [low, high] = of.predicted.band_per_s;
                Shown::Range(low, high)
            }),
            (figure("Measured", "/s"), &|of| measured(of).per_s.into()),
            (figure("Runs differ", "%"), &|of| differ_pct(of.runs).into()),
            (figure("Off", "%"), &|of| off(of, |f| f.per_s)),
            (figure("p50 off", "%"), &|of| off(of, |f| f.p50_ns)),
            (figure("p99 off", "%"), &|of| off(of, |f| f.p99_ns)),
            (detail("Demerit", "%"), &|of| of.demerit_pct.into()),
            (detail("of two runs", "%"), &|of| {
                of.demerit_of_runs_pct.into()
            }),
        ],
    )?;
    let hash = of.predictions_sha256.as_deref().unwrap_or("–");
    let about = format!(
        "Predicted before they were measured (SHA-256 of the predictions: {hash}), drawn by the seed \
         {}. A cell whose two runs differ by more than {REPEATS_PCT} % is not judged.",
        of.holdout_seed
    );
    Some(Section::of(
        "judged",
        "Cells that judge",
        &about,
        vec![Body::Table(table)],
    ))
}

fn fitted(of: &CalibrationFacts) -> Option<Section> {
    let off = |of: &FittedCell| {
        let measured = CellFigures::between(of.runs).per_s;
        let of = of.simulated?;
        Some((of.per_s / measured - 1.0) * 100.0)
    };
    let table = AccountTable::of(
        &of.fitted,
        &[
            (label("Log writer"), &|of: &&FittedCell| writer(&of.cell)),
            (label("Device"), &|of| {
                Shown::text(if of.null_device { "none" } else { "measured" })
            }),
            (label("Jobs"), &|of| Shown::jobs(of.cell.jobs)),
            (label("Redo"), &|of| redo(&of.cell)),
            (figure("Measured", "/s"), &|of| {
                CellFigures::between(of.runs).per_s.into()
            }),
            (figure("Runs differ", "%"), &|of| differ_pct(of.runs).into()),
            (figure("Model", "/s"), &|of| {
                of.simulated.map(|of| of.per_s).into()
            }),
            (figure("Off", "%"), &|of| off(of).into()),
        ],
    )?;
    let about = "What the model was fitted to. What it says here is no prediction.";
    Some(Section::of(
        "fitted",
        "Cells that were fitted",
        about,
        vec![Body::Table(table)],
    ))
}

fn writer(of: &CalibrationCell) -> Shown {
    Shown::text(&of.log_writer)
}

fn redo(of: &CalibrationCell) -> Shown {
    Shown::Bytes(of.redo_bytes.into())
}
