//! What the whole machine waits for: pressure stall information of the kernel (PSI), and the pages
//! that wait to be written back.
//!
//! Invariant: parsers take text; what a kernel does not report is `None`, never zero.

/// Time for which at least one task of the machine waited, since the start of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PressureTotals {
    /// For a device, microseconds.
    pub io_us: Option<u64>,
    /// For a processor, microseconds.
    pub cpu_us: Option<u64>,
    /// For memory, microseconds.
    pub memory_us: Option<u64>,
}

impl PressureTotals {
    /// Now; `None` for each resource where the kernel has no PSI.
    #[must_use]
    pub fn now() -> PressureTotals {
        let read = |name: &str| {
            let text = std::fs::read_to_string(format!("/proc/pressure/{name}")).ok()?;
            parse_some_total(&text)
        };
        PressureTotals {
            io_us: read("io"),
            cpu_us: read("cpu"),
            memory_us: read("memory"),
        }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &PressureTotals) -> PressureTotals {
        let grown = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        PressureTotals {
            io_us: grown(self.io_us, earlier.io_us),
            cpu_us: grown(self.cpu_us, earlier.cpu_us),
            memory_us: grown(self.memory_us, earlier.memory_us),
        }
    }
}

/// The total of the line `some` of a file of PSI, microseconds.
#[must_use]
fn parse_some_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let mut words = line.split_ascii_whitespace();
    words
        .find_map(|word| word.strip_prefix("total="))?
        .parse()
        .ok()
}

/// Pages of the page cache that have to be written, of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirtyPages {
    /// Not yet given to a device, bytes.
    pub dirty_bytes: u64,
    /// On their way to a device, bytes.
    pub writeback_bytes: u64,
}

impl DirtyPages {
    /// Now; `None` where /proc/meminfo cannot be read.
    #[must_use]
    pub fn now() -> Option<DirtyPages> {
        DirtyPages::parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    /// Parses /proc/meminfo.
    #[must_use]
    pub fn parse(meminfo: &str) -> Option<DirtyPages> {
        let field = |name: &str| {
            let rest = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
            let kib = rest.trim().strip_suffix("kB")?.trim();
            kib.parse::<u64>().ok()?.checked_mul(1024)
        };
        Some(DirtyPages {
            dirty_bytes: field("Dirty:")?,
            writeback_bytes: field("Writeback:")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_is_read_and_nothing_else() {
        let text = "some avg10=0.69 avg60=0.95 avg300=3.82 total=14531303086\n\
                    full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse_some_total(text), Some(14_531_303_086));
        for bad in ["", "full total=7\n", "some avg10=1\n", "some total=x\n"] {
            assert_eq!(parse_some_total(bad), None, "{bad}");
        }
        let then = PressureTotals {
            io_us: Some(5),
            cpu_us: Some(9),
            memory_us: None,
        };
        let now = PressureTotals {
            io_us: Some(7),
            cpu_us: Some(1),
            memory_us: Some(3),
        };
        let grown = now.since(&then);
        assert_eq!((grown.io_us, grown.cpu_us), (Some(2), Some(0)));
        assert_eq!(grown.memory_us, None);
    }

    #[test]
    fn dirty_and_writeback_are_read_in_bytes() {
        let text = "MemTotal: 1 kB\nDirty:            240752 kB\nWriteback:            60 kB\n\
                    WritebackTmp:          9 kB\n";
        let pages = DirtyPages::parse(text).expect("parses");
        assert_eq!(pages.dirty_bytes, 240_752 * 1024);
        assert_eq!(pages.writeback_bytes, 60 * 1024);
        for bad in ["", "Dirty: 1 kB\n", "Dirty: 1 kB\nWriteback: x kB\n"] {
            assert_eq!(DirtyPages::parse(bad), None, "{bad}");
        }
    }
}
