//! Rules about the shape of a Rust file: its opening, its widths and lengths, and what must not
//! be left in code.

use super::Violation;
use crate::policy;
use crate::source::{Class, Source, is_test_path};

/// Every violation of shape in one file.
pub fn check(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    header(source, &mut found);
    columns(source, &mut found);
    lengths(source, &mut found);
    leftovers(source, &mut found);
    reasons(source, &mut found);
    if source.path.ends_with("/src/lib.rs") {
        lib_root(source, &mut found);
    }
    found
}

/// What is allowed but worth knowing.
pub fn note(source: &Source) -> Option<String> {
    let lines = source.lines_without_tests();
    let long = lines > policy::FILE_LINES_NOTED && lines <= policy::FILE_LINES_MAX;
    (long && !is_test_path(&source.path))
        .then(|| format!("{}: {lines} lines without tests", source.path))
}

fn header(source: &Source, found: &mut Vec<Violation>) {
    if !source.text(1, Class::Comment).starts_with("//!") {
        let message = "a file opens with `//!`: what lives here, its invariants, what it must \
                       not know";
        found.push(Violation::new(&source.path, 1, "header", message));
    }
}

fn columns(source: &Source, found: &mut Vec<Violation>) {
    for (index, line) in source.lines.iter().enumerate() {
        let indent = line
            .iter()
            .take_while(|(character, _)| *character == ' ')
            .count();
        let is_literal = |(_, class): &&(char, Class)| *class == Class::Literal;
        let literal = line.iter().skip(indent).filter(is_literal).count();
        let beside = line.len() - indent - literal;
        let text: String = line.iter().map(|(character, _)| character).collect();
        let one_string = literal > 0 && beside <= policy::COLUMNS_BESIDE_STRING;
        if line.len() > policy::COLUMNS_MAX && !one_string && !text.contains("://") {
            let message = format!("{} columns, {} allowed", line.len(), policy::COLUMNS_MAX);
            found.push(Violation::new(&source.path, index + 1, "columns", message));
        }
    }
}

fn lengths(source: &Source, found: &mut Vec<Violation>) {
    let lines = source.lines_without_tests();
    let allowed = if is_test_path(&source.path) {
        policy::TEST_FILE_LINES_MAX
    } else {
        policy::FILE_LINES_MAX
    };
    if lines > allowed {
        let message = format!("{lines} lines without tests, {allowed} allowed: split it");
        found.push(Violation::new(&source.path, 1, "file-length", message));
    }
    for function in source.functions() {
        let allowed = if source.is_test(function.line) {
            policy::TEST_FUNCTION_LINES_MAX
        } else {
            policy::FUNCTION_LINES_MAX
        };
        if function.lines > allowed {
            let (name, lines) = (&function.name, function.lines);
            let message = format!("`{name}` has {lines} lines, {allowed} allowed");
            found.push(Violation::new(
                &source.path,
                function.line,
                "function-length",
                message,
            ));
        }
    }
}

fn leftovers(source: &Source, found: &mut Vec<Violation>) {
    for (at, token) in source.tokens.iter().enumerate() {
        let mut told = |rule, message: String| {
            found.push(Violation::new(&source.path, token.line, rule, message));
        };
        if source.reads(at, &[".", "unwrap", "(", ")"]) && !source.is_test(token.line) {
            told(
                "unwrap",
                "`expect` with the reason, or an error".to_string(),
            );
        }
        let name = token.text.as_str();
        if policy::UNFINISHED_MACROS.contains(&name) && source.reads(at + 1, &["!"]) {
            told("unfinished", format!("`{name}!` is left in the code"));
        }
        let ignored = source.reads(at, &["#", "[", "ignore", "]"])
            || source.reads(at, &["#", "[", "ignore", "="]);
        if ignored {
            let message = "a test runs, or says at run time why it is skipped";
            told("unfinished", message.to_string());
        }
    }
}

/// A test that skips itself prints `skipped: ` and the reason: no other form is counted.
fn reasons(source: &Source, found: &mut Vec<Violation>) {
    let prints = |line: usize| line > 0 && source.text(line, Class::Code).contains("print");
    for line in (1..=source.lines.len()).filter(|line| source.is_test(*line)) {
        let literal = source.text(line, Class::Literal).to_lowercase();
        let skips = ["\"skipped", "\"skipping"]
            .iter()
            .any(|s| literal.starts_with(s));
        let counted = literal.starts_with("\"skipped: ");
        if skips && !counted && (prints(line) || prints(line - 1)) {
            let message = "begin the line with `skipped: `, or the test counts as passed";
            found.push(Violation::new(&source.path, line, "skipped", message));
        }
    }
}

/// Words with which an item begins that belongs into a module of its own.
const ITEMS: &[&str] = &[
    "fn",
    "struct",
    "enum",
    "union",
    "trait",
    "impl",
    "const",
    "static",
    "type",
    "macro_rules",
];

