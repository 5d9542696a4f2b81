//! Recorded machines for the tests: small trees of `/proc`, `/sys` and `/dev` in a directory of
//! their own, removed when dropped.

use crate::identify::{Probe, Root};
use measure::stack::Stack;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

static COUNT: AtomicU32 = AtomicU32::new(0);

pub(super) struct Fixture {
    directory: PathBuf,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

impl Fixture {
    pub(super) fn new() -> Fixture {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("redolab-identify-{}-{count}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).expect("the temporary directory is writable");
        Fixture { directory }
    }

    /// A machine with these mounts.
    pub(super) fn with_mounts(lines: &[&str]) -> Fixture {
        let fixture = Fixture::new();
        fixture.file("proc/self/mountinfo", &(lines.join("\n") + "\n"));
        fixture
    }

    pub(super) fn root(&self) -> Root {
        Root::recorded(&self.directory)
    }

    pub(super) fn probe(&self) -> Probe {
        Probe::with_root(self.root())
    }

    pub(super) fn stack(&self, path: &str) -> Stack {
        let stack = self.probe().stack_of(Path::new(path));
        stack.expect("a recording has no paths to fail on")
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.make_parent(path);
        std::fs::write(path, text).expect("the fixture is writable");
    }

    /// A symbolic link with the text that the kernel would show, wherever it leads.
    pub(super) fn raw_link(&self, path: &str, target: &str) {
        let path = self.make_parent(path);
        std::os::unix::fs::symlink(target, path).expect("the fixture is writable");
    }

    /// A relative link, as sysfs makes them, from one path of the fixture to another.
    pub(super) fn link(&self, path: &str, target: &str) {
        let up = "../".repeat(path.matches('/').count());
        self.raw_link(path, &format!("{up}{target}"));
    }

    /// A block device in `sys/devices/<directory>` with these attributes.
    pub(super) fn block(&self, dev: &str, directory: &str, attributes: &[(&str, &str)]) {
        let home = format!("sys/devices/{directory}");
        let name = directory.rsplit('/').next().expect("split has one part");
        self.file(&format!("{home}/dev"), &format!("{dev}\n"));
        for (file, text) in attributes {
            self.file(&format!("{home}/{file}"), &format!("{text}\n"));
        }
        self.link(&format!("sys/dev/block/{dev}"), &home);
        self.link(&format!("sys/class/block/{name}"), &home);
        if !attributes.iter().any(|(file, _)| *file == "partition") {
            self.link(&format!("sys/block/{name}"), &home);
        }
    }

    /// `above` stands on `below`, both directories below `sys/devices`.
    pub(super) fn stands_on(&self, above: &str, below: &str) {
        let name = |path: &str| {
            path.rsplit('/')
                .next()
                .map(str::to_owned)
                .unwrap_or_default()
        };
        let (a, b) = (
            format!("sys/devices/{above}"),
            format!("sys/devices/{below}"),
        );
        self.link(&format!("{a}/slaves/{}", name(below)), &b);
        self.link(&format!("{b}/holders/{}", name(above)), &a);
    }

    fn make_parent(&self, path: &str) -> PathBuf {
        let path = self.directory.join(path);
        let parent = path.parent().expect("inside the fixture");
        std::fs::create_dir_all(parent).expect("the fixture is writable");
        path
    }
}
