//! Fits a model to some cells of FILEs that `benches/ways` printed and predicts all of them:
//! `judge FILE... fit=DEVICE,CPUS,SESSIONS,RECORD,MODE;...`. See experiments/what-if.

use measure::workload::Workload;
use redo::{Geometry, LogWriter, Policy, Triggers};
use simulate::{
    Costs, DeviceModel, FitEffort, LogSetup, MeasuredCell, ServiceModel, SimulationSetup, fit, run,
};
use std::collections::BTreeMap;

const DISK: ServiceModel = ServiceModel {
    write_ns: 25_000.0,
    write_ns_per_kb: 60.0,
    flush_ns: Some(25_000.0),
    variation: 0.25,
    ..ServiceModel::NOTHING
};
const GEOMETRY: Geometry = Geometry {
    block_bytes: 4096,
    seal_blocks: 1,
    groups: 3,
    blocks_per_group: 16_380,
    header_bytes: 8192,
    file_bytes: 64 << 20,
};

/// Figures of a cell in one round: commits per second, p50 and p99 in microseconds, processor time
/// per commit in microseconds.
type Figures = [f64; 4];

/// The cell of `device,cpus,sessions,record,mode`; `None` where its log writer is not simulated.
fn setup(name: &str, time_ns: u64) -> Option<SimulationSetup> {
    let parts: Vec<&str> = name.split(',').collect();
    let (writer, sync) = parts[4].split_once('+').unwrap_or((parts[4], ""));
    let mut workload = Workload::standard().swap_remove(0);
    workload.redo_bytes = parts[3].parse().ok()?;
    let nothing = ServiceModel {
        write_ns: 0.0,
        write_ns_per_kb: 0.0,
        flush_ns: Some(0.0),
        ..DISK
    };
    Some(SimulationSetup {
        processors: if parts[1] == "any" { 2 } else { 1 },
        costs: Costs::ROUND,
        log: LogSetup {
            writer: writer.parse::<LogWriter>().ok()?,
            log_file_sync: sync.parse().ok(),
            triggers: Triggers::default(),
            policy: Policy::default(),
            geometry: GEOMETRY,
            buffer_blocks: (16 << 20) / 4096,
        },
        sessions: parts[2].parse().ok()?,
        workload,
        device: DeviceModel::Service(if parts[0] == "null" { nothing } else { DISK }),
        members: None,
        way: simulate::WayToDevices::default(),
        warmup_ns: 20_000_000,
        time_ns,
        commits: None,
        seed: 7,
    })
}

/// The geometric mean of a figure over the rounds.
fn mean(rounds: &[Figures], at: usize) -> f64 {
    let sum: f64 = rounds.iter().map(|figures| figures[at].ln()).sum();
    (sum / rounds.len() as f64).exp()
}

fn read(path: &str, cells: &mut BTreeMap<String, Vec<Figures>>) -> std::io::Result<()> {
    for line in std::fs::read_to_string(path)?.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let quiet = fields[3] == "0" && fields[1] != "2ms";
        let figure = |at: usize| fields[at].parse().unwrap_or(f64::NAN);
        if quiet {
            let name = [&fields[1..3], &fields[4..7]].concat().join(",");
            let figures = [7, 9, 10, 13].map(figure);
            cells.entry(name).or_default().push(figures);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut cells, mut fitted) = (BTreeMap::new(), String::new());
    for argument in std::env::args().skip(1) {
        match argument.strip_prefix("fit=") {
            Some(list) => fitted = list.to_owned(),
            None => read(&argument, &mut cells)?,
        }
    }
    let is_fitted = |name: &str| fitted.split(';').any(|cell| cell == name);
    let chosen = cells.iter().filter(|(name, _)| is_fitted(name));
    let chosen: Vec<MeasuredCell> = chosen
        .filter_map(|(name, rounds)| {
            Some(MeasuredCell {
                setup: setup(name, 40_000_000)?,
                per_s: mean(rounds, 0),
                processor_ns: Some(mean(rounds, 3) * 1e3),
                sync_p50_ns: None,
            })
        })
        .collect();
    let effort = FitEffort {
        starts: 3,
        steps: 200,
        commits: 2000,
    };
    let found = fit(
        &chosen,
        (Costs::ROUND, &DeviceModel::Service(DISK)),
        effort,
        &|| true,
    )?;
    eprintln!("{found:#?}");
    println!(
        "device,cpus,sessions,record,mode,fitted,measured_per_s,simulated_per_s,off_pct,\
         rounds_differ_pct,measured_p50_us,simulated_p50_us,measured_p99_us,simulated_p99_us"
    );
    for (name, rounds) in &cells {
        let Some(mut setup) = setup(name, 300_000_000) else {
            continue;
        };
        setup.costs = found.costs;
        if !setup.device.is_nothing() {
            setup.device = found.device.clone();
        }
        let Ok(outcome) = run(&setup) else { continue };
        let of = outcome.recording.foreground();
        let seconds = outcome.recording.elapsed_ns() as f64 / 1e9;
        let (simulated, measured) = (of.latency.count() as f64 / seconds, mean(rounds, 0));
        let rates = rounds.iter().map(|figures| figures[0]);
        let (most, least) = (
            rates.clone().fold(0.0, f64::max),
            rates.fold(f64::MAX, f64::min),
        );
        println!(
            "{name},{},{measured:.0},{simulated:.0},{:.1},{:.1},{:.1},{:.1},{:.1},{:.1}",
            is_fitted(name),
            (simulated / measured - 1.0) * 100.0,
            (most / least - 1.0) * 100.0,
            mean(rounds, 1),
            of.sync.quantile_raw(0.5) as f64 / 1e3,
            mean(rounds, 2),
            of.sync.quantile_raw(0.99) as f64 / 1e3,
        );
    }
    Ok(())
}
