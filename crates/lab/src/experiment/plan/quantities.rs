//! Quantities and lists as a user writes them: times, rates, sizes, CPUs, numbers of jobs.
//!
//! Each parser refuses a wrong value with what is accepted.

use super::ladder;
use measure::Nanos;
use measure::stack::{Declaration, Protection};
use measure::units::{parse_bytes, parse_decimal_bytes, parse_duration, parse_rate};
use measure::workload::sizes;

/// A time over zero.
pub fn time_over_zero(text: &str) -> Result<Nanos, String> {
    match parse_duration(text)? {
        Nanos::ZERO => Err("must be over 0".to_owned()),
        time => Ok(time),
    }
}

/// A soak's shortest and longest time.
const SOAK_MIN: Nanos = Nanos::from_secs(2);
const SOAK_MAX: Nanos = Nanos::from_secs(7 * 86_400);

/// The time of a soak.
pub fn soak_time(text: &str) -> Result<Nanos, String> {
    let time = parse_duration(text)?;
    if !(SOAK_MIN..=SOAK_MAX).contains(&time) {
        return Err(format!(
            "soak {text}: use 2s to 168h; at least 45m are needed to see the steady state"
        ));
    }
    Ok(time)
}

/// A number of commits per second over zero.
pub fn commit_rate(text: &str) -> Result<f64, String> {
    positive(parse_rate(text)?, "commits per second")
}

/// A number of years over zero.
pub fn years(text: &str) -> Result<f64, String> {
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
pub fn redo_rate(text: &str) -> Result<u64, String> {
    match parse_bytes(text.trim_end_matches("/s")) {
        Ok(0) => Err("must be over 0".to_owned()),
        Ok(bytes) => Ok(bytes),
        Err(e) => Err(format!("{e}, per second")),
    }
}

/// Bytes that a drive is rated to take in its life.
pub fn rated_bytes(text: &str) -> Result<u64, String> {
    let bytes = parse_decimal_bytes(text).map_err(|e| format!("{e}, such as 600T"))?;
    let fits = (1_000_000_000..=1_000_000_000_000_000_000).contains(&bytes);
    let refused = || "use the bytes that may be written to the drive, such as 600T".to_owned();
    fits.then_some(bytes).ok_or_else(refused)
}

/// What the user declares of the storage, as `WHAT` or `WHAT=BASIS`.
pub fn declaration(text: &str) -> Result<Declaration, String> {
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
pub struct Ladder(String);

impl Ladder {
    /// A ladder that any session can climb.
    pub fn read(text: &str) -> Result<Ladder, String> {
        let jobs = ladder::parse(text, ladder::MAX_ASYNC_JOBS);
        jobs.map(|_| Ladder(text.to_owned()))
    }

    /// The numbers of jobs, none over `most`.
    pub fn jobs(&self, most: u32) -> Result<Vec<u32>, String> {
        ladder::parse(&self.0, most)
    }
}

/// Sizes of transactions, in the order in which they are run.
#[derive(Clone, Debug)]
pub struct SweepSizes(pub Vec<u32>);

impl SweepSizes {
    /// Sizes as `4k,1M` or `1k..16M` or `512k..2M+64k`.
    pub fn read(text: &str) -> Result<SweepSizes, String> {
        sizes::parse(text).map(SweepSizes)
    }
}

/// CPUs in ascending order, each once.
#[derive(Clone, Debug)]
pub struct CpuList(pub Vec<usize>);

impl CpuList {
    /// CPUs named as `0,2-3`.
    pub fn read(text: &str) -> Result<CpuList, String> {
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
pub fn block_bytes(text: &str) -> Result<u32, String> {
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
