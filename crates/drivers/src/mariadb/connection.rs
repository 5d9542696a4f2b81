//! A connection to a server that has accepted the user: authentication, queries, prepared
//! statements.
//!
//! Invariants: the server never reads a file of this machine; rows are few and small; an answer
//! that does not fit its request is an error.

use super::address::ServerAddress;
use super::authentication::{ATTRIBUTES, CACHING, Greeting, NATIVE, answer};
use super::error::{MariadbError, MariadbMessage};
use super::fields::{Fields, put_length};
use super::packet::{Packets, SENT_MAX};
use crate::client::{Password, harmless, harmless_message};
use std::time::Duration;

/// What the server shows of its clients.
const APPLICATION: &str = "redolab";
/// Rows of a query that are kept, and columns of a row.
const ROWS_MAX: usize = 2000;
const COLUMNS_MAX: u64 = 64;
/// Steps of an authentication: a server may try a few plugins, and each has few steps.
const STEPS_MAX: usize = 12;
/// `utf8mb4_general_ci`, which every version has.
const COLLATION: u8 = 45;

const COMMAND_QUERY: u8 = 0x03;
const COMMAND_PREPARE: u8 = 0x16;

const OK: u8 = 0x00;
const MORE: u8 = 0x01;
const LOCAL_FILE: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// Bytes of an EOF packet at most; a longer one that begins so is a row.
const EOF_MAX: usize = 8;
/// Results and rows of a call, at most: a routine of redolab's returns one row.
const CALL_PARTS_MAX: usize = 100;

/// Of the status of a statement: a transaction is open.
pub const IN_TRANSACTION: u16 = 1;
/// Of the status of a statement: each statement commits by itself.
pub const AUTOCOMMIT: u16 = 2;
/// Of the status of a statement: another result follows.
const MORE_RESULTS: u16 = 8;

const MALFORMED_ROW: MariadbError = MariadbError::Protocol("a row of a result is malformed");
const MALFORMED_END: MariadbError =
    MariadbError::Protocol("the answer to a statement is malformed");

/// Rows of a query as text; a value that is NULL is `None`.
pub type ResultRows = Vec<Vec<Option<String>>>;

/// What the server reports of a statement without rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementEnd {
    /// Rows that it changed.
    pub rows: u64,
    /// Whether a transaction is open, and whether the next statement commits by itself.
    pub status: u16,
    /// Warnings.
    pub warnings: u16,
}

impl StatementEnd {
    /// Reads an OK packet, its first byte included.
    #[must_use]
    #[inline]
    pub fn of(body: &[u8]) -> Option<StatementEnd> {
        let mut fields = Fields::of(body);
        fields.skip(1)?;
        let rows = fields.length()?;
        fields.length()?;
        Some(StatementEnd {
            rows,
            status: fields.u16()?,
            warnings: fields.u16()?,
        })
    }
}

/// A connection that is ready for statements.
#[derive(Debug)]
pub struct ServerConnection {
    /// What carries its packets.
    pub packets: Packets,
    /// The server's version, as it writes it.
    pub version: String,
}

impl ServerConnection {
    /// Connects and authenticates.
    ///
    /// # Errors
    /// No server is reachable, or it refuses.
    pub fn open(
        address: &ServerAddress,
        password: Option<&Password>,
        patience: Duration,
    ) -> Result<ServerConnection, MariadbError> {
        let mut packets = Packets::connect(address, patience)?;
        let body = packets.receive()?;
        if body.first() == Some(&ERROR) {
            return Err(refusal(MariadbMessage::of(body), password));
        }
        let greeting = Greeting::of(body).ok_or(MariadbError::Protocol(
            "the greeting is malformed, or that of a server before MySQL 5.5",
        ))?;
        let version = harmless(&greeting.version);
        log_in(&mut packets, greeting, &address.user, password)?;
        Ok(ServerConnection { packets, version })
    }

