//! Declarations that a disk keeps its cache on power loss: by a data sheet, by the controller's own
//! tool, or by the user. None of them is a test, and each finding names its source.
//!
//! Invariant: each model in the table has the document that states its protection. Protection of
//! data at rest alone, which many consumer drives have, is not enough and is not listed.

use super::catalogue;
use super::disk::{DiskBacking, behind, disks, named};
use super::note::Note;
use super::{Bad, Caution, Info};
use crate::format;
use measure::stack::{ControllerCache, Layer, Protection, Stack};

/// A drive that its maker's document describes as protected.
struct Model {
    /// Part of the model as the drive reports it, in capitals.
    part: &'static str,
    /// The document, and its words.
    source: &'static str,
}

const MODELS: &[Model] = &[
    Model {
        part: "9200_MTFDHAL",
        source: "Micron 9200 NVMe SSDs, data sheet: power-backed cache",
    },
    Model {
        part: "SSDPE2ME",
        source: "Intel SSD DC P3600 Series, product specification: enhanced power-loss data protection",
    },
    Model {
        part: "SSDPEDME",
        source: "Intel SSD DC P3600 Series, product specification: enhanced power-loss data protection",
    },
    Model {
        part: "SSDPECME",
        source: "Intel SSD DC P3608 Series, product specification: enhanced power-loss data protection",
    },
    Model {
        part: "SSDSC2KB",
        source: "Intel SSD DC S4500 Series, product specification: enhanced power-loss data protection",
    },
    Model {
        part: "SSDSC2KG",
        source: "Intel SSD DC S4600 Series, product specification: enhanced power-loss data protection",
    },
];

/// Who says that this disk keeps its cache; `None` where nobody does.
pub(super) fn shelter(stack: &Stack, disk: &Layer) -> Option<String> {
    let declared = |protection: Protection| {
        let found = stack.declared.iter().find(|d| d.protection == protection)?;
        Some(match found.basis.as_str() {
            "" => "the user's declaration".to_owned(),
            basis => format!("the user's declaration ({basis})"),
        })
    };
    match behind(disk) {
        DiskBacking::Plain => declared(Protection::Plp).or_else(|| model(disk)),
        DiskBacking::Controller => declared(Protection::Battery).or_else(|| tool(stack)),
        DiskBacking::CloudVolume | DiskBacking::InstanceStore => None,
    }
}

/// Nothing in a disk's cache is lost with the power, as the drive or somebody else declares.
pub(super) fn is_protected(stack: &Stack, disk: &Layer) -> bool {
    is_without_cache(disk) || shelter(stack, disk).is_some()
}

fn is_without_cache(disk: &Layer) -> bool {
    disk.drive_write_cache == Some(false) && behind(disk) == DiskBacking::Plain
}

/// Whose word the declarations are that the disks of a stack keep what they acknowledged.
pub(crate) fn declarers(stack: &Stack) -> String {
    let who = |disk: &Layer| {
        let by_user = |protection| stack.declared.iter().any(|d| d.protection == protection);
        match behind(disk) {
            _ if is_without_cache(disk) => "the drive's own report",
            DiskBacking::Plain if by_user(Protection::Plp) => "the user",
            DiskBacking::Controller if by_user(Protection::Battery) => "the user",
            DiskBacking::Controller => "the controller's tool",
            _ => "a data sheet",
        }
    };
    let mut all: Vec<&str> = disks(stack).map(who).collect();
    all.sort_unstable();
    all.dedup();
    format!("by {}", all.join(", "))
}

fn model(disk: &Layer) -> Option<String> {
    let model = disk
        .model
        .as_deref()?
        .to_ascii_uppercase()
        .replace(' ', "_");
    let found = MODELS.iter().find(|m| model.contains(m.part))?;
    Some(found.source.to_owned())
}

