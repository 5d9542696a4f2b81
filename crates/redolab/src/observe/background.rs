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

/// The share of a device's written bytes that others wrote, percent. `device` is the difference of
/// the counters over the window, `own_bytes` what this process wrote in it. The file system's
/// journal counts as others. Writes through the page cache may reach the device in another window
/// than the process's, so of buffered runs this is an estimate. `None` when nothing was written.
#[must_use]
pub fn others_pct(device: &DiskStats, own_bytes: u64) -> Option<f64> {
    let all = device.written_bytes();
    (all > 0).then(|| super::pct(all.saturating_sub(own_bytes), all))
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
    fn shares_of_others() {
        let device = |sectors| DiskStats {
            write_sectors: sectors,
            ..DiskStats::default()
        };
        for (sectors, own, want) in [
            (0, 0, None),
            (200, 102_400, Some(0.0)),
            (200, 51_200, Some(50.0)),
            (200, 999_999, Some(0.0)),
            (200, 0, Some(100.0)),
        ] {
            assert_eq!(others_pct(&device(sectors), own), want, "{sectors} {own}");
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
