//! The other direction: every numeric token of a file is in a cell, or in a region of which the
//! import reports that it was passed over.

use crate::checker::Span;
use crate::source::SourceText;
use serde_json::Value;

/// Kinds whose figures are of whole lines.
const BY_LINES: [&str; 5] = [
    "oracle-trace",
    "count-elapsed",
    "hlog",
    "fio-log",
    "pgbench-log",
];

/// What became of the numeric tokens of a file.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Tokens in cells.
    pub read: u64,
    /// Tokens in regions that were passed over.
    pub passed: u64,
    /// Tokens of lines that were read whose cells do not have them: line and token.
    pub uncovered: Vec<(u64, String)>,
}

/// Why the regions of a source are wrong: they have gaps, overlap, or do not reach the end.
pub fn gaps(source: &Value, lines: u64) -> Option<String> {
    let regions = source["regions"].as_array()?;
    let mut next = 1;
    for region in regions {
        let ends = (region["first"].as_u64()?, region["last"].as_u64()?);
        if ends.0 != next || ends.1 < ends.0 {
            return Some(format!(
                "a region from {} to {} behind {next}",
                ends.0, ends.1
            ));
        }
        next = ends.1 + 1;
        let said = ["read_as", "passed_over"].map(|k| region[k].is_string());
        if said[0] == said[1] {
            return Some(format!(
                "the region from {} is neither read nor passed over",
                ends.0
            ));
        }
    }
    (next != lines + 1).then(|| format!("regions end at {}, the file at {lines}", next - 1))
}

/// Counts the tokens of a file. Files whose figures are of whole lines are not counted.
pub fn of(source: &Value, text: &SourceText, read: &[Span]) -> Coverage {
    let mut coverage = Coverage::default();
    let kind = source["kind"].as_str().unwrap_or_default();
    for region in source["regions"].as_array().into_iter().flatten() {
        let number = |key: &str| region[key].as_u64().unwrap_or(0);
        let is_by_lines = BY_LINES.contains(&kind) && region["read_as"] == *kind;
        let is_whole = is_by_lines || region["read_as"] == "facts";
        for line in number("first")..=number("last") {
            let Some(chars) = text.lines.get(line as usize - 1) else {
                continue;
            };
            let bare = (kind == "awr-html").then(|| without_tags(chars));
            for (column, token) in tokens(bare.as_ref().unwrap_or(chars)) {
                let is_read = read.iter().any(|span| covers(*span, line, column));
                if is_read {
                    coverage.read += 1;
                } else if region["passed_over"].is_string() || is_whole {
                    coverage.passed += 1;
                } else {
                    coverage.uncovered.push((line, token));
                }
            }
        }
    }
    coverage
}

/// Blanks for the tags of a line, so that attributes are no figures and columns stay as they are.
fn without_tags(chars: &[char]) -> Vec<char> {
    let mut in_tag = false;
    let each = chars.iter().map(|c| {
        in_tag |= *c == '<';
        let shown = if in_tag { ' ' } else { *c };
        in_tag &= *c != '>';
        shown
    });
    each.collect()
}

fn covers((line, column, length): Span, at: u64, token: u64) -> bool {
    // Over the end of a line a span goes on in the next; such cells are rare, and count as read.
    line == at && (column..column + length).contains(&token)
}

/// Numeric tokens of a line, with the column of their first digit: digits that no letter precedes.
fn tokens(chars: &[char]) -> Vec<(u64, String)> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let before = at.checked_sub(1).map(|b| chars[b]);
        let is_name = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '#' | '$'));
        if !chars[at].is_ascii_digit() || is_name {
            at += 1;
            continue;
        }
        let is_part = |c: &&char| c.is_ascii_digit() || matches!(c, '.' | ',');
        let length = chars[at..].iter().take_while(is_part).count();
        let token: String = chars[at..at + length].iter().collect();
        out.push((at as u64 + 1, token.trim_end_matches([',', '.']).to_owned()));
        at += length.max(1);
        while chars.get(at).is_some_and(|c| c.is_alphanumeric()) {
            at += 1;
        }
    }
    out
}

#[test]
fn tokens_are_numbers_and_not_parts_of_names() {
    let line: Vec<char> = "LG00 1,234.5 0.56% sda1 (12) redo#3 4.7T,"
        .chars()
        .collect();
    let found: Vec<String> = tokens(&line).into_iter().map(|(_, t)| t).collect();
    assert_eq!(found, ["1,234.5", "0.56", "12", "4.7"]);
}
