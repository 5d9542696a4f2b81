//! The values of one event in files of evidence, one by one, as one sample: the lines
//! `count,elapsed` of an import, counted and not kept.

use super::failed::Failed;
use super::feed::{self, Feeding};
use super::find::Input;
use crate::signals::Interrupt;
use analysis::stats::pooled::PooledSample;
use evidence::Import;
use std::io::{self, Write};

/// Takes `count,elapsed` with microseconds, and counts them.
#[derive(Debug, Default)]
struct Values {
    sample: PooledSample,
    /// A line that is not whole yet.
    rest: Vec<u8>,
}

impl Values {
    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let ns = nanoseconds(line);
        let ns = ns.ok_or_else(|| io::Error::other("a line is not count,elapsed"))?;
        let added = self.sample.add(ns);
        added.map_err(|refusal| io::Error::other(refusal.to_string()))
    }
}

impl Write for Values {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|b| *b == b'\n') {
            match piece.strip_suffix(b"\n") {
                Some(line) if self.rest.is_empty() => self.line(line)?,
                Some(line) => {
                    let mut whole = std::mem::take(&mut self.rest);
                    whole.extend_from_slice(line);
                    self.line(&whole)?;
                }
                None => self.rest.extend_from_slice(piece),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `1,501` or `1,501.125`: the elapsed time in nanoseconds.
fn nanoseconds(line: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(line).ok()?;
    let (_, elapsed) = text.split_once(',')?;
    let (us, rest) = elapsed.split_once('.').unwrap_or((elapsed, "000"));
    let (us, rest): (u64, u64) = match rest.len() {
        3 => (us.parse().ok()?, rest.parse().ok()?),
        _ => return None,
    };
    us.checked_mul(1_000)?.checked_add(rest)
}

/// What became of a file.
#[derive(Debug)]
pub enum ValuesOf {
    /// It was read to its end.
    Whole,
    /// It was read in part, and why.
    Cut(String),
    /// It gave nothing, and why.
    Nothing(Failed),
}

/// Adds the values of each of the files as a sequence; `report` is called with what became of each.
///
/// # Errors
/// Values that are not a sample, or an interrupt.
pub fn read(
    inputs: &[Input],
    import: &mut Import,
    max_unpacked: u64,
    interrupt: &Interrupt,
    report: &mut dyn FnMut(&Input, ValuesOf),
) -> Result<PooledSample, Failed> {
    let mut values = Values::default();
    let mut feeding = Feeding {
        max_unpacked,
        interrupt,
        redactor: None,
    };
    for input in inputs {
        let fed = feed::file(input, import, &mut feeding, &mut values);
        let outcome = match fed {
            Ok(()) => ValuesOf::Whole,
            Err(Failed::Cut(why)) => ValuesOf::Cut(why),
            Err(failed @ (Failed::Interrupted | Failed::Samples(_))) => return Err(failed),
            Err(failed) => ValuesOf::Nothing(failed),
        };
        report(input, outcome);
        let ended = values.sample.end_sequence();
        ended.map_err(|e| Failed::Samples(io::Error::other(e.to_string())))?;
    }
    Ok(values.sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_however_they_are_cut() {
        let text = b"1,501\n2,0\n3,7.125\n";
        for size in 1..text.len() {
            let mut values = Values::default();
            for chunk in text.chunks(size) {
                values.write_all(chunk).expect("pairs");
            }
            values.sample.end_sequence().expect("few");
            let counts = values.sample.counts(1.0).expect("values");
            let found: Vec<(f64, u64)> = counts.pairs().collect();
            assert_eq!(found, [(0.0, 1), (7_125.0, 1), (501_000.0, 1)], "{size}");
        }
        for bad in ["x", "1,", "1,2.5", "1,-3", "1,99999999999999999999"] {
            let mut values = Values::default();
            assert!(
                values.write_all(format!("{bad}\n").as_bytes()).is_err(),
                "{bad}"
            );
        }
    }
}
