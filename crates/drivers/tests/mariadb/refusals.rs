//! Who may connect, which servers and schemas are refused, and that no message shows a password.

use crate::server::{TestServer, USER, environment, opened, refused, session, workload};
use drivers::Password;
use drivers::mariadb::{MariadbEnvironment, open};

const SECRET: &str = "Tr0ub4dor: 3@/";
const SECRET_ENCODED: &str = "Tr0ub4dor%3A%203%40%2F";

#[test]
fn passwords_of_the_address_and_the_environment_are_accepted() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let sql = format!(
        "CREATE USER named@'127.0.0.1' IDENTIFIED BY '{SECRET}';\n\
         GRANT ALL ON `redolab\\_%`.* TO named@'127.0.0.1';\n\
         INSTALL SONAME 'auth_ed25519';\n\
         CREATE USER edward@'127.0.0.1' IDENTIFIED VIA ed25519 USING PASSWORD('{SECRET}');\n\
         CREATE USER nobody@localhost IDENTIFIED VIA unix_socket OR mysql_native_password \
         USING PASSWORD('{SECRET}');\n"
    );
    // The plugin is not in every package.
    let sql = match server.sql("INSTALL SONAME 'auth_ed25519'") {
        Ok(_) => sql.replace("INSTALL SONAME 'auth_ed25519';\n", ""),
        Err(_) => sql
            .lines()
            .filter(|line| !line.contains("ed25519"))
            .collect(),
    };
    server.sql(&sql).expect("users");
    let given = server.tcp_address(&format!("named:{SECRET_ENCODED}"));
    let target = opened(&given).expect("a target");
    session(&target, 1_997).transaction().expect("a commit");
    assert_eq!(target.shown, server.tcp_address("named"));
    drop(target);
    let with = |text: &str| MariadbEnvironment {
        password: Some(Password::new(text.to_owned())),
        ..environment()
    };
    let plain = server.tcp_address("named");
    open(&plain, &with(SECRET)).expect("MYSQL_PWD");
    open(&given, &with("Wr0ng")).expect("the address is first");
    // A plugin is tried after the other, here `unix_socket` first, which refuses.
    let socket = server.socket_address(&format!("nobody:{SECRET_ENCODED}"));
    opened(&socket).expect("two plugins");
    let mut errors = vec![
        refused(&plain),
        refused(&server.tcp_address("absent:Wr0ng")),
    ];
    errors.extend(open(&plain, &with("Wr0ng")).err());
    for error in &errors {
        let text = error.to_string();
        assert!(error.is_unusable(), "{text}");
        assert!(text.contains("error 1045 (28000)"), "{text}");
        assert!(text.contains("MYSQL_PWD"), "{text}");
    }
    assert_eq!(errors.len(), 3);
    if sql.contains("edward") {
        let error = refused(&server.tcp_address(&format!("edward:{SECRET_ENCODED}")));
        assert!(error.to_string().contains("`client_ed25519`"), "{error}");
        errors.push(error);
    }
    let nowhere = format!("mariadb://named:{SECRET_ENCODED}@127.0.0.1:1/a");
    let error = refused(&nowhere);
    assert!(
        error.to_string().contains("host 127.0.0.1, port 1"),
        "{error}"
    );
    errors.push(error);
    let error = refused(&format!(
        "mysql://named:{SECRET_ENCODED}@/a?socket=/nowhere/s"
    ));
    assert!(error.to_string().contains("/nowhere/s"), "{error}");
    errors.push(error);
    for error in errors {
        let text = format!("{error} {error:?}");
        assert!(!text.contains("Wr0ng"), "{text}");
        assert!(!text.contains("Tr0ub4dor"), "{text}");
    }
}

/// The server notices the end of a connection later than redolab, which frees the schema's name.
#[test]
fn a_schema_is_free_again_when_the_run_before_has_ended() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    let address = server.socket_address(USER);
    for n in 0..100 {
        let target = opened(&address);
        drop(target.unwrap_or_else(|e| panic!("{n}: {e}")));
    }
}

#[test]
fn a_server_that_is_read_only_is_refused() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    server.sql("SET GLOBAL read_only = ON").expect("set");
    let error = refused(&server.socket_address(USER));
    assert!(error.is_unusable(), "{error}");
    assert!(
        error.to_string().contains("setting read_only is on"),
        "{error}"
    );
}

#[test]
fn a_schema_that_is_not_redolabs_is_refused_and_stays() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    for (sql, part) in [
        ("CREATE DATABASE redolab_test", "redolab did not make"),
        (
            "CREATE TABLE redolab_test.redolab_marker (r INT) COMMENT='mine'",
            "redolab did not make",
        ),
        (
            "ALTER TABLE redolab_test.redolab_marker \
             COMMENT='made by redolab, which drops this schema';\n\
             CREATE TABLE redolab_test.orders (r INT)",
            "contains orders",
        ),
    ] {
        server.sql(sql).expect("made");
        let before = server.everything_else();
        let error = refused(&server.socket_address(USER));
        assert!(error.is_unusable(), "{error}");
        assert!(error.to_string().contains(part), "{error}");
        assert_eq!(server.everything_else(), before, "{sql}");
    }
    // A table that somebody makes during a run is not dropped with the schema.
    server
        .sql("DROP TABLE redolab_test.orders")
        .expect("dropped");
    let target = opened(&server.socket_address(USER)).expect("a target");
    drop(session(&target, 1_997));
    server
        .sql("CREATE TABLE redolab_test.orders (r INT)")
        .expect("made");
    let error = target.driver.close().expect_err("it stays");
    assert!(error.to_string().contains("contains orders"), "{error}");
    drop(target);
    assert_eq!(
        server.value("SELECT COUNT(*) FROM redolab_test.orders"),
        "0"
    );
}

#[test]
fn a_missing_privilege_is_refused_before_anything_is_made() {
    let Some(server) = TestServer::start(&[]) else {
        return;
    };
    for (user, privileges) in [
        ("viewer", "SELECT"),
        ("keeper", "CREATE, INSERT, SELECT"),
        ("reader", "CREATE, DROP, SELECT"),
        ("dropper", "DROP, INSERT, SELECT"),
    ] {
        server
            .sql(&format!(
                "CREATE USER {user}@localhost;\n\
                 GRANT {privileges} ON `redolab\\_%`.* TO {user}@localhost"
            ))
            .expect("a user");
        let target = opened(&server.socket_address(user)).expect("nothing is made yet");
        let asked = workload(1_997);
        let error = target.driver.prepare(&[&asked]).expect_err(user);
        let text = error.to_string();
        assert!(error.is_unusable(), "{user}: {text}");
        assert!(
            text.contains("GRANT CREATE, DROP, INSERT, SELECT ON `redolab_test`.*"),
            "{text}"
        );
        drop(target);
        assert_eq!(server.schemas(), Vec::<String>::new(), "{user}");
    }
}
