//! `redolab watch`: the log writes of a running database, without touching it.

use super::canary::{self, CanaryArgs};
use super::common::{OutputArgs, command_line};
use super::console::{ReportTo, Terminal};
use super::notes::NotesArgs;
use super::report::trace_file;
use super::stored::{EventArgs, StoreArgs};
use super::values;
use super::{CommandError, ended, need};
use crate::experiment::Failure;
use crate::experiment::plan::JudgementPlan;
use crate::output::{overview, watched};
use crate::watch::{NamedServer, SubjectPlan, WatchPlan, WatchedSecond, watch};
use clap::Args;
use drivers::collect::ReadServer;
use drivers::mariadb::MariadbEnvironment;
use drivers::postgres::ClientEnvironment;
use measure::Nanos;
use measure::judgement::Need;
use measure::stack::Declaration;
use std::path::PathBuf;
use std::process::ExitCode;

/// Lines of seconds between two headings.
const HEADING_EVERY: u32 = 20;

/// Options of `watch`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
--canary needs no root: it writes to a small file of its own, and looks at neither log nor server.

Otherwise redolab needs root, or the group that owns tracefs. It uses a private instance of the \
kernel's tracing with buffers of its own, and removes it at the end; after a kill the next start \
removes it. Nothing is written to the log, and the server is not asked unless --database has an \
address.
A log write is what one flush made durable, or one write that is durable by itself. File systems: \
ext4 and XFS. System calls are traced only where the log is written through the page cache, or \
is on XFS.")]
pub(crate) struct WatchArgs {
    /// Watch the log of this process and its children
    #[arg(long, value_name = "PID", conflicts_with = "file")]
    pid: Option<u32>,
    /// Watch the only server of this product on this machine: postgres or mariadb (also for MySQL).
    /// With an address such as postgres://USER@HOST/DATABASE the server is also asked, at the start
    /// and at the end, for its commits, redo, writes and flushes. With --pid, the address only
    /// names the server to ask
    #[arg(
        long,
        value_name = "NAME|URL",
        conflicts_with = "file",
        value_parser = WatchedDatabase::read
    )]
    database: Option<WatchedDatabase>,
    /// Watch this log file; can be repeated
    #[arg(long, value_name = "PATH")]
    file: Vec<PathBuf>,
    /// How long the log is watched [default: until Ctrl-C; 60s with --canary]
    #[arg(long, value_name = "TIME", value_parser = values::time_over_zero)]
    time: Option<Nanos>,
    /// Write every log write to this file in the form of Oracle's trace (event 10046), which
    /// `redolab import` reads
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Keep each log write that takes at least this long, with its time and size (the slowest 180),
    /// and print a warning for it
    #[arg(
        long,
        value_name = "TIME",
        default_value = "500ms",
        value_parser = values::time_over_zero
    )]
    log_write_warning: Nanos,
    /// Write a report to this file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Declare a protection against power loss: plp or battery, with its basis as in
    /// --declare plp="data sheet of the maker". Can be given twice
    #[arg(long, value_name = "WHAT[=BASIS]", value_parser = values::declaration)]
    declare: Vec<Declaration>,
    /// File with thresholds that override the built-in ones (`redolab findings` lists these)
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    #[command(flatten)]
    canary: CanaryArgs,
    #[command(flatten)]
    notes: NotesArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    events: EventArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// What `--database` names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WatchedDatabase {
    server: NamedServer,
    address: Option<String>,
}

impl WatchedDatabase {
    fn read(text: &str) -> Result<WatchedDatabase, String> {
        let scheme = text.split_once("://").map(|(scheme, _)| scheme);
        let kind = |kind: measure::driver::DriverKind| kind.is_called(scheme.unwrap_or(text));
        let server = if kind(drivers::postgres::KIND) {
            NamedServer::Postgres
        } else if kind(drivers::mariadb::KIND) || text == "mysql" {
            NamedServer::Mariadb
        } else {
            return Err(
                "use postgres, mariadb, or an address that begins with postgres:// or \
                        mariadb://"
                    .to_owned(),
            );
        };
        Ok(WatchedDatabase {
            server,
            address: scheme.map(|_| text.to_owned()),
        })
    }

