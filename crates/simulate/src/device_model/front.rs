//! What lies before a disk or before flash: its commands, its link, its write-back cache.

use super::field::Field;

/// Commands, link and write-back cache of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DeviceFront {
    /// Of each command, nanoseconds: none of it keeps others waiting.
    pub command_ns: f64,
    /// Of each kB on the link, which operations share.
    pub ns_per_kb: f64,
    /// Of the write-back cache, kB; 0: there is none, and a write ends when it is on the medium.
    pub cache_kb: f64,
    /// The cache outlives a loss of power, so that a write is durable when it is in the cache.
    pub cache_is_protected: bool,
}

impl DeviceFront {
    pub(super) fn fields(&mut self) -> [Field<'_>; 4] {
        [
            Field::time("command_us", &mut self.command_ns),
            Field::time("command_us_per_kb", &mut self.ns_per_kb),
            Field::number("cache_kb", 1e9, &mut self.cache_kb).optional(),
            Field::switch("cache_protected", &mut self.cache_is_protected),
        ]
    }

    pub(super) fn contradiction(&self) -> Option<(&'static str, String)> {
        let lone = self.cache_is_protected && self.cache_kb == 0.0;
        let what = "cache_protected without cache_kb: give both".to_owned();
        lone.then_some(("cache_protected", what))
    }

    /// A completed write is durable.
    pub(super) fn has_durable_writes(&self) -> bool {
        self.cache_kb == 0.0 || self.cache_is_protected
    }

    pub(super) fn cache_bytes(&self) -> f64 {
        self.cache_kb * 1024.0
    }

    /// When `bytes` are in the cache that begin at `begins`; the link is free at `link`.
    pub(super) fn crosses(&self, link: &mut f64, begins: f64, bytes: u64) -> f64 {
        *link = link.max(begins) + self.ns_per_kb * bytes as f64 / 1024.0;
        *link + self.command_ns
    }
}
