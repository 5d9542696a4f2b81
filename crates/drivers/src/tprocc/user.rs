//! A virtual user: which transaction comes next, with which parameters, and how long the user keys
//! and thinks before it.
//!
//! Source of the parameters: HammerDB 4.12 as DATABASES.md describes it. Customer and item numbers
//! are uniform, last names follow NURand.
//!
//! What it must not know: servers, statements, time.

use super::mix::{DRAW_MAX, TransactionKind};
use super::random::{RandomStream, last_name};
use super::scale::{CUSTOMERS, DISTRICTS, ITEMS, LINES_MAX, LINES_MIN};
use measure::Nanos;

/// The name of the random stream of users.
const USERS: u32 = 1000;
/// New orders that are rolled back, in percent.
const ROLLED_BACK_PCT: u32 = 1;
/// Order lines whose supplier is another warehouse, in percent.
const REMOTE_LINES_PCT: u32 = 1;
/// Payments of a customer of another warehouse, in percent.
const REMOTE_PAYMENTS_PCT: u32 = 15;
/// Payments and order status by last name, in percent.
const BY_NAME_PCT: u32 = 60;
/// An item that no warehouse has.
pub const UNKNOWN_ITEM: u32 = ITEMS + 1;

/// Who is meant: a customer's number, or a last name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomerKey {
    /// The number of the customer in the district.
    Number(u32),
    /// The last name; of several the one in the middle by first name.
    LastName(String),
}

/// A line of a new order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderLine {
    /// The item.
    pub item: u32,
    /// The warehouse that supplies it.
    pub supplier: u32,
    /// How many.
    pub quantity: u32,
}

/// A transaction with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserCall {
    /// An order.
    NewOrder {
        /// District of the user's warehouse.
        district: u32,
        /// The customer's number.
        customer: u32,
        /// The lines; the last one is of [`UNKNOWN_ITEM`] where the order is to be rolled back.
        lines: Vec<OrderLine>,
    },
    /// A payment.
    Payment {
        /// District of the user's warehouse, which gets the money.
        district: u32,
        /// Warehouse of the customer.
        customer_warehouse: u32,
        /// District of the customer.
        customer_district: u32,
        /// The customer.
        customer: CustomerKey,
        /// The amount, in hundredths.
        cents: u32,
    },
    /// A delivery.
    Delivery {
        /// Number of the carrier.
        carrier: u32,
    },
    /// A stock level.
    StockLevel {
        /// District of the user's warehouse, the same for all of a user's.
        district: u32,
        /// Stock below this is low.
        threshold: u32,
    },
    /// An order status.
    OrderStatus {
        /// District of the user's warehouse.
        district: u32,
        /// The customer.
        customer: CustomerKey,
    },
}

impl UserCall {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> TransactionKind {
        match self {
            UserCall::NewOrder { .. } => TransactionKind::NewOrder,
            UserCall::Payment { .. } => TransactionKind::Payment,
            UserCall::Delivery { .. } => TransactionKind::Delivery,
            UserCall::StockLevel { .. } => TransactionKind::StockLevel,
            UserCall::OrderStatus { .. } => TransactionKind::OrderStatus,
        }
    }

    /// Whether it is to be rolled back.
    #[must_use]
    pub fn is_rolled_back(&self) -> bool {
        match self {
            UserCall::NewOrder { lines, .. } => {
                lines.last().is_some_and(|line| line.item == UNKNOWN_ITEM)
            }
            _ => false,
        }
    }
}

/// A virtual user.
#[derive(Clone, Debug)]
pub struct VirtualUser {
    stream: RandomStream,
    warehouses: u32,
    warehouse: u32,
    stock_district: u32,
    thinks: bool,
    /// What comes next, drawn already.
    next: UserCall,
    thinking: Nanos,
}

impl VirtualUser {
    /// The user with that number, from 0, on a schema of that many warehouses. With `thinks` it
    /// keys and thinks.
    #[must_use]
    pub fn new((seed, number): (u64, u32), warehouses: u32, thinks: bool) -> VirtualUser {
        let mut stream = RandomStream::new(seed, &[USERS, number]);
        let warehouse = stream.uniform(1, warehouses.max(1));
        let stock_district = stream.uniform(1, DISTRICTS);
        let mut user = VirtualUser {
            stream,
            warehouses,
            warehouse,
            stock_district,
            thinks,
            next: UserCall::Delivery { carrier: 1 },
            thinking: Nanos::ZERO,
        };
        user.next = user.draw();
        user
    }

