//! Disks at the bottom of a stack: which they are, what is behind them, and how they are named.
//!
//! What it must not know: what their caches mean for a commit (`cache`), and what protects those
//! (`protection`).

use measure::stack::{Layer, LayerKind, Stack};

/// Disks, physical or virtual.
pub(super) fn disks(stack: &Stack) -> impl Iterator<Item = &Layer> {
    stack.layers.iter().filter(|l| l.kind == LayerKind::Disk)
}

/// What a disk's model says of the machinery behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskBacking {
    /// A RAID controller with a cache of its own.
    Controller,
    /// A block volume of a cloud, on a network.
    CloudVolume,
    /// A disk of the cloud host.
    InstanceStore,
    /// Nothing that is known.
    Plain,
}

/// Drivers of RAID controllers with a write cache. `smartpqi` and `mpt3sas` also serve adapters
/// without one; their volumes show by their models.
const CONTROLLER_DRIVERS: &[&str] = &[
    "megaraid_sas",
    "hpsa",
    "cciss",
    "aacraid",
    "arcmsr",
    "3w-sas",
];

/// What stands behind a disk, by its model and its driver.
pub(super) fn behind(disk: &Layer) -> DiskBacking {
    const CONTROLLERS: &[&str] = &[
        "PERC",
        "MEGARAID",
        "SERVERAID",
        "LOGICAL VOLUME",
        "SMART ARRAY",
        "RAID",
        "AVAGO",
        "MR9",
        "SMC3108",
        "SMC3916",
    ];
    const INSTANCE: &[&str] = &["INSTANCE STORAGE", "EPHEMERALDISK", "NVME_CARD"];
    const CLOUD: &[&str] = &[
        "ELASTIC BLOCK STORE",
        "PERSISTENTDISK",
        "NVME_CARD-PD",
        "BLOCKVOLUME",
        "ALIBABA CLOUD",
        "VIRTUAL DISK",
        "HYPERDISK",
        "MSFT NVME ACCELERATOR",
    ];
    let model = disk.model.as_deref().unwrap_or("").to_ascii_uppercase();
    let any = |names: &[&str]| names.iter().any(|n| model.contains(n));
    let driver = disk.controller.as_deref().unwrap_or("");
    match () {
        () if any(CLOUD) => DiskBacking::CloudVolume,
        () if any(INSTANCE) => DiskBacking::InstanceStore,
        () if any(CONTROLLERS) || CONTROLLER_DRIVERS.contains(&driver) => DiskBacking::Controller,
        () => DiskBacking::Plain,
    }
}

/// A RAID controller hides its disks and its cache.
#[must_use]
pub fn has_controller(stack: &Stack) -> bool {
    disks(stack).any(|d| behind(d) == DiskBacking::Controller)
}

/// A cloud block volume: its rate is provisioned.
pub(super) fn has_cloud_volume(stack: &Stack) -> bool {
    disks(stack).any(|d| behind(d) == DiskBacking::CloudVolume)
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
