//! The interval log cut at every byte, with every bit flipped, and fed with what it never wrote.

use crate::common::histogram;
use measure::{Histogram, Nanos};
use proptest::prelude::*;
use redolab::store::hlog::{self, Flaw, HEADER, HlogScan, Record};

fn read(bytes: &[u8]) -> (Vec<Record>, Result<HlogScan, Flaw>) {
    let mut records = Vec::new();
    let scan = hlog::scan(bytes, &mut |r| records.push(r));
    (records, scan)
}

/// A file of `n` small intervals and the offsets at which each ends.
fn file(n: u64) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = HEADER.as_bytes().to_vec();
    let mut ends = Vec::new();
    for i in 0..n {
        let tag = ["log_file_sync", "log_file_parallel_write"][(i % 2) as usize];
        let h = histogram(i + 1, 3 + i * 5);
        let (from, to) = (Nanos::from_secs(i), Nanos::from_secs(i + 1));
        let text = hlog::encode(tag, from, to, &h).expect("encodes");
        bytes.extend_from_slice(text.as_bytes());
        ends.push(bytes.len());
    }
    (bytes, ends)
}

#[test]
fn what_was_written_reads_back() {
    let mut tall = Histogram::new();
    tall.record_n(u64::MAX, 1 << 39);
    tall.record(0);
    for h in [Histogram::new(), histogram(9, 100_000), tall] {
        let text = hlog::encode("x", Nanos(1), Nanos(2), &h).expect("encodes");
        let bytes = format!("{HEADER}{text}");
        let (records, scan) = read(bytes.as_bytes());
        let scan = scan.expect("sound");
        assert_eq!((scan.records, scan.cut), (1, None));
        assert_eq!(scan.bytes, bytes.len() as u64);
        assert_eq!(scan.crc32c, hlog::crc32c(bytes.as_bytes()));
        assert_eq!(records[0].histogram.stats(), h.stats());
        assert_eq!(records[0].histogram.exact(), h.exact());
        assert_eq!((records[0].start, records[0].end), (Nanos(1), Nanos(2)));
    }
    assert_eq!(
        hlog::crc32c(b"123456789"),
        0xe306_9283,
        "the check value of CRC-32C"
    );
}

#[test]
fn cut_at_every_byte_it_reports_what_was_whole() {
    let (bytes, ends) = file(6);
    for keep in 0..=bytes.len() {
        let (records, scan) = read(&bytes[..keep]);
        let scan = scan.expect("a cut is no damage");
        let whole = ends.iter().filter(|end| **end <= keep).count();
        assert_eq!(records.len(), whole, "cut to {keep} of {}", bytes.len());
        let on_a_boundary = keep == HEADER.len() || ends.contains(&keep);
        assert_eq!(
            scan.cut.is_none(),
            on_a_boundary,
            "cut to {keep}: {:?}",
            scan.cut
        );
        for (i, record) in records.iter().enumerate() {
            let written = histogram(i as u64 + 1, 3 + i as u64 * 5);
            assert_eq!(record.histogram.exact(), written.exact());
        }
    }
}

#[test]
fn a_flipped_bit_is_never_accepted() {
    let (bytes, ends) = file(3);
    for at in HEADER.len()..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let (records, scan) = read(&bad);
            let hit = ends.iter().filter(|end| **end <= at).count();
            match scan {
                Err(_) => assert!(
                    hit < 2,
                    "byte {at} bit {bit}: an error in the last interval"
                ),
                Ok(scan) => assert!(scan.cut.is_some(), "byte {at} bit {bit} was accepted"),
            }
            assert_eq!(records.len(), hit, "byte {at} bit {bit}");
        }
    }
}

#[test]
fn damage_before_the_end_is_an_error_with_its_line() {
    let (bytes, ends) = file(4);
    let mut bad = bytes.clone();
    bad.drain(ends[0] + 20..ends[0] + 40);
    let (records, scan) = read(&bad);
    assert_eq!(records.len(), 1);
    assert_eq!(scan.expect_err("damage").line, 5);
    let mut zeros = bytes[..ends[2]].to_vec();
    zeros.extend([0; 5000]);
    let (records, scan) = read(&zeros);
    assert!(records.len() == 3 && scan.expect("a torn tail").cut.is_some());
}

/// Two lines with a right CRC around whatever stands in them: hostile, not damaged.
fn forged(histogram: &str, exact: &str) -> Vec<u8> {
    let text = format!("Tag=x,0.000,1.000,1.000,{histogram}\n{exact}");
    let crc = hlog::crc32c(text.as_bytes());
    format!("{HEADER}{text} crc32c={crc:08x}\n").into_bytes()
}

