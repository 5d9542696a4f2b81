//! The kernel's counters of devices, read once per second, in the layout of `iostat -x -t`.
//!
//! The first report covers the time since the machine started, as that of iostat does. Invariant: a
//! device whose counters went back, because it was taken away, has no row in that interval.

use crate::observe::machine;
use crate::store::now_rfc3339;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Read;
use std::time::{Duration, Instant};

/// The longest text of /proc/diskstats that is read.
const TEXT_MAX: u64 = 4 << 20;
/// Devices that are reported.
const DEVICES_MAX: usize = 512;
/// Numbers of a device: as many as kernels have since 5.5.
const NUMBERS: usize = 17;
/// Sectors of a kibibyte, whatever the device's sectors are.
const SECTORS_PER_KB: f64 = 2.0;

/// The numbers of a device; those that an older kernel does not count are zero.
type Numbers = [u64; NUMBERS];

/// The counters of all devices at a moment.
#[derive(Clone, Debug)]
pub struct DiskReading {
    at: Instant,
    stamp: String,
    devices: BTreeMap<String, Numbers>,
    counts_flushes: bool,
}

impl DiskReading {
    /// Reads /proc/diskstats; only those devices, or all that have done something.
    ///
    /// # Errors
    /// The system's.
    pub fn now(only: &[String]) -> std::io::Result<DiskReading> {
        let mut text = String::new();
        let file = std::fs::File::open("/proc/diskstats")?;
        file.take(TEXT_MAX).read_to_string(&mut text)?;
        Ok(DiskReading::of(&text, only, Instant::now(), now_rfc3339()))
    }

    fn of(text: &str, only: &[String], at: Instant, stamp: String) -> DiskReading {
        let mut reading = DiskReading {
            at,
            stamp,
            devices: BTreeMap::new(),
            counts_flushes: false,
        };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace().skip(2);
            let Some(name) = words.next() else { continue };
            let is_wanted = only.is_empty() || only.iter().any(|wanted| wanted == name);
            let found: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
            let Some(found) = found.filter(|found| is_wanted && found.len() >= 11) else {
                continue;
            };
            let is_idle = found.iter().all(|number| *number == 0);
            if reading.devices.len() == DEVICES_MAX || (only.is_empty() && is_idle) {
                continue;
            }
            reading.counts_flushes |= found.len() >= NUMBERS;
            let mut numbers = Numbers::default();
            for (slot, number) in numbers.iter_mut().zip(found) {
                *slot = number;
            }
            reading.devices.insert(name.to_owned(), numbers);
        }
        reading
    }

    /// The devices that were found.
    pub fn devices(&self) -> impl Iterator<Item = &str> {
        self.devices.keys().map(String::as_str)
    }

    /// The first line of iostat's output: the system, its host and its processors.
    #[must_use]
    pub fn banner() -> String {
        let environment = machine::environment(true);
        let mut kernel = environment.kernel.split(' ');
        let (system, release) = (kernel.next(), kernel.next());
        let date = now_rfc3339();
        format!(
            "{} {} ({}) \t{} \t_{}_\t({} CPU)\n",
            system.unwrap_or("Linux"),
            release.unwrap_or("unknown"),
            environment.hostname,
            date.get(..10).unwrap_or(&date),
            kernel.next().unwrap_or("unknown"),
            environment.cpus,
        )
    }

    /// The report since the machine started.
    #[must_use]
    pub fn since_boot(&self) -> String {
        let uptime = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
        let uptime = uptime.split_ascii_whitespace().next();
        let seconds: f64 = uptime.and_then(|text| text.parse().ok()).unwrap_or(1.0);
        let nothing = DiskReading {
            devices: BTreeMap::new(),
            ..self.clone()
        };
        self.report(&nothing, Duration::from_secs_f64(seconds.max(0.01)))
    }

    /// The report of what happened since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &DiskReading) -> String {
        self.report(earlier, self.at.saturating_duration_since(earlier.at))
    }

    fn report(&self, earlier: &DiskReading, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64().max(0.001);
        let mut out = format!("\n{}\n", self.stamp);
        let flushes = if self.counts_flushes {
            "      f/s f_await"
        } else {
            ""
        };
        // Writing into text does not fail.
        let _ = writeln!(
            out,
            "{:<16} {:>9} {:>11} {:>8} {:>7} {:>8} {:>9} {:>11} {:>8} {:>7} {:>8}{flushes} {:>8} \
             {:>6}",
            "Device",
            "r/s",
            "rkB/s",
            "rrqm/s",
            "r_await",
            "rareq-sz",
            "w/s",
            "wkB/s",
            "wrqm/s",
            "w_await",
            "wareq-sz",
            "aqu-sz",
            "%util"
        );
        let zero = Numbers::default();
        for (name, now) in &self.devices {
            let before = earlier.devices.get(name).unwrap_or(&zero);
            if let Some(grown) = grown(before, now) {
                self.row(name, &grown, seconds, &mut out);
            }
        }
        out
    }

    fn row(&self, name: &str, grown: &Numbers, seconds: f64, out: &mut String) {
        let at = |index: usize| grown.get(index).copied().unwrap_or(0) as f64;
        let per_request = |sum: f64, requests: f64| {
            if requests > 0.0 { sum / requests } else { 0.0 }
        };
        let kind = |first: usize| {
            let (requests, merges) = (at(first), at(first + 1));
            let (kb, ms) = (at(first + 2) / SECTORS_PER_KB, at(first + 3));
            format!(
                " {:>9.2} {:>11.2} {:>8.2} {:>7.2} {:>8.2}",
                requests / seconds,
                kb / seconds,
                merges / seconds,
                per_request(ms, requests),
                per_request(kb, requests),
            )
        };
        let flushes = if self.counts_flushes {
            format!(
                " {:>8.2} {:>7.2}",
                at(15) / seconds,
                per_request(at(16), at(15))
            )
        } else {
            String::new()
        };
        let (queue, busy) = (at(10) / 1e3 / seconds, at(9) / 10.0 / seconds);
        // Writing into text does not fail.
        let _ = writeln!(
            out,
            "{name:<16}{}{}{flushes} {queue:>8.2} {:>6.2}",
            kind(0),
            kind(4),
            busy.min(100.0)
        );
    }
}

