//! Several directories as one place; and what is asked of a place before and while something is
//! measured there.

use super::place::LogPlace;
use super::site::Site;
use super::storage::same_volume;
use crate::experiment::Failure;
use crate::experiment::console::Console;
use crate::experiment::guard::neighbours;
use crate::experiment::measure::row::Spec;
use crate::experiment::plan::{LogPlan, MeasurementPlan};
use crate::observe::background;
use crate::observe::diskstats::Counters;
use crate::observe::topology::counted_devices;
use crate::safety::{self, PlannedWrites};
use device::Caps;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

impl LogPlace {
    /// Adds further directories, over which the log lies too.
    ///
    /// # Errors
    /// Whatever makes one of them no place for a log; directories of a stripe on one device.
    pub(crate) fn add(&mut self, paths: &[PathBuf], log: &LogPlan) -> Result<(), Failure> {
        for path in paths {
            let other = LogPlace::at(path, None)?;
            if let Some(device) = [&*self]
                .into_iter()
                .chain(&self.more)
                .find(|t| t.is_device())
            {
                return Err(not_a_directory(device));
            }
            if other.is_device() {
                return Err(not_a_directory(&other));
            }
            // Both paths are resolved.
            if self.all().any(|t| t.path() == other.path()) {
                return Err(Failure::Unusable(format!(
                    "{}: this directory is named twice; name each directory once",
                    path.display()
                )));
            }
            if let Some(option) = log.keeps_apart() {
                self.refuse_same_device(&other, option)?;
            }
            self.more.push(other);
        }
        for other in &self.more {
            self.storage.add(&other.storage);
        }
        Ok(())
    }

    /// Refuses a directory on a device that another one is on already.
    fn refuse_same_device(&self, other: &LogPlace, option: &str) -> Result<(), Failure> {
        let shared = |t: &&LogPlace| t.shares_device(other);
        match [self].into_iter().chain(&self.more).find(shared) {
            None => Ok(()),
            Some(same) => Err(Failure::Unusable(format!(
                "{option}: {} and {} are on the same device, which makes nothing faster and protects \
                 nothing; name directories on different devices, or measure anyway with \
                 --force-same-device",
                same.path().display(),
                other.path().display()
            ))),
        }
    }

    /// All directories, in the order in which they were named.
    fn all(&self) -> impl Iterator<Item = &LogPlace> {
        [self].into_iter().chain(&self.more)
    }

    /// The path, or the paths of all directories, for results.
    pub(crate) fn shown(&self) -> PathBuf {
        let paths = self.all().map(|t| t.path().display().to_string());
        PathBuf::from(paths.collect::<Vec<_>>().join(","))
    }

    /// The place to write to: a folder in each directory, or for each of several logs in one; or
    /// the device, held from now on. Folders that killed processes left are removed.
    ///
    /// # Errors
    /// No folder can be made, or the device is not what it was.
    pub(crate) fn site(&self, log: &LogPlan, console: &dyn Console) -> Result<Site, Failure> {
        if self.is_device() {
            return self.site_of_one(console);
        }
        let of_one = if self.more.is_empty() {
            log.nodes.max(1)
        } else {
            1
        };
        let mut folders = Vec::new();
        for place in self.all() {
            for _ in 0..of_one {
                folders.extend(place.site_of_one(console)?.into_folders());
            }
        }
        Ok(Site::Folders(folders))
    }

    /// What the device below is taken to be able to, as far as a log's shape depends on it.
    fn caps(&self) -> Caps {
        let layers = || self.storage.stack.layers.iter();
        let sectors = |bytes: Option<u64>| bytes.and_then(|b| u32::try_from(b).ok());
        let logical_bytes = layers().find_map(|l| sectors(l.logical_block_bytes));
        let physical_bytes = layers().find_map(|l| sectors(l.physical_block_bytes));
        Caps {
            logical_bytes: logical_bytes.unwrap_or(512),
            physical_bytes: physical_bytes.unwrap_or(4096),
            memory_align: 4096,
            max_io_bytes: 1 << 20,
            durable_writes: false,
            blocking: true,
        }
    }

    /// Bytes of a redo block of a log that is made here.
    ///
    /// # Errors
    /// A log that cannot be made here.
    pub(crate) fn block_bytes(&self, log: &LogPlan) -> Result<u32, Failure> {
        let geometry = log.shape.geometry(&self.caps(), self.path())?;
        Ok(geometry.block_bytes)
    }

    /// Whether both are on one device, as far as that can be seen.
    fn shares_device(&self, other: &LogPlace) -> bool {
        let counted = &other.storage.counted;
        self.storage.counted.iter().any(|dev| counted.contains(dev)) || self.shares_volume(other)
    }

    /// Whether both are on one file system.
    pub(crate) fn shares_volume(&self, other: &LogPlace) -> bool {
        same_volume(self.path(), other.path())
    }

    /// Whether the volume has room for the files of several targets together.
    ///
    /// # Errors
    /// Too little room.
    pub(crate) fn check_room_for(&self, writes: &[PlannedWrites]) -> Result<(), Failure> {
        let Some(first) = writes.first() else {
            return Ok(());
        };
        let sum =
            |of: fn(&PlannedWrites) -> u64| writes.iter().map(of).fold(0, u64::saturating_add);
        let all = PlannedWrites {
            footprint_bytes: sum(|w| w.footprint_bytes),
            log_files: sum(|w| w.log_files),
            ..*first
        };
        Ok(safety::check_plan(&all, self.room)?)
    }

