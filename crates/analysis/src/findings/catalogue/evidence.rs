//! What imported evidence shows about itself.

use super::Entry;
use measure::judgement::Confidence::{High, Low, Medium};

const RULE: &str = "arithmetic on the evidence's own figures, within their printed digits";

pub(super) const ENTRIES: &[Entry] = &[
    Entry::new(
        "evidence.clock",
        High,
        "A column that is named a latency grows with the clock: it is a clock.",
    )
    .rule("slope and fit against the time column", RULE),
    Entry::new(
        "evidence.window",
        High,
        "A volume and a rate imply another window than the one that is stated.",
    )
    .rule("volume / rate, in both unit systems", RULE),
    Entry::new(
        "evidence.load_average",
        High,
        "A load average is stated as a percentage.",
    )
    .rule("a load average has no percent", RULE),
    Entry::new(
        "evidence.average",
        High,
        "A printed average is not the time over the number.",
    )
    .rule("within rounding", RULE),
    Entry::new(
        "evidence.rounding",
        High,
        "Printed averages hide the ratio between them.",
    )
    .rule("total / waits", RULE),
    Entry::new("evidence.shares", High, "Shares imply different totals.")
        .rule("one total within rounding", RULE),
    Entry::new(
        "evidence.percentage",
        High,
        "A percentage is not what its formula gives.",
    )
    .rule("within the digits", RULE),
    Entry::new(
        "evidence.buckets",
        High,
        "Buckets do not add up to the total.",
    )
    .rule("the sum of the buckets is the total", RULE),
    Entry::new(
        "evidence.cpu",
        High,
        "The processors' shares do not add up to 100 %.",
    )
    .rule("100 % within 3", RULE),
    Entry::new(
        "evidence.thresholds",
        High,
        "More waits are over a higher bound than over a lower one.",
    )
    .rule("shares fall with the threshold", RULE),
    Entry::new(
        "evidence.not_alike",
        Medium,
        "Two histograms that are said to be alike differ.",
    )
    .rule("difference in standard errors", RULE),
    Entry::new(
        "evidence.queue",
        Medium,
        "The queue of iostat is not rate times time.",
    )
    .rule("Little's law", RULE),
    Entry::new(
        "evidence.other_load",
        Medium,
        "The load of a test is not the load of the cell's life.",
    )
    .rule("shares within a factor", RULE)
    .advice("Do not carry the test's share over to what the cell does otherwise."),
    Entry::new("evidence.counter_back", High, "A counter fell.")
        .rule("counters do not fall", RULE)
        .advice("Differences across this point mean nothing."),
    Entry::new(
        "evidence.ceiling",
        Medium,
        "Maxima of different samples are cut at one value.",
    )
    .rule("maxima of different samples differ", RULE)
    .advice("Look for a filter in how the samples were taken; longer values are missing."),
    Entry::new(
        "evidence.small_effect",
        Medium,
        "A difference is highly significant and small.",
    )
    .rule("Cohen's d beside the p-value", RULE),
    Entry::new(
        "evidence.interval",
        High,
        "A printed interval does not follow from the printed means.",
    )
    .rule("within the printed digits", RULE),
    Entry::new(
        "evidence.columns",
        High,
        "Headings and values do not match.",
    )
    .rule("as many names as values; identities between columns", RULE)
    .advice("Read by position, not by heading."),
    Entry::new(
        "evidence.little",
        High,
        "Throughput times latency exceeds the jobs.",
    )
    .rule("throughput x latency is at most the jobs", RULE),
    Entry::new(
        "evidence.response_time",
        High,
        "A latency is jobs over throughput in every line: a response time, no sampled wait.",
    )
    .rule("within 1 % in every line", RULE),
    Entry::new(
        "evidence.commit_mode",
        High,
        "Commits that are said not to wait, wait.",
    )
    .rule("NOWAIT commits do not wait for log file sync", RULE)
    .advice("Reproduce it with a workload that waits."),
    Entry::new(
        "evidence.block_size",
        Medium,
        "The redo block size that bytes a block show.",
    )
    .rule("the smallest block that holds it", RULE),
    Entry::new(
        "evidence.wastage",
        Medium,
        "Redo wastage that blocks and bytes show.",
    )
    .rule("share of the block", RULE)
    .advice("Smaller blocks, or more commits a write."),
    Entry::new(
        "evidence.knee",
        Medium,
        "Where throughput peaks and only latency grows.",
    )
    .rule("two lines past the peak", RULE),
    Entry::new(
        "evidence.claim",
        Low,
        "A factor that is claimed in words fits neither equal jobs nor peaks.",
    )
    .rule("within its digits", RULE),
    Entry::new(
        "evidence.claim_holds",
        Low,
        "A factor that is claimed in words is found.",
    )
    .rule("within its digits", RULE),
    Entry::new(
        "evidence.claim_exception",
        Medium,
        "Lines in which the platform that is claimed to be faster is slower.",
    )
    .rule("the other's throughput at equal jobs", RULE),
];
