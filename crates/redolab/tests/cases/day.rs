//! A folder of hourly reports of one instance: the hour of a planted change and its cause are on
//! the first screen; a day without a change has no word of one.

use crate::harness::Place;
use measure::words::count;
use std::fmt::Write;

const HOURS: u64 = 30;

/// What a report of one hour shows.
struct Hour {
    sync_ms: f64,
    write_ms: f64,
    commits_per_s: u64,
}

/// A report of the hour that begins `at` hours after the 3rd of March 2025, as AWR prints it.
fn report(at: u64, hour: &Hour) -> String {
    let snap = |at: u64| format!("{:02}-Mar-25 {:02}:00:00", 3 + at / 24, at % 24);
    let commits = hour.commits_per_s * 3600;
    let writes = commits / 2;
    let mut out = String::from(
        "WORKLOAD REPOSITORY report for\n\n\
         DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC\n\
         ------------ ----------- ------------ -------- --------------- ----------- ---\n\
         PAY            777000111 pay1                1 02-Mar-25 06:10 19.0.0.0.0  NO\n\n\
         \x20             Snap Id      Snap Time      Sessions Curs/Sess\n\
         \x20           --------- ------------------- -------- ---------\n",
    );
    let (begin, end) = (snap(at), snap(at + 1));
    let _ = writeln!(
        out,
        "Begin Snap: {:9} {begin}        31      11.0",
        100 + at
    );
    let _ = writeln!(out, "  End Snap: {:9} {end}        30       9.1", 101 + at);
    out.push_str(
        "   Elapsed:               60.00 (mins)\n   DB Time:               40.00 (mins)\n",
    );
    let events = [
        ("Foreground", "DB", "log file sync", commits, hour.sync_ms),
        (
            "Background",
            "bg",
            "log file parallel write",
            writes,
            hour.write_ms,
        ),
    ];
    for (kind, share, event, waits, ms) in events {
        let _ = write!(
            out,
            "\n{kind} Wait Events\n\
             \x20                                                            Avg\n\
             \x20                                       %Time Total Wait    wait    Waits   % {share}\n\
             Event                             Waits -outs   Time (s)    (ms)     /txn   time\n\
             -------------------------- ------------ ----- ---------- ------- -------- ------\n\
             {event:<26} {:>12}     0 {:>10.0} {ms:7.2}      1.0   26.6\n",
            count(waits),
            waits as f64 * ms / 1e3,
        );
    }
    let _ = write!(
        out,
        "\nInstance Activity Stats\n\
         Statistic                                     Total     per Second     per Trans\n\
         -------------------------------- ------------------ -------------- -------------\n"
    );
    for (name, total) in [
        ("redo size", commits * 10_240),
        ("redo writes", writes),
        ("user commits", commits),
    ] {
        let per_s = total as f64 / 3600.0;
        let _ = writeln!(
            out,
            "{name:<32} {:>18} {per_s:14.1}           1.0",
            count(total)
        );
    }
    out
}

/// Imports a day; `of` says what an hour shows beside noise of 5 %.
fn import(seed: u64, of: impl Fn(u64) -> Hour) -> String {
    let place = Place::new();
    let day = place.path().join("day");
    std::fs::create_dir(&day).expect("a folder");
    for at in 0..HOURS {
        let noise =
            |salt: u64| 0.95 + ((at * 7919 + seed * 104_729 + salt * 31) % 101) as f64 / 1010.0;
        let mut hour = of(at);
        hour.sync_ms *= noise(1);
        hour.write_ms *= noise(2);
        // Names are in no order of time.
        let file = day.join(format!("r{:02}.txt", at * 7 % HOURS));
        std::fs::write(file, report(at, &hour)).expect("written");
    }
    let done = place.run(&["import", "day"]);
    done.expect(0, &["By time: pay1"]);
    done.out.split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn first_screen(words: &str) -> &str {
    words.split("By time: pay1 ").next().unwrap_or(words)
}

#[test]
fn a_change_of_one_hour_is_found_with_its_cause() {
    for seed in 0..10 {
        let (at, is_device) = (6 + seed * 2, seed % 2 == 0);
        let words = import(seed, |hour| {
            let times = if hour < at { 1.0 } else { 3.0 };
            Hour {
                sync_ms: 1.1 * times,
                write_ms: if is_device { 0.6 * times } else { 0.6 },
                commits_per_s: 200,
            }
        });
        let first = first_screen(&words);
        let when = format!(
            "Log file sync changed at 2025-03-{:02} {:02}:00:00",
            3 + at / 24,
            at % 24
        );
        assert!(first.contains(&when), "seed {seed}: {when}: {first}");
        let cause = match is_device {
            true => "the log writes changed too, so look at the device",
            false => "the log writes do not explain it: it is not the device",
        };
        assert!(first.contains(cause), "seed {seed}: {first}");
    }
}

/// A job of the night is slow for some hours, and over then.
#[test]
fn a_change_that_goes_back_is_said_to_end() {
    let words = import(3, |hour| Hour {
        sync_ms: if (10..15).contains(&hour) { 4.0 } else { 1.1 },
        write_ms: 0.6,
        commits_per_s: 200,
    });
    let first = first_screen(&words);
    for part in [
        "changed at 2025-03-03 10:00:00: 1.1",
        "until 2025-03-03 15:00:00",
        "it is not the device",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
}

#[test]
fn a_day_without_a_change_has_no_word_of_one() {
    for seed in 0..10 {
        let words = import(seed, |_| Hour {
            sync_ms: 0.9,
            write_ms: 0.6,
            commits_per_s: 200 + seed * 100,
        });
        assert!(
            words.contains("30 reports by time show no lasting change"),
            "{words}"
        );
        assert!(!words.contains("changed at"), "seed {seed}: {words}");
    }
}
