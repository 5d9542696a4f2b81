//! What a server's acknowledgement of a commit means: by the settings that it reports, and by its
//! counts only where these must exist.
//!
//! Invariants: a server is convicted by what it reports of itself. No count convicts a server whose
//! writes are durable by themselves (it counts no flushes), nor a device without a volatile cache
//! (it receives none); the flush audit is in `flush`.

use super::catalogue;
use super::note::Note;
use super::{Bad, Caution, Good, Info};
use crate::rows::name_of;
use measure::run::{DatabaseFacts, Row, Run, TargetFacts, WorkloadInfo};
use measure::workload::CommitWait;

/// Flushes may be this share short, and so many, as in the flush audit.
const SLACK: f64 = 0.99;
const EDGES: f64 = 4.0;
/// Methods under which the server flushes by a call of its own, which it counts.
const COUNTED_METHODS: [&str; 3] = ["fsync", "fdatasync", "fsync_writethrough"];

pub(super) fn collect(run: &Run, notes: &mut Vec<Note>) {
    let TargetFacts::Database(facts) = &run.target.facts else {
        return;
    };
    let before = notes.len();
    no_flush(facts, notes);
    late_flush(facts, notes);
    local_commit(facts, notes);
    if notes.len() == before {
        acknowledgement(facts, notes);
        flushes_missing(run, facts, notes);
    }
    statistics(run, notes);
}

fn setting<'a>(facts: &'a DatabaseFacts, name: &str) -> Option<&'a str> {
    facts.settings.get(name).map(String::as_str)
}

fn no_flush(facts: &DatabaseFacts, notes: &mut Vec<Note>) {
    for (name, value) in [("fsync", "off"), ("innodb_flush_method", "nosync")] {
        let found = setting(facts, name).is_some_and(|found| found.eq_ignore_ascii_case(value));
        if found {
            let claim = format!(
                "{name} = {value}: {} does not flush its log; a power failure loses acknowledged commits and can corrupt the database.",
                facts.product
            );
            notes.push(Note::of(&catalogue::SERVER_NO_FLUSH, Bad, claim));
        }
    }
}

fn late_flush(facts: &DatabaseFacts, notes: &mut Vec<Note>) {
    for (name, values, what) in [
        (
            "synchronous_commit",
            &["off"][..],
            "a crash of the server loses",
        ),
        (
            "innodb_flush_log_at_trx_commit",
            &["0", "2"],
            "a power failure loses",
        ),
    ] {
        let found = setting(facts, name);
        if let Some(value) = found.filter(|value| values.contains(value)) {
            let claim = format!(
                "{name} = {value}: {} acknowledges a commit before it flushes its log; {what} the last acknowledged commits.",
                facts.product
            );
            notes.push(Note::of(&catalogue::SERVER_LATE_FLUSH, Bad, claim));
        }
    }
}

/// Without standbys a local commit is all there is.
fn local_commit(facts: &DatabaseFacts, notes: &mut Vec<Note>) {
    let standbys = setting(facts, "synchronous_standby_names").unwrap_or_default();
    if setting(facts, "synchronous_commit") == Some("local") && !standbys.is_empty() {
        let claim = "synchronous_commit = local: a commit is acknowledged when it is durable on this server, without waiting for the synchronous standbys.";
        notes.push(Note::of(&catalogue::SERVER_LOCAL_COMMIT, Caution, claim));
    }
}

/// What an honest server does.
fn acknowledgement(facts: &DatabaseFacts, notes: &mut Vec<Note>) {
    let opened = facts.log_open_flags.as_ref();
    let opened = opened.map_or_else(String::new, |flags| {
        format!(" The server has opened its log with {flags}.")
    });
    let claim = match setting(facts, "wal_sync_method") {
        Some(method) if method.starts_with("open_") => format!(
            "Each commit waits for a write that is durable by itself (wal_sync_method = {method}); the server counts no flushes under this method.{opened}"
        ),
        Some(method) => format!(
            "Each commit waits until the server has flushed its log (wal_sync_method = {method}).{opened}"
        ),
        None => match setting(facts, "innodb_flush_log_at_trx_commit") {
            Some(value @ ("1" | "3")) => format!(
                "Each commit waits until the server has flushed its log (innodb_flush_log_at_trx_commit = {value}).{opened}"
            ),
            _ => return,
        },
    };
    notes.push(Note::of(&catalogue::SERVER_ACKNOWLEDGEMENT, Good, claim));
}

/// Each commit of the row makes redo, and its session waits for it. Of other transactions, as those
/// that only read, no flush can be asked for.
fn waits(run: &Run, row: &Row) -> bool {
    let WorkloadInfo::Redo(workload) = &run.workload else {
        return false;
    };
    let mode = workload.commit_write.get(&row.workload);
    let makes_redo = row.redo_bytes_per_txn.is_some_and(|bytes| bytes > 0);
    makes_redo && mode.is_some_and(|mode| mode.wait == CommitWait::Wait)
}

