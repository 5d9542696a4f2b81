//! Who may connect, and that no message shows a password.

use crate::server::{TestServer, environment, opened, refused, session};
use drivers::postgres::{ClientEnvironment, Password, open};
use std::os::unix::fs::PermissionsExt;

const HBA: &str = "host all scram 127.0.0.1/32 scram-sha-256\nhost all md5 127.0.0.1/32 md5\n\
                   host all clear 127.0.0.1/32 password\nhost all rejected 127.0.0.1/32 reject\n\
                   hostssl all tls 127.0.0.1/32 trust\n";
const SECRET: &str = "Tr0ub4dor: \\3@/";
const SECRET_ENCODED: &str = "Tr0ub4dor%3A%20%5C3%40%2F";

fn server() -> Option<TestServer> {
    let server = TestServer::start(&[], HBA)?;
    let mut sql = String::new();
    for (user, method) in [("scram", "scram-sha-256"), ("md5", "md5"), ("clear", "md5")] {
        sql.push_str(&format!("SET password_encryption = '{method}';\n"));
        sql.push_str(&format!("CREATE ROLE {user} LOGIN PASSWORD '{SECRET}';\n"));
    }
    sql.push_str("CREATE ROLE rejected LOGIN; CREATE ROLE tls LOGIN;");
    sql.push_str("CREATE ROLE mute LOGIN;\n");
    server.psql(&sql).expect("roles");
    Some(server)
}

fn with_file(path: std::path::PathBuf) -> ClientEnvironment {
    ClientEnvironment {
        password_file: Some(path),
        ..environment()
    }
}

#[test]
fn passwords_of_every_source_and_method_are_accepted() {
    let Some(server) = server() else {
        return;
    };
    let file = server.folder().join("pgpass");
    let escaped = SECRET.replace('\\', "\\\\").replace(':', "\\:");
    for user in ["scram", "md5", "clear"] {
        let address = server.tcp_address(&format!("{user}:{SECRET_ENCODED}"));
        let target = opened(&address).expect(user);
        session(&target, 1_997).transaction().expect(user);
        assert_eq!(target.shown, server.tcp_address(user));
        let plain = server.tcp_address(user);
        let given = ClientEnvironment {
            password: Some(Password::new(SECRET.to_owned())),
            ..environment()
        };
        assert!(open(&plain, &given).is_ok(), "PGPASSWORD of {user}");
        std::fs::write(
            &file,
            format!("127.0.0.1:{}:*:{user}:{escaped}\n", server.port),
        )
        .expect("written");
        let set = |mode| {
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, permissions).expect("changed");
        };
        set(0o600);
        assert!(
            open(&plain, &with_file(file.clone())).is_ok(),
            "file of {user}"
        );
        set(0o644);
        let error = refused(&plain, &with_file(file.clone()));
        assert!(error.is_unusable(), "{error}");
        assert!(error.to_string().contains("chmod 0600"), "{error}");
        let error = refused(&plain, &environment());
        assert!(error.to_string().contains("PGPASSWORD"), "{error}");
    }
}

#[test]
fn refusals_are_clear_and_show_no_password() {
    let Some(server) = server() else {
        return;
    };
    let mut errors = Vec::new();
    for user in ["scram", "md5", "clear", "rejected", "tls", "nobody_known"] {
        let error = refused(
            &server.tcp_address(&format!("{user}:Wr0ng")),
            &environment(),
        );
        assert!(error.is_unusable(), "{user}: {error}");
        let text = error.to_string();
        assert!(text.contains("refuses the connection: FATAL 28"), "{text}");
        assert!(text.contains("does not support TLS yet"), "{text}");
        errors.push(error);
    }
    for (address, part) in [
        (
            server.tcp_address("scram:Wr0ng") + "?sslmode=require",
            "TLS is not supported yet",
        ),
        (
            server.tcp_address("scram:Wr0ng") + "?sslmode=verify-full",
            "TLS is not supported",
        ),
        (
            "postgres://scram:Wr0ng@127.0.0.1:1/a".to_owned(),
            "reachable at host 127.0.0.1, port 1",
        ),
        (
            "postgres://scram:Wr0ng@/a?host=/nowhere".to_owned(),
            "/nowhere/.s.PGSQL.5432",
        ),
        (
            format!("postgres://redo@127.0.0.1:{}/no%1Bsuch", server.port),
            "3D000",
        ),
    ] {
        let error = refused(&address, &environment());
        assert!(error.to_string().contains(part), "{error}");
        errors.push(error);
    }
    for error in errors {
        let text = format!("{error} {error:?}");
        assert!(
            !text.contains("Wr0ng") && !text.contains('\u{1b}'),
            "{text}"
        );
    }
}

#[test]
fn a_user_who_may_not_write_messages_is_refused() {
    let Some(server) = server() else {
        return;
    };
    let revoke = "DO $$ DECLARE f regprocedure; BEGIN FOR f IN SELECT oid::regprocedure FROM pg_proc \
                  WHERE proname = 'pg_logical_emit_message' LOOP \
                  EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f || ' FROM PUBLIC'; END LOOP; END $$";
    assert!(opened(&server.socket_address("mute")).is_ok());
    server.psql(revoke).expect("revoked");
    let error = refused(&server.socket_address("mute"), &environment());
    assert!(
        error.is_unusable() && error.to_string().contains("GRANT EXECUTE"),
        "{error}"
    );
}
