//! Names in columns of tables: under a rule of hyphens as SQL*Plus and psql draw it, between bars,
//! separated by commas, and in cells of HTML.

use super::{Mark, MarkKind, NameKind};
use std::ops::Range;

/// Columns of a table that are looked at.
const COLUMNS_MAX: usize = 128;

/// What a column contains, by its heading in small letters without blanks and underscores.
const HEADINGS: &[(&str, MarkKind)] = &[
    ("hostname", MarkKind::Name(NameKind::Host)),
    ("host", MarkKind::Name(NameKind::Host)),
    ("machine", MarkKind::Name(NameKind::Host)),
    ("clienthostname", MarkKind::Name(NameKind::Host)),
    ("nodename", MarkKind::Name(NameKind::Host)),
    ("instance", MarkKind::Name(NameKind::Instance)),
    ("instancename", MarkKind::Name(NameKind::Instance)),
    ("instname", MarkKind::Name(NameKind::Instance)),
    ("dbname", MarkKind::Name(NameKind::Database)),
    ("database", MarkKind::Name(NameKind::Database)),
    ("databasename", MarkKind::Name(NameKind::Database)),
    ("dbuniquename", MarkKind::Name(NameKind::Database)),
    ("uniquename", MarkKind::Name(NameKind::Database)),
    ("datname", MarkKind::Name(NameKind::Database)),
    ("pdbname", MarkKind::Name(NameKind::Database)),
    ("containerdbname", MarkKind::Name(NameKind::Database)),
    ("containername", MarkKind::Name(NameKind::Database)),
    ("username", MarkKind::Name(NameKind::User)),
    ("user", MarkKind::Name(NameKind::User)),
    ("usename", MarkKind::Name(NameKind::User)),
    ("osuser", MarkKind::Name(NameKind::User)),
    ("owner", MarkKind::Name(NameKind::User)),
    ("parsingschema", MarkKind::Name(NameKind::User)),
    ("service", MarkKind::Name(NameKind::Service)),
    ("servicename", MarkKind::Name(NameKind::Service)),
    ("module", MarkKind::Name(NameKind::Module)),
    ("sqlmodule", MarkKind::Name(NameKind::Module)),
    ("applicationname", MarkKind::Name(NameKind::Module)),
    ("clustername", MarkKind::Name(NameKind::Database)),
    ("filename", MarkKind::Name(NameKind::Path)),
    ("member", MarkKind::Name(NameKind::Path)),
    ("tracefile", MarkKind::Name(NameKind::Path)),
    ("clientaddr", MarkKind::Name(NameKind::Address)),
    ("release", MarkKind::Kept),
    ("version", MarkKind::Kept),
    ("sqltext", MarkKind::Statement),
    ("query", MarkKind::Statement),
    ("info", MarkKind::Statement),
];

/// Variables of MariaDB and settings of PostgreSQL whose value is a name.
const VARIABLES: &[(&str, NameKind)] = &[
    ("hostname", NameKind::Host),
    ("reporthost", NameKind::Host),
    ("bindaddress", NameKind::Host),
    ("reportuser", NameKind::User),
    ("wsrepclustername", NameKind::Database),
    ("wsrepnodename", NameKind::Host),
    ("clustername", NameKind::Database),
    ("synchronousstandbynames", NameKind::Host),
    ("primaryslotname", NameKind::Host),
    ("generallogfile", NameKind::Path),
    ("slowquerylogfile", NameKind::Path),
    ("logslowqueryfile", NameKind::Path),
    ("logbinbasename", NameKind::Path),
];

fn plain(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

pub(super) fn of_heading(heading: &str) -> Option<MarkKind> {
    let name = plain(heading);
    let found = HEADINGS.iter().find(|(known, _)| *known == name);
    found.map(|(_, kind)| *kind)
}

/// The table that is being read.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// A line that is a heading if a rule follows.
    above: String,
    /// Places of columns by the rule of hyphens.
    spans: Vec<(Range<usize>, Option<MarkKind>)>,
    /// Kinds of columns between separators.
    separated: Option<(char, Vec<Option<MarkKind>>)>,
    /// Kinds of columns of HTML.
    cells: Vec<Option<MarkKind>>,
    /// Cells of the row of HTML that has begun.
    cell: usize,
    was_heading: bool,
}

