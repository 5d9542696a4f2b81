//! The store on a volume that fills up (RELIABILITY R10): a clear error, nothing lost, nothing
//! falsely complete, at 64 sizes.

use crate::common::{full_run, histogram};
use measure::{Histogram, Nanos};
use redolab::store::{State, Store, StoreError};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Intervals of a run: more than the smaller half of the sizes can hold.
const INTERVALS: u64 = 120;

/// A tmpfs that is unmounted whatever happens.
struct Tmpfs<'a>(&'a Path);

impl<'a> Tmpfs<'a> {
    fn mount(at: &'a Path, kib: u64) -> Option<Tmpfs<'a>> {
        let options = format!("size={kib}k,mode=0700");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .output();
        done.is_ok_and(|o| o.status.success()).then_some(Tmpfs(at))
    }
}

impl Drop for Tmpfs<'_> {
    fn drop(&mut self) {
        // Another test's child holds our descriptors for a moment, between fork and exec.
        for _ in 0..500 {
            let done = Command::new("umount").arg(self.0).output();
            if done.is_ok_and(|o| o.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        eprintln!("{} stays mounted", self.0.display());
        assert!(std::thread::panicking(), "a tmpfs stays mounted");
    }
}

/// Writes until the volume is full or all is written; returns how many intervals were accepted
/// and whether the run was finished.
fn fill(store: &Store, h: &Histogram) -> Result<(u64, bool), StoreError> {
    let mut writer = store.begin("a")?;
    for i in 0..INTERVALS {
        if let Err(e) = writer.interval("r/x", Nanos(i), Nanos(i + 1), h) {
            assert!(matches!(e, StoreError::NoSpace { .. }), "{e}");
            assert!(e.to_string().contains("--store"), "it says what to do: {e}");
            // The run goes on without room; whatever is refused must harm nothing.
            let again = writer.interval("r/x", Nanos(i), Nanos(i + 1), h);
            let refused = writer
                .finish(&full_run("a", h))
                .expect_err("an interval is lost");
            assert!(
                matches!(refused, StoreError::NotStorable { .. }),
                "{refused}"
            );
            return Ok((i + u64::from(again.is_ok()), false));
        }
    }
    match writer.finish(&full_run("a", &histogram(0, 10))) {
        Ok(()) => Ok((INTERVALS, true)),
        Err(e) => {
            assert!(matches!(e, StoreError::NoSpace { .. }), "{e}");
            Ok((INTERVALS, false))
        }
    }
}

#[test]
fn a_full_disk_costs_what_comes_after_it_and_nothing_before() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let h = histogram(1, 4_000);
    let (mut full, mut finished) = (0, 0);
    for step in 1..=64 {
        let Some(_tmpfs) = Tmpfs::mount(dir.path(), step * 4) else {
            println!("skipped: mounting a tmpfs needs root");
            return;
        };
        let opened = Store::open(dir.path()).and_then(|s| fill(&s, &h).map(|r| (s, r)));
        let (store, (accepted, done)) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                assert!(
                    matches!(e, StoreError::NoSpace { .. }),
                    "{} KiB: {e}",
                    step * 4
                );
                full += 1;
                continue;
            }
        };
        let state = store.list().expect("lists").remove(0).state;
        let read = store.load_histograms("a").expect("what is there is sound");
        let intervals = read
            .series
            .get("r/x")
            .map_or(0, |s| s.intervals.len() as u64);
        assert_eq!(intervals, accepted, "{} KiB", step * 4);
        let want = if done {
            State::Complete
        } else {
            State::Incomplete
        };
        assert_eq!(state, want, "{} KiB", step * 4);
        finished += u32::from(done);
        full += u32::from(!done);
    }
    println!("{full} sizes too small, {finished} large enough");
    assert!(
        full >= 10 && finished >= 5,
        "{full} full, {finished} finished: sizes say nothing"
    );
}
