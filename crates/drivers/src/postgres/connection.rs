//! A connection to a server that has accepted the user: startup, authentication, plain queries.
//!
//! Invariants: the password leaves in clear text only where nothing but this machine sees it; with
//! SCRAM-SHA-256 the server proves that it knows the password, too; rows are few and small.

use super::credentials::Credentials;
use super::error::{PostgresError, ServerMessage};
use super::url::Address;
use super::wire::Wire;
use crate::client::{harmless, harmless_message, remember};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::{backend, frontend};
use std::time::Duration;

/// What the server shows of its clients.
const APPLICATION: &str = "redolab";
/// Rows of a query that are kept.
const ROWS_MAX: usize = 1000;

/// Rows of a query as text; a value that is NULL is `None`.
pub type TextRows = Vec<Vec<Option<String>>>;

/// The longest row of a result, in columns.
const COLUMNS_MAX: u16 = 1600;

/// A result with the names of its columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    /// Names, and whether the type is one of numbers.
    pub columns: Vec<(String, bool)>,
    /// The rows.
    pub rows: TextRows,
}

/// Types of numbers, by their object ids: int8, int2, int4, oid, float4, float8, numeric.
const NUMBERS: [u32; 7] = [20, 21, 23, 26, 700, 701, 1700];

/// A connection that is ready for queries.
#[derive(Debug)]
pub struct Connection {
    /// What carries its messages.
    pub wire: Wire,
    /// Process id of the backend that serves it, as the server reports that.
    pub backend: Option<i32>,
}

/// How far the authentication has come.
enum Step {
    Begun,
    Answered,
    Scram(Box<ScramSha256>),
    Accepted,
}

impl Connection {
    /// Connects and authenticates.
    ///
    /// # Errors
    /// No server is reachable, or it refuses.
    pub fn open(
        address: &Address,
        credentials: &Credentials,
        patience: Duration,
    ) -> Result<Connection, PostgresError> {
        let mut wire = Wire::connect(address, patience)?;
        let parameters = [
            ("user", address.user.as_str()),
            ("database", address.database.as_str()),
            ("application_name", APPLICATION),
            ("client_encoding", "UTF8"),
        ];
        frontend::startup_message(parameters, &mut wire.outbox)?;
        wire.send()?;
        let (mut step, mut process) = (Step::Begun, None);
        loop {
            let frame = wire.frame()?;
            match frame.tag {
                backend::AUTHENTICATION_TAG => {
                    let request = Request::of(frame.body)?;
                    step = answer(request, step, &mut wire, address, credentials)?;
                    wire.send()?;
                }
                backend::ERROR_RESPONSE_TAG => {
                    return Err(refusal(ServerMessage::of(frame.body), &credentials.note));
                }
                backend::READY_FOR_QUERY_TAG if matches!(step, Step::Accepted) => {
                    let backend = process;
                    return Ok(Connection { wire, backend });
                }
                backend::BACKEND_KEY_DATA_TAG if matches!(step, Step::Accepted) => {
                    process = frame.body.first_chunk().map(|id| i32::from_be_bytes(*id));
                }
                backend::PARAMETER_STATUS_TAG if matches!(step, Step::Accepted) => {}
                backend::NOTICE_RESPONSE_TAG => {}
                _ => {
                    return Err(PostgresError::Protocol(
                        "an answer does not fit its request",
                    ));
                }
            }
        }
    }

