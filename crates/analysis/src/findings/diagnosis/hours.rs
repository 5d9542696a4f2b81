//! When log writes are slow: slow writes by the hour of the day, and reports whose hours are slower
//! than the others. A nightly job shows here and nowhere else.

use super::super::evidence::published::clock;
use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::WRITE;
use super::figures::ReportFigures;
use measure::imported::{Source, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Slow writes from which hours are counted.
const WRITES_MIN: usize = 10;
/// Share of them in one hour of the day that makes a peak.
const HOUR_SHARE: f64 = 0.5;
/// Days on which an hour has to have slow writes.
const DAYS_MIN: usize = 2;
/// Reports from which hours are compared.
const REPORTS_MIN: usize = 6;
/// How much slower than the middle report an hour has to be.
const SLOWER: f64 = 3.0;
/// Means under this many ms are quick at any hour.
const QUICK_MS: f64 = 1.0;

/// A day, by any number, and an hour of it.
type DayHour = (i64, u32);

/// Slow writes that come at one hour of the day.
pub(super) fn of_slow_writes(tables: Tables<'_>, notes: &mut Vec<Note>) {
    let kinds = [
        (
            "log_write_warnings",
            "elapsed_ms",
            "warnings of the log writer",
        ),
        ("io_outliers", "io_latency", "V$LGWRIO_OUTLIER"),
    ];
    for (id, column, name) in kinds {
        if clock::is_clock(tables, id, column) {
            continue;
        }
        for table in tables.of(id) {
            let moments: Vec<DayHour> = lines(table).filter_map(|line| moment(&line)).collect();
            notes.extend(peak(&moments, name, table));
        }
    }
}

/// When a slow write was.
fn moment(line: &Line<'_>) -> Option<DayHour> {
    // A warning follows or precedes a stamp: the one above it is nearer where both are there.
    let stamp = ["stamp_above", "stamp_below"].map(|key| line.text(key));
    if let Some(found) = stamp.into_iter().find_map(of_stamp) {
        return Some(found);
    }
    let seconds = line.number("timestamp").filter(|s| *s > 1e9)? as i64;
    let hour = u32::try_from(seconds.rem_euclid(86_400) / 3600).ok()?;
    Some((seconds.div_euclid(86_400), hour))
}

/// `2014-03-12 02:10:00.000`: the day as a number of its own, and the hour.
fn of_stamp(stamp: &str) -> Option<DayHour> {
    let (date, time) = stamp.split_once([' ', 'T'])?;
    let digits: String = date.chars().filter(char::is_ascii_digit).collect();
    let hour = time.get(..2)?.parse().ok().filter(|h| *h < 24)?;
    Some((digits.parse().ok()?, hour))
}

fn peak(moments: &[DayHour], name: &str, table: &Table) -> Option<Note> {
    let mut hours: BTreeMap<u32, (usize, BTreeSet<i64>)> = BTreeMap::new();
    for (day, hour) in moments {
        let of = hours.entry(*hour).or_default();
        of.0 += 1;
        of.1.insert(*day);
    }
    let (hour, (count, days)) = hours.into_iter().max_by_key(|(_, (count, _))| *count)?;
    let share = count as f64 / moments.len() as f64;
    if moments.len() < WRITES_MIN || share < HOUR_SHARE || days.len() < DAYS_MIN {
        return None;
    }
    let claim = format!(
        "{count} of {} slow log writes ({name}) were between {hour:02}:00 and {:02}:00, on {} days: \
         something recurs at that hour ({})",
        moments.len(),
        (hour + 1) % 24,
        days.len(),
        place(table)
    );
    Some(
        Note::of(&catalogue::DIAGNOSIS_PEAK_HOUR, Caution, claim)
            .number("hour", f64::from(hour))
            .number("share", share)
            .number("days", days.len() as f64),
    )
}

/// Reports of one set whose log writes were slower than those of the others.
pub(super) fn of_reports(reports: &[ReportFigures<'_>], sources: &[Source], notes: &mut Vec<Note>) {
    let mut each: Vec<(f64, &str, u32)> = Vec::new();
    for report in reports {
        let source = sources.iter().find(|s| s.file == report.file);
        let mean = report.event(WRITE).map(|w| w.mean_ms());
        if let (Some(mean), Some(hour)) = (mean, source.and_then(begin_hour)) {
            each.push((mean, report.file, hour));
        }
    }
    if each.len() < REPORTS_MIN {
        return;
    }
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = each.get(each.len() / 2).map_or(0.0, |(mean, ..)| *mean);
    let slow: Vec<&(f64, &str, u32)> = each
        .iter()
        .filter(|(mean, ..)| *mean > SLOWER * middle && *mean > QUICK_MS)
        .collect();
    // Where a quarter is slow it is no peak.
    let Some((longest, file, _)) = slow.last().filter(|_| 4 * slow.len() <= each.len()) else {
        return;
    };
    let mut hours: Vec<u32> = slow.iter().map(|(.., hour)| *hour).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(|h| format!("{h:02}:00")).collect();
    let claim = format!(
        "{WRITE} takes up to {} ms in {} of {} reports, which begin at {}, and {} ms in the middle one: a \
         peak of that hour ({file})",
        show(*longest),
        slow.len(),
        each.len(),
        hours.join(", "),
        show(middle)
    );
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_PEAK_HOUR, Caution, claim)
            .number("longest_mean_ms", *longest)
            .number("middle_mean_ms", middle)
            .number("reports", slow.len() as f64),
    );
}

/// The hour in which a report begins: `Begin Snap` is `38483 15-Nov-26 02:00:12 …`.
fn begin_hour(source: &Source) -> Option<u32> {
    let (_, begin) = source.facts.iter().find(|(name, _)| name == "Begin Snap")?;
    let time = begin.split_whitespace().find(|word| {
        let b = word.as_bytes();
        b.len() >= 8 && b.get(2) == Some(&b':') && b.get(5) == Some(&b':')
    })?;
    time.get(..2)?.parse().ok().filter(|hour| *hour < 24)
}
