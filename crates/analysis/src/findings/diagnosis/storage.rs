//! Whether the log's device is slow, or all storage is: reads of data files, writes of them and of
//! the control file beside the log writes; or all devices of a machine.
//!
//! Invariant: nothing is said where some of the others are slow and some are not.

use super::super::latency::band;
use super::super::note::Note;
use super::super::{Caution, Info, catalogue};
use super::figures::{EventWaits, ReportFigures, WAITS_MIN};
use super::{WRITE, claim_of};
use crate::format::latency;
use crate::thresholds::Thresholds;

/// Waits for other files, each for one request or one batch of them.
const OTHERS: [&str; 8] = [
    "db file sequential read",
    "db file scattered read",
    "db file parallel read",
    "direct path read",
    "db file parallel write",
    "direct path write",
    "control file sequential read",
    "control file parallel write",
];
/// Kinds of them, or devices, that have to be slow before storage as a whole is.
const SLOW_MIN: usize = 2;
/// Times by which devices of one cause differ at most.
const ALIKE: f64 = 2.0;
const SHARED: &str = "Look at what the volumes share: the array and its cache, its controllers, the paths, a limit of the \
     machine. A device for the log alone makes commits faster and nothing else.";
const OTHER: &str = "Look at what uses that device: a faster device for the log does not help it.";
const ALONE: &str = "Look at what the log's files do not share with the data files: their volume, its cache, its limit.";

pub(super) fn collect(report: &ReportFigures<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let slow_ms = t.write_mean_fair_ms.value;
    let is_slow = |of: &EventWaits| of.mean_ms() >= slow_ms;
    let enough = |of: &EventWaits| of.waits >= WAITS_MIN;
    let Some(write) = report.event(WRITE).filter(is_slow).filter(enough) else {
        return;
    };
    let known = OTHERS.iter().filter_map(|name| {
        let waits = report.event(name).filter(enough)?;
        Some((*name, waits))
    });
    let known: Vec<(&str, EventWaits)> = known.collect();
    let slow = known.iter().filter(|(_, waits)| is_slow(waits)).count();
    let each =
        |(name, waits): &(&str, EventWaits)| format!("{name} {}", latency(waits.mean_ms() * 1e6));
    let each: Vec<String> = known.iter().map(each).collect();
    let own = latency(write.mean_ms() * 1e6);
    // The control file is often on the volume of the log.
    let of_data = known
        .iter()
        .filter(|(name, _)| !name.starts_with("control"));
    let means = of_data.map(|(_, waits)| waits.mean_ms());
    let slowest = means.fold(0.0, f64::max);
    let (claim, weight, advice) = match slow {
        0 if !known.is_empty() => (
            format!(
                "the log's device or its path alone is slow: {WRITE} takes {own}, and {}",
                each.join(", ")
            ),
            Info,
            ALONE,
        ),
        n if n > 0 && slowest > 0.0 && write.mean_ms() > ALIKE * slowest => (
            format!(
                "the log writes are slower by far than data files: {WRITE} takes {own}, and {}",
                each.join(", ")
            ),
            Info,
            ALONE,
        ),
        n if n >= SLOW_MIN && n == known.len() => (
            format!(
                "storage as a whole is slow, not the log's device alone: {WRITE} {own}, {}",
                each.join(", ")
            ),
            band(write.mean_ms(), t).0,
            SHARED,
        ),
        _ => return,
    };
    let entry = &catalogue::DIAGNOSIS_STORAGE;
    notes.push(
        Note::of(entry, weight, claim_of(report, claim))
            .number("write_mean_ms", write.mean_ms())
            .number("slow_kinds", slow as f64)
            .number("known_kinds", known.len() as f64)
            .limit(format!("a mean of {slow_ms} ms"), &t.write_mean_fair_ms)
            .advice(advice),
    );
}

/// Mean waits of a device, in ms.
pub(super) struct DeviceWaits<'a> {
    pub(super) device: &'a str,
    /// It is known to hold the log.
    pub(super) holds_log: bool,
    /// What `write_ms` is of, where writes are not counted apart.
    pub(super) request: &'static str,
    pub(super) write_ms: f64,
    /// Of its reads and of its flushes, where it had some.
    pub(super) read_ms: Option<f64>,
    pub(super) flush_ms: Option<f64>,
    /// Its utilisation, percent, and its queue.
    pub(super) util_pct: Option<f64>,
    pub(super) queue: Option<f64>,
}

