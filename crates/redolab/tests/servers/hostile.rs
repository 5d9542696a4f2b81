//! Servers that say nothing, speak without end or drop by drop, or send back what they were sent:
//! every command ends soon, with little memory, and prints no secret.

use crate::harness::Place;
use crate::secrets::expect_no_file_with;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// In the address of every command, and in none of its results.
const PASSWORD: &str = "correct-horse-7";
/// Connecting, logging in and reading the settings take 20 s at most; the rest is the
/// machine's.
const SOON: Duration = Duration::from_secs(35);

/// What a server does with each of its clients.
type Conduct = fn(TcpStream);

/// Serves every client in a thread of its own, as long as the test runs. Its port.
fn serve(conduct: Conduct) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || conduct(client));
        }
    });
    port
}

/// Reads what is there until it pauses.
fn heard(client: &mut TcpStream) -> Vec<u8> {
    let mut bytes = vec![0; 4096];
    let read = client.read(&mut bytes).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

/// Sends the same for ever, until the client is gone.
fn repeat(client: &mut TcpStream, bytes: &[u8], pause: Duration) {
    while client.write_all(bytes).is_ok() {
        std::thread::sleep(pause);
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    out.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    out.extend_from_slice(body);
    out
}

fn silent(mut client: TcpStream) {
    while !heard(&mut client).is_empty() {}
    std::thread::sleep(Duration::from_secs(100));
}

fn parameters_without_end(mut client: TcpStream) {
    heard(&mut client);
    let _ = client.write_all(&message(b'R', &[0; 4]));
    let many = message(b'S', b"name\0value\0").repeat(1000);
    repeat(&mut client, &many, Duration::ZERO);
}

fn long_parameters_without_end(mut client: TcpStream) {
    heard(&mut client);
    let _ = client.write_all(&message(b'R', &[0; 4]));
    let long = [&b"name\0"[..], &vec![b'x'; 500_000], b"\0"].concat();
    repeat(&mut client, &message(b'S', &long), Duration::ZERO);
}

fn notices_without_end(mut client: TcpStream) {
    heard(&mut client);
    repeat(
        &mut client,
        &message(b'N', b"SNOTICE\0Mhello\0\0").repeat(100),
        Duration::ZERO,
    );
}

fn notices_now_and_then(mut client: TcpStream) {
    heard(&mut client);
    repeat(
        &mut client,
        &message(b'N', b"SNOTICE\0Mhello\0\0"),
        Duration::from_millis(700),
    );
}

fn drops(mut client: TcpStream) {
    heard(&mut client);
    repeat(&mut client, b"R", Duration::from_millis(500));
}

/// Asks for the password in clear text, and reports it in an error.
fn echo(mut client: TcpStream) {
    heard(&mut client);
    let _ = client.write_all(&message(b'R', &[0, 0, 0, 3]));
    let sent = heard(&mut client);
    let password = sent.get(5..).unwrap_or_default();
    let password = password.strip_suffix(b"\0").unwrap_or(password);
    let text = [
        b"SFATAL\0VFATAL\0C28P01\0Mnot x",
        password,
        b"x, nor ",
        &password[..5],
        b"\x01",
        &password[5..],
        b"\0\0",
    ]
    .concat();
    let _ = client.write_all(&message(b'E', &text));
    heard(&mut client);
}

/// A packet of MariaDB's protocol.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let [a, b, c, _] = (body.len() as u32).to_le_bytes();
    [&[a, b, c, number], body].concat()
}

/// Refuses with the password, which it only has to guess.
fn guess(mut client: TcpStream) {
    let text = format!("\u{15}\u{4}#28000not {PASSWORD}, nor x{PASSWORD}x");
    let body = [&[0xff], text.as_bytes()].concat();
    let _ = client.write_all(&packet(0, &body));
    heard(&mut client);
}

fn large_packets_without_end(mut client: TcpStream) {
    let body = vec![0xff; 60_000];
    let mut number = 0_u8;
    while client.write_all(&packet(number, &body)).is_ok() {
        number = number.wrapping_add(1);
    }
}

#[test]
fn no_server_holds_a_command_or_has_its_password_printed() {
    let servers: [(&str, &str, Conduct); 13] = [
        ("postgres", "silent", silent),
        ("postgres", "parameters", parameters_without_end),
        ("postgres", "long parameters", long_parameters_without_end),
        ("postgres", "notices", notices_without_end),
        ("postgres", "notices now and then", notices_now_and_then),
        ("postgres", "drops", drops),
        ("postgres", "echo", echo),
        ("postgres", "silent after login", silent_after_login),
        ("mariadb", "silent", silent),
        ("mariadb", "silent after login", silent_mariadb_after_login),
        ("mariadb", "drops", drops),
        ("mariadb", "guess", guess),
        ("mariadb", "large packets", large_packets_without_end),
    ];
    std::thread::scope(|scope| {
        for (scheme, what, conduct) in servers {
            scope.spawn(move || {
                let place = Place::new();
                let port = serve(conduct);
                let address = format!("{scheme}://guest:{PASSWORD}@127.0.0.1:{port}/db");
                let begun = Instant::now();
                let done = place.run(&["run", "--on", &address, "--time", "1s", "--jobs", "1"]);
                let took = begun.elapsed();
                println!("{scheme}, {what}: {took:.1?}: {}", done.err);
                assert!(
                    matches!(done.code, Some(1 | 2)),
                    "{scheme}, {what}: {done:?}"
                );
                assert!(took < SOON, "{scheme}, {what}: {took:?}: {done:?}");
                let said = format!("{}{}", done.out, done.err);
                assert!(!said.contains(PASSWORD), "{scheme}, {what}: {said}");
                if ["echo", "guess"].contains(&what) {
                    assert!(said.contains("(a password)"), "{said}");
                }
                expect_no_file_with(place.path(), PASSWORD, Path::new(""));
            });
        }
    });
}

/// Accepts every PostgreSQL user, and then answers nothing.
fn silent_after_login(mut client: TcpStream) {
    heard(&mut client);
    let ready = [message(b'R', &[0; 4]), message(b'Z', b"I")].concat();
    let _ = client.write_all(&ready);
    silent(client);
}

/// Accepts every MariaDB user, and then answers nothing.
fn silent_mariadb_after_login(mut client: TcpStream) {
    let version = &b"\x0a5.5.5-10.11.6-MariaDB\0\x01\0\0\0abcdefgh\0"[..];
    // Capabilities of protocol 4.1 with a plugin of authentication, and the rest of the scramble.
    let rest = &b"\xff\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0abcdefghijkl\0"[..];
    let greeting = [version, rest, b"mysql_native_password\0"].concat();
    let _ = client.write_all(&packet(0, &greeting));
    heard(&mut client);
    let _ = client.write_all(&packet(2, b"\0\0\0\x02\0\0\0"));
    silent(client);
}
