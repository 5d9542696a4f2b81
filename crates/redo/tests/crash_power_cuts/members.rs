//! Power cuts of logs with two members, each on a device of its own: of both at one moment, and of
//! one alone while the log goes on.
//!
//! Of both: all threads of the child stand still, both file systems are shut down, and the child is
//! killed. Of one: that file system is shut down under the child, which goes on with the other one,
//! is then killed, and in half of the cases the other one loses its power too.
//!
//! What a cut left is copied and opened three times: with both members, and with each alone. Every
//! acknowledged commit is there
//! - with both, whatever was cut;
//! - with a member alone that is in sync, where the log is a mirror or the other one is stale;
//! - with a member alone of a race, but for the window that the log reported of it;
//! - with a member alone that lost its power and is stale, up to the moment of its cut.
//!
//! `REDO_MEMBER_CUTS` sets how many cuts for each kind (10), `REDO_CUT_MEMBERS_CSV` names a file to
//! which a line is appended for each kind and method.

use crate::common::{SMALL, options};
use crate::life::{self, Found, Known, MEMBERS, PATIENCE, Running, Told};
use crate::volume::Volume;
use crate::{alone, be_what_was_asked, chosen, here, seed};
use device::SyncMethod;
use measure::workload::split_mix;
use redo::planted::{Bug, Planted};
use redo::{Error, LogWriter, MemberLayout, Options, Rba};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const FIRST: &str = "REDO_CUT_MEMBER_1";
const SECOND: &str = "REDO_CUT_MEMBER_2";
const KIND: &str = "REDO_CUT_MEMBERS";
const METHOD: &str = "REDO_CUT_MEMBERS_METHOD";
const WRITER: &str = "REDO_CUT_MEMBERS_WRITER";
const BUG: &str = "REDO_CUT_MEMBERS_BUG";
/// Log writers of a log with members: workers are not used.
pub const WRITERS: [LogWriter; 4] = [
    LogWriter::Auto,
    LogWriter::Inline,
    LogWriter::Lgwr,
    LogWriter::Adaptive,
];
/// The file systems of the members.
const FILE_SYSTEMS: [&str; MEMBERS] = ["ext4", "xfs"];
/// A log lives through as many cuts.
const CUTS_A_LOG: u64 = 7;
/// Every so many cuts one comes early, while the child makes, opens or heals the log.
const EARLY_EVERY: u64 = 4;
/// After every so many cuts nobody but the next child makes the members equal.
const LEFT_EVERY: u64 = 3;
/// Commits that a log acknowledges after it lost a member, before it is killed.
const GOES_ON: usize = 50;
/// Cuts in which a control may get away with it.
pub const CONTROL_CUTS: u64 = 20;
/// Rings go round many times between two checkpoints.
const RING_BYTES: u64 = 128 << 10;
/// A delay that a disk that is well often exceeds.
const RING_DELAY: Duration = Duration::from_micros(200);

/// What members are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Mirror,
    Race,
    /// A disk and its ring.
    Ring,
    /// The same, but the ring is written when the disk is late.
    Failover,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Mirror, Kind::Race, Kind::Ring, Kind::Failover];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Mirror => "mirror",
            Kind::Race => "race",
            Kind::Ring => "ring",
            Kind::Failover => "failover",
        }
    }

    /// Whether the log must go on when this member alone loses its power.
    fn goes_on_without(self, member: usize) -> bool {
        match self {
            Kind::Mirror => true,
            Kind::Race => false,
            Kind::Ring | Kind::Failover => member == 1,
        }
    }

    fn layout(self, places: &[PathBuf]) -> MemberLayout {
        let layout = match self {
            Kind::Mirror => MemberLayout::mirror(places),
            Kind::Race => MemberLayout::race(places),
            Kind::Ring => MemberLayout::ring(&places[0], &places[1], RING_BYTES),
            Kind::Failover => {
                MemberLayout::failover(&places[0], &places[1], RING_BYTES, RING_DELAY)
            }
        };
        // They share a disk below their loop devices or, as copies, a file system.
        layout.force_same_device(true)
    }
}

