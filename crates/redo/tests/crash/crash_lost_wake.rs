//! A wake-up that is lost fails a test within seconds instead of hanging it: commits run in a
//! process of their own, which ends itself when nothing was acknowledged for a while.

use crate::common::{Scratch, options};
use redo::planted::{Bug, Planted};
use redo::{CommitMode, LogWriter};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PLACE: &str = "REDO_WAKE_PLACE";
const PLANTED: &str = "REDO_WAKE_PLANTED";
const SESSIONS: u32 = 4;
/// Commits of all sessions of a process.
const COMMITS: u32 = 1500;
const COMMITS_PLANTED: u32 = 8000;
/// Exit code of a process in which nobody was woken.
const STALLED: i32 = 3;
/// Without a commit for so long, somebody was not woken. A bug needs less patience: that it stalls
/// a slow machine is no harm there.
const STALL: Duration = Duration::from_secs(60);
const STALL_PLANTED: Duration = Duration::from_secs(2);
/// Processes in which the bug may get away with it.
const TRIES: u32 = 30;

#[test]
fn a_lost_wake_up_fails_and_does_not_hang() {
    if let Some(place) = std::env::var_os(PLACE) {
        commit_all(Path::new(&place));
    }
    assert_eq!(life(false), Some(0), "commits were acknowledged to the end");
    let found = (1..=TRIES).find(|_| life(true) == Some(STALLED));
    println!("HandledAfterSeal: nobody was woken in process {found:?}");
    assert!(found.is_some(), "{TRIES} processes did not show the bug");
}

/// Runs a process; its exit code.
fn life(planted: bool) -> Option<i32> {
    let scratch = Scratch::with_log();
    let mut command = Command::new(std::env::current_exe().expect("a test has a path"));
    command
        .args([
            "crash_lost_wake::a_lost_wake_up_fails_and_does_not_hang",
            "--exact",
        ])
        .env(PLACE, &scratch.0)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    if planted {
        command.env(PLANTED, "1");
    }
    command.status().expect("the test starts itself").code()
}

fn commit_all(place: &Path) -> ! {
    let planted = std::env::var_os(PLANTED).is_some();
    let mut ways = options()
        .log_writer(LogWriter::Workers(2))
        .planted(match planted {
            true => Planted::with(Bug::HandledAfterSeal),
            false => Planted::none(),
        });
    // Otherwise the log writer looks again after three seconds.
    ways.triggers.period = None;
    let commits = if planted { COMMITS_PLANTED } else { COMMITS };
    let (log, _) = crate::common::open_with(place, ways).expect("the log opens");
    let acknowledged = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for who in 0..SESSIONS {
            let (log, acknowledged) = (&log, &acknowledged);
            scope.spawn(move || {
                let mut session = log.session();
                for which in 0..commits / SESSIONS {
                    let bytes = crate::common::record(who, which);
                    let rba = session.append(&[&bytes]).expect("open");
                    session.commit(CommitMode::WAIT_IMMEDIATE).expect("durable");
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    // Each of them: a log that is full because one session was late would wait for
                    // that session, which waits for its commit.
                    if which % 16 == 0 {
                        log.checkpoint(rba).expect("durable");
                    }
                }
            });
        }
        let patience = if planted { STALL_PLANTED } else { STALL };
        watch(&acknowledged, commits, patience);
    });
    std::process::exit(0)
}

/// Ends the process when the count does not grow.
fn watch(acknowledged: &AtomicU32, commits: u32, patience: Duration) {
    let (mut last, mut since) = (0, Instant::now());
    while last < commits {
        std::thread::sleep(Duration::from_millis(5));
        let now = acknowledged.load(Ordering::Relaxed);
        if now > last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > patience {
            std::process::exit(STALLED);
        }
    }
}
