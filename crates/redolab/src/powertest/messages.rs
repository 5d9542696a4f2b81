//! What writer, reader and server send each other.
//!
//! Invariants: a message is at most [`BODY_MAX`] bytes; acknowledgements are entries of fixed size,
//! everything else is JSON, each behind a byte that distinguishes them. No text of a message is
//! shown raw.

use super::channel::BODY_MAX;
use measure::power_test::{
    MachineState, PowerCycle, PowerTestSeries, StackFingerprint, SwitchRecord, WriteFailure,
};
use measure::stack::Stack;
use serde::{Deserialize, Serialize};

/// Bytes of an acknowledgement.
pub const ACK_BYTES: usize = 48;
/// Acknowledgements in a message, at most.
pub const ACKS_MAX: usize = (BODY_MAX - 16) / ACK_BYTES;
const JSON: u8 = b'J';
const ACKS: u8 = b'A';

/// An acknowledged write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerAck {
    /// The stream that it belongs to: 0 for a log, the number of the file for raw writes. A stream
    /// reaches its medium in the order of its positions.
    pub stream: u32,
    /// The session that wrote it, from 0.
    pub session: u32,
    /// Its number within the session, from 0.
    pub sequence: u64,
    /// Where it is: the block of the log's stream; of raw writes their number in the file.
    pub at: u64,
    /// Byte within the payload of the block.
    pub offset: u32,
    /// Bytes that were written.
    pub length: u32,
    /// CRC-64 of these bytes.
    pub hash: u64,
    /// Acknowledgements that the writer had before this write was begun: whatever they acknowledge
    /// was durable then.
    pub after: u64,
}

impl PowerAck {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; ACK_BYTES] {
        let mut out = [0; ACK_BYTES];
        out[0..4].copy_from_slice(&self.stream.to_le_bytes());
        out[4..8].copy_from_slice(&self.session.to_le_bytes());
        out[8..16].copy_from_slice(&self.sequence.to_le_bytes());
        out[16..24].copy_from_slice(&self.at.to_le_bytes());
        out[24..28].copy_from_slice(&self.offset.to_le_bytes());
        out[28..32].copy_from_slice(&self.length.to_le_bytes());
        out[32..40].copy_from_slice(&self.hash.to_le_bytes());
        out[40..48].copy_from_slice(&self.after.to_le_bytes());
        out
    }

    /// The acknowledgement that these bytes are.
    #[must_use]
    pub fn decode(bytes: &[u8; ACK_BYTES]) -> PowerAck {
        let u32_at = |at: usize| {
            let part = bytes[at..at + 4].first_chunk().copied();
            u32::from_le_bytes(part.expect("four bytes were taken"))
        };
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        PowerAck {
            stream: u32_at(0),
            session: u32_at(4),
            sequence: u64_at(8),
            at: u64_at(16),
            offset: u32_at(24),
            length: u32_at(28),
            hash: u64_at(32),
            after: u64_at(40),
        }
    }
}

/// Readings of a machine's clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// Since the machine was started, suspended time included, nanoseconds.
    pub boot_ns: u64,
    /// Since 1970, as the machine believes, nanoseconds.
    pub wall_ns: u64,
}

/// A new test, before anything is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewTest {
    /// 32 hexadecimal digits.
    pub test_id: String,
    /// When it begins, by the machine's wall clock (RFC 3339, UTC).
    pub opened: String,
    /// Identity of the machine's installation.
    pub machine_id: String,
    /// Identity of the machine's start.
    pub boot_id: String,
    /// Its clocks.
    pub clock: ClockReading,
    /// The directory that is written to.
    pub path: String,
    /// Where the file system of that directory is mounted.
    pub mount_point: String,
    /// `redo log` or `raw writes`.
    pub mode: String,
    /// Sessions that write.
    pub jobs: u32,
    /// Bytes of each record; 0 for raw writes.
    pub payload_bytes: u32,
    /// How writes are made durable.
    pub sync_method: String,
    /// What the result holds for.
    pub fingerprint: StackFingerprint,
    /// Everything that is known about the stack; `None` where it is too long for a message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// An earlier test of this path that was not verified is given up.
    #[serde(default)]
    pub abandon: bool,
}

/// What is written to, once it was made: before the first acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestedFiles {
    /// The embedded log.
    Log(TestedLog),
    /// Files of raw writes.
    Raw(Vec<RawFileShape>),
}

/// A log: everything that its blocks are found and recognised by, without its own files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestedLog {
    /// Identity of the log, 32 hexadecimal digits.
    pub log_id: String,
    /// Identity of its life, 32 hexadecimal digits.
    pub life_id: String,
    /// Redo block size in bytes.
    pub block_bytes: u32,
    /// Blocks of a unit that writes are sealed to.
    pub seal_blocks: u32,
    /// Log groups.
    pub groups: u32,
    /// Blocks of each group.
    pub blocks_per_group: u64,
    /// Bytes before the first block of a file.
    pub header_bytes: u64,
    /// Bytes of each file.
    pub file_bytes: u64,
}

/// A file of raw writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawFileShape {
    /// Its name.
    pub name: String,
    /// Bytes of each write.
    pub write_bytes: u32,
    /// Writes that it holds: write n lies at n modulo this.
    pub slots: u64,
}

