//! `import` through the binary: packed files, patterns, directories, samples, refusals, hostile
//! files in bounded memory.

use crate::harness::{Place, schema_problems};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

#[path = "../../../../xtask/src/generate/trace.rs"]
mod generate;

fn plan(waits: u64) -> generate::Plan {
    generate::Plan {
        seed: 7,
        waits,
        processes: 1,
        style: generate::Style::V12,
        writers: true,
        defects: Vec::new(),
    }
}

/// Long enough to be scanned by several threads.
fn long_trace() -> (Vec<u8>, generate::Answer) {
    let mut text = Vec::new();
    let answers = generate::write(&plan(40_000), &mut text).expect("memory");
    (text, answers.processes[0].clone())
}

fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, bytes).expect("a fresh file");
}

fn pack(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).expect("memory");
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text).expect("memory");
    let options = lzma_rust2::XzOptions::with_preset(0);
    let mut xz = lzma_rust2::XzWriter::new(Vec::new(), options).expect("options");
    xz.write_all(text).expect("memory");
    let zstd = ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest);
    vec![
        ("gzip", gzip.finish().expect("memory")),
        ("bzip2", bzip2.finish().expect("memory")),
        ("xz", xz.finish().expect("memory")),
        ("zstd", zstd),
    ]
}

#[test]
fn packed_files_give_what_plain_ones_give() {
    let place = Place::new();
    let (text, answer) = long_trace();
    let plain = place.path().join("t.trc");
    write(&plain, &text);
    let json = |name: &str| {
        let done = place.run(&["import", name, "--format", "json", "-q"]);
        done.expect(0, &[]).json()
    };
    let of_plain = json("t.trc");
    assert_eq!(
        schema_problems("run-2.schema.json", &of_plain),
        Vec::<String>::new()
    );
    let write_of = &of_plain["rows"][0]["waits"]["log_file_parallel_write"];
    assert_eq!(write_of["count"], answer.waits);
    assert_eq!(write_of["total_ns"], answer.total_ns);
    assert_eq!(write_of["max_ns"], answer.max_ns);
    assert_eq!(of_plain["origin"], "imported");
    assert_eq!(
        of_plain["rows"][0]["commit_latency_ms"],
        serde_json::Value::Null
    );
    for (packing, bytes) in pack(&text) {
        let name = format!("t.{packing}");
        write(&place.path().join(&name), &bytes);
        let packed = json(&name);
        assert_eq!(packed["rows"], of_plain["rows"], "{packing}");
        assert_eq!(
            packed["imported"]["series"], of_plain["imported"]["series"],
            "{packing}"
        );
        assert_eq!(packed["imported"]["sources"][0]["packing"], packing);
        // Cut: what stands before the cut is read, and it is said.
        write(&place.path().join("cut"), &bytes[..bytes.len() / 2]);
        let done = place.run(&["import", "cut", "--format", "json", "-q"]);
        let cut = done.expect(4, &[]).json();
        let count = cut["rows"][0]["waits"]["log_file_parallel_write"]["count"].as_u64();
        assert!(
            count.is_some_and(|n| n > 0 && n < answer.waits),
            "{packing}: {count:?}"
        );
        assert!(done.out.contains("import.cut_short"), "{packing}");
    }
}

#[test]
fn count_elapsed_is_what_study_000_wrote() {
    let place = Place::new();
    let (text, answer) = long_trace();
    write(&place.path().join("t.trc"), &text);
    place
        .run(&["import", "t.trc", "--csv", "-q", "-o", "out.csv"])
        .expect(0, &[]);
    let csv = std::fs::read_to_string(place.path().join("out.csv")).expect("written");
    assert!(csv.starts_with("1,"), "no heading: {}", &csv[..20]);
    assert_eq!(csv.lines().count() as u64, answer.waits);
    let sum: u64 = csv
        .lines()
        .map(|l| {
            l.rsplit(',')
                .next()
                .and_then(|e| e.parse::<u64>().ok())
                .expect("microseconds")
        })
        .sum();
    assert_eq!(sum * 1000, answer.total_ns);
    // Numbers without a heading are of anything, unless the user states what they are.
    let open = place.run(&["import", "out.csv"]);
    open.expect(1, &["lines of 2 numbers", "--kind count-elapsed"]);
    // What was written reads back, and nothing is overwritten.
    let kind = ["--kind", "count-elapsed"];
    let back = [
        "import", "out.csv", "--format", "json", "-q", kind[0], kind[1],
    ];
    let back = place.run(&back).expect(0, &[]).json();
    let write_of = &back["rows"][0]["waits"]["log_file_parallel_write"];
    assert_eq!(write_of["total_ns"], answer.total_ns);
    place
        .run(&["import", "t.trc", "--csv", "-o", "out.csv"])
        .expect(1, &["out.csv", "not overwritten"]);
    place
        .run(&["import", "t.trc", "out.csv", "--csv"])
        .expect(2, &["--csv with several files"]);
}

