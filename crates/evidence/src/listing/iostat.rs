//! `iostat` of sysstat: extended and basic, old and new columns, kB, MB and sectors, decimal
//! commas, time stamps, the device first or last; and `sar -d`, which has a stamp before each row
//! and no report since boot. Columns are read by heading, never by position.
//!
//! The first report after a banner covers the time since boot (unless `-y` was given, which the
//! output does not tell): it is set apart from the intervals. So is the first of several under a
//! stamp of OSWatcher or ExaWatcher (`zzz ***`), which leaves the banner out. A report may take
//! several tables of the same devices (`-h`): its rows are held until it is whole.

use super::iostat_columns::{FIELDS, IostatFields, IostatValue, KNOWN, MB, columns, reading, role};
use super::iostat_devices::{DEVICES_MAX, IostatDevices};
use super::iostat_stamps::{is_stamp, on_24_hours, sar_stamp};
use crate::Notes;
use crate::awr::cell::GridCell;
use crate::number::decimal;
use crate::origin::{SourceLine, SourcedCell};
use crate::sheets::Sheets;
use measure::imported::{Cell, Severity};
use measure::printed;
use std::collections::BTreeSet;

/// What is said of a first report.
const SINCE_BOOT: &str = "the first report after a banner, or of several under a stamp of \
    OSWatcher, covers the time since boot (unless iostat -y made it): set apart from the intervals";
/// How a report is counted.
const REPORT: &str = "number of the report in the file, from 1";
/// A device of a report that is not whole yet.
#[derive(Debug)]
struct Held {
    device: GridCell,
    found: IostatFields,
    number: u64,
}

/// The samples of a file.
#[derive(Debug, Default)]
pub struct IostatSamples {
    columns: Vec<String>,
    device_at: usize,
    table: Option<usize>,
    report: u64,
    since_boot: bool,
    banner: bool,
    /// Headings of the report that is being read, and its rows.
    tables: Vec<Vec<String>>,
    held: Vec<Held>,
    /// Reports under the last stamp of OSWatcher, if there was one.
    under_stamp: Option<u64>,
    stamp: GridCell,
    label: String,
    alone: Option<GridCell>,
    /// Last line of the heading.
    heading_end: u64,
    /// Rows are those of `sar -d`.
    is_sar: bool,
    /// The heading takes several lines.
    is_wrapped: bool,
    /// The begin of a row of several lines.
    unfinished: Vec<GridCell>,
    devices: IostatDevices,
    /// Devices that had a row, also in a report since boot.
    seen: BTreeSet<String>,
    /// A line of something else was met below the heading: only devices that were seen have rows.
    is_doubtful: bool,
    /// First and last line of the stretch that is being left out.
    left_out: Option<(u64, u64)>,
    /// What the banner says.
    pub facts: Vec<(String, String)>,
    comma: bool,
}

impl IostatSamples {
    /// Takes a line. `label` is what a page calls the listing that follows.
    pub fn line(
        &mut self,
        line: &str,
        number: u64,
        label: &str,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        let trimmed = line.trim();
        let source = SourceLine::new(number, line);
        if let Some(words) = columns(line) {
            self.is_sar = words[0] == "DEV";
            if self.is_sar {
                self.banner = false;
                if self.columns == words {
                    // The same heading, on another page.
                    return;
                }
            }
            self.heading(&words, number, label, sheets, notes);
            return;
        }
        if self.is_sar && !self.columns.is_empty() && !trimmed.is_empty() {
            self.sar_row(source, number, sheets, notes);
            return;
        }
        if trimmed.is_empty() {
            self.alone = None;
            self.give_up(number, sheets, notes);
            return;
        }
        if trimmed.starts_with("Linux ") && trimmed.contains('(') && trimmed.len() < 200 {
            self.separate(sheets);
            self.banner = true;
            if self.facts.is_empty() {
                self.facts.push(("iostat".to_owned(), trimmed.to_owned()));
            }
            return;
        }
        if trimmed.starts_with("avg-cpu:") {
            // The report before is whole, but whether it was the first of several is not known yet.
            self.columns.clear();
            self.tables.clear();
            return;
        }
        if let Some(stamp) = trimmed.strip_prefix("zzz ") {
            self.separate(sheets);
            self.under_stamp = Some(0);
            self.stamp = GridCell::of(source, stamp.trim_matches(['*', '<', '>', ' ']));
            return;
        }
        if is_stamp(trimmed) {
            self.separate(sheets);
            self.stamp = GridCell::of(source, trimmed);
            return;
        }
        if !self.columns.is_empty() {
            let words = line.split_whitespace();
            let words: Vec<GridCell> = words.map(|w| GridCell::of(source, w)).collect();
            self.words(words, number, sheets, notes);
        }
    }

