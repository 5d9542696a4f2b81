//! What the sessions of a row wait for in the server of its target, sampled in the row's window.

use super::Lab;
use measure::driver::{DriverError, WaitSampling};
use measure::record::WaitSamples;
use measure::words::sanitize;

/// What a server reports, as results show it.
pub(super) fn harmless(error: DriverError) -> String {
    sanitize::line(&error.to_string())
}

/// The sampling of waits in a row.
#[derive(Default)]
pub(super) struct RowWaits {
    sampling: Option<Box<dyn WaitSampling>>,
    pub(super) samples: Option<WaitSamples>,
    pub(super) note: Option<String>,
}

impl RowWaits {
    /// Begins, where the target can be sampled.
    pub(super) fn begin(lab: &Lab<'_>) -> RowWaits {
        let begun = lab.target.driver.sample_waits();
        let (sampling, note) = match begun {
            Ok(sampling) => (sampling, None),
            Err(error) => (None, Some(format!("waits: {}", harmless(error)))),
        };
        RowWaits {
            sampling,
            samples: None,
            note,
        }
    }

    /// Ends with the row's window.
    pub(super) fn end(&mut self) {
        if let Some(sampling) = self.sampling.take() {
            self.samples = sampling.end();
            if self.samples.is_none() {
                self.note = Some("waits: the server did not answer meanwhile".to_owned());
            }
        }
    }
}
