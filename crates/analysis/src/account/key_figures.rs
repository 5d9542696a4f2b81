//! The few figures that answer first: of a measured run, of a watched log, of evidence.
//!
//! Invariants: those of a run are of one row, apart from the redo rate; what is not known is
//! missing; of a watched log nothing is said of sessions, which nobody saw.

pub use super::answer::KeyFigure;
use super::document::{self, LINE_MAX};
use super::{Section, Shown};
use crate::envelope::{Envelope, best_commits, p99_unknown};
use crate::findings::{catalogue, diagnosis};
use crate::format;
use crate::rows::{commit_wait_of, name_of, redo_mbps, sync_of, write_of};
use measure::imported::Imported;
use measure::run::{Row, Run, WaitStats};

fn rate(value: f64) -> Shown {
    Shown::Measure(value, "/s".to_owned())
}

fn megabytes(value: f64) -> Shown {
    Shown::Measure(value, "MB/s".to_owned())
}

/// The figures of a run: of the row that committed most within the bound on the 99th percentile;
/// the redo rate is of the row that wrote most.
#[must_use]
pub fn key_figures(run: &Run) -> Vec<KeyFigure> {
    if let Some(evidence) = &run.imported {
        return of_evidence(run, evidence);
    }
    if let Some(row) = run.rows.iter().find(|row| row.watched.is_some()) {
        return of_watched(row);
    }
    let Some((row, bound)) = best_row(run) else {
        return redo(run).into_iter().collect();
    };
    let all = [
        commits(run, row, bound),
        tail(run, row),
        write(row),
        redo(run),
    ];
    all.into_iter().flatten().collect()
}

/// The figures of evidence, as far as a line has room, or of a watched log; `None` where none is
/// known.
#[must_use]
pub fn headline(run: &Run) -> Option<Section> {
    let subject = match &run.imported {
        Some(evidence) if of_several(evidence) => return None,
        Some(evidence) => {
            let file = evidence.sources.first().map_or("", |source| &source.file);
            // The table of the evidence has the whole path.
            let file = file.rsplit('/').next().unwrap_or_default();
            match evidence.sources.len() {
                0 | 1 => file.to_owned(),
                n => format!("{file} and {} more", n - 1),
            }
        }
        None if run.rows.iter().any(|row| row.watched.is_some()) => run.target.path.clone(),
        None => return None,
    };
    let words = |of: &KeyFigure| {
        let figure = format!("{} {}", of.label.to_lowercase(), of.value.words(""));
        match of.note.as_str() {
            "" => figure,
            note => format!("{figure} ({note})"),
        }
    };
    let figures = key_figures(run);
    let is_known = figures.iter().any(|of| of.value != Shown::Missing);
    let line = |words: &dyn Fn(&KeyFigure) -> String, most: usize| {
        let all = figures.iter().take(most).map(words);
        format!("{subject}: {}", all.collect::<Vec<String>>().join("; "))
    };
    let mut title = line(&words, figures.len());
    // Evidence has one line: the tiles and the tables have the rest.
    let bare = |of: &KeyFigure| format!("{} {}", of.label.to_lowercase(), of.value.words(""));
    for most in (1..=figures.len()).rev() {
        if title.chars().count() > LINE_MAX && run.imported.is_some() {
            title = line(&bare, most);
        }
    }
    is_known.then(|| Section::of("headline", title, "", Vec::new()))
}

/// Whether log file sync and log file parallel write are known of several reports: those of one are
/// not those of all.
fn of_several(evidence: &Imported) -> bool {
    evidence.sources.len() > 1 && diagnosis::commit_waits(evidence).len() > 1
}

