//! What a production system needs, from the evidence of it: commits and redo per second, sessions,
//! and the 99th percentile of log file sync, each with the place in the evidence.
//!
//! Invariants: what the evidence does not contain is absent; nothing is estimated from another
//! quantity. Rates are means of the stretch that the evidence describes; of several stretches of
//! one listing the busiest is taken. Sources that differ by more than [`AGREE_PCT`] are a conflict,
//! which the user decides.

use super::diagnosis::{SYNC, WRITE};
use super::evidence::view::{Line, Tables, lines};
use crate::format;
use measure::imported::{Imported, Table};
use measure::judgement::NeedQuantity;
use measure::run::{Origin, Row, Run};
use measure::units::MB_BYTES;
use std::collections::BTreeMap;

/// Figures of one quantity from several sources agree up to this difference, percent.
pub const AGREE_PCT: f64 = 10.0;

/// A figure of a production system.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductionFigure {
    /// What it is a figure of.
    pub quantity: NeedQuantity,
    /// Commits per second, bytes of redo per second, sessions, or nanoseconds.
    pub value: f64,
    /// Where the evidence has it: file, table, line or statistic.
    pub place: String,
}

impl ProductionFigure {
    /// The figure with its unit.
    #[must_use]
    pub fn shown(&self) -> String {
        shown(self.quantity, self.value)
    }
}

/// A figure of `quantity` with its unit.
#[must_use]
pub fn shown(quantity: NeedQuantity, value: f64) -> String {
    match quantity {
        NeedQuantity::CommitRate => format!("{} commits/s", format::digits(value)),
        NeedQuantity::RedoRate => format!("{} MB/s of redo", format::digits(value / MB_BYTES)),
        NeedQuantity::Sessions => format!("{value:.0} sessions"),
        NeedQuantity::P99 => format!("{} of log file sync (p99)", format::latency(value)),
    }
}

/// Figures of one quantity that do not agree.
#[derive(Clone, Debug, PartialEq)]
pub struct ProductionConflict {
    /// The quantity.
    pub quantity: NeedQuantity,
    /// The figures, the lowest first.
    pub figures: Vec<ProductionFigure>,
}

/// The figures of the production system that `run` is evidence of: at most one of each quantity.
///
/// # Errors
/// Sources that contradict each other in a quantity that `wanted` accepts.
pub fn of(
    run: &Run,
    wanted: impl Fn(NeedQuantity) -> bool,
) -> Result<Vec<ProductionFigure>, ProductionConflict> {
    if run.origin == Origin::Watched {
        let found = of_watched(run).into_iter();
        return Ok(found.filter(|figure| wanted(figure.quantity)).collect());
    }
    let Some(imported) = run
        .imported
        .as_ref()
        .filter(|_| run.origin == Origin::Imported)
    else {
        return Ok(Vec::new());
    };
    let mut all = of_reports(imported);
    all.extend(of_counters(imported));
    all.extend(of_traces(run, imported));
    let mut out = Vec::new();
    for quantity in NeedQuantity::ALL.into_iter().filter(|q| wanted(*q)) {
        let found = all.iter().filter(|figure| figure.quantity == quantity);
        let mut found: Vec<ProductionFigure> = found.cloned().collect();
        found.sort_by(|a, b| a.value.total_cmp(&b.value));
        let (Some(lowest), Some(highest)) = (found.first(), found.last()) else {
            continue;
        };
        if highest.value > lowest.value * (1.0 + AGREE_PCT / 100.0) {
            return Err(ProductionConflict {
                quantity,
                figures: found,
            });
        }
        out.push(highest.clone());
    }
    Ok(out)
}

