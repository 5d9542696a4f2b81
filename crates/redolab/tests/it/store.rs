//! The run store: what is written reads back; what is damaged, cut, newer or hostile is reported.

use crate::common::{full_run, histogram};
use measure::{Histogram, Nanos};
use redolab::store::{State, Store, StoreError};
use std::fs;
use std::io::Cursor;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const SERIES: [&str; 2] = [
    "03-LGWR-LAT1-64/log_file_sync",
    "03-LGWR-LAT1-64/log_file_parallel_write",
];

fn temporary() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(&dir.path().join("store")).expect("opens");
    (dir, store)
}

/// Stores a finished run of `seconds` intervals and returns its log file sync, merged.
fn stored(store: &Store, id: &str, seconds: u64) -> Histogram {
    let mut writer = store.begin(id).expect("begins");
    let mut merged = Histogram::new();
    for s in 0..seconds {
        let (from, to) = (Nanos::from_secs(s), Nanos::from_secs(s + 1));
        let h = histogram(s + 1, 20_000);
        merged.merge(&h);
        writer.interval(SERIES[0], from, to, &h).expect("appends");
        let other = histogram(s + 77, 500);
        writer
            .interval(SERIES[1], from, to, &other)
            .expect("appends");
    }
    writer.draft(&full_run(id, &merged)).expect("drafts");
    writer.finish(&full_run(id, &merged)).expect("finishes");
    merged
}

fn state(store: &Store, id: &str) -> (State, String) {
    let entries = store.list().expect("lists");
    let entry = entries.into_iter().find(|e| e.id == id).expect("is listed");
    (entry.state, entry.detail)
}

#[test]
fn percentiles_of_a_stored_run_equal_those_of_its_histograms() {
    let (_dir, store) = temporary();
    let merged = stored(&store, "a", 5);
    let run = store.load("a").expect("loads");
    assert_eq!(
        run,
        full_run("a", &merged),
        "the manifest reads back bit for bit"
    );
    let histograms = store.load_histograms("a").expect("loads");
    assert!(histograms.cut.is_empty());
    let series = &histograms.series[SERIES[0]];
    assert_eq!(series.merged.stats(), run.rows[0].waits["log_file_sync"]);
    assert_eq!(series.merged.curve(), run.rows[0].curves["log_file_sync"]);
    assert_eq!(series.merged.exact(), merged.exact());
    assert_eq!(series.intervals.len(), 5);
    assert_eq!(series.intervals[2].stats, histogram(3, 20_000).stats());
    assert_eq!(series.intervals[2].start, Nanos::from_secs(2));
    assert_eq!(histograms.series[SERIES[1]].merged.count(), 2_500);
    assert_eq!(state(&store, "a"), (State::Complete, String::new()));
}

#[test]
fn everything_is_private_and_the_draft_is_gone() {
    let (dir, store) = temporary();
    stored(&store, "a", 1);
    let mode = |path: &Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    let run = dir.path().join("store/a");
    assert_eq!(
        (mode(&dir.path().join("store")), mode(&run)),
        (0o700, 0o700)
    );
    let mut names = Vec::new();
    for entry in fs::read_dir(&run).expect("lists") {
        let entry = entry.expect("an entry");
        assert_eq!(mode(&entry.path()), 0o600, "{:?}", entry.path());
        names.push(entry.file_name().into_string().expect("UTF-8"));
    }
    names.sort();
    assert_eq!(
        names,
        ["03-LGWR-LAT1-64.hlog", "contents.json", "manifest.json"]
    );
}

