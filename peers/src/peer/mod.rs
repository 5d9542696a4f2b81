//! The logs that are compared: a table of how each is opened and what it is set to.
//!
//! What lives here: [`all`], the one list; below it one file a log. A peer gives a step for each
//! committer; a step makes commits durable and notes them on the tape. Most steps make one commit
//! and wait; one that keeps many in flight notes each on the tape as it is acknowledged.
//!
//! Invariants: settings are the best that were found for durable commits, and are said here, where
//! they are made; a step never notes on the tape what is not acknowledged as durable.

mod fjall;
mod fsys;
mod okaywal;
mod raft_engine;
mod redb;
mod redolab;
#[cfg(feature = "rocksdb")]
mod rocksdb;
mod sqlite;
mod unsynced;
mod walrus;

use crate::AnyError;
use crate::tape::Tape;
use std::any::Any;
use std::path::Path;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// How often a peer's housekeeping is called.
pub const HOUSEKEEPING: Duration = Duration::from_millis(2);

/// One turn of a committer.
pub type Step = Box<dyn FnMut(&mut Tape) -> Result<(), AnyError> + Send>;

/// A committer that is a task: it commits until its tape is over, and gives the tape back. An error
/// ends it.
pub type Task = Box<dyn FnOnce(Tape) -> Working + Send>;

/// A task at work.
pub type Working = Pin<Box<dyn Future<Output = (Tape, Result<(), AnyError>)> + Send>>;

/// What the application of a log does beside committing: checkpoints, purging.
pub type Housekeeping = Box<dyn FnMut() -> Result<(), AnyError>>;

/// How a peer is opened: its files are made, and brought to where it reuses them.
pub type Open = fn(&Place) -> Result<Opened, AnyError>;

/// Where and for how many committers a log is opened.
pub struct Place<'a> {
    /// An empty directory.
    pub directory: &'a Path,
    pub threads: u32,
    /// What follows the colon of the peer's name; empty if nothing does.
    pub variant: &'a str,
}

/// An open log at work.
pub struct Opened {
    /// One for each committer that is a thread.
    pub steps: Vec<Step>,
    /// One for each committer that is a task, on two workers of tokio.
    pub tasks: Vec<Task>,
    /// Commits that each of them keeps under way; 1 where each waits for the one before.
    pub in_flight: u32,
    /// Called every [`HOUSEKEEPING`] by a thread of its own.
    pub housekeeping: Option<Housekeeping>,
    /// Dropped after the committers have ended.
    pub log: Box<dyn Any>,
}

/// What a peer is in the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The log that is judged.
    Own,
    /// Many commits share a flush.
    GroupCommit,
    /// Every commit flushes by itself: what an application gets that embeds a store.
    Single,
    /// Acknowledges without flushing: the check must exclude it.
    Control,
}

/// A log to compare.
#[derive(Clone, Copy)]
pub struct Peer {
    /// `name` or `name:variant`.
    pub name: &'static str,
    pub class: Class,
    /// Its crate or module, whose version the lock file holds.
    pub package: &'static str,
    /// What it is set to, and why where that is not plain.
    pub settings: &'static str,
    /// `None`: a program of its own (Go).
    pub open: Option<Open>,
}

/// Every peer that is built, in the order of the table.
pub fn all() -> Vec<Peer> {
    let mut peers = vec![
        redolab::AUTO,
        redolab::INLINE,
        redolab::LGWR,
        redolab::WORKERS,
        redolab::ADAPTIVE,
        redolab::TASKS,
    ];
    peers.extend([
        raft_engine::PEER,
        okaywal::PEER,
        fsys::BUFFERED,
        fsys::DIRECT,
        PEBBLE,
    ]);
    #[cfg(feature = "rocksdb")]
    peers.extend([rocksdb::SYNC, rocksdb::PIPELINED]);
    peers.extend([
        fjall::PEER,
        redb::PEER,
        walrus::PEER,
        sqlite::PEER,
        unsynced::PEER,
    ]);
    peers
}

/// Pebble, through pebble/main.go.
pub const PEBBLE: Peer = Peer {
    name: "pebble",
    class: Class::GroupCommit,
    package: "github.com/cockroachdb/pebble/v2",
    settings: "Set with Sync from goroutines; memtables of 64 MiB, no compactions; its recycled \
               logs are filled before the load (three memtables without sync)",
    open: None,
};

/// The peer of that name, and the variant that the name asks for. Any variant that redolab's own
/// library understands is known, whether it is listed or not.
pub fn find(name: &str) -> Result<(Peer, String), AnyError> {
    let (head, variant) = name.split_once(':').unwrap_or((name, ""));
    if let Some(peer) = all().into_iter().find(|peer| peer.name == name) {
        return Ok((peer, variant.to_owned()));
    }
    if head == "redolab" {
        redolab::mode(variant)?;
        return Ok((redolab::AUTO, variant.to_owned()));
    }
    let names: Vec<&str> = all().iter().map(|peer| peer.name).collect();
    Err(format!("no peer `{name}` is built; there are {}", names.join(", ")).into())
}

/// What `name` is in the comparison.
pub fn class(name: &str) -> Class {
    match find(name) {
        Ok((peer, _)) => peer.class,
        // Data of a program that was built with other features.
        Err(_) => Class::GroupCommit,
    }
}

/// A step that makes one commit and waits for it.
pub fn blocking(mut commit: impl FnMut(&[u8]) -> Result<(), AnyError> + Send + 'static) -> Step {
    Box::new(move |tape| {
        let record = tape.next_record();
        let since = Instant::now();
        commit(record)?;
        tape.acknowledged(since);
        Ok(())
    })
}

/// Keys of the stores: each committer writes over as many rows of its own, so that a store stays
/// small however long it runs.
pub const ROWS: u64 = 64;

/// Key `number` of a committer.
pub fn key(committer: u32, number: u64) -> u64 {
    (u64::from(committer) << 32) | (number % ROWS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_found() {
        let all = all();
        for peer in &all {
            let (found, _) = find(peer.name).expect("listed");
            assert_eq!(found.name, peer.name);
            assert!(!peer.settings.is_empty() && !peer.name.contains(','));
            assert_eq!(all.iter().filter(|p| p.name == peer.name).count(), 1);
        }
        assert!(find("raft-engine:fast").is_err());
        assert_eq!(class("unsynced"), Class::Control);
    }
}
