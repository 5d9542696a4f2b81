//! The figures of one report that a diagnosis needs: waits by event, statistics, processors.
//!
//! Invariant: what the evidence does not contain is absent, never zero.

use super::super::evidence::view::Line;
use measure::printed;
use std::collections::BTreeMap;

/// Waits from which a share or a percentile of them says something.
pub(super) const WAITS_MIN: f64 = 100.0;
/// Tables of wait events of reports; an event of a later one has more digits.
pub(in crate::findings) const EVENTS: [&str; 4] = [
    "top_events",
    "all_waits",
    "foreground_waits",
    "background_waits",
];

/// Bytes of redo per second of a load profile, beside the statistics of the instance.
pub(super) const REDO_RATE: &str = "redo size per second";

/// Waits for one event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::findings) struct EventWaits {
    /// Number.
    pub(in crate::findings) waits: f64,
    /// Their sum in ms.
    pub(in crate::findings) total_ms: f64,
    /// How far rounding of the sum may be off, as a share of it.
    pub(in crate::findings) off: f64,
    /// Their number is not printed: it is their time over their average.
    pub(in crate::findings) is_about: bool,
}

impl EventWaits {
    /// Their mean in ms.
    pub(in crate::findings) fn mean_ms(&self) -> f64 {
        self.total_ms / self.waits
    }

    /// Both together.
    pub(super) fn and(self, other: EventWaits) -> EventWaits {
        EventWaits {
            waits: self.waits + other.waits,
            total_ms: self.total_ms + other.total_ms,
            off: self.off.max(other.off),
            is_about: self.is_about || other.is_about,
        }
    }

    /// Their number in words; of what follows from rounded figures two digits.
    pub(super) fn number_in_words(&self) -> String {
        let unit = 10f64.powf(self.waits.max(1.0).log10().floor() - 1.0);
        match self.is_about {
            true => format!(
                "about {} waits (time / average, their number is not printed)",
                crate::format::count(((self.waits / unit).round() * unit) as u64)
            ),
            false => format!("{} waits", crate::format::count(self.waits as u64)),
        }
    }
}

/// What one report, or a set of traces, contains.
#[derive(Debug, Default)]
pub(in crate::findings) struct ReportFigures<'a> {
    /// The file; empty where it joins several.
    pub(in crate::findings) file: &'a str,
    /// The instance, where the file has figures of several; else empty.
    pub(in crate::findings) instance: String,
    events: BTreeMap<&'a str, EventWaits>,
    statistics: BTreeMap<&'a str, f64>,
    /// Shares of DB time in percent; Statspack has them of call time, which is the same sum.
    db_time: BTreeMap<&'a str, f64>,
    /// Waits per transaction.
    per_transaction: BTreeMap<&'a str, f64>,
    /// Idle processors in percent, the lowest of its tables.
    pub(in crate::findings) idle_pct: Option<f64>,
    /// Seconds between its snapshots.
    pub(in crate::findings) window_s: Option<f64>,
    /// Where it is an interval between two listings of views: the instance, and the name of the
    /// listing that it begins with; `file` is the name of the one that it ends with.
    pub(in crate::findings) interval: Option<(&'a str, &'a str)>,
}

impl<'a> ReportFigures<'a> {
    /// None yet, of a file or an interval of that name.
    pub(super) fn of(file: &'a str) -> ReportFigures<'a> {
        ReportFigures {
            file,
            ..ReportFigures::default()
        }
    }

    /// Waits for an event, by the name that Oracle gives it. Reports as text cut long names.
    pub(in crate::findings) fn event(&self, name: &str) -> Option<EventWaits> {
        /// Characters that a cut name keeps at least.
        const KEPT: usize = 24;
        let is_cut = |known: &str| known.len() >= KEPT && name.starts_with(known);
        let cut = || self.events.iter().find(|(known, _)| is_cut(known));
        let exact = self.events.get(name);
        exact.or_else(|| Some(cut()?.1)).copied()
    }

    /// Whether there is an event whose name begins so.
    pub(in crate::findings) fn has_event_like(&self, begin: &str) -> bool {
        self.events.keys().any(|name| name.starts_with(begin))
    }

    /// The names of all events.
    pub(in crate::findings) fn event_names(&self) -> impl Iterator<Item = &'a str> {
        self.events.keys().copied()
    }

    /// The sum of all waits for events of these names.
    pub(in crate::findings) fn events(&self, names: &[&str]) -> Option<EventWaits> {
        let found = names.iter().filter_map(|name| self.event(name));
        found.reduce(EventWaits::and)
    }

    /// The total of a statistic of the instance.
    pub(in crate::findings) fn statistic(&self, name: &str) -> Option<f64> {
        self.statistics.get(name).copied()
    }

    /// An event's share of DB time in percent.
    /// Nothing is known where idle waits are among the events: the shares are of their sum.
    pub(in crate::findings) fn db_time_pct(&self, name: &str) -> Option<f64> {
        let is_idle = |(event, pct): (&&str, &f64)| event.ends_with(" idle") && *pct > 0.0;
        let has_idle = self.db_time.iter().any(is_idle);
        self.db_time.get(name).copied().filter(|_| !has_idle)
    }

    /// All shares of DB time in percent, by event; DB CPU is one.
    pub(in crate::findings) fn shares(&self) -> impl Iterator<Item = (&'a str, f64)> {
        self.db_time.iter().map(|(name, pct)| (*name, *pct))
    }