    /// The user's warehouse, which stays the same.
    #[must_use]
    pub const fn warehouse(&self) -> u32 {
        self.warehouse
    }

    /// How long the user waits from the end of a transaction until the next one: thinking after the
    /// one before, and keying.
    #[must_use]
    pub fn pause(&self) -> Nanos {
        if !self.thinks {
            return Nanos::ZERO;
        }
        self.thinking.plus(self.next.kind().keying())
    }

    /// The next transaction.
    pub fn next_call(&mut self) -> UserCall {
        let following = self.draw();
        let call = std::mem::replace(&mut self.next, following);
        self.thinking = call.kind().thinking();
        call
    }

    fn draw(&mut self) -> UserCall {
        match TransactionKind::drawn(self.stream.uniform(1, DRAW_MAX)) {
            TransactionKind::NewOrder => self.new_order(),
            TransactionKind::Payment => self.payment(),
            TransactionKind::Delivery => UserCall::Delivery {
                carrier: self.stream.uniform(1, 10),
            },
            TransactionKind::StockLevel => UserCall::StockLevel {
                district: self.stock_district,
                threshold: self.stream.uniform(10, 20),
            },
            TransactionKind::OrderStatus => UserCall::OrderStatus {
                district: self.stream.uniform(1, DISTRICTS),
                customer: self.customer(),
            },
        }
    }

    /// Lines are in the order of their items, so that orders lock the stock in one order.
    fn new_order(&mut self) -> UserCall {
        let district = self.stream.uniform(1, DISTRICTS);
        let customer = self.stream.uniform(1, CUSTOMERS);
        let count = self.stream.uniform(LINES_MIN, LINES_MAX);
        let is_rolled_back = self.stream.is_one_of(ROLLED_BACK_PCT);
        let mut lines: Vec<OrderLine> = (0..count).map(|_| self.line()).collect();
        lines.sort_by_key(|line| (line.supplier, line.item));
        if let Some(last) = lines.last_mut().filter(|_| is_rolled_back) {
            last.item = UNKNOWN_ITEM;
        }
        UserCall::NewOrder {
            district,
            customer,
            lines,
        }
    }

    fn line(&mut self) -> OrderLine {
        let item = self.stream.uniform(1, ITEMS);
        let is_remote = self.stream.is_one_of(REMOTE_LINES_PCT);
        OrderLine {
            item,
            supplier: if is_remote {
                self.other_warehouse()
            } else {
                self.warehouse
            },
            quantity: self.stream.uniform(1, 10),
        }
    }

    fn payment(&mut self) -> UserCall {
        let district = self.stream.uniform(1, DISTRICTS);
        let is_remote = self.stream.is_one_of(REMOTE_PAYMENTS_PCT) && self.warehouses > 1;
        let (customer_warehouse, customer_district) = if is_remote {
            (self.other_warehouse(), self.stream.uniform(1, DISTRICTS))
        } else {
            (self.warehouse, district)
        };
        UserCall::Payment {
            district,
            customer_warehouse,
            customer_district,
            customer: self.customer(),
            cents: self.stream.uniform(100, 500_000),
        }
    }

    fn customer(&mut self) -> CustomerKey {
        if self.stream.is_one_of(BY_NAME_PCT) {
            CustomerKey::LastName(last_name(self.stream.last_name_number()))
        } else {
            CustomerKey::Number(self.stream.uniform(1, CUSTOMERS))
        }
    }