/// What the evidence has of the same figures; of several reports the first that has them.
fn of_evidence(run: &Run, evidence: &Imported) -> Vec<KeyFigure> {
    if let Some(own) = document::answer(evidence) {
        return own.figures;
    }
    let waits = diagnosis::first_waits(evidence);
    // Of several files the one that is shown.
    let reports = diagnosis::commit_waits(evidence).into_iter();
    let report = reports.max_by(|a, b| a.sync.1.total_cmp(&b.sync.1));
    let file = report.filter(|_| evidence.sources.len() > 1).map(|of| {
        let name = of.file.rsplit('/').next().unwrap_or_default();
        format!(", {name}")
    });
    let mean = |label, known: Option<(f64, f64)>, of: fn(&Row) -> Option<&WaitStats>| {
        let mut rows = run.rows.iter().filter_map(of).filter(|w| w.count > 0);
        let found = known.or_else(|| rows.next().map(|w| (w.mean_ns, w.count as f64)));
        let count = found.map(|(_, count)| {
            let waits = format::plural(count.max(0.0) as u64, "wait");
            format!(
                "{waits}{}",
                known.and(file.as_ref()).map_or("", |file| file)
            )
        });
        let mean = found.map(|(ns, _)| Shown::Ns(ns));
        KeyFigure::of(label, mean, count.unwrap_or_default())
    };
    let of_rows = |of: fn(&Row) -> Option<f64>| run.rows.iter().filter_map(of).find(|v| *v > 0.0);
    let commits = of_rows(|row| row.commit_throughput_tps).map(rate);
    let redo = of_rows(redo_mbps).map(megabytes);
    let mut out: Vec<KeyFigure> = db_time(run).into_iter().collect();
    out.extend([
        mean("Log file sync, mean", waits.0, sync_of),
        mean("Log file parallel write, mean", waits.1, write_of),
        KeyFigure::of("Commits", commits, String::new()),
    ]);
    out.extend(redo.map(|redo| KeyFigure::of("Redo", redo, String::new())));
    out
}

/// What commits have of DB time, as it was judged.
fn db_time(run: &Run) -> Option<KeyFigure> {
    let entry = &catalogue::DIAGNOSIS_DB_TIME;
    let judged = run.findings.iter().find(|of| of.id == entry.id)?;
    let (_, pct) = judged
        .numbers
        .first()
        .filter(|(name, _)| name == "db_time_pct")?;
    let note = match judged.advice.as_str() {
        "" => String::new(),
        _ => "not what makes this database slow".to_owned(),
    };
    let value = Shown::Measure(*pct, "%".to_owned());
    Some(KeyFigure::of("Commits, share of DB time", value, note))
}

/// Log writes per second, and the times of the log writes and flushes that the kernel saw.
fn of_watched(row: &Row) -> Vec<KeyFigure> {
    let writes = write_of(row);
    let per_s = writes.zip(row.elapsed_s.filter(|s| *s > 0.0));
    let per_s = per_s.map(|(of, seconds)| rate(of.count as f64 / seconds));
    let p99 = |label, of: Option<&WaitStats>| {
        let note = of.map_or_else(String::new, percentiles);
        KeyFigure::of(label, Shown::ns(of.and_then(|of| of.p99_ns)), note)
    };
    vec![
        KeyFigure::of("Log writes", per_s, String::new()),
        p99("Log file parallel write, p99", writes),
        p99("Flush of the log, p99", row.watched().flush.as_ref()),
    ]
}

/// The row, and the bound that its 99th percentile keeps, nanoseconds.
fn best_row(run: &Run) -> Option<(&Row, Option<u64>)> {
    let bound = run.need.p99_ns.or(Envelope::of(run).commits.map(|c| c.1));
    let within = bound.and_then(|b| Some((best_commits(run, Some(b))?, Some(b))));
    let rate = |row: &&Row| row.commit_throughput_tps.unwrap_or(0.0);
    let fastest = || {
        let rows = run.rows.iter().filter(|row| rate(row) > 0.0);
        rows.max_by(|a, b| rate(a).total_cmp(&rate(b)))
            .or_else(|| run.rows.first())
    };
    within
        .or_else(|| Some((best_commits(run, None)?, None)))
        .or_else(|| Some((fastest()?, None)))
}

fn needed(text: Option<String>) -> String {
    text.map_or_else(String::new, |text| format!("; needed: {text}"))
}

fn commits(run: &Run, row: &Row, bound: Option<u64>) -> Option<KeyFigure> {
    let bound = bound.map_or_else(String::new, |b| {
        format!(", p99 under {}", format::latency(b as f64))
    });
    let need = run.need.commit_rate.map(format::digits);
    // What is left of it when burst credits are spent.
    let sustained = Envelope::of(run).sustained;
    let sustained = sustained.map_or_else(String::new, |s| {
        format!("; sustained: {}/s", format::digits(s.commits_per_s))
    });
    let note = format!("{}{bound}{sustained}{}", name_of(row), needed(need));
    Some(KeyFigure::of(
        "Commits",
        rate(row.commit_throughput_tps?),
        note,
    ))
}

