//! The machinery behind a disk: RAID controllers and cloud volumes, by the names that they give.
//!
//! What it must not know: what follows from it for a commit.

use super::{Layer, LayerKind, Stack};

/// The machinery behind a disk, as its model and its driver name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskBacking {
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

impl Layer {
    /// The machinery behind a disk, by its model and its driver.
    #[must_use]
    pub fn behind(&self) -> DiskBacking {
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
        let model = self.model.as_deref().unwrap_or("").to_ascii_uppercase();
        let any = |names: &[&str]| names.iter().any(|n| model.contains(n));
        let driver = self.controller.as_deref().unwrap_or("");
        match () {
            () if any(CLOUD) => DiskBacking::CloudVolume,
            () if any(INSTANCE) => DiskBacking::InstanceStore,
            () if any(CONTROLLERS) || CONTROLLER_DRIVERS.contains(&driver) => {
                DiskBacking::Controller
            }
            () => DiskBacking::Plain,
        }
    }
}

impl Stack {
    /// Disks, physical or virtual.
    pub fn disks(&self) -> impl Iterator<Item = &Layer> {
        let layers = self.layers.iter();
        layers.filter(|layer| layer.kind == LayerKind::Disk)
    }

    /// Whether a disk is behind a RAID controller, which hides its disks and its cache.
    #[must_use]
    pub fn has_controller(&self) -> bool {
        self.disks()
            .any(|disk| disk.behind() == DiskBacking::Controller)
    }

    /// Whether a disk is a cloud block volume, whose rate is provisioned.
    #[must_use]
    pub fn has_cloud_volume(&self) -> bool {
        self.disks()
            .any(|disk| disk.behind() == DiskBacking::CloudVolume)
    }
}
