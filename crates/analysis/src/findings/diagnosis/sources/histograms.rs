//! Histograms of latencies: which of several is what a commit waits for, by what they are of, and
//! what it shows.

use super::super::super::evidence::view::lines;
use super::super::figures::WAITS_MIN;
use super::super::humps::two_groups;
use super::times::{BESIDE, NOT_OF_LOG, OTHER_DEVICE, SourceTimes};
use crate::format::latency;
use measure::imported::Table;
use std::collections::BTreeMap;

/// Most of a table's waits: the bucket in which these are is its percentile.
const MOST: f64 = 0.99;
/// A flush that takes this many times a write of the same time: the write ends in a cache.
const CACHED: f64 = 8.0;
/// What reads do not show.
const READS: &str = "reads say nothing of a log";

/// What the columns of a histogram are.
pub(super) struct HistogramColumns {
    pub(super) table: &'static str,
    what: &'static str,
    /// Columns in which histograms of a table differ.
    key: &'static [&'static str],
    to: &'static str,
    unit_ms: f64,
    cannot: &'static str,
}

pub(super) const HISTOGRAMS: &[HistogramColumns] = &[
    HistogramColumns {
        table: "ebpf_histogram",
        what: "a histogram of the kernel",
        key: &["histogram", "of", "unit"],
        to: "to",
        unit_ms: 1e-3,
        cannot: "which of them are the log's is not known",
    },
    HistogramColumns {
        table: "sysbench_histogram",
        what: "sysbench's histogram",
        key: &[],
        to: "value_ms",
        unit_ms: 1.0,
        cannot: "everything that it did is in it",
    },
    HistogramColumns {
        table: "fio_log_bins",
        what: "fio's completions",
        key: &["direction"],
        to: "to_ns",
        unit_ms: 1e-6,
        cannot: "a completion is no sync",
    },
];

/// How far what a histogram is of is from what a commit waits for, and what it is: a flush or a
/// sync, a write that is synchronous, another write, anything, a read.
fn rank_of(label: &str) -> (u8, &'static str) {
    /// Words that a label is made of, their rank and what they are.
    const KINDS: [(&[&str], u8, &str); 4] = [
        (
            &["flush", "fsync", "fdatasync", "syncfs", "msync"],
            0,
            "flushes and syncs in ",
        ),
        (
            &["sync", "forceunitaccess", "fua"],
            BESIDE,
            "synchronous writes in ",
        ),
        (&["write", "writev", "pwrite", "pwritev", "pwrite64"], 2, ""),
        (
            &[
                "read",
                "readahead",
                "readv",
                "pread",
                "preadv",
                "pread64",
                "discard",
                "open",
                "getattr",
            ],
            NOT_OF_LOG,
            "",
        ),
    ];
    let label = label.to_ascii_lowercase();
    let words: Vec<&str> = label.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |of: &[&str]| words.iter().any(|word| of.contains(word));
    let is_read = has(KINDS[3].0) && !has(KINDS[2].0) && !has(KINDS[0].0);
    let found = KINDS.iter().find(|(of, ..)| has(of));
    match found {
        _ if is_read => (NOT_OF_LOG, ""),
        Some((_, rank, what)) => (*rank, *what),
        None => (OTHER_DEVICE, ""),
    }
}

/// The buckets of one histogram, with their bounds in ms.
#[derive(Default)]
struct Buckets {
    /// Beginning, end, waits; the beginning is missing where the table has none.
    all: Vec<(Option<f64>, f64, f64)>,
}

impl Buckets {
    fn waits(&self) -> f64 {
        self.all.iter().map(|(.., waits)| waits).sum()
    }

    /// The bucket in which this part of the waits is.
    fn at(&self, part: f64) -> Option<(Option<f64>, f64)> {
        let (all, mut seen) = (self.waits(), 0.0);
        let found = self.all.iter().find(|(.., waits)| {
            seen += waits;
            seen >= part * all
        });
        found.map(|(from, to, _)| (*from, *to))
    }

    /// The mean of the middles of its buckets.
    fn mean_ms(&self) -> Option<f64> {
        let middle =
            |(from, to, waits): &(Option<f64>, f64, f64)| Some((from.as_ref()? + to) / 2.0 * waits);
        let sum: Option<f64> = self.all.iter().map(middle).sum();
        sum.map(|sum| sum / self.waits())
    }

    fn ends(&self) -> Vec<(f64, f64)> {
        self.all
            .iter()
            .map(|(_, to, waits)| (*to, *waits))
            .collect()
    }
}

