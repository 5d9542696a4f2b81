//! What one line, or one histogram, of a source shows of its waits, and which of several answers.
//!
//! Invariants: the one that is nearest to what a commit waits for answers first, among equals the
//! one with most waits; a handful of waits beside many is named as rare and is no caution by its
//! mean.

use super::super::super::catalogue;
use super::super::super::latency::band;
use super::super::super::note::Note;
use super::super::super::{Caution, Info};
use super::super::tails::{OUTLIER_MS, at, named, slow, slow_in_words};
use crate::format::{count, latency};
use crate::thresholds::Thresholds;
use measure::imported::Table;

/// Notes of one table at most: the one that answers, and the slowest of the others.
const NOTES_MAX: usize = 3;
/// Times of the usual mean from which a handful of waits is a cost apart.
const APART: f64 = 2.0;
/// Rank of waits that say nothing of a log.
pub(super) const NOT_OF_LOG: u8 = 4;
/// Rank of waits of a device that does not hold the log.
pub(super) const OTHER_DEVICE: u8 = 3;
/// Rank of waits that a commit may wait for, beside those that it waits for.
pub(super) const BESIDE: u8 = 1;

/// What one line, or one histogram, shows.
pub(super) struct SourceTimes<'a> {
    pub(super) what: String,
    /// Who waited, or which of several it is; empty where there is one.
    pub(super) who: String,
    pub(super) waits: Option<f64>,
    pub(super) mean_ms: Option<f64>,
    /// The mean is of the middles of buckets.
    pub(super) is_about: bool,
    /// The percentile in words, and its time.
    pub(super) tail: Option<(&'static str, f64)>,
    pub(super) longest_ms: Option<f64>,
    /// Where the bucket of the longest begins: `longest_ms` is its end.
    pub(super) longest_from_ms: Option<f64>,
    /// What is written behind the figures.
    pub(super) more: String,
    pub(super) table: &'a Table,
    /// Of one sync of a log; else of something that contains more.
    pub(super) is_sync: bool,
    /// What it does not show.
    pub(super) cannot: &'a str,
    /// How far it is from what a commit waits for: 0 is that itself.
    pub(super) rank: u8,
    /// Why it is no matter of each commit, however many there are; else empty.
    pub(super) rare: &'static str,
}

