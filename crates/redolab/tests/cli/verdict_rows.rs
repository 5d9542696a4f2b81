//! The verdict on every kind of storage of the project's table of cases, one by one: recorded
//! machines, and real mounts where this one can make them.

use crate::harness::{LoopVolume, Mount, Place, skipped, tmpfs};
use crate::recording::{Recording, sound_run};
use analysis::Thresholds;
use measure::judgement::{Answer, Durability, Scope, Verdict};
use measure::run::Run;
use measure::stack::{ControllerCache, Declaration, Protection, Stack};

use Answer::{Conditional, No, Undetermined, Yes};
use Durability::{Declared, Unverified, Volatile};

/// A case of the table: its row there, what is special, the stack, what is changed in a sound run,
/// answer, durability, and findings that have to be made.
struct Case {
    row: &'static str,
    name: &'static str,
    stack: Stack,
    change: fn(&mut Run),
    answer: Answer,
    durability: Durability,
    findings: &'static [&'static str],
}

fn case(
    (row, name): (&'static str, &'static str),
    stack: Stack,
    change: fn(&mut Run),
    (answer, durability): (Answer, Durability),
    findings: &'static [&'static str],
) -> Case {
    Case {
        row,
        name,
        stack,
        change,
        answer,
        durability,
        findings,
    }
}

fn verdict(run: &mut Run) -> Verdict {
    run.findings = analysis::findings::findings(run, &Thresholds::default());
    analysis::verdict::verdict(run, &run.findings, &run.need, Scope::default())
}

const NVME: &str = "NVMe or SSD, volatile cache";
const PLP: &str = "SSD with power-loss protection";
const RAID: &str = "RAID controller with protected cache over disks";
const CLOUD: &str = "cloud block volume";
const MEMORY: &str = "tmpfs, ramfs, zram, or a loop device on them";
const COPIES: &str = "ZFS, btrfs";
const SHARED: &str = "NFS, CIFS, 9p, virtiofs, FUSE";
const GUEST: &str = "virtual machine";
const RAW: &str = "raw device, block sizes";
const OFF: &str = "nobarrier, eatmydata, sync=disabled";

fn same(_: &mut Run) {}

fn nvme_cases() -> Vec<Case> {
    let volatile = || Recording::nvme("Samsung SSD 990 PRO 2TB", true).stack("xfs", "rw");
    let protected = || Recording::nvme("ACME NV3000", false).stack("xfs", "rw");
    vec![
        case(
            (NVME, "flushes alone"),
            volatile(),
            same,
            (Conditional, Unverified),
            &["stack.write_cache", "stack.disk"],
        ),
        case(
            (NVME, "decay"),
            volatile(),
            |run| crate::recording::two_rates(run, 900.0, 300.0, 120),
            (Conditional, Unverified),
            &["steady.step"],
        ),
        case(
            (NVME, "endurance with --tbw"),
            volatile(),
            |run| run.need.rated_bytes = Some(6e14),
            (Conditional, Unverified),
            &["space.endurance"],
        ),
        case(
            (PLP, "VWC = 0"),
            protected(),
            same,
            (Yes, Declared),
            &["durability.declared"],
        ),
        case(
            (PLP, "a sourced model"),
            Recording::nvme("Micron_9200_MTFDHAL3T8TCT", true).stack("ext4", "rw"),
            same,
            (Yes, Declared),
            &["durability.declared"],
        ),
        case(
            (PLP, "--declare plp"),
            volatile(),
            |run| declare(run, Protection::Plp),
            (Yes, Declared),
            &["durability.declared"],
        ),
        case(
            (PLP, "only the kernel's setting"),
            Recording::sata("write through", "write through").stack("ext4", "rw"),
            same,
            (Conditional, Unverified),
            &["stack.write_cache"],
        ),
        case(
            (NVME, "flushes kept from a volatile cache"),
            Recording::sata("write through", "write back").stack("ext4", "rw"),
            same,
            (No, Volatile),
            &["stack.flush_suppressed"],
        ),
    ]
}

fn declare(run: &mut Run, protection: Protection) {
    run.target.stack.declared.push(Declaration {
        protection,
        basis: "data sheet".to_owned(),
    });
}