    /// Runs a statement, and returns its rows; one without rows returns none.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn query(&mut self, sql: &str) -> Result<ResultRows, MariadbError> {
        self.query_as(sql, harmless)
    }

    /// As [`ServerConnection::query`], with values as `keep` makes them.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn query_as(
        &mut self,
        sql: &str,
        keep: fn(&[u8]) -> String,
    ) -> Result<ResultRows, MariadbError> {
        let misfit = MariadbError::Protocol("an answer does not fit its query");
        self.send_text(COMMAND_QUERY, sql)?;
        let body = self.packets.receive()?;
        let columns = match body.first() {
            Some(&OK) => return Ok(ResultRows::new()),
            Some(&ERROR) => return Err(MariadbError::Server(MariadbMessage::of(body))),
            Some(&LOCAL_FILE) | None => return Err(misfit),
            Some(_) => columns_of(body),
        };
        let Some(columns) = columns else {
            return Err(misfit);
        };
        self.skip_definitions(columns)?;
        let mut rows = ResultRows::new();
        loop {
            let body = self.packets.receive()?;
            match body.first() {
                Some(&ERROR) => return Err(MariadbError::Server(MariadbMessage::of(body))),
                Some(&EOF) if body.len() <= EOF_MAX => return Ok(rows),
                _ if rows.len() < ROWS_MAX => {
                    rows.push(values(body, columns, keep).ok_or(MALFORMED_ROW)?);
                }
                _ => return Err(misfit),
            }
        }
    }

    /// Runs a statement without rows.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn run(&mut self, sql: &str) -> Result<StatementEnd, MariadbError> {
        self.send_text(COMMAND_QUERY, sql)?;
        self.completion()
    }

    /// Reads the answer to a statement without rows.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    #[inline]
    pub fn completion(&mut self) -> Result<StatementEnd, MariadbError> {
        let body = self.packets.receive()?;
        match body.first() {
            Some(&OK) => StatementEnd::of(body).ok_or(MALFORMED_END),
            Some(&ERROR) => Err(MariadbError::Server(MariadbMessage::of(body))),
            _ => Err(MariadbError::Protocol(
                "an answer does not fit its statement",
            )),
        }
    }

    /// Runs a call of a routine: the first value of its first row, where that is a number, and how
    /// the call ended.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn call(&mut self, sql: &str) -> Result<(Option<i64>, StatementEnd), MariadbError> {
        const MISFIT: MariadbError = MariadbError::Protocol("an answer does not fit its call");
        self.send_text(COMMAND_QUERY, sql)?;
        let mut number = None;
        let (mut is_in_rows, mut parts) = (false, 0);
        while parts < CALL_PARTS_MAX {
            parts += 1;
            let body = self.packets.receive()?;
            match body.first() {
                Some(&ERROR) => return Err(MariadbError::Server(MariadbMessage::of(body))),
                Some(&EOF) if is_in_rows && body.len() <= EOF_MAX => is_in_rows = false,
                _ if is_in_rows => {
                    let value = Fields::of(body).value().ok_or(MALFORMED_ROW)?;
                    let text = value.and_then(|value| std::str::from_utf8(value).ok());
                    number = number.or(text.and_then(|text| text.parse().ok()));
                }
                Some(&OK) => {
                    let end = StatementEnd::of(body).ok_or(MALFORMED_END)?;
                    if end.status & MORE_RESULTS == 0 {
                        return Ok((number, end));
                    }
                }
                Some(&LOCAL_FILE) | None => return Err(MISFIT),
                Some(_) => {
                    let columns = columns_of(body).ok_or(MISFIT)?;
                    self.skip_definitions(columns)?;
                    is_in_rows = true;
                }
            }
        }
        Err(MariadbError::Protocol("a call has no end"))
    }

    /// Prepares a statement without rows, with that number of parameters. Its number.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn prepare(&mut self, sql: &str, parameters: u16) -> Result<u32, MariadbError> {
        self.send_text(COMMAND_PREPARE, sql)?;
        let body = self.packets.receive()?;
        if body.first() == Some(&ERROR) {
            return Err(MariadbError::Server(MariadbMessage::of(body)));
        }
        let mut fields = Fields::of(body);
        let read = (fields.u8(), fields.u32(), fields.u16(), fields.u16());
        let (Some(OK), Some(statement), Some(0), Some(found)) = read else {
            return Err(MariadbError::Protocol(
                "an answer does not fit its statement",
            ));
        };
        if found != parameters {
            return Err(MariadbError::Protocol(
                "a statement has another number of parameters",
            ));
        }
        if found > 0 {
            self.skip_definitions(found)?;
        }
        Ok(statement)
    }

    fn send_text(&mut self, command: u8, sql: &str) -> Result<(), MariadbError> {
        assert!(sql.len() < SENT_MAX, "statements are short");
        self.packets.begin();
        let body = self.packets.body();
        body.push(command);
        body.extend_from_slice(sql.as_bytes());
        self.packets.send()
    }

    /// Reads definitions of columns or parameters, and the packet that ends them.
    fn skip_definitions(&mut self, count: u16) -> Result<(), MariadbError> {
        for _ in 0..count {
            let body = self.packets.receive()?;
            if body.first() == Some(&ERROR) {
                return Err(MariadbError::Server(MariadbMessage::of(body)));
            }
        }
        let body = self.packets.receive()?;
        if body.first() == Some(&EOF) && body.len() <= EOF_MAX {
            return Ok(());
        }
        Err(MariadbError::Protocol("definitions have no end"))
    }
}

