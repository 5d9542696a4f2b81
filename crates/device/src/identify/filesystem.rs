//! Kinds of file systems, and the devices that one lies on.
//!
//! What it must not know: what lies below those devices.

use super::mountinfo::Mount;
use super::place::{Place, no_copy_attribute};
use super::root::{Dev, Root, file_name};
use measure::stack::{Layer, LayerKind};
use std::path::Path;

/// Where a file system keeps its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// In memory; gone with the power.
    Memory,
    /// On another machine, or on the host of a virtual one.
    Network,
    /// Wherever a process puts it.
    Fuse,
    /// In an upper directory.
    Overlay,
    /// In a directory of another file system, named by its source.
    Stacked,
    /// In a pool whose devices the kernel does not show.
    Pool,
    /// On block devices.
    Block,
}

impl Class {
    pub(super) fn of(kind: &str) -> Class {
        match kind {
            "tmpfs" | "ramfs" | "devtmpfs" | "hugetlbfs" | "rootfs" => Class::Memory,
            "nfs" | "nfs4" | "cifs" | "smb3" | "smbfs" | "ncpfs" | "afs" | "coda" | "9p"
            | "virtiofs" | "vboxsf" | "vmhgfs" | "prl_fs" | "ceph" | "lustre" | "glusterfs"
            | "drvfs" | "lxfs" | "wslfs" | "gpfs" | "beegfs" | "orangefs" | "pvfs2" | "pvfs"
            | "wekafs" => Class::Network,
            "overlay" | "overlayfs" => Class::Overlay,
            "ecryptfs" => Class::Stacked,
            "zfs" => Class::Pool,
            _ if kind == "fuse" || kind == "fuseblk" || kind.starts_with("fuse.") => Class::Fuse,
            _ => Class::Block,
        }
    }

    pub(super) fn layer(self) -> LayerKind {
        match self {
            Class::Memory => LayerKind::MemoryFileSystem,
            Class::Network => LayerKind::NetworkFileSystem,
            Class::Fuse => LayerKind::FuseFileSystem,
            Class::Overlay => LayerKind::Overlay,
            Class::Stacked | Class::Pool | Class::Block => LayerKind::FileSystem,
        }
    }
}

/// What the mount table says, as a layer.
pub(super) fn layer_of(mount: &Mount, class: Class) -> Layer {
    let mut layer = Layer::new(class.layer(), &mount.kind);
    layer.dev = (!mount.dev.is_anonymous()).then(|| mount.dev.to_string());
    layer.mount_point = Some(mount.point.to_string_lossy().into_owned());
    layer.source = (!mount.source.is_empty()).then(|| mount.source.clone());
    layer.options.clone_from(&mount.options);
    layer.backing = match class {
        Class::Overlay => mount.option("upperdir").map(str::to_owned),
        Class::Stacked => Some(mount.source.clone()),
        _ => None,
    };
    layer
}

/// Whether writes go elsewhere instead of in place; `None` where it could not be read. File
/// systems that share blocks only on request (xfs) write in place.
pub(super) fn copy_on_write(mount: &Mount, place: &Place, live: bool) -> Option<bool> {
    match mount.kind.as_str() {
        "btrfs" if mount.has("nodatacow") => Some(false),
        "btrfs" if live => no_copy_attribute(&place.path).map(|no_copy| !no_copy),
        "btrfs" => None,
        "bcachefs" if mount.has("nocow") => Some(false),
        "zfs" | "bcachefs" | "nilfs2" => Some(true),
        "ext2" | "ext3" | "ext4" | "xfs" | "jfs" | "vfat" | "exfat" => Some(false),
        _ => None,
    }
}

/// The block devices of a file system: its data, and a log of its own where it has one.
pub(super) fn devices(root: &Root, mount: &Mount) -> Vec<Dev> {
    let mut found = Vec::new();
    if mount.dev.is_anonymous() {
        // bcachefs joins its devices with colons; no other source has one after `/dev/`.
        for source in mount.source.split(':') {
            found.extend(device_named(root, source));
        }
        if mount.kind == "btrfs" {
            found = btrfs_members(root, &found).unwrap_or(found);
        }
    } else {
        found.push(mount.dev);
    }
    if let Some(log) = mount.option("logdev") {
        found.extend(device_named(root, log));
    }
    let mut seen = std::collections::HashSet::new();
    found.retain(|dev| seen.insert(*dev));
    found
}

/// The device number behind a path in `/dev`, which need not exist (in a container).
pub(super) fn device_named(root: &Root, source: &str) -> Option<Dev> {
    if !source.starts_with("/dev/") {
        return None;
    }
    if root.is_live()
        && let Ok(Place {
            node: Some(dev), ..
        }) = Place::of(Path::new(source))
    {
        return Some(dev);
    }
    let target = root.resolve(source);
    let kernel_name = file_name(target.as_deref().unwrap_or(Path::new(source)));
    let of_name = |name: &str| Dev::parse(&root.text(format!("/sys/class/block/{name}/dev"))?);
    of_name(&kernel_name).or_else(|| {
        let mapped = file_name(Path::new(source));
        let names = root.list("/sys/class/block");
        names
            .iter()
            .filter(|name| name.starts_with("dm-"))
            .find(|name| {
                let path = format!("/sys/class/block/{name}/dm/name");
                root.text(path).as_deref() == Some(mapped.as_str())
            })
            .and_then(|name| of_name(name))
    })
}

/// All members of the btrfs that one of `known` belongs to.
fn btrfs_members(root: &Root, known: &[Dev]) -> Option<Vec<Dev>> {
    for id in root.list("/sys/fs/btrfs") {
        let directory = format!("/sys/fs/btrfs/{id}/devices");
        let members: Vec<Dev> = root
            .list(&directory)
            .iter()
            .filter_map(|name| Dev::parse(&root.text(format!("{directory}/{name}/dev"))?))
            .collect();
        if known.iter().any(|dev| members.contains(dev)) {
            return Some(members);
        }
    }
    None
}
