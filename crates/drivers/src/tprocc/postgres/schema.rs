//! The schema on a server: whose it is, how far it was loaded, who uses it; removal, readings of
//! its counters and of its state.
//!
//! Invariants: a schema that redolab did not make is neither read nor changed; a load and a removal
//! are alone on the schema; what the server sends is untrusted.

use super::statements::{self, LOADING, MARK, SCHEMA};
use crate::postgres::connection::{Connection, TextRows};
use crate::postgres::error::PostgresError;
use crate::tprocc::conditions::{ConditionCheck, DistrictState, WarehouseState};
use measure::run::ConsistencyCondition;
use std::str::FromStr;

/// The key of the advisory lock on the schema, which each connection that uses it holds:
/// `redotpcc` as a number.
const LOCK: u64 = u64::from_be_bytes(*b"redotpcc");

/// What a server has under the schema's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaState {
    /// Nothing.
    Absent,
    /// A schema that redolab did not make.
    Foreign,
    /// A schema of redolab's whose load did not end.
    Unfinished,
    /// A loaded schema.
    Loaded,
}

/// How a connection uses the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaUse {
    /// Beside others.
    Shared,
    /// Alone: to load or to remove it.
    Alone,
}

/// Locks the schema until the connection ends.
///
/// # Errors
/// Others use it, or of the server.
pub fn lock(connection: &mut Connection, usage: SchemaUse) -> Result<(), PostgresError> {
    let function = match usage {
        SchemaUse::Shared => "pg_try_advisory_lock_shared",
        SchemaUse::Alone => "pg_try_advisory_lock",
    };
    let rows = connection.query(&format!("SELECT pg_catalog.{function}({LOCK})"))?;
    if text(&rows, 0, 0) == Some("t") {
        return Ok(());
    }
    Err(PostgresError::Unusable(format!(
        "another redolab uses the schema {SCHEMA} of this database (a load, a run or a removal): \
         wait until it has ended"
    )))
}

/// What the server has under the schema's name.
///
/// # Errors
/// Of the server.
pub fn state(connection: &mut Connection) -> Result<SchemaState, PostgresError> {
    let rows = connection.query(&format!(
        "SELECT pg_catalog.obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace \
         WHERE nspname = '{SCHEMA}'"
    ))?;
    let own = |comment: &str| comment.strip_prefix(MARK).map(str::to_owned);
    Ok(match rows.first() {
        None => SchemaState::Absent,
        Some(_) => match text(&rows, 0, 0).and_then(own).as_deref() {
            None => SchemaState::Foreign,
            Some(LOADING) => SchemaState::Unfinished,
            Some(_) => SchemaState::Loaded,
        },
    })
}

/// The refusal of a schema that redolab did not make.
#[must_use]
pub fn foreign() -> PostgresError {
    PostgresError::Unusable(format!(
        "the database has a schema {SCHEMA} that redolab did not make (its comment is missing): \
         redolab does not touch it; use another database, or rename that schema"
    ))
}

/// Checks that the schema is loaded, and returns how many warehouses it has.
///
/// # Errors
/// It is absent, foreign or unfinished, with what to do.
pub fn loaded(connection: &mut Connection) -> Result<u32, PostgresError> {
    let missing = |why: &str| {
        Err(PostgresError::Unusable(format!(
            "{why}: load it with redolab tprocc load --url URL --warehouses N"
        )))
    };
    match state(connection)? {
        SchemaState::Absent => return missing("the database has no tables of TPROC-C"),
        SchemaState::Unfinished => return missing("the load of TPROC-C did not end"),
        SchemaState::Foreign => return Err(foreign()),
        SchemaState::Loaded => {}
    }
    let rows = connection.query(&format!(
        "SELECT count(*) FROM {SCHEMA}.warehouse HAVING min(w_id) = 1 AND max(w_id) = count(*)"
    ))?;
    match value(&rows, 0, 0) {
        Some(warehouses) if warehouses > 0 => Ok(warehouses),
        _ => missing("the warehouses of TPROC-C are not numbered from 1; drop the schema"),
    }
}

/// Removes the schema, where it is redolab's own. Whether there was one.
///
/// # Errors
/// It is not redolab's, others put something into it, or of the server.
pub fn drop(connection: &mut Connection) -> Result<bool, PostgresError> {
    match state(connection)? {
        SchemaState::Absent => Ok(false),
        SchemaState::Foreign => Err(foreign()),
        SchemaState::Unfinished | SchemaState::Loaded => {
            connection.query(&statements::drop_schema())?;
            Ok(true)
        }
    }
}

