//! Sweeps of jobs: identities between columns, Little's law, waits against the commit mode, the
//! block size that shows, and peaks.

use crate::findings::catalogue;
use crate::findings::evidence::view::{Line, Tables, place, show};
use crate::findings::note::Note;
use crate::findings::{Bad, Caution, Info};
use std::collections::BTreeMap;

/// How near jobs / throughput has to be to the latency, in every row, to be the same thing.
const LITTLE: f64 = 0.01;
/// Waste from which a workload is named.
const WASTE: f64 = 0.3;
/// Growth of the latency beyond the peak from which it is reported.
const PEAK: f64 = 1.2;
/// Sizes of redo blocks.
const BLOCKS: [f64; 4] = [512.0, 1024.0, 2048.0, 4096.0];

/// Platform and workload, and its lines by ascending jobs.
pub(crate) type Groups<'a> = BTreeMap<(&'a str, &'a str), Vec<Line<'a>>>;

pub(crate) fn groups<'a>(tables: &Tables<'a>) -> Groups<'a> {
    let mut groups: Groups<'a> = BTreeMap::new();
    for line in tables.lines("published_runs") {
        let key = (line.text("platform"), line.text("workload"));
        groups.entry(key).or_default().push(line);
    }
    for lines in groups.values_mut() {
        let jobs = |l: &Line<'_>| l.number("jobs").unwrap_or(0.0);
        lines.sort_by(|a, b| jobs(a).total_cmp(&jobs(b)));
    }
    groups
}

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let groups = groups(tables);
    pairing(tables, notes);
    identity(&groups, notes);
    little(&groups, notes);
    commit_mode(tables, &groups, notes);
    blocks(&groups, notes);
    peaks(&groups, notes);
}

/// Headings of one kind are one misprint, however often they are printed.
fn pairing(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let mut kinds: BTreeMap<(u64, u64, &str), Vec<Line<'_>>> = BTreeMap::new();
    for line in tables.lines("column_pairing") {
        let get = |key: &str| line.number(key).unwrap_or(0.0) as u64;
        let key = (get("names"), get("values"), line.text("left_out"));
        kinds.entry(key).or_default().push(line);
    }
    for ((names, values, left_out), lines) in kinds {
        let sum = |key: &str| lines.iter().filter_map(|l| l.number(key)).sum::<f64>();
        let (before, after) = (sum("failing_before"), sum("failing_after"));
        let headings = match lines.len() {
            1 => "The heading has".to_owned(),
            n => format!("{n} headings have"),
        };
        let places: Vec<String> = lines.iter().map(|l| place(l.table())).collect();
        let claim = format!(
            "{headings} {names} names for {values} values: read by the names alone {before} checks between \
             columns fail, without `{left_out}` {after} do ({})",
            places.join(", ")
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_COLUMNS, Bad, claim)
                .number("headings", lines.len() as f64)
                .number("failing_before", before)
                .number("failing_after", after)
                .rule("as many names as values"),
        );
    }
}

/// kB a transaction x transactions a second / 1024 is MB per second.
fn identity(groups: &Groups<'_>, notes: &mut Vec<Note>) {
    for ((platform, workload), lines) in groups {
        let mut off = 0;
        let mut worst: Option<(f64, String)> = None;
        for line in lines {
            let get = |key: &str| line.number(key);
            let (Some(kb), Some(tps), Some(mb)) = (
                get("redo_data_kb_per_txn"),
                get("commit_throughput_tps"),
                get("redo_data_mbps"),
            ) else {
                continue;
            };
            let computed = kb * tps / 1024.0;
            if (computed - mb).abs() <= 0.5 + 0.01 * mb.max(computed) {
                continue;
            }
            off += 1;
            let far = (computed / mb.max(1e-9)).ln().abs();
            if worst.as_ref().is_none_or(|(w, _)| far > *w) {
                let words = format!("{kb} kB x {tps} / 1024 = {}, not {mb} MB/s", show(computed));
                worst = Some((far, words));
            }
        }
        let Some((_, words)) = worst else { continue };
        let claim = format!(
            "{workload} on {platform}: in {off} of {} lines names and values do not pair up: {words}",
            lines.len()
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_COLUMNS, Bad, claim)
                .number("lines_off", off as f64)
                .rule("redo per transaction x throughput is redo per second")
                .no_advice(),
        );
    }
}

