//! Servers that are none: whatever arrives, the driver ends with an error, soon, in little memory.

use crate::server::environment;
use drivers::mariadb::{MariadbEnvironment, open};
use measure::driver::DriverError;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(500);

fn impatient() -> MariadbEnvironment {
    MariadbEnvironment {
        patience: PATIENCE,
        ..environment()
    }
}

/// Listens, and serves one connection by `serve` until that returns.
fn listen(serve: impl Fn(TcpStream) + Send + 'static) -> (u16, JoinHandle<()>) {
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
        let has_secret = rest.windows(5).any(|part| part == b"Wr0ng");
        assert!(!has_secret, "the password itself was sent");
    });
    let started = Instant::now();
    let address = format!("mariadb://ann:Wr0ng@127.0.0.1:{port}/a");
    let Err(error) = open(&address, &impatient()) else {
        panic!("opened");
    };
    assert!(started.elapsed() < Duration::from_secs(5), "{error}");
    assert!(!format!("{error} {error:?}").contains("Wr0ng"), "{error}");
    thread.join().expect("no panic");
    error
}

fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_le_bytes();
    [&length[..3], &[number], body].concat()
}

/// The greeting of a server.
fn greeting() -> Vec<u8> {
    let mut body = vec![10];
    body.extend_from_slice(b"5.5.5-10.11.19-MariaDB\0\x01\0\0\0abcdefgh\0");
    body.extend_from_slice(&[0xff, 0xf7, 8, 2, 0, 0xff, 0x81, 21]);
    body.extend_from_slice(&[0; 10]);
    body.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    packet(0, &body)
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];

