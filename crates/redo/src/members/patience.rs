//! For how long a member may do nothing: one that has something to do and completes nothing is
//! given up, where others suffice.
//!
//! What it must not know: what is returned, and whether the others suffice.

use super::driver::Lane;
use super::lane::Number;
use measure::Nanos;
use std::time::Duration;

/// A member on whose return acknowledgements wait for the moment: it is given up sooner.
const RETURNING: Duration = Duration::from_secs(1);

/// Where a member was, and since when.
#[derive(Clone, Copy)]
struct Seen {
    progress: (Number, Number),
    since: Nanos,
}

pub(super) struct Patience {
    /// By the numbers of the members; `None` for one that has nothing to do.
    seen: Vec<Option<Seen>>,
}

impl Patience {
    pub(super) fn new(members: usize) -> Patience {
        Patience {
            seen: vec![None; members],
        }
    }

    /// The members that have done nothing for `patience` by now, a bit for each, and the least time
    /// until another one has; `None` where nothing is under way.
    pub(super) fn look(
        &mut self,
        lanes: &[Lane],
        returning: Option<&Lane>,
        (now, patience): (Nanos, Duration),
    ) -> (u16, Option<Duration>) {
        let (mut late, mut least) = (0, None::<Duration>);
        let returning = returning.map(|lane| (lane, patience.min(RETURNING)));
        let all = lanes.iter().map(|lane| (lane, patience)).chain(returning);
        for (lane, patience) in all {
            let seen = &mut self.seen[lane.member];
            if lane.is_idle() || lane.has_failed() {
                *seen = None;
                continue;
            }
            let progress = lane.progress();
            let since = match seen {
                Some(seen) if seen.progress == progress => seen.since,
                // However late it is looked at.
                _ => lane.begun().unwrap_or(now),
            };
            *seen = Some(Seen { progress, since });
            let time = Duration::from_nanos(now.since(since).0);
            match patience.checked_sub(time) {
                Some(left) if !left.is_zero() => least = Some(least.map_or(left, |l| l.min(left))),
                _ => late |= 1 << lane.member,
            }
        }
        (late, least)
    }
}
