//! The line of InnoDB's log in `performance_schema.file_summary_by_event_name`: how often its files
//! were synchronised (`MISC`, which also holds the opening and closing of files), and how long that
//! took, in picoseconds.

/// The event of the log's files.
const EVENT: &str = "wait/io/file/innodb/innodb_log_file";
/// Our names, and the columns.
const FIGURES: [(&str, &str); 2] = [
    ("innodb_log_file count_misc", "count_misc"),
    ("innodb_log_file sum_timer_misc", "sum_timer_misc"),
];

/// Names of the counters that it gives.
pub const NAMES: [&str; 2] = [FIGURES[0].0, FIGURES[1].0];

/// The listing that is being read.
#[derive(Debug, Default)]
pub struct LogFileSummary {
    /// Its headings, in small letters.
    columns: Vec<String>,
}

impl LogFileSummary {
    /// Takes a line: the counters, with their values, if it is that of the log.
    pub fn line<'a>(&mut self, line: &'a str) -> Vec<(&'static str, &'a str)> {
        let separator = if line.starts_with('|') { '|' } else { '\t' };
        if !line.contains(separator) {
            return Vec::new();
        }
        let cells: Vec<&str> = line
            .trim_matches('|')
            .split(separator)
            .map(str::trim)
            .collect();
        if cells
            .iter()
            .any(|cell| cell.eq_ignore_ascii_case("event_name"))
        {
            self.columns = cells.iter().map(|cell| cell.to_ascii_lowercase()).collect();
            return Vec::new();
        }
        if cells.len() != self.columns.len() || !cells.contains(&EVENT) {
            return Vec::new();
        }
        let value = |(name, column): (&'static str, &str)| {
            let at = self.columns.iter().position(|of| of == column)?;
            let value = *cells.get(at)?;
            value.parse::<u64>().ok().map(|_| (name, value))
        };
        FIGURES.into_iter().filter_map(value).collect()
    }
}
