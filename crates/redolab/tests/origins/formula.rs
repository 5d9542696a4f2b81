//! Recomputes derived cells from their inputs, by formulas that are known here by their words.

use crate::checker::{Import, inputs, span_of};
use crate::number::{Marks, printed, unit};
use crate::trace;
use serde_json::Value;

/// Formulas whose inputs are counts of the reader's own, or bytes that only a decoder of
/// histograms reads: they are not recomputed.
const NOT_RECOMPUTED: &[&str] = &[
    "comparison of the evidences that the row names",
    "the line of the sweep with most commits per second",
    "tables with this name",
    "names in the heading",
    "most values in a line",
    "checks between columns that fail",
    "checks between columns that fail without that name",
    "stamp above the line",
    "stamp below the line",
    "count of intervals",
    "sum of the lengths of intervals",
    "count of values in the decoded intervals",
    "mean of the decoded intervals",
    "percentile 50 of the decoded intervals",
    "percentile 90 of the decoded intervals",
    "percentile 99 of the decoded intervals",
    "percentile 99.9 of the decoded intervals",
    "largest value of the decoded intervals",
    "100 * share of values over 1 ms",
    "100 * share of values over 10 ms",
    "100 * share of values over 20 ms",
    "count of such records",
    "count of lines of the call",
    "sum of e of the call in us",
    "sum of c of the call in us",
    "after - before, of two files",
    "difference of the TS lines",
    "bound of the bin by its place in the line",
    "sum of the bin over the lines of the direction",
];

/// A row with a derived cell.
pub struct FormulaRow<'a> {
    pub import: &'a Import<'a>,
    pub table: usize,
    pub row: usize,
    pub file: &'a str,
    pub lines: [u64; 2],
}

/// Values of an input: one, or one for each row of a column.
#[derive(Clone, Debug)]
enum Input {
    One(Value),
    Many(Vec<Value>),
}

/// Verifies a derived cell.
pub fn verify(row: &FormulaRow<'_>, cell: &Value, from: &Value) -> Result<(), String> {
    let table = &row.import.tables()[row.table];
    let index = from["formula"].as_u64().ok_or("no formula")? as usize;
    let formula = table["formulas"][index].as_str().ok_or("no such formula")?;
    let known: Result<Vec<Input>, String> = inputs(from).map(|i| row.input(i)).collect();
    let known = known?;
    if NOT_RECOMPUTED.contains(&formula) {
        return Ok(());
    }
    if let Some(text) = cell.as_str() {
        return text_formula(row, formula, text, &known);
    }
    let value = cell.as_f64().ok_or("neither text nor a number")?;
    let want = number_formula(row, formula, &known)
        .map_err(|e| format!("{formula}: {e}"))?
        .ok_or_else(|| format!("no rule for the formula `{formula}`"))?;
    if (want - value).abs() <= 1e-9 * want.abs().max(1e-3) {
        Ok(())
    } else {
        Err(format!("{formula} is {want}, the cell is {value}"))
    }
}

