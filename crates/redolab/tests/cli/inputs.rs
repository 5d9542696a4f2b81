//! Inputs that never end, that nobody writes, that are not what they should be: every command ends,
//! in bounded time and memory, and says why. What may become a run in the store, and what not.

use crate::harness::{Done, Mount, Place, Running, done, entries, is_root, skipped};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn fifo(place: &Place, name: &str) -> String {
    let path = place.path().join(name).display().to_string();
    assert!(done("mkfifo", &[&path]).is_some(), "mkfifo is here");
    path
}

/// Runs a command that has to end at once; it is killed when it does not.
fn at_once(place: &Place, arguments: &[&str]) -> Done {
    let mut child = place.command(arguments).spawn().expect("starts");
    let begun = Instant::now();
    while child.try_wait().expect("our own child").is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().expect("our own child");
            child.wait().expect("our own child");
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Running::of(child, arguments.join(" ")).wait()
}

#[test]
fn a_fifo_or_a_device_is_no_small_input() {
    let place = Place::new();
    let id = place.store_a_run();
    let pipe = fifo(&place, "pipe.json");
    for (input, word) in [
        (pipe.as_str(), "FIFO"),
        ("/dev/zero", "device"),
        (".", "directory"),
    ] {
        for arguments in [
            vec!["findings", "--thresholds", input],
            vec!["check", ".", "--dry-run", "--thresholds", input],
        ] {
            let done = at_once(&place, &arguments);
            assert!(matches!(done.code, Some(1 | 2)), "{arguments:?} {done:?}");
            assert!(done.err.contains(word), "{arguments:?} {done:?}");
        }
    }
    let compared = at_once(&place, &["compare", &id, &pipe]);
    compared.expect(1, &["FIFO", "pipe.json"]);
    fs::write(place.path().join("long"), vec![b' '; 2 << 20]).expect("writes");
    at_once(&place, &["findings", "--thresholds", "long"]).expect(2, &["longer than"]);
}

/// One SIGINT ends an import that waits for a pipe, within a second.
#[test]
fn one_interrupt_ends_an_import_that_waits() {
    let place = Place::new();
    let pipe = fifo(&place, "pipe");
    let held = fs::OpenOptions::new().read(true).write(true).open(&pipe);
    let held = held.expect("a FIFO opens for both");
    let unopened = fifo(&place, "unopened");
    for input in ["-", &pipe, &unopened] {
        for begun in [
            &b""[..],
            b"WAIT #1: nam='log file sync' ela= 500 tim=1000\n",
            b"\x1f\x8b\x08",
        ] {
            if input == unopened && !begun.is_empty() {
                continue;
            }
            let mut command = place.command(&["import", input]);
            let mut child = command.stdin(Stdio::piped()).spawn().expect("starts");
            let mut stdin = child.stdin.take().expect("piped");
            if input == "-" {
                stdin.write_all(begun).expect("a pipe");
            } else if input == pipe {
                (&held).write_all(begun).expect("a pipe");
            }
            let running = Running::of(child, format!("import {input}"));
            std::thread::sleep(Duration::from_millis(500));
            running.signal(Signal::INT);
            let asked = Instant::now();
            let done = within(running, Duration::from_secs(15));
            done.expect(130, &["interrupted"]);
            assert!(
                asked.elapsed() < Duration::from_secs(3),
                "{:?}",
                asked.elapsed()
            );
            drop(stdin);
            if input == pipe {
                drain(&pipe);
            }
        }
    }
    place.run(&["runs"]).expect(0, &["No runs"]);
}

/// Waits; after `patience` a second signal ends what one did not.
fn within(running: Running, patience: Duration) -> Done {
    let pid = running.pid();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        if ended.recv_timeout(patience).is_err() {
            let pid = i32::try_from(pid)
                .ok()
                .and_then(rustix::process::Pid::from_raw);
            let _ = rustix::process::kill_process(pid.expect("a pid"), Signal::INT);
        }
    });
    let done = running.wait();
    let _ = end.send(());
    watch.join().expect("a watcher");
    done
}

/// Takes what is left in a FIFO.
fn drain(pipe: &str) {
    use std::io::Read;
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
    let fd = rustix::fs::open(pipe, flags, rustix::fs::Mode::empty()).expect("opens");
    let mut rest = Vec::new();
    // It ends with "would block".
    let _ = fs::File::from(fd).read_to_end(&mut rest);
}

