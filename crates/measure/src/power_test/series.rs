//! All cuts of one stack together: what they show, and the bound that follows from their number.
//!
//! Invariants: one loss refutes, however many cuts passed; only cuts that evidence shows have a
//! bound; the bound is exact, and is shown with the word "tested" in every view.

use super::{CutKind, EvidenceBasis, LossClass, PowerCycle, StackChange, StackFingerprint};
use crate::enum_words::words;
use crate::words as numbers;
use serde::{Deserialize, Serialize};

/// All cuts of one stack together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerTestSeries {
    /// The stack.
    pub stack: StackFingerprint,
    /// Kinds of its cuts.
    pub kinds: Vec<CutKind>,
    /// Cuts that count, and of which evidence shows that every cache lost its power.
    pub cuts: u64,
    /// Other cuts that count.
    pub other_cuts: u64,
    /// Those of the other cuts of which the operator's word is all that there is; `None` in a run
    /// of a version that recorded no evidence, whose cuts show nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_word: Option<u64>,
    /// Acknowledged writes that had to be there after all of these cuts.
    pub acknowledgements: u64,
    /// Of those after the cuts that evidence shows (`cuts`).
    pub acknowledgements_of_cuts: u64,
    /// Writes that were lost.
    pub lost: u64,
    /// Cuts in which something was lost.
    pub refuted_cuts: u64,
    /// What was lost, by class, without repetition.
    pub classes: Vec<LossClass>,
    /// When the last one was judged (RFC 3339, UTC).
    pub last: String,
    /// The hypervisor, where one was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
}

impl PowerTestSeries {
    /// The cuts of `cycles`, of which all are of one stack; `None` where none of them counts.
    #[must_use]
    pub fn of(cycles: &[&PowerCycle]) -> Option<PowerTestSeries> {
        let all: Vec<&&PowerCycle> = cycles.iter().filter(|c| c.counts()).collect();
        let last = all.iter().max_by(|a, b| a.judged.cmp(&b.judged))?;
        let of_power = |c: &&&&PowerCycle| c.is_shown_loss_of_power();
        let by_word = |c: &&&&PowerCycle| c.basis() == Some(EvidenceBasis::OperatorsWord);
        let demanded = |c: &&&PowerCycle| c.counts.demanded;
        let lossy = |c: &&&&PowerCycle| c.has_lost();
        let mut kinds: Vec<CutKind> = all.iter().map(|c| c.cut).collect();
        kinds.sort();
        kinds.dedup();
        let mut classes: Vec<LossClass> = all.iter().filter(lossy).map(|c| c.class).collect();
        classes.sort();
        classes.dedup();
        let cuts = all.iter().filter(of_power).count() as u64;
        Some(PowerTestSeries {
            stack: last.stack.clone(),
            kinds,
            cuts,
            other_cuts: all.len() as u64 - cuts,
            by_word: Some(all.iter().filter(by_word).count() as u64),
            acknowledgements: all.iter().map(demanded).sum(),
            acknowledgements_of_cuts: all.iter().filter(of_power).map(demanded).sum(),
            lost: all.iter().map(|c| c.counts.lost).sum(),
            refuted_cuts: all.iter().filter(lossy).count() as u64,
            classes,
            last: last.judged.clone(),
            hypervisor: last.hypervisor.clone(),
        })
    }

    /// Every cut lost nothing.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.refuted_cuts == 0
    }

    /// What the cuts show together, where a share of cuts with a loss of at most `bound_pct`
    /// percent is wanted.
    #[must_use]
    pub fn standing(&self, bound_pct: f64) -> PowerTestStanding {
        let is_recorded = self.by_word.is_some();
        match loss_bound(self.cuts) * 100.0 <= bound_pct {
            _ if !self.passed() => PowerTestStanding::Refuted,
            true if is_recorded && self.cuts > 0 => PowerTestStanding::Tested,
            _ => PowerTestStanding::PartlyTested,
        }
    }

    /// Its kinds of cuts, in words.
    #[must_use]
    pub fn kinds_in_words(&self) -> String {
        let words: Vec<&str> = self.kinds.iter().map(|kind| kind.word()).collect();
        words.join(", ")
    }

    /// What all of its cuts show, as one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let cuts = self.cuts + self.other_cuts;
        let acknowledgements = numbers::count(self.acknowledgements);
        let cut_word = if cuts == 1 { "cut" } else { "cuts" };
        let by_word = match self.by_word {
            Some(0) => String::new(),
            Some(count) if count == cuts => "; by the operator's word alone".to_owned(),
            Some(count) => format!("; {} by the operator's word alone", numbers::count(count)),
            None => "; no evidence of these cuts was recorded".to_owned(),
        };
        if self.passed() {
            let bound = match (self.cuts, self.other_cuts) {
                (0, _) => "no loss of power is shown, so no bound follows".to_owned(),
                (_, 0) => below(self.cuts),
                _ => format!(
                    "a loss of power is shown in {}, so that the loss rate is {}",
                    numbers::count(self.cuts),
                    below(self.cuts)
                ),
            };
            return format!(
                "0 lost in {} {cut_word} and {acknowledgements} acknowledgements: {bound}{by_word}",
                numbers::count(cuts),
            );
        }
        let classes: Vec<&str> = self.classes.iter().map(|class| class.word()).collect();
        format!(
            "{} of {acknowledgements} acknowledgements lost, in {} of {} {cut_word}: {}{by_word}",
            numbers::count(self.lost),
            numbers::count(self.refuted_cuts),
            numbers::count(cuts),
            classes.join(", ")
        )
    }
}

