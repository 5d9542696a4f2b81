//! What cannot be judged, and what is refused, each with what to do.

use crate::bench::{Ended, Scratch, Server, Writer, await_kept, run, unmount, verify, write};
use crate::program::done;
use crate::{alone, skipped};
use measure::power_test::StackFingerprint;
use redolab::powertest::channel::{PATIENCE, PowerChannel, PowerToken};
use redolab::powertest::identity::{TestedPlace, read_clocks};
use redolab::powertest::messages::{
    self, Message, NewTest, PowerAck, PowerRequest, PowerResponse, TestNote, encode, encode_acks,
};
use std::path::Path;
use std::time::Duration;

const KIND: [&str; 2] = ["--cut-kind", "device-power"];

/// The command ended with this code and says all of this.
fn says(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(
        words.iter().all(|word| ended.err.contains(word)),
        "{words:?}: {ended:?}"
    );
}

#[test]
fn a_wrong_token_and_a_missing_server_are_named() {
    let scratch = Scratch::new("token");
    let server = Server::start(&scratch, &[]);
    let other = Scratch::new("token-2");
    std::fs::write(other.token(), "another token, also long enough").expect("writes");
    let at = scratch.place("plain");
    let refused = write(&other, &server.address, &at, &["--commits", "1"]);
    says(&refused, 2, &["wrong token", "--token-file"]);
    let nobody = write(&scratch, "127.0.0.1:9", &at, &["--commits", "1"]);
    says(&nobody, 1, &["127.0.0.1:9"]);
    let nowhere = write(
        &scratch,
        &server.address,
        "/no/such/path",
        &["--commits", "1"],
    );
    assert_ne!(nowhere.code, Some(0));
    assert!(nowhere.err.contains("/no/such/path"), "{nowhere:?}");
}

