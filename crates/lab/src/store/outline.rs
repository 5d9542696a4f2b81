//! The outline of a run's JSON: where its parts are, and what reading them would take.
//!
//! A run that is given as a file may be anything: a text of 120 MB of empty strings takes 2 GB of
//! memory. So the text is walked first, byte by byte and without keeping it, and what it would take
//! is estimated from above; only then is it read.
//!
//! Invariants: nothing is kept but names and positions; nesting and names are bounded. What is
//! accepted here need not be JSON, the reader behind it decides.

use std::io::{self, BufRead, Read};
use std::ops::Range;

/// Longest text of a run, in bytes: the writer, `import` and every reader keep to it.
pub const RUN_MAX_BYTES: u64 = 64 << 20;
/// Most memory that a run may take, in bytes, as estimated before it is read. An import with every
/// table and series that is kept of evidence takes half of it.
pub const RUN_MAX_MEMORY: u64 = 48 << 20;
/// Interval files of an exported run, and recordings, at most.
const FILES_MAX: usize = 4096;
/// Nesting that is walked; what reads the JSON bounds it alike.
const DEPTH_MAX: usize = 128;
/// Longest name of a field that is kept.
const NAME_MAX: usize = 128;

/// Estimates for values, in bytes: the larger of what the types of a run take and of what the
/// allocator adds. Under `imported` objects are many and small (points of a series).
const OBJECT: u64 = 512;
const OBJECT_IMPORTED: u64 = 64;
const ELEMENT: u64 = 32;
const FIELD: u64 = 16;
/// What a field adds beyond the first [`FIELDS_OF_OBJECT`] of its object: fields of a row that are
/// in groups, and unknown ones, are buffered until the row ends.
const BUFFERED_FIELD: u64 = 64;
const FIELDS_OF_OBJECT: u64 = 16;
const STRING: u64 = 56;

/// An exported run's parts, as positions in its text.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The value of the field `run`.
    pub(super) run: Range<u64>,
    /// Memory that the run would take.
    pub(super) run_memory: u64,
    /// Each interval file: its name, and the text between the quotes.
    pub(super) files: Vec<(String, Range<u64>)>,
    /// Each recording: its file's name, and the text between the quotes.
    pub(super) recordings: Vec<(String, Range<u64>)>,
}

impl Outline {
    /// Walks an exported run of `schema`.
    ///
    /// # Errors
    /// Another schema, what is not an object of `schema`, `run`, `hlog` and perhaps `recording`;
    /// the system's errors.
    pub(super) fn of(input: impl BufRead, schema: &str) -> io::Result<Outline> {
        let mut walk = Walk::new(input);
        let mut outline = Outline::default();
        let mut seen = [false; 4];
        let fields = ["schema", "run", "hlog", "recording"];
        walk.object(&mut |walk, name| {
            let field = fields.iter().position(|f| *f == name);
            let field = field.ok_or_else(|| bad(format!("unknown field `{name}`")))?;
            if std::mem::replace(&mut seen[field], true) {
                return Err(bad(format!("the field `{name}` is there twice")));
            }
            match field {
                0 => {
                    if let Some(what) = super::other_version(&walk.name()?, schema) {
                        return Err(bad(what));
                    }
                }
                1 => {
                    walk.space()?;
                    let start = walk.at;
                    walk.value(0, Place::Run)?;
                    outline.run = start..walk.at;
                }
                2 => outline.files = walk.texts("interval files")?,
                _ => outline.recordings = walk.texts("recordings")?,
            }
            Ok(())
        })?;
        walk.space()?;
        if walk.peek()?.is_some() {
            return Err(bad("there is more text after its end".to_owned()));
        }
        if let Some(missing) = (0..3).find(|i| !seen[*i]) {
            return Err(bad(format!("missing field `{}`", fields[missing])));
        }
        outline.run_memory = walk.memory;
        Ok(outline)
    }
}

/// Refuses the text of a run that would take too much memory.
///
/// # Errors
/// What it would take, and what is not JSON.
pub(super) fn check(text: &[u8]) -> Result<(), String> {
    fits(text.len() as u64, weigh(text).map_err(|e| e.to_string())?)
}

