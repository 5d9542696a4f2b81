//! What is loaded: the rows of each table, divided into parts that can be made in any order.
//!
//! Source: TPC-C 4.3.3.1 for rows and values. Invariants: the same seed gives the same rows, in
//! whatever order and by however many threads the parts are made; a part is at most a few
//! megabytes.
//!
//! What it must not know: servers, statements, threads.

use super::random::{LAST_NAMES, RandomStream, last_name};
use super::rows::RowText;
use super::scale::{CUSTOMERS, DISTRICTS, FIRST_NEW_ORDER, ITEMS, LINES_MAX, LINES_MIN};

/// Rows of items or stock in a part.
const ITEMS_OF_PART: u32 = 2000;
/// When everything was loaded, for all columns with a time: fixed, so that loads are reproducible.
const LOADED_AT: &str = "2000-01-01 00:00:00";
/// The name of the random streams of how many lines orders have.
const LINE_COUNTS: u32 = 100;
/// The name of the random streams of who has placed orders.
const BUYERS: u32 = 101;

/// A table of TPROC-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TprocCTable {
    /// Items, the same for all warehouses.
    Item,
    /// Warehouses.
    Warehouse,
    /// Districts, 10 of each warehouse.
    District,
    /// Customers, 3,000 of each district.
    Customer,
    /// Payments of customers.
    History,
    /// Orders.
    Orders,
    /// Orders that are not delivered.
    NewOrder,
    /// Lines of orders.
    OrderLine,
    /// Stock of each item in each warehouse.
    Stock,
}

impl TprocCTable {
    /// All tables, those with most rows first, so that parallel loads end together.
    pub const ALL: [TprocCTable; 9] = [
        TprocCTable::Stock,
        TprocCTable::OrderLine,
        TprocCTable::Customer,
        TprocCTable::Item,
        TprocCTable::History,
        TprocCTable::Orders,
        TprocCTable::NewOrder,
        TprocCTable::District,
        TprocCTable::Warehouse,
    ];

    /// Its name on the server.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TprocCTable::Item => "item",
            TprocCTable::Warehouse => "warehouse",
            TprocCTable::District => "district",
            TprocCTable::Customer => "customer",
            TprocCTable::History => "history",
            TprocCTable::Orders => "orders",
            TprocCTable::NewOrder => "new_order",
            TprocCTable::OrderLine => "order_line",
            TprocCTable::Stock => "stock",
        }
    }

    /// Rows of a warehouse; of all items. Lines of orders are as many as expected.
    #[must_use]
    pub const fn expected_rows(self) -> u64 {
        (match self {
            TprocCTable::Item | TprocCTable::Stock => ITEMS,
            TprocCTable::Warehouse => 1,
            TprocCTable::District => DISTRICTS,
            TprocCTable::Customer | TprocCTable::History | TprocCTable::Orders => {
                DISTRICTS * CUSTOMERS
            }
            TprocCTable::NewOrder => DISTRICTS * (CUSTOMERS - FIRST_NEW_ORDER + 1),
            TprocCTable::OrderLine => DISTRICTS * CUSTOMERS * (LINES_MIN + LINES_MAX) / 2,
        }) as u64
    }

    /// Parts of a warehouse; of all items.
    #[must_use]
    pub const fn parts(self) -> u32 {
        match self {
            TprocCTable::Item | TprocCTable::Stock => ITEMS / ITEMS_OF_PART,
            TprocCTable::Warehouse | TprocCTable::District => 1,
            _ => DISTRICTS,
        }
    }
}

/// The rows of a table that belong to a warehouse. Items belong to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarehouseRows {
    /// The table.
    pub table: TprocCTable,
    /// The warehouse, from 1.
    pub warehouse: u32,
}

impl WarehouseRows {
    /// Everything that `warehouses` consist of.
    #[must_use]
    pub fn all(warehouses: u32) -> Vec<WarehouseRows> {
        let of = |table: TprocCTable| {
            let warehouses = if table == TprocCTable::Item {
                1
            } else {
                warehouses
            };
            (1..=warehouses).map(move |warehouse| WarehouseRows { table, warehouse })
        };
        TprocCTable::ALL.into_iter().flat_map(of).collect()
    }

