//! Block sizes against sectors, and log files written before they are used.

use super::catalogue;
use super::disk::disks;
use super::note::Note;
use super::{Bad, Caution, Good, Info};
use crate::format;
use measure::run::{FloorRow, Run};
use measure::stack::LayerKind;

pub(super) fn collect(run: &Run, notes: &mut Vec<Note>) {
    sectors(run, notes);
    atomic(run, notes);
    extents(run, notes);
    pre_writing(run, notes);
    flush_cost(run, notes);
}

/// What the flush is of a durable write, where write and flush are two requests.
fn flush_cost(run: &Run, notes: &mut Vec<Note>) {
    let small = run
        .floor
        .iter()
        .filter(|f| f.sync_method == "direct" && f.pre_written && f.latency.count > 0)
        .min_by_key(|f| f.write_bytes);
    let Some(row) = small.filter(|f| f.latency.mean_ns > 0.0 && f.flush_mean_ns > 0.0) else {
        return;
    };
    let share = 100.0 * row.flush_mean_ns / row.latency.mean_ns;
    notes.push(
        Note::of(
            &catalogue::FLUSH_COST,
            Info,
            format!(
                "A durable write of {} takes {}, of which the flush takes {} ({}).",
                format::bytes(row.write_bytes),
                format::latency(row.latency.mean_ns),
                format::latency(row.flush_mean_ns),
                format::percent(share),
            ),
        )
        .number("flush_ms", row.flush_mean_ns / 1e6)
        .number("write_ms", row.write_mean_ns / 1e6)
        .number("flush_share_pct", share)
        .no_advice(),
    );
}

/// Bytes of a redo block, and to which log writes are padded; zero where they are not known.
fn blocks(run: &Run) -> (u64, u64) {
    let log = run.target.redo_log();
    log.map_or((0, 0), |log| {
        let block = u64::from(log.redo_block_bytes);
        (block, u64::from(log.seal_bytes).max(block))
    })
}

fn sectors(run: &Run, notes: &mut Vec<Note>) {
    let (block, seal) = blocks(run);
    let largest =
        |f: fn(&measure::stack::Layer) -> Option<u64>| disks(&run.target.stack).filter_map(f).max();
    let logical = largest(|l| l.logical_block_bytes);
    let physical = largest(|l| l.physical_block_bytes).or(logical);
    let (Some(logical), Some(physical)) = (logical, physical) else {
        return;
    };
    if block == 0 {
        return;
    }
    let (entry, weight, claim, advice) = if block < logical {
        (
            &catalogue::BLOCK_BELOW_LOGICAL,
            Bad,
            format!(
                "Redo blocks of {block} bytes are smaller than the host sector of {logical} bytes: the device cannot write such a block."
            ),
            format!("Use --block-size {logical}."),
        )
    } else if seal < physical {
        (
            &catalogue::BLOCK_BELOW_PHYSICAL,
            Caution,
            format!(
                "Log writes end on multiples of {seal} bytes, but the medium's sector has {physical} bytes: a write rewrites acknowledged redo in the same sector, as a read-modify-write inside the drive."
            ),
            format!("Pad log writes to {physical} bytes, here with --block-size {physical}."),
        )
    } else {
        (
            &catalogue::BLOCK_FITS,
            Good,
            format!(
                "Redo blocks of {block} bytes, log writes padded to {seal}: no sector that holds acknowledged redo is written again (host sector {logical}, media sector {physical})."
            ),
            String::new(),
        )
    };
    notes.push(
        Note::of(entry, weight, claim)
            .number("redo_block_bytes", block as f64)
            .number("seal_bytes", seal as f64)
            .number("logical_block_bytes", logical as f64)
            .number("physical_block_bytes", physical as f64)
            .rule("block >= host sector; log writes padded to the media sector")
            .advice(advice),
    );
}

