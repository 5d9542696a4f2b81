//! The reader: after the restart, compares everything acknowledged with what is on the disk.
//!
//! Invariants: read-only until the judgement is durable on the server; a loss counts unless nothing
//! was cut, a pass only where evidence fits a cut while the writer was writing; what is not the
//! tested device cannot be judged. What cannot be judged stays open, so that it can be stated
//! otherwise.

use super::PowerTestError;
use super::acks::{ask, fetch};
use super::channel::{PowerChannel, PowerToken};
use super::evidence::{machine_state, of_cut};
use super::find::FoundWrites;
use super::identity::{TestedPlace, jump_in_words, machine_id, other_place, read_clocks};
use super::judge::{CheckedWrite, PlaceFound, PowerJudgement, judge};
use super::left::LeftSite;
use super::messages::{OpenTest, PowerAck, PowerRequest, PowerResponse, TestedFiles};
use super::records::TestId;
use super::site::lasting_path;
use crate::store::{Store, now_rfc3339};
use measure::power_test::{
    CutAssessment, CutEvidence, CutKind, PowerCycle, PowerTestCounts, PowerTestSeries, SCHEMA,
    StackFingerprint,
};
use measure::stack::Stack;
use measure::words::sanitize;
use std::path::PathBuf;

/// What the reader does.
pub struct VerifyOrder<'a> {
    /// The directory, or the raw device, that was written to.
    pub path: PathBuf,
    /// Host and port of the server.
    pub server: String,
    /// The secret.
    pub token: PowerToken,
    /// The test, where the path has several.
    pub test: Option<String>,
    /// What took the power, as the user states it.
    pub cut: CutKind,
    /// Give the test up instead.
    pub abandon: bool,
    /// Leave the test's files where they are.
    pub keep_files: bool,
    /// Where the cut is stored too.
    pub store: &'a Store,
    /// Takes lines about what happens.
    pub say: &'a dyn Fn(&str),
}

/// A judged cut, and what all of its stack show.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedCut {
    /// The cut.
    pub cycle: PowerCycle,
    /// All cuts of the stack that the server or the local store knows, whichever are more.
    pub totals: Option<PowerTestSeries>,
}

/// Judges the open test of a path; `None` after it was given up.
///
/// # Errors
/// What keeps it from being judged, with what to do.
pub fn verify(order: &VerifyOrder<'_>) -> Result<Option<JudgedCut>, PowerTestError> {
    // A test can be given up when its path is in use, or is gone.
    let place = (!order.abandon).then(|| TestedPlace::of(&order.path));
    let place = place.transpose()?;
    let shown = lasting_path(&order.path)?;
    let connect = || PowerChannel::connect(&order.server, &order.token);
    let mut channel = connect()?;
    let request = PowerRequest::List {
        machine_id: machine_id(),
        path: shown.display().to_string(),
    };
    let PowerResponse::Tests { open, earlier } = ask(&mut channel, &request)? else {
        return Err(channel.unusable("tests were asked for".to_owned()).into());
    };
    let test = choose(open, order)?;
    let id = test.new.test_id.clone();
    let Some(place) = place else {
        let test_id = id.clone();
        ask(&mut channel, &PowerRequest::Abandon { test_id })?;
        (order.say)(&format!("Test {id} was given up."));
        return Ok(None);
    };
    check_place(&test, &place)?;
    let left = LeftSite::find(&order.path)?;
    let left = left.of_test(&test, &earlier, &shown.display().to_string())?;
    let end = left.end_note(&id);
    let end = end.or_else(|| test.ended.clone());
    let evidence = of_cut(&test, machine_state(&order.path, &place));
    // A writer that ended by itself is judged as such, whatever the cut was.
    if end.is_none() {
        check_cut(&evidence, &place, order.cut)?;
    }
    // A device that ends its last writes, and a long look at it, take longer than a server waits.
    let acks = fetch(&mut connect()?, &id, test.demanded)?;
    (order.say)(&format!(
        "Comparing {} acknowledged writes of test {id} with the disk.",
        measure::words::count(acks.len() as u64)
    ));
    let found = left.look(&test, &acks)?;
    let mut judged = cycle(
        order,
        &place,
        &test,
        (&acks, found, evidence),
        end.as_deref(),
    );
    if left.lacks_note(&id) {
        judged.counted = false;
        judged.notes.push(
            "The note of the test is not on the device: it was lost, or the end of the device was \
             overwritten. A pass does not count."
                .to_owned(),
        );
    }
    check_evidence(&judged)?;
    let mut channel = connect()?;
    let answer = ask(
        &mut channel,
        &PowerRequest::Judged(Box::new(judged.clone())),
    )?;
    let PowerResponse::Totals(totals) = answer else {
        return Err(channel.unusable("totals were asked for".to_owned()).into());
    };
    order.store.add_power_cycle(&judged)?;
    if !order.keep_files {
        left.tidy(judged.class, order.say);
    }
    let totals = more(totals.map(|t| *t), order.store, &judged)?;
    Ok(Some(JudgedCut {
        cycle: judged,
        totals,
    }))
}

