//! TPROC-C on real servers: what is loaded, what transactions do, what the conditions find.

use crate::server::{TestServer, environment, load};
use drivers::tprocc::contents::TprocCTable;
use drivers::tprocc::load::{LoadOptions, LoadProgress, LoadResult};
use drivers::tprocc::server::TprocCServer;
use drivers::tprocc::{self, postgres};
use measure::driver::{Driver, DriverError, OpenedTarget, SessionLoad, TprocCCounts};
use measure::run::ConsistencyCondition;
use measure::workload::Workload;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const USERS: u32 = 4;

fn loaded(address: &str, warehouses: u32) -> Result<LoadResult, DriverError> {
    let options = LoadOptions {
        warehouses,
        seed: 1,
        connections: 2,
    };
    tprocc::load(&*connected(address)?, &options, &|_| true)
}

pub fn connected(address: &str) -> Result<Box<dyn TprocCServer>, DriverError> {
    postgres::server(address, &environment())
}

fn opened(address: &str) -> Result<OpenedTarget, DriverError> {
    tprocc::open(connected(address)?)
}

/// A server with that many warehouses, and its address.
pub fn server(settings: &[&str], warehouses: u32) -> Option<(TestServer, String)> {
    let settings = [settings, &["shared_buffers=128MB"]].concat();
    let server = TestServer::start(&settings, "")?;
    let address = server.socket_address("redo");
    loaded(&address, warehouses).expect("loaded");
    Some((server, address))
}

fn open(address: &str) -> OpenedTarget {
    opened(address).expect("a target")
}

fn conditions(address: &str) -> Vec<ConsistencyCondition> {
    tprocc::check(&*connected(address).expect("a server")).expect("checked")
}

/// The indexes of the conditions that do not hold.
fn violated(address: &str) -> Vec<usize> {
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

/// What users have done: transactions that returned, by kind, and the error that ended them.
#[derive(Default)]
struct Done {
    kinds: [u64; 5],
    errors: Vec<String>,
}

/// Runs users for a time, or until their sessions fail; `meanwhile` runs once a third has passed
/// and an order was committed.
fn run_users(target: &OpenedTarget, time: Duration, meanwhile: impl FnOnce()) -> Done {
    let stop = AtomicBool::new(false);
    let orders = AtomicU64::new(0);
    let one = |number: u32| {
        let mut session = target.driver.session(user(number)).expect("a session");
        let (mut kinds, mut error) = ([0; 5], None);
        while !stop.load(Ordering::Relaxed) && error.is_none() {
            match session.transaction() {
                Ok(transaction) => {
                    kinds[usize::from(transaction.kind)] += 1;
                    orders.fetch_add(u64::from(transaction.kind == 0), Ordering::Relaxed);
                }
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
        let patience = Instant::now() + Duration::from_secs(60);
        while orders.load(Ordering::Relaxed) == 0 && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
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
            "SELECT count(*) FROM redolab_tprocc.{}",
            table.name()
        ));
        let expected = match table {
            TprocCTable::OrderLine => {
                server.value("SELECT sum(o_ol_cnt) FROM redolab_tprocc.orders")
            }
            _ => table.expected_rows().to_string(),
        };
        assert_eq!(rows, expected, "{table:?}");
    }
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
        server.psql(breaks).expect("broken");
        assert_eq!(violated(&address), [index], "{breaks}");
        let first = conditions(&address)[index].first_violation.clone();
        assert!(first.is_some_and(|text| text.starts_with("warehouse 1")));
        server.psql(mends).expect("mended");
    }
    server
        .psql("TRUNCATE redolab_tprocc.district")
        .expect("truncated");
    assert_eq!(violated(&address), [0, 1, 2, 3], "nothing is left to check");
}

#[test]
fn a_schema_of_others_is_left_alone() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    let address = server.socket_address("redo");
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
    server
        .psql("CREATE SCHEMA redolab_tprocc; CREATE TABLE redolab_tprocc.item (mine int)")
        .expect("made");
    for outcome in [load(), open(), drop()] {
        let text = refused(outcome);
        assert!(text.contains("redolab did not make"), "{text}");
    }
    assert_eq!(
        server.value("SELECT count(*) FROM redolab_tprocc.item"),
        "0"
    );
    server
        .psql("DROP SCHEMA redolab_tprocc CASCADE")
        .expect("dropped");
    // A load that ended too early is replaced, and not used.
    server
        .psql(
            "CREATE SCHEMA redolab_tprocc; \
             COMMENT ON SCHEMA redolab_tprocc IS 'redolab TPROC-C 1: loading'",
        )
        .expect("made");
    assert!(refused(open()).contains("did not end"));
    assert!(loaded(&address, 1).expect("loaded").replaced);
    assert!(refused(load()).contains("redolab tprocc drop"));
    // What others put into the schema is not removed, and neither is the rest then.
    server
        .psql("CREATE TABLE redolab_tprocc.mine (x int)")
        .expect("made");
    let error = drop().expect_err("it is not empty").to_string();
    assert!(error.contains("2BP01"), "{error}");
    assert_eq!(
        server.value("SELECT count(*) FROM redolab_tprocc.warehouse"),
        "1"
    );
    server
        .psql("DROP TABLE redolab_tprocc.mine")
        .expect("dropped");
    let target = opened(&address).expect("a target");
    assert!(refused(drop()).contains("another redolab uses"));
    std::mem::drop(target);
    assert_eq!(drop().expect("removed"), "true");
    let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'redolab_tprocc'";
    assert_eq!(server.value(left), "0");
}

