//! `cargo xtask generate`: evidence with known answers, for tests, fuzzing and speed.
//!
//! The evidence goes to standard output or a file, the answers as JSON beside it. What is generated
//! lives in files of its own that use nothing but `std`.

pub mod trace;

use crate::Outcome;
use std::io::{BufWriter, Write};
use trace::{Answers, DEFECTS, Plan, Style};

/// How it is called.
pub const USAGE: &str = "\
usage: cargo xtask generate trace [--waits N] [--seed N] [--processes N] [--release 8|9|12|19|bare]
                                  [--foreground] [--defect NAME|all]… [--out FILE]
  writes a 10046 trace to FILE or standard output, and what a reader has to find in it to
  FILE.answers.json or standard error";

/// Runs the command with the words behind `generate`.
pub fn run(words: &[&str]) -> Outcome<bool> {
    let ["trace", options @ ..] = words else {
        return Err(format!("generate: what?\n{USAGE}"));
    };
    let (plan, out) = parse(options)?;
    let failed = |e: std::io::Error| format!("generate: {e}");
    let answers = match &out {
        Some(path) => {
            let file = std::fs::File::create(path).map_err(|e| format!("{path}: {e}"))?;
            let mut file = BufWriter::with_capacity(1 << 20, file);
            trace::write(&plan, &mut file).map_err(failed)?
        }
        None => {
            let mut lock = BufWriter::new(std::io::stdout().lock());
            trace::write(&plan, &mut lock).map_err(failed)?
        }
    };
    let text = format!("{:#}\n", json(&plan, &answers));
    match out {
        Some(path) => {
            let path = format!("{path}.answers.json");
            std::fs::write(&path, text).map_err(|e| format!("{path}: {e}"))?;
        }
        None => std::io::stderr()
            .write_all(text.as_bytes())
            .map_err(failed)?,
    }
    Ok(true)
}

fn parse(options: &[&str]) -> Outcome<(Plan, Option<String>)> {
    let mut plan = Plan {
        seed: 1,
        waits: 100_000,
        processes: 1,
        style: Style::V12,
        writers: true,
        defects: Vec::new(),
    };
    let mut out = None;
    let mut words = options.iter();
    while let Some(option) = words.next() {
        if *option == "--foreground" {
            plan.writers = false;
            continue;
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{option}: a value is missing\n{USAGE}"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|e| format!("{option} {value}: {e}"))
        };
        match *option {
            "--waits" => plan.waits = number()?,
            "--seed" => plan.seed = number()?,
            "--processes" => plan.processes = number()?,
            "--release" => {
                let found = Style::ALL.iter().find(|(name, _)| name == value);
                let style = found.ok_or_else(|| format!("--release {value}: unknown\n{USAGE}"))?;
                plan.style = style.1;
            }
            "--defect" if *value == "all" => {
                plan.defects = DEFECTS.iter().map(|d| (*d).to_owned()).collect();
            }
            "--defect" if DEFECTS.contains(value) => plan.defects.push((*value).to_owned()),
            "--defect" => {
                return Err(format!(
                    "--defect {value}: use all or {}",
                    DEFECTS.join(", ")
                ));
            }
            "--out" => out = Some((*value).to_owned()),
            _ => return Err(format!("{option}: unknown\n{USAGE}")),
        }
    }
    Ok((plan, out))
}

fn json(plan: &Plan, answers: &Answers) -> serde_json::Value {
    let event = if plan.writers {
        "log file parallel write"
    } else {
        "log file sync"
    };
    let each = answers.processes.iter().map(|a| {
        serde_json::json!({
            "pid": a.pid, "waits": a.waits, "total_ns": a.total_ns, "max_ns": a.max_ns,
            "over_1ms": a.over[0], "over_10ms": a.over[1], "over_20ms": a.over[2],
            "blocks": a.blocks, "commits": a.commits,
        })
    });
    serde_json::json!({ "event": event, "processes": each.collect::<Vec<_>>() })
}
