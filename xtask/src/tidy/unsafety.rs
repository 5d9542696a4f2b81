//! Where `unsafe` may be. That each explains itself is clippy's `undocumented_unsafe_blocks`.

use super::Violation;
use crate::policy;
use crate::source::{Kind, Source};

/// Every `unsafe`, and every permission for one, outside the modules that are listed.
pub fn check(source: &Source) -> Vec<Violation> {
    let listed = |module: &&str| policy::in_module(&source.path, module);
    if policy::UNSAFE_MODULES.iter().any(listed) {
        return Vec::new();
    }
    let code = source.tokens.iter().enumerate();
    let code = code.filter(|(_, token)| token.kind == Kind::Code);
    let found = code.filter(|(at, token)| {
        let permits = ["allow", "expect"].contains(&token.text.as_str())
            && source.reads(at + 1, &["(", "unsafe_code"]);
        token.text == "unsafe" || permits
    });
    let message = "this module is not one of those that may hold `unsafe`";
    found
        .map(|(_, token)| Violation::new(&source.path, token.line, "unsafe-place", message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    #[test]
    fn unsafe_is_only_in_listed_modules() {
        let at = |path: &str, text: &str| fired(&check(&Source::new(&made_up(path, text))));
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
