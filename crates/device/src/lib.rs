//! Where a redo log lives.
//!
//! What lives here: [`LogDevice`] and its [`Queue`]s, the memory that is written from
//! ([`Region`]), back ends over files, raw block devices with the rules that keep them from being
//! overwritten by mistake (`raw`), the null device, the fault device, and `identify`, which walks
//! the storage stack below a path.
//!
//! What it must not know: redo blocks, records, commits, who writes or why.

pub mod error;
pub mod fault;
pub mod file;
pub mod identify;
mod ioctl;
pub mod null;
pub mod queue;
pub mod raw;
pub mod region;
pub mod sim_disk;
pub mod window;

pub use error::DeviceError;
pub use fault::FaultDevice;
pub use file::{FileSet, SyncMethod};
pub use null::NullDevice;
pub use queue::{Caps, Completion, IoFailure, LogDevice, Op, OpKind, Piece, Queue};
pub use region::Region;
pub use sim_disk::SimDisk;
pub use window::Window;
