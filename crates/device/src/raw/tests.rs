//! Loop devices made here, and recorded machines for what cannot be made.

use super::*;
use crate::file::tests::Scratch;
use crate::identify::{Relation, User};
use std::io::Read;
use std::process::Command;

/// A loop device on a sparse file; gone with the test.
struct Loop {
    device: String,
    _scratch: Scratch,
}

const BYTES: u64 = 64 << 20;

fn ran(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

impl Loop {
    /// Says why it skips.
    fn new(options: &[&str]) -> Option<Loop> {
        Loop::sized(BYTES, options)
    }

    fn sized(bytes: u64, options: &[&str]) -> Option<Loop> {
        let scratch = Scratch::new();
        let image = scratch.0.join("image");
        let file = std::fs::File::create(&image).expect("writable");
        file.set_len(bytes).expect("sparse");
        let image = image.display().to_string();
        let arguments = [&["--find", "--show"], options, &[image.as_str()]].concat();
        let device = ran("losetup", &arguments);
        if device.is_none() {
            println!("skipped: losetup makes no loop device here (needs root and loop devices)");
        }
        Some(Loop {
            device: device?,
            _scratch: scratch,
        })
    }

    fn path(&self) -> &Path {
        Path::new(&self.device)
    }

    fn ends(&self) -> (Vec<u8>, Vec<u8>) {
        use std::io::{Seek, SeekFrom};
        let mut file = std::fs::File::open(self.path()).expect("opens");
        let mut ends = (vec![0; 1 << 20], vec![0; 1 << 20]);
        file.read_exact(&mut ends.0).expect("reads");
        file.seek(SeekFrom::End(-(1 << 20))).expect("seeks");
        file.read_exact(&mut ends.1).expect("reads");
        ends
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        if ran("losetup", &["--detach", &self.device]).is_none() {
            eprintln!("{} stays attached", self.device);
        }
    }
}

fn refusal<T>(result: Result<T, DeviceError>) -> RawDeviceRefusal {
    match result.map(|_| ()) {
        Err(DeviceError::Refused(refusal)) => *refusal,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_path_that_is_no_block_device() {
    let scratch = Scratch::new();
    let file = scratch.file("image", 8192);
    for path in [file.as_path(), &scratch.0, Path::new("/dev/null")] {
        assert!(!is_block_device(path));
        let refused = refusal(RawDevice::at(path));
        assert!(
            matches!(refused, RawDeviceRefusal::NotABlockDevice { .. }),
            "{refused}"
        );
    }
    let missing = RawDevice::at(Path::new("/dev/no-such-disk")).expect_err("missing");
    assert!(
        missing
            .to_string()
            .starts_with("/dev/no-such-disk: look up"),
        "{missing}"
    );
}

/// A killed process's claim lasts until its last write has ended: nobody who lives has it then.
#[test]
fn a_claim_that_nobody_alive_has_is_waited_for() {
    let Some(device) = Loop::new(&[]) else { return };
    let look = RawDevice::at(device.path()).expect("readable");
    // A search for a free loop device claims each for a moment, also this one.
    let claimed = || {
        let claim = || Node::Block.open(device.path(), OFlags::RDWR | OFlags::EXCL);
        let begun = Instant::now();
        loop {
            match claim() {
                Err(_) if begun.elapsed() < MOMENT * 100 => std::thread::sleep(MOMENT / 10),
                claimed => return claimed,
            }
        }
    };
    let release_after = |claim: OwnedFd| {
        std::thread::spawn(move || {
            std::thread::sleep(MOMENT * 4);
            drop(claim);
        })
    };
    let begun = Instant::now();
    let releases = release_after(claimed().expect("free"));
    let held = look.hold().expect("free in the end");
    assert!(begun.elapsed() >= MOMENT * 4, "nothing to wait for");
    releases.join().expect("no panic");
    drop(held);

    let releases = release_after(claimed().expect("free"));
    let again = RawDevice::at(device.path()).expect("readable");
    assert_eq!(again.check(), Ok(()));
    releases.join().expect("no panic");
}

#[test]
fn a_free_device_needs_its_exact_path_and_is_then_held() {
    let Some(device) = Loop::new(&[]) else { return };
    let look = RawDevice::at(device.path()).expect("readable");
    assert_eq!((look.bytes(), look.sectors().0), (BYTES, 512));
    assert!(look.content().is_blank && look.content().signatures.is_empty());
    look.check().expect("free");
    let words = look.inventory();
    assert!(
        words.contains("67108864 bytes; loop device on ") && words.contains("zero"),
        "{words}"
    );

    let text = look.consent(None).expect_err("not repeated").to_string();
    assert!(
        text.contains(&format!("--destroy {}", device.device)),
        "{text}"
    );
    for other in ["/dev/loop", "/dev/../dev/loop0", ""] {
        let refused = look
            .consent(Some(Path::new(other)))
            .expect_err("another path");
        assert!(
            matches!(refused, RawDeviceRefusal::OtherPath { .. }),
            "{refused}"
        );
    }
    // Equal as paths, but not letter by letter.
    let doubled = device.device.replacen("/dev/", "/dev//", 1);
    assert!(look.consent(Some(Path::new(&doubled))).is_err());

    let consent = look.consent(Some(device.path())).expect("repeated");
    let held = look.hold().expect("free");
    let begun = Instant::now();
    assert_eq!(
        refusal(look.hold()),
        RawDeviceRefusal::Claimed {
            path: device.path().to_owned()
        }
    );
    assert!(begun.elapsed() < FINISHING_MAX, "its owner lives");
    let again = RawDevice::at(device.path()).expect("readable beside its owner");
    assert!(matches!(
        again.check(),
        Err(RawDeviceRefusal::Claimed { .. })
    ));
    let owner = crate::file::owner(device.path()).expect("readable");
    assert_eq!(owner, Some(std::process::id()));
    let cleared = held.clear(&consent).expect("unchanged");
    let guard = cleared.into_held().into_guard();
    assert!(look.hold().is_err(), "the guard holds on");
    drop(guard);
    look.hold().expect("free again");
    assert!(
        device.ends().0.iter().all(|b| *b == 0),
        "nothing was written"
    );
}

#[test]
fn what_a_device_carries_is_told_and_stays_as_it_is() {
    for (tool, arguments, name) in [
        ("mkfs.ext4", &["-q", "-F"][..], "ext2, ext3 or ext4"),
        ("mkfs.btrfs", &["-q", "-f", "-M"], "btrfs"),
        ("mkfs.xfs", &["-q", "-f"], "xfs"),
        ("mkswap", &["-q"], "swap"),
        (
            "mke2fs",
            &["-q", "-F", "-O", "journal_dev"],
            "ext2, ext3 or ext4",
        ),
        ("mkfs.vfat", &["-F", "16"], "FAT"),
        ("mkfs.vfat", &["-F", "32"], "FAT32"),
        (
            "cryptsetup",
            &[
                "-q",
                "luksFormat",
                "--key-file",
                "/dev/zero",
                "--keyfile-size",
                "8",
                "--pbkdf",
                "pbkdf2",
                "--pbkdf-force-iterations",
                "1000",
            ],
            "LUKS",
        ),
        ("pvcreate", &["-q"], "LVM physical volume"),
    ] {
        let Some(device) = Loop::sized(512 << 20, &[]) else {
            return;
        };
        let all = [arguments, &[device.device.as_str()]].concat();
        if ran(tool, &all).is_none() {
            println!("skipped: {tool} is not here or fails on 512 MiB");
            continue;
        }
        let before = device.ends();
        let look = RawDevice::at(device.path()).expect("readable");
        let names: Vec<_> = look.content().signatures.iter().map(|s| s.name).collect();
        assert!(names.contains(&name), "{tool}: {names:?}");
        let text = look.consent(None).expect_err("signed").to_string();
        assert!(text.contains(name), "{text}");
        drop(look.hold().expect("it is not in use"));
        assert!(device.ends() == before, "{tool}: a look changed the device");
    }
}

/// Unmounts, at most a minute later: others of a busy machine may look at it.
fn unmounts(at: &str) -> bool {
    (0..600).any(|_| {
        let is_done = ran("umount", &[at]).is_some();
        if !is_done {
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        is_done
    })
}

#[test]
fn a_mounted_device_is_refused_by_every_name() {
    let Some(device) = Loop::new(&[]) else { return };
    let scratch = Scratch::new();
    let link = scratch.0.join("by-another-name");
    std::os::unix::fs::symlink(device.path(), &link).expect("links");
    for (tool, kind, options) in [
        ("mkfs.ext4", "ext4", &["-q", "-F"][..]),
        // Its mount shows an anonymous device.
        ("mkfs.btrfs", "btrfs", &["-q", "-f", "-M"]),
    ] {
        let point = scratch.0.join(kind);
        std::fs::create_dir(&point).expect("creates");
        let at = point.display().to_string();
        let mounted = ran(tool, &[options, &[device.device.as_str()]].concat())
            .and_then(|_| ran("mount", &["-t", kind, "-o", "ro", &device.device, &at]));
        if mounted.is_none() {
            println!("skipped: {kind} cannot be made and mounted here");
            continue;
        }
        let free = RawDevice::at(device.path());
        let by_link = RawDevice::at(&link);
        let before = device.ends();
        let held = free.as_ref().ok().map(|look| refusal(look.hold()));
        let same = device.ends() == before;
        assert!(unmounts(&at), "unmounts");
        assert!(same, "nothing was written");
        for look in [free, by_link] {
            let look = look.expect("readable");
            // Not even with its path repeated.
            look.consent(Some(look.typed())).expect("it is the path");
            let text = look.check().expect_err("mounted").to_string();
            assert!(
                text.contains(&format!("is mounted at {at} ({kind})")),
                "{text}"
            );
            assert!(look.is_claimed, "the kernel says so too");
        }
        assert!(
            matches!(held, Some(RawDeviceRefusal::InUse { .. })),
            "{held:?}"
        );
    }
}

#[test]
fn a_read_only_device_and_a_device_behind_a_loop() {
    let Some(device) = Loop::new(&["--read-only"]) else {
        return;
    };
    let look = RawDevice::at(device.path()).expect("readable");
    assert!(matches!(
        look.check(),
        Err(RawDeviceRefusal::ReadOnly { .. })
    ));

    let Some(below) = Loop::new(&[]) else { return };
    let Some(above) = ran("losetup", &["--find", "--show", &below.device]) else {
        return println!("skipped: no loop device on a loop device here");
    };
    let refused = RawDevice::at(below.path()).map(|look| look.check());
    assert!(ran("losetup", &["--detach", &above]).is_some(), "detaches");
    let text = refused
        .expect("readable")
        .expect_err("behind a loop")
        .to_string();
    let name = above.trim_start_matches("/dev/");
    assert!(
        text.contains(&format!("behind the loop device {name}")),
        "{text}"
    );
}

#[test]
fn a_device_that_was_replaced_after_the_look_is_not_held() {
    let Some(device) = Loop::new(&[]) else { return };
    let look = RawDevice::at(device.path()).expect("readable");
    let consent = look.consent(Some(device.path())).expect("repeated");
    // Another disk of the same size under the same path and number.
    let other = device._scratch.0.join("other");
    std::fs::File::create(&other)
        .and_then(|f| f.set_len(BYTES))
        .expect("sparse");
    let other = other.display().to_string();
    assert!(
        ran("losetup", &["--detach", &device.device]).is_some(),
        "detaches"
    );
    assert!(
        ran("losetup", &[&device.device, &other]).is_some(),
        "attaches"
    );
    if look.facts.sequence.is_some() {
        let path = device.path().to_owned();
        assert_eq!(refusal(look.hold()), RawDeviceRefusal::Replaced { path });
    } else {
        println!("skipped: this kernel has no disk sequence numbers");
    }
    // The same device, with something on it that nobody was told of.
    let look = RawDevice::at(device.path()).expect("readable");
    let told = look.consent(Some(device.path())).expect("repeated");
    assert!(
        ran("mkswap", &[&device.device]).is_some(),
        "mkswap is everywhere"
    );
    for consent in [consent, told] {
        let held = look.hold().expect("free");
        assert!(matches!(
            refusal(held.clear(&consent)),
            RawDeviceRefusal::Replaced { .. }
        ));
    }
    // A link that leads elsewhere by now.
    let link = device._scratch.0.join("link");
    std::os::unix::fs::symlink(device.path(), &link).expect("links");
    let look = RawDevice::at(&link).expect("readable");
    std::fs::remove_file(&link).expect("ours");
    std::os::unix::fs::symlink("/dev/null", &link).expect("links");
    assert!(matches!(
        refusal(look.hold()),
        RawDeviceRefusal::Replaced { .. }
    ));
}

#[test]
fn sectors_are_the_devices_own() {
    for sector in ["512", "4096"] {
        let Some(device) = Loop::new(&["--sector-size", sector]) else {
            return;
        };
        let look = RawDevice::at(device.path()).expect("readable");
        assert_eq!(look.sectors().0.to_string(), sector);
        let space = look
            .hold()
            .expect("free")
            .space(SyncMethod::Direct)
            .expect("opens");
        let caps = crate::LogDevice::caps(&space);
        assert_eq!((caps.logical_bytes, caps.physical_bytes), look.sectors());
    }
}

#[test]
fn every_refusal_says_what_to_do() {
    let path = PathBuf::from("/dev/sdx");
    let used = |by| RawDeviceRefusal::InUse {
        path: path.clone(),
        used: Use {
            device: "sdx1".to_owned(),
            relation: Relation::Partition,
            by,
        },
    };
    let point = PathBuf::from("/u01");
    let kind = "xfs".to_owned();
    for (refused, words) in [
        (
            used(User::Mount { kind, point }),
            "sdx1, a partition of it, is mounted at /u01 (xfs)",
        ),
        (used(User::Swap), "is swap that is on"),
        (used(User::Holder("dm-3".to_owned())), "is held by dm-3"),
        (
            used(User::Unknown("sysfs".to_owned())),
            "may be in use: sysfs",
        ),
        (
            RawDeviceRefusal::ReadOnly { path: path.clone() },
            "is read-only",
        ),
        (
            RawDeviceRefusal::Misaligned {
                path: path.clone(),
                physical: 4096,
            },
            "align the partition",
        ),
        (
            RawDeviceRefusal::TooSmall {
                path: path.clone(),
                needed: 9,
                available: 8,
            },
            "a larger device",
        ),
        (
            RawDeviceRefusal::Replaced { path: path.clone() },
            "inspect it again",
        ),
    ] {
        let text = refused.to_string();
        assert!(
            text.starts_with("/dev/sdx: ") && text.contains(words),
            "{text}"
        );
    }
}

#[test]
fn swap_that_is_on_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let on = ran("mkswap", &[&device.device]).and_then(|_| ran("swapon", &[&device.device]));
    if on.is_none() {
        return println!("skipped: swapon is not permitted here");
    }
    let look = RawDevice::at(device.path());
    assert!(
        ran("swapoff", &[&device.device]).is_some(),
        "switches it off"
    );
    let look = look.expect("readable");
    let text = look.check().expect_err("swap").to_string();
    assert!(text.contains("is swap that is on"), "{text}");
    assert!(look.is_claimed, "the kernel says so too");
}

/// A master boot record with one partition of 32 MiB from 1 MiB on.
fn partitioned() -> Vec<u8> {
    let mut sector = vec![0; 512];
    let entry = &mut sector[446..462];
    entry[4] = 0x83;
    entry[8..12].copy_from_slice(&2048_u32.to_le_bytes());
    entry[12..16].copy_from_slice(&65_536_u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// The first partition of a device, taken away before the device is.
struct Partition<'a>(&'a str);

impl Drop for Partition<'_> {
    fn drop(&mut self) {
        // There may be none.
        let _ = ran("delpart", &[self.0, "1"]);
    }
}

#[test]
fn the_disk_of_a_mounted_partition_and_a_partition_of_a_mounted_disk() {
    let Some(device) = Loop::new(&[]) else { return };
    let written = std::fs::OpenOptions::new()
        .write(true)
        .open(device.path())
        .and_then(|file| std::os::unix::fs::FileExt::write_all_at(&file, &partitioned(), 0));
    written.expect("writable");
    // Told to the kernel by hand: not every kernel reads every kind of table.
    let added = ran("addpart", &[&device.device, "1", "2048", "65536"]);
    let part = PathBuf::from(format!("{}p1", device.device));
    let part_name = part.display().to_string();
    let _gone = Partition(&device.device);
    let at = device._scratch.0.join("mount");
    std::fs::create_dir(&at).expect("creates");
    let at = at.display().to_string();
    let mounted = added.is_some()
        && is_block_device(&part)
        && ran("mkfs.ext4", &["-q", "-F", &part_name]).is_some()
        && ran("mount", &["-t", "ext4", &part_name, &at]).is_some();
    if !mounted {
        return println!("skipped: no partition of a loop device can be made and mounted here");
    }
    let (disk, itself) = (RawDevice::at(device.path()), RawDevice::at(&part));
    assert!(unmounts(&at), "unmounts");
    let text = disk
        .expect("readable")
        .check()
        .expect_err("its partition")
        .to_string();
    assert!(text.contains("a partition of it, is mounted at"), "{text}");
    let text = itself
        .expect("readable")
        .check()
        .expect_err("mounted")
        .to_string();
    assert!(text.contains("p1 is mounted at"), "{text}");

    // Held as a whole, its partition is not free either.
    let disk = RawDevice::at(device.path()).expect("readable");
    let names: Vec<_> = disk.content().signatures.iter().map(|s| s.name).collect();
    assert_eq!(names, ["MBR partition table or boot sector"]);
    let held = disk.hold().expect("free by now");
    let refused = RawDevice::at(&part).expect("readable").check();
    assert!(
        matches!(
            refused,
            Err(RawDeviceRefusal::InUse { .. } | RawDeviceRefusal::Claimed { .. })
        ),
        "{refused:?}"
    );
    drop(held);
    RawDevice::at(&part)
        .expect("readable")
        .hold()
        .expect("free by now");
}

#[test]
fn a_look_names_what_it_stands_on() {
    let Some(device) = Loop::new(&[]) else { return };
    let mut look = RawDevice::at(device.path()).expect("readable");
    let name = device.device.trim_start_matches("/dev/");
    assert_eq!(look.stack().layers[0].name, name);
    assert!(
        look.model().starts_with("loop device on /"),
        "{}",
        look.model()
    );
    for (vendor, model, shown) in [
        (Some("ACME"), "X100", "ACME X100"),
        // Many name the maker in the model too.
        (Some("QEMU"), "QEMU HARDDISK", "QEMU HARDDISK"),
        (None, "X100", "X100"),
    ] {
        let layer = &mut look.stack.layers[0];
        layer.vendor = vendor.map(str::to_owned);
        layer.model = Some(model.to_owned());
        assert_eq!(look.model(), shown);
        assert!(look.inventory().contains(shown));
    }
}
