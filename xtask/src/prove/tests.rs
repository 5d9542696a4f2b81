//! Proofs that are tests at length: the table, and running one of them.
//!
//! What lives here: which test, with which environment, how long it may take, and which files of
//! data it writes. Each run appends a line to `experiments/proofs/data.csv`; its output is kept
//! below `target/prove`. A test that skips itself proves nothing: the proof has failed then.

use super::record;
use crate::binaries::{self, Binary};
use crate::watch::{self, End, Limits};
use crate::{Outcome, cargo};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Histories of a round of the crash simulation.
const HISTORIES: u64 = 250_000;
/// Histories with members of a round, and the first seed of the first: a check takes lower ones.
const MEMBER_HISTORIES: u64 = 100_000;
const FIRST_MEMBER_HISTORY: u64 = 1_000_000;
/// Schedules of a round of each test under shuttle.
const SCHEDULES: u64 = 50_000;
/// Kills of a round.
const KILLS: u64 = 500;
/// Where each run of a proof appends a line.
pub(super) const DATA: &str = "experiments/proofs/data.csv";
/// Names of the columns of [`DATA`].
pub(super) const COLUMNS: &str = "proof,round,settings,result,tests,seconds,commit,figures";

/// The environment of a round.
type Environment = Vec<(&'static str, String)>;

/// A test at length.
pub struct Proof {
    /// As it is asked for.
    pub name: &'static str,
    /// What a passed run shows.
    pub shows: &'static str,
    /// About how long it takes on two processors.
    pub takes: &'static str,
    /// Hours after which it is ended as a failure.
    pub hours: u32,
    /// Whose tests they are.
    pub package: &'static str,
    /// What a cargo test command is given.
    pub arguments: &'static [&'static str],
    /// What its test program is given.
    pub filter: &'static [&'static str],
    /// The environment of a round, counted from 0.
    pub env: fn(u64) -> Environment,
    /// Another round has other seeds; otherwise one says all.
    pub repeats: bool,
    /// The variable that names a file of data, and where its content belongs.
    pub data: &'static [(&'static str, &'static str)],
}

const PLAIN: Proof = Proof {
    name: "",
    shows: "",
    takes: "",
    hours: 2,
    package: "redolab-redo",
    arguments: &[],
    filter: &[],
    env: |_| Vec::new(),
    repeats: false,
    data: &[],
};

/// The simulated histories of a round of logs with members, or with a ring.
fn member_histories(round: u64) -> Environment {
    let from = FIRST_MEMBER_HISTORY + round * MEMBER_HISTORIES;
    vec![
        ("REDOLAB_CRASH_FROM", from.to_string()),
        ("REDOLAB_CRASH_SEEDS", MEMBER_HISTORIES.to_string()),
    ]
}

