//! What is said of rows before they run: their names, what they write at most, and what a run
//! holds about the load as a whole.

use super::LogPlan;
use crate::experiment::measure::payload;
use crate::experiment::measure::row::Spec;
use measure::run::{RedoWorkload, RowCondition, SizeSweep, WorkloadInfo};
use measure::words::{self, size};
use measure::workload::{CommitMode, CommitWait, SIZE_SWEEP};
use std::collections::BTreeMap;

/// As fast as fast devices write: what a closed loop may come to whose sessions wait.
const FAST_BYTES_PER_S: f64 = 2e9;
/// And one whose sessions do not wait: as fast as one fast drive takes a stream.
const FAST_STREAM_BYTES_PER_S: f64 = 10e9;
/// Header of a redo record, and the largest redo block with its header.
const RECORD_HEADER_BYTES: f64 = redo::format::RECORD_HEADER_BYTES as f64;
const BLOCK_BYTES: f64 = 4096.0;
const BLOCK_PAYLOAD_BYTES: f64 = 4096.0 - 40.0;

/// Bytes that a row writes at most, padding to whole blocks included; of a closed loop for a time,
/// as much as fast devices take.
pub fn expected_bytes(spec: &Spec) -> u64 {
    let workload = &spec.workload;
    let redo = f64::from(workload.redo_bytes) + RECORD_HEADER_BYTES * f64::from(workload.records);
    let transaction = (redo / BLOCK_PAYLOAD_BYTES).ceil() * BLOCK_BYTES;
    let seconds = (spec.time.plus(spec.warmup)).as_secs();
    let bytes = match (spec.commits, &spec.arrivals) {
        (Some(n), _) => n as f64 * f64::from(spec.jobs) * transaction,
        (None, Some(open)) => {
            let burst = open.burst.map_or(0.0, |burst| f64::from(burst.size));
            (open.offered_per_s() * seconds + burst) * transaction
        }
        (None, None) => {
            seconds
                * match workload.commit.wait {
                    CommitWait::Wait => FAST_BYTES_PER_S,
                    CommitWait::Nowait => FAST_STREAM_BYTES_PER_S,
                }
        }
    };
    // A cast saturates.
    (bytes as u64).min(spec.max_redo_bytes.saturating_add(spec.max_redo_bytes / 2))
}

/// What each row would write, for a dry run.
pub fn announced(specs: &[Spec]) -> Vec<String> {
    let line = |spec: &Spec| {
        let commits = match (spec.commits, &spec.arrivals) {
            (Some(n), _) => format!(
                "{n} commits each, {} in all",
                n.saturating_mul(u64::from(spec.jobs))
            ),
            (None, Some(open)) => format!(
                "{} commits per second for {} s",
                open.offered_per_s(),
                spec.time.as_secs()
            ),
            (None, None) => format!("{} s", spec.time.as_secs()),
        };
        if spec.workload.known_redo_bytes().is_none() {
            let jobs = words::jobs(spec.jobs);
            return format!("  {} with {jobs}: {commits}", spec.workload.name);
        }
        format!(
            "  {}: {} of redo per transaction, {commits}: up to {}",
            row_name(spec),
            size(u64::from(spec.workload.redo_bytes)),
            size(expected_bytes(spec))
        )
    };
    specs.iter().map(line).collect()
}

