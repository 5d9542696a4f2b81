//! `redolab findings`: what each finding claims, its threshold and where that comes
//! from, how sure it is and what to do.

use super::CommandError;
use super::common::ViewArgs;
use super::need::thresholds;
use crate::output::catalogue::Catalogue;
use analysis::findings::catalogue::{CatalogueEntry, entries};
use clap::Args;
use measure::words::sanitize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `findings`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
A file can override thresholds; give it to check with --thresholds FILE. Each of its lines has the \
form `name = 2.5` or `name = { value = 2.5, source = \"our service level\" }`.")]
pub(crate) struct FindingsArgs {
    /// Id of a finding, such as latency.peaks, or the beginning of ids, such as stack or lat
    /// [default: all]
    id: Option<String>,
    /// Show the thresholds with the values that this file overrides
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn main(args: &FindingsArgs) -> Result<ExitCode, CommandError> {
    let limits = thresholds(args.thresholds.as_deref())?;
    args.thresholds
        .iter()
        .for_each(|path| args.view.reads(path));
    let catalogue = Catalogue::new(chosen(args.id.as_deref())?, &limits);
    args.view.emit(&catalogue, |style| match args.id {
        Some(_) => catalogue.in_full(style),
        None => catalogue.in_short(style),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn chosen(id: Option<&str>) -> Result<Vec<&'static CatalogueEntry>, CommandError> {
    let Some(id) = id else {
        return Ok(entries().collect());
    };
    let inside = |e: &&CatalogueEntry| {
        let rest = e.id.strip_prefix(id.trim_end_matches('.'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let begins = |e: &&CatalogueEntry| e.id.starts_with(id);
    // A whole part, such as latency, before the beginning of one, such as lat.
    let found: Vec<&CatalogueEntry> = entries().filter(inside).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let found: Vec<&CatalogueEntry> = entries().filter(begins).collect();
    if !found.is_empty() && !id.is_empty() {
        return Ok(found);
    }
    let shared = |e: &&CatalogueEntry| {
        e.id.bytes()
            .zip(id.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let near = entries().max_by_key(shared).filter(|e| shared(e) >= 4);
    let hint = near.map_or_else(String::new, |e| format!(" Did you mean {}?", e.id));
    Err(CommandError::usage(format!(
        "there is no finding `{}`, and none whose id begins so.{hint} redolab findings lists them all",
        sanitize::line(id)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_their_beginnings_choose() {
        let count = |id| chosen(id).map(|found| found.len()).map_err(|e| e.message);
        assert!(count(None).expect("all") > 90);
        assert_eq!(count(Some("latency.peaks")), Ok(1));
        assert_eq!(count(Some("steady")), Ok(6));
        assert_eq!(count(Some("steady.")), Ok(6));
        assert_eq!(count(Some("latency.peak")), Ok(1));
        assert_eq!(count(Some("lat")), count(Some("latency")));
        let wrong = count(Some("latency.peeks")).expect_err("none begins so");
        assert!(wrong.contains(" Did you mean latency.peaks? "), "{wrong}");
        let wrong = count(Some("")).expect_err("nothing");
        assert!(wrong.contains(". redolab findings lists"), "{wrong}");
        assert!(count(Some("\u{1b}[2Jx")).is_err_and(|e| !e.contains('\u{1b}')));
    }
}
