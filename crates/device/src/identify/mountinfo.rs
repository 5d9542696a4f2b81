//! `/proc/self/mountinfo`: parsing it, and finding the mount that a path is on.
//!
//! Invariants: no line makes it panic; a line that cannot be understood is counted, not guessed
//! at. Paths stay bytes until they are shown, since mount points need not be UTF-8.
//! Format: proc_pid_mountinfo(5).

use super::root::{Dev, path_of};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The kernel's id of the mount; reused after unmounting.
    pub id: u64,
    /// The mount that it stands on.
    pub parent: u64,
    /// `st_dev` of its files, but for file systems with several (btrfs).
    pub dev: Dev,
    /// The directory of the file system that is mounted: other than `/` in a bind mount.
    pub root: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// File system type, with a subtype after a dot (`fuse.sshfs`).
    pub kind: String,
    /// What is mounted: a device, a dataset, an export, or anything.
    pub source: String,
    /// Options of the mount and of the super block, without repetition.
    pub options: Vec<String>,
}

impl Mount {
    /// The value of `name=value`.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// A flag among the options.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.options.iter().any(|option| option == flag)
    }
}

/// The mount table, in the kernel's order.
#[derive(Clone, Debug, Default)]
pub struct MountTable {
    /// The mounts.
    pub mounts: Vec<Mount>,
    /// Lines that were not understood.
    pub malformed: usize,
}

impl MountTable {
    /// Parses the whole file.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> MountTable {
        let mut table = MountTable::default();
        for line in bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            match parse_line(line) {
                Some(mount) => table.mounts.push(mount),
                None => table.malformed += 1,
            }
        }
        table
    }

    /// The mount with this id.
    #[must_use]
    pub fn by_id(&self, id: u64) -> Option<&Mount> {
        self.mounts.iter().find(|mount| mount.id == id)
    }

    /// The mount that a walk along an absolute path ends on: from the root mount through its
    /// children, so that what a later mount hides is not found. Of mounts on the same point the
    /// last wins.
    #[must_use]
    pub fn on_path(&self, path: &Path) -> Option<&Mount> {
        let Some(mut here) = self.root_mount() else {
            return self.longest(path, |_| true);
        };
        let mut seen = HashSet::from([here.id]);
        while let Some(next) = self.first_child_on(here, path) {
            if !seen.insert(next.id) {
                break; // a cycle can only be a damaged recording
            }
            here = next;
        }
        path.starts_with(&here.point).then_some(here)
    }

    /// The mount of a file: by its mount id where the kernel reports it, else by its path, checked
    /// against its device number.
    #[must_use]
    pub fn find(&self, path: &Path, dev: Option<Dev>, id: Option<u64>) -> Option<&Mount> {
        if let Some(mount) = id.and_then(|id| self.by_id(id)) {
            return Some(mount);
        }
        let walked = self.on_path(path);
        match (walked, dev) {
            (Some(mount), Some(dev)) if mount.dev != dev => {
                self.longest(path, |m| m.dev == dev).or(walked)
            }
            _ => walked,
        }
    }

    /// The mount of `/` that stands on no other of the table: ids of parents outside of a
    /// container's view are not listed.
    fn root_mount(&self) -> Option<&Mount> {
        let at_root = |mount: &&Mount| mount.point == Path::new("/");
        self.mounts
            .iter()
            .filter(at_root)
            .find(|m| m.parent == m.id || self.by_id(m.parent).is_none())
            .or_else(|| self.mounts.iter().find(at_root))
    }

    /// The first mount met on the way down `path` from `here`.
    fn first_child_on(&self, here: &Mount, path: &Path) -> Option<&Mount> {
        let depth = |mount: &Mount| mount.point.components().count();
        let mut best: Option<&Mount> = None;
        for mount in &self.mounts {
            let child = mount.parent == here.id && mount.id != here.id;
            if child && path.starts_with(&mount.point) && mount.point.starts_with(&here.point) {
                // Not `<`: of two on the same point the later hides the earlier.
                if best.is_none_or(|b| depth(mount) <= depth(b)) {
                    best = Some(mount);
                }
            }
        }
        best
    }

    fn longest(&self, path: &Path, wanted: impl Fn(&Mount) -> bool) -> Option<&Mount> {
        self.mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.point) && wanted(mount))
            .max_by_key(|mount| mount.point.components().count()) // the last of equals
    }
}

