//! The driver: a transaction sleeps 100 us, is of one of three kinds, and fails on demand.
//!
//! Addresses: `trivial://` for one that works, `trivial://fail?after=N` for one whose transactions
//! fail from the Nth on, `trivial://refuse` for one that cannot be opened.

use measure::driver::{
    Begun, Driver, DriverError, DriverKind, DriverSession, OpenedTarget, SessionCounts,
    SessionGroup, SessionLoad, Transaction,
};
use measure::run::{DatabaseFacts, TargetFacts};
use measure::{Clock, Nanos, RealClock};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Time of a transaction.
pub const SLEEP: Duration = Duration::from_micros(100);
/// Kinds of transaction, in turn.
pub const KINDS: [&str; 3] = ["new order", "payment", "stock level"];

pub const TRIVIAL: DriverKind = DriverKind {
    name: "trivial",
    schemes: &["trivial"],
    address: "trivial://",
    open,
};

struct Trivial {
    clock: RealClock,
    /// Transactions of all sessions, and how many do not fail.
    done: Arc<AtomicU64>,
    fails_after: u64,
}

fn open(address: &str) -> Result<OpenedTarget, DriverError> {
    let fails_after = match address.strip_prefix("trivial://") {
        Some("") => u64::MAX,
        Some("refuse") => {
            let why = "the trivial target is closed; open it";
            return Err(DriverError::unusable(why));
        }
        Some(rest) => match rest.strip_prefix("fail?after=").map(str::parse) {
            Some(Ok(after)) => after,
            _ => return Err(DriverError::unusable("write trivial://fail?after=N")),
        },
        None => return Err(DriverError::unusable("write trivial://")),
    };
    let driver = Trivial {
        clock: RealClock::new(),
        done: Arc::default(),
        fails_after,
    };
    Ok(OpenedTarget {
        driver: Box::new(driver),
        shown: address.to_owned(),
    })
}

impl Driver for Trivial {
    fn kinds(&self) -> Vec<String> {
        KINDS.map(str::to_owned).to_vec()
    }

    fn clock(&self) -> RealClock {
        self.clock
    }

    fn session(&self, _: SessionLoad) -> Result<Box<dyn DriverSession>, DriverError> {
        Ok(Box::new(self.member()))
    }

    fn has_groups(&self) -> bool {
        true
    }

    fn group(&self, loads: Vec<SessionLoad>) -> Result<Box<dyn SessionGroup>, DriverError> {
        Ok(Box::new(TrivialGroup {
            members: loads.iter().map(|_| self.member()).collect(),
            in_flight: VecDeque::new(),
        }))
    }

    fn facts(&self) -> TargetFacts {
        TargetFacts::Database(DatabaseFacts {
            product: "trivial".to_owned(),
            version: "1".to_owned(),
            settings: [("sleep".to_owned(), "100us".to_owned())].into(),
            ..DatabaseFacts::default()
        })
    }
}

impl Trivial {
    fn member(&self) -> TrivialSession {
        TrivialSession {
            clock: self.clock,
            done: Arc::clone(&self.done),
            fails_after: self.fails_after,
            next: 0,
        }
    }
}

struct TrivialSession {
    clock: RealClock,
    done: Arc<AtomicU64>,
    fails_after: u64,
    next: u16,
}

impl TrivialSession {
    /// Takes note of a transaction that was asked for at that time.
    fn ended(&mut self, requested: Nanos) -> Result<Transaction, DriverError> {
        if self.done.fetch_add(1, Ordering::Relaxed) >= self.fails_after {
            return Err(DriverError::failed("the trivial target failed on demand"));
        }
        let kind = self.next;
        self.next = (kind + 1) % KINDS.len() as u16;
        Ok(Transaction {
            kind,
            requested,
            returned: self.clock.now(),
            sync_ns: None,
            path_ns: None,
            batch: None,
        })
    }
}

impl DriverSession for TrivialSession {
    fn transaction(&mut self) -> Result<Transaction, DriverError> {
        let requested = self.clock.now();
        std::thread::sleep(SLEEP);
        self.ended(requested)
    }
}

struct TrivialGroup {
    members: Vec<TrivialSession>,
    /// Sessions with a transaction in flight, since when.
    in_flight: VecDeque<(usize, Nanos)>,
}

impl TrivialGroup {
    fn ready(&self) -> usize {
        let Some(member) = self.members.first() else {
            return 0;
        };
        let now = member.clock.now();
        let has_ended = |since: &Nanos| now.since(*since).0 >= SLEEP.as_nanos() as u64;
        let ended = self.in_flight.iter().take_while(|(_, s)| has_ended(s));
        ended.count()
    }
}

impl SessionGroup for TrivialGroup {
    fn begin(&mut self, index: usize, now: Nanos) -> Result<Begun, DriverError> {
        self.in_flight.push_back((index, now));
        Ok(Begun::InFlight)
    }

    fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    fn wait(&mut self) -> usize {
        while !self.in_flight.is_empty() && self.ready() == 0 {
            std::thread::sleep(SLEEP / 10);
        }
        self.ready()
    }

    fn poll(&mut self) -> usize {
        self.ready()
    }

    fn take(&mut self, now: Nanos) -> Result<Option<(usize, Transaction)>, DriverError> {
        if self.ready() == 0 {
            return Ok(None);
        }
        let Some((index, since)) = self.in_flight.pop_front() else {
            return Ok(None);
        };
        let mut transaction = self.members[index].ended(since)?;
        transaction.returned = now;
        Ok(Some((index, transaction)))
    }

    fn counts(&self, _: usize) -> Option<SessionCounts> {
        None
    }
}
