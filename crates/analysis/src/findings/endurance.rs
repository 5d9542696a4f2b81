//! How long the drive's rated endurance lasts: at the rate that is needed, else at the highest that
//! was measured, written without a pause.

use super::catalogue;
use super::note::Note;
use super::space::amplification_factor;
use super::{Bad, Caution, Good, Info};
use crate::format;
use crate::rows::{fastest, judged_rows, name_of};
use crate::thresholds::{Limit, RuleBasis, Thresholds};
use measure::run::{Row, Run};
use measure::stack::LayerKind;

const DAY_S: f64 = 86_400.0;
const YEAR_S: f64 = 365.25 * DAY_S;

/// Redo that is written: bytes per second, the row whose padding goes with it, and whose rate it
/// is.
struct Load<'a> {
    bytes_per_s: f64,
    row: &'a Row,
    needed: bool,
}

pub(super) fn collect(run: &Run, t: &Thresholds, notes: &mut Vec<Note>) {
    let Some((rated, load)) = run.need.rated_bytes.zip(load(run)) else {
        return;
    };
    let each = amplification_factor(load.row).unwrap_or(1.0);
    let written = load.bytes_per_s * each;
    if written <= 0.0 || rated <= 0.0 {
        return;
    }
    let years = rated / written / YEAR_S;
    let limit = wanted(run, t);
    let lasts = years >= limit.value;
    let entry = if load.needed {
        &catalogue::NEED_ENDURANCE
    } else {
        &catalogue::SPACE_ENDURANCE
    };
    let weight = match (load.needed, lasts) {
        (_, true) => Good,
        (true, false) if years < limit.value / (1.0 + t.headroom_pct.value / 100.0) => Bad,
        (true, false) => Caution,
        (false, false) => Info,
    };
    let rate = if load.needed {
        "the needed rate"
    } else {
        "the highest measured rate, without a pause"
    };
    let mb = measure::units::MB_BYTES;
    let capacity = capacity(run);
    // What data sheets state beside TBW.
    let per_day = |bytes_per_s: f64| capacity.map(|capacity| bytes_per_s * DAY_S / capacity);
    let (used, allowed) = (per_day(written), per_day(rated / (limit.value * YEAR_S)));
    let drive_writes = match (capacity, used, allowed) {
        (Some(capacity), Some(used), Some(allowed)) => format!(
            " These are {} drive writes per day (DWPD) of {} TB; the rating allows {} over {} years.",
            format::digits(used),
            format::digits(capacity / 1e12),
            format::digits(allowed),
            format::digits(limit.value),
        ),
        _ => String::new(),
    };
    notes.push(
        Note::of(
            entry,
            weight,
            format!(
                "The rated endurance of {} TB lasts {} years at {rate}: {} MB/s of redo, {} bytes on the device per byte of redo ({}).{drive_writes}",
                format::digits(rated / 1e12),
                format::digits(years),
                format::digits(load.bytes_per_s / mb),
                format::digits(each),
                name_of(load.row),
            ),
        )
        .number("years", years)
        .number("rated_bytes", rated)
        .number("written_bytes_per_s", written)
        .number("write_amplification", each)
        .maybe("drive_writes_per_day", used)
        .maybe("rated_drive_writes_per_day", allowed)
        .limit(format!("at least {} years", limit.value), &limit)
        .advice_if(weight != Good),
    );
}

/// Bytes of the drive, where it is a single one.
fn capacity(run: &Run) -> Option<f64> {
    let layers = run.target.stack.layers.iter();
    let mut disks = layers.filter(|layer| layer.kind == LayerKind::Disk);
    let size = disks.next()?.size_bytes.filter(|bytes| *bytes > 0)?;
    disks.next().is_none().then_some(size as f64)
}

fn wanted(run: &Run, t: &Thresholds) -> Limit {
    match run.need.years {
        Some(value) => Limit {
            value,
            basis: RuleBasis::Opinion,
            source: "the need: --years".to_owned(),
        },
        None => t.endurance_years.clone(),
    }
}

/// By the needed redo rate, else the needed commits of LGWR-LAT1, else the fastest row.
fn load(run: &Run) -> Option<Load<'_>> {
    let (fastest, fastest_mbps) = fastest(run).filter(|(_, mbps)| *mbps > 0.0)?;
    if let Some(bytes_per_s) = run.need.redo_bytes_per_s {
        return Some(Load {
            bytes_per_s,
            row: fastest,
            needed: true,
        });
    }
    let commits = run.need.commit_rate.and_then(|rate| {
        let enough = |r: &&Row| r.commit_throughput_tps >= Some(rate) && r.commits > Some(0);
        let rows = judged_rows(run);
        // The row that is least beyond the need has the padding of its groups.
        let row = rows
            .iter()
            .copied()
            .find(enough)
            .or_else(|| rows.last().copied())?;
        let each = row.redo().redo_size_bytes? as f64 / row.commits?.max(1) as f64;
        Some(Load {
            bytes_per_s: rate * each,
            row,
            needed: true,
        })
    });
    commits.or(Some(Load {
        bytes_per_s: fastest_mbps * measure::units::MB_BYTES,
        row: fastest,
        needed: false,
    }))
}
