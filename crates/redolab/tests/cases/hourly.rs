//! Folders of hourly reports of an instance, as AWR prints them.

use crate::harness::Place;
use measure::words::count;
use std::fmt::Write;
use std::path::Path;

/// What a report of one hour shows.
#[derive(Clone, Copy)]
pub struct Hour {
    pub sync_ms: f64,
    pub write_ms: f64,
    pub commits_per_s: u64,
}

/// A healthy hour.
pub const HEALTHY: Hour = Hour {
    sync_ms: 1.1,
    write_ms: 0.6,
    commits_per_s: 200,
};

/// A report of the hour that begins `at` hours after the 3rd of March 2025, as AWR prints it, of
/// the instance with that number.
pub fn report(instance: u64, at: u64, hour: &Hour) -> String {
    let snap = |at: u64| {
        let (day, month) = match 3 + at / 24 {
            day if day > 31 => (day - 31, "Apr"),
            day => (day, "Mar"),
        };
        format!("{day:02}-{month}-25 {:02}:00:00", at % 24)
    };
    let commits = hour.commits_per_s * 3600;
    let writes = commits / 2;
    let mut out = format!(
        "WORKLOAD REPOSITORY report for\n\n\
         DB Name         DB Id    Instance     Inst Num Startup Time    Release     RAC\n\
         ------------ ----------- ------------ -------- --------------- ----------- ---\n\
         PAY            777000111 pay{instance}                {instance} 02-Mar-25 06:10 19.0.0.0.0  YES\n\n\
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

/// Writes the reports of `hours` hours into `folder`; `of` says what an hour shows beside noise of
/// 5 %. Names are in no order of time.
pub fn write(folder: &Path, instance: u64, hours: u64, seed: u64, of: impl Fn(u64) -> Hour) {
    std::fs::create_dir_all(folder).expect("a folder");
    for at in 0..hours {
        let noise =
            |salt: u64| 0.95 + ((at * 7919 + seed * 104_729 + salt * 31) % 101) as f64 / 1010.0;
        let mut hour = of(at);
        hour.sync_ms *= noise(1);
        hour.write_ms *= noise(2);
        let name = format!("r{instance}-{:03}.txt", (at * 11 + seed) % hours);
        std::fs::write(folder.join(name), report(instance, at, &hour)).expect("written");
    }
}

/// What an import of a folder of `hours` reports prints, as words.
pub fn import(seed: u64, hours: u64, of: impl Fn(u64) -> Hour) -> String {
    let place = Place::new();
    write(&place.path().join("day"), 1, hours, seed, of);
    printed(&place)
}

/// What an import of the folder `day` prints, as words.
pub fn printed(place: &Place) -> String {
    let done = place.run(&["import", "day"]);
    words(&done.expect(0, &["By time: pay1"]).out)
}

/// The claims of all findings of an import of the folder `day`.
pub fn claims(place: &Place) -> Vec<String> {
    let json = place.run(&["import", "day", "--format", "json"]).json();
    let findings = json["findings"].as_array().cloned().unwrap_or_default();
    let claim = |f: &serde_json::Value| f["claim"].as_str().unwrap_or_default().to_owned();
    findings.iter().map(claim).collect()
}

/// The words of a text.
pub fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// What comes before the series.
pub fn first_screen(words: &str) -> &str {
    words.split("By time: pay1 ").next().unwrap_or(words)
}
