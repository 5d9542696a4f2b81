//! An embeddable redo log: log buffer, log writer, group commit, log groups with switches and a
//! checkpoint position, recovery.
//!
//! Commits are durable when they return (`COMMIT WRITE WAIT`), whatever happens to the process,
//! the system or the power, as far as the device keeps what it has acknowledged
//! (docs/assumptions.md lists what is relied on).
//!
//! ```
//! use redo::{CommitMode, Log, Options, Shape};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = std::env::temp_dir().join(format!("redo-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&directory)?;
//! # let tidy = scopeguard(&directory);
//! let shape = Shape { file_bytes: 1 << 20, ..Shape::default() };
//! Log::create(&directory, shape, &|_done, _total| {}, &|| false)?;
//!
//! let (log, _) = Log::open(&directory, Options::default())?;
//! let mut session = log.session();
//! session.append(&[b"debit 100", b"credit 100"])?;
//! let commit = session.commit(CommitMode::WAIT_IMMEDIATE)?;
//! assert!(commit.durable);
//! drop(log); // no close: as after a crash
//!
//! let (log, recovery) = Log::open(&directory, Options::default())?;
//! let mut found = Vec::new();
//! recovery.for_each(|rba, record| found.push((rba, record.to_vec())))?;
//! assert_eq!(found.len(), 1);
//! assert_eq!(found[0].1, b"debit 100credit 100");
//! // Once the records are applied to durable data, the log may forget them.
//! log.checkpoint(log.durable())?;
//! log.close()?;
//! # Ok(())
//! # }
//! # struct Guard(std::path::PathBuf);
//! # impl Drop for Guard { fn drop(&mut self) { let _ = std::fs::remove_dir_all(&self.0); } }
//! # fn scopeguard(path: &std::path::Path) -> Guard { Guard(path.to_owned()) }
//! ```

mod buffer;
pub mod commit;
pub mod control;
#[cfg(all(feature = "crash", not(loom)))]
pub mod crash;
#[cfg(not(loom))]
mod divisor;
pub mod engine;
pub mod error;
pub mod format;
pub mod group;
#[cfg(all(test, loom))]
mod interleavings;
pub mod planted;
pub mod rba;
mod read_ahead;
pub mod recovery;
#[cfg(all(test, shuttle))]
mod schedules;
mod sync;
mod tickets;
mod triggers;
mod turn;
mod wait;
pub mod writer;

pub use buffer::{Batch, Stations};
pub use commit::{Commit, CommitMode};
#[cfg(not(loom))]
pub use engine::{Completions, Log, LogWriter, Options, Session, Shape};
pub use error::Error;
pub use rba::Rba;
pub use recovery::Recovery;
pub use tickets::{Completion, QueueFull, Ticket};
pub use triggers::Triggers;
pub use writer::LogFileSync;
