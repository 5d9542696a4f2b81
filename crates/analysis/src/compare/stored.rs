//! Differences of stored runs: each run's intervals, or events, are drawn in blocks.

use super::metrics::{self, ROW, RowMetric, WAIT, WaitMetric};
use super::{Options, Side, WaitSeries, bytes, compared, decision, distribution, pairing, words};
use crate::stats::blocks::{self, BlockFigure, Blocks, Statistic};
use crate::stats::bootstrap::BootstrapPlan;
use crate::stats::{Counts, Moments, StatsRefusal, effect, rank};
use measure::comparison::{Basis, Better, Comparison, Difference, Method, SCHEMA};
use measure::run::{Origin, Row, WaitStats};
use std::collections::BTreeMap;

/// Compares the first run with each of the others.
#[must_use]
pub fn compare(sides: &[Side], options: &Options) -> Comparison {
    let mut comparison = begun(options, None);
    let events = |s: &Side| {
        let series = s.series.iter().flat_map(|row| row.values());
        series.into_iter().any(|s| s.basis == Basis::Events)
    };
    comparison.runs = sides
        .iter()
        .map(|s| compared(&s.name, &s.run, &[&s.run], (s.complete, events(s))))
        .collect();
    comparison.notices = super::shared::notices(sides);
    comparison.method.notes = notes(sides);
    let Some((base, others)) = sides.split_first() else {
        return comparison;
    };
    let mut drawn = Drawn::new(sides, options);
    for (i, other) in others.iter().enumerate() {
        let run_b = i + 1;
        let (pairs, lone) = pairing::rows(&base.run, &other.run, run_b);
        comparison.not_compared.extend(lone);
        for (a, b) in pairs {
            let pair = PairOfRows {
                a: &base.run.rows[a],
                b: &other.run.rows[b],
                run_b,
                places: ((0, a), (run_b, b)),
            };
            comparison
                .differences
                .extend(pair.differences(sides, &mut drawn, options.level));
        }
    }
    for (run, side) in sides.iter().enumerate() {
        for (row, series) in side.run.rows.iter().zip(&side.series) {
            let drawn = |(e, s): &(&String, &WaitSeries)| {
                e.as_str() != "commits_per_write" && s.waits().count() > 0
            };
            for (event, series) in series.iter().filter(drawn) {
                let drawn = distribution::of(run, row, event, series.waits());
                comparison.distributions.push(drawn);
            }
        }
    }
    comparison.tables = bytes::with_tables(sides.iter().map(|s| (s.name.as_str(), &s.run)));
    decision::decide(&mut comparison, &options.conditions);
    comparison
}

/// A comparison of nothing yet.
pub(super) fn begun(options: &Options, rounds: Option<u32>) -> Comparison {
    Comparison {
        schema: SCHEMA.to_owned(),
        created: options.created.clone(),
        redolab_version: options.version.clone(),
        command: options.command.clone(),
        method: Method {
            level: options.level,
            resamples: options.resamples,
            seed: options.seed,
            rounds,
            figures: "Base and other are figures of whole runs; a ratio is the other divided by the base."
                .to_owned(),
            notes: Vec::new(),
        },
        ..Comparison::default()
    }
}

/// A difference that nothing is known of yet.
pub(super) fn blank(
    metric: String,
    row: &Row,
    run_b: usize,
    unit: &str,
    better: Better,
) -> Difference {
    Difference {
        metric,
        workload: row.workload.clone(),
        jobs: row.jobs,
        run_a: 0,
        run_b,
        unit: unit.to_owned(),
        better,
        a: None,
        b: None,
        ratio: None,
        ci_low: None,
        ci_high: None,
        effect: None,
        effect_kind: String::new(),
        p_value: None,
        p_text: String::new(),
        basis: Basis::None,
        units_a: 0,
        units_b: 0,
        significant: None,
        size: None,
        detectable_pct: None,
        sentence: String::new(),
    }
}

