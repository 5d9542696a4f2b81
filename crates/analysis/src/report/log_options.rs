//! How a log was written, for the table of the environment: its options and members.

use crate::format;
use measure::run::RedoLogFacts;

pub(super) fn log_options(log: &RedoLogFacts) -> Vec<(&'static str, Option<String>)> {
    vec![
        ("Log writer", log.log_writer.clone()),
        ("Log file sync mode", log.log_file_sync.clone()),
        ("Flush triggers", log.flush_triggers.clone()),
        ("Log writer CPUs", cpus(&log.log_writer_cpus)),
        ("Stripe", log.stripe.as_ref().map(ToString::to_string)),
        ("Members", members(log)),
    ]
}

/// What kind of members, and each one's directory, how often it was first and its window.
fn members(log: &RedoLogFacts) -> Option<String> {
    let each = log.members.iter().map(|member| {
        let first = member.first;
        let window = format::bytes(member.window_bytes);
        let sync = if member.in_sync { "" } else { ", stale" };
        format!(
            "{} (first {first} times, window {window}{sync})",
            member.directory
        )
    });
    let each: Vec<String> = each.collect();
    let kind = log.members_kind().filter(|_| !each.is_empty())?;
    Some(format!("{kind}: {}", each.join(", ")))
}

fn cpus(cpus: &[u32]) -> Option<String> {
    let named: Vec<String> = cpus.iter().map(u32::to_string).collect();
    (!named.is_empty()).then(|| named.join(", "))
}
