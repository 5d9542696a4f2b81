//! What a figure or a section of a report shows, by which findings are linked to it.

/// What a figure or a section shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Topic {
    /// The figure of the first screen.
    Answer,
    Throughput,
    SyncByJobs,
    Percentiles,
    Density,
    WriteDensity,
    SyncHeat,
    WriteHeat,
    Buckets,
    CommitPath,
    Scatter,
    Rate,
    Longest,
    SizeSweep,
    Stack,
    Floor,
    Rows,
    Bytes,
    Waits,
    Validity,
    Environment,
    Evidence,
}

impl Topic {
    /// What a link to it says.
    pub(super) const fn label(self) -> &'static str {
        match self {
            Topic::Answer => "the figure at the top",
            Topic::Throughput => "throughput",
            Topic::SyncByJobs => "log file sync by jobs",
            Topic::Percentiles => "percentiles",
            Topic::Density => "density",
            Topic::WriteDensity => "density of log file parallel write",
            Topic::SyncHeat => "heat map of log file sync",
            Topic::WriteHeat => "heat map of log file parallel write",
            Topic::Buckets => "histogram",
            Topic::CommitPath => "where the time goes",
            Topic::Scatter => "scatter",
            Topic::Rate => "commits by second",
            Topic::Longest => "longest wait by second",
            Topic::SizeSweep => "size sweep",
            Topic::Stack => "storage stack",
            Topic::Floor => "floor",
            Topic::Rows => "rows",
            Topic::Bytes => "bytes per layer",
            Topic::Waits => "wait events",
            Topic::Validity => "validity",
            Topic::Environment => "environment",
            Topic::Evidence => "tables of the evidence",
        }
    }

    /// What the section with that id shows, where findings may rest on it.
    pub(super) fn of_section(id: &str) -> Option<Topic> {
        use Topic::{Bytes, Evidence, Floor, Rows, Validity, Waits};
        let all = [Floor, Rows, Bytes, Waits, Validity, Evidence];
        all.into_iter().find(|topic| topic.section_id() == Some(id))
    }

    /// The id of the section that shows it; `None` for figures.
    pub(super) const fn section_id(self) -> Option<&'static str> {
        match self {
            Topic::Stack => Some("stack"),
            Topic::Floor => Some("floor"),
            Topic::Rows => Some("rows"),
            Topic::Bytes => Some("bytes"),
            Topic::Waits => Some("waits"),
            Topic::Validity => Some("validity"),
            Topic::Environment => Some("environment"),
            Topic::Evidence => Some("evidence"),
            _ => None,
        }
    }
}
