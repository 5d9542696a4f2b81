//! TPROC-C on real servers: what is loaded, what transactions do, what the conditions find.

use crate::server::{TestServer, environment, load, opened as opened_plainly};
use drivers::tprocc::contents::TprocCTable;
use drivers::tprocc::load::{LoadOptions, LoadPhase, LoadProgress, LoadResult};
use drivers::tprocc::server::TprocCServer;
use drivers::tprocc::{self, mariadb};
use measure::driver::{Driver, DriverError, OpenedTarget, SessionLoad, TprocCCounts};
use measure::run::{ConsistencyCondition, TargetFacts};
use measure::workload::Workload;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const USERS: u32 = 4;
/// The user of these tests: it has what TPROC-C needs, and nothing else.
const USER: &str = "orders";
/// Room for a warehouse, and few flushes.
const OPTIONS: [&str; 2] = [
    "--innodb-buffer-pool-size=256M",
    "--innodb-flush-log-at-trx-commit=2",
];

pub fn connected(address: &str) -> Result<Box<dyn TprocCServer>, DriverError> {
    mariadb::server(address, &environment())
}

pub fn opened(address: &str) -> Result<OpenedTarget, DriverError> {
    tprocc::open(connected(address)?)
}

pub fn loaded(address: &str, warehouses: u32) -> Result<LoadResult, DriverError> {
    let options = LoadOptions {
        warehouses,
        seed: 1,
        connections: 2,
    };
    tprocc::load(&*connected(address)?, &options, &|_| true)
}

/// A server without tables of TPROC-C, and its address.
pub fn empty(options: &[&str]) -> Option<(TestServer, String)> {
    let server = TestServer::start(&[&OPTIONS, options].concat())?;
    let privileges = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE ROUTINE, \
                      ALTER ROUTINE, EXECUTE";
    let sql = format!(
        "CREATE USER {USER}@localhost;\n\
         GRANT {privileges} ON `redolab\\_tprocc`.* TO {USER}@localhost;\n"
    );
    server.sql(&sql).expect("a user");
    let address = server.socket_address(USER);
    Some((server, address))
}

/// A server with that many warehouses, and its address.
pub fn server(options: &[&str], warehouses: u32) -> Option<(TestServer, String)> {
    let (server, address) = empty(options)?;
    loaded(&address, warehouses).expect("loaded");
    Some((server, address))
}

/// What is not redolab's is as it was.
pub fn assert_unchanged(server: &TestServer, before: &[String]) {
    let after = server.everything_else();
    let other = |lines: &[String], than: &[String]| -> Vec<String> {
        let lines = lines.iter().filter(|line| !than.contains(line));
        lines.cloned().collect()
    };
    assert_eq!(other(&after, before), other(before, &after));
}

fn conditions(address: &str) -> Vec<ConsistencyCondition> {
    tprocc::check(&*connected(address).expect("a server")).expect("checked")
}

/// The indexes of the conditions that do not hold.
pub fn violated(address: &str) -> Vec<usize> {
    let found = conditions(address);
    (0..4).filter(|index| !found[*index].holds()).collect()
}

fn user(number: u32) -> SessionLoad {
    SessionLoad {
        number,
        workload: Arc::new(Workload::tproc_c(false)),
        ..load(112)
    }
}

fn counts(driver: &dyn Driver) -> TprocCCounts {
    driver.counters().tproc_c.expect("counts")
}

/// New orders between two readings.
fn new_orders(before: &TprocCCounts, after: &TprocCCounts) -> u64 {
    let grown = after.next_orders.zip(before.next_orders);
    grown.map(|(after, before)| after - before).expect("read")
}

/// What users have done: transactions that returned, by kind, and the error that ended them.
#[derive(Default)]
struct Done {
    kinds: [u64; 5],
    errors: Vec<String>,
}

