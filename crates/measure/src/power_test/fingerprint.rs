//! What a power test holds for: the device, and everything between a log and its medium that
//! decides what a flush does.
//!
//! Invariants: names that change from one start of the machine to the next (`sda`, `259:0`) are not
//! part of it where anything better is known; a fact that could not be read is missing, so a stack
//! of which more can be read is another one.

use crate::stack::{Layer, LayerKind, Stack};
use serde::{Deserialize, Serialize};

/// Beginnings of mount options and settings that decide what a flush or a write does.
const OPTIONS_THAT_MATTER: &[&str] = &[
    "barrier",
    "nobarrier",
    "data=",
    "sync",
    "async",
    "wsync",
    "dirsync",
    "dax",
    "journal_async_commit",
    "journal_checksum",
    "noload",
    "norecovery",
    "nodatacow",
    "nodatasum",
    "flushoncommit",
    "notreelog",
    "soft",
    "hard",
    "cache=",
    "volatile",
    "dio=",
    "consistency_policy=",
    "mode=",
];

/// How a device is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdentityBasis {
    /// By the serial numbers or world-wide names of its disks.
    Serial,
    /// By model, size and path, since at least one disk reports no serial number.
    ModelAndPath,
}

/// The lowest devices of a stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// One text for each of them, in the order of the stack.
    pub devices: Vec<String>,
    /// What the texts are made of.
    pub basis: IdentityBasis,
}

/// A fact of a stack that decides what a flush does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFact {
    /// What it is, with the layer that it belongs to.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// What is different between two stacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackChange {
    /// What it is.
    pub what: String,
    /// Its value before; `none` where there was none.
    pub from: String,
    /// Its value now; `none` where there is none.
    pub to: String,
}

impl std::fmt::Display for StackChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: from {} to {}", self.what, self.from, self.to)
    }
}

/// The stack that a power test holds for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFingerprint {
    /// The device.
    pub identity: DeviceIdentity,
    /// What decides, in the order of the stack.
    pub facts: Vec<StackFact>,
}

impl StackFingerprint {
    /// Of a stack that is written with this sync method; `None` where the method is not known yet.
    #[must_use]
    pub fn of(stack: &Stack, sync_method: Option<&str>) -> StackFingerprint {
        let mut facts = Vec::new();
        let mut add = |name: String, value: Option<String>| {
            if let Some(value) = value.filter(|v| !v.trim().is_empty()) {
                let value = value.trim().to_owned();
                facts.push(StackFact { name, value });
            }
        };
        for (number, layer) in (1..).zip(&stack.layers) {
            let kind = layer.kind.words();
            for (what, value) in layer_facts(layer) {
                add(format!("layer {number} ({kind}): {what}"), value);
            }
        }
        for controller in &stack.controllers {
            let name = &controller.name;
            add(format!("{name}: protection"), controller.protection.clone());
            let flag = |value: Option<bool>| value.map(|v| v.to_string());
            add(
                format!("{name}: caches of its disks"),
                flag(controller.drive_caches),
            );
            add(
                format!("{name}: forced write back"),
                flag(controller.forced_write_back),
            );
            add(
                format!("{name}: cache off"),
                flag(controller.write_through.filter(|off| *off)),
            );
        }
        add("hypervisor".to_owned(), stack.hypervisor.clone());
        add("preloaded library".to_owned(), stack.preload.clone());
        add("sync method".to_owned(), sync_method.map(str::to_owned));
        StackFingerprint {
            identity: DeviceIdentity::of(stack),
            facts,
        }
    }

    /// What is different here from `before`, each with its value there and here.
    #[must_use]
    pub fn changes_from(&self, before: &StackFingerprint) -> Vec<StackChange> {
        let mut changes = Vec::new();
        if self.identity != before.identity {
            changes.push(StackChange {
                what: "device".to_owned(),
                from: before.identity.devices.join(", "),
                to: self.identity.devices.join(", "),
            });
        }
        let value = |of: &StackFingerprint, name: &str| {
            let found = of.facts.iter().find(|fact| fact.name == name);
            found.map_or_else(|| "none".to_owned(), |fact| fact.value.clone())
        };
        let gone = before
            .facts
            .iter()
            .filter(|f| !self.facts.iter().any(|g| g.name == f.name));
        for fact in self.facts.iter().chain(gone) {
            let (from, to) = (value(before, &fact.name), value(self, &fact.name));
            if from != to {
                changes.push(StackChange {
                    what: fact.name.clone(),
                    from,
                    to,
                });
            }
        }
        changes
    }

    /// The value of a fact.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&str> {
        let found = self.facts.iter().find(|fact| fact.name == name);
        found.map(|fact| fact.value.as_str())
    }
}

