//! A bench for power cuts: a server, and a file system on a loop device on a disk of [`disk`] whose
//! power can be cut while a writer works; and the removal of all of it, however the test ends.
//!
//! Invariants: this process never reads or writes what is mounted; the mounts and the folder go
//! when the janitor's standard input ends, which is when the test ends or dies.

use crate::disk::{Cache, Fault};
use crate::fuse;
use crate::namespaces::{ADDRESSES, TwoNetworks};
use crate::program::done;
use redolab::powertest::channel::{PowerChannel, PowerToken};
use redolab::powertest::identity::machine_id;
use redolab::powertest::messages::{Message, PowerRequest, PowerResponse, decode, encode};
use serde_json::Value;
use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Nothing here takes as long, unless it hangs.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// With this variable servers and writers are in two network namespaces.
const NETWORK: &str = "REDOLAB_POWER_NETWORK";
/// Asks a process of this program to wait for acknowledgements in another network.
const AWAIT: &str = "REDOLAB_POWER_AWAIT";
const DISK_BYTES: u64 = 48 << 20;
/// `check` measures the floor of a raw device in 64 MiB of it.
pub const RAW_DISK_BYTES: u64 = 72 << 20;
/// A file system that was shut down answers with an error whether it is mounted, so that is not
/// asked.
const JANITOR: &str = "cat > /dev/null; \
     losetup -l -n -O NAME,BACK-FILE | while read -r loop file; do \
     case \"$file\" in \"$1\"/*) losetup -d \"$loop\";; esac; done; \
     for place in mount fuse; do \
     umount \"$1/$place\" 2> /dev/null || umount -l \"$1/$place\" 2> /dev/null; done; \
     rm -rf --one-file-system \"$1\"";

/// A scratch folder that goes with the process, with places to mount in it.
pub struct Scratch {
    pub path: PathBuf,
    janitor: Child,
    /// The server in one, everything else in the other.
    pub network: Option<TwoNetworks>,
    /// How many times the machine under test was started again, as its kernel reports it.
    starts: Cell<u32>,
}

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let name = format!("redolab-powertest-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        for place in ["mount", "fuse", "plain"] {
            std::fs::create_dir_all(path.join(place)).expect("a scratch folder");
        }
        let janitor = Command::new("sh")
            .args(["-c", JANITOR, "sh", &path.display().to_string()])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Scratch {
            path,
            janitor: janitor.expect("sh starts"),
            network: None,
            starts: Cell::new(0),
        }
    }

    pub fn place(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// A token file.
    pub fn token(&self) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path.join("token");
        if !path.exists() {
            std::fs::write(&path, "a token for tests, long enough\n").expect("writes");
            let mode = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(&path, mode).expect("changes");
        }
        path.display().to_string()
    }

    /// Commands run in a network of their own from now on, and the server in another one.
    pub fn divide_networks(&mut self) -> Result<(), String> {
        self.network = Some(TwoNetworks::make()?);
        Ok(())
    }

    /// A command of redolab's on the machine under test.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.under_test(self.command_here(arguments))
    }

    /// Any command on the machine under test.
    pub fn under_test(&self, command: Command) -> Command {
        match (&self.network, self.starts.get()) {
            (Some(network), _) => network.within(1, &command),
            (None, 0) => command,
            (None, start) => self.after_start(start, &command),
        }
    }

    /// From now on the kernel of the machine under test reports another start, and nothing else
    /// about it is different.
    pub fn restart(&self) {
        self.starts.set(self.starts.get() + 1);
    }

    fn after_start(&self, start: u32, command: &Command) -> Command {
        const WITHIN: &str =
            "mount --bind \"$1\" /proc/sys/kernel/random/boot_id && shift && exec \"$@\"";
        let file = self.place(&format!("boot-{start}"));
        std::fs::write(&file, format!("00000000-0000-4000-8000-{start:012x}\n")).expect("writes");
        let mut inside = Command::new("unshare");
        inside.args(["-m", "sh", "-c", WITHIN, "sh", &file]);
        wrapped(inside, command)
    }

    /// A command of redolab's with a store of this scratch folder.
    fn command_here(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_redolab"));
        command
            .args(arguments)
            .env("REDOLAB_STORE", self.path.join("store"))
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        // It has nobody to report to but its standard error.
        drop(self.janitor.wait());
    }
}

