//! Every threshold that a finding applies, each with its source, read from one file.
//!
//! Invariants: `thresholds.toml` names every threshold exactly once; a file of the user's
//! overrides any of them and keeps the rest; an unknown key, a wrong type or a value that makes no
//! sense is an error that names line and key.

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// The file with the defaults.
const DEFAULTS: &str = include_str!("thresholds.toml");

/// What is wrong with a file of thresholds, and in which line. The caller names the file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ThresholdError {
    /// No TOML, or a value of the wrong type.
    #[error("line {line}: {message} (`{text}`)")]
    Syntax {
        /// From 1.
        line: usize,
        /// What the reader says.
        message: String,
        /// The line.
        text: String,
    },
    /// A key that is no threshold.
    #[error("line {line}: there is no threshold `{key}`{}; redolab findings lists them all",
        .nearest.map_or_else(String::new, |n| format!("; did you mean `{n}`?")))]
    Unknown {
        /// From 1.
        line: usize,
        /// As written.
        key: String,
        /// The known key that is most alike.
        nearest: Option<&'static str>,
    },
    /// A value that this threshold cannot have.
    #[error("line {line}: `{key}` is {value}; {why}")]
    Value {
        /// From 1; of a value that only together with others makes no sense, the last of them.
        line: usize,
        /// The key.
        key: &'static str,
        /// What was read.
        value: f64,
        /// What it may be.
        why: String,
    },
}

/// What a rule or a threshold rests on, the surest first.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum RuleBasis {
    /// No number was chosen: a setting, a count, or arithmetic of the figures themselves.
    Fact,
    /// Chosen from measurements that the source names.
    Measured,
    /// From a document of a vendor or of a body for standards.
    Standard,
    /// Chosen by redolab, or by the user, without data that would decide it.
    Opinion,
}

impl RuleBasis {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            RuleBasis::Fact => "fact",
            RuleBasis::Measured => "measured",
            RuleBasis::Standard => "standard",
            RuleBasis::Opinion => "opinion",
        }
    }
}