/// What of a layer decides, by name.
fn layer_facts(layer: &Layer) -> [(&'static str, Option<String>); 12] {
    let is_volume = layer.dev.is_none() || layer.mount_point.is_some();
    let matters = |option: &&String| {
        OPTIONS_THAT_MATTER
            .iter()
            .any(|known| match known.strip_suffix('=') {
                Some(_) => option.starts_with(known),
                None => option.split('=').next() == Some(known),
            })
    };
    let options: Vec<&str> = layer
        .options
        .iter()
        .filter(matters)
        .map(String::as_str)
        .collect();
    let flag = |value: Option<bool>| value.map(|v| v.to_string());
    let bytes = |value: Option<u64>| value.map(|v| v.to_string());
    // The name of a disk may be another one after a restart, that of a file system type is not.
    let name = is_volume.then(|| layer.name.clone());
    [
        ("type", name.or_else(|| Some(layer.kind.words().to_owned()))),
        ("detail", layer.detail.clone()),
        ("options", (!options.is_empty()).then(|| options.join(","))),
        ("backing file", layer.backing.clone()),
        ("model", layer.model.clone()),
        ("firmware", layer.firmware.clone()),
        ("controller", layer.controller.clone()),
        ("physical sector bytes", bytes(layer.physical_block_bytes)),
        ("write cache (kernel)", layer.write_cache.clone()),
        ("cache type", layer.cache_type.clone()),
        (
            "volatile write cache (drive)",
            flag(layer.drive_write_cache),
        ),
        ("forced unit access", flag(layer.fua)),
    ]
}

impl DeviceIdentity {
    /// Of the lowest layers of a stack.
    #[must_use]
    pub fn of(stack: &Stack) -> DeviceIdentity {
        let mut basis = IdentityBasis::Serial;
        let mut devices = Vec::new();
        for at in leaves(stack) {
            let (text, by_serial) = identity(stack, at);
            if !by_serial {
                basis = IdentityBasis::ModelAndPath;
            }
            if !devices.contains(&text) {
                devices.push(text);
            }
        }
        if devices.is_empty() {
            basis = IdentityBasis::ModelAndPath;
        }
        DeviceIdentity { devices, basis }
    }

    /// The devices in words, with what they are recognised by where that is weak.
    #[must_use]
    pub fn in_words(&self) -> String {
        let devices = self.devices.join(", ");
        match self.basis {
            IdentityBasis::Serial => devices,
            IdentityBasis::ModelAndPath => {
                format!("{devices} (recognised by model, size and path: no serial number)")
            }
        }
    }
}

/// Numbers of the layers that have nothing below them.
fn leaves(stack: &Stack) -> impl Iterator<Item = usize> {
    let depth = |at: usize| stack.depths.get(at).copied();
    (0..stack.layers.len()).filter(move |at| match (depth(*at), depth(at + 1)) {
        (Some(own), Some(next)) => next <= own,
        _ => at + 1 == stack.layers.len(),
    })
}

/// The text of the lowest layer `at`, and whether it is a serial number.
fn identity(stack: &Stack, at: usize) -> (String, bool) {
    let layer = &stack.layers[at];
    let named = |kind: &str, value: &Option<String>| {
        let value = value.as_deref().map(str::trim).filter(|v| !v.is_empty());
        value.map(|v| format!("{kind} {v}"))
    };
    if let Some(text) = named("serial", &layer.serial).or_else(|| named("wwid", &layer.wwid)) {
        let model = layer.model.as_deref().unwrap_or_default().trim();
        let text = if model.is_empty() {
            text
        } else {
            format!("{model}, {text}")
        };
        return (text, true);
    }
    // A file system that no block device is seen below: the loop device on it is the device.
    let above = (0..at)
        .rev()
        .find(|i| stack.layers[*i].kind == LayerKind::Loop);
    let is_block = matches!(layer.kind, LayerKind::Disk | LayerKind::Partition);
    let layer = match above {
        Some(above) if !is_block => &stack.layers[above],
        _ => layer,
    };
    let size = layer.size_bytes.map(|bytes| format!("{bytes} bytes"));
    let name = layer
        .source
        .as_ref()
        .filter(|_| layer.mount_point.is_some());
    let kind = Some(layer.kind.words().to_owned());
    let name = match layer.kind {
        LayerKind::Loop => None,
        _ => Some(name.unwrap_or(&layer.name).clone()),
    };
    let parts = [
        kind,
        name,
        layer.vendor.clone(),
        layer.model.clone(),
        size,
        layer.backing.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (parts.join(" "), false)
}
