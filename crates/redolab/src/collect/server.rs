//! Two readings of a server with an interval, and between them samples of what its sessions wait
//! for and, where the server is on this machine, the counters of the devices.
//!
//! Invariants: the collection ends soon after its time, however slow the server answers; samples of
//! waits take at most a twentieth of one connection's time.

use super::disks::DiskReading;
use crate::signals::Interrupt;
use drivers::collect::{ReadServer, ReadingMoment, RefusedListing, ServerListing, ServerReading};
use measure::driver::DriverError;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Time between two samples of waits, at least.
const SAMPLE_PERIOD: Duration = Duration::from_millis(100);
/// The time after a sample is at least so many times the time that it took.
const SAMPLE_REST: u32 = 19;
/// Time between two readings of the devices.
const DISK_PERIOD: Duration = Duration::from_secs(1);
/// The longest sleep before an interruption is noticed.
const STEP: Duration = Duration::from_millis(50);
/// Kinds of waits that are kept.
const KINDS_MAX: usize = 1000;

/// What was collected of a server.
#[derive(Debug, Default)]
pub struct Collected {
    /// What it counted at the begin, with its settings.
    pub begin: ServerReading,
    /// What it counted at the end.
    pub end: ServerReading,
    /// Its waits between, with the number of sessions over all samples in the last column.
    pub waits: Option<ServerListing>,
    /// Samples of waits that were taken.
    pub samples: u64,
    /// Why there are no more samples.
    pub waits_refused: Option<RefusedListing>,
    /// The devices of this machine in the layout of iostat.
    pub devices: Option<String>,
    /// Time between the readings.
    pub elapsed: Duration,
    /// The user ended it before its time.
    pub interrupted: bool,
}

/// Collects for that time; the devices only where they are those of the server.
///
/// # Errors
/// The connection failed. Then nothing is kept.
pub fn collect(
    server: &mut dyn ReadServer,
    time: Duration,
    interrupt: &Interrupt,
) -> Result<Collected, DriverError> {
    let mut collected = Collected {
        begin: server.read(ReadingMoment::Begin)?,
        ..Collected::default()
    };
    let began = Instant::now();
    let mut devices = server.is_local().then(DeviceReports::begin).flatten();
    let mut waits = WaitSums::default();
    let mut sample_due = began;
    while began.elapsed() < time && !interrupt.requested() {
        if let Some(reports) = &mut devices {
            reports.read_when_due();
        }
        if Instant::now() >= sample_due && collected.waits_refused.is_none() {
            let asked = Instant::now();
            match server.waits() {
                Ok(listing) => waits.add(listing),
                Err(error) => {
                    collected.waits_refused = Some(RefusedListing {
                        name: "waits",
                        why: error.to_string(),
                    });
                }
            }
            let rest = (asked.elapsed() * SAMPLE_REST).max(SAMPLE_PERIOD);
            sample_due = Instant::now() + rest;
        }
        std::thread::sleep(STEP.min(time.saturating_sub(began.elapsed())));
    }
    collected.elapsed = began.elapsed();
    collected.interrupted = interrupt.requested();
    collected.end = server.read(ReadingMoment::End)?;
    collected.devices = devices.map(DeviceReports::end);
    collected.samples = waits.samples;
    collected.waits = waits.into_listing();
    Ok(collected)
}

/// Reads the devices of this machine for that time; the reports in the layout of iostat.
///
/// # Errors
/// The system's, or no device that was asked for.
pub fn watch_devices(
    only: &[String],
    time: Duration,
    interrupt: &Interrupt,
) -> std::io::Result<String> {
    let mut reports = DeviceReports::of(only)?;
    let began = Instant::now();
    while began.elapsed() < time && !interrupt.requested() {
        reports.read_when_due();
        std::thread::sleep(STEP.min(time.saturating_sub(began.elapsed())));
    }
    Ok(reports.end())
}

/// Reports of the devices, one per second.
struct DeviceReports {
    only: Vec<String>,
    last: DiskReading,
    due: Instant,
    text: String,
}

impl DeviceReports {
    fn begin() -> Option<DeviceReports> {
        DeviceReports::of(&[]).ok()
    }