#[test]
fn a_cut_that_was_none_does_not_count() {
    let scratch = Scratch::new("none");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let nothing = verify(&scratch, &server.address, &at, &KIND);
    says(&nothing, 4, &["no test of this path", "powertest write"]);
    let unstated = verify(&scratch, &server.address, &at, &[]);
    says(&unstated, 2, &["--cut-kind"]);
    // It ends by itself, and is interrupted.
    let ended = write(&scratch, &server.address, &at, &["--commits", "50"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("50 acknowledgements"), "{ended:?}");
    let again = write(&scratch, &server.address, &at, &["--commits", "50"]);
    says(&again, 2, &["was not verified", "--abandon"]);
    let judged = verify(&scratch, &server.address, &at, &KIND);
    let cycle = judged.json();
    assert_eq!(
        (judged.code, &cycle["counted"]),
        (Some(4), &false.into()),
        "{cycle}"
    );
    assert_eq!(
        (&cycle["class"], &cycle["counts"]["demanded"]),
        (&"nothing_lost".into(), &50.into())
    );
    assert!(
        cycle["notes"].to_string().contains("had ended before"),
        "{cycle}"
    );
    let mut interrupted = Writer::on(&scratch, &server, &at, &[]);
    std::thread::sleep(Duration::from_millis(100));
    let pid = rustix::process::Pid::from_child(&interrupted.child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("signals");
    assert_eq!(interrupted.child.wait().expect("ends").code(), Some(130));
    let judged = verify(&scratch, &server.address, &at, &KIND);
    assert_eq!(
        (judged.code, &judged.json()["counted"]),
        (Some(4), &false.into())
    );
}

#[test]
fn a_machine_that_was_not_restarted_had_no_cut_of_its_power() {
    let scratch = Scratch::new("restart");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let mut running = Writer::on(&scratch, &server, &at, &[]);
    let live = verify(&scratch, &server.address, &at, &KIND);
    says(&live, 4, &["still connected"]);
    let second = write(&scratch, &server.address, &at, &["--commits", "1"]);
    says(&second, 2, &["another power test is writing"]);
    std::thread::sleep(Duration::from_millis(100));
    running.kill();
    for kind in ["host-power", "guest-reset"] {
        let refused = verify(&scratch, &server.address, &at, &["--cut-kind", kind]);
        says(&refused, 4, &["was not restarted", kind]);
    }
    let given_up = verify(&scratch, &server.address, &at, &["--abandon"]);
    says(&given_up, 0, &["was given up"]);
    let nothing = verify(&scratch, &server.address, &at, &KIND);
    says(&nothing, 4, &["no test of this path"]);
}

#[test]
fn a_server_with_the_acknowledgements_of_another_run_is_named() {
    let (scratch, other) = (Scratch::new("servers"), Scratch::new("servers-2"));
    let (server, second) = (Server::start(&scratch, &[]), Server::start(&other, &[]));
    let at = scratch.place("plain");
    let mut first = Writer::on(&scratch, &server, &at, &[]);
    await_kept(&scratch, &server.address, &at, 10);
    first.kill();
    let unknown = verify(&scratch, &second.address, &at, &KIND);
    says(&unknown, 4, &["no test of this path", "name the server"]);
    // The second server has a test of this path too, but the files are those of the first.
    let copy = scratch.place("copy");
    let folder = format!("{at}/redolab-powertest");
    done("mv", &[&folder, &copy]).expect("moves");
    let mut later = Writer::on(&scratch, &second, &at, &[]);
    std::thread::sleep(Duration::from_millis(100));
    later.kill();
    done("rm", &["-r", &folder]).expect("removes");
    done("mv", &[&copy, &folder]).expect("moves");
    let mixed = verify(&scratch, &second.address, &at, &KIND);
    says(&mixed, 4, &["this server does not know"]);
    let own = verify(&scratch, &server.address, &at, &KIND);
    says(&own, 4, &["nothing was cut"]);
}

#[test]
fn another_device_in_the_place_cannot_be_judged() {
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return skipped("loop devices need root");
    }
    let scratch = Scratch::new("device");
    let (image, at) = (scratch.place("image"), scratch.place("mount"));
    let file = std::fs::File::create(&image).expect("an image");
    file.set_len(48 << 20).expect("an image");
    done("mkfs.ext4", &["-q", &image]).expect("a file system");
    if let Err(why) = done("mount", &["-o", "loop", &image, &at]) {
        return skipped(&why);
    }
    let server = Server::start(&scratch, &[]);
    let mut running = Writer::on(&scratch, &server, &at, &[]);
    await_kept(&scratch, &server.address, &at, 10);
    running.kill();
    unmount(&at).expect("unmounts");
    let empty = verify(&scratch, &server.address, &at, &KIND);
    says(
        &empty,
        4,
        &[
            "this is not what was written to",
            "Mount the tested file system",
        ],
    );
    done("mount", &["-o", "loop", &image, &at]).expect("mounts");
    let stated = ["--cut-kind", "file-system-shutdown"];
    let judged = verify(&scratch, &server.address, &at, &stated);
    assert_eq!(judged.code, Some(0), "{judged:?}");
}

#[test]
fn a_keep_of_something_else_and_a_full_disk_are_refused() {
    let _alone = alone();
    let scratch = Scratch::new("keep");
    let serve = |keep: &str| {
        let token = scratch.token();
        let fixed = ["powertest", "serve", "--keep", keep, "--token-file", &token];
        let arguments: Vec<&str> = fixed
            .into_iter()
            .chain(["--listen", "127.0.0.1:0"])
            .collect();
        run(scratch.command(&arguments))
    };
    std::fs::write(scratch.path.join("plain/diary.txt"), "mine").expect("writes");
    says(
        &serve(&scratch.place("plain")),
        2,
        &["something else", "--keep"],
    );
    let at = scratch.place("mount");
    if let Err(why) = done("mount", &["-t", "tmpfs", "-o", "size=8M", "tmpfs", &at]) {
        return skipped(&why);
    }
    says(&serve(&at), 1, &["--keep", "making the server's log"]);
    let left: Vec<_> = std::fs::read_dir(&at).expect("lists").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A client of the test's own, which says what no writer says in a test.
struct OwnWriter(PowerChannel);

impl OwnWriter {
    fn connect(scratch: &Scratch, server: &Server) -> OwnWriter {
        let token = PowerToken::read(scratch.token().as_ref()).expect("a token");
        OwnWriter(PowerChannel::connect(&server.address, &token).expect("connects"))
    }

    fn ask(&mut self, body: &[u8]) -> PowerResponse {
        self.0.send(body).expect("sends");
        let answer = self.0.receive(PATIENCE).expect("answers").expect("answers");
        match messages::decode(&answer).expect("a message") {
            Message::Json(answer) => answer,
            Message::Acks(acks) => panic!("nobody asked for {} acknowledgements", acks.len()),
        }
    }

    fn request(&mut self, request: &PowerRequest) -> PowerResponse {
        self.ask(&encode(request).expect("short"))
    }

    fn open(&mut self, at: &str, digit: &str) -> PowerResponse {
        let place = TestedPlace::of(Path::new(at)).expect("a place");
        self.request(&PowerRequest::Open(Box::new(NewTest {
            test_id: digit.repeat(32),
            opened: "2026-11-24T10:00:00.000Z".to_owned(),
            machine_id: place.machine_id.clone(),
            boot_id: place.boot_id.clone(),
            clock: read_clocks(),
            path: at.to_owned(),
            mount_point: place.mount_point.clone(),
            mode: "redo log".to_owned(),
            jobs: 1,
            payload_bytes: 100,
            sync_method: "direct".to_owned(),
            fingerprint: StackFingerprint::of(&place.stack, Some("direct")),
            stack: Some(place.stack),
            abandon: false,
        })))
    }
}

#[test]
fn two_writers_for_one_path_and_requests_without_a_test_are_refused() {
    let scratch = Scratch::new("two");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let mut first = OwnWriter::connect(&scratch, &server);
    let refused = |answer: PowerResponse, word: &str| match answer {
        PowerResponse::Refused(why) => assert!(why.contains(word), "{why}"),
        other => panic!("{word}: {other:?}"),
    };
    let ack = encode_acks(&[PowerAck::default()]);
    refused(first.ask(&ack), "no test was begun");
    assert_eq!(first.open(&at, "1"), PowerResponse::Done);
    assert_eq!(first.ask(&ack), PowerResponse::Kept(1));
    refused(first.open(&at, "2"), "already");
    let mut second = OwnWriter::connect(&scratch, &server);
    refused(second.open(&at, "2"), "another writer is connected");
    drop(first);
    // The server learns of it when it reads the end.
    std::thread::sleep(Duration::from_millis(200));
    refused(second.open(&at, "2"), "was not verified");
    refused(
        second.request(&PowerRequest::Fetch {
            test_id: "9".repeat(32),
            from: 0,
        }),
        "no such",
    );
}

#[test]
fn a_clock_that_jumps_is_stated() {
    let scratch = Scratch::new("clock");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let mut own = OwnWriter::connect(&scratch, &server);
    assert_eq!(own.open(&at, "3"), PowerResponse::Done);
    let jump = PowerRequest::Note(TestNote::ClockJumped(-3_600_000_000_000));
    assert_eq!(own.request(&jump), PowerResponse::Done);
    drop(own);
    std::thread::sleep(Duration::from_millis(200));
    let judged = verify(&scratch, &server.address, &at, &KIND);
    let cycle = judged.json();
    assert!(
        cycle["notes"].to_string().contains("jumped by -3600.0 s"),
        "{cycle}"
    );
    // Nothing had been acknowledged.
    assert_eq!(
        (judged.code, &cycle["counted"]),
        (Some(4), &false.into()),
        "{cycle}"
    );
}

#[test]
fn a_folder_of_somebody_else_is_left_alone() {
    let scratch = Scratch::new("folder");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let theirs = scratch.path.join("plain/redolab-powertest");
    std::fs::create_dir(&theirs).expect("makes");
    std::fs::write(theirs.join("diary.txt"), "mine").expect("writes");
    let refused = write(&scratch, &server.address, &at, &["--commits", "1"]);
    says(&refused, 2, &["something else", "move it away"]);
    assert!(theirs.join("diary.txt").exists());
}

/// Clients that connect and say nothing, from the address of the honest one.
#[test]
fn silent_clients_lock_nobody_out() {
    let scratch = Scratch::new("silent");
    let server = Server::start(&scratch, &[]);
    for silent in [16, 200] {
        let connect = |_| std::net::TcpStream::connect(&server.address).expect("connects");
        let all: Vec<_> = (0..silent).map(connect).collect();
        for _ in 0..3 {
            let mut honest = OwnWriter::connect(&scratch, &server);
            let answer = honest.request(&PowerRequest::Ping);
            assert_eq!(answer, PowerResponse::Done, "{silent} silent clients");
        }
        drop(all);
    }
}

/// A client without the token has a few seconds for all that it sends, however it sends it.
#[test]
fn a_client_that_sends_drop_by_drop_is_closed_soon() {
    use std::io::{Read as _, Write as _};
    let scratch = Scratch::new("drops");
    let server = Server::start(&scratch, &[]);
    let mut slow = std::net::TcpStream::connect(&server.address).expect("connects");
    let mut hello = [0; 38];
    slow.read_exact(&mut hello)
        .expect("the greeting of the server");
    let drops = b"RLPT\x01\0and then bytes that are never enough for a whole greeting";
    let begun = std::time::Instant::now();
    for drop in drops {
        if slow.write_all(&[*drop]).is_err() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
    assert!(begun.elapsed() < PATIENCE, "it was closed");
}