fn little(groups: &Groups<'_>, notes: &mut Vec<Note>) {
    let (mut same, mut all, mut far) = (0_u64, 0_u64, 0.0_f64);
    for ((platform, workload), lines) in groups {
        for line in lines {
            let get = |key: &str| line.number(key).filter(|v| *v > 0.0);
            let (Some(jobs), Some(tps), Some(ms)) = (
                get("jobs"),
                get("commit_throughput_tps"),
                get("commit_latency_ms"),
            ) else {
                continue;
            };
            let expected = 1000.0 * jobs / tps;
            all += 1;
            let off = ms / expected - 1.0;
            // Three decimals of the latency, whole transactions.
            let rounding = 0.0005 / ms + 0.5 / tps;
            far = far.max(off.abs());
            same += u64::from(off.abs() <= LITTLE.max(rounding));
            if off > 0.02 + rounding {
                let claim = format!(
                    "{workload} on {platform}, {jobs} jobs: {tps} transactions per second of {ms} ms each \
                     keep {} jobs busy (Little's law), more than there are",
                    show(tps * ms / 1000.0)
                );
                notes.push(
                    Note::of(&catalogue::EVIDENCE_LITTLE, Bad, claim)
                        .number("jobs", jobs)
                        .number("busy", tps * ms / 1000.0),
                );
            }
        }
    }
    if all >= 3 && same == all {
        let claim = format!(
            "commit latency is jobs / throughput in all {all} lines (largest difference {:.2} %): the \
             response time of whole transactions, not a sampled wait; only log file sync is a wait",
            100.0 * far
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_RESPONSE_TIME, Info, claim)
                .number("lines", all as f64)
                .number("largest_difference_pct", 100.0 * far)
                .rule(format!("within {} % in every line", 100.0 * LITTLE)),
        );
    }
}

fn commit_mode(tables: &Tables<'_>, groups: &Groups<'_>, notes: &mut Vec<Note>) {
    for stated in tables
        .lines("commit_modes")
        .filter(|l| l.text("mode").contains("NOWAIT"))
    {
        let name = stated.text("workload");
        let lines: Vec<&Line<'_>> = groups
            .iter()
            .filter(|((_, workload), _)| *workload == name)
            .flat_map(|(_, lines)| lines)
            .collect();
        let ratio = |l: &Line<'_>| {
            let waited = l.number("redo_synch_writes_iops")?;
            let tps = l.number("commit_throughput_tps").filter(|t| *t > 0.0)?;
            Some((waited / tps, l.number("log_file_sync_ms").unwrap_or(0.0)))
        };
        let found: Vec<(f64, f64)> = lines.iter().filter_map(|l| ratio(l)).collect();
        let waiting: Vec<&(f64, f64)> = found
            .iter()
            .filter(|(r, ms)| *r >= 0.5 && *ms > 0.0)
            .collect();
        if waiting.is_empty() || waiting.len() * 2 < found.len() {
            continue;
        }
        let range = |f: fn(&(f64, f64)) -> f64| {
            let all = waiting.iter().map(|w| f(w));
            all.fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(v), b.max(v)))
        };
        let (ratios, waits) = (range(|w| w.0), range(|w| w.1));
        let claim = format!(
            "the text describes {name} as committing with {}, but {} of {} lines have from {:.3} to {:.3} \
             redo synch writes per transaction and a log file sync from {} to {} ms: its sessions \
             waited",
            stated.text("mode"),
            waiting.len(),
            found.len(),
            ratios.0,
            ratios.1,
            waits.0,
            waits.1
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_COMMIT_MODE, Bad, claim)
                .number("synch_writes_per_txn", ratios.0)
                .number("log_file_sync_max_ms", waits.1),
        );
    }
}

/// Bytes of redo in a block written, of a line.
fn block_bytes(line: &Line<'_>) -> Option<f64> {
    let get = |key: &str| line.number(key).filter(|v| *v > 0.0);
    let kb = get("redo_data_kb_per_txn")?;
    let tps = get("commit_throughput_tps")?;
    Some(kb * 1024.0 * tps / get("redo_blocks_per_s")?)
}

