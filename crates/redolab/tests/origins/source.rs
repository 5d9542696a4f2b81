//! The text of a file by lines and characters, decoded here and not by the readers.

/// A file's lines, each as characters.
#[derive(Debug)]
pub struct SourceText {
    pub lines: Vec<Vec<char>>,
}

impl SourceText {
    pub fn of(bytes: &[u8]) -> SourceText {
        let text = decoded(bytes);
        let mut lines: Vec<Vec<char>> = Vec::new();
        for line in text.split('\n') {
            let line = line.trim_end_matches('\r');
            lines.push(line.chars().collect());
        }
        // What ends with a line end has no line behind it.
        if lines.last().is_some_and(Vec::is_empty) {
            lines.pop();
        }
        SourceText { lines }
    }

    /// Characters from a place, over the ends of lines.
    pub fn at(&self, line: u64, column: u64, length: u64) -> Option<String> {
        let (mut line, mut column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
        let mut out = String::new();
        for _ in 0..length {
            let chars = self.lines.get(line.checked_sub(1)?)?;
            match chars.get(column.checked_sub(1)?) {
                Some(c) => out.push(*c),
                None if column == chars.len() + 1 => out.push('\n'),
                None => return None,
            }
            if column > chars.len() {
                (line, column) = (line + 1, 1);
            } else {
                column += 1;
            }
        }
        Some(out)
    }

    /// A line as text.
    pub fn line(&self, line: u64) -> String {
        let at = usize::try_from(line).ok().and_then(|n| n.checked_sub(1));
        let chars = at.and_then(|at| self.lines.get(at));
        chars.map_or(String::new(), |c| c.iter().collect())
    }
}

fn decoded(bytes: &[u8]) -> String {
    let units = |big: bool, bytes: &[u8]| {
        let pairs = bytes.chunks_exact(2).map(|p| match big {
            true => u16::from_be_bytes([p[0], p[1]]),
            false => u16::from_le_bytes([p[0], p[1]]),
        });
        String::from_utf16_lossy(&pairs.collect::<Vec<u16>>())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => units(false, rest),
        [0xfe, 0xff, rest @ ..] => units(true, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        [1..=0x7f, 0, 1..=0x7f, 0, ..] => units(false, bytes),
        [0, 1..=0x7f, 0, 1..=0x7f, ..] => units(true, bytes),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// Text as people see it: without tags and entities where it is HTML, white space as one blank.
pub fn shown(text: &str, is_html: bool) -> String {
    let mut out = text.to_owned();
    if is_html {
        let mut bare = String::new();
        let mut in_tag = false;
        for c in out.chars() {
            match c {
                '<' => in_tag = true,
                // A tag separates words only where it is a line break: others are inside of them.
                '>' if in_tag => in_tag = false,
                c if !in_tag => bare.push(c),
                _ => {}
            }
        }
        for (entity, c) in [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&nbsp;", " "),
            ("&#160;", " "),
            ("&amp;", "&"),
        ] {
            bare = bare.replace(entity, c);
        }
        out = bare;
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}
