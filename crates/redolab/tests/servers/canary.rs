//! A password that appears nowhere, and a server that only a proxy leads to, through the binary.

use crate::databases::{ACKNOWLEDGEMENTS, of_server, server as postgres, server_of};
use crate::harness::{Done, Place, Running};
use crate::mariadb::server as mariadb;
use crate::private::{SHORT, has_ended, run_on};
use crate::secrets;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

/// The users' passwords of both products: a text that nothing contains by chance.
const CANARY: &str = "kanarien-4711-vogel";
/// A row of a time, since what runs meanwhile is looked at: counted commits may end at once.
const MEANWHILE: [&str; 4] = ["--time", "1s", "--jobs", "2"];

fn contains(text: &str) -> bool {
    secrets::contains(text.as_bytes(), CANARY)
}

/// Starts a command that finds the password in its environment.
fn start(place: &Place, (name, value): (&str, &str), arguments: &[&str]) -> Running {
    let mut command = place.command(arguments);
    let child = command.env(name, value).spawn().expect("starts");
    Running::of(child, arguments.join(" "))
}

/// Waits for its end; it has not printed the password.
fn ended(running: Running) -> Done {
    let done = running.wait();
    assert!(!contains(&done.out) && !contains(&done.err), "{done:?}");
    done
}

/// Runs a command that measures, and looks at the arguments of all processes meanwhile.
fn run_with(place: &Place, password: (&str, &str), arguments: &[&str]) -> Done {
    let running = start(place, password, arguments);
    let own = running.pid().to_string();
    let mut looks = 0;
    while !has_ended(&running) {
        for entry in std::fs::read_dir("/proc").expect("lists").flatten() {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            assert!(!secrets::contains(&line, CANARY), "{line:?}");
            // A process that is just being executed has no arguments yet.
            looks += u32::from(!line.is_empty() && entry.file_name() == own.as_str());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let done = ended(running);
    assert!(looks > 1, "it ended before it was looked at: {done:?}");
    done
}

/// Everything that reads or writes a run, on an address without its password.
fn expect_it_nowhere(place: &Place, password: (&str, &str), address: &str, log: &Path) {
    let own = Path::new(password.1);
    let on = run_on(address, &["-v"]);
    run_with(place, password, &[&on[..], &MEANWHILE].concat()).expect(0, &[]);
    let pairs = [
        format!("server={address}"),
        format!("log={}", place.target.display()),
    ];
    let both = ["compare", "--on", &pairs[0], "--on", &pairs[1]];
    let more = ["--rounds", "1", "--allow-busy", "--report", "both.html"];
    run_with(place, password, &[&both[..], &MEANWHILE, &more].concat()).expect(0, &[]);
    for arguments in [
        &["runs", "show", "last", "--format", "json"][..],
        &["report", "last", "-o", "run.html"],
        &["report", "last", "--format", "hlog", "-o", "hlogs"],
    ] {
        let done = place.run(arguments);
        done.expect(0, &[]);
        assert!(!contains(&done.out) && !contains(&done.err), "{done:?}");
    }
    // With a wrong user and at a port without a server, the message has no password either.
    let (user, rest) = address.split_once('@').expect("a user");
    let wrong = format!(
        "{}nobody@{rest}",
        &user[..=user.rfind('/').expect("a scheme")]
    );
    for address in [wrong, format!("{user}@127.0.0.1:1/x")] {
        let refused = ended(start(place, password, &["run", "--on", &address]));
        assert!(matches!(refused.code, Some(1 | 2)), "{}", refused.err);
    }
    assert!(
        secrets::expect_no_file_with(place.path(), CANARY, own) > 8,
        "store and reports"
    );
    let printed = std::fs::read(log).expect("the log of the server");
    assert!(!secrets::contains(&printed, CANARY), "{}", log.display());
}

#[test]
fn a_password_of_postgresql_appears_nowhere() {
    let Some(server) = postgres() else { return };
    let place = Place::new();
    server
        .psql("ALTER SYSTEM SET log_statement = 'all'")
        .expect("set");
    let hidden = format!("SET log_statement = 'none'; ALTER ROLE bench PASSWORD '{CANARY}'");
    server.psql(&hidden).expect("set");
    server.psql("SELECT pg_reload_conf()").expect("reloaded");
    let file = place.path().join("pgpass");
    std::fs::write(&file, format!("*:*:*:*:{CANARY}\n")).expect("written");
    private(&file);
    let password = ("PGPASSFILE", file.to_str().expect("UTF-8"));
    let log = server.folder().join("log");
    expect_it_nowhere(&place, password, &server.tcp_address("bench"), &log);
    assert!(
        std::fs::read_to_string(log)
            .expect("a log")
            .contains("pg_logical_emit_message"),
        "the log has the statements of redolab"
    );
}

fn private(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o600)).expect("set");
}

#[test]
fn a_password_of_mariadb_appears_nowhere() {
    let Some(server) = mariadb() else { return };
    let place = Place::new();
    let hidden = format!("SET PASSWORD FOR guest@'127.0.0.1' = PASSWORD('{CANARY}')");
    server.sql(&hidden).expect("set");
    let log = server.folder().join("general.log");
    let general = format!(
        "SET GLOBAL general_log_file = '{}'; SET GLOBAL general_log = ON",
        log.display()
    );
    server.sql(&general).expect("set");
    expect_it_nowhere(
        &place,
        ("MYSQL_PWD", CANARY),
        &server.tcp_address("guest"),
        &log,
    );
    let printed = std::fs::read(log).expect("a log");
    let printed = String::from_utf8_lossy(&printed).to_lowercase();
    assert!(
        printed.contains("insert into"),
        "the log has the statements of redolab"
    );
}

/// Passes connections to a port of this machine; ends with the test.
fn proxy(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else {
                return;
            };
            for (mut from, mut to) in [
                (
                    near.try_clone().expect("clones"),
                    far.try_clone().expect("clones"),
                ),
                (far, near),
            ] {
                std::thread::spawn(move || {
                    let mut buffer = [0; 16 << 10];
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        if to.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        }
    });
    port
}

/// Behind a proxy nothing of the server's process is seen: a healthy one is not convicted for that,
/// and one that reports itself that it does not flush still is.
#[test]
fn a_server_behind_a_proxy_is_judged_by_what_it_reports_alone() {
    for (settings, expected) in ACKNOWLEDGEMENTS {
        let Some(server) = server_of(settings) else {
            return;
        };
        let place = Place::new();
        let address = format!("postgres://redo@127.0.0.1:{}/postgres", proxy(server.port));
        let on = run_on(&address, &[]);
        let run = place.run(&[&on[..], &SHORT].concat()).json();
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(of_server(&run), [expected], "{settings:?}");
        let facts = &run["target"];
        assert_eq!(facts["log_open_flags"], serde_json::Value::Null, "{facts}");
        if !settings.is_empty() {
            continue;
        }
        // The device below its log is unknown, so there is no verdict on one.
        let check = ["check", &address, "--quick", "--jobs", "1", "--no-report"];
        let short = ["--time", "300ms", "--warmup", "50ms", "--format", "json"];
        let checked = place.run(&[&check[..], &short].concat());
        checked.expect(4, &[]);
        assert_ne!(checked.json()["verdict"]["answer"], "yes");
    }
}
