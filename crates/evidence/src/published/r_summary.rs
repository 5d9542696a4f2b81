//! Output of R: `summary()` of a vector and `t.test()`.
//!
//! The unit is the one that the variable's name ends with (`synctime_us`); where it has none, none
//! is guessed: figures stay as printed, and a diagnostic says so.

use crate::Notes;
use crate::awr::cell::GridCell;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::{Cell, Severity};
use measure::origin::TextSpan;

/// A number of R and where it is.
#[derive(Clone, Copy, Debug, Default)]
struct RNumber {
    value: f64,
    span: Option<TextSpan>,
}

impl RNumber {
    fn of(line: SourceLine<'_>, word: &str) -> Option<RNumber> {
        let span = line.span(word.trim_end_matches(','));
        number(word).map(|value| RNumber { value, span })
    }

    fn cell(self) -> SourcedCell {
        SourcedCell::scaled(self.value, 1.0, self.span)
    }
}

const MEANS: [&str; 6] = ["mean", "of", "x", "mean", "of", "y"];
/// Characters of the line above that are kept.
const ABOVE_MAX: usize = 400;
const HEADINGS: [&str; 6] = ["Min.", "1st Qu.", "Median", "Mean", "3rd Qu.", "Max."];

/// Whether a line begins a summary or a test.
pub fn opens(line: &str) -> bool {
    is_heading(line)
        || is_frame(line)
        || line.contains("Two Sample t-test")
        || t_line(SourceLine::new(0, line)).is_some()
}

fn is_heading(line: &str) -> bool {
    if !line.trim_start().starts_with(HEADINGS[0]) {
        return false;
    }
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.strip_suffix(" NA's").unwrap_or(&words);
    words == HEADINGS.join(" ")
}

/// Whether a line begins the summary of a data frame: ` Min.   :  1.0   Min.   :  29 `.
fn is_frame(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("Min.");
    rest.is_some_and(|r| {
        r.trim_start().starts_with(':') && frame(SourceLine::new(0, line), 0).is_some()
    })
}

/// The numbers of a line of such a summary, one a column.
fn frame(line: SourceLine<'_>, label: usize) -> Option<Vec<RNumber>> {
    let each = line.text.split(HEADINGS[label]).skip(1).map(|part| {
        let part = part.trim_start().strip_prefix(':')?;
        RNumber::of(line, part.split_whitespace().next()?)
    });
    each.collect::<Option<Vec<RNumber>>>()
        .filter(|n| !n.is_empty())
}

/// What is before and behind the call of a function.
fn called<'a>(line: &'a str, function: &str) -> Option<(&'a str, &'a str)> {
    if !line.as_bytes().contains(&b'(') {
        return None;
    }
    line.split_once(function)
}

/// The heading of the two means of a test.
fn is_means(trimmed: &str) -> bool {
    trimmed.starts_with("mean") && trimmed.split_whitespace().eq(MEANS)
}

/// A number of R: decimals, exponents; nothing that is not finite.
fn number(word: &str) -> Option<f64> {
    let plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'-' | b'+' | b'e' | b'E');
    let word = word.trim_end_matches(',');
    let fits =
        word.len() < 32 && word.bytes().all(plain) && word.bytes().any(|b| b.is_ascii_digit());
    fits.then(|| word.parse().ok())
        .flatten()
        .filter(|v: &f64| v.is_finite())
}

fn numbers(line: SourceLine<'_>) -> Option<Vec<RNumber>> {
    let words = line.text.split_whitespace();
    words
        .map(|word| RNumber::of(line, word))
        .collect::<Option<Vec<RNumber>>>()
        .filter(|n| !n.is_empty())
}

/// `t = 263.2139, df = 7977922, p-value < 2.2e-16`: t, df, p, and whether p is below that.
fn t_line(line: SourceLine<'_>) -> Option<(RNumber, RNumber, RNumber, GridCell)> {
    let rest = line.text.trim().strip_prefix("t = ")?;
    let (t, rest) = rest.split_once(", df = ")?;
    let (df, p) = rest.split_once(", p-value ")?;
    let value = p.trim_start_matches(['<', '=', ' ']).trim();
    let below = GridCell::of(line, &p[..p.len() - p.trim_start_matches(['<', '=']).len()]);
    let of = |word| RNumber::of(line, word);
    Some((of(t)?, of(df)?, of(value)?, below))
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Summary,
    /// Of a data frame: names and the lines so far.
    Frame(Vec<GridCell>, Vec<Vec<RNumber>>),
    Interval,
    Means,
}

