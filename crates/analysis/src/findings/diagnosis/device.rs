//! What `iostat` and `/proc/diskstats` show of the log's device: how busy it is, its queue, its
//! writes and flushes; and whether its rate stays at a ceiling while writes take longer, as a
//! provisioned limit makes it.
//!
//! Invariant: counts since boot are no interval, and an interval without times has no rates, but
//! has waits.

use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, Good, Info, catalogue};
use super::figures::WAITS_MIN;
use super::storage::{self, DeviceWaits};
use crate::thresholds::Thresholds;
use measure::imported::{Imported, Table};
use std::collections::BTreeSet;

/// Tables of devices over time.
pub(in crate::findings) const TABLES: [&str; 2] = ["iostat", "diskstats"];
/// Intervals from which a ceiling is judged.
const CAP_SAMPLES: usize = 10;
/// How near the highest rate an interval is at the ceiling.
const CAP_NEAR: f64 = 0.02;
/// Share of the intervals that are at the ceiling.
const CAP_SHARE: f64 = 0.3;
/// How much longer writes take at the ceiling than below it.
const CAP_SLOWER: f64 = 2.0;

/// Devices over time that the evidence shows.
#[must_use]
pub fn devices(imported: &Imported) -> BTreeSet<&str> {
    let tables = imported.tables.iter();
    let of = tables.filter(|t| TABLES.contains(&t.id.as_str()));
    of.flat_map(lines).map(|line| line.text("device")).collect()
}

/// Intervals of one device.
struct DeviceSamples<'a> {
    device: &'a str,
    /// It holds the log, or is the only one.
    is_known: bool,
    /// The user or the evidence says that it holds the log.
    holds_log: bool,
    table: &'a Table,
    lines: Vec<Line<'a>>,
}

/// Requests of all kinds per second.
const REQUESTS: &str = "transfers_per_s";

