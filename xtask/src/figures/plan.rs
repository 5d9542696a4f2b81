//! The figures of the log's performance: which measured data each reads, and what it makes of
//! it.
//!
//! Invariants: a ratio is taken within a round and never between rounds; a peer whose commits its
//! device's flushes cannot explain is left out of every figure; what is not in the data is left out
//! and never zero.

use super::chart::{Chart, Group, Line, ScaleKind};
use super::data::{Row, Spread, Table};
use super::ways;

/// Reads tables by path; `None` where there is no such file.
pub type Tables<'a> = dyn Fn(&str) -> Option<&'a Table> + 'a;

/// A figure of the page.
pub struct Figure {
    /// Names the file and the place in the page.
    pub name: &'static str,
    /// Where its data is.
    pub data: &'static [&'static str],
    /// What it comes to; no groups where there is no data.
    pub chart: fn(&Tables<'_>) -> Chart,
}

const FLOOR: &[&str] = &[
    "experiments/commit-against-floor/one-job-cpu0.csv",
    "experiments/commit-against-floor/one-job-cpu1.csv",
    "experiments/commit-against-floor/data.csv",
];
const PEERS: &str = "experiments/peers/data.csv";
const MECHANISMS: &str = "experiments/mechanisms/data.csv";
const ASYNCHRONOUS: &str = "experiments/asynchronous/data.csv";
const RECOVERY: &str = "experiments/recovery/data.csv";
const STREAM: &str = "experiments/stream/data.csv";
const SWITCHES: &str = "experiments/log-switches/data.csv";

/// In the order of the page.
pub const FIGURES: &[Figure] = &[
    Figure {
        name: "commit-over-floor",
        data: FLOOR,
        chart: commit_over_floor,
    },
    Figure {
        name: "peers-throughput",
        data: &[PEERS],
        chart: peers_throughput,
    },
    Figure {
        name: "peers-latency",
        data: &[PEERS],
        chart: peers_latency,
    },
    Figure {
        name: "log-writers",
        data: &[MECHANISMS],
        chart: log_writers,
    },
    Figure {
        name: "gathering",
        data: &[MECHANISMS],
        chart: gathering,
    },
    Figure {
        name: "log-file-sync",
        data: &[MECHANISMS],
        chart: log_file_sync,
    },
    Figure {
        name: "peers-processor",
        data: &[PEERS],
        chart: peers_processor,
    },
    Figure {
        name: "asynchronous",
        data: &[ASYNCHRONOUS],
        chart: asynchronous,
    },
    Figure {
        name: "recovery-and-stream",
        data: &[RECOVERY, STREAM],
        chart: recovery_and_stream,
    },
    Figure {
        name: "one-default",
        data: &[ways::CELLS],
        chart: ways::one_default,
    },
    Figure {
        name: "growth",
        data: &[ways::GROWTH],
        chart: ways::growth,
    },
    Figure {
        name: "log-switches",
        data: &[SWITCHES],
        chart: log_switches,
    },
];

pub(super) fn bars(title: &str, axis: &str, groups: Vec<Group>) -> Chart {
    Chart {
        title: title.to_owned(),
        axis: axis.to_owned(),
        kind: ScaleKind::Linear,
        marks: Vec::new(),
        reference: None,
        groups,
    }
}

pub(super) fn one(label: &str, own: bool, spread: Option<Spread>) -> Option<Line> {
    let values = vec![Some(spread?)];
    let label = label.to_owned();
    Some(Line { label, own, values })
}

/// A group, unless it is empty.
pub(super) fn group(heading: String, rows: Vec<Line>) -> Option<Group> {
    (!rows.is_empty()).then_some(Group { heading, rows })
}

/// How many, in words.
fn of_threads(count: &str) -> String {
    format!("{count} thread{}", if count == "1" { "" } else { "s" })
}

