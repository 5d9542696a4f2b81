//! What the arguments of `import` name: files, `-`, patterns, directories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Files that a directory or a pattern may give.
const FILES_MAX: usize = 100_000;
/// How deep directories are walked.
const DEPTH_MAX: usize = 16;

/// A file to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Input {
    /// Where it is; `-` is standard input.
    pub path: PathBuf,
    /// It was named itself, not found in a directory or by a pattern: then it has to be evidence.
    pub named: bool,
}

/// Why there is nothing to read.
#[derive(Debug, Error)]
pub enum FindError {
    /// The system's word on a path.
    #[error("{path}: {source}")]
    System {
        /// The path.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// A pattern that is none.
    #[error("{pattern}: {source}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        source: glob::PatternError,
    },
    /// A pattern that no file fits.
    #[error("{pattern}: no file matches this pattern")]
    NoMatch {
        /// The pattern.
        pattern: String,
    },
    /// A directory without files.
    #[error("{path}: the directory contains no files")]
    Empty {
        /// The directory.
        path: String,
    },
    /// Too many.
    #[error("{path}: more than {FILES_MAX} files; name a smaller directory or a pattern")]
    TooMany {
        /// The directory or pattern.
        path: String,
    },
}

/// The files that `arguments` name, each once, in the order of the arguments; what a pattern or a
/// directory gives is sorted by name.
///
/// # Errors
/// A path that does not exist, a pattern or directory that gives nothing.
pub fn inputs(arguments: &[PathBuf]) -> Result<Vec<Input>, FindError> {
    let mut found: Vec<Input> = Vec::new();
    let mut known: BTreeSet<PathBuf> = BTreeSet::new();
    for argument in arguments {
        for input in of(argument)? {
            if known.insert(input.path.clone()) {
                found.push(input);
            }
        }
    }
    Ok(found)
}

fn of(argument: &Path) -> Result<Vec<Input>, FindError> {
    let named = |path: &Path| Input {
        path: path.to_owned(),
        named: true,
    };
    if argument.as_os_str() == "-" {
        return Ok(vec![named(argument)]);
    }
    let shown = || argument.display().to_string();
    match std::fs::metadata(argument) {
        Ok(found) if found.is_dir() => directory(argument),
        Ok(_) => Ok(vec![named(argument)]),
        Err(source) => {
            let text = argument.to_string_lossy();
            if text.contains(['*', '?', '[']) {
                pattern(&text)
            } else {
                Err(FindError::System {
                    path: shown(),
                    source,
                })
            }
        }
    }
}

fn pattern(pattern: &str) -> Result<Vec<Input>, FindError> {
    let paths = glob::glob(pattern).map_err(|source| FindError::Pattern {
        pattern: pattern.to_owned(),
        source,
    })?;
    // What cannot be listed is not there to be read.
    let files = paths.filter_map(Result::ok).filter(|p| p.is_file());
    let found: Vec<Input> = files
        .take(FILES_MAX + 1)
        .map(|path| Input { path, named: false })
        .collect();
    match found.len() {
        0 => Err(FindError::NoMatch {
            pattern: pattern.to_owned(),
        }),
        n if n > FILES_MAX => Err(FindError::TooMany {
            path: pattern.to_owned(),
        }),
        _ => Ok(found),
    }
}

fn directory(path: &Path) -> Result<Vec<Input>, FindError> {
    let mut found = Vec::new();
    walk(path, DEPTH_MAX, &mut found)?;
    let shown = path.display().to_string();
    if found.is_empty() {
        return Err(FindError::Empty { path: shown });
    }
    found.sort();
    Ok(found)
}

fn walk(path: &Path, depth: usize, found: &mut Vec<Input>) -> Result<(), FindError> {
    let failed = |source| FindError::System {
        path: path.display().to_string(),
        source,
    };
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // The entry's own type: links are not followed.
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() && depth > 0 {
            walk(&entry.path(), depth - 1, found)?;
        } else if kind.is_file() {
            if found.len() == FILES_MAX {
                return Err(FindError::TooMany {
                    path: path.display().to_string(),
                });
            }
            found.push(Input {
                path: entry.path(),
                named: false,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_patterns_and_directories() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("sub")).expect("fresh");
        for name in ["b.trc", "a.trc", "sub/c.trc", "x.txt"] {
            std::fs::write(at(name), "x").expect("fresh");
        }
        std::os::unix::fs::symlink(at("x.txt"), at("link")).expect("fresh");
        let names = |arguments: &[PathBuf]| -> Vec<String> {
            let found = inputs(arguments).expect("they exist");
            let name = |i: &Input| {
                let inside = i.path.strip_prefix(dir.path()).unwrap_or(&i.path);
                inside.display().to_string()
            };
            found.iter().map(name).collect()
        };
        assert_eq!(names(&[at("*.trc")]), ["a.trc", "b.trc"]);
        let all = ["a.trc", "b.trc", "sub/c.trc", "x.txt"];
        assert_eq!(names(&[dir.path().to_owned()]), all);
        assert_eq!(
            names(&[at("x.txt"), at("*.txt"), "-".into()]),
            ["x.txt", "-"]
        );
        for bad in ["*.none", "none", "[", "sub/none"] {
            assert!(inputs(&[at(bad)]).is_err(), "{bad}");
        }
    }
}
