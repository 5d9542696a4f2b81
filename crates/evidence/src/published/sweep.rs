//! Sweeps of jobs: a heading, a line for each number of jobs. Names and values are paired by the
//! identities between columns where their counts differ, since published headings are wrong too.

use crate::Notes;
use crate::gathered::Gathered;
use crate::sheets::{Sheets, text};
use crate::tables::row;
use measure::imported::{Cell, Severity};
use measure::printed;
use measure::run::{ProcessorFigures, RedoFigures, Row, measured};

/// Rows of a table that are kept.
const ROWS_MAX: usize = 5000;
/// Columns of a heading.
const COLUMNS_MAX: usize = 64;

/// The columns, by our names, and the words of which each stands in the heading (squeezed).
const COLUMNS: &[(&str, &[&str])] = &[
    ("nodes", &["nodes"]),
    ("jobs", &["jobs"]),
    ("cpu_busy_pct", &["cpubusy"]),
    ("cpu_user_pct", &["cpuuser"]),
    ("cpu_sys_pct", &["cpusys"]),
    ("cpu_idle_pct", &["cpuidle"]),
    ("cpu_iowait_pct", &["cpuiow"]),
    ("commit_throughput_tps", &["committhroughput"]),
    ("commit_latency_ms", &["commitlatency"]),
    ("redo_blocks_per_s", &["redoblocks"]),
    ("redo_writes_iops", &["redowrites"]),
    ("redo_synch_writes_iops", &["redosyn"]),
    (
        "redo_data_mbps",
        &["redodata[mbps]", "redodatambps", "redombp"],
    ),
    ("redo_data_kb_per_txn", &["kbpt", "kbpertxn"]),
    ("log_file_sync_ms", &["logfilesync"]),
    ("flash_cache_write_pct", &["cachewrite"]),
    ("elapsed_s", &["elapsed"]),
];
const N: usize = COLUMNS.len();
const JOBS: usize = 1;
const BUSY: usize = 2;
const IDLE: usize = 5;
const TPS: usize = 7;
const LATENCY: usize = 8;
const MBPS: usize = 12;
const KBPT: usize = 13;
const SYNC: usize = 14;
const FLASH: usize = 15;
const ELAPSED: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Platform,
    Run,
    Test,
    Workload,
    Value(usize),
    Other,
}

fn name(heading: &str) -> Name {
    let h: String = heading
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '_')
        .flat_map(char::to_lowercase)
        .collect();
    match h.as_str() {
        "platform" => Name::Platform,
        "run" => Name::Run,
        "test" => Name::Test,
        "workload" => Name::Workload,
        _ => {
            let column = COLUMNS
                .iter()
                .position(|(_, words)| words.iter().any(|w| h.contains(w)));
            column.map_or(Name::Other, Name::Value)
        }
    }
}

/// One line of a sweep.
#[derive(Clone, Debug)]
pub struct SweepPoint {
    /// Line in the file.
    pub line: u64,
    /// What was measured.
    pub platform: String,
    /// The run's number, as printed.
    pub run: String,
    /// The test's number, as printed.
    pub test: String,
    /// The workload.
    pub workload: String,
    /// Values by column.
    pub values: [Option<f64>; N],
}

/// A table that is being read.
#[derive(Clone, Debug)]
pub struct Heading {
    separator: char,
    names: Vec<String>,
    line: u64,
    /// What stands above the table.
    pub platform: String,
    rows: Vec<(u64, Vec<String>)>,
}

impl Heading {
    /// The heading that a line is.
    #[must_use]
    pub fn of(line: &str) -> Option<Heading> {
        let separator = ['\t', ',', ';'].into_iter().find(|s| line.contains(*s))?;
        let names: Vec<String> = line.split(separator).map(|n| n.trim().to_owned()).collect();
        let known: Vec<Name> = names.iter().map(|n| name(n)).collect();
        let values = known.iter().filter(|n| matches!(n, Name::Value(_))).count();
        let fits = known.contains(&Name::Workload)
            && known.contains(&Name::Value(JOBS))
            && known.contains(&Name::Value(TPS));
        (fits && values >= 4 && names.len() <= COLUMNS_MAX).then(|| Heading {
            separator,
            names,
            line: 0,
            platform: String::new(),
            rows: Vec::new(),
        })
    }

    /// With its place and what stands above it.
    #[must_use]
    pub fn at(mut self, line: u64, platform: &str) -> Heading {
        self.line = line;
        platform.clone_into(&mut self.platform);
        self
    }

