//! The plan of an experiment: where, what, how long and under which limits, as plain data.
//!
//! Invariants: a plan has no handle, no clock and no option of a command line; written as JSON and
//! read again it is the same plan. Whether it can be carried out is for
//! [`conduct()`](crate::experiment::conduct()) to find out, on the machine on which it runs.

pub mod expected;
pub mod fits;
mod in_words;
pub mod ladder;
pub(crate) mod prepare;
pub mod quantities;

use crate::experiment::measure::floor::{self, FILE_BYTES, Point};
use crate::experiment::measure::row::Spec;
use crate::experiment::target::background::LogBackgroundPlan;
use device::{IoEngine, StripeWidth, SyncMethod};
use measure::Nanos;
use measure::judgement::Need;
use measure::run::RunNotes;
use measure::stack::Declaration;
use redo::engine::ring_file_bytes;
use redo::engine::stripe::stripe_file_bytes;
use redo::{LogFileSync, LogWriter, Shape, Triggers};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An experiment on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExperimentPlan {
    /// Where the log is.
    pub target: PlannedTarget,
    /// What is measured there.
    pub measured: MeasurementPlan,
}

/// The same measurement on several targets, in interleaved rounds: A B, B A, A B …
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundsPlan {
    /// The targets, the base first.
    pub targets: Vec<NamedTarget>,
    /// Rounds on each of them.
    pub rounds: u32,
    /// Each target is written with the sync method and I/O engine that its own probe finds fastest,
    /// where none was named; otherwise all with those that are fastest on all of them.
    #[serde(default)]
    pub own_back_ends: bool,
    /// What is measured in each round.
    pub measured: MeasurementPlan,
}

/// Study 000's experiment on one target: what a commit waits for, in interleaved rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainPlan {
    /// Where the logs are made: one for each way of waiting that the rows have.
    pub target: PlannedTarget,
    /// How often each row is measured.
    pub rounds: u32,
    /// What is measured in each round: every row has a condition.
    pub measured: MeasurementPlan,
}

/// A target with the name that it has in results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedTarget {
    /// The name.
    pub name: String,
    /// The target.
    pub target: PlannedTarget,
    /// How its log is made and written, where that differs from the others.
    #[serde(default)]
    pub log: Option<LogPlan>,
    /// The members in its directories; `None` where the log has none.
    #[serde(default)]
    pub members: Option<MembersPlan>,
}

impl NamedTarget {
    /// What is measured on this target, of what is measured on all.
    #[must_use]
    pub fn measured(&self, common: &MeasurementPlan) -> MeasurementPlan {
        let mut measured = common.clone();
        if let Some(log) = &self.log {
            measured.log = log.clone();
        }
        measured.log.members = self.members;
        measured
    }
}

/// Where a log is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannedTarget {
    /// On the null device, to which nothing is written: the cost of the laboratory itself.
    Null,
    /// In a directory, or on a raw block device.
    Path {
        /// The path as the user wrote it.
        path: PathBuf,
        /// The path of a raw device once more, by which its owner allows it to be overwritten.
        destroy: Option<PathBuf>,
        /// Further directories over which the log, or several logs, lie.
        #[serde(default)]
        more: Vec<PathBuf>,
    },
    /// A target that exists already, behind a driver.
    Driver {
        /// The driver's name.
        name: String,
        /// The target's address, as the driver reads it.
        address: TargetAddress,
    },
    /// A server that is made for the experiment, and removed after it.
    Managed(ManagedServerPlan),
}

/// A server that is made for an experiment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManagedServerPlan {
    /// Name of the driver that makes it.
    pub driver: String,
    /// The directory below which its data is.
    pub data: PathBuf,
    /// The directory below which its redo is.
    pub log: PathBuf,
    /// The directory of its programs; `None` for those that are installed.
    pub programs: Option<PathBuf>,
    /// Its settings beside those of the driver, by its own names.
    pub settings: BTreeMap<String, String>,
}

/// The address of a target. Its `Debug` text has nothing of it, since it may contain a password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetAddress(pub String);

