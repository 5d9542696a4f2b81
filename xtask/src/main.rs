//! The project's own chores, run as `cargo xtask COMMAND`.
//!
//! What lives here: the dispatch. `tidy` holds the rules that no lint knows, `docs` what is
//! generated (`figures` from measured data), `check` the table of steps that a change must pass,
//! `packages` one of them, `dist` makes what others install, `setup` what the tests need from the
//! machine, `prove` what takes longer than a check may; the limits themselves are in `policy`.
//! `binaries` builds programs of tests, `watch` runs them under a time limit, `stacks` shows where
//! what is ended hangs.
//!
//! What it must not know: anything of the crates that it checks, but the metric catalogue.

mod binaries;
mod check;
mod dist;
mod docs;
mod figures;
mod fuzz;
mod generate;
mod harness;
mod held;
mod packages;
mod policy;
mod prove;
mod setup;
mod source;
mod stacks;
mod suite;
mod tidy;
mod tree;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

/// What a chore ends with: whether it is content, or why it could not be done.
type Outcome<T> = Result<T, String>;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  check [--keep-going] [STEP…]  every check, or the named steps: the same here and in CI
  test                          setup, then check
  prove [NAME…]                 what exceeds a check's budget, with its data (`prove list`)
  dist                          make what others install, in target/dist: .deb, wheel, static binary
  setup                         install what the tests need from the system, as far as it may
  tidy                          the project's own rules: layers, sizes, unsafe, documents, links
  docs                          write the generated documents, and the figures of measured data
  fuzz [SECONDS] [TARGET…]      every fuzz target for a while, where a nightly toolchain is
  generate KIND [--seed N] …     evidence with known answers (`generate list`)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = root();
    let done = match words.as_slice() {
        ["check", options @ ..] => match check::Options::parse(options) {
            Ok(options) => check::run(&root, &options, None),
            Err(problem) => return usage(&problem),
        },
        ["test"] => {
            let setup = std::thread::spawn(setup::run);
            check::run(&root, &check::Options::default(), Some(setup))
        }
        ["setup"] => {
            setup::run();
            Ok(true)
        }
        ["prove", words @ ..] => prove::run(&root, words),
        ["dist"] => dist::run(&root),
        ["tidy"] => tidy::run(&root),
        ["docs"] => docs::write(&root),
        ["fuzz", words @ ..] => fuzz::run(&root, words),
        ["generate", options @ ..] => generate::run(options),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(true)
        }
        [] => return usage("a command is missing"),
        [other, ..] => return usage(&format!("cannot do `{other}`")),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn usage(problem: &str) -> ExitCode {
    eprintln!("xtask: {problem}\n{USAGE}");
    ExitCode::from(2)
}

/// The workspace: the folder above this crate.
fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    own.parent().map_or_else(|| own.clone(), PathBuf::from)
}

/// The cargo that runs us, so that a step never uses another toolchain.
fn cargo() -> std::process::Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = std::process::Command::new(program);
    if std::env::var_os("CARGO_INCREMENTAL").is_none() && !is_developed_here() {
        command.env("CARGO_INCREMENTAL", "0");
    }
    command
}

/// Whether the product was built here step by step before. What makes later builds faster costs the
/// first one time, so that a fresh clone goes without.
fn is_developed_here() -> bool {
    let folder = root().join("target/debug/incremental");
    let mut builds = std::fs::read_dir(folder).into_iter().flatten().flatten();
    builds.any(|build| build.file_name().to_string_lossy().starts_with("redo-"))
}