/// A result with two columns, from packet 1 on.
fn result(rows: &[&[u8]]) -> Vec<u8> {
    let mut packets = vec![vec![2], b"name".to_vec(), b"value".to_vec(), EOF.to_vec()];
    packets.extend(rows.iter().map(|row| row.to_vec()));
    packets.push(EOF.to_vec());
    let numbered = packets.iter().zip(1_u8..);
    numbered
        .flat_map(|(body, number)| packet(number, body))
        .collect()
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of answers")]
fn what_is_not_the_protocol_ends_with_an_error() {
    let hello = greeting();
    let after = |bodies: &[&[u8]]| {
        let numbered = bodies.iter().zip(2_u8..);
        let rest: Vec<u8> = numbered
            .flat_map(|(body, number)| packet(number, body))
            .collect();
        [&hello[..], &rest].concat()
    };
    let query = |answer: &[u8]| [&after(&[OK])[..], answer].concat();
    for (answer, part) in [
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            "impossible length",
        ),
        (b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), "impossible length"),
        (b"\xff\xff\xff\0".to_vec(), "impossible length"),
        (b"\x05\0\0\x07hello".to_vec(), "out of turn"),
        (packet(0, b""), "greeting is malformed"),
        (packet(0, b"\x09old"), "greeting is malformed"),
        (packet(0, &[10; 200]), "greeting is malformed"),
        (
            packet(0, b"\xff\x10\x04Too many\x1b[2J connections"),
            "error 1040: Too many",
        ),
        (
            packet(0, b"\xff\x69\x04Host 'x' is blocked"),
            "check user, host",
        ),
        (
            after(&[b"\xff\x15\x04#28000no Wr0ng"]),
            "refuses the connection",
        ),
        (after(&[b""]), "not known"),
        (after(&[b"\x01"]), "not known"),
        (after(&[b"\x01\x04"]), "not known"),
        (after(&[b"\xfe"]), "plugin ``"),
        (
            after(&[b"\xfemysql_clear_password\0"]),
            "`mysql_clear_password`",
        ),
        (after(&[b"\xfedialog\0\x1b[2J"]), "`dialog`"),
        (after(&[b"\xfe\x1b[2J\0"]), "plugin `"),
        (
            after(&[b"\xfecaching_sha2_password\0abc", b""]),
            "out of turn",
        ),
        (after(&[b"\xfb/etc/passwd"]), "not known"),
        (query(&packet(1, b"")), "does not fit"),
        (query(&packet(1, b"\xfb/etc/passwd")), "does not fit"),
        (query(&packet(1, b"\xff")), "error 0"),
        (
            query(&packet(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff")),
            "does not fit",
        ),
        (query(&packet(1, b"\xfc\xff\xff")), "does not fit"),
        (query(&packet(1, OK)), "no InnoDB"),
        (query(&result(&[])), "no InnoDB"),
        (query(&result(&[b"\x01a"])), "malformed"),
        (query(&result(&[b"\x01a\x01b\x01c"])), "malformed"),
        (query(&result(&[b"\xff"])), "error 0"),
        (
            query(&result(&[b"\x09read_only\x06\x1b[2JON"])),
            "setting read_only is on",
        ),
        (vec![], "did not answer"),
        (b"\x05".to_vec(), "did not answer"),
        (b"\x05\0\0\0ab".to_vec(), "did not answer"),
        (hello.clone(), "did not answer"),
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

/// Over a network the password is proved, and never sent.
#[test]
fn a_server_that_asks_for_the_password_itself_does_not_get_it() {
    let switch = packet(2, b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0");
    let (port, thread) = listen(move |mut stream| {
        let mut arrived = vec![0; 4096];
        let _ = stream.write_all(&greeting());
        let first = stream.read(&mut arrived).expect("a login");
        let _ = stream.write_all(&switch);
        // After the answer to the switch, the whole of it is asked for.
        let second = stream.read(&mut arrived[first..]).expect("an answer");
        let _ = stream.write_all(&packet(4, b"\x01\x04"));
        let rest = stream.read(&mut arrived[first + second..]).unwrap_or(0);
        assert!(rest <= 5, "nothing more is sent than a farewell");
        assert!(!arrived.windows(5).any(|part| part == b"Wr0ng"));
    });
    let address = format!("mysql://ann:Wr0ng@127.0.0.1:{port}/a");
    let error = open(&address, &impatient()).err().expect("refused");
    thread.join().expect("no panic");
    assert!(error.is_unusable(), "{error}");
    assert!(
        error.to_string().contains("through a Unix socket only"),
        "{error}"
    );
}

/// Every packet cut at every length, and each of its bytes changed: no panic and no hang.
#[test]
fn cut_and_changed_packets_end_with_an_error() {
    let row = b"\x10innodb_page_size\x0516384";
    let other = b"\x12max_allowed_packet\x0816777216";
    let good = [
        greeting(),
        packet(2, OK),
        result(&[row, other]),
        result(&[row]),
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
    let accepted = [greeting(), packet(2, OK)].concat();
    let head: Vec<u8> = [vec![2], b"n".to_vec(), b"v".to_vec(), EOF.to_vec()]
        .iter()
        .zip(1_u8..)
        .flat_map(|(body, number)| packet(number, body))
        .collect();
    let rows: Vec<u8> = (0..=255)
        .flat_map(|n: u8| packet(n.wrapping_add(5), b"\x01a\x01b"))
        .collect();
    let flood = [&accepted[..], &head].concat();
    let switch = packet(2, b"\xfemysql_native_password\0abc");
    let drip = [&greeting()[..], b"\x00\x10\x00\x02"].concat();
    for (start, endless, pause) in [
        (flood, rows, None),
        ([&greeting()[..], &switch].concat(), vec![0], Some(20)),
        (drip, vec![0], Some(100)),
    ] {
        let (port, thread) = listen(move |mut stream| {
            if stream.write_all(&start).is_err() {
                return;
            }
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until && stream.write_all(&endless).is_ok() {
                if let Some(pause) = pause {
                    std::thread::sleep(Duration::from_millis(pause));
                }
            }
        });
        let started = Instant::now();
        let address = format!("mariadb://ann@127.0.0.1:{port}/a");
        let error = open(&address, &impatient()).err().expect("given up");
        assert!(started.elapsed() < Duration::from_secs(5), "{error}");
        thread.join().expect("no panic");
    }
}
