//! What a server's acknowledgement of a commit means: by the settings that it reports, and by its
//! counts only where these must exist.
//!
//! Invariants: a server is convicted by what it reports of itself. No count convicts a server whose
//! writes are durable by themselves (it counts no flushes), nor a device without a volatile cache
//! (it receives none); the flush audit is in `flush`, and what convicts a log that is watched in
//! `watched_log`.

use super::catalogue;
use super::disk::disks;
use super::note::Note;
use super::{Bad, Caution, Good, Info, watched_log};
use crate::format;
use crate::rows::name_of;
use crate::thresholds::Thresholds;
use measure::run::{DatabaseFacts, Row, Run, ScopedSetting, TargetFacts, WorkloadInfo};
use measure::stack::{LayerKind, Stack};
use measure::workload::CommitWait;
use std::collections::BTreeMap;

/// Flushes may be this share short, and so many, as in the flush audit.
const SLACK: f64 = 0.99;
const EDGES: f64 = 4.0;
/// Methods under which the server flushes by a call of its own, which it counts.
const COUNTED_METHODS: [&str; 3] = ["fsync", "fdatasync", "fsync_writethrough"];
/// Bytes of a page of PostgreSQL, and of InnoDB where its setting is not known.
const POSTGRES_PAGE: u64 = 8192;
const INNODB_PAGE: u64 = 16_384;

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let before = notes.len();
    watched_log::collect(run, t, notes);
    let Some(server) = ReportedServer::of(&run.target.facts) else {
        return;
    };
    no_flush(&server, notes);
    late_flush(&server, notes);
    scoped_late_flush(&server, notes);
    local_commit(&server, notes);
    binlog_not_flushed(&server, notes);
    if notes.len() == before {
        acknowledgement(&server, notes);
        if let TargetFacts::Database(facts) = &run.target.facts {
            flushes_missing(run, facts, notes);
        }
    }
    torn_pages(&server, &run.target.stack, notes);
    statistics(run, notes);
}

/// A server by what it reports of itself.
struct ReportedServer<'a> {
    product: &'a str,
    settings: &'a BTreeMap<String, String>,
    /// Of a watched one: values at the end of settings that changed, settings of roles and
    /// databases, and that others commit, who can set their own.
    watched: Option<(&'a BTreeMap<String, String>, &'a [ScopedSetting])>,
    open_flags: String,
}

impl<'a> ReportedServer<'a> {
    /// `None` where no server was asked.
    fn of(facts: &'a TargetFacts) -> Option<ReportedServer<'a>> {
        match facts {
            TargetFacts::Database(facts) => Some(ReportedServer {
                product: &facts.product,
                settings: &facts.settings,
                watched: None,
                open_flags: facts.log_open_flags.clone().unwrap_or_default(),
            }),
            TargetFacts::Watched(log) => {
                let is_known = !log.settings.is_empty() || !log.changed_settings.is_empty();
                is_known.then(|| ReportedServer {
                    product: &log.product,
                    settings: &log.settings,
                    watched: Some((&log.changed_settings, &log.scoped_settings)),
                    open_flags: log.open_flags.join(", "),
                })
            }
            _ => None,
        }
    }

    fn setting(&self, name: &str) -> Option<&'a str> {
        self.settings.get(name).map(String::as_str)
    }

    /// `name = value` where that is one of `values`, at the beginning or at the end.
    fn has(&self, name: &str, values: &[&str]) -> Option<String> {
        let first = self.setting(name);
        let last = self.watched.and_then(|(changed, _)| changed.get(name));
        let last = last.map(String::as_str);
        let is_meant = |found: &&str| values.iter().any(|value| found.eq_ignore_ascii_case(value));
        match (first.filter(is_meant), last.filter(is_meant)) {
            (Some(value), _) if last.is_some() => {
                Some(format!("{name} = {value} (changed while it was watched)"))
            }
            (Some(value), _) => Some(format!("{name} = {value}")),
            (None, Some(value)) => Some(format!("{name} = {value} (set while it was watched)")),
            (None, None) => None,
        }
    }
}

fn setting<'a>(facts: &'a DatabaseFacts, name: &str) -> Option<&'a str> {
    facts.settings.get(name).map(String::as_str)
}

fn no_flush(server: &ReportedServer<'_>, notes: &mut Vec<Note>) {
    for (name, value) in [("fsync", "off"), ("innodb_flush_method", "nosync")] {
        if let Some(found) = server.has(name, &[value]) {
            let claim = format!(
                "{found}: {} does not flush its log; a power failure loses acknowledged commits and can corrupt the database.",
                server.product
            );
            notes.push(Note::of(&catalogue::SERVER_NO_FLUSH, Bad, claim));
        }
    }
}

