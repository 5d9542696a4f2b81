//! A write is in flight when its process is killed, and is carried out after the next process has
//! opened the log, if that can. Made once as the engine is, and once with the lock left out of the
//! ring, which must lose. Also what the kernel itself does: whether a flush passes a write in
//! flight.

use crate::common::{SMALL, Scratch, options};
use crate::fences::{RINGS, WORKERS};
use crate::held::{Life, PATIENCE, Way, as_it_is, files_are_served, new_log, read_all};
use crate::program::done;
use crate::shelf::{Asked, Shelf};
use crate::{alone, here};
use device::raw::RawDevice;
use device::{FileSet, LogDevice, SyncMethod};
use redo::planted::Bug;
use redo::{Log, LogWriter};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for a process that does wrong to be seen at it.
const MOMENT: Duration = Duration::from_millis(500);

/// What came of a process that was killed with a write in flight, and of the next.
#[derive(Debug, PartialEq, Eq)]
struct Late {
    /// The killed process left the system while its write was in flight.
    gone: bool,
    /// The next one opened the log while the write was in flight.
    opened_beside: bool,
    /// It was refused instead of waiting for that write, and was started again.
    refused: bool,
    /// Its acknowledged commit is there in the end.
    there: bool,
}

/// On files.
fn late_write(way: Way) -> Result<Late, String> {
    let shelf = new_log("late", true)?;
    late_write_at(&shelf, shelf.at(), way, &|| as_it_is(&shelf))
}

/// Of the log at `place`, which lies on the shelf; `found` recovers it from what the shelf holds.
fn late_write_at(
    shelf: &Shelf,
    place: &Path,
    way: Way,
    found: &dyn Fn() -> Result<Vec<u32>, String>,
) -> Result<Late, String> {
    let mut first = Life::start(place, way);
    first.says("open", PATIENCE)?;
    first.commits(0)?;
    shelf.hold(|_, asked| asked == Asked::Write);
    first.commit(1);
    let late = shelf.await_held(1, PATIENCE)?[0].unique;
    first.kill();
    let gone = first.is_gone(4 * MOMENT);
    shelf.hold_no_more();
    let mut second = Life::start(place, way);
    let opened_beside = second.says("open", 4 * MOMENT).is_ok();
    let mut refused = false;
    if opened_beside {
        second.commits(2)?;
        shelf.release(late);
        std::thread::sleep(MOMENT);
    } else {
        shelf.release(late);
        refused = second.says("open", 4 * MOMENT).is_err();
        if refused {
            second = Life::start(place, way);
            second.says("open", PATIENCE)?;
        }
        second.commits(2)?;
    }
    let there = found().is_ok_and(|found| found.contains(&2));
    Ok(Late {
        gone,
        opened_beside,
        refused,
        there,
    })
}

#[test]
fn a_write_of_a_killed_process_never_lands_in_the_next_ones_redo() {
    let _alone = alone();
    if !files_are_served() {
        return;
    }
    let threads = Way {
        writer: LogWriter::Inline,
        ..WORKERS
    };
    for way in [RINGS, threads, WORKERS] {
        let late = late_write(way).unwrap_or_else(|what| panic!("{way:?}: {what}"));
        println!("{}, {}: {late:?}", way.io.name(), way.writer);
        let waited = !late.opened_beside && !late.refused;
        assert!(late.there && waited, "{way:?}: {late:?}");
    }
    let planted = Some(Bug::LockLeavesRing);
    let late = late_write(Way { planted, ..RINGS }).expect("as before");
    println!("without the lock in the ring: {late:?}");
    assert!(
        !late.there,
        "the fence was removed and nothing was lost: {late:?}"
    );
}

/// A disk that a log on a raw device takes.
const DISK_BYTES: u64 = 4 << 20;

#[test]
fn a_write_of_a_killed_process_never_lands_in_the_next_ones_redo_on_a_raw_device() {
    let _alone = alone();
    if !files_are_served() {
        return;
    }
    for (planted, fate) in [(None, true), (Some(Bug::LockLeavesRing), false)] {
        let Some((shelf, device)) = here("a raw device", raw_log()) else {
            return;
        };
        let found = || raw_as_it_is(&shelf);
        let late = late_write_at(
            &shelf,
            Path::new(&device.0),
            Way { planted, ..RINGS },
            &found,
        );
        shelf.release_all();
        let late = late.unwrap_or_else(|what| panic!("{planted:?}: {what}"));
        println!("raw device, {planted:?}: {late:?}");
        assert_eq!(late.there, fate, "{planted:?}: {late:?}");
        assert_eq!(late.opened_beside, !fate, "{planted:?}: {late:?}");
    }
}

