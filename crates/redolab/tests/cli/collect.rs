//! `redolab collect`: its scripts, what it reads of this machine, and that its files import without
//! options.

use crate::harness::{self, Place, entries};
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILES: [&str; 8] = [
    "README.txt",
    "awr.sql",
    "iostat.sh",
    "redo-views.sql",
    "statspack.sql",
    "trace-lgwr-off.sql",
    "trace-lgwr.sh",
    "trace-lgwr.sql",
];

#[test]
fn the_kit_for_oracle_is_written_once_or_printed() {
    let place = Place::new();
    let write = ["collect", "oracle", "--time", "90s", "-o", "kit"];
    place.run(&write).expect(0, &["awr.sql"]);
    assert_eq!(entries(&place.path().join("kit")), FILES);
    fs::remove_file(place.path().join("kit/README.txt")).expect("it is there");
    place
        .run(&write)
        .expect(2, &["kit/redo-views.sql", "never replaced"]);
    assert_eq!(
        entries(&place.path().join("kit")),
        FILES[1..],
        "nothing is half written"
    );
    let all = place.run(&["collect", "oracle"]);
    all.expect(0, &["---- awr.sql ----", "---- iostat.sh ----"]);
    for name in &FILES[1..] {
        let one = place.run(&["collect", "oracle", name, "--time", "90s"]);
        let text = fs::read_to_string(place.path().join("kit").join(name)).expect("written");
        assert_eq!(one.expect(0, &[]).out, text, "{name}");
        assert!(text.contains("ot verified against an Oracle server") || *name == "iostat.sh");
    }
    assert!(!place.store.exists(), "a collection needs no store");
    for name in ["iostat.sh", "trace-lgwr.sh"] {
        let checked = Command::new("sh")
            .arg("-n")
            .arg(place.path().join("kit").join(name))
            .status();
        assert!(checked.expect("a shell").success(), "{name}");
    }
}

#[test]
fn what_cannot_be_collected_is_refused() {
    let place = Place::new();
    for (arguments, words) in [
        (&["oracle", "--time", "9s"][..], "from 10s to 24h"),
        (&["oracle", "--time", "25h"], "up to 24h"),
        (&["oracle", "nothing.sql"], "redo-views.sql"),
        (&["oracle", "awr.sql", "-o", "kit"], "cannot be used with"),
        (
            &["linux", "--device", "sda; rm"],
            "not the name of a device",
        ),
        (
            &["linux", "--device", "nosuchdevice", "--time", "1s"],
            "lists no device nosuchdevice",
        ),
        (&["linux", "--time", "0"], "over 0"),
        (&["mariadb", "postgres://u@h/d"], "another scheme"),
        (&["postgres", "postgres://u@h/d?sslmode=require"], "TLS"),
    ] {
        let done = place.run(&[&["collect"], arguments].concat());
        done.expect(2, &[words]);
    }
    assert_eq!(entries(place.path()), ["target"], "nothing is left");
}

