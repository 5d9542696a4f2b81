//! A Rust file taken apart as far as the rules need: words and marks of its code with their
//! lines, its comments by line, and which lines belong to tests.
//!
//! Invariant: what stands in a comment or a literal never becomes a token. It is a lexer, not a
//! parser: braces are matched, nothing is resolved, macros are read as they stand.

use crate::tree::File;

/// What a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Code.
    Code,
    /// A comment of any kind.
    Comment,
    /// A string or character literal, with its quotes.
    Literal,
}

/// A word (identifier, keyword, number) or a single mark of punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its characters.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
}

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Line of `fn`.
    pub line: usize,
    /// Lines from `fn` to the closing brace.
    pub lines: usize,
}

/// A Rust file.
#[derive(Debug)]
pub struct Source {
    /// From the root.
    pub path: String,
    /// Each line's characters, with what they belong to.
    pub lines: Vec<Vec<(char, Class)>>,
    /// Its code.
    pub tokens: Vec<Token>,
    /// For each line, whether it belongs to a test.
    in_test: Vec<bool>,
}

impl Source {
    /// Takes a file apart.
    pub fn new(file: &File) -> Source {
        let characters: Vec<char> = file.text.chars().collect();
        let classes = classify(&characters);
        let mut lines = vec![Vec::new()];
        for (character, class) in characters.into_iter().zip(classes) {
            if character == '\n' {
                lines.push(Vec::new());
            } else if let Some(line) = lines.last_mut() {
                line.push((character, class));
            }
        }
        if lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        let tokens = tokens(&lines);
        let whole = is_test_path(&file.path);
        let mut in_test = vec![whole; lines.len()];
        for (first, last) in test_regions(&tokens) {
            for flag in in_test.iter_mut().take(last).skip(first - 1) {
                *flag = true;
            }
        }
        Source {
            path: file.path.clone(),
            lines,
            tokens,
            in_test,
        }
    }

    /// Whether the line (from 1) belongs to a test.
    pub fn is_test(&self, line: usize) -> bool {
        self.in_test.get(line - 1).copied().unwrap_or(false)
    }

    /// Lines that are not in a test module; all of them in a file that is nothing but tests.
    pub fn lines_without_tests(&self) -> usize {
        if is_test_path(&self.path) {
            return self.lines.len();
        }
        self.in_test.iter().filter(|flag| !**flag).count()
    }

    /// Text of one class on a line (from 1).
    pub fn text(&self, line: usize, class: Class) -> String {
        let line = self.lines.get(line - 1).map_or(&[][..], Vec::as_slice);
        line.iter()
            .filter(|(_, c)| *c == class)
            .map(|(character, _)| character)
            .collect()
    }

    /// Whether the tokens from `at` read as `expected`.
    pub fn reads(&self, at: usize, expected: &[&str]) -> bool {
        reads(&self.tokens, at, expected)
    }

    /// Every function that has a body.
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let Some(name) = self.tokens.get(at + 1) else {
                break;
            };
            if token.text != "fn" || !name.text.starts_with(is_word) {
                continue;
            }
            if let Some((end, true)) = item_end(&self.tokens, at + 2) {
                found.push(Function {
                    name: name.text.clone(),
                    line: token.line,
                    lines: end - token.line + 1,
                });
            }
        }
        found
    }

    /// The code without comments, blanks and test modules: what changes when the program does.
    pub fn essence(&self) -> String {
        let mut text = String::new();
        for (index, line) in self.lines.iter().enumerate() {
            if self.is_test(index + 1) {
                continue;
            }
            for (character, class) in line {
                let blank = *class == Class::Code && character.is_whitespace();
                if *class != Class::Comment && !blank {
                    text.push(*character);
                }
            }
        }
        text
    }
}

/// Whether a whole file is tests, by where it stands and how it is named: in a folder `tests` or
/// `benches`, or `tests.rs`, or `module_tests.rs`.
pub fn is_test_path(path: &str) -> bool {
    let folder = path
        .split('/')
        .any(|part| part == "tests" || part == "benches");
    folder || path.ends_with("/tests.rs") || path.ends_with("_tests.rs")
}

fn reads(tokens: &[Token], at: usize, expected: &[&str]) -> bool {
    let rest = tokens.get(at..).unwrap_or(&[]);
    rest.len() >= expected.len() && rest.iter().zip(expected).all(|(t, e)| t.text == *e)
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn tokens(lines: &[Vec<(char, Class)>]) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let mut grows = false;
        for (character, class) in line {
            let word = *class == Class::Code && is_word(*character);
            if word && grows {
                if let Some(last) = found.last_mut() {
                    last.text.push(*character);
                }
            } else if *class == Class::Code && !character.is_whitespace() {
                found.push(Token {
                    text: character.to_string(),
                    line: index + 1,
                });
            }
            grows = word;
        }
    }
    found
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
        let says = |word: &str| condition.iter().any(|t| t.text == word);
        if !says("test") || says("any") || says("not") {
            continue;
        }
        if let Some((last, _)) = item_end(tokens, close + 1) {
            found.push((token.line, last));
        }
    }
    found
}

