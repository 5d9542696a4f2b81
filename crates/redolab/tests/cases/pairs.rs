//! Before and after, and one load beside another: evidence that is compared without labels, with
//! labels, and as one sweep.

use crate::harness::{Done, Place};
use crate::hourly::{HEALTHY, Hour, report, words};
use std::fmt::Write;
use std::path::Path;

fn write(place: &Place, name: &str, text: &str) {
    let path = place.path().join(name);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::write(path, text).expect("written");
}

/// Two reports: commits are slower after, and log writes are not.
fn two_reports() -> Place {
    let place = Place::new();
    write(&place, "monday.txt", &report(1, 3, &HEALTHY));
    let slower = Hour {
        sync_ms: 2.2,
        ..HEALTHY
    };
    write(&place, "tuesday.out", &report(1, 27, &slower));
    place
}

const ANSWER: &str =
    "Log file sync 1.10 ms to 2.20 ms (+100 %); log file parallel write unchanged at";

#[test]
fn two_files_of_evidence_are_before_and_after_without_labels() {
    let place = two_reports();
    let done = place.run(&["compare", "monday.txt", "tuesday.out"]);
    done.expect(
        0,
        &[
            ANSWER,
            "it is not the device",
            "tuesday.out over monday.txt",
        ],
    );
    // A folder is a set.
    write(&place, "after/a.txt", &report(1, 27, &HEALTHY));
    place
        .run(&["compare", "monday.txt", "after"])
        .expect(0, &["Log file sync unchanged at 1.10 ms"]);
    let more = ["compare", "monday.txt", "tuesday.out", "after"];
    place.run(&more).expect(
        2,
        &[
            "3 of 3 names are evidence",
            "redolab compare --label before=DIR --label after=DIR",
        ],
    );
    place
        .run(&["compare", "monday.txt", "nothing.txt"])
        .expect(2, &["nothing.txt"]);
}

#[test]
fn sets_of_evidence_have_a_page_a_ticket_and_limits() {
    let place = two_reports();
    let compare = |more: &[&str]| -> Done {
        let labels = [
            "compare",
            "--label",
            "before=monday.txt",
            "--label",
            "after=tuesday.out",
        ];
        place.run(&[&labels[..], more].concat())
    };
    compare(&["--report", "both.html"]).expect(0, &["Report: both.html"]);
    let page = std::fs::read_to_string(place.path().join("both.html")).expect("a page");
    for part in [ANSWER, "it is not the device", "before or after"] {
        assert!(page.contains(part), "{part}");
    }
    let ticket = words(&compare(&["--format", "markdown"]).expect(0, &[]).out);
    assert!(ticket.contains(ANSWER), "{ticket}");
    let limit = |condition: &str| compare(&["--fail-if", condition]).code;
    assert_eq!(limit("log_file_sync.mean > 2ms"), Some(3));
    assert_eq!(limit("log_file_sync.mean > 3ms"), Some(0));
    // The page is kept off what is read.
    compare(&["--report", "monday.txt"]).expect(2, &["this command reads"]);
}

/// A summary as pgbench prints it.
fn pgbench(clients: u32, tps: f64, script: &str) -> String {
    let latency = f64::from(clients) * 1e3 / tps;
    format!(
        "transaction type: {script}\n\
         scaling factor: 10\n\
         query mode: simple\n\
         number of clients: {clients}\n\
         number of threads: 1\n\
         maximum number of tries: 1\n\
         duration: 60 s\n\
         number of transactions actually processed: {:.0}\n\
         number of failed transactions: 0 (0.000%)\n\
         latency average = {latency:.3} ms\n\
         initial connection time = 5.118 ms\n\
         tps = {tps:.6} (without initial connection time)\n",
        tps * 60.0
    )
}

const TPC_B: &str = "<builtin: TPC-B (sort of)>";
/// Clients and rates of a sweep: it levels out at some 4,800 transactions per second.
const SWEEP: [(u32, f64); 6] = [
    (1, 620.0),
    (2, 1_190.0),
    (4, 2_150.0),
    (8, 3_400.0),
    (16, 4_400.0),
    (32, 4_800.0),
];

#[test]
fn pgbench_with_several_numbers_of_clients_is_a_sweep() {
    let place = Place::new();
    let mut arguments = vec![
        "compare".to_owned(),
        "--as".to_owned(),
        "capacity".to_owned(),
    ];
    for (clients, tps) in SWEEP {
        write(
            &place,
            &format!("pg/c{clients:02}.txt"),
            &pgbench(clients, tps, TPC_B),
        );
        arguments.push(format!("pg/c{clients:02}.txt"));
    }
    let expected = [
        "pgbench <builtin: TPC-B (sort of)>, scale 10, simple",
        "contention (alpha)",
        "4,800",
    ];
    place.run(&arguments).expect(0, &expected);
    place
        .run(&["compare", "--as", "capacity", "pg"])
        .expect(0, &expected);
    // What only reads commits nothing.
    for clients in [1, 8] {
        let text = pgbench(
            clients,
            20_000.0 * f64::from(clients),
            "<builtin: select only>",
        );
        write(&place, &format!("read/c{clients}.txt"), &text);
    }
    place.run(&["compare", "--as", "capacity", "read"]).expect(
        1,
        &["no workload has rates of commits at two numbers of jobs"],
    );
}

