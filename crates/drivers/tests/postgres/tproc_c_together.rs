//! Users of TPROC-C who change the same rows at the same time: nobody's change is lost, and nobody
//! changes twice.

use crate::server::TestServer;
use crate::tproc_c::{connected, server};
use drivers::tprocc::server::CallOutcome;
use drivers::tprocc::user::{OrderLine, UserCall};
use measure::RealClock;

/// Orders of each user; the users have a district each, and order the same items.
const ORDERS: u32 = 150;
/// Deliveries of each user: of the same warehouse.
const DELIVERIES: u32 = 40;
const USERS: u32 = 4;
const ITEMS: u32 = 5;

/// What a call returned, run again until it is not to be.
fn run(address: &str, calls: impl Iterator<Item = UserCall>) -> i64 {
    let server = connected(address).expect("a server");
    let mut user = server.user().expect("a connection");
    let mut sum = 0;
    for call in calls {
        loop {
            user.encode(&call, 1).expect("written");
            match user.exchange(RealClock::new()).expect("answered").outcome {
                CallOutcome::Returned(number) => break sum += number,
                CallOutcome::Retry(_) => {}
            }
        }
    }
    sum
}

/// The sum of what all users' calls returned.
fn together<C: Iterator<Item = UserCall>>(address: &str, of: impl Fn(u32) -> C + Sync) -> i64 {
    std::thread::scope(|scope| {
        let of = &of;
        let users = (1..=USERS).map(|user| scope.spawn(move || run(address, of(user))));
        let users: Vec<_> = users.collect();
        users
            .into_iter()
            .map(|user| user.join().expect("no panic"))
            .sum()
    })
}

fn number(server: &TestServer, sql: &str) -> i64 {
    server.value(sql).parse().expect("a number")
}

/// What left the stock is what came into it less what is there, but for what was added 91 at a
/// time.
#[test]
fn no_order_of_the_same_items_is_lost_to_the_stock() {
    let Some((server, address)) = server(&[], 1) else {
        return;
    };
    let of_items = format!("redolab_tprocc.stock WHERE s_i_id <= {ITEMS}");
    let quantities = |server: &TestServer| -> Vec<i64> {
        let quantity = |item| {
            let sql = format!("SELECT s_quantity FROM redolab_tprocc.stock WHERE s_i_id = {item}");
            number(server, &sql)
        };
        (1..=ITEMS).map(quantity).collect()
    };
    let before = quantities(&server);
    together(&address, |district| {
        (0..ORDERS).map(move |order| UserCall::NewOrder {
            district,
            customer: 1 + order,
            lines: (1..=ITEMS)
                .map(|item| OrderLine {
                    item,
                    supplier: 1,
                    quantity: 1 + (order + item + district) % 10,
                })
                .collect(),
        })
    });
    let counted = number(&server, &format!("SELECT SUM(s_order_cnt) FROM {of_items}"));
    assert_eq!(counted, i64::from(USERS * ORDERS * ITEMS));
    for (item, (before, after)) in (1..=ITEMS).zip(before.iter().zip(quantities(&server))) {
        let sql = format!("SELECT s_ytd FROM redolab_tprocc.stock WHERE s_i_id = {item}");
        let taken = number(&server, &sql);
        let added = after + taken - before;
        assert!(
            added >= 0 && added % 91 == 0 && after >= 10,
            "item {item}: {before} - {taken} + {added} = {after}"
        );
    }
}

#[test]
fn no_order_is_delivered_twice() {
    let Some((server, address)) = server(&[], 1) else {
        return;
    };
    let delivery = |user: u32| (0..DELIVERIES).map(move |_| UserCall::Delivery { carrier: user });
    let returned = together(&address, delivery);
    let left = number(&server, "SELECT COUNT(*) FROM redolab_tprocc.new_order");
    let counted = "SELECT SUM(c_delivery_cnt) FROM redolab_tprocc.customer";
    let delivered = number(&server, counted);
    assert_eq!(returned, delivered);
    assert_eq!(delivered, i64::from(USERS * DELIVERIES * 10));
    assert_eq!(left, 9000 - delivered);
    let owed = "SELECT SUM(c_balance) + SUM(c_ytd_payment) - \
                (SELECT SUM(ol_amount) FROM redolab_tprocc.order_line \
                 WHERE ol_delivery_d IS NOT NULL) FROM redolab_tprocc.customer";
    assert_eq!(server.value(owed), "0.00");
}
