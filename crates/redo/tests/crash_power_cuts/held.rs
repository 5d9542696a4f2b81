//! A process that has a log on a shelf and does one thing after the other as its parent says, and
//! what must be there when the power is cut.
//!
//! Invariants: the process writes a line to its standard error for each thing that happened, and
//! nothing else; it never closes its log, so it always ends as one that was killed.

use crate::common::{SMALL, Scratch, options, record, whose};
use crate::here;
use crate::shelf::{Fate, Shelf};
use crate::volume::TEST;
use device::raw::{HeldRawDevice, RawDevice, is_block_device};
use device::{IoEngine, SyncMethod};
use redo::engine::Paths;
use redo::planted::{Bug, Planted};
use redo::recovery::Recovery;
use redo::{CommitMode, Error, Log, LogWriter, Options};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

const PLACE: &str = "REDO_HELD_PLACE";
const WAY: &str = "REDO_HELD_WAY";
/// Longer than anything takes, on a machine under load.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How a process writes its log.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub method: SyncMethod,
    pub io: IoEngine,
    pub writer: LogWriter,
    pub planted: Option<Bug>,
}

/// Bugs that are planted by name.
const BUGS: [Bug; 5] = [
    Bug::SkipTailFlushFence,
    Bug::SkipControlFlushFence,
    Bug::FlushCountsInFlight,
    Bug::LockLeavesRing,
    Bug::HandledAfterSeal,
];

/// A shelf with the files of a new log; the control file comes first.
pub fn new_log(name: &str, direct: bool) -> Result<Shelf, String> {
    let scratch = Scratch::with_log();
    let paths = Paths::new(&scratch.0);
    let mut files = vec![paths.control()];
    files.extend(paths.logs(SMALL.groups));
    Shelf::make(name, &files, direct)
}

/// A process at work.
pub struct Life {
    child: Child,
    lines: Receiver<String>,
    /// Lines that were passed over.
    said: Vec<String>,
}

impl Drop for Life {
    fn drop(&mut self) {
        // It may have ended. It is not waited for: a held request may keep it in the system.
        drop(self.child.kill());
    }
}

impl Life {
    /// Starts it; it opens the log.
    pub fn start(place: &Path, way: Way) -> Life {
        let words = [
            way.method.name().to_owned(),
            way.io.name().to_owned(),
            way.writer.to_string(),
            format!("{:?}", way.planted),
        ];
        let mut child = Command::new(std::env::current_exe().expect("a test has a path"))
            .args([TEST, "--exact", "--nocapture"])
            .env(PLACE, place)
            .env(WAY, words.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the test starts itself");
        let (tell, lines) = std::sync::mpsc::channel();
        let pipe = child.stderr.take().expect("piped");
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                // Nobody listens where the test is over.
                let _ = tell.send(line);
            }
        });
        Life {
            child,
            lines,
            said: Vec::new(),
        }
    }

    /// Waits for a line; the error says what came instead.
    pub fn says(&mut self, wanted: &str, patience: Duration) -> Result<(), String> {
        if let Some(at) = self.said.iter().position(|line| line == wanted) {
            self.said.remove(at);
            return Ok(());
        }
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) if line == wanted => return Ok(()),
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(format!("{wanted:?} did not come, but {:?}", self.said));
                }
            }
        }
    }

    /// Records that it has said it found.
    pub fn found(&self) -> Vec<u32> {
        let number = |line: &String| line.strip_prefix("found ")?.parse().ok();
        self.said.iter().filter_map(number).collect()
    }

    /// Has it commit a record; what comes of it is another line.
    pub fn commit(&mut self, which: u32) {
        let input = self.child.stdin.as_mut().expect("piped");
        writeln!(input, "{which}").expect("it listens");
    }

    /// Has it commit a record, and waits until that is acknowledged.
    pub fn commits(&mut self, which: u32) -> Result<(), String> {
        self.commit(which);
        self.says(&format!("acked {which}"), PATIENCE)
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("it is ours");
    }

    /// Whether it has left the system altogether, waited for so long.
    pub fn is_gone(&mut self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }
}