/// Last line of the item that goes on at `at`, and whether it has a body.
fn item_end(tokens: &[Token], at: usize) -> Option<(usize, bool)> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token.text.as_str() {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => return Some((token.line, false)),
            "{" if depth == 0 => {
                let end = closing(tokens, index, "{", "}")?;
                return tokens.get(end).map(|t| (t.line, true));
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

/// What each character belongs to.
fn classify(c: &[char]) -> Vec<Class> {
    let mut classes = vec![Class::Code; c.len()];
    let mut at = 0;
    while at < c.len() {
        let found = match (c.get(at), c.get(at + 1)) {
            (Some('/'), Some('/')) => Some((line_end(c, at), Class::Comment)),
            (Some('/'), Some('*')) => Some((block_end(c, at), Class::Comment)),
            _ => literal_end(c, at).map(|end| (end, Class::Literal)),
        };
        let (end, class) = found.unwrap_or((at + 1, Class::Code));
        classes
            .iter_mut()
            .take(end)
            .skip(at)
            .for_each(|slot| *slot = class);
        at = end;
    }
    classes
}

fn line_end(c: &[char], at: usize) -> usize {
    (at..c.len())
        .find(|i| c.get(*i) == Some(&'\n'))
        .unwrap_or(c.len())
}

fn block_end(c: &[char], at: usize) -> usize {
    let (mut depth, mut i) = (0usize, at);
    while i < c.len() {
        match (c.get(i), c.get(i + 1)) {
            (Some('/'), Some('*')) => (depth, i) = (depth + 1, i + 2),
            (Some('*'), Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            return i;
        }
    }
    c.len()
}

/// End of the literal that begins at `at`, if one does.
fn literal_end(c: &[char], at: usize) -> Option<usize> {
    let fresh = at == 0 || c.get(at - 1).is_none_or(|before| !is_word(*before));
    let mut i = at;
    if fresh && matches!(c.get(i), Some('b' | 'c')) {
        i += 1;
    }
    if fresh && c.get(i) == Some(&'r') {
        let hashes = c.iter().skip(i + 1).take_while(|h| **h == '#').count();
        let quote = i + 1 + hashes;
        if c.get(quote) != Some(&'"') {
            return None;
        }
        let closes = |q: &usize| {
            c.get(*q) == Some(&'"') && (1..=hashes).all(|h| c.get(*q + h) == Some(&'#'))
        };
        let end = (quote + 1..c.len()).find(closes).map(|q| q + 1 + hashes);
        return Some(end.unwrap_or(c.len()));
    }
    match c.get(i)? {
        '"' => Some(quoted_end(c, i, '"')),
        '\'' if c.get(i + 1) == Some(&'\\') || c.get(i + 2) == Some(&'\'') => {
            Some(quoted_end(c, i, '\''))
        }
        _ => None,
    }
}

fn quoted_end(c: &[char], at: usize, quote: char) -> usize {
    let mut i = at + 1;
    while let Some(character) = c.get(i) {
        match *character {
            '\\' => i += 2,
            other if other == quote => return i + 1,
            _ => i += 1,
        }
    }
    c.len()
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

    fn words(text: &str) -> Vec<String> {
        source(text).tokens.into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn comments_and_literals_are_not_code() {
        for (text, expected) in [
            ("a // b\nc", "a c"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"f("unsafe { \" }")"#, "f ( )"),
            (r###"r#"x " y"# z"###, "z"),
            ("br\"\\\" b", "b"),
            ("'{' x", "x"),
            ("'\\'' x", "x"),
            ("b'{' x", "x"),
            ("&'a str", "& ' a str"),
            ("r#fn x", "r # fn x"),
            ("\"a\nb\" c", "c"),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let text = "trait T { fn none(&self, a: [u8; 4]); }\n\
            fn one() -> bool { \"}\"; true }\n\
            fn three(\n    f: fn(u8),\n) { /* } */ }\n";
        let found: Vec<(String, usize, usize)> = source(text)
            .functions()
            .into_iter()
            .map(|f| (f.name, f.line, f.lines))
            .collect();
        let expected = [("one".to_string(), 2, 1), ("three".to_string(), 3, 3)];
        assert_eq!(found, expected);
    }

    #[test]
    fn test_modules_are_told_apart() {
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
        let a = source("const A: u8 = 1; // one\n#[cfg(test)]\nmod tests {}\n").essence();
        let b = source("/* other */ const A:u8=1;\n").essence();
        let c = source("const A: u8 = 2;\n").essence();
        assert_eq!(a, b);
        assert_ne!(a, c);
    }
}
