//! A server in one network namespace and the machine under test in another: the writer, a network
//! that breaks, and a switch that the server runs.

use crate::bench::{Scratch, Server, Writer, await_kept, done, verify, write_arguments};
use crate::namespaces::TwoNetworks;
use crate::{alone, skipped};
use std::time::Duration;

#[test]
fn a_broken_network_ends_the_test_and_what_was_kept_before_is_compared() {
    let _alone = alone();
    let networks = match TwoNetworks::make() {
        Ok(networks) => networks,
        Err(why) => return skipped(&why),
    };
    let scratch = Scratch::new("network");
    let (keep, token) = (scratch.place("keep"), scratch.token());
    let serve = scratch.command(&[
        "powertest",
        "serve",
        "--keep",
        &keep,
        "--token-file",
        &token,
        "--keep-file-size",
        "1M",
        "--listen",
        "10.213.7.1:7407",
    ]);
    let mut server = Server::of(networks.within(0, &serve));
    server.lines.wait_for("without the token are refused");
    let at = scratch.place("plain");
    let arguments = write_arguments(&scratch, "10.213.7.1:7407", &at, &["--log-file-size", "4M"]);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut writer = Writer::start(networks.within(1, &scratch.command(&words)));
    std::thread::sleep(Duration::from_millis(300));
    // The cable is pulled: neither side is told.
    let cable = format!("rlpt{}b", std::process::id() % 100_000);
    let down = [
        "netns",
        "exec",
        &networks.names[1],
        "ip",
        "link",
        "set",
        &cable,
        "down",
    ];
    done("ip", &down).expect("goes down");
    let line = writer.lines.wait_for("connection to the server broke");
    assert!(
        line.contains("nothing that was written after them counts"),
        "{line}"
    );
    assert_eq!(writer.child.wait().expect("ends").code(), Some(1));
    let up = [
        "netns",
        "exec",
        &networks.names[1],
        "ip",
        "link",
        "set",
        &cable,
        "up",
    ];
    done("ip", &up).expect("comes up");
    server.lines.wait_for("connection lost");
    let token = scratch.token();
    let mut judge = vec![
        "powertest",
        "verify",
        "--on",
        &at,
        "--to",
        "10.213.7.1:7407",
    ];
    judge.extend([
        "--token-file",
        &token,
        "--format",
        "json",
        "--cut-kind",
        "device-power",
    ]);
    let judged = crate::bench::run(networks.within(1, &scratch.command(&judge)));
    let cycle = judged.json();
    assert_eq!(
        (judged.code, &cycle["class"]),
        (Some(4), &"nothing_lost".into()),
        "{cycle}"
    );
    assert_eq!(cycle["counted"], false, "{cycle}");
    let notes = cycle["notes"].to_string();
    assert!(
        notes.contains("the connection to the server broke"),
        "{notes}"
    );
}

/// The server cuts after a time that it draws, judges two cycles, and ends.
#[test]
fn a_switch_is_run_once_in_each_cycle_and_the_server_ends_after_them() {
    let _alone = alone();
    let scratch = Scratch::new("switch");
    let marks = scratch.place("cuts");
    let more = [
        "--cycles",
        "2",
        "--cut-after",
        "100ms..200ms",
        "--seed",
        "7",
        "--cut",
    ];
    let script = format!("echo cut >> {marks}");
    let command = ["sh", "-c", script.as_str()];
    let more: Vec<&str> = more.iter().chain(&command).copied().collect();
    let mut server = Server::start(&scratch, &more);
    server.lines.wait_for("seed 7");
    let at = scratch.place("plain");
    for cycle in 1..=2 {
        let arguments = write_arguments(&scratch, &server.address, &at, &[]);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut writer = Writer::start(scratch.command(&words));
        server.lines.wait_for("cut after");
        server.lines.wait_for("sh ended after");
        await_kept(&scratch, &server.address, &at, 1);
        writer.kill();
        let kind = ["--cut-kind", "device-power"];
        let judged = verify(&scratch, &server.address, &at, &kind);
        assert_eq!(judged.code, Some(0), "{judged:?}");
        server.lines.wait_for(&format!("Cycle {cycle}, "));
    }
    assert!(server.child.wait().expect("ends").success());
    let cuts = std::fs::read_to_string(&marks).expect("it was run");
    assert_eq!(cuts, "cut\ncut\n");
    let line = server.lines.seen.last().expect("lines");
    assert!(line.contains("0 lost in 2 cuts"), "{line}");
}