impl FormulaRow<'_> {
    fn table(&self) -> &Value {
        &self.import.tables()[self.table]
    }

    fn cell<'t>(&self, table: &'t Value, row: usize, column: &str) -> Option<&'t Value> {
        let columns = table["columns"].as_array()?;
        let at = columns.iter().position(|c| c["key"] == *column)?;
        table["rows"].get(row)?.get(at)
    }

    pub fn own(&self, column: &str) -> Option<&Value> {
        self.cell(self.table(), self.row, column)
    }

    fn own_number(&self, column: &str) -> Result<f64, String> {
        let cell = self.own(column).and_then(Value::as_f64);
        cell.ok_or_else(|| format!("no number in {column}"))
    }

    fn input(&self, input: &Value) -> Result<Input, String> {
        if let Some(span) = span_of(input) {
            let text = self.import.characters(self.file, span);
            let text = text.ok_or("an input has no such characters")?;
            return Ok(Input::One(Value::String(text)));
        }
        let id = input
            .as_str()
            .ok_or("an input is neither a place nor an id")?;
        if let Some(rest) = id.strip_prefix("rows.") {
            let found = rest
                .split('.')
                .try_fold(&self.import.json["rows"], |v, step| {
                    match step.parse::<usize>() {
                        Ok(at) => v.get(at),
                        Err(_) => v.get(step),
                    }
                });
            return Ok(Input::One(found.ok_or(format!("no {id}"))?.clone()));
        }
        let Some((of, rest)) = id.split_once('.') else {
            let cell = self.own(id).ok_or(format!("no column {id}"))?;
            return Ok(Input::One(cell.clone()));
        };
        let (rows, column) = rest.split_once('.').ok_or(format!("no column in {id}"))?;
        let own_file = self.table()["file"].as_str();
        let mut tables = self.import.tables().iter();
        let table = tables
            .find(|t| t["id"] == *of && t["file"].as_str() == own_file)
            .ok_or(format!("no table {of}"))?;
        let count = table["rows"].as_array().map_or(0, Vec::len);
        let get = |row: usize| {
            let cell = self.cell(table, row, column);
            cell.cloned().ok_or(format!("no cell {id}"))
        };
        if let Ok(row) = rows.parse::<usize>() {
            return get(row).map(Input::One);
        }
        let (from, to) = match rows.split_once('-') {
            Some((from, to)) => (
                from.parse().map_err(|_| format!("rows of {id}"))?,
                to.parse().map_err(|_| format!("rows of {id}"))?,
            ),
            None => (0, count.saturating_sub(1)),
        };
        (from..=to)
            .map(get)
            .collect::<Result<_, _>>()
            .map(Input::Many)
    }

    /// Numbers of an input, as many as it has.
    fn numbers(&self, input: Option<&Input>) -> Result<Vec<Option<f64>>, String> {
        let number = |v: &Value| match v {
            Value::String(text) => {
                let marks = self
                    .import
                    .marks(self.file, self.table()["id"].as_str().unwrap_or(""));
                let read = printed(text, marks)?;
                let is_ebpf = self.table()["id"] == "ebpf_histogram";
                let base = if is_ebpf { 1024.0 } else { 1000.0 };
                let factor = match unit(&read.suffix, base) {
                    Some(('b', factor)) => factor,
                    _ => 1.0,
                };
                Some(read.value * factor)
            }
            v => v.as_f64(),
        };
        match input.ok_or("an input is missing")? {
            Input::One(v) => Ok(vec![number(v)]),
            Input::Many(all) => Ok(all.iter().map(number).collect()),
        }
    }

    fn number(&self, input: Option<&Input>) -> Result<f64, String> {
        let found = self.numbers(input)?.first().copied().flatten();
        found.ok_or("an input is not a number".to_owned())
    }
}

fn text_formula(
    row: &FormulaRow<'_>,
    formula: &str,
    cell: &str,
    inputs: &[Input],
) -> Result<(), String> {
    if formula == "text of the lines" {
        let lines: Vec<String> = (row.lines[0]..=row.lines[1])
            .filter_map(|n| Some(row.import.files.get(row.file)?.line(n)))
            .collect();
        let holds = |part: &str| lines.iter().any(|l| l.contains(part.trim()));
        let parts: Vec<&str> = cell.split("; ").collect();
        let all = parts.iter().all(|p| holds(p)) || holds(cell);
        return all
            .then_some(())
            .ok_or(format!("`{cell}` is not in {lines:?}"));
    }
    if formula == "the stamp on a clock of 24 hours" {
        let Some(Input::One(Value::String(stamp))) = inputs.first() else {
            return Err("no stamp".to_owned());
        };
        let (rest, half) = stamp.rsplit_once(' ').ok_or("no half of the day")?;
        let clock = rest.rsplit(' ').next().and_then(|c| c.split_once(':'));
        let (hour, minutes) = clock.ok_or("no time")?;
        let hour: u32 = hour.parse().map_err(|_| "no hour")?;
        let hour = match (half, hour) {
            ("AM", 12) => 0,
            ("PM", 1..12) => hour + 12,
            _ => hour,
        };
        let is_same = cell.ends_with(&format!("{hour:02}:{minutes}"));
        return is_same
            .then_some(())
            .ok_or(format!("{cell} is not {stamp}"));
    }
    let known = [
        "name of the snapshot",
        "options with their names",
        "a:b",
        "a # b",
        "the inputs, one behind the other",
    ];
    if !known.contains(&formula) {
        return Err(format!("no rule for the formula `{formula}`"));
    }
    let is_cut = cell.chars().count() >= 80;
    for input in inputs {
        match input {
            Input::One(Value::String(text)) if is_cut || cell.contains(text.as_str()) => {}
            other => return Err(format!("`{cell}` does not hold {other:?}")),
        }
    }
    Ok(())
}

