//! `redolab collect`: what to gather where a redo log is slow, in a form that `redolab import`
//! reads.

use super::CommandError;
use super::common::print;
use super::redact::{self, RedactionArgs};
use crate::collect::kit::{self, KitFile};
use crate::collect::place;
use crate::collect::server::{self, Collected};
use crate::experiment::quantities::time_over_zero;
use crate::output::file::Audience;
use crate::output::lines::tell;
use crate::output::listings;
use crate::signals;
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use drivers::collect::{ReadServer, ServerReading};
use drivers::mariadb::MariadbEnvironment;
use drivers::postgres::ClientEnvironment;
use measure::Nanos;
use measure::words::sanitize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The name of the file with the devices' counters.
const DEVICES_FILE: &str = "iostat.txt";
/// The longest interval.
const TIME_MAX: Nanos = Nanos::from_secs(86_400);

/// Options of `collect`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
All files go into one directory, and `redolab import DIRECTORY` reads them. It skips files that \
are for people, and lists them.")]
pub(crate) struct CollectArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print or write scripts for an Oracle server: v$ views, Statspack, AWR, trace of LGWR, iostat
    Oracle(OracleArgs),
    /// Read what a PostgreSQL server counts of its WAL, twice, and what its sessions wait for
    Postgres(ServerArgs),
    /// Read what a MariaDB or MySQL server counts of its redo log, twice, and what its sessions do
    Mariadb(ServerArgs),
    /// Read the counters of this machine's devices each second, in the layout of iostat -x -t
    Linux(LinuxArgs),
}

/// Options of `collect oracle`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
The scripts were not verified against an Oracle server. Their first lines list privileges, load \
and what they change. awr.sql asks for the licence of the Diagnostics Pack, and does nothing \
without it.")]
struct OracleArgs {
    /// Print only this file
    #[arg(value_name = "FILE", value_parser = PossibleValuesParser::new(kit::ORACLE_FILES))]
    file: Option<String>,
    /// Time between the two readings of each script, from 10s to 24h
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = interval)]
    time: Nanos,
    /// Write the files into this directory, which is created if it does not exist [default: print]
    #[arg(short, long, value_name = "DIR", conflicts_with = "file")]
    output: Option<PathBuf>,
}

/// Options of `collect postgres` and `collect mariadb`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
redolab sends only statements that read, in a session whose transactions are read-only, and \
creates nothing on the server. Passwords come from the address, the environment (PGPASSWORD, \
MYSQL_PWD) or, for PostgreSQL, a password file, and are not stored. To see the waits of all \
sessions, the user needs pg_monitor (PostgreSQL) or PROCESS (MariaDB). If the address is a Unix \
socket or an address of this machine, redolab also reads the counters of this machine's \
devices.")]
struct ServerArgs {
    /// Address of the server, such as postgres://USER@HOST:PORT/DATABASE or mariadb://USER@HOST
    url: String,
    /// Time between the two readings, up to 24h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    time: Nanos,
    /// Directory of the files, which is created if it does not exist and must be empty
    #[arg(short, long, value_name = "DIR", default_value = "redolab-collected")]
    output: PathBuf,
    #[command(flatten)]
    redaction: RedactionArgs,
}

/// Options of `collect linux`.
#[derive(Debug, Args)]
struct LinuxArgs {
    /// Device, such as sda or /dev/nvme0n1; may be repeated [default: all that were used]
    #[arg(long, value_name = "DEV", value_parser = kit::device_name)]
    device: Vec<String>,
    /// Time for which the counters are read, up to 24h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = time)]
    time: Nanos,
    /// Print a script that runs iostat instead, for a machine without redolab
    #[arg(long)]
    script: bool,
    /// Write the result into this directory, as iostat.txt or iostat.sh [default: print]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    redaction: RedactionArgs,
}

/// A time of at most a day.
fn time(text: &str) -> Result<Nanos, String> {
    let time = time_over_zero(text)?;
    let refused = || "use a time up to 24h".to_owned();
    (time <= TIME_MAX).then_some(time).ok_or_else(refused)
}

/// A time between two readings, in whole seconds.
fn interval(text: &str) -> Result<Nanos, String> {
    let time = time(text)?;
    let refused = || "use from 10s to 24h".to_owned();
    (time >= Nanos::from_secs(10))
        .then_some(time)
        .ok_or_else(refused)
}

pub(crate) fn main(args: &CollectArgs) -> Result<ExitCode, CommandError> {
    match &args.what {
        What::Oracle(wanted) => oracle(wanted),
        What::Linux(wanted) => linux(wanted),
        What::Postgres(wanted) => {
            let environment = ClientEnvironment::of_process();
            server(wanted, |url| {
                drivers::postgres::read_server(url, &environment)
            })
        }
        What::Mariadb(wanted) => {
            let environment = MariadbEnvironment::of_process();
            server(wanted, |url| {
                drivers::mariadb::read_server(url, &environment)
            })
        }
    }
}

