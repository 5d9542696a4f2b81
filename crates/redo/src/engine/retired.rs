//! What is in the place of the log writer's queue once the log is gone: sessions may outlive the
//! log, and must not hold its files.

use device::{IoFailure, Op, OpCompletion, Queue};

/// What the system would say of a file that was closed.
const EBADF: i32 = 9;

/// A queue without a device: each operation fails.
#[derive(Default)]
pub(super) struct Retired {
    failed: Vec<OpCompletion>,
}

impl Queue for Retired {
    fn submit(&mut self, ops: &[Op]) {
        let failed = ops.iter().map(|op| OpCompletion {
            id: op.id,
            result: Err(IoFailure { errno: EBADF }),
            by: 0,
        });
        self.failed.extend(failed);
    }

    fn poll(&mut self, out: &mut Vec<OpCompletion>, _wait: bool) -> usize {
        let count = self.failed.len();
        out.append(&mut self.failed);
        count
    }
}
