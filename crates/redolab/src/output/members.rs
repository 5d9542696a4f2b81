//! The members of a log: who was first, outliers, and what one of them alone held.

use super::cells::{grouped, ns_as_ms};
use super::table::{Style, draw};
use measure::run::{MemberFacts, RedoLogFacts};
use measure::words::sanitize;

/// The table of a log's members and what it means; nothing for a log without.
#[must_use]
pub fn text(log: &RedoLogFacts, style: Style) -> String {
    let Some(kind) = log.members_kind().filter(|_| !log.members.is_empty()) else {
        return String::new();
    };
    let headings = [
        "Member",
        "Log writes",
        "First",
        "Ahead ms",
        "Longest ms",
        "Outliers",
        "Window kB",
        "Window ms",
    ];
    let lines = log.members.iter().enumerate().map(line).collect();
    let mut text = format!("\nMembers: {kind}\n{}", draw(&headings, lines, 1, style));
    for (at, member) in log.members.iter().enumerate() {
        let stale = if member.in_sync { "" } else { " (stale)" };
        let directory = sanitize::line(&member.directory);
        text.push_str(&format!("  {}: {directory}{stale}\n", at + 1));
    }
    let races = log.members.windows(2).any(|m| m[0].cell == m[1].cell);
    if races {
        text.push_str(
            "All counts are of the whole life of the log, warm-ups included. Window: what was\n\
             acknowledged and not durable on this member; it is lost with the others of its\n\
             race. Members flush volatile caches here. The caches of an Exadata cell are\n\
             protected, so its counters are not comparable with these.\n",
        );
        text.push_str(&flash(&log.members));
    }
    text
}

fn line((at, member): (usize, &MemberFacts)) -> Vec<String> {
    let ahead = (member.first > 0).then(|| member.margin_ns as f64 / member.first as f64);
    vec![
        (at + 1).to_string(),
        grouped(member.log_writes),
        grouped(member.first),
        ahead.map_or_else(|| "-".to_owned(), ns_as_ms),
        ns_as_ms(member.longest_ns as f64),
        grouped(member.outliers),
        grouped(member.window_bytes.div_ceil(1000)),
        ns_as_ms(member.window_ns as f64),
    ]
}

/// The counters of a race of two as Oracle names them; the first member is the disk.
fn flash(members: &[MemberFacts]) -> String {
    let [disk, flash] = members else {
        return String::new();
    };
    let both = disk.outliers_of_all;
    let prevented = disk.outliers.saturating_sub(both);
    let only = flash.outliers.saturating_sub(both);
    let efficiency = match prevented + both {
        0 => "-".to_owned(),
        all => format!("{:.0}", prevented as f64 * 100.0 / all as f64),
    };
    let writes = disk.log_writes.max(flash.log_writes);
    let part = |n: u64| n as f64 / writes.max(1) as f64;
    let product = part(disk.outliers) * part(flash.outliers);
    format!(
        "As Oracle counts, with member 1 as disk and member 2 as flash:\n  \
         FL_DISK_FIRST {}  FL_FLASH_FIRST {}\n  \
         FL_PREVENTED_OUTLIERS {prevented}  FL_ACTUAL_OUTLIERS {both}\n  \
         FL_FLASH_ONLY_OUTLIERS {only}  FL_EFFICIENCY_PERCENTAGE {efficiency}\n\
         FL_IO_W_SKIP_BUSY and FL_IO_W_SKIP_LARGE do not apply: every log write goes to\n\
         each member that is in use.\n\
         Both slow: {:.6} of the log writes; {product:.6} if they were independent.\n\
         These counters do not show what the race gains: measure interleaved rounds with\n\
         and without it (redolab compare --on disk=DISK --on race=race:DISK,FLASH).\n",
        grouped(disk.first),
        grouped(flash.first),
        part(both),
    )
}