fn number_formula(
    row: &FormulaRow<'_>,
    formula: &str,
    inputs: &[Input],
) -> Result<Option<f64>, String> {
    let sum = |all: &[Option<f64>]| all.iter().flatten().sum::<f64>();
    let first = inputs.first();
    Ok(Some(match formula {
        "number of the line" => row.lines[0] as f64,
        "0, as a blank count is" => 0.0,
        "a, as a bucket that is not listed before is 0" => row.number(first)?,
        "0 - a, as a bucket that is not listed behind is 0" => -row.number(first)?,
        "sum of the buckets over the bound, each rounded to a tenth" => {
            let mut over = 0.0;
            for input in inputs {
                over += sum(&row.numbers(Some(input))?);
            }
            over
        }
        "sum of a" => sum(&row.numbers(first)?),
        "count of a" => row.numbers(first)?.len() as f64,
        "100 * a / sum of b" => {
            100.0 * row.number(first)? / sum(&row.numbers(inputs.get(1))?).max(1.0)
        }
        "largest b where a > 0" => {
            let pairs = row
                .numbers(first)?
                .into_iter()
                .zip(row.numbers(inputs.get(1))?);
            let with = pairs.filter(|(a, _)| a.is_some_and(|a| a > 0.0));
            with.filter_map(|(_, b)| b).fold(0.0, f64::max)
        }
        "write_data / write_data_per_s, with suffixes as powers of 1024" => window(row, 1024.0)?,
        "write_data / write_data_per_s, with suffixes as powers of 1000" => window(row, 1000.0)?,
        _ if formula.starts_with("100 * share of a where b > ") => {
            let bound: f64 = formula
                .rsplit(' ')
                .next()
                .and_then(|b| b.parse().ok())
                .ok_or("no bound")?;
            let (a, b) = (row.numbers(first)?, row.numbers(inputs.get(1))?);
            let over = a
                .iter()
                .zip(&b)
                .filter(|(_, b)| b.is_some_and(|b| b > bound));
            100.0 * over.filter_map(|(a, _)| *a).sum::<f64>() / sum(&a)
        }
        _ if formula.ends_with(" of the direction") => return direction(row, formula).map(Some),
        _ if formula.contains("in intervals") => return intervals(row, formula, inputs).map(Some),
        "number of the report in the file, from 1" => return in_turn(row).map(Some),
        "how often the metric of the cell was listed so far" => return listed(row).map(Some),
        _ => {
            if let Some(value) = of_digits(row, formula, inputs)? {
                return Ok(Some(value));
            }
            if let Some(value) = trace::verify(row, formula)? {
                return Ok(Some(value));
            }
            return expression(row, formula, inputs);
        }
    }))
}

/// Formulas over what is printed: last digits, expressions, sums of squares.
fn of_digits(row: &FormulaRow<'_>, formula: &str, inputs: &[Input]) -> Result<Option<f64>, String> {
    let first = inputs.first();
    Ok(Some(match formula {
        "half of the last digit of a" => {
            let shown = row.origin_text("stated_pct").ok_or("no characters")?;
            let decimals = shown.split_once('.').map_or(0, |(_, d)| d.len());
            0.5 * 10_f64.powi(-(decimals as i32))
        }
        "half of the last digit of a, on the scale of the factor" => {
            let Some(Input::One(Value::String(shown))) = first else {
                return Err("no characters".to_owned());
            };
            let decimals = shown.split_once('.').map_or(0, |(_, d)| d.len());
            let half = 0.5 * 10_f64.powi(-(decimals as i32));
            let (factor, a) = (row.own_number("factor")?, row.number(first)?);
            match factor {
                f if f == a => half,
                f if (f - (1.0 + a / 100.0)).abs() < 1e-9 => half / 100.0,
                f => half / 100.0 * f * f,
            }
        }
        "standard deviation of a values by their sum b and sum of squares c, / 1000" => {
            let of = |at: usize| row.number(inputs.get(at));
            let (count, mean) = (of(0)?, of(1)? / of(0)?);
            f64::max(of(2)? / count - mean * mean, 0.0).sqrt() / 1000.0
        }
        "value of a" => {
            let Some(Input::One(Value::String(expression))) = first else {
                return Err("no expression".to_owned());
            };
            evaluate(&expression.replace(',', ""), &|_| None).ok_or("no value")?
        }
        _ => return Ok(None),
    }))
}

/// A formula of operators, of inputs a, b, c, ... and of columns of the row.
fn expression(
    row: &FormulaRow<'_>,
    formula: &str,
    inputs: &[Input],
) -> Result<Option<f64>, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _+-*/().".contains(c);
    let name = |name: &str| {
        let letter = Some(name)
            .filter(|n| n.len() == 1)
            .and_then(|n| n.bytes().next());
        match letter {
            Some(letter) => {
                let at = usize::from(letter.checked_sub(b'a')?);
                row.number(inputs.get(at)).ok()
            }
            None => row.own(name)?.as_f64(),
        }
    };
    if let Some(value) = grown(row, formula, inputs)? {
        return Ok(Some(value));
    }
    let is_known = formula.chars().all(plain) && formula.chars().any(|c| "+-*/a".contains(c));
    let bare = formula.len() == 1 || formula.contains(['+', '-', '*', '/']);
    if !is_known || !bare {
        return Ok(None);
    }
    evaluate(formula, &name)
        .map(Some)
        .ok_or("an input is missing".to_owned())
}

