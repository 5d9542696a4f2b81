//! When log writes are slow: slow writes by the hour of the day, hours of a series of several days
//! that are slow again and again, and single reports that are slower than the others. A nightly job
//! shows here and nowhere else.
//!
//! Invariant: an hour recurs only where it is slow on several days; a report that a recurring hour
//! explains is not named again.

use super::super::evidence::published::clock;
use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::figures::ReportFigures;
use super::{SYNC, WRITE, explained_by_writes, risen, series};
use crate::format::latency;
use crate::stats::bootstrap::quantile;
use crate::thresholds::Thresholds;
use measure::imported::{Source, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Slow writes from which hours are counted.
const WRITES_MIN: usize = 10;
/// Share of them in one hour of the day that makes a peak.
const HOUR_SHARE: f64 = 0.5;
/// Days on which an hour has to have slow writes.
const DAYS_MIN: usize = 2;
/// Share of the slow writes in each of several hours: three times that of an even day.
const HOUR_PART: f64 = 0.125;
/// Days on which each of several hours has to be slow.
const RECURS_MIN: usize = 3;
/// How much slower than the middle of a series an hour has to be that recurs.
const RECURS_SLOWER: f64 = 2.0;
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
    let days: BTreeSet<i64> = moments.iter().map(|(day, _)| *day).collect();
    let share = |count: usize| count as f64 / moments.len() as f64;
    let recurs = |count: usize, on: usize| {
        on >= RECURS_MIN && 2 * on >= days.len() && share(count) >= HOUR_PART
    };
    hours.retain(|_, (count, on)| {
        recurs(*count, on.len()) || (share(*count) >= HOUR_SHARE && on.len() >= DAYS_MIN)
    });
    let count: usize = hours.values().map(|(count, _)| count).sum();
    if moments.len() < WRITES_MIN || share(count) < HOUR_SHARE {
        return None;
    }
    let when: Vec<String> = hours
        .iter()
        .map(|(hour, (_, on))| {
            let next = (hour + 1) % 24;
            format!("{hour:02}:00 and {next:02}:00, on {} days", on.len())
        })
        .collect();
    let (hour, (_, on)) = hours.iter().max_by_key(|(_, (count, _))| *count)?;
    let claim = format!(
        "{count} of {} slow log writes ({name}) were between {}: something recurs at {} ({})",
        moments.len(),
        when.join(", or between "),
        ["that hour", "those hours"][usize::from(hours.len() > 1)],
        place(table)
    );
    Some(
        Note::of(&catalogue::DIAGNOSIS_PEAK_HOUR, Caution, claim)
            .number("hour", f64::from(*hour))
            .number("share", share(count))
            .number("days", on.len() as f64),
    )
}

/// Hours of the day at which a figure of a series is slow again and again.
struct RecurringHours {
    key: &'static str,
    /// By the hour: days on which it is slow, and days on which the series has it.
    hours: BTreeMap<u32, [usize; 2]>,
    /// Places of the reports of these hours that are slow.
    slow: BTreeSet<usize>,
}

/// Hours of series that are slow again and again, and lasting changes of the other reports. The
/// reports of series with such hours: those have their word.
pub(super) fn of_series<'a>(
    tables: Tables<'a>,
    reports: &[ReportFigures<'_>],
    t: &Thresholds,
    notes: &mut Vec<Note>,
) -> BTreeSet<&'a str> {
    let mut explained = BTreeSet::new();
    for table in tables.of(series::REPORT_SERIES) {
        let recurring = recurring(table);
        let of_hours = recurring.as_ref().map(|of| {
            let is_slow = |at: usize| of.slow.contains(&at);
            let is_other = |at: usize| !is_slow(at);
            let beside = risen::in_series(table, reports, [&is_slow, &is_other]);
            note_recurring(table, of, &beside, t)
        });
        if of_hours.is_some() {
            explained.extend(lines(table).map(|line| line.text("report")));
        }
        notes.extend(of_hours);
        let without = recurring.map(|of| of.slow).unwrap_or_default();
        notes.push(series::note_of_change(table, reports, &without, t));
    }
    explained
}