/// The memory that a run takes whose JSON this is, estimated from above.
fn weigh(text: &[u8]) -> io::Result<u64> {
    let mut walk = Walk::new(text);
    walk.value(0, Place::Run)?;
    Ok(walk.memory)
}

/// Refuses a run of so many bytes, and of so many in memory.
pub(super) fn fits(bytes: u64, memory: u64) -> Result<(), String> {
    if bytes > RUN_MAX_BYTES {
        return Err(format!(
            "the run has {bytes} bytes of text, and at most {RUN_MAX_BYTES} can be read"
        ));
    }
    if memory > RUN_MAX_MEMORY {
        return Err(too_large());
    }
    Ok(())
}

fn too_large() -> String {
    format!("the run would take over {RUN_MAX_MEMORY} bytes of memory, more than is used for one")
}

fn bad(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// What a value is a part of.
#[derive(Clone, Copy)]
enum Place {
    /// The run itself, whose field `imported` counts otherwise.
    Run,
    /// Below a field of an object, or an element of an array; inside `imported` or not.
    Field(bool),
    Element(bool),
}

struct Walk<R> {
    input: R,
    at: u64,
    memory: u64,
}

impl<R: BufRead> Walk<R> {
    fn new(input: R) -> Walk<R> {
        Walk {
            input,
            at: 0,
            memory: 0,
        }
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        Ok(self.input.fill_buf()?.first().copied())
    }

    fn skip(&mut self, bytes: usize) {
        self.input.consume(bytes);
        self.at += bytes as u64;
    }

    fn space(&mut self) -> io::Result<()> {
        loop {
            let buffered = self.input.fill_buf()?;
            let blank = |b: &&u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r');
            let blanks = buffered.iter().take_while(blank).count();
            let ended = blanks < buffered.len() || buffered.is_empty();
            self.skip(blanks);
            if ended {
                return Ok(());
            }
        }
    }

    /// Takes `wanted` if it is next.
    fn take(&mut self, wanted: u8) -> io::Result<bool> {
        self.space()?;
        let is = self.peek()? == Some(wanted);
        if is {
            self.skip(1);
        }
        Ok(is)
    }

    fn expect(&mut self, wanted: u8) -> io::Result<()> {
        if self.take(wanted)? {
            return Ok(());
        }
        let (wanted, at) = (char::from(wanted), self.at);
        Err(bad(format!("no `{wanted}` at byte {at}")))
    }

    /// A string, whose bytes between the quotes are kept in `keep` as long as they are few; their
    /// number is returned.
    fn string(&mut self, mut keep: Option<&mut Vec<u8>>) -> io::Result<u64> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let buffered = self.input.fill_buf()?;
            if buffered.is_empty() {
                return Err(bad("it ends inside a string".to_owned()));
            }
            let mut used = 0;
            let mut ended = false;
            for byte in buffered {
                if *byte == b'"' && !escaped {
                    ended = true;
                    break;
                }
                escaped = *byte == b'\\' && !escaped;
                used += 1;
            }
            if let Some(kept) = keep.as_deref_mut() {
                if kept.len() + used > NAME_MAX {
                    return Err(bad(format!("a name over {NAME_MAX} bytes")));
                }
                kept.extend(buffered.iter().take(used));
            }
            self.skip(used);
            if ended {
                let length = self.at - start;
                self.skip(1);
                return Ok(length);
            }
        }
    }

    /// A string that is short, without looking at escapes in it.
    fn name(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.string(Some(&mut bytes))?;
        String::from_utf8(bytes).map_err(|_| bad("a name is not UTF-8".to_owned()))
    }

    fn object(
        &mut self,
        field: &mut dyn FnMut(&mut Walk<R>, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        self.expect(b'{')?;
        if self.take(b'}')? {
            return Ok(());
        }
        loop {
            let name = self.name()?;
            self.expect(b':')?;
            field(self, &name)?;
            if !self.take(b',')? {
                return self.expect(b'}');
            }
        }
    }

    /// An object of strings: the name of each, and where its text is.
    fn texts(&mut self, what: &str) -> io::Result<Vec<(String, Range<u64>)>> {
        let mut texts = Vec::new();
        self.object(&mut |walk, name| {
            if texts.len() == FILES_MAX {
                return Err(bad(format!("over {FILES_MAX} {what}")));
            }
            walk.space()?;
            let start = walk.at + 1;
            walk.string(None)?;
            texts.push((name.to_owned(), start..walk.at - 1));
            Ok(())
        })?;
        Ok(texts)
    }

    fn value(&mut self, depth: usize, place: Place) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(bad(format!("nested over {DEPTH_MAX} levels")));
        }
        if self.memory > RUN_MAX_MEMORY {
            return Err(bad(too_large()));
        }
        let imported = matches!(place, Place::Field(true) | Place::Element(true));
        let element = matches!(place, Place::Element(_));
        self.space()?;
        match self.peek()? {
            Some(b'{') => {
                self.memory += if imported { OBJECT_IMPORTED } else { OBJECT };
                let mut fields = 0;
                self.object(&mut |walk, name| {
                    fields += 1;
                    if !imported && fields > FIELDS_OF_OBJECT {
                        walk.memory += BUFFERED_FIELD;
                    }
                    let top = matches!(place, Place::Run);
                    let inside = imported || (top && name == "imported");
                    walk.value(depth + 1, Place::Field(inside))
                })
            }
            Some(b'[') => {
                self.memory += ELEMENT;
                self.skip(1);
                if self.take(b']')? {
                    return Ok(());
                }
                loop {
                    self.value(depth + 1, Place::Element(imported))?;
                    if !self.take(b',')? {
                        return self.expect(b']');
                    }
                }
            }
            Some(b'"') => {
                let length = self.string(None)?;
                self.memory += length + if element { STRING } else { FIELD };
                Ok(())
            }
            _ => {
                self.memory += match (element, imported) {
                    (true, _) => ELEMENT,
                    (false, true) => 0,
                    (false, false) => FIELD,
                };
                self.scalar()
            }
        }
    }

    /// A number, `true`, `false` or `null`.
    fn scalar(&mut self) -> io::Result<()> {
        let start = self.at;
        loop {
            let buffered = self.input.fill_buf()?;
            let part = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
            let used = buffered.iter().take_while(part).count();
            let ended = used < buffered.len() || buffered.is_empty();
            self.skip(used);
            if ended && self.at == start {
                return Err(bad(format!("no value at byte {start}")));
            }
            if ended {
                return Ok(());
            }
        }
    }
}

