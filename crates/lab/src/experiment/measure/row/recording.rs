//! What was collected while a row ran, as a recording. No figure is computed here: the recording
//! computes the row's.

use super::collected::Collected;
use super::{Lab, Shared, Spec};
use crate::experiment::measure::recorder::{Foregrounds, NodeSamples};
use crate::experiment::measure::span::Counted;
use crate::observe::audit::{Evidence, audit};
use crate::observe::machine;
use crate::observe::sampler::SampledWindow;
use measure::Nanos;
use measure::driver::TprocCCounts;
use measure::record::{
    ArrivalRecord, Background, Foreground, LEARNT_KEPT, LearningRecord, LearntSwitch, NodeRecord,
    Observations, ProcessUse, Recording, RowLoad, TimeWindow, TprocCRecord, WaitSum,
};
use measure::run::TargetFacts;
use measure::workload::CommitWait;
use std::collections::BTreeSet;

/// Sessions at most that a row lists one by one.
const SESSIONS_LISTED: u32 = 256;

/// The recording of a row whose sessions have ended and whose redo is durable.
pub(super) fn recording(
    lab: &Lab<'_>,
    spec: &Spec,
    shared: &Shared,
    all: &Collected,
    observed: &SampledWindow,
) -> Recording {
    let control = &*shared.control;
    let machine = machine::boot_id();
    let window = TimeWindow::of(all.utc_ns(all.from), all.elapsed.0);
    let nodes = lab.target.recorder.nodes();
    let mut made = Recording::new(load(spec, &machine, nodes), window);
    made.foregrounds
        .extend(kinds(lab.target.driver.kinds(), &all.foregrounds));
    made.space_waits = control.space_waits();
    made.background = background(lab, all);
    made.nodes = node_records(lab, spec, all);
    add_observed(&mut made, lab, observed, &machine);
    let needed = all.background.flushes.max(all.checkpoint_flushes);
    made.flush_audit = evidence(&made, lab, observed, (needed, all.counts_late))
        .as_ref()
        .map(audit);
    made.run_queue = control.run_queue();
    made.arrivals = arrivals(shared, all);
    made.learning = learning(all);
    made.log_life.clone_from(&all.log_life);
    // A user that thinks has time that is in no latency: there are no books to balance.
    if !spec.workload.tproc_c.is_some_and(|c| c.think) {
        made.session_time = Some(control.session_time(all.from, all.until));
        made.cross_check = control.cross_check(&counted(lab, spec, all));
    }
    made.tproc_c = tproc_c(spec, all);
    if spec.commits.is_some() && spec.jobs <= SESSIONS_LISTED {
        made.sessions = control.sessions();
    }
    made.events = all.events.clone();
    made.intervals = all.intervals.clone();
    made
}

/// What sessions did with each kind of transaction, also with one of which there was none. A kind
/// without a name is called by its number.
fn kinds(names: Vec<String>, found: &Foregrounds) -> Vec<(String, Foreground)> {
    let found = found.kinds();
    let unnamed = (names.len()..found.len()).map(|kind| format!("kind {kind}"));
    let names = names.into_iter().chain(unnamed).enumerate();
    let named = names.map(|(kind, name)| (name, found.get(kind).cloned().unwrap_or_default()));
    named.collect()
}

fn waits(spec: &Spec) -> bool {
    spec.workload.commit.wait == CommitWait::Wait
}

/// What each of several logs did.
fn node_records(lab: &Lab<'_>, spec: &Spec, all: &Collected) -> Vec<NodeRecord> {
    let block_bytes = u64::from(lab.target.driver.block_bytes().unwrap_or(0));
    let count = all.nodes.len().max(1) as u32;
    let record = |(number, node): (u32, &NodeSamples)| NodeRecord {
        jobs: spec.jobs / count + u32::from(number < spec.jobs % count),
        foreground: node.foreground.clone(),
        background: Background {
            block_bytes: node.background.blocks * block_bytes,
            ..node.background.clone()
        },
    };
    (0..).zip(&all.nodes).map(record).collect()
}

fn load(spec: &Spec, machine: &str, nodes: u32) -> RowLoad {
    RowLoad {
        workload: spec.workload.name.clone(),
        nodes: match nodes {
            0 | 1 => BTreeSet::from([machine.to_owned()]),
            count => (1..=count)
                .map(|n| format!("{machine}/node {n:02}"))
                .collect(),
        },
        jobs: spec.jobs,
        threads: spec.api.threads(spec.jobs),
        waits: waits(spec),
        redo_bytes_per_txn: spec.workload.known_redo_bytes().map(u64::from),
        records_per_txn: spec
            .workload
            .known_redo_bytes()
            .map(|_| spec.workload.records.max(1)),
        commits_per_session: spec.commits,
        offered_tps: spec.arrivals.map(|arrivals| arrivals.offered_per_s()),
        soak: spec.soak,
        condition: spec.condition.clone(),
    }
}

