//! The kernel's trace: any bytes, as a page of a ring buffer and as a description of one, are read
//! without a panic; records and events are no more than there are words; what they are joined to
//! has no more bytes than the calls that wrote them.

use redolab::observe::tracefs::events::{Decoder, EventKind, SystemCall};
use redolab::observe::tracefs::format::{EventFormat, PageHeader, check_entries};
use redolab::observe::tracefs::ring::Records;
use redolab::watch::join::{FileRules, Join};

const HEADER: &str =
    include_str!("../../crates/redolab/src/observe/tracefs/recorded/header_page.txt");
const FORMATS: &str = include_str!("../../crates/redolab/src/observe/tracefs/recorded/formats.txt");
const KINDS: [EventKind; 13] = [
    EventKind::DirectBegin,
    EventKind::DirectQueued,
    EventKind::DirectEnd,
    EventKind::Ext4Buffered,
    EventKind::XfsBuffered,
    EventKind::Ext4SyncBegin,
    EventKind::Ext4SyncEnd,
    EventKind::XfsSyncBegin,
    EventKind::BlockIssue,
    EventKind::BlockDone,
    EventKind::RingQueued,
    EventKind::RingDone,
    EventKind::CallEnd(SystemCall::Pwrite),
];

fn decoder() -> Decoder {
    let mut decoder = Decoder::default();
    for kind in KINDS {
        let name = kind.path().rsplit('/').next().unwrap_or_default();
        let own = FORMATS
            .split("name: ")
            .find(|text| text.starts_with(&format!("{name}\n")));
        let text = format!("name: {}", own.expect("it was recorded"));
        decoder.add(kind, &text).expect("as recorded");
    }
    decoder
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = check_entries(&text);
    let described = PageHeader::parse(&text);
    let mut decoder = decoder();
    if let Ok(format) = EventFormat::parse(&text) {
        for kind in KINDS {
            let _ = decoder.add(kind, &text);
        }
        let _ = format.number("dev").map(|field| field.value(bytes));
    }
    let recorded = PageHeader::parse(HEADER).expect("as recorded");
    for header in described.iter().chain([&recorded]) {
        let Ok(records) = Records::of(header, bytes) else {
            continue;
        };
        let _ = records.missed();
        let records: Vec<_> = records.flatten().collect();
        assert!(records.len() <= bytes.len() / 4 + 1);
        let events: Vec<_> = records
            .iter()
            .filter_map(|record| decoder.decode(record.at_ns, record.bytes))
            .collect();
        let mut join = Join::default();
        for file in events
            .iter()
            .filter_map(|timed| Join::file_of(&timed.event))
        {
            join.follow(file, FileRules::default(), false);
        }
        events.iter().for_each(|event| join.step(event));
        join.settle(u64::MAX);
        let calls: u64 = join
            .take()
            .writes
            .iter()
            .map(|write| u64::from(write.calls))
            .sum();
        assert!(calls + join.not_flushed() <= join.counts().calls);
    }
}
