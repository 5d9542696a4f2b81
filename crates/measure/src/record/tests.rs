//! Whatever the order in which recordings merge, the sum is that of what happened; and an error
//! that counts one thing twice is found by the same test.

use super::observed::SameObserver;
use super::*;
use crate::Histogram;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};

const SECOND_NS: u64 = 1_000_000_000;
const ROUND_NS: u64 = 60 * SECOND_NS;
const HOSTS: usize = 2;

/// What an agent did in a round.
#[derive(Clone, Debug)]
struct Part {
    /// When it began, after the round's beginning.
    skew_ns: u64,
    /// Kind of transaction, its time, and its wait for log file sync.
    transactions: Vec<(u8, u64, Option<u64>)>,
    redo_bytes: u64,
    cpu_us: u64,
}

/// What happened: agents on hosts, and what each did in each round.
#[derive(Clone, Debug)]
struct World {
    /// The host of each agent; two agents of one host observe the same device and processors.
    hosts: Vec<usize>,
    /// By round and agent.
    rounds: Vec<Vec<Part>>,
    /// What each host's device wrote in each round, and its processors' busy ticks.
    counts: Vec<[(u64, u64); HOSTS]>,
    /// What the one server of all agents wrote in each round, and what it counted of its flushes.
    server: Vec<(u64, Option<u64>)>,
    /// Agents have an open loop.
    open: bool,
}

fn part() -> impl Strategy<Value = Part> {
    let transaction = (
        0_u8..3,
        1_000_u64..600_000_000,
        prop::option::of(1_u64..9_000_000),
    );
    (
        0..2 * SECOND_NS,
        prop::collection::vec(transaction, 0..12),
        0_u64..1 << 40,
        0_u64..1 << 30,
    )
        .prop_map(|(skew_ns, transactions, redo_bytes, cpu_us)| Part {
            skew_ns,
            transactions,
            redo_bytes,
            cpu_us,
        })
}

fn world() -> impl Strategy<Value = World> {
    (1_usize..5, 1_usize..4).prop_flat_map(|(agents, rounds)| {
        let of_round = prop::collection::vec(part(), agents);
        let count = (1_u64..1 << 30, 1_u64..1 << 20);
        (
            prop::collection::vec(0..HOSTS, agents),
            prop::collection::vec(of_round, rounds),
            prop::collection::vec([count.clone(), count], rounds),
            prop::collection::vec((1_u64..1 << 30, prop::option::of(0_u64..1 << 20)), rounds),
            any::<bool>(),
        )
            .prop_map(|(hosts, rounds, counts, server, open)| World {
                hosts,
                rounds,
                counts,
                server,
                open,
            })
    })
}

fn kind(number: u8) -> String {
    format!("kind-{number}")
}

impl World {
    fn window(&self, round: usize, agent: usize) -> TimeWindow {
        let start = (round as u64 + 1) * 2 * ROUND_NS;
        TimeWindow::of(start + self.rounds[round][agent].skew_ns, ROUND_NS)
    }

    fn load(&self, agent: usize) -> RowLoad {
        RowLoad {
            workload: "LGWR-LAT1".to_owned(),
            nodes: BTreeSet::from([format!("host-{}", self.hosts[agent])]),
            jobs: 1,
            threads: 1,
            waits: true,
            offered_tps: self.open.then_some(64.0),
            ..RowLoad::default()
        }
    }

    /// What one agent recorded in one round.
    fn recording(&self, round: usize, agent: usize) -> Recording {
        let (part, host) = (&self.rounds[round][agent], self.hosts[agent]);
        let window = self.window(round, agent);
        let mut made = Recording::new(self.load(agent), window);
        for (number, latency, sync) in &part.transactions {
            let kind = made.foregrounds.entry(kind(*number)).or_default();
            kind.add(*latency, *sync, sync.map(|ns| [ns, 1, 2, 3]));
        }
        let commits = part.transactions.len() as u64;
        made.space_waits = Some(WaitSum {
            count: commits,
            total_ns: part.cpu_us,
        });
        // The first agent observes the log writer; the others are clients.
        made.background = (agent == 0).then(|| Background {
            redo_bytes: part.redo_bytes,
            ..Background::default()
        });
        let (writes, busy) = self.counts[round][host];
        let device = DeviceCounts {
            writes,
            observed_ns: ROUND_NS,
            ..DeviceCounts::default()
        };
        let ticks = ProcessorTicks {
            user: busy,
            ..ProcessorTicks::default()
        };
        let used = ProcessUse {
            cpu_us: part.cpu_us,
            ..ProcessUse::default()
        };
        made.devices = Observations::one(&format!("device-{host}"), window, device);
        made.processors = Observations::one(&format!("host-{host}"), window, ticks);
        made.processes = Observations::one(&format!("process-{agent}"), window, used);
        made.server = Some(self.server(round, agent, window));
        made.arrivals = self.open.then(|| ArrivalRecord {
            returned: commits,
            backlog_end: commits,
            ..ArrivalRecord::default()
        });
        made.intervals = vec![IntervalRecord {
            window,
            commits,
            ..IntervalRecord::default()
        }];
        made
    }

