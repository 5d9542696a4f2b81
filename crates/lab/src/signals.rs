//! Ctrl-C and its kin.
//!
//! The first signal asks for an orderly end: a flag that the runner looks at. The second one
//! cleans up and ends the process at once with 130. SIGHUP counts too (a lost ssh session), unless
//! the process was started to ignore it (`nohup`), and so does SIGXCPU (a limit of processor time).
//! SIGXFSZ (a limit of file size) only makes the write fail, as any other error of the system does.
//!
//! Invariants: nothing happens inside a signal handler but a write to a pipe; a thread does the
//! rest. SIGABRT alone is different: see `last_resort`.
//! A clean-up that hangs (a dead disk) does not keep the process alive for ever.

use crate::{cleanup, last_resort, standard_error};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Exit code of an interrupted command.
pub const INTERRUPTED: i32 = 130;
/// How long the last clean-up may take.
const CLEANUP_PATIENCE: Duration = Duration::from_secs(10);

/// Whether the user asked to stop. Cheap to clone and to ask.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    flag: Arc<AtomicBool>,
}

impl Interrupt {
    /// A signal has come, or [`Interrupt::request`] was called.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Asks to stop, as a signal would.
    pub fn request(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for code that takes one.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }
}

/// Takes over SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGXFSZ and SIGABRT. Call it once, at the start.
///
/// # Errors
/// When the system refuses the handlers or the thread.
pub fn install() -> io::Result<Interrupt> {
    let mut wanted = vec![SIGINT, SIGTERM, SIGXCPU];
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !ignores(&status, SIGHUP) {
        wanted.push(SIGHUP);
    }
    // With any handler the write returns EFBIG; nobody needs the flag.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    last_resort::install()?;
    let mut signals = Signals::new(wanted)?;
    let interrupt = Interrupt::default();
    let flag = interrupt.clone();
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                // The kernel repeats SIGXCPU each second: nobody insists.
                if flag.requested() && signal != SIGXCPU {
                    end_at_once();
                }
                flag.request();
            }
        })?;
    Ok(interrupt)
}

/// Whether the process ignores `signal`, from /proc/self/status.
fn ignores(status: &str, signal: i32) -> bool {
    status
        .lines()
        .find_map(|l| l.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn end_at_once() -> ! {
    let (done, finished) = mpsc::channel();
    let cleaning = std::thread::Builder::new().spawn(move || {
        for left in cleanup::run_all() {
            standard_error::complain(&left);
        }
        // The receiver is gone only when the patience is: then nobody needs to know.
        let _ = done.send(());
    });
    if cleaning.is_ok() && finished.recv_timeout(CLEANUP_PATIENCE).is_err() {
        let slow = "files of its own stay behind: removing them takes too long";
        standard_error::complain(slow);
    }
    std::process::exit(INTERRUPTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ignored_hangup_stays_ignored() {
        for (mask, want) in [
            ("0000000000000000", false),
            ("0000000000000001", true),
            ("0000000000001000", false),
            ("ffffffffffffffff", true),
            ("zz", false),
        ] {
            let status = format!("Name:\tx\nSigIgn:\t{mask}\nSigCgt:\t1\n");
            assert_eq!(ignores(&status, SIGHUP), want, "{mask}");
        }
        assert!(!ignores("", SIGHUP));
    }
}