impl std::fmt::Debug for TargetAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<address>")
    }
}

/// What is measured on a target, and under which limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasurementPlan {
    /// The command that made the plan, argument by argument.
    pub command: Vec<String>,
    /// How the log is made and written.
    pub log: LogPlan,
    /// The rows, in the order in which they run. Without rows no log is made.
    pub rows: Vec<Spec>,
    /// The device's floor, where it is measured before the rows.
    pub floor: Option<FloorPlan>,
    /// Every event is stored one by one.
    pub events: bool,
    /// Bytes that the process may write in all; `None` for no limit.
    pub max_write_bytes: Option<u64>,
    /// Measure although others use the device.
    pub allow_busy: bool,
    /// Say what would be done, and do nothing.
    pub dry_run: bool,
    /// What the run is judged by.
    pub judgement: JudgementPlan,
    /// What the user notes about the run.
    #[serde(default)]
    pub notes: RunNotes,
}

/// What a run is judged by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JudgementPlan {
    /// The need that the user stated.
    pub need: Need,
    /// What the user declares of the storage.
    pub declared: Vec<Declaration>,
    /// Thresholds that override the built-in ones, as [`analysis::Thresholds::parse`] reads them.
    pub thresholds: String,
    /// What the plan leaves out on purpose, in words.
    pub not_judged: Vec<String>,
}

/// The device's floor: raw durable writes without a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorPlan {
    /// Which writes are timed.
    pub extent: FloorExtent,
    /// Time of each point.
    pub time: Nanos,
    /// Time of the floor per processor, of all processors together.
    pub placement: Nanos,
}

/// Which writes of a floor are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloorExtent {
    /// Those that a judgement needs.
    Short,
    /// Every sync method with every size.
    Full,
}

/// What the short floor writes at most, on a fast device.
const SHORT_FLOOR_BYTES: u64 = 8 << 30;
/// What the full floor writes in a second: a few large writes decide.
const FULL_FLOOR_BYTES_PER_S: f64 = 0.5e9;

impl FloorPlan {
    /// The points, in order.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        match self.extent {
            FloorExtent::Short => floor::short(),
            FloorExtent::Full => floor::full(),
        }
    }

    /// Time that it takes, the comparison of processors included, without making its file.
    #[must_use]
    pub fn expected_time(&self) -> Nanos {
        let points = self.points().len() as u64;
        Nanos(self.time.0.saturating_mul(points)).plus(self.placement)
    }

    /// Bytes of the files that it makes. A raw device has no blocks that are allocated and not
    /// written, so nothing is made for those there.
    #[must_use]
    pub fn footprint_bytes(&self, raw: bool) -> u64 {
        let points = self.points();
        let fresh = points.iter().filter(|p| !p.pre_written && !raw).count() as u64;
        FILE_BYTES * (1 + fresh)
    }

    /// Bytes that its points write at most, for the announcement.
    #[must_use]
    pub fn expected_bytes(&self) -> u64 {
        match self.extent {
            FloorExtent::Short => SHORT_FLOOR_BYTES,
            FloorExtent::Full => {
                let seconds =
                    self.time.as_secs() * self.points().len() as f64 + self.placement.as_secs();
                (seconds * FULL_FLOOR_BYTES_PER_S) as u64
            }
        }
    }
}