#[test]
fn an_import_reads_pipes() {
    let place = Place::new();
    let pipe = fifo(&place, "pipe");
    let line = "WAIT #1: nam='log file sync' ela= 500 buffer#=1 sync scn=2 p3=0 obj#=-1 tim=1000\n";
    let text = line.repeat(50_000);
    for input in ["-", pipe.as_str()] {
        let mut command = place.command(&["import", input, "--format", "json", "-q"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("starts");
        let mut to: Box<dyn Write> = match input {
            "-" => Box::new(child.stdin.take().expect("piped")),
            _ => Box::new(
                fs::OpenOptions::new()
                    .write(true)
                    .open(&pipe)
                    .expect("opens"),
            ),
        };
        let running = Running::of(child, format!("import {input}"));
        to.write_all(text.as_bytes()).expect("a pipe");
        drop(to);
        let json = running.wait().expect(0, &[]).json();
        assert_eq!(json["rows"][0]["waits"]["log_file_sync"]["count"], 50_000);
    }
}

/// What no run may be called, since it names another run each time.
#[test]
fn no_run_is_called_last() {
    let place = Place::new();
    let id = place.store_a_run();
    place
        .run(&["report", &id, "--format", "redolab", "-o", "a.json"])
        .expect(0, &[]);
    let path = place.path().join("a.json");
    let text = fs::read_to_string(&path).expect("written");
    for (name, word) in [
        ("last", "means the newest run"),
        ("last~1", "cannot name a run"),
    ] {
        let renamed = text.replace(&id, name);
        fs::write(&path, renamed).expect("writes");
        place.run(&["import", "a.json"]).expect(1, &[word]);
        assert_eq!(entries(&place.store), [id.as_str(), "store.json"]);
    }
    place
        .run(&["runs", "delete", "last"])
        .expect(2, &["name the run"]);
    place.run(&["runs", "show", "last"]).expect(0, &[&id]);
}

#[test]
fn a_run_whose_log_was_never_made_is_not_kept() {
    if !is_root() {
        skipped("mounting needs root");
        return;
    }
    let place = Place::new();
    let at = place.path().join("full");
    fs::create_dir(&at).expect("fresh");
    // There is room, but no directory can be made.
    let options = ["-t", "tmpfs", "-o", "size=20000m,nr_inodes=1", "tmpfs"];
    let Some(mount) = Mount::make(&options, &at) else {
        skipped("a tmpfs cannot be mounted here");
        return;
    };
    let target = mount.at.display().to_string();
    for arguments in [
        vec![
            "run",
            "--on",
            &target,
            "--log-file-size",
            "8M",
            "--allow-busy",
        ],
        vec![
            "check",
            &target,
            "--quick",
            "--log-file-size",
            "8M",
            "--allow-busy",
        ],
    ] {
        let done = place.run(&arguments);
        assert_ne!(done.code, Some(0), "{done:?}");
        assert_eq!(
            entries(&place.store),
            ["store.json"],
            "{arguments:?} {done:?}"
        );
    }
    place.run(&["runs"]).expect(0, &["No runs"]);
}

/// A run that is killed later is readable as far as it came.
#[test]
fn a_run_that_is_killed_is_readable() {
    let place = Place::new();
    let arguments = [
        "run", "--null", "--jobs", "1,2", "--time", "1s", "--warmup", "0", "-v",
    ];
    let child = place.command(&arguments).spawn().expect("starts");
    let mut running = Running::of(child, "run".to_owned());
    running.until_said("2 jobs (2/2)");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, None);
    place.run(&["runs"]).expect(0, &["incomplete"]);
    place
        .run(&["runs", "show", "last"])
        .expect(4, &["LGWR-LAT1"]);
}

#[test]
fn a_store_that_is_not_writable_names_the_option() {
    let place = Place::new();
    if is_root() {
        // Nothing is refused to root but by the kernel itself.
        place
            .run(&["runs", "--store", "/proc/none"])
            .expect(1, &["/proc/none"]);
        skipped("root may write everywhere");
        return;
    }
    place
        .run(&["runs", "--store", "/none"])
        .expect(1, &["--store DIR", "REDOLAB_STORE"]);
}

/// The most memory that a command had resident, in bytes, and its end.
fn resident(place: &Place, arguments: &[&str]) -> (u64, Done) {
    let child = place.command(arguments).spawn().expect("starts");
    let status = format!("/proc/{}/status", child.id());
    let running = Running::of(child, arguments.join(" "));
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let watch = std::thread::spawn(move || {
        let mut most = 0;
        loop {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let kib = text.lines().find_map(|l| l.strip_prefix("VmHWM:"));
            let kib = kib.and_then(|l| l.trim().trim_end_matches(" kB").parse::<u64>().ok());
            most = most.max(kib.unwrap_or(0) << 10);
            let next = ended.recv_timeout(Duration::from_millis(2));
            if next != Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                return most;
            }
        }
    });
    let done = running.wait();
    let _ = end.send(());
    (watch.join().expect("a watcher"), done)
}

const MEMORY_MAX: u64 = 256 << 20;

