//! TPROC-C: what each number of users came to, the latencies of each kind of transaction, and the
//! consistency conditions.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{ConsistencyCondition, Row, Run, TprocCDetail, WaitStats};
use measure::words;
use measure::workload::TPROC_C_NOTICE;

/// The tables; `None` where no row is of TPROC-C.
#[must_use]
pub fn tproc_c(run: &Run) -> Option<Section> {
    let of_rows = run.rows.iter();
    let of_rows = of_rows.filter_map(|row| Some((row, row.tproc_c().detail.as_ref()?)));
    let columns: [AccountColumn<'_, (&Row, &TprocCDetail)>; 9] = [
        (label("Users"), &|(row, _)| Shown::jobs(row.jobs)),
        (label("Warehouses"), &|(_, of)| of.warehouses.into()),
        (figure("NOPM", ""), &|(row, _)| row.tproc_c().nopm.into()),
        (figure("TPM", ""), &|(row, _)| row.tproc_c().tpm.into()),
        (figure("Commits", "/s"), &|(row, _)| {
            row.commit_throughput_tps.into()
        }),
        (figure("Rolled back", "new orders"), &|(_, of)| {
            of.rolled_back.into()
        }),
        (figure("Run again", "transactions"), &|(_, of)| {
            of.retries.into()
        }),
        (figure("Redo", "B/transaction"), &|(row, _)| {
            row.server().redo_per_commit_bytes.into()
        }),
        (detail("Elapsed", "s"), &|(row, _)| row.elapsed_s.into()),
    ];
    let mut body = vec![Body::Table(AccountTable::of(of_rows.clone(), &columns)?)];
    let kinds = of_rows.clone().flat_map(|(row, of)| {
        let of_kind = move |(kind, stats)| (kind, row, stats);
        of.latencies.iter().map(of_kind)
    });
    let columns: [AccountColumn<'_, (&String, &Row, &WaitStats)>; 9] = [
        (label("Transaction"), &|(kind, ..)| Shown::text(kind)),
        (label("Users"), &|(_, row, _)| Shown::jobs(row.jobs)),
        (figure("Count", ""), &|(.., of)| of.count.into()),
        (figure("Mean", "ms"), &|(.., of)| Shown::mean(of)),
        (figure("p50", "ms"), &|(.., of)| Shown::ns(of.p50_ns)),
        (figure("p90", "ms"), &|(.., of)| Shown::ns(of.p90_ns)),
        (figure("p99", "ms"), &|(.., of)| Shown::ns(of.p99_ns)),
        (detail("p99.9", "ms"), &|(.., of)| Shown::ns(of.p999_ns)),
        (figure("Longest", "ms"), &|(.., of)| Shown::longest(of)),
    ];
    body.extend(AccountTable::of(kinds, &columns).map(Body::Table));
    body.extend(of_rows.map(|(row, of)| {
        let users = words::plural(row.jobs.into(), "user");
        Body::Text(format!("{users}: {}", conditions(&of.conditions)))
    }));
    body.push(Body::Text(TPROC_C_NOTICE.to_owned()));
    Some(Section {
        id: "tproc-c".into(),
        title: "TPROC-C".to_owned(),
        about: "NOPM is the growth of the sum of d_next_o_id per minute, TPM the growth of the \
                server's commits and rollbacks per minute; other clients of the server are part of \
                TPM. New orders of an unknown item are rolled back, as TPROC-C demands, and are \
                among the row's commits. A transaction that fails by a deadlock or does not \
                serialize is run again, and its latency includes that. Redo is the growth of the \
                position of the server's log per transaction, ramp-up included. A dash is a \
                percentile with fewer than ten samples beyond it, or what was not measured."
            .to_owned(),
        body,
    })
}

/// Whether the consistency conditions hold, and the figures of those that do not.
#[must_use]
pub fn conditions(all: &[ConsistencyCondition]) -> String {
    if all.is_empty() {
        return "the consistency conditions were not checked.".to_owned();
    }
    let violated = |of: &ConsistencyCondition| {
        let how = match &of.first_violation {
            Some(first) => format!(
                "violated in {} of {} places, such as {first}",
                of.violated, of.checked
            ),
            None => "could not be checked: a table has no rows".to_owned(),
        };
        (!of.holds()).then(|| format!("{}: {how}", of.name))
    };
    let violated: Vec<String> = all.iter().filter_map(violated).collect();
    match violated.is_empty() {
        true => format!("all {} consistency conditions hold.", all.len()),
        false => format!("the tables are NOT consistent: {}.", violated.join("; ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::run::{ServerFigures, TprocCFigures};

    fn condition(violated: u64) -> ConsistencyCondition {
        ConsistencyCondition {
            name: "w_ytd = sum(d_ytd)".to_owned(),
            checked: 10,
            violated,
            first_violation: (violated > 0).then(|| "warehouse 3".to_owned()),
        }
    }

    #[test]
    fn a_violated_condition_is_shown_with_its_figures() {
        assert_eq!(
            conditions(&[condition(0)]),
            "all 1 consistency conditions hold."
        );
        let text = conditions(&[condition(0), condition(2)]);
        assert!(text.contains("NOT consistent"), "{text}");
        assert!(
            text.contains("2 of 10 places, such as warehouse 3"),
            "{text}"
        );
        let unchecked = conditions(&[ConsistencyCondition::default()]);
        assert!(unchecked.contains("could not be checked"), "{unchecked}");
        assert!(conditions(&[]).contains("not checked"));
    }

    #[test]
    fn each_kind_of_transaction_has_its_latencies() {
        let mut run = clean_run();
        run.rows.truncate(1);
        assert_eq!(tproc_c(&run), None);
        let stats = WaitStats {
            count: 4_321,
            mean_ns: 2e6,
            p50_ns: Some(1_500_000),
            p99_ns: Some(9_250_000),
            max_ns: 47_000_000,
            ..WaitStats::default()
        };
        let latencies = [("payment", stats), ("delivery", WaitStats::default())];
        let detail = TprocCDetail {
            warehouses: 10,
            rolled_back: 43,
            retries: 7,
            latencies: latencies
                .map(|(kind, stats)| (kind.to_owned(), stats))
                .into(),
            conditions: vec![condition(0)],
            ..TprocCDetail::default()
        };
        run.rows[0].jobs = 16;
        run.rows[0].tproc_c = Some(TprocCFigures {
            nopm: Some(21_995.4),
            tpm: None,
            detail: Some(detail),
        });
        run.rows[0].server = Some(ServerFigures {
            redo_per_commit_bytes: Some(2_749.0),
            ..ServerFigures::default()
        });
        let section = tproc_c(&run).expect("a row of TPROC-C");
        let line = &words_of(&section)[0];
        assert_eq!(line[..4], ["16", "10", "21,995", "–"]);
        assert_eq!(line[5..8], ["43", "7", "2,749"]);
        let Body::Table(kinds) = &section.body[1] else {
            panic!("{section:?}")
        };
        let words =
            |line: &Vec<Shown>| line.iter().map(|cell| cell.words("ms")).collect::<Vec<_>>();
        let payment = [
            "payment", "16", "4,321", "2.00", "1.50", "–", "9.25", "–", "47.0",
        ];
        assert_eq!(words(&kinds.lines[1]), payment);
        assert_eq!(words(&kinds.lines[0])[2..5], ["0", "–", "–"]);
        assert_eq!(
            section.body[2],
            Body::Text("16 users: all 1 consistency conditions hold.".to_owned())
        );
        assert!(
            matches!(section.body.last(), Some(Body::Text(text)) if text.contains("not comparable"))
        );
    }
}
