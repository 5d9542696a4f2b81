//! What a plan comes to on its targets: the bytes that it writes, and the share of each part.

use super::MeasurementPlan;
use super::expected::expected_bytes;
use crate::experiment::Failure;
use crate::experiment::guard::limits::{self, Limits, ServersToMake, Wanted};
use crate::experiment::measure::floor::{self, FILE_BYTES};
use crate::experiment::measure::row::Spec;
use crate::experiment::target::Setup;
use crate::experiment::target::background::PlacedBackground;
use crate::experiment::target::site;
use crate::safety::PlannedWrites;
use analysis::thresholds::Thresholds;
use device::SyncMethod;
use measure::Nanos;
use measure::run::FloorRow;
use measure::words::size;
use std::sync::Arc;

/// Where a measurement is made, and how often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Targets; none for the null device, to which nothing is written.
    pub(crate) targets: u64,
    /// Logs on each.
    pub(crate) logs: u32,
    /// Runs on each.
    pub(crate) rounds: u32,
    /// One of them is a raw device.
    pub(crate) raw: bool,
    /// Servers beside them that are made.
    pub(crate) servers: ServersToMake,
}

impl Extent {
    /// Logs on all targets together.
    fn all_logs(self) -> u64 {
        self.targets.saturating_mul(u64::from(self.logs))
    }
}

/// A plan that can be carried out.
pub(crate) struct Prepared<'a> {
    /// The plan.
    pub(crate) plan: &'a MeasurementPlan,
    /// What is about to be written to each target.
    pub(crate) writes: PlannedWrites,
    /// What each part may write.
    pub(crate) limits: Limits,
    /// What the run is judged by.
    pub(crate) thresholds: Thresholds,
    /// What is written to all targets together, bytes at most.
    pub(crate) all_bytes: u64,
    /// How long rows and floors take on all targets together; `None` where rows end after a number
    /// of commits.
    pub(crate) takes: Option<Nanos>,
    making_bytes: u64,
    /// Bytes of it that a probe has written already.
    probed_bytes: u64,
}

/// Adds up what `plan` writes, and divides what it may.
///
/// # Errors
/// A plan without anything to measure, a limit that holds nothing, or thresholds that are none.
pub(crate) fn prepare(plan: &MeasurementPlan, on: Extent) -> Result<Prepared<'_>, Failure> {
    let mut prepared = prepare_each(std::slice::from_ref(plan), on)?;
    Ok(prepared.pop().expect("as many as plans"))
}

/// The same of the plans of several targets, which differ in the places of their logs alone. What
/// each may write is the same for all: as much as the largest needs.
///
/// # Errors
/// As of [`prepare`].
pub(crate) fn prepare_each(
    plans: &[MeasurementPlan],
    on: Extent,
) -> Result<Vec<Prepared<'_>>, Failure> {
    let plan = plans.iter().max_by_key(|plan| plan.log.copies());
    let plan = plan.expect("at least one plan");
    let files = plans.iter().map(|plan| plan.log.footprint_bytes()).max();
    let unusable = |e: analysis::ThresholdError| Failure::Unusable(e.to_string());
    let thresholds = match plan.judgement.thresholds.as_str() {
        "" => Thresholds::default(),
        text => Thresholds::parse(text).map_err(unusable)?,
    };
    (plan.log.background).check(on.targets == 0)?;
    let mut limits = match (&plan.floor, plan.rows.is_empty()) {
        (None, true) => {
            let nothing = "the plan has neither rows nor a floor, so there is nothing to measure";
            return Err(Failure::Unusable(nothing.to_owned()));
        }
        (Some(_), true) => limits::of_floor(plan.max_write_bytes)?,
        (floor, false) => limits::plan(&Wanted {
            limit: (plan.max_write_bytes).filter(|_| on.targets + on.servers.count > 0),
            specs: &plan.rows,
            log: &plan.log,
            files: files.unwrap_or(0),
            method: plan.log.sync_method,
            logs: on.all_logs(),
            servers: on.servers,
            times: (on.targets + on.servers.count) * u64::from(on.rounds),
            floor_files: floor.map(|_| FILE_BYTES),
            raw: on.raw,
            events: plan.events,
        })?,
    };
    if !plan.rows.is_empty() {
        limits
            .lines
            .extend(plan.log.background.lines(plan.log.footprint_bytes()));
    }
    limits.lines.extend(capped(&plan.rows));
    let each = plans.iter().map(|plan| {
        let writes = writes(plan, on);
        Prepared {
            plan,
            all_bytes: all_bytes(plan, &writes, on),
            takes: takes(plan, on),
            writes,
            making_bytes: limits.making / on.all_logs().max(1),
            probed_bytes: 0,
            limits: limits.clone(),
            thresholds: thresholds.clone(),
        }
    });
    Ok(each.collect())
}