fn lib_root(source: &Source, found: &mut Vec<Violation>) {
    let lines = source.lines.len();
    if lines > policy::LIB_LINES_MAX {
        let message = format!("{lines} lines, {} allowed", policy::LIB_LINES_MAX);
        found.push(Violation::new(&source.path, 1, "lib-root", message));
    }
    for token in &source.tokens {
        if ITEMS.contains(&token.text.as_str()) && !source.is_test(token.line) {
            let message = format!(
                "`{}` here: lib.rs is a doc, modules, re-exports",
                token.text
            );
            found.push(Violation::new(
                &source.path,
                token.line,
                "lib-root",
                message,
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{fired, made_up};
    use super::*;

    fn at(path: &str, text: &str) -> Vec<(&'static str, usize)> {
        fired(&check(&Source::new(&made_up(path, text))))
    }

    #[test]
    fn each_rule_fires_on_its_example_and_is_silent_on_its_neighbour() {
        let wide = "x".repeat(policy::COLUMNS_MAX + 1);
        for (body, expected) in [
            (format!("//! {wide}"), vec![("columns", 2)]),
            (format!("const A: &str = \"{wide}\";"), vec![]),
            (format!("f({wide}, \"short\");"), vec![("columns", 2)]),
            (
                format!("{}a(\"{}\");", " ".repeat(60), "x".repeat(60)),
                vec![],
            ),
            (format!("// https://example.org/{wide}"), vec![]),
            ("fn f() { a.unwrap() }".to_string(), vec![("unwrap", 2)]),
            (
                "fn f() { a.unwrap_or(0); b(\".unwrap()\") }".to_string(),
                vec![],
            ),
            (
                "#[cfg(test)]\nmod t { fn f() { a.unwrap() } }".to_string(),
                vec![],
            ),
            ("fn f() { todo!() }".to_string(), vec![("unfinished", 2)]),
            ("fn f(todo: bool) -> bool { !todo }".to_string(), vec![]),
            (
                "#[ignore = \"slow\"]\nfn f() {}".to_string(),
                vec![("unfinished", 2)],
            ),
            ("fn ignore() {}".to_string(), vec![]),
        ] {
            let text = format!("//! A module.\n{body}\n");
            assert_eq!(at("crates/x/src/a.rs", &text), expected, "{body}");
        }
    }

    #[test]
    fn a_test_that_skips_itself_says_so_in_the_form_that_is_counted() {
        for (body, fires) in [
            ("println!(\"skipped: not root\");", false),
            ("println!(\"skipped the overlay: {e}\");", true),
            ("println!(\n\"Skipping it\");", true),
            ("assert_eq!(said, \"skipped the overlay\");", false),
        ] {
            let found = at(
                "crates/x/tests/a.rs",
                &format!("//! A.\nfn f() {{\n{body}\n}}\n"),
            );
            assert_eq!(
                found.iter().any(|(rule, _)| *rule == "skipped"),
                fires,
                "{body}"
            );
            assert_eq!(
                at("crates/x/src/a.rs", &format!("//! A.\n{body}\n")),
                [],
                "{body}"
            );
        }
    }

    #[test]
    fn every_file_has_a_header() {
        for path in [
            "crates/x/src/a.rs",
            "crates/x/tests/a.rs",
            "crates/x/build.rs",
        ] {
            assert_eq!(at(path, "fn main() {}\n"), [("header", 1)], "{path}");
            assert_eq!(at(path, "//! What lives here.\n"), [], "{path}");
        }
        assert_eq!(at("crates/x/src/a.rs", ""), [("header", 1)]);
    }

    #[test]
    fn lengths_count_tests_apart() {
        let function = |lines: usize| format!("fn f() {{\n{}}}\n", "    a();\n".repeat(lines - 2));
        let (most, tests) = (policy::FUNCTION_LINES_MAX, policy::TEST_FUNCTION_LINES_MAX);
        let module = |lines| format!("#[cfg(test)]\nmod t {{\n{}}}\n", function(lines));
        for (text, expected) in [
            (function(most), vec![]),
            (function(most + 1), vec![("function-length", 2)]),
            (module(tests), vec![]),
            (module(tests + 1), vec![("function-length", 4)]),
            ("a();\n".repeat(policy::FILE_LINES_MAX - 1), vec![]),
            (
                "a();\n".repeat(policy::FILE_LINES_MAX),
                vec![("file-length", 1)],
            ),
            (
                module(3) + &"a();\n".repeat(policy::FILE_LINES_MAX - 1),
                vec![],
            ),
        ] {
            assert_eq!(
                at("crates/x/src/a.rs", &format!("//! A.\n{text}")),
                expected
            );
        }
        let text = format!("//! A.\n{}", function(tests));
        assert_eq!(at("crates/x/tests/a.rs", &text), []);
        let text = |lines: usize| format!("//! A.\n{}", "a();\n".repeat(lines - 1));
        let most = policy::TEST_FILE_LINES_MAX;
        assert_eq!(at("crates/x/src/a_tests.rs", &text(most)), []);
        assert_eq!(
            at("crates/x/src/a_tests.rs", &text(most + 1)),
            [("file-length", 1)]
        );
    }

    #[test]
    fn long_files_are_noted_before_they_are_refused() {
        let of = |lines| Source::new(&made_up("a.rs", &"//!\n".repeat(lines)));
        assert_eq!(note(&of(policy::FILE_LINES_NOTED)), None);
        assert!(note(&of(policy::FILE_LINES_NOTED + 1)).is_some());
        assert_eq!(note(&of(policy::FILE_LINES_MAX + 1)), None);
    }

    #[test]
    fn lib_is_doc_modules_and_re_exports() {
        let good = "//! Doc.\n#![cfg_attr(docsrs, feature(doc_cfg))]\npub mod a;\n\
                    pub use a::{\n    B,\n    C,\n};\n";
        assert_eq!(at("crates/x/src/lib.rs", good), []);
        let bad = format!("{good}pub(crate) const D: u8 = 1;\n");
        assert_eq!(at("crates/x/src/lib.rs", &bad), [("lib-root", 8)]);
        let long = format!("//! Doc.\n{}", "mod a;\n".repeat(policy::LIB_LINES_MAX));
        assert_eq!(at("crates/x/src/lib.rs", &long), [("lib-root", 1)]);
    }
}
