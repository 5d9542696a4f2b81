//! Imported rows by their role. A row of evidence is called after its file. Two runs of evidence
//! have different files, so rows are paired by what they are of: the kind of process of a trace,
//! the kind of a report, the order of snapshots.
//!
//! All traces of one role in a run are one sample. Their counts, sums and extremes are added.
//! Percentiles cannot be computed from percentiles: they are those of the distributions together,
//! where the import kept all of them.

use super::{Side, WaitSeries};
use crate::figures::role;
use crate::rows::of_pgbench;
use measure::Histogram;
use measure::imported::Imported;
use measure::run::{Origin, Row, WaitStats};
use std::collections::BTreeMap;

/// Kinds of files whose rows are processes.
const PROCESSES: [&str; 2] = ["oracle-trace", "count-elapsed"];

/// The side with its rows by their roles; a side that was measured is not changed.
#[must_use]
pub fn by_role(mut side: Side) -> Side {
    let Some(imported) = side
        .run
        .imported
        .clone()
        .filter(|_| side.run.origin == Origin::Imported)
    else {
        return side;
    };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<PooledRow> = Vec::new();
    let mut series = std::mem::take(&mut side.series).into_iter();
    for (at, mut row) in std::mem::take(&mut side.run.rows).into_iter().enumerate() {
        let own = series.next().unwrap_or_default();
        let role = role_of(&row, &imported);
        if let Some((name, is_process)) = role {
            let count = seen.entry(name.clone()).or_default();
            *count += 1;
            let same = |p: &&mut PooledRow| p.row.workload == name && p.row.jobs == row.jobs;
            if let Some(known) = found.iter_mut().find(same).filter(|_| is_process) {
                pool(&mut known.row, &row);
                known.members.push(at);
                continue;
            }
            row.workload = match is_process {
                true => name,
                false => format!("{name} {count}"),
            };
        }
        found.push(PooledRow {
            row,
            series: own,
            members: vec![at],
        });
    }
    let more = of_pgbench(&side.run).into_iter().map(|row| PooledRow {
        row,
        series: BTreeMap::new(),
        members: Vec::new(),
    });
    for mut pooled in found.into_iter().chain(more) {
        if pooled.members.len() > 1 {
            pooled.series = pooled_series(&imported, &pooled.members);
            add_percentiles(&mut pooled);
        }
        side.series.push(pooled.series);
        side.run.rows.push(pooled.row);
    }
    side
}

/// A row of one role, and the rows that it was made of.
struct PooledRow {
    row: Row,
    series: BTreeMap<String, WaitSeries>,
    members: Vec<usize>,
}

/// The role of a row and whether it is a process; `None` for rows that have names of their own.
fn role_of(row: &Row, imported: &Imported) -> Option<(String, bool)> {
    if row.workload.starts_with("snap ") {
        return Some(("snapshot".to_owned(), false));
    }
    let is_trace = |kind: &str| PROCESSES.contains(&kind);
    match imported.sources.iter().find(|s| s.file == row.workload) {
        Some(source) if !is_trace(&source.kind) => return Some((source.kind.clone(), false)),
        Some(_) => {}
        // A trace with a header names its row: `LGWR (2817)`, whose number is another one after
        // every restart.
        None => {
            is_numbered(&row.workload)
                .then(|| imported.sources.iter().find(|s| is_trace(&s.kind)))??;
        }
    }
    let has = |event: &str| row.waits.contains_key(event);
    let name = match role(&row.workload).as_str() {
        "process" if has("log_file_sync") => "foreground".to_owned(),
        "process" if has("log_file_parallel_write") => "log writer".to_owned(),
        known => known.to_owned(),
    };
    Some((name, true))
}

