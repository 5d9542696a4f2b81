//! Names behind a label: `Node name: x`, `*** MODULE NAME:(x)`, `"hostname": "x"`, `HOST=x`, the
//! host in the banner of sysstat.

use super::{Mark, NameKind};

/// Labels at the begin of a line, whose value is the rest of it.
const LINES: &[(&str, NameKind)] = &[
    ("Node name:", NameKind::Host),
    ("Instance name:", NameKind::Instance),
    ("ORACLE_HOME =", NameKind::Path),
    ("ORACLE_HOME:", NameKind::Path),
    ("Database name:", NameKind::Database),
    ("Database Name:", NameKind::Database),
    ("Module:", NameKind::Module),
    ("Host Name:", NameKind::Host),
    ("Host name:", NameKind::Host),
    ("DB Name:", NameKind::Database),
    ("DB name:", NameKind::Database),
    ("DB Unique Name:", NameKind::Database),
    ("Instance:", NameKind::Instance),
    ("Instance Name:", NameKind::Instance),
];

/// What a trace reports of its session, in parentheses.
const SESSION: &[(&str, NameKind)] = &[
    ("*** SERVICE NAME:(", NameKind::Service),
    ("*** MODULE NAME:(", NameKind::Module),
    ("*** ACTION NAME:(", NameKind::Module),
    ("*** CLIENT ID:(", NameKind::User),
    ("*** CONTAINER NAME:(", NameKind::Database),
];

/// Keys in JSON, in connection strings and in options: `"key": "value"`, `key=value`,
/// `key='value'`.
const KEYS: &[(&str, NameKind)] = &[
    ("hostname", NameKind::Host),
    ("nodename", NameKind::Host),
    ("host", NameKind::Host),
    ("client_hostname", NameKind::Host),
    ("machine", NameKind::Host),
    ("sid_name", NameKind::Instance),
    ("instance_name", NameKind::Instance),
    ("dbname", NameKind::Database),
    ("db", NameKind::Database),
    ("database", NameKind::Database),
    ("service_name", NameKind::Service),
    ("application_name", NameKind::Module),
    ("app", NameKind::Module),
    ("module", NameKind::Module),
    ("user", NameKind::User),
    ("username", NameKind::User),
    ("mysql-host", NameKind::Host),
    ("mysql-user", NameKind::User),
    ("mysql-db", NameKind::Database),
    ("pgsql-host", NameKind::Host),
    ("pgsql-user", NameKind::User),
    ("pgsql-db", NameKind::Database),
    ("filename", NameKind::Path),
    ("directory", NameKind::Path),
];

/// The places of a line.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let begin = text.len() - text.trim_start().len();
    let line = text.trim();
    for (label, kind) in LINES {
        if let Some(rest) = line.strip_prefix(label) {
            let value = rest.trim_start();
            let at = begin + line.len() - value.len();
            marks.push(Mark::name(at..at + value.len(), *kind));
        }
    }
    for (label, kind) in SESSION {
        // A value may contain parentheses; a time follows the last one.
        let ends = line.strip_prefix(label).and_then(|rest| rest.rfind(')'));
        if let Some(length) = ends {
            let at = begin + label.len();
            marks.push(Mark::name(at..at + length, *kind));
        }
    }
    marks.extend(page(text));
    marks.extend(banner(text));
    marks.extend(thread(text));
    marks.extend(keys(text));
    marks
}

/// `DB/Inst: SALES/sales1  Snaps: 1-2`, on each page of a report.
fn page(text: &str) -> Vec<Mark> {
    const LABEL: &str = "DB/Inst: ";
    let found = text.find(LABEL).and_then(|at| {
        let start = at + LABEL.len();
        let value = text.get(start..)?.split(' ').next()?;
        let (database, instance) = value.split_once('/')?;
        let middle = start + database.len();
        let end = middle + 1 + instance.len();
        Some(vec![
            Mark::name(start..middle, NameKind::Database),
            Mark::name(middle + 1..end, NameKind::Instance),
        ])
    });
    found.unwrap_or_default()
}

/// `Linux 6.1.0 (host) ...`, as sysstat prints it.
fn banner(text: &str) -> Option<Mark> {
    let is_banner = text.starts_with("Linux ") && text.contains(" CPU)");
    let open = text.find('(').filter(|_| is_banner)?;
    let close = open + text.get(open..)?.find(')')?;
    Some(Mark::name(open + 1..close, NameKind::Host))
}

