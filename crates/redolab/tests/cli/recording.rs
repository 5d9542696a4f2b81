//! Recorded machines, each a small tree of `/proc` and `/sys` in a directory of its own, and a run
//! that is sound in every way to be measured on them.

use device::identify::{Place, Probe, Root};
use measure::run::*;
use measure::stack::Stack;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MB: f64 = 1_048_576.0;

/// A machine with one disk that a file system can be on.
pub struct Recording {
    dir: tempfile::TempDir,
    /// Number and name of the device below the file system.
    dev: &'static str,
    name: &'static str,
    /// Directory of the device.
    home: String,
    /// Drives beside it, below what is put on it.
    members: Vec<(&'static str, String)>,
    preload: Option<&'static str>,
}

impl Recording {
    fn new(dev: &'static str, name: &'static str, parent: &str) -> Recording {
        let home = format!("sys/devices/{parent}/{name}");
        let one = Recording {
            dir: tempfile::tempdir().expect("a temporary directory"),
            dev,
            name,
            home: home.clone(),
            members: Vec::new(),
            preload: None,
        };
        one.file(&format!("{home}/dev"), dev);
        one.file(&format!("{home}/size"), "1875385008");
        for link in [
            format!("sys/dev/block/{dev}"),
            format!("sys/class/block/{name}"),
            format!("sys/block/{name}"),
        ] {
            one.link(&link, &home);
        }
        one.queue(&[
            ("logical_block_size", "512"),
            ("physical_block_size", "4096"),
        ])
    }

    fn made(&self, path: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        let parent = path.parent().expect("inside");
        std::fs::create_dir_all(parent).expect("writable");
        path
    }

    fn file(&self, path: &str, text: &str) {
        std::fs::write(self.made(path), format!("{text}\n")).expect("writable");
    }

    fn queue(self, files: &[(&str, &str)]) -> Recording {
        for (file, text) in files {
            self.file(&format!("{}/queue/{file}", self.home), text);
        }
        self
    }

    fn device(self, files: &[(&str, &str)]) -> Recording {
        for (file, text) in files {
            self.file(&format!("{}/device/{file}", self.home), text);
        }
        self
    }

    /// An NVMe drive, with or without a volatile cache (VWC, which shows in `queue/fua`).
    pub fn nvme(model: &str, volatile: bool) -> Recording {
        let parent = "pci0000:00/0000:00:1d.0/0000:3d:00.0/nvme/nvme0";
        let one = Recording::new("259:0", "nvme0n1", parent);
        let cache = if volatile {
            "write back"
        } else {
            "write through"
        };
        one.queue(&[
            ("fua", if volatile { "1" } else { "0" }),
            ("write_cache", cache),
            ("rotational", "0"),
            ("atomic_write_unit_max_bytes", "131072"),
        ])
        .device(&[("model", model), ("transport", "pcie")])
    }

    /// A SATA disk: what the kernel is set to, and what the drive was last read to report.
    pub fn sata(kernel: &str, drive: &str) -> Recording {
        let parent = "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block";
        let one = Recording::new("8:0", "sda", parent);
        one.queue(&[("fua", "0"), ("write_cache", kernel), ("rotational", "0")])
            .device(&[
                ("model", "ACME S1"),
                ("scsi_disk/0:0:0:0/cache_type", drive),
            ])
    }

    /// A USB disk, of whose cache the kernel could not read anything.
    pub fn usb() -> Recording {
        let host = "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6";
        let one = Recording::new("8:16", "sdb", &format!("{host}/target6:0:0/6:0:0:0/block"));
        one.queue(&[("fua", "0"), ("write_cache", "write through")])
            .device(&[("scsi_disk/6:0:0:0/cache_type", "write through")])
    }

    /// A virtual disk of a RAID controller.
    pub fn raid(model: &str) -> Recording {
        let host = "pci0000:00/0000:65:00.0/host1";
        let one = Recording::new("8:0", "sda", &format!("{host}/target1:2:0/1:2:0:0/block"));
        let driver = format!("sys/devices/{host}/scsi_host/host1/proc_name");
        one.file(&driver, "megaraid_sas");
        one.queue(&[
            ("fua", "0"),
            ("write_cache", "write back"),
            ("rotational", "0"),
        ])
        .device(&[
            ("model", model),
            ("scsi_disk/1:2:0:0/cache_type", "write back"),
        ])
    }

    /// A virtual disk of a KVM guest.
    pub fn virtio() -> Recording {
        Recording::virtio_with("write back")
    }

