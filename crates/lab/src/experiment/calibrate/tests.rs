//! Cells that a known machine made: they are fitted, and other cells of it are predicted.

use super::super::begin::new_run;
use super::super::simulated::{ModelLog, setup};
use super::cells::{LOG_WRITERS, MeasuredCell, of_writer};
use super::predict::{in_json, judged};
use super::*;
use crate::experiment::console::Silent;
use crate::experiment::plan::LogPlan;
use ::measure::record::Recording;
use analysis::calibration::{CalibrationCell, errors};
use redo::LogWriter;
use simulate::{Costs, DeviceModel, LatencyTail, ServiceModel, run};
use std::path::Path;

/// The machine: not where a fit begins.
const TRUTH: Costs = Costs {
    work_ns: 900,
    copy_ns_per_kb: 100,
    turn_ns: 500,
    io_ns: 6000,
    wake_ns: 3500,
    switch_ns: 1000,
    idle_ns: 9000,
    poll_ns: 400,
    contention: 0.3,
    work_variation: 0.3,
};
const DISK: ServiceModel = ServiceModel {
    write_ns: 70_000.0,
    write_ns_per_kb: 400.0,
    flush_ns: Some(50_000.0),
    variation: 0.2,
    tail: LatencyTail {
        share: 0.002,
        mean_ns: 400_000.0,
    },
    ..ServiceModel::NOTHING
};

fn plan() -> CalibrationPlan {
    CalibrationPlan {
        target: PlannedTarget::Null,
        name: "a known machine".to_owned(),
        measured: MeasurementPlan::default(),
        time: Nanos::from_millis(100),
        warmup: Nanos::from_millis(20),
        holdout_seed: 3,
        effort: simulate::FitEffort {
            starts: 0,
            steps: 60,
            commits: 600,
        },
    }
}

fn recorded(writer: LogWriter, spec: &Spec, device: &ServiceModel, seed: u64) -> Recording {
    let log = of_writer(&LogPlan::default(), writer);
    let of = ModelLog {
        log: &log,
        seal_bytes: 4096,
    };
    let processors = crate::observe::machine::usable_cpus();
    let device = DeviceModel::Service(*device);
    let mut setup = setup(of, spec, processors, TRUTH, &device).expect("simulated");
    setup.seed = seed;
    run(&setup).expect("simulated").recording
}

/// What rounds on the known machine would have given.
fn measured(cells: &Cells, slower: f64) -> MeasuredCells {
    let mut out = MeasuredCells {
        cells: Vec::new(),
        runs: vec!["a-run".to_owned()],
        seal_bytes: 4096,
    };
    for writer in LOG_WRITERS {
        for spec in cells.specs(&plan()) {
            let later = ServiceModel {
                write_ns: DISK.write_ns * slower,
                ..DISK
            };
            let [a, b] =
                [(1, &DISK), (2, &later)].map(|(seed, of)| recorded(writer, &spec, of, seed));
            let cell = CalibrationCell {
                log_writer: writer.to_string(),
                jobs: spec.jobs,
                redo_bytes: spec.workload.redo_bytes,
            };
            let sync = [&a, &b].map(|of| of.foreground().sync);
            let log_write = a.background.clone().expect("a log writer").write;
            let rows = [a.row(), b.row()];
            out.cells
                .push(MeasuredCell::of(cell, rows, sync, log_write));
        }
    }
    out
}

fn without_a_device() -> Vec<[Run; 2]> {
    let nothing = ServiceModel {
        flush_ns: Some(0.0),
        ..ServiceModel::NOTHING
    };
    let of = |(writer, cells): (LogWriter, Cells)| {
        let run = |seed| {
            let mut run = new_run(Path::new("null"), "null", Default::default(), &[]);
            let specs = cells.specs(&plan());
            let rows = specs
                .iter()
                .map(|spec| recorded(writer, spec, &nothing, seed).row());
            run.rows = rows.collect();
            run
        };
        [run(1), run(2)]
    };
    Cells::without_a_device().map(of).to_vec()
}

#[test]
fn other_cells_of_a_known_machine_are_predicted() {
    let (plan, fitted_to) = (plan(), measured(&Cells::fitted(), 1.0));
    assert_eq!(fitted_to.refusal(), None);
    let null = without_a_device();
    let console = Silent::default();
    let fitted = Fitted::to(&fitted_to, &null, (&plan, &console)).expect("a fit");
    let shown = fitted.cells(&fitted_to, &null).expect("simulated");
    assert_eq!(shown.len(), 18 + 4, "{shown:?}");
    let drawn = Cells::drawn(plan.holdout_seed);
    let predicted = fitted.predicted(&drawn).expect("simulated");
    let kept = String::from_utf8(in_json(&predicted).expect("plain data")).expect("JSON");
    assert_eq!(kept.matches("\"band_per_s\"").count(), 15);
    let found = judged(predicted, &measured(&drawn, 1.0));
    let all = errors(&found).expect("all of them repeat");
    assert_eq!((all.judged, all.drawn), (15, 15));
    // The simulation is one and the same: only the fit can be wrong.
    assert!(
        all.per_s_pct < 10.0 && all.p50_pct < 12.0,
        "{all:?} {:?}",
        fitted.fit
    );
    let naive = all.power_law_pct.expect("six cells each");
    assert!(all.per_s_pct < naive, "{all:?}");
}

#[test]
fn cells_that_do_not_repeat_are_refused_with_the_worst_of_them() {
    let mut found = measured(&Cells::fitted(), 3.0);
    let why = found.refusal().expect("the second runs are slower");
    assert!(why.contains("commits/s") && why.contains("--time"), "{why}");
    let unsteady = found.unsteady();
    assert!(unsteady.rows.contains(&(1, 1997)), "{unsteady:?}");
    found.replace(measured(&unsteady, 1.0));
    assert_eq!(found.refusal(), None);
    assert_eq!(found.cells.len(), 18);
}

#[test]
fn all_parts_of_what_may_be_written_are_one() {
    let all = FITTED_PART + f64::from(REPEATED) * REPEATED_PART + JUDGING_PART;
    assert!((all - 1.0).abs() < 1e-9, "{all}");
}
