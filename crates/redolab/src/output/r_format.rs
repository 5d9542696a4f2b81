//! Numbers and results in the layout of R: `format`, `format.pval`, `summary` and `t.test`.
//!
//! R formats the numbers of a vector together: each gets as many decimals as the number that needs
//! the most of them to show `digits` significant digits. Scientific notation is used where it is
//! narrower. Checked against R itself (`tests/r/README.md`).

use analysis::stats::welch::Welch;
use analysis::stats::{PValue, Summary};

/// Digits that R prints by default, `getOption("digits")`.
pub const DIGITS: usize = 7;
/// Significant digits of a summary: `max(3, getOption("digits") - 3)`.
const SUMMARY_DIGITS: usize = 4;
/// Smallest p-value that R prints, `.Machine$double.eps`.
const EPSILON: f64 = f64::EPSILON;

/// What a number needs in scientific notation.
#[derive(Clone, Copy, Debug)]
struct Scientific {
    exponent: i32,
    /// Significant digits without the zeros at the end.
    significant: i32,
}

fn scientific(value: f64, digits: usize) -> Scientific {
    if value == 0.0 {
        let (exponent, significant) = (0, 1);
        return Scientific {
            exponent,
            significant,
        };
    }
    let text = format!("{:.*e}", digits - 1, value.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = mantissa.trim_end_matches('0').len().max(1);
    Scientific {
        exponent: exponent.parse().unwrap_or(0),
        significant: significant as i32,
    }
}

/// `format(values, digits = digits)`: as wide as the widest, aligned to the right.
#[must_use]
pub fn format_together(values: &[f64], digits: usize) -> Vec<String> {
    let shapes: Vec<Scientific> = values.iter().map(|v| scientific(*v, digits)).collect();
    let most = |f: &dyn Fn(&Scientific) -> i32| shapes.iter().map(f).max().unwrap_or(0);
    let decimals = most(&|s| s.significant - s.exponent - 1).max(0);
    let sign = i32::from(values.iter().any(|v| *v < 0.0));
    let left = values
        .iter()
        .zip(&shapes)
        .map(|(v, s)| i32::from(*v < 0.0) + s.exponent.max(0) + 1)
        .max()
        .unwrap_or(1);
    let fixed = left + decimals + i32::from(decimals > 0);
    let mantissa = most(&|s| s.significant) - 1;
    let long = most(&|s| s.exponent) >= 100 || most(&|s| -s.exponent) >= 99;
    let power = if long { 5 } else { 4 };
    let exponential = sign + 1 + i32::from(mantissa > 0) + mantissa + power;
    let texts: Vec<String> = if fixed <= exponential {
        let each = values.iter().map(|v| format!("{v:.*}", decimals as usize));
        each.collect()
    } else {
        let each = values.iter().map(|v| exponent_form(*v, mantissa as usize));
        each.collect()
    };
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.iter().map(|t| format!("{t:>width$}")).collect()
}

/// C's `%.*e`: a sign and at least two digits of the exponent.
fn exponent_form(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// `format` of one number.
#[must_use]
pub fn format_one(value: f64, digits: usize) -> String {
    format_together(&[value], digits).concat()
}

/// `format(round(value, decimals))`.
fn rounded(value: f64, decimals: usize) -> String {
    format_one(round(value, decimals), DIGITS)
}

/// `round(value, decimals)`.
fn round(value: f64, decimals: usize) -> f64 {
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// `p-value = …` as `print` of a test has it.
#[must_use]
pub fn p_value(p: PValue) -> String {
    match p.value() {
        small if small < EPSILON => "p-value < 2.2e-16".to_owned(),
        p => format!("p-value = {}", format_one(p, DIGITS - 3)),
    }
}

/// `summary(x)`: headings and numbers.
#[must_use]
pub fn summary_lines(found: &Summary) -> String {
    let numbers = [
        found.min,
        found.q1,
        found.median,
        found.mean,
        found.q3,
        found.max,
    ];
    let headings = ["Min.", "1st Qu.", "Median", "Mean", "3rd Qu.", "Max."];
    // zapsmall: what is small beside the largest number is 0.
    let largest = numbers.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let decimals = match largest {
        0.0 => DIGITS as f64,
        m => (DIGITS as f64 - m.log10()).max(0.0),
    };
    let decimals = (decimals + 0.5).floor() as usize;
    let numbers = numbers.map(|v| round(v, decimals));
    columns(&headings, &format_together(&numbers, SUMMARY_DIGITS))
}

/// A named vector as R prints it, with a blank at the end of each line.
fn columns(headings: &[&str], cells: &[String]) -> String {
    let width = |(h, c): (&&str, &String)| h.len().max(c.len());
    let widest = headings.iter().zip(cells).map(width).max().unwrap_or(0);
    let mut out = String::new();
    for line in [
        headings.iter().map(|h| (*h).to_owned()).collect::<Vec<_>>(),
        cells.to_vec(),
    ] {
        let each: Vec<String> = line.iter().map(|c| format!("{c:>widest$}")).collect();
        out.push_str(&each.join(" "));
        out.push_str(" \n");
    }
    out
}

/// How `t` and the degrees of freedom are rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestDigits {
    /// As R 2 did, and as study 004 prints them: t to 4 decimals, the degrees to 3.
    Decimals,
    /// As R 4 does: both to 5 significant digits.
    Significant,
}

/// What `t.test` prints.
#[derive(Clone, Copy, Debug)]
pub struct PrintedTest<'a> {
    /// Names of both samples.
    pub names: [&'a str; 2],
    /// Both means.
    pub means: [f64; 2],
    /// The test.
    pub test: &'a Welch,
    /// Digits of t and the degrees of freedom.
    pub digits: TestDigits,
}

impl PrintedTest<'_> {
    /// The lines from `Welch Two Sample t-test` to the means.
    #[must_use]
    pub fn lines(&self) -> String {
        let test = self.test;
        let (t, df) = match self.digits {
            TestDigits::Decimals => (rounded(test.t, 4), rounded(test.df, 3)),
            TestDigits::Significant => (
                format_one(test.t, DIGITS - 2),
                format_one(test.df, DIGITS - 2),
            ),
        };
        let interval = [test.difference.low, test.difference.high];
        let interval = format_together(&interval, DIGITS).join(" ");
        let means = format_together(&self.means, DIGITS);
        let level = format_one(100.0 * test.difference.level, DIGITS);
        format!(
            "\tWelch Two Sample t-test\n\ndata:  {} and {}\nt = {t}, df = {df}, {}\n\
             alternative hypothesis: true difference in means is not equal to 0\n\
             {level} percent confidence interval:\n {interval}\nsample estimates:\n{}",
            self.names[0],
            self.names[1],
            p_value(test.p),
            columns(&["mean of x", "mean of y"], &means)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::stats::pooled::PooledSample;
    use analysis::stats::{summary, welch};

    /// Random samples with what R prints of them; REDOLAB_R_CASES names a larger file.
    fn cases() -> String {
        let file = std::env::var("REDOLAB_R_CASES").ok();
        let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/r/cases.txt");
        std::fs::read_to_string(file.as_deref().unwrap_or(own)).expect("R's output")
    }

    fn sample(line: &str) -> PooledSample {
        let mut found = PooledSample::default();
        for value in line.split_ascii_whitespace().skip(1) {
            let us: f64 = value.parse().expect("a number");
            found.add((us * 1000.0).round() as u64).expect("small");
        }
        found.end_sequence().expect("few");
        found
    }

    /// What redolab prints of both, in the order of the R script.
    fn printed(a: &PooledSample, b: &PooledSample) -> String {
        let moments = [a, b].map(|s| s.moments(1000).expect("values"));
        let mut out = String::new();
        for (sample, moments) in [a, b].iter().zip(&moments) {
            let counts = sample.counts(1000.0).expect("values");
            let found = summary::of_counts(&counts, moments.mean).expect("values");
            out.push_str(&summary_lines(&found));
        }
        let test = welch::test(&moments[0], &moments[1], 0.95).expect("they vary");
        let lines = |digits| {
            let means = moments.map(|m| m.mean);
            let names = ["a", "b"];
            let of = PrintedTest {
                names,
                means,
                test: &test,
                digits,
            };
            of.lines()
        };
        out.push('\n');
        out.push_str(&lines(TestDigits::Significant));
        out.push('\n');
        let old = lines(TestDigits::Decimals);
        let old = old.lines().find(|l| l.starts_with("t = ")).expect("t");
        let end = old.rfind(", p-value").expect("p");
        out.push_str(&old[..end]);
        out.push('\n');
        out
    }

    #[test]
    fn summary_and_t_test_are_printed_as_r_prints_them() {
        let text = cases();
        let mut differing = Vec::new();
        let mut count = 0;
        for case in text.split("end\n") {
            let case = case.find("\na ").map_or(case, |i| &case[i + 1..]);
            let mut lines = case.splitn(3, '\n');
            let (Some(a), Some(b), Some(wanted)) = (lines.next(), lines.next(), lines.next())
            else {
                continue;
            };
            count += 1;
            let found = printed(&sample(a), &sample(b));
            if found != wanted {
                differing.push(format!("{a}\n{b}\n--- R\n{wanted}--- redolab\n{found}"));
            }
        }
        assert!(count >= 100, "{count} cases");
        let some = differing.iter().take(3).map(String::as_str);
        let some = some.collect::<Vec<_>>().concat();
        assert!(
            differing.is_empty(),
            "{} of {count}:\n{some}",
            differing.len()
        );
    }

    #[test]
    fn the_lines_of_study_004_are_printed() {
        let found = Summary {
            n: 4_000_000,
            min: 1.0,
            q1: 452.0,
            median: 500.0,
            mean: 542.3583,
            q3: 567.0,
            max: 3999.0,
            quantile_error: 0.0,
        };
        let lines = summary_lines(&found);
        assert!(
            lines.contains("    1.0   452.0   500.0   542.4   567.0  3999.0"),
            "{lines}"
        );
        let test = Welch {
            t: 263.213_92,
            df: 7_977_922.1,
            p: PValue::from_ln(-30_000.0),
            difference: analysis::stats::Estimate {
                value: 33.682,
                low: 33.431_236,
                high: 33.932_846,
                level: 0.95,
            },
        };
        let printed = PrintedTest {
            names: ["on", "off"],
            means: [542.358_31, 508.676_29],
            test: &test,
            digits: TestDigits::Decimals,
        };
        let lines = printed.lines();
        for line in [
            "t = 263.2139, df = 7977922, p-value < 2.2e-16\n",
            "\n95 percent confidence interval:\n 33.43124 33.93285\n",
            "mean of x mean of y \n 542.3583  508.6763 \n",
        ] {
            assert!(lines.contains(line), "{lines}");
        }
    }
}
