//! A member that is lost for good is made anew in an empty directory: where that is done, where it
//! is refused, and what becomes of the member that was replaced.

use crate::places::{Places, commit, count, in_sync, named, open, refusal, says};
use redo::MemberLayout;
use std::path::{Path, PathBuf};

/// The files of a directory and their content.
fn content(directory: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).expect("a directory");
    let read = |entry: std::fs::DirEntry| {
        let bytes = std::fs::read(entry.path()).expect("a file");
        (entry.file_name(), bytes)
    };
    let mut all: Vec<_> = entries
        .map(|entry| read(entry.expect("an entry")))
        .collect();
    all.sort();
    all
}

/// Puts the member's directory aside and an empty one in its place.
fn lose(places: &Places, member: usize) -> PathBuf {
    let path = places.path(member);
    let away = path.with_extension("away");
    std::fs::rename(&path, &away).expect("renamed");
    std::fs::create_dir(&path).expect("a directory");
    away
}

#[test]
fn a_lost_member_is_made_anew_in_an_empty_directory() {
    for lost in 0..2 {
        let places = Places::new(2);
        Places::create(places.mirror());
        commit(&open(places.mirror()).0, 0..30);
        let away = lose(&places, lost);
        // A new file system has this.
        std::fs::create_dir(places.path(lost).join("lost+found")).expect("a directory");
        let own = named(&places.path(lost));
        says(
            places.mirror(),
            &[&own, "it is empty", "--replace-member", "replace_lost"],
        );
        // Without the word nothing is made, also where the loss is accepted.
        let (log, _) = open(places.mirror().accept_loss(true));
        let notes = log.back_end().fallbacks.join("\n");
        assert!(
            notes.contains(&own) && notes.contains("it is empty"),
            "{notes}"
        );
        drop(log);
        assert_eq!(
            std::fs::read_dir(places.path(lost)).expect("lists").count(),
            1
        );
        std::fs::remove_dir(places.path(lost).join("lost+found")).expect("removed");
        let (log, recovery) = open(places.mirror().replace_lost(true));
        assert_eq!(count(&recovery), 30);
        assert_eq!(in_sync(&log), [true, true]);
        let notes = log.back_end().fallbacks.join("\n");
        assert!(notes.contains("was lost and was made again"), "{notes}");
        assert_eq!(log.members()[lost].path, places.path(lost));
        let taken = refusal(places.mirror());
        assert!(taken.contains("in use"), "{taken}");
        commit(&log, 30..40);
        drop(log);
        // It is a whole member: the log is opened with it alone.
        let other = lose(&places, 1 - lost);
        std::fs::remove_dir(places.path(1 - lost)).expect("removed");
        let (log, recovery) = open(places.mirror().accept_loss(true));
        assert_eq!(count(&recovery), 40, "of the new member {lost} alone");
        drop((log, recovery));
        std::fs::rename(other, places.path(1 - lost)).expect("renamed");
        // Three that claim two places.
        let three = [&places.path(0), &places.path(1), &away];
        says(MemberLayout::mirror(three), &["give each member once"]);
    }
}

/// The word accepts what a lost mirror may have had alone, not what the leader of a race had.
#[test]
fn a_lost_member_of_a_race_needs_the_loss_accepted_too() {
    let places = Places::new(2);
    Places::create(places.race());
    commit(&open(places.race()).0, 0..10);
    lose(&places, 0);
    says(
        places.race().replace_lost(true),
        &["member 1 of the 2", "accept the loss"],
    );
    assert_eq!(content(&places.path(0)), []);
    let (log, recovery) = open(places.race().replace_lost(true).accept_loss(true));
    assert!(count(&recovery) <= 10);
    assert_eq!(in_sync(&log), [true, true]);
}

#[test]
fn members_are_made_only_where_exactly_those_are_missing_and_nothing_is() {
    let places = Places::new(3);
    Places::create(places.mirror());
    commit(&open(places.mirror()).0, 0..10);
    let word = |paths: &[PathBuf]| MemberLayout::mirror(paths).replace_lost(true);
    let spare = places.scratch.0.join("spare");
    std::fs::create_dir(&spare).expect("a directory");
    let mut more = places.paths();
    more.push(spare.clone());
    says(
        word(&more),
        &[&named(&spare), "it is empty", "leave it out"],
    );
    // Two are lost, and one place is given.
    let away = lose(&places, 1);
    let one = [places.path(0), spare.clone()];
    says(
        word(&one),
        &[&named(&spare), "2 members are not there", "(2 and 3)"],
    );
    // Something is in it: not ours to fill.
    let note = places.path(1).join("note");
    std::fs::write(&note, "mine").expect("written");
    says(
        places.mirror().replace_lost(true),
        &["member 2 of the 3 is missing"],
    );
    assert_eq!(content(&places.path(1)).len(), 1);
    std::fs::remove_file(&note).expect("removed");
    let (log, recovery) = open(places.mirror().replace_lost(true));
    assert_eq!((count(&recovery), in_sync(&log)), (10, vec![true; 3]));
    drop((log, recovery));
    // Two at once, in their order.
    lose(&places, 0);
    lose(&places, 2);
    let (log, recovery) = open(places.mirror().replace_lost(true));
    assert_eq!((count(&recovery), in_sync(&log)), (10, vec![true; 3]));
    let paths: Vec<PathBuf> = log.members().into_iter().map(|m| m.path).collect();
    assert_eq!(paths, places.paths());
    drop((log, recovery));
    assert!(away.exists());
}

/// The member that was replaced may have been used elsewhere meanwhile, any number of times: its
/// redo is never taken for the log's, and it never overwrites the log.
#[test]
fn a_member_that_was_replaced_is_refused_when_it_returns() {
    for openings in 0..9 {
        let places = Places::new(2);
        Places::create(places.mirror());
        commit(&open(places.mirror()).0, 0..10);
        let away = lose(&places, 1);
        let (log, _) = open(places.mirror().replace_lost(true));
        commit(&log, 10..20);
        drop(log);
        // The old one, elsewhere, as if the other were lost.
        let nowhere = places.scratch.0.join("nowhere");
        let old = || MemberLayout::mirror([&away, &nowhere]).force_same_device(true);
        for opening in 0..openings {
            let (log, recovery) = open(old().accept_loss(true));
            assert_eq!(count(&recovery), 10 + opening as usize);
            commit(&log, 10 + opening..11 + opening);
        }
        let both = [&places.path(0), &away];
        let before = both.map(|path| content(path));
        let text = refusal(MemberLayout::mirror(both).force_same_device(true));
        let apart = text.contains("used apart") || text.contains("each used without the other");
        assert!(apart, "after {openings} openings: {text}");
        assert!(before == both.map(|path| content(path)), "nothing changed");
        let (log, recovery) = open(places.mirror());
        assert_eq!((count(&recovery), in_sync(&log)), (20, vec![true; 2]));
    }
}
