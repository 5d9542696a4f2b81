//! Every threshold that a finding applies, each with its source, read from one file.
//!
//! Invariants: `thresholds.toml` names every threshold exactly once; a file of the user's
//! overrides any of them and keeps the rest; an unknown key is an error that names its line.

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use std::fmt;

/// The file with the defaults.
pub const DEFAULTS: &str = include_str!("thresholds.toml");

/// What can be wrong with a file of thresholds.
#[derive(Debug, thiserror::Error)]
pub enum ThresholdError {
    /// Not readable as TOML, or a key that is not known; the text names line and column.
    #[error("thresholds: {0}")]
    Syntax(String),
    /// A value that cannot be a threshold.
    #[error("thresholds: `{name}` is {value}; it must be a finite number that is not negative")]
    Value {
        /// The key.
        name: &'static str,
        /// What was read.
        value: f64,
    },
}

/// A threshold and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// In the unit that the threshold's name ends with.
    pub value: f64,
    /// In words.
    pub source: String,
}

const BY_USER: &str = "set by the user";

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Limit, D::Error> {
        deserializer.deserialize_any(LimitVisitor)
    }
}

struct LimitVisitor;

impl<'de> Visitor<'de> for LimitVisitor {
    type Value = Limit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, or { value = number, source = \"text\" }")
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Limit, E> {
        Ok(Limit {
            value,
            source: BY_USER.to_owned(),
        })
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Limit, E> {
        self.visit_f64(value as f64)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Limit, A::Error> {
        let (mut value, mut source) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "value" => value = Some(map.next_value::<f64>()?),
                "source" => source = Some(map.next_value::<String>()?),
                other => return Err(de::Error::unknown_field(other, &["value", "source"])),
            }
        }
        Ok(Limit {
            value: value.ok_or_else(|| de::Error::missing_field("value"))?,
            source: source.unwrap_or_else(|| BY_USER.to_owned()),
        })
    }
}

macro_rules! thresholds {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// All thresholds. The unit is in the name.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Thresholds {
            $($(#[$doc])* pub $name: Limit,)*
        }

        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Partial {
            $($name: Option<Limit>,)*
        }

        impl Thresholds {
            /// Names of all thresholds, in the order of the file.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            fn complete(partial: Partial) -> Option<Thresholds> {
                Some(Thresholds { $($name: partial.$name?,)* })
            }

            fn apply(&mut self, partial: Partial) {
                $(if let Some(limit) = partial.$name {
                    self.$name = limit;
                })*
            }

            fn check(&self) -> Result<(), ThresholdError> {
                $(if !self.$name.value.is_finite() || self.$name.value < 0.0 {
                    return Err(ThresholdError::Value {
                        name: stringify!($name),
                        value: self.$name.value,
                    });
                })*
                Ok(())
            }
        }
    };
}

thresholds! {
    /// Mean log file parallel write below which it is good.
    write_mean_good_ms,
    /// Below which it is fair.
    write_mean_fair_ms,
    /// Above which it is a problem.
    write_mean_problem_ms,
    /// 99.9th percentile of log file sync that is worth a caution.
    tail_p999_ms,
    /// Waits over 500 ms that pass without a caution.
    outliers_allowed,
    /// Share of I/O in log file sync from which I/O is the place to look.
    io_share_high_pct,
    /// Longest log write over the mean, from which it is a peak.
    peak_ratio,
    /// Rise of log file sync in the seconds with peaks.
    peak_effect_pct,
    /// Rise of log file sync in the seconds with log switches.
    switch_effect_pct,
    /// Growth of throughput below which more jobs only add latency.
    knee_gain_pct,
    /// Processors busy.
    cpu_busy_pct,
    /// The lab's own share of a commit.
    overhead_share_pct,
    /// Redo wastage in percent of the bytes written.
    wastage_pct,
    /// Bytes on the device for each byte of redo.
    write_amplification,
    /// Footprint over the largest cache.
    cache_multiple,
    /// Cache that is assumed where none is known.
    assumed_cache_gib,
    /// Deviation from Little's law.
    little_tolerance_pct,
    /// Writes of others.
    background_write_pct,
    /// Growth of a flush that is too small to be believed.
    flush_growth_ratio,
    /// Ratio of write sizes over which it is looked at.
    flush_growth_span,
    /// Durable write that a turning disk cannot make faster.
    rotating_floor_ms,
    /// Capacity above the need.
    headroom_pct,
}

impl Thresholds {
    /// The defaults, with what `text` overrides.
    ///
    /// # Errors
    /// Names line and column of what cannot be read, and the known keys where one is unknown.
    pub fn parse(text: &str) -> Result<Thresholds, ThresholdError> {
        let mut thresholds = Thresholds::default();
        thresholds.apply(read(text)?);
        thresholds.check()?;
        Ok(thresholds)
    }
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        let partial = read(DEFAULTS).expect("the built-in file is parsed by a test");
        Thresholds::complete(partial).expect("the built-in file names every threshold")
    }
}

fn read(text: &str) -> Result<Partial, ThresholdError> {
    toml::from_str(text).map_err(|e| ThresholdError::Syntax(e.to_string().trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_complete_and_sourced() {
        let t = Thresholds::default();
        assert_eq!(t.write_mean_problem_ms.value, 20.0);
        assert!(t.write_mean_problem_ms.source.contains("1376916.1"));
        for name in Thresholds::NAMES {
            let line = DEFAULTS
                .lines()
                .find(|l| l.split(" = ").next() == Some(name))
                .unwrap_or_else(|| panic!("{name} is not in the file"));
            assert!(line.contains("source = \"") && !line.contains("source = \"\""));
        }
    }

    #[test]
    fn a_user_overrides_one_and_keeps_the_rest() {
        let t = Thresholds::parse(
            "headroom_pct = 50\npeak_ratio = { value = 20.0, source = \"our SLA\" }\n",
        )
        .expect("valid");
        assert_eq!(
            (t.headroom_pct.value, t.headroom_pct.source.as_str()),
            (50.0, BY_USER)
        );
        assert_eq!(
            (t.peak_ratio.value, t.peak_ratio.source.as_str()),
            (20.0, "our SLA")
        );
        assert_eq!(t.cpu_busy_pct, Thresholds::default().cpu_busy_pct);
    }

    #[test]
    fn errors_name_the_line_and_the_key() {
        for (text, wanted) in [
            (
                "headroom_pct = 50\nheadrom = 1\n",
                &["line 2", "headrom"][..],
            ),
            ("headroom_pct = \"much\"\n", &["line 1", "a number"]),
            (
                "\n\npeak_ratio = { value = 2.0, sauce = \"x\" }\n",
                &["line 3", "sauce"],
            ),
            ("peak_ratio = { source = \"x\" }\n", &["line 1", "value"]),
            ("peak_ratio = \n", &["line 1"]),
            ("peak_ratio = -1\n", &["peak_ratio", "-1"]),
            ("peak_ratio = nan\n", &["peak_ratio", "NaN"]),
        ] {
            let message = Thresholds::parse(text).expect_err(text).to_string();
            for part in wanted {
                assert!(message.contains(part), "`{part}` is missing in: {message}");
            }
        }
    }
}
