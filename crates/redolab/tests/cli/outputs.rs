//! Where results cannot be written: every command that writes refuses the place before it measures
//! or stores anything, names it, and says what to do. And every command that uses an invalid run
//! ends with 4.

use crate::harness::{Done, Mount, Place, entries, skipped, tmpfs};
use std::path::Path;

/// A trace of three waits, two of them log writes.
const TRACE: &str = "WAIT #0: nam='log file parallel write' ela= 300 p1=1 p2=2 p3=3 obj#=-1 tim=100
WAIT #0: nam='log file parallel write' ela= 400 p1=1 p2=2 p3=3 obj#=-1 tim=900
WAIT #0: nam='log file sync' ela= 500 p1=1 p2=2 p3=3 obj#=-1 tim=1500
";
/// What each row of a measurement would take; nothing is measured here.
const SHORT: &str = "--jobs 1 --time 100ms --warmup 0 --log-file-size 8M --allow-busy --yes";

/// Commands that measure: their result must have a place before.
const MEASURING: [&str; 8] = [
    "check target --quick SHORT --no-report -o OUT",
    "check target --quick SHORT --report OUT",
    "check target --explain-latency SHORT --report OUT",
    "run target SHORT -o OUT",
    "probe target --time 20ms --allow-busy --yes -o OUT",
    "compare --on a=target --on b=target2 --rounds 1 SHORT -o OUT",
    "compare --on a=target --on b=target2 --rounds 1 SHORT --report OUT",
    "run --workload tproc-c --on postgres://nobody@127.0.0.1:1/none -o OUT",
];

/// Commands that read what there is.
const READING: [&str; 11] = [
    "compare RUN OTHER -o OUT",
    "compare RUN OTHER --report OUT",
    "import ev.trc -o OUT",
    "import ev.trc --csv -o OUT",
    "compare --as r2 ev.trc -o OUT",
    "report RUN -o OUT",
    "runs show RUN -o OUT",
    "compare --as differences RUN OTHER -o OUT",
    "report RUN --format redolab -o OUT",
    "findings -o OUT",
    "compare --as capacity sweep.json -o OUT",
];

/// Commands whose output is a directory.
const COLLECTING: [&str; 3] = [
    "collect oracle -o OUT",
    "collect linux --time 1s -o OUT",
    "redact ev.trc -o OUT",
];

struct Bench {
    place: Place,
    run: String,
    other: String,
}

impl Bench {
    fn new() -> Bench {
        let place = Place::new();
        std::fs::create_dir(place.path().join("target2")).expect("a fresh directory");
        std::fs::write(place.path().join("ev.trc"), TRACE).expect("writes");
        let (run, other) = (place.store_a_run(), place.store_a_run());
        let sweep = place.run(&["run", "--null", "--jobs", "1,2", "--commits", "500", "-q"]);
        sweep.expect(0, &[]);
        let export = ["report", "last", "--format", "redolab", "-o", "sweep.json"];
        place.run(&export).expect(0, &[]);
        Bench { place, run, other }
    }

    fn run(&self, command: &str, out: &Path) -> Done {
        let command = command.replace("SHORT", SHORT);
        let word = |word: &str| match word {
            "OUT" => out.display().to_string(),
            "RUN" => self.run.clone(),
            "OTHER" => self.other.clone(),
            word => word.to_owned(),
        };
        let words: Vec<String> = command.split(' ').map(word).collect();
        self.place.run(&words)
    }

    /// Every command refuses `out`, with these words.
    fn expect_refused(&self, commands: &[&str], out: &Path, words: &[&str]) {
        let before = entries(&self.place.store);
        for command in commands {
            let done = self.run(command, out);
            let said = format!("{command}\n{}{}", done.out, done.err);
            assert!(
                matches!(done.code, Some(1 | 2)),
                "{:?} of {said}",
                done.code
            );
            assert!(done.err.contains(&out.display().to_string()), "{said}");
            for word in words {
                assert!(done.err.contains(word), "`{word}` in {said}");
            }
            // The plan is printed before the first write.
            assert!(!done.err.contains("Will make"), "{said}");
            assert!(!said.contains("panicked"), "{said}");
        }
        assert_eq!(entries(&self.place.store), before, "nothing was stored");
        self.place.expect_clean(&self.place.target);
    }
}