/// Whether writes are counted apart from reads.
fn counts_writes(lines: &[Line<'_>]) -> bool {
    let is_counted = |l: &Line<'_>| l.number("writes_per_s").or(l.number("writes")).is_some();
    lines.iter().any(is_counted)
}

/// What the waits of writes are of. Where nothing was read, all requests are writes.
fn request(lines: &[Line<'_>]) -> &'static str {
    let reads = |l: &Line<'_>| l.number("read_mb_per_s").is_none_or(|mb| mb > 0.0);
    match counts_writes(lines) || !lines.iter().any(reads) {
        true => "write",
        false => "request, read or write",
    }
}

/// How long a write waits, in ms: by its own column, or by that of all requests.
fn await_of(line: &Line<'_>) -> Option<f64> {
    let own = line.number("write_await_ms");
    own.or_else(|| line.number("await_ms"))
}

/// How often each interval had a request of a kind, and how long one waited in ms. An interval
/// without them has no wait, and one with few counts little.
struct Waits(Vec<(f64, f64)>);

impl Waits {
    /// Of the column of their rates, or of their numbers where there are no rates.
    fn of<'a>(
        lines: &[Line<'a>],
        [rate, number]: [&str; 2],
        wait: impl Fn(&Line<'a>) -> Option<f64>,
    ) -> Waits {
        let has_rates = lines.iter().any(|line| line.number(rate).is_some());
        let key = if has_rates { rate } else { number };
        let known = lines
            .iter()
            .filter_map(|l| Some((l.number(key)?, wait(l)?)));
        Waits(known.filter(|(often, _)| *often > 0.0).collect())
    }

    /// Of writes; of all requests where writes are not counted apart, as in `sar -d`.
    fn of_writes(lines: &[Line<'_>]) -> Waits {
        let keys = match counts_writes(lines) {
            true => ["writes_per_s", "writes"],
            false => [REQUESTS; 2],
        };
        Waits::of(lines, keys, await_of)
    }

    /// The mean of all of them, in ms.
    fn mean_ms(&self) -> Option<f64> {
        let all: f64 = self.0.iter().map(|(often, _)| often).sum();
        let waited: f64 = self.0.iter().map(|(often, wait)| often * wait).sum();
        (all > 0.0).then(|| waited / all)
    }

    fn longest_ms(&self) -> f64 {
        self.0.iter().map(|(_, wait)| *wait).fold(0.0, f64::max)
    }
}

/// Mean requests of a kind per second of a device, and how many ms one waits, by the intervals that
/// have some; nothing of intervals without times.
pub(super) type RateAndWait = (f64, f64);

/// The writes and the flushes of a device.
pub(super) fn requests_of(imported: &Imported, device: &str) -> [Option<RateAndWait>; 2] {
    let tables = imported.tables.iter();
    let tables = tables.filter(|t| TABLES.contains(&t.id.as_str()));
    let samples: Vec<Line<'_>> = tables
        .flat_map(lines)
        .filter(|line| is_sample(line, device) && line.number("writes_per_s").is_some())
        .collect();
    let flush_keys = ["flushes_per_s", "flushes"];
    let flushes = Waits::of(&samples, flush_keys, |l| l.number("flush_await_ms"));
    [Waits::of_writes(&samples), flushes].map(|waits| {
        let rates: Vec<f64> = waits.0.iter().map(|(rate, _)| *rate).collect();
        mean(&rates).zip(waits.mean_ms())
    })
}

/// Whether a line is an interval of a device.
fn is_sample(line: &Line<'_>, device: &str) -> bool {
    line.text("device") == device && line.text("covers") == "interval"
}

impl<'a> DeviceSamples<'a> {
    /// Its mean writes per second, or in each interval where there are no rates; its requests where
    /// writes are not counted apart.
    fn writes(&self) -> f64 {
        let keys = ["writes_per_s", "writes", REQUESTS];
        let known = keys.iter().find_map(|key| mean(&self.values(key)));
        known.unwrap_or(0.0)
    }

    /// Whether it has so many writes that their waits say something.
    fn has_enough(&self) -> bool {
        let has = |key| !self.values(key).is_empty();
        let is_rate = has("writes_per_s") || !has("writes");
        self.writes() >= if is_rate { FEW_WRITES } else { WAITS_MIN }
    }

    fn values(&self, key: &str) -> Vec<f64> {
        self.lines.iter().filter_map(|l| l.number(key)).collect()
    }

    fn waits(&self, rate: [&str; 2], wait: &str) -> Waits {
        Waits::of(&self.lines, rate, |line| line.number(wait))
    }

    fn flushes(&self) -> Waits {
        self.waits(["flushes_per_s", "flushes"], "flush_await_ms")
    }

    /// Its waits beside those of others.
    fn beside(&self) -> Option<DeviceWaits<'a>> {
        let reads = self.waits(["reads_per_s", "reads"], "read_await_ms");
        Some(DeviceWaits {
            device: self.device,
            holds_log: self.holds_log,
            request: request(&self.lines),
            write_ms: Waits::of_writes(&self.lines).mean_ms()?,
            read_ms: reads.mean_ms(),
            flush_ms: self.flushes().mean_ms(),
            util_pct: mean(&self.values("util_pct")),
            queue: mean(&self.values("queue")),
        })
    }
}

/// Whether a device is a partition of one of the table: `nvme0n1p1` of `nvme0n1`, `sda1` of `sda`.
fn is_partition(device: &str, all: &[&str]) -> bool {
    let is_part = |whole: &&str| {
        let rest = device.strip_prefix(*whole).unwrap_or_default();
        let number = match whole.ends_with(|c: char| c.is_ascii_digit()) {
            true => rest.strip_prefix('p').unwrap_or_default(),
            false => rest,
        };
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    all.iter().any(is_part)
}

/// Whether a device is made of others, or is in memory: it is slow with them, and no witness of
/// its own.
fn is_layer(device: &str, all: &[&str]) -> bool {
    let begins = ["dm-", "md", "loop", "zram", "ram", "drbd", "bcache"];
    begins.iter().any(|begin| device.starts_with(begin)) || is_partition(device, all)
}

/// Devices that are judged where nobody said which one holds the log: those with most writes.
const DEVICES_MAX: usize = 3;

/// The device that the user named, or else the only one, or else those with most writes.
pub(super) fn collect(
    tables: Tables<'_>,
    log_device: Option<&str>,
    t: &Thresholds,
    notes: &mut Vec<Note>,
) {
    for table in tables.0.iter().filter(|t| TABLES.contains(&t.id.as_str())) {
        let mut devices: Vec<&str> = lines(table).map(|line| line.text("device")).collect();
        devices.sort_unstable();
        devices.dedup();
        let is_known = devices.len() == 1 || log_device.is_some();
        let of = |device| DeviceSamples {
            device,
            is_known,
            holds_log: log_device == Some(device),
            table,
            lines: lines(table)
                .filter(|line| is_sample(line, device))
                .collect(),
        };
        let mut all: Vec<DeviceSamples<'_>> = devices.iter().copied().map(of).collect();
        // Layers are witnesses beside a log that is on one.
        let is_on_layer = log_device.is_some_and(|name| is_layer(name, &devices));
        let is_whole = |of: &&DeviceSamples<'_>| match is_on_layer {
            true => of.holds_log || !is_partition(of.device, &devices),
            false => !is_layer(of.device, &devices),
        };
        let enough = all.iter().filter(|of| of.has_enough()).filter(is_whole);
        let waits: Vec<DeviceWaits<'_>> = enough.filter_map(DeviceSamples::beside).collect();
        notes.extend(storage::of_devices(&waits, &place(table), t));
        let is_asked = |of: &DeviceSamples<'_>| match log_device {
            Some(name) => of.device == name,
            None => is_known || of.has_enough() && !is_partition(of.device, &devices),
        };
        all.retain(|of| !of.lines.is_empty() && is_asked(of));
        all.sort_by(|a, b| b.writes().total_cmp(&a.writes()));
        for of in all.iter().take(DEVICES_MAX) {
            busy(of, t, notes);
            if is_known {
                capped(of, notes);
            }
        }
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Writes per second under which a device's waits say little of a log.
const FEW_WRITES: f64 = 10.0;

/// Reads that keep a device busy on which hardly anything is written.
fn reads_alone(reads: f64, writes: f64) -> Option<String> {
    (writes < FEW_WRITES && reads > FEW_WRITES * writes).then(|| {
        format!(
            "{} reads/s keep it busy, and {} writes/s say little of a log",
            show(reads),
            show(writes)
        )
    })
}

/// One request that is always in flight: the device is as busy as one stream makes it, not full.
fn one_stream(util: Option<f64>, queue: Option<f64>) -> Option<String> {
    const ALWAYS_PCT: f64 = 90.0;
    const ONE: std::ops::Range<f64> = 0.8..1.2;
    let (util, queue) = util.zip(queue)?;
    (util >= ALWAYS_PCT && ONE.contains(&queue)).then(|| {
        "one request is always in flight: a single stream, and no sign that the device is full"
            .to_owned()
    })
}

/// How long a write takes on average, and in its longest interval.
fn each_write(samples: &DeviceSamples<'_>, mean_ms: f64, longest_ms: f64) -> String {
    let is_it = |l: &&Line<'_>| await_of(l) == Some(longest_ms);
    let longest = samples.lines.iter().find(is_it);
    let when = match (longest.map_or("", |l| l.text("time")), samples.lines.len()) {
        ("", _) | (_, 0..=1) => String::new(),
        (time, _) => format!(" at {time}"),
    };
    format!(
        "{} ms per {} (largest mean of an interval {} ms{when})",
        show(mean_ms),
        request(&samples.lines),
        show(longest_ms)
    )
}

/// Utilisation, queue and waits of writes.
fn busy(samples: &DeviceSamples<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let waits = Waits::of_writes(&samples.lines);
    let util = mean(&samples.values("util_pct"));
    let queue = mean(&samples.values("queue")).or_else(|| mean(&samples.values("in_flight")));
    let wait = waits.mean_ms();
    let mut parts = Vec::new();
    parts.extend(util.map(|u| format!("{u:.1} % utilised")));
    parts.extend(queue.map(|q| format!("{q:.2} requests in its queue")));
    parts.extend(wait.map(|ms| each_write(samples, ms, waits.longest_ms())));
    let flush = samples.flushes().mean_ms();
    parts.extend(flush.map(|ms| {
        let most = match ms > 0.0 {
            true => format!(
                ", so at most {} flushes/s one after another",
                crate::format::digits(1e3 / ms)
            ),
            false => String::new(),
        };
        format!("{} ms per flush{most}", show(ms))
    }));
    let reads = mean(&samples.values("reads_per_s"));
    let writes = mean(&samples.values("writes_per_s"));
    parts.extend(
        reads
            .zip(writes)
            .and_then(|(reads, writes)| reads_alone(reads, writes)),
    );
    parts.extend(one_stream(util, queue));
    if parts.is_empty() {
        return;
    }
    let bands = [wait, flush].map(|wait| wait.map(|w| band(w, t).0));
    let is_fast = bands.iter().flatten().all(|weight| *weight == Good);
    let weight = match bands.into_iter().flatten().max() {
        Some(Good) if samples.holds_log && is_fast => Good,
        Some(Good) | None => Info,
        // It may hold anything.
        Some(weight) if !samples.is_known => weight.min(Caution),
        Some(weight) => weight,
    };
    let count = match samples.lines.len() {
        1 => "1 interval".to_owned(),
        n => format!("{n} intervals"),
    };
    let unknown = match (samples.holds_log, samples.is_known) {
        (true, _) => "; it holds the log",
        (false, true) => "",
        (false, false) => "; whether it holds the log is not known (--log-device)",
    };
    let claim = format!(
        "{}: {}, on average of {count}{unknown} ({})",
        samples.device,
        parts.join(", "),
        place(samples.table)
    );
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_LOG_DEVICE, weight, claim)
            .maybe("util_pct", util)
            .maybe("queue", queue)
            .maybe("write_await_ms", wait)
            .maybe("flush_await_ms", flush)
            .advice_if(weight >= Caution),
    );
}

/// A rate that stays at its highest value while writes wait longer.
fn capped(samples: &DeviceSamples<'_>, notes: &mut Vec<Note>) {
    for (key, name) in [
        ("writes_per_s", "writes/s"),
        ("write_mb_per_s", "MiB/s of writes"),
    ] {
        let each: Vec<(f64, f64)> = samples
            .lines
            .iter()
            .filter_map(|l| Some((l.number(key)?, await_of(l)?)))
            .collect();
        let top = each.iter().map(|(rate, _)| *rate).fold(0.0, f64::max);
        let is_at = |rate: f64| rate >= (1.0 - CAP_NEAR) * top;
        let (at, below): (Vec<_>, Vec<_>) = each.iter().partition(|(rate, _)| is_at(*rate));
        let share = at.len() as f64 / each.len().max(1) as f64;
        if each.len() < CAP_SAMPLES || share < CAP_SHARE || below.is_empty() {
            continue;
        }
        let waits = |of: &[&(f64, f64)]| mean(&of.iter().map(|(_, w)| *w).collect::<Vec<_>>());
        let refs = |of: &[(f64, f64)]| waits(&of.iter().collect::<Vec<_>>());
        let (Some(slow), Some(quick)) = (refs(&at), refs(&below)) else {
            continue;
        };
        if slow < CAP_SLOWER * quick {
            continue;
        }
        let claim = format!(
            "{}: {} of {} intervals have {} {name}, within {:.0} %, and writes wait {} ms then, {} ms \
             otherwise: the rate is capped ({})",
            samples.device,
            at.len(),
            each.len(),
            show(top),
            100.0 * CAP_NEAR,
            show(slow),
            show(quick),
            place(samples.table)
        );
        notes.push(
            Note::of(&catalogue::DIAGNOSIS_CAP, Caution, claim)
                .number("rate", top)
                .number("share", share)
                .number("await_at_cap_ms", slow)
                .number("await_below_ms", quick),
        );
        return;
    }
}
