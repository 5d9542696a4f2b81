//! What becomes of flushes: the flush audit, and whether a flush takes longer with more to flush.

use super::catalogue;
use super::disk::disks;
use super::note::Note;
use super::protection::is_protected;
use super::{Bad, Caution, Good, Info};
use crate::format;
use crate::rows::name_of;
use crate::thresholds::Thresholds;
use measure::run::{AuditStatus, FloorRow, FlushAudit, NfsRequests, Row, Run};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    audit(run, notes);
    // A buffered flush also carries the data: it takes time on any medium. After direct writes only
    // a cache is emptied, and one that needs no emptying is no suspect.
    let stack = &run.target.stack;
    let has_disks = disks(stack).next().is_some();
    let kept = has_disks && disks(stack).all(|d| is_protected(stack, d));
    let suspects_direct = stack.hypervisor.is_some() || (has_disks && !kept);
    let _ = flat(run, "buffered", t, notes) || (suspects_direct && flat(run, "direct", t, notes));
}

fn audit(run: &Run, notes: &mut Vec<Note>) {
    let audits: Vec<(&Row, &FlushAudit)> = run
        .rows
        .iter()
        .filter_map(|r| Some((r, r.device().flush_audit.as_ref()?)))
        .collect();
    let Some(worst) = audits.iter().max_by_key(|(_, a)| rank(a.status)) else {
        return;
    };
    let status = worst.1.status;
    let needed: u64 = audits.iter().map(|(_, a)| a.needed).sum();
    let counted = audits.iter().map(|(_, a)| a.counted).sum::<Option<u64>>();
    let nfs = of_nfs(&audits);
    let kernel_suppresses = disks(&run.target.stack).any(|d| {
        d.write_cache.as_deref() == Some("write through") && d.drive_write_cache != Some(true)
    });
    let (entry, weight, claim) = match status {
        AuditStatus::Verified => (
            &catalogue::FLUSH_AUDIT,
            Good,
            "The kernel counted the flushes that the acknowledged writes need, and no other process used the device.".to_owned(),
        ),
        AuditStatus::LowerBound if nfs.is_some() => (
            &catalogue::FLUSH_AUDIT,
            Info,
            "The client sent at least as many COMMIT and WRITE requests as the acknowledged writes need; whether its server made them durable cannot be seen from here.".to_owned(),
        ),
        AuditStatus::LowerBound => (
            &catalogue::FLUSH_AUDIT,
            Info,
            "The kernel counted enough flushes, but other processes used the device too: some of the flushes may be theirs.".to_owned(),
        ),
        AuditStatus::Unavailable => (
            &catalogue::FLUSH_AUDIT,
            Info,
            format!("The kernel counts no flushes for this target: {}", worst.1.note),
        ),
        AuditStatus::Missing if kernel_suppresses => (
            &catalogue::DURABILITY_NO_FLUSHES_SENT,
            Caution,
            "The kernel sent fewer flushes than were requested, because it treats the disk as write-through: durability depends on that setting alone.".to_owned(),
        ),
        AuditStatus::Missing => (
            &catalogue::VALIDITY_FLUSHES_MISSING,
            Bad,
            format!("The kernel counted fewer flushes than the acknowledged writes need ({}): {}", name_of(worst.0), worst.1.note),
        ),
    };
    notes.push(
        Note::of(entry, weight, claim)
            .number("flushes_needed", needed as f64)
            .maybe("flushes_counted", counted.map(|c| c as f64))
            .maybe("nfs_commits", nfs.map(|n| n.commits as f64))
            .maybe("nfs_writes", nfs.map(|n| n.writes as f64)),
    );
}

/// What the NFS client sent in all rows together.
fn of_nfs(audits: &[(&Row, &FlushAudit)]) -> Option<NfsRequests> {
    let counts = audits.iter().filter_map(|(_, audit)| audit.nfs);
    counts.reduce(|a, b| NfsRequests {
        writes: a.writes + b.writes,
        commits: a.commits + b.commits,
    })
}

fn rank(status: AuditStatus) -> u8 {
    match status {
        AuditStatus::Verified => 0,
        AuditStatus::LowerBound => 1,
        AuditStatus::Unavailable => 2,
        AuditStatus::Missing => 3,
    }
}

/// Says so, and `true`, where a flush takes hardly longer with far more to make durable: something
/// answers before the medium has it. In `direct` the data is in the device's cache by then.
fn flat(run: &Run, method: &str, t: &Thresholds, notes: &mut Vec<Note>) -> bool {
    let rows: Vec<&FloorRow> = run
        .floor
        .iter()
        .filter(|f| f.sync_method == method && f.flush_mean_ns > 0.0 && f.write_bytes > 0)
        .filter(|f| f.pre_written)
        .collect();
    let (Some(small), Some(large)) = (
        rows.iter().min_by_key(|f| f.write_bytes),
        rows.iter().max_by_key(|f| f.write_bytes),
    ) else {
        return false;
    };
    let span = large.write_bytes as f64 / small.write_bytes as f64;
    let growth = large.flush_mean_ns / small.flush_mean_ns;
    let limit = &t.flush_growth_ratio;
    if span < t.flush_growth_span.value || growth >= limit.value {
        return false;
    }
    notes.push(
        Note::of(
            &catalogue::DURABILITY_FLAT_FLUSH,
            Caution,
            format!(
                "A flush after {} of {method} writes takes {}, a flush after {} takes {}: a flush that takes no longer for more data may be acknowledged before the data is on the medium.",
                format::bytes(small.write_bytes),
                format::latency(small.flush_mean_ns),
                format::bytes(large.write_bytes),
                format::latency(large.flush_mean_ns),
            ),
        )
        .number("growth", growth)
        .number("small_flush_ms", small.flush_mean_ns / 1e6)
        .number("large_flush_ms", large.flush_mean_ns / 1e6)
        .limit(
            format!(
                "less than {} times over {} times the data",
                limit.value,
                format::digits(span)
            ),
            limit,
        ),
    );
    true
}
