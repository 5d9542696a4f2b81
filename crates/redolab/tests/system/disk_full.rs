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

#[test]
fn a_disk_that_fills_while_events_come_says_so_and_keeps_whole_parts() {
    use redolab::store::events::{EventColumn, Query, RowFacts, SyncEvent};
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut full = 0;
    for step in 1..=16 {
        let Some(_tmpfs) = Tmpfs::mount(dir.path(), 100 + step * 64) else {
            println!("skipped: mounting a tmpfs needs root");
            return;
        };
        let store = Store::open(dir.path()).expect("room for a marker");
        let mut run = store.begin("a").expect("room for a folder");
        let mut events = run.begin_events().expect("room for a folder");
        let (mut written, mut failure) = (0, None);
        for row in 1..=20 {
            events.begin_row(RowFacts {
                row,
                workload: "w".to_owned(),
                jobs: 1,
                utc_at_zero_ns: 0,
            });
            // Latencies that do not compress: some 30 kB a row.
            let mut state = u64::from(row);
            let some: Vec<SyncEvent> = (0..4000)
                .map(|i| SyncEvent {
                    start_ns: i,
                    latency_ns: measure::workload::split_mix(&mut state) >> 4,
                    ..SyncEvent::default()
                })
                .collect();
            events.syncs(&some);
            match events.end_row() {
                Ok(row) => written += row.syncs,
                Err(e) => failure = failure.or(Some(e)),
            }
        }
        if let Some(failure) = &failure {
            assert!(matches!(failure, StoreError::NoSpace { .. }), "{failure}");
            assert!(failure.to_string().contains("log_file_sync-"), "{failure}");
            assert!(events.has_failed());
            full += 1;
        }
        let taken = run.end_events(events);
        assert_eq!(taken.is_err(), failure.is_some(), "a hole is never hidden");
        drop(run);
        assert_eq!(
            store.list().expect("lists").remove(0).state,
            State::Incomplete
        );
        let query = Query {
            event: None,
            row: None,
            columns: vec![EventColumn::LatencyNs],
        };
        let read: u64 = match store.events("a", query) {
            Ok(events) => events.map(|c| c.expect("whole parts").events as u64).sum(),
            Err(e) => panic!("{e}"),
        };
        assert_eq!(written, read, "what was said to be written is there");
    }
    assert!((4..16).contains(&full), "{full} of 16 sizes are too small");
}