/// What the cuts of a stack show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerTestStanding {
    /// Acknowledged writes were lost.
    Refuted,
    /// Nothing was lost in enough cuts that evidence shows.
    Tested,
    /// Nothing was lost, in too few cuts, in others than of the power, or by the operator's word.
    PartlyTested,
}

words!(PowerTestStanding {
    Refuted => "refuted",
    Tested => "tested",
    PartlyTested => "partly tested",
});

/// Upper bound of the share of cuts that lose something where `cuts` of them lost nothing, at 95 %:
/// the exact one of the binomial distribution, 1 - 0.05^(1/N); 1 without a cut.
#[must_use]
pub fn loss_bound(cuts: u64) -> f64 {
    match cuts {
        0 => 1.0,
        cuts => 1.0 - 0.05_f64.powf(1.0 / cuts as f64),
    }
}

/// The fewest cuts whose bound is at most `bound_pct` percent; `None` where no number is enough.
#[must_use]
pub fn cuts_for(bound_pct: f64) -> Option<u64> {
    let share = (bound_pct / 100.0).min(1.0 - f64::EPSILON);
    let about = (0.05_f64.ln() / (1.0 - share).ln()).ceil();
    let is_enough = |cuts: &u64| loss_bound(*cuts) * 100.0 <= bound_pct;
    let about = (share > 0.0 && about.is_finite()).then_some(about as u64)?;
    // The last digit of a logarithm decides nothing.
    (about.saturating_sub(1).max(1)..=about + 1).find(is_enough)
}

/// The bound in words.
#[must_use]
pub fn below(cuts: u64) -> String {
    match cuts {
        0 => "no bound below 100 % follows".to_owned(),
        cuts => format!(
            "below {} per cut at 95 %",
            numbers::percent(loss_bound(cuts) * 100.0)
        ),
    }
}

/// What power tests show about the device of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PowerTestEvidence {
    /// Cuts of the same stack.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<PowerTestSeries>,
    /// Cuts of the same device in another stack, the newest first, with what is different.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<OtherStackSeries>,
}

/// Cuts of the same device in another stack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherStackSeries {
    /// The cuts.
    pub series: PowerTestSeries,
    /// What is different, from the tested stack to the one of the run.
    pub changes: Vec<StackChange>,
}

/// Other stacks that are kept in a run.
const OTHERS_MAX: usize = 4;

impl PowerTestEvidence {
    /// What `cycles` show about `stack`; `None` where none of them is of its device.
    #[must_use]
    pub fn of(stack: &StackFingerprint, cycles: &[PowerCycle]) -> Option<PowerTestEvidence> {
        let mut groups: Vec<Vec<&PowerCycle>> = Vec::new();
        for cycle in cycles.iter().filter(|c| c.stack.identity == stack.identity) {
            let same = |group: &&mut Vec<&PowerCycle>| {
                group
                    .first()
                    .is_some_and(|first| first.stack == cycle.stack)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(cycle),
                None => groups.push(vec![cycle]),
            }
        }
        let mut evidence = PowerTestEvidence::default();
        for series in groups.iter().filter_map(|group| PowerTestSeries::of(group)) {
            if series.stack == *stack {
                evidence.same = Some(series);
            } else {
                let changes = stack.changes_from(&series.stack);
                evidence.others.push(OtherStackSeries { series, changes });
            }
        }
        let others = &mut evidence.others;
        others.sort_by(|a, b| b.series.last.cmp(&a.series.last));
        others.truncate(OTHERS_MAX);
        (evidence.same.is_some() || !evidence.others.is_empty()).then_some(evidence)
    }
}
