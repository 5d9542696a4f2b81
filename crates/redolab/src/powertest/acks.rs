//! From sessions to the server: acknowledgements are queued, sent together, and kept before more
//! than a bounded number is waiting.
//!
//! Invariants: one thread uses the connection; when it breaks, nothing is sent or queued any more,
//! and everybody learns why; a session that finds its queue full waits, it never drops anything.
//!
//! What it must not know: what was written, and how.

use super::channel::{ChannelError, HEARTBEAT, PATIENCE, PowerChannel};
use super::identity::{jump, read_clocks};
use super::messages::{self, ACKS_MAX, Message, PowerAck, PowerRequest, PowerResponse, TestNote};
use super::messages::{encode, encode_acks};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Acknowledgements of a session that wait to be sent, at most.
const LANE_MAX: usize = 4096;
/// Between two messages of acknowledgements: what comes meanwhile goes into one.
const PAUSE: Duration = Duration::from_millis(2);
/// A session whose queue is full looks again so often.
const FULL_PAUSE: Duration = Duration::from_millis(1);
/// Acknowledgements that are fetched of a test, at most: 200 MB.
const FETCHED_MAX: usize = 4 << 20;
/// A message of 64 KiB takes so long, on average, at most.
const MESSAGE_MAX: Duration = Duration::from_secs(1);
/// Clocks are compared so often.
const CLOCKS: Duration = Duration::from_secs(1);

/// The connection's share of a writer that is over.
pub(super) struct SentAcks {
    /// Acknowledgements that the server kept.
    pub(super) kept: u64,
    /// Why the connection broke; `None` where it did not.
    pub(super) broken: Option<String>,
}

/// What sessions and the thread of the connection share.
pub(super) struct AckQueue {
    lanes: Vec<Mutex<Vec<PowerAck>>>,
    /// Everything acknowledged so far, sent or not.
    count: AtomicU64,
    kept: AtomicU64,
    is_broken: AtomicBool,
    why: Mutex<Option<String>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AckQueue {
    /// The connection is broken: nothing that is acknowledged now counts.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }

    /// Acknowledgements so far, sent or not: all that they acknowledge is durable.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// The number of the next acknowledgement, for what has just become durable.
    pub(super) fn number(&self) -> u64 {
        self.count.fetch_add(1, Ordering::AcqRel)
    }

    /// Queues an acknowledgement of session `lane`. False where the connection is broken.
    pub(super) fn push(&self, lane: usize, ack: PowerAck) -> bool {
        loop {
            if self.is_broken() {
                return false;
            }
            let mut queued = held(&self.lanes[lane]);
            if queued.len() < LANE_MAX {
                queued.push(ack);
                return true;
            }
            drop(queued);
            std::thread::sleep(FULL_PAUSE);
        }
    }

    fn take_all(&self, out: &mut Vec<PowerAck>) {
        out.clear();
        self.lanes
            .iter()
            .for_each(|lane| out.append(&mut held(lane)));
    }

    fn broke(&self, why: String) {
        held(&self.why).get_or_insert(why);
        self.is_broken.store(true, Ordering::Release);
    }
}

/// A request with the place for its answer.
type Asked = (PowerRequest, SyncSender<Result<(), String>>);

/// The thread that uses the connection.
pub(super) struct AckSender {
    pub(super) queue: Arc<AckQueue>,
    requests: SyncSender<Asked>,
    thread: std::thread::JoinHandle<()>,
}

/// Asks the server through the thread of the connection.
#[derive(Clone)]
pub(super) struct AckRequests(SyncSender<Asked>);

impl AckRequests {
    /// Has the server do something, and waits until it is durable there.
    ///
    /// # Errors
    /// The connection is broken, or the server refused.
    pub(super) fn ask(&self, request: PowerRequest) -> Result<(), String> {
        const GONE: &str = "the connection to the server is broken";
        let (answer, answered) = sync_channel(1);
        let sent = self.0.send((request, answer));
        sent.map_err(|_| GONE.to_owned())?;
        answered.recv().unwrap_or_else(|_| Err(GONE.to_owned()))
    }
}

impl AckSender {
    /// Takes over the connection, for so many sessions.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(channel: PowerChannel, lanes: usize) -> std::io::Result<AckSender> {
        let queue = Arc::new(AckQueue {
            lanes: (0..lanes).map(|_| Mutex::default()).collect(),
            count: AtomicU64::new(0),
            kept: AtomicU64::new(0),
            is_broken: AtomicBool::new(false),
            why: Mutex::default(),
        });
        let (requests, asked) = sync_channel(lanes + 4);
        let shared = Arc::clone(&queue);
        let thread = std::thread::Builder::new()
            .name("acknowledgements".to_owned())
            .spawn(move || {
                if let Err(e) = send_all(channel, &shared, &asked) {
                    shared.broke(e.to_string());
                }
            })?;
        Ok(AckSender {
            queue,
            requests,
            thread,
        })
    }

