//! What power tests show about the device of a run: whether acknowledged writes survived, for which
//! stack, and whether that is the stack of this run.
//!
//! Invariant: a pass on another stack proves nothing about this one; neither does a cut that left
//! the device's cache its power.

use super::catalogue;
use super::note::Note;
use super::{Bad, Caution, Good, Info};
use crate::thresholds::{Limit, Thresholds};
use measure::power_test::{
    OtherStackSeries, PowerTestSeries, PowerTestStanding, below, cuts_for, loss_bound,
};
use measure::run::Run;
use measure::words;

/// Changes that are named in a claim; the others are counted.
const CHANGES_NAMED: usize = 3;

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some(evidence) = &run.power_tests else {
        return;
    };
    let limit = &t.cuts_bound_pct;
    if let Some(same) = &evidence.same {
        notes.push(of_this_stack(same, limit));
    }
    let is_settled = evidence
        .same
        .as_ref()
        .is_some_and(|same| same.standing(limit.value) != PowerTestStanding::PartlyTested);
    if !is_settled {
        notes.extend(evidence.others.iter().map(of_another_stack));
    }
}

fn of_this_stack(series: &PowerTestSeries, limit: &Limit) -> Note {
    match series.standing(limit.value) {
        PowerTestStanding::Refuted => {
            let claim = format!(
                "A power test lost acknowledged writes on this stack: {} ({}{}).",
                series.sentence(),
                series.kinds_in_words(),
                host(series)
            );
            numbers(Note::of(&catalogue::DURABILITY_REFUTED, Bad, claim), series)
                .number("lost", series.lost as f64)
                .number("cuts_with_loss", series.refuted_cuts as f64)
        }
        PowerTestStanding::Tested => tested(series, limit),
        PowerTestStanding::PartlyTested => partly_tested(series, limit),
    }
}

fn tested(series: &PowerTestSeries, limit: &Limit) -> Note {
    let of_power = PowerTestSeries {
        other_cuts: 0,
        by_word: Some(0),
        acknowledgements: series.acknowledgements_of_cuts,
        kinds: series
            .kinds
            .iter()
            .copied()
            .filter(|kind| kind.loses_caches())
            .collect(),
        ..series.clone()
    };
    let claim = format!(
        "A power test lost no acknowledged write on this stack: {} (cuts of {}{}; device: {}).",
        of_power.sentence(),
        of_power.kinds_in_words(),
        host(series),
        series.stack.identity.in_words()
    );
    let note = Note::of(&catalogue::DURABILITY_TESTED, Good, claim);
    bounded(numbers(note, &of_power), &of_power, limit)
}

fn partly_tested(series: &PowerTestSeries, limit: &Limit) -> Note {
    let (kinds, host) = (series.kinds_in_words(), host(series));
    let lacks = match series.cuts {
        0 => "in none of its cuts is a loss of power of every cache shown",
        _ => "its cuts of the power are too few",
    };
    let claim = format!(
        "A power test lost nothing on this stack, but {lacks} ({kinds}{host}): {}.",
        series.sentence()
    );
    let note = Note::of(&catalogue::DURABILITY_PARTLY_TESTED, Info, claim);
    let note = bounded(numbers(note, series), series, limit);
    match cuts_for(limit.value) {
        None => note,
        Some(cuts) => note.advice(format!(
            "Repeat the power test with {} of the host's or the device's power ({}), and let serve \
             --cut switch it (redolab powertest).",
            words::plural(cuts, "cut"),
            below(cuts)
        )),
    }
}

/// The bound of the cuts that evidence shows, and the threshold.
fn bounded(note: Note, series: &PowerTestSeries, limit: &Limit) -> Note {
    let words = format!(
        "at most {} of cuts with a loss",
        words::percent(limit.value)
    );
    note.number(SHOWN_CUTS, series.cuts as f64)
        .maybe(
            LOSS_PER_CUT,
            (series.cuts > 0).then(|| loss_bound(series.cuts)),
        )
        .limit(words, limit)
}

/// Name of the number of cuts that evidence shows.
pub(crate) const SHOWN_CUTS: &str = "shown_cuts";
/// Name of the number that is the bound.
pub(crate) const LOSS_PER_CUT: &str = "loss_per_cut_below";

fn of_another_stack(other: &OtherStackSeries) -> Note {
    let series = &other.series;
    let named = other.changes.iter().take(CHANGES_NAMED);
    let mut named: Vec<String> = named.map(ToString::to_string).collect();
    if other.changes.len() > CHANGES_NAMED {
        named.push(format!("{} more", other.changes.len() - CHANGES_NAMED));
    }
    let (weight, result) = match series.passed() {
        true => (Info, "lost nothing"),
        false => (Caution, "lost acknowledged writes"),
    };
    let claim = format!(
        "A power test of this device {result}, but on another stack, so that it does not hold here: \
         {} ({}).",
        named.join("; "),
        series.sentence()
    );
    let note = Note::of(&catalogue::DURABILITY_STACK_CHANGED, weight, claim);
    numbers(note, series).number("changes", other.changes.len() as f64)
}

