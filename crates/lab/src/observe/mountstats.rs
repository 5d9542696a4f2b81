//! What the NFS client counts of a mount, from `/proc/self/mountstats`: WRITE and COMMIT requests.
//!
//! Invariant: a mount that is not listed, or without these operations, is `None`, never zero.

use measure::run::NfsRequests;
use measure::stack::{LayerKind, Stack};

/// A mount whose requests are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    mount_point: String,
}

impl Share {
    /// The NFS mount of a stack, if it has one.
    #[must_use]
    pub fn of(stack: &Stack) -> Option<Share> {
        let is_nfs = |name: &str| matches!(name, "nfs" | "nfs4");
        let share = stack
            .layers
            .iter()
            .find(|l| l.kind == LayerKind::NetworkFileSystem && is_nfs(&l.name))?;
        let mount_point = share.mount_point.clone()?;
        Some(Share { mount_point })
    }

    /// Its requests since it was mounted.
    #[must_use]
    pub fn requests(&self) -> Option<NfsRequests> {
        let text = std::fs::read("/proc/self/mountstats").ok()?;
        parse(&String::from_utf8_lossy(&text), &self.mount_point)
    }
}

/// The requests of the mount at `point`; of several on top of each other those of the last.
#[must_use]
pub fn parse(text: &str, point: &str) -> Option<NfsRequests> {
    let (mut ours, mut found) = (false, None);
    for line in text.lines() {
        if let Some(mount) = line.strip_prefix("device ") {
            ours = is_at(mount, point);
            if ours {
                found = None;
            }
            continue;
        }
        let Some((name, counts)) = line.trim().split_once(':').filter(|_| ours) else {
            continue;
        };
        // The first of an operation's numbers is how often it was asked for.
        let Some(count) = counts
            .split_whitespace()
            .next()
            .and_then(|n| n.parse::<u64>().ok())
        else {
            continue;
        };
        match name {
            "WRITE" => found.get_or_insert_with(NfsRequests::default).writes = count,
            "COMMIT" => found.get_or_insert_with(NfsRequests::default).commits = count,
            _ => {}
        }
    }
    found
}

/// `server:/export mounted on /mnt with fstype nfs4 statvers=1.1`.
fn is_at(mount: &str, point: &str) -> bool {
    let at = mount.split_once(" mounted on ").map(|(_, rest)| rest);
    let at = at.and_then(|rest| rest.split_once(" with fstype nfs"));
    at.is_some_and(|(at, _)| unescaped(at) == point)
}

/// Blanks, tabs, line ends and backslashes stand as octal numbers.
fn unescaped(text: &str) -> String {
    [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (code, sign)| {
        text.replace(code, sign)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::stack::Layer;

    const TEXT: &str = "\
device /dev/vda mounted on / with fstype ext4
device nas:/old mounted on /redo with fstype nfs statvers=1.1
\tper-op statistics
\t       WRITE: 9 9 0 1 1 1 1 1 0
device nas:/redo mounted on /redo with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,hard,proto=tcp,sec=sys
\tage:\t61
\tbytes:\t0 0 0 8192 0 8192 0 2
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 0 0 0 0 0 0 0 0 0
\t       WRITE: 1234 1240 0 5200000 180000 10 900 950 0
\t      COMMIT: 1200 1200 0 200000 120000 3 800 820 0
device nas:/a\\040b mounted on /a\\040b with fstype nfs statvers=1.1
\t       WRITE: 5 5 0 1 1 1 1 1 0
";

    #[test]
    fn operations_of_the_mount_that_is_meant() {
        let counts = |point| parse(TEXT, point).map(|r| (r.writes, r.commits));
        assert_eq!(counts("/redo"), Some((1234, 1200)));
        assert_eq!(counts("/a b"), Some((5, 0)));
        assert_eq!(counts("/"), None);
        assert_eq!(counts("/none"), None);
        assert_eq!(
            parse("device \n\tWRITE: x\n\tCOMMIT 1\nWRITE: 1", "/"),
            None
        );
    }

    #[test]
    fn a_stack_on_nfs_has_a_share() {
        let stack = |kind, name: &str| Stack {
            layers: vec![Layer {
                mount_point: Some("/redo".to_owned()),
                ..Layer::new(kind, name)
            }],
            ..Stack::default()
        };
        let share = Share::of(&stack(LayerKind::NetworkFileSystem, "nfs4")).expect("a share");
        assert_eq!(share.mount_point, "/redo");
        assert_eq!(
            Share::of(&stack(LayerKind::NetworkFileSystem, "cifs")),
            None
        );
        assert_eq!(Share::of(&stack(LayerKind::FileSystem, "xfs")), None);
    }
}