/// Each histogram of a table: the bounds below which most and all of its waits are.
pub(super) fn of_table<'a>(
    table: &'a Table,
    of: &'static HistogramColumns,
    log_device: Option<&str>,
) -> Vec<SourceTimes<'a>> {
    let mut all: BTreeMap<Vec<&str>, Buckets> = BTreeMap::new();
    for line in lines(table) {
        let known = line.number(of.to).zip(line.number("count"));
        let Some((to, waits)) = known.filter(|(_, waits)| *waits > 0.0) else {
            continue;
        };
        // Bounds that are no times: sizes, lengths of queues.
        let unit_ms = match line.text("unit") {
            "" => of.unit_ms,
            "nsecs" => 1e-6,
            "usecs" => 1e-3,
            "msecs" => 1.0,
            _ => continue,
        };
        let key = of.key.iter().map(|key| line.text(key)).collect();
        let from = line.number("from").map(|from| from * unit_ms);
        let buckets: &mut Buckets = all.entry(key).or_default();
        buckets.all.push((from, to * unit_ms, waits));
    }
    let each = all.into_iter().map(|(key, mut buckets)| {
        buckets.all.sort_by(|a, b| a.1.total_cmp(&b.1));
        one(&key, &buckets, of, table)
    });
    let mut each: Vec<SourceTimes<'_>> = each.collect();
    if let Some(device) = log_device {
        beside_device(&mut each, device);
    }
    let nearest = each.iter().map(|of| of.rank).min();
    for of in &mut each {
        // Synchronous writes are what a commit waits for where nothing is flushed.
        of.is_sync = Some(of.rank) == nearest && of.rank <= BESIDE;
        if !of.is_sync {
            of.mean_ms = None;
        }
    }
    through_a_cache(&mut each);
    each
}

/// Sets the histograms of the log's device apart from those of others.
fn beside_device(each: &mut [SourceTimes<'_>], device: &str) {
    let is_of = |of: &SourceTimes<'_>, name: &str| {
        let mut words = of.who.split([' ', ',', '\'']);
        words.any(|word| word == name)
    };
    if !each.iter().any(|of| is_of(of, device)) {
        return;
    }
    for of in each
        .iter_mut()
        .filter(|of| of.rank > BESIDE && of.rank < NOT_OF_LOG)
    {
        (of.rank, of.cannot) = match is_of(of, device) {
            true => (BESIDE, "it holds the log; data files may be there, too"),
            false => (OTHER_DEVICE, "it does not hold the log"),
        };
    }
}

fn one<'a>(
    key: &[&str],
    buckets: &Buckets,
    of: &'static HistogramColumns,
    table: &'a Table,
) -> SourceTimes<'a> {
    let waits = buckets.waits();
    let label: Vec<&str> = key
        .iter()
        .copied()
        .filter(|part| !part.is_empty())
        .collect();
    let label = label.join(", ");
    let (rank, what) = rank_of(&label);
    let median = buckets
        .at(0.5)
        .filter(|_| rank <= BESIDE && waits >= WAITS_MIN);
    let median = median.and_then(|(from, to)| Some((from?, to)));
    let median = median.map(|(from, to)| {
        let [from, to] = [from, to].map(|ms| latency(ms * 1e6));
        format!(", the median from {from} to {to}")
    });
    let groups = two_groups(&buckets.ends()).unwrap_or_default();
    SourceTimes {
        who: label,
        waits: Some(waits),
        mean_ms: buckets.mean_ms(),
        is_about: true,
        tail: buckets
            .at(MOST)
            .filter(|_| waits >= WAITS_MIN)
            .map(|(_, ms)| ("99 % under", ms)),
        longest_ms: buckets.all.last().map(|(_, ms, _)| *ms),
        longest_from_ms: buckets.all.last().and_then(|(from, ..)| *from),
        more: format!("{}{groups}", median.unwrap_or_default()),
        cannot: match rank {
            NOT_OF_LOG => READS,
            _ => of.cannot,
        },
        rank,
        ..SourceTimes::of(&format!("{what}{}", of.what), table)
    }
}

/// Words behind a flush that takes many times as long as the writes beside it.
fn through_a_cache(each: &mut [SourceTimes<'_>]) {
    let most = |range: std::ops::RangeInclusive<u8>| {
        let of_it = each
            .iter()
            .enumerate()
            .filter(|(_, of)| range.contains(&of.rank));
        let waits = |of: &SourceTimes<'_>| of.waits.unwrap_or(0.0);
        let found = of_it.max_by(|a, b| waits(a.1).total_cmp(&waits(b.1)));
        found.map(|(at, of)| (at, of.tail.map(|(_, ms)| ms), of.mean_ms))
    };
    let (flush, write) = (most(0..=0), most(BESIDE..=2));
    let Some(((at, _, Some(flush_ms)), (_, Some(write_ms), _))) = flush.zip(write) else {
        return;
    };
    if flush_ms >= CACHED * write_ms {
        let words = format!(
            "; 99 % of the writes beside them take under {}: they end in a volatile cache of the drive or of a layer, \
             and the flush, which a commit waits for, empties it",
            latency(write_ms * 1e6)
        );
        each[at].more.push_str(&words);
    }
}
