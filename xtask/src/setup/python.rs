//! Python packages that read what redolab exports, in an environment of their own:
//! `target/interchange`. Nothing of the system's or the user's is changed.

use super::{find, within};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The packages, at the versions that docs/interchange.md names.
const PACKAGES: [&str; 6] = [
    "duckdb==2.0.0",
    "fio-plot==1.1.21",
    "hdrhistogram==0.10.8",
    "pandas==3.1.1",
    "prometheus_client==0.26.0",
    "pyarrow==26.0.1",
];
const PURPOSE: &str = "exports read by DuckDB, pandas, fio-plot, HdrHistogram and Prometheus";
const INSTALL_MAX: Duration = Duration::from_secs(300);

/// Makes the environment unless it is there. Whether it is there now; says what is missing.
pub(super) fn install() -> bool {
    let folder = crate::root().join("target/interchange");
    let stamp = folder.join("packages.txt");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return true;
    }
    let Some(python) = find("python3") else {
        println!("missing: python3: skips {PURPOSE}");
        return false;
    };
    println!("installing Python packages in {}", folder.display());
    let made = quiet(Command::new(python).args(["-m", "venv"]).arg(&folder));
    let python = folder.join("bin/python");
    if !made || !has_pip(&python) {
        println!(
            "missing: Python's venv or pip (packages python3-venv, python3-pip): skips {PURPOSE}"
        );
        return false;
    }
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    if !quiet(pip.args(PACKAGES)) {
        println!(
            "missing: {} could not be installed: skips {PURPOSE}",
            PACKAGES.join(" ")
        );
        return false;
    }
    // Without the stamp it is looked for again, which costs time and nothing else.
    drop(std::fs::write(stamp, wanted));
    true
}

fn has_pip(python: &Path) -> bool {
    quiet(Command::new(python).args(["-m", "pip", "--version"]))
}

fn quiet(command: &mut Command) -> bool {
    within(
        command.stdin(Stdio::null()).stdout(Stdio::null()),
        INSTALL_MAX,
    )
}
