//! Tests of lists of wakers: what is woken, in which order, and what stays on a list.

use super::*;
use std::sync::{Arc, Mutex};
use std::task::Wake;

/// Notes its number when it is woken.
struct Noted(u32, Arc<Mutex<Vec<u32>>>);

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.1.lock().expect("whole").push(self.0);
    }
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker of the embedder");
    }
}

#[derive(Default)]
struct World {
    list: WakerList,
    woken: Arc<Mutex<Vec<u32>>>,
}

impl World {
    fn waker(&self, number: u32) -> Waker {
        Arc::new(Noted(number, Arc::clone(&self.woken))).into()
    }

    fn listed(&self, number: u32) -> Shared<Registration> {
        let registration = Registration::new(number.into());
        self.list.register(&registration, &self.waker(number));
        registration
    }

    fn woken(&self) -> Vec<u32> {
        self.list.wake();
        std::mem::take(&mut *self.woken.lock().expect("whole"))
    }

    fn len(&self) -> usize {
        let taken: Vec<_> = self.list.take().collect();
        let len = taken.len();
        taken.into_iter().for_each(|r| self.list.push(r));
        len
    }
}

#[test]
fn tasks_are_woken_once_in_the_order_in_which_they_came() {
    let world = World::default();
    let all: Vec<_> = (0..5).map(|n| world.listed(n)).collect();
    assert_eq!(world.woken(), [0, 1, 2, 3, 4]);
    assert_eq!(world.woken(), [], "the list was taken");
    assert!(all.iter().all(|r| !r.is_listed()));
    // Who was woken for another reason puts itself on the list again.
    world.list.register(&all[3], &world.waker(3));
    assert_eq!(world.woken(), [3]);
    assert!(all.iter().all(|r| Shared::strong_count(r) == 1));
}

#[test]
fn a_task_that_is_polled_again_is_on_the_list_once_with_its_last_waker() {
    let world = World::default();
    let registration = world.listed(1);
    for again in 2..100 {
        world.list.register(&registration, &world.waker(again));
    }
    assert_eq!(world.len(), 1);
    assert_eq!(world.woken(), [99]);
}

#[test]
fn dropped_futures_are_not_woken_and_the_list_does_not_grow() {
    let world = World::default();
    let kept: Vec<_> = (0..3).map(|n| world.listed(n)).collect();
    for n in 0..100_000 {
        let registration = world.listed(1000 + n);
        if world.list.forget(&registration) {
            let least = world.list.sweep();
            assert_eq!(least, Some(0), "who awaits most urgently");
        }
        if n % 97 == 0 {
            assert!(world.len() <= 3 + SWEEP_AT as usize, "{}", world.len());
        }
    }
    assert_eq!(world.woken(), [0, 1, 2]);
    assert!(kept.iter().all(|r| Shared::strong_count(r) == 1));
    // Of many that live, so many more are swept at a time: it is no more than one look for each.
    let kept: Vec<_> = (0..1000).map(|n| world.listed(n)).collect();
    let mut sweeps = 0;
    for n in 0..10_000 {
        if world.list.forget(&world.listed(2000 + n)) {
            world.list.sweep();
            sweeps += 1;
        }
    }
    assert!((9..=11).contains(&sweeps), "{sweeps}");
    assert_eq!(world.woken().len(), kept.len());
}

#[test]
fn a_list_that_is_dropped_gives_up_what_is_on_it() {
    let world = World::default();
    let kept = world.listed(1);
    drop(world);
    assert_eq!(Shared::strong_count(&kept), 1);
}

#[test]
fn a_waker_that_panics_costs_nobody_else() {
    let world = World::default();
    let _first = world.listed(1);
    let panics = Registration::new(2);
    world.list.register(&panics, &Arc::new(Panics).into());
    let _last = world.listed(3);
    assert_eq!(world.woken(), [1, 3]);
}