/// `id parent major:minor root point options [optional…] - type source super-options`
fn parse_line(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|b| *b == b' ').filter(|f| !f.is_empty());
    let mut next = || fields.next();
    let id = text(next()?).parse().ok()?;
    let parent = text(next()?).parse().ok()?;
    let dev = Dev::parse(&text(next()?))?;
    let root = path_of(&unescape(next()?));
    let point = path_of(&unescape(next()?));
    let options = next()?;
    while next()? != b"-" {}
    let kind = text(&unescape(next()?));
    // An empty source is written as nothing between two spaces by some file systems, so that
    // only one field is left: it is the super block's options.
    let (source, super_options) = match (next(), next()) {
        (Some(source), Some(options)) => (source, options),
        (Some(options), None) => (&b""[..], options),
        _ => return None,
    };
    let mut all: Vec<String> = Vec::new();
    for list in [options, super_options] {
        for option in list.split(|b| *b == b',').filter(|o| !o.is_empty()) {
            let option = text(&unescape(option));
            if !all.contains(&option) {
                all.push(option);
            }
        }
    }
    Some(Mount {
        id,
        parent,
        dev,
        root,
        point,
        kind,
        source: text(&unescape(source)),
        options: all,
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Undoes the kernel's octal escapes (`\040`); anything else stays as it is.
pub(super) fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match (first, tail) {
            (
                b'\\',
                [
                    a @ b'0'..=b'3',
                    b @ b'0'..=b'7',
                    c @ b'0'..=b'7',
                    after @ ..,
                ],
            ) => {
                out.push(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'));
                rest = after;
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_damage_is_kept() {
        for (escaped, plain) in [
            (&b"/a\\040b"[..], &b"/a b"[..]),
            (b"\\134\\012\\011\\043", b"\\\n\t#"),
            (b"\\04", b"\\04"),
            (b"\\999\\", b"\\999\\"),
            (b"\\777", b"\\777"),
            (b"\\303\\244", "ä".as_bytes()),
        ] {
            assert_eq!(unescape(escaped), plain, "{}", escaped.escape_ascii());
        }
    }

    #[test]
    fn optional_fields_and_empty_sources() {
        let table = MountTable::parse(
            b"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:2 - ext3 /dev/root \
              rw,errors=continue\n\
              37 36 0:40 / /none rw - tmpfs  rw,size=4k\n",
        );
        assert_eq!(table.malformed, 0);
        let first = table.by_id(36).expect("parsed");
        assert_eq!(
            first.dev,
            Dev {
                major: 98,
                minor: 0
            }
        );
        assert_eq!(first.root, Path::new("/mnt1"));
        assert_eq!(first.source, "/dev/root");
        assert_eq!(first.options, ["rw", "noatime", "errors=continue"]);
        assert_eq!(first.option("errors"), Some("continue"));
        assert!(first.has("noatime") && !first.has("noat"));
        let second = table.by_id(37).expect("parsed");
        assert_eq!(
            (second.source.as_str(), second.option("size")),
            ("", Some("4k"))
        );
    }

    #[test]
    fn damage_is_counted() {
        let whole = b"36 35 98:0 / /mnt rw shared:2 - ext3 /dev/root rw";
        for cut in 1..whole.len() {
            let _ = MountTable::parse(&whole[..cut]);
        }
        let table = MountTable::parse(
            b"x 35 98:0 / /m rw - ext3 s rw\n36 35 98 / /m rw - ext3 s rw\n\xff\xfe\n\
              36 35 9:9 / /m rw\n",
        );
        assert_eq!((table.mounts.len(), table.malformed), (0, 4));
    }

    fn table(lines: &[&str]) -> MountTable {
        let table = MountTable::parse(lines.join("\n").as_bytes());
        assert_eq!(table.malformed, 0);
        table
    }

    #[test]
    fn a_path_is_walked_as_the_kernel_does() {
        let table = table(&[
            "20 1 8:1 / / rw - ext4 /dev/sda1 rw",
            "21 20 8:2 / /a/b rw - ext4 /dev/sda2 rw",
            "22 20 8:3 / /a rw - xfs /dev/sda3 rw", // hides 21
            "23 20 8:4 / /c rw - ext4 /dev/sda4 rw",
            "24 23 8:5 / /c rw - ext4 /dev/sda5 rw", // on top of 23
            "25 24 8:1 /srv /c/srv rw - ext4 /dev/sda1 rw",
            "26 20 8:6 / /d rw - ext4 /dev/sda6 rw",
            "27 20 8:7 / /d rw - ext4 /dev/sda7 rw", // the same parent: the last wins
            "28 20 8:8 / /with\\040space rw - ext4 /dev/sda8 rw",
        ]);
        for (path, id) in [
            ("/", 20),
            ("/a/b/x", 22),
            ("/ab", 20),
            ("/c/x", 24),
            ("/c/srv/x", 25),
            ("/d", 27),
            ("/with space/log", 28),
            ("/with", 20),
        ] {
            let found = table.on_path(Path::new(path)).map(|m| m.id);
            assert_eq!(found, Some(id), "{path}");
        }
        let hidden = Dev { major: 8, minor: 2 };
        let by_dev = table.find(Path::new("/a/b/x"), Some(hidden), None);
        assert_eq!(by_dev.map(|m| m.id), Some(21), "an old descriptor's device");
        let by_id = table.find(Path::new("/a"), Some(hidden), Some(23));
        assert_eq!(by_id.map(|m| m.id), Some(23), "the mount id decides");
        let unlisted = Dev {
            major: 0,
            minor: 99,
        };
        let btrfs = table.find(Path::new("/c"), Some(unlisted), Some(999));
        assert_eq!(
            btrfs.map(|m| m.id),
            Some(24),
            "subvolumes have devices of their own"
        );
    }

    #[test]
    fn a_table_without_root_falls_back_to_the_longest_prefix() {
        let table = table(&[
            "30 29 8:1 / /data rw - ext4 /dev/sda1 rw",
            "31 29 8:2 / /data/pg rw - ext4 /dev/sda2 rw",
        ]);
        let found = table.on_path(Path::new("/data/pg/wal")).map(|m| m.id);
        assert_eq!(found, Some(31));
        assert!(table.on_path(Path::new("/other")).is_none());
    }

    /// Bytes exchanged at random: parsed or counted, and every walk ends.
    #[test]
    fn no_damage_makes_it_panic() {
        let seed = 0x5eed_2024_u64;
        println!("seed {seed:#x}");
        let whole = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            21 20 0:40 / /a\\040b rw shared:1 - overlay o rw,upperdir=/x\n\
            22 21 8:2 /r /a\\040b/c rw - xfs /dev/sda2 rw,logdev=/dev/sdb\n";
        let mut state = seed;
        let mut next = |below: usize| {
            // Knuth's MMIX generator; the high bits are the good ones.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(state >> 33).expect("31 bits") % below
        };
        for _ in 0..5_000 {
            let mut damaged = whole.to_vec();
            for _ in 0..=next(8) {
                let at = next(damaged.len());
                let other = *damaged.get(next(whole.len())).expect("within the text");
                *damaged.get_mut(at).expect("within the text") = other;
            }
            let lines = damaged
                .split(|b| *b == b'\n')
                .filter(|l| !l.is_empty())
                .count();
            let table = MountTable::parse(&damaged);
            assert_eq!(table.mounts.len() + table.malformed, lines);
            let found = table.on_path(Path::new("/a b/c/d"));
            assert!(found.is_none_or(|m| Path::new("/a b/c/d").starts_with(&m.point)));
        }
    }

    #[test]
    fn cycles_end() {
        let table = table(&[
            "1 2 8:1 / / rw - ext4 /dev/sda1 rw",
            "2 1 8:2 / / rw - ext4 /dev/sda2 rw",
        ]);
        assert!(table.on_path(Path::new("/x")).is_some());
    }
}
