//! A real MariaDB server as a target, through the binary.

#[path = "../../../drivers/tests/mariadb/server.rs"]
#[expect(dead_code, reason = "what tests of sessions need")]
pub mod server;

use crate::harness::Place;
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
    let server = InTurn::of(|| TestServer::start(&[]))?;
    server
        .sql(&format!(
            "CREATE USER guest@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n\
             GRANT CREATE, DROP, INSERT, SELECT ON `redolab\\_%`.* TO guest@'127.0.0.1'"
        ))
        .expect("made");
    Some(server)
}

fn address(server: &TestServer) -> String {
    server.tcp_address(&format!("guest:{PASSWORD}"))
}

/// No file of the store, and nothing that was printed, contains the password.
fn expect_no_password(place: &Place, printed: &str) {
    assert!(!printed.contains(PASSWORD), "{printed}");
    expect_no_file_with(place.path(), PASSWORD, Path::new(""));
}

#[test]
fn lat1_runs_on_a_server_with_calibrated_rows() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let before = server.everything_else();
    let address = address(&server);
    let on = run_on(&address, &["-v"]);
    place
        .run(&[&on[..], &ROWS, &["--dry-run"]].concat())
        .expect(0, &["nothing was committed"]);
    assert_eq!(
        server.everything_else(),
        before,
        "a dry run changes nothing"
    );
    let started = server.lsn();
    let done = place.run(&[&on[..], &ROWS].concat());
    let grown = server.lsn() - started;
    done.expect(0, &["Will commit on mariadb://guest@127.0.0.1"]);
    expect_no_password(&place, &format!("{}{}", done.out, done.err));
    assert_eq!(server.everything_else(), before, "the schema is gone");
    let run = done.json();
    assert_eq!(run["target"]["product"], "MariaDB");
    let settings = &run["target"]["settings"];
    assert_eq!(settings["innodb_flush_log_at_trx_commit"], "1");
    let found = &run["target"]["calibrations"][0];
    assert_eq!(found["workload"], "LGWR-LAT1");
    let mean = found["mean_bytes"].as_u64().expect("measured");
    assert!((1_878..=2_116).contains(&mean), "{found}");
    let row = &run["rows"][0];
    let commits = row["commits"].as_u64().expect("measured");
    assert!(commits > 20, "{row}");
    assert!(grown > commits * mean, "{grown} of {commits} and others");
    assert_eq!(row["log_file_sync_ms"], Value::Null);
    expect_counts(&run);
    place
        .run(&["report", "last", "-o", "run.html"])
        .expect(0, &["run.html"]);
    let html = std::fs::read_to_string(place.path().join("run.html")).expect("written");
    assert!(
        html.contains("1,000 commits of LGWR-LAT1"),
        "no calibration"
    );
    expect_no_password(&place, "");
}

/// What the rows of a run have of their server agrees with what was calibrated.
fn expect_counts(run: &Value) {
    let calibrations = run["target"]["calibrations"].as_array().expect("a list");
    for row in run["rows"].as_array().expect("rows") {
        let counted = &row["server"];
        let number = |key: &str| counted[key].as_f64();
        let redo = number("redo_lsn_bytes").expect("known");
        let of_row = |found: &&Value| found["redo_bytes"] == row["redo_bytes_per_txn"];
        let calibrated = calibrations.iter().find(of_row).expect("calibrated");
        let mean = calibrated["mean_bytes"].as_f64().expect("measured");
        let expected = mean * number("commits").expect("known");
        // The first commits into a new table make more than those that were calibrated.
        let most = expected * 1.3 + 200_000.0;
        assert!(
            (expected * 0.8..most).contains(&redo),
            "{expected}: {counted}"
        );
        assert!(number("commits") >= row["commits"].as_f64(), "{counted}");
        assert!(number("writes_per_commit") > Some(0.01), "{counted}");
        assert_eq!(counted["written_bytes"], Value::Null, "{counted}");
        assert_eq!(counted["notes"], serde_json::json!([]), "{counted}");
    }
}

/// All workloads whose commits wait, in closed and open loops, as redolab runs them.
#[test]
fn storm_size_sweep_and_open_loops_run_on_a_server() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let address = address(&server);
    let on = run_on(&address, &[]);
    let short = ["--time", "1s", "--warmup", "200ms"];
    let storm = ["-w", "storm", "--commits", "200", "--jobs", "8"];
    let sweep = ["-w", "size-sweep", "--sizes", "1k,64k,1M", "--jobs", "2"];
    let open = ["--rate", "50", "--jobs", "4"];
    let runs: [(Vec<&str>, usize, u64); 3] = [
        (storm.to_vec(), 1, 1_600),
        ([&sweep[..], &["--commits", "4"]].concat(), 3, 4),
        ([&open[..], &short].concat(), 1, 20),
    ];
    for (more, rows, least) in runs {
        let done = place.run(&[&on[..], &more].concat());
        done.expect(0, &[]);
        let run = done.json();
        let found = run["rows"].as_array().expect("rows");
        assert_eq!(found.len(), rows, "{more:?}");
        for row in found {
            assert!(row["commits"].as_u64() >= Some(least), "{row}");
        }
        expect_counts(&run);
    }
    place
        .run(&["runs", "show", "last"])
        .expect(0, &["Bytes per layer"]);
    let refused = place.run(&["run", "--on", &address, "-w", "LGWR-THR"]);
    refused.expect(2, &["setting of the whole server"]);
}

#[test]
fn what_is_no_server_is_refused_with_the_reason() {
    let Some(server) = server() else { return };
    let place = Place::new();
    let wrong = server.tcp_address("guest:wr0ng");
    let foreign = address(&server).replace("/test", "/mine");
    server.sql("CREATE DATABASE redolab_mine").expect("made");
    for (address, code, word) in [
        (wrong.as_str(), 2, "refuses the connection"),
        (foreign.as_str(), 2, "redolab_mine exists"),
        ("mysql://u:se@cret@127.0.0.1:1/d", 1, "port 1"),
        ("mariadb://u:se/cret@h/d", 2, "percent-encoded"),
    ] {
        let done = place.run(&["run", "--on", address]);
        done.expect(code, &[word]);
        let said = format!("{}{}", done.out, done.err);
        assert!(!said.contains("wr0ng") && !said.contains("cret"), "{said}");
        assert!(!said.contains(PASSWORD), "{said}");
    }
    assert_eq!(server.schemas(), ["redolab_mine"], "it stays");
}