/// How a child commits.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub kind: Kind,
    pub method: SyncMethod,
    pub writer: LogWriter,
    pub bug: Option<Bug>,
}

/// Which device loses its power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// This one; the log goes on.
    One(usize),
    Both,
}

/// Bugs that are planted by name: controls that must lose.
const BUGS: [Bug; 2] = [Bug::MirrorAtFirst, Bug::AcknowledgeBeforeFlush];

#[test]
fn acknowledged_commits_survive_power_cuts_of_members() {
    be_what_was_asked();
    let _alone = alone();
    let cuts = life::number("REDO_MEMBER_CUTS").unwrap_or(10);
    let seed = seed();
    println!("REDO_CUT_SEED={seed} REDO_MEMBER_CUTS={cuts}");
    let mut state = seed;
    let Some(volumes) = here("power cuts of members", volumes()) else {
        return;
    };
    for kind in [Kind::Mirror, Kind::Race] {
        let methods: Vec<SyncMethod> = chosen("REDO_CUT_METHODS", SyncMethod::ALL.to_vec());
        let share = cuts.div_ceil(methods.len() as u64);
        for method in methods {
            let tally = cut_and_recover(&volumes, kind, method, share, &mut state)
                .unwrap_or_else(|what| panic!("seed {seed}, {} {method}: {what}", kind.name()));
            tally.report([kind.name(), method.name()], seed);
            assert!(
                tally.busy * 3 >= share,
                "seed {seed}: most cuts hit a log at work"
            );
        }
    }
    for kind in [Kind::Mirror, Kind::Race] {
        let tally = cut_until_lost(&volumes, kind, &mut state);
        let name = "control: acknowledging before the flush";
        tally.report([kind.name(), name], seed);
        let kind = kind.name();
        assert!(tally.lost > 0, "seed {seed}, {kind}: {name} lost nothing");
    }
}

pub fn volumes() -> Result<[Volume; MEMBERS], String> {
    let [first, second] = FILE_SYSTEMS;
    Ok([Volume::make(first)?, Volume::make(second)?])
}

pub fn places(volumes: &[Volume; MEMBERS]) -> Vec<PathBuf> {
    let places = volumes.iter().map(|volume| volume.at().join("log"));
    places.collect()
}

/// What came of the cuts of one kind.
#[derive(Default)]
struct Tally {
    cuts: u64,
    /// Cuts of both at one moment; the others were of one alone.
    both: u64,
    /// Cuts that hit a log which had acknowledged a commit in that life.
    busy: u64,
    /// Logs that went on without the member that was cut.
    went_on: u64,
    acknowledged: usize,
    /// Cuts after which something was missing that must not be.
    lost: u64,
    /// Openings of one member of a race that lacked something acknowledged, and those that were
    /// refused because what it had proved what it lacked.
    alone_lacked: u64,
    alone_refused: u64,
    /// The most that one of them lacked, bytes of blocks, and the window that was reported of it.
    lacked_bytes: u64,
    window_bytes: u64,
}

impl Tally {
    fn report(&self, [kind, method]: [&str; 2], seed: u64) {
        let Tally {
            cuts,
            both,
            busy,
            went_on,
            acknowledged,
            lost,
            alone_lacked,
            alone_refused,
            lacked_bytes,
            window_bytes,
        } = self;
        println!(
            "{kind}, {method}: {cuts} cuts, {both} of both, {busy} during commits, {went_on} logs \
             went on, {acknowledged} commits acknowledged, lost in {lost} cuts; {alone_lacked} \
             members alone lacked something, {lacked_bytes} bytes at most of a window of \
             {window_bytes}, {alone_refused} were refused"
        );
        crate::common::csv_line(
            "REDO_CUT_MEMBERS_CSV",
            "members,method,cuts,both,busy,went_on,acknowledged,lost,alone_lacked,alone_refused,\
             lacked_bytes,window_bytes,seed",
            &format!(
                "{kind},{method},{cuts},{both},{busy},{went_on},{acknowledged},{lost},\
                 {alone_lacked},{alone_refused},{lacked_bytes},{window_bytes},{seed}"
            ),
        );
    }
}