/// A threshold and where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// In the unit that the threshold's name ends with.
    pub value: f64,
    /// What it rests on; a user's own is an opinion unless the user says otherwise.
    pub basis: RuleBasis,
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
            basis: RuleBasis::Opinion,
            source: BY_USER.to_owned(),
        })
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Limit, E> {
        self.visit_f64(value as f64)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Limit, A::Error> {
        let (mut value, mut source, mut basis) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "value" => value = Some(map.next_value::<Limit>()?.value),
                "source" => source = Some(map.next_value::<String>()?),
                "basis" => basis = Some(map.next_value::<RuleBasis>()?),
                other => {
                    return Err(de::Error::unknown_field(
                        other,
                        &["value", "basis", "source"],
                    ));
                }
            }
        }
        Ok(Limit {
            value: value.ok_or_else(|| de::Error::missing_field("value"))?,
            basis: basis.unwrap_or(RuleBasis::Opinion),
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
        struct Partial {
            $($name: Option<Limit>,)*
        }

        impl Thresholds {
            /// Names of all thresholds, in the order of the file.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// The threshold of that name.
            #[must_use]
            pub fn get(&self, name: &str) -> Option<&Limit> {
                match name {
                    $(stringify!($name) => Some(&self.$name),)*
                    _ => None,
                }
            }

            fn complete(partial: Partial) -> Option<Thresholds> {
                Some(Thresholds { $($name: partial.$name?,)* })
            }

            fn apply(&mut self, partial: Partial) {
                $(if let Some(limit) = partial.$name {
                    self.$name = limit;
                })*
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
    /// Mean log file sync above which it is a problem.
    sync_mean_problem_ms,
    /// 99.9th percentile of log file sync that is worth a caution.
    tail_p999_ms,
    /// Waits over 500 ms that pass without a caution.
    outliers_allowed,
    /// Share of log file sync in DB time below which it is not what users feel.
    db_time_small_pct,
    /// Share of I/O in log file sync from which I/O is the place to look.
    io_share_high_pct,
    /// Longest log write over the mean, from which it is a peak.
    peak_ratio,
    /// Rise of log file sync in the seconds with peaks.
    peak_effect_pct,
    /// Rise of log file sync in the seconds with log switches.
    switch_effect_pct,
    /// Seconds of a row from which its steadiness is judged.
    steady_min_s,
    /// Span of the rounds of a window, percent of their mean.
    steady_range_pct,
    /// Fall or rise of the line through the rounds of a window, percent of their mean.
    steady_slope_pct,
    /// Loss of rate from the level at a row's beginning to that at its end.
    decay_pct,
    /// Fall of the rate from one level to another.
    step_pct,
    /// Variation of a rate that a limiter holds.
    cap_flat_pct,
    /// Change of what a limiter counts while four times the sessions ask for more.
    bucket_depth_pct,
    /// Minutes of one row after which a cloud volume's rate is a sustained one.
    soak_min,
    /// Bytes written over the controller's cache, from which the disks behind it show.
    destage_multiple,
    /// Processors busy.
    cpu_busy_pct,
    /// Gain of a durable write on the fastest processor from which pinning is worth a try.
    placement_gain_pct,
    /// Time that a thread waited for its processor while processors were compared, above which the
    /// comparison recommends nothing.
    placement_wait_pct,
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
    /// Years that a drive has to last where the user names none.
    endurance_years,
    /// Deviation from Little's law.
    little_tolerance_pct,
    /// Writes of others.
    background_write_pct,
    /// Share of waits over 16 ms in a histogram.
    slow_share_pct,
    /// Flush that no device can carry out, microseconds.
    flush_floor_us,
    /// Growth of a flush that is too small to be believed.
    flush_growth_ratio,
    /// Ratio of write sizes over which it is looked at.
    flush_growth_span,
    /// Durable write that a turning disk cannot make faster.
    rotating_floor_ms,
    /// Time without a flush after which a log that was never flushed is not.
    unflushed_s,
    /// The same of a log that was flushed before.
    unflushed_after_flush_s,
    /// Transactions that wrote, for each flush and session.
    commits_per_flush_and_session,
    /// 99th percentile of etcd's syncs of its log.
    etcd_wal_p99_ms,
    /// 99th percentile of etcd's commits of its backend.
    etcd_commit_p99_ms,
    /// Age of InnoDB's last checkpoint from which pages are flushed for the log, in percent of its
    /// files.
    checkpoint_async_pct,
    /// The same from which sessions wait for that.
    checkpoint_sync_pct,
    /// Share of power cuts with a loss, at 95 %, that a tested stack may have at most.
    cuts_bound_pct,
    /// Capacity above the need.
    headroom_pct,
}

impl Thresholds {
    /// The defaults, with what `text` overrides.
    ///
    /// # Errors
    /// Names line and key of what cannot be read, is not known or makes no sense.
    pub fn parse(text: &str) -> Result<Thresholds, ThresholdError> {
        let mut thresholds = Thresholds::default();
        thresholds.apply(read(text)?);
        thresholds.check(text)?;
        Ok(thresholds)
    }

    fn check(&self, text: &str) -> Result<(), ThresholdError> {
        for name in Thresholds::NAMES {
            let value = self.get(name).map_or(f64::NAN, |limit| limit.value);
            if let Err(why) = sensible(name, value) {
                return Err(wrong(text, name, value, why));
            }
        }
        let bands = [
            ("write_mean_good_ms", "write_mean_fair_ms"),
            ("write_mean_fair_ms", "write_mean_problem_ms"),
        ];
        for (low, high) in bands {
            let value = |name| self.get(name).map_or(f64::NAN, |limit| limit.value);
            if value(low) >= value(high) {
                let why = format!("the bands rise, so it must be over `{low}`, {}", value(low));
                return Err(wrong(text, high, value(high), why));
            }
        }
        Ok(())
    }

    /// The unit of a threshold, from its name.
    #[must_use]
    pub fn unit(name: &str) -> &'static str {
        match name.rsplit('_').next() {
            Some("ms") => "ms",
            Some("pct") => "%",
            Some("s") => "s",
            Some("min") => "min",
            Some("gib") => "GiB",
            Some("years") => "years",
            Some("allowed") => "waits",
            _ => "times",
        }
    }
}

/// Shares of a whole: more than all of it never happens.
const SHARES: &[&str] = &[
    "db_time_small_pct",
    "io_share_high_pct",
    "cpu_busy_pct",
    "overhead_share_pct",
    "wastage_pct",
    "background_write_pct",
    "placement_wait_pct",
    "decay_pct",
    "step_pct",
    "cuts_bound_pct",
    "checkpoint_async_pct",
    "checkpoint_sync_pct",
];

fn sensible(name: &str, value: f64) -> Result<(), String> {
    let fits = |ok: bool, why: &str| if ok { Ok(()) } else { Err(why.to_owned()) };
    fits(
        value.is_finite() && value >= 0.0,
        "it must be a finite number that is not negative",
    )?;
    if SHARES.contains(&name) {
        fits(value <= 100.0, "it is a share: use 0 to 100")?;
    }
    match Thresholds::unit(name) {
        "times" => fits(value >= 1.0, "it is a ratio: use 1 or more"),
        "s" | "min" | "GiB" | "years" => fits(value > 0.0, "it must be over 0"),
        _ => Ok(()),
    }
}

fn wrong(text: &str, key: &str, value: f64, why: String) -> ThresholdError {
    let named = |line: &str| {
        let key_of = line.split('=').next().unwrap_or(line);
        key_of.trim().trim_matches(['"', '\'']) == key
    };
    let at = text.lines().position(named);
    let names = Thresholds::NAMES.iter();
    ThresholdError::Value {
        // Of two that make no sense together the file may set the other one alone.
        line: at.map_or_else(|| text.lines().count().max(1), |n| n + 1),
        key: names.copied().find(|n| *n == key).unwrap_or_default(),
        value,
        why,
    }
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        let partial = read(DEFAULTS).expect("the built-in file is parsed by a test");
        Thresholds::complete(partial).expect("the built-in file names every threshold")
    }
}

fn read(text: &str) -> Result<Partial, ThresholdError> {
    let syntax = |error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = line_of(text, at);
        ThresholdError::Syntax {
            line,
            message: error.message().trim_end().to_owned(),
            text: text.lines().nth(line - 1).unwrap_or_default().to_owned(),
        }
    };
    let keys: BTreeMap<toml::Spanned<String>, toml::Value> =
        toml::from_str(text).map_err(syntax)?;
    let unknown =
        |key: &&toml::Spanned<String>| !Thresholds::NAMES.contains(&key.get_ref().as_str());
    if let Some(key) = keys
        .keys()
        .filter(unknown)
        .min_by_key(|key| key.span().start)
    {
        return Err(ThresholdError::Unknown {
            line: line_of(text, key.span().start),
            key: key.get_ref().clone(),
            nearest: nearest(key.get_ref()),
        });
    }
    toml::from_str(text).map_err(syntax)
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|b| *b == b'\n').count() + 1
}