    /// Appends the rows of part `part`, from 0, to `rows`.
    pub fn make(self, part: u32, seed: u64, rows: &mut RowText) {
        let name = [self.table as u32, self.warehouse, part];
        let mut stream = RandomStream::new(seed, &name);
        let place = (self.warehouse, part + 1);
        match self.table {
            TprocCTable::Item => items(part, &mut stream, rows),
            TprocCTable::Warehouse => warehouse(self.warehouse, &mut stream, rows),
            TprocCTable::District => districts(self.warehouse, &mut stream, rows),
            TprocCTable::Customer => customers(place, &mut stream, rows),
            TprocCTable::History => history(place, &mut stream, rows),
            TprocCTable::Orders => orders(place, seed, &mut stream, rows),
            TprocCTable::NewOrder => new_orders(place, rows),
            TprocCTable::OrderLine => order_lines(place, seed, &mut stream, rows),
            TprocCTable::Stock => stock((self.warehouse, part), &mut stream, rows),
        }
    }
}

fn numbers_of(part: u32) -> std::ops::RangeInclusive<u32> {
    let before = part * ITEMS_OF_PART;
    before + 1..=before + ITEMS_OF_PART
}

fn items(part: u32, stream: &mut RandomStream, rows: &mut RowText) {
    for item in numbers_of(part) {
        rows.number(item).number(stream.uniform(1, 10_000));
        rows.random(stream, (14, 24));
        rows.hundredths(i64::from(stream.uniform(100, 10_000)));
        rows.data(stream).end();
    }
}

fn warehouse(warehouse: u32, stream: &mut RandomStream, rows: &mut RowText) {
    rows.number(warehouse).hundredths(30_000_000);
    rows.ten_thousandths(stream.uniform(0, 2000));
    rows.random(stream, (6, 10)).address(stream).end();
}

fn districts(warehouse: u32, stream: &mut RandomStream, rows: &mut RowText) {
    for district in 1..=DISTRICTS {
        rows.number(warehouse).number(district);
        rows.number(CUSTOMERS + 1).hundredths(3_000_000);
        rows.ten_thousandths(stream.uniform(0, 2000));
        rows.random(stream, (6, 10)).address(stream).end();
    }
}

fn customers((warehouse, district): (u32, u32), stream: &mut RandomStream, rows: &mut RowText) {
    for customer in 1..=CUSTOMERS {
        let name = match customer {
            1..=LAST_NAMES => customer - 1,
            _ => stream.last_name_number(),
        };
        rows.number(warehouse).number(district).number(customer);
        rows.hundredths(-1000).hundredths(1000).number(1).number(0);
        rows.ten_thousandths(stream.uniform(0, 5000));
        rows.text(if stream.is_one_of(10) { "BC" } else { "GC" });
        rows.hundredths(5_000_000).text(LOADED_AT);
        rows.random(stream, (8, 16))
            .text("OE")
            .text(&last_name(name));
        rows.address(stream);
        rows.text(&format!(
            "{:08}{:08}",
            stream.uniform(0, 99_999_999),
            stream.uniform(0, 99_999_999)
        ));
        rows.random(stream, (300, 500)).end();
    }
}

fn history((warehouse, district): (u32, u32), stream: &mut RandomStream, rows: &mut RowText) {
    for customer in 1..=CUSTOMERS {
        rows.number(warehouse).number(district).number(customer);
        rows.number(warehouse).number(district);
        rows.text(LOADED_AT).hundredths(1000);
        rows.random(stream, (12, 24)).end();
    }
}

/// Lines of an order that is loaded: orders and their lines are made apart, and agree.
fn line_count((warehouse, district): (u32, u32), order: u32, seed: u64) -> u32 {
    let name = [LINE_COUNTS, warehouse, district, order];
    RandomStream::new(seed, &name).uniform(LINES_MIN, LINES_MAX)
}

fn orders(place: (u32, u32), seed: u64, stream: &mut RandomStream, rows: &mut RowText) {
    let (warehouse, district) = place;
    let buyers = RandomStream::new(seed, &[BUYERS, warehouse, district]).permutation(CUSTOMERS);
    for (order, customer) in (1..).zip(buyers) {
        rows.number(warehouse)
            .number(district)
            .number(order)
            .number(customer);
        if order < FIRST_NEW_ORDER {
            rows.number(stream.uniform(1, 10));
        } else {
            rows.null();
        }
        rows.number(line_count(place, order, seed)).number(1);
        rows.text(LOADED_AT).end();
    }
}

