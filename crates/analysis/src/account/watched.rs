//! What was seen of a watched log beside its log writes: its flushes, sizes, layers and counts.

use super::{AccountColumn, AccountTable, Body, Section, Shown, detail, figure, label};
use measure::run::{Row, Run, TargetFacts, WaitStats, WatchedFacts, WatchedFigures};
use measure::words;

/// A watched log; `None` of every other run.
#[must_use]
pub fn watched(run: &Run) -> Option<Section> {
    let TargetFacts::Watched(facts) = &run.target.facts else {
        return None;
    };
    let mut body = vec![Body::Text(subject(facts))];
    for row in run.rows.iter().filter(|row| row.watched.is_some()) {
        let watched = row.watched();
        body.extend(times(row, watched).map(Body::Table));
        body.extend(sizes(watched).map(Body::Table));
        body.push(Body::Facts(counts(watched)));
        body.extend(layers(watched).map(Body::Table));
        let notes = watched.notes.iter();
        body.extend(notes.map(|note| Body::Text(note.clone())));
    }
    Some(Section {
        id: "watched".into(),
        title: format!("The log of {}, watched", facts.product),
        about: "Log writes are what the kernel saw of the server's log files: from the call that \
                writes until the flush that makes it durable. Begin to begin is the time between \
                two log writes."
            .to_owned(),
        body,
    })
}

fn subject(facts: &WatchedFacts) -> String {
    let files = words::plural(facts.log_files.len() as u64, "log file");
    let mut text = format!("{files}, {}", words::size(facts.log_bytes));
    if facts.added_files > 0 {
        let added = words::count(facts.added_files);
        text.push_str(&format!(", {added} added while it was watched"));
    }
    if !facts.open_flags.is_empty() {
        text.push_str(&format!(", opened with {}", facts.open_flags.join(", ")));
    }
    text
}

type Named<'a> = (&'static str, &'a WaitStats);

/// Distributions beside that of log file parallel write.
fn times(row: &Row, watched: &WatchedFigures) -> Option<AccountTable> {
    let write = row.wait(measure::WaitEvent::LogFileParallelWrite);
    let known = [
        ("log file parallel write", write),
        ("call that writes", watched.write_call.as_ref()),
        ("flush of the log", watched.flush.as_ref()),
        ("write at the device", watched.device_write.as_ref()),
        ("flush of the device", watched.device_flush.as_ref()),
        ("begin to begin", watched.between_writes.as_ref()),
    ];
    let known = known
        .into_iter()
        .filter_map(|(name, stats)| Some((name, stats?)));
    let columns: [AccountColumn<'_, Named<'_>>; 7] = [
        (label("What"), &|(name, _)| Shown::text(name)),
        (figure("Count", ""), &|(_, of)| of.count.into()),
        (figure("Mean", "ms"), &|(_, of)| Shown::mean(of)),
        (detail("p50", "ms"), &|(_, of)| Shown::ns(of.p50_ns)),
        (figure("p99", "ms"), &|(_, of)| Shown::ns(of.p99_ns)),
        (detail("p99.9", "ms"), &|(_, of)| Shown::ns(of.p999_ns)),
        (figure("Longest", "ms"), &|(_, of)| Shown::longest(of)),
    ];
    AccountTable::of(known, &columns)
}

/// The sizes of log writes, bytes in the place of nanoseconds.
fn sizes(watched: &WatchedFigures) -> Option<AccountTable> {
    let bytes = |n: Option<u64>| Shown::from(n.map(Shown::Bytes));
    let columns: [AccountColumn<'_, &WaitStats>; 7] = [
        (label("What"), &|_| Shown::text("size of a log write")),
        (figure("Count", ""), &|of| of.count.into()),
        (figure("Mean", ""), &|of| {
            Shown::Bytes(of.mean_ns.round() as u64)
        }),
        (detail("p50", ""), &|of| bytes(of.p50_ns)),
        (figure("p99", ""), &|of| bytes(of.p99_ns)),
        (detail("p99.9", ""), &|of| bytes(of.p999_ns)),
        (figure("Largest", ""), &|of| Shown::Bytes(of.max_ns)),
    ];
    AccountTable::of(&watched.size_bytes, &columns)
}

