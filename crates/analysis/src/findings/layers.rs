//! What the layers below the path mean for durability: media in memory, network and user-space
//! file systems, copy on write, mount options, loop devices, hypervisors, preloaded libraries.
//!
//! Looks at kinds, names and options only; disks and their caches are in `cache`.

use super::catalogue::STACK_RULE;
use super::note::Note;
use super::{Bad, Caution, Info};
use crate::format;
use measure::run::Run;
use measure::stack::{Layer, LayerKind, Stack};

pub(super) fn collect(run: &Run, notes: &mut Vec<Note>) {
    let stack = &run.target.stack;
    if run.target.kind == "null" {
        notes.push(
            Note::new(
                "stack.null",
                Bad,
                "The null device keeps nothing that is written to it.",
            )
            .number("layers", stack.layers.len() as f64)
            .rule("a log needs a medium", STACK_RULE)
            .advice("Use it to measure the lab's own overhead; name a path to judge a device."),
        );
    }
    for layer in &stack.layers {
        kind(layer, notes);
        options(layer, notes);
    }
    machine(stack, notes);
}

fn kind(layer: &Layer, notes: &mut Vec<Note>) {
    use LayerKind as K;
    match layer.kind {
        K::MemoryFileSystem | K::Zram | K::RamDisk => notes.push(volatile(layer)),
        K::Overlay => notes.push(
            Note::new(
                "stack.overlay",
                Info,
                format!("The path is on an overlay; its upper directory {} decides.", backing(layer)),
            )
            .rule("a union mount adds copies, not durability", STACK_RULE)
            .advice("Put redo on a volume of its own rather than in a container's writable layer."),
        ),
        K::FileSystem => file_system(layer, notes),
        K::NetworkFileSystem => notes.push(network(layer)),
        K::FuseFileSystem => notes.push(
            Note::new(
                "stack.fuse",
                Caution,
                format!("{} is served by a process: whether its flush reaches a medium is that process's word.", layer.name),
            )
            .rule("user-space file systems: conditional at best", STACK_RULE)
            .advice("Put redo on a file system of the kernel, or have the server's fsync shown to flush."),
        ),
        K::Loop => notes.push(
            Note::new(
                "stack.loop",
                Caution,
                format!("{} is a loop device on {}: each flush becomes an fsync of that file.", layer.name, backing(layer)),
            )
            .rule("a loop device adds a second file system to each commit", STACK_RULE)
            .advice("Use the device below it directly."),
        ),
        K::DeviceMapper => device_mapper(layer, notes),
        K::Md => md(layer, notes),
        K::Disk if layer.detail.as_deref() == Some("zvol") => {
            let advice = "zfs get sync,volblocksize on the volume's data set; use a plain device for redo.";
            notes.push(copy_on_write(&layer.name, advice));
        }
        K::Luks | K::Partition | K::Disk => {}
    }
}

fn volatile(layer: &Layer) -> Note {
    Note::new(
        "stack.volatile",
        Bad,
        format!(
            "{} keeps the log in memory: it is gone when power is.",
            layer.name
        ),
    )
    .maybe("size_bytes", layer.size_bytes.map(|b| b as f64))
    .rule("tmpfs, ramfs, zram and RAM disks are volatile", STACK_RULE)
    .advice("Put redo on a device that keeps data without power.")
}

fn file_system(layer: &Layer, notes: &mut Vec<Note>) {
    let copies = match layer.copy_on_write {
        Some(copies) => copies,
        None => !has(layer, &["nodatacow", "nocow"]),
    };
    let advice = match layer.name.as_str() {
        "btrfs" if copies => {
            Some("Set NOCOW on the empty log directory (chattr +C), or use XFS or ext4.")
        }
        "zfs" => Some("Read what ZFS itself says (the next finding), or use XFS or ext4."),
        "bcachefs" | "nilfs2" if copies => Some("Use XFS or ext4 for redo."),
        _ => None,
    };
    if let Some(advice) = advice {
        notes.push(copy_on_write(&layer.name, advice));
    }
    if layer.name == "zfs" {
        notes.push(zfs(layer));
    }
    if has(layer, &["data=journal"]) {
        notes.push(
            Note::new(
                "space.data_journal",
                Caution,
                format!(
                    "{} is mounted data=journal: redo is written twice.",
                    layer.name
                ),
            )
            .number("writes_for_each_block", 2.0)
            .rule("data=ordered or data=writeback for redo", STACK_RULE)
            .advice("Mount the redo volume with data=ordered."),
        );
    }
}

