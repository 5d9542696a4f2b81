//! Several runs of pgbench with different numbers of clients: how far the rate rises, and whether
//! the clients queue for rows instead of the log.

use super::super::super::Info;
use super::super::super::catalogue;
use super::super::super::evidence::view::{Line, Tables};
use super::super::super::note::Note;
use crate::format::{digits, latency};

/// Runs that are a sweep.
const RUNS_MIN: usize = 3;
/// Part by which the rate of a level rises at most.
const LEVEL: f64 = 0.1;

/// Clients, transactions per second, ms of each, and the scale of one run.
type ClientRun = (f64, f64, Option<f64>, Option<f64>);

fn of_line(line: Line<'_>) -> Option<ClientRun> {
    let mut tps = ["tps", "tps_with_connecting"].into_iter();
    let is_branches = line.text("transaction_type").contains("TPC-B");
    let (clients, tps) = (
        line.number("clients")?,
        tps.find_map(|key| line.number(key))?,
    );
    let scale = line.number("scale").filter(|_| is_branches);
    Some((clients, tps, line.number("latency_avg_ms"), scale))
}

/// What runs with different numbers of clients show together.
pub(super) fn of_clients(tables: Tables<'_>) -> Option<Note> {
    let mut runs: Vec<ClientRun> = tables.lines("pgbench").filter_map(of_line).collect();
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let is_sweep = runs
        .windows(2)
        .all(|two| two[0].0 < two[1].0 && two[0].3 == two[1].3);
    let (first, last) = (runs.first().copied()?, runs.last().copied()?);
    if runs.len() < RUNS_MIN || !is_sweep {
        return None;
    }
    let each = runs.iter().map(|(clients, tps, ms, _)| {
        let ms = ms.map_or_else(String::new, |ms| format!(" ({})", latency(ms * 1e6)));
        format!("{clients}: {}{ms}", digits(*tps))
    });
    let each: Vec<String> = each.collect();
    let level = runs
        .windows(2)
        .find(|two| two[1].1 < two[0].1 * (1.0 + LEVEL));
    let level = level.map(|two| {
        format!(
            "; from {} clients on it is level ({:+.1} % for {} times the clients)",
            two[0].0,
            100.0 * (two[1].1 / two[0].1 - 1.0),
            digits(two[1].0 / two[0].0)
        )
    });
    let queue = last.3.filter(|scale| last.0 > *scale).map(|scale| {
        format!(
            "; from {scale} clients on they queue for the {scale} rows of pgbench_branches (scaling factor {scale}), so \
             that the level need not be the log's"
        )
    });
    let one = first.2.filter(|_| first.0 == 1.0);
    let one = one.map(|ms| {
        format!(
            "; with one client a commit takes at most {}",
            latency(ms * 1e6)
        )
    });
    let more: String = [level, queue, one].into_iter().flatten().collect();
    let claim = format!(
        "transactions per second by clients: {}{more}",
        each.join(", ")
    );
    Some(
        Note::of(&catalogue::LATENCY_SOURCE, Info, claim)
            .number("first_per_s", first.1)
            .number("last_per_s", last.1)
            .advice("Repeat with a scale of at least the number of clients, or with pgbench -N; see pg_stat_io or pg_stat_wal for the syncs alone."),
    )
}
