//! fio's text for people, of releases 2 and 3, also of `fio --client`: rates, latencies and
//! percentiles of each job, in the tables of its JSON, and the shares of its latency buckets.
//!
//! A job begins with `NAME: (groupid=…, jobs=…): err=`; lines that fit none of its parts are passed
//! over, and the sums of a group (`Run status group`) end it. Sums over all clients are apart.

use crate::fio::{ALL_CLIENTS, tables_of};
use crate::sheets::{Sheets, text};
use measure::imported::Cell;
use std::collections::BTreeMap;

/// Jobs whose options are kept.
const METHODS_MAX: usize = 256;
const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];
const LATENCIES: [&str; 4] = ["slat", "clat", "lat", "sync"];
/// Percentiles that have a column, in the order of the columns.
const PERCENTILES: [&str; 5] = ["50.00", "90.00", "99.00", "99.90", "99.99"];
/// Columns of `fio_latency` from the percentiles to the host, which text has blank between.
const BLANKS: usize = 4;

/// Whether a line begins a job.
pub fn opens(line: &str) -> bool {
    job(line).is_some()
}

/// `redo: (groupid=0, jobs=1): err= 0: pid=19788: …`, also behind `<host> `: host and name.
fn job(line: &str) -> Option<(Option<&str>, &str)> {
    let at = memchr::memmem::find(line.as_bytes(), b": (groupid=")?;
    let (name, rest) = line.split_at_checked(at)?;
    if !rest.contains(", jobs=") || !rest.contains("): err=") {
        return None;
    }
    let (host, name) = host_of(name);
    Some((host, name))
}

/// `<host> rest`.
fn host_of(line: &str) -> (Option<&str>, &str) {
    let parts = line.strip_prefix('<').and_then(|l| l.split_once("> "));
    parts.map_or((None, line), |(host, rest)| (Some(host), rest))
}

/// The client whose results follow: `Jobs: 4 (f=4)<host> `, with the blank that fio prints.
fn host_line(line: &str) -> Option<&str> {
    let (_, host) = line.strip_suffix("> ")?.rsplit_once('<')?;
    (!host.is_empty() && !host.contains(' ') && host.len() < 256).then_some(host)
}

#[derive(Debug, Default)]
struct Latency {
    /// Minimum, mean, deviation, maximum, in microseconds.
    figures: Option<[f64; 4]>,
    percentiles: BTreeMap<&'static str, f64>,
}

#[derive(Debug, Default)]
struct Direction {
    iops: Option<f64>,
    mb_per_s: Option<f64>,
    runtime_s: Option<f64>,
    ios: Option<u64>,
    is_met: bool,
    latencies: [Latency; LATENCIES.len()],
}

#[derive(Debug)]
struct Job {
    name: String,
    host: Option<String>,
    line: u64,
    directions: [Direction; DIRECTIONS.len()],
    /// The direction whose lines are being read; `None` in the part of the syncs.
    at: Option<usize>,
    sync: Latency,
    /// The latency whose percentiles follow, and the microseconds of their unit.
    percentiles: Option<(usize, f64)>,
    shares: Vec<(Option<f64>, Option<f64>, f64)>,
}

/// The jobs of a file.
#[derive(Debug, Default)]
pub struct FioText {
    job: Option<Job>,
    /// The host whose results follow.
    host: Option<String>,
    /// No job has followed its line yet.
    host_is_new: bool,
    methods: BTreeMap<String, String>,
    tables: [Option<[usize; 3]>; 2],
    shares: [Option<usize>; 2],
}

