//! Factor designs, such as medium (SSD, HDD) by volume (raw, ASM): main effects and interaction of
//! each figure.
//!
//! Effects are ratios: the second level of a factor over the first. The main effect of a factor is
//! the geometric mean of its effects at the levels of the other factor. The interaction is the
//! ratio of these two ratios, and the difference of the two differences beside it. An interval
//! needs at least two sources in each cell; then it comes from the residuals of the logarithms
//! within the cells (analysis of variance of a two-way design with replicates).

use crate::figures::PlacedFigure;
use crate::stats::tails::t_critical;
use serde::Serialize;
use std::collections::BTreeMap;

/// Factors of a design at most.
pub const FACTORS_MAX: usize = 2;

/// A factor with its two levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Factor {
    /// Its name.
    pub name: String,
    /// Its levels; the first is the base of ratios.
    pub levels: [String; 2],
}

/// A figure with the level of each factor, as far as its labels name one.
#[derive(Clone, Debug, PartialEq)]
pub struct CellFigure {
    /// Levels by factor, as indices.
    pub levels: Vec<Option<usize>>,
    /// The figure; its names and label have the levels still in them.
    pub figure: PlacedFigure,
    /// Which source it is from.
    pub source: usize,
}

/// A design with all figures that have a level of at least one factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FactorDesign {
    /// The factors.
    pub factors: Vec<Factor>,
    /// Effects, in the order of the evidence.
    pub figures: Vec<FactorFigure>,
    /// What was not compared, and why.
    pub not_compared: Vec<String>,
}

/// One figure in the cells of a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorFigure {
    /// What it is of: table, event or device.
    pub place: String,
    /// Heading of its column.
    pub figure: String,
    /// Key of its column.
    pub key: String,
    /// redolab computed it from other columns.
    pub is_computed: bool,
    /// Where the evidence has it.
    pub origins: Vec<String>,
    /// The cells, in the order of the levels.
    pub cells: Vec<FactorCell>,
    /// Effects of the factors.
    pub effects: Vec<FactorEffect>,
    /// The interaction of two factors, if all cells are known.
    pub interaction: Option<Interaction>,
}

/// A cell of a design.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorCell {
    /// Names of the levels; `None` where the evidence does not name one.
    pub levels: Vec<Option<String>>,
    /// The figure; the mean of the sources.
    pub value: f64,
    /// Number of sources.
    pub sources: usize,
}

/// The effect of a factor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactorEffect {
    /// The factor.
    pub factor: String,
    /// Effects at each level of the other factor: the level (`None` without another factor), and
    /// the second level over the first.
    pub at: Vec<(Option<String>, f64)>,
    /// The main effect: the second level over the first.
    pub ratio: f64,
    /// Its interval at 95 %, with replicates.
    pub interval: Option<(f64, f64)>,
}

/// The interaction of two factors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interaction {
    /// The ratio of the second factor at the second level of the first, over that at the first.
    pub ratio_of_ratios: f64,
    /// Its interval at 95 %, with replicates.
    pub interval: Option<(f64, f64)>,
    /// The difference of the second factor at the second level of the first, less that at the
    /// first.
    pub difference_of_differences: f64,
}

/// The words of a text, in lower case.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|w| !w.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Where the words of `level` stand in those of `text`.
fn place_of(text: &[String], level: &str) -> Option<usize> {
    let level = words(level);
    let fits = |w: &[String]| w == level.as_slice();
    text.windows(level.len().max(1)).position(fits)
}

/// The level of a factor that these texts name; `Err` if they name both.
///
/// # Errors
/// Both levels are named.
pub fn level_in(factor: &Factor, texts: &[&str]) -> Result<Option<usize>, String> {
    let named = |level: &String| texts.iter().any(|t| place_of(&words(t), level).is_some());
    match factor.levels.each_ref().map(named) {
        [true, true] => Err(format!("names both levels of {}", factor.name)),
        [true, false] => Ok(Some(0)),
        [false, true] => Ok(Some(1)),
        [false, false] => Ok(None),
    }
}

