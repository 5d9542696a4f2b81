//! Log writes over the threshold of warnings in the report: the log's own `V$LGWRIO_OUTLIER`.

use super::escape::esc;
use super::{Section, origin_tag};
use crate::format::{count, digits, latency};
use measure::run::{Row, Run, SlowLogWrite};

/// Most lines of the table; a row has at most 180.
const MAX_LINES: usize = 400;

/// The moment `at_ns`, nanoseconds since 1970, as UTC with milliseconds: `2026-11-23 09:15:02.345`.
#[must_use]
pub fn utc_time(at_ns: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(at_ns));
    time.map_or_else(
        |_| format!("{at_ns} ns"),
        |time| time.strftime("%Y-%m-%d %H:%M:%S.%3f").to_string(),
    )
}

/// `None` where no log write of the run took as long as the threshold.
pub(super) fn slow_writes(run: &Run) -> Option<Section> {
    let slow = |row: &'_ Row| row.redo().slow_log_writes.clone().unwrap_or_default();
    let threshold_ns = run.rows.iter().map(|row| slow(row).threshold_ns).max()?;
    let all: u64 = run
        .rows
        .iter()
        .filter_map(|r| r.redo().log_write_warnings)
        .sum();
    let listed = run
        .rows
        .iter()
        .flat_map(|row| slow(row).writes.into_iter().map(move |write| (row, write)));
    let lines: Vec<String> = listed
        .take(MAX_LINES)
        .map(|(row, write)| line(row, &write))
        .collect();
    if lines.is_empty() {
        return None;
    }
    let missing = all.saturating_sub(lines.len() as u64);
    let more = match missing {
        0 => String::new(),
        n => format!(
            "<p>{} more log writes took at least {}; those that are listed for the same row took longer.</p>",
            count(n),
            esc(&latency(threshold_ns as f64))
        ),
    };
    let about = format!(
        "Each log write that took at least {} (--log-write-warning), from its submission until it was durable, as Oracle lists them in V$LGWRIO_OUTLIER. Times are UTC; a log with one copy has member 0, and of several members the one that ended a log write last is not known.",
        latency(threshold_ns as f64)
    );
    let section = Section::html(
        "slow-log-writes",
        "Slow log writes",
        &about,
        format!(
            "<div class=\"scroll\"><table><thead><tr><th class=\"t\">Time<small>UTC</small></th><th class=\"t\">Workload</th><th>Jobs</th><th>Size<small>kB</small></th><th>Elapsed<small>ms</small></th><th>Member</th></tr></thead><tbody>{}</tbody></table></div>{more}",
            lines.concat()
        ),
    );
    section.map(|s| s.tagged(origin_tag(run)))
}

fn line(row: &Row, write: &SlowLogWrite) -> String {
    format!(
        "<tr><th class=\"t\">{}</th><td class=\"t\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        esc(&utc_time(write.at_utc_ns)),
        esc(&row.workload),
        row.jobs,
        digits(write.size_bytes as f64 / 1024.0),
        digits(write.took_ns as f64 / 1e6),
        write
            .member
            .map_or_else(|| "\u{2013}".to_owned(), |n| n.to_string())
    )
}

#[cfg(test)]
mod tests {
    use super::utc_time;

    #[test]
    fn a_moment_is_utc_with_milliseconds() {
        assert_eq!(
            utc_time(1_394_360_855_123_999_999),
            "2014-03-09 10:27:35.123"
        );
        assert_eq!(utc_time(0), "1970-01-01 00:00:00.000");
        assert_eq!(utc_time(u64::MAX), "2554-07-21 23:34:33.709");
    }
}
