//! End to end through the binary: each test has a directory and a store of its own, starts
//! `redolab` as a user would, and looks at what it says, at its exit code, and at what it leaves.
//!
//! What needs root, a tool or room is skipped with a line that begins `skipped: `.

mod asked;
mod background;
mod browser;
mod busy;
mod calibrate;
mod capacity;
mod check;
mod closed_streams;
mod collect;
mod columns;
mod compare;
mod credits;
mod device_list;
mod driver;
mod durability_rows;
mod evidence;
mod explain;
mod factors;
mod files;
mod findings;
mod first_hour;
mod harness;
mod import;
mod input;
mod inputs;
#[expect(dead_code, reason = "what tests of servers need")]
mod inside;
mod inspect;
mod interchange;
mod interrupted;
mod judged;
mod kills;
mod limits;
mod loads;
mod members;
mod nodes;
mod notes;
mod old_forms;
mod outputs;
mod placement;
mod power_tests;
mod production;
mod progress;
mod raw;
mod recording;
mod redact;
mod rings;
mod sessions;
mod simulate;
mod slow_writes;
mod stored;
mod striped;
mod summary;
mod tproc_c;
mod trace_export;

mod units;
mod verdict_rows;
mod volumes;
mod widths;
mod winners;
mod work_folders;
