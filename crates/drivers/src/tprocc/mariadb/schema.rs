//! A connection to the schema on MariaDB and MySQL.
//!
//! Invariant: the schema is dropped only if its marker shows that redolab made it, and after
//! everything in it was removed by its name.

use super::statements::{self, MARK, MARKER, ROUTINE_NAMES};
use crate::mariadb::connection::ServerConnection;
use crate::mariadb::error::MariadbError;
use crate::mariadb::schema::LOCK_S;
use crate::tprocc::contents::TprocCTable;
use crate::tprocc::rows::RowText;
use crate::tprocc::schema;
use crate::tprocc::server::{
    LOADING, QueryRows, RowSource, SCHEMA, SchemaConnection, SchemaState, SchemaUse,
};
use measure::driver::DriverError;

/// What connections set: no wait of hours for a lock on a table, no end of a connection that is
/// idle during a run, one meaning of statements on every server.
const SETTINGS: &str = "SET SESSION autocommit = 1, wait_timeout = 2000000, \
     lock_wait_timeout = 50, \
     sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";
/// So many locks together are the lock on the schema: a command that shares it holds one of them,
/// one that is alone holds all. Servers have no lock by name that can be shared.
const LOCKS: u32 = 16;
/// Numbers of errors that mean a missing privilege: for a schema, a table, an operation, a routine.
const PRIVILEGE: [u16; 4] = [1044, 1142, 1227, 1370];
/// The collation of the schema.
const COLLATION: &str = "ascii_bin";
/// Number of the error that a schema exists.
const EXISTS: u16 = 1007;

/// A connection to the schema on MariaDB and MySQL.
#[derive(Debug)]
pub struct MariadbSchema(ServerConnection);

/// The error of a statement in the schema: a missing privilege contains what to grant.
pub fn in_schema(error: MariadbError) -> DriverError {
    match error.number() {
        Some(number) if PRIVILEGE.contains(&number) => DriverError::unusable(format!(
            "{error}; TPROC-C needs GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, CREATE \
             ROUTINE, ALTER ROUTINE, EXECUTE ON `{SCHEMA}`.* to the user"
        )),
        _ => error.into(),
    }
}

impl MariadbSchema {
    /// The schema through a connection, which is set up for it.
    ///
    /// # Errors
    /// Of the server.
    pub fn new(mut connection: ServerConnection) -> Result<MariadbSchema, MariadbError> {
        connection.run(SETTINGS)?;
        Ok(MariadbSchema(connection))
    }

    fn run(&mut self, sql: &str) -> Result<(), DriverError> {
        self.0.run(sql).map(|_| ()).map_err(in_schema)
    }

    fn has_lock(&mut self, number: u32, wait_s: u32) -> Result<bool, DriverError> {
        let rows = self.query(&format!("SELECT GET_LOCK('{SCHEMA}.{number}', {wait_s})"))?;
        Ok(first(rows).as_deref() == Some("1"))
    }

    /// Whether a query of `count(*)` counts something.
    fn is_any(&mut self, from: &str) -> Result<bool, DriverError> {
        let rows = self.query(&format!("SELECT COUNT(*) FROM {from}"))?;
        Ok(first(rows).is_some_and(|count| count != "0"))
    }

    /// Whether the schema is as a load makes it before its marker: of the same collation, and
    /// without anything in it.
    fn is_left_empty(&mut self) -> Result<bool, DriverError> {
        let is_alike = self.is_any(&format!(
            "information_schema.SCHEMATA WHERE SCHEMA_NAME = '{SCHEMA}' \
             AND DEFAULT_COLLATION_NAME = '{COLLATION}'"
        ))?;
        Ok(is_alike && self.query(&statements::all_names())?.is_empty())
    }

    /// Makes the marker of a schema that was made just now.
    fn make_marker(&mut self) -> Result<(), DriverError> {
        self.run(&format!(
            "CREATE TABLE {SCHEMA}.{MARKER} (state varchar(100) NOT NULL) ENGINE=InnoDB \
             COMMENT='{MARK}'"
        ))?;
        self.run(&format!(
            "INSERT INTO {SCHEMA}.{MARKER} VALUES ('{LOADING}')"
        ))
    }

    fn refuse_foreign_names(&mut self) -> Result<(), DriverError> {
        match first(self.query(&statements::foreign_names())?) {
            None => Ok(()),
            Some(name) => Err(DriverError::unusable(format!(
                "the schema {SCHEMA} contains {name}, which redolab did not make: move it to \
                 another schema; until then redolab does not drop the schema"
            ))),
        }
    }
}

impl SchemaConnection for MariadbSchema {
    fn lock(&mut self, usage: SchemaUse) -> Result<bool, DriverError> {
        for number in 1..=LOCKS {
            let is_last_try = usage == SchemaUse::Alone || number == LOCKS;
            let wait_s = if is_last_try { LOCK_S } else { 0 };
            match (usage, self.has_lock(number, wait_s)?) {
                (SchemaUse::Shared, true) => return Ok(true),
                (SchemaUse::Alone, false) => return Ok(false),
                (SchemaUse::Shared, false) | (SchemaUse::Alone, true) => {}
            }
        }
        Ok(usage == SchemaUse::Alone)
    }