fn new_orders((warehouse, district): (u32, u32), rows: &mut RowText) {
    for order in FIRST_NEW_ORDER..=CUSTOMERS {
        rows.number(warehouse).number(district).number(order).end();
    }
}

fn order_lines(place: (u32, u32), seed: u64, stream: &mut RandomStream, rows: &mut RowText) {
    let (warehouse, district) = place;
    for order in 1..=CUSTOMERS {
        for line in 1..=line_count(place, order, seed) {
            rows.number(warehouse)
                .number(district)
                .number(order)
                .number(line);
            rows.number(stream.uniform(1, ITEMS)).number(warehouse);
            if order < FIRST_NEW_ORDER {
                rows.text(LOADED_AT).number(5).hundredths(0);
            } else {
                let amount = stream.uniform(1, 999_999);
                rows.null().number(5).hundredths(i64::from(amount));
            }
            rows.random(stream, (24, 24)).end();
        }
    }
}

fn stock((warehouse, part): (u32, u32), stream: &mut RandomStream, rows: &mut RowText) {
    for item in numbers_of(part) {
        rows.number(warehouse).number(item);
        rows.number(stream.uniform(10, 100));
        rows.number(0).number(0).number(0);
        rows.data(stream);
        for _ in 0..DISTRICTS {
            rows.random(stream, (24, 24));
        }
        rows.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn whole(table: TprocCTable, warehouse: u32, seed: u64) -> (String, u64) {
        let mut rows = RowText::default();
        for part in 0..table.parts() {
            WarehouseRows { table, warehouse }.make(part, seed, &mut rows);
        }
        let text = String::from_utf8(rows.bytes().to_vec()).expect("text");
        (text, rows.count())
    }

    #[test]
    fn each_table_has_its_rows() {
        for table in TprocCTable::ALL {
            let (text, count) = whole(table, 2, 1);
            assert_eq!(text.lines().count() as u64, count, "{table:?}");
            let expected = table.expected_rows();
            match table {
                TprocCTable::OrderLine => {
                    let share = count as f64 / expected as f64;
                    assert!((share - 1.0).abs() < 0.01, "{count}");
                }
                _ => assert_eq!(count, expected, "{table:?}"),
            }
        }
        let all = WarehouseRows::all(3);
        assert_eq!(all.len(), 8 * 3 + 1, "items are loaded once");
    }

    #[test]
    fn rows_depend_on_the_seed_and_the_warehouse_alone() {
        for table in [
            TprocCTable::Stock,
            TprocCTable::Customer,
            TprocCTable::Orders,
        ] {
            let (first, _) = whole(table, 2, 1);
            assert_eq!(first, whole(table, 2, 1).0);
            assert_ne!(first, whole(table, 2, 2).0);
            assert_ne!(first, whole(table, 3, 1).0);
        }
    }

    /// Orders and their lines are made by different parts of the load.
    #[test]
    fn orders_have_as_many_lines_as_they_say() {
        let column = |text: &str, index: usize| -> Vec<u32> {
            let value = |line: &str| line.split('\t').nth(index)?.parse().ok();
            text.lines().filter_map(value).collect()
        };
        let (orders, _) = whole(TprocCTable::Orders, 1, 9);
        let counts = column(&orders, 5);
        assert!(counts.iter().all(|count| (5..=15).contains(count)));
        let (_, lines) = whole(TprocCTable::OrderLine, 1, 9);
        assert_eq!(counts.iter().map(|c| u64::from(*c)).sum::<u64>(), lines);
        let buyers: BTreeSet<u32> = column(&orders, 3).into_iter().take(3000).collect();
        assert!(
            buyers.into_iter().eq(1..=3000),
            "each customer has one order"
        );
    }

    #[test]
    fn every_last_name_has_a_customer() {
        let (text, _) = whole(TprocCTable::Customer, 1, 1);
        let names: BTreeSet<&str> = text
            .lines()
            .take(3000)
            .filter_map(|line| line.split('\t').nth(13))
            .collect();
        assert_eq!(names.len(), 1000);
    }
}
