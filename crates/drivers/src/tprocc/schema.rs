//! The schema on a server: whether it can be used, removal, readings of its counters and of its
//! state, in statements that every server understands.
//!
//! Invariants: a schema that redolab did not make is neither read nor changed; a load and a removal
//! are alone on the schema.

use super::conditions::{ConditionCheck, DistrictState, WarehouseState};
use super::server::{QueryRows, SCHEMA, SchemaConnection, SchemaState, SchemaUse};
use measure::driver::DriverError;
use measure::run::ConsistencyCondition;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How long a lock is tried: a server notices a moment later that a connection was closed.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How long is waited between two attempts.
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Locks the schema until the connection ends.
///
/// # Errors
/// Others use it, or of the server.
pub fn lock(connection: &mut dyn SchemaConnection, usage: SchemaUse) -> Result<(), DriverError> {
    let begun = Instant::now();
    loop {
        if connection.lock(usage)? {
            return Ok(());
        }
        if begun.elapsed() >= LOCK_PATIENCE {
            break;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Err(DriverError::unusable(format!(
        "another redolab uses the schema {SCHEMA} (a load, a run or a removal): wait until it has \
         ended"
    )))
}

/// The refusal of a schema that redolab did not make.
#[must_use]
pub fn foreign() -> DriverError {
    DriverError::unusable(format!(
        "there is a schema {SCHEMA} that redolab did not make (its mark is missing): redolab does \
         not touch it; use another database or server, or rename or drop that schema"
    ))
}

/// Checks that the schema is loaded, and returns how many warehouses it has.
///
/// # Errors
/// It is absent, foreign or unfinished, with what to do.
pub fn loaded(connection: &mut dyn SchemaConnection) -> Result<u32, DriverError> {
    let missing = |why: &str| {
        Err(DriverError::unusable(format!(
            "{why}: load it with redolab tprocc load --url URL --warehouses N"
        )))
    };
    match connection.state()? {
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
pub fn drop(connection: &mut dyn SchemaConnection) -> Result<bool, DriverError> {
    match connection.state()? {
        SchemaState::Absent => Ok(false),
        SchemaState::Foreign => Err(foreign()),
        SchemaState::Unfinished | SchemaState::Loaded => {
            connection.remove()?;
            Ok(true)
        }
    }
}

/// The sum of `d_next_o_id`.
///
/// # Errors
/// Of the server.
pub fn next_orders(connection: &mut dyn SchemaConnection) -> Result<u64, DriverError> {
    let rows = connection.query(&format!("SELECT sum(d_next_o_id) FROM {SCHEMA}.district"))?;
    value(&rows, 0, 0).ok_or_else(malformed)
}

/// Checks the consistency conditions, warehouse by warehouse, on one snapshot.
///
/// # Errors
/// Of the server.
pub fn conditions(
    connection: &mut dyn SchemaConnection,
    warehouses: u32,
) -> Result<Vec<ConsistencyCondition>, DriverError> {
    connection.begin_snapshot()?;
    let mut check = ConditionCheck::default();
    for warehouse in 1..=warehouses {
        let rows = connection.query(&warehouse_state(warehouse))?;
        check.warehouse(&WarehouseState {
            warehouse,
            ytd: hundredths(&rows, 0, 0).ok_or_else(malformed)?,
            districts_ytd: hundredths(&rows, 0, 1).unwrap_or(0),
        });
        let rows = connection.query(&district_states(warehouse))?;
        for row in 0..rows.len() {
            check.district(&district(&rows, row, warehouse).ok_or_else(malformed)?);
        }
    }
    connection.query("COMMIT")?;
    Ok(check.conditions())
}

/// Reads the state of a warehouse: `w_ytd` and the sum of `d_ytd`.
fn warehouse_state(warehouse: u32) -> String {
    format!(
        "SELECT w_ytd, (SELECT sum(d_ytd) FROM {SCHEMA}.district WHERE d_w_id = w_id) \
         FROM {SCHEMA}.warehouse WHERE w_id = {warehouse}"
    )
}

/// Reads the state of the districts of a warehouse, in the order of `DistrictState`'s fields.
fn district_states(warehouse: u32) -> String {
    let of_orders = |what: &str| {
        format!("(SELECT {what} FROM {SCHEMA}.orders WHERE o_w_id = d_w_id AND o_d_id = d_id)")
    };
    let of_new_orders = |what: &str| {
        format!("(SELECT {what} FROM {SCHEMA}.new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)")
    };
    let columns = [
        "d_id".to_owned(),
        "d_next_o_id".to_owned(),
        of_orders("max(o_id)"),
        of_new_orders("min(no_o_id)"),
        of_new_orders("max(no_o_id)"),
        of_new_orders("count(*)"),
        of_orders("coalesce(sum(o_ol_cnt), 0)"),
        format!(
            "(SELECT count(*) FROM {SCHEMA}.order_line WHERE ol_w_id = d_w_id AND ol_d_id = d_id)"
        ),
    ];
    let columns = columns.join(", ");
    format!("SELECT {columns} FROM {SCHEMA}.district WHERE d_w_id = {warehouse} ORDER BY d_id")
}

fn malformed() -> DriverError {
    DriverError::failed("a table of TPROC-C has other values than redolab wrote")
}
fn district(rows: &QueryRows, row: usize, warehouse: u32) -> Option<DistrictState> {
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

fn text(rows: &QueryRows, row: usize, column: usize) -> Option<&str> {
    rows.get(row)?.get(column)?.as_deref()
}

fn value<T: FromStr>(rows: &QueryRows, row: usize, column: usize) -> Option<T> {
    text(rows, row, column)?.parse().ok()
}

/// A number with two decimals, in hundredths.
fn hundredths(rows: &QueryRows, row: usize, column: usize) -> Option<i128> {
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
