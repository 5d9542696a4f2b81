//! The log writer in virtual time: what commits would take with another number of sessions, on
//! other processors or on another device.
//!
//! What decides is the code that runs live: [`redo::writer::Writer`], [`redo::rules`], the learner
//! of adaptive log writers, the flush triggers. What is here is the world around it: sessions,
//! processors, a log buffer that only counts, a device that only takes time.
//!
//! Invariants:
//! - One setup and one seed give the same result, on every machine: random draws, logarithms and
//!   exponentials come from one library in software.
//! - Memory does not grow with simulated time.
//! - A simulation ends: with its time, or with a [`SimulationStopped`] that says why it cannot go
//!   on.
//!
//! What it leaves out: members that fail or fall behind, stripes, rings, failover, the archiver;
//! database writers keep up.

mod agenda;
mod buffer;
mod chance;
mod cores;
mod device_model;
mod fit;
mod lead;
mod member_set;
mod members;
mod model_file;
mod serve;
mod session;
mod setup;
mod state;
mod wake;
mod world;

pub use device_model::{
    DeviceFront, DeviceModel, EmpiricalModel, FlashModel, LatencyTail, RateCap, RotationModel,
    ServiceModel,
};
pub use fit::{Fit, FitEffort, GoesOn, MeasuredCell, fit};
pub use member_set::MemberCount;
pub use model_file::{Model, ModelBasis, ModelDevice, ModelError};
pub use setup::{Costs, LogSetup, MemberDevices, SimulationSetup, WayToDevices};
pub use world::{SimulationOutcome, SimulationStopped, run, run_while};

#[cfg(test)]
mod tests;
