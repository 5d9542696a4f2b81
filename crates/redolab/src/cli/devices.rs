//! `redolab devices`: what stands below each file system, as a log sees it.

use super::CommandError;
use super::common::ViewArgs;
use crate::output::sanitize;
use crate::safety::size;
use crate::store::now_rfc3339;
use clap::Args;
use measure::stack::{Layer, LayerKind, Stack};
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// The schema of what is printed.
const SCHEMA: &str = "redolab.devices/1";

/// Options of `devices`.
#[derive(Debug, Args)]
#[command(after_help = "\
Facts only: what could not be read is said, never guessed. `redolab check PATH` judges them.")]
pub(crate) struct DevicesArgs {
    /// Files, directories or block devices [default: every file system and unused disk]
    path: Vec<PathBuf>,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Serialize)]
struct Devices {
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

/// What a disk's own facts say about power loss.
#[derive(Serialize)]
struct Hint {
    device: String,
    hint: &'static str,
}

pub(crate) fn main(args: &DevicesArgs) -> Result<ExitCode, CommandError> {
    let stacks = if args.path.is_empty() {
        let all = device::identify::all().into_iter();
        all.map(|stack| named(top(&stack), stack)).collect()
    } else {
        let of = |path: &PathBuf| match device::identify::stack_of(path) {
            Ok(stack) => Ok(named(path.display().to_string(), stack)),
            Err(error) => Err(CommandError::usage(error.to_string())),
        };
        args.path.iter().map(of).collect::<Result<Vec<_>, _>>()?
    };
    let devices = Devices {
        schema: SCHEMA,
        created: now_rfc3339(),
        redolab_version: env!("CARGO_PKG_VERSION"),
        stacks,
    };
    args.view.emit(&devices, |_| text(&devices))?;
    Ok(ExitCode::SUCCESS)
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
fn top(stack: &Stack) -> String {
    let first = stack.layers.first();
    let point = first.and_then(|layer| layer.mount_point.clone());
    point.unwrap_or_else(|| first.map_or_else(String::new, |l| format!("/dev/{}", l.name)))
}

/// No interface reports capacitors; what comes nearest is whether the drive admits a volatile
/// cache.
fn power_loss(disk: &Layer, virtual_machine: bool) -> &'static str {
    match (disk.drive_write_cache, virtual_machine) {
        (Some(true), false) => {
            "the drive admits a volatile cache: what is not flushed is lost, unless its data sheet \
             promises power-loss protection"
        }
        (Some(false), false) => {
            "the drive declares no volatile cache: it has power-loss protection, or its cache is off"
        }
        (Some(true), true) => {
            "the host admits a volatile cache: whether its flushes reach the medium is not seen here"
        }
        (Some(false), true) => {
            "the host declares no volatile cache; what stands below it is not seen here"
        }
        (None, _) => "nothing is known of a volatile cache or of power-loss protection",
    }
}

fn text(devices: &Devices) -> String {
    let mut out = String::new();
    for stack in &devices.stacks {
        if !out.is_empty() {
            out.push('\n');
        }
        draw(stack, &mut out);
    }
    out
}

/// One stack as a tree: a line for each layer, its facts indented below it.
fn draw(named: &Named, out: &mut String) {
    let mut line = |indent: usize, text: &str| {
        out.push_str(&" ".repeat(indent));
        out.push_str(&sanitize::line(text));
        out.push('\n');
    };
    line(0, &named.path);
    let stack = &named.stack;
    for (i, layer) in stack.layers.iter().enumerate() {
        let indent = 2 + 2 * stack.depths.get(i).copied().unwrap_or(0);
        line(indent, &title(layer));
        for fact in facts(layer) {
            line(indent + 4, &fact);
        }
        let hint = named.power_loss.iter().find(|h| h.device == layer.name);
        if let Some(hint) = hint.filter(|_| layer.kind == LayerKind::Disk) {
            line(indent + 4, &format!("power loss: {}", hint.hint));
        }
    }
    if let Some(hypervisor) = &stack.hypervisor {
        line(2, &format!("virtual machine: {hypervisor}"));
    }
    if let Some(library) = &stack.preload {
        line(2, &format!("preloaded, makes flushes lie: {library}"));
    }
    for unknown in &stack.unknown {
        line(2, &format!("unknown: {unknown}"));
    }
}

fn title(layer: &Layer) -> String {
    let mut text = format!("{} {}", kind(layer.kind), layer.name);
    let model = [&layer.vendor, &layer.model, &layer.firmware];
    let model: Vec<&str> = model
        .into_iter()
        .flatten()
        .map(|word| word.trim())
        .filter(|word| !word.is_empty())
        .collect();
    if !model.is_empty() {
        text.push_str(&format!(" ({})", model.join(" ")));
    }
    if let Some(point) = &layer.mount_point {
        text.push_str(&format!(" at {point}"));
    }
    if let Some(bytes) = layer.size_bytes {
        text.push_str(&format!(", {}", size(bytes)));
    }
    if let Some(detail) = &layer.detail {
        text.push_str(&format!(", {detail}"));
    }
    text
}

fn kind(kind: LayerKind) -> &'static str {
    match kind {
        LayerKind::Overlay => "overlay",
        LayerKind::FileSystem => "file system",
        LayerKind::MemoryFileSystem => "file system in memory (gone with the power)",
        LayerKind::NetworkFileSystem => "network file system",
        LayerKind::FuseFileSystem => "FUSE file system",
        LayerKind::Luks => "encryption",
        LayerKind::DeviceMapper => "device mapper",
        LayerKind::Md => "software RAID",
        LayerKind::Loop => "loop device",
        LayerKind::Zram => "compressed memory disk (gone with the power)",
        LayerKind::RamDisk => "RAM disk (gone with the power)",
        LayerKind::Partition => "partition",
        LayerKind::Disk => "disk",
    }
}