/// The text of a JSON string, from the bytes between its quotes.
pub(super) struct Unescaped<R> {
    input: R,
    /// What an escape gave beyond what was asked for.
    rest: Vec<u8>,
}

impl<R: BufRead> Unescaped<R> {
    pub(super) fn new(input: R) -> Unescaped<R> {
        Unescaped {
            input,
            rest: Vec::new(),
        }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn four(&mut self) -> io::Result<u32> {
        let mut digits = [0; 4];
        self.input.read_exact(&mut digits)?;
        let text = std::str::from_utf8(&digits).ok();
        text.filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()))
            .and_then(|t| u32::from_str_radix(t, 16).ok())
            .ok_or_else(|| bad("an invalid escape sequence".to_owned()))
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> io::Result<char> {
        Ok(match self.byte()? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            plain @ (b'"' | b'\\' | b'/') => char::from(plain),
            b'u' => {
                let mut code = self.four()?;
                if (0xd800..0xdc00).contains(&code) {
                    let pair = [self.byte()?, self.byte()?] == *b"\\u";
                    let low = if pair { self.four()? } else { 0 };
                    let valid = (0xdc00..0xe000).contains(&low);
                    code = if valid {
                        0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                    } else {
                        code
                    };
                }
                char::from_u32(code).ok_or_else(|| bad("half a surrogate pair".to_owned()))?
            }
            _ => return Err(bad("an invalid escape sequence".to_owned())),
        })
    }
}