/// A text without the words of any level.
fn without(text: &str, factors: &[Factor]) -> String {
    let mut found = words(text);
    let before = found.len();
    for level in factors.iter().flat_map(|f| &f.levels) {
        if let Some(at) = place_of(&found, level) {
            found.drain(at..at + words(level).len());
        }
    }
    match found.len() == before {
        true => text.to_owned(),
        false => found.join(" "),
    }
}

/// Effects of the factors on every figure that has a level of them.
#[must_use]
pub fn design(factors: &[Factor], cells: &[CellFigure]) -> FactorDesign {
    let mut found = FactorDesign {
        factors: factors.to_vec(),
        ..FactorDesign::default()
    };
    let mut order: Vec<Place> = Vec::new();
    let mut places: BTreeMap<Place, Vec<&CellFigure>> = BTreeMap::new();
    for cell in cells {
        let place = Place::of(cell, factors, cells);
        if !places.contains_key(&place) {
            order.push(place.clone());
        }
        places.entry(place).or_default().push(cell);
    }
    for place in order {
        let Some(cells) = places.get(&place) else {
            continue;
        };
        match of_place(&place, factors, cells) {
            Ok(figure) => found.figures.push(figure),
            Err(why) => found.not_compared.push(format!("{}: {why}", place.name())),
        }
    }
    found
}

/// What a figure is, apart from the levels of the factors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    table: String,
    title: String,
    names: Vec<String>,
    key: String,
    heading: String,
    /// Which factors the labels name.
    known: Vec<bool>,
}

impl Place {
    fn of(cell: &CellFigure, factors: &[Factor], all: &[CellFigure]) -> Place {
        let figure = &cell.figure;
        let mut names: Vec<String> = figure.names.iter().map(|n| without(n, factors)).collect();
        let label = without(&figure.label, factors);
        if !label.is_empty() {
            names.insert(0, label);
        }
        names.retain(|n| !n.is_empty());
        // A listing of one device each: the device is the medium, whatever it is called.
        if figure.table == "iostat" && !figure.label.is_empty() {
            let alike = |c: &&CellFigure| {
                c.source == cell.source
                    && c.figure.table == figure.table
                    && c.figure.label == figure.label
            };
            let only = all
                .iter()
                .filter(alike)
                .all(|c| c.figure.names == figure.names);
            if only {
                names = vec!["the device".to_owned()];
            }
        }
        Place {
            table: figure.table.clone(),
            title: figure.title.clone(),
            names,
            key: figure.key.clone(),
            heading: figure.heading.clone(),
            known: cell.levels.iter().map(Option::is_some).collect(),
        }
    }

    fn name(&self) -> String {
        let mut parts = vec![self.title.clone()];
        parts.extend(self.names.iter().cloned());
        parts.join(", ")
    }
}

fn of_place(
    place: &Place,
    factors: &[Factor],
    cells: &[&CellFigure],
) -> Result<FactorFigure, String> {
    let known: Vec<usize> = (0..factors.len()).filter(|i| place.known[*i]).collect();
    let mut values: BTreeMap<Vec<usize>, Vec<f64>> = BTreeMap::new();
    for cell in cells {
        let levels = known.iter().filter_map(|i| cell.levels[*i]).collect();
        values.entry(levels).or_default().push(cell.figure.value);
    }
    let all = 1_usize << known.len();
    if values.len() < all {
        let name = |levels: &Vec<usize>| -> String {
            let each = known.iter().zip(levels);
            let each = each.map(|(f, l)| factors[*f].levels[*l].as_str());
            each.collect::<Vec<_>>().join("/")
        };
        let there: Vec<String> = values.keys().map(name).collect();
        let heading = &place.heading;
        return Err(format!(
            "{heading}: only {} of {all} cells",
            there.join(", ")
        ));
    }
    if values.values().flatten().any(|v| *v <= 0.0) {
        return Err(format!("{}: a figure is 0 or negative", place.heading));
    }
    let mean = |v: &Vec<f64>| v.iter().sum::<f64>() / v.len() as f64;
    let level = |f: usize, l: Option<usize>| l.map(|l| factors[f].levels[l].clone());
    let shown = values.iter().map(|(levels, found)| {
        let at = |f: usize| {
            let place = known.iter().position(|k| *k == f);
            level(f, place.map(|p| levels[p]))
        };
        FactorCell {
            levels: (0..factors.len()).map(at).collect(),
            value: mean(found),
            sources: found.len(),
        }
    });
    let cells_shown: Vec<FactorCell> = shown.collect();
    let fit = Fit::of(&values);
    let effects = (0..known.len())
        .map(|i| fit.effect(i, &known, factors))
        .collect();
    let mut origins: Vec<String> = cells.iter().map(|c| c.figure.origin.clone()).collect();
    origins.dedup();
    Ok(FactorFigure {
        place: place.name(),
        figure: place.heading.clone(),
        key: place.key.clone(),
        is_computed: cells.iter().any(|c| c.figure.is_computed),
        origins,
        cells: cells_shown,
        effects,
        interaction: (known.len() == 2).then(|| fit.interaction(&values)),
    })
}

