//! All 4,096 states of the last three log writes on two members: each of their six blocks is there
//! or not on each member. Each state is opened as a mirror and as a race, with real openings over
//! disks in memory.
//!
//! A log with members has one log write in flight, so the second of these writes was given to a
//! member only when the first was acknowledged, and says so in its blocks. What a power cut can
//! leave follows from that: with `n` writes acknowledged, a mirror holds them on both members, a
//! race on one; of the next write any blocks may be there, of those behind it none; and a late
//! member of a race may lack any block. Such a state opens with everything acknowledged. In every
//! other state something that was durable was destroyed: it is refused where a block that is left
//! proves that, and nothing is invented where none does.

use crate::common::{options, record, whose};
use device::{LogDevice, SimDisk};
use redo::control::CONTROL_BYTES;
use redo::planted::{Bug, Planted};
use redo::{CommitMode, DamageScan, Error, Geometry, Log, LogWriter, MemberLayout, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const SECTOR: usize = 512;
const LOG_BYTES: usize = 256 << 10;
/// Log writes before the last three.
const EARLIER: u32 = 5;
const WRITES: u32 = 3;
/// Blocks of a log write.
const EACH: u32 = 2;
const BLOCKS: u32 = WRITES * EACH;
const STATES: u32 = 1 << (2 * BLOCKS);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mirror,
    Race,
}

impl Kind {
    /// Members of a cell.
    fn cell(self) -> usize {
        match self {
            Kind::Mirror => 1,
            Kind::Race => 2,
        }
    }
}

/// The disks of a member: its redo and its control information.
#[derive(Clone)]
struct Member {
    data: SimDisk,
    control: SimDisk,
}

impl Member {
    fn new(data: &[u8], control: &[u8]) -> Member {
        let disk = |image: &[u8]| {
            let disk = SimDisk::new(image.len(), SECTOR, false);
            disk.load(image);
            disk.set_immediate(true);
            disk
        };
        Member {
            data: disk(data),
            control: disk(control),
        }
    }

    /// What a power cut leaves: what is durable.
    fn after_cut(&self) -> Member {
        Member::new(&self.data.durable_image(), &self.control.durable_image())
    }

    fn devices(&self) -> (Arc<dyn LogDevice>, Arc<dyn LogDevice>) {
        (Arc::new(self.data.clone()), Arc::new(self.control.clone()))
    }
}

fn open(members: &[Member], kind: Kind, planted: Planted) -> Result<(Log, Vec<u32>), Error> {
    let devices = members.iter().map(Member::devices);
    let cell = kind.cell().min(members.len());
    // One member alone is given as what it was made: the other place holds nothing.
    let nothing = (members.len() == 1).then(|| Member::new(&[0; SECTOR], &[0; SECTOR]).devices());
    let layout = MemberLayout::devices(devices.chain(nothing), kind.cell().max(cell));
    let options = options()
        .log_writer(LogWriter::Inline)
        .damage_scan(DamageScan::Bounded {
            window_bytes: 64 << 10,
        })
        .planted(planted);
    let layout = layout.accept_loss(members.len() == 1);
    let (log, recovery) = Log::builder(layout).options(options).open()?;
    let mut found = Vec::new();
    recovery.recover(|_, bytes| {
        found.push(whose(bytes).1);
        Ok::<(), Error>(())
    })?;
    Ok((log, found))
}

/// A record that takes two blocks.
fn payload(which: u32) -> Vec<u8> {
    record(EACH, which)
}

/// Records whose length makes each of them a log write of two blocks.
fn numbers() -> impl Iterator<Item = u32> {
    (0..).filter(|which| (500..800).contains(&payload(*which).len()))
}

/// A log whose last three writes are the last six blocks, and the records of all writes.
struct Written {
    member: [Member; 2],
    geometry: Geometry,
    records: Vec<u32>,
    /// The block behind the last.
    end: u64,
}

