//! The server: takes acknowledgements from writers, keeps them before it answers, hands them to the
//! reader after the restart, keeps its judgement, and switches the power if it is asked to.
//!
//! Invariants: an answer is sent only after what it acknowledges is durable; a limited number of
//! connections, each with a time limit for every read and write; a client without the token takes
//! no place of one that has it; a test has one writer; no text of a client is shown raw.

mod strangers;

use super::PowerTestError;
use super::channel::{ChannelError, HEARTBEAT, PowerChannel, PowerToken};
use super::cut::PowerSwitch;
use super::keep::PowerKeep;
use super::messages::{self, Message, PowerAck, PowerRequest, PowerResponse, encode, encode_acks};
use super::records::TestId;
use crate::signals::Interrupt;
use crate::store::now_rfc3339;
use measure::power_test::{EvidenceBasis, PowerCycle, PowerTestSeries, SwitchRecord};
use measure::words::{self, sanitize};
use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use strangers::Strangers;

/// Connections of clients with the token, at once.
const CONNECTIONS_MAX: usize = 16;
/// A writer that sends nothing for so long is gone: several heartbeats.
const SILENCE: Duration = Duration::from_secs(HEARTBEAT.as_secs() * 10);
const LOOK: Duration = Duration::from_millis(20);
/// How long the server waits for connections to end when it ends.
const FAREWELL: Duration = Duration::from_secs(5);

/// How the server is run.
pub struct ServeOrder<'a> {
    /// Its directory.
    pub keep: PathBuf,
    /// Size of each file of its own log, where that is made.
    pub keep_file_bytes: u64,
    /// The address that it listens on.
    pub listen: String,
    /// The secret.
    pub token: PowerToken,
    /// It ends after so many judged cuts.
    pub cycles: Option<u64>,
    /// What switches the power.
    pub switch: Option<PowerSwitch>,
    /// Takes lines about what happens.
    pub say: &'a (dyn Fn(&str) + Sync),
    /// Ends it.
    pub interrupt: Interrupt,
}

/// What the connections share.
struct ServerState<'a> {
    order: &'a ServeOrder<'a>,
    keep: Mutex<Option<PowerKeep>>,
    /// Tests with a connected writer.
    live: Mutex<BTreeMap<String, ()>>,
    /// Threads that serve a client.
    threads: AtomicUsize,
    /// Clients with the token.
    connections: AtomicUsize,
    strangers: Mutex<Strangers>,
    /// Cuts that were judged since it was started.
    judged: AtomicU64,
    lossy: AtomicBool,
    /// Tests since it was started, for the times of the switch.
    tests: AtomicU64,
    /// The keep failed: nothing can be acknowledged any more.
    failure: Mutex<Option<PowerTestError>>,
    ends: AtomicBool,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves until it is interrupted or the wanted number of cuts was judged; whether none of these
/// lost anything.
///
/// # Errors
/// The address or the directory cannot be used, or the server's own log failed.
pub fn serve(order: &ServeOrder<'_>) -> Result<bool, PowerTestError> {
    let keep = PowerKeep::open(&order.keep, order.keep_file_bytes)?;
    let failed = || PowerTestError::system(format!("--listen {}", order.listen));
    let listener = TcpListener::bind(&order.listen).map_err(failed())?;
    listener.set_nonblocking(true).map_err(failed())?;
    let address = listener.local_addr().map_err(failed())?;
    (order.say)(&format!("Listening on {address}."));
    if !address.ip().is_loopback() {
        (order.say)("Other machines can connect; those without the token are refused.");
    }
    for test in keep.open_tests() {
        (order.say)(&format!("Test {test} was not verified yet."));
    }
    if !keep.cycles().is_empty() {
        let cuts = words::plural(keep.cycles().len() as u64, "judged cut");
        (order.say)(&format!("{cuts} from earlier."));
    }
    if let Some(switch) = &order.switch {
        (order.say)(&format!(
            "The times of cuts are drawn from seed {}.",
            switch.seed
        ));
    }
    let state = ServerState {
        order,
        keep: Mutex::new(Some(keep)),
        live: Mutex::default(),
        threads: AtomicUsize::new(0),
        connections: AtomicUsize::new(0),
        strangers: Mutex::default(),
        judged: AtomicU64::new(0),
        lossy: AtomicBool::new(false),
        tests: AtomicU64::new(0),
        failure: Mutex::default(),
        ends: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        let shared = &state;
        let begin = |stream, number| scope.spawn(move || shared.connection(stream, number));
        state.accept(&listener, |stream, number| drop(begin(stream, number)));
        // Their writers and readers are answered to the end of what they began.
        let until = Instant::now() + FAREWELL;
        while state.threads.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        state.ends.store(true, Ordering::SeqCst);
    });
    if let Some(keep) = held(&state.keep).take() {
        keep.close()?;
    }
    if let Some(failure) = held(&state.failure).take() {
        return Err(failure);
    }
    match state.is_done() {
        true => Ok(!state.lossy.load(Ordering::SeqCst)),
        false => Err(PowerTestError::Interrupted),
    }
}

