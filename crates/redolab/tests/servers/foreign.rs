//! Private servers and archives in a directory of somebody else, who exchanges what redolab makes
//! there for a link to a directory of root's.

use crate::harness::{Place, Running, entries, is_root, skipped};
use crate::own_mariadb::MARIADB;
use crate::own_server::{self, POSTGRES};
use crate::private::{PrivateKind, SHORT, expect_ended, folder, open, text};
use crate::turn::InTurn;
use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A user that runs no server.
const STRANGER: u32 = 48_123;

/// Directories and files that only root may enter, read or write.
struct Treasure {
    at: PathBuf,
    before: Vec<String>,
}

impl Treasure {
    fn new(place: &Place) -> Treasure {
        let at = folder(place, "treasure");
        // What redolab makes in a work folder, in part: what comes next would go further in.
        for name in ["server-data", "server-log"] {
            fs::create_dir(at.join(name)).expect("fresh");
            open(&at.join(name), 0o700);
        }
        for name in ["server-data/server.log", "redo.arc"] {
            fs::write(at.join(name), "precious").expect("written");
        }
        open(&at, 0o700);
        let before = Treasure::look(&at);
        Treasure { at, before }
    }

    /// Everything in it with its owner, its permissions and its length.
    fn look(at: &Path) -> Vec<String> {
        let found = fs::symlink_metadata(at).expect("there");
        let (uid, mode, size) = (found.uid(), found.mode(), found.size());
        let mut all = vec![format!("{} {uid} {mode:o} {size}", at.display())];
        if found.is_dir() {
            let inside = entries(at).into_iter();
            all.extend(inside.flat_map(|name| Treasure::look(&at.join(name))));
        }
        all
    }

    fn expect_untouched(&self, what: &str) {
        assert_eq!(Treasure::look(&self.at), self.before, "{what}");
    }
}

/// Exchanges each new directory in `target` whose name begins so, until it is stopped; they come
/// back after a while. How often.
fn exchange(target: &Path, prefix: &str, treasure: &Path, stop: &AtomicBool) -> u32 {
    let mut swaps: u32 = 0;
    let moved = target.join("moved");
    while !stop.load(Ordering::Relaxed) {
        for name in entries(target) {
            let folder = target.join(&name);
            if !name.starts_with(prefix) || fs::rename(&folder, &moved).is_err() {
                continue;
            }
            symlink(treasure, &folder).expect("links");
            swaps += 1;
            // Each time at another step, and for longer than a step takes.
            let pause = 1 << (swaps % 9);
            std::thread::sleep(std::time::Duration::from_millis(pause));
            fs::remove_file(&folder).expect("a link");
            fs::rename(&moved, &folder).expect("renames");
        }
    }
    swaps
}

/// Runs a command while what it makes in `target` is exchanged. How often that was.
fn run_exchanged(place: &Place, arguments: &[&str], prefix: &str, treasure: &Treasure) -> u32 {
    let target = place.target.clone();
    let stop = AtomicBool::new(false);
    let swaps = std::thread::scope(|scope| {
        let swapping = scope.spawn(|| exchange(&target, prefix, &treasure.at, &stop));
        let child = place.command(arguments).spawn().expect("starts");
        let done = Running::of(child, arguments.join(" ")).wait();
        stop.store(true, Ordering::Relaxed);
        treasure.expect_untouched(&format!("{done:?}"));
        swapping.join().expect("no panic")
    });
    expect_ended(&place.target, "an exchanged directory");
    swaps
}

fn own(path: &Path, uid: u32) {
    chown(path, Some(uid), Some(uid)).expect("root");
}

/// The account of an installed server.
fn account_of(name: &str) -> Option<u32> {
    let list = fs::read_to_string("/etc/passwd").ok()?;
    let find = |name: &str| {
        let line = list
            .lines()
            .find(|line| line.starts_with(&format!("{name}:")))?;
        line.split(':').nth(2)?.parse().ok()
    };
    find(name).or_else(|| find("nobody"))
}