fn written(kind: Kind) -> Written {
    let member = [0, 1].map(|_| Member::new(&[0; LOG_BYTES], &[0; CONTROL_BYTES as usize]));
    let shape = Shape::new()
        .block_bytes(Some(SECTOR as u32))
        .groups(2)
        .file_bytes(LOG_BYTES as u64 / 2);
    let layout = MemberLayout::devices(member.iter().map(Member::devices), kind.cell());
    let made = Log::builder(layout).shape(shape).create();
    made.expect("made");
    let (log, _) = open(&member, kind, Planted::none()).expect("new");
    let records: Vec<u32> = numbers().take((EARLIER + WRITES) as usize).collect();
    let mut session = log.session();
    let mut end = None;
    for which in &records {
        let rba = session.append(&[&payload(*which)]).expect("room");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        let begin = log.geometry().stream_block(rba).expect("of this log");
        assert!(
            end.is_none_or(|end| end == begin),
            "each write is {EACH} blocks"
        );
        end = Some(begin + u64::from(EACH));
    }
    let geometry = *log.geometry();
    drop((session, log));
    Written {
        member,
        geometry,
        records,
        end: end.expect("some were written"),
    }
}

/// Which of the last blocks are where: bit `n` of a member's word is block `n`.
#[derive(Clone, Copy, Debug)]
struct State([u32; 2]);

impl State {
    fn of(state: u32) -> State {
        let mask = (1 << BLOCKS) - 1;
        State([state & mask, state >> BLOCKS & mask])
    }

    /// How many of the writes from the first on a member has whole.
    fn whole(self, member: usize) -> u32 {
        self.0[member].trailing_ones() / EACH
    }

    /// Writes of which a member has a block, up to the last such.
    fn begun(self, member: usize) -> u32 {
        (BLOCKS
            - (self.0[member] << (32 - BLOCKS))
                .leading_zeros()
                .min(BLOCKS))
        .div_ceil(EACH)
    }

    /// The most writes that may have been acknowledged, where a power cut can leave this.
    fn acknowledged(self, kind: Kind) -> Option<u32> {
        let each = [0, 1].map(|member| self.whole(member));
        let most = match kind {
            Kind::Mirror => each[0].min(each[1]),
            Kind::Race => each[0].max(each[1]),
        };
        // The next write may be under way, and none behind it.
        let begun = self.begun(0).max(self.begun(1));
        (begun <= most + 1).then_some(most)
    }

    /// The first block that is on neither.
    fn end(self) -> u32 {
        (self.0[0] | self.0[1]).trailing_ones().min(BLOCKS)
    }

    /// A block behind the end says that what is missing was durable: one of a later write than the
    /// missing block's.
    fn is_proven_damaged(self) -> bool {
        let end = self.end();
        let later = end / EACH * EACH + EACH;
        later < BLOCKS && (self.0[0] | self.0[1]) >> later != 0
    }

    fn members(self, log: &Written) -> [Member; 2] {
        [0, 1].map(|member: usize| {
            let mut data = log.member[member].data.durable_image();
            for block in (0..BLOCKS).filter(|n| self.0[member] >> n & 1 == 0) {
                let block = log.end - u64::from(BLOCKS - block);
                let at = log.geometry.address(block) as usize;
                data[at..at + SECTOR].fill(0);
            }
            Member::new(&data, &log.member[member].control.durable_image())
        })
    }
}

/// Opens a state, and says what is wrong with what came of it.
fn judge(log: &Written, kind: Kind, state: State, planted: Planted) -> Result<bool, String> {
    let members = state.members(log);
    let opened = open(&members, kind, planted);
    let refused = matches!(opened, Err(Error::Corrupt { .. }));
    if let Some(acknowledged) = state.acknowledged(kind) {
        let found = opened.as_ref().map(|(_, found)| found.len());
        let least = (EARLIER + acknowledged) as usize;
        let found = found.map_err(|e| format!("{acknowledged} acknowledged, refused: {e}"))?;
        if found < least {
            return Err(format!("{least} were acknowledged, {found} are there"));
        }
    }
    if refused != state.is_proven_damaged() {
        return Err(format!("refused: {refused}, proven: {}", !refused));
    }
    if refused {
        return Ok(false);
    }
    let (open_log, found) = opened.map_err(|e| e.to_string())?;
    let whole = EARLIER + state.end() / EACH;
    if found != log.records[..whole as usize] {
        return Err(format!("{found:?} instead of the first {whole}"));
    }
    if open_log.members().iter().any(|member| !member.in_sync) {
        return Err(String::from("a member is stale"));
    }
    drop(open_log);
    // Of those that no power cut can leave, some.
    if state.acknowledged(kind).is_some() || (state.0[0] ^ state.0[1]) % 8 == 1 {
        equal_afterwards(log, kind, &members, &found)?;
    }
    Ok(true)
}

