//! What the options of a mount mean for an acknowledged write, read from one table.
//!
//! A row names file systems, options as `/proc/self/mountinfo` prints them, what they do, and where
//! that is documented. Kernels spell one thing differently (`volatile`, `fsync=volatile`;
//! `cache=loose`, `cache=f`): each spelling is in the table, and a value that is not in it is
//! reported as unknown instead of being taken as safe.
//!
//! What it must not know: disks and their caches (`cache`).

use super::catalogue;
use super::note::Note;
use super::{Bad, Caution};
use measure::stack::{Layer, LayerKind};

/// What an option does to a write after it was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The file system asks the device for no flush: its cache is lost with the power.
    NoDeviceFlush,
    /// A flush of the log does nothing, or does not reach the server.
    NoFlush,
    /// After a time-out a write is given up.
    GivesUp,
    /// Writes stay in this machine's memory until somebody asks for more.
    ClientCache,
}

/// One row of the table.
struct Meaning {
    /// File systems as the kernel names them; none for every file system that has the option.
    file_systems: &'static [&'static str],
    /// Spellings of the option.
    options: &'static [&'static str],
    effect: Effect,
    /// Where it is documented, with the kernels that have it.
    source: &'static str,
}

const fn meaning(
    file_systems: &'static [&'static str],
    options: &'static [&'static str],
    effect: Effect,
    source: &'static str,
) -> Meaning {
    Meaning {
        file_systems,
        options,
        effect,
        source,
    }
}

const ANY: &[&str] = &[];
const NFS: &[&str] = &["nfs", "nfs4"];
const SMB: &[&str] = &["cifs", "smb3", "smbfs"];

#[rustfmt::skip]
const MEANINGS: &[Meaning] = &[
    meaning(ANY, &["nobarrier", "barrier=0", "barrier=none", "barrier=off"], Effect::NoDeviceFlush,
        "ext4(5), btrfs(5), Linux Documentation/filesystems: ext4, f2fs, nilfs2, gfs2, ocfs2, hfsplus; XFS until Linux 4.18; reiserfs until Linux 6.12"),
    meaning(&["f2fs"], &["fsync_mode=nobarrier"], Effect::NoDeviceFlush,
        "Linux Documentation/filesystems/f2fs, since Linux 4.18"),
    meaning(&["f2fs"], &["checkpoint=disable"], Effect::NoFlush,
        "Linux Documentation/filesystems/f2fs, since Linux 4.20: after a power cut the contents are those of the moment at which checkpoints were disabled"),
    meaning(&["overlay", "overlayfs"], &["volatile", "fsync=volatile"], Effect::NoFlush,
        "Linux Documentation/filesystems/overlayfs: volatile since Linux 5.10, printed as fsync=volatile since Linux 6.12.80 and in 6.18"),
    meaning(&["zfs", "zvol"], &["sync=disabled"], Effect::NoFlush, "zfsprops(7): sync"),
    meaning(&["bcachefs"], &["journal_flush_disabled", "journal_flush_disabled=1", "nochanges", "nochanges=1"], Effect::NoFlush,
        "bcachefs(8): journal_flush_disabled, nochanges"),
    meaning(SMB, &["nostrictsync"], Effect::NoFlush,
        "mount.cifs(8): nostrictsync: an fsync sends the server no flush"),
    meaning(NFS, &["soft", "softerr"], Effect::GivesUp, "nfs(5): soft can cause silent data corruption"),
    meaning(SMB, &["soft"], Effect::GivesUp, "mount.cifs(8): soft"),
    meaning(&["9p"], &["cache=loose", "cache=fscache", "cache=mmap"], Effect::ClientCache,
        "Linux Documentation/filesystems/9p: cache"),
    meaning(SMB, &["cache=loose", "forcedirectio=0"], Effect::ClientCache, "mount.cifs(8): cache=loose"),
    meaning(NFS, &["async"], Effect::ClientCache, "nfs(5): async"),
];

/// File systems whose fsync does nothing, whatever their options are.
const WITHOUT_FLUSH: &[(&str, &str)] =
    &[("vboxsf", "Linux fs/vboxsf/file.c: its fsync is noop_fsync")];

/// Options of which only these values are known, and keep flushes.
const KNOWN_VALUES: &[(&[&str], &str, &[&str])] = &[
    (
        &["overlay", "overlayfs"],
        "fsync=",
        &["auto", "ordered", "strict", "volatile"],
    ),
    (&["f2fs"], "fsync_mode=", &["posix", "strict", "nobarrier"]),
    (
        &["zfs", "zvol"],
        "sync=",
        &["standard", "always", "disabled"],
    ),
];

/// Bit of the value that 9p prints since Linux 6.4: writes are cached on this machine
/// (Linux fs/9p/v9fs.h, `CACHE_WRITEBACK`).
const NINE_P_WRITE_BACK: u32 = 0b100;

