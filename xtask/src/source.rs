//! A Rust file as the rules read it: its tokens with their lines, its documentation, and which
//! lines belong to tests.
//!
//! Tokens come from `proc-macro2`, so that a comment or a literal is never taken for code. Nothing
//! is parsed beyond matching braces, nothing is resolved, macros are read as they are written.

use crate::tree::File;
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word or a mark of punctuation.
    Code,
    /// A literal of any kind, spelled as in the file.
    Literal,
    /// One line of documentation, or a `doc` attribute: its text.
    Doc,
}

/// A word, a mark of punctuation, a literal or a line of documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Characters of the token.
    pub text: String,
    /// Line on which it begins, from 1.
    pub line: usize,
    /// What it is.
    pub kind: Kind,
}

/// A Rust file.
#[derive(Debug)]
pub struct Source {
    /// Path from the root.
    pub path: String,
    /// Lines as they are in the file.
    pub lines: Vec<String>,
    /// Code, literals and documentation; no comments.
    pub tokens: Vec<Token>,
    /// Why the file could not be read as Rust.
    pub error: Option<String>,
    /// Columns of each line that are inside a literal.
    literal_columns: Vec<usize>,
    /// For each line, whether it belongs to a test.
    in_test: Vec<bool>,
}

impl Source {
    /// Reads a file.
    pub fn new(file: &File) -> Source {
        let lines: Vec<String> = file.text.lines().map(str::to_owned).collect();
        let whole = is_test_path(&file.path);
        let mut source = Source {
            path: file.path.clone(),
            tokens: Vec::new(),
            error: None,
            literal_columns: vec![0; lines.len()],
            in_test: vec![whole; lines.len()],
            lines,
        };
        match file.text.parse::<TokenStream>() {
            Ok(stream) => source.flatten(stream),
            Err(e) => source.error = Some(format!("{e}, line {}", e.span().start().line)),
        }
        for (first, last) in test_regions(&source.tokens) {
            let region = source.in_test.iter_mut().take(last).skip(first - 1);
            region.for_each(|flag| *flag = true);
        }
        source
    }

    fn push(&mut self, text: String, span: Span, kind: Kind) {
        let line = span.start().line;
        self.tokens.push(Token { text, line, kind });
    }

    fn flatten(&mut self, stream: TokenStream) {
        for tree in stream {
            match tree {
                TokenTree::Group(group) => {
                    if let Some(text) = documentation(&group) {
                        self.tokens.pop_if(|token| token.text == "!");
                        self.tokens.pop_if(|token| token.text == "#");
                        self.push(text, group.span_open(), Kind::Doc);
                        continue;
                    }
                    let (open, close) = match group.delimiter() {
                        Delimiter::Parenthesis => ("(", ")"),
                        Delimiter::Brace => ("{", "}"),
                        Delimiter::Bracket => ("[", "]"),
                        Delimiter::None => ("", ""),
                    };
                    self.push(open.to_owned(), group.span_open(), Kind::Code);
                    self.flatten(group.stream());
                    self.push(close.to_owned(), group.span_close(), Kind::Code);
                }
                TokenTree::Literal(literal) => {
                    self.count_columns(literal.span());
                    self.push(literal.to_string(), literal.span(), Kind::Literal);
                }
                other => self.push(other.to_string(), other.span(), Kind::Code),
            }
        }
    }

    /// Adds a literal's columns to those of its lines.
    fn count_columns(&mut self, literal: Span) {
        let (start, end) = (literal.start(), literal.end());
        for line in start.line..=end.line {
            let width = |l: &String| l.chars().count();
            let from = if line == start.line { start.column } else { 0 };
            let to = match line == end.line {
                true => end.column,
                false => self.lines.get(line - 1).map_or(0, width),
            };
            if let Some(columns) = self.literal_columns.get_mut(line - 1) {
                *columns += to.saturating_sub(from);
            }
        }
    }

    /// Whether the line (from 1) belongs to a test.
    pub fn is_test(&self, line: usize) -> bool {
        self.in_test.get(line - 1).copied().unwrap_or(false)
    }

    /// Columns of a line (from 1) that are inside a literal.
    pub fn literal_columns(&self, line: usize) -> usize {
        self.literal_columns.get(line - 1).copied().unwrap_or(0)
    }

    /// Lines that are not in a test module; all of them in a file that is nothing but tests.
    pub fn lines_without_tests(&self) -> usize {
        if is_test_path(&self.path) {
            return self.lines.len();
        }
        self.in_test.iter().filter(|flag| !**flag).count()
    }

    /// Whether the tokens from `at` read as `expected`.
    pub fn reads(&self, at: usize, expected: &[&str]) -> bool {
        reads(&self.tokens, at, expected)
    }

    /// The code without comments, blanks and test modules: what changes when the program does.
    pub fn essence(&self) -> String {
        let mut text = String::new();
        for token in &self.tokens {
            if token.kind != Kind::Doc && !self.is_test(token.line) {
                text.push_str(&token.text);
                text.push(' ');
            }
        }
        text
    }
}