#[test]
fn other_tools_read_the_interval_log() {
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let (dir, store) = temporary();
    stored(&store, "a", 3);
    let bytes = fs::read(dir.path().join("store/a/03-LGWR-LAT1-64.hlog")).expect("reads");
    let tags: Vec<String> = IntervalLogIterator::new(&bytes)
        .filter_map(|entry| match entry.expect("a sound log") {
            LogEntry::Interval(i) => i.tag().map(|t| t.as_str().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(tags.len(), 6);
    assert_eq!(tags[0], "log_file_sync");
}

#[test]
fn a_killed_run_is_readable_and_never_complete() {
    let (_dir, store) = temporary();
    let mut writer = store.begin("a").expect("begins");
    let h = histogram(1, 1000);
    writer
        .interval(SERIES[0], Nanos(0), Nanos(5), &h)
        .expect("appends");
    writer.draft(&full_run("a", &h)).expect("drafts");
    let (now, detail) = state(&store, "a");
    assert!(
        now == State::Incomplete && detail.contains("still being written"),
        "{detail}"
    );
    assert!(matches!(store.delete("a"), Err(StoreError::Running { .. })));
    drop(writer);
    let (then, detail) = state(&store, "a");
    assert!(
        then == State::Incomplete && detail.contains("ended before"),
        "{detail}"
    );
    let summary = store
        .list()
        .expect("lists")
        .remove(0)
        .summary
        .expect("a draft");
    assert_eq!(summary.workloads, ["LGWR-LAT1"]);
    assert!(matches!(
        store.load("a"),
        Err(StoreError::Incomplete { .. })
    ));
    let read = store.load_histograms("a").expect("reads");
    assert_eq!(read.series[SERIES[0]].merged.stats(), h.stats());
    store.delete("a").expect("deletes");
    assert!(store.list().expect("lists").is_empty());
}

#[test]
fn damage_is_found_and_hides_no_other_run() {
    type Harm = fn(&Path);
    let flip = |path: &Path| {
        let mut bytes = fs::read(path).expect("reads");
        let at = bytes.len() / 2;
        bytes[at] ^= 1;
        fs::write(path, bytes).expect("writes");
    };
    let harms: [(&str, State, Harm); 10] = [
        ("manifest flipped", State::Damaged, |run| {
            let path = run.join("manifest.json");
            let text = fs::read_to_string(&path).expect("reads");
            fs::write(&path, text.replacen("0.107", "0.017", 1)).expect("writes");
        }),
        ("manifest cut", State::Damaged, |run| {
            let path = run.join("manifest.json");
            let text = fs::read(&path).expect("reads");
            fs::write(&path, &text[..text.len() / 2]).expect("writes");
        }),
        ("manifest empty", State::Damaged, |run| {
            fs::write(run.join("manifest.json"), "").expect("writes");
        }),
        ("manifest a link", State::Damaged, |run| {
            fs::rename(run.join("manifest.json"), run.join("m")).expect("renames");
            symlink("m", run.join("manifest.json")).expect("links");
        }),
        ("manifest nested deep", State::Damaged, |run| {
            fs::write(run.join("manifest.json"), "[".repeat(100_000)).expect("writes");
        }),
        ("contents gone", State::Damaged, |run| {
            fs::remove_file(run.join("contents.json")).expect("removes");
        }),
        ("of another run", State::Damaged, |run| {
            for file in ["manifest.json", "contents.json"] {
                let from = run.with_file_name("good").join(file);
                fs::copy(from, run.join(file)).expect("copies");
            }
        }),
        ("newer", State::NewerVersion, |run| {
            let text = r#"{"schema":"redolab.run/3","anything":[]}"#;
            fs::write(run.join("manifest.json"), text).expect("writes");
        }),
        ("older", State::OlderVersion, |run| {
            let text = r#"{"schema":"redolab.run/1","anything":[]}"#;
            fs::write(run.join("manifest.json"), text).expect("writes");
        }),
        ("gone", State::Incomplete, |run| {
            fs::remove_file(run.join("manifest.json")).expect("removes");
        }),
    ];
    for (what, want, harm) in harms {
        let (dir, store) = temporary();
        stored(&store, "good", 1);
        stored(&store, "bad", 1);
        harm(&dir.path().join("store/bad"));
        let (got, detail) = state(&store, "bad");
        assert_eq!(got, want, "{what}: {detail}");
        assert!(!detail.is_empty(), "{what}");
        assert_eq!(state(&store, "good").0, State::Complete, "{what}");
        assert!(store.load("bad").is_err(), "{what}");
    }
    let (dir, store) = temporary();
    stored(&store, "a", 3);
    let hlog = dir.path().join("store/a/03-LGWR-LAT1-64.hlog");
    flip(&hlog);
    let error = store.load_histograms("a").expect_err("a flipped bit");
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    fs::remove_file(&hlog).expect("removes");
    let error = store.load_histograms("a").expect_err("a missing file");
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn a_finished_run_may_not_be_cut() {
    let (dir, store) = temporary();
    stored(&store, "a", 3);
    let path = dir.path().join("store/a/03-LGWR-LAT1-64.hlog");
    let bytes = fs::read(&path).expect("reads");
    let whole_lines = bytes.iter().rposition(|b| *b == b'\n').expect("lines");
    for keep in [bytes.len() - 1, whole_lines / 2, 0] {
        fs::write(&path, &bytes[..keep]).expect("writes");
        assert!(
            store.load_histograms("a").is_err(),
            "cut to {keep} went unnoticed"
        );
    }
}

#[test]
fn names_stay_in_the_store() {
    let (dir, store) = temporary();
    let h = histogram(1, 10);
    for bad in [
        "..",
        "../x",
        "/etc/x",
        ".hidden",
        "a/b",
        "",
        "a\u{1b}[2J",
        &"x".repeat(65),
    ] {
        for error in [
            store.begin(bad).map(|_| ()).expect_err(bad),
            store.load(bad).map(|_| ()).expect_err(bad),
            store.delete(bad).expect_err(bad),
        ] {
            assert!(
                matches!(error, StoreError::BadName { .. }),
                "{bad}: {error}"
            );
            assert!(!error.to_string().contains('\u{1b}'));
        }
    }
    let mut writer = store.begin("a").expect("begins");
    for bad in ["", "x", "../x/y", "x/..", "x/y/z", "/y", "x/"] {
        assert!(
            writer.interval(bad, Nanos(0), Nanos(1), &h).is_err(),
            "{bad}"
        );
    }
    assert!(matches!(store.begin("a"), Err(StoreError::Exists { .. })));
    let outside = dir.path().join("outside");
    fs::create_dir(&outside).expect("creates");
    fs::write(outside.join("manifest.json"), "{}").expect("writes");
    symlink(&outside, dir.path().join("store/link")).expect("links");
    assert!(store.load("link").is_err() && store.delete("link").is_err());
    assert!(outside.join("manifest.json").exists());
}

/// A test that began three imports within a second was shown the second one as `last`: names tell
/// seconds, and their ends are random.
#[test]
fn runs_of_one_second_are_listed_by_their_time() {
    let (_dir, store) = temporary();
    for (end, created) in [("fff", "15.001"), ("000", "15.900"), ("777", "15.250")] {
        let id = format!("20261120-101515-{end}");
        let mut run = full_run(&id, &histogram(1, 10));
        run.created = format!("2026-11-20T10:15:{created}Z");
        let writer = store.begin(&id).expect("begins");
        writer.finish(&run).expect("finishes");
    }
    stored(&store, "20261120-101516-000", 1);
    let entries = store.list().expect("lists");
    let ends: Vec<&str> = entries.iter().map(|e| &e.id[13..]).collect();
    assert_eq!(ends, ["15-fff", "15-777", "15-000", "16-000"]);
}

#[test]
fn a_store_is_a_store() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let make = |name: &str, marker: Option<&str>| {
        let path = dir.path().join(name);
        fs::create_dir(&path).expect("creates");
        fs::write(
            path.join(marker.map_or("photo.jpg", |_| "store.json")),
            marker.unwrap_or("x"),
        )
        .expect("writes");
        Store::open(&path).map(|_| ()).expect_err(name).to_string()
    };
    let newer = make("newer", Some(r#"{"schema":"redolab.store/2"}"#));
    assert!(
        newer.contains("redolab.store/2") && newer.contains("redolab.store/1"),
        "{newer}"
    );
    assert!(make("photos", None).contains("not a run store"));
    assert!(make("torn", Some("{")).contains("damaged"));
    assert!(make("other", Some(r#"{"schema":"x"}"#)).contains("damaged"));
    let file = dir.path().join("file");
    fs::write(&file, "x").expect("writes");
    assert!(Store::open(&file).is_err());
}

#[test]
fn a_run_travels_byte_for_byte() {
    let (dir, store) = temporary();
    stored(&store, "a", 3);
    let mut text = Vec::new();
    store.export("a", &mut text).expect("exports");
    let (other_dir, other) = temporary();
    assert_eq!(other.import(&mut Cursor::new(&text)).expect("imports"), "a");
    for file in ["manifest.json", "contents.json", "03-LGWR-LAT1-64.hlog"] {
        let read = |d: &tempfile::TempDir| fs::read(d.path().join("store/a").join(file));
        assert_eq!(
            read(&dir).expect("reads"),
            read(&other_dir).expect("reads"),
            "{file}"
        );
    }
    let again = other.import(&mut Cursor::new(&text));
    assert!(matches!(again, Err(StoreError::Exists { .. })));
    assert_eq!(state(&other, "a").0, State::Complete);

    let text = String::from_utf8(text).expect("UTF-8");
    for (what, bad) in [
        ("cut", text[..text.len() / 2].to_owned()),
        (
            "escaping",
            text.replacen("\"run_id\": \"a\"", "\"run_id\": \"../a\"", 1),
        ),
        (
            "escaping file",
            text.replacen("03-LGWR-LAT1-64.hlog", "../x.hlog", 1),
        ),
        ("interval", text.replacen("count=20000", "count=20001", 1)),
        (
            "schema",
            text.replacen("redolab.export/2", "redolab.export/9", 1),
        ),
        ("not JSON", "hello".to_owned()),
        ("deep", "[".repeat(100_000)),
    ] {
        let (_dir, fresh) = temporary();
        assert!(fresh.import(&mut Cursor::new(&bad)).is_err(), "{what}");
        assert!(
            fresh.list().expect("lists").is_empty(),
            "{what} left something"
        );
    }
}

#[test]
fn figures_that_json_cannot_hold_are_refused() {
    let (_dir, store) = temporary();
    let mut run = full_run("a", &histogram(1, 10));
    run.rows[0].redo.get_or_insert_default().redo_data_mbps = Some(f64::NAN);
    let error = store
        .begin("a")
        .expect("begins")
        .finish(&run)
        .expect_err("a NaN");
    assert!(matches!(error, StoreError::NotStorable { .. }), "{error}");
    let other = store
        .begin("b")
        .expect("begins")
        .finish(&full_run("c", &Histogram::new()));
    assert!(matches!(other, Err(StoreError::NotStorable { .. })));
}

#[test]
fn an_unwritable_place_is_told() {
    for place in ["/proc/redolab-store", "/dev/null/x"] {
        let error = Store::open(Path::new(place))
            .map(|_| ())
            .expect_err(place)
            .to_string();
        assert!(error.contains(place), "{error}");
    }
}