/// How a log is made and written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPlan {
    /// Shape of the log.
    #[serde(with = "in_words::shape")]
    pub shape: Shape,
    /// How writes are made durable; `None` for the fastest that is found.
    #[serde(with = "in_words::sync_method")]
    pub sync_method: Option<SyncMethod>,
    /// Which thread writes the log.
    #[serde(with = "in_words::log_writer")]
    pub log_writer: LogWriter,
    /// How foregrounds learn that their redo is durable.
    #[serde(with = "in_words::log_file_sync")]
    pub log_file_sync: LogFileSync,
    /// What makes the log writer write.
    #[serde(with = "in_words::triggers")]
    pub triggers: Triggers,
    /// CPUs that the log writer's threads stay on; anywhere when empty.
    pub log_writer_cpus: Vec<usize>,
    /// Bytes of the log buffer.
    pub buffer_bytes: usize,
    /// Ask for huge pages.
    pub huge_pages: bool,
    /// Ask that the log buffer be locked in memory.
    pub lock_memory: bool,
    /// How writes are handed to the system.
    #[serde(with = "in_words::io")]
    pub io: IoEngine,
    /// Batches in flight at most.
    pub io_depth: u32,
    /// Log writes that take at least this are kept one by one, with a warning for each.
    #[serde(default = "log_write_warning")]
    pub log_write_warning: Nanos,
    /// The stripe over the target's directories; `None` where the log lies in one.
    #[serde(default)]
    pub stripe: Option<StripePlan>,
    /// The members in the target's directories, each of which holds the whole log; `None` where the
    /// log has none.
    #[serde(default)]
    pub members: Option<MembersPlan>,
    /// Logs of this kind, each with its own log writer and sessions. They lie in one directory, or
    /// in as many.
    #[serde(default = "one")]
    pub nodes: u32,
    /// What runs beside the sessions.
    #[serde(default)]
    pub background: LogBackgroundPlan,
}

/// A log in several directories, each of which holds all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MembersPlan {
    /// Number of members.
    pub members: u32,
    /// Members of a cell, which race; cells mirror each other.
    pub cell: u32,
    /// Directories may be on one device.
    pub same_device: bool,
    /// The second of two members is a ring.
    #[serde(default)]
    pub ring: Option<RingPlan>,
}

/// A small second member, which holds what the disk does not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingPlan {
    /// Size of the ring.
    pub bytes: u64,
    /// With failover: how long the disk may take before the ring is written; `None` where it is
    /// always written.
    pub failover_delay: Option<Nanos>,
}

/// Logs of a plan that names no number.
fn one() -> u32 {
    1
}

/// A log in a stripe over several directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripePlan {
    /// Width of the stripe.
    #[serde(with = "in_words::stripe_width")]
    pub width: StripeWidth,
    /// Number of directories.
    pub directories: u32,
    /// Directories may be on one device.
    pub same_device: bool,
}

/// The threshold of Oracle's log writer: 500 ms.
fn log_write_warning() -> Nanos {
    Nanos(measure::waits::OUTLIER_NS)
}

impl Default for LogPlan {
    fn default() -> LogPlan {
        LogPlan {
            shape: Shape::default(),
            sync_method: None,
            log_writer: LogWriter::default(),
            log_file_sync: LogWriter::default().usual_log_file_sync(),
            triggers: Triggers::default(),
            log_writer_cpus: Vec::new(),
            buffer_bytes: 16 << 20,
            huge_pages: false,
            lock_memory: false,
            io: IoEngine::Auto,
            io_depth: 1,
            log_write_warning: log_write_warning(),
            stripe: None,
            members: None,
            nodes: 1,
            background: LogBackgroundPlan::default(),
        }
    }
}

impl LogPlan {
    /// How often each byte of redo is written, at most.
    #[must_use]
    pub fn copies(&self) -> u64 {
        self.members.map_or(1, |members| members.members.into())
    }

    /// How often each byte of redo is written, at most, by the log and by what runs beside it.
    #[must_use]
    pub fn writes_per_redo(&self) -> u64 {
        self.copies()
            .saturating_add(self.background.writes_per_redo())
    }

    /// Its ring, if it has one.
    #[must_use]
    pub fn ring(&self) -> Option<RingPlan> {
        self.members.and_then(|members| members.ring)
    }

    /// Of `bytes` of files in `count` directories, those in the directory with that number, from 0.
    #[must_use]
    pub fn part_of_files(&self, bytes: u64, directory: usize, count: u64) -> u64 {
        let Some(ring) = self.ring() else {
            return bytes.div_ceil(count.max(1));
        };
        let ring = ring_file_bytes(ring.bytes);
        match directory {
            0 => bytes.saturating_sub(ring),
            _ => ring,
        }
    }

