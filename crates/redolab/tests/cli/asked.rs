//! The question before more than 10 GiB are written, on a pseudo terminal; and how long rows are.

use crate::harness::{LoopDevice, Place, Running, skipped, tmpfs};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// A run that may write more than 10 GiB on a fast device, and writes little on a slow one.
const LONG: &str = "--jobs 1 --time 6s --warmup 0 --log-file-size 4M --log-groups 2 --allow-busy";

fn has_script() -> bool {
    let found = Command::new("script").arg("--version").output().is_ok();
    if !found {
        skipped("script(1) is not installed");
    }
    found
}

/// Runs redolab on a pseudo terminal; `typed` is typed there once it asks. Both outputs come
/// together. Its exit code, and what it printed.
fn on_a_terminal(place: &Place, arguments: &str, typed: Option<&str>) -> (Option<i32>, String) {
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_redolab"));
    let mut child = Command::new("script")
        .args(["-q", "-e", "-f", "-c", &line, "/dev/null"])
        .current_dir(place.path())
        .env("REDOLAB_STORE", &place.store)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    // It stays open until the end: a terminal that closes is a hang-up.
    let mut input = child.stdin.take().expect("piped");
    let mut output = child.stdout.take().expect("piped");
    let (mut printed, mut part) = (Vec::new(), [0; 4096]);
    let mut is_answered = false;
    while let Ok(count @ 1..) = output.read(&mut part) {
        printed.extend_from_slice(&part[..count]);
        let text = String::from_utf8_lossy(&printed);
        if text.contains(ASKED) && !is_answered {
            is_answered = true;
            // Where nobody was to be asked, the answer is no.
            let typed = typed.unwrap_or("n\n");
            input.write_all(typed.as_bytes()).expect("a pipe");
            input.flush().expect("a pipe");
        }
    }
    let code = child.wait().expect("our own child").code();
    drop(input);
    let text = String::from_utf8_lossy(&printed).into_owned();
    assert_eq!(is_answered, typed.is_some(), "{arguments}: {text}");
    assert!(!text.contains("panicked"), "{text}");
    (code, text)
}

/// The end of the question.
const ASKED: &str = "Continue? [y/N]";

#[test]
fn a_terminal_is_asked_before_much_is_written() {
    if !has_script() {
        return;
    }
    let place = Place::new();
    let run = format!("run {} {LONG}", place.target.display());
    let ended = |typed: &str, code: i32, words: &[&str]| {
        let (found, text) = on_a_terminal(&place, &run, Some(typed));
        assert_eq!(found, Some(code), "{typed:?}: {text}");
        let words = words.iter().chain(&["GiB will be written in about 6 s"]);
        words.for_each(|word| assert!(text.contains(word), "{word}: {text}"));
        place.expect_clean(&place.target);
    };
    ended(
        "n\n",
        2,
        &["not confirmed, and nothing was written", "--yes"],
    );
    ended("\n", 2, &["not confirmed"]);
    ended("\u{3}", 130, &["interrupted"]);
    place.run(&["runs"]).expect(0, &["No runs in"]);
    ended("y\n", 0, &["LGWR-LAT1"]);
    place.run(&["runs"]).expect(0, &["LGWR-LAT1"]);
}

#[test]
fn nobody_is_asked_about_little_nor_after_a_yes_nor_without_a_terminal() {
    if !has_script() {
        return;
    }
    let place = Place::new();
    let target = place.target.display();
    for arguments in [
        format!("run {target} --jobs 1 --commits 20 --log-file-size 4M --allow-busy"),
        format!("run {target} {LONG} --max-write 200M"),
        format!("run {target} {LONG} --yes"),
        format!("run {target} {LONG} --dry-run"),
    ] {
        let (code, text) = on_a_terminal(&place, &arguments, None);
        assert_eq!(code, Some(0), "{arguments}: {text}");
    }
    let arguments = format!("run {target} {LONG}");
    let words: Vec<&str> = arguments.split(' ').collect();
    let done = place.run(&words);
    done.expect(0, &[]);
    assert!(!done.err.contains(ASKED), "{}", done.err);
}

/// What a dry run of `check` announces.
fn announced(place: &Place, more: &[&str]) -> String {
    let on = place.target.display().to_string();
    let check = [
        "check",
        &on,
        "--dry-run",
        "--allow-busy",
        "--jobs",
        "1",
        "--log-file-size",
        "8M",
    ];
    let done = place.run(&[&check[..], more].concat());
    done.expect(0, &["nothing was written"]);
    done.err
}

#[test]
fn rows_that_may_end_early_are_announced_and_a_time_that_is_asked_for_is_measured() {
    let place = Place::new();
    for (more, ends) in [
        (&[][..], Some(["4.0 GiB of redo", "its 4 s"])),
        (&["--quick"], Some(["1.0 GiB of redo", "its 1.5 s"])),
        (&["--time", "20s"], None),
        (&["--time", "5m"], None),
        (
            &["--explain-latency"],
            Some(["1.0 GiB of redo", "its 1.5 s"]),
        ),
        (&["--explain-latency", "--time", "20s"], None),
    ] {
        let said = announced(&place, more);
        let line = said.lines().find(|line| line.contains("A row ends early"));
        match ends {
            None => assert_eq!(line, None, "{more:?}"),
            Some(words) => {
                let line = line.unwrap_or_else(|| panic!("{more:?}: {said}"));
                let has = |word: &&str| line.contains(*word) && line.contains("--time");
                assert!(words.iter().all(has), "{more:?}: {line}");
            }
        }
    }
    // Each of the four rows is announced with the whole time.
    let said = announced(&place, &["--time", "5m"]);
    let rows = said.lines().filter(|line| line.contains(", 300 s: up to"));
    assert_eq!(rows.count(), 4, "{said}");
}

