//! What goes wrong with a target.

use std::error::Error;
use std::fmt;

/// An error of a driver.
#[derive(Debug)]
pub struct DriverError {
    is_unusable: bool,
    source: Box<dyn Error + Send + Sync>,
}

impl DriverError {
    /// What was asked for cannot be done on this target; the message contains what to do.
    pub fn unusable(why: impl Into<Box<dyn Error + Send + Sync>>) -> DriverError {
        DriverError {
            is_unusable: true,
            source: why.into(),
        }
    }

    /// Sessions cannot share threads on this target.
    #[must_use]
    pub fn no_groups() -> DriverError {
        DriverError::unusable("the target has no asynchronous commits: use --commit-api sync")
    }

    /// The target failed.
    pub fn failed(why: impl Into<Box<dyn Error + Send + Sync>>) -> DriverError {
        DriverError {
            is_unusable: false,
            source: why.into(),
        }
    }

    /// The same, of the session with that number of so many that were to be opened.
    #[must_use]
    pub fn of_session(self, number: u32, sessions: u32) -> DriverError {
        if sessions == 1 {
            return self;
        }
        let source = format!(
            "session {number} of {sessions} could not be opened: {}; with fewer sessions (--jobs) \
             the target may accept them",
            self.source
        );
        DriverError {
            is_unusable: self.is_unusable,
            source: source.into(),
        }
    }

    /// Whether it is what was asked for that is wrong, not the target.
    #[must_use]
    pub fn is_unusable(&self) -> bool {
        self.is_unusable
    }

    /// The cause, where it is of that type.
    ///
    /// # Errors
    /// The error as it was, where its cause is another.
    pub fn into_cause<E: Error + 'static>(self) -> Result<E, DriverError> {
        let is_unusable = self.is_unusable;
        match self.source.downcast() {
            Ok(cause) => Ok(*cause),
            Err(source) => Err(DriverError {
                is_unusable,
                source,
            }),
        }
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for DriverError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}
