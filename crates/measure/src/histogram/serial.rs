//! A histogram as JSON: the exact companions, and the buckets that hold something as pairs of the
//! largest value of the bucket and its count, in one list of numbers.
//!
//! ```text
//! {"sum": 3100, "min": 1000, "max": 2100, "over": [0, 0, 0, 0], "buckets": [1000, 1, 2101, 1]}
//! ```
//! Invariants: what is read equals what was written, bucket by bucket; nothing is read that this
//! code cannot have written, so that no figure of a hostile file contradicts another one; the
//! memory of a histogram that is read is bounded by [`super::MAX_NS`].

use super::{Exact, Histogram, MAX_NS};
use crate::bounded;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most values that a stored histogram may claim, so that sums of millions of them stay in range.
const COUNT_MAX: u64 = 1 << 40;
/// Buckets of three digits up to [`MAX_NS`] are fewer.
const BUCKETS_MAX: usize = 40_000;
const NUMBERS_MAX: usize = 2 * BUCKETS_MAX;

#[derive(Serialize, Deserialize)]
struct Stored {
    sum: u128,
    min: u64,
    max: u64,
    over: [u64; 4],
    #[serde(deserialize_with = "bounded::list::<_, _, NUMBERS_MAX>")]
    buckets: Vec<u64>,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Exact {
            sum,
            min,
            max,
            over,
        } = self.exact();
        Stored {
            sum,
            min,
            max,
            over,
            buckets: self
                .filled()
                .flat_map(|(value, count)| [value, count])
                .collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Histogram, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        rebuilt(&stored).map_err(D::Error::custom)
    }
}

/// The histogram that was stored, if it can have been one.
fn rebuilt(stored: &Stored) -> Result<Histogram, &'static str> {
    let (pairs, odd) = stored.buckets.as_chunks::<2>();
    if !odd.is_empty() {
        return Err("the buckets of a histogram are pairs of a value and a count");
    }
    let mut histogram = Histogram::new();
    let (mut below, mut total) = (None, 0_u64);
    for [value, count] in pairs {
        let largest = histogram.buckets.highest_equivalent(MAX_NS);
        let is_bucket = *value <= largest && histogram.buckets.highest_equivalent(*value) == *value;
        if !is_bucket || *count == 0 || below >= Some(*value) {
            return Err("a bucket of a histogram is not where buckets are");
        }
        below = Some(*value);
        total = total.saturating_add(*count);
        if total > COUNT_MAX {
            return Err("a histogram of more values than can be merged");
        }
        let recorded = histogram.buckets.record_n(*value, *count);
        recorded.map_err(|_| "a bucket of a histogram is too large")?;
    }
    let exact = Exact {
        sum: stored.sum,
        min: stored.min,
        max: stored.max,
        over: stored.over,
    };
    let ends = pairs.first().zip(pairs.last());
    let fits = match ends {
        None => exact == Histogram::new().exact(),
        Some(([first, _], [last, _])) => {
            let bucket = |value: u64| histogram.buckets.highest_equivalent(value.min(MAX_NS));
            let count = u128::from(total);
            bucket(exact.min) == *first
                && bucket(exact.max) == *last
                && exact.sum >= count * u128::from(exact.min)
                && exact.sum <= count * u128::from(exact.max)
                && exact.over.is_sorted_by(|a, b| a >= b)
                && exact.over.iter().all(|n| *n <= total)
        }
    };
    if !fits {
        return Err("sum, extremes and buckets of a histogram contradict each other");
    }
    Ok(Histogram::from_parts(histogram.buckets, exact))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled() -> Histogram {
        let mut histogram = Histogram::new();
        for value in [
            0,
            1,
            1000,
            2047,
            2048,
            2049,
            4_194_303,
            4_194_304,
            700_000_000,
        ] {
            histogram.record_n(value, value % 7 + 1);
        }
        histogram.record(MAX_NS + 5);
        histogram.record(u64::MAX);
        histogram
    }

    #[test]
    fn what_is_read_is_what_was_written() {
        for histogram in [Histogram::new(), filled()] {
            let text = serde_json::to_string(&histogram).expect("numbers");
            let back: Histogram = serde_json::from_str(&text).expect(&text);
            assert_eq!(back, histogram);
            assert_eq!(back.stats(), histogram.stats());
            assert_eq!(back.curve(), histogram.curve());
            assert_eq!(serde_json::to_string(&back).expect("numbers"), text);
        }
        let mut cleared = filled();
        cleared.clear();
        let text = serde_json::to_string(&cleared).expect("numbers");
        let empty = r#"{"sum":0,"min":0,"max":0,"over":[0,0,0,0],"buckets":[]}"#;
        assert_eq!(text, empty);
    }

    #[test]
    fn a_histogram_that_contradicts_itself_is_refused() {
        let read = |text: &str| serde_json::from_str::<Histogram>(text);
        let with = |sum: u64, ends: [u64; 2], buckets: &str| {
            let [min, max] = ends;
            format!(
                r#"{{"sum":{sum},"min":{min},"max":{max},"over":[0,0,0,0],"buckets":[{buckets}]}}"#
            )
        };
        assert!(read(&with(30, [10, 20], "10,1,20,1")).is_ok());
        for (sum, ends, buckets) in [
            (1, [0, 0], ""),
            (30, [10, 20], "10,1,20"),
            (30, [10, 20], "20,1,10,1"),
            (30, [10, 20], "10,1,10,1,20,1"),
            (30, [10, 20], "10,0,20,1"),
            (19, [10, 20], "10,1,20,1"),
            (41, [10, 20], "10,1,20,1"),
            (30, [11, 20], "10,1,20,1"),
            (30, [10, 21], "10,1,20,1"),
            (5000, [2048, 2952], "2048,1,2953,1"),
            (30, [10, 20], "10,1099511627776,20,1"),
            (30, [10, 20], "10,1,9223372036854775807,1"),
        ] {
            let text = with(sum, ends, buckets);
            assert!(read(&text).is_err(), "{text}");
        }
        let over = r#"{"sum":30,"min":10,"max":20,"over":[3,0,0,0],"buckets":[10,1,20,1]}"#;
        assert!(read(over).is_err());
        let rising = r#"{"sum":30,"min":10,"max":20,"over":[0,1,0,0],"buckets":[10,1,20,1]}"#;
        assert!(read(rising).is_err());
    }
}