    /// What one agent recorded of the server: all agents read the same counts of it.
    fn server(&self, round: usize, agent: usize, window: TimeWindow) -> ServerRecord {
        let (written, syncs) = self.server[round];
        let totals = ServerTotals {
            observed_ns: ROUND_NS,
            written_bytes: Some(written),
            syncs,
            ..ServerTotals::default()
        };
        let part = &self.rounds[round][agent];
        let mut waits = WaitSamples {
            readings: 7,
            observed_ns: ROUND_NS,
            ..WaitSamples::default()
        };
        for (kind, ..) in &part.transactions {
            waits.add(&format!("IO:{kind}"), 1);
        }
        ServerRecord {
            counts: Observations::one("server", window, totals),
            commits: Some(part.transactions.len() as u64),
            waits: Some(waits),
            notes: BTreeSet::from([format!("note of agent {agent}")]),
        }
    }

    /// Agents beside each other in each round, then the rounds.
    fn by_round(&self, same: SameObserver) -> Recording {
        let mut rounds = (0..self.rounds.len()).map(|round| {
            let agents = (0..self.hosts.len()).map(|agent| self.recording(round, agent));
            all_beside(agents, same)
        });
        let mut all = rounds.next().expect("a round");
        rounds.for_each(|round| all.then(&round).expect("in sequence"));
        all
    }

    /// The rounds of each agent in sequence, from the last one back, then the agents.
    fn by_agent(&self, same: SameObserver) -> Recording {
        let agents = (0..self.hosts.len()).rev().map(|agent| {
            let mut rounds = (0..self.rounds.len()).rev();
            let mut all = self.recording(rounds.next().expect("a round"), agent);
            rounds.for_each(|round| all.then(&self.recording(round, agent)).expect("rounds"));
            all
        });
        all_beside(agents, same)
    }

    /// Compares a merged recording with what happened.
    fn fits(&self, merged: &Recording) -> Result<(), TestCaseError> {
        let parts = || self.rounds.iter().flatten();
        for number in 0..3 {
            let mut want = Foreground::default();
            for (_, latency, sync) in parts()
                .flat_map(|p| &p.transactions)
                .filter(|t| t.0 == number)
            {
                want.add(*latency, *sync, sync.map(|ns| [ns, 1, 2, 3]));
            }
            let found = merged.foregrounds.get(&kind(number)).cloned();
            prop_assert_eq!(found.unwrap_or_default(), want);
        }
        let commits: u64 = parts().map(|p| p.transactions.len() as u64).sum();
        let cpu_us: u64 = parts().map(|p| p.cpu_us).sum();
        prop_assert_eq!(
            merged
                .space_waits
                .map(|waits| (waits.count, waits.total_ns)),
            Some((commits, cpu_us))
        );
        prop_assert_eq!(merged.processes.sum().map(|u| u.cpu_us), Some(cpu_us));
        let used = |host: &usize| self.hosts.contains(host);
        let of_hosts = |count: fn(&(u64, u64)) -> u64| -> u64 {
            let rounds = self.counts.iter();
            rounds
                .flat_map(|c| (0..HOSTS).filter(used).map(|host| count(&c[host])))
                .sum()
        };
        prop_assert_eq!(
            merged.devices.sum().map(|d| d.writes),
            Some(of_hosts(|c| c.0))
        );
        prop_assert_eq!(
            merged.processors.sum().map(|t| t.user),
            Some(of_hosts(|c| c.1))
        );
        self.fits_server(merged, commits)?;
        let redo: u64 = self.rounds.iter().map(|agents| agents[0].redo_bytes).sum();
        prop_assert_eq!(merged.background.as_ref().map(|b| b.redo_bytes), Some(redo));
        prop_assert_eq!(
            merged.intervals.iter().map(|i| i.commits).sum::<u64>(),
            commits
        );
        prop_assert_eq!(merged.row().intervals.len(), self.rounds.len());
        let skews = self.rounds.iter().map(|agents| {
            let skews = agents.iter().map(|p| p.skew_ns);
            skews.clone().max().unwrap_or(0) - skews.min().unwrap_or(0)
        });
        let shared: u64 = skews.map(|skew| ROUND_NS - skew).sum();
        prop_assert_eq!(merged.elapsed_ns(), shared);
        let nodes = (0..HOSTS).filter(used).count();
        let (agents, load) = (self.hosts.len(), &merged.load);
        prop_assert_eq!((load.nodes.len(), load.jobs as usize), (nodes, agents));
        if self.open {
            let last = self.rounds.last().expect("a round");
            let backlog: usize = last.iter().map(|p| p.transactions.len()).sum();
            let arrivals = merged.arrivals.as_ref().expect("an open loop");
            prop_assert_eq!(arrivals.returned, commits);
            prop_assert_eq!(arrivals.backlog_end, backlog as u64);
            prop_assert_eq!(load.offered_tps, Some(64.0 * agents as f64));
        }
        Ok(())
    }
}

