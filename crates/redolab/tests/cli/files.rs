//! Files that users own: results are written beside their place and renamed, never onto what a
//! command reads, never through a link, with modes that fit what is in them.

use crate::harness::{Done, Place, entries, skipped, tmpfs};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

/// A trace that is evidence, with a statement in it.
const TRACE: &str = "\
PARSING IN CURSOR #1 len=20 dep=0 uid=0 oct=3 lid=0 tim=1 hv=1 ad='0' sqlid='x'
select owned_by_us from t
END OF STMT
WAIT #1: nam='log file sync' ela= 500 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=1000
WAIT #1: nam='log file sync' ela= 700 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=9000
";

fn trace(place: &Place) {
    fs::write(place.path().join("ev.trc"), TRACE).expect("writes");
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).expect("reads")
}

/// The result is refused as a wrong use, and nothing has changed at `at`.
fn refused(done: &Done, words: &[&str], at: &Path, before: &str) {
    done.expect(2, words);
    assert_eq!(read(at), before, "{}", at.display());
}

/// Each command is refused with these words, and nothing has changed at `at`.
fn all_refused(place: &Place, commands: &[Vec<&str>], words: &[&str], at: &Path, before: &str) {
    for arguments in commands {
        refused(&place.run(arguments), words, at, before);
    }
}

#[test]
fn a_result_never_replaces_what_the_command_reads() {
    let place = Place::new();
    trace(&place);
    let at = |name: &str| place.path().join(name);
    let reads = "file that this command reads";
    fs::hard_link(at("ev.trc"), at("hard.trc")).expect("links");
    fs::create_dir(at("sub")).expect("fresh");
    for output in ["ev.trc", "./ev.trc", "hard.trc", "sub/../ev.trc"] {
        for format in ["table", "json", "csv"] {
            let done = place.run(&["import", "ev.trc", "--format", format, "-o", output]);
            refused(&done, &[reads, output], &at("ev.trc"), TRACE);
        }
        let done = place.run(&["import", "ev.trc", "--csv", "-o", output]);
        refused(&done, &[reads], &at("ev.trc"), TRACE);
    }
    place.run(&["runs"]).expect(0, &["No runs in"]);

    let (a, b) = (place.store_a_run(), place.store_a_run());
    for (id, file) in [(&a, "a.json"), (&b, "b.json")] {
        let done = place.run(&["report", id, "--format", "redolab", "-o", file]);
        done.expect(0, &[]);
    }
    let before = read(at("b.json"));
    for option in ["-o", "--report"] {
        let done = place.run(&["compare", "a.json", "b.json", option, "b.json"]);
        refused(&done, &[reads], &at("b.json"), &before);
    }
    fs::write(at("limits"), "peak_ratio = 7\n").expect("writes");
    let done = place.run(&["findings", "--thresholds", "limits", "-o", "limits"]);
    refused(&done, &[reads], &at("limits"), "peak_ratio = 7\n");

    // Nothing is written into the run store.
    let manifest = place.store.join(&a).join("manifest.json");
    let before = read(&manifest);
    let shown = manifest.display().to_string();
    let commands = [
        vec!["report", &a, "-o", &shown],
        vec!["runs", "show", &a, "-o", &shown],
        vec!["runs", "list", "-o", &shown],
        vec!["report", &a, "--format", "redolab", "-o", &shown],
        vec!["import", "ev.trc", "-o", &shown],
        vec!["compare", &a, &b, "-o", &shown],
    ];
    let words = ["inside the run store"];
    all_refused(&place, &commands, &words, &manifest, &before);
}

#[test]
fn an_inspected_log_is_not_overwritten() {
    let place = Place::new();
    let log = place.path().join("log");
    fs::create_dir(&log).expect("fresh");
    fs::write(log.join("redo.ctl"), "not a control file").expect("writes");
    let output = log.join("redo.ctl").display().to_string();
    let done = place.run(&["inspect", "log", "-o", &output]);
    assert_ne!(done.code, Some(0), "{done:?}");
    assert_eq!(read(log.join("redo.ctl")), "not a control file");
}

