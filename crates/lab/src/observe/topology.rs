//! Block devices by number, and which of a stack count flushes.

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
