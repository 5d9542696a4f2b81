//! The server of a row's target: its counts once all sessions are open, before their first commit,
//! and after the last one has ended, and what sessions waited for in between.
//!
//! Invariants: a server that does not answer here fails no row: what could not be read is unknown,
//! and the row holds why. The counters of the device are read at the same moments as the server's,
//! so that bytes of all layers are of one stretch of time.

use super::Lab;
use super::collected::Collected;
use super::waits::harmless;
use crate::observe::audit::{Evidence, audit};
use crate::observe::diskstats::DiskStats;
use measure::driver::ServerCounts;
use measure::record::{Observations, ServerRecord, ServerTotals, TimeWindow};
use measure::run::{DatabaseFacts, FlushAudit, TargetFacts};
use measure::{Clock, Nanos};
use std::time::{Duration, Instant};

/// How often an interrupt is looked for while statistics are waited for.
const LOOK: Duration = Duration::from_millis(20);

/// A reading of a server and of the device of its log.
pub(super) struct ServerReading {
    at: Nanos,
    counts: Result<ServerCounts, String>,
    disk: Option<DiskStats>,
}

impl ServerReading {
    /// Here and now; `None` of a target that is not a server.
    pub(super) fn now(lab: &Lab<'_>) -> Option<ServerReading> {
        let driver = &lab.target.driver;
        let counts = driver.server_counts().map_err(harmless).transpose()?;
        Some(ServerReading {
            at: driver.clock().now(),
            counts,
            disk: lab.sampler.disk(),
        })
    }

    /// After the row that began with this reading, once the server's statistics have arrived.
    pub(super) fn after(&self, lab: &Lab<'_>) -> Option<ServerReading> {
        let until = Instant::now() + lab.target.driver.statistics_delay();
        while self.counts.is_ok() && Instant::now() < until && !lab.interrupt.requested() {
            std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
        }
        ServerReading::now(lab)
    }
}

/// What is known of the server between two readings around the row.
pub(super) fn record(
    before: &ServerReading,
    after: Option<ServerReading>,
    all: &Collected,
) -> ServerRecord {
    let mut made = ServerRecord {
        waits: all.waits.samples.clone(),
        ..ServerRecord::default()
    };
    made.notes.extend(all.waits.note.clone());
    let after = after.unwrap_or(ServerReading {
        at: before.at,
        counts: Err("the target is not a server any more".to_owned()),
        disk: None,
    });
    let (first, last) = match (&before.counts, &after.counts) {
        (Ok(first), Ok(last)) => (first, last),
        (Err(why), _) | (_, Err(why)) => {
            made.notes.insert(format!("counts: {why}"));
            return made;
        }
    };
    let grown = last.since(first);
    made.notes.extend(grown.note);
    made.commits = grown.commits;
    let observed_ns = after.at.since(before.at).0;
    let disk = after
        .disk
        .zip(before.disk)
        .map(|(now, then)| now.since(&then));
    let totals = ServerTotals {
        observed_ns,
        device_writes: disk.map(|disk| disk.data_writes()),
        device_written_bytes: disk.map(|disk| disk.written_bytes()),
        device_flushes: disk.and_then(|disk| disk.flushes),
        ..grown.totals
    };
    let window = TimeWindow::of(all.utc_ns(before.at), observed_ns);
    made.counts = Observations::one(&last.server, window, totals);
    made
}

/// The flushes that a server needed and those that its device executed; `None` where the server
/// promises none, or the device is not known to need any.
pub(super) fn flush_audit(lab: &Lab<'_>, record: &ServerRecord) -> Option<FlushAudit> {
    let TargetFacts::Database(facts) = lab.target.driver.facts() else {
        return None;
    };
    let totals = record.counts.sum()?;
    if lab.declares_cache != Some(true) {
        return None;
    }
    let needed = needed(&facts, &totals)?;
    Some(audit(&Evidence {
        needed,
        counted: totals.device_flushes.map(|flushes| DiskStats {
            flushes: Some(flushes),
            ..DiskStats::default()
        }),
        // They are read before sessions begin.
        counts_late: false,
        declares_cache: lab.declares_cache,
        may_use_fua: is_durable_by_writing(&facts),
        background_pct: None,
        devices: lab.devices,
        nfs: None,
    }))
}

/// Flushes of the device that the server's own count needs: each flush that it asked for, or each
/// write that is durable by itself.
fn needed(facts: &DatabaseFacts, totals: &ServerTotals) -> Option<u64> {
    let count = match is_durable_by_writing(facts) {
        true => totals.writes,
        false => totals.syncs,
    };
    count.filter(|count| *count > 0)
}

fn is_durable_by_writing(facts: &DatabaseFacts) -> bool {
    let method = facts.settings.get("wal_sync_method");
    let flags = facts.log_open_flags.as_deref().unwrap_or_default();
    method.is_some_and(|method| method.starts_with("open_")) || flags.contains("SYNC")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(method: &str, flags: Option<&str>) -> DatabaseFacts {
        DatabaseFacts {
            settings: [("wal_sync_method".to_owned(), method.to_owned())].into(),
            log_open_flags: flags.map(str::to_owned),
            ..DatabaseFacts::default()
        }
    }

    #[test]
    fn a_server_needs_the_flushes_that_its_method_makes() {
        let totals = ServerTotals {
            writes: Some(200),
            syncs: Some(0),
            ..ServerTotals::default()
        };
        assert_eq!(needed(&facts("open_datasync", None), &totals), Some(200));
        assert_eq!(
            needed(&facts("x", Some("O_RDWR|O_DSYNC")), &totals),
            Some(200)
        );
        // Nothing is promised, or nothing is counted.
        assert_eq!(needed(&facts("fdatasync", Some("O_RDWR")), &totals), None);
        let unknown = ServerTotals::default();
        assert_eq!(needed(&facts("fdatasync", None), &unknown), None);
        let synced = ServerTotals {
            syncs: Some(190),
            ..totals
        };
        assert_eq!(needed(&facts("fdatasync", None), &synced), Some(190));
    }
}
