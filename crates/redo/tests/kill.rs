//! SIGKILL at random moments: a child commits from several threads, half of which wait for each
//! commit and half of which have many in flight, and says through a pipe what was acknowledged; the
//! parent kills it, drains the pipe, recovers, and looks for every acknowledged record. The same
//! log lives through all the kills, with log switches and checkpoints in between, in files, on a
//! raw device, as a race, as a mirror of which a member is lost again and again, and with failover
//! from a disk that stalls again and again. It proves
//! nothing about power loss: the system lives on.
//!
//! One more life is long: `REDO_LIFE_SECONDS` (3), with log switches all the while and resident
//! memory watched, and then the kill.
//!
//! `REDO_LIFE_CSV` and `REDO_KILL_CSV` name files to which a line of data is appended.
//! `REDO_KILLS` sets how many (100), `REDO_KILL_SEED` repeats the moments of a run.

mod common;

use common::{PATIENCE, Scratch, create, options, record, whose};
use device::raw::{RawDevice, is_block_device};
use device::{FaultDevice, FileSet, IoEngine, SyncMethod};
use measure::workload::split_mix;
use redo::CommitPost;
use redo::engine::Paths;
use redo::{
    CommitMode, Completions, Error, Log, LogWriter, MemberLayout, Options, Rba, Recovery, Session,
};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const SESSIONS: u32 = 4;
/// Commits that each session has in flight; one is waited for.
const IN_FLIGHT: [usize; SESSIONS as usize] = [1, 1, 8, 100];
const WRITERS: [LogWriter; 5] = [
    LogWriter::Auto,
    LogWriter::Inline,
    LogWriter::Lgwr,
    LogWriter::Workers(3),
    LogWriter::Adaptive,
];
const DIRECTORY: &str = "REDO_KILL_DIRECTORY";
const WAY: &str = "REDO_KILL_WAY";
/// What the child's pipe carries: a session and the number of its acknowledged record.
const ACK_BYTES: usize = 8;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn what_was_acknowledged_survives_kill_9_at_any_moment() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        child(Path::new(&directory));
    }
    let scratch = Scratch::new();
    create(&scratch.0);
    kill_and_recover(&scratch.0, number("REDO_KILLS").unwrap_or(100));
}

#[test]
fn what_was_acknowledged_survives_kill_9_on_a_raw_device() {
    let scratch = Scratch::new();
    let Some(device) = LoopDevice::on(&scratch.0.join("image")) else {
        return println!("skipped: losetup makes no loop device here (needs root)");
    };
    let path = Path::new(&device.0);
    let look = RawDevice::at(path).expect("readable");
    let consent = look.consent(Some(path)).expect("its path");
    let cleared = look.hold().and_then(|held| held.clear(&consent));
    let cleared = cleared.expect("free");
    common::create_with(cleared, common::SMALL, &|_, _| {}, &|| false).expect("a new log");
    kill_and_recover(path, number("REDO_KILLS").unwrap_or(100) / 4);
}

#[test]
fn what_was_acknowledged_survives_kill_9_with_members() {
    for kind in ["mirror", "race"] {
        let scratch = Scratch::new();
        let place = scratch.0.join(kind);
        for member in MEMBERS {
            std::fs::create_dir_all(place.join(member)).expect("a directory");
        }
        let layout = members(&place).expect("it has members");
        common::create_with(layout, common::SMALL, &|_, _| {}, &|| false).expect("a new log");
        kill_and_recover(&place, number("REDO_KILLS").unwrap_or(100) / 2);
    }
}

#[test]
fn what_was_acknowledged_survives_kill_9_with_failover() {
    let scratch = Scratch::new();
    let place = scratch.0.join("failover");
    for member in MEMBERS {
        std::fs::create_dir_all(place.join(member)).expect("a directory");
    }
    let layout = members(&place).expect("it has a ring");
    common::create_with(layout, common::SMALL, &|_, _| {}, &|| false).expect("a new log");
    kill_and_recover(&place, number("REDO_KILLS").unwrap_or(100) / 2);
}