/// The test to judge.
fn choose(open: Vec<OpenTest>, order: &VerifyOrder<'_>) -> Result<OpenTest, PowerTestError> {
    let path = order.path.display();
    let ids: Vec<String> = open
        .iter()
        .map(|t| sanitize::line(&t.new.test_id))
        .collect();
    let all = ids.join(", ");
    let mut wanted: Vec<OpenTest> = match &order.test {
        None => open,
        Some(id) => open
            .into_iter()
            .filter(|t| t.new.test_id.starts_with(id))
            .collect(),
    };
    let unjudged = |what: String| Err(PowerTestError::Unjudged(what));
    match (wanted.pop(), wanted.is_empty(), &order.test) {
        (Some(test), true, _) if TestId::parse(&test.new.test_id).is_none() => Err(
            PowerTestError::Failed("the server names a test in a wrong way".to_owned()),
        ),
        (Some(test), true, _) if test.is_live => unjudged(format!(
            "{path}: the writer of test {} is still connected; cut the power, or end it",
            test.new.test_id
        )),
        (Some(test), true, _) => Ok(test),
        (Some(_), false, _) => unjudged(format!(
            "{path}: there are several tests: {all}; choose one with --test ID"
        )),
        (None, _, Some(id)) => unjudged(format!(
            "{path}: the server has no open test {} of this path (open: {})",
            sanitize::line(id),
            if all.is_empty() { "none" } else { &all }
        )),
        (None, _, None) => unjudged(format!(
            "{path}: the server has no test of this path that was not verified; begin one with \
             `redolab powertest write`, or name the server that it was begun with"
        )),
    }
}

/// Refuses a cut that cannot have been, before anything is compared.
fn check_cut(
    evidence: &CutEvidence,
    place: &TestedPlace,
    cut: CutKind,
) -> Result<(), PowerTestError> {
    let unjudged = |what: String| Err(PowerTestError::Unjudged(sanitize::line(&what)));
    if let CutAssessment::Contradicted(why) = evidence.assess(cut) {
        return unjudged(format!("{why}. Or give up the test with --abandon"));
    }
    if cut == CutKind::GuestReset && place.stack.hypervisor.is_none() {
        return unjudged(
            "--cut-kind guest-reset: no hypervisor is seen here; state the cut that there was"
                .to_owned(),
        );
    }
    if cut == CutKind::FileSystemShutdown && place.mount_point.is_empty() {
        return unjudged(
            "--cut-kind file-system-shutdown: a raw device has no file system; state the cut that \
             there was"
                .to_owned(),
        );
    }
    Ok(())
}

/// Refuses a pass that no evidence supports, and a loss although nothing was cut. The test stays
/// open.
fn check_evidence(judged: &PowerCycle) -> Result<(), PowerTestError> {
    let lost = measure::words::count(judged.counts.lost);
    let unjudged = |what: String| Err(PowerTestError::Unjudged(sanitize::line(&what)));
    match (judged.assessment(), judged.has_lost()) {
        (CutAssessment::Unshown(why), false) if judged.counted => unjudged(format!(
            "nothing is lost, but {why}. Or give up the test with --abandon"
        )),
        (CutAssessment::Contradicted(why), true) => unjudged(format!(
            "{lost} acknowledged writes are not there, but {why}. Find out what removed or \
             overwrote the files, or give up the test with --abandon"
        )),
        _ => Ok(()),
    }
}

/// Refuses what is another device.
fn check_place(test: &OpenTest, place: &TestedPlace) -> Result<(), PowerTestError> {
    let before = test.new.stack.clone();
    let fallback = StackFingerprint::of(&place.stack, None);
    let changed = match &before {
        Some(before) => {
            let points = (test.new.mount_point.as_str(), place.mount_point.as_str());
            other_place(before, &place.stack, points)
        }
        None if test.new.fingerprint.identity != fallback.identity => Some(format!(
            "the device was {}, it is {}",
            test.new.fingerprint.identity.in_words(),
            fallback.identity.in_words()
        )),
        None => None,
    };
    if let Some(what) = changed {
        let again = match test.new.mount_point.is_empty() {
            true => "Name the tested device by the path that it was tested by",
            false => "Mount the tested file system where it was",
        };
        return Err(PowerTestError::Unjudged(format!(
            "this is not what was written to: {}. {again}, or give up the test with --abandon",
            sanitize::line(&what)
        )));
    }
    Ok(())
}