/// Logarithms of a full design of one or two factors.
struct Fit {
    /// Mean logarithm by levels.
    means: BTreeMap<Vec<usize>, f64>,
    /// Variance of the sum of all cell means, each with the weight 1 or -1, and its degrees of
    /// freedom, where each cell has replicates.
    error: Option<(f64, f64)>,
}

impl Fit {
    fn of(values: &BTreeMap<Vec<usize>, Vec<f64>>) -> Fit {
        let mean = |v: &[f64]| v.iter().map(|v| v.ln()).sum::<f64>() / v.len() as f64;
        let means: BTreeMap<Vec<usize>, f64> =
            values.iter().map(|(k, v)| (k.clone(), mean(v))).collect();
        let replicated = values.values().all(|v| v.len() > 1);
        let error = replicated.then(|| {
            let squares: f64 = values
                .values()
                .map(|v| v.iter().map(|x| (x.ln() - mean(v)).powi(2)).sum::<f64>())
                .sum();
            let df: usize = values.values().map(|v| v.len() - 1).sum();
            let variance = squares / df as f64;
            let sum: f64 = values.values().map(|v| variance / v.len() as f64).sum();
            (sum, df as f64)
        });
        Fit { means, error }
    }

    fn interval(&self, ln: f64, weight: f64) -> Option<(f64, f64)> {
        let (sum, df) = self.error.filter(|(sum, _)| *sum > 0.0)?;
        let half = t_critical(0.95, df) * sum.sqrt() * weight;
        Some(((ln - half).exp(), (ln + half).exp()))
    }

    /// The effect of the factor at `i` of those that are known.
    fn effect(&self, i: usize, known: &[usize], factors: &[Factor]) -> FactorEffect {
        let other = known.iter().enumerate().find(|(k, _)| *k != i);
        let mut at = Vec::new();
        for (levels, low) in self.means.iter().filter(|(l, _)| l[i] == 0) {
            let mut above = levels.clone();
            above[i] = 1;
            let high = self.means.get(&above).copied().unwrap_or(*low);
            let name = other.map(|(k, f)| factors[*f].levels[levels[k]].clone());
            at.push((name, high - low));
        }
        let ln = at.iter().map(|(_, ln)| ln).sum::<f64>() / at.len() as f64;
        let weight = 1.0 / at.len() as f64;
        FactorEffect {
            factor: factors[known[i]].name.clone(),
            at: at.into_iter().map(|(name, ln)| (name, ln.exp())).collect(),
            ratio: ln.exp(),
            interval: self.interval(ln, weight),
        }
    }

