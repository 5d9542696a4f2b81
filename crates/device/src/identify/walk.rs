//! The walk from a path down to the disks, and the devices to watch on the way.
//!
//! Invariants: a layer's members follow it, one deeper; the walk ends whatever the recording
//! says, because depth and number of layers are bounded; every end that is not a disk or memory
//! is said in [`Stack::unknown`].

use super::Probe;
use super::block::{self, Below};
use super::filesystem::{self, Class};
use super::hypervisor;
use super::mountinfo::Mount;
use super::place::Place;
use super::root::Dev;
use measure::stack::{Layer, LayerKind, Stack};
use std::path::Path;

/// Far deeper than real stacks: file system, LUKS, thin volume, pool, RAID, partition, disk.
const MAX_DEPTH: usize = 32;
/// Far more than real stacks, but for wide arrays.
const MAX_LAYERS: usize = 512;

impl Probe {
    /// The stack below a place that the caller knows.
    #[must_use]
    pub fn stack_at(&self, place: &Place) -> Stack {
        let mut walk = Walk {
            probe: self,
            stack: Stack::default(),
        };
        if !self.has_mounts {
            walk.unknown("/proc/self/mountinfo cannot be read");
        } else if self.mounts.malformed > 0 {
            let lines = self.mounts.malformed;
            walk.unknown(format!(
                "{lines} lines of /proc/self/mountinfo are not understood"
            ));
        }
        walk.place(place, 0);
        let mut stack = walk.stack;
        stack.hypervisor = hypervisor::hypervisor(&self.root)
            .or_else(|| virtual_disk(&stack).then(|| hypervisor::UNNAMED.to_owned()));
        stack.preload = hypervisor::preload(&self.root, self.preload.as_deref());
        stack
    }
}

fn virtual_disk(stack: &Stack) -> bool {
    let virtual_transports = ["virtio", "virtio-scsi", "xen", "hyperv"];
    let of_host = |layer: &Layer| layer.name == "virtiofs" || layer.name == "vboxsf";
    stack.layers.iter().any(|layer| {
        let transport = layer.detail.as_deref().unwrap_or_default();
        virtual_transports.contains(&transport) || of_host(layer)
    })
}

struct Walk<'a> {
    probe: &'a Probe,
    stack: Stack,
}

impl Walk<'_> {
    fn unknown(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.stack.unknown.contains(&what) {
            self.stack.unknown.push(what);
        }
    }

    /// Takes a layer; false when the stack is full.
    fn push(&mut self, layer: Layer, depth: usize) -> bool {
        if depth >= MAX_DEPTH || self.stack.layers.len() >= MAX_LAYERS {
            self.unknown(format!(
                "{}: too deep or too wide; what lies below is left out",
                layer.name
            ));
            return false;
        }
        self.stack.layers.push(layer);
        self.stack.depths.push(depth);
        true
    }

    fn place(&mut self, place: &Place, depth: usize) {
        if let Some(node) = place.node {
            return self.block(node, depth);
        }
        let probe = self.probe;
        match probe.mounts.find(&place.path, place.dev, place.mount_id) {
            Some(mount) => self.file_system(mount, place, depth),
            None => {
                self.unknown(format!("{}: its mount is not listed", place.path.display()));
                if let Some(dev) = place.dev.filter(|dev| !dev.is_anonymous()) {
                    self.block(dev, depth);
                }
            }
        }
    }

    fn file_system(&mut self, mount: &Mount, place: &Place, depth: usize) {
        let class = Class::of(&mount.kind);
        let mut layer = filesystem::layer_of(mount, class);
        layer.copy_on_write = filesystem::copy_on_write(mount, place, self.probe.root.is_live());
        let (kind, source) = (mount.kind.as_str(), mount.source.as_str());
        let point = mount.point.display();
        if !self.push(layer, depth) {
            return;
        }
        match class {
            Class::Memory => {}
            Class::Network => self.unknown(format!(
                "{point}: {kind} from {source}: the storage that serves it cannot be seen from here"
            )),
            Class::Overlay => match mount.option("upperdir") {
                Some(upper) => self.upper(mount, upper, depth + 1),
                None => self.unknown(format!("{point}: an overlay without an upper directory")),
            },
            Class::Stacked => self.upper(mount, source, depth + 1),
            Class::Pool => self.unknown(format!(
                "{point}: the devices of the pool of {source} and its sync property are not shown \
                 by the kernel; `zfs get sync,recordsize,logbias {source}` and `zpool status` do"
            )),
            Class::Fuse if mount.dev.is_anonymous() => self.unknown(format!(
                "{point}: {kind}: what its process does with writes and flushes cannot be seen"
            )),
            Class::Fuse | Class::Block => self.devices(mount, depth + 1),
        }
    }

    fn devices(&mut self, mount: &Mount, depth: usize) {
        let devices = filesystem::devices(&self.probe.root, mount);
        if devices.is_empty() {
            self.unknown(format!(
                "{}: no block device is seen behind {} ({})",
                mount.point.display(),
                mount.source,
                mount.kind
            ));
        }
        for dev in devices {
            self.block(dev, depth);
        }
    }

    /// The directory that another file system keeps its files in. In a container the path means
    /// something on the host, so it is followed only where it leads away from `mount`.
    fn upper(&mut self, mount: &Mount, directory: &str, depth: usize) {
        let probe = self.probe;
        let path = Path::new(directory);
        let place = Place::lookup(&probe.root, path).filter(|place| {
            let found = probe.mounts.find(&place.path, place.dev, place.mount_id);
            place.path.is_absolute() && found.is_some_and(|found| found.id != mount.id)
        });
        match place {
            Some(place) => self.place(&place, depth),
            None => self.unknown(format!(
                "{}: its directory {directory} is not visible from here",
                mount.point.display()
            )),
        }
    }

    fn block(&mut self, dev: Dev, depth: usize) {
        let Some(block) = block::read(&self.probe.root, dev) else {
            self.unknown(format!("block device {dev} is not shown in /sys/dev/block"));
            return;
        };
        let name = block.layer.name.clone();
        if !self.push(block.layer, depth) {
            return;
        }
        for what in block.unknown {
            self.unknown(what);
        }
        for below in block.below {
            match below {
                Below::Device(below) => self.block(below, depth + 1),
                Below::File(file) => self.backing_file(&name, &file, depth + 1),
            }
        }
    }

    fn backing_file(&mut self, name: &str, file: &Path, depth: usize) {
        let root = &self.probe.root;
        let directory = || file.parent().and_then(|dir| Place::lookup(root, dir));
        match Place::lookup(root, file).or_else(directory) {
            Some(place) => self.place(&place, depth),
            None => self.unknown(format!(
                "{name}: its file {} is not visible from here",
                file.display()
            )),
        }
    }
}