/// A log with failover whose disk stalls again and again: what is killed then is on the ring alone.
fn open_stalling(place: &Path, options: Options) -> Result<(Log, Recovery), Error> {
    let [disk, ring] = MEMBERS.map(|member| place.join(member));
    let paths = Paths::new(&disk);
    let files = |files: &[PathBuf]| {
        let bytes = std::fs::metadata(&files[0]).expect("a file").len();
        FileSet::open(files, bytes, SyncMethod::Buffered).expect("files")
    };
    let data = Arc::new(FaultDevice::new(Arc::new(files(
        &paths.logs(common::SMALL.groups),
    ))));
    let control = Arc::new(files(&[paths.control()]));
    let ring = Arc::new(files(&[ring.join(Paths::RING)]));
    let stalling = Arc::clone(&data);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(Duration::from_millis(4));
            stalling.set_delay(Duration::from_millis(15));
            std::thread::sleep(Duration::from_millis(15));
            stalling.set_delay(Duration::ZERO);
        }
    });
    let layout = MemberLayout::ring_on_devices((data, control), ring, Some(FAILOVER));
    common::open_with(layout, options)
}

/// When the disk is late.
const FAILOVER: Duration = Duration::from_millis(1);

/// Directories of members, in that of their log, which says by its name what they are.
const MEMBERS: [&str; 2] = ["one", "two"];

/// The members of a log in a directory, where it has some.
fn members(place: &Path) -> Option<MemberLayout> {
    let paths = MEMBERS.map(|member| place.join(member));
    let layout = match place.file_name()?.to_str()? {
        "mirror" => MemberLayout::mirror(paths),
        "race" => MemberLayout::race(paths),
        "failover" => {
            let [disk, ring] = paths;
            MemberLayout::failover(disk, ring, 256 << 10, FAILOVER)
        }
        _ => return None,
    };
    // Without its ring the failover log would lose what the ring alone has.
    let accept = !place.ends_with("failover");
    Some(layout.force_same_device(true).accept_loss(accept))
}

/// Every third kill of a mirror is followed by the loss of a member, which comes back later.
fn lose_a_member(place: &Path, kill: u64) -> Option<PathBuf> {
    if !place.ends_with("mirror") || !kill.is_multiple_of(3) {
        return None;
    }
    let path = place.join(MEMBERS[(kill / 3 % 2) as usize]);
    std::fs::rename(&path, path.with_extension("lost")).expect("renamed");
    Some(path)
}

/// Resident memory may grow by so much after the first fifth of a long life: what the allocator
/// keeps. A leak of one byte a commit would pass it within minutes.
const RESIDENT_GROWTH_KB: u64 = 4096;

#[test]
fn a_long_life_is_flat_in_memory_and_loses_nothing_when_killed() {
    let scratch = Scratch::new();
    let shape = common::SMALL.file_bytes(16 << 20);
    common::create_with(&scratch.0, shape, &|_, _| {}, &|| false).expect("a new log");
    let seconds = number("REDO_LIFE_SECONDS").unwrap_or(3);
    let lgwr = WRITERS.iter().position(|w| *w == LogWriter::Lgwr);
    let direct = 2;
    let way = lgwr.expect("one of them") as u64 * 3 + direct;
    let mut child = begin(&scratch.0, way);
    let pipe = child.0.stderr.take().expect("piped");
    let (begun, first) = std::sync::mpsc::channel();
    let drain = std::thread::spawn(move || last_acknowledged(pipe, &begun));
    first.recv_timeout(PATIENCE).expect("the child commits");
    let pid = child.0.id();
    let mut resident_kb = Vec::new();
    for _ in 0..seconds * 5 {
        std::thread::sleep(Duration::from_millis(200));
        resident_kb.extend(resident(pid));
    }
    drop(child);
    let fifths = fifths(&resident_kb);
    let (known, acks) = drain.join().expect("no panic").expect("a pipe");
    verify(&scratch.0, &known).unwrap_or_else(|what| panic!("{what}"));
    let switches = common::open(&scratch.0).durable().log_seq - 1;
    let settled = resident_kb.split_off(resident_kb.len() / 5);
    let (first, most) = (settled.first(), settled.iter().max());
    let (first, most) = first.zip(most).expect("the child lived");
    println!(
        "{seconds} s: {acks} commits acknowledged, 0 lost, {switches} log switches, resident \
         {first} kB after a fifth of the time, {most} kB at most from then on"
    );
    common::csv_line(
        "REDO_LIFE_CSV",
        "seconds,commits,switches,rss_kb_1,rss_kb_2,rss_kb_3,rss_kb_4,rss_kb_5,rss_kb_max,lost",
        &format!("{seconds},{acks},{switches},{fifths},{most},0"),
    );
    assert!(*most <= first + RESIDENT_GROWTH_KB, "{first} to {most} kB");
}

