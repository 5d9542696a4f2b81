//! `--max-write` is never exceeded: by the kernel's own count of the process, whatever is run.

use crate::harness::{LoopDevice, Place, skipped};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Draws in the tests, and at once. `REDOLAB_LIMIT_DRAWS` asks for another number of draws.
const DRAWS: u64 = 8;
const AT_ONCE: usize = 4;
/// No draw takes as long, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// Room for the floor's file and for a few small log files.
const DEVICE_MIB: u64 = 160;

/// A small generator of our own: a printed seed gives the same draws everywhere.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[(self.next() % all.len() as u64) as usize]
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

/// One command with a limit, in MiB.
struct Drawn {
    arguments: Vec<String>,
    limit_mib: u64,
    _device: Option<LoopDevice>,
}

fn draw(seed: u64, target: &Path, second: &Path) -> Drawn {
    let mut draw = Draw(seed);
    // From 100 MiB to 2 GiB, small ones as often as large ones.
    let limit_mib = 100 << (draw.next() % 5);
    let limit_mib = (limit_mib + draw.next() % limit_mib).min(2048);
    let on = target.display().to_string();
    let device = if draw.one_in(4) {
        LoopDevice::make(DEVICE_MIB, &["--sector-size", draw.of(&["512", "4096"])])
    } else {
        None
    };
    let node = device.as_ref().map(|d| d.node.clone());
    let place = node.clone().unwrap_or(on.clone());
    let limit = format!("{limit_mib}M");
    let mut all = vec!["--max-write", &limit, "--allow-busy", "-q"];
    if let Some(node) = &node {
        all.extend(["--destroy", node]);
    }
    let second = format!("b={}", second.display());
    let first = format!("a={place}");
    let kind = draw.of(&["check", "run", "run", "run", "run", "compare", "probe"]);
    let mut arguments = match kind {
        "check" => vec!["check", &place, "--quick", "--report", "report.html"],
        "compare" => vec![
            "compare", "--on", &first, "--on", &second, "--rounds", "2", "--report", "r",
        ],
        "probe" => vec!["probe", &place, "--time", draw.of(&["20ms", "100ms"])],
        _ => vec!["run", "--on", &place],
    };
    // One --destroy serves one device: comparisons are made in directories.
    if kind == "compare" && node.is_some() {
        arguments = vec!["run", "--on", &place];
    }
    if kind == "check" {
        // Its largest record needs an eighth of the log buffer.
        arguments.extend(["--log-file-size", draw.of(&["16M", "24M"])]);
    } else if kind != "probe" {
        log(&mut draw, &mut arguments);
    }
    if kind != "probe" {
        load(&mut draw, kind, &mut arguments);
    }
    // Threads beside the log, whose writes count, too.
    let beside = second.strip_prefix("b=").unwrap_or(&second).to_owned();
    let neighbour = format!("{beside},10ms");
    if kind == "run" && draw.one_in(2) {
        match draw.next() % 4 {
            0 => arguments.extend(["--archive", &beside]),
            1 => arguments.extend(["--dbwr", &beside]),
            2 => arguments.extend(["--neighbour", &neighbour]),
            _ => arguments.extend(["--archive", &beside, "--dbwr", &beside]),
        }
    }
    arguments.extend(all);
    Drawn {
        arguments: arguments.into_iter().map(str::to_owned).collect(),
        limit_mib,
        _device: device,
    }
}