#[test]
fn the_devices_of_this_machine_are_read_and_import() {
    let place = Place::new();
    let listed = fs::read_to_string("/proc/diskstats").expect("Linux");
    let numbers = |line: &&str| line.split_whitespace().skip(3).any(|word| word != "0");
    let Some(device) = listed
        .lines()
        .find(numbers)
        .and_then(|l| l.split_whitespace().nth(2))
    else {
        return harness::skipped("no device of this machine was ever used");
    };
    let only = ["--device", device, "--time", "2s"];
    let to = ["-o", "here"];
    place
        .run(&[&["collect", "linux"], &only[..], &to].concat())
        .expect(0, &["Wrote here/iostat.txt"]);
    place
        .run(&[&["collect", "linux"], &only[..], &to].concat())
        .expect(2, &["never replaced"]);
    let run = place.run(&["import", "here", "--format", "json"]);
    let run = run.expect(0, &[]).json();
    let tables = run["imported"]["tables"].as_array().expect("tables");
    let samples = tables
        .iter()
        .find(|t| t["id"] == "iostat")
        .expect("its samples");
    let rows = samples["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3, "since boot, and two seconds: {samples}");
    assert!(rows.iter().all(|row| row.to_string().contains(device)));
}

/// Waits until a script that went into the background has written so many of these.
fn await_lines(file: &Path, beginning: &str, count: usize) -> String {
    let began = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        let found = text
            .lines()
            .filter(|line| line.starts_with(beginning))
            .count();
        if found >= count {
            return text;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{found} of {count}: {text}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_script_for_iostat_ends_by_itself_and_replaces_nothing() {
    let place = Place::new();
    let script = ["collect", "linux", "--script", "--time", "1s", "-o", "."];
    place.run(&script).expect(0, &["Wrote ./iostat.sh"]);
    let run = |more: &dyn Fn(&mut Command)| {
        let mut command = Command::new("/bin/sh");
        command.arg("iostat.sh").current_dir(place.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        more(&mut command);
        command.output().expect("a shell")
    };
    // Without iostat: what is left of the PATH.
    let tools = place.path().join("tools");
    fs::create_dir(&tools).expect("made");
    for tool in ["sh", "cat", "date", "sleep", "nohup"] {
        let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        let found = found
            .iter()
            .find(|path| path.exists())
            .expect("a usual tool");
        symlink(found, tools.join(tool)).expect("linked");
    }
    let without = run(&|command| {
        command.arg("copied.txt").env("PATH", &tools);
    });
    assert!(without.status.success(), "{without:?}");
    let copied = await_lines(&place.path().join("copied.txt"), "TS ", 2);
    assert!(
        copied.lines().count() > 2 && copied.matches("TS ").count() == 2,
        "{copied}"
    );
    let again = run(&|command| {
        command.arg("copied.txt");
    });
    assert!(!again.status.success(), "{again:?}");
    if !Command::new("iostat")
        .arg("-V")
        .output()
        .is_ok_and(|done| done.status.success())
    {
        return harness::skipped("iostat is not installed");
    }
    let begun = run(&|_| {});
    assert!(begun.status.success(), "{begun:?}");
    let said = String::from_utf8(begun.stdout).expect("text");
    let process = said
        .split("as process ")
        .nth(1)
        .and_then(|rest| rest.split('.').next());
    await_end(process.expect("its number"));
    place
        .run(&["import", "iostat.txt"])
        .expect(0, &["since boot", "interval"]);
}

/// Waits until a process has ended; nobody may have asked for its status.
fn await_end(process: &str) {
    let began = Instant::now();
    let is_running = || {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    while is_running() {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{process} runs on"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A listing as SQL*Plus spools it with the settings of redo-views.sql.
fn spooled(columns: &[(&str, usize, bool)], rows: &[Vec<String>]) -> String {
    let mut out = "\n".to_owned();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells =
            columns
                .iter()
                .zip(cells)
                .map(|((_, width, is_number), cell)| match is_number {
                    true => format!("{cell:>width$}"),
                    false => format!("{cell:<width$}"),
                });
        cells.collect::<Vec<_>>().join(" ").trim_end().to_owned()
    };
    let rules: Vec<String> = columns
        .iter()
        .map(|(_, width, _)| "-".repeat(*width))
        .collect();
    writeln!(out, "{}", line(&mut columns.iter().map(|(name, ..)| *name))).expect("text");
    writeln!(out, "{}", line(&mut rules.iter().map(String::as_str))).expect("text");
    for row in rows {
        writeln!(out, "{}", line(&mut row.iter().map(String::as_str))).expect("text");
    }
    out
}

/// A reading of an event histogram whose counts are multiples of `times`.
fn histogram(time: &str, bounds: (&str, [u64; 3]), times: u64) -> String {
    let columns = [
        ("SNAP_ID", 19, false),
        ("INST_ID", 8, true),
        ("EVENT", 64, false),
        (bounds.0, 15, true),
        ("WAIT_COUNT", 17, true),
    ];
    let mut rows = Vec::new();
    for instance in 1..=2 {
        for event in ["log file parallel write", "log file sync"] {
            for (at, bound) in bounds.1.iter().enumerate() {
                let count = (at as u64 + 1) * instance * times;
                let cells = [time, &instance.to_string(), event, &bound.to_string()];
                let mut row: Vec<String> = cells.map(str::to_owned).to_vec();
                row.push(count.to_string());
                rows.push(row);
            }
        }
    }
    spooled(&columns, &rows)
}

/// Differences of log file sync, and their waits.
const DIFFERENCES: [(&str, u64); 4] = [
    (
        "instance 1 2026-01-02T03:00:00 to instance 1 2026-01-02T03:10:00",
        180,
    ),
    (
        "instance 2 2026-01-02T03:00:00 to instance 2 2026-01-02T03:10:00",
        360,
    ),
    (
        "instance 1 2026-01-02T03:00:01 to instance 1 2026-01-02T03:10:01",
        30,
    ),
    (
        "instance 2 2026-01-02T03:00:01 to instance 2 2026-01-02T03:10:01",
        60,
    ),
];

#[test]
fn both_readings_of_both_histograms_are_subtracted() {
    let place = Place::new();
    let folder = place.path().join("spooled");
    fs::create_dir(&folder).expect("made");
    let (milli, micro) = (
        ("WAIT_TIME_MILLI", [1, 2, 4]),
        ("WAIT_TIME_MICRO", [256, 512, 1024]),
    );
    for (name, text) in [
        (
            "begin-histogram",
            histogram("2026-01-02T03:00:00", milli, 100),
        ),
        (
            "begin-histogram-micro",
            histogram("2026-01-02T03:00:01", micro, 70),
        ),
        (
            "end-histogram",
            histogram("2026-01-02T03:10:00", milli, 130),
        ),
        (
            "end-histogram-micro",
            histogram("2026-01-02T03:10:01", micro, 75),
        ),
        (
            "settings",
            "\n INST_ID NAME\n-------- ----\n       1 cpu_count\n".to_owned(),
        ),
    ] {
        fs::write(folder.join(format!("redo-{name}.lst")), text).expect("written");
    }
    let done = place.run(&["import", "spooled", "--format", "json"]);
    let run = done.expect(0, &[]).json();
    let tables = run["imported"]["tables"].as_array().expect("tables");
    let summary = tables.iter().find(|t| t["id"] == "event_histogram_summary");
    let rows = summary.expect("a summary")["rows"]
        .as_array()
        .expect("rows")
        .clone();
    for (snapshots, waits) in DIFFERENCES {
        let found = rows
            .iter()
            .find(|row| row[0] == snapshots && row[1] == "log file sync");
        assert_eq!(
            found.map(|row| &row[2]),
            Some(&waits.into()),
            "{snapshots}: {rows:?}"
        );
    }
    let text = run.to_string();
    assert!(!text.contains("goes_back"), "{text}");
    assert!(
        text.contains("redo-settings.lst"),
        "what is skipped is named"
    );
}
