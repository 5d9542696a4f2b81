//! Block devices by number, and which disks lie under which device.

use measure::stack::{LayerKind, Stack};
use std::io;
use std::path::{Path, PathBuf};

/// A block device's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DevNo {
    /// Major number.
    pub major: u32,
    /// Minor number.
    pub minor: u32,
}

impl DevNo {
    /// Parses `major:minor`.
    #[must_use]
    pub fn parse(text: &str) -> Option<DevNo> {
        let (major, minor) = text.trim().split_once(':')?;
        let (major, minor) = (major.parse().ok()?, minor.parse().ok()?);
        Some(DevNo { major, minor })
    }
}

impl std::fmt::Display for DevNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// The directory of the disk that `dev` is, or is a partition of.
pub(super) fn whole_disk(sys: &Path, dev: DevNo) -> io::Result<PathBuf> {
    let folder = sys.join(dev.to_string()).canonicalize()?;
    match folder.parent() {
        Some(parent) if folder.join("partition").exists() => Ok(parent.to_owned()),
        _ => Ok(folder),
    }
}

/// The whole disks under a block device: itself, the disk of a partition, or what device-mapper
/// and RAID are made of. Empty for what is no block device.
#[must_use]
pub fn disks_under(dev: DevNo) -> Vec<DevNo> {
    let mut found = Vec::new();
    collect_disks(Path::new("/sys/dev/block"), dev, MAPPER_DEPTH, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

/// Deepest nesting of mapped devices that is followed.
const MAPPER_DEPTH: u32 = 16;

fn collect_disks(sys: &Path, dev: DevNo, depth: u32, found: &mut Vec<DevNo>) {
    let Ok(folder) = whole_disk(sys, dev) else {
        return;
    };
    let number = |path: PathBuf| DevNo::parse(&std::fs::read_to_string(path.join("dev")).ok()?);
    let members: Vec<DevNo> = std::fs::read_dir(folder.join("slaves"))
        .into_iter()
        .flatten()
        .filter_map(|entry| number(entry.ok()?.path()))
        .collect();
    if members.is_empty() || depth == 0 {
        found.extend(number(folder));
    }
    for member in members {
        if depth > 0 {
            collect_disks(sys, member, depth - 1, found);
        }
    }
}

/// The devices of a stack whose own counters tell of flushes: going down from the path, the first
/// disk or loop device on each branch. Empty for anonymous and network file systems, several for
/// RAID.
#[must_use]
pub fn counted_devices(stack: &Stack) -> Vec<DevNo> {
    let mut found: Vec<DevNo> = Vec::new();
    let mut below: Option<usize> = None;
    for (i, layer) in stack.layers.iter().enumerate() {
        let depth = stack.depths.get(i).copied().unwrap_or(i);
        if below.is_some_and(|taken| depth > taken) {
            continue;
        }
        below = None;
        let counts = matches!(layer.kind, LayerKind::Disk | LayerKind::Loop);
        let dev = layer.dev.as_deref().and_then(DevNo::parse);
        if let (true, Some(dev)) = (counts, dev) {
            below = Some(depth);
            if !found.contains(&dev) {
                found.push(dev);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::stack::Layer;

    #[test]
    fn mapped_devices_lead_to_their_disks() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let block = dir.path().join("block");
        std::fs::create_dir_all(&block).expect("creates");
        let make = |path: &str, dev: &str| {
            let folder = dir.path().join(path);
            std::fs::create_dir_all(folder.join("slaves")).expect("creates");
            std::fs::write(folder.join("dev"), dev).expect("writes");
            std::os::unix::fs::symlink(&folder, block.join(dev)).expect("links");
            folder
        };
        let (sda, sdb) = (make("sda", "8:0"), make("sdb", "8:16"));
        let part = make("sda/sda1", "8:1");
        std::fs::write(part.join("partition"), "1").expect("writes");
        let (md, dm) = (make("md0", "9:0"), make("dm-0", "253:0"));
        for (above, below, name) in [(&md, &part, "sda1"), (&md, &sdb, "sdb"), (&dm, &md, "md0")] {
            std::os::unix::fs::symlink(below, above.join("slaves").join(name)).expect("links");
        }
        // A loop that no kernel makes must end all the same.
        std::os::unix::fs::symlink(&sda, sda.join("slaves/self")).expect("links");
        for (dev, want) in [
            ("8:16", vec!["8:16"]),
            ("253:0", vec!["8:0", "8:16"]),
            ("1:1", vec![]),
        ] {
            let mut found = Vec::new();
            collect_disks(&block, DevNo::parse(dev).expect("a number"), 16, &mut found);
            found.sort_unstable();
            found.dedup();
            let got: Vec<String> = found.iter().map(DevNo::to_string).collect();
            assert_eq!(got, want, "{dev}");
        }
    }

    #[test]
    fn flushes_are_counted_below_mappers_and_above_backing_disks() {
        let layer = |kind, dev: &str| Layer {
            dev: Some(dev.to_owned()),
            ..Layer::new(kind, "x")
        };
        use LayerKind::{DeviceMapper, Disk, FileSystem, Loop, Md, NetworkFileSystem, Partition};
        for (what, layers, depths, want) in [
            (
                "plain",
                vec![(FileSystem, "254:1"), (Partition, "254:1"), (Disk, "254:0")],
                vec![0, 1, 2],
                vec!["254:0"],
            ),
            (
                "loop",
                vec![(Loop, "7:0"), (FileSystem, "254:0"), (Disk, "254:0")],
                vec![0, 1, 2],
                vec!["7:0"],
            ),
            (
                "raid",
                vec![
                    (Md, "9:0"),
                    (Partition, "8:1"),
                    (Disk, "8:0"),
                    (Disk, "8:16"),
                ],
                vec![0, 1, 2, 1],
                vec!["8:0", "8:16"],
            ),
            (
                "lvm",
                vec![(DeviceMapper, "253:0"), (Disk, "8:0")],
                vec![0, 1],
                vec!["8:0"],
            ),
            ("nfs", vec![(NetworkFileSystem, "0:50")], vec![0], vec![]),
        ] {
            let stack = Stack {
                layers: layers.into_iter().map(|(k, d)| layer(k, d)).collect(),
                depths,
                ..Stack::default()
            };
            let got: Vec<String> = counted_devices(&stack)
                .iter()
                .map(DevNo::to_string)
                .collect();
            assert_eq!(got, want, "{what}");
        }
    }
}