/// Proves the password as often as the server asks, within limits.
fn log_in(
    packets: &mut Packets,
    greeting: Greeting,
    user: &str,
    password: Option<&Password>,
) -> Result<(), MariadbError> {
    let secret = password.map_or(&b""[..], Password::bytes);
    // A server that suggests another plugin switches to the user's own.
    let mut plugin = greeting.plugin.clone();
    let first = answer(&plugin, secret, &greeting.challenge).unwrap_or_else(|| {
        plugin = NATIVE.as_bytes().to_vec();
        Vec::new()
    });
    put_login(packets.body(), &greeting, user, &plugin, &first);
    packets.send()?;
    for _ in 0..STEPS_MAX {
        let is_unix = packets.is_unix();
        let body = packets.receive()?;
        let reply = match body.split_first() {
            Some((&OK, _)) => return Ok(()),
            Some((&ERROR, _)) => return Err(refusal(MariadbMessage::of(body), password)),
            Some((&EOF, switch)) => {
                let mut fields = Fields::of(switch);
                let name = fields.text().unwrap_or_default();
                plugin = name.to_vec();
                answer(name, secret, fields.rest())
                    .ok_or_else(|| MariadbError::Method(harmless_message(name)))?
            }
            Some((&MORE, [3])) if plugin == CACHING.as_bytes() => continue,
            Some((&MORE, [4])) if plugin == CACHING.as_bytes() => {
                if !is_unix {
                    return Err(MariadbError::FullAuthentication);
                }
                [secret, &[0]].concat()
            }
            _ => {
                return Err(MariadbError::Protocol(
                    "the authentication has a step that is not known",
                ));
            }
        };
        packets.body().extend_from_slice(&reply);
        packets.send()?;
    }
    Err(MariadbError::Protocol("the authentication has no end"))
}

/// Writes the client's answer to a greeting.
fn put_login(out: &mut Vec<u8>, greeting: &Greeting, user: &str, plugin: &[u8], answer: &[u8]) {
    out.extend_from_slice(&greeting.capabilities.to_le_bytes());
    out.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    out.push(COLLATION);
    out.extend_from_slice(&[0; 23]);
    out.extend_from_slice(user.as_bytes());
    out.push(0);
    put_length(out, answer.len());
    out.extend_from_slice(answer);
    out.extend_from_slice(plugin);
    out.push(0);
    if greeting.capabilities & ATTRIBUTES == 0 {
        return;
    }
    let mut attributes = Vec::new();
    for text in ["program_name", APPLICATION] {
        put_length(&mut attributes, text.len());
        attributes.extend_from_slice(text.as_bytes());
    }
    put_length(out, attributes.len());
    out.extend_from_slice(&attributes);
}

fn refusal(message: MariadbMessage, password: Option<&Password>) -> MariadbError {
    if !message.is_refusal() {
        return MariadbError::Server(message);
    }
    let note = match password {
        Some(_) => "",
        None => "; neither has one",
    };
    MariadbError::Refused { message, note }
}

