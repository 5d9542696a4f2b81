//! Who uses a block device: mounts, swap, devices that stand on it, loop devices, processes. Also
//! of the disk that it is a part of, and of the partitions that it has.
//!
//! Invariants: facts only; what cannot be read is reported as such and never treated as unused.
//! What it must not know: what a device carries, and what may be done with it.

use super::Probe;
use super::block;
use super::filesystem::{device_named, devices};
use super::mountinfo::unescape;
use super::place::Place;
use super::root::{Dev, file_name, path_of};
use super::user::{Relation, Use, User};
use std::path::Path;

impl Probe {
    /// Every use of a block device that can be seen, its own first.
    #[must_use]
    pub fn uses(&self, node: Dev) -> Vec<Use> {
        let family = self.family(node);
        let mut uses = Vec::new();
        for (dev, name, relation) in &family {
            let of = |by| Use {
                device: name.clone(),
                relation: *relation,
                by,
            };
            uses.extend(self.users(*dev).into_iter().map(of));
        }
        let itself = family
            .first()
            .map_or_else(|| node.to_string(), |(_, name, _)| name.clone());
        let unknown = |what: &str| Use {
            device: itself.clone(),
            relation: Relation::Itself,
            by: User::Unknown(what.to_owned()),
        };
        if family.is_empty() {
            uses.push(unknown("sysfs does not show it"));
        }
        if !self.has_mounts || self.mounts.malformed > 0 {
            uses.push(unknown("/proc/self/mountinfo cannot be read"));
        }
        uses
    }

    /// Names in /dev of the disk that a block device is a part of, and of its partitions.
    pub(crate) fn relatives(&self, node: Dev) -> Vec<String> {
        let family = self.family(node).into_iter().skip(1);
        family.map(|(_, name, _)| name).collect()
    }

    /// The device, the disk that it is a part of, and its partitions.
    fn family(&self, node: Dev) -> Vec<(Dev, String, Relation)> {
        let root = &self.root;
        let Some(home) = block::directory(root, node) else {
            return Vec::new();
        };
        let mut family = vec![(node, name_of(&home), Relation::Itself)];
        let number = |path: &Path| Dev::parse(&root.text(path.join("dev"))?);
        if root.exists(home.join("partition")) {
            let disk = home.parent().and_then(|disk| Some((number(disk)?, disk)));
            family.extend(disk.map(|(dev, path)| (dev, name_of(path), Relation::Disk)));
        }
        for entry in root.list(&home) {
            let path = home.join(&entry);
            if root.exists(path.join("partition"))
                && let Some(dev) = number(&path)
            {
                family.push((dev, name_of(&path), Relation::Partition));
            }
        }
        family
    }

    fn users(&self, dev: Dev) -> Vec<User> {
        let root = &self.root;
        let mut users = Vec::new();
        for mount in &self.mounts.mounts {
            if devices(root, mount).contains(&dev) {
                users.push(User::Mount {
                    kind: mount.kind.clone(),
                    point: mount.point.clone(),
                });
            }
        }
        // A kernel without swap has no such file.
        let swaps = root.bytes("/proc/swaps").unwrap_or_default();
        let is_swap = swaps
            .split(|b| *b == b'\n')
            .skip(1)
            .filter_map(|line| line.split(|b| b.is_ascii_whitespace()).next())
            .map(|name| path_of(&unescape(name)))
            .any(|name| name.to_str().and_then(|name| device_named(root, name)) == Some(dev));
        users.extend(is_swap.then_some(User::Swap));
        if let Some(home) = block::directory(root, dev) {
            users.extend(
                root.list(home.join("holders"))
                    .into_iter()
                    .map(User::Holder),
            );
        }
        for name in root.list("/sys/block") {
            let behind = root.text(format!("/sys/block/{name}/loop/backing_file"));
            if behind.and_then(|file| device_named(root, &file)) == Some(dev) {
                users.push(User::Loop(name));
            }
        }
        users.extend(self.writers(dev));
        users
    }

    /// Other processes that have a device open for writing, as far as may be seen.
    fn writers(&self, dev: Dev) -> Vec<User> {
        let place = Place::block(format!("/dev/block/{dev}"), dev);
        let process = |holder: super::Holder| User::Process {
            pid: holder.pid,
            command: holder.command,
        };
        self.holders_of(&place, true)
            .found
            .into_iter()
            .map(process)
            .collect()
    }
}

/// The name under `/dev`: where the kernel writes an exclamation mark there is a directory.
fn name_of(home: &Path) -> String {
    file_name(home).replace('!', "/")
}