impl<'a> SourceTimes<'a> {
    /// Waits of which nothing is known yet.
    pub(super) fn of(what: &str, table: &'a Table) -> SourceTimes<'a> {
        SourceTimes {
            what: what.to_owned(),
            who: String::new(),
            waits: None,
            mean_ms: None,
            is_about: false,
            tail: None,
            longest_ms: None,
            longest_from_ms: None,
            more: String::new(),
            table,
            is_sync: false,
            cannot: "",
            rank: 0,
            rare: "",
        }
    }

    fn has_times(&self) -> bool {
        [self.mean_ms, self.longest_ms, self.tail.map(|(_, ms)| ms)]
            .iter()
            .any(Option::is_some)
    }

    fn worst(&self) -> f64 {
        let all = [self.mean_ms, self.tail.map(|(_, ms)| ms), self.longest_ms];
        all.into_iter().flatten().fold(0.0, f64::max)
    }

    fn number(&self) -> f64 {
        self.waits.unwrap_or(0.0)
    }

    fn has_outlier(&self) -> bool {
        let least = self.longest_from_ms.or(self.longest_ms);
        least.is_some_and(|ms| ms >= OUTLIER_MS)
    }

    /// Too many of them are slow: the mean or the percentile of a sync, or a single one.
    fn is_slow(&self, t: &Thresholds) -> bool {
        let is_over = |of: Option<f64>, limit: f64| of.is_some_and(|ms| ms >= limit);
        let tail = self.tail.map(|(_, ms)| ms);
        let is_slow = is_over(self.mean_ms, t.write_mean_fair_ms.value)
            || is_over(tail, t.tail_p999_ms.value);
        self.rank < NOT_OF_LOG && (self.has_outlier() || self.is_sync && is_slow)
    }

    /// A device beside the log's, most of whose requests are not slow.
    fn is_slow_device(&self, t: &Thresholds) -> bool {
        let tail = self.tail.map(|(_, ms)| ms);
        self.rank == OTHER_DEVICE && tail.is_some_and(|ms| ms >= t.tail_p999_ms.value)
    }

    /// Whether they are a rare cost beside `all` waits of their rank.
    fn is_rare(&self, all: f64, t: &Thresholds) -> bool {
        let is_few = self.waits.is_some() && 100.0 * self.number() < t.slow_share_pct.value * all;
        !self.rare.is_empty() || is_few && !self.has_outlier()
    }

    fn note(&self, t: &Thresholds) -> Note {
        let time = |name: &str, ms: f64| format!("{name} {}", latency(ms * 1e6));
        let mean = match self.is_about {
            true => "a mean of about",
            false => "a mean of",
        };
        let longest = self.longest_from_ms.map_or_else(
            || "the longest".to_owned(),
            |from| format!("the longest from {} to", latency(from * 1e6)),
        );
        let parts = [
            self.longest_ms.map(|ms| time(&longest, ms)),
            self.tail.map(|(name, ms)| time(name, ms)),
            self.mean_ms.map(|ms| time(mean, ms)),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let over = match self.waits {
            Some(waits) => format!(" over {} of them", count(waits as u64)),
            None => String::new(),
        };
        let banded = self.mean_ms.filter(|_| self.is_sync).map(|ms| band(ms, t));
        let is_slow_one = banded
            .as_ref()
            .is_some_and(|(weight, _)| *weight >= Caution);
        let most = self
            .mean_ms
            .filter(|_| is_slow_one)
            .map_or_else(String::new, |ms| {
                format!(
                    ", at most {} per second one after another",
                    crate::format::digits(1e3 / ms)
                )
            });
        let words = banded.as_ref();
        let words = words.map_or_else(String::new, |(_, words)| format!(", {words}"));
        let cannot = match self.cannot {
            "" => String::new(),
            cannot => format!("; {cannot}"),
        };
        let claim = format!(
            "{}{}: {}{over}{words}{most}{}{cannot}{}",
            self.what,
            named(&self.who),
            parts.join(", "),
            self.more,
            at(self.table)
        );
        let floor = &t.flush_floor_us;
        let is_too_fast = self.is_sync && self.mean_ms.is_some_and(|ms| ms < floor.value / 1e3);
        let note = match (self.is_slow(t), banded) {
            _ if is_too_fast => {
                let claim = format!("{claim}: no device answers that fast");
                Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim)
                    .limit(format!("a mean sync under {} us", floor.value), floor)
            }
            (true, _) if self.is_sync => slow(claim, t),
            (is_slow, banded) => {
                let weight = match banded {
                    _ if is_slow => Caution,
                    Some((weight, _)) => weight,
                    None => Info,
                };
                Note::of(&catalogue::LATENCY_SOURCE, weight, claim)
                    .limit(slow_in_words(t), &t.write_mean_fair_ms)
                    .advice_if(is_slow)
            }
        };
        note.maybe("mean_ms", self.mean_ms)
            .maybe("tail_ms", self.tail.map(|(_, ms)| ms))
            .maybe("longest_ms", self.longest_ms)
            .maybe("waits", self.waits)
    }
}

/// The one of a table that answers; then those beside it that a commit may wait for too and the
/// slow ones, the slowest first; then what is rare and slow.
pub(super) fn several(mut all: Vec<SourceTimes<'_>>, t: &Thresholds, notes: &mut Vec<Note>) {
    all.retain(SourceTimes::has_times);
    all.sort_by(|a, b| {
        let by_waits = b.number().total_cmp(&a.number());
        a.rank.cmp(&b.rank).then(by_waits)
    });
    let waits_of = |rank: u8| {
        let same = all.iter().filter(|of| of.rank == rank);
        same.map(SourceTimes::number).sum::<f64>()
    };
    let is_rare = |of: &&SourceTimes<'_>| of.is_rare(waits_of(of.rank), t);
    let (mut rare, mut usual): (Vec<_>, Vec<_>) = all.iter().partition(is_rare);
    // What is alone is not rare.
    if usual.is_empty() {
        std::mem::swap(&mut rare, &mut usual);
    }
    let Some((first, others)) = usual.split_first() else {
        return;
    };
    notes.push(first.note(t));
    let is_beside = |of: &SourceTimes<'_>| first.rank < BESIDE && of.rank == BESIDE;
    let is_said = |of: &&&SourceTimes<'_>| of.is_slow(t) || is_beside(of) || of.is_slow_device(t);
    let mut others: Vec<&&SourceTimes<'_>> = others.iter().filter(is_said).collect();
    let by_worst = |of: &SourceTimes<'_>| if of.is_slow(t) { of.worst() } else { 0.0 };
    others.sort_by(|a, b| by_worst(b).total_cmp(&by_worst(a)));
    notes.extend(others.iter().take(NOTES_MAX - 1).map(|of| of.note(t)));
    let (apart, few): (Vec<_>, Vec<_>) = rare.into_iter().partition(|of| !of.rare.is_empty());
    // A handful that takes as long as the others is no cost apart.
    let is_apart = |of: &&&SourceTimes<'_>| {
        of.has_outlier()
            || of
                .mean_ms
                .zip(first.mean_ms)
                .is_none_or(|(few, all)| few >= APART * all)
    };
    let few: Vec<_> = few.iter().filter(is_apart).copied().collect();
    notes.extend([apart, few].iter().filter_map(|rare| rare_cost(rare, t)));
}

/// Slow waits that are a handful beside the others.
fn rare_cost(rare: &[&SourceTimes<'_>], t: &Thresholds) -> Option<Note> {
    let slow: Vec<&&SourceTimes<'_>> = rare.iter().filter(|of| of.is_slow(t)).collect();
    let first = slow.first()?;
    let waits: f64 = slow.iter().map(|of| of.number()).sum();
    let sum: f64 = slow
        .iter()
        .filter_map(|of| Some(of.mean_ms? * of.waits?))
        .sum();
    let mean = Some(sum / waits).filter(|ms| *ms > 0.0 && ms.is_finite());
    let took = match mean {
        Some(ms) => format!("{} on average", latency(ms * 1e6)),
        None => format!("up to {}", latency(first.worst() * 1e6)),
    };
    let who: Vec<&str> = slow.iter().map(|of| of.who.as_str()).collect();
    let claim = format!(
        "a rare cost apart from these: {} {}{} take {took}{}{}",
        count(waits as u64),
        first.what,
        named(&who.join("; ")),
        first.rare,
        at(first.table)
    );
    Some(
        Note::of(&catalogue::LATENCY_SOURCE, Info, claim)
            .no_advice()
            .maybe("mean_ms", mean)
            .number("waits", waits)
            .limit(
                format!("under {} % of the waits", t.slow_share_pct.value),
                &t.slow_share_pct,
            ),
    )
}
