//! Copies of `/proc/diskstats`, one or more in a file: two copies are subtracted to operations,
//! latencies and utilisation. The time of a copy is above it: `TS` and seconds, as pt-diskstats
//! collects them, the seconds alone (`date +%s`, also with a part or as nanoseconds), or a date
//! with a time. Without times there are no rates.
//!
//! Columns are those of the kernel's `Documentation/admin-guide/iostats.rst`: reads, merged,
//! sectors of 512 bytes, milliseconds; the same of writes; in flight, milliseconds of I/O, weighted
//! milliseconds; since 4.18 discards, since 5.5 flushes and their milliseconds.

use crate::Notes;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::{Cell, Severity};
use measure::origin::{OriginInput, TextSpan};
use std::collections::{BTreeMap, BTreeSet};

/// Devices of a file that are kept.
const DEVICES_MAX: usize = 4096;
/// Counters of a line that are kept.
const COUNTERS: usize = 17;
/// Counters that a line has at least.
const COUNTERS_MIN: usize = 11;

const READS: usize = 0;
const READ_MS: usize = 3;
const WRITES: usize = 4;
const WRITE_SECTORS: usize = 6;
const WRITE_MS: usize = 7;
const IN_FLIGHT: usize = 8;
const BUSY_MS: usize = 9;
const WEIGHTED_MS: usize = 10;
const FLUSHES: usize = 15;
const FLUSH_MS: usize = 16;

/// Whether a line is of such a copy.
pub fn opens(line: &str) -> bool {
    sample(SourceLine::new(1, line)).is_some()
}

type Counter = Option<(u64, Option<TextSpan>)>;

/// The device and its counters.
fn sample(source: SourceLine<'_>) -> Option<(&str, [Counter; COUNTERS])> {
    let mut words = source.text.split_ascii_whitespace();
    let whole = |w: &str| w.parse::<u64>().ok();
    let (_, _) = (whole(words.next()?)?, whole(words.next()?)?);
    let name = words.next()?;
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name.len() > 128 {
        return None;
    }
    let mut counters = [None; COUNTERS];
    let mut met = 0;
    for word in words {
        let value = whole(word)?;
        if let Some(slot) = counters.get_mut(met) {
            *slot = Some((value, source.span(word)));
        }
        met += 1;
    }
    (COUNTERS_MIN..=32)
        .contains(&met)
        .then_some((name, counters))
}

#[derive(Clone, Debug)]
struct Sample {
    at: Option<(f64, SourcedCell)>,
    counters: [Counter; COUNTERS],
}

/// The copies of a file.
#[derive(Debug, Default)]
pub struct DiskstatsCopies {
    table: Option<usize>,
    devices: BTreeMap<String, Sample>,
    at: Option<(f64, SourcedCell)>,
    /// The shortest interval between times of whole seconds, and a line that it ends at.
    whole: Option<(f64, u64)>,
    /// Devices without I/O in the last copy.
    idle: BTreeSet<String>,
}

