//! Bytes per layer: what a row made of redo, what its log's writer wrote for it, what the device
//! received, and who flushed how often. Of a database and of redolab's own log alike.
//!
//! Invariant: all figures of one [`LayerBytes`] are of one stretch of time. Of a database that is
//! the time between the readings of its counts, of redolab's own log the row's measured time.

use measure::run::{Row, Run};

/// Bytes and flushes of a row, layer by layer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayerBytes {
    /// Commits of that time.
    pub commits: Option<u64>,
    /// Redo; of a database by the position of its log.
    pub redo_bytes: Option<u64>,
    /// What the server, or the log, wrote.
    pub written_bytes: Option<u64>,
    /// That was computed, not counted.
    pub written_is_computed: bool,
    /// What the whole disk received, from all programs; of a watched log what its files received.
    pub device_bytes: Option<u64>,
    /// Flushes, or durable writes, that the server or the log asked for.
    pub flushes: Option<u64>,
    /// Flushes that the whole disk executed, for all programs.
    pub device_flushes: Option<u64>,
}

impl LayerBytes {
    /// Those of a row; `None` where neither redo nor a layer below it was counted.
    #[must_use]
    pub fn of(row: &Row) -> Option<LayerBytes> {
        let found = match (&row.server, &row.watched) {
            (None, Some(watched)) => LayerBytes {
                commits: row.commits,
                redo_bytes: row.redo().redo_size_bytes,
                written_bytes: watched.written_bytes,
                written_is_computed: false,
                device_bytes: watched.device_bytes,
                flushes: row.redo().flushes,
                device_flushes: None,
            },
            (Some(server), _) => LayerBytes {
                commits: server.commits,
                redo_bytes: server.redo_lsn_bytes,
                written_bytes: server.written_bytes,
                written_is_computed: server.written_is_computed == Some(true),
                device_bytes: server.device_written_bytes,
                flushes: server.syncs,
                device_flushes: server.device_flushes,
            },
            (None, None) => {
                let redo = row.redo();
                let padding = redo.redo_wastage_bytes;
                let audit = row.device().flush_audit.as_ref();
                LayerBytes {
                    commits: row.commits,
                    redo_bytes: redo.redo_size_bytes,
                    written_bytes: sum(redo.redo_size_bytes, padding),
                    written_is_computed: false,
                    device_bytes: row.device().device_written_bytes,
                    flushes: redo.flushes,
                    device_flushes: audit.and_then(|audit| audit.counted),
                }
            }
        };
        let layers = [found.redo_bytes, found.written_bytes, found.device_bytes];
        let is_known = layers.iter().any(Option::is_some) || found.flushes.is_some();
        is_known.then_some(found)
    }

    /// `count` for each commit; `None` without commits.
    #[must_use]
    pub fn per_commit(&self, count: Option<u64>) -> Option<f64> {
        ratio(count, self.commits)
    }

    /// Bytes written for each byte of redo.
    #[must_use]
    pub fn written_per_redo(&self) -> Option<f64> {
        ratio(self.written_bytes, self.redo_bytes)
    }

    /// Bytes that the device received for each byte of redo.
    #[must_use]
    pub fn device_per_redo(&self) -> Option<f64> {
        ratio(self.device_bytes, self.redo_bytes)
    }
}

/// What [`LayerBytes::device_bytes`] of the rows of a run are bytes of.
#[must_use]
pub fn device_words(run: &Run) -> &'static str {
    match run.rows.iter().any(|row| row.watched.is_some()) {
        true => "The log's files at the device",
        false => "Whole disk, all programs",
    }
}

/// Whether a server was asked in a row of the run what it counts.
#[must_use]
pub fn has_server(run: &Run) -> bool {
    run.rows.iter().any(|row| row.server.is_some())
}

fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    Some(a?.saturating_add(b?))
}

fn ratio(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    let whole = whole.filter(|whole| *whole > 0)?;
    Some(part? as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::run::{RedoFigures, ServerFigures};

    #[test]
    fn a_database_and_the_own_log_have_the_same_layers() {
        let server = Row {
            commits: Some(90),
            server: Some(ServerFigures {
                commits: Some(100),
                redo_lsn_bytes: Some(200_000),
                written_bytes: Some(1_000_000),
                syncs: Some(0),
                ..ServerFigures::default()
            }),
            ..Row::default()
        };
        let own = Row {
            commits: Some(90),
            redo: Some(RedoFigures {
                redo_size_bytes: Some(180_000),
                redo_wastage_bytes: Some(45_000),
                flushes: Some(90),
                ..RedoFigures::default()
            }),
            ..Row::default()
        };
        let server = LayerBytes::of(&server).expect("counted");
        assert_eq!(server.written_per_redo(), Some(5.0));
        assert_eq!(server.per_commit(server.redo_bytes), Some(2_000.0));
        assert_eq!((server.flushes, server.device_per_redo()), (Some(0), None));
        let own = LayerBytes::of(&own).expect("counted");
        assert_eq!(
            (own.written_bytes, own.written_per_redo()),
            (Some(225_000), Some(1.25))
        );
        assert_eq!(own.per_commit(own.flushes), Some(1.0));
        assert_eq!(LayerBytes::of(&Row::default()), None);
    }
}
