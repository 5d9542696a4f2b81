//! The world of a history: a log on two disks that share their power, its life, and how a process
//! ends.

use super::disks::{Domain, EIO, Images, end_all};
use super::env::Env;
use super::life::Life;
use crate::control::{ControlInfo, Position};
use crate::error::Error;
use crate::group::StreamBlock;
use crate::recovery::{End, Recovery};
use crate::writer::Event;
use device::sim_disk::OpOutcome;
use device::{Op, OpKind};

/// What blocking code is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Recovery,
    Checkpoint,
    Close,
    /// Recording what is archived.
    Archive,
    /// Marking members stale.
    Mark,
    /// Copying a member that returns.
    Resilver,
    /// Making it durable that it is in sync.
    Return,
}

/// How a process ended.
enum Over {
    /// What the disks hold when the power returns.
    Power(Images),
    Kill,
}

/// What the process does next.
pub(super) enum Turn {
    Go,
    Checkpoint(usize, Position),
    Close(StreamBlock),
    /// Archive so many records, which end here.
    Archive(usize, Position),
    /// Mark these members stale.
    Mark(u16),
    /// Go on with a member that returns.
    Resilver,
    Over,
}

pub(super) struct World {
    pub(super) env: Env,
    pub(super) life: Option<Life>,
    over: Option<Over>,
    stage: Stage,
    /// Blocking operations of this stage so far.
    stage_ops: usize,
    /// A blocking operation of this stage was made to fail.
    stage_failed: bool,
    pub(super) recoveries_cut: u32,
    pub(super) steps_left: u64,
    /// Steps that the end may wait until something is in flight.
    pub(super) grace: u64,
    /// Steps that it may wait until a future was dropped and a log switch made.
    pub(super) patience: u64,
    pub(super) history: Vec<u8>,
}

/// Steps that a log is given to close.
const CLOSING_STEPS: u64 = 2_000;

impl World {
    pub(super) fn new(env: Env) -> World {
        World {
            env,
            life: None,
            over: None,
            stage: Stage::Recovery,
            stage_ops: 0,
            stage_failed: false,
            recoveries_cut: 0,
            steps_left: 0,
            grace: 0,
            patience: 0,
            history: Vec::new(),
        }
    }

    /// The process is dead, whatever its code still does.
    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    pub(super) fn stage(&self) -> Stage {
        self.stage
    }

    /// Blocking code waits for its operation: others go on, then it ends in some way. False where
    /// it hangs, and is not waited for any more.
    pub(super) fn blocked(&mut self, domain: Domain, queue: Option<u32>) -> bool {
        if !self.is_over() && self.hangs(domain) {
            self.stage_ops += 1;
            return false;
        }
        let was_over = self.is_over();
        if self.life.is_some() {
            for _ in 0..self.env.rng.below(16) {
                self.step_life();
            }
        }
        let cut = match self.stage {
            Stage::Recovery => self.recoveries_cut < 3 && self.env.rng.chance(1, 24),
            Stage::Checkpoint | Stage::Close | Stage::Archive => self.env.rng.chance(1, 48),
            Stage::Mark | Stage::Return => self.env.rng.chance(1, 16),
            Stage::Resilver => self.env.rng.chance(1, 48),
        };
        if cut && !self.is_over() {
            self.end();
        }
        if self.is_over() && !was_over {
            self.count_cut();
        }
        self.stage_ops += 1;
        let pending = self.env.disks.of(domain).pending();
        for pending in pending.into_iter().filter(|p| Some(p.queue) == queue) {
            let outcome = self.blocking_outcome(pending.op);
            self.env.disks.of(domain).finish(pending.ticket, outcome);
        }
        true
    }

    fn blocking_outcome(&mut self, op: Op) -> OpOutcome {
        let flush = op.kind == OpKind::Flush;
        if self.is_over() {
            return OpOutcome::Fail(EIO);
        }
        let env = &mut self.env;
        if !env.rng.chance(env.plan.control_faults, 4096) {
            return OpOutcome::Done;
        }
        self.stage_failed = true;
        env.flush_failed |= flush;
        match self.stage {
            Stage::Recovery => env.coverage.failed_recovery += 1,
            Stage::Checkpoint | Stage::Close | Stage::Archive => {
                env.coverage.failed_control += 1;
            }
            Stage::Mark => env.members.failed_marking += 1,
            Stage::Resilver => env.members.failed_resilvering += 1,
            Stage::Return => env.members.failed_returning += 1,
        }
        if !flush && env.rng.chance(1, 2) {
            let short = env.rng.below(16) * 1000;
            return OpOutcome::Short(short.min(op.bytes() as u64 - 1));
        }
        OpOutcome::Fail(EIO)
    }