/// `inside` with the program, the arguments and the environment of `command` behind it.
pub fn wrapped(mut inside: Command, command: &Command) -> Command {
    inside.arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        match value {
            Some(value) => inside.env(key, value),
            None => inside.env_remove(key),
        };
    }
    inside
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    inside
}

/// What a command ended with.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ended {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

pub fn run(mut command: Command) -> Ended {
    let output = command.output().expect("starts");
    Ended {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Lines of a program as they come.
pub struct Lines {
    lines: Receiver<String>,
    pub seen: Vec<String>,
}

impl Lines {
    pub fn of(stream: impl Read + Send + 'static) -> Lines {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Lines {
            lines,
            seen: Vec::new(),
        }
    }

    /// The next line with this word in it.
    pub fn wait_for(&mut self, word: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("no line with {word:?}: {:?}", self.seen);
            };
            self.seen.push(line.clone());
            if line.contains(word) {
                return line;
            }
        }
    }
}

/// A running server.
pub struct Server {
    pub child: Child,
    pub lines: Lines,
    pub address: String,
}

impl Server {
    pub fn start(scratch: &Scratch, more: &[&str]) -> Server {
        let (keep, token) = (scratch.place("keep"), scratch.token());
        let mut arguments = vec![
            "powertest",
            "serve",
            "--keep",
            &keep,
            "--token-file",
            &token,
        ];
        let listen = match &scratch.network {
            Some(_) => format!("{}:0", ADDRESSES[0]),
            None => "127.0.0.1:0".to_owned(),
        };
        arguments.extend(["--keep-file-size", "1M", "--listen", &listen]);
        arguments.extend(more);
        let command = scratch.command_here(&arguments);
        Server::of(match &scratch.network {
            Some(network) => network.within(0, &command),
            None => command,
        })
    }

