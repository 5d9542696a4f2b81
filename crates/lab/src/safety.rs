//! Whether a run may start on a machine that matters, and go on.
//!
//! Pure functions over plain inputs: the caller reads the volume, the device and the processes,
//! and prints what these say. Promises: what will be written is printed first; max(10 %, min(5 GiB,
//! 25 %)) of the volume stays free, also while running; a busy device, or one on which another
//! process writes redo or WAL files, is left alone unless the user insists. How much may be
//! written is in `budget`, and what of it each part gets in `experiment::limits`.

use measure::words::{sanitize, size};
use std::path::PathBuf;

/// What stays free on a volume where that is between 10 % and 25 % of its size.
const KEEP_FREE_BYTES: u64 = 5 << 30;
/// Share of any volume that stays free, as a divisor: 10 %.
const KEEP_FREE_DIVISOR: u64 = 10;
/// More than this share of a volume need not stay free, as a divisor: 25 %, so that a log can be
/// measured on the small volume that was made for it.
const KEEP_FREE_SMALL_DIVISOR: u64 = 4;
/// A device that others keep busier than this is not measured, percent.
const BUSY_PCT: f64 = 5.0;
/// How long to watch the device before a run, seconds.
pub const BUSY_WINDOW_S: u64 = 2;

/// A volume's room, as statvfs reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeRoom {
    /// Its size in bytes.
    pub total_bytes: u64,
    /// What an unprivileged process may still use, in bytes.
    pub available_bytes: u64,
}

impl VolumeRoom {
    /// The volume that holds an open directory.
    ///
    /// # Errors
    /// The system's.
    pub fn of(directory: impl std::os::fd::AsFd) -> std::io::Result<VolumeRoom> {
        let v = rustix::fs::fstatvfs(directory)?;
        Ok(VolumeRoom {
            total_bytes: v.f_blocks.saturating_mul(v.f_frsize),
            available_bytes: v.f_bavail.saturating_mul(v.f_frsize),
        })
    }

    /// Bytes that have to stay free.
    #[must_use]
    pub fn keep_bytes(&self) -> u64 {
        let small = self.total_bytes / KEEP_FREE_SMALL_DIVISOR;
        (self.total_bytes / KEEP_FREE_DIVISOR).max(KEEP_FREE_BYTES.min(small))
    }

    /// Bytes that may be used.
    #[must_use]
    pub fn usable_bytes(&self) -> u64 {
        self.available_bytes.saturating_sub(self.keep_bytes())
    }
}

/// Where the room for a log comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// A volume that others use too.
    Volume(VolumeRoom),
    /// A raw device of so many bytes, for the log alone.
    Device(u64),
}

impl From<VolumeRoom> for Room {
    fn from(volume: VolumeRoom) -> Room {
        Room::Volume(volume)
    }
}

/// What a run is about to do to its target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlannedWrites {
    /// Bytes of files that will be made: the room needed.
    pub footprint_bytes: u64,
    /// Number of log files among them; 0 where there are none.
    pub log_files: u64,
    /// Size of each of these, bytes.
    pub log_file_bytes: u64,
    /// Bytes that a raw device must have.
    pub device_bytes: u64,
    /// Bytes that will be written at most, log files written before and rows together.
    pub write_bytes: u64,
    /// The same without the user's limit.
    pub expected_bytes: u64,
    /// The user's limit on `write_bytes` (`--max-write`).
    pub max_write_bytes: Option<u64>,
    /// Bytes that the drive is rated to take in its life, where known.
    pub endurance_bytes: Option<u64>,
    /// The files are a server's: how much it writes into them is not known before.
    pub is_server: bool,
}

/// Somebody else's log on the device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignLog {
    /// The process.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The file that it writes.
    pub file: PathBuf,
}

/// The smallest log files that are advised, bytes: records of the largest workload fit into them.
const ADVISED_FILE_BYTES: u64 = 4 << 20;

