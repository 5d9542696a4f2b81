//! Logs with members, on real files and on devices that fail and are late: what is acknowledged,
//! which members are believed, and which words refuse what was given.

use crate::common::{SMALL, Scratch, options, until};
use device::fault::{EIO, Fault, FaultTarget, Injection};

use crate::places::{Places, commit, count, in_sync, named, open, refusal, says, try_open};
use redo::engine::Paths;
use redo::{ArchiveMode, Error, Log, LogWriter, MemberLayout, Rba, Recovery};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[test]
fn each_member_of_a_mirror_holds_the_log() {
    let places = Places::new(2);
    Places::create(places.mirror());
    let (log, _) = open(places.mirror());
    commit(&log, 0..50);
    drop(log);
    for lost in 0..2 {
        let left = Places::new(2);
        std::fs::remove_dir_all(left.path(lost)).expect("removed");
        let kept = left.path(1 - lost);
        for entry in std::fs::read_dir(places.path(1 - lost)).expect("a directory") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), kept.join(entry.file_name())).expect("copied");
        }
        let (log, recovery) = open(left.mirror().accept_loss(true));
        assert_eq!(count(&recovery), 50, "without member {lost}");
        assert_eq!(in_sync(&log), [lost != 0, lost != 1]);
        let notes = log.back_end().fallbacks.join("\n");
        assert!(notes.contains("is missing and stale now"), "{notes}");
    }
}

