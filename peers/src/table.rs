//! The table: medians over the rounds with least and most, and redolab's ratio to the best peer.
//!
//! Invariants: a peer that did not flush for its groups in any cell is excluded from every ratio
//! and said; a ratio is taken within a round, so that what the machine did meanwhile cancels out.

use crate::outcome::{Flushed, Row};
use crate::peer::{self, Class, Peer};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The rounds of one peer at one number of threads.
type Cells<'a> = BTreeMap<(u32, &'a str), Vec<&'a Row>>;

/// Median, least and most.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    least: f64,
    most: f64,
}

fn spread(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let (least, most) = (*values.first()?, *values.last()?);
    let middle = values.len() / 2;
    let median = if values.len().is_multiple_of(2) {
        f64::midpoint(values[middle - 1], values[middle])
    } else {
        values[middle]
    };
    Some(Spread {
        median,
        least,
        most,
    })
}

/// The peers and their settings, as Markdown.
pub fn settings(peers: &[Peer]) -> String {
    let mut text = String::from("| peer | version | settings |\n|---|---|---|\n");
    for peer in peers {
        let version = version(peer.package).unwrap_or_else(|| "unknown".to_owned());
        let _ = writeln!(text, "| {} | {version} | {} |", peer.name, peer.settings);
    }
    text
}

/// The version in the lock file, or in the Go module's.
fn version(package: &str) -> Option<String> {
    let lock = include_str!("../Cargo.lock");
    let name = format!("name = \"{package}\"");
    let after = lock.lines().skip_while(|line| *line != name).nth(1);
    let locked = after.and_then(|line| line.strip_prefix("version = "));
    let module = || {
        let lines = include_str!("../pebble/go.mod").lines();
        let mut versions = lines.filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|word| *word == package)?;
            words.get(at + 1).copied()
        });
        versions.next()
    };
    locked
        .map(|v| v.trim_matches('"'))
        .or_else(module)
        .map(str::to_owned)
}

/// The table of the rows, as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let mut cells: Cells = BTreeMap::new();
    for row in rows {
        cells
            .entry((row.threads, row.peer.as_str()))
            .or_default()
            .push(row);
    }
    let excluded = excluded(rows);
    let mut text = String::from(
        "| threads | peer | commits/s | p50 µs | p99 µs | p99.9 µs | max µs | CPU µs a commit \
         | commits a flush | flushes |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut order: Vec<&str> = Vec::new();
    for row in rows {
        if !order.contains(&row.peer.as_str()) {
            order.push(&row.peer);
        }
    }
    let listed: Vec<&str> = peer::all().iter().map(|p| p.name).collect();
    order.sort_by_key(|name| {
        listed
            .iter()
            .position(|l| l == name)
            .unwrap_or(listed.len())
    });
    let mut threads: Vec<u32> = cells.keys().map(|(threads, _)| *threads).collect();
    threads.dedup();
    for &threads in &threads {
        for name in &order {
            if let Some(rounds) = cells.get(&(threads, *name)) {
                text += &cell_line(threads, name, rounds, excluded.contains_key(name));
            }
        }
    }
    text += "\nMedians over the rounds, least and most in brackets; the maximum is that of all \
             rounds. `-`: fewer than ten samples beyond it. `unclear`: others flushed the device too \
             often to tell.\n";
    text += &ratios(&cells, &threads, &order, &excluded);
    for (name, why) in &excluded {
        let _ = writeln!(text, "\nExcluded: **{name}**: {why}.");
    }
    text += &problems(rows);
    text
}

/// Peers that are not durable, each with the first sign of it.
fn excluded(rows: &[Row]) -> BTreeMap<&str, String> {
    let mut excluded = BTreeMap::new();
    for row in rows {
        if row.flushed() == Some(Flushed::No)
            && let Ok(report) = &row.outcome
        {
            excluded.entry(row.peer.as_str()).or_insert_with(|| {
                format!(
                    "{} commits of {} threads acknowledged, {} flushes of the device (round {})",
                    report.commits, row.threads, report.flushes, row.round
                )
            });
        }
    }
    excluded
}

fn cell_line(threads: u32, name: &str, rounds: &[&Row], excluded: bool) -> String {
    let reports = || rounds.iter().filter_map(|row| row.outcome.as_ref().ok());
    let Some(rate) = spread(rounds.iter().filter_map(|row| row.per_s())) else {
        return format!("| {threads} | {name} | failed | | | | | | | |\n");
    };
    let us = |of: fn(&crate::outcome::Report) -> u64| {
        let given = reports().map(of).filter(|ns| *ns > 0);
        spread(given.map(|ns| ns as f64 / 1e3))
            .map_or("-".to_owned(), |s| format!("{:.0}", s.median))
    };
    let a_commit = |of: fn(&crate::outcome::Report) -> (f64, f64)| {
        let quotients = reports()
            .map(of)
            .filter(|(_, by)| *by > 0.0)
            .map(|(a, by)| a / by);
        spread(quotients).map_or("-".to_owned(), |s| format!("{:.1}", s.median))
    };
    let unclear = rounds
        .iter()
        .any(|row| row.flushed() == Some(Flushed::Unclear));
    let flushes = match (excluded, unclear) {
        (true, _) => "**no**",
        (false, true) => "unclear",
        (false, false) => "yes",
    };
    let most = reports().map(|r| r.max_ns).max().unwrap_or(0);
    format!(
        "| {threads} | {name} | {:.0} ({:.0} to {:.0}) | {} | {} | {} | {:.0} | {} | {} | {} |\n",
        rate.median,
        rate.least,
        rate.most,
        us(|r| r.p50_ns),
        us(|r| r.p99_ns),
        us(|r| r.p999_ns),
        most as f64 / 1e3,
        a_commit(|r| (r.cpu_us as f64, r.commits as f64)),
        a_commit(|r| (r.commits as f64, r.flushes as f64)),
        flushes,
    )
}

