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
    if std::env::args().nth(1).as_deref() == Some("count") {
        let version = std::env::args().nth(2).ok_or(USAGE)?;
        let commits: u32 = std::env::args().nth(3).ok_or(USAGE)?.parse()?;
        return match version.as_str() {
            "old" => count(
                old::open(side::Place::Null, side::Writer::Inline, false)?,
                commits,
            ),
            _ => count(
                new::open(side::Place::Null, side::Writer::Inline, false)?,
                commits,
            ),
        };
    }
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

/// Commits so often, in one session.
fn count<E: side::Engine>(log: E, commits: u32) -> Result<(), AnyError> {
    let mut session = log.session();
    let record = [7_u8; 1_997];
    let mut log_seq = 0;
    for _ in 0..commits {
        E::commit(&mut session, &[&record])?;
        log.follow(&mut log_seq)?;
    }
    drop(session);
    log.close()
}
