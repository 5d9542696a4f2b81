//! Servers that are none: whatever arrives, the driver ends with an error, soon, in little memory.

use crate::server::environment;
use drivers::postgres::{ClientEnvironment, open};
use measure::driver::DriverError;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(500);

fn impatient() -> ClientEnvironment {
    ClientEnvironment {
        patience: PATIENCE,
        ..environment()
    }
}

/// Listens, and serves each connection by `serve` until that returns.
fn listen(serve: impl Fn(TcpStream) + Send + Clone + 'static) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a connection");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("limited");
        serve(stream);
    });
    (port, thread)
}

/// What opening a target ends with, that answers with these bytes and then is silent, or closes.
fn ends_with(answer: &[u8], closes: bool) -> DriverError {
    let answer = answer.to_vec();
    let (port, thread) = listen(move |mut stream| {
        let _ = stream.write_all(&answer);
        if closes {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
    });
    let started = Instant::now();
    let address = format!("postgres://ann:Wr0ng@127.0.0.1:{port}/a");
    let Err(error) = open(&address, &impatient()) else {
        panic!("opened");
    };
    assert!(started.elapsed() < Duration::from_secs(5), "{error}");
    assert!(!format!("{error} {error:?}").contains("Wr0ng"), "{error}");
    thread.join().expect("no panic");
    error
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("short");
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

#[test]
fn what_is_not_the_protocol_ends_with_an_error() {
    let accepted = message(b'R', &[0, 0, 0, 0]);
    let sasl = message(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let joined = |parts: &[&[u8]]| parts.concat();
    for (answer, part) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "impossible length",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "impossible length"),
        (b"R\xff\xff\xff\xff".to_vec(), "impossible length"),
        (b"R\x7f\xff\xff\xff".to_vec(), "impossible length"),
        (b"R\0\x10\0\0".to_vec(), "impossible length"),
        (b"R\0\0\0\x03".to_vec(), "impossible length"),
        (b"R\0\0\0\0".to_vec(), "impossible length"),
        (message(b'R', b""), "malformed"),
        (message(b'R', b"\0\0\0\x05ab"), "malformed"),
        (message(b'R', b"\0\0\0\x07"), "GSSAPI"),
        (message(b'R', b"\0\0\xff\xff"), "unknown number"),
        (
            message(b'R', b"\0\0\0\x0aSCRAM-SHA-512\0\0"),
            "SASL without SCRAM",
        ),
        (message(b'R', b"\0\0\0\x0br=x"), "out of turn"),
        (message(b'Z', b"I"), "does not fit"),
        (message(b'K', b"12345678"), "does not fit"),
        (message(b'T', b""), "does not fit"),
        (joined(&[&accepted, &accepted]), "out of turn"),
        (
            joined(&[&accepted, &message(b'R', &[0, 0, 0, 3])]),
            "out of turn",
        ),
        (joined(&[&sasl, &accepted]), "half-way"),
        (joined(&[&sasl, &sasl]), "out of turn"),
        (
            joined(&[&sasl, &message(b'R', b"\0\0\0\x0br=x,s=,i=1")]),
            "SCRAM-SHA-256 failed",
        ),
        (
            joined(&[&sasl, &message(b'R', b"\0\0\0\x0b\xff\x1b[2J")]),
            "SCRAM-SHA-256 failed",
        ),
        (
            joined(&[&sasl, &message(b'R', b"\0\0\0\x0c\x00")]),
            "SCRAM-SHA-256 failed",
        ),
        (
            joined(&[&accepted, &message(b'Z', b"I"), &message(b'D', b"\xff\xff")]),
            "malformed",
        ),
        (
            joined(&[&accepted, &message(b'Z', b"I"), &message(b'Z', b"I")]),
            "no value",
        ),
        (vec![], "did not answer"),
        (b"R".to_vec(), "did not answer"),
        (b"R\0\0\0\x08\0\0".to_vec(), "did not answer"),
    ] {
        let error = ends_with(&answer, false);
        assert!(error.to_string().contains(part), "{answer:?}: {error}");
        assert!(!error.to_string().contains('\u{1b}'), "{error:?}");
        let closed = ends_with(&answer, true).to_string();
        assert!(
            closed.contains(part) || closed.contains("closed"),
            "{answer:?}: {closed}"
        );
    }
}

#[test]
fn errors_of_a_server_are_shown_as_harmless_text() {
    for (answer, part) in [
        (
            message(b'E', b"SFATAL\0C28000\0M\x1b]0;x\x07no\0\0"),
            "FATAL 28000: no",
        ),
        (message(b'E', b""), "the server reports"),
        (message(b'E', b"M"), "the server reports"),
    ] {
        let error = ends_with(&answer, false).to_string();
        assert!(error.contains(part), "{answer:?}: {error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
    }
}

/// Every message cut at every length, and each of its bytes changed: no panic and no hang.
#[test]
fn cut_and_changed_messages_end_with_an_error() {
    let good = [
        message(b'R', &[0, 0, 0, 0]),
        message(b'S', b"server_version\x0015.1\0"),
        message(b'K', &[0; 8]),
        message(b'Z', b"I"),
        message(b'T', &[0, 0]),
        message(b'D', b"\0\x01\0\0\0\x0215"),
        message(b'C', b"SHOW\0"),
        message(b'Z', b"I"),
    ]
    .concat();
    for at in 0..good.len() {
        ends_with(&good[..at], true);
        let mut changed = good.clone();
        changed[at] ^= 0xff;
        ends_with(&changed, true);
    }
}

/// A server that never stops writing, or writes a byte from time to time, is given up.
#[test]
fn floods_and_drips_are_given_up() {
    let notice = message(b'N', &[b'x'; 60_000]);
    let accepted = message(b'R', &[0, 0, 0, 0]);
    let row = message(b'D', b"\0\x01\0\0\0\x01a");
    let rows = [&accepted[..], &message(b'Z', b"I"), &row.repeat(5_000)].concat();
    let drip = message(b'R', &[0; 4_000]);
    for (start, endless, pause) in [
        (vec![], notice, None),
        (rows, row.repeat(1_000), None),
        (drip, vec![0], Some(Duration::from_millis(100))),
    ] {
        let (port, thread) = listen(move |mut stream| {
            if stream
                .write_all(&start[..start.len().min(1 << 20)])
                .is_err()
            {
                return;
            }
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until && stream.write_all(&endless).is_ok() {
                if let Some(pause) = pause {
                    std::thread::sleep(pause);
                }
            }
        });
        let started = Instant::now();
        let Err(error) = open(&format!("postgres://ann@127.0.0.1:{port}/a"), &impatient()) else {
            panic!("opened");
        };
        assert!(started.elapsed() < Duration::from_secs(5), "{error}");
        thread.join().expect("no panic");
    }
}
