//! Several directories as one target: whether they share a volume, and one stack of all.
//!
//! Invariant: the stack of a target over several directories contains the layers of each, so that
//! the weakest of them shows. What it must not know: what is written to them.

use measure::stack::Stack;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Whether two paths are on one file system; false where that cannot be seen.
pub(crate) fn same_volume(a: &Path, b: &Path) -> bool {
    let volume = |path: &Path| std::fs::metadata(path).ok().map(|found| found.dev());
    volume(a).is_some() && volume(a) == volume(b)
}

/// Adds the layers of `other`, and what is known beside them, to `stack`.
pub(crate) fn add_stack(stack: &mut Stack, other: &Stack) {
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
    use crate::observe::topology::counted_devices;
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
