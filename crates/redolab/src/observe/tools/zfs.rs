//! `zfs get` of a data set: `sync`, `recordsize`, `logbias`, which the kernel does not show.

use super::{Run, installed};
use measure::stack::{LayerKind, Stack};

/// What bears on a log.
const PROPERTIES: &str = "sync,recordsize,logbias";

/// Adds the properties of each data set to the options of its layer, as `name=value`.
pub(super) fn complete(stack: &mut Stack, run: Run<'_>) {
    let is_zfs = |kind, name: &str| kind == LayerKind::FileSystem && name == "zfs";
    for layer in stack.layers.iter_mut().filter(|l| is_zfs(l.kind, &l.name)) {
        let Some(set) = layer.source.as_deref().filter(|set| !set.starts_with('-')) else {
            continue;
        };
        let Some(tool) = installed(&["zfs"], &["/usr/sbin", "/sbin", "/usr/local/sbin"]) else {
            return;
        };
        let arguments = ["get", "-H", "-p", "-o", "property,value", PROPERTIES, set];
        if let Some(text) = run(&tool, &arguments) {
            layer.options.extend(options(&text));
        }
    }
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
