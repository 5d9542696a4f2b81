//! cargo-deny over every dependency, by the rules of `deny.toml`.
//!
//! What lives here: installing it where that is possible, and running it. It is not among the
//! steps of a check, because compiling it takes longer than the whole check may.

use crate::{Outcome, cargo, setup};
use std::path::Path;
use std::process::Stdio;

/// What is looked at; advisories need a network and change without a change of ours.
const ARGUMENTS: &[&str] = &["deny", "--locked", "check", "bans", "licenses", "sources"];

/// Whether nothing was found.
///
/// # Errors
/// When cargo-deny is missing and cannot be installed.
pub fn run(root: &Path) -> Outcome<bool> {
    install("cargo-deny")?;
    let status = cargo().args(ARGUMENTS).current_dir(root).status();
    let status = status.map_err(|e| format!("cargo deny: {e}"))?;
    Ok(status.success())
}

/// Installs a subcommand of cargo's where it is missing.
///
/// # Errors
/// When it is missing and cannot be installed, with the command to try.
pub fn install(program: &str) -> Outcome<()> {
    if setup::find_cargo(program).is_some() {
        return Ok(());
    }
    println!("installing {program}");
    let installed = cargo()
        .args(["install", program, "--locked"])
        .stdin(Stdio::null())
        .status();
    if installed.is_ok_and(|status| status.success()) {
        return Ok(());
    }
    Err(format!(
        "{program} is missing and could not be installed: `cargo install {program} --locked`"
    ))
}
