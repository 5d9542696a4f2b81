//! Durable writes from one processor after the other: whether it matters on which processor the
//! thread that writes the log runs.
//!
//! What lives here: which processors are measured ([`places`]) and the measured rounds
//! ([`measure()`]). A place is a processor, or none in particular.
//!
//! Invariants: places take turns in rounds, every second round in the opposite order, and only
//! whole rounds count, so that what drifts falls on all places alike; each turn has a thread of its
//! own, so that the thread which is not pinned is put somewhere anew each time; the affinity of the
//! caller does not change.
//!
//! What it must not know: which of the differences are noise, and what follows from them.

use crate::cpus;
use crate::identify::{DiskInterrupts, InterruptCounts, interrupts_since};
use crate::probe::{ProbeError, TimedQueue, Timing, durable_writes};
use measure::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// With at most this many processors all of them are measured.
pub const FEW_PROCESSORS: usize = 4;
/// Processors that are measured at most.
const MOST_PLACES: usize = 8;
/// Processors that took most of the interrupts and are measured for that.
const MOST_TAKERS: usize = 3;
/// Rounds for which the time of all turns is planned.
const ROUNDS: u32 = 16;
/// Rounds in which interrupts are counted: the kernel's table is long on large machines.
const COUNTED_ROUNDS: usize = 4;
/// Writes at the beginning of each turn that are not timed: the thread has just moved.
const SETTLING_WRITES: u64 = 2;
/// Timed writes of a turn at least.
const LEAST_WRITES: u64 = 3;

/// Processors that this process may use, and those of each NUMA node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessorMap {
    /// Those that this process may use, in ascending order.
    pub allowed: Vec<usize>,
    /// Those of each node, by the node's number; empty where the nodes are not known.
    pub nodes: BTreeMap<u32, Vec<usize>>,
}

impl ProcessorMap {
    /// Of this machine, for the calling thread.
    ///
    /// # Errors
    /// When the system does not report which processors are allowed.
    pub fn live() -> std::io::Result<ProcessorMap> {
        Ok(ProcessorMap {
            allowed: cpus::allowed()?,
            nodes: crate::identify::numa_nodes(&crate::identify::Root::live()),
        })
    }

    /// The node of a processor, where it is known.
    #[must_use]
    pub fn node_of(&self, cpu: usize) -> Option<u32> {
        let mut nodes = self.nodes.iter();
        nodes
            .find(|(_, cpus)| cpus.contains(&cpu))
            .map(|(node, _)| *node)
    }
}

/// The processors to be measured, in ascending order: all of a few; otherwise those that took most
/// of `interrupts`, and of each NUMA node the first that took none.
#[must_use]
pub fn places(processors: &ProcessorMap, interrupts: Option<&InterruptCounts>) -> Vec<usize> {
    let allowed = &processors.allowed;
    if allowed.len() <= FEW_PROCESSORS {
        return allowed.clone();
    }
    let mut takers: Vec<(usize, u64)> = interrupts
        .into_iter()
        .flatten()
        .filter(|(cpu, count)| **count > 0 && allowed.contains(cpu))
        .map(|(cpu, count)| (*cpu, *count))
        .collect();
    takers.sort_by_key(|(cpu, count)| (std::cmp::Reverse(*count), *cpu));
    takers.truncate(MOST_TAKERS);
    let mut chosen: Vec<usize> = takers.into_iter().map(|(cpu, _)| cpu).collect();
    let all = BTreeMap::from([(0, allowed.clone())]);
    let nodes = match processors.nodes.is_empty() {
        true => &all,
        false => &processors.nodes,
    };
    for cpus in nodes.values() {
        let other = |cpu: &&usize| allowed.contains(cpu) && !chosen.contains(cpu);
        let first = cpus.iter().find(other).copied();
        chosen.extend(first.filter(|_| chosen.len() < MOST_PLACES));
    }
    chosen.sort_unstable();
    chosen
}

/// What was measured from one place.
#[derive(Clone, Debug)]
pub struct PlaceTiming {
    /// The processor that the thread was pinned to; `None` where the scheduler chose.
    pub cpu: Option<usize>,
    /// Nanoseconds of each durable write, of all rounds together.
    pub total: Histogram,
    /// Median of each round, nanoseconds; all places have the same rounds.
    pub round_p50_ns: Vec<u64>,
    /// Interrupts of the disks while this place was measured in the first rounds, by the processor
    /// that took them; `None` where they are not counted.
    pub interrupts: Option<InterruptCounts>,
    /// How long the thread waited for the processor; `None` where the kernel does not count it.
    pub run_queue: Option<RunQueueTime>,
}