    fn count_cut(&mut self) {
        let members = &mut self.env.members;
        members.cut_marking += u64::from(self.stage == Stage::Mark);
        members.cut_resilvering += u64::from(self.stage == Stage::Resilver);
        members.cut_returning += u64::from(self.stage == Stage::Return);
        let c = &mut self.env.coverage;
        let counter = match (self.stage, self.stage_ops) {
            (Stage::Recovery, 0) => &mut c.cut_recovery_tail_flush,
            (Stage::Recovery, 1) => &mut c.cut_recovery_control_flush,
            (Stage::Recovery, 2) => &mut c.cut_recovery_write_1,
            (Stage::Recovery, 3) => &mut c.cut_recovery_flush_1,
            (Stage::Recovery, 4) => &mut c.cut_recovery_write_2,
            (Stage::Recovery, _) => &mut c.cut_recovery_flush_2,
            (Stage::Checkpoint, 0) => &mut c.cut_checkpoint_write_1,
            (Stage::Checkpoint, 1) => &mut c.cut_checkpoint_flush_1,
            (Stage::Checkpoint, 2) => &mut c.cut_checkpoint_write_2,
            (Stage::Checkpoint, _) => &mut c.cut_checkpoint_flush_2,
            (Stage::Close, _) => &mut c.cut_closing,
            (Stage::Archive, _) => &mut c.cut_archiving,
            (Stage::Mark | Stage::Resilver | Stage::Return, _) => return,
        };
        *counter += 1;
        if self.stage == Stage::Recovery {
            c.cut_recovery_again += u64::from(self.recoveries_cut > 0);
            self.recoveries_cut += 1;
        }
    }

    pub(super) fn step_life(&mut self) {
        if self.is_over() {
            return;
        }
        let Some(life) = &mut self.life else {
            return;
        };
        life.step(&mut self.env);
        self.steps_left -= 1;
        if self.steps_left > 0 {
            return;
        }
        // Most ends are drawn where something is in flight.
        let lacks = self.patience > 0 && life.lacks_events(&self.env);
        if lacks || self.grace > 0 && self.env.disks.pending().is_empty() {
            self.patience -= u64::from(lacks);
            self.grace -= u64::from(!lacks);
            self.steps_left = 1;
            return;
        }
        if life.closing && life.is_forgotten(&self.env) {
            let what = "liveness: somebody waits for redo that is written and that nobody flushes";
            self.env.violated(what);
        }
        if !life.closing && !life.control_failed && self.env.rng.chance(1, 8) {
            life.closing = true;
            self.steps_left = CLOSING_STEPS;
        } else {
            self.end();
        }
    }

    /// The process ends now. After a failed flush only with the power: what the caches hold then
    /// is not what a restarted process reads, since reads come from the medium.
    pub(super) fn end(&mut self) {
        let power = self.env.flush_failed || self.env.rng.chance(5, 8);
        if let Some(life) = &self.life {
            life.check_replay(&mut self.env);
        }
        self.over = Some(if power { self.cut() } else { self.kill() });
    }

    fn cut(&mut self) -> Over {
        if let Some(life) = &self.life {
            life.count_cut(&mut self.env);
        }
        let spared = self.env.draw_spared();
        self.halt();
        self.env.count_ring();
        let (images, data, control) = self.env.disks.crash(&mut self.env.rng, spared);
        if let (Some(_), Some(life)) = (spared, &mut self.life) {
            // What the spared disk has ended is in its cache, for the next process to flush.
            life.collect();
        }
        self.env.note(|| format!("power cut: {data:?}"));
        for (member, coverage) in data.into_iter().enumerate() {
            match member {
                0 => self.env.coverage += coverage,
                _ => self.env.coverage.count_sectors(&coverage),
            }
        }
        for coverage in &control {
            self.env.coverage.count_sectors(coverage);
        }
        Over::Power(images)
    }

    /// The system ends what it was given, in any order; nobody receives the outcome.
    fn kill(&mut self) -> Over {
        self.env.note(|| String::from("killed"));
        self.env.coverage.kills += 1;
        let disks = self.env.disks.clone();
        for (_, disk) in disks.all() {
            end_all(disk, &mut self.env.rng);
        }
        self.halt();
        self.env.count_ring();
        self.env.hangs.collect();
        if let Some(life) = &mut self.life {
            life.collect();
        }
        let dirty = disks
            .data
            .iter()
            .any(|disk| !disk.crash_choices().is_empty());
        self.env.coverage.kills_with_dirty_cache += u64::from(dirty);
        Over::Kill
    }

    /// The process that ends submits nothing any more.
    fn halt(&self) {
        if let Some(together) = &self.env.together {
            together.standing.halt();
        }
        if let Some(ring) = &self.env.ring {
            ring.device.standing.halt();
        }
    }