/// The sum of `d_next_o_id`.
///
/// # Errors
/// Of the server.
pub fn next_orders(connection: &mut Connection) -> Result<u64, PostgresError> {
    let rows = connection.query(&format!("SELECT sum(d_next_o_id) FROM {SCHEMA}.district"))?;
    value(&rows, 0, 0).ok_or(MALFORMED)
}

/// Commits and rollbacks of all databases of the server.
///
/// # Errors
/// Of the server.
pub fn transactions(connection: &mut Connection) -> Result<u64, PostgresError> {
    let rows = connection
        .query("SELECT sum(xact_commit + xact_rollback) FROM pg_catalog.pg_stat_database")?;
    value(&rows, 0, 0).ok_or(MALFORMED)
}

/// Checks the consistency conditions, warehouse by warehouse, on one snapshot.
///
/// # Errors
/// Of the server.
pub fn conditions(
    connection: &mut Connection,
    warehouses: u32,
) -> Result<Vec<ConsistencyCondition>, PostgresError> {
    connection.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
    let mut check = ConditionCheck::default();
    for warehouse in 1..=warehouses {
        let rows = connection.query(&statements::warehouse_state(warehouse))?;
        check.warehouse(&WarehouseState {
            warehouse,
            ytd: hundredths(&rows, 0, 0).ok_or(MALFORMED)?,
            districts_ytd: hundredths(&rows, 0, 1).unwrap_or(0),
        });
        let rows = connection.query(&statements::district_states(warehouse))?;
        for row in 0..rows.len() {
            check.district(&district(&rows, row, warehouse).ok_or(MALFORMED)?);
        }
    }
    connection.query("COMMIT")?;
    Ok(check.conditions())
}

const MALFORMED: PostgresError =
    PostgresError::Protocol("a table of TPROC-C has other values than redolab wrote");

fn district(rows: &TextRows, row: usize, warehouse: u32) -> Option<DistrictState> {
    let first_new: Option<i64> = value(rows, row, 3);
    Some(DistrictState {
        warehouse,
        district: value(rows, row, 0)?,
        next_order: value(rows, row, 1)?,
        last_order: value(rows, row, 2),
        new_orders: first_new.zip(value(rows, row, 4)),
        new_order_count: value(rows, row, 5)?,
        lines_of_orders: value(rows, row, 6)?,
        order_lines: value(rows, row, 7)?,
    })
}

fn text(rows: &TextRows, row: usize, column: usize) -> Option<&str> {
    rows.get(row)?.get(column)?.as_deref()
}

fn value<T: FromStr>(rows: &TextRows, row: usize, column: usize) -> Option<T> {
    text(rows, row, column)?.parse().ok()
}

/// A number with two decimals, in hundredths.
fn hundredths(rows: &TextRows, row: usize, column: usize) -> Option<i128> {
    parse_hundredths(text(rows, row, column)?)
}

fn parse_hundredths(text: &str) -> Option<i128> {
    let (whole, cents) = text.split_once('.')?;
    if cents.len() != 2 || !cents.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let size: i128 = whole.trim_start_matches('-').parse().ok()?;
    let size = size.checked_mul(100)?.checked_add(cents.parse().ok()?)?;
    Some(if whole.starts_with('-') { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_read_exactly() {
        for (text, cents) in [
            ("300000.00", Some(30_000_000)),
            ("-0.05", Some(-5)),
            ("-12.50", Some(-1250)),
            ("99999999999999999.99", Some(9_999_999_999_999_999_999)),
            ("1.5", None),
            ("1", None),
            ("1.-5", None),
            ("NaN", None),
            ("", None),
        ] {
            assert_eq!(parse_hundredths(text), cents, "{text}");
        }
    }

    #[test]
    fn a_row_that_lacks_a_value_is_refused() {
        let some = |text: &str| Some(text.to_owned());
        let row: Vec<Option<String>> =
            ["1", "3001", "3000", "2101", "3000", "900", "30011", "30011"]
                .map(some)
                .into();
        let state = district(&vec![row.clone()], 0, 4).expect("a district");
        assert_eq!((state.warehouse, state.next_order), (4, 3001));
        assert_eq!(state.new_orders, Some((2101, 3000)));
        for missing in [0, 1, 5, 6, 7] {
            let mut row = row.clone();
            row[missing] = None;
            assert_eq!(district(&vec![row], 0, 4), None, "{missing}");
        }
        assert_eq!(district(&vec![row[..7].to_vec()], 0, 4), None);
    }
}