/// Every controller that was looked at is in order in all that its tool reports.
fn tool(stack: &Stack) -> Option<String> {
    let kept = |c: &ControllerCache| c.protected == Some(true) || c.write_through == Some(true);
    let sound = |c: &ControllerCache| {
        kept(c) && c.forced_write_back != Some(true) && c.drive_caches == Some(false)
    };
    let all = &stack.controllers;
    let first = all.first().filter(|_| all.iter().all(sound))?;
    let state = match first.write_through {
        Some(true) => "write through",
        _ => first.protection.as_deref().unwrap_or("protected"),
    };
    Some(format!("{}: {state}, disk caches off", first.name))
}

/// The controller in front of a disk, and what its tool says of its cache.
pub(super) fn controller(stack: &Stack, disk: &Layer) -> Note {
    let shelter = shelter(stack, disk);
    let told: Vec<String> = stack.controllers.iter().map(words).collect();
    let state = match (&shelter, told.is_empty()) {
        (Some(by), _) => format!("protection declared by: {by}"),
        (None, true) => "no tool reported its state".to_owned(),
        (None, false) => told.join("; "),
    };
    Note::of(
        &catalogue::STACK_CONTROLLER,
        if shelter.is_some() { Info } else { Caution },
        format!(
            "{} is a virtual disk of a RAID controller: its write cache is safe only while its battery or flash backup works ({state}).",
            named(disk)
        ),
    )
    .maybe("cache_bytes", cache_bytes(stack).map(|b| b as f64))
    .advice(if shelter.is_some() {
        "Monitor the battery: the verdict is valid only while the battery is in order."
    } else {
        catalogue::STACK_CONTROLLER.advice
    })
}

/// Bytes of the largest controller cache that a tool reported.
pub(super) fn cache_bytes(stack: &Stack) -> Option<u64> {
    stack.controllers.iter().filter_map(|c| c.cache_bytes).max()
}

fn words(c: &ControllerCache) -> String {
    let mut parts = vec![match &c.protection {
        Some(state) => format!("battery or flash backup: {state}"),
        None => "no battery or flash backup is reported".to_owned(),
    }];
    parts.extend(
        c.cache_bytes
            .map(|b| format!("cache of {}", format::bytes(b))),
    );
    parts.extend(match c.drive_caches {
        Some(true) => Some("disk caches on".to_owned()),
        Some(false) => None,
        None => Some("disk caches not reported".to_owned()),
    });
    format!("{}: {}", c.name, parts.join(", "))
}

/// A cache that is off loses nothing; what may is the caches of the disks.
fn write_through(c: &ControllerCache) -> Note {
    let (weight, disks) = match c.drive_caches {
        Some(false) => (Info, "the caches of its disks are off"),
        Some(true) => (Caution, "the caches of its disks are on"),
        None => (
            Caution,
            "whether the caches of its disks are off is not known",
        ),
    };
    Note::of(
        &catalogue::STACK_CONTROLLER_WRITE_THROUGH,
        weight,
        format!(
            "The write cache of {} is off (battery or flash backup: {}): each log write waits for the disks, which is slow and not unsafe as long as no disk caches writes; {disks}.",
            c.name,
            c.protection.as_deref().unwrap_or("not reported")
        ),
    )
}

/// What a controller's tool reports against it, whatever the user declares.
pub(super) fn against(stack: &Stack, notes: &mut Vec<Note>) {
    for c in &stack.controllers {
        if c.write_through == Some(true) {
            notes.push(write_through(c));
        }
        let writes_back = c.forced_write_back == Some(true) && c.write_through != Some(true);
        if writes_back && c.protected != Some(true) {
            notes.push(Note::of(
                &catalogue::STACK_CONTROLLER_UNPROTECTED,
                Bad,
                format!(
                    "{} writes back although its battery or flash backup is not in order ({}).",
                    c.name,
                    c.protection.as_deref().unwrap_or("none is reported")
                ),
            ));
        }
        if c.drive_caches == Some(true) {
            notes.push(
                Note::of(
                    &catalogue::STACK_DRIVE_CACHES,
                    Caution,
                    format!(
                        "{}: the caches of the disks behind it are on, and its battery does not protect those.",
                        c.name
                    ),
                ),
            );
        }
    }
}