    /// Runs statements without parameters, and returns their rows.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn query(&mut self, sql: &str) -> Result<TextRows, PostgresError> {
        Ok(self.table(sql)?.rows)
    }

    /// As [`Connection::query`], with the names of the columns.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn table(&mut self, sql: &str) -> Result<TextTable, PostgresError> {
        self.wire.begin();
        frontend::query(sql, &mut self.wire.outbox)?;
        self.wire.send()?;
        let mut table = TextTable::default();
        let mut failure = None;
        loop {
            let frame = self.wire.frame()?;
            match frame.tag {
                backend::DATA_ROW_TAG if table.rows.len() < ROWS_MAX => {
                    table.rows.push(values(frame.body)?);
                }
                backend::ROW_DESCRIPTION_TAG => table.columns = columns(frame.body)?,
                backend::ERROR_RESPONSE_TAG => failure = Some(ServerMessage::of(frame.body)),
                backend::READY_FOR_QUERY_TAG => break,
                backend::COMMAND_COMPLETE_TAG
                | backend::PARAMETER_STATUS_TAG
                | backend::NOTIFICATION_RESPONSE_TAG
                | backend::NOTICE_RESPONSE_TAG => {}
                _ => return Err(PostgresError::Protocol("an answer does not fit its query")),
            }
        }
        match failure {
            Some(message) => Err(PostgresError::Server(message)),
            None => Ok(table),
        }
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn prepare(&mut self, name: &str, sql: &str, types: &[u32]) -> Result<(), PostgresError> {
        self.wire.begin();
        frontend::parse(name, sql, types.iter().copied(), &mut self.wire.outbox)?;
        frontend::sync(&mut self.wire.outbox);
        self.wire.send()?;
        let mut is_parsed = false;
        loop {
            let frame = self.wire.frame()?;
            match frame.tag {
                backend::PARSE_COMPLETE_TAG => is_parsed = true,
                backend::ERROR_RESPONSE_TAG => {
                    return Err(PostgresError::Server(ServerMessage::of(frame.body)));
                }
                backend::PARAMETER_STATUS_TAG | backend::NOTICE_RESPONSE_TAG => {}
                backend::READY_FOR_QUERY_TAG if is_parsed => return Ok(()),
                _ => {
                    return Err(PostgresError::Protocol(
                        "an answer does not fit its statement",
                    ));
                }
            }
        }
    }
}

/// What the server asks for.
enum Request {
    Nothing,
    ClearText,
    Md5([u8; 4]),
    /// Whether SCRAM-SHA-256 is offered.
    Sasl(bool),
    SaslContinue(Vec<u8>),
    SaslFinal(Vec<u8>),
    Other(&'static str),
}

impl Request {
    fn of(body: &[u8]) -> Result<Request, PostgresError> {
        let malformed = PostgresError::Protocol("a request for authentication is malformed");
        let Some((kind, rest)) = body.split_first_chunk::<4>() else {
            return Err(malformed);
        };
        Ok(match u32::from_be_bytes(*kind) {
            0 => Request::Nothing,
            2 => Request::Other("Kerberos V5"),
            3 => Request::ClearText,
            5 => Request::Md5(rest.try_into().map_err(|_| malformed)?),
            7 | 8 => Request::Other("GSSAPI"),
            9 => Request::Other("SSPI"),
            10 => Request::Sasl(
                rest.split(|b| *b == 0)
                    .any(|m| m == SCRAM_SHA_256.as_bytes()),
            ),
            11 => Request::SaslContinue(rest.to_vec()),
            12 => Request::SaslFinal(rest.to_vec()),
            _ => Request::Other("of an unknown number"),
        })
    }
}

/// Answers a request into the outbox. Each step is taken once, so a server cannot ask for ever.
fn answer(
    request: Request,
    step: Step,
    wire: &mut Wire,
    address: &Address,
    credentials: &Credentials,
) -> Result<Step, PostgresError> {
    let password = || {
        let missing = || PostgresError::NoPassword(credentials.note.clone());
        credentials.password.as_ref().ok_or_else(missing)
    };
    let proof = |error: std::io::Error| {
        PostgresError::Proof(harmless_message(error.to_string().as_bytes()))
    };
    match (request, step) {
        (Request::Nothing, Step::Begun | Step::Answered) => Ok(Step::Accepted),
        (Request::ClearText, Step::Begun) => {
            if !wire.is_local() {
                return Err(PostgresError::ClearText);
            }
            frontend::password_message(password()?.bytes(), &mut wire.outbox)?;
            Ok(Step::Answered)
        }
        (Request::Md5(salt), Step::Begun) => {
            let hash = md5_hash(address.user.as_bytes(), password()?.bytes(), salt);
            remember(hash.as_bytes());
            frontend::password_message(hash.as_bytes(), &mut wire.outbox)?;
            Ok(Step::Answered)
        }
        (Request::Sasl(true), Step::Begun) => {
            let scram = ScramSha256::new(password()?.bytes(), ChannelBinding::unsupported());
            let outbox = &mut wire.outbox;
            frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), outbox)?;
            Ok(Step::Scram(Box::new(scram)))
        }
        (Request::SaslContinue(challenge), Step::Scram(mut scram)) => {
            scram.update(&challenge).map_err(proof)?;
            frontend::sasl_response(scram.message(), &mut wire.outbox)?;
            Ok(Step::Scram(scram))
        }
        (Request::SaslFinal(answer), Step::Scram(mut scram)) => {
            scram.finish(&answer).map_err(proof)?;
            Ok(Step::Answered)
        }
        (Request::Sasl(false), Step::Begun) => Err(PostgresError::Method("SASL without SCRAM")),
        (Request::Other(method), _) => Err(PostgresError::Method(method)),
        (Request::Nothing, Step::Scram(_)) => Err(PostgresError::Proof(
            "the server left it half-way".to_owned(),
        )),
        _ => Err(PostgresError::Protocol(
            "the authentication has steps out of turn",
        )),
    }
}

