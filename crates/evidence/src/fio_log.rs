//! Logs that fio writes: `--write_lat_log`, `--write_bw_log`, `--write_iops_log` (a line for each
//! I/O or window) and `--write_hist_log` (a line of bins for each window). They are lines of
//! numbers, so a file is recognised only if each of its first lines fits.
//!
//! Only the name of the file shows what the values are (`redo_clat.1.log`). fio 3 writes
//! nanoseconds and fio 2 wrote microseconds; bins differ in number by that, single values in
//! nothing, so that they keep the unit of the log.

use super::head::Head;
use super::line_reader::{Facts, LineReader};
use super::lines::Line;
use super::notes::quote;
use super::origin::SourcedCell;
use super::sheets::Sheets;
use super::{Gathered, Sink, number};
use measure::imported::{Cell, Severity};

/// Lines from which such a file is recognised.
const RECOGNISED_FROM: usize = 20;
/// Bins of a line of fio 3 and of fio 2, before a coarseness halves them.
const BINS: [(usize, f64); 2] = [(1856, 1.0), (1216, 1000.0)];
/// Halvings of bins that fio offers.
const COARSENESS_MAX: u32 = 6;
/// Bins of one width, before each group doubles it.
const GROUP: u64 = 64;
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Whether each of the first lines is one of such a log.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    let mut lines: Vec<&[u8]> = head.lines().filter(|l| !l.is_empty()).collect();
    // The head may end inside of the last line.
    if !head.bytes.ends_with(b"\n") && lines.len() > 1 {
        lines.pop();
    }
    lines.truncate(RECOGNISED_FROM);
    let is_value = |l: &&[u8]| value(l).is_some();
    let is_bins = |l: &&[u8]| bins(l).is_some();
    !lines.is_empty() && (lines.iter().all(is_value) || lines.iter().all(is_bins))
}

/// Milliseconds, value, direction. Behind them are the block size and what newer releases add,
/// of which an offset may be hexadecimal.
fn value(line: &[u8]) -> Option<(u64, u64, usize)> {
    let mut words = line.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let mut next = || number::whole_u64(words.next()?);
    let (ms, value, direction, _) = (next()?, next()?, next()?, next()?);
    let mut others = 0;
    for word in words {
        others += 1;
        let digits = word.strip_prefix(b"0x").unwrap_or(word);
        let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
        if !is_number || others > 4 {
            return None;
        }
    }
    let direction = usize::try_from(direction)
        .ok()
        .filter(|d| *d < DIRECTIONS.len())?;
    Some((ms, value, direction))
}

/// Milliseconds, direction, and the counts of the bins. The block size is between them.
fn bins(line: &[u8]) -> Option<(u64, usize, Vec<u64>)> {
    if line.iter().filter(|b| **b == b',').count() < 3 + (BINS[1].0 >> COARSENESS_MAX) - 1 {
        return None;
    }
    let mut words = line.split(|b| *b == b',').map(<[u8]>::trim_ascii);
    let mut next = || number::whole_u64(words.next()?);
    let (ms, direction, _) = (next()?, next()?, next()?);
    let counts: Option<Vec<u64>> = words.map(number::whole_u64).collect();
    let counts = counts.filter(|c| layout(c.len()).is_some())?;
    let direction = usize::try_from(direction)
        .ok()
        .filter(|d| *d < DIRECTIONS.len())?;
    Some((ms, direction, counts))
}

/// How many of fio's bins are in each of `count`, and the nanoseconds of the unit.
fn layout(count: usize) -> Option<(u64, f64)> {
    let mut each = (0..=COARSENESS_MAX).flat_map(|c| BINS.map(|(n, unit)| (n >> c, 1 << c, unit)));
    each.find_map(|(n, width, unit)| (n == count).then_some((width, unit)))
}

/// The lowest value of one of fio's bins: 64 bins of width 1, 64 more, then each group of 64 is
/// twice as wide as the one before (`plat_idx_to_val` of fio's stat.c).
fn lower(bin: u64) -> u64 {
    if bin < 2 * GROUP {
        return bin;
    }
    let doublings = u32::try_from(bin / GROUP - 1).unwrap_or(u32::MAX).min(57);
    (GROUP + bin % GROUP) << doublings
}

#[derive(Clone, Copy, Debug, Default)]
struct Values {
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
    first_ms: u64,
    last_ms: u64,
}

/// Reads one file.
#[derive(Debug)]
pub struct FioLogReader {
    file: String,
    sheets: Sheets,
    values: [Values; DIRECTIONS.len()],
    bins: [Vec<u64>; DIRECTIONS.len()],
    /// First and last line with values.
    first: u64,
    last: u64,
}

impl LineReader for FioLogReader {
    fn line(&mut self, line: Line<'_>, sink: &mut Sink) {
        let text = line.bytes.trim_ascii();
        if text.is_empty() {
            return;
        }
        if self.first == 0 {
            self.first = line.number;
        }
        self.last = line.number;
        if let Some((ms, value, direction)) = value(text).filter(|_| !line.cut) {
            self.values[direction].add(ms, value);
            return;
        }
        let bins = bins(text).filter(|_| !line.cut);
        if let Some((_, direction, counts)) = bins
            && (self.bins[direction].is_empty() || self.bins[direction].len() == counts.len())
        {
            let sums = &mut self.bins[direction];
            sums.resize(counts.len(), 0);
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum = sum.saturating_add(count);
            }
            return;
        }
        let at = Some(line.number);
        sink.notes
            .add(Severity::Warning, "fio_log.bad_line", at, Some(1), || {
                format!("{} is not a line of a log of fio: left out", quote(text))
            });
    }

    /// It may be cut in a number, and is left out.
    fn last_line(&mut self, line: Line<'_>, sink: &mut Sink) {
        sink.notes.last_line("fio_log.last_line", line.number);
    }

    fn end(mut self: Box<Self>, _lines: u64, sink: &mut Sink, out: &mut Gathered) -> Facts {
        self.give_values(sink);
        self.give_bins();
        out.yielded += self.sheets.found;
        out.tables.extend(self.sheets.into_tables(&mut sink.notes));
        Facts::new()
    }
}