    /// A device that both are on, by name where that is known; `None` where they share none.
    pub(crate) fn shared_device(&self, other: &LogPlace) -> Option<String> {
        if !self.shares_device(other) {
            return None;
        }
        let (own, others) = (&self.storage.stack.layers, &other.storage.stack.layers);
        let both = own.iter().filter(|layer| others.contains(layer));
        let mut named = both
            .map(|layer| &layer.name)
            .filter(|name| !name.is_empty());
        let last = named.next_back();
        Some(last.map_or_else(|| "one volume".to_owned(), String::clone))
    }

    /// Refuses a log that cannot be made here, before anything is measured.
    ///
    /// # Errors
    /// The option that is not possible, and what to change.
    pub(crate) fn check_log(&self, log: &LogPlan, rows: &[Spec]) -> Result<(), Failure> {
        let geometry = log.shape.geometry(&self.caps(), self.path())?;
        let options = redo::Options::default().buffer_bytes(log.buffer_bytes);
        let ring_blocks = options.ring_blocks(&geometry)?;
        let record = |s: &Spec| u64::from(s.workload.redo_bytes / s.workload.records.max(1));
        let (len, max) = (
            rows.iter().map(record).max().unwrap_or(0),
            geometry.max_record(ring_blocks),
        );
        if len > max {
            let too_large = redo::Error::RecordTooLarge { len, max };
            return Err(Failure::Unusable(format!(
                "{too_large}: raise --log-buffer and --log-file-size"
            )));
        }
        Ok(())
    }

    /// Has the file system write what is in its caches.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn settle(&self, console: &dyn Console) -> Result<(), Failure> {
        self.all().try_for_each(|target| target.settle_one(console))
    }

    /// Whether the run may go on: somebody else may be filling the volume.
    ///
    /// # Errors
    /// Too little room, or a volume that does not answer.
    pub(crate) fn recheck(&self) -> Result<(), Failure> {
        self.all().try_for_each(|target| {
            let path = target.path().display().to_string();
            let room = target.room_now().map_err(Failure::system(path))?;
            Ok(safety::recheck(room)?)
        })
    }

    /// Says what will be written, and refuses what would endanger the machine. Returns a warning
    /// for the run where the user insisted.
    ///
    /// # Errors
    /// The refusal, with what to do.
    pub(crate) fn announce(
        &self,
        writes: &PlannedWrites,
        lines: &[String],
        plan: &MeasurementPlan,
        console: &dyn Console,
    ) -> Result<Option<String>, Failure> {
        self.announce_once((writes, lines), plan, console, &mut BTreeSet::new())
    }

    /// The same of one of several targets: what was `said` of another one is not repeated.
    ///
    /// # Errors
    /// As [`LogPlace::announce`].
    pub(crate) fn announce_once(
        &self,
        (writes, lines): (&PlannedWrites, &[String]),
        plan: &MeasurementPlan,
        console: &dyn Console,
        said: &mut BTreeSet<Vec<String>>,
    ) -> Result<Option<String>, Failure> {
        let warning = self.warning();
        let all = warning
            .into_iter()
            .chain(safety::announcement(writes, self.room))
            .chain(lines.iter().cloned());
        let all: Vec<String> = all.collect();
        if said.insert(all.clone()) {
            all.iter().for_each(|line| console.say(line));
        }
        self.check_rooms(writes, &plan.log)?;
        let mut warning = None;
        for target in self.all() {
            // Whoever may write to a raw device was refused before, whatever the user insists on.
            let path = (!target.is_device()).then(|| target.path());
            let busy = || target.busy();
            let found = neighbours::check(path, None, busy, plan.allow_busy, console)?;
            warning = warning.or(found);
        }
        if plan.dry_run {
            console.say("Dry run: nothing was written.");
        }
        Ok(warning)
    }

    /// Whether each volume has room for its part of the files; directories on one volume need
    /// theirs together.
    fn check_rooms(&self, writes: &PlannedWrites, log: &LogPlan) -> Result<(), Failure> {
        let count = 1 + self.more.len() as u64;
        let part = |at: usize| log.part_of_files(writes.footprint_bytes, at, count);
        for (own, target) in self.all().enumerate() {
            let path = target.path();
            let beside = self
                .all()
                .enumerate()
                .filter(|(at, other)| *at == own || same_volume(other.path(), path));
            let bytes: Vec<u64> = beside.map(|(at, _)| part(at)).collect();
            let parts = bytes.len() as u64;
            let part = PlannedWrites {
                footprint_bytes: bytes.into_iter().fold(0, u64::saturating_add),
                log_files: writes.log_files.div_ceil(count).saturating_mul(parts),
                ..*writes
            };
            safety::check_plan(&part, target.room)?;
        }
        Ok(())
    }

    fn busy(&self) -> Option<f64> {
        let window = Duration::from_secs(safety::BUSY_WINDOW_S);
        // Of its own device, also where the target has several.
        let own = counted_devices(&self.named.stack().ok()?);
        let [own] = own.as_slice() else { return None };
        let counters = Counters::open(*own).ok()?;
        let idleness = background::watch(&counters, window).ok()?;
        Some(idleness.utilisation_pct)
    }
}

/// Several places are directories.
pub(crate) fn not_a_directory(device: &LogPlace) -> Failure {
    Failure::Unusable(format!(
        "{}: is a raw block device; a log over several places needs directories",
        device.path().display()
    ))
}