fn late_flush(server: &ReportedServer<'_>, notes: &mut Vec<Note>) {
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
        if let Some(found) = server.has(name, values) {
            let claim = format!(
                "{found}: {} acknowledges a commit before it flushes its log; {what} the last acknowledged commits.",
                server.product
            );
            notes.push(Note::of(&catalogue::SERVER_LATE_FLUSH, Bad, claim));
        }
    }
}

/// Whether their sessions commit is not known: counts may show it.
fn scoped_late_flush(server: &ReportedServer<'_>, notes: &mut Vec<Note>) {
    const SHOWN: usize = 3;
    let all = server.watched.map_or(&[][..], |(_, scoped)| scoped);
    let off = all
        .iter()
        .filter(|s| s.name == "synchronous_commit" && s.value.eq_ignore_ascii_case("off"));
    let whose: Vec<String> = off.map(whose).collect();
    if whose.is_empty() {
        return;
    }
    let more = match whose.len() {
        0..=SHOWN => String::new(),
        n => format!(" and {} more", n - SHOWN),
    };
    let shown = whose.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    let claim = format!(
        "synchronous_commit = off for {}{more}: {} acknowledges commits of these sessions before it flushes its log; a crash of the server loses the last of them.",
        shown.join(", "),
        server.product
    );
    let note = Note::of(&catalogue::SERVER_LATE_FLUSH, Caution, claim);
    notes.push(note.number("scopes", whose.len() as f64));
}

fn whose(setting: &ScopedSetting) -> String {
    match (&setting.role, &setting.database) {
        (Some(role), Some(database)) => format!("role {role} in database {database}"),
        (Some(role), None) => format!("role {role}"),
        (None, Some(database)) => format!("database {database}"),
        (None, None) => "all roles".to_owned(),
    }
}

/// Without standbys a local commit is all there is.
fn local_commit(server: &ReportedServer<'_>, notes: &mut Vec<Note>) {
    let standbys = server.setting("synchronous_standby_names");
    let found = server.has("synchronous_commit", &["local"]);
    if let Some(found) = found.filter(|_| standbys.is_some_and(|names| !names.is_empty())) {
        let claim = format!(
            "{found}: a commit is acknowledged when it is durable on this server, without waiting for the synchronous standbys."
        );
        notes.push(Note::of(&catalogue::SERVER_LOCAL_COMMIT, Caution, claim));
    }
}

/// With a binary log it decides which prepared transactions recovery commits.
fn binlog_not_flushed(server: &ReportedServer<'_>, notes: &mut Vec<Note>) {
    let has_binlog = server.has("log_bin", &["ON", "1"]).is_some();
    let sync = server.setting("sync_binlog");
    if let Some(sync) = sync.filter(|sync| has_binlog && *sync != "1") {
        let claim = format!(
            "sync_binlog = {sync}: {} acknowledges a commit before it flushes its binary log; after a power failure recovery rolls back acknowledged commits that are missing there.",
            server.product
        );
        notes.push(Note::of(
            &catalogue::SERVER_BINLOG_NOT_FLUSHED,
            Caution,
            claim,
        ));
    }
}

