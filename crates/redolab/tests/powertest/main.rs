//! Power tests end to end: a server, a writer on a disk whose power can be cut, and the reader
//! after the restart; disks that lie, bad input, networks, and what the verdict makes of it.
//!
//! What needs root, a tool or a device is skipped with a line that begins `skipped: `. With
//! `REDOLAB_POWER_REQUIRED` a test that cannot run fails instead.

mod bad_input;
mod bench;
mod cuts;
mod disk;
mod evidence;
#[path = "../../../redo/tests/crash_power_cuts/fuse.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod fuse;
#[path = "../cli/inside.rs"]
#[expect(dead_code, reason = "what tests of collections need")]
mod inside;
mod kills;
mod namespaces;
mod network;
#[path = "../../../redo/tests/crash_power_cuts/program.rs"]
mod program;
mod raw_device;
mod shutdown;
mod turns;
mod verdict;

use turns::{alone, number};

/// Reports that a test cannot run here.
pub fn skipped(why: &str) {
    assert!(
        std::env::var_os("REDOLAB_POWER_REQUIRED").is_none(),
        "this proof needs what is missing: {why}"
    );
    println!("skipped: {why}");
}