/// What must be there from now on.
#[derive(Clone, Default)]
pub struct Promised {
    /// With both members.
    pub all: Known,
    /// With one that is stale now: what was acknowledged while it was in sync, if anything is known
    /// of that.
    pub before: Option<Known>,
    /// What each may lack in a race, bytes.
    pub windows: [u32; MEMBERS],
}

impl Promised {
    fn add(known: &mut Known, acks: &[(u32, u32)]) {
        for &(who, which) in acks {
            known[who as usize] = Some(which);
        }
    }
}

/// One log after the other through `cuts` power cuts; the error is a loss or a failure.
fn cut_and_recover(
    volumes: &[Volume; MEMBERS],
    kind: Kind,
    method: SyncMethod,
    cuts: u64,
    state: &mut u64,
) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut promised = None;
    for cut in 0..cuts {
        if cut % CUTS_A_LOG == 0 {
            promised = None;
            remove(volumes);
        }
        let way = Way {
            kind,
            method,
            writer: WRITERS[(split_mix(state) % WRITERS.len() as u64) as usize],
            bug: None,
        };
        let early = cut % EARLY_EVERY == EARLY_EVERY - 1;
        let which = match split_mix(state) % 4 {
            0 => Cut::One(0),
            1 => Cut::One(1),
            _ => Cut::Both,
        };
        let context = |what| format!("cut {cut}, {which:?}, early: {early}, {way:?}: {what}");
        let life = until_cut(volumes, &way, early, which, state).map_err(context)?;
        tally.count(&life, which);
        promised = after(promised, &life);
        let Some(promised) = &promised else {
            remove(volumes);
            continue;
        };
        judge(&places(volumes), kind, promised, &mut tally).map_err(context)?;
        if !split_mix(state).is_multiple_of(LEFT_EVERY) {
            let both = open(&places(volumes), kind, false, options()).map_err(context)?;
            missing(&both, &promised.all)
                .map_or(Ok(()), Err)
                .map_err(context)?;
        }
    }
    remove(volumes);
    Ok(tally)
}

impl Tally {
    fn count(&mut self, life: &Life, which: Cut) {
        self.cuts += 1;
        self.both += u64::from(which == Cut::Both);
        self.busy += u64::from(!life.told.acks.is_empty());
        self.went_on += u64::from(life.went_on);
        self.acknowledged += life.told.acks.len();
    }
}

/// What is promised after a life: nothing where the log was being made and not yet reported.
pub fn after(promised: Option<Promised>, life: &Life) -> Option<Promised> {
    let mut promised = match promised {
        Some(promised) => promised,
        None if life.told.created => Promised::default(),
        None => return None,
    };
    let acks = &life.told.acks;
    promised.before = None;
    if life.before > 0 {
        let mut before = promised.all;
        Promised::add(&mut before, &acks[..life.before]);
        promised.before = Some(before);
    }
    Promised::add(&mut promised.all, acks);
    // Where the log was not opened, what a member lacks is as it was.
    let new = life.told.windows;
    for (window, new) in promised.windows.iter_mut().zip(new) {
        *window = if acks.is_empty() {
            (*window).max(new)
        } else {
            new
        };
    }
    Some(promised)
}

/// A log that acknowledges before its flush through cuts of both, until something is missing.
fn cut_until_lost(volumes: &[Volume; MEMBERS], kind: Kind, state: &mut u64) -> Tally {
    let mut tally = Tally::default();
    while tally.lost == 0 && tally.cuts < CONTROL_CUTS {
        remove(volumes);
        let way = Way {
            kind,
            method: SyncMethod::Buffered,
            writer: LogWriter::Inline,
            bug: Some(Bug::AcknowledgeBeforeFlush),
        };
        let life = until_cut(volumes, &way, false, Cut::Both, state);
        let life = life.unwrap_or_else(|what| panic!("the control: {what}"));
        tally.count(&life, Cut::Both);
        let promised = after(None, &life).expect("it commits");
        let mut judged = Tally::default();
        let lost = judge(&places(volumes), kind, &promised, &mut judged);
        tally.lost += u64::from(lost.is_err());
    }
    remove(volumes);
    tally
}

