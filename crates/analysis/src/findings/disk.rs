//! Disks at the bottom of a stack: how they are named.
//!
//! What it must not know: what their caches mean for a commit (`cache`), and what protects those
//! (`protection`).

use measure::stack::{Layer, Stack};

pub(super) use measure::stack::DiskBacking;

/// Disks, physical or virtual.
pub(super) fn disks(stack: &Stack) -> impl Iterator<Item = &Layer> {
    stack.disks()
}

/// The machinery behind a disk, by its model and its driver.
pub(super) fn behind(disk: &Layer) -> DiskBacking {
    disk.behind()
}

/// A RAID controller hides its disks and its cache.
pub(super) fn has_controller(stack: &Stack) -> bool {
    stack.has_controller()
}

/// A cloud block volume: its rate is provisioned.
pub(super) fn has_cloud_volume(stack: &Stack) -> bool {
    stack.has_cloud_volume()
}

/// What a disk is, in words.
pub(crate) fn describe(disk: &Layer) -> &'static str {
    let transport = disk.detail.as_deref().unwrap_or("");
    let name = disk.name.as_str();
    match (transport, disk.rotational) {
        ("virtio", _) => "virtual disk (virtio)",
        ("xen", _) => "virtual disk (Xen)",
        _ if name.starts_with("vd") => "virtual disk (virtio)",
        _ if name.starts_with("xvd") => "virtual disk (Xen)",
        ("nvme", _) => "NVMe drive",
        _ if name.starts_with("nvme") => "NVMe drive",
        _ if name.starts_with("pmem") => "persistent memory",
        (_, Some(true)) => "rotating disk",
        (_, Some(false)) => "solid-state drive",
        _ => "disk of unknown kind",
    }
}

/// Its indefinite article.
pub(super) fn article(disk: &Layer) -> &'static str {
    if describe(disk).starts_with('N') {
        "an"
    } else {
        "a"
    }
}

/// Name and model.
pub(super) fn named(disk: &Layer) -> String {
    match &disk.model {
        Some(model) => format!("{} ({})", disk.name, model.trim()),
        None => disk.name.clone(),
    }
}
