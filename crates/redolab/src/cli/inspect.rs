//! `redolab inspect`: what is in a log, read-only unless the loss of redo behind damage is
//! accepted.

mod members;
mod salvage;

use super::common::ViewArgs;
use super::members::MembersChoice;
use super::{CommandError, FAILED};
use crate::archived;
use crate::inspection::{self, InspectedLog, InspectedSalvage, WantedInspection};
use crate::output::{inspection as text, progress};
use clap::Args;
use redo::Rba;
use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `inspect`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Exit codes: 0 the log ends cleanly, or in a torn write that was never acknowledged; 1 the log is \
damaged, or there is no log; 2 wrong usage. With --archive: 0 the archive is whole; 1 it is not, \
or there is none.
With --salvage: 0 the redo behind the damage was given up, and the log can be opened; 1 the log is \
damaged as before, and nothing was changed; 2 refused: the log is not damaged, is in use, or is \
damaged at another RBA than --accept-loss names.")]
pub(crate) struct InspectArgs {
    /// The directory of a log, its redo.ctl, one of its log files, or its raw device; with
    /// --archive the folder of an archive
    #[arg(required_unless_present = "members")]
    path: Option<PathBuf>,
    /// The directories of a log with members, to be compared: mirror:PATH1,PATH2, race:PATH1,PATH2
    /// or mirror:(race:A,B),(race:C,D); or of a log with a ring: ring:DISK,RING or
    /// failover:DISK,RING. Exit code 1 if an opening with them would be refused
    #[arg(
        long,
        value_name = "KIND:PATHS",
        conflicts_with_all = ["path", "archive", "dump", "verify", "no_verify"]
    )]
    members: Option<MembersChoice>,
    /// Make the member that is lost anew in the empty directory that is given in its place: open
    /// the log of --members, copy the others to it, close the log
    #[arg(
        long,
        requires = "members",
        conflicts_with = "salvage",
        help_heading = "Lost members"
    )]
    replace_member: bool,
    /// Accept the loss of what a member that is missing may have acknowledged before the others
    /// had it; with --replace-member or --salvage
    #[arg(long, requires = "members", help_heading = "Lost members")]
    accept_member_loss: bool,
    /// Verify the archive of a log (a folder redo-archive-… that `redolab run --archive` made):
    /// each record, and that no file is missing between two others
    #[arg(long, conflicts_with_all = ["dump", "verify", "no_verify", "salvage"])]
    archive: bool,
    /// List the records: where each is, its size, and its first 32 bytes in hexadecimal and ASCII
    #[arg(long)]
    dump: bool,
    /// List at most this many records; 0 lists all
    #[arg(long, value_name = "N", default_value = "100", requires = "dump")]
    limit: u64,
    /// Verify every block, including those that recovery does not need (the default)
    #[arg(long, overrides_with = "no_verify")]
    verify: bool,
    /// Read only the blocks that recovery reads
    #[arg(long)]
    no_verify: bool,
    /// Print what would be kept and lost if the redo behind the damage is given up; change nothing
    ///
    /// A damaged log cannot be opened, because acknowledged commits would be missing. This option
    /// prints the last record before the damage, the number of blocks behind it, and the whole
    /// records that can still be read from them. If you have a copy of the log, restore it. If you
    /// have none, add --accept-loss. With --members, what one of the members has is kept: only redo
    /// behind the first block that no member has intact is given up, on all of them.
    #[arg(long, help_heading = "Damaged logs")]
    salvage: bool,
    /// Give up all redo from the damage on, permanently; RBA is the one that --salvage prints
    ///
    /// Acknowledged commits are lost. Afterwards the log can be opened and contains exactly the
    /// records before the damage. You must give the RBA of the damage so that you give up only
    /// damage that you have seen: the command refuses a log that is not damaged, that is damaged at
    /// another RBA, or that is in use. Copy the log first.
    #[arg(
        long,
        value_name = "RBA",
        requires = "salvage",
        help_heading = "Damaged logs"
    )]
    accept_loss: Option<Rba>,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn main(args: &InspectArgs) -> Result<ExitCode, CommandError> {
    let path = match (&args.members, &args.path) {
        (Some(members), _) => return members::main(args, members),
        (None, Some(path)) => path,
        (None, None) => return Err(CommandError::usage("inspect: name a log's directory")),
    };
    if args.archive {
        return archive(args, path);
    }
    let directory = log_directory(path)?;
    // Whatever is in the log's directory may be a part of the log.
    args.view.reads(path);
    for entry in std::fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
    {
        args.view.reads(&entry.path());
    }
    let given_up = match args.accept_loss {
        Some(at) => {
            args.view.check()?;
            Some(salvage::give_up(&directory, at)?)
        }
        None => None,
    };
    let mut found = inspected(args, &directory)?;
    if let Some(given_up) = given_up {
        found.salvage = Some(InspectedSalvage::of(&given_up, true));
    } else if args.salvage {
        let foreseen = salvage::foresee(&directory, &found)?;
        found.salvage = Some(InspectedSalvage::of(&foreseen, false));
    }
    args.view.emit(&found, |style| text::text(&found, style))?;
    let damaged = found.end == "damaged";
    Ok(ExitCode::from(if damaged { FAILED } else { 0 }))
}

/// Verifies an archive.
fn archive(args: &InspectArgs, path: &Path) -> Result<ExitCode, CommandError> {
    args.view.reads(path);
    let found = archived::read_archive(path, |_, _| {});
    let found = found.map_err(|e| CommandError::failed(e.to_string()))?;
    args.view.emit(&found, |_| text::archive(&found))?;
    Ok(ExitCode::SUCCESS)
}

/// Inspects the log in `directory` as `args` ask.
fn inspected(args: &InspectArgs, directory: &Path) -> Result<InspectedLog, CommandError> {
    let progress = progress::Progress::new(progress::Mode::of_stderr(false, false));
    let phase = OnceCell::new();
    let wanted = WantedInspection {
        dump: args.dump,
        limit: match args.limit {
            0 => u64::MAX,
            limit => limit,
        },
        verify: !args.no_verify,
        progress: &|read, total| {
            let begun = || progress.phase("verifying blocks", total);
            phase.get_or_init(begun).at(read);
        },
    };
    let found = inspection::inspect(directory, &wanted);
    let found = found.map_err(|e| CommandError::failed(e.to_string()))?;
    if let Some(phase) = phase.into_inner() {
        phase.done("read");
    }
    Ok(found)
}

/// The directory of the log that `path` names.
fn log_directory(path: &Path) -> Result<PathBuf, CommandError> {
    let shown = path.display();
    let found = std::fs::symlink_metadata(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => CommandError::usage(format!(
            "{shown}: does not exist; name a log's directory or one of its files"
        )),
        _ => CommandError::usage(format!("{shown}: {e}")),
    })?;
    if path.is_dir() || device::raw::is_block_device(path) {
        return Ok(path.to_owned());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ours = name == "redo.ctl"
        || (name.strip_prefix("redo"))
            .and_then(|rest| rest.strip_suffix(".log"))
            .is_some_and(|n| n.len() >= 2 && n.bytes().all(|b| b.is_ascii_digit()));
    if !found.is_file() || !ours {
        return Err(CommandError::failed(format!(
            "{shown}: not a redolab log file; name a log's directory, its redo.ctl or a redoNN.log"
        )));
    }
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    Ok(parent.unwrap_or(Path::new(".")).to_owned())
}
