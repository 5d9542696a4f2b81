//! More sessions: where throughput stops growing, how many commits share a log write, and the
//! load above which delaying commits to group them is pointless.

use super::Info;
use super::catalogue;
use super::note::Note;
use crate::capacity::{self, CapacityPoint};
use crate::format;
use crate::rows::{COMMITS, rows_of, workloads, write_of};
use measure::run::{FloorRow, RedoLogFacts, Row, Run};

pub(super) fn collect(run: &Run, notes: &mut Vec<Note>) {
    for workload in workloads(run) {
        knee(run, workload, notes);
    }
    grouping(run, notes);
    delay(run, notes);
}

/// The knee of a ladder of jobs, with the step behind it.
fn knee(run: &Run, workload: &str, notes: &mut Vec<Note>) {
    let rows = rows_of(run, workload);
    let points: Vec<CapacityPoint> = rows.iter().filter_map(|r| CapacityPoint::of(r)).collect();
    let Ok(at) = capacity::knee(&points) else {
        return;
    };
    let step = points.get(at).and_then(|at| {
        let next = points.iter().find(|next| next.jobs > at.jobs)?;
        let latency = (at.latency_ms?, next.latency_ms?);
        Some((at, next, latency))
    });
    let Some((at, next, (latency_ms, next_ms))) = step else {
        return;
    };
    let tps = at.commits_per_s;
    let gain = 100.0 * (next.commits_per_s / tps - 1.0);
    // How near the stated need comes to it.
    let need = run.need.commit_rate.filter(|_| workload == COMMITS);
    let share = need.map(|rate| 100.0 * rate / tps);
    let need = share.map_or_else(String::new, |pct| {
        format!(
            " The need is {} of the rate at the knee.",
            format::percent(pct)
        )
    });
    notes.push(
        Note::of(
            &catalogue::CONCURRENCY_KNEE,
            Info,
            format!(
                "{workload} has its knee (largest throughput over latency) at {}: {} commits/s; with {} throughput changes by {:+.1} % while latency goes from {} to {} ms.{need}",
                format::jobs(at.jobs as u32),
                format::digits(tps),
                next.jobs,
                gain,
                format::digits(latency_ms),
                format::digits(next_ms),
            ),
        )
        .number("knee_jobs", at.jobs)
        .number("knee_tps", tps)
        .number("gain_pct", gain)
        .maybe("need_over_knee_pct", share),
    );
}

fn grouping(run: &Run, notes: &mut Vec<Note>) {
    let factor = |r: &Row| r.redo().commits_per_write.as_ref().map(|f| f.mean);
    let rows: Vec<(&Row, f64)> = crate::rows::waiting_rows(run)
        .filter_map(|r| Some((r, factor(r).filter(|mean| *mean > 0.0)?)))
        .collect();
    let by = |a: &&(&Row, f64), b: &&(&Row, f64)| a.1.total_cmp(&b.1);
    let (Some((low, least)), Some((high, most))) = (rows.iter().min_by(by), rows.iter().max_by(by))
    else {
        return;
    };
    notes.push(
        Note::of(
            &catalogue::CONCURRENCY_GROUP_COMMIT,
            Info,
            format!(
                "A log write serves {} commits in {} and {} in {}.",
                format::digits(*least),
                crate::rows::name_of(low),
                format::digits(*most),
                crate::rows::name_of(high),
            ),
        )
        .number("lowest_factor", *least)
        .number("highest_factor", *most),
    );
}

/// F: the time of one durable log write, from the probe, else from the row with fewest jobs.
fn floor_ns(run: &Run) -> Option<(f64, &'static str)> {
    let of_log = |f: &&FloorRow, log: &RedoLogFacts| {
        f.pre_written
            && f.sync_method == log.sync_method
            && f.write_bytes >= u64::from(log.seal_bytes)
            && f.latency.count > 0
    };
    let probed = run.target.redo_log().and_then(|log| {
        let rows = run.floor.iter().filter(|f| of_log(f, log));
        let least = rows.min_by_key(|f| f.write_bytes)?;
        Some((least.latency.mean_ns, "the probe"))
    });
    let row = || {
        let rows = rows_of(run, COMMITS);
        let write = write_of(rows.first()?)?;
        (write.count > 0).then_some((write.mean_ns, "log file parallel write at the fewest jobs"))
    };
    probed.or_else(row).filter(|(ns, _)| *ns > 0.0)
}

fn delay(run: &Run, notes: &mut Vec<Note>) {
    let Some((floor, from)) = floor_ns(run) else {
        return;
    };
    let load = 2e9 / floor;
    let reached = rows_of(run, COMMITS)
        .into_iter()
        .find(|r| r.commit_throughput_tps > Some(load));
    let seen = match reached {
        Some(row) => format!("reached here with {}", format::jobs(row.jobs)),
        None => "not reached here".to_owned(),
    };
    notes.push(
        Note::of(
            &catalogue::CONCURRENCY_DELAY,
            Info,
            format!(
                "Above {} commits/s (2/F, F = {} from {from}) delaying commits to group them is pointless: two or more arrive during each log write anyway; {seen}.",
                format::digits(load),
                format::latency(floor),
            ),
        )
        .number("load_tps", load)
        .number("floor_ms", floor / 1e6),
    );
}