    /// Takes a line of the table; says whether it is one.
    pub fn row(&mut self, line: &str, number: u64) -> bool {
        let cells: Vec<String> = line
            .split(self.separator)
            .map(|c| c.trim().to_owned())
            .collect();
        let numbers = cells.iter().filter(|c| printed::plain(c).is_some()).count();
        let fits = cells.len() + 2 >= self.names.len() && numbers * 2 > cells.len();
        if fits && self.rows.len() < ROWS_MAX {
            self.rows.push((number, cells));
        }
        fits
    }

    /// The points of the table; says how names and values were paired where they do not.
    pub fn points(&self, sheets: &mut Sheets, notes: &mut Notes) -> Vec<SweepPoint> {
        let used = |cells: &[String]| {
            cells
                .iter()
                .rposition(|c| !c.is_empty())
                .map_or(0, |i| i + 1)
        };
        let values = self.rows.iter().map(|(_, c)| used(c)).max().unwrap_or(0);
        let names: Vec<Name> = self.names.iter().map(|n| name(n)).collect();
        let as_it_stands = self.pair(&names);
        if values >= names.len() || as_it_stands.is_empty() {
            return as_it_stands;
        }
        let before = misfits(&as_it_stands);
        let without = |i: usize| {
            let mut fewer = names.clone();
            fewer.remove(i);
            self.pair(&fewer)
        };
        let best = (0..names.len()).map(|i| (misfits(&without(i)), i)).min();
        let Some((after, dropped)) = best.filter(|(after, _)| *after < before) else {
            return as_it_stands;
        };
        let line = Some(self.line);
        let left_out = self.names.get(dropped).map_or("", String::as_str);
        let columns = [
            ("names", "Names"),
            ("values", "Values"),
            ("left_out", "Name left out"),
            ("failing_before", "Checks failing by the names"),
            ("failing_after", "Checks failing without it"),
        ];
        let title = "A heading with more names than values";
        let table = sheets.open("column_pairing", title, self.line, &columns);
        let count = |n: usize| Cell::Count(n as u64);
        let mut row = vec![count(names.len()), count(values), text(left_out)];
        row.extend([count(before), count(after)]);
        sheets.row(table, self.line, row);
        sheets.found -= 1;
        notes.add(Severity::Warning, "columns.do_not_pair", line, None, || {
            format!(
                "the heading has {} names for {values} values; read by the names alone {before} checks \
                 between columns fail (redo per transaction x throughput / 1024 = MB/s, log file sync \
                 within the commit's latency, shares within 100 %), without `{}` {after}: so \
                 that name is left out",
                names.len(),
                left_out
            )
        });
        without(dropped)
    }

    fn pair(&self, names: &[Name]) -> Vec<SweepPoint> {
        let mut points = Vec::with_capacity(self.rows.len());
        for (line, cells) in &self.rows {
            let mut point = SweepPoint {
                line: *line,
                platform: String::new(),
                run: String::new(),
                test: String::new(),
                workload: String::new(),
                values: [None; N],
            };
            for (name, cell) in names.iter().zip(cells) {
                let short: String = cell.chars().take(80).collect();
                match name {
                    Name::Platform => point.platform = short,
                    Name::Run => point.run = short,
                    Name::Test => point.test = short,
                    Name::Workload => point.workload = short,
                    Name::Value(i) => point.values[*i] = printed::plain(cell),
                    Name::Other => {}
                }
            }
            points.push(point);
        }
        points
    }
}

/// How many checks between columns fail.
fn misfits(points: &[SweepPoint]) -> usize {
    let mut out = 0;
    for p in points {
        let v = |i: usize| p.values[i];
        let mut check = |fits: Option<bool>| out += usize::from(fits != Some(true));
        check((|| {
            let (mb, kb, tps) = (v(MBPS)?, v(KBPT)?, v(TPS)?);
            Some((kb * tps / 1024.0 - mb).abs() <= 0.5 + 0.01 * mb.abs())
        })());
        check((|| Some(v(SYNC)? <= 1.02 * v(LATENCY)?))());
        check((|| Some((97.0..=103.0).contains(&(v(BUSY)? + v(IDLE)?))))());
        check(v(FLASH).map(|f| (0.0..=100.0).contains(&f)));
        check(v(ELAPSED).map(|e| e >= 1.0));
    }
    out
}

