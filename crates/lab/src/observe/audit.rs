//! The flush audit: the flushes that the kernel counted beside those that the acknowledged writes
//! need.
//!
//! The count can only speak where the kernel keeps one and sends flushes at all, and it proves
//! most where nobody else used the device: another process's flushes could stand in for ours.

use super::diskstats::DiskStats;
use measure::run::{AuditStatus, FlushAudit, NfsRequests};

/// Flushes may be this share short of the need before they count as missing: counters are read a
/// moment before and after the row. 1 % (RELIABILITY L1 asks for any missing flush; a row has
/// thousands).
const SLACK: f64 = 0.99;
/// Flushes under way when the counters are read belong to one count and not to the other: this
/// many are no evidence, however short the row. A device that drops flushes drops more.
const EDGES: u64 = 4;
/// Device writes by others that still count as nobody, percent: the file system's own journal.
const ALONE_PCT: f64 = 1.0;

/// What the audit is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Durable completions that the log relied on, each needing a flush of its own.
    pub needed: u64,
    /// What the device counted in the same window; `None` where it could not be read (anonymous,
    /// network and FUSE file systems).
    pub counted: Option<DiskStats>,
    /// The counting began after the first writes that are needed.
    pub counts_late: bool,
    /// The kernel believes the device's cache volatile, and so passes flushes on.
    pub declares_cache: Option<bool>,
    /// The log's durable writes may go out as forced unit access, which no counter shows.
    pub may_use_fua: bool,
    /// Device writes by others, percent of all.
    pub background_pct: Option<f64>,
    /// Devices below the path; more than one (RAID) have no single count.
    pub devices: usize,
    /// What the NFS client sent in the same window, where the path is on NFS.
    pub nfs: Option<NfsRequests>,
}

/// Nothing can be said, and why.
fn unavailable(needed: u64, note: &str) -> FlushAudit {
    FlushAudit {
        status: AuditStatus::Unavailable,
        needed,
        counted: None,
        nfs: None,
        note: note.to_owned(),
    }
}

/// The audit's outcome.
#[must_use]
pub fn audit(evidence: &Evidence) -> FlushAudit {
    let found = of_counts(evidence);
    if found.status == AuditStatus::Missing && evidence.counts_late {
        let note = "this machine was so busy that the counters were read after the row had begun";
        return unavailable(evidence.needed, note);
    }
    found
}

fn of_counts(evidence: &Evidence) -> FlushAudit {
    let needed = evidence.needed;
    let unavailable = |note: &str| unavailable(needed, note);
    if let Some(sent) = evidence.nfs {
        return of_nfs(needed, sent);
    }
    if evidence.devices > 1 {
        return unavailable("several devices lie below the path; no single count covers a flush");
    }
    let Some(stats) = evidence.counted else {
        return unavailable("the kernel keeps no counters for this kind of target");
    };
    let Some(counted) = stats.flushes else {
        return unavailable("this kernel counts no flushes (before 5.5)");
    };
    if evidence.declares_cache == Some(false) {
        return unavailable(
            "the device declares no volatile cache (write through): the kernel sends no flushes",
        );
    }
    let within_edges = counted > 0 && counted + EDGES >= needed;
    let enough = counted as f64 >= needed as f64 * SLACK || within_edges;
    if !enough && evidence.may_use_fua {
        return unavailable(
            "durable writes may have gone out as forced unit access, which no counter shows",
        );
    }
    let (status, note) = match evidence.background_pct {
        _ if !enough => (
            AuditStatus::Missing,
            format!("{needed} flushes were needed, the kernel counted {counted}"),
        ),
        Some(others) if others <= ALONE_PCT => (
            AuditStatus::Verified,
            format!("no other process used the device (other writes: {others:.1} %)"),
        ),
        Some(others) => (
            AuditStatus::LowerBound,
            format!(
                "other processes wrote {others:.1} % of the device's bytes and may have flushed too"
            ),
        ),
        None => (
            AuditStatus::LowerBound,
            "whether other processes used the device could not be determined".to_owned(),
        ),
    };
    FlushAudit {
        status,
        needed,
        counted: Some(counted),
        nfs: None,
        note,
    }
}