/// Formulas over counters that only grow: the order of the two readings does not matter.
fn grown(row: &FormulaRow<'_>, formula: &str, inputs: &[Input]) -> Result<Option<f64>, String> {
    let of = |at: usize| row.number(inputs.get(at));
    let change = |at: usize| Ok::<f64, String>((of(at + 1)? - of(at)?).abs());
    Ok(Some(match formula {
        "after - before" if row.own("after").is_none() => change(0)?,
        "milliseconds / operations, of differences" => change(0)? / change(2)?,
        "last value + 1" => of(0)? + 1.0,
        "(after - before) * unit / seconds" => {
            let rate = change(0)? / row.own_number("seconds")?;
            // Operations, sectors of 512 bytes in MB, milliseconds in percent and in requests.
            let units = [1.0, 512.0 / 1_048_576.0, 0.1, 1e-3].map(|unit| rate * unit);
            let all = [
                "reads_per_s",
                "writes_per_s",
                "write_mb_per_s",
                "flushes_per_s",
                "util_pct",
                "queue",
            ];
            let cells = all.map(|c| row.own_number(c).unwrap_or(f64::NAN));
            let near = |v: &f64| {
                cells
                    .iter()
                    .any(|c| (c - v).abs() <= 1e-9 * v.abs().max(1e-3))
            };
            let unit = units.iter().position(near).ok_or("no unit fits")?;
            // The cell is compared by the caller: of equal rates of several columns each is one.
            units[unit]
        }
        _ => return Ok(None),
    }))
}

impl FormulaRow<'_> {
    /// The characters of a cell of the row that was read.
    fn origin_text(&self, column: &str) -> Option<String> {
        let columns = self.table()["columns"].as_array()?;
        let at = columns.iter().position(|c| c["key"] == *column)?;
        let span = span_of(&self.table()["origins"][self.row]["cells"][at])?;
        self.import.characters(self.file, span)
    }
}

/// What a volume and a rate imply, in seconds.
fn window(row: &FormulaRow<'_>, base: f64) -> Result<f64, String> {
    let marks = row.import.marks(row.file, "");
    let bytes = |column: &str, else_power: i32| {
        let text = row.own(column).and_then(Value::as_str).ok_or("no text")?;
        let read = printed(text, marks).ok_or("no number")?;
        let factor = match unit(&read.suffix, base) {
            Some(('b', factor)) => factor,
            _ => base.powi(else_power),
        };
        Ok::<f64, String>(read.value * factor)
    };
    // Without a suffix the heading names MB, which the cell beside it shows.
    let rate = row
        .own("write_data_per_s")
        .and_then(Value::as_str)
        .ok_or("no rate")?;
    let is_mb = printed(rate, marks).map(|r| r.value) == Some(row.own_number("write_mb_per_s")?);
    let (volume, rate) = (
        bytes("write_data", 0)?,
        bytes("write_data_per_s", if is_mb { 2 } else { 0 })?,
    );
    Ok(volume / rate)
}

/// Sums over the intervals of a device of `iostat`.
fn intervals(row: &FormulaRow<'_>, formula: &str, inputs: &[Input]) -> Result<f64, String> {
    let device = row.own("device").ok_or("no device")?.clone();
    let file = row.table()["file"].as_str();
    let mut tables = row.import.tables().iter();
    let iostat = tables.find(|t| t["id"] == "iostat" && t["file"].as_str() == file);
    let iostat = iostat.ok_or("no table iostat")?;
    let count = iostat["rows"].as_array().map_or(0, Vec::len);
    let is_own = |at: &usize| {
        row.cell(iostat, *at, "device") == Some(&device)
            && row.cell(iostat, *at, "covers").and_then(Value::as_str) == Some("interval")
    };
    let own: Vec<usize> = (0..count).filter(is_own).collect();
    if formula.starts_with("count") {
        return Ok(own.len() as f64);
    }
    let mut all = Vec::new();
    for input in inputs {
        let column = row.numbers(Some(input))?;
        all.extend(
            own.iter()
                .filter_map(|at| column.get(*at).copied().flatten()),
        );
    }
    Ok(match formula {
        f if f.starts_with("mean") => all.iter().sum::<f64>() / all.len() as f64,
        _ => all.iter().copied().fold(f64::MIN, f64::max),
    })
}

