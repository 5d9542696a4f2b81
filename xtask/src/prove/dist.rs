//! What others install, installed: each crate compiled from its package; the Debian package, the
//! wheel and the static binary, each in a clean directory below `target/prove/dist`, each measured
//! with.
//!
//! What lives here: making the products (`crate::dist`), installing each without touching the
//! system (dpkg with a root of its own, a Python environment, an unpacked archive), running
//! `redolab check --quick` from it, and removing it again, after which no file of it may be left.
//! With the binary of the Debian package the scripts of the first hour run too, which are tests of
//! the command line (`crates/redolab/tests/cli/first_hour`).
//!
//! Invariant: a product that could not be installed has failed; nothing here skips.

use super::{record, tests};
use crate::dist::{self, Products, fresh, output, succeed};
use crate::{Outcome, cargo, packages, setup};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Files that each product must install, below `/usr` of a package and below a Python environment.
const INSTALLED: &[(&str, &str)] = &[
    ("usr/bin/redolab", "bin/redolab"),
    (
        "usr/share/man/man1/redolab.1.gz",
        "share/man/man1/redolab.1",
    ),
    (
        "usr/share/man/man1/redolab-check.1.gz",
        "share/man/man1/redolab-check.1",
    ),
    (
        "usr/share/bash-completion/completions/redolab",
        "share/bash-completion/completions/redolab",
    ),
    (
        "usr/share/zsh/vendor-completions/_redolab",
        "share/zsh/site-functions/_redolab",
    ),
    (
        "usr/share/fish/vendor_completions.d/redolab.fish",
        "share/fish/vendor_completions.d/redolab.fish",
    ),
];

/// The scripts of newcomers: tests that start the binary that this variable names.
const BINARY: &str = "REDOLAB_TEST_BINARY";
const SCRIPTS: [&str; 3] = [
    "first_hour::dba::checks_a_device_against_production_and_answers_a_ticket",
    "first_hour::developer::embeds_the_log_and_compares_its_options",
    "first_hour::evaluator::compares_three_volumes_in_a_matrix_and_a_spreadsheet",
];

/// Makes, installs, measures, removes. Whether all of it went well. What is measured is the device
/// of `on`, or of the checkout.
///
/// # Errors
/// When the result cannot be written down.
pub fn run(root: &Path, on: Option<&Path>) -> Outcome<bool> {
    let begun = Instant::now();
    let place = root.join("target/prove/dist");
    let on = match on {
        Some(on) => std::path::absolute(on).map_err(|e| format!("{}: {e}", on.display()))?,
        None => place.clone(),
    };
    let on = on.join("redolab-prove-dist");
    let result = dist::make(root).and_then(|products| all(root, (&place, &on), &products));
    // Made here, and empty unless a measurement failed.
    drop(std::fs::remove_dir_all(&on));
    let (well, figures) = match result {
        Ok(figures) => (true, figures.join("; ")),
        Err(problem) => {
            println!("dist: {problem}");
            // A field of the data is one line, without paths of this machine.
            let problem = problem.replace(&format!("{}/", root.display()), "");
            let words: Vec<&str> = problem.split_whitespace().collect();
            (false, words.join(" ").chars().take(600).collect())
        }
    };
    println!("{figures}");
    let row = [
        "dist".to_owned(),
        "0".to_owned(),
        String::new(),
        if well { "passed" } else { "failed" }.to_owned(),
        "3".to_owned(),
        format!("{:.0}", begun.elapsed().as_secs_f64()),
        record::commit(root),
        figures,
    ];
    record::append(root, tests::DATA, tests::COLUMNS, &row)?;
    if well {
        // Installed products are as large as what was built.
        drop(std::fs::remove_dir_all(&place));
    }
    Ok(well)
}