    /// Another warehouse than the user's; the user's own where there is no other.
    fn other_warehouse(&mut self) -> u32 {
        if self.warehouses < 2 {
            return self.warehouse;
        }
        let drawn = self.stream.uniform(1, self.warehouses - 1);
        if drawn < self.warehouse {
            drawn
        } else {
            drawn + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: u32 = 100_000;

    fn calls(warehouses: u32) -> (u32, Vec<UserCall>) {
        let mut user = VirtualUser::new((7, 3), warehouses, false);
        let calls = (0..CALLS).map(|_| user.next_call()).collect();
        (user.warehouse(), calls)
    }

    /// Share of `part` in `whole`, in percent.
    fn percent(part: usize, whole: usize) -> f64 {
        100.0 * part as f64 / whole as f64
    }

    #[test]
    fn the_mix_and_the_parameters_are_those_of_the_definition() {
        let (warehouse, calls) = calls(5);
        let of = |kind| calls.iter().filter(|call| call.kind() == kind).count();
        for (kind, share) in TransactionKind::ALL
            .into_iter()
            .zip([43.48, 43.48, 4.35, 4.35, 4.35])
        {
            let found = percent(of(kind), calls.len());
            assert!((found - share).abs() < 0.5, "{}: {found}", kind.name());
        }
        let rolled_back = calls.iter().filter(|call| call.is_rolled_back()).count();
        let found = percent(rolled_back, of(TransactionKind::NewOrder));
        assert!((found - 1.0).abs() < 0.2, "{found} % are rolled back");
        let lines: Vec<OrderLine> = calls.iter().flat_map(lines_of).collect();
        let remote = lines
            .iter()
            .filter(|line| line.supplier != warehouse)
            .count();
        let found = percent(remote, lines.len());
        assert!((found - 1.0).abs() < 0.1, "{found} % of lines are remote");
        let mean = lines.len() as f64 / of(TransactionKind::NewOrder) as f64;
        assert!((mean - 10.0).abs() < 0.1, "{mean} lines per order");
        let payments: Vec<(bool, bool)> = calls.iter().filter_map(payment_of(warehouse)).collect();
        let found = percent(payments.iter().filter(|p| p.0).count(), payments.len());
        assert!(
            (found - 15.0).abs() < 1.0,
            "{found} % of payments are remote"
        );
        let found = percent(payments.iter().filter(|p| p.1).count(), payments.len());
        assert!(
            (found - 60.0).abs() < 1.0,
            "{found} % of payments are by name"
        );
    }

    fn lines_of(call: &UserCall) -> Vec<OrderLine> {
        match call {
            UserCall::NewOrder { lines, .. } => lines.clone(),
            _ => Vec::new(),
        }
    }

    fn payment_of(warehouse: u32) -> impl Fn(&UserCall) -> Option<(bool, bool)> {
        move |call| match call {
            UserCall::Payment {
                customer_warehouse,
                customer,
                ..
            } => Some((
                *customer_warehouse != warehouse,
                matches!(customer, CustomerKey::LastName(_)),
            )),
            _ => None,
        }
    }

    #[test]
    fn one_warehouse_has_nothing_remote_and_lines_are_in_order() {
        let (warehouse, calls) = calls(1);
        assert_eq!(warehouse, 1);
        for call in &calls {
            let lines = lines_of(call);
            assert!(lines.iter().all(|line| line.supplier == 1));
            assert!(lines.is_sorted_by_key(|line| line.item), "{lines:?}");
            if let Some((is_remote, _)) = payment_of(1)(call) {
                assert!(!is_remote);
            }
        }
    }

    #[test]
    fn users_are_reproducible_and_spread_over_the_warehouses() {
        let user = |number| VirtualUser::new((7, number), 10, false);
        assert_eq!(user(3).next_call(), user(3).next_call());
        let homes: std::collections::BTreeSet<u32> =
            (0..200).map(|n| user(n).warehouse()).collect();
        assert!(homes.iter().copied().eq(1..=10), "{homes:?}");
    }

    #[test]
    fn a_user_that_thinks_keys_before_and_thinks_after() {
        let mut user = VirtualUser::new((7, 0), 1, true);
        let mut before = Nanos::ZERO;
        for _ in 0..200 {
            let pause = user.pause();
            let kind = user.next_call().kind();
            assert_eq!(pause, before.plus(kind.keying()));
            before = kind.thinking();
        }
        assert_eq!(VirtualUser::new((7, 0), 1, false).pause(), Nanos::ZERO);
    }
}
