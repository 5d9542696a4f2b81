//! Evidence as people pass it on: cut, glued, wrapped, with tabs, collapsed blanks, page breaks,
//! quoted in a mail, in another locale. A figure that is read is one that the original has, under
//! the same name; most figures are still read.
//!
//! `REDOLAB_MUTATIONS` sets the number of files (`cargo xtask prove mutated-evidence`: 10,000) and
//! `REDOLAB_SEED` the first seed; each failure prints its own.

use crate::generate::{self, Generated, Seeded};
use crate::import_in;
use evidence::Outcome;
use measure::imported::{Cell, Table};
use measure::origin::CellOrigin;
use std::collections::BTreeMap;

/// Files of an ordinary test.
const FILES: u64 = 300;

/// How a file is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mutation {
    Tabs,
    Collapsed,
    TrailingBlanks,
    CarriageReturns,
    NoBreakSpaces,
    Indented,
    PageBreaks,
    Cut,
    Glued,
    LineDropped,
    Wrapped,
    DecimalCommas,
    Quoted,
}

const MUTATIONS: [Mutation; 13] = [
    Mutation::Tabs,
    Mutation::Collapsed,
    Mutation::TrailingBlanks,
    Mutation::CarriageReturns,
    Mutation::NoBreakSpaces,
    Mutation::Indented,
    Mutation::PageBreaks,
    Mutation::Cut,
    Mutation::Glued,
    Mutation::LineDropped,
    Mutation::Wrapped,
    Mutation::DecimalCommas,
    Mutation::Quoted,
];

impl Mutation {
    /// Whether it leaves every character but blanks where it was; of a file that is cut only the
    /// lines before count.
    fn keeps_characters(self) -> bool {
        self <= Mutation::Cut
    }

    /// The changed text, and its last line that is whole.
    fn apply(self, text: &str, r: &mut Seeded) -> (String, u64) {
        let lines: Vec<&str> = text.lines().collect();
        let count = lines.len() as u64;
        let each = |f: &dyn Fn(&str) -> String| lines.iter().map(|l| f(l) + "\n").collect();
        let changed: String = match self {
            Mutation::Tabs => each(&|l| runs(l, "\t")),
            Mutation::Collapsed => each(&|l| runs(l, " ")),
            Mutation::TrailingBlanks => each(&|l| format!("{l}   ")),
            Mutation::CarriageReturns => each(&|l| format!("{l}\r")),
            Mutation::NoBreakSpaces => each(&|l| l.replace("  ", "\u{a0} ")),
            Mutation::Indented => each(&|l| format!("    {l}")),
            Mutation::PageBreaks => {
                let every = r.whole(20, 60);
                let page = |(i, l): (usize, &&str)| match i as u64 % every {
                    0 if i > 0 => format!("\u{c}\n{l}\n"),
                    _ => format!("{l}\n"),
                };
                lines.iter().enumerate().map(page).collect()
            }
            Mutation::Cut => {
                let at = r.whole(count / 2, count + 1);
                let kept = lines.iter().take(at as usize);
                return (kept.map(|l| format!("{l}\n")).collect(), at);
            }
            Mutation::Glued => {
                let at = r.whole(0, count.max(1));
                let end = |i: usize| if i as u64 == at { "" } else { "\n" };
                let line = |(i, l): (usize, &&str)| format!("{l}{}", end(i));
                lines.iter().enumerate().map(line).collect()
            }
            Mutation::LineDropped => {
                let at = r.whole(0, count.max(1));
                let kept = lines.iter().enumerate().filter(|(i, _)| *i as u64 != at);
                kept.map(|(_, l)| format!("{l}\n")).collect()
            }
            Mutation::Wrapped => each(&|l| wrapped(l, 80)),
            Mutation::DecimalCommas => each(&swapped),
            Mutation::Quoted => each(&|l| format!("> {l}")),
        };
        (changed, count)
    }
}