/// What was counted between two readings; `None` where a counter went back. Requests in flight are
/// a level and not counted.
fn grown(before: &Numbers, now: &Numbers) -> Option<Numbers> {
    let mut grown = Numbers::default();
    for (index, slot) in grown
        .iter_mut()
        .enumerate()
        .filter(|(index, _)| *index != 8)
    {
        *slot = now.get(index)?.checked_sub(*before.get(index)?)?;
    }
    Some(grown)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "\
 254 0 vda 100 5 800 50 200 20 1600 400 3 1000 450 0 0 0 0 10 30
   7 0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 254 1 vdb 9 0 9 9 9 0 9 9 0 9 9 0 0 0 0 0 0
";
    const AFTER: &str = "\
 254 0 vda 100 5 800 50 300 30 2400 500 9 2000 550 0 0 0 0 60 130
 254 1 vdb 1 0 1 1 1 0 1 1 0 1 1 0 0 0 0 0 0
";

    fn readings() -> (DiskReading, DiskReading) {
        let at = Instant::now();
        let later = at + Duration::from_secs(2);
        let stamp = || "2026-01-02T03:04:05Z".to_owned();
        let before = DiskReading::of(BEFORE, &[], at, stamp());
        (before, DiskReading::of(AFTER, &[], later, stamp()))
    }

    #[test]
    fn rates_and_waits_are_those_of_the_interval() {
        let (before, after) = readings();
        let report = after.since(&before);
        let rows: Vec<Vec<&str>> = report
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|words: &Vec<&str>| words.len() > 2)
            .collect();
        assert_eq!(rows.len(), 2, "vdb went back, loop0 is idle: {report}");
        let figure = |name: &str| {
            let at = rows[0].iter().position(|word| *word == name);
            rows[1][at.expect("a column")]
        };
        for (name, value) in [
            ("Device", "vda"),
            ("r/s", "0.00"),
            ("w/s", "50.00"),
            ("wkB/s", "200.00"),
            ("wrqm/s", "5.00"),
            ("w_await", "1.00"),
            ("wareq-sz", "4.00"),
            ("f/s", "25.00"),
            ("f_await", "2.00"),
            ("aqu-sz", "0.05"),
            ("%util", "50.00"),
        ] {
            assert_eq!(figure(name), value, "{name}: {report}");
        }
    }

    #[test]
    fn only_the_wanted_devices_are_read() {
        let only = ["vdb".to_owned(), "none".to_owned()];
        let reading = DiskReading::of(BEFORE, &only, Instant::now(), String::new());
        assert_eq!(reading.devices().collect::<Vec<_>>(), ["vdb"]);
        let old = " 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n 8 1 sda1 1 2 3\n 8 2 x a b\n";
        let reading = DiskReading::of(old, &[], Instant::now(), String::new());
        assert!(!reading.counts_flushes);
        assert_eq!(reading.devices().collect::<Vec<_>>(), ["sda"]);
    }
}
