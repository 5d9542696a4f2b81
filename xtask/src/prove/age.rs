//! How old each proof is: the commit at which it held last, and how much of what it proves has
//! changed since.
//!
//! What lives here: reading that from the lines of [`DATA`](super::tests::DATA) and from git. A
//! proof counts for the crate whose tests it runs and for the crates that this one is built from;
//! their tests and benchmarks don't count.
//!
//! Invariant: what git does not know is said to be unknown, never to be new.

use super::{record, tests};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// So many changed lines make a proof stale.
const STALE_LINES: u64 = 500;

/// When a proof held last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Age {
    /// It has no line in the data.
    Unknown,
    /// None of its lines says that it held.
    NeverHeld,
    /// It held.
    Held {
        /// At this commit,
        commit: String,
        /// from which files differed,
        dirty: bool,
        /// and so much has come since; `None` where git does not know the commit.
        since: Option<Since>,
        /// It failed after that.
        failed_since: bool,
    },
}

/// What has come since a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Since {
    /// Commits.
    pub commits: u64,
    /// Lines of the proved crates that were added or removed.
    pub lines: u64,
}

impl Age {
    /// It says nothing of the code as it is.
    fn is_stale(&self) -> bool {
        match self {
            Age::Unknown => false,
            Age::NeverHeld => true,
            Age::Held { since, .. } => since.is_none_or(|since| since.lines > STALE_LINES),
        }
    }
}

impl std::fmt::Display for Age {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Age::Held {
            commit,
            dirty,
            since,
            failed_since,
        } = self
        else {
            return f.write_str(match self {
                Age::Unknown => "no data",
                _ => "has never held",
            });
        };
        let short = commit.get(..8).unwrap_or(commit);
        write!(f, "held at {short}")?;
        if *dirty {
            f.write_str(" (dirty: with uncommitted changes)")?;
        }
        match since {
            Some(Since { commits, lines }) => write!(
                f,
                ", {commits} commits ago; {lines} lines of what it proves changed since"
            )?,
            None => f.write_str(", a commit that git does not know here")?,
        }
        if *failed_since {
            f.write_str("; FAILED since")?;
        }
        Ok(())
    }
}

/// The age of each proof that appends lines to the data, by its name.
pub fn ages(root: &Path) -> BTreeMap<&'static str, Age> {
    let text = std::fs::read_to_string(root.join(tests::DATA)).unwrap_or_default();
    let mut known = BTreeMap::new();
    let all = super::proofs().map(|proof| (proof.name, proof.package));
    all.chain([("dist", "redolab")])
        .map(|(name, package)| {
            let age = age(&text, name, |commit| {
                let key = (commit.to_owned(), package);
                *known
                    .entry(key)
                    .or_insert_with(|| since(root, commit, package))
            });
            (name, age)
        })
        .collect()
}

/// The proofs of which too much has changed, in words.
pub fn notes(root: &Path) -> Vec<String> {
    let stale = ages(root).into_iter().filter(|(_, age)| age.is_stale());
    let note = |(name, age)| format!("proof {name}: {age}: run `cargo xtask prove {name}` again");
    stale.map(note).collect()
}

fn age(text: &str, name: &str, mut since: impl FnMut(&str) -> Option<Since>) -> Age {
    let field = |row: &BTreeMap<String, String>, name: &str| row.get(name).cloned();
    let of_this = |row: &BTreeMap<String, String>| row.get("proof").is_some_and(|p| p == name);
    let rows: Vec<_> = record::rows(text).into_iter().filter(of_this).collect();
    let held = |row: &BTreeMap<String, String>| row.get("result").is_some_and(|r| r == "passed");
    let Some(at) = rows.iter().rposition(held) else {
        return match rows.is_empty() {
            true => Age::Unknown,
            false => Age::NeverHeld,
        };
    };
    let named = field(&rows[at], "commit").unwrap_or_default();
    let (commit, changes) = named.split_once(' ').unwrap_or((&named, ""));
    Age::Held {
        since: since(commit),
        dirty: !changes.is_empty(),
        commit: commit.to_owned(),
        failed_since: at + 1 < rows.len(),
    }
}

