//! Other users of the device: how much they write during a run, and whether there are any before.

use super::diskstats::{Counters, DiskStats};
use std::io;
use std::time::{Duration, Instant};

/// Bytes that this process caused to be written, from /proc/self/io: `write_bytes` less what was
/// dropped before it was written. All threads, those that have ended included.
#[must_use]
pub fn parse_own_written(io: &str) -> Option<u64> {
    let field = |name: &str| {
        let value = io
            .lines()
            .find_map(|l| l.strip_prefix(name)?.strip_prefix(": "))?;
        value.trim().parse::<u64>().ok()
    };
    let written = field("write_bytes")?;
    Some(written.saturating_sub(field("cancelled_write_bytes").unwrap_or(0)))
}

/// As [`parse_own_written`], now; `None` on a kernel without I/O accounting.
#[must_use]
pub fn own_written_bytes() -> Option<u64> {
    parse_own_written(&std::fs::read_to_string("/proc/self/io").ok()?)
}

/// What a device did while this process let it be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Idleness {
    /// Share of the time with a request in flight, percent.
    pub utilisation_pct: f64,
    /// Writes a second.
    pub writes_per_s: f64,
    /// Bytes written a second.
    pub written_bytes_per_s: f64,
}

/// Watches a device for `window` and says how busy others keep it.
///
/// # Errors
/// The system's.
pub fn watch(counters: &Counters, window: Duration) -> io::Result<Idleness> {
    let (start, before) = (Instant::now(), counters.read()?);
    std::thread::sleep(window);
    let (elapsed, after) = (start.elapsed(), counters.read()?);
    Ok(idleness(&after.since(&before), elapsed))
}

fn idleness(difference: &DiskStats, elapsed: Duration) -> Idleness {
    let seconds = elapsed.as_secs_f64().max(1e-9);
    let elapsed_ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    Idleness {
        utilisation_pct: difference.utilisation_pct(elapsed_ns),
        writes_per_s: difference.writes as f64 / seconds,
        written_bytes_per_s: difference.written_bytes() as f64 / seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_bytes_are_what_was_not_cancelled() {
        let text = "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 0\n\
                    write_bytes: 81920\ncancelled_write_bytes: 4096\n";
        assert_eq!(parse_own_written(text), Some(77_824));
        assert_eq!(parse_own_written("write_bytes: 12\n"), Some(12));
        for bad in ["", "write_bytes: x\n", "cancelled_write_bytes: 4\n"] {
            assert_eq!(parse_own_written(bad), None, "{bad}");
        }
    }

    #[test]
    fn idleness_is_a_rate() {
        let difference = DiskStats {
            busy_ms: 100,
            writes: 50,
            write_sectors: 400,
            ..DiskStats::default()
        };
        let got = idleness(&difference, Duration::from_secs(2));
        assert_eq!(got.utilisation_pct, 5.0);
        assert_eq!(
            (got.writes_per_s, got.written_bytes_per_s),
            (25.0, 102_400.0)
        );
    }
}
