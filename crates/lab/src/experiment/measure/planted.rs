//! Lies that tests plant on purpose, to show that the second count of a row finds them.
//!
//! Outside of this crate's own tests there is nothing to plant: the type is empty and every
//! question is answered `false` at compile time.

use std::time::Duration;

/// A figure that is 3 % too high, or an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code))]
pub(crate) enum Lie {
    /// Every recorded latency.
    Latency,
    /// The number of commits of session 0.
    SessionCount,
    /// The row's measured time.
    Window,
    /// No lie: session 0 is interrupted for [`INTERRUPTION`] after its last transaction.
    Interruption,
}

/// Longer than a storm of some commits takes.
pub(crate) const INTERRUPTION: Duration = Duration::from_millis(100);

/// The lie that is planted, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlantedLie {
    #[cfg(test)]
    lie: Option<Lie>,
}

impl PlantedLie {
    /// This one.
    #[cfg(test)]
    pub(crate) fn with(lie: Lie) -> PlantedLie {
        PlantedLie { lie: Some(lie) }
    }

    /// Whether `lie` is planted.
    #[inline]
    pub(crate) fn has(self, lie: Lie) -> bool {
        #[cfg(test)]
        return self.lie == Some(lie);
        #[cfg(not(test))]
        {
            let _ = lie;
            false
        }
    }
}
