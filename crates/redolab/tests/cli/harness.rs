//! Starting the binary, and places for it: directories, loop devices and mounts that go away with
//! the test, however it ends.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// No command of these tests takes as long, unless it hangs: before it measures, a command has
/// everything written back that others left in the caches, which may take minutes.
const PATIENCE: Duration = Duration::from_secs(600);

/// The variable that names an installed binary, which the tests then start instead of cargo's.
const INSTALLED: &str = "REDOLAB_TEST_BINARY";

/// Arguments of a `check` that takes a few seconds.
pub const QUICK: [&str; 14] = [
    "--quick",
    "--jobs",
    "1,2",
    "--time",
    "200ms",
    "--warmup",
    "50ms",
    "--log-file-size",
    "8M",
    "--log-groups",
    "2",
    "--allow-busy",
    "--max-write",
    "32G",
];

/// A directory for one test, with a target and a store in it.
pub struct Place {
    dir: tempfile::TempDir,
    pub target: PathBuf,
    pub store: PathBuf,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (target, store) = (dir.path().join("target"), dir.path().join("store"));
        std::fs::create_dir(&target).expect("a fresh directory");
        Place { dir, target, store }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A command of redolab's that finds this store and nothing of the user's.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(program());
        command
            .args(arguments)
            .current_dir(self.path())
            .env("REDOLAB_STORE", &self.store)
            .env_remove("COLUMNS")
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Done {
        let shown = arguments
            .iter()
            .map(|a| a.as_ref().to_string_lossy().into_owned())
            .collect::<Vec<_>>();
        let child = self.command(arguments).spawn().expect("starts");
        Running::of(child, shown.join(" ")).wait()
    }

    /// `check` on `target` with [`QUICK`] and more arguments.
    pub fn check(&self, target: &Path, more: &[&str]) -> Done {
        let mut arguments = vec!["check".to_owned(), target.display().to_string()];
        arguments.extend(QUICK.iter().chain(more).map(|s| (*s).to_owned()));
        self.run(&arguments)
    }

    /// A run in the store that took no device and few commits; its name. Their number is given, not
    /// a time: a busy machine lets none through in a moment.
    pub fn store_a_run(&self) -> String {
        let done = self.run(&[
            "run",
            "--null",
            "--jobs",
            "1",
            "--commits",
            "2000",
            "--warmup",
            "0",
            "--format",
            "json",
            "-q",
        ]);
        done.expect(0, &[]);
        let id = done.json()["run_id"].as_str().map(str::to_owned);
        id.expect("a run has a name")
    }

    /// Nothing of redolab's stands in the target.
    pub fn expect_clean(&self, target: &Path) {
        assert_eq!(
            entries(target),
            Vec::<String>::new(),
            "{}",
            target.display()
        );
    }
}

/// The binary: the one that cargo built, or an installed one.
pub fn program() -> PathBuf {
    let installed = std::env::var_os(INSTALLED).filter(|path| !path.is_empty());
    installed.map_or_else(|| env!("CARGO_BIN_EXE_redolab").into(), PathBuf::from)
}