impl FioLogReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(file: &str) -> FioLogReader {
        FioLogReader {
            file: file.to_owned(),
            sheets: Sheets::new(file),
            values: Default::default(),
            bins: Default::default(),
            first: 0,
            last: 0,
        }
    }

    fn give_values(&mut self, sink: &mut Sink) {
        if self.values.iter().all(|v| v.count == 0) {
            return;
        }
        let (what, unit) = content(&self.file);
        if unit.is_empty() || what.ends_with("lat") {
            let line = Some(self.first);
            sink.notes.add(Severity::Note, "fio_log.unit", line, None, || {
                "a log of fio does not contain its unit: latencies are nanoseconds since fio 3 and \
                 were microseconds before"
                    .to_owned()
            });
        }
        let columns = [
            ("log", "Log"),
            ("direction", "Direction"),
            ("values", "Values"),
            ("first_ms", "First (ms)"),
            ("last_ms", "Last (ms)"),
            ("min", "Min"),
            ("mean", "Mean"),
            ("max", "Max"),
            ("unit", "Unit"),
        ];
        let table = self
            .sheets
            .open("fio_log", "fio: log", self.first, &columns);
        for (direction, values) in DIRECTIONS.iter().zip(self.values) {
            if values.count == 0 {
                continue;
            }
            let mean = values.sum as f64 / values.count as f64;
            let named = |name: &str| match name {
                "" => SourcedCell::blank(),
                name => SourcedCell::label(name),
            };
            let of = |cell, formula| SourcedCell::derived(cell, formula, vec!["direction".into()]);
            let cells = vec![
                named(what),
                SourcedCell::label(direction),
                of(Cell::Count(values.count), "count of lines of the direction"),
                of(Cell::Count(values.first_ms), "first time of the direction"),
                of(Cell::Count(values.last_ms), "last time of the direction"),
                of(Cell::Count(values.min), "smallest value of the direction"),
                of(Cell::Real(mean), "mean value of the direction"),
                of(Cell::Count(values.max), "largest value of the direction"),
                named(unit),
            ];
            let lines = (self.first, self.last);
            self.sheets.row_of_lines(table, lines, cells);
        }
    }

    fn give_bins(&mut self) {
        let columns = [
            ("direction", "Direction"),
            ("from_ns", "From ns"),
            ("to_ns", "Under ns"),
            ("count", "Count"),
        ];
        let all = std::mem::take(&mut self.bins);
        if all.iter().all(Vec::is_empty) {
            return;
        }
        let title = "fio: histogram log, all windows together";
        let table = self
            .sheets
            .open("fio_log_bins", title, self.first, &columns);
        for (direction, counts) in DIRECTIONS.iter().zip(all) {
            let Some((width, unit)) = layout(counts.len()) else {
                continue;
            };
            let bound = |bin: usize| {
                let ns = Cell::Real(lower(bin as u64 * width) as f64 * unit);
                SourcedCell::derived(ns, "bound of the bin by its place in the line", Vec::new())
            };
            for (bin, count) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
                let inputs = vec!["direction".into(), "from_ns".into()];
                let sum = "sum of the bin over the lines of the direction";
                let cells = vec![
                    SourcedCell::label(direction),
                    bound(bin),
                    bound(bin + 1),
                    SourcedCell::derived(Cell::Count(*count), sum, inputs),
                ];
                let lines = (self.first, self.last);
                self.sheets.row_of_lines(table, lines, cells);
            }
        }
    }
}

impl Values {
    fn add(&mut self, ms: u64, value: u64) {
        if self.count == 0 {
            (self.min, self.first_ms) = (value, ms);
        }
        self.count += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.last_ms = ms;
    }
}

/// What the name of a file says of its values, and their unit; empty if it says nothing.
fn content(file: &str) -> (&'static str, &'static str) {
    const LATENCY: &str = "ns (fio 3) or us (fio 2)";
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut words = name.rsplit(|c: char| !c.is_ascii_alphanumeric());
    let known = |word: &str| {
        Some(match word {
            "lat" => ("lat", LATENCY),
            "clat" => ("clat", LATENCY),
            "slat" => ("slat", LATENCY),
            "bw" => ("bw", "KiB/s"),
            "iops" => ("iops", "IOPS"),
            _ => return None,
        })
    };
    words.find_map(known).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_those_of_fio() {
        for (bin, ns) in [
            (0, 0),
            (127, 127),
            (128, 128),
            (129, 130),
            (192, 256),
            (193, 260),
        ] {
            assert_eq!(lower(bin), ns, "{bin}");
        }
        assert_eq!(layout(1856), Some((1, 1.0)));
        assert_eq!(layout(1216), Some((1, 1000.0)));
        assert_eq!(layout(29), Some((64, 1.0)));
        assert_eq!(layout(1000), None);
    }

    #[test]
    fn names_say_what_values_are() {
        assert_eq!(content("dir_bw/redo_clat.1.log").0, "clat");
        assert_eq!(content("redo_bw.1.log"), ("bw", "KiB/s"));
        assert_eq!(content("x.log"), ("", ""));
    }
}
