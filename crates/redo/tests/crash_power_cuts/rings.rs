//! Power cuts of a disk and its ring, each on a device of its own: of both at one moment, of the
//! disk alone, which ends the log, and of the ring alone, without which the log goes on.
//!
//! What a cut left is copied and opened twice. With disk and ring every acknowledged commit is
//! there, whatever was cut. With the disk alone, the loss accepted, what is missing lies within the
//! window that the log reported; or the disk has blocks that prove the loss, and is refused.
//!
//! A ring that counts before its flush (`RingUnflushed`) is not found here: 200 cuts lost nothing,
//! since the disk has flushed nearly always when the power fails. `crash_ring` finds it.
//!
//! `REDO_MEMBER_CUTS` sets how many cuts for each kind (10), `REDO_CUT_RINGS_CSV` names a file to
//! which a line is appended for each kind and method.

use crate::common::options;
use crate::members::{self, CONTROL_CUTS, Copies, Cut, Kind, Promised, WRITERS, Way};
use crate::volume::Volume;
use crate::{alone, be_what_was_asked, chosen, here, life, seed};
use device::SyncMethod;
use measure::workload::split_mix;
use redo::LogWriter;
use redo::planted::Bug;

/// A log lives through as many cuts.
const CUTS_A_LOG: u64 = 7;
/// Every so many cuts one comes early, while the child makes or opens the log.
const EARLY_EVERY: u64 = 4;

type Volumes = [Volume; life::MEMBERS];

/// What came of the cuts of one kind.
#[derive(Default)]
struct Tally {
    cuts: u64,
    both: u64,
    /// Cuts of the ring alone, after which the log went on.
    went_on: u64,
    /// Cuts that hit a log which had acknowledged a commit in that life.
    busy: u64,
    acknowledged: usize,
    lost: u64,
    /// Openings of the disk alone that lacked something acknowledged, and those that were refused.
    alone_lacked: u64,
    alone_refused: u64,
}

impl Tally {
    fn report(&self, kind: Kind, method: &str, seed: u64) {
        let Tally {
            cuts,
            both,
            went_on,
            busy,
            acknowledged,
            lost,
            alone_lacked,
            alone_refused,
        } = self;
        let kind = kind.name();
        println!(
            "{kind}, {method}: {cuts} cuts, {both} of both, {busy} during commits, {went_on} logs \
             went on without the ring, {acknowledged} commits acknowledged, lost in {lost} cuts; \
             {alone_lacked} disks alone lacked something, {alone_refused} were refused"
        );
        crate::common::csv_line(
            "REDO_CUT_RINGS_CSV",
            "kind,method,cuts,both,busy,went_on,acknowledged,lost,alone_lacked,alone_refused,seed",
            &format!(
                "{kind},{method},{cuts},{both},{busy},{went_on},{acknowledged},{lost},\
                 {alone_lacked},{alone_refused},{seed}"
            ),
        );
    }
}

#[test]
fn acknowledged_commits_survive_power_cuts_of_rings() {
    be_what_was_asked();
    let _alone = alone();
    let cuts = life::number("REDO_MEMBER_CUTS").unwrap_or(10);
    let seed = seed();
    println!("REDO_CUT_SEED={seed} REDO_MEMBER_CUTS={cuts}");
    let mut state = seed;
    let Some(volumes) = here("power cuts of rings", members::volumes()) else {
        return;
    };
    for kind in [Kind::Ring, Kind::Failover] {
        let methods: Vec<SyncMethod> = chosen("REDO_CUT_METHODS", SyncMethod::ALL.to_vec());
        let share = cuts.div_ceil(methods.len() as u64);
        for method in methods {
            let tally = cut_and_recover(&volumes, kind, method, share, &mut state)
                .unwrap_or_else(|what| panic!("seed {seed}, {} {method}: {what}", kind.name()));
            tally.report(kind, method.name(), seed);
            assert!(
                tally.busy * 3 >= share,
                "seed {seed}: most cuts hit a log at work"
            );
        }
    }
    let tally = cut_until_lost(&volumes, &mut state);
    let name = "control: acknowledging before the flush";
    tally.report(Kind::Ring, name, seed);
    assert!(tally.lost > 0, "seed {seed}: {name} lost nothing");
}

/// One log after the other through `cuts` power cuts; the error is a loss or a failure.
fn cut_and_recover(
    volumes: &Volumes,
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
            members::remove(volumes);
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
        promised =
            step(volumes, (&way, early, which), promised, (&mut tally, state)).map_err(context)?;
        if promised.is_none() {
            members::remove(volumes);
        }
    }
    members::remove(volumes);
    Ok(tally)
}

/// A life up to a cut, and what is promised after it; the error is a loss or a failure.
fn step(
    volumes: &Volumes,
    (way, early, which): (&Way, bool, Cut),
    promised: Option<Promised>,
    (tally, state): (&mut Tally, &mut u64),
) -> Result<Option<Promised>, String> {
    let life = members::until_cut(volumes, way, early, which, state)?;
    tally.cuts += 1;
    tally.both += u64::from(which == Cut::Both);
    tally.went_on += u64::from(life.went_on);
    tally.busy += u64::from(!life.told.acks.is_empty());
    tally.acknowledged += life.told.acks.len();
    let promised = members::after(promised, &life);
    if let Some(promised) = &promised {
        judge(volumes, way.kind, promised, tally)?;
    }
    Ok(promised)
}

/// Opens copies of what a cut left, with the ring and without. The error is a loss.
fn judge(
    volumes: &Volumes,
    kind: Kind,
    promised: &Promised,
    tally: &mut Tally,
) -> Result<(), String> {
    let copies = Copies::make(&members::places(volumes))?;
    let both = members::open(&copies.take()?, kind, false, options())?;
    if let Some(what) = members::missing(&both, &promised.all) {
        return Err(format!("with disk and ring: {what}"));
    }
    copies.take()?;
    let alone = match members::open(&copies.only(0), kind, true, options()) {
        Ok(alone) => alone,
        Err(what) if what.contains("damaged at RBA") => {
            tally.alone_refused += 1;
            return Ok(());
        }
        Err(what) => return Err(format!("the disk alone: {what}")),
    };
    let bytes = members::lacked_bytes(&both, &alone, &promised.all);
    let window = u64::from(promised.windows[0]);
    if bytes > window {
        return Err(format!(
            "the disk alone lacks {bytes} bytes, and a window of {window} was reported"
        ));
    }
    tally.alone_lacked += u64::from(bytes > 0);
    Ok(())
}

/// A log that acknowledges before its flush through cuts of both, until something is missing.
fn cut_until_lost(volumes: &Volumes, state: &mut u64) -> Tally {
    let mut tally = Tally::default();
    while tally.lost == 0 && tally.cuts < CONTROL_CUTS {
        members::remove(volumes);
        let way = Way {
            kind: Kind::Ring,
            method: SyncMethod::Buffered,
            writer: LogWriter::Inline,
            bug: Some(Bug::AcknowledgeBeforeFlush),
        };
        let given = (&way, false, Cut::Both);
        let lost = step(volumes, given, None, (&mut tally, state)).is_err();
        tally.lost += u64::from(lost);
    }
    members::remove(volumes);
    tally
}
