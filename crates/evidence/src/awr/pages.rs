//! Pages of SQL*Plus inside a report. `select * from table(dbms_workload_repository…)` prints the
//! column's heading, `OUTPUT`, again on each page, under an empty line and above a rule. None of
//! the three is the report's: left in, they cut its tables.

/// The column of the functions that return a report.
const HEADING: &str = "OUTPUT";

/// Takes pages out of a report.
#[derive(Debug, Default)]
pub struct ReportPages {
    /// Empty lines that may belong to the end of a page, and the number of the last.
    blanks: u64,
    behind_heading: bool,
}

impl ReportPages {
    /// Takes a line; hands on those of the report, each with its number. Of several empty lines one
    /// is handed on.
    pub fn line<'a>(&mut self, line: &'a str, number: u64) -> [Option<(&'a str, u64)>; 2] {
        let trimmed = line.trim();
        let is_rule = trimmed.len() > 2 && trimmed.bytes().all(|b| b == b'-');
        if std::mem::take(&mut self.behind_heading) && is_rule {
            return [None, None];
        }
        if trimmed.is_empty() && !line.contains('\u{c}') {
            self.blanks += 1;
            return [None, None];
        }
        let mut blanks = std::mem::take(&mut self.blanks);
        self.behind_heading = trimmed == HEADING;
        if self.behind_heading {
            blanks = blanks.saturating_sub(1);
        }
        let blank = (blanks > 0).then(|| ("", number.saturating_sub(1)));
        [blank, (!self.behind_heading).then_some((line, number))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_pages_are_no_part_of_the_report() {
        let lines = [
            "OUTPUT", "-----", "a", "", "OUTPUT", "-----", "b", "", "", "OUTPUT", "c", "", "d",
            "---",
        ];
        let mut pages = ReportPages::default();
        let mut out = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            out.extend(pages.line(line, i as u64 + 1).into_iter().flatten());
        }
        let want = [
            ("a", 3),
            ("b", 7),
            ("", 9),
            ("c", 11),
            ("", 12),
            ("d", 13),
            ("---", 14),
        ];
        assert_eq!(out, want);
    }
}
