//! Power cuts at length: the options, as the environment of that test.
//!
//! What it must not know: how a cut is made, which methods there are; the test refuses what it does
//! not know.

use super::tests::{self, Proof};
use crate::Outcome;
use std::path::Path;

/// Cuts for each file system and back end, unless an option says otherwise.
const CUTS: &str = "100";
/// Crash states of each back end, unless an option says otherwise.
const STATES: &str = "5000";
/// The options, and the variables that the test reads.
const OPTIONS: &[(&str, &str)] = &[
    ("--cuts", "REDO_CUTS"),
    ("--states", "REDO_CUT_STATES"),
    ("--fs", "REDO_CUT_FS"),
    ("--method", "REDO_CUT_METHODS"),
    ("--seed", "REDO_CUT_SEED"),
];
/// The feature brings the control that is the engine itself with a bug planted.
pub const PROOF: Proof = Proof {
    name: "cuts",
    shows: "100 power cuts of each file system and back end and 5,000 crash states of each back \
            end lose nothing; the controls lose",
    takes: "1 h",
    hours: 12,
    package: "redolab-redo",
    arguments: &["--features", "crash", "--test", "crash_power_cuts"],
    filter: &[],
    env: |_| Vec::new(),
    repeats: false,
    data: &[
        ("REDO_CUT_CSV", "experiments/power-cuts/data.csv"),
        ("REDO_CUT_STATES_CSV", "experiments/power-cuts/states.csv"),
    ],
};

/// The variables that the options stand for; nothing is skipped.
fn variables<'a>(options: &[&'a str]) -> Outcome<Vec<(&'static str, &'a str)>> {
    let mut variables = vec![
        ("REDO_CUT_REQUIRED", "1"),
        ("REDO_CUTS", CUTS),
        ("REDO_CUT_STATES", STATES),
    ];
    let (pairs, rest) = options.as_chunks::<2>();
    if let [option] = rest {
        return Err(format!("{option} needs a value"));
    }
    for [option, value] in pairs {
        let known = OPTIONS.iter().find(|(name, _)| name == option);
        let Some((_, variable)) = known else {
            let names: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
            return Err(format!(
                "no option {option}; there are {}",
                names.join(", ")
            ));
        };
        let counts = matches!(*option, "--cuts" | "--states" | "--seed");
        if counts && value.parse::<u64>().is_err() {
            return Err(format!("{option} {value}: not a number"));
        }
        variables.retain(|(name, _)| name != variable);
        variables.push((variable, value));
    }
    Ok(variables)
}

/// Runs the test. Whether nothing was lost and the controls lost.
///
/// # Errors
/// When an option is wrong, or the test cannot be run.
pub fn run(root: &Path, options: &[&str]) -> Outcome<bool> {
    tests::run(root, &PROOF, 0, &variables(options)?)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn options_become_variables_and_the_last_one_holds() {
        let said = variables(&["--fs", "xfs", "--cuts", "7", "--cuts", "8"]);
        let said = said.expect("all are known");
        let of = |name| said.iter().filter(|(n, _)| *n == name).collect::<Vec<_>>();
        assert_eq!(of("REDO_CUTS"), [&("REDO_CUTS", "8")]);
        assert_eq!(of("REDO_CUT_FS"), [&("REDO_CUT_FS", "xfs")]);
        assert_eq!(of("REDO_CUT_REQUIRED").len(), 1);
        let plain = variables(&[]).expect("nothing is needed");
        assert!(plain.contains(&("REDO_CUTS", CUTS)));
        for wrong in [&["--cuts"][..], &["--cuts", "many"], &["--fast", "1"]] {
            assert!(variables(wrong).is_err(), "{wrong:?}");
        }
    }
}
