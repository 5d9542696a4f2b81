//! What a cell gave: a line of JSON from its child, a line of CSV in the data.
//!
//! Invariant: a child that failed leaves a row too, with the reason, and no figures.

use crate::AnyError;
use serde::{Deserialize, Serialize};

/// What a child reports, as JSON on one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Commits that a committer keeps under way: 1 where each waits for the one before.
    #[serde(default = "one")]
    pub in_flight: u32,
    pub commits: u64,
    pub window_ns: u64,
    pub mean_ns: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub p999_ns: u64,
    pub max_ns: u64,
    /// User and system time of the child in the window.
    pub cpu_us: u64,
    /// What the device completed in the window.
    pub flushes: u64,
    pub device_writes: u64,
    pub device_bytes: u64,
}

fn one() -> u32 {
    1
}

/// A cell of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub round: u32,
    pub peer: String,
    pub threads: u32,
    /// Flushes a second of the device before the child began: what others ask for.
    pub idle_flushes_per_s: f64,
    /// What the child reported, or why it did not.
    pub outcome: Result<Report, String>,
}

impl Row {
    /// Commits a second.
    pub fn per_s(&self) -> Option<f64> {
        let report = self.outcome.as_ref().ok()?;
        (report.window_ns > 0).then(|| report.commits as f64 * 1e9 / report.window_ns as f64)
    }

    /// Whether the device flushed at least once for each group that could share a flush: where n
    /// commits are under way no flush can serve more than n acknowledgements, but for those at
    /// the window's ends.
    pub fn flushed(&self) -> Option<Flushed> {
        let report = self.outcome.as_ref().ok()?;
        let under_way = f64::from(self.threads) * f64::from(report.in_flight.max(1));
        let needed = 0.98 * report.commits as f64 / under_way - 2.0;
        let others = self.idle_flushes_per_s * report.window_ns as f64 / 1e9;
        let flushes = report.flushes as f64;
        Some(match flushes {
            too_few if too_few < needed => Flushed::No,
            unclear if unclear - others < needed => Flushed::Unclear,
            _ => Flushed::Yes,
        })
    }
}

/// Whether a peer is seen to flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// The device flushed often enough.
    Yes,
    /// It did, but not by more than others had asked of it before: measure on a quieter one.
    Unclear,
    /// It did not: something was acknowledged that was not durable.
    No,
}

/// The first line of the data.
pub const HEADING: &str = "round,peer,threads,in_flight,commits,window_ns,commits_per_s,mean_ns,p50_ns,\
    p99_ns,p999_ns,max_ns,cpu_us,flushes,device_writes,device_bytes,idle_flushes_per_s,problem";

/// The row as a line of the data.
pub fn line(row: &Row) -> String {
    let Row {
        round,
        peer,
        threads,
        idle_flushes_per_s: idle,
        ..
    } = row;
    let head = format!("{round},{peer},{threads}");
    match &row.outcome {
        Ok(r) => format!(
            "{head},{},{},{},{:.1},{},{},{},{},{},{},{},{},{},{idle:.1},",
            r.in_flight,
            r.commits,
            r.window_ns,
            row.per_s().unwrap_or_default(),
            r.mean_ns,
            r.p50_ns,
            r.p99_ns,
            r.p999_ns,
            r.max_ns,
            r.cpu_us,
            r.flushes,
            r.device_writes,
            r.device_bytes
        ),
        Err(problem) => {
            // A problem must not break the line or the columns.
            let apart = |c: char| c.is_whitespace() || matches!(c, ',' | '"');
            let words: Vec<&str> = problem.split(apart).filter(|w| !w.is_empty()).collect();
            format!("{head},,,,,,,,,,,,,,{idle:.1},{}", words.join(" "))
        }
    }
}

/// Reads the data back.
pub fn parse(text: &str) -> Result<Vec<Row>, AnyError> {
    let mut lines = text.lines().enumerate();
    let heading = lines.next().map(|(_, line)| line.trim_end());
    if heading != Some(HEADING) {
        return Err(format!("line 1 is not `{HEADING}`").into());
    }
    let row = |(at, line): (usize, &str)| {
        row(line.trim_end_matches('\r')).ok_or_else(|| format!("line {}: not a row", at + 1).into())
    };
    lines
        .filter(|(_, line)| !line.is_empty())
        .map(row)
        .collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != HEADING.split(',').count() {
        return None;
    }
    let number = |at: usize| fields[at].parse::<u64>().ok();
    let report = || {
        Some(Report {
            in_flight: number(3)?.try_into().ok()?,
            commits: number(4)?,
            window_ns: number(5)?,
            mean_ns: number(7)?,
            p50_ns: number(8)?,
            p99_ns: number(9)?,
            p999_ns: number(10)?,
            max_ns: number(11)?,
            cpu_us: number(12)?,
            flushes: number(13)?,
            device_writes: number(14)?,
            device_bytes: number(15)?,
        })
    };
    let outcome = match fields[17] {
        "" => Ok(report()?),
        problem => Err(problem.to_owned()),
    };
    Some(Row {
        round: number(0)?.try_into().ok()?,
        peer: fields[1].to_owned(),
        threads: number(2)?.try_into().ok()?,
        idle_flushes_per_s: fields[16].parse().ok()?,
        outcome,
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn row(round: u32, peer: &str, threads: u32, commits: u64, flushes: u64) -> Row {
        Row {
            round,
            peer: peer.to_owned(),
            threads,
            idle_flushes_per_s: 0.0,
            outcome: Ok(Report {
                in_flight: 1,
                commits,
                window_ns: 1_000_000_000,
                mean_ns: 100_000,
                p50_ns: 90_000,
                p99_ns: 200_000,
                p999_ns: 300_000,
                max_ns: 1_000_000,
                cpu_us: 10 * commits,
                flushes,
                device_writes: 2 * flushes,
                device_bytes: 4096 * commits,
            }),
        }
    }

    #[test]
    fn rows_are_written_and_read_alike() {
        let failed = Row {
            outcome: Err("broke, at \"line\"\n2".to_owned()),
            ..row(1, "b", 8, 0, 0)
        };
        let rows = [row(0, "a:x", 1, 12_345, 12_345), failed.clone()];
        let text: Vec<String> = rows.iter().map(line).collect();
        let text = format!("{HEADING}\n{}\n", text.join("\n"));
        let read = parse(&text).expect("its own lines");
        assert_eq!(read[0], rows[0]);
        assert_eq!(read[1].outcome, Err("broke at line 2".to_owned()));
        assert!(parse("round,peer\n").is_err());
        assert!(parse(&format!("{HEADING}\n1,2,3\n")).is_err());
    }

    #[test]
    fn a_flush_serves_no_more_than_the_threads_that_wait() {
        for (threads, commits, flushes, idle, seen) in [
            (1, 10_000, 10_000, 0.0, Flushed::Yes),
            (1, 10_000, 9_000, 0.0, Flushed::No),
            (1, 10_000, 9_000, 1_000.0, Flushed::No),
            (1, 10_000, 10_000, 1_000.0, Flushed::Unclear),
            (8, 80_000, 10_000, 0.0, Flushed::Yes),
            (8, 80_000, 10_000, 10.0, Flushed::Yes),
            (8, 80_000, 9_000, 0.0, Flushed::No),
            (64, 64_000, 3, 0.0, Flushed::No),
            (64, 0, 0, 0.0, Flushed::Yes),
        ] {
            let mut row = row(0, "a", threads, commits, flushes);
            row.idle_flushes_per_s = idle;
            assert_eq!(row.flushed(), Some(seen), "{row:?}");
        }
    }
}
