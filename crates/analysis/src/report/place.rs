//! Where a run was measured, in a few words for the first screen: host, device, volume, log.

use super::target::{engine, kind, log_files};
use crate::findings::disk::describe;
use crate::format;
use measure::run::Run;
use measure::stack::{Layer, LayerKind, Stack};

/// A fact of the first screen: label, the words that matter, details.
pub(super) type Fact = (&'static str, String, String);

/// The device at the bottom of a stack: model or name, size, and how the kernel sees it.
pub(super) fn device(stack: &Stack) -> Vec<Fact> {
    const SHOWN: usize = 2;
    let is_device = |l: &&Layer| {
        use LayerKind as K;
        matches!(l.kind, K::Disk | K::Zram | K::RamDisk)
    };
    let disks: Vec<&Layer> = stack.layers.iter().filter(is_device).collect();
    let mut out: Vec<Fact> = disks
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
pub(super) fn volume(stack: &Stack) -> Option<Fact> {
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
pub(super) fn log(run: &Run) -> Option<Fact> {
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