/// A block device as the kernel's I/O counters name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    /// Its number.
    pub dev: Dev,
    /// Its name in `/proc/diskstats`.
    pub name: String,
}

/// The devices whose counters tell of the I/O of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Those directly below the file system, partitions among them. More than one only for file
    /// systems that span devices.
    pub own: Vec<BlockDevice>,
    /// The same, with the whole disk instead of a partition: a device-mapper device stays. Flushes
    /// are counted here and not in partitions.
    pub whole: Vec<BlockDevice>,
    /// The disks at the bottom.
    pub disks: Vec<BlockDevice>,
}

impl Watched {
    /// From a stack; `None` when it has no block device.
    #[must_use]
    pub fn of(stack: &Stack) -> Option<Watched> {
        let mut watched = Watched {
            own: Vec::new(),
            whole: Vec::new(),
            disks: Vec::new(),
        };
        let mut inside: Option<usize> = None;
        let layers: Vec<(&Layer, usize)> = stack
            .layers
            .iter()
            .zip(stack.depths.iter().copied())
            .collect();
        for (at, (layer, depth)) in layers.iter().enumerate() {
            let Some(device) = block_device(layer) else {
                continue;
            };
            if layer.kind == LayerKind::Disk {
                add(&mut watched.disks, device.clone());
            }
            if inside.is_some_and(|top| *depth > top) {
                continue;
            }
            inside = Some(*depth);
            let below = layers.get(at + 1).filter(|(_, next)| next > depth);
            let disk = below.and_then(|(next, _)| block_device(next));
            let whole = match layer.kind {
                LayerKind::Partition => disk.unwrap_or_else(|| device.clone()),
                _ => device.clone(),
            };
            add(&mut watched.whole, whole);
            add(&mut watched.own, device);
        }
        (!watched.own.is_empty()).then_some(watched)
    }
}

fn add(list: &mut Vec<BlockDevice>, device: BlockDevice) {
    if !list.contains(&device) {
        list.push(device);
    }
}

fn block_device(layer: &Layer) -> Option<BlockDevice> {
    use LayerKind::{FileSystem, FuseFileSystem, MemoryFileSystem, NetworkFileSystem, Overlay};
    let file_systems = [
        FileSystem,
        FuseFileSystem,
        MemoryFileSystem,
        NetworkFileSystem,
        Overlay,
    ];
    if file_systems.contains(&layer.kind) {
        return None;
    }
    Some(BlockDevice {
        dev: Dev::parse(layer.dev.as_deref()?)?,
        name: layer.name.clone(),
    })
}
