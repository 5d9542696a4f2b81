//! In what two runs differ beside their figures: options, target, workload, environment, notes.
//!
//! Invariant: what was measured is not compared here; a fact that only one of them has is shown as
//! missing in the other.

use super::drawing::draw;
use super::lines;
use super::table::Style;
use measure::run::Run;
use measure::words::sanitize;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The schema's name and version.
const SCHEMA: &str = "redolab.run-differences/1";
/// Parts of a run that are facts and not figures.
const PARTS: [&str; 6] = [
    "redolab_version",
    "notes",
    "workload",
    "target",
    "environment",
    "need",
];
/// Figures among them.
const FIGURES: [&str; 2] = ["target.probe", "target.members"];

/// The differences of two runs.
#[derive(Debug, Serialize)]
pub struct RunDifferences {
    schema: &'static str,
    /// The ids of both.
    runs: [String; 2],
    /// Facts that differ, in the order of their keys.
    differences: Vec<RunDifference>,
}

/// A fact that differs.
#[derive(Debug, Serialize)]
struct RunDifference {
    /// Where it is in the JSON of a run.
    key: String,
    /// What the first one has; `None` where it has nothing.
    a: Option<String>,
    /// What the second one has.
    b: Option<String>,
}

impl RunDifferences {
    /// Of two runs.
    ///
    /// # Errors
    /// A run that is not JSON, which does not happen with one that was read.
    pub fn of(a: &Run, b: &Run) -> Result<RunDifferences, serde_json::Error> {
        let (facts_a, facts_b) = (facts(a)?, facts(b)?);
        let mut keys: Vec<&String> = facts_a.keys().chain(facts_b.keys()).collect();
        keys.sort();
        keys.dedup();
        let differing = keys
            .into_iter()
            .filter(|key| facts_a.get(*key) != facts_b.get(*key));
        Ok(RunDifferences {
            schema: SCHEMA,
            runs: [a.run_id.clone(), b.run_id.clone()],
            differences: differing
                .map(|key| RunDifference {
                    key: key.clone(),
                    a: facts_a.get(key).cloned(),
                    b: facts_b.get(key).cloned(),
                })
                .collect(),
        })
    }

    /// A line for each difference.
    #[must_use]
    pub fn text(&self, style: Style) -> String {
        let [a, b] = &self.runs;
        if self.differences.is_empty() {
            return format!("{a} and {b} have the same options and environment.\n");
        }
        let longest = self.differences.iter().map(|d| lines::width(&d.key)).max();
        let room = style.width.saturating_sub(longest.unwrap_or(0) + 6) / 2;
        let cell = |text: &Option<String>| {
            let text = text.as_deref().map_or("-".to_owned(), sanitize::line);
            lines::cut(&text, room.max(a.len()))
        };
        let lines = self.differences.iter();
        let lines = lines.map(|d| vec![sanitize::line(&d.key), cell(&d.a), cell(&d.b)]);
        draw(&["Fact", a, b], lines.collect(), 3, style)
    }
}

/// Options that say what becomes of the result, and not how it was measured; with a value.
const OF_THE_RESULT: [&str; 8] = [
    "--label",
    "--tag",
    "--format",
    "--columns",
    "--output",
    "-o",
    "--report",
    "--store",
];
/// The same without a value.
const FLAGS_OF_THE_RESULT: [&str; 7] = [
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--no-report",
    "--allow-busy",
    "--yes",
];

/// The arguments of a command that say how it measured.
pub(super) fn options(command: &[String]) -> String {
    let mut options = Vec::new();
    let mut rest = command.iter().skip(2).map(String::as_str);
    while let Some(word) = rest.next() {
        let name = word.split_once('=').map_or(word, |(name, _)| name);
        if OF_THE_RESULT.contains(&word) {
            let _ = rest.next();
        } else if !OF_THE_RESULT.contains(&name) && !FLAGS_OF_THE_RESULT.contains(&word) {
            options.push(word);
        }
    }
    sanitize::line(&options.join(" "))
}

/// Each fact by its place in the run's JSON.
fn facts(run: &Run) -> Result<BTreeMap<String, String>, serde_json::Error> {
    let mut found = BTreeMap::new();
    found.insert("command".to_owned(), options(&run.command));
    let json = serde_json::to_value(run)?;
    for part in PARTS {
        if let Some(value) = json.get(part) {
            flatten(part, value, &mut found);
        }
    }
    Ok(found)
}

fn flatten(key: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    if FIGURES.contains(&key) {
        return;
    }
    let is_plain = |values: &[Value]| values.iter().all(|v| !v.is_object() && !v.is_array());
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&format!("{key}.{name}"), value, found);
            }
        }
        Value::Array(values) if !is_plain(values) => {
            for (at, value) in values.iter().enumerate() {
                flatten(&format!("{key}.{at}"), value, found);
            }
        }
        Value::Array(values) => {
            let words: Vec<String> = values.iter().map(plain).collect();
            found.insert(key.to_owned(), words.join(","));
        }
        value => {
            found.insert(key.to_owned(), plain(value));
        }
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_facts_that_differ_are_there() {
        let a = crate::output::table::tests::run();
        let mut b = a.clone();
        b.rows[0].commit_throughput_tps = Some(1.0);
        let same = RunDifferences::of(&a, &b).expect("JSON");
        assert!(
            same.differences.is_empty(),
            "figures are not facts: {same:?}"
        );
        let style = Style {
            width: 80,
            frame: false,
        };
        assert!(same.text(style).contains("same options"));
        b.environment.cpus = 64;
        b.notes.label = Some("gp3".to_owned());
        b.command = ["redolab", "run", "--jobs", "8", "--tag", "x=y"]
            .map(str::to_owned)
            .to_vec();
        let found = RunDifferences::of(&a, &b).expect("JSON");
        let keys: Vec<&str> = found.differences.iter().map(|d| d.key.as_str()).collect();
        assert_eq!(keys, ["command", "environment.cpus", "notes.label"]);
        let text = found.text(style);
        assert!(text.contains("--jobs 8") && !text.contains("x=y"), "{text}");
        assert_eq!(options(&b.command), "--jobs 8");
    }
}