/// Resident memory at the end of each fifth of a life, kB.
fn fifths(resident_kb: &[u64]) -> String {
    let at = |fifth: usize| resident_kb[(resident_kb.len() * fifth / 5).max(1) - 1].to_string();
    (1..=5).map(at).collect::<Vec<_>>().join(",")
}

/// Resident memory of a process, kB (proc_pid_status(5)).
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The last acknowledged record of each session, and how many acknowledgements there were.
fn last_acknowledged(mut pipe: impl Read, begun: &Sender<()>) -> std::io::Result<(Known, u64)> {
    let (mut known, mut acks) = (Known::default(), 0);
    let mut ack = [0; ACK_BYTES];
    loop {
        match pipe.read_exact(&mut ack) {
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok((known, acks)),
            other => other?,
        }
        let word = u64::from_le_bytes(ack);
        let known = known.get_mut((word >> 32) as usize);
        *known.expect("the child says who, or panics in words") = Some(word as u32);
        acks += 1;
        if acks == 1 {
            begun.send(()).expect("somebody waits for the first");
        }
    }
}

/// A loop device on a sparse file, detached when dropped.
struct LoopDevice(String);

impl LoopDevice {
    fn on(image: &Path) -> Option<LoopDevice> {
        let file = std::fs::File::create(image).expect("writable");
        file.set_len(8 << 20).expect("sparse");
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(image)
            .output()
            .ok()?;
        let name = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        made.status.success().then_some(LoopDevice(name))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let detached = Command::new("losetup")
            .arg("--detach")
            .arg(&self.0)
            .status();
        if !detached.is_ok_and(|status| status.success()) {
            eprintln!("{} stays attached", self.0);
        }
    }
}

/// Opens the log in a directory or on a raw device.
fn open_at(place: &Path, options: Options) -> Result<(Log, Recovery), Error> {
    if let Some(members) = members(place) {
        common::open_with(members, options)
    } else if is_block_device(place) {
        common::open_with(RawDevice::at(place)?.hold()?, options)
    } else {
        common::open_with(place, options)
    }
}

fn kill_and_recover(place: &Path, kills: u64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = number("REDO_KILL_SEED").unwrap_or(now.map_or(1, |t| t.as_nanos() as u64));
    println!("REDO_KILL_SEED={seed} REDO_KILLS={kills}");
    let mut state = seed;
    let mut acknowledged = Known::default();
    let (mut acks, mut busy) = (0, 0);
    for kill in 0..kills {
        let way = split_mix(&mut state) % 12;
        // Hundreds: threads or rings, and whether each direct write is durable by itself.
        let way = way + 100 * (split_mix(&mut state) % 4);
        let early = split_mix(&mut state).is_multiple_of(4);
        let moment = Duration::from_micros(split_mix(&mut state) % 60_000);
        let told = life(place, way, early, moment);
        acks += told.len();
        busy += u32::from(!told.is_empty());
        for (who, which) in told {
            acknowledged[who as usize] = Some(which);
        }
        let lost = lose_a_member(place, kill);
        let verified = verify(place, &acknowledged);
        if let Some(path) = lost {
            std::fs::rename(path.with_extension("lost"), path).expect("renamed");
        }
        acknowledged = verified
            .unwrap_or_else(|what| panic!("seed {seed}, kill {kill} after {moment:?}: {what}"));
    }
    println!("{acks} commits acknowledged, {busy} of {kills} kills during commits: 0 lost");
    let kind = match place.file_name().and_then(|name| name.to_str()) {
        _ if is_block_device(place) => "raw device",
        Some("mirror") => "mirror",
        Some("race") => "race",
        Some("failover") => "failover",
        _ => "files",
    };
    common::csv_line(
        "REDO_KILL_CSV",
        "place,kills,busy,acknowledged,lost,seed",
        &format!("{kind},{kills},{busy},{acks},0,{seed}"),
    );
    assert!(u64::from(busy) >= kills / 2, "most kills hit a log at work");
}