/// Whether this process is one.
pub fn is_life() -> bool {
    std::env::var_os(PLACE).is_some()
}

fn say(line: &str) {
    // One write, so that lines of several threads do not mix. Nobody may listen.
    drop(std::io::stderr().write_all(format!("{line}\n").as_bytes()));
}

/// Opens the log, says what it found, and commits the records that it is given.
pub fn live() -> ! {
    let place = PathBuf::from(std::env::var_os(PLACE).expect("it is one"));
    let opened = match is_block_device(&place) {
        true => held_device(&place).and_then(|device| crate::common::open_with(device, asked())),
        false => crate::common::open_with(&place, asked()),
    };
    let (log, recovery) = opened.unwrap_or_else(|error| {
        say(&format!("refused {error}"));
        std::process::exit(1);
    });
    recovery
        .recover(|_, bytes| {
            say(&format!("found {}", whose(bytes).1));
            Ok::<(), redo::Error>(())
        })
        .expect("what was recovered is readable");
    for note in &log.back_end().fallbacks {
        say(&format!("without {note}"));
    }
    say("open");
    std::thread::scope(|scope| {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let which: u32 = line.parse().expect("a number");
            let mut session = log.session();
            scope.spawn(move || {
                let done = session
                    .append(&[&record(0, which)])
                    .and_then(|_| session.commit(CommitMode::WAIT_IMMEDIATE));
                match done {
                    Ok(_) => say(&format!("acked {which}")),
                    Err(error) => say(&format!("failed {which} {error}")),
                }
            });
        }
        // The parent is gone.
        std::process::exit(0);
    })
}

fn held_device(place: &Path) -> Result<HeldRawDevice, Error> {
    Ok(RawDevice::at(place)?.hold()?)
}

/// Whether files can be served here at all. What fails later is a failure.
pub fn files_are_served() -> bool {
    here("requests held", new_log("look", true)).is_some()
}

/// The options that the parent asked for.
fn asked() -> Options {
    let words = std::env::var(WAY).expect("the parent says how");
    let words: Vec<&str> = words.splitn(4, ' ').collect();
    let planted = BUGS
        .into_iter()
        .find(|bug| words[3] == format!("{:?}", Some(bug)));
    let mut options = options()
        .sync_method(words[0].parse().expect("a sync method"))
        .io(words[1].parse().expect("an engine"))
        .log_writer(words[2].parse().expect("a log writer"))
        .planted(planted.map_or(Planted::none(), Planted::with));
    options.policy.gather = false;
    options.policy.depth = 4;
    options
}

/// Recovers from what a power cut now leaves: the records that are there.
pub fn after_power_cut(shelf: &Shelf, fate: Fate, state: &mut u64) -> Result<Vec<u32>, String> {
    let scratch = Scratch::new();
    let written = shelf.after_power_cut(&scratch.0, fate, state);
    written.map_err(|e| e.to_string())?;
    records(&scratch.0)
}

/// Recovers from what the files hold, nothing lost: the records that are there.
pub fn as_it_is(shelf: &Shelf) -> Result<Vec<u32>, String> {
    let scratch = Scratch::new();
    shelf.copy(&scratch.0).map_err(|e| e.to_string())?;
    records(&scratch.0)
}

fn records(directory: &Path) -> Result<Vec<u32>, String> {
    read_all(crate::common::open_with(directory, options()))
}

/// The records of a log that was opened.
pub fn read_all(opened: Result<(Log, Recovery), Error>) -> Result<Vec<u32>, String> {
    let (_log, recovery) = opened.map_err(|e| e.to_string())?;
    let mut found = Vec::new();
    let read = recovery.recover(|_, bytes| {
        found.push(whose(bytes).1);
        Ok::<(), redo::Error>(())
    });
    read.map_err(|e| e.to_string())?;
    Ok(found)
}