/// The judged cut.
fn cycle(
    order: &VerifyOrder<'_>,
    place: &TestedPlace,
    test: &OpenTest,
    (acks, found, evidence): (&[PowerAck], FoundWrites, CutEvidence),
    end: Option<&str>,
) -> PowerCycle {
    let PowerJudgement {
        class,
        counts,
        first_lost,
    } = judge(&found.writes, &found.later);
    let mut notes = found.notes;
    notes.extend(clock_notes(test, place));
    notes.extend(changed_settings(test, &place.stack));
    let mut counted = true;
    if let Some(why) = end {
        counted = false;
        notes.push(format!(
            "The writer had ended before ({}): nothing was being written at the cut, so that a pass \
             does not count.",
            sanitize::line(why)
        ));
    } else if let Some(how) = test
        .failed
        .as_ref()
        .filter(|_| !order.cut.keeps_the_machine_up())
    {
        counted = false;
        notes.push(format!(
            "Writing had failed before the cut ({}), so that a pass does not count.",
            sanitize::line(how)
        ));
    } else if acks.is_empty() {
        counted = false;
        notes.push("Nothing had been acknowledged, so that a pass does not count.".to_owned());
    }
    let first_lost = first_lost.and_then(|at| Some((acks.get(at)?, found.writes.get(at)?)));
    PowerCycle {
        schema: SCHEMA.to_owned(),
        test_id: test.new.test_id.clone(),
        redolab_version: env!("CARGO_PKG_VERSION").to_owned(),
        opened: test.new.opened.clone(),
        judged: now_rfc3339(),
        path: test.new.path.clone(),
        mode: test.new.mode.clone(),
        cut: order.cut,
        hypervisor: place.stack.hypervisor.clone(),
        class,
        counted,
        counts: PowerTestCounts {
            acknowledged: test.acknowledged,
            ..counts
        },
        stack: test.new.fingerprint.clone(),
        notes,
        first_lost: first_lost.map(|(ack, write)| in_words(test, ack, write)),
        evidence: Some(evidence),
    }
}

/// Where a lost write was.
fn in_words(test: &OpenTest, ack: &PowerAck, write: &CheckedWrite) -> String {
    let what = match write.found {
        PlaceFound::Kept | PlaceFound::Unreachable => "whole in its place, but not recovered",
        PlaceFound::Missing => "not there",
        PlaceFound::Torn => "torn",
        PlaceFound::Foreign => "replaced by something else",
    };
    match &test.files {
        Some(TestedFiles::Raw(shapes)) => {
            let name = shapes
                .get(ack.stream as usize)
                .map_or("?", |shape| &shape.name);
            format!("write {} of {}: {what}", ack.at, sanitize::line(name))
        }
        _ => format!(
            "record {} of session {} at block {}: {what}",
            ack.sequence, ack.session, write.at
        ),
    }
}

fn clock_notes(test: &OpenTest, place: &TestedPlace) -> Vec<String> {
    let mut notes: Vec<String> = test
        .clock_jumps
        .iter()
        .map(|ns| jump_in_words(*ns))
        .collect();
    let now = read_clocks();
    if now.wall_ns < test.new.clock.wall_ns {
        notes.push(format!(
            "The machine's wall clock is {:.1} s before the time at which the test began.",
            (test.new.clock.wall_ns - now.wall_ns) as f64 / 1e9
        ));
    } else if test.new.boot_id == place.boot_id
        && let Some(ns) = super::identity::jump(test.new.clock, now)
    {
        notes.push(jump_in_words(ns));
    }
    notes.dedup();
    notes
}

/// Settings that are other ones than before the cut: they hold for the next test.
fn changed_settings(test: &OpenTest, now: &Stack) -> Vec<String> {
    let method = test.new.sync_method.as_str();
    let now = StackFingerprint::of(now, Some(method));
    let changes = now.changes_from(&test.new.fingerprint);
    let sentence = |change: &measure::power_test::StackChange| {
        format!(
            "Since the test began this has changed: {}.",
            sanitize::line(&change.to_string())
        )
    };
    changes.iter().map(sentence).collect()
}

/// The totals of the server or of the local store, whichever has more cuts.
fn more(
    of_server: Option<PowerTestSeries>,
    store: &Store,
    judged: &PowerCycle,
) -> Result<Option<PowerTestSeries>, PowerTestError> {
    let cycles = store.power_cycles()?.0;
    let same: Vec<&PowerCycle> = cycles.iter().filter(|c| c.stack == judged.stack).collect();
    let own = PowerTestSeries::of(&same);
    let cuts = |series: &PowerTestSeries| series.cuts + series.other_cuts;
    Ok([of_server, own].into_iter().flatten().max_by_key(cuts))
}