impl FioText {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64, sheets: &mut Sheets) {
        let has_mark = |mark: &[u8]| memchr::memmem::find(line.as_bytes(), mark).is_some();
        if self.job.is_none()
            && (line.starts_with(' ') || memchr::memchr2(b'=', b'<', line.as_bytes()).is_none())
        {
            return;
        }
        if let Some((host, name)) = job(line) {
            self.give(sheets);
            let host = host.map(str::to_owned).or_else(|| self.host.clone());
            self.host_is_new = false;
            self.job = Some(Job::new(name, host, number));
            return;
        }
        if !line.starts_with(' ') {
            if has_mark(b": (g=") {
                self.method(line);
            }
            // Results of a client follow its name, which may be behind the line of progress.
            if let Some(host) = host_line(line) {
                self.give(sheets);
                // Of two clients that end together, nothing says whose results come first.
                let is_alone = !std::mem::replace(&mut self.host_is_new, true);
                self.host = is_alone.then(|| host.to_owned());
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
        let is_last = self.job.as_mut().is_some_and(|job| job.line(line));
        if is_last {
            self.give(sheets);
        }
    }

    /// Ends the file.
    pub fn end(&mut self, sheets: &mut Sheets) {
        self.give(sheets);
    }

    /// `redo: (g=0): rw=write, bs=…, ioengine=sync, iodepth=1`.
    fn method(&mut self, line: &str) {
        let (_, line) = host_of(line);
        let Some((name, rest)) = line.split_once(": (g=") else {
            return;
        };
        let method = rest.split_once("): ").map_or("", |(_, method)| method);
        if method.starts_with("rw=") && self.methods.len() < METHODS_MAX {
            self.methods
                .insert(name.to_owned(), method.chars().take(200).collect());
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
            Some(host) if !is_all => text(host),
            _ => Cell::Blank,
        };
        let method = self.methods.get(&job.name).map_or("", String::as_str);
        let real = |v: Option<f64>| v.map_or(Cell::Blank, Cell::Real);
        for (name, direction) in DIRECTIONS.iter().zip(&job.directions) {
            if !direction.is_met {
                continue;
            }
            let row = vec![
                text(&job.name),
                text(name),
                direction.ios.map_or(Cell::Blank, Cell::Count),
                real(direction.iops),
                real(direction.mb_per_s),
                real(direction.runtime_s),
                text(method),
                host.clone(),
            ];
            sheets.row(rates, row);
            for (kind, latency) in LATENCIES.iter().zip(&direction.latencies) {
                // What has its own time is as often as its I/Os.
                let row = latency.row(&job.name, name, kind, direction.ios, &host);
                row.into_iter().for_each(|row| sheets.row(latencies, row));
            }
        }
        let row = job.sync.row(&job.name, "sync", "lat", None, &host);
        row.into_iter().for_each(|row| sheets.row(latencies, row));
        self.give_shares(&job, is_all, &host, sheets);
    }

    fn give_shares(&mut self, job: &Job, is_all: bool, host: &Cell, sheets: &mut Sheets) {
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
        let real = |v: Option<f64>| v.map_or(Cell::Blank, Cell::Real);
        for (to, from, pct) in &job.shares {
            let row = vec![
                text(&job.name),
                real(*to),
                real(*from),
                Cell::Real(*pct),
                host.clone(),
            ];
            sheets.row(table, row);
        }
    }
}

impl Job {
    fn new(name: &str, host: Option<String>, line: u64) -> Job {
        Job {
            name: name.to_owned(),
            host,
            line,
            directions: Default::default(),
            at: None,
            sync: Latency::default(),
            percentiles: None,
            shares: Vec::new(),
        }
    }

    /// Takes a line of the job; whether it was the last one of interest.
    fn line(&mut self, line: &str) -> bool {
        let trimmed = line.trim();
        if let Some(issued) = trimmed.strip_prefix("issued") {
            self.issued(issued);
            return true;
        }
        if let Some(row) = trimmed.strip_prefix('|') {
            self.percentile_row(row);
        } else if trimmed.starts_with("fsync/fdatasync/sync_file_range:") {
            (self.at, self.percentiles) = (None, None);
        } else if let Some((name, rest)) = trimmed.split_once(['(', ':']) {
            let name = name.trim();
            if let Some(at) = DIRECTIONS.iter().position(|d| *d == name) {
                self.direction(at, rest);
            } else if let Some(kind) = LATENCIES.iter().position(|l| *l == name) {
                self.latency(kind, rest);
            } else if let Some(kind) = name.strip_suffix(" percentiles") {
                let kind = LATENCIES.iter().position(|l| *l == kind);
                self.percentiles = kind.zip(unit_us(rest));
            }
        }
        false
    }

    /// ` IOPS=554, BW=2218KiB/s (2272kB/s)(6664KiB/3004msec); 0 zone resets`, or
    /// ` io=471028KB, bw=7848.2KB/s, iops=1962, runt= 60018msec`.
    fn direction(&mut self, at: usize, rest: &str) {
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
        direction.iops = figure("IOPS=")
            .or_else(|| figure("iops="))
            .and_then(thousands);
        direction.mb_per_s = figure("BW=").or_else(|| figure("bw=")).and_then(mebibytes);
        let ms = rest
            .split("msec")
            .next()
            .and_then(|r| r.rsplit(['/', '=', ' ']).next());
        let ms = ms.filter(|_| rest.contains("msec")).and_then(thousands);
        direction.runtime_s = ms.map(|ms| ms / 1000.0);
    }

