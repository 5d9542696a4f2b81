//! Commits through two versions of the redo engine in one process, in turns: chunks in the order
//! A B B A, and B A A B in every second group. See README.md.
//!
//! `engine-versions DIRECTORY disk|null|all [LIVES [GROUPS [CHUNK_MS]]]`
//!
//! In a life both logs are opened, in an order that alternates, and their sessions are started.
//! Every cell has one life after the other cells had theirs. Sessions of the version that is not
//! measured sleep.

mod cell;
mod new;
mod old;
mod place;
mod side;

use cell::Cell;
use std::path::PathBuf;
use std::time::Duration;

/// What the program fails with.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

const USAGE: &str = "engine-versions DIRECTORY disk|null|all [LIVES [GROUPS [CHUNK_MS]]]";

fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1);
    let parent = PathBuf::from(args.next().ok_or(USAGE)?);
    let targets = args.next().ok_or(USAGE)?;
    let lives: u32 = args.next().map_or(Ok(20), |n| n.parse())?;
    let groups: u32 = args.next().map_or(Ok(15), |n| n.parse())?;
    let chunk_ms: Option<u64> = args.next().map(|n| n.parse()).transpose()?;
    let chunk = chunk_ms.map(Duration::from_millis);
    let wanted = |cell: &Cell| targets == "all" || cell.target.name() == targets;
    let cells: Vec<Cell> = Cell::all(chunk).into_iter().filter(wanted).collect();
    if cells.is_empty() {
        return Err(USAGE.into());
    }
    let folders = place::Folders::new(&parent)?;
    println!("{}", cell::HEADING);
    for life in 0..lives {
        for cell in &cells {
            cell.live(&folders, life, groups)
                .map_err(|e| format!("{}: {e}", cell.name()))?;
        }
        eprintln!("life {} of {lives}", life + 1);
    }
    Ok(())
}
