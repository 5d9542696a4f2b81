//! How a run is shown: tables for people, JSON and CSV for programs, progress on standard error.
//!
//! Invariants: every view says where the figures come from (`origin`) and whether they are valid;
//! no text from outside reaches a terminal before [`measure::words::sanitize`] or a CSV cell before
//! [`csv`]; a file of the user is written by [`file`](mod@file) alone.

pub mod canary;
pub mod capacity;
pub mod catalogue;
pub mod comparison;
pub mod csv;
pub mod devices;
pub mod differences;
mod drawing;
pub mod factors;
pub mod file;
pub mod head;
pub mod imported;
pub mod inspection;
pub mod json;
pub mod lines;
pub mod listings;
pub mod overview;
pub mod powertest;
pub mod progress;
pub mod r_format;
pub mod report;
pub mod rows;
pub mod samples;
pub mod section;
pub mod stack;
pub mod stored;
pub mod table;
pub mod temporary;
pub mod tproc_c_load;
pub mod watched;
