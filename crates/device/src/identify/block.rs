//! One block device of `/sys/dev/block`: what kind it is, its facts, and what lies below it.
//!
//! Invariants: the kind follows from the directories that the kernel makes for it (`partition`,
//! `dm`, `md`, `loop`), and from the name only where there are none. What it must not know: file
//! systems, and how deep in a stack it is.

use super::disk;
use super::root::{Dev, Root, file_name, is_numbered};
use measure::stack::{Layer, LayerKind};
use std::path::{Path, PathBuf};

/// Sectors of sysfs are 512 bytes whatever the device's are.
const SYSFS_SECTOR_BYTES: u64 = 512;

/// What a layer stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Another block device.
    Device(Dev),
    /// A file, or where it was when it has been deleted.
    File(PathBuf),
}

/// A block device and its surroundings.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) layer: Layer,
    pub(super) below: Vec<Below>,
    pub(super) unknown: Vec<String>,
}

/// Reads a block device; `None` when sysfs does not show it.
pub(super) fn read(root: &Root, dev: Dev) -> Option<Block> {
    let directory = directory(root, dev)?;
    let name = file_name(&directory).replace('!', "/");
    let kind = kind_of(root, &directory, &name);
    let mut layer = Layer::new(kind, name);
    layer.dev = Some(dev.to_string());
    let at = |file: &str| directory.join(file);
    let sectors = root.number(at("size"));
    layer.size_bytes = sectors.map(|n| n.saturating_mul(SYSFS_SECTOR_BYTES));
    if kind != LayerKind::Partition {
        queue_facts(root, &directory, &mut layer);
    }
    let mut block = Block {
        layer,
        below: Vec::new(),
        unknown: Vec::new(),
    };
    match kind {
        LayerKind::Partition => partition(root, &directory, &mut block),
        LayerKind::Luks | LayerKind::DeviceMapper => mapped(root, &directory, &mut block),
        LayerKind::Md => md(root, &directory, &mut block),
        LayerKind::Loop => loop_device(root, &directory, &mut block),
        LayerKind::Zram => settings(
            root,
            &at(""),
            &["comp_algorithm", "backing_dev"],
            &mut block.layer,
        ),
        LayerKind::RamDisk => {
            let null = block.layer.name.starts_with("nullb");
            block.layer.detail = null.then(|| "null_blk".to_owned());
        }
        _ => disk::facts(root, &directory, &mut block.layer, &mut block.unknown),
    }
    Some(block)
}

/// The device's directory below `/sys/devices`.
pub(super) fn directory(root: &Root, dev: Dev) -> Option<PathBuf> {
    let direct = root.resolve(format!("/sys/dev/block/{dev}"));
    direct
        .filter(|path| root.exists(path.join("dev")))
        .or_else(|| {
            let wanted = dev.to_string();
            root.list("/sys/class/block")
                .iter()
                .map(|name| format!("/sys/class/block/{name}"))
                .find(|path| root.text(format!("{path}/dev")).as_deref() == Some(&wanted))
                .and_then(|path| root.resolve(path))
        })
}

fn kind_of(root: &Root, directory: &Path, name: &str) -> LayerKind {
    let has = |file: &str| root.exists(directory.join(file));
    let numbered = |prefix: &str| is_numbered(name, prefix);
    if has("partition") {
        LayerKind::Partition
    } else if has("dm") {
        let uuid = root.text(directory.join("dm/uuid")).unwrap_or_default();
        if uuid.starts_with("CRYPT-") && !uuid.starts_with("CRYPT-VERITY") {
            LayerKind::Luks
        } else {
            LayerKind::DeviceMapper
        }
    } else if has("md") {
        LayerKind::Md
    } else if has("loop") || numbered("loop") {
        LayerKind::Loop
    } else if numbered("zram") {
        LayerKind::Zram
    } else if numbered("ram") || numbered("nullb") {
        LayerKind::RamDisk
    } else if !root.list(directory.join("slaves")).is_empty() {
        LayerKind::DeviceMapper // bcache, drbd: they stand on others in the same way
    } else {
        LayerKind::Disk
    }
}

fn queue_facts(root: &Root, directory: &Path, layer: &mut Layer) {
    let number = |file: &str| root.number(directory.join("queue").join(file));
    layer.logical_block_bytes = number("logical_block_size");
    layer.physical_block_bytes = number("physical_block_size");
    layer.atomic_write_bytes = number("atomic_write_unit_max_bytes");
    layer.rotational = number("rotational").map(|n| n != 0);
    layer.fua = number("fua").map(|n| n != 0);
    layer.write_cache = root.text(directory.join("queue/write_cache"));
    layer.integrity = root.text(directory.join("integrity/format"));
}

fn partition(root: &Root, directory: &Path, block: &mut Block) {
    let start = root.number(directory.join("start"));
    block.layer.start_bytes = start.map(|n| n.saturating_mul(SYSFS_SECTOR_BYTES));
    let parent = directory.parent().map(|parent| parent.join("dev"));
    match parent.and_then(|file| Dev::parse(&root.text(file)?)) {
        Some(disk) => block.below.push(Below::Device(disk)),
        None => block.unknown.push(format!(
            "{}: the disk that it is a part of is not shown",
            block.layer.name
        )),
    }
}

