//! `--max-write` with private servers: by the kernel's count of redolab and of every process that it
//! started, which the kernel adds to redolab's when they have ended and were waited for.

use crate::harness::{Done, Place, Running};
use crate::own_mariadb::{self, MARIADB};
use crate::own_server::{self, POSTGRES};
use crate::private::{expect_ended, text};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::process::Stdio;
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// A redo log that is soon made.
const SMALL: [&str; 2] = ["--server-setting", "innodb_log_file_size=64M"];

/// Runs a command to its end. What it and its processes have written, bytes; `None` where the
/// kernel does not count that.
fn counted(place: &Place, arguments: &[&str]) -> (Done, Option<u64>) {
    let mut command = place.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = Running::of(command.spawn().expect("starts"), arguments.join(" "));
    let pid = Pid::from_raw(running.pid().cast_signed()).expect("a process has a number");
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    let has_ended = || waitid(WaitId::Pid(pid), options).expect("a child").is_some();
    while !has_ended() {
        std::thread::sleep(Duration::from_millis(10));
    }
    let io = std::fs::read_to_string(format!("/proc/{}/io", running.pid())).unwrap_or_default();
    let written = redolab::observe::background::parse_own_written(&io);
    (running.wait(), written)
}

/// A run of a minute on a private server ends early, within the limit, and is a result.
fn expect_ends_within(place: &Place, command: &[&str], limit_mib: u64) {
    let limit = format!("{limit_mib}M");
    let rest = ["--max-write", &limit, "--allow-busy", "--format", "json"];
    let (done, written) = counted(place, &[command, &rest].concat());
    done.expect(0, &["(--max-write)", "ended after"]);
    let written = written.expect("the kernel counts");
    println!("{} of {limit_mib} MiB", written / MIB);
    assert!(written <= limit_mib * MIB, "{written} of {limit_mib} MiB");
    // The last row came to its end by what was written, not by caution alone.
    assert!(written > limit_mib * MIB / 3, "{written} of {limit_mib} MiB");
    let run: measure::run::Run = serde_json::from_value(done.json()).expect("a run");
    assert!(!run.validity.shortened.is_empty(), "{:?}", run.validity);
    let commits = run.rows.first().and_then(|row| row.commits);
    assert!(commits > Some(20), "{commits:?}");
    let accused = run.validity.problems.iter().any(|p| p.id == "max_write");
    assert!(!accused, "{:?}", run.validity);
    place.expect_clean(&place.target);
    expect_ended(&place.target, "a run that was cut");
}

/// A limit that does not hold the server is refused with the smallest one that does, and nothing
/// is made.
fn expect_refused(place: &Place, command: &[&str], word: &str) {
    let rest = ["--max-write", "90M", "--allow-busy"];
    let (done, written) = counted(place, &[command, &rest].concat());
    done.expect(2, &["the smallest limit that works here is", "the server", word]);
    assert!(written < Some(MIB), "{written:?}");
    place.expect_clean(&place.target);
}

#[test]
fn a_private_postgresql_server_ends_within_the_limit() {
    let Some(place) = own_server::place() else {
        return;
    };
    let on = ["run", "--driver", POSTGRES.driver, "--on", text(&place.target)];
    expect_refused(&place, &on, "fewer warehouses");
    let load = ["-w", "LGWR-LAT125", "--time", "60s", "--jobs", "4"];
    expect_ends_within(&place, &[&on[..], &load].concat(), 400);
}

#[test]
fn a_private_mariadb_server_ends_within_the_limit() {
    let Some(place) = own_mariadb::place() else {
        return;
    };
    let on = ["run", "--driver", MARIADB.driver, "--on", text(&place.target)];
    let on = [&on[..], &SMALL].concat();
    expect_refused(&place, &on, "innodb_log_file_size");
    let load = ["--records", "25", "--time", "60s", "--jobs", "4"];
    expect_ends_within(&place, &[&on[..], &load].concat(), 450);
}

/// Loading the tables counts, and a load that would exceed the limit is not begun.
#[test]
fn tproc_c_on_a_private_server_ends_within_the_limit() {
    let Some(place) = own_server::place() else {
        return;
    };
    let run = ["tprocc", "run", "--driver", POSTGRES.driver, "--on"];
    let users = ["--users", "2", "--time", "120s", "--ramp-up", "1s"];
    let all = [&run[..], &[text(&place.target)], &users].concat();
    expect_refused(&place, &all, "fewer warehouses");
    expect_ends_within(&place, &all, 900);
}

/// What others started cannot be counted, and therefore not be limited: the message says so.
#[test]
fn a_server_of_others_is_refused_with_what_to_do_instead() {
    let place = Place::new();
    let words = ["the processes that it starts", "--driver NAME --on DIR"];
    let url = "postgres://nobody@127.0.0.1:1/x";
    let run = ["run", "--on", url, "--max-write", "1G"];
    place.run(&run).expect(2, &words);
    let tproc_c = ["tprocc", "run", "--url", url, "--max-write", "1G"];
    place.run(&tproc_c).expect(2, &words);
}
