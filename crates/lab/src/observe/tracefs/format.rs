//! The kernel's descriptions of its trace: `events/header_page`, `events/header_event`, and the
//! `format` of each event.
//!
//! Invariant: offsets and sizes are those that the kernel describes. A description in another form
//! is an error, never a guess.

use std::collections::BTreeMap;

/// A field of a page or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset in bytes from the beginning of the record.
    pub offset: usize,
    /// Size in bytes.
    pub size: usize,
    /// It has a sign.
    pub is_signed: bool,
}

impl Field {
    /// Its bytes; `None` where the record ends before it does.
    #[must_use]
    pub fn bytes<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        record.get(self.offset..self.offset.checked_add(self.size)?)
    }

    /// Its value, with the sign extended where it has one.
    #[must_use]
    pub fn value(&self, record: &[u8]) -> Option<i64> {
        let bytes = self.bytes(record)?;
        Some(match (bytes.len(), self.is_signed) {
            (1, false) => i64::from(*bytes.first()?),
            (1, true) => i64::from(i8::from_ne_bytes(bytes.try_into().ok()?)),
            (2, false) => i64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            (2, true) => i64::from(i16::from_ne_bytes(bytes.try_into().ok()?)),
            (4, false) => i64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            (4, true) => i64::from(i32::from_ne_bytes(bytes.try_into().ok()?)),
            (8, _) => i64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }

    /// Its value as one without a sign.
    #[must_use]
    pub fn unsigned(&self, record: &[u8]) -> Option<u64> {
        self.value(record).map(i64::cast_unsigned)
    }
}

/// The fields of a description, by their names. `field:TYPE NAME; offset:N; size:N; signed:N;`
fn fields(text: &str) -> BTreeMap<String, Field> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.trim().split(';').map(str::trim);
            let declared = parts.next()?.strip_prefix("field:")?.trim();
            let mut number = |name: &str| {
                let part = parts.next()?.strip_prefix(name)?.strip_prefix(':')?;
                part.trim().parse::<usize>().ok()
            };
            let (offset, size) = (number("offset")?, number("size")?);
            let is_signed = number("signed") == Some(1);
            let name = declared.split('[').next()?.split([' ', '*']).next_back()?;
            let field = Field {
                offset,
                size,
                is_signed,
            };
            (!name.is_empty()).then(|| (name.to_owned(), field))
        })
        .collect()
}

/// An event as its `format` describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventFormat {
    /// Its name.
    pub name: String,
    /// The number by which its records begin.
    pub id: u16,
    fields: BTreeMap<String, Field>,
}

impl EventFormat {
    /// Reads a `format` file.
    ///
    /// # Errors
    /// What is missing in it.
    pub fn parse(text: &str) -> Result<EventFormat, String> {
        let line = |name: &str| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix(name).map(str::trim))
        };
        let name = line("name:").filter(|name| !name.is_empty());
        let id = line("ID:").and_then(|id| id.parse().ok());
        Ok(EventFormat {
            name: name.ok_or("it has no name")?.to_owned(),
            id: id.ok_or("it has no ID")?,
            fields: fields(text),
        })
    }

    /// The field of that name.
    ///
    /// # Errors
    /// There is none, or none that is a number.
    pub fn number(&self, name: &str) -> Result<Field, String> {
        let field = self.field(name)?;
        match field.size {
            1 | 2 | 4 | 8 => Ok(field),
            size => Err(format!("its field {name} has {size} bytes")),
        }
    }

    /// The field of that name, of any size.
    ///
    /// # Errors
    /// There is none.
    pub fn field(&self, name: &str) -> Result<Field, String> {
        let field = self.fields.get(name).copied();
        field.ok_or_else(|| format!("it has no field {name}"))
    }
}

/// A page of a ring buffer as `header_page` describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// Time of its first record.
    pub timestamp: Field,
    /// Bytes of data, with flags.
    pub commit: Field,
    /// The data.
    pub data: Field,
}

/// Largest page that is read, in bytes: sub-buffers of the kernel have at most 128 pages.
const PAGE_MAX: usize = 16 << 20;

