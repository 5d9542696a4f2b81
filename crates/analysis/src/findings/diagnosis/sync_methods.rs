//! Syncs that flush nothing, and `pg_test_fsync`: whether its figures allow a choice of a method.

use super::super::evidence::view::{Line, Tables, lines, place, show};
use super::super::latency::band;
use super::super::note::Note;
use super::super::{Bad, Caution, catalogue};
use super::figures::WAITS_MIN;
use crate::format::latency;
use crate::thresholds::Thresholds;
use measure::imported::Table;

/// Two writes that take less time than one by more than this share are no measurement of either.
const SLACK: f64 = 0.1;

/// How many times as fast a method is that reaches no medium, where another one does.
const TIMES: f64 = 100.0;

/// The name of the method that synchronises nothing.
const UNSYNCED: &str = "write";

/// A method, and its time for one write in us.
type SyncMethod<'a> = (&'a str, f64);

/// The results of `pg_test_fsync`: methods with their times in us. Its headings are in the language
/// of the system, so tests are known by their order.
struct SyncTests<'a> {
    table: &'a Table,
    one: Vec<SyncMethod<'a>>,
    two: Vec<SyncMethod<'a>>,
    unsynced_us: Option<f64>,
}

impl<'a> SyncTests<'a> {
    fn of(table: &'a Table) -> SyncTests<'a> {
        let mut tests: Vec<(&str, Vec<SyncMethod<'_>>)> = Vec::new();
        for line in lines(table) {
            let test = line.text("test");
            if tests.last().is_none_or(|(last, _)| *last != test) {
                tests.push((test, Vec::new()));
            }
            // Times are printed in whole us: of short ones the rate says more.
            let printed = line.number("us_per_op").filter(|us| *us >= 100.0);
            let of_rate = || Some(1e6 / line.number("ops_per_s").filter(|rate| *rate > 0.0)?);
            let us = printed.or_else(of_rate);
            if let (Some((_, methods)), Some(us)) = (tests.last_mut(), us) {
                methods.push((line.text("method"), us));
            }
        }
        let unsynced = tests.iter().flat_map(|(_, methods)| methods);
        let unsynced_us = unsynced
            .filter(|(method, _)| *method == UNSYNCED)
            .map(|(_, us)| *us)
            .next();
        let mut of_methods = tests.into_iter().map(|(_, methods)| methods);
        SyncTests {
            table,
            one: of_methods.next().unwrap_or_default(),
            two: of_methods.next().unwrap_or_default(),
            unsynced_us,
        }
    }

    /// The quickest and the slowest method for one write.
    fn ends(&self) -> Option<(SyncMethod<'a>, SyncMethod<'a>)> {
        let by_time = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
        let known = self.one.iter();
        known
            .clone()
            .min_by(by_time)
            .copied()
            .zip(known.max_by(by_time).copied())
    }
}

pub(super) fn collect(tables: Tables<'_>, t: &Thresholds, notes: &mut Vec<Note>) {
    for table in tables.of("pg_stat_io") {
        never_synchronised(table, notes);
    }
    for table in tables.of("pg_test_fsync") {
        let tests = SyncTests::of(table);
        let unflushed = faster_than_the_medium(&tests).or_else(|| as_fast_as_no_sync(&tests));
        let doubts = [contradiction(&tests), unflushed];
        let is_doubtful = doubts.iter().any(Option::is_some);
        notes.extend(doubts.into_iter().flatten());
        if !is_doubtful {
            notes.extend(quickest(&tests, t));
        }
    }
}

/// Two writes that take less time than one.
fn contradiction(tests: &SyncTests<'_>) -> Option<Note> {
    let pairs = tests.one.iter().filter_map(|(method, single)| {
        let (_, double) = tests.two.iter().find(|(other, _)| other == method)?;
        (*double < *single * (1.0 - SLACK)).then_some((*method, *single, *double))
    });
    let pairs: Vec<(&str, f64, f64)> = pairs.collect();
    let (_, single, double) = pairs.first().copied()?;
    let named: Vec<String> = pairs
        .iter()
        .map(|(method, single, double)| {
            let [single, double] = [single, double].map(|us| show(*us));
            format!("{method} takes {single} us for one write and {double} us for two")
        })
        .collect();
    let claim = format!(
        "two writes cannot be faster than one: {} ({}): the figures contradict each other",
        named.join("; "),
        place(tests.table)
    );
    let entry = &catalogue::DIAGNOSIS_SYNC_TESTS;
    Some(
        Note::of(entry, Caution, claim)
            .number("one_write_us", single)
            .number("two_writes_us", double),
    )
}

/// A sync that costs no more than a write without one.
fn as_fast_as_no_sync(tests: &SyncTests<'_>) -> Option<Note> {
    /// Times of a write without a sync.
    const COST: f64 = 2.0;
    let unsynced_us = tests.unsynced_us?;
    let syncs = ["fdatasync", "fsync"];
    let of_sync = tests
        .one
        .iter()
        .filter(|(method, _)| syncs.contains(method));
    let (method, us) = of_sync.min_by(|a, b| a.1.total_cmp(&b.1)).copied()?;
    let claim = format!(
        "{method} takes {} us, and a write without any sync {} us: nothing reaches a medium there (a file system in \
         memory, a flush that a hypervisor or a driver leaves out, another file than the log's) ({})",
        show(us),
        show(unsynced_us),
        place(tests.table)
    );
    (us < COST * unsynced_us).then(|| {
        Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim)
            .number("sync_us", us)
            .number("unsynced_us", unsynced_us)
    })
}

/// The method for a choice: of those that are as quick as the quickest for one write, the one that
/// is quickest for two, so that noise chooses none.
fn chosen<'a>(tests: &SyncTests<'a>) -> Option<SyncMethod<'a>> {
    /// Part by which the times of equal methods differ.
    const NOISE: f64 = 0.05;
    let (least, _) = tests.ends()?;
    let alike = tests
        .one
        .iter()
        .filter(|(_, us)| *us <= least.1 * (1.0 + NOISE));
    let two = |method: &str| {
        let of_it = tests.two.iter().find(|(other, _)| *other == method);
        of_it.map_or(f64::INFINITY, |(_, us)| *us)
    };
    alike
        .min_by(|a, b| two(a.0).total_cmp(&two(b.0)).then(a.1.total_cmp(&b.1)))
        .copied()
}

