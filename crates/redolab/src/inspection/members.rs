//! The members of a log beside each other, read-only.
//!
//! What it must not know: which member may be believed, and how this is shown.

use redo::Error;
use redo::engine::{InspectedMember as Found, MembersInspection};
use serde::Serialize;
use std::path::PathBuf;

/// The schema of an inspection of members.
const SCHEMA: &str = "redolab.members/1";

/// The members of a log.
#[derive(Debug, Serialize)]
pub(crate) struct InspectedMembers {
    schema: &'static str,
    /// What they are, such as `mirror of 2`; `None` where no member was found.
    pub(crate) kind: Option<String>,
    /// All are there, in sync and equal.
    pub(crate) equal: bool,
    /// What refuses to open the log with them.
    pub(crate) refused: Option<String>,
    pub(crate) members: Vec<InspectedMember>,
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
