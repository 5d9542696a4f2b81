//! Typed values of options. Each option parses its own value, so that a wrong value is refused
//! with the list of accepted words, and `--help` and shell completions list these words. Quantities
//! are in `experiment::quantities`.

use crate::experiment::load::CommitApi;
pub(super) use crate::experiment::quantities::*;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use device::{IoEngine, StripeWidth, SyncMethod};
use evidence::Kind;
use measure::workload::arrivals::Process;
use measure::workload::{CommitMode, CommitPost, CommitWait, TPROC_C, Workload};
use redo::{LogFileSync, LogWriter};
use std::ffi::OsStr;
use std::path::PathBuf;

/// A parser of one of a few words, which `--help` and completions list.
#[derive(Clone)]
pub(super) struct Words<T> {
    words: Vec<String>,
    read: fn(&str) -> Result<T, String>,
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Words<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let read = self.read;
        let words = StringValueParser::new().try_map(move |text: String| read(&text));
        words.parse_ref(command, option, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.words.iter().map(PossibleValue::new)))
    }
}

fn words<T>(words: &[&str], read: fn(&str) -> Result<T, String>) -> Words<T> {
    Words {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        read,
    }
}

/// A sync method, or `auto` for the fastest that is durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct SyncChoice(pub(super) Option<SyncMethod>);

/// One value of each option that takes several.
#[derive(Clone, Debug)]
pub(super) struct LogChoice {
    pub(super) writer: LogWriter,
    pub(super) io: IoEngine,
    pub(super) method: SyncChoice,
    pub(super) sync: Option<LogFileSync>,
}

/// `auto`, `buffered`, `dsync`, `direct` or `direct-dsync`.
pub(super) fn sync_method() -> Words<SyncChoice> {
    let [a, b, c, d] = SyncMethod::ALL.map(SyncMethod::name);
    words(&["auto", a, b, c, d], |text| match text {
        "auto" => Ok(SyncChoice(None)),
        name => match name.parse() {
            Ok(method) => Ok(SyncChoice(Some(method))),
            Err(unknown) => Err(format!("{unknown}, or auto")),
        },
    })
}

/// A stripe as `fine:PATH1,PATH2` or `coarse:PATH1,PATH2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StripeChoice {
    pub(crate) width: StripeWidth,
    pub(crate) directories: Vec<PathBuf>,
}

impl std::str::FromStr for StripeChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<StripeChoice, String> {
        let (width, paths) = text.split_once(':').ok_or(
            "name the width and the directories, such as fine:/u01,/u02 or coarse:/u01,/u02",
        )?;
        let width = width.parse()?;
        let directories = directories(paths)?;
        let most = device::stripe::MAX_STRIPE_DEVICES;
        match directories.len() {
            2.. if directories.len() <= most => Ok(StripeChoice { width, directories }),
            count => Err(format!("{count} directories; name from 2 to {most}")),
        }
    }
}

/// Logs at most that are measured together.
const MAX_NODES: u32 = 16;

/// Logs that are measured together: a number, or the directory of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodesChoice {
    pub(crate) count: u32,
    /// Empty where all lie below the target.
    pub(crate) directories: Vec<PathBuf>,
}

impl Default for NodesChoice {
    fn default() -> NodesChoice {
        NodesChoice {
            count: 1,
            directories: Vec::new(),
        }
    }
}

impl std::str::FromStr for NodesChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<NodesChoice, String> {
        let allowed = |count: u32| (1..=MAX_NODES).contains(&count);
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if is_number {
            let count = text.parse().ok().filter(|count| allowed(*count));
            return match count {
                Some(count) => Ok(NodesChoice {
                    count,
                    directories: Vec::new(),
                }),
                None => Err(format!("{text} logs; use from 1 to {MAX_NODES}")),
            };
        }
        let directories = directories(text)?;
        let count = u32::try_from(directories.len()).unwrap_or(u32::MAX);
        match count >= 2 && allowed(count) {
            true => Ok(NodesChoice { count, directories }),
            false => Err(format!(
                "use a number from 1 to {MAX_NODES}, or the directory of each log, such as /u01,/u02"
            )),
        }
    }
}

/// Directories that are separated by commas.
pub(super) fn directories(text: &str) -> Result<Vec<PathBuf>, String> {
    let named: Vec<PathBuf> = text.split(',').map(PathBuf::from).collect();
    match named.iter().any(|path| path.as_os_str().is_empty()) {
        true => Err("a directory without a name; separate directories by one comma".to_owned()),
        false => Ok(named),
    }
}

