//! Devices that others use: refused, unless the user insists.

use crate::harness::{LoopVolume, Place, QUICK, tmpfs};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// `check` without `--allow-busy`.
fn careful(place: &Place, target: &std::path::Path) -> crate::harness::Done {
    let target = target.display().to_string();
    let quick: Vec<&str> = QUICK.into_iter().filter(|a| *a != "--allow-busy").collect();
    place.run(&[&["check", target.as_str(), "--no-report"], quick.as_slice()].concat())
}

#[test]
fn a_device_that_another_process_writes_to_is_left_alone() {
    let Some(volume) = LoopVolume::make("ext4", 8, 512) else {
        return;
    };
    let place = Place::new();
    let target = volume.path().join("target");
    std::fs::create_dir(&target).expect("creates");
    let (stop, writes) = (AtomicBool::new(false), AtomicU32::new(0));
    let done = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::create(volume.path().join("others")).expect("creates");
            while !stop.load(Ordering::SeqCst) {
                file.write_all_at(&[1; 256 << 10], 0).expect("writes");
                file.sync_all().expect("flushes");
                writes.fetch_add(1, Ordering::SeqCst);
            }
        });
        while writes.load(Ordering::SeqCst) < 2 {
            std::thread::yield_now();
        }
        let done = careful(&place, &target);
        stop.store(true, Ordering::SeqCst);
        done
    });
    done.expect(2, &["% busy with work of other processes", "--allow-busy"]);
    place.expect_clean(&target);
    place.run(&["runs"]).expect(0, &["No runs in"]);
}

#[test]
fn a_volume_that_holds_a_databases_log_is_left_alone() {
    let place = Place::new();
    let Some(mount) = tmpfs(&place, 6 << 10) else {
        return;
    };
    let target = mount.at.join("target");
    let wal = mount.at.join("pg_wal");
    std::fs::create_dir(&target).expect("creates");
    std::fs::create_dir(&wal).expect("creates");
    let segment = wal.join("000000010000000000000001");
    let held = Writer::of(&segment);
    // A browser's log is open and at rest.
    let idle = File::create(mount.at.join("ukm_db-wal")).expect("creates");
    let pid = format!("(pid {})", std::process::id());
    let file = segment.display().to_string();
    let refused = careful(&place, &target);
    let must = ["another process has its log", &pid, &file, "--allow-busy"];
    refused.expect(2, &must);
    assert!(!refused.err.contains("ukm_db-wal"), "{}", refused.err);
    place.expect_clean(&target);
    // With --allow-busy it is measured, and the run says so.
    let path = target.display().to_string();
    let run = [
        "run",
        "--on",
        &path,
        "--jobs",
        "1",
        "--commits",
        "10",
        "--allow-busy",
        "--log-file-size",
        "4M",
    ];
    place
        .run(&run)
        .expect(0, &["Warning (--allow-busy)", "doubtful: busy_device"]);
    drop(held);
    place.expect_clean(&target);
    // What is only open refuses nothing, and no run is in doubt for it.
    let alone: Vec<&str> = run.into_iter().filter(|a| *a != "--allow-busy").collect();
    let done = place.run(&alone);
    done.expect(0, &[]);
    assert!(!done.err.contains("another process"), "{}", done.err);
    drop(idle);
}

/// Writes a byte of a file every few milliseconds, until it is dropped.
struct Writer {
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Writer {
    fn of(path: &std::path::Path) -> Writer {
        let file = File::create(path).expect("creates");
        let stop = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::SeqCst) {
                file.write_all_at(&[1], 0).expect("writes");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let thread = Some(thread);
        Writer { stop, thread }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let ended = self.thread.take().map(std::thread::JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()), "it wrote");
    }
}
