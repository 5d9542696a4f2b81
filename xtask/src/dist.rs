//! `cargo xtask dist`: what others install without a compiler, in `target/dist`.
//!
//! What lives here: one static binary, linked with musl, its manual pages and completions, and the
//! three products that contain them: a `.tar.gz`, a Debian package (cargo-deb) and a Python wheel
//! (maturin); and `SHA256SUMS` of these. `tools` provides what builds them, `workflow` compares the
//! release workflow with these commands. What each package contains is listed where its tool looks
//! for it: `crates/redolab/Cargo.toml` and `crates/redolab/pyproject.toml`.
//!
//! Invariants: all products contain the same binary; it contains no path of the machine that built
//! it; a binary larger than [`BINARY_BYTES_MAX`] is refused.

mod tools;
#[cfg(test)]
mod workflow;

use crate::{Outcome, cargo};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tools::Tools;

/// Where the products are, from the root.
pub const FOLDER: &str = "target/dist";
/// Manual pages and completions, from the root: the manifests name it too.
const PARTS: &str = "target/dist-parts";
/// The profile of the binary.
const PROFILE: &str = "packaged";
/// Bytes of the binary without symbols, at most.
const BINARY_BYTES_MAX: u64 = 15_000_000;
/// Shells, and the file of each below [`PARTS`].
const SHELLS: &[(&str, &str)] = &[
    ("bash", "completions/redolab"),
    ("zsh", "completions/_redolab"),
    ("fish", "completions/redolab.fish"),
];
/// Where a package has them below its `share`, as the shells look for them.
const SHARED: &[(&str, &str)] = &[
    ("completions/redolab", "bash-completion/completions"),
    ("completions/_redolab", "zsh/site-functions"),
    ("completions/redolab.fish", "fish/vendor_completions.d"),
];

/// What was made.
pub struct Products {
    /// The binary with its documents, packed.
    pub archive: PathBuf,
    /// The Debian package.
    pub deb: PathBuf,
    /// The Python wheel.
    pub wheel: PathBuf,
    /// Bytes of the binary.
    pub binary_bytes: u64,
    /// The tools that build the products, with Python's environment.
    pub tools: Tools,
}

/// Makes everything. Whether it was made.
///
/// # Errors
/// A tool that is missing and cannot be installed, with what to do; a command that failed.
pub fn run(root: &Path) -> Outcome<bool> {
    let made = make(root)?;
    println!("{FOLDER}:");
    let all = [&made.archive, &made.deb, &made.wheel];
    for path in all {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("  {:>5.1} MB  {name}", megabytes(bytes(path)?));
    }
    println!(
        "  each contains one binary of {:.1} MB",
        megabytes(made.binary_bytes)
    );
    Ok(true)
}

/// Makes everything.
///
/// # Errors
/// As [`run`].
pub fn make(root: &Path) -> Outcome<Products> {
    let tools = Tools::prepare(root)?;
    let (folder, parts) = (root.join(FOLDER), root.join(PARTS));
    fresh(&folder)?;
    fresh(&parts)?;
    let binary = build(root, &tools)?;
    let binary_bytes = bytes(&binary)?;
    if binary_bytes > BINARY_BYTES_MAX {
        return Err(format!(
            "{}: {binary_bytes} bytes; at most {BINARY_BYTES_MAX} are allowed",
            binary.display()
        ));
    }
    make_parts(&binary, &parts)?;
    let archive = pack(root, &tools, &binary)?;
    let deb = debian(root, &tools)?;
    let wheel = wheel(root, &tools)?;
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&folder);
    for path in [&archive, &deb, &wheel] {
        sums.arg(path.file_name().unwrap_or_default());
    }
    write(&folder.join("SHA256SUMS"), &output(&mut sums)?)?;
    Ok(Products {
        archive,
        deb,
        wheel,
        binary_bytes,
        tools,
    })
}

/// Builds the binary.
fn build(root: &Path, tools: &Tools) -> Outcome<PathBuf> {
    let mut command = cargo();
    command
        .args(["build", "--locked", "--package", "redolab"])
        .args(["--profile", PROFILE, "--target", &tools.target])
        .envs(tools.environment(root))
        .current_dir(root);
    succeed(&mut command)?;
    let common = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let place = root.join(common).join(&tools.target).join(PROFILE);
    Ok(place.join("redolab"))
}

/// Manual pages and completions, as the binary prints them; and in the layout of a wheel.
fn make_parts(binary: &Path, parts: &Path) -> Outcome<()> {
    let (man, completions) = (parts.join("man"), parts.join("completions"));
    fresh(&man)?;
    fresh(&completions)?;
    succeed(Command::new(binary).arg("man").arg("-o").arg(&man))?;
    for (shell, file) in SHELLS {
        let text = output(Command::new(binary).args(["completions", shell]))?;
        write(&parts.join(file), &text)?;
    }
    let share = parts.join("wheel/data/share");
    fresh(&share)?;
    copy(&man, &share.join("man/man1"))?;
    for (file, place) in SHARED {
        let name = Path::new(file).file_name().unwrap_or_default();
        fresh(&share.join(place))?;
        copy(&parts.join(file), &share.join(place).join(name))?;
    }
    Ok(())
}

