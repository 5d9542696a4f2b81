//! `cargo xtask fuzz [SECONDS] [TARGET…]`: every fuzz target for a while, from its corpus on.
//!
//! What lives here: the list of targets, which is the folder, the seeds of each, and counting what
//! held. Without a nightly toolchain or cargo-fuzz all of it is skipped, and said so. What it must
//! not know: what a target demands; that stands in `fuzz/promises`.

use crate::Outcome;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Seconds of each target, unless an option states others.
const SECONDS: u64 = 45;
/// Memory of a target, MiB: what files of a few kilobytes may never take.
const RSS_MIB: u64 = 1024;
/// Seconds that one input may take.
const TIMEOUT_S: u64 = 25;

/// cargo-fuzz of the nightly toolchain, whatever toolchain runs this.
fn cargo_fuzz(root: &Path) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", "cargo", "fuzz"])
        .current_dir(root)
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN");
    command
}

/// Runs the targets that the words name, or all.
pub fn run(root: &Path, words: &[&str]) -> Outcome<bool> {
    let (seconds, named) = match words {
        [first, rest @ ..] if first.parse::<u64>().is_ok() => {
            (first.parse().unwrap_or(SECONDS), rest)
        }
        named => (SECONDS, named),
    };
    let all = targets(root)?;
    if let Some(other) = named.iter().find(|n| !all.iter().any(|t| t == *n)) {
        return Err(format!(
            "fuzz: no target {other}; there are {}",
            all.join(", ")
        ));
    }
    let chosen: Vec<&String> = (all.iter())
        .filter(|t| named.is_empty() || named.contains(&t.as_str()))
        .collect();
    if !is_there(root) {
        println!(
            "fuzz: skipped, it needs a nightly toolchain and cargo-fuzz: `rustup toolchain install \
             nightly`, `cargo install cargo-fuzz --locked`\n0 passed, 0 failed, {} skipped",
            chosen.len()
        );
        return Ok(true);
    }
    let mut broken = Vec::new();
    for target in &chosen {
        println!("fuzz: {target}, {seconds} s");
        if !fuzz(root, target, seconds)? {
            broken.push(target.as_str());
        }
    }
    if !broken.is_empty() {
        println!(
            "fuzz: {} failed; what broke it is in fuzz/artifacts, see fuzz/README.md",
            broken.join(", ")
        );
    }
    let passed = chosen.len() - broken.len();
    println!("{passed} passed, {} failed, 0 skipped", broken.len());
    Ok(broken.is_empty())
}

fn is_there(root: &Path) -> bool {
    let asked = cargo_fuzz(root)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

/// A target for each file of the folder.
fn targets(root: &Path) -> Outcome<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|e| e == "rs") {
            names.extend(path.file_stem().and_then(|s| s.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    Ok(names)
}

/// The corpora that a target begins with: its own, and for `import_any` those of every importer.
fn seeds(root: &Path, target: &str, all: &[String]) -> Vec<PathBuf> {
    let corpus = root.join("fuzz/corpus");
    let own = |t: &str| corpus.join(t.trim_start_matches("import_").replace('_', "-"));
    let importers = all.iter().filter(|t| t.starts_with("import_"));
    let folders: Vec<PathBuf> = match target {
        "import_any" => importers.map(|t| own(t)).collect(),
        target => vec![own(target)],
    };
    folders.into_iter().filter(|f| f.is_dir()).collect()
}

/// New inputs go to a folder under the target folder: a corpus holds named defects alone.
fn fuzz(root: &Path, target: &str, seconds: u64) -> Outcome<bool> {
    let found = root.join("fuzz/target/found").join(target);
    std::fs::create_dir_all(&found).map_err(|e| format!("{}: {e}", found.display()))?;
    let status = cargo_fuzz(root)
        .args(["run", target])
        .arg(&found)
        .args(seeds(root, target, &targets(root)?))
        .arg("--")
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-rss_limit_mb={RSS_MIB}"))
        .arg(format!("-timeout={TIMEOUT_S}"))
        // Looking for leaks traces the process, which hangs where tracing is not allowed.
        .arg("-detect_leaks=0")
        .status()
        .map_err(|e| format!("rustup: {e}"))?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_corpus_and_a_promise() {
        let root = crate::root();
        let all = targets(&root).expect("the folder of targets");
        assert!(all.len() > 20, "{all:?}");
        let manifest = std::fs::read_to_string(root.join("fuzz/Cargo.toml")).expect("a manifest");
        for target in &all {
            assert!(!seeds(&root, target, &all).is_empty(), "{target}");
            assert!(
                manifest.contains(&format!("name = \"{target}\"")),
                "{target}"
            );
        }
        assert!(run(&root, &["1", "none"]).is_err());
    }
}
