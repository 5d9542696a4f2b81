//! Writers that acknowledge what is in the page cache alone: a power cut must take commits from
//! them.

use crate::common::record;
use crate::life::{self, Told};
use std::io::{Read, Write};
use std::path::Path;

/// A writer that lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Appends to a file through the page cache, and never syncs.
    Unsynced,
    /// The engine, buffered, with a bug planted: it acknowledges before the flush.
    Planted,
}

impl Control {
    pub fn all() -> Vec<Control> {
        vec![Control::Unsynced, Control::Planted]
    }

    pub fn name(self) -> &'static str {
        match self {
            Control::Unsynced => "control: written and never synced",
            Control::Planted => "control: the engine acknowledging before its flush",
        }
    }

    /// Whether something that was acknowledged is missing.
    pub fn lost(self, directory: &Path, told: &Told) -> bool {
        let last = told.acks.iter().map(|(_, which)| *which).max();
        match self {
            // A directory that is gone has lost everything that was put into it.
            Control::Unsynced => {
                let bytes = std::fs::read(directory.join(FILE)).unwrap_or_default();
                last.is_some_and(|last| !holds(&bytes, last))
            }
            Control::Planted => {
                let mut known = life::Known::default();
                for &(who, which) in &told.acks {
                    known[who as usize] = Some(which);
                }
                told.created && life::verify(directory, &known).is_err()
            }
        }
    }
}

const FILE: &str = "unsynced.log";

/// Appends and acknowledges for ever, as one session.
pub fn unsynced(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut file = std::fs::File::create(directory.join(FILE))?;
    life::tell_created();
    for which in 0.. {
        let bytes = record(0, which);
        file.write_all(&(bytes.len() as u32).to_le_bytes())?;
        file.write_all(&bytes)?;
        life::tell(0, which);
    }
    Ok(())
}

/// Whether the file holds every record up to `last`.
fn holds(bytes: &[u8], last: u32) -> bool {
    let mut rest = bytes;
    (0..=last).all(|which| {
        let mut len = [0; 4];
        if rest.read_exact(&mut len).is_err() {
            return false;
        }
        let expected = record(0, which);
        let whole = rest.strip_prefix(expected.as_slice());
        rest = whole.unwrap_or_default();
        whole.is_some() && u32::from_le_bytes(len) as usize == expected.len()
    })
}