    /// A virtual disk of a KVM guest whose host reports this cache.
    pub fn virtio_with(cache: &str) -> Recording {
        let one = Recording::new("254:0", "vda", "pci0000:00/0000:00:05.0/virtio2/block");
        one.file("sys/class/dmi/id/sys_vendor", "QEMU");
        one.file(&format!("{}/cache_type", one.home), cache);
        one.queue(&[("fua", "0"), ("write_cache", cache), ("rotational", "1")])
    }

    /// Persistent memory as a block device, of NVDIMMs or of what `memmap` gives out.
    pub fn pmem(home: &str) -> Recording {
        let one = Recording::new("259:1", "pmem0", home);
        one.queue(&[
            ("fua", "1"),
            ("write_cache", "write back"),
            ("rotational", "0"),
        ])
    }

    /// A device of a name that the kernel gives to no disk of the machine, with its queue's cache.
    pub fn named(dev: &'static str, name: &'static str, cache: Option<&str>) -> Recording {
        let one = Recording::new(dev, name, "virtual/block");
        match cache {
            Some(cache) => one.queue(&[("fua", "0"), ("write_cache", cache)]),
            None => one,
        }
    }

    /// A device that stands on this one, with these files of its own.
    pub fn below(
        mut self,
        dev: &'static str,
        name: &'static str,
        files: &[(&str, &str)],
    ) -> Recording {
        let home = format!("sys/devices/virtual/block/{name}");
        self.file(&format!("{home}/dev"), dev);
        let mut members = std::mem::take(&mut self.members);
        members.insert(0, (self.name, self.home.clone()));
        for (member, at) in members {
            self.link(&format!("{home}/slaves/{member}"), &at);
        }
        for (file, text) in files {
            self.file(&format!("{home}/{file}"), text);
        }
        self.link(&format!("sys/dev/block/{dev}"), &home);
        self.link(&format!("sys/class/block/{name}"), &home);
        (self.dev, self.name, self.home) = (dev, name, home);
        self
    }

    /// A second NVMe drive; what is put on this one stands on both.
    pub fn beside(
        mut self,
        dev: &'static str,
        name: &'static str,
        files: &[(&str, &str)],
    ) -> Recording {
        let home = format!("sys/devices/pci0000:00/0000:3e:00.0/nvme/nvme1/{name}");
        self.file(&format!("{home}/dev"), dev);
        for (file, text) in files {
            self.file(&format!("{home}/{file}"), text);
        }
        self.link(&format!("sys/dev/block/{dev}"), &home);
        self.link(&format!("sys/class/block/{name}"), &home);
        self.members.push((name, home));
        self
    }

    fn link(&self, at: &str, home: &str) {
        let up = "../".repeat(at.matches('/').count());
        std::os::unix::fs::symlink(format!("{up}{home}"), self.made(at)).expect("a fresh link");
    }

    /// A file that the kernel shows.
    pub fn with(self, path: &str, text: &str) -> Recording {
        let path = format!("{}/{path}", self.home);
        self.file(&path, text);
        self
    }

    /// The stack of an overlay whose upper directory is on ext4 on this device, and, where
    /// `in_file`, of a file system on a loop device on a file there.
    pub fn overlay(self, options: &str, in_file: bool) -> Stack {
        let mut mounts = format!(
            "20 1 {} / /redo rw - ext4 /dev/{} rw\n\
             30 20 0:44 / /merged rw - overlay overlay rw,lowerdir=/l,upperdir=/redo/up,{options}",
            self.dev, self.name
        );
        let mut path = "/merged/log";
        if in_file {
            let home = "sys/devices/virtual/block/loop3";
            self.file(&format!("{home}/dev"), "7:3");
            self.file(&format!("{home}/loop/backing_file"), "/merged/disk.img");
            std::os::unix::fs::symlink(format!("../../../{home}"), self.made("sys/dev/block/7:3"))
                .expect("a fresh link");
            mounts.push_str("\n40 20 7:3 / /inner rw - xfs /dev/loop3 rw");
            path = "/inner/log";
        }
        let stack = self.probe(&mounts).stack_of(Path::new(path));
        stack.expect("recorded")
    }

    /// A compressed disk in memory.
    pub fn zram() -> Recording {
        Recording::new("252:0", "zram0", "virtual/block")
    }

    /// A loop device on a file in memory.
    pub fn loop_on_memory() -> Recording {
        let one = Recording::new("7:0", "loop0", "virtual/block");
        one.file(
            &format!("{}/loop/backing_file", one.home),
            "/dev/shm/disk.img",
        );
        one
    }