fn expect_no_way_in(place: &InTurn<Place>, kind: &PrivateKind, account: &str) {
    if !is_root() {
        return skipped("only root runs servers as another user");
    }
    let target = text(&place.target).to_owned();
    let treasure = Treasure::new(place);
    open(&place.target, 0o755);
    own(&place.target, STRANGER);
    for round in 0..3 {
        let command = kind.command(&target, &["-q"]);
        run_exchanged(place, &command, "redolab-work-", &treasure);
        let left: Vec<String> = entries(&place.target);
        for name in left {
            fs::remove_dir(place.target.join(name)).expect("nothing is in it");
        }
        println!("round {round} is over");
    }
    let refused = place.run(&kind.command(&target, &[]));
    refused.expect(
        2,
        &["can exchange the directories in it", "belongs to root"],
    );
    place.expect_clean(&place.target);
    // Its own account may exchange them: redolab changes nothing by path, and it is the server's
    // account that follows the link.
    own(&place.target, account_of(account).expect("an account"));
    for round in 0..3 {
        let command = kind.command(&target, &["-q"]);
        let swaps = run_exchanged(place, &command, "redolab-work-", &treasure);
        println!("round {round}: {swaps} swaps");
        assert!(swaps > 0, "round {round}");
        fs::remove_dir_all(&place.target).expect("ours");
        fs::create_dir(&place.target).expect("fresh");
        open(&place.target, 0o755);
        own(&place.target, account_of(account).expect("an account"));
    }
}

#[test]
fn postgres_is_not_led_into_a_directory_of_roots() {
    let Some(place) = own_server::place() else {
        return;
    };
    expect_no_way_in(&place, &POSTGRES, "postgres");
}

#[test]
fn mariadb_is_not_led_into_a_directory_of_roots() {
    let Some(place) = crate::own_mariadb::place() else {
        return;
    };
    expect_no_way_in(&place, &MARIADB, "mysql");
}

#[test]
fn a_directory_that_others_can_write_holds_no_server() {
    let Some(place) = own_server::place() else {
        return;
    };
    if !is_root() {
        return skipped("only root runs servers as another user");
    }
    let inner = place.target.join("inner");
    fs::create_dir(&inner).expect("fresh");
    for (above, mode, owner, refused) in [
        (&place.target, 0o777, 0, Some("every user")),
        (&place.target, 0o775, STRANGER, Some("its owner")),
        (&inner, 0o777, 0, Some("every user")),
        // Only the owner of what is in it renames that.
        (&inner, 0o1777, 0, None),
    ] {
        own(above, owner);
        open(above, mode);
        let done = place.run(&POSTGRES.command(text(&inner), &[]));
        match refused {
            Some(who) => done.expect(2, &[who, "can exchange"]),
            None => done.expect(0, &[]),
        };
        assert_eq!(entries(&inner), [""; 0]);
        own(above, 0);
        open(above, 0o755);
    }
    chown(&inner, Some(0), Some(STRANGER)).expect("root");
    open(&inner, 0o775);
    let done = place.run(&POSTGRES.command(text(&inner), &[]));
    done.expect(2, &["its group", "can exchange"]);
    expect_ended(&place.target, "refusals");
}

#[test]
fn an_archive_is_not_led_into_a_directory_of_roots() {
    let place = InTurn::of(|| Some(crate::private::open_place())).expect("a place");
    let treasure = Treasure::new(&place);
    let (log, target) = (folder(&place, "log"), text(&place.target).to_owned());
    let mut swaps = 0;
    for round in 0..4 {
        let on = [
            "run",
            "--on",
            text(&log),
            "--allow-busy",
            "--archive",
            &target,
        ];
        let shape = ["--log-file-size", "1M", "--log-groups", "2", "-q"];
        let command = [&on[..], &SHORT, &shape].concat();
        swaps += run_exchanged(&place, &command, "redo-archive-", &treasure);
        println!("round {round}, {swaps} swaps");
    }
    assert!(swaps > 0);
}
