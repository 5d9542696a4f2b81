//! Logs in a stripe over several directories: what is written comes back whatever the order of the
//! directories, what is not the whole stripe of one log is refused by name, and what was
//! acknowledged is on every device after a power cut.

use crate::common::{SMALL, Scratch, assert_prefixes, commit, open_with, options, record};
use device::sim_disk::CrashMix;
use device::{LogDevice, SimDisk};
use redo::engine::{Paths, stripe::stripe_file_bytes};
use redo::{CommitMode, Error, IoEngine, Layout, Log, LogWriter, Rba, Shape};
use redo::{StripeWidth, StripedDevice};
use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directories in one scratch directory.
fn directories(scratch: &Scratch, count: usize) -> Vec<PathBuf> {
    let each = (1..=count).map(|n| scratch.0.join(format!("u{n:02}")));
    each.inspect(|path| std::fs::create_dir(path).expect("a fresh directory"))
        .collect()
}

fn layout(directories: &[PathBuf], width: StripeWidth) -> Layout {
    Layout::stripe(directories, width).expect("they are there")
}

fn create(directories: &[PathBuf], width: StripeWidth) -> Result<(), Error> {
    let builder = Log::builder(layout(directories, width)).shape(SMALL);
    builder.create().map(drop)
}

fn refused(directories: &[PathBuf]) -> String {
    let opened = open_with(layout(directories, StripeWidth::Fine), options());
    opened.expect_err("refused").to_string()
}

fn records_of(layout: Layout) -> Vec<(Rba, Vec<u8>)> {
    let (_log, recovery) = open_with(layout, options()).expect("the log opens");
    let mut records = Vec::new();
    let each = |rba, bytes: &[u8]| {
        records.push((rba, bytes.to_vec()));
        Ok::<(), Error>(())
    };
    recovery.recover(each).expect("readable");
    records
}

fn file(directory: &Path) -> PathBuf {
    directory.join(Paths::STRIPE)
}

fn overwrite(path: &Path, at: u64, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(path);
    file.expect("there")
        .write_all_at(bytes, at)
        .expect("writable");
}

/// With every log writer and both engines; commits of one block, and one of many devices.
#[test]
fn what_was_committed_comes_back_in_any_order_of_directories() {
    for (count, width, log_writer, io) in [
        (2, StripeWidth::Fine, LogWriter::Inline, IoEngine::Threads),
        (3, StripeWidth::Fine, LogWriter::Lgwr, IoEngine::Threads),
        (4, StripeWidth::Coarse, LogWriter::Auto, IoEngine::Threads),
        (
            3,
            StripeWidth::Fine,
            LogWriter::Workers(3),
            IoEngine::Threads,
        ),
        (2, StripeWidth::Fine, LogWriter::Lgwr, IoEngine::IoUring),
        (
            3,
            StripeWidth::Fine,
            LogWriter::Workers(2),
            IoEngine::IoUring,
        ),
    ] {
        let scratch = Scratch::new();
        let mut all = directories(&scratch, count);
        create(&all, width).expect("a new log");
        for path in &all {
            let bytes = std::fs::metadata(file(path)).expect("there").len();
            assert_eq!(bytes, stripe_file_bytes(&SMALL, count, width));
        }
        let mut acknowledged = 0;
        for round in 0..3 {
            let ways = options().log_writer(log_writer).io(io);
            let (log, _) = open_with(layout(&all, width), ways).expect("the log opens");
            let mut session = log.session();
            for _ in 0..20 {
                commit(&mut session, 0, acknowledged).expect("durable");
                acknowledged += 1;
            }
            // Several devices at once.
            for _ in 0..400 {
                session
                    .append(&[&record(0, acknowledged)])
                    .expect("appended");
                acknowledged += 1;
            }
            session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
            match round {
                0 => log.close().expect("nothing failed"),
                _ => drop((session, log)),
            }
            all.rotate_left(1);
            assert_prefixes(
                &records_of(layout(&all, StripeWidth::Coarse)),
                &[acknowledged],
            );
        }
    }
}

