//! `redolab tprocc`: TPROC-C on a database server: load, run, check, drop.

use super::common::{OutputArgs, command_line, print};
use super::console::Terminal;
use super::stored::StoreArgs;
use super::targets::setting;
use super::values::{self, Ladder};
use super::{CommandError, INCOMPLETE, ended};
use crate::experiment::conduct;
use crate::experiment::ladder::MAX_JOBS;
use crate::experiment::plan::{
    ExperimentPlan, JudgementPlan, LogPlan, ManagedServerPlan, MeasurementPlan, PlannedTarget,
    TargetAddress,
};
use crate::experiment::row::Spec;
use crate::output::progress;
use crate::output::tproc_c_load::{ShownLoad, loaded_in_words};
use crate::output::{section, table, verdict};
use crate::signals;
use analysis::account;
use clap::{Args, Subcommand};
use drivers::tprocc;
use drivers::tprocc::WAREHOUSES;
use drivers::tprocc::load::{LoadOptions, LoadProgress};
use measure::Nanos;
use measure::driver::{DriverError, DriverKind};
use measure::run::RunNotes;
use measure::units::{parse_bytes, parse_duration};
use measure::words::sanitize;
use measure::workload::{TPROC_C_NOTICE, Workload};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// The driver's name.
const DRIVER: &str = "tprocc";

/// `tprocc`.
#[derive(Debug, Args)]
#[command(after_help = "\
  redolab tprocc load --url postgres://bench@db1/bench --warehouses 10
  redolab tprocc run --url postgres://bench@db1/bench --users 1,4,16
  redolab tprocc run --url mariadb://bench@db1/bench --users 4 --time 1m
  redolab tprocc drop --url postgres://bench@db1/bench
  redolab tprocc run --driver postgres --on /u01 --warehouses 10 --users 1,4,16

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
    /// Run the transactions with a number of users, or several, and check the tables afterwards
    Run(Box<TprocCRunArgs>),
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

/// An existing server with loaded tables, or a private one.
#[derive(Debug, Args)]
struct TprocCTargetArgs {
    /// The address of an existing server: postgres://USER@HOST:PORT/DATABASE or
    /// mariadb://USER@HOST:PORT/DATABASE
    #[arg(
        long,
        value_name = "URL",
        required_unless_present = "driver",
        conflicts_with = "driver"
    )]
    url: Option<String>,
    /// Make a private server, load the tables, run, check them, and remove the server
    #[arg(
        long,
        value_name = "NAME",
        requires = "on",
        help_heading = "Private server",
        value_parser = ["postgres", "mariadb"]
    )]
    driver: Option<String>,
    /// Directory for the data and the redo of the private server
    #[arg(
        long,
        value_name = "PATH",
        requires = "driver",
        help_heading = "Private server"
    )]
    on: Option<PathBuf>,
    /// Warehouses of the private server [default: 1]
    #[arg(
        short,
        long,
        value_name = "N",
        requires = "driver",
        help_heading = "Private server"
    )]
    warehouses: Option<u32>,
    /// Directory of the private server's programs [default: those that are installed]
    #[arg(
        long,
        value_name = "DIR",
        requires = "driver",
        help_heading = "Private server"
    )]
    server_bin: Option<PathBuf>,
    /// A setting of the private server, such as shared_buffers=1GB (PostgreSQL) or
    /// innodb_buffer_pool_size=1G (MariaDB)
    #[arg(
        long,
        value_name = "NAME=VALUE",
        requires = "driver",
        help_heading = "Private server",
        value_parser = setting
    )]
    server_setting: Vec<(String, String)>,
}

impl TprocCTargetArgs {
    /// The target that is asked for.
    fn planned(&self) -> PlannedTarget {
        let (Some(driver), Some(path)) = (&self.driver, &self.on) else {
            return PlannedTarget::Driver {
                name: DRIVER.to_owned(),
                address: TargetAddress(self.url.clone().unwrap_or_default()),
            };
        };
        let mut settings: BTreeMap<String, String> = self.server_setting.iter().cloned().collect();
        let warehouses = self.warehouses.map(|number| number.to_string());
        settings.extend(warehouses.map(|number| (WAREHOUSES.to_owned(), number)));
        PlannedTarget::Managed(ManagedServerPlan {
            driver: format!("{DRIVER}-{driver}"),
            data: path.clone(),
            log: path.clone(),
            programs: self.server_bin.clone(),
            settings,
        })
    }
}

/// Options of `tprocc run`.
#[derive(Debug, Args)]
struct TprocCRunArgs {
    #[command(flatten)]
    target: TprocCTargetArgs,
    /// Numbers of virtual users, such as 1,8,32 or 2..64 (doubling) or 2..64+2; each user has a
    /// random warehouse of its own
    #[arg(
        short,
        long,
        value_name = "LADDER",
        default_value = "1,2,4,8",
        value_parser = Ladder::read
    )]
    users: Ladder,
    /// Time before each row that is not measured
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_duration)]
    ramp_up: Nanos,
    /// Measured time of each row
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = values::time_over_zero)]
    time: Nanos,
    /// Let each user key (2 to 18 s) before and think (5 to 12 s) after each transaction
    #[arg(long)]
    think: bool,
    /// Seed of the users' choices
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Measure even if other processes use the device of a private server; the run records this
    #[arg(long, help_heading = "Safety")]
    allow_busy: bool,
    /// Write at most this much in total, such as 20G, on a private server: making it, loading the
    /// tables, rows, store and report count, as the kernel counts the writes of redolab and of the
    /// server. Rows that do not fit are shortened or left out
    #[arg(
        long,
        value_name = "SIZE",
        help_heading = "Safety",
        value_parser = parse_bytes
    )]
    max_write: Option<u64>,
    /// Print what would be done, and do nothing
    #[arg(long, help_heading = "Safety")]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn main(args: &TprocCArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    match &args.command {
        TprocCCommand::Load(args) => load(args),
        TprocCCommand::Run(args) => run(args, drivers),
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

fn run(args: &TprocCRunArgs, drivers: &[DriverKind]) -> Result<ExitCode, CommandError> {
    let refused = |why| CommandError::usage(format!("--users: {why}"));
    let users = args.users.jobs(MAX_JOBS).map_err(refused)?;
    let row = |users| Spec {
        seed: args.seed,
        ..Spec::closed(
            Workload::tproc_c(args.think),
            users,
            args.time,
            args.ramp_up,
        )
    };
    let plan = ExperimentPlan {
        target: args.target.planned(),
        measured: MeasurementPlan {
            command: command_line(),
            log: LogPlan::default(),
            rows: users.into_iter().map(row).collect(),
            floor: None,
            events: false,
            max_write_bytes: args.max_write,
            allow_busy: args.allow_busy,
            dry_run: args.dry_run,
            judgement: JudgementPlan::default(),
            notes: RunNotes::default(),
        },
    };
    let (output, store) = (&args.output, args.store.open_to_store()?);
    output.check_beside(&store)?;
    let terminal = Terminal::new(output, None)?;
    output.say(TPROC_C_NOTICE);
    let Some(run) = conduct(&plan, &terminal, &store, drivers)? else {
        return Ok(ExitCode::SUCCESS);
    };
    output.emit_stored(&store, &run, |style| {
        let findings = verdict::findings(&run, style, output.verbose);
        let sections = [account::tproc_c(&run), account::bytes(&run)];
        let sections = section::texts(sections, style, output.verbose);
        format!("{}\n\n{sections}\n{findings}", table::caption(&run))
    })?;
    Ok(ended(&run, true))
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
