//! The project's files as text, by their path from the root.
//!
//! Invariant: build output and version control are never read; the order is that of the paths.

use crate::Outcome;
use std::path::Path;

/// Larger files are data, not text to be judged.
const BYTES_MAX: u64 = 1 << 20;

/// One file.
#[derive(Clone, Debug)]
pub struct File {
    /// From the root, with `/`.
    pub path: String,
    /// Its text.
    pub text: String,
}

impl File {
    /// What follows the last dot of its name; empty if there is none.
    pub fn ending(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        match name.rsplit_once('.') {
            Some((stem, ending)) if !stem.is_empty() => ending,
            _ => "",
        }
    }
}

/// Every text file below `root`.
pub fn files(root: &Path) -> Outcome<Vec<File>> {
    let mut found = Vec::new();
    walk(root, "", &mut found)?;
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Whether the folder `name` holds versions or what was built. One of sources may be called
/// `target`: cargo's is beside a manifest.
pub fn is_output(folder: &Path, name: &str) -> bool {
    let is_tagged = folder.join(name).join("CACHEDIR.TAG").exists();
    let is_built = name == "target" && folder.join("Cargo.toml").exists();
    name == ".git" || is_tagged || is_built
}

/// Whether a file is what `redolab check` writes where it is started.
fn is_report(name: &str) -> bool {
    name.starts_with("redolab-") && name.ends_with(".html")
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<File>) -> Outcome<()> {
    let told = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in std::fs::read_dir(folder).map_err(told)? {
        let entry = entry.map_err(told)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type().map_err(told)?;
        let path = format!("{prefix}{name}");
        if kind.is_dir() {
            if !is_output(folder, &name) {
                walk(&entry.path(), &format!("{path}/"), found)?;
            }
        } else if kind.is_file() && name != ".git" && !(prefix.is_empty() && is_report(&name)) {
            let bytes = entry.metadata().map_err(told)?.len();
            if bytes <= BYTES_MAX
                && let Ok(text) = std::fs::read_to_string(entry.path())
            {
                found.push(File { path, text });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ending_is_of_the_name_alone() {
        for (path, ending) in [
            ("a.b/run", ""),
            (".gitignore", ""),
            ("docs/format.md", "md"),
            ("x.tar.gz", "gz"),
        ] {
            let file = File {
                path: path.to_string(),
                text: String::new(),
            };
            assert_eq!(file.ending(), ending, "{path}");
        }
    }

    #[test]
    fn this_file_is_found_and_build_output_is_not() {
        let found = files(&crate::root()).expect("the workspace is readable");
        assert!(found.iter().any(|f| f.path == "xtask/src/tree.rs"));
        assert!(found.iter().all(|f| !f.path.starts_with("target/")));
        let sources = "crates/lab/src/experiment/target/mod.rs";
        assert!(found.iter().any(|f| f.path == sources));
    }
}