    fn of(only: &[String]) -> std::io::Result<DeviceReports> {
        let last = DiskReading::now(only)?;
        let missing = only
            .iter()
            .find(|name| !last.devices().any(|found| found == *name));
        if let Some(name) = missing {
            let why = format!("/proc/diskstats lists no device {name}");
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, why));
        }
        Ok(DeviceReports {
            only: only.to_vec(),
            due: Instant::now() + DISK_PERIOD,
            text: format!("{}{}", DiskReading::banner(), last.since_boot()),
            last,
        })
    }

    fn read_when_due(&mut self) {
        if Instant::now() >= self.due {
            self.due += DISK_PERIOD;
            self.report();
        }
    }

    /// A reading that fails leaves its second out.
    fn report(&mut self) {
        if let Ok(now) = DiskReading::now(&self.only) {
            self.text.push_str(&now.since(&self.last));
            self.last = now;
        }
    }

    fn end(mut self) -> String {
        if Instant::now() + DISK_PERIOD / 2 >= self.due {
            self.report();
        }
        self.text
    }
}

/// Samples of waits, summed by what the sessions waited for.
#[derive(Default)]
struct WaitSums {
    samples: u64,
    listing: Option<ServerListing>,
    sums: BTreeMap<Vec<Option<String>>, u64>,
}

impl WaitSums {
    fn add(&mut self, mut sample: ServerListing) {
        self.samples += 1;
        for mut row in std::mem::take(&mut sample.rows) {
            let sessions = row
                .pop()
                .flatten()
                .and_then(|text| text.parse::<u64>().ok());
            if self.sums.len() < KINDS_MAX || self.sums.contains_key(&row) {
                let sum = self.sums.entry(row).or_default();
                *sum = sum.saturating_add(sessions.unwrap_or(0));
            }
        }
        self.listing = Some(sample);
    }

    fn into_listing(self) -> Option<ServerListing> {
        let mut rows: Vec<(Vec<Option<String>>, u64)> = self.sums.into_iter().collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut listing = self.listing?;
        listing.rows = rows
            .into_iter()
            .map(|(mut row, sum)| {
                row.push(Some(sum.to_string()));
                row
            })
            .collect();
        Some(listing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivers::collect::{ClientLayout, ListingColumn};

    /// A server that answers slowly, or refuses to show waits.
    struct Slow {
        answer: Duration,
        has_waits: bool,
    }

    impl ReadServer for Slow {
        fn shown(&self) -> String {
            "a server".to_owned()
        }

        fn layout(&self) -> ClientLayout {
            ClientLayout::Psql
        }

        fn is_local(&self) -> bool {
            false
        }

        fn read(&mut self, _: ReadingMoment) -> Result<ServerReading, DriverError> {
            std::thread::sleep(self.answer);
            Ok(ServerReading::default())
        }

        fn waits(&mut self) -> Result<ServerListing, DriverError> {
            std::thread::sleep(self.answer);
            if !self.has_waits {
                return Err(DriverError::failed("permission denied"));
            }
            let row = |event: Option<&str>, sessions: &str| {
                vec![event.map(str::to_owned), Some(sessions.to_owned())]
            };
            Ok(ServerListing {
                name: "waits",
                statement: "SELECT".to_owned(),
                columns: ["event", "sessions"].map(ListingColumn::text).to_vec(),
                rows: vec![row(None, "1"), row(Some("WalSync"), "3")],
            })
        }
    }

    #[test]
    fn samples_are_summed_and_leave_the_server_in_peace() {
        let mut server = Slow {
            answer: Duration::from_millis(20),
            has_waits: true,
        };
        let time = Duration::from_millis(600);
        let found = collect(&mut server, time, &Interrupt::default()).expect("collected");
        assert!((1..=2).contains(&found.samples), "{}", found.samples);
        let rows = found.waits.expect("sampled").rows;
        let sum = (3 * found.samples).to_string();
        assert_eq!(rows[0], [Some("WalSync".to_owned()), Some(sum)]);
        assert_eq!(rows[1][0], None);
        assert!(found.devices.is_none() && !found.interrupted);
    }

    #[test]
    fn refused_waits_are_asked_for_once_and_an_interruption_ends_it() {
        let mut server = Slow {
            answer: Duration::ZERO,
            has_waits: false,
        };
        let interrupt = Interrupt::default();
        let time = Duration::from_millis(10);
        let found = collect(&mut server, time, &interrupt).expect("collected");
        assert!(
            found
                .waits_refused
                .is_some_and(|r| r.why.contains("denied"))
        );
        assert_eq!((found.samples, found.waits), (0, None));
        interrupt.request();
        let time = Duration::from_secs(3600);
        let found = collect(&mut server, time, &interrupt).expect("collected");
        assert!(found.interrupted && found.elapsed < time);
    }
}
