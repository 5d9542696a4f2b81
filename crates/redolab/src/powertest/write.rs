//! The writer: makes a test known to the server, makes its files, and writes until the power goes.
//!
//! Invariants: who, where and what is durable on the server before the first write; when the
//! connection breaks the writer stops, and says that nothing after it counts; an end of its own is
//! noted beside the files and on the server, so that it is never taken for a cut.

use super::acks::{AckSender, SentAcks, ask};
use super::channel::{ChannelError, HEARTBEAT, PowerChannel};
use super::evidence::{device_failure, machine_state};
use super::folder::TestFolder;
use super::identity::{TestedPlace, read_clocks};
use super::messages::{NewTest, PowerRequest, RawFileShape, TestNote};
use super::order::{StopFlags, WriteOrder};
use super::raw::RawFile;
use super::records::TestId;
use super::sessions::{self, SessionPlan};
use super::site::{Begun, TestSite, lasting_path};
use super::{PowerTestError, pressure};
use crate::store::now_rfc3339;
use device::presence::DeviceContact;
use measure::power_test::StackFingerprint;
use measure::words;
use redo::Log;
use redo::format::LifeId;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// What a writer that ended by itself did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTest {
    /// The test.
    pub test_id: String,
    /// Acknowledgements that the server kept.
    pub acknowledged: u64,
    /// From the first to the last commit.
    pub elapsed: Duration,
    /// Why it ended.
    pub why: String,
}

/// Writes until the power goes, or the time is over.
///
/// # Errors
/// What refuses or ends it: the path, the server, the network, the device.
pub fn write(order: &WriteOrder<'_>) -> Result<WrittenTest, PowerTestError> {
    let place = TestedPlace::of(&order.path)?;
    let mut site = TestSite::take(order)?;
    let mut channel = PowerChannel::connect(&order.server, &order.token)?;
    let drawn = LifeId::draw().map_err(PowerTestError::system("drawing an identity"))?;
    let test = TestId(drawn.bytes());
    open_test(order, &place, test, &mut channel)?;
    let began = TestNote::Began(machine_state(&order.path, &place));
    ask(&mut channel, &PowerRequest::Note(began))?;
    let contact = DeviceContact::of(&place.stack);
    let server = ServerKept::new(&mut channel);
    let made = site.make(order, test, &|| {
        !server.keep() || order.interrupt.requested()
    });
    if let Some(broken) = server.broken() {
        // An answer that comes late would be taken for that of the next request.
        let _ = site.note_end("the connection to the server broke before it could begin");
        return Err(broken.into());
    }
    let begun = made.and_then(|(begun, files)| {
        ask(&mut channel, &PowerRequest::Files(files))?;
        Ok(begun)
    });
    let begun = match begun {
        Ok(begun) => begun,
        Err(e) => {
            // The server should not wait for a test that never began. The error is what counts.
            let note = TestNote::Ended("it could not begin".to_owned());
            let _ = site.note_end("it could not begin");
            let _ = ask(&mut channel, &PowerRequest::Note(note));
            return Err(e);
        }
    };
    (order.say)(&format!(
        "Test {test}: writing to {}; cut the power at any time.",
        site.path().display()
    ));
    run(order, &site, test, begun, (channel, contact))
}

/// A server that hears of a writer now and then while it makes its files, which may take longer
/// than a server waits.
struct ServerKept<'a>(RefCell<KeptChannel<'a>>);

struct KeptChannel<'a> {
    channel: &'a mut PowerChannel,
    last: Instant,
    broken: Option<ChannelError>,
}

