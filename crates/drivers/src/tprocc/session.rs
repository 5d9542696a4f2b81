//! A session: a virtual user whose transactions are one call and one round trip each.
//!
//! Invariants: a transaction returned when the server is ready for the next one, which is after its
//! commit or rollback; what fails by a deadlock or does not serialize is run again, within its
//! latency; a new order is rolled back exactly if it was to be.

use super::mix::TransactionKind;
use super::server::{CallConnection, CallOutcome};
use super::tally::SessionTally;
use super::user::{UserCall, VirtualUser};
use measure::driver::{DriverError, DriverSession, Transaction};
use measure::{Nanos, RealClock};
use std::sync::Arc;
use std::time::Duration;

/// So often a transaction is run again.
const RETRIES_MAX: u32 = 1000;
/// A transaction that was run again so often pauses before each further time: under SERIALIZABLE
/// one that reads much loses against short ones for as long as all are run again at once.
const RETRIES_AT_ONCE: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);

/// A virtual user on a server.
pub struct TprocCSession {
    connection: Box<dyn CallConnection>,
    clock: RealClock,
    user: VirtualUser,
    tally: Arc<SessionTally>,
    returned: u64,
    is_failed: bool,
}

impl TprocCSession {
    /// A user on a connection of its own.
    #[must_use]
    pub fn new(
        connection: Box<dyn CallConnection>,
        clock: RealClock,
        user: VirtualUser,
        tally: Arc<SessionTally>,
    ) -> TprocCSession {
        TprocCSession {
            connection,
            clock,
            user,
            tally,
            returned: 0,
            is_failed: false,
        }
    }

    /// Runs a call until it is not to be run again.
    fn run(&mut self, call: &UserCall) -> Result<(Nanos, Nanos), DriverError> {
        let mut first = None;
        let mut retries = 0;
        loop {
            self.connection.encode(call, self.user.warehouse())?;
            let answer = self.connection.exchange(self.clock)?;
            let requested = *first.get_or_insert(answer.requested);
            match answer.outcome {
                CallOutcome::Returned(number) => {
                    self.check(call, number)?;
                    return Ok((requested, answer.returned));
                }
                CallOutcome::Retry(error) if retries == RETRIES_MAX => return Err(error),
                CallOutcome::Retry(_) => {
                    retries += 1;
                    if retries > RETRIES_AT_ONCE {
                        std::thread::sleep(PAUSE);
                    }
                    self.tally.add_retry();
                }
            }
        }
    }

    /// Checks that a new order was rolled back exactly if it was to be.
    fn check(&self, call: &UserCall, number: i64) -> Result<(), DriverError> {
        if call.kind() != TransactionKind::NewOrder {
            return Ok(());
        }
        match (call.is_rolled_back(), number == 0) {
            (true, true) => {
                self.tally.add_rollback();
                Ok(())
            }
            (false, false) => Ok(()),
            (true, false) => Err(DriverError::failed(
                "the server committed a new order of an unknown item",
            )),
            (false, true) => Err(DriverError::unusable(
                "a new order was rolled back although all of its items exist: the tables of \
                 TPROC-C are not complete; drop the schema and load it again",
            )),
        }
    }
}

impl DriverSession for TprocCSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        if self.is_failed {
            return Err(DriverError::failed(
                "the connection of this user was closed before, or failed",
            ));
        }
        let call = self.user.next_call();
        // Until it returned well.
        self.is_failed = true;
        let (requested, returned) = self.run(&call)?;
        self.is_failed = false;
        self.returned += 1;
        Ok(Transaction {
            kind: call.kind().index(),
            requested,
            returned,
            sync_ns: None,
            path_ns: None,
            batch: None,
        })
    }

    fn pause(&self) -> Nanos {
        self.user.pause()
    }
}

impl Drop for TprocCSession {
    fn drop(&mut self) {
        self.tally.add_returned(self.returned);
    }
}
