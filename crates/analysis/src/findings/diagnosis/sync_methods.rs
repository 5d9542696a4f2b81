//! `pg_test_fsync`: whether its figures allow a choice of a method.

use super::super::evidence::view::{Tables, lines, place, show};
use super::super::note::Note;
use super::super::{Caution, catalogue};

/// Two writes that take less time than one by more than this share are no measurement of either.
const SLACK: f64 = 0.1;

pub(super) fn collect(tables: Tables<'_>, notes: &mut Vec<Note>) {
    for table in tables.of("pg_test_fsync") {
        let of = |word: &str| -> Vec<(&str, f64)> {
            let wanted = lines(table).filter(|line| line.text("test").contains(word));
            wanted
                .filter_map(|line| Some((line.text("method"), line.number("us_per_op")?)))
                .collect()
        };
        let (one, two) = (of("using one"), of("using two"));
        let pairs = one.iter().filter_map(|(method, single)| {
            let (_, double) = two.iter().find(|(other, _)| other == method)?;
            (*double < *single * (1.0 - SLACK)).then_some((*method, *single, *double))
        });
        let pairs: Vec<(&str, f64, f64)> = pairs.collect();
        let Some((_, single, double)) = pairs.first().copied() else {
            continue;
        };
        let named: Vec<String> = pairs
            .iter()
            .map(|(method, single, double)| {
                format!(
                    "{method} takes {} us for one write and {} us for two",
                    show(*single),
                    show(*double)
                )
            })
            .collect();
        let claim = format!(
            "two writes cannot be faster than one: {} ({}): the figures contradict each other",
            named.join("; "),
            place(table)
        );
        notes.push(
            Note::of(&catalogue::DIAGNOSIS_SYNC_TESTS, Caution, claim)
                .number("one_write_us", single)
                .number("two_writes_us", double),
        );
    }
}