/// A column of the rows that are wanted.
pub(super) fn column(
    table: &Table,
    name: &str,
    wanted: &dyn Fn(Row<'_>) -> bool,
) -> Option<Spread> {
    Spread::of(
        table
            .rows()
            .filter(|row| wanted(*row))
            .filter_map(|row| row.number(name)),
    )
}

fn commit_over_floor(tables: &Tables<'_>) -> Chart {
    let files = FLOOR.iter().filter_map(|path| {
        let name = path.rsplit('/').next()?.strip_suffix(".csv")?;
        let heading = match name {
            "data" => "not pinned".to_owned(),
            other => other.replace("one-job-cpu", "process pinned to processor "),
        };
        group(heading, over_floor(tables(path)?))
    });
    let mut chart = bars(
        "One session: p50 of a commit over p50 of the device's best raw write",
        "p50 over the floor's, within a round",
        files.collect(),
    );
    chart.reference = Some((1.0, "floor"));
    chart
}

/// Cases with one job, each over the best raw write of its round.
fn over_floor(table: &Table) -> Vec<Line> {
    let cases = table.distinct("case");
    let p50 = |case: &str| column(table, "p50_us", &|row| row.is("case", case));
    let raw = cases.iter().filter(|case| case.starts_with("raw "));
    let median = |case: &&String| p50(case).map_or(f64::INFINITY, |s| s.median);
    let Some(floor) = raw.min_by(|a, b| median(a).total_cmp(&median(b))) else {
        return Vec::new();
    };
    let base = |round: &str| {
        let mut rows = table.rows();
        let row = rows.find(|row| row.is("case", floor) && row.is("round", round))?;
        row.number("p50_us").filter(|p50| *p50 > 0.0)
    };
    let single = |case: &&String| case.split(' ').nth(1) == Some("1");
    let lines = cases.iter().filter(single).filter_map(|case| {
        let own = table.rows().filter(|row| row.is("case", case));
        let ratios = own.filter_map(|row| Some(row.number("p50_us")? / base(row.text("round")?)?));
        let words: Vec<&str> = case.split(' ').collect();
        let label = [&words[..1], &words[2..]].concat().join(" ");
        one(&label, true, Spread::of(ratios))
    });
    lines.collect()
}

fn is_own(peer: &str) -> bool {
    peer.starts_with("redolab")
}

/// Commits that are acknowledged for each flush at most, where nobody lies: as many as are under
/// way. The same bound as in `peers/`.
fn flushes_explain(row: Row<'_>) -> bool {
    let value = |name| row.number(name);
    let (Some(commits), Some(flushes)) = (value("commits"), value("flushes")) else {
        return true;
    };
    let under_way = value("threads").unwrap_or(1.0) * value("in_flight").unwrap_or(1.0).max(1.0);
    flushes >= 0.98 * commits / under_way - 2.0
}

/// Peers to be shown at so many waiting threads, and a line for each; the best first.
fn peers(table: &Table, threads: &str, line: &dyn Fn(&str) -> Option<Line>) -> Vec<Line> {
    let liars: Vec<&str> = table
        .rows()
        .filter(|row| !flushes_explain(*row))
        .filter_map(|row| row.text("peer"))
        .collect();
    let here = |peer: &str| {
        let mut rows = table.rows();
        rows.any(|r| r.is("peer", peer) && r.is("threads", threads) && r.is("in_flight", "1"))
    };
    let names = table.distinct("peer");
    let shown = names
        .iter()
        .filter(|name| !liars.contains(&name.as_str()) && here(name));
    shown.filter_map(|name| line(name)).collect()
}

fn first(line: &Line) -> f64 {
    line.values
        .first()
        .copied()
        .flatten()
        .map_or(0.0, |s| s.median)
}

fn peers_throughput(tables: &Tables<'_>) -> Chart {
    let groups = tables(PEERS).map_or_else(Vec::new, |table| {
        let of = |threads: &str| {
            let line = |peer: &str| {
                let wanted = |r: Row<'_>| r.is("peer", peer) && r.is("threads", threads);
                let rate = column(table, "commits_per_s", &wanted);
                one(peer, is_own(peer), rate)
            };
            let mut rows = peers(table, threads, &line);
            rows.sort_by(|a, b| first(b).total_cmp(&first(a)));
            group(of_threads(threads), rows)
        };
        ["1", "8", "64", "256"].into_iter().filter_map(of).collect()
    });
    let mut chart = bars(
        "Durable commits of 2,000 bytes per second, compared with other logs and stores",
        "commits per second, logarithmic",
        groups,
    );
    chart.kind = ScaleKind::Log;
    chart
}

fn peers_latency(tables: &Tables<'_>) -> Chart {
    let rows = tables(PEERS).map_or_else(Vec::new, |table| {
        let line = |peer: &str| {
            let us = |name: &str| {
                let wanted = |r: &Row<'_>| r.is("peer", peer) && r.is("threads", "64");
                let given = table
                    .rows()
                    .filter(wanted)
                    .filter_map(|r| r.number(name))
                    .filter(|ns| *ns > 0.0);
                Spread::of(given.map(|ns| ns / 1e3))
            };
            let values: Vec<_> = ["p50_ns", "p99_ns", "p999_ns", "max_ns"].map(us).into();
            let label = peer.to_owned();
            values.iter().any(Option::is_some).then_some(Line {
                label,
                own: is_own(peer),
                values,
            })
        };
        let mut rows = peers(table, "64", &line);
        rows.sort_by(|a, b| first(a).total_cmp(&first(b)));
        rows
    });
    Chart {
        kind: ScaleKind::Log,
        marks: vec!["p50", "p99", "p99.9", "maximum"],
        ..bars(
            "How long 64 threads wait for a commit",
            "µs, logarithmic",
            group("64 threads".to_owned(), rows).into_iter().collect(),
        )
    }
}

fn peers_processor(tables: &Tables<'_>) -> Chart {
    let rows = tables(PEERS).map_or_else(Vec::new, |table| {
        let line = |peer: &str| {
            let wanted = |r: &Row<'_>| r.is("peer", peer) && r.is("threads", "64");
            let each = table.rows().filter(wanted).filter_map(|r| {
                let commits = r.number("commits").filter(|c| *c > 0.0)?;
                Some(r.number("cpu_us")? / commits)
            });
            one(peer, is_own(peer), Spread::of(each))
        };
        let mut rows = peers(table, "64", &line);
        rows.sort_by(|a, b| first(a).total_cmp(&first(b)));
        rows
    });
    bars(
        "Processor time of a commit, 64 threads",
        "µs a commit, the whole process",
        group("64 threads".to_owned(), rows).into_iter().collect(),
    )
}

/// Commits a second of the cases of a bench of mechanisms, by group.
fn mechanisms(tables: &Tables<'_>, prefix: &str) -> Vec<Group> {
    let Some(table) = tables(MECHANISMS) else {
        return Vec::new();
    };
    let names = table.distinct("group");
    let own = names.iter().filter_map(|name| {
        let jobs = name.strip_prefix(prefix)?;
        let of_group = |r: &Row<'_>| r.is("group", name);
        let mut cases: Vec<&str> = Vec::new();
        for case in table.rows().filter(of_group).filter_map(|r| r.text("case")) {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        let line = |case: &&str| {
            let wanted = |r: Row<'_>| r.is("group", name) && r.is("case", case);
            one(case, true, column(table, "per_s", &wanted))
        };
        group(of_threads(jobs), cases.iter().filter_map(line).collect())
    });
    own.collect()
}

fn log_writers(tables: &Tables<'_>) -> Chart {
    bars(
        "Who writes: commits per second by log writer",
        "commits per second",
        mechanisms(tables, "writer-"),
    )
}

fn gathering(tables: &Tables<'_>) -> Chart {
    bars(
        "Gathering: the leader waits a moment for those who are about to commit",
        "commits per second",
        mechanisms(tables, "gather-"),
    )
}

fn log_file_sync(tables: &Tables<'_>) -> Chart {
    let mut chart = bars(
        "How foregrounds learn that their commit is durable",
        "commits per second, logarithmic",
        mechanisms(tables, "learn-"),
    );
    chart.kind = ScaleKind::Log;
    chart
}

fn asynchronous(tables: &Tables<'_>) -> Chart {
    let groups = tables(ASYNCHRONOUS).map_or_else(Vec::new, |table| {
        let cases = table.distinct("case");
        let of = |(place, heading): (&str, &str)| {
            let own = cases.iter().filter_map(|case| {
                let label = case.strip_prefix(place)?.trim_start();
                let rate = column(table, "per_s", &|row| row.is("case", case));
                one(label, label.contains(" async "), rate)
            });
            group(heading.to_owned(), own.collect())
        };
        let places = [("null ", "no device"), ("file ", "files")];
        places.into_iter().filter_map(of).collect()
    });
    bars(
        "Asynchronous commits in flight, beside threads that wait",
        "commits per second",
        groups,
    )
}

fn recovery_and_stream(tables: &Tables<'_>) -> Chart {
    let any = |_: Row<'_>| true;
    let recovery = tables(RECOVERY).map_or_else(Vec::new, |table| {
        let bounded = |row: Row<'_>| row.is("case", "bounded");
        let whole = |row: Row<'_>| row.is("case", "whole");
        let own = one("recovery", true, column(table, "redo_mb_per_s", &bounded));
        let old = column(table, "redo_mb_per_s", &whole);
        let old = one("searching the whole log for damage", true, old);
        let fio = column(table, "fio_mb_per_s", &any);
        let fio = one("fio, sequential read", false, fio);
        own.into_iter().chain(old).chain(fio).collect()
    });
    let stream = tables(STREAM).map_or_else(Vec::new, |table| {
        let names = table.distinct("case");
        let line = |name: &String| {
            let rate = column(table, "mb_per_s", &|row| row.is("case", name));
            match (name.as_str(), name.strip_prefix("stream ")) {
                ("fio", _) => one("fio, sequential write", false, rate),
                (_, Some(way)) => one(way, true, rate),
                _ => None,
            }
        };
        names.iter().filter_map(line).collect()
    });
    let groups = [
        group("reading: recovery".to_owned(), recovery),
        group("writing: a stream of redo".to_owned(), stream),
    ];
    bars(
        "Recovery and streams beside fio on the same files",
        "MB/s (2^20 bytes)",
        groups.into_iter().flatten().collect(),
    )
}

fn log_switches(tables: &Tables<'_>) -> Chart {
    let rows = tables(SWITCHES).map_or_else(Vec::new, |table| {
        let line = |(label, columns): (&str, [&str; 2])| {
            let values: Vec<_> = columns.map(|name| column(table, name, &|_| true)).into();
            values.iter().any(Option::is_some).then_some(Line {
                label: label.to_owned(),
                own: true,
                values,
            })
        };
        let near = ("near a switch", ["p999_near_us", "max_near_us"]);
        let far = ("elsewhere", ["p999_us", "max_us"]);
        [near, far].into_iter().filter_map(line).collect()
    });
    Chart {
        kind: ScaleKind::Log,
        marks: vec!["p99.9", "maximum"],
        ..bars(
            "Commits within 100 ms after a log switch",
            "µs, logarithmic",
            group("one run".to_owned(), rows).into_iter().collect(),
        )
    }
}