/// What every view has to say of how it was compared.
fn notes(sides: &[Side]) -> Vec<String> {
    let mut notes = vec![
        "Each run's intervals are drawn whole, in blocks of consecutive ones as long as their \
         autocorrelation asks; ratio, interval and p-value come from one standard error, so they \
         never contradict each other."
            .to_owned(),
        "P-values are not corrected for multiple comparisons: of 100 metrics of two equal runs, \
         about 5 are reported as significant."
            .to_owned(),
        "Two runs made one after the other also differ by what changed on the machine between \
         them; interleaved rounds (--on twice) separate the two."
            .to_owned(),
    ];
    if sides.iter().any(|s| s.run.origin != Origin::Measured) {
        notes.push(
            "Not every run was measured here: its origin is printed with its name, and a difference \
             between origins is not a difference between devices."
                .to_owned(),
        );
    }
    notes
}

/// Figures with their errors, drawn once for each row of each run.
struct Drawn<'a> {
    sides: &'a [Side],
    plan: BootstrapPlan,
    waits: BTreeMap<(usize, usize, String), Result<Vec<BlockFigure>, StatsRefusal>>,
}

impl<'a> Drawn<'a> {
    fn new(sides: &'a [Side], options: &Options) -> Drawn<'a> {
        let plan = BootstrapPlan {
            resamples: options.resamples.max(20),
            level: options.level,
            seed: options.seed,
            ..BootstrapPlan::default()
        };
        Drawn {
            sides,
            plan,
            waits: BTreeMap::new(),
        }
    }

    /// A seed for each run, row and series: equal runs are drawn differently.
    fn plan(&self, (side, row): (usize, usize), event: &str) -> BootstrapPlan {
        let text = event
            .bytes()
            .fold(0_u64, |h, b| h.wrapping_mul(131).wrapping_add(u64::from(b)));
        let place = (side as u64) << 32 | row as u64;
        BootstrapPlan {
            seed: self.plan.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ text,
            ..self.plan
        }
    }

    fn series(&self, (side, row): (usize, usize), event: &str) -> Option<&'a WaitSeries> {
        self.sides.get(side)?.series.get(row)?.get(event)
    }

    fn wait(
        &mut self,
        at: (usize, usize),
        event: &str,
        metric: usize,
    ) -> Result<BlockFigure, StatsRefusal> {
        let key = (at.0, at.1, event.to_owned());
        if !self.waits.contains_key(&key) {
            let plan = self.plan(at, event);
            let all: Vec<Statistic> = WAIT.iter().filter_map(|m| m.statistic).collect();
            let figures = match self.series(at, event) {
                Some(series) => blocks::figures(&series.blocks, &all, &plan),
                None => Err(StatsRefusal::Empty),
            };
            self.waits.insert(key.clone(), figures);
        }
        let place = WAIT
            .iter()
            .take(metric)
            .filter(|m| m.statistic.is_some())
            .count();
        match self.waits.get(&key) {
            Some(Ok(figures)) => figures.get(place).copied().ok_or(StatsRefusal::Empty),
            Some(Err(refusal)) => Err(refusal.clone()),
            None => Err(StatsRefusal::Empty),
        }
    }
}

struct PairOfRows<'a> {
    a: &'a Row,
    b: &'a Row,
    run_b: usize,
    places: ((usize, usize), (usize, usize)),
}

