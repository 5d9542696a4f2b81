//! Sweeps of jobs: a heading, a line for each number of jobs. Names and values are paired by the
//! identities between columns where their counts differ, since published headings are wrong too.

use crate::Notes;
use crate::awr::cell::GridCell;
use crate::gathered::Gathered;
use crate::origin::{SourceLine, SourcedCell};
use crate::quick::{QuickWord, has_any};
use crate::sheets::Sheets;
use crate::tables::row;
use measure::imported::{Cell, Severity};
use measure::origin::TextSpan;
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

/// Whether a line contains the name of a column of workloads, as [`name`] reads it.
fn has_workload(line: &str) -> bool {
    const WORD: &[u8] = b"workload";
    let letters = || {
        line.bytes()
            .filter(|b| !b.is_ascii_whitespace() && *b != b'_')
    };
    let begins = letters()
        .enumerate()
        .filter(|(_, b)| matches!(b, b'w' | b'W'));
    let mut begins = begins.map(|(at, _)| letters().skip(at).take(WORD.len()));
    begins.any(|word| {
        word.map(|b| b.to_ascii_lowercase())
            .eq(WORD.iter().copied())
    })
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
    pub platform: GridCell,
    /// The run's number, as printed.
    pub run: GridCell,
    /// The test's number, as printed.
    pub test: GridCell,
    /// The workload.
    pub workload: GridCell,
    /// Values by column.
    pub values: [Option<f64>; N],
    /// Where each value is.
    spans: [Option<TextSpan>; N],
}

/// A table that is being read.
#[derive(Clone, Debug)]
pub struct Heading {
    separator: char,
    names: Vec<GridCell>,
    line: u64,
    /// What stands above the table.
    pub platform: GridCell,
    rows: Vec<(u64, Vec<GridCell>)>,
}

impl Heading {
    /// The heading that a line is.
    #[must_use]
    pub fn of(line: SourceLine<'_>) -> Option<Heading> {
        let text = line.text;
        let separator = ['\t', ',', ';'].into_iter().find(|s| text.contains(*s))?;
        if !has_workload(text) {
            return None;
        }
        let names = text.split(separator).map(|n| GridCell::of(line, n));
        let names: Vec<GridCell> = names.collect();
        let known: Vec<Name> = names.iter().map(|n| name(n)).collect();
        let values = known.iter().filter(|n| matches!(n, Name::Value(_))).count();
        let fits = known.contains(&Name::Workload)
            && known.contains(&Name::Value(JOBS))
            && known.contains(&Name::Value(TPS));
        (fits && values >= 4 && names.len() <= COLUMNS_MAX).then(|| Heading {
            separator,
            names,
            line: 0,
            platform: GridCell::default(),
            rows: Vec::new(),
        })
    }

    /// With its place and what stands above it.
    #[must_use]
    pub fn at(mut self, line: u64, platform: GridCell) -> Heading {
        self.line = line;
        self.platform = platform;
        self
    }

    /// Its line.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Takes a line of the table; says whether it is one.
    pub fn row(&mut self, line: SourceLine<'_>) -> bool {
        let cells = line.text.split(self.separator);
        let cells: Vec<GridCell> = cells.map(|c| GridCell::of(line, c)).collect();
        let numbers = cells.iter().filter(|c| printed::plain(c).is_some()).count();
        let fits = cells.len() + 2 >= self.names.len() && numbers * 2 > cells.len();
        if fits && self.rows.len() < ROWS_MAX {
            self.rows.push((line.number, cells));
        }
        fits
    }

