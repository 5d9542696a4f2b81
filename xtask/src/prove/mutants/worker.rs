//! One copy of the tree in which mutants are built and tested, one after the other.
//!
//! What lives here: the copy, running a stage of tests in it, and taking down what a killed test
//! leaves. As root each test program runs in namespaces of its own, so that its processes and
//! mounts end with it.
//!
//! Invariant: the tree that is proved is never changed, only its copy.

use super::draw::Mutant;
use super::tiers::{self, Stage, Tier};
use crate::binaries::{self, Binary};
use crate::watch::{self, End, Limits};
use crate::{Outcome, cargo, setup, tree};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time of a program of tests before its usual time is known.
const FIRST: Duration = Duration::from_secs(900);
/// Times its usual time that a program may take: other work on the machine must not look like a
/// loop that never ends.
const SLOWER: u32 = 6;
/// Time beside that.
const SPARE: Duration = Duration::from_secs(30);
/// Mounts a memory file system of the test program's own, bounds its memory, and runs it.
const SHELL: &str = "mount -t tmpfs none /dev/shm; ulimit -v 16000000; \"$@\"";

/// How a mutant met the tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// `caught`, `timeout`, `unviable` or `survived`.
    pub how: &'static str,
    /// The stage that ended it; empty for a survivor.
    pub stage: &'static str,
    /// The tier of that stage; for a survivor the last one that it met.
    pub tier: Tier,
    /// The test that failed, or the program that failed without naming one.
    pub test: String,
}

/// How a stage ended.
enum Met {
    Passed,
    NotBuilt,
    Caught(String),
    Late(String),
}

/// A copy of the tree with a target folder of its own.
pub struct Worker {
    tree: PathBuf,
    target: PathBuf,
    scratch: PathBuf,
    alone: bool,
    /// Usual times of test programs, by stage and program; a stage is here once it has passed
    /// without a mutant.
    usual: BTreeMap<(&'static str, String), Duration>,
    passed: Vec<&'static str>,
}

impl Worker {
    /// Copies the tree at `root` to the worker's folder.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn new(root: &Path, number: usize) -> Outcome<Worker> {
        let own = root.join("target/mutants").join(number.to_string());
        let worker = Worker {
            tree: own.join("tree"),
            target: own.join("target"),
            scratch: own.join("tmp"),
            alone: setup::is_root() && setup::find("unshare").is_some(),
            usual: BTreeMap::new(),
            passed: Vec::new(),
        };
        copy(root, &worker.tree)?;
        let first = root.join("target/mutants/0/target");
        if number > 0 && !worker.target.exists() && first.exists() {
            let mut copy = Command::new("cp");
            copy.args(["--archive", "--reflink=auto"]).arg(first);
            // Without the copy it compiles what it needs.
            drop(copy.arg(&worker.target).status());
        }
        worker.clear()?;
        Ok(worker)
    }

    /// Builds and runs the stages of `packages` through `until` without a mutant, as far as the
    /// fast tier: what comes behind it is built when the first mutant needs it.
    ///
    /// # Errors
    /// When they do not compile or fail without a mutant.
    pub fn prepare(&mut self, packages: &[&str], until: Tier) -> Outcome<()> {
        let stages = packages.iter().flat_map(|package| tiers::of(package));
        for stage in stages.filter(|stage| stage.tier <= until.min(Tier::Fast)) {
            self.know(stage)?;
        }
        Ok(())
    }

    /// Another worker, which knows what this one has learned about the tests without a mutant.
    ///
    /// # Errors
    /// As [`Worker::new`].
    pub fn fellow(&self, root: &Path, number: usize) -> Outcome<Worker> {
        Ok(Worker {
            usual: self.usual.clone(),
            passed: self.passed.clone(),
            ..Worker::new(root, number)?
        })
    }

    /// Tests a mutant, behind the tier that it survived already and through `until`, until
    /// something notices it.
    ///
    /// # Errors
    /// When the tests fail without a mutant, or something cannot be run.
    pub fn judge(
        &mut self,
        mutant: &Mutant,
        survived: Option<Tier>,
        until: Tier,
    ) -> Outcome<Verdict> {
        let stages = tiers::of(&mutant.package).iter();
        for stage in stages.filter(|s| Some(s.tier) > survived && s.tier <= until) {
            self.know(stage)?;
            let file = self.tree.join(&mutant.file);
            let failed = |e: std::io::Error| format!("{}: {e}", file.display());
            let text = std::fs::read_to_string(&file).map_err(failed)?;
            if !mutant.is_built(&text) {
                return Ok(Verdict {
                    how: "unviable",
                    stage: "",
                    tier: until,
                    test: String::new(),
                });
            }
            let changed = mutant.applied(&text).ok_or("the tree has changed")?;
            std::fs::write(&file, changed).map_err(failed)?;
            let met = self.run(stage);
            std::fs::write(&file, text).map_err(failed)?;
            let verdict = |how, test| Verdict {
                how,
                stage: stage.name,
                tier: stage.tier,
                test,
            };
            match met? {
                Met::Passed => {}
                Met::NotBuilt => return Ok(verdict("unviable", String::new())),
                Met::Caught(test) => return Ok(verdict("caught", test)),
                Met::Late(test) => return Ok(verdict("timeout", test)),
            }
        }
        Ok(Verdict {
            how: "survived",
            stage: "",
            tier: until,
            test: String::new(),
        })
    }

