//! The table of a run's rows, as wide as the terminal.
//!
//! Invariants: columns that belong together are below one title; where the width does not suffice,
//! columns stand closer, then the least important ones are left out, and a line names them and how
//! to see them at any width; named columns are never left out. Where nothing limits the width, all
//! columns are there.

use super::lines::{self, wrap};
use super::table::Style;
use analysis::account::Shown;
use analysis::account::columns::{Columns, RowColumn, RowTable, grid};
use measure::run::Run;
use measure::words::sanitize;

/// Blanks between columns, where they fit and where they do not.
const GAPS: [usize; 2] = [2, 1];
/// How many columns that were left out are named.
const NAMED: usize = 3;

/// Abbreviations that are explained where they are used.
const ABBREVIATED: [(&str, &str); 2] = [
    ("LFS", "log file sync"),
    ("LFPW", "log file parallel write"),
];

/// The table of a run's rows, with the units below it.
#[must_use]
pub fn rows(run: &Run, columns: &Columns, style: Style) -> String {
    let grid = grid(run, columns);
    let width = style.limit().unwrap_or(usize::MAX);
    let (shown, gap, dropped) = fit(&grid, width);
    let mut text = draw(&shown, gap, style.frame, run.rows.len());
    let mut units = grid.units.clone();
    for (short, long) in ABBREVIATED {
        if text.contains(short) && !text.contains(long) {
            units.push_str(&format!(" {short}: {long}."));
        }
    }
    wrap(&mut text, "", &units, style.width);
    if !dropped.is_empty() {
        wrap(&mut text, "", &left_out(&dropped), style.width);
    }
    text
}

fn words(cell: &Shown) -> String {
    sanitize::line(&cell.words(""))
}

fn left_out(dropped: &[&str]) -> String {
    let mut names: Vec<String> = dropped
        .iter()
        .take(NAMED)
        .map(|n| (*n).to_owned())
        .collect();
    if dropped.len() > NAMED {
        names.push(format!("{} more", dropped.len() - NAMED));
    }
    format!(
        "Not shown at this width: {}. Use --columns NAMES, --format markdown or --format csv.",
        names.join(", ")
    )
}

/// The columns that fit, the gap between them, and the keys of those that do not.
fn fit(grid: &RowTable, width: usize) -> (Vec<&RowColumn>, usize, Vec<&'static str>) {
    let mut shown: Vec<&RowColumn> = grid.columns.iter().collect();
    let mut dropped = Vec::new();
    let [wide, narrow] = GAPS;
    if total(&shown, wide) <= width {
        return (shown, wide, dropped);
    }
    for key in grid.drop_first {
        if total(&shown, narrow) <= width {
            break;
        }
        let before = shown.len();
        // How many logs a row adds up is left out only where it is one.
        shown.retain(|c| {
            c.key != *key || (*key == "nodes" && c.cells.iter().any(|n| *n != Shown::Count(1)))
        });
        if shown.len() < before {
            dropped.push(*key);
        }
    }
    let gap = match total(&shown, wide) <= width {
        true => wide,
        false => narrow,
    };
    (shown, gap, dropped)
}

/// Columns of characters of each column. The last of a group is as wide as the group's shortest
/// title needs.
fn widths(shown: &[&RowColumn], gap: usize) -> Vec<usize> {
    let own = |c: &&RowColumn| {
        let cells = c.cells.iter().map(|cell| lines::width(&words(cell)));
        let heading = c.heading.split('\n').map(lines::width);
        cells.chain(heading).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = shown.iter().map(own).collect();
    for (first, end) in groups(shown) {
        let span: usize = widths[first..end].iter().sum::<usize>() + gap * (end - first - 1);
        let title = shown[first]
            .group
            .last()
            .map_or(0, |title| lines::width(title));
        widths[end - 1] += title.saturating_sub(span);
    }
    widths
}

/// Each group: the index of its first column, and that behind its last.
fn groups(shown: &[&RowColumn]) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (at, column) in shown
        .iter()
        .enumerate()
        .filter(|(_, c)| !c.group.is_empty())
    {
        match found.last_mut() {
            Some((first, end)) if *end == at && shown[*first].group == column.group => *end += 1,
            _ => found.push((at, at + 1)),
        }
    }
    found
}