fn counts(watched: &WatchedFigures) -> Vec<(String, Shown)> {
    let some = |count: Option<u64>| count.filter(|n| *n > 0);
    let counts = [
        ("Calls that wrote redo", watched.write_calls),
        ("Writes by the server's own count", watched.server_writes),
        ("Flushes by the server's own count", watched.server_flushes),
        ("Bytes written", watched.written_bytes),
        ("Bytes of the log files at the device", watched.device_bytes),
        (
            "Flushes without a log write before them",
            some(watched.other_flushes),
        ),
        (
            "Writes of headers and checkpoints left out",
            some(watched.left_out_writes),
        ),
        ("Calls not flushed at the end", some(watched.not_flushed)),
        ("Events read", watched.events),
        ("Events lost", watched.lost_events),
    ];
    let known = counts
        .into_iter()
        .filter_map(|(name, count)| Some((name.to_owned(), Shown::Count(count?))));
    let commits = watched.commits_per_write.map(Shown::Number);
    let commits = commits.map(|n| ("Commits per log write".to_owned(), n));
    known.chain(commits).collect()
}

/// Where the time of a log write went.
fn layers(watched: &WatchedFigures) -> Option<AccountTable> {
    let of = watched.layers.as_ref()?;
    let parts = [
        ("device writes", of.device_write_ns),
        ("device flushes", of.device_flush_ns),
        ("file system and queue", of.file_system_ns),
    ];
    let all: f64 = parts.iter().map(|(_, ns)| ns).sum();
    let columns: [AccountColumn<'_, (&str, f64)>; 3] = [
        (label("Layer of a log write"), &|(name, _)| {
            Shown::text(name)
        }),
        (figure("Mean", "ms"), &|(_, ns)| Shown::Ns(*ns)),
        (figure("Share", ""), &|(_, ns)| {
            Shown::Share(100.0 * ns / all.max(1.0))
        }),
    ];
    AccountTable::of(parts, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::run::{Target, WatchedLayers};

    #[test]
    fn a_watched_log_has_its_flushes_sizes_layers_and_counts() {
        let mut run = clean_run();
        assert_eq!(watched(&run), None);
        run.target = Target {
            facts: TargetFacts::Watched(WatchedFacts {
                product: "PostgreSQL".to_owned(),
                log_files: vec!["000000010000000000000001".to_owned()],
                log_bytes: 16 << 20,
                ..WatchedFacts::default()
            }),
            ..Target::default()
        };
        let stats = |ns: f64| WaitStats {
            count: 10,
            mean_ns: ns,
            max_ns: 9_000_000,
            ..WaitStats::default()
        };
        run.rows.truncate(1);
        run.rows[0].watched = Some(WatchedFigures {
            flush: Some(stats(2e6)),
            size_bytes: Some(stats(8192.0)),
            events: Some(1_234),
            lost_events: Some(0),
            not_flushed: Some(0),
            layers: Some(WatchedLayers {
                log_writes: 10,
                device_write_ns: 1e6,
                device_flush_ns: 2e6,
                file_system_ns: 1e6,
            }),
            ..WatchedFigures::default()
        });
        let section = watched(&run).expect("it was watched");
        let words = |table: &AccountTable, line: usize| -> Vec<String> {
            let cells = table.lines[line].iter().zip(&table.columns);
            cells
                .map(|(cell, heading)| cell.words(heading.unit))
                .collect()
        };
        let tables: Vec<&AccountTable> = section
            .body
            .iter()
            .filter_map(|body| match body {
                Body::Table(table) => Some(table),
                _ => None,
            })
            .collect();
        let flush = tables[0]
            .lines
            .iter()
            .position(|line| line[0] == Shown::text("flush of the log"));
        assert_eq!(words(tables[0], flush.expect("it was seen"))[2], "2.00");
        assert_eq!(words(tables[1], 0)[2], "8 KiB");
        assert_eq!(words(tables[2], 1)[1..], ["2.00", "50 %"]);
        let facts = Body::Facts(vec![
            ("Events read".to_owned(), Shown::Count(1_234)),
            ("Events lost".to_owned(), Shown::Count(0)),
        ]);
        assert!(
            section.body.contains(&facts),
            "what is nothing special is left out: {section:?}"
        );
    }
}
