//! What a run of TPROC-C came to, for people: NOPM and TPM, the times of each kind of transaction,
//! the consistency conditions.

use super::cells::{grouped, ns_as_ms, real};
use super::lines::wrap;
use super::table::{self, Style};
use measure::run::{ConsistencyCondition, Row, Run, TprocCDetail};
use measure::words::{plural, sanitize};
use measure::workload::TPROC_C_NOTICE;

/// A run of TPROC-C with its caption.
#[must_use]
pub fn rows(run: &Run, style: Style) -> String {
    let tables = tables(run, style).unwrap_or_default();
    format!("{}\n\n{tables}", table::caption(run))
}

/// The tables of a run's rows of TPROC-C, for below another table of the same run; `None` where it
/// has no such rows.
#[must_use]
pub fn tables(run: &Run, style: Style) -> Option<String> {
    let rows = run.rows.iter();
    let with_detail = rows.filter_map(|row| Some((row, row.tproc_c().detail.as_ref()?)));
    let all: Vec<(&Row, &TprocCDetail)> = with_detail.collect();
    if all.is_empty() {
        return None;
    }
    let mut text = summary(&all, style);
    text.push('\n');
    text.push_str(&latencies(&all, style));
    for (row, detail) in &all {
        text.push_str(&format!("\n{}: ", plural(u64::from(row.jobs), "user")));
        text.push_str(&consistency(&detail.conditions));
    }
    text.push('\n');
    wrap(&mut text, "", TPROC_C_NOTICE, style.width);
    Some(text)
}

/// A line for each number of users.
fn summary(all: &[(&Row, &TprocCDetail)], style: Style) -> String {
    let headings = [
        "Users",
        "Warehouses",
        "NOPM",
        "TPM",
        "Commits tps",
        "Rolled back",
        "Retries",
        "Redo B/txn",
        "Elapsed s",
    ];
    let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), real);
    let line = |(row, detail): &(&Row, &TprocCDetail)| {
        vec![
            row.jobs.to_string(),
            grouped(u64::from(detail.warehouses)),
            figure(row.tproc_c().nopm),
            figure(row.tproc_c().tpm),
            figure(row.commit_throughput_tps),
            grouped(detail.rolled_back),
            grouped(detail.retries),
            figure(row.server().redo_per_commit_bytes),
            figure(row.elapsed_s),
        ]
    };
    table::draw(&headings, all.iter().map(line).collect(), 0, style)
}

/// A line for each number of users and kind of transaction.
fn latencies(all: &[(&Row, &TprocCDetail)], style: Style) -> String {
    let headings = [
        "Transaction",
        "Users",
        "Count",
        "Mean ms",
        "p50 ms",
        "p90 ms",
        "p99 ms",
        "Max ms",
    ];
    let ms = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| ns_as_ms(ns as f64));
    let mut lines = Vec::new();
    for (row, detail) in all {
        for (kind, stats) in &detail.latencies {
            lines.push(vec![
                sanitize::line(kind),
                row.jobs.to_string(),
                grouped(stats.count),
                ns_as_ms(stats.mean_ns),
                ms(stats.p50_ns),
                ms(stats.p90_ns),
                ms(stats.p99_ns),
                ms(Some(stats.max_ns).filter(|_| stats.count > 0)),
            ]);
        }
    }
    table::draw(&headings, lines, 1, style)
}

/// Whether the consistency conditions hold, and the figures of those that do not.
#[must_use]
pub fn consistency(conditions: &[ConsistencyCondition]) -> String {
    if conditions.is_empty() {
        return "the consistency conditions were not checked.\n".to_owned();
    }
    if conditions.iter().all(ConsistencyCondition::holds) {
        let count = conditions.len();
        return format!("all {count} consistency conditions hold.\n");
    }
    let mut text = "the tables are NOT consistent:\n".to_owned();
    for condition in conditions {
        let outcome = match (&condition.first_violation, condition.holds()) {
            (_, true) => "holds".to_owned(),
            (Some(first), false) => format!(
                "violated in {} of {} places, such as {}",
                condition.violated,
                condition.checked,
                sanitize::line(first)
            ),
            (None, false) => "could not be checked: a table has no rows".to_owned(),
        };
        text.push_str(&format!(
            "  {}: {outcome}\n",
            sanitize::line(&condition.name)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{Origin, TprocCFigures, WaitStats};

    fn condition(violated: u64) -> ConsistencyCondition {
        ConsistencyCondition {
            name: "w_ytd = sum(d_ytd)".to_owned(),
            checked: 10,
            violated,
            first_violation: (violated > 0).then(|| "warehouse 3: \x1b[1m".to_owned()),
        }
    }

    #[test]
    fn a_violated_condition_is_shown_with_its_figures() {
        assert!(consistency(&[condition(0)]).contains("hold"));
        let text = consistency(&[condition(0), condition(2)]);
        assert!(text.contains("NOT consistent"), "{text}");
        assert!(
            text.contains("2 of 10 places, such as warehouse 3"),
            "{text}"
        );
        assert!(!text.contains('\x1b'));
        let unchecked = consistency(&[ConsistencyCondition::default()]);
        assert!(unchecked.contains("could not be checked"), "{unchecked}");
        assert!(consistency(&[]).contains("not checked"));
    }

    #[test]
    fn the_tables_have_nopm_tpm_and_the_notice() {
        let detail = TprocCDetail {
            warehouses: 10,
            latencies: [("new-order".to_owned(), WaitStats::default())].into(),
            conditions: vec![condition(0)],
            ..TprocCDetail::default()
        };
        let row = Row {
            jobs: 4,
            tproc_c: Some(TprocCFigures {
                nopm: Some(21_995.4),
                tpm: None,
                detail: Some(detail),
            }),
            ..Row::default()
        };
        let path = std::path::Path::new("postgres://u@h/d");
        let mut run = crate::experiment::begin::new_run(path, "server", Default::default(), &[]);
        run.origin = Origin::Measured;
        run.rows = vec![row];
        let text = rows(&run, Style::detect(false, None));
        for part in [
            "NOPM",
            "21,995",
            "new-order",
            "4 users: all 1",
            "not comparable",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
