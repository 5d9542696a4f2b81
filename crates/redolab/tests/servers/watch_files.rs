//! `redolab watch` on log files of ext4 and XFS on loop devices: what the embedded log and fio
//! wrote and flushed is what was seen, however they did it; and what a kill leaves behind is
//! removed by the next start.
//!
//! `REDOLAB_WATCH_KILLS` sets how many kills (`cargo xtask prove watched`).

use crate::harness::{LoopVolume, Place, done, entries, skipped};
use crate::turn::InTurn;
use crate::watch::{begin, can_watch, ended, instances, whole};
use redo::{CommitMode, Log, LogWriter, Options, Shape, SyncMethod};
use rustix::process::Signal;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const KINDS: [&str; 2] = ["ext4", "xfs"];
/// Commits of a run.
const COMMITS: usize = 300;

/// A file system of that kind in which a folder is, while it is this test's turn.
fn volume(kind: &str) -> Option<InTurn<LoopVolume>> {
    can_watch().then_some(())?;
    InTurn::of(|| LoopVolume::make(kind, 1, 512))
}

fn count(value: &Value) -> u64 {
    value
        .as_u64()
        .unwrap_or_else(|| panic!("{value} is a count"))
}

/// What the log itself counted: writes, flushes, bytes, and the time of its log writes.
#[derive(Default)]
struct OwnCounts([AtomicU64; 4]);

impl OwnCounts {
    fn add(&self, write: &redo::engine::LogWrite) {
        let took = write.stations.durable_ns - write.stations.submitted_ns;
        let blocks = u64::from(write.blocks) * 4096;
        let counts = [
            u64::from(write.writes),
            u64::from(write.flushes),
            blocks,
            took,
        ];
        for (sum, part) in self.0.iter().zip(counts) {
            sum.fetch_add(part, Ordering::SeqCst);
        }
    }

    fn get(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|at: usize| self.0[at].load(Ordering::SeqCst))
    }
}

/// The embedded log on a file system, watched by its files while it commits: the run, and what the
/// log counted.
fn watch_embedded(
    kind: &str,
    method: SyncMethod,
    io: device::IoEngine,
) -> Option<(Value, [u64; 4])> {
    let volume = volume(kind)?;
    let directory = volume.path().join("log");
    std::fs::create_dir(&directory).expect("made");
    let shape = Shape::new()
        .block_bytes(Some(4096))
        .groups(2)
        .file_bytes(64 << 20);
    Log::builder(&directory)
        .shape(shape)
        .create()
        .expect("a log");
    let own = Arc::new(OwnCounts::default());
    let options = Options::default()
        .sync_method(method)
        .io(io)
        .log_writer(LogWriter::Lgwr)
        .observer({
            let own = Arc::clone(&own);
            move |write| own.add(write)
        });
    let (log, recovery) = Log::builder(&directory)
        .options(options)
        .open()
        .expect("opens");
    drop(recovery);
    let place = Place::new();
    let files = entries(&directory)
        .into_iter()
        .filter(|name| name.ends_with(".log"));
    let files: Vec<String> = files
        .map(|n| directory.join(n).display().to_string())
        .collect();
    let mut arguments: Vec<&str> = Vec::new();
    for file in &files {
        arguments.extend(["--file", file]);
    }
    let watching = begin(&place, &arguments);
    let before = own.get();
    let mut session = log.session();
    for number in 0..COMMITS {
        session.append(&[&[number as u8; 700]]).expect("appended");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
    }
    drop(session);
    let run = ended(watching);
    let after = own.get();
    log.close().expect("closes");
    Some((run, [0, 1, 2, 3].map(|at: usize| after[at] - before[at])))
}

#[test]
fn the_embedded_log_is_seen_as_it_counts_itself() {
    use device::IoEngine::{IoUring, Threads};
    for kind in KINDS {
        for (method, io) in [
            (SyncMethod::Buffered, Threads),
            (SyncMethod::Direct, Threads),
            (SyncMethod::DirectDsync, Threads),
            (SyncMethod::Dsync, Threads),
            (SyncMethod::Direct, IoUring),
        ] {
            let Some((run, own)) = whole(|| watch_embedded(kind, method, io)) else {
                return;
            };
            let (row, watched) = (&run["rows"][0], &run["rows"][0]["watched"]);
            let name = format!("{kind}, {method}, {io:?}");
            let wait = &row["waits"]["log_file_parallel_write"];
            let seen = [
                &watched["write_calls"],
                &row["flushes"],
                &watched["written_bytes"],
                &wait["total_ns"],
            ];
            let [.., took] = seen.map(count);
            assert_eq!(
                seen.map(count)[..3],
                own[..3],
                "{name}: writes, flushes, bytes"
            );
            // The kernel's part of a log write lies within what the log measures of it.
            assert!(
                took <= own[3] && took > own[3] / 20,
                "{name}: {took} of {} ns",
                own[3]
            );
            assert!(
                count(&watched["device_bytes"]) >= own[2],
                "{name}: {watched}"
            );
        }
    }
}

