//! The one statement of a session: INSERT of a fixed number of rows of a fixed size, which commits
//! by itself.
//!
//! Invariants: a transaction is one round trip; a commit that changed another number of rows, left
//! a transaction open or came with a warning is an error.

use super::connection::{AUTOCOMMIT, IN_TRANSACTION, ServerConnection};
use super::error::MariadbError;
use super::fields::put_length;
use super::packet::SENT_MAX;
use measure::workload::{Generator, STAMP_BYTES};
use measure::{Clock, Nanos, RealClock};

const COMMAND_EXECUTE: u8 = 0x17;
/// The type of a binary value.
const BLOB: [u8; 2] = [0xfc, 0];
/// The largest row: larger values than about half a page of 16 KiB are stored elsewhere.
const ROW_MAX: u32 = 7_900;
/// Bytes of half a page that a row cannot use.
const PAGE_OVERHEAD: u32 = 292;
/// Bytes of a packet for each row beside its value, with a large margin.
const ROW_OVERHEAD: u64 = 32;

/// The rows of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// How many.
    pub rows: u16,
    /// Bytes of the value of each.
    pub row_bytes: u32,
}

impl RowLayout {
    /// The fewest rows, all of one size, that hold at least `payload` bytes; `None` where these
    /// are more than a statement can have.
    #[must_use]
    pub fn of(payload: u64, row_max: u32) -> Option<RowLayout> {
        let payload = payload.max(STAMP_BYTES as u64);
        let rows = payload.div_ceil(u64::from(row_max));
        let row_bytes = payload.div_ceil(rows).max(STAMP_BYTES as u64);
        Some(RowLayout {
            rows: u16::try_from(rows).ok()?,
            row_bytes: u32::try_from(row_bytes).ok()?,
        })
    }

    /// Bytes of all its values.
    #[must_use]
    pub fn payload(self) -> u64 {
        u64::from(self.rows) * u64::from(self.row_bytes)
    }

    /// More than the bytes of its packet.
    fn packet(self) -> u64 {
        self.payload() + u64::from(self.rows) * ROW_OVERHEAD + ROW_OVERHEAD
    }

    /// Whether a server accepts a transaction of `payload` bytes as one packet.
    #[must_use]
    pub fn fits(payload: u64, row_max: u32, packet_bytes: u64) -> bool {
        let most = packet_bytes.min(SENT_MAX as u64);
        RowLayout::of(payload, row_max).is_some_and(|layout| layout.packet() <= most)
    }
}

/// The largest row of a table with pages of that size.
#[must_use]
pub fn row_max(page_bytes: u32) -> u32 {
    let half = (page_bytes / 2).saturating_sub(PAGE_OVERHEAD);
    half.clamp(STAMP_BYTES as u32, ROW_MAX)
}

/// A prepared INSERT.
#[derive(Debug)]
pub struct Insert {
    connection: ServerConnection,
    statement: u32,
    layout: RowLayout,
}

impl Insert {
    /// Prepares the statement on a connection of its own.
    ///
    /// # Errors
    /// The server refuses.
    pub fn prepare(
        mut connection: ServerConnection,
        table: &str,
        layout: RowLayout,
    ) -> Result<Insert, MariadbError> {
        connection.run("SET SESSION autocommit = 1")?;
        let places = vec!["(?)"; usize::from(layout.rows)].join(",");
        let sql = format!("INSERT INTO {table} VALUES {places}");
        let statement = connection.prepare(&sql, layout.rows)?;
        Ok(Insert {
            connection,
            statement,
            layout,
        })
    }

    /// Its connection, between transactions.
    pub fn connection(&mut self) -> &mut ServerConnection {
        &mut self.connection
    }

    /// Writes the packet of the next transaction.
    ///
    /// # Panics
    /// The pool of the payload is smaller than a row.
    pub fn encode(&mut self, generator: &mut Generator) {
        let RowLayout { rows, row_bytes } = self.layout;
        generator.next_transaction();
        let body = self.connection.packets.body();
        body.push(COMMAND_EXECUTE);
        body.extend_from_slice(&self.statement.to_le_bytes());
        // No cursor, and one iteration.
        body.extend_from_slice(&[0, 1, 0, 0, 0]);
        // No value is NULL, and the types of all follow.
        body.resize(body.len() + usize::from(rows).div_ceil(8), 0);
        body.push(1);
        for _ in 0..rows {
            body.extend_from_slice(&BLOB);
        }
        for row in 0..rows {
            let (stamp, rest) = generator.record(u32::from(row), row_bytes);
            assert_eq!(
                stamp.len() + rest.len(),
                row_bytes as usize,
                "the pool is as large as a row"
            );
            put_length(body, row_bytes as usize);
            body.extend_from_slice(&stamp);
            body.extend_from_slice(rest);
        }
    }

    /// Sends it, and reads the answer, which the server sends after the commit. When it was sent,
    /// and when the answer was read.
    ///
    /// # Errors
    /// Of the server or of the connection; it did not commit what was asked for.
    #[inline]
    pub fn commit(&mut self, clock: RealClock) -> Result<(Nanos, Nanos), MariadbError> {
        self.connection.packets.begin();
        let requested = clock.now();
        self.connection.packets.send()?;
        let done = self.connection.completion()?;
        let returned = clock.now();
        let wrong = if done.rows != u64::from(self.layout.rows) {
            "the server inserted another number of rows"
        } else if done.status & IN_TRANSACTION != 0 || done.status & AUTOCOMMIT == 0 {
            "the server did not commit the statement by itself"
        } else if done.warnings != 0 {
            "the server warns about a commit"
        } else {
            return Ok((requested, returned));
        };
        Err(MariadbError::Commit(wrong.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_few_and_hold_the_payload() {
        for (payload, rows, row_bytes) in [
            (0, 1, 16),
            (1_750, 1, 1_750),
            (7_900, 1, 7_900),
            (7_901, 2, 3_951),
            (126_000, 16, 7_875),
        ] {
            let layout = RowLayout::of(payload, row_max(16 << 10)).expect("it fits");
            assert_eq!((layout.rows, layout.row_bytes), (rows, row_bytes));
            assert!(layout.payload() >= payload);
        }
        assert_eq!(RowLayout::of(u64::MAX / 2, 7_900), None);
        assert_eq!(row_max(4 << 10), 1_756);
        assert_eq!(row_max(64 << 10), 7_900);
        assert_eq!(row_max(0), 16);
    }

    #[test]
    fn a_packet_is_not_larger_than_the_server_accepts() {
        assert!(RowLayout::fits(126_976, 7_900, 1 << 20));
        assert!(!RowLayout::fits(1 << 20, 7_900, 1 << 20));
        assert!(!RowLayout::fits(1 << 24, 7_900, 1 << 30));
    }
}