fn numbers(note: Note, series: &PowerTestSeries) -> Note {
    note.number("cuts", (series.cuts + series.other_cuts) as f64)
        .number("acknowledgements", series.acknowledgements as f64)
}

/// Of a virtual machine, whose cuts its host decides about.
fn host(series: &PowerTestSeries) -> String {
    let hypervisor = series.hypervisor.as_ref();
    hypervisor.map_or_else(String::new, |name| {
        format!(", in a virtual machine of {name}")
    })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::clean_run as clean;
    use super::super::{REFUTED, TESTED, findings};
    use crate::thresholds::Thresholds;
    use crate::verdict::verdict;
    use measure::judgement::{Answer, Durability, Scope};
    use measure::power_test::*;
    use measure::run::Run;

    fn cycle(run: &Run, class: LossClass, cut: CutKind, method: &str) -> PowerCycle {
        let lost = u64::from(class != LossClass::NothingLost) * 3;
        PowerCycle {
            schema: SCHEMA.to_owned(),
            test_id: "0".repeat(32),
            redolab_version: "0.1.0".to_owned(),
            opened: "2026-11-24T10:00:00.000Z".to_owned(),
            judged: "2026-11-24T10:05:00.000Z".to_owned(),
            path: "/u01".to_owned(),
            mode: "redo log".to_owned(),
            cut,
            hypervisor: None,
            class,
            counted: true,
            counts: PowerTestCounts {
                acknowledged: 1000,
                demanded: 1000,
                lost,
                missing: lost,
                ..PowerTestCounts::default()
            },
            stack: StackFingerprint::of(&run.target.stack, Some(method)),
            notes: Vec::new(),
            first_lost: None,
            evidence: Some(shown(cut)),
        }
    }

    /// What shows a cut of that kind.
    fn shown(cut: CutKind) -> CutEvidence {
        let started = |id: &str| MachineState {
            boot_id: Some(id.to_owned()),
            ..MachineState::default()
        };
        let goes_on = cut.keeps_the_machine_up();
        CutEvidence {
            before: started("1"),
            after: started(if goes_on { "1" } else { "2" }),
            failure: goes_on.then(|| WriteFailure {
                error: "a flush failed".to_owned(),
                device_answered: Some(cut != CutKind::DevicePower),
            }),
            switched: (cut == CutKind::HostPower).then(|| SwitchRecord {
                at: "2026-11-24T10:01:00.000Z".to_owned(),
                program: "power-cycle".to_owned(),
            }),
            closed: false,
        }
    }

    /// A clean run on a drive of which nobody declares anything.
    fn tested_run() -> Run {
        let mut run = clean();
        for layer in &mut run.target.stack.layers {
            if layer.drive_write_cache.is_some() {
                layer.drive_write_cache = Some(true);
                layer.write_cache = Some("write back".to_owned());
            }
        }
        run
    }

    /// Ids of durability findings, durability and answer of a clean run after these cuts.
    fn after(cycles: &[PowerCycle]) -> (Vec<String>, Durability, Answer) {
        let mut run = tested_run();
        let now = StackFingerprint::of(&run.target.stack, Some("direct"));
        run.power_tests = PowerTestEvidence::of(&now, cycles);
        let found = findings(&run, &Thresholds::default());
        let verdict = verdict(&run, &found, &run.need, Scope::default());
        let ours = [
            TESTED,
            REFUTED,
            "durability.partly_tested",
            "durability.stack_changed",
        ];
        let ids = found
            .into_iter()
            .map(|f| f.id)
            .filter(|id| ours.contains(&id.as_str()));
        (ids.collect(), verdict.durability, verdict.answer)
    }

    #[test]
    fn only_cuts_that_lose_every_cache_make_durability_tested() {
        let run = tested_run();
        let passed = |cut| vec![cycle(&run, LossClass::NothingLost, cut, "direct"); 20];
        for (cut, id, durability, answer) in [
            (CutKind::HostPower, TESTED, Durability::Tested, Answer::Yes),
            (
                CutKind::DevicePower,
                TESTED,
                Durability::Tested,
                Answer::Yes,
            ),
            (
                CutKind::GuestReset,
                "durability.partly_tested",
                Durability::Unverified,
                Answer::Conditional,
            ),
            (
                CutKind::FileSystemShutdown,
                "durability.partly_tested",
                Durability::Unverified,
                Answer::Conditional,
            ),
        ] {
            let expected = (vec![id.to_owned()], durability, answer);
            assert_eq!(after(&passed(cut)), expected, "{cut}");
        }
        assert_eq!(after(&[]).1, Durability::Unverified);
    }

    /// One cut, and cuts that the operator states, are partly tested: 19 are too few for the
    /// default bound, a looser one is a threshold.
    #[test]
    fn few_cuts_and_stated_cuts_are_partly_tested() {
        let run = tested_run();
        let passed = cycle(&run, LossClass::NothingLost, CutKind::DevicePower, "direct");
        let mut stated = passed.clone();
        stated.evidence = None;
        let restart = |id: &str| MachineState {
            boot_id: Some(id.to_owned()),
            ..MachineState::default()
        };
        let mut restarted = cycle(&run, LossClass::NothingLost, CutKind::HostPower, "direct");
        restarted.evidence = Some(CutEvidence {
            before: restart("1"),
            after: restart("2"),
            ..CutEvidence::default()
        });
        for (cycle, count) in [
            (&passed, 1),
            (&passed, 19),
            (&stated, 200),
            (&restarted, 200),
        ] {
            let (ids, durability, answer) = after(&vec![cycle.clone(); count]);
            assert_eq!(ids, ["durability.partly_tested"], "{count}");
            assert_eq!(
                (durability, answer),
                (Durability::Unverified, Answer::Conditional)
            );
        }
        let mut run = tested_run();
        let now = StackFingerprint::of(&run.target.stack, Some("direct"));
        run.power_tests = PowerTestEvidence::of(&now, &vec![passed; 3]);
        let looser = Thresholds::parse("cuts_bound_pct = 70").expect("valid");
        let of = |t: &Thresholds| {
            let found = findings(&run, t);
            verdict(&run, &found, &run.need, Scope::default())
        };
        assert_eq!(
            of(&Thresholds::default()).durability,
            Durability::Unverified
        );
        let tested = of(&looser);
        assert_eq!(tested.durability, Durability::Tested);
        assert_eq!(
            tested.durability_in_words(),
            "tested (3 cuts: below 63.2 % per cut)"
        );
        let bound = tested.loss_per_cut_below.expect("it is tested");
        assert!((bound - loss_bound(3)).abs() < 1e-12);
    }

    /// Files that were removed while nothing was cut refute nothing.
    #[test]
    fn a_loss_without_a_cut_is_no_evidence() {
        let run = tested_run();
        let mut removed = cycle(&run, LossClass::TailLost, CutKind::DevicePower, "direct");
        let mounted = MachineState {
            boot_id: Some("1".to_owned()),
            mount: Some(MountState {
                id: 7,
                namespace: "mnt:[1]".to_owned(),
            }),
            ..MachineState::default()
        };
        removed.evidence = Some(CutEvidence {
            before: mounted.clone(),
            after: mounted,
            ..CutEvidence::default()
        });
        assert_eq!(after(&[removed]).0, Vec::<String>::new());
    }

    #[test]
    fn one_loss_refutes_whatever_the_cut_was_and_however_many_passed() {
        let run = tested_run();
        let mut cycles =
            vec![cycle(&run, LossClass::NothingLost, CutKind::HostPower, "direct"); 50];
        let mut lost = cycle(
            &run,
            LossClass::TailLost,
            CutKind::FileSystemShutdown,
            "direct",
        );
        lost.counted = false;
        cycles.push(lost);
        let (ids, durability, answer) = after(&cycles);
        assert_eq!(ids, [REFUTED]);
        assert_eq!((durability, answer), (Durability::Refuted, Answer::No));
    }

    #[test]
    fn a_changed_stack_is_unverified_again_and_the_change_is_named() {
        let mut before = tested_run();
        before
            .target
            .stack
            .layers
            .iter_mut()
            .for_each(|l| l.firmware = Some("1.0".to_owned()));
        let passed = vec![
            cycle(
                &before,
                LossClass::NothingLost,
                CutKind::HostPower,
                "direct"
            );
            9
        ];
        let mut run = tested_run();
        run.target
            .stack
            .layers
            .iter_mut()
            .for_each(|l| l.firmware = Some("1.1".to_owned()));
        for (method, what) in [
            ("direct", "firmware: from 1.0 to 1.1"),
            ("dsync", "sync method"),
        ] {
            let now = StackFingerprint::of(&run.target.stack, Some(method));
            run.power_tests = PowerTestEvidence::of(&now, &passed);
            let found = findings(&run, &Thresholds::default());
            let changed = found.iter().find(|f| f.id == "durability.stack_changed");
            let claim = &changed.expect("the stack has changed").claim;
            assert!(claim.contains(what), "{claim}");
            let verdict = verdict(&run, &found, &run.need, Scope::default());
            assert_eq!(verdict.durability, Durability::Unverified);
        }
        // Another device has no test at all.
        let mut other = tested_run();
        other
            .target
            .stack
            .layers
            .iter_mut()
            .for_each(|l| l.serial = Some("Z9".to_owned()));
        let now = StackFingerprint::of(&other.target.stack, Some("direct"));
        assert_eq!(PowerTestEvidence::of(&now, &passed), None);
    }

    #[test]
    fn a_pass_without_a_cut_is_no_evidence() {
        let run = tested_run();
        let mut idle = cycle(&run, LossClass::NothingLost, CutKind::HostPower, "direct");
        idle.counted = false;
        assert!(after(&[idle]).0.is_empty());
    }
}
