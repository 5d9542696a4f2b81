//! Names that have a form of their own: IP addresses, paths, hosts behind `@`.

use super::{Mark, NameKind};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Words before numbers with four parts that are the versions of programs.
const OF_VERSIONS: [&str; 6] = [
    "release",
    "version",
    "compatible",
    "build",
    "patch",
    "optimizer_features_enable",
];

/// The places of a line.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let mut marks = addresses(text);
    marks.extend(paths(text));
    marks.extend(hosts(text));
    marks
}

/// Runs of characters for which `is_inside` holds, as where they begin and what they are.
fn runs(text: &str, is_inside: impl Fn(char) -> bool) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    for part in text.split(|c| !is_inside(c)) {
        if !part.is_empty() {
            found.push((at, part));
        }
        at += part.len();
        at += text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(0, char::len_utf8);
    }
    found
}

fn addresses(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let is_inside = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    for (at, run) in runs(text, is_inside) {
        let bare = run.trim_end_matches(['.', ':']);
        let colons = bare.matches(':').count();
        if (bare.contains("::") || colons == 7) && bare.parse::<Ipv6Addr>().is_ok() {
            marks.push(Mark::name(at..at + bare.len(), NameKind::Address));
        }
    }
    for (at, run) in runs(text, |c| c.is_ascii_digit() || c == '.') {
        let address = run.trim_end_matches('.');
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + run.len()..).unwrap_or_default();
        let is_apart =
            !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric);
        let is_address = is_apart && address.parse::<Ipv4Addr>().is_ok();
        if is_address && !is_of_version(before) && !is_of_time(before, after) {
            marks.push(Mark::name(at..at + address.len(), NameKind::Address));
        }
    }
    marks
}

/// Whether the word before says that a version follows.
fn is_of_version(before: &str) -> bool {
    let mut before = before.trim_end();
    while let Some(tag) = before.strip_suffix('>').and_then(|tag| tag.rfind('<')) {
        before = before.get(..tag).unwrap_or_default().trim_end();
    }
    let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    let word = before
        .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
        .next();
    let word = word.unwrap_or_default().to_ascii_lowercase();
    OF_VERSIONS.iter().any(|known| word.ends_with(known))
}

/// Whether it is a time such as `02-JAN-26 11.12.13.123 AM`.
fn is_of_time(before: &str, after: &str) -> bool {
    let next = after.split_whitespace().next().unwrap_or_default();
    let is_half = next.eq_ignore_ascii_case("am") || next.eq_ignore_ascii_case("pm");
    let date = before.split_whitespace().next_back().unwrap_or_default();
    let is_date = date.matches(['-', '/']).count() == 2
        && date.starts_with(|c: char| c.is_ascii_digit())
        && date.ends_with(|c: char| c.is_ascii_digit());
    is_half || is_date && before.ends_with(' ')
}

fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || "/\\._-$#@%+~:".contains(c)
}

fn paths(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (at, run) in runs(text, is_in_path) {
        // The text before it: a label, `=`, a quote.
        let mut skip = 0;
        if let Some(colon) = run.find(":/") {
            // `http://host/` is an address, not a path.
            if run
                .get(colon + 1..)
                .is_some_and(|rest| rest.starts_with("//"))
            {
                continue;
            }
            skip = colon + 1;
        }
        let Some(path) = run.get(skip..) else {
            continue;
        };
        // `job-/data/fio`: a name, and the path that was put behind it.
        let named = ["-/", "_/", "=/"]
            .iter()
            .filter_map(|mark| path.find(mark))
            .min();
        skip += named.map_or(0, |at| at + 1);
        let path = run.get(skip..).unwrap_or_default();
        let path = path.trim_end_matches([':', '.', '@']);
        let before = text
            .get(..at + skip)
            .and_then(|before| before.chars().next_back());
        let is_tag = before == Some('<');
        let letters = path.bytes().any(|b| b.is_ascii_alphabetic());
        let parts = path
            .split(['/', '\\'])
            .filter(|part| !part.is_empty())
            .count();
        let is_below = path.starts_with(['/', '+']) && parts >= 2;
        let is_path = is_below || path.get(1..3) == Some(":\\");
        if is_path && letters && !is_tag {
            let start = at + skip;
            marks.push(Mark::name(start..start + path.len(), NameKind::Path));
        }
    }
    marks
}

/// `user@host`.
fn hosts(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let is_host = |c: char| c.is_alphanumeric() || "-._".contains(c);
    for (at, _) in text.match_indices('@') {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let rest = text.get(at + 1..).unwrap_or_default();
        let end = rest.find(|c| !is_host(c)).unwrap_or(rest.len());
        let host = rest
            .get(..end)
            .unwrap_or_default()
            .trim_end_matches(['.', '-']);
        let is_name = host.starts_with(|c: char| c.is_alphanumeric());
        if before.is_some_and(char::is_alphanumeric) && is_name {
            marks.push(Mark::name(at + 1..at + 1 + host.len(), NameKind::Host));
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_from_figures() {
        for (text, found) in [
            ("from 10.1.2.3:1521 up", vec!["10.1.2.3"]),
            ("client 2001:db8::17 on", vec!["2001:db8::17"]),
            ("at 03:55:01.123 and 12:00", vec![]),
            ("Release 11.2.0.4.0 and Version 12.1.0.2", vec![]),
            ("1.2.3.4.5 12.3", vec![]),
            (
                "Trace file /u01/app/x_ora_1.trc",
                vec!["/u01/app/x_ora_1.trc"],
            ),
            ("r/s w/s rkB/s I/O 11/30/2021 and / or", vec![]),
            ("<td>a</td><br/>", vec![]),
            (
                "+DATA/ORCL/ONLINELOG/group_1.262.9",
                vec!["+DATA/ORCL/ONLINELOG/group_1.262.9"],
            ),
            ("image: oracle@dbhost (LGWR)", vec!["dbhost"]),
            ("sp_report @?/rdbms", vec![]),
            ("to 10.1.2.3", vec!["10.1.2.3"]),
            (
                "added '10.1.2.4' (ECDSA), tcp:10.1.2.5:80.",
                vec!["10.1.2.4", "10.1.2.5"],
            ),
            ("Version 5.7 from 10.1.2.3.", vec!["10.1.2.3"]),
            ("Release 12.1.0.2 <td>Version</td><td>12.1.0.2</td>", vec![]),
            (
                "\"version\" : \"10.1.2.3\" 5.4.17-101.103.2.1.el9uek",
                vec![],
            ),
            ("02-JAN-26 11.12.13.123 AM and 256.1.2.3 v10.1.2.3", vec![]),
            ("job-/acme/fio: (g=0): rw=read", vec!["/acme/fio"]),
        ] {
            let marks = marks(text);
            let parts: Vec<&str> = marks.iter().map(|mark| &text[mark.at.clone()]).collect();
            assert_eq!(parts, found, "{text}");
        }
    }
}
