//! Recorded pages, made-up pages, and pages of any bytes.

use super::super::events::{SystemCall, TraceDecoder, TraceEvent, TraceEventKind};
use super::super::format::check_entries;
use super::*;
use proptest::prelude::*;

const HEADER: &str = include_str!("../recorded/header_page.txt");
const ENTRIES: &str = include_str!("../recorded/header_event.txt");
const FORMATS: &str = include_str!("../recorded/formats.txt");
/// Direct and buffered writes of 8 KiB with a flush each, on ext4 on a loop device.
const WRITES: &[u8] = include_bytes!("../recorded/page-writes.bin");
/// A page before which 10,056 events were overwritten.
const LOST: &[u8] = include_bytes!("../recorded/page-lost.bin");

fn header() -> PageHeader {
    PageHeader::parse(HEADER).expect("as recorded")
}

fn decoder() -> TraceDecoder {
    let kinds = [
        TraceEventKind::DirectBegin,
        TraceEventKind::DirectEnd,
        TraceEventKind::Ext4Buffered,
        TraceEventKind::Ext4SyncBegin,
        TraceEventKind::Ext4SyncEnd,
        TraceEventKind::BlockIssue,
        TraceEventKind::BlockDone,
        TraceEventKind::CallEnd(SystemCall::Pwrite),
        TraceEventKind::CallEnd(SystemCall::Fdatasync),
    ];
    let mut decoder = TraceDecoder::default();
    for kind in kinds {
        let name = kind.path().rsplit('/').next().expect("a name");
        let begins = format!("name: {name}\n");
        let at = FORMATS.find(&begins).expect("recorded");
        let text = FORMATS.get(at..).expect("from there");
        let end = text[1..].find("name: ").map_or(text.len(), |end| end + 1);
        decoder.add(kind, &text[..end]).expect("described");
    }
    decoder
}

#[test]
fn a_recorded_page_has_its_events_in_their_order() {
    assert_eq!(check_entries(ENTRIES), Ok(()));
    let decoder = decoder();
    let records = Records::of(&header(), WRITES).expect("a page");
    let records: Vec<TraceRecord<'_>> = records.map(|record| record.expect("whole")).collect();
    assert!(records.len() > 40, "{}", records.len());
    assert!(records.is_sorted_by_key(|record| record.at_ns));
    let events = records
        .iter()
        .filter_map(|r| decoder.decode(r.at_ns, r.bytes));
    let events: Vec<_> = events.collect();
    // Direct writes, each with its end where the write ended, and none of another size.
    let begins = events.iter().filter_map(|timed| match timed.event {
        TraceEvent::DirectBegin { file, pos } => Some((file, pos + 8192)),
        _ => None,
    });
    let ends = events.iter().filter_map(|timed| match timed.event {
        TraceEvent::DirectEnd {
            file,
            pos,
            is_durable: false,
            result: 8192,
        } => Some((file, pos)),
        _ => None,
    });
    let (begins, ends): (Vec<_>, Vec<_>) = (begins.collect(), ends.collect());
    // The first write began on the page before, and each begin comes once more at the end.
    assert!(ends.len() > 3, "{ends:?}");
    assert!(
        ends.iter().skip(1).all(|end| begins.contains(end)),
        "{begins:?} {ends:?}"
    );
}

#[test]
fn a_page_before_which_events_were_lost_is_read() {
    let records = Records::of(&header(), LOST).expect("a page");
    assert!(records.flatten().count() > 20);
}

fn page(commit: u64, words: &[u32]) -> Vec<u8> {
    let mut page = Vec::from(1_000_u64.to_ne_bytes());
    page.extend(commit.to_ne_bytes());
    words
        .iter()
        .for_each(|word| page.extend(word.to_ne_bytes()));
    page
}

fn entry(kind: u32, delta: u32) -> u32 {
    if cfg!(target_endian = "little") {
        delta << TYPE_BITS | kind
    } else {
        kind << TIME_BITS | delta
    }
}

fn times(words: &[u32]) -> Vec<Result<(u64, usize), RingError>> {
    let page = page(words.len() as u64 * 4, words);
    let records = Records::of(&header(), &page).expect("a header");
    records
        .map(|record| record.map(|r| (r.at_ns, r.bytes.len())))
        .collect()
}

#[test]
fn times_are_added_extended_and_set() {
    let words = [
        entry(1, 5),
        0xabcd,
        entry(TYPE_TIME_EXTEND, 7),
        2,
        entry(2, 1),
        0,
        0,
        entry(TYPE_TIME_STAMP, 3),
        1,
        entry(0, 4),
        12,
        0,
        0,
        // A discarded entry takes its time and is not a record.
        entry(TYPE_PADDING, 1),
        8,
        0,
        entry(1, 1),
        0,
        // The rest of the page is empty.
        entry(TYPE_PADDING, 0),
        99,
        entry(1, 1),
        0,
    ];
    let extended = 1_005 + 7 + (2 << 27) + 1;
    let set = 3 + (1 << 27) + 4;
    let expected = [(1_005, 4), (extended, 8), (set, 8), (set + 2, 4)];
    assert_eq!(times(&words), expected.map(Ok));
}

#[test]
fn a_cut_or_hostile_page_ends_with_an_error() {
    for words in [
        &[entry(28, 1), 0][..],
        &[entry(0, 1)],
        &[entry(0, 1), 3],
        &[entry(0, 1), u32::MAX],
        &[entry(TYPE_PADDING, 1), u32::MAX],
        &[entry(TYPE_TIME_EXTEND, 1)],
    ] {
        assert_eq!(times(words), [Err(RingError::Entry(0))], "{words:x?}");
    }
    let short = page(4096, &[]);
    let refused = Records::of(&header(), &short).map(|_| ());
    assert_eq!(
        refused,
        Err(RingError::Length {
            data: 4096,
            bytes: 16
        })
    );
    for cut in 0..16 {
        let refused = Records::of(&header(), &short[..cut]).map(|_| ());
        assert_eq!(refused, Err(RingError::Header), "{cut}");
    }
}

proptest! {
    /// Whatever the bytes are, records come to an end, and no more of them than words.
    #[test]
    fn any_bytes_are_read_to_an_end(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        length in 0_u32..700,
        at in 0_usize..4096,
        flip in any::<u8>(),
    ) {
        let mut made = page(u64::from(length), &[]);
        made.extend(&bytes);
        let mut recorded = WRITES.to_vec();
        recorded[at] ^= flip;
        let decoder = decoder();
        for page in [&made, &recorded] {
            if let Ok(records) = Records::of(&header(), page) {
                let count = records.inspect(|record| {
                    if let Ok(record) = record {
                        let _ = decoder.decode(record.at_ns, record.bytes);
                    }
                }).count();
                prop_assert!(count <= page.len() / WORD + 1);
            }
        }
    }
}