    /// A file system without a device that the kernel shows.
    pub fn alone(kind: &str, source: &str, options: &str) -> Stack {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let line = format!("20 1 0:40 / / rw - {kind} {source} {options}\n");
        let at = dir.path().join("proc/self");
        std::fs::create_dir_all(&at).expect("writable");
        std::fs::write(at.join("mountinfo"), line).expect("writable");
        let probe = Probe::with_root(Root::recorded(dir.path()));
        probe.stack_of(Path::new("/redo")).expect("recorded")
    }

    /// The machine is an instance of a cloud.
    pub fn in_cloud(self) -> Recording {
        self.file("sys/class/dmi/id/sys_vendor", "Amazon EC2");
        self.file("sys/class/dmi/id/product_name", "m6i.large");
        self
    }

    pub fn sectors(self, logical: &str, physical: &str) -> Recording {
        self.queue(&[
            ("logical_block_size", logical),
            ("physical_block_size", physical),
        ])
    }

    pub fn preloading(mut self, library: &'static str) -> Recording {
        self.preload = Some(library);
        self
    }

    fn probe(&self, mount: &str) -> Probe {
        let memory = "19 1 0:25 / /dev/shm rw - tmpfs tmpfs rw";
        self.file("proc/self/mountinfo", &format!("{memory}\n{mount}"));
        let probe = Probe::with_root(Root::recorded(self.dir.path()));
        match self.preload {
            Some(library) => probe.with_preload(library),
            None => probe,
        }
    }

    /// The stack of a file system on it.
    pub fn stack(self, kind: &str, options: &str) -> Stack {
        // Of btrfs the mount table shows a number of its own.
        let dev = if kind == "btrfs" { "0:33" } else { self.dev };
        let mount = format!(
            "20 1 {dev} / /redo rw - {kind} /dev/{} {options}",
            self.name
        );
        let stack = self.probe(&mount).stack_of(Path::new("/redo/log"));
        stack.expect("recorded")
    }

