//! A storage stack as text: a tree from the path downwards, with the facts of each layer.
//!
//! Names of devices and mount points may hold anything: every line is made harmless.

use analysis::account::stack::{layer_facts, layer_name};
use measure::stack::{LayerKind, Stack};
use measure::words::sanitize;

/// One stack as a tree: a line for each layer, its facts indented below it.
///
/// `hints` are names of disks with what their own facts say about power loss.
#[must_use]
pub fn tree(path: &str, stack: &Stack, hints: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut line = |indent: usize, text: &str| {
        out.push_str(&" ".repeat(indent));
        out.push_str(&sanitize::line(text));
        out.push('\n');
    };
    line(0, path);
    for (i, layer) in stack.layers.iter().enumerate() {
        let indent = 2 + 2 * stack.depths.get(i).copied().unwrap_or(0);
        line(
            indent,
            &format!("{} {}", kind(layer.kind), layer_name(layer)),
        );
        for fact in layer_facts(layer) {
            line(indent + 4, &fact);
        }
        let hint = hints.iter().find(|(disk, _)| *disk == layer.name);
        if let Some((_, hint)) = hint.filter(|_| layer.kind == LayerKind::Disk) {
            line(indent + 4, &format!("power loss: {hint}"));
        }
    }
    if let Some(hypervisor) = &stack.hypervisor {
        line(2, &format!("virtual machine: {hypervisor}"));
    }
    if let Some(library) = &stack.preload {
        line(2, &format!("preloaded, flushes do nothing: {library}"));
    }
    for unknown in &stack.unknown {
        line(2, &format!("unknown: {unknown}"));
    }
    out
}

fn kind(kind: LayerKind) -> String {
    let note = match kind {
        LayerKind::MemoryFileSystem | LayerKind::Zram | LayerKind::RamDisk => {
            " (lost on power loss)"
        }
        _ => "",
    };
    format!("{}{note}", kind.words())
}
