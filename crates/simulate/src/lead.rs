//! Leading: the holder of the baton carries out what the log writer decides. It decides nothing.

use crate::agenda::Moment;
use crate::device_model::Operation;
use crate::state::{Next, Step};
use crate::world::World;
use measure::Nanos;
use redo::rules;
use redo::writer::{Action, Actions, Event, Io};

impl World<'_> {
    /// The thread takes the baton.
    pub(crate) fn begin_to_lead(&mut self, thread: u32) {
        self.lead.holder = Some(thread);
        self.lead.next = Next::Begin;
        let turn = self.setup.costs.turn_ns;
        self.go_on(thread, Step::Lead, turn);
    }

    /// Somebody waits for redo whose flush is deferred.
    pub(crate) fn flush_is_wanted(&mut self) -> bool {
        let (open, bytes) = self.buffer.open_batch();
        let (wanted, published) = (self.lead.wanted, self.buffer.published());
        let asked = self.buffer.slot(open).asked;
        let hands_on = || rules::hands_on(bytes, || asked, open);
        self.lead.deferred > 0 && rules::flush_is_wanted(wanted, published, open, hands_on)
    }

    /// The leader goes on.
    pub(crate) fn lead_on(&mut self, thread: u32) {
        match self.lead.next {
            Next::Begin => self.look_at_batch(),
            Next::Completion => self.complete(),
            Next::Gather => self.feed(Event::Gathered),
            Next::Fill(batch) => self.feed(Event::Filled { batch }),
            Next::Seal | Next::Checkpoint | Next::Over => {}
        }
        self.drive(thread);
    }

    /// Gives the log writer an operation that has ended.
    fn complete(&mut self) {
        let op = self.lead.done.pop_front().expect("one has ended");
        let at = self.lead.in_flight.iter().position(|(o, _)| *o == op);
        let (op, bytes) = self.lead.in_flight.swap_remove(at.expect("in flight"));
        let result = Ok(bytes);
        self.feed(Event::Io { op, result });
    }

    fn look_at_batch(&mut self) {
        let (open, bytes) = self.buffer.open_batch();
        self.lead.first = self.buffer.published();
        let deferred = self.lead.deferred > 0;
        self.lead.begun = bytes > 0;
        if deferred && (bytes == 0 || self.flush_is_wanted()) {
            self.lead.begun = false;
            let batches = self.lead.wanted;
            return self.feed(Event::Wanted { batches });
        }
        if bytes == 0 {
            self.lead.next = Next::Over;
            return;
        }
        let checkpoint = self.lead.durable_block;
        self.feed(Event::Checkpoint(checkpoint));
        let pending = Event::Pending {
            commits: self.buffer.slot(open).commits,
            bytes,
            carried: self.lead.carried,
        };
        self.feed(pending);
    }

    /// Does what the log writer waits for, until that takes time.
    fn drive(&mut self, thread: u32) {
        loop {
            match self.lead.next {
                Next::Begin => unreachable!("it has begun"),
                Next::Completion => {
                    if self.lead.in_flight.is_empty() {
                        // Nothing was deferred any more.
                        return self.led(thread);
                    }
                    if !self.lead.done.is_empty() {
                        self.complete();
                        continue;
                    }
                    self.threads[thread as usize].step = Step::Lead;
                    self.lead.waits = true;
                    return self.sleep();
                }
                Next::Gather => {
                    let (_, until) = self.lead.gather;
                    if self.has_gathered() {
                        self.feed(Event::Gathered);
                        continue;
                    }
                    self.lead.gathers = true;
                    self.agenda.add(until, Moment::GatherUp);
                    self.threads[thread as usize].step = Step::Lead;
                    return self.cores.poll(self.now, &mut self.agenda);
                }
                Next::Seal => {
                    let batch = self.buffer.seal();
                    self.lead.underway.push_back(batch);
                    self.feed(Event::Sealed(batch));
                    self.give_space();
                    self.lead.next = Next::Fill(batch.id);
                }
                Next::Fill(batch) => {
                    if self.buffer.slot(batch).unfilled > 0 {
                        self.threads[thread as usize].step = Step::Lead;
                        return self.cores.poll(self.now, &mut self.agenda);
                    }
                    self.feed(Event::Filled { batch });
                }
                Next::Checkpoint => {
                    // The database writer keeps up: what is durable is checkpointed.
                    let block = self.lead.durable_block;
                    self.feed(Event::Checkpoint(block));
                }
                Next::Over => {
                    if !(self.lead.begun && self.flush_is_wanted()) {
                        return self.led(thread);
                    }
                    self.lead.begun = false;
                    let batches = self.lead.wanted;
                    self.feed(Event::Wanted { batches });
                }
            }
        }
    }

    fn has_gathered(&mut self) -> bool {
        let (open, _) = self.buffer.open_batch();
        let commits = self.buffer.slot(open).commits;
        let (want, until) = self.lead.gather;
        rules::has_gathered(commits, (want, Nanos(until)), || Nanos(self.now))
    }

    /// A commit has come, or time is up.
    pub(crate) fn look_at_gathering(&mut self) {
        if self.lead.gathers && self.has_gathered() {
            self.lead.gathers = false;
            let leader = self.lead.holder.expect("who gathers holds the baton");
            self.found(leader, Step::Lead);
        }
    }

    /// A record of `batch` is copied.
    pub(crate) fn look_at_fill(&mut self, batch: u64) {
        if self.lead.next == Next::Fill(batch) && self.buffer.slot(batch).unfilled == 0 {
            let leader = self.lead.holder.expect("who seals holds the baton");
            self.found(leader, Step::Lead);
        }
    }

    /// An operation of the device has ended.
    pub(crate) fn ended(&mut self, op: u64) {
        self.ended_for(op, self.setup.costs.io_ns);
    }

    /// The same, which costs the leader so much.
    pub(crate) fn ended_for(&mut self, op: u64, io: u64) {
        self.lead.done.push_back(op);
        if std::mem::take(&mut self.lead.waits) {
            let leader = self.lead.holder.expect("who submits holds the baton");
            self.wake(leader, Step::Lead, io);
        }
    }

    /// One step of the log writer and its actions.
    fn feed(&mut self, event: Event) {
        let mut actions = Actions::default();
        self.lead.next = Next::Completion;
        self.writer.step(Nanos(self.now), event, &mut actions);
        for action in actions.iter() {
            match action {
                Action::Gather { want, until } => {
                    self.lead.gather = (want, until.0);
                    self.lead.next = Next::Gather;
                }
                Action::Seal => self.lead.next = Next::Seal,
                Action::Io { op, io } => self.submit(op, io),
                Action::AwaitCheckpoint { .. } => self.lead.next = Next::Checkpoint,
                Action::Release { upto } => self.release(upto),
                Action::Defer { batches } => self.lead.deferred = batches,
                Action::Publish { batches, block } => self.publish(batches, block),
                Action::Poison(cause) => unreachable!("a model never fails: {cause}"),
                Action::Idle => self.lead.next = Next::Over,
            }
        }
    }

    fn submit(&mut self, op: u64, io: Io) {
        let (operation, bytes) = match io {
            Io::Write { start, blocks } => {
                let bytes = u64::from(blocks) * u64::from(self.setup.log.geometry.block_bytes);
                let mut all = self.lead.underway.iter();
                if let Some(batch) = all.find(|b| start < b.end()) {
                    let stations = &mut self.buffer.slot(batch.id).stations;
                    if stations[0] == 0 {
                        stations[0] = self.now;
                    }
                }
                let place = self.setup.log.geometry.address(start);
                (Operation::Write { place, bytes }, bytes)
            }
            Io::Flush => {
                self.lead.deferred = 0;
                self.background.flushes += 1;
                (Operation::Flush, 0)
            }
        };
        self.lead.in_flight.push((op, bytes));
        let way = match operation {
            Operation::Write { .. } => self.setup.way.takes_ns(&mut self.chance),
            Operation::Flush => 0,
        };
        let arrives = self.now.saturating_add(way);
        if self.members.is_some() {
            return self.submit_to_members(op, operation, arrives);
        }
        let ends = self.device.ends(arrives, operation, &mut self.chance);
        if ends == self.now {
            // No device: the call returns at once.
            return self.lead.done.push_back(op);
        }
        self.agenda.add(ends, Moment::Ended(op));
    }

    fn release(&mut self, upto: u64) {
        for batch in self.lead.underway.iter().filter(|b| b.end() <= upto) {
            let stations = &mut self.buffer.slot(batch.id).stations;
            if stations[1] == 0 {
                stations[1] = self.now;
            }
        }
        self.buffer.release(upto);
        self.give_space();
    }

    fn publish(&mut self, batches: u64, block: u64) {
        let (open, _) = self.buffer.open_batch();
        self.lead.carried = self.buffer.slot(open).commits;
        self.lead.durable_block = block;
        self.buffer.publish(batches);
        while let Some(batch) = self.lead.underway.front().copied() {
            if batch.id >= batches {
                break;
            }
            self.lead.underway.pop_front();
            let slot = self.buffer.slot(batch.id);
            slot.stations[2] = self.now.max(1);
            let took = self.now - slot.stations[0];
            let pollers = std::mem::take(&mut slot.pollers);
            let background = &mut self.background;
            background.write.record(took);
            background.commits.record(batch.commits.into());
            background.redo_bytes += u64::from(batch.bytes);
            background.blocks += u64::from(batch.blocks);
            let log = self.setup.log.geometry.log_seq(batch.end());
            if log != std::mem::replace(&mut self.lead.last_log, log) {
                background.switches += 1;
                background.switch.record(took);
            }
            for thread in pollers {
                self.found(thread, Step::Look);
            }
        }
    }
}
