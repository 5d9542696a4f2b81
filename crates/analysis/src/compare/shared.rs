//! Stored runs of different directories that were measured on one device.
//!
//! Invariant: runs of different hosts share nothing, and neither do runs of which the host or the
//! device is not known.

use super::Side;
use measure::run::{Origin, Run};
use measure::stack::{Layer, LayerKind};

/// A sentence for each device on which several of the runs were measured in different places.
pub(super) fn notices(sides: &[Side]) -> Vec<String> {
    let mut devices: Vec<(&str, &Layer, Vec<&Side>)> = Vec::new();
    for side in sides {
        let host = side.run.environment.hostname.as_str();
        for disk in disks(&side.run).filter(|_| !host.is_empty()) {
            let same = |(of, known, _): &&mut (&str, &Layer, Vec<&Side>)| {
                *of == host && known.dev == disk.dev && known.name == disk.name
            };
            match devices.iter_mut().find(same) {
                Some((_, _, sides)) => sides.push(side),
                None => devices.push((host, disk, vec![side])),
            }
        }
    }
    devices
        .iter()
        .filter(|(_, _, sides)| are_apart(sides))
        .map(|(_, disk, sides)| {
            let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            format!(
                "{} and {last} are on the same device ({}): a difference between them is not a \
                 difference between devices.",
                others.join(", "),
                disk.name
            )
        })
        .collect()
}

fn disks(run: &Run) -> impl Iterator<Item = &Layer> {
    let layers = run.target.stack.layers.iter();
    layers.filter(|layer| {
        run.origin == Origin::Measured && layer.kind == LayerKind::Disk && layer.dev.is_some()
    })
}

/// Runs of one directory are compared on purpose, before and after a change.
fn are_apart(sides: &[&Side]) -> bool {
    let paths = sides.iter().map(|side| side.run.target.path.as_str());
    let mut others = paths.clone().zip(paths.skip(1));
    others.any(|(a, b)| a != b)
}
