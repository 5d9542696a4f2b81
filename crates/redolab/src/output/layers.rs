//! Bytes per layer of a database's rows, and what its sessions waited for, for people.
//!
//! Invariant: figures are of the time between the readings of the server's counts, and per commit
//! of that time.

use super::cells::{grouped, real};
use super::table::{Style, draw, fit};
use analysis::bytes::{LayerBytes, has_server};
use measure::run::{Row, Run};
use measure::words::sanitize;

const HEADINGS: [&str; 10] = [
    "Workload",
    "Jobs",
    "Redo B/commit",
    "Written B/commit",
    "Whole disk B/commit",
    "Written /redo",
    "Whole disk /redo",
    "Flushes /commit",
    "Whole disk flushes/commit",
    "Commits",
];
/// Wait events of a row that are shown.
const EVENTS_MAX: usize = 5;

/// The tables; `None` where no server was asked.
#[must_use]
pub fn layers(run: &Run, style: Style) -> Option<String> {
    if !has_server(run) {
        return None;
    }
    let lines = run
        .rows
        .iter()
        .filter_map(|row| Some(line(row, &LayerBytes::of(row)?)));
    let victims = ["Commits", "Whole disk flushes/commit", "Whole disk /redo"];
    let (headings, lines) = fit(&HEADINGS, lines.collect(), &victims, style);
    let mut text =
        "Bytes per layer: redo, written by the server, written to the whole disk by all \
                    programs\n"
            .to_owned();
    if !lines.is_empty() {
        text.push_str(&draw(&headings, lines, 1, style));
    }
    for row in &run.rows {
        let name = || {
            format!(
                "{}, {}",
                sanitize::line(&row.workload),
                measure::words::jobs(row.jobs)
            )
        };
        if let Some(waits) = waits(row) {
            text.push_str(&format!("{}: sessions in the server: {waits}\n", name()));
        }
        for note in &row.server().notes {
            text.push_str(&format!("{}: {}\n", name(), sanitize::line(note)));
        }
    }
    Some(text)
}

fn line(row: &Row, bytes: &LayerBytes) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), real);
    vec![
        sanitize::line(&row.workload),
        row.jobs.to_string(),
        number(bytes.per_commit(bytes.redo_bytes)),
        number(bytes.per_commit(bytes.written_bytes)),
        number(bytes.per_commit(bytes.device_bytes)),
        number(bytes.written_per_redo()),
        number(bytes.device_per_redo()),
        number(bytes.per_commit(bytes.flushes)),
        number(bytes.per_commit(bytes.device_flushes)),
        bytes.commits.map_or_else(|| "-".to_owned(), grouped),
    ]
}

/// The most frequent wait events with their shares.
fn waits(row: &Row) -> Option<String> {
    let waits = row.server().waits.as_ref()?;
    let all: u64 = waits.sessions.values().sum();
    let mut events: Vec<(&String, u64)> = waits.sessions.iter().map(|(e, n)| (e, *n)).collect();
    events.sort_by_key(|(_, sessions)| std::cmp::Reverse(*sessions));
    let shares = events.iter().take(EVENTS_MAX).map(|(event, sessions)| {
        let share = 100.0 * *sessions as f64 / all.max(1) as f64;
        format!("{} {share:.0} %", sanitize::line(event))
    });
    let shares: Vec<String> = shares.collect();
    (all > 0).then(|| format!("{} ({} samples)", shares.join(", "), grouped(all)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{ServerFigures, ServerWaits};

    #[test]
    fn a_database_has_its_bytes_and_waits_and_the_own_log_none() {
        let style = Style {
            width: 200,
            frame: false,
        };
        let mut run = crate::output::table::tests::run();
        assert_eq!(layers(&run, style), None);
        run.rows[0].server = Some(ServerFigures {
            commits: Some(100),
            redo_lsn_bytes: Some(200_000),
            written_bytes: Some(1_020_000),
            syncs: Some(100),
            waits: Some(ServerWaits {
                readings: 4,
                sessions: [
                    ("IO:WalSync\u{1b}".to_owned(), 3),
                    ("running".to_owned(), 1),
                ]
                .into(),
                ..ServerWaits::default()
            }),
            notes: vec!["counts: reset".to_owned()],
            ..ServerFigures::default()
        });
        let text = layers(&run, style).expect("a server");
        for part in [
            "2,000",
            "10,200",
            "5.10",
            "1.00",
            "75 %, running 25 % (4 samples)",
            "reset",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains('\u{1b}'), "{text}");
        let narrow = layers(
            &run,
            Style {
                width: 80,
                frame: true,
            },
        )
        .expect("a server");
        assert!(
            narrow.contains("5.10") && !narrow.contains("flushes/commit"),
            "{narrow}"
        );
    }
}