    /// Opens the server that is asked.
    fn open(&self) -> Result<Option<Box<dyn ReadServer>>, CommandError> {
        let Some(address) = &self.address else {
            return Ok(None);
        };
        let opened = match self.server {
            NamedServer::Postgres => {
                drivers::postgres::read_server(address, &ClientEnvironment::of_process())
            }
            NamedServer::Mariadb => {
                drivers::mariadb::read_server(address, &MariadbEnvironment::of_process())
            }
        };
        let server = opened.map_err(|error| CommandError::from(Failure::Driver(error)))?;
        Ok(Some(server))
    }
}

impl WatchArgs {
    fn subject(&self) -> Result<SubjectPlan, CommandError> {
        match (self.pid, &self.database) {
            (Some(pid), _) => Ok(SubjectPlan::Process(pid)),
            (None, Some(database)) => Ok(SubjectPlan::Server(database.server)),
            (None, None) if !self.file.is_empty() => Ok(SubjectPlan::Files(self.file.clone())),
            (None, None) => Err(CommandError::usage(
                "name whose log to watch: --pid PID, --database postgres, --database mariadb or \
                 --file PATH; without root, --canary PATH probes the log's file system",
            )),
        }
    }

    fn plan(&self) -> Result<WatchPlan, CommandError> {
        Ok(WatchPlan {
            command: command_line(),
            subject: self.subject()?,
            time: self.time,
            warning: self.log_write_warning,
            events: self.events.events || self.trace.is_some(),
            judgement: JudgementPlan {
                need: Need::default(),
                declared: self.declare.clone(),
                thresholds: need::thresholds_text(self.thresholds.as_deref())?,
                not_judged: Vec::new(),
            },
            notes: self.notes.notes()?,
        })
    }

    /// Refuses places to which results could not be written, before anything is watched.
    fn check_places(&self) -> Result<(), CommandError> {
        for path in self.report.iter().chain(&self.trace) {
            self.output.check_report(Some(path))?;
        }
        Ok(())
    }
}

pub(crate) fn main(args: &WatchArgs) -> Result<ExitCode, CommandError> {
    if let Some(path) = &args.canary.canary {
        return canary::main(&args.canary, path.clone(), args.time, &args.output);
    }
    args.canary.check_unused()?;
    let plan = args.plan()?;
    let store = args.store.open_to_store()?;
    args.thresholds
        .iter()
        .for_each(|path| args.output.reads(path));
    args.output.check_beside(&store)?;
    args.check_places()?;
    let report = args.report.as_ref().map(|path| ReportTo {
        store: &store,
        path: Some(path.clone()),
    });
    let terminal = Terminal::new(&args.output, report)?;
    let server = args
        .database
        .as_ref()
        .map(WatchedDatabase::open)
        .transpose()?;
    let mut lines = 0_u32;
    let mut look = |second: &WatchedSecond| {
        if lines.is_multiple_of(HEADING_EVERY) {
            args.output.say(&watched::live_heading());
        }
        lines = lines.wrapping_add(1);
        args.output.say(&watched::live_line(second));
    };
    let run = watch(&plan, server.flatten(), &terminal, &mut look, &store)?;
    if let Some(path) = &args.trace {
        trace_file(&store, &run, 1, path, &args.output.inputs())?;
    }
    args.output.emit_stored(&store, &run, |style| {
        overview::text(&run, args.output.view(), style)
    })?;
    terminal.reported()?;
    Ok(ended(&run, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_by_its_product_or_its_address() {
        for (text, server, has_address) in [
            ("postgres", NamedServer::Postgres, false),
            ("mariadb", NamedServer::Mariadb, false),
            ("mysql", NamedServer::Mariadb, false),
            ("postgres://ann@db/x", NamedServer::Postgres, true),
            ("postgresql://ann@db/x", NamedServer::Postgres, true),
            ("mysql://ann@db", NamedServer::Mariadb, true),
        ] {
            let read = WatchedDatabase::read(text).expect(text);
            assert_eq!(
                (read.server, read.address.is_some()),
                (server, has_address),
                "{text}"
            );
        }
        for wrong in ["", "oracle", "oracle://x", "ftp://postgres"] {
            assert!(WatchedDatabase::read(wrong).is_err(), "{wrong}");
        }
    }
}