/// Every test that is run at length.
pub const PROOFS: &[Proof] = &[
    Proof {
        name: "histories",
        shows: "250,000 simulated histories with faults anywhere break no promise; every planted \
                bug is found",
        takes: "10 min",
        arguments: &["--features", "crash", "--test", "crash"],
        filter: &["crash_simulation::"],
        env: |round| {
            vec![
                ("REDOLAB_CRASH_FROM", (round * HISTORIES).to_string()),
                ("REDOLAB_CRASH_SEEDS", HISTORIES.to_string()),
            ]
        },
        repeats: true,
        ..PLAIN
    },
    Proof {
        name: "members",
        shows: "100,000 simulated histories of mirrors, races and mirrors of races, with members that \
                fail, are late, are lost and return, break no promise; every bug planted in members \
                is found",
        takes: "20 min",
        arguments: &["--features", "crash", "--test", "crash"],
        filter: &["crash_members::"],
        env: member_histories,
        repeats: true,
        ..PLAIN
    },
    Proof {
        name: "rings",
        shows: "100,000 simulated histories of logs with a ring or failover break no promise; every \
                bug planted in rings is found",
        takes: "20 min",
        arguments: &["--features", "crash", "--test", "crash"],
        filter: &["crash_ring::"],
        env: member_histories,
        repeats: true,
        ..PLAIN
    },
    Proof {
        name: "schedules",
        shows: "50,000 drawn schedules of whole logs for each case lose nothing and wake everybody",
        takes: "30 min",
        arguments: &["--features", "shuttle", "--lib"],
        // The other tests of the library cannot run with shuttle's locks.
        filter: &["schedules::"],
        env: |round| {
            vec![
                ("REDO_SCHEDULE_SEED", (round + 2).to_string()),
                ("REDO_SCHEDULES", SCHEDULES.to_string()),
            ]
        },
        hours: 6,
        repeats: true,
        ..PLAIN
    },
    Proof {
        name: "interleavings",
        shows: "every interleaving of reserve, seal, wake and hand-off with up to 4 preemptions, \
                or as many as 10 minutes for each model allow (interleavings SECONDS)",
        takes: "2 h",
        arguments: &["--features", "loom", "--lib"],
        filter: &["interleavings::"],
        env: |_| {
            vec![
                ("LOOM_MAX_PREEMPTIONS", "4".to_owned()),
                // Seconds of each model.
                ("LOOM_MAX_DURATION", "600".to_owned()),
            ]
        },
        hours: 12,
        ..PLAIN
    },
    Proof {
        name: "kills",
        shows: "kill -9 at 500 random moments on files, 125 on a raw device and 250 of a mirror and \
                of a race each loses nothing that was acknowledged",
        takes: "5 min",
        arguments: &["--test", "kill"],
        filter: &["survives_kill_9"],
        env: |_| vec![("REDO_KILLS", KILLS.to_string())],
        repeats: true,
        data: &[("REDO_KILL_CSV", "experiments/long-life/kills.csv")],
        ..PLAIN
    },
    Proof {
        name: "member-cuts",
        shows: "200 power cuts of a mirror and 200 of a race on two loop devices, of each alone and \
                of both, lose nothing beyond the window that a race reports; the controls lose",
        takes: "5 min",
        arguments: &["--features", "crash", "--test", "crash_power_cuts"],
        filter: &["survive_power_cuts_of_members"],
        env: |_| {
            vec![
                ("REDO_CUT_REQUIRED", "1".to_owned()),
                ("REDO_MEMBER_CUTS", "200".to_owned()),
            ]
        },
        data: &[("REDO_CUT_MEMBERS_CSV", "experiments/power-cuts/members.csv")],
        ..PLAIN
    },
    Proof {
        name: "ring-cuts",
        shows: "200 power cuts of a disk and its ring on two loop devices, and 200 with failover, of \
                each alone and of both, lose nothing; the controls lose",
        takes: "5 min",
        arguments: &["--features", "crash", "--test", "crash_power_cuts"],
        filter: &["survive_power_cuts_of_rings"],
        env: |_| {
            vec![
                ("REDO_CUT_REQUIRED", "1".to_owned()),
                ("REDO_MEMBER_CUTS", "200".to_owned()),
            ]
        },
        data: &[("REDO_CUT_RINGS_CSV", "experiments/power-cuts/rings.csv")],
        ..PLAIN
    },
    Proof {
        name: "hangs",
        shows: "a member, disk or ring hangs beside checkpoints, log switches, an archiver, a copy or \
                a close, 100 times each: at least 95 of 100 times no commit waits longer than the \
                patience and 100 ms, and nothing is lost",
        takes: "30 min",
        arguments: &["--test", "hangs"],
        filter: &["commits_go_on_while", "--test-threads", "1"],
        env: |_| vec![("REDOLAB_HANGS", "100".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "server-kills",
        shows: "20 kills of redolab and of the guard of a private PostgreSQL and of a private \
                MariaDB: no server outlives them by 5 s, and the next command removes the rest",
        takes: "10 min",
        package: "redolab",
        arguments: &["--test", "servers"],
        filter: &["no_server_outlives_a_kill", "--test-threads", "1"],
        env: |_| vec![("REDOLAB_SERVER_KILLS", "20".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "command-kills",
        shows: "20 kills of each command that makes something, each inside its work: nothing is left \
                after the next start, and no run is falsely complete",
        takes: "30 min",
        package: "redolab",
        arguments: &["--test", "cli", "--test", "servers", "--test", "powertest"],
        filter: &["kills::", "--test-threads", "1"],
        env: |_| vec![("REDOLAB_KILLS", "20".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "watched",
        shows: "redolab watch on PostgreSQL (buffered and open_datasync) and MariaDB, 10 runs each: \
                its counts are those of the server; the embedded log and fio on ext4 and XFS: theirs; \
                20 kills leave nothing after the next start",
        takes: "15 min",
        package: "redolab",
        arguments: &["--test", "servers"],
        filter: &["watch", "--test-threads", "1"],
        env: |_| {
            vec![
                ("REDOLAB_WATCH_RUNS", "10".to_owned()),
                ("REDOLAB_WATCH_KILLS", "20".to_owned()),
            ]
        },
        ..PLAIN
    },
    Proof {
        name: "canary",
        shows: "redolab watch --canary classes 10 injected stalls of each of storage (a disk that \
                pauses, a limit of a control group), writeback (a slow disk) and scheduler (a hog, a \
                quota) right, 30 of 30, and 5 pauses of a disk that writes pages back, and reports none \
                in 10 quiet minutes",
        takes: "13 min",
        package: "redolab",
        arguments: &["--test", "canary"],
        filter: &["injected", "--test-threads", "1"],
        env: |_| {
            vec![
                ("REDOLAB_CANARY_REQUIRED", "1".to_owned()),
                ("REDOLAB_CANARY_STALLS", "10".to_owned()),
                ("REDOLAB_CANARY_QUIET_S", "600".to_owned()),
            ]
        },
        data: &[("REDOLAB_CANARY_CSV", "experiments/watch/canary.csv")],
        ..PLAIN
    },
    Proof {
        name: "tprocc-kills",
        shows: "TPROC-C on PostgreSQL and MariaDB, each killed and recovered 20 times: every \
                condition holds and nothing that was committed is missing",
        takes: "5 min",
        package: "redolab-drivers",
        arguments: &["--test", "postgres", "--test", "mariadb"],
        filter: &["is_consistent_after_recovery"],
        env: |_| vec![("REDOLAB_TPROCC_KILLS", "20".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "long-life",
        shows: "half an hour of commits and log switches: flat memory, nothing lost when killed",
        takes: "31 min",
        arguments: &["--test", "kill"],
        filter: &["a_long_life"],
        env: |_| vec![("REDO_LIFE_SECONDS", "1830".to_owned())],
        data: &[("REDO_LIFE_CSV", "experiments/long-life/data.csv")],
        ..PLAIN
    },
    Proof {
        name: "life",
        shows: "90 minutes of a race of two members with a database writer, an archiver and log \
                switches: flat memory, everything acknowledged is archived after SIGKILL",
        takes: "91 min",
        package: "redolab",
        arguments: &["--test", "system"],
        filter: &["a_log_lives_on"],
        env: |_| vec![("REDOLAB_LIFE_SECONDS", "5400".to_owned())],
        hours: 3,
        ..PLAIN
    },
    Proof {
        name: "power-cuts",
        shows: "powertest over two network namespaces: 200 power cuts of an honest disk lose \
                nothing; disks that drop flushes, reorder, tear, or lose one flush in 50 are each \
                refuted with their class; 50 shutdowns each of ext4 and xfs",
        takes: "15 min",
        package: "redolab",
        arguments: &["--test", "powertest"],
        filter: &["--test-threads", "1"],
        env: |round| {
            vec![
                ("REDOLAB_POWER_REQUIRED", "1".to_owned()),
                ("REDOLAB_POWER_NETWORK", "1".to_owned()),
                ("REDOLAB_POWER_CUTS", "200".to_owned()),
                ("REDOLAB_POWER_LIES", "50".to_owned()),
                ("REDOLAB_POWER_RARE", "200".to_owned()),
                ("REDOLAB_POWER_SHUTDOWNS", "50".to_owned()),
                ("REDOLAB_POWER_SEED", (round + 11).to_string()),
            ]
        },
        repeats: true,
        data: &[("REDOLAB_POWER_CSV", "experiments/powertest/cuts.csv")],
        ..PLAIN
    },
    Proof {
        name: "flips",
        shows: "no flip of any of the 8 bits of each byte of a mebibyte of redo is believed",
        takes: "5 min",
        arguments: &["--test", "log"],
        filter: &["no_flip_in_a_mebibyte"],
        env: |_| vec![("REDO_FLIPS", "8".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "faults",
        shows: "each operation of a script fails with each fault, in every back end, and on each \
                member of a mirror and of a race",
        takes: "20 min",
        arguments: &["--test", "log"],
        filter: &["faults::"],
        env: |_| vec![("REDO_FAULTS", "all".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "limits",
        shows: "200 random combinations of options, and 20 on private servers, write no more than \
                --max-write allows",
        takes: "20 min",
        package: "redolab",
        arguments: &["--tests"],
        filter: &["max_write_is_never_exceeded"],
        env: |_| vec![("REDOLAB_LIMIT_DRAWS", "200".to_owned())],
        hours: 3,
        ..PLAIN
    },
    Proof {
        name: "credits",
        shows: "a soak recognises burst credits of requests and of bytes on a device that the kernel \
                throttles from some moment on, and none on one that it does not",
        takes: "3 min",
        package: "redolab",
        arguments: &["--test", "cli"],
        filter: &["burst_credits_are_recognised"],
        env: |_| vec![("REDOLAB_CREDITS", "all".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "hostile-runs",
        shows: "stored runs of every kind that once took too much memory are refused or read",
        takes: "3 min",
        package: "redolab",
        arguments: &["--test", "cli"],
        filter: &["a_hostile_run_takes_bounded_memory"],
        env: |_| vec![("REDOLAB_HOSTILE_RUNS", "1".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "reports",
        shows: "reports hold in a browser at every width in every scheme",
        takes: "3 min",
        package: "redolab",
        arguments: &["--test", "cli"],
        filter: &["reports_hold_in_a_browser"],
        env: |_| vec![("REDOLAB_EVERY_SCHEME", "1".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "stream",
        shows: "10 GB of evidence through standard input take little memory",
        takes: "3 min",
        package: "redolab",
        arguments: &["--test", "cli"],
        filter: &["a_long_stream"],
        env: |_| vec![("REDOLAB_STREAM_BYTES", "10000000000".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "evidence",
        shows: "traces read in blocks give what the whole gives, with other seeds",
        takes: "3 min",
        package: "redolab-evidence",
        arguments: &["--lib"],
        filter: &["blocks"],
        env: |round| vec![("REDOLAB_IMPORT_SEED", (round + 2).to_string())],
        repeats: true,
        ..PLAIN
    },
    Proof {
        name: "cut-evidence",
        shows: "evidence that is cut at any byte never says more than the whole",
        takes: "3 min",
        package: "redolab-evidence",
        arguments: &["--test", "listings"],
        filter: &["than_the_whole"],
        env: |_| vec![("REDOLAB_EVERY_BYTE", "1".to_owned())],
        ..PLAIN
    },
    Proof {
        name: "mutated-evidence",
        shows: "of 10,000 evidence files that were cut, glued, wrapped, tabbed or quoted no figure is read wrong",
        takes: "1 min",
        package: "redolab-evidence",
        arguments: &["--test", "listings"],
        filter: &["a_figure_that_is_read_is_right"],
        env: |round| {
            let seed = 1 + round * 10_000;
            vec![
                ("REDOLAB_MUTATIONS", "10000".to_owned()),
                ("REDOLAB_SEED", seed.to_string()),
            ]
        },
        repeats: true,
        ..PLAIN
    },
    Proof {
        name: "findings",
        shows: "how often each finding is a false alarm on healthy inputs of other programs and of a \
                generator, and how many planted faults it finds: at least 3 of 4",
        takes: "2 min",
        package: "redolab",
        arguments: &["--test", "consistency"],
        filter: &["findings_have_a_record"],
        data: &[("REDOLAB_FINDINGS_CSV", "experiments/findings/data.csv")],
        ..PLAIN
    },
    Proof {
        name: "statistics",
        shows: "tests and intervals keep their promised rates in 20 times the trials",
        takes: "5 min",
        package: "redolab-analysis",
        arguments: &["--test", "stats_simulation"],
        env: |_| vec![("REDOLAB_STATS_TRIALS", "20".to_owned())],
        ..PLAIN
    },
];

/// How a run went.
#[derive(Default)]
struct Outcomes {
    passed: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
    figures: Vec<String>,
}

impl Outcomes {
    fn line(&mut self, line: &str) {
        if let Some((name, passed)) = watch::result(line) {
            if passed {
                self.passed += 1;
            } else {
                self.failed.push(name.to_owned());
            }
        } else if let Some(reason) = line.strip_prefix(crate::harness::SKIPPED) {
            self.skipped.push(reason.to_owned());
        } else if line.contains("seed=") || line.contains(" 0 ") || line.contains("lost") {
            self.figures.push(line.trim().to_owned());
        }
    }

    fn well(&self, end: &End) -> bool {
        *end == End::Ended(true) && self.skipped.is_empty() && self.failed.is_empty()
    }
}

/// Runs a proof's tests for a round, with more variables of the caller's. Whether it holds.
///
/// # Errors
/// When it cannot be built, run, or written down.
pub fn run(root: &Path, proof: &Proof, round: u64, more: &[(&str, &str)]) -> Outcome<bool> {
    let mut variables: Vec<(&str, String)> = (proof.env)(round);
    variables.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    let built = build(root, proof, &variables)?;
    let data = fresh_data(root, proof)?;
    variables.extend(
        more.iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    );
    let begun = Instant::now();
    let (outcomes, well) = watch_all(root, proof, &built, |command| {
        command.envs(variables.iter().cloned());
        command.envs(data.iter().map(|data| (data.variable, &data.fresh)));
    })?;
    let settings: Vec<String> = variables.iter().map(|(n, v)| format!("{n}={v}")).collect();
    let title = format!("{}: {}", proof.name, settings.join(" "));
    for data in &data {
        if well && data.fresh.exists() {
            publish(root, &data.fresh, data.path, &title)?;
        }
    }
    let row = [
        proof.name.to_owned(),
        round.to_string(),
        settings.join(" "),
        if well { "passed" } else { "failed" }.to_owned(),
        (outcomes.passed + outcomes.failed.len()).to_string(),
        format!("{:.0}", begun.elapsed().as_secs_f64()),
        record::commit(root),
        figures(proof, &outcomes),
    ];
    record::append(root, DATA, COLUMNS, &row)?;
    Ok(well)
}

/// Builds the test programs of a proof.
fn build(root: &Path, proof: &Proof, variables: &[(&str, String)]) -> Outcome<Vec<Binary>> {
    let mut build = cargo();
    build
        .args(["test", "--release", "-p", proof.package, "--locked"])
        .args(proof.arguments)
        .envs(variables.iter().cloned())
        .current_dir(root);
    let built = binaries::build(&mut build)?;
    built.ok_or_else(|| format!("{}: does not compile", proof.name))
}

/// A file of data that a proof writes.
struct FreshData {
    /// The variable that names it to the tests.
    variable: &'static str,
    /// Where they write it.
    fresh: PathBuf,
    /// Where it goes when the proof holds.
    path: &'static str,
}

/// Where results are kept until the proof holds.
fn kept(root: &Path) -> Outcome<PathBuf> {
    let kept = root.join("target/prove");
    std::fs::create_dir_all(&kept).map_err(|e| format!("{}: {e}", kept.display()))?;
    Ok(kept)
}

/// The files of data that a proof will write; none of them is there yet.
fn fresh_data(root: &Path, proof: &Proof) -> Outcome<Vec<FreshData>> {
    let kept = kept(root)?;
    let mut all = Vec::new();
    for (variable, path) in proof.data {
        let fresh = kept.join(path.replace('/', "-"));
        if fresh.exists() {
            std::fs::remove_file(&fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
        }
        all.push(FreshData {
            variable,
            fresh,
            path,
        });
    }
    Ok(all)
}

/// Runs each program, and keeps what it prints. What the tests came to, and whether all held.
fn watch_all(
    root: &Path,
    proof: &Proof,
    built: &[Binary],
    prepare: impl Fn(&mut Command),
) -> Outcome<(Outcomes, bool)> {
    let path = kept(root)?.join(format!("{}.txt", proof.name));
    let output = std::fs::File::create(&path);
    let mut output = output.map_err(|e| format!("{}: {e}", path.display()))?;
    let hours = Duration::from_secs(3600) * proof.hours;
    let limits = Limits {
        test: hours,
        program: hours,
    };
    let (mut outcomes, mut well) = (Outcomes::default(), true);
    for binary in built {
        let mut command = binary.command();
        command.args(proof.filter).arg("--nocapture");
        prepare(&mut command);
        let end = watch::watch(&mut command, limits, |line| {
            println!("{line}");
            outcomes.line(line);
            // A full disk must not end the proof: the line has been printed.
            drop(writeln!(output, "{line}"));
            true
        })?;
        well &= outcomes.well(&end);
        if matches!(end, End::Late(_) | End::Overran) {
            println!("{}: no end within {} hours", proof.name, proof.hours);
        }
    }
    if outcomes.passed == 0 {
        println!("{}: no test ran", proof.name);
        well = false;
    }
    let reasons = outcomes.skipped.iter();
    reasons.for_each(|reason| println!("{}: not proved: {reason}", proof.name));
    Ok((outcomes, well))
}

/// What a line of `experiments/proofs/data.csv` ends with: the figures that the tests printed, or
/// the files of data that hold them.
fn figures(proof: &Proof, outcomes: &Outcomes) -> String {
    if proof.data.is_empty() {
        return outcomes.figures.join("; ");
    }
    let paths = proof.data.iter().map(|(_, path)| *path);
    paths.collect::<Vec<_>>().join("; ")
}

/// Puts a file of data that a proof wrote into its place, with what made it behind the heading.
fn publish(root: &Path, fresh: &Path, path: &str, title: &str) -> Outcome<()> {
    let text = std::fs::read_to_string(fresh).map_err(|e| format!("{}: {e}", fresh.display()))?;
    let (heading, rows) = text.split_once('\n').unwrap_or((text.as_str(), ""));
    let made = record::provenance(root, title).join("\n");
    let place = root.join(path);
    let failed = |e: std::io::Error| format!("{}: {e}", place.display());
    if let Some(folder) = place.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(&place, format!("{heading}\n{made}\n{rows}")).map_err(failed)
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn each_round_has_seeds_of_its_own() {
        for proof in PROOFS.iter().filter(|proof| proof.name != "kills") {
            let (first, second) = ((proof.env)(0), (proof.env)(1));
            assert_eq!(proof.repeats, first != second, "{}", proof.name);
        }
    }

    /// A name behind the target would choose no test: the program is given `filter`.
    #[test]
    fn arguments_end_with_the_target() {
        for proof in PROOFS {
            let is_target = |word: &str| matches!(word, "--lib" | "--test");
            let Some(at) = proof.arguments.iter().rposition(|word| is_target(word)) else {
                continue;
            };
            let words = if proof.arguments[at] == "--test" {
                2
            } else {
                1
            };
            assert_eq!(at + words, proof.arguments.len(), "{}", proof.name);
        }
    }

    #[test]
    fn what_skips_itself_proves_nothing() {
        let mut outcomes = Outcomes::default();
        for line in ["running 2 tests", "0 lost in 5 cuts", "test a ... ok"] {
            outcomes.line(line);
        }
        assert!(outcomes.well(&End::Ended(true)) && !outcomes.well(&End::Overran));
        assert_eq!((outcomes.passed, outcomes.figures.len()), (1, 1));
        outcomes.line("skipped: no loop device");
        assert!(!outcomes.well(&End::Ended(true)));
        let mut outcomes = Outcomes::default();
        outcomes.line("test a ... FAILED");
        assert!(!outcomes.well(&End::Ended(true)));
    }
}
