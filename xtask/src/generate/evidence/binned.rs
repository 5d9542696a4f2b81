//! fio's JSON and HdrHistogram logs: values in bins, whose counts add up.

use super::{Fact, Seeded};
use std::fmt::Write as _;

/// Values of a bin, ns.
const BINS: [u64; 4] = [1_000, 50_000, 700_000, 2_000_000];

/// fio's JSON of one job; `json+` has bins.
pub fn fio(layout: &str, r: &mut Seeded) -> (String, Vec<Fact>) {
    let counts = [
        r.whole(1000, 9000),
        r.whole(100, 900),
        r.whole(10, 90),
        r.whole(1, 9),
    ];
    let all: u64 = counts.iter().sum();
    if layout == "fio-2" {
        let (max, iops) = (r.printed(900.0, 9000.0, 0), r.printed(10.0, 99.0, 2));
        let text = format!(
            "{{\"fio version\": \"fio-2.2\", \"jobs\": [{{\"jobname\": \"j\", \"write\": {{\"iops\": {iops}, \
             \"bw\": 40, \"clat\": {{\"min\": 5, \"max\": {max}, \"mean\": 80.5, \"stddev\": 1.0}}}}}}]}}\n"
        );
        let facts = vec![Fact::of("fio_latency", "max_us", &[max])];
        return (text, facts);
    }
    let mut facts = vec![Fact::of("fio_latency", "count", &[all as f64])];
    let mut bins = String::new();
    if layout == "json+" {
        let each: Vec<String> = (BINS.iter().zip(counts))
            .map(|(bin, count)| format!("\"{bin}\": {count}"))
            .collect();
        let _ = write!(bins, ", \"bins\": {{{}}}", each.join(", "));
        facts.push(Fact::of("fio_latency", "binned", &[all as f64]));
    }
    let text = format!(
        "{{\"fio version\": \"fio-3.30\", \"jobs\": [{{\"jobname\": \"j\", \"write\": {{\"iops\": 9.5, \
         \"total_ios\": {all}, \"clat_ns\": {{\"min\": 1000, \"max\": 2500000, \"mean\": 9000.5, \"N\": {all}\
         {bins}}}}}}}]}}\n"
    );
    (text, facts)
}

/// An interval log; `tags` has two series.
pub fn hlog(layout: &str, r: &mut Seeded, rows: u64) -> (String, Vec<Fact>) {
    let mut out = "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\",\
        \"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
        .to_owned();
    let tags: &[&str] = if layout == "tags" { &["a", "b"] } else { &[""] };
    let mut facts = Vec::new();
    for tag in tags {
        let mut total = 0;
        for n in 0..rows.max(1) {
            let counts: Vec<i64> = (0..1 + r.whole(0, 40))
                .map(|_| r.whole(1, 5000) as i64)
                .collect();
            total += counts.iter().sum::<i64>();
            let lead = if tag.is_empty() {
                String::new()
            } else {
                format!("Tag={tag},")
            };
            let _ = writeln!(out, "{lead}{n}.000,1.000,0.001,{}", payload(&counts));
        }
        let fact = Fact::of("hlog", "count", &[total as f64]);
        facts.push(if tag.is_empty() {
            fact
        } else {
            fact.only("tag", tag)
        });
    }
    (out, facts)
}

/// A V2 payload of counts by value from 0 on, in base 64, its zlib stream stored.
pub fn payload(counts: &[i64]) -> String {
    let mut body = Vec::new();
    for count in counts {
        let mut raw = ((count << 1) ^ (count >> 63)) as u64;
        while raw >= 0x80 {
            body.push((raw as u8 & 0x7f) | 0x80);
            raw >>= 7;
        }
        body.push(raw as u8);
    }
    let mut inner = Vec::new();
    inner.extend(0x1c84_9313_u32.to_be_bytes());
    inner.extend((body.len() as u32).to_be_bytes());
    inner.extend(0_u32.to_be_bytes());
    inner.extend(3_u32.to_be_bytes());
    inner.extend(1_u64.to_be_bytes());
    inner.extend(3_600_000_000_000_u64.to_be_bytes());
    inner.extend(1_f64.to_be_bytes());
    inner.extend(body);
    let zipped = stored(&inner);
    let mut outer = 0x1c84_9314_u32.to_be_bytes().to_vec();
    outer.extend((zipped.len() as u32).to_be_bytes());
    outer.extend(zipped);
    base64(&outer)
}

/// A zlib stream of one stored block (RFC 1950, RFC 1951); at most 65,535 bytes.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let len = u16::try_from(bytes.len()).expect("a small histogram");
    let mut out = vec![0x78, 0x01, 0x01];
    out.extend(len.to_le_bytes());
    out.extend((!len).to_le_bytes());
    out.extend(bytes);
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    out.extend((b << 16 | a).to_be_bytes());
    out
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i > three.len() { '=' } else { digit as char });
        }
    }
    out
}