    /// Takes a row of `sar -d`: rows with the same stamp are a report.
    fn sar_row(
        &mut self,
        source: SourceLine<'_>,
        number: u64,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        let Some((stamp, rest)) = sar_stamp(source.text) else {
            // A restart, or the end of the listing.
            self.separate(sheets);
            return;
        };
        if stamp.ends_with(':') {
            notes.add(Severity::Note, "iostat.average", Some(number), None, || {
                format!("`{stamp}` is sar's average of the rows above, and no sample: left out")
            });
            return;
        }
        let stamp = GridCell::of(source, stamp);
        self.report += u64::from(stamp.text != self.stamp.text);
        self.stamp = stamp;
        let words = rest.split_whitespace().map(|w| GridCell::of(source, w));
        self.row(&words.collect::<Vec<_>>(), number, sheets, notes);
    }

    /// Takes the words of a line below a heading. Where lines were wrapped, heading and rows take
    /// several lines.
    fn words(&mut self, words: Vec<GridCell>, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let is_name = |w: &GridCell| role(w).is_some() || KNOWN.contains(&w.as_str());
        if self.heading_end + 1 == number && words.iter().all(is_name) {
            self.columns.extend(words.into_iter().map(|w| w.text));
            if let Some(last) = self.tables.last_mut() {
                self.columns.clone_into(last);
            }
            self.heading_end = number;
            self.is_wrapped = true;
            return;
        }
        if !self.is_wrapped {
            self.row(&words, number, sheets, notes);
            return;
        }
        if self.unfinished.len() + words.len() > self.columns.len() {
            self.give_up(number, sheets, notes);
        }
        self.unfinished.extend(words);
        if self.unfinished.len() >= self.columns.len() {
            let whole = std::mem::take(&mut self.unfinished);
            self.row(&whole, number, sheets, notes);
        }
    }

    /// Leaves out the begin of a wrapped row that does not go on.
    fn give_up(&mut self, number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        if !self.unfinished.is_empty() {
            let part = std::mem::take(&mut self.unfinished);
            self.row(&part, number.saturating_sub(1), sheets, notes);
        }
    }

    /// Ends the report.
    fn separate(&mut self, sheets: &mut Sheets) {
        self.columns.clear();
        self.tables.clear();
        self.release(sheets);
    }

    fn release(&mut self, sheets: &mut Sheets) {
        for held in std::mem::take(&mut self.held) {
            self.sample(&held.device, &held.found, held.number, sheets);
        }
    }

    fn heading(
        &mut self,
        words: &[&str],
        number: u64,
        label: &str,
        sheets: &mut Sheets,
        notes: &mut Notes,
    ) {
        self.note_left_out(notes);
        let columns: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        let goes_on = !self.tables.is_empty() && !self.tables.contains(&columns);
        if !goes_on {
            self.begin(number, label, sheets, notes);
        }
        self.tables.push(columns.clone());
        self.columns = columns;
        (self.heading_end, self.is_wrapped) = (number, false);
        self.unfinished.clear();
        self.is_doubtful = false;
        self.device_at = if self.is_sar || words[0].starts_with("Device") {
            0
        } else {
            words.len() - 1
        };
        for word in words {
            let is_device = *word == "DEV" || word.starts_with("Device");
            let known = role(word).is_some() || KNOWN.contains(word) || is_device;
            if !known {
                notes.add(
                    Severity::Warning,
                    "iostat.unknown_column",
                    Some(number),
                    None,
                    || format!("column `{word}` is unknown and was left out"),
                );
            }
            if matches!(*word, "avqqu-sz" | "avwait") {
                notes.add(
                    Severity::Note,
                    "iostat.misspelt_column",
                    Some(number),
                    None,
                    || format!("column `{word}` is not a column of iostat: read as the most similar one"),
                );
            }
        }
    }

