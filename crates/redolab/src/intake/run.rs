//! The run that evidence makes.

use crate::experiment::begin::new_run;
use analysis::findings;
use evidence::Import;
use measure::run::{
    Environment, ImportedFacts, ImportedWorkload, Origin, Run, Target, TargetFacts, WorkloadInfo,
};
use measure::stack::Stack;
use std::path::Path;

/// The run that evidence makes, read by `command` from files of these names. Its machine is the one
/// of the evidence, and only the evidence describes it.
#[must_use]
pub fn imported(
    files: &[String],
    import: Import,
    log_device: Option<&str>,
    command: &[String],
) -> Run {
    let mut outcome = import.finish();
    if let Some(name) = log_device {
        outcome.imported.log_device = Some(name.to_owned());
        outcome
            .diagnostics
            .retain(|said| said.id != evidence::LOG_DEVICE);
    }
    let agreement = findings::agreement::table(&outcome.imported);
    outcome.imported.tables.extend(agreement);
    let series = findings::diagnosis::series::tables(&outcome.imported);
    let peaks = findings::evidence::sweep_peaks(&outcome.imported);
    // They answer, and come before the tables that they are made of.
    let answers = series.into_iter().chain(peaks);
    let answers: Vec<_> = answers.collect();
    outcome.imported.tables.splice(0..0, answers);
    let first = files.first().cloned().unwrap_or_default();
    let names = outcome.rows.iter().map(|r| r.workload.clone());
    let mut names: Vec<String> = names.collect();
    names.dedup();
    let shown = match files.len() {
        1 => first,
        n => format!("{first} and {} more", n.saturating_sub(1)),
    };
    let begun = new_run(Path::new(""), "evidence", Stack::default(), command);
    Run {
        origin: Origin::Imported,
        target: Target {
            kind: "evidence".to_owned(),
            path: shown,
            stack: Stack::default(),
            facts: TargetFacts::Imported(ImportedFacts::of(&outcome.imported)),
        },
        workload: WorkloadInfo::Imported(ImportedWorkload { names }),
        environment: Environment::default(),
        rows: outcome.rows,
        diagnostics: outcome.diagnostics,
        imported: Some(outcome.imported),
        ..begun
    }
}