/// Figures over the lines `ms, value, direction, ...` of a log of fio.
fn direction(row: &FormulaRow<'_>, formula: &str) -> Result<f64, String> {
    let direction = row
        .own("direction")
        .and_then(Value::as_str)
        .ok_or("no direction")?;
    let names = ["read", "write", "trim"];
    let wanted = names
        .iter()
        .position(|n| *n == direction)
        .ok_or("no such direction")?;
    let file = row.import.files.get(row.file).ok_or("no file")?;
    let pair = |line: u64| {
        let line = file.line(line);
        let words: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = |at: usize| words.get(at)?.parse::<f64>().ok();
        (number(2)? == wanted as f64).then_some((number(0)?, number(1)?))
    };
    let pairs: Vec<(f64, f64)> = (row.lines[0]..=row.lines[1]).filter_map(pair).collect();
    let values = || pairs.iter().map(|p| p.1);
    let found = match formula.split(' ').next().unwrap_or_default() {
        "count" => Some(pairs.len() as f64),
        "first" => pairs.first().map(|p| p.0),
        "last" => pairs.last().map(|p| p.0),
        "smallest" => values().reduce(f64::min),
        "mean" => Some(values().sum::<f64>() / pairs.len() as f64),
        "largest" => values().reduce(f64::max),
        _ => None,
    };
    found.ok_or("no lines".to_owned())
}

/// The number of a report: the one before, or one more, and from 1.
fn in_turn(row: &FormulaRow<'_>) -> Result<f64, String> {
    let own = row.own_number("report")?;
    let before = match row.row.checked_sub(1) {
        Some(at) => row.cell(row.table(), at, "report").and_then(Value::as_f64),
        None => Some(0.0),
    };
    let before = before.ok_or("no report before")?;
    let fits = own >= 1.0 && own.fract() == 0.0 && own >= before;
    fits.then_some(own)
        .ok_or(format!("report {own} behind {before}"))
}

/// How often a metric was listed up to the row.
fn listed(row: &FormulaRow<'_>) -> Result<f64, String> {
    let name = |at: usize| ["cell", "metric"].map(|c| row.cell(row.table(), at, c).cloned());
    let own = name(row.row);
    Ok((0..=row.row).filter(|at| name(*at) == own).count() as f64)
}

/// The value of an expression of numbers, names, `+ - * /` and brackets.
pub fn evaluate(text: &str, name: &dyn Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut tokens = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_part = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        if c.is_whitespace() {
            continue;
        }
        let mut token = c.to_string();
        while is_part(&c) && chars.peek().is_some_and(is_part) {
            token.extend(chars.next());
        }
        tokens.push(token);
    }
    let mut at = 0;
    let value = sum(&tokens, &mut at, name)?;
    (at == tokens.len()).then_some(value)
}

type Names<'a> = &'a dyn Fn(&str) -> Option<f64>;

fn sum(tokens: &[String], at: &mut usize, name: Names<'_>) -> Option<f64> {
    let mut total = product(tokens, at, name)?;
    while let Some(sign @ ("+" | "-")) = tokens.get(*at).map(String::as_str) {
        *at += 1;
        let next = product(tokens, at, name)?;
        total += if sign == "+" { next } else { -next };
    }
    Some(total)
}

fn product(tokens: &[String], at: &mut usize, name: Names<'_>) -> Option<f64> {
    let mut total = atom(tokens, at, name)?;
    while let Some(sign @ ("*" | "/")) = tokens.get(*at).map(String::as_str) {
        *at += 1;
        let next = atom(tokens, at, name)?;
        total = if sign == "*" {
            total * next
        } else {
            total / next
        };
    }
    Some(total)
}

fn atom(tokens: &[String], at: &mut usize, name: Names<'_>) -> Option<f64> {
    let token = tokens.get(*at)?;
    *at += 1;
    if token == "(" {
        let value = sum(tokens, at, name)?;
        *at += 1;
        return (tokens.get(*at - 1)? == ")").then_some(value);
    }
    match token.parse() {
        Ok(value) => Some(value),
        Err(_) => name(token),
    }
}

#[test]
fn expressions() {
    let name = |n: &str| match n {
        "a" => Some(3.0),
        "per_s" => Some(0.5),
        _ => None,
    };
    assert_eq!(evaluate("100 * a / (a + 1) - per_s", &name), Some(74.5));
    assert_eq!(evaluate("(1", &name), None);
    assert_eq!(evaluate("a b", &name), None);
    assert_eq!(printed("1", Marks::Usual).map(|p| p.value), Some(1.0));
}
