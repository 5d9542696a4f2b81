//! What only the feature `crash` compiles: simulated crashes, orders, lost wake-ups.

#[path = "../common/mod.rs"]
mod common;
mod crash_lost_wake;
mod crash_member_states;
mod crash_members;
mod crash_orders;
mod crash_recovery_model;
mod crash_ring;
mod crash_simulation;
#[path = "../common/histories.rs"]
mod histories;
#[path = "../common/orders.rs"]
mod orders;
