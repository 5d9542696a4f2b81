//! All the file systems and unmounted disks of a machine on which a log could live.
//!
//! Invariants: each file system once, however often it is mounted; a mount that another hides is
//! left out, and so are file systems without storage (`proc`) or that cannot be written by nature
//! (`squashfs`). What is *not* suitable, such as memory, is still listed: people put logs there.

use super::Probe;
use super::filesystem::Class;
use super::mountinfo::Mount;
use super::place::Place;
use super::root::{Dev, is_numbered};
use measure::stack::Stack;
use std::collections::HashSet;
use std::path::Path;

/// File systems without storage, or never writable.
const PSEUDO: [&str; 40] = [
    "autofs",
    "bdev",
    "binder",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "cpuset",
    "cramfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "erofs",
    "fusectl",
    "fuse.gvfsd-fuse",
    "fuse.lxcfs",
    "fuse.portal",
    "hugetlbfs",
    "iso9660",
    "mqueue",
    "nfsd",
    "nsfs",
    "openpromfs",
    "pipefs",
    "proc",
    "pstore",
    "resctrl",
    "romfs",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "smackfs",
    "sockfs",
    "squashfs",
    "sysfs",
    "tracefs",
    "udf",
];

/// Devices that never carry a log: optical drives, floppies, boot areas of MMC.
const IGNORED_DISKS: [&str; 4] = ["sr", "fd", "mtdblock", "ram"];

impl Probe {
    /// One stack for each real file system, by mount point, then one for each block device that
    /// nothing stands on.
    #[must_use]
    pub fn all(&self) -> Vec<Stack> {
        let mut stacks: Vec<Stack> = self
            .real_mounts()
            .into_iter()
            .map(|mount| {
                let mut place = Place::named(&mount.point);
                place.dev = Some(mount.dev);
                place.mount_id = Some(mount.id);
                self.stack_at(&place)
            })
            .collect();
        let mut seen: HashSet<String> = HashSet::new();
        for stack in &stacks {
            seen.extend(devices(stack));
        }
        for (name, dev) in self.free_disks() {
            if !seen.contains(&dev.to_string()) {
                let stack = self.stack_at(&Place::block(format!("/dev/{name}"), dev));
                seen.extend(devices(&stack));
                stacks.extend((!stack.layers.is_empty()).then_some(stack)); // else just removed
            }
        }
        stacks
    }

    /// Mounts of distinct file systems that can be reached by their own path.
    fn real_mounts(&self) -> Vec<&Mount> {
        let mut mounts: Vec<&Mount> = self
            .mounts
            .mounts
            .iter()
            .filter(|mount| !is_pseudo(mount))
            .filter(|m| {
                self.mounts
                    .on_path(&m.point)
                    .is_some_and(|top| top.id == m.id)
            })
            .collect();
        // Of several mounts the one of the whole file system, then the shortest path.
        mounts.sort_by_key(|m| (m.root != Path::new("/"), m.point.clone()));
        let mut seen = HashSet::new();
        mounts.retain(|mount| {
            let shared = mount.dev.is_anonymous() && Class::of(&mount.kind) == Class::Block;
            // Subvolumes have a device each, but one source.
            let source = if shared {
                mount.source.clone()
            } else {
                mount.dev.to_string()
            };
            seen.insert((mount.kind.clone(), source))
        });
        mounts.sort_by(|a, b| a.point.cmp(&b.point));
        mounts
    }

    /// Whole block devices with room that no other device holds; stacked ones first, so that
    /// those below them are known by then.
    fn free_disks(&self) -> Vec<(String, Dev)> {
        let mut found = Vec::new();
        for name in self.root.list("/sys/block") {
            let at = |file: &str| format!("/sys/block/{name}/{file}");
            let empty = self
                .root
                .number(at("size"))
                .is_none_or(|sectors| sectors == 0);
            let hidden = self.root.number(at("hidden")) == Some(1);
            let held = !self.root.list(at("holders")).is_empty();
            if empty || hidden || held || is_ignored(&name) {
                continue;
            }
            if let Some(dev) = self.root.text(at("dev")).as_deref().and_then(Dev::parse) {
                let stacked = !self.root.list(at("slaves")).is_empty();
                found.push((!stacked, name.replace('!', "/"), dev));
            }
        }
        found.sort();
        found
            .into_iter()
            .map(|(_, name, dev)| (name, dev))
            .collect()
    }
}

fn devices(stack: &Stack) -> impl Iterator<Item = String> + '_ {
    stack.layers.iter().filter_map(|layer| layer.dev.clone())
}

fn is_pseudo(mount: &Mount) -> bool {
    let system = ["/proc", "/sys", "/dev", "/run"];
    let of_system = system.iter().any(|base| mount.point.starts_with(base))
        && !mount.point.starts_with("/dev/shm")
        && Class::of(&mount.kind) == Class::Memory;
    PSEUDO.contains(&mount.kind.as_str()) || of_system
}

fn is_ignored(name: &str) -> bool {
    let boot_area = name.starts_with("mmcblk") && (name.contains("boot") || name.contains("rpmb"));
    IGNORED_DISKS.iter().any(|prefix| is_numbered(name, prefix)) || boot_area
}
