//! Data of a proof: lines of comma-separated values, and where and how they were made.
//!
//! Invariant: a field that contains a comma, a quote or a line end is quoted, so that every reader
//! of such files gets the same fields.

use crate::{Outcome, cargo};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The fields of a line.
pub type Row = Vec<String>;

/// A line without its end.
pub fn line(row: &[String]) -> String {
    let quoted = |field: &String| {
        if field.contains([',', '"', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.clone()
        }
    };
    row.iter().map(quoted).collect::<Vec<_>>().join(",")
}

/// The fields of a line; quoted fields do not contain line ends here.
pub fn fields(line: &str) -> Row {
    let mut fields = vec![String::new()];
    let (mut quoted, mut characters) = (false, line.chars().peekable());
    while let Some(character) = characters.next() {
        let Some(field) = fields.last_mut() else {
            break;
        };
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => field.push(other),
        }
    }
    fields
}

/// The lines of a file below its heading, as fields by column. Lines that begin with `#` are not
/// data.
pub fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let Some(heading) = lines.next() else {
        return Vec::new();
    };
    let heading = fields(heading);
    let row = |line: &str| heading.iter().cloned().zip(fields(line)).collect();
    lines.map(row).collect()
}

/// Data, which proofs write and none of them reads.
const NOT_DATA: &str = ":(exclude)experiments/*.csv";

/// The commit that is checked out, and whether files differ from it, data apart.
pub fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| said(Command::new("git").args(arguments).current_dir(root));
    let commit = git(&["rev-parse", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let status = ["status", "--porcelain", "--untracked-files=no", "--", "."];
    let changed = git(&[&status[..], &[NOT_DATA]].concat());
    if changed.is_some_and(|text| !text.is_empty()) {
        return format!("{commit} with changes");
    }
    commit
}

/// Appends a line to a file of data, with its heading and what made it where it is new.
///
/// # Errors
/// When the file cannot be written.
pub fn append(root: &Path, path: &str, heading: &str, row: &[String]) -> Outcome<()> {
    let place = root.join(path);
    let failed = |e: std::io::Error| format!("{}: {e}", place.display());
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut text = std::fs::read_to_string(&place).unwrap_or_default();
    if text.is_empty() {
        text = format!("{heading}\n");
    }
    let machine = format!("# {}\n", machine());
    let last = text.lines().rfind(|line| line.starts_with('#'));
    if last != Some(machine.trim_end()) {
        text.push_str(&machine);
    }
    text.push_str(&line(row));
    text.push('\n');
    std::fs::write(&place, text).map_err(failed)
}

/// Lines that say what made the data below them: the proof, the commit, the machine.
pub fn provenance(root: &Path, proof: &str) -> Vec<String> {
    let rustc = said(cargo().arg("--version")).unwrap_or_default();
    vec![
        format!("# {proof}"),
        format!("# commit {}, {rustc}", commit(root)),
        format!("# {}", machine()),
    ]
}

/// The first line that a command prints.
fn said(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|o| o.status.success())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(text.lines().next().unwrap_or("").trim().to_owned())
}

/// Processors, memory and system.
pub fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or_else(|| "unknown".to_owned(), |(_, v)| v.trim().to_owned())
    };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    format!(
        "{processors} processors ({}), memory {}, Linux {}",
        value(&read("/proc/cpuinfo"), "model name"),
        value(&read("/proc/meminfo"), "MemTotal"),
        read("/proc/sys/kernel/osrelease").trim()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let row: Row = ["a", "b,c", "say \"x\"", ""].map(str::to_owned).to_vec();
        assert_eq!(fields(&line(&row)), row);
        let text = format!("# made by\nw,x,y,z\n{}\n# more\n1,2,3,4\n", line(&row));
        let rows = rows(&text);
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].get("x").map(String::as_str), Some("b,c"));
        assert_eq!(rows[1].get("z").map(String::as_str), Some("4"));
        assert!(super::rows("").is_empty());
    }

    #[test]
    fn data_says_what_made_it() {
        let lines = provenance(&crate::root(), "flips: seed 1");
        assert!(lines.iter().all(|line| line.starts_with("# ")));
        assert!(lines[0].ends_with("flips: seed 1"));
        assert!(machine().contains("processors"));
    }
}
