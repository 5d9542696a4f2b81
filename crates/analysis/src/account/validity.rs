//! Whether to believe a run: problems, the flush audit of each row, neighbours, the lab's own
//! overhead.

use super::{AccountColumn, AccountTable, Body, Section, Shown, Statement, figure, label};
use measure::run::{AuditStatus, FlushAudit, Row, Run};
use measure::words;

/// Problems and audits; always of a run, which may have none.
#[must_use]
pub fn validity(run: &Run) -> Option<Section> {
    let state = match (run.validity.valid, run.validity.problems.is_empty()) {
        (true, true) => "Valid: no check found a problem with the figures.",
        (true, false) => "Valid, with doubts:",
        (false, _) => "Invalid: do not use these figures.",
    };
    let problems = run.validity.problems.iter();
    let problems = problems.map(|problem| Statement::problem(problem, ""));
    let mut body = vec![
        Body::Text(state.to_owned()),
        Body::Findings(problems.collect()),
    ];
    body.extend(run.lab_overhead_ns.map(|ns| {
        Body::Text(format!(
            "redolab's own overhead, measured on the null device with one job: {} per commit.",
            words::latency(ns)
        ))
    }));
    body.extend(audits(run).map(Body::Table));
    Some(Section {
        id: "validity".into(),
        title: "Validity".to_owned(),
        about: "Flush audit: flushes that the acknowledged commits need; flushes that the kernel \
                counted on the device; and the share of the device's writes that came from other \
                processes."
            .to_owned(),
        body,
    })
}

fn audits(run: &Run) -> Option<AccountTable> {
    let audit = |row: &Row| row.device().flush_audit.clone();
    let of = |row: &Row, cell: fn(FlushAudit) -> Shown| Shown::from(audit(row).map(cell));
    let is_checked =
        |r: &&Row| r.device().flush_audit.is_some() || r.device().background_write_pct.is_some();
    let status = |audit: FlushAudit| {
        Shown::text(match audit.status {
            AuditStatus::Verified => "verified",
            AuditStatus::LowerBound => "lower bound",
            AuditStatus::Missing => "flushes missing",
            AuditStatus::Unavailable => "unavailable",
        })
    };
    let columns: [AccountColumn<'_, &Row>; 7] = [
        (label("Workload"), &|row| Shown::text(&row.workload)),
        (label("Jobs"), &|row| Shown::jobs(row.jobs)),
        (figure("Flush audit", ""), &|row| of(row, status)),
        (figure("Needed", ""), &|row| {
            of(row, |audit| audit.needed.into())
        }),
        (figure("Counted", ""), &|row| {
            of(row, |audit| audit.counted.into())
        }),
        (figure("Writes of others", ""), &|row| {
            row.device().background_write_pct.map(Shown::Share).into()
        }),
        (figure("Note", ""), &|row| {
            of(row, |audit| {
                Some(Shown::Text(audit.note))
                    .filter(|note| *note != Shown::text(""))
                    .into()
            })
        }),
    ];
    AccountTable::of(run.rows.iter().filter(is_checked), &columns)
}