/// The figures of a log that was watched: what its server counted meanwhile.
fn of_watched(run: &Run) -> Vec<ProductionFigure> {
    let Some(row) = run.rows.first() else {
        return Vec::new();
    };
    let place = |what: &str| {
        let seconds = row.elapsed_s.unwrap_or(0.0);
        format!(
            "run {}: {what} of the server over {seconds:.0} s",
            run.run_id
        )
    };
    let commits = row.commit_throughput_tps;
    let redo = row.redo().redo_data_mbps.map(|mbps| mbps * MB_BYTES);
    let commits = commits.and_then(|n| figure(NeedQuantity::CommitRate, n, place("commits")));
    let redo = redo.and_then(|n| figure(NeedQuantity::RedoRate, n, place("redo")));
    commits.into_iter().chain(redo).collect()
}

fn figure(quantity: NeedQuantity, value: f64, place: String) -> Option<ProductionFigure> {
    (value.is_finite() && value > 0.0).then_some(ProductionFigure {
        quantity,
        value,
        place,
    })
}

/// The figures of AWR and Statspack reports, report by report.
fn of_reports(imported: &Imported) -> Vec<ProductionFigure> {
    let tables = Tables(&imported.tables);
    let mut files: Vec<&str> = Vec::new();
    for table in ["instance_activity", "load_profile", "wait_histogram"] {
        files.extend(tables.of(table).map(|table| table.file.as_str()));
    }
    files.sort_unstable();
    files.dedup();
    let mut out = Vec::new();
    for file in files {
        let in_file = |id: &'static str| {
            let own = tables.of(id).filter(move |table| table.file == file);
            own.flat_map(lines)
        };
        let window = in_file("stated_window").find_map(|line| line.number("seconds"));
        let statistic = |name: &str| {
            let line = in_file("instance_activity").find(|line| line.text("statistic") == name)?;
            let total = line.number("total").zip(window.filter(|s| *s > 0.0));
            let rate = total.map(|(total, seconds)| total / seconds);
            let rate = rate.or(line.number("per_second"))?;
            Some((rate, format!("{file}, instance activity: {name}")))
        };
        let profile = |name: &str| {
            let line = in_file("load_profile").find(|line| line.text("name").starts_with(name))?;
            let rate = line.number("per_second")?;
            Some((rate, format!("{file}, load profile: {}", line.text("name"))))
        };
        let commits = statistic("user commits").or_else(|| profile("Transactions"));
        let redo = statistic("redo size").or_else(|| profile("Redo size"));
        let rates = [
            (NeedQuantity::CommitRate, commits),
            (NeedQuantity::RedoRate, redo),
        ];
        for (quantity, found) in rates {
            out.extend(found.and_then(|(rate, place)| figure(quantity, rate, place)));
        }
        let histogram = in_file("wait_histogram").find(|line| line.text("event") == SYNC);
        let bucket = histogram.and_then(|line| bucket_of_p99(&line));
        out.extend(bucket.and_then(|ns| {
            let place = format!("{file}, wait event histogram of {SYNC}: its bucket ends there");
            figure(NeedQuantity::P99, ns, place)
        }));
    }
    out
}

/// Columns of a report's histogram with the ends of their buckets, milliseconds.
const BUCKETS: [(&str, f64); 7] = [
    ("pct_under_1ms", 1.0),
    ("pct_under_2ms", 2.0),
    ("pct_under_4ms", 4.0),
    ("pct_under_8ms", 8.0),
    ("pct_under_16ms", 16.0),
    ("pct_under_32ms", 32.0),
    ("pct_to_1s", 1000.0),
];

/// The end of the bucket that contains the 99th percentile, nanoseconds; `None` where the shares
/// do not show it.
fn bucket_of_p99(line: &Line<'_>) -> Option<f64> {
    let mut below = 0.0;
    for (key, end_ms) in BUCKETS {
        below += line.number(key).unwrap_or(0.0);
        if below >= 99.0 {
            return Some(end_ms * 1e6);
        }
    }
    None
}

/// What a listing of counters grew by, per second: the busiest of its stretches.
struct Growth {
    per_second: f64,
    stretches: usize,
    from: String,
    to: String,
}

