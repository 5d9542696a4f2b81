//! Findings about the stated need.

use super::{CatalogueEntry, FigureAnchor};
use measure::judgement::Confidence::{High, Medium};

entries! {
    NEED_COMMIT_RATE = CatalogueEntry::new("need.commit_rate", Medium,
        "The needed commits per second (--commit-rate, at the latency that --p99 allows), compared with what LGWR-LAT1 reached, or with what was sustained after a soak had drained burst credits.")
        .limit("capacity above the need", &["headroom_pct"])
        .advice("Use a faster device, more commits per log write, or several logs.")
        .at(FigureAnchor::Throughput);
    NEED_REDO_RATE = CatalogueEntry::new("need.redo_rate", Medium,
        "The needed redo per second (--redo-rate), compared with the rate that was reached: behind a RAID controller the rate of its disks, on a cloud volume the rate after a soak, and after burst credits were drained what was sustained then.")
        .limit("capacity above the need", &["headroom_pct"])
        .advice("Use a faster device, more commits per log write, or several logs.")
        .at(FigureAnchor::Throughput);
    NEED_P99 = CatalogueEntry::new("need.p99", Medium,
        "The needed 99th percentile of log file sync (--p99), compared with the lowest that LGWR-LAT1 reached, or that was sustained after a soak had drained burst credits.")
        .limit("capacity above the need", &["headroom_pct"])
        .advice("Use a device whose durable write is faster.")
        .at(FigureAnchor::LogFileSync);
    NEED_PRODUCTION = CatalogueEntry::new("need.production", Medium,
        "Log file sync and log file parallel write of the production system (--need-from), beside the same waits on this device. A wait from which production suffers is not a target: the device has to beat it.")
        .limit("shorter than in production by the headroom; a wait from which production suffers", &["headroom_pct", "sync_mean_problem_ms", "write_mean_problem_ms", "tail_p999_ms"])
        .advice("Commits or log writes take longer on this device than they do in production now: use a device whose durable write is faster.")
        .at(FigureAnchor::LogFileSync);
    NEED_SUSTAINED = CatalogueEntry::new("need.sustained", High,
        "A rate is needed, but only a burst rate was measured: the rate of a controller's cache, or of a cloud volume before its credits end.")
        .limit("bytes written, as a multiple of the cache; or minutes of one row", &["destage_multiple", "assumed_cache_gib", "soak_min"])
        .advice("Run a soak: 45 minutes on a cloud volume; behind a RAID controller with log files larger than its cache.")
        .at(FigureAnchor::Seconds);
    NEED_ENDURANCE = CatalogueEntry::new("need.endurance", Medium,
        "How long the drive's rated endurance lasts at the needed rate (--tbw, --years).")
        .limit("years at the needed rate", &["endurance_years"])
        .advice("Use a drive with a higher endurance, put more commits into each log write (less padding), or write less redo.")
        .at(FigureAnchor::Throughput);
}