#[test]
fn contradictions_with_a_right_crc_are_refused() {
    let mut h = Histogram::new();
    h.record_n(1000, 4);
    let sound = hlog::encode("x", Nanos(0), Nanos(9), &h).expect("encodes");
    let line = sound.lines().next().expect("a line");
    let buckets = line.rsplit_once(',').expect("fields").1;
    let exact = "#exact start_ns=0 end_ns=9 count=4 sum=4000 min=1000 max=1000 over=0,0,0,0";
    assert_eq!(
        read(&forged(buckets, exact)).0.len(),
        1,
        "the forge is sound"
    );
    for (old, new) in [
        ("count=4", "count=5"),
        ("sum=4000", "sum=4001"),
        ("sum=4000", "sum=340282366920938463463374607431768211456"),
        ("min=1000", "min=1001"),
        ("max=1000", "max=999"),
        ("over=0,0", "over=0,1"),
        ("over=0,0,0,0", "over=5,0,0,0"),
        ("over=0,0,0,0", "over=0,0,0"),
        ("over=0,0,0,0", "over=0,0,0,0,0"),
        ("end_ns=9", "end_ns=-1"),
        ("start_ns=0", "start_ns=10"),
        ("#exact", "#inexact"),
    ] {
        let (records, scan) = read(&forged(buckets, &exact.replacen(old, new, 1)));
        assert!(
            records.is_empty() && scan.expect("read").cut.is_some(),
            "{new}"
        );
    }
    for bad in ["", "!!!!", "AAAA", "HISTFAAAAAA=", "HISTFP////94nA=="] {
        assert!(read(&forged(bad, exact)).0.is_empty(), "{bad}");
    }
}

/// A compressed V2 histogram around a payload of counts.
fn packed(digits: u32, stated: u32, payload: &[u8]) -> String {
    use base64::Engine as _;
    use std::io::Write as _;
    let mut plain = Vec::new();
    for word in [0x1c84_9313_u32, stated, 0, digits] {
        plain.extend(word.to_be_bytes());
    }
    for word in [1_u64, 1 << 40, 1.0_f64.to_bits()] {
        plain.extend(word.to_be_bytes());
    }
    plain.extend(payload);
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(&plain).expect("memory");
    let body = zlib.finish().expect("memory");
    let mut all = 0x1c84_9314_u32.to_be_bytes().to_vec();
    all.extend((body.len() as u32).to_be_bytes());
    all.extend(body);
    base64::engine::general_purpose::STANDARD.encode(all)
}

#[test]
fn hostile_counts_neither_panic_nor_grow() {
    let exact = "#exact start_ns=0 end_ns=9 count=1 sum=0 min=0 max=0 over=0,0,0,0";
    assert_eq!(
        read(&forged(&packed(3, 1, &[2]), exact)).0.len(),
        1,
        "the forge is sound"
    );
    let bomb = vec![0_u8; 64 << 20];
    for (what, text) in [
        (
            "a stated length beyond the payload",
            packed(3, u32::MAX, &[2]),
        ),
        ("a bomb", packed(3, bomb.len() as u32, &bomb)),
        ("i64::MIN zeros", packed(3, 9, &[0xff; 9])),
        ("a cut count", packed(3, 1, &[0x80])),
        ("counts beyond 64 bits", packed(3, 27, &[0xfe; 27])),
        ("five digits", packed(5, 1, &[2])),
        (
            "beyond the array",
            packed(3, 9, &[0xff, 0xff, 0xff, 0xff, 0x0f, 2, 2, 2, 2]),
        ),
    ] {
        assert!(read(&forged(&text, exact)).0.is_empty(), "{what}");
    }
    let long = format!("{HEADER}Tag={}", "x".repeat(5 << 20));
    assert!(read(long.as_bytes()).1.is_err(), "a line without end");
    let other = "#redolab.hlog/2 of the future\n";
    assert!(read(other.as_bytes()).1.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_values_read_back_and_any_cut_reports_no_more(
        intervals in prop::collection::vec(prop::collection::vec(any::<u64>(), 0..40), 1..6),
        cut in 0.0..1.0_f64,
        noise in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let mut bytes = HEADER.as_bytes().to_vec();
        let mut ends = Vec::new();
        let mut written = Vec::new();
        for (i, values) in intervals.iter().enumerate() {
            let mut h = Histogram::new();
            values.iter().for_each(|v| h.record(*v));
            let from = Nanos(i as u64);
            let text = hlog::encode("log_file_sync", from, from, &h).expect("encodes");
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len());
            written.push(h);
        }
        let (records, scan) = read(&bytes);
        prop_assert_eq!(scan.expect("sound").cut, None);
        prop_assert_eq!(records.len(), written.len());
        for (record, h) in records.iter().zip(&written) {
            prop_assert_eq!(record.histogram.stats(), h.stats());
        }
        let keep = (bytes.len() as f64 * cut) as usize;
        let mut torn = bytes[..keep].to_vec();
        torn.extend(&noise);
        let (records, _) = read(&torn);
        let whole = ends.iter().filter(|end| **end <= keep).count();
        // Noise can complete what was cut only by being what was cut.
        let repaired = usize::from(torn.len() >= keep + noise.len() && bytes.starts_with(&torn));
        prop_assert!(records.len() <= whole + repaired);
    }
}
