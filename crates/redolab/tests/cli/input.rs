//! Bad input: each is refused before anything is measured, by a message that names it, and leaves
//! nothing behind.

use crate::harness::{Done, LoopVolume, Place, entries, tmpfs};

/// What is wrong on the command line is reported at once: with `-v` each phase is announced, and
/// none was.
fn expect_at_once(done: &Done) {
    let begun = done.err.lines().find(|line| line.ends_with(" ..."));
    assert_eq!(begun, None, "{}", done.err);
}

#[test]
fn options_that_make_no_sense() {
    let cases: &[(&[&str], &[&str])] = &[
        (&["--jobs", "0"], &["--jobs `0`", "out of range"]),
        (&["--jobs", "1000000"], &["1000000", "out of range"]),
        (&["--jobs", "8..2"], &["8 is more than 2"]),
        (&["--jobs", "two"], &["`two` is not a number of jobs"]),
        (&["--jobs", ""], &["jobs"]),
        (&["--log-file-size", "12Q"], &["--log-file-size", "`Q`"]),
        (&["--log-file-size", "big"], &["`big` is not a size"]),
        (
            &["--log-file-size", "1B"],
            &["--log-file-size: log files of 1 bytes", "512k to 1T"],
        ),
        (
            &["--log-file-size", "99999999999T"],
            &["larger than any device"],
        ),
        (
            &["--log-groups", "1"],
            &["--log-groups: 1 log groups: use 2 to 1024"],
        ),
        (&["--log-groups=-1"], &["--log-groups"]),
        (
            &["--log-file-size", "1M"],
            &[
                "a record of 497664 bytes",
                "raise --log-buffer and --log-file-size",
            ],
        ),
        (&["--log-buffer", "1k"], &["--log-buffer", "1M to 1G"]),
        (
            &["--block-size", "1000"],
            &["--block-size: `1000` has no unit", "use 512 or 4096"],
        ),
        (&["--time", "0"], &["--time: must be over 0"]),
        (&["--time", "5 fortnights"], &["--time", "fortnights"]),
        (&["--time=-1"], &["--time", "`-1` is not a duration"]),
        (
            &["--warmup", "soon"],
            &["--warmup", "`soon` is not a duration"],
        ),
        (
            &["--sync-method", "hope"],
            &["--sync-method", "hope", "or auto"],
        ),
        (&["--max-write", "1k"], &["--max-write allows 1.0 KiB"]),
        (
            &["--max-write", "much"],
            &["--max-write", "`much` is not a size"],
        ),
        (&["--commit-rate=-5"], &["--commit-rate"]),
        (&["--commit-rate", "NaN"], &["--commit-rate"]),
        (&["--p99", "fast"], &["--p99", "`fast` is not a duration"]),
        (&["--redo-rate", "1x"], &["--redo-rate", "`x`"]),
        (&["--thresholds", "nowhere"], &["nowhere", "No such file"]),
        (&["--report", "x", "--no-report"], &["cannot be used with"]),
        (&["--format", "xml"], &["--format", "xml"]),
        (&["--no-such-option"], &["--no-such-option"]),
    ];
    expect_refused(cases);
}

/// `check` with each of these options is a mistake of usage, reported at once in these words.
fn expect_refused(cases: &[(&[&str], &[&str])]) {
    let place = Place::new();
    let target = place.target.display().to_string();
    for (more, words) in cases {
        let arguments = [&["check", target.as_str(), "-v", "--allow-busy"], *more].concat();
        expect_at_once(place.run(&arguments).expect(2, words));
        place.expect_clean(&place.target);
    }
}

#[test]
fn modes_of_the_log_that_make_no_sense() {
    let cases: &[(&[&str], &[&str])] = &[
        (
            &["--log-writer", "dbwr"],
            &[
                "--log-writer",
                "`dbwr`",
                "auto, inline, lgwr, workers=N",
                "adaptive",
            ],
        ),
        (
            &["--log-writer", "workers=0"],
            &["--log-writer", "`0` workers", "workers=1 to workers=8"],
        ),
        (
            &["--log-writer", "workers=9"],
            &["--log-writer", "`9` workers"],
        ),
        (
            &["--log-writer", "inline", "--log-writer-cpu", "0"],
            &["--log-writer-cpu", "inline the sessions write"],
        ),
        (
            &["--log-writer", "lgwr", "--log-writer-cpu", "0,60000"],
            &["--log-writer-cpu", "CPU 60000 does not exist"],
        ),
        (
            &["--log-writer", "workers=2", "--log-writer-cpu", "3-1"],
            &["--log-writer-cpu", "`3-1`"],
        ),
        (
            &["--log-writer", "workers=2", "--log-writer-cpu", "all"],
            &["--log-writer-cpu", "`all`", "0,2-3"],
        ),
        (
            &["--io-depth", "4"],
            &["--io-depth 4", "with --log-writer lgwr and rings"],
        ),
        (
            &["--io", "warp"],
            &["--io", "warp", "threads, io_uring or auto"],
        ),
        (
            &["--log-file-sync", "asking"],
            &["--log-file-sync", "`asking`", "adaptive"],
        ),
        (
            &["--flush-triggers", "commit,half"],
            &["--flush-triggers", "no trigger `half`", "third"],
        ),
        (&["--flush-triggers", "1MB,2MB"], &["`2MB`", "named before"]),
        (&["--commit-api", "later"], &["--commit-api", "`later`"]),
        (&["--threads", "2"], &["--threads", "--commit-api async"]),
        (
            &["--commit-api", "async", "--threads", "0"],
            &["--threads: use 1 to 1024"],
        ),
        (
            &["--commit-api", "async", "--jobs", "65537"],
            &["65537 is out of range", "1 to 65536"],
        ),
        (&["--jobs", "4097"], &["4097 is out of range", "1 to 4096"]),
    ];
    expect_refused(cases);
}