impl Columns {
    /// The places of a line.
    pub(super) fn marks(&mut self, text: &str) -> Vec<Mark> {
        if text.contains("<t") || text.contains("<T") {
            return self.html(text);
        }
        if let Some(spans) = rule(text) {
            self.begin(&spans);
            return Vec::new();
        }
        let marks = match &self.separated {
            Some((separator, kinds)) if text.contains(*separator) => {
                let mut marks = between(text, *separator, kinds);
                marks.extend(variable(text, *separator));
                marks
            }
            _ if text.trim().is_empty() => Vec::new(),
            _ => {
                let mut marks = spanned(text, &self.spans);
                marks.extend(self.of_separated_heading(text));
                marks.extend(variable(text, '|'));
                marks
            }
        };
        if text.trim().is_empty() {
            self.spans.clear();
            self.separated = None;
        }
        text.clone_into(&mut self.above);
        marks
    }

    /// A rule: the line above it names the columns.
    fn begin(&mut self, spans: &[Range<usize>]) {
        self.separated = None;
        if self.above.contains('|') {
            let names = self.above.split('|').map(of_heading);
            self.separated = Some(('|', names.take(COLUMNS_MAX).collect()));
            self.spans.clear();
            return;
        }
        let heading = std::mem::take(&mut self.above);
        let last = spans.len().saturating_sub(1);
        let of = |(index, span): (usize, &Range<usize>)| {
            let end = if index == last {
                heading.len()
            } else {
                span.end
            };
            let name = cut(&heading, span.start, end);
            (span.clone(), of_heading(name))
        };
        self.spans = spans.iter().take(COLUMNS_MAX).enumerate().map(of).collect();
    }

    /// Values separated by commas or semicolons have no rule: a heading has two known names, or one
    /// and as many words as it has separators.
    fn of_separated_heading(&mut self, text: &str) -> Option<Mark> {
        for separator in [',', ';', '|', '\t'] {
            let names: Vec<&str> = text.split(separator).collect();
            let bare = |name: &&str| {
                let name = name.trim().trim_matches('"');
                !name.is_empty()
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || " _".contains(c))
            };
            let kinds: Vec<Option<MarkKind>> = names.iter().map(|name| of_heading(name)).collect();
            // Two cells between bars are a name and its value.
            let least = if separator == '|' { 3 } else { 2 };
            let is_heading = names.len() >= least
                && names
                    .iter()
                    .filter(|name| !name.trim().is_empty())
                    .all(bare)
                && kinds.iter().any(Option::is_some);
            if is_heading {
                self.separated = Some((separator, kinds));
                return None;
            }
        }
        None
    }

    /// Cells of HTML: `<th>` name the columns, `<td>` are in them.
    fn html(&mut self, text: &str) -> Vec<Mark> {
        let mut marks = Vec::new();
        let small = text.to_ascii_lowercase();
        let mut at = 0;
        while let Some(open) = small.get(at..).and_then(|rest| rest.find("<t")) {
            let start = at + open;
            let tag = small.get(start..start + 3).unwrap_or_default();
            let Some(inner) = small.get(start..).and_then(|rest| rest.find('>')) else {
                break;
            };
            let inner = start + inner + 1;
            let end = small.get(inner..).and_then(|rest| rest.find("</t"));
            let end = end.map_or(text.len(), |end| inner + end);
            match tag {
                "<tr" => {
                    self.cell = 0;
                    at = inner;
                    continue;
                }
                "<ta" => self.cells.clear(),
                "<th" => {
                    if !self.was_heading {
                        self.cells.clear();
                    }
                    let name = bare_text(text.get(inner..end).unwrap_or_default());
                    if self.cells.len() < COLUMNS_MAX {
                        self.cells.push(of_heading(&name));
                    }
                }
                "<td" => {
                    if let Some(Some(kind)) = self.cells.get(self.cell) {
                        marks.extend(inside(text, inner..end).map(|at| Mark { at, kind: *kind }));
                    }
                    self.cell += 1;
                }
                _ => {}
            }
            self.was_heading = tag == "<th" || (self.was_heading && tag != "<td" && tag != "<ta");
            at = if matches!(tag, "<th" | "<td") {
                end
            } else {
                inner
            };
        }
        marks
    }
}

/// The text of a cell, without the tags and entities around it.
fn inside(text: &str, cell: Range<usize>) -> Option<Range<usize>> {
    let inner = text.get(cell.clone())?;
    let mut start = 0;
    while inner.get(start..)?.trim_start().starts_with('<') {
        start += inner.get(start..)?.find('>')? + 1;
    }
    let rest = inner.get(start..)?;
    let length = rest.find('<').unwrap_or(rest.len());
    let value = rest.get(..length)?;
    let blanks = value.len() - value.trim_start().len();
    let is_empty = value.trim().is_empty() || value.trim() == "&#160;" || value.trim() == "&nbsp;";
    let at = cell.start + start + blanks;
    (!is_empty).then(|| at..at + value.trim().len())
}

fn bare_text(html: &str) -> String {
    let mut out = String::new();
    let mut is_tag = false;
    for c in html.chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            c if !is_tag => out.push(c),
            _ => {}
        }
    }
    out
}