#[test]
fn no_result_goes_through_a_link() {
    let place = Place::new();
    let id = place.store_a_run();
    trace(&place);
    let at = |name: &str| place.path().join(name);
    fs::write(at("precious"), "precious").expect("writes");
    let default = format!("redolab-{id}.html");
    for name in [default.as_str(), "link"] {
        symlink(at("precious"), at(name)).expect("links");
    }
    symlink(at("nowhere"), at("dangling")).expect("links");
    let commands = [
        vec!["report", &id],
        vec!["report", &id, "-o", "link"],
        vec!["runs", "show", &id, "-o", "link"],
        vec!["report", &id, "--format", "redolab", "-o", "link"],
        vec!["report", &id, "--format", "openmetrics", "-o", "link"],
        vec!["import", "ev.trc", "-o", "link"],
        vec!["import", "ev.trc", "--csv", "-o", "dangling"],
        vec!["findings", "-o", "dangling"],
        vec!["devices", ".", "-o", "link"],
    ];
    let words = ["symbolic link", "remove the link"];
    all_refused(&place, &commands, &words, &at("precious"), "precious");
    assert!(!at("nowhere").exists());
    // A folder for an export may be named by a link; links inside it are not followed.
    fs::create_dir(at("lake")).expect("fresh");
    fs::create_dir(at("elsewhere")).expect("fresh");
    symlink(at("elsewhere"), at("lake/hist")).expect("links");
    let done = place.run(&["report", &id, "--format", "parquet", "-o", "lake"]);
    done.expect(2, &["symbolic link"]);
    assert_eq!(entries(&at("elsewhere")), Vec::<String>::new());
    // What stands before the name is the user's own way of naming a directory.
    symlink(at("elsewhere"), at("there")).expect("links");
    place
        .run(&["report", &id, "-o", "there/r.html"])
        .expect(0, &[]);
    assert_eq!(entries(&at("elsewhere")), ["r.html"]);
}