impl DiskstatsCopies {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        match line.as_bytes().first() {
            Some(b' ' | b'0'..=b'9') => {}
            Some(b'T') if line.starts_with("TS ") => {
                self.stamp(line, number);
                return;
            }
            // What `date` prints.
            Some(b'M' | b'T' | b'W' | b'F' | b'S') => {
                self.moment(SourceLine::new(number, line));
                return;
            }
            _ => return,
        }
        let first = line.trim_ascii_start().as_bytes().first();
        if !first.is_some_and(u8::is_ascii_digit) {
            return;
        }
        let source = SourceLine::new(number, line);
        let Some((name, counters)) = sample(source) else {
            self.moment(source);
            return;
        };
        let sample = Sample {
            at: self.at.clone(),
            counters,
        };
        let is_known = self.devices.contains_key(name) || self.devices.len() < DEVICES_MAX;
        let before = is_known.then(|| self.devices.insert(name.to_owned(), sample.clone()));
        let before = before.flatten();
        // The first copy is since boot: it is shown with its counts, and has no rates.
        self.give(source, name, before.as_ref(), &sample, sheets, notes);
    }

    /// The line `TS 1281367519`, and the text behind it.
    fn stamp(&mut self, line: &str, number: u64) {
        let Some(word) = line
            .strip_prefix("TS ")
            .and_then(|r| r.split_whitespace().next())
        else {
            return;
        };
        let plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        if let Some(seconds) = word.parse::<f64>().ok().filter(|_| plain) {
            let source = SourceLine::new(number, line);
            self.at = Some((seconds, source.scaled(word, seconds, 1.0)));
        }
    }

    /// A line that is a time alone: seconds since 1970, their thousandths or billionths, or a date
    /// with a time of day.
    fn moment(&mut self, source: SourceLine<'_>) {
        const EPOCH: std::ops::Range<f64> = 1e9..1e10;
        const LONGEST: usize = 64;
        let word = source.text.trim();
        if word.len() > LONGEST {
            return;
        }
        let plain = word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let units = [1.0, 1e-3, 1e-6, 1e-9];
        let of_unit = |number: f64| units.iter().find(|unit| EPOCH.contains(&(number * **unit)));
        let number = word.parse::<f64>().ok().filter(|_| plain);
        if let Some((number, unit)) = number.and_then(|number| Some((number, *of_unit(number)?))) {
            self.at = Some((number * unit, source.scaled(word, number, unit)));
        } else if let Some(seconds) = date_and_time(word) {
            let inputs = source.span(word).map(Into::into).into_iter().collect();
            let cell = SourcedCell::computed(Some(seconds), "seconds since 1970", inputs);
            self.at = Some((seconds, cell));
        }
    }

    /// Keeps the shortest interval between two times without decimals.
    fn times(&mut self, before: Option<&Sample>, after: &Sample, number: u64) {
        let at = |s: &Sample| {
            s.at.as_ref()
                .map(|(at, _)| *at)
                .filter(|a| a.fract() == 0.0)
        };
        let seconds = before.and_then(at).zip(at(after)).map(|(a, b)| b - a);
        if let Some(seconds) = seconds.filter(|s| *s > 0.0)
            && self.whole.is_none_or(|(least, _)| seconds < least)
        {
            self.whole = Some((seconds, number));
        }
    }

    /// Ends the file.
    pub fn end(&self, notes: &mut Notes) {
        if let Some((seconds, line)) = self.whole {
            let at = Some(line);
            notes.add(Severity::Warning, "diskstats.whole_seconds", at, None, || {
                format!(
                    "TS has whole seconds: rates and %util of an interval of n seconds may be off \
                     by up to 1/n; the shortest interval has {seconds} s ({:.0} %)",
                    100.0 / seconds
                )
            });
        }
        if !self.idle.is_empty() {
            notes.add(Severity::Note, "diskstats.no_io", None, None, || {
                let names: Vec<&str> = self.idle.iter().map(String::as_str).collect();
                let count = names.len();
                format!(
                    "{count} devices had no I/O and have no rows: {}",
                    names.join(", ")
                )
            });
        }
    }

    fn give(
        &mut self,
        source: SourceLine<'_>,
        name: &str,
        before: Option<&Sample>,
        after: &Sample,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        let is_idle = |s: &Sample| s.counters.iter().flatten().all(|(n, _)| *n == 0);
        if is_idle(after) {
            if self.idle.len() < DEVICES_MAX {
                self.idle.insert(name.to_owned());
            }
            return;
        }
        self.idle.remove(name);
        self.times(before, after, source.number);
        if let Some(at) = before.and_then(|b| goes_back(b, after)) {
            let line = Some(source.number);
            notes.add(Severity::Warning, "diskstats.goes_back", line, None, || {
                format!(
                    "{}: counter {} goes back: the machine or the device was restarted, or the \
                     counter began again; not subtracted",
                    crate::notes::quote(name.as_bytes()),
                    at + 1
                )
            });
            return;
        }
        let row = match before {
            Some(before) => row(source, name, before, after),
            None => {
                let mut row = vec![
                    source.text(name),
                    after
                        .at
                        .clone()
                        .map_or_else(SourcedCell::blank, |(_, cell)| cell),
                    SourcedCell::label("since boot"),
                ];
                row.resize(4, SourcedCell::blank());
                let counts = [READS, WRITES, WRITE_SECTORS, FLUSHES];
                row.extend(counts.map(|c| {
                    let found = after.counters[c];
                    found.map_or_else(SourcedCell::blank, |(n, s)| {
                        SourcedCell::read(Cell::Count(n), s)
                    })
                }));
                row
            }
        };
        let table = *self
            .table
            .get_or_insert_with(|| open(source.number, sheets));
        sheets.sourced_row(table, source.number, row);
    }
}

