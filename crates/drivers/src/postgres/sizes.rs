//! How much redo a transaction makes: from the payloads of its messages to the growth of the LSN.
//!
//! Source: `LogLogicalMessage` and `XactLogCommitRecord` of PostgreSQL 12 to 18; the tests compare
//! every size near the limits with a server, and each workload with the records that the server
//! reads back. Page headers of the WAL (24 bytes per 8 KiB, 40 at the first page of a segment) are
//! not included.

use measure::workload::STAMP_BYTES;

/// Header of a WAL record.
const RECORD_HEADER: u64 = 24;
/// Fields of a message before its prefix.
const MESSAGE_HEADER: u64 = 24;
/// The prefix, `r`, with its zero byte.
const PREFIX_BYTES: u64 = 2;
/// Main data up to this length has the short header.
const SHORT_MAX: u64 = 255;
const SHORT_HEADER: u64 = 2;
const LONG_HEADER: u64 = 5;
/// A commit record.
const COMMIT: u64 = 40;
/// A commit record with `wal_level = logical`.
const COMMIT_LOGICAL: u64 = 48;
/// Records begin at multiples of this.
const ALIGNMENT: u64 = 8;

/// The messages of a workload's transactions, and the redo that they make together with the record
/// of their commit.
///
/// The redo is divided evenly, in multiples of 8 bytes; the first messages have 8 bytes more. A
/// payload has room for its stamp, so no message takes less than 72 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionMessages {
    records: u32,
    /// How many have the larger payload.
    larger: u32,
    /// The larger payload, and the other.
    payloads: [u64; 2],
    redo: u64,
}

impl TransactionMessages {
    /// The smallest transaction of `records` messages that makes at least `redo` bytes of redo.
    #[must_use]
    pub fn of(redo: u64, records: u32, is_logical: bool) -> TransactionMessages {
        let records = records.max(1);
        let count = u64::from(records);
        let commit = commit(is_logical);
        let least = message(STAMP_BYTES as u64) * count;
        let wanted = redo.next_multiple_of(ALIGNMENT).saturating_sub(commit);
        let messages = wanted.max(least);
        let (each, larger) = (
            messages / ALIGNMENT / count * ALIGNMENT,
            messages / ALIGNMENT % count,
        );
        TransactionMessages {
            records,
            larger: u32::try_from(larger).unwrap_or(0),
            payloads: [largest_payload(each + ALIGNMENT), largest_payload(each)],
            redo: messages + commit,
        }
    }

    /// How many messages there are.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// Bytes of payload of the message with that number, from 0.
    #[must_use]
    #[inline]
    pub fn payload(&self, index: u32) -> u64 {
        self.payloads[usize::from(index >= self.larger)]
    }

    /// Growth of the LSN by a transaction, page headers not included.
    #[must_use]
    pub fn redo(&self) -> u64 {
        self.redo
    }
}

/// Growth of the LSN by a transaction whose messages have those payloads, page headers not
/// included.
#[must_use]
pub fn redo_of(payloads: impl IntoIterator<Item = u64>, is_logical: bool) -> u64 {
    let messages: u64 = payloads.into_iter().map(message).sum();
    messages + commit(is_logical)
}

/// Bytes of the record of a message, up to where the next one begins.
fn message(payload: u64) -> u64 {
    let main = MESSAGE_HEADER + PREFIX_BYTES + payload;
    let header = if main <= SHORT_MAX {
        SHORT_HEADER
    } else {
        LONG_HEADER
    };
    (RECORD_HEADER + header + main).next_multiple_of(ALIGNMENT)
}

/// The largest payload of a message whose record takes so many bytes, a multiple of 8.
fn largest_payload(record: u64) -> u64 {
    let long = record - RECORD_HEADER - LONG_HEADER;
    let short = record - RECORD_HEADER - SHORT_HEADER;
    let main = if long > SHORT_MAX {
        long
    } else {
        short.min(SHORT_MAX)
    };
    main - MESSAGE_HEADER - PREFIX_BYTES
}

fn commit(is_logical: bool) -> u64 {
    if is_logical { COMMIT_LOGICAL } else { COMMIT }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes that were observed on PostgreSQL 12.22, 15.18 and 18.4, without page headers.
    #[test]
    fn observed_sizes_are_predicted() {
        for (payload, redo) in [
            (10, 104),
            (100, 192),
            (1000, 1096),
            (2000, 2096),
            (4096, 4192),
        ] {
            assert_eq!(redo_of([payload], false), redo, "{payload}");
            assert_eq!(redo_of([payload], true), redo + 8, "{payload}");
        }
    }

    #[test]
    fn payloads_make_the_redo_that_was_asked_for() {
        for is_logical in [false, true] {
            for records in [1_u32, 2, 3, 7, 61] {
                let stamps = (0..records).map(|_| STAMP_BYTES as u64);
                let least = redo_of(stamps, is_logical);
                for redo in (0..4096).chain([1_997, 26_931, 126_976, 497_664, 16 << 20]) {
                    let messages = TransactionMessages::of(redo, records, is_logical);
                    let payloads: Vec<u64> = (0..messages.records())
                        .map(|index| messages.payload(index))
                        .collect();
                    let made = redo_of(payloads.iter().copied(), is_logical);
                    assert_eq!(made, redo.next_multiple_of(8).max(least), "{redo}");
                    assert_eq!(messages.redo(), made);
                    for payload in payloads {
                        assert!(message(payload + 1) > message(payload), "{redo}");
                        assert!(payload >= STAMP_BYTES as u64);
                    }
                    let of = |index| message(messages.payload(index));
                    assert!(of(0) - of(records - 1) <= 8, "evenly: {redo}");
                }
            }
        }
        assert_eq!(TransactionMessages::of(1_997, 1, false).payload(0), 1_905);
    }
}