pub fn remove(volumes: &[Volume; MEMBERS]) {
    places(volumes)
        .iter()
        .for_each(|place| crate::remove(place));
}

/// A life of a log, and how it ended.
pub struct Life {
    pub told: Told,
    /// Acknowledgements that were heard before the first cut.
    before: usize,
    /// The log acknowledged commits without the member that was cut.
    pub went_on: bool,
}

/// Starts a child, cuts the power of one or both after its start (`early`) or after its first
/// acknowledged commit, ends it, and brings the power back.
pub fn until_cut(
    volumes: &[Volume; MEMBERS],
    way: &Way,
    early: bool,
    which: Cut,
    state: &mut u64,
) -> Result<Life, String> {
    let moment = Duration::from_micros(split_mix(state) % 60_000);
    let later = Duration::from_micros(split_mix(state) % 20_000);
    let both_in_the_end = split_mix(state).is_multiple_of(2);
    let (mut running, heard) = start(&places(volumes), way)?;
    if !early {
        running = running.committing()?;
    }
    std::thread::sleep(moment);
    if running.ended() {
        return Err(running.failed("the child ended before the cut"));
    }
    let (mut went_on, before) = (false, heard.load(Ordering::SeqCst));
    match which {
        Cut::Both => {
            running.freeze()?;
            cut_all(volumes)?;
        }
        Cut::One(member) => {
            volumes[member].cut()?;
            went_on = !early && goes_on(&mut running, &heard)?;
            if !early && !went_on && way.kind.goes_on_without(member) {
                return Err(running.failed("the log ended with the member"));
            }
            std::thread::sleep(later);
            if both_in_the_end && !running.ended() {
                running.freeze()?;
                volumes[1 - member].cut()?;
            }
        }
    }
    let told = running.finish(None)?;
    volumes.iter().try_for_each(Volume::restore)?;
    Ok(Life {
        before: match which {
            // What is in the pipe was acknowledged before.
            Cut::Both => told.acks.len(),
            Cut::One(_) => before,
        },
        told,
        went_on,
    })
}

