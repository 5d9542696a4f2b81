//! The calls of a user on PostgreSQL: prepared statements, bound, executed and synced in one round
//! trip.
//!
//! Invariants: an answer was read when the server is ready for the next call, which is after the
//! commit or rollback; a warning with a commit is an error, as with every workload.

use crate::postgres::connection::Connection;
use crate::postgres::error::{PostgresError, ServerMessage};
use crate::postgres::watch::WatchedBackend;
use crate::tprocc::mix::TransactionKind;
use crate::tprocc::server::{CallAnswer, CallConnection, CallOutcome};
use crate::tprocc::user::{CustomerKey, OrderLine, UserCall};
use measure::driver::DriverError;
use measure::{Clock, RealClock};
use postgres_protocol::IsNull;
use postgres_protocol::message::backend;
use postgres_protocol::message::frontend::{self, BindError};

const INT4: u32 = 23;
const INT4_ARRAY: u32 = 1007;
const VARCHAR: u32 = 1043;
const BINARY: i16 = 1;
/// SQLSTATE of a serialization failure and of a deadlock.
const TO_BE_RETRIED: [&str; 2] = ["40001", "40P01"];
/// What sessions set: names are found in the catalog first, and plans are made once.
const SETTINGS: &str = "SET search_path = pg_catalog, redolab_tprocc, pg_temp; \
     SET plan_cache_mode = force_generic_plan; SET jit = off";

/// The statement of a kind, with the types of its parameters.
fn statement(kind: TransactionKind) -> (&'static str, &'static [u32]) {
    match kind {
        TransactionKind::NewOrder => (
            "CALL redolab_tprocc.new_order($1, $2, $3, $4, $5, $6, NULL, NULL)",
            &[INT4, INT4, INT4, INT4_ARRAY, INT4_ARRAY, INT4_ARRAY],
        ),
        TransactionKind::Payment => (
            "SELECT redolab_tprocc.payment($1, $2, $3, $4, $5, $6, $7)",
            &[INT4, INT4, INT4, INT4, INT4, VARCHAR, INT4],
        ),
        TransactionKind::Delivery => ("SELECT redolab_tprocc.delivery($1, $2)", &[INT4, INT4]),
        TransactionKind::StockLevel => (
            "SELECT redolab_tprocc.stock_level($1, $2, $3)",
            &[INT4, INT4, INT4],
        ),
        TransactionKind::OrderStatus => (
            "SELECT redolab_tprocc.order_status($1, $2, $3, $4)",
            &[INT4, INT4, INT4, VARCHAR],
        ),
    }
}

/// A parameter of a call, in binary format.
enum Parameter<'a> {
    Number(u32),
    Numbers(Vec<u32>),
    Text(&'a str),
}

/// A connection with the prepared statements of a user.
#[derive(Debug)]
pub struct PostgresCalls {
    connection: Connection,
    _backend: Option<WatchedBackend>,
}

impl PostgresCalls {
    /// Prepares the statements on a connection, whose backend is watched.
    ///
    /// # Errors
    /// Of the server.
    pub fn prepare(
        mut connection: Connection,
        backend: Option<WatchedBackend>,
    ) -> Result<PostgresCalls, PostgresError> {
        connection.query(SETTINGS)?;
        for kind in TransactionKind::ALL {
            let (sql, types) = statement(kind);
            connection.prepare(kind.name(), sql, types)?;
        }
        Ok(PostgresCalls {
            connection,
            _backend: backend,
        })
    }

    /// Sends what was encoded, and reads until the server is ready again.
    fn exchanged(&mut self, clock: RealClock) -> Result<CallAnswer, PostgresError> {
        let wire = &mut self.connection.wire;
        wire.begin();
        let requested = clock.now();
        wire.send()?;
        let (mut is_complete, mut number) = (false, None);
        let (mut failure, mut warning) = (None, None);
        loop {
            let frame = wire.frame()?;
            match frame.tag {
                backend::DATA_ROW_TAG => number = Some(first_number(frame.body)?),
                backend::BIND_COMPLETE_TAG | backend::PARAMETER_STATUS_TAG => {}
                backend::COMMAND_COMPLETE_TAG => is_complete = true,
                backend::ERROR_RESPONSE_TAG => failure = Some(ServerMessage::of(frame.body)),
                backend::NOTICE_RESPONSE_TAG => {
                    let message = ServerMessage::of(frame.body);
                    warning = Some(message)
                        .filter(|m| m.severity == "WARNING")
                        .or(warning);
                }
                backend::READY_FOR_QUERY_TAG if frame.body == b"I" => break,
                _ => return Err(PostgresError::Protocol("an answer does not fit its call")),
            }
        }
        let returned = clock.now();
        let outcome = match (failure, warning, number) {
            (Some(message), ..) if TO_BE_RETRIED.contains(&message.code.as_str()) => {
                CallOutcome::Retry(PostgresError::Server(message).into())
            }
            (Some(message), ..) => return Err(PostgresError::Server(message)),
            (None, Some(message), _) => return Err(PostgresError::Warned(message)),
            (None, None, Some(number)) if is_complete => CallOutcome::Returned(number.into()),
            _ => return Err(PostgresError::Protocol("a call has no end")),
        };
        Ok(CallAnswer {
            requested,
            returned,
            outcome,
        })
    }
}

