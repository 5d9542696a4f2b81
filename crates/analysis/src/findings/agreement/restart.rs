//! Listings that count since an instance was started, and were subtracted: a restart after which
//! every count has grown past its old value cannot be seen in them.

use crate::findings::catalogue;
use crate::findings::diagnosis::intervals::INTERVALS_MIN;
use crate::findings::evidence::view::{Line, Tables};
use crate::findings::note::Note;
use crate::findings::{Caution, Info};
use crate::format;
use measure::imported::Imported;
use std::collections::BTreeSet;

/// Differences of listings that do not contain since when they count.
const CHANGES: [(&str, &str); 3] = [
    ("system_event_change", "v$system_event"),
    ("sysstat_change", "v$sysstat"),
    ("sqlserver_waits_change", "sys.dm_os_wait_stats"),
];
/// What names of instances have before the time of their start.
const STARTED: &str = "started ";

/// The doubt; `None` where nothing was subtracted, or the start of the instance is known.
pub(super) fn doubt(imported: &Imported) -> Option<Note> {
    let tables = Tables(&imported.tables);
    let has_column =
        |t: &measure::imported::Table| t.columns.iter().any(|c| c.key == "startup_time");
    let facts = imported.sources.iter().flat_map(|s| &s.facts);
    let mut named = facts.map(|(name, _)| name.to_ascii_lowercase());
    if imported.tables.iter().any(has_column) || named.any(|name| name.starts_with("startup")) {
        return None;
    }
    let mut subtracted: Vec<String> = Vec::new();
    let listed = tables.lines("event_histogram_summary").filter(|line| {
        let snapshot = line.text("snapshot");
        snapshot.contains(" to ") && !snapshot.contains(STARTED)
    });
    let listed: Vec<_> = listed.collect();
    let waits = |line: &Line<'_>| line.number("waits").unwrap_or(0.0);
    if let Some(most) = listed.iter().max_by(|a, b| waits(a).total_cmp(&waits(b))) {
        subtracted.push(format!(
            "event histograms ({} {} from {})",
            format::count(waits(most) as u64),
            most.text("event"),
            most.text("snapshot"),
        ));
    }
    for (id, name) in CHANGES {
        if tables.of(id).any(|table| !table.title.contains(STARTED)) {
            subtracted.push(format!("listings of {name}"));
        }
    }
    if subtracted.is_empty() {
        return None;
    }
    let claim = format!(
        "{} were subtracted, and beside them no time of the instance's start is listed: if it was \
         restarted between the listings, the difference is wrong",
        subtracted.join(" and ")
    );
    let number = listed.iter().map(waits).fold(0.0, f64::max);
    // Counters that grew from listing to listing hardly did so across a restart.
    let of_changes = CHANGES.iter().flat_map(|(id, _)| tables.lines(id));
    let intervals: BTreeSet<&str> = of_changes.map(|line| line.text("to")).collect();
    let weight = match intervals.len() < INTERVALS_MIN {
        true => Caution,
        false => Info,
    };
    let note = Note::of(&catalogue::AGREEMENT_RESTART, weight, claim);
    Some(note.maybe("subtracted_waits", Some(number).filter(|n| *n > 0.0)))
}
