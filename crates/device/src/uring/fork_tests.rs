//! Children of fork and the memory of rings: they don't have it, and the parent's writes stay right
//! while there are some.

use super::*;
use crate::file::SyncMethod;
use crate::file::tests::Scratch;
use crate::queue::{OpKind, Piece, flush};
use crate::region::{PAGE_BYTES, RegionOptions};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

const BYTES: usize = 64 << 10;
/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn device(scratch: &Scratch) -> Option<UringFiles> {
    let options = UringOptions::default();
    if let Err(refused) = options.check() {
        println!("skipped: {refused}");
        return None;
    }
    let path = scratch.file("log", 4 * BYTES as u64);
    let set = FileSet::open(&[path], 4 * BYTES as u64, SyncMethod::Buffered).expect("opens");
    Some(UringFiles::new(set, options))
}

/// The flags of the mapping that holds an address, as smaps lists them.
fn flags_of(address: usize) -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/smaps").expect("readable");
    let mut inside = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|f| f.split_once('-'));
        let hex = |text| usize::from_str_radix(text, 16);
        if let Some((Ok(from), Ok(to))) = range.map(|(from, to)| (hex(from), hex(to))) {
            inside = (from..to).contains(&address);
        }
        if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
            return flags.split_whitespace().map(str::to_owned).collect();
        }
    }
    panic!("{address:x} is not mapped");
}

#[test]
fn a_registered_region_is_kept_from_children() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    for len in [4096, 3 << 20] {
        let region = Region::with(len, RegionOptions::default()).expect("memory");
        let region = Arc::new(region);
        let ends = [region.base() as usize, region.base() as usize + len - 1];
        let kept = |at: &usize| flags_of(*at).iter().any(|flag| flag == "dc");
        assert!(!ends.iter().any(kept), "not before it is registered");
        let queue = device.queue(Arc::clone(&region)).expect("queue");
        if queue.notes().iter().any(|n| n.contains("fixed buffer")) {
            println!("skipped: {:?}", queue.notes());
            return;
        }
        assert!(ends.iter().all(kept), "{len}");
    }
}

/// Two words that parent and child share.
struct Words(*mut AtomicU32);

impl Words {
    fn new() -> Words {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let anywhere = std::ptr::null_mut();
        // SAFETY: a fresh mapping aliases nothing; it is never unmapped.
        let words = unsafe {
            rustix::mm::mmap_anonymous(anywhere, PAGE_BYTES, protection, MapFlags::SHARED)
        };
        Words(words.expect("a page").cast())
    }

    fn at(&self, number: usize) -> &'static AtomicU32 {
        assert!(number < 2);
        // SAFETY: in the mapping, which stays; zero is a value of it.
        unsafe { &*self.0.add(number) }
    }
}

/// Waits in steps until `word` is set; false when it takes too long. Allocates nothing, so that a
/// child may call it.
fn await_set(word: &AtomicU32) -> bool {
    let start = Instant::now();
    while word.load(Ordering::SeqCst) == 0 {
        if start.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

fn write(id: u64, half: usize) -> Op {
    let (at, len) = (half * BYTES / 2, BYTES / 2);
    let kind = OpKind::Write {
        addr: at as u64,
        pieces: [Piece { at, len }, Piece::default()],
    };
    Op { id, kind }
}

/// A child lives between fork and exec while the parent changes its memory and writes it.
#[test]
fn what_is_written_while_a_child_lives_is_what_the_parent_has() {
    let scratch = Scratch::new();
    let Some(device) = device(&scratch) else {
        return;
    };
    let region = Arc::new(Region::holding(&[1; BYTES]).expect("memory"));
    let mut queue = device.queue(Arc::clone(&region)).expect("queue");
    let words = Words::new();
    let (forked, written) = (words.at(0), words.at(1));
    let base = region.base() as usize;
    let mut command = Command::new("true");
    command.stdin(Stdio::null());
    let child = move || {
        forked.store(1, Ordering::SeqCst);
        if !await_set(written) {
            return Err(Errno::TIMEDOUT.into());
        }
        let page = std::ptr::with_exposed_provenance_mut(base);
        // SAFETY: advice that changes nothing, in the child, on what may not be there.
        match unsafe { rustix::mm::madvise(page, PAGE_BYTES, Advice::Normal) } {
            Err(Errno::NOMEM) => Ok(()),
            _ => Err(Errno::EXIST.into()),
        }
    };
    // SAFETY: the closure makes system calls on memory that is there and allocates nothing.
    unsafe { command.pre_exec(child) };
    // In flight while the process is forked.
    queue.submit(&[write(1, 0)]);
    let starter = std::thread::spawn(move || command.status());
    assert!(await_set(forked), "the child has begun");
    // SAFETY: this half is in no write that is in flight, and no other thread has the region.
    unsafe { region.write(BYTES / 2, &[2; BYTES / 2]) };
    queue.submit(&[write(2, 1)]);
    let mut done = Vec::new();
    while done.len() < 2 {
        assert!(queue.poll(&mut done, true) > 0, "something is in flight");
    }
    flush(&mut *queue).expect("flushes");
    written.store(1, Ordering::SeqCst);
    let ended = starter
        .join()
        .expect("no panic")
        .expect("the child has no such memory");
    assert!(ended.success());
    let mut back = vec![0; BYTES];
    device.read(0, &mut back).expect("readable");
    let (first, second) = back.split_at(BYTES / 2);
    assert!(first.iter().all(|b| *b == 1) && second.iter().all(|b| *b == 2));
    assert!(done.iter().all(|c| c.result == Ok(BYTES as u64 / 2)));
}