    fn state(&mut self) -> Result<SchemaState, DriverError> {
        if !self.is_any(&format!(
            "information_schema.SCHEMATA WHERE SCHEMA_NAME = '{SCHEMA}'"
        ))? {
            return Ok(SchemaState::Absent);
        }
        if !self.is_any(&format!(
            "information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}' \
             AND TABLE_NAME = '{MARKER}' AND TABLE_COMMENT = '{MARK}'"
        ))? {
            return Ok(match self.is_left_empty()? {
                true => SchemaState::Unfinished,
                false => SchemaState::Foreign,
            });
        }
        let state = self.query(&format!("SELECT state FROM {SCHEMA}.{MARKER}"))?;
        Ok(match first(state).as_deref() {
            None | Some(LOADING) => SchemaState::Unfinished,
            Some(_) => SchemaState::Loaded,
        })
    }

    fn query(&mut self, sql: &str) -> Result<QueryRows, DriverError> {
        self.0.query(sql).map_err(in_schema)
    }

    fn create(&mut self) -> Result<(), DriverError> {
        // What cannot be removed later must not be made: this statement needs the privilege.
        self.run(&format!("DROP TABLE IF EXISTS {SCHEMA}.{MARKER}"))?;
        // Text is ASCII, and compared byte by byte, as PostgreSQL compares it.
        let made = self.0.run(&format!(
            "CREATE DATABASE {SCHEMA} CHARACTER SET ascii COLLATE {COLLATION}"
        ));
        if let Err(error) = made {
            return Err(match error.number() {
                Some(EXISTS) => schema::foreign(),
                _ => in_schema(error),
            });
        }
        let outcome = self.make_marker();
        if outcome.is_err() {
            // It was made just now, and the marker's failure is what is reported.
            let _ = self.run(&format!("DROP DATABASE {SCHEMA}"));
            return outcome;
        }
        statements::create().try_for_each(|sql| self.run(sql))
    }

    /// Each piece in a transaction of its own.
    fn load(&mut self, table: TprocCTable, source: &mut RowSource<'_>) -> Result<(), DriverError> {
        let mut rows = RowText::default();
        while source(&mut rows)? {
            self.run("START TRANSACTION")?;
            for (sql, count) in statements::inserts(table, &rows) {
                let done = self.0.run(&sql).map_err(in_schema)?;
                if done.rows != count || done.warnings != 0 {
                    return Err(DriverError::failed(format!(
                        "the server inserted {} of {count} rows into {}, with {} warnings",
                        done.rows,
                        table.name(),
                        done.warnings
                    )));
                }
            }
            self.run("COMMIT")?;
        }
        Ok(())
    }

    fn mark(&mut self, state: &str) -> Result<(), DriverError> {
        self.run(&format!("UPDATE {SCHEMA}.{MARKER} SET state = '{state}'"))
    }

    fn remove(&mut self) -> Result<(), DriverError> {
        self.refuse_foreign_names()?;
        // What is half removed is not used. After a load that failed the privilege may be missing.
        if self.state()? == SchemaState::Loaded {
            self.mark(LOADING)?;
        }
        for name in ROUTINE_NAMES {
            // To remove what is not there needs a privilege, too.
            let is_there = self.is_any(&format!(
                "information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{SCHEMA}' \
                 AND ROUTINE_NAME = '{name}'"
            ))?;
            if is_there {
                self.run(&format!("DROP PROCEDURE {SCHEMA}.{name}"))?;
            }
        }
        for table in TprocCTable::ALL {
            self.run(&format!("DROP TABLE IF EXISTS {SCHEMA}.{}", table.name()))?;
        }
        // What somebody put into it meanwhile.
        self.refuse_foreign_names()?;
        self.run(&format!("DROP DATABASE {SCHEMA}"))
    }

    fn begin_snapshot(&mut self) -> Result<(), DriverError> {
        self.run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")?;
        self.run("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
    }

    fn transactions(&mut self) -> Result<u64, DriverError> {
        let rows =
            self.query("SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_commit', 'Com_rollback')")?;
        let counts = rows.iter().map(|row| match row.as_slice() {
            [_, Some(value)] => value.parse::<u64>().ok(),
            _ => None,
        });
        let counts: Option<Vec<u64>> = counts.collect();
        let counts = counts.filter(|counts| counts.len() == 2);
        let [a, b] = counts.as_deref().unwrap_or_default() else {
            return Err(MariadbError::Protocol("a count is not a number").into());
        };
        Ok(a.saturating_add(*b))
    }
}

/// The first value of a result.
fn first(rows: QueryRows) -> Option<String> {
    rows.into_iter().flatten().next().flatten()
}