/// The hours of a series that recur: those of the log writes, else those of log file sync.
fn recurring(table: &Table) -> Option<RecurringHours> {
    let [sync, write] = series::LATENCIES;
    recurring_of(table, write).or_else(|| recurring_of(table, sync))
}

fn recurring_of(table: &Table, key: &'static str) -> Option<RecurringHours> {
    let known: Vec<(usize, DayHour, f64)> = lines(table)
        .enumerate()
        .filter_map(|(at, line)| Some((at, of_stamp(line.text("begin"))?, line.number(key)?)))
        .collect();
    let mut values: Vec<f64> = known.iter().map(|(.., value)| *value).collect();
    if values.is_empty() {
        return None;
    }
    let middle = quantile(&mut values, 0.5);
    let is_slow = |value: f64| value > RECURS_SLOWER * middle && value > QUICK_MS;
    let mut days: BTreeMap<u32, [BTreeSet<i64>; 2]> = BTreeMap::new();
    for (_, (day, hour), value) in &known {
        let [slow, all] = days.entry(*hour).or_default();
        all.insert(*day);
        slow.extend(is_slow(*value).then_some(*day));
    }
    let counts = days
        .into_iter()
        .map(|(hour, of)| (hour, of.map(|d| d.len())));
    let hours: BTreeMap<u32, [usize; 2]> = counts
        .filter(|(_, [slow, all])| *slow >= RECURS_MIN && 2 * slow >= *all)
        .collect();
    let all_slow = known.iter().filter(|(.., value)| is_slow(*value));
    let (inside, outside): (Vec<&(usize, DayHour, f64)>, Vec<_>) =
        all_slow.partition(|(_, (_, hour), _)| hours.contains_key(hour));
    // Where as many are slow at other hours, slow reports are everywhere.
    (!hours.is_empty() && inside.len() > outside.len()).then(|| RecurringHours {
        key,
        hours,
        slow: inside.iter().map(|(at, ..)| *at).collect(),
    })
}

/// What recurs in a series, and what the other latency does at these hours.
fn note_recurring(table: &Table, found: &RecurringHours, risen: &str, t: &Thresholds) -> Note {
    let medians = |key: &str| {
        let of = |is_in: bool| {
            let all = lines(table).enumerate();
            let all = all.filter(|(at, _)| found.slow.contains(at) == is_in);
            let mut known: Vec<f64> = all.filter_map(|(_, line)| line.number(key)).collect();
            (!known.is_empty()).then(|| quantile(&mut known, 0.5))
        };
        Some([of(false)?, of(true)?])
    };
    let phrase = |[otherwise, slow]: [f64; 2]| {
        let [slow, otherwise] = [slow, otherwise].map(|ms| latency(ms * 1e6));
        format!("{slow} against {otherwise} otherwise")
    };
    // Hours that are slow on as many days are named together.
    let mut alike: Vec<([usize; 2], Vec<String>)> = Vec::new();
    for (hour, days) in &found.hours {
        let hour = format!("{hour:02}:00");
        match alike.iter_mut().find(|(known, _)| known == days) {
            Some((_, hours)) => hours.push(hour),
            None => alike.push((*days, vec![hour])),
        }
    }
    let when = alike
        .iter()
        .map(|([slow, all], hours)| format!("at {} on {slow} of {all} days", hours.join(", ")));
    let when: Vec<String> = when.collect();
    let [sync, write] = series::LATENCIES.map(medians);
    let is_write = found.key == series::LATENCIES[1];
    let (name, own, other_name, other) = match is_write {
        true => (WRITE, write, SYNC, sync),
        false => (SYNC, sync, WRITE, write),
    };
    let beside = other.map(|of| format!("; {other_name} {}", phrase(of)));
    let cause = sync.zip(write).and_then(|(s, w)| explained_by_writes(s, w));
    let cause = cause.map(|cause| format!(": {cause}"));
    let claim = format!(
        "{name} is slow {}: {}{}{}{risen} ({})",
        when.join(" and "),
        own.map(phrase).unwrap_or_default(),
        beside.unwrap_or_default(),
        cause.unwrap_or_default(),
        series::instance(table)
    );
    let on = found.hours.values().map(|[slow, _]| *slow).max();
    let weight = series::weight_of_slower(write.map(|[_, slow]| slow), t);
    Note::of(&catalogue::DIAGNOSIS_PEAK_HOUR, weight, claim)
        .number("hours", found.hours.len() as f64)
        .number("days", on.unwrap_or(0) as f64)
        .maybe("slow_ms", own.map(|[_, slow]| slow))
        .maybe("otherwise_ms", own.map(|[otherwise, _]| otherwise))
}

