//! What only the feature `crash` compiles: simulated crashes, orders, lost wake-ups.

#[path = "../common/mod.rs"]
mod common;
#[path = "../hangs/copy_hangs.rs"]
mod copy_hangs;
mod crash_damage_scan;
mod crash_lost_wake;
mod crash_member_states;
mod crash_members;
mod crash_orders;
mod crash_recovery_model;
mod crash_ring;
mod crash_simulation;
#[path = "../common/generated.rs"]
mod generated;
#[path = "../common/hangs.rs"]
mod hangs;
#[path = "../common/histories.rs"]
mod histories;
#[path = "../common/orders.rs"]
mod orders;
#[path = "../common/places.rs"]
mod places;