/// The number of columns of a result, from its first packet.
fn columns_of(body: &[u8]) -> Option<u16> {
    let columns = Fields::of(body).length()?;
    let columns = Some(columns).filter(|columns| *columns <= COLUMNS_MAX)?;
    u16::try_from(columns).ok()
}

/// The values of a row in text format.
fn values(body: &[u8], columns: u16, keep: fn(&[u8]) -> String) -> Option<Vec<Option<String>>> {
    let mut fields = Fields::of(body);
    let mut values = Vec::new();
    for _ in 0..columns {
        values.push(fields.value()?.map(keep));
    }
    fields.rest().is_empty().then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    fn packets(first: u8, bodies: &[&[u8]]) -> Vec<u8> {
        let numbered = bodies.iter().zip(first..);
        let packet = |(body, number): (&&[u8], u8)| {
            let [a, b, c, ..] = (body.len() as u32).to_le_bytes();
            [&[a, b, c, number], *body].concat()
        };
        numbered.flat_map(packet).collect()
    }

    /// What a call ends with, on a server that answers it so and then closes.
    fn called(answer: &[&[u8]]) -> Result<(Option<i64>, StatementEnd), MariadbError> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let answer = packets(1, answer);
        let server = std::thread::spawn(move || {
            let mut hello = b"\x0a5.5.5-10.11.19-MariaDB\0\x01\0\0\0abcdefgh\0".to_vec();
            hello.extend_from_slice(&[0xff, 0xf7, 8, 2, 0, 0xff, 0x81, 21]);
            hello.extend_from_slice(&[0; 10]);
            hello.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut heard = [0; 1024];
            for part in [packets(0, &[&hello]), packets(2, &[END]), answer] {
                stream.write_all(&part).expect("sent");
                assert!(stream.read(&mut heard).expect("heard") > 0);
            }
        });
        let address = format!("mariadb://ann@127.0.0.1:{port}/a");
        let address = ServerAddress::parse(&address).expect("an address");
        let patience = Duration::from_millis(500);
        let mut connection = ServerConnection::open(&address, None, patience).expect("open");
        let ended = connection.call("CALL r()");
        drop(connection);
        server.join().expect("no panic");
        ended
    }

    const END: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    const MORE_END: &[u8] = &[0, 0, 0, 10, 0, 0, 0];
    const EOF_PACKET: &[u8] = &[0xfe, 0, 0, 10, 0];

    #[test]
    fn a_call_returns_the_first_number_and_how_it_ended() {
        let row = [&[1], &b"n"[..], EOF_PACKET, b"\x043001", EOF_PACKET, END];
        let (number, end) = called(&row).expect("a number");
        assert_eq!((number, end.status, end.warnings), (Some(3001), 2, 0));
        let (number, _) = called(&[MORE_END, END]).expect("no rows");
        assert_eq!(number, None);
        let null = [&[1], &b"n"[..], EOF_PACKET, b"\xfb", EOF_PACKET, END];
        assert_eq!(called(&null).expect("NULL").0, None);
        let text = [&[1], &b"n"[..], EOF_PACKET, b"\x01x", EOF_PACKET, END];
        assert_eq!(called(&text).expect("a text").0, None);
    }

    #[test]
    fn an_answer_that_is_no_answer_to_a_call_is_an_error() {
        let endless = vec![MORE_END; 200];
        let rows = [&[&[1][..], b"n", EOF_PACKET], &vec![&b"\x011"[..]; 200][..]].concat();
        for (answer, part) in [
            (
                vec![&b"\xff\xbd\x04#40001Deadlock"[..]],
                "error 1213 (40001)",
            ),
            (vec![&[1], b"n", EOF_PACKET, b"\xff\xbd\x04#40001D"], "1213"),
            (vec![b"\xfb/etc/passwd"], "does not fit its call"),
            (vec![b""], "does not fit its call"),
            (
                vec![b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff"],
                "does not fit",
            ),
            (vec![&[1], b"n", b"n"], "definitions have no end"),
            (vec![&[1], b"n", EOF_PACKET, b"\x09n"], "row of a result"),
            (vec![&[0, 0]], "answer to a statement is malformed"),
            (endless, "a call has no end"),
            (rows, "a call has no end"),
        ] {
            let error = called(&answer).expect_err(part).to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
