//! What is simulated, as plain data.

use crate::chance::Chance;
use crate::device_model::{DeviceModel, LatencyTail};
use measure::workload::Workload;
use redo::group::Geometry;
use redo::{LogFileSync, LogWriter, Policy, Triggers};

/// What things cost a processor, nanoseconds. They are fitted by calibration, to one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// The work of a session between two commits, the copy of its redo not included.
    pub work_ns: u64,
    /// Copying 1 kB of redo into the log buffer.
    pub copy_ns_per_kb: u64,
    /// The log writer's own work for one log write, operations not included.
    pub turn_ns: u64,
    /// Each operation of the device: its system call, and its interrupt.
    pub io_ns: u64,
    /// Waking a thread, for the thread that wakes.
    pub wake_ns: u64,
    /// Going to sleep and coming onto a processor again.
    pub switch_ns: u64,
    /// Until a processor that sleeps runs a woken thread; no work of any processor.
    pub idle_ns: u64,
    /// Looking once and letting others run.
    pub poll_ns: u64,
    /// How much longer everything takes beside each other processor that works: 0.5 is half as long
    /// again.
    pub contention: f64,
    /// Coefficient of variation of the work between two commits.
    pub work_variation: f64,
}

impl SimulationSetup {
    /// The devices, in the order of the members.
    pub(crate) fn devices(&self) -> impl Iterator<Item = &DeviceModel> {
        let others = self.members.iter().flat_map(|of| &of.others);
        std::iter::once(&self.device).chain(others)
    }

    /// A completed write is durable, on every device.
    pub(crate) fn has_durable_writes(&self) -> bool {
        self.devices().all(DeviceModel::has_durable_writes)
    }
}

/// The log and its log writer.
#[derive(Clone, Debug)]
pub struct LogSetup {
    /// Who writes.
    pub writer: LogWriter,
    /// How foregrounds wait; what is usual with that log writer where it is `None`.
    pub log_file_sync: Option<LogFileSync>,
    /// What makes the log writer write.
    pub triggers: Triggers,
    /// The log writer's parameters.
    pub policy: Policy,
    /// The shape of the log.
    pub geometry: Geometry,
    /// Blocks of the log buffer.
    pub buffer_blocks: u64,
}

impl Costs {
    /// Round figures of a machine with two processors: where a fit begins.
    pub const ROUND: Costs = Costs {
        work_ns: 600,
        copy_ns_per_kb: 60,
        turn_ns: 300,
        io_ns: 8000,
        wake_ns: 2500,
        switch_ns: 1500,
        idle_ns: 5000,
        poll_ns: 400,
        contention: 0.2,
        work_variation: 0.3,
    };
}

/// The devices of a log's members.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberDevices {
    /// The members behind the first.
    pub others: Vec<DeviceModel>,
    /// Members of a cell, which race; cells mirror each other.
    pub cell: usize,
    /// Threads of the log's own carry their operations out, on the same processors; otherwise a
    /// storage server does.
    pub have_threads: bool,
}

/// What is before all devices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WayToDevices {
    /// What each write takes on it, nanoseconds: no race hides it.
    pub write_ns: f64,
    /// What some of them take besides.
    pub tail: LatencyTail,
}

impl WayToDevices {
    /// What a write takes on it, drawn.
    pub(crate) fn takes_ns(&self, chance: &mut Chance) -> u64 {
        let slow = self.tail.share > 0.0 && chance.unit() < self.tail.share;
        let more = if slow {
            chance.exponential(self.tail.mean_ns)
        } else {
            0.0
        };
        libm::round(self.write_ns + more) as u64
    }
}

/// A row that is simulated.
#[derive(Clone, Debug)]
pub struct SimulationSetup {
    /// Processors, 1 or more.
    pub processors: u32,
    /// What things cost them.
    pub costs: Costs,
    /// The log.
    pub log: LogSetup,
    /// Sessions in a closed loop, 1 or more.
    pub sessions: u32,
    /// What each of their transactions appends and how it commits.
    pub workload: Workload,
    /// The device below the log; of a log with members the first of them.
    pub device: DeviceModel,
    /// The other members, each of which holds all of the log, and how many are in a cell.
    pub members: Option<MemberDevices>,
    /// What is before them.
    pub way: WayToDevices,
    /// Virtual time before anything counts, nanoseconds.
    pub warmup_ns: u64,
    /// Virtual time that counts, nanoseconds.
    pub time_ns: u64,
    /// The row ends earlier, with so many commits.
    pub commits: Option<u64>,
    /// Of the random draws.
    pub seed: u64,
}