/// Seconds of `2024-03-11 10:00:00.5`, or of what `date` prints, `Mon Mar 11 10:00:00 CET 2024`:
/// only differences are used, so that the zone does not matter.
fn date_and_time(text: &str) -> Option<f64> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let micros = crate::trace::stamp(text).or_else(|| {
        let words: Vec<&str> = text.split_ascii_whitespace().take(8).collect();
        let [_, month, day, time, .., year] = words.as_slice() else {
            return None;
        };
        let at = MONTHS
            .find(month)
            .filter(|at| month.len() == 3 && at % 3 == 0)?;
        let month = at / 3 + 1;
        let day: u8 = day.parse().ok()?;
        crate::trace::stamp(&format!("{year}-{month:02}-{day:02} {time}"))
    });
    micros.map(|micros| micros as f64 / 1e6)
}

fn open(number: u64, sheets: &mut Sheets) -> usize {
    let columns = [
        ("device", "Device"),
        ("at_s", "TS"),
        ("covers", "Covers"),
        ("seconds", "Seconds"),
        ("reads", "Reads"),
        ("writes", "Writes"),
        ("write_sectors", "Sectors written (512)"),
        ("flushes", "Flushes"),
        ("reads_per_s", "r/s"),
        ("writes_per_s", "w/s"),
        ("write_mb_per_s", "wMB/s"),
        ("flushes_per_s", "f/s"),
        ("read_await_ms", "r_await"),
        ("write_await_ms", "w_await"),
        ("flush_await_ms", "f_await"),
        ("util_pct", "%util"),
        ("queue", "avg queue"),
        ("in_flight", "In flight"),
    ];
    sheets.open("diskstats", "Samples of /proc/diskstats", number, &columns)
}

/// The counter that goes back. What is in flight is no counter.
fn goes_back(before: &Sample, after: &Sample) -> Option<usize> {
    let pairs = before.counters.iter().zip(&after.counters).enumerate();
    let back = |(i, (a, b)): &(usize, (&Counter, &Counter))| match (a, b) {
        (Some((a, _)), Some((b, _))) => *i != IN_FLIGHT && b < a,
        _ => false,
    };
    pairs.into_iter().find(back).map(|(i, _)| i)
}

/// The row of what happened between two samples of a device.
fn row(source: SourceLine<'_>, name: &str, before: &Sample, after: &Sample) -> Vec<SourcedCell> {
    let seconds = before.at.as_ref().zip(after.at.as_ref());
    let seconds = seconds.map(|((a, _), (b, _))| b - a).filter(|s| *s > 0.0);
    let grew = |at: usize| match (before.counters[at], after.counters[at]) {
        (Some((a, first)), Some((b, second))) => Some((b.saturating_sub(a), first, second)),
        _ => None,
    };
    let inputs = |all: &[usize]| -> Vec<OriginInput> {
        let spans = all.iter().filter_map(|at| grew(*at));
        spans
            .flat_map(|(_, a, b)| [b, a])
            .flatten()
            .map(OriginInput::Span)
            .collect()
    };
    let count = |at: usize| {
        let cell = grew(at).map_or(Cell::Blank, |(n, ..)| Cell::Count(n));
        SourcedCell::derived(cell, "after - before", inputs(&[at]))
    };
    let rate = |at: usize, scale: f64| {
        let value = grew(at)
            .zip(seconds)
            .map(|((n, ..), s)| n as f64 * scale / s);
        SourcedCell::computed(value, "(after - before) * unit / seconds", inputs(&[at]))
    };
    let mean = |ms: usize, n: usize| {
        let both = grew(ms).zip(grew(n)).filter(|(_, (n, ..))| *n > 0);
        let value = both.map(|((ms, ..), (n, ..))| ms as f64 / n as f64);
        SourcedCell::computed(
            value,
            "milliseconds / operations, of differences",
            inputs(&[ms, n]),
        )
    };
    let in_flight = after.counters[IN_FLIGHT];
    vec![
        source.text(name),
        after
            .at
            .clone()
            .map_or_else(SourcedCell::blank, |(_, cell)| cell),
        SourcedCell::label("interval"),
        SourcedCell::computed(seconds, "difference of the TS lines", Vec::new()),
        count(READS),
        count(WRITES),
        count(WRITE_SECTORS),
        count(FLUSHES),
        rate(READS, 1.0),
        rate(WRITES, 1.0),
        rate(WRITE_SECTORS, 512.0 / 1_048_576.0),
        rate(FLUSHES, 1.0),
        mean(READ_MS, READS),
        mean(WRITE_MS, WRITES),
        mean(FLUSH_MS, FLUSHES),
        rate(BUSY_MS, 0.1),
        rate(WEIGHTED_MS, 1e-3),
        in_flight.map_or_else(SourcedCell::blank, |(n, s)| {
            SourcedCell::read(Cell::Count(n), s)
        }),
    ]
}