/// A name with the number of a process behind it, or that number alone: `pid 2817`.
fn is_numbered(workload: &str) -> bool {
    let number = workload
        .rsplit_once(" (")
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .or_else(|| workload.strip_prefix("pid "));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Adds the waits of a row to another of the same role.
fn pool(into: &mut Row, row: &Row) {
    for (event, stats) in &row.waits {
        match into.waits.get_mut(event) {
            Some(known) => *known = added(known, stats),
            None => {
                into.waits.insert(event.clone(), stats.clone());
            }
        }
    }
    into.curves.clear();
    let sync = into.waits.get("log_file_sync");
    into.log_file_sync_ms = sync.map(|s| s.mean_ns / 1e6);
    // Rates of processes that ran beside each other are not those of one of them.
    (into.commit_throughput_tps, into.commit_latency_ms) = (None, None);
    // Time of all sessions, of which waits are a share.
    into.elapsed_ns = into.elapsed_ns.zip(row.elapsed_ns).map(|(a, b)| a + b);
    into.elapsed_s = None;
    into.redo = None;
}

fn added(a: &WaitStats, b: &WaitStats) -> WaitStats {
    let count = a.count + b.count;
    let weigh = |x: f64, y: f64| (x * a.count as f64 + y * b.count as f64) / count.max(1) as f64;
    let total_ns = a.total_ns.saturating_add(b.total_ns);
    WaitStats {
        count,
        total_ns,
        mean_ns: total_ns as f64 / count.max(1) as f64,
        min_ns: a.min_ns.min(b.min_ns),
        max_ns: a.max_ns.max(b.max_ns),
        over_1ms_pct: weigh(a.over_1ms_pct, b.over_1ms_pct),
        over_10ms_pct: weigh(a.over_10ms_pct, b.over_10ms_pct),
        over_20ms_pct: weigh(a.over_20ms_pct, b.over_20ms_pct),
        outliers: a.outliers + b.outliers,
        ..WaitStats::default()
    }
}

/// The percentiles of rows together.
fn add_percentiles(of: &mut PooledRow) {
    for (event, series) in &of.series {
        if let (Some(all), Some(stats)) = (&series.distribution, of.row.waits.get_mut(event)) {
            let all = all.stats();
            (stats.p50_ns, stats.p90_ns) = (all.p50_ns, all.p90_ns);
            (stats.p99_ns, stats.p999_ns) = (all.p99_ns, all.p999_ns);
        }
    }
}

/// Stretches of a pooled series.
const STRETCHES: usize = 200;

/// The series of several rows as one: points at the same position are one stretch, since sessions
/// that ran at the same time were disturbed at the same time.
fn pooled_series(imported: &Imported, rows: &[usize]) -> BTreeMap<String, WaitSeries> {
    let mut sums: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for series in imported.series.iter().filter(|s| rows.contains(&s.row)) {
        let stretches = sums
            .entry(&series.event)
            .or_insert_with(|| vec![(0.0, 0.0); STRETCHES]);
        for (i, point) in series.points.iter().enumerate() {
            let at = i * STRETCHES / series.points.len();
            if let Some(stretch) = stretches.get_mut(at) {
                stretch.0 += point.mean_ns * point.count as f64;
                stretch.1 += point.count as f64;
            }
        }
    }
    let of = |(event, stretches): (&str, Vec<(f64, f64)>)| {
        let mut pooled = WaitSeries::new();
        let own = imported.series.iter();
        let own = own.filter(|s| s.event == event && rows.contains(&s.row));
        pooled.distribution =
            own.map(|s| s.distribution.as_deref())
                .try_fold(Histogram::new(), |mut all, of| {
                    all.merge(of?);
                    Some(all)
                });
        for (sum, count) in stretches.into_iter().filter(|s| s.1 > 0.0) {
            pooled.blocks.push_rate(sum, count);
        }
        (event.to_owned(), pooled)
    };
    sums.into_iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::imported::{Axis, Series, SeriesPoint, Source};

    fn side(files: &[(&str, u64)]) -> Side {
        let mut run = clean_run();
        run.origin = Origin::Imported;
        let source = |(file, _): &(&str, u64)| Source {
            file: (*file).to_owned(),
            kind: "oracle-trace".to_owned(),
            ..Source::default()
        };
        let series = |(row, (_, ns)): (usize, &(&str, u64))| Series {
            row,
            event: "log_file_sync".to_owned(),
            axis: Axis::Sequence,
            width: 1.0,
            distribution: None,
            points: (0..50)
                .map(|i| SeriesPoint {
                    at: f64::from(i),
                    count: 2,
                    mean_ns: *ns as f64,
                    ..SeriesPoint::default()
                })
                .collect(),
        };
        run.imported = Some(Imported {
            sources: files.iter().map(source).collect(),
            series: files.iter().enumerate().map(series).collect(),
            ..Imported::default()
        });
        let row = |(file, ns): &(&str, u64)| {
            let stats = WaitStats {
                count: 100,
                total_ns: 100 * ns,
                mean_ns: *ns as f64,
                min_ns: *ns,
                max_ns: *ns,
                p50_ns: Some(*ns),
                ..WaitStats::default()
            };
            Row {
                workload: (*file).to_owned(),
                jobs: 1,
                elapsed_ns: Some(7),
                waits: [("log_file_sync".to_owned(), stats)].into(),
                ..Row::default()
            }
        };
        run.rows = files.iter().map(row).collect();
        Side {
            name: "x".to_owned(),
            run,
            complete: true,
            series: Vec::new(),
        }
    }

    #[test]
    fn traces_of_one_role_are_one_sample() {
        let files = [
            ("a_ora_1.trc", 400),
            ("b_lgwr_2.trc", 300),
            ("c_ora_3.trc", 800),
        ];
        let found = by_role(side(&files));
        let names: Vec<&str> = found.run.rows.iter().map(|r| r.workload.as_str()).collect();
        assert_eq!(names, ["foreground", "LGWR"]);
        let stats = &found.run.rows[0].waits["log_file_sync"];
        assert_eq!(
            (stats.count, stats.mean_ns, stats.total_ns),
            (200, 600.0, 120_000)
        );
        assert_eq!((stats.min_ns, stats.max_ns, stats.p50_ns), (400, 800, None));
        assert_eq!(found.run.rows[0].elapsed_ns, Some(14));
        assert_eq!(found.series[0]["log_file_sync"].blocks.len(), 50);
        assert!(found.series[1].is_empty());
        let unknown = by_role(side(&[("one.trc", 400), ("two.trc", 800)]));
        assert_eq!(unknown.run.rows.len(), 1);
        assert_eq!(unknown.run.rows[0].workload, "foreground");
    }
}
