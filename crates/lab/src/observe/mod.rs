//! What is observed beside a run: processors, the device's own counters, other users of the
//! device, the machine, and what the tools of others tell of it.
//!
//! Invariants: parsers take text, so that each is tested with the text of several kernels; a
//! counter that a kernel lacks is `None`, never zero; counters that go back give zero, not a
//! wrapped difference. Nothing here writes anything.

pub mod audit;
pub mod background;
pub mod cpu;
pub mod diskstats;
pub mod machine;
pub mod mountstats;
pub mod pressure;
pub mod process_tree;
pub mod sampler;
pub mod thread;
pub mod tools;
pub mod topology;
pub mod tracefs;

/// `part` of `whole` in percent; zero of nothing.
fn pct(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}
