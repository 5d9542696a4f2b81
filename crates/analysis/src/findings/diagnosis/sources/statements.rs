//! The statements of `pgbench -r`: what the commit has of a transaction.

use super::super::super::Caution;
use super::super::super::catalogue;
use super::super::super::evidence::view::{lines, place};
use super::super::super::latency::band;
use super::super::super::note::Note;
use super::super::tails::{named, slow_in_words};
use crate::format::latency;
use crate::thresholds::Thresholds;
use measure::imported::Table;

/// Notes of one table at most: the slowest commits.
const NOTES_MAX: usize = 3;

/// The statements of a transaction up to its commit.
#[derive(Default)]
struct Statements<'a> {
    script: &'a str,
    sum_ms: f64,
    commit: Option<(&'a str, f64)>,
}

/// Whether a statement ends a transaction: `END;`, `COMMIT;`, `COMMIT WORK AND CHAIN`.
fn is_commit(statement: &str) -> bool {
    let word = statement.split(|c: char| !c.is_ascii_alphabetic()).next();
    let is_it = |word: &str| {
        ["end", "commit"]
            .iter()
            .any(|it| word.eq_ignore_ascii_case(it))
    };
    word.is_some_and(is_it)
}

/// The transactions of a table: each script has its own, and several runs follow each other.
fn transactions(table: &Table) -> Vec<Statements<'_>> {
    let mut all: Vec<Statements<'_>> = Vec::new();
    for line in lines(table) {
        let Some(ms) = line.number("latency_avg_ms") else {
            continue;
        };
        let (script, statement) = (line.text("script"), line.text("statement"));
        let goes_on = |last: &Statements<'_>| last.script == script && last.commit.is_none();
        if !all.last().is_some_and(goes_on) {
            all.push(Statements {
                script,
                ..Statements::default()
            });
        }
        if let Some(last) = all.last_mut() {
            last.sum_ms += ms;
            last.commit = is_commit(statement).then_some((statement, ms));
        }
    }
    all
}

/// What commits have of the transactions of a table; whether there is a commit.
pub(super) fn commits(table: &Table, t: &Thresholds, notes: &mut Vec<Note>) -> bool {
    let known = transactions(table).into_iter().filter_map(|of| {
        let (statement, ms) = of.commit.filter(|_| of.sum_ms > 0.0)?;
        Some((of.script, of.sum_ms, statement, ms))
    });
    let mut known: Vec<(&str, f64, &str, f64)> = known.collect();
    known.sort_by(|a, b| b.3.total_cmp(&a.3));
    for (script, sum_ms, statement, ms) in known.iter().take(NOTES_MAX) {
        let (weight, words) = band(*ms, t);
        let share = 100.0 * ms / sum_ms;
        let statement = statement.trim_end_matches(';');
        let claim = format!(
            "commits ({statement}) take {} of the {} of a transaction of pgbench, {share:.0} %{}, {words}; the flush \
             of the log is in it, or a synchronous standby: pgbench cannot distinguish them, and a mean hides rare \
             long ones ({})",
            latency(ms * 1e6),
            latency(sum_ms * 1e6),
            named(script),
            place(table)
        );
        notes.push(
            Note::of(&catalogue::LATENCY_SOURCE, weight.min(Caution), claim)
                .number("commit_ms", *ms)
                .number("transaction_ms", *sum_ms)
                .number("share_pct", share)
                .limit(slow_in_words(t), &t.write_mean_fair_ms)
                .advice(
                    "Look at synchronous_standby_names, and see pg_stat_io or pg_stat_wal for the time of the syncs \
                     alone, or redolab check for the device.",
                )
                .advice_if(weight >= Caution),
        );
    }
    !known.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_a_transaction() {
        for (statement, want) in [
            ("END;", true),
            ("commit;", true),
            ("COMMIT AND CHAIN;", true),
            ("\\endif", false),
            ("ENDPOINT;", false),
            ("COMMENT ON TABLE t IS 'commit';", false),
            ("", false),
        ] {
            assert_eq!(is_commit(statement), want, "{statement}");
        }
    }
}
