//! When the directory of a log is made durable, seen in the calls of a child that strace(1) runs: a
//! name before anybody may rely on it, and the removal of log files before that of the control file
//! that names them.

mod common;

use common::{SMALL, Scratch, options};
use redo::Error;
use redo::engine::Paths;
use std::path::Path;
use std::process::{Command, Stdio};

const DIRECTORY: &str = "REDO_NAMES_DIRECTORY";
const WORK: &str = "REDO_NAMES_WORK";

/// Not a test: the child's part.
#[test]
fn child() {
    let (Some(directory), Ok(work)) = (std::env::var_os(DIRECTORY), std::env::var(WORK)) else {
        return;
    };
    let directory = Path::new(&directory);
    match work.as_str() {
        "create" => common::create(directory),
        "open" => drop(common::open(directory)),
        "fail" => {
            let take = |done, total| {
                if done == total {
                    std::fs::write(directory.join(Paths::CONTROL), "").expect("writable");
                }
            };
            let refused = common::create_with(directory, SMALL, &take, &|| false);
            assert!(matches!(refused, Err(Error::Device(_))), "{refused:?}");
        }
        other => panic!("{other}"),
    }
}

/// A call on the log's directory or a file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// The directory was made durable.
    Sync,
    /// A log file was removed.
    RemoveLog,
    /// The unfinished control file was removed.
    RemoveControl,
    /// The control file got its name.
    Name,
    /// The log's lock was taken.
    Lock,
    /// It was given up.
    Unlock,
    /// Bytes of a file were written.
    Write,
}

/// What a line of strace says; names of open files are in angle brackets behind their numbers.
fn call(line: &str, directory: &Path) -> Option<Call> {
    let directory = directory.display().to_string();
    // -f puts the thread's number before each line.
    let line = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
    let (name, arguments) = line.split_once('(')?;
    let has = |words: &str| arguments.contains(words);
    match name {
        "fsync" if has(&format!("<{directory}>")) => Some(Call::Sync),
        "unlink" | "unlinkat" if has("\"redo.ctl.unfinished\"") => Some(Call::RemoveControl),
        "unlink" | "unlinkat" if has("\"redo0") => Some(Call::RemoveLog),
        "rename" | "renameat" | "renameat2" if has("\"redo.ctl\"") => Some(Call::Name),
        "flock" if has("redo.ctl") && has("LOCK_UN") => Some(Call::Unlock),
        "flock" if has("redo.ctl") => Some(Call::Lock),
        "pwrite64" | "pwritev" | "pwritev2" if has(&directory) => Some(Call::Write),
        _ => None,
    }
}

/// The calls of a child at that work, in order; says why there are none.
fn calls(directory: &Path, work: &str) -> Option<Vec<Call>> {
    let output = Scratch::new();
    let trace = output.0.join("trace");
    let names =
        "trace=fsync,unlink,unlinkat,rename,renameat,renameat2,flock,pwrite64,pwritev,pwritev2";
    let ran = Command::new("strace")
        .args(["-f", "-y", "-qq", "-s", "0", "-e", names, "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "child", "--test-threads=1"])
        .env(DIRECTORY, directory)
        .env(WORK, work)
        .stdout(Stdio::null())
        .status();
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    match ran {
        Ok(status) if status.success() => {}
        Ok(status) if !text.is_empty() => panic!("{work}: {status}"),
        _ => {
            println!("skipped: strace does not run here");
            return None;
        }
    }
    Some(
        text.lines()
            .filter_map(|line| call(line, directory))
            .collect(),
    )
}

/// The place of the first such call from `from` on.
fn place(calls: &[Call], wanted: Call, from: usize) -> usize {
    let found = calls[from..].iter().position(|call| *call == wanted);
    from + found.unwrap_or_else(|| panic!("no {wanted:?} from {from} on: {calls:?}"))
}

#[test]
fn a_new_logs_name_is_durable_before_its_lock_is_given_up() {
    let scratch = Scratch::new();
    let Some(calls) = calls(&scratch.0, "create") else {
        return;
    };
    let named = place(&calls, Call::Name, 0);
    let (synced, unlocked) = (
        place(&calls, Call::Sync, named),
        place(&calls, Call::Unlock, named),
    );
    assert!(synced < unlocked, "{calls:?}");
    drop(common::open_with(&scratch.0, options()).expect("a log"));
}

#[test]
fn an_opened_logs_name_is_durable_before_anything_is_written() {
    let scratch = Scratch::with_log();
    let Some(calls) = calls(&scratch.0, "open") else {
        return;
    };
    let locked = place(&calls, Call::Lock, 0);
    let synced = place(&calls, Call::Sync, locked);
    let written = place(&calls, Call::Write, 0);
    assert!(locked < synced && synced < written, "{calls:?}");
}

#[test]
fn log_files_are_durably_gone_before_the_control_file_goes() {
    // One creation fails at its end; another one finds what a killed one left.
    for work in ["fail", "create"] {
        let scratch = Scratch::new();
        if work == "create" {
            common::create(&scratch.0);
            let at = |name: &str| scratch.0.join(name);
            std::fs::rename(at(Paths::CONTROL), at(Paths::UNFINISHED)).expect("renames");
        }
        let Some(calls) = calls(&scratch.0, work) else {
            return;
        };
        let last = calls.iter().rposition(|call| *call == Call::RemoveLog);
        let last = last.expect("log files were removed");
        let (synced, removed) = (
            place(&calls, Call::Sync, last),
            place(&calls, Call::RemoveControl, 0),
        );
        assert!(last < synced && synced < removed, "{work}: {calls:?}");
    }
}