/// How the log is made and written.
fn log(draw: &mut Draw, arguments: &mut Vec<&str>) {
    arguments.extend(["--log-file-size", draw.of(&["2M", "4M", "8M", "24M"])]);
    arguments.extend(["--log-groups", draw.of(&["2", "3", "5"])]);
    arguments.extend(["--log-buffer", draw.of(&["1M", "2M", "16M"])]);
    let methods = [
        "auto",
        "auto",
        "buffered",
        "dsync",
        "direct",
        "direct-dsync",
    ];
    arguments.extend(["--sync-method", draw.of(&methods)]);
    let writer = draw.of(&["auto", "inline", "lgwr", "workers=3", "adaptive", "rings"]);
    if writer == "rings" {
        arguments.extend([
            "--log-writer",
            "lgwr",
            "--io",
            "io_uring",
            "--io-depth",
            "4",
        ]);
    } else {
        arguments.extend([
            "--log-writer",
            writer,
            "--io",
            draw.of(&["auto", "threads"]),
        ]);
    }
    arguments.extend([
        "--log-file-sync",
        draw.of(&["post-wait", "polling", "adaptive"]),
    ]);
    let triggers = ["commit,third,1MB,3s", "commit,64k,20ms", "third,256k,5ms"];
    arguments.extend(["--flush-triggers", draw.of(&triggers)]);
    arguments.extend(["--block-size", "4096"]);
}

/// What is run on it.
fn load(draw: &mut Draw, kind: &str, arguments: &mut Vec<&str>) {
    if kind == "check" {
        arguments.extend(["--time", "150ms", "--warmup", "50ms"]);
        arguments.extend(["--jobs", draw.of(&["2", "1,16"])]);
        return;
    }
    arguments.extend(["--warmup", draw.of(&["0", "100ms"])]);
    match draw.next() % 6 {
        0 => arguments.extend(["--workload", "storm", "--commits", draw.of(&["100", "3k"])]),
        1 => arguments.extend(["--workload", "size-sweep", "--sizes", "1k,16k,64k"]),
        2 => arguments.extend(["--rate", draw.of(&["500", "20k"]), "--arrivals", "poisson"]),
        3 => arguments.extend(["--workload", "LGWR-THR", "--records", "64"]),
        4 => arguments.extend(["--workload", "LGWR-LAT125", "--records", "16"]),
        _ => arguments.extend(["--soak", "3s"]),
    }
    if !arguments.contains(&"--commits") && !arguments.contains(&"--soak") {
        arguments.extend(["--time", draw.of(&["300ms", "900ms"])]);
    }
    arguments.extend(["--jobs", draw.of(&["1", "3", "2,16"])]);
    if draw.one_in(3) {
        arguments.extend(["--commit-api", "async"]);
    }
    if kind == "run" && draw.one_in(3) {
        arguments.push("--events");
    }
    if draw.one_in(4) && !arguments.contains(&"storm") {
        arguments.extend(["--commit-write", "nowait-batch"]);
    }
}

/// `write_bytes` less `cancelled_write_bytes` of a process.
fn written(pid: u32) -> Option<u64> {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    redolab::observe::background::parse_own_written(&io)
}

/// A command that was started, and the most that was seen of what it wrote.
struct Started {
    child: Child,
    drawn: Drawn,
    place: Place,
    seed: u64,
    begun: Instant,
    most: u64,
}

impl Started {
    fn new(seed: u64) -> Started {
        let place = Place::new();
        let second = place.path().join("second");
        std::fs::create_dir(&second).expect("a fresh directory");
        let drawn = draw(seed, &place.target, &second);
        let file = |name: &str| {
            let path = place.path().join(name);
            Stdio::from(std::fs::File::create(path).expect("a fresh file"))
        };
        let mut command: Command = place.command(&drawn.arguments);
        command.stdout(file("out")).stderr(file("err"));
        let child = command.spawn().expect("starts");
        Started {
            child,
            drawn,
            place,
            seed,
            begun: Instant::now(),
            most: 0,
        }
    }

    /// Looks at its count; true when it has ended. It is not reaped before its last count was read.
    fn look(&mut self) -> bool {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let pid = Pid::from_raw(self.child.id().cast_signed()).expect("a process has a number");
        let ended = waitid(WaitId::Pid(pid), options)
            .expect("a child of ours")
            .is_some();
        let count = written(self.child.id()).expect("its count can be read until it is reaped");
        self.most = self.most.max(count);
        if !ended && self.begun.elapsed() > PATIENCE {
            let _ = self.child.kill();
            panic!(
                "seed {}: hangs: {}",
                self.seed,
                self.drawn.arguments.join(" ")
            );
        }
        ended
    }

