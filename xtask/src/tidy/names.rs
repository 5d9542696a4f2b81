//! A public type has a name of its own: one that is found by searching, and that no `use` has to
//! rename.

use super::Violation;
use crate::source::{Kind, Source};
use std::collections::BTreeMap;

/// Names that each module or crate may have, since they are read with its name before them.
const SHARED: [&str; 3] = ["Builder", "Error", "Options"];
const KINDS: [&str; 5] = ["struct", "enum", "union", "trait", "type"];

/// Public types of the crates whose names another public type has, in the order of `sources`.
pub fn check(sources: &[Source]) -> Vec<Violation> {
    let mut first: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_of_a_crate(&source.path)) {
        for (name, line) in public_types(source) {
            if SHARED.contains(&name) {
                continue;
            }
            let Some((path, at)) = first.get(name) else {
                first.insert(name, (&source.path, line));
                continue;
            };
            let message = format!(
                "`{name}` is the name of a public type in {path}:{at} too: give one of them a name \
                 that shows the difference"
            );
            found.push(Violation::new(&source.path, line, "type-name", message));
        }
    }
    found
}

/// A file in `crates/NAME/src`.
fn is_of_a_crate(path: &str) -> bool {
    let mut parts = path.split('/');
    parts.next() == Some("crates") && parts.nth(1) == Some("src")
}

/// Names of the types that are `pub` without a restriction, outside tests.
fn public_types(source: &Source) -> impl Iterator<Item = (&str, usize)> {
    let code = |at: usize| {
        let token = source.tokens.get(at);
        token.filter(|token| token.kind == Kind::Code)
    };
    (0..source.tokens.len()).filter_map(move |at| {
        code(at).filter(|token| token.text == "pub")?;
        let unsafe_words = usize::from(code(at + 1)?.text == "unsafe");
        let kind = code(at + 1 + unsafe_words)?;
        let name = code(at + 2 + unsafe_words)?;
        let is_type = KINDS.contains(&kind.text.as_str()) && !source.is_test(name.line);
        is_type.then_some((name.text.as_str(), name.line))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    #[test]
    fn a_public_type_has_a_name_of_its_own() {
        let found = |files: &[(&str, &str)]| {
            let sources: Vec<Source> = files
                .iter()
                .map(|(path, text)| Source::new(&made_up(path, text)))
                .collect();
            check(&sources)
        };
        let a = ("crates/a/src/lib.rs", "//! A.\npub struct Plan;\n");
        for (path, text, expected) in [
            (
                "crates/b/src/b.rs",
                "pub enum Plan {}",
                vec![("type-name", 1)],
            ),
            (
                "crates/a/src/b.rs",
                "pub type Plan = u8;",
                vec![("type-name", 1)],
            ),
            (
                "crates/b/src/b.rs",
                "\npub unsafe trait Plan {}",
                vec![("type-name", 2)],
            ),
            ("crates/b/src/b.rs", "pub(crate) struct Plan;", vec![]),
            ("crates/b/src/b.rs", "struct Plan; pub fn plan() {}", vec![]),
            (
                "crates/b/src/b.rs",
                "pub struct ProbePlan { pub plan: Plan }",
                vec![],
            ),
            (
                "crates/b/src/b.rs",
                "#[cfg(test)]\nmod t { pub struct Plan; }",
                vec![],
            ),
            (
                "crates/b/src/b.rs",
                "// pub struct Plan;\nconst A: &str = \"pub enum Plan\";",
                vec![],
            ),
            ("crates/b/tests/b.rs", "pub struct Plan;", vec![]),
            ("xtask/src/b.rs", "pub struct Plan;", vec![]),
        ] {
            assert_eq!(
                fired(&found(&[a, (path, text)])),
                expected,
                "{path}: {text}"
            );
        }
        let shared = [
            ("crates/a/src/a.rs", "pub enum Error {}"),
            ("crates/b/src/a.rs", "pub enum Error {}"),
        ];
        assert_eq!(found(&shared), []);
        let named = found(&[a, ("crates/b/src/b.rs", "pub enum Plan {}")]);
        assert!(
            named[0].message.contains("crates/a/src/lib.rs:2"),
            "{named:?}"
        );
    }
}
