//! What an inspection shows of a log: its files, the copies of its control information, and every
//! block of every group, also those that recovery does not read.

use crate::common::{SMALL, Scratch, commit, open, options};
use redo::Triggers;
use redo::engine::{GroupSurvey, Inspection, UNSOUND_LISTED};
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// Commits `records` records, each in a block of its own, and takes a checkpoint at each tenth.
fn filled(records: u64) -> Scratch {
    let scratch = Scratch::with_log();
    let log = open(&scratch.0);
    let mut session = log.session();
    for which in 0..records {
        let rba = commit(&mut session, 0, which as u32).expect("durable");
        if which % 10 == 9 {
            log.checkpoint(rba).expect("it is durable");
        }
    }
    log.close().expect("nothing failed");
    scratch
}

/// The survey, and how many bytes were reported as read in the end.
fn survey(log: &Inspection) -> (Vec<GroupSurvey>, u64) {
    let read = std::cell::Cell::new(0);
    let survey = log.survey(&|bytes| {
        assert!(bytes > read.get(), "the count grows");
        read.set(bytes);
    });
    (survey.expect("readable"), read.get())
}

#[test]
fn every_file_and_both_copies_are_listed() {
    let scratch = filled(3);
    let log = Inspection::open(&scratch.0).expect("a log");
    let files = log.files();
    assert_eq!(files.len(), SMALL.groups as usize);
    for file in &files {
        assert!(file.starts_with(&scratch.0), "{}", file.display());
        let bytes = std::fs::metadata(file).expect("it is there").len();
        assert_eq!(bytes, SMALL.file_bytes);
    }
    let generation = log.control().generation;
    assert_eq!(log.copies(), &[Ok(generation), Ok(generation)]);
    assert_eq!(log.owner().expect("readable"), None);
    // Each group begins in its own file.
    let (groups, _) = survey(&log);
    assert_eq!(groups[0].blocks, 3);
}

#[test]
fn a_survey_counts_the_blocks_of_each_group_and_of_earlier_uses() {
    let each = {
        let scratch = filled(1);
        let log = Inspection::open(&scratch.0).expect("a log");
        log.control().geometry.blocks_per_group
    };
    let group = |group, log_seq, blocks, last, older| GroupSurvey {
        group,
        log_seq,
        blocks,
        last,
        older,
        unsound: Vec::new(),
        unsound_count: 0,
    };
    let scratch = filled(each + 20);
    let log = Inspection::open(&scratch.0).expect("a log");
    let (found, read) = survey(&log);
    let first = group(0, Some(1), each, each - 1, 0);
    let second = group(1, Some(2), 20, each + 19, 0);
    assert_eq!(found, [first, second, group(2, None, 0, 0, 0)]);
    assert_eq!(read, 3 * each * 4096, "every block of every group");
    // The first group is used again: behind what it holds now are blocks of its first use.
    let scratch = filled(3 * each + 7);
    let log = Inspection::open(&scratch.0).expect("a log");
    let (found, _) = survey(&log);
    let first = group(0, Some(4), 7, 3 * each + 6, each - 7);
    let second = group(1, Some(2), each, 2 * each - 1, 0);
    let third = group(2, Some(3), each, 3 * each - 1, 0);
    assert_eq!(found, [first, second, third]);
}

#[test]
fn damaged_blocks_are_counted_and_the_first_of_them_listed() {
    let scratch = filled(40);
    let log = Inspection::open(&scratch.0).expect("a log");
    let geometry = log.control().geometry;
    let mut file = std::fs::File::options();
    let file = file.read(true).write(true).open(&log.files()[0]);
    let file = file.expect("writable");
    for block in 5..35 {
        // Behind the headers of the block and of the record, which has at least eight bytes.
        let at = geometry.address(block) + 50;
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).expect("readable");
        file.write_all_at(&[byte[0] ^ 1], at).expect("writable");
    }
    let (found, _) = survey(&log);
    let listed: Vec<u64> = (5..).take(UNSOUND_LISTED).collect();
    assert_eq!(found[0].unsound, listed);
    assert_eq!((found[0].unsound_count, found[0].blocks), (30, 10));
}

#[test]
fn a_log_has_the_triggers_that_it_was_opened_with() {
    let scratch = Scratch::with_log();
    let triggers = Triggers::NONE.period(Some(Duration::from_millis(70)));
    let ways = options().triggers(triggers);
    let (log, _) = crate::common::open_with(&scratch.0, ways).expect("a new log");
    assert_eq!(log.triggers(), triggers);
}
