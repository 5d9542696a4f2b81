//! What lies before a disk or before flash: its commands, its link, its write-back cache.

use super::field::{Contradiction, Field};

/// Commands, link and write-back cache of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceFront {
    /// Of each command, nanoseconds: none of it keeps others waiting.
    pub command_ns: f64,
    /// Of each kB on the link, which operations share.
    pub ns_per_kb: f64,
    /// Of the write-back cache, kB; without a cache, a write ends when it is on the medium.
    pub cache_kb: f64,
    /// Of a cache that outlives a loss of power: a write is durable when it is in there.
    pub protected_cache_kb: f64,
}

impl DeviceFront {
    pub(super) fn fields(&mut self) -> [Field<'_>; 4] {
        [
            Field::time("command_us", &mut self.command_ns),
            Field::time("command_us_per_kb", &mut self.ns_per_kb),
            Field::number("cache_kb", 1e9, &mut self.cache_kb).optional(),
            Field::number("protected_cache_kb", 1e9, &mut self.protected_cache_kb).optional(),
        ]
    }

    pub(super) fn contradiction(&self) -> Contradiction {
        let both = self.cache_kb > 0.0 && self.protected_cache_kb > 0.0;
        let what = "protected_cache_kb and cache_kb: give one of them".to_owned();
        both.then_some(("protected_cache_kb", what))
    }

    /// A completed write is durable.
    pub(super) fn has_durable_writes(&self) -> bool {
        self.cache_kb == 0.0
    }

    pub(super) fn cache_bytes(&self) -> f64 {
        (self.cache_kb + self.protected_cache_kb) * 1024.0
    }

    /// When `bytes` are in the cache that begin at `begins`; the link is free at `link`.
    pub(super) fn crosses(&self, link: &mut f64, begins: f64, bytes: u64) -> f64 {
        *link = link.max(begins) + self.ns_per_kb * bytes as f64 / 1024.0;
        *link + self.command_ns
    }
}
