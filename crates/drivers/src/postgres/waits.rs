//! What the sessions of this process wait for in the server, sampled.
//!
//! A thread reads the wait events of its own backends every 50 ms, on the connection that also
//! reads the counts. Invariants: it takes at most a twentieth of one connection's time, however
//! slow the server answers; events and rows are limited; it ends with its row.

use super::connection::{Connection, TextRows};
use super::counts::CountedServer;
use super::error::PostgresError;
use super::watch::ServerWatch;
use measure::driver::WaitSampling;
use measure::record::WaitSamples;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two readings. One takes about 0.4 ms, so this is 1 % of a processor.
const PERIOD: Duration = Duration::from_millis(50);
/// The time after a reading is at least so many times the time that it took.
const REST: u32 = 19;
/// What a session does that waits for nothing.
const RUNNING: &str = "running";

/// Events whose spelling depends on the version, with the one that is used here. `LWLock:WALWrite`
/// is the wait for another session's write, `IO:WalWrite` the write itself.
const SPELLINGS: [(&str, &str); 6] = [
    ("IO:WALSync", "IO:WalSync"),
    ("IO:WALWrite", "IO:WalWrite"),
    ("IO:WALInitWrite", "IO:WalInitWrite"),
    ("IO:WALInitSync", "IO:WalInitSync"),
    ("LWLock:WALWriteLock", "LWLock:WALWrite"),
    ("LWLock:wal_insert", "LWLock:WALInsert"),
];

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits until then, or until it is asked for; whether it was.
    fn wait_until(&self, due: Instant) -> bool {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        while !*asked {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = self.changed.wait_timeout(asked, left);
            asked = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *asked
    }

    fn ask(&self) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }
}

/// What the thread hands over; `None` where the server failed to answer.
type Outcome = Option<(WaitSamples, CountedServer)>;

struct Sampling {
    watch: Arc<ServerWatch>,
    stop: Arc<Stop>,
    thread: Option<JoinHandle<Outcome>>,
}

/// Begins to sample the backends of the sessions that are open; `None` where there are none.
///
/// # Errors
/// The server accepts no connection, or the system gives no thread.
pub fn sample(
    watch: &Arc<ServerWatch>,
    connect: impl FnOnce() -> Result<Connection, PostgresError>,
) -> Result<Option<Box<dyn WaitSampling>>, PostgresError> {
    let backends = watch.backends();
    if backends.is_empty() {
        return Ok(None);
    }
    let statement = statement(&backends);
    let server = watch.taken(connect)?;
    let stop = Arc::new(Stop::default());
    let until = Arc::clone(&stop);
    let thread = std::thread::Builder::new()
        .name("server waits".to_owned())
        .spawn(move || sample_until(&until, server, &statement))?;
    Ok(Some(Box::new(Sampling {
        watch: Arc::clone(watch),
        stop,
        thread: Some(thread),
    })))
}

impl Sampling {
    fn halt(&mut self) -> Option<WaitSamples> {
        self.stop.ask();
        let (samples, server) = self.thread.take()?.join().ok()??;
        self.watch.give_back(server);
        Some(samples)
    }
}

impl WaitSampling for Sampling {
    fn end(mut self: Box<Self>) -> Option<WaitSamples> {
        self.halt()
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        let _ = self.halt();
    }
}

fn statement(backends: &[i32]) -> String {
    let backends: Vec<String> = backends.iter().map(i32::to_string).collect();
    format!(
        "SELECT wait_event_type, wait_event, pg_catalog.count(*) \
         FROM pg_catalog.pg_stat_get_activity(NULL) WHERE pid IN ({}) GROUP BY 1, 2",
        backends.join(", ")
    )
}

fn sample_until(stop: &Stop, mut server: CountedServer, statement: &str) -> Outcome {
    let begun = Instant::now();
    let mut samples = WaitSamples::default();
    let mut due = begun + PERIOD;
    while !stop.wait_until(due) {
        let asked = Instant::now();
        let rows = server.connection.query(statement).ok()?;
        let took = asked.elapsed();
        samples.readings += 1;
        samples.queries.count += 1;
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        samples.queries.total_ns = samples.queries.total_ns.saturating_add(ns);
        add(&mut samples, &rows);
        due = (due + PERIOD).max(asked + took + took * REST);
    }
    samples.observed_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Some((samples, server))
}

/// Adds a reading. A count that is not a number is left out.
fn add(samples: &mut WaitSamples, rows: &TextRows) {
    for row in rows {
        let [kind, event, count] = row.as_slice() else {
            continue;
        };
        let count = count.as_ref().and_then(|count| count.parse().ok());
        if let Some(count) = count {
            samples.add(&name(kind.as_deref(), event.as_deref()), count);
        }
    }
}

/// The name of an event, which is the same in all versions.
fn name(kind: Option<&str>, event: Option<&str>) -> String {
    let (Some(kind), Some(event)) = (kind, event) else {
        return RUNNING.to_owned();
    };
    let own: String = format!("{kind}:{event}").chars().take(80).collect();
    let known = SPELLINGS.iter().find(|(spelling, _)| *spelling == own);
    known.map_or(own, |(_, name)| (*name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_has_one_name_in_all_versions() {
        for (kind, event, expected) in [
            (Some("IO"), Some("WALSync"), "IO:WalSync"),
            (Some("IO"), Some("WalSync"), "IO:WalSync"),
            (Some("IO"), Some("WALWrite"), "IO:WalWrite"),
            (Some("LWLock"), Some("WALWriteLock"), "LWLock:WALWrite"),
            (Some("LWLock"), Some("WALWrite"), "LWLock:WALWrite"),
            (Some("Client"), Some("ClientRead"), "Client:ClientRead"),
            (None, None, RUNNING),
        ] {
            assert_eq!(name(kind, event), expected);
        }
        assert_eq!(name(Some("x"), Some(&"y".repeat(500))).len(), 80);
    }

    #[test]
    fn rows_that_do_not_fit_are_left_out() {
        let row = |values: &[&str]| values.iter().map(|v| Some((*v).to_owned())).collect();
        let mut samples = WaitSamples::default();
        let rows = vec![
            row(&["IO", "WalSync", "3"]),
            row(&["IO", "WALSync", "2"]),
            row(&["IO", "WalSync", "many"]),
            row(&["IO", "WalSync"]),
            vec![None, None, Some("1".to_owned())],
        ];
        add(&mut samples, &rows);
        assert_eq!(samples.events.len(), 2);
        assert_eq!(
            (samples.events["IO:WalSync"], samples.events[RUNNING]),
            (5, 1)
        );
    }
}