#[test]
fn a_member_that_fails_is_given_up_and_returns() {
    for cell in [1, 2] {
        for (target, failing) in [
            (FaultTarget::Write, 0),
            (FaultTarget::Flush, 1),
            (FaultTarget::Flush, 0),
        ] {
            let places = Places::new(2);
            Places::create(if cell == 1 {
                places.mirror()
            } else {
                places.race()
            });
            let devices = places.devices();
            let (log, _) = open(places.on_devices(&devices, cell));
            commit(&log, 0..20);
            devices[failing].inject(Injection {
                target,
                nth: devices[failing]
                    .counts()
                    .writes
                    .max(devices[failing].counts().flushes),
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            commit(&log, 20..60);
            until("the member is given up", || {
                commit(&log, 0..0);
                !in_sync(&log)[failing]
            });
            assert!(in_sync(&log)[1 - failing], "the other one is left");
            // The power: nothing is closed.
            drop(log);
            devices[failing].heal();
            let (log, recovery) = open(places.on_devices(&devices, cell));
            assert_eq!(count(&recovery), 60, "{target:?} of member {failing}");
            assert_eq!(in_sync(&log), [true, true], "it was copied whole");
            drop(log);
            // It has everything: the other one is lost.
            let lost = 1 - failing;
            let only = places.path(lost);
            std::fs::rename(&only, only.with_extension("lost")).expect("renamed");
            let layout = if cell == 1 {
                places.mirror()
            } else {
                places.race()
            };
            let (_, recovery) = open(layout.accept_loss(true));
            assert_eq!(
                count(&recovery),
                60,
                "{target:?} of member {failing}, then {lost}"
            );
        }
    }
}

#[test]
fn when_all_members_fail_nothing_is_acknowledged_any_more() {
    let places = Places::new(2);
    Places::create(places.mirror());
    let devices = places.devices();
    let (log, _) = open(places.on_devices(&devices, 1));
    commit(&log, 0..20);
    for device in &devices {
        device.inject(Injection {
            target: FaultTarget::Flush,
            nth: device.counts().flushes,
            fault: Fault::Errno(EIO),
            for_good: true,
        });
    }
    let mut session = log.session();
    let failed = crate::common::commit(&mut session, 0, 20).expect_err("no member is left");
    assert!(matches!(failed, Error::Poisoned { .. }), "{failed}");
    drop((session, log));
    let (log, recovery) = open(places.mirror());
    assert!(count(&recovery) >= 20);
    drop(log);
}

#[test]
fn a_race_waits_for_the_first_and_a_mirror_for_all() {
    // A race is over long before its late member, on a busy machine too.
    for (cell, race, late_ms) in [(2, true, 300), (1, false, 30)] {
        let delay = Duration::from_millis(late_ms);
        for late in 0..2 {
            let places = Places::new(2);
            Places::create(if race { places.race() } else { places.mirror() });
            let devices = places.devices();
            for log_writer in [LogWriter::Auto, LogWriter::Inline, LogWriter::Lgwr] {
                let options = options().log_writer(log_writer);
                let layout = places.on_devices(&devices, cell);
                let builder = Log::builder(layout).options(options);
                let (log, _) = builder.open().expect("a log with members");
                devices[late].set_delay(delay);
                let begun = Instant::now();
                commit(&log, 0..10);
                let took = begun.elapsed();
                devices[late].set_delay(Duration::ZERO);
                let states = log.members();
                let windows = [states[0].window_bytes, states[1].window_bytes];
                assert_eq!(took < 10 * delay, race, "{log_writer}: {took:?}");
                assert_eq!(windows[late] > 0, race, "{log_writer}: {windows:?}");
                if race {
                    assert!(states[1 - late].first >= 10, "{log_writer}: {states:?}");
                }
                assert_eq!(in_sync(&log), [true, true]);
                log.checkpoint(log.durable()).expect("durable");
                log.close().expect("closed");
            }
            let (_, recovery) = open(places.on_devices(&devices, cell));
            assert_eq!(recovery.scan().records, 0, "all is behind the checkpoint");
        }
    }
}

#[test]
fn late_members_catch_up_before_a_log_is_closed() {
    let places = Places::new(2);
    Places::create(places.race());
    let devices = places.devices();
    let (log, _) = open(places.on_devices(&devices, 2));
    devices[1].set_delay(Duration::from_millis(20));
    commit(&log, 0..10);
    log.close().expect("closed");
    let leader = places.path(0);
    std::fs::rename(&leader, leader.with_extension("lost")).expect("renamed");
    let (_, recovery) = open(places.race().accept_loss(true));
    assert_eq!(count(&recovery), 10);
}

#[test]
fn members_in_another_order_open() {
    let places = Places::new(2);
    Places::create(places.race());
    let (log, _) = open(places.race());
    commit(&log, 0..10);
    drop(log);
    let turned = [places.path(1), places.path(0)];
    let layout = MemberLayout::race(&turned).force_same_device(true);
    let (log, recovery) = open(layout);
    assert_eq!(count(&recovery), 10);
    let paths: Vec<PathBuf> = log.members().into_iter().map(|m| m.path).collect();
    assert_eq!(paths, places.paths());
}

#[test]
fn a_mirror_of_races_survives_the_loss_of_a_cell() {
    let places = Places::new(4);
    let cells = || {
        let cells = [[0, 1], [2, 3]].map(|cell| cell.map(|member| places.path(member)));
        MemberLayout::mirror_of_races(cells).force_same_device(true)
    };
    Places::create(cells());
    let (log, _) = open(cells());
    commit(&log, 0..40);
    drop(log);
    for member in [0, 1] {
        std::fs::remove_dir_all(places.path(member)).expect("removed");
    }
    let (log, recovery) = open(cells().accept_loss(true));
    assert_eq!(count(&recovery), 40);
    assert_eq!(in_sync(&log), [false, false, true, true]);
}

#[test]
fn what_is_not_the_members_of_one_log_is_refused_by_name() {
    let places = Places::new(2);
    Places::create(places.mirror());
    commit(&open(places.mirror()).0, 0..5);
    let (first, second) = (places.path(0), places.path(1));
    // On one disk.
    let text = try_open(MemberLayout::mirror([&first, &second])).map(|_| ());
    let text = text.expect_err("one disk").to_string();
    assert!(
        text.contains("--force-same-device") && text.contains(&named(&second)),
        "{text}"
    );
    // Alone, and twice.
    let alone = Log::builder(&first)
        .open()
        .expect_err("a member")
        .to_string();
    assert!(
        alone.contains("member 1 of a log with 2 members"),
        "{alone}"
    );
    says(
        MemberLayout::mirror([&first, &first]),
        &["give each member once"],
    );
    // As something else.
    says(places.race(), &["a mirror of 2 members, not of a race"]);
    // Of another log.
    let others = Places::new(2);
    Places::create(others.mirror());
    let other = others.path(1);
    says(
        MemberLayout::mirror([&first, &other]),
        &["not a member of the log", &named(&other)],
    );
    let single = Scratch::with_log();
    says(
        MemberLayout::mirror([&first, &single.0]),
        &["not a member", &named(&single.0)],
    );
    // In use.
    let (log, _) = open(places.mirror());
    says(places.mirror(), &["in use", &named(&first)]);
    drop(log);
}

#[test]
fn members_that_are_missing_cut_or_old_are_refused_by_name() {
    let places = Places::new(2);
    Places::create(places.mirror());
    commit(&open(places.mirror()).0, 0..5);
    let (first, second) = (places.path(0), places.path(1));
    // Not there.
    let nowhere = places.scratch.0.join("nowhere");
    says(
        MemberLayout::mirror([&first, &nowhere]),
        &[
            "member 2 of the 2 is missing",
            "accept the loss",
            "after the log had given them up",
            "proves redo up to RBA",
            " ago)",
            &named(&nowhere),
        ],
    );
    // Smaller: a log file was cut.
    let cut = Paths::new(&second).logs(SMALL.groups).remove(0);
    let whole = std::fs::read(&cut).expect("a log file");
    std::fs::write(&cut, &whole[..whole.len() / 2]).expect("cut");
    says(
        places.mirror(),
        &["member 2 of the 2 is missing", &named(&cut)],
    );
    std::fs::write(&cut, &whole).expect("whole again");
    // Older: it was restored from before the last opening.
    let control = Paths::new(&second).control();
    let older = std::fs::read(&control).expect("control information");
    for _ in 0..4 {
        commit(&open(places.mirror()).0, 0..1);
    }
    let newer = std::fs::read(&control).expect("control information");
    std::fs::write(&control, &older).expect("restored");
    says(places.mirror(), &["older copy", &named(&second)]);
    std::fs::write(&control, &newer).expect("as it was");
    open(places.mirror());
}

#[test]
fn a_member_that_was_used_alone_is_not_believed_beside_the_other() {
    let places = Places::new(2);
    Places::create(places.mirror());
    commit(&open(places.mirror()).0, 0..5);
    let (first, second) = (places.path(0), places.path(1));
    let away = |path: &Path| path.with_extension("away");
    let alone = |kept: &Path, lost: &Path| {
        std::fs::rename(lost, away(lost)).expect("renamed");
        let (log, recovery) = open(places.mirror().accept_loss(true));
        let found = count(&recovery) as u32;
        commit(&log, found..found + 3);
        drop(log);
        std::fs::rename(away(lost), lost).expect("renamed");
        assert!(kept.exists());
    };
    alone(&first, &second);
    // The second was marked stale on the first: it is copied whole.
    let (log, recovery) = open(places.mirror());
    assert_eq!(count(&recovery), 8);
    assert_eq!(in_sync(&log), [true, true]);
    drop(log);
    // Each was used alone: what one of them acknowledged would be lost without a word.
    alone(&first, &second);
    std::fs::rename(&first, away(&first)).expect("renamed");
    for _ in 0..2 {
        let (log, recovery) = open(places.mirror().accept_loss(true));
        assert_eq!(count(&recovery), 8, "what the first had alone is given up");
        drop(log);
    }
    std::fs::rename(away(&first), &first).expect("renamed");
    let apart = refusal(places.mirror());
    assert!(apart.contains("each used without the other"), "{apart}");
    let (_, recovery) = open(places.mirror().accept_loss(true));
    assert_eq!(count(&recovery), 8, "of the one that was opened more often");
}

#[test]
fn a_member_whose_files_vanish_is_given_up_at_the_next_checkpoint() {
    let places = Places::new(2);
    Places::create(places.mirror());
    let (log, _) = open(places.mirror());
    commit(&log, 0..5);
    for file in Paths::new(places.path(1)).logs(SMALL.groups) {
        std::fs::remove_file(file).expect("removed");
    }
    log.checkpoint(log.durable())
        .expect("the other one is there");
    commit(&log, 5..10);
    assert_eq!(in_sync(&log), [true, false]);
    for file in Paths::new(places.path(0)).logs(SMALL.groups) {
        std::fs::remove_file(file).expect("removed");
    }
    let failed = log.checkpoint(log.durable()).expect_err("none is left");
    assert!(failed.to_string().contains("removed"), "{failed}");
}

/// The numbers of the records that are kept from here on, and the position behind each.
fn kept(log: &Log, from: Rba) -> Vec<(u32, Rba)> {
    let records = log.read_from(from).expect("kept");
    let records = records.map(|record| record.expect("readable"));
    let each = records.map(|record| (crate::common::whose(&record.bytes).1, record.next));
    each.collect()
}

/// Archive mode with members: redo that the checkpoint has passed and that is not archived is kept
/// through the loss of a member, and is on the one that returns.
#[test]
fn what_is_not_archived_outlives_the_loss_and_the_return_of_a_member() {
    for (race, lost) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
        let places = Places::new(2);
        let layout = || if race { places.race() } else { places.mirror() };
        Places::create(layout());
        let position = |log: &Log| log.archive_position().expect("open").expect("archive mode");
        // Archives ten more of the records that are not archived, which begin with this one.
        let archive_ten = |log: &Log, first: u32| {
            let kept = kept(log, position(log));
            let numbers: Vec<u32> = kept.iter().map(|(which, _)| *which).collect();
            assert_eq!(numbers.first(), Some(&first), "race: {race}, {lost} lost");
            assert!(numbers.is_sorted());
            log.archived(kept[9].1).expect("durable");
            (position(log), numbers.last().map_or(0, |last| last + 1))
        };
        let ways = options().archive_mode(ArchiveMode::On);
        let opened = Log::builder(layout()).options(ways).open();
        let (log, _) = opened.expect("a new log");
        commit(&log, 0..30);
        log.checkpoint(log.durable()).expect("durable");
        let (archived, next) = archive_ten(&log, 0);
        assert_eq!(next, 30);
        commit(&log, 30..40);
        log.close().expect("nothing failed");
        // One is lost: the other one knows what was archived, and has what was not.
        let (gone, left) = (places.path(lost), places.path(1 - lost));
        let away = |path: &Path| path.with_extension("away");
        std::fs::rename(&gone, away(&gone)).expect("renamed");
        let (log, recovery) = open(layout().accept_loss(true));
        assert_eq!(recovery.scan().records, 10, "behind the checkpoint");
        assert_eq!(position(&log), archived);
        let (archived, next) = archive_ten(&log, 10);
        assert_eq!(next, 40);
        commit(&log, 40..50);
        log.checkpoint(log.durable()).expect("durable");
        drop(log);
        // It returns.
        std::fs::rename(away(&gone), &gone).expect("renamed");
        let (log, _) = open(layout());
        assert_eq!(in_sync(&log), [true, true]);
        let notes = log.back_end().fallbacks.join("\n");
        assert!(notes.contains("was copied whole"), "{notes}");
        assert_eq!(position(&log), archived);
        log.close().expect("nothing failed");
        // It has everything, alone.
        std::fs::rename(&left, away(&left)).expect("renamed");
        let (log, _) = open(layout().accept_loss(true));
        assert_eq!(position(&log), archived);
        let (_, next) = archive_ten(&log, 20);
        assert_eq!(next, 50);
    }
}

/// A log's members by what they are: so many, so many per cell.
fn layout_of(places: &Places, cell: usize) -> MemberLayout {
    let paths = places.paths();
    let layout = match cell {
        1 => MemberLayout::mirror(paths),
        _ if cell == places.count => MemberLayout::race(paths),
        _ => MemberLayout::mirror_of_races(paths.chunks(cell).map(<[_]>::to_vec)),
    };
    layout.force_same_device(true)
}

/// The number of the last record, where all that were recovered follow each other.
fn last_record(recovery: &Recovery) -> u32 {
    let mut last: Option<u32> = None;
    let read = recovery.recover(|rba, bytes| {
        let (_, number) = crate::common::whose(bytes);
        assert!(last.is_none_or(|last| last + 1 == number), "{rba}");
        last = Some(number);
        Ok::<(), Error>(())
    });
    read.expect("what was recovered is readable");
    last.expect("there are records behind the checkpoint")
}

fn copy_directory(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("copied");
    }
}

