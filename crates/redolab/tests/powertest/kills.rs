//! Kills (SIGKILL) of a writer and of a server of a power test, each inside its work: what a killed
//! writer left is no cut and in nobody's way, and a killed server kept what it had confirmed.

use crate::bench::{Scratch, Server, Writer, await_kept, run, verify, write_arguments};
use crate::inside::{self, Counter, Inside, holds};
use std::path::{Path, PathBuf};

/// Bytes that a writer writes at most, drawn; and a server.
const WRITTEN_MAX: u64 = 8 << 20;
const KEPT_MAX: u64 = 1 << 20;
/// Acknowledgements that a server has at least confirmed.
const CONFIRMED: u64 = 20;

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// A test that ends by itself after some commits; the names of its files.
fn whole_test(scratch: &Scratch, server: &Server, more: &[&str]) -> Vec<String> {
    let at = scratch.place("plain");
    let more = [&["--commits", "20"], more].concat();
    let words = write_arguments(scratch, &server.address, &at, &more);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ended = run(scratch.command(&words));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    names(&Path::new(&at).join("redolab-powertest"))
}

/// The test of a killed writer cannot be judged, whatever is stated about it.
fn expect_unjudged(scratch: &Scratch, server: &Server, what: &str) {
    let at = scratch.place("plain");
    for kind in ["device-power", "host-power"] {
        let judged = verify(scratch, &server.address, &at, &["--cut-kind", kind]);
        assert_eq!(judged.code, Some(4), "{what}: {kind}: {judged:?}");
    }
    let list = run(scratch.command(&["powertest", "list", "--format", "json"]));
    assert_eq!(list.json()["series"], serde_json::json!([]), "{what}");
}

#[test]
fn a_writer_that_is_killed_is_in_nobodys_way() {
    let scratch = Scratch::new("killed-writer");
    let server = Server::start(&scratch, &[]);
    let at = scratch.place("plain");
    let folder = Path::new(&at).join("redolab-powertest");
    let ways: [&[&str]; 2] = [&[], &["--raw", "4K,16K", "--files", "2"]];
    for way in ways {
        let whole = whole_test(&scratch, &server, &[way, &["--abandon"]].concat());
        let ours = [folder.clone()];
        let inside = Inside {
            seen: &|pid| holds(pid, &ours),
            counter: Counter::Written,
            most: WRITTEN_MAX,
        };
        let abandons = [way, &["--abandon"]].concat();
        let words = write_arguments(&scratch, &server.address, &at, &abandons);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        inside::kill_often(&|| scratch.command(&words), &inside, &|what| {
            expect_unjudged(&scratch, &server, what);
            let left = whole_test(&scratch, &server, &abandons);
            assert_eq!(left, whole, "{what}");
            assert_eq!(names(Path::new(&at)), ["redolab-powertest"], "{what}");
        });
    }
}

#[test]
fn a_server_that_is_killed_has_kept_what_it_confirmed() {
    let scratch = Scratch::new("killed-server");
    let (at, keep) = (scratch.place("plain"), PathBuf::from(scratch.place("keep")));
    drop(Server::start(&scratch, &[]));
    // Judged cuts are in a folder that the first request for them makes.
    let kept = || -> Vec<String> {
        let names = names(&keep).into_iter();
        names.filter(|name| name != "cycles").collect()
    };
    let whole = kept();
    let folders = [keep.clone()];
    let inside = Inside {
        seen: &|pid| holds(pid, &folders),
        counter: Counter::Written,
        most: KEPT_MAX,
    };
    let kill = |after| {
        let mut server = Server::start(&scratch, &[]);
        let mut writer = Writer::on(&scratch, &server, &at, &["--abandon"]);
        await_kept(&scratch, &server.address, &at, CONFIRMED);
        let seen = inside::kill(&mut server.child, &inside, after);
        writer.fails();
        seen
    };
    inside::draw_often(inside.most, &kill, &|what| {
        let server = Server::start(&scratch, &[]);
        await_kept(&scratch, &server.address, &at, CONFIRMED);
        expect_unjudged(&scratch, &server, what);
        assert_eq!(kept(), whole, "{what}");
        whole_test(&scratch, &server, &["--abandon"]);
    });
}
