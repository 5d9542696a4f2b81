//! Tests of [`FileSet`] on real files of the temporary directory.

use super::*;
use crate::file::Directory;
use crate::file::tests::Scratch;
use crate::queue::{flush, write_durable};

const EACH: u64 = 64 << 10;
const ECANCELED: i32 = 125;

fn set(scratch: &Scratch, files: usize, method: SyncMethod) -> Option<FileSet> {
    let paths: Vec<_> = (0..files)
        .map(|i| scratch.file(&format!("log{i}"), EACH))
        .collect();
    match FileSet::open(&paths, EACH, method) {
        Ok(set) => Some(set),
        Err(DeviceError::Unsuitable { what, .. }) if what.contains("O_DIRECT") => {
            println!("skipped: the temporary directory refuses O_DIRECT");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn write(id: u64, addr: u64, pieces: [(usize, usize); 2]) -> Op {
    let pieces = pieces.map(|(at, len)| Piece { at, len });
    let kind = OpKind::Write { addr, pieces };
    Op { id, kind }
}

fn run(queue: &mut dyn Queue, ops: &[Op]) -> Vec<Result<u64, i32>> {
    queue.submit(ops);
    let mut done = Vec::new();
    queue.poll(&mut done, true);
    assert!(done.iter().map(|c| c.id).eq(ops.iter().map(|o| o.id)));
    done.iter().map(|c| c.result.map_err(|f| f.errno)).collect()
}

#[test]
fn what_is_written_is_read_under_every_method() {
    for method in SyncMethod::ALL {
        let scratch = Scratch::new();
        let Some(set) = set(&scratch, 2, method) else {
            continue;
        };
        let bytes: Vec<u8> = (0..8192_u32).map(|i| (i >> 2) as u8 ^ i as u8).collect();
        write_durable(&set, 4096, &bytes).expect("writable");
        let mut back = vec![0; bytes.len()];
        set.read(4096, &mut back).expect("readable");
        assert!(back == bytes, "{method}");
        assert_eq!(set.bytes(), 2 * EACH);
    }
}

#[test]
fn reads_come_from_the_medium_where_the_file_system_lets_them() {
    use std::os::unix::fs::OpenOptionsExt;
    for method in SyncMethod::ALL {
        let scratch = Scratch::new();
        let Some(set) = set(&scratch, 1, method) else {
            continue;
        };
        let direct = rustix::fs::OFlags::DIRECT.bits();
        let path = scratch.0.join("log0");
        let mut options = std::fs::OpenOptions::new();
        let opened = options
            .read(true)
            .custom_flags(direct.cast_signed())
            .open(&path);
        if opened.is_err() {
            println!("skipped: the temporary directory refuses O_DIRECT");
            assert!(!set.reads_bypass_cache(), "{method}: it cannot");
            continue;
        }
        let mut back = vec![0; 4096];
        set.read(0, &mut back).expect("readable");
        assert!(set.reads_bypass_cache(), "{method}");
    }
}

#[test]
fn a_write_over_boundaries_is_divided() {
    // Address, pieces (a ring's end and start) in the region; checked byte for byte.
    let cases = [
        (EACH - 4096, [(0, 8192), (0, 0)]),
        (EACH - 4096, [(12_288, 4096), (0, 4096)]),
        (EACH - 8192, [(8192, 4096), (0, 8192)]),
        (4096, [(0, 4096), (8192, 2 * EACH as usize)]),
    ];
    for method in SyncMethod::ALL {
        for (addr, pieces) in cases {
            let scratch = Scratch::new();
            let Some(set) = set(&scratch, 3, method) else {
                continue;
            };
            let mut region = Region::new(4 * EACH as usize).expect("memory");
            let source: Vec<u8> = (0..region.len()).map(|i| (i % 251) as u8 + 1).collect();
            region.fill(0, &source);
            let region = Arc::new(region);
            let mut queue = set.queue(region).expect("queue");
            let op = write(7, addr, pieces);
            let flush = Op {
                id: 8,
                kind: OpKind::Flush,
            };
            let len = op.bytes() as u64;
            assert_eq!(run(&mut *queue, &[op, flush]), [Ok(len), Ok(0)]);
            let mut space = vec![0; set.bytes() as usize];
            set.read(0, &mut space).expect("readable");
            let mut expected = vec![0; space.len()];
            let [(a, n), (b, m)] = pieces;
            let written = [&source[a..a + n], &source[b..b + m]].concat();
            expected[addr as usize..][..written.len()].copy_from_slice(&written);
            assert!(space == expected, "{method} {addr} {pieces:?}");
        }
    }
}

#[test]
fn a_flush_covers_other_queues_and_only_files_with_writes() {
    let scratch = Scratch::new();
    let set = set(&scratch, 3, SyncMethod::Buffered).expect("no O_DIRECT needed");
    let region = Arc::new(Region::new(8192).expect("memory"));
    let mut writer = set.queue(Arc::clone(&region)).expect("queue");
    let mut flusher = set.queue(region).expect("queue");
    let states = |set: &FileSet| -> Vec<(u64, u64)> {
        let files = set.shared.files.iter();
        let load = |n: &AtomicU64| n.load(Ordering::Relaxed);
        files
            .map(|f| (load(&f.written), load(&f.flushed)))
            .collect()
    };
    run(&mut *writer, &[write(1, EACH, [(0, 512), (0, 0)])]);
    run(&mut *writer, &[write(2, EACH + 512, [(0, 512), (0, 0)])]);
    assert_eq!(states(&set), [(0, 0), (2, 0), (0, 0)]);
    flush(&mut *flusher).expect("flushes");
    assert_eq!(states(&set), [(0, 0), (2, 2), (0, 0)]);
    run(
        &mut *flusher,
        &[write(3, 2 * EACH - 256, [(0, 512), (0, 0)])],
    );
    assert_eq!(states(&set), [(0, 0), (3, 2), (1, 0)]);
    flush(&mut *writer).expect("flushes");
    assert_eq!(states(&set), [(0, 0), (3, 3), (1, 1)]);
}

#[test]
fn a_lost_flush_stays_lost_on_every_queue() {
    let scratch = Scratch::new();
    let set = set(&scratch, 2, SyncMethod::Buffered).expect("no O_DIRECT needed");
    let region = Arc::new(Region::new(4096).expect("memory"));
    let mut queue = set.queue(Arc::clone(&region)).expect("queue");
    // fdatasync of a pipe is refused: a failing flush without a failing disk.
    let (pipe, _other_end) = std::io::pipe().expect("pipe");
    let state = &set.shared.files[1];
    state.written.fetch_add(1, Ordering::Relaxed);
    assert_eq!(state.flush(&OwnedFd::from(pipe)), Err(Errno::INVAL));
    for queue in [&mut queue, &mut set.queue(region).expect("queue")] {
        let flush = |id| Op {
            id,
            kind: OpKind::Flush,
        };
        assert_eq!(run(&mut **queue, &[flush(1)]), [Err(5)]);
        assert_eq!(run(&mut **queue, &[flush(2)]), [Err(5)]);
    }
}

/// What a signal interrupted is asked for again, and only that.
#[test]
fn an_interrupted_call_is_repeated_until_it_says_something() {
    let answers = |answers: &[Result<u8, Errno>]| {
        let mut asked = 0;
        let result = uninterrupted(|| {
            asked += 1;
            answers[asked - 1]
        });
        (result, asked)
    };
    let interrupted = Err(Errno::INTR);
    assert_eq!(answers(&[Ok(1)]), (Ok(1), 1));
    assert_eq!(answers(&[interrupted, interrupted, Ok(1)]), (Ok(1), 3));
    for errno in [Errno::IO, Errno::NOSPC, Errno::DQUOT, Errno::AGAIN] {
        assert_eq!(answers(&[Err(errno), Ok(1)]), (Err(errno), 1));
        assert_eq!(answers(&[interrupted, Err(errno)]), (Err(errno), 2));
    }
}

/// A batch over a file boundary is durable only when both files are: a flush of it succeeds only
/// after both, whichever of them fails.
#[test]
fn a_flush_of_a_write_over_two_files_needs_both() {
    for bad in [None, Some(0), Some(1)] {
        let scratch = Scratch::new();
        let set = set(&scratch, 3, SyncMethod::Buffered).expect("no O_DIRECT needed");
        let region = Arc::new(Region::new(8192).expect("memory"));
        let (pipe, _other_end) = std::io::pipe().expect("pipe");
        let mut files = set.reopen().expect("open");
        let mut queue = FileQueue {
            files: set.reopen().expect("open"),
            _lock: None,
            shared: Arc::clone(&set.shared),
            region,
            done: Vec::new(),
        };
        let op = write(1, EACH - 4096, [(0, 8192), (0, 0)]);
        assert_eq!(run(&mut queue, &[op]), [Ok(8192)]);
        if let Some(bad) = bad {
            // fdatasync of a pipe is refused.
            files[bad] = pipe.into();
            queue.files = files;
        }
        let flush = Op {
            id: 2,
            kind: OpKind::Flush,
        };
        let result = run(&mut queue, &[flush]);
        let flushed = |file: &LogFile| file.flushed.load(Ordering::Relaxed);
        let flushed: Vec<u64> = set.shared.files.iter().map(flushed).collect();
        match bad {
            None => assert_eq!((result, flushed), (vec![Ok(0)], vec![1, 1, 0])),
            Some(bad) => {
                assert_eq!(result, [Err(22)], "file {bad}");
                assert_eq!(flushed[bad], 0);
            }
        }
    }
}

#[test]
fn the_rest_of_a_batch_is_cancelled_after_a_failure() {
    let scratch = Scratch::new();
    let set = set(&scratch, 1, SyncMethod::Buffered).expect("no O_DIRECT needed");
    let mut queue = set
        .queue(Arc::new(Region::new(4096).expect("memory")))
        .expect("queue");
    let outside = write(1, EACH - 256, [(0, 512), (0, 0)]);
    let inside = write(2, 0, [(0, 512), (0, 0)]);
    let flush = Op {
        id: 3,
        kind: OpKind::Flush,
    };
    let results = run(&mut *queue, &[outside, inside, flush]);
    assert_eq!(results, [Err(22), Err(ECANCELED), Err(ECANCELED)]);
    assert_eq!(run(&mut *queue, &[inside, flush]), [Ok(512), Ok(0)]);
    let wrapping = write(4, u64::MAX - 100, [(0, 512), (0, 0)]);
    assert_eq!(run(&mut *queue, &[wrapping]), [Err(22)]);
}

#[test]
fn a_flush_of_durable_writes_has_nothing_to_do() {
    for method in [SyncMethod::Dsync, SyncMethod::DirectDsync] {
        let scratch = Scratch::new();
        let Some(set) = set(&scratch, 1, method) else {
            continue;
        };
        assert!(set.caps().durable_writes);
        write_durable(&set, 0, &[7; 4096]).expect("writable");
        assert_eq!(set.shared.files[0].written.load(Ordering::Relaxed), 0);
        let mut back = [0; 4096];
        set.read(0, &mut back).expect("readable");
        assert_eq!(back, [7; 4096]);
    }
}

#[test]
fn unsuitable_files_and_ranges_are_refused() {
    let scratch = Scratch::new();
    let path = scratch.file("log", EACH);
    let paths = [path.clone()];
    for (paths, bytes) in [(&paths[..], EACH + 1), (&paths[..], 0), (&[][..], EACH)] {
        let refused = FileSet::open(paths, bytes, SyncMethod::Buffered);
        assert!(matches!(refused, Err(DeviceError::Unsuitable { .. })));
    }
    let set = FileSet::open(&paths, EACH, SyncMethod::Buffered).expect("suits");
    assert!(set.read(EACH - 1, &mut [0; 2]).is_err());
    assert!(set.read(u64::MAX, &mut [0; 2]).is_err());
    std::fs::rename(&path, scratch.0.join("moved")).expect("renamed");
    scratch.file("log", EACH);
    let region = Arc::new(Region::new(4096).expect("memory"));
    let refused = set.queue(region).err().expect("replaced");
    assert!(refused.to_string().contains("replaced"), "{refused}");
}

#[test]
fn a_set_to_be_read_is_never_written() {
    let scratch = Scratch::new();
    let path = scratch.file("log", 8192);
    let mut mode = std::fs::metadata(&path).expect("exists").permissions();
    mode.set_readonly(true);
    std::fs::set_permissions(&path, mode).expect("ours");
    let directory = Directory::open(&scratch.0).expect("opens");
    let set = FileSet::open_read_only_at(&directory, &["log"], 8192).expect("may be read");
    let mut out = [1; 100];
    set.read(8000, &mut out).expect("in range");
    assert_eq!(out, [0; 100]);
    let region = Arc::new(Region::new(4096).expect("memory"));
    let refused = set.queue(region).err().expect("no queue to write with");
    assert!(refused.to_string().contains("only to be read"), "{refused}");
}
