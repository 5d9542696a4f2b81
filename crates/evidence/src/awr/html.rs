//! HTML into tables of text: as much of it as reports of AWR and Statspack need. Tags are markers
//! and never kept; entities become characters; nothing is trusted to be closed.

use super::Grid;
use super::ROWS_MAX;
use super::cell::GridCell;
use super::html_table::{COLUMNS_MAX, HtmlCell, HtmlRow, lay_out};
use super::lists_statements;
use measure::origin::TextSpan;
use memchr::{memchr, memchr_iter, memchr2, memrchr};

/// Bytes of a cell, a title or a tag that are kept.
const TEXT_MAX: usize = 2000;
/// Letters of the longest tag that is known, with its slash.
const NAME_MAX: usize = 8;
/// Reads HTML as it comes, however it is cut.
#[derive(Debug, Default)]
pub struct Html {
    line: u64,
    /// Characters so far, and where the line began. A line end is one character.
    chars: u64,
    line_began: u64,
    tag: Vec<u8>,
    in_tag: bool,
    text: PlacedText,
    /// Text outside of tables: the last heading.
    title: String,
    table: Option<Grid>,
    /// Its rows so far.
    rows: Vec<HtmlRow>,
    row: Vec<HtmlCell>,
    /// The cell that is being read: whether it is a heading, and its columns and rows.
    in_cell: Option<(bool, (usize, usize))>,
    skipping: bool,
}

impl Html {
    /// Takes the next text; hands each table's rows so far to `each` when it ends.
    pub fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(Grid)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = match self.in_tag {
                true => memchr2(b'<', b'>', rest),
                false => memchr(b'<', rest),
            };
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            if self.in_tag {
                let room = TEXT_MAX.saturating_sub(self.tag.len());
                self.tag.extend_from_slice(&part[..part.len().min(room)]);
                self.pass(part);
            } else {
                self.text_part(part);
            }
            let Some((mark, behind)) = behind.split_first() else {
                return;
            };
            self.pass(&[*mark]);
            rest = behind;
            if *mark == b'>' {
                let tag = std::mem::take(&mut self.tag);
                self.in_tag = false;
                self.take_tag(&String::from_utf8_lossy(&tag), each);
                self.tag = tag;
            } else {
                // A `<` inside a tag: the tag before was text, or cut.
                self.in_tag = true;
            }
            self.tag.clear();
        }
    }

    /// Counts characters and lines. Bytes inside of a character and carriage returns are none.
    fn pass(&mut self, bytes: &[u8]) {
        let chars = |bytes: &[u8]| {
            let each = bytes.iter();
            each.filter(|b| **b & 0xc0 != 0x80 && **b != b'\r').count() as u64
        };
        if let Some(last) = memrchr(b'\n', bytes) {
            self.line += memchr_iter(b'\n', bytes).count() as u64;
            self.line_began = self.chars + chars(&bytes[..=last]);
        }
        self.chars += chars(bytes);
    }

    /// Takes text between tags.
    fn text_part(&mut self, part: &[u8]) {
        let room = TEXT_MAX.saturating_sub(self.text.bytes.len());
        let kept = &part[..part.len().min(room)];
        let is_solid = |b: &u8| !b.is_ascii_whitespace();
        let ends = kept
            .iter()
            .position(is_solid)
            .zip(kept.iter().rposition(is_solid));
        let Some((first, last)) = ends.filter(|_| !self.is_passed_over()) else {
            self.pass(part);
            if !self.is_passed_over() {
                self.text.bytes.extend_from_slice(kept);
            }
            return;
        };
        self.pass(&part[..first]);
        self.text.begin.get_or_insert(TextPosition {
            line: self.line + 1,
            column: self.chars - self.line_began + 1,
            chars: self.chars,
        });
        self.pass(&part[first..=last]);
        self.text.end = self.chars;
        self.pass(&part[last + 1..]);
        self.text.bytes.extend_from_slice(kept);
    }

    /// Whether this is in a table of SQL statements, which is most of a report, and of which
    /// nothing is read.
    fn is_passed_over(&self) -> bool {
        self.table.is_some() && lists_statements(self.title.as_bytes())
    }

    /// Ends the file inside whatever it was cut in. A row that is not closed is not given: it may
    /// have been cut in a number.
    pub fn end(&mut self, each: &mut impl FnMut(Grid)) -> u64 {
        self.give(each);
        self.line
    }

    fn take_tag(&mut self, tag: &str, each: &mut impl FnMut(Grid)) {
        let (slash, rest) = match tag.strip_prefix('/') {
            Some(rest) => ("/", rest),
            None => ("", tag),
        };
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
        let word = &rest[..end.unwrap_or(rest.len())];
        let mut letters = [0; NAME_MAX];
        let name = name_of(slash, word, &mut letters);
        if self.is_passed_over() && !matches!(name, "table" | "/table") {
            return;
        }
        let text = std::mem::take(&mut self.text);
        if self.skipping {
            self.skipping = !matches!(name, "/script" | "/style");
            return;
        }
        match name {
            "script" | "style" => self.skipping = true,
            "table" => {
                self.close_table(&text, each);
                let summary = attribute(tag, "summary").unwrap_or_default();
                self.table = Some(Grid {
                    title: format!("{} {summary}", self.title).trim().to_owned(),
                    line: self.line + 1,
                    ..Grid::default()
                });
            }
            "/table" => self.close_table(&text, each),
            "tr" | "/tr" => {
                self.end_cell(&text);
                self.end_row();
            }
            "td" | "th" => {
                self.end_cell(&text);
                let span = |name| {
                    let number = attribute(tag, name).and_then(|n| n.trim().parse().ok());
                    number.unwrap_or(1_usize).clamp(1, COLUMNS_MAX)
                };
                self.in_cell = Some((name == "th", (span("colspan"), span("rowspan"))));
            }
            "/td" | "/th" => self.end_cell(&text),
            "h1" | "h2" | "h3" | "p" | "/h1" | "/h2" | "/h3" => {
                let text = decode(&text.bytes);
                if self.table.is_none() && !text.is_empty() {
                    self.title = text;
                }
            }
            // Any other tag inside of text: a link, a line break.
            _ => {
                self.text = text;
                if name == "br" {
                    self.text.bytes.push(b' ');
                }
            }
        }
    }

    fn end_cell(&mut self, text: &PlacedText) {
        if let Some((is_head, spans)) = self.in_cell.take()
            && self.row.len() < COLUMNS_MAX
        {
            let cell = text.cell();
            self.row.push(HtmlCell {
                cell,
                is_head,
                spans,
            });
        }
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let has_room = self.table.is_some() && self.rows.len() < ROWS_MAX;
        if has_room && !row.is_empty() {
            self.rows.push((self.line + 1, row));
        }
    }

    fn close_table(&mut self, text: &PlacedText, each: &mut impl FnMut(Grid)) {
        self.end_cell(text);
        self.end_row();
        self.give(each);
    }

    fn give(&mut self, each: &mut impl FnMut(Grid)) {
        let rows = std::mem::take(&mut self.rows);
        if let Some(mut grid) = self.table.take() {
            lay_out(&mut grid, &rows);
            each(grid);
        }
    }
}

