//! Sections of AWR-Miner's files: each begins with `~~BEGIN-NAME~~` and ends with `~~END-NAME~~`.
//! Only the wait event histogram is read; the others are reported by name and lines.

use super::head::Head;
use super::notes::Notes;
use measure::imported::Severity;

/// Sections of a file that are named.
const SECTIONS_MAX: usize = 64;
/// Bytes of a section's name.
const NAME_MAX: usize = 60;

/// Whether the head is of AWR-Miner. Its histograms may begin anywhere behind the head.
pub(super) fn recognise(head: &Head<'_>) -> bool {
    head.lines().any(|l| name_of(l, b"~~BEGIN-").is_some())
}

/// What was met of such a file.
#[derive(Debug, Default)]
pub(super) struct MinerSections {
    /// The section that is open: its name, its first line, and the buckets that were read before.
    open: Option<(String, u64, usize)>,
    unread: Vec<String>,
}

impl MinerSections {
    /// Takes a line; whether it is a mark. `buckets` were read so far.
    pub(super) fn line(&mut self, text: &[u8], number: u64, buckets: usize) -> bool {
        if let Some(name) = name_of(text, b"~~BEGIN-") {
            self.close(number.saturating_sub(1), buckets);
            self.open = Some((name, number, buckets));
            return true;
        }
        let ends = name_of(text, b"~~END-").is_some();
        if ends {
            self.close(number, buckets);
        }
        ends
    }

    fn close(&mut self, last: u64, buckets: usize) {
        let Some((name, first, before)) = self.open.take() else {
            return;
        };
        if buckets == before && self.unread.len() < SECTIONS_MAX {
            self.unread
                .push(format!("{name} (lines {first} to {last})"));
        }
    }

    /// Ends the file, and reports the sections that were not read.
    pub(super) fn end(&mut self, lines: u64, buckets: usize, notes: &mut Notes) {
        self.close(lines, buckets);
        for some in self.unread.chunks(6) {
            notes.add(
                Severity::Note,
                "histogram.sections_unread",
                None,
                None,
                || {
                    format!(
                        "sections of AWR-Miner that are not read: {}",
                        some.join(", ")
                    )
                },
            );
        }
    }
}

/// The name in a mark.
fn name_of(line: &[u8], mark: &[u8]) -> Option<String> {
    let rest = line.trim_ascii().strip_prefix(mark)?;
    let name = rest.strip_suffix(b"~~")?;
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || b"-_ ".contains(b);
    let fits = !name.is_empty() && name.len() <= NAME_MAX && name.iter().all(is_name);
    fits.then(|| String::from_utf8_lossy(name).into_owned())
}
