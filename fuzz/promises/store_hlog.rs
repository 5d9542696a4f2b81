//! Interval logs: any bytes, and any bytes with the checksums that they should have, are read
//! without a panic; what is read can be written and read again; a part never gives more.

use redolab::store::hlog::{self, HEADER, HlogScan, Record};

const SUM: &[u8] = b" crc32c=";

fn scan(bytes: &[u8]) -> (Vec<Record>, Option<HlogScan>) {
    let mut records = Vec::new();
    let scan = hlog::scan(bytes, &mut |record| records.push(record));
    (records, scan.ok())
}

/// The same lines behind the right heading, each companion with its own checksum.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut out = HEADER.as_bytes().to_vec();
    let mut first: &[u8] = b"";
    for line in bytes.split(|b| *b == b'\n') {
        let sum_at = line.windows(SUM.len()).position(|w| w == SUM);
        if line.starts_with(b"#redolab") {
            continue;
        }
        let body = &line[..sum_at.unwrap_or(line.len())];
        out.extend_from_slice(body);
        if sum_at.is_some() {
            let sum = hlog::crc32c(&[first, b"\n", body].concat());
            out.extend_from_slice(format!(" crc32c={sum:08x}").as_bytes());
        }
        out.push(b'\n');
        first = line;
    }
    out
}

/// Bears `bytes`, or panics.
pub fn bear(bytes: &[u8]) {
    let (records, found) = scan(bytes);
    if let Some(found) = &found {
        assert_eq!(found.records, records.len() as u64);
        assert_eq!(found.bytes, bytes.len() as u64);
    }
    let cut = usize::from(bytes.last().copied().unwrap_or(0)) * bytes.len() / 256;
    assert!(scan(&bytes[..cut]).0.len() <= records.len());

    let (records, _) = scan(&mended(bytes));
    for record in records {
        let text = hlog::encode(&record.tag, record.start, record.end, &record.histogram);
        let text = format!("{HEADER}{}", text.expect("what was read can be written"));
        let (again, found) = scan(text.as_bytes());
        assert!(found.is_some_and(|f| f.cut.is_none()), "{text}");
        assert_eq!(again.len(), 1, "{text}");
        assert_eq!(again[0].histogram.stats(), record.histogram.stats());
        assert_eq!(again[0].histogram.exact(), record.histogram.exact());
    }
}
