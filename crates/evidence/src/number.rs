//! Numbers of evidence, read without guessing.

/// A number of a program that groups no digits: a comma is the decimal mark, also before three
/// digits, unless a point is there too, as where somebody wrote the figures again.
#[must_use]
pub fn decimal(word: &str) -> String {
    match word.contains('.') {
        true => word.to_owned(),
        false => word.replace(',', "."),
    }
}

/// A whole number at the beginning of `bytes`, and how many bytes it takes. `None` without a digit
/// or past `u64`.
#[must_use]
pub fn leading_u64(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    let mut digits = 0;
    for b in bytes {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        digits += 1;
    }
    (digits > 0).then_some((value, digits))
}

/// A whole number that is all of `bytes`.
#[must_use]
pub fn whole_u64(bytes: &[u8]) -> Option<u64> {
    leading_u64(bytes).and_then(|(n, len)| (len == bytes.len()).then_some(n))
}

/// A number with decimals, times `scale`, rounded to a whole number: `1.5` times 1000 is 1500.
/// `None` for signs, exponents, anything past `u64`.
#[must_use]
pub fn scaled(bytes: &[u8], scale: u64) -> Option<u64> {
    let at = bytes.iter().position(|b| *b == b'.');
    let Some(at) = at else {
        return whole_u64(bytes)?.checked_mul(scale);
    };
    let (whole, decimals) = (&bytes[..at], &bytes[at + 1..]);
    let whole = if whole.is_empty() {
        0
    } else {
        whole_u64(whole)?
    };
    // Eighteen decimals are more than any unit here tells apart.
    let kept = &decimals[..decimals.len().min(18)];
    if decimals.is_empty() || !decimals.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let part = u128::from(whole_u64(kept)?) * u128::from(scale);
    let unit = 10_u128.pow(kept.len() as u32);
    let part = u64::try_from((part + unit / 2) / unit).ok()?;
    whole.checked_mul(scale)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_whole_or_not_at_all() {
        assert_eq!(leading_u64(b"562 files"), Some((562, 3)));
        assert_eq!(leading_u64(b"18446744073709551615"), Some((u64::MAX, 20)));
        for bad in [&b""[..], b" 1", b"-1", b"18446744073709551616", b"NaN"] {
            assert_eq!(leading_u64(bad), None);
        }
        for (text, scale, want) in [
            ("1.5", 1000, Some(1500)),
            (".99", 1_000_000, Some(990_000)),
            ("288.8450004", 1000, Some(288_845)),
            ("7", 10, Some(70)),
            ("1.", 10, None),
            ("1e3", 10, None),
            ("-1", 10, None),
            ("1,5", 10, None),
            ("18446744073709551615", 2, None),
            ("0.99999999999999999999999", 1000, Some(1000)),
        ] {
            assert_eq!(scaled(text.as_bytes(), scale), want, "{text}");
        }
    }
}
