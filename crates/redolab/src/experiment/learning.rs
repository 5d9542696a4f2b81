//! What adaptive learning did in a row: changes between post/wait and polling, and how much of the
//! load each served.

use measure::Nanos;
use measure::run::{Row, SyncSwitch};
use redo::writer::Learned;

/// Adds to the row, whose window began at `from`, what was learned between two looks; nothing where
/// the way is fixed.
pub(super) fn add(row: &mut Row, learned: Option<(&Learned, &Learned)>, from: Nanos) {
    let Some((before, after)) = learned else {
        return;
    };
    let switches = after.switches - before.switches;
    let commits = after.commits - before.commits;
    let polled = after.polled - before.polled;
    row.log_file_sync_switches = Some(switches);
    row.log_file_sync_polled_pct = (commits > 0).then(|| polled as f64 / commits as f64 * 100.0);
    let kept = after.recent.len().min(switches as usize);
    let recent = after.recent.iter().skip(after.recent.len() - kept);
    let name = |polls| if polls { "polling" } else { "post-wait" };
    row.log_file_sync_switch_log = recent
        .map(|switch| SyncSwitch {
            t_s: switch.at.since(from).as_secs(),
            to: name(switch.to_polling).to_owned(),
            left_per_s: switch.left_per_s,
            taken_per_s: switch.taken_per_s,
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use redo::writer::SyncSwitch as Change;

    #[test]
    fn only_what_the_window_saw_is_told() {
        let change = |at_s: u64, to_polling| Change {
            at: Nanos::from_secs(at_s),
            to_polling,
            left_per_s: 1.0,
            taken_per_s: 2.0,
        };
        let before = Learned {
            switches: 1,
            commits: 100,
            polled: 10,
            recent: vec![change(1, true)],
            ..Learned::default()
        };
        let after = Learned {
            switches: 2,
            commits: 300,
            polled: 60,
            recent: vec![change(1, true), change(7, false)],
            ..Learned::default()
        };
        let mut row = Row::default();
        add(&mut row, Some((&before, &after)), Nanos::from_secs(5));
        assert_eq!(row.log_file_sync_switches, Some(1));
        assert_eq!(row.log_file_sync_polled_pct, Some(25.0));
        let log = &row.log_file_sync_switch_log;
        assert_eq!(
            (log.len(), log[0].t_s, log[0].to.as_str()),
            (1, 2.0, "post-wait")
        );
        let mut fixed = Row::default();
        add(&mut fixed, None, Nanos::ZERO);
        assert_eq!(fixed, Row::default());
    }
}