/// A report: mean of its log writes in ms, its figures, the hour in which it begins.
type ReportHour<'a> = (f64, &'a ReportFigures<'a>, u32);

/// Reports of one set whose log writes, else whose commits, were slower than those of the others.
/// Those that hours of a series explain have their word already.
pub(super) fn of_reports<'a>(
    explained: &BTreeSet<&str>,
    reports: &'a [ReportFigures<'a>],
    sources: &[Source],
    notes: &mut Vec<Note>,
) {
    let by_file: BTreeMap<&str, &Source> = sources.iter().map(|s| (s.file.as_str(), s)).collect();
    let peak = [WRITE, SYNC].into_iter().find_map(|event| {
        let mut each: Vec<ReportHour<'a>> = Vec::new();
        for report in reports.iter().filter(|r| !explained.contains(r.file)) {
            let source = by_file.get(report.file).copied();
            let mean = report.event(event).map(|w| w.mean_ms());
            if let (Some(mean), Some(hour)) = (mean, source.and_then(begin_hour)) {
                each.push((mean, report, hour));
            }
        }
        peak_of(event, each)
    });
    notes.extend(peak);
}

/// The reports whose mean of an event is far over that of the middle one.
fn peak_of<'a>(event: &str, mut each: Vec<ReportHour<'a>>) -> Option<Note> {
    if each.len() < REPORTS_MIN {
        return None;
    }
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    let middle = each.get(each.len() / 2).map_or(0.0, |(mean, ..)| *mean);
    let (slow, others): (Vec<_>, Vec<_>) = each
        .iter()
        .partition(|(mean, ..)| *mean > SLOWER * middle && *mean > QUICK_MS);
    // Where a quarter is slow it is no peak.
    let (longest, slowest, _) = slow.last().filter(|_| 4 * slow.len() <= each.len())?;
    let mut hours: Vec<u32> = slow.iter().map(|(.., hour)| *hour).collect();
    hours.sort_unstable();
    hours.dedup();
    let hours: Vec<String> = hours.iter().map(|h| format!("{h:02}:00")).collect();
    let of = |part: &[ReportHour<'a>]| {
        part.iter()
            .map(|(_, report, _)| *report)
            .collect::<Vec<_>>()
    };
    let claim = format!(
        "{event} takes up to {} ms in {} of {} reports, which begin at {}, and {} ms in the middle one: a \
         peak of that hour{} ({})",
        show(*longest),
        slow.len(),
        each.len(),
        hours.join(", "),
        show(middle),
        risen::beside(&of(&slow), &of(&others)),
        slowest.file
    );
    Some(
        Note::of(&catalogue::DIAGNOSIS_PEAK_HOUR, Caution, claim)
            .number("longest_mean_ms", *longest)
            .number("middle_mean_ms", middle)
            .number("reports", slow.len() as f64),
    )
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
