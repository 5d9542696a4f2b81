//! `compare --factor`: main effects and interaction in one document whose rows name the levels, or
//! in one source per cell of the design.

use super::super::CommandError;
use super::super::sources::source;
use super::CompareArgs;
use crate::output::factors::DesignView;
use crate::signals;
use analysis::factors::{CellFigure, FACTORS_MAX, Factor, design, level_in};
use analysis::figures;
use measure::words::sanitize;

/// What to write where a design has no figures.
const NO_SOURCE: &str = "compare --factor: name the document or run that contains the figures, or \
     give each cell its source with --cell LEVEL,LEVEL=SOURCE";

/// The design that the options describe.
pub(super) fn compare(args: &CompareArgs) -> Result<DesignView, CommandError> {
    let factors = factors(&args.factor)?;
    let named = cells(args, &factors)?;
    if named.is_empty() {
        return Err(CommandError::usage(NO_SOURCE));
    }
    let interrupt =
        signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))?;
    let store = args.options.measure.store.open()?;
    args.options.measure.output.check_beside(&store)?;
    let mut cells = Vec::new();
    let mut unclear = Vec::new();
    let mut sources = Vec::new();
    for (source_index, (levels, name)) in named.iter().enumerate() {
        let run = source(name, &store, &interrupt)?;
        for figure in figures::of(&run) {
            let mut texts: Vec<&str> = figure.names.iter().map(String::as_str).collect();
            texts.push(&figure.label);
            let found = level_of_each(&factors, levels, &texts);
            match found {
                Ok(levels) if levels.iter().all(Option::is_none) => {}
                Ok(levels) => cells.push(CellFigure {
                    levels,
                    figure,
                    source: source_index,
                }),
                Err(why) => {
                    let line = format!("{}, {}: {why}", figure.title, figure.names.join(", "));
                    if !unclear.contains(&line) {
                        unclear.push(line);
                    }
                }
            }
        }
        sources.push((name.clone(), run));
    }
    let mut found = design(&factors, &cells);
    found.not_compared.append(&mut unclear);
    Ok(DesignView::new(found, &sources))
}

/// The level of each factor: of the source's cell, else as the labels of the figure name it.
fn level_of_each(
    factors: &[Factor],
    cell: &[Option<usize>],
    texts: &[&str],
) -> Result<Vec<Option<usize>>, String> {
    let each = factors.iter().zip(cell);
    each.map(|(factor, level)| match level {
        Some(level) => Ok(Some(*level)),
        None => level_in(factor, texts),
    })
    .collect()
}

/// Factors of `NAME=LEVEL,LEVEL`.
fn factors(texts: &[String]) -> Result<Vec<Factor>, CommandError> {
    let mut found: Vec<Factor> = Vec::new();
    for text in texts {
        let wrong = |why: &str| CommandError::usage(format!("--factor {text}: {why}"));
        let parts = text.split_once('=').and_then(|(name, levels)| {
            let (first, second) = levels.split_once(',')?;
            let all = [name, first, second];
            all.iter()
                .all(|part| part.contains(char::is_alphanumeric))
                .then_some(all)
        });
        let [name, first, second] =
            parts.ok_or_else(|| wrong("write NAME=LEVEL,LEVEL, such as medium=SSD,HDD"))?;
        if second.contains(',') {
            return Err(wrong("a factor has two levels"));
        }
        let all = found.iter().flat_map(|f| &f.levels);
        let known = |level: &str| all.clone().any(|l| l.eq_ignore_ascii_case(level));
        if first.eq_ignore_ascii_case(second) || known(first) || known(second) {
            return Err(wrong("two levels have the same name"));
        }
        found.push(Factor {
            name: name.to_owned(),
            levels: [first.to_owned(), second.to_owned()],
        });
    }
    if found.len() > FACTORS_MAX {
        let message = "--factor: a design has one or two factors";
        return Err(CommandError::usage(message));
    }
    Ok(found)
}

/// A source with the levels of its cell.
type NamedCell = (Vec<Option<usize>>, String);

/// Sources of `--cell LEVEL,LEVEL=FILE`, and those whose rows name the levels.
fn cells(args: &CompareArgs, factors: &[Factor]) -> Result<Vec<NamedCell>, CommandError> {
    let open = |name: &String| (vec![None; factors.len()], name.clone());
    let mut found: Vec<NamedCell> = args.runs.iter().map(open).collect();
    for text in &args.cell {
        let shown = sanitize::line(text);
        let wrong = |why: String| CommandError::usage(format!("--cell {shown}: {why}"));
        let (cell, name) = text
            .split_once('=')
            .filter(|(_, name)| !name.is_empty())
            .ok_or_else(|| wrong("write LEVEL,LEVEL=FILE, such as ssd,raw=awr1.html".to_owned()))?;
        let mut levels = vec![None; factors.len()];
        for level in cell.split(',') {
            let place = factors.iter().enumerate().find_map(|(i, f)| {
                let at = f
                    .levels
                    .iter()
                    .position(|l| l.eq_ignore_ascii_case(level))?;
                Some((i, at))
            });
            match place {
                Some((i, at)) if levels[i].is_none() => levels[i] = Some(at),
                Some(_) => return Err(wrong("a factor has one level in a cell".to_owned())),
                None => return Err(wrong(format!("no --factor has the level {level}"))),
            }
        }
        if found.iter().any(|(_, known)| known == name) {
            return Err(wrong("this source is named twice".to_owned()));
        }
        found.push((levels, name.to_owned()));
    }
    Ok(found)
}