/// The options of one layer.
pub(super) fn collect(layer: &Layer, notes: &mut Vec<Note>) {
    let kind = kind_of(layer);
    for row in MEANINGS.iter().filter(|row| row.is_of(kind)) {
        if let Some(option) = layer.options.iter().find(|o| row.has(o)) {
            notes.push(note(layer, row, option));
        }
    }
    if let Some((_, source)) = WITHOUT_FLUSH.iter().find(|(name, _)| *name == kind) {
        let claim = format!(
            "{} is {kind}, whose fsync does nothing: no flush reaches the host.",
            place(layer)
        );
        notes.push(
            Note::of(&catalogue::MOUNT_BARRIER_OFF, Bad, claim)
                .rule_from("a file system without fsync: no", source)
                .advice("Put redo on a disk of the machine."),
        );
    }
    if kind == "9p"
        && let Some(option) = layer.options.iter().find(|o| nine_p_writes_back(o))
    {
        let row = meaning(
            &["9p"],
            ANY,
            Effect::ClientCache,
            "Linux Documentation/filesystems/9p: cache, printed as hexadecimal bits since Linux 6.4",
        );
        notes.push(note(layer, &row, option));
    }
    unknown_values(layer, kind, notes);
}

/// The file system as the table names it; a ZFS volume is a disk.
fn kind_of(layer: &Layer) -> &str {
    match (layer.kind, layer.detail.as_deref()) {
        (LayerKind::Disk, Some("zvol")) => "zvol",
        _ => &layer.name,
    }
}

impl Meaning {
    fn is_of(&self, kind: &str) -> bool {
        self.file_systems.is_empty() || self.file_systems.contains(&kind)
    }

    fn has(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

fn nine_p_writes_back(option: &str) -> bool {
    let Some(value) = option.strip_prefix("cache=") else {
        return false;
    };
    let digits = value.trim_start_matches("0x");
    u32::from_str_radix(digits, 16).is_ok_and(|bits| bits & NINE_P_WRITE_BACK != 0)
}

fn note(layer: &Layer, row: &Meaning, option: &str) -> Note {
    let place = place(layer);
    let (entry, weight, claim) = match row.effect {
        Effect::NoDeviceFlush => (
            &catalogue::MOUNT_BARRIER_OFF,
            Bad,
            format!("{place} is mounted with {option}: flushes never reach the device."),
        ),
        Effect::NoFlush => (
            &catalogue::MOUNT_BARRIER_OFF,
            Bad,
            format!(
                "{place} is {} with {option}: every flush is dropped.",
                layer.name
            ),
        ),
        Effect::GivesUp => (
            &catalogue::MOUNT_SOFT,
            Bad,
            format!(
                "{place} is mounted {option}: after a time-out a write fails or is lost, but the log continues."
            ),
        ),
        Effect::ClientCache => (
            &catalogue::MOUNT_LOOSE_CACHE,
            Caution,
            format!(
                "{place} is mounted {option}: the client may acknowledge a write before the server has it."
            ),
        ),
    };
    let note = Note::of(entry, weight, claim);
    let note = match row.effect {
        Effect::NoFlush if layer.kind == LayerKind::Overlay => {
            note.advice("Put redo on a volume mounted outside the overlay.")
        }
        Effect::GivesUp => note
            .maybe("timeo", number_of(layer, "timeo="))
            .maybe("retrans", number_of(layer, "retrans=")),
        _ => note,
    };
    let rule = entry.rule.to_owned();
    note.rule_from(rule, row.source)
}

/// A value that is not in the table may be the one that drops flushes.
fn unknown_values(layer: &Layer, kind: &str, notes: &mut Vec<Note>) {
    for (_, option, known) in KNOWN_VALUES.iter().filter(|(k, _, _)| k.contains(&kind)) {
        let values = layer.options.iter().filter_map(|o| o.strip_prefix(option));
        if let Some(value) = values.into_iter().find(|value| !known.contains(value)) {
            let claim = format!(
                "{} has {option}{value}, a value that redolab does not know: it may drop flushes.",
                place(layer)
            );
            notes.push(Note::of(&catalogue::MOUNT_UNKNOWN_VALUE, Caution, claim));
        }
    }
}

/// The file system maps its files directly: ext4(5), xfs(5), `dax` and `dax=always`.
pub(super) fn is_dax(layer: &Layer) -> bool {
    layer
        .options
        .iter()
        .any(|o| o == "dax" || o == "dax=always")
}

fn number_of(layer: &Layer, prefix: &str) -> Option<f64> {
    let value = |o: &String| o.strip_prefix(prefix)?.parse().ok();
    layer.options.iter().find_map(value)
}

/// Where a layer is mounted, or its name.
pub(super) fn place(layer: &Layer) -> &str {
    layer.mount_point.as_deref().unwrap_or(&layer.name)
}
