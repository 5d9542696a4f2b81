//! A log that goes on while its disk stalls: what the disk does not answer within 5 ms goes to a
//! small ring on another disk.
//!
//! `cargo run -p redolab-redo --example failover -- DISK_DIRECTORY RING_DIRECTORY`

use redo::{CommitMode, Log, MemberLayout};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let places: Vec<_> = std::env::args_os().skip(1).collect();
    let [disk, ring] = &places[..] else {
        return Err("name a directory on each of two disks".into());
    };
    let delay = std::time::Duration::from_millis(5);
    let layout = MemberLayout::failover(disk, ring, 64 << 20, delay);
    let mut builder = Log::builder(layout);
    if !std::path::Path::new(disk).join("redo.ctl").exists() {
        builder = builder.create()?;
    }
    let (log, _recovery) = builder.open()?;
    let mut session = log.session();
    session.append(&[b"order"])?;
    session.commit(CommitMode::WAIT_IMMEDIATE)?;
    println!("{:?}", log.ring());
    Ok(log.close()?)
}
