//! Where `unsafe` may stand, and that each says why it is sound.

use super::Violation;
use crate::policy;
use crate::source::{Class, Source};

/// Every violation about `unsafe` in one file.
pub fn check(source: &Source) -> Vec<Violation> {
    let listed = policy::UNSAFE_MODULES
        .iter()
        .any(|module| policy::in_module(&source.path, module));
    let mut found = Vec::new();
    let mut before = 0;
    for (at, token) in source.tokens.iter().enumerate() {
        let allows = ["allow", "expect"].contains(&token.text.as_str())
            && source.reads(at + 1, &["(", "unsafe_code"]);
        let is_unsafe = token.text == "unsafe";
        if (is_unsafe || allows) && !listed {
            let message = "this module is not one of those that may hold `unsafe`";
            found.push(Violation::new(
                &source.path,
                token.line,
                "unsafe-place",
                message,
            ));
        }
        if !is_unsafe {
            continue;
        }
        // A declaration states its contract under `# Safety`, which clippy asks for.
        let declares = ["fn", "trait"]
            .iter()
            .any(|word| source.reads(at + 1, &[word]))
            || source.reads(at + 1, &["extern", "fn"]);
        if !declares && !explained(source, before, token.line) {
            let message = "a SAFETY comment above says why this is sound";
            found.push(Violation::new(
                &source.path,
                token.line,
                "unsafe-comment",
                message,
            ));
        }
        before = token.line;
    }
    found
}

/// Whether a SAFETY comment stands on the line or within reach above it, below the last `unsafe`
/// before it: one comment explains one thing.
fn explained(source: &Source, before: usize, line: usize) -> bool {
    let first = line
        .saturating_sub(policy::SAFETY_REACH_LINES)
        .max(before + 1);
    let first = first.min(line);
    (first..=line).any(|l| source.text(l, Class::Comment).contains("SAFETY"))
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    fn at(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        fired(&check(&Source::new(&made_up(path, text))))
    }

    #[test]
    fn each_unsafe_has_its_own_comment() {
        let far = "\n".repeat(policy::SAFETY_REACH_LINES + 1);
        for (text, expected) in [
            ("// SAFETY: a\nunsafe { a() }".to_string(), vec![]),
            ("unsafe { a() } // SAFETY: a".to_string(), vec![]),
            (
                "// SAFETY: a\nlet x = call(\n    unsafe { a() },\n);".to_string(),
                vec![],
            ),
            ("unsafe { a() }".to_string(), vec![("unsafe-comment", 1)]),
            (
                "// SAFETY: a\nunsafe impl Send for A {}\nunsafe impl Sync for A {}".to_string(),
                vec![("unsafe-comment", 3)],
            ),
            (
                format!("// SAFETY: a{far}unsafe {{ a() }}"),
                vec![("unsafe-comment", 10)],
            ),
            (
                "let a = \"SAFETY\";\nunsafe { a() }".to_string(),
                vec![("unsafe-comment", 2)],
            ),
            ("/// # Safety\nunsafe fn a() {}".to_string(), vec![]),
        ] {
            assert_eq!(at("crates/redo/src/buffer.rs", &text), expected, "{text}");
        }
    }

    #[test]
    fn unsafe_stands_only_in_listed_modules() {
        let text = "#![allow(unsafe_code)]\n// SAFETY: a\nunsafe { a() }\n";
        assert_eq!(at("crates/device/src/file/direct.rs", text), []);
        assert_eq!(
            at("crates/redo/src/engine.rs", text),
            [("unsafe-place", 1), ("unsafe-place", 3)]
        );
        let spoken = "//! Nothing unsafe.\nlet a = \"unsafe\"; let unsafe_code = 1;\n";
        assert_eq!(at("crates/redo/src/engine.rs", spoken), []);
    }
}
