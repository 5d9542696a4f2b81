//! How two runs were set up differently: what was measured, with which options of the log and of
//! the load, on which processor.
//!
//! Invariants: every option of a run that may explain a difference is compared here; one that a run
//! did not record is said to be so, and is never taken to be equal.

use crate::format;
use measure::run::{RedoLogFacts, RedoWorkload, Run, TargetFacts, WorkloadInfo};

/// An option by its name; `None` where the run did not record it.
type Setting = (String, Option<String>);

/// What differs between the runs as such, each with a sentence.
pub(super) fn differences(base: &Run, other: &Run) -> Vec<(String, String)> {
    let (a, b) = (settings(base, other), settings(other, base));
    let value = |of: &[Setting], name: &str| {
        let found = of.iter().find(|(own, _)| own == name);
        found.and_then(|(_, value)| value.clone())
    };
    let only_there = b
        .iter()
        .filter(|(name, _)| a.iter().all(|(own, _)| own != name));
    let names = a.iter().chain(only_there).map(|(name, _)| name);
    names
        .filter_map(|name| {
            let (a, b) = (value(&a, name), value(&b, name));
            let shown = |v: &Option<String>| v.clone().unwrap_or_else(|| "not recorded".to_owned());
            let why = || {
                let (a, b) = (shown(&a), shown(&b));
                format!("{a} in the base, {b} here: a difference may be due to it")
            };
            (a != b).then(|| (name.clone(), why()))
        })
        .collect()
}

fn text(name: &str, value: &str) -> Setting {
    let value = (!value.is_empty()).then(|| value.to_owned());
    (name.to_owned(), value)
}

/// All settings of a run that is compared with `beside`.
fn settings(run: &Run, beside: &Run) -> Vec<Setting> {
    let origin = format!("{:?}", run.origin).to_lowercase();
    let mut all = vec![text("origin", &origin)];
    if let WorkloadInfo::Redo(load) = &run.workload {
        all.extend(of_load(load));
        all.extend(commit_write(load, beside.workload.redo()));
    }
    let (own, other) = (&run.target.facts, &beside.target.facts);
    if product(own) != product(other) {
        // What one system has no setting of is no difference of settings.
        all.push(text("system", &system(own)));
        all.push(text("processor", &run.environment.cpu_model));
        return all;
    }
    match own {
        TargetFacts::Unknown => {}
        TargetFacts::RedoLog(log) => all.extend(of_log(log)),
        TargetFacts::Database(server) => {
            all.push(text("database", &server.product));
            all.push(text("version of the database", &server.version));
            let set = server.settings.iter();
            all.extend(set.map(|(name, value)| text(&format!("setting {name}"), value)));
        }
        TargetFacts::Imported(imported) => {
            all.push(text("kinds of evidence", &imported.evidence.join(", ")));
        }
        TargetFacts::Simulated(of) => {
            all.push(text("model", &of.model));
            all.push(text("log writer", &of.log_writer));
            all.push(text("log file sync", &of.log_file_sync));
            all.push(text("processors of the model", &of.processors.to_string()));
        }
        TargetFacts::Watched(log) => {
            all.push(text("log opened with", &log.open_flags.join(", ")));
        }
    }
    all.push(text("processor", &run.environment.cpu_model));
    all
}

/// The product of a database, whose settings have names of their own.
fn product(facts: &TargetFacts) -> Option<&str> {
    match facts {
        TargetFacts::Database(server) => Some(&server.product),
        TargetFacts::Watched(log) => Some(&log.product),
        _ => None,
    }
}

fn system(facts: &TargetFacts) -> String {
    match facts {
        TargetFacts::Unknown => String::new(),
        TargetFacts::RedoLog(_) => "redolab's own log".to_owned(),
        TargetFacts::Database(server) => format!("{} {}", server.product, server.version),
        TargetFacts::Imported(_) => "evidence".to_owned(),
        TargetFacts::Watched(log) => format!("{}, watched", log.product),
        TargetFacts::Simulated(_) => "a model of redolab's own log".to_owned(),
    }
}