/// Each run of two or more blanks between words as `with`.
fn runs(line: &str, with: &str) -> String {
    let mut out = String::new();
    let mut blanks = 0;
    for c in line.chars() {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        if !out.is_empty() || blanks == 0 {
            match blanks {
                0 => {}
                1 => out.push(' '),
                _ => out.push_str(with),
            }
        }
        blanks = 0;
        out.push(c);
    }
    out
}

/// Breaks a line at blanks, as `fold -s` does.
fn wrapped(line: &str, width: usize) -> String {
    let mut out = String::new();
    let mut at = 0;
    for word in line.split_inclusive(' ') {
        let length = word.chars().count();
        if at > 0 && at + word.trim_end().chars().count() > width {
            out.push('\n');
            at = 0;
        }
        at += length;
        out.push_str(word);
    }
    out
}

/// Points and commas inside numbers, the one for the other.
fn swapped(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let digit = |i: Option<usize>| {
        i.and_then(|i| chars.get(i))
            .is_some_and(char::is_ascii_digit)
    };
    let swap = |(i, c): (usize, &char)| match c {
        '.' if digit(Some(i + 1)) && (digit(i.checked_sub(1)) || i == 0) => ',',
        ',' if digit(Some(i + 1)) && digit(i.checked_sub(1)) => '.',
        c => *c,
    };
    chars.iter().enumerate().map(swap).collect()
}

/// A figure by its table, its row's texts and its column.
type FigureName = (String, String, String);

/// Every figure that was read as it is printed, with the line of its row.
fn figures(out: &Outcome) -> BTreeMap<FigureName, Vec<(f64, u64)>> {
    let mut found: BTreeMap<FigureName, Vec<(f64, u64)>> = BTreeMap::new();
    for table in &out.imported.tables {
        for (row, cells) in table.rows.iter().enumerate() {
            let Some(origin) = table.origins.get(row) else {
                continue;
            };
            let name = name_of(table, cells, &origin.cells);
            for ((column, cell), from) in table.columns.iter().zip(cells).zip(&origin.cells) {
                let value = match cell {
                    Cell::Count(n) => *n as f64,
                    Cell::Real(x) => *x,
                    _ => continue,
                };
                if matches!(from, CellOrigin::Read(_) | CellOrigin::Scaled(_)) {
                    let key = (family(table).to_owned(), name.clone(), column.key.clone());
                    found.entry(key).or_default().push((value, origin.lines.1));
                }
            }
        }
    }
    found
}

/// Waits of a report are of one family: a table without its title is one of all processes.
fn family(table: &Table) -> &str {
    match table.id.as_str() {
        "top_events" | "all_waits" | "foreground_waits" => "waits of a report",
        id => id,
    }
}

