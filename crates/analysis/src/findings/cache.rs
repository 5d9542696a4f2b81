//! Disks at the bottom of the stack: what they are, and whether their write cache survives.
//!
//! Evidence is ranked: what the drive reports (NVMe VWC, SCSI WCE) before the kernel's
//! `queue/write_cache`, which an administrator can write and which is never sole evidence.

use super::catalogue::{self, CatalogueEntry};
use super::disk::{DiskBacking, article, behind, describe, disks, named};
use super::note::Note;
use super::protection::{against, controller, is_protected, shelter};
use super::{Bad, Caution, Good, Info};
use crate::format;
use crate::thresholds::Thresholds;
use measure::judgement::Weight;
use measure::run::Run;
use measure::stack::{Layer, LayerKind, Stack};

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let stack = &run.target.stack;
    let disks: Vec<&Layer> = disks(stack).collect();
    for disk in &disks {
        what(stack, disk, notes);
        write_cache(stack, disk, notes);
    }
    against(stack, notes);
    declared(stack, &disks, notes);
    turns(run, &disks, t, notes);
}

fn what(stack: &Stack, disk: &Layer, notes: &mut Vec<Note>) {
    let (entry, weight, claim) = match behind(disk) {
        DiskBacking::Controller => return notes.push(controller(stack, disk)),
        DiskBacking::CloudVolume => (
            &catalogue::STACK_CLOUD_VOLUME,
            Caution,
            format!(
                "{} is a cloud block volume: its sustained rate is provisioned, and some volume and instance types spend burst credits first.",
                named(disk)
            ),
        ),
        DiskBacking::InstanceStore => (
            &catalogue::STACK_INSTANCE_STORE,
            Caution,
            format!(
                "{} is local storage of a cloud instance: its data is lost when the instance stops or its host fails.",
                named(disk)
            ),
        ),
        DiskBacking::Plain => (
            &catalogue::STACK_DISK,
            Info,
            format!(
                "{} is {} {}{}.",
                named(disk),
                article(disk),
                describe(disk),
                match disk.fua {
                    Some(true) =>
                        ", which offers forced unit access (FUA); whether that is faster than a flush is measured, not offered",
                    Some(false) =>
                        ", without forced unit access (FUA): each durable write is a write and a flush",
                    None => "",
                }
            ),
        ),
    };
    notes.push(
        Note::of(entry, weight, claim)
            .maybe("size_bytes", disk.size_bytes.map(|b| b as f64))
            .maybe("fua", disk.fua.map(f64::from)),
    );
}

/// What to do where nothing better is known.
const PROVE: &str = catalogue::STACK_WRITE_CACHE.advice;

fn write_cache(stack: &Stack, disk: &Layer, notes: &mut Vec<Note>) {
    let kernel = disk.write_cache.as_deref();
    let (entry, weight, claim, advice) = cache_words(disk, kernel);
    // A cache that is kept over power loss needs no caution; flushes that are kept from one that
    // is not are lost all the same.
    let shelter = shelter(stack, disk).filter(|_| weight >= Caution);
    // Of a disk that a host makes, the host is asked.
    let advice = match (&stack.hypervisor, advice) {
        (Some(_), PROVE) => {
            "The host provides this disk: ask for the device and the cache mode below it, or run a power test."
        }
        (_, advice) => advice,
    };
    let (weight, claim, advice) = match &shelter {
        None => (weight, claim, advice),
        Some(by) => (
            Info,
            format!("{} Its power-loss protection is declared by: {by}.", claim),
            "",
        ),
    };
    let entry = match shelter {
        Some(_) => &catalogue::STACK_WRITE_CACHE,
        None => entry,
    };
    let flag = |b: Option<bool>| b.map(f64::from);
    notes.push(
        Note::of(entry, weight, claim)
            .maybe("drive_write_cache", flag(disk.drive_write_cache))
            .maybe("kernel_write_back", flag(kernel.map(|k| k == "write back")))
            .maybe("fua", flag(disk.fua))
            .advice(advice),
    );
}

