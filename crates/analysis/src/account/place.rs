//! Where a run was measured, in a few words for the first screen: host, device, volume, log; of
//! evidence, its files.

use super::AccountFact;
use crate::findings::disk::describe;
use crate::format;
use measure::imported::{Imported, Source};
use measure::run::{RedoLogFacts, Run, TargetFacts};
use measure::stack::{Layer, LayerKind, Stack};

/// What was measured, and where.
pub(super) fn facts(run: &Run) -> Vec<AccountFact> {
    let notes = notes(run);
    if let Some(evidence) = &run.imported {
        return evidence_facts(evidence).into_iter().chain(notes).collect();
    }
    let mut out = vec![host(run)];
    match &run.target.facts {
        TargetFacts::Database(server) => out.push((
            "Server",
            format!("{} {}", server.product, server.version),
            server.log_directory.clone().unwrap_or_default(),
        )),
        TargetFacts::Watched(log) => out.push((
            "Log",
            format!("of {}, watched", log.product),
            format::plural(log.log_files.len() as u64, "log file"),
        )),
        TargetFacts::Simulated(of) => {
            let processors = format::plural(of.processors.into(), "processor");
            out = vec![("Model", of.model.clone(), processors)];
        }
        _ if run.target.kind == "null" => out.push((
            "Device",
            "none: the null device".to_owned(),
            "redolab's own overhead".to_owned(),
        )),
        _ => {}
    }
    out.extend(device(&run.target.stack));
    out.extend(volume(&run.target.stack));
    out.extend(log(run));
    out.extend(notes);
    out.retain(|(_, words, details)| !words.is_empty() || !details.is_empty());
    out
}

/// What the user noted; `None` where that is nothing.
fn notes(run: &Run) -> Option<AccountFact> {
    let label = run.notes.label.clone().unwrap_or_default();
    (!run.notes.is_empty()).then(|| ("Label", label, run.notes.tags_in_words()))
}

fn host(run: &Run) -> AccountFact {
    let e = &run.environment;
    let name = match e.hostname.as_str() {
        "" => "name withheld",
        name => name,
    };
    let mut details = Vec::new();
    if e.cpus > 0 {
        details.push(format::plural(u64::from(e.cpus), "processor"));
    }
    if e.memory_bytes > 0 {
        details.push(format::bytes(e.memory_bytes));
    }
    details.extend([e.kernel.clone()].into_iter().filter(|k| !k.is_empty()));
    ("Host", name.to_owned(), details.join(" · "))
}

fn evidence_facts(evidence: &Imported) -> Vec<AccountFact> {
    const SHOWN: usize = 3;
    let fact = |source: &Source| {
        let lines = format::plural(source.lines, "line");
        // The table of the evidence has the whole path.
        let name = source.file.rsplit('/').next().unwrap_or_default();
        let details = format!("{} · {lines}", source.kind);
        ("Evidence", name.to_owned(), details)
    };
    let mut out: Vec<_> = evidence.sources.iter().take(SHOWN).map(fact).collect();
    let more = evidence.sources.len().saturating_sub(SHOWN);
    if more > 0 {
        out.push(("Evidence", format!("and {more} more"), String::new()));
    }
    out
}

/// The device at the bottom of a stack: model or name, size, and how the kernel sees it.
fn device(stack: &Stack) -> Vec<AccountFact> {
    const SHOWN: usize = 2;
    let is_device = |l: &&Layer| {
        use LayerKind as K;
        matches!(l.kind, K::Disk | K::Zram | K::RamDisk)
    };
    let disks: Vec<&Layer> = stack.layers.iter().filter(is_device).collect();
    let mut out: Vec<AccountFact> = disks
        .iter()
        .take(SHOWN)
        .map(|disk| {
            let model = disk.model.as_ref().filter(|m| !m.is_empty());
            let cache = disk.write_cache.as_ref();
            let details = [
                model.map(|_| disk.name.clone()),
                Some(describe(disk).to_owned()),
                disk.detail.clone().filter(|d| !describe(disk).contains(d)),
                cache.map(|cache| format!("write cache: {cache}")),
            ];
            let details: Vec<String> = details.into_iter().flatten().collect();
            let size = disk.size_bytes.map(format::bytes);
            let words = [Some(model.unwrap_or(&disk.name).clone()), size];
            let words: Vec<String> = words.into_iter().flatten().collect();
            ("Device", words.join(", "), details.join(" · "))
        })
        .collect();
    if disks.len() > SHOWN {
        let more = format!("and {} more", disks.len() - SHOWN);
        out.push(("Device", more, String::new()));
    }
    out
}

/// The file system at the top of a stack: mount point, type, and what it is mounted from.
fn volume(stack: &Stack) -> Option<AccountFact> {
    let top = stack.layers.iter().find(|l| {
        use LayerKind as K;
        matches!(
            l.kind,
            K::FileSystem | K::MemoryFileSystem | K::NetworkFileSystem | K::FuseFileSystem
        )
    })?;
    let between = stack.layers.iter().filter(|l| {
        use LayerKind as K;
        matches!(l.kind, K::Luks | K::DeviceMapper | K::Md | K::Loop)
    });
    let between: Vec<String> = between
        .take(3)
        .map(|l| format!("{} {}", kind(l), l.name))
        .collect();
    let words = match &top.mount_point {
        Some(at) => format!("{}, {}", at, top.name),
        None => top.name.clone(),
    };
    let from = top.source.as_ref().map(|s| format!("from {s}"));
    let size = top.size_bytes.map(format::bytes);
    let details: Vec<String> = [from, size].into_iter().flatten().chain(between).collect();
    Some(("Volume", words, details.join(" · ")))
}

/// The log's files and how they were written.
fn log(run: &Run) -> Option<AccountFact> {
    let log = run.target.redo_log()?;
    let words = log_files(log).unwrap_or_default();
    let details = [
        Some(log.sync_method.clone()),
        engine(log),
        log.log_writer.clone(),
    ];
    let details: Vec<String> = details
        .into_iter()
        .flatten()
        .filter(|d| !d.is_empty())
        .collect();
    Some(("Log", words, details.join(" · ")))
}

/// The I/O engine, and how many batches it has in flight.
pub(crate) fn engine(log: &RedoLogFacts) -> Option<String> {
    let depth = match log.io_depth {
        None | Some(0 | 1) => String::new(),
        Some(n) => format!(", {n} batches in flight at most"),
    };
    log.io.as_ref().map(|io| format!("{io}{depth}"))
}

/// How many groups of log files, and of which size.
pub(crate) fn log_files(t: &RedoLogFacts) -> Option<String> {
    (t.log_groups > 0).then(|| {
        format!(
            "{} of {}",
            format::plural(u64::from(t.log_groups), "group"),
            format::bytes(t.log_file_bytes)
        )
    })
}

/// What a layer is.
pub(crate) fn kind(layer: &Layer) -> &'static str {
    match layer.kind {
        LayerKind::Luks => "encryption (LUKS)",
        LayerKind::Disk => describe(layer),
        other => other.words(),
    }
}
