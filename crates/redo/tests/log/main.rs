//! Logs on files and devices, in one program: each costs a link and a copy of what they share.

mod archive_mode;
mod async_examples;
mod asynchronous;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod completion_events;
mod control_copies;
mod corruption;
mod faults;
mod hostile_control;
mod inspection;
mod known_durable;
mod log_full;
mod member_faults;
mod member_salvage;
mod members;
mod mixed_copies;
mod observed;
#[path = "../common/orders.rs"]
mod orders;
mod panics;
mod pipeline;
#[path = "../common/places.rs"]
mod places;
mod planted_bugs;
mod reading;
mod refusals;
mod removal_order;
mod replaced_members;
mod ring;
mod salvage;
mod sectors;
mod striped;
mod swapped_folder;
mod version_1;