/// The summaries and tests of a file.
#[derive(Debug, Default)]
pub struct Summaries {
    table: Option<usize>,
    state: State,
    name: SourcedCell,
    /// What `tapply` or `by` groups.
    of: GridCell,
    above: (u64, String),
    unnamed: u64,
    test: Option<Test>,
}

#[derive(Debug, Default)]
struct Test {
    line: u64,
    data: GridCell,
    t: RNumber,
    df: RNumber,
    p: RNumber,
    p_below: GridCell,
    level: Option<RNumber>,
    interval: Option<(RNumber, RNumber)>,
}

impl Summaries {
    /// Takes a line.
    pub fn line(&mut self, line: &str, at: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let trimmed = line.trim();
        let source = SourceLine::new(at, line);
        match std::mem::take(&mut self.state) {
            State::Summary => match numbers(source).filter(|n| n.len() == 6 || n.len() == 7) {
                Some(found) => self.summary(&found, at, sheets, notes),
                None if trimmed.is_empty() => self.state = State::Summary,
                None => {
                    notes.add(Severity::Warning, "r.no_summary", Some(at), None, || {
                        "there are not six numbers under the heading of a summary".to_owned()
                    });
                    self.idle(source);
                }
            },
            State::Interval => {
                let found = numbers(source);
                if let (Some(test), Some([low, high])) = (&mut self.test, found.as_deref()) {
                    test.interval = Some((*low, *high));
                }
            }
            State::Means => {
                if let (Some(test), Some([x, y])) = (self.test.take(), numbers(source).as_deref()) {
                    give(&test, Some((*x, *y)), sheets);
                }
            }
            State::Frame(names, lines) => {
                self.frame(names, lines, source, sheets, notes);
            }
            State::Idle if is_frame(trimmed) => {
                let (number, above) = std::mem::take(&mut self.above);
                let above = SourceLine::new(number, &above);
                let names = above.text.split_whitespace();
                let names = names.map(|name| GridCell::of(above, name)).collect();
                self.frame(names, Vec::new(), source, sheets, notes);
            }
            State::Idle => self.idle(source),
        }
        let kept = match line.len() > ABOVE_MAX {
            true => line.char_indices().nth(ABOVE_MAX),
            false => None,
        };
        let kept = line.get(..kept.map_or(line.len(), |(at, _)| at));
        self.above.0 = at;
        kept.unwrap_or_default().clone_into(&mut self.above.1);
    }

