//! The world around the log writer: time, threads, and what is recorded of them.
//!
//! Threads are numbered: the sessions from 0, behind them the log writer. Each has a [`Step`] that
//! says what it does when its time on a processor is over.

use crate::agenda::{Agenda, Moment};
use crate::buffer::CountBuffer;
use crate::chance::Chance;
use crate::cores::Cores;
use crate::device_model::Device;
use crate::member_set::{MemberCount, Members};
use crate::setup::SimulationSetup;
use crate::state::{Lead, Serve, Step, Thread};
use measure::record::{Background, Foreground, ONLY_KIND, Recording, RowLoad, TimeWindow, WaitSum};
use measure::words::size;
use measure::workload::CommitWait;
use redo::LogWriter;
use redo::rules::Waiter;
use redo::writer::{CommitWay, Learner, Writer};
use std::collections::VecDeque;

/// So many moments pass before it is asked whether to go on.
const ASKED_EVERY: u64 = 1 << 16;

/// Why a simulation could not go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationStopped {
    /// Nothing will ever happen any more.
    #[error("nobody can go on at {at_ns} ns of virtual time: a deadlock in the model")]
    Deadlock {
        /// When.
        at_ns: u64,
    },
    /// The caller does not want it any more.
    #[error("interrupted")]
    Interrupted,
    /// Virtual time does not reach that far.
    #[error("virtual time is at its end")]
    EndOfTime,
    /// The setup has something that is not simulated, or that contradicts itself.
    #[error("{0}")]
    NotModelled(String),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulationOutcome {
    /// As a measured row is recorded.
    pub recording: Recording,
    /// Time of all processors in use, the warm-up not included, nanoseconds.
    pub processors_ns: u64,
    /// What each member did; empty of a log without.
    pub members: Vec<MemberCount>,
}

impl SimulationOutcome {
    /// Processor time per commit, nanoseconds.
    #[must_use]
    pub fn processor_ns_per_commit(&self) -> f64 {
        let commits = self.recording.foreground().latency.count().max(1);
        self.processors_ns as f64 / commits as f64
    }
}

/// Everything.
pub(crate) struct World<'a> {
    pub(crate) setup: &'a SimulationSetup,
    pub(crate) now: u64,
    pub(crate) agenda: Agenda,
    pub(crate) cores: Cores,
    pub(crate) chance: Chance,
    pub(crate) device: Device,
    pub(crate) members: Option<Members>,
    pub(crate) buffer: CountBuffer,
    pub(crate) writer: Writer,
    pub(crate) learner: Option<Learner>,
    pub(crate) way: CommitWay,
    /// Foregrounds lead, always or at times.
    pub(crate) may_lead: bool,
    pub(crate) threads: Vec<Thread>,
    pub(crate) lead: Lead,
    pub(crate) serve: Serve,
    pub(crate) post_bytes: u32,
    /// Of each thread: the batches whose sleepers it has to wake, and how many.
    pub(crate) to_wake: Vec<VecDeque<(u64, u32)>>,
    /// Threads that wait for room in the log buffer.
    pub(crate) for_space: Vec<u32>,
    pub(crate) foreground: Foreground,
    pub(crate) background: Background,
    pub(crate) space_waits: WaitSum,
}

/// Simulates `setup`.
///
/// # Errors
/// [`SimulationStopped`].
pub fn run(setup: &SimulationSetup) -> Result<SimulationOutcome, SimulationStopped> {
    run_while(setup, &|| true)
}

/// As [`run`], as long as `goes_on` says so.
///
/// # Errors
/// [`SimulationStopped`].
pub fn run_while(
    setup: &SimulationSetup,
    goes_on: &dyn Fn() -> bool,
) -> Result<SimulationOutcome, SimulationStopped> {
    let mut world = World::new(setup)?;
    world.begin();
    let warm = setup.warmup_ns;
    world.go_until(warm, None, goes_on)?;
    world.forget();
    let end = warm
        .checked_add(setup.time_ns)
        .ok_or(SimulationStopped::EndOfTime)?;
    world.go_until(end, setup.commits, goes_on)?;
    Ok(world.finish(warm))
}