impl<R: BufRead> Read for Unescaped<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        if self.rest.is_empty() {
            let buffered = self.input.fill_buf()?;
            let plain = buffered.iter().take_while(|b| **b != b'\\').take(buf.len());
            let n = plain.count();
            if buffered.is_empty() {
                return Ok(0);
            }
            if n > 0 {
                let (to, from) = (buf.iter_mut(), buffered.iter());
                to.zip(from.take(n)).for_each(|(to, from)| *to = *from);
                if buffered.iter().take(n).any(|b| *b < b' ') {
                    return Err(bad("a control character in a string".to_owned()));
                }
                self.input.consume(n);
                return Ok(n);
            }
            self.input.consume(1);
            let mut utf8 = [0; 4];
            let found = self.escape()?;
            self.rest.extend(found.encode_utf8(&mut utf8).bytes());
        }
        let n = self.rest.len().min(buf.len());
        buf.iter_mut()
            .zip(self.rest.drain(..n))
            .for_each(|(to, from)| *to = from);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_any_order_and_layout() {
        for text in [
            r#"{"schema":"s/1","run":{"a":[1,"x"]},"hlog":{"1.hlog":"a\nb","2.hlog":""}}"#,
            "{ \"hlog\" : { \"1.hlog\" : \"a\\nb\" , \"2.hlog\":\"\" }\n,\"run\":\t{\"a\":[1,\"x\"]},\
             \"schema\":\"s/1\" } \n",
        ] {
            let outline = Outline::of(text.as_bytes(), "s/1").expect(text);
            let part = |r: &Range<u64>| text[r.start as usize..r.end as usize].to_owned();
            assert_eq!(part(&outline.run), r#"{"a":[1,"x"]}"#);
            let files: Vec<(String, String)> = outline
                .files
                .iter()
                .map(|(name, range)| (name.clone(), part(range)))
                .collect();
            let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
            assert_eq!(files, [pair("1.hlog", r"a\nb"), pair("2.hlog", "")]);
        }
        for bad in [
            "",
            "{}",
            "[]",
            r#"{"schema":"s","run":1,"hlog":{},"x":1}"#,
            r#"{"schema":"s","run":1,"hlog":{}} x"#,
            r#"{"schema":"s","schema":"s","run":1,"hlog":{}}"#,
            r#"{"schema":"s","run":{"a":[1,,2]},"hlog":{}}"#,
            r#"{"schema":"s","run":1,"hlog":{"a":1}}"#,
            r#"{"schema":"s","run":1,"hlog":{},"recording":{"a":1}}"#,
            r#"{"schema":"s","run":1,"recording":{}}"#,
            r#"{"schema":"s","run":1,"hlog":{"a":"x"#,
        ] {
            assert!(Outline::of(bad.as_bytes(), "s").is_err(), "{bad}");
        }
        let deep = "[".repeat(100_000);
        assert!(weigh(deep.as_bytes()).is_err());
    }

    #[test]
    fn strings_come_out_as_serde_reads_them() {
        let text = "tab\t quote\" back\\ é 😀 \u{1} \n end/";
        let json = serde_json::to_string(text).expect("a string");
        let escaped = r#""\u00e9\ud83d\ude00\/""#;
        for json in [json.as_str(), escaped] {
            let want: String = serde_json::from_str(json).expect("a string");
            for step in [1, 2, 7, 100] {
                let inner = &json.as_bytes()[1..json.len() - 1];
                let mut from = Unescaped::new(io::BufReader::with_capacity(step, inner));
                let mut out = Vec::new();
                from.read_to_end(&mut out).expect("a string");
                assert_eq!(String::from_utf8(out).expect("UTF-8"), want);
            }
        }
        for bad in [r"\x", r"\ud83d", r"\ud83dxx", r"\u12", r"\", "\u{1}"] {
            let mut out = Vec::new();
            let read = Unescaped::new(bad.as_bytes()).read_to_end(&mut out);
            assert!(read.is_err(), "{bad:?}");
        }
    }

    /// The estimates cover the types that a text can make many of.
    #[test]
    fn estimates_cover_the_types() {
        use measure::imported::{Cell, Column, SeriesPoint};
        use measure::stack::Layer;
        assert!(size_of::<Layer>() as u64 <= OBJECT);
        assert!(size_of::<SeriesPoint>() as u64 <= OBJECT_IMPORTED);
        assert!(size_of::<Column>() as u64 <= OBJECT_IMPORTED);
        assert!(size_of::<Cell>() as u64 <= ELEMENT);
        assert!(size_of::<String>() as u64 <= STRING);
    }
}