    /// The stack of the device itself.
    pub fn stack_of_device(self) -> Stack {
        let numbers: Vec<u32> = self.dev.split(':').filter_map(|n| n.parse().ok()).collect();
        let dev = device::identify::Dev {
            major: numbers[0],
            minor: numbers[1],
        };
        let place = Place::block(format!("/dev/{}", self.name), dev);
        self.probe("").stack_at(&place)
    }
}

fn stats(count: u64, mean_ns: f64) -> WaitStats {
    let at = |f: f64| Some((mean_ns * f) as u64);
    WaitStats {
        count,
        total_ns: (count as f64 * mean_ns) as u64,
        mean_ns,
        min_ns: (mean_ns * 0.5) as u64,
        p50_ns: at(0.95),
        p90_ns: at(1.3),
        p99_ns: at(2.0),
        p999_ns: at(3.0),
        max_ns: (mean_ns * 6.0) as u64,
        ..WaitStats::default()
    }
}

fn row(workload: &str, jobs: u32, tps: f64, mbps: f64, sync_ns: f64) -> Row {
    let commits = (tps * 10.0) as u64;
    let interval = |i: u64| Interval {
        t_s: i as f64,
        seconds: 1.0,
        commits: commits / 10,
        redo_bytes: Some((mbps * MB) as u64),
        log_file_sync_mean_ns: Some(sync_ns),
        log_file_parallel_write_mean_ns: Some(sync_ns * 0.8),
        log_file_parallel_write_max_ns: Some((sync_ns * 4.0) as u64),
        ..Interval::default()
    };
    Row {
        workload: workload.to_owned(),
        nodes: 1,
        jobs,
        commit_throughput_tps: Some(tps),
        commit_latency_ms: Some(f64::from(jobs) / tps * 1e3),
        log_file_sync_ms: Some(sync_ns / 1e6),
        elapsed_s: Some(10.0),
        elapsed_ns: Some(10_000_000_000),
        commits: Some(commits),
        waits: BTreeMap::from([
            ("log_file_sync".to_owned(), stats(commits, sync_ns)),
            (
                "log_file_parallel_write".to_owned(),
                stats(commits / 2, sync_ns * 0.8),
            ),
        ]),
        intervals: (1..=10).map(interval).collect(),
        redo: Some(RedoFigures {
            redo_data_mbps: Some(mbps),
            redo_size_bytes: Some((mbps * MB * 10.0) as u64),
            ..RedoFigures::default()
        }),
        device: Some(DeviceFigures {
            flush_audit: Some(FlushAudit {
                status: AuditStatus::LowerBound,
                needed: 100,
                counted: Some(100),
                nfs: None,
                note: String::new(),
            }),
            background_write_pct: Some(0.1),
            ..DeviceFigures::default()
        }),
        processors: Some(ProcessorFigures {
            cpu_busy_pct: Some(40.0),
            ..ProcessorFigures::default()
        }),
        ..Row::default()
    }
}

fn floor(method: &str, write_bytes: u64, mean_ns: f64, flush_mean_ns: f64) -> FloorRow {
    FloorRow {
        sync_method: method.to_owned(),
        pre_written: true,
        write_bytes,
        writes_per_s: 1e9 / mean_ns,
        latency: stats(1000, mean_ns),
        write_mean_ns: mean_ns - flush_mean_ns,
        flush_mean_ns,
    }
}

/// A run on `stack` with which nothing is wrong.
pub fn sound_run(stack: Stack) -> Run {
    Run {
        schema: SCHEMA.to_owned(),
        run_id: "recorded".to_owned(),
        created: "2026-01-02T03:04:05Z".to_owned(),
        origin: Origin::Measured,
        redolab_version: "0.1.0".to_owned(),
        notes: measure::run::RunNotes::default(),
        command: Vec::new(),
        target: Target {
            kind: "file".to_owned(),
            path: "/redo".to_owned(),
            stack,
            facts: TargetFacts::RedoLog(RedoLogFacts {
                sync_method: "direct".to_owned(),
                redo_block_bytes: 512,
                seal_bytes: 4096,
                log_groups: 4,
                log_file_bytes: 16 << 30,
                unwritten_extents: Some(0),
                ..RedoLogFacts::default()
            }),
        },
        workload: WorkloadInfo::default(),
        environment: Environment::default(),
        rows: vec![
            row("LGWR-LAT1", 1, 9_000.0, 17.0, 100_000.0),
            row("LGWR-LAT1", 8, 40_000.0, 78.0, 190_000.0),
            row("LGWR-THR", 8, 1_900.0, 900.0, 400_000.0),
        ],
        floor: vec![
            floor("direct", 4096, 3e6, 2.1e6),
            floor("buffered", 4096, 3e6, 2.2e6),
            floor("direct", 64 << 20, 9e7, 2e7),
            floor("buffered", 64 << 20, 9e7, 8e7),
        ],
        placement: None,
        power_tests: None,
        lab_overhead_ns: Some(2_000.0),
        findings: Vec::new(),
        validity: Validity::sound(),
        need: measure::judgement::Need::default(),
        verdict: None,
        report: None,
        diagnostics: Vec::new(),
        imported: None,
    }
}

/// The last row writes at one rate, and in its last two fifths at another.
pub fn two_rates(run: &mut Run, first: f64, last: f64, seconds: u64) {
    let row = run.rows.last_mut().expect("a row");
    let rate = |i: u64| if i * 5 < seconds * 3 { first } else { last };
    let interval = |i: u64| Interval {
        t_s: (i + 1) as f64,
        seconds: 1.0,
        redo_bytes: Some((rate(i) * MB) as u64),
        ..Interval::default()
    };
    row.intervals = (0..seconds).map(interval).collect();
    let bytes = row.intervals.iter().filter_map(|i| i.redo_bytes).sum();
    row.elapsed_s = Some(seconds as f64);
    let redo = row.redo.get_or_insert_default();
    redo.redo_size_bytes = Some(bytes);
    redo.redo_data_mbps = Some(bytes as f64 / MB / seconds as f64);
}

/// A sweep that is flat while waits grow with the jobs.
pub fn capped(run: &mut Run) {
    let at = |jobs: u32| row("LGWR-LAT25", jobs, 5_000.0, 125.0, f64::from(jobs) * 2e5);
    run.rows.extend([2, 8, 32].map(at));
}

/// Every flush takes this long, and every write before one.
pub fn flushes_of(run: &mut Run, write_ns: f64, flush_ns: f64) {
    for row in &mut run.floor {
        (row.write_mean_ns, row.flush_mean_ns) = (write_ns, flush_ns);
    }
}

/// A flush behind 64 MiB takes as long as one behind 4 KiB.
pub fn flat_flush(run: &mut Run) {
    run.floor[2].flush_mean_ns = run.floor[0].flush_mean_ns;
}

fn audits(run: &mut Run, status: AuditStatus, commits: u64) {
    for audit in run
        .rows
        .iter_mut()
        .filter_map(|r| r.device.as_mut()?.flush_audit.as_mut())
    {
        audit.status = status;
        audit.nfs = Some(NfsRequests { writes: 0, commits });
        audit.counted = Some(commits);
    }
}

/// The NFS client sent a COMMIT for each flush.
pub fn commits(run: &mut Run) {
    audits(run, AuditStatus::LowerBound, 100);
}

/// It sent fewer requests than the log needs.
pub fn few_commits(run: &mut Run) {
    audits(run, AuditStatus::Missing, 3);
}
