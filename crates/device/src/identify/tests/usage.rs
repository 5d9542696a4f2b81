//! Who uses a device, on recorded machines.

use super::*;
use crate::identify::{Relation, User};

const NO_MOUNT: &str = "20 1 0:9 / / rw - tmpfs tmpfs rw";

fn uses(fixture: &Fixture, major: u32, minor: u32) -> Vec<(String, Relation, User)> {
    let uses = fixture.probe().uses(Dev { major, minor });
    uses.into_iter()
        .map(|u| (u.device, u.relation, u.by))
        .collect()
}

fn mount(kind: &str, point: &str) -> User {
    User::Mount {
        kind: kind.to_owned(),
        point: point.into(),
    }
}

fn used(device: &str, relation: Relation, by: User) -> (String, Relation, User) {
    (device.to_owned(), relation, by)
}

#[test]
fn a_mount_uses_its_partition_and_the_whole_disk() {
    let fixture = Fixture::with_mounts(&[ROOT]);
    sata(&fixture);
    let other = [("partition", "2"), ("start", "5000")];
    fixture.block("8:2", &format!("{SDA}/sda2"), &other);
    let by = mount("ext4", "/");
    let itself = used("sda1", Relation::Itself, by.clone());
    assert_eq!(uses(&fixture, 8, 1), [itself]);
    assert_eq!(
        uses(&fixture, 8, 0),
        [used("sda1", Relation::Partition, by)]
    );
    assert_eq!(
        uses(&fixture, 8, 2),
        [],
        "a partition beside a mounted one is free"
    );
}

#[test]
fn a_partition_of_a_mounted_disk_is_in_use() {
    let fixture = Fixture::with_mounts(&["20 1 8:0 / / rw - ext4 /dev/sda rw"]);
    sata(&fixture);
    let by = mount("ext4", "/");
    assert_eq!(uses(&fixture, 8, 1), [used("sda", Relation::Disk, by)]);
}

#[test]
fn members_of_a_btrfs_are_found_behind_its_anonymous_device() {
    let fixture = Fixture::with_mounts(&["20 1 0:33 /@ / rw - btrfs /dev/sda1 rw,subvol=/@"]);
    sata(&fixture);
    nvme(&fixture, 0, "1");
    let nvme = format!("sys/devices/{}/nvme0n1", NVME);
    fixture.link(
        "sys/fs/btrfs/5e9d/devices/sda1",
        &format!("sys/devices/{SDA}/sda1"),
    );
    fixture.link("sys/fs/btrfs/5e9d/devices/nvme0n1", &nvme);
    let by = mount("btrfs", "/");
    assert_eq!(
        uses(&fixture, 259, 0),
        [used("nvme0n1", Relation::Itself, by.clone())]
    );
    assert_eq!(uses(&fixture, 8, 1), [used("sda1", Relation::Itself, by)]);
}

#[test]
fn swap_holders_and_loops_are_uses() {
    let fixture = Fixture::with_mounts(&[NO_MOUNT]);
    sata(&fixture);
    fixture.file(
        "proc/swaps",
        "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
         /swap\\040file                           file\t\t8\t\t0\t\t-2\n\
         /dev/sda1                               partition\t8\t\t0\t\t-3\n",
    );
    fixture.file("dev/sda1", "");
    assert_eq!(
        uses(&fixture, 8, 1),
        [used("sda1", Relation::Itself, User::Swap)]
    );
    assert_eq!(
        uses(&fixture, 8, 0),
        [used("sda1", Relation::Partition, User::Swap)]
    );

    for (above, directory) in [("dm-0", "virtual/block/dm-0"), ("md0", "virtual/block/md0")] {
        let fixture = Fixture::with_mounts(&[NO_MOUNT]);
        sata(&fixture);
        fixture.block("253:0", directory, &[("size", "8")]);
        fixture.stands_on(directory, &format!("{SDA}/sda1"));
        let by = User::Holder(above.to_owned());
        assert_eq!(
            uses(&fixture, 8, 1),
            [used("sda1", Relation::Itself, by.clone())]
        );
        assert_eq!(
            uses(&fixture, 8, 0),
            [used("sda1", Relation::Partition, by)]
        );
        assert_eq!(uses(&fixture, 253, 0), [], "the top of a stack is free");
    }

    let fixture = Fixture::with_mounts(&[NO_MOUNT]);
    sata(&fixture);
    let behind = [("loop/backing_file", "/dev/sda1"), ("size", "8")];
    fixture.block("7:5", "virtual/block/loop5", &behind);
    let by = User::Loop("loop5".to_owned());
    assert_eq!(uses(&fixture, 8, 1), [used("sda1", Relation::Itself, by)]);
}

#[test]
fn processes_that_may_write_are_uses_and_readers_are_not() {
    let fixture = Fixture::with_mounts(&[NO_MOUNT]);
    sata(&fixture);
    for (pid, flags) in [(41, "0100000"), (42, "0100002"), (43, "02101001")] {
        fixture.raw_link(&format!("proc/{pid}/fd/3"), "/dev/sda1");
        fixture.file(
            &format!("proc/{pid}/fdinfo/3"),
            &format!("pos:\t0\nflags:\t{flags}\n"),
        );
        fixture.file(&format!("proc/{pid}/comm"), "ocssd\n");
    }
    let process = |pid| User::Process {
        pid,
        command: "ocssd".to_owned(),
    };
    let itself = |by| used("sda1", Relation::Itself, by);
    assert_eq!(
        uses(&fixture, 8, 1),
        [itself(process(42)), itself(process(43))]
    );
}

#[test]
fn what_cannot_be_seen_is_not_called_free() {
    let fixture = Fixture::new();
    sata(&fixture);
    let seen = uses(&fixture, 8, 1);
    assert!(matches!(seen.as_slice(), [(_, _, User::Unknown(what))] if what.contains("mountinfo")));
    let fixture = Fixture::with_mounts(&[NO_MOUNT]);
    let seen = uses(&fixture, 8, 1);
    assert!(matches!(seen.as_slice(), [(_, _, User::Unknown(what))] if what.contains("sysfs")));
}
