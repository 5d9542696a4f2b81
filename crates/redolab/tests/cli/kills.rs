//! Kills (SIGKILL) inside the work of every command that makes something: each is shown to have hit
//! inside it, and after the next start nothing is left.

use crate::harness::{Place, directories, entries, listed};
use crate::inside::{self, Counter, Inside, existing, holds};
use std::path::{Path, PathBuf};

/// Drawn at most, where a log is written; and of what writes little.
const BYTES_MAX: u64 = 48 << 20;
const FEW_BYTES_MAX: u64 = 64 << 10;

/// Folders without anything of redolab's, an archive that is whole excepted.
fn expect_nothing_left(folders: &[PathBuf], what: &str) {
    for folder in folders {
        for name in entries(folder) {
            let is_archive = name.starts_with("redo-archive-");
            assert!(is_archive, "{what}: {} has {name}", folder.display());
            let partial: Vec<String> = entries(&folder.join(&name));
            let partial = partial.iter().filter(|name| name.ends_with(".partial"));
            assert_eq!(partial.count(), 0, "{what}: {name}");
        }
    }
}

/// Kills a command so often, and starts `next` after each kill.
fn kill_often(place: &Place, arguments: &[&str], folders: &[PathBuf], next: &[&[&str]]) {
    kill_within(place, arguments, folders, next, BYTES_MAX);
}

/// As [`kill_often`], with draws below `most` bytes.
fn kill_within(
    place: &Place,
    arguments: &[&str],
    folders: &[PathBuf],
    next: &[&[&str]],
    most: u64,
) {
    let inside = Inside {
        seen: &|pid| holds(pid, folders),
        counter: Counter::Written,
        most,
    };
    inside::kill_often(&|| place.command(arguments), &inside, &|what| {
        let is_left = folders.iter().any(|folder| !entries(folder).is_empty());
        assert!(is_left, "{what}: nobody could clean up");
        for arguments in next {
            let done = place.run(arguments);
            assert!(matches!(done.code, Some(0 | 3 | 4)), "{what}: {done:?}");
        }
        expect_nothing_left(folders, what);
        expect_sound(place, what);
    });
}