fn oracle(wanted: &OracleArgs) -> Result<ExitCode, CommandError> {
    let files = kit::oracle(wanted.time);
    let is_wanted = |file: &KitFile| wanted.file.as_ref().is_none_or(|name| name == file.name);
    match &wanted.output {
        Some(folder) => write_all(folder, &files, Audience::Everyone)?,
        None => {
            let chosen: Vec<&KitFile> = files.iter().filter(|file| is_wanted(file)).collect();
            let is_one = chosen.len() == 1;
            let text = chosen.into_iter().map(|file| match is_one {
                true => file.text.clone(),
                false => format!("---- {} ----\n{}\n", file.name, file.text),
            });
            print(text.collect::<String>().as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_all(folder: &Path, files: &[KitFile], audience: Audience) -> Result<(), CommandError> {
    let names: Vec<&str> = files.iter().map(|file| file.name).collect();
    place::check(folder, &names)?;
    let texts: Vec<(&str, &str)> = files.iter().map(|f| (f.name, f.text.as_str())).collect();
    let written = place::write_all(folder, &texts, audience)?;
    written.iter().for_each(|path| announce(path));
    Ok(())
}

/// Prints the path of a file that was written.
fn announce(path: &Path) {
    let path = path.display().to_string();
    tell(&format!("Wrote {}", sanitize::line(&path)));
}

fn interrupt() -> Result<signals::Interrupt, CommandError> {
    signals::install().map_err(|e| CommandError::failed(format!("signal handlers: {e}")))
}

/// How a collection ends: what was read until an interruption is kept.
fn ended(interrupted: bool) -> ExitCode {
    match interrupted {
        true => ExitCode::from(signals::INTERRUPTED as u8),
        false => ExitCode::SUCCESS,
    }
}

fn linux(wanted: &LinuxArgs) -> Result<ExitCode, CommandError> {
    let place = |file: KitFile| match &wanted.output {
        Some(folder) => write_all(folder, &[file], Audience::Owner),
        None => print(file.text.as_bytes()),
    };
    if wanted.script {
        place(kit::iostat(wanted.time, &wanted.device))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = &wanted.output {
        place::check(folder, &[DEVICES_FILE])?;
    }
    let interrupt = interrupt()?;
    let text = server::watch_devices(&wanted.device, duration(wanted.time), &interrupt);
    let text = text.map_err(|e| CommandError::usage(format!("--device: {e}")))?;
    let mut files = [(DEVICES_FILE.to_owned(), text)];
    if let Some(mut redactor) = wanted.redaction.redactor() {
        redact::texts(&mut files, &mut redactor);
    }
    let [(_, text)] = files;
    place(KitFile {
        name: DEVICES_FILE,
        text,
    })?;
    Ok(ended(interrupt.requested()))
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}

fn server(
    wanted: &ServerArgs,
    open: impl FnOnce(&str) -> Result<Box<dyn ReadServer>, measure::driver::DriverError>,
) -> Result<ExitCode, CommandError> {
    let interrupt = interrupt()?;
    let failed = |error| CommandError::from(crate::experiment::Failure::Driver(error));
    let mut server = open(&wanted.url).map_err(failed)?;
    place::make_empty(&wanted.output)?;
    let seconds = wanted.time.as_secs();
    tell(&format!(
        "Reading {} for {seconds:.0} s; nothing is changed on the server",
        sanitize::line(&server.shown())
    ));
    let collected = server::collect(server.as_mut(), duration(wanted.time), &interrupt);
    let collected = collected.map_err(failed)?;
    let mut files = files_of(&collected, server.as_ref());
    if let Some(mut redactor) = wanted.redaction.redactor() {
        redact::texts(&mut files, &mut redactor);
    }
    let texts: Vec<(&str, &str)> = files
        .iter()
        .map(|(n, t)| (n.as_str(), t.as_str()))
        .collect();
    let written = place::write_all(&wanted.output, &texts, Audience::Owner)?;
    written.iter().for_each(|path| announce(path));
    for (moment, reading) in [("begin", &collected.begin), ("end", &collected.end)] {
        note_refused(moment, reading);
    }
    if let Some(refused) = &collected.waits_refused {
        tell(&format!(
            "Waits were not sampled: {}",
            sanitize::line(&refused.why)
        ));
    }
    if collected.devices.is_none() {
        tell(
            "The server may be on another machine, so no devices were read: run `redolab collect \
             linux` there at the same time",
        );
    }
    Ok(ended(collected.interrupted))
}

fn note_refused(moment: &str, reading: &ServerReading) {
    for refused in &reading.refused {
        let why = sanitize::line(&refused.why);
        tell(&format!(
            "Not read at the {moment}: {}: {why}",
            refused.name
        ));
    }
}

/// Names and texts of what was collected: a file per listing and moment.
fn files_of(collected: &Collected, server: &dyn ReadServer) -> Vec<(String, String)> {
    let layout = server.layout();
    let mut files = Vec::new();
    for (moment, reading) in [("begin", &collected.begin), ("end", &collected.end)] {
        for listing in &reading.listings {
            let name = format!("{moment}-{}.txt", listing.name);
            files.push((name, listings::text(listing, layout)));
        }
    }
    if let Some(waits) = &collected.waits {
        let name = format!("waits-{}-samples.txt", collected.samples);
        files.push((name, listings::text(waits, layout)));
    }
    if let Some(devices) = &collected.devices {
        files.push((DEVICES_FILE.to_owned(), devices.clone()));
    }
    files
}