/// What a second count of the row depends on.
fn counted<'a>(lab: &'a Lab<'_>, spec: &Spec, all: &Collected) -> Counted<'a> {
    let driver = &lab.target.driver;
    Counted {
        from: all.from,
        until: all.until,
        begun: all.begun,
        ends: all.ends,
        recorder: &lab.target.recorder,
        window_bytes: all.background.redo_bytes,
        records: u64::from(spec.workload.records.max(1)),
        buffered_bytes: if waits(spec) {
            0
        } else {
            driver.buffered_bytes()
        },
    }
}

/// What the log writer did, with what its workers did: one entry each, also for one that wrote
/// nothing. `None` where log writes are not observed.
fn background(lab: &Lab<'_>, all: &Collected) -> Option<Background> {
    let block_bytes = u64::from(lab.target.driver.block_bytes()?);
    let mut background = all.background.clone();
    background.block_bytes = background.blocks * block_bytes;
    for write in background.slow.iter_mut().flat_map(|slow| &mut slow.kept) {
        write.at_ns = all.utc_ns(Nanos(write.at_ns));
    }
    background.workers.truncate(all.workers.len());
    for (number, work) in all.workers.iter().enumerate() {
        let worker = background.worker(number);
        worker.operations = work.operations;
        worker.idle = WaitSum {
            count: work.idle_count,
            total_ns: work.idle_ns,
        };
    }
    Some(background)
}

/// What the kernel counted in the row's window.
fn add_observed(made: &mut Recording, lab: &Lab<'_>, observed: &SampledWindow, machine: &str) {
    let window = made.windows.first().copied().unwrap_or_default();
    observed.add_to(made, lab.sampler.device(), machine);
    if let Some(own) = observed.own {
        // On the device of a server this process writes nothing, and the server is not a neighbour.
        let is_server = matches!(lab.target.driver.facts(), TargetFacts::Database(_));
        let used = ProcessUse {
            cpu_us: own.cpu_us(),
            context_switches: own.context_switches(),
            written_bytes: observed.own_written_bytes.filter(|_| !is_server),
        };
        let process = format!("{machine}/{}", machine::process_id());
        made.processes = Observations::one(&process, window, used);
    }
}

/// What the flush audit is made from. Flushes of the log and of the checkpoint that are asked for
/// together are merged by the kernel; those of either follow each other.
/// `None` of a target whose writes are not known.
fn evidence(
    made: &Recording,
    lab: &Lab<'_>,
    observed: &SampledWindow,
    (needed, counts_late): (u64, bool),
) -> Option<Evidence> {
    let TargetFacts::RedoLog(target) = lab.target.driver.facts() else {
        return None;
    };
    Some(Evidence {
        needed,
        counted: observed.total.disk,
        counts_late,
        declares_cache: lab.declares_cache,
        may_use_fua: matches!(target.sync_method.as_str(), "dsync" | "direct-dsync"),
        background_pct: made.others_pct(),
        devices: lab.devices,
        nfs: observed.nfs,
    })
}

/// What became of the arrivals of an open loop.
fn arrivals(shared: &Shared, all: &Collected) -> Option<ArrivalRecord> {
    let pacer = shared.pacer.as_ref()?;
    let until = all.from.plus(all.elapsed);
    let (shares, not_served) = (pacer.shares(), pacer.not_served(all.from, until));
    Some(ArrivalRecord {
        returned: shares.returned,
        not_served: not_served.count,
        oldest_not_served_ns: not_served.oldest.map(|at| until.since(at).0),
        backlog_end: all.backlog.0,
        backlog_max: all.backlog.1,
        queue: shares.queue,
        lateness: shares.lateness,
        lab_busy_ns: shares.lab_busy_ns,
        busy_ns: shares.busy_ns,
    })
}

/// What adaptive learning did in the window.
fn learning(all: &Collected) -> Option<LearningRecord> {
    let (before, after) = all.learnt.as_ref()?;
    let switches = after.switches - before.switches;
    let kept = after.recent.len().min(switches as usize).min(LEARNT_KEPT);
    let recent = after.recent.iter().skip(after.recent.len() - kept);
    Some(LearningRecord {
        switches,
        commits: after.commits - before.commits,
        polled: after.polled - before.polled,
        recent: recent
            .map(|switch| LearntSwitch {
                at_ns: all.utc_ns(Nanos(switch.at_ns)),
                ..*switch
            })
            .collect(),
    })
}

/// What was counted of TPROC-C in the window, and what was checked after it.
fn tproc_c(spec: &Spec, all: &Collected) -> Option<TprocCRecord> {
    let load = spec.workload.tproc_c?;
    let (before, after) = all.tproc_c?;
    let grown = |of: fn(&TprocCCounts) -> u64| of(&after).saturating_sub(of(&before));
    let both_grown = |of: fn(&TprocCCounts) -> Option<u64>| {
        let (before, after) = of(&before).zip(of(&after))?;
        Some(after.saturating_sub(before))
    };
    Some(TprocCRecord {
        load,
        warehouses: after.warehouses,
        counted_ns: after.at.since(before.at).0,
        new_orders: both_grown(|counts| counts.next_orders),
        transactions: both_grown(|counts| counts.transactions),
        rolled_back: grown(|counts| counts.rolled_back),
        retries: grown(|counts| counts.retries),
        conditions: all.conditions.clone(),
    })
}