    /// Power returns, or the process is started again.
    pub(super) fn restart(&mut self) {
        self.env.hangs.forget();
        let disks = self.env.disks.clone();
        for (name, disk) in disks.all() {
            if let Some(first) = disk.violations().first() {
                let what = format!("buffer protocol, {name} disk: {first}");
                self.env.violated(what);
            }
        }
        if let Some(Over::Power(images)) = self.over.take() {
            self.env.disks = disks.after_crash(images);
            self.env.flush_failed = false;
        }
        if let Some(life) = self.life.take() {
            let busy = life.cancelled_and_switched(&self.env);
            self.env.coverage.lives_cancelled_and_switched += u64::from(busy);
            self.env.all_busy &= busy;
            self.history.extend_from_slice(life.history.bytes());
        }
        self.enter(Stage::Recovery);
    }

    pub(super) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        self.stage_ops = 0;
        self.stage_failed = false;
    }

    pub(super) fn turn(&mut self) -> Turn {
        self.step_life();
        self.end_hangs();
        if self.is_over() || self.env.violation.is_some() {
            return Turn::Over;
        }
        let Some(life) = &self.life else {
            return Turn::Over;
        };
        if life.control_failed {
            return Turn::Go;
        }
        let wanted = self.env.together.as_ref().and_then(|t| t.wanted());
        if let Some(members) = wanted {
            return Turn::Mark(members);
        }
        if !self.env.has_caught_up() {
            return Turn::Go;
        }
        if self.env.resilvers() {
            return Turn::Resilver;
        }
        if life.closing && life.is_drained() {
            return Turn::Close(life.buffer.open_start());
        }
        let often = if life.awaits_checkpoint {
            self.env.plan.awaited_checkpoints
        } else {
            self.env.plan.checkpoints
        };
        if self.env.rng.chance(often, 256) {
            let durable = life.buffer.durable_block();
            let draw = self.env.rng.below(1 << 32);
            // A log that waits for room is given as much as there is.
            let draw = if life.awaits_checkpoint && draw.is_multiple_of(2) {
                u64::MAX
            } else {
                draw
            };
            let count = self.env.oracle.candidate(durable, draw);
            if let Some((count, position)) =
                count.and_then(|n| self.env.oracle.behind(n).map(|p| (n, p)))
            {
                return Turn::Checkpoint(count, position);
            }
        }
        self.archives(often).unwrap_or(Turn::Go)
    }

    /// Whether the archiver takes a turn.
    fn archives(&mut self, often: u64) -> Option<Turn> {
        let archive = self.env.archive?;
        if !self.env.rng.chance(often, 256) {
            return None;
        }
        let durable = self.life.as_ref()?.buffer.durable_block();
        let draw = self.env.rng.pick(&[u64::MAX, 0, 1, 3, 7, 20, 70]);
        let count = archive.candidate(&self.env, durable, draw)?;
        Some(Turn::Archive(count, self.env.oracle.behind(count)?))
    }

    pub(super) fn tell_checkpoint(&mut self, block: StreamBlock) {
        if let Some(life) = &mut self.life
            && self.over.is_none()
        {
            life.awaits_checkpoint = false;
            life.feed(Event::Checkpoint(block), &mut self.env);
        }
    }

    /// Whether the recovery, which the cut or a fault may have hit, may be judged.
    pub(super) fn judge_outcome(&mut self, result: &Result<Recovery, Error>) -> bool {
        match result {
            _ if self.is_over() => false,
            Err(_) if self.stage_failed => {
                self.end();
                false
            }
            Err(error) => {
                self.env
                    .violated(format!("I1/I9: refused to open: {error}"));
                false
            }
            // A member that fails stays stale, or is marked so.
            // A ring that fails is not used.
            Ok(_) if self.stage_failed && self.env.plan.disks() == 1 => {
                self.env
                    .violated("I7: opened although an operation of recovery failed");
                false
            }
            Ok(_) => true,
        }
    }

    pub(super) fn count_recovery(&mut self, recovery: &Recovery, info: &ControlInfo, lost: usize) {
        let c = &mut self.env.coverage;
        c.lives += 1;
        c.unacknowledged_lost += lost as u64;
        match recovery.scan().how {
            End::Torn => c.recovered_torn += 1,
            End::Clean => c.recovered_clean += 1,
        }
        let from = info.checkpoint.block;
        let crossed = info.incarnations.iter().any(|i| {
            i.previous_end < i.first && i.previous_end > from && i.first < recovery.scan().end
        });
        c.crossed_incarnation_gap += u64::from(crossed);
    }
}
