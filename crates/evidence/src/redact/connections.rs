//! Users, passwords and hosts in connect strings: `scott/tiger@//host:1521/shop`,
//! `postgres://ann:secret@host/shop`.

use super::{Mark, MarkKind, NameKind};

/// Commands before a connect string without a host.
const COMMANDS: [&str; 4] = ["sqlplus ", "connect ", "conn ", "rman target "];

/// The places of a line.
pub(super) fn marks(text: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (at, _) in text.match_indices("://") {
        marks.extend(address(text, at));
    }
    for (at, _) in text.match_indices('@') {
        marks.extend(oracle(text, at));
    }
    let small = text.to_ascii_lowercase();
    for command in COMMANDS {
        for (at, _) in small.match_indices(command) {
            let is_begin = !small
                .get(..at)
                .is_some_and(|t| t.ends_with(char::is_alphanumeric));
            if is_begin {
                marks.extend(of_command(text, at + command.len()).unwrap_or_default());
            }
        }
    }
    marks
}

fn is_in_host(c: char) -> bool {
    c.is_alphanumeric() || "-._".contains(c)
}

fn password(start: usize, end: usize) -> Mark {
    Mark {
        at: start..end,
        kind: MarkKind::Password,
    }
}

/// `scheme://user:password@host:port/database`.
fn address(text: &str, at: usize) -> Vec<Mark> {
    let mut marks = Vec::new();
    let start = at + "://".len();
    let rest = text.get(start..).unwrap_or_default();
    let all = rest.find(|c: char| c.is_whitespace() || "\"'<>`,".contains(c));
    let rest = rest.get(..all.unwrap_or(rest.len())).unwrap_or_default();
    // A password may contain a slash; a host does not.
    let first = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let is_of_web = text
        .get(..at)
        .is_some_and(|t| t.ends_with("http") || t.ends_with("https"));
    let user = match is_of_web {
        true => rest.get(..first).unwrap_or_default().rfind('@'),
        false => rest.rfind('@'),
    };
    let mut host = start;
    if let Some(end) = user {
        let info = rest.get(..end).unwrap_or_default();
        let length = info.find(':').unwrap_or(info.len());
        marks.push(Mark::name(start..start + length, NameKind::User));
        if length < info.len() {
            marks.push(password(start + length + 1, start + end));
        }
        host = start + end + 1;
    }
    let of_host = text.get(host..start + rest.len()).unwrap_or_default();
    let length = of_host.find(|c| !is_in_host(c)).unwrap_or(of_host.len());
    marks.push(Mark::name(host..host + length, NameKind::Host));
    let database = of_host.split(['?', '#']).next().unwrap_or_default();
    if let (Some(slash), false) = (database.find('/'), is_of_web) {
        let end = host + database.trim_end_matches(['/', '.', ')', ';']).len();
        if host + slash + 1 < end {
            marks.push(Mark::name(host + slash + 1..end, NameKind::Database));
        }
    }
    marks
}

/// `user/password@host`, `user/password@//host:1521/service`.
fn oracle(text: &str, at: usize) -> Vec<Mark> {
    let mut marks = Vec::new();
    let before = text.get(..at).unwrap_or_default();
    let slash = match before.strip_suffix('"') {
        Some(quoted) => quoted.rfind("/\""),
        None => before
            .rfind(|c: char| c == '/' || c.is_whitespace() || "\"'".contains(c))
            .filter(|found| before.get(*found..).is_some_and(|t| t.starts_with('/'))),
    };
    let Some(slash) = slash.filter(|slash| slash + 1 < at) else {
        return marks;
    };
    let user = before.get(..slash).unwrap_or_default();
    let is_in_user = |c: char| c.is_alphanumeric() || "_$#\"".contains(c);
    let start = user.trim_end_matches(is_in_user).len();
    let is_apart = !user
        .get(..start)
        .is_some_and(|t| t.ends_with(['/', '\\', '.', '-', '@', '+']));
    let is_user = user
        .get(start..)
        .is_some_and(|user| user.starts_with(|c: char| c.is_alphabetic() || c == '"'));
    if !is_apart || !is_user {
        return marks;
    }
    marks.push(Mark::name(start..slash, NameKind::User));
    marks.push(password(slash + 1, at));
    marks.extend(target(text, at + 1));
    marks
}

/// `//host:1521/service`, behind the sign `@`.
fn target(text: &str, from: usize) -> Vec<Mark> {
    let mut marks = Vec::new();
    let rest = text.get(from..).unwrap_or_default();
    let host = rest.trim_start_matches('/');
    let start = from + rest.len() - host.len();
    let length = host.find(|c| !is_in_host(c)).unwrap_or(host.len());
    let name = host
        .get(..length)
        .unwrap_or_default()
        .trim_end_matches(['.', '-']);
    if name.is_empty() {
        return marks;
    }
    marks.push(Mark::name(start..start + name.len(), NameKind::Host));
    let after = host.get(length..).unwrap_or_default();
    let port = after.strip_prefix(':').unwrap_or(after);
    let service = port
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .strip_prefix('/');
    if let Some(service) = service {
        let start = text.len() - service.len();
        let length = service.find(|c| !is_in_host(c)).unwrap_or(service.len());
        marks.push(Mark::name(start..start + length, NameKind::Service));
    }
    marks
}

/// `user/password` behind a command, without a host.
fn of_command(text: &str, from: usize) -> Option<Vec<Mark>> {
    let mut at = from;
    for word in text.get(from..)?.split(' ') {
        let is_option = word.is_empty() || word.starts_with('-') || matches!(word, "/" | "as");
        if !is_option {
            let word = word.trim_matches(['"', '\'', ';', ')']);
            let start = at + text.get(at..)?.find(word)?;
            let (user, secret) = word.split_once('/')?;
            let is_user = user.starts_with(|c: char| c.is_alphabetic())
                && user
                    .chars()
                    .all(|c| c.is_alphanumeric() || "_$#".contains(c));
            let is_secret = !secret.is_empty() && !secret.contains(['/', '@']);
            let middle = start + user.len();
            return (is_user && is_secret).then(|| {
                vec![
                    Mark::name(start..middle, NameKind::User),
                    password(middle + 1, start + word.len()),
                ]
            });
        }
        at += word.len() + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_strings_are_taken_apart() {
        for (text, found) in [
            (
                "at scott/tiger@//db7:1521/shop.x,",
                vec!["scott", "tiger", "db7", "shop.x"],
            ),
            (
                "sqlplus -s scott/\"Ti@er\"@orcl",
                vec!["scott", "\"Ti@er\"", "orcl"],
            ),
            ("connect scott/tiger", vec!["scott", "tiger"]),
            ("sqlplus / as sysdba", vec![]),
            (
                "mysql://root:geheim@10.0.0.5",
                vec!["root", "geheim", "10.0.0.5"],
            ),
            (
                "postgres://u:p@ss/w@h:5432/shop?x=1",
                vec!["u", "p@ss/w", "h", "shop"],
            ),
            ("see https://db.example/a/b@c", vec!["db.example"]),
            ("oracle@dbhost (LGWR) I/O r/s", vec![]),
            ("/u01/app/x@y", vec![]),
        ] {
            let marks = marks(text);
            let parts: Vec<&str> = marks.iter().map(|mark| &text[mark.at.clone()]).collect();
            assert_eq!(parts, found, "{text}");
        }
    }
}
