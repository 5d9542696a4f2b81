//! Words that must not appear: marks of unfinished work, paths of one machine, registry hosts.

use super::Violation;
use crate::policy;
use crate::tree::File;

/// Every forbidden word in one file.
pub fn check(file: &File) -> Vec<Violation> {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let ending = file.ending();
    let ours = ending.is_empty() || policy::WORDED.contains(&ending);
    if !ours || file.path == policy::OWN_PATH || policy::NOT_WORDED.contains(&name) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let mut told = |rule, message: String| {
            found.push(Violation::new(&file.path, index + 1, rule, message));
        };
        for marker in policy::MARKERS {
            if stands_alone(line, marker) {
                told("unfinished", format!("`{marker}` marks unfinished work"));
            }
        }
        for path in policy::MACHINE_PATHS {
            if begins_path(line, path) {
                told("words", format!("`{path}` is a path of one machine"));
            }
        }
        for host in policy::REGISTRY_HOSTS {
            if line.contains(host) {
                told("words", format!("`{host}` is not ours to name"));
            }
        }
    }
    found
}

/// Whether `word` is in the line with no letter or digit on either side.
fn stands_alone(line: &str, word: &str) -> bool {
    let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let (before, rest) = line.split_at(at);
        let after = rest.strip_prefix(word).unwrap_or("");
        !joins(before.chars().next_back()) && !joins(after.chars().next())
    })
}

/// Whether an absolute path in the line begins with `start`: what stands before does not go on.
fn begins_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line.split_at(at).0.chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "_-./~}>*:".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    #[test]
    fn forbidden_words_are_found_in_code_and_documents() {
        let [marker, ..] = policy::MARKERS else {
            panic!("no markers");
        };
        let [.., path] = policy::MACHINE_PATHS else {
            panic!("no paths");
        };
        let [host, ..] = policy::REGISTRY_HOSTS else {
            panic!("no hosts");
        };
        for (text, expected) in [
            (format!("// {marker}: later"), Some("unfinished")),
            (format!("// {marker}S and A{marker}"), None),
            (format!("see {path}x"), Some("words")),
            (format!("see `{path}x`"), Some("words")),
            (format!("see docs{path}x and $TMP{path}x"), None),
            (format!("https://{host}/a"), Some("words")),
            ("plain words".to_string(), None),
        ] {
            for name in ["a.rs", "docs/a.md", "run"] {
                let rules: Vec<&str> = check(&made_up(name, &text))
                    .iter()
                    .map(|v| v.rule)
                    .collect();
                assert_eq!(rules, Vec::from_iter(expected), "{name}: {text}");
            }
            assert_eq!(fired(&check(&made_up("a.trc", &text))), [], "{text}");
            assert_eq!(
                fired(&check(&made_up(policy::OWN_PATH, &text))),
                [],
                "{text}"
            );
        }
    }
}