#[test]
fn commands_that_make_no_sense() {
    let place = Place::new();
    for (arguments, word) in [
        (&["run", "--workload", "TPC-X"][..], "LGWR-THR"),
        (&["run", "--null", "--records", "0"], "--records"),
        (
            &["run", "--null", "--commit-write", "maybe"],
            "nowait-batch",
        ),
        (&["run", "--null", "--commits", "0"], "must be over 0"),
        (&["probe", "--time", "0"], "must be over 0"),
        (&["inspect"], "PATH"),
        (&["runs", "destroy"], "destroy"),
        (&[], "Usage"),
    ] {
        place.run(arguments).expect(2, &[word]);
    }
    assert_eq!(entries(&place.target), Vec::<String>::new());
}

#[test]
fn help_and_version_are_no_errors() {
    let place = Place::new();
    for command in [
        "check", "run", "probe", "devices", "inspect", "runs", "report",
    ] {
        let done = place.run(&[command, "--help"]);
        done.expect(0, &["Usage: redolab"]);
        let wide = done.out.lines().find(|line| line.chars().count() > 100);
        assert_eq!(wide, None, "{command}");
    }
    for (shell, word) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef"),
        ("fish", "complete -c"),
    ] {
        place
            .run(&["completions", shell])
            .expect(0, &[word, "inspect"]);
    }
    place.run(&["man"]).expect(0, &[".TH redolab 1", "check"]);
    let pages = place.path().display().to_string();
    place.run(&["man", "-o", &pages]).expect(0, &[]);
    for name in entries(place.path()) {
        if name != "target" {
            assert!(
                name.starts_with("redolab") && name.ends_with(".1"),
                "{name}"
            );
            std::fs::remove_file(place.path().join(name)).expect("written just now");
        }
    }
    place.run(&["--version"]).expect(0, &["redolab 0."]);
    assert_eq!(entries(place.path()), ["target"]);
}

#[test]
fn a_dry_run_on_the_null_device_runs_nothing() {
    let place = Place::new();
    let done = place.run(&["run", "--null", "--dry-run"]);
    expect_at_once(done.expect(0, &["Dry run", "nothing was run"]));
    assert_eq!(done.out, "");
}

#[test]
fn places_that_are_none() {
    let place = Place::new();
    std::fs::write(place.path().join("file"), "precious").expect("writes");
    for command in [&["check"][..], &["probe"], &["run", "--on"]] {
        for (path, words) in [
            (
                "nowhere",
                &["nowhere", "does not exist", "name an existing directory"][..],
            ),
            ("file", &["file", "is not a directory"]),
            ("file/below", &["file/below"]),
        ] {
            place.run(&[command, &[path]].concat()).expect(2, words);
        }
    }
    let kept = std::fs::read(place.path().join("file")).expect("reads");
    assert_eq!(kept, b"precious");
}

#[test]
fn volumes_that_are_too_small_or_read_only() {
    let place = Place::new();
    let Some(mount) = tmpfs(&place, 64) else {
        return;
    };
    let words = [
        "not enough room",
        "64.0 MiB",
        "16.0 MiB must stay free",
        "Free at least",
    ];
    place.check(&mount.at, &[]).expect(2, &words);
    place.expect_clean(&mount.at);
    mount.remount("ro");
    place
        .check(&mount.at, &[])
        .expect(2, &["mounted read-only"]);
    drop(mount);
    let Some(volume) = LoopVolume::make("ext4", 1, 512) else {
        return;
    };
    let on = volume.path().display().to_string();
    let large = ["run", &on, "--log-file-size", "512M", "--allow-busy"];
    let words = [
        "not enough room",
        "must stay free",
        "(--log-file-size ",
        "M fits)",
    ];
    place.run(&large).expect(2, &words);
    place.expect_clean(volume.path());
    volume.mount.remount("ro");
    for command in ["check", "probe"] {
        let path = volume.path().display().to_string();
        place
            .run(&[command, &path])
            .expect(2, &["mounted read-only"]);
    }
    place.run(&["runs"]).expect(0, &["No runs in"]);
}

#[test]
fn blocks_that_are_smaller_than_the_devices_sectors() {
    let Some(volume) = LoopVolume::make("ext4", 8, 4096) else {
        return;
    };
    let place = Place::new();
    let done = place.check(volume.path(), &["-v", "--block-size", "512"]);
    expect_at_once(done.expect(
        2,
        &[
            "the logical block size (512) is not compatible with the disk sector size",
            "host sector size is 4096",
            "use a block size of at least 4096",
        ],
    ));
    place.expect_clean(volume.path());
}