/// `p50 1.20 ms, p99.9 8.10 ms, longest 9.30 ms`, as far as they are known.
fn percentiles(wait: &WaitStats) -> String {
    let known =
        |name: &str, ns: Option<u64>| ns.map(|ns| format!("{name} {}", format::latency(ns as f64)));
    let parts = [
        known("p50", wait.p50_ns),
        known("p99.9", wait.p999_ns),
        known("longest", Some(wait.max_ns)),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn tail(run: &Run, row: &Row) -> Option<KeyFigure> {
    let wait = commit_wait_of(row)?;
    let label = match sync_of(row) {
        Some(_) => "Log file sync, p99",
        None => "Commit, p99",
    };
    let unknown = p99_unknown(row).map_or_else(String::new, |why| format!(", {why}"));
    let need = run.need.p99_ns.map(|ns| format::latency(ns as f64));
    let note = format!("{}{unknown}{}", percentiles(wait), needed(need));
    Some(KeyFigure::of(label, Shown::ns(wait.p99_ns), note))
}

fn write(row: &Row) -> Option<KeyFigure> {
    let wait = write_of(row).filter(|wait| wait.count > 0)?;
    let p99 = wait.p99_ns.map_or_else(String::new, |ns| {
        format!("p99 {}, ", format::latency(ns as f64))
    });
    let label = "Log file parallel write, mean";
    let note = format!("{p99}{}", name_of(row));
    Some(KeyFigure::of(label, Shown::Ns(wait.mean_ns), note))
}

fn redo(run: &Run) -> Option<KeyFigure> {
    let (mbps, load_of) = match Envelope::of(run).redo_mbps {
        Some((mbps, workload)) => (mbps, workload),
        None => {
            let row = run.rows.iter().find(|row| redo_mbps(row).is_some())?;
            (redo_mbps(row)?, row.workload.clone())
        }
    };
    let need = run.need.redo_bytes_per_s;
    let need = need.map(|r| format::digits(r / measure::units::MB_BYTES));
    let note = format!("most of all rows, {load_of}{}", needed(need));
    Some(KeyFigure::of("Redo", megabytes(mbps), note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::imported::{Cell, Column, Source, Table};
    use measure::run::WatchedFigures;

    fn stats(count: u64, p99_ns: u64) -> WaitStats {
        WaitStats {
            count,
            mean_ns: 1e6,
            p99_ns: Some(p99_ns),
            max_ns: 9_000_000,
            ..WaitStats::default()
        }
    }

    #[test]
    fn a_watched_log_has_its_writes_and_flushes_and_no_commits() {
        let mut run = clean_run();
        run.target.path = "/pg_wal".to_owned();
        run.rows.truncate(1);
        let row = &mut run.rows[0];
        row.elapsed_s = Some(2.0);
        let event = measure::WaitEvent::LogFileParallelWrite.key();
        row.waits = [(event.to_owned(), stats(500, 4_000_000))].into();
        row.watched = Some(WatchedFigures {
            flush: Some(stats(500, 3_000_000)),
            ..WatchedFigures::default()
        });
        let line = headline(&run).expect("a watched log").title;
        let want = "/pg_wal: log writes 250 /s; log file parallel write, p99 4.00 ms (longest 9.00 ms); \
                    flush of the log, p99 3.00 ms (longest 9.00 ms)";
        assert_eq!(line, want);
    }

    #[test]
    fn evidence_names_its_source_and_what_it_does_not_know() {
        let mut run = clean_run();
        run.rows.clear();
        assert!(headline(&run).is_none(), "a measured run has its verdict");
        let column = |key: &str| Column {
            key: key.to_owned(),
            heading: key.to_owned(),
        };
        let mut evidence = Imported::default();
        evidence.sources.push(Source {
            file: "awr.txt".to_owned(),
            ..Source::default()
        });
        run.imported = Some(evidence.clone());
        assert!(headline(&run).is_none(), "nothing is known");
        evidence.tables.push(Table {
            id: "wait_events".to_owned(),
            columns: ["event", "waits", "total_us"].map(column).to_vec(),
            rows: vec![vec![
                Cell::Text("log file sync".to_owned()),
                Cell::Count(100),
                Cell::Count(270_000),
            ]],
            ..Table::default()
        });
        run.imported = Some(evidence);
        let line = headline(&run).expect("one wait").title;
        let want = "awr.txt: log file sync, mean 2.70 ms (100 waits); log file parallel write, mean –; \
                    commits –";
        assert_eq!(line, want);
    }
}
