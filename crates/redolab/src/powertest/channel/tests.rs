//! Two ends of a connection, and everything that is refused between them.

use super::*;
use std::io::Write as _;
use std::net::TcpListener;
use std::thread::JoinHandle;

const TOKEN: &[u8] = b"a token of sixteen bytes or more";

/// A server that does `with` its first client, and its address.
fn server<T: Send + 'static>(
    with: impl FnOnce(TcpStream) -> T + Send + 'static,
) -> (String, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let thread = std::thread::spawn(move || with(listener.accept().expect("a client").0));
    (address, thread)
}

fn token() -> PowerToken {
    PowerToken::of(TOKEN)
}

#[test]
fn messages_come_whole_and_in_order_in_both_directions() {
    let (address, served) = server(|stream| {
        let mut channel =
            PowerChannel::accept(stream, &token(), || true).expect("it has the token");
        let mut bodies = Vec::new();
        while let Some(body) = channel.receive(PATIENCE).expect("whole messages") {
            channel
                .send(&[&body[..], b"!"].concat()[..(body.len() + 1).min(BODY_MAX)])
                .expect("sends");
            bodies.push(body.len());
        }
        bodies
    });
    let mut channel = PowerChannel::connect(&address, &token()).expect("connects");
    for length in [0, 1, 100, BODY_MAX] {
        channel.send(&vec![7; length]).expect("sends");
        let answer = channel
            .receive(PATIENCE)
            .expect("whole")
            .expect("an answer");
        assert_eq!(answer.len(), (length + 1).min(BODY_MAX));
    }
    drop(channel);
    assert_eq!(served.join().expect("ends"), [0, 1, 100, BODY_MAX]);
}

#[test]
fn a_wrong_token_is_refused_on_both_sides_and_never_sent() {
    let (address, served) = server(|stream| PowerChannel::accept(stream, &token(), || true).err());
    let refused = PowerChannel::connect(&address, &PowerToken::of(b"another token, as long"));
    let text = refused.err().expect("refused").to_string();
    assert!(
        text.contains("wrong token") && text.contains("--token-file"),
        "{text}"
    );
    assert!(matches!(
        served.join().expect("ends"),
        Some(ChannelError::Refused { .. })
    ));
    // A server that accepts everybody shows by its sum that it does not have the token.
    let (address, seen) = server(|mut stream| {
        let mut hello = greeting();
        hello.extend_from_slice(&[3; NONCE]);
        put(&mut stream, &hello, (Instant::now(), PATIENCE), "x").expect("sends");
        let mut greeted = [0; 6 + NONCE + SUM];
        whole(&mut stream, &mut greeted, (Instant::now(), PATIENCE), "x")
            .expect("the client greets");
        put(
            &mut stream,
            &[&[0][..], &[9; SUM]].concat(),
            (Instant::now(), PATIENCE),
            "x",
        )
        .expect("sends");
        greeted.to_vec()
    });
    let error = PowerChannel::connect(&address, &token())
        .err()
        .expect("an impostor");
    assert!(matches!(error, ChannelError::Impostor { .. }), "{error}");
    let seen = seen.join().expect("ends");
    assert!(
        !seen
            .windows(8)
            .any(|part| TOKEN.windows(8).any(|secret| part == secret))
    );
}

#[test]
fn other_versions_and_other_programs_are_named() {
    let (address, _served) = server(|mut stream| {
        let mut hello = MAGIC.to_vec();
        hello.extend_from_slice(&9_u16.to_le_bytes());
        put(&mut stream, &hello, (Instant::now(), PATIENCE), "x")
    });
    let error = PowerChannel::connect(&address, &token())
        .err()
        .expect("refused")
        .to_string();
    assert!(
        error.contains("version 9") && error.contains("same redolab"),
        "{error}"
    );
    let (address, _served) = server(|mut stream| stream.write_all(b"SSH-2.0-OpenSSH_9\r\n"));
    let error = PowerChannel::connect(&address, &token())
        .err()
        .expect("refused")
        .to_string();
    assert!(error.contains("no redolab powertest server"), "{error}");
    // And a client of another version, as the server sees it and as it is answered.
    let (address, served) = server(|stream| PowerChannel::accept(stream, &token(), || true).err());
    let mut stream = TcpStream::connect(&address).expect("connects");
    let mut hello = MAGIC.to_vec();
    hello.extend_from_slice(&9_u16.to_le_bytes());
    stream.write_all(&hello).expect("sends");
    let found = served.join().expect("ends").expect("refused");
    assert!(
        matches!(found, ChannelError::Version { found: 9, .. }),
        "{found}"
    );
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it is answered");
    assert!(
        String::from_utf8_lossy(&answer).contains(&format!("version {VERSION}")),
        "in words"
    );
}