impl PageHeader {
    /// Reads `events/header_page`.
    ///
    /// # Errors
    /// What is missing in it.
    pub fn parse(text: &str) -> Result<PageHeader, String> {
        let fields = fields(text);
        let field = |name: &str| {
            let field = fields.get(name).copied();
            field.ok_or_else(|| format!("it has no field {name}"))
        };
        let header = PageHeader {
            timestamp: field("timestamp")?,
            commit: field("commit")?,
            data: field("data")?,
        };
        let is_word = |field: Field| matches!(field.size, 4 | 8);
        match header.page_bytes() {
            Some(bytes) if bytes <= PAGE_MAX => {}
            _ => return Err("a page has an impossible size".to_owned()),
        }
        match is_word(header.timestamp) && is_word(header.commit) {
            true => Ok(header),
            false => Err("timestamp and commit are not words".to_owned()),
        }
    }

    /// Bytes of a page.
    #[must_use]
    pub fn page_bytes(&self) -> Option<usize> {
        self.data.offset.checked_add(self.data.size)
    }
}

/// Checks that entries of a page have the form that [`super::ring`] reads, as
/// `events/header_event` describes it.
///
/// # Errors
/// What differs.
pub fn check_entries(text: &str) -> Result<(), String> {
    let words: Vec<Vec<&str>> = text
        .lines()
        .map(|line| {
            line.split([' ', '\t', ':'])
                .filter(|w| !w.is_empty())
                .collect()
        })
        .collect();
    for expected in [
        &["type_len", "5", "bits"][..],
        &["time_delta", "27", "bits"],
        &["array", "32", "bits"],
        &["padding", "type", "==", "29"],
        &["time_extend", "type", "==", "30"],
        &["time_stamp", "type", "==", "31"],
        &["data", "max", "type_len", "==", "28"],
    ] {
        if !words.iter().any(|line| line == expected) {
            return Err(format!("it does not say: {}", expected.join(" ")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:const void * ops;\toffset:48;\tsize:8;\tsigned:0;\n\n\
        print fmt: \"%d\", REC->sector\n";

    #[test]
    fn fields_have_the_kernels_offsets() {
        let event = EventFormat::parse(ISSUE).expect("a format");
        assert_eq!((event.name.as_str(), event.id), ("block_rq_issue", 2104));
        let field = |offset, size, is_signed| Field {
            offset,
            size,
            is_signed,
        };
        assert_eq!(event.number("common_pid"), Ok(field(4, 4, true)));
        assert_eq!(event.number("sector"), Ok(field(16, 8, false)));
        assert_eq!(event.number("ops"), Ok(field(48, 8, false)));
        assert_eq!(event.field("rwbs"), Ok(field(34, 10, false)));
        assert!(
            event
                .number("rwbs")
                .is_err_and(|why| why.contains("10 bytes"))
        );
        assert!(event.number("dev").is_err_and(|why| why.contains("dev")));
        for wrong in ["", "name: a\n", "name: a\nID: 70000\n", "ID: 5\n"] {
            assert!(EventFormat::parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn values_have_their_sign() {
        let field = |size, is_signed| Field {
            offset: 1,
            size,
            is_signed,
        };
        let record = [0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(field(4, true).value(&record), Some(-1));
        assert_eq!(field(4, false).value(&record), Some(0xffff_ffff));
        assert_eq!(field(8, false).unsigned(&record), Some(u64::MAX));
        assert_eq!(field(8, false).value(&record[..8]), None);
        assert_eq!(field(3, false).value(&record), None);
    }

    #[test]
    fn a_page_and_its_entries_are_those_that_are_read() {
        let page = PageHeader::parse(PAGE).expect("a page");
        assert_eq!((page.page_bytes(), page.data.offset), (Some(4096), 16));
        assert!(PageHeader::parse("").is_err());
        assert!(PageHeader::parse(&PAGE.replace("4080", "99999999999")).is_err());
        let entries = "# compressed entry header\n\ttype_len    :    5 bits\n\
            \ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\
            \tpadding     : type == 29\n\ttime_extend : type == 30\n\
            \ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
        assert_eq!(check_entries(entries), Ok(()));
        let other = entries.replace("27 bits", "26 bits");
        assert!(check_entries(&other).is_err_and(|why| why.contains("time_delta 27")));
    }
}