/// What the drive and the kernel report: the entry, its weight, the claim and the advice.
fn cache_words(
    disk: &Layer,
    kernel: Option<&str>,
) -> (&'static CatalogueEntry, Weight, String, &'static str) {
    let name = named(disk);
    match (disk.drive_write_cache, kernel) {
        (Some(true), Some("write through")) => (
            &catalogue::STACK_FLUSH_SUPPRESSED,
            Bad,
            format!(
                "{name} reports a volatile write cache, but queue/write_cache is set to write through and the kernel sends it no flushes."
            ),
            catalogue::STACK_FLUSH_SUPPRESSED.advice,
        ),
        (Some(true), _) => (
            &catalogue::STACK_WRITE_CACHE,
            Caution,
            format!(
                "{name} reports a volatile write cache: a commit is durable only after its flush."
            ),
            PROVE,
        ),
        (Some(false), Some("write back")) => (
            &catalogue::STACK_WRITE_CACHE,
            Info,
            format!("{name} reports no volatile write cache; the kernel sends it flushes anyway."),
            "",
        ),
        (Some(false), _) => (
            &catalogue::STACK_WRITE_CACHE,
            Info,
            format!("{name} reports no volatile write cache."),
            "",
        ),
        (None, Some("write through")) => (
            &catalogue::STACK_WRITE_CACHE,
            Caution,
            format!(
                "The kernel treats {name} as write-through and sends it no flushes; what the drive itself reports could not be read."
            ),
            "Read the drive's own setting (nvme id-ctrl, sdparm --get=WCE) as root; queue/write_cache alone proves nothing.",
        ),
        (None, Some(_)) => (
            &catalogue::STACK_WRITE_CACHE,
            Caution,
            format!(
                "The kernel treats {name} as write-back: a commit is durable only after its flush; what the drive itself reports could not be read."
            ),
            PROVE,
        ),
        (None, None) => (
            &catalogue::STACK_WRITE_CACHE,
            Caution,
            format!("It is not known whether {name} has a volatile write cache."),
            "As root, redolab asks the drive itself; if it does not answer, use --declare plp if its data sheet promises power-loss protection.",
        ),
    }
}

/// Every disk is protected by somebody's word, and nothing stands between that hides it.
fn declared(stack: &Stack, disks: &[&Layer], notes: &mut Vec<Note>) {
    use LayerKind as K;
    let hidden = |l: &Layer| {
        matches!(
            l.kind,
            K::NetworkFileSystem | K::FuseFileSystem | K::MemoryFileSystem | K::Zram | K::RamDisk
        )
    };
    let clear = stack.hypervisor.is_none() && !stack.layers.iter().any(hidden);
    if disks.is_empty() || !clear || !disks.iter().all(|d| is_protected(stack, d)) {
        return;
    }
    let mut words: Vec<String> = disks.iter().filter_map(|d| shelter(stack, d)).collect();
    words.dedup();
    let claim = if words.is_empty() {
        "Every disk below reports that it has no volatile write cache: if this is true, a completed write survives power loss.".to_owned()
    } else {
        format!(
            "Power-loss protection of the disks below is declared by: {}.",
            words.join(", ")
        )
    };
    notes.push(
        Note::of(&catalogue::DURABILITY_DECLARED, Good, claim).number("disks", disks.len() as f64),
    );
}

fn turns(run: &Run, disks: &[&Layer], t: &Thresholds, notes: &mut Vec<Note>) {
    let Some(disk) = disks.iter().find(|d| d.rotational == Some(true)) else {
        return;
    };
    let floor = run
        .floor
        .iter()
        .filter(|f| f.pre_written && f.latency.count > 0)
        .map(|f| f.latency.mean_ns)
        .min_by(f64::total_cmp);
    let limit = &t.rotating_floor_ms;
    if let Some(ns) = floor.filter(|ns| *ns < limit.value * 1e6) {
        let weight = if run.target.stack.hypervisor.is_some() {
            Info
        } else {
            Caution
        };
        notes.push(
            Note::of(
                &catalogue::STACK_TOO_FAST_TO_TURN,
                weight,
                format!("{} is reported as a rotating disk, but a durable write takes only {}: faster than a rotating disk can be. It is not rotating, or a cache acknowledged the write.", disk.name, format::latency(ns)),
            )
            .number("durable_write_ms", ns / 1e6)
            .limit(format!("a rotating disk needs about {} ms", limit.value), limit),
        );
    }
}