/// A connected pair, of which the client's side is bare.
fn bare_client(
    with: impl FnOnce(&mut TcpStream, &mut PowerChannel) + Send + 'static,
) -> ChannelError {
    let (address, served) = server(|stream| {
        let mut channel =
            PowerChannel::accept(stream, &token(), || true).expect("it has the token");
        channel.receive(Duration::from_secs(5)).err()
    });
    let mut channel = PowerChannel::connect(&address, &token()).expect("connects");
    let mut stream = channel.stream.try_clone().expect("a second descriptor");
    with(&mut stream, &mut channel);
    drop((stream, channel));
    served.join().expect("ends").expect("an error")
}

#[test]
fn long_changed_and_cut_messages_are_refused() {
    let long = bare_client(|stream, _| {
        stream
            .write_all(&(BODY_MAX as u32 + 1).to_le_bytes())
            .expect("sends");
    });
    assert!(long.to_string().contains("at most 65536"), "{long}");
    let changed = bare_client(|stream, channel| {
        let sum = channel.sending.next(b"abc").finalize().into_bytes();
        let body = [&3_u32.to_le_bytes()[..], b"abd", &sum[..SHORT_SUM]].concat();
        stream.write_all(&body).expect("sends");
    });
    assert!(changed.to_string().contains("HMAC"), "{changed}");
    let repeated = bare_client(|stream, channel| {
        // The second message of this way, as the first.
        channel.sending.count = 1;
        let sum = channel.sending.next(b"abc").finalize().into_bytes();
        let body = [&3_u32.to_le_bytes()[..], b"abc", &sum[..SHORT_SUM]].concat();
        stream.write_all(&body).expect("sends");
    });
    assert!(repeated.to_string().contains("HMAC"), "{repeated}");
    let cut = bare_client(|stream, _| stream.write_all(&[9, 0, 0]).expect("sends"));
    assert!(matches!(cut, ChannelError::Closed { .. }), "{cut}");
}

#[test]
fn silence_ends_within_the_limit_however_slowly_bytes_come() {
    let (address, served) = server(|stream| {
        let mut channel =
            PowerChannel::accept(stream, &token(), || true).expect("it has the token");
        channel.receive(Duration::from_millis(300)).err()
    });
    let channel = PowerChannel::connect(&address, &token()).expect("connects");
    let mut stream = channel.stream.try_clone().expect("a second descriptor");
    for byte in [1, 0, 0] {
        stream.write_all(&[byte]).expect("sends");
        std::thread::sleep(Duration::from_millis(120));
    }
    let error = served.join().expect("ends").expect("it is silent");
    assert!(matches!(error, ChannelError::Silent { .. }), "{error}");
    drop(channel);
}

#[test]
fn a_token_is_read_only_from_a_file_that_not_everybody_may_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("token");
    let with = |bytes: &[u8], mode| {
        std::fs::write(&path, bytes).expect("writes");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, mode).expect("changes");
        PowerToken::read(&path).map(|token| token.0)
    };
    assert_eq!(
        with(b" 0123456789abcdef\n", 0o600),
        Ok(b"0123456789abcdef".to_vec())
    );
    assert!(
        with(b"0123456789abcdef", 0o640).is_ok(),
        "a group may share it"
    );
    for (bytes, mode, word) in [
        (&b"0123456789abcdef"[..], 0o644, "chmod 600"),
        (b"short", 0o600, "5 bytes"),
        (&[b'x'; 5000], 0o600, "4097 bytes"),
    ] {
        let refused = with(bytes, mode).expect_err(word);
        assert!(refused.contains(word), "{refused}");
    }
    let missing = PowerToken::read(&folder.path().join("none"))
        .err()
        .expect("missing");
    assert!(missing.contains("make one"), "{missing}");
    assert!(PowerToken::read(folder.path()).is_err(), "a directory");
}
