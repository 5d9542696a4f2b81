//! This machine, walked. What needs root or loop devices is skipped where it is missing, and
//! says so; what it makes is removed, on failure too.

use crate::identify::{Dev, Holders, OpenLogs, Place, all, device_of, holders, stack_of, volume};
use measure::stack::{LayerKind, Stack};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A directory that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(parent: &Path, name: &str) -> Scratch {
        let path = parent.join(format!("redolab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the directory is writable");
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A directory in memory.
fn memory() -> Option<PathBuf> {
    let path = PathBuf::from("/dev/shm");
    if !path.is_dir() {
        println!("skipped: no file system in memory at /dev/shm here");
        return None;
    }
    Some(path)
}

#[test]
fn the_root_directory_has_layers() {
    let stack = stack_of(Path::new("/")).expect("it exists");
    assert_eq!(stack.layers.len(), stack.depths.len());
    let top = stack.layers.first().expect("a file system");
    assert_eq!(top.mount_point.as_deref(), Some("/"));
    if top.kind != LayerKind::FileSystem || top.dev.is_none() {
        println!(
            "skipped: the disk below / cannot be found, {} is mounted there",
            top.name
        );
        return;
    }
    let disk = stack
        .layers
        .iter()
        .find(|layer| layer.kind == LayerKind::Disk);
    let disk = disk.unwrap_or_else(|| panic!("no disk below /: {stack:?}"));
    assert!(disk.size_bytes.is_some_and(|bytes| bytes > 0));
    assert!(disk.logical_block_bytes.is_some_and(|bytes| bytes >= 512));
    let watched = device_of(Path::new("/"))
        .expect("it exists")
        .expect("a disk");
    let counters = std::fs::read_to_string("/proc/diskstats").expect("Linux has it");
    for device in watched.whole.iter().chain(&watched.disks) {
        let line = counters
            .lines()
            .find(|line| line.split_whitespace().nth(2) == Some(device.name.as_str()));
        assert!(line.is_some(), "{device:?} has no counters");
    }
}

#[test]
fn shared_memory_is_memory() {
    let Some(path) = memory() else {
        return;
    };
    let stack = stack_of(&path).expect("it exists");
    let kinds: Vec<LayerKind> = stack.layers.iter().map(|layer| layer.kind).collect();
    assert_eq!(kinds, [LayerKind::MemoryFileSystem]);
    assert_eq!(device_of(&path).expect("it exists"), None);
}

#[test]
fn the_inventory_contains_what_is_walked() {
    let root = stack_of(Path::new("/")).expect("it exists");
    let stacks = all();
    assert!(
        stacks.iter().any(|stack| stack.layers == root.layers),
        "{stacks:?}"
    );
    assert!(stacks.iter().all(|stack| !stack.layers.is_empty()));
}

/// A process that holds a file open.
struct Keeper(Child);

impl Keeper {
    fn of(path: &Path) -> Keeper {
        let file = std::fs::File::create(path).expect("the directory is writable");
        let sleep = Command::new("sleep")
            .arg("3600")
            .stdin(Stdio::from(file))
            .spawn();
        Keeper(sleep.expect("sleep exists"))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn another_process_with_a_log_open_is_found() {
    let scratch = Scratch::new(&std::env::temp_dir(), "holders");
    let log = scratch.0.join("redo01.log");
    let file = std::fs::File::create(&log).expect("the directory is writable");
    let sleep = Command::new("sleep")
        .arg("3600")
        .stdin(Stdio::from(file))
        .spawn();
    let keeper = Keeper(sleep.expect("sleep exists"));
    let holders = holders(&scratch.0).expect("it exists");
    let held: Vec<&PathBuf> = holders
        .found
        .iter()
        .filter(|holder| holder.pid == keeper.0.id())
        .flat_map(|holder| &holder.files)
        .collect();
    assert_eq!(held, [&log.canonicalize().expect("it exists")]);
    let own = holders
        .found
        .iter()
        .any(|holder| holder.pid == std::process::id());
    assert!(!own, "our own process is left out");
}

/// A browser's log at rest disturbs nobody; one that is written does, also by a process that has
/// only just opened it.
#[test]
fn a_log_that_is_only_open_is_not_written() {
    use std::io::Write;
    let scratch = Scratch::new(&std::env::temp_dir(), "writers");
    let (idle, used) = (scratch.0.join("ukm_db-wal"), scratch.0.join("redo01.log"));
    let _idle = Keeper::of(&idle);
    let keeper = Keeper::of(&used);
    let own = |holders: Holders| -> Vec<PathBuf> {
        let files = holders.found.into_iter().flat_map(|holder| holder.files);
        files.filter(|file| file.starts_with(&scratch.0)).collect()
    };
    let open = OpenLogs::of(&scratch.0).expect("it exists");
    assert!(!open.is_empty());
    assert_eq!(own(open.written_since()), [] as [PathBuf; 0]);
    // Time stamps of files are as coarse as the kernel's tick.
    std::thread::sleep(std::time::Duration::from_millis(50));
    let mut file = std::fs::File::options()
        .write(true)
        .open(&used)
        .expect("there");
    file.write_all(b"x").expect("written");
    assert_eq!(own(open.written_since()), [used.as_path()]);
    let opened = OpenLogs::of(&scratch.0).expect("it exists");
    drop(keeper);
    let late = scratch.0.join("app.db-wal");
    std::thread::sleep(std::time::Duration::from_millis(50));
    let _late = Keeper::of(&late);
    assert_eq!(own(opened.written_since()), [late]);
}

/// Mounts and loop devices, taken down in reverse order when dropped.
#[derive(Default)]
struct Made {
    mounts: Vec<PathBuf>,
    loops: Vec<String>,
}

impl Drop for Made {
    fn drop(&mut self) {
        for mount in self.mounts.iter().rev() {
            // Another test's child holds our descriptors for a moment, between fork and exec.
            let unmounts = || run("umount", &[&mount.to_string_lossy()]).is_ok();
            let gone = (0..500).any(|_| {
                let done = unmounts();
                if !done {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                done
            });
            if !gone {
                eprintln!("{} stays mounted", mount.display());
            }
        }
        for device in self.loops.iter().rev() {
            let _ = run("losetup", &["--detach", device]);
        }
    }
}

impl Made {
    fn loop_device(&mut self, file: &Path, bytes: u64) -> Result<String, String> {
        let made = std::fs::File::create(file).and_then(|f| f.set_len(bytes));
        made.map_err(|e| e.to_string())?;
        let device = run("losetup", &["--find", "--show", &file.to_string_lossy()])?;
        self.loops.push(device.clone());
        Ok(device)
    }

    fn mount(&mut self, kind: &str, source: &str, options: &str, at: &Path) -> Result<(), String> {
        std::fs::create_dir_all(at).map_err(|e| e.to_string())?;
        let at_text = at.to_string_lossy();
        run("mount", &["-t", kind, "-o", options, source, &at_text])?;
        self.mounts.push(at.to_owned());
        Ok(())
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("needs root".to_owned());
    }
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(format!("{program}: {why}"))
}

fn kinds(stack: &Stack) -> Vec<LayerKind> {
    stack.layers.iter().map(|layer| layer.kind).collect()
}

fn ext4_on_a_file(made: &mut Made, scratch: &Scratch, mount: &Path) -> Result<String, String> {
    let device = made.loop_device(&scratch.0.join("disk.img"), 16 << 20)?;
    run("mkfs.ext4", &["-q", "-F", &device])?;
    made.mount("ext4", &device, "rw", mount)?;
    Ok(device)
}

#[test]
fn a_loop_device_is_walked_to_what_it_stands_on() {
    for parent in [Some(std::env::temp_dir()), memory()].into_iter().flatten() {
        let scratch = Scratch::new(&parent, "loop");
        let mount = scratch.0.join("mnt with space");
        let mut made = Made::default();
        let device = match ext4_on_a_file(&mut made, &scratch, &mount) {
            Ok(device) => device,
            Err(reason) => {
                println!("skipped: no loop device in {}: {reason}", parent.display());
                continue;
            }
        };
        let mut stack = stack_of(&mount).expect("it is mounted");
        let below = stack_of(&parent).expect("it exists");
        let top = [LayerKind::FileSystem, LayerKind::Loop];
        assert_eq!(kinds(&stack).get(..2), Some(&top[..]));
        let rest = stack.layers.split_off(2);
        assert_eq!(rest, below.layers, "the walk goes on with the file's");
        let watched = device_of(&mount)
            .expect("mounted")
            .expect("the loop device");
        let node = Place::of(Path::new(&device)).expect("it exists").node;
        let whole: Vec<Option<Dev>> = watched.whole.iter().map(|d| Some(d.dev)).collect();
        assert_eq!(whole, [node]);
        let raw = stack_of(Path::new(&device)).expect("it exists");
        assert_eq!(kinds(&raw).first(), Some(&LayerKind::Loop));
        // A device that was just made is looked at by udev, which lets go of it.
        let holders = || holders(Path::new(&device)).expect("it exists").found;
        let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !holders().is_empty() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_eq!(holders(), [], "a mounted device has no open descriptor");
        let room = volume(&mount).expect("it is mounted");
        assert!(room.total_bytes <= 16 << 20 && !room.read_only);
        assert!(room.inodes_free.is_some_and(|n| n > 0));
    }
}

#[test]
fn an_overlay_is_walked_to_its_upper_directory() {
    let Some(parent) = memory() else {
        return;
    };
    let scratch = Scratch::new(&parent, "overlay");
    let [lower, upper, work, merged] = ["l", "u p", "w", "m"].map(|name| scratch.0.join(name));
    for directory in [&lower, &upper, &work] {
        std::fs::create_dir_all(directory).expect("the scratch directory is writable");
    }
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let mut made = Made::default();
    if let Err(reason) = made.mount("overlay", "overlay", &options, &merged) {
        println!("skipped: no overlay: {reason}");
        return;
    }
    let stack = stack_of(&merged).expect("it is mounted");
    let expected = [LayerKind::Overlay, LayerKind::MemoryFileSystem];
    assert_eq!(kinds(&stack), expected, "{:?}", stack.unknown);
}

fn btrfs_on_two_files(made: &mut Made, scratch: &Scratch, mount: &Path) -> Result<(), String> {
    let first = made.loop_device(&scratch.0.join("a.img"), 128 << 20)?;
    let second = made.loop_device(&scratch.0.join("b.img"), 128 << 20)?;
    run("mkfs.btrfs", &["-q", "-m", "raid1", &first, &second])?;
    made.mount("btrfs", &first, "rw", mount)?;
    run(
        "btrfs",
        &[
            "subvolume",
            "create",
            &mount.join("inner").to_string_lossy(),
        ],
    )?;
    let in_place = mount.join("in place");
    std::fs::create_dir_all(&in_place).map_err(|e| e.to_string())?;
    run("chattr", &["+C", &in_place.to_string_lossy()])?;
    Ok(())
}

#[test]
fn btrfs_is_walked_to_all_its_devices_from_any_subvolume() {
    let Some(parent) = memory() else {
        return;
    };
    let scratch = Scratch::new(&parent, "btrfs");
    let mount = scratch.0.join("m");
    let mut made = Made::default();
    if let Err(reason) = btrfs_on_two_files(&mut made, &scratch, &mount) {
        println!("skipped: no btrfs: {reason}");
        return;
    }
    for (directory, copies) in [("", true), ("inner", true), ("in place", false)] {
        let stack = stack_of(&mount.join(directory)).expect("it is mounted");
        let top = stack.layers.first().expect("a file system");
        assert_eq!(
            (top.name.as_str(), top.copy_on_write),
            ("btrfs", Some(copies))
        );
        let loops = kinds(&stack)
            .into_iter()
            .filter(|kind| *kind == LayerKind::Loop);
        assert_eq!(loops.count(), 2, "{directory}: {stack:?}");
    }
    let keeper = Keeper::of(&mount.join("inner/app.db-wal"));
    let holders = holders(&mount).expect("it is mounted");
    let pids: Vec<u32> = holders.found.iter().map(|holder| holder.pid).collect();
    assert_eq!(
        pids,
        [keeper.0.id()],
        "another subvolume is the same volume"
    );
}

/// `LD_PRELOAD` of this process is read, whether or not the library was found.
#[test]
fn what_is_to_be_preloaded_into_this_process_is_found() {
    const CHILD: &str = "REDOLAB_TEST_PRELOADED";
    let library = "/nowhere/libeatmydata.so";
    if std::env::var_os(CHILD).is_some() {
        let stack = stack_of(Path::new("/")).expect("it exists");
        assert_eq!(stack.preload.as_deref(), Some(library));
        return;
    }
    let mut child = Command::new(std::env::current_exe().expect("a test has a path"));
    let name = "identify::tests::live::what_is_to_be_preloaded_into_this_process_is_found";
    child.args(["--exact", name]).env(CHILD, "1");
    let output = child.env("LD_PRELOAD", library).output();
    let output = output.expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
