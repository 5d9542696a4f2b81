//! How many rows the tables of TPROC-C have (TPC-C 1.2.1 and 4.3.3.1).

/// Items, once for all warehouses. Each warehouse has a stock of each.
pub const ITEMS: u32 = 100_000;
/// Districts of a warehouse.
pub const DISTRICTS: u32 = 10;
/// Customers of a district, each with one line of history and one order.
pub const CUSTOMERS: u32 = 3000;
/// The first order of a district that is loaded as not delivered.
pub const FIRST_NEW_ORDER: u32 = 2101;
/// Lines of an order, at least.
pub const LINES_MIN: u32 = 5;
/// Lines of an order, at most.
pub const LINES_MAX: u32 = 15;
/// Warehouses of a schema, at most: numbers of customers and stock stay far below 2^31.
pub const WAREHOUSES_MAX: u32 = 100_000;