/// What a run says of a sweep: its sizes, where a break is expected, and study 002's controls.
pub(crate) fn size_sweep(specs: &[Spec], log: &LogPlan, block_bytes: u32) -> Option<SizeSweep> {
    let swept = |spec: &&Spec| spec.workload.name == SIZE_SWEEP;
    let mut sizes: Vec<u32> = specs
        .iter()
        .filter(swept)
        .map(|s| s.workload.redo_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    (!sizes.is_empty()).then(|| SizeSweep {
        sizes_bytes: sizes,
        flush_threshold_bytes: log.triggers.bytes.map(u64::from),
        buffer_third_bytes: log.triggers.third.then_some(log.buffer_bytes as u64 / 3),
        redo_block_bytes: block_bytes,
        archiving: log.background.archive.is_some(),
        smart_flash_logging: false,
    })
}

/// A row, as it is named to people.
pub(crate) fn row_name(spec: &Spec) -> String {
    let jobs = words::jobs(spec.jobs);
    format!("{} with {jobs}{}", spec.workload.name, condition(spec))
}

/// The condition of a row, to be put behind its name; empty where it has none.
fn condition(spec: &Spec) -> String {
    let condition = spec.condition.as_ref().map(RowCondition::in_words);
    condition.unwrap_or_default()
}

/// A row while it runs: which of how many.
pub(crate) fn phase_name(spec: &Spec, index: usize, rows: usize) -> String {
    let jobs = words::jobs(spec.jobs);
    let condition = condition(spec);
    format!(
        "{} {jobs}{condition} ({}/{rows})",
        spec.workload.name,
        index + 1
    )
}

/// What a run says of its load.
pub(crate) fn workload_info(specs: &[Spec]) -> WorkloadInfo {
    let first = specs.first();
    let mut names: Vec<String> = specs.iter().map(|s| s.workload.name.clone()).collect();
    names.dedup();
    let mut jobs: Vec<u32> = Vec::new();
    for spec in specs {
        if !jobs.contains(&spec.jobs) {
            jobs.push(spec.jobs);
        }
    }
    if names.len() > 1 {
        // Each workload has a ladder of its own.
        jobs.sort_unstable();
    }
    let soak = specs.iter().find(|s| s.soak);
    WorkloadInfo::Redo(RedoWorkload {
        names,
        jobs,
        time_s: first
            .filter(|s| s.commits.is_none())
            .map(|s| s.time.as_secs()),
        warmup_s: first.map_or(0.0, |s| s.warmup.as_secs()),
        commits: first.and_then(|s| s.commits),
        cpu_per_txn_us: first.map_or(0.0, |s| s.cpu_per_txn.0 as f64 / 1e3),
        commit_write: commit_write(specs),
        commit_api: first.map(|s| s.api.name().to_owned()),
        seed: first.map_or(1, |s| s.seed),
        arrivals: specs.iter().find_map(|s| s.arrivals),
        soak_s: soak.map(|s| s.time.as_secs()),
        payload: first
            .filter(|s| s.workload.known_redo_bytes().is_some())
            .map(payload::measured),
        size_sweep: None,
        tproc_c: specs.iter().find_map(|s| s.workload.tproc_c),
    })
}

/// `COMMIT WRITE` of each workload, as a run records it.
fn commit_write(specs: &[Spec]) -> BTreeMap<String, CommitMode> {
    let modes = specs.iter().map(|s| &s.workload);
    modes.map(|w| (w.name.clone(), w.commit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use measure::workload::Workload;
    use measure::workload::arrivals::{Arrivals, Process};

    fn spec(workload: Workload, jobs: u32) -> Spec {
        Spec::closed(workload, jobs, Nanos::from_secs(10), Nanos::ZERO)
    }

    #[test]
    fn what_will_be_written_has_whole_blocks_in_it() {
        let storm = Spec {
            commits: Some(200_000),
            ..spec(Workload::storm(), 20)
        };
        assert_eq!(expected_bytes(&storm), 4_000_000 * 4096);
        let open = Spec {
            arrivals: Arrivals::new(1000.0, Process::Poisson, "50@1s".parse().ok()).ok(),
            ..spec(Workload::storm(), 8)
        };
        assert_eq!(expected_bytes(&open), (10_500 + 50) * 4096);
        assert_eq!(expected_bytes(&spec(Workload::storm(), 1)), 20_000_000_000);
        let bounded = Spec {
            max_redo_bytes: 1 << 20,
            ..spec(Workload::storm(), 1)
        };
        assert_eq!(expected_bytes(&bounded), 3 << 19);
        let lines = announced(&[storm]);
        assert!(
            lines[0].contains("4000000 in all") && lines[0].contains("15.3 GiB"),
            "{lines:?}"
        );
    }
}
