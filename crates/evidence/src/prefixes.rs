//! What another program put before each line of a file (a time stamp, `grep`'s file and number, the
//! mark of a quoted mail): found in the head, cut off each line as the file comes, and counted
//! again in the place of every cell.
//!
//! Invariants: a line stays a line, so that its number is that of the file; a line without what all
//! others begin with is passed over and reported, except in a mail, whose own words are around what
//! it quotes.

use super::head::Head;
use super::lines::{LineBlocks, trim_cr};
use super::notes::{Notes, quote};
use super::stamps;
use measure::imported::Severity;
use measure::origin::TextSpan;

/// Lines of the head that are looked at.
const LINES_MAX: usize = 60;
/// Lines that have to be there.
const LINES_MIN: usize = 3;
/// Lines above the first one that begins so: the command that printed the others.
const ABOVE_MAX: usize = 3;
/// Bytes of a line that may be before its text.
const PREFIX_MAX: usize = 1000;
/// One behind the other: a quoted mail with the output of `grep -n`.
const DEPTH_MAX: usize = 3;
/// Stretches of lines with prefixes of one width.
const RUNS_MAX: usize = 1 << 20;

/// What a line begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LinePrefix {
    Stamp,
    /// A file, and perhaps the number of a line; of how many files they are.
    File {
        path: String,
        is_numbered: bool,
        files: usize,
    },
    Quote,
    /// `31:`.
    Number,
    /// `    31\t`.
    Counted,
    /// The same words on each line.
    Same(String),
}

/// What is before the lines of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundPrefixes<T> {
    /// The outermost first.
    pub(super) prefixes: Vec<LinePrefix>,
    /// The first one.
    pub(super) example: String,
    /// The command that cuts it off, in brackets; empty where no single one does.
    pub(super) how: String,
    /// What is behind it.
    pub(super) behind: T,
}

/// The prefixes behind which a head `fits`. `is_plain` asks for those that no text of a kind begins
/// with itself, else for words that are the same on each line.
pub(super) fn find<T>(
    head: &Head<'_>,
    is_plain: bool,
    fits: &dyn Fn(&Head<'_>, &[LinePrefix]) -> Option<T>,
) -> Option<FoundPrefixes<T>> {
    let mut prefixes = Vec::new();
    let behind = search(head, is_plain, &mut prefixes, fits)?;
    let first = prefixes.first()?;
    let parts = head.lines().filter_map(|line| {
        let text = text_of(line);
        Some(&text[..text.len() - first.behind(text)?.len()])
    });
    let parts: Vec<&str> = parts.take(LINES_MAX).collect();
    let width = parts.first().map_or(0, |p| p.chars().count());
    let is_even = parts.iter().all(|p| p.chars().count() == width);
    Some(FoundPrefixes {
        example: parts.first().map_or("", |p| p.trim()).to_owned(),
        how: match first.how() {
            "" if is_even => format!(" (`cut -c{}-`)", width + 1),
            how => how.to_owned(),
        },
        behind,
        prefixes,
    })
}

fn search<T>(
    head: &Head<'_>,
    is_plain: bool,
    prefixes: &mut Vec<LinePrefix>,
    fits: &dyn Fn(&Head<'_>, &[LinePrefix]) -> Option<T>,
) -> Option<T> {
    for prefix in candidates(head, is_plain) {
        if !prefix.is_on_lines(head) {
            continue;
        }
        prefixes.push(prefix);
        let mut cut = CutPrefixes::new(prefixes[prefixes.len() - 1..].to_vec());
        let rest = cut.whole(head.bytes);
        let rest = Head { bytes: &rest };
        // What is behind it may begin with another one.
        let inner = match prefixes.len() < DEPTH_MAX {
            true => search(&rest, is_plain, prefixes, fits),
            false => None,
        };
        let found = inner.or_else(|| fits(&rest, prefixes));
        if found.is_some() {
            return found;
        }
        prefixes.pop();
    }
    None
}

fn candidates(head: &Head<'_>, is_plain: bool) -> Vec<LinePrefix> {
    if !is_plain {
        return same_words(head).map(LinePrefix::Same).into_iter().collect();
    }
    let of_file = file_prefix(head);
    let others = [LinePrefix::Quote, LinePrefix::Number, LinePrefix::Counted];
    std::iter::once(LinePrefix::Stamp)
        .chain(of_file)
        .chain(others)
        .collect()
}

/// The beginning of a line, as far as it is text.
fn text_of(line: &[u8]) -> &str {
    let line = &line[..line.len().min(PREFIX_MAX)];
    std::str::from_utf8(line)
        .unwrap_or_else(|e| std::str::from_utf8(&line[..e.valid_up_to()]).unwrap_or_default())
}

/// The first lines of a head that are not blank.
fn first_lines<'a>(head: &Head<'a>) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = head.lines().filter(|l| !l.trim_ascii().is_empty());
    lines.map(text_of).take(LINES_MAX)
}