/// Runs users for a time, or until their sessions fail; `meanwhile` runs once a third has passed.
fn run_users(target: &OpenedTarget, time: Duration, meanwhile: impl FnOnce()) -> Done {
    let stop = AtomicBool::new(false);
    let one = |number: u32| {
        let mut session = target.driver.session(user(number)).expect("a session");
        let (mut kinds, mut error) = ([0; 5], None);
        while !stop.load(Ordering::Relaxed) && error.is_none() {
            match session.transaction() {
                Ok(transaction) => kinds[usize::from(transaction.kind)] += 1,
                Err(failed) => error = Some(failed.to_string()),
            }
        }
        (kinds, error)
    };
    let mut done = Done::default();
    std::thread::scope(|scope| {
        let users: Vec<_> = (0..USERS).map(|n| scope.spawn(move || one(n))).collect();
        let started = Instant::now();
        std::thread::sleep(time / 3);
        meanwhile();
        std::thread::sleep(time.saturating_sub(started.elapsed()));
        stop.store(true, Ordering::Relaxed);
        for user in users {
            let (kinds, error) = user.join().expect("no panic");
            for (sum, count) in done.kinds.iter_mut().zip(kinds) {
                *sum += count;
            }
            done.errors.extend(error);
        }
    });
    done
}

#[test]
fn a_load_has_exactly_its_rows_and_each_condition_finds_its_break() {
    let Some((server, address)) = server(&[], 1) else {
        return;
    };
    for table in TprocCTable::ALL {
        let rows = server.value(&format!(
            "SELECT COUNT(*) FROM redolab_tprocc.{}",
            table.name()
        ));
        let expected = match table {
            TprocCTable::OrderLine => {
                server.value("SELECT SUM(o_ol_cnt) FROM redolab_tprocc.orders")
            }
            _ => table.expected_rows().to_string(),
        };
        assert_eq!(rows, expected, "{table:?}");
    }
    let engines = "SELECT DISTINCT ENGINE, TABLE_COLLATION FROM information_schema.TABLES \
                   WHERE TABLE_SCHEMA = 'redolab_tprocc'";
    assert_eq!(server.value(engines), "InnoDB\tascii_bin");
    let keys = "SELECT COUNT(DISTINCT TABLE_NAME, INDEX_NAME) FROM information_schema.STATISTICS \
                WHERE TABLE_SCHEMA = 'redolab_tprocc'";
    assert_eq!(server.value(keys), "10", "8 primary keys and 2 indexes");
    let found = conditions(&address);
    let checked: Vec<u64> = found.iter().map(|condition| condition.checked).collect();
    assert_eq!(checked, [1, 10, 10, 10]);
    assert_eq!(violated(&address), [0; 0]);
    for (index, breaks, mends) in [
        (
            0,
            "UPDATE redolab_tprocc.warehouse SET w_ytd = w_ytd + 0.01",
            "UPDATE redolab_tprocc.warehouse SET w_ytd = w_ytd - 0.01",
        ),
        (
            1,
            "UPDATE redolab_tprocc.district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
            "UPDATE redolab_tprocc.district SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3",
        ),
        (
            2,
            "DELETE FROM redolab_tprocc.new_order WHERE no_d_id = 4 AND no_o_id = 2500",
            "INSERT INTO redolab_tprocc.new_order VALUES (1, 4, 2500)",
        ),
        (
            3,
            "DELETE FROM redolab_tprocc.order_line \
             WHERE ol_d_id = 5 AND ol_o_id = 7 AND ol_number = 1",
            "",
        ),
    ] {
        server.sql(breaks).expect("broken");
        assert_eq!(violated(&address), [index], "{breaks}");
        let first = conditions(&address)[index].first_violation.clone();
        assert!(first.is_some_and(|text| text.starts_with("warehouse 1")));
        server.sql(mends).expect("mended");
    }
    server
        .sql("TRUNCATE redolab_tprocc.district")
        .expect("truncated");
    assert_eq!(violated(&address), [0, 1, 2, 3], "nothing is left to check");
}

