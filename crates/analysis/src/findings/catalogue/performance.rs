//! Findings about speed and steadiness.

use super::{CatalogueEntry, FigureAnchor};
use crate::thresholds::RuleBasis::Standard;
use measure::judgement::Confidence::{High, Low, Medium};

const ORA_01378: &str =
    "Oracle ORA-01378: block size of a log file against media and host sector sizes (study 001)";
const UNWRITTEN: &str =
    "Linux file systems convert unwritten extents in the journal at the flush of first use";
const WAIT: &str = "Oracle Database Reference, wait event of the same name";

entries! {
    LATENCY_WRITE_MEAN = CatalogueEntry::new("latency.write_mean", High,
        "The mean log file parallel write, and its band.")
        .limit("bands of the mean", &["write_mean_good_ms", "write_mean_fair_ms", "write_mean_problem_ms"])
        .advice("Check the device first (cache policy, other users of the device, path), then block size and pre-writing.")
        .at(FigureAnchor::Percentiles);
    LATENCY_SOURCE = CatalogueEntry::new("latency.source", High,
        "What a source of latencies shows of the log: its longest wait, its 99th percentile and its mean in bands, or that it shows none of them.")
        .limit("bands of the mean; 99th percentile; share of waits under which slow ones are a rare cost; the 99th percentiles that etcd asks for", &["write_mean_good_ms", "write_mean_fair_ms", "write_mean_problem_ms", "tail_p999_ms", "slow_share_pct", "etcd_wal_p99_ms", "etcd_commit_p99_ms"])
        .advice("Look for a source of single waits: a histogram, a trace, or redolab watch.");
    LATENCY_TAIL = CatalogueEntry::new("latency.tail", High,
        "The 99.9th percentile and the longest log file sync (always reported).")
        .limit("99.9th percentile", &["tail_p999_ms"])
        .advice("Look at the per-second series: regular peaks point to garbage collection or destaging, single peaks to other users of the device.")
        .at(FigureAnchor::Percentiles);
    LATENCY_PEAKS = CatalogueEntry::new("latency.peaks", Medium,
        "Peaks of log file parallel write, and their effect on log file sync.")
        .limit("longest over mean; rise of log file sync in the seconds with peaks", &["peak_ratio", "peak_effect_pct"])
        .advice("Sessions wait longer because of these peaks. A longer run shows whether the peaks are regular.")
        .at(FigureAnchor::Longest);
    LATENCY_OUTLIERS = CatalogueEntry::new("latency.outliers", High,
        "Log writes and log file sync waits over 500 ms.")
        .limit("number over 500 ms", &["outliers_allowed"])
        .advice("Find the cause first. After that, a second log member on other hardware, or racing two devices, can hide the outliers of one device.")
        .at(FigureAnchor::Longest);
    LATENCY_IO_SHARE = CatalogueEntry::new("latency.io_share", Medium,
        "Write and flush as a share of log file sync; the rest is queueing and waking up.")
        .limit("share of I/O", &["io_share_high_pct"])
        .advice("If it is mostly I/O, a faster device helps. Otherwise check run queues, wake-ups and group commit.")
        .at(FigureAnchor::CommitPath);
    LATENCY_PARTS = CatalogueEntry::new("latency.parts", High,
        "Log file sync divided into I/O, group commit, CPU and log writer (check --explain-latency).")
        .rule("", "study 000: separating scheduling from I/O; the stations of each commit's log write")
        .advice("The largest part shows what makes commits faster.")
        .at(FigureAnchor::CommitPath);
    LATENCY_CONDITIONS = CatalogueEntry::new("latency.conditions", High,
        "What NOWAIT BATCH, busy processors and the ways of waiting change (check --explain-latency).")
        .rule("", "study 000: commit_logging BATCH with commit_wait NOWAIT separates scheduling from I/O; ratios of interleaved rounds")
        .at(FigureAnchor::CommitPath);
    FLUSH_COST = CatalogueEntry::new("flush.cost", Medium,
        "The flush as a share of a durable write, at queue depth 1.")
        .rule("", "measured by the probe: direct writes, each flushed")
        .advice("If the flush is most of the time, a device with a protected cache (PLP) makes commits faster than a device with faster flash cells.")
        .at(FigureAnchor::Floor);
    FLUSH_AUDIT = CatalogueEntry::new("flush.audit", High,
        "The flushes that the kernel counted, compared with those that the acknowledged writes need.")
        .rule("counted >= needed", "redolab: flushes that the kernel counted, compared with those that acknowledged writes need")
        .at(FigureAnchor::Trust);
    BLOCK_BELOW_LOGICAL = CatalogueEntry::new("block.below_logical", High,
        "Redo blocks are smaller than the host sector.")
        .rule("block >= host sector", ORA_01378)
        .rests_on(Standard)
        .advice("Use blocks of the host sector's size.")
        .at(FigureAnchor::Stack);
    BLOCK_BELOW_PHYSICAL = CatalogueEntry::new("block.below_physical", High,
        "Log writes end inside a sector of the medium: acknowledged redo in that sector is written again.")
        .rule("log writes padded to the media sector", ORA_01378)
        .rests_on(Standard)
        .advice("Pad log writes to the media sector.")
        .at(FigureAnchor::Stack);
    BLOCK_FITS = CatalogueEntry::new("block.fits", High,
        "Block size and padding fit host and media sectors.")
        .rule("block >= host sector; log writes padded to the media sector", ORA_01378)
        .rests_on(Standard)
        .at(FigureAnchor::Stack);
    BLOCK_ATOMIC = CatalogueEntry::new("block.atomic", High,
        "The largest write that the device promises not to tear, compared with block size and padding.")
        .rule("atomic unit >= block", "NVMe AWUPF, SCSI atomic writes: Linux queue/atomic_write_unit_max_bytes")
        .advice("Nothing to do: redo blocks have checksums, so a torn block is detected; no double write is needed.")
        .at(FigureAnchor::Stack);
    BLOCK_PRE_WRITTEN = CatalogueEntry::new("block.pre_written", High,
        "The log files hold no unwritten extents.")
        .rule("no unwritten extent in a log file", UNWRITTEN);
    BLOCK_UNWRITTEN_EXTENTS = CatalogueEntry::new("block.unwritten_extents", High,
        "The log files hold unwritten extents: the first write to each also commits the file system's journal.")
        .rule("no unwritten extent in a log file", UNWRITTEN)
        .advice("Write log files once before use; fallocate alone is not enough.");
    BLOCK_EXTENTS_UNKNOWN = CatalogueEntry::new("block.extents_unknown", High,
        "The file system does not report whether extents are unwritten.")
        .rule("no unwritten extent in a log file", UNWRITTEN);
    BLOCK_RAW_DEVICE = CatalogueEntry::new("block.raw_device", High,
        "The log is on the raw device.")
        .rule("a raw device is written in full before its first use", UNWRITTEN)
        .advice("Keep the device out of fstab, volume groups and arrays; redolab inspect shows what is on it.");
    BLOCK_PRE_WRITING = CatalogueEntry::new("block.pre_writing", Medium,
        "The effect of pre-writing: durable writes on a file that was written before, compared with an allocated file.")
        .rule("", "measured by the probe, same method and size")
        .at(FigureAnchor::Floor);
    PROCESSOR_FLOOR = CatalogueEntry::new("processor.floor", High,
        "Durable writes from each processor: where the disk's interrupts arrive, the slowest processor compared with the fastest, and a thread that is not pinned.")
        .rule("", "measured in interleaved rounds: paired Student interval, for all pairs of places together")
        .at(FigureAnchor::Floor);
    PROCESSOR_PIN = CatalogueEntry::new("processor.pin", Medium,
        "A thread that is not pinned makes writes durable more slowly than on one of the processors.")
        .limit("lower end of the interval of the ratio; time on the run queue", &["placement_gain_pct", "placement_wait_pct"])
        .advice("With a dedicated log writer, try --log-writer-cpu and compare commits with and without it under the load of production: a pinned log writer waits when that processor is busy.")
        .at(FigureAnchor::Floor);
    PROCESSOR_SLOW = CatalogueEntry::new("processor.slow", Medium,
        "The log writer is pinned to a processor from which writes become durable more slowly than from another.")
        .limit("lower end of the interval of the ratio; time on the run queue", &["placement_gain_pct", "placement_wait_pct"])
        .advice("Do not pin the log writer, or pin it to the fastest processor, and compare commits under the load of production.")
        .at(FigureAnchor::Floor);
    CONCURRENCY_KNEE = CatalogueEntry::new("concurrency.knee", Medium,
        "The number of jobs with the largest throughput over latency, beyond which latency grows faster than throughput, and whether the stated need is below it.")
        .rule("largest throughput over latency, between the fewest and the most jobs", "Kleinrock's power (1979)")
        .rests_on(Standard)
        .advice("With more sessions than this, commits mostly wait longer.")
        .at(FigureAnchor::Throughput);
    CONCURRENCY_GROUP_COMMIT = CatalogueEntry::new("concurrency.group_commit", High,
        "The number of commits that share a log write: lowest and highest.")
        .rule("", "group-commit factor: commits per log write")
        .at(FigureAnchor::Throughput);
    CONCURRENCY_DELAY = CatalogueEntry::new("concurrency.delay", Medium,
        "The load 2/F above which delaying commits to group them is pointless.")
        .rule("2/F", "redolab: with one log write in flight, the sessions of a closed loop split into two groups that alternate")
        .advice("Leave commit delays (commit_delay, BATCH with WAIT) off above this load.")
        .at(FigureAnchor::Throughput);
    STEADY_STATE = CatalogueEntry::new("steady.state", Medium,
        "Whether the rate was steady: span and slope over five rounds at the end of a row.")
        .limit("span and slope over five rounds", &["steady_range_pct", "steady_slope_pct", "steady_min_s"])
        .advice("Run longer: do not plan with a rate that has not settled.")
        .at(FigureAnchor::Seconds);
    STEADY_DECAY = CatalogueEntry::new("steady.decay", Medium,
        "The rate fell gradually and was lower at the end of a row.")
        .limit("fall of the level", &["decay_pct", "steady_min_s"])
        .advice("Possible causes are a fast cache that fills, heat, and garbage collection. Plan with the rate at the end, and run a soak.")
        .at(FigureAnchor::Seconds);
    STEADY_CHANGE = CatalogueEntry::new("steady.change", Medium,
        "The rate changed its level during the longest row, and did not just fall.")
        .limit("levels apart (change points of the rate)", &["decay_pct"])
        .advice("One mean does not describe such a row. Look at what happened at these seconds: other load, destaging, a cap, a cache that filled.")
        .at(FigureAnchor::Seconds);
    STEADY_STEP = CatalogueEntry::new("steady.step", Medium,
        "The rate fell from one level to another within a row and stayed there.")
        .limit("fall from level to level", &["step_pct", "steady_min_s"])
        .advice("Possible causes are spent burst credits and a full fast cache. The lower level is the sustained rate.")
        .at(FigureAnchor::Seconds);
    STEADY_BUCKET = CatalogueEntry::new("steady.bucket", Medium,
        "A soak drained burst credits (a token bucket): the rate fell to an even level that more sessions do not raise. Rate of burst and refill, size of the bucket, when it was empty, and whether it counts requests or bytes.")
        .limit("fall from the burst to an even level, and what is counted while sessions grow", &["step_pct", "cap_flat_pct", "bucket_depth_pct", "steady_min_s"])
        .advice("Plan with the sustained rate: provision it for the need, or a bucket that lasts for the longest peak.")
        .at(FigureAnchor::Seconds);
    STEADY_CAP = CatalogueEntry::new("steady.cap", Low,
        "Throughput is on a flat plateau while latency grows with depth: a provisioned cap.")
        .limit("change of the rate while depth and latency grow", &["cap_flat_pct"])
        .advice("Compare the level with what is provisioned; a larger volume or instance type may raise it.")
        .at(FigureAnchor::Throughput);
    LOAD_PROCESSORS = CatalogueEntry::new("load.processors", High,
        "The processors were so busy that the load generator may be the limit.")
        .limit("processors busy", &["cpu_busy_pct"])
        .advice("Treat the throughput of those rows as a lower bound for the device, and their latency as an upper bound.")
        .at(FigureAnchor::Throughput);
    LOAD_LAB_OVERHEAD = CatalogueEntry::new("load.lab_overhead", High,
        "redolab's own overhead per commit, measured on the null device.")
        .limit("share of a commit", &["overhead_share_pct"])
        .advice("The device is so fast that redolab's own overhead is a visible part of a commit; compare devices by log file parallel write.")
        .at(FigureAnchor::Trust);
    LOAD_BACKGROUND = CatalogueEntry::new("load.background", Medium,
        "The share of the device's writes that came from other processes.")
        .limit("writes of other processes", &["background_write_pct"])
        .advice("Measure when the device is quiet, or put redo on a device of its own.")
        .at(FigureAnchor::Trust);
    SPACE_WASTAGE = CatalogueEntry::new("space.wastage", High,
        "Redo wastage: written bytes that contain no redo.")
        .limit("share of the bytes written", &["wastage_pct"])
        .advice("This is normal if few sessions make small commits on 4096-byte blocks. If the media sector is 512 bytes, blocks of 512 bytes waste less.");
    SPACE_WRITE_AMPLIFICATION = CatalogueEntry::new("space.write_amplification", Medium,
        "Bytes that the device wrote per byte of redo.")
        .limit("bytes written per byte of redo", &["write_amplification"])
        .advice("Possible causes are padding of small commits, a copy-on-write or journalled file system, a mirror, and other work on the device. The drive's internal write amplification is not included.");
    SPACE_DATA_JOURNAL = CatalogueEntry::new("space.data_journal", High,
        "The file system writes redo twice (data=journal).")
        .rule("data=ordered or data=writeback for redo", super::STACK_RULE)
        .advice("Mount the redo volume with data=ordered.")
        .at(FigureAnchor::Stack);
    SPACE_ENDURANCE = CatalogueEntry::new("space.endurance", Medium,
        "How long the drive's rated endurance lasts at the highest measured rate (--tbw).")
        .limit("years of writing without a pause", &["endurance_years"])
        .advice("State the need (--redo-rate or --commit-rate), so that the endurance is judged at that rate.");
    SPACE_LOG_SWITCHES = CatalogueEntry::new("space.log_switches", Medium,
        "The effect of log switches on log file sync.")
        .limit("rise of log file sync in the seconds with switches", &["switch_effect_pct"])
        .advice("Use larger log files, so that switches are rare.")
        .at(FigureAnchor::Seconds);
    SPACE_LOG_FILE_SWITCH_COMPLETION = CatalogueEntry::new("space.log_file_switch_completion", High,
        "Time that the first write after a log switch took.")
        .rule("the longest over 500 ms", WAIT)
        .rests_on(Standard)
        .advice("Check what else happens at a log switch: control file, checkpoint, archiving.")
        .at(FigureAnchor::Longest);
    SPACE_LOG_FILE_SWITCH_CHECKPOINT_INCOMPLETE = CatalogueEntry::new(
        "space.log_file_switch_checkpoint_incomplete", High,
        "The log writer waited for a log group that the checkpoint had not passed.")
        .rule("any such wait", WAIT)
        .advice("The checkpoint cannot keep up: use larger log files or more log groups.");
    SPACE_LOG_FILE_SWITCH_ARCHIVING_NEEDED = CatalogueEntry::new(
        "space.log_file_switch_archiving_needed", High,
        "The log writer waited for a log group that was not archived.")
        .rule("any such wait", WAIT)
        .advice("The archiver cannot keep up: put the archive on another or a faster device, or use more log groups.");
    SPACE_LOG_BUFFER_SPACE = CatalogueEntry::new("space.log_buffer_space", High,
        "Sessions waited for room in the log buffer.")
        .rule("any such wait", WAIT)
        .advice("This is expected if sessions do not wait for their commits. Otherwise use a larger log buffer or a faster device.");
    SPACE_CACHE_RESIDENT = CatalogueEntry::new("space.cache_resident", Medium,
        "The log files are so small that a cache in the path could hold them.")
        .limit("footprint over the largest cache", &["cache_multiple", "assumed_cache_gib"])
        .advice("Use larger log files or run a soak to see the rate behind the cache. Production logs of the same size also fit into that cache.");
}