fn blocks(groups: &Groups<'_>, notes: &mut Vec<Note>) {
    let mut fullest: BTreeMap<&str, f64> = BTreeMap::new();
    for ((platform, _), lines) in groups {
        for bytes in lines.iter().filter_map(block_bytes) {
            let most = fullest.entry(platform).or_insert(0.0);
            *most = most.max(bytes);
        }
    }
    let size = |full: f64| BLOCKS.into_iter().find(|b| full <= b * 1.005);
    let sizes: Vec<(&str, f64, Option<f64>)> = fullest
        .iter()
        .map(|(p, full)| (*p, *full, size(*full)))
        .collect();
    let differ = sizes.windows(2).any(|w| w[0].2 != w[1].2);
    for (platform, full, size) in &sizes {
        let Some(size) = size else {
            let claim = format!(
                "{platform}: {} bytes of redo in a block are more than any redo block \
                 holds",
                show(*full)
            );
            notes.push(
                Note::of(&catalogue::EVIDENCE_BLOCK_SIZE, Bad, claim).rule("at most 4096 bytes"),
            );
            continue;
        };
        if differ {
            let claim = format!(
                "{platform} writes redo blocks of {size} bytes: up to {} bytes of redo are in a block \
                 (redo per second / blocks per second)",
                show(*full)
            );
            let note = Note::of(&catalogue::EVIDENCE_BLOCK_SIZE, Info, claim);
            notes.push(note.number("block_bytes", *size));
        }
        wastage(groups, platform, *size, notes);
    }
}

fn wastage(groups: &Groups<'_>, platform: &str, size: f64, notes: &mut Vec<Note>) {
    for ((_, workload), lines) in groups.iter().filter(|((p, _), _)| *p == platform) {
        let waste: Vec<f64> = lines
            .iter()
            .filter_map(|l| Some(1.0 - block_bytes(l)? / size))
            .collect();
        let (low, high) = waste
            .iter()
            .fold((f64::MAX, f64::MIN), |(a, b), w| (a.min(*w), b.max(*w)));
        if waste.is_empty() || low < WASTE {
            continue;
        }
        let bytes = |w: f64| show((1.0 - w) * size);
        let claim = format!(
            "{workload} on {platform} wastes {:.0} to {:.0} % of what its log writes: {} to {} bytes of \
             redo in blocks of {size}",
            100.0 * low,
            100.0 * high,
            bytes(high),
            bytes(low)
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_WASTAGE, Caution, claim)
                .number("wastage_low_pct", 100.0 * low)
                .number("wastage_high_pct", 100.0 * high)
                .number("block_bytes", size)
                .rule(format!("under {:.0} %", 100.0 * WASTE)),
        );
    }
}

/// Where throughput is past its peak and only the latency grows.
fn peaks(groups: &Groups<'_>, notes: &mut Vec<Note>) {
    for ((platform, workload), lines) in groups {
        let points: Vec<(f64, f64, f64)> = lines
            .iter()
            .filter_map(|l| {
                let get = |key: &str| l.number(key);
                Some((
                    get("jobs")?,
                    get("commit_throughput_tps")?,
                    get("commit_latency_ms")?,
                ))
            })
            .collect();
        let peak = (0..points.len()).max_by(|a, b| points[*a].1.total_cmp(&points[*b].1));
        let Some(peak) = peak else { continue };
        let (Some(last), beyond) = (points.last(), points.len() - 1 - peak) else {
            continue;
        };
        let (jobs, tps, ms) = points[peak];
        if beyond < 2 || last.2 < PEAK * ms {
            continue;
        }
        let claim = format!(
            "{workload} on {platform} peaks at {jobs} jobs with {} per second: with {} jobs it is {}, and \
             only the latency grows, from {ms} to {} ms (a knee)",
            show(tps),
            last.0,
            show(last.1),
            last.2
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_KNEE, Info, claim)
                .number("jobs", jobs)
                .number("throughput", tps)
                .rule(format!("two lines past the peak, latency up by {PEAK}")),
        );
    }
}