/// fio writes a file with these options while it is watched: the run, and the writes that fio
/// counted.
fn watch_fio(directory: &Path, options: &[&str]) -> Option<(Value, u64)> {
    let path = directory.join("redo01.log");
    std::fs::write(&path, vec![7; 4 << 20]).expect("written");
    std::fs::File::open(&path)
        .and_then(|file| file.sync_all())
        .expect("flushed");
    let place = Place::new();
    let shown = path.display().to_string();
    let watching = begin(&place, &["--file", &shown]);
    let file = format!("--filename={shown}");
    let fixed = [
        "--name=a",
        &file,
        "--rw=write",
        "--bs=4k",
        "--size=1M",
        "--invalidate=0",
    ];
    let all = [
        &fixed[..],
        &["--overwrite=1", "--output-format=json"],
        options,
    ]
    .concat();
    let text = done("fio", &all).expect("fio runs");
    let run = ended(watching);
    let text = text
        .get(text.find('{').expect("JSON")..)
        .expect("from there");
    let json: Value = serde_json::from_str(text).expect("JSON");
    let job = &json["jobs"][0];
    Some((run, count(&job["write"]["total_ios"])))
}

#[test]
fn what_fio_writes_is_what_is_seen() {
    if done("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    for kind in KINDS {
        let Some(volume) = volume(kind) else { return };
        for options in [
            &["--ioengine=psync", "--fdatasync=1"][..],
            &["--ioengine=pvsync2", "--fsync=4"],
            &["--ioengine=psync", "--sync=dsync"],
            &["--ioengine=psync", "--direct=1", "--sync=dsync"],
            &[
                "--ioengine=libaio",
                "--direct=1",
                "--iodepth=4",
                "--fdatasync=8",
            ],
            &[
                "--ioengine=libaio",
                "--direct=1",
                "--iodepth=4",
                "--sync=dsync",
            ],
            &[
                "--ioengine=io_uring",
                "--direct=1",
                "--iodepth=1",
                "--fdatasync=8",
            ],
        ] {
            let Some((run, writes)) = whole(|| watch_fio(volume.path(), options)) else {
                return;
            };
            let (row, watched) = (&run["rows"][0], &run["rows"][0]["watched"]);
            let name = format!("{kind} {options:?}: {watched}");
            assert_eq!(count(&watched["write_calls"]), writes, "{name}");
            let is_durable = options.contains(&"--sync=dsync");
            if is_durable {
                assert_eq!(count(&watched["log_writes"]), writes, "{name}");
            } else {
                // fio flushes after so many writes, but not after the last one; it does not count
                // the flushes of every engine.
                let every = options.iter().find_map(|option| option.split_once("sync="));
                let every: u64 = every.and_then(|(_, n)| n.parse().ok()).expect("a number");
                let seen = count(&row["flushes"]) + count(&watched["other_flushes"]);
                assert_eq!(seen, (writes - 1) / every, "{name}");
            }
        }
    }
}

#[test]
fn a_kill_leaves_nothing_after_the_next_start() {
    if !can_watch() {
        return;
    }
    let kills = std::env::var("REDOLAB_WATCH_KILLS").ok();
    let kills = kills.map_or(3, |n| n.parse().expect("REDOLAB_WATCH_KILLS is a number"));
    let Some(place) = InTurn::of(|| Some(Place::new())) else {
        return;
    };
    let path = place.path().join("redo01.log");
    std::fs::write(&path, [7; 4096]).expect("written");
    let shown = path.display().to_string();
    for _ in 0..kills {
        let watching = begin(&place, &["--file", &shown]);
        let own = format!("redolab-{}-", watching.pid());
        let there = instances();
        assert!(there.iter().any(|name| name.starts_with(&own)), "{there:?}");
        watching.signal(Signal::KILL);
        drop(watching);
        let left = instances();
        assert!(left.iter().any(|name| name.starts_with(&own)), "{left:?}");
        let watch = ["watch", "--file", &shown, "--time", "100ms"];
        // Nothing was written, so the run is invalid.
        place.run(&watch).expect(4, &["no log write was seen"]);
        let after = instances();
        assert!(
            !after.iter().any(|name| name.starts_with(&own)),
            "{after:?}"
        );
    }
    // A living one is left alone by the next.
    let living = begin(&place, &["--file", &shown]);
    let own = format!("redolab-{}-", living.pid());
    place
        .run(&["watch", "--file", &shown, "--time", "100ms"])
        .expect(4, &[]);
    assert!(instances().iter().any(|name| name.starts_with(&own)));
    living.signal(Signal::INT);
    living.wait();
    assert!(!instances().iter().any(|name| name.starts_with(&own)));
}

#[test]
fn what_cannot_be_watched_is_refused_with_what_to_do() {
    let place = Place::new();
    for (arguments, word) in [
        (&["watch"][..], "name whose log to watch"),
        (&["watch", "--pid", "4194999"], "no such process"),
        (
            &["watch", "--database", "oracle"],
            "--database: use postgres, mariadb",
        ),
        (
            &["watch", "--pid", "1", "--file", "x"],
            "cannot be used with",
        ),
        (&["watch", "--file", "not-there"], "not-there: No such file"),
        (&["watch", "--file", "."], "not a regular file"),
        (
            &["watch", "--file", "/proc/self/status"],
            "other than ext4 and XFS",
        ),
        (&["watch", "--file", "x", "--time", "5"], "--time"),
    ] {
        place.run(arguments).expect(2, &[word]);
    }
}
