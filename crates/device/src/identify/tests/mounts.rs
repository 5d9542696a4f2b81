//! File systems: on disks, on files, on directories, on other machines.

use super::*;
use std::path::Path;

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
        assert_eq!(Watched::of(&stack), None, "{line}");
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
fn several_mounts_and_escaped_spaces() {
    let fixture = Fixture::with_mounts(&[
        ROOT,
        "21 20 0:30 / /redo\\040logs rw - tmpfs first rw",
        "22 21 8:1 /srv/x /redo\\040logs rw - ext4 /dev/sda1 rw", // a bind mount on top
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
fn a_file_system_on_a_directory_goes_on_with_that_directory() {
    let stacked = "21 20 0:51 / /srv/private rw - ecryptfs /srv/.private rw";
    let fixture = Fixture::with_mounts(&[ROOT, stacked]);
    sata(&fixture);
    let stack = fixture.stack("/srv/private/log");
    assert_eq!(
        outline(&stack),
        [
            "0 FileSystem ecryptfs",
            "1 FileSystem ext4",
            "2 Partition sda1",
            "3 Disk sda"
        ]
    );
    assert_eq!(stack.layers[0].backing.as_deref(), Some("/srv/.private"));
}