/// Data pages are written in place: a torn one is repaired from a whole image in the log, or from
/// the doublewrite buffer.
fn torn_pages(server: &ReportedServer<'_>, stack: &Stack, notes: &mut Vec<Note>) {
    let page = server.setting("innodb_page_size");
    let innodb = page
        .and_then(|text| text.parse().ok())
        .unwrap_or(INNODB_PAGE);
    for (name, values, page, what) in [
        (
            "full_page_writes",
            &["off"][..],
            POSTGRES_PAGE,
            "the log has no image of a page",
        ),
        (
            "innodb_doublewrite",
            &["OFF", "0", "DETECT_ONLY"],
            innodb,
            "InnoDB keeps no second copy of a page",
        ),
    ] {
        let Some(found) = server.has(name, values) else {
            continue;
        };
        let bytes = format::bytes(page);
        let (weight, words) = match writes_whole(stack, page) {
            Some(why) => (
                Info,
                format!(
                    "{why}, so that the storage of the log tears none; data files elsewhere need the same"
                ),
            ),
            None => (
                Caution,
                "nothing shows that this storage writes a page in one piece".to_owned(),
            ),
        };
        let claim = format!(
            "{found}: {what} of {bytes} that is being written; if a power failure tears it, it cannot be repaired. {}.",
            capitalised(&words)
        );
        let note = Note::of(&catalogue::SERVER_TORN_PAGES, weight, claim);
        notes.push(
            note.number("page_bytes", page as f64)
                .advice_if(weight == Caution),
        );
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Why a page of so many bytes is never torn below a log; `None` where nothing shows that.
fn writes_whole(stack: &Stack, page: u64) -> Option<String> {
    let zfs = stack.layers.iter().find(|layer| {
        layer.kind == LayerKind::FileSystem && layer.name.eq_ignore_ascii_case("zfs")
    });
    let record = zfs.and_then(|zfs| {
        let size = zfs
            .options
            .iter()
            .find_map(|o| o.strip_prefix("recordsize="));
        size?.parse::<u64>().ok()
    });
    if let Some(bytes) = record.filter(|bytes| *bytes >= page) {
        let bytes = format::bytes(bytes);
        return Some(format!("ZFS writes records of {bytes} to new places"));
    }
    let units: Option<Vec<u64>> = disks(stack).map(|disk| disk.atomic_write_bytes).collect();
    let unit = units?.into_iter().min().filter(|unit| *unit >= page)?;
    Some(format!(
        "the device promises not to tear writes of up to {}",
        format::bytes(unit)
    ))
}

/// What an honest server does.
fn acknowledgement(server: &ReportedServer<'_>, notes: &mut Vec<Note>) {
    let opened = match server.open_flags.as_str() {
        "" => String::new(),
        flags => format!(" The server has opened its log with {flags}."),
    };
    // Of sessions of others that is not known.
    let (each, own) = match server.watched.is_some() {
        true => (
            "By the server's settings, each commit",
            " A session can set synchronous_commit for itself.",
        ),
        false => ("Each commit", ""),
    };
    let claim = match server.setting("wal_sync_method") {
        Some(_) if server.watched.is_some() && server.setting("synchronous_commit").is_none() => {
            return;
        }
        Some(method) if method.starts_with("open_") => format!(
            "{each} waits for a write that is durable by itself (wal_sync_method = {method}); the server counts no flushes under this method.{own}{opened}"
        ),
        Some(method) => format!(
            "{each} waits until the server has flushed its log (wal_sync_method = {method}).{own}{opened}"
        ),
        None => match server.setting("innodb_flush_log_at_trx_commit") {
            Some(value @ ("1" | "3")) => format!(
                "{each} waits until the server has flushed its log (innodb_flush_log_at_trx_commit = {value}).{opened}"
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
    fn pages_that_cannot_be_repaired_are_a_caution_unless_none_is_torn() {
        let acknowledged = ("server.acknowledgement".to_owned(), Weight::Good);
        for (setting, page) in [
            (("full_page_writes", "off"), 8_192),
            (("innodb_doublewrite", "OFF"), 16_384),
            (("innodb_doublewrite", "DETECT_ONLY"), 16_384),
        ] {
            let mut run = server(&[setting]);
            let torn = |weight| ("server.torn_pages".to_owned(), weight);
            assert_eq!(
                ids(&run),
                [torn(Weight::Caution), acknowledged.clone()],
                "{setting:?}"
            );
            let disks = run.target.stack.layers.iter_mut();
            disks.for_each(|layer| layer.atomic_write_bytes = Some(page - 1));
            assert_eq!(ids(&run)[0], torn(Weight::Caution), "{setting:?}");
            let disks = run.target.stack.layers.iter_mut();
            disks.for_each(|layer| layer.atomic_write_bytes = Some(page));
            assert!(ids(&run).contains(&torn(Weight::Info)), "{setting:?}");
        }
        for healthy in [("full_page_writes", "on"), ("innodb_doublewrite", "ON")] {
            assert_eq!(
                ids(&server(&[healthy])),
                std::slice::from_ref(&acknowledged)
            );
        }
    }

    #[test]
    fn a_binary_log_that_is_not_flushed_is_a_caution() {
        let on = [("log_bin", "ON"), ("innodb_flush_log_at_trx_commit", "1")];
        let with = |sync| server(&[&on[..], &[("sync_binlog", sync)]].concat());
        let found = ids(&with("0"));
        assert_eq!(
            found,
            [("server.binlog_not_flushed".to_owned(), Weight::Caution)]
        );
        assert_eq!(ids(&with("1")).len(), 1);
        assert_ne!(ids(&with("1")), found);
        let off = server(&[("log_bin", "OFF"), ("sync_binlog", "0")]);
        assert_ne!(ids(&off), found);
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