impl ServerState<'_> {
    fn say(&self, line: &str) {
        let now = now_rfc3339();
        (self.order.say)(&format!("{now} {}", sanitize::line(line)));
    }

    /// As many cuts as were wanted were judged.
    fn is_done(&self) -> bool {
        let judged = self.judged.load(Ordering::SeqCst);
        self.order.cycles.is_some_and(|wanted| judged >= wanted)
    }

    fn is_over(&self) -> bool {
        self.order.interrupt.requested() || self.is_done() || held(&self.failure).is_some()
    }

    fn accept(&self, listener: &TcpListener, mut begin: impl FnMut(TcpStream, u64)) {
        let mut number = 0;
        while !self.is_over() {
            match listener.accept() {
                Ok((stream, _)) if stream.set_nonblocking(false).is_err() => {}
                Ok((stream, from)) => {
                    // Without a second descriptor it could not be closed in favour of others.
                    let Ok(second) = stream.try_clone() else {
                        continue;
                    };
                    number += 1;
                    held(&self.strangers).enter(number, from.ip(), second);
                    self.threads.fetch_add(1, Ordering::SeqCst);
                    begin(stream, number);
                }
                Err(_) => std::thread::sleep(LOOK),
            }
        }
    }

    fn connection(&self, stream: TcpStream, number: u64) {
        let mut has_place = false;
        let accepted = PowerChannel::accept(stream, &self.order.token, || {
            has_place = take_place(&self.connections);
            has_place
        });
        let was_closed = !held(&self.strangers).leave(number);
        match accepted {
            Ok(channel) => Connection::new(self, channel).serve(),
            // Many at once would fill the output.
            Err(_) if was_closed => {}
            Err(e) => self.say(&format!("{e}.")),
        }
        if has_place {
            self.connections.fetch_sub(1, Ordering::SeqCst);
        }
        self.threads.fetch_sub(1, Ordering::SeqCst);
    }

    /// Does something with the keep. What fails there ends the server: it could not promise
    /// anything any more.
    fn with_keep<T>(
        &self,
        work: impl FnOnce(&mut PowerKeep) -> Result<T, PowerTestError>,
    ) -> Result<T, String> {
        let mut keep = held(&self.keep);
        let Some(keep) = keep.as_mut() else {
            return Err("the server is ending".to_owned());
        };
        work(keep).map_err(|e| {
            let text = format!("the server cannot keep anything any more: {e}");
            held(&self.failure).get_or_insert(e);
            text
        })
    }

    /// Waits for the drawn time of acknowledgements, and switches the power off.
    fn switch_power(&self, switch: &PowerSwitch, test: &str, cycle: u64, gone: &AtomicBool) {
        let time = switch.time_of(cycle);
        let until = Instant::now() + time;
        while Instant::now() < until {
            if gone.load(Ordering::SeqCst) || self.ends.load(Ordering::SeqCst) {
                return;
            }
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        self.say(&format!(
            "Test {test}: cut after {:.1} s.",
            time.as_secs_f64()
        ));
        let record = SwitchRecord {
            at: now_rfc3339(),
            program: switch.shown(),
        };
        match switch.run() {
            Ok(what) => {
                // What cannot be kept ends the server, and says so.
                let note = messages::TestNote::Switched(record);
                let _ = self.with_keep(|keep| keep.noted(test, note));
                self.say(&format!("Test {test}: {what}."));
            }
            Err(what) => self.say(&format!("Test {test}: the switch failed: {what}.")),
        }
    }
}

/// Takes one of the places of clients with the token.
fn take_place(connections: &AtomicUsize) -> bool {
    let order = Ordering::SeqCst;
    let more = |now: usize| (now < CONNECTIONS_MAX).then_some(now + 1);
    connections.fetch_update(order, order, more).is_ok()
}

/// A client's connection.
struct Connection<'s, 'o> {
    state: &'s ServerState<'o>,
    channel: PowerChannel,
    /// The test that it writes.
    test: Option<TestId>,
    acknowledged: u64,
    ended: bool,
    gone: Arc<AtomicBool>,
}

