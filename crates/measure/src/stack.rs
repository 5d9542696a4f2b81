//! The storage stack below a path, as plain data: what stands between a log write and the medium.
//!
//! Filled by `device::identify`, judged by `analysis`. Every fact is optional: what could not be
//! read is `None`, never a guess.

mod behind;

pub use behind::DiskBacking;

use serde::{Deserialize, Serialize};

/// What a layer is. The order of a stack is from the path downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LayerKind {
    /// A union mount; its upper directory decides.
    Overlay,
    /// A file system on a block device (ext4, xfs, btrfs, zfs, …).
    FileSystem,
    /// A file system in memory (tmpfs, ramfs).
    MemoryFileSystem,
    /// A network or shared file system (NFS, CIFS, 9p, virtiofs).
    NetworkFileSystem,
    /// A file system served by a process (FUSE).
    FuseFileSystem,
    /// dm-crypt.
    Luks,
    /// Any other device-mapper target (linear, thin, multipath, cache …).
    DeviceMapper,
    /// Linux software RAID.
    Md,
    /// A loop device on a file.
    Loop,
    /// A compressed memory disk.
    Zram,
    /// A RAM disk.
    RamDisk,
    /// A partition.
    Partition,
    /// A disk, physical or virtual.
    Disk,
}

impl LayerKind {
    /// Its name in words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            LayerKind::Overlay => "overlay",
            LayerKind::FileSystem => "file system",
            LayerKind::MemoryFileSystem => "file system in memory",
            LayerKind::NetworkFileSystem => "network file system",
            LayerKind::FuseFileSystem => "FUSE file system",
            LayerKind::Luks => "encryption",
            LayerKind::DeviceMapper => "device mapper",
            LayerKind::Md => "software RAID",
            LayerKind::Loop => "loop device",
            LayerKind::Zram => "compressed memory disk",
            LayerKind::RamDisk => "RAM disk",
            LayerKind::Partition => "partition",
            LayerKind::Disk => "disk",
        }
    }
}

/// One layer with what could be read of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// What it is.
    pub kind: LayerKind,
    /// Its name: file system type, or the kernel's device name.
    pub name: String,
    /// `major:minor` where it is a block device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dev: Option<String>,
    /// Mount point of a file system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_point: Option<String>,
    /// Mount source as the kernel names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Mount and super-block options; of md, zram and loop devices the settings that bear on
    /// durability or speed, as `name=value` (`consistency_policy=bitmap`, `dio=0`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Backing file of a loop device, upper directory of an overlay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backing: Option<String>,
    /// RAID level, device-mapper target, transport (nvme, sata, virtio, …).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Model as the device reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Vendor as the device reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Firmware revision as the device reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Serial number as the device reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// World-wide identity as the device reports it (NVMe, SCSI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wwid: Option<String>,
    /// Driver of the host adapter that a SCSI or SATA disk hangs on (`ahci`, `megaraid_sas`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<String>,
    /// Logical block size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logical_block_bytes: Option<u64>,
    /// Physical block size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub physical_block_bytes: Option<u64>,
    /// Largest write that the device promises not to tear, in bytes (0: none).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atomic_write_bytes: Option<u64>,
    /// Where a partition begins on its disk, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_bytes: Option<u64>,
    /// `queue/write_cache` as the kernel shows it (`write back`, `write through`); an
    /// administrator can write this file, so it is never sole evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_cache: Option<String>,
    /// `cache_type` as the disk driver shows it: of SCSI disks WCE as last read *or as an
    /// administrator set it*, so no sole evidence either; of virtio disks what the host says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_type: Option<String>,
    /// What the drive reports of its volatile cache (NVMe VWC, SCSI WCE, virtio), only where no
    /// administrator's setting can stand in for it. Of a virtual disk it is the host's claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_write_cache: Option<bool>,
    /// Forced unit access is supported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fua: Option<bool>,
    /// It turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rotational: Option<bool>,
    /// T10 protection information format; `none` when it can be formatted with it but isn't.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integrity: Option<String>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// A file system that writes elsewhere instead of in place, at this path (btrfs: minus
    /// `nodatacow` and the no-copy attribute).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_on_write: Option<bool>,
}

impl Layer {
    /// A layer of which nothing is known but kind and name.
    #[must_use]
    pub fn new(kind: LayerKind, name: impl Into<String>) -> Layer {
        Layer {
            kind,
            name: name.into(),
            dev: None,
            mount_point: None,
            source: None,
            options: Vec::new(),
            backing: None,
            detail: None,
            model: None,
            vendor: None,
            firmware: None,
            serial: None,
            wwid: None,
            controller: None,
            logical_block_bytes: None,
            physical_block_bytes: None,
            atomic_write_bytes: None,
            start_bytes: None,
            write_cache: None,
            cache_type: None,
            drive_write_cache: None,
            fua: None,
            rotational: None,
            integrity: None,
            size_bytes: None,
            copy_on_write: None,
        }
    }
}

/// The whole stack below a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stack {
    /// Layers from the path downwards. A branching layer (RAID, overlay on several) lists its
    /// members one after the other, each with `depth` in [`Stack::depths`].
    pub layers: Vec<Layer>,
    /// Depth of each layer, same length as `layers`.
    pub depths: Vec<usize>,
    /// Name of the hypervisor, when one is seen.
    pub hypervisor: Option<String>,
    /// A library preloaded into this process that makes flushes lie (eatmydata).
    pub preload: Option<String>,
    /// What could not be read, in words.
    pub unknown: Vec<String>,
    /// RAID controllers, as their own tool reports them (storcli, perccli, ssacli).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controllers: Vec<ControllerCache>,
    /// What the user declares of the storage (`--declare`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub declared: Vec<Declaration>,
}

/// The write cache of a RAID controller, as its own tool reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerCache {
    /// The tool, and the controller's model where it says so.
    pub name: String,
    /// State of battery or flash backup in the tool's word (`Optimal`, `OK`, `Failed`); `None`
    /// where none is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protection: Option<String>,
    /// That state is the sound one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<bool>,
    /// Bytes of the cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_bytes: Option<u64>,
    /// Some volume writes back whatever its battery says (`AWB`, no-battery write cache).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forced_write_back: Option<bool>,
    /// Its cache is switched off, so that writes wait for the disks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_through: Option<bool>,
    /// The caches of the disks behind it are on: nothing protects those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive_caches: Option<bool>,
}

/// What a user can declare of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Every drive below keeps its cache over power loss.
    Plp,
    /// The controller's write cache is kept by a battery or flash backup that is in order, and
    /// the caches of its disks are off.
    Battery,
}

/// A declaration, and what it rests on in the user's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// What is declared.
    pub protection: Protection,
    /// Data sheet, inspection, contract; empty where nothing was named.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub basis: String,
}
