//! Rows as text: values divided by tabs, rows ended by newlines, `\N` for NULL: what COPY of
//! PostgreSQL and LOAD DATA of MariaDB read.
//!
//! Invariant: no value contains a tab, a newline or a backslash, so nothing is escaped.

use super::random::RandomStream;

/// Rows that are being written.
#[derive(Debug, Default)]
pub struct RowText {
    bytes: Vec<u8>,
    rows: u64,
    is_in_row: bool,
}

impl RowText {
    /// The rows so far, as text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many they are.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.rows
    }

    /// Forgets all rows, keeping the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
    }

    /// Appends a number.
    pub fn number(&mut self, value: u32) -> &mut RowText {
        self.separate();
        self.digits(u64::from(value));
        self
    }

    /// Appends NULL.
    pub fn null(&mut self) -> &mut RowText {
        self.separate();
        self.bytes.extend_from_slice(b"\\N");
        self
    }

    /// Appends a number with two decimals, given in hundredths.
    pub fn hundredths(&mut self, value: i64) -> &mut RowText {
        self.separate();
        if value < 0 {
            self.bytes.push(b'-');
        }
        let size = value.unsigned_abs();
        self.digits(size / 100);
        let cents = (size % 100) as u8;
        self.bytes
            .extend_from_slice(&[b'.', b'0' + cents / 10, b'0' + cents % 10]);
        self
    }

    /// Appends a number below 1 with four decimals, given in ten-thousandths.
    pub fn ten_thousandths(&mut self, value: u32) -> &mut RowText {
        assert!(value < 10_000, "a rate is below 1");
        self.separate();
        self.bytes.extend_from_slice(b"0.");
        for unit in [1000, 100, 10, 1] {
            self.bytes.push(b'0' + (value / unit % 10) as u8);
        }
        self
    }

    /// Appends a text of letters, digits, spaces and punctuation.
    ///
    /// # Panics
    /// The text contains what would have to be escaped.
    pub fn text(&mut self, value: &str) -> &mut RowText {
        let is_plain = |byte: u8| byte >= b' ' && byte != b'\\';
        assert!(value.bytes().all(is_plain), "a value needs no escape");
        self.separate();
        self.bytes.extend_from_slice(value.as_bytes());
        self
    }

    /// Appends a random text of that length.
    pub fn random(&mut self, stream: &mut RandomStream, length: (u32, u32)) -> &mut RowText {
        self.separate();
        stream.text(length, &mut self.bytes);
        self
    }

    /// Appends a random text of 26 to 50 letters, of which one in ten contains `ORIGINAL`
    /// (TPC-C 4.3.3.1).
    pub fn data(&mut self, stream: &mut RandomStream) -> &mut RowText {
        const MARK: &[u8] = b"ORIGINAL";
        self.separate();
        let begun = self.bytes.len();
        stream.text((26, 50), &mut self.bytes);
        if stream.is_one_of(10) {
            let room = self.bytes.len() - begun - MARK.len();
            let at = begun + stream.uniform(0, room as u32) as usize;
            self.bytes[at..at + MARK.len()].copy_from_slice(MARK);
        }
        self
    }

    /// Appends a post code: four random digits and `11111` (TPC-C 4.3.2.7).
    fn post_code(&mut self, stream: &mut RandomStream) -> &mut RowText {
        let number = stream.uniform(0, 9999);
        self.text(&format!("{number:04}11111"))
    }

    /// Appends the two streets, the city, the state and the post code of an address.
    pub fn address(&mut self, stream: &mut RandomStream) -> &mut RowText {
        for _ in 0..3 {
            self.random(stream, (10, 20));
        }
        self.random(stream, (2, 2)).post_code(stream)
    }

    /// Ends the row.
    pub fn end(&mut self) {
        self.bytes.push(b'\n');
        self.rows += 1;
        self.is_in_row = false;
    }

    fn separate(&mut self) {
        if self.is_in_row {
            self.bytes.push(b'\t');
        }
        self.is_in_row = true;
    }

    fn digits(&mut self, mut value: u64) {
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.bytes.extend_from_slice(&digits[at..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_servers_read_them() {
        let mut rows = RowText::default();
        rows.number(0).number(4_294_967_295).null().end();
        rows.hundredths(-1000)
            .hundredths(5)
            .hundredths(123_456)
            .end();
        rows.ten_thousandths(42)
            .ten_thousandths(9999)
            .text("GC")
            .end();
        let text = String::from_utf8_lossy(rows.bytes());
        assert_eq!(
            text,
            "0\t4294967295\t\\N\n-10.00\t0.05\t1234.56\n0.0042\t0.9999\tGC\n"
        );
        assert_eq!(rows.count(), 3);
        rows.clear();
        assert_eq!((rows.bytes(), rows.count()), (&b""[..], 0));
    }

    #[test]
    fn one_text_in_ten_is_original() {
        let mut stream = RandomStream::new(1, &[]);
        let mut rows = RowText::default();
        for _ in 0..10_000 {
            rows.data(&mut stream).end();
        }
        let text = String::from_utf8_lossy(rows.bytes());
        assert!(text.lines().all(|line| (26..=50).contains(&line.len())));
        let marked = text
            .lines()
            .filter(|line| line.contains("ORIGINAL"))
            .count();
        assert!((850..1150).contains(&marked), "{marked}");
    }

    #[test]
    fn an_address_has_five_values() {
        let mut rows = RowText::default();
        rows.address(&mut RandomStream::new(1, &[])).end();
        let text = String::from_utf8_lossy(rows.bytes()).into_owned();
        let values: Vec<&str> = text.trim_end().split('\t').collect();
        assert_eq!((values.len(), values[3].len(), values[4].len()), (5, 2, 9));
        assert!(values[4].ends_with("11111"));
    }
}