impl World {
    /// Compares what is known of the server with what happened there.
    fn fits_server(&self, merged: &Recording, commits: u64) -> Result<(), TestCaseError> {
        let server = merged.server.as_ref().expect("every agent read it");
        let counts = server.counts.sum().expect("it was read");
        let written: u64 = self.server.iter().map(|(written, _)| written).sum();
        let syncs: Option<u64> = self.server.iter().map(|(_, syncs)| *syncs).sum();
        prop_assert_eq!((counts.written_bytes, counts.syncs), (Some(written), syncs));
        prop_assert_eq!(counts.observed_ns, ROUND_NS * self.rounds.len() as u64);
        prop_assert_eq!(
            (server.commits, server.notes.len()),
            (Some(commits), self.hosts.len())
        );
        let waits = server.waits.as_ref().expect("every agent sampled");
        let parts = self.rounds.len() * self.hosts.len();
        prop_assert_eq!(waits.readings, 7 * parts as u64);
        prop_assert_eq!(waits.events.values().sum::<u64>(), commits);
        let figures = merged.row().server.expect("it was read");
        let each = (commits > 0).then(|| written as f64 / commits as f64);
        prop_assert_eq!(figures.written_per_commit_bytes, each);
        prop_assert_eq!(figures.redo_lsn_bytes, None);
        Ok(())
    }
}

fn all_beside(mut all: impl Iterator<Item = Recording>, same: SameObserver) -> Recording {
    let mut first = all.next().expect("an agent");
    all.for_each(|next| first.merge_beside(&next, same).expect("they overlap"));
    first
}

fn both_orders(world: &World, same: SameObserver) -> Result<(), TestCaseError> {
    let by_round = world.by_round(same);
    let mut by_agent = world.by_agent(same);
    world.fits(&by_round)?;
    world.fits(&by_agent)?;
    // What share of the time overlaps depends on which windows are laid beside which.
    by_agent.longest_ns = by_round.longest_ns;
    by_agent.overlap_pct = by_round.overlap_pct;
    prop_assert_eq!(&by_round, &by_agent);
    prop_assert_eq!(by_round.row(), by_agent.row());
    let text = serde_json::to_string(&by_round).expect("plain data");
    let back: Recording = serde_json::from_str(&text).expect("its own text");
    prop_assert_eq!(&back, &by_round);
    Ok(())
}

fn runner() -> TestRunner {
    TestRunner::new(Config {
        failure_persistence: None,
        max_shrink_iters: 64,
        ..Config::with_cases(32)
    })
}

#[test]
fn the_order_of_merging_is_without_effect_and_nothing_is_lost() {
    let property = |world: World| both_orders(&world, SameObserver::Once);
    if let Err(found) = runner().run(&world(), property) {
        panic!("{found}");
    }
}

#[test]
fn a_double_count_of_one_device_is_found() {
    let property = |world: World| both_orders(&world, SameObserver::Twice);
    let found = runner().run(&world(), property);
    assert!(matches!(found, Err(TestError::Fail(..))), "{found:?}");
}

fn plain(start_ns: u64, length_ns: u64) -> Recording {
    Recording::new(RowLoad::default(), TimeWindow::of(start_ns, length_ns))
}