/// The runs of hyphens of a rule with two columns or more, or one long one.
fn rule(text: &str) -> Option<Vec<Range<usize>>> {
    let is_rule = text.contains("---") && text.bytes().all(|b| b"-+ \t".contains(&b));
    if !is_rule {
        return None;
    }
    let mut spans = Vec::new();
    let mut at = 0;
    for run in text.split(|c| c != '-') {
        if !run.is_empty() {
            spans.push(at..at + run.len());
        }
        at += run.len() + 1;
    }
    Some(spans)
}

/// The characters of a line from one column to another; lines of names are mostly ASCII.
fn cut(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end.min(text.len())).unwrap_or_default()
}

/// Values under a rule of hyphens. The last column takes the rest of its line.
fn spanned(text: &str, spans: &[(Range<usize>, Option<MarkKind>)]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (index, (span, kind)) in spans.iter().enumerate() {
        let Some(kind) = kind else { continue };
        let next = spans
            .get(index + 1)
            .map_or(text.len(), |(next, _)| next.start);
        let value = cut(text, span.start, next);
        let blanks = value.len() - value.trim_start().len();
        let start = span.start + blanks;
        let at = start..start + value.trim().len();
        if !value.trim().is_empty() {
            marks.push(Mark { at, kind: *kind });
        }
    }
    marks
}

/// Values between separators.
fn between(text: &str, separator: char, kinds: &[Option<MarkKind>]) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut from = 0;
    for (cell, kind) in text.split(separator).zip(kinds) {
        let value = cell.trim().trim_matches('"');
        if let (Some(kind), false) = (kind, value.is_empty()) {
            let at = from + cell.find(value).unwrap_or(0);
            marks.push(Mark {
                at: at..at + value.len(),
                kind: *kind,
            });
        }
        from += cell.len() + separator.len_utf8();
    }
    marks
}

/// A row of two cells, a variable or the name of a column (psql's `\x`) and its value.
fn variable(text: &str, separator: char) -> Option<Mark> {
    let cells: Vec<&str> = text.trim_matches(separator).split(separator).collect();
    let (name, value) = (cells.first()?, cells.get(1)?.trim());
    let name = plain(name);
    let known = VARIABLES.iter().find(|(known, _)| *known == name);
    let kind = match known {
        Some((_, kind)) => MarkKind::Name(*kind),
        None if cells.len() == 2 => of_heading(&name)?,
        None => return None,
    };
    let is_heading = plain(value) == "value" || value.is_empty();
    let first = text.find(separator)?;
    let from = if text.starts_with(separator) {
        1 + text.get(1..)?.find(separator)?
    } else {
        first
    };
    let at = from + text.get(from..)?.find(value)?;
    (!is_heading && of_heading(value).is_none()).then(|| Mark {
        at: at..at + value.len(),
        kind,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(lines: &[&str]) -> Vec<String> {
        let mut columns = Columns::default();
        let mut found = Vec::new();
        for line in lines {
            let marks = columns.marks(line);
            found.extend(marks.into_iter().map(|mark| line[mark.at].to_owned()));
        }
        found
    }

    #[test]
    fn names_are_found_in_columns_of_every_kind_of_table() {
        let of_rule = [
            "DB Name         DB Id    Instance     Inst Num",
            "------------ ----------- ------------ --------",
            "SALES         1234567890 sales1              1",
            "",
            "SALES         1234567890 sales1              1",
        ];
        assert_eq!(parts(&of_rule), ["SALES", "sales1"]);
        let of_bars = [
            " datid | datname | numbackends ",
            "-------+---------+-------------",
            "     5 | shop    |           1 ",
        ];
        assert_eq!(parts(&of_bars), ["shop"]);
        let boxed = [
            "+---------------+-------+",
            "| Variable_name | Value |",
            "+---------------+-------+",
            "| hostname      | web1  |",
            "| Threads       | 17    |",
        ];
        assert_eq!(parts(&boxed), ["web1"]);
        let commas = ["HOST,EVENT,WAITS", "web1,log file sync,17"];
        assert_eq!(parts(&commas), ["web1"]);
        let html = [
            "<table><tr><th class='a'>DB Name</th><th>DB Id</th><th>Instance</th></tr>",
            "<tr><td scope='row'>SALES</td><td>99</td><td><b>sales1</b></td></tr></table>",
            "<table><tr><th>Event</th></tr><tr><td>log file sync</td></tr>",
        ];
        assert_eq!(parts(&html), ["SALES", "sales1"]);
        let expanded = ["-[ RECORD 1 ]---", "usename | ann", "wal_bytes | 17"];
        assert_eq!(parts(&expanded), ["ann"]);
    }
}
