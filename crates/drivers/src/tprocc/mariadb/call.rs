//! The calls of a user on MariaDB and MySQL: one CALL as text, whose values are digits and letters,
//! so that nothing is escaped.
//!
//! Invariants: an answer was read when the routine has ended, which is after its commit or
//! rollback; a warning with a commit, and a transaction that is left open, are errors.

use crate::mariadb::connection::{IN_TRANSACTION, ServerConnection};
use crate::mariadb::error::MariadbError;
use crate::tprocc::mix::TransactionKind;
use crate::tprocc::server::{CallAnswer, CallConnection, CallOutcome, SCHEMA};
use crate::tprocc::user::{CustomerKey, UserCall};
use measure::driver::DriverError;
use measure::{Clock, RealClock};
use std::fmt::Write;

/// Numbers of the errors after which a transaction is run again: a deadlock, a wait for a lock that
/// was too long, and a row that is newer than the transaction's snapshot.
const TO_BE_RETRIED: [u16; 3] = [1213, 1205, 1020];
/// What sessions set: what is not in a transaction commits by itself.
const SETTINGS: &str = "SET SESSION autocommit = 1";

/// A connection for the calls of a user.
#[derive(Debug)]
pub struct MariadbCalls {
    connection: ServerConnection,
    sql: String,
}

impl MariadbCalls {
    /// Calls through a connection.
    ///
    /// # Errors
    /// Of the server.
    pub fn new(mut connection: ServerConnection) -> Result<MariadbCalls, MariadbError> {
        connection.run(SETTINGS)?;
        Ok(MariadbCalls {
            connection,
            sql: String::new(),
        })
    }

    fn exchanged(&mut self, clock: RealClock) -> Result<CallAnswer, MariadbError> {
        let requested = clock.now();
        let ended = self.connection.call(&self.sql);
        let returned = clock.now();
        let outcome = match ended {
            Err(error) if error.number().is_some_and(|n| TO_BE_RETRIED.contains(&n)) => {
                CallOutcome::Retry(error.into())
            }
            Err(error) => return Err(error),
            Ok((number, end)) => {
                let wrong = if end.status & IN_TRANSACTION != 0 {
                    "a routine of TPROC-C left a transaction open"
                } else if end.warnings != 0 {
                    "the server warns about a transaction of TPROC-C"
                } else {
                    ""
                };
                if !wrong.is_empty() {
                    return Err(MariadbError::Commit(wrong.to_owned()));
                }
                let number = number.ok_or(MariadbError::Protocol("a call returned no number"))?;
                CallOutcome::Returned(number)
            }
        };
        Ok(CallAnswer {
            requested,
            returned,
            outcome,
        })
    }
}

impl CallConnection for MariadbCalls {
    fn encode(&mut self, call: &UserCall, warehouse: u32) -> Result<(), DriverError> {
        self.sql.clear();
        put_call(&mut self.sql, call, warehouse);
        Ok(())
    }

    fn exchange(&mut self, clock: RealClock) -> Result<CallAnswer, DriverError> {
        Ok(self.exchanged(clock).map_err(MariadbError::of_commit)?)
    }
}

/// The name of a kind's routine.
const fn routine(kind: TransactionKind) -> &'static str {
    match kind {
        TransactionKind::NewOrder => "new_order",
        TransactionKind::Payment => "payment",
        TransactionKind::Delivery => "delivery",
        TransactionKind::StockLevel => "stock_level",
        TransactionKind::OrderStatus => "order_status",
    }
}

/// Appends a call of a user of `warehouse`.
fn put_call(sql: &mut String, call: &UserCall, warehouse: u32) {
    let name = routine(call.kind());
    let written = match call {
        UserCall::NewOrder {
            district,
            customer,
            lines,
        } => {
            let is_local = lines.iter().all(|line| line.supplier == warehouse);
            let (is_local, count) = (u8::from(is_local), lines.len());
            let begun = write!(
                sql,
                "CALL {SCHEMA}.{name}({warehouse},{district},{customer},{is_local},{count},'"
            );
            begun
                .and_then(|()| {
                    lines.iter().try_for_each(|line| {
                        let (item, supplier, quantity) = (line.item, line.supplier, line.quantity);
                        write!(sql, "{item:06}{supplier:06}{quantity:02}")
                    })
                })
                .and_then(|()| sql.write_str("')"))
        }
        UserCall::Payment {
            district,
            customer_warehouse,
            customer_district,
            customer,
            cents,
        } => {
            let (number, last) = customer_of(customer);
            write!(
                sql,
                "CALL {SCHEMA}.{name}({warehouse},{district},{customer_warehouse},\
                 {customer_district},{number},'{last}',{cents})"
            )
        }
        UserCall::Delivery { carrier } => {
            write!(sql, "CALL {SCHEMA}.{name}({warehouse},{carrier})")
        }
        UserCall::StockLevel {
            district,
            threshold,
        } => write!(
            sql,
            "CALL {SCHEMA}.{name}({warehouse},{district},{threshold})"
        ),
        UserCall::OrderStatus { district, customer } => {
            let (number, last) = customer_of(customer);
            write!(
                sql,
                "CALL {SCHEMA}.{name}({warehouse},{district},{number},'{last}')"
            )
        }
    };
    written.expect("a String accepts all text");
}

/// The number of a customer, or 0 and the last name.
fn customer_of(key: &CustomerKey) -> (u32, &str) {
    match key {
        CustomerKey::Number(number) => (*number, ""),
        CustomerKey::LastName(name) => {
            let is_plain = name.bytes().all(|byte| byte.is_ascii_uppercase());
            assert!(is_plain, "a last name is made of syllables");
            (0, name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tprocc::user::{OrderLine, VirtualUser};

    fn text(call: &UserCall) -> String {
        let mut sql = String::new();
        put_call(&mut sql, call, 7);
        sql
    }

    #[test]
    fn a_line_of_an_order_is_14_digits() {
        let line = |item, supplier, quantity| OrderLine {
            item,
            supplier,
            quantity,
        };
        let mut call = UserCall::NewOrder {
            district: 10,
            customer: 3000,
            lines: vec![line(1, 7, 5), line(100_001, 100_000, 10)],
        };
        assert_eq!(
            text(&call),
            "CALL redolab_tprocc.new_order(7,10,3000,0,2,'0000010000070510000110000010')"
        );
        if let UserCall::NewOrder { lines, .. } = &mut call {
            lines.truncate(1);
        }
        assert_eq!(
            text(&call),
            "CALL redolab_tprocc.new_order(7,10,3000,1,1,'00000100000705')"
        );
    }

    #[test]
    fn every_call_is_plain_text() {
        let mut user = VirtualUser::new((1, 1), 3, false);
        let mut kinds = std::collections::BTreeSet::new();
        for _ in 0..500 {
            let call = user.next_call();
            kinds.insert(call.kind());
            let sql = text(&call);
            let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._(),'".contains(c);
            assert!(sql.chars().all(is_plain), "{sql}");
            assert!(
                sql.matches('\'').count() <= 2 && sql.ends_with(')'),
                "{sql}"
            );
        }
        assert_eq!(kinds.len(), 5);
    }
}
