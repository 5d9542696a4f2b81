//! Words that must not appear: marks of unfinished work, paths of one machine, registry hosts, and
//! phrases that readers stumble over, in documents, documentation and string literals.

use super::Violation;
use crate::policy;
use crate::source::{Kind, Source};
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

/// Phrases of a dialect in a document. Decisions are dated and stay as they were written, and a
/// quotation (`>`) keeps its words.
pub fn plain_document(file: &File) -> Vec<Violation> {
    if file.ending() != "md" || file.path.starts_with(policy::DECISIONS) {
        return Vec::new();
    }
    let lines = file.text.lines().enumerate();
    let own = lines.filter(|(_, line)| !line.trim_start().starts_with('>'));
    let text: Vec<(usize, &str)> = own.map(|(index, line)| (index + 1, line)).collect();
    phrases(&file.path, &text)
}

/// The same in documentation and string literals of code. A phrase that goes on in the next line of
/// a comment is found too.
pub fn plain_code(source: &Source) -> Vec<Violation> {
    if source.path == policy::OWN_PATH {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut documentation: Vec<(usize, &str)> = Vec::new();
    for token in &source.tokens {
        let text = token.text.as_str();
        match token.kind {
            Kind::Doc => documentation.push((token.line, text)),
            Kind::Literal => {
                let lines = text.lines().enumerate();
                let lines: Vec<(usize, &str)> = lines.map(|(i, l)| (token.line + i, l)).collect();
                found.extend(phrases(&source.path, &lines));
            }
            Kind::Code => {}
        }
    }
    found.extend(phrases(&source.path, &documentation));
    found
}

/// Every forbidden phrase in numbered lines, whether in one or across two.
fn phrases(path: &str, lines: &[(usize, &str)]) -> Vec<Violation> {
    let mut words: Vec<(usize, String)> = Vec::new();
    for (number, line) in lines {
        // `{name}` in a format string is code.
        let text = line
            .split('{')
            .enumerate()
            .map(|(at, part)| match part.split_once('}') {
                Some((_, rest)) if at > 0 => rest,
                _ => part,
            });
        for part in text {
            let parts = part.split(|c: char| !c.is_alphabetic() && c != '_');
            let parts = parts.filter(|word| !word.is_empty());
            words.extend(parts.map(|word| (*number, word.to_lowercase())));
        }
    }
    let mut found = Vec::new();
    for (phrase, instead) in policy::DIALECT {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        for window in words.windows(wanted.len()) {
            if window
                .iter()
                .map(|(_, word)| word.as_str())
                .eq(wanted.iter().copied())
            {
                let message = format!("`{phrase}`: say {instead}");
                found.push(Violation::new(path, window[0].0, "plain-english", message));
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
    fn phrases_of_a_dialect_are_found_in_documents_documentation_and_literals() {
        let [(phrase, _), ..] = policy::DIALECT else {
            panic!("no phrases");
        };
        let (first, rest) = ("held", "against");
        let code = |text: &str| {
            let source = Source::new(&made_up("crates/x/src/a.rs", text));
            fired(&plain_code(&source))
        };
        let rule = "plain-english";
        for (text, expected) in [
            (format!("/// It {phrase}.\nfn a() {{}}\n"), vec![(rule, 1)]),
            (
                format!("//! It\n//! is {first}\n//! {rest} it.\n"),
                vec![(rule, 2)],
            ),
            (
                format!("const A: &str = \"x\n {phrase}\";\n"),
                vec![(rule, 2)],
            ),
            (format!("// It {phrase}.\nlet {phrase} = 1;\n"), vec![]),
            (format!("/// un{phrase}\nfn a() {{}}\n"), vec![]),
        ] {
            assert_eq!(code(&text), expected, "{text}");
        }
        for (path, expected) in [
            ("docs/a.md", vec![(rule, 2)]),
            ("docs/decisions/2026-01-01-a.md", vec![]),
            ("a.txt", vec![]),
        ] {
            let text = format!("# A\nit is {phrase}\n> {phrase}\n");
            assert_eq!(
                fired(&plain_document(&made_up(path, &text))),
                expected,
                "{path}"
            );
        }
    }

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