/// How long a thread that could have run waited for a processor, because others used it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunQueueTime {
    /// Nanoseconds on the run queue.
    pub waited_ns: u64,
    /// Nanoseconds in which this was counted.
    pub elapsed_ns: u64,
}

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct PlacementPlan<'a> {
    /// The processors among which places are chosen.
    pub processors: &'a ProcessorMap,
    /// The interrupts of the disks below, where they are counted.
    pub interrupts: Option<&'a DiskInterrupts>,
    /// No round is begun after so long, and no write after twice as long: the round of a slow
    /// device that is not done by then does not count.
    pub budget: Duration,
}

/// Durable writes from each place of `plan` in turn, and from none in particular, which is first. A
/// write is made only if `go_on` allows it. Without a second processor there is nothing to measure,
/// and the result is empty.
///
/// # Errors
/// The first write or flush that fails.
pub fn measure(
    bench: &mut TimedQueue,
    plan: PlacementPlan<'_>,
    go_on: &mut (dyn FnMut() -> bool + Send),
) -> Result<Vec<PlaceTiming>, ProbeError> {
    if plan.processors.allowed.len() < 2 {
        return Ok(Vec::new());
    }
    let begun = Instant::now();
    let go_on = &mut || begun.elapsed() < 2 * plan.budget && go_on();
    let look = plan.budget / (2 * ROUNDS);
    let counts = || plan.interrupts.and_then(DiskInterrupts::read);
    let before = counts();
    turn(bench, None, begun + look, go_on)?;
    let taken = difference(before.as_ref(), counts().as_ref());
    let cpus = places(plan.processors, taken.as_ref());
    let mut rounds = Rounds::of(&cpus);
    let each = plan.budget.saturating_sub(look) / (ROUNDS * rounds.places.len() as u32);
    while begun.elapsed() < plan.budget && rounds.run(bench, &plan, each, go_on)? {}
    Ok(rounds.places)
}

fn difference(
    before: Option<&InterruptCounts>,
    after: Option<&InterruptCounts>,
) -> Option<InterruptCounts> {
    Some(interrupts_since(before?, after?))
}

/// The places with what was measured of them so far.
struct Rounds {
    places: Vec<PlaceTiming>,
    done: usize,
}

impl Rounds {
    fn of(cpus: &[usize]) -> Rounds {
        let place = |cpu| PlaceTiming {
            cpu,
            total: Histogram::new(),
            round_p50_ns: Vec::new(),
            interrupts: None,
            run_queue: Some(RunQueueTime::default()),
        };
        let pinned = cpus.iter().copied().map(Some);
        Rounds {
            places: std::iter::once(None).chain(pinned).map(place).collect(),
            done: 0,
        }
    }

    /// One round; `false` when `go_on` ended it, which then does not count.
    fn run(
        &mut self,
        bench: &mut TimedQueue,
        plan: &PlacementPlan<'_>,
        each: Duration,
        go_on: &mut (dyn FnMut() -> bool + Send),
    ) -> Result<bool, ProbeError> {
        let count = self.places.len();
        let mut turns: Vec<Option<(Turn, Option<InterruptCounts>)>> = vec![None; count];
        let is_counted = self.done < COUNTED_ROUNDS;
        let counts = || {
            plan.interrupts
                .filter(|_| is_counted)
                .and_then(DiskInterrupts::read)
        };
        for step in 0..count {
            let at = match self.done % 2 {
                0 => step,
                _ => count - 1 - step,
            };
            let before = counts();
            let cpu = self.places[at].cpu;
            let turn = turn(bench, cpu, Instant::now() + each, go_on)?;
            if turn.times.count() < LEAST_WRITES {
                return Ok(false);
            }
            turns[at] = Some((turn, difference(before.as_ref(), counts().as_ref())));
        }
        for (place, (turn, taken)) in self.places.iter_mut().zip(turns.into_iter().flatten()) {
            place.add(&turn, taken.as_ref());
        }
        self.done += 1;
        Ok(true)
    }
}