/// What to do where there is too little room: the largest log files that fit are named, in MiB.
fn room_advice(plan: &PlannedWrites, volume: &VolumeRoom) -> String {
    let wanted = plan.footprint_bytes.saturating_add(volume.keep_bytes());
    let short = wanted.saturating_sub(volume.available_bytes);
    let usable = volume.usable_bytes();
    let log = plan.log_files.saturating_mul(plan.log_file_bytes);
    let others = plan.footprint_bytes.saturating_sub(log);
    let each = usable.saturating_sub(others) / plan.log_files.max(1);
    let elsewhere = format!(
        "Free at least {} more, or choose another volume",
        size(short)
    );
    match plan.log_files > 0 && each >= ADVISED_FILE_BYTES {
        true => format!(
            "Make smaller log files (--log-file-size {}M fits), or choose another volume",
            each >> 20
        ),
        false => elsewhere,
    }
}

/// Why a run may not start, or not go on. Each says what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Too little room.
    #[error(
        "not enough room: the files take {}, {} must stay free, and {} of the volume's {} are \
         available. {advice}",
        size(*.needed), size(*.keep), size(*.available), size(*.total)
    )]
    Room {
        /// Bytes needed.
        needed: u64,
        /// Bytes that have to stay free.
        keep: u64,
        /// Size of the volume.
        total: u64,
        /// Bytes available.
        available: u64,
        /// What to do.
        advice: String,
    },
    /// The device is too small.
    #[error(
        "the device has {}, and {} are needed. Choose smaller or fewer log files, or a larger device",
        size(*.available), size(*.needed)
    )]
    SmallDevice {
        /// Bytes needed.
        needed: u64,
        /// Bytes that it has.
        available: u64,
    },
    /// The volume filled up while running.
    #[error(
        "stopped: only {} of the volume are free, and {} must stay free; another process is \
         filling it",
        size(*.available), size(*.keep)
    )]
    FillingUp {
        /// Bytes available.
        available: u64,
        /// Bytes that have to stay free.
        keep: u64,
    },
    /// More would be written than was allowed.
    #[error(
        "--max-write allows {}, and the smallest limit that works here is --max-write {}M: {parts}. \
         Raise it{advice}",
        size(*.allowed), .planned.div_ceil(1 << 20)
    )]
    Budget {
        /// Bytes that are written at least.
        planned: u64,
        /// Bytes allowed.
        allowed: u64,
        /// What they are for.
        parts: String,
        /// What else can be done, from `, or` on; may be empty.
        advice: &'static str,
    },
    /// The budget is used up.
    #[error(
        "stopped before {} were written: {} are used, and --max-write allows {}",
        size(*.wanted), size(*.used), size(*.allowed)
    )]
    Spent {
        /// Bytes used.
        used: u64,
        /// Bytes that did not fit.
        wanted: u64,
        /// Bytes allowed.
        allowed: u64,
    },
    /// The user was asked, and did not agree.
    #[error(
        "not confirmed, and nothing was written. Write less with a shorter --time or with \
         --max-write, or answer with --yes"
    )]
    Declined,
    /// Others use the device.
    #[error(
        "the device is {utilisation_pct:.1} % busy with work of other processes (limit {BUSY_PCT} %): \
         the figures would be wrong, and these processes would become slower. Wait, choose another \
         device, or measure anyway with --allow-busy"
    )]
    Busy {
        /// Share of time with a request in flight, percent.
        utilisation_pct: f64,
    },
    /// Another process's log is on the device.
    #[error(
        "another process has its log on this device: {}. Choose another device, or measure anyway \
         with --allow-busy",
        holders(.0)
    )]
    Held(Vec<ForeignLog>),
}

impl Refusal {
    /// The fact alone, without the advice: for a user who insisted.
    #[must_use]
    pub fn fact(&self) -> String {
        match self {
            Refusal::Busy { utilisation_pct } => {
                format!(
                    "the device was {utilisation_pct:.1} % busy with work of other processes before \
                     the run"
                )
            }
            Refusal::Held(all) => {
                format!(
                    "another process writes its log on this device: {}",
                    holders(all)
                )
            }
            other => other.to_string(),
        }
    }
}

/// Whether the plan fits the room.
///
/// # Errors
/// Why not.
pub fn check_plan(plan: &PlannedWrites, room: impl Into<Room>) -> Result<(), Refusal> {
    match room.into() {
        Room::Volume(volume) if plan.footprint_bytes > volume.usable_bytes() => {
            Err(Refusal::Room {
                needed: plan.footprint_bytes,
                keep: volume.keep_bytes(),
                total: volume.total_bytes,
                available: volume.available_bytes,
                advice: room_advice(plan, &volume),
            })
        }
        Room::Device(available) if plan.device_bytes > available => {
            let needed = plan.device_bytes;
            Err(Refusal::SmallDevice { needed, available })
        }
        Room::Volume(_) | Room::Device(_) => Ok(()),
    }
}

