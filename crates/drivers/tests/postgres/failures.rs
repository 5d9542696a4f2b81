//! Servers that end while a session uses them.

use crate::server::{TestServer, environment, opened, refused, session};
use rustix::process::{Pid, Signal, kill_process};
use std::time::{Duration, Instant};

/// The process id of the backend of redolab's session.
fn backend(server: &TestServer) -> Pid {
    let pid = server.value("SELECT pid FROM pg_stat_activity WHERE application_name = 'redolab'");
    Pid::from_raw(pid.parse().expect("a process id")).expect("it is not 0")
}

/// A killed backend takes all connections of its server with it, which then recovers.
#[test]
fn a_killed_backend_is_an_error_and_not_a_hang() {
    for is_tcp in [true, false] {
        let Some(server) = TestServer::start(&[], "") else {
            return;
        };
        let address = if is_tcp {
            server.tcp_address("redo")
        } else {
            server.socket_address("redo")
        };
        let target = opened(&address).expect("a target");
        let mut session = session(&target, 1_997);
        session.transaction().expect("a commit");
        let pid = backend(&server);
        // It ends in the middle of a transaction, which it has received and does not answer.
        kill_process(pid, Signal::STOP).expect("stopped");
        let started = Instant::now();
        let error = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                kill_process(pid, Signal::KILL).expect("killed");
            });
            session.transaction().expect_err("it was killed")
        });
        assert!(started.elapsed() >= Duration::from_millis(150), "{error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{error}");
        assert!(!error.is_unusable(), "{error}");
        let text = error.to_string();
        assert!(text.contains("whether it committed is not known"), "{text}");
        let again = session.transaction().expect_err("of no use any more");
        assert!(again.to_string().contains("closed"), "{again}");
    }
}

#[test]
fn a_killed_server_is_an_error_and_not_a_hang() {
    let Some(mut server) = TestServer::start(&[], "") else {
        return;
    };
    let address = server.tcp_address("redo");
    let target = opened(&address).expect("a target");
    let mut session = session(&target, 1_997);
    session.transaction().expect("a commit");
    server.kill();
    // A backend notices the end of its server when it is idle.
    let started = Instant::now();
    let error = loop {
        match session.transaction() {
            Ok(_) => assert!(started.elapsed() < Duration::from_secs(10), "it goes on"),
            Err(error) => break error,
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(started.elapsed() < Duration::from_secs(10), "{error}");
    assert!(!error.to_string().is_empty());
    let error = refused(&address, &environment());
    assert!(
        error
            .to_string()
            .contains("no PostgreSQL server is reachable"),
        "{error}"
    );
}

/// An administrator ends the session: the server's own reason is shown.
#[test]
fn a_terminated_session_shows_the_reason() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    let target = opened(&server.socket_address("redo")).expect("a target");
    let mut session = session(&target, 1_997);
    session.transaction().expect("a commit");
    let pid = backend(&server).as_raw_nonzero();
    server
        .psql(&format!("SELECT pg_terminate_backend({pid})"))
        .expect("terminated");
    std::thread::sleep(Duration::from_millis(300));
    let error = session.transaction().expect_err("it was terminated");
    assert!(error.to_string().contains("FATAL 57P01"), "{error}");
}

/// A server that stops answering is given up after the patience.
#[test]
fn a_stopped_backend_is_given_up() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    let mut environment = environment();
    environment.patience = Duration::from_secs(2);
    let address = server.tcp_address("redo");
    let target = drivers::postgres::open(&address, &environment).expect("a target");
    let mut session = session(&target, 1_997);
    session.transaction().expect("a commit");
    let pid = backend(&server);
    kill_process(pid, Signal::STOP).expect("stopped");
    let started = Instant::now();
    let error = session.transaction().expect_err("it was stopped");
    kill_process(pid, Signal::CONT).expect("continued");
    assert!(
        error.to_string().contains("did not answer within 2 s"),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(8), "{error}");
}

/// A commit whose wait for a standby was cancelled is less durable than it should be: the server
/// reports that by a warning alone.
#[test]
fn a_commit_with_a_warning_is_an_error() {
    let Some(server) = TestServer::start(&["synchronous_standby_names=absent"], "") else {
        return;
    };
    let target = opened(&server.socket_address("redo")).expect("a target");
    let mut session = session(&target, 1_997);
    let error = std::thread::scope(|scope| {
        let commit = scope.spawn(|| session.transaction().expect_err("it was cancelled"));
        let until = Instant::now() + Duration::from_secs(10);
        let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
                      WHERE application_name = 'redolab' AND wait_event = 'SyncRep'";
        while server.psql(cancel).expect("rows").is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        commit.join().expect("no panic")
    });
    let text = error.to_string();
    assert!(
        text.contains("WARNING 01000") && text.contains("less durable"),
        "{text}"
    );
}
