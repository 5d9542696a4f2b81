//! A real PostgreSQL server as a target, through the binary.

#[path = "../../../drivers/tests/postgres/server.rs"]
#[expect(dead_code, reason = "what tests of sessions need")]
pub mod server;

use crate::harness::{Place, is_root, schema_problems, skipped};
use crate::private::{ROWS, run_on};
use crate::secrets::expect_no_file_with;
use crate::turn::InTurn;
use serde_json::Value;
use server::TestServer;
use std::path::Path;

/// In the address of every command, and in none of its results.
const PASSWORD: &str = "hunter2";

/// A server with a user that has a password.
pub fn server() -> Option<InTurn<TestServer>> {
    let start = || TestServer::start(&[], "host all bench 127.0.0.1/32 scram-sha-256");
    let server = InTurn::of(start)?;
    let made = format!("CREATE ROLE bench LOGIN PASSWORD '{PASSWORD}'");
    server.psql(&made).expect("made");
    Some(server)
}

/// A server of these settings.
pub fn server_of(settings: &[&str]) -> Option<InTurn<TestServer>> {
    InTurn::of(|| TestServer::start(settings, ""))
}

fn address(server: &TestServer) -> String {
    server.tcp_address(&format!("bench:{PASSWORD}"))
}

/// No file of the store, and nothing that was printed, contains the password.
fn expect_no_password(place: &Place, printed: &str) {
    assert!(!printed.contains(PASSWORD), "{printed}");
    expect_no_file_with(place.path(), PASSWORD, Path::new(""));
}

#[test]
fn lat1_runs_on_a_server_and_its_redo_is_exact() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let before = server.insert_lsn();
    let address = address(&server);
    let on = run_on(&address, &["-v"]);
    let done = place.run(&[&on[..], &ROWS].concat());
    let grown = server.insert_lsn() - before;
    done.expect(0, &["Will commit on postgres://bench@127.0.0.1"]);
    expect_no_password(&place, &format!("{}{}", done.out, done.err));
    let run = done.json();
    assert_eq!(run["target"]["product"], "PostgreSQL");
    assert_eq!(run["target"]["settings"]["fsync"], "on");
    let row = &run["rows"][0];
    let commits = row["commits"].as_u64().expect("measured");
    assert!(commits > 20, "{row}");
    assert_eq!(row["redo_bytes_per_txn"], 1997);
    assert_eq!(
        row["log_file_sync_ms"],
        Value::Null,
        "only the server knows"
    );
    // Of the measured window and the warm-up together, page headers and the server's own records.
    let most = 2_000.0 * 1.3 * commits as f64 * 1.01 + 200_000.0;
    assert!(
        grown as f64 >= 2_000.0 * commits as f64,
        "{grown} of {commits}"
    );
    assert!(
        grown as f64 <= most.max(4_000.0 * commits as f64),
        "{grown} of {commits}"
    );
    place
        .run(&["runs", "show", "last"])
        .expect(0, &["LGWR-LAT1", "postgres://bench@", "transaction (ms)"]);
    place
        .run(&["report", "last", "-o", "run.html"])
        .expect(0, &["run.html"]);
    expect_no_password(&place, "");
}

#[test]
fn a_server_and_redolabs_own_log_are_in_one_report() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let own = format!("log={}", place.target.display());
    let pg = format!("pg={}", address(&server));
    let on = [
        "compare",
        "--on",
        &own,
        "--on",
        &pg,
        "--rounds",
        "2",
        "--report",
        "both.html",
    ];
    let log = [
        "--log-file-size",
        "8M",
        "--log-groups",
        "2",
        "--format",
        "json",
        "--allow-busy",
    ];
    let done = place.run(&[&on[..], &log, &ROWS].concat());
    done.expect(0, &[]);
    place.expect_clean(&place.target);
    expect_no_password(&place, &format!("{}{}", done.out, done.err));
    let comparison = done.json();
    let names: Vec<&str> = (comparison["runs"].as_array().expect("two").iter())
        .filter_map(|run| run["name"].as_str())
        .collect();
    assert_eq!(names, ["log", "pg"]);
    let text = comparison.to_string();
    assert!(
        text.contains("redolab's own log in the base, PostgreSQL 1"),
        "{text}"
    );
    assert!(!text.contains("setting fsync"), "{text}");
    let differences = comparison["differences"].as_array().expect("a list");
    let rate = differences
        .iter()
        .find(|d| d["metric"] == "commit_throughput_tps");
    let rate = rate.expect("measured on both");
    assert!(
        rate["a"].as_f64() > Some(20.0) && rate["b"].as_f64() > Some(20.0),
        "{rate}"
    );
    // The same step of both, one below the other.
    let tables = comparison["tables"].as_array().expect("a list");
    let layers = tables.iter().find(|t| t["id"] == "compare_bytes");
    let layers = layers.expect("bytes of both")["rows"]
        .as_array()
        .expect("rows");
    assert_eq!(layers.len() % 2, 0, "{layers:?}");
    for pair in layers.chunks(2) {
        assert_eq!(
            pair[0].as_array().map(|l| &l[1..3]),
            pair[1].as_array().map(|l| &l[1..3])
        );
    }
    let html = std::fs::read_to_string(place.path().join("both.html")).expect("written");
    assert!(html.contains("postgres://bench@127.0.0.1") && html.contains("LGWR-LAT1"));
}

