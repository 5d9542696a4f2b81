//! A connection to the schema on PostgreSQL.

use super::copy::CopyIn;
use super::statements::{self, MARK};
use crate::postgres::connection::Connection;
use crate::postgres::error::PostgresError;
use crate::tprocc::contents::TprocCTable;
use crate::tprocc::rows::RowText;
use crate::tprocc::server::{
    LOADING, QueryRows, RowSource, SCHEMA, SchemaConnection, SchemaState, SchemaUse,
};
use measure::driver::DriverError;

/// The key of the advisory lock on the schema, which each connection that uses it holds:
/// `redotpcc` as a number.
const LOCK: u64 = u64::from_be_bytes(*b"redotpcc");

/// A connection to the schema on PostgreSQL.
#[derive(Debug)]
pub struct PostgresSchema(pub Connection);

impl SchemaConnection for PostgresSchema {
    fn lock(&mut self, usage: SchemaUse) -> Result<bool, DriverError> {
        let function = match usage {
            SchemaUse::Shared => "pg_try_advisory_lock_shared",
            SchemaUse::Alone => "pg_try_advisory_lock",
        };
        let rows = self.query(&format!("SELECT pg_catalog.{function}({LOCK})"))?;
        Ok(first(rows).as_deref() == Some("t"))
    }

    fn state(&mut self) -> Result<SchemaState, DriverError> {
        let rows = self.query(&format!(
            "SELECT pg_catalog.obj_description(n.oid, 'pg_namespace'), \
               nspacl IS NULL AND pg_catalog.pg_get_userbyid(nspowner) = current_user \
               AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend \
                 WHERE refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass \
                 AND refobjid = n.oid) \
             FROM pg_catalog.pg_namespace AS n WHERE nspname = '{SCHEMA}'"
        ))?;
        let Some(row) = rows.into_iter().next() else {
            return Ok(SchemaState::Absent);
        };
        Ok(match row.as_slice() {
            [Some(comment), _] => match comment.strip_prefix(MARK) {
                None => SchemaState::Foreign,
                Some(LOADING) => SchemaState::Unfinished,
                Some(_) => SchemaState::Loaded,
            },
            [None, Some(is_empty)] if is_empty == "t" => SchemaState::Unfinished,
            _ => SchemaState::Foreign,
        })
    }

    fn query(&mut self, sql: &str) -> Result<QueryRows, DriverError> {
        Ok(self.0.query(sql)?)
    }

    fn create(&mut self) -> Result<(), DriverError> {
        self.query(&statements::create_schema())?;
        self.query(statements::TABLES)?;
        self.query(statements::ROUTINES)?;
        Ok(())
    }

    /// In one transaction.
    fn load(&mut self, table: TprocCTable, source: &mut RowSource<'_>) -> Result<(), DriverError> {
        let mut copy = CopyIn::begin(&mut self.0, &statements::copy(table))?;
        let mut rows = RowText::default();
        while source(&mut rows)? {
            copy.send(rows.bytes())?;
        }
        Ok(copy.finish()?)
    }

    fn mark(&mut self, state: &str) -> Result<(), DriverError> {
        self.query(&statements::mark(state))?;
        Ok(())
    }

    fn remove(&mut self) -> Result<(), DriverError> {
        self.query(&statements::drop_schema())?;
        Ok(())
    }

    fn begin_snapshot(&mut self) -> Result<(), DriverError> {
        self.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        Ok(())
    }

    /// Of all databases; up to a second old.
    fn transactions(&mut self) -> Result<u64, DriverError> {
        let rows =
            self.query("SELECT sum(xact_commit + xact_rollback) FROM pg_catalog.pg_stat_database")?;
        let sum = first(rows).and_then(|sum| sum.parse().ok());
        Ok(sum.ok_or(PostgresError::Protocol("a count is not a number"))?)
    }
}

/// The first value of a result.
fn first(rows: QueryRows) -> Option<String> {
    rows.into_iter().flatten().next().flatten()
}
