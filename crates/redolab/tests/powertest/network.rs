//! A server in one network namespace and the machine under test in another: the writer, a network
//! that breaks, and a switch that the server runs.

use crate::bench::{Scratch, Server, Writer, await_kept, verify};
use crate::{alone, skipped};

#[test]
fn a_broken_network_ends_the_test_and_what_was_kept_before_is_compared() {
    let _alone = alone();
    let mut scratch = Scratch::new("network");
    if let Err(why) = scratch.divide_networks() {
        return skipped(&why);
    }
    let mut server = Server::start(&scratch, &[]);
    server.lines.wait_for("without the token are refused");
    let at = scratch.place("plain");
    let mut writer = Writer::on(&scratch, &server, &at, &["--log-file-size", "4M"]);
    await_kept(&scratch, &server.address, &at, 20);
    // The cable is pulled: neither side is informed.
    let network = scratch.network.as_ref().expect("it was divided");
    network.cable("down").expect("goes down");
    let line = writer.lines.wait_for("connection to the server broke");
    let says = "nothing that was written after them counts";
    assert!(line.contains(says), "{line}");
    assert_eq!(writer.child.wait().expect("ends").code(), Some(1));
    network.cable("up").expect("comes up");
    server.lines.wait_for("connection lost");
    let kind = ["--cut-kind", "device-power"];
    let judged = verify(&scratch, &server.address, &at, &kind);
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

/// The server cuts after a time that it draws, judges two cycles by its own record, and ends.
#[test]
fn a_switch_is_run_once_in_each_cycle_and_the_server_ends_after_them() {
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return skipped("another start of the machine needs root");
    }
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
        let mut writer = Writer::on(&scratch, &server, &at, &[]);
        server.lines.wait_for("cut after");
        server.lines.wait_for("sh ended after");
        await_kept(&scratch, &server.address, &at, 1);
        writer.kill();
        scratch.restart();
        let kind = ["--cut-kind", "host-power"];
        let mut judged = verify(&scratch, &server.address, &at, &kind);
        // On a busy machine the server learns late that a connection is gone.
        while judged.err.contains("is still connected") {
            judged = verify(&scratch, &server.address, &at, &kind);
        }
        assert_eq!(judged.code, Some(0), "{judged:?}");
        let record = judged.json();
        assert_eq!(record["basis"], "power_switch", "{record}");
        assert_eq!(record["evidence"]["switched"]["program"], "sh", "{record}");
        let line = server.lines.wait_for(&format!("Cycle {cycle}, "));
        assert!(
            line.contains("shown by the record of the power switch"),
            "{line}"
        );
    }
    assert!(server.child.wait().expect("ends").success());
    let cuts = std::fs::read_to_string(&marks).expect("it was run");
    assert_eq!(cuts, "cut\ncut\n");
    let line = server.lines.seen.last().expect("lines");
    let bound = "0 lost in 2 cuts";
    assert!(
        line.contains(bound) && line.contains("below 77.6 %"),
        "{line}"
    );
}
