//! The members of a log beside each other, or a disk and its ring, read-only.
//!
//! What it must not know: which member may be believed, and how this is shown.

use super::InspectedSalvage;
use measure::run::RingFactsKind;
use redo::control::RingKind;
use redo::engine::{InspectedMember as Found, MembersInspection, RingInspection};
use redo::{Error, Salvage};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The schema of an inspection of members.
const SCHEMA: &str = "redolab.members/1";

/// The members of a log.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedMembers {
    schema: &'static str,
    /// What they are, such as `mirror of 2`; `None` where no member was found.
    pub(crate) kind: Option<String>,
    /// All are there, in sync and equal; a disk lacks nothing of what its ring has.
    pub(crate) equal: bool,
    /// What refuses to open the log with them.
    pub(crate) refused: Option<String>,
    /// Of a log with a ring, its disk.
    pub(crate) members: Vec<InspectedMember>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ring: Option<InspectedRing>,
    /// What giving up the redo behind the damage loses, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) salvage: Option<InspectedSalvage>,
    /// What could be given up of a log with a ring.
    #[serde(skip)]
    pub(crate) damage: Option<Salvage>,
}

/// The ring of a log.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedRing {
    pub(crate) path: String,
    /// `spare`: the disk has everything that was acknowledged, and opens without its ring;
    /// `needed`: the disk may lack what was acknowledged last; `unusable`.
    pub(crate) state: &'static str,
    pub(crate) ring_bytes: Option<u64>,
    /// Batches of the log's current life; those of a spare ring do not count.
    pub(crate) batches: u64,
    pub(crate) batch_bytes: u64,
    /// The first block that does not count on the disk after it was given what the ring has.
    pub(crate) end_rba: Option<String>,
    pub(crate) why: Option<String>,
}

/// One of them.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedMember {
    pub(crate) path: String,
    /// Its number, from 1.
    pub(crate) member: Option<usize>,
    /// Its cell, from 1.
    pub(crate) cell: Option<usize>,
    pub(crate) state: String,
    pub(crate) generation: Option<u64>,
    /// The first block that does not count on it.
    pub(crate) end_rba: Option<String>,
    /// Redo that it lacks against the others.
    pub(crate) lacking_bytes: Option<u64>,
    pub(crate) open_by_pid: Option<u32>,
    pub(crate) why: Option<String>,
}

impl InspectedMembers {
    /// Looks at the members in these directories.
    ///
    /// # Errors
    /// A device that fails.
    pub(crate) fn of(directories: &[PathBuf]) -> Result<InspectedMembers, Error> {
        let found = MembersInspection::of(directories)?;
        let kind = found.table.map(|table| {
            let (count, cell) = (table.count, table.cell);
            match cell {
                1 => format!("mirror of {count}"),
                _ if cell == count => format!("race of {count}"),
                _ => format!("mirror of {} races of {cell}", count / cell),
            }
        });
        Ok(InspectedMembers {
            schema: SCHEMA,
            kind,
            equal: found.equal,
            refused: found.refused,
            members: found.members.into_iter().map(InspectedMember::of).collect(),
            ring: None,
            salvage: None,
            damage: None,
        })
    }

    /// Looks at the log in `disk`, whose ring is in `ring`.
    ///
    /// # Errors
    /// A device that fails.
    pub(crate) fn of_ring(disk: &Path, ring: &Path) -> Result<InspectedMembers, Error> {
        let found = RingInspection::of(disk, ring)?;
        let kind = found.table.map(|table| match table.kind {
            RingKind::Ring => RingFactsKind::Ring.name(),
            RingKind::Failover => RingFactsKind::Failover.name(),
        });
        let state = match (found.table, found.ring_bytes) {
            (Some(table), Some(_)) if table.spare => "spare",
            (Some(_), Some(_)) => "needed",
            _ => "unusable",
        };
        let is_whole = found.refused.is_none() && found.lacking_bytes == 0;
        Ok(InspectedMembers {
            schema: SCHEMA,
            kind: kind.map(str::to_owned),
            equal: is_whole && found.ring_bytes.is_some(),
            refused: found.refused,
            members: vec![InspectedMember {
                path: disk.display().to_string(),
                member: None,
                cell: None,
                state: match found.table {
                    Some(_) => "disk",
                    None => "other",
                }
                .to_owned(),
                generation: found.generation,
                end_rba: found.disk_end.map(|rba| rba.to_string()),
                lacking_bytes: found.table.map(|_| found.lacking_bytes),
                open_by_pid: found.open_by,
                why: None,
            }],
            ring: Some(InspectedRing {
                path: ring.display().to_string(),
                state,
                ring_bytes: found.ring_bytes,
                batches: found.batches,
                batch_bytes: found.batch_bytes,
                end_rba: found.end.map(|rba| rba.to_string()),
                why: found.unused,
            }),
            salvage: None,
            damage: found.damage,
        })
    }
}

impl InspectedMember {
    fn of(found: Found) -> InspectedMember {
        InspectedMember {
            path: found.path.display().to_string(),
            member: found.number.map(|number| number + 1),
            cell: found.cell.map(|cell| cell + 1),
            state: found.condition.to_string(),
            generation: found.generation,
            end_rba: found.end.map(|rba| rba.to_string()),
            lacking_bytes: found.lacking_bytes,
            open_by_pid: found.open_by,
            why: found.why,
        }
    }
}
