//! Whether to believe the run: problems, the flush audit of each row, neighbours, the lab's own
//! overhead.

use super::escape::esc;
use super::topic::Topic;
use super::{MAX_ENTRIES, Section, entries};
use crate::format;
use measure::run::{AuditStatus, Row, Run};

pub(super) fn validity(run: &Run) -> Option<Section> {
    let state = match (run.validity.valid, run.validity.problems.is_empty()) {
        (true, true) => "Valid: no check found a problem with the figures.",
        (true, false) => "Valid, with doubts:",
        (false, _) => "Invalid: do not use these figures.",
    };
    let problems = entries(&run.validity.problems, |p| {
        let (class, word) = if p.invalidates {
            ("bad", "▲ invalid")
        } else {
            ("caution", "◆ doubt")
        };
        format!(
            "<li><span class=\"w {class}\">{word}</span><div><p class=\"c\">{}</p><span class=\"id\">{}</span></div></li>",
            esc(&p.detail),
            esc(&p.id)
        )
    });
    let problems = if problems.is_empty() {
        String::new()
    } else {
        format!("<ul class=\"reasons\">{problems}</ul>")
    };
    let own = run.lab_overhead_ns.map_or_else(String::new, |ns| {
        format!(
            "<p>redolab's own overhead, measured on the null device with one job: {} per commit.</p>",
            esc(&format::latency(ns))
        )
    });
    let section = Section::html(
        "validity",
        "Validity",
        "",
        format!(
            "<p><strong>{state}</strong></p>{problems}{own}{}",
            audits(run)
        ),
    );
    section.map(|s| s.shows(Topic::Validity))
}

fn audits(run: &Run) -> String {
    let is_checked =
        |r: &&Row| r.device().flush_audit.is_some() || r.device().background_write_pct.is_some();
    let rows: String = run
        .rows
        .iter()
        .filter(is_checked)
        .take(MAX_ENTRIES)
        .map(audit_row)
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<h3>Flush audit and other processes</h3><p class=\"how\">Flushes that the acknowledged commits need; flushes that the kernel counted on the device; and the share of the device's writes that came from other processes.</p>\
         <div class=\"scroll\"><table><thead><tr><th class=\"t\">Workload</th><th>Jobs</th><th class=\"t\">Audit</th>\
         <th>Needed</th><th>Counted</th><th>Writes of others</th><th class=\"t\">Note</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn audit_row(row: &Row) -> String {
    let audit = row.device().flush_audit.as_ref();
    let status = audit.map_or("–", |a| match a.status {
        AuditStatus::Verified => "verified",
        AuditStatus::LowerBound => "lower bound",
        AuditStatus::Missing => "flushes missing",
        AuditStatus::Unavailable => "unavailable",
    });
    let number = |n: Option<u64>| n.map_or_else(|| "–".to_owned(), format::count);
    format!(
        "<tr><th class=\"t\">{}</th><td>{}</td><td class=\"t\">{status}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"t\">{}</td></tr>",
        esc(&row.workload),
        row.jobs,
        number(audit.map(|a| a.needed)),
        number(audit.and_then(|a| a.counted)),
        esc(&row
            .device()
            .background_write_pct
            .map_or_else(|| "–".to_owned(), format::percent)),
        esc(audit.map_or("", |a| a.note.as_str())),
    )
}