fn file_prefix(head: &Head<'_>) -> Option<LinePrefix> {
    let paths: Vec<&str> = first_lines(head).filter_map(stamps::file).collect();
    let path = *paths.first()?;
    let mut files = paths.clone();
    // A line of context may have a colon later on.
    files.retain(|file| !file.strip_prefix(path).is_some_and(|f| f.starts_with('-')));
    files.sort_unstable();
    files.dedup();
    let behind = first_lines(head).filter_map(|l| after_path(l, path));
    let is_numbered = is_rising(behind.map(|l| stamps::number(l).map(|n| n.0)));
    Some(LinePrefix::File {
        path: path.to_owned(),
        is_numbered,
        files: files.len(),
    })
}

/// What is behind the path and the mark that grep puts behind it: `:`, or `-` on lines of context.
fn after_path<'a>(line: &'a str, path: &str) -> Option<&'a str> {
    line.strip_prefix(path)?.strip_prefix([':', '-'])
}

/// Whether each line has a number, and each is higher than the one before, but for every tenth:
/// outputs of several commands may follow each other.
fn is_rising(numbers: impl Iterator<Item = Option<u64>>) -> bool {
    let Some(numbers) = numbers.collect::<Option<Vec<u64>>>() else {
        return false;
    };
    let falls = numbers.windows(2).filter(|w| w[1] <= w[0]).count();
    numbers.len() > 1 && 10 * falls <= numbers.len()
}

/// The words that all lines begin with, up to a mark: `host1: `, `db_1  | `, `# `.
fn same_words(head: &Head<'_>) -> Option<String> {
    const MARKS: [&str; 8] = [": ", "| ", "] ", "# ", "-- ", "// ", "< ", "+ "];
    let is_bare = |l: &&str| {
        l.trim_end()
            .ends_with([':', '|', ']', '#', '-', '/', '<', '+'])
    };
    let mut lines = first_lines(head).filter(|l| !is_bare(l));
    let mut same = lines.next()?;
    for line in lines {
        let both = same.char_indices().zip(line.chars());
        let apart = both.into_iter().find(|((_, a), b)| a != b);
        let end = apart.map_or(same.len().min(line.len()), |((at, _), _)| at);
        same = same.get(..end)?;
    }
    let ends = MARKS
        .iter()
        .filter_map(|mark| Some(same.rfind(mark)? + mark.len()));
    same.get(..ends.max()?).map(str::to_owned)
}

