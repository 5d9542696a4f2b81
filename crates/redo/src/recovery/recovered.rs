//! What a log's recovery found, and giving its records to the caller.
//!
//! Invariant: reading changes nothing, so that recovery can be repeated until a checkpoint.

use super::reading::{Reach, RecordReader};
use super::{Reader, Scan};
use crate::control::ControlInfo;
use crate::error::Error;
use crate::planted::Planted;
use crate::rba::Rba;
use device::LogDevice;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

/// A log after recovery: its fences are passed, its records may be read.
pub struct Recovery {
    pub(super) data: Arc<dyn LogDevice>,
    pub(super) control: ControlInfo,
    pub(super) path: PathBuf,
    pub(super) scan: Scan,
    pub(super) planted: Planted,
}

impl Recovery {
    /// What the scan found.
    #[must_use]
    pub fn scan(&self) -> &Scan {
        &self.scan
    }

    /// What is not as it should be, although nothing that was acknowledged is missing. Print it.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        self.scan.notes()
    }

    /// Gives every recovered record to `apply`, from the checkpoint on, in order; returns their
    /// number. The first error of `apply` ends it and is returned. The log stays as it is: nothing
    /// is forgotten before a checkpoint, so the same records can be recovered again.
    ///
    /// ```no_run
    /// # fn apply(_: redo::Rba, _: &[u8]) -> Result<(), std::io::Error> { Ok(()) }
    /// # fn with(recovery: &redo::Recovery) -> Result<(), Box<dyn std::error::Error>> {
    /// recovery.recover(|rba, record| -> Result<(), Box<dyn std::error::Error>> {
    ///     Ok(apply(rba, record)?)
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Of `apply`; when the device fails or the log has changed under the reader.
    pub fn recover<E: From<Error>>(
        &self,
        mut apply: impl FnMut(Rba, &[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let reader = Reader::new(&*self.data, &self.control, &self.path, self.planted);
        let mut refused = None;
        let again = reader.read(self.scan.end, |rba, _, record| match apply(rba, record) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                refused = Some(error);
                ControlFlow::Break(())
            }
        });
        if let Some(error) = refused {
            return Err(error);
        }
        let again = again?;
        if again.records != self.scan.records {
            let found = format!("{} of {} records", again.records, self.scan.records);
            let corrupt = reader.corrupt(again.end, "the log as it was recovered", found);
            return Err(corrupt.into());
        }
        Ok(again.records)
    }

    /// The recovered records, one by one, from the checkpoint on, in order: what
    /// [`Recovery::recover`] gives, for callers that want an iterator. Each record is a copy.
    #[must_use]
    pub fn records(&self) -> RecordReader<'_> {
        let reach = Reach {
            end: self.scan.end,
            reusable: 0,
        };
        let control = self.control.clone();
        let from = control.checkpoint;
        RecordReader::new(
            Arc::clone(&self.data),
            control,
            &self.path,
            from,
            self.planted,
            move || reach,
        )
    }
}

impl std::fmt::Debug for Recovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recovery")
            .field("path", &self.path)
            .field("scan", &self.scan)
            .finish_non_exhaustive()
    }
}