/// A session's commit returns after a flush that began after its request, so the commits of one
/// session need a flush each; the least busy count is that of equal sessions.
fn flushes_missing(run: &Run, facts: &DatabaseFacts, notes: &mut Vec<Note>) {
    let method = setting(facts, "wal_sync_method");
    if !method.is_some_and(|method| COUNTED_METHODS.contains(&method)) {
        return;
    }
    let short = run
        .rows
        .iter()
        .filter(|row| waits(run, row))
        .find_map(|row| {
            let (syncs, commits) = (row.server().syncs?, row.server().commits?);
            let needed = commits as f64 / f64::from(row.jobs.max(1));
            let is_short = (syncs as f64) < needed * SLACK && (syncs as f64) + EDGES < needed;
            is_short.then_some((row, syncs, commits, needed))
        });
    if let Some((row, syncs, commits, needed)) = short {
        let claim = format!(
            "{} counted {syncs} flushes of its log for {commits} acknowledged commits of {}: at least {needed:.0} are needed.",
            facts.product,
            name_of(row)
        );
        notes.push(
            Note::of(&catalogue::SERVER_FLUSHES_MISSING, Bad, claim)
                .number("flushes", syncs as f64)
                .number("commits", commits as f64)
                .number("needed", needed),
        );
    }
}

fn statistics(run: &Run, notes: &mut Vec<Note>) {
    let noted = run.rows.iter().filter(|row| !row.server().notes.is_empty());
    let Some(first) = noted.clone().next() else {
        return;
    };
    let claim = format!(
        "Counts of the server are missing ({}): {}.",
        name_of(first),
        first.server().notes.join("; ")
    );
    let note = Note::of(&catalogue::SERVER_STATISTICS, Info, claim);
    notes.push(note.number("rows", noted.count() as f64));
}

#[cfg(test)]
mod tests {
    use crate::findings::findings;
    use crate::findings::fixture::clean_run;
    use crate::thresholds::Thresholds;
    use measure::judgement::{Finding, Weight};
    use measure::run::{
        DatabaseFacts, RedoWorkload, Run, ServerFigures, TargetFacts, WorkloadInfo,
    };
    use measure::workload::CommitMode;

    const HEALTHY: [(&str, &str); 4] = [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("synchronous_standby_names", ""),
        ("wal_sync_method", "fdatasync"),
    ];

    /// A run of a server with these settings instead of healthy ones, in which each commit of one
    /// session had its flush.
    fn server(changes: &[(&str, &str)]) -> Run {
        let mut run = clean_run();
        let settings = HEALTHY.iter().chain(changes);
        let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        run.target.facts = TargetFacts::Database(DatabaseFacts {
            product: "PostgreSQL".to_owned(),
            version: "15.18".to_owned(),
            settings: settings.collect(),
            ..DatabaseFacts::default()
        });
        let mut workload = RedoWorkload::default();
        for row in &mut run.rows {
            let mode = (row.workload.clone(), CommitMode::WAIT_IMMEDIATE);
            workload.commit_write.extend([mode]);
            row.redo_bytes_per_txn = Some(1_997);
            row.server = Some(ServerFigures {
                commits: Some(1_000 * u64::from(row.jobs)),
                syncs: Some(1_000),
                ..ServerFigures::default()
            });
        }
        run.workload = WorkloadInfo::Redo(workload);
        run
    }

    fn of_server(run: &Run) -> Vec<Finding> {
        let all = findings(run, &Thresholds::default());
        all.into_iter()
            .filter(|f| f.id.starts_with("server."))
            .collect()
    }

    fn ids(run: &Run) -> Vec<(String, Weight)> {
        of_server(run)
            .into_iter()
            .map(|f| (f.id, f.weight))
            .collect()
    }

    fn set_syncs(run: &mut Run, syncs: u64) {
        for row in &mut run.rows {
            row.server.get_or_insert_default().syncs = Some(syncs);
        }
    }

    #[test]
    fn healthy_servers_are_not_convicted() {
        let good = vec![("server.acknowledgement".to_owned(), Weight::Good)];
        for changes in [
            &[][..],
            &[("wal_sync_method", "fsync")],
            &[("synchronous_commit", "remote_apply")],
            // Without standbys there is nobody to wait for.
            &[("synchronous_commit", "local")],
            // As configured, not a finding.
            &[
                ("synchronous_commit", "remote_write"),
                ("synchronous_standby_names", "a"),
            ],
            &[("innodb_flush_log_at_trx_commit", "1")],
            &[("innodb_flush_log_at_trx_commit", "3")],
        ] {
            assert_eq!(ids(&server(changes)), good, "{changes:?}");
        }
    }