#[test]
fn many_files_keep_their_order() {
    let place = Place::new();
    let folder = place.path().join("traces");
    std::fs::create_dir(&folder).expect("a folder");
    // Files of very different lengths, and one among them that is not evidence.
    let name = |i: u64| format!("t{i:02}.trc");
    for i in 0..12_u64 {
        let ela = 1000 + i;
        let line = format!("WAIT #0: nam='log file parallel write' ela= {ela} files=1 blocks=2\n");
        let lines = if i % 3 == 0 { 40_000 } else { 3 };
        write(&folder.join(name(i)), line.repeat(lines).as_bytes());
    }
    write(&folder.join("t05-notes.txt"), b"nothing to be read\n");
    let run = place.run(&["import", "traces", "--format", "json", "-q"]);
    let run = run.expect(0, &[]).json();
    let sources = run["imported"]["sources"].as_array().expect("sources");
    assert_eq!(sources.len(), 12);
    for (i, source) in (0..12_u64).zip(sources) {
        let at = i as usize;
        let file = source["file"].as_str().expect("a name");
        assert!(file.ends_with(&name(i)), "{file}");
        let row = &run["rows"][at]["waits"]["log_file_parallel_write"];
        assert_eq!(row["max_ns"], (1000 + i) * 1000);
        assert_eq!(run["imported"]["series"][at]["row"], i);
    }
}

#[test]
fn a_device_that_no_evidence_shows_is_refused() {
    let place = Place::new();
    let iostat = "Device            w/s     wkB/s   w_await  aqu-sz  %util\n\
                  sda              1.00      8.00      0.20    0.00   0.10\n";
    write(&place.path().join("io.txt"), iostat.as_bytes());
    let args = ["import", "io.txt", "-q", "--log-device"];
    let with = |name| [&args[..], &[name]].concat();
    place
        .run(&with("nosuch"))
        .expect(2, &["--log-device nosuch", "shows sda"]);
    place.run(&with("sda")).expect(0, &["diagnosis.log_device"]);
}

#[test]
fn without_values_no_csv_is_written() {
    let place = Place::new();
    let (text, _) = long_trace();
    write(&place.path().join("t.trc"), &text);
    let args = ["import", "t.trc", "--csv", "--event", "log file sink", "-q"];
    let why = "t.trc: contains no single waits for 'log file sink'";
    place.run(&args).expect(4, &[why, "--event"]);
    let to_file = [&args[..], &["-o", "out.csv"]].concat();
    place.run(&to_file).expect(4, &[why]);
    assert!(!place.path().join("out.csv").exists());
}

#[test]
fn what_is_no_evidence_is_an_error_or_passed_over() {
    let place = Place::new();
    let folder = place.path().join("traces");
    std::fs::create_dir(&folder).expect("fresh");
    let (text, _) = long_trace();
    write(&folder.join("a.trc"), &text);
    write(&folder.join("b.txt"), b"hello\x1b]0;owned\x07 world\n");
    write(&place.path().join("pg.log"), b"LOG:  duration: 3 ms\n");
    place
        .run(&["import", "traces", "-q"])
        .expect(0, &["import.passed_over"]);
    place
        .run(&["import", "traces/*.trc", "-q"])
        .expect(0, &["LG00 (127312)"]);
    let done = place.run(&["import", "traces/b.txt"]);
    done.expect(1, &["looked for", "count,elapsed", "WAIT #1"]);
    assert!(!format!("{}{}", done.out, done.err).contains('\x1b'));
    // The list of kinds is printed once, with a file that is read or without one.
    write(&folder.join("c.txt"), b"neither\n");
    let unknown = ["import", "traces/b.txt", "traces/c.txt", "-q"];
    let with_trace = [&unknown[..], &["traces/a.trc"]].concat();
    for (arguments, code) in [(&unknown[..], 1), (&with_trace[..], 4)] {
        let done = place.run(arguments);
        done.expect(
            code,
            &["traces/b.txt", "traces/c.txt", "state its kind with --kind"],
        );
        assert_eq!(done.err.matches("redolab looked for:").count(), 1);
        assert_eq!(done.err.matches("pg-test-fsync").count(), 1);
    }
    std::fs::remove_file(folder.join("c.txt")).expect("written above");
    place.run(&["import", "pg.log"]).expect(1, &["PostgreSQL"]);
    place
        .run(&["import", "pg.log", "traces/a.trc", "-q"])
        .expect(4, &["PostgreSQL", "LG00"]);
    place.run(&["import", "none.trc"]).expect(2, &["none.trc"]);
    place
        .run(&["import", "*.none"])
        .expect(2, &["no file matches"]);
    place
        .run(&["import", "traces", "--kind", "x"])
        .expect(2, &["not a kind of evidence"]);
    place
        .run(&["import", "--kind", "event-histogram", "traces/a.trc"])
        .expect(1, &["no event-histogram in it", "WAIT_COUNT"]);
    // A damage is said, not that nothing was found behind it.
    write(&place.path().join("cut.xz"), b"\xfd7zXZ\0\0\x04");
    let done = place.run(&["import", "cut.xz", "-q"]);
    done.expect(1, &["cut.xz", "nothing was found in the part before"]);
    // What was stored is shown again.
    place
        .run(&["runs", "show", "last"])
        .expect(0, &["origin: imported", "Diagnostics"]);
    place
        .run(&["report", "last", "-o", "r.html"])
        .expect(0, &[]);
}

