//! Every printed ratio can be recomputed from the values that are printed beside it: in the text,
//! in JSON and in HTML, of stored runs and of interleaved rounds.
//!
//! 60 random comparisons. The message of a failure has the seed: `random(seed)` makes the same
//! one.

use analysis::compare::live::{LiveSide, Round};
use analysis::compare::{Options, Side, WaitSeries, rounds, stored};
use analysis::stats::random::Random;
use measure::Histogram;
use measure::comparison::Comparison;
use measure::imported::Cell;
use measure::run::{DeviceFigures, Interval, RedoFigures, Row, Run};
use redolab::output::{comparison, table::Style};
use std::collections::BTreeMap;

const SYNC: &str = "log_file_sync";

/// A row of random levels with its series; some figures are missing, some are zero.
pub fn row(r: &mut Random, workload: &str, jobs: u32) -> (Row, BTreeMap<String, WaitSeries>) {
    let level_ns = 10_f64.powf(4.0 + 4.0 * r.uniform());
    let tps = 10_f64.powf(5.0 * r.uniform());
    let mut series = WaitSeries::new();
    let mut intervals = Vec::new();
    let mut commits = 0;
    for second in 0..1 + r.below(7) {
        let mut histogram = Histogram::new();
        for _ in 0..200 + r.below(1_500) {
            histogram.record((level_ns * (0.4 * r.normal()).exp()) as u64);
        }
        series.push(&histogram);
        let made = (tps * (0.1 * r.normal()).exp()) as u64 + 1;
        commits += made;
        intervals.push(Interval {
            t_s: second as f64 + 1.0,
            seconds: 1.0,
            commits: made,
            redo_bytes: Some(2_000 * made),
            ..Interval::default()
        });
    }
    let seconds = intervals.len() as f64;
    let per_s = commits as f64 / seconds;
    let sometimes = |r: &mut Random, value: f64| match r.below(8) {
        0 => None,
        1 => Some(0.0),
        _ => Some(value),
    };
    let row = Row {
        workload: workload.to_owned(),
        nodes: 1,
        jobs,
        elapsed_s: Some(seconds),
        elapsed_ns: Some(intervals.len() as u64 * 1_000_000_000),
        commits: Some(commits),
        commit_throughput_tps: Some(per_s),
        waits: [(SYNC.to_owned(), series.merged.stats())].into(),
        intervals,
        redo: Some(RedoFigures {
            redo_data_mbps: sometimes(r, 2_000.0 * per_s / f64::from(1 << 20)),
            redo_writes_iops: sometimes(r, per_s / 3.0),
            ..RedoFigures::default()
        }),
        device: Some(DeviceFigures {
            device_writes: sometimes(r, commits as f64).map(|n| n as u64),
            device_written_bytes: Some(commits * 4096),
            device_util_pct: Some(100.0 * r.uniform()),
            ..DeviceFigures::default()
        }),
        ..Row::default()
    };
    (row, [(SYNC.to_owned(), series)].into())
}

fn run(name: &str, rows: Vec<Row>) -> Run {
    Run {
        rows,
        ..crate::common::full_run(name, &crate::common::histogram(1, 50))
    }
}

/// A comparison of two or three stored runs, or of as many targets in one to eight rounds.
fn random(seed: u64) -> Comparison {
    let mut r = Random::new(seed);
    let options = Options {
        resamples: 25,
        seed,
        ..Options::default()
    };
    let names = &["alpha", "beta", "gamma"][..2 + r.below(2)];
    let loads: Vec<u32> = (0..=r.below(3)).map(|i| 4_u32.pow(i as u32)).collect();
    let rows = |r: &mut Random| -> Vec<(Row, BTreeMap<String, WaitSeries>)> {
        loads
            .iter()
            .map(|jobs| row(r, "LGWR-LAT1", *jobs))
            .collect()
    };
    if r.below(2) == 0 {
        let side = |name: &&str| {
            let (rows, series) = rows(&mut r).into_iter().unzip();
            Side {
                name: (*name).to_owned(),
                run: run(name, rows),
                complete: true,
                series,
            }
        };
        let sides: Vec<Side> = names.iter().map(side).collect();
        return stored::compare(&sides, &options);
    }
    let count = 1 + r.below(8);
    let side = |name: &&str| {
        let mut round = |i: usize| {
            let (rows, series): (Vec<Row>, Vec<_>) = rows(&mut r).into_iter().unzip();
            let merged = series.into_iter().map(|of_row| {
                let merged = of_row
                    .into_iter()
                    .map(|(e, s): (String, WaitSeries)| (e, s.merged));
                merged.collect()
            });
            Round {
                merged: merged.collect(),
                run: run(&format!("{name}-{i}"), rows),
            }
        };
        LiveSide {
            name: (*name).to_owned(),
            rounds: (0..count).map(&mut round).collect(),
        }
    };
    let sides: Vec<LiveSide> = names.iter().map(side).collect();
    rounds::compare(&sides, &options)
}

