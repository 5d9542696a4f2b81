//! Figures over the lines of a trace, counted here from the lines themselves.

use crate::formula::FormulaRow;
use serde_json::Value;

/// The waits of a line: event and ela. One may be glued to the line before it.
fn waits_of(line: &str) -> Vec<(String, f64)> {
    line.split("WAIT #").skip(1).filter_map(wait).collect()
}

/// What follows `WAIT #`.
fn wait(rest: &str) -> Option<(String, f64)> {
    let (_, rest) = rest.split_once("nam=")?;
    let rest = rest.trim_start_matches("&#39;");
    let quotes = ['\'', '"', '\u{2018}', '\u{2019}', '\u{2032}', '\u{2033}'];
    let rest = rest.strip_prefix(quotes).unwrap_or(rest);
    let (event, rest) = rest.split_once(quotes)?;
    let (_, rest) = rest.split_once("ela=")?;
    let rest = rest.trim_start();
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = rest[digits..].chars().next();
    if behind.is_some_and(|c| !c.is_whitespace()) {
        return None;
    }
    Some((event.to_owned(), rest[..digits].parse().ok()?))
}

/// What a formula over the lines of a trace gives for the row; `None` if it is no such formula.
///
/// Which process a line belongs to is the reader's knowledge: what is verified is the event over
/// all processes, and the cell counts as right where the event's figures are those of the file.
pub fn verify(row: &FormulaRow<'_>, formula: &str) -> Result<Option<f64>, String> {
    let own = |column: &str| row.own(column).and_then(Value::as_f64).ok_or("no number");
    let line = || row.import.files.get(row.file).map(|f| f.line(row.lines[0]));
    let number_before = |unit: &str| {
        let line = line()?;
        let end = line.find(unit)?;
        let digits = line[..end]
            .bytes()
            .rev()
            .take_while(u8::is_ascii_digit)
            .count();
        line[end - digits..end].parse::<f64>().ok()
    };
    if formula == "time in the line, in ms" {
        return number_before("ms").map(Some).ok_or("no time".to_owned());
    }
    if formula == "size in the line, in KB" {
        return number_before("KB").map(Some).ok_or("no size".to_owned());
    }
    if formula == "rate in the last line, per second" {
        let last = row.import.files.get(row.file).map(|f| f.line(row.lines[1]));
        let word = last
            .as_deref()
            .and_then(|l| l.trim_end().strip_suffix(" per sec")?.rsplit(' ').next());
        let rate = word.and_then(|w| w.parse().ok());
        return rate.map(Some).ok_or("no rate".to_owned());
    }
    if formula == "bound of the bucket, in ms" {
        let bound = own("wait_time_milli")?;
        let is_power = bound >= 1.0 && bound.log2().fract() == 0.0;
        return is_power.then_some(Some(bound)).ok_or(format!("{bound}"));
    }
    let column = match formula {
        "count of WAIT lines" => "waits",
        "sum of ela of WAIT lines in us" => "total_us",
        "smallest ela of WAIT lines in us" => "min_us",
        "largest ela of WAIT lines in us" => "max_us",
        "count of WAIT lines with ela under c ms and not in the bucket before" => "wait_count",
        _ => return Ok(None),
    };
    of_waits(row, column, own(column)?).map(Some)
}

/// Verifies a figure of the waits of an event over all processes of the file.
fn of_waits(row: &FormulaRow<'_>, column: &str, own: f64) -> Result<f64, String> {
    let event = row.own("event").and_then(Value::as_str).ok_or("no event")?;
    let waits = || {
        let lines = row.import.files.get(row.file).map(|f| &f.lines);
        let texts = lines
            .into_iter()
            .flatten()
            .map(|l| l.iter().collect::<String>());
        let all = texts.flat_map(|l| waits_of(&l));
        all.filter(|(e, _)| e == event).map(|(_, ela)| ela)
    };
    // The unit of ela is microseconds, or centiseconds until 8i.
    let cs = row.import.json["diagnostics"]
        .as_array()
        .is_some_and(|all| {
            all.iter()
                .any(|d| d["id"] == "trace.centiseconds" && d["file"] == *row.file)
        });
    let unit = if cs { 10_000.0 } else { 1.0 };
    let table = &row.import.tables()[row.table];
    let at = |key: &str| {
        let columns = table["columns"].as_array()?;
        columns.iter().position(|c| c["key"] == *key)
    };
    let (event_at, column_at) = (at("event").ok_or("event")?, at(column).ok_or("column")?);
    let bound_at = at("wait_time_milli");
    let bound = bound_at.and_then(|b| table["rows"][row.row][b].as_f64());
    let rows = table["rows"].as_array().into_iter().flatten();
    let same =
        rows.filter(|r| r[event_at] == *event && bound_at.is_none_or(|b| r[b].as_f64() == bound));
    let all: Vec<f64> = same.filter_map(|r| r[column_at].as_f64()).collect();
    let us = || waits().map(|ela| ela * unit);
    let (in_file, in_table) = match column {
        "waits" => (waits().count() as f64, all.iter().sum()),
        "total_us" => (us().sum(), all.iter().sum::<f64>()),
        "min_us" => (
            us().fold(f64::MAX, f64::min),
            all.iter().copied().fold(f64::MAX, f64::min),
        ),
        "max_us" => (
            us().fold(0.0, f64::max),
            all.iter().copied().fold(0.0, f64::max),
        ),
        _ => {
            let bound = bound.ok_or("no bound")?;
            let from = if bound == 1.0 { 0.0 } else { bound / 2.0 };
            let fits = |us: &f64| (from..bound).contains(&(us / 1000.0).floor());
            (us().filter(fits).count() as f64, all.iter().sum())
        }
    };
    if in_file == in_table {
        Ok(own)
    } else {
        Err(format!(
            "{in_file} by the lines of the file, {in_table} in the table"
        ))
    }
}
