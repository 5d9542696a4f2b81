//! fio's text for people, of releases 2 and 3, also of `fio --client`: rates, latencies and
//! percentiles of each job, in the tables of its JSON, and the shares of its latency buckets.
//!
//! A job begins with `NAME: (groupid=…, jobs=…): err=`; lines that fit none of its parts are passed
//! over, and the sums of a group (`Run status group`) end it. Sums over all clients are apart.

use super::fio_words::{err_of, host_line, host_of, job, mebibytes, sourced, thousands, unit_us};
use crate::Notes;
use crate::fio::{ALL_CLIENTS, tables_of};
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::{Cell, Severity};
use std::collections::BTreeMap;

/// Jobs whose options are kept.
const METHODS_MAX: usize = 256;
const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];
const LATENCIES: [&str; 4] = ["slat", "clat", "lat", "sync"];
/// Percentiles that have a column, in the order of the columns.
const PERCENTILES: [&str; 5] = ["50.00", "90.00", "99.00", "99.90", "99.99"];
/// Percentiles of a latency that are kept besides; fio prints at most 20.
const PERCENTILES_MAX: usize = 32;
/// Shares of a job that are kept.
const SHARES_MAX: usize = 64;
/// Columns of `fio_latency` from the percentiles to the host, which text has blank between.
const BLANKS: usize = 4;

/// Whether a line begins a job.
pub fn opens(line: &str) -> bool {
    job(line).is_some()
}

#[derive(Debug, Default)]
struct Latency {
    /// Minimum, mean, deviation, maximum, in microseconds.
    figures: Option<[SourcedCell; 4]>,
    percentiles: BTreeMap<&'static str, SourcedCell>,
    /// Those that have no column: their names and values.
    others: Vec<[SourcedCell; 2]>,
}

#[derive(Debug, Default)]
struct Direction {
    iops: SourcedCell,
    mb_per_s: SourcedCell,
    runtime_s: SourcedCell,
    ios: SourcedCell,
    is_met: bool,
    latencies: [Latency; LATENCIES.len()],
}

#[derive(Debug)]
struct Job {
    name: String,
    /// The name, as the job's cells have it.
    shown: SourcedCell,
    host: Option<SourcedCell>,
    line: u64,
    directions: [Direction; DIRECTIONS.len()],
    /// The direction whose lines are being read; `None` in the part of the syncs.
    at: Option<usize>,
    sync: Latency,
    /// How many syncs were issued.
    syncs: SourcedCell,
    /// The number of the error that ended it; 0 is none.
    err: SourcedCell,
    /// The latency whose percentiles follow, and the microseconds of their unit.
    percentiles: Option<(usize, f64)>,
    /// Bound from above, bound from below, percent.
    shares: Vec<[SourcedCell; 3]>,
}

/// The jobs of a file.
#[derive(Debug, Default)]
pub struct FioText {
    job: Option<Job>,
    /// The host whose results follow.
    host: Option<SourcedCell>,
    /// No job has followed its line yet.
    host_is_new: bool,
    methods: BTreeMap<String, SourcedCell>,
    tables: [Option<[usize; 3]>; 2],
    shares: [Option<usize>; 2],
    others: [Option<usize>; 2],
}

