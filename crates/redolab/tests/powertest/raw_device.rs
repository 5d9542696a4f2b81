//! A power test of a raw block device: what is refused before anything is overwritten, and ends of
//! the writer's own, which are noted on the device itself.

use crate::bench::{
    Bench, Medium, RAW_DISK_BYTES, Scratch, Server, Writer, await_kept, verify, write,
};
use crate::disk::Fault;
use crate::verdict::{check, tests_in};
use crate::{alone, skipped};
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::FileExt;

const KIND: [&str; 2] = ["--cut-kind", "device-power"];

fn made(name: &str) -> Option<Bench> {
    match Bench::make_on(name, Fault::Honest, 7, Medium::RawDevice) {
        Ok(bench) => Some(bench),
        Err(why) => {
            skipped(&why);
            None
        }
    }
}

#[test]
fn a_raw_device_is_overwritten_only_if_its_path_is_repeated() {
    let _alone = alone();
    let Some(bench) = made("consent") else {
        return;
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let plain = bench.scratch.place("plain");
    for (more, part) in [
        (vec![], "--destroy"),
        (vec!["--destroy", "/dev/loop-of-another"], "--destroy"),
        (
            vec!["--destroy", &at, "--raw", "4K"],
            "--raw and --pressure",
        ),
        (
            vec!["--destroy", &at, "--pressure", "1M"],
            "--raw and --pressure",
        ),
    ] {
        let more = [&more[..], &["--commits", "1"]].concat();
        let refused = write(&bench.scratch, &server.address, &at, &more);
        assert_eq!(refused.code, Some(2), "{more:?}: {refused:?}");
        assert!(refused.err.contains(part), "{more:?}: {refused:?}");
    }
    let more = ["--destroy", &at, "--commits", "1"];
    let refused = write(&bench.scratch, &server.address, &plain, &more);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("raw block device"), "{refused:?}");
    let content = std::fs::read(&at).expect("reads");
    assert!(content.iter().all(|byte| *byte == 0), "it was written to");
}

