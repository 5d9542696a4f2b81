//! The schema that redolab makes on a server, and removes.
//!
//! Invariants: nothing else on the server changes; a schema is removed only if its marker shows
//! that redolab made it, and if it contains no table that redolab did not make; a lock of the
//! server, which ends with its connection, shows that a schema is in use.

use super::connection::ServerConnection;
use super::error::MariadbError;

/// The table that shows whose schema it is, and its comment.
const MARKER: &str = "redolab_marker";
const COMMENT: &str = "made by redolab, which drops this schema";
/// What the names of tables begin with.
const PREFIX: &str = "redolab_";
/// Number of the error that a schema exists.
const EXISTS: u16 = 1007;
/// Seconds until the server ends a connection that is idle: a run may be long.
const IDLE_S: u32 = 2_000_000;
/// How long the lock of another run on the schema is awaited, in seconds: the server notices a
/// while later that a connection has ended.
pub(crate) const LOCK_S: u32 = 3;

/// What was found under the schema's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// One that redolab made and could not remove.
    Own,
    /// One that is in use by this target.
    Made,
}

/// A schema, and the connection that makes and removes it.
#[derive(Debug)]
pub struct Schema {
    connection: ServerConnection,
    name: String,
    found: Found,
    tables: u32,
    /// Tables that nobody uses any more.
    retired: Vec<String>,
}

impl Schema {
    /// Reserves the name of a schema. Nothing is changed yet.
    ///
    /// # Errors
    /// A schema of that name that redolab did not make, or that another redolab uses.
    pub fn reserve(mut connection: ServerConnection, name: String) -> Result<Schema, MariadbError> {
        keep_idle(&mut connection)?;
        // A run that has just ended may still have it: the server notices that later.
        let lock = connection.query(&format!("SELECT GET_LOCK('{name}', {LOCK_S})"))?;
        if first(lock).as_deref() != Some("1") {
            return Err(MariadbError::Unusable(format!(
                "another redolab uses the schema {name} on this server: wait for its end, or write \
                 another database into the address, from which the name of the schema is made"
            )));
        }
        let mut schema = Schema {
            connection,
            name,
            found: Found::Nothing,
            tables: 0,
            retired: Vec::new(),
        };
        schema.found = schema.look()?;
        Ok(schema)
    }

    /// Makes a table for rows of at most that many bytes, and first the schema where it is not
    /// made yet. Its name, with that of the schema.
    ///
    /// # Errors
    /// A missing privilege, or others of the server.
    pub fn make_table(&mut self, row_bytes: u32) -> Result<String, MariadbError> {
        self.make()?;
        self.drop_retired()?;
        self.tables += 1;
        let table = format!("`{}`.`{PREFIX}{}`", self.name, self.tables);
        self.change(&format!(
            "CREATE TABLE {table} (r VARBINARY({row_bytes}) NOT NULL) \
             ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
        ))?;
        Ok(table)
    }

    /// Has a table removed with the next one that is made.
    pub fn retire(&mut self, table: String) {
        self.retired.push(table);
    }

    /// Removes the schema, if it was made.
    ///
    /// # Errors
    /// It stays, and why.
    pub fn remove(&mut self) -> Result<(), MariadbError> {
        if self.found != Found::Made {
            return Ok(());
        }
        self.refuse_foreign_tables()?;
        self.change(&format!("DROP DATABASE `{}`", self.name))?;
        self.found = Found::Nothing;
        Ok(())
    }

    /// What is there under its name.
    fn look(&mut self) -> Result<Found, MariadbError> {
        let name = &self.name;
        let schemas = self.connection.query(&format!(
            "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'"
        ))?;
        if first(schemas).as_deref() == Some("0") {
            return Ok(Found::Nothing);
        }
        let markers = self.connection.query(&format!(
            "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{name}' \
             AND TABLE_NAME = '{MARKER}' AND TABLE_COMMENT = '{COMMENT}'"
        ))?;
        if first(markers).as_deref() != Some("1") {
            return Err(self.foreign());
        }
        self.refuse_foreign_tables()?;
        Ok(Found::Own)
    }