fn controller(run: &mut Run) {
    run.target.stack.controllers.push(ControllerCache {
        name: "storcli: PERC H755".to_owned(),
        protection: Some("Optimal".to_owned()),
        protected: Some(true),
        cache_bytes: Some(8 << 30),
        forced_write_back: Some(false),
        write_through: Some(false),
        drive_caches: Some(false),
    });
}

fn needs_redo(run: &mut Run, mbps: f64) {
    run.need.redo_bytes_per_s = Some(mbps * 1_048_576.0);
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn raid_and_cloud_cases() -> Vec<Case> {
    let raid = || Recording::raid("PERC H755 Front").stack("xfs", "rw");
    let cloud = || {
        Recording::nvme("Amazon Elastic Block Store", true)
            .in_cloud()
            .stack("xfs", "rw")
    };
    vec![
        case(
            (RAID, "nobody reported the battery"),
            raid(),
            same,
            (Conditional, Unverified),
            &["stack.controller"],
        ),
        case(
            (RAID, "storcli"),
            raid(),
            controller,
            (Yes, Declared),
            &["stack.controller", "durability.declared"],
        ),
        case(
            (RAID, "--declare battery"),
            raid(),
            |run| declare(run, Protection::Battery),
            (Yes, Declared),
            &["durability.declared"],
        ),
        case(
            (RAID, "battery failed, write back forced"),
            raid(),
            |run| {
                controller(run);
                let told = run.target.stack.controllers.last_mut().expect("reported");
                (told.protected, told.forced_write_back) = (Some(false), Some(true));
            },
            (No, Volatile),
            &["stack.controller_unprotected"],
        ),
        case(
            (RAID, "--redo-rate before the cache was full"),
            raid(),
            |run| {
                controller(run);
                needs_redo(run, 300.0);
            },
            (Undetermined, Declared),
            &["need.sustained"],
        ),
        case(
            (RAID, "--redo-rate by destage"),
            raid(),
            |run| {
                controller(run);
                needs_redo(run, 300.0);
                crate::recording::two_rates(run, 2_000.0, 200.0, 100);
            },
            (No, Declared),
            &["need.redo_rate"],
        ),
        case(
            (CLOUD, "no need"),
            cloud(),
            same,
            (Conditional, Unverified),
            &["stack.cloud_volume", "stack.hypervisor"],
        ),
        case(
            (CLOUD, "a rate before the soak"),
            cloud(),
            |run| needs_redo(run, 100.0),
            (Undetermined, Unverified),
            &["need.sustained"],
        ),
        case(
            (CLOUD, "a rate after the soak"),
            cloud(),
            |run| {
                needs_redo(run, 90.0);
                crate::recording::two_rates(run, 250.0, 125.0, 2_700);
            },
            (Conditional, Unverified),
            &["need.redo_rate", "steady.step"],
        ),
        case(
            (CLOUD, "a plateau"),
            cloud(),
            crate::recording::capped,
            (Conditional, Unverified),
            &["steady.cap"],
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn file_system_cases() -> Vec<Case> {
    let on = |kind: &str, source: &str, options: &str| Recording::alone(kind, source, options);
    let nvme = || Recording::nvme("ACME NV3000", false);
    vec![
        case(
            (MEMORY, "tmpfs"),
            on("tmpfs", "tmpfs", "rw"),
            same,
            (No, Volatile),
            &["stack.volatile"],
        ),
        case(
            (MEMORY, "ramfs"),
            on("ramfs", "ramfs", "rw"),
            same,
            (No, Volatile),
            &["stack.volatile"],
        ),
        case(
            (MEMORY, "zram"),
            Recording::zram().stack("ext4", "rw"),
            same,
            (No, Volatile),
            &["stack.volatile"],
        ),
        case(
            (MEMORY, "a loop device on tmpfs"),
            Recording::loop_on_memory().stack("ext4", "rw"),
            same,
            (No, Volatile),
            &["stack.volatile", "stack.loop"],
        ),
        case(
            (COPIES, "ZFS, sync unreadable"),
            on("zfs", "rpool/redo", "rw"),
            same,
            (Conditional, Unverified),
            &["stack.copy_on_write", "stack.zfs"],
        ),
        case(
            (COPIES, "btrfs"),
            nvme().stack("btrfs", "rw"),
            same,
            (Conditional, Unverified),
            &["stack.copy_on_write"],
        ),
        case(
            (COPIES, "btrfs nodatacow"),
            nvme().stack("btrfs", "rw,nodatacow"),
            same,
            (Yes, Declared),
            &["durability.declared"],
        ),
        case(
            (SHARED, "NFS hard"),
            on("nfs4", "nas:/redo", "rw,vers=4.2,hard"),
            same,
            (Conditional, Unverified),
            &["stack.network"],
        ),
        case(
            (SHARED, "NFS soft"),
            on("nfs4", "nas:/redo", "rw,vers=4.2,soft,timeo=600"),
            same,
            (No, Volatile),
            &["mount.soft"],
        ),
        case(
            (SHARED, "NFS, COMMIT counted"),
            on("nfs", "nas:/redo", "rw,vers=3,hard"),
            crate::recording::commits,
            (Conditional, Unverified),
            &["flush.audit"],
        ),
        case(
            (SHARED, "NFS, too few requests"),
            on("nfs", "nas:/redo", "rw,vers=3,hard"),
            crate::recording::few_commits,
            (Undetermined, Unverified),
            &["validity.flushes_missing"],
        ),
        case(
            (SHARED, "CIFS"),
            on("cifs", "//nas/redo", "rw"),
            same,
            (Conditional, Unverified),
            &["stack.network"],
        ),
        case(
            (SHARED, "9p with a loose cache"),
            on("9p", "share", "rw,trans=virtio,cache=loose"),
            same,
            (Conditional, Unverified),
            &["stack.network", "mount.loose_cache"],
        ),
        case(
            (SHARED, "virtiofs"),
            on("virtiofs", "share", "rw"),
            same,
            (Conditional, Unverified),
            &["stack.network", "stack.hypervisor"],
        ),
        case(
            (SHARED, "FUSE"),
            on("fuse.sshfs", "h:/x", "rw"),
            same,
            (Conditional, Unverified),
            &["stack.fuse"],
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn machine_cases() -> Vec<Case> {
    let nvme = || Recording::nvme("ACME NV3000", false);
    let guest = || Recording::virtio().stack("ext4", "rw");
    vec![
        case(
            (GUEST, "hypervisor"),
            guest(),
            same,
            (Conditional, Unverified),
            &["stack.hypervisor", "stack.write_cache"],
        ),
        case(
            (GUEST, "declared in vain"),
            guest(),
            |run| declare(run, Protection::Plp),
            (Conditional, Unverified),
            &["stack.hypervisor"],
        ),
        case(
            (GUEST, "a flush that does not grow"),
            guest(),
            crate::recording::flat_flush,
            (Conditional, Unverified),
            &["durability.flat_flush"],
        ),
        case(
            (RAW, "a block under the host sector"),
            Recording::nvme("ACME NV3000", false)
                .sectors("4096", "4096")
                .stack_of_device(),
            same,
            (No, Declared),
            &["block.below_logical"],
        ),
        case(
            (RAW, "padding under the media sector"),
            nvme().sectors("512", "8192").stack_of_device(),
            same,
            (Conditional, Unverified),
            &["block.below_physical"],
        ),
        case(
            (RAW, "atomic unit"),
            nvme().stack_of_device(),
            same,
            (Yes, Declared),
            &["block.fits", "block.atomic"],
        ),
        case(
            (OFF, "nobarrier"),
            nvme().stack("ext4", "rw,nobarrier"),
            same,
            (No, Volatile),
            &["mount.barrier_off"],
        ),
        case(
            (OFF, "eatmydata"),
            nvme()
                .preloading("/usr/lib/libeatmydata.so")
                .stack("ext4", "rw"),
            same,
            (No, Volatile),
            &["stack.preload"],
        ),
        case(
            (OFF, "ZFS sync=disabled"),
            Recording::alone("zfs", "rpool/redo", "rw"),
            |run| {
                run.target.stack.layers[0]
                    .options
                    .push("sync=disabled".to_owned());
            },
            (No, Volatile),
            &["mount.barrier_off"],
        ),
    ]
}

#[test]
fn every_row_of_the_table_has_its_verdict() {
    let tables = [
        nvme_cases(),
        raid_and_cloud_cases(),
        file_system_cases(),
        machine_cases(),
    ];
    let mut rows: Vec<&str> = Vec::new();
    for case in tables.into_iter().flatten() {
        rows.push(case.row);
        let mut run = sound_run(case.stack);
        (case.change)(&mut run);
        let verdict = verdict(&mut run);
        let got = (verdict.answer, verdict.durability);
        let (row, name) = (case.row, case.name);
        let wanted = (case.answer, case.durability);
        assert_eq!(
            got, wanted,
            "{row}: {name}: {}\n{:#?}",
            verdict.summary, run.findings
        );
        for id in case.findings {
            let made = run.findings.iter().any(|f| f.id == *id);
            assert!(
                made,
                "{row}: {name}: {id} is missing of {:#?}",
                run.findings
            );
        }
    }
    rows.dedup();
    rows.sort_unstable();
    rows.dedup();
    assert_eq!(rows.len(), 10, "{rows:?}");
}

/// A directory on real storage, and what keeps it there.
struct Ground {
    path: std::path::PathBuf,
    _kept: Vec<Box<dyn std::any::Any>>,
}

fn on_loop(kind: &str) -> Option<Ground> {
    let volume = LoopVolume::make(kind, 1, 512)?;
    let path = volume.path().to_owned();
    Some(Ground {
        path,
        _kept: vec![Box::new(volume)],
    })
}

fn in_memory(what: &str) -> Option<Ground> {
    let place = Place::new();
    let memory = tmpfs(&place, 1200)?;
    let at = |name: &str| {
        let path = memory.at.join(name);
        std::fs::create_dir_all(&path).expect("creates");
        path
    };
    match what {
        "tmpfs" => Some(Ground {
            path: memory.at.clone(),
            _kept: vec![Box::new(memory), Box::new(place)],
        }),
        "overlay" => {
            let (lower, upper, work, merged) = (at("lower"), at("upper"), at("work"), at("merged"));
            let options = format!(
                "lowerdir={},upperdir={},workdir={}",
                lower.display(),
                upper.display(),
                work.display()
            );
            let overlay = Mount::make(&["-t", "overlay", "-o", &options, "overlay"], &merged)?;
            // Dropped in this order: what stands above goes first.
            Some(Ground {
                path: merged,
                _kept: vec![Box::new(overlay), Box::new(memory), Box::new(place)],
            })
        }
        _ => {
            let volume = LoopVolume::make_in("ext4", 1, 512, &memory.at)?;
            let path = volume.path().to_owned();
            Some(Ground {
                path,
                _kept: vec![Box::new(volume), Box::new(memory), Box::new(place)],
            })
        }
    }
}

#[test]
fn real_mounts_have_theirs() {
    let mut seen = 0;
    for (name, made, answer, finding) in [
        ("tmpfs", in_memory("tmpfs"), No, "stack.volatile"),
        (
            "a loop device on tmpfs",
            in_memory("loop"),
            No,
            "stack.volatile",
        ),
        (
            "an overlay on tmpfs",
            in_memory("overlay"),
            No,
            "stack.overlay",
        ),
        (
            "btrfs on a loop device",
            on_loop("btrfs"),
            Conditional,
            "stack.copy_on_write",
        ),
        (
            "ext4 on a loop device",
            on_loop("ext4"),
            Conditional,
            "stack.loop",
        ),
        (
            "xfs on a loop device",
            on_loop("xfs"),
            Conditional,
            "stack.loop",
        ),
    ] {
        let Some(ground) = made else {
            skipped(&format!("{name} cannot be mounted here"));
            continue;
        };
        let stack = device::identify::stack_of(&ground.path).expect("it is mounted");
        if answer == Conditional && stack.layers.iter().any(|l| l.name == "tmpfs") {
            skipped("the temporary directory is in memory");
            continue;
        }
        let mut run = sound_run(stack);
        let verdict = verdict(&mut run);
        assert_eq!(
            verdict.answer, answer,
            "{name}: {}\n{:#?}",
            verdict.summary, run.findings
        );
        let made = run.findings.iter().any(|f| f.id == finding);
        assert!(made, "{name}: {finding}");
        seen += 1;
    }
    println!("{seen} of 6 were mounted");
}