pub fn entries(path: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(path)
        .expect("lists")
        .map(|e| {
            e.expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .filter(|name| name != "lost+found")
        .collect();
    names.sort();
    names
}

/// A command that has ended.
#[derive(Debug)]
pub struct Done {
    what: String,
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Done {
    /// It ended with `code`, and said every one of `words`.
    pub fn expect(&self, code: i32, words: &[&str]) -> &Done {
        let what = &self.what;
        let said = format!("{}{}", self.out, self.err);
        // A sentence may be broken into lines.
        let joined: Vec<&str> = said.split_whitespace().collect();
        let joined = joined.join(" ");
        assert_eq!(self.code, Some(code), "{what}\n{said}");
        for word in words {
            assert!(
                said.contains(word) || joined.contains(word),
                "{what}: `{word}` was not said:\n{said}"
            );
        }
        assert!(!said.contains("panicked"), "{what}\n{said}");
        self
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{}: {e}\n{}{}", self.what, self.out, self.err))
    }
}

/// A command that runs.
pub struct Running {
    what: String,
    child: Option<Child>,
    out: std::thread::JoinHandle<String>,
    lines: std::sync::mpsc::Receiver<String>,
    err: String,
}

impl Running {
    pub fn of(mut child: Child, what: String) -> Running {
        let mut stdout = child.stdout.take().expect("piped");
        let stderr = child.stderr.take().expect("piped");
        let out = std::thread::spawn(move || {
            let mut text = Vec::new();
            stdout.read_to_end(&mut text).expect("a pipe");
            String::from_utf8(text).expect("output is UTF-8")
        });
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = sender.send(line);
            }
        });
        Running {
            what,
            child: Some(child),
            out,
            lines,
            err: String::new(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Waits until a line on standard error contains `word`.
    pub fn until_said(&mut self, word: &str) {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("ended before `{word}`: {}", self.err));
            let found = line.contains(word);
            self.err.push_str(&line);
            self.err.push('\n');
            if found {
                return;
            }
        }
        panic!("`{word}` was not said: {}", self.err);
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.pid()).ok();
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a pid"), signal).expect("our own child");
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Done {
        let mut child = self.child.take().expect("it runs");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("our own child") {
                break status;
            }
            if start.elapsed() > PATIENCE {
                child.kill().expect("our own child");
                child.wait().expect("our own child");
                panic!("{} does not end: {}", self.what, self.err);
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        for line in &self.lines {
            self.err.push_str(&line);
            self.err.push('\n');
        }
        Done {
            what: self.what.clone(),
            code: status.code(),
            out: std::mem::replace(&mut self.out, std::thread::spawn(String::new))
                .join()
                .expect("a reader"),
            err: std::mem::take(&mut self.err),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // A test that failed: its child must not outlive it.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Says why a test was not run.
pub fn skipped(why: &str) {
    println!("skipped: {why}");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What a program printed, when it ended well.
pub fn done(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(text)
}

/// A file system on a loop device on a sparse file, mounted. All of it goes away when dropped.
pub struct LoopVolume {
    pub mount: Mount,
    device: Option<String>,
    _dir: tempfile::TempDir,
}

impl LoopVolume {
    /// A file system of `kind` in `gib` GiB with sectors of `sector` bytes; says why it skips.
    pub fn make(kind: &str, gib: u64, sector: u32) -> Option<LoopVolume> {
        LoopVolume::make_in(kind, gib, sector, &std::env::temp_dir())
    }

    /// The same with its file below `parent`.
    pub fn make_in(kind: &str, gib: u64, sector: u32, parent: &Path) -> Option<LoopVolume> {
        if !is_root() {
            skipped("loop devices need root");
            return None;
        }
        let dir = tempfile::tempdir_in(parent).expect("a temporary directory");
        let image = dir.path().join("image");
        let file = std::fs::File::create(&image).expect("a file");
        file.set_len(gib << 30).expect("sparse");
        let sector = sector.to_string();
        let image = image.display().to_string();
        let node = done(
            "losetup",
            &["--find", "--show", "--sector-size", &sector, &image],
        );
        let Some(node) = node else {
            skipped("losetup makes no loop device here");
            return None;
        };
        let at = dir.path().join("mount");
        std::fs::create_dir(&at).expect("a fresh directory");
        let mut volume = LoopVolume {
            mount: Mount { at, mounted: false },
            device: Some(node.clone()),
            _dir: dir,
        };
        let tool = format!("mkfs.{kind}");
        let options: &[&str] = match kind {
            "ext4" => &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &node],
            _ => &["-q", &node],
        };
        if done(&tool, options).is_none() {
            skipped(&format!("{tool} is not here or fails"));
            return None;
        }
        volume.mount.mounted = Mount::try_mount(&["-t", kind, &node], &volume.mount.at);
        if !volume.mount.mounted {
            skipped(&format!("{kind} cannot be mounted here"));
            return None;
        }
        Some(volume)
    }

    pub fn path(&self) -> &Path {
        &self.mount.at
    }

    /// The loop device.
    pub fn device(&self) -> &str {
        self.device.as_deref().expect("attached")
    }

    /// The power goes: nothing that is not on the device is ever written to it.
    pub fn cut(&self) {
        let at = self.path().display().to_string();
        let cut = done("xfs_io", &["-x", "-c", "shutdown", &at]);
        assert!(cut.is_some(), "shuts down");
    }

    /// The power is back: what the file system makes of its device.
    pub fn restore(&mut self) {
        self.mount.unmount();
        let node = self.device.as_deref().expect("attached");
        self.mount.mounted = Mount::try_mount(&[node], &self.mount.at);
        assert!(self.mount.mounted, "mounts again");
    }
}

impl Drop for LoopVolume {
    fn drop(&mut self) {
        self.mount.unmount();
        if let Some(device) = self.device.take()
            && done("losetup", &["--detach", &device]).is_none()
        {
            eprintln!("{device} stays attached");
        }
    }
}

/// A loop device on a sparse file, with nothing on it. Detached when dropped.
pub struct LoopDevice {
    pub node: String,
    _dir: tempfile::TempDir,
}

impl LoopDevice {
    /// A device of `mib` MiB, with more options of `losetup`; says why it skips.
    pub fn make(mib: u64, options: &[&str]) -> Option<LoopDevice> {
        if !is_root() {
            skipped("loop devices need root");
            return None;
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        let image = dir.path().join("image");
        let file = std::fs::File::create(&image).expect("a file");
        file.set_len(mib << 20).expect("sparse");
        let image = image.display().to_string();
        let arguments = [&["--find", "--show"], options, &[image.as_str()]].concat();
        let node = done("losetup", &arguments);
        if node.is_none() {
            skipped("losetup makes no loop device here");
        }
        let node = node?;
        Some(LoopDevice { node, _dir: dir })
    }

    /// Its first and its last MiB.
    pub fn ends(&self) -> [Vec<u8>; 2] {
        use std::io::{Seek, SeekFrom};
        let mut file = std::fs::File::open(&self.node).expect("opens");
        [SeekFrom::Start(0), SeekFrom::End(-(1 << 20))].map(|at| {
            let mut end = vec![0; 1 << 20];
            file.seek(at).expect("seeks");
            file.read_exact(&mut end).expect("reads");
            end
        })
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        if done("losetup", &["--detach", &self.node]).is_none() {
            eprintln!("{} stays attached", self.node);
        }
    }
}

/// Something mounted, unmounted when dropped.
pub struct Mount {
    pub at: PathBuf,
    mounted: bool,
}

impl Mount {
    /// Mounts at `at`, which must exist; `None` where the system refuses.
    pub fn make(options: &[&str], at: &Path) -> Option<Mount> {
        Mount::try_mount(options, at).then(|| Mount {
            at: at.to_owned(),
            mounted: true,
        })
    }

    fn try_mount(options: &[&str], at: &Path) -> bool {
        let at = at.display().to_string();
        let arguments: Vec<&str> = options.iter().copied().chain([at.as_str()]).collect();
        done("mount", &arguments).is_some()
    }

    pub fn remount(&self, options: &str) {
        let at = self.at.display().to_string();
        let options = format!("remount,{options}");
        assert!(done("mount", &["-o", &options, &at]).is_some(), "remounts");
    }

    fn unmount(&mut self) {
        let at = self.at.display().to_string();
        // A child of another test may hold our descriptors between fork and exec.
        for _ in 0..200 {
            if !self.mounted || done("umount", &[&at]).is_some() {
                self.mounted = false;
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        // Who holds it keeps it, and nobody sees it any more: it goes with the last descriptor.
        self.mounted = false;
        if done("umount", &["-l", &at]).is_none() {
            eprintln!("{at} stays mounted");
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.unmount();
    }
}

/// A tmpfs of `mib` MiB in a place of its own; says why it skips.
pub fn tmpfs(place: &Place, mib: u64) -> Option<Mount> {
    let at = place.path().join("tmpfs");
    std::fs::create_dir(&at).expect("a fresh directory");
    let size = format!("size={mib}m");
    let mount = Mount::make(&["-t", "tmpfs", "-o", &size, "tmpfs"], &at);
    if mount.is_none() {
        skipped("mounting a tmpfs needs root");
    }
    mount
}

/// The problems that a published schema finds in `value`.
pub fn schema_problems(name: &str, value: &Value) -> Vec<String> {
    let path = format!("{}/../../schemas/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the schema is in the repository");
    let json = serde_json::from_str(&text).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&json).expect("the schema is a schema");
    validator
        .iter_errors(value)
        .map(|e| format!("{}: {e}", e.instance_path))
        .collect()
}

/// A run is valid, unless a busy machine left a row of a moment without enough commits, came
/// between two readings of a clock, or tests of other programs used the device at the same time.
pub(crate) fn expect_valid(json: &serde_json::Value) {
    let problems = json["validity"]["problems"].as_array();
    let problems = problems.expect("a run says what is doubtful");
    let load = ["few_commits", "no_commits", "busy_device", "littles_law"];
    let is_load = |id: &Value| id.as_str().is_some_and(|id| load.contains(&id));
    let others = problems.iter().filter(|problem| !is_load(&problem["id"]));
    assert!(others.count() == 0, "{}", json["validity"]);
}

/// The run of a command that ended with `code`; or with 4, where a busy machine left a row of a
/// moment without a commit.
pub fn expect_run(done: &Done, code: i32) -> Value {
    let json = done.json();
    expect_valid(&json);
    let is_valid = json["validity"]["valid"] == true;
    done.expect(if is_valid { code } else { 4 }, &[]);
    json
}

/// So many fresh directories below that of `place`.
pub fn directories(place: &Place, count: usize) -> Vec<PathBuf> {
    let each = (1..=count).map(|n| place.path().join(format!("u{n:02}")));
    each.inspect(|path| std::fs::create_dir(path).expect("a fresh directory"))
        .collect()
}

/// Directories as an option lists them.
pub fn listed(directories: &[PathBuf]) -> String {
    let shown = directories.iter().map(|d| d.display().to_string());
    shown.collect::<Vec<_>>().join(",")
}

/// Nothing is left in any of them.
pub fn expect_empty(directories: &[PathBuf]) {
    for directory in directories {
        assert_eq!(entries(directory), [""; 0], "{}", directory.display());
    }
}