/// The binary, its manual pages and completions, the README and the licences in one file. Names,
/// owners and times in it depend on the commit only.
fn pack(root: &Path, tools: &Tools, binary: &Path) -> Outcome<PathBuf> {
    let stem = format!(
        "redolab-{}-{}-linux",
        env!("CARGO_PKG_VERSION"),
        tools.processor()
    );
    let staged = root.join(PARTS).join("archive");
    let inside = staged.join(&stem);
    fresh(&inside)?;
    copy(binary, &inside.join("redolab"))?;
    for part in ["man", "completions"] {
        copy(&root.join(PARTS).join(part), &inside.join(part))?;
    }
    for file in ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&root.join(file), &inside.join(file))?;
    }
    let archive = root.join(FOLDER).join(format!("{stem}.tar.gz"));
    let time = format!("--mtime=@{}", tools.commit_time);
    succeed(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .args([time.as_str(), "--use-compress-program=gzip -n", "--create"])
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(&staged)
            .arg(&stem),
    )?;
    Ok(archive)
}

/// The Debian package.
fn debian(root: &Path, tools: &Tools) -> Outcome<PathBuf> {
    let mut command = cargo();
    command
        .args(["deb", "--locked", "--package", "redolab", "--no-build"])
        .args([
            "--no-strip",
            "--profile",
            PROFILE,
            "--target",
            &tools.target,
        ])
        .arg("--output")
        .arg(root.join(FOLDER))
        .envs(tools.environment(root))
        .current_dir(root);
    succeed(&mut command)?;
    only(&root.join(FOLDER), "deb")
}

/// The Python wheel. The binary needs no library, so that it runs on every Linux, whichever C
/// library it has: its tags say so to pip.
fn wheel(root: &Path, tools: &Tools) -> Outcome<PathBuf> {
    let parts = root.join(PARTS).join("wheels");
    let mut command = Command::new(tools.python("maturin"));
    command
        .args(["build", "--locked", "--profile", PROFILE])
        .args(["--target", &tools.target])
        .arg("--manifest-path")
        .arg(root.join("crates/redolab/Cargo.toml"))
        .arg("--out")
        .arg(&parts)
        .envs(tools.environment(root))
        .current_dir(root.join("crates/redolab"));
    succeed(&mut command)?;
    let tag = format!("manylinux_2_17_{0}.musllinux_1_1_{0}", tools.processor());
    succeed(
        Command::new(tools.python("wheel"))
            .args(["tags", "--remove", "--platform-tag", &tag])
            .arg(only(&parts, "whl")?),
    )?;
    let made = only(&parts, "whl")?;
    let place = root.join(FOLDER).join(made.file_name().unwrap_or_default());
    copy(&made, &place)?;
    Ok(place)
}

/// The only file of a folder with this ending.
fn only(folder: &Path, ending: &str) -> Outcome<PathBuf> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    let mut found: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    match (found.pop(), found.len()) {
        (Some(path), 0) => Ok(path),
        _ => Err(format!("{}: not one .{ending} file", folder.display())),
    }
}

/// An empty folder, and those above it; what is in it is removed.
pub fn fresh(folder: &Path) -> Outcome<()> {
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(failed)?;
    }
    std::fs::create_dir_all(folder).map_err(failed)
}

/// Copies a file, or a folder with what is in it, by the content of links.
fn copy(from: &Path, to: &Path) -> Outcome<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let mut command = Command::new("cp");
    succeed(
        command
            .args(["--recursive", "--dereference"])
            .arg(from)
            .arg(to),
    )
}

pub fn write(path: &Path, text: &str) -> Outcome<()> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
}

fn bytes(path: &Path) -> Outcome<u64> {
    let metadata = std::fs::metadata(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(metadata.len())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Runs a command, whose output is shown.
///
/// # Errors
/// When it does not succeed.
pub fn succeed(command: &mut Command) -> Outcome<()> {
    let shown = shown(command);
    let status = command.stdin(Stdio::null()).status();
    match status.map_err(|e| format!("{shown}: {e}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("{shown}: {status}")),
    }
}

/// Runs a command; what it prints.
///
/// # Errors
/// When it does not succeed, with what it said.
pub fn output(command: &mut Command) -> Outcome<String> {
    let shown = shown(command);
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|e| format!("{shown}: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{shown}: {}\n{said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A command as it would be typed.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words = words.map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The manifests name folders and the profile, which are known here.
    #[test]
    fn the_manifests_name_what_is_made_here() {
        let root = crate::root();
        let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("a manifest");
        let deb = read("crates/redolab/Cargo.toml");
        for (_, file) in SHELLS {
            assert!(deb.contains(&format!("\"../../{PARTS}/{file}\"")), "{file}");
        }
        assert!(deb.contains(&format!("\"../../{PARTS}/man/*.1\"")));
        let wheel = read("crates/redolab/pyproject.toml");
        assert!(wheel.contains(&format!("data = \"../../{PARTS}/wheel\"")));
        assert!(read("Cargo.toml").contains(&format!("[profile.{PROFILE}]")));
        let shared: Vec<_> = SHARED.iter().map(|(file, _)| *file).collect();
        assert_eq!(
            shared,
            SHELLS.iter().map(|(_, file)| *file).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_command_that_fails_is_named_with_what_it_said() {
        let said = output(Command::new("sh").args(["-c", "echo why >&2; exit 3"]));
        let said = said.expect_err("it failed");
        assert!(
            said.contains("exit status: 3") && said.contains("why"),
            "{said}"
        );
        assert_eq!(output(Command::new("echo").arg("x")), Ok("x\n".to_owned()));
        assert!(succeed(&mut Command::new("no-such-program")).is_err());
    }
}