    /// `usec): min=2, max=3371, avg=21.78, stdev=135.00`, or the shares
    /// `usec)   : 4=32.29%, 10=37.27%`.
    fn latency(&mut self, kind: usize, rest: &str) {
        let Some((unit, figures)) = unit_us(rest).zip(rest.split_once(':').map(|(_, f)| f)) else {
            return;
        };
        if figures.contains('%') {
            self.shares(figures, unit);
            return;
        }
        let mut found = [None; 4];
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
                *slot = thousands(value.trim()).map(|v| v * unit);
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
    fn shares(&mut self, figures: &str, unit: f64) {
        for part in figures.split(',') {
            let Some((bound, pct)) = part.trim().rsplit_once('=') else {
                continue;
            };
            let pct = pct.strip_suffix('%').and_then(thousands);
            let from = bound.strip_prefix(">=").and_then(thousands);
            let to = thousands(bound);
            if let Some(pct) =
                pct.filter(|_| (to.is_some() || from.is_some()) && self.shares.len() < 64)
            {
                self.shares
                    .push((to.map(|v| v * unit), from.map(|v| v * unit), pct));
            }
        }
    }

    /// `  1.00th=[    4],  5.00th=[    4], 10.00th=[    4],`.
    fn percentile_row(&mut self, row: &str) {
        let Some((kind, unit)) = self.percentiles else {
            return;
        };
        let whole = row.split_inclusive(']').filter_map(|p| p.strip_suffix(']'));
        for (percentile, value) in whole.filter_map(|p| p.split_once("th=[")) {
            let percentile = percentile.trim_start_matches([',', ' ']);
            let known = PERCENTILES.iter().find(|p| **p == percentile);
            let value = thousands(value.trim());
            if let (Some(known), Some(value), Some(latency)) = (known, value, self.latency_of(kind))
            {
                latency.percentiles.insert(known, value * unit);
            }
        }
    }

    /// ` rwts: total=0,1666,0,0 short=…`, or `    : total=r=0/w=117757/d=0, short=…`.
    fn issued(&mut self, rest: &str) {
        let Some((_, total)) = rest.split_once("total=") else {
            return;
        };
        let Some((total, _)) = total.split_once(" short=") else {
            return;
        };
        let counts = total.trim_end_matches(',').split([',', '/']);
        let counts = counts.map(|c| c.rsplit('=').next().unwrap_or_default().parse::<u64>());
        for (at, count) in counts.enumerate().take(3) {
            // Reads and writes that are reported together are counted as reads.
            let at = if at == 0 && self.directions[3].is_met {
                3
            } else {
                at
            };
            if let Some(direction) = self.directions.get_mut(at) {
                direction.ios = count.ok();
            }
        }
    }
}

impl Latency {
    fn row(
        &self,
        job: &str,
        direction: &str,
        kind: &str,
        count: Option<u64>,
        host: &Cell,
    ) -> Option<Vec<Cell>> {
        let figures = self.figures?;
        let mut row = vec![
            text(job),
            text(direction),
            text(kind),
            count.map_or(Cell::Blank, Cell::Count),
        ];
        row.extend(figures.map(Cell::Real));
        let percentile = |p: &str| {
            self.percentiles
                .get(p)
                .map_or(Cell::Blank, |v| Cell::Real(*v))
        };
        row.extend(PERCENTILES.map(percentile));
        row.extend([const { Cell::Blank }; BLANKS]);
        row.push(host.clone());
        Some(row)
    }
}

/// Microseconds of the unit that a text begins with or that is in its parentheses.
fn unit_us(text: &str) -> Option<f64> {
    let unit = text.trim_start_matches('(').split(')').next()?;
    match unit {
        "nsec" => Some(1e-3),
        "usec" => Some(1.0),
        "msec" => Some(1e3),
        "sec" => Some(1e6),
        _ => None,
    }
}

/// A number with fio's suffixes of thousands: `17746k`, `1.2M`.
fn thousands(word: &str) -> Option<f64> {
    let (digits, scale) = match word.as_bytes().last()? {
        b'k' | b'K' => (&word[..word.len() - 1], 1e3),
        b'M' => (&word[..word.len() - 1], 1e6),
        b'G' => (&word[..word.len() - 1], 1e9),
        _ => (word, 1.0),
    };
    let is_plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number = digits
        .parse()
        .ok()
        .filter(|_| is_plain && digits.len() < 32);
    number.map(|n: f64| n * scale)
}

/// `2218KiB/s` and `7848.2KB/s` (of 1024, of fio 2), `37.1MiB/s`, `24.1Mi` of all clients.
fn mebibytes(word: &str) -> Option<f64> {
    let end = word
        .bytes()
        .take_while(|b| b.is_ascii_digit() || *b == b'.')
        .count();
    let (digits, unit) = word.split_at(end);
    let scale = match unit.trim_end_matches("/s").trim_end_matches('B') {
        "" => 1.0 / 1_048_576.0,
        "Ki" | "K" => 1.0 / 1024.0,
        "Mi" | "M" => 1.0,
        "Gi" | "G" => 1024.0,
        _ => return None,
    };
    thousands(digits).map(|n| n * scale)
}