/// The name that shares the longest beginning with `key`, where they share enough to be meant.
fn nearest(key: &str) -> Option<&'static str> {
    let shared = |name: &&&str| {
        let pairs = key.bytes().zip(name.bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    let best = Thresholds::NAMES.iter().max_by_key(shared)?;
    (shared(&best) >= 4).then_some(*best)
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
            assert!(line.contains("basis = \""), "{line}");
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
                &["line 2", "`headrom`", "did you mean `headroom_pct`?"][..],
            ),
            ("zebra = 1\n", &["line 1", "no threshold `zebra`; redolab"]),
            (
                "headroom_pct = \"much\"\n",
                &["line 1", "a number", "headroom_pct"],
            ),
            (
                "\n\npeak_ratio = { value = 2.0, sauce = \"x\" }\n",
                &["line 3", "sauce", "peak_ratio"],
            ),
            (
                "peak_ratio = { source = \"x\" }\n",
                &["line 1", "value", "peak_ratio"],
            ),
            ("peak_ratio = \n", &["line 1", "peak_ratio"]),
            (
                "peak_ratio = 2\npeak_ratio = 3\n",
                &["line 2", "duplicate key"],
            ),
            (
                "peak_ratio = -1\n",
                &["line 1", "`peak_ratio` is -1", "not negative"],
            ),
            ("\npeak_ratio = nan\n", &["line 2", "`peak_ratio` is NaN"]),
            ("peak_ratio = 0.5\n", &["line 1", "1 or more"]),
            ("\"cpu_busy_pct\" = 101\n", &["line 1", "0 to 100"]),
            ("soak_min = 0\n", &["line 1", "over 0"]),
            (
                "# ours\nwrite_mean_fair_ms = 0.5\n",
                &[
                    "line 2",
                    "`write_mean_fair_ms` is 0.5",
                    "over `write_mean_good_ms`, 1",
                ],
            ),
            (
                "# ours\nwrite_mean_good_ms = 5\n",
                &[
                    "line 2",
                    "`write_mean_fair_ms` is 5",
                    "over `write_mean_good_ms`, 5",
                ],
            ),
        ] {
            let message = Thresholds::parse(text).expect_err(text).to_string();
            for part in wanted {
                assert!(message.contains(part), "`{part}` is missing in: {message}");
            }
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }

    #[test]
    fn every_name_ends_in_its_unit_and_is_found() {
        let t = Thresholds::default();
        for name in Thresholds::NAMES {
            assert!(t.get(name).is_some(), "{name}");
        }
        assert_eq!(t.get("sauce"), None);
        for (name, unit) in [
            ("write_mean_good_ms", "ms"),
            ("steady_min_s", "s"),
            ("soak_min", "min"),
            ("headroom_pct", "%"),
            ("peak_ratio", "times"),
            ("endurance_years", "years"),
        ] {
            assert_eq!(Thresholds::unit(name), unit);
        }
    }
}
