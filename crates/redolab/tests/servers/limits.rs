//! `--max-write` with private servers: by the kernel's count of redolab and of every process that
//! it started, which the kernel adds to redolab's when they have ended and were waited for.

use crate::harness::{Done, Place, Running};
use crate::own_mariadb::{self, MARIADB};
use crate::own_server::{self, POSTGRES};
use crate::private::{expect_ended, has_ended, text};
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
    while !has_ended(&running) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let io = std::fs::read_to_string(format!("/proc/{}/io", running.pid())).unwrap_or_default();
    let written = redolab::observe::background::parse_own_written(&io);
    (running.wait(), written)
}

/// A run of ten minutes on a private server ends early, within the limit, and is a result.
fn expect_ends_within(place: &Place, command: &[&str], limit_mib: u64) {
    let limit = format!("{limit_mib}M");
    let rest = ["--max-write", &limit, "--allow-busy", "--format", "json"];
    let (done, written) = counted(place, &[command, &rest].concat());
    done.expect(0, &["(--max-write)", "ended after"]);
    let written = written.expect("the kernel counts");
    println!("{} of {limit_mib} MiB", written / MIB);
    assert!(written <= limit_mib * MIB, "{written} of {limit_mib} MiB");
    // The last row came to its end by what was written, not by caution alone.
    assert!(
        written > limit_mib * MIB / 3,
        "{written} of {limit_mib} MiB"
    );
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
    done.expect(
        2,
        &["the smallest limit that works here is", "the server", word],
    );
    assert!(written < Some(MIB), "{written:?}");
    place.expect_clean(&place.target);
}

#[test]
fn a_private_postgresql_server_ends_within_the_limit() {
    let Some(place) = own_server::place() else {
        return;
    };
    let on = [
        "run",
        "--driver",
        POSTGRES.driver,
        "--on",
        text(&place.target),
    ];
    expect_refused(&place, &on, "fewer warehouses");
    let load = ["-w", "LGWR-LAT125", "--time", "10m", "--jobs", "4"];
    expect_ends_within(&place, &[&on[..], &load].concat(), 400);
}

#[test]
fn a_private_mariadb_server_ends_within_the_limit() {
    let Some(place) = own_mariadb::place() else {
        return;
    };
    let on = [
        "run",
        "--driver",
        MARIADB.driver,
        "--on",
        text(&place.target),
    ];
    let on = [&on[..], &SMALL].concat();
    expect_refused(&place, &on, "innodb_log_file_size");
    let load = ["--records", "25", "--time", "10m", "--jobs", "4"];
    expect_ends_within(&place, &[&on[..], &load].concat(), 450);
}

/// Loading the tables counts, and a load that would exceed the limit is not begun.
#[test]
fn tproc_c_on_a_private_server_ends_within_the_limit() {
    let Some(place) = own_server::place() else {
        return;
    };
    let run = [
        "run",
        "--workload",
        "tproc-c",
        "--driver",
        POSTGRES.driver,
        "--on",
    ];
    let users = ["--jobs", "2", "--time", "10m", "--warmup", "1s"];
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
    let tproc_c = [
        "run",
        "--workload",
        "tproc-c",
        "--on",
        url,
        "--max-write",
        "1G",
    ];
    place.run(&tproc_c).expect(2, &words);
}

/// What is drawn: a product, a load and a limit.
fn drawn(mut seed: u64, target: &str) -> (Vec<String>, u64) {
    let mut next = |of: u64| {
        // The high bits of a linear congruence, which are the random ones.
        seed = seed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (seed >> 33) % of
    };
    let (driver, mut limit_mib) = (next(2), 200 + next(1000));
    let mut all = match next(4) {
        0 => vec![
            "run",
            "--workload",
            "tproc-c",
            "--jobs",
            ["1", "3", "2,4"][next(3) as usize],
        ],
        _ => vec!["run", "--jobs", ["1", "3", "2,16"][next(3) as usize]],
    };
    if all[1] == "--workload" {
        // Its tables are loaded before.
        limit_mib += 500;
        all.extend(["--warmup", "500ms"]);
    } else {
        // More take more than the 1,997 bytes of a transaction on PostgreSQL.
        let most = if driver == 0 { 2 } else { 3 };
        let records = ["1", "25", "50"][next(most) as usize];
        all.extend([
            "--warmup",
            ["0", "1s"][next(2) as usize],
            "--records",
            records,
        ]);
        match next(4) {
            0 if driver == 0 => all.extend(["--commit-write", "nowait-batch"]),
            1 => all.extend(["--rate", "2000"]),
            _ => {}
        }
    }
    let driver = match driver {
        0 => vec!["--driver", "postgres"],
        _ => [&["--driver", "mariadb"][..], &SMALL].concat(),
    };
    let limit = format!("{limit_mib}M");
    let rest = [
        "--time",
        "8s",
        "--allow-busy",
        "-q",
        "--max-write",
        &limit,
        "--on",
        target,
    ];
    let all = all.into_iter().chain(driver).chain(rest);
    (all.map(str::to_owned).collect(), limit_mib)
}

/// A tenth of the draws that `REDOLAB_LIMIT_DRAWS` asks of redolab's own log; one in the tests.
#[test]
fn max_write_is_never_exceeded_by_a_private_server() {
    // A place is a turn, and there is one at a time.
    let has_postgresql = own_server::place().is_some();
    let Some(place) = own_mariadb::place().filter(|_| has_postgresql) else {
        return;
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let draws = number("REDOLAB_LIMIT_DRAWS").map_or(1, |all: u64| all.div_ceil(10));
    let seed: u64 = number("REDOLAB_LIMIT_SEED").unwrap_or_else(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(1, |t| t.as_millis() as u64)
    });
    println!("REDOLAB_LIMIT_SEED={seed}");
    let mut ran = 0;
    for seed in seed..seed + draws {
        let (arguments, limit_mib) = drawn(seed, text(&place.target));
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (done, written) = counted(&place, &arguments);
        let Some(written) = written else { return };
        let what = format!("seed {seed}: redolab {}", arguments.join(" "));
        println!(
            "{what}: code {:?}, {} of {limit_mib} MiB",
            done.code,
            written / MIB
        );
        let said = &done.err;
        assert!(written <= limit_mib * MIB, "{what}: {written}\n{said}");
        let refused = done.code == Some(2) && said.contains("the smallest limit that works");
        assert!(
            !refused || written < MIB,
            "{what}: refused after {written}\n{said}"
        );
        let ended_well = matches!(done.code, Some(0 | 3 | 4)) && !said.contains("stopped before");
        assert!(refused || ended_well, "{what}: {:?}\n{said}", done.code);
        ran += u64::from(!refused);
    }
    println!("{ran} of {draws} draws ran, the others were refused");
}
