//! JSON as it comes: values with their paths, objects as they close. Nothing is built, so that
//! memory does not grow with the file; what is cut gives what was whole; any depth is survived.

use super::awr::cell::GridCell;
use measure::origin::TextSpan;

/// Depth of which names are kept: nothing that is read lies deeper.
const KEPT_DEPTH: usize = 16;
/// Depth that is followed.
const DEPTH_MAX: usize = 10_000;
/// Bytes of a name or value that are kept.
const TEXT_MAX: usize = 4096;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonStep {
    /// A member of an object.
    Key(String),
    /// An element of an array.
    Index(u64),
}

/// What was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonItem<'a> {
    /// A number, word or string.
    Value(JsonValue<'a>),
    /// The end of an object or array.
    Close,
}

/// A number, word or string, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonValue<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its characters, without quotes.
    pub span: Option<TextSpan>,
    /// Those of its name, where it is a member.
    pub name_span: Option<TextSpan>,
}

impl JsonValue<'_> {
    /// The value as text of at most so many characters.
    #[must_use]
    pub fn kept(&self, max: usize) -> GridCell {
        GridCell {
            text: self.text.chars().take(max).collect(),
            span: self.span,
            ..GridCell::default()
        }
    }
}

/// Where and what the text stops being JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// Line, from 1.
    pub line: u64,
    /// What was found.
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum In {
    /// Before a document: whatever does not begin with a brace is passed over.
    Outside,
    Value,
    Key,
    Colon,
    Comma,
    Text {
        key: bool,
        escaped: bool,
        unicode: u8,
    },
    Word,
}

/// Where a character is.
#[derive(Clone, Copy, Debug, Default)]
struct JsonPlace {
    line: u64,
    /// Characters before it, of the file and up to its line; a line end is one.
    chars: u64,
    line_began: u64,
}

/// Reads JSON as it comes, however it is cut.
#[derive(Debug)]
pub struct Json {
    state: In,
    /// Whether each open container is an object.
    open: Vec<bool>,
    path: Vec<JsonStep>,
    text: Vec<u8>,
    code: u32,
    at_line_start: bool,
    place: JsonPlace,
    /// Where the text that is being read began.
    began: JsonPlace,
    name_span: Option<TextSpan>,
    /// Lines so far.
    pub line: u64,
    /// Where it broke; nothing is read after that.
    pub broken: Option<JsonError>,
    /// Documents that began.
    pub documents: u64,
}

impl Default for Json {
    fn default() -> Json {
        Json {
            state: In::Outside,
            open: Vec::new(),
            path: Vec::new(),
            text: Vec::new(),
            code: 0,
            at_line_start: true,
            place: JsonPlace::default(),
            began: JsonPlace::default(),
            name_span: None,
            line: 1,
            broken: None,
            documents: 0,
        }
    }
}

impl Json {
    /// Takes the next text; hands what is met to `each` with its path.
    pub fn feed(&mut self, bytes: &[u8], each: &mut impl FnMut(&[JsonStep], JsonItem<'_>)) {
        for &b in bytes {
            if self.broken.is_none() {
                self.byte(b, each);
            }
            // Bytes inside of a character and carriage returns are no characters.
            self.place.chars += u64::from(b & 0xc0 != 0x80 && b != b'\r');
            if b == b'\n' {
                self.line += 1;
                self.place.line_began = self.place.chars;
            }
        }
    }

    /// From where a text began up to here.
    fn span(&self) -> Option<TextSpan> {
        let began = self.began;
        Some(TextSpan {
            line: u32::try_from(began.line).ok()?,
            column: u32::try_from(began.chars.checked_sub(began.line_began)? + 1).ok()?,
            length: u32::try_from(self.place.chars.checked_sub(began.chars)?).ok()?,
        })
        .filter(|span| span.length > 0)
    }

    /// A text begins `behind` characters from here.
    fn begin(&mut self, behind: u64) {
        self.began = JsonPlace {
            line: self.line,
            chars: self.place.chars + behind,
            ..self.place
        };
    }

    /// Whether the file ended inside a document.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        !self.open.is_empty()
    }