#[test]
fn a_schema_of_others_is_left_alone() {
    let Some((server, address)) = empty(&[]) else {
        return;
    };
    let before = server.everything_else();
    let refused = |outcome: Result<String, DriverError>| {
        let error = outcome.expect_err("refused");
        assert!(error.is_unusable(), "{error}");
        error.to_string()
    };
    let load = || loaded(&address, 1).map(|loaded| format!("{loaded:?}"));
    let open = || opened(&address).map(|opened| opened.shown);
    let drop = || tprocc::drop_schema(&*connected(&address)?).map(|was| was.to_string());
    assert!(refused(open()).contains("redolab tprocc load"));
    assert_eq!(drop().expect("nothing to remove"), "false");
    // A table of redolab's name, but not with its comment.
    for mine in [
        "item (mine int)",
        "redolab_marker (state varchar(100)) COMMENT='mine'",
    ] {
        server
            .sql(&format!(
                "CREATE DATABASE redolab_tprocc; CREATE TABLE redolab_tprocc.{mine};"
            ))
            .expect("made");
        let found = server.everything_else();
        for outcome in [load(), open(), drop()] {
            let text = refused(outcome);
            assert!(text.contains("redolab did not make"), "{text}");
        }
        assert_unchanged(&server, &found);
        server.sql("DROP DATABASE redolab_tprocc").expect("dropped");
    }
    // A load that ended too early is replaced, and not used.
    server
        .sql(
            "CREATE DATABASE redolab_tprocc;\n\
             CREATE TABLE redolab_tprocc.redolab_marker (state varchar(100)) \
             COMMENT='redolab TPROC-C 1';\n\
             CREATE TABLE redolab_tprocc.item (old int);",
        )
        .expect("made");
    assert!(refused(open()).contains("did not end"));
    assert!(loaded(&address, 1).expect("loaded").replaced);
    assert!(refused(load()).contains("redolab tprocc drop"));
    // What others put into the schema is not removed, and neither is the rest then.
    for (mine, removal) in [
        (
            "TABLE redolab_tprocc.mine (x int)",
            "TABLE redolab_tprocc.mine",
        ),
        (
            "PROCEDURE redolab_tprocc.mine() SELECT 1",
            "PROCEDURE redolab_tprocc.mine",
        ),
    ] {
        server.sql(&format!("CREATE {mine}")).expect("made");
        let text = refused(drop());
        assert!(text.contains("mine, which redolab did not make"), "{text}");
        let rows = "SELECT COUNT(*) FROM redolab_tprocc.warehouse";
        assert_eq!(server.value(rows), "1");
        server.sql(&format!("DROP {removal}")).expect("dropped");
    }
    let target = opened(&address).expect("a target");
    assert!(refused(drop()).contains("another redolab uses"));
    assert!(opened(&address).is_ok(), "runs share the schema");
    other_workloads_are_refused(&server, &target);
    std::mem::drop(target);
    assert_eq!(drop().expect("removed"), "true");
    assert_unchanged(&server, &before);
}

#[test]
fn a_load_that_is_cancelled_leaves_nothing() {
    let Some((server, address)) = empty(&[]) else {
        return;
    };
    let before = server.everything_else();
    let options = LoadOptions {
        warehouses: 50,
        seed: 1,
        connections: 2,
    };
    let most = Cell::new(0);
    let goes_on = |progress: &LoadProgress| {
        assert_eq!(progress.phase, LoadPhase::Rows);
        assert!(progress.total > 20_000_000, "{progress:?}");
        most.set(most.get().max(progress.done));
        progress.done == 0
    };
    let outcome = tprocc::load(&*connected(&address).expect("a server"), &options, &goes_on);
    let error = outcome.expect_err("cancelled").to_string();
    assert!(error.contains("cancelled"), "{error}");
    let most = most.get();
    assert!((1..1_000_000).contains(&most), "{most} rows were loaded");
    assert_unchanged(&server, &before);
}

/// A user that may not make routines learns that before rows are loaded, and nothing is left.
#[test]
fn a_missing_privilege_is_named() {
    let Some((server, _)) = empty(&[]) else {
        return;
    };
    let before = server.everything_else();
    // It may do what the driver of other workloads needs.
    let address = server.socket_address(crate::server::USER);
    let error = loaded(&address, 1).expect_err("refused");
    assert!(error.is_unusable(), "{error}");
    assert!(error.to_string().contains("CREATE ROUTINE"), "{error}");
    assert_unchanged(&server, &before);
}

