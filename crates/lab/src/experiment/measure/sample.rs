//! One transaction of a session, as it is recorded and captured.

use measure::Nanos;
use measure::driver::Transaction;

/// One transaction.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// From its start until its commit returned.
    pub latency_ns: u64,
    /// What the target reported of it.
    pub transaction: Transaction,
    /// The session.
    pub session: u32,
}

impl Sample {
    /// Of a transaction of that session, which began at `start`.
    #[must_use]
    pub fn of(transaction: Transaction, start: Nanos, session: u32) -> Sample {
        Sample {
            latency_ns: transaction.returned.since(start).0,
            transaction,
            session,
        }
    }
}