impl PlaceTiming {
    fn add(&mut self, turn: &Turn, taken: Option<&InterruptCounts>) {
        self.round_p50_ns.push(turn.times.quantile_raw(0.5));
        self.total.merge(&turn.times);
        if let Some(taken) = taken {
            let all = self.interrupts.get_or_insert_default();
            for (cpu, count) in taken {
                *all.entry(*cpu).or_default() += count;
            }
        }
        self.run_queue = self
            .run_queue
            .zip(turn.run_queue)
            .map(|(a, b)| RunQueueTime {
                waited_ns: a.waited_ns.saturating_add(b.waited_ns),
                elapsed_ns: a.elapsed_ns.saturating_add(b.elapsed_ns),
            });
    }
}

/// What a thread did in one turn.
#[derive(Clone, Debug, Default)]
struct Turn {
    times: Histogram,
    run_queue: Option<RunQueueTime>,
}

/// Durable writes of a thread of its own until `end`, on `cpu` if that is one.
fn turn(
    bench: &mut TimedQueue,
    cpu: Option<usize>,
    end: Instant,
    go_on: &mut (dyn FnMut() -> bool + Send),
) -> Result<Turn, ProbeError> {
    let write = || {
        // A processor that went off line meanwhile is no reason to fail: its rounds do not count.
        if let Some(cpu) = cpu
            && cpus::pin(&[cpu]).is_err()
        {
            return Ok(Turn::default());
        }
        let mut settling = Timing::default();
        durable_writes(bench, false, &mut settling, &mut |writes| {
            writes < SETTLING_WRITES && go_on()
        })?;
        let (before, begun) = (run_queue_ns(), Instant::now());
        let mut timing = Timing::default();
        durable_writes(bench, false, &mut timing, &mut |writes| {
            (writes < LEAST_WRITES || Instant::now() < end) && go_on()
        })?;
        let elapsed = begun.elapsed();
        let run_queue = before
            .zip(run_queue_ns())
            .map(|(before, after)| RunQueueTime {
                waited_ns: after.saturating_sub(before),
                elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            });
        Ok(Turn {
            times: timing.total,
            run_queue,
        })
    };
    std::thread::scope(|scope| {
        let thread = scope.spawn(write);
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Nanoseconds for which this thread was ready to run and waited for a processor so far, from
/// `/proc/thread-self/schedstat`; `None` where the kernel does not count them.
#[must_use]
pub fn run_queue_ns() -> Option<u64> {
    second_number(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Of `schedstat`: time on a processor, time on the run queue, time slices.
fn second_number(text: &str) -> Option<u64> {
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim_disk::SimDisk;
    use std::collections::BTreeSet;

    fn map(
        allowed: std::ops::Range<usize>,
        nodes: &[(u32, std::ops::Range<usize>)],
    ) -> ProcessorMap {
        ProcessorMap {
            allowed: allowed.collect(),
            nodes: nodes
                .iter()
                .map(|(n, cpus)| (*n, cpus.clone().collect()))
                .collect(),
        }
    }

    #[test]
    fn a_few_processors_are_all_measured() {
        for few in 0..=FEW_PROCESSORS {
            assert_eq!(places(&map(0..few, &[]), None), Vec::from_iter(0..few));
        }
    }

    #[test]
    fn of_many_those_with_interrupts_and_one_of_each_node() {
        let two = map(0..64, &[(0, 0..32), (1, 32..64)]);
        assert_eq!(places(&two, None), [0, 32]);
        // Most interrupts first; a processor of the node that took none is measured beside them.
        let taken = [(0, 90), (5, 3), (40, 700), (41, 1), (99, 5000)].into();
        assert_eq!(places(&two, Some(&taken)), [0, 1, 5, 32, 40]);
        // What is not allowed is not measured, also where it takes the interrupts.
        let part = ProcessorMap {
            allowed: (8..16).collect(),
            ..two.clone()
        };
        assert_eq!(places(&part, Some(&taken)), [8]);
        let unknown = map(0..16, &[]);
        assert_eq!(places(&unknown, Some(&[(3, 10)].into())), [0, 3]);
        let nodes: Vec<(u32, _)> = (0..16)
            .map(|n| (n, n as usize * 8..n as usize * 8 + 8))
            .collect();
        assert_eq!(
            places(&map(0..128, &nodes), Some(&taken)).len(),
            MOST_PLACES
        );
    }

    #[test]
    fn each_place_has_the_same_rounds() {
        let processors = ProcessorMap::live().expect("the system reports it");
        let before = cpus::allowed().expect("the system reports it");
        let disk = SimDisk::new(1 << 20, 4096, false);
        disk.set_immediate(true);
        let mut bench = TimedQueue::new(&disk, 4096, 0).expect("memory");
        let plan = PlacementPlan {
            processors: &processors,
            interrupts: None,
            budget: Duration::from_millis(200),
        };
        let mut seen = BTreeSet::new();
        let mut go_on = || {
            seen.insert(cpus::allowed().expect("the system reports it"));
            true
        };
        let found = measure(&mut bench, plan, &mut go_on).expect("a disk without faults");
        if processors.allowed.len() < 2 {
            assert!(found.is_empty());
            return;
        }
        let cpus: Vec<Option<usize>> = found.iter().map(|place| place.cpu).collect();
        let expected = places(&processors, None).into_iter().map(Some);
        assert_eq!(cpus, Vec::from_iter(std::iter::once(None).chain(expected)));
        let rounds = found[0].round_p50_ns.len();
        assert!(rounds > 0 && found.iter().all(|place| place.round_p50_ns.len() == rounds));
        assert!(
            found
                .iter()
                .all(|place| place.total.count() >= LEAST_WRITES * rounds as u64)
        );
        let pinned = places(&processors, None).into_iter().map(|cpu| vec![cpu]);
        let expected: BTreeSet<Vec<usize>> = pinned.chain([before.clone()]).collect();
        assert_eq!(seen, expected, "each thread wrote from its place");
        assert!(
            found.iter().all(|place| place.interrupts.is_none()),
            "they were not counted"
        );
        assert_eq!(cpus::allowed().expect("the system reports it"), before);
    }

    #[test]
    fn an_end_leaves_whole_rounds_only() {
        let processors = map(0..2, &[]);
        let disk = SimDisk::new(1 << 20, 4096, false);
        disk.set_immediate(true);
        let mut bench = TimedQueue::new(&disk, 4096, 0).expect("memory");
        let plan = PlacementPlan {
            processors: &processors,
            interrupts: None,
            budget: Duration::from_secs(5),
        };
        for allowed in [0, 1, 40, 500] {
            let mut left = allowed;
            let mut go_on = || {
                left -= i32::from(left > 0);
                left > 0
            };
            let found = measure(&mut bench, plan, &mut go_on).expect("a disk without faults");
            let rounds: Vec<usize> = found.iter().map(|place| place.round_p50_ns.len()).collect();
            assert!(
                rounds.windows(2).all(|pair| pair[0] == pair[1]),
                "{rounds:?}"
            );
            let writes: u64 = found.iter().map(|place| place.total.count()).sum();
            assert!(
                writes <= allowed.unsigned_abs().into(),
                "{writes} of {allowed}"
            );
        }
    }

    #[test]
    fn a_slow_device_ends_it_too() {
        let processors = map(0..2, &[]);
        let disk = SimDisk::new(1 << 20, 4096, false);
        disk.set_immediate(true);
        let mut bench = TimedQueue::new(&disk, 4096, 0).expect("memory");
        let plan = PlacementPlan {
            processors: &processors,
            interrupts: None,
            budget: Duration::from_millis(20),
        };
        let mut writes = 0;
        let mut go_on = || {
            writes += 1;
            std::thread::sleep(Duration::from_millis(45));
            true
        };
        let found = measure(&mut bench, plan, &mut go_on).expect("a disk without faults");
        let rounds = found.iter().map(|place| place.round_p50_ns.len());
        assert_eq!(
            rounds.sum::<usize>(),
            0,
            "a round was counted that is not whole"
        );
        assert_eq!(writes, 1, "writes were begun after twice the budget");
    }

    #[test]
    fn time_on_the_run_queue_is_the_second_number() {
        assert_eq!(second_number("1234567 890 12\n"), Some(890));
        for text in [
            "",
            "1234567",
            "1 x 2",
            "1 -5 2",
            "1 99999999999999999999999 2",
        ] {
            assert_eq!(second_number(text), None, "{text}");
        }
    }

    #[test]
    fn one_processor_is_compared_with_nothing() {
        let processors = map(0..1, &[]);
        let disk = SimDisk::new(1 << 20, 4096, false);
        let mut bench = TimedQueue::new(&disk, 4096, 0).expect("memory");
        let plan = PlacementPlan {
            processors: &processors,
            interrupts: None,
            budget: Duration::from_secs(1),
        };
        let found = measure(&mut bench, plan, &mut || unreachable!("nothing is written"));
        assert!(found.expect("nothing can fail").is_empty());
    }
}
