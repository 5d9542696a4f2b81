//! A process behind a guard, as the one that asked for it sees it.

use super::ManagedError;
use super::guard::{COMMAND, END, ENDED, KILL, REFUSED, STARTED};
use super::order::ServerOrder;
use measure::words::sanitize;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a guard may take to start a program.
const START_MAX: Duration = Duration::from_secs(20);
/// Characters of a program's output that a message quotes, the last ones.
const QUOTED_MAX: usize = 600;
/// Bytes of it that are read for that.
const QUOTED_BYTES: u64 = 8 << 10;
/// How a program ends that ended as it should.
const WELL: &str = "well";

/// The program of the process that opens it.
const OWN: &str = "/proc/self/exe";

/// The program that is a guard when its first argument is [`COMMAND`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardProgram(PathBuf);

impl GuardProgram {
    /// The program of this process, also where its file was replaced since.
    #[must_use]
    pub fn own() -> GuardProgram {
        GuardProgram(PathBuf::from(OWN))
    }

    /// The program at `path`, which calls [`super::guard::main`].
    #[must_use]
    pub fn at(path: &Path) -> GuardProgram {
        GuardProgram(path.to_owned())
    }
}

/// A program that runs behind a guard. Dropping it ends the program at once.
#[derive(Debug)]
pub struct GuardedProcess {
    order: ServerOrder,
    guard: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<String>,
    pid: u32,
    ended: Option<String>,
    output: File,
}

impl GuardedProcess {
    /// Has `guard` start what `order` names, which prints to `output`.
    ///
    /// # Errors
    /// The guard or the program could not be started.
    pub fn start(
        guard: &GuardProgram,
        order: ServerOrder,
        output: &File,
    ) -> Result<GuardedProcess, ManagedError> {
        let cloned = || ManagedError::system("the output of a server");
        let printed = output.try_clone().map_err(cloned())?;
        let spawned = Command::new(&guard.0)
            .arg(COMMAND)
            .args(order.to_arguments())
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(printed)
            // Ctrl-C at the terminal is for redolab, which then ends the server in order.
            .process_group(0)
            .spawn();
        let mut child = spawned.map_err(|source| ManagedError::Start {
            program: guard.0.clone(),
            source,
        })?;
        let (sender, answers) = mpsc::channel();
        if let Some(out) = child.stdout.take() {
            let read = move || {
                let lines = BufReader::new(out).lines().map_while(Result::ok);
                // The receiver may be gone.
                lines
                    .map(|line| sender.send(line))
                    .take_while(Result::is_ok)
                    .count()
            };
            let thread = thread::Builder::new().name("guard".to_owned());
            let _ = thread
                .spawn(read)
                .map_err(ManagedError::system("starting a thread"))?;
        }
        let requests = child.stdin.take();
        let mut process = GuardedProcess {
            order,
            guard: child,
            requests,
            answers,
            pid: 0,
            ended: None,
            output: output.try_clone().map_err(cloned())?,
        };
        process.pid = process.await_start()?;
        Ok(process)
    }

    fn await_start(&mut self) -> Result<u32, ManagedError> {
        let refused = |why: String| ManagedError::Start {
            program: self.order.program.clone(),
            source: std::io::Error::other(why),
        };
        let line = self.answers.recv_timeout(START_MAX);
        let line = line.map_err(|_| refused("its guard does not answer".to_owned()))?;
        if let Some(why) = line.strip_prefix(REFUSED) {
            return Err(refused(sanitize::line(why)));
        }
        let pid = line.strip_prefix(STARTED).and_then(|pid| pid.parse().ok());
        pid.ok_or_else(|| refused("its guard answers in another language".to_owned()))
    }

    /// Process id of the program, as long as it has not ended.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How the program ended, once it has.
    pub fn ended(&mut self) -> Option<&str> {
        self.await_end(Duration::ZERO)
    }

    /// How the program ended, if it does so within `patience`.
    pub fn await_end(&mut self, patience: Duration) -> Option<&str> {
        let until = Instant::now() + patience;
        while self.ended.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            match self.answers.recv_timeout(left) {
                Ok(line) => self.ended = line.strip_prefix(ENDED).map(sanitize::line),
                Err(RecvTimeoutError::Timeout) => break,
                // Without its guard the kernel has ended it.
                Err(RecvTimeoutError::Disconnected) => {
                    self.ended = Some("without its guard".to_owned());
                }
            }
        }
        self.ended.as_deref()
    }

    /// Waits for the end of a program that is to do its work and end well.
    ///
    /// # Errors
    /// It failed, or took longer than `patience`; the message contains the end of its output.
    pub fn run(mut self, patience: Duration) -> Result<(), ManagedError> {
        match self.await_end(patience) {
            Some(WELL) => Ok(()),
            Some(how) => {
                let how = format!("ended {how}");
                Err(self.failure(how))
            }
            None => Err(self.failure(format!("took longer than {} s", patience.as_secs()))),
        }
    }

    /// Asks the program to end in order, and ends it at once if it has not within `patience`.
    pub fn end(&mut self, patience: Duration) {
        self.ask(END);
        if self.await_end(patience).is_none() {
            self.kill();
        }
    }

    /// Ends the program at once.
    pub fn kill(&mut self) {
        self.ask(KILL);
        // The end of its input asks for the same again, and the guard itself insists.
        self.requests = None;
        let _ = self.await_end(self.order.patience + START_MAX);
        let _ = self.guard.wait();
    }

    /// A failure of the program, with the end of its output.
    pub fn failure(&self, how: String) -> ManagedError {
        let length = self.output.metadata().map_or(0, |found| found.len());
        let mut bytes = vec![0; length.min(QUOTED_BYTES) as usize];
        let from = length.saturating_sub(QUOTED_BYTES);
        let read = self.output.read_at(&mut bytes, from).unwrap_or(0);
        bytes.truncate(read);
        let text = sanitize::line(String::from_utf8_lossy(&bytes).trim());
        let skipped = text.chars().count().saturating_sub(QUOTED_MAX);
        ManagedError::Ended {
            program: self.order.program.clone(),
            how,
            output: text.chars().skip(skipped).collect(),
        }
    }

    fn ask(&mut self, request: &str) {
        // A guard that is gone has nothing to end.
        if let Some(requests) = &mut self.requests {
            let _ = writeln!(requests, "{request}");
        }
    }
}

impl Drop for GuardedProcess {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.kill();
        }
        self.requests = None;
        let _ = self.guard.wait();
    }
}
