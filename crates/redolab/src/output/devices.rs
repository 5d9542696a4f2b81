//! What is below each file system, and what its disks' own facts say about power loss.

use super::stack;
use measure::stack::{Layer, LayerKind, Stack};
use serde::Serialize;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.devices/1";

/// Stacks as they are printed.
#[derive(Serialize)]
pub struct Devices {
    schema: &'static str,
    created: String,
    redolab_version: &'static str,
    stacks: Vec<Named>,
}

/// A stack and the path that it is below.
#[derive(Serialize)]
struct Named {
    path: String,
    #[serde(flatten)]
    stack: Stack,
    power_loss: Vec<Hint>,
}

/// What the facts of a disk imply about power loss.
#[derive(Serialize)]
struct Hint {
    device: String,
    hint: &'static str,
}

impl Devices {
    /// The stacks below paths, as they were at `created` (RFC 3339).
    pub fn new(created: String, stacks: Vec<(String, Stack)>) -> Devices {
        Devices {
            schema: SCHEMA,
            created,
            redolab_version: env!("CARGO_PKG_VERSION"),
            stacks: stacks
                .into_iter()
                .map(|(path, stack)| named(path, stack))
                .collect(),
        }
    }
}

fn named(path: String, stack: Stack) -> Named {
    let disks = stack.layers.iter().filter(|l| l.kind == LayerKind::Disk);
    let power_loss = disks.map(|disk| Hint {
        device: disk.name.clone(),
        hint: power_loss(disk, stack.hypervisor.is_some()),
    });
    Named {
        power_loss: power_loss.collect(),
        path,
        stack,
    }
}

/// Where a stack begins: its mount point, or its device.
pub fn top(stack: &Stack) -> String {
    let first = stack.layers.first();
    let point = first.and_then(|layer| layer.mount_point.clone());
    point.unwrap_or_else(|| first.map_or_else(String::new, |l| format!("/dev/{}", l.name)))
}

/// No interface reports capacitors. The nearest fact is whether the drive reports a volatile
/// cache.
fn power_loss(disk: &Layer, virtual_machine: bool) -> &'static str {
    match (disk.drive_write_cache, virtual_machine) {
        (Some(true), false) => {
            "the drive reports a volatile write cache: data that is not flushed is lost, unless its \
             data sheet states power-loss protection (PLP)"
        }
        (Some(false), false) => {
            "the drive reports no volatile write cache: it has power-loss protection (PLP), or its \
             cache is off"
        }
        (Some(true), true) => {
            "the host reports a volatile write cache: whether its flushes reach the medium cannot \
             be seen from here"
        }
        (Some(false), true) => {
            "the host reports no volatile write cache; the devices below it cannot be seen from here"
        }
        (None, _) => {
            "it is not known whether there is a volatile write cache or power-loss protection"
        }
    }
}

/// The stacks as trees, from the path down.
pub fn text(devices: &Devices) -> String {
    let mut out = String::new();
    for named in &devices.stacks {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&drawn(named));
    }
    out
}

fn drawn(named: &Named) -> String {
    let hints = named.power_loss.iter().map(|h| (h.device.as_str(), h.hint));
    let hints: Vec<(&str, &str)> = hints.collect();
    stack::tree(&named.path, &named.stack, &hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn below(stack: Stack) -> Named {
        named(top(&stack), stack)
    }

    #[test]
    fn a_stack_is_drawn_from_the_path_down() {
        let file_system = Layer {
            mount_point: Some("/u02".to_owned()),
            source: Some("/dev/nvme0n1p1".to_owned()),
            options: vec!["rw".to_owned(), "nobarrier\u{1b}[2J".to_owned()],
            ..Layer::new(LayerKind::FileSystem, "xfs")
        };
        let partition = Layer {
            start_bytes: Some(512 * 63),
            ..Layer::new(LayerKind::Partition, "nvme0n1p1")
        };
        let disk = Layer {
            model: Some("SAMPLE 960".to_owned()),
            size_bytes: Some(1 << 40),
            detail: Some("nvme".to_owned()),
            logical_block_bytes: Some(512),
            physical_block_bytes: Some(4096),
            write_cache: Some("write back".to_owned()),
            drive_write_cache: Some(true),
            fua: Some(true),
            rotational: Some(false),
            integrity: Some("nop".to_owned()),
            ..Layer::new(LayerKind::Disk, "nvme0n1")
        };
        let text = drawn(&below(Stack {
            layers: vec![file_system, partition, disk],
            depths: vec![0, 1, 2],
            unknown: vec!["vda: firmware".to_owned()],
            ..Stack::default()
        }));
        let want = "\
/u02
  file system xfs at /u02
      from /dev/nvme0n1p1
      options: rw,nobarrier
    partition nvme0n1p1
        begins at 31.5 KiB, NOT aligned to 4 KiB
      disk nvme0n1 (SAMPLE 960), 1.0 TiB, nvme
          sectors: 512 logical, 4096 physical
          write cache: write back (kernel), volatile (drive); FUA
          shown as not rotating
          T10 protection information: none
          power loss: the drive reports a volatile write cache: data that is not flushed is \
lost, unless its data sheet states power-loss protection (PLP)
  unknown: vda: firmware
";
        assert_eq!(text, want);
    }

    #[test]
    fn each_word_of_a_drive_gives_another_hint() {
        let mut hints = std::collections::BTreeSet::new();
        for word in [Some(true), Some(false), None] {
            let disk = Layer {
                drive_write_cache: word,
                ..Layer::new(LayerKind::Disk, "sda")
            };
            hints.extend([false, true].map(|vm| power_loss(&disk, vm)));
        }
        assert_eq!(hints.len(), 5);
    }
}
