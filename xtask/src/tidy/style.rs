//! Rules about the shape of a Rust file: its opening, its width and length, and that its tests run.
//! Lengths of functions, `unwrap` and unfinished code are clippy's (`clippy.toml`, Cargo.toml).

use super::Violation;
use crate::policy;
use crate::source::{Kind, Source, is_test_path};

/// Every violation of shape in one file.
pub fn check(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    header(source, &mut found);
    columns(source, &mut found);
    length(source, &mut found);
    tests_run(source, &mut found);
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
    if !source.lines.first().is_some_and(|l| l.starts_with("//!")) {
        let message = "a file opens with `//!`: what is in it, its invariants, what it must \
                       not know";
        found.push(Violation::new(&source.path, 1, "header", message));
    }
    if let Some(error) = &source.error {
        found.push(Violation::new(&source.path, 1, "not-rust", error));
    }
}

fn columns(source: &Source, found: &mut Vec<Violation>) {
    for (index, line) in source.lines.iter().enumerate() {
        let width = line.chars().count();
        let indent = line.chars().take_while(|c| *c == ' ').count();
        let literal = source.literal_columns(index + 1);
        let beside = (width - indent).saturating_sub(literal);
        let one_string = literal > 0 && beside <= policy::COLUMNS_BESIDE_STRING;
        if width > policy::COLUMNS_MAX && !one_string && !line.contains("://") {
            let message = format!("{width} columns, {} allowed", policy::COLUMNS_MAX);
            found.push(Violation::new(&source.path, index + 1, "columns", message));
        }
    }
}

fn length(source: &Source, found: &mut Vec<Violation>) {
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
}

/// A test runs: none is ignored, and one that skips itself prints `skipped: ` with the reason, the
/// only form that is counted.
fn tests_run(source: &Source, found: &mut Vec<Violation>) {
    let mut add = |line: usize, rule, message: &str| {
        found.push(Violation::new(&source.path, line, rule, message));
    };
    for (at, token) in source.tokens.iter().enumerate() {
        let ignored = source.reads(at, &["#", "[", "ignore", "]"])
            || source.reads(at, &["#", "[", "ignore", "="]);
        if ignored {
            let message = "a test runs, or prints at run time why it is skipped";
            add(token.line, "unfinished", message);
        }
        let literal = token.text.to_lowercase();
        let skips = ["\"skipped", "\"skipping"]
            .iter()
            .any(|s| literal.starts_with(s));
        let counted = literal.starts_with("\"skipped: ");
        let prints = at.checked_sub(3).is_some_and(|macro_at| {
            source.reads(macro_at + 1, &["!", "("])
                && source.tokens[macro_at].text.contains("print")
        });
        if token.kind == Kind::Literal && source.is_test(token.line) && skips && !counted && prints
        {
            let message = "begin the line with `skipped: `, or the test counts as passed";
            add(token.line, "skipped", message);
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
    for token in source.tokens.iter().filter(|t| t.kind == Kind::Code) {
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
        let module = "#[cfg(test)]\nmod t {\n    fn f() {}\n}\n";
        let lines = |count: usize| "//! A.\n".to_owned() + &"a();\n".repeat(count - 1);
        let (most, tests) = (policy::FILE_LINES_MAX, policy::TEST_FILE_LINES_MAX);
        for (path, text, expected) in [
            ("crates/x/src/a.rs", lines(most), vec![]),
            (
                "crates/x/src/a.rs",
                lines(most + 1),
                vec![("file-length", 1)],
            ),
            ("crates/x/src/a.rs", lines(most) + module, vec![]),
            ("crates/x/src/a_tests.rs", lines(tests), vec![]),
            (
                "crates/x/src/a_tests.rs",
                lines(tests + 1),
                vec![("file-length", 1)],
            ),
        ] {
            assert_eq!(at(path, &text), expected, "{path}");
        }
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