#[test]
fn what_is_not_the_whole_stripe_of_one_log_is_refused_by_name() {
    let scratch = Scratch::new();
    let all = directories(&scratch, 4);
    let (stripe, other) = (&all[..3], &all[3]);
    create(stripe, StripeWidth::Fine).expect("a new log");
    let files = || {
        stripe
            .iter()
            .map(|path| std::fs::read(file(path)).expect("there"))
    };
    let before: Vec<Vec<u8>> = files().collect();
    let expect = |given: &[&PathBuf], words: &[&str]| {
        let given: Vec<PathBuf> = given.iter().map(|path| (*path).clone()).collect();
        let text = refused(&given);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    let [one, two, three] = [&all[0], &all[1], &all[2]];
    expect(
        &[one, three],
        &["u01", "has 3 files, and 2 were given; number 2 is missing"],
    );
    expect(&[one], &["name from 2 to 32"]);
    expect(&[one, two, one], &["u01: this directory is named twice"]);
    expect(&[one, two, other], &["u04", "no stripe file"]);
    std::fs::copy(file(one), file(other)).expect("copied");
    expect(
        &[one, two, other],
        &["u01", "is number 1 of its stripe", "copied"],
    );
    std::fs::remove_file(file(other)).expect("removed");
    // Another log's file of the same number.
    let more = Scratch::new();
    let others = directories(&more, 3);
    create(&others, StripeWidth::Fine).expect("a new log");
    expect(
        &[one, two, &others[2]],
        &["u03", "belongs to another log than", "u01"],
    );
    // Alone it is no log.
    let alone = open_with(Layout::directory(two), options()).expect_err("refused");
    assert!(
        alone.to_string().contains("a part of a striped log"),
        "{alone}"
    );
    assert!(files().eq(before), "refusing changes nothing");
    // In use.
    let held = open_with(layout(stripe, StripeWidth::Fine), options()).expect("opens");
    assert!(refused(stripe).contains("in use"), "{}", refused(stripe));
    drop(held);
    let taken = create(stripe, StripeWidth::Fine)
        .expect_err("a log is there")
        .to_string();
    assert!(
        taken.contains("u01/redo.stripe: there is a redo log"),
        "{taken}"
    );
}

#[test]
fn damaged_headers_and_sizes_are_refused() {
    let scratch = Scratch::new();
    let all = directories(&scratch, 2);
    create(&all, StripeWidth::Fine).expect("a new log");
    let second = file(&all[1]);
    let whole = std::fs::read(&second).expect("there");
    for (at, byte, words) in [
        (0, b'X', "u02/redo.stripe: not a redolab log file"),
        (8, 9, "format version 9"),
        (30, 9, "its stripe header is damaged"),
    ] {
        overwrite(&second, at, &[byte]);
        assert!(refused(&all).contains(words), "{}", refused(&all));
        overwrite(&second, at, &whole[at as usize..=at as usize]);
    }
    let cut = std::fs::OpenOptions::new()
        .write(true)
        .open(&second)
        .expect("there");
    cut.set_len(whole.len() as u64 - 4096).expect("cut");
    assert!(
        refused(&all).contains("u02/redo.stripe: has"),
        "{}",
        refused(&all)
    );
    cut.set_len(10).expect("cut");
    assert!(
        refused(&all).contains("not a redolab log file"),
        "{}",
        refused(&all)
    );
    std::fs::write(&second, &whole).expect("restored");
    assert!(records_of(layout(&all, StripeWidth::Fine)).is_empty());
}

#[test]
fn what_an_interrupted_creation_left_is_removed_where_that_is_proven() {
    let scratch = Scratch::new();
    let all = directories(&scratch, 2);
    let names = || {
        let each = all
            .iter()
            .flat_map(|path| std::fs::read_dir(path).expect("there"));
        each.map(|entry| entry.expect("listed").file_name())
            .collect::<Vec<_>>()
    };
    for at in [0, 1] {
        let asked = std::cell::Cell::new(0);
        let cancel = || asked.replace(asked.get() + 1) == at;
        let builder = Log::builder(layout(&all, StripeWidth::Fine)).shape(SMALL);
        builder
            .cancel(cancel)
            .create()
            .map(drop)
            .expect_err("cancelled");
        assert!(names().is_empty(), "{:?}", names());
    }
    let left = all[1].join(Paths::UNFINISHED_STRIPE);
    std::fs::write(&left, b"redolab: a stripe file in the making\nnoise").expect("written");
    assert!(refused(&all).contains("u01"), "{}", refused(&all));
    std::fs::rename(&left, all[0].join(Paths::UNFINISHED_STRIPE)).expect("moved");
    assert!(
        refused(&all).contains("was interrupted"),
        "{}",
        refused(&all)
    );
    create(&all, StripeWidth::Fine).expect("what was left is removed");
    assert_eq!(names(), [Paths::STRIPE, Paths::STRIPE]);
    // A file with a header and the first name: nobody knows whether it was in use.
    std::fs::rename(file(&all[1]), &left).expect("renamed");
    for text in [
        refused(&all),
        create(&all, StripeWidth::Fine)
            .expect_err("refused")
            .to_string(),
    ] {
        assert!(text.contains("rename it to redo.stripe"), "{text}");
    }
    std::fs::write(&left, b"somebody's").expect("written");
    std::fs::remove_file(file(&all[0])).expect("removed");
    let foreign = create(&all, StripeWidth::Fine)
        .expect_err("refused")
        .to_string();
    assert!(foreign.contains("is in the way"), "{foreign}");
}

/// Power fails after each acknowledgement, on every disk for itself. Returns how many commits were
/// missing once.
fn missing_after_cuts(seed: u64, skips: Option<usize>) -> u32 {
    let shape = Shape::new()
        .block_bytes(Some(4096))
        .groups(2)
        .file_bytes(1 << 20);
    let disks: Vec<SimDisk> = (0..3).map(|_| SimDisk::new(3 << 20, 4096, false)).collect();
    disks.iter().for_each(|disk| disk.set_immediate(true));
    let over = |disks: &[SimDisk], skips| -> Layout {
        let each = disks
            .iter()
            .map(|disk| Arc::new(disk.clone()) as Arc<dyn LogDevice>);
        let stripe =
            StripedDevice::with_planted(each.collect(), StripeWidth::Fine, "stripe", skips);
        Layout::space(Arc::new(stripe.expect("fits")), "stripe")
    };
    Log::builder(over(&disks, None))
        .shape(shape)
        .create()
        .expect("a new log");
    let ways = options().log_writer(LogWriter::Inline);
    let (log, _) = open_with(over(&disks, skips), ways).expect("the log opens");
    let mut session = log.session();
    let (mut which, mut rng) = (0, seed);
    for round in 0..12 {
        // From one block to more than two stripe widths.
        for _ in 0..1 + round * 80 {
            session.append(&[&record(0, which)]).expect("appended");
            which += 1;
        }
        session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
        let cut = |disk: &SimDisk| {
            let crash = disk.crash(&mut rng, &CrashMix::default());
            let disk = disk.after_crash(crash.image);
            disk.set_immediate(true);
            disk
        };
        let left: Vec<SimDisk> = disks.iter().map(cut).collect();
        let Ok((after, recovery)) = open_with(over(&left, None), options()) else {
            return which;
        };
        let mut found = BTreeMap::new();
        let each = |rba: Rba, bytes: &[u8]| {
            found.insert(rba, bytes.to_vec());
            Ok::<(), Error>(())
        };
        if recovery.recover(each).is_err() || (found.len() as u32) < which {
            return which - found.len() as u32;
        }
        drop(after);
        assert_prefixes(&found.into_iter().collect::<Vec<_>>(), &[which]);
    }
    0
}

#[test]
fn what_was_acknowledged_survives_a_power_cut_on_every_disk() {
    for seed in 1..=6 {
        assert_eq!(missing_after_cuts(seed, None), 0, "seed {seed}");
    }
}

#[test]
fn a_stripe_that_leaves_a_flush_out_loses_commits() {
    for disk in 0..3 {
        let lost = (1..=6).any(|seed| missing_after_cuts(seed, Some(disk)) > 0);
        assert!(lost, "disk {disk}");
    }
}