/// Differences of listings of counters: `v$sysstat`, `SHOW GLOBAL STATUS`, `pg_stat_wal`.
fn of_counters(imported: &Imported) -> Vec<ProductionFigure> {
    let mut out = Vec::new();
    for table in &imported.tables {
        let named = |name: &str, key: &str, names: &[&str]| {
            let first = names.iter().find_map(|wanted| {
                let growth = busiest(table, (name, wanted), key)?;
                Some((*wanted, growth))
            });
            first.map(|(what, growth)| (what.to_owned(), growth))
        };
        let of = |commits: Option<(String, Growth)>, redo: Option<(String, Growth)>| {
            let place = |what: &str, growth: &Growth| placed(table, what, growth);
            let commits = commits.and_then(|(what, growth)| {
                let place = place(&what, &growth);
                figure(NeedQuantity::CommitRate, growth.per_second, place)
            });
            let redo = redo.and_then(|(what, growth)| {
                let place = place(&what, &growth);
                figure(NeedQuantity::RedoRate, growth.per_second, place)
            });
            commits.into_iter().chain(redo)
        };
        match table.id.as_str() {
            "sysstat_change" => out.extend(of(
                named("statistic", "value", &["user commits"]),
                named("statistic", "value", &["redo size"]),
            )),
            // A server with a binary log counts each commit twice in Handler_commit.
            "mysql_status_change" => out.extend(of(
                named("variable", "value", &["Binlog_commits", "Handler_commit"]),
                named(
                    "variable",
                    "value",
                    &["Innodb_os_log_written", "Innodb_lsn_current"],
                ),
            )),
            "pg_stat_wal_change" => {
                let wal = busiest(table, ("", ""), "wal_bytes");
                out.extend(of(None, wal.map(|growth| ("wal_bytes".to_owned(), growth))));
            }
            _ => {}
        }
    }
    out
}

fn placed(table: &Table, what: &str, growth: &Growth) -> String {
    let busiest = match growth.stretches {
        0 | 1 => String::new(),
        n => format!(", the busiest of {n} stretches"),
    };
    format!(
        "{}: {what}, from {} to {}{busiest}",
        table.title, growth.from, growth.to
    )
}

/// The highest rate of the counter `key` of what `(column, name)` names; `None` where no stretch
/// has a time.
fn busiest(table: &Table, (column, name): (&str, &str), key: &str) -> Option<Growth> {
    let uptimes: BTreeMap<(&str, &str), f64> = lines(table)
        .filter(|line| line.text("variable") == "Uptime")
        .filter_map(|line| Some(((line.text("from"), line.text("to")), line.number("value")?)))
        .collect();
    let own = lines(table).filter(|line| column.is_empty() || line.text(column) == name);
    let rates = own.filter_map(|line| {
        let (from, to) = (line.text("from"), line.text("to"));
        let seconds = uptimes.get(&(from, to)).copied();
        let seconds = seconds.or_else(|| between(from, to)).filter(|s| *s > 0.0)?;
        Some((line.number(key)? / seconds, from, to))
    });
    let rates: Vec<(f64, &str, &str)> = rates.filter(|(rate, ..)| *rate > 0.0).collect();
    let (per_second, from, to) = rates.iter().copied().max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Growth {
        per_second,
        stretches: rates.len(),
        from: from.to_owned(),
        to: to.to_owned(),
    })
}

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// Seconds between two readings, from the times in their labels; `None` where a label has none.
fn between(from: &str, to: &str) -> Option<f64> {
    let (first, last) = (time_of_day(from)?, time_of_day(to)?);
    let days = date(from).zip(date(to)).map(|(a, b)| (b - a) as f64);
    Some(match days {
        Some(days) => days * DAY_S + last - first,
        // Readings of one day, or across a midnight.
        None => (last - first).rem_euclid(DAY_S),
    })
}