/// NOPM is the growth of `d_next_o_id`: exactly the new orders that users saw committed. Two
/// warehouses: some payments and lines are remote.
#[test]
fn what_users_see_is_what_the_server_counts() {
    let Some((server, address)) = server(&[], 2) else {
        return;
    };
    let target = opened(&address).expect("a target");
    let (before, before_log) = (counts(&*target.driver), target.driver.server_counts());
    let done = run_users(&target, Duration::from_secs(6), || {});
    assert_eq!(done.errors, [""; 0]);
    let (after, after_log) = (counts(&*target.driver), target.driver.server_counts());
    let all: u64 = done.kinds.iter().sum();
    assert!(all > 500, "{:?}", done.kinds);
    for (count, share) in done.kinds.iter().zip([10.0, 10.0, 1.0, 1.0, 1.0]) {
        let (found, expected) = (*count as f64 / all as f64, share / 23.0);
        let error = (expected * (1.0 - expected) / all as f64).sqrt();
        assert!((found - expected).abs() < 5.0 * error, "{:?}", done.kinds);
    }
    assert_eq!(before.warehouses, 2);
    let rolled_back = after.rolled_back;
    assert_eq!(new_orders(&before, &after), done.kinds[0] - rolled_back);
    let share = rolled_back as f64 / done.kinds[0] as f64;
    assert!(share > 0.0 && share < 0.03, "{share}");
    let counted = after.transactions.zip(before.transactions);
    let counted = counted.map(|(after, before)| after - before);
    // A transaction that is run again was rolled back. Opening and reading commit nothing.
    assert_eq!(counted, Some(all + after.retries), "{:?}", done.kinds);
    let logs = after_log.ok().flatten().zip(before_log.ok().flatten());
    let (after_log, before_log) = logs.expect("counted");
    let grown = after_log.since(&before_log);
    assert_eq!(grown.commits, Some(all));
    let redo = grown.totals.redo_lsn_bytes.expect("an LSN") as f64 / all as f64;
    assert!((1_000.0..20_000.0).contains(&redo), "{redo} bytes of redo");
    assert_eq!(violated(&address), [0; 0]);
    let remote = "SELECT COUNT(*) > 0 FROM redolab_tprocc.history WHERE h_w_id <> h_c_w_id";
    assert_eq!(server.value(remote), "1");
    what_transactions_leave(&server, &done);
    let TargetFacts::Database(facts) = target.driver.facts() else {
        panic!("not a database");
    };
    let setting = |name: &str| facts.settings.get(name).cloned().unwrap_or_default();
    assert_eq!(setting("innodb_flush_log_at_trx_commit"), "2");
    let isolation = [setting("transaction_isolation"), setting("tx_isolation")];
    assert!(isolation.contains(&"REPEATABLE-READ".to_owned()));
}

/// Each transaction has changed what it is to change, as the tables show.
fn what_transactions_leave(server: &TestServer, done: &Done) {
    let number = |sql: &str| server.value(sql).parse::<u64>().expect("a number");
    let payments = "SELECT COUNT(*) - 60000 FROM redolab_tprocc.history";
    assert_eq!(number(payments), done.kinds[1]);
    // Money that customers paid, by history, by customers, and by warehouses.
    let paid = "SELECT (SELECT SUM(h_amount) FROM redolab_tprocc.history) = \
                (SELECT SUM(c_ytd_payment) FROM redolab_tprocc.customer), \
                (SELECT SUM(h_amount) FROM redolab_tprocc.history) - 600000 = \
                (SELECT SUM(w_ytd) FROM redolab_tprocc.warehouse) - 600000";
    assert_eq!(server.value(paid), "1\t1");
    // Deliveries: one order of each district; its lines have the time, its customer the sum.
    let delivered = number("SELECT SUM(c_delivery_cnt) FROM redolab_tprocc.customer");
    assert_eq!(delivered, done.kinds[2] * 10);
    let left = "SELECT COUNT(*) FROM redolab_tprocc.orders LEFT JOIN redolab_tprocc.new_order \
                ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id \
                WHERE (no_o_id IS NULL) <> (o_carrier_id IS NOT NULL)";
    assert_eq!(number(left), 0);
    let lines = "SELECT COUNT(*) FROM redolab_tprocc.order_line JOIN redolab_tprocc.orders \
                 ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id \
                 WHERE (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)";
    assert_eq!(number(lines), 0);
    let owed = "SELECT SUM(c_balance) + SUM(c_ytd_payment) = \
                (SELECT SUM(ol_amount) FROM redolab_tprocc.order_line \
                 WHERE ol_delivery_d IS NOT NULL) FROM redolab_tprocc.customer";
    assert_eq!(server.value(owed), "1");
    // Stock: every line of a new order took its quantity, and nothing else did.
    let taken = "SELECT SUM(s_ytd) = (SELECT SUM(ol_quantity) FROM redolab_tprocc.order_line \
                 WHERE ol_o_id > 3000), SUM(s_order_cnt) = (SELECT COUNT(*) FROM \
                 redolab_tprocc.order_line WHERE ol_o_id > 3000), SUM(s_remote_cnt) = \
                 (SELECT COUNT(*) FROM redolab_tprocc.order_line WHERE ol_o_id > 3000 \
                 AND ol_supply_w_id <> ol_w_id), MIN(s_quantity) >= 10 FROM redolab_tprocc.stock";
    assert_eq!(server.value(taken), "1\t1\t1\t1");
}