#[test]
fn a_member_that_was_given_up_returns_while_the_log_is_in_use() {
    for (count, cell) in [(2, 1), (2, 2), (3, 1), (4, 2)] {
        let places = Places::new(count);
        Places::create(layout_of(&places, cell));
        let devices = places.devices();
        let layout = places.on_devices(&devices, cell);
        let options = options().member_retry(Some(Duration::from_millis(2)));
        let (log, _) = Log::builder(layout).options(options).open().expect("a log");
        let mut session = log.session();
        let mut number = 0;
        let mut commit = |log: &Log| {
            crate::common::commit(&mut session, 0, number).expect("acknowledged");
            number += 1;
            if number % 50 == 0 {
                log.checkpoint(log.durable()).expect("durable");
            }
            number
        };
        for round in 0..2 * count {
            let failing = &devices[round % count];
            let target = [FaultTarget::Write, FaultTarget::Flush][round / count];
            failing.inject(Injection {
                target,
                nth: 0,
                fault: Fault::Errno(EIO),
                for_good: true,
            });
            until("it is given up", || {
                commit(&log);
                !in_sync(&log)[round % count]
            });
            failing.heal();
            until("it has returned", || {
                commit(&log);
                in_sync(&log)[round % count]
            });
        }
        // The last ten are behind no checkpoint.
        while commit(&log) % 50 != 10 {}
        drop((session, log));
        // Each cell alone has everything.
        for kept in 0..count / cell {
            let left = Places::new(count);
            for member in 0..count {
                if member / cell == kept {
                    copy_directory(&places.path(member), &left.path(member));
                } else {
                    std::fs::remove_dir_all(left.path(member)).expect("removed");
                }
            }
            let layout = layout_of(&left, cell).accept_loss(true);
            let last = last_record(&open(layout).1);
            assert_eq!(
                last,
                number - 1,
                "{count} members in cells of {cell}, cell {kept}"
            );
        }
    }
}