impl LinePrefix {
    /// What of a line is behind it.
    fn behind<'a>(&self, line: &'a str) -> Option<&'a str> {
        let from = |at: Option<usize>| line.get(at?..);
        match self {
            LinePrefix::Stamp => from(stamps::length(line)),
            LinePrefix::Quote => from(stamps::quoted(line)),
            LinePrefix::Number => from(stamps::number(line).map(|n| n.1)),
            LinePrefix::Counted => from(stamps::counted(line).map(|n| n.1)),
            LinePrefix::File {
                path,
                is_numbered,
                files,
            } => {
                let other = || stamps::file(line).filter(|_| *files > 1);
                let behind = after_path(line, path).or_else(|| after_path(line, other()?))?;
                match is_numbered {
                    true => behind.get(stamps::number(behind)?.1..),
                    false => Some(behind),
                }
            }
            LinePrefix::Same(words) => {
                let is_all = || line.trim_end() == words.trim_end();
                line.strip_prefix(words.as_str())
                    .or_else(|| is_all().then_some(""))
            }
        }
    }

    /// Whether nearly all lines begin with it: output of other programs may be between them.
    fn is_on_lines(&self, head: &Head<'_>) -> bool {
        let is_of_any_file = |l: &str| match self {
            LinePrefix::File { files, .. } if *files > 1 => stamps::file(l).is_some(),
            _ => false,
        };
        let has = |l: &&str| self.behind(l).is_some() || is_of_any_file(l);
        let all: Vec<&str> = first_lines(head).filter(|l| *l != "--").collect();
        let above = match self {
            LinePrefix::Quote | LinePrefix::Counted | LinePrefix::Same(_) => 0,
            _ => all.iter().take(ABOVE_MAX).take_while(|l| !has(l)).count(),
        };
        let lines = &all[above..];
        let with = lines.iter().filter(|l| has(l)).count();
        let enough = match self {
            // Who wrote and who answers is around it.
            LinePrefix::Quote => 5,
            LinePrefix::Counted | LinePrefix::Same(_) => 10,
            _ => 9,
        };
        let numbers = |of: fn(&str) -> Option<(u64, usize)>| {
            let found: Vec<u64> = lines.iter().filter_map(|l| Some(of(l)?.0)).collect();
            found
        };
        let is_in_order = match self {
            LinePrefix::Number => is_rising(numbers(stamps::number).into_iter().map(Some)),
            LinePrefix::Counted => numbers(stamps::counted)
                .windows(2)
                .all(|w| w[1] > w[0] && w[1] - w[0] < 3),
            _ => true,
        };
        lines.len() >= LINES_MIN && 10 * with >= enough * lines.len() && is_in_order
    }

    /// What it is.
    pub(super) fn what(&self) -> &'static str {
        match self {
            LinePrefix::Stamp => "a time stamp",
            LinePrefix::File { files: 2.., .. } => {
                "one of several files and a line of it, as grep -H and -n print them"
            }
            LinePrefix::File { .. } => "a file and a line of it, as grep -H and -n print them",
            LinePrefix::Quote => "the mark of a quoted mail",
            LinePrefix::Number => "the number of a line, as grep -n prints it",
            LinePrefix::Counted => "the number of a line, as cat -n prints it",
            LinePrefix::Same(_) => "the same words",
        }
    }

    fn how(&self) -> &'static str {
        match self {
            LinePrefix::Stamp | LinePrefix::Same(_) => "",
            LinePrefix::File { .. } => {
                " (`grep -h` prints none, `sed -E 's/^[^:]*:([0-9]+:)?//'` removes it)"
            }
            LinePrefix::Quote => " (`sed -E 's/^(> ?)+//'`)",
            LinePrefix::Number => " (`sed -E 's/^[0-9]+[:-]//'`)",
            LinePrefix::Counted => " (`sed -E 's/^ *[0-9]+[[:space:]]//'`)",
        }
    }

    /// Whether lines without it belong to the text all the same.
    fn may_lack(&self) -> bool {
        *self == LinePrefix::Quote
    }

    /// Whether the lines are of one file.
    pub(super) fn is_of_one(&self) -> bool {
        !matches!(self, LinePrefix::File { files: 2.., .. })
    }
}

/// Cuts prefixes off a file as it comes.
#[derive(Debug)]
pub(super) struct CutPrefixes {
    prefixes: Vec<LinePrefix>,
    blocks: LineBlocks,
    block: Vec<u8>,
    /// Lines so far.
    lines: u64,
    /// Lines that a prefix was cut off.
    cut: u64,
    /// First lines of stretches, and how many characters are cut off each of their lines.
    runs: Vec<(u64, u32)>,
    /// Lines without prefixes, the first ones with their text, and how many there are.
    without: Vec<(u64, String)>,
    without_count: u64,
}

