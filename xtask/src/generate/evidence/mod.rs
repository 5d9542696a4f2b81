//! Evidence of every kind with known answers, from a seed: figures that fit each other within their
//! digits, or that contradict each other in one planted way.
//!
//! Only `std` is used, so that tests of other crates can include this folder as it is. It must not
//! know how any of it is read.
#![allow(
    dead_code,
    unused_imports,
    reason = "not everything that includes this folder uses all of it"
)]

pub mod binned;
pub mod defects;
pub mod iostat;
pub mod listing;
pub mod log_faults;
pub mod log_lists;
pub mod log_report;
pub mod log_servers;
pub mod report;
pub mod sweep;

pub use defects::{DEFECTS, defective};
pub use report::report;
pub use sweep::{SWEEP, sweep_line};

/// A small generator of numbers (splitmix64), so that a seed always gives the same evidence.
pub struct Seeded(pub u64);

impl Seeded {
    /// The next number from 0 to 1.
    pub fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number between two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// The next number of a standard normal distribution (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// A whole number from `low` to below `high`.
    pub fn whole(&mut self, low: u64, high: u64) -> u64 {
        low + ((high - low) as f64 * self.unit()) as u64
    }

    /// A number between two, of so many decimals as are printed.
    pub fn printed(&mut self, low: f64, high: f64, decimals: i32) -> f64 {
        let scale = 10_f64.powi(decimals);
        (self.between(low, high) * scale).round() / scale
    }
}

/// What a reader has to find: over the rows of the tables `table` in which `only` stands, so many
/// values in `column`, with this sum. The table `rows` stands for the waits of a run's rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Id of the tables.
    pub table: &'static str,
    /// Key of the column.
    pub column: &'static str,
    /// A column and its text, of the rows that count.
    pub only: Option<(&'static str, String)>,
    /// Rows with a number.
    pub rows: u64,
    /// The sum of the numbers.
    pub total: f64,
}

impl Fact {
    /// The sum of what was printed.
    pub fn of(table: &'static str, column: &'static str, values: &[f64]) -> Fact {
        Fact {
            table,
            column,
            only: None,
            rows: values.len() as u64,
            total: values.iter().sum(),
        }
    }

    /// Of the rows with this text alone.
    pub fn only(mut self, column: &'static str, text: &str) -> Fact {
        self.only = Some((column, text.to_owned()));
        self
    }
}

/// Evidence and what it says.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The kind's name.
    pub kind: &'static str,
    /// How it is written.
    pub layout: &'static str,
    /// The file.
    pub text: String,
    /// What a reader has to find.
    pub facts: Vec<Fact>,
    /// The finding that its figures ask for.
    pub finding: Option<&'static str>,
}

/// Every kind but the trace, which has a generator of its own, and its layouts.
pub const KINDS: &[(&str, &[&str])] = &[
    ("event-histogram", listing::HISTOGRAMS),
    ("count-elapsed", &["heading", "unit"]),
    ("awr-text", report::TEXT),
    ("awr-html", report::HTML),
    ("iostat", iostat::LAYOUTS),
    ("iostat-json", &["12"]),
    ("fio-json", &["json", "json+", "fio-2"]),
    ("pg-test-fsync", &["8kB"]),
    ("hlog", &["v2", "tags"]),
    ("lgwr-outliers", &["lgwrio_outlier", "ksfdstll"]),
    ("cell-metrics", &["list", "cells"]),
    ("r-summary", &["summary and t test"]),
    ("study-table", &["sweep", "workers"]),
];

/// Clean evidence of a kind in one of its layouts, with about `rows` rows; `None` for a kind or
/// layout that is not in [`KINDS`].
pub fn clean(kind: &str, layout: &str, seed: u64, rows: u64) -> Option<Generated> {
    let (kind, layouts) = KINDS.iter().find(|(k, _)| *k == kind)?;
    let layout = layouts.iter().find(|l| **l == layout)?;
    let mut r = Seeded(seed);
    let (text, facts) = match *kind {
        "event-histogram" => listing::histogram(layout, &mut r, 1.0),
        "count-elapsed" => listing::count_elapsed(layout, &mut r, rows),
        "awr-text" | "awr-html" => report::clean(layout, &mut r),
        "iostat" => iostat::listing(layout, &mut r, rows),
        "iostat-json" => iostat::json(&mut r, rows),
        "fio-json" => binned::fio(layout, &mut r),
        "pg-test-fsync" => listing::pg_test_fsync(&mut r),
        "hlog" => binned::hlog(layout, &mut r, rows),
        "lgwr-outliers" => listing::outliers(layout, &mut r, rows),
        "cell-metrics" => listing::metrics(layout, &mut r),
        "r-summary" => listing::summaries(&mut r),
        _ if *layout == "workers" => sweep::workers(&mut r),
        _ => sweep::clean(&mut r),
    };
    Some(Generated {
        kind,
        layout,
        text,
        facts,
        finding: None,
    })
}

/// Clean evidence of every kind and layout.
pub fn all(seed: u64, rows: u64) -> Vec<Generated> {
    let each = KINDS
        .iter()
        .flat_map(|(kind, layouts)| layouts.iter().map(move |layout| (*kind, *layout)));
    each.filter_map(|(kind, layout)| clean(kind, layout, seed, rows))
        .collect()
}

/// Digits in groups of three.
pub fn grouped(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}