fn of_load(load: &RedoWorkload) -> Vec<Setting> {
    let arrivals = match &load.arrivals {
        Some(arrivals) => format!("an open loop ({arrivals:?})"),
        None => "a closed loop".to_owned(),
    };
    let time = match load.time_s {
        Some(seconds) => format!("{seconds} s"),
        None => "counted commits".to_owned(),
    };
    let payload = load.payload.as_ref().map_or(String::new(), |p| {
        format!(
            "compressibility {}, deduplication {}",
            p.compressibility, p.dedupe
        )
    });
    vec![
        text("commit API", load.commit_api.as_deref().unwrap_or("")),
        text(
            "CPU work before each commit",
            &format!("{} µs", load.cpu_per_txn_us),
        ),
        text("arrivals", &arrivals),
        text("measured time", &time),
        text("payload", &payload),
    ]
}

/// `COMMIT WRITE` of the workloads that both runs have; of all of them where one of both runs
/// recorded none.
fn commit_write(load: &RedoWorkload, beside: Option<&RedoWorkload>) -> Vec<Setting> {
    let both = |name: &str| beside.is_none_or(|b| b.commit_write.contains_key(name));
    let unrecorded = beside.is_none_or(|b| b.commit_write.is_empty());
    let all = load.commit_write.iter();
    all.filter(|(name, _)| unrecorded || both(name))
        .map(|(name, mode)| text(&format!("COMMIT WRITE of {name}"), &mode.to_string()))
        .collect()
}

fn of_log(log: &RedoLogFacts) -> Vec<Setting> {
    let known = |value: &Option<String>| value.clone().unwrap_or_default();
    let cpus = log.log_writer_cpus.iter().map(u32::to_string);
    let cpus = match log.log_writer_cpus.is_empty() {
        true => "any".to_owned(),
        false => cpus.collect::<Vec<String>>().join(", "),
    };
    let pages = if log.huge_pages { ", huge pages" } else { "" };
    let depth = log.io_depth.map_or(String::new(), |n| n.to_string());
    let groups = format::plural(u64::from(log.log_groups), "group");
    // Directories are where the log is, which is not compared.
    let stripe = log.stripe.as_ref().map_or("none".to_owned(), |stripe| {
        let count = stripe.directories.len();
        format!(
            "{} over {count} directories",
            format::bytes(stripe.width_bytes)
        )
    });
    vec![
        text("log writer", &known(&log.log_writer)),
        text("CPUs of the log writer", &cpus),
        text("log file sync mode", &known(&log.log_file_sync)),
        text("flush triggers", &known(&log.flush_triggers)),
        text("sync method", &log.sync_method),
        text("I/O engine", &known(&log.io)),
        text("batches in flight", &depth),
        text(
            "redo block size",
            &format!("{} bytes", log.redo_block_bytes),
        ),
        text(
            "padding of log writes",
            &format!("{} bytes", log.seal_bytes),
        ),
        text(
            "log buffer",
            &format!("{}{pages}", format::bytes(log.log_buffer_bytes)),
        ),
        text(
            "log files",
            &format!("{groups} of {}", format::bytes(log.log_file_bytes)),
        ),
        text("stripe", &stripe),
        text("members", &log.members_kind().unwrap_or("none".to_owned())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::fixture::clean_run;
    use measure::run::DatabaseFacts;

    fn server(product: &str, settings: &[(&str, &str)]) -> Run {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut run = clean_run();
        run.target.facts = TargetFacts::Database(DatabaseFacts {
            product: product.to_owned(),
            version: "1".to_owned(),
            settings: settings.iter().map(own).collect(),
            ..DatabaseFacts::default()
        });
        run
    }

    #[test]
    fn settings_of_one_product_are_compared_and_those_of_two_are_not() {
        let base = server("MariaDB", &[("log_bin", "OFF"), ("sync_binlog", "0")]);
        let other = server("MariaDB", &[("log_bin", "ON"), ("sync_binlog", "0")]);
        let names = |other: &Run| -> Vec<String> {
            let all = differences(&base, other).into_iter();
            all.map(|(name, _)| name).collect()
        };
        assert_eq!(names(&other), ["setting log_bin"]);
        let postgres = server("PostgreSQL", &[("fsync", "on")]);
        assert_eq!(names(&postgres), ["system"]);
    }
}
