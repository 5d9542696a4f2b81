//! Servers that end while a session uses them.

use crate::server::{TestServer, USER, environment, opened, refused, session};
use drivers::mariadb::open;
use rustix::process::{Signal, kill_process};
use std::time::{Duration, Instant};

#[test]
fn a_killed_server_is_an_error_and_not_a_hang() {
    for is_tcp in [true, false] {
        let Some(mut server) = TestServer::start(&[]) else {
            return;
        };
        let address = match is_tcp {
            true => server.tcp_address(USER),
            false => server.socket_address(USER),
        };
        let target = opened(&address).expect("a target");
        let mut session = session(&target, 1_997);
        session.transaction().expect("a commit");
        // It ends in the middle of a transaction, which it has received and does not answer.
        let pid = server.pid();
        server.stop();
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
        server.kill();
        // What cannot be removed is reported, and leaving it alone is no panic.
        target.driver.close().expect_err("there is no server");
        drop(session);
        drop(target);
        let error = refused(&address);
        assert!(error.to_string().contains("is reachable at"), "{error}");
    }
}

/// An administrator ends the session.
#[test]
fn a_killed_session_is_an_error() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let target = opened(&server.socket_address(USER)).expect("a target");
    let mut session = session(&target, 1_997);
    session.transaction().expect("a commit");
    let newest =
        format!("SELECT MAX(ID) FROM information_schema.PROCESSLIST WHERE USER = '{USER}'");
    let id = server.value(&newest);
    server.sql(&format!("KILL {id}")).expect("killed");
    std::thread::sleep(Duration::from_millis(300));
    let error = session.transaction().expect_err("it was killed");
    assert!(!error.to_string().is_empty());
    drop(session);
    target.driver.close().expect("the schema is removed");
    assert_eq!(server.schemas(), Vec::<String>::new());
}

/// A server that stops answering is given up after the patience.
#[test]
fn a_stopped_server_is_given_up() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let mut environment = environment();
    environment.patience = Duration::from_secs(2);
    let target = open(&server.tcp_address(USER), &environment).expect("a target");
    let mut session = session(&target, 1_997);
    session.transaction().expect("a commit");
    server.stop();
    let started = Instant::now();
    let error = session.transaction().expect_err("it was stopped");
    assert!(
        error.to_string().contains("did not answer within 2 s"),
        "{error}"
    );
    assert!(started.elapsed() < Duration::from_secs(8), "{error}");
    drop((session, target));
    assert!(started.elapsed() < Duration::from_secs(16));
    kill_process(server.pid(), Signal::CONT).expect("continued");
}

/// A commit that is refused, here because the table is gone, ends the session.
#[test]
fn a_commit_that_is_refused_shows_the_reason() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let target = opened(&server.socket_address(USER)).expect("a target");
    let mut session = session(&target, 1_997);
    session.transaction().expect("a commit");
    server.sql("DROP DATABASE redolab_test").expect("dropped");
    let error = session.transaction().expect_err("it is gone");
    assert!(error.to_string().contains("error 1146 (42S02)"), "{error}");
    assert!(!error.is_unusable(), "{error}");
}
