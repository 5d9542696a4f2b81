//! The statements of TPROC-C on MariaDB and MySQL: tables, routines, rows.
//!
//! Invariant: everything has the schema [`SCHEMA`] and nothing else of the server is named.

use crate::tprocc::contents::TprocCTable;
use crate::tprocc::rows::RowText;
use crate::tprocc::server::SCHEMA;

/// The table whose comment is [`MARK`], by which redolab knows the schema as its own, and whose row
/// is the state of the load.
pub const MARKER: &str = "redolab_marker";
/// The comment on [`MARKER`].
pub const MARK: &str = "redolab TPROC-C 1";
/// Makes the tables.
const TABLES: &str = include_str!("tables.sql");
/// Makes the routines.
const ROUTINES: &str = include_str!("routines.sql");
/// The names of the routines.
pub const ROUTINE_NAMES: [&str; 6] = [
    "new_order",
    "payment",
    "delivery",
    "stock_level",
    "order_status",
    "customer_number",
];
/// Bytes of a statement with rows, about. Servers accept 1 MB at least by default.
const STATEMENT_BYTES: usize = 256 << 10;

/// Statements that make the tables and the routines.
pub fn create() -> impl Iterator<Item = &'static str> {
    let tables = TABLES.split_inclusive(";\n").map(str::trim);
    let routines = ROUTINES.split("\n//\n").map(str::trim);
    tables.chain(routines).filter(|sql| !sql.is_empty())
}

/// All names in the schema: tables, views, routines, triggers, events.
#[must_use]
pub fn all_names() -> String {
    names_but("''", "''")
}

/// Names in the schema that redolab did not make: tables, views, routines, triggers, events.
#[must_use]
pub fn foreign_names() -> String {
    let quoted = |name: &str| format!("'{name}'");
    let tables = TprocCTable::ALL
        .map(|table| quoted(table.name()))
        .join(", ");
    let routines = ROUTINE_NAMES.map(quoted).join(", ");
    names_but(&format!("{tables}, '{MARKER}'"), &routines)
}

/// Names in the schema, without these tables and these routines.
fn names_but(tables: &str, routines: &str) -> String {
    format!(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}' \
           AND TABLE_NAME NOT IN ({tables}) \
         UNION ALL SELECT ROUTINE_NAME FROM information_schema.ROUTINES \
           WHERE ROUTINE_SCHEMA = '{SCHEMA}' AND ROUTINE_NAME NOT IN ({routines}) \
         UNION ALL SELECT TRIGGER_NAME FROM information_schema.TRIGGERS \
           WHERE TRIGGER_SCHEMA = '{SCHEMA}' \
         UNION ALL SELECT EVENT_NAME FROM information_schema.EVENTS \
           WHERE EVENT_SCHEMA = '{SCHEMA}'"
    )
}

/// Renews the statistics of a table.
#[must_use]
pub fn analyze(table: TprocCTable) -> String {
    format!("ANALYZE TABLE {SCHEMA}.{}", table.name())
}

/// Statements that insert rows, each with the number of its rows.
pub fn inserts(table: TprocCTable, rows: &RowText) -> impl Iterator<Item = (String, u64)> {
    let mut lines = rows.bytes().split(|byte| *byte == b'\n').peekable();
    std::iter::from_fn(move || {
        let mut sql = format!("INSERT INTO {SCHEMA}.{} VALUES ", table.name());
        let (begun, mut count) = (sql.len(), 0);
        while sql.len() < STATEMENT_BYTES {
            // After the last newline nothing follows.
            let Some(line) = lines.next_if(|line| !line.is_empty()) else {
                break;
            };
            sql.push_str(if sql.len() == begun { "(" } else { ",(" });
            put_row(&mut sql, line);
            count += 1;
        }
        (count > 0).then_some((sql, count))
    })
}

/// Appends the values of a row. No value needs an escape, and none contains a quote.
fn put_row(sql: &mut String, line: &[u8]) {
    for (index, value) in line.split(|byte| *byte == b'\t').enumerate() {
        if index > 0 {
            sql.push(',');
        }
        if value == b"\\N" {
            sql.push_str("NULL");
            continue;
        }
        let value = std::str::from_utf8(value).expect("rows are text");
        assert!(!value.contains(['\'', '\\']), "a value needs no escape");
        sql.push('\'');
        sql.push_str(value);
        sql.push('\'');
    }
    sql.push(')');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tprocc::contents::WarehouseRows;

    #[test]
    fn every_statement_names_the_schema() {
        let made: Vec<&str> = create().collect();
        let created = |kind: &str| {
            let text = format!("CREATE {kind} {SCHEMA}.");
            made.iter().filter(|sql| sql.contains(&text)).count()
        };
        assert_eq!((created("TABLE"), created("PROCEDURE")), (9, 6));
        assert_eq!(made.len(), 15);
        let names = |sql: &str, name: &str| sql.contains(&format!("{SCHEMA}.{name}"));
        for name in ROUTINE_NAMES {
            let routine = format!("PROCEDURE {SCHEMA}.{name}(");
            assert!(made.iter().any(|sql| sql.contains(&routine)), "{name}");
        }
        for name in TprocCTable::ALL.map(TprocCTable::name) {
            assert!(made.iter().any(|sql| names(sql, name)), "{name}");
        }
    }

    #[test]
    fn rows_become_statements_of_moderate_size() {
        let mut rows = RowText::default();
        rows.number(1).text("a b").null().hundredths(-5).end();
        rows.number(2).text("").number(7).hundredths(0).end();
        let all: Vec<_> = inserts(TprocCTable::Item, &rows).collect();
        let sql =
            "INSERT INTO redolab_tprocc.item VALUES ('1','a b',NULL,'-0.05'),('2','','7','0.00')";
        assert_eq!(all, [(sql.to_owned(), 2)]);
        let part = WarehouseRows {
            table: TprocCTable::Customer,
            warehouse: 1,
        };
        rows.clear();
        part.make(0, 1, &mut rows);
        let all: Vec<_> = inserts(part.table, &rows).collect();
        assert!(
            all.iter()
                .all(|(sql, _)| sql.len() < STATEMENT_BYTES + 1000)
        );
        assert_eq!(all.iter().map(|(_, rows)| rows).sum::<u64>(), rows.count());
        assert!(all.len() > 5, "{}", all.len());
    }
}