/// A load that was killed after its first statement leaves an empty schema; one of others has
/// something in it, a comment, or privileges.
#[test]
fn an_empty_schema_is_replaced_and_one_of_others_is_not() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    let address = server.socket_address("redo");
    let drop = || tprocc::drop_schema(&*connected(&address)?);
    for mine in [
        "CREATE TYPE redolab_tprocc.mine AS (x int)",
        "CREATE FUNCTION redolab_tprocc.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "COMMENT ON SCHEMA redolab_tprocc IS 'mine'",
        "GRANT USAGE ON SCHEMA redolab_tprocc TO PUBLIC",
    ] {
        server.psql("CREATE SCHEMA redolab_tprocc").expect("made");
        server.psql(mine).expect("made");
        let outcomes = [
            loaded(&address, 1).map(|_| ()),
            opened(&address).map(|_| ()),
            drop().map(|_| ()),
        ];
        for outcome in outcomes {
            let text = outcome.expect_err(mine).to_string();
            assert!(text.contains("redolab did not make"), "{mine}: {text}");
        }
        server
            .psql("DROP SCHEMA redolab_tprocc CASCADE")
            .expect("it is still there");
    }
    server.psql("CREATE SCHEMA redolab_tprocc").expect("made");
    let error = opened(&address).map(|_| ()).expect_err("not loaded");
    assert!(error.to_string().contains("did not end"), "{error}");
    assert!(drop().expect("removed"));
    server.psql("CREATE SCHEMA redolab_tprocc").expect("made");
    assert!(loaded(&address, 1).expect("loaded").replaced);
    assert_eq!(violated(&address), [0; 0]);
}

/// What the users wait for in the server, and nobody else.
#[test]
fn the_waits_of_users_are_sampled() {
    let Some((_server, address)) = server(&[], 1) else {
        return;
    };
    let target = open(&address);
    let none = target.driver.sample_waits().expect("it answers");
    assert!(none.is_none(), "there are no users");
    let mut user = target.driver.session(user(0)).expect("a session");
    let sampling = target.driver.sample_waits().expect("it answers");
    let sampling = sampling.expect("there is a user");
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        user.transaction().expect("a transaction");
    }
    let samples = sampling.end().expect("the server answered");
    let seen: u64 = samples.events.values().sum();
    assert!(seen > 0 && seen <= samples.readings, "{samples:?}");
    std::mem::drop(user);
    assert!(target.driver.sample_waits().expect("it answers").is_none());
}

#[test]
fn a_load_that_is_cancelled_leaves_nothing() {
    let Some(server) = TestServer::start(&[], "") else {
        return;
    };
    let address = server.socket_address("redo");
    let options = LoadOptions {
        warehouses: 50,
        seed: 1,
        connections: 2,
    };
    let most = Cell::new(0);
    let goes_on = |progress: &LoadProgress| {
        most.set(most.get().max(progress.done));
        progress.done == 0
    };
    let server_of = connected(&address).expect("a server");
    let outcome = tprocc::load(&*server_of, &options, &goes_on);
    let error = outcome.expect_err("cancelled").to_string();
    assert!(error.contains("cancelled"), "{error}");
    let most = most.get();
    assert!((1..1_000_000).contains(&most), "{most} rows were loaded");
    let left = "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
                WHERE nspname = 'redolab_tprocc'";
    assert_eq!(server.value(left), "0");
}