    fn byte(&mut self, b: u8, each: &mut impl FnMut(&[JsonStep], JsonItem<'_>)) {
        match self.state {
            In::Outside => self.outside(b),
            In::Text {
                key,
                escaped,
                unicode,
            } => self.string(b, key, escaped, unicode, each),
            In::Word => {
                let ends = b.is_ascii_whitespace() || matches!(b, b',' | b'}' | b']');
                if !ends {
                    self.keep(b);
                    return;
                }
                self.give(each);
                self.state = In::Comma;
                self.byte(b, each);
            }
            _ if b.is_ascii_whitespace() => {}
            In::Value => match b {
                b'{' => self.push(true),
                b'[' => self.push(false),
                b']' if self.open.last() == Some(&false) => self.pop(each),
                b'"' => {
                    self.begin(1);
                    self.state = In::Text {
                        key: false,
                        escaped: false,
                        unicode: 0,
                    }
                }
                b'-' | b'0'..=b'9' | b't' | b'f' | b'n' | b'N' | b'i' => {
                    self.state = In::Word;
                    self.begin(0);
                    self.keep(b);
                }
                _ => self.breaks(b, "a value"),
            },
            In::Key => match b {
                b'"' => {
                    self.begin(1);
                    self.state = In::Text {
                        key: true,
                        escaped: false,
                        unicode: 0,
                    }
                }
                b'}' => self.pop(each),
                _ => self.breaks(b, "a name"),
            },
            In::Colon => match b {
                b':' => self.state = In::Value,
                _ => self.breaks(b, "a colon"),
            },
            In::Comma => match (b, self.open.last()) {
                (b',', Some(true)) => self.state = In::Key,
                (b',', Some(false)) => {
                    let depth = self.open.len();
                    if let Some(JsonStep::Index(i)) = self.path.get_mut(depth - 1) {
                        *i += 1;
                    }
                    self.state = In::Value;
                }
                (b'}', Some(true)) | (b']', Some(false)) => self.pop(each),
                _ => self.breaks(b, "a comma or an end"),
            },
        }
    }

    fn outside(&mut self, b: u8) {
        match b {
            b'{' | b'[' if self.at_line_start => {
                self.documents += 1;
                self.push(b == b'{');
            }
            b'\n' => self.at_line_start = true,
            b' ' | b'\t' | b'\r' => {}
            _ => self.at_line_start = false,
        }
    }

    fn string(
        &mut self,
        b: u8,
        key: bool,
        escaped: bool,
        unicode: u8,
        each: &mut impl FnMut(&[JsonStep], JsonItem<'_>),
    ) {
        let text = |escaped, unicode| In::Text {
            key,
            escaped,
            unicode,
        };
        let mut next = text(false, 0);
        if unicode > 0 {
            let Some(digit) = (b as char).to_digit(16) else {
                self.breaks(b, "a digit of an escape");
                return;
            };
            self.code = self.code * 16 + digit;
            if unicode == 1 {
                let c = char::from_u32(self.code).unwrap_or(char::REPLACEMENT_CHARACTER);
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes).bytes().for_each(|b| self.keep(b));
            }
            next = text(false, unicode - 1);
        } else if escaped {
            match b {
                b'u' => {
                    self.code = 0;
                    next = text(false, 4);
                }
                b'n' => self.keep(b'\n'),
                b't' => self.keep(b'\t'),
                b'r' => self.keep(b'\r'),
                _ => self.keep(b),
            }
        } else {
            match b {
                b'\\' => next = text(true, 0),
                b'"' if key => {
                    self.name();
                    next = In::Colon;
                }
                b'"' => {
                    self.give(each);
                    next = In::Comma;
                }
                _ => self.keep(b),
            }
        }
        self.state = next;
    }

    fn name(&mut self) {
        let name = String::from_utf8_lossy(&self.text).into_owned();
        self.name_span = self.span();
        self.text.clear();
        if let Some(step) = self.path.get_mut(self.open.len() - 1) {
            *step = JsonStep::Key(name);
        }
    }

    fn keep(&mut self, b: u8) {
        if self.text.len() < TEXT_MAX {
            self.text.push(b);
        }
    }

    fn give(&mut self, each: &mut impl FnMut(&[JsonStep], JsonItem<'_>)) {
        if self.open.len() <= KEPT_DEPTH {
            let text = String::from_utf8_lossy(&self.text);
            let value = JsonValue {
                text: &text,
                span: self.span(),
                name_span: self.name_span,
            };
            each(&self.path, JsonItem::Value(value));
        }
        self.text.clear();
    }

    fn push(&mut self, object: bool) {
        if self.open.len() >= DEPTH_MAX {
            self.broken = Some(JsonError {
                line: self.line,
                what: format!("nested over {DEPTH_MAX} deep"),
            });
            return;
        }
        self.open.push(object);
        if self.open.len() <= KEPT_DEPTH {
            self.path.push(match object {
                true => JsonStep::Key(String::new()),
                false => JsonStep::Index(0),
            });
        }
        self.state = if object { In::Key } else { In::Value };
    }

    fn pop(&mut self, each: &mut impl FnMut(&[JsonStep], JsonItem<'_>)) {
        if self.open.len() <= KEPT_DEPTH {
            self.path.pop();
            each(&self.path, JsonItem::Close);
        }
        self.open.pop();
        self.state = match self.open.is_empty() {
            true => In::Outside,
            false => In::Comma,
        };
        self.at_line_start = true;
    }

    fn breaks(&mut self, b: u8, wanted: &str) {
        self.broken = Some(JsonError {
            line: self.line,
            what: format!(
                "`{}` where {wanted} is expected",
                (b as char).escape_default()
            ),
        });
    }
}

/// The name at a depth of a path.
#[must_use]
pub fn key(path: &[JsonStep], depth: usize) -> Option<&str> {
    match path.get(depth) {
        Some(JsonStep::Key(name)) => Some(name),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Spans = Vec<(u32, u32, u32)>;

    fn read(text: &str, step: usize) -> (Vec<String>, Spans, Json) {
        let (mut json, mut out, mut spans) = (Json::default(), Vec::new(), Vec::new());
        for chunk in text.as_bytes().chunks(step) {
            json.feed(chunk, &mut |path, met| {
                let path: Vec<String> = path
                    .iter()
                    .map(|s| match s {
                        JsonStep::Key(k) => k.clone(),
                        JsonStep::Index(i) => i.to_string(),
                    })
                    .collect();
                if let JsonItem::Value(v) = met {
                    let span = v.span.map(<(u32, u32, u32)>::from);
                    spans.push(span.expect("not empty"));
                    out.push(format!("{}={}", path.join("."), v.text));
                }
            });
        }
        (out, spans, json)
    }

    #[test]
    fn values_with_paths() {
        let text = "fio: warning [x]\n{\"a\": [1, {\"b\\u00b5\": \"c\\\"\"}], \"d\": {}, \"e\": null}\n\
            bye\n[2]";
        for step in [1, 2, 7, 1000] {
            let (out, spans, json) = read(text, step);
            assert_eq!(out, ["a.0=1", "a.1.bµ=c\"", "e=null", "0=2"]);
            assert_eq!(spans, [(2, 8, 1), (2, 24, 3), (2, 46, 4), (4, 2, 1)]);
            assert!(json.broken.is_none() && !json.is_cut());
            assert_eq!((json.documents, json.line), (2, 4));
        }
    }

    #[test]
    fn what_is_broken_or_deep_ends_it() {
        for (text, what) in [
            ("{\"a\" 1}", "a colon"),
            ("{\"a\": }", "a value"),
            ("{1}", "a name"),
            ("[1 2]", "a comma"),
            ("[1}", "a comma"),
        ] {
            let (_, _, json) = read(text, 3);
            assert!(json.broken.is_some_and(|b| b.what.contains(what)), "{text}");
        }
        let (_, _, json) = read(&"[".repeat(100_000), 4096);
        assert!(json.broken.is_some_and(|b| b.what.contains("deep")));
        let (out, _, json) = read("{\"a\": 1, \"b\": 2", 5);
        assert_eq!((out, json.is_cut()), (vec!["a=1".to_owned()], true));
    }
}