/// A printed number with half a unit of its last digit, in units that cancel in a ratio.
fn number(text: &str) -> Option<(f64, f64)> {
    let text = text.trim().replace('−', "-");
    // A share is not shown as nothing or as all where it is neither.
    match text.as_str() {
        "> 99.9 %" => return Some((99.95, 0.05)),
        "< 0.001 %" => return Some((0.0005, 0.0005)),
        _ => {}
    }
    let (digits, unit) = match text.split_once(' ') {
        Some((digits, unit)) => (digits.to_owned(), unit),
        None => (text.clone(), ""),
    };
    let scale = match unit {
        "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => 1.0,
    };
    let digits = digits.replace(',', "");
    let value: f64 = digits.parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, d)| d.len());
    let half = 0.5 * 10_f64.powi(-(decimals as i32));
    Some((value * scale, half * scale))
}

/// A printed change as a ratio, with half a unit of its last digit.
fn change(text: &str) -> Option<(f64, f64)> {
    let text = text.trim().replace('−', "-");
    let bare = |text: &str| number(text.trim());
    if let Some(inverse) = text.strip_prefix('÷') {
        let (value, half) = bare(inverse)?;
        return Some((1.0 / value, half / (value * value) * 1.1));
    }
    if let Some(times) = text.strip_prefix('×').or(text.strip_suffix('×')) {
        return bare(times);
    }
    let (value, half) = bare(text.strip_suffix('%')?)?;
    Some((1.0 + value / 100.0, half / 100.0))
}

/// Whether a printed ratio can be that of two printed values.
fn fits(a: (f64, f64), b: (f64, f64), ratio: (f64, f64)) -> bool {
    let slack = 1.0 + 1e-9;
    let low = (b.0 - b.1).max(0.0) / (a.0 + a.1);
    let high = match a.0 - a.1 {
        least if least > 0.0 => (b.0 + b.1) / least,
        _ => f64::INFINITY,
    };
    ratio.0 + ratio.1 * slack >= low / slack && ratio.0 - ratio.1 * slack <= high * slack
}

/// Counts what was recomputed, and collects what does not fit.
#[derive(Default)]
struct Checked {
    ratios: usize,
    wrong: Vec<String>,
}

impl Checked {
    fn ratio(&mut self, place: &str, cells: [&str; 3], read: fn(&str) -> Option<(f64, f64)>) {
        let [a, b, ratio] = cells;
        if matches!(ratio, "-" | "–") {
            return;
        }
        let all = number(a).zip(number(b)).zip(read(ratio));
        self.ratios += 1;
        match all {
            Some(((a, b), ratio)) if fits(a, b, ratio) => {}
            _ => self
                .wrong
                .push(format!("{place}: {a} and {b}, but {ratio}")),
        }
    }

    /// A table of ratios, recomputed from the cells of the table that has the figures.
    fn table(
        &mut self,
        place: &str,
        figures: &[Vec<String>],
        ratios: &[Vec<String>],
        pairs: &[(usize, usize)],
    ) {
        for line in ratios {
            let same = |run: &str| {
                let own = |l: &&Vec<String>| l[0] == run && l[1..3] == line[1..3];
                figures.iter().find(own)
            };
            let Some((a, b)) = same("alpha").zip(same(&line[0])) else {
                self.wrong.push(format!("{place}: {line:?} has no figures"));
                continue;
            };
            for (figure, ratio) in pairs {
                let cells = [a[*figure].as_str(), &b[*figure], &line[*ratio]];
                self.ratio(place, cells, number);
            }
        }
    }
}

