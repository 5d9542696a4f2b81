//! Other programs that a test needs.

use std::process::{Command, Stdio};

/// Runs a program: what it printed, or its complaint if it fails.
pub fn done(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|e| format!("{program}: {e}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(format!("{program}: {}", last.unwrap_or("failed")))
}