/// Device mapper, and the drivers that show what they stand on in the same way.
fn mapped(root: &Root, directory: &Path, block: &mut Block) {
    let uuid = root.text(directory.join("dm/uuid")).unwrap_or_default();
    let name = root.text(directory.join("dm/name"));
    block.layer.source = name.map(|name| format!("/dev/mapper/{name}"));
    block.layer.detail = if root.exists(directory.join("dm")) {
        mapped_detail(&uuid)
    } else {
        let digits = |c: char| c.is_ascii_digit();
        Some(block.layer.name.trim_end_matches(digits).to_owned())
    };
    // bcache: `writethrough [writeback] writearound none`.
    if let Some(mode) = root
        .text(directory.join("bcache/cache_mode"))
        .and_then(|modes| chosen(&modes))
    {
        block.layer.options.push(format!("cache_mode={mode}"));
    }
    members(root, directory, block);
    if block.layer.detail.as_deref() == Some("lvm")
        && let Some(target) = target_by_members(root, directory)
    {
        block.layer.detail = Some(target.to_owned());
    }
    if block.layer.kind == LayerKind::DeviceMapper && block.layer.detail.is_none() {
        block.unknown.push(format!(
            "{}: its device-mapper target is not in sysfs; `dmsetup table` shows it",
            block.layer.name
        ));
    }
}

/// The value in brackets, which is the one in force.
fn chosen(modes: &str) -> Option<String> {
    let (_, rest) = modes.split_once('[')?;
    let (mode, _) = rest.split_once(']')?;
    Some(mode.to_owned())
}

/// What a logical volume of LVM is, by the names that LVM gives to the volumes below it: the kernel
/// shows no table of targets in sysfs.
fn target_by_members(root: &Root, directory: &Path) -> Option<&'static str> {
    const BELOW: &[(&str, &str)] = &[
        ("_wcorig", "writecache"),
        ("_corig", "cache"),
        ("-tpool", "thin"),
        ("-real", "snapshot-origin"),
        ("-cow", "snapshot"),
    ];
    let slaves = directory.join("slaves");
    let names = root.list(&slaves);
    let mut names = names
        .iter()
        .filter_map(|slave| root.text(slaves.join(slave).join("dm/name")));
    names.find_map(|name| {
        let found = BELOW.iter().find(|(end, _)| name.ends_with(end));
        found.map(|(_, target)| *target)
    })
}

/// What made a mapped device, from its UUID: `CRYPT-LUKS2-…`, `LVM-<64 characters>-tpool`,
/// `mpath-…`, `part1-mpath-…`.
fn mapped_detail(uuid: &str) -> Option<String> {
    let (owner, rest) = uuid.split_once('-')?;
    let detail = match owner {
        "CRYPT" => rest.split('-').next().unwrap_or(rest).to_owned(),
        "LVM" => match rest.split_once('-') {
            Some((_, role)) => format!("lvm ({role})"),
            None => "lvm".to_owned(),
        },
        "mpath" => "multipath".to_owned(),
        _ if owner.starts_with("part") => "partition".to_owned(),
        _ => owner.to_ascii_lowercase(),
    };
    (!detail.is_empty()).then_some(detail)
}

fn md(root: &Root, directory: &Path, block: &mut Block) {
    block.layer.detail = root.text(directory.join("md/level"));
    let interesting = [
        "consistency_policy",
        "array_state",
        "degraded",
        "sync_action",
    ];
    settings(root, &directory.join("md"), &interesting, &mut block.layer);
    members(root, directory, block);
}

fn loop_device(root: &Root, directory: &Path, block: &mut Block) {
    let Some(file) = root.text(directory.join("loop/backing_file")) else {
        let name = &block.layer.name;
        block
            .unknown
            .push(format!("{name}: the file behind it is not shown"));
        return;
    };
    settings(root, &directory.join("loop"), &["dio"], &mut block.layer);
    let path = file.strip_suffix(" (deleted)").unwrap_or(&file);
    block.below.push(Below::File(PathBuf::from(path)));
    block.layer.backing = Some(file);
}

/// Files of one word each, as `name=value` among the options.
fn settings(root: &Root, directory: &Path, names: &[&str], layer: &mut Layer) {
    for name in names {
        if let Some(value) = root.text(directory.join(name)) {
            layer.options.push(format!("{name}={value}"));
        }
    }
}

fn members(root: &Root, directory: &Path, block: &mut Block) {
    let slaves = directory.join("slaves");
    for name in root.list(&slaves) {
        match root
            .text(slaves.join(&name).join("dev"))
            .as_deref()
            .and_then(Dev::parse)
        {
            Some(dev) => block.below.push(Below::Device(dev)),
            None => block.unknown.push(format!(
                "{}: its member {name} cannot be read",
                block.layer.name
            )),
        }
    }
    if block.below.is_empty() {
        block.unknown.push(format!(
            "{}: the devices below it are not shown",
            block.layer.name
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_in_brackets_is_in_force() {
        for (text, mode) in [
            (
                "writethrough [writeback] writearound none",
                Some("writeback"),
            ),
            ("[none]", Some("none")),
            ("writeback", None),
            ("[writeback", None),
        ] {
            assert_eq!(chosen(text).as_deref(), mode, "{text}");
        }
    }

    #[test]
    fn makers_of_mapped_devices() {
        for (uuid, detail) in [
            ("CRYPT-LUKS2-0123-cryptdata", Some("LUKS2")),
            ("CRYPT-PLAIN-x", Some("PLAIN")),
            ("LVM-abcdef", Some("lvm")),
            ("LVM-abcdef-tpool", Some("lvm (tpool)")),
            ("mpath-3600508b400105e210000900000490000", Some("multipath")),
            ("part2-mpath-3600508b4", Some("partition")),
            ("DMRAID-isw_x", Some("dmraid")),
            ("-", None),
            ("", None),
            ("bare", None),
        ] {
            assert_eq!(mapped_detail(uuid).as_deref(), detail, "{uuid}");
        }
    }
}