    fn interaction(&self, values: &BTreeMap<Vec<usize>, Vec<f64>>) -> Interaction {
        let ln = |a: usize, b: usize| self.means.get(&vec![a, b]).copied().unwrap_or(0.0);
        let mean = |a: usize, b: usize| {
            let found = values.get(&vec![a, b]).map_or(&[][..], Vec::as_slice);
            found.iter().sum::<f64>() / found.len() as f64
        };
        let ratio = ln(1, 1) - ln(1, 0) - ln(0, 1) + ln(0, 0);
        Interaction {
            ratio_of_ratios: ratio.exp(),
            interval: self.interval(ratio, 1.0),
            difference_of_differences: mean(1, 1) - mean(1, 0) - (mean(0, 1) - mean(0, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factors() -> Vec<Factor> {
        [("medium", ["SSD", "HDD"]), ("volume", ["RAW", "ASM"])]
            .map(|(name, levels)| Factor {
                name: name.to_owned(),
                levels: levels.map(str::to_owned),
            })
            .to_vec()
    }

    fn cell(name: &str, value: f64, source: usize) -> CellFigure {
        let level = |f: &Factor| level_in(f, &[name]).expect("one level");
        CellFigure {
            levels: factors().iter().map(level).collect(),
            figure: PlacedFigure {
                table: "t".to_owned(),
                title: "I/O".to_owned(),
                label: String::new(),
                names: vec![name.to_owned()],
                key: "reqs".to_owned(),
                heading: "Reqs".to_owned(),
                value,
                rows: 1,
                origin: "f:1".to_owned(),
                is_computed: false,
            },
            source,
        }
    }

    #[test]
    fn study_001_has_its_effects_and_its_interaction() {
        let cells = [
            cell("SSD/RAW", 24582.0, 0),
            cell("HDD/RAW", 3252.0, 0),
            cell("ssd/asm", 20506.0, 0),
            cell("HDD/ASM", 3252.0, 0),
        ];
        let found = design(&factors(), &cells);
        assert_eq!(found.figures.len(), 1, "{found:?}");
        let figure = &found.figures[0];
        let [medium, volume] = figure.effects.as_slice() else {
            panic!("two factors: {figure:?}");
        };
        assert!(
            (volume.at[0].1 - 0.834_19).abs() < 1e-5,
            "-16.6 %: {volume:?}"
        );
        assert_eq!(volume.at[1], (Some("HDD".to_owned()), 1.0));
        assert!((medium.at[0].1 - 3252.0 / 24582.0).abs() < 1e-12);
        let of = figure.interaction.as_ref().expect("a full design");
        assert!(
            (of.ratio_of_ratios - 24582.0 / 20506.0).abs() < 1e-9,
            "{of:?}"
        );
        assert_eq!(of.difference_of_differences, 4076.0);
        assert!(volume.interval.is_none() && of.interval.is_none());
    }

    #[test]
    fn replicates_give_intervals() {
        let mut cells = Vec::new();
        for (i, noise) in [0.99, 1.0, 1.01].iter().enumerate() {
            for (name, level) in [("SSD RAW", 4.0), ("HDD RAW", 2.0), ("SSD ASM", 4.0)] {
                cells.push(cell(name, level * noise, i));
            }
            cells.push(cell("HDD ASM", 1.0 * noise, i));
        }
        let figure = design(&factors(), &cells).figures.remove(0);
        let volume = &figure.effects[1];
        let (low, high) = volume.interval.expect("replicates");
        assert!(low < volume.ratio && volume.ratio < high, "{volume:?}");
        assert!((volume.ratio - 0.5_f64.sqrt()).abs() < 1e-9 && high / low < 1.05);
        let (low, high) = figure
            .interaction
            .and_then(|i| i.interval)
            .expect("replicates");
        assert!(low < 0.5 && 0.5 < high && high / low < 1.1, "{low} {high}");
    }

    #[test]
    fn half_a_design_and_both_levels_are_not_compared() {
        let cells = [
            cell("SSD/RAW", 2.0, 0),
            cell("HDD/RAW", 3.0, 0),
            cell("SSD/ASM", 1.0, 0),
        ];
        let found = design(&factors(), &cells);
        assert!(found.figures.is_empty());
        assert!(found.not_compared[0].contains("of 4 cells"), "{found:?}");
        assert!(level_in(&factors()[0], &["SSD and HDD"]).is_err());
        assert_eq!(level_in(&factors()[0], &["assds"]), Ok(None));
        let zero = [cell("SSD", 0.0, 0), cell("HDD", 3.0, 0)];
        assert!(design(&factors(), &zero).figures.is_empty());
        let one = design(&factors(), &[cell("SSD", 2.0, 0), cell("HDD", 3.0, 0)]);
        assert!((one.figures[0].effects[0].ratio - 1.5).abs() < 1e-12);
        assert!(one.figures[0].interaction.is_none());
    }
}