fn extents(run: &Run, notes: &mut Vec<Note>) {
    let log = run.target.redo_log();
    match log.and_then(|log| log.unwritten_extents) {
        Some(0) => notes.push(
            Note::of(&catalogue::BLOCK_PRE_WRITTEN, Good, "The log files hold no unwritten extents: a flush does not have to commit the file system's journal.")
                .number("unwritten_extents", 0.0),
        ),
        Some(n) => notes.push(
            Note::of(
                &catalogue::BLOCK_UNWRITTEN_EXTENTS,
                Caution,
                format!(
                    "The log files hold {}: first writes to them commit the file system's journal \
                     too.",
                    format::plural(n, "unwritten extent")
                ),
            )
                .number("unwritten_extents", n as f64),
        ),
        None if run.target.kind == "file" => notes.push(
            Note::of(
                &catalogue::BLOCK_EXTENTS_UNKNOWN,
                Info,
                "This file system does not report whether extents of the log files are unwritten.",
            ),
        ),
        None if run.target.kind == "raw_device" => notes.push(
            Note::of(
                &catalogue::BLOCK_RAW_DEVICE,
                Info,
                "The log is on the raw device: there is no file system journal to commit, and no file system that keeps other programs from writing to the device.",
            )
                .number("log_groups", log.map_or(0.0, |log| log.log_groups.into())),
        ),
        None => {}
    }
}

/// The unit that no device below tears, against the log's blocks. Devices that promise nothing say
/// zero, and are not spoken of: a log is made to find torn blocks.
fn atomic(run: &Run, notes: &mut Vec<Note>) {
    let (block, seal) = blocks(run);
    let units: Option<Vec<u64>> = disks(&run.target.stack)
        .map(|d| d.atomic_write_bytes)
        .collect();
    let unit = units
        .and_then(|units| units.into_iter().min())
        .filter(|unit| *unit > 0);
    let Some(unit) = unit.filter(|_| block > 0) else {
        return;
    };
    let relation = if unit >= seal {
        "neither a redo block nor the padding of a log write can be torn"
    } else {
        "a log write that is padded to more can be torn between these units, and its checksums detect this"
    };
    notes.push(
        Note::of(
            &catalogue::BLOCK_ATOMIC,
            Info,
            format!(
                "The device promises not to tear writes of up to {}: {relation}.",
                format::bytes(unit)
            ),
        )
        .number("atomic_write_bytes", unit as f64)
        .number("redo_block_bytes", block as f64)
        .number("seal_bytes", seal as f64)
        .no_advice(),
    );
}

/// A file system below writes each block to a new place.
pub(super) fn copies_on_write(run: &Run) -> bool {
    run.target.stack.layers.iter().any(|l| {
        let kind = matches!(l.name.as_str(), "btrfs" | "zfs" | "bcachefs" | "nilfs2");
        l.kind == LayerKind::FileSystem && kind && l.copy_on_write != Some(false)
    })
}

/// What writing a file beforehand is worth here, from the probe.
fn pre_writing(run: &Run, notes: &mut Vec<Note>) {
    let pairs = run
        .floor
        .iter()
        .filter(|f| f.pre_written && f.latency.count > 0);
    let best = pairs
        .filter_map(|with| Some((with, counterpart(run, with)?)))
        .min_by_key(|(with, _)| with.write_bytes);
    let Some((with, without)) = best else {
        return;
    };
    let ratio = without.latency.mean_ns / with.latency.mean_ns;
    let hint = if copies_on_write(run) {
        " (on a copy-on-write file system it cannot help)"
    } else {
        ""
    };
    notes.push(
        Note::of(
            &catalogue::BLOCK_PRE_WRITING,
            Info,
            format!(
                "A durable {} of {} takes {} on a pre-written file and {} on one that is only allocated: {} times{hint}.",
                if with.write_bytes < 1 << 20 { "write" } else { "transfer" },
                format::bytes(with.write_bytes),
                format::latency(with.latency.mean_ns),
                format::latency(without.latency.mean_ns),
                format::digits(ratio),
            ),
        )
        .number("pre_written_ms", with.latency.mean_ns / 1e6)
        .number("allocated_ms", without.latency.mean_ns / 1e6),
    );
}

fn counterpart<'a>(run: &'a Run, with: &FloorRow) -> Option<&'a FloorRow> {
    run.floor.iter().find(|f| {
        !f.pre_written
            && f.write_bytes == with.write_bytes
            && f.sync_method == with.sync_method
            && f.latency.count > 0
    })
}
