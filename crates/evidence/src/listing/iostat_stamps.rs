//! The stamps of `iostat` above a report, and of `sar` before each row.

use crate::awr::cell::GridCell;
use crate::origin::SourcedCell;
use measure::imported::Cell;
use measure::origin::OriginInput;

/// The stamp before each row of `sar`, and what is behind it: `12:10:01 AM  sda  0.42`. `Average:`
/// is one, too, in any language.
pub(super) fn sar_stamp(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace)?;
    let begins_with_digit = first.starts_with(|c: char| c.is_ascii_digit());
    let is_clock = first.len() == 8 && first.matches(':').count() == 2 && begins_with_digit;
    let is_average = first.ends_with(':') && first.starts_with(char::is_alphabetic);
    if !is_average && !is_clock {
        return None;
    }
    let rest = rest.trim_start();
    let half = rest
        .get(..3)
        .filter(|h| is_clock && ["AM ", "PM "].contains(h));
    let behind = half.map_or(rest, |_| &rest[3..]);
    let stamp = &line[..line.len() - behind.len()];
    Some((stamp.trim_end(), behind.trim_start()))
}

/// A stamp whose hour is one of 24: `04:10:49 PM` is 16:10:49.
pub(super) fn on_24_hours(stamp: &GridCell) -> SourcedCell {
    let half = [(" AM", 0), (" PM", 12)];
    let half = half
        .iter()
        .find_map(|(h, add)| Some((stamp.text.strip_suffix(h)?, *add)));
    let whole = half.and_then(|(text, add)| {
        let (before, clock) = text.rsplit_once(' ').unwrap_or(("", text));
        let (hour, rest) = clock.split_once(':')?;
        let hour = hour.parse::<u32>().ok().filter(|h| (1..=12).contains(h))?;
        Some(
            format!("{before} {:02}:{rest}", hour % 12 + add)
                .trim()
                .to_owned(),
        )
    });
    match whole {
        Some(text) => {
            let inputs = stamp.span.into_iter().map(OriginInput::Span).collect();
            SourcedCell::derived(Cell::Text(text), "the stamp on a clock of 24 hours", inputs)
        }
        None => stamp.sourced(),
    }
}

/// `11/30/2021 10:15:00 AM`, `2021-11-30T10:15:00+0000`, `10:15:00`.
pub(super) fn is_stamp(trimmed: &str) -> bool {
    let digits = trimmed.bytes().filter(u8::is_ascii_digit).count();
    let colons = trimmed.matches(':').count();
    trimmed.len() <= 40
        && digits >= 6
        && colons >= 2
        && trimmed.starts_with(|c: char| c.is_ascii_digit() || c.is_alphabetic())
        && trimmed.split_whitespace().count() <= 4
}
