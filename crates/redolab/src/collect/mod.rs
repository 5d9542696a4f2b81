//! What to gather where a redo log is slow: scripts for servers that redolab cannot ask itself, and
//! readings of those that it can.
//!
//! Invariants: a kit's script names its privileges, its load and what it changes; what is read here
//! is only read; each file that is written imports without options, or is skipped by name.
//!
//! What it must not know: how evidence is recognised and read.

pub mod disks;
pub mod kit;
pub mod place;
pub mod server;