/// A new log on a loop device that writes directly to a shelf. It is made elsewhere, since this
/// process must not wait for its own answers.
fn raw_log() -> Result<(Shelf, Loop), String> {
    let scratch = Scratch::new();
    let image = scratch.0.join("disk");
    let file = std::fs::File::create(&image).map_err(|e| e.to_string())?;
    file.set_len(DISK_BYTES).map_err(|e| e.to_string())?;
    let text = image.display().to_string();
    let first = Loop(
        done("losetup", &["--find", "--show", &text])?
            .trim()
            .to_owned(),
    );
    let path = Path::new(&first.0);
    let made = || -> Result<(), redo::Error> {
        let look = RawDevice::at(path)?;
        let consent = look
            .consent(Some(path))
            .map_err(device::DeviceError::from)?;
        let cleared = look.hold()?.clear(&consent)?;
        crate::common::create_with(cleared, SMALL, &|_, _| {}, &|| false)
    };
    made().map_err(|e| e.to_string())?;
    drop(first);
    let shelf = Shelf::make("raw", &[image], true)?;
    let device = Loop::direct(&shelf.at().join("disk"))?;
    Ok((shelf, device))
}

/// Recovers the raw log from what the shelf holds.
fn raw_as_it_is(shelf: &Shelf) -> Result<Vec<u32>, String> {
    let scratch = Scratch::new();
    shelf.copy(&scratch.0).map_err(|e| e.to_string())?;
    let path = scratch.0.join("disk");
    let set = FileSet::open(
        std::slice::from_ref(&path),
        DISK_BYTES,
        SyncMethod::Buffered,
    );
    let space: Arc<dyn LogDevice> = Arc::new(set.map_err(|e| e.to_string())?);
    read_all(
        Log::builder(redo::Layout::space(space, &path))
            .options(options())
            .open(),
    )
}

/// What is known of the layer between a file system and this one: whether a flush passes a write
/// that is in flight. Where it does, so must the engine be right without its help.
#[test]
fn a_flush_passes_a_write_in_flight_below_a_loop_device() {
    let _alone = alone();
    if !files_are_served() {
        return;
    }
    let answer = flush_passes_a_write_below_a_loop_device();
    let Some(passes) = here("a loop device that writes directly", answer) else {
        return;
    };
    assert!(
        passes,
        "the block layer waits: docs/decisions says otherwise"
    );
}

fn flush_passes_a_write_below_a_loop_device() -> Result<bool, String> {
    let scratch = Scratch::new();
    let image = scratch.0.join("disk");
    std::fs::write(&image, vec![0; 4 << 20]).map_err(|e| e.to_string())?;
    let shelf = Shelf::make("loop", &[image], true)?;
    let disk = shelf.at().join("disk");
    let device = Loop::direct(&disk)?;
    shelf.hold(|_, asked| asked == Asked::Write);
    let to = format!("of={}", device.0);
    let write = [
        "if=/dev/zero",
        to.as_str(),
        "oflag=direct",
        "bs=4096",
        "count=1",
    ];
    let mut writing = std::process::Command::new("dd")
        .args(write)
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let held = shelf.await_held(1, PATIENCE);
    let before = shelf.syncs(0);
    let mut flushing = std::process::Command::new("dd")
        .args(["if=/dev/null", to.as_str(), "conv=fsync,notrunc", "count=0"])
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(|e| e.to_string())?;
    let mut passes = false;
    for _ in 0..100 {
        passes |= shelf.syncs(0) > before;
        if passes {
            break;
        }
        std::thread::sleep(MOMENT / 25);
    }
    let in_flight = matches!(writing.try_wait(), Ok(None));
    shelf.release_all();
    drop((writing.wait(), flushing.wait()));
    held.map(|_| passes && in_flight)
}

/// Detached when it is dropped.
struct Loop(String);

impl Loop {
    /// One that hands on direct writes as they come.
    fn direct(file: &Path) -> Result<Loop, String> {
        let file = file.display().to_string();
        let made = done("losetup", &["--direct-io=on", "--find", "--show", &file])?;
        Ok(Loop(made.trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if let Err(why) = done("losetup", &["--detach", &self.0]) {
            eprintln!("{} stays attached: {why}", self.0);
        }
    }
}