/// Whether a whole file is tests, by where it is and how it is named: in a folder `tests` or
/// `benches`, or `tests.rs`, or `module_tests.rs`.
pub fn is_test_path(path: &str) -> bool {
    let folder = path
        .split('/')
        .any(|part| part == "tests" || part == "benches");
    folder || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

/// Text of an attribute `[doc = "text"]`, as which the lexer gives each line of documentation.
fn documentation(group: &proc_macro2::Group) -> Option<String> {
    let mut trees = group.stream().into_iter();
    let (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(is))) = (trees.next(), trees.next())
    else {
        return None;
    };
    match trees.next() {
        Some(TokenTree::Literal(text)) if name == "doc" && is.as_char() == '=' => {
            Some(text.to_string())
        }
        _ => None,
    }
}

fn reads(tokens: &[Token], at: usize, expected: &[&str]) -> bool {
    let rest = tokens.get(at..).unwrap_or(&[]);
    let same = |(token, text): (&Token, &&str)| token.kind != Kind::Doc && token.text == **text;
    rest.len() >= expected.len() && rest.iter().zip(expected).all(same)
}

/// First and last line of every item under `#[cfg(test)]` or `#[cfg(all(test, …))]`.
fn test_regions(tokens: &[Token]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !reads(tokens, at, &["#", "[", "cfg", "("]) {
            continue;
        }
        let close = closing(tokens, at + 1, "[", "]").unwrap_or(at);
        let condition = tokens.get(at + 4..close).unwrap_or(&[]);
        let has = |word: &str| condition.iter().any(|t| t.text == word);
        if !has("test") || has("any") || has("not") {
            continue;
        }
        if let Some(last) = item_end(tokens, close + 1) {
            found.push((token.line, last));
        }
    }
    found
}

/// Last line of the item that goes on at `at`.
fn item_end(tokens: &[Token], at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => return Some(token.line),
            "{" if depth == 0 => {
                let end = closing(tokens, index, "{", "}")?;
                return tokens.get(end).map(|t| t.line);
            }
            _ => {}
        }
    }
    None
}

/// Index of the mark that closes the one at `at`.
fn closing(tokens: &[Token], at: usize, open: &str, close: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        if token.text == open {
            depth += 1;
        } else if token.text == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new(&File {
            path: "crates/x/src/a.rs".to_string(),
            text: text.to_string(),
        })
    }

    #[test]
    fn comments_are_no_tokens_and_literals_keep_their_kind() {
        let text = "/// One.\nfn f() {\n    // unsafe\n    g(\"unsafe { \\\" }\", 'x')\n}\n";
        let source = source(text);
        let of = |kind| -> Vec<(&str, usize)> {
            let all = source.tokens.iter().filter(move |t| t.kind == kind);
            all.map(|t| (t.text.as_str(), t.line)).collect()
        };
        assert_eq!(of(Kind::Doc), [("\" One.\"", 1)]);
        assert_eq!(of(Kind::Literal), [("\"unsafe { \\\" }\"", 4), ("'x'", 4)]);
        assert!(!of(Kind::Code).contains(&("unsafe", 3)));
    }

    #[test]
    fn columns_of_literals_are_counted_on_each_of_their_lines() {
        let source = source("f(\"abc\", 12);\ng(r\"ab\ncd\");\n");
        let counted: Vec<usize> = (1..=3).map(|line| source.literal_columns(line)).collect();
        assert_eq!(counted, [7, 4, 3]);
    }

    #[test]
    fn a_file_that_is_not_rust_says_where() {
        let error = source("fn f() {\n    }}\n")
            .error
            .expect("braces do not match");
        assert!(error.contains("line 2"), "{error}");
    }

    #[test]
    fn test_modules_are_recognised() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = source(text);
        let flags: Vec<bool> = (1..=6).map(|line| source.is_test(line)).collect();
        assert_eq!(flags, [false, true, true, true, true, false]);
        assert_eq!(source.lines_without_tests(), 2);
        for (condition, is_test) in [
            ("all(test, loom)", true),
            ("not(test)", false),
            ("any(test, feature = \"x\")", false),
            ("testing", false),
        ] {
            let text = format!("#[cfg({condition})]\nmod m {{\n}}\n");
            assert_eq!(self::source(&text).is_test(2), is_test, "{condition}");
        }
    }

    #[test]
    fn essence_ignores_what_the_program_does_not_see() {
        let a = source("/// A.\nconst A: u8 = 1; // one\n#[cfg(test)]\nmod tests {}\n").essence();
        let b = source("//! Head.\n/* other */ const A:u8=1;\n").essence();
        let c = source("const A: u8 = 2;\n").essence();
        assert_eq!(a, b);
        assert_ne!(a, c);
    }
}
