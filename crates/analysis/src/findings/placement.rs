//! On which processor the log writer should run, from the floor that was measured on each.

use super::catalogue;
use super::note::Note;
use super::{Caution, Info};
use crate::format;
use crate::placement::{self, PlaceComparison};
use crate::stats::Estimate;
use crate::thresholds::Thresholds;
use measure::run::{PlaceFigures, Run, TargetFacts};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some(measured) = &run.placement else {
        return;
    };
    let Some(found) = placement::compared(measured) else {
        return;
    };
    notes.push(
        numbers(
            Note::of(
                &catalogue::PROCESSOR_FLOOR,
                Info,
                placement::sentences(measured).join(" "),
            ),
            &found,
        )
        .no_advice(),
    );
    // Beside the work of others a processor is slow for a moment, and another one the next.
    let wait = placement::busiest_pct(measured);
    if wait.is_some_and(|pct| pct > t.placement_wait_pct.value) {
        return;
    }
    let least = 1.0 + t.placement_gain_pct.value / 100.0;
    match pinned(run, &found) {
        Pinned::Nowhere if found.unpinned_ratio.low > least => pin(&found, t, notes),
        Pinned::On(place, ratio) if ratio.low > least => slow(place, &ratio, &found, t, notes),
        _ => {}
    }
}

fn numbers(note: Note, found: &PlaceComparison<'_>) -> Note {
    note.number("slowest_over_fastest", found.spread.value)
        .number("slowest_over_fastest_low", found.spread.low)
        .number("slowest_over_fastest_high", found.spread.high)
        .number("unpinned_over_fastest", found.unpinned_ratio.value)
        .number("unpinned_over_fastest_low", found.unpinned_ratio.low)
        .number("unpinned_over_fastest_high", found.unpinned_ratio.high)
        .number("rounds", found.rounds as f64)
}

/// Where the log writer of a run was.
enum Pinned<'a> {
    /// Wherever the scheduler put it.
    Nowhere,
    /// On this processor, which takes so many times the time of the fastest.
    On(&'a PlaceFigures, Estimate),
    /// On several, or on one that was not measured.
    NotKnown,
}

fn pinned<'a>(run: &'a Run, found: &PlaceComparison<'_>) -> Pinned<'a> {
    // Where the log writer of a server runs is not redolab's to choose.
    if matches!(run.target.facts, TargetFacts::Database(_)) {
        return Pinned::NotKnown;
    }
    let cpus = run
        .target
        .redo_log()
        .map(|log| log.log_writer_cpus.as_slice());
    let cpu = match cpus {
        None | Some([]) => return Pinned::Nowhere,
        Some([cpu]) => Some(*cpu),
        Some(_) => return Pinned::NotKnown,
    };
    let mut places = run.placement.iter().flat_map(|measured| &measured.places);
    let place = places.find(|place| place.cpu == cpu);
    place
        .and_then(|place| Some(Pinned::On(place, found.over_fastest(place)?)))
        .unwrap_or(Pinned::NotKnown)
}

fn pin(found: &PlaceComparison<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let (Some(cpu), gain) = (found.fastest.cpu, &found.unpinned_ratio) else {
        return;
    };
    let note = Note::of(
        &catalogue::PROCESSOR_PIN,
        Caution,
        format!(
            "A thread that is not pinned takes {} times as long for a durable write as on processor {cpu} (interval from {} to {}).",
            format::digits(gain.value),
            format::digits(gain.low),
            format::digits(gain.high)
        ),
    );
    let advice = format!(
        "With a dedicated log writer, try --log-writer-cpu {cpu} and compare commits with and without it under the load of production: a pinned log writer waits when that processor is busy."
    );
    notes.push(numbers(note.limit(limit(t), &t.placement_gain_pct), found).advice(advice));
}

