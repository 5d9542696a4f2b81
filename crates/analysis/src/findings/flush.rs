//! What becomes of flushes: the flush audit, and whether a flush takes longer with more to flush.

use super::catalogue;
use super::disk::disks;
use super::mounts::is_dax;
use super::note::Note;
use super::protection::is_protected;
use super::{Bad, Caution, Good, Info};
use crate::format;
use crate::rows::name_of;
use crate::thresholds::Thresholds;
use measure::run::{AuditStatus, FloorRow, FlushAudit, NfsRequests, Row, Run};
use measure::stack::{Layer, LayerKind};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    audit(run, notes);
    // A buffered flush also carries the data: it takes time on any medium. After direct writes only
    // a cache is emptied, and one that needs no emptying is no suspect.
    let stack = &run.target.stack;
    let has_disks = disks(stack).next().is_some();
    let kept = has_disks && disks(stack).all(|d| is_protected(stack, d));
    let suspects_direct = stack.hypervisor.is_some() || (has_disks && !kept);
    let _ = fast(run, t, notes)
        || flat(run, "buffered", t, notes)
        || (suspects_direct && flat(run, "direct", t, notes));
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
    let note = worst.1.note.trim_end_matches('.');
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
            format!("The kernel counts no flushes for this target: {note}."),
        ),
        AuditStatus::Missing if kernel_suppresses => (
            &catalogue::DURABILITY_NO_FLUSHES_SENT,
            Caution,
            "The kernel sent fewer flushes than were requested, because it treats the disk as write-through: durability depends on that setting alone.".to_owned(),
        ),
        AuditStatus::Missing => (
            &catalogue::VALIDITY_FLUSHES_MISSING,
            Bad,
            format!("The kernel counted fewer flushes than the acknowledged writes need ({}): {note}.", name_of(worst.0)),
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

/// How the kernel has to make writes durable on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sends {
    /// It sends a flush: the cache is a write-back cache, or is not known.
    Flush,
    /// It sends none: the write itself is durable (write-through caches, DAX, servers).
    WriteOnly,
}

/// `None` for targets without a medium, of which other findings say so.
fn sends(run: &Run) -> Option<Sends> {
    use LayerKind as K;
    let stack = &run.target.stack;
    let of_kind = |kinds: &[LayerKind]| stack.layers.iter().any(|l| kinds.contains(&l.kind));
    if run.target.kind == "null" || of_kind(&[K::MemoryFileSystem, K::Zram, K::RamDisk]) {
        return None;
    }
    let writes_through =
        |l: &Layer| l.write_cache.as_deref() == Some("write through") || behind_dax(l);
    let by_itself = match disks(stack).next() {
        Some(_) => disks(stack).all(writes_through) || stack.layers.iter().any(is_dax),
        // A server may make a direct write durable before it answers.
        None => of_kind(&[K::NetworkFileSystem]),
    };
    Some(match by_itself {
        true => Sends::WriteOnly,
        false => Sends::Flush,
    })
}

/// Persistent memory is flushed by the processor.
fn behind_dax(disk: &Layer) -> bool {
    disk.detail.as_deref() == Some("pmem")
}

/// Timed flushes: whose, the mean write before one, and its own mean, nanoseconds. Where a write
/// is durable by itself nothing is flushed behind it, and no flush was timed.
fn timed_flushes(run: &Run) -> Vec<(String, f64, f64)> {
    let mut out: Vec<(String, f64, f64)> = Vec::new();
    for f in run.floor.iter().filter(|f| f.pre_written) {
        out.push((f.sync_method.clone(), f.write_mean_ns, f.flush_mean_ns));
    }
    for row in &run.rows {
        if let Some(flush) = row.watched.as_ref().and_then(|w| w.flush.as_ref()) {
            let write = row.watched.as_ref().and_then(|w| w.write_call.as_ref());
            let write_ns = write.map_or(0.0, |w| w.mean_ns);
            out.push(("the watched log".to_owned(), write_ns, flush.mean_ns));
        }
        if let Some(server) = &row.server
            && let Some(sync_ms) = server.sync_ms
        {
            let write_ns = server.write_ms.unwrap_or(0.0) * 1e6;
            out.push(("the server's log".to_owned(), write_ns, sync_ms * 1e6));
        }
    }
    out.retain(|(_, _, flush_ns)| *flush_ns > 0.0);
    out
}

/// Says so, and `true`, where flushes end sooner than a device can carry them out.
fn fast(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) -> bool {
    let Some(sends) = sends(run) else {
        return false;
    };
    let time = |(_, write_ns, flush_ns): &(String, f64, f64)| match sends {
        Sends::Flush => *flush_ns,
        Sends::WriteOnly => write_ns + flush_ns,
    };
    let timed = timed_flushes(run);
    let fastest = timed.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
    let Some(fastest) = fastest else {
        return false;
    };
    let (ns, limit) = (time(fastest), &t.flush_floor_us);
    if ns >= limit.value * 1e3 {
        return false;
    }
    let what = match sends {
        Sends::Flush => {
            "A flush takes {time} ({method}), although the kernel has to send the device one"
        }
        Sends::WriteOnly => "A write with its flush takes {time} ({method})",
    };
    let what = what
        .replace("{time}", &format::latency(ns))
        .replace("{method}", &fastest.0);
    let claim = format!(
        "{what}: no device answers that fast, so something drops flushes, and acknowledged commits may be lost."
    );
    notes.push(
        Note::of(&catalogue::DURABILITY_FAST_FLUSH, Caution, claim)
            .number("flush_us", ns / 1e3)
            .limit(format!("under {} us", format::digits(limit.value)), limit),
    );
    true
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