    pub fn of(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::inherit()).spawn().expect("starts");
        let mut lines = Lines::of(child.stdout.take().expect("piped"));
        let line = lines.wait_for("Listening on");
        let address = line
            .trim_end_matches('.')
            .rsplit(' ')
            .next()
            .unwrap_or_default();
        Server {
            address: address.to_owned(),
            child,
            lines,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A running writer.
pub struct Writer {
    pub child: Child,
    pub lines: Lines,
}

impl Writer {
    /// Starts one on `at`, and waits until it writes.
    pub fn on(scratch: &Scratch, server: &Server, at: &str, more: &[&str]) -> Writer {
        let arguments = write_arguments(scratch, &server.address, at, more);
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Writer::start(scratch.command(&words))
    }

    /// Starts it and waits until it writes.
    pub fn start(mut command: Command) -> Writer {
        let mut child = command.spawn().expect("starts");
        let err: ChildStderr = child.stderr.take().expect("piped");
        let mut lines = Lines::of(err);
        lines.wait_for("cut the power at any time");
        Writer { child, lines }
    }

    pub fn kill(&mut self) {
        // It may have ended by itself, since its disk is dead.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it has ended by itself with an error, since its disk is dead.
    pub fn fails(&mut self) {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                assert_eq!(status.code(), Some(1), "{:?}", self.lines.seen);
                return;
            }
            assert!(
                Instant::now() < until,
                "it does not notice that its disk is dead"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// An ext4 file system.
    FileSystem,
    /// Nothing: its loop device is written to.
    RawDevice,
}

/// A file system or a raw device on a disk with a fault.
pub struct Bench {
    pub scratch: Scratch,
    /// The raw device.
    device: Option<String>,
    disk: fuse::Shared<Cache>,
    fault: Fault,
    state: u64,
}

/// Why there can be none here.
pub fn missing() -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        return Some("loop devices need root".to_owned());
    }
    fuse::open().err().map(|e| format!("/dev/fuse: {e}"))
}

impl Bench {
    pub fn make(name: &str, fault: Fault, seed: u64) -> Result<Bench, String> {
        Bench::make_on(name, fault, seed, Medium::FileSystem)
    }

    pub fn make_on(name: &str, fault: Fault, seed: u64, on: Medium) -> Result<Bench, String> {
        if let Some(why) = missing() {
            return Err(why);
        }
        let mut scratch = Scratch::new(name);
        if std::env::var_os(NETWORK).is_some() {
            scratch.divide_networks()?;
        }
        let image = scratch.path.join("image");
        let failed = |e: std::io::Error| e.to_string();
        let file = std::fs::File::create(&image).map_err(failed)?;
        match on {
            Medium::RawDevice => file.set_len(RAW_DISK_BYTES).map_err(failed)?,
            Medium::FileSystem => {
                file.set_len(DISK_BYTES).map_err(failed)?;
                let image = image.display().to_string();
                done("mkfs.ext4", &["-q", "-b", "4096", &image])?;
            }
        }
        let content = std::fs::read(&image).map_err(failed)?;
        std::fs::remove_file(&image).map_err(failed)?;
        let mut bench = Bench {
            disk: new_disk(fault, content),
            scratch,
            device: None,
            fault,
            state: seed,
        };
        bench.serve()?;
        match on {
            Medium::FileSystem => bench.mount()?,
            Medium::RawDevice => {
                let found = done("losetup", &["--find", "--show", &bench.file()])?;
                bench.device = Some(found.trim().to_owned());
            }
        }
        Ok(bench)
    }

    /// Where the file system is mounted, or the raw device.
    pub fn at(&self) -> String {
        let mount = || self.scratch.place("mount");
        self.device.clone().unwrap_or_else(mount)
    }

    /// Arguments of a writer that differ between the two.
    pub fn consent(&self) -> Vec<String> {
        let device = self.device.iter();
        device
            .flat_map(|device| ["--destroy".to_owned(), device.clone()])
            .collect()
    }

    /// The disk, for a test that changes its behaviour.
    pub fn with_disk(&self, change: impl FnOnce(&mut Cache)) {
        change(&mut self.disk.lock().journal);
    }

    /// Serves the disk.
    fn serve(&self) -> Result<(), String> {
        let device = fuse::open().map_err(|e| e.to_string())?;
        let (keep, options) = fuse::serving(device, &self.disk)?;
        let below = self.scratch.place("fuse");
        let mounted = done(
            "mount",
            &["-i", "-t", "fuse", "-o", &options, "power-disk", &below],
        );
        drop(keep);
        mounted.map(drop)
    }

    fn file(&self) -> String {
        format!("{}/{}", self.scratch.place("fuse"), fuse::NAME)
    }

    fn mount(&self) -> Result<(), String> {
        let place = self.scratch.place("mount");
        done("mount", &["-t", "ext4", "-o", "loop", &self.file(), &place]).map(drop)
    }

    /// The same device again: a program that looks at it keeps it open after it was detached.
    fn attach(&self, device: &str) -> Result<(), String> {
        tried(|| done("losetup", &[device, &self.file()]))
    }

    fn unmount(&self) -> Result<(), String> {
        match &self.device {
            Some(device) => done("losetup", &["-d", device]).map(drop)?,
            None => unmount(&self.scratch.place("mount"))?,
        }
        unmount(&self.scratch.place("fuse"))
    }

    /// The power of the disk goes, `meanwhile` what used it ends, and the power comes back.
    pub fn cut(&mut self, meanwhile: impl FnOnce()) -> Result<(), String> {
        let left = self.disk.lock().journal.cut(&mut self.state);
        meanwhile();
        self.unmount()?;
        self.disk = new_disk(self.fault, left);
        self.serve()?;
        match &self.device {
            Some(device) => self.attach(device),
            None => self.mount(),
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.disk.lock().given_up = true;
    }
}

fn new_disk(fault: Fault, content: Vec<u8>) -> fuse::Shared<Cache> {
    let disk = fuse::Shared::<Cache>::new(content.clone());
    disk.lock().journal.hold(fault, content);
    disk
}

/// Somebody may hold it for a moment.
pub fn unmount(at: &str) -> Result<(), String> {
    tried(|| done("umount", &[at]))
}

/// Tries again for five minutes: on a busy machine what used a mount ends late, and this process
/// writes back what it wrote behind the writes of others.
fn tried(mut work: impl FnMut() -> Result<String, String>) -> Result<(), String> {
    let mut last = Ok(());
    for _ in 0..15_000 {
        last = work().map(drop);
        if last.is_ok() {
            return last;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    last
}

/// Arguments of a writer on `at`.
pub fn write_arguments(scratch: &Scratch, server: &str, at: &str, more: &[&str]) -> Vec<String> {
    let token = scratch.token();
    let fixed = [
        "powertest",
        "write",
        "--on",
        at,
        "--to",
        server,
        "--token-file",
        &token,
    ];
    let small = [
        ["--jobs", "2"],
        ["--log-file-size", "1M"],
        ["--payload", "600B"],
    ];
    let usual = small
        .iter()
        .filter(|[name, _]| !more.contains(name))
        .flatten();
    let all = fixed.iter().chain(usual).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

/// A writer on `at` that ends by itself, or is refused.
pub fn write(scratch: &Scratch, server: &str, at: &str, more: &[&str]) -> Ended {
    let arguments = write_arguments(scratch, server, at, more);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    run(scratch.command(&words))
}

/// Waits until the server has kept so many acknowledgements of the test on `at`.
pub fn await_kept(scratch: &Scratch, server: &str, at: &str, count: u64) {
    let Some(network) = &scratch.network else {
        return await_here(&scratch.token(), server, at, count);
    };
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args([
        "bench::acknowledgements_are_awaited_in_another_network",
        "--exact",
    ]);
    command.env(AWAIT, format!("{} {server} {at} {count}", scratch.token()));
    let ended = run(network.within(1, &command));
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn acknowledgements_are_awaited_in_another_network() {
    let asked = std::env::var(AWAIT).unwrap_or_default();
    if let [token, server, at, count] = asked.split(' ').collect::<Vec<_>>()[..] {
        await_here(token, server, at, count.parse().expect("a number"));
    }
}

fn await_here(token: &str, server: &str, at: &str, count: u64) {
    let token = PowerToken::read(token.as_ref()).expect("a token");
    let mut channel = PowerChannel::connect(server, &token).expect("connects");
    let request = PowerRequest::List {
        machine_id: machine_id(),
        path: at.to_owned(),
    };
    let until = Instant::now() + PATIENCE;
    loop {
        channel
            .send(&encode(&request).expect("short"))
            .expect("sends");
        let answer = channel
            .receive(PATIENCE)
            .expect("answers")
            .expect("answers");
        let Ok(Message::Json(PowerResponse::Tests { open, .. })) = decode(&answer) else {
            panic!("tests were asked for");
        };
        if open.iter().any(|test| test.acknowledged >= count) {
            return;
        }
        assert!(Instant::now() < until, "{open:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Judges what is on `at`.
pub fn verify(scratch: &Scratch, server: &str, at: &str, more: &[&str]) -> Ended {
    let token = scratch.token();
    let mut arguments = vec!["powertest", "verify", "--on", at, "--to", server];
    arguments.extend(["--token-file", &token, "--format", "json"]);
    arguments.extend(more);
    run(scratch.command(&arguments))
}