    /// What it came to: the share of the limit that it used, percent; `None` for a refused plan.
    fn end(mut self) -> Option<u64> {
        let code = self.child.wait().expect("it has ended").code();
        let said = |name| std::fs::read_to_string(self.place.path().join(name)).unwrap_or_default();
        let (out, err) = (said("out"), said("err"));
        let what = format!(
            "seed {}: redolab {}",
            self.seed,
            self.drawn.arguments.join(" ")
        );
        let limit = self.drawn.limit_mib << 20;
        println!(
            "{what}: code {code:?}, {} of {} MiB",
            self.most >> 20,
            self.drawn.limit_mib
        );
        assert!(
            self.most <= limit,
            "{what}: {} of {limit} bytes\n{out}\n{err}",
            self.most
        );
        assert!(!err.contains("panicked"), "{what}\n{err}");
        let refused = code == Some(2) && err.contains("the smallest limit that works here");
        if refused {
            // The store may have been made.
            assert!(
                self.most < 1 << 20,
                "{what}: refused after {} bytes\n{err}",
                self.most
            );
            return None;
        }
        let ended_well = matches!(code, Some(0 | 3 | 4)) && !err.contains("stopped before");
        assert!(ended_well, "{what}: code {code:?}\n{out}\n{err}");
        Some(100 * self.most / limit)
    }
}

