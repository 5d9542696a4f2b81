//! Following a log until its time is over, its process has ended, or somebody asks: intervals,
//! events of the store, and the recording at the end.

use super::asked::{SessionCount, counted, grown};
use super::plan::WatchPlan;
use super::subject::Subject;
use super::tally::{SeenEvents, WATCHED_ROW, WatchTally, WatchedSecond};
use super::watching::{SETTLED_NS, Watching, mono_ns};
use crate::experiment::Failure;
use crate::experiment::console::Console;
use crate::observe::diskstats::Counters;
use crate::observe::machine;
use crate::observe::sampler::Sampler;
use crate::observe::topology::counted_devices;
use crate::store::RunWriter;
use crate::store::events::{EventWriter, RowFacts};
use drivers::collect::ReadServer;
use measure::record::Recording;
use measure::{Nanos, WaitEvent};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often the buffers are emptied.
const DRAIN: Duration = Duration::from_millis(50);
/// How often files and processes are looked at, and a line is printed.
const SECOND: Duration = Duration::from_secs(1);

/// What was seen of a log, when the watching has ended.
pub(super) struct SeenLog {
    /// Its recording.
    pub(super) recording: Recording,
    /// Events that were lost.
    pub(super) lost: u64,
    /// Why the server's own counts are unknown.
    pub(super) grown_note: Option<String>,
}

/// Follows the log until its time is over, its process has ended, or somebody asks.
pub(super) fn measure(
    watching: &mut Watching,
    plan: &WatchPlan,
    server: &mut Option<Box<dyn ReadServer>>,
    console: &dyn Console,
    look: &mut dyn FnMut(&WatchedSecond),
    writer: &mut RunWriter,
) -> Result<SeenLog, Failure> {
    let events = plan.events.then(|| writer.begin_events());
    let mut events = events.transpose()?;
    let sampler = sampler(&watching.subject)?;
    watching.start()?;
    let window = sampler.begin();
    let (zero_ns, zero_utc_ns) = (mono_ns(), utc_ns());
    let mut tally = WatchTally::new((zero_ns, zero_utc_ns), plan.warning, plan.events);
    // All that the server counts between the readings is watched.
    let before = counted(server, watching, &mut tally)?;
    let mut sessions = SessionCount::of(before.as_ref(), watching);
    if let Some(events) = &mut events {
        events.begin_row(facts_of_row(zero_utc_ns));
    }
    let begun = Instant::now();
    let mut seconds = 0;
    loop {
        std::thread::sleep(DRAIN);
        watching.drain(mono_ns().saturating_sub(SETTLED_NS), &mut tally)?;
        store_events(events.as_mut(), &mut tally);
        let elapsed = begun.elapsed();
        let is_over = plan
            .time
            .is_some_and(|time| elapsed >= Duration::from_nanos(time.0));
        let ends = is_over || console.interrupt().requested() || watching.has_ended();
        if ends {
            break;
        }
        if elapsed >= SECOND * (seconds + 1) {
            seconds = u32::try_from(elapsed.as_secs()).unwrap_or(u32::MAX);
            watching.look_around(seconds)?;
            sessions.look(watching);
            let now = Nanos(mono_ns().saturating_sub(zero_ns));
            interval(&mut tally, now, look, writer)?;
        }
    }
    let after = counted(server, watching, &mut tally)?;
    let end_ns = watching.stop()?;
    watching.drain(u64::MAX, &mut tally)?;
    store_events(events.as_mut(), &mut tally);
    let end = Nanos(end_ns.saturating_sub(zero_ns));
    interval(&mut tally, end, look, writer)?;
    let observed = sampler.end(window);
    if let Some(mut events) = events {
        events.end_row()?;
        writer.end_events(events)?;
    }
    sessions.add(after.as_ref());
    let (grown, grown_note) = grown(before, after, &mut watching.facts);
    let seen = seen_events(watching, end_ns, sessions.most)?;
    let lost = seen.lost;
    let counts = watching.join.counts();
    watching.note_counts(&counts);
    let notes = std::mem::take(&mut watching.notes);
    let mut recording = tally.recording(end, &counts, seen, grown, notes);
    observed.add_to(&mut recording, sampler.device(), &machine::boot_id());
    Ok(SeenLog {
        recording,
        lost,
        grown_note,
    })
}

/// What became of the events until `end_ns` of the trace's clock.
fn seen_events(
    watching: &Watching,
    end_ns: u64,
    sessions: Option<u64>,
) -> Result<SeenEvents, Failure> {
    Ok(SeenEvents {
        events: watching.events,
        lost: watching.losses()?,
        not_flushed: watching.join.not_flushed(),
        unflushed_ns: watching.join.unflushed_ns(end_ns),
        sessions,
    })
}

fn facts_of_row(zero_utc_ns: u64) -> RowFacts {
    RowFacts {
        row: 1,
        workload: WATCHED_ROW.to_owned(),
        jobs: 0,
        utc_at_zero_ns: i64::try_from(zero_utc_ns).unwrap_or(i64::MAX),
    }
}

fn store_events(events: Option<&mut EventWriter>, tally: &mut WatchTally) {
    if let Some(events) = events {
        events.writes(&tally.take_events());
    }
}

/// The name of the row's files.
pub(super) fn stored_name() -> String {
    format!("01-{WATCHED_ROW}-0")
}

/// Ends an interval, stores its histogram and shows it.
fn interval(
    tally: &mut WatchTally,
    end: Nanos,
    look: &mut dyn FnMut(&WatchedSecond),
    writer: &mut RunWriter,
) -> Result<(), Failure> {
    let (from, second) = tally.end_interval(end);
    if second.write.count() > 0 {
        let series = format!(
            "{}/{}",
            stored_name(),
            WaitEvent::LogFileParallelWrite.key()
        );
        writer.interval(&series, from, end, &second.write)?;
    }
    look(&second);
    Ok(())
}

/// Reads processors and the device below the log once per second.
fn sampler(subject: &Subject) -> Result<Sampler, Failure> {
    let stack = device::identify::stack_of(&subject.folder).unwrap_or_default();
    let counters = match counted_devices(&stack).as_slice() {
        [one] => Counters::open(*one).ok(),
        _ => None,
    };
    let started = Sampler::start(counters, SECOND);
    started.map_err(Failure::system("starting the sampling thread"))
}

fn utc_ns() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
