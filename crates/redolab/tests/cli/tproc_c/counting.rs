//! A driver of TPROC-C without a server: transactions that sleep, counts that grow with the time,
//! conditions that the address breaks.

use measure::driver::{
    Driver, DriverCounters, DriverError, DriverKind, DriverSession, OpenedTarget, SessionLoad,
    TprocCCounts, Transaction,
};
use measure::run::{ConsistencyCondition, DatabaseFacts, TargetFacts};
use measure::workload::Workload;
use measure::{Clock, Nanos, RealClock};
use std::time::Duration;

/// New orders per minute, by its counts.
pub const NOPM: f64 = 60_000.0;
/// Commits and rollbacks per minute, by its counts.
pub const TPM: f64 = 150_000.0;
/// How long its users think.
pub const PAUSE: Nanos = Nanos::from_millis(120);
const KINDS: [&str; 2] = ["new-order", "payment"];

/// What `jumping` counts add, once, this long after they were opened.
const JUMP: u64 = 1_000_000;
const JUMPS_AFTER: Nanos = Nanos::from_millis(1000);

/// The driver; `broken` in the address breaks a condition, `blind` hides the counts, with `jumping`
/// they grow at once while users warm up.
pub const COUNTING: DriverKind = DriverKind {
    name: "tprocc",
    schemes: &[],
    address: "counting://",
    open: |address| {
        let clock = RealClock::new();
        Ok(OpenedTarget {
            driver: Box::new(Counting {
                clock,
                jumps_at: address
                    .contains("jumping")
                    .then(|| clock.now().plus(JUMPS_AFTER)),
                is_broken: address.contains("broken"),
                is_blind: address.contains("blind"),
            }),
            shown: address.to_owned(),
        })
    },
    managed: None,
};

struct Counting {
    clock: RealClock,
    jumps_at: Option<Nanos>,
    is_broken: bool,
    is_blind: bool,
}

impl Driver for Counting {
    fn kinds(&self) -> Vec<String> {
        KINDS.map(str::to_owned).into()
    }

    fn clock(&self) -> RealClock {
        self.clock
    }

    fn accepts(&self, workload: &Workload) -> Result<(), DriverError> {
        let is_accepted = workload.tproc_c.is_some();
        is_accepted
            .then_some(())
            .ok_or_else(|| DriverError::unusable("TPROC-C only"))
    }

    fn session(&self, load: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        let thinks = load.workload.tproc_c.is_some_and(|tproc_c| tproc_c.think);
        Ok(Box::new(Sleeping {
            clock: self.clock,
            pause: if thinks { PAUSE } else { Nanos::ZERO },
            done: 0,
        }))
    }

    fn counters(&self) -> DriverCounters {
        let at = self.clock.now();
        let jump = match self.jumps_at {
            Some(then) if at > then => JUMP,
            _ => 0,
        };
        let grown = |per_minute: f64| jump + (at.as_secs() / 60.0 * per_minute) as u64;
        DriverCounters {
            tproc_c: Some(TprocCCounts {
                at,
                warehouses: 3,
                next_orders: (!self.is_blind).then(|| 90_030 + grown(NOPM)),
                transactions: Some(grown(TPM)),
                rolled_back: grown(NOPM / 100.0),
                retries: 0,
            }),
            ..DriverCounters::default()
        }
    }

    fn conditions(&self) -> Result<Vec<ConsistencyCondition>, DriverError> {
        let condition = |name: &str, violated: u64| ConsistencyCondition {
            name: name.to_owned(),
            checked: 30,
            violated,
            first_violation: (violated > 0).then(|| "district 7: 1 is not 2".to_owned()),
        };
        Ok(vec![
            condition("a = b", 0),
            condition("c = d", u64::from(self.is_broken)),
        ])
    }

    fn facts(&self) -> TargetFacts {
        TargetFacts::Database(DatabaseFacts {
            product: "counting".to_owned(),
            ..DatabaseFacts::default()
        })
    }
}

struct Sleeping {
    clock: RealClock,
    pause: Nanos,
    done: u16,
}

impl DriverSession for Sleeping {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        let requested = self.clock.now();
        std::thread::sleep(Duration::from_millis(2));
        self.done += 1;
        Ok(Transaction {
            kind: self.done % 2,
            requested,
            returned: self.clock.now(),
            sync_ns: None,
            path_ns: None,
            batch: None,
        })
    }

    fn pause(&self) -> Nanos {
        self.pause
    }
}