/// Whether a run that has made its files may go on.
///
/// # Errors
/// Why not.
pub fn recheck(room: impl Into<Room>) -> Result<(), Refusal> {
    if let Room::Volume(volume) = room.into()
        && volume.available_bytes < volume.keep_bytes()
    {
        return Err(Refusal::FillingUp {
            available: volume.available_bytes,
            keep: volume.keep_bytes(),
        });
    }
    Ok(())
}

/// Whether the device is free for a measurement. `utilisation_pct` is what was seen over
/// [`BUSY_WINDOW_S`], `None` where no device can be watched; `holders` are processes that
/// wrote redo or WAL files on it meanwhile. With `allow_busy` the refusal comes back as a warning.
///
/// # Errors
/// Why not.
pub fn check_busy(
    utilisation_pct: Option<f64>,
    holders: &[ForeignLog],
    allow_busy: bool,
) -> Result<Option<Refusal>, Refusal> {
    let refusal = if !holders.is_empty() {
        Some(Refusal::Held(holders.to_vec()))
    } else {
        utilisation_pct
            .filter(|pct| *pct > BUSY_PCT)
            .map(|utilisation_pct| Refusal::Busy { utilisation_pct })
    };
    match refusal {
        Some(refusal) if !allow_busy => Err(refusal),
        other => Ok(other),
    }
}

/// What is printed before anything is written.
#[must_use]
pub fn announcement(plan: &PlannedWrites, room: impl Into<Room>) -> Vec<String> {
    let room = room.into();
    let (made, at_most) = (size(plan.footprint_bytes), size(plan.write_bytes));
    let mut lines = vec![match room {
        Room::Volume(_) if plan.is_server => {
            format!("Will make files of up to {made}; how much the server writes is not known.")
        }
        Room::Volume(_) => format!("Will make log files of {made} and write up to {at_most}."),
        Room::Device(_) => format!("Will make a log of {made} there and write up to {at_most}."),
    }];
    let rated = plan
        .endurance_bytes
        .filter(|rated| *rated > 0 && !plan.is_server);
    if let Some(rated) = rated {
        let share = 100.0 * plan.write_bytes as f64 / rated as f64;
        lines.push(format!(
            "That is {share:.4} % of the {} that the drive is rated to take.",
            size(rated)
        ));
    }
    lines.push(match room {
        Room::Volume(volume) => format!(
            "The volume has {} available; at least {} stay free.",
            size(volume.available_bytes),
            size(volume.keep_bytes())
        ),
        Room::Device(bytes) => format!(
            "The device has {}, all of it for the log: nothing has to stay free there.",
            size(bytes)
        ),
    });
    if let Some(allowed) = plan.max_write_bytes {
        lines.push(format!("Writes at most {} (--max-write).", size(allowed)));
    }
    lines
}