/// A text that takes many times its size in memory is refused before it does; what is accepted is
/// read by every command within the same bound.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn a_hostile_run_takes_bounded_memory() {
    let place = Place::new();
    let (id, other) = (place.store_a_run(), place.store_a_run());
    place
        .run(&["report", &id, "--format", "redolab", "-o", "a.json"])
        .expect(0, &[]);
    let path = place.path().join("a.json");
    let text = fs::read_to_string(&path).expect("written");
    let at = text.find("\"command\": [").expect("a run has a command") + 12;
    let layers = text.find("\"layers\": [").expect("a run has a stack") + 11;
    let findings = text.find("\"findings\": [").expect("a run has findings") + 13;
    let imported = text.find("\"origin\":").expect("a run has an origin");
    let rows = text.find("\"rows\": [").expect("a run has rows");
    let row = rows + text[rows..].find('{').expect("a run has a row") + 1;
    let cells = |n: usize| {
        let rows = "[0,0,0,0,0,0,0,0],".repeat(n);
        format!(
            "\"imported\":{{\"sources\":[],\"series\":[],\"tables\":[{{\"id\":\"t\",\"title\":\"t\",\
             \"file\":\"\",\"line\":null,\"columns\":[],\"rows\":[{}[]]}}]}},",
            rows
        )
    };
    let finding = "{\"id\":\"\",\"weight\":\"info\",\"claim\":\"\",\"numbers\":[],\"threshold\":\"\",\
                   \"source\":\"\",\"advice\":\"\"},";
    let layer = "{\"kind\":\"disk\",\"name\":\"\"},";
    // Each was accepted once, and took over 256 MiB then or later.
    let hostile: [(&str, usize, String, bool); 7] = [
        ("fields of a row", row, "\"u\":0,".repeat(2_900_000), false),
        ("many strings", at, "\"\",".repeat(7 << 20), false),
        (
            "a long string",
            at,
            format!("\"{}\",", "x".repeat(66 << 20)),
            false,
        ),
        ("many layers", layers, layer.repeat(600_000), false),
        ("strings", at, "\"\",".repeat(800_000), true),
        ("findings", findings, finding.repeat(70_000), true),
        ("cells", imported, cells(150_000), true),
    ];
    // One of each kind in a check, all with this variable set (`cargo xtask prove hostile-runs`).
    let all = std::env::var_os("REDOLAB_HOSTILE_RUNS").is_some();
    let few = ["fields of a row", "many strings", "strings"];
    let chosen = hostile.into_iter();
    for (what, place_of, insert, accepted) in chosen.filter(|(what, ..)| all || few.contains(what))
    {
        let list = place_of != imported;
        let (before, after) = text.split_at(place_of);
        let after = if list && after.trim_start().starts_with(']') {
            (insert.trim_end_matches(',').to_owned(), after)
        } else {
            (insert, after)
        };
        let hostile = format!("{before}{}{}", after.0, after.1);
        fs::write(&path, hostile).expect("there is room");
        place.run(&["runs", "delete", &id]);
        let (most, done) = resident(&place, &["import", "a.json"]);
        println!("{what}: load {:?} {} MiB", done.code, most >> 20);
        assert!(most < MEMORY_MAX, "{what}: {} MiB", most >> 20);
        assert_eq!(done.code == Some(0), accepted, "{what}: {}", done.err);
        let listed = place.run(&["runs"]);
        assert!(!listed.out.contains("damaged"), "{what}: {}", listed.out);
        assert_eq!(listed.out.contains(&id), accepted, "{what}: {}", listed.out);
        let mut readers = vec![vec!["compare", "a.json", &other]];
        if accepted {
            readers.extend([
                vec!["runs", "show", &id],
                vec!["runs", "show", &id, "--format", "json", "-o", "/dev/null"],
                vec!["runs", "show", &id, "--format", "csv", "-o", "/dev/null"],
                vec!["report", &id, "--format", "redolab", "-o", "/dev/null"],
                vec!["report", &id, "-o", "/dev/null"],
                vec!["compare", &id, &other, "-o", "/dev/null"],
                vec![
                    "compare",
                    &id,
                    &other,
                    "--report",
                    "/dev/null",
                    "-o",
                    "/dev/null",
                ],
            ]);
        }
        for arguments in readers {
            let (most, done) = resident(&place, &arguments);
            println!("{what}: {arguments:?} {:?} {} MiB", done.code, most >> 20);
            assert!(
                most < MEMORY_MAX,
                "{what} {arguments:?}: {} MiB",
                most >> 20
            );
            assert!(done.code.is_some(), "{what} {arguments:?}: {done:?}");
        }
    }
}

/// Files of empty packed members end in time that fits their size.
#[test]
fn empty_members_cost_little_time() {
    let place = Place::new();
    let make = |packer: &str| {
        let packed = Command::new(packer)
            .arg("-c")
            .stdin(Stdio::null())
            .output()
            .ok()?;
        packed.status.success().then_some(packed.stdout)
    };
    for packer in ["bzip2", "gzip", "xz", "zstd"] {
        let Some(empty) = make(packer) else {
            skipped(&format!("{packer} is not here"));
            continue;
        };
        let many = empty.repeat((1_400 << 10) / empty.len());
        let name = format!("many.{packer}");
        fs::write(place.path().join(&name), many).expect("writes");
        let begun = Instant::now();
        let done = place.run(&["import", &name]);
        assert_ne!(done.code, Some(0), "{packer}");
        assert!(
            done.err.contains("packed members"),
            "{packer}: {}",
            done.err
        );
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(6), "{packer} took {took:?}");
    }
}