impl FioText {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let has_mark = |mark: &[u8]| memchr::memmem::find(line.as_bytes(), mark).is_some();
        if self.job.is_none()
            && (line.starts_with(' ') || memchr::memchr2(b'=', b'<', line.as_bytes()).is_none())
        {
            return;
        }
        let source = SourceLine::new(number, line);
        if let Some((host, name)) = job(line) {
            self.give(sheets);
            let host = host.map(|h| source.text(h)).or_else(|| self.host.clone());
            self.host_is_new = false;
            let job = Job::new(name, host, source);
            job.note_error(notes);
            self.job = Some(job);
            return;
        }
        if !line.starts_with(' ') {
            if has_mark(b": (g=") {
                self.method(source);
            }
            // Results of a client follow its name, which may be behind the line of progress.
            if let Some(host) = host_line(line) {
                self.give(sheets);
                // Of two clients that end together, nothing says whose results come first.
                let is_alone = !std::mem::replace(&mut self.host_is_new, true);
                self.host = is_alone.then(|| source.text(host));
                return;
            }
            if line.starts_with("Run status group") {
                self.host = None;
            }
            if !line.is_empty() {
                self.give(sheets);
            }
            return;
        }
        let is_last = self.job.as_mut().is_some_and(|job| job.line(source));
        if is_last {
            self.give(sheets);
        }
    }

    /// Ends the file.
    pub fn end(&mut self, sheets: &mut Sheets) {
        self.give(sheets);
    }

    /// `redo: (g=0): rw=write, bs=…, ioengine=sync, iodepth=1`.
    fn method(&mut self, source: SourceLine<'_>) {
        let (_, line) = host_of(source.text);
        let Some((name, rest)) = line.split_once(": (g=") else {
            return;
        };
        let method = rest.split_once("): ").map_or("", |(_, method)| method);
        if method.starts_with("rw=") && self.methods.len() < METHODS_MAX {
            self.methods.insert(name.to_owned(), source.text(method));
        }
    }

    fn give(&mut self, sheets: &mut Sheets) {
        let Some(job) = self.job.take() else {
            return;
        };
        let is_all = job.name == ALL_CLIENTS;
        let open = || tables_of(is_all, job.line, sheets);
        let [rates, latencies, _] = *self.tables[usize::from(is_all)].get_or_insert_with(open);
        let host = match &job.host {
            Some(host) if !is_all => host.clone(),
            _ => SourcedCell::blank(),
        };
        let method = self.methods.get(&job.name).cloned().unwrap_or_default();
        for (name, direction) in DIRECTIONS.iter().zip(&job.directions) {
            if !direction.is_met {
                continue;
            }
            let name = SourcedCell::label(name);
            let row = vec![
                job.shown.clone(),
                name.clone(),
                direction.ios.clone(),
                direction.iops.clone(),
                direction.mb_per_s.clone(),
                direction.runtime_s.clone(),
                method.clone(),
                job.err.clone(),
                host.clone(),
            ];
            sheets.sourced_row(rates, job.line, row);
            for (kind, latency) in LATENCIES.iter().zip(&direction.latencies) {
                // What has its own time is as often as its I/Os.
                let leads = [&job.shown, &name, &SourcedCell::label(kind), &direction.ios];
                let row = latency.row(leads, &host);
                row.into_iter()
                    .for_each(|row| sheets.sourced_row(latencies, job.line, row));
                let of = [leads[0], leads[1], leads[2], &host];
                give_others(
                    &mut self.others[usize::from(is_all)],
                    latency,
                    of,
                    job.line,
                    sheets,
                );
            }
        }
        let labels = ["sync", "lat"].map(SourcedCell::label);
        let leads = [&job.shown, &labels[0], &labels[1], &job.syncs];
        let row = job.sync.row(leads, &host);
        row.into_iter()
            .for_each(|row| sheets.sourced_row(latencies, job.line, row));
        let of = [leads[0], leads[1], leads[2], &host];
        give_others(
            &mut self.others[usize::from(is_all)],
            &job.sync,
            of,
            job.line,
            sheets,
        );
        self.give_shares(&job, is_all, &host, sheets);
    }

    fn give_shares(&mut self, job: &Job, is_all: bool, host: &SourcedCell, sheets: &mut Sheets) {
        if job.shares.is_empty() {
            return;
        }
        let columns = [
            ("job", "Job"),
            ("to_us", "To µs"),
            ("from_us", "From µs"),
            ("pct", "%"),
            ("host", "Host"),
        ];
        let (id, title) = match is_all {
            true => (
                "fio_all_clients_shares",
                "fio: shares of latencies of all clients together",
            ),
            false => ("fio_shares", "fio: shares of latencies"),
        };
        let open = || sheets.open(id, title, job.line, &columns);
        let table = *self.shares[usize::from(is_all)].get_or_insert_with(open);
        for [to, from, pct] in job.shares.clone() {
            let row = vec![job.shown.clone(), to, from, pct, host.clone()];
            sheets.sourced_row(table, job.line, row);
        }
    }
}

impl Job {
    fn new(name: &str, host: Option<SourcedCell>, source: SourceLine<'_>) -> Job {
        Job {
            name: name.to_owned(),
            shown: source.text(name),
            host,
            line: source.number,
            directions: Default::default(),
            at: None,
            sync: Latency::default(),
            syncs: SourcedCell::blank(),
            err: err_of(source),
            percentiles: None,
            shares: Vec::new(),
        }
    }

