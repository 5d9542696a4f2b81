//! Sizes of redo to sweep over: `1k..16M` (doubling), `512k..2M+64k` (steps), `4k,8k,1M`; ends
//! included. Pure text into numbers.

use crate::units::parse_bytes;

/// Sizes that study 002 varies, as far as its text states them: from 1 kB to 16 MB.
pub const DEFAULT: &str = "1k..16M";
/// The least redo of a transaction: a record's stamp and something behind it.
pub const MIN_BYTES: u32 = 64;
/// The most redo of a transaction.
pub const MAX_BYTES: u32 = 1 << 30;
/// Points at most: a longer sweep is a typing error.
const MAX_POINTS: usize = 256;

/// Parses a sweep into ascending sizes, each once.
///
/// # Errors
/// What part is wrong and what is accepted.
pub fn parse(text: &str) -> Result<Vec<u32>, String> {
    let mut sizes = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.split_once("..") {
            None => sizes.push(size(part, text)?),
            Some((first, rest)) => {
                let (last, step) = match rest.split_once('+') {
                    None => (rest, None),
                    Some((last, step)) => (last, Some(step_of(step, text)?)),
                };
                let (first, last) = (size(first, text)?, size(last, text)?);
                if first > last {
                    return Err(format!(
                        "`{text}`: `{part}` holds no size; the lower end is first"
                    ));
                }
                range(first, last, step, &mut sizes);
            }
        }
        if sizes.len() > MAX_POINTS {
            return Err(format!(
                "`{text}`: more than {MAX_POINTS} sizes; use longer steps"
            ));
        }
    }
    sizes.sort_unstable();
    sizes.dedup();
    Ok(sizes)
}

fn accepted() -> String {
    format!("use {MIN_BYTES}B to 1G, as 1k,1M or 1k..16M (doubling) or 512k..2M+64k (steps)")
}

fn size(part: &str, whole: &str) -> Result<u32, String> {
    if part.trim().is_empty() {
        return Err(format!("`{whole}`: a size is missing; {}", accepted()));
    }
    let bytes = parse_bytes(part).map_err(|e| format!("`{whole}`: {e}"))?;
    u32::try_from(bytes)
        .ok()
        .filter(|b| (MIN_BYTES..=MAX_BYTES).contains(b))
        .ok_or_else(|| {
            format!(
                "`{whole}`: `{}` is out of range; {}",
                part.trim(),
                accepted()
            )
        })
}

fn step_of(part: &str, whole: &str) -> Result<u32, String> {
    let bytes = parse_bytes(part).map_err(|e| format!("`{whole}`: {e}"))?;
    u32::try_from(bytes)
        .ok()
        .filter(|b| (1..=MAX_BYTES).contains(b))
        .ok_or_else(|| {
            format!(
                "`{whole}`: `+{}` is not a step; {}",
                part.trim(),
                accepted()
            )
        })
}

fn range(first: u32, last: u32, step: Option<u32>, sizes: &mut Vec<u32>) {
    let mut at = Some(first);
    while let Some(size) = at.filter(|at| *at <= last && sizes.len() <= MAX_POINTS) {
        sizes.push(size);
        at = match step {
            Some(step) => size.checked_add(step),
            None => size.checked_mul(2),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_read_as_they_are_written() {
        let k = 1 << 10;
        for (text, want) in [
            ("1k,4k", vec![k, 4 * k]),
            ("4k,1k,4k", vec![k, 4 * k]),
            ("1k..8k", vec![k, 2 * k, 4 * k, 8 * k]),
            ("3k..20k", vec![3 * k, 6 * k, 12 * k]),
            ("1M..2M+512k", vec![1024 * k, 1536 * k, 2048 * k]),
            ("1000B", vec![1000]),
        ] {
            assert_eq!(parse(text), Ok(want), "{text}");
        }
        let default = parse(DEFAULT).expect("reads");
        assert_eq!(
            (default.len(), default[0], default[14]),
            (15, 1 << 10, 16 << 20)
        );
        assert!(default.contains(&(1 << 20)), "crosses the flush threshold");
    }

    #[test]
    fn what_is_no_sweep_is_refused_by_name() {
        for (text, says) in [
            ("", "a size is missing"),
            ("1k,,2k", "a size is missing"),
            ("..4k", "a size is missing"),
            ("8k..1k", "holds no size"),
            ("63B", "out of range"),
            ("1000", "1000k, 1000M"),
            ("2G", "out of range"),
            ("1k..2k+0", "not a step"),
            ("1k..1M+64B", "more than 256 sizes"),
            ("1k..1M+x", "not a size"),
            ("big", "not a size"),
            ("-1k", "not a size"),
        ] {
            let told = parse(text).expect_err(text);
            assert!(told.contains(says), "{text}: {told}");
        }
    }
}