/// The name of a tag in small letters; empty if it is longer than all that are known.
fn name_of<'a>(slash: &str, word: &str, letters: &'a mut [u8; NAME_MAX]) -> &'a str {
    let length = slash.len() + word.len();
    let Some(name) = letters.get_mut(..length) else {
        return "";
    };
    name[..slash.len()].copy_from_slice(slash.as_bytes());
    name[slash.len()..].copy_from_slice(word.as_bytes());
    name.make_ascii_lowercase();
    std::str::from_utf8(name).unwrap_or_default()
}

/// Where a byte is.
#[derive(Clone, Copy, Debug, Default)]
struct TextPosition {
    line: u64,
    column: u64,
    /// Characters of the file before it.
    chars: u64,
}

/// Text, and where its first and last characters are that are not blank.
#[derive(Debug, Default)]
struct PlacedText {
    bytes: Vec<u8>,
    begin: Option<TextPosition>,
    /// Characters of the file up to its end.
    end: u64,
}

impl PlacedText {
    fn cell(&self) -> GridCell {
        let text = decode(&self.bytes);
        let span = self.begin.filter(|_| !text.is_empty()).and_then(|begin| {
            Some(TextSpan {
                line: u32::try_from(begin.line).ok()?,
                column: u32::try_from(begin.column).ok()?,
                length: u32::try_from(self.end - begin.chars).ok()?,
            })
        });
        GridCell {
            text,
            span,
            ..GridCell::default()
        }
    }
}

/// The value of an attribute, in quotes or without.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let small = tag.to_ascii_lowercase();
    let mut found = small.match_indices(name);
    let (at, _) = found.find(|(at, _)| {
        let behind = small[at + name.len()..].trim_start();
        small[..*at].ends_with(char::is_whitespace) && behind.starts_with('=')
    })?;
    let rest = tag[at + name.len()..]
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let end = rest.find(|c: char| c.is_whitespace() || c == '/');
        return Some(rest[..end.unwrap_or(rest.len())].to_owned());
    };
    let inner = &rest[1..];
    Some(inner[..inner.find(quote).unwrap_or(inner.len())].to_owned())
}

/// Characters for the entities that reports use; white space as single spaces.
fn decode(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_ref();
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(10).position(|b| b == b';');
        let known = end.and_then(|end| Some((entity(&rest[1..end])?, end)));
        match known {
            Some((c, end)) => {
                out.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn entity(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" | "#160" => ' ',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_and_without_ends() {
        let page = "<style>td {}</style><h3>Top <i>Events</i></h3><p>\n\
            <table summary='waits'><tr><th>Event</th><th>Waits<br/>all</th></tr>\n\
            <tr><td>a &lt;&amp;&#62;&nbsp;b</td><td> 1,2</td></tr><tr><td>c<td>3\n\
            <table><tr><td>x</td></tr><tr><td>cu";
        for step in [1, 3, 1000] {
            let (mut html, mut grids) = (Html::default(), Vec::new());
            for chunk in page.as_bytes().chunks(step) {
                html.feed(chunk, &mut |g| grids.push(g));
            }
            html.end(&mut |g| grids.push(g));
            assert_eq!(grids.len(), 2);
            assert_eq!(grids[0].title, "Top Events waits");
            assert_eq!(grids[0].headings, ["Event", "Waits all"]);
            let row =
                |at: usize| -> Vec<&str> { grids[0].rows[at].1.iter().map(|c| &**c).collect() };
            assert_eq!(row(0), ["a <&> b", "1,2"]);
            assert_eq!(row(1), ["c", "3"]);
            let span = grids[0].rows[0].1[1].span.map(<(u32, u32, u32)>::from);
            assert_eq!(span, Some((3, 42, 3)));
            assert_eq!(grids[1].rows.len(), 1, "the row that is cut is not given");
        }
    }
}
