//! `run` with an archiver and a database writer beside the log, and `inspect --archive`.

use crate::harness::Place;
use std::path::PathBuf;

const RUN: [&str; 14] = [
    "run",
    "--jobs",
    "4",
    "--commits",
    "2000",
    "--warmup",
    "0s",
    "--log-file-size",
    "1M",
    "--sync-method",
    "buffered",
    "--allow-busy",
    "--format",
    "json",
];

/// A place with directories for an archive and a data file.
fn place() -> (Place, PathBuf, PathBuf) {
    let place = Place::new();
    let (archive, data) = (place.path().join("archive"), place.path().join("data"));
    for path in [&archive, &data] {
        std::fs::create_dir(path).expect("a fresh directory");
    }
    (place, archive, data)
}

fn names(directory: &std::path::Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).expect("it is there");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn a_run_archives_its_log_and_writes_a_data_file() {
    let (place, archive, data) = place();
    let text = |path: &PathBuf| path.display().to_string();
    let (on, to, dbwr) = (
        text(&place.target),
        text(&archive),
        format!("{},0.5", text(&data)),
    );
    let more = ["--on", &on, "--archive", &to, "--dbwr", &dbwr];
    let run = place.run(&[&RUN[..], &more].concat()).json();
    let row = &run["rows"][0];
    let count = |key: &str| {
        row[key]
            .as_u64()
            .unwrap_or_else(|| panic!("{key}: {}", row[key]))
    };
    assert_eq!(count("commits"), 8000);
    // 16 MB of redo in logs of 1 MiB.
    assert!(
        count("log_switches") >= 10 && count("archived_files") >= 5,
        "{row}"
    );
    assert!(
        count("data_blocks_written") > 0 && count("log_checkpoints") > 0,
        "{row}"
    );
    assert!(row["data_written_mbps"].as_f64() > Some(0.0));
    // What is made for a run goes with it; the archive stays, and is whole.
    assert_eq!(names(&data), Vec::<PathBuf>::new());
    assert_eq!(names(&place.target), Vec::<PathBuf>::new());
    let [folder] = &names(&archive)[..] else {
        panic!("one archive: {:?}", names(&archive));
    };
    let folder = folder.display().to_string();
    let found = place
        .run(&["inspect", "--archive", &folder, "--format", "json"])
        .json();
    assert_eq!(found["records"], 8000, "{found}");
    assert!(found["files"].as_u64() >= Some(10), "{found}");
    let shown = place.run(&["inspect", "--archive", &folder]);
    assert!(shown.out.contains("The archive is whole."), "{}", shown.out);
    // A missing file is found.
    let mut files = names(folder.as_ref());
    files.sort();
    std::fs::remove_file(&files[3]).expect("removable");
    let gap = place.run(&["inspect", "--archive", &folder]);
    assert_eq!(gap.code, Some(1));
    assert!(gap.err.contains("the file before ends at"), "{}", gap.err);
}

#[test]
fn a_neighbour_synchronises_its_file_beside_the_log() {
    let (place, _, data) = place();
    let on = place.target.display().to_string();
    let neighbour = format!("{},10ms", data.display());
    let more = ["--on", &on, "--neighbour", &neighbour];
    let run = place.run(&[&RUN[..], &more].concat()).json();
    let row = &run["rows"][0];
    assert!(row["neighbour_fsyncs"].as_u64().is_some(), "{row}");
    let of = |key: &str| row[key].as_f64();
    let fsyncs = row["neighbour_fsyncs"].as_u64().unwrap_or(0);
    // A disk may be so slow that none ends while the row is measured.
    if fsyncs > 0 {
        let (p50, max) = (of("neighbour_fsync_p50_us"), of("neighbour_fsync_max_us"));
        assert!(p50 > Some(0.0) && max >= p50, "{row}");
    }
    assert!(row["data_blocks_written"].is_null() && row["log_checkpoints"].is_null());
    assert_eq!(names(&data), Vec::<PathBuf>::new());
    let shown = place.run(&[&RUN[..12], &more, &["--format", "csv"]].concat());
    assert!(
        shown.out.contains("neighbour_fsync_p99_us"),
        "{}",
        shown.out
    );
}

#[test]
fn what_cannot_run_beside_a_log_is_refused_before_anything_is_written() {
    let (place, archive, data) = place();
    let text = |path: &PathBuf| path.display().to_string();
    let (on, to, into) = (text(&place.target), text(&archive), text(&data));
    let missing = text(&place.path().join("missing"));
    let cases: &[(&[&str], &str)] = &[
        (
            &["--null", "--archive", &to],
            "the null device keeps no redo",
        ),
        (&["--on", &on, "--archive", &missing], "not a directory"),
        (&["--on", &on, "--dbwr", &missing], "not a directory"),
        (&["--on", &on, "--neighbour", &missing], "not a directory"),
        (
            &["--on", &on, "--neighbour", &format!("{into},1ms")],
            "use 10ms to 1m",
        ),
        (
            &["--on", &on, "--dbwr", &format!("{into},0")],
            "use 0.001 to 100",
        ),
        (&["--on", &on, "--archive-keep", "3"], "--archive"),
        (
            &["--on", &on, "--archive", &to, "--archive-keep", "0"],
            "--archive-keep",
        ),
    ];
    for (more, wanted) in cases {
        let refused = place.run(&[&RUN[..], more].concat());
        assert_ne!(refused.code, Some(0), "{more:?}");
        assert!(refused.err.contains(wanted), "{more:?}: {}", refused.err);
    }
    for path in [&archive, &data, &place.target] {
        assert_eq!(names(path), Vec::<PathBuf>::new());
    }
    let none = place.run(&["inspect", "--archive", &to]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.err.contains("no file of an archive is here"),
        "{}",
        none.err
    );
}
