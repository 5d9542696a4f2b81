//! Events of a run: what is written is read back, and what was damaged says so.

use crate::common::{full_run, histogram};
use measure::workload::split_mix;
use redolab::store::events::{
    Chunk, EventColumn, EventKind, Query, RowFacts, SyncEvent, WriteEvent,
};
use redolab::store::{Store, StoreError};
use std::path::{Path, PathBuf};

const UTC_AT_ZERO_NS: i64 = 1_795_190_400_123_456_789;

fn syncs(seed: u64, count: u64) -> Vec<SyncEvent> {
    let mut state = seed;
    let mut start_ns = 5_000_000;
    let event = |i: u64| {
        let word = split_mix(&mut state);
        start_ns += word % 7_000;
        let parts = [word % 100_000, word >> 44, word % 77, word % 20_000];
        let joined = !word.is_multiple_of(10);
        SyncEvent {
            start_ns,
            latency_ns: parts.iter().sum(),
            transaction_ns: parts.iter().sum::<u64>() + word % 1000,
            parts_ns: joined.then_some(parts),
            batch: joined.then_some(i / 3),
            session: (word % 64) as u32,
        }
    };
    (0..count).map(event).collect()
}

fn writes(seed: u64, count: u64) -> Vec<WriteEvent> {
    let mut state = seed;
    let event = |i: u64| {
        let word = split_mix(&mut state);
        WriteEvent {
            start_ns: 5_000_000 + i * 12_345,
            write_ns: word >> 40,
            flush_ns: word % 90_000,
            batch: i,
            commits: (word % 64) as u32,
            redo_bytes: (word % 1_000_000) as u32,
            blocks: (word % 2000) as u32,
            writes: 1 + (word % 2) as u32,
            flushes: (word % 2) as u32,
            log_seq: 3 + i / 100,
            log_switch: i.is_multiple_of(100),
            checkpoint_wait_ns: word % 3,
            group_wait_ns: word % 5,
            worker: (!word.is_multiple_of(3)).then_some((word % 8) as u16),
        }
    };
    (0..count).map(event).collect()
}

fn facts(row: u32) -> RowFacts {
    RowFacts {
        row,
        workload: "LGWR-LAT1".to_owned(),
        jobs: 64,
        utc_at_zero_ns: UTC_AT_ZERO_NS,
    }
}

/// A run `a` with the events of two rows, finished or as a kill leaves it.
fn store_with(dir: &Path, counts: (u64, u64), finished: bool) -> Store {
    let store = Store::open(dir).expect("opens");
    let mut run = store.begin("a").expect("begins");
    let mut events = run.begin_events().expect("a folder");
    for row in [1, 2] {
        events.begin_row(facts(row));
        for some in syncs(u64::from(row), counts.0).chunks(4096) {
            events.syncs(some);
        }
        events.writes(&writes(u64::from(row), counts.1));
        let written = events.end_row().expect("stored");
        assert_eq!((written.syncs, written.writes), counts);
    }
    if finished {
        run.end_events(events).expect("stored");
        run.finish(&full_run("a", &histogram(1, 100)))
            .expect("finishes");
    }
    store
}

fn all(event: Option<EventKind>, row: Option<u32>) -> Query {
    let text = |c: &EventColumn| matches!(c, EventColumn::Event | EventColumn::Workload);
    Query {
        event,
        row,
        columns: EventColumn::ALL.into_iter().filter(|c| !text(c)).collect(),
    }
}

fn read(store: &Store, query: Query) -> Result<Vec<Chunk>, StoreError> {
    store.events("a", query)?.collect()
}