    /// For those who ask the server.
    pub(super) fn requests(&self) -> AckRequests {
        AckRequests(self.requests.clone())
    }

    /// Sends what is still queued, reports how the writer ends, and gives the connection up. All
    /// others that ask have ended before.
    pub(super) fn finish(self, end: TestNote) -> SentAcks {
        let note = PowerRequest::Note(end);
        // A broken connection is reported below.
        let _ = self.requests().ask(note);
        drop(self.requests);
        let died = self.thread.join().is_err();
        let mut broken = held(&self.queue.why).take();
        if died {
            broken.get_or_insert_with(|| "the thread of the connection has panicked".to_owned());
        }
        SentAcks {
            kept: self.queue.kept.load(Ordering::Acquire),
            broken,
        }
    }
}

/// Sends acknowledgements and requests until nobody can ask any more.
fn send_all(
    mut channel: PowerChannel,
    queue: &AckQueue,
    asked: &Receiver<Asked>,
) -> Result<(), ChannelError> {
    let mut acks = Vec::new();
    let (mut last, mut compared) = (Instant::now(), Instant::now());
    let mut clocks = read_clocks();
    loop {
        let request = asked.recv_timeout(PAUSE);
        queue.take_all(&mut acks);
        for some in acks.chunks(ACKS_MAX) {
            channel.send(&encode_acks(some))?;
            if let PowerResponse::Kept(count) = answer(&mut channel)? {
                queue.kept.store(count, Ordering::Release);
            }
            last = Instant::now();
        }
        match request {
            Ok((request, answered)) => {
                let outcome = ask(&mut channel, &request);
                let text = outcome.as_ref().err().map(ToString::to_string);
                // Who asked may have given up.
                let _ = answered.send(text.map_or(Ok(()), Err));
                outcome?;
                last = Instant::now();
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if last.elapsed() >= HEARTBEAT {
            ask(&mut channel, &PowerRequest::Ping)?;
            last = Instant::now();
        }
        if compared.elapsed() >= CLOCKS {
            let now = read_clocks();
            if let Some(jumped) = jump(clocks, now) {
                ask(
                    &mut channel,
                    &PowerRequest::Note(TestNote::ClockJumped(jumped)),
                )?;
            }
            (clocks, compared) = (now, Instant::now());
        }
    }
}

/// Sends a request that is answered with nothing but that it is done.
pub(super) fn ask(
    channel: &mut PowerChannel,
    request: &PowerRequest,
) -> Result<PowerResponse, ChannelError> {
    let body = encode(request);
    let body = body.ok_or_else(|| channel.unusable("a request is too long".to_owned()))?;
    channel.send(&body)?;
    answer(channel)
}

/// The server's answer; a refusal is an error.
fn answer(channel: &mut PowerChannel) -> Result<PowerResponse, ChannelError> {
    let body = channel.receive(PATIENCE)?;
    let body = body.ok_or_else(|| ChannelError::Closed {
        peer: channel.peer().to_owned(),
    })?;
    match messages::decode(&body) {
        Ok(Message::Json(PowerResponse::Refused(reason))) => Err(channel.refused(&reason)),
        Ok(Message::Json(answer)) => channel.checked(answer),
        Ok(Message::Acks(_)) => {
            Err(channel.unusable("nobody asked for acknowledgements".to_owned()))
        }
        Err(what) => Err(channel.unusable(what)),
    }
}

/// The `demanded` acknowledgements of a test. A server that sends fewer, more, or all of them in
/// small pieces is not believed, so that it cannot go on without end.
///
/// # Errors
/// The connection, or the server's refusal.
pub(super) fn fetch(
    channel: &mut PowerChannel,
    test_id: &str,
    demanded: u64,
) -> Result<Vec<PowerAck>, ChannelError> {
    let demanded = usize::try_from(demanded).unwrap_or(usize::MAX);
    if demanded > FETCHED_MAX {
        return Err(channel.unusable(format!(
            "{demanded} acknowledgements of one test are announced, at most {FETCHED_MAX} are read"
        )));
    }
    let limit = PATIENCE + MESSAGE_MAX * (demanded / ACKS_MAX) as u32;
    let begun = Instant::now();
    let mut all: Vec<PowerAck> = Vec::new();
    while all.len() < demanded {
        if begun.elapsed() > limit {
            let peer = channel.peer().to_owned();
            return Err(ChannelError::Silent { peer, after: limit });
        }
        let request = PowerRequest::Fetch {
            test_id: test_id.to_owned(),
            from: all.len() as u64,
        };
        let body = encode(&request).unwrap_or_default();
        channel.send(&body)?;
        let body = channel.receive(PATIENCE)?;
        let body = body.ok_or_else(|| ChannelError::Closed {
            peer: channel.peer().to_owned(),
        })?;
        match messages::decode::<PowerResponse>(&body) {
            // Each is as long as a message can be, and the last has the rest.
            Ok(Message::Acks(acks)) if acks.len() == ACKS_MAX.min(demanded - all.len()) => {
                all.extend(acks);
            }
            Ok(Message::Acks(acks)) => {
                return Err(channel.unusable(format!(
                    "{} acknowledgements behind the first {} of {demanded}",
                    acks.len(),
                    all.len()
                )));
            }
            Ok(Message::Json(PowerResponse::Refused(reason))) => {
                return Err(channel.refused(&reason));
            }
            Ok(Message::Json(_)) => return Err(channel.unusable("no acknowledgements".to_owned())),
            Err(what) => return Err(channel.unusable(what)),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::channel::PowerToken;
    use super::*;
    use std::net::TcpListener;

    fn token() -> PowerToken {
        PowerToken::of(b"a token of sixteen bytes or more")
    }

    /// What `fetch` makes of a server that announces `demanded` and sends messages of these lengths
    /// again and again; and how many messages it sent.
    fn fetched(demanded: u64, lengths: &'static [usize]) -> (Result<usize, String>, usize) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        let server = std::thread::spawn(move || {
            let (stream, _) = listener.accept().expect("a client");
            let mut channel = PowerChannel::accept(stream, &token(), || true).expect("the token");
            let mut sent = 0;
            while channel.receive(PATIENCE).is_ok_and(|body| body.is_some()) {
                let acks = vec![PowerAck::default(); lengths[sent % lengths.len()]];
                sent += usize::from(channel.send(&encode_acks(&acks)).is_ok());
            }
            sent
        });
        let mut channel = PowerChannel::connect(&address, &token()).expect("connects");
        let result = fetch(&mut channel, "test", demanded);
        drop(channel);
        let result = result.map(|acks| acks.len()).map_err(|e| e.to_string());
        (result, server.join().expect("ends"))
    }

    #[test]
    fn as_many_acknowledgements_are_fetched_as_were_announced() {
        const LAST: usize = 3000 - 2 * ACKS_MAX;
        assert_eq!(fetched(0, &[1]), (Ok(0), 0));
        assert_eq!(fetched(3000, &[ACKS_MAX, ACKS_MAX, LAST]), (Ok(3000), 3));
    }

    #[test]
    fn a_server_that_sends_without_end_or_drop_by_drop_is_not_believed() {
        for (demanded, lengths, messages) in [
            // More than was announced, in the first message and in the last.
            (10, &[ACKS_MAX][..], 1),
            (ACKS_MAX as u64 + 10, &[ACKS_MAX], 2),
            (3000, &[1], 1),
            (3000, &[0], 1),
            (u64::MAX, &[ACKS_MAX], 0),
            (FETCHED_MAX as u64 + 1, &[ACKS_MAX], 0),
        ] {
            let (result, sent) = fetched(demanded, lengths);
            let why = result.expect_err("refused");
            assert!(why.contains("acknowledgements"), "{demanded}: {why}");
            assert_eq!(sent, messages, "{demanded} {lengths:?}: {why}");
        }
    }

    #[test]
    fn a_server_that_sends_the_token_back_does_not_have_it_printed() {
        const TOKEN: &str = "a token of sixteen bytes or more";
        let open = |text: &str| PowerResponse::Refused(text.to_owned());
        let earlier = |text: &str| PowerResponse::Tests {
            open: Vec::new(),
            earlier: vec![text.to_owned()],
        };
        for (answer, says) in [
            (open(&format!("no {TOKEN}!")), "no (the token)!"),
            // What is not printed may divide it.
            (open("a token of six\u{1}teen bytes or more"), "(the token)"),
            (earlier(TOKEN), "it contains the token"),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
            let address = listener.local_addr().expect("it is bound").to_string();
            let server = std::thread::spawn(move || {
                let (stream, _) = listener.accept().expect("a client");
                let mut channel =
                    PowerChannel::accept(stream, &token(), || true).expect("the token");
                channel.receive(PATIENCE).expect("a request");
                channel
                    .send(&encode(&answer).expect("short"))
                    .expect("sends");
            });
            let mut channel = PowerChannel::connect(&address, &token()).expect("connects");
            let refused = ask(&mut channel, &PowerRequest::Ping).expect_err("refused");
            let text = refused.to_string();
            assert!(text.contains(says) && !text.contains(TOKEN), "{text}");
            server.join().expect("ends");
        }
    }
}