impl<'s, 'o> Connection<'s, 'o> {
    fn new(state: &'s ServerState<'o>, channel: PowerChannel) -> Connection<'s, 'o> {
        Connection {
            state,
            channel,
            test: None,
            acknowledged: 0,
            ended: false,
            gone: Arc::default(),
        }
    }

    fn serve(mut self) {
        std::thread::scope(|scope| {
            let served = self.answer_all(|state, test, cycle, gone| {
                if let Some(switch) = &state.order.switch {
                    scope.spawn(move || state.switch_power(switch, &test, cycle, &gone));
                }
            });
            self.gone.store(true, Ordering::SeqCst);
            let Some(test) = self.test else {
                if let Err(e) = served {
                    self.state.say(&format!("{e}."));
                }
                return;
            };
            if !self.ended && served.is_ok() {
                // What cannot be kept ends the server, and says so.
                let note = messages::TestNote::Closed;
                let noted = |keep: &mut PowerKeep| keep.noted(&test.to_string(), note);
                let _ = self.state.with_keep(noted);
            }
            held(&self.state.live).remove(&test.to_string());
            let kept = words::count(self.acknowledged);
            self.state.say(&match (self.ended, served) {
                (true, _) => format!("Test {test}: the writer ended; {kept} acknowledgements kept."),
                (false, Ok(())) => format!(
                    "Test {test}: the writer is gone; {kept} acknowledgements kept. Nothing that it \
                     acknowledges from now on counts."
                ),
                (false, Err(e)) => {
                    format!("Test {test}: connection lost ({e}); {kept} acknowledgements kept.")
                }
            });
        });
    }

    /// Answers until the other side closes. `begun` is called at the first acknowledgement.
    fn answer_all(
        &mut self,
        begun: impl Fn(&'s ServerState<'o>, String, u64, Arc<AtomicBool>),
    ) -> Result<(), ChannelError> {
        loop {
            if self.state.ends.load(Ordering::SeqCst) {
                return Ok(());
            }
            let Some(body) = self.channel.receive(SILENCE)? else {
                return Ok(());
            };
            let message = messages::decode(&body).map_err(|what| self.channel.unusable(what))?;
            let request = match message {
                Message::Acks(acks) => {
                    let first = self.acknowledged == 0 && !acks.is_empty();
                    let answer = self.acknowledge(&acks);
                    self.send(&answer)?;
                    if let (true, Some(test)) = (first, self.test) {
                        let cycle = self.state.tests.fetch_add(1, Ordering::SeqCst);
                        begun(self.state, test.to_string(), cycle, Arc::clone(&self.gone));
                    }
                    continue;
                }
                Message::Json(request) => request,
            };
            if let PowerRequest::Fetch { test_id, from } = &request {
                self.fetch(test_id, *from)?;
                continue;
            }
            let answer = self.answer(request).unwrap_or_else(PowerResponse::Refused);
            self.send(&answer)?;
        }
    }

    fn send(&mut self, answer: &PowerResponse) -> Result<(), ChannelError> {
        let refused = || PowerResponse::Refused("the answer is too long".to_owned());
        let body = encode(answer).or_else(|| encode(&refused()));
        self.channel.send(&body.unwrap_or_default())
    }

    fn acknowledge(&mut self, acks: &[PowerAck]) -> PowerResponse {
        let Some(test) = self.test else {
            return PowerResponse::Refused("no test was begun on this connection".to_owned());
        };
        match self.state.with_keep(|keep| keep.acknowledge(test, acks)) {
            Ok(Ok(count)) => {
                self.acknowledged = count;
                PowerResponse::Kept(count)
            }
            Ok(Err(why)) | Err(why) => PowerResponse::Refused(why),
        }
    }

    fn fetch(&mut self, test_id: &str, from: u64) -> Result<(), ChannelError> {
        let acks = {
            let keep = held(&self.state.keep);
            let found = keep.as_ref().and_then(|keep| keep.acks(test_id, from));
            found.map(encode_acks)
        };
        match acks {
            Some(body) => self.channel.send(&body),
            None => self.send(&PowerResponse::Refused("there is no such test".to_owned())),
        }
    }

