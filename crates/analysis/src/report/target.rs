//! Where the log lived: the stack drawn top to bottom, the device's floor, and the machine.

use super::escape::esc;
use super::log_options::log_options;
use super::topic::Topic;
use super::{Section, entries, pairs};
use crate::account::place::{engine, kind, log_files};
use crate::account::stack::{layer_facts, layer_name};
use crate::format;
use measure::run::{
    DatabaseFacts, RedoCalibration, RedoLogFacts, RedoWorkload, Run, TargetFacts, WorkloadInfo,
};
use measure::stack::{Layer, LayerKind, Stack};

/// The layers from the path down to the medium; empty where none is known.
pub(super) fn layers(stack: &Stack) -> String {
    let list = entries(
        &stack.layers.iter().enumerate().collect::<Vec<_>>(),
        |(i, l)| layer(l, stack.depths.get(*i).copied().unwrap_or(0)),
    );
    if list.is_empty() {
        String::new()
    } else {
        format!("<ol class=\"stack\">{list}</ol>")
    }
}

pub(super) fn stack(run: &Run) -> Option<Section> {
    let target = &run.target;
    let stack = &target.stack;
    let layers = layers(stack);
    let mut facts = vec![
        ("Path", Some(target.path.clone())),
        ("Kind", Some(target.kind.clone())),
    ];
    facts.extend(facts_of(&target.facts));
    facts.extend([
        ("Hypervisor", stack.hypervisor.clone()),
        ("Preloaded", stack.preload.clone()),
    ]);
    let facts = pairs(&facts);
    let section = Section::html(
        "stack",
        "Storage stack",
        "The layers from the path down to the medium; the worst layer decides. A marked layer cannot keep a log, or drops its flushes.",
        format!("<div class=\"two wide-left\"><div>{layers}</div><div>{facts}</div></div>"),
    );
    section.map(|s| s.shows(Topic::Stack))
}

fn nonzero(bytes: u64) -> Option<String> {
    (bytes > 0).then(|| format::bytes(bytes))
}

/// What only this kind of target has.
fn facts_of(facts: &TargetFacts) -> Vec<(&'static str, Option<String>)> {
    match facts {
        TargetFacts::Unknown => Vec::new(),
        TargetFacts::RedoLog(log) => vec![
            ("Sync method", Some(log.sync_method.clone())),
            ("I/O engine", engine(log)),
            ("Log files", log_files(log)),
            ("Redo block", nonzero(u64::from(log.redo_block_bytes))),
            ("Log writes padded to", nonzero(u64::from(log.seal_bytes))),
            ("Log buffer", log_buffer(log)),
            (
                "Unwritten extents",
                log.unwritten_extents.map(format::count),
            ),
            ("Not available", Some(log.fallbacks.join("; "))),
        ],
        TargetFacts::Database(server) => {
            let setting = |(name, value): (&String, &String)| format!("{name}={value}");
            let settings: Vec<String> = server.settings.iter().map(setting).collect();
            vec![
                ("Product", Some(server.product.clone())),
                ("Version", Some(server.version.clone())),
                ("Settings", Some(settings.join(", "))),
                ("Log opened with", server.log_open_flags.clone()),
                ("Directory of the log", server.log_directory.clone()),
                ("Redo per commit, as measured", calibrations(server)),
            ]
        }
        TargetFacts::Imported(imported) => vec![("Evidence", Some(imported.evidence.join(", ")))],
        TargetFacts::Simulated(of) => vec![
            ("Model", Some(of.model.clone())),
            ("Processors", nonzero(of.processors.into())),
            ("Log writer", Some(of.log_writer.clone())),
            ("Log file sync", Some(of.log_file_sync.clone())),
            ("Flush triggers", Some(of.flush_triggers.clone())),
            ("Size of the log", nonzero(of.log_bytes)),
            ("Log buffer", nonzero(of.log_buffer_bytes)),
        ],
        TargetFacts::Watched(log) => {
            let system_calls = log.traces_system_calls.then(|| "traced".to_owned());
            vec![
                ("Written by", Some(log.product.clone())),
                ("Log files", Some(log.log_files.join(", "))),
                ("Size of the log", nonzero(log.log_bytes)),
                ("Log opened with", Some(log.open_flags.join(", "))),
                ("Trace events", Some(log.events.join(", "))),
                ("System calls", system_calls),
            ]
        }
    }
}

