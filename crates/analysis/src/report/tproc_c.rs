//! TPROC-C: what each number of users came to, the latencies of each kind of transaction, and the
//! consistency conditions.

use super::escape::esc;
use super::{MAX_ENTRIES, Section, origin_tag};
use crate::format::{count, digits};
use measure::run::{ConsistencyCondition, Row, Run, TprocCDetail, WaitStats};
use measure::workload::TPROC_C_NOTICE;

const HOW: &str = "NOPM is the growth of the sum of d_next_o_id per minute, TPM the growth of the server's commits and rollbacks per minute; other clients of the server are part of TPM. New orders of an unknown item are rolled back, as TPROC-C demands, and are among the row's commits. A transaction that fails by a deadlock or does not serialize is run again, and its latency includes that. Redo is the growth of the position of the server's log per transaction, ramp-up included. A dash is a percentile with fewer than ten samples beyond it, or what was not measured.";

/// The tables; `None` where no row is of TPROC-C.
pub(super) fn section(run: &Run) -> Option<Section> {
    let rows = run.rows.iter().take(MAX_ENTRIES);
    let of_tproc_c = rows.filter_map(|row| Some((row, row.tproc_c().detail.as_ref()?)));
    let all: Vec<(&Row, &TprocCDetail)> = of_tproc_c.collect();
    if all.is_empty() {
        return None;
    }
    let summary: String = all.iter().map(|(row, detail)| line(row, detail)).collect();
    let latencies: String = all.iter().map(|(row, detail)| kinds(row, detail)).collect();
    let heads = |names: &[(&str, &str)]| -> String {
        let head = |(name, unit): &(&str, &str)| format!("<th>{name}<small>{unit}</small></th>");
        names.iter().map(head).collect()
    };
    let summary_heads = heads(&[
        ("Users", ""),
        ("Warehouses", ""),
        ("NOPM", ""),
        ("TPM", ""),
        ("Rolled back", "new orders"),
        ("Run again", "transactions"),
        ("Redo", "B/transaction"),
    ]);
    let latency_heads = heads(&[
        ("Users", ""),
        ("Count", ""),
        ("Mean", "ms"),
        ("p50", "ms"),
        ("p90", "ms"),
        ("p99", "ms"),
        ("p99.9", "ms"),
        ("Longest", "ms"),
    ]);
    let section = Section::html(
        "tproc-c",
        "TPROC-C",
        HOW,
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"TPROC-C by users\"><table><thead><tr>{summary_heads}<th class=\"t\">Consistency conditions</th></tr></thead><tbody>{summary}</tbody></table></div><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Latencies by kind of transaction\"><table><thead><tr><th class=\"t\">Transaction</th>{latency_heads}</tr></thead><tbody>{latencies}</tbody></table></div><p>{}</p>",
            esc(TPROC_C_NOTICE)
        ),
    );
    section.map(|s| s.tagged(origin_tag(run)))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), digits)
}

fn line(row: &Row, detail: &TprocCDetail) -> String {
    let cells = [
        row.jobs.to_string(),
        count(u64::from(detail.warehouses)),
        number(row.tproc_c().nopm),
        number(row.tproc_c().tpm),
        count(detail.rolled_back),
        count(detail.retries),
        number(row.server().redo_per_commit_bytes),
    ];
    let cells: String = cells.map(|cell| format!("<td>{cell}</td>")).concat();
    let conditions = conditions(&detail.conditions);
    format!("<tr>{cells}<td class=\"t\">{conditions}</td></tr>")
}

/// Whether the conditions hold, and the figures of those that do not.
fn conditions(all: &[ConsistencyCondition]) -> String {
    if all.is_empty() {
        return "not checked".to_owned();
    }
    let violated: Vec<String> = all
        .iter()
        .filter(|condition| !condition.holds())
        .map(|condition| {
            let first = condition.first_violation.as_deref();
            format!(
                "{} does NOT hold ({})",
                esc(&condition.name),
                esc(first.unwrap_or("a table has no rows"))
            )
        })
        .collect();
    match violated.is_empty() {
        true => format!("all {} hold", all.len()),
        false => violated.join("; "),
    }
}

/// A line for each kind of transaction.
fn kinds(row: &Row, detail: &TprocCDetail) -> String {
    let mut lines = String::new();
    for (index, (kind, stats)) in detail.latencies.iter().enumerate() {
        let class = if index == 0 { " class=\"g\"" } else { "" };
        lines.push_str(&format!(
            "<tr{class}><th class=\"t\">{}</th><td>{}</td>{}</tr>",
            esc(kind),
            row.jobs,
            latency(stats)
        ));
    }
    lines
}

fn latency(stats: &WaitStats) -> String {
    let ms = |ns: Option<u64>| number(ns.map(|ns| ns as f64 / 1e6));
    let is_any = stats.count > 0;
    let cells = [
        count(stats.count),
        number(is_any.then_some(stats.mean_ns / 1e6)),
        ms(stats.p50_ns),
        ms(stats.p90_ns),
        ms(stats.p99_ns),
        ms(stats.p999_ns),
        ms(is_any.then_some(stats.max_ns)),
    ];
    cells.map(|cell| format!("<td>{cell}</td>")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{ServerFigures, TprocCFigures};

    fn row() -> Row {
        let stats = WaitStats {
            count: 4_321,
            mean_ns: 2e6,
            p50_ns: Some(1_500_000),
            p99_ns: Some(9_250_000),
            max_ns: 47_000_000,
            ..WaitStats::default()
        };
        Row {
            jobs: 16,
            tproc_c: Some(TprocCFigures {
                nopm: Some(21_995.0),
                tpm: None,
                detail: Some(TprocCDetail {
                    warehouses: 10,
                    rolled_back: 43,
                    retries: 7,
                    latencies: [
                        ("<payment>".to_owned(), stats),
                        ("delivery".to_owned(), WaitStats::default()),
                    ]
                    .into(),
                    conditions: vec![ConsistencyCondition {
                        name: "a = b".to_owned(),
                        checked: 10,
                        violated: 1,
                        first_violation: Some("district 3 <b>".to_owned()),
                    }],
                    ..TprocCDetail::default()
                }),
            }),
            server: Some(ServerFigures {
                redo_per_commit_bytes: Some(2_749.0),
                ..ServerFigures::default()
            }),
            ..Row::default()
        }
    }

    #[test]
    fn each_kind_of_transaction_has_its_latencies() {
        let row = row();
        let detail = row.tproc_c().detail.as_ref().expect("a detail");
        let text = line(&row, detail) + &kinds(&row, detail);
        for part in [
            "&lt;payment&gt;</th><td>16</td><td>4,321</td><td>2.00</td><td>1.50</td><td>–</td><td>9.25</td><td>–</td><td>47.0</td>",
            "delivery</th><td>16</td><td>0</td><td>–</td>",
            "<td>43</td><td>7</td><td>2,749</td>",
            "a = b does NOT hold (district 3 &lt;b&gt;)",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert_eq!(conditions(&[]), "not checked");
        let holds = ConsistencyCondition {
            checked: 1,
            ..ConsistencyCondition::default()
        };
        assert_eq!(conditions(&[holds]), "all 1 hold");
    }
}
