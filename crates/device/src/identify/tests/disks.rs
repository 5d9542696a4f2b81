//! Block devices: partitions, mapped devices, RAID, and what disks say of themselves.

use super::*;
use std::path::Path;

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
fn raw_devices_begin_with_the_device() {
    let fixture = Fixture::with_mounts(&[ROOT]);
    sata(&fixture);
    let node = Dev { major: 8, minor: 1 };
    let stack = fixture.probe().stack_at(&Place::block("/dev/sda1", node));
    assert_eq!(outline(&stack), ["0 Partition sda1", "1 Disk sda"]);
}
