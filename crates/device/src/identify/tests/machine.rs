//! The machine as a whole: damage, hypervisors, preloaded libraries, holders, the inventory.

use super::*;
use std::path::{Path, PathBuf};

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

#[test]
fn the_inventory_leaves_out_what_cannot_carry_a_log() {
    let fixture = Fixture::with_mounts(&["22 1 0:5 / /proc rw - proc proc rw"]);
    for (dev, name, attributes) in [
        ("8:16", "sdb", &[("size", "4096")][..]),
        ("8:32", "sdc", &[("size", "0")]),
        ("8:48", "sdd", &[]),
        ("259:1", "nvme1c0n1", &[("size", "4096"), ("hidden", "1")]),
        ("11:0", "sr0", &[("size", "4096")]),
        ("179:0", "mmcblk0", &[("size", "4096")]),
        ("179:8", "mmcblk0boot0", &[("size", "4096")]),
        ("179:16", "mmcblk0rpmb", &[("size", "4096")]),
    ] {
        fixture.block(dev, &format!("odd/{name}"), attributes);
    }
    let all: Vec<String> = fixture
        .probe()
        .all()
        .iter()
        .filter_map(|stack| Some(stack.layers.first()?.name.clone()))
        .collect();
    assert_eq!(all, ["mmcblk0", "sdb"]);
}

/// Root may read everything, so the thread that looks gives that right up.
#[test]
fn processes_that_may_not_be_looked_at_are_counted() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::with_mounts(&[ROOT]);
    // A process, a kernel thread (without a command line), and one whose files may be read.
    fixture.file("proc/70/cmdline", "postgres");
    fixture.file("proc/70/fd/0", "");
    fixture.file("proc/2/fd/0", "");
    fixture.file("proc/71/cmdline", "bash");
    fixture.raw_link("proc/71/fd/0", "/dev/pts/0");
    let root = fixture.root();
    let permit = |pid: &str, mode| {
        let directory = root.path(format!("/proc/{pid}/fd"));
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(directory, mode).expect("our own");
    };
    for pid in ["70", "2"] {
        permit(pid, 0o000);
    }
    let probe = fixture.probe();
    let look = move || {
        let mut sets = capabilities(None).expect("own capabilities");
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE);
        sets.effective.remove(CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).expect("less is always allowed");
        probe.holders(Path::new("/x")).expect("recorded")
    };
    let holders = std::thread::spawn(look).join().expect("no panic");
    for pid in ["70", "2"] {
        permit(pid, 0o700);
    }
    assert_eq!((holders.found.len(), holders.unreadable), (0, 1));
    let says = |line: &String| line.contains("1 processes") && line.contains("root");
    assert!(holders.unknown.iter().any(says), "{:?}", holders.unknown);
}