impl DeviceWaits<'_> {
    /// What a commit on it may wait for.
    fn slowest_ms(&self) -> f64 {
        self.flush_ms.unwrap_or(0.0).max(self.write_ms)
    }

    /// Its waits in words.
    fn in_words(&self) -> String {
        let part = |ms: Option<f64>, what: &str| {
            ms.map(|ms| format!(", {} per {what}", latency(ms * 1e6)))
                .unwrap_or_default()
        };
        format!(
            "{} {} per {}{}{}",
            self.device,
            latency(self.write_ms * 1e6),
            self.request,
            part(self.flush_ms, "flush"),
            part(self.read_ms, "read")
        )
    }

    /// How busy it is, in words.
    fn load(&self) -> String {
        let util = self.util_pct.map(|pct| format!(", {pct:.1} % utilised"));
        let queue = self
            .queue
            .map(|n| format!(", {n:.1} requests in its queue"));
        [util, queue].into_iter().flatten().collect()
    }
}

/// A log's device that is not slow beside others that are, by their reads too.
fn beside_log(
    log: &DeviceWaits<'_>,
    all: &[DeviceWaits<'_>],
    place: &str,
    t: &Thresholds,
) -> Option<Note> {
    let slow_ms = t.write_mean_fair_ms.value;
    let slowest = |of: &DeviceWaits<'_>| of.slowest_ms().max(of.read_ms.unwrap_or(0.0));
    let is_slow = |of: &&DeviceWaits<'_>| !of.holds_log && slowest(of) >= slow_ms;
    let mut slow: Vec<&DeviceWaits<'_>> = all.iter().filter(is_slow).collect();
    slow.sort_by(|a, b| slowest(b).total_cmp(&slowest(a)));
    let most = slowest(slow.first().filter(|_| log.slowest_ms() < slow_ms)?);
    let others: Vec<String> = slow
        .iter()
        .map(|of| format!("{}{}", of.in_words(), of.load()))
        .collect();
    let claim = format!(
        "the log's device is not slow, {} is: {}; {} ({place})",
        if slow.len() == 1 {
            "another one"
        } else {
            "what is beside it"
        },
        log.in_words(),
        others.join("; ")
    );
    Some(
        Note::of(&catalogue::DIAGNOSIS_STORAGE, Caution, claim)
            .number("slow_devices", slow.len() as f64)
            .number("slowest_ms", most)
            .limit(format!("a mean of {slow_ms} ms"), &t.write_mean_fair_ms)
            .advice(OTHER),
    )
}

/// Devices of one table that write: all of them slow alike, or one alone.
pub(super) fn of_devices(all: &[DeviceWaits<'_>], place: &str, t: &Thresholds) -> Option<Note> {
    let slow_ms = t.write_mean_fair_ms.value;
    if let Some(log) = all.iter().find(|of| of.holds_log) {
        return beside_log(log, all, place, t);
    }
    let is_slow = |of: &&DeviceWaits<'_>| of.slowest_ms() >= slow_ms;
    let slow: Vec<&DeviceWaits<'_>> = all.iter().filter(is_slow).collect();
    let ends = |pick: fn(f64, f64) -> f64| slow.iter().map(|of| of.slowest_ms()).reduce(pick);
    let (least, most) = (ends(f64::min)?, ends(f64::max)?);
    let each = DeviceWaits::in_words;
    let (claim, weight, advice) = match slow.as_slice() {
        [one] if all.len() >= SLOW_MIN => {
            let others = all.iter().filter(|of| of.device != one.device);
            let others: Vec<String> = others.map(each).collect();
            (
                format!(
                    "{} alone is slow, and not all storage: {}; {}",
                    one.device,
                    each(one),
                    others.join("; ")
                ),
                Info,
                ALONE,
            )
        }
        slow if slow.len() >= SLOW_MIN && slow.len() == all.len() && most <= ALIKE * least => {
            let each: Vec<String> = all.iter().map(each).collect();
            (
                format!(
                    "all storage is slow, not one device: {}; devices that are slow alike have a cause that they share",
                    each.join("; ")
                ),
                band(most, t).0.min(Caution),
                SHARED,
            )
        }
        _ => return None,
    };
    Some(
        Note::of(
            &catalogue::DIAGNOSIS_STORAGE,
            weight,
            format!("{claim} ({place})"),
        )
        .number("slow_devices", slow.len() as f64)
        .number("known_devices", all.len() as f64)
        .number("slowest_ms", most)
        .limit(format!("a mean of {slow_ms} ms"), &t.write_mean_fair_ms)
        .advice(advice),
    )
}
