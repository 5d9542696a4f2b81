//! Samples of single waits: R's `summary` and `t.test`, and what those do not report.

use super::drawing::draw;
use super::lines::wrap;
use super::r_format::{self, PrintedTest, TestDigits};
use super::table::Style;
use analysis::samples::{BoundedFigure, DescribedSample, SampleDifference, SampleFigures};
use analysis::stats::welch::Welch;
use measure::imported::Diagnostic;
use measure::words::{count, digits, plural, sanitize};
use serde::Serialize;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.summary/1";
/// Longer lines are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 100;
/// Characters of the longest bar of a density.
const BAR: f64 = 40.0;
/// A column of a density is printed if it has at least this share of a sample.
const SHARE_MIN: f64 = 0.0005;
/// Significant digits of differences.
const SIGNED_DIGITS: usize = 5;
/// Diagnostics that are printed.
const DIAGNOSTICS_MAX: usize = 8;

/// One sample, or two and their difference.
#[derive(Serialize)]
pub struct SampleSummary {
    schema: &'static str,
    redolab_version: &'static str,
    /// The event whose values were read, by the evidence's own name.
    pub event: String,
    /// Confidence of the intervals, 0 to 1.
    pub confidence: f64,
    /// Resamples of the bootstrap.
    pub resamples: u32,
    /// Seed of the bootstrap.
    pub bootstrap_seed: u64,
    /// The samples.
    pub samples: Vec<SampleFigures>,
    /// The first minus the second.
    pub difference: Option<SampleDifference>,
    /// What is wrong or unusual in the files.
    pub diagnostics: Vec<Diagnostic>,
    #[serde(skip)]
    described: Vec<DescribedSample>,
    #[serde(skip)]
    test: Option<Welch>,
    #[serde(skip)]
    test_digits: TestDigits,
}

/// How samples are compared and printed.
#[derive(Clone, Copy, Debug)]
pub struct SampleMethod {
    /// Confidence of the intervals, 0 to 1.
    pub level: f64,
    /// Resamples of the bootstrap.
    pub resamples: u32,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// Digits of t and its degrees of freedom.
    pub digits: TestDigits,
}

impl SampleSummary {
    /// Of one sample, or of two.
    #[must_use]
    pub fn new(
        event: String,
        described: Vec<DescribedSample>,
        diagnostics: Vec<Diagnostic>,
        method: &SampleMethod,
    ) -> SampleSummary {
        let found = match described.as_slice() {
            [x, y] => Some(analysis::samples::difference(x, y, method.level)),
            _ => None,
        };
        let (difference, test) = found.unzip();
        SampleSummary {
            schema: SCHEMA,
            redolab_version: env!("CARGO_PKG_VERSION"),
            event,
            confidence: method.level,
            resamples: method.resamples,
            bootstrap_seed: method.seed,
            samples: described.iter().map(|d| d.figures.clone()).collect(),
            difference,
            diagnostics,
            described,
            test: test.flatten(),
            test_digits: method.digits,
        }
    }