impl<'a> ServerKept<'a> {
    fn new(channel: &'a mut PowerChannel) -> ServerKept<'a> {
        ServerKept(RefCell::new(KeptChannel {
            channel,
            last: Instant::now(),
            broken: None,
        }))
    }

    /// False where the connection broke; it is not used any more then.
    fn keep(&self) -> bool {
        let mut kept = self.0.borrow_mut();
        if kept.broken.is_none() && kept.last.elapsed() >= HEARTBEAT {
            kept.broken = ask(kept.channel, &PowerRequest::Ping).err();
            kept.last = Instant::now();
        }
        kept.broken.is_none()
    }

    /// Why it broke.
    fn broken(self) -> Option<ChannelError> {
        self.0.into_inner().broken
    }
}

/// Makes the test known to the server.
fn open_test(
    order: &WriteOrder<'_>,
    place: &TestedPlace,
    test: TestId,
    channel: &mut PowerChannel,
) -> Result<(), PowerTestError> {
    let shown = lasting_path(&order.path)?;
    let method = order.sync_method.name();
    let mut new = NewTest {
        test_id: test.to_string(),
        opened: now_rfc3339(),
        machine_id: place.machine_id.clone(),
        boot_id: place.boot_id.clone(),
        clock: read_clocks(),
        path: shown.display().to_string(),
        mount_point: place.mount_point.clone(),
        mode: match order.raw {
            None => "redo log".to_owned(),
            Some(_) => "raw writes".to_owned(),
        },
        jobs: order.jobs,
        payload_bytes: order.payload_bytes,
        sync_method: method.to_owned(),
        fingerprint: StackFingerprint::of(&place.stack, Some(method)),
        stack: Some(place.stack.clone()),
        abandon: order.abandon,
    };
    let (device, basis) = (new.fingerprint.identity.in_words(), &place.stack.hypervisor);
    (order.say)(&format!("Device under test: {device}."));
    if let Some(hypervisor) = basis {
        (order.say)(&format!(
            "This is a virtual machine ({hypervisor}): the test covers what its host does at the cut, \
             and a reset of the guest is not a cut of the host's power."
        ));
    }
    if super::messages::encode(&PowerRequest::Open(Box::new(new.clone()))).is_none() {
        new.stack = None;
    }
    ask(channel, &PowerRequest::Open(Box::new(new)))?;
    Ok(())
}

/// Writes until something ends it.
fn run(
    order: &WriteOrder<'_>,
    site: &TestSite,
    test: TestId,
    begun: Begun,
    (channel, contact): (PowerChannel, Option<DeviceContact>),
) -> Result<WrittenTest, PowerTestError> {
    let lanes = match &begun {
        Begun::Log(_) => order.jobs as usize,
        Begun::Raw(shapes) => shapes.len(),
    };
    let sender = AckSender::start(channel, lanes);
    let sender = sender.map_err(PowerTestError::system("starting a thread"))?;
    let stop = Arc::new(StopFlags::new(order.until.commits));
    let started = Instant::now();
    let (outcome, elapsed) = std::thread::scope(|scope| {
        if let (Some(bytes), Some(folder)) = (order.pressure_bytes, site.folder()) {
            let stop = &stop;
            scope.spawn(move || {
                if let Err(e) = pressure::run(&folder.folder, bytes, stop) {
                    (order.say)(&format!("The pressure on the page cache has ended: {e}"));
                }
            });
        }
        scope.spawn(|| watch(order, &sender, &stop, started));
        let outcome = match begun {
            Begun::Log(log) => write_log(order, test, &log, &sender, &stop),
            Begun::Raw(shapes) => site.folder().map_or(Ok(()), |folder| {
                write_raw(order, test, &shapes, folder, &sender, &stop)
            }),
        };
        let elapsed = started.elapsed();
        stop.ask();
        stop.over.store(true, Ordering::Release);
        (outcome, elapsed)
    });
    let why = match &outcome {
        _ if order.interrupt.requested() => "it was interrupted".to_owned(),
        Err(e) => format!("writing failed: {e}"),
        Ok(()) => "its time or its commits were over".to_owned(),
    };
    let sent = sender.finish(match &outcome {
        Err(e) if !order.interrupt.requested() => match device_failure(e, contact) {
            Some(failure) => TestNote::DeviceFailed(failure),
            None => TestNote::Failed(why.clone()),
        },
        _ => TestNote::Ended(why.clone()),
    });
    end(order, site, test, (outcome, elapsed, why), sent)
}

/// Asks the sessions to stop when the time is over, the user asks or the connection breaks.
fn watch(order: &WriteOrder<'_>, sender: &AckSender, stop: &StopFlags, started: Instant) {
    while !stop.is_over() {
        let is_late = order
            .until
            .time
            .is_some_and(|time| started.elapsed() >= time);
        if is_late || order.interrupt.requested() || sender.queue.is_broken() {
            stop.ask();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Notes the end beside the files, and says what it means.
fn end(
    order: &WriteOrder<'_>,
    site: &TestSite,
    test: TestId,
    (outcome, elapsed, why): (Result<(), PowerTestError>, Duration, String),
    sent: SentAcks,
) -> Result<WrittenTest, PowerTestError> {
    let kept = words::count(sent.kept);
    let noted = match &sent.broken {
        None => why.clone(),
        Some(broken) => format!("the connection to the server broke: {broken}"),
    };
    // A failure is no end of its own: the cut itself makes writes fail where the machine goes on.
    let failed = outcome.is_err() && sent.broken.is_none() && !order.interrupt.requested();
    let unnoted = match failed {
        true => None,
        false => site.note_end(&noted).err(),
    };
    if let Some(broken) = &sent.broken {
        let mut text = format!(
            "the connection to the server broke ({broken}): {kept} acknowledgements were kept, and \
             nothing that was written after them counts; run `redolab powertest verify`, then begin \
             a new test"
        );
        if let Some(e) = unnoted {
            text.push_str(&format!(
                "; this end could not be noted on the device either ({e}): do not take it for a cut"
            ));
        }
        return Err(PowerTestError::Failed(text));
    }
    if order.interrupt.requested() {
        (order.say)(&format!(
            "Interrupted: {kept} acknowledgements were kept. Without a cut the test counts only if \
             something is lost."
        ));
        return Err(PowerTestError::Interrupted);
    }
    outcome?;
    Ok(WrittenTest {
        test_id: test.to_string(),
        acknowledged: sent.kept,
        elapsed,
        why,
    })
}

/// The first error of threads that have ended.
fn first_error<T>(
    threads: Vec<std::thread::ScopedJoinHandle<'_, Result<T, PowerTestError>>>,
) -> Result<(), PowerTestError> {
    let mut first = Ok(());
    for thread in threads {
        let ended = match thread.join() {
            Ok(outcome) => outcome.map(drop),
            Err(_) => Err(PowerTestError::Failed(
                "a thread that writes has panicked".to_owned(),
            )),
        };
        first = first.and(ended);
    }
    first
}

fn write_log(
    order: &WriteOrder<'_>,
    test: TestId,
    log: &Arc<Log>,
    sender: &AckSender,
    stop: &Arc<StopFlags>,
) -> Result<(), PowerTestError> {
    let plan = SessionPlan {
        log: Arc::clone(log),
        test,
        payload_bytes: order.payload_bytes as usize,
        queue: Arc::clone(&sender.queue),
        stop: Arc::clone(stop),
        planted: order.planted,
    };
    let requests = sender.requests();
    let checkpoints_end = StopFlags::default();
    std::thread::scope(|scope| {
        let checkpoints = scope.spawn(|| {
            sessions::move_checkpoint(log, &requests, &checkpoints_end).inspect_err(|_| stop.ask())
        });
        let one = |number| {
            let plan = &plan;
            scope.spawn(move || sessions::run(plan, number).inspect_err(|_| plan.stop.ask()))
        };
        let threads = (0..order.jobs).map(one).collect();
        let outcome = first_error(threads);
        checkpoints_end.over.store(true, Ordering::Release);
        outcome.and(first_error(vec![checkpoints]))
    })
    // The log is not closed: its files stay as a cut would leave them.
}

fn write_raw(
    order: &WriteOrder<'_>,
    test: TestId,
    shapes: &[RawFileShape],
    folder: &TestFolder,
    sender: &AckSender,
    stop: &Arc<StopFlags>,
) -> Result<(), PowerTestError> {
    std::thread::scope(|scope| {
        let one = |(number, shape): (u32, &RawFileShape)| {
            let file = RawFile {
                shape: shape.clone(),
                number,
                test,
                method: order.sync_method,
                queue: Arc::clone(&sender.queue),
                requests: sender.requests(),
                stop: Arc::clone(stop),
                planted: order.planted,
            };
            scope.spawn(move || file.run(&folder.folder).inspect_err(|_| file.stop.ask()))
        };
        first_error((0..).zip(shapes).map(one).collect())
    })
}