/// Proves each product. A line of figures for each.
fn all(root: &Path, (place, on): (&Path, &Path), products: &Products) -> Outcome<Vec<String>> {
    fresh(place)?;
    let mut package = cargo();
    package.args(["package", "--workspace", "--exclude", "xtask"]);
    succeed(
        package
            .args(["--locked", "--allow-dirty"])
            .current_dir(root),
    )?;
    let mut sums = Command::new("sha256sum");
    let folder = root.join(dist::FOLDER);
    output(sums.args(["--check", "SHA256SUMS"]).current_dir(folder))?;
    let megabytes = products.binary_bytes as f64 / 1e6;
    Ok(vec![
        format!("binary of {megabytes:.1} MB"),
        debian(root, (&place.join("deb"), on), &products.deb)?,
        wheel(&place.join("wheel"), on, products)?,
        archive(&place.join("archive"), on, &products.archive)?,
        packages::embed(root)?,
    ])
}

/// The Debian package in a root of its own, which contains nothing else: no C library either.
fn debian(root: &Path, (place, on): (&Path, &Path), deb: &Path) -> Outcome<String> {
    if !setup::is_root() {
        return Err("dpkg installs with a root of its own only as root".to_owned());
    }
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fresh(&place.join(folder))?;
    }
    dist::write(&place.join("var/lib/dpkg/status"), "")?;
    let dpkg = |action: &str| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", place.display()));
        command.arg(action);
        command
    };
    output(dpkg("--install").arg(deb))?;
    require(place, INSTALLED.iter().map(|(package, _)| *package))?;
    let mut alone = Command::new("chroot");
    output(alone.arg(place).args(["/usr/bin/redolab", "--version"]))?;
    let redolab = place.join("usr/bin/redolab");
    let figures = measure(&redolab, &place.join("store"), on)?;
    first_hour(root, &redolab, on)?;
    output(dpkg("--purge").arg("redolab"))?;
    absent(place, INSTALLED.iter().map(|(package, _)| *package))?;
    let scripts = SCRIPTS.len();
    Ok(format!("deb: {figures}, {scripts} scripts of a first hour"))
}

/// The scripts of newcomers with an installed binary, on the volume of `on`.
fn first_hour(root: &Path, redolab: &Path, on: &Path) -> Outcome<()> {
    fresh(on)?;
    let mut scripts = cargo();
    scripts
        .args(["test", "--locked", "--package", "redolab", "--test", "cli"])
        .args(["--", "--exact", "--test-threads=1"])
        .args(SCRIPTS)
        .env(BINARY, redolab)
        .env("TMPDIR", on)
        .current_dir(root);
    let said = output(&mut scripts)?;
    all_passed(&said, SCRIPTS.len())
}

/// Whether so many tests ran, and passed.
fn all_passed(said: &str, tests: usize) -> Outcome<()> {
    match said.contains(&format!("test result: ok. {tests} passed;")) {
        true => Ok(()),
        false => Err(format!("not {tests} scripts passed:\n{said}")),
    }
}

/// The wheel in a Python environment of its own.
fn wheel(place: &Path, on: &Path, products: &Products) -> Outcome<String> {
    let mut python = Command::new(products.tools.python("python"));
    output(python.args(["-m", "venv"]).arg(place))?;
    let pip = |action: &str| {
        let mut command = Command::new(place.join("bin/python"));
        command.args(["-m", "pip", "--disable-pip-version-check", action]);
        command
    };
    output(pip("install").arg("--no-index").arg(&products.wheel))?;
    require(place, INSTALLED.iter().map(|(_, wheel)| *wheel))?;
    let figures = measure(&place.join("bin/redolab"), &place.join("store"), on)?;
    output(pip("uninstall").args(["--yes", "redolab"]))?;
    absent(place, INSTALLED.iter().map(|(_, wheel)| *wheel))?;
    Ok(format!("wheel: {figures}"))
}

/// The unpacked archive.
fn archive(place: &Path, on: &Path, archive: &Path) -> Outcome<String> {
    fresh(place)?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--directory"]);
    succeed(tar.arg(place).arg("--file").arg(archive))?;
    let files = [
        "README.md",
        "LICENSE-MIT",
        "man/redolab.1",
        "completions/_redolab",
    ];
    require(place, files)?;
    let figures = measure(&place.join("redolab"), &place.join("store"), on)?;
    Ok(format!("archive: {figures}"))
}