/// After a power cut right behind the opening: each member has the same, alone and together, and
/// goes on.
fn equal_afterwards(
    log: &Written,
    kind: Kind,
    members: &[Member; 2],
    found: &[u32],
) -> Result<(), String> {
    let cut = members.each_ref().map(Member::after_cut);
    let from = log.geometry.address(log.end - u64::from(BLOCKS)) as usize;
    let kept = found.len() as u32 - EARLIER;
    let to = from + (kept * EACH) as usize * SECTOR;
    let [one, two] = cut.each_ref().map(|member| member.data.durable_image());
    if one[from..to] != two[from..to] {
        return Err(String::from("the members differ"));
    }
    for member in &cut {
        let alone = [member.after_cut()];
        let (_, again) = open(&alone, kind, Planted::none()).map_err(|e| e.to_string())?;
        if again != found {
            return Err(format!("alone {again:?} instead of {found:?}"));
        }
    }
    let (open_log, again) = open(&cut, kind, Planted::none()).map_err(|e| e.to_string())?;
    if again != found {
        return Err(format!("the second time {again:?} instead of {found:?}"));
    }
    let more = numbers().nth(found.len() + 100).expect("there is no end");
    let mut session = open_log.session();
    let appended = session.append(&[&payload(more)]);
    appended.map_err(|e| e.to_string())?;
    let committed = session.commit(CommitMode::WAIT_IMMEDIATE);
    committed.map_err(|e| e.to_string())?;
    drop((session, open_log));
    let cut = cut.each_ref().map(Member::after_cut);
    let (_, again) = open(&cut, kind, Planted::none()).map_err(|e| e.to_string())?;
    if again.split_last() != Some((&more, found)) {
        return Err(format!("{found:?} and {more} became {again:?}"));
    }
    Ok(())
}

/// How many states opened, and what is wrong with each that is not right.
fn all(kind: Kind, planted: Planted, every: u32) -> (u32, Vec<String>) {
    let log = written(kind);
    let (next, opened) = (AtomicU32::new(0), AtomicU32::new(0));
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let state = next.fetch_add(every, Ordering::Relaxed);
                    if state >= STATES {
                        break;
                    }
                    match judge(&log, kind, State::of(state), planted) {
                        Ok(true) => drop(opened.fetch_add(1, Ordering::Relaxed)),
                        Ok(false) => {}
                        Err(what) => {
                            let what = format!("{kind:?}, state {state:#x}: {what}");
                            wrong.lock().expect("nobody panics").push(what);
                        }
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("nobody panicked");
    (opened.into_inner(), wrong)
}

#[test]
fn every_state_of_the_last_three_writes_heals_or_is_refused() {
    for kind in [Kind::Mirror, Kind::Race] {
        let states = (0..STATES).map(State::of);
        let possible = states.filter(|state| state.acknowledged(kind).is_some());
        let possible = possible.count();
        let (opened, wrong) = all(kind, Planted::none(), 1);
        println!("{kind:?}: {STATES} states, {opened} opened, {possible} of them possible");
        assert_eq!(wrong, Vec::<String>::new());
        assert!(possible > 20 && opened as usize >= possible);
    }
}

#[test]
fn states_that_are_not_healed_are_noticed() {
    for kind in [Kind::Mirror, Kind::Race] {
        for bug in [Bug::SkipHeal, Bug::DamageOfOneMember] {
            let (_, wrong) = all(kind, Planted::with(bug), 7);
            println!(
                "{kind:?}, {bug:?}: noticed in {} of {} states",
                wrong.len(),
                STATES / 7
            );
            assert!(!wrong.is_empty(), "{kind:?}, {bug:?}");
        }
    }
}