#[test]
fn check_measures_a_server_and_judges_its_device() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let address = server.socket_address("redo");
    let check = [
        "check",
        address.as_str(),
        "--quick",
        "--jobs",
        "1",
        "--no-report",
    ];
    let short = ["--time", "200ms", "--warmup", "50ms", "--allow-busy"];
    let json = ["--format", "json"];
    let done = place.run(&[&check[..], &short, &json].concat());
    // The server is on this machine, where root sees its log's directory.
    let is_seen = is_root();
    let run = done.json();
    let verdict = &run["verdict"];
    assert_eq!(verdict["durability"] == "unverified", is_seen, "{verdict}");
    // On a busy machine the figures are in doubt.
    let is_doubtful = verdict["answer"] == "undetermined";
    let code = if is_seen && !is_doubtful { 0 } else { 4 };
    done.expect(code, &["LGWR-THR 497,664"]);
    assert_eq!(run["rows"].as_array().map(Vec::len), Some(4));
    assert!(!done.err.contains("Left out"), "{}", done.err);
}

/// The rule for private servers is that for servers of others: the log of another process that is
/// only open disturbs nobody, and one that is written does.
#[test]
fn another_log_on_the_device_of_a_server_is_seen() {
    if !is_root() {
        return skipped("only root sees where a server of another user keeps its log");
    }
    let Some(server) = server() else { return };
    let place = Place::new();
    let address = server.socket_address("redo");
    let on = [&["run", "--on", address.as_str()][..], &ROWS].concat();
    let path = server.folder().join("another-wal");
    let log = std::fs::File::create(&path).expect("made");
    let named = format!("has {}", path.display());
    let done = place.run(&on);
    assert!(!done.err.contains(&named), "it is only open: {}", done.err);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use std::os::unix::fs::FileExt;
            while !stop.load(std::sync::atomic::Ordering::SeqCst) {
                log.write_all_at(b"x", 0).expect("written");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        });
        let done = place.run(&on);
        stop.store(true, std::sync::atomic::Ordering::SeqCst);
        done.expect(
            2,
            &["another process has its log on this device", "--allow-busy"],
        );
        assert!(
            done.err.contains(&named) || done.err.contains("more"),
            "{}",
            done.err
        );
    });
}

/// Every workload of several records or without waiting, as redolab prints it before it runs.
#[test]
fn several_records_and_nowait_batch_run_on_a_server() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let address = server.socket_address("redo");
    let run = run_on(&address, &["-v"]);
    let records = ["--workload", "LGWR-THR", "--records", "61"];
    let done = place.run(&[&run[..], &records, &ROWS].concat());
    done.expect(0, &["Bytes of redo per transaction: LGWR-THR 497,664."]);
    let done_run = done.json();
    assert!(
        done_run["rows"][0]["commits"].as_u64() > Some(5),
        "{done_run}"
    );
    assert_eq!(done_run["target"]["settings"]["synchronous_commit"], "on");
    let sweep = ["--workload", "size-sweep", "--sizes", "1k,64k,1M"];
    let done = place.run(&[&run[..], &sweep, &ROWS].concat());
    let predicted = "size-sweep 1,024, size-sweep 65,536, size-sweep 1,048,576";
    done.expect(0, &[predicted]);
    assert_eq!(done.json()["rows"].as_array().map(Vec::len), Some(3));
    for (mode, shown) in [
        ("wait-batch", "WAIT BATCH"),
        ("nowait-immediate", "NOWAIT IMMEDIATE"),
    ] {
        let refused = place.run(&["run", "--on", &address, "--commit-write", mode]);
        refused.expect(2, &[&format!("no COMMIT WRITE {shown}")]);
    }
}

