//! How long a comparison of two runs of many events takes, bootstrap included:
//! `cargo run --release -p redolab-analysis --example compare_events -- 4000000`.

use analysis::compare::{Options, Side, WaitSeries, stored};
use analysis::stats::random::Random;
use measure::run::{Environment, Origin, Row, Run, SCHEMA, Target, Validity, WorkloadInfo};
use std::time::Instant;

/// Log file sync of study 004's shape: half a millisecond, level wandering slowly.
fn events(seed: u64, n: usize, mean_ns: f64) -> Vec<u64> {
    let mut r = Random::new(seed);
    let mut level = 0.0;
    (0..n)
        .map(|_| {
            level = 0.9999 * level + 0.0005 * r.normal();
            (mean_ns * (level + 0.3 * r.normal()).exp()) as u64
        })
        .collect()
}

fn side(name: &str, seed: u64, n: usize, mean_ns: f64) -> Side {
    let events = events(seed, n, mean_ns);
    let series = WaitSeries::of_events(&events);
    let row = Row {
        workload: "LGWR-LAT1".to_owned(),
        nodes: 1,
        jobs: 20,
        waits: [("log_file_sync".to_owned(), series.merged.stats())].into(),
        ..Row::default()
    };
    Side {
        name: name.to_owned(),
        run: Run {
            schema: SCHEMA.to_owned(),
            run_id: name.to_owned(),
            created: String::new(),
            origin: Origin::Simulated,
            redolab_version: String::new(),
            notes: measure::run::RunNotes::default(),
            command: Vec::new(),
            target: Target::default(),
            workload: WorkloadInfo::default(),
            environment: Environment::default(),
            rows: vec![row],
            floor: Vec::new(),
            placement: None,
            power_tests: None,
            lab_overhead_ns: None,
            findings: Vec::new(),
            validity: Validity::sound(),
            need: measure::judgement::Need::default(),
            verdict: None,
            report: None,
            diagnostics: Vec::new(),
            imported: None,
        },
        complete: true,
        series: vec![[("log_file_sync".to_owned(), series)].into()],
    }
}

fn main() {
    let n = std::env::args().nth(1).and_then(|a| a.parse().ok());
    let n: usize = n.unwrap_or(4_000_000);
    let begun = Instant::now();
    let sides = [side("off", 1, n, 508_676.0), side("on", 2, n, 542_358.0)];
    println!(
        "{n} events each, made and cut: {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    let begun = Instant::now();
    let comparison = stored::compare(&sides, &Options::default());
    println!("compared: {:.2} s", begun.elapsed().as_secs_f64());
    for d in comparison.differences.iter().take(4) {
        println!("{}: {}", d.metric, d.sentence);
    }
}
