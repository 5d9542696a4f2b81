//! Windows that a text states in words, `a 3 Hour Workload`, `a test for 10 minutes`: kept with
//! their line, to be compared with what volumes and rates imply.

use crate::sheets::{Sheets, text};
use measure::imported::Cell;
use measure::printed;

/// Statements of a file that are kept.
const KEPT: usize = 50;

/// The windows that a file states.
#[derive(Debug, Default)]
pub struct StatedWindows {
    found: Vec<(u64, f64, String)>,
    loads: Vec<(u64, f64)>,
}

impl StatedWindows {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64) {
        let small = line.to_lowercase();
        self.load_average(&small, number);
        let context = [
            "workload", "test", "period", "running", "ran ", "interval", "window",
        ];
        if self.found.len() >= KEPT || !context.iter().any(|c| small.contains(c)) {
            return;
        }
        let words: Vec<&str> = small.split_whitespace().collect();
        for pair in words.windows(2) {
            let [n, unit] = pair else { continue };
            let unit = unit.trim_matches(|c: char| !c.is_alphabetic());
            let seconds = match unit {
                "hour" | "hours" | "hr" | "hrs" => 3600.0,
                "minute" | "minutes" | "min" | "mins" => 60.0,
                _ => continue,
            };
            if let Some(n) = printed::plain(n).filter(|n| *n > 0.0) {
                self.found.push((number, n * seconds, pair.join(" ")));
            }
        }
    }

    /// `a load average around 75%`.
    fn load_average(&mut self, small: &str, number: u64) {
        let Some(at) = small
            .find("load average")
            .filter(|_| self.loads.len() < KEPT)
        else {
            return;
        };
        let word = small[at..].split_whitespace().find(|w| w.contains('%'));
        let shown = word.map(|w| w.trim_end_matches(|c: char| !c.is_ascii_digit()));
        if let Some(pct) = shown.and_then(printed::plain) {
            self.loads.push((number, pct));
        }
    }

    /// Gives them, where the file holds evidence to hold them against.
    pub fn end(self, sheets: &mut Sheets) {
        if sheets.found == 0 {
            return;
        }
        for (line, seconds, words) in self.found {
            let columns = [("seconds", "Seconds"), ("words", "As printed")];
            let table = sheets.open(
                "stated_window",
                "A window that the text states",
                line,
                &columns,
            );
            sheets.row(table, line, vec![Cell::Real(seconds), text(&words)]);
            sheets.found -= 1;
        }
        for (line, pct) in self.loads {
            let title = "A load average stated in percent";
            let table = sheets.open("stated_load_average", title, line, &[("pct", "Stated %")]);
            sheets.row(table, line, vec![Cell::Real(pct)]);
            sheets.found -= 1;
        }
    }
}
