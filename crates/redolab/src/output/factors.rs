//! A factor design as text and as JSON.

use super::drawing::draw;
use super::lines::wrap;
use super::r_format::format_one;
use super::table::Style;
use analysis::factors::{Factor, FactorDesign, FactorEffect, FactorFigure, Interaction};
use analysis::findings;
use measure::run::{Origin, Run};
use measure::words::{count, digits, sanitize};
use serde::Serialize;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.factors/1";
/// Significant digits of figures.
const FIGURE_DIGITS: usize = 6;
/// Longer lines are hard to read, however wide the terminal is.
const WIDTH_MAX: usize = 100;

/// A design with its sources.
#[derive(Serialize)]
pub struct DesignView {
    schema: &'static str,
    redolab_version: &'static str,
    sources: Vec<DesignSource>,
    /// What the sources state of sides that are not alike.
    unlike: Vec<String>,
    #[serde(flatten)]
    design: FactorDesign,
}

/// A source of a design.
#[derive(Serialize)]
struct DesignSource {
    name: String,
    origin: &'static str,
    valid: bool,
}

impl DesignView {
    /// The design that these sources gave.
    #[must_use]
    pub fn new(design: FactorDesign, sources: &[(String, Run)]) -> DesignView {
        let each = sources.iter().map(|(name, run)| DesignSource {
            name: name.clone(),
            origin: run.origin.word(),
            valid: run.validity.valid,
        });
        let found = sources.iter().flat_map(|(_, run)| &run.findings);
        let unlike = found.filter(|f| f.id == findings::UNLIKE);
        DesignView {
            schema: SCHEMA,
            redolab_version: env!("CARGO_PKG_VERSION"),
            sources: each.collect(),
            unlike: unlike.map(|f| f.claim.clone()).collect(),
            design,
        }
    }

    /// Whether nothing could be compared, or a source is invalid.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.design.figures.is_empty() || self.sources.iter().any(|s| !s.valid)
    }

    /// Whether a source is evidence that others recorded.
    #[must_use]
    pub fn is_evidence(&self) -> bool {
        self.sources
            .iter()
            .any(|s| s.origin == Origin::Imported.word())
    }

    /// The text for people.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let width = style.width.min(WIDTH_MAX);
        let mut out = String::new();
        for source in &self.sources {
            let valid = if source.valid { "" } else { "  INVALID" };
            let name = sanitize::line(&source.name);
            out.push_str(&format!("{name}  origin: {}{valid}\n", source.origin));
        }
        for factor in &self.design.factors {
            let [first, second] = factor.levels.each_ref().map(|l| sanitize::line(l));
            let name = sanitize::line(&factor.name);
            out.push_str(&format!("factor {name}: {first}, {second}\n"));
        }
        for claim in &self.unlike {
            wrap(&mut out, "", &format!("not like for like: {claim}"), width);
        }
        let mut place = "";
        for figure in &self.design.figures {
            if figure.place != place {
                place = &figure.place;
                out.push_str(&format!("\n{}", sanitize::line(place)));
                out.push_str(&format!(
                    "  [{}]\n",
                    sanitize::line(&figure.origins.join("; "))
                ));
            }
            self.figure(figure, width, &mut out);
        }
        if self.design.figures.is_empty() {
            out.push_str("\nNo figure has a row or a label for each level of a factor.\n");
        }
        out.push_str(&self.table(style));
        if !self.design.not_compared.is_empty() {
            out.push_str("\nNot compared:\n");
        }
        for line in &self.design.not_compared {
            wrap(&mut out, "  ", line, width);
        }
        out.push_str("\nHow this was compared:\n");
        for line in self.method() {
            wrap(&mut out, "  ", line, width);
        }
        out
    }

    fn method(&self) -> [&'static str; 3] {
        let cells = || self.design.figures.iter().flat_map(|f| &f.cells);
        let replicated = cells().next().is_some() && cells().all(|c| c.sources > 1);
        let intervals = match replicated {
            true => "Intervals are at 95 %, from the sources of the same cell.",
            false => {
                "There are no intervals: a cell has one figure, and nothing shows how much it would \
                 vary in a repetition. Give each cell several sources with --cell."
            }
        };
        [
            "A main effect is the geometric mean of the effects at the levels of the other factor.",
            "The interaction compares these effects: if their ratio is 1, there is no interaction.",
            intervals,
        ]
    }

    fn figure(&self, figure: &FactorFigure, width: usize, out: &mut String) {
        let computed = if figure.is_computed { ", computed" } else { "" };
        let cells: Vec<String> = figure
            .cells
            .iter()
            .map(|cell| {
                let levels: Vec<&str> = cell.levels.iter().flatten().map(String::as_str).collect();
                let mean = match cell.sources {
                    1 => String::new(),
                    n => format!(" (mean of {n})"),
                };
                format!("{} {}{mean}", levels.join("/"), figure_of(cell.value))
            })
            .collect();
        let line = format!("{}{computed}: {}", figure.figure, cells.join(", "));
        wrap(out, "  ", &line, width);
        for effect in &figure.effects {
            if let Some(factor) = self.design.factors.iter().find(|f| f.name == effect.factor) {
                for line in of_effect(effect, factor) {
                    out.push_str(&format!("    {}\n", sanitize::line(&line)));
                }
            }
        }
        if let (Some(found), [first, second]) =
            (&figure.interaction, self.design.factors.as_slice())
        {
            wrap(out, "    ", &of_interaction(found, first, second), width);
        }
    }

    /// Ratios only, a line per figure.
    fn table(&self, style: Style) -> String {
        if self.design.figures.is_empty() {
            return String::new();
        }
        let mut headings = vec!["Place".to_owned(), "Figure".to_owned()];
        for factor in &self.design.factors {
            let [first, second] = factor.levels.each_ref().map(|l| sanitize::line(l));
            headings.push(format!("{second} / {first}"));
            headings.push(format!("{first} / {second}"));
        }
        headings.push("Interaction ratio".to_owned());
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let lines = self.design.figures.iter().map(|figure| {
            let mut cells = vec![
                sanitize::line(&figure.place),
                sanitize::line(&figure.figure),
            ];
            for factor in &self.design.factors {
                let effect = figure.effects.iter().find(|e| e.factor == factor.name);
                let ratio = |r: Option<f64>| r.map_or("-".to_owned(), digits);
                cells.push(ratio(effect.map(|e| e.ratio)));
                cells.push(ratio(effect.map(|e| 1.0 / e.ratio)));
            }
            let found = figure.interaction.as_ref();
            cells.push(found.map_or("-".to_owned(), |i| digits(i.ratio_of_ratios)));
            cells
        });
        let text = draw(&headings, lines.collect(), 2, style);
        format!("\nMain effects and interaction of all figures\n{text}")
    }
}