    fn answer(&mut self, request: PowerRequest) -> Result<PowerResponse, String> {
        let of_writer = || {
            let test = self.test.map(|test| test.to_string());
            test.ok_or_else(|| "no test was begun on this connection".to_owned())
        };
        match request {
            PowerRequest::Ping => {}
            PowerRequest::Open(new) => return self.open(*new),
            PowerRequest::Files(files) => {
                let test = of_writer()?;
                self.state.with_keep(|keep| keep.files(&test, files))?;
            }
            PowerRequest::Release { stream, at, offset } => {
                let test = of_writer()?;
                let place = (stream, at, offset);
                self.state.with_keep(|keep| keep.release(&test, place))?;
            }
            PowerRequest::Note(note) => {
                let test = of_writer()?;
                use messages::TestNote::{Closed, DeviceFailed, Ended, Failed, Switched};
                if matches!(note, Switched(_) | Closed) {
                    return Err("the server alone notes this".to_owned());
                }
                self.ended |= matches!(note, Ended(_) | Failed(_) | DeviceFailed(_));
                self.state.with_keep(|keep| keep.noted(&test, note))?;
            }
            PowerRequest::List { machine_id, path } => {
                let live = held(&self.state.live).clone();
                let is_live = |id: &str| live.contains_key(id);
                let list = |keep: &mut PowerKeep| Ok(keep.list(&machine_id, &path, is_live));
                let (open, earlier) = self.state.with_keep(list)?;
                return Ok(PowerResponse::Tests { open, earlier });
            }
            PowerRequest::Abandon { test_id } => {
                if held(&self.state.live).contains_key(&test_id) {
                    return Err("its writer is still connected".to_owned());
                }
                self.state.with_keep(|keep| keep.abandon(&test_id))?;
                self.state.say(&format!("Test {test_id}: given up."));
            }
            PowerRequest::Judged(cycle) => return self.judged(*cycle),
            PowerRequest::Fetch { .. } => return Err("it is answered elsewhere".to_owned()),
        }
        Ok(PowerResponse::Done)
    }

    fn open(&mut self, new: messages::NewTest) -> Result<PowerResponse, String> {
        if self.test.is_some() {
            return Err("a test was begun on this connection already".to_owned());
        }
        let id = TestId::parse(&new.test_id).ok_or("the identity of the test is wrong")?;
        let (path, device) = (new.path.clone(), new.fingerprint.identity.in_words());
        let method = new.sync_method.clone();
        let live = held(&self.state.live).clone();
        self.state.with_keep(|keep| {
            // Two writers for one path: the other one is there.
            let (others, _) = keep.list(&new.machine_id, &new.path, |id| live.contains_key(id));
            if let Some(other) = others.iter().find(|test| test.is_live) {
                return Ok(Err(format!(
                    "another writer is connected for {}: test {}; end it first",
                    sanitize::line(&new.path),
                    other.new.test_id
                )));
            }
            keep.begin(new)
        })??;
        self.test = Some(id);
        held(&self.state.live).insert(id.to_string(), ());
        let line = format!("Test {id}: {path} on {device}, {method}.");
        self.state.say(&line);
        Ok(PowerResponse::Done)
    }

    fn judged(&mut self, cycle: PowerCycle) -> Result<PowerResponse, String> {
        if held(&self.state.live).contains_key(&cycle.test_id) {
            return Err("its writer is still connected".to_owned());
        }
        if TestId::parse(&cycle.test_id).is_none() {
            return Err("the identity of the test is wrong".to_owned());
        }
        let (test, class) = (cycle.test_id.clone(), cycle.class);
        let (counts, counted, lossy) = (cycle.counts, cycle.counts(), cycle.is_loss());
        let basis = cycle.basis();
        let totals = self.state.with_keep(|keep| {
            if !keep.open_tests().contains(&cycle.test_id) {
                return Ok(Err("there is no such test that was not judged".to_owned()));
            }
            let stack = cycle.stack.clone();
            keep.judged(cycle)?;
            let same = keep.cycles().iter().filter(|c| c.stack == stack);
            Ok(Ok(PowerTestSeries::of(&same.collect::<Vec<_>>())))
        })??;
        if lossy {
            self.state.lossy.store(true, Ordering::SeqCst);
        }
        let number = match counted {
            true => self.state.judged.fetch_add(1, Ordering::SeqCst) + 1,
            false => self.state.judged.load(Ordering::SeqCst),
        };
        let all = totals
            .as_ref()
            .map_or_else(String::new, |t| format!(" {}.", t.sentence()));
        let uncounted = match (counted, basis) {
            (false, _) => ", not counted".to_owned(),
            (true, None) => String::new(),
            (true, Some(EvidenceBasis::OperatorsWord)) => ", by the operator's word".to_owned(),
            (true, Some(basis)) => format!(", shown by {basis}"),
        };
        self.state.say(&format!(
            "Cycle {number}, test {test}: {class}{uncounted} ({} of {} lost).{all}",
            words::count(counts.lost),
            words::count(counts.demanded)
        ));
        Ok(PowerResponse::Totals(totals.map(Box::new)))
    }
}