#[test]
fn modes_fit_what_is_in_a_result() {
    let place = Place::new();
    let id = place.store_a_run();
    trace(&place);
    let at = |name: &str| place.path().join(name);
    let imported = place.run(&["import", "ev.trc", "--format", "json", "-o", "ev.json"]);
    imported.expect(0, &[]);
    let json: serde_json::Value = serde_json::from_str(&read(at("ev.json"))).expect("JSON");
    let evidence = json["run_id"].as_str().expect("a name").to_owned();
    for arguments in [
        vec!["report", &evidence, "-o", "ev.html"],
        vec![
            "import",
            "ev.trc",
            "--csv",
            "-o",
            "ev.csv",
            "--event",
            "log file sync",
        ],
        vec!["runs", "show", &evidence, "-o", "ev.txt"],
        vec![
            "report",
            &evidence,
            "--format",
            "redolab",
            "-o",
            "ev.export",
        ],
        vec!["report", &id, "-o", "own.html"],
        vec!["runs", "show", &id, "-o", "own.txt"],
        vec!["report", &id, "--format", "redolab", "-o", "own.export"],
        vec!["findings", "-o", "own.findings"],
    ] {
        place.run(&arguments).expect(0, &[]);
    }
    let mode = |name: &str| fs::metadata(at(name)).expect("written").mode() & 0o7777;
    for name in ["ev.json", "ev.html", "ev.csv", "ev.txt", "ev.export"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    let status = read("/proc/self/status");
    let umask = status.lines().find_map(|l| l.strip_prefix("Umask:"));
    let umask = u32::from_str_radix(umask.expect("Linux").trim(), 8).expect("octal");
    for name in ["own.html", "own.txt", "own.export", "own.findings"] {
        assert_eq!(mode(name), 0o644 & !umask, "{name}");
    }
    // A file that was private stays so; a wide one does not stay wide with evidence in it.
    fs::set_permissions(at("own.html"), Permissions::from_mode(0o600)).expect("ours");
    place.run(&["report", &id, "-o", "own.html"]).expect(0, &[]);
    assert_eq!(mode("own.html"), 0o600);
    fs::set_permissions(at("ev.html"), Permissions::from_mode(0o666)).expect("ours");
    place
        .run(&["report", &evidence, "-o", "ev.html"])
        .expect(0, &[]);
    assert_eq!(mode("ev.html"), 0o600);
    // Replaced, not rewritten: another name of the old file keeps the old content.
    fs::hard_link(at("own.txt"), at("kept.txt")).expect("links");
    let before = read(at("own.txt"));
    place.run(&["runs", "list", "-o", "own.txt"]).expect(0, &[]);
    assert_eq!(read(at("kept.txt")), before);
    assert_ne!(read(at("own.txt")), before);
}

/// Arguments of the commands that measure for a while and then write a result, and a report.
fn measuring(place: &Place) -> Vec<Vec<String>> {
    let (on, second) = (place.target.display().to_string(), place.path().join("b"));
    fs::create_dir(&second).expect("fresh");
    let (first, second) = (format!("a={on}"), format!("b={}", second.display()));
    let row = "--jobs 1 --commits 30 --log-file-size 4M --log-groups 2 --allow-busy";
    [
        format!("check {on} --quick --time 50ms --warmup 0 --no-report --allow-busy"),
        format!("run --on {on} {row}"),
        "run --null --jobs 1 --commits 30".to_owned(),
        format!("compare --on {first} --on {second} --rounds 1 {row}"),
        format!("probe {on} --time 10ms --allow-busy"),
    ]
    .iter()
    .map(|line| line.split(' ').map(str::to_owned).collect())
    .collect()
}

/// A place that cannot be written costs nobody a measurement.
#[test]
fn a_place_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let place = Place::new();
    let id = place.store_a_run();
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("folder")).expect("fresh");
    symlink(at("nowhere"), at("link")).expect("links");
    fs::write(at("limits"), "peak_ratio = 7\n").expect("writes");
    let stored = place.store.join(&id).join("x").display().to_string();
    let sealed = tmpfs(&place, 1);
    if let Some(mount) = &sealed {
        mount.remount("ro");
    }
    let mut places = vec![
        ("none/x", "No such file"),
        ("folder", "is a directory"),
        ("link", "symbolic link"),
        (stored.as_str(), "inside the run store"),
    ];
    if sealed.is_some() {
        places.push(("tmpfs/x", "Read-only file system"));
    }
    let runs = entries(&place.store);
    let refused = |arguments: &[String], words: &str| {
        let done = place.run(arguments);
        assert!(matches!(done.code, Some(1 | 2)), "{done:?}");
        assert!(done.err.contains(words), "{words}: {done:?}");
        assert_eq!(
            (entries(&place.store), done.out.as_str()),
            (runs.clone(), "")
        );
        place.expect_clean(&place.target);
    };
    for arguments in measuring(&place) {
        let reports = match arguments[0].as_str() {
            "compare" => &["-o", "--report"][..],
            _ => &["-o"],
        };
        for (output, words) in &places {
            for option in reports {
                let more = [(*option).to_owned(), (*output).to_owned()];
                refused(&[&arguments[..], &more].concat(), words);
            }
        }
        if arguments[0] == "check" {
            let limits = ["--thresholds", "limits", "-o", "limits"].map(str::to_owned);
            refused(&[&arguments[..], &limits].concat(), "this command reads");
            let rest: Vec<String> = arguments
                .into_iter()
                .filter(|word| word != "--no-report")
                .collect();
            for (output, words) in &places {
                let more = ["--report".to_owned(), (*output).to_owned()];
                refused(&[&rest[..], &more].concat(), words);
            }
        }
    }
}

