//! Models of the ring: appenders copy while a sealer writes, around every wrap.

use super::*;
use crate::buffer::BATCH_SLOTS;
use loom::thread;

/// Two appenders and a sealer, nobody waiting for durability: each appends `records`, the sealer
/// takes what there is until it has all. Every byte is verified on release.
fn appenders_and_sealer(
    start: StreamBlock,
    first_batch: u64,
    bodies: [&'static [u8]; 2],
    planted: Planted,
) {
    on_a_log(TINY, start, first_batch, bodies, planted);
}

fn on_a_log(
    shape: Shape,
    start: StreamBlock,
    first_batch: u64,
    bodies: [&'static [u8]; 2],
    planted: Planted,
) {
    let log = loom::sync::Arc::new(shaped(
        shape,
        start,
        first_batch,
        Leadership::Inline,
        planted,
    ));
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let log = loom::sync::Arc::clone(&log);
            thread::spawn(move || {
                let len = (RECORD_HEADER_BYTES + body.len()) as u32;
                let reservation = loop {
                    match log.buffer.reserve(len) {
                        Ok(reservation) => break reservation,
                        Err(_) => thread::yield_now(),
                    }
                };
                fill(&log, &reservation, body);
                reservation.batch
            })
        })
        .collect();
    let mut scribe = log.baton().expect("whole");
    let wanted: usize = bodies.iter().map(|b| RECORD_HEADER_BYTES + b.len()).sum();
    while scribe.redo.len() < wanted {
        if scribe.lead(&log) == LeadOutcome::Nothing {
            thread::yield_now();
        }
    }
    for thread in threads {
        let batch = thread.join().expect("no panic");
        let known = first_batch..log.buffer.published();
        assert!(
            known.contains(&batch),
            "{batch} was published as one of {known:?}"
        );
    }
    let expected = bodies.iter().map(|b| b.to_vec()).collect();
    assert_eq!(sorted(scribe.records()), sorted(expected));
}

#[test]
fn appenders_meet_a_sealer_at_every_place_of_the_ring() {
    for start in 0..TINY.ring as u64 {
        explore(2, move || {
            appenders_and_sealer(start, 0, [b"abc", b"wxyz!"], Planted::none())
        });
    }
}

#[test]
fn appenders_meet_a_sealer_where_the_batch_number_outgrows_its_word() {
    for first_batch in [(1_u64 << 32) - 1, (1 << 32) - 2, (5 << 32) - 1] {
        explore(2, move || {
            appenders_and_sealer(3, first_batch, [b"abc", b"wxyz!"], Planted::none())
        });
    }
}

/// Other shapes of ring and block, begun at each place of the ring, and at each of those where the
/// slots of batches or the lower half of their numbers wrap.
#[test]
fn appenders_meet_a_sealer_at_every_wrap_of_every_shape() {
    let shape = |payload, ring, seal| Shape {
        payload,
        ring,
        seal,
    };
    for shape in [shape(16, 2, 1), shape(8, 3, 1), shape(8, 4, 2)] {
        for start in (0..shape.ring as u64).step_by(shape.seal as usize) {
            for first_batch in [BATCH_SLOTS - 1, (1 << 32) - 1] {
                explore(1, move || {
                    let bodies: [&[u8]; 2] = [b"abc", b"wxyz!"];
                    on_a_log(shape, start, first_batch, bodies, Planted::none());
                });
            }
        }
    }
}

/// A filler counts into the word of its slot's last use, and the word is zeroed behind it.
#[test]
fn a_slot_released_before_its_word_is_zeroed_is_found() {
    let test = "ring::a_slot_released_before_its_word_is_zeroed_is_found";
    failure(test, 2, || {
        let planted = Planted::with(Bug::ReleaseBeforeZero);
        appenders_and_sealer(1, 0, [b"0123456789abc", b"ABCDEFGHI"], planted);
    });
}

#[test]
fn a_record_that_fills_blocks_exactly_beside_an_empty_one() {
    explore(2, || {
        appenders_and_sealer(2, 7, [b"12345678", b""], Planted::none())
    });
}

/// Records of three blocks each in a ring of four: the second one waits for room, and the
/// log writer, posted by the first, makes it. Inline appenders may write for themselves.
fn appenders_wait_for_room(way: Leadership) {
    let log = loom::sync::Arc::new(log(1, (1 << 32) - 1, way, Planted::none()));
    let server = serving(&log);
    let other = {
        let log = loom::sync::Arc::clone(&log);
        thread::spawn(move || append(&log, b"0123456789abc").expect("open"))
    };
    append(&log, b"ABCDEFGHIJKLM").expect("open");
    other.join().expect("no panic");
    log.close();
    server.join().expect("no panic");
    log.drain(|scribe| scribe.lead(&log)).expect("whole");
    let records = log.baton().expect("whole").records();
    let expected = [&b"0123456789abc"[..], b"ABCDEFGHIJKLM"].map(<[u8]>::to_vec);
    assert_eq!(sorted(records), expected);
}

#[test]
fn a_full_ring_makes_appenders_wait_until_it_is_released() {
    explore(2, || appenders_wait_for_room(Leadership::Inline));
    explore(2, || appenders_wait_for_room(Leadership::Dedicated));
}

#[test]
fn a_slot_given_out_before_its_block_was_written_is_found() {
    let test = "ring::a_slot_given_out_before_its_block_was_written_is_found";
    let reason = failure(test, 2, || {
        let planted = Planted::with(Bug::SlotReuse);
        appenders_and_sealer(1, 0, [b"0123456789abc", b"ABCDEFGHI"], planted);
    });
    // Where sums are checked, the sum of a position that another thread overwrote may be first.
    let found = ["Causality violation", "attempt to add with overflow"];
    assert!(found.iter().any(|text| reason.contains(text)), "{reason}");
}
