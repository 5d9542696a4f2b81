//! What builds the products, installed where it is missing: the standard library for musl (rustup),
//! a C compiler for it (Debian's musl-tools), cargo-deb (cargo) and maturin (pip, in an environment
//! of its own below `target`).
//!
//! Invariant: nothing that is here is replaced; what cannot be installed is an error that names the
//! command to try.

use super::{output, succeed};
use crate::{Outcome, setup};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Python packages that build the wheel.
const PACKAGES: [&str; 2] = ["maturin==1.16.0", "wheel==0.48.0"];
/// Their environment, from the root.
const ENVIRONMENT: &str = "target/dist-python";

/// What is known of the tools.
pub struct Tools {
    /// The target, such as `x86_64-unknown-linux-musl`.
    pub target: String,
    /// Seconds since 1970 of the commit that is checked out; 0 where there is none.
    pub commit_time: String,
    /// Python's environment.
    environment: PathBuf,
}

impl Tools {
    /// Looks for all of them, and installs what is missing.
    ///
    /// # Errors
    /// What is missing and cannot be installed, with what to do.
    pub fn prepare(root: &Path) -> Outcome<Tools> {
        let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
        standard_library(&target)?;
        let compiler = format!("{}-linux-musl-gcc", std::env::consts::ARCH);
        setup::require(&[&compiler], "musl-tools")?;
        crate::prove::install("cargo-deb")?;
        let mut git = Command::new("git");
        let time = output(git.args(["log", "-1", "--format=%ct"]).current_dir(root));
        Ok(Tools {
            target,
            commit_time: time.map_or_else(|_| "0".to_owned(), |time| time.trim().to_owned()),
            environment: python(root)?,
        })
    }

    /// The kind of processor, as in names of files.
    pub fn processor(&self) -> &'static str {
        std::env::consts::ARCH
    }

    /// A program of Python's environment.
    pub fn python(&self, program: &str) -> PathBuf {
        self.environment.join("bin").join(program)
    }

    /// Variables for every command that compiles: the same for all, so that it is compiled once.
    /// Paths of this machine are replaced in messages of the binary. Symbols are removed here and
    /// not by the profile, since cargo drops its `strip` where a package has settings of its own.
    pub fn environment(&self, root: &Path) -> Vec<(&'static str, String)> {
        let mut flags = format!(
            "-C strip=symbols --remap-path-prefix={}=redolab",
            root.display()
        );
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        if let Some(home) = home {
            flags.push_str(&format!(" --remap-path-prefix={}=cargo", home.display()));
        }
        vec![
            ("RUSTFLAGS", flags),
            ("CARGO_INCREMENTAL", "0".to_owned()),
            ("SOURCE_DATE_EPOCH", self.commit_time.clone()),
        ]
    }
}

/// Rust's standard library for a target.
fn standard_library(target: &str) -> Outcome<()> {
    let is_here = || {
        let mut rustc = Command::new("rustc");
        let folder = output(rustc.args(["--print", "target-libdir", "--target", target]));
        folder.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
    };
    if is_here() {
        return Ok(());
    }
    println!("installing the standard library for {target}");
    let added = succeed(Command::new("rustup").args(["target", "add", target]));
    if added.is_ok() && is_here() {
        return Ok(());
    }
    Err(format!(
        "the standard library for {target} is missing: `rustup target add {target}`"
    ))
}

/// Makes Python's environment unless it is there.
fn python(root: &Path) -> Outcome<PathBuf> {
    let folder = root.join(ENVIRONMENT);
    let stamp = folder.join("packages.txt");
    let wanted = PACKAGES.join("\n");
    if std::fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
        return Ok(folder);
    }
    let python = setup::require(&["python3"], "python3")?;
    let hint = |problem| format!("{problem}\nDebian's packages python3-venv and python3-pip?");
    succeed(Command::new(python).args(["-m", "venv"]).arg(&folder)).map_err(hint)?;
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.arg("--disable-pip-version-check").args(PACKAGES);
    succeed(&mut pip).map_err(hint)?;
    super::write(&stamp, &wanted)?;
    Ok(folder)
}
