//! `redolab inspect --members`: the members of a log beside each other, and a lost one made anew.

use super::{InspectArgs, salvage};
use crate::cli::members::{MembersChoice, MembersRole};
use crate::cli::{CommandError, FAILED};
use crate::inspection::{InspectedMembers, InspectedSalvage};
use crate::output::inspection as text;
use redo::engine::{FAILOVER_DELAY_MAX, RING_MIN_BYTES};
use redo::{Log, MemberLayout, Options, SyncMethod};
use std::path::PathBuf;
use std::process::ExitCode;

/// # Errors
/// Wrong usage; a replacement that is refused or fails; a device that fails.
pub(super) fn main(args: &InspectArgs, members: &MembersChoice) -> Result<ExitCode, CommandError> {
    for directory in &members.directories {
        args.view.reads(directory);
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            args.view.reads(&entry.path());
        }
    }
    if args.accept_member_loss && !args.replace_member && !args.salvage {
        return Err(CommandError::usage(
            "--accept-member-loss: add --replace-member or --salvage, which need it",
        ));
    }
    let given_up = match (args.accept_loss, members.directories.first()) {
        (Some(at), Some(first)) => {
            args.view.check()?;
            let layout = layout(members).accept_loss(args.accept_member_loss);
            Some(salvage::give_up_in(layout, first, at)?)
        }
        _ => None,
    };
    let found = match (members.role, &members.directories[..]) {
        (MembersRole::Ring | MembersRole::Failover, [disk, ring]) => {
            if args.replace_member {
                return Err(CommandError::usage(
                    "--replace-member: a ring holds no copy of the log, and is not replaced; a log \
                     whose ring is spare opens without it",
                ));
            }
            InspectedMembers::of_ring(disk, ring)
        }
        (_, directories) => {
            if args.replace_member {
                args.view.check()?;
                replace(members, args.accept_member_loss)?;
            }
            InspectedMembers::of(directories)
        }
    };
    let mut found = found.map_err(|e| CommandError::failed(e.to_string()))?;
    if let Some(given_up) = given_up {
        found.salvage = Some(InspectedSalvage::of(&given_up, true));
    } else if args.salvage {
        let directories = &members.directories;
        let foreseen = salvage::foresee_members(directories, &found, args.accept_member_loss)?;
        found.salvage = Some(InspectedSalvage::of(&foreseen, false));
    }
    args.view
        .emit(&found, |style| text::members(&found, style))?;
    let refused = found.refused.is_some();
    Ok(ExitCode::from(if refused { FAILED } else { 0 }))
}

/// Opens the log, with a new member in place of the lost one, and closes it.
fn replace(members: &MembersChoice, accept_loss: bool) -> Result<(), CommandError> {
    let failed = |error: redo::Error| CommandError::failed(error.to_string());
    // What is given twice, or is nowhere, is refused before anything is made.
    let before = InspectedMembers::of(&members.directories).map_err(failed)?;
    if before.members.iter().all(|member| member.state != "empty") {
        return Err(CommandError::usage(
            "--replace-member: none of the directories is empty; give an empty directory in place \
             of the lost member's",
        ));
    }
    let layout = layout(members).accept_loss(accept_loss).replace_lost(true);
    // Every file system takes it.
    let options = Options::default().sync_method(SyncMethod::Buffered);
    let (log, recovery) = Log::builder(layout)
        .options(options)
        .open()
        .map_err(failed)?;
    drop(recovery);
    let stale = log.members().into_iter().filter(|member| !member.in_sync);
    let stale: Vec<PathBuf> = stale.map(|member| member.path).collect();
    let notes = log.back_end().fallbacks.join("; ");
    log.close().map_err(failed)?;
    match stale.is_empty() {
        true => Ok(()),
        false => Err(CommandError::failed(format!(
            "not all members are in sync: {notes}"
        ))),
    }
}

fn layout(members: &MembersChoice) -> MemberLayout {
    let all = &members.directories;
    let layout = match members.role {
        MembersRole::Cells { cell } if cell == all.len() => MemberLayout::race(all),
        MembersRole::Cells { cell } if cell > 1 => {
            MemberLayout::mirror_of_races(all.chunks(cell).map(<[PathBuf]>::to_vec))
        }
        MembersRole::Cells { .. } => MemberLayout::mirror(all),
        // The size of its ring is of no account, which was made with the log.
        MembersRole::Ring => MemberLayout::ring(&all[0], &all[1], RING_MIN_BYTES),
        MembersRole::Failover => {
            MemberLayout::failover(&all[0], &all[1], RING_MIN_BYTES, FAILOVER_DELAY_MAX)
        }
    };
    // Where its members are was decided when the log was made.
    layout.force_same_device(true)
}