/// Refuses what contradicts itself. The bytes of the log.
fn check(setup: &SimulationSetup) -> Result<u64, SimulationStopped> {
    let no = not_modelled;
    let log = &setup.log;
    if setup.processors == 0 || setup.sessions == 0 {
        return Err(no("at least one processor and one session are needed"));
    }
    let most = log.geometry.max_record(log.buffer_blocks);
    if u64::from(
        setup
            .workload
            .redo_bytes
            .div_ceil(setup.workload.records.max(1)),
    ) > most
    {
        return Err(no("a record is longer than the log accepts"));
    }
    let log_bytes = u64::from(log.geometry.groups).saturating_mul(log.geometry.file_bytes);
    if let Some(has) = setup.device.capacity_bytes().filter(|has| *has < log_bytes) {
        let (log, has) = (size(log_bytes), size(has));
        return Err(no(&format!(
            "a log of {log} does not fit into a device of {has}"
        )));
    }
    Ok(log_bytes)
}

fn not_modelled(what: &str) -> SimulationStopped {
    SimulationStopped::NotModelled(what.to_owned())
}

impl<'a> World<'a> {
    fn new(setup: &'a SimulationSetup) -> Result<World<'a>, SimulationStopped> {
        let log = &setup.log;
        let inline = match log.writer {
            LogWriter::Inline => Some(true),
            LogWriter::Lgwr => Some(false),
            LogWriter::Auto => None,
            other => {
                return Err(SimulationStopped::NotModelled(format!(
                    "{other} is not simulated yet"
                )));
            }
        };
        let log_bytes = check(setup)?;
        let mut chance = Chance::new(setup.seed);
        let members = Members::of(setup, log_bytes, &mut chance).map_err(not_modelled)?;
        let usual = log.writer.usual_log_file_sync();
        let sync = log.log_file_sync.unwrap_or(usual);
        let learner = Learner::needed(inline, sync, setup.processors > 1);
        let fixed = CommitWay::fixed(inline, sync);
        let policy = log.policy.durable_writes(setup.has_durable_writes());
        let room = log.buffer_blocks * u64::from(log.geometry.payload());
        let thread = Thread {
            step: Step::Append,
            batch: 0,
            begun: 0,
            slept: false,
            waiter: Waiter::default(),
            records: 0,
            began: 0,
            asked: 0,
            no_room: None,
        };
        Ok(World {
            setup,
            now: 0,
            agenda: Agenda::default(),
            cores: Cores::new(setup.processors, setup.costs),
            members,
            device: Device::new(&setup.device, log_bytes, &mut chance),
            chance,
            buffer: CountBuffer::new(log.geometry, log.buffer_blocks, policy.depth),
            writer: Writer::new(log.geometry, policy, 0, 0, 0, Default::default()),
            way: learner.as_ref().map_or(fixed, |l| l.learned().way),
            learner,
            may_lead: inline != Some(false),
            threads: vec![thread; (setup.sessions + 1 + Members::threads_of(setup)) as usize],
            lead: Lead::default(),
            serve: Serve::default(),
            post_bytes: log.triggers.post_bytes(room),
            for_space: Vec::new(),
            to_wake: vec![VecDeque::new(); setup.sessions as usize + 1],
            foreground: Foreground::default(),
            background: Background::default(),
            space_waits: WaitSum::default(),
        })
    }

    /// The number of the log writer's thread.
    pub(crate) fn log_writer(&self) -> u32 {
        self.setup.sessions
    }

    pub(crate) fn waits(&self) -> bool {
        self.setup.workload.commit.wait == CommitWait::Wait
    }

    fn begin(&mut self) {
        let log_writer = self.log_writer();
        self.serve.sleeps = true;
        self.wake(log_writer, Step::Serve, 0);
        for session in 0..self.setup.sessions {
            self.threads[session as usize].records = self.setup.workload.records.max(1);
            let work = self.work();
            self.wake(session, Step::Append, work);
        }
    }

    fn go_until(
        &mut self,
        end: u64,
        commits: Option<u64>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), SimulationStopped> {
        let most = commits.unwrap_or(u64::MAX);
        for moments in 0_u64.. {
            if moments % ASKED_EVERY == 0 {
                if !goes_on() {
                    return Err(SimulationStopped::Interrupted);
                }
                self.left_behind().map_or(Ok(()), Err)?;
            }
            let Some((at, moment)) = self.agenda.next() else {
                let deadlock = SimulationStopped::Deadlock { at_ns: self.now };
                return Err(self.left_behind().unwrap_or(deadlock));
            };
            if at == u64::MAX {
                return Err(SimulationStopped::EndOfTime);
            }
            self.now = at;
            self.happens(moment);
            if at >= end || self.foreground.latency.count() >= most {
                break;
            }
        }
        Ok(())
    }

    fn happens(&mut self, moment: Moment) {
        match moment {
            Moment::Ran(thread) => self.ran(thread),
            Moment::Ended(op) => self.ended(op),
            Moment::Reaches(op) => self.reaches_members(op),
            Moment::MemberEnded(member, id) => self.member_ended(member, id),
            Moment::Found(thread) => self.finds(thread),
            Moment::GatherUp => self.look_at_gathering(),
            Moment::Period => self.period(),
        }
    }

    fn ran(&mut self, thread: u32) {
        match self.threads[thread as usize].step {
            Step::Append => self.append(thread),
            Step::Copied(place) => self.copied(thread, place),
            Step::Posted => {
                self.wake_log_writer();
                self.look(thread);
            }
            Step::PostedForSpace => {
                self.wake_log_writer();
                self.await_space(thread);
            }
            Step::PostedAndGoesOn => {
                self.wake_log_writer();
                self.next_record(thread);
            }
            Step::Look => self.look(thread),
            Step::WokeOn => {
                self.wake_on(thread);
                self.returned(thread);
            }
            Step::Lead => self.lead_on(thread),
            Step::Wake => self.woke(thread),
            Step::MemberReturns => self.member_returns(thread),
            Step::Serve => self.serve(thread),
        }
    }

    /// A thread that sleeps is to run for `ns`, and to do `step` then.
    pub(crate) fn wake(&mut self, thread: u32, step: Step, ns: u64) {
        self.threads[thread as usize].step = step;
        self.cores.ready(self.now, &mut self.agenda, thread, ns);
    }

    /// The thread that runs goes on for `ns`, and does `step` then.
    pub(crate) fn go_on(&mut self, thread: u32, step: Step, ns: u64) {
        self.threads[thread as usize].step = step;
        self.cores.go_on(self.now, &mut self.agenda, thread, ns);
    }

    /// What a thread that polls looks for is there: it finds it when its turn comes.
    pub(crate) fn found(&mut self, thread: u32, step: Step) {
        self.threads[thread as usize].step = step;
        let round = self.cores.round_ns();
        if round == 0 {
            return self.finds(thread);
        }
        let turn = (round as f64 * self.chance.unit()) as u64;
        self.agenda.add(self.now + turn, Moment::Found(thread));
    }

    fn finds(&mut self, thread: u32) {
        self.cores.found(self.now, &mut self.agenda, thread);
    }

    /// The thread that runs goes to sleep.
    pub(crate) fn sleep(&mut self) {
        self.cores.leave(self.now, &mut self.agenda);
    }

    /// What counts begins now.
    fn forget(&mut self) {
        self.foreground.clear();
        self.background = Background::default();
        self.space_waits = WaitSum::default();
        self.cores.used_ns = 0;
        self.cores.queued = (0, 0);
        if let Some(members) = &mut self.members {
            members.counts.fill(MemberCount::default());
        }
    }

    fn finish(mut self, warm: u64) -> SimulationOutcome {
        let workload = &self.setup.workload;
        let load = RowLoad {
            workload: workload.name.clone(),
            jobs: self.setup.sessions,
            threads: self.setup.sessions,
            waits: self.waits(),
            redo_bytes_per_txn: Some(workload.redo_bytes.into()),
            records_per_txn: Some(workload.records),
            ..RowLoad::default()
        };
        let window = TimeWindow {
            start_ns: warm,
            end_ns: self.now,
        };
        let mut recording = Recording::new(load, window);
        let foreground = std::mem::take(&mut self.foreground);
        recording
            .foregrounds
            .insert(ONLY_KIND.to_owned(), foreground);
        let block_bytes = u64::from(self.setup.log.geometry.block_bytes);
        self.background.block_bytes = self.background.blocks * block_bytes;
        recording.background = Some(std::mem::take(&mut self.background));
        recording.space_waits = Some(self.space_waits);
        let (count, total_ns) = self.cores.queued;
        recording.run_queue = (count > 0).then_some(WaitSum { count, total_ns });
        SimulationOutcome {
            recording,
            processors_ns: self.cores.used_ns,
            members: self.members.map(|of| of.counts).unwrap_or_default(),
        }
    }
}
