//! Recorded machines, walked.

use super::fixture::{Fixture, outline, says};
use super::{BlockDevice, Dev, Place};
use measure::stack::{Layer, LayerKind, Stack};
use std::path::{Path, PathBuf};

const ROOT: &str = "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw";
const NVME: &str = "pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0";

fn layer(stack: &Stack, kind: LayerKind) -> &Layer {
    let found = stack.layers.iter().find(|layer| layer.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in {:?}", outline(stack)))
}

fn names(devices: &[BlockDevice]) -> Vec<&str> {
    devices.iter().map(|device| device.name.as_str()).collect()
}

/// `/dev/nvme<n>n1` with one partition, and its controller.
fn nvme(fixture: &Fixture, n: u32, fua: &str) -> String {
    let home = NVME.replace("nvme0", &format!("nvme{n}"));
    let disk = format!("{home}/nvme{n}n1");
    fixture.file(
        &format!("sys/devices/{home}/model"),
        "SAMSUNG MZQL2960HCJR-00A07   \n",
    );
    fixture.file(&format!("sys/devices/{home}/firmware_rev"), "GDC5602Q\n");
    fixture.file(&format!("sys/devices/{home}/transport"), "pcie\n");
    let attributes = [
        ("size", "1875385008"),
        ("queue/logical_block_size", "512"),
        ("queue/physical_block_size", "4096"),
        ("queue/atomic_write_unit_max_bytes", "131072"),
        ("queue/rotational", "0"),
        ("queue/fua", fua),
        (
            "queue/write_cache",
            if fua == "1" {
                "write back"
            } else {
                "write through"
            },
        ),
        ("integrity/format", "nop"),
    ];
    fixture.block(&format!("259:{}", n * 2), &disk, &attributes);
    fixture.link(
        &format!("sys/devices/{disk}/device"),
        &format!("sys/devices/{home}"),
    );
    let part = format!("{disk}/nvme{n}n1p1");
    let attributes = [
        ("partition", "1"),
        ("start", "2048"),
        ("size", "1875382272"),
    ];
    fixture.block(&format!("259:{}", n * 2 + 1), &part, &attributes);
    part
}

const SDA: &str = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda";

/// A SATA disk with one partition behind an AHCI adapter.
fn sata(fixture: &Fixture) {
    let attributes = [
        ("size", "1000"),
        ("queue/rotational", "1"),
        ("queue/fua", "0"),
        ("queue/write_cache", "write through"),
        ("device/model", "ST4000NM0035"),
        ("device/vendor", "ATA"),
        ("device/rev", "TN05"),
        ("device/scsi_disk/0:0:0:0/cache_type", "write back"),
    ];
    fixture.block("8:0", SDA, &attributes);
    fixture.block(
        "8:1",
        &format!("{SDA}/sda1"),
        &[("partition", "1"), ("start", "63")],
    );
    let host = "sys/devices/pci0000:00/0000:00:17.0/ata1/host0/scsi_host/host0/proc_name";
    fixture.file(host, "ahci\n");
}

#[test]
fn nvme_partition_with_ext4() {
    let fixture =
        Fixture::with_mounts(&["20 1 259:1 / / rw,noatime - ext4 /dev/nvme0n1p1 rw,nobarrier"]);
    nvme(&fixture, 0, "1");
    let stack = fixture.stack("/var/log");
    assert_eq!(
        outline(&stack),
        [
            "0 FileSystem ext4",
            "1 Partition nvme0n1p1",
            "2 Disk nvme0n1"
        ]
    );
    let [file_system, partition, disk] = stack.layers.as_slice() else {
        panic!("three layers");
    };
    assert_eq!(file_system.options, ["rw", "noatime", "nobarrier"]);
    assert_eq!(file_system.copy_on_write, Some(false));
    assert_eq!(file_system.mount_point.as_deref(), Some("/"));
    assert_eq!(partition.start_bytes, Some(2048 * 512));
    assert_eq!(disk.detail.as_deref(), Some("nvme"));
    assert_eq!(disk.model.as_deref(), Some("SAMSUNG MZQL2960HCJR-00A07"));
    assert_eq!(disk.firmware.as_deref(), Some("GDC5602Q"));
    assert_eq!(disk.size_bytes, Some(1_875_385_008 * 512));
    assert_eq!(
        (
            disk.logical_block_bytes,
            disk.physical_block_bytes,
            disk.atomic_write_bytes
        ),
        (Some(512), Some(4096), Some(131_072))
    );
    assert_eq!(
        (disk.drive_write_cache, disk.fua, disk.rotational),
        (Some(true), Some(true), Some(false))
    );
    assert_eq!(disk.integrity.as_deref(), Some("nop"));
    assert_eq!(stack.unknown, [""; 0]);
    assert_eq!((stack.hypervisor, stack.preload), (None, None));

    let watched = fixture
        .probe()
        .device_of(Path::new("/x"))
        .expect("recorded");
    let watched = watched.expect("a disk");
    assert_eq!(names(&watched.own), ["nvme0n1p1"]);
    assert_eq!(names(&watched.whole), ["nvme0n1"]);
    assert_eq!(watched.disks, watched.whole);
}

#[test]
fn nvme_multipath_below_its_subsystem() {
    let fixture = Fixture::with_mounts(&["20 1 259:0 / / rw - xfs /dev/nvme0n1 rw"]);
    let subsystem = "virtual/nvme-subsystem/nvme-subsys0";
    let attributes = [
        ("size", "8"),
        ("queue/fua", "0"),
        ("queue/write_cache", "write through"),
    ];
    fixture.block("259:0", &format!("{subsystem}/nvme0n1"), &attributes);
    fixture.file(&format!("sys/devices/{subsystem}/model"), "Array\n");
    fixture.file(
        "sys/devices/virtual/nvme-fabrics/ctl/nvme3/transport",
        "tcp\n",
    );
    let controller = "sys/devices/virtual/nvme-fabrics/ctl/nvme3";
    fixture.link(&format!("sys/devices/{subsystem}/nvme3"), controller);
    let device = format!("sys/devices/{subsystem}/nvme0n1/device");
    fixture.link(&device, &format!("sys/devices/{subsystem}"));
    let stack = fixture.stack("/");
    let disk = layer(&stack, LayerKind::Disk);
    assert_eq!(disk.detail.as_deref(), Some("nvme-tcp"));
    assert_eq!(disk.model.as_deref(), Some("Array"));
    assert_eq!(disk.drive_write_cache, Some(false));
    assert!(says(&stack, "behind the network"), "{:?}", stack.unknown);
}

#[test]
fn luks_on_lvm_on_sata() {
    let fixture =
        Fixture::with_mounts(&["20 1 253:1 / / rw - xfs /dev/mapper/crypt rw,attr2,inode64"]);
    sata(&fixture);
    let crypt = [
        ("dm/uuid", "CRYPT-LUKS2-8d7a-crypt"),
        ("dm/name", "crypt"),
        ("size", "900"),
    ];
    fixture.block("253:1", "virtual/block/dm-1", &crypt);
    let volume = [
        ("dm/uuid", "LVM-AbCd"),
        ("dm/name", "vg-redo"),
        ("size", "950"),
    ];
    fixture.block("253:0", "virtual/block/dm-0", &volume);
    fixture.stands_on("virtual/block/dm-1", "virtual/block/dm-0");
    fixture.stands_on("virtual/block/dm-0", &format!("{SDA}/sda1"));
    let stack = fixture.stack("/u01");
    assert_eq!(
        outline(&stack),
        [
            "0 FileSystem xfs",
            "1 Luks dm-1",
            "2 DeviceMapper dm-0",
            "3 Partition sda1",
            "4 Disk sda"
        ]
    );
    let luks = layer(&stack, LayerKind::Luks);
    assert_eq!(luks.detail.as_deref(), Some("LUKS2"));
    assert_eq!(luks.source.as_deref(), Some("/dev/mapper/crypt"));
    assert_eq!(
        layer(&stack, LayerKind::DeviceMapper).detail.as_deref(),
        Some("lvm")
    );
    let disk = layer(&stack, LayerKind::Disk);
    assert_eq!(disk.detail.as_deref(), Some("sata"));
    assert_eq!(disk.controller.as_deref(), Some("ahci"));
    assert_eq!(disk.vendor.as_deref(), Some("ATA"));
    assert_eq!(
        disk.write_cache.as_deref(),
        Some("write through"),
        "as forged"
    );
    assert_eq!(disk.cache_type.as_deref(), Some("write back"));
    assert_eq!(disk.drive_write_cache, Some(true));

    let watched = fixture
        .probe()
        .device_of(Path::new("/u01"))
        .expect("recorded");
    let watched = watched.expect("a disk");
    assert_eq!(names(&watched.own), ["dm-1"]);
    assert_eq!(names(&watched.whole), ["dm-1"]);
    assert_eq!(names(&watched.disks), ["sda"]);
}

#[test]
fn md_mirror_of_two_nvme() {
    let fixture = Fixture::with_mounts(&["20 1 9:0 / / rw - ext4 /dev/md0 rw"]);
    let attributes = [
        ("md/level", "raid1"),
        ("md/consistency_policy", "bitmap"),
        ("size", "8"),
    ];
    fixture.block("9:0", "virtual/block/md0", &attributes);
    for n in [0, 1] {
        let part = nvme(&fixture, n, "0");
        fixture.stands_on("virtual/block/md0", &part);
    }
    let stack = fixture.stack("/");
    assert_eq!(
        outline(&stack),
        [
            "0 FileSystem ext4",
            "1 Md md0",
            "2 Partition nvme0n1p1",
            "3 Disk nvme0n1",
            "2 Partition nvme1n1p1",
            "3 Disk nvme1n1"
        ]
    );
    let md = layer(&stack, LayerKind::Md);
    assert_eq!(md.detail.as_deref(), Some("raid1"));
    assert_eq!(md.options, ["consistency_policy=bitmap"]);
    assert_eq!(
        layer(&stack, LayerKind::Disk).drive_write_cache,
        Some(false)
    );
    let watched = fixture
        .probe()
        .device_of(Path::new("/"))
        .expect("recorded")
        .expect("disks");
    assert_eq!(names(&watched.whole), ["md0"]);
    assert_eq!(names(&watched.disks), ["nvme0n1", "nvme1n1"]);
}

#[test]
fn loop_on_tmpfs_ends_in_memory() {
    for file in ["/dev/shm/disk.img", "/dev/shm/disk.img (deleted)"] {
        let fixture = Fixture::with_mounts(&[
            ROOT,
            "21 20 0:25 / /dev/shm rw - tmpfs tmpfs rw,size=1g",
            "22 20 7:0 / /mnt rw - ext4 /dev/loop0 rw",
        ]);
        let attributes = [
            ("loop/backing_file", file),
            ("loop/dio", "0"),
            ("size", "8"),
        ];
        fixture.block("7:0", "virtual/block/loop0", &attributes);
        let stack = fixture.stack("/mnt/redo");
        assert_eq!(
            outline(&stack),
            [
                "0 FileSystem ext4",
                "1 Loop loop0",
                "2 MemoryFileSystem tmpfs"
            ]
        );
        let device = layer(&stack, LayerKind::Loop);
        assert_eq!(device.backing.as_deref(), Some(file));
        assert_eq!(device.options, ["dio=0"]);
    }
}

#[test]
fn overlay_goes_on_with_its_upper_directory() {
    let overlay = |upper: &str| {
        format!(
            "21 20 0:50 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir={upper},workdir=/w"
        )
    };
    let fixture = Fixture::with_mounts(&[ROOT, &overlay("/var/lib/a\\040b")]);
    sata(&fixture);
    let stack = fixture.stack("/merged/data");
    assert_eq!(
        outline(&stack),
        [
            "0 Overlay overlay",
            "1 FileSystem ext4",
            "2 Partition sda1",
            "3 Disk sda"
        ]
    );
    let union = layer(&stack, LayerKind::Overlay);
    assert_eq!(union.backing.as_deref(), Some("/var/lib/a b"));
    assert_eq!(union.dev, None, "anonymous");
    let watched = fixture
        .probe()
        .device_of(Path::new("/merged"))
        .expect("recorded");
    assert_eq!(names(&watched.expect("a disk").own), ["sda1"]);

    // In a container the upper directory's path means something else, or nothing.
    let alone = "20 1 0:50 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/var/lib/docker/x";
    let stack = Fixture::with_mounts(&[alone]).stack("/data");
    assert_eq!(outline(&stack), ["0 Overlay overlay"]);
    assert!(
        says(&stack, "/var/lib/docker/x is not visible"),
        "{:?}",
        stack.unknown
    );

    let read_only = "20 1 0:50 / / ro - overlay overlay ro,lowerdir=/l";
    assert!(says(
        &Fixture::with_mounts(&[read_only]).stack("/"),
        "without an upper directory"
    ));
}

#[test]
fn btrfs_lists_every_member() {
    let mount =
        |options: &str| format!("20 1 0:33 /@ / rw - btrfs /dev/mapper/top {options},subvol=/@");
    let fixture = Fixture::with_mounts(&[&mount("rw,ssd")]);
    let top = [
        ("dm/uuid", "CRYPT-LUKS1-x-top"),
        ("dm/name", "top"),
        ("size", "8"),
    ];
    fixture.block("253:0", "virtual/block/dm-0", &top);
    let part = nvme(&fixture, 0, "1");
    fixture.stands_on("virtual/block/dm-0", &part);
    nvme(&fixture, 1, "1");
    for (name, target) in [
        ("dm-0", "virtual/block/dm-0".to_owned()),
        ("nvme1n1", NVME.replace("nvme0", "nvme1") + "/nvme1n1"),
    ] {
        let link = format!("sys/fs/btrfs/5e9d/devices/{name}");
        fixture.link(&link, &format!("sys/devices/{target}"));
    }
    let expected = [
        "0 FileSystem btrfs",
        "1 Luks dm-0",
        "2 Partition nvme0n1p1",
        "3 Disk nvme0n1",
        "1 Disk nvme1n1",
    ];
    // Found by the mapped name in sysfs, then by the link in /dev.
    assert_eq!(outline(&fixture.stack("/")), expected);
    fixture.file("dev/dm-0", "");
    fixture.link("dev/mapper/top", "dev/dm-0");
    let stack = fixture.stack("/");
    assert_eq!(outline(&stack), expected);
    assert_eq!(
        layer(&stack, LayerKind::FileSystem).copy_on_write,
        None,
        "attribute unread"
    );
    let watched = fixture
        .probe()
        .device_of(Path::new("/"))
        .expect("recorded")
        .expect("disks");
    assert_eq!(names(&watched.own), ["dm-0", "nvme1n1"]);

    let in_place = Fixture::with_mounts(&[&mount("rw,nodatacow")]).stack("/");
    assert_eq!(
        layer(&in_place, LayerKind::FileSystem).copy_on_write,
        Some(false)
    );
    assert!(says(
        &in_place,
        "no block device is seen behind /dev/mapper/top"
    ));
}

#[test]
fn xfs_with_an_external_log_branches() {
    let fixture = Fixture::with_mounts(&[
        "20 1 8:1 / / rw - xfs /dev/sda1 rw,logbufs=8,logdev=/dev/nvme0n1p1",
    ]);
    sata(&fixture);
    nvme(&fixture, 0, "0");
    assert_eq!(
        outline(&fixture.stack("/")),
        [
            "0 FileSystem xfs",
            "1 Partition sda1",
            "2 Disk sda",
            "1 Partition nvme0n1p1",
            "2 Disk nvme0n1"
        ]
    );
}

#[test]
fn file_systems_without_a_visible_disk() {
    for (line, kind, name, said) in [
        (
            "0:40 / / rw - zfs rpool/data rw,xattr",
            LayerKind::FileSystem,
            "zfs",
            "sync property",
        ),
        (
            "0:41 / / rw - nfs4 nas:/redo rw,vers=4.2,soft,timeo=600",
            LayerKind::NetworkFileSystem,
            "nfs4",
            "nfs4 from nas:/redo",
        ),
        (
            "0:41 / / rw - nfs nas:/redo rw,vers=3,hard",
            LayerKind::NetworkFileSystem,
            "nfs",
            "cannot be seen",
        ),
        (
            "0:42 / / rw - virtiofs share rw",
            LayerKind::NetworkFileSystem,
            "virtiofs",
            "share",
        ),
        (
            "0:43 / / rw - 9p share rw,trans=virtio",
            LayerKind::NetworkFileSystem,
            "9p",
            "share",
        ),
        (
            "0:44 / / rw - fuse.sshfs h:/x rw",
            LayerKind::FuseFileSystem,
            "fuse.sshfs",
            "process",
        ),
        (
            "0:45 / / rw - unheardof none rw",
            LayerKind::FileSystem,
            "unheardof",
            "no block device",
        ),
    ] {
        let stack = Fixture::with_mounts(&[&format!("20 1 {line}")]).stack("/data");
        assert_eq!(outline(&stack), [format!("0 {kind:?} {name}")], "{line}");
        assert!(says(&stack, said), "{line}: {:?}", stack.unknown);
        assert_eq!(super::Watched::of(&stack), None, "{line}");
    }
    let soft = "20 1 0:41 / / rw - nfs4 nas:/redo rw,vers=4.2,soft,timeo=600";
    let stack = Fixture::with_mounts(&[soft]).stack("/");
    let options = &layer(&stack, LayerKind::NetworkFileSystem).options;
    assert!(options.iter().any(|option| option == "soft"), "{options:?}");
    let memory = Fixture::with_mounts(&["20 1 0:9 / / rw - ramfs ramfs rw"]).stack("/");
    assert_eq!(outline(&memory), ["0 MemoryFileSystem ramfs"]);
    assert_eq!(memory.unknown, [""; 0]);
}

#[test]
fn fuse_on_a_block_device_goes_on() {
    let fixture = Fixture::with_mounts(&["20 1 8:1 / / rw - fuseblk /dev/sda1 rw,user_id=0"]);
    sata(&fixture);
    assert_eq!(
        outline(&fixture.stack("/")),
        ["0 FuseFileSystem fuseblk", "1 Partition sda1", "2 Disk sda"]
    );
}

#[test]
fn disks_in_memory() {
    for (dev, name, kind) in [
        ("253:0", "zram0", LayerKind::Zram),
        ("1:0", "ram0", LayerKind::RamDisk),
        ("252:0", "nullb0", LayerKind::RamDisk),
    ] {
        let mount = format!("20 1 {dev} / / rw - ext4 /dev/{name} rw");
        let fixture = Fixture::with_mounts(&[&mount]);
        let attributes = [("size", "8"), ("comp_algorithm", "lzo [zstd]")];
        fixture.block(dev, &format!("virtual/block/{name}"), &attributes);
        let stack = fixture.stack("/");
        assert_eq!(
            outline(&stack),
            ["0 FileSystem ext4".to_owned(), format!("1 {kind:?} {name}")]
        );
        assert_eq!(stack.unknown, [""; 0]);
    }
}

#[test]
fn several_mounts_and_escaped_spaces() {
    let fixture = Fixture::with_mounts(&[
        ROOT,
        "21 20 0:30 / /redo\\040logs rw - tmpfs first rw",
        "22 21 8:1 /home/x /redo\\040logs rw - ext4 /dev/sda1 rw", // a bind mount on top
    ]);
    sata(&fixture);
    let stack = fixture.stack("/redo logs/a");
    assert_eq!(
        outline(&stack),
        ["0 FileSystem ext4", "1 Partition sda1", "2 Disk sda"]
    );
    let file_system = layer(&stack, LayerKind::FileSystem);
    assert_eq!(file_system.mount_point.as_deref(), Some("/redo logs"));
    let held_open = Place {
        mount_id: Some(21),
        ..Place::named("/redo logs/a")
    };
    let stack = fixture.probe().stack_at(&held_open);
    assert_eq!(
        outline(&stack),
        ["0 MemoryFileSystem tmpfs"],
        "the mount id decides"
    );
}

#[test]
fn raw_devices_begin_with_the_device() {
    let fixture = Fixture::with_mounts(&[ROOT]);
    sata(&fixture);
    let node = Dev { major: 8, minor: 1 };
    let stack = fixture.probe().stack_at(&Place::block("/dev/sda1", node));
    assert_eq!(outline(&stack), ["0 Partition sda1", "1 Disk sda"]);
}

#[test]
fn missing_and_damaged_files_are_said() {
    let stack = Fixture::new().stack("/x");
    assert_eq!(outline(&stack), [""; 0]);
    assert!(
        says(&stack, "mountinfo cannot be read"),
        "{:?}",
        stack.unknown
    );

    let stack = Fixture::with_mounts(&[ROOT, "20 nonsense"]).stack("/x");
    assert_eq!(outline(&stack), ["0 FileSystem ext4"]);
    assert!(says(&stack, "1 lines"), "{:?}", stack.unknown);
    assert!(says(&stack, "8:1 is not shown"), "{:?}", stack.unknown);

    let fixture = Fixture::with_mounts(&[ROOT]);
    let garbage = "\u{fffd}99999999999999999999999";
    let attributes = [
        ("partition", ""),
        ("start", garbage),
        ("size", garbage),
        ("queue/fua", garbage),
    ];
    fixture.block("8:1", "odd/sda1", &attributes);
    let stack = fixture.stack("/");
    assert_eq!(outline(&stack), ["0 FileSystem ext4", "1 Partition sda1"]);
    assert!(
        says(&stack, "the disk that it is a part of"),
        "{:?}",
        stack.unknown
    );

    // A recording whose devices stand on each other still ends.
    let fixture = Fixture::with_mounts(&["20 1 253:0 / / rw - ext4 /dev/dm-0 rw"]);
    for n in [0, 1] {
        let dm = [("dm/uuid", "LVM-x"), ("size", "18446744073709551615")];
        fixture.block(&format!("253:{n}"), &format!("virtual/block/dm-{n}"), &dm);
    }
    for (above, below) in [(0, 1), (1, 0), (0, 0)] {
        let path = |n: i32| format!("virtual/block/dm-{n}");
        fixture.stands_on(&path(above), &path(below));
    }
    let stack = fixture.stack("/");
    assert!(says(&stack, "too deep or too wide"), "{:?}", stack.unknown);
    assert!(stack.layers.len() <= 512);
}

#[test]
fn hypervisors_show_themselves_in_many_places() {
    let dmi = "sys/class/dmi/id";
    let clocks = "sys/devices/system/clocksource/clocksource0/available_clocksource";
    for (files, expected) in [
        (vec![], None),
        (
            vec![("proc/cpuinfo", "flags\t: fpu hypervisor lm\n")],
            Some("unknown hypervisor"),
        ),
        (
            vec![("proc/cpuinfo", "model\t: hypervisor\nflags\t: fpu\n")],
            None,
        ),
        (vec![(clocks, "kvm-clock tsc\n")], Some("KVM")),
        (vec![(clocks, "tsc hpet acpi_pm\n")], None),
        (vec![("sys/hypervisor/type", "xen\n")], Some("Xen")),
        (
            vec![("proc/device-tree/hypervisor/compatible", "linux,kvm\0")],
            Some("KVM"),
        ),
        (
            vec![("proc/device-tree/compatible", "linux,dummy-virt\0")],
            Some("unknown hypervisor"),
        ),
        (vec![("DMI/sys_vendor", "QEMU\n")], Some("QEMU/KVM")),
        (vec![("DMI/product_name", "VMware7,1\n")], Some("VMware")),
        (
            vec![
                ("DMI/sys_vendor", "Dell Inc.\n"),
                ("DMI/product_name", "PowerEdge R750\n"),
            ],
            None,
        ),
        (
            vec![
                ("DMI/sys_vendor", "Amazon EC2\n"),
                ("DMI/product_name", "m6g.large\n"),
            ],
            Some("Amazon EC2 Nitro"),
        ),
        (
            vec![
                ("DMI/sys_vendor", "Amazon EC2\n"),
                ("DMI/product_name", "m6g.metal\n"),
            ],
            None,
        ),
    ] {
        let fixture = Fixture::with_mounts(&["20 1 0:9 / / rw - tmpfs x rw"]);
        for (path, text) in &files {
            fixture.file(&path.replace("DMI", dmi), text);
        }
        assert_eq!(
            fixture.stack("/").hypervisor.as_deref(),
            expected,
            "{files:?}"
        );
    }
    let share = Fixture::with_mounts(&["20 1 0:9 / / rw - virtiofs share rw"]).stack("/");
    assert_eq!(share.hypervisor.as_deref(), Some("unknown hypervisor"));
}

#[test]
fn lying_libraries_are_found() {
    let library = "/usr/lib/x86_64-linux-gnu/libeatmydata.so.1";
    let fixture = Fixture::new();
    assert_eq!(fixture.stack("/").preload, None);
    let asked = fixture
        .probe()
        .with_preload(&format!("/lib/other.so:{library}"));
    let stack = asked.stack_of(Path::new("/")).expect("recorded");
    assert_eq!(stack.preload.as_deref(), Some(library));
    let maps =
        format!("7f00-7f01 r-xp 00000000 fe:00 1 /lib/libc.so\n7f02-7f03 r-xp 0 0 2  {library}\n");
    fixture.file("proc/self/maps", &maps);
    assert_eq!(fixture.stack("/").preload.as_deref(), Some(library));
}

#[test]
fn holders_on_the_same_file_system_only() {
    let fixture = Fixture::with_mounts(&[
        ROOT,
        "21 20 8:2 / /pg rw - ext4 /dev/sda2 rw",
        "22 20 0:5 / /proc rw - proc proc rw,hidepid=invisible",
    ]);
    for (pid, command, files) in [
        (
            70,
            "postgres",
            vec!["/pg/16/pg_wal/0001", "/pg/16/base/1", "socket:[7]"],
        ),
        (
            8,
            "mariadbd",
            vec!["/var/lib/mysql/ib_logfile0", "/pg/ib_logfile1"],
        ),
        (9, "bash", vec!["/dev/pts/0"]),
    ] {
        fixture.file(&format!("proc/{pid}/comm"), &format!("{command}\n"));
        for (n, file) in files.iter().enumerate() {
            fixture.raw_link(&format!("proc/{pid}/fd/{n}"), file);
        }
    }
    let holders = fixture
        .probe()
        .holders(Path::new("/pg/new"))
        .expect("recorded");
    let found: Vec<(u32, &str, &[PathBuf])> = holders
        .found
        .iter()
        .map(|h| (h.pid, h.command.as_str(), h.files.as_slice()))
        .collect();
    assert_eq!(
        found,
        [
            (8, "mariadbd", &[PathBuf::from("/pg/ib_logfile1")][..]),
            (70, "postgres", &[PathBuf::from("/pg/16/pg_wal/0001")][..])
        ]
    );
    assert_eq!(holders.unreadable, 0);
    assert!(holders.unknown.iter().any(|line| line.contains("hidepid")));
}

#[test]
fn the_inventory_lists_each_file_system_once() {
    let fixture = Fixture::with_mounts(&[
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw",
        "21 20 8:1 /home /bind rw - ext4 /dev/sda1 rw",
        "22 20 0:5 / /proc rw - proc proc rw",
        "23 20 0:6 / /run rw - tmpfs tmpfs rw",
        "24 20 0:7 / /dev/shm rw - tmpfs tmpfs rw",
        "25 20 8:2 / /hidden rw - ext4 /dev/sda2 rw",
        "26 25 0:8 / /hidden rw - tmpfs top rw",
        "27 20 7:3 / /snap/x ro - squashfs /dev/loop3 ro",
    ]);
    sata(&fixture);
    nvme(&fixture, 0, "1");
    fixture.block("7:0", "virtual/block/loop0", &[("size", "0")]);
    fixture.block(
        "253:0",
        "virtual/block/dm-0",
        &[("dm/uuid", "LVM-x"), ("size", "8")],
    );
    fixture.stands_on("virtual/block/dm-0", "virtual/block/ghost");
    let all: Vec<String> = fixture
        .probe()
        .all()
        .iter()
        .filter_map(|stack| {
            let top = stack.layers.first()?;
            top.mount_point.clone().or(Some(top.name.clone()))
        })
        .collect();
    assert_eq!(all, ["/", "/dev/shm", "/hidden", "dm-0", "nvme0n1"]);
}