fn refusal(message: ServerMessage, note: &str) -> PostgresError {
    if message.is_refusal() {
        PostgresError::Refused {
            message,
            note: note.to_owned(),
        }
    } else {
        PostgresError::Server(message)
    }
}

/// The names of a result's columns, and whether each has a type of numbers.
fn columns(body: &[u8]) -> Result<Vec<(String, bool)>, PostgresError> {
    let read = || -> Option<Vec<(String, bool)>> {
        let (count, mut rest) = body.split_first_chunk::<2>()?;
        let count = Some(u16::from_be_bytes(*count)).filter(|count| *count <= COLUMNS_MAX)?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let end = rest.iter().position(|byte| *byte == 0)?;
            let (name, after) = rest.split_at_checked(end)?;
            // A zero, the table and column of 6 bytes, the type, its size, modifier and format.
            let (fixed, after) = after.split_first_chunk::<19>()?;
            let kind = fixed.get(7..).and_then(<[u8]>::first_chunk::<4>)?;
            columns.push((harmless(name), NUMBERS.contains(&u32::from_be_bytes(*kind))));
            rest = after;
        }
        rest.is_empty().then_some(columns)
    };
    read().ok_or(PostgresError::Protocol(
        "the description of a result is malformed",
    ))
}

/// The values of a row in text format.
fn values(body: &[u8]) -> Result<Vec<Option<String>>, PostgresError> {
    let read = || -> Option<Vec<Option<String>>> {
        let (count, mut rest) = body.split_first_chunk::<2>()?;
        let mut values = Vec::new();
        for _ in 0..u16::from_be_bytes(*count) {
            let (length, after) = rest.split_first_chunk::<4>()?;
            let length = i32::from_be_bytes(*length);
            rest = after;
            values.push(match usize::try_from(length) {
                Ok(length) => {
                    let (value, after) = rest.split_at_checked(length)?;
                    rest = after;
                    Some(harmless(value))
                }
                Err(_) => None,
            });
        }
        rest.is_empty().then_some(values)
    };
    read().ok_or(PostgresError::Protocol("a row is malformed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_names_and_kinds() {
        let mut body = vec![0, 2];
        for (name, kind) in [("wal_records", 20_u32), ("stats_reset", 1184)] {
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(&[0; 7]);
            body.extend_from_slice(&kind.to_be_bytes());
            body.extend_from_slice(&[0; 8]);
        }
        let want = [
            ("wal_records".to_owned(), true),
            ("stats_reset".to_owned(), false),
        ];
        assert_eq!(columns(&body).expect("columns"), want);
        for length in 0..body.len() {
            assert!(columns(&body[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn rows_that_are_cut_or_too_long_are_refused() {
        let row = b"\0\x02\0\0\0\x03abc\xff\xff\xff\xff";
        assert_eq!(values(row).expect("a row"), [Some("abc".to_owned()), None]);
        for length in 0..row.len() {
            assert!(values(&row[..length]).is_err(), "{length}");
        }
        assert!(values(b"\0\x01\0\0\0\x01ab").is_err());
        assert!(values(b"\xff\xff").is_err());
    }
}
