//! A question to the user: on standard error, answered on standard input, where both are a
//! terminal. Elsewhere nobody can answer, and the answer is yes: scripts go on as before.
//!
//! Invariant: a signal ends the question at once; no answer is no.

use crate::output::lines;
use crate::signals::Interrupt;
use measure::words::sanitize;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often it is looked whether a signal came instead of an answer.
const LOOK: Duration = Duration::from_millis(50);

/// Asks `question` and waits for the answer.
pub(super) fn ask(question: &str, interrupt: &Interrupt) -> bool {
    let (input, error) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() || !error.is_terminal() {
        return true;
    }
    let shown = format!("{} [y/N]", sanitize::line(question));
    let shown = lines::fitted(&shown, std::io::stderr());
    let printed = write!(error.lock(), "{shown} ").and_then(|()| error.lock().flush());
    if printed.is_err() {
        return false;
    }
    let (sender, answer) = mpsc::channel();
    let reader = std::thread::Builder::new().spawn(move || {
        let mut line = String::new();
        let read = input.read_line(&mut line);
        // Nobody waits any more after a signal.
        let _ = sender.send(read.is_ok() && is_yes(&line));
    });
    while reader.is_ok() && !interrupt.requested() {
        match answer.recv_timeout(LOOK) {
            Ok(agreed) => return agreed,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // The message of the end gets a line of its own.
    let _ = writeln!(error.lock());
    false
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        for (line, want) in [
            ("y\n", true),
            ("YES \n", true),
            ("\n", false),
            ("", false),
            ("n\n", false),
            ("yesterday\n", false),
        ] {
            assert_eq!(is_yes(line), want, "{line:?}");
        }
    }
}
