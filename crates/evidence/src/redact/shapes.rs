//! Names that have a form of their own: IP addresses, paths, hosts behind `@` and in addresses.

use super::{Mark, NameKind};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Words before numbers with four parts that are the versions of programs.
const OF_VERSIONS: [&str; 4] = ["release", "version", "compatible", "build"];

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
    let small = text.to_ascii_lowercase();
    let is_version = OF_VERSIONS.iter().any(|word| small.contains(word));
    let is_inside = |c: char| c.is_ascii_hexdigit() || c == '.' || c == ':';
    let mut marks = Vec::new();
    for (at, run) in runs(text, is_inside) {
        let bare = run.trim_end_matches(['.', ':']);
        let colons = bare.matches(':').count();
        if (bare.contains("::") || colons == 7) && bare.parse::<Ipv6Addr>().is_ok() {
            marks.push(Mark::name(at..at + bare.len(), NameKind::Address));
            continue;
        }
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let is_begin = !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        // An address and its port.
        let address = bare.split(':').next().unwrap_or_default();
        if !is_version && is_begin && colons <= 1 && address.parse::<Ipv4Addr>().is_ok() {
            marks.push(Mark::name(at..at + address.len(), NameKind::Address));
        }
    }
    marks
}

fn is_in_path(c: char) -> bool {
    c.is_alphanumeric() || "/\\._-$#@%+~:".contains(c)
}

fn paths(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (at, run) in runs(text, is_in_path) {
        // What stands before it: a label, `=`, a quote.
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

/// `user@host`, and the host of `scheme://user@host:port/`.
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
    for (at, scheme) in text.match_indices("://") {
        let start = at + scheme.len();
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(|c| !is_host(c)).unwrap_or(rest.len());
        let is_user = rest
            .get(end..)
            .is_some_and(|after| after.starts_with(['@', ':']))
            && rest.contains('@');
        let kind = if is_user {
            NameKind::User
        } else {
            NameKind::Host
        };
        marks.push(Mark::name(start..start + end, kind));
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
            (
                "at postgres://ann@db.example:5432/x",
                vec!["db.example", "ann"],
            ),
        ] {
            let marks = marks(text);
            let parts: Vec<&str> = marks.iter().map(|mark| &text[mark.at.clone()]).collect();
            assert_eq!(parts, found, "{text}");
        }
    }
}