fn parts(dir: &Path) -> Vec<PathBuf> {
    let folder = std::fs::read_dir(dir.join("a/events")).expect("lists");
    let mut paths: Vec<PathBuf> = folder.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn events_are_read_back_as_they_were_recorded() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    // More than a chunk, and more than a part of log file syncs.
    let counts = (300_000, 70_000);
    let store = store_with(dir.path(), counts, true);
    assert_eq!(parts(dir.path()).len(), 6);
    let chunks = read(&store, all(Some(EventKind::LogFileSync), Some(2))).expect("reads");
    let column = |c: EventColumn| {
        chunks
            .iter()
            .flat_map(move |chunk| chunk.column(c).to_vec())
    };
    let mut latency = column(EventColumn::LatencyNs);
    let (mut queue, mut wake) = (column(EventColumn::QueueNs), column(EventColumn::WakeNs));
    let (mut us, mut extra) = (
        column(EventColumn::StartUtcUs),
        column(EventColumn::StartExtraNs),
    );
    let (mut batch, mut commits) = (column(EventColumn::Batch), column(EventColumn::Commits));
    for event in syncs(2, counts.0) {
        let figure = |value: u64| Some(Some(value as i64));
        assert_eq!(latency.next(), figure(event.latency_ns));
        let part = |index: usize| Some(event.parts_ns.map(|p| p[index] as i64));
        assert_eq!((queue.next(), wake.next()), (part(0), part(3)));
        let utc_ns =
            us.next().flatten().expect("a start") * 1000 + extra.next().flatten().expect("a start");
        assert_eq!(utc_ns, UTC_AT_ZERO_NS + event.start_ns as i64);
        assert_eq!(batch.next(), Some(event.batch.map(|b| b as i64)));
        assert_eq!(commits.next(), Some(None), "no figure is null, not zero");
    }
    assert_eq!(latency.next(), None);

    let chunks = read(&store, all(Some(EventKind::LogFileParallelWrite), None)).expect("reads");
    assert!(chunks.iter().all(|c| c.events <= 65_536));
    let both: Vec<WriteEvent> = writes(1, counts.1)
        .into_iter()
        .chain(writes(2, counts.1))
        .collect();
    for (column, figure) in [
        (
            EventColumn::LatencyNs,
            &(|e: &WriteEvent| Some(e.write_ns + e.flush_ns)) as &dyn Fn(&_) -> _,
        ),
        (EventColumn::RedoBytes, &|e: &WriteEvent| {
            Some(u64::from(e.redo_bytes))
        }),
        (EventColumn::LogSwitch, &|e: &WriteEvent| {
            Some(u64::from(e.log_switch))
        }),
        (EventColumn::Worker, &|e: &WriteEvent| {
            e.worker.map(u64::from)
        }),
        (EventColumn::Session, &|_: &WriteEvent| None),
    ] {
        let found = chunks
            .iter()
            .flat_map(|chunk| chunk.column(column).to_vec());
        assert!(
            found.eq(both.iter().map(|e| figure(e).map(|v| v as i64))),
            "{}",
            column.name()
        );
    }
    let rows: Vec<u32> = chunks.iter().map(|c| c.row).collect();
    assert_eq!(rows, [1, 1, 2, 2]);
}

#[test]
fn a_finished_run_whose_events_are_not_what_was_written_says_so() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = store_with(dir.path(), (5000, 500), true);
    let part = parts(dir.path()).pop().expect("a part");
    let whole = std::fs::read(&part).expect("reads");
    for length in [0, 3, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&part, &whole[..length]).expect("writes");
        let error = read(&store, all(None, None)).expect_err("cut");
        assert!(
            matches!(error, StoreError::CutShort { .. }),
            "{length}: {error}"
        );
        assert!(
            error.to_string().contains("log_file_sync-002-00001"),
            "{error}"
        );
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 3] ^= 4;
    std::fs::write(&part, &flipped).expect("writes");
    let error = read(&store, all(None, None)).expect_err("another");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    std::fs::remove_file(&part).expect("removes");
    let error = read(&store, all(None, None)).expect_err("missing");
    assert!(error.to_string().contains("missing"), "{error}");
    store
        .delete("a")
        .expect("a folder of events goes with its run");
    assert!(!dir.path().join("a").exists());
}

#[test]
fn a_killed_run_is_readable_up_to_its_last_whole_part() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = store_with(dir.path(), (5000, 500), false);
    let part = parts(dir.path()).pop().expect("a part");
    let whole = std::fs::read(&part).expect("reads");
    let seed = std::env::var("REDOLAB_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let mut state = seed.unwrap_or(7_u64);
    println!("REDOLAB_SEED={state}");
    let count = |reader: &mut redolab::store::events::EventReader| -> usize {
        let events = reader.map(|c| c.expect("an unfinished run loses a part, not all").events);
        events.sum()
    };
    assert_eq!(
        count(&mut store.events("a", all(None, None)).expect("reads")),
        11_000
    );
    for _ in 0..200 {
        let word = split_mix(&mut state);
        let at = (word >> 8) as usize % whole.len();
        let mut bytes = whole.clone();
        let cut = word & 1 == 0;
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= 1 << (word >> 1 & 7);
        }
        std::fs::write(&part, &bytes).expect("writes");
        let mut reader = store.events("a", all(None, None)).expect("reads");
        let found = count(&mut reader);
        assert!((6000..=11_000).contains(&found), "{found} events, at {at}");
        if cut {
            assert_eq!((found, reader.cut().len()), (6000, 1), "cut at {at}");
        }
    }
}

#[test]
fn a_run_without_events_says_how_to_get_them() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(dir.path()).expect("opens");
    let run = store.begin("a").expect("begins");
    let killed = store.events("a", all(None, None)).err().expect("none");
    assert!(matches!(killed, StoreError::NoEvents { .. }), "{killed}");
    run.finish(&full_run("a", &histogram(1, 100)))
        .expect("finishes");
    let finished = store.events("a", all(None, None)).err().expect("none");
    assert!(finished.to_string().contains("--events"), "{finished}");
    let missing = store.events("b", all(None, None)).err().expect("none");
    assert!(matches!(missing, StoreError::NoSuchRun { .. }), "{missing}");
}
