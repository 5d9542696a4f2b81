//! Counters and the flush audit on a real block device: a loop device made here.

use measure::run::AuditStatus;
use redolab::observe::audit::{Evidence, audit};
use redolab::observe::diskstats::Counters;
use redolab::observe::sampler::Sampler;
use redolab::observe::topology::DevNo;
use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::process::Command;
use std::time::{Duration, Instant};

/// A loop device on a temporary file, detached whatever happens.
struct LoopDevice {
    node: String,
    _image: tempfile::NamedTempFile,
}

impl LoopDevice {
    fn make(bytes: u64) -> Option<LoopDevice> {
        let image = tempfile::NamedTempFile::new().ok()?;
        image.as_file().set_len(bytes).ok()?;
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(image.path())
            .output()
            .ok()
            .filter(|o| o.status.success())?;
        Some(LoopDevice {
            node: String::from_utf8(made.stdout).ok()?.trim().to_owned(),
            _image: image,
        })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let done = Command::new("losetup")
            .args(["--detach", &self.node])
            .status();
        assert!(
            std::thread::panicking() || done.is_ok_and(|s| s.success()),
            "{} stays attached",
            self.node
        );
    }
}

fn number(file: &File) -> DevNo {
    let rdev = file.metadata().expect("a device's metadata").rdev();
    let (major, minor) = (rustix::fs::major(rdev), rustix::fs::minor(rdev));
    DevNo { major, minor }
}

/// Opens a device that nobody else may use. Each search for a free loop device (`losetup --find`)
/// claims it for a moment.
fn claimed(node: &str) -> std::io::Result<File> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let opened = OpenOptions::new()
            .write(true)
            .custom_flags(rustix::fs::OFlags::EXCL.bits() as i32)
            .open(node);
        match opened {
            Err(e) if e.kind() == ErrorKind::ResourceBusy && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            opened => return opened,
        }
    }
}

#[test]
fn the_audit_finds_every_flush_of_a_device_that_nobody_else_uses() {
    const COMMITS: u64 = 200;
    const BYTES: u64 = 8192;
    let Some(device) = LoopDevice::make(8 << 20) else {
        println!("skipped: a loop device needs root and losetup");
        return;
    };
    let file = claimed(&device.node).expect("our own loop device");
    let counters = Counters::open(number(&file)).expect("counters");
    let declares_cache = counters.declares_cache();
    let sampler = Sampler::start(Some(counters), Duration::from_millis(10)).expect("a thread");
    let window = sampler.begin();
    for i in 0..COMMITS {
        file.write_all_at(&[i as u8; BYTES as usize], i % 100 * BYTES)
            .expect("writes");
        file.sync_data().expect("flushes");
    }
    let seen = sampler.end(window);
    drop(sampler);

    let disk = seen.total.disk.expect("counters");
    let Some(flushes) = disk.flushes else {
        println!("skipped: this kernel counts no flushes");
        return;
    };
    assert_eq!(flushes, COMMITS, "a flush each: {disk:?}");
    assert_eq!(disk.written_bytes(), COMMITS * BYTES);
    assert!(
        disk.writes >= COMMITS && disk.data_writes() <= disk.writes,
        "{disk:?}"
    );
    let sum: u64 = seen
        .intervals
        .iter()
        .filter_map(|i| i.disk)
        .map(|d| d.writes)
        .sum();
    assert_eq!(sum, disk.writes, "intervals cover the window");
    let own = seen
        .own_written_bytes
        .expect("this kernel accounts for writes");
    // Other tests of this program write too, so what it wrote can only be too much.
    assert!(own >= disk.written_bytes(), "{own}, {disk:?}");
    let evidence = Evidence {
        needed: COMMITS,
        counts_late: false,
        counted: Some(disk),
        declares_cache,
        may_use_fua: false,
        background_pct: Some(0.0),
        devices: 1,
        nfs: None,
    };
    assert_eq!(audit(&evidence).status, AuditStatus::Verified);
    let lying = Evidence {
        needed: COMMITS * 2,
        ..evidence
    };
    assert_eq!(audit(&lying).status, AuditStatus::Missing);
}