fn copy_on_write(name: &str, advice: &str) -> Note {
    Note::new(
        "stack.copy_on_write",
        Caution,
        format!("{name} writes each block to a new place: pre-writing log files doesn't help, and each commit also writes metadata."),
    )
    .rule("copy on write: conditional", STACK_RULE)
    .advice(advice)
}

/// What `zfs get` said, as options of the layer. `sync=disabled` is judged with the mount options.
fn zfs(layer: &Layer) -> Note {
    let property = |name: &str| {
        let of = |o: &String| Some(o.strip_prefix(name)?.strip_prefix('=')?.to_owned());
        layer.options.iter().find_map(of)
    };
    let record: Option<u64> = property("recordsize").and_then(|text| text.parse().ok());
    let sync = match property("sync") {
        Some(sync) => format!("sync={sync}"),
        None => "its sync property could not be read".to_owned(),
    };
    let size = match record {
        Some(bytes) => format!("records of {}", format::bytes(bytes)),
        None => "a record size that could not be read".to_owned(),
    };
    let logbias = property("logbias").map_or_else(String::new, |l| format!(", logbias={l}"));
    Note::new(
        "stack.zfs",
        Caution,
        format!("{} is ZFS with {size}{logbias}; {sync}: commits go through its intent log, whose device decides.", place(layer)),
    )
    .maybe("record_bytes", record.map(|b| b as f64))
    .rule("sync property unreadable: unverified; record size: conditional", STACK_RULE)
    .advice("zfs get sync,recordsize,logbias: sync must not be disabled; a log device (SLOG) with power-loss protection decides the latency.")
}

fn network(layer: &Layer) -> Note {
    Note::new(
        "stack.network",
        Caution,
        format!(
            "{} is a network or shared file system: how its server exports and flushes cannot be verified from here.",
            layer.name
        ),
    )
    .rule("network file systems: conditional at best", STACK_RULE)
    .advice("Ask for the server's export (NFS: sync, never async; 9p, virtiofs: the host's cache mode) and its cache's protection.")
}

fn device_mapper(layer: &Layer, notes: &mut Vec<Note>) {
    let target = layer.detail.as_deref().unwrap_or("");
    let advice = match target {
        "cache" | "writecache" | "bcache" => {
            "Show that the caching device survives power loss, or bypass it for redo."
        }
        "thin" | "thin-pool" | "snapshot" | "snapshot-origin" | "vdo" => {
            "Use a plain linear volume for redo: allocation and copies otherwise fall into commits."
        }
        _ => return,
    };
    notes.push(
        Note::new(
            "stack.mapper",
            Caution,
            format!("{} is a device-mapper {target} target, which stands between a commit and its disk.", layer.name),
        )
        .rule("caching, thin and snapshot targets: conditional", STACK_RULE)
        .advice(advice),
    );
}

fn md(layer: &Layer, notes: &mut Vec<Note>) {
    let level = layer.detail.as_deref().unwrap_or("");
    if matches!(level, "raid4" | "raid5" | "raid6") {
        notes.push(
            Note::new(
                "stack.parity",
                Caution,
                format!("{} is {level}: a small log write reads and rewrites parity, and a crash during it can leave the stripe inconsistent.", layer.name),
            )
            .rule("parity RAID: conditional", STACK_RULE)
            .advice("Use RAID 1 or 10 for redo, or a write journal or PPL against the write hole."),
        );
    }
}