impl CutPrefixes {
    /// Of a file whose lines begin with these, the outermost first.
    pub(super) fn new(prefixes: Vec<LinePrefix>) -> CutPrefixes {
        CutPrefixes {
            prefixes,
            blocks: LineBlocks::default(),
            block: Vec::new(),
            lines: 0,
            cut: 0,
            runs: Vec::new(),
            without: Vec::new(),
            without_count: 0,
        }
    }

    /// The next whole lines without their prefixes.
    pub(super) fn feed(&mut self, text: &[u8]) -> Vec<u8> {
        let mut block = std::mem::take(&mut self.block);
        self.blocks.feed(text, &mut block);
        let out = self.lines_of(&block);
        self.block = block;
        out
    }

    /// The last line, where it has no end.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let rest = self.blocks.end();
        self.lines_of(&rest)
    }

    /// All lines of a text.
    fn whole(&mut self, text: &[u8]) -> Vec<u8> {
        let mut out = self.feed(text);
        out.extend(self.end());
        out
    }

    fn lines_of(&mut self, block: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(block.len());
        for line in block.split_inclusive(|b| *b == b'\n') {
            self.lines += 1;
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            out.extend_from_slice(self.line(text));
            out.extend(line.ends_with(b"\n").then_some(b'\n'));
        }
        out
    }

    fn line<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        if line.trim_ascii().is_empty() || line.trim_ascii() == b"--" && self.is_of_grep() {
            return &[];
        }
        let whole = text_of(trim_cr(line));
        let mut rest = whole;
        for prefix in &self.prefixes {
            match prefix.behind(rest) {
                Some(behind) => rest = behind,
                None if prefix.may_lack() => {}
                None => return self.passed_over(line),
            }
        }
        let bytes = whole.len() - rest.len();
        let width = whole.get(..bytes).map_or(0, |p| p.chars().count() as u32);
        self.cut += u64::from(bytes > 0);
        if self.runs.last().is_none_or(|(_, last)| *last != width) {
            if self.runs.len() == RUNS_MAX {
                return self.passed_over(line);
            }
            self.runs.push((self.lines, width));
        }
        line.get(bytes..).unwrap_or_default()
    }

    fn is_of_grep(&self) -> bool {
        let of_grep = |p: &LinePrefix| matches!(p, LinePrefix::File { .. } | LinePrefix::Number);
        self.prefixes.iter().any(of_grep)
    }

    fn passed_over(&mut self, line: &[u8]) -> &'static [u8] {
        const KEPT: usize = 8;
        self.without_count += 1;
        if self.without.len() < KEPT {
            self.without.push((self.lines, quote(line)));
        }
        &[]
    }

    /// Moves a place of the cut text to where it is in the file.
    pub(super) fn place(&self, span: &mut TextSpan) {
        let at = self
            .runs
            .partition_point(|(first, _)| *first <= u64::from(span.line));
        let width = at.checked_sub(1).and_then(|at| self.runs.get(at));
        span.column = span
            .column
            .saturating_add(width.map_or(0, |(_, width)| *width));
    }

    /// Reports what was cut, and what was passed over.
    pub(super) fn say(&self, example: &str, kind: &str, notes: &mut Notes) {
        let what: Vec<&str> = self.prefixes.iter().map(LinePrefix::what).collect();
        notes.add(Severity::Note, "import.prefix", None, None, || {
            format!(
                "{} lines begin with {} ({example}), which another program put there: it was cut off, and \
                 what is behind it was read as {kind}",
                self.cut,
                what.join(" and ")
            )
        });
        let last = self.without.len().saturating_sub(1);
        for (at, (line, text)) in self.without.iter().enumerate() {
            let more = self.without_count - last as u64;
            let count = if at == last { more } else { 1 };
            let why = || format!("{text} does not begin as the other lines do: left out");
            let (id, line) = ("import.without_prefix", Some(*line));
            notes.add_many(Severity::Warning, id, line, None, count, why);
        }
        let dropped = self.blocks.dropped();
        if dropped > 0 {
            let why = || format!("{dropped} bytes of lines over 1 MiB were not read");
            notes.add(Severity::Warning, "import.long_line", None, None, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, is_plain: bool) -> Option<(Vec<LinePrefix>, String)> {
        let head = Head {
            bytes: text.as_bytes(),
        };
        let rest = std::cell::RefCell::new(String::new());
        let fits = |head: &Head<'_>, _: &[LinePrefix]| {
            let is_it = head.lines().any(|l| l.starts_with(b"Device"));
            *rest.borrow_mut() = String::from_utf8_lossy(head.bytes).into_owned();
            is_it.then_some(())
        };
        let found = find(&head, is_plain, &fits)?;
        Some((found.prefixes, rest.into_inner()))
    }

    #[test]
    fn prefixes_are_found_and_cut() {
        let rest = |text: &str| found(text, true).map(|(_, rest)| rest);
        let want = Some("Device a\n\n b 1\nc 2\n".to_owned());
        for text in [
            "10:44:05 Device a\n\n10:44:06  b 1\n10:44:07 c 2\n",
            "x/y.log:7:Device a\n--\nx/y.log-9- b 1\nx/y.log:11:c 2\n",
            "y.log:Device a\n\ny.log: b 1\ny.log:c 2\n",
            "> Device a\n>\n>  b 1\n> c 2\n",
            "7:Device a\n\n9: b 1\n12-c 2\n",
            "     1\tDevice a\n     2\t\n     3\t b 1\n     4\tc 2\n",
            "> 7:Device a\n>\n> 9: b 1\n> 12:c 2\n",
        ] {
            assert_eq!(rest(text), want, "{text}");
        }
        for text in [
            "Device a\nb 1\nc 2\n",
            "8 Device a\n8 b 1\n8 c 2\n",
            "10:44:05 Device a\nb\nc\nd\n",
            "9:Device a\n7: b 1\n3:c 2\n",
        ] {
            assert_eq!(rest(text), None, "{text}");
        }
        let command = "$ grep -n x y.log\n7:Device a\n9:b\n10:c\n";
        assert_eq!(rest(command).as_deref(), Some("\nDevice a\nb\nc\n"));
    }

    #[test]
    fn words_that_are_the_same_on_each_line() {
        for text in [
            "host1: Device a\nhost1: \nhost1:  b 1\n",
            "db_1  | Device a\ndb_1  |\ndb_1  |  b 1\n",
            "# Device a\n#\n#  b 1\n",
        ] {
            let rest = found(text, false).map(|(_, rest)| rest);
            assert_eq!(rest.as_deref(), Some("Device a\n\n b 1\n"), "{text}");
        }
        assert_eq!(found("Device: a\nhost2: b\nhost2: c\n", false), None);
    }

    #[test]
    fn lines_of_several_files_are_not_of_one() {
        let (prefixes, _) = found("a.log:Device\nb.log:1\nb.log:2\n", true).expect("a prefix");
        assert!(!prefixes[0].is_of_one());
    }

    #[test]
    fn places_are_those_of_the_file_however_it_is_cut() {
        let text = b"9:ab\n\nno\n10:c\n11:d";
        for step in 1..text.len() {
            let mut cut = CutPrefixes::new(vec![LinePrefix::Number]);
            let mut out: Vec<u8> = Vec::new();
            text.chunks(step)
                .for_each(|chunk| out.extend(cut.feed(chunk)));
            out.extend(cut.end());
            assert_eq!(out, b"ab\n\n\nc\nd", "in chunks of {step}");
            let column = |line: u32| {
                let mut span = TextSpan {
                    line,
                    column: 1,
                    length: 1,
                };
                cut.place(&mut span);
                span.column
            };
            assert_eq!([1, 4, 5].map(column), [3, 4, 4]);
            assert_eq!((cut.cut, cut.without_count, cut.without[0].0), (3, 1, 3));
        }
    }
}
