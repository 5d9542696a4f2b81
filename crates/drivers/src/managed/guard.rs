//! The guard: starts a server, and ends it when asked to, or when the process that asked for it is
//! gone.
//!
//! Its words, one a line. It prints `started PID`, or `refused WHY`; later `ended HOW`. It reads
//! `end` (in order) and `kill` (at once); the end of its input means `kill`.

use super::order::ServerOrder;
use super::spawn::spawn;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::io::{self, BufRead, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of redolab's program when it is to be a guard.
pub const COMMAND: &str = "server-guard";
/// How often the end of the server is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// The answers: a server was started, could not be, has ended.
pub(super) const STARTED: &str = "started ";
/// See [`STARTED`].
pub(super) const REFUSED: &str = "refused ";
/// See [`STARTED`].
pub(super) const ENDED: &str = "ended ";
/// The requests: an orderly end, an end at once.
pub(super) const END: &str = "end";
/// See [`END`].
pub(super) const KILL: &str = "kill";

/// What a guard is asked for.
enum Request {
    End,
    Kill,
}

/// Guards the server that `arguments` order, until it has ended. The exit code of the process.
#[must_use]
pub fn main(arguments: &[OsString]) -> u8 {
    let Some(order) = ServerOrder::of_arguments(arguments) else {
        answer(&format!("{REFUSED}an order that is none"));
        return 2;
    };
    // By this thread, which lives as long as the guard does.
    let mut child = match spawn(&order) {
        Ok(child) => child,
        Err(error) => {
            answer(&format!("{REFUSED}{error}"));
            return 1;
        }
    };
    answer(&format!("{STARTED}{}", child.id()));
    let requests = listen();
    let status = watch(&mut child, &order, &requests);
    answer(&format!("{ENDED}{}", in_words(status)));
    0
}

/// The other side may be gone, and then nobody needs the answer.
fn answer(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Requests as they come; the channel closes after the end of the input.
fn listen() -> Receiver<Request> {
    let (sender, receiver) = mpsc::channel();
    // It reads until the process ends. Without it the channel is closed, and the server ends.
    let _ = thread::Builder::new()
        .name("requests".to_owned())
        .spawn(move || {
            for line in io::stdin().lock().lines() {
                let request = match line.as_deref() {
                    Ok(END) => Request::End,
                    Ok(KILL) => Request::Kill,
                    Ok(_) => continue,
                    Err(_) => break,
                };
                if sender.send(request).is_err() {
                    break;
                }
            }
        });
    receiver
}

/// Waits for the end of the server, and carries out requests.
fn watch(child: &mut Child, order: &ServerOrder, requests: &Receiver<Request>) -> ExitStatus {
    let mut killed_at: Option<Instant> = None;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return status;
        }
        if killed_at.is_some_and(|at| at.elapsed() > order.patience) {
            let _ = child.kill();
        }
        let request = match requests.recv_timeout(LOOK) {
            Ok(request) => Some(request),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                thread::sleep(LOOK);
                killed_at.is_none().then_some(Request::Kill)
            }
        };
        match request {
            Some(Request::End) => signal(child, order.end_signal),
            Some(Request::Kill) => {
                signal(child, order.kill_signal);
                killed_at.get_or_insert_with(Instant::now);
            }
            None => {}
        }
    }
}

/// Sends a signal to the server, which was not waited for yet, so that its number is its own.
fn signal(child: &Child, number: i32) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    if let (Some(pid), Some(signal)) = (pid, Signal::from_named_raw(number)) {
        let _ = kill_process(pid, signal);
    }
}

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(0), _) => "well".to_owned(),
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "in an unknown way".to_owned(),
    }
}