    /// Runs a stage without a mutant, once: it has to pass, and its times become the usual ones.
    fn know(&mut self, stage: &'static Stage) -> Outcome<()> {
        if self.passed.contains(&stage.name) {
            return Ok(());
        }
        match self.run(stage)? {
            Met::Passed => self.passed.push(stage.name),
            Met::NotBuilt => return Err(format!("{}: does not compile", stage.name)),
            Met::Caught(test) | Met::Late(test) => {
                return Err(format!("{}: {test} fails without a mutant", stage.name));
            }
        }
        Ok(())
    }

    fn built(&self, stage: &Stage) -> Outcome<Option<Vec<Binary>>> {
        let mut command = cargo();
        command
            .args(["test", "--locked", "--quiet"])
            .args(stage.build)
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_INCREMENTAL", "1")
            .stderr(Stdio::null());
        binaries::build(&mut command)
    }

    fn run(&mut self, stage: &'static Stage) -> Outcome<Met> {
        let Some(built) = self.built(stage)? else {
            return Ok(Met::NotBuilt);
        };
        for binary in &built {
            let met = self.test(stage, binary)?;
            if !matches!(met, Met::Passed) {
                return Ok(met);
            }
        }
        Ok(Met::Passed)
    }

    fn test(&mut self, stage: &'static Stage, binary: &Binary) -> Outcome<Met> {
        let key = (stage.name, binary.name.clone());
        let usual = self.usual.get(&key).copied();
        let limit = usual.map_or(FIRST, |usual| usual * SLOWER + SPARE);
        let limits = Limits {
            test: limit,
            program: limit,
        };
        let begun = Instant::now();
        let mut caught = None;
        let mut command = self.command(stage, binary);
        let end = watch::watch(&mut command, limits, |line| {
            if let Some((name, false)) = watch::result(line) {
                caught = Some(name.to_owned());
            }
            caught.is_none()
        })?;
        if end != End::Ended(true) {
            self.clear()?;
        }
        let named = |test: &str| format!("{}::{test}", binary.name);
        Ok(match end {
            End::Ended(true) => {
                self.usual.entry(key).or_insert(begun.elapsed());
                Met::Passed
            }
            End::Ended(false) | End::Stopped => {
                let test = caught.map_or_else(|| binary.name.clone(), |test| named(&test));
                Met::Caught(test)
            }
            End::Late(tests) => Met::Late(named(&tests.join(" "))),
            End::Overran => Met::Late(binary.name.clone()),
        })
    }

    fn command(&self, stage: &Stage, binary: &Binary) -> Command {
        let plain = binary.command();
        let mut command = Command::new(plain.get_program());
        if self.alone {
            command = Command::new("unshare");
            command
                .args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
                .args(["sh", "-c", SHELL, "sh"])
                .arg(plain.get_program());
        }
        command
            .args(stage.run)
            .args(["--test-threads", "2"])
            .envs(stage.env.iter().copied())
            .env("CARGO_MANIFEST_DIR", &binary.folder)
            .env("TMPDIR", &self.scratch)
            .current_dir(&binary.folder)
            .stderr(Stdio::null());
        command
    }

    /// Empties the folder of temporary files, and detaches loop devices that stand on it.
    fn clear(&self) -> Outcome<()> {
        let devices = std::fs::read_dir("/sys/block").into_iter().flatten();
        for device in devices.flatten() {
            let file = std::fs::read_to_string(device.path().join("loop/backing_file"));
            if file.is_ok_and(|file| Path::new(file.trim_end()).starts_with(&self.scratch)) {
                let node = Path::new("/dev").join(device.file_name());
                let mut detach = Command::new("losetup");
                // What cannot be detached is reported by the next test that needs a device.
                drop(detach.arg("--detach").arg(node).status());
            }
        }
        if self.scratch.exists() {
            // A mutant may have made what cannot be removed; the tests use fresh names.
            drop(std::fs::remove_dir_all(&self.scratch));
        }
        std::fs::create_dir_all(&self.scratch)
            .map_err(|e| format!("{}: {e}", self.scratch.display()))
    }
}

/// Copies a folder; files that are the same already keep their times, so that a later start
/// compiles nothing again.
fn copy(from: &Path, to: &Path) -> Outcome<()> {
    let failed = |e: std::io::Error| format!("{}: {e}", from.display());
    std::fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (source, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            if !tree::is_output(from, &name.to_string_lossy()) {
                copy(&source, &to.join(&name))?;
            }
        } else if kind.is_file() || kind.is_symlink() {
            // A licence of a crate is a link to that of the workspace; its content will do.
            let bytes = std::fs::read(&source).map_err(failed)?;
            let copy = to.join(&name);
            if std::fs::read(&copy).ok().as_ref() != Some(&bytes) {
                std::fs::write(&copy, bytes).map_err(|e| format!("{}: {e}", copy.display()))?;
            }
        }
    }
    Ok(())
}
