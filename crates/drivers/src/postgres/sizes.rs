//! How much redo a transaction makes: from the payload of a message to the growth of the LSN.
//!
//! Source: `LogLogicalMessage` and `XactLogCommitRecord` of PostgreSQL 12 to 18; the test
//! `sizes` compares every size near the limits with a server. Page headers of the WAL (24 bytes
//! per 8 KiB, 40 at the first page of a segment) are not included.

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

/// Growth of the LSN by a transaction whose message has that payload, page headers not included.
#[must_use]
pub fn redo_of(payload: u64, is_logical: bool) -> u64 {
    let main = MESSAGE_HEADER + PREFIX_BYTES + payload;
    let header = if main <= SHORT_MAX {
        SHORT_HEADER
    } else {
        LONG_HEADER
    };
    let message = (RECORD_HEADER + header + main).next_multiple_of(ALIGNMENT);
    message + commit(is_logical)
}

/// The largest payload of the smallest transaction that makes at least `redo` bytes of redo. A
/// payload has room for its stamp, so the smallest transaction makes 112 bytes.
#[must_use]
pub fn payload_for(redo: u64, is_logical: bool) -> u64 {
    let least = STAMP_BYTES as u64;
    let wanted = redo.max(redo_of(least, is_logical));
    let others = commit(is_logical) + RECORD_HEADER + LONG_HEADER + MESSAGE_HEADER + PREFIX_BYTES;
    // Too small by less than one alignment and the difference of the headers.
    let mut payload = wanted.saturating_sub(others).max(least);
    while redo_of(payload, is_logical) < wanted {
        payload += 1;
    }
    let reached = redo_of(payload, is_logical);
    while redo_of(payload + 1, is_logical) == reached {
        payload += 1;
    }
    payload
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
            assert_eq!(redo_of(payload, false), redo, "{payload}");
            assert_eq!(redo_of(payload, true), redo + 8, "{payload}");
        }
    }

    #[test]
    fn a_payload_makes_the_redo_that_was_asked_for() {
        for is_logical in [false, true] {
            for redo in (0..4096).chain([1_997, 26_931, 126_976, 497_664]) {
                let payload = payload_for(redo, is_logical);
                let made = redo_of(payload, is_logical);
                let least = redo_of(STAMP_BYTES as u64, is_logical);
                assert_eq!(made, redo.next_multiple_of(8).max(least), "{redo}");
                assert!(redo_of(payload + 1, is_logical) > made, "{redo}");
            }
        }
        assert_eq!(payload_for(1_997, false), 1_905);
    }
}