    /// Tried: 200 durable commits, and `wal_sync` stayed 0.
    #[test]
    fn zero_flushes_convict_nobody_whose_writes_are_durable_by_themselves() {
        for method in ["open_datasync", "open_sync"] {
            let mut run = server(&[("wal_sync_method", method)]);
            set_syncs(&mut run, 0);
            let found = of_server(&run);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].weight, Weight::Good);
            assert!(found[0].claim.contains("counts no flushes"), "{found:?}");
        }
        // Nor one whose method is not known, nor one that counts nothing.
        let mut run = server(&[("wal_sync_method", "something_new")]);
        set_syncs(&mut run, 0);
        assert_eq!(ids(&run).len(), 1);
        let mut run = server(&[]);
        for row in &mut run.rows {
            row.server.get_or_insert_default().syncs = None;
        }
        assert_eq!(ids(&run).len(), 1);
    }

    #[test]
    fn servers_that_do_not_flush_are_convicted_by_their_settings() {
        for (changes, id, weight) in [
            (&[("fsync", "off")][..], "server.no_flush", Weight::Bad),
            (
                &[("innodb_flush_method", "nosync")],
                "server.no_flush",
                Weight::Bad,
            ),
            (
                &[("synchronous_commit", "off")],
                "server.late_flush",
                Weight::Bad,
            ),
            (
                &[("innodb_flush_log_at_trx_commit", "2")],
                "server.late_flush",
                Weight::Bad,
            ),
            (
                &[("innodb_flush_log_at_trx_commit", "0")],
                "server.late_flush",
                Weight::Bad,
            ),
            (
                &[
                    ("synchronous_commit", "local"),
                    ("synchronous_standby_names", "a"),
                ],
                "server.local_commit",
                Weight::Caution,
            ),
        ] {
            let mut run = server(changes);
            set_syncs(&mut run, 0);
            // The settings explain the counts: one conviction is enough.
            assert_eq!(ids(&run), [(id.to_owned(), weight)], "{changes:?}");
        }
    }

    #[test]
    fn a_healthy_mariadb_has_its_good_finding() {
        for (value, good) in [("1", true), ("3", true), ("7", false)] {
            let mut run = server(&[]);
            let settings = [("innodb_flush_log_at_trx_commit", value)];
            if let TargetFacts::Database(facts) = &mut run.target.facts {
                facts.settings = settings.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
            }
            let found = of_server(&run);
            assert_eq!(found.len(), usize::from(good), "{value}: {found:?}");
            assert!(
                found
                    .iter()
                    .all(|f| f.claim.contains(&format!("= {value})")))
            );
        }
    }

    #[test]
    fn flushes_that_must_be_counted_and_are_not_convict() {
        for (syncs, convicts) in [(1_000, false), (990, false), (989, true), (0, true)] {
            let mut run = server(&[]);
            set_syncs(&mut run, syncs);
            let found = of_server(&run);
            let missing = found.iter().find(|f| f.id == "server.flushes_missing");
            assert_eq!(missing.is_some(), convicts, "{syncs}: {found:?}");
            assert!(missing.is_none_or(|f| f.weight == Weight::Bad));
        }
        for method in ["fsync", "fdatasync", "fsync_writethrough"] {
            let mut run = server(&[("wal_sync_method", method)]);
            set_syncs(&mut run, 0);
            let missing = ("server.flushes_missing".to_owned(), Weight::Bad);
            assert!(ids(&run).contains(&missing), "{method}");
        }
        // Of transactions that wait for nothing, or make no redo, none is needed.
        for change in [
            |run: &mut Run| run.workload = WorkloadInfo::Unknown,
            |run: &mut Run| {
                run.rows
                    .iter_mut()
                    .for_each(|row| row.redo_bytes_per_txn = Some(0))
            },
        ] {
            let mut run = server(&[]);
            set_syncs(&mut run, 0);
            change(&mut run);
            assert_eq!(ids(&run).len(), 1);
        }
        // A few commits more than flushes at the ends of a short row are no evidence.
        let mut run = server(&[]);
        for row in &mut run.rows {
            let figures = row.server.get_or_insert_default();
            (figures.commits, figures.syncs) = (Some(10 * u64::from(row.jobs)), Some(6));
        }
        assert_eq!(ids(&run).len(), 1);
    }

    #[test]
    fn what_could_not_be_read_is_reported_and_convicts_nobody() {
        let mut run = server(&[]);
        let figures = run.rows[0].server.get_or_insert_default();
        figures.syncs = None;
        figures.notes = vec!["the server restarted or reset its statistics meanwhile".to_owned()];
        let found = of_server(&run);
        let last = found
            .iter()
            .find(|f| f.id == "server.statistics")
            .expect("it is said");
        assert_eq!((found.len(), last.weight), (2, Weight::Info));
        assert!(
            last.claim.contains("reset its statistics"),
            "{}",
            last.claim
        );
    }
}