/// The texts of a row that name it, without blanks.
fn name_of(table: &Table, cells: &[Cell], origins: &[CellOrigin]) -> String {
    const NAMES: [&str; 14] = [
        "event",
        "process",
        "device",
        "statistic",
        "name",
        "metric",
        "cell",
        "method",
        "test",
        "sample",
        "platform",
        "workload",
        "function_name",
        "data",
    ];
    let named = table.columns.iter().zip(cells).zip(origins);
    let texts = named.filter_map(|((column, cell), origin)| match (cell, origin) {
        // What redolab calls it is no name of the file.
        (_, CellOrigin::Given) => None,
        (Cell::Text(text), _) if NAMES.contains(&column.key.as_str()) => Some(text),
        _ => None,
    });
    let all: String = texts.flat_map(|t| t.chars()).collect();
    all.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Whether a name is another one of which parts were left out.
fn is_part(name: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    name.chars().all(|c| whole.any(|w| w == c))
}

/// What became of the figures of a kind under a mutation.
#[derive(Clone, Copy, Debug, Default)]
struct Score {
    read: u64,
    lost: u64,
    wrong: u64,
}

/// Compares the figures of a changed file with those of the original.
fn score(made: &Generated, text: &str, last: u64, what: &str) -> (Score, Vec<String>) {
    let whole = import_in(&[made.text.as_bytes()], usize::MAX, None);
    let whole = figures(&whole.unwrap_or_else(|e| panic!("{what}: {e}")));
    let kind = made.kind.parse().ok();
    let changed = match import_in(&[text.as_bytes()], usize::MAX, kind) {
        Ok(out) => figures(&out),
        Err(_) => BTreeMap::new(),
    };
    let mut score = Score::default();
    let mut wrong = Vec::new();
    for (name, values) in &changed {
        let (table, own, column) = name;
        let same = |n: &&FigureName| n.0 == *table && n.2 == *column;
        // A row may have lost its name, or a part of it that stood above the table.
        let is_it = |n: &&FigureName| same(n) && is_part(own, &n.1);
        let known = whole.iter().filter(|(n, _)| is_it(n)).flat_map(|(_, v)| v);
        let known: Vec<&(f64, u64)> = known.collect();
        for (value, line) in values {
            let same = |(v, _): &&&(f64, u64)| (v - value).abs() <= 1e-9 * v.abs().max(1e-9);
            if known.iter().find(same).is_none() {
                score.wrong += 1;
                wrong.push(format!(
                    "{name:?} {value} in line {line}, not one of {known:?}"
                ));
            }
        }
    }
    for (name, values) in &whole {
        let own = values.iter().filter(|(_, line)| *line <= last).count() as u64;
        let found = changed.get(name).map_or(0, Vec::len) as u64;
        score.read += found.min(own);
        score.lost += own.saturating_sub(found);
    }
    (score, wrong)
}

fn number_of(name: &str, default: u64) -> u64 {
    let set = std::env::var(name).ok();
    set.map_or(default, |s| s.parse().expect("a number"))
}

/// Kinds whose layout is by lines; JSON has no lines to wrap or glue.
fn has_lines(made: &Generated) -> bool {
    !["iostat-json", "fio-json", "hlog", "count-elapsed"].contains(&made.kind)
}

#[test]
fn a_figure_that_is_read_is_right() {
    let first = number_of("REDOLAB_SEED", 1);
    let files = number_of("REDOLAB_MUTATIONS", FILES);
    let mut scores: BTreeMap<(&str, Mutation), Score> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut done = 0;
    for seed in first.. {
        for made in generate::all(seed, 3 + seed % 40)
            .iter()
            .filter(|m| has_lines(m))
        {
            let mut r = Seeded(seed);
            let drawn = Seeded(seed ^ done << 32).whole(0, MUTATIONS.len() as u64);
            let mutation = MUTATIONS[drawn as usize];
            let (text, last) = mutation.apply(&made.text, &mut r);
            let what = format!("{} {} {mutation:?} seed {seed}", made.kind, made.layout);
            let (score, found) = score(made, &text, last, &what);
            wrong.extend(found.into_iter().map(|w| format!("{what}: {w}")));
            let sum = scores.entry((made.kind, mutation)).or_default();
            sum.read += score.read;
            sum.lost += score.lost;
            sum.wrong += score.wrong;
            done += 1;
        }
        if done >= files {
            break;
        }
    }
    println!("{done} files, seeds from {first}");
    let mut classes = [Score::default(); 2];
    for ((kind, mutation), score) in &scores {
        let share = 100.0 * score.read as f64 / (score.read + score.lost).max(1) as f64;
        println!(
            "{kind:<16} {:<16} read {:>7} lost {:>6} ({share:.1} % read) wrong {}",
            format!("{mutation:?}"),
            score.read,
            score.lost,
            score.wrong
        );
        let class = &mut classes[usize::from(!mutation.keeps_characters())];
        class.read += score.read;
        class.lost += score.lost;
    }
    let shown: Vec<&str> = wrong.iter().take(20).map(String::as_str).collect();
    assert!(
        wrong.is_empty(),
        "{} wrong figures:\n{}",
        wrong.len(),
        shown.join("\n")
    );
    for (class, least) in classes.iter().zip([0.98, 0.80]) {
        let share = class.read as f64 / (class.read + class.lost).max(1) as f64;
        println!(
            "{:.2} % of a class are read, of at least {least}",
            100.0 * share
        );
        assert!(
            share >= least,
            "{share} of the figures are read, not {least}"
        );
    }
}
