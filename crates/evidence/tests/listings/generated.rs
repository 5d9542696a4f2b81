//! Generated evidence of every kind and layout: what is found is what was written, in whatever
//! chunks it comes and wherever it is cut.
//!
//! `REDOLAB_SEED` sets the first seed; each failure names its own.

use crate::generate::{self, Fact, Generated, Seeded};
use crate::{cell, import_in};
use evidence::{Kind, Outcome};
use measure::imported::Cell;

/// Seeds of a test.
const SEEDS: u64 = 20;

fn seeds() -> std::ops::Range<u64> {
    let first = std::env::var("REDOLAB_SEED").ok();
    let first = first.map_or(1, |s| s.parse().expect("REDOLAB_SEED is a number"));
    first..first + SEEDS
}

fn kind_of(made: &Generated) -> Kind {
    made.kind.parse().expect("a kind")
}

fn read(made: &Generated, end: usize, step: usize) -> Option<Outcome> {
    // Without its other half a file may be recognised as something else.
    let bytes = &made.text.as_bytes()[..end];
    import_in(&[bytes], step, Some(kind_of(made))).ok()
}

/// Rows and sum of what a fact is about.
fn found(out: &Outcome, fact: &Fact) -> (u64, f64) {
    if fact.table == "rows" {
        let waits = out.rows.iter().flat_map(|r| r.waits.values());
        let sum: f64 = waits
            .map(|w| match fact.column {
                "waits" => w.count as f64,
                _ => w.total_ns as f64,
            })
            .sum();
        return (u64::from(sum > 0.0), sum);
    }
    let (mut rows, mut sum) = (0, 0.0);
    for table in out.imported.tables.iter().filter(|t| t.id == fact.table) {
        for row in 0..table.rows.len() {
            let counts = fact.only.as_ref().is_none_or(
                |(column, text)| matches!(cell(table, row, column), Cell::Text(t) if t == text),
            );
            let value = match cell(table, row, fact.column) {
                Cell::Count(n) => *n as f64,
                Cell::Real(x) => *x,
                _ => continue,
            };
            rows += u64::from(counts);
            sum += if counts { value } else { 0.0 };
        }
    }
    (rows, sum)
}

#[test]
fn totals_equal_the_sums_of_what_was_written() {
    for seed in seeds() {
        for made in generate::all(seed, 3 + seed % 40) {
            let what = format!("{} {} seed {seed}", made.kind, made.layout);
            let out = import_in(&[made.text.as_bytes()], usize::MAX, None)
                .unwrap_or_else(|e| panic!("{what}: {e}\n{}", made.text));
            assert_eq!(out.imported.sources[0].kind, made.kind, "{what}");
            for fact in &made.facts {
                let (rows, sum) = found(&out, fact);
                let near = (sum - fact.total).abs() <= 1e-9 * fact.total.abs().max(1.0);
                assert!(
                    near && rows == fact.rows,
                    "{what}: {rows} rows with {sum}, not {fact:?}\n{}\n{:#?}",
                    made.text,
                    out.diagnostics
                );
            }
        }
    }
}

#[test]
fn chunks_change_nothing() {
    for seed in seeds() {
        let mut r = Seeded(seed);
        for made in generate::all(seed, 9) {
            let what = format!("{} {} seed {seed}", made.kind, made.layout);
            let whole = read(&made, made.text.len(), usize::MAX).expect("evidence");
            for _ in 0..3 {
                let step = r.whole(1, 300) as usize;
                let parts = read(&made, made.text.len(), step).expect("evidence");
                assert_eq!(parts.imported, whole.imported, "{what} by {step}");
                assert_eq!(parts.diagnostics, whole.diagnostics, "{what} by {step}");
                let rows = |o: &Outcome| format!("{:?}", o.rows);
                assert_eq!(rows(&parts), rows(&whole), "{what} by {step}");
            }
        }
    }
}

/// A part has at most the rows, the waits and the times of the whole. The last line may be cut in
/// a number, which never makes it larger, but for what a sign or an exponent would have said.
#[test]
fn cut_at_every_byte_nothing_says_more_than_the_whole() {
    let first = seeds().start;
    for made in generate::all(first, 4) {
        let whole = read(&made, made.text.len(), usize::MAX).expect("evidence");
        for end in 0..made.text.len() {
            let Some(part) = read(&made, end, usize::MAX) else {
                continue;
            };
            let what = format!("{} {} seed {first} cut at {end}", made.kind, made.layout);
            for fact in &made.facts {
                let (all, some) = (found(&whole, fact), found(&part, fact));
                let more = some.0 > all.0 || some.1 > all.1 * (1.0 + 1e-9);
                assert!(!more, "{what}: {some:?} of {all:?}, {fact:?}");
            }
        }
    }
}
