//! One judge: whatever command made a run, it was judged before it was stored, and only `check`,
//! and `run` with a need, turn a verdict into an exit code.

use crate::harness::Place;
use measure::judgement::Weight;
use measure::run::{Origin, Run};
use redolab::store::Store;
use std::fmt::Write;
use std::path::Path;

/// A small log and a short row.
const SMALL: [&str; 12] = [
    "--jobs",
    "2",
    "--time",
    "100ms",
    "--warmup",
    "20ms",
    "--log-file-size",
    "8M",
    "--log-groups",
    "2",
    "--allow-busy",
    "-q",
];

/// The runs of a store, the latest last.
fn stored(place: &Place) -> Vec<Run> {
    let store = Store::open(&place.store).expect("opens");
    let entries = store.list().expect("lists");
    let load = |entry: &redolab::store::Entry| store.load(&entry.id).expect("complete");
    entries.iter().map(load).collect()
}

fn has(run: &Run, id: &str) -> bool {
    run.findings.iter().any(|f| f.id == id)
}

#[test]
fn run_and_each_round_of_compare_are_judged() {
    let place = Place::new();
    let target = place.target.display().to_string();
    let (a, b) = (format!("a={target}"), format!("b={target}"));
    let run = [&["run", "--on", &target][..], &SMALL].concat();
    place.run(&run).expect(0, &["Findings", "Verdict: "]);
    let rounds = ["compare", "--on", &a, "--on", &b, "--rounds", "1"];
    place.run(&[&rounds[..], &SMALL].concat());
    let runs = stored(&place);
    assert_eq!(runs.len(), 3);
    for run in &runs {
        assert!(has(run, "latency.write_mean"), "{:?}", run.findings);
        let verdict = run.verdict.as_ref().expect("a verdict");
        assert_eq!(verdict.reasons.len(), run.findings.len());
        assert!(verdict.scope.seconds > 0.09, "{:?}", verdict.scope);
        assert!(verdict.scope.log_footprint_bytes > 0);
    }
    let shown = place.run(&["runs", "show", "-v", &runs[1].run_id]);
    shown.expect(0, &["Verdict: ", "[latency.write_mean]", "Not judged"]);
}

/// A floor says nothing of commits: it has findings and no verdict.
#[test]
fn a_probe_has_findings_and_no_verdict() {
    let place = Place::new();
    let target = place.target.display().to_string();
    let probe = ["probe", &target, "--time", "2ms", "--allow-busy", "-q"];
    place.run(&probe).expect(0, &["Findings"]);
    let runs = stored(&place);
    assert!(!runs[0].findings.is_empty() && !runs[0].floor.is_empty());
    assert_eq!(runs[0].verdict, None);
}

/// A trace of a log writer with writes of `us` microseconds.
fn trace(us: u64) -> String {
    let mut text = String::from(
        "Trace file /u01/diag/rdbms/x/x1/trace/x1_lgwr_4711.trc\n\
         Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\n\
         Instance name: x1\n\
         Unix process pid: 4711, image: oracle@host (LGWR)\n\n\
         *** 2026-11-20T10:00:00.000000+01:00\n",
    );
    for n in 0..200_u64 {
        let (ela, tim) = (us + n % 7, 1_000_000 + n * 40_000);
        let wait = format!(
            "WAIT #0: nam='log file parallel write' ela= {ela} files=1 blocks=4 requests=1 \
             obj#=-1 tim={tim}"
        );
        writeln!(text, "{wait}").expect("memory");
    }
    text
}

#[test]
fn evidence_of_slow_log_writes_is_judged_without_a_verdict() {
    let place = Place::new();
    for (us, slow) in [(25_000, true), (300, false)] {
        std::fs::write(place.path().join("lgwr.trc"), trace(us)).expect("a file");
        let table = place.run(&["import", "lgwr.trc"]);
        table.expect(0, &["What the figures show", "latency.write_mean"]);
        let run = stored(&place).pop().expect("a run");
        assert_eq!((run.origin, &run.verdict), (Origin::Imported, &None));
        let found = run.findings.iter().find(|f| f.id == "latency.write_mean");
        let found = found.expect("the rule of thumb");
        assert_eq!(found.weight == Weight::Bad, slow, "{found:?}");
        assert!(table.out.contains(&found.claim), "{}", table.out);
        // One process has one mean, and no jobs.
        let says = |words: &str| found.claim.contains(words);
        assert!(
            says(" over 200 waits (") && !says("ranges"),
            "{}",
            found.claim
        );
        let all = run.findings.iter().map(|f| &f.claim);
        assert!(
            all.clone().all(|c| !c.contains("with 1 job")),
            "{:?}",
            run.findings
        );
        let report = ["report", &run.run_id, "-o", "report.html"];
        place.run(&report).expect(0, &[]);
        let html = std::fs::read_to_string(place.path().join("report.html")).expect("written");
        assert!(html.contains(&found.claim), "{}", found.claim);
        std::fs::remove_file(place.path().join("report.html")).expect("it is there");
    }
}