/// `16:03:07.25`, `04:03:07 PM`: seconds since midnight.
fn time_of_day(label: &str) -> Option<f64> {
    let words = label.split([' ', 'T']);
    let (hours, minutes, seconds) = words.clone().find_map(|word| {
        let mut parts = word.splitn(3, ':');
        let hours: u32 = parts.next()?.parse().ok().filter(|h| *h < 24)?;
        let minutes: u32 = parts.next()?.parse().ok().filter(|m| *m < 60)?;
        let rest = parts.next()?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
        let seconds: f64 = rest[..end.unwrap_or(rest.len())].parse().ok()?;
        Some((hours, minutes, seconds))
    })?;
    let is = |half: &str| words.clone().any(|word| word == half);
    let hours = match (is("AM"), is("PM"), hours) {
        (true, _, 12) => 0,
        (_, true, 1..=11) => hours + 12,
        _ => hours,
    };
    Some(f64::from(hours * 3600 + minutes * 60) + seconds)
}

/// `2026-11-23`: days since some day.
fn date(label: &str) -> Option<i64> {
    let head = label.get(..10)?;
    let mut parts = head.split('-');
    let mut next = |length: usize| {
        let part = parts.next().filter(|part| part.len() == length)?;
        part.parse::<i64>().ok()
    };
    let (year, month, day) = (next(4)?, next(2)?, next(2)?);
    // Howard Hinnant, "chrono-compatible low-level date algorithms": days_from_civil.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year)
}

/// The figures of traces: rates of the traced sessions together, their number, and the 99th
/// percentile where one process has it.
fn of_traces(run: &Run, imported: &Imported) -> Vec<ProductionFigure> {
    let is_trace = |kind: &str| matches!(kind, "oracle-trace" | "hlog");
    if !imported.sources.iter().any(|source| is_trace(&source.kind)) {
        return Vec::new();
    }
    // Rows of reports have the name of their file.
    let is_report = |row: &Row| {
        imported
            .tables
            .iter()
            .any(|t| t.file == row.workload && t.id == "load_profile")
    };
    let rows: Vec<&Row> = run.rows.iter().filter(|row| !is_report(row)).collect();
    let sessions: Vec<&&Row> = rows
        .iter()
        .filter(|row| waits(row, "log_file_sync"))
        .collect();
    let mut out = Vec::new();
    let names: Vec<&str> = sessions.iter().map(|row| row.workload.as_str()).collect();
    let place = match names.as_slice() {
        [] => String::new(),
        [one] => format!("trace of {one}"),
        many => format!("sum of {} traced sessions", many.len()),
    };
    let commits: f64 = sessions
        .iter()
        .filter_map(|row| row.commit_throughput_tps)
        .sum();
    out.extend(figure(NeedQuantity::CommitRate, commits, place));
    let count = sessions.iter().filter(|row| row.commits.is_some()).count() as f64;
    let place = format!("traced sessions that waited for {SYNC}");
    out.extend(figure(NeedQuantity::Sessions, count, place));
    if let [one] = sessions.as_slice()
        && let Some(p99) = one
            .waits
            .get("log_file_sync")
            .and_then(|stats| stats.p99_ns)
    {
        let place = format!("{SYNC} of {}", one.workload);
        out.extend(figure(NeedQuantity::P99, p99 as f64, place));
    }
    let writers: Vec<&&Row> = rows
        .iter()
        .filter(|row| waits(row, "log_file_parallel_write"))
        .collect();
    let redo = writers.iter().filter_map(|row| row.redo().redo_data_mbps);
    let place = format!("{WRITE} in the traces");
    out.extend(figure(
        NeedQuantity::RedoRate,
        redo.sum::<f64>() * MB_BYTES,
        place,
    ));
    out
}

fn waits(row: &Row, event: &str) -> bool {
    row.waits.get(event).is_some_and(|stats| stats.count > 0)
}

#[cfg(test)]
mod tests;
