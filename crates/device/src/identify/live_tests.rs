//! This machine, walked. What needs root or loop devices is skipped where it is missing, and
//! says so; what it makes is removed, on failure too.

use super::{Place, all, device_of, holders, stack_of, volume};
use measure::stack::LayerKind;
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

#[test]
fn the_root_directory_has_layers() {
    let stack = stack_of(Path::new("/")).expect("it exists");
    assert_eq!(stack.layers.len(), stack.depths.len());
    let top = stack.layers.first().expect("a file system");
    assert_eq!(top.mount_point.as_deref(), Some("/"));
    if top.kind != LayerKind::FileSystem || top.dev.is_none() {
        println!("skipped the disk below /: it is {} here", top.name);
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
    let path = Path::new("/dev/shm");
    if !path.exists() {
        println!("skipped: no /dev/shm here");
        return;
    }
    let stack = stack_of(path).expect("it exists");
    let kinds: Vec<LayerKind> = stack.layers.iter().map(|layer| layer.kind).collect();
    assert_eq!(kinds, [LayerKind::MemoryFileSystem]);
    assert_eq!(device_of(path).expect("it exists"), None);
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
        .arg("60")
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

/// A loop device with a file system, taken down when dropped.
struct Image {
    device: String,
    mount: PathBuf,
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = run("umount", &[&self.mount.to_string_lossy()]);
        let _ = run("losetup", &["--detach", &self.device]);
    }
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    Err(format!(
        "{program}: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

fn image(scratch: &Scratch) -> Result<Image, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("needs root".to_owned());
    }
    let file = scratch.0.join("disk.img");
    let mount = scratch.0.join("mnt with space");
    std::fs::create_dir_all(&mount).map_err(|e| e.to_string())?;
    let made = std::fs::File::create(&file).and_then(|f| f.set_len(16 << 20));
    made.map_err(|e| e.to_string())?;
    let file = file.to_string_lossy().into_owned();
    run("mkfs.ext4", &["-q", "-F", &file])?;
    let device = run("losetup", &["--find", "--show", &file])?;
    let image = Image { device, mount };
    run("mount", &[&image.device, &image.mount.to_string_lossy()])?;
    Ok(image)
}

#[test]
fn a_loop_device_is_walked_to_what_it_stands_on() {
    for parent in [std::env::temp_dir(), PathBuf::from("/dev/shm")] {
        let scratch = Scratch::new(&parent, "loop");
        let image = match image(&scratch) {
            Ok(image) => image,
            Err(reason) => {
                println!("skipped the loop device in {}: {reason}", parent.display());
                continue;
            }
        };
        let mut stack = stack_of(&image.mount).expect("it is mounted");
        let below = stack_of(&parent).expect("it exists");
        let kinds: Vec<LayerKind> = stack.layers.iter().map(|layer| layer.kind).collect();
        assert_eq!(
            kinds.get(..2),
            Some(&[LayerKind::FileSystem, LayerKind::Loop][..])
        );
        assert_eq!(
            stack.layers.split_off(2),
            below.layers,
            "the walk goes on with the file's"
        );
        let watched = device_of(&image.mount)
            .expect("mounted")
            .expect("the loop device");
        let node = Place::of(Path::new(&image.device)).expect("it exists").node;
        assert_eq!(
            watched.whole.iter().map(|d| d.dev).collect::<Vec<_>>(),
            [node.expect("block")]
        );
        let raw = stack_of(Path::new(&image.device)).expect("it exists");
        assert_eq!(
            raw.layers.first().map(|layer| layer.kind),
            Some(LayerKind::Loop)
        );
        let room = volume(&image.mount).expect("it is mounted");
        assert!(room.total_bytes <= 16 << 20 && !room.read_only);
        assert!(room.inodes_free.is_some_and(|n| n > 0));
    }
}