    /// Waits for an event per transaction, where the report prints them exactly enough.
    pub(in crate::findings) fn waits_per_transaction(&self, name: &str) -> Option<f64> {
        self.per_transaction.get(name).copied()
    }

    pub(super) fn is_of_log(&self) -> bool {
        !self.events.is_empty()
            || !self.statistics.is_empty()
            || !self.per_transaction.is_empty()
            || self.idle_pct.is_some()
    }

    /// Another line of a report: the one that is printed finer is kept.
    fn keep_finer(&mut self, name: &'a str, waits: EventWaits) {
        let known = self.events.entry(name).or_insert(waits);
        if waits.off < known.off {
            *known = waits;
        }
    }

    /// Waits of another process.
    fn add(&mut self, name: &'a str, waits: EventWaits) {
        let none = EventWaits {
            waits: 0.0,
            total_ms: 0.0,
            off: 0.0,
            is_about: false,
        };
        let sum = self.events.entry(name).or_insert(none);
        sum.waits += waits.waits;
        sum.total_ms += waits.total_ms;
    }

    /// Takes a line of a table with that id.
    pub(super) fn line(&mut self, id: &str, line: &Line<'a>) {
        match id {
            "wait_events" => {
                let sum = (line.number("waits"), line.number("total_us"));
                if let (Some(waits), Some(us)) = sum
                    && waits > 0.0
                {
                    let waits = EventWaits {
                        waits,
                        total_ms: us / 1e3,
                        off: 0.0,
                        is_about: false,
                    };
                    self.add(line.text("event"), waits);
                }
            }
            // Totals since the instance started, or of one interval.
            "system_event" | "system_event_change" => {
                if let Some(waits) = counted(line) {
                    match id {
                        "system_event" => {
                            self.events.insert(line.text("event"), waits);
                        }
                        _ => self.add(line.text("event"), waits),
                    }
                }
            }
            "load_profile" if line.text("name").starts_with("Redo size") => {
                if let Some(rate) = line.number("per_second") {
                    self.statistics.insert(REDO_RATE, rate);
                }
            }
            "instance_activity" => {
                if let Some(total) = line.number("total") {
                    self.statistics.insert(line.text("statistic"), total);
                }
            }
            "sysstat_change" => {
                if let Some(value) = line.number("value") {
                    *self.statistics.entry(line.text("statistic")).or_default() += value;
                }
            }
            "host_cpu" => {
                let idle = line.number("cpu_idle_pct").filter(|pct| *pct >= 0.0);
                self.idle_pct = match (self.idle_pct, idle) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
            }
            "stated_window" => self.window_s = line.number("seconds").filter(|s| *s > 0.0),
            id if EVENTS.contains(&id) => {
                let share = line.number("db_time_pct");
                if let Some(pct) = share.or_else(|| line.number("call_time_pct")) {
                    self.db_time.insert(line.text("event"), pct);
                }
                if let Some(each) = per_transaction(line) {
                    self.per_transaction.insert(line.text("event"), each);
                }
                if let Some(waits) = waits_of(line) {
                    self.keep_finer(line.text("event"), waits);
                }
            }
            _ => {}
        }
    }
}

/// Waits per transaction of a line, where the two decimals that are printed are enough to divide
/// by.
fn per_transaction(line: &Line<'_>) -> Option<f64> {
    const LEAST: f64 = 0.03;
    line.number("waits_per_txn").filter(|each| *each >= LEAST)
}

/// Waits of a line of a listing; where the number or the time is wider than its column, it follows
/// from the average.
fn counted(line: &Line<'_>) -> Option<EventWaits> {
    let (waits, ms) = (
        line.number("waits"),
        line.number("time_us").map(|us| us / 1e3),
    );
    let mean = line.number("avg_wait_ms").filter(|ms| *ms > 0.0);
    let is_about = waits.is_none() || ms.is_none();
    let shown = mean.filter(|_| is_about).unwrap_or(1.0);
    // Averages are printed with two digits of hundredths of a second.
    let off = if is_about { 0.05 / shown } else { 0.0 };
    let waits = waits.or_else(|| Some(ms? / mean?)).filter(|n| *n > 0.0)?;
    Some(EventWaits {
        waits,
        total_ms: ms.or_else(|| Some(waits * mean?))?,
        off,
        is_about,
    })
}

/// Waits of a line of a report: from the sum or from the mean, whichever was printed finer.
pub(in crate::findings) fn waits_of(line: &Line<'_>) -> Option<EventWaits> {
    let waits = line.number("waits").filter(|waits| *waits > 0.0)?;
    let fine = |key: &str, value: Option<f64>| {
        let value = value.filter(|value| *value > 0.0)?;
        let shown = printed::number(line.text(key))?;
        let off = shown.half_digit() / shown.value.abs().max(1e-300);
        Some((value, off))
    };
    let by_sum = fine("time", line.number("time_s")).map(|(s, off)| (s * 1e3, off));
    let by_mean = fine("avg_wait", line.number("avg_wait_ms")).map(|(ms, off)| (ms * waits, off));
    let (total_ms, off) = match (by_sum, by_mean) {
        (Some(a), Some(b)) if b.1 < a.1 => b,
        (a, b) => a.or(b)?,
    };
    Some(EventWaits {
        waits,
        total_ms,
        off,
        is_about: false,
    })
}