/// A volume that was made for a log keeps a quarter free, not 5 GiB.
#[test]
fn a_small_volume_is_checked_and_what_does_not_fit_is_named() {
    let place = Place::new();
    let Some(volume) = tmpfs(&place, 640) else {
        return;
    };
    let on = volume.at.display().to_string();
    let run = |size: &str| {
        let words = [
            "run",
            &on,
            "--jobs",
            "1",
            "--commits",
            "10",
            "--allow-busy",
            "--log-file-size",
            size,
        ];
        place.run(&words)
    };
    run("100M").expect(0, &["at least 160.0 MiB stay free"]);
    // 480 MiB may be used, a little of it by control information.
    run("200M").expect(2, &["not enough room", "--log-file-size 159M fits"]);
    run("159M").expect(0, &[]);
    place.expect_clean(&volume.at);
}

/// What cannot be written is refused before anything is measured, and the message says what to do.
#[test]
fn a_store_or_a_current_directory_that_cannot_be_written_is_refused_at_once() {
    let place = Place::new();
    place.store_a_run();
    let on = place.target.display().to_string();
    let measuring = [
        vec!["check", &on, "--quick", "--allow-busy"],
        vec!["run", &on, "--jobs", "1", "--commits", "10", "--allow-busy"],
        vec!["run", "--null", "--jobs", "1", "--commits", "10"],
        vec!["probe", &on, "--time", "10ms", "--allow-busy"],
        vec!["compare", "--on", "a=.", "--on", "b=store", "--allow-busy"],
    ];
    let file = place.path().join("file");
    std::fs::write(&file, "precious").expect("writes");
    let file = file.display().to_string();
    for command in &measuring {
        let more = ["--store", &file];
        let done = place.run(&[&command[..], &more].concat());
        done.expect(1, &["run store", &file, "--store DIR"]);
    }
    let Some(sealed) = tmpfs(&place, 4) else {
        return;
    };
    let store = sealed.at.join("store").display().to_string();
    place
        .run(&[
            "run",
            "--null",
            "--jobs",
            "1",
            "--commits",
            "10",
            "--store",
            &store,
        ])
        .expect(0, &[]);
    sealed.remount("ro");
    for command in &measuring {
        let done = place.run(&[&command[..], &["--store", &store]].concat());
        done.expect(1, &[&store, "Read-only file system", "--store DIR"]);
        assert_eq!(done.out, "");
        assert!(!done.err.contains("Will make"), "{}", done.err);
    }
    let mut inside = place.command(&["check", &on, "--quick", "--allow-busy"]);
    let child = inside.current_dir(&sealed.at).spawn().expect("starts");
    let done = Running::of(child, "check in a sealed directory".to_owned()).wait();
    done.expect(
        1,
        &["Read-only file system", "--report FILE", "--no-report"],
    );
    assert!(!done.err.contains("Will make"), "{}", done.err);
    place.expect_clean(&place.target);
}

#[test]
fn run_takes_its_place_as_the_other_commands_do() {
    let place = Place::new();
    let on = place.target.display().to_string();
    let few = [
        "--jobs",
        "1",
        "--commits",
        "10",
        "--allow-busy",
        "--log-file-size",
        "4M",
    ];
    for named in [&["run", on.as_str()][..], &["run", "--on", &on]] {
        let done = place.run(&[named, &few, &["--format", "json", "-q"]].concat());
        done.expect(0, &[]);
        let path = place.target.canonicalize().expect("there");
        assert_eq!(done.json()["target"]["path"], path.display().to_string());
    }
    for both in [
        &["run", on.as_str(), "--on", &on][..],
        &["run", &on, "--null"],
        &["run", &on, "--stripe", "fine:/u01,/u02"],
    ] {
        place.run(both).expect(2, &["cannot be used with"]);
    }
    place
        .run(&["run", &on, "--nodes", "/u01,/u02"])
        .expect(2, &["--nodes", "omit PATH"]);
}

/// Nobody but root and a group may open a device.
#[test]
fn a_device_without_permission_is_refused_with_what_to_do() {
    let Some(device) = LoopDevice::make(32, &[]) else {
        return;
    };
    let place = Place::new();
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(place.path(), everyone).expect("our own");
    // The program itself may lie where others have no access.
    let copy = place.path().join("redolab");
    std::fs::copy(env!("CARGO_BIN_EXE_redolab"), &copy).expect("copies");
    let mut command = Command::new(&copy);
    command
        .args(["probe", &device.node, "--destroy", &device.node])
        .current_dir(place.path())
        .env("REDOLAB_STORE", Path::new("own"))
        .uid(65534)
        .gid(65534)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    let done = Running::of(child, "probe as nobody".to_owned()).wait();
    done.expect(
        2,
        &[&device.node, "as root (sudo)", "group that owns the device"],
    );
}