fn total(shown: &[&RowColumn], gap: usize) -> usize {
    let widths = widths(shown, gap);
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

fn draw(shown: &[&RowColumn], gap: usize, frame: bool, rows: usize) -> String {
    let widths = widths(shown, gap);
    let mut text = titles(shown, &widths, gap, frame);
    let line = |text: &mut String, cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for ((column, width), cell) in shown.iter().zip(&widths).zip(cells) {
            if !line.is_empty() {
                line.push_str(&" ".repeat(gap));
            }
            let blanks = " ".repeat(width - lines::width(cell).min(*width));
            match column.is_text {
                true => line.push_str(&format!("{cell}{blanks}")),
                false => line.push_str(&format!("{blanks}{cell}")),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let height = shown.iter().map(|c| c.heading.split('\n').count()).max();
    let height = height.unwrap_or(0);
    for at in 0..height {
        // Headings of one line are beside the last line of the others.
        let part = |c: &&'_ RowColumn| {
            let lines: Vec<&str> = c.heading.split('\n').collect();
            (at + lines.len())
                .checked_sub(height)
                .map(|i| lines[i].to_owned())
        };
        let parts: Vec<String> = shown.iter().map(|c| part(c).unwrap_or_default()).collect();
        line(&mut text, &mut parts.iter().map(String::as_str));
    }
    if frame {
        let whole = widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1);
        text.push_str(&format!("{}\n", "─".repeat(whole)));
    }
    for row in 0..rows {
        let cells: Vec<String> = shown.iter().map(|c| words(&c.cells[row])).collect();
        line(&mut text, &mut cells.iter().map(String::as_str));
    }
    text
}

/// The line with the titles of groups, each over its columns; empty without groups.
fn titles(shown: &[&RowColumn], widths: &[usize], gap: usize, frame: bool) -> String {
    let groups = groups(shown);
    if groups.is_empty() {
        return String::new();
    }
    let fill = if frame { "─" } else { " " };
    let (mut line, mut at) = (String::new(), 0);
    for (first, end) in groups {
        let left: usize = widths[..first].iter().sum::<usize>() + gap * first;
        let span: usize = widths[first..end].iter().sum::<usize>() + gap * (end - first - 1);
        let candidates = shown[first].group;
        let title = candidates.iter().find(|title| lines::width(title) <= span);
        let title = title.or(candidates.last()).copied().unwrap_or_default();
        let rest = span.saturating_sub(lines::width(title));
        let (before, after) = match rest {
            // A line on both sides needs a blank each, and something of a line.
            4.. if frame => (
                fill.repeat((rest - 2) / 2),
                fill.repeat(rest - 2 - (rest - 2) / 2),
            ),
            _ => (" ".repeat(rest / 2), " ".repeat(rest - rest / 2)),
        };
        let blank = if rest >= 4 && frame { " " } else { "" };
        line.push_str(&" ".repeat(left - at));
        line.push_str(&format!("{before}{blank}{title}{blank}{after}"));
        at = left + span;
    }
    format!("{}\n", line.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::table::tests::run;
    use measure::run::WaitStats;

    /// Two rows with every figure of the default view.
    fn full() -> Run {
        let mut run = run();
        for row in &mut run.rows {
            let stats = WaitStats {
                count: 1_000_000,
                mean_ns: 2_499_000.0,
                total_ns: 1,
                p50_ns: Some(1_987_000),
                p99_ns: Some(12_340_000),
                p999_ns: Some(45_670_000),
                max_ns: 1_234_500_000,
                ..WaitStats::default()
            };
            let event = measure::WaitEvent::LogFileParallelWrite.key().to_owned();
            row.waits.insert(event, stats.clone());
            row.waits.insert("log_file_sync".to_owned(), stats);
            row.workload = row.workload.replace("LAT1", "LAT125");
            row.redo_synch_writes_iops = Some(1.0);
            let redo = row.redo.get_or_insert_default();
            redo.redo_data_mbps = Some(2_803.0);
            redo.commits_per_write = Some(measure::run::CommitsPerWrite {
                mean: 7.83,
                ..Default::default()
            });
        }
        run
    }

    fn style(width: usize, frame: bool) -> Style {
        Style { width, frame }
    }

    #[test]
    fn it_fits_and_keeps_what_matters() {
        for width in [80, 100, 120, 160, 200] {
            for columns in [Columns::Usual, Columns::Study] {
                let text = rows(&full(), &columns, style(width, true));
                for line in text.lines() {
                    assert!(lines::width(line) <= width, "{width}: {line}\n{text}");
                }
                for must in ["LGWR-THR", "597,837", "0.104"] {
                    assert!(text.contains(must), "{width} lacks {must}\n{text}");
                }
                assert!(!text.contains('\u{1b}'), "an escape came through");
            }
        }
        let narrow = rows(&full(), &Columns::Usual, style(80, true));
        assert!(
            narrow.contains("12.3") && narrow.contains("p99"),
            "{narrow}"
        );
        assert!(narrow.contains("Not shown at this width: "), "{narrow}");
        for all in [style(200, true), style(200, false)] {
            let text = rows(&full(), &Columns::Usual, all);
            assert!(!text.contains("Not shown at this width"), "{text}");
            for heading in ["p50", "p99.9", "LFPW", "/write", "CPU"] {
                assert!(text.contains(heading), "{heading}: {text}");
            }
        }
    }

    #[test]
    fn named_columns_are_all_there_at_any_width() {
        let keys = "workload,jobs,log_file_sync_p50_ms,log_file_sync_p90_ms,log_file_sync_p99_ms,\
                    log_file_sync_p999_ms,log_file_sync_max_ms,redo_size_bytes,flushes,elapsed_s";
        let columns = Columns::read(keys).expect("keys");
        let text = rows(&full(), &columns, style(80, true));
        for heading in ["p90", "max", "Flushes", "Elapsed", "5,596,312,920"] {
            assert!(text.contains(heading), "{heading}: {text}");
        }
        assert!(!text.contains("Not shown at this width"), "{text}");
    }

    #[test]
    fn titles_are_over_their_columns() {
        let text = rows(&full(), &Columns::Usual, style(200, true));
        let lines: Vec<Vec<char>> = text.lines().map(|l| l.chars().collect()).collect();
        let find = |line: &[char], word: &str| {
            let word: Vec<char> = word.chars().collect();
            line.windows(word.len()).position(|w| w == word.as_slice())
        };
        let title = find(&lines[0], "log file sync").expect("a title");
        let mean = find(&lines[2], "mean").expect("a heading");
        let max = find(&lines[2], "max").expect("a heading");
        assert!(mean < title && title < max, "{text}");
    }
}