#[test]
fn a_full_disk_leaves_the_earlier_result_and_nothing_beside_it() {
    let place = Place::new();
    let id = place.store_a_run();
    let Some(mount) = tmpfs(&place, 1) else {
        return;
    };
    let at = |name: &str| mount.at.join(name);
    fs::write(at("good.html"), "a good report").expect("writes");
    // All but a few KiB is taken.
    fs::write(at("filler"), vec![1; 1_020 << 10]).expect("there is room");
    let left = entries(&mount.at);
    let output = at("good.html").display().to_string();
    for arguments in [
        vec!["report", &id, "-o", &output],
        vec!["report", &id, "--format", "redolab", "-o", &output],
        vec!["findings", "--format", "json", "-o", &output],
    ] {
        let done = place.run(&arguments);
        done.expect(1, &["good.html", "writing the result", "No space left"]);
        assert!(!done.err.contains("run store"), "{}", done.err);
        assert_eq!(read(at("good.html")), "a good report");
        assert_eq!(entries(&mount.at), left);
    }
}

#[test]
fn devices_and_pipes_are_written_directly() {
    let place = Place::new();
    let id = place.store_a_run();
    let null = || fs::symlink_metadata("/dev/null").expect("a device").ino();
    let before = null();
    let file = place.path().join("f");
    assert!(crate::harness::done("mkfifo", &[&file.display().to_string()]).is_some());
    for place_of in ["/dev/null", "/dev/stdout"] {
        let done = place.run(&["runs", "show", &id, "-o", place_of]);
        done.expect(0, &[]);
        assert_eq!(done.out.contains(&id), place_of == "/dev/stdout");
    }
    place
        .run(&["runs", "show", &id, "-o", "/dev/full"])
        .expect(1, &["No space left"]);
    place
        .run(&["runs", "show", &id, "-o", "f"])
        .expect(2, &["FIFO that no process reads"]);
    let reader = file.clone();
    let reader = std::thread::spawn(move || fs::read_to_string(reader).expect("a pipe"));
    // The reader opens the FIFO in a moment.
    let mut code = None;
    for _ in 0..200 {
        code = place.run(&["runs", "show", &id, "-o", "f"]).code;
        if code == Some(0) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(code, Some(0));
    assert!(reader.join().expect("reads").contains(&id));
    assert_eq!(null(), before, "written, not replaced");
    for bad in ["target", ".", "target/", "none/x"] {
        let done = place.run(&["runs", "show", &id, "-o", bad]);
        assert!(matches!(done.code, Some(1 | 2)), "{bad}: {done:?}");
    }
}

/// Two commands may meet in a store that does not exist yet.
#[test]
fn eight_commands_at_once_make_one_store() {
    let place = Place::new();
    trace(&place);
    for round in 0..10 {
        let store = place.path().join(format!("new-{round}"));
        let store = store.display().to_string();
        let arguments = [
            "import",
            "ev.trc",
            "--store",
            &store,
            "-q",
            "-o",
            "/dev/null",
        ];
        let children: Vec<_> = (0..8)
            .map(|_| place.command(&arguments).spawn().expect("starts"))
            .collect();
        for child in children {
            let done = child.wait_with_output().expect("our own child");
            let said = String::from_utf8_lossy(&done.stderr);
            assert!(done.status.success(), "round {round}: {said}");
        }
        let names = entries(Path::new(&store));
        assert_eq!(names.len(), 9, "{names:?}");
        assert!(names.iter().all(|n| !n.starts_with('.')), "{names:?}");
    }
}

/// No path that is printed carries an escape sequence to the terminal.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn paths_are_harmless_on_a_terminal() {
    let place = Place::new();
    let evil = place.path().join("e\u{1b}]0;owned\u{7}\u{1b}[31mvil");
    fs::create_dir(&evil).expect("fresh");
    let inside = |name: &str| evil.join(name).display().to_string();
    fs::write(evil.join("ev.trc"), TRACE).expect("writes");
    fs::write(evil.join("none.txt"), "hello\n").expect("writes");
    fs::write(evil.join("limits"), "nothing = like this\n").expect("writes");
    let store = inside("store");
    let (id, other) = (place.store_a_run(), place.store_a_run());
    let export = inside("a.json");
    let quick = ["--jobs", "1", "--time", "100ms", "--warmup", "0"];
    let folder = evil.display().to_string();
    let mut commands: Vec<Vec<String>> = Vec::new();
    let mut add = |arguments: &[&str]| {
        commands.push(arguments.iter().map(|a| (*a).to_owned()).collect());
    };
    add(&["runs", "--store", &store]);
    add(&["runs", "show", "last", "--store", &store]);
    add(&["runs", "show", "none", "--store", &store]);
    add(&["import", &inside("ev.trc"), "--store", &store, "-v"]);
    add(&["import", &folder, "--store", &store, "-v"]);
    add(&["import", &inside("none.txt"), "--store", &store]);
    add(&["import", &inside("absent"), "--store", &store]);
    add(&["import", &inside("ev.trc"), "-o", &inside("ev.trc")]);
    add(&["runs", "--store", &store]);
    add(&["runs", "show", "last", "--store", &store]);
    add(&["report", "last", "--store", &store, "-o", &inside("r.html")]);
    add(&["report", &id, "-o", &inside("r.html")]);
    add(&["report", &id, "-o", &inside("no/r.html")]);
    add(&["report", &id, "--format", "redolab", "-o", &export]);
    add(&[
        "report",
        &id,
        "--format",
        "redolab",
        "-o",
        &inside("no/a.json"),
    ]);
    add(&["report", &id, "--format", "parquet", "-o", &inside("lake")]);
    add(&["report", &id, "--format", "parquet", "-o", &inside("lake")]);
    add(&["import", &export]);
    add(&["import", &export, "--store", &store]);
    add(&["compare", &export, &other, "--report", &inside("c.html")]);
    add(&["compare", &inside("none.json"), &other]);
    add(&["findings", "--thresholds", &inside("limits")]);
    add(&["findings", "--thresholds", &inside("absent")]);
    add(&["inspect", &folder]);
    add(&["inspect", &inside("absent")]);
    add(&["devices", &folder]);
    add(&["devices", &inside("absent")]);
    add(&["man", "-o", &inside("absent/man")]);
    for command in ["check", "run", "probe"] {
        let path = if command == "run" {
            ["--on", &folder]
        } else {
            [&folder, "-v"]
        };
        add(&[&[command], &path[..], &["--dry-run"]].concat());
        let path = if command == "run" {
            vec!["--on"]
        } else {
            vec![]
        };
        let absent = inside("absent");
        add(&[&[command], &path[..], &[absent.as_str(), "--dry-run"]].concat());
    }
    add(&[
        &[
            "run",
            "--on",
            &folder,
            "--log-file-size",
            "8M",
            "--allow-busy",
            "-v",
        ],
        &quick[..],
    ]
    .concat());
    let evil_report = inside("check.html");
    add(&[
        &["check", &folder, "--report", &evil_report, "-v"],
        &crate::harness::QUICK[..],
    ]
    .concat());
    let mut skips = 0;
    for arguments in &commands {
        let done = place.run(arguments);
        let said = format!("{}{}", done.out, done.err);
        assert!(
            !said.contains(['\u{1b}', '\u{7}']),
            "{arguments:?}\n{said:?}"
        );
        assert!(!said.contains("panicked"), "{arguments:?}\n{said}");
        skips += u32::from(said.contains("unexpected argument"));
    }
    let wrong = place.run(&["runs", &folder]);
    wrong.expect(2, &["unrecognized"]);
    assert!(!wrong.err.contains(['\u{1b}', '\u{7}']), "{:?}", wrong.err);
    assert_eq!(skips, 0, "every command line is one");
    if !evil.join("check.html").exists() {
        skipped("check did not measure here, so its report was not written");
    }
}