/// A child is ended with the test, whatever becomes of the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // It may be dead already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a child that commits, and reports through its standard error.
fn begin(directory: &Path, way: u64) -> Ended {
    let test = "what_was_acknowledged_survives_kill_9_at_any_moment";
    let exe = std::env::current_exe().expect("a test has a path");
    let child = Command::new(exe)
        .args([test, "--exact", "--nocapture"])
        .env(DIRECTORY, directory)
        .env(WAY, way.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    Ended(child.expect("the test starts itself"))
}

/// Starts a child, kills it `moment` after its start (`early`) or after its first acknowledged
/// commit, and gives what it reported, in order.
fn life(directory: &Path, way: u64, early: bool, moment: Duration) -> Vec<(u32, u32)> {
    let mut child = begin(directory, way);
    let mut pipe = child.0.stderr.take().expect("piped");
    let (begun, first) = std::sync::mpsc::channel();
    let drain = std::thread::spawn(move || {
        let mut bytes = vec![0; ACK_BYTES];
        let got = pipe.read(&mut bytes)?;
        bytes.truncate(got);
        // Nobody listens when the child is to be killed early.
        let _ = begun.send(());
        pipe.read_to_end(&mut bytes).map(|_| bytes)
    });
    if !early {
        let begun = first.recv_timeout(PATIENCE);
        begun.expect("the child commits");
    }
    std::thread::sleep(moment);
    drop(child);
    let bytes = drain.join().expect("no panic").expect("a pipe");
    let (acks, rest) = bytes.as_chunks::<ACK_BYTES>();
    let ack = |ack: &[u8; ACK_BYTES]| {
        let ack = u64::from_le_bytes(*ack);
        ((ack >> 32) as u32, ack as u32)
    };
    let acks: Vec<_> = acks.iter().map(ack).collect();
    let sane = rest.is_empty() && acks.iter().all(|(who, _)| *who < SESSIONS);
    assert!(sane, "the child said: {}", String::from_utf8_lossy(&bytes));
    acks
}

/// The last record of each session that must be there.
type Known = [Option<u32>; SESSIONS as usize];

/// Recovers and checks: of each session what is there has no gap, and its last acknowledged
/// record is there (checkpoints leave out only what lies before all of those). What was recovered
/// once must be recovered again: the last records, from now on.
fn verify(directory: &Path, acknowledged: &Known) -> Result<Known, String> {
    let (log, recovery) = open_at(directory, options()).map_err(|e| e.to_string())?;
    let mut found: [Option<(u32, u32)>; SESSIONS as usize] = [None; SESSIONS as usize];
    let mut gap = None;
    recovery
        .recover(|rba, bytes| {
            let (who, which) = whose(bytes);
            let (first, next) = found[who as usize].unwrap_or((which, which));
            if which != next {
                gap = Some(format!("session {who} at {rba}: {which} follows {next}"));
            }
            found[who as usize] = Some((first, which + 1));
            Ok::<(), redo::Error>(())
        })
        .map_err(|e| e.to_string())?;
    drop(log);
    if let Some(gap) = gap {
        return Err(gap);
    }
    for (who, (found, last)) in found.iter().zip(acknowledged).enumerate() {
        let there = |last: &u32| found.is_some_and(|(first, next)| (first..next).contains(last));
        if let Some(last) = last.filter(|last| !there(last)) {
            return Err(format!(
                "session {who}: {last} is missing, {found:?} is there"
            ));
        }
    }
    let last = |found: Option<(u32, u32)>| found.map(|(_, next)| next - 1);
    Ok(found.map(last))
}

/// Commits for ever, or until nobody reads what was acknowledged.
fn child(directory: &Path) -> ! {
    let way = number(WAY).expect("the parent says how");
    let (back_end, way) = (way / 100, way % 100);
    let methods = match back_end / 2 {
        0 => [SyncMethod::Buffered, SyncMethod::Dsync, SyncMethod::Direct],
        _ => [
            SyncMethod::Buffered,
            SyncMethod::Dsync,
            SyncMethod::DirectDsync,
        ],
    };
    let ways = options()
        .sync_method(methods[(way % 3) as usize])
        .io([IoEngine::Threads, IoEngine::IoUring][(back_end % 2) as usize])
        .log_writer(WRITERS[(way / 3) as usize]);
    let opened = match directory.ends_with("failover") {
        true => open_stalling(directory, ways),
        false => open_at(directory, ways),
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err(Error::Device(_)) if way % 3 == 2 => {
            // No O_DIRECT here.
            open_at(directory, options_buffered()).expect("the log opens")
        }
        Err(other) => panic!("{other}"),
    };
    let (log, recovery) = opened;
    let mut next = [0; SESSIONS as usize];
    let mut last = [Rba::default(); SESSIONS as usize];
    recovery
        .recover(|rba, bytes| {
            let (who, which) = whose(bytes);
            next[who as usize] = which + 1;
            last[who as usize] = rba;
            Ok::<(), redo::Error>(())
        })
        .expect("readable");
    let place = Place {
        last: Mutex::new(last),
        blocks_per_log: log.geometry().blocks_per_group,
        ahead_max: log.geometry().capacity_blocks() / 2,
    };
    std::thread::scope(|scope| {
        for who in 0..SESSIONS {
            let (session, next) = (log.session(), next[who as usize]);
            let place = &place;
            let queue = log.completions(IN_FLIGHT[who as usize]);
            scope.spawn(move || match queue.capacity() {
                1 => foreground(session, who, next, place),
                _ => in_flight(session, queue, who, next, place),
            });
        }
        let last = &place.last;
        loop {
            // So often that checkpoints and switches meet kills, so rarely that records are left.
            std::thread::sleep(Duration::from_millis(3));
            let upto = last.lock().expect("whole").iter().min().copied();
            let upto = upto.filter(|rba| *rba > Rba::default());
            if let Some(upto) = upto {
                log.checkpoint(upto).expect("acknowledged, so durable");
            }
        }
    })
}

fn options_buffered() -> Options {
    options().sync_method(SyncMethod::Buffered)
}

/// Where the last commit of each session is. The checkpoint stays behind that of the slowest, and
/// one that does not get its turn, in one life after the other, would fill the log for all.
struct Place {
    last: Mutex<[Rba; SESSIONS as usize]>,
    blocks_per_log: u64,
    ahead_max: u64,
}

impl Place {
    /// Waits while others go far ahead of the slowest, unless `who` is that one.
    fn keep_together(&self, who: u32) {
        let block = |rba: &Rba| rba.log_seq * self.blocks_per_log + u64::from(rba.block);
        loop {
            let last = *self.last.lock().expect("whole");
            let all = last.iter().map(block);
            let (slowest, newest) = (all.clone().min(), all.max());
            let own = Some(block(&last[who as usize]));
            if own == slowest || newest < slowest.map(|slowest| slowest + self.ahead_max) {
                return;
            }
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

fn foreground(mut session: Session, who: u32, next: u32, place: &Place) {
    for which in next.. {
        place.keep_together(who);
        let bytes = record(who, which);
        let rba = session.append(&[&bytes]).expect("open");
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        acknowledge(who, which, rba, place);
    }
}

/// As [`foreground`], with as many commits in flight as the queue holds.
fn in_flight(
    mut session: Session,
    mut queue: Completions<(u32, Rba)>,
    who: u32,
    next: u32,
    place: &Place,
) {
    for which in next.. {
        place.keep_together(who);
        let rba = session.append(&[&record(who, which)]).expect("open");
        let ticket = session.commit_async(CommitPost::Immediate).expect("open");
        queue.push(ticket, (which, rba)).expect("room for one more");
        let decided = if queue.len() == queue.capacity() {
            queue.wait()
        } else {
            queue.poll()
        };
        for _ in 0..decided {
            let done = queue.take().expect("as many as are decided");
            done.outcome.expect("durable");
            acknowledge(who, done.tag.0, done.tag.1, place);
        }
    }
}

fn acknowledge(who: u32, which: u32, rba: Rba, place: &Place) {
    let ack = u64::from(who) << 32 | u64::from(which);
    // One write of a few bytes is atomic on a pipe.
    if std::io::stderr().write_all(&ack.to_le_bytes()).is_err() {
        std::process::exit(0);
    }
    place.last.lock().expect("whole")[who as usize] = rba;
}