/// On NFS data is durable by a COMMIT, or by a WRITE that asked for FILE_SYNC. The client counts
/// both requests and not what a WRITE asked for; what its server does with them it cannot know.
fn of_nfs(needed: u64, sent: NfsRequests) -> FlushAudit {
    let able = sent.commits + sent.writes;
    let enough =
        |counted: u64| counted + EDGES >= needed || counted as f64 >= needed as f64 * SLACK;
    let NfsRequests { writes, commits } = sent;
    let (status, how) = if !enough(able) {
        (AuditStatus::Missing, "fewer than were needed")
    } else if enough(commits) {
        (AuditStatus::LowerBound, "a COMMIT for each flush")
    } else {
        (
            AuditStatus::LowerBound,
            "fewer COMMIT than flushes, so WRITE must have asked for FILE_SYNC",
        )
    };
    FlushAudit {
        status,
        needed,
        counted: Some(able),
        nfs: Some(sent),
        note: format!(
            "{needed} flushes were needed, the NFS client sent {commits} COMMIT and {writes} WRITE: {how}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_an_nfs_client_bound_what_can_be_durable() {
        use AuditStatus::{LowerBound, Missing};
        for (commits, writes, status, word) in [
            (1000, 1000, LowerBound, "a COMMIT for each"),
            (0, 1000, LowerBound, "FILE_SYNC"),
            (10, 400, Missing, "fewer than were needed"),
        ] {
            let got = audit(&Evidence {
                needed: 1000,
                nfs: Some(NfsRequests { writes, commits }),
                ..Evidence::default()
            });
            assert_eq!((got.status, got.counted), (status, Some(commits + writes)));
            assert!(got.note.contains(word), "{}", got.note);
        }
    }

    fn flushes(counted: Option<u64>) -> Option<DiskStats> {
        Some(DiskStats {
            flushes: counted,
            ..DiskStats::default()
        })
    }

    #[test]
    fn what_each_evidence_is_worth() {
        let sound = Evidence {
            needed: 1000,
            counted: flushes(Some(1000)),
            counts_late: false,
            declares_cache: Some(true),
            may_use_fua: false,
            background_pct: Some(0.2),
            devices: 1,
            nfs: None,
        };
        let device = |evidence: &mut Evidence, n| evidence.counted = flushes(n);
        let busy = Some(7.0);
        use AuditStatus::{LowerBound, Missing, Unavailable, Verified};
        type Change<'a> = &'a dyn Fn(&mut Evidence);
        let table: [(&str, AuditStatus, Change<'_>); 19] = [
            ("sound", Verified, &|_| {}),
            ("a moment late", Verified, &|e| device(e, Some(990))),
            ("short", Missing, &|e| device(e, Some(989))),
            ("in flight at the ends", Verified, &|e| {
                e.needed = 16;
                device(e, Some(14));
            }),
            ("a short row without any", Missing, &|e| {
                e.needed = 3;
                device(e, Some(0));
            }),
            ("more than in flight", Missing, &|e| {
                e.needed = 100;
                device(e, Some(95));
            }),
            ("none", Missing, &|e| device(e, Some(0))),
            ("busy", LowerBound, &|e| e.background_pct = busy),
            ("unknown", LowerBound, &|e| e.background_pct = None),
            ("busy and short", Missing, &|e| {
                e.background_pct = busy;
                device(e, Some(10));
            }),
            ("short, and read late", Unavailable, &|e| {
                e.counts_late = true;
                device(e, Some(713));
            }),
            ("read late, with all of it", Verified, &|e| {
                e.counts_late = true
            }),
            ("network", Unavailable, &|e| e.counted = None),
            ("old kernel", Unavailable, &|e| device(e, None)),
            ("write through", Unavailable, &|e| {
                e.declares_cache = Some(false)
            }),
            ("forced unit access", Unavailable, &|e| {
                e.may_use_fua = true;
                device(e, Some(0));
            }),
            ("it was not used", Verified, &|e| e.may_use_fua = true),
            ("raid", Unavailable, &|e| e.devices = 2),
            ("nothing needed", Verified, &|e| e.needed = 0),
        ];
        for (what, status, change) in table {
            let mut evidence = sound;
            change(&mut evidence);
            let got = audit(&evidence);
            assert_eq!(got.status, status, "{what}: {}", got.note);
            assert_eq!(got.counted.is_none(), status == Unavailable, "{what}");
            assert!(!got.note.is_empty() && got.needed == evidence.needed);
        }
    }
}
