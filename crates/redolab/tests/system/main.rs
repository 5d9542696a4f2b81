//! Tests that start processes, mount file systems or make loop devices. What needs root is
//! skipped, with a word, where there is none.

mod archive;
#[path = "../it/common.rs"]
mod common;
mod disk_full;
mod life;
mod live;
mod violence;