/// Whether the log acknowledges commits without the member that was just cut; otherwise it has
/// ended.
fn goes_on(running: &mut Running, heard: &AtomicUsize) -> Result<bool, String> {
    let wanted = heard.load(Ordering::SeqCst) + GOES_ON;
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if heard.load(Ordering::SeqCst) >= wanted {
            return Ok(true);
        }
        if running.ended() {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Err(String::from("the child hangs without a member"))
}

/// All at once, as far as that goes: nobody asks for anything meanwhile.
fn cut_all(volumes: &[Volume; MEMBERS]) -> Result<(), String> {
    std::thread::scope(|scope| {
        let cuts = volumes
            .each_ref()
            .map(|volume| scope.spawn(|| volume.cut()));
        let mut cuts = cuts.into_iter();
        cuts.try_for_each(|cut| cut.join().map_err(|_| "a cut panicked")?)
    })
}

/// Starts a child; and how many acknowledgements it has made so far.
pub fn start(places: &[PathBuf], way: &Way) -> Result<(Running, Arc<AtomicUsize>), String> {
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let running = start_heard(places, way, move |who, _| {
        if who < life::SESSIONS {
            count.fetch_add(1, Ordering::SeqCst);
        }
    })?;
    Ok((running, heard))
}

/// Starts a child; `heard` is called with what it says.
pub fn start_heard(
    places: &[PathBuf],
    way: &Way,
    heard: impl FnMut(u32, u32) + Send + 'static,
) -> Result<Running, String> {
    let mut says = vec![
        (FIRST, places[0].display().to_string()),
        (SECOND, places[1].display().to_string()),
        (KIND, way.kind.name().to_owned()),
        (METHOD, way.method.name().to_owned()),
        (WRITER, way.writer.to_string()),
    ];
    if let Some(bug) = way.bug {
        says.push((BUG, format!("{bug:?}")));
    }
    life::start_as(says, heard)
}

/// What an opening found, and which members it took for stale.
pub struct Opened {
    pub found: Found,
    /// Where each record begins.
    records: Vec<(u32, u32, Rba)>,
    stale: [bool; MEMBERS],
    in_sync: Vec<bool>,
}

pub fn open(
    places: &[PathBuf],
    kind: Kind,
    accept_loss: bool,
    options: Options,
) -> Result<Opened, String> {
    let layout = kind.layout(places).accept_loss(accept_loss);
    let opened = crate::common::open_with(layout, options);
    let (log, recovery) = opened.map_err(|e| e.to_string())?;
    let mut records = Vec::new();
    let found = life::found(&recovery, |who, which, rba| records.push((who, which, rba)))?;
    let notes = &log.back_end().fallbacks;
    let stale = [1, 2].map(|member| {
        let words = format!("member {member} was stale and was copied whole");
        notes.iter().any(|note| note.contains(&words))
    });
    let in_sync = log.members().iter().map(|member| member.in_sync).collect();
    Ok(Opened {
        found,
        records,
        stale,
        in_sync,
    })
}

/// What is missing of what must be there.
pub fn missing(opened: &Opened, known: &Known) -> Option<String> {
    opened
        .found
        .iter()
        .zip(known)
        .enumerate()
        .find_map(|(who, (found, last))| {
            let last = (*last)?;
            let there = found.is_some_and(|(_, next)| next > last);
            (!there).then(|| format!("session {who}: {last} is missing, {found:?} is there"))
        })
}

/// Opens copies of what a cut left, with both members and with each alone. The error is a loss.
fn judge(
    places: &[PathBuf],
    kind: Kind,
    promised: &Promised,
    tally: &mut Tally,
) -> Result<(), String> {
    let copies = Copies::make(places)?;
    let both = open(&copies.take()?, kind, false, options())?;
    if let Some(what) = missing(&both, &promised.all) {
        return Err(format!("with both: {what}"));
    }
    if both.in_sync != [true, true] {
        return Err(format!("with both: in sync are {:?}", both.in_sync));
    }
    // They are equal now: each alone has the same.
    for member in 0..MEMBERS {
        let healed = open(&copies.only(member), kind, true, options())?;
        if healed.found != both.found {
            let (all, alone) = (both.found, healed.found);
            return Err(format!("equal: {all:?} with both, {alone:?} with {member}"));
        }
    }
    for member in 0..MEMBERS {
        copies.take()?;
        let stale = both.stale[member];
        if stale && promised.before.is_none() {
            // It was stale in that life already.
            continue;
        }
        let known = match (&promised.before, stale) {
            (Some(before), true) => before,
            _ => &promised.all,
        };
        let leads = kind == Kind::Mirror || both.stale[1 - member];
        let alone = match open(&copies.only(member), kind, true, options()) {
            Ok(alone) => alone,
            // What it lacks is proven by what it has: it is refused, and says so.
            Err(what) if !leads && what.contains("damaged at RBA") => {
                tally.alone_refused += 1;
                continue;
            }
            Err(what) => return Err(format!("member {member} alone: {what}")),
        };
        let lacked = missing(&alone, known);
        if let (true, Some(what)) = (leads, &lacked) {
            return Err(format!("member {member} alone: {what}"));
        }
        let bytes = lacked_bytes(&both, &alone, known);
        let window = u64::from(promised.windows[member]);
        if bytes > window {
            return Err(format!(
                "member {member} alone lacks {bytes} bytes, and a window of {window} was reported"
            ));
        }
        if lacked.is_some() {
            tally.alone_lacked += 1;
            if bytes >= tally.lacked_bytes {
                (tally.lacked_bytes, tally.window_bytes) = (bytes, window);
            }
        }
    }
    Ok(())
}

/// The bytes of the blocks in which records begin that are acknowledged and that `alone` lacks.
pub fn lacked_bytes(both: &Opened, alone: &Opened, known: &Known) -> u64 {
    let lacks = |(who, which, _): &&(u32, u32, Rba)| {
        let next = alone.found[*who as usize].map_or(0, |(_, next)| next);
        known[*who as usize].is_some_and(|last| *which <= last) && *which >= next
    };
    let lacking = both.records.iter().filter(lacks);
    let blocks: BTreeSet<(u64, u32)> = lacking
        .map(|(_, _, rba)| (rba.log_seq, rba.block))
        .collect();
    blocks.len() as u64 * u64::from(SMALL.block_bytes.expect("it is said"))
}

/// Copies of both members, in memory where there is some.
pub struct Copies {
    kept: Vec<PathBuf>,
    at: crate::requests::Memory,
}

impl Copies {
    pub fn make(places: &[PathBuf]) -> Result<Copies, String> {
        let at = crate::requests::Memory::make()?;
        let copies = Copies {
            kept: (0..MEMBERS)
                .map(|m| at.0.join(format!("kept-{m}")))
                .collect(),
            at,
        };
        for (from, to) in places.iter().zip(&copies.kept) {
            copy(from, to)?;
        }
        Ok(copies)
    }

    /// Copies of what was kept, instead of those before.
    pub fn take(&self) -> Result<Vec<PathBuf>, String> {
        let places: Vec<PathBuf> = (0..MEMBERS)
            .map(|m| self.at.0.join(m.to_string()))
            .collect();
        for (from, to) in self.kept.iter().zip(&places) {
            crate::remove(to);
            copy(from, to)?;
        }
        Ok(places)
    }

    /// Of the copies that were taken this one; the other place is empty.
    pub fn only(&self, member: usize) -> Vec<PathBuf> {
        let place = |m: usize| match m == member {
            true => self.at.0.join(m.to_string()),
            false => self.at.0.join(format!("nothing-{m}")),
        };
        (0..MEMBERS).map(place).collect()
    }
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", from.display());
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)?.flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed)?;
    }
    Ok(())
}