    /// Reports that the job ended with an error: its figures are of what it did before.
    fn note_error(&self, notes: &mut Notes) {
        let Cell::Count(err) = self.err.cell else {
            return;
        };
        if err > 0 {
            let line = Some(self.line);
            notes.add(Severity::Error, "fio.job_failed", line, None, || {
                let name = crate::notes::quote(self.name.as_bytes());
                format!("job {name} ended with err={err}: its figures are not of a whole run")
            });
        }
    }

    /// Takes a line of the job; whether it was the last one of interest.
    fn line(&mut self, source: SourceLine<'_>) -> bool {
        let trimmed = source.text.trim();
        if let Some(issued) = trimmed.strip_prefix("issued") {
            self.issued(issued, source);
            return true;
        }
        if let Some(row) = trimmed.strip_prefix('|') {
            self.percentile_row(row, source);
        } else if trimmed.starts_with("fsync/fdatasync/sync_file_range:") {
            (self.at, self.percentiles) = (None, None);
        } else if let Some((name, rest)) = trimmed.split_once(['(', ':']) {
            let name = name.trim();
            if let Some(at) = DIRECTIONS.iter().position(|d| *d == name) {
                self.direction(at, rest, source);
            } else if let Some(kind) = LATENCIES.iter().position(|l| *l == name) {
                self.latency(kind, rest, source);
            } else if let Some(kind) = name.strip_suffix(" percentiles") {
                let kind = LATENCIES.iter().position(|l| *l == kind);
                self.percentiles = kind.zip(unit_us(rest));
            }
        }
        false
    }

    /// ` IOPS=554, BW=2218KiB/s (2272kB/s)(6664KiB/3004msec); 0 zone resets`, or
    /// ` io=471028KB, bw=7848.2KB/s, iops=1962, runt= 60018msec`.
    fn direction(&mut self, at: usize, rest: &str, source: SourceLine<'_>) {
        self.at = Some(at);
        self.percentiles = None;
        let Some(direction) = self.directions.get_mut(at) else {
            return;
        };
        direction.is_met = true;
        let figure = |key: &str| {
            let (_, value) = rest.split_once(key)?;
            let end = value.trim_start().find([',', ' ', '(', ')']);
            Some(&value.trim_start()[..end?])
        };
        let sourced = |word: Option<&str>, read: fn(&str) -> Option<(f64, f64)>, unit: f64| {
            let found = word.and_then(|w| Some((w, read(w)?)));
            found.map_or_else(SourcedCell::blank, |(w, (n, scale))| {
                source.scaled(w, n, scale * unit)
            })
        };
        direction.iops = sourced(figure("IOPS=").or_else(|| figure("iops=")), thousands, 1.0);
        direction.mb_per_s = sourced(figure("BW=").or_else(|| figure("bw=")), mebibytes, 1.0);
        let ms = rest.split("msec").next();
        let ms = ms.and_then(|r| r.rsplit(['/', '=', ' ']).next());
        direction.runtime_s = sourced(ms.filter(|_| rest.contains("msec")), thousands, 1e-3);
    }

    /// `usec): min=2, max=3371, avg=21.78, stdev=135.00`, or the shares
    /// `usec)   : 4=32.29%, 10=37.27%`.
    fn latency(&mut self, kind: usize, rest: &str, source: SourceLine<'_>) {
        let Some((unit, figures)) = unit_us(rest).zip(rest.split_once(':').map(|(_, f)| f)) else {
            return;
        };
        if figures.contains('%') {
            self.shares(figures, unit, source);
            return;
        }
        let mut found = [const { None }; 4];
        for part in figures.split(',') {
            let Some((key, value)) = part.split_once('=') else {
                continue;
            };
            // The deviation is the last figure of the line: with fewer decimals it is cut.
            if key.trim() == "stdev" && value.split_once('.').is_none_or(|(_, d)| d.len() != 2) {
                return;
            }
            let keys = ["min", "avg", "stdev", "max"];
            let at = keys.iter().position(|k| *k == key.trim());
            if let Some(slot) = at.and_then(|at| found.get_mut(at)) {
                *slot = sourced(value.trim(), unit, source);
            }
        }
        let [Some(min), Some(mean), Some(stdev), Some(max)] = found else {
            return;
        };
        if let Some(latency) = self.latency_of(kind) {
            latency.figures = Some([min, mean, stdev, max]);
        }
    }

    fn latency_of(&mut self, kind: usize) -> Option<&mut Latency> {
        match self.at {
            Some(at) => self.directions.get_mut(at)?.latencies.get_mut(kind),
            None => (LATENCIES.get(kind) == Some(&"sync")).then_some(&mut self.sync),
        }
    }