/// Columns of figures and of ratios that belong to each other, by table.
const OF_THROUGHPUT: [(usize, usize); 3] = [(3, 3), (4, 4), (5, 6)];
const OF_DEVICE: [(usize, usize); 1] = [(3, 5)];

fn json(c: &Comparison, seen: &mut Checked) {
    let json = serde_json::to_value(c).expect("a comparison is JSON");
    for d in json["differences"].as_array().expect("a list") {
        let of = |key: &str| d[key].as_f64();
        let Some(ratio) = of("ratio") else { continue };
        seen.ratios += 1;
        let (a, b) = (of("a").unwrap_or(f64::NAN), of("b").unwrap_or(f64::NAN));
        let inside = of("ci_low").is_none_or(|low| low <= ratio * (1.0 + 1e-9))
            && of("ci_high").is_none_or(|high| high >= ratio * (1.0 - 1e-9));
        if (b / a / ratio - 1.0).abs() < 1e-9 && inside || (b == 0.0 && ratio == 0.0) {
            continue;
        }
        seen.wrong.push(format!("JSON: {d}"));
    }
    // What a table of the comparison prints is what the differences have.
    for table in c.tables.iter().filter(|t| t.id == "compare_throughput") {
        for d in c
            .differences
            .iter()
            .filter(|d| d.metric == "commit_throughput_tps")
        {
            for (run, value) in [(d.run_a, d.a), (d.run_b, d.b)] {
                let name = Cell::Text(c.runs[run].name.clone());
                let own = |l: &&Vec<Cell>| l[0] == name && l[2] == Cell::Count(d.jobs.into());
                let cell = table.rows.iter().find(own).map(|l| &l[5]);
                let near = |x: &f64, v: f64| (x / v - 1.0).abs() < 1e-9;
                let same = matches!((cell, value), (Some(Cell::Real(x)), Some(v)) if near(x, v));
                if !same {
                    seen.wrong
                        .push(format!("JSON: {cell:?} in the table, {value:?} of {d:?}"));
                }
            }
        }
    }
}

/// Lines of a printed table below the line that begins with `title`.
fn lines(text: &str, title: &str) -> Vec<Vec<String>> {
    let from = text.lines().skip_while(|l| !l.starts_with(title));
    let lines = from.skip(1).take_while(|l| !l.trim().is_empty());
    let cells = |line: &str| -> Vec<String> {
        let cells = line.split("  ").map(str::trim).filter(|c| !c.is_empty());
        cells.map(str::to_owned).collect()
    };
    let named = |l: &Vec<String>| matches!(l[0].as_str(), "alpha" | "beta" | "gamma");
    lines.map(cells).filter(named).collect()
}

/// A line of the matrix: the base's figure, then those of others with their changes in brackets.
fn matrix(cells: &[&str], seen: &mut Checked) {
    for cell in &cells[4..] {
        let cell = cell.replace('\u{a0}', " ");
        if let Some((value, change_text)) = cell.split_once(" (") {
            let shown = change_text.trim_start_matches("~ ").trim_end_matches(')');
            seen.ratio("matrix", [cells[3], value, shown], change);
        }
    }
}

fn text(c: &Comparison, seen: &mut Checked) {
    for verbose in [false, true] {
        let text = comparison::text(c, Style::detect(false, None), verbose);
        let text = text.replace('\u{a0}', " ");
        let mut has_ratios = false;
        for line in text.lines() {
            let cells: Vec<&str> = line
                .split("  ")
                .map(str::trim)
                .filter(|c| !c.is_empty())
                .collect();
            match cells.as_slice() {
                ["Workload", ..] => has_ratios = cells.contains(&"Ratio"),
                ["LGWR-LAT1", _, _, a, b, ratio, more, ..] if has_ratios => {
                    seen.ratio("text", [a, b, ratio], number);
                    seen.ratio("text", [a, b, more], change);
                }
                ["LGWR-LAT1", _, _, _, _, ..] => matrix(&cells, seen),
                _ => {}
            }
        }
        let ratios = lines(&text, "Ratios to the base");
        let figures = lines(&text, "Data and requests");
        seen.table("tables of the text", &figures, &ratios, &OF_THROUGHPUT);
        let device = lines(&text, "The device's own counters");
        seen.table("tables of the text", &device, &ratios, &OF_DEVICE);
    }
}