    /// Begins a report: the one before is whole.
    fn begin(&mut self, number: u64, label: &str, sheets: &mut Sheets, notes: &mut Notes) {
        let unsaid = !self.since_boot && self.under_stamp == Some(1);
        self.since_boot |= unsaid;
        if unsaid && !self.held.is_empty() {
            notes.add(
                Severity::Note,
                "iostat.since_boot",
                self.held.first().map(|h| h.number),
                None,
                || SINCE_BOOT.to_owned(),
            );
        }
        self.separate(sheets);
        // Those of sar begin at their stamps.
        self.report += u64::from(!self.is_sar);
        self.under_stamp = self.under_stamp.map(|n| n + 1);
        self.since_boot = std::mem::take(&mut self.banner);
        if self.since_boot {
            notes.add(
                Severity::Note,
                "iostat.since_boot",
                Some(number),
                None,
                || SINCE_BOOT.to_owned(),
            );
        }
        let is_other = !label.is_empty() && !self.label.is_empty() && label != self.label;
        if is_other {
            // A page that names each of its listings: they are tables of their own.
            self.table = None;
        }
        label.clone_into(&mut self.label);
    }

    fn row(&mut self, words: &[GridCell], number: u64, sheets: &mut Sheets, notes: &mut Notes) {
        let wanted = self.columns.len();
        let device = words.get(self.device_at).map(|w| w.without_end(':'));
        let mut device = device.unwrap_or_default();
        let mut values: Vec<&GridCell> = words.iter().collect();
        if self.is_left_out(words, &device, number, notes) {
            return;
        }
        if words.len() == wanted {
            values.remove(self.device_at);
        } else if words.len() == 1 && printed::plain(&words[0]).is_none() {
            // A long name stands on a line of its own.
            self.alone = Some(device);
            return;
        } else if let Some(name) = self.alone.take().filter(|_| words.len() + 1 == wanted) {
            device = name;
        } else {
            notes.add(
                Severity::Warning,
                "iostat.columns",
                Some(number),
                None,
                || format!("{} values under {wanted} headings: left out", words.len()),
            );
            return;
        }
        let headings = self
            .columns
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != self.device_at);
        let mut pairs = Vec::with_capacity(wanted);
        for ((_, heading), word) in headings.zip(values) {
            let plain = decimal(word);
            let Some(n) = printed::number(&plain) else {
                notes.add(
                    Severity::Warning,
                    "iostat.no_number",
                    Some(number),
                    None,
                    || format!("`{heading}` of {} is not a number", device.text),
                );
                continue;
            };
            self.comma |= word.contains(',');
            let scale = match n.suffix {
                "k" | "K" if heading.contains("MB") => 1.0 / 1024.0,
                "" | "%" | "k" | "K" => 1.0,
                "M" if heading.contains("kB") || heading.contains("req-sz") => 1024.0,
                "G" if heading.contains("kB") => MB,
                _ => 1.0,
            };
            let (value, span) = (n.value, word.span);
            pairs.push((heading.as_str(), IostatValue { value, scale, span }));
        }
        let found = reading(pairs.into_iter());
        if self.seen.len() < DEVICES_MAX {
            self.seen.insert(device.text.clone());
        }
        self.hold(device, found, number, sheets);
    }

    /// Whether a line is left out, with a note: it is of another table, or below such a line and
    /// of no device that had a row before.
    fn is_left_out(
        &mut self,
        words: &[GridCell],
        device: &str,
        number: u64,
        notes: &mut Notes,
    ) -> bool {
        let is_known = self.seen.contains(device) || self.alone.is_some();
        self.is_doubtful |= !is_known && self.is_of_another_table(words);
        let is_left_out = self.is_doubtful && !is_known;
        if is_left_out {
            let first = self.left_out.map_or(number, |(first, _)| first);
            self.left_out = Some((first, number));
        } else if is_known {
            self.note_left_out(notes);
        }
        is_left_out
    }

    /// Names the stretch of lines that was left out.
    fn note_left_out(&mut self, notes: &mut Notes) {
        let Some((first, last)) = self.left_out.take() else {
            return;
        };
        let at = Some(first);
        let why = || "see `iostat.other_table`".to_owned();
        notes.lines.passed(first, last, why);
        notes.add(Severity::Note, "iostat.other_table", at, None, || {
            format!(
                "lines {first} to {last} are not rows of iostat: words are where it prints \
                 numbers, and no device is named that was read before"
            )
        });
    }

    /// Whether a line has so many words among its values that it is a heading or a row of
    /// another table, whose event is of several words: `log file sync 6,700,242 4,059 1 16.05`.
    fn is_of_another_table(&self, words: &[GridCell]) -> bool {
        let is_word = |w: &str| {
            let plain = decimal(w);
            let has_letter = w.chars().any(char::is_alphabetic);
            let undefined = matches!(w.trim_start_matches('-'), "nan" | "inf");
            has_letter && !undefined && printed::number(&plain).is_none()
        };
        let others = words
            .iter()
            .enumerate()
            .filter(|(i, w)| *i != self.device_at.min(words.len() - 1) && is_word(w));
        words.len() > 2 && others.count() > 0
    }

    /// Keeps a row until its report is whole; another table of the same report adds to it.
    fn hold(&mut self, device: GridCell, found: IostatFields, number: u64, sheets: &mut Sheets) {
        if self.is_sar {
            self.sample(&device, &found, number, sheets);
            return;
        }
        let is_further = self.tables.len() > 1;
        let same = self
            .held
            .iter_mut()
            .find(|h| is_further && h.device.text == device.text);
        if let Some(held) = same {
            for (slot, value) in held.found.iter_mut().zip(found) {
                if slot.cell == Cell::Blank {
                    *slot = value;
                }
            }
            return;
        }
        if self.held.len() >= DEVICES_MAX {
            self.release(sheets);
        }
        self.held.push(Held {
            device,
            found,
            number,
        });
    }

    /// Begins the next report of a JSON file.
    pub fn next_report(&mut self, stamp: &GridCell, since_boot: bool) {
        self.report += 1;
        self.stamp.clone_from(stamp);
        self.since_boot = since_boot;
    }

    /// Adds a sample.
    pub fn sample(
        &mut self,
        device: &GridCell,
        found: &IostatFields,
        number: u64,
        sheets: &mut Sheets,
    ) {
        let mut columns = vec![
            ("report", "Report"),
            ("time", "Time"),
            ("covers", "Covers"),
            ("device", "Device"),
        ];
        columns.extend(FIELDS);
        let title = match self.label.as_str() {
            "" => "iostat".to_owned(),
            label => format!("iostat ({label})"),
        };
        let open = || sheets.open("iostat", &title, number, &columns);
        let table = *self.table.get_or_insert_with(open);
        let covers = if self.since_boot {
            "since boot"
        } else {
            "interval"
        };
        let mut row = vec![
            SourcedCell::derived(Cell::Count(self.report), REPORT, Vec::new()),
            on_24_hours(&self.stamp),
            SourcedCell::label(covers),
            device.sourced(),
        ];
        row.extend(found.iter().cloned());
        sheets.sourced_row(table, number, row);
        if !self.since_boot {
            self.devices.add(&device.text, found, number);
        }
    }

    /// Gives each device's intervals in short.
    pub fn end(&mut self, sheets: &mut Sheets, notes: &mut Notes) {
        self.separate(sheets);
        self.note_left_out(notes);
        if self.comma {
            notes.add(Severity::Note, "iostat.decimal_comma", None, None, || {
                "numbers have decimal commas, and are read as such".to_owned()
            });
        }
        self.devices.give(sheets);
    }
}