/// `check` overwrites the device again, and its stack is the one that was tested.
#[test]
fn check_takes_over_what_was_tested_on_a_raw_device() {
    let _alone = alone();
    let Some(mut bench) = made("verdict-raw") else {
        return;
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let consent = ["--destroy", at.as_str()];
    let mut writer = Writer::on(&bench.scratch, &server, &at, &consent);
    await_kept(&bench.scratch, &server.address, &at, 50);
    bench
        .cut(|| writer.fails())
        .expect("the device is attached again");
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(judged.code, Some(0), "{judged:?}");
    let enough = [consent[0], consent[1], "--cuts-bound", "95"];
    let checked = check(&bench.scratch, &at, "direct", &enough).json();
    assert_eq!(
        checked["verdict"]["durability"], "tested",
        "{}",
        checked["verdict"]
    );
    let found = tests_in(&checked);
    assert!(found[0].1.contains("0 lost in 1 cut"), "{found:?}");
}

#[test]
fn a_writer_on_a_raw_device_that_ended_by_itself_does_not_count() {
    let _alone = alone();
    let Some(bench) = made("end") else {
        return;
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let consent = ["--destroy", at.as_str()];
    let ended = write(
        &bench.scratch,
        &server.address,
        &at,
        &[&consent[..], &["--commits", "50"]].concat(),
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.err.contains("as --destroy confirms"), "{ended:?}");
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    let cycle = judged.json();
    assert_eq!(judged.code, Some(4), "{cycle}");
    assert_eq!(cycle["class"], "nothing_lost", "{cycle}");
    assert!(judged.err.contains("stays on"), "{judged:?}");
    // The network breaks, and the server cannot know how the writer ended.
    let mut writer = Writer::on(&bench.scratch, &server, &at, &consent);
    await_kept(&bench.scratch, &server.address, &at, 50);
    let busy = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(busy.code, Some(4), "{busy:?}");
    assert!(busy.err.contains("still connected"), "{busy:?}");
    // It is silent for longer than the writer waits; the log is full by then.
    let pid = Pid::from_child(&server.child);
    kill_process(pid, Signal::STOP).expect("our own child");
    let code = writer.child.wait().expect("it ends").code();
    assert_eq!(code, Some(1));
    drop(server);
    let server = Server::start(&bench.scratch, &[]);
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    let cycle = judged.json();
    assert_eq!(judged.code, Some(4), "{cycle}");
    let notes = cycle["notes"].to_string();
    assert!(
        notes.contains("the connection to the server broke"),
        "{cycle}"
    );
}

/// Zeros on a device.
pub fn wipe(at: &str, from: u64, bytes: usize) {
    let device = std::fs::File::options().write(true).open(at);
    let device = device.expect("opens");
    device.write_all_at(&vec![0; bytes], from).expect("writes");
    device.sync_all().expect("direct reads see it");
}

/// A note that is gone was lost: a pass does not count.
#[test]
fn a_raw_device_without_its_note_does_not_pass() {
    let _alone = alone();
    let Some(mut bench) = made("note") else {
        return;
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let mut writer = Writer::on(&bench.scratch, &server, &at, &["--destroy", &at]);
    await_kept(&bench.scratch, &server.address, &at, 50);
    bench
        .cut(|| writer.fails())
        .expect("the device is attached again");
    wipe(&at, RAW_DISK_BYTES - (1 << 20), 1 << 20);
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    let cycle = judged.json();
    assert_eq!(judged.code, Some(4), "{cycle}");
    let notes = cycle["notes"].to_string();
    assert!(
        notes.contains("note of the test is not on the device"),
        "{cycle}"
    );
}

/// A test that was begun on another server, and what was written over a test.
#[test]
fn what_was_written_over_a_test_on_a_raw_device_is_not_a_loss() {
    let _alone = alone();
    let Some(bench) = made("over") else {
        return;
    };
    let server = Server::start(&bench.scratch, &[]);
    let at = bench.at();
    let consent = ["--destroy", at.as_str()];
    let begin = |server: &Server, scratch: &Scratch, more: &[&str]| {
        let mut writer = Writer::on(scratch, server, &at, &[&consent, more].concat());
        await_kept(scratch, &server.address, &at, 10);
        writer.kill();
    };
    begin(&server, &bench.scratch, &[]);
    let other = Scratch::new("over-2");
    let second = Server::start(&other, &[]);
    begin(&second, &other, &[]);
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(judged.code, Some(4), "{judged:?}");
    assert!(judged.err.contains("does not know"), "{judged:?}");
    let written = check(&bench.scratch, &at, "direct", &consent);
    assert!(written.out.contains("verdict"), "{written:?}");
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(judged.code, Some(4), "{judged:?}");
    assert!(judged.err.contains("another redo log"), "{judged:?}");
    // A log that is being made has no control information yet.
    wipe(&at, 0, 32 << 10);
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(judged.code, Some(4), "{judged:?}");
    assert!(judged.err.contains("another redo log"), "{judged:?}");
    crate::program::done("mkfs.ext4", &["-q", "-F", &at]).expect("makes a file system");
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(judged.code, Some(4), "{judged:?}");
    assert!(judged.err.contains("ext4"), "{judged:?}");
    // A file system is made beside the note of the test.
    begin(&server, &bench.scratch, &["--abandon"]);
    crate::program::done("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", &at]).expect("makes one");
    let judged = verify(&bench.scratch, &server.address, &at, &KIND);
    assert_eq!(judged.code, Some(4), "{judged:?}");
    assert!(judged.err.contains("ext4"), "{judged:?}");
    let given_up = verify(&bench.scratch, &server.address, &at, &["--abandon"]);
    assert_eq!(given_up.code, Some(0), "{given_up:?}");
}