/// A table of a page: the heading of its section, and its lines, the first one its head.
fn html_tables(html: &str) -> Vec<(String, Vec<Vec<String>>)> {
    let plain = |text: &str| -> String {
        let mut out = String::new();
        let mut inside = false;
        for c in text.chars() {
            match c {
                '<' => inside = true,
                '>' => inside = false,
                c if !inside => out.push(c),
                _ => {}
            }
        }
        out.replace("&amp;", "&")
            .replace("&gt;", ">")
            .replace("&lt;", "<")
            .replace("&#39;", "'")
            .trim()
            .to_owned()
    };
    let mut found = Vec::new();
    for section in html.split("<section").skip(1) {
        let heading = section.split("<h2").nth(1).and_then(|h| h.split_once('>'));
        let heading = heading
            .and_then(|(_, h)| h.split_once("</h2>"))
            .map_or("", |(h, _)| h);
        for table in section.split("<table").skip(1) {
            let table = table.split("</table>").next().unwrap_or_default();
            let rows = table.split("<tr").skip(1).map(|row| {
                let cells = row.replace("<th", "<td").replace("</th>", "</td>");
                let cells = cells.split("<td").skip(1).map(|cell| {
                    let cell = cell.split_once('>').map_or("", |(_, rest)| rest);
                    plain(cell.split("</td>").next().unwrap_or_default())
                });
                cells.collect::<Vec<String>>()
            });
            found.push((plain(heading), rows.collect()));
        }
    }
    found
}

fn html(c: &Comparison, seen: &mut Checked) {
    let page = analysis::report::compare::html(c, &vec![Vec::new(); c.runs.len()]);
    let tables = html_tables(&page);
    let body = |title: &str| -> Vec<Vec<String>> {
        let found = tables
            .iter()
            .find(|(heading, _)| heading.starts_with(title));
        found.map_or(Vec::new(), |(_, lines)| {
            lines.iter().skip(1).cloned().collect()
        })
    };
    // The head of the page has the runs' names over the figures.
    let head = page.split("<section").next().unwrap_or_default();
    for (_, lines) in html_tables(&format!("<section{head}")) {
        for line in lines.iter().skip(1).filter(|line| line.len() > 8) {
            seen.ratio("head of the HTML", [&line[3], &line[4], &line[6]], change);
        }
    }
    let mut compared = 0;
    for (_, lines) in &tables {
        let Some(head) = lines.first() else { continue };
        let place = |name: &str| head.iter().position(|h| h == name);
        let Some(((a, b), at)) = place("Base").zip(place("Other")).zip(place("Change")) else {
            continue;
        };
        for line in &lines[1..] {
            compared += 1;
            seen.ratio("HTML", [&line[a], &line[b], &line[at]], change);
        }
    }
    assert!(
        compared >= c.differences.len(),
        "a difference is not in the page"
    );
    let ratios = body("Ratios to the base");
    seen.table(
        "tables of the HTML",
        &body("Data and requests"),
        &ratios,
        &OF_THROUGHPUT,
    );
    seen.table(
        "tables of the HTML",
        &body("The device"),
        &ratios,
        &OF_DEVICE,
    );
}

#[test]
fn every_printed_ratio_is_that_of_the_values_beside_it() {
    let mut all = 0;
    for seed in 1..=60 {
        let mut seen = Checked::default();
        let c = random(seed);
        json(&c, &mut seen);
        text(&c, &mut seen);
        html(&c, &mut seen);
        let shown = seen
            .wrong
            .iter()
            .take(5)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n");
        assert!(
            seen.wrong.is_empty(),
            "seed {seed}: {} wrong:\n{shown}",
            seen.wrong.len()
        );
        assert!(seen.ratios > 20, "seed {seed}: only {} ratios", seen.ratios);
        all += seen.ratios;
    }
    assert!(all > 6_000, "only {all} ratios");
}