    /// Makes the schema, in place of one that was left.
    fn make(&mut self) -> Result<(), MariadbError> {
        let name = self.name.clone();
        match self.found {
            Found::Made => return Ok(()),
            Found::Own => {
                self.refuse_foreign_tables()?;
                self.change(&format!("DROP DATABASE `{name}`"))?;
                self.found = Found::Nothing;
            }
            // What cannot be removed later must not be made: this statement needs the privilege.
            Found::Nothing => {
                let probe = self
                    .connection
                    .run(&format!("DROP TABLE IF EXISTS `{name}`.`{MARKER}`"));
                probe.map_err(|error| error.in_schema(&name))?;
            }
        }
        let made = self.connection.run(&format!("CREATE DATABASE `{name}`"));
        if let Err(error) = made {
            return Err(match error.number() {
                Some(EXISTS) => self.foreign(),
                _ => error.in_schema(&name),
            });
        }
        let outcome = self.mark();
        if outcome.is_err() {
            // It was made just now, and the marker's failure is what is reported.
            let _ = self.connection.run(&format!("DROP DATABASE `{name}`"));
            return outcome;
        }
        self.found = Found::Made;
        Ok(())
    }

    /// Makes the marker, with a row, which shows that rows can be inserted.
    fn mark(&mut self) -> Result<(), MariadbError> {
        let table = format!("`{}`.`{MARKER}`", self.name);
        self.change(&format!(
            "CREATE TABLE {table} (r VARBINARY(16) NOT NULL) ENGINE=InnoDB COMMENT='{COMMENT}'"
        ))?;
        self.change(&format!("INSERT INTO {table} VALUES ('redolab')"))
    }

    fn drop_retired(&mut self) -> Result<(), MariadbError> {
        while let Some(table) = self.retired.pop() {
            self.change(&format!("DROP TABLE {table}"))?;
        }
        Ok(())
    }

    /// Runs a statement; a warning is an error, because a table may then be another than that
    /// which was asked for.
    fn change(&mut self, sql: &str) -> Result<(), MariadbError> {
        let done = self.connection.run(sql);
        let done = done.map_err(|error| error.in_schema(&self.name))?;
        if done.warnings == 0 {
            return Ok(());
        }
        let rows = self.connection.query("SHOW WARNINGS")?;
        let text = rows.into_iter().flatten().flatten().next_back();
        Err(MariadbError::Unusable(format!(
            "the server warns about a statement in the schema {}: {}; check that it has InnoDB, and \
             its sql_mode",
            self.name,
            text.unwrap_or_default()
        )))
    }

    fn refuse_foreign_tables(&mut self) -> Result<(), MariadbError> {
        let rows = self.connection.query(&format!(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{}' \
             AND TABLE_NAME NOT LIKE 'redolab\\_%' LIMIT 1",
            self.name
        ))?;
        match first(rows) {
            None => Ok(()),
            Some(table) => Err(MariadbError::Unusable(format!(
                "the schema {} of redolab contains {table}, which redolab did not make: move it to \
                 another schema; until then redolab neither uses nor drops the schema",
                self.name
            ))),
        }
    }

    fn foreign(&self) -> MariadbError {
        MariadbError::Unusable(format!(
            "a schema {} exists that redolab did not make (it has no table {MARKER} with redolab's \
             comment): drop it, or write another database into the address, from which the name of \
             the schema is made",
            self.name
        ))
    }
}

/// Has the server keep a connection on which nothing happens.
///
/// # Errors
/// Of the server, or of the connection.
pub fn keep_idle(connection: &mut ServerConnection) -> Result<(), MariadbError> {
    connection.run(&format!("SET SESSION wait_timeout = {IDLE_S}"))?;
    Ok(())
}

/// The first value of a result.
fn first(rows: Vec<Vec<Option<String>>>) -> Option<String> {
    rows.into_iter().flatten().next().flatten()
}