#[test]
fn a_mirror_waits_for_a_member_as_long_as_its_patience_lasts() {
    let places = Places::new(2);
    Places::create(places.mirror());
    let devices = places.devices();
    let patience = Duration::from_millis(200);
    let options = options().member_patience(patience).member_retry(None);
    let builder = Log::builder(places.on_devices(&devices, 1)).options(options);
    let (log, _) = builder.open().expect("a log");
    commit(&log, 0..10);
    assert_eq!(in_sync(&log), [true, true]);
    devices[1].set_delay(Duration::from_secs(3));
    let begun = Instant::now();
    commit(&log, 10..20);
    assert!(begun.elapsed() >= patience, "it was waited for");
    assert_eq!(in_sync(&log), [true, false]);
    devices[1].set_delay(Duration::ZERO);
    log.close().expect("closed");
    let (log, recovery) = open(places.on_devices(&devices, 1));
    assert_eq!(count(&recovery), 20);
    log.close().expect("closed");
    // Both are slow: none is given up for it, and nothing is acknowledged sooner.
    let options = crate::common::options().member_patience(Duration::from_millis(20));
    let builder = Log::builder(places.on_devices(&devices, 1)).options(options);
    let (log, _) = builder.open().expect("a log");
    let late = Duration::from_millis(100);
    devices.iter().for_each(|device| device.set_delay(late));
    let begun = Instant::now();
    commit(&log, 20..21);
    assert!(begun.elapsed() >= late);
    assert!(in_sync(&log).contains(&true));
    devices
        .iter()
        .for_each(|device| device.set_delay(Duration::ZERO));
}