/// Whether this process is a child.
pub fn is_child() -> bool {
    std::env::var_os(KIND).is_some()
}

/// Commits until the power goes.
pub fn child() -> ! {
    let why = commits().err().map(|e| e.to_string());
    // For a parent that wonders why it ended too early.
    println!("{}", why.as_deref().unwrap_or("no error"));
    std::process::exit(0);
}

fn commits() -> Result<(), Error> {
    let word = |name| std::env::var(name).expect("the parent says how");
    let asked = word(KIND);
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == asked);
    let kind = kind.expect("the parent names one of them");
    let planted = BUGS
        .into_iter()
        .find(|bug| std::env::var(BUG).is_ok_and(|name| name == format!("{bug:?}")));
    let options = options()
        .sync_method(word(METHOD).parse().expect("a sync method"))
        .log_writer(word(WRITER).parse().expect("a log writer"))
        .planted(planted.map_or(Planted::none(), Planted::with));
    let places = [FIRST, SECOND].map(|name| PathBuf::from(word(name)));
    if places.iter().any(|place| !place.exists()) {
        for place in &places {
            make(place)?;
        }
        crate::common::create_with(kind.layout(&places), SMALL, &|_, _| {}, &|| false)?;
        life::tell_created();
    }
    life::commit_on(kind.layout(&places), options, &life::tell_with_windows)
}

/// Makes a directory, durably.
fn make(place: &Path) -> Result<(), Error> {
    let failed = |source| device::DeviceError::Io {
        path: place.to_owned(),
        action: "create",
        source,
    };
    std::fs::create_dir(place).map_err(failed)?;
    let parent = place.parent().expect("it lies in the mounted file system");
    Ok(device::file::sync_directory(parent)?)
}