/// What bears on a log, one fact a line, in the order in which it is asked.
fn facts(layer: &Layer) -> Vec<String> {
    let mut facts = Vec::new();
    let file_system = layer.mount_point.is_some();
    if let Some(source) = layer.source.as_ref().filter(|_| file_system) {
        facts.push(format!("from {source}"));
    }
    if let Some(backing) = &layer.backing {
        facts.push(format!("backed by {backing}"));
    }
    if !layer.options.is_empty() {
        facts.push(format!("options: {}", layer.options.join(",")));
    }
    if layer.copy_on_write == Some(true) {
        facts.push("writes elsewhere instead of in place (copy on write)".to_owned());
    }
    if let Some(start) = layer.start_bytes {
        let aligned = start.is_multiple_of(4096);
        let word = if aligned { "aligned" } else { "NOT aligned" };
        facts.push(format!("begins at {}, {word} to 4 KiB", size(start)));
    }
    if let Some(logical) = layer.logical_block_bytes {
        let physical = layer.physical_block_bytes;
        let physical = physical.map_or("?".to_owned(), |bytes| bytes.to_string());
        facts.push(format!("sectors: {logical} logical, {physical} physical"));
    }
    if let Some(bytes) = layer.atomic_write_bytes.filter(|bytes| *bytes > 0) {
        facts.push(format!("never tears writes up to {}", size(bytes)));
    }
    if layer.kind == LayerKind::Disk || layer.write_cache.is_some() {
        facts.push(cache(layer));
    }
    if layer.kind == LayerKind::Disk {
        facts.extend(disk(layer));
    }
    facts
}

fn cache(layer: &Layer) -> String {
    let kernel = layer.write_cache.as_deref().unwrap_or("unknown");
    let mut text = format!("write cache: {kernel} (kernel)");
    if layer.kind == LayerKind::Disk {
        text.push_str(match layer.drive_write_cache {
            Some(true) => ", volatile (drive)",
            Some(false) => ", none (drive)",
            None => ", unknown (drive)",
        });
    }
    if let Some(driver) = &layer.cache_type {
        text.push_str(&format!(", {driver} (driver)"));
    }
    if let Some(fua) = layer.fua {
        text.push_str(if fua { "; FUA" } else { "; no FUA" });
    }
    text
}

fn disk(layer: &Layer) -> Vec<String> {
    let mut facts = Vec::new();
    match layer.rotational {
        Some(true) => facts.push("shown as rotating".to_owned()),
        Some(false) => facts.push("shown as not rotating".to_owned()),
        None => {}
    }
    if let Some(controller) = &layer.controller {
        facts.push(format!("behind controller {controller}"));
    }
    // The kernel's words for a disk without protection information.
    facts.push(match layer.integrity.as_deref() {
        Some("none" | "nop") => "T10 protection information: none".to_owned(),
        Some(format) => format!("T10 protection information: {format}"),
        None => "T10 protection information: not offered".to_owned(),
    });
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(stack: Stack) -> String {
        let mut out = String::new();
        draw(&named(top(&stack), stack), &mut out);
        out
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
        let text = drawn(Stack {
            layers: vec![file_system, partition, disk],
            depths: vec![0, 1, 2],
            unknown: vec!["vda: firmware".to_owned()],
            ..Stack::default()
        });
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
          power loss: the drive admits a volatile cache: what is not flushed is lost, unless \
its data sheet promises power-loss protection
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
