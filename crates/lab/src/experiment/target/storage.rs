//! The storage below a directory or a raw device: its layers, and the devices that count its writes
//! and flushes.
//!
//! Invariant: what several directories are on has the layers of each, so that the weakest of them
//! shows; what cannot be seen is unknown. What it must not know: what is written there.

use crate::observe::diskstats::Counters;
use crate::observe::tools;
use crate::observe::topology::{DevNo, counted_devices};
use measure::run::TargetFacts;
use measure::stack::Stack;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What is below a place.
pub struct Storage {
    /// The stack.
    pub stack: Stack,
    /// The devices of it that count flushes.
    pub counted: Vec<DevNo>,
}

impl Storage {
    /// That of a stack, with what the tools of others report.
    pub(super) fn of(mut stack: Stack) -> Storage {
        tools::complete(&mut stack);
        let counted = counted_devices(&stack);
        Storage { stack, counted }
    }

    /// That below the log of a server on this machine whose directory can be seen.
    pub(super) fn of_server(facts: &TargetFacts) -> Option<Storage> {
        let directory = directory_of(facts)?;
        Some(Storage::of(device::identify::stack_of(directory).ok()?))
    }

    /// Counters of the device, where there is exactly one that counts.
    pub(crate) fn counters(&self) -> Option<Counters> {
        match self.counted.as_slice() {
            [one] => Counters::open(*one).ok(),
            _ => None,
        }
    }

    /// Adds what is below another place.
    pub(super) fn add(&mut self, other: &Storage) {
        add_stack(&mut self.stack, &other.stack);
        self.counted = counted_devices(&self.stack);
    }
}

/// The directory of the log of a server on this machine; `None` where it is not known.
pub(crate) fn directory_of(facts: &TargetFacts) -> Option<&Path> {
    let TargetFacts::Database(facts) = facts else {
        return None;
    };
    facts.log_directory.as_deref().map(Path::new)
}

/// Whether two paths are on one file system; false where that cannot be seen.
pub(super) fn same_volume(a: &Path, b: &Path) -> bool {
    let volume = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
    volume(a).is_some() && volume(a) == volume(b)
}

/// Adds the layers of `other`, and what is known beside them, to `stack`.
fn add_stack(stack: &mut Stack, other: &Stack) {
    // A shorter list of depths means that each layer is as deep as its number.
    let deep = stack.depths.len();
    stack.depths.extend(deep..stack.layers.len());
    // Directories on one disk have the same layers, which are reported once.
    let known = other.layers.iter().all(|l| stack.layers.contains(l));
    let more = if known { &[][..] } else { &other.layers[..] };
    for (number, layer) in more.iter().enumerate() {
        stack.layers.push(layer.clone());
        stack
            .depths
            .push(other.depths.get(number).copied().unwrap_or(number));
    }
    stack.hypervisor = stack.hypervisor.take().or(other.hypervisor.clone());
    stack.preload = stack.preload.take().or(other.preload.clone());
    let unknown = other
        .unknown
        .iter()
        .filter(|text| !stack.unknown.contains(text));
    let unknown: Vec<String> = unknown.cloned().collect();
    stack.unknown.extend(unknown);
    let controllers = other
        .controllers
        .iter()
        .filter(|c| !stack.controllers.contains(c));
    let controllers: Vec<_> = controllers.cloned().collect();
    stack.controllers.extend(controllers);
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::stack::{Layer, LayerKind};

    fn stack(dev: &str, name: &str) -> Stack {
        let layer = |kind, dev: Option<&str>| Layer {
            dev: dev.map(str::to_owned),
            ..Layer::new(kind, name)
        };
        Stack {
            layers: vec![
                layer(LayerKind::FileSystem, None),
                layer(LayerKind::Disk, Some(dev)),
            ],
            depths: vec![0, 1],
            unknown: vec![name.to_owned(), "both".to_owned()],
            ..Stack::default()
        }
    }

    #[test]
    fn a_stack_of_two_directories_has_the_layers_of_both() {
        let mut both = stack("8:0", "one");
        add_stack(&mut both, &stack("8:16", "other"));
        assert_eq!(
            (both.layers.len(), both.depths.as_slice()),
            (4, &[0, 1, 0, 1][..])
        );
        assert_eq!(both.unknown, ["one", "both", "other"]);
        let before = both.layers.len();
        add_stack(&mut both, &stack("8:16", "other"));
        assert_eq!(both.layers.len(), before, "a disk that is there already");
        assert_eq!(
            counted_devices(&both).len(),
            2,
            "each disk counts its flushes"
        );
        let mut same = stack("8:0", "one");
        add_stack(&mut same, &stack("8:0", "one"));
        assert_eq!(counted_devices(&same).len(), 1);
    }

    #[test]
    fn directories_of_one_file_system_are_on_one_volume() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let inside = dir.path().join("inside");
        std::fs::create_dir(&inside).expect("creates");
        assert!(same_volume(dir.path(), &inside));
        assert!(!same_volume(dir.path(), Path::new("/proc")));
        assert!(!same_volume(dir.path(), &dir.path().join("missing")));
    }
}
