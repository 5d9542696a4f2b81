//! What a run's redo is made of, as a compressor finds it: asked and measured stand side by side.

use super::row::{POOL_BYTES, Spec};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use measure::run::PayloadInfo;
use measure::workload::Generator;
use measure::workload::payload::{UNIT, dedupe_ratio, sample};
use std::io::Write;

/// Bytes that are compressed together: what storage that compresses takes at a time, about.
const CHUNK: usize = 32 << 10;
/// Payload that is looked at.
const SAMPLE_BYTES: usize = 4 << 20;

/// Compresses a sample of what the first session of `spec` would append.
#[must_use]
pub fn measured(spec: &Spec) -> PayloadInfo {
    let pool = spec.payload.pool(spec.seed, POOL_BYTES);
    let mut generator = Generator::of(spec.payload, pool, 0, spec.seed);
    let bytes = sample(&mut generator, spec.workload.record_bytes(0), SAMPLE_BYTES);
    PayloadInfo {
        compressibility: spec.payload.compressibility,
        dedupe: spec.payload.dedupe,
        measured_compressibility: compression_ratio(&bytes),
        measured_dedupe: dedupe_ratio(&bytes).unwrap_or(1.0),
        compressor: format!("deflate level 1, {} kB at a time", CHUNK >> 10),
        sample_bytes: bytes.len() as u64,
    }
}

/// Uncompressed to compressed bytes, chunk by chunk.
fn compression_ratio(bytes: &[u8]) -> f64 {
    let compressed: usize = bytes.chunks(CHUNK.max(UNIT)).map(compressed_bytes).sum();
    bytes.len() as f64 / compressed.max(1) as f64
}

fn compressed_bytes(chunk: &[u8]) -> usize {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let done = encoder.write_all(chunk).and_then(|()| encoder.finish());
    done.expect("writing to memory cannot fail").len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Nanos;
    use measure::workload::{Payload, Workload};

    #[test]
    fn a_compressor_finds_what_was_asked_for() {
        for (workload, ratio) in [
            ("LAT1", 1.0),
            ("LAT25", 1.0),
            ("LAT1", 2.0),
            ("LAT25", 3.0),
            ("THR", 2.5),
            ("LAT125", 10.0),
            ("LAT1", 20.0),
        ] {
            let workload = Workload::by_name(workload).expect("known");
            let mut spec = Spec::closed(workload, 1, Nanos::ZERO, Nanos::ZERO);
            spec.payload = Payload {
                compressibility: ratio,
                dedupe: 1.0,
            };
            let got = measured(&spec);
            let off = got.measured_compressibility / ratio - 1.0;
            assert!(off.abs() < 0.1, "{}: {got:?}", spec.workload.name);
            assert!(got.measured_dedupe < 1.01, "{got:?}");
        }
    }

    #[test]
    fn duplicates_cost_the_compression_nothing() {
        let workload = Workload::by_name("LAT25").expect("known");
        let mut spec = Spec::closed(workload, 1, Nanos::ZERO, Nanos::ZERO);
        spec.payload = Payload {
            compressibility: 2.0,
            dedupe: 3.0,
        };
        let got = measured(&spec);
        assert!((got.measured_dedupe / 3.0 - 1.0).abs() < 0.15, "{got:?}");
        // A compressor finds some of the duplicates within 32 kB too: never less than asked.
        assert!(
            (1.8..3.5).contains(&got.measured_compressibility),
            "{got:?}"
        );
    }
}