/// Says which rows may end before their time because of the redo that they write.
fn capped(rows: &[Spec]) -> Option<String> {
    let whole = |row: &&Spec| Spec {
        max_redo_bytes: u64::MAX,
        ..(*row).clone()
    };
    let rows = rows.iter().filter(|row| row.commits.is_none());
    let cut: Vec<&Spec> = rows
        .filter(|row| expected_bytes(&whole(row)) > row.max_redo_bytes)
        .collect();
    let first = cut.first()?;
    let mut names: Vec<&str> = Vec::new();
    for row in &cut {
        if !names.contains(&row.workload.name.as_str()) {
            names.push(&row.workload.name);
        }
    }
    Some(format!(
        "A row ends early when it has written {} of redo before its {} s are over ({}). With --time \
         each row is measured for all of its time, however much it writes.",
        size(first.max_redo_bytes),
        first.time.as_secs(),
        names.join(", ")
    ))
}

/// What is written to all targets together.
fn all_bytes(plan: &MeasurementPlan, writes: &PlannedWrites, on: Extent) -> u64 {
    let all = writes.expected_bytes.saturating_mul(on.targets);
    plan.max_write_bytes.map_or(all, |max| max.min(all))
}

/// How long rows and floors take.
fn takes(plan: &MeasurementPlan, on: Extent) -> Option<Nanos> {
    let mut once = Nanos::ZERO;
    for row in &plan.rows {
        if row.commits.is_some() {
            return None;
        }
        once = once.plus(row.time).plus(row.warmup);
    }
    let floor = plan.floor.as_ref().map_or(Nanos::ZERO, |floor| {
        let points = floor.points().len() as u64;
        floor
            .placement
            .plus(Nanos(floor.time.0.saturating_mul(points)))
    });
    let rounds = Nanos(once.0.saturating_mul(on.rounds.into())).plus(floor);
    Some(Nanos(rounds.0.saturating_mul(on.targets)))
}

/// What is about to be written to each target.
fn writes(plan: &MeasurementPlan, on: Extent) -> PlannedWrites {
    let (mut footprint, mut device) = (0_u64, 0);
    let mut written = 0_u64;
    if let Some(floor) = &plan.floor {
        footprint += floor.footprint_bytes(on.raw);
        device = site::device_bytes(FILE_BYTES);
        written = floor.expected_bytes();
    }
    if !plan.rows.is_empty() {
        let logs = plan.log.footprint_bytes().saturating_mul(on.logs.into());
        footprint = footprint.saturating_add(logs);
        device = device.max(redo::engine::raw::device_bytes(&plan.log.shape));
        let rows = plan.rows.iter().map(expected_bytes);
        let once = rows.fold(0, u64::saturating_add);
        let once = once.saturating_mul(plan.log.copies());
        written = written.saturating_add(once.saturating_mul(u64::from(on.rounds)));
    }
    let expected = written.saturating_add(footprint);
    let has_log = !plan.rows.is_empty() && plan.log.stripe.is_none();
    let files = u64::from(plan.log.shape.groups) * plan.log.copies() * u64::from(on.logs);
    PlannedWrites {
        footprint_bytes: footprint,
        log_files: if has_log {
            files * u64::from(plan.log.nodes.max(1))
        } else {
            0
        },
        log_file_bytes: plan.log.shape.file_bytes,
        device_bytes: device,
        expected_bytes: expected,
        write_bytes: plan
            .max_write_bytes
            .map_or(expected, |max| max.min(expected)),
        max_write_bytes: plan.max_write_bytes,
        // A cast saturates.
        endurance_bytes: plan.judgement.need.rated_bytes.map(|bytes| bytes as u64),
        is_server: false,
    }
}

impl Prepared<'_> {
    /// The same of a log that is written as `plan` says, after a probe that has written so many
    /// bytes beside it.
    pub(crate) fn after_probe<'b>(
        &self,
        plan: &'b MeasurementPlan,
        probed_bytes: u64,
    ) -> Prepared<'b> {
        Prepared {
            plan,
            writes: self.writes,
            limits: self.limits.clone(),
            thresholds: self.thresholds.clone(),
            all_bytes: self.all_bytes,
            takes: self.takes,
            making_bytes: self.making_bytes,
            probed_bytes,
        }
    }

    /// How the log is made, now that `floor` was measured.
    pub(crate) fn setup(&self, floor: &[FloorRow]) -> Setup {
        let (log, limits) = (&self.plan.log, &self.limits);
        let probes = self.plan.floor.is_none();
        let best = match (limits.direct_only, probes) {
            (true, _) => Some(SyncMethod::Direct),
            (false, false) => floor::best(floor),
            (false, true) => None,
        };
        let otherwise = match probes {
            true => SyncMethod::Direct,
            false => SyncMethod::Buffered,
        };
        Setup {
            log: log.clone(),
            sync_method: log.sync_method.or(best).unwrap_or(otherwise),
            probe: log.sync_method.is_none() && probes && !limits.direct_only,
            budget: Arc::clone(&limits.budget),
            making_bytes: self.making_bytes,
            probed_bytes: self.probed_bytes,
            background: PlacedBackground::default(),
        }
    }

    /// What the plan leaves out on purpose, and what its limits left out.
    pub(crate) fn not_judged(&self) -> Vec<String> {
        let mut left_out = self.plan.judgement.not_judged.clone();
        if self.plan.floor.is_some() && self.limits.leaves_floor_out() {
            left_out.push("the device's floor (--max-write)".to_owned());
        }
        left_out
    }
}
