//! What others get: the packages of the crates (a step of the check), and a program outside the
//! workspace that embeds the log (`prove dist`).
//!
//! What lives here: `cargo package` of each crate, which must pass without a warning and hold
//! what a user looks for; and the example of the log, built by path in a temporary folder, with the
//! workspace's versions of what lies below, and run: each run recovers what the ones before
//! committed without closing.

use crate::{Outcome, cargo};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The crates, lowest first, and their folders.
const PACKAGES: &[(&str, &str)] = &[
    ("redolab-measure", "crates/measure"),
    ("redolab-device", "crates/device"),
    ("redolab-redo", "crates/redo"),
    ("redolab-simulate", "crates/simulate"),
    ("redolab-drivers", "crates/drivers"),
    ("redolab-evidence", "crates/evidence"),
    ("redolab-analysis", "crates/analysis"),
    ("redolab-lab", "crates/lab"),
    ("redolab", "crates/redolab"),
];
/// What a package must hold beside its code.
const HELD: &[&str] = &["README.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Keys that its manifest must give.
const KEYS: &[&str] = &[
    "description",
    "license",
    "readme",
    "keywords",
    "categories",
    "documentation",
];
/// The program.
const PROGRAM: &str = "crates/redo/examples/embed.rs";
/// How often it is run.
const RUNS: usize = 3;

/// Whether the packages are whole.
pub fn run(root: &Path) -> Outcome<bool> {
    let mut problems = Vec::new();
    for (name, folder) in PACKAGES {
        let manifest = format!("{folder}/Cargo.toml");
        let text = std::fs::read_to_string(root.join(&manifest));
        let text = text.map_err(|e| format!("{manifest}: {e}"))?;
        let absent = absent_keys(&text);
        problems.extend(absent.map(|key| format!("{manifest}: no `{key}`")));
        let listed = package(root, &["--list", "-p", name])?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let lacks = |file: &&&str| !listed.lines().any(|line| line == **file);
        let absent = HELD.iter().filter(lacks);
        problems.extend(absent.map(|file| format!("{name}: its package holds no {file}")));
    }
    let mut all = vec!["--no-verify"];
    all.extend(PACKAGES.iter().flat_map(|(name, _)| ["-p", *name]));
    let said = package(root, &all)?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let warned = said.lines().filter(|line| line.starts_with("warning"));
    problems.extend(warned.map(|line| format!("cargo package: {line}")));
    problems.iter().for_each(|problem| println!("{problem}"));
    Ok(problems.is_empty())
}

/// Builds and runs the program that embeds the log; what it showed.
///
/// # Errors
/// What it said instead.
pub fn embed(root: &Path) -> Outcome<String> {
    let outside = Outside::new(root)?;
    for (turn, wanted) in expected(RUNS).iter().enumerate() {
        let said = outside.run(root)?;
        if said != *wanted {
            let turn = turn + 1;
            return Err(format!(
                "{PROGRAM}, run {turn}: said\n{said}instead of\n{wanted}"
            ));
        }
    }
    Ok(format!("embedded: {RUNS} runs"))
}

/// Keys that a manifest does not give, neither itself nor from the workspace.
fn absent_keys(manifest: &str) -> impl Iterator<Item = &'static str> {
    let gives = |key: &str| {
        let of = |line: &str| {
            let rest = line.strip_prefix(key)?;
            Some(rest.starts_with([' ', '=', '.']))
        };
        manifest.lines().any(|line| of(line) == Some(true))
    };
    KEYS.iter()
        .copied()
        .filter(move |key| !gives(key))
        .collect::<Vec<_>>()
        .into_iter()
}

/// `cargo package`; what it says.
fn package(root: &Path, arguments: &[&str]) -> Outcome<Output> {
    let mut command = cargo();
    command
        .args(["package", "--allow-dirty", "--offline", "--color", "never"])
        .args(arguments)
        .current_dir(root);
    finished(command, "cargo package")
}

/// Runs a command to its end; an error with what it said where it failed.
fn finished(mut command: Command, name: &str) -> Outcome<Output> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{name}: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}\n{said}", output.status));
    }
    Ok(output)
}

/// What each of so many runs says: every record of the runs before, then its own.
fn expected(runs: usize) -> Vec<String> {
    let recovered = |order: usize| format!("recovered order {order}\n");
    let run = |order: usize| {
        let before: String = (0..order).map(recovered).collect();
        format!("{before}committed order {order}\n")
    };
    (0..runs).map(run).collect()
}

/// The program in a folder of its own, which is removed with it.
struct Outside(PathBuf);

impl Outside {
    fn new(root: &Path) -> Outcome<Outside> {
        let name = format!("redolab-outside-{}", std::process::id());
        let outside = Outside(std::env::temp_dir().join(name));
        let folder = &outside.0;
        let manifest = format!(
            "[package]\nname = \"outside\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [dependencies]\nredolab-redo = {{ path = {:?} }}\n\n[workspace]\n",
            root.join("crates/redo")
        );
        let made = || {
            std::fs::create_dir_all(folder.join("src"))?;
            std::fs::create_dir_all(folder.join("log"))?;
            std::fs::copy(root.join(PROGRAM), folder.join("src/main.rs"))?;
            std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
            std::fs::write(folder.join("Cargo.toml"), manifest)
        };
        made().map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(outside)
    }

    /// Builds it where that is needed, and runs it; its output without addresses.
    fn run(&self, root: &Path) -> Outcome<String> {
        let common = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let mut command = cargo();
        command
            .args(["run", "--offline", "--quiet", "--", "log"])
            .env("CARGO_TARGET_DIR", root.join(common).join("outside"))
            .current_dir(&self.0);
        let output = finished(command, "the program outside the workspace")?;
        let warned = String::from_utf8_lossy(&output.stderr).into_owned();
        if !warned.is_empty() {
            return Err(format!("the program outside the workspace: {warned}"));
        }
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let plain = |line: &str| match line.split_once(": ") {
            Some((_, rest)) if line.starts_with("recovered ") => format!("recovered {rest}\n"),
            _ => format!("{line}\n"),
        };
        Ok(lines.lines().map(plain).collect())
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        // What cannot be removed is in the system's folder for such things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_given_by_the_manifest_or_the_workspace() {
        let whole = "description = \"d\"\nlicense.workspace = true\nreadme=\"R\"\nkeywords = []\n\
                     categories = []\ndocumentation = \"u\"\n";
        assert_eq!(absent_keys(whole).count(), 0);
        let parts = "descriptions = 1\n# license = \"x\"\nreadme = \"R\"\nkeywords = []\n";
        let absent: Vec<_> = absent_keys(parts).collect();
        let expected = ["description", "license", "categories", "documentation"];
        assert_eq!(absent, expected);
    }

    #[test]
    fn each_run_recovers_those_before() {
        let said = expected(3);
        assert_eq!(said[0], "committed order 0\n");
        assert_eq!(
            said[2],
            "recovered order 0\nrecovered order 1\ncommitted order 2\n"
        );
    }
}