/// What has come since `commit`; `None` where git does not know it.
fn since(root: &Path, commit: &str, package: &str) -> Option<Since> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .args(arguments)
            .current_dir(root)
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let commits = git(&["rev-list", "--count", &format!("{commit}..HEAD")])?;
    let folders = built_from(root, package);
    let folders = folders.iter().map(|name| format!("crates/{name}/src"));
    let mut arguments = ["diff", "--numstat", commit, "HEAD", "--"]
        .map(str::to_owned)
        .to_vec();
    arguments.extend(folders);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let changed = git(&arguments)?;
    // A binary file has dashes for its lines.
    let lines = changed.lines().map(|line| {
        let numbers = line.split_whitespace().take(2);
        numbers.filter_map(|n| n.parse::<u64>().ok()).sum::<u64>()
    });
    Some(Since {
        commits: commits.trim().parse().ok()?,
        lines: lines.sum(),
    })
}

/// The folders of a package and of all packages that it is built from.
pub fn built_from(root: &Path, package: &str) -> Vec<String> {
    let folder = |name: &str| name.strip_prefix("redolab-").unwrap_or(name).to_owned();
    let (mut found, mut next) = (Vec::new(), vec![folder(package)]);
    while let Some(name) = next.pop() {
        let manifest = root.join("crates").join(&name).join("Cargo.toml");
        let Ok(text) = std::fs::read_to_string(manifest) else {
            continue;
        };
        if found.contains(&name) {
            continue;
        }
        let behind = text
            .split_once("\n[dependencies]")
            .map_or("", |(_, rest)| rest);
        let own = behind.split("\n[").next().unwrap_or("");
        let keys = own
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next());
        next.extend(keys.filter(|key| !key.is_empty()).map(folder));
        found.push(name);
    }
    found.sort();
    found
}

#[cfg(test)]
mod unit {
    use super::*;

    const DATA: &str = "proof,round,settings,result,tests,seconds,commit,figures\n\
        # a machine\n\
        members,0,,failed,4,1,aaaa,\n\
        members,0,,passed,4,1,bbbb with changes,\"0, 1\"\n\
        rings,0,,passed,4,1,cccc,\n\
        rings,0,,failed,4,1,dddd,\n\
        schedules,0,,failed,4,1,eeee,\n";

    #[test]
    fn the_last_line_that_held_counts() {
        let of = |name: &str, lines: Option<u64>| {
            age(DATA, name, |commit| {
                assert!(["bbbb", "cccc"].contains(&commit), "{commit}");
                lines.map(|lines| Since { commits: 3, lines })
            })
        };
        let text = of("members", Some(501)).to_string();
        assert!(
            text.contains("bbbb (dirty") && text.contains("3 commits ago; 501 lines"),
            "{text}"
        );
        assert!(!text.contains("FAILED"), "it failed before: {text}");
        assert!(of("rings", Some(0)).to_string().ends_with("FAILED since"));
        assert!(of("members", Some(501)).is_stale() && !of("members", Some(500)).is_stale());
        assert!(
            of("members", None).is_stale(),
            "nobody knows what has changed"
        );
        assert_eq!(of("schedules", None), Age::NeverHeld);
        assert!(of("schedules", None).is_stale());
        assert_eq!(of("histories", None), Age::Unknown);
    }

    #[test]
    fn a_proof_counts_for_what_its_tests_are_built_from() {
        let root = crate::root();
        let of = |package| built_from(&root, package);
        assert_eq!(of("redolab-redo"), ["device", "measure", "redo"]);
        assert!(of("redolab").contains(&"analysis".to_owned()));
        assert!(!of("redolab-analysis").contains(&"redolab".to_owned()));
    }

    #[test]
    fn every_proof_that_is_a_test_has_an_age() {
        let root = crate::root();
        let ages = ages(&root);
        assert!(crate::prove::proofs().all(|proof| ages.contains_key(proof.name)));
        // A package has no history.
        if since(&root, "HEAD", "redolab-redo") == Some(Since::default()) {
            assert_eq!(since(&root, "no-such-commit", "redolab-redo"), None);
        }
    }
}
