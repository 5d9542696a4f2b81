//! Giving up redo behind damage on logs with members: what one member has is kept, what none has is
//! given up on all, and a member that may have it is asked for first.

use crate::common::SMALL;
use crate::places::{Places, commit, count, open, refusal, says, try_open};
use redo::engine::{MembersInspection, Paths};
use redo::{Error, Log, MemberLayout, Rba, Salvage};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Overwrites a part of a block of the member in `directory`; with one commit a block, as many
/// blocks lie before it as commits.
fn damage(directory: &Path, block: u64) {
    let log = Paths::new(directory).logs(SMALL.groups).swap_remove(0);
    let (info, _) = Log::inspect(directory).expect("a member");
    let file = std::fs::OpenOptions::new().write(true).open(log);
    let file = file.expect("there");
    let place = info.geometry.address(block) + 30;
    file.write_all_at(&[0xAA; 64], place).expect("written");
}

fn rba(places: &Places, block: u64) -> Rba {
    let (info, _) = Log::inspect(places.path(0)).expect("a member");
    info.geometry.rba(block, 0)
}

fn salvage(layout: MemberLayout, at: Rba) -> Result<Salvage, Error> {
    Log::builder(layout).salvage(at).map(|(_, salvage)| salvage)
}

/// Content of all files of the members.
fn images(places: &Places) -> Vec<Vec<u8>> {
    let files = places.paths().into_iter().flat_map(|path| {
        let paths = Paths::new(&path);
        let mut all = paths.logs(SMALL.groups);
        all.push(paths.control());
        all
    });
    files
        .map(|file| std::fs::read(file).expect("readable"))
        .collect()
}

/// A mirror or race of two that holds so many commits and was left as by a crash.
fn holding(commits: u32, race: bool) -> (Places, impl Fn(&Places) -> MemberLayout) {
    let layout = move |places: &Places| match race {
        true => places.race(),
        false => places.mirror(),
    };
    let places = Places::new(2);
    Places::create(layout(&places));
    let (log, _) = open(layout(&places));
    commit(&log, 0..commits);
    // A race may have both only when it was opened again.
    drop(log);
    drop(open(layout(&places)));
    (places, layout)
}

#[test]
fn members_that_are_damaged_in_different_places_repair_each_other() {
    for race in [false, true] {
        let (places, layout) = holding(30, race);
        damage(&places.path(0), 10);
        damage(&places.path(1), 20);
        let foreseen = MembersInspection::damage(&places.paths(), false);
        assert_eq!(foreseen.expect("sound together"), None);
        let before = images(&places);
        let refused = salvage(layout(&places), rba(&places, 10)).expect_err("not damaged");
        assert!(
            refused.to_string().contains("repair each other"),
            "{refused}"
        );
        assert!(images(&places) == before, "it was touched");
        let (_, recovery) = open(layout(&places));
        assert_eq!(count(&recovery), 30);
    }
}

#[test]
fn what_one_member_has_is_kept_and_what_none_has_is_given_up_on_all() {
    for race in [false, true] {
        let (places, layout) = holding(30, race);
        // The second reaches further, and both end at the same block.
        damage(&places.path(0), 5);
        damage(&places.path(0), 12);
        damage(&places.path(1), 12);
        let at = rba(&places, 12);
        let opened = try_open(layout(&places)).map(drop);
        assert!(
            matches!(opened, Err(Error::Corrupt { rba, .. }) if rba == at),
            "{opened:?}"
        );
        let looked = MembersInspection::of(&places.paths()).expect("readable");
        let refused = looked.refused.expect("it cannot be opened");
        assert!(refused.contains(&at.to_string()), "{refused}");
        let foreseen = MembersInspection::damage(&places.paths(), false);
        let foreseen = foreseen.expect("readable").expect("damaged");
        let found = (foreseen.at, foreseen.kept_records, foreseen.lost_records);
        assert_eq!(found, (at, 12, 17));
        let before = images(&places);
        let near = salvage(layout(&places), rba(&places, 11)).expect_err("elsewhere");
        assert!(
            near.to_string().contains(&format!("damaged at RBA {at}")),
            "{near}"
        );
        assert!(images(&places) == before, "it was touched");
        assert_eq!(
            salvage(layout(&places), at).expect("damaged there"),
            foreseen
        );
        for life in 0..3 {
            let (log, recovery) = open(layout(&places));
            assert_eq!(count(&recovery), 12 + 4 * life);
            assert_eq!(crate::places::in_sync(&log), [true, true]);
            let first = 12 + 4 * life as u32;
            commit(&log, first..first + 4);
        }
    }
}

#[test]
fn a_member_that_may_have_the_redo_is_asked_for_before_it_is_given_up() {
    let (places, _) = holding(30, false);
    damage(&places.path(0), 12);
    let at = rba(&places, 12);
    let away = places.path(1).with_extension("away");
    std::fs::rename(places.path(1), &away).expect("renamed");
    let refused = salvage(places.mirror(), at).expect_err("the other one may have it");
    let text = refused.to_string();
    assert!(text.contains("member 2 of the 2 is missing"), "{text}");
    says(places.mirror(), &["member 2 of the 2 is missing"]);
    let accepted = places.mirror().accept_loss(true);
    let opened = refusal(places.mirror().accept_loss(true));
    assert!(opened.contains("damaged"), "{opened}");
    let given_up = salvage(accepted, at).expect("accepted");
    assert_eq!((given_up.kept_records, given_up.lost_records), (12, 17));
    // The other one returns: what it alone had does not come back, and it is copied whole.
    std::fs::rename(&away, places.path(1)).expect("renamed");
    let (log, recovery) = open(places.mirror());
    assert_eq!(count(&recovery), 12);
    assert_eq!(crate::places::in_sync(&log), [true, true]);
}

/// A race whose first member is lost for good while the second lacked what came before the
/// checkpoint: nothing is left behind the checkpoint, and the log goes on.
#[test]
fn a_race_whose_leader_is_lost_goes_on_from_its_checkpoint() {
    let (places, _) = holding(5, true);
    let late = Paths::new(places.path(1)).logs(SMALL.groups).swap_remove(0);
    let before = std::fs::read(&late).expect("readable");
    let (log, _) = open(places.race());
    commit(&log, 5..25);
    log.checkpoint(log.durable()).expect("durable");
    commit(&log, 25..28);
    drop(log);
    std::fs::write(&late, before).expect("writable");
    std::fs::remove_dir_all(places.path(0)).expect("removed");
    let accepted = || places.race().accept_loss(true);
    let Err(Error::Corrupt { rba, .. }) = try_open(accepted()).map(drop) else {
        panic!("redo before the checkpoint is missing");
    };
    let given_up = salvage(accepted(), rba).expect("the next step");
    assert_eq!(given_up.kept_records, 0);
    let (log, recovery) = open(accepted());
    assert_eq!(recovery.scan().records, 0);
    commit(&log, 0..3);
    drop(log);
    assert_eq!(count(&open(accepted()).1), 3);
}