#[test]
fn a_missing_directory_and_a_directory_are_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let missing = bench.place.path().join("absent/result");
    let all: Vec<&str> = MEASURING.iter().chain(&READING).copied().collect();
    let words = ["No such file", "make this directory first"];
    bench.expect_refused(&all, &missing, &words);
    let folder = bench.place.path().join("target2");
    // This one takes a directory, for one file per input.
    let all: Vec<&str> = all.into_iter().filter(|c| !c.contains("--csv")).collect();
    bench.expect_refused(&all, &folder, &["is a directory; name a file in it"]);
}

/// A volume that is mounted for reading only: root may write into any directory.
#[test]
fn a_directory_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let at = bench.place.path().join("sealed");
    std::fs::create_dir(&at).expect("a fresh directory");
    let options = ["-t", "tmpfs", "-o", "ro,size=1m", "tmpfs"];
    let Some(_mount) = Mount::make(&options, &at) else {
        return skipped("mounting a tmpfs needs root");
    };
    let all: Vec<&str> = [&MEASURING[..], &READING, &COLLECTING].concat();
    let out = at.join("result");
    bench.expect_refused(&all, &out, &["name a place that this user may write to"]);
}

#[test]
fn a_volume_without_room_is_refused_before_anything_is_measured() {
    let bench = Bench::new();
    let Some(_mount) = tmpfs(&bench.place, 1) else {
        return;
    };
    let at = bench.place.path().join("tmpfs");
    // Zeros until it is full.
    let filled = std::fs::write(at.join("zeros"), vec![0_u8; 2 << 20]);
    assert!(filled.is_err());
    let out = at.join("result");
    let collecting = &COLLECTING[1..2];
    bench.expect_refused(&MEASURING, &out, &["0 bytes available", "free some space"]);
    bench.expect_refused(collecting, &out, &["0 bytes available", "free some space"]);
    std::fs::remove_dir_all(&out).expect("collect made the directory");
    let reading: Vec<&str> = READING
        .iter()
        .filter(|c| !c.contains("--report"))
        .copied()
        .collect();
    bench.expect_refused(&reading[1..], &out, &["free some space"]);
    for command in [
        "check target --quick SHORT --no-report",
        "run target SHORT",
        "import ev.trc",
    ] {
        let store = at.join("store");
        let command = format!("{command} --store OUT");
        let done = bench.run(&command, &store);
        done.expect(1, &["no space left", "--store"]);
        assert!(!done.err.contains("Will make"), "{}", done.err);
    }
}

/// Of each command that reads runs, and of `run` itself in `judged`.
#[test]
fn every_command_ends_with_4_for_an_invalid_run() {
    let bench = Bench::new();
    let path = bench.place.path().join("sweep.json");
    let text = std::fs::read_to_string(&path).expect("reads");
    let mut export: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    export["run"]["run_id"] = "broken".into();
    export["run"]["validity"] = serde_json::json!({
        "valid": false,
        "problems": [{"id": "io_error", "invalidates": true, "detail": "EIO on a write"}],
    });
    std::fs::write(&path, export.to_string()).expect("writes");
    bench.place.run(&["import", "sweep.json"]).expect(0, &[]);
    let out = bench.place.path().join("out");
    for command in [
        "runs show broken",
        "runs show broken --format json",
        "runs show broken --format csv",
        "runs show broken --format markdown",
        "report broken --format redolab -o OUT",
        "report broken --format openmetrics",
        "report broken --format fio-json",
        "report broken -o OUT.html",
        "compare broken OTHER",
        "compare OTHER broken --format json",
        "compare sweep.json OTHER",
        "compare --as capacity broken",
    ] {
        bench.run(command, &out).expect(4, &[]);
    }
}
