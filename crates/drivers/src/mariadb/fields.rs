//! Values in the packets of the protocol that MariaDB and MySQL share.
//!
//! Invariants: what arrives is untrusted: a value that is not there is `None`.

/// Appends a length, or a number, as the protocol has it.
pub fn put_length(out: &mut Vec<u8>, length: usize) {
    match length {
        0..=250 => out.push(length as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(length as u16).to_le_bytes());
        }
        _ => {
            let [a, b, c, ..] = (length as u32).to_le_bytes();
            out.extend_from_slice(&[0xfd, a, b, c]);
        }
    }
}

/// What is left of a body that is read value by value.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The values of a body.
    #[must_use]
    pub fn of(body: &'a [u8]) -> Fields<'a> {
        Fields(body)
    }

    /// What is left.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }

    /// The next bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Leaves bytes out.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.bytes(count).map(|_| ())
    }

    /// A number of one byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    /// A number of two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes(2)?.try_into().ok()?))
    }

    /// A number of four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// The bytes before the next zero byte, which is left out.
    pub fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.bytes(end)?;
        self.skip(1)?;
        Some(text)
    }

    /// A number of one to nine bytes.
    pub fn length(&mut self) -> Option<u64> {
        let bytes = match self.u8()? {
            0xfb | 0xff => return None,
            0xfc => self.bytes(2)?,
            0xfd => self.bytes(3)?,
            0xfe => self.bytes(8)?,
            small => return Some(u64::from(small)),
        };
        let mut number = [0; 8];
        number.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(number))
    }

    /// A value of a row: `Some(None)` where it is NULL.
    pub fn value(&mut self) -> Option<Option<&'a [u8]>> {
        if self.0.first() == Some(&0xfb) {
            self.skip(1)?;
            return Some(None);
        }
        let length = usize::try_from(self.length()?).ok()?;
        Some(Some(self.bytes(length)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_they_were_written() {
        for length in [0, 1, 250, 251, 252, 0xffff, 0x1_0000, 0xff_fffd] {
            let mut out = Vec::new();
            put_length(&mut out, length);
            let mut fields = Fields::of(&out);
            assert_eq!(fields.length(), Some(length as u64));
            assert!(fields.rest().is_empty());
            for cut in 0..out.len() {
                assert_eq!(Fields::of(&out[..cut]).length(), None, "{length}");
            }
        }
        assert_eq!(Fields::of(&[0xfe; 9]).length(), Some(0xfefe_fefe_fefe_fefe));
    }

    #[test]
    fn values_that_are_not_there_are_none() {
        let mut row = Fields::of(b"\x02ab\xfb\xfe\xff\xff\xff\xff\xff\xff\xff\x7fc");
        assert_eq!(row.value(), Some(Some(&b"ab"[..])));
        assert_eq!(row.value(), Some(None));
        assert_eq!(row.value(), None);
        assert_eq!(Fields::of(b"\xff").value(), None);
        assert_eq!(Fields::of(b"abc").text(), None);
        assert_eq!(Fields::of(b"a").u16(), None);
    }
}
