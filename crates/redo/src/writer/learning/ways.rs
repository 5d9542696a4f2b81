//! The ways in which foregrounds wait, and who writes for them.

/// How foregrounds learn that their redo is durable (Oracle: `_use_adaptive_log_file_sync`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFileSync {
    /// They sleep, and are woken.
    #[default]
    PostWait,
    /// They look, and let others run between two looks.
    Polling,
    /// One or the other, as the commits of each show.
    Adaptive,
}

impl LogFileSync {
    /// Its name in options and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LogFileSync::PostWait => "post-wait",
            LogFileSync::Polling => "polling",
            LogFileSync::Adaptive => "adaptive",
        }
    }
}

impl std::str::FromStr for LogFileSync {
    type Err = String;

    fn from_str(text: &str) -> Result<LogFileSync, String> {
        let all = [
            LogFileSync::PostWait,
            LogFileSync::Polling,
            LogFileSync::Adaptive,
        ];
        all.into_iter().find(|m| m.name() == text).ok_or_else(|| {
            format!("no way to learn of durable redo `{text}`; use post-wait, polling or adaptive")
        })
    }
}

/// Who writes for those who commit, and how they wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitWay {
    /// A committing foreground writes for all; otherwise the log writer's thread does.
    pub inline: bool,
    /// Foregrounds look until their redo is durable; otherwise they sleep and are woken.
    pub polling: bool,
}

impl CommitWay {
    /// The way of a log that learns nothing: whether foregrounds write for themselves, and how they
    /// wait.
    #[must_use]
    pub fn fixed(inline: Option<bool>, sync: LogFileSync) -> CommitWay {
        CommitWay {
            inline: inline == Some(true),
            polling: sync == LogFileSync::Polling,
        }
    }

    /// Its name in results: `inline`, `polling` or `post-wait`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match (self.inline, self.polling) {
            (_, true) => "polling",
            (true, false) => "inline",
            (false, false) => "post-wait",
        }
    }
}
