//! What evidence of a log writer shows: whether its device is slow, what a commit's wait consists
//! of, and what else sessions waited for.
//!
//! Invariants: a cause is named only where its own figure shows it; what a report cannot show is
//! said; rules stay silent where rounding can explain a figure.

pub mod before_after;
mod checkpoint;
pub(super) mod device;
pub(super) mod figures;
mod hours;
mod humps;
mod instances;
pub(super) mod intervals;
pub mod kept;
mod prometheus;
mod rates;
pub(super) mod reports;
mod risen;
pub mod series;
mod servers;
mod sources;
mod standby;
mod storage;
mod sync_methods;
mod tails;
mod timeless;
mod waits;

use super::constants::gathered;
use super::evidence::published::clock;
use super::evidence::view::{Line, Tables, lines, place, show};
use super::latency::band;
use super::note::Note;
use super::{Caution, Info, catalogue};
use crate::thresholds::Thresholds;
pub use device::devices;
use figures::ReportFigures;
use measure::imported::{Imported, Table};
use measure::judgement::Finding;
use reports::reports;

pub(crate) const WRITE: &str = "log file parallel write";
pub(super) const SYNC: &str = "log file sync";

/// What each report shows, report by report. `has_rows` is true where the mean of the log writes
/// was judged by a row already.
#[must_use]
pub fn of(imported: &Imported, thresholds: &Thresholds, has_rows: bool) -> Vec<Finding> {
    let tables = Tables(&imported.tables);
    let log_device = imported.log_device.as_deref();
    let mut notes: Vec<Note> = Vec::new();
    let reports = reports(tables);
    let explained = hours::of_series(tables, &reports, thresholds, &mut notes);
    tails::collect(tables, thresholds, &mut notes);
    rates::collect(tables, thresholds, &mut notes);
    standby::of_sql_server(tables, thresholds, &mut notes);
    servers::collect(tables, thresholds, &mut notes);
    sources::collect(tables, log_device, thresholds, &mut notes);
    prometheus::collect(tables, thresholds, &mut notes);
    checkpoint::collect(tables, thresholds, &mut notes);
    timeless::collect(tables, thresholds, &mut notes);
    timeless::not_durable(imported, &mut notes);
    notes.extend(checkpoint::row_locks(tables));
    sync_methods::collect(tables, thresholds, &mut notes);
    hours::of_slow_writes(tables, &mut notes);
    hours::of_reports(&explained, &reports, &imported.sources, &mut notes);
    let passed_over = series::passed_over(tables);
    for report in reports.iter().filter(|of| !passed_over.contains(of.file)) {
        humps::against_mean(report, tables, &mut notes);
        storage::collect(report, thresholds, &mut notes);
        if !has_rows {
            write_mean(report, thresholds, &mut notes);
        }
        db_time(report, &reports, thresholds, &mut notes);
        waits::collect(report, tables, thresholds, &mut notes);
        processors(report, thresholds, &mut notes);
        redo(report, &mut notes);
    }
    instances::collect(&reports, thresholds, &mut notes);
    outliers(tables, &mut notes);
    device::collect(tables, log_device, thresholds, &mut notes);
    notes.into_iter().map(Note::done).collect()
}

/// Mean nanoseconds of waits, and how many there were.
pub(crate) type MeanAndCount = (f64, f64);

/// What commits and log writes of one report waited.
pub(crate) struct CommitWaits {
    /// The file; empty where it joins several.
    pub(crate) file: String,
    /// Log file sync.
    pub(crate) sync: MeanAndCount,
    /// Log file parallel write.
    pub(crate) write: MeanAndCount,
}

/// The reports that contain both waits.
pub(crate) fn commit_waits(imported: &Imported) -> Vec<CommitWaits> {
    let reports = reports(Tables(&imported.tables));
    let known = |report: &ReportFigures<'_>, name: &str| {
        let event = report.event(name).filter(|event| event.waits > 0.0)?;
        Some((event.mean_ms() * 1e6, event.waits))
    };
    let each = reports.iter().filter_map(|report| {
        Some(CommitWaits {
            file: report.file.to_owned(),
            sync: known(report, SYNC)?,
            write: known(report, WRITE)?,
        })
    });
    each.collect()
}

