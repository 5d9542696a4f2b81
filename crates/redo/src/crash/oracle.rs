//! The oracle: what was appended, what was acknowledged, and whether what a recovery returns
//! keeps the promises. It knows bytes and positions, and nothing of how they are stored.

use crate::control::Position;
use crate::group::StreamBlock;
use crate::rba::Rba;

/// A record that was appended.
#[derive(Clone, Debug)]
pub(super) struct Appended {
    pub(super) rba: Rba,
    pub(super) payload: Vec<u8>,
    /// Where it begins, and the place behind it.
    pub(super) begin: Position,
    pub(super) end: Position,
}

impl Appended {
    /// The first block that holds nothing of it.
    pub(super) fn next_block(&self) -> StreamBlock {
        self.end.block + u64::from(self.end.offset > 0)
    }
}

/// What a recovery returned.
pub(super) type Recovered = Vec<(Rba, Vec<u8>)>;

#[derive(Clone, Debug, Default)]
pub(super) struct Oracle {
    /// Records of the log, in the order in which the buffer placed them.
    records: Vec<Appended>,
    /// Records that a recovery left out; none of them was promised.
    lost: Vec<Appended>,
    /// Records that must be recovered: the acknowledged ones and those before them.
    promised: usize,
    /// Records before the durable checkpoint.
    checkpoint: usize,
    /// A checkpoint that may or may not have become durable.
    doubtful: Option<usize>,
}

impl Oracle {
    /// Records so far.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// A record was given its place. Returns its number.
    pub(super) fn append(&mut self, record: Appended) -> Result<usize, String> {
        let last = self.records.last().map(|last| last.end);
        if last.is_some_and(|last| last > record.begin) {
            return Err(format!("{:?} was given twice", record.begin));
        }
        self.records.push(record);
        Ok(self.records.len() - 1)
    }

    /// A commit of everything up to record `number` was acknowledged.
    pub(super) fn acknowledge(&mut self, number: usize) {
        self.promised = self.promised.max(number + 1);
    }

    /// A possible checkpoint: after some record that lies wholly before `durable`. Returns how
    /// many records it passes.
    pub(super) fn candidate(&self, durable: StreamBlock, draw: u64) -> Option<usize> {
        let passed = self.checkpoint.max(self.doubtful.unwrap_or(0));
        let most = self.before(durable);
        let span = most.checked_sub(passed).filter(|span| *span > 0)?;
        Some(passed + 1 + (draw % span as u64) as usize)
    }

    /// The place behind the first `count` records.
    pub(super) fn behind(&self, count: usize) -> Option<Position> {
        self.records.get(count.checked_sub(1)?).map(|r| r.end)
    }

    /// A checkpoint behind the first `count` records is on its way.
    pub(super) fn checkpointing(&mut self, count: usize) {
        self.doubtful = Some(count);
    }

    /// It is durable.
    pub(super) fn checkpointed(&mut self) {
        self.checkpoint = self.doubtful.take().unwrap_or(self.checkpoint);
    }

    /// Judges what a recovery from the checkpoint at `position` returned, whose log is now open:
    /// from here on that is the log. Returns how many records were lost, none of them promised.
    pub(super) fn recovered(
        &mut self,
        position: Position,
        found: &Recovered,
    ) -> Result<usize, String> {
        let mut known = [Some(self.checkpoint), self.doubtful].into_iter().flatten();
        let at = |count: &usize| self.behind(*count).unwrap_or_default() == position;
        let Some(from) = known.find(at) else {
            return Err(format!("I2: no checkpoint was recorded at {position:?}"));
        };
        if let Some(why) = self.mismatch(from, found) {
            return Err(format!("I2/I3: {why}"));
        }
        let end = from + found.len();
        if end < self.promised {
            return Err(format!(
                "I1: {} records were acknowledged or exposed, {end} are recovered",
                self.promised
            ));
        }
        let lost = self.records.len() - end;
        self.lost.extend(self.records.drain(end..));
        self.promised = end;
        self.checkpoint = from;
        self.doubtful = None;
        Ok(lost)
    }

    /// Judges what was read from the checkpoint at `position` of files that were put together of
    /// several moments: none of it may be invented. Returns how many records of the log it reaches.
    /// Behind the log's end older control information may find what a recovery left out, since a
    /// write that failed can still have reached the disk.
    pub(super) fn reaches(
        &self,
        position: Position,
        mut found: Recovered,
        older: bool,
    ) -> Result<usize, String> {
        let from = self.records.partition_point(|r| r.end <= position);
        let behind = found.split_off(found.len().min(self.records.len() - from));
        let known = |(rba, payload): &(Rba, Vec<u8>)| {
            let same = |r: &Appended| r.rba == *rba && r.payload == *payload;
            older && self.lost.iter().any(same)
        };
        if let Some((rba, _)) = behind.iter().find(|record| !known(record)) {
            return Err(format!("the record at {rba} was invented"));
        }
        match self.mismatch(from, &found) {
            Some(why) => Err(why),
            None => Ok(from + found.len()),
        }
    }

    /// Records that lie wholly before `block`.
    pub(super) fn before(&self, block: StreamBlock) -> usize {
        self.records.partition_point(|r| r.next_block() <= block)
    }

    /// The block after the last record's last.
    pub(super) fn end_block(&self) -> StreamBlock {
        self.records.last().map_or(0, Appended::next_block)
    }

    /// The block in which the checkpoint lies.
    pub(super) fn checkpoint_block(&self) -> StreamBlock {
        self.behind(self.checkpoint).unwrap_or_default().block
    }

    /// From now on only gaps and inventions are judged: something promised was destroyed.
    pub(super) fn forget_promises(&mut self) {
        self.promised = 0;
    }

    /// Where `found` is not what was appended from record `from` on.
    pub(super) fn mismatch(&self, from: usize, found: &Recovered) -> Option<String> {
        for (i, (rba, payload)) in found.iter().enumerate() {
            let Some(expected) = self.records.get(from + i) else {
                return Some(format!("record {i} at {rba} was invented"));
            };
            if expected.rba != *rba || expected.payload != *payload {
                return Some(format!(
                    "record {i} of {} is at {rba} with {} bytes; appended at {} with {} bytes",
                    found.len(),
                    payload.len(),
                    expected.rba,
                    expected.payload.len()
                ));
            }
        }
        None
    }
}
