//! A layer of a storage stack: its name and its facts, in words.

use measure::stack::{Layer, LayerKind};
use measure::words::size;

/// Its name, with what is known of the model, where it is mounted and how large it is.
#[must_use]
pub fn layer_name(layer: &Layer) -> String {
    let mut text = layer.name.clone();
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

/// What bears on a log, in the order in which it is asked.
#[must_use]
pub fn layer_facts(layer: &Layer) -> Vec<String> {
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
    facts.extend(layer.dev.iter().map(|dev| format!("device {dev}")));
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