/// Gives the points as one table and as rows.
pub fn give(points: &[SweepPoint], sheets: &mut Sheets, out: &mut Gathered) {
    let Some(first) = points.first() else {
        return;
    };
    let mut columns = vec![
        ("platform", "Platform"),
        ("run", "Run"),
        ("test", "Test"),
        ("workload", "Workload"),
    ];
    columns.extend(COLUMNS.iter().map(|(key, _)| (*key, *key)));
    columns.push(("line", "Line"));
    let table = sheets.open(
        "published_runs",
        "Published sweeps of jobs",
        first.line,
        &columns,
    );
    let several = points.iter().any(|p| p.platform != first.platform);
    for p in points {
        let mut cells = vec![
            text(&p.platform),
            text(&p.run),
            text(&p.test),
            text(&p.workload),
        ];
        cells.extend(p.values.iter().map(|v| v.map_or(Cell::Blank, Cell::Real)));
        cells.push(Cell::Count(p.line));
        sheets.row(table, p.line, cells);
        out.rows.push(run_row(p, several));
    }
}

fn run_row(p: &SweepPoint, several: bool) -> Row {
    let name = match several {
        true => format!("{} on {}", p.workload, p.platform),
        false => p.workload.clone(),
    };
    let mut row = row(&name);
    let v = |i: usize| p.values[i];
    row.nodes = v(0).map_or(1, |n| n.clamp(0.0, 1e6) as u32);
    row.jobs = v(JOBS).map_or(0, |n| n.clamp(0.0, 1e9) as u32);
    row.processors = measured(ProcessorFigures {
        cpu_busy_pct: v(BUSY),
        cpu_user_pct: v(3),
        cpu_sys_pct: v(4),
        cpu_idle_pct: v(IDLE),
        cpu_iowait_pct: v(6),
        ..ProcessorFigures::default()
    });
    row.redo = measured(RedoFigures {
        redo_blocks_per_s: v(9),
        redo_writes_iops: v(10),
        redo_data_mbps: v(MBPS),
        redo_data_kb_per_txn: v(KBPT),
        flash_cache_write_pct: v(FLASH),
        ..RedoFigures::default()
    });
    (row.commit_throughput_tps, row.commit_latency_ms) = (v(TPS), v(LATENCY));
    (row.redo_synch_writes_iops, row.log_file_sync_ms) = (v(11), v(SYNC));
    row.elapsed_s = v(ELAPSED);
    row
}

/// A claim of a factor in words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// `latency`, `throughput` or `data throughput`.
    pub metric: &'static str,
    /// `decreases` or `increases`.
    pub direction: &'static str,
    /// By how much, as a factor: +47 % is 1.47.
    pub factor: f64,
    /// Half of the claim's last digit, on the same scale.
    pub half_digit: f64,
}

/// The claim of a line such as `latency decreases by up to a factor of 6`.
#[must_use]
pub fn claim(line: &str) -> Option<Claim> {
    let small = line.to_lowercase();
    let (_, after) = small.split_once("up to").filter(|_| line.len() <= 200)?;
    let has = |words: &[&str]| words.iter().any(|w| small.contains(w));
    let direction = if has(&["decreas", "reduc", "shorten"]) {
        "decreases"
    } else if has(&["increas", "improv", "rais"]) {
        "increases"
    } else {
        return None;
    };
    let metric = if has(&["latency"]) {
        "latency"
    } else if has(&["data throughput", "mb/s", "mbps"]) {
        "data throughput"
    } else if has(&["throughput"]) {
        "throughput"
    } else {
        return None;
    };
    let token = after
        .split_whitespace()
        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
    let end = token
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(token.len());
    let number = printed::number(token[..end].trim_end_matches('.'))?;
    let percent = token[end..].starts_with('%') || after.contains(&format!("{token} %"));
    let times =
        after.contains("factor") || token[end..].starts_with('x') || after.contains("times");
    let half = number.half_digit();
    let (factor, half_digit) = match (percent, direction) {
        (true, "increases") => (1.0 + number.value / 100.0, half / 100.0),
        (true, _) if number.value < 100.0 => {
            let factor = 1.0 / (1.0 - number.value / 100.0);
            (factor, half / 100.0 * factor * factor)
        }
        (false, _) if times => (number.value, half),
        _ => return None,
    };
    Some(Claim {
        metric,
        direction,
        factor,
        half_digit,
    })
}
