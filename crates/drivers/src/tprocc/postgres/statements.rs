//! The statements of TPROC-C on PostgreSQL: tables, indexes, routines, and what removes them.
//!
//! Invariants: everything has the schema [`SCHEMA`] and nothing else of the server is named;
//! removal names each table and routine, so that what others put into the schema stays.

use crate::tprocc::contents::TprocCTable;
use crate::tprocc::server::{LOADING, SCHEMA};

/// What the comment on the schema begins with, by which redolab knows it as its own.
pub const MARK: &str = "redolab TPROC-C 1: ";
/// Makes the tables.
pub const TABLES: &str = include_str!("tables.sql");
/// Makes the routines.
pub const ROUTINES: &str = include_str!("routines.sql");
/// Makes the indexes, those that take longest first.
pub const INDEXES: [&str; 10] = [
    "ALTER TABLE redolab_tprocc.order_line ADD PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    "ALTER TABLE redolab_tprocc.stock ADD PRIMARY KEY (s_w_id, s_i_id)",
    "CREATE INDEX customer_name \
     ON redolab_tprocc.customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "ALTER TABLE redolab_tprocc.customer ADD PRIMARY KEY (c_w_id, c_d_id, c_id)",
    "ALTER TABLE redolab_tprocc.orders ADD PRIMARY KEY (o_w_id, o_d_id, o_id)",
    "CREATE UNIQUE INDEX orders_customer \
     ON redolab_tprocc.orders (o_w_id, o_d_id, o_c_id, o_id)",
    "ALTER TABLE redolab_tprocc.new_order ADD PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    "ALTER TABLE redolab_tprocc.item ADD PRIMARY KEY (i_id)",
    "ALTER TABLE redolab_tprocc.district ADD PRIMARY KEY (d_w_id, d_id)",
    "ALTER TABLE redolab_tprocc.warehouse ADD PRIMARY KEY (w_id)",
];
/// The names of the routines.
const ROUTINE_NAMES: [&str; 6] = [
    "new_order",
    "payment",
    "delivery",
    "stock_level",
    "order_status",
    "customer_number",
];

/// Makes the schema, marked as being loaded.
#[must_use]
pub fn create_schema() -> String {
    format!("CREATE SCHEMA {SCHEMA}; {}", mark(LOADING))
}

/// Marks the schema.
#[must_use]
pub fn mark(state: &str) -> String {
    format!("COMMENT ON SCHEMA {SCHEMA} IS '{MARK}{state}'")
}

/// Removes what redolab made, in one transaction, and fails where others put something into the
/// schema.
#[must_use]
pub fn drop_schema() -> String {
    let routines = ROUTINE_NAMES.map(|name| format!("DROP ROUTINE IF EXISTS {SCHEMA}.{name}"));
    let tables = TprocCTable::ALL.map(|t| format!("DROP TABLE IF EXISTS {SCHEMA}.{}", t.name()));
    let schema = format!("DROP SCHEMA {SCHEMA}");
    let all = routines.into_iter().chain(tables).chain([schema]);
    all.collect::<Vec<String>>().join("; ")
}

/// Reads the rows of a table from the client.
#[must_use]
pub fn copy(table: TprocCTable) -> String {
    format!("COPY {SCHEMA}.{} FROM STDIN", table.name())
}

/// Analyzes a table, and marks its pages as visible to all.
#[must_use]
pub fn vacuum(table: TprocCTable) -> String {
    format!("VACUUM (ANALYZE) {SCHEMA}.{}", table.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_names_the_schema_and_removal_names_everything() {
        let made = [TABLES, ROUTINES].concat();
        let created = |kind: &str| made.matches(&format!("CREATE {kind} {SCHEMA}.")).count();
        let removal = drop_schema();
        assert_eq!(created("TABLE"), 9);
        assert_eq!(removal.matches("DROP TABLE").count(), 9);
        assert_eq!(created("FUNCTION") + created("PROCEDURE"), 6);
        assert_eq!(removal.matches("DROP ROUTINE").count(), 6);
        assert!(!removal.contains("CASCADE"));
        assert_eq!(
            made.matches("\nCREATE ").count() + usize::from(made.starts_with("CREATE")),
            15
        );
        assert!(INDEXES.iter().all(|sql| sql.contains(SCHEMA)));
    }
}
