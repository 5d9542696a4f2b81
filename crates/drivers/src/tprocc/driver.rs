//! A loaded schema as a target: sessions are virtual users.

use super::mix::TransactionKind;
use super::schema;
use super::server::{SchemaConnection, SchemaTask, SchemaUse, TprocCServer};
use super::session::TprocCSession;
use super::tally::SessionTally;
use super::user::VirtualUser;
use measure::driver::{
    Driver, DriverCounters, DriverError, DriverSession, ServerCounts, SessionLoad, TprocCCounts,
    WaitSampling,
};
use measure::run::{ConsistencyCondition, TargetFacts};
use measure::workload::Workload;
use measure::{Clock, Nanos, RealClock};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A loaded schema on a server.
pub struct TprocCDriver {
    server: Box<dyn TprocCServer>,
    /// Holds the lock on the schema; reads counters.
    control: Mutex<Box<dyn SchemaConnection>>,
    warehouses: u32,
    tally: Arc<SessionTally>,
}

impl TprocCDriver {
    /// Opens the schema of a server.
    ///
    /// # Errors
    /// It is not loaded, or others change it.
    pub fn open(server: Box<dyn TprocCServer>) -> Result<TprocCDriver, DriverError> {
        let mut control = server.connect(SchemaTask::Control)?;
        schema::lock(&mut *control, SchemaUse::Shared)?;
        let warehouses = schema::loaded(&mut *control)?;
        Ok(TprocCDriver {
            server,
            control: Mutex::new(control),
            warehouses,
            tally: Arc::default(),
        })
    }

    /// The counts now. A server that does not answer fails the sessions, which report why.
    fn counted(&self) -> TprocCCounts {
        let mut control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.server.clock().now();
        let next_orders = schema::next_orders(&mut **control).ok();
        let after = self.server.clock().now();
        TprocCCounts {
            // The statement's snapshot is taken about half-way.
            at: before.plus(Nanos(after.since(before).0 / 2)),
            warehouses: self.warehouses,
            next_orders,
            transactions: control.transactions().ok(),
            rolled_back: self.tally.rolled_back(),
            retries: self.tally.retries(),
        }
    }
}

/// Whether a workload is TPROC-C.
///
/// # Errors
/// It is another one.
pub fn accepts(workload: &Workload) -> Result<(), DriverError> {
    match workload.tproc_c {
        Some(_) => Ok(()),
        None => Err(DriverError::unusable(format!(
            "the driver tprocc runs TPROC-C, not {}: use the driver postgres or mariadb for it",
            workload.name
        ))),
    }
}

impl Driver for TprocCDriver {
    fn kinds(&self) -> Vec<String> {
        TransactionKind::ALL
            .map(|kind| kind.name().to_owned())
            .into()
    }

    fn clock(&self) -> RealClock {
        self.server.clock()
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        accepts(workload)
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        self.accepts(&load.workload)?;
        let thinks = load.workload.tproc_c.is_some_and(|tproc_c| tproc_c.think);
        let user = VirtualUser::new((load.seed, load.number), self.warehouses, thinks);
        let connection = self.server.user()?;
        let tally = Arc::clone(&self.tally);
        let session = TprocCSession::new(connection, self.server.clock(), user, tally);
        Ok(Box::new(session))
    }

    fn counters(&self) -> DriverCounters {
        DriverCounters {
            tproc_c: Some(self.counted()),
            ..DriverCounters::default()
        }
    }

    fn server_counts(&self) -> Result<Option<ServerCounts>, DriverError> {
        Ok(Some(ServerCounts {
            commits: Some(self.tally.returned()),
            ..self.server.server_counts()?
        }))
    }

    fn statistics_delay(&self) -> Duration {
        self.server.statistics_delay()
    }

    fn sample_waits(&self) -> Result<Option<Box<dyn WaitSampling>>, DriverError> {
        self.server.sample_waits()
    }

    fn conditions(&self) -> Result<Vec<ConsistencyCondition>, DriverError> {
        let mut connection = self.server.connect(SchemaTask::Maintenance)?;
        schema::conditions(&mut *connection, self.warehouses)
    }

    fn facts(&self) -> TargetFacts {
        self.server.facts()
    }

    fn close(&self) -> Result<(), DriverError> {
        self.server.close()
    }
}
