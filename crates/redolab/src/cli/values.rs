//! Typed values of options. Each option parses its own value, so that a wrong value is refused
//! with the list of accepted words, and `--help` and shell completions list these words.

use crate::experiment::ladder;
use crate::experiment::load::CommitApi;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use device::{IoEngine, SyncMethod};
use evidence::Kind;
use measure::Nanos;
use measure::stack::{Declaration, Protection};
use measure::units::{parse_bytes, parse_decimal_bytes, parse_duration, parse_rate};
use measure::workload::arrivals::Process;
use measure::workload::{CommitMode, CommitPost, CommitWait, Workload, sizes};
use redo::{LogFileSync, LogWriter};
use std::ffi::OsStr;

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

/// `inline`, `lgwr`, `workers=1` and so on, or `adaptive`.
pub(super) fn log_writer() -> Words<LogWriter> {
    let workers = (1..=redo::writer::MAX_DEPTH).map(|n| format!("workers={n}"));
    let first = ["inline", "lgwr"].map(str::to_owned).into_iter();
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
        words: Workload::names(),
        read: |text| {
            let unknown = || format!("no `{text}`; use {}", Workload::names().join(", "));
            Workload::by_name(text).ok_or_else(unknown)
        },
    }
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

/// A time over zero.
pub(super) fn time_over_zero(text: &str) -> Result<Nanos, String> {
    match parse_duration(text)? {
        Nanos::ZERO => Err("must be over 0".to_owned()),
        time => Ok(time),
    }
}

/// A soak's shortest and longest time.
const SOAK_MIN: Nanos = Nanos::from_secs(2);
const SOAK_MAX: Nanos = Nanos::from_secs(7 * 86_400);

/// The time of a soak.
pub(super) fn soak_time(text: &str) -> Result<Nanos, String> {
    let time = parse_duration(text)?;
    if !(SOAK_MIN..=SOAK_MAX).contains(&time) {
        return Err(format!(
            "soak {text}: use 2s to 168h; at least 45m are needed to see the steady state"
        ));
    }
    Ok(time)
}

/// A number of commits per second over zero.
pub(super) fn commit_rate(text: &str) -> Result<f64, String> {
    positive(parse_rate(text)?, "commits per second")
}

/// A number of years over zero.
pub(super) fn years(text: &str) -> Result<f64, String> {
    let years = text.trim().parse::<f64>();
    positive(
        years.map_err(|_| format!("`{text}` is not a number"))?,
        "years",
    )
}

fn positive(value: f64, what: &str) -> Result<f64, String> {
    let is_positive = value.is_finite() && value > 0.0;
    let refused = || format!("use a number of {what} over 0");
    is_positive.then_some(value).ok_or_else(refused)
}

/// Bytes per second, with or without `/s`, over zero.
pub(super) fn redo_rate(text: &str) -> Result<u64, String> {
    match parse_bytes(text.trim_end_matches("/s")) {
        Ok(0) => Err("must be over 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(e) => Err(format!("{e}, per second")),
    }
}

/// Bytes that a drive is rated to take in its life.
pub(super) fn rated_bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_decimal_bytes(text).map_err(|e| format!("{e}, such as 600T"))?;
    let fits = (1_000_000_000..=1_000_000_000_000_000_000).contains(&bytes);
    let refused = || "use the bytes that may be written to the drive, such as 600T".to_owned();
    fits.then_some(bytes).ok_or_else(refused)
}

/// What the user declares of the storage, as `WHAT` or `WHAT=BASIS`.
pub(super) fn declaration(text: &str) -> Result<Declaration, String> {
    let (what, basis) = text.split_once('=').unwrap_or((text, ""));
    let protection = match what.trim() {
        "plp" => Protection::Plp,
        "battery" => Protection::Battery,
        other => {
            return Err(format!(
                "no `{other}`; use plp or battery, such as --declare plp=\"data sheet\""
            ));
        }
    };
    Ok(Declaration {
        protection,
        basis: basis.trim().to_owned(),
    })
}

/// Numbers of jobs. How many there may be depends on how sessions commit.
#[derive(Clone, Debug)]
pub(super) struct Ladder(String);

impl Ladder {
    /// A ladder that any session can climb.
    pub(super) fn read(text: &str) -> Result<Ladder, String> {
        let jobs = ladder::parse(text, ladder::MAX_ASYNC_JOBS);
        jobs.map(|_| Ladder(text.to_owned()))
    }

    /// The numbers of jobs, none over `most`.
    pub(super) fn jobs(&self, most: u32) -> Result<Vec<u32>, String> {
        ladder::parse(&self.0, most)
    }
}

/// Sizes of transactions, in the order in which they are run.
#[derive(Clone, Debug)]
pub(super) struct SweepSizes(pub(super) Vec<u32>);

impl SweepSizes {
    /// Sizes as `4k,1M` or `1k..16M` or `512k..2M+64k`.
    pub(super) fn read(text: &str) -> Result<SweepSizes, String> {
        sizes::parse(text).map(SweepSizes)
    }
}

/// CPUs in ascending order, each once.
#[derive(Clone, Debug)]
pub(super) struct CpuList(pub(super) Vec<usize>);

impl CpuList {
    /// CPUs named as `0,2-3`.
    pub(super) fn read(text: &str) -> Result<CpuList, String> {
        let number = |part: &str| {
            let cpu = part.trim().parse::<usize>().ok();
            cpu.filter(|cpu| *cpu <= MAX_CPU).ok_or_else(|| {
                format!("`{part}` in `{text}` is not a CPU; use a list such as 0,2-3")
            })
        };
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!(
                    "`{part}` in `{text}` is empty; the lower CPU comes first"
                ));
            }
            cpus.extend(first..=last);
        }
        cpus.sort_unstable();
        cpus.dedup();
        Ok(CpuList(cpus))
    }
}

/// Far beyond any machine.
const MAX_CPU: usize = 1 << 16;

/// The two block sizes that there are need no unit.
pub(super) fn block_bytes(text: &str) -> Result<u32, String> {
    match text.trim() {
        "512" => return Ok(512),
        "4096" => return Ok(4096),
        _ => {}
    }
    let bytes = parse_bytes(text).map_err(|e| format!("{e}: use 512 or 4096"))?;
    match bytes {
        512 | 4096 => Ok(bytes as u32),
        _ => Err(format!("block size {text}: use 512 or 4096")),
    }
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
        assert_eq!(accepted(&log_writer()), 3 + redo::writer::MAX_DEPTH);
        assert_eq!(accepted(&log_file_sync()), 3);
        assert_eq!(accepted(&io()), 3);
        assert_eq!(accepted(&commit_api()), 2);
        assert_eq!(accepted(&commit_write()), 4);
        assert_eq!(accepted(&workload()), 6);
        assert_eq!(accepted(&arrivals()), 2);
        assert_eq!(accepted(&ela_unit()), 2);
        assert!(accepted(&kind()) > 8);
    }
}
