//! COPY from the client: rows as text, sent while the server stores them.
//!
//! Invariant: a copy that was not finished leaves no row.

use crate::postgres::connection::Connection;
use crate::postgres::error::{PostgresError, ServerMessage};
use postgres_protocol::message::{backend, frontend};

/// Bytes of a message with rows.
const MESSAGE_BYTES: usize = 128 << 10;

/// A copy that is under way.
pub struct CopyIn<'a> {
    connection: &'a mut Connection,
}

impl CopyIn<'_> {
    /// Begins a copy with the statement `sql`.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn begin<'a>(
        connection: &'a mut Connection,
        sql: &str,
    ) -> Result<CopyIn<'a>, PostgresError> {
        let wire = &mut connection.wire;
        wire.begin();
        frontend::query(sql, &mut wire.outbox)?;
        wire.send()?;
        loop {
            let frame = wire.frame()?;
            match frame.tag {
                backend::COPY_IN_RESPONSE_TAG => return Ok(CopyIn { connection }),
                backend::ERROR_RESPONSE_TAG => {
                    return Err(PostgresError::Server(ServerMessage::of(frame.body)));
                }
                backend::PARAMETER_STATUS_TAG | backend::NOTICE_RESPONSE_TAG => {}
                _ => return Err(PostgresError::Protocol("an answer does not fit a copy")),
            }
        }
    }

    /// Sends whole rows.
    ///
    /// # Errors
    /// The server is gone, or accepts nothing.
    pub fn send(&mut self, rows: &[u8]) -> Result<(), PostgresError> {
        let wire = &mut self.connection.wire;
        for piece in rows.chunks(MESSAGE_BYTES) {
            wire.begin();
            frontend::CopyData::new(piece)?.write(&mut wire.outbox);
            wire.send()?;
        }
        Ok(())
    }

    /// Ends the copy, which commits it.
    ///
    /// # Errors
    /// Of the server, or of the connection.
    pub fn finish(self) -> Result<(), PostgresError> {
        let wire = &mut self.connection.wire;
        wire.begin();
        frontend::copy_done(&mut wire.outbox);
        wire.send()?;
        let (mut is_complete, mut failure) = (false, None);
        loop {
            let frame = wire.frame()?;
            match frame.tag {
                backend::COMMAND_COMPLETE_TAG => is_complete = true,
                backend::ERROR_RESPONSE_TAG => failure = Some(ServerMessage::of(frame.body)),
                backend::PARAMETER_STATUS_TAG | backend::NOTICE_RESPONSE_TAG => {}
                backend::READY_FOR_QUERY_TAG => break,
                _ => return Err(PostgresError::Protocol("an answer does not fit a copy")),
            }
        }
        match failure {
            Some(message) => Err(PostgresError::Server(message)),
            None if is_complete => Ok(()),
            None => Err(PostgresError::Protocol("a copy has no end")),
        }
    }
}
