//! TPROC-C on a database server: `redolab tprocc` loads, checks and drops its tables; its options
//! of `redolab run`.

use super::common::print;
use super::{CommandError, INCOMPLETE};
use crate::experiment::plan::{ExperimentPlan, PlannedTarget};
use crate::output::progress;
use crate::output::tproc_c_load::{ShownLoad, loaded_in_words};
use crate::signals;
use analysis::account;
use clap::{Args, Subcommand};
use drivers::tprocc;
use drivers::tprocc::WAREHOUSES;
use drivers::tprocc::load::{LoadOptions, LoadProgress};
use measure::driver::DriverError;
use measure::words::sanitize;
use measure::workload::TprocC;
use std::process::ExitCode;

/// The driver's name.
const DRIVER: &str = "tprocc";

/// `tprocc`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
  redolab tprocc load --url postgres://bench@db1/bench --warehouses 10
  redolab run --workload tproc-c --jobs 1,4,16 postgres://bench@db1/bench
  redolab tprocc drop --url postgres://bench@db1/bench

TPROC-C is derived from the TPC-C benchmark and does not comply with it: its results are not \
comparable with published TPC-C results.")]
pub(crate) struct TprocCArgs {
    #[command(subcommand)]
    command: TprocCCommand,
}

#[derive(Debug, Subcommand)]
enum TprocCCommand {
    /// Make the schema redolab_tprocc and load its tables
    Load(TprocCLoadArgs),
    /// Check the consistency conditions of the tables
    Check(TprocCServerArgs),
    /// Remove the schema redolab_tprocc with its tables
    Drop(TprocCServerArgs),
}

/// Which server.
#[derive(Debug, Args)]
struct TprocCServerArgs {
    /// The server's address: postgres://USER@HOST:PORT/DATABASE or
    /// mariadb://USER@HOST:PORT/DATABASE
    #[arg(long, value_name = "URL")]
    url: String,
}

/// Options of `tprocc load`.
#[derive(Debug, Args)]
struct TprocCLoadArgs {
    #[command(flatten)]
    server: TprocCServerArgs,
    /// Warehouses; each has about 500,000 rows and takes about 130 MB with its indexes
    #[arg(short, long, value_name = "N", default_value = "1")]
    warehouses: u32,
    /// Connections that load at the same time [default: the number of processors, 2 to 16]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,
    /// Seed of the rows: the same seed loads the same rows
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Print only the result and errors, no progress
    #[arg(short, long, help_heading = "Output")]
    quiet: bool,
}

/// Options of the workload tproc-c.
#[derive(Debug, Args)]
#[command(next_help_heading = "Database")]
pub(crate) struct TprocCWorkloadArgs {
    /// Warehouses of tproc-c on a private server [default: 1]
    #[arg(long, value_name = "N", requires = "driver")]
    warehouses: Option<u32>,
    /// Let each user of tproc-c key (2 to 18 s) before and think (5 to 12 s) after each transaction
    #[arg(long)]
    think: bool,
}

impl TprocCWorkloadArgs {
    /// Makes `plan` one of TPROC-C: on the schema that a server has, or on a private server.
    ///
    /// # Errors
    /// An option of TPROC-C where another workload is run; a target without a database.
    pub(super) fn apply(
        &self,
        plan: &mut ExperimentPlan,
        is_tproc_c: bool,
    ) -> Result<(), CommandError> {
        let given = [
            (self.warehouses.is_some(), "--warehouses"),
            (self.think, "--think"),
        ];
        if !is_tproc_c {
            return match given.iter().find(|(is_given, _)| *is_given) {
                None => Ok(()),
                Some((_, option)) => Err(CommandError::usage(format!(
                    "{option}: only with --workload tproc-c"
                ))),
            };
        }
        match &mut plan.target {
            PlannedTarget::Driver { name, .. } => DRIVER.clone_into(name),
            PlannedTarget::Managed(server) => {
                server.driver = format!("{DRIVER}-{}", server.driver);
                let number = self.warehouses.map(|number| number.to_string());
                (server.settings).extend(number.map(|number| (WAREHOUSES.to_owned(), number)));
            }
            PlannedTarget::Null | PlannedTarget::Path { .. } => {
                return Err(CommandError::usage(
                    "--workload tproc-c runs on a database: name the address of a server, such as \
                     postgres://USER@HOST/DATABASE, or make a private one with --driver postgres",
                ));
            }
        }
        for row in &mut plan.measured.rows {
            row.workload.tproc_c = Some(TprocC { think: self.think });
        }
        Ok(())
    }
}

pub(crate) fn main(args: &TprocCArgs) -> Result<ExitCode, CommandError> {
    match &args.command {
        TprocCCommand::Load(args) => load(args),
        TprocCCommand::Check(server) => {
            let server = tprocc::connect(&server.url).map_err(of_driver)?;
            let conditions = tprocc::check(&*server).map_err(of_driver)?;
            let text = account::conditions(&conditions);
            print(format!("{}\n", sanitize::line(&text)).as_bytes())?;
            let holds = conditions.iter().all(|condition| condition.holds());
            Ok(ExitCode::from(if holds { 0 } else { INCOMPLETE }))
        }
        TprocCCommand::Drop(server) => {
            let server = tprocc::connect(&server.url).map_err(of_driver)?;
            let was_there = tprocc::drop_schema(&*server).map_err(of_driver)?;
            print(match was_there {
                true => b"Removed the schema redolab_tprocc with its tables.\n",
                false => b"There is no schema redolab_tprocc.\n",
            })?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn load(args: &TprocCLoadArgs) -> Result<ExitCode, CommandError> {
    let processors = std::thread::available_parallelism().map_or(2, |n| n.get() as u32);
    let options = LoadOptions {
        warehouses: args.warehouses,
        seed: args.seed,
        connections: args.connections.unwrap_or(processors.clamp(2, 16)),
    };
    let refused = |why| CommandError::usage(format!("--{why}"));
    options.check().map_err(refused)?;
    let failed = |e| CommandError::failed(format!("signal handlers: {e}"));
    let interrupt = signals::install().map_err(failed)?;
    let mode = progress::Mode::of_stderr(args.quiet, true);
    let shown = ShownLoad::new(progress::Progress::new(mode));
    let watch = |progress: &LoadProgress| {
        shown.at(progress);
        !interrupt.requested()
    };
    let server = tprocc::connect(&args.server.url).map_err(of_driver)?;
    let loaded = tprocc::load(&*server, &options, &watch);
    let loaded = match loaded {
        Err(_) if interrupt.requested() => {
            return Err(CommandError {
                code: signals::INTERRUPTED as u8,
                message: "interrupted; what the load had made is removed".to_owned(),
            });
        }
        other => other.map_err(of_driver)?,
    };
    shown.end();
    print(loaded_in_words(&options, &loaded).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn of_driver(error: DriverError) -> CommandError {
    let message = sanitize::line(&error.to_string());
    match error.is_unusable() {
        true => CommandError::usage(message),
        false => CommandError::failed(message),
    }
}
