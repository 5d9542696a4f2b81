//! Options that shape the load of `run` and `check`: open loops, soaks, what redo is made of.

use super::CommandError;
use super::values;
use clap::Args;
use measure::Nanos;
use measure::units::parse_rate;
use measure::workload::Payload;
use measure::workload::arrivals::{Arrivals, Burst, Process};
use measure::workload::payload::parse_ratio;

/// Sessions that serve an open loop when no jobs are named, and sessions of a soak.
pub(crate) const OPEN_JOBS: u32 = 32;
/// See [`OPEN_JOBS`].
pub(crate) const SOAK_JOBS: u32 = 8;
/// An open loop with fewer arrivals says nothing.
const ARRIVALS_MIN: f64 = 10.0;

/// The load's options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArgs {
    /// Measure for a long time, such as 45m, to detect steady state, decay, caps and burst credits
    ///
    /// run and compare take it instead of --time. check adds it to its rows: LGWR-LAT1 with 8 jobs,
    /// or an open loop with --rate. Then check runs short rows with 8 and 32 jobs (a twentieth of
    /// this time each, from 2s to 1m), which show whether a cap counts requests or bytes. Only
    /// --max-write limits how much is written. At most 1200 intervals are kept.
    #[arg(long, value_name = "TIME", value_parser = values::soak_time)]
    pub(crate) soak: Option<Nanos>,
    /// Open loop: start this many commits per second (5000 or 5k), even if earlier ones have not
    /// finished. Each latency counts from the time when its commit was due; --jobs is the number of
    /// sessions
    #[arg(long, value_name = "N", value_parser = parse_rate)]
    pub(crate) rate: Option<f64>,
    /// When the commits of --rate are due: constant (at equal distances) or poisson (at random)
    /// [default: constant]
    #[arg(long, value_name = "PROCESS", requires = "rate", value_parser = values::arrivals())]
    arrivals: Option<Process>,
    /// Bursts in addition to --rate, such as 500@1s (500 commits at once, every second)
    #[arg(long, value_name = "SIZE@PERIOD", requires = "rate", value_parser = str::parse::<Burst>)]
    burst: Option<Burst>,
    /// Compression ratio of the redo (uncompressed size divided by compressed size), from 1
    /// (incompressible) to 20
    #[arg(long, value_name = "RATIO", default_value = "1", value_parser = parse_ratio)]
    compressibility: f64,
    /// Deduplication ratio of the redo (number of 4 KiB units divided by the number of distinct
    /// units), from 1 (all unique) to 20
    #[arg(long, value_name = "RATIO", default_value = "1", value_parser = parse_ratio)]
    dedupe: f64,
}

impl LoadArgs {
    /// The open loop's arrivals in a measured time, if it is one.
    pub(crate) fn arrivals(&self, time: Nanos) -> Result<Option<Arrivals>, CommandError> {
        let Some(rate) = self.rate else {
            return Ok(None);
        };
        let (process, burst) = (self.arrivals.unwrap_or_default(), self.burst);
        let arrivals = Arrivals::new(rate, process, burst)
            .map_err(|e| CommandError::usage(format!("--rate: {e}")))?;
        let expected = arrivals.offered_per_s() * time.as_secs();
        if expected < ARRIVALS_MIN {
            return Err(CommandError::usage(format!(
                "--rate {rate}: {expected:.1} commits are due in {} s, too few for a result; \
                 measure longer (--time, --soak) or raise --rate",
                time.as_secs()
            )));
        }
        Ok(Some(arrivals))
    }

    /// What redo is made of.
    pub(crate) fn payload(&self) -> Payload {
        Payload {
            compressibility: self.compressibility,
            dedupe: self.dedupe,
        }
    }
}
