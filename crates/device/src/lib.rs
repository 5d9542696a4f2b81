//! Where a redo log lives.
//!
//! What lives here: [`LogDevice`] and its [`Queue`]s, the memory that is written from
//! ([`Region`]), back ends over files (calls that block, and io_uring), raw block devices with the
//! rules that keep them from being overwritten by mistake (`raw`), the null device, the fault
//! device, stripes over several devices, the pool of workers that makes a queue of many out of
//! queues that block, `identify`, which walks the storage stack below a path, and `presence`, which
//! reports whether its devices were away or lost their power.
//!
//! What it must not know: redo blocks, records, commits, who writes or why.

pub mod cpus;
pub mod doorbell;
pub mod error;
pub mod fault;
pub mod file;
pub mod identify;
mod ioctl;
pub mod null;
pub mod open_flags;
pub mod placement;
pub mod pool;
pub mod presence;
pub mod probe;
pub mod queue;
pub mod raw;
pub mod region;
pub mod sim_disk;
pub mod stripe;
pub mod uring;
pub mod window;

pub use doorbell::Doorbell;
pub use error::DeviceError;
pub use fault::FaultDevice;
pub use file::{FileSet, SyncMethod};
pub use null::NullDevice;
pub use probe::IoEngine;
pub use queue::{Caps, IoFailure, LogDevice, Op, OpCompletion, OpKind, Piece, Queue};
pub use region::{Pages, Region, RegionOptions};
pub use sim_disk::SimDisk;
pub use stripe::{StripeWidth, StripedDevice};
pub use uring::{UringFiles, UringOptions};
pub use window::DeviceWindow;
