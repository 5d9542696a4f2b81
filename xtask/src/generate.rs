//! `cargo xtask generate`: evidence with known answers, for tests, fuzzing and speed.
//!
//! The evidence goes to standard output or a file, the answers as JSON beside it. What is generated
//! lives in files of its own that use nothing but `std`.

pub mod evidence;
pub mod trace;

use crate::Outcome;
use evidence::Generated;
use std::io::{BufWriter, Write};
use trace::{Answers, DEFECTS, Plan, Style};

/// How it is called.
pub const USAGE: &str = "\
usage: cargo xtask generate KIND [--layout NAME] [--seed N] [--rows N] [--defect NAME] [--out FILE]
                            [--answer FILE]
       cargo xtask generate trace [--waits N] [--seed N] [--processes N] [--release 8|9|12|19|bare]
                            [--foreground] [--defect NAME|all]… [--out FILE] [--answer FILE]
       cargo xtask generate list
  writes evidence to FILE or standard output, and what a reader has to find in it as JSON to the
  answer's FILE, beside the evidence as FILE.answers.json, or to standard error";

/// Runs the command with the words behind `generate`.
pub fn run(words: &[&str]) -> Outcome<bool> {
    match words {
        ["list"] => list(),
        ["trace" | "oracle-trace", options @ ..] => of_trace(options)?,
        [kind, options @ ..] => of_kind(kind, options)?,
        [] => return Err(format!("generate: what?\n{USAGE}")),
    }
    Ok(true)
}

/// Every kind with its layouts and defects.
fn list() {
    println!("oracle-trace (trace)\n  defects: {}", DEFECTS.join(", "));
    for (kind, layouts) in evidence::KINDS {
        println!("{kind}\n  layouts: {}", layouts.join(", "));
        let defects = evidence::DEFECTS.iter().filter(|(_, of, _)| of == kind);
        let each: Vec<String> = defects
            .map(|(name, _, finding)| format!("{name} ({finding})"))
            .collect();
        if !each.is_empty() {
            println!("  defects: {}", each.join(", "));
        }
    }
}

/// Where the evidence and the answers go.
#[derive(Debug, Default)]
struct Places {
    out: Option<String>,
    answer: Option<String>,
}

impl Places {
    fn evidence(&self) -> Outcome<Box<dyn Write>> {
        Ok(match &self.out {
            Some(path) => {
                let file = std::fs::File::create(path).map_err(|e| format!("{path}: {e}"))?;
                Box::new(BufWriter::with_capacity(1 << 20, file))
            }
            None => Box::new(BufWriter::new(std::io::stdout().lock())),
        })
    }

    fn tell(&self, answers: &serde_json::Value) -> Outcome<()> {
        let text = format!("{answers:#}\n");
        let beside = self.out.as_ref().map(|out| format!("{out}.answers.json"));
        match self.answer.clone().or(beside) {
            Some(path) => std::fs::write(&path, text).map_err(|e| format!("{path}: {e}")),
            None => std::io::stderr().write_all(text.as_bytes()).map_err(failed),
        }
    }
}

fn failed(e: std::io::Error) -> String {
    format!("generate: {e}")
}

fn number(option: &str, value: &str) -> Outcome<u64> {
    value.parse().map_err(|e| format!("{option} {value}: {e}"))
}

fn of_kind(kind: &str, options: &[&str]) -> Outcome<()> {
    let Some((_, layouts)) = evidence::KINDS.iter().find(|(k, _)| *k == kind) else {
        let known: Vec<&str> = evidence::KINDS.iter().map(|(k, _)| *k).collect();
        let known = known.join(", ");
        return Err(format!("generate {kind}: use trace, {known}\n{USAGE}"));
    };
    let (mut seed, mut rows, mut layout, mut defect) = (1, 100, layouts[0], None);
    let mut places = Places::default();
    for pair in options.chunks(2) {
        let [option, value] = pair else {
            return Err(format!("{}: a value is missing\n{USAGE}", pair[0]));
        };
        match *option {
            "--seed" => seed = number(option, value)?,
            "--rows" => rows = number(option, value)?,
            "--layout" => layout = *value,
            "--defect" => defect = Some(*value),
            "--out" => places.out = Some((*value).to_owned()),
            "--answer" => places.answer = Some((*value).to_owned()),
            _ => return Err(format!("{option}: unknown\n{USAGE}")),
        }
    }
    let made = match defect {
        Some(name) => evidence::defective(name, seed).filter(|m| m.kind == kind),
        None => evidence::clean(kind, layout, seed, rows),
    };
    let made = made.ok_or_else(|| {
        let what = defect.unwrap_or(layout);
        format!("generate {kind}: no layout or defect {what}; `generate list` names them")
    })?;
    let mut out = places.evidence()?;
    out.write_all(made.text.as_bytes()).map_err(failed)?;
    out.flush().map_err(failed)?;
    places.tell(&facts(&made, seed))
}

fn facts(made: &Generated, seed: u64) -> serde_json::Value {
    let each = made.facts.iter().map(|fact| {
        let only = fact.only.as_ref();
        serde_json::json!({
            "table": fact.table, "column": fact.column, "rows": fact.rows, "total": fact.total,
            "only": only.map(|(column, text)| serde_json::json!({ *column: text })),
        })
    });
    serde_json::json!({
        "kind": made.kind, "layout": made.layout, "seed": seed, "finding": made.finding,
        "facts": each.collect::<Vec<_>>(),
    })
}

fn of_trace(options: &[&str]) -> Outcome<()> {
    let (plan, places) = parse(options)?;
    let mut out = places.evidence()?;
    let answers = trace::write(&plan, &mut out).map_err(failed)?;
    out.flush().map_err(failed)?;
    places.tell(&json(&plan, &answers))
}

fn parse(options: &[&str]) -> Outcome<(Plan, Places)> {
    let mut plan = Plan {
        seed: 1,
        waits: 100_000,
        processes: 1,
        style: Style::V12,
        writers: true,
        defects: Vec::new(),
    };
    let mut places = Places::default();
    let mut words = options.iter();
    while let Some(option) = words.next() {
        if *option == "--foreground" {
            plan.writers = false;
            continue;
        }
        let value = words
            .next()
            .ok_or_else(|| format!("{option}: a value is missing\n{USAGE}"))?;
        match *option {
            "--waits" => plan.waits = number(option, value)?,
            "--seed" => plan.seed = number(option, value)?,
            "--processes" => plan.processes = number(option, value)?,
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
            "--out" => places.out = Some((*value).to_owned()),
            "--answer" => places.answer = Some((*value).to_owned()),
            _ => return Err(format!("{option}: unknown\n{USAGE}")),
        }
    }
    Ok((plan, places))
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
    serde_json::json!({
        "event": event, "processes": each.collect::<Vec<_>>(), "warnings": answers.warnings,
        "warned_ms": answers.warned_ms, "switches": answers.switches,
    })
}