impl PairOfRows<'_> {
    fn differences(&self, sides: &[Side], drawn: &mut Drawn<'_>, level: f64) -> Vec<Difference> {
        let mut found: Vec<Difference> = ROW
            .iter()
            .map(|m| self.row_metric(m, drawn, level))
            .collect();
        for event in metrics::events() {
            let of = |row| metrics::wait_of(row, event);
            let (wa, wb) = (of(self.a), of(self.b));
            if wa.is_none() && wb.is_none() {
                found.extend(self.stated_mean(event));
                continue;
            }
            let effects = self.effects(sides, event);
            for (i, metric) in WAIT.iter().enumerate() {
                let waits = (wa, wb, &effects);
                found.push(self.wait_metric(event, (i, metric), waits, drawn, level));
            }
        }
        found
    }

    fn row_metric(&self, metric: &RowMetric, drawn: &Drawn<'_>, level: f64) -> Difference {
        let mut d = blank(
            metric.key.to_owned(),
            self.a,
            self.run_b,
            metric.unit,
            metric.better,
        );
        (d.a, d.b) = (metric.of(self.a), metric.of(self.b));
        if d.a.is_none() || d.b.is_none() {
            words::tell_bare(&mut d, "it was not measured");
            return d;
        }
        let blocks = |row: &Row, at: (usize, usize)| match metric.key {
            "commits_per_write" => drawn
                .series(at, metric.key)
                .map(|s| s.blocks.clone())
                .unwrap_or_default(),
            key => rates(row, key),
        };
        let (ba, bb) = (blocks(self.a, self.places.0), blocks(self.b, self.places.1));
        if ba.is_empty() || bb.is_empty() {
            words::tell_bare(&mut d, "it is known for the whole row only");
            return d;
        }
        (d.units_a, d.units_b) = (ba.len() as u64, bb.len() as u64);
        let draw = |blocks: &Blocks, at| {
            let figures = blocks::figures(blocks, &[Statistic::Mean], &drawn.plan(at, metric.key))?;
            figures.first().copied().ok_or(StatsRefusal::Empty)
        };
        let ratio = draw(&ba, self.places.0)
            .and_then(|a| blocks::ratio(&a, &draw(&bb, self.places.1)?, level));
        let ratio = ratio.and_then(|r| about(&d, &r, level));
        judged(&mut d, ratio, Basis::Intervals);
        d
    }

    /// Means that published tables state: figures without the waits behind them.
    fn stated_mean(&self, event: &str) -> Option<Difference> {
        let name = format!("{event}.mean");
        let mut d = blank(name, self.a, self.run_b, "ns", Better::Lower);
        (d.a, d.b) = (
            metrics::stated_mean_ns(self.a, event),
            metrics::stated_mean_ns(self.b, event),
        );
        (d.a.is_some() || d.b.is_some()).then(|| {
            words::tell_bare(&mut d, "the mean alone is known of it, and no wait");
            d
        })
    }

    fn wait_metric(
        &self,
        event: &str,
        (place, metric): (usize, &WaitMetric),
        (wa, wb, effects): (Option<&WaitStats>, Option<&WaitStats>, &Effects),
        drawn: &mut Drawn<'_>,
        level: f64,
    ) -> Difference {
        let name = format!("{event}.{}", metric.name);
        let mut d = blank(name, self.a, self.run_b, metric.unit, Better::Lower);
        (d.a, d.b) = (wa.and_then(|w| metric.of(w)), wb.and_then(|w| metric.of(w)));
        if d.a.is_none() || d.b.is_none() {
            let why = match (wa, wb) {
                (None, _) | (_, None) => "no such waits",
                _ => "fewer than ten waits lie beyond it",
            };
            words::tell_bare(&mut d, why);
            return d;
        }
        if metric.statistic.is_none() {
            match metric.is_count() {
                true => words::tell_exact(&mut d, "it is a count"),
                false => words::tell_bare(&mut d, "single extremes have none"),
            }
            return d;
        }
        let (at_a, at_b) = self.places;
        let series = (drawn.series(at_a, event), drawn.series(at_b, event));
        let (Some(sa), Some(sb)) = series else {
            words::tell_bare(
                &mut d,
                "a run holds neither events nor interval histograms of it",
            );
            return d;
        };
        effects.put(&mut d, metric);
        let means_only = sa.merged.count() == 0 || sb.merged.count() == 0;
        if means_only && metric.name != "mean" {
            words::tell_bare(&mut d, "a run holds means over time only");
            return d;
        }
        (d.units_a, d.units_b) = (sa.blocks.len() as u64, sb.blocks.len() as u64);
        let basis = if sa.basis == sb.basis {
            sa.basis
        } else {
            Basis::Intervals
        };
        let ratio = drawn
            .wait(at_a, event, place)
            .and_then(|a| blocks::ratio(&a, &drawn.wait(at_b, event, place)?, level));
        let ratio = ratio.and_then(|r| about(&d, &r, level));
        judged(&mut d, ratio, basis);
        d
    }

    fn effects(&self, sides: &[Side], event: &str) -> Effects {
        let at = |(side, row): (usize, usize)| sides.get(side)?.series.get(row)?.get(event);
        let (Some(a), Some(b)) = (at(self.places.0), at(self.places.1)) else {
            return Effects::default();
        };
        Effects::of(&a.merged, &b.merged)
    }
}