    /// The option by which the directories of a log that has several must be on different devices;
    /// `None` where they need not.
    #[must_use]
    pub fn keeps_apart(&self) -> Option<&'static str> {
        let stripe = self.stripe.filter(|stripe| !stripe.same_device);
        let members = self.members.filter(|members| !members.same_device);
        let stripe = stripe.map(|_| "--stripe");
        stripe.or(members.map(|_| "--members"))
    }

    /// Bytes of the files of all logs together.
    #[must_use]
    pub fn footprint_bytes(&self) -> u64 {
        let one = match self.stripe {
            Some(stripe) => {
                let count = stripe.directories as usize;
                let each = stripe_file_bytes(&self.shape, count, stripe.width);
                each.saturating_mul(count as u64)
            }
            None => {
                let log = self.shape.file_bytes * u64::from(self.shape.groups);
                let log = log + redo::control::CONTROL_BYTES;
                match self.ring() {
                    Some(ring) => log.saturating_add(ring_file_bytes(ring.bytes)),
                    None => log.saturating_mul(self.copies()),
                }
            }
        };
        one.saturating_mul(u64::from(self.nodes.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::measure::load::CommitApi;
    use measure::workload::Workload;
    use measure::workload::arrivals::{Arrivals, Process};

    #[test]
    fn a_plan_comes_back_from_json_as_it_was() {
        let workload = Workload::standard().swap_remove(3);
        let row = Spec {
            api: CommitApi::Async { threads: 3 },
            arrivals: Arrivals::new(500.0, Process::Poisson, "9@1s".parse().ok()).ok(),
            ..Spec::closed(workload, 7, Nanos::from_secs(3), Nanos::from_millis(5))
        };
        let methods = SyncMethod::ALL.map(Some).into_iter().chain([None]);
        for (sync_method, writer) in methods.zip(["auto", "lgwr", "workers=3", "adaptive"]) {
            let plan = ExperimentPlan {
                target: PlannedTarget::Path {
                    path: PathBuf::from("/u01"),
                    destroy: None,
                    more: vec![PathBuf::from("/u02")],
                },
                measured: MeasurementPlan {
                    command: vec!["redolab".to_owned(), "run".to_owned()],
                    log: LogPlan {
                        sync_method,
                        log_writer: writer.parse().expect("a log writer"),
                        log_file_sync: LogFileSync::Adaptive,
                        triggers: "third,2MB".parse().expect("triggers"),
                        log_writer_cpus: vec![0, 2],
                        io: IoEngine::IoUring,
                        log_write_warning: Nanos::from_millis(3),
                        stripe: sync_method.map(|_| StripePlan {
                            width: StripeWidth::Coarse,
                            directories: 2,
                            same_device: true,
                        }),
                        members: sync_method.is_none().then_some(MembersPlan {
                            members: 2,
                            cell: 2,
                            same_device: false,
                            ring: Some(RingPlan {
                                bytes: 64 << 20,
                                failover_delay: Some(Nanos::from_millis(20)),
                            }),
                        }),
                        ..LogPlan::default()
                    },
                    rows: vec![row.clone()],
                    floor: Some(FloorPlan {
                        extent: FloorExtent::Short,
                        time: Nanos::from_millis(20),
                        placement: Nanos::from_millis(30),
                    }),
                    events: true,
                    max_write_bytes: Some(1 << 30),
                    allow_busy: false,
                    dry_run: false,
                    notes: RunNotes {
                        label: Some("a".to_owned()),
                        tags: [("volume".to_owned(), "gp3".to_owned())].into(),
                    },
                    judgement: JudgementPlan {
                        thresholds: "peak_ratio = 7".to_owned(),
                        ..JudgementPlan::default()
                    },
                },
            };
            let json = serde_json::to_string(&plan).expect("plain data");
            assert!(
                json.contains(&format!("\"log_writer\":\"{writer}\"")),
                "{json}"
            );
            let read: ExperimentPlan = serde_json::from_str(&json).expect("reads");
            assert_eq!(read, plan);
        }
    }
}