fn slow(
    place: &PlaceFigures,
    ratio: &Estimate,
    found: &PlaceComparison<'_>,
    t: &Thresholds,
    notes: &mut Vec<Note>,
) {
    let (Some(own), Some(fastest)) = (place.cpu, found.fastest.cpu) else {
        return;
    };
    let note = Note::of(
        &catalogue::PROCESSOR_SLOW,
        Caution,
        format!(
            "The log writer is pinned to processor {own}, from which a durable write takes {} times as long as from processor {fastest} (interval from {} to {}).",
            format::digits(ratio.value),
            format::digits(ratio.low),
            format::digits(ratio.high)
        ),
    );
    let advice = format!(
        "Do not pin the log writer, or try --log-writer-cpu {fastest}, and compare commits under the load of production."
    );
    notes.push(
        note.number("cpu", own.into())
            .number("over_fastest", ratio.value)
            .number("over_fastest_low", ratio.low)
            .number("over_fastest_high", ratio.high)
            .limit(limit(t), &t.placement_gain_pct)
            .advice(advice),
    );
}

fn limit(t: &Thresholds) -> String {
    format!(
        "lower end of the interval over {}",
        format::digits(1.0 + t.placement_gain_pct.value / 100.0)
    )
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::super::fixture::clean_run;
    use super::*;
    use crate::placement::tests::placement;

    const SLOW: [u64; 8] = [205, 199, 210, 204, 206, 201, 203, 207];
    const FAST: [u64; 8] = [110, 108, 113, 109, 112, 107, 111, 110];
    /// As fast as `FAST` on the whole, and far apart by round.
    const NOISY: [u64; 8] = [80, 190, 70, 200, 90, 210, 75, 180];

    /// Ids of what is found about processors, where the log writer is on `cpus`.
    fn found(unpinned: [u64; 8], slow: [u64; 8], cpus: &[u32]) -> Vec<String> {
        let mut run = clean_run();
        run.placement = Some(placement(&[
            (None, unpinned),
            (Some(0), slow),
            (Some(1), FAST),
        ]));
        if let TargetFacts::RedoLog(log) = &mut run.target.facts {
            log.log_writer_cpus = cpus.to_vec();
        }
        let all = findings(&run, &Thresholds::default());
        let ids = all.into_iter().map(|finding| finding.id);
        ids.filter(|id| id.starts_with("processor.")).collect()
    }

    #[test]
    fn pinning_is_recommended_only_where_it_was_measured_to_be_faster() {
        for (unpinned, slow, cpus, expected) in [
            (
                SLOW,
                SLOW,
                &[][..],
                &["processor.pin", "processor.floor"][..],
            ),
            (FAST, SLOW, &[], &["processor.floor"]),
            (NOISY, SLOW, &[], &["processor.floor"]),
            (NOISY, NOISY, &[], &["processor.floor"]),
            // It is pinned where it is fast; where it is slow; where nothing was measured.
            (SLOW, SLOW, &[1], &["processor.floor"]),
            (FAST, SLOW, &[0], &["processor.slow", "processor.floor"]),
            (FAST, NOISY, &[0], &["processor.floor"]),
            (FAST, SLOW, &[7], &["processor.floor"]),
            (FAST, SLOW, &[0, 1], &["processor.floor"]),
        ] {
            assert_eq!(
                found(unpinned, slow, cpus),
                expected,
                "{unpinned:?} {cpus:?}"
            );
        }
    }

    #[test]
    fn a_busy_processor_recommends_nothing() {
        let ids = |waited: Option<f64>| {
            let mut run = clean_run();
            let mut measured = placement(&[(None, SLOW), (Some(0), SLOW), (Some(1), FAST)]);
            measured.places[1].run_queue_pct = waited;
            run.placement = Some(measured);
            let all = findings(&run, &Thresholds::default());
            all.iter().filter(|f| f.id == "processor.pin").count()
        };
        assert_eq!([ids(None), ids(Some(4.0)), ids(Some(12.0))], [1, 1, 0]);
    }

    #[test]
    fn without_a_comparison_nothing_is_found() {
        let mut run = clean_run();
        let ids = |run: &Run| {
            let all = findings(run, &Thresholds::default());
            all.iter()
                .filter(|f| f.id.starts_with("processor."))
                .count()
        };
        assert_eq!(ids(&run), 0);
        run.placement = Some(placement(&[]));
        assert_eq!(ids(&run), 0);
    }
}