/// Effect sizes of single waits.
#[derive(Default)]
pub(super) struct Effects {
    d: Option<f64>,
    delta: Option<f64>,
}

impl Effects {
    pub(super) fn of(a: &measure::Histogram, b: &measure::Histogram) -> Effects {
        let moments = |h| Moments::of_histogram(h).ok();
        let d = moments(a).zip(moments(b));
        let d = d.and_then(|(a, b)| effect::of(&b, &a, 0.95).ok());
        let counts = |h| Counts::of_histogram(h).ok();
        let delta = counts(a).zip(counts(b));
        let delta = delta.and_then(|(a, b)| rank::mann_whitney(&b, &a).ok());
        Effects {
            d: d.map(|e| e.d.value),
            delta: delta.map(|m| m.delta),
        }
    }

    /// Puts the effect that belongs to a metric into its difference.
    pub(super) fn put(&self, d: &mut Difference, metric: &WaitMetric) {
        let (effect, kind) = match metric.name {
            "mean" => (self.d, "cohens_d"),
            "p50" => (self.delta, "cliffs_delta"),
            _ => (None, ""),
        };
        if effect.is_some() {
            (d.effect, d.effect_kind) = (effect, kind.to_owned());
        }
    }
}

/// The interval of `ratio` about the ratio of the figures that are printed beside it. Those are of
/// the whole runs; what was drawn anew can be a little less: a quantile has the width of a bucket,
/// a series may miss a part of an interval.
fn about(d: &Difference, ratio: &blocks::Ratio, level: f64) -> Result<blocks::Ratio, StatsRefusal> {
    match (d.a, d.b) {
        (Some(a), Some(b)) if a > 0.0 && b > 0.0 => {
            blocks::of_ln((b / a).ln(), ratio.se_ln, ratio.df, level)
        }
        _ => Err(StatsRefusal::Unsuitable(
            "a ratio needs figures that are positive",
        )),
    }
}

/// Fills in a ratio, or why there is none.
pub(super) fn judged(d: &mut Difference, ratio: Result<blocks::Ratio, StatsRefusal>, basis: Basis) {
    match ratio {
        Ok(ratio) => {
            d.basis = basis;
            words::tell(d, &ratio);
        }
        Err(StatsRefusal::TooFew { needed, found }) => {
            let why = format!("{found} intervals, at least {needed} are needed");
            words::tell_bare(d, &why);
        }
        Err(StatsRefusal::Constant) => words::tell_exact(
            d,
            "nothing varies, so noise cannot be distinguished from a difference",
        ),
        Err(other) => words::tell_bare(d, &other.to_string()),
    }
}

/// A rate's intervals; none for what is not kept by interval.
fn rates(row: &Row, key: &str) -> Blocks {
    let mut blocks = Blocks::new();
    for interval in &row.intervals {
        let amount = match key {
            "commit_throughput_tps" => interval.commits as f64,
            "redo_data_mbps" => match interval.redo_bytes {
                Some(bytes) => bytes as f64,
                None => return Blocks::default(),
            },
            _ => return Blocks::default(),
        };
        blocks.push_rate(amount, interval.seconds);
    }
    blocks
}