#[test]
fn max_write_is_never_exceeded() {
    if std::fs::read_to_string("/proc/self/io").is_err() {
        skipped("the kernel does not count what processes write");
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let draws = number("REDOLAB_LIMIT_DRAWS").unwrap_or(DRAWS);
    let seed = number("REDOLAB_LIMIT_SEED").unwrap_or_else(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(1, |t| t.as_millis() as u64)
    });
    println!("REDOLAB_LIMIT_SEED={seed} REDOLAB_LIMIT_DRAWS={draws}");
    let mut waiting: Vec<u64> = (0..draws).map(|n| seed.wrapping_add(n)).collect();
    let (mut running, mut shares): (Vec<Started>, Vec<Option<u64>>) = (Vec::new(), Vec::new());
    while !waiting.is_empty() || !running.is_empty() {
        while running.len() < AT_ONCE
            && let Some(seed) = waiting.pop()
        {
            running.push(Started::new(seed));
        }
        for index in (0..running.len()).rev() {
            if running[index].look() {
                shares.push(running.swap_remove(index).end());
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let ran = shares.iter().flatten().count();
    let most = shares.iter().flatten().max().copied().unwrap_or(0);
    println!("{ran} of {draws} draws ran, the others were refused; at most {most} % of a limit");
}

/// A row that `--max-write` ends: the run says so, and accuses the log of nothing that this made.
fn cut(load: &[&str]) -> measure::run::Run {
    let place = Place::new();
    let on = place.target.display().to_string();
    let fixed = [
        "run",
        "--on",
        &on,
        "--max-write",
        "40M",
        "--log-file-size",
        "4M",
        "--log-groups",
        "2",
        "--sync-method",
        "direct",
        "--block-size",
        "4096",
        "--allow-busy",
        "--format",
        "json",
    ];
    let done = place.run(&[&fixed[..], load].concat());
    done.expect(0, &["--max-write 40.0 MiB", "ended after"]);
    let run: measure::run::Run = serde_json::from_value(done.json()).expect("a run");
    assert!(run.validity.valid, "{:?}", run.validity);
    run
}

fn has(run: &measure::run::Run, id: &str) -> bool {
    run.validity.problems.iter().any(|p| p.id == id)
}

/// A check that is cut short judges what it has measured, and says what it has not.
#[test]
fn a_check_that_is_cut_is_judged_by_what_it_measured() {
    let place = Place::new();
    let on = place.target.display().to_string();
    // So little that rows of many bytes end early, however slow the device is.
    let limit = ["--quick", "--max-write", "250M", "--commit-rate", "1"];
    let log = ["--log-file-size", "16M", "--log-groups", "2", "--jobs", "8"];
    let end = [
        "--time",
        "20s",
        "--allow-busy",
        "--no-report",
        "--format",
        "json",
    ];
    let done = place.run(&[&["check", &on], &limit[..], &log, &end].concat());
    let run: measure::run::Run = serde_json::from_value(done.json()).expect("a run");
    assert!(done.err.contains("ended after"), "{}", done.err);
    assert_eq!(run.validity.shortened.len(), 1, "{:?}", run.validity);
    assert!(!has(&run, "max_write"), "{:?}", run.validity);
    let said = run.findings.iter().find(|f| f.id == "validity.shortened");
    let said = said.expect("it is said");
    assert_eq!(said.weight, measure::judgement::Weight::Info, "{said:?}");
    assert!(said.claim.contains("ended after"), "{said:?}");
    // What else is doubtful on this machine decides the answer; the limit does not.
    let doubts = run.findings.iter().filter(|f| {
        f.id.starts_with("validity.") && f.weight >= measure::judgement::Weight::Caution
    });
    let verdict = run.verdict.as_ref().expect("a verdict");
    if doubts.count() == 0 {
        assert_ne!(
            verdict.answer,
            measure::judgement::Answer::Undetermined,
            "{verdict:?}"
        );
    }
    assert!(!verdict.summary.contains("max-write"), "{verdict:?}");
}

/// What an archiver and a database writer write is within the limit, too.
#[test]
fn an_archived_log_ends_within_the_limit() {
    let place = Place::new();
    let beside = place.path().join("beside");
    std::fs::create_dir(&beside).expect("a fresh directory");
    let (on, beside) = (
        place.target.display().to_string(),
        beside.display().to_string(),
    );
    let run = ["run", "--on", &on, "--archive", &beside, "--dbwr", &beside];
    let shape = [
        "--log-file-size",
        "2M",
        "--log-groups",
        "3",
        "--sync-method",
        "direct",
    ];
    let limit = [
        "--max-write",
        "200M",
        "--time",
        "10m",
        "--jobs",
        "4",
        "--allow-busy",
    ];
    let done = place.run(&[&run[..], &shape, &limit, &["--format", "json"]].concat());
    done.expect(0, &["ended after"]);
    let run: measure::run::Run = serde_json::from_value(done.json()).expect("a run");
    let redo = run.rows[0].redo().redo_size_bytes.expect("counted");
    // The log, the archive and the data file; and not so little that nothing was measured.
    assert!(redo > 4 << 20 && redo < 100 << 20, "{redo}");
}

#[test]
fn a_storm_that_is_cut_is_valid() {
    let run = cut(&["-w", "storm", "--jobs", "4", "--commits", "200k"]);
    assert_eq!(run.validity.shortened.len(), 1, "{:?}", run.validity);
    assert!(!has(&run, "max_write"), "{:?}", run.validity);
    assert!(!has(&run, "commits_missing"), "{:?}", run.validity);
    let row = &run.rows[0];
    let commits = row.commits.expect("measured");
    assert!(commits > 20 && commits < 800_000, "{commits}");
}

#[test]
fn an_open_loop_that_is_cut_is_not_accused_of_what_the_cut_left_over() {
    // Most is written in bursts, so that the cut comes in one.
    let burst = ["--rate", "20", "--burst", "200@500ms", "--time", "60s"];
    let load = ["-w", "LGWR-LAT25", "--warmup", "0", "--jobs", "4"];
    let run = cut(&[&load[..], &burst].concat());
    assert_eq!(run.validity.shortened.len(), 1, "{:?}", run.validity);
    assert!(!has(&run, "max_write"), "{:?}", run.validity);
    let open = run.rows[0]
        .open_loop()
        .detail
        .as_ref()
        .expect("an open loop");
    let oldest = open.oldest_not_served_ns.unwrap_or(0);
    println!("{} not served, the oldest {oldest} ns", open.not_served);
    assert_eq!(has(&run, "backlog"), oldest > 1_000_000_000, "{open:?}");
}