/// A figure with six significant digits, as evidence prints them; whole numbers with all.
fn figure_of(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    match value.fract() == 0.0 && value.abs() < 1e15 {
        true => format!("{sign}{}", count(value.abs() as u64)),
        false => format_one(value, FIGURE_DIGITS),
    }
}

/// `+28.4 %`.
fn change(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    if percent.abs() < 0.05 {
        return "0 %".to_owned();
    }
    format!("{percent:+.1} %")
}

/// The main effect of a factor, and its effects at the levels of the other one: a line each.
fn of_effect(effect: &FactorEffect, factor: &Factor) -> Vec<String> {
    let [first, second] = &factor.levels;
    let both = |ratio: f64, interval: &str| {
        format!(
            "{second} / {first} {}{interval} ({}), {first} / {second} {}x",
            digits(ratio),
            change(ratio),
            digits(1.0 / ratio)
        )
    };
    let interval = effect.interval.map_or(String::new(), |(low, high)| {
        format!(" [{} to {} at 95 %]", digits(low), digits(high))
    });
    let main = both(effect.ratio, &interval);
    let at = effect.at.iter().filter_map(|(level, ratio)| {
        let level = level.as_ref()?;
        Some(format!("  at {level}: {}", both(*ratio, "")))
    });
    let at: Vec<String> = at.collect();
    let heading = match at.is_empty() {
        true => factor.name.clone(),
        false => format!("{}, main effect", factor.name),
    };
    std::iter::once(format!("{heading}: {main}"))
        .chain(at)
        .collect()
}

fn of_interaction(found: &Interaction, first: &Factor, second: &Factor) -> String {
    let interval = found.interval.map_or(String::new(), |(low, high)| {
        format!(" [{} to {} at 95 %]", digits(low), digits(high))
    });
    format!(
        "interaction: {} / {} at {} is {} times that at {}{interval}; difference of differences {}",
        second.levels[1],
        second.levels[0],
        first.levels[1],
        digits(found.ratio_of_ratios),
        first.levels[0],
        figure_of(found.difference_of_differences)
    )
}