/// Log file sync and log file parallel write of the report that contains both and most waits of
/// them, else of those that contain either.
pub(crate) fn first_waits(imported: &Imported) -> (Option<MeanAndCount>, Option<MeanAndCount>) {
    let by_count = |a: &MeanAndCount, b: &MeanAndCount| a.1.total_cmp(&b.1);
    let both = commit_waits(imported).into_iter();
    let most = both.max_by(|a, b| by_count(&a.sync, &b.sync));
    if let Some(both) = most {
        return (Some(both.sync), Some(both.write));
    }
    let reports = reports(Tables(&imported.tables));
    let known = |name: &str| {
        let events = reports.iter().filter_map(|report| report.event(name));
        let known = events.filter(|event| event.waits > 0.0);
        known
            .map(|event| (event.mean_ms() * 1e6, event.waits))
            .max_by(by_count)
    };
    (known(SYNC), known(WRITE))
}

/// Whether the log writes explain by how much log file sync changed, both before and after: a
/// commit waits for up to two of them. Nothing where the figures are between.
pub(crate) fn explained_by_writes(sync: [f64; 2], write: [f64; 2]) -> Option<&'static str> {
    /// Parts of the change that the writes may have, where they explain it and where they do not.
    const SHARES: [f64; 2] = [0.5, 0.25];
    let share = 2.0 * (write[1] - write[0]) / (sync[1] - sync[0]);
    match share {
        share if share >= SHARES[0] => {
            Some("the log writes changed too, so look at the device and at what else it does")
        }
        share if share <= SHARES[1] => {
            Some("the log writes do not explain it: it is not the device")
        }
        _ => None,
    }
}

/// A claim with the file that it is about.
fn claim_of(report: &ReportFigures<'_>, claim: String) -> String {
    match (report.file, report.instance.as_str()) {
        ("", "") => claim,
        ("", instance) => format!("{claim} ({instance})"),
        (file, "") => format!("{claim} ({file})"),
        (file, instance) => format!("{claim} ({file}, {instance})"),
    }
}

/// What commits have of the time of all sessions: the most that a faster log can give back.
fn db_time(
    report: &ReportFigures<'_>,
    all: &[ReportFigures<'_>],
    t: &Thresholds,
    notes: &mut Vec<Note>,
) {
    let Some(pct) = report.db_time_pct(SYNC) else {
        return;
    };
    let limit = &t.db_time_small_pct;
    let is_small = pct < limit.value;
    // It is no answer for a database of which another instance waits for commits.
    let is_beside = |of: &&ReportFigures<'_>| {
        of.file == report.file && of.db_time_pct(SYNC).is_some_and(|pct| pct >= limit.value)
    };
    if is_small && all.iter().any(|of| is_beside(&of)) {
        return;
    }
    let claim = match is_small {
        true => format!(
            "commits are {pct} % of DB time: they are not what makes this database slow, and the fastest log \
             device gives back at most that{}",
            leading(report)
        ),
        false => format!("commits are {pct} % of DB time: a faster log gives back at most that"),
    };
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_DB_TIME, Info, claim_of(report, claim))
            .number("db_time_pct", pct)
            .limit(format!("under {} % of DB time", limit.value), limit)
            .advice_if(is_small),
    );
}

/// What has most of DB time, where that is not the commits.
fn leading(report: &ReportFigures<'_>) -> String {
    let most = report.shares().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map_or_else(String::new, |(name, pct)| {
        format!("; first comes {name} with {pct} %")
    })
}

fn write_mean(report: &ReportFigures<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some(write) = report.event(WRITE) else {
        return;
    };
    let mean = write.mean_ms();
    let (weight, words) = band(mean, t);
    let limit = match weight {
        super::Good => &t.write_mean_good_ms,
        Info => &t.write_mean_fair_ms,
        _ => &t.write_mean_problem_ms,
    };
    let claim = format!(
        "{WRITE} takes {mean:.2} ms on average over {}, {words}",
        write.number_in_words()
    );
    notes.push(
        Note::of(
            &catalogue::LATENCY_WRITE_MEAN,
            weight,
            claim_of(report, claim),
        )
        .number("mean_ms", mean)
        .number("waits", write.waits)
        .limit(words, limit)
        .advice_if(weight != super::Good && weight != Info),
    );
}