/// A disk that turns: a flush takes one turn of it.
fn turns(us: f64) -> String {
    /// Turns per minute of usual disks, and how far a mean may be off.
    const RPM: [f64; 4] = [5400.0, 7200.0, 10_000.0, 15_000.0];
    const OFF: f64 = 0.03;
    let turn = |rpm: &&f64| 60e6 / **rpm;
    let found = RPM.iter().find(|rpm| (us / turn(rpm) - 1.0).abs() <= OFF);
    found.map_or_else(String::new, |rpm| {
        format!(
            " (a turn of a disk of {rpm} rpm ({}): the flush reaches a rotating medium)",
            latency(turn(&rpm) * 1e3)
        )
    })
}

/// The time of one durable write, by the method for a choice.
fn quickest(tests: &SyncTests<'_>, t: &Thresholds) -> Option<Note> {
    let (least, (slowest, most)) = tests.ends()?;
    let (method, us) = chosen(tests)?;
    let (weight, words) = band(us / 1e3, t);
    let as_quick = match least.0 == method {
        true => ", the quickest method".to_owned(),
        false => format!(
            ", {} with {}, which is noise, and slower for two writes",
            latency(least.1 * 1e3),
            least.0
        ),
    };
    let claim = format!(
        "one durable write takes {} with {method}{}{as_quick}, and {} with {slowest}, {words}; that is {} per second \
         from one session; a mean of a few seconds hides rare long ones ({})",
        latency(us * 1e3),
        turns(us),
        latency(most * 1e3),
        crate::format::digits(1e6 / us),
        place(tests.table)
    );
    let is_slow = matches!(weight, Caution | Bad);
    Some(
        Note::of(&catalogue::LATENCY_SOURCE, weight, claim)
            .number("quickest_us", us)
            .number("slowest_us", most)
            .advice_if(is_slow),
    )
}

/// One method hundreds of times as fast as another one: it flushes nothing.
fn faster_than_the_medium(tests: &SyncTests<'_>) -> Option<Note> {
    let ((fast, least), (slow, most)) = tests.ends().filter(|(a, b)| b.1 >= TIMES * a.1)?;
    // The quickest one that does reach it is what a durable write costs.
    let durable = tests.one.iter().filter(|(_, us)| *us >= TIMES * least);
    let durable = durable.min_by(|a, b| a.1.total_cmp(&b.1)).copied();
    let durable = durable.filter(|(method, _)| *method != slow);
    let (others, reach) = match durable {
        Some((method, us)) => (
            format!(", {method} {} us", show(us)),
            "only the slow ones reach the medium",
        ),
        None => (String::new(), "only the slow one reaches the medium"),
    };
    let claim = format!(
        "{fast} takes {} us{others} and {slow} {} us: {reach}, {fast} flushes nothing here ({})",
        show(least),
        show(most),
        place(tests.table)
    );
    Some(
        Note::of(&catalogue::DIAGNOSIS_NO_FLUSH, Caution, claim)
            .number("least_us", least)
            .number("most_us", most),
    )
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