/// NOPM is the growth of `d_next_o_id`: exactly the new orders that users saw committed. Two
/// warehouses: some payments and lines are remote.
#[test]
fn what_users_see_is_what_the_server_counts() {
    let Some((server, address)) = server(&["synchronous_commit=off"], 2) else {
        return;
    };
    let target = open(&address);
    let before = counts(&*target.driver);
    let done = run_users(&target, Duration::from_secs(6), || {});
    assert_eq!(done.errors, [""; 0]);
    // The statistics of the server are up to a second old.
    std::thread::sleep(Duration::from_millis(1500));
    let after = counts(&*target.driver);
    let all: u64 = done.kinds.iter().sum();
    assert!(all > 500, "{:?}", done.kinds);
    for (count, share) in done.kinds.iter().zip([10.0, 10.0, 1.0, 1.0, 1.0]) {
        let (found, expected) = (*count as f64 / all as f64, share / 23.0);
        let error = (expected * (1.0 - expected) / all as f64).sqrt();
        assert!((found - expected).abs() < 5.0 * error, "{:?}", done.kinds);
    }
    assert_eq!(before.warehouses, 2);
    let grown = after
        .next_orders
        .zip(before.next_orders)
        .map(|(a, b)| a - b);
    assert_eq!(grown, Some(done.kinds[0] - after.rolled_back));
    let rolled_back = after.rolled_back as f64 / done.kinds[0] as f64;
    assert!(rolled_back > 0.0 && rolled_back < 0.03, "{rolled_back}");
    let counted = after
        .transactions
        .zip(before.transactions)
        .map(|(a, b)| a - b);
    let counted = counted.expect("the server counts");
    // And what opening and reading itself takes.
    assert!((all..all + 500).contains(&counted), "{counted} of {all}");
    assert_eq!(conditions(&address).iter().filter(|c| c.holds()).count(), 4);
    let log = std::fs::read_to_string(server.folder().join("log")).expect("a log");
    assert!(
        !log.contains("ERROR"),
        "nothing is logged for a rollback: {log}"
    );
    let remote = "SELECT count(*) > 0 FROM redolab_tprocc.history WHERE h_w_id <> h_c_w_id";
    assert_eq!(server.value(remote), "t");
}

/// Under SERIALIZABLE transactions fail to serialize, and are run again.
#[test]
fn what_does_not_serialize_is_run_again() {
    let Some((server, address)) = server(&["synchronous_commit=off"], 1) else {
        return;
    };
    server
        .psql("ALTER ROLE redo SET default_transaction_isolation = serializable")
        .expect("altered");
    let target = open(&address);
    let before = counts(&*target.driver);
    // On a busy machine users hardly meet in three seconds.
    let (mut new_orders, mut after) = (0, counts(&*target.driver));
    for _ in 0..5 {
        let done = run_users(&target, Duration::from_secs(3), || {});
        assert_eq!(done.errors, [""; 0]);
        new_orders += done.kinds[0];
        after = counts(&*target.driver);
        if after.retries > 0 {
            break;
        }
    }
    assert!(after.retries > 0);
    let grown = after
        .next_orders
        .zip(before.next_orders)
        .map(|(a, b)| a - b);
    assert_eq!(grown, Some(new_orders - after.rolled_back));
    assert_eq!(violated(&address), [0; 0]);
}

/// Kills of a server; `REDOLAB_TPROCC_KILLS` asks for more.
fn kills() -> u32 {
    let asked = std::env::var("REDOLAB_TPROCC_KILLS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(2)
}

/// The server ends in the middle and recovers: nothing that was committed is missing, and the
/// tables are consistent.
#[test]
fn a_server_that_crashed_is_consistent_after_recovery() {
    let Some((mut server, address)) = server(&[], 1) else {
        return;
    };
    for _ in 0..kills() {
        let target = open(&address);
        let before = counts(&*target.driver);
        let done = run_users(&target, Duration::from_secs(3), || {
            server.crash_and_recover()
        });
        assert_eq!(done.errors.len(), USERS as usize, "{:?}", done.errors);
        let rolled_back = counts(&*target.driver).rolled_back;
        let target = open(&address);
        let after = counts(&*target.driver);
        let grown = after
            .next_orders
            .zip(before.next_orders)
            .map(|(a, b)| a - b);
        let seen = done.kinds[0] - rolled_back;
        assert!(seen > 0, "{:?}", done.kinds);
        // A user may have lost the answer to one commit.
        let possible = seen..=seen + u64::from(USERS);
        assert!(
            grown.is_some_and(|g| possible.contains(&g)),
            "{grown:?} of {seen}"
        );
        assert_eq!(violated(&address), [0; 0]);
    }
}

#[test]
fn other_workloads_are_refused_by_each_driver() {
    let Some((_server, address)) = server(&[], 1) else {
        return;
    };
    let target = open(&address);
    let redo = Workload::by_name("LAT1").expect("known");
    let error = target.driver.accepts(&redo).expect_err("refused");
    assert!(error.is_unusable() && error.to_string().contains("TPROC-C"));
    assert!(target.driver.accepts(&Workload::tproc_c(true)).is_ok());
    let plain = crate::server::opened(&address).expect("a target");
    assert!(plain.driver.accepts(&Workload::tproc_c(false)).is_err());
    assert!(plain.driver.accepts(&redo).is_ok());
    let mut thinking = user(0);
    thinking.workload = Arc::new(Workload::tproc_c(true));
    let session = target.driver.session(thinking).expect("a session");
    assert!(session.pause() >= measure::Nanos::from_secs(2));
    let names = target.driver.kinds();
    assert_eq!(
        names,
        [
            "new-order",
            "payment",
            "delivery",
            "stock-level",
            "order-status"
        ]
    );
}