fn processors(report: &ReportFigures<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some(idle) = report.idle_pct else {
        return;
    };
    let busy = 100.0 - idle;
    if busy < t.cpu_busy_pct.value {
        return;
    }
    let claim = format!(
        "the processors were {busy:.1} % busy: the log writer and the sessions wait for them, and that looks \
         like slow I/O"
    );
    notes.push(
        Note::of(
            &catalogue::DIAGNOSIS_PROCESSORS,
            Caution,
            claim_of(report, claim),
        )
        .number("busy_pct", busy)
        .limit(format!("busy {} %", t.cpu_busy_pct.value), &t.cpu_busy_pct),
    );
}

/// Redo per commit, its rate, and the share of padding.
fn redo(report: &ReportFigures<'_>, notes: &mut Vec<Note>) {
    let Some(size) = report.statistic("redo size").filter(|bytes| *bytes > 0.0) else {
        return;
    };
    let mut parts = Vec::new();
    let per_commit = report
        .statistic("user commits")
        .filter(|n| *n > 0.0)
        .map(|n| size / n);
    if let Some(bytes) = per_commit {
        parts.push(format!(
            "{} bytes of redo per commit",
            crate::format::count(bytes.round() as u64)
        ));
    }
    let rate = report.window_s.map(|seconds| size * 60.0 / seconds / 1e9);
    if let Some(rate) = rate {
        parts.push(format!("{rate:.3} GB of redo per minute"));
    }
    let wastage = report
        .statistic("redo wastage")
        .map(|w| 100.0 * w / (w + size));
    if let Some(wastage) = wastage {
        parts.push(format!(
            "{wastage:.1} % of the written bytes are padding (redo wastage)"
        ));
    }
    let switches = report.statistic("log switches (derived)");
    let switches = switches.zip(report.window_s).map(|(n, s)| n * 3600.0 / s);
    if let Some(switches) = switches {
        parts.push(format!("{switches:.1} log switches per hour"));
    }
    if parts.is_empty() {
        return;
    }
    notes.push(
        Note::of(
            &catalogue::DIAGNOSIS_REDO,
            Info,
            claim_of(report, parts.join(", ")),
        )
        .maybe("redo_per_commit_bytes", per_commit)
        .maybe("redo_gb_per_minute", rate)
        .maybe("wastage_pct", wastage)
        .maybe("log_switches_per_hour", switches),
    );
}

/// Log writes that were reported one by one because they took long.
fn outliers(tables: Tables<'_>, notes: &mut Vec<Note>) {
    let kinds = [
        ("io_outliers", "io_latency", "V$LGWRIO_OUTLIER"),
        (
            "log_write_warnings",
            "elapsed_ms",
            "warnings of the log writer",
        ),
    ];
    for (id, column, name) in kinds {
        let is_clock = clock::is_clock(tables, id, column);
        for table in tables.of(id) {
            let of_log = |line: &Line<'_>| {
                id != "io_outliers" || matches!(line.text("function_name"), "LGWR" | "")
            };
            let written = lines(table).filter(of_log);
            let times: Vec<f64> = written.filter_map(|line| line.number(column)).collect();
            if !times.is_empty() {
                notes.push(listed(&times, is_clock, name, table));
            }
        }
    }
}

/// Slow log writes of one table; of a clock nothing but their number is known.
fn listed(times: &[f64], is_clock: bool, name: &str, table: &Table) -> Note {
    let writes = match times.len() {
        1 => "1 log write was".to_owned(),
        n => format!("{n} log writes were"),
    };
    let (sum, longest) = (
        times.iter().sum(),
        times.iter().copied().fold(0.0, f64::max),
    );
    let how_long = match is_clock {
        true => "how long they took is unknown, because the column is a clock".to_owned(),
        false if times.len() == 1 => format!("{} ms", show(longest)),
        false => format!(
            "{} ms together, the longest {} ms",
            show(sum),
            show(longest)
        ),
    };
    let path = gathered(times).filter(|_| !is_clock);
    let claim = format!(
        "{writes} reported as slow ({name}): {how_long}{} ({})",
        path.as_ref().map_or("", |(words, _)| words),
        place(table)
    );
    let known = |ms: f64| (!is_clock).then_some(ms);
    Note::of(&catalogue::DIAGNOSIS_OUTLIERS, Caution, claim)
        .advice_or_own(path.map(|(_, advice)| advice))
        .number("writes", times.len() as f64)
        .maybe("sum_ms", known(sum))
        .maybe("longest_ms", known(longest))
}