/// `auto`, `inline`, `lgwr`, `workers=1` and so on, or `adaptive`.
pub(super) fn log_writer() -> Words<LogWriter> {
    let workers = (1..=redo::writer::MAX_DEPTH).map(|n| format!("workers={n}"));
    let first = ["auto", "inline", "lgwr"].map(str::to_owned).into_iter();
    Words {
        words: first
            .chain(workers)
            .chain(["adaptive".to_owned()])
            .collect(),
        read: |text| text.parse(),
    }
}

/// `post-wait`, `polling` or `adaptive`.
pub(super) fn log_file_sync() -> Words<LogFileSync> {
    use LogFileSync::{Adaptive, Polling, PostWait};
    let names = [PostWait, Polling, Adaptive].map(LogFileSync::name);
    words(&names, |text| text.parse())
}

/// `threads`, `io_uring` or `auto`.
pub(super) fn io() -> Words<IoEngine> {
    let names = [IoEngine::Threads, IoEngine::IoUring, IoEngine::Auto].map(IoEngine::name);
    words(&names, |text| text.parse())
}

/// `sync` or `async`; another option sets the number of threads of async.
pub(super) fn commit_api() -> Words<CommitApi> {
    words(&["sync", "async"], |text| match text {
        "sync" => Ok(CommitApi::Sync),
        "async" => Ok(CommitApi::Async {
            threads: crate::experiment::load::DEFAULT_THREADS,
        }),
        other => Err(format!("no `{other}`; use sync or async")),
    })
}

/// `wait-immediate` and its three siblings.
pub(super) fn commit_write() -> Words<CommitMode> {
    const MODES: [&str; 4] = [
        "wait-immediate",
        "wait-batch",
        "nowait-immediate",
        "nowait-batch",
    ];
    words(&MODES, |text| {
        let (wait, post) = match text.to_ascii_lowercase().as_str() {
            "wait-immediate" => (CommitWait::Wait, CommitPost::Immediate),
            "wait-batch" => (CommitWait::Wait, CommitPost::Batch),
            "nowait-immediate" => (CommitWait::Nowait, CommitPost::Immediate),
            "nowait-batch" => (CommitWait::Nowait, CommitPost::Batch),
            other => {
                return Err(format!(
                    "no `{other}`; use wait-immediate, wait-batch, nowait-immediate or nowait-batch"
                ));
            }
        };
        Ok(CommitMode { wait, post })
    })
}

/// A workload by its name.
pub(super) fn workload() -> Words<Workload> {
    Words {
        words: workloads(),
        read: |text| match text.eq_ignore_ascii_case(TPROC_C) {
            true => Ok(Workload::tproc_c(false)),
            false => Workload::by_name(text)
                .ok_or_else(|| format!("no `{text}`; use {}", workloads().join(", "))),
        },
    }
}

/// The names of workloads; TPROC-C is one for databases only.
fn workloads() -> Vec<String> {
    let mut names = Workload::names();
    names.push(TPROC_C.to_ascii_lowercase());
    names
}

/// `constant` or `poisson`.
pub(super) fn arrivals() -> Words<Process> {
    words(&["constant", "poisson"], |text| text.parse())
}

/// A kind of evidence.
pub(super) fn kind() -> Words<Kind> {
    Words {
        words: evidence::kind::names()
            .split(", ")
            .map(str::to_owned)
            .collect(),
        read: |text| text.parse().map_err(|e: evidence::KindError| e.to_string()),
    }
}

/// Nanoseconds in a unit of `ela`: `us` or `cs`.
pub(super) fn ela_unit() -> Words<u64> {
    words(&["us", "cs"], |text| match text {
        "us" => Ok(1_000),
        "cs" => Ok(10_000_000),
        _ => Err(format!("no `{text}`; use us or cs")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever help and completions list is accepted.
    fn accepted<T: Clone + Send + Sync + 'static>(parser: &Words<T>) -> usize {
        let command = Command::new("redolab");
        for word in &parser.words {
            let read = parser.parse_ref(&command, None, OsStr::new(word));
            assert!(read.is_ok(), "{word} is listed and refused");
        }
        let other = parser.parse_ref(&command, None, OsStr::new("no-such-word"));
        assert!(other.is_err());
        parser.words.len()
    }

    #[test]
    fn every_word_that_is_listed_is_accepted() {
        assert_eq!(accepted(&sync_method()), 5);
        assert_eq!(accepted(&log_writer()), 4 + redo::writer::MAX_DEPTH);
        assert_eq!(accepted(&log_file_sync()), 3);
        assert_eq!(accepted(&io()), 3);
        assert_eq!(accepted(&commit_api()), 2);
        assert_eq!(accepted(&commit_write()), 4);
        assert_eq!(accepted(&workload()), 7);
        assert_eq!(accepted(&arrivals()), 2);
        assert_eq!(accepted(&ela_unit()), 2);
        assert!(accepted(&kind()) > 8);
    }
}