/// What was measured of the redo of each workload; `None` where it is exact.
fn calibrations(server: &DatabaseFacts) -> Option<String> {
    let text = |found: &RedoCalibration| {
        format!(
            "{} commits of {}: mean {} bytes, median {}, standard deviation {}, from {} to {} \
             (requested: {}; rows: {} of {} bytes)",
            format::count(found.commits),
            found.workload,
            format::count(found.mean_bytes),
            format::count(found.median_bytes),
            format::count(found.deviation_bytes),
            format::count(found.least_bytes),
            format::count(found.most_bytes),
            format::count(found.redo_bytes),
            found.rows,
            format::count(u64::from(found.row_bytes)),
        )
    };
    let texts: Vec<String> = server.calibrations.iter().map(text).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

fn log_buffer(log: &RedoLogFacts) -> Option<String> {
    let pages = if log.huge_pages { ", huge pages" } else { "" };
    nonzero(log.log_buffer_bytes).map(|b| b + pages)
}

fn layer(l: &Layer, depth: usize) -> String {
    let is_volatile = matches!(
        l.kind,
        LayerKind::MemoryFileSystem | LayerKind::Zram | LayerKind::RamDisk
    );
    let flag = if is_volatile { " flag" } else { "" };
    let facts = layer_facts(l);
    let facts = if facts.is_empty() {
        String::new()
    } else {
        format!("<span class=\"f\">{}</span>", esc(&facts.join(" · ")))
    };
    format!(
        "<li class=\"d{}{flag}\"><span class=\"k\">{}</span><b>{}</b>{facts}</li>",
        depth.min(4),
        kind(l),
        esc(&layer_name(l))
    )
}

/// The shortest and the longest measured time of a row.
fn measured_time(run: &Run) -> Option<String> {
    let times = || {
        run.rows
            .iter()
            .filter_map(|r| r.elapsed_s)
            .filter(|s| s.is_finite())
    };
    let (least, most) = (times().reduce(f64::min)?, times().reduce(f64::max)?);
    let (least, most) = (format::digits(least), format::digits(most));
    Some(match least == most {
        true => format!("{least} s"),
        false => format!("{least} to {most} s"),
    })
}

fn redo_work(w: &RedoWorkload) -> Vec<(&'static str, Option<String>)> {
    let jobs: Vec<String> = w.jobs.iter().take(64).map(u32::to_string).collect();
    let seconds = |s: f64| format!("{} s", format::digits(s));
    vec![
        ("Jobs", Some(jobs.join(", "))),
        ("Time asked for per row", w.time_s.map(seconds)),
        ("Commits per session", w.commits.map(format::count)),
        ("Warm-up per row", Some(seconds(w.warmup_s))),
        (
            "CPU work per commit",
            Some(format!("{} µs", format::digits(w.cpu_per_txn_us))),
        ),
        ("COMMIT WRITE", commit_write(w)),
        ("Commit API", w.commit_api.clone()),
    ]
}

/// `WAIT IMMEDIATE` where all workloads commit alike, else each with its name.
fn commit_write(w: &RedoWorkload) -> Option<String> {
    let (_, first) = w.commit_write.first_key_value()?;
    if w.commit_write.values().all(|mode| mode == first) {
        return Some(first.to_string());
    }
    let each = w.commit_write.iter();
    let each: Vec<String> = each.map(|(name, mode)| format!("{name} {mode}")).collect();
    Some(each.join(", "))
}

pub(super) fn environment(run: &Run) -> Option<Section> {
    let e = &run.environment;
    let machine = pairs(&[
        ("Host", Some(e.hostname.clone())),
        ("Kernel", Some(e.kernel.clone())),
        ("Processor", Some(e.cpu_model.clone())),
        (
            "Processors online",
            (e.cpus > 0).then(|| e.cpus.to_string()),
        ),
        ("Memory", nonzero(e.memory_bytes)),
        ("Frequency governor", e.governor.clone()),
    ]);
    let mut work = vec![
        ("Workloads", Some(run.workload.names().join(", "))),
        ("Measured time per row", measured_time(run)),
    ];
    if let WorkloadInfo::Redo(load) = &run.workload {
        work.extend(redo_work(load));
    }
    if let Some(log) = run.target.redo_log() {
        work.extend(log_options(log));
    }
    if let WorkloadInfo::Redo(load) = &run.workload {
        work.push(("Seed", Some(load.seed.to_string())));
    }
    let work = pairs(&work);
    let section = Section::html(
        "environment",
        "Environment",
        "",
        format!("<div class=\"two\"><div>{machine}</div><div>{work}</div></div>"),
    );
    section.map(|s| s.shows(Topic::Environment))
}
