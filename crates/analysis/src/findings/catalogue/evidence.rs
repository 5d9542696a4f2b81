//! What imported evidence shows about itself.

use super::CatalogueEntry;
use crate::thresholds::RuleBasis::{Opinion, Standard};
use measure::judgement::Confidence::{High, Low, Medium};

const RULE: &str = "arithmetic on the evidence's own figures, within their printed digits";

entries! {
    EVIDENCE_CLOCK = CatalogueEntry::new("evidence.clock", High,
        "A column that is named a latency contains clock times: it grows with the time column.")
        .rule("slope and fit against the time column", RULE)
        .rests_on(Opinion)
        .advice("Do not read this column as a latency. The number of rows and their sizes remain usable.");
    EVIDENCE_WINDOW = CatalogueEntry::new("evidence.window", High,
        "A volume and a rate imply a different time window than the stated one.")
        .rule("volume / rate, in both unit systems", RULE)
        .advice("Figures per second remain usable; totals belong to another time window than the stated one.");
    EVIDENCE_LOAD_AVERAGE = CatalogueEntry::new("evidence.load_average", High,
        "A load average is stated as a percentage.")
        .rule("a load average is a number of processes, not a percentage", RULE);
    EVIDENCE_AVERAGE = CatalogueEntry::new("evidence.average", High,
        "A printed average is not the total time divided by the number of waits.")
        .rule("within rounding", RULE);
    EVIDENCE_ROUNDING = CatalogueEntry::new("evidence.rounding", High,
        "Printed averages hide the ratio between them.")
        .rule("total / waits", RULE)
        .advice("Compare time / waits, never averages in whole milliseconds.");
    EVIDENCE_SHARES = CatalogueEntry::new("evidence.shares", High, "Shares imply different totals.")
        .rule("one total within rounding", RULE);
    EVIDENCE_PERCENTAGE = CatalogueEntry::new("evidence.percentage", High,
        "A percentage is not what its formula gives.")
        .rule("within the digits", RULE);
    EVIDENCE_BUCKETS = CatalogueEntry::new("evidence.buckets", High,
        "Buckets do not add up to the total.")
        .rule("the sum of the buckets is the total", RULE);
    EVIDENCE_CPU = CatalogueEntry::new("evidence.cpu", High,
        "The processors' shares do not add up to 100 %.")
        .rule("100 % within 3", RULE)
        .rests_on(Opinion);
    EVIDENCE_THRESHOLDS = CatalogueEntry::new("evidence.thresholds", High,
        "More waits are over a higher bound than over a lower one.")
        .rule("shares fall with the threshold", RULE);
    EVIDENCE_NOT_ALIKE = CatalogueEntry::new("evidence.not_alike", Medium,
        "Two histograms differ although the text describes them as similar.")
        .rule("difference in standard errors", RULE)
        .rests_on(Opinion);
    EVIDENCE_CHANGE = CatalogueEntry::new("evidence.change", Medium,
        "The waits of a trace change their level: one mean does not describe them.")
        .rule("change points of the mean wait over time; levels at least 25 % apart, each a twentieth of the trace",
            "optimal partitioning with absolute deviations (Jackson and others 2005)")
        .rests_on(Opinion)
        .advice("Compare the stretches before and after, and look at what happened at this time.");
    EVIDENCE_SWEEP_CHANGED = CatalogueEntry::new("evidence.sweep_changed", Medium,
        "More jobs bring more throughput per job with less latency: the system changed between two tests.")
        .rule("throughput per job up by 1 % and latency down by 1 %, after throughput per job fell with more jobs", RULE)
        .rests_on(Opinion)
        .advice("Do not draw one curve through both tests; measure the sweep again.");
    EVIDENCE_TESTS_LEFT_OUT = CatalogueEntry::new("evidence.tests_left_out", Medium,
        "Numbers of tests are missing within a sweep.")
        .rule("numbers that no line of the platform has, between tests of one sweep", RULE)
        .advice("Ask for the missing lines before you judge the curve between them.");
    EVIDENCE_QUEUE = CatalogueEntry::new("evidence.queue", Medium,
        "The queue length of iostat is not the rate multiplied by the time.")
        .rule("Little's law", RULE)
        .rests_on(Opinion)
        .advice("One of the three columns is not what its heading says.");
    EVIDENCE_OTHER_LOAD = CatalogueEntry::new("evidence.other_load", Medium,
        "The load of a test differs from the load over the life of the cell.")
        .rule("shares within a factor", RULE)
        .rests_on(Opinion)
        .advice("Do not apply the share of the test to the other work of the cell.");
    EVIDENCE_COUNTER_BACK = CatalogueEntry::new("evidence.counter_back", High,
        "A counter decreased.")
        .rule("counters do not fall", RULE)
        .advice("Do not compute differences across this point.");
    EVIDENCE_CEILING = CatalogueEntry::new("evidence.ceiling", Medium,
        "The maxima of several samples are cut at the same value.")
        .rule("maxima of different samples differ", RULE)
        .advice("Larger values are missing: look for a filter in the way the samples were taken.");
    EVIDENCE_SMALL_EFFECT = CatalogueEntry::new("evidence.small_effect", Medium,
        "A difference is highly significant but small.")
        .rule("Cohen's d together with the p-value", RULE)
        .rests_on(Standard);
    EVIDENCE_INTERVAL = CatalogueEntry::new("evidence.interval", High,
        "A printed interval does not follow from the printed means.")
        .rule("within the printed digits", RULE);
    EVIDENCE_COLUMNS = CatalogueEntry::new("evidence.columns", High,
        "Headings and values do not match.")
        .rule("as many names as values; identities between columns", RULE)
        .advice("Read such a table by the identities between its columns, not by its heading.");
    EVIDENCE_LITTLE = CatalogueEntry::new("evidence.little", High,
        "Throughput times latency is larger than the number of jobs.")
        .rule("throughput x latency is at most the number of jobs", RULE);
    EVIDENCE_RESPONSE_TIME = CatalogueEntry::new("evidence.response_time", High,
        "In every line the latency equals jobs divided by throughput: it is a response time, not a sampled wait.")
        .rule("within 1 % in every line", RULE)
        .rests_on(Opinion);
    EVIDENCE_COMMIT_MODE = CatalogueEntry::new("evidence.commit_mode", High,
        "Commits wait for log file sync although the text describes them as NOWAIT.")
        .rule("NOWAIT commits do not wait for log file sync", RULE)
        .advice("Reproduce it with a workload that waits.");
    EVIDENCE_BLOCK_SIZE = CatalogueEntry::new("evidence.block_size", Medium,
        "The redo block size, from bytes per block.")
        .rule("the smallest block that holds it", RULE);
    EVIDENCE_WASTAGE = CatalogueEntry::new("evidence.wastage", Medium,
        "Redo wastage, from blocks and bytes.")
        .rule("share of the block", RULE)
        .advice("Smaller blocks, or more commits per write, waste less.");
    EVIDENCE_KNEE = CatalogueEntry::new("evidence.knee", Medium,
        "The number of jobs at which throughput peaks; beyond it only latency grows.")
        .rule("two lines past the peak", RULE);
    AGREEMENT_RESTART = CatalogueEntry::new("agreement.restart", Medium,
        "Listings of counters since the start of an instance were subtracted, and the evidence does not contain when it was started.")
        .rule("no count goes back", "v$event_histogram, v$system_event, v$sysstat and sys.dm_os_wait_stats count since the instance was started")
        .advice("Compare STARTUP_TIME of v$instance (sqlserver_start_time of sys.dm_os_sys_info) with the times of both listings, or list it with them.");
    EVIDENCE_AGREEMENT = CatalogueEntry::new("evidence.agreement", Medium,
        "Two evidences show the same quantity differently, and nothing in them explains it.")
        .rule("the intervals that digits and buckets allow overlap, or the windows differ", RULE)
        .advice("Check that both are of the same instance and the same hours before you believe either.");
    EVIDENCE_CLAIM = CatalogueEntry::new("evidence.claim", Low,
        "A factor that the text claims is not the largest ratio at equal jobs, of the peaks or of the last rows; or another size of transactions gains most than the text claims.")
        .rule("within its digits", RULE);
    EVIDENCE_CLAIM_HOLDS = CatalogueEntry::new("evidence.claim_holds", Low,
        "A factor that the text claims, or that short transactions gain most, is confirmed by the figures.")
        .rule("within its digits", RULE);
    EVIDENCE_CLAIM_EXCEPTION = CatalogueEntry::new("evidence.claim_exception", Medium,
        "In some lines the platform that the text claims to be faster is slower.")
        .rule("the other's throughput at equal jobs", RULE);
    EVIDENCE_MISPRINT = CatalogueEntry::new("evidence.misprint", Medium,
        "A name of a platform is there once and differs by one letter from a name that is there often.")
        .rule("one other letter within a word, once, beside a name that is there three times", RULE);
    EVIDENCE_UNLIKE = CatalogueEntry::new("evidence.unlike", High,
        "The sides of a comparison are not alike: the text states different amounts of drives, cache or processors.")
        .rule("amounts of one part that the text compares and that differ", "the document's own words")
        .advice("Do not take the effect as that of the factor alone.");
}
