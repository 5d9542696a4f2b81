//! What a lane hands out, what counts as complete and durable, and when its memory is filled again.

use super::*;
use device::IoFailure;

const ABLE: Abilities = Abilities {
    depth: 2,
    max_io_bytes: 8192,
    durable_writes: false,
    flushes_early: false,
};

fn lane(can: Abilities) -> LaneState {
    LaneState::new(Arc::new(Region::new(16 << 10).expect("memory")), can)
}

/// Gives it the write of this number, of 1,000 bytes behind the one before.
fn give(lane: &mut LaneState, number: Number) {
    let bytes = number * 1000;
    lane.write(Upto { number, bytes }, (bytes - 1000, 1000), |_, _| {});
}

fn end(lane: &mut LaneState, id: u64, bytes: u64) {
    let result = Ok(bytes);
    lane.ended(OpCompletion { id, result, by: 0 });
}

fn next(lane: &mut LaneState) -> Option<(u64, usize)> {
    let ready = lane.is_ready();
    let next = lane.next().map(|op| (op.id, op.bytes()));
    assert_eq!(ready, next.is_some());
    next
}

#[test]
fn nothing_counts_behind_a_write_that_is_still_on_its_way() {
    let mut lane = lane(ABLE);
    give(&mut lane, 1);
    assert_eq!(next(&mut lane), Some((1, 1000)));
    give(&mut lane, 2);
    assert_eq!(next(&mut lane), Some((2, 1000)));
    lane.want(2);
    end(&mut lane, 2, 1000);
    assert_eq!(lane.status().complete.number, 0);
    assert_eq!(next(&mut lane), None, "a flush would cover a hole");
    end(&mut lane, 1, 1000);
    assert_eq!(lane.status().complete.number, 2);
    assert_eq!(next(&mut lane), Some((FLUSH, 0)));
    // What is complete from here on is not covered by the flush that is on its way.
    give(&mut lane, 3);
    assert_eq!(next(&mut lane), Some((3, 1000)));
    end(&mut lane, 3, 1000);
    end(&mut lane, FLUSH, 0);
    assert_eq!(lane.status().durable.bytes, 2000);
    assert!(lane.status().idle);
}

#[test]
fn what_comes_while_as_many_writes_as_may_be_are_in_flight_goes_in_one() {
    let mut lane = lane(ABLE);
    (1..=6).for_each(|number| give(&mut lane, number));
    assert_eq!(next(&mut lane), Some((1, 6000)));
    for number in 7..=9 {
        give(&mut lane, number);
        let expected = (number == 7).then_some((7, 1000));
        assert_eq!(next(&mut lane), expected);
    }
    end(&mut lane, 1, 6000);
    assert_eq!(next(&mut lane), Some((8, 2000)));
    assert_eq!(lane.status().complete.number, 6);
}

#[test]
fn nobody_is_flushed_for_who_does_not_wait() {
    let mut lane = lane(ABLE);
    for number in 1..=10 {
        give(&mut lane, number);
        assert_eq!(next(&mut lane), Some((number, 1000)));
        end(&mut lane, number, 1000);
        assert_eq!(next(&mut lane), None);
    }
    // One flush for all that is wanted by now.
    lane.want(4);
    lane.want(10);
    assert_eq!(next(&mut lane), Some((FLUSH, 0)));
    end(&mut lane, FLUSH, 0);
    lane.want(7);
    assert_eq!(next(&mut lane), None);
    assert_eq!(lane.status().durable.number, 10);
}

#[test]
fn a_device_whose_writes_are_durable_is_not_flushed() {
    let mut lane = lane(Abilities {
        durable_writes: true,
        ..ABLE
    });
    give(&mut lane, 1);
    lane.want(1);
    assert_eq!(next(&mut lane), Some((1, 1000)));
    assert_eq!(lane.status().durable.number, 0);
    end(&mut lane, 1, 1000);
    assert_eq!(next(&mut lane), None);
    assert_eq!(lane.status().durable.number, 1);
}

#[test]
fn a_member_that_fails_does_nothing_more() {
    for failed in [Ok(999), Err(IoFailure { errno: 5 })] {
        let mut lane = lane(ABLE);
        (1..=2).for_each(|number| give(&mut lane, number));
        lane.want(1);
        assert_eq!(next(&mut lane), Some((1, 2000)));
        lane.ended(OpCompletion {
            id: 1,
            result: failed,
            by: 0,
        });
        give(&mut lane, 3);
        let status = lane.status();
        assert!(status.failed && status.idle, "{failed:?}");
        assert_eq!((status.complete.number, next(&mut lane)), (0, None));
    }
    // Nor one that has no room.
    let mut lane = lane(ABLE);
    (1..=17).for_each(|number| give(&mut lane, number));
    assert!(lane.status().failed);
}
