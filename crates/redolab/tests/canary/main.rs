//! `redolab watch --canary`: what it prints and leaves behind, and what it makes of stalls that are
//! injected: a disk that pauses or is limited, writers that have a slow disk write back, and
//! programs that take the canary's processor.
//!
//! `REDOLAB_CANARY_STALLS` sets how many stalls of each class are injected,
//! `REDOLAB_CANARY_QUIET_S` how long a quiet machine is watched, `REDOLAB_CANARY_CSV` names a file
//! of data. What needs root, a tool or a device is skipped with a line that begins `skipped: `;
//! with `REDOLAB_CANARY_REQUIRED` a test that cannot run fails instead.

#[path = "../../../redo/tests/crash_power_cuts/fuse.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod fuse;
#[path = "../cli/harness.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod harness;
mod injected;
mod plain;
#[path = "../../../redo/tests/crash_power_cuts/program.rs"]
mod program;
mod slow_disk;
mod stalls;
#[path = "../powertest/turns.rs"]
mod turns;

use turns::{alone, number};

/// Reports that a test cannot run here.
pub fn skipped(why: &str) {
    assert!(
        std::env::var_os("REDOLAB_CANARY_REQUIRED").is_none(),
        "this proof needs what is missing: {why}"
    );
    println!("skipped: {why}");
}