fn holders(all: &[ForeignLog]) -> String {
    const SHOWN: usize = 3;
    let mut words: Vec<String> = all
        .iter()
        .take(SHOWN)
        .map(|h| {
            let file = sanitize::line(&h.file.to_string_lossy());
            format!("{} (pid {}) has {file}", sanitize::line(&h.name), h.pid)
        })
        .collect();
    if all.len() > SHOWN {
        words.push(format!("and {} more", all.len() - SHOWN));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn volume(total: u64, available: u64) -> VolumeRoom {
        VolumeRoom {
            total_bytes: total * GIB,
            available_bytes: available * GIB,
        }
    }

    #[test]
    fn ten_percent_or_five_gib_but_a_quarter_at_most_stay_free() {
        for (total, available, footprint, fits) in [
            (20, 10, 5, true),
            (20, 10, 6, false),
            (40, 10, 5, true),
            (40, 10, 6, false),
            (1000, 200, 100, true),
            (1000, 200, 101, false),
            (1000, 90, 0, true),
            (1000, 90, 1, false),
            (4, 4, 3, true),
            (4, 4, 4, false),
            (4, 1, 0, true),
            (4, 1, 1, false),
        ] {
            let plan = PlannedWrites {
                footprint_bytes: footprint * GIB,
                ..PlannedWrites::default()
            };
            let got = check_plan(&plan, volume(total, available));
            assert_eq!(
                got.is_ok(),
                fits,
                "{total} {available} {footprint}: {got:?}"
            );
        }
        let refused = |footprint_mib: u64, file_mib: u64| {
            let plan = PlannedWrites {
                footprint_bytes: footprint_mib << 20,
                log_files: 3,
                log_file_bytes: file_mib << 20,
                ..PlannedWrites::default()
            };
            let refused = check_plan(&plan, volume(1, 1)).expect_err("768 MiB may be used");
            refused.to_string()
        };
        let smaller = refused(3 * 256 + 168, 256);
        assert!(smaller.contains("--log-file-size 200M fits"), "{smaller}");
        let larger = refused(3 * 256 + 760, 256);
        assert!(larger.contains("Free at least 760.0 MiB"), "{larger}");
        // 1 GiB must stay free, and half of that is there.
        let full = VolumeRoom {
            total_bytes: 4 * GIB,
            available_bytes: GIB / 2,
        };
        let plan = PlannedWrites {
            footprint_bytes: GIB / 4,
            ..PlannedWrites::default()
        };
        let said = check_plan(&plan, full).expect_err("full").to_string();
        assert!(said.contains("Free at least 768.0 MiB"), "{said}");
        let plan = |device_bytes| PlannedWrites {
            footprint_bytes: 100 * GIB,
            device_bytes,
            ..PlannedWrites::default()
        };
        assert_eq!(check_plan(&plan(8), Room::Device(8)), Ok(()));
        let (needed, available) = (9, 8);
        let small = Err(Refusal::SmallDevice { needed, available });
        assert_eq!(check_plan(&plan(9), Room::Device(8)), small);
        let v = volume(1000, 99);
        assert!(matches!(recheck(v), Err(Refusal::FillingUp { .. })));
        assert_eq!(recheck(volume(1000, 100)), Ok(()));
    }

    #[test]
    fn a_busy_device_is_left_alone() {
        let holder = ForeignLog {
            pid: 42,
            name: "post\u{1b}[31mgres".to_owned(),
            file: "/pg/pg_wal/000000010000000000000001".into(),
        };
        for (pct, held, allow, refused, warned) in [
            (Some(0.0), false, false, false, false),
            (Some(5.0), false, false, false, false),
            (Some(5.1), false, false, true, false),
            (Some(5.1), false, true, false, true),
            (None, false, false, false, false),
            (None, true, false, true, false),
            (Some(0.0), true, true, false, true),
        ] {
            let holders = if held {
                vec![holder.clone()]
            } else {
                Vec::new()
            };
            let got = check_busy(pct, &holders, allow);
            assert_eq!(got.is_err(), refused, "{pct:?} {held} {allow}");
            assert_eq!(matches!(got, Ok(Some(_))), warned, "{pct:?} {held} {allow}");
        }
        let text = Refusal::Held(vec![holder; 5]).to_string();
        assert!(
            text.contains("postgres (pid 42)") && text.contains("and 2 more"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}') && text.contains("--allow-busy"));
    }

    #[test]
    fn what_will_be_written_is_told() {
        let plan = PlannedWrites {
            footprint_bytes: GIB,
            log_files: 0,
            log_file_bytes: 0,
            device_bytes: GIB,
            write_bytes: 100 * GIB,
            expected_bytes: 100 * GIB,
            max_write_bytes: Some(200 * GIB),
            endurance_bytes: Some(600 * 1024 * GIB),
            is_server: false,
        };
        let text = announcement(&plan, volume(1000, 500)).join("\n");
        for must in [
            "1.0 GiB",
            "up to 100.0 GiB",
            "0.0163 %",
            "100.0 GiB stay free",
            "200.0 GiB",
        ] {
            assert!(text.contains(must), "{must} is not in\n{text}");
        }
        for (bytes, want) in [
            (0, "0 bytes"),
            (1023, "1023 bytes"),
            (1024, "1.0 KiB"),
            (1 << 20, "1.0 MiB"),
            (u64::MAX, "16.0 EiB"),
        ] {
            assert_eq!(size(bytes), want);
        }
    }
}