/// `MariaDB thread id 5, OS thread handle 1, query id 9 HOST ADDRESS USER STATE`.
fn thread(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let Some(at) = text
        .find(" query id ")
        .filter(|_| text.contains("thread id "))
    else {
        return marks;
    };
    let after = at + " query id ".len();
    let mut words = Vec::new();
    let mut from = after;
    for word in text.get(after..).unwrap_or_default().split(' ') {
        words.push((from, word));
        from += word.len() + 1;
    }
    // Behind the number: the host, if it has a name, its address, the user.
    let mut is_user_next = false;
    for (index, (start, word)) in words.iter().skip(1).enumerate() {
        let at = *start..start + word.len();
        let is_address = word.parse::<std::net::IpAddr>().is_ok();
        match (index, is_address, is_user_next) {
            (_, true, _) => is_user_next = true,
            (0, false, _) if *word == "localhost" => is_user_next = true,
            (0, false, _) => marks.push(Mark::name(at, NameKind::Host)),
            (_, false, true) => {
                marks.push(Mark::name(at, NameKind::User));
                break;
            }
            _ => break,
        }
    }
    marks
}

/// Values of keys, quoted or not.
fn keys(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    let small = text.to_ascii_lowercase();
    for (key, kind) in KEYS {
        for (at, _) in small.match_indices(key) {
            let before = small
                .get(..at)
                .and_then(|before| before.chars().next_back());
            let is_option = small.get(..at).is_some_and(|before| before.ends_with("--"));
            let is_inside =
                before.is_some_and(|c| c.is_ascii_alphanumeric() || "_-%/$#.".contains(c));
            if is_inside && !is_option {
                continue;
            }
            if let Some(value) = value_at(text, at + key.len(), before == Some('"')) {
                marks.push(Mark::name(value, *kind));
            }
        }
    }
    marks
}

/// Where the value of a key is that ends at `end`: behind `=`, or, of a key in quotes, behind `":`.
fn value_at(text: &str, end: usize, is_quoted: bool) -> Option<std::ops::Range<usize>> {
    let rest = text.get(end..)?;
    let after = match is_quoted {
        true => rest
            .strip_prefix('"')?
            .trim_start()
            .strip_prefix(':')?
            .trim_start(),
        false => rest.trim_start().strip_prefix('=')?.trim_start(),
    };
    let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
    let (value, ends): (&str, &[char]) = match (quote, is_quoted) {
        (Some('"'), _) => (after.get(1..)?, &['"']),
        (Some(_), _) => (after.get(1..)?, &['\'']),
        // A number of JSON is a figure.
        (None, true) => return None,
        (None, false) => (after, &[' ', ',', ')', ';', '&', '(', '\t', '"', '\'']),
    };
    let start = text.len() - value.len();
    let length = value.find(ends).unwrap_or(value.len());
    (length > 0).then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labelled_names_are_found() {
        for (text, found) in [
            ("Node name:\tdbhost01", vec!["dbhost01"]),
            (
                "*** MODULE NAME:(app@h (TNS V1-V3)) 2014-01-01 10:00",
                vec!["app@h (TNS V1-V3)"],
            ),
            (
                "Linux 6.1.0 (vm17) \t2026-01-02 \t_x86_64_\t(2 CPU)",
                vec!["vm17"],
            ),
            ("  \"hostname\" : \"db7\", \"runtime\" : 5", vec!["db7"]),
            (
                "(HOST = db7)(PORT=1521)(SERVICE_NAME=sales)",
                vec!["db7", "sales"],
            ),
            (
                "primary_conninfo | host=db7 user='rep l'",
                vec!["db7", "rep l"],
            ),
            (
                "MariaDB thread id 5, OS thread handle 14, query id 19 web3 10.1.1.1 ann starting",
                vec!["web3", "ann"],
            ),
            (
                "MySQL thread id 5, OS thread handle 14, query id 19 localhost bob init",
                vec!["bob"],
            ),
            (
                "Load Profile  DB/Inst: SHOP/shop1  Snaps: 1-2",
                vec!["SHOP", "shop1"],
            ),
            ("localhost=1 xhost=2 \"host\": 5", vec![]),
        ] {
            let marks = marks(text);
            let mut parts: Vec<&str> = marks.iter().map(|mark| &text[mark.at.clone()]).collect();
            let mut found = found;
            parts.sort_unstable();
            found.sort_unstable();
            assert_eq!(parts, found, "{text}");
        }
    }
}