/// A wait for a lock that is too long, and a deadlock: the transaction is rolled back, and run
/// again.
#[test]
fn what_fails_by_a_lock_is_run_again() {
    let Some((server, address)) = server(&["--innodb-lock-wait-timeout=1"], 1) else {
        return;
    };
    let run = |seconds, meanwhile: &dyn Fn()| {
        let target = opened(&address).expect("a target");
        let before = counts(&*target.driver);
        let done = run_users(&target, Duration::from_secs(seconds), meanwhile);
        assert_eq!(done.errors, [""; 0]);
        let after = counts(&*target.driver);
        assert!(after.retries > 0, "{:?}", done.kinds);
        let seen = done.kinds[0] - after.rolled_back;
        assert_eq!(new_orders(&before, &after), seen);
        let counted = after.transactions.zip(before.transactions);
        let counted = counted.map(|(after, before)| after - before);
        assert_eq!(violated(&address), [0; 0]);
        (counted, done.kinds.iter().sum::<u64>() + after.retries)
    };
    let lock = "BEGIN; SELECT COUNT(*) FROM redolab_tprocc.warehouse FOR UPDATE;\n\
                DO SLEEP(2.5); ROLLBACK;";
    let (counted, returned) = run(6, &|| drop(server.sql(lock).expect("locked")));
    assert_eq!(counted, Some(returned + 1), "and the other client's");
    // Now every reading locks.
    server
        .sql("SET GLOBAL TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        .expect("set");
    let (counted, returned) = run(4, &|| {});
    assert_eq!(counted, Some(returned));
}

/// Kills of a server; `REDOLAB_TPROCC_KILLS` asks for more.
fn kills() -> u32 {
    let asked = std::env::var("REDOLAB_TPROCC_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(2)
}

/// The server is killed in the middle and recovers: nothing that was committed is missing, and the
/// tables are consistent.
#[test]
fn a_server_that_was_killed_is_consistent_after_recovery() {
    let Some((mut server, address)) = server(&["--innodb-flush-log-at-trx-commit=1"], 1) else {
        return;
    };
    for _ in 0..kills() {
        let target = opened(&address).expect("a target");
        let before = counts(&*target.driver);
        let done = run_users(&target, Duration::from_secs(3), || {
            server.crash_and_recover()
        });
        assert_eq!(done.errors.len(), USERS as usize, "{:?}", done.errors);
        let rolled_back = counts(&*target.driver).rolled_back;
        let target = opened(&address).expect("a target");
        let after = counts(&*target.driver);
        let seen = done.kinds[0] - rolled_back;
        assert!(seen > 0, "{:?}", done.kinds);
        // A user may have lost the answer to one commit.
        let grown = new_orders(&before, &after);
        let possible = seen..=seen + u64::from(USERS);
        assert!(possible.contains(&grown), "{grown} of {seen}");
        assert_eq!(violated(&address), [0; 0]);
    }
}

/// Each driver refuses the workloads of the other.
fn other_workloads_are_refused(server: &TestServer, target: &OpenedTarget) {
    let redo = Workload::by_name("LAT1").expect("known");
    let error = target.driver.accepts(&redo).expect_err("refused");
    assert!(error.is_unusable() && error.to_string().contains("TPROC-C"));
    assert!(target.driver.accepts(&Workload::tproc_c(true)).is_ok());
    let plain = opened_plainly(&server.socket_address(crate::server::USER)).expect("a target");
    let error = plain.driver.accepts(&Workload::tproc_c(false));
    let error = error.expect_err("refused").to_string();
    assert!(error.contains("use redolab tprocc"), "{error}");
    assert!(plain.driver.accepts(&redo).is_ok());
    let mut thinking = user(0);
    thinking.workload = Arc::new(Workload::tproc_c(true));
    let session = target.driver.session(thinking).expect("a session");
    assert!(session.pause() >= measure::Nanos::from_secs(2));
    let kinds: BTreeMap<String, usize> = target.driver.kinds().into_iter().zip(0..).collect();
    assert_eq!((kinds.len(), kinds["order-status"]), (5, 4));
}
