//! `compare --as capacity`: the curves of study 003, a run of this machine, and what is no sweep.

use crate::harness::{Place, schema_problems};
use std::path::Path;

fn study_003() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../studies/003/tables.tsv");
    file.display().to_string()
}

#[test]
fn study_003_has_its_loads_knees_and_odd_tests() {
    let place = Place::new();
    let study = study_003();
    let all = [
        "compare",
        "--as",
        "capacity",
        &study,
        "--sync-under",
        "1ms",
        "--commit-rate",
        "5k",
    ];
    place.run(&all).expect(
        0,
        &[
            "origin: imported",
            "LGWR-LAT125 on Exadata X9M-2 With PMEM 2021",
            "9,812 commits/s at most at a mean log file sync under 1 ms (about 40.5 jobs, interpolated",
            "headroom +96.2 %",
            "77,783 commits/s at least at a mean log file sync under 1 ms (measured, 72 jobs)",
            "No measured point has a mean log file sync under 1 ms",
            "Knee (largest throughput over latency): 7,936 commits/s at 60 jobs.",
            "Knee: none, throughput still rises at the last point",
            "contention (alpha) 0.0058",
            "extrapolated: the last point has 80 jobs",
            "Does not fit: from 24 to 32 jobs",
            "Does not fit: from 72 to 80 jobs",
            "evidence.sweep_changed",
            "without 193, 195, 197, 199",
            "without 220, 222, 224, 226",
        ],
    );
    let json = place
        .run(&[&all[..], &["--format", "json"]].concat())
        .json();
    let problems = schema_problems("capacity-1.schema.json", &json);
    assert_eq!(problems, Vec::<String>::new());
    let curves = json["sources"][0]["curves"].as_array().expect("curves");
    assert_eq!(curves.len(), 12);
    let odd = curves
        .iter()
        .filter(|c| c["anomalies"].as_array().is_some_and(|a| !a.is_empty()));
    assert_eq!(odd.count(), 2);
    let one = place.run(&[
        "compare",
        "--as",
        "capacity",
        &study,
        "--curve",
        "LAT25 on x86",
    ]);
    one.expect(0, &["LGWR-LAT25 on x86 Server"]);
    assert!(!one.out.contains("LGWR-LAT1 "), "{}", one.out);
    place
        .run(&["compare", "--as", "capacity", &study, "--curve", "NOPE"])
        .expect(
            2,
            &[
                "no workload named NOPE; there are LGWR-LAT1 on ",
                "LGWR-LAT25 on x86 Server",
            ],
        );
}

/// Findings, terminal and report have the knee of `redolab capacity`, and no other.
#[test]
fn an_output_has_one_knee() {
    let place = Place::new();
    let run = [
        "run",
        "--null",
        "--jobs",
        "1,2,4,8",
        "--commits",
        "3000",
        "--warmup",
        "0",
        "-q",
    ];
    place.run(&run).expect(0, &[]);
    let capacity = place
        .run(&["compare", "--as", "capacity", "last", "--format", "json"])
        .json();
    let knee = &capacity["sources"][0]["curves"][0]["knee"]["jobs"];
    let run = place
        .run(&["runs", "show", "last", "--format", "json"])
        .json();
    let findings = run["findings"].as_array().expect("findings");
    let found = findings.iter().find(|f| f["id"] == "concurrency.knee");
    let number = |f: &serde_json::Value| {
        let numbers = f["numbers"].as_array().expect("numbers");
        let known = numbers.iter().find(|pair| pair[0] == "knee_jobs");
        known.map(|pair| pair[1].clone())
    };
    assert_eq!(
        found.and_then(number),
        Some(knee.clone()).filter(|k| !k.is_null())
    );
    let study = place.run(&[
        "compare",
        "--as",
        "capacity",
        &study_003(),
        "--curve",
        "LGWR-THR on Exadata X5-2",
    ]);
    study.expect(0, &["Knee"]);
    assert_eq!(
        study.out.to_lowercase().matches("knee").count(),
        1,
        "{}",
        study.out
    );
}

/// The last test of study 003 on its x86 server is above the ceiling of the law that is fitted.
#[test]
fn a_ceiling_below_a_measured_rate_is_not_printed() {
    let place = Place::new();
    let found = place.run(&[
        "compare",
        "--as",
        "capacity",
        &study_003(),
        "--curve",
        "LGWR-LAT1 on x86",
    ]);
    found.expect(
        0,
        &[
            "Knee: none, throughput over latency is largest at the first point",
            "no ceiling: the ceiling of the fitted law is below the highest",
        ],
    );
    assert!(!found.out.contains("levels out to"), "{}", found.out);
}

#[test]
fn a_measured_run_has_a_curve_and_what_is_no_sweep_is_refused() {
    let place = Place::new();
    let one = place.store_a_run();
    place
        .run(&["compare", "--as", "capacity", &one])
        .expect(1, &["two numbers of jobs"]);
    let run = [
        "run", "--null", "--jobs", "1,2,4", "--time", "100ms", "--warmup", "0", "-q",
    ];
    place.run(&run);
    let found = place.run(&["compare", "--as", "capacity", "last", "--commit-rate", "10"]);
    found.expect(
        0,
        &[
            "origin: measured",
            "Highest measured rate",
            "Universal Scalability Law: not fitted, 3 values, at least 4 are needed",
            "headroom +",
        ],
    );
    place
        .run(&["compare", "--as", "capacity", "none.csv"])
        .expect(2, &["there is no such file"]);
    place
        .run(&["compare", "--as", "capacity", "last", "--sync-under", "1"])
        .expect(2, &["--sync-under"]);
    place
        .run(&["compare", "--as", "capacity"])
        .expect(2, &["name what to compare"]);
    std::fs::write(place.path().join("no.txt"), "nothing\u{1b}[2J\n").expect("writes");
    let found = place.run(&["compare", "--as", "capacity", "no.txt"]);
    found.expect(1, &["no.txt"]);
    assert!(!found.err.contains('\u{1b}'));
}
