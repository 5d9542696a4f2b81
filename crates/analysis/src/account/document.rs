//! What evidence answers by itself before any cause is looked for: which platform of a sweep
//! commits most, what differs between two samples or two reports, whether log writes are slow at
//! their peaks.
//!
//! Invariants: an answer is one line and names its source; its figures are of that source alone;
//! nothing here knows a document.

use super::Shown;
use super::answer::KeyFigure;
use crate::findings::diagnosis::{commit_waits, first_waits};
use crate::findings::evidence::published::sweep_peaks::SWEEP_PEAKS;
use crate::findings::evidence::view::{Line, Tables, lines, place, show};
use crate::format::{self, latency};
use measure::imported::{Imported, Table};
use measure::judgement::Weight;

/// Characters of an answer at most.
pub const LINE_MAX: usize = 120;
/// Characters of a name in it.
const NAME_MAX: usize = 28;
/// The 20 ms rule for log writes.
const RULE_MS: f64 = 20.0;
/// Share over 1 ms from which a histogram is no good news, percent.
const SLOW_PCT: f64 = 10.0;

/// What a document answers.
pub struct DocumentAnswer {
    /// The question.
    pub question: String,
    /// The answer in one line.
    pub words: String,
    /// How it weighs.
    pub weight: Weight,
    /// What else belongs to it.
    pub why: Vec<String>,
    /// The evidence that it is of.
    pub source: String,
    /// Its figures.
    pub figures: Vec<KeyFigure>,
    /// What is compared, a bar each: where there are two sides.
    pub sides: Vec<(String, Shown)>,
    /// The table that has it, by its id, and the line of that table by its first cell.
    pub table: (&'static str, String),
}

/// The answer of the evidence, where it has one of its own.
#[must_use]
pub fn answer(evidence: &Imported) -> Option<DocumentAnswer> {
    let tables = Tables(&evidence.tables);
    sweep(tables)
        .or_else(|| samples(tables))
        .or_else(|| listings(tables))
        .or_else(|| histogram(evidence, tables))
}

fn clipped(name: &str) -> String {
    match name.chars().count() {
        n if n <= NAME_MAX => name.to_owned(),
        _ => name.chars().take(NAME_MAX - 1).chain(['…']).collect(),
    }
}

/// `file:line`, the file without its folders.
fn named(table: &Table) -> String {
    let place = place(table);
    place.rsplit('/').next().unwrap_or_default().to_owned()
}

fn per_second(rate: f64) -> Shown {
    Shown::Measure(rate, "/s".to_owned())
}

/// Platforms of a sweep: the workload in which they are furthest apart.
fn sweep(tables: Tables<'_>) -> Option<DocumentAnswer> {
    let table = tables.of(SWEEP_PEAKS).next()?;
    let all: Vec<Line<'_>> = lines(table).collect();
    let times = |l: &Line<'_>| l.number("times").unwrap_or(1.0);
    let best = all.iter().max_by(|a, b| times(a).total_cmp(&times(b)))?;
    let workload = best.text("workload");
    let same: Vec<&Line<'_>> = all
        .iter()
        .filter(|l| l.text("workload") == workload)
        .collect();
    let rate = |l: &Line<'_>| l.number("commits_per_s").unwrap_or(0.0);
    let digits = |l: &Line<'_>| format::digits(rate(l));
    // A name has several platforms: the answer has the fastest and the next.
    let next = same.get(1).copied();
    let words = match next {
        Some(next) => format!(
            "{} commits up to {}/s, {} {}/s: {} times as many ({workload})",
            clipped(best.text("platform")),
            digits(best),
            clipped(next.text("platform")),
            digits(next),
            show(rate(best) / rate(next)),
        ),
        None => format!("{workload}: up to {} commits/s", digits(best)),
    };
    let sync = |l: &Line<'_>| l.number("log_file_sync_ms").map(|ms| Shown::Ns(ms * 1e6));
    let jobs = |l: &Line<'_>| format!("{workload}, {} jobs", l.number("jobs").unwrap_or(0.0));
    let note = |l: &Line<'_>| format!("{}, {}", l.text("platform"), jobs(l));
    let mut figures = vec![KeyFigure::of(
        "Commits, highest",
        per_second(rate(best)),
        note(best),
    )];
    figures.extend(next.map(|l| KeyFigure::of("Commits, next", per_second(rate(l)), note(l))));
    let waited = [Some(best), next];
    for (label, line) in ["Log file sync, highest rate", "Log file sync, next"]
        .into_iter()
        .zip(waited)
    {
        figures.extend(line.and_then(|l| {
            Some(KeyFigure::of(
                label,
                sync(l)?,
                l.text("platform").to_owned(),
            ))
        }));
    }
    let why = by_workload(
        &all,
        [
            best.text("platform"),
            next.map_or("", |l| l.text("platform")),
        ],
    );
    Some(DocumentAnswer {
        question: match next {
            Some(_) => "Which platform commits faster? What the tables show".to_owned(),
            None => "How fast does it commit? What the tables show".to_owned(),
        },
        words,
        weight: Weight::Info,
        why: why.into_iter().collect(),
        source: format!(
            "sweeps of jobs, {}",
            source_of(tables, "published_runs", table)
        ),
        figures,
        sides: Vec::new(),
        table: (SWEEP_PEAKS, workload.to_owned()),
    })
}

fn source_of(tables: Tables<'_>, id: &'static str, or: &Table) -> String {
    named(tables.of(id).next().unwrap_or(or))
}

/// How many times as much the fastest platform commits in each workload.
fn by_workload(all: &[Line<'_>], [fast, next]: [&str; 2]) -> Option<String> {
    let rate = |workload: &str, platform: &str| {
        let of = |l: &&Line<'_>| l.text("workload") == workload && l.text("platform") == platform;
        all.iter().find(of)?.number("commits_per_s")
    };
    let mut names: Vec<&str> = all.iter().map(|l| l.text("workload")).collect();
    names.dedup();
    let ratio = |name: &&str| {
        let times = rate(name, fast)? / rate(name, next)?;
        Some(format!("{name} {}", show(times)))
    };
    let ratios: Vec<String> = names.iter().filter_map(ratio).collect();
    (ratios.len() > 1).then(|| {
        format!(
            "Highest rates of {fast}, times those of {next}: {}.",
            ratios.join(", ")
        )
    })
}

/// The words of two names in which they differ, behind those that both begin with.
fn apart(names: [&str; 2]) -> (String, [String; 2]) {
    // R prints an expression; what a person wrote is behind it.
    let [a, b] = names.map(|name| name.split_once("# ").map_or(name, |(_, said)| said));
    let common = a
        .split(' ')
        .zip(b.split(' '))
        .take_while(|(x, y)| x == y)
        .count();
    let rest = |name: &str| {
        let words: Vec<&str> = name.split(' ').skip(common).collect();
        match words.is_empty() {
            true => name.to_owned(),
            false => words.join(" "),
        }
    };
    let head: Vec<&str> = a.split(' ').take(common).collect();
    let head = match head.is_empty() {
        true => String::new(),
        false => format!("{} ", head.join(" ")),
    };
    (head, [rest(a), rest(b)])
}

/// Two samples in short, with the test that compares them.
fn samples(tables: Tables<'_>) -> Option<DocumentAnswer> {
    let all: Vec<Line<'_>> = tables.lines("r_summary").collect();
    let [a, b] = all.as_slice() else { return None };
    let unit_ns = match (a.text("unit"), b.text("unit")) {
        ("us", "us") => 1e3,
        ("ms", "ms") => 1e6,
        ("ns", "ns") => 1.0,
        _ => return None,
    };
    let of = |key: &str| {
        Some(
            [a, b]
                .map(|l| l.number(key))
                .map(|v| v.map(|v| v * unit_ns)),
        )
    };
    let both = |key: &str| match of(key)? {
        [Some(x), Some(y)] => Some([x, y]),
        _ => None,
    };
    let ([median, other_median], [mean, other_mean]) = (both("median")?, both("mean")?);
    let test = tables.lines("welch_t_test").next();
    // As the finding about small effects has it.
    let effect = test.and_then(|t| {
        let n = (t.number("df")? / 2.0 + 1.0).max(2.0);
        Some(format!(
            " (Cohen's d {:.2})",
            t.number("t")?.abs() * (2.0 / n).sqrt()
        ))
    });
    let (head, [x, y]) = apart([a.text("sample"), b.text("sample")]);
    let (is, was) = (mean, other_mean);
    let how = match is.total_cmp(&was) {
        std::cmp::Ordering::Greater => "longer than",
        std::cmp::Ordering::Less => "shorter than",
        std::cmp::Ordering::Equal => "as long as",
    };
    let words = format!(
        "{}{} is {how} {}: median {} against {}, mean {:+.1} %{}",
        clipped(&head).trim_start(),
        clipped(&x),
        clipped(&y),
        latency(median),
        latency(other_median),
        100.0 * (mean / other_mean - 1.0),
        effect.unwrap_or_default(),
    );
    let sides = quartiles(&both, [&x, &y]);
    let source = named(a.table());
    Some(DocumentAnswer {
        question: "Do the samples differ? What the summaries show".to_owned(),
        words,
        weight: Weight::Info,
        why: Vec::new(),
        source: format!("R's summaries, {source}"),
        figures: vec![
            KeyFigure::of("Median", Shown::Ns(median), format!("{head}{x}")),
            KeyFigure::of(
                "Median, the other",
                Shown::Ns(other_median),
                format!("{head}{y}"),
            ),
            KeyFigure::of("Mean", Shown::Ns(mean), format!("{head}{x}")),
            KeyFigure::of(
                "Mean, the other",
                Shown::Ns(other_mean),
                format!("{head}{y}"),
            ),
        ],
        sides,
        table: ("r_summary", String::new()),
    })
}

/// Quartiles, median and mean of both samples, side by side.
fn quartiles(both: &dyn Fn(&str) -> Option<[f64; 2]>, names: [&String; 2]) -> Vec<(String, Shown)> {
    const ALL: [(&str, &str); 4] = [
        ("1st quartile", "q1"),
        ("median", "median"),
        ("mean", "mean"),
        ("3rd quartile", "q3"),
    ];
    let known = ALL
        .iter()
        .filter_map(|(name, key)| Some((name, both(key)?)));
    let each = known.flat_map(|(name, values)| {
        let sides = names.into_iter().zip(values);
        sides.map(move |(side, ns)| (format!("{name}, {}", clipped(side)), Shown::Ns(ns)))
    });
    each.collect()
}

/// What a page calls a listing, in parentheses behind its title.
fn label(table: &Table) -> Option<&str> {
    let (_, label) = table.title.rsplit_once(" (")?;
    label.strip_suffix(')').filter(|label| !label.is_empty())
}

/// Log file sync in two listings of one file, each with a name.
fn listings(tables: Tables<'_>) -> Option<DocumentAnswer> {
    let mean = |table: &Table| {
        let line = lines(table).find(|l| l.text("event") == "log file sync")?;
        let waits = line.number("waits").filter(|n| *n > 0.0)?;
        Some((1e9 * line.number("time_s")? / waits, waits))
    };
    let of = |table| Some((label(table)?, mean(table)?, table));
    let all: Vec<_> = tables.of("top_events").filter_map(of).collect();
    let [(a, x, table), (b, y, other)] = all.as_slice() else {
        return None;
    };
    if a == b || table.file != other.file || x.0 <= 0.0 || y.0 <= 0.0 {
        return None;
    }
    let (a, b) = (clipped(a), clipped(b));
    let words = format!(
        "Log file sync takes {} on {a} and {} on {b}, {} times as long; {} against {} waits",
        latency(x.0),
        latency(y.0),
        show(y.0 / x.0),
        format::count(x.1 as u64),
        format::count(y.1 as u64),
    );
    let waits = |name: &str, waits: f64| format!("{name}, {} waits", format::count(waits as u64));
    Some(DocumentAnswer {
        question: format!("What differs between {a} and {b}? What the reports show"),
        words,
        weight: Weight::Info,
        why: Vec::new(),
        source: format!("top timed events, {} and {}", named(table), named(other)),
        figures: vec![
            KeyFigure::of("Log file sync, mean", Shown::Ns(x.0), waits(&a, x.1)),
            KeyFigure::of("Log file sync, the other", Shown::Ns(y.0), waits(&b, y.1)),
        ],
        sides: vec![
            (format!("log file sync, {a}"), Shown::Ns(x.0)),
            (format!("log file sync, {b}"), Shown::Ns(y.0)),
        ],
        table: ("top_events", String::new()),
    })
}

/// The event histogram with more waits than any other evidence of the same event.
fn histogram(evidence: &Imported, tables: Tables<'_>) -> Option<DocumentAnswer> {
    let waits = |l: &Line<'_>| l.number("waits").unwrap_or(0.0);
    let writes = || {
        let all = tables.lines("event_histogram_summary");
        all.filter(|l| l.text("event") == "log file parallel write")
    };
    let is_change = |l: &Line<'_>| l.text("snapshot").contains(" to ");
    // Counts since a start are no answer for the hours of several differences.
    // Nor are those of one instance for another one.
    let is_instance = |l: &Line<'_>| l.text("snapshot").starts_with("instance ");
    if writes().filter(is_change).count() > 1 || writes().filter(is_instance).count() > 1 {
        return None;
    }
    // A difference may be wrong: a listing of all waits is what it was made of.
    let of = writes().filter(|l| !is_change(l));
    let line = of.max_by(|a, b| waits(a).total_cmp(&waits(b)))?;
    let others = first_waits(evidence).1.map_or(0.0, |(_, n)| n);
    if !commit_waits(evidence).is_empty() || others >= waits(&line) {
        return None;
    }
    let over = line.number("over_1ms_pct")?;
    let longest = line.number("max_under_ms")?;
    let tail = match longest <= RULE_MS {
        true => format!("all under {}", latency(longest * 1e6)),
        false => format!("the longest under {}", latency(longest * 1e6)),
    };
    let count = format::count(waits(&line) as u64);
    let snapshot = line.text("snapshot");
    Some(DocumentAnswer {
        question: "Are log writes slow at their peaks? What the evidence shows".to_owned(),
        words: format!(
            "{} of {count} log writes took 1 ms or more, {tail} (event histogram)",
            format::percent(over)
        ),
        weight: match longest <= RULE_MS && over < SLOW_PCT {
            true => Weight::Good,
            false => Weight::Caution,
        },
        why: Vec::new(),
        source: format!("event histogram, {snapshot}, {count} waits"),
        figures: vec![
            KeyFigure::of(
                "Log writes of 1 ms or more",
                Shown::Share(over),
                format!("of {count}, {snapshot}"),
            ),
            KeyFigure::of(
                "Longest log write, under",
                Shown::Ns(longest * 1e6),
                "upper bound of its bucket".to_owned(),
            ),
        ],
        sides: Vec::new(),
        table: ("event_histogram", snapshot.to_owned()),
    })
}