#[test]
fn two_summaries_of_pgbench_are_compared() {
    let place = Place::new();
    write(&place, "on.txt", &pgbench(8, 3_400.0, TPC_B));
    write(&place, "off.txt", &pgbench(8, 6_800.0, TPC_B));
    let labels = ["compare", "--label", "on=on.txt", "--label", "off=off.txt"];
    let done = place.run(&labels);
    done.expect(0, &["Commits per second 3,400 /s to 6,800 /s (+100 %)"]);
    assert!(!done.out.contains("Nothing is comparable"), "{}", done.out);
    assert!(
        !done.out.contains("no row of this workload"),
        "{}",
        done.out
    );
}

/// Waits of a trace in µs: two humps, independent of each other (splitmix64).
fn waits(level: u64, seed: u64) -> Vec<u64> {
    let mut state = level * 1_000 + seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut wait = || match random() % 5 {
        0 => 4 * level + random() % 97,
        _ => level + random() % 97,
    };
    (0..400 + 10 * seed).map(|_| wait()).collect()
}

fn trace(host: &str, pid: u64, waits: &[u64]) -> String {
    let mut text = format!(
        "Trace file /u01/diag/db1_ora_{pid}.trc\n\
         Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\n\
         Instance name: db1\n\
         Unix process pid: {pid}, image: oracle@{host}\n\n\
         *** 2024-01-01T10:00:00.000000+00:00\n"
    );
    let mut at = 1_000_000;
    for ela in waits {
        at += ela + 5_000;
        let rest = "buffer#=1 sync scn=2 obj#=-1";
        let _ = writeln!(
            text,
            "WAIT #0: nam='log file sync' ela= {ela} {rest} tim={at}"
        );
    }
    text
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Twenty sessions before and twenty after, of other hosts and with other process ids. Their ratio
/// is that of all waits of each side, and its interval the one of independent waits.
#[test]
fn twenty_traces_of_each_side_are_two_samples() {
    let place = Place::new();
    let mut sides: [Vec<f64>; 2] = Default::default();
    for (side, (folder, host, level)) in [("before", "alpha", 500), ("after", "beta", 600)]
        .into_iter()
        .enumerate()
    {
        for session in 0..20 {
            let waits = waits(level, session);
            let pid = 1_000 * (side as u64 + 1) + 37 * session;
            let name = format!("{folder}/{host}_{pid}.trc");
            write(&place, &name, &trace(host, pid, &waits));
            sides[side].extend(waits.iter().map(|us| *us as f64));
        }
    }
    let labels = [
        "compare",
        "--label",
        "before=before",
        "--label",
        "after=after",
    ];
    let done = place.run(&[&labels[..], &["--format", "json", "--report", "both.html"]].concat());
    let json = done.expect(0, &[]).json();
    let all = json["differences"].as_array().expect("differences");
    let of = |d: &&serde_json::Value| d["metric"] == "log_file_sync.mean";
    let found: Vec<_> = all.iter().filter(of).collect();
    let [found] = found.as_slice() else {
        panic!("one pair of one role: {found:#?}");
    };
    let figure = |key: &str| found[key].as_f64().expect("a number");
    let [before, after] = sides.each_ref().map(|side| mean(side));
    assert!((figure("a") - before * 1e3).abs() < 1.0, "{found:#}");
    assert!((figure("b") - after * 1e3).abs() < 1.0, "{found:#}");
    assert!((figure("ratio") - after / before).abs() < 1e-6, "{found:#}");
    // The delta method on all waits.
    let part = |side: &[f64]| {
        let m = mean(side);
        let squares = side.iter().map(|x| (x - m).powi(2)).sum::<f64>();
        squares / (side.len() - 1) as f64 / side.len() as f64 / (m * m)
    };
    let error = (part(&sides[0]) + part(&sides[1])).sqrt();
    let ratio = figure("ratio");
    for end in [figure("ci_low"), figure("ci_high")] {
        let found = (end / ratio).ln().abs();
        let wanted = 1.96 * error;
        assert!(
            (0.7..1.4).contains(&(found / wanted)),
            "{end}: {found} and {wanted}"
        );
    }
    let page = std::fs::read_to_string(place.path().join("both.html")).expect("a page");
    expect_densities(&page);
}

fn expect_densities(page: &str) {
    let start = page
        .find("id=\"densities\"")
        .expect("a section of densities");
    let section = &page[start..];
    for part in ["foreground with 1 job: log file sync", "most waits around"] {
        assert!(section.contains(part), "{part}");
    }
}

/// Copies of /proc/diskstats without the times between them have numbers and no rates.
#[test]
fn devices_without_times_have_no_rate_per_second() {
    let place = Place::new();
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/parts");
    let text = std::fs::read_to_string(cases.join("13-diskstats-two.txt")).expect("an input");
    let untimed: String = text
        .lines()
        .filter(|line| line.split_whitespace().count() > 3)
        .map(|line| format!("{line}\n"))
        .collect();
    for name in ["a.txt", "b.txt"] {
        std::fs::write(place.path().join(name), &untimed).expect("written");
    }
    let done = place.run(&["compare", "--label", "a=a.txt", "--label", "b=b.txt"]);
    assert!(!done.out.contains("writes/s"), "{done:?}");
}