/// No run of the store is falsely complete, or damaged.
fn expect_sound(place: &Place, what: &str) {
    let listed = place.run(&["runs", "list", "--format", "json"]);
    listed.expect(0, &[]);
    for run in listed.json()["runs"].as_array().expect("runs") {
        assert_ne!(run["state"], "damaged", "{what}: {run}");
        let rows = run["rows"].as_u64().unwrap_or(0);
        assert!(run["state"] != "complete" || rows > 0, "{what}: {run}");
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// What a long run has in common.
const LONG: [&str; 9] = [
    "--time",
    "100s",
    "--jobs",
    "2",
    "--log-file-size",
    "8M",
    "--allow-busy",
    "--max-write",
    "8G",
];

/// A run of a moment, which removes what was left at its place.
fn moment(on: &str) -> [&str; 10] {
    [
        "run",
        "--on",
        on,
        "--jobs",
        "1",
        "--commits",
        "10",
        "--log-file-size",
        "4M",
        "--allow-busy",
    ]
}

#[test]
fn a_run_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let run = [&["run", "--on", &on], &LONG[..]].concat();
    kill_often(
        &place,
        &run,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

#[test]
fn a_check_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let check = [&["check", &on], &LONG[..]].concat();
    kill_often(
        &place,
        &check,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

#[test]
fn a_probe_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let probe = ["probe", &on, "--time", "20s", "--allow-busy"];
    kill_often(
        &place,
        &probe,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

#[test]
fn a_canary_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let canary = ["watch", "--canary", &on, "--time", "100s"];
    let folders = [place.target.clone()];
    kill_within(&place, &canary, &folders, &[&moment(&on)], FEW_BYTES_MAX);
}

#[test]
fn a_comparison_that_is_killed_leaves_nothing() {
    let place = Place::new();
    let all = directories(&place, 2);
    let (a, b) = (text(&all[0]), text(&all[1]));
    let on = [format!("a={a}"), format!("b={b}")];
    let on = ["compare", "--on", &on[0], "--on", &on[1], "--rounds", "2"];
    let compare = [&on[..], &LONG].concat();
    kill_often(&place, &compare, &all, &[&moment(&a), &moment(&b)]);
}

#[test]
fn an_archive_and_a_data_file_leave_nothing() {
    let place = Place::new();
    let all = directories(&place, 3);
    let [on, archive, data] = [0, 1, 2].map(|at| text(&all[at]));
    let beside = ["--archive", &archive, "--dbwr", &data];
    let long: Vec<&str> = LONG
        .iter()
        .map(|word| if *word == "8M" { "1M" } else { word })
        .collect();
    let run = [&["run", "--on", &on], &long[..], &beside].concat();
    let next = [&moment(&on)[..], &beside].concat();
    kill_often(&place, &run, &all, &[&next, &moment(&data)]);
}

#[test]
fn members_and_rings_leave_nothing() {
    let place = Place::new();
    let all = directories(&place, 2);
    let (a, b) = (text(&all[0]), text(&all[1]));
    let two = listed(&all);
    let mirror = format!("mirror:{two}");
    let ring = format!("ring:{two}");
    for (members, more) in [(&mirror, &[][..]), (&ring, &["--ring-size", "1M"])] {
        let run = ["run", "--members", members, "--force-same-device"];
        let run = [&run[..], more, &LONG].concat();
        kill_often(&place, &run, &all, &[&moment(&a), &moment(&b)]);
    }
}

#[test]
fn nodes_and_stripes_leave_nothing() {
    let place = Place::new();
    let on = text(&place.target);
    let run = [&["run", "--on", &on, "--nodes", "2"], &LONG[..]].concat();
    kill_often(
        &place,
        &run,
        std::slice::from_ref(&place.target),
        &[&moment(&on)],
    );
}

/// A run that is imported is whole, or is not there.
#[test]
fn an_import_that_is_killed_leaves_no_part_of_a_run() {
    let place = Place::new();
    let (trace, short) = (
        place.path().join("trace.csv"),
        place.path().join("short.csv"),
    );
    let mut lines = String::from("count,elapsed\n");
    for line in 0..400_000 {
        if line == 1000 {
            std::fs::write(&short, &lines).expect("written");
        }
        lines.push_str(&format!("1,{}\n", 100 + line % 900));
    }
    std::fs::write(&trace, &lines).expect("written");
    place.store_a_run();
    let folders = [trace.clone(), place.store.clone()];
    let reads = |pid| -> Vec<PathBuf> {
        let held = holds(pid, &[place.path().to_owned()]);
        held.into_iter()
            .filter(|path| folders.iter().any(|at| path.starts_with(at)))
            .collect()
    };
    let inside = Inside {
        seen: &reads,
        counter: Counter::Read,
        most: lines.len() as u64,
    };
    let (trace, short) = (text(&trace), text(&short));
    inside::kill_often(&|| place.command(&["import", &trace]), &inside, &|what| {
        let is_part = |name: &String| name.starts_with(".tmp-");
        let runs = entries(&place.store)
            .into_iter()
            .filter(|name| !is_part(name))
            .count();
        place.run(&["import", &short]).expect(0, &[]);
        let left = entries(&place.store);
        assert_eq!(left.len(), runs + 1, "{what}: {left:?}");
        assert!(!left.iter().any(is_part), "{what}: {left:?}");
        expect_sound(&place, what);
    });
}

/// While it reads the counters of devices, and while it writes the files of a kit.
#[test]
fn a_collection_that_is_killed_leaves_nothing_in_its_way() {
    let place = Place::new();
    let (disks, kit) = (place.path().join("disks"), place.path().join("kit"));
    let collect = ["collect", "linux", "-o", "disks", "--time"];
    let inside = Inside {
        seen: &|_| existing(&disks),
        counter: Counter::Read,
        most: FEW_BYTES_MAX,
    };
    let long = [&collect[..], &["100s"]].concat();
    inside::kill_often(&|| place.command(&long), &inside, &|what| {
        assert_eq!(entries(&disks), [""; 0], "{what}");
        place.run(&[&collect[..], &["1s"]].concat()).expect(0, &[]);
        assert_eq!(entries(&disks), ["iostat.txt"], "{what}");
        std::fs::remove_dir_all(&disks).expect("removes");
    });
    let oracle = ["collect", "oracle", "-o", "kit"];
    place.run(&oracle).expect(0, &[]);
    let whole = entries(&kit);
    std::fs::remove_dir_all(&kit).expect("removes");
    let inside = Inside {
        // Some of its files are there, and others are not.
        seen: &|_| {
            let some = if kit.exists() {
                entries(&kit)
            } else {
                Vec::new()
            };
            let some = if some == whole { Vec::new() } else { some };
            some.into_iter().map(PathBuf::from).collect()
        },
        counter: Counter::Written,
        most: 4 << 10,
    };
    inside::kill_often(&|| place.command(&oracle), &inside, &|what| {
        place.run(&oracle).expect(0, &[]);
        assert_eq!(entries(&kit), whole, "{what}");
        place.run(&oracle).expect(2, &["never replaced"]);
        std::fs::remove_dir_all(&kit).expect("removes");
    });
}