#[test]
fn what_is_no_server_is_refused_with_the_reason() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let wrong = server.tcp_address("bench:wrong");
    let closed = "postgres://bench@127.0.0.1:1/x";
    for (address, code, word) in [
        (wrong.as_str(), 2, "bench"),
        (closed, 1, "port 1"),
        ("postgres://u:se@cret@127.0.0.1:1/d", 1, "port 1"),
        ("postgres://u:se/cret@h/d", 2, "percent-encoded"),
        (
            "oracle://h/d",
            2,
            "there is no driver `oracle`; there are: postgres, mariadb",
        ),
    ] {
        let done = place.run(&["run", "--on", address]);
        done.expect(code, &[word]);
        let said = format!("{}{}", done.out, done.err);
        assert!(!said.contains("wrong@") && !said.contains("cret"), "{said}");
    }
    // The name is forgotten: what is quoted has no password.
    let done = place.run(&["compare", "--on", "postgres://u:secret@h/d"]);
    done.expect(2, &["--on postgres://u:***@h/d"]);
    assert!(!done.err.contains("secret"), "{}", done.err);
    let destroys = ["--destroy", "/dev/loop99"];
    place
        .run(&[&["run", "--on", closed], &destroys[..]].concat())
        .expect(2, &["a server has no such path"]);
    place
        .run(&["probe", closed])
        .expect(2, &["probe is not possible with the driver postgres"]);
    let async_api = [
        "run",
        "--on",
        &server.socket_address("redo"),
        "--commit-api",
        "async",
    ];
    place.run(&async_api).expect(2, &["use --commit-api sync"]);
}

/// Ids and weights of the findings on what the server's acknowledgements mean.
pub fn of_server(run: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = run["findings"].as_array().expect("a list").iter();
    all.map(|f| (text(&f["id"]), text(&f["weight"])))
        .filter(|(id, _)| id.starts_with("server.") || id == "stack.volatile")
        .collect()
}

/// Settings of a server, and the finding on what they make of an acknowledgement.
pub const ACKNOWLEDGEMENTS: [(&[&str], (&str, &str)); 4] = [
    (&[], ("server.acknowledgement", "good")),
    (
        &["wal_sync_method=open_datasync"],
        ("server.acknowledgement", "good"),
    ),
    (&["fsync=off"], ("server.no_flush", "bad")),
    (&["synchronous_commit=off"], ("server.late_flush", "bad")),
];

/// Healthy servers are not convicted, whatever they count; those that do not flush are.
#[test]
fn a_server_is_convicted_by_what_it_reports_of_itself() {
    for (settings, expected) in ACKNOWLEDGEMENTS {
        let Some(server) = server_of(settings) else {
            return;
        };
        let place = Place::new();
        let address = server.tcp_address("redo");
        let on = run_on(&address, &[]);
        // The server is asked for its waits now and then; one that does not flush is soon done.
        let is_late = settings.iter().any(|setting| setting.ends_with("=off"));
        let commits = if is_late { "5000" } else { "400" };
        let rows = ["--commits", commits, "--jobs", "2"];
        let run = place.run(&[&on[..], &rows].concat()).json();
        let expected = (expected.0.to_owned(), expected.1.to_owned());
        assert_eq!(of_server(&run), [expected], "{settings:?}");
        let problems = schema_problems("run-2.schema.json", &run);
        assert_eq!(problems, Vec::<String>::new());
        let counted = &run["rows"][0]["server"];
        let number = |key: &str| counted[key].as_f64();
        let per_commit = number("redo_per_commit_bytes").expect("known");
        assert!((1_990.0..2_400.0).contains(&per_commit), "{counted}");
        let own = run["rows"][0]["commits"].as_f64();
        assert!(number("commits") >= own, "{counted}");
        assert_eq!(counted["notes"], serde_json::json!([]));
        if settings.is_empty() {
            assert!(number("syncs_per_commit") >= Some(0.45), "{counted}");
            assert!(number("written_per_redo") > Some(2.0), "{counted}");
        } else {
            let flushes_later = settings[0].starts_with("synchronous");
            assert!(flushes_later || number("syncs") == Some(0.0), "{counted}");
        }
        let waits = &counted["waits"];
        assert!(waits["readings"].as_u64() > Some(0), "{counted}");
        place
            .run(&["runs", "show", "last"])
            .expect(0, &["Bytes per layer", "sessions in the server"]);
        let csv = place.run(&["runs", "show", "last", "--format", "csv"]);
        csv.expect(0, &["server_written_per_redo"]);
        place
            .run(&["report", "last", "-o", "run.html"])
            .expect(0, &["run.html"]);
        let html = std::fs::read_to_string(place.path().join("run.html")).expect("written");
        assert!(html.contains("Bytes per layer") && html.contains(expected_id(&run)));
    }
}

/// In what a check or a run reports of a server, as in what `watch` does.
#[test]
fn a_server_that_cannot_repair_torn_pages_is_cautioned() {
    let Some(server) = server_of(&["full_page_writes=off"]) else {
        return;
    };
    let place = Place::new();
    let address = server.socket_address("redo");
    let on = run_on(&address, &[]);
    let run = place.run(&[&on[..], &ROWS].concat()).json();
    let torn = ("server.torn_pages".to_owned(), "caution".to_owned());
    let good = ("server.acknowledgement".to_owned(), "good".to_owned());
    assert_eq!(of_server(&run), [torn, good]);
}

fn expected_id(run: &Value) -> &str {
    let findings = run["findings"].as_array().expect("a list");
    let mut ids = findings.iter().filter_map(|f| f["id"].as_str());
    ids.rfind(|id| id.starts_with("server.")).unwrap_or("?")
}