    /// The next of the six lines of a data frame's summary; other lines between them (factors,
    /// missing values) are left out.
    fn frame(
        &mut self,
        names: Vec<GridCell>,
        mut lines: Vec<Vec<RNumber>>,
        line: SourceLine<'_>,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        match frame(line, lines.len()) {
            Some(found) => lines.push(found),
            None if line.text.trim().is_empty() => return,
            None => {}
        }
        let columns = lines.first().map_or(0, Vec::len);
        if lines.len() < HEADINGS.len() {
            self.state = State::Frame(names, lines);
            return;
        }
        for column in 0..columns {
            let values: Vec<RNumber> = lines
                .iter()
                .filter_map(|l| l.get(column))
                .copied()
                .collect();
            if values.len() == HEADINGS.len() {
                let named = names.get(column).filter(|_| names.len() == columns);
                self.name = named.map_or_else(SourcedCell::default, GridCell::sourced);
                self.summary(&values, line.number, sheets, notes);
            }
        }
    }

    fn idle(&mut self, line: SourceLine<'_>) {
        let trimmed = line.text.trim();
        let part = |part: &str| GridCell::of(line, part);
        if is_heading(trimmed) {
            self.state = State::Summary;
        } else if let Some(group) = trimmed.strip_prefix('$').filter(|g| g.len() < 60) {
            let group = part(group);
            self.name = match self.of.is_empty() {
                true => group.sourced(),
                false => remarked(&self.of, &group),
            };
        } else if let Some((_, rest)) = called(trimmed, "tapply(") {
            self.of = part(rest.split([',', ')']).next().unwrap_or_default());
        } else if let Some((_, rest)) = called(trimmed, "summary(").filter(|_| trimmed.len() < 200)
        {
            let inner = part(rest.split(')').next().unwrap_or(rest));
            let remark = part(trimmed.split_once('#').map_or("", |(_, r)| r.trim()));
            self.name = match remark.is_empty() {
                true => inner.sourced(),
                false => remarked(&inner, &remark),
            };
        } else if let Some(data) = trimmed.strip_prefix("data:") {
            self.test = Some(Test {
                data: part(data),
                ..Test::default()
            });
        } else if let Some((t, df, p, p_below)) = t_line(line) {
            let data = self.test.take().map(|t| t.data).unwrap_or_default();
            self.test = Some(Test {
                line: line.number,
                data,
                t,
                df,
                p,
                p_below,
                ..Test::default()
            });
        } else if let Some(level) = trimmed.strip_suffix("percent confidence interval:") {
            if let Some(test) = &mut self.test {
                test.level = RNumber::of(line, level.trim());
                self.state = State::Interval;
            }
        } else if is_means(trimmed) {
            self.state = State::Means;
        }
    }

    fn summary(&mut self, found: &[RNumber], at: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let columns = [
            ("sample", "Sample"),
            ("unit", "Unit"),
            ("min", HEADINGS[0]),
            ("q1", HEADINGS[1]),
            ("median", HEADINGS[2]),
            ("mean", HEADINGS[3]),
            ("q3", HEADINGS[4]),
            ("max", HEADINGS[5]),
        ];
        let open = || sheets.open("r_summary", "Summaries", at - 1, &columns);
        let table = *self.table.get_or_insert_with(open);
        let mut named = std::mem::take(&mut self.name);
        if matches!(&named.cell, Cell::Blank) || named.cell == Cell::Text(String::new()) {
            self.unnamed += 1;
            named = SourcedCell::label(&format!("sample {}", self.unnamed));
        }
        let name = match &named.cell {
            Cell::Text(name) => name.clone(),
            _ => String::new(),
        };
        let variable = name.split(" # ").next().unwrap_or(&name);
        let unit = variable
            .rsplit(['_', '$', '.'])
            .next()
            .filter(|u| ["ns", "us", "ms", "s"].contains(u));
        if unit.is_none() {
            notes.add(Severity::Warning, "r.unit_unknown", Some(at), None, || {
                format!("`{variable}` names no unit (_ns, _us, _ms, _s): figures are as printed")
            });
        }
        if !found[..6]
            .windows(2)
            .enumerate()
            .all(|(i, w)| i == 2 || i == 3 || w[0].value <= w[1].value)
        {
            notes.add(Severity::Warning, "r.not_ascending", Some(at), None, || {
                "minimum, quartiles and maximum of a summary do not ascend".to_owned()
            });
        }
        let unit = unit.map_or_else(SourcedCell::blank, SourcedCell::label);
        let mut row = vec![named, unit];
        row.extend(found[..6].iter().map(|v| v.cell()));
        sheets.sourced_row(table, at, row);
    }
}

/// A name and a remark behind it.
fn remarked(name: &GridCell, remark: &GridCell) -> SourcedCell {
    let cell = crate::origin::text(&format!("{} # {}", name.text, remark.text));
    let inputs = name.input().into_iter().chain(remark.input()).collect();
    SourcedCell::derived(cell, "a # b", inputs)
}

fn give(test: &Test, means: Option<(RNumber, RNumber)>, sheets: &mut Sheets) {
    if test.line == 0 {
        return;
    }
    let columns = [
        ("data", "data"),
        ("t", "t"),
        ("df", "df"),
        ("p_value", "p-value"),
        ("p_is_below", "p is below"),
        ("level_pct", "percent confidence"),
        ("ci_low", "from"),
        ("ci_high", "to"),
        ("mean_x", "mean of x"),
        ("mean_y", "mean of y"),
    ];
    let table = sheets.open(
        "welch_t_test",
        "Welch two sample t-test",
        test.line,
        &columns,
    );
    let real = |v: Option<RNumber>| v.map_or_else(SourcedCell::blank, RNumber::cell);
    let below = if &*test.p_below == "<" { "yes" } else { "no" };
    let row = vec![
        test.data.sourced(),
        test.t.cell(),
        test.df.cell(),
        test.p.cell(),
        SourcedCell::label(below),
        real(test.level),
        real(test.interval.map(|i| i.0)),
        real(test.interval.map(|i| i.1)),
        real(means.map(|m| m.0)),
        real(means.map(|m| m.1)),
    ];
    sheets.sourced_row(table, test.line, row);
}
