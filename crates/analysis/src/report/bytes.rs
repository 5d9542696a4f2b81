//! Bytes per layer: redo, what the server or the log wrote, what the device received, and the
//! flushes of both; below it what sessions waited for in a server.

use super::escape::esc;
use super::topic::Topic;
use super::{MAX_ENTRIES, Section, origin_tag};
use crate::bytes::{LayerBytes, device_words, has_server};
use crate::format::{count, digits};
use measure::run::{Row, Run};

const HOW_SERVER: &str = "Redo is the growth of the position of the server's log, from the moment when all sessions were open until after the last one had ended, with the commits of that time. What the server wrote for it are whole pages, the last page again with each commit. The device also received what other files and processes wrote. A server whose writes are durable by themselves (open_datasync) asks for no flushes, and a device without a volatile cache receives none.";
const HOW_OWN: &str = "Redo with its record headers, what the log wrote for it with padding and block headers, and what the kernel counted on the device, other processes included.";

pub(super) fn section(run: &Run) -> Option<Section> {
    let rows = run.rows.iter().take(MAX_ENTRIES);
    let lines: String = rows
        .clone()
        .filter_map(|row| Some(line(row, &LayerBytes::of(row)?)))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let (writer, how) = match has_server(run) {
        true => ("server", HOW_SERVER),
        false => ("log", HOW_OWN),
    };
    let device = device_words(run);
    let notes = notes(run);
    let waits: String = rows.filter_map(waits).collect();
    let section = Section::html(
        "bytes",
        "Bytes per layer",
        how,
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Bytes per layer\"><table><thead><tr><th class=\"t\">Workload</th><th>Jobs</th><th>Commits</th><th>Redo<small>B/commit</small></th><th>Written by the {writer}<small>B/commit</small></th><th>{device}<small>B/commit</small></th><th>Written / redo</th><th>Device / redo</th><th>Flushes of the {writer}<small>per commit</small></th><th>Flushes of the whole disk<small>per commit</small></th></tr></thead><tbody>{lines}</tbody></table></div>{notes}{waits}"
        ),
    );
    section.map(|s| s.tagged(origin_tag(run)).shows(Topic::Bytes))
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), digits)
}

fn line(row: &Row, bytes: &LayerBytes) -> String {
    let mark = if bytes.written_is_computed { " *" } else { "" };
    let cells = [
        bytes.commits.map_or_else(|| "–".to_owned(), count),
        number(bytes.per_commit(bytes.redo_bytes)),
        number(bytes.per_commit(bytes.written_bytes)) + mark,
        number(bytes.per_commit(bytes.device_bytes)),
        number(bytes.written_per_redo()),
        number(bytes.device_per_redo()),
        number(bytes.per_commit(bytes.flushes)),
        number(bytes.per_commit(bytes.device_flushes)),
    ];
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td>{cell}</td>"))
        .collect();
    format!(
        "<tr><th class=\"t\">{}</th><td>{}</td>{cells}</tr>",
        esc(&row.workload),
        crate::format::job_cell(row.jobs)
    )
}

/// What the table leaves open.
fn notes(run: &Run) -> String {
    let all = || run.rows.iter().filter_map(LayerBytes::of);
    let computed = all().any(|bytes| bytes.written_is_computed);
    let mut notes = String::new();
    if computed {
        notes.push_str("<p class=\"how\">* Computed from the number of writes and the growth of the log: this version of the server does not count the bytes of its writes.</p>");
    }
    for row in run.rows.iter().take(MAX_ENTRIES) {
        for note in &row.server().notes {
            notes.push_str(&format!(
                "<p class=\"how\">{} with {}: {}</p>",
                esc(&row.workload),
                esc(&crate::format::jobs(row.jobs)),
                esc(note)
            ));
        }
    }
    notes
}

/// The wait events of a row's sessions in the server, the most frequent first.
fn waits(row: &Row) -> Option<String> {
    let waits = row.server().waits.as_ref()?;
    let all: u64 = waits.sessions.values().sum();
    if all == 0 {
        return None;
    }
    let mut events: Vec<(&String, u64)> = waits.sessions.iter().map(|(e, n)| (e, *n)).collect();
    events.sort_by_key(|(_, sessions)| std::cmp::Reverse(*sessions));
    let lines: String = events
        .iter()
        .take(12)
        .map(|(event, sessions)| {
            let share = 100.0 * *sessions as f64 / all as f64;
            format!(
                "<tr><th class=\"t\">{}</th><td>{}</td><td>{} %</td></tr>",
                esc(event),
                count(*sessions),
                digits(share)
            )
        })
        .collect();
    Some(format!(
        "<h3>Waits in the server: {} with {}</h3><p class=\"how\">Sampled {} times per second, {} times together. A session in no wait event is running.</p><div class=\"scroll\"><table><thead><tr><th class=\"t\">Event</th><th>Samples</th><th>Share</th></tr></thead><tbody>{lines}</tbody></table></div>",
        esc(&row.workload),
        esc(&crate::format::jobs(row.jobs)),
        digits(waits.readings_per_s),
        count(waits.readings)
    ))
}
