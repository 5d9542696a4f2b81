//! Output of R: `summary()` of a vector and `t.test()`.
//!
//! The unit is the one that the variable's name ends with (`synctime_us`); where it has none, none
//! is guessed: figures stay as printed, and a diagnostic says so.

use crate::Notes;
use crate::sheets::{Sheets, text};
use measure::imported::{Cell, Severity};

const HEADINGS: [&str; 6] = ["Min.", "1st Qu.", "Median", "Mean", "3rd Qu.", "Max."];

/// Whether a line begins a summary or a test.
pub fn opens(line: &str) -> bool {
    is_heading(line)
        || is_frame(line)
        || line.contains("Two Sample t-test")
        || t_line(line).is_some()
}

fn is_heading(line: &str) -> bool {
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.strip_suffix(" NA's").unwrap_or(&words);
    words == HEADINGS.join(" ")
}

/// Whether a line begins the summary of a data frame: ` Min.   :  1.0   Min.   :  29 `.
fn is_frame(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix("Min.");
    rest.is_some_and(|r| r.trim_start().starts_with(':') && frame(line, 0).is_some())
}

/// The numbers of a line of such a summary, one a column.
fn frame(line: &str, label: usize) -> Option<Vec<f64>> {
    let each = line.split(HEADINGS[label]).skip(1).map(|part| {
        let part = part.trim_start().strip_prefix(':')?;
        number(part.split_whitespace().next()?)
    });
    each.collect::<Option<Vec<f64>>>().filter(|n| !n.is_empty())
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

fn numbers(line: &str) -> Option<Vec<f64>> {
    let words = line.split_whitespace();
    words
        .map(number)
        .collect::<Option<Vec<f64>>>()
        .filter(|n| !n.is_empty())
}

/// `t = 263.2139, df = 7977922, p-value < 2.2e-16`: t, df, p, and whether p is below that.
fn t_line(line: &str) -> Option<(f64, f64, f64, bool)> {
    let rest = line.trim().strip_prefix("t = ")?;
    let (t, rest) = rest.split_once(", df = ")?;
    let (df, p) = rest.split_once(", p-value ")?;
    let below = p.starts_with('<');
    let p = number(p.trim_start_matches(['<', '=', ' ']).trim())?;
    Some((number(t)?, number(df)?, p, below))
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Summary,
    /// Of a data frame: names and the lines so far.
    Frame(Vec<String>, Vec<Vec<f64>>),
    Interval,
    Means,
}

/// The summaries and tests of a file.
#[derive(Debug, Default)]
pub struct Summaries {
    table: Option<usize>,
    state: State,
    name: String,
    /// What `tapply` or `by` groups.
    of: String,
    above: String,
    unnamed: u64,
    test: Option<Test>,
}

#[derive(Debug, Default)]
struct Test {
    line: u64,
    data: String,
    t: f64,
    df: f64,
    p: f64,
    p_below: bool,
    level: Option<f64>,
    interval: Option<(f64, f64)>,
}

impl Summaries {
    /// Takes a line.
    pub fn line(&mut self, line: &str, at: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let trimmed = line.trim();
        match std::mem::take(&mut self.state) {
            State::Summary => match numbers(trimmed).filter(|n| n.len() == 6 || n.len() == 7) {
                Some(found) => self.summary(&found, at, sheets, notes),
                None if trimmed.is_empty() => self.state = State::Summary,
                None => notes.add(Severity::Warning, "r.no_summary", Some(at), None, || {
                    "no six numbers stand under the heading of a summary".to_owned()
                }),
            },
            State::Interval => {
                let found = numbers(trimmed);
                if let (Some(test), Some([low, high])) = (&mut self.test, found.as_deref()) {
                    test.interval = Some((*low, *high));
                }
            }
            State::Means => {
                if let (Some(test), Some([x, y])) = (self.test.take(), numbers(trimmed).as_deref())
                {
                    give(&test, Some((*x, *y)), sheets);
                }
            }
            State::Frame(names, lines) => {
                self.frame(names, lines, trimmed, at, sheets, notes);
            }
            State::Idle if is_frame(trimmed) => {
                let names = self.above.split_whitespace().map(str::to_owned).collect();
                self.frame(names, Vec::new(), trimmed, at, sheets, notes);
            }
            State::Idle => self.idle(trimmed, at),
        }
        trimmed
            .chars()
            .take(400)
            .collect::<String>()
            .clone_into(&mut self.above);
    }

    /// The next of the six lines of a data frame's summary; other lines between them (factors,
    /// missing values) are left out.
    fn frame(
        &mut self,
        names: Vec<String>,
        mut lines: Vec<Vec<f64>>,
        trimmed: &str,
        at: u64,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        match frame(trimmed, lines.len()) {
            Some(found) => lines.push(found),
            None if trimmed.is_empty() => return,
            None => {}
        }
        let columns = lines.first().map_or(0, Vec::len);
        if lines.len() < HEADINGS.len() {
            self.state = State::Frame(names, lines);
            return;
        }
        for column in 0..columns {
            let values: Vec<f64> = lines
                .iter()
                .filter_map(|l| l.get(column))
                .copied()
                .collect();
            if values.len() == HEADINGS.len() {
                let named = names.get(column).filter(|_| names.len() == columns);
                self.name = named.cloned().unwrap_or_default();
                self.summary(&values, at, sheets, notes);
            }
        }
    }

    fn idle(&mut self, trimmed: &str, at: u64) {
        if is_heading(trimmed) {
            self.state = State::Summary;
        } else if let Some(group) = trimmed.strip_prefix('$').filter(|g| g.len() < 60) {
            self.name = match self.of.as_str() {
                "" => group.to_owned(),
                of => format!("{of} # {group}"),
            };
        } else if let Some((_, rest)) = trimmed.split_once("tapply(") {
            rest.split([',', ')'])
                .next()
                .unwrap_or_default()
                .trim()
                .clone_into(&mut self.of);
        } else if let Some(found) = trimmed.find("summary(").filter(|_| trimmed.len() < 200) {
            let rest = &trimmed[found + 8..];
            let inner = rest.split(')').next().unwrap_or(rest);
            let remark = trimmed.split_once('#').map_or("", |(_, r)| r.trim());
            self.name = match remark {
                "" => inner.to_owned(),
                remark => format!("{inner} # {remark}"),
            };
        } else if let Some(data) = trimmed.strip_prefix("data:") {
            self.test = Some(Test {
                data: data.trim().to_owned(),
                ..Test::default()
            });
        } else if let Some((t, df, p, p_below)) = t_line(trimmed) {
            let data = self.test.take().map(|t| t.data).unwrap_or_default();
            self.test = Some(Test {
                line: at,
                data,
                t,
                df,
                p,
                p_below,
                ..Test::default()
            });
        } else if let Some(level) = trimmed.strip_suffix("percent confidence interval:") {
            if let Some(test) = &mut self.test {
                test.level = number(level.trim());
                self.state = State::Interval;
            }
        } else if trimmed.split_whitespace().collect::<Vec<_>>().join(" ") == "mean of x mean of y"
        {
            self.state = State::Means;
        }
    }

    fn summary(&mut self, found: &[f64], at: u64, sheets: &mut Sheets, notes: &mut Notes) {
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
        let mut name = std::mem::take(&mut self.name);
        if name.is_empty() {
            self.unnamed += 1;
            name = format!("sample {}", self.unnamed);
        }
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
            .all(|(i, w)| i == 2 || i == 3 || w[0] <= w[1])
        {
            notes.add(Severity::Warning, "r.not_ascending", Some(at), None, || {
                "minimum, quartiles and maximum of a summary do not ascend".to_owned()
            });
        }
        let mut row = vec![text(&name), unit.map_or(Cell::Blank, text)];
        row.extend(found[..6].iter().map(|v| Cell::Real(*v)));
        sheets.row(table, at, row);
    }
}

fn give(test: &Test, means: Option<(f64, f64)>, sheets: &mut Sheets) {
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
    let real = |v: Option<f64>| v.map_or(Cell::Blank, Cell::Real);
    let row = vec![
        text(&test.data),
        Cell::Real(test.t),
        Cell::Real(test.df),
        Cell::Real(test.p),
        text(if test.p_below { "yes" } else { "no" }),
        real(test.level),
        real(test.interval.map(|i| i.0)),
        real(test.interval.map(|i| i.1)),
        real(means.map(|m| m.0)),
        real(means.map(|m| m.1)),
    ];
    sheets.row(table, test.line, row);
}
