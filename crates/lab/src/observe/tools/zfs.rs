//! `zfs get` of a data set: `sync`, `recordsize`, `logbias`, which the kernel does not show.

use super::{Run, installed};
use measure::stack::{LayerKind, Stack};
use std::path::Path;

/// What bears on a log.
const PROPERTIES: &str = "sync,recordsize,logbias";

/// Adds the properties of each data set or volume to the options of its layer, as `name=value`.
pub(super) fn complete(stack: &mut Stack, run: Run<'_>) {
    for layer in &mut stack.layers {
        let set = match (layer.kind, layer.name.as_str(), layer.detail.as_deref()) {
            (LayerKind::FileSystem, "zfs", _) => layer.source.clone(),
            (LayerKind::Disk, name, Some("zvol")) => volume(Path::new("/dev/zvol"), name),
            _ => continue,
        };
        let Some(set) = set.filter(|set| !set.starts_with('-')) else {
            continue;
        };
        let Some(tool) = installed(&["zfs"], &["/usr/sbin", "/sbin", "/usr/local/sbin"]) else {
            return;
        };
        let arguments = ["get", "-H", "-p", "-o", "property,value", PROPERTIES, &set];
        if let Some(text) = run(&tool, &arguments) {
            layer.options.extend(options(&text));
        }
    }
}

/// Folders of pools and data sets that are searched for a volume.
const FOLDERS_MAX: usize = 1_000;

/// The volume whose device has this name: udev links `/dev/zvol/POOL/VOLUME` to it.
fn volume(links: &Path, device: &str) -> Option<String> {
    let mut folders = vec![links.to_owned()];
    for at in 0..FOLDERS_MAX {
        for entry in std::fs::read_dir(folders.get(at)?).into_iter().flatten() {
            let path = entry.ok()?.path();
            let target = std::fs::read_link(&path).ok();
            let names = |target: &Path| target.file_name().is_some_and(|name| name == device);
            match target {
                Some(target) if names(&target) => {
                    let name = path.strip_prefix(links).ok()?.to_str()?;
                    return Some(name.to_owned());
                }
                Some(_) => {}
                None if path.is_dir() => folders.push(path),
                None => {}
            }
        }
    }
    None
}

/// Lines of a name, a tab and a value.
fn options(text: &str) -> Vec<String> {
    let known = |name: &str| PROPERTIES.split(',').any(|p| p == name);
    text.lines()
        .filter_map(|line| line.split_once('\t'))
        .filter(|(name, value)| known(name) && !value.is_empty() && *value != "-")
        .map(|(name, value)| format!("{name}={}", value.trim()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_found_by_its_device() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let set = dir.path().join("tank/db");
        std::fs::create_dir_all(&set).expect("writable");
        for (name, device) in [("redo", "../../../zd16"), ("redo-part1", "../../../zd16p1")] {
            std::os::unix::fs::symlink(device, set.join(name)).expect("a fresh link");
        }
        let found = |device| volume(dir.path(), device);
        assert_eq!(found("zd16").as_deref(), Some("tank/db/redo"));
        assert_eq!(found("zd32"), None);
        assert_eq!(volume(&dir.path().join("none"), "zd16"), None);
    }

    #[test]
    fn properties_become_options() {
        let text = "sync\tdisabled\nrecordsize\t131072\nlogbias\tlatency\nother\tx\nsync\n";
        let wanted = ["sync=disabled", "recordsize=131072", "logbias=latency"];
        assert_eq!(options(text), wanted);
        assert_eq!(
            options("cannot open 'x': dataset does not exist\nsync\t-\n"),
            [""; 0]
        );
    }
}
