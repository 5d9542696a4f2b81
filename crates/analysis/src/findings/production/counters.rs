//! Rates from two or more listings of a server's counters, and the times that their labels have.

use super::{ProductionFigure, figure};
use crate::findings::evidence::view::lines;
use measure::imported::{Imported, Table};
use measure::judgement::NeedQuantity;
use std::collections::BTreeMap;

/// What a listing of counters grew by, per second: the busiest of its stretches.
struct Growth {
    per_second: f64,
    stretches: usize,
    from: String,
    to: String,
}

/// Differences of listings of counters: `v$sysstat`, `SHOW GLOBAL STATUS`, `pg_stat_wal`.
pub(super) fn of_counters(imported: &Imported) -> Vec<ProductionFigure> {
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
pub(super) fn between(from: &str, to: &str) -> Option<f64> {
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
