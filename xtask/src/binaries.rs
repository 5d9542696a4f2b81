//! The test programs that a `cargo test` command builds.
//!
//! What lives here: building them, and finding them in what cargo prints, so that each can be run
//! under a time limit of its own.

use crate::Outcome;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that contains tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binary {
    /// Name of the crate or of the file of tests.
    pub name: String,
    /// The package that it belongs to.
    pub package: String,
    /// The program.
    pub program: PathBuf,
    /// The package's folder, in which cargo runs its tests.
    pub folder: PathBuf,
}

impl Binary {
    /// The command that runs it, as cargo would run it.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

/// Builds with a prepared `cargo test` command; `None` when it does not compile. What cargo says
/// about its progress goes to standard error.
///
/// # Errors
/// When cargo cannot be started.
pub fn build(command: &mut Command) -> Outcome<Option<Vec<Binary>>> {
    let failed = |e: std::io::Error| format!("cargo test --no-run: {e}");
    let mut child = command
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    let mut found = Vec::new();
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines() {
            found.extend(binary(&line.map_err(failed)?));
        }
    }
    let built = child.wait().map_err(failed)?.success();
    Ok(built.then_some(found))
}

/// The test program that a message of cargo's reports.
fn binary(message: &str) -> Option<Binary> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message.get("reason")?.as_str()? != "compiler-artifact"
        || !message.get("profile")?.get("test")?.as_bool()?
    {
        return None;
    }
    let program = message.get("executable")?.as_str()?;
    let manifest = Path::new(message.get("manifest_path")?.as_str()?);
    let package = message.get("package_id")?.as_str()?;
    let name = message.get("target")?.get("name")?.as_str()?;
    Some(Binary {
        name: name.to_owned(),
        package: package_name(package).to_owned(),
        program: PathBuf::from(program),
        folder: manifest.parent()?.to_owned(),
    })
}

/// The name in a package id: `path+file:///a/b#name@1.0.0`, or `path+file:///a/name#1.0.0` where
/// the folder has the package's name.
fn package_name(id: &str) -> &str {
    let (path, end) = id.rsplit_once('#').unwrap_or((id, id));
    match end.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_programs_are_found() {
        let artifact = |test: bool, program: &str| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///r/crates/redo#redolab-redo@0.1.0",
                "manifest_path":"/r/crates/redo/Cargo.toml","target":{{"name":"kill"}},
                "profile":{{"test":{test}}},"executable":{program}}}"#
            )
        };
        let found = binary(&artifact(true, "\"/t/kill-1\"")).expect("a test program");
        assert_eq!(
            (found.name.as_str(), found.package.as_str()),
            ("kill", "redolab-redo")
        );
        assert_eq!(found.folder, Path::new("/r/crates/redo"));
        assert_eq!(binary(&artifact(false, "\"/t/kill-1\"")), None);
        assert_eq!(binary(&artifact(true, "null")), None);
        assert_eq!(binary("warning: text"), None);
        assert_eq!(
            package_name("path+file:///r/crates/redolab#0.1.0"),
            "redolab"
        );
    }
}
