//! A program that embeds the log: recovers what earlier runs committed, commits one more record,
//! and ends without closing, as in a crash. Run it several times.
//!
//! `cargo run -p redolab-redo --example embed -- DIRECTORY`

use redo::{CommitMode, Log, Shape};

/// Run by the tests too.
///
/// # Errors
/// Those of the log.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).ok_or("name a directory")?;
    let directory = std::path::Path::new(&directory);
    if !directory.join("redo.ctl").exists() {
        let shape = Shape::default().file_bytes(1 << 20);
        Log::builder(directory).shape(shape).create()?;
    }
    let (log, recovery) = Log::builder(directory).open()?;
    let found = recovery.recover(|rba, record| {
        println!("recovered {rba}: {}", String::from_utf8_lossy(record));
        Ok::<(), redo::Error>(())
    })?;
    let mut session = log.session();
    session.append(&[b"order ", found.to_string().as_bytes()])?;
    session.commit(CommitMode::WAIT_IMMEDIATE)?;
    println!("committed order {found}");
    std::process::exit(0); // no close: as in a crash
}