fn options(layer: &Layer, notes: &mut Vec<Note>) {
    const OFF: &[&str] = &["nobarrier", "barrier=0", "barrier=none", "sync=disabled"];
    let is_network = layer.kind == LayerKind::NetworkFileSystem;
    if let Some(option) = find(layer, OFF) {
        notes.push(
            Note::new(
                "mount.barrier_off",
                Bad,
                format!(
                    "{} is mounted with {option}: flushes never reach the device.",
                    place(layer)
                ),
            )
            .rule("nobarrier, barrier=0, sync=disabled: no", STACK_RULE)
            .advice(
                "Remove the option; a log whose flushes are dropped loses acknowledged commits.",
            ),
        );
    }
    if layer.kind == LayerKind::Overlay && has(layer, &["volatile"]) {
        notes.push(
            Note::new(
                "mount.barrier_off",
                Bad,
                format!(
                    "{} is an overlay mounted volatile: every sync is dropped.",
                    place(layer)
                ),
            )
            .rule(
                "overlayfs volatile omits all syncs",
                "Linux Documentation/filesystems/overlayfs",
            )
            .advice("Put redo on a volume mounted outside the overlay."),
        );
    }
    if is_network && let Some(option) = find(layer, &["soft", "softerr"]) {
        notes.push(
            Note::new(
                "mount.soft",
                Bad,
                format!("{} is mounted {option}: after a time-out a write is reported failed or lost while the log goes on.", place(layer)),
            )
            .maybe("timeo", number_of(layer, "timeo="))
            .maybe("retrans", number_of(layer, "retrans="))
            .rule("soft network mounts: no", "nfs(5): soft can cause silent data corruption")
            .advice("Mount it hard."),
        );
    }
    if is_network
        && let Some(option) = find(
            layer,
            &["cache=loose", "cache=mmap", "cache=fscache", "async"],
        )
    {
        notes.push(
            Note::new(
                "mount.loose_cache",
                Caution,
                format!(
                    "{} is mounted {option}: the client may answer before the server knows.",
                    place(layer)
                ),
            )
            .rule("client write-back caching: conditional", STACK_RULE)
            .advice("Mount it with cache=none, or sync for NFS."),
        );
    }
}

fn machine(stack: &Stack, notes: &mut Vec<Note>) {
    if let Some(library) = &stack.preload {
        notes.push(
            Note::new(
                "stack.preload",
                Bad,
                format!("{library} is preloaded and turns flushes into nothing."),
            )
            .rule("eatmydata and its like: no", STACK_RULE)
            .advice("Remove it from LD_PRELOAD and /etc/ld.so.preload and measure again."),
        );
    }
    if let Some(hypervisor) = &stack.hypervisor {
        notes.push(
            Note::new(
                "stack.hypervisor",
                Caution,
                format!("This is a virtual machine ({hypervisor}): its host decides what a flush does, and that cannot be seen from inside."),
            )
            .rule("a hypervisor is seen: unverified, never yes by itself", STACK_RULE)
            .advice("Ask for the host's cache mode: none, writethrough, or writeback that honours flushes are safe; unsafe is not."),
        );
    }
    if !stack.unknown.is_empty() {
        notes.push(
            Note::new(
                "stack.unknown",
                Info,
                format!("Not readable of the stack: {}.", stack.unknown.join("; ")),
            )
            .number("facts_not_readable", stack.unknown.len() as f64)
            .rule("what could not be read is not judged", STACK_RULE)
            .advice("Run as root to read the drive's own word on its cache."),
        );
    }
}

fn has(layer: &Layer, names: &[&str]) -> bool {
    find(layer, names).is_some()
}

fn find<'a>(layer: &'a Layer, names: &[&str]) -> Option<&'a str> {
    layer
        .options
        .iter()
        .map(String::as_str)
        .find(|o| names.contains(o))
}

fn number_of(layer: &Layer, prefix: &str) -> Option<f64> {
    layer
        .options
        .iter()
        .find_map(|o| o.strip_prefix(prefix)?.parse().ok())
}

fn backing(layer: &Layer) -> &str {
    layer.backing.as_deref().unwrap_or("(unknown)")
}

fn place(layer: &Layer) -> &str {
    layer.mount_point.as_deref().unwrap_or(&layer.name)
}
