//! Findings about durability: the layers of the stack, their caches, and flushes.

use super::{CatalogueEntry, FigureAnchor, STACK_RULE};
use measure::judgement::Confidence::{High, Low, Medium};

const WORD: &str = "the drive's own report (NVMe VWC, SCSI WCE) takes precedence over queue/write_cache, which an administrator can change";

entries! {
    STACK_NULL = CatalogueEntry::new("stack.null", High,
        "The target is the null device, which keeps nothing.")
        .rule("a log needs a medium", STACK_RULE)
        .advice("Use it to measure redolab's own overhead; name a path to judge a device.");
    STACK_VOLATILE = CatalogueEntry::new("stack.volatile", High,
        "A layer keeps the log in memory: tmpfs, ramfs, zram, a RAM disk, or a loop device on one.")
        .rule("tmpfs, ramfs, zram and RAM disks are volatile: no", STACK_RULE)
        .advice("Put redo on a device that keeps data without power.")
        .at(FigureAnchor::Stack);
    STACK_UNPROVEN_MEMORY = CatalogueEntry::new("stack.unproven_memory", Medium,
        "A device of persistent memory is given out by the firmware's memory map or by the boot option memmap, which makes it of plain memory.")
        .rule("memory is volatile until it is shown to be persistent", STACK_RULE)
        .advice("Look for memmap= in /proc/cmdline; without it, show that the modules are NVDIMMs (ndctl list -D) and run a power test.")
        .at(FigureAnchor::Stack);
    STACK_NO_DAX = CatalogueEntry::new("stack.no_dax", High,
        "A file system on persistent memory is not mounted with dax.")
        .rule("persistent memory is measured as such only with dax, or on the raw device", STACK_RULE)
        .advice("Mount it with dax (XFS and ext4: dax=always) to measure the memory itself.")
        .at(FigureAnchor::Floor);
    STACK_PRELOAD = CatalogueEntry::new("stack.preload", High,
        "A preloaded library (eatmydata, nosync) makes flushes do nothing.")
        .rule("eatmydata and similar libraries: no", STACK_RULE)
        .advice("Remove it from LD_PRELOAD and /etc/ld.so.preload and measure again.")
        .at(FigureAnchor::Stack);
    MOUNT_BARRIER_OFF = CatalogueEntry::new("mount.barrier_off", High,
        "A mount option, a property or the file system itself drops flushes: nobarrier, barrier=0, fsync_mode=nobarrier, sync=disabled, nostrictsync, a volatile overlay.")
        .rule("options that drop flushes: no", STACK_RULE)
        .advice("Remove the option; a log whose flushes are dropped loses acknowledged commits.")
        .at(FigureAnchor::Stack);
    MOUNT_SOFT = CatalogueEntry::new("mount.soft", High,
        "A network file system is mounted soft: after a time-out the client gives up writes.")
        .rule("soft network mounts: no", "nfs(5): soft can cause silent data corruption")
        .advice("Mount it hard.")
        .at(FigureAnchor::Stack);
    MOUNT_LOOSE_CACHE = CatalogueEntry::new("mount.loose_cache", High,
        "A network mount caches writes on this machine, or allows asynchronous writes.")
        .rule("client write-back caching: conditional", STACK_RULE)
        .advice("Mount it with cache=none, or sync for NFS.")
        .at(FigureAnchor::Stack);
    MOUNT_UNKNOWN_VALUE = CatalogueEntry::new("mount.unknown_value", Medium,
        "An option that decides about flushes has a value that redolab does not know.")
        .rule("an option whose meaning is not known is not taken as safe", STACK_RULE)
        .advice("Look the value up in the documentation of the file system, and run a power test.")
        .at(FigureAnchor::Stack);
    STACK_OVERLAY = CatalogueEntry::new("stack.overlay", High,
        "The path is on an overlay; its upper directory decides.")
        .rule("an overlay adds no durability: its upper directory is judged", STACK_RULE)
        .advice("Put redo on a volume of its own rather than in a container's writable layer.")
        .at(FigureAnchor::Stack);
    STACK_COPY_ON_WRITE = CatalogueEntry::new("stack.copy_on_write", High,
        "A file system or volume writes each block to a new place: pre-writing does not help.")
        .rule("copy on write (btrfs without NOCOW, ZFS and its volumes, bcachefs, nilfs2): conditional", STACK_RULE)
        .advice("On btrfs set NOCOW on the empty log directory (chattr +C). For ZFS see stack.zfs. Otherwise use XFS or ext4.")
        .at(FigureAnchor::Stack);
    STACK_ZFS = CatalogueEntry::new("stack.zfs", Medium,
        "The values of the ZFS properties sync and recordsize, or that they could not be read.")
        .rule("sync property unreadable: unverified; a log write smaller than a record causes a read-modify-write", STACK_RULE)
        .advice("Run zfs get sync,recordsize,logbias: sync must not be disabled. The latency depends on the log device (SLOG), which needs power-loss protection (PLP). Large synchronous writes may by-pass the SLOG: LGWR-LAT1 then measures the SLOG and LGWR-THR the pool, and a sweep of redo sizes shows the step.")
        .at(FigureAnchor::Stack);
    STACK_NETWORK = CatalogueEntry::new("stack.network", High,
        "The path is on a network or shared file system: NFS, CIFS, 9p, virtiofs and others.")
        .rule("network file systems: conditional at best", STACK_RULE)
        .advice("Ask how the server exports the file system (NFS: sync, never async; 9p, virtiofs: the host's cache mode) and how its cache is protected.")
        .at(FigureAnchor::Stack);
    STACK_FUSE = CatalogueEntry::new("stack.fuse", High,
        "The file system is a FUSE file system: a user-space process serves it.")
        .rule("user-space file systems: conditional at best", STACK_RULE)
        .advice("Put redo on a file system of the kernel (XFS, ext4), or show that the FUSE server's fsync flushes.")
        .at(FigureAnchor::Stack);
    STACK_LOOP = CatalogueEntry::new("stack.loop", High,
        "The path is on a loop device: each flush becomes an fsync of its file.")
        .rule("a loop device adds a second file system to each commit", STACK_RULE)
        .advice("Use the device below it directly.")
        .at(FigureAnchor::Stack);
    STACK_MAPPER = CatalogueEntry::new("stack.mapper", High,
        "The path is on a caching, thin or snapshot target of the device mapper.")
        .rule("caching, thin and snapshot targets: conditional", STACK_RULE)
        .advice("Use a plain linear volume for redo, or show that the caching device survives power loss.")
        .at(FigureAnchor::Stack);
    STACK_PARITY = CatalogueEntry::new("stack.parity", High,
        "Software RAID with parity: small log writes read and rewrite parity.")
        .rule("parity RAID: conditional", STACK_RULE)
        .advice("Use RAID 1 or 10 for redo, or a write journal or PPL against the write hole.")
        .at(FigureAnchor::Stack);
    STACK_HYPERVISOR = CatalogueEntry::new("stack.hypervisor", High,
        "This is a virtual machine: its host decides what a flush does.")
        .rule("in a virtual machine: unverified until a power test or a declaration", STACK_RULE)
        .advice("Ask for the host's cache mode: none, writethrough, or writeback that honours flushes are safe; unsafe is not.")
        .at(FigureAnchor::Stack);
    STACK_UNKNOWN = CatalogueEntry::new("stack.unknown", High,
        "Some facts of the storage stack could not be read.")
        .rule("facts that could not be read are not judged", STACK_RULE)
        .advice("As root, redolab asks the drive itself for its cache settings. A drive that does not answer root either (virtual disks, drives behind a controller) is described by its host or data sheet: use --declare plp if that promises power-loss protection.")
        .at(FigureAnchor::Stack);
    STACK_DISK = CatalogueEntry::new("stack.disk", Medium,
        "The kind of a disk (NVMe drive, solid-state drive, rotating disk, virtual disk), and whether it offers forced unit access (FUA). Whether FUA is fast is measured by the floor, method by method.")
        .rule("from transport, name and model", STACK_RULE)
        .at(FigureAnchor::Stack);
    STACK_CONTROLLER = CatalogueEntry::new("stack.controller", Medium,
        "A disk is a virtual disk of a RAID controller, with the state of the cache's battery or flash backup if the controller's tool reports it.")
        .rule("RAID controllers: conditional on the battery", STACK_RULE)
        .advice("Check the battery and the cache policy (storcli, ssacli; redolab runs these tools if they are installed and it runs as root), or use --declare battery after an inspection.")
        .at(FigureAnchor::Stack);
    STACK_CONTROLLER_UNPROTECTED = CatalogueEntry::new("stack.controller_unprotected", Medium,
        "A RAID controller writes back although its battery or flash backup is not in order.")
        .rule("write back without protection: no", STACK_RULE)
        .advice("Replace the battery, and allow write-back only while the battery is in order (WB, not AWB).")
        .at(FigureAnchor::Stack);
    STACK_CONTROLLER_WRITE_THROUGH = CatalogueEntry::new("stack.controller_write_through", Medium,
        "The write cache of a RAID controller is switched off, such as after its battery failed.")
        .rule("write through is slow and not unsafe, if the caches of the disks are off", STACK_RULE)
        .advice("Check the caches of the disks, and replace the battery or flash backup to make log writes fast again.")
        .at(FigureAnchor::Stack);
    STACK_DRIVE_CACHES = CatalogueEntry::new("stack.drive_caches", Medium,
        "The caches of the disks behind a RAID controller are on; its battery does not protect them.")
        .rule("disk caches behind a controller: off", STACK_RULE)
        .advice("Turn them off (storcli /cN/vN set pdcache=off; ssacli ctrl slot=N modify drivewritecache=disable).")
        .at(FigureAnchor::Stack);
    STACK_CLOUD_VOLUME = CatalogueEntry::new("stack.cloud_volume", Medium,
        "A disk is a cloud block volume, whose rate is provisioned.")
        .rule("cloud volumes: the sustained rate is undetermined before a soak of 45 minutes", STACK_RULE)
        .advice("Compare the figures with the provisioned IOPS and throughput, and soak for 45 minutes.")
        .at(FigureAnchor::Stack);
    STACK_INSTANCE_STORE = CatalogueEntry::new("stack.instance_store", Medium,
        "A disk is local storage of a cloud instance: its data is lost when the instance stops or its host fails.")
        .rule("instance storage: conditional on redundancy elsewhere", STACK_RULE)
        .advice("Use it for redo only with a synchronous copy on another machine.")
        .at(FigureAnchor::Stack);
    STACK_WRITE_CACHE = CatalogueEntry::new("stack.write_cache", Medium,
        "Whether a disk has a volatile write cache: as the drive reports it or, if the drive could not be read, as the kernel's queue/write_cache reports it.")
        .rule(WORD, STACK_RULE)
        .advice("Run a power test, or use --declare plp if the data sheet promises power-loss protection.")
        .at(FigureAnchor::Stack);
    STACK_FLUSH_SUPPRESSED = CatalogueEntry::new("stack.flush_suppressed", High,
        "A disk reports a volatile write cache, and the kernel is set to send it no flushes.")
        .rule(WORD, STACK_RULE)
        .advice("Write \"write back\" to the device's queue/write_cache, find out who changed it, and measure again.")
        .at(FigureAnchor::Stack);
    STACK_TOO_FAST_TO_TURN = CatalogueEntry::new("stack.too_fast_to_turn", Medium,
        "A disk is reported as rotating, but makes writes durable faster than a rotating disk can.")
        .limit("a durable write under the time of half a rotation", &["rotating_floor_ms"])
        .advice("Find the cache that acknowledges the writes, and show that it survives power loss.")
        .at(FigureAnchor::Floor);
    DURABILITY_DECLARED = CatalogueEntry::new("durability.declared", Medium,
        "For every disk, the drive itself, a data sheet, the controller's tool or the user declares that it keeps what it acknowledged.")
        .rule("declared from VWC or WCE = 0, a sourced model entry, the controller's tool, or --declare", STACK_RULE)
        .advice("Run a power test to verify the declaration.")
        .at(FigureAnchor::Stack);
    DURABILITY_TESTED = CatalogueEntry::new("durability.tested", High,
        "A power test lost no acknowledged write in enough cuts of the power that evidence shows.")
        .limit("share of cuts with a loss, from N cuts without one: below 1 - 0.05^(1/N) (95 %)", &["cuts_bound_pct"])
        .at(FigureAnchor::Trust);
    DURABILITY_REFUTED = CatalogueEntry::new("durability.refuted", High,
        "A power test lost acknowledged writes.")
        .rule("any loss", STACK_RULE)
        .advice("Do not put redo here.")
        .at(FigureAnchor::Trust);
    DURABILITY_PARTLY_TESTED = CatalogueEntry::new("durability.partly_tested", High,
        "A power test lost nothing, but in too few cuts, or none of its cuts is shown to have taken the power from every cache below the log.")
        .limit("share of cuts with a loss, from N cuts of the host's or the device's power that evidence shows: below 1 - 0.05^(1/N) (95 %)", &["cuts_bound_pct"])
        .advice("Repeat the power test with cuts of the host's or the device's power, and let serve --cut switch it (redolab powertest).")
        .at(FigureAnchor::Trust);
    DURABILITY_STACK_CHANGED = CatalogueEntry::new("durability.stack_changed", High,
        "A power test was made on this device, but in another stack: a layer, an option, the firmware, a cache setting or the sync method is different.")
        .rule("a power test holds for the stack that it was made on", STACK_RULE)
        .advice("Repeat the power test on the stack as it is now, or measure with the sync method that was tested (--sync-method).")
        .at(FigureAnchor::Stack);
    DURABILITY_NO_FLUSHES_SENT = CatalogueEntry::new("durability.no_flushes_sent", High,
        "The kernel treats the disk as write-through, and sent fewer flushes than were requested.")
        .rule("counted >= needed", "redolab: flushes that the kernel counted, compared with those that acknowledged writes need")
        .advice("As root, redolab asks the drive itself for its cache settings. A drive that does not answer root either (virtual disks, drives behind a controller) is described by its host or data sheet: use --declare plp if that promises power-loss protection.")
        .at(FigureAnchor::Trust);
    DURABILITY_FAST_FLUSH = CatalogueEntry::new("durability.fast_flush", Medium,
        "A flush ends sooner than a device can carry it out, although the kernel has to send the device one; where it sends none, a write and its flush together do.")
        .limit("mean time of a flush, or of a write with its flush", &["flush_floor_us"])
        .advice("Find what drops the flush: a mount option, a preloaded library, a container that suppresses fsync, a file server. Until then the figures describe memory.")
        .at(FigureAnchor::Floor);
    DURABILITY_FLAT_FLUSH = CatalogueEntry::new("durability.flat_flush", Low,
        "A flush of 64 MiB takes no longer than a flush of 4 KiB, on a device that has a volatile write cache or is a virtual disk of a host.")
        .limit("growth of the flush time divided by growth of the data to flush", &["flush_growth_ratio", "flush_growth_span"])
        .advice("Run a power test; in a virtual machine ask for the host's cache mode.")
        .at(FigureAnchor::Floor);
}