    /// The points of the table; says how names and values were paired where they do not.
    pub fn points(&self, sheets: &mut Sheets, notes: &mut Notes) -> Vec<SweepPoint> {
        let used = |cells: &[GridCell]| {
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
        let dropped_name = self.names.get(dropped).cloned().unwrap_or_default();
        let left_out = dropped_name.as_str();
        let columns = [
            ("names", "Names"),
            ("values", "Values"),
            ("left_out", "Name left out"),
            ("failing_before", "Checks failing by the names"),
            ("failing_after", "Checks failing without it"),
        ];
        let title = "A heading with more names than values";
        let table = sheets.open("column_pairing", title, self.line, &columns);
        let count =
            |n: usize, formula| SourcedCell::derived(Cell::Count(n as u64), formula, Vec::new());
        let row = vec![
            count(names.len(), "names in the heading"),
            count(values, "most values in a line"),
            dropped_name.sourced(),
            count(before, "checks between columns that fail"),
            count(after, "checks between columns that fail without that name"),
        ];
        sheets.sourced_row(table, self.line, row);
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
        let all = self.rows.iter().flat_map(|(_, cells)| cells);
        let has_commas = printed::prints_commas(all.map(GridCell::as_str));
        for (line, cells) in &self.rows {
            let mut point = SweepPoint {
                line: *line,
                platform: GridCell::default(),
                run: GridCell::default(),
                test: GridCell::default(),
                workload: GridCell::default(),
                values: [None; N],
                spans: [None; N],
            };
            for (name, cell) in names.iter().zip(cells) {
                let short = GridCell {
                    text: cell.chars().take(80).collect(),
                    ..cell.clone()
                };
                match name {
                    Name::Platform => point.platform = short,
                    Name::Run => point.run = short,
                    Name::Test => point.test = short,
                    Name::Workload => point.workload = short,
                    Name::Value(i) => {
                        let value = match has_commas {
                            true => printed::plain(&cell.pointed()),
                            false => printed::plain(cell),
                        };
                        (point.values[*i], point.spans[*i]) = (value, cell.span);
                    }
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
    let several = points
        .iter()
        .any(|p| p.platform.text != first.platform.text);
    for p in points {
        let names = [&p.platform, &p.run, &p.test, &p.workload];
        let mut cells: Vec<SourcedCell> = names.map(GridCell::sourced).into();
        let value = |(v, span): (&Option<f64>, &Option<TextSpan>)| {
            v.map_or_else(SourcedCell::blank, |v| SourcedCell::scaled(v, 1.0, *span))
        };
        cells.extend(p.values.iter().zip(&p.spans).map(value));
        let line = Cell::Count(p.line);
        cells.push(SourcedCell::derived(line, "number of the line", Vec::new()));
        sheets.sourced_row(table, p.line, cells);
        out.rows.push(run_row(p, several));
    }
}

fn run_row(p: &SweepPoint, several: bool) -> Row {
    let name = match several {
        true => format!("{} on {}", p.workload.text, p.platform.text),
        false => p.workload.text.clone(),
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
pub struct Claim<'a> {
    /// The number as printed.
    pub token: &'a str,
    /// How the factor follows from it.
    pub formula: &'static str,
    /// `latency`, `throughput` or `data throughput`.
    pub metric: &'static str,
    /// `decreases` or `increases`.
    pub direction: &'static str,
    /// By how much, as a factor: +47 % is 1.47.
    pub factor: f64,
    /// Half of the claim's last digit, on the same scale.
    pub half_digit: f64,
}

/// The transactions of which a line says that something is most effective for them: `short` or
/// `large`, as in `particularly effective for short transactions`.
#[must_use]
pub fn size_claim(line: &str) -> Option<&'static str> {
    if line.len() > 200 || !has_any(line, &[QuickWord::new("effective for")]) {
        return None;
    }
    let small = line.to_ascii_lowercase();
    let is_most = ["particularly", "especially", "most"]
        .iter()
        .any(|w| small.contains(w));
    let (_, behind) = small.split_once("effective for ")?;
    let (size, what) = behind.split_once(' ')?;
    let size = match size {
        "short" | "small" | "small-sized" => "short",
        "long" | "large" | "large-sized" | "huge" => "large",
        _ => return None,
    };
    (is_most && what.starts_with("transaction")).then_some(size)
}

/// The claim of a line such as `latency decreases by up to a factor of 6`.
#[must_use]
pub fn claim(line: &str) -> Option<Claim<'_>> {
    if line.len() > 200 || !has_any(line, &[QuickWord::new("up to")]) {
        return None;
    }
    // Of the same length as the line, so that places are the same.
    let small = line.to_ascii_lowercase();
    let at = small.find("up to")? + 5;
    let (after, rest) = (&small[at..], &line[at..]);
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
    let token = rest
        .split_whitespace()
        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
    let end = token
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(token.len());
    let shown = token[..end].trim_end_matches('.');
    let number = printed::number(shown)?;
    let percent = token[end..].starts_with('%')
        || after.contains(&format!("{} %", token.to_ascii_lowercase()));
    let times =
        after.contains("factor") || token[end..].starts_with(['x', 'X']) || after.contains("times");
    let half = number.half_digit();
    let (factor, half_digit, formula) = match (percent, direction) {
        (true, "increases") => (1.0 + number.value / 100.0, half / 100.0, "1 + a / 100"),
        (true, _) if number.value < 100.0 => {
            let factor = 1.0 / (1.0 - number.value / 100.0);
            (factor, half / 100.0 * factor * factor, "1 / (1 - a / 100)")
        }
        (false, _) if times => (number.value, half, "a"),
        _ => return None,
    };
    Some(Claim {
        token: shown,
        formula,
        metric,
        direction,
        factor,
        half_digit,
    })
}
