//! Syncs that flush nothing, and `pg_test_fsync`: whether its figures allow a choice of a method.

use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::note::Note;
use super::super::{Caution, catalogue};
use super::tails::WAITS_MIN;
use measure::imported::Table;

/// Two writes that take less time than one by more than this share are no measurement of either.
const SLACK: f64 = 0.1;

/// How many times as fast a method is that reaches no medium, where another one does.
const TIMES: f64 = 100.0;

pub(super) fn collect(tables: Tables<'_>, notes: &mut Vec<Note>) {
    for table in tables.of("pg_test_fsync") {
        faster_than_the_medium(table, notes);
    }
    for table in tables.of("pg_stat_io") {
        never_synchronised(table, notes);
    }
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

/// One method hundreds of times as fast as another one: it flushes nothing.
fn faster_than_the_medium(table: &Table, notes: &mut Vec<Note>) {
    let one = lines(table).filter(|line| line.text("test").contains("using one"));
    let one = one.filter_map(|line| Some((line.text("method"), line.number("us_per_op")?)));
    let known: Vec<(&str, f64)> = one.filter(|(_, us)| *us > 0.0).collect();
    let by_time = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let ends = known
        .iter()
        .min_by(by_time)
        .zip(known.iter().max_by(by_time));
    let Some(((fast, least), (slow, most))) = ends.filter(|(a, b)| b.1 >= TIMES * a.1) else {
        return;
    };
    let claim = format!(
        "{fast} takes {} us and {slow} {} us: only the slow one reaches the medium, {fast} flushes nothing here ({})",
        show(*least),
        show(*most),
        place(table)
    );
    notes.push(
        Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim)
            .number("least_us", *least)
            .number("most_us", *most),
    );
}

/// A log of PostgreSQL that was written and not synchronised.
fn never_synchronised(table: &Table, notes: &mut Vec<Note>) {
    let of_log = |line: &Line<'_>| line.text("object") == "wal" && line.text("context") != "init";
    let sum = |key: &str| {
        let known = lines(table).filter(of_log).map(|line| line.number(key));
        known.sum::<Option<f64>>()
    };
    let (Some(writes), Some(syncs)) = (sum("writes"), sum("fsyncs")) else {
        return;
    };
    if writes < WAITS_MIN || syncs > 0.0 {
        return;
    }
    let claim = format!(
        "PostgreSQL wrote its log {} times and never synchronised it: fsync is off, or wal_sync_method opens the \
         log so that each write is durable ({})",
        crate::format::count(writes as u64),
        place(table)
    );
    notes.push(Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim).number("writes", writes));
}