    /// `4=32.29%, 10=37.27%, >=2000=0.10%`.
    fn shares(&mut self, figures: &str, unit: f64, source: SourceLine<'_>) {
        for part in figures.split(',') {
            let Some((bound, pct)) = part.trim().rsplit_once('=') else {
                continue;
            };
            let pct = pct.strip_suffix('%').and_then(|p| sourced(p, 1.0, source));
            let from = bound
                .strip_prefix(">=")
                .and_then(|b| sourced(b, unit, source));
            let to = sourced(bound, unit, source);
            let has_bound = to.is_some() || from.is_some();
            let has_room = self.shares.len() < SHARES_MAX;
            if let Some(pct) = pct.filter(|_| has_bound && has_room) {
                let (to, from) = (to.unwrap_or_default(), from.unwrap_or_default());
                self.shares.push([to, from, pct]);
            }
        }
    }

    /// `  1.00th=[    4],  5.00th=[    4], 10.00th=[    4],`.
    fn percentile_row(&mut self, row: &str, source: SourceLine<'_>) {
        let Some((kind, unit)) = self.percentiles else {
            return;
        };
        let whole = row.split_inclusive(']').filter_map(|p| p.strip_suffix(']'));
        for (percentile, value) in whole.filter_map(|p| p.split_once("th=[")) {
            let percentile = percentile.trim_start_matches([',', ' ']);
            let known = PERCENTILES.iter().find(|p| **p == percentile);
            let value = sourced(value.trim(), unit, source);
            let name = source.cell(percentile);
            let (Some(value), Some(latency)) = (value, self.latency_of(kind)) else {
                continue;
            };
            match known {
                Some(known) => {
                    latency.percentiles.insert(known, value);
                }
                None if latency.others.len() < PERCENTILES_MAX => {
                    latency.others.push([name, value]);
                }
                None => {}
            }
        }
    }

    /// ` rwts: total=0,1666,0,0 short=…`, or `    : total=r=0/w=117757/d=0, short=…`.
    fn issued(&mut self, rest: &str, source: SourceLine<'_>) {
        let Some((_, total)) = rest.split_once("total=") else {
            return;
        };
        let Some((total, _)) = total.split_once(" short=") else {
            return;
        };
        let counts = total.trim_end_matches(',').split([',', '/']);
        let counts = counts.map(|c| c.rsplit('=').next().unwrap_or_default());
        for (at, count) in counts.enumerate().take(4) {
            if at == 3 {
                // Releases that print 0 beside latencies of syncs did not count them.
                if count != "0" {
                    self.syncs = source.cell(count);
                }
                break;
            }
            // Reads and writes that are reported together are counted as reads.
            let at = if at == 0 && self.directions[3].is_met {
                3
            } else {
                at
            };
            if let Some(direction) = self.directions.get_mut(at) {
                direction.ios = source.cell(count);
            }
        }
    }
}

impl Latency {
    /// The row behind job, direction, latency and count.
    fn row(&self, leads: [&SourcedCell; 4], host: &SourcedCell) -> Option<Vec<SourcedCell>> {
        let figures = self.figures.clone()?;
        let mut row: Vec<SourcedCell> = leads.into_iter().cloned().collect();
        row.extend(figures);
        let percentile = |p: &str| self.percentiles.get(p).cloned().unwrap_or_default();
        row.extend(PERCENTILES.map(percentile));
        row.extend(vec![SourcedCell::blank(); BLANKS]);
        row.push(host.clone());
        Some(row)
    }
}

/// Gives the percentiles that have no column of their own; job, direction, latency and host lead.
fn give_others(
    table: &mut Option<usize>,
    latency: &Latency,
    [job, direction, kind, host]: [&SourcedCell; 4],
    line: u64,
    sheets: &mut Sheets,
) {
    if latency.others.is_empty() || latency.figures.is_none() {
        return;
    }
    let columns = [
        ("job", "Job"),
        ("direction", "Direction"),
        ("latency", "Latency"),
        ("percentile", "Percentile"),
        ("value_us", "µs"),
        ("host", "Host"),
    ];
    let open = || {
        sheets.open(
            "fio_percentiles",
            "fio: further percentiles",
            line,
            &columns,
        )
    };
    let table = *table.get_or_insert_with(open);
    for [percentile, value] in &latency.others {
        let row = [job, direction, kind, percentile, value, host];
        sheets.sourced_row(table, line, row.map(Clone::clone).to_vec());
    }
}
