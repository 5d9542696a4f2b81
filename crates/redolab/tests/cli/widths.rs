//! What is printed for people fits the terminal: at 80 and at 200 columns no line of any command is
//! wider, on standard error too, characters of two columns counted as two. A single word, such as a
//! path, may be wider.

use crate::harness::{Place, skipped};
use device::SyncMethod;
use redo::{CommitMode, Log, MemberLayout, Options, Shape};
use std::path::Path;
use std::process::{Command, Stdio};
use unicode_width::UnicodeWidthStr;

/// Characters of two columns in the path of the target.
const WIDE: &str = "測試目錄測試目錄測試目錄測試目錄測試目錄測試目錄";
const SHORT: &str =
    "--jobs 1,2 --commits 40 --warmup 0 --log-file-size 4M --log-groups 2 --allow-busy";

fn expect_fits(what: &str, text: &str, columns: usize) {
    for line in text.split(['\n', '\r']) {
        let line = plain(line);
        let is_one_word = !line.trim().contains(' ');
        let width = line.width();
        assert!(
            width <= columns || is_one_word,
            "{what}: {width} columns: {line}"
        );
    }
}

/// `line` without what moves the cursor of a terminal.
fn plain(line: &str) -> String {
    let mut parts = line.split("\u{1b}[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .find(|c: char| c.is_ascii_alphabetic())
            .map_or(part.len(), |at| at + 1);
        out.push_str(&part[end..]);
    }
    out
}

fn printed(place: &Place, arguments: &str, columns: usize) -> String {
    let words: Vec<&str> = arguments.split(' ').collect();
    let mut command = place.command(&words);
    let output = command
        .env("COLUMNS", columns.to_string())
        .output()
        .expect("it runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!said.contains("panicked"), "{arguments}: {said}");
    expect_fits(&format!("{arguments} (standard error)"), &said, columns);
    text
}

/// What a command prints that does not end with a refusal.
fn result(place: &Place, arguments: &str, columns: usize) -> String {
    let text = printed(place, arguments, columns);
    assert!(!text.trim().is_empty(), "{arguments}");
    text
}

/// A log on two directories.
fn mirror(place: &Place) -> String {
    let all = ["m1", "m2"].map(|name| place.path().join(name));
    all.iter()
        .for_each(|path| std::fs::create_dir(path).expect("a fresh directory"));
    let layout = || MemberLayout::mirror(&all).force_same_device(true);
    let shape = Shape::new().groups(2).file_bytes(1 << 20);
    Log::builder(layout())
        .shape(shape)
        .create()
        .expect("creates");
    let options = Options::default().sync_method(SyncMethod::Buffered);
    let (log, _) = Log::builder(layout())
        .options(options)
        .open()
        .expect("opens");
    let mut session = log.session();
    session.append(&[b"order"]).expect("appended");
    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    drop(session);
    log.close().expect("closes");
    format!("mirror:{},{}", all[0].display(), all[1].display())
}

fn corpus(name: &str) -> String {
    format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_view_fits_80_and_200_columns() {
    let place = Place::new();
    std::fs::create_dir(place.path().join(WIDE)).expect("a fresh directory");
    let (first, second) = (place.store_a_run(), place.store_a_run());
    let mirror = mirror(&place);
    let label = "a".repeat(40);
    let commands = [
        format!("run {WIDE} {SHORT} --tag volume=🚀測試🚀測試 --label {label}"),
        "runs".to_owned(),
        format!("runs show {label}"),
        format!("runs show {label} -v"),
        format!("compare --as differences {first} {label}"),
        format!("compare {first} {second}"),
        format!("compare {first} {second} {label} -v"),
        format!("compare --as capacity {label}"),
        format!("import {} -v", corpus("awr-html/whole.html")),
        format!("import {}", corpus("fio-json")),
        format!("import {}", corpus("oracle-trace")),
        "runs show last -v".to_owned(),
        "findings".to_owned(),
        "findings latency".to_owned(),
        format!("devices {WIDE}"),
        format!("inspect {}", place.path().join("m1").display()),
        format!("inspect --members {mirror}"),
        format!("probe {WIDE} --time 2ms --allow-busy"),
        "powertest list".to_owned(),
        format!("compare --as r2 {}", corpus("oracle-trace")),
    ];
    for columns in [80, 200] {
        for arguments in &commands {
            // There is nothing more to see at 200 columns of what measures.
            if columns == 80 || !["run", "probe"].iter().any(|c| arguments.starts_with(c)) {
                expect_fits(arguments, &result(&place, arguments, columns), columns);
            }
        }
    }
}

#[test]
fn every_refusal_fits_80_columns() {
    let place = Place::new();
    std::fs::create_dir(place.path().join(WIDE)).expect("a fresh directory");
    for arguments in [
        format!("run {WIDE} --frobnicate {WIDE} {WIDE} {WIDE}"),
        format!("run {WIDE} --commits many"),
        format!("run no/{WIDE} --jobs 1 --commits 40 --warmup 0 --allow-busy"),
        format!("inspect {WIDE}"),
        format!("import {WIDE}"),
        "compare one two three".to_owned(),
        "runs delete one".to_owned(),
        "powertest write --on target".to_owned(),
    ] {
        let text = printed(&place, &arguments, 80);
        assert_eq!(text, "", "{arguments} is refused");
    }
}

#[test]
fn every_help_text_fits_80_columns() {
    let place = Place::new();
    let mut waiting = vec![String::new()];
    let mut seen = 0;
    while let Some(command) = waiting.pop() {
        let shown = result(&place, format!("{command} --help").trim(), 80);
        expect_fits(&format!("{command} --help"), &shown, 80);
        expect_fits(
            &command,
            &result(&place, format!("{command} -h").trim(), 80),
            80,
        );
        seen += 1;
        let lists = shown.to_lowercase();
        let lists = lists.split("commands:\n").skip(1);
        let listed = lists.flat_map(|list| list.lines().take_while(|line| !line.is_empty()));
        // The names of commands are indented by two, their explanations by more.
        let names = listed.filter_map(|line| line.strip_prefix("  "));
        let names = names.filter(|line| !line.starts_with(' '));
        let names = names.filter_map(|line| line.split(' ').next());
        waiting.extend(
            names
                .filter(|n| *n != "help")
                .map(|n| format!("{command} {n}").trim().to_owned()),
        );
    }
    assert!(seen > 30, "{seen} help texts");
}

/// On a terminal also what is printed while a command works.
#[test]
fn a_live_comparison_fits_a_terminal_of_80_columns() {
    let place = Place::new();
    std::fs::create_dir(place.path().join(WIDE)).expect("a fresh directory");
    let arguments = format!("compare --on a={WIDE} --on b=target --rounds 1 {SHORT} --yes");
    let binary = env!("CARGO_BIN_EXE_redolab");
    let line = format!("stty rows 24 cols 80; exec {binary} {arguments}");
    let output = Command::new("script")
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .current_dir(place.path())
        .env("REDOLAB_STORE", &place.store)
        .env("SHELL", "/bin/sh")
        .stdin(Stdio::null())
        .output();
    let Ok(output) = output else {
        return skipped("script(1) is not installed");
    };
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.contains("log file sync") && text.contains("commits/s"),
        "{text}"
    );
    expect_fits(&arguments, &text, 80);
    place.expect_clean(Path::new(&place.path().join(WIDE)));
}
