//! Intervals between listings of views, each with the figures that a report of it would have: a
//! folder of hourly listings is a series, as a folder of reports is.
//!
//! Invariant: intervals are of one instance, and of listings whose times are known.

use super::super::evidence::view::{Line, Tables, lines};
use super::figures::ReportFigures;
use jiff::civil::DateTime;
use measure::imported::Table;
use std::collections::{BTreeMap, BTreeSet};

/// Tables of differences that have figures of an interval.
const CHANGES: [&str; 2] = ["system_event_change", "sysstat_change"];
/// Intervals that are more than a before and an after.
pub(in crate::findings) const INTERVALS_MIN: usize = 3;
/// Before the instance in the title of such a table.
const OF: &str = "differences of listings";

/// When a listing or a snapshot was made, by its name: `38483 27-Sep-20 11:00:13 65 1.7`,
/// `2024-06-18 00:00:01`, `18-JUN-24 12.00.05.123 AM`, `Tue Jun 18 00:00:01 UTC 2024`, or the
/// digits of a file's name, `snap_20240618_0000.lst line 11`.
pub(super) fn moment(name: &str) -> Option<DateTime> {
    const FORMS: [&str; 5] = [
        "%d-%b-%y %H:%M:%S",
        "%d-%b-%Y %H:%M:%S",
        "%Y-%m-%d %H:%M:%S%.f",
        "%d-%b-%y %I.%M.%S%.f %p",
        "%b %d %H:%M:%S %Y",
    ];
    let is_digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
    let bytes = name.as_bytes();
    // Between a date and a time.
    let is_between = |at: usize| {
        is_digit(at.checked_sub(1).and_then(|at| bytes.get(at))) && is_digit(bytes.get(at + 1))
    };
    let apart = name
        .char_indices()
        .map(|(at, c)| if c == 'T' && is_between(at) { ' ' } else { c });
    let name: String = apart.collect();
    let is_zone = |word: &str| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase());
    let words: Vec<&str> = name.split_whitespace().filter(|w| !is_zone(w)).collect();
    let parsed = |text: &str| {
        let mut each = FORMS.iter();
        each.find_map(|form| DateTime::strptime(form, text).ok())
    };
    let of_words = [2, 3, 4].into_iter().find_map(|n| {
        let mut each = words.windows(n);
        each.find_map(|some| parsed(&some.join(" ")))
    });
    of_words.or_else(|| of_file(&name))
}

/// The moment that a file's name has in its digits: day, hour and minute.
fn of_file(name: &str) -> Option<DateTime> {
    const DIGITS: usize = 12;
    let (file, _line) = name.split_once(" line ")?;
    let file = file.rsplit('/').next().unwrap_or(file);
    let digits: String = file.chars().filter(char::is_ascii_digit).collect();
    let ends = DIGITS..=digits.len();
    ends.filter_map(|end| digits.get(end - DIGITS..end))
        .filter(|digits| digits.starts_with("20"))
        .find_map(|digits| DateTime::strptime("%Y%m%d%H%M", digits).ok())
}

/// The instance whose differences a table has; empty where its listings do not name it.
pub(super) fn instance(table: &Table) -> &str {
    let of = table.title.split_once(OF).map_or("", |(_, of)| of);
    of.strip_prefix(" of ").unwrap_or_default()
}

/// How many stretches between two listings a table of differences has.
pub(super) fn stretches(table: &Table) -> usize {
    let ends = |line: Line<'_>| [line.text("from"), line.text("to")].map(str::to_owned);
    lines(table)
        .map(ends)
        .collect::<BTreeSet<[String; 2]>>()
        .len()
}

/// The intervals of each instance that has enough of them.
pub(super) fn of(tables: Tables<'_>) -> Vec<ReportFigures<'_>> {
    let mut all: BTreeMap<(&str, DateTime, DateTime), ReportFigures<'_>> = BTreeMap::new();
    for table in CHANGES.into_iter().flat_map(|id| tables.of(id)) {
        for line in lines(table) {
            let [from, to] = ["from", "to"].map(|key| line.text(key));
            let (Some(begin), Some(end)) = (moment(from), moment(to)) else {
                continue;
            };
            let seconds = end.duration_since(begin).as_secs_f64();
            let of = all.entry((instance(table), begin, end));
            let of = of.or_insert_with(|| {
                let mut figures = ReportFigures::of(to);
                figures.window_s = Some(seconds).filter(|s| *s > 0.0);
                figures.interval = Some((instance(table), from));
                figures
            });
            of.line(&table.id, &line);
        }
    }
    let mut each: BTreeMap<&str, usize> = BTreeMap::new();
    for (instance, ..) in all.keys() {
        *each.entry(*instance).or_default() += 1;
    }
    let is_enough = |(instance, ..): &(&str, DateTime, DateTime)| {
        each.get(instance).is_some_and(|n| *n >= INTERVALS_MIN)
    };
    all.retain(|key, _| is_enough(key));
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_listings() {
        let want = DateTime::strptime("%Y-%m-%d %H:%M", "2024-06-18 00:30").expect("a moment");
        for name in [
            "38483 18-Jun-24 00:30:00 65 1.7",
            "2024-06-18 00:30:00",
            "2024-06-18T00:30:00",
            "18-JUN-24 12.30.00.000 AM",
            "Tue Jun 18 00:30:00 UTC 2024",
            "day/snap_20240618_0030.lst line 11",
            "db1-2024-06-18-0030.lst line 4",
        ] {
            assert_eq!(moment(name), Some(want), "{name}");
        }
        assert_eq!(moment("a.lst line 20240618"), None);
        assert_eq!(moment("snap 4410"), None);
    }
}