#[test]
fn hostile_traces_take_little_memory() {
    let place = Place::new();
    let wait = "WAIT #1: nam='log file sync' ela= 5 obj#=-1 tim=9\n";
    let mut many = String::new();
    for n in 0..300_000_u64 {
        many.push_str(&format!(
            "WAIT #{n}: nam='event {n}' ela= {n} obj#=-1 tim={n}\n"
        ));
    }
    let mut processes = String::new();
    for n in 0..20_000_u64 {
        processes.push_str(&format!("*** [ Unix process pid: {n} ]\n{wait}"));
    }
    let long = format!("{wait}{}\n{wait}", "x".repeat(64 << 20));
    let cases = [("many", many), ("processes", processes), ("long", long)];
    for (name, text) in cases {
        write(&place.path().join(name), text.as_bytes());
        let mut command = place.command(&["import", name, "-q", "-o", "out.txt"]);
        let child = command.spawn().expect("starts");
        let pid = rustix::process::Pid::from_child(&child);
        let peak = peak_kib(pid);
        crate::harness::Running::of(child, name.to_owned())
            .wait()
            .expect(0, &[]);
        let peak = peak.join().expect("watches");
        assert!(peak < 256 << 10, "{name}: {peak} KiB");
    }
}

#[test]
fn nesting_without_an_end_is_refused_in_words() {
    let place = Place::new();
    let json = format!("{{\"fio version\":\"3\",\"jobs\":{}", "[".repeat(100_000));
    let html = format!("<html class=\"awr\">{}", "<table><tr><td>".repeat(100_000));
    for (name, kind, text) in [
        ("deep.json", "fio-json", json),
        ("deep.html", "awr-html", html),
    ] {
        write(&place.path().join(name), text.as_bytes());
        let done = place.run(&["import", name, "--kind", kind, "-q"]);
        done.expect(1, &[name, &format!("no {kind} in it")]);
    }
}

/// `REDOLAB_STREAM_BYTES` sets how long; at length 10 GB.
#[test]
fn a_long_stream_takes_little_memory_and_loses_nothing() {
    let place = Place::new();
    let bytes = std::env::var("REDOLAB_STREAM_BYTES");
    let bytes = bytes.map_or(24 << 20, |n| n.parse::<u64>().expect("a number of bytes"));
    let mut plan = plan(5_000);
    plan.processes = 40;
    let mut text = Vec::new();
    let answers = generate::write(&plan, &mut text).expect("memory").processes;
    let times = bytes / text.len() as u64 + 1;
    let mut command = place.command(&["import", "-", "--format", "json", "-q", "-o", "out.json"]);
    let mut child = command.stdin(Stdio::piped()).spawn().expect("starts");
    let peak = peak_kib(rustix::process::Pid::from_child(&child));
    let mut to = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || {
        (0..times).for_each(|_| to.write_all(&text).expect("it reads to the end"));
    });
    let running = crate::harness::Running::of(child, "a long stream".to_owned());
    writer.join().expect("writes");
    running.wait().expect(0, &[]);
    let peak = peak.join().expect("watches");
    println!("{peak} KiB at {} bytes", bytes);
    assert!(peak < 256 << 10, "{peak} KiB");
    let out = std::fs::read(place.path().join("out.json")).expect("written");
    let run: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    let rows = run["rows"].as_array().expect("rows");
    let sum = |key: &str| -> u64 {
        let each = rows
            .iter()
            .map(|r| &r["waits"]["log_file_parallel_write"][key]);
        each.map(|n| n.as_u64().expect("a count")).sum()
    };
    let want = |of: fn(&generate::Answer) -> u64| times * answers.iter().map(of).sum::<u64>();
    assert_eq!(sum("count"), want(|a| a.waits));
    assert_eq!(sum("total_ns"), want(|a| a.total_ns));
}

/// Watches a process's peak of memory until it ends.
fn peak_kib(pid: rustix::process::Pid) -> std::thread::JoinHandle<u64> {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    std::thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = std::fs::read_to_string(&path) {
            let Some(line) = text.lines().find(|l| l.starts_with("VmHWM:")) else {
                break;
            };
            let digits: String = line.chars().filter(char::is_ascii_digit).collect();
            peak = peak.max(digits.parse().expect("a number"));
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        peak
    })
}