/// Runs the README's first command, quickly, on a directory. What it measured, in a line.
fn measure(redolab: &Path, store: &Path, target: &Path) -> Outcome<String> {
    fresh(target)?;
    fresh(store)?;
    let mut command = Command::new(redolab);
    command
        .args(["check", "--quick", "--allow-busy", "--no-report"])
        .args(["--format", "json"])
        .arg("--store")
        .arg(store)
        .arg(target)
        // No configuration of the user's, and nothing from the shell.
        .env_clear();
    let run = output(&mut command)?;
    let left = std::fs::read_dir(target).map_err(|e| format!("{}: {e}", target.display()))?;
    if left.count() > 0 {
        return Err(format!("{}: something is left behind", target.display()));
    }
    summary(&run).ok_or_else(|| format!("{}: prints no run", redolab.display()))
}

/// The verdict and the first row of a run.
fn summary(run: &str) -> Option<String> {
    let run: serde_json::Value = serde_json::from_str(run).ok()?;
    let row = run.get("rows")?.get(0)?;
    let rate = row.get("commit_throughput_tps")?.as_f64()?;
    let workload = row.get("workload")?.as_str()?;
    let jobs = row.get("jobs")?.as_u64()?;
    Some(format!("{workload} with {jobs} jobs {rate:.0} commits/s"))
}

fn require<'a>(place: &Path, files: impl IntoIterator<Item = &'a str>) -> Outcome<()> {
    let absent = files.into_iter().find(|file| !place.join(file).is_file());
    absent.map_or(Ok(()), |file| Err(format!("{file} is not installed")))
}

fn absent<'a>(place: &Path, files: impl IntoIterator<Item = &'a str>) -> Outcome<()> {
    let paths = files.into_iter().map(|file| place.join(file));
    let mut left = paths.filter(|path: &PathBuf| path.exists());
    left.next().map_or(Ok(()), |path| {
        Err(format!("{}: left after it was removed", path.display()))
    })
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn files_are_required_and_then_missed() {
        let place = crate::root().join("xtask");
        assert!(require(&place, ["Cargo.toml", "src/main.rs"]).is_ok());
        let said = require(&place, ["Cargo.toml", "none"]).expect_err("one is missing");
        assert_eq!(said, "none is not installed");
        assert!(absent(&place, ["none"]).is_ok());
        assert!(absent(&place, ["none", "Cargo.toml"]).is_err());
    }

    #[test]
    fn the_scripts_are_tests_of_the_command_line() {
        let tests = crate::root().join("crates/redolab/tests/cli");
        for script in SCRIPTS {
            let (file, name) = script.rsplit_once("::").expect("a path");
            let file = tests.join(file.replace("::", "/")).with_extension("rs");
            let text = std::fs::read_to_string(&file).expect("its file");
            assert!(text.contains(&format!("#[test]\nfn {name}()")), "{script}");
        }
        let harness = std::fs::read_to_string(tests.join("harness.rs")).expect("it is there");
        assert!(harness.contains(&format!("\"{BINARY}\"")));
        let ended =
            |passed: u32| format!("\ntest result: ok. {passed} passed; 0 failed; 0 ignored");
        assert!(all_passed(&ended(3), 3).is_ok());
        assert!(all_passed(&ended(2), 3).is_err(), "one was not there");
    }

    #[test]
    fn a_run_is_summed_up_and_nothing_else_is() {
        let row = r#"{"workload":"LGWR-LAT1","jobs":1,"commit_throughput_tps":1234.6}"#;
        let run = format!(r#"{{"rows":[{row},{{}}]}}"#);
        let expected = "LGWR-LAT1 with 1 jobs 1235 commits/s";
        assert_eq!(summary(&run).as_deref(), Some(expected));
        for none in ["", "{}", r#"{"rows":[]}"#, r#"{"rows":[{"jobs":1}]}"#] {
            assert_eq!(summary(none), None, "{none}");
        }
    }
}
