//! Durability that is switched off: what options of mounts, settings of devices and the time of a
//! flush mean, state by state. File systems are recorded on a drive without a volatile cache, on
//! which the answer is yes as long as nothing is switched off.

use crate::harness::{Mount, Place, expect_run, is_root, skipped};
use crate::recording::{Recording, flushes_of, sound_run};
use analysis::Thresholds;
use measure::judgement::{Answer, Durability, Scope, Verdict};
use measure::run::Run;
use measure::stack::{ControllerCache, Declaration, Protection, Stack};

use Answer::{Conditional, No, Undetermined, Yes};
use Durability::{Declared, Unverified, Volatile};

const OFF: &str = "mount.barrier_off";
const SOFT: &str = "mount.soft";
const LOOSE: &str = "mount.loose_cache";
const FAST: &str = "durability.fast_flush";

fn judged(run: &mut Run) -> Verdict {
    run.findings = analysis::findings::findings(run, &Thresholds::default());
    analysis::verdict::verdict(run, &run.findings, &run.need, Scope::default())
}

/// Name, answer, durability, and a finding that has to be made (empty: none is asked for).
type Expected = (Answer, Durability, &'static str);

fn expect(name: &str, stack: Stack, expected: Expected) {
    let mut run = sound_run(stack);
    let verdict = judged(&mut run);
    let ids: Vec<&str> = run.findings.iter().map(|f| f.id.as_str()).collect();
    let (answer, durability, id) = expected;
    let got = (verdict.answer, verdict.durability);
    assert_eq!(got, (answer, durability), "{name}: {ids:?}");
    assert!(
        id.is_empty() || ids.contains(&id),
        "{name}: no {id} in {ids:?}"
    );
    assert!(!ids.contains(&FAST), "{name}: its flushes take 2 ms");
}

const SAFE: Expected = (Yes, Declared, "durability.declared");
const DROPPED: Expected = (No, Volatile, OFF);

#[test]
fn options_of_file_systems_on_a_safe_drive() {
    let nvme = || Recording::nvme("ACME NV3000", false);
    let states: &[(&str, &str, Expected)] = &[
        ("ext4", "rw,relatime", SAFE),
        ("ext4", "rw,data=ordered,journal_async_commit", SAFE),
        ("ext4", "rw,barrier=1", SAFE),
        ("ext4", "rw,nobarrier,data=ordered", DROPPED),
        ("ext4", "rw,barrier=0", DROPPED),
        ("ext3", "rw,barrier=0", DROPPED),
        ("xfs", "rw,attr2,inode64", SAFE),
        ("xfs", "rw,nobarrier", DROPPED),
        ("btrfs", "rw,nodatacow", SAFE),
        ("btrfs", "rw,nodatacow,nobarrier", DROPPED),
        ("btrfs", "rw,flushoncommit,nodatacow", SAFE),
        ("f2fs", "rw,fsync_mode=posix", SAFE),
        ("f2fs", "rw,fsync_mode=strict", SAFE),
        ("f2fs", "rw,fsync_mode=nobarrier", DROPPED),
        ("f2fs", "rw,nobarrier,fsync_mode=posix", DROPPED),
        ("f2fs", "rw,checkpoint=disable", DROPPED),
        (
            "f2fs",
            "rw,fsync_mode=later",
            (Conditional, Unverified, "mount.unknown_value"),
        ),
        ("jfs", "rw", SAFE),
        ("reiserfs", "rw,barrier=none", DROPPED),
        ("reiserfs", "rw,barrier=flush", SAFE),
        ("nilfs2", "rw,nobarrier", DROPPED),
        ("ocfs2", "rw,barrier=0", DROPPED),
        ("gfs2", "rw,nobarrier", DROPPED),
        ("hfsplus", "rw,nobarrier", DROPPED),
        ("bcachefs", "rw,nocow,journal_flush_disabled", DROPPED),
        // An option of that name belongs to another file system, or is part of another word.
        ("xfs", "rw,soft", SAFE),
        ("ext4", "rw,prjquota,barrier=1", SAFE),
    ];
    for (kind, options, expected) in states {
        expect(
            &format!("{kind} {options}"),
            nvme().stack(kind, options),
            *expected,
        );
    }
}

#[test]
fn overlays_in_every_spelling() {
    let nvme = || Recording::nvme("ACME NV3000", false);
    for (options, expected) in [
        ("workdir=/w", SAFE),
        ("workdir=/w,volatile", DROPPED),
        ("workdir=/w,fsync=volatile", DROPPED),
        ("workdir=/w,fsync=auto", SAFE),
        ("workdir=/w,fsync=ordered", SAFE),
        ("workdir=/w,fsync=strict", SAFE),
        (
            "workdir=/w,fsync=never",
            (Conditional, Unverified, "mount.unknown_value"),
        ),
    ] {
        expect(options, nvme().overlay(options, false), expected);
    }
    // A file system in a file on a volatile overlay.
    for options in ["volatile", "fsync=volatile"] {
        expect(options, nvme().overlay(options, true), DROPPED);
    }
    let kept = (Conditional, Unverified, "stack.loop");
    expect(
        "a file on an overlay",
        nvme().overlay("workdir=/w", true),
        kept,
    );
}

#[test]
fn file_systems_of_servers_hosts_and_processes() {
    const AT_BEST: Expected = (Conditional, Unverified, "stack.network");
    let states: &[(&str, &str, Expected)] = &[
        ("nfs4", "rw,vers=4.2,hard", AT_BEST),
        ("nfs4", "rw,vers=4.1,soft,timeo=600", (No, Volatile, SOFT)),
        ("nfs", "rw,vers=3,softerr,retrans=2", (No, Volatile, SOFT)),
        ("nfs4", "rw,hard,async", (Conditional, Unverified, LOOSE)),
        ("nfs4", "rw,hard,softreval", AT_BEST),
        ("cifs", "rw,vers=3.1.1,cache=strict,hard", AT_BEST),
        ("cifs", "rw,nostrictsync", DROPPED),
        ("smb3", "rw,nostrictsync,hard", DROPPED),
        ("cifs", "rw,cache=loose", (Conditional, Unverified, LOOSE)),
        ("9p", "rw,trans=virtio", AT_BEST),
        (
            "9p",
            "rw,trans=virtio,cache=mmap",
            (Conditional, Unverified, LOOSE),
        ),
        // Bits, since Linux 6.4: nothing and reading ahead, then mmap, loose and fscache.
        ("9p", "rw,cache=0", AT_BEST),
        ("9p", "rw,cache=1", AT_BEST),
        ("9p", "rw,cache=5", (Conditional, Unverified, LOOSE)),
        ("9p", "rw,cache=f", (Conditional, Unverified, LOOSE)),
        ("9p", "rw,cache=0x8f", (Conditional, Unverified, LOOSE)),
        ("virtiofs", "rw,relatime", AT_BEST),
        ("drvfs", "rw,noatime", AT_BEST),
        ("vboxsf", "rw,nodev", DROPPED),
        ("ceph", "rw,acl", AT_BEST),
        (
            "fuse.glusterfs",
            "rw,allow_other",
            (Conditional, Unverified, "stack.fuse"),
        ),
        (
            "zfs",
            "rw,xattr,sync=standard",
            (Conditional, Unverified, "stack.zfs"),
        ),
        ("zfs", "rw,xattr,sync=disabled", DROPPED),
        (
            "zfs",
            "rw,sync=perhaps",
            (Conditional, Unverified, "mount.unknown_value"),
        ),
        ("tmpfs", "rw,size=4g", (No, Volatile, "stack.volatile")),
        ("ramfs", "rw", (No, Volatile, "stack.volatile")),
    ];
    for (kind, options, expected) in states {
        let stack = Recording::alone(kind, "source", options);
        expect(&format!("{kind} {options}"), stack, *expected);
    }
}

#[test]
fn devices_that_keep_nothing_or_hide_what_does() {
    let nvme = || Recording::nvme("ACME NV3000", false);
    let bcache = |mode: &str| {
        let files = [("bcache/cache_mode", mode)];
        nvme().below("252:0", "bcache0", &files).stack("xfs", "rw")
    };
    let lvm = |below: &str| {
        let lower = [("dm/uuid", "LVM-abc-real"), ("dm/name", below)];
        let upper = [("dm/uuid", "LVM-abc"), ("dm/name", "vg-redo")];
        let one = nvme().below("253:0", "dm-0", &lower);
        one.below("253:1", "dm-1", &upper).stack("xfs", "rw")
    };
    const MAPPED: Expected = (Conditional, Unverified, "stack.mapper");
    const MEMORY: Expected = (No, Volatile, "stack.volatile");
    let scsi = |model: &str| {
        let one = Recording::sata("write through", "write through");
        one.with("device/model", model).stack("xfs", "rw")
    };
    let pmem = |options: &str| {
        let home = "LNXSYSTM:00/ACPI0012:00/ndbus0/region0/namespace0.0/block";
        Recording::pmem(home).stack("xfs", options)
    };
    for (name, stack, expected) in [
        ("bcache", bcache("writethrough [writeback] none"), MAPPED),
        ("bcache", bcache("[writethrough] writeback none"), MAPPED),
        ("LVM", lvm("vg-redo_wcorig"), MAPPED),
        ("LVM", lvm("vg-redo_corig"), MAPPED),
        ("LVM", lvm("vg-pool-tpool"), MAPPED),
        ("LVM", lvm("vg-redo-real"), MAPPED),
        ("LVM, linear", lvm("vg-other"), SAFE),
        ("scsi_debug", scsi("scsi_debug"), MEMORY),
        ("LIO ramdisk", scsi("RAMDISK-MCP"), MEMORY),
        (
            "brd",
            Recording::named("1:0", "ram0", None).stack("xfs", "rw"),
            MEMORY,
        ),
        (
            "null_blk",
            Recording::named("252:0", "nullb0", None).stack("xfs", "rw"),
            MEMORY,
        ),
        (
            "nbd without flushes",
            Recording::named("43:0", "nbd0", Some("write through")).stack("xfs", "rw"),
            (Conditional, Unverified, "stack.write_cache"),
        ),
        (
            "pmem",
            pmem("rw"),
            (Conditional, Unverified, "stack.no_dax"),
        ),
        (
            "pmem",
            pmem("rw,dax=never"),
            (Conditional, Unverified, "stack.no_dax"),
        ),
        (
            "pmem, dax",
            pmem("rw,dax=always"),
            (Conditional, Unverified, ""),
        ),
        (
            "memmap",
            Recording::pmem("platform/e820_pmem/ndbus0/region0/namespace0.0/block")
                .stack("xfs", "rw,dax=always"),
            (Conditional, Unverified, "stack.unproven_memory"),
        ),
    ] {
        expect(name, stack, expected);
    }
}

/// What the time of a flush says, whatever the layers are called: name, stack, nanoseconds of a
/// write and of a flush, and the answer where they are doubted.
#[expect(clippy::too_many_lines, reason = "a table of states")]
#[test]
fn a_flush_that_is_faster_than_a_device() {
    let nvme = |volatile| Recording::nvme("ACME NV3000", volatile);
    let sata = |cache: &str| Recording::sata(cache, cache);
    let plp = || Recording::nvme("Micron_9200_MTFDHAL3T8TCT", true);
    let pmem = || Recording::pmem("LNXSYSTM:00/ndbus0/region0/namespace0.0/block");
    for (name, stack, write_ns, flush_ns, doubted) in [
        (
            "volatile cache",
            nvme(true).stack("xfs", "rw"),
            9e3,
            300.0,
            Some(Undetermined),
        ),
        (
            "volatile cache",
            nvme(true).stack("xfs", "rw"),
            9e3,
            5e3,
            None,
        ),
        (
            "SATA, write back",
            sata("write back").stack("ext4", "rw"),
            9e3,
            1.9e3,
            Some(Undetermined),
        ),
        (
            "a protected model",
            plp().stack("ext4", "rw"),
            9e3,
            6e3,
            None,
        ),
        (
            "a protected model",
            plp().stack("ext4", "rw"),
            9e3,
            400.0,
            Some(Undetermined),
        ),
        (
            "unknown cache",
            Recording::named("43:0", "nbd0", None).stack("xfs", "rw"),
            9e3,
            200.0,
            Some(Undetermined),
        ),
        (
            "no volatile cache",
            nvme(false).stack("xfs", "rw"),
            9e3,
            200.0,
            None,
        ),
        (
            "no volatile cache, both fast",
            nvme(false).stack("xfs", "rw"),
            900.0,
            200.0,
            Some(Undetermined),
        ),
        (
            "SATA, write through",
            sata("write through").stack("ext4", "rw"),
            3e4,
            500.0,
            None,
        ),
        (
            "virtio, write through",
            Recording::virtio_with("write through").stack("ext4", "rw"),
            2e4,
            300.0,
            None,
        ),
        (
            "virtio, write back",
            Recording::virtio().stack("ext4", "rw"),
            2e4,
            300.0,
            Some(Undetermined),
        ),
        (
            "DAX",
            pmem().stack("xfs", "rw,dax=always"),
            1.9e3,
            300.0,
            None,
        ),
        (
            "an unknown option",
            Recording::virtio().overlay("later=1", false),
            1e3,
            250.0,
            Some(Undetermined),
        ),
        (
            "a volatile overlay",
            Recording::virtio().overlay("fsync=volatile", false),
            1e3,
            250.0,
            Some(No),
        ),
        (
            "NFS",
            Recording::alone("nfs4", "nas:/r", "rw,hard"),
            2e5,
            900.0,
            None,
        ),
        (
            "FUSE",
            Recording::alone("fuse.x", "x", "rw"),
            2e4,
            400.0,
            Some(Undetermined),
        ),
        (
            "tmpfs",
            Recording::alone("tmpfs", "tmpfs", "rw"),
            500.0,
            100.0,
            None,
        ),
    ] {
        let mut run = sound_run(stack);
        flushes_of(&mut run, write_ns, flush_ns);
        let verdict = judged(&mut run);
        let made = run.findings.iter().any(|f| f.id == FAST);
        assert_eq!(made, doubted.is_some(), "{name} {write_ns} {flush_ns}");
        if let Some(answer) = doubted {
            assert_eq!(verdict.answer, answer, "{name}: {}", verdict.summary);
            assert_ne!(verdict.durability, Declared, "{name}");
        }
    }
    // The user's word does not make it true.
    let mut run = sound_run(nvme(true).stack("xfs", "rw"));
    run.target.stack.declared.push(Declaration {
        protection: Protection::Plp,
        basis: "data sheet".to_owned(),
    });
    flushes_of(&mut run, 9e3, 300.0);
    assert_eq!(judged(&mut run).answer, Undetermined);
}

/// A real overlay whose flushes are dropped: recognised by its option, and without it by time.
#[test]
fn a_real_volatile_overlay_is_seen_twice() {
    if !is_root() {
        return skipped("an overlay can only be mounted by root");
    }
    let place = Place::new();
    let at = |name: &str| {
        let path = place.path().join(name);
        std::fs::create_dir_all(&path).expect("creates");
        path
    };
    let (lower, upper, work, merged) = (at("lower"), at("upper"), at("work"), at("merged"));
    let options = format!(
        "lowerdir={},upperdir={},workdir={},volatile",
        lower.display(),
        upper.display(),
        work.display()
    );
    let Some(_overlay) = Mount::make(&["-t", "overlay", "-o", &options, "overlay"], &merged) else {
        return skipped("a volatile overlay cannot be mounted here");
    };
    let stack = device::identify::stack_of(&merged).expect("it is mounted");
    if stack.layers.iter().any(|l| l.name == "tmpfs") {
        return skipped("the temporary directory is in memory");
    }
    let done = place.check(&merged, &["--format", "json"]);
    let run: Run = serde_json::from_value(expect_run(&done, 3)).expect("a run");
    let ids = |run: &Run| -> Vec<String> { run.findings.iter().map(|f| f.id.clone()).collect() };
    assert!(ids(&run).contains(&OFF.to_owned()), "{:?}", ids(&run));
    // The same figures of an overlay whose option nobody knows.
    let mut unnamed = run;
    for layer in &mut unnamed.target.stack.layers {
        layer.options.retain(|o| !o.contains("volatile"));
    }
    let verdict = judged(&mut unnamed);
    if !ids(&unnamed).contains(&FAST.to_owned()) {
        let flushes = unnamed.floor.iter().map(|row| row.flush_mean_ns);
        let fastest = flushes.filter(|ns| *ns > 0.0).fold(f64::MAX, f64::min);
        let limit = Thresholds::default().flush_floor_us.value;
        assert!(fastest >= limit * 1e3, "{:?}", unnamed.floor);
        return skipped("the machine is too busy: flushes that are dropped take over 2 us");
    }
    assert_eq!(verdict.answer, Undetermined, "{}", verdict.summary);
}

/// Stacks that people asked about in public, with the right answers.
#[test]
fn stacks_from_practice() {
    let sectors = [
        ("queue/logical_block_size", "4096"),
        ("queue/physical_block_size", "4096"),
    ];
    let lvm = [("dm/uuid", "LVM-abc"), ("dm/name", "vg-redo")];
    let two = Recording::nvme("ACME NV3000", true)
        .with(sectors[0].0, "4096")
        .with(sectors[1].0, "4096")
        .beside("259:4", "nvme1n1", &sectors)
        .below("253:0", "dm-0", &lvm)
        .stack("xfs", "rw");
    let drives: Vec<&str> = two.disks().map(|d| d.name.as_str()).collect();
    assert_eq!(drives, ["nvme0n1", "nvme1n1"], "a flush goes to both");
    expect(
        "blocks of 512 bytes",
        two,
        (No, Unverified, "block.below_logical"),
    );

    let usb = Recording::usb()
        .below(
            "253:0",
            "dm-0",
            &[("dm/uuid", "CRYPT-LUKS2-abc-x"), ("dm/name", "x")],
        )
        .stack("ext4", "rw");
    let kinds: Vec<&str> = usb.layers.iter().map(|l| l.kind.words()).collect();
    assert!(kinds.contains(&"encryption"), "{kinds:?}");
    expect(
        "LUKS on USB",
        usb,
        (Conditional, Unverified, "stack.write_cache"),
    );

    for (drive_caches, answer, durability) in [
        (Some(false), Yes, Declared),
        (None, Conditional, Unverified),
        (Some(true), Conditional, Unverified),
    ] {
        let mut stack = Recording::raid("LOGICAL VOLUME").stack("xfs", "rw");
        stack.controllers.push(ControllerCache {
            name: "ssacli: Smart Array P420i in Slot 0 (Embedded)".to_owned(),
            protection: Some("Failed".to_owned()),
            protected: Some(false),
            write_through: Some(true),
            drive_caches,
            ..ControllerCache::default()
        });
        let id = "stack.controller_write_through";
        expect("P420, cache disabled", stack, (answer, durability, id));
    }
}

/// A drive that offers FUA and is four times slower with it: no finding recommends it, and the log
/// takes what was fast.
#[test]
fn forced_unit_access_that_is_offered_is_not_taken_as_fast() {
    let mut run = sound_run(Recording::nvme("Samsung SSD 990 PRO 2TB", true).stack("xfs", "rw"));
    let mut slow = run.floor[0].clone();
    slow.sync_method = "dsync".to_owned();
    (slow.latency.mean_ns, slow.write_mean_ns, slow.flush_mean_ns) = (4.0e6, 4.0e6, 0.0);
    run.floor.push(slow);
    judged(&mut run);
    for finding in &run.findings {
        let text = format!("{} {}", finding.claim, finding.advice);
        assert!(!text.contains("can be one request"), "{text}");
        assert!(!text.contains("--sync-method dsync"), "{text}");
    }
}
