//! Flush triggers: what makes the log writer write. Each can be switched off.
//!
//! As in Oracle, the log writer is posted by a commit, a third of the log buffer, 1 MB of redo,
//! and 3 seconds. A full log buffer, [`crate::Log::flush`] and closing always
//! write, since nothing could go on otherwise.

use crate::setters::setters;
use std::str::FromStr;
use std::time::Duration;

/// What makes the log writer write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Triggers {
    /// A commit IMMEDIATE. Without it such a commit posts nobody, and one with WAIT waits until
    /// another trigger, or the commit of another session, has the log writer write its redo.
    pub commit: bool,
    /// Redo fills a third of the log buffer.
    pub third: bool,
    /// So many bytes of redo are in the log buffer, record headers included.
    pub bytes: Option<u32>,
    /// Redo has lain for so long: at the latest after twice this time it is being written.
    pub period: Option<Duration>,
}

impl Default for Triggers {
    fn default() -> Triggers {
        Triggers {
            commit: true,
            third: true,
            bytes: Some(1 << 20),
            period: Some(Duration::from_secs(3)),
        }
    }
}

setters!(const Triggers {
    /// Sets whether a commit IMMEDIATE makes the log writer write.
    commit: bool,
    /// Sets whether a log buffer that is filled to a third makes the log writer write.
    third: bool,
    /// Sets how many bytes of redo make the log writer write; `None` for no such trigger.
    bytes: Option<u32>,
    /// Sets how old redo makes the log writer write; `None` for no such trigger.
    period: Option<Duration>,
});

/// Longest period that is accepted.
const PERIOD_MAX: Duration = Duration::from_secs(3600);

impl Triggers {
    /// None: redo is written when the log buffer is full, or on demand.
    pub const NONE: Triggers = Triggers {
        commit: false,
        third: false,
        bytes: None,
        period: None,
    };

    /// Bytes in the open batch from which on the log writer is posted, in a log buffer that holds
    /// `room` bytes of redo; more than a batch ever has where no trigger asks for it.
    #[must_use]
    pub fn post_bytes(&self, room: u64) -> u32 {
        let third = if self.third { room / 3 } else { u64::MAX };
        let bytes = self.bytes.map_or(u64::MAX, u64::from);
        u32::try_from(third.min(bytes)).unwrap_or(u32::MAX)
    }
}

impl std::fmt::Display for Triggers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut names = Vec::new();
        if self.commit {
            names.push("commit".to_owned());
        }
        if self.third {
            names.push("third".to_owned());
        }
        if let Some(bytes) = self.bytes {
            names.push(match bytes {
                b if b.is_multiple_of(1 << 20) => format!("{}MB", b >> 20),
                b if b.is_multiple_of(1 << 10) => format!("{}kB", b >> 10),
                b => format!("{b}B"),
            });
        }
        if let Some(period) = self.period {
            let ms = period.as_millis();
            names.push(if ms.is_multiple_of(1000) {
                format!("{}s", ms / 1000)
            } else {
                format!("{ms}ms")
            });
        }
        if names.is_empty() {
            names.push("none".to_owned());
        }
        f.write_str(&names.join(","))
    }
}

impl FromStr for Triggers {
    type Err = String;

    /// Reads `commit,third,1MB,3s`: each part switches one trigger on, `none` none.
    fn from_str(text: &str) -> Result<Triggers, String> {
        let mut triggers = Triggers::NONE;
        if text == "none" {
            return Ok(triggers);
        }
        for part in text.split(',').map(str::trim) {
            let twice = match part {
                "commit" => std::mem::replace(&mut triggers.commit, true),
                "third" => std::mem::replace(&mut triggers.third, true),
                other => match measured(other)? {
                    Measured::Bytes(bytes) => triggers.bytes.replace(bytes).is_some(),
                    Measured::Period(period) => triggers.period.replace(period).is_some(),
                },
            };
            if twice {
                return Err(format!(
                    "`{part}` in `{text}`: this trigger was named before"
                ));
            }
        }
        Ok(triggers)
    }
}

enum Measured {
    Bytes(u32),
    Period(Duration),
}

/// A size or a time.
fn measured(part: &str) -> Result<Measured, String> {
    let accepted = "use commit, third, a size such as 1MB, a time such as 3s, or none";
    let unknown = || format!("no trigger `{part}`; {accepted}");
    let digits = part
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(unknown)?;
    let (number, unit) = part.split_at(digits);
    let number: u64 = number.parse().map_err(|_| unknown())?;
    let bytes = |unit: u64| {
        let bytes = number.checked_mul(unit).and_then(|b| u32::try_from(b).ok());
        let bytes = bytes.filter(|b| (1..=1 << 30).contains(b));
        bytes.map(Measured::Bytes)
    };
    let period = |millis: u64| {
        let period = number.checked_mul(millis).map(Duration::from_millis);
        let period = period.filter(|p| (Duration::from_millis(1)..=PERIOD_MAX).contains(p));
        period.map(Measured::Period)
    };
    let found = match unit.to_ascii_lowercase().as_str() {
        "b" => bytes(1),
        "k" | "kb" => bytes(1 << 10),
        "m" | "mb" => bytes(1 << 20),
        "ms" => period(1),
        "s" => period(1000),
        _ => return Err(unknown()),
    };
    found.ok_or_else(|| format!("trigger `{part}`: sizes are 1B to 1024MB, times 1ms to 3600s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_again() {
        let some = Triggers {
            commit: false,
            bytes: Some(96 << 10),
            period: Some(Duration::from_millis(20)),
            ..Triggers::default()
        };
        for (triggers, text) in [
            (Triggers::default(), "commit,third,1MB,3s"),
            (some, "third,96kB,20ms"),
            (Triggers::NONE, "none"),
        ] {
            assert_eq!(triggers.to_string(), text);
            assert_eq!(text.parse(), Ok(triggers));
        }
        assert_eq!("3s,1mb, commit ,third".parse(), Ok(Triggers::default()));
    }

    #[test]
    fn what_is_no_trigger_is_refused_by_name() {
        for (text, says) in [
            ("", "no trigger ``"),
            ("commit,half", "`half`"),
            ("commit,commit", "named before"),
            ("1MB,2MB", "named before"),
            ("3", "`3`"),
            ("0B", "1B to 1024MB"),
            ("2000MB", "1B to 1024MB"),
            ("99999999999999999999s", "no trigger"),
            ("9999999s", "3600s"),
            ("3 s", "no trigger"),
            ("none,commit", "`none`"),
        ] {
            let told = text.parse::<Triggers>().expect_err(text);
            assert!(told.contains(says), "{text}: {told}");
        }
    }

    #[test]
    fn the_least_of_the_sizes_posts() {
        let room = 9 << 20;
        assert_eq!(Triggers::default().post_bytes(room), 1 << 20);
        assert_eq!(Triggers::default().post_bytes(300), 100);
        let third = Triggers {
            bytes: None,
            ..Triggers::default()
        };
        assert_eq!(third.post_bytes(room), 3 << 20);
        assert_eq!(Triggers::NONE.post_bytes(room), u32::MAX);
    }
}