/// Nothing makes the log writer write while the row runs, so that no transaction begins in its
/// time: the run is invalid, whatever command shows it.
#[test]
fn an_invalid_run_ends_with_4() {
    let place = Place::new();
    let never = [
        "run", "--null", "--jobs", "3", "--time", "100ms", "--warmup", "20ms",
    ];
    let done = place.run(&[&never[..], &["--flush-triggers", "none"]].concat());
    done.expect(4, &["INVALID", "no_commits", "Findings"]);
    let id = &stored(&place)[0].run_id;
    place.run(&["runs", "show", id]).expect(4, &["INVALID"]);
    place.run(&["report", id]).expect(4, &["Report: "]);
    // What keeps nothing has a verdict of no, which is an exit code of check alone.
    place.store_a_run();
    let kept = stored(&place).pop().expect("a run");
    let answer = kept.verdict.as_ref().map(|v| v.answer);
    assert_eq!(answer, Some(measure::judgement::Answer::No));
}

/// The null device keeps nothing, so that every verdict on it is no, whatever the machine does.
#[test]
fn a_run_of_any_workload_is_judged_against_a_need_and_only_then_decides() {
    let place = Place::new();
    let run = |options: &str, more: &[&str]| {
        let words: Vec<&str> = options.split(' ').collect();
        let null = ["run", "--null", "--warmup", "0", "-q", "--format", "json"];
        place.run(&[&null[..], &words, more].concat())
    };
    for (options, name) in [
        ("--workload storm --jobs 2 --commits 2000", "storm"),
        ("--nodes 2 --jobs 1 --commits 2000", "LGWR-LAT1"),
        (
            "--commit-write nowait-batch --jobs 1 --commits 20000",
            "LGWR-LAT1",
        ),
        (
            "--workload LGWR-LAT25 --jobs 1 --commits 2000",
            "LGWR-LAT25",
        ),
    ] {
        run(options, &[]).expect(0, &[]);
        run(options, &["--strict"]).expect(3, &[]);
        for (rate, performance) in [("1", "meets"), ("1000M", "misses")] {
            let judged = run(options, &["--commit-rate", rate]);
            let verdict = &judged.expect(3, &[]).json()["verdict"];
            assert_eq!(verdict["performance"], performance, "{options}: {verdict}");
            let reasons = verdict["reasons"].as_array().expect("reasons").iter();
            let mut claims = reasons.filter(|reason| reason["id"] == "need.commit_rate");
            let claim = claims.next().map(|reason| reason["claim"].to_string());
            let claim = claim.unwrap_or_default();
            assert!(
                claim.contains(&format!("{name} reached")),
                "{options}: {claim}"
            );
        }
    }
    let report = place.path().join("run.html").display().to_string();
    let with_report = ["--report", &report, "--p99", "10s"];
    run("--jobs 1 --commits 2000", &with_report).expect(3, &[]);
    assert!(Path::new(&report).is_file());
}

#[test]
fn check_takes_the_options_of_run_that_name_where() {
    let place = Place::new();
    let on = place.target.display().to_string();
    let plan = [
        "--dry-run",
        "--allow-busy",
        "--jobs",
        "1",
        "--log-file-size",
        "8M",
    ];
    let check = |more: &[&str]| place.run(&[&["check", "--on", &on], more, &plan].concat());
    check(&[]).expect(0, &["nothing was written"]);
    check(&["--nodes", "2"]).expect(0, &["with 2 jobs", "nothing was written"]);
    place.expect_clean(&place.target);
}
