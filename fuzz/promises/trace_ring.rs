//! The kernel's trace: any bytes, as a page of a ring buffer and as a description of one, are read
//! without a panic; records and events are no more than there are words; what they are joined to
//! has no more bytes than the calls that wrote them.

use redolab::observe::tracefs::events::{SystemCall, TraceDecoder, TraceEventKind};
use redolab::observe::tracefs::format::{EventFormat, PageHeader, check_entries};
use redolab::observe::tracefs::ring::Records;
use redolab::watch::join::{FileRules, Join};

const HEADER: &str = include_str!("../../crates/lab/src/observe/tracefs/recorded/header_page.txt");
const FORMATS: &str = include_str!("../../crates/lab/src/observe/tracefs/recorded/formats.txt");
const KINDS: [TraceEventKind; 13] = [
    TraceEventKind::DirectBegin,
    TraceEventKind::DirectQueued,
    TraceEventKind::DirectEnd,
    TraceEventKind::Ext4Buffered,
    TraceEventKind::XfsBuffered,
    TraceEventKind::Ext4SyncBegin,
    TraceEventKind::Ext4SyncEnd,
    TraceEventKind::XfsSyncBegin,
    TraceEventKind::BlockIssue,
    TraceEventKind::BlockDone,
    TraceEventKind::RingQueued,
    TraceEventKind::RingDone,
    TraceEventKind::CallEnd(SystemCall::Pwrite),
];

fn decoder() -> TraceDecoder {
    let mut decoder = TraceDecoder::default();
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
