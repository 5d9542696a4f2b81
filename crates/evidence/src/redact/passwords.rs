//! Passwords behind their keys: `password=x`, `"passwd": "x"`, `IDENTIFIED BY x`, `mysql -px`.

use super::{Mark, MarkKind};
use std::ops::Range;

/// Ends of the names of keys.
const KEYS: [&str; 5] = ["password", "passwd", "passphrase", "pass", "pwd"];
/// Clients with an option `-p`, whose value follows without a blank.
const CLIENTS: [&str; 4] = ["mysql", "mariadb", "mysqladmin", "mysqldump"];

/// Words before `identified` in notes of reports.
const PROSE: [&str; 4] = ["statistics", " is", " are", " be"];

/// The places of a line.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let small = text.to_ascii_lowercase();
    let mut found: Vec<Range<usize>> = Vec::new();
    for key in KEYS {
        let places = small.match_indices(key);
        found.extend(places.filter_map(|(at, _)| of_key(text, &small, at, key)));
    }
    let identified = small.match_indices("identified");
    found.extend(identified.filter_map(|(at, word)| of_account(text, &small, at + word.len())));
    found.extend(of_option(text));
    let mark = |at| Mark {
        at,
        kind: MarkKind::Password,
    };
    found.into_iter().map(mark).collect()
}

/// The value of a key that begins at `at`.
fn of_key(text: &str, small: &str, at: usize, key: &str) -> Option<Range<usize>> {
    let before = small.get(..at)?;
    let name = before.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c));
    let first = before.get(name.len()..)?;
    let is_short = matches!(key, "pass" | "pwd");
    if is_short && !(first.is_empty() || first.ends_with(['_', '-', 'r'])) {
        return None;
    }
    let rest = text.get(at + key.len()..)?;
    let is_bare = is_short && first.is_empty();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
    let after = quote.map_or(rest, |_| rest.get(1..).unwrap_or_default());
    if after.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let trimmed = after.trim_start();
    let is_sign = trimmed.starts_with('=')
        || trimmed.starts_with(':') && (!is_bare || quote.is_some())
        || trimmed.starts_with('|');
    let value = match is_sign {
        true => trimmed.get(1..)?.trim_start_matches('>').trim_start(),
        false => {
            // `PASSWORD 'x'`, `PASSWORD('x')`, `--password x`.
            let value = trimmed.strip_prefix('(').unwrap_or(trimmed).trim_start();
            let is_option = first.starts_with("--") && !value.starts_with('-');
            let is_quoted = value.starts_with('\'') || value.starts_with('"') && quote.is_none();
            (is_quoted || is_option && after.starts_with(' ')).then_some(value)?
        }
    };
    // `= PASSWORD('x')` is found at its second word.
    let small_value = value.to_ascii_lowercase();
    let is_function = small_value.starts_with("password(") || small_value.starts_with("password (");
    let at = value_of(text, value).filter(|_| !is_function)?;
    let shown = text.get(at.clone())?;
    let is_state = ["yes", "no", "on", "off", "true", "false", "null"]
        .contains(&shown.to_ascii_lowercase().as_str());
    let is_figure = is_bare && shown.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    (!is_state && !is_figure).then_some(at)
}

/// Where a value is that a part of the text begins with.
fn value_of(text: &str, value: &str) -> Option<Range<usize>> {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let inner = quote.map_or(value, |_| value.get(1..).unwrap_or_default());
    let length = match quote {
        Some(quote) => inner.find(quote),
        None => inner.find(|c: char| c.is_whitespace() || ",;&)|\"'<".contains(c)),
    };
    let start = text.len() - inner.len();
    let length = length.unwrap_or(inner.len());
    (length > 0).then_some(start..start + length)
}

/// `IDENTIFIED BY x`, `IDENTIFIED WITH plugin AS 'x'`, `IDENTIFIED VIA plugin USING 'x'`.
fn of_account(text: &str, small: &str, end: usize) -> Option<Range<usize>> {
    let rest = small.get(end..)?;
    let before = small.get(..end)?.trim_end_matches("identified").trim_end();
    let is_prose = PROSE.iter().any(|word| before.ends_with(word));
    if is_prose {
        return None;
    }
    let (at, word) = [" by ", " as ", " using "]
        .into_iter()
        .filter_map(|word| rest.find(word).map(|at| (at, word)))
        .min()?;
    let start = end + at + word.len();
    let mut value = text.get(start..)?.trim_start();
    for kind in ["values ", "password "] {
        let is_kind = value
            .get(..kind.len())
            .is_some_and(|v| v.eq_ignore_ascii_case(kind));
        if is_kind {
            value = value.get(kind.len()..)?.trim_start();
        }
    }
    let is_needed = word == " by " || value.starts_with(['\'', '"']);
    value_of(text, value).filter(|_| is_needed)
}

/// `mysql -u root -px`.
fn of_option(text: &str) -> Option<Range<usize>> {
    let at = text.find(" -p").map(|at| at + " -p".len())?;
    let client = text.get(..at)?.split_whitespace().any(|word| {
        let word = word.rsplit('/').next().unwrap_or_default();
        CLIENTS.contains(&word)
    });
    let value = text
        .get(at..)
        .filter(|value| !value.starts_with([' ', '-']))?;
    value_of(text, value).filter(|_| client)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_and_nothing_else() {
        for (text, found) in [
            ("password=gE8 user=ann", vec!["gE8"]),
            ("\"password\" : \"a b\", \"x\" : 1", vec!["a b"]),
            ("--mysql-password=gE8 --time=5", vec!["gE8"]),
            ("PGPASSWORD='a b' psql", vec!["a b"]),
            ("alter user x identified by Tiger7;", vec!["Tiger7"]),
            ("create user x identified by \"a b\" account", vec!["a b"]),
            ("IDENTIFIED BY VALUES 'S:17'", vec!["S:17"]),
            ("IDENTIFIED WITH y AS '*17'", vec!["*17"]),
            ("ALTER USER x ENCRYPTED PASSWORD 'gE8'", vec!["gE8"]),
            ("SET PASSWORD = PASSWORD('gE8')", vec!["gE8"]),
            ("mysql -u root -pgE8 shop", vec!["gE8"]),
            ("| report_password | gE8 |", vec!["gE8"]),
            ("Access denied for 'x'@'y' (using password: YES)", vec![]),
            ("default_password_lifetime | 0", vec![]),
            ("Statistics identified by 'x' come from", vec![]),
            ("pass = 17, bypass=3, passes: 4", vec![]),
            ("password authentication failed for user", vec![]),
        ] {
            let marks = marks(text);
            let parts: Vec<&str> = marks.iter().map(|mark| &text[mark.at.clone()]).collect();
            assert_eq!(parts, found, "{text}");
        }
    }
}