/// redolab's modes against the best peer, for each number of threads.
fn ratios<'a>(
    cells: &Cells<'a>,
    threads: &[u32],
    order: &[&'a str],
    excluded: &BTreeMap<&str, String>,
) -> String {
    let mut text = String::from(
        "\n| threads | redolab | best peer | commits/s, ratio | CPU a commit, ratio |\n\
         |---|---|---|---|---|\n",
    );
    let rate = |rounds: &Vec<&Row>| {
        spread(rounds.iter().filter_map(|row| row.per_s())).map_or(0.0, |s| s.median)
    };
    for &threads in threads {
        let of = |name: &'a str| cells.get(&(threads, name));
        let peers = order.iter().filter(|name| {
            let rival = matches!(peer::class(name), Class::GroupCommit | Class::Single);
            rival && !excluded.contains_key(*name)
        });
        let rated = peers.filter_map(|name| Some((*name, of(name)?)));
        let best = rated.max_by(|a, b| rate(a.1).total_cmp(&rate(b.1)));
        let Some((best, rival)) = best.filter(|(_, rounds)| rate(rounds) > 0.0) else {
            continue;
        };
        let own = order.iter().filter(|name| peer::class(name) == Class::Own);
        for name in own.filter(|name| !excluded.contains_key(*name)) {
            let Some(rounds) = of(name) else { continue };
            let pairs = || {
                rounds.iter().filter_map(|own| {
                    let other = rival.iter().find(|other| other.round == own.round)?;
                    Some((*own, *other))
                })
            };
            let faster = spread(pairs().filter_map(|(a, b)| Some(a.per_s()? / b.per_s()?)));
            let cheaper = spread(pairs().filter_map(|(a, b)| Some(cpu(a)? / cpu(b)?)));
            let shown = |s: Option<Spread>| {
                s.map_or("-".to_owned(), |s| {
                    format!("{:.2} ({:.2} to {:.2})", s.median, s.least, s.most)
                })
            };
            let (faster, cheaper) = (shown(faster), shown(cheaper));
            let _ = writeln!(
                text,
                "| {threads} | {name} | {best} | {faster} | {cheaper} |"
            );
        }
    }
    text + "\nEach ratio is taken within a round.\n"
}

fn cpu(row: &Row) -> Option<f64> {
    let report = row.outcome.as_ref().ok()?;
    (report.commits > 0).then(|| report.cpu_us as f64 / report.commits as f64)
}

fn problems(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        if let Err(why) = &row.outcome {
            let Row {
                round,
                peer,
                threads,
                ..
            } = row;
            let _ = writeln!(
                text,
                "\nFailed: {peer}, {threads} threads, round {round}: {why}."
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::tests::row;

    #[test]
    fn medians_and_ends() {
        assert_eq!(spread([]), None);
        let s = spread([3.0, 1.0, 2.0]).expect("values");
        assert_eq!((s.median, s.least, s.most), (2.0, 1.0, 3.0));
        assert_eq!(spread([4.0, 1.0]).expect("values").median, 2.5);
    }

    #[test]
    fn the_ratio_is_to_the_best_that_flushes() {
        let rows = [
            row(0, "redolab:inline", 8, 80_000, 20_000),
            row(1, "redolab:inline", 8, 60_000, 20_000),
            row(0, "raft-engine", 8, 40_000, 9_000),
            row(1, "raft-engine", 8, 20_000, 9_000),
            row(0, "redb", 8, 10_000, 10_000),
            row(0, "unsynced", 8, 900_000, 3),
            row(1, "fsys", 8, 100_000, 5_000),
            crate::outcome::Row {
                idle_flushes_per_s: 500.0,
                ..row(1, "sqlite", 8, 8_000, 1_000)
            },
        ];
        let text = markdown(&rows);
        let ratio = "| 8 | redolab:inline | raft-engine | 2.50 (2.00 to 3.00) | 1.00";
        assert!(text.contains(ratio), "{text}");
        for name in ["unsynced", "fsys"] {
            assert!(text.contains(&format!("Excluded: **{name}**")), "{text}");
        }
        assert!(
            text.contains("| 8 | redolab:inline | 70000 (60000 to 80000) | 90 |"),
            "{text}"
        );
    }

    #[test]
    fn versions_are_those_that_are_built() {
        for peer in peer::all() {
            let version = version(peer.package);
            assert!(version.is_some_and(|v| v.contains('.')), "{}", peer.name);
        }
    }
}
