//! Settings of HammerDB: `Changed tpcc:mysql_user from root to ann for MySQL`, and its dictionary.

use super::{Mark, MarkKind, NameKind};
use std::ops::Range;

/// What settings begin with, in HammerDB's dictionary.
const BEGINS: &[&str] = &[
    "mysql_", "maria_", "pg_", "mssqls_", "db2_", "system_", "tpcc_", "tpch_",
];

/// What settings contain, by the end of their names.
const ENDS: &[(&str, MarkKind)] = &[
    ("pass", MarkKind::Password),
    ("password", MarkKind::Password),
    ("_host", MarkKind::Name(NameKind::Host)),
    ("_server", MarkKind::Name(NameKind::Host)),
    ("_user", MarkKind::Name(NameKind::User)),
    ("superuser", MarkKind::Name(NameKind::User)),
    ("_uid", MarkKind::Name(NameKind::User)),
    ("dbase", MarkKind::Name(NameKind::Database)),
    (":instance", MarkKind::Name(NameKind::Service)),
];

/// The places of a line.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let line = text.trim();
    let found = changed(line)
        .or_else(|| same(line))
        .or_else(|| listed(line));
    let Some((key, values)) = found else {
        return Vec::new();
    };
    let key = key.to_ascii_lowercase();
    let Some((_, kind)) = ENDS.iter().find(|(end, _)| key.ends_with(end)) else {
        return Vec::new();
    };
    // The part of the line, as a place of the text.
    let place = |value: &str| -> Range<usize> {
        let start = value.as_ptr() as usize - text.as_ptr() as usize;
        start..start + value.len()
    };
    let marks = values.into_iter().filter(|value| !value.is_empty());
    marks
        .map(|value| Mark {
            at: place(value),
            kind: *kind,
        })
        .collect()
}

/// `Changed connection:mysql_host from A to B for MySQL`.
fn changed(line: &str) -> Option<(&str, Vec<&str>)> {
    let (key, values) = line.strip_prefix("Changed ")?.split_once(" from ")?;
    let values = values
        .rsplit_once(" for ")
        .map_or(values, |(values, _)| values);
    let (from, to) = values.split_once(" to ")?;
    (key.contains(':') && !key.contains(' ')).then(|| (key, vec![from.trim(), to.trim()]))
}

/// `Value A for tpcc:mysql_user is the same as existing value A, no change made`.
fn same(line: &str) -> Option<(&str, Vec<&str>)> {
    let (value, rest) = line.strip_prefix("Value ")?.split_once(" for ")?;
    let (key, old) = rest.split_once(" is the same as existing value ")?;
    let old = old.rsplit_once(", ").map_or(old, |(old, _)| old);
    key.contains(':')
        .then(|| (key, vec![value.trim(), old.trim()]))
}

/// `mysql_user = ann` of `print dict`, `diset tpcc mysql_user ann` of a script.
fn listed(line: &str) -> Option<(&str, Vec<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (key, value) = match words.as_slice() {
        [key, "=", value] => (*key, *value),
        ["diset", _, key, value] => (*key, *value),
        _ => return None,
    };
    let is_known = BEGINS.iter().any(|begin| key.starts_with(begin));
    is_known.then(|| (key, vec![value.trim_matches(['"', '\'', '{', '}'])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_settings_are_found() {
        for (text, found) in [
            (
                "Changed connection:mysql_host from 127.0.0.1 to 10.9.8.7 for MySQL",
                vec!["127.0.0.1", "10.9.8.7"],
            ),
            (
                "Changed tpcc:mysql_pass from mysql to gE8heim-1 for MySQL",
                vec!["mysql", "gE8heim-1"],
            ),
            (
                "Changed tpcc:pg_superuserpass from postgres to x for PostgreSQL",
                vec!["postgres", "x"],
            ),
            (
                "Value s3cret for tpcc:pg_pass is the same as existing value s3cret, no change made",
                vec!["s3cret", "s3cret"],
            ),
            ("  mysql_user = ann", vec!["ann"]),
            ("diset tpcc pg_defaultdbase shop", vec!["shop"]),
            (
                "Changed tpcc:mysql_count_ware from 1 to 20 for MySQL",
                vec![],
            ),
            ("innodb_pass = 17", vec![]),
        ] {
            let marks = marks(text);
            let parts: Vec<&str> = marks.iter().map(|mark| &text[mark.at.clone()]).collect();
            assert_eq!(parts, found, "{text}");
        }
    }
}
