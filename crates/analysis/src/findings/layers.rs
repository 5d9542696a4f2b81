//! What the layers below the path mean for durability: media in memory, network and user-space
//! file systems, copy on write, loop devices, hypervisors, preloaded libraries.
//!
//! Looks at kinds, names and properties only; mount options are in `mounts`, disks and their caches
//! in `cache`.

use super::catalogue;
use super::mounts::{self, place};
use super::note::Note;
use super::{Bad, Caution, Info};
use crate::format;
use measure::run::Run;
use measure::stack::{Layer, LayerKind, Stack};

pub(super) fn collect(run: &Run, notes: &mut Vec<Note>) {
    let stack = &run.target.stack;
    if run.target.kind == "null" {
        notes.push(
            Note::of(
                &catalogue::STACK_NULL,
                Bad,
                "The null device keeps nothing that is written to it.",
            )
            .number("layers", stack.layers.len() as f64),
        );
    }
    for layer in &stack.layers {
        kind(layer, notes);
        mounts::collect(layer, notes);
    }
    without_dax(stack, notes);
    machine(stack, notes);
}

fn kind(layer: &Layer, notes: &mut Vec<Note>) {
    use LayerKind as K;
    match layer.kind {
        K::MemoryFileSystem | K::Zram | K::RamDisk => notes.push(volatile(layer)),
        K::Overlay => notes.push(
            Note::of(
                &catalogue::STACK_OVERLAY,
                Info,
                format!("The path is on an overlay; its upper directory {} decides.", backing(layer)),
            ),
        ),
        K::FileSystem => file_system(layer, notes),
        K::NetworkFileSystem => notes.push(network(layer)),
        K::FuseFileSystem => notes.push(
            Note::of(
                &catalogue::STACK_FUSE,
                Caution,
                format!("{} is a FUSE file system: a user-space process serves it, and whether a flush reaches a medium depends on that process.", layer.name),
            ),
        ),
        K::Loop => notes.push(
            Note::of(
                &catalogue::STACK_LOOP,
                Caution,
                format!("{} is a loop device on {}: each flush becomes an fsync of that file.", layer.name, backing(layer)),
            ),
        ),
        K::DeviceMapper => device_mapper(layer, notes),
        K::Md => md(layer, notes),
        K::Disk if layer.detail.as_deref() == Some("zvol") => {
            let advice = "zfs get sync,volblocksize on the volume's data set; use a plain device for redo.";
            notes.push(copy_on_write(&layer.name, advice));
        }
        K::Disk if is_memory(layer) => notes.push(volatile(layer)),
        K::Disk if has(layer, &["provider=e820"]) => notes.push(unproven_memory(layer)),
        K::Luks | K::Partition | K::Disk => {}
    }
}

/// Disks that a driver or a target makes of memory, by the model that they report.
fn is_memory(disk: &Layer) -> bool {
    const MODELS: &[&str] = &["scsi_debug", "RAMDISK-MCP", "RAMDISK-DR"];
    let model = disk.model.as_deref().unwrap_or_default().trim();
    MODELS.contains(&model)
}

fn unproven_memory(layer: &Layer) -> Note {
    Note::of(
        &catalogue::STACK_UNPROVEN_MEMORY,
        Caution,
        format!(
            "{} is memory that the firmware's map or the boot option memmap calls persistent: memmap makes such a device of plain memory, which is lost with the power.",
            layer.name
        ),
    )
}

/// Persistent memory below a file system that does not map it directly.
fn without_dax(stack: &Stack, notes: &mut Vec<Note>) {
    let is_pmem = |l: &Layer| l.detail.as_deref() == Some("pmem");
    let Some(memory) = stack.disks().find(|disk| is_pmem(disk)) else {
        return;
    };
    let system = stack
        .layers
        .iter()
        .find(|l| l.kind == LayerKind::FileSystem);
    let Some(system) = system.filter(|l| !mounts::is_dax(l)) else {
        return;
    };
    notes.push(Note::of(
        &catalogue::STACK_NO_DAX,
        Info,
        format!(
            "{} is {} on persistent memory ({}) without dax: writes go through the page cache or the block layer, so the floor is not that of the memory.",
            place(system),
            system.name,
            memory.name
        ),
    ));
}

