//! A disk that rotates: one arm, tracks in one row, an optional write-back cache.
//!
//! Tracks are skewed so that bytes that follow each other pass the head without a gap. A write that
//! arrives when the head has passed its place waits for a rotation. What is in the cache is written
//! in the order of its arrival, beginning at once.

use super::Operation;
use super::field::{Contradiction, Field, lone};
use super::front::DeviceFront;

/// A disk that rotates, or an array of such disks behind a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RotationModel {
    /// Rotations per minute.
    pub rpm: f64,
    /// What passes the head in a rotation, kB.
    pub track_kb: f64,
    /// From a track to the next, nanoseconds.
    pub seek_track_ns: f64,
    /// The mean over all pairs of tracks.
    pub seek_ns: f64,
    /// Commands and cache.
    pub front: DeviceFront,
    /// What the cache writes to its disks in sequence, MB/s; 0: what passes the head.
    pub destage_mb_per_s: f64,
    /// Its size, GB.
    pub capacity_gb: f64,
}

impl RotationModel {
    pub(super) fn fields(&mut self) -> Vec<Field<'_>> {
        let mut out = vec![
            Field::rate("rpm", &mut self.rpm).from(1.0),
            Field::number("track_kb", 1e6, &mut self.track_kb).from(0.5),
            Field::time("seek_track_us", &mut self.seek_track_ns),
            Field::time("seek_us", &mut self.seek_ns),
            Field::rate("destage_mb_per_s", &mut self.destage_mb_per_s).optional(),
            Field::number("capacity_gb", 1e9, &mut self.capacity_gb).from(1e-3),
        ];
        out.extend(self.front.fields());
        out
    }

    pub(super) fn contradiction(&self) -> Contradiction {
        let (track, mean) = (self.seek_track_ns / 1e3, self.seek_ns / 1e3);
        let what = format!("seek_us = {mean}: use seek_track_us = {track} or more");
        let less = (mean < track).then_some(("seek_us", what));
        let cache = ("cache_kb", self.front.cache_bytes());
        let lone = lone(("destage_mb_per_s", self.destage_mb_per_s), cache);
        less.or(lone).or(self.front.contradiction())
    }

    /// Nanoseconds of a rotation.
    pub(super) fn rotation_ns(&self) -> f64 {
        60e9 / self.rpm
    }
}

/// A [`RotationModel`] at work.
#[derive(Debug)]
pub(crate) struct RotationDevice {
    of: RotationModel,
    track_bytes: f64,
    tracks: f64,
    /// Bytes per nanosecond that reach the medium.
    rate: f64,
    /// Where the head is when the arm has done its work, and when that is.
    head: u64,
    free: f64,
    /// Bytes in the cache at `at`, which drain from `drains_from`.
    dirty: f64,
    at: f64,
    drains_from: f64,
    link: f64,
}

impl RotationDevice {
    pub(super) fn new(of: &RotationModel) -> RotationDevice {
        let track_bytes = of.track_kb * 1024.0;
        let rate = match of.destage_mb_per_s > 0.0 {
            true => of.destage_mb_per_s * f64::from(1 << 20) / 1e9,
            false => track_bytes / of.rotation_ns(),
        };
        RotationDevice {
            of: *of,
            track_bytes,
            tracks: (of.capacity_gb * f64::from(1 << 30) / track_bytes).max(1.0),
            rate,
            head: 0,
            free: 0.0,
            dirty: 0.0,
            at: 0.0,
            drains_from: 0.0,
            link: 0.0,
        }
    }

    /// When the arm has written `bytes` to `place` that it is given at `now`.
    fn arm(&mut self, now: f64, place: u64, bytes: u64) -> f64 {
        let takes = bytes as f64 / self.rate;
        let streams = now < self.free && place == self.head;
        if !streams {
            let idle = now >= self.free;
            let begins = now.max(self.free) + self.seek(place);
            // The head's place on the track, as far as the disk has turned since.
            let turned = (begins - self.free) / self.of.rotation_ns();
            let ahead = (place as f64 - self.head as f64) / self.track_bytes - turned;
            let ahead = ahead - libm::floor(ahead);
            // The sector that passes in this moment has passed.
            let ahead = if ahead > 0.0 { ahead } else { 1.0 };
            self.free = begins + ahead * self.of.rotation_ns();
            if idle {
                self.drains_from = self.free;
            }
        }
        self.free += takes;
        self.head = place + bytes;
        self.free
    }

    /// By the root of the distance: over all pairs of tracks the mean is that of the model, as the
    /// mean of the root of a distance is 8/15.
    fn seek(&self, place: u64) -> f64 {
        let track = |place: u64| libm::floor(place as f64 / self.track_bytes);
        let distance = (track(place) - track(self.head)).abs();
        if distance == 0.0 || place == self.head {
            return 0.0;
        }
        let longer = self.of.seek_ns - self.of.seek_track_ns;
        self.of.seek_track_ns + longer * 15.0 / 8.0 * libm::sqrt(distance / self.tracks)
    }

    fn drain(&mut self, now: f64) {
        let since = (now - self.at.max(self.drains_from)).max(0.0);
        self.dirty = (self.dirty - since * self.rate).max(0.0);
        self.at = self.at.max(now);
    }

    pub(super) fn ends(&mut self, now: u64, operation: Operation) -> u64 {
        let at = now as f64;
        let ends = match operation {
            Operation::Flush if self.of.front.has_durable_writes() => at,
            Operation::Flush => at.max(self.free) + self.of.front.command_ns,
            Operation::Write { place, bytes } if self.of.front.cache_bytes() == 0.0 => {
                self.arm(at, place, bytes) + self.of.front.command_ns
            }
            Operation::Write { place, bytes } => {
                self.drain(at);
                let over = self.dirty + bytes as f64 - self.of.front.cache_bytes();
                let mut begins = at;
                if over > 0.0 {
                    begins = at.max(self.drains_from) + over / self.rate;
                    self.drain(begins);
                }
                self.arm(begins, place, bytes);
                self.dirty += bytes as f64;
                self.of.front.crosses(&mut self.link, begins, bytes)
            }
        };
        now.max(libm::ceil(ends) as u64)
    }
}
