//! Bytes per layer: redo, what the server or the log wrote, what the device received, and the
//! flushes of both; below it what sessions waited for in a server.
//!
//! Invariant: of a server, figures are of the time between the readings of its counts, and per
//! commit of that time.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use crate::bytes::{LayerBytes, device_words, has_server};
use measure::run::{Row, Run};
use measure::words;

const OF_SERVER: &str = "Redo is the growth of the position of the server's log, from the moment \
    when all sessions were open until after the last one had ended, with the commits of that time. \
    What the server wrote for it are whole pages, the last page again with each commit. The device \
    also received what other files and processes wrote. A server whose writes are durable by \
    themselves (open_datasync) asks for no flushes, and a device without a volatile cache receives \
    none.";
const OF_LOG: &str = "Redo with its record headers, what the log wrote for it with padding and \
    block headers, and what the kernel counted on the device, other processes included.";
/// Wait events of a row that are shown.
const EVENTS_MAX: usize = 12;

/// Bytes of each row; `None` where nothing was counted.
#[must_use]
pub fn bytes(run: &Run) -> Option<Section> {
    let (written, flushes, about) = match has_server(run) {
        true => ("Written by the server", "Flushes of the server", OF_SERVER),
        false => ("Written by the log", "Flushes of the log", OF_LOG),
    };
    let each = |of: &LayerBytes, count| Shown::from(of.per_commit(count));
    let columns: [AccountColumn<'_, (&Row, LayerBytes)>; 10] =
        [
            (label("Workload"), &|(row, _)| Shown::Text(row.label())),
            (label("Jobs"), &|(row, _)| Shown::jobs(row.jobs)),
            (detail("Commits", ""), &|(_, of)| of.commits.into()),
            (figure("Redo", "B/commit"), &|(_, of)| {
                each(of, of.redo_bytes)
            }),
            (figure(written, "B/commit"), &|(_, of)| {
                each(of, of.written_bytes)
            }),
            (figure(device_words(run), "B/commit"), &|(_, of)| {
                each(of, of.device_bytes)
            }),
            (figure("Written", "/redo"), &|(_, of)| {
                of.written_per_redo().into()
            }),
            (detail("Device", "/redo"), &|(_, of)| {
                of.device_per_redo().into()
            }),
            (figure(flushes, "/commit"), &|(_, of)| each(of, of.flushes)),
            (
                detail("Flushes of the whole disk", "/commit"),
                &|(_, of)| each(of, of.device_flushes),
            ),
        ];
    let of_rows = || {
        run.rows
            .iter()
            .filter_map(|row| Some((row, LayerBytes::of(row)?)))
    };
    let mut body = vec![Body::Table(AccountTable::of(of_rows(), &columns)?)];
    if of_rows().any(|(_, of)| of.written_is_computed) {
        body.push(Body::Text(
            "What was written is computed from the number of writes and the growth of the log: \
             this version of the server does not count the bytes of its writes."
                .to_owned(),
        ));
    }
    for row in &run.rows {
        let name = format!("{}, {}", row.label(), words::jobs(row.jobs));
        let notes = row.server().notes.iter();
        body.extend(notes.map(|note| Body::Text(format!("{name}: {note}"))));
        body.extend(waits(row, &name).into_iter().flatten());
    }
    Some(Section::of("bytes", "Bytes per layer", about, body))
}

/// The wait events of a row's sessions in the server, the most frequent first.
fn waits(row: &Row, name: &str) -> Option<[Body; 2]> {
    let waits = row.server().waits.as_ref()?;
    let all: u64 = waits.sessions.values().sum();
    let mut events: Vec<(&String, &u64)> = waits.sessions.iter().collect();
    events.sort_by_key(|(_, sessions)| std::cmp::Reverse(**sessions));
    let share = |n: u64| Shown::Share(100.0 * n as f64 / all.max(1) as f64);
    let columns: [AccountColumn<'_, (&String, &u64)>; 3] = [
        (label("Event in the server"), &|(event, _)| {
            Shown::text(event)
        }),
        (figure("Samples", ""), &|(_, n)| Shown::Count(**n)),
        (figure("Share", ""), &|(_, n)| share(**n)),
    ];
    let table = AccountTable::of(events.into_iter().take(EVENTS_MAX), &columns)?;
    let text = format!(
        "{name}: sessions in the server, sampled {} times per second, {} times together. A session \
         in no wait event is running.",
        words::digits(waits.readings_per_s),
        words::count(waits.readings)
    );
    (all > 0).then_some([Body::Text(text), Body::Table(table)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::words_of;
    use crate::findings::fixture::clean_run;
    use measure::run::{ServerFigures, ServerWaits};

    #[test]
    fn a_database_has_its_bytes_and_waits() {
        let mut run = clean_run();
        run.rows.truncate(1);
        run.rows[0].server = Some(ServerFigures {
            commits: Some(100),
            redo_lsn_bytes: Some(200_000),
            written_bytes: Some(1_020_000),
            written_is_computed: Some(true),
            syncs: Some(100),
            waits: Some(ServerWaits {
                sessions: [("IO:WalSync".to_owned(), 3), ("running".to_owned(), 1)].into(),
                ..ServerWaits::default()
            }),
            notes: vec!["counts: reset".to_owned()],
            ..ServerFigures::default()
        });
        let section = bytes(&run).expect("a server");
        let line = ["100", "2,000", "10,200", "–", "5.10", "–", "1.00", "–"];
        assert_eq!(words_of(&section)[0][2..], line);
        assert!(matches!(&section.body[1], Body::Text(text) if text.contains("is computed")));
        assert!(matches!(&section.body[2], Body::Text(text) if text.ends_with("counts: reset")));
        let Some(Body::Table(waits)) = section.body.last() else {
            panic!("{section:?}")
        };
        assert_eq!(waits.lines[0][1..], [Shown::Count(3), Shown::Share(75.0)]);
        assert_eq!(waits.columns[2].name, "Share");
    }
}
