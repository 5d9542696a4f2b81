//! What rounds take before they begin: seconds and bytes. Plain functions of a plan; whoever asks
//! before much is written calls [`estimate`].

use super::super::expected::expected_bytes;
use super::super::plan::{PlannedTarget, RoundsPlan};
use measure::words;

/// What a comparison in rounds takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundsEstimate {
    /// Seconds of warm-up and measured time of all rounds at most; `None` where commits are counted,
    /// which takes as long as the targets need.
    pub seconds: Option<f64>,
    /// Bytes that are written to each target at most, its log files included; 0 where redolab makes
    /// no log, and does not know.
    pub bytes_each: u64,
    /// Bytes that are written to all targets at most.
    pub bytes_all: u64,
}

/// What `plan` takes.
#[must_use]
pub fn estimate(plan: &RoundsPlan) -> RoundsEstimate {
    let (rows, rounds) = (&plan.measured.rows, u64::from(plan.rounds));
    let timed = rows.iter().all(|row| row.commits.is_none());
    let once: f64 = rows
        .iter()
        .map(|row| row.time.plus(row.warmup).as_secs())
        .sum();
    let own = |t: &&super::super::plan::NamedTarget| matches!(t.target, PlannedTarget::Path { .. });
    let own = plan.targets.iter().filter(own).count() as u64;
    let of_rows = rows.iter().map(expected_bytes).fold(0, u64::saturating_add);
    let each = of_rows
        .saturating_mul(rounds)
        .saturating_add(plan.measured.log.footprint_bytes());
    let all = each.saturating_mul(own);
    let most = plan.measured.max_write_bytes.unwrap_or(u64::MAX);
    RoundsEstimate {
        seconds: timed.then(|| once * f64::from(plan.rounds) * plan.targets.len() as f64),
        bytes_each: if own == 0 { 0 } else { each.min(most) },
        bytes_all: all.min(most),
    }
}

/// The plan in words: rounds, order, seconds and GiB.
pub(super) fn lines(plan: &RoundsPlan) -> Vec<String> {
    let e = estimate(plan);
    let names: Vec<&str> = plan.targets.iter().map(|t| t.name.as_str()).collect();
    let time = e.seconds.map_or_else(String::new, |s| {
        format!(", at most {} s in all", words::digits(s.ceil()))
    });
    let mut lines = vec![format!(
        "Rounds: {} on each of {}, every second one in reverse order{time}.",
        plan.rounds,
        names.join(", ")
    )];
    if e.bytes_all > 0 {
        lines.push(format!(
            "Writes at most {:.1} GiB to each target, {:.1} GiB in all.",
            gib(e.bytes_each),
            gib(e.bytes_all)
        ));
    }
    let capped = plan
        .measured
        .rows
        .iter()
        .find(|row| row.max_redo_bytes < u64::MAX);
    if let Some(row) = capped {
        lines.push(format!(
            "A row ends after {} s, or earlier after {} of redo; with --time it runs for the whole \
             time.",
            row.time.as_secs(),
            words::bytes(row.max_redo_bytes)
        ));
    }
    lines
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1_u64 << 30) as f64
}

#[cfg(test)]
mod tests {
    use super::super::super::plan::{LogPlan, MeasurementPlan, NamedTarget};
    use super::super::super::row::Spec;
    use super::*;
    use measure::Nanos;
    use measure::workload::Workload;

    fn plan(rounds: u32, spec: Spec) -> RoundsPlan {
        let target = |name: &str| NamedTarget {
            name: name.to_owned(),
            target: PlannedTarget::Path {
                path: name.into(),
                destroy: None,
                more: Vec::new(),
            },
            log: None,
        };
        RoundsPlan {
            targets: vec![target("a"), target("b")],
            rounds,
            own_back_ends: false,
            measured: MeasurementPlan {
                rows: vec![spec],
                ..MeasurementPlan::default()
            },
        }
    }

    #[test]
    fn seconds_and_bytes_are_of_all_rounds() {
        let (time, warmup) = (Nanos::from_secs(2), Nanos::from_millis(500));
        let mut spec = Spec::closed(Workload::standard().swap_remove(0), 8, time, warmup);
        spec.max_redo_bytes = 256 << 20;
        let found = estimate(&plan(5, spec.clone()));
        assert_eq!(found.seconds, Some(25.0));
        let each = 5 * (384 << 20) + LogPlan::default().footprint_bytes();
        assert_eq!((found.bytes_each, found.bytes_all), (each, 2 * each));
        let lines = lines(&plan(5, spec.clone()));
        assert!(
            lines[0].contains("5 on each of a, b") && lines[0].contains("25.0 s"),
            "{lines:?}"
        );
        assert!(
            lines[1].contains("2.6 GiB to each") && lines[1].contains("5.3 GiB in all"),
            "{lines:?}"
        );
        assert!(
            lines[2].contains("after 2 s, or earlier after 256 MiB"),
            "{lines:?}"
        );
        spec.commits = Some(10);
        let mut counted = plan(5, spec);
        counted.measured.max_write_bytes = Some(7);
        let found = estimate(&counted);
        assert_eq!(
            (found.seconds, found.bytes_each, found.bytes_all),
            (None, 7, 7)
        );
    }
}