#[test]
fn little_overlap_is_doubtful() {
    for (start, doubtful) in [(0, false), (50, false), (51, true), (999, true)] {
        let (mut a, mut b) = (plain(0, 1000), plain(start, 1000));
        let other = a.clone();
        a.beside(&b).expect("they overlap");
        b.beside(&other).expect("they overlap");
        assert_eq!(
            (a.doubt().is_some(), a.elapsed_ns()),
            (doubtful, 1000 - start),
            "{start}"
        );
        assert_eq!(a, b);
    }
    assert_eq!(
        plain(0, 10).beside(&plain(10, 10)),
        Err(MergeError::NoOverlap)
    );
    // A doubtful round leaves all of them doubtful.
    let mut doubtful = plain(0, 1000);
    doubtful.beside(&plain(500, 1000)).expect("they overlap");
    let mut all = plain(5000, 100_000);
    all.then(&doubtful).expect("in sequence");
    assert_eq!((all.elapsed_ns(), all.overlap_pct), (100_500, 50.0));
    assert!(all.doubt().is_some_and(|text| text.contains("50.0 %")));
}

#[test]
fn what_does_not_merge_changes_nothing() {
    let mut all = plain(0, 1000);
    let before = all.clone();
    assert_eq!(all.then(&plain(999, 10)), Err(MergeError::NotInSequence));
    let mut other = plain(2000, 10);
    other.load.jobs = 2;
    assert_eq!(all.then(&other), Err(MergeError::Loads));
    let mut other = plain(0, 1000);
    other.load.commits_per_session = Some(1);
    assert_eq!(all.beside(&other), Err(MergeError::Loads));
    let mut other = plain(0, 1000);
    other.schema = "redolab.recording/2".to_owned();
    assert_eq!(all.beside(&other), Err(MergeError::Schemas));
    assert_eq!(all, before);
}

#[test]
fn the_time_of_a_row_runs_on_over_its_rounds() {
    let round = |start_ns: u64, commits: u64| {
        let mut made = plain(start_ns, 2 * SECOND_NS);
        let mut latency = Histogram::new();
        latency.record_n(1_000_000, commits);
        let foreground = Foreground {
            latency,
            ..Foreground::default()
        };
        made.foregrounds.insert(ONLY_KIND.to_owned(), foreground);
        let second = |n: u64| IntervalRecord {
            window: TimeWindow::of(start_ns + n * SECOND_NS, SECOND_NS),
            commits: commits / 2,
            ..IntervalRecord::default()
        };
        made.intervals = vec![second(0), second(1)];
        made
    };
    let mut all = round(100 * SECOND_NS, 40);
    all.then(&round(10 * SECOND_NS, 20)).expect("in sequence");
    let row = all.row();
    let ends: Vec<(f64, u64)> = row.intervals.iter().map(|i| (i.t_s, i.commits)).collect();
    assert_eq!(ends, [(1.0, 10), (2.0, 10), (3.0, 20), (4.0, 20)]);
    assert_eq!((row.commits, row.elapsed_s), (Some(60), Some(4.0)));
    assert_eq!(row.commit_throughput_tps, Some(15.0));
    assert_eq!(
        (&row.processors, &row.device, &row.redo, row.nodes),
        (&None, &None, &None, 1)
    );
}

#[test]
fn a_recording_of_more_kinds_or_workers_than_can_be_is_refused() {
    let read = |kinds: usize, workers: usize| {
        let mut made = plain(0, 10);
        made.foregrounds = (0..kinds)
            .map(|n| (n.to_string(), Foreground::default()))
            .collect();
        let mut background = Background::default();
        background
            .workers
            .resize_with(workers, WorkerRecord::default);
        made.background = Some(background);
        let text = serde_json::to_string(&made).expect("plain data");
        serde_json::from_str::<Recording>(&text).map(|back| back == made)
    };
    assert!(read(KINDS_MAX, WORKERS_MAX).expect("as many as can be"));
    assert!(read(KINDS_MAX + 1, 0).is_err());
    assert!(read(1, WORKERS_MAX + 1).is_err());
}

#[test]
fn a_recording_that_cannot_be_is_found() {
    assert_eq!(plain(5, 10).check(), Ok(()));
    let mut other = plain(5, 10);
    other.schema = "redolab.recording/2".to_owned();
    assert!(other.check().is_err());
    let mut overlapping = plain(5, 10);
    overlapping.windows.push(TimeWindow::of(14, 10));
    overlapping.longest_ns = 100;
    assert!(overlapping.check().is_err());
    let mut longer = plain(5, 10);
    longer.longest_ns = 9;
    assert!(longer.check().is_err());
    let mut share = plain(5, 10);
    share.overlap_pct = 100.5;
    assert!(share.check().is_err());
}
