//! A member that hangs while its log is opened: the log opens without it when the patience is over,
//! as if it had not been given, or says that it does not answer.
//!
//! The patience is counted by a clock of the test, so that the machine's speed decides nothing.

use crate::common::{PATIENCE, until};
use crate::hangs::{Rig, TestClock, patient};
use crate::places::{commit, count, in_sync};
use device::LogDevice;
use redo::{Error, Log, MemberLayout, Recovery};
use std::sync::Arc;
use std::time::Duration;

/// Members are waited for at least so long while a log is opened.
const OPENING: Duration = Duration::from_secs(31);

fn layout(rig: &Rig) -> MemberLayout {
    let each = rig.members.iter().map(|member| {
        let (redo, control) = (member.redo.clone(), member.control.clone());
        (redo as Arc<dyn LogDevice>, control as Arc<dyn LogDevice>)
    });
    MemberLayout::devices(each.collect::<Vec<_>>(), rig.cell)
}

/// Opens it while `hung` hangs, after so many calls of its control information; what came of it
/// when the patience was over, and not before.
fn open_beside(
    rig: &Rig,
    (hung, after): (usize, usize),
    accept_loss: bool,
) -> Result<(Log, Recovery), Error> {
    let clock = Arc::new(TestClock::default());
    let layout = layout(rig).accept_loss(accept_loss);
    let hang = rig.members[hung].control.hang(after);
    std::thread::scope(|scope| {
        let hang = hang;
        let options = patient(&clock);
        let opens = scope.spawn(move || Log::builder(layout).options(options).open());
        assert!(hang.await_hanging(1, PATIENCE), "it is reached");
        clock.go_on(OPENING - Duration::from_nanos(1));
        std::thread::sleep(Duration::from_millis(5));
        assert!(!opens.is_finished());
        clock.go_on(Duration::from_nanos(1));
        until("it is opened", || opens.is_finished());
        let opened = opens.join().expect("no panic");
        if let Ok((log, _)) = &opened {
            commit(log, 10..20);
        }
        drop(hang);
        opened
    })
}

/// A log with ten records that nobody has open, not even a thread that was left behind.
fn closed(cell: usize) -> Rig {
    let rig = Rig::new(2, cell);
    let log = rig.open(crate::common::options());
    commit(&log, 0..10);
    log.close().expect("closed");
    rig
}

/// Two copies of the control information are read.
#[test]
fn a_log_opens_without_a_member_that_hangs() {
    for (cell, hung) in [(1, 0), (1, 1), (2, 0), (2, 1)] {
        for after in 0..2 {
            let refused = open_beside(&closed(cell), (hung, after), false);
            let refused = refused
                .expect_err("it is not known to be stale")
                .to_string();
            assert!(refused.contains("does not answer within 31 s"), "{refused}");
            let opened = open_beside(&closed(cell), (hung, after), true);
            let (log, recovery) = opened.expect("a log");
            assert_eq!(count(&recovery), 10);
            let notes = log.back_end().fallbacks.join("; ");
            assert!(notes.contains("does not answer within 31 s"), "{notes}");
            assert!(!in_sync(&log)[hung] && in_sync(&log)[1 - hung]);
        }
    }
}