/// What happened to a test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestNote {
    /// The writer ended by itself, and why.
    Ended(String),
    /// Writing failed, with no error of a device.
    Failed(String),
    /// The wall clock jumped by so many nanoseconds.
    ClockJumped(i64),
    /// The machine and its disks, before anything was written.
    Began(MachineState),
    /// Writing failed, as it does when a device loses its power or its file system is shut down.
    DeviceFailed(WriteFailure),
    /// The server's switch cut the power.
    Switched(SwitchRecord),
    /// The writer's machine closed the connection in order, and the writer had not noted an end.
    Closed,
}

/// What writer and server recorded of how a test ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRecord {
    /// The machine before anything was written; `None` where an earlier version began the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began: Option<MachineState>,
    /// How the device failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<WriteFailure>,
    /// The switch of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switched: Option<SwitchRecord>,
    /// The writer's machine closed the connection in order.
    #[serde(default)]
    pub closed: bool,
}

/// What is asked of the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerRequest {
    /// Begin a test on this connection.
    Open(Box<NewTest>),
    /// What is written to.
    Files(TestedFiles),
    /// Nobody asks any more for what lies before this position.
    Release {
        /// The stream.
        stream: u32,
        /// The position.
        at: u64,
        /// Byte within it.
        offset: u32,
    },
    /// Something happened.
    Note(TestNote),
    /// The writer is there.
    Ping,
    /// Tests of a path that were not judged.
    List {
        /// Identity of the machine's installation.
        machine_id: String,
        /// The path.
        path: String,
    },
    /// Acknowledgements of a test.
    Fetch {
        /// The test.
        test_id: String,
        /// The number of the first, from 0.
        from: u64,
    },
    /// A test was judged.
    Judged(Box<PowerCycle>),
    /// A test is given up.
    Abandon {
        /// The test.
        test_id: String,
    },
}

/// A test that was not judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenTest {
    /// How it began.
    pub new: NewTest,
    /// What was written to; `None` where it was cut before.
    pub files: Option<TestedFiles>,
    /// Acknowledgements that were kept.
    pub acknowledged: u64,
    /// Those of them that were not released.
    pub demanded: u64,
    /// The writer is connected.
    pub is_live: bool,
    /// Why the writer ended by itself; `None` where it did not say so.
    pub ended: Option<String>,
    /// How writing failed; `None` where the writer did not say so.
    pub failed: Option<String>,
    /// Jumps of the wall clock, nanoseconds.
    pub clock_jumps: Vec<i64>,
    /// What was recorded of how it ended.
    #[serde(default)]
    pub record: TestRecord,
}

/// The server's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerResponse {
    /// It is done, and durable.
    Done,
    /// So many acknowledgements of the test are durable.
    Kept(u64),
    /// Tests that were not judged, and identities of earlier tests of the path.
    Tests {
        /// The tests.
        open: Vec<OpenTest>,
        /// Earlier ones that were judged or given up, the newest first.
        earlier: Vec<String>,
    },
    /// What all cuts of this stack show.
    Totals(Option<Box<PowerTestSeries>>),
    /// It was refused, and why.
    Refused(String),
}

/// Bytes of a message, or the acknowledgements in it.
pub enum Message<T> {
    /// Acknowledgements.
    Acks(Vec<PowerAck>),
    /// Anything else.
    Json(T),
}

/// A message in JSON; `None` where it is too long.
#[must_use]
pub fn encode<T: Serialize>(message: &T) -> Option<Vec<u8>> {
    let mut out = vec![JSON];
    serde_json::to_writer(&mut out, message).ok()?;
    (out.len() <= BODY_MAX).then_some(out)
}

/// A message of acknowledgements, at most [`ACKS_MAX`].
///
/// # Panics
/// When there are more.
#[must_use]
pub fn encode_acks(acks: &[PowerAck]) -> Vec<u8> {
    assert!(acks.len() <= ACKS_MAX, "the caller divides them");
    let mut out = Vec::with_capacity(1 + acks.len() * ACK_BYTES);
    out.push(ACKS);
    acks.iter()
        .for_each(|ack| out.extend_from_slice(&ack.encode()));
    out
}

/// The acknowledgements behind each other in `bytes`; `None` where a part of one is left.
#[must_use]
pub fn decode_acks(bytes: &[u8]) -> Option<Vec<PowerAck>> {
    let (whole, rest) = bytes.as_chunks::<ACK_BYTES>();
    rest.is_empty()
        .then(|| whole.iter().map(PowerAck::decode).collect())
}

/// Decodes a message; the error says what is wrong with it.
///
/// # Errors
/// Bytes that are no message of this version.
pub fn decode<T: for<'a> Deserialize<'a>>(body: &[u8]) -> Result<Message<T>, String> {
    match body.split_first() {
        Some((&ACKS, rest)) => {
            let acks = decode_acks(rest).ok_or("a part of an acknowledgement is missing")?;
            Ok(Message::Acks(acks))
        }
        Some((&JSON, rest)) => {
            let json = serde_json::from_slice(rest).map_err(|e| e.to_string())?;
            Ok(Message::Json(json))
        }
        _ => Err("it is of an unknown kind".to_owned()),
    }
}
