//! Logs whose devices hang while they are opened, closed, copied or healed.

mod close_hangs;
mod close_ring_hangs;
#[path = "../common/mod.rs"]
mod common;
mod copy_hangs;
#[path = "../common/ends.rs"]
mod ends;
#[path = "../common/hangs.rs"]
mod hangs;
mod member_hangs;
mod open_hangs;
#[path = "../common/places.rs"]
mod places;
mod ring_hangs;
#[path = "../common/ring_rig.rs"]
mod ring_rig;
