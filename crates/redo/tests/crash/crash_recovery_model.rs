//! Recovery in every state that cuts, kills and damage can leave of a small log.

use redo::crash::mixing::{mixed, outdated, proved};
use redo::crash::model::{SCRIPTS, damage, explore};
use redo::planted::{Bug, Planted};
use std::time::Instant;

/// Blocks as large as sectors, and two blocks a sector.
const SECTORS: [usize; 2] = [512, 1024];

/// All of them where the code is fast.
const EXPLORED: usize = if cfg!(debug_assertions) { 1 } else { SCRIPTS };

#[test]
fn every_state_recovers_what_was_acknowledged_and_nothing_else() {
    for sector_bytes in SECTORS {
        let begun = Instant::now();
        let explored = explore(sector_bytes, EXPLORED, Planted::none())
            .unwrap_or_else(|what| panic!("sectors of {sector_bytes}: {what}"));
        println!(
            "sectors of {sector_bytes}: {} states, {} recoveries judged, {} interrupted, {:.1} s",
            explored.states,
            explored.recoveries,
            explored.interrupted,
            begun.elapsed().as_secs_f64()
        );
        let least = 5_000 * EXPLORED as u64;
        assert!(explored.states > least, "{explored:?}");
    }
}

#[test]
fn damage_before_the_end_is_refused_with_its_address() {
    for sector_bytes in SECTORS {
        let explored = damage(sector_bytes).unwrap_or_else(|what| panic!("{what}"));
        println!("sectors of {sector_bytes}: {explored:?}");
        assert!(explored.refused > 20 && explored.untold > 5, "{explored:?}");
    }
}

#[test]
fn blocks_of_another_copy_and_outdated_control_information_are_refused() {
    for sector_bytes in SECTORS {
        let both = mixed(sector_bytes, Planted::none()).unwrap_or_else(|what| panic!("{what}"));
        let older = outdated(sector_bytes, Planted::none()).unwrap_or_else(|what| panic!("{what}"));
        let damaged = proved(sector_bytes, Planted::none()).unwrap_or_else(|what| panic!("{what}"));
        println!("{sector_bytes}: mixed {both:?}, outdated {older:?}, proved {damaged:?}");
        assert!(
            both.refused > 50 && older.refused > 20,
            "{both:?} {older:?}"
        );
    }
}

#[test]
fn planted_bugs_of_what_is_refused_are_found() {
    type Try = fn(usize, Planted) -> Result<redo::crash::model::Explored, String>;
    let cases: [(Bug, Try); 4] = [
        (Bug::IgnoreKnownDurable, proved),
        (Bug::IgnoreLife, mixed),
        (Bug::IgnoreNewerIncarnation, outdated),
        (Bug::IgnoreLaterUse, outdated),
    ];
    for (bug, explore) in cases {
        for sector in SECTORS {
            let what = explore(sector, Planted::with(bug)).expect_err("found");
            println!("{bug:?}: {what}");
        }
    }
}

#[test]
fn planted_bugs_of_recovery_are_found() {
    for bug in [
        Bug::AcceptStaleBlock,
        Bug::AcceptOldIncarnation,
        Bug::SkipTailFlushFence,
        Bug::SkipControlFlushFence,
        Bug::SkipIncarnationFence,
    ] {
        let found = SECTORS.map(|sector| explore(sector, EXPLORED, Planted::with(bug)).err());
        let what = found.into_iter().flatten().next();
        println!("{bug:?}: {}", what.as_deref().unwrap_or("not found"));
        assert!(what.is_some(), "{bug:?}");
    }
}