impl CallConnection for PostgresCalls {
    fn encode(&mut self, call: &UserCall, warehouse: u32) -> Result<(), DriverError> {
        Ok(encode(call, warehouse, &mut self.connection)?)
    }

    fn exchange(&mut self, clock: RealClock) -> Result<CallAnswer, DriverError> {
        Ok(self.exchanged(clock).map_err(PostgresError::of_commit)?)
    }
}

/// Puts a call of a user of `warehouse` into the outbox.
fn encode(
    call: &UserCall,
    warehouse: u32,
    connection: &mut Connection,
) -> Result<(), PostgresError> {
    let outbox = &mut connection.wire.outbox;
    outbox.clear();
    let bound = frontend::bind(
        "",
        call.kind().name(),
        [BINARY],
        parameters(call, warehouse),
        |parameter, out| {
            match parameter {
                Parameter::Number(number) => out.extend_from_slice(&number.to_be_bytes()),
                Parameter::Numbers(numbers) => array(&numbers, out),
                Parameter::Text(text) => out.extend_from_slice(text.as_bytes()),
            }
            Ok(IsNull::No)
        },
        [BINARY],
        outbox,
    );
    bound.map_err(|error| match error {
        BindError::Serialization(error) => error.into(),
        BindError::Conversion(_) => PostgresError::Protocol("a call is too long"),
    })?;
    frontend::execute("", 0, outbox)?;
    frontend::sync(outbox);
    Ok(())
}

fn parameters(call: &UserCall, warehouse: u32) -> Vec<Parameter<'_>> {
    let number = |customer: &CustomerKey| match customer {
        CustomerKey::Number(number) => *number,
        CustomerKey::LastName(_) => 0,
    };
    let of_lines = |lines: &[OrderLine], part: fn(&OrderLine) -> u32| {
        Parameter::Numbers(lines.iter().map(part).collect())
    };
    let mut all = vec![Parameter::Number(warehouse)];
    match call {
        UserCall::NewOrder {
            district,
            customer,
            lines,
        } => all.extend([
            Parameter::Number(*district),
            Parameter::Number(*customer),
            of_lines(lines, |line| line.item),
            of_lines(lines, |line| line.supplier),
            of_lines(lines, |line| line.quantity),
        ]),
        UserCall::Payment {
            district,
            customer_warehouse,
            customer_district,
            customer,
            cents,
        } => all.extend([
            Parameter::Number(*district),
            Parameter::Number(*customer_warehouse),
            Parameter::Number(*customer_district),
            Parameter::Number(number(customer)),
            name(customer),
            Parameter::Number(*cents),
        ]),
        UserCall::Delivery { carrier } => all.push(Parameter::Number(*carrier)),
        UserCall::StockLevel {
            district,
            threshold,
        } => all.extend([Parameter::Number(*district), Parameter::Number(*threshold)]),
        UserCall::OrderStatus { district, customer } => all.extend([
            Parameter::Number(*district),
            Parameter::Number(number(customer)),
            name(customer),
        ]),
    }
    all
}

/// The last name that a key has, or nothing.
fn name(customer: &CustomerKey) -> Parameter<'_> {
    match customer {
        CustomerKey::LastName(name) => Parameter::Text(name),
        CustomerKey::Number(_) => Parameter::Text(""),
    }
}

/// An array of one dimension without NULL, in binary format.
fn array(numbers: &[u32], out: &mut bytes::BytesMut) {
    let words = [1, 0, INT4, numbers.len() as u32, 1];
    for word in words {
        out.extend_from_slice(&word.to_be_bytes());
    }
    for number in numbers {
        out.extend_from_slice(&4_u32.to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
    }
}

/// The first value of a row, a number in binary format.
fn first_number(body: &[u8]) -> Result<i32, PostgresError> {
    let read = || {
        let (_, rest) = body.split_first_chunk::<2>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let (number, _) = rest.split_first_chunk::<4>()?;
        (i32::from_be_bytes(*length) == 4).then(|| i32::from_be_bytes(*number))
    };
    read().ok_or(PostgresError::Protocol("a call returned no number"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tprocc::user::VirtualUser;

    #[test]
    fn a_call_has_as_many_parameters_as_its_statement() {
        let mut user = VirtualUser::new((1, 1), 3, false);
        for _ in 0..500 {
            let call = user.next_call();
            let (sql, types) = statement(call.kind());
            let parameters = parameters(&call, user.warehouse());
            assert_eq!(parameters.len(), types.len());
            assert_eq!(sql.matches('$').count(), types.len());
            for (parameter, kind) in parameters.iter().zip(types) {
                let expected = match parameter {
                    Parameter::Number(_) => INT4,
                    Parameter::Numbers(_) => INT4_ARRAY,
                    Parameter::Text(_) => VARCHAR,
                };
                assert_eq!(*kind, expected, "{sql}");
            }
        }
    }

    #[test]
    fn a_row_that_is_cut_or_null_is_refused() {
        let row = b"\0\x01\0\0\0\x04\0\0\x0b\xb9";
        assert_eq!(first_number(row).expect("a number"), 3001);
        for length in 0..row.len() {
            assert!(first_number(&row[..length]).is_err(), "{length}");
        }
        assert!(first_number(b"\0\x01\xff\xff\xff\xff\0\0\0\0").is_err());
    }
}
