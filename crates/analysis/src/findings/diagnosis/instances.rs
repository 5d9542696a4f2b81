//! Instances of one database whose commits or log writes take unlike times.
//!
//! Invariant: means of instances are compared and never joined: a mean over them is of no instance.

use super::super::evidence::view::show;
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::figures::{EventWaits, ReportFigures, WAITS_MIN};
use super::{SYNC, WRITE};
use crate::format::{count, latency};
use crate::thresholds::Thresholds;
use std::collections::BTreeSet;

/// Times that the mean of a slow instance is that of the quickest one, at least.
const SLOWER: f64 = 3.0;

/// An instance and its waits for an event.
type OfInstance<'a> = (&'a ReportFigures<'a>, EventWaits);

pub(super) fn collect(reports: &[ReportFigures<'_>], t: &Thresholds, notes: &mut Vec<Note>) {
    let files: BTreeSet<&str> = reports
        .iter()
        .filter(|of| !of.instance.is_empty())
        .map(|of| of.file)
        .collect();
    for file in files {
        let found = [WRITE, SYNC].into_iter().find_map(|event| {
            let of_file = reports
                .iter()
                .filter(|of| of.file == file && !of.instance.is_empty());
            let each = of_file.filter_map(|of| {
                let waits = of.event(event).filter(|w| w.waits >= WAITS_MIN)?;
                Some((of, waits))
            });
            unlike(event, each.collect(), t)
        });
        notes.extend(found);
    }
}

/// What is slow in some instances and not in others.
fn unlike(event: &str, mut each: Vec<OfInstance<'_>>, t: &Thresholds) -> Option<Note> {
    each.sort_by(|a, b| b.1.mean_ms().total_cmp(&a.1.mean_ms()));
    let quickest = each.last()?.1.mean_ms();
    let limit = &t.write_mean_fair_ms;
    let is_slow = |(_, waits): &OfInstance<'_>| {
        waits.mean_ms() >= limit.value && waits.mean_ms() >= SLOWER * quickest
    };
    let slow = each.iter().take_while(|of| is_slow(of)).count();
    let ((slowest, waits), others) = (each.first().filter(|_| slow > 0)?, each.get(slow..)?);
    let words = |(of, waits): &OfInstance<'_>| {
        let share = of.db_time_pct(event).filter(|_| event == SYNC);
        let share = share.map_or_else(String::new, |pct| {
            format!(", {} % of its DB time", show(pct))
        });
        format!(
            "{} {} ({} waits{share})",
            of.instance,
            latency(waits.mean_ms() * 1e6),
            count(waits.waits as u64)
        )
    };
    let join = |of: &[OfInstance<'_>]| of.iter().map(words).collect::<Vec<_>>().join(", ");
    let claim = format!(
        "{event} is slow in {slow} of {} instances: {}; the others are quick: {}. What the slow ones have for \
         themselves is the reason (node, path, redo logs), not storage that all share ({})",
        each.len(),
        join(each.get(..slow)?),
        join(others),
        slowest.file
    );
    Some(
        Note::of(&catalogue::DIAGNOSIS_INSTANCES, Caution, claim)
            .number("slowest_mean_ms", waits.mean_ms())
            .number("quickest_mean_ms", quickest)
            .limit(
                format!(
                    "a mean of {} ms, {SLOWER} times the quickest one",
                    limit.value
                ),
                limit,
            ),
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::evidence::view::Tables;
    use super::super::reports::reports;
    use super::*;
    use measure::imported::{Cell, Column, Table};

    fn table(instance: u32, waits: u64, seconds: u32) -> Table {
        let column = |key: &str| Column {
            key: key.to_owned(),
            heading: key.to_owned(),
        };
        Table {
            id: "top_events".to_owned(),
            title: format!("Top timed events (instance {instance})"),
            file: "f".to_owned(),
            columns: ["event", "waits", "time_s", "time"].map(column).to_vec(),
            rows: vec![vec![
                Cell::Text(SYNC.to_owned()),
                Cell::Count(waits),
                Cell::Real(f64::from(seconds)),
                Cell::Text(seconds.to_string()),
            ]],
            ..Table::default()
        }
    }

    fn found(tables: &[Table]) -> Vec<String> {
        let mut notes = Vec::new();
        collect(&reports(Tables(tables)), &Thresholds::default(), &mut notes);
        notes.into_iter().map(|note| note.done().claim).collect()
    }

    #[test]
    fn a_slow_instance_beside_quick_ones() {
        let two = [table(1, 100_000, 110), table(2, 10_000, 248)];
        let all = found(&two);
        assert_eq!(all.len(), 1, "{all:?}");
        for words in ["1 of 2 instances: instance 2 24.8 ms", "instance 1 1.10 ms"] {
            assert!(all[0].contains(words), "{all:?}");
        }
        // All are slow, or the slow one is not slow enough, or has next to no waits.
        for (waits, seconds) in [(10_000, 60), (100_000, 390), (10, 1)] {
            let tables = [table(1, 10_000, 40), table(2, waits, seconds)];
            assert!(found(&tables).is_empty(), "{waits} {seconds}");
        }
    }
}
