//! The prose and tables of the published studies: sweeps of jobs and claims of factors, workers'
//! shares, windows that a text states in words, percentages beside their formula, output of R.
//!
//! These parts will move to `reproduce` (the command that puts published figures beside measured
//! ones): hardly anybody else holds such text. Until then `import` reads it, and each line of a
//! listing is offered to them last. Nothing outside this folder uses them but through [`Published`]
//! and the two questions of the table of kinds.

mod formula;
mod platforms;
mod r_summary;
mod stated;
mod study;
mod sweep;

pub(crate) use platforms::opens as opens_platforms;
pub(crate) use r_summary::opens as opens_r_summary;
pub(crate) use study::opens as opens_study;

use crate::sheets::Sheets;
use crate::{Gathered, Notes};

/// What a file holds of published studies.
#[derive(Debug, Default)]
pub(crate) struct Published {
    summaries: r_summary::Summaries,
    study: study::Study,
    platforms: platforms::Platforms,
    stated: stated::StatedWindows,
    formulas: formula::Formulas,
}

impl Published {
    /// Takes a line.
    pub(crate) fn line(&mut self, text: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        self.summaries.line(text, number, sheets, notes);
        self.study.line(text, number, sheets, notes);
        self.platforms.line(text, number, sheets);
        self.stated.line(text, number);
        self.formulas.line(text, number, sheets);
    }

    /// Ends a file: its tables go to `sheets`, the rows of its sweeps to `out`.
    pub(crate) fn end(mut self, sheets: &mut Sheets, notes: &mut Notes, out: &mut Gathered) {
        self.study.end(sheets, notes, out);
        self.stated.end(sheets);
    }
}
