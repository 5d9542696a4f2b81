//! The hash of a trace's maps, whose keys are small numbers.

use std::hash::{BuildHasherDefault, Hasher};

/// Hashes small numbers: a merged trace changes its process with every few lines. Process numbers
/// come from the file, so the words are mixed by multiplication and folded, which a file that
/// wants collisions could still make slow, within the bound on processes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, n: u64) {
        let product =
            u128::from(self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
}

/// A map's way to hash by [`Mixer`].
pub type Mixed = BuildHasherDefault<Mixer>;