fn volatile(layer: &Layer) -> Note {
    Note::of(
        &catalogue::STACK_VOLATILE,
        Bad,
        format!(
            "{} keeps the log in memory: the log is lost when power is lost.",
            layer.name
        ),
    )
    .maybe("size_bytes", layer.size_bytes.map(|b| b as f64))
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
        "zfs" => Some("See the next finding for the ZFS properties, or use XFS or ext4."),
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
            Note::of(
                &catalogue::SPACE_DATA_JOURNAL,
                Caution,
                format!(
                    "{} is mounted data=journal: redo is written twice.",
                    layer.name
                ),
            )
            .number("writes_for_each_block", 2.0),
        );
    }
}

fn copy_on_write(name: &str, advice: &str) -> Note {
    Note::of(
        &catalogue::STACK_COPY_ON_WRITE,
        Caution,
        format!("{name} writes each block to a new place: pre-writing log files does not help, and each commit also writes metadata."),
    )
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
    Note::of(
        &catalogue::STACK_ZFS,
        Caution,
        format!("{} is ZFS with {size}{logbias}; {sync}: commits go through its intent log, whose device decides.", place(layer)),
    )
    .maybe("record_bytes", record.map(|b| b as f64))
}

fn network(layer: &Layer) -> Note {
    Note::of(
        &catalogue::STACK_NETWORK,
        Caution,
        format!(
            "{} is a network or shared file system: how its server exports and flushes cannot be verified from here.",
            layer.name
        ),
    )
}

fn device_mapper(layer: &Layer, notes: &mut Vec<Note>) {
    let target = layer.detail.as_deref().unwrap_or("");
    let advice = match target {
        "cache" | "writecache" | "bcache" => {
            "Show that the caching device survives power loss, or bypass it for redo."
        }
        "thin" | "thin-pool" | "snapshot" | "snapshot-origin" | "vdo" => {
            "Use a plain linear volume for redo: otherwise commits wait for allocation and copies."
        }
        _ => return,
    };
    notes.push(
        Note::of(
            &catalogue::STACK_MAPPER,
            Caution,
            match layer
                .options
                .iter()
                .find_map(|o| o.strip_prefix("cache_mode="))
            {
                Some(mode) => format!(
                    "{} is a {target} device in mode {mode}: every commit passes through it.",
                    layer.name
                ),
                None => format!(
                    "{} is a device-mapper {target} target: every commit passes through it.",
                    layer.name
                ),
            },
        )
        .advice(advice),
    );
}

fn md(layer: &Layer, notes: &mut Vec<Note>) {
    let level = layer.detail.as_deref().unwrap_or("");
    if matches!(level, "raid4" | "raid5" | "raid6") {
        notes.push(
            Note::of(
                &catalogue::STACK_PARITY,
                Caution,
                format!("{} is {level}: a small log write reads and rewrites parity, and a crash during it can leave the stripe inconsistent.", layer.name),
            ),
        );
    }
}

fn machine(stack: &Stack, notes: &mut Vec<Note>) {
    if let Some(library) = &stack.preload {
        notes.push(Note::of(
            &catalogue::STACK_PRELOAD,
            Bad,
            format!("{library} is preloaded: flushes do nothing."),
        ));
    }
    if let Some(hypervisor) = &stack.hypervisor {
        notes.push(
            Note::of(
                &catalogue::STACK_HYPERVISOR,
                Caution,
                format!("This is a virtual machine ({hypervisor}): its host decides what a flush does, which cannot be seen from inside."),
            ),
        );
    }
    if !stack.unknown.is_empty() {
        notes.push(
            Note::of(
                &catalogue::STACK_UNKNOWN,
                Info,
                format!(
                    "Facts of the storage stack that could not be read: {}.",
                    stack.unknown.join("; ")
                ),
            )
            .number("facts_not_readable", stack.unknown.len() as f64),
        );
    }
}

fn has(layer: &Layer, names: &[&str]) -> bool {
    layer.options.iter().any(|o| names.contains(&o.as_str()))
}

fn backing(layer: &Layer) -> &str {
    layer.backing.as_deref().unwrap_or("(unknown)")
}