    /// The text for people.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let width = style.width.min(WIDTH_MAX);
        let mut out = String::new();
        for sample in &self.described {
            self.one(sample, width, &mut out);
        }
        if let (Some(found), [x, y]) = (&self.difference, self.described.as_slice()) {
            self.two(found, [x, y], width, &mut out);
        }
        out.push_str(&self.densities(style));
        for diagnostic in self.diagnostics.iter().take(DIAGNOSTICS_MAX) {
            let place = diagnostic.line.map_or(String::new(), |l| format!(":{l}"));
            let (file, detail) = (&diagnostic.file, &diagnostic.detail);
            wrap(&mut out, "! ", &format!("{file}{place}: {detail}"), width);
        }
        let more = self.diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
        if more > 0 {
            let more = plural(more as u64, "more diagnostic");
            out.push_str(&format!("! {more} with --format json\n"));
        }
        out
    }

    fn one(&self, sample: &DescribedSample, width: usize, out: &mut String) {
        let figures = &sample.figures;
        let heading = format!(
            "{}: {}, {} in {}, in µs",
            figures.name,
            self.event,
            plural(figures.n, "value"),
            plural(figures.sequences as u64, "file")
        );
        out.push_str(&format!("{}\n", sanitize::line(&heading)));
        out.push_str(&r_format::summary_lines(&sample.summary));
        wrap(out, "  ", &spread(figures), width);
        out.push('\n');
    }

    fn two(
        &self,
        found: &SampleDifference,
        [x, y]: [&DescribedSample; 2],
        width: usize,
        out: &mut String,
    ) {
        let names = [x, y].map(|s| sanitize::line(&s.figures.name));
        if let Some(test) = &self.test {
            let printed = PrintedTest {
                names: [&names[0], &names[1]],
                means: [x.figures.mean_us, y.figures.mean_us],
                test,
                digits: self.test_digits,
            };
            out.push_str(&printed.lines());
            out.push('\n');
        }
        out.push_str(&format!(
            "What the test does not report ({}):\n",
            self.way(&names)
        ));
        for line in self.sentences(found) {
            wrap(out, "  ", &line, width);
        }
        out.push('\n');
    }

    fn way(&self, names: &[String; 2]) -> String {
        format!("differences are {} minus {}", names[0], names[1])
    }

    fn sentences(&self, found: &SampleDifference) -> Vec<String> {
        let percent = format!(
            "{} %",
            r_format::format_one(100.0 * self.confidence, SIGNED_DIGITS)
        );
        let interval = |i: &BoundedFigure, unit: &str| {
            format!("{} to {}{unit}", signed(i.low), signed(i.high))
        };
        let mut lines = Vec::new();
        let relative = found.ratio.map_or(String::new(), |r| {
            format!(" ({} % of the second mean)", signed(100.0 * (r - 1.0)))
        });
        lines.push(format!(
            "Difference of the means: {} µs{relative}.",
            signed(found.mean_us)
        ));
        if let Some(blocks) = &found.block_bootstrap_us {
            let outcome = match found.differs {
                Some(true) => "the means differ",
                _ => "no difference was found",
            };
            lines.push(format!(
                "{percent} interval that allows for autocorrelation (block bootstrap, {} resamples, \
                 seed {}): {}; {outcome}.",
                self.resamples,
                self.bootstrap_seed,
                interval(blocks, " µs")
            ));
        }
        if let Some(d) = &found.cohens_d {
            lines.push(format!(
                "Cohen's d: {} ({}), a {} difference.",
                signed(d.value),
                interval(d, ""),
                found.size.unwrap_or("-")
            ));
        }
        if let Some(shift) = &found.shift_us {
            lines.push(format!(
                "Hodges-Lehmann shift, from all pairs of values: {} µs ({}). This interval and the \
                 t test treat values as independent.",
                signed(shift.value),
                interval(shift, " µs")
            ));
        }
        if found.cohens_d.is_some() {
            lines.push(
                "Significance is not size: with millions of values a difference that no user \
                 notices is significant. Judge the size by Cohen's d and by the microseconds."
                    .to_owned(),
            );
        }
        lines.extend(
            found
                .refused
                .iter()
                .map(|why| format!("Not computed: {why}.")),
        );
        lines
    }

    /// Both densities beside each other.
    fn densities(&self, style: Style) -> String {
        let mut ends: Vec<(f64, f64)> = Vec::new();
        for column in self.samples.iter().flat_map(|s| &s.density) {
            let end = (column.from_us, column.to_us);
            if column.share >= SHARE_MIN && !ends.contains(&end) {
                ends.push(end);
            }
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        let share = |sample: &SampleFigures, from: f64| {
            let column = sample.density.iter().find(|c| c.from_us == from);
            column.map_or(0.0, |c| c.share)
        };
        let all = self.samples.iter();
        let most = all
            .flat_map(|s| &s.density)
            .fold(0.0_f64, |m, c| m.max(c.share));
        let names: Vec<String> = self
            .samples
            .iter()
            .map(|s| sanitize::line(&s.name))
            .collect();
        let mut headings = vec!["From µs", "to µs"];
        for name in &names {
            headings.extend([name.as_str(), ""]);
        }
        let line = |(from, to): &(f64, f64)| {
            let mut cells = vec![digits(*from), digits(*to)];
            for sample in &self.samples {
                let share = share(sample, *from);
                let bar = "#".repeat((share / most * BAR / names.len() as f64).round() as usize);
                cells.extend([format!("{:.2} %", 100.0 * share), bar]);
            }
            cells
        };
        let lines: Vec<Vec<String>> = ends.iter().map(line).collect();
        let text = draw(&headings, lines, headings.len(), style);
        format!("Density on a logarithmic axis (columns of under 0.05 % are left out):\n{text}")
    }
}

/// Standard deviation and autocorrelation in a sentence.
fn spread(figures: &SampleFigures) -> String {
    let mut parts = Vec::new();
    if let Some(sd) = figures.sd_us {
        parts.push(format!("Standard deviation {} µs", digits(sd)));
    }
    if let Some(r) = figures.lag_one_autocorrelation {
        parts.push(format!("autocorrelation of neighbouring waits {r:.3}"));
    }
    if let (Some(error), Some(n)) = (figures.mean_error_us, figures.effective_n) {
        let unit = match figures.independent {
            Some("files") => "the means of the files differ, so the files count as independent",
            _ => "blocks of stretches count as independent",
        };
        parts.push(format!(
            "standard error of the mean {} µs, as of {} independent values ({unit})",
            digits(error),
            count(n.round() as u64)
        ));
    }
    match parts.is_empty() {
        true => "One value has no spread.".to_owned(),
        false => format!("{}.", parts.join("; ")),
    }
}

fn signed(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", r_format::format_one(value, SIGNED_DIGITS))
}
