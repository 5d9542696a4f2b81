//! One part of the events: rows of events into the bytes of a Parquet file.
//!
//! Invariants: the figures are as they were recorded, nothing is rounded; a figure that an event
//! does not have is null. Encodings are chosen for little processor time, since the part is made
//! while others are measured: integers as differences, constants by dictionary, zstd at level 1.

use super::{EventColumn, EventKind, SyncEvent, WriteEvent};
use parquet::basic::{
    Compression, ConvertedType, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical,
    ZstdLevel,
};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use std::sync::Arc;

/// Values that are handed to the encoder at once.
const BATCH: usize = 4096;

/// What all events of a part have in common.
#[derive(Clone, Debug)]
pub(super) struct Common<'a> {
    pub(super) row: u32,
    pub(super) workload: &'a str,
    pub(super) jobs: u32,
    /// UTC nanoseconds since 1970 at the zero of the log's clock.
    pub(super) utc_at_zero_ns: i64,
}

/// An event that can be written.
pub(super) trait Event {
    const KIND: EventKind;
    /// When it began, on the log's clock.
    fn start_ns(&self) -> u64;
    /// Its figure in a column of its own; `None` where it has none.
    fn figure(&self, column: EventColumn) -> Option<u64>;
}

impl Event for SyncEvent {
    const KIND: EventKind = EventKind::LogFileSync;

    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    #[inline]
    fn figure(&self, column: EventColumn) -> Option<u64> {
        let part = |index: usize| self.parts_ns.map(|parts| parts[index]);
        match column {
            EventColumn::LatencyNs => Some(self.latency_ns),
            EventColumn::QueueNs => part(0),
            EventColumn::WriteNs => part(1),
            EventColumn::FlushNs => part(2),
            EventColumn::WakeNs => part(3),
            EventColumn::TransactionNs => Some(self.transaction_ns),
            EventColumn::Batch => self.batch,
            EventColumn::Session => Some(u64::from(self.session)),
            _ => None,
        }
    }
}

impl Event for WriteEvent {
    const KIND: EventKind = EventKind::LogFileParallelWrite;

    fn start_ns(&self) -> u64 {
        self.start_ns
    }

    #[inline]
    fn figure(&self, column: EventColumn) -> Option<u64> {
        match column {
            EventColumn::LatencyNs => Some(self.write_ns + self.flush_ns),
            EventColumn::WriteNs => Some(self.write_ns),
            EventColumn::FlushNs => Some(self.flush_ns),
            EventColumn::Batch => Some(self.batch),
            EventColumn::Commits => Some(u64::from(self.commits)),
            EventColumn::RedoBytes => Some(u64::from(self.redo_bytes)),
            EventColumn::Blocks => Some(u64::from(self.blocks)),
            EventColumn::Writes => Some(u64::from(self.writes)),
            EventColumn::Flushes => Some(u64::from(self.flushes)),
            EventColumn::LogSeq => Some(self.log_seq),
            EventColumn::LogSwitch => Some(u64::from(self.log_switch)),
            EventColumn::CheckpointWaitNs => Some(self.checkpoint_wait_ns),
            EventColumn::GroupWaitNs => Some(self.group_wait_ns),
            EventColumn::Worker => self.worker.map(u64::from),
            _ => None,
        }
    }
}

/// The columns as Parquet has them.
pub(super) fn schema() -> TypePtr {
    let field = |column: &EventColumn| {
        let text = matches!(column, EventColumn::Event | EventColumn::Workload);
        let (physical, logical) = match column {
            _ if text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            EventColumn::StartUtcUs => (Physical::INT64, Some(timestamp())),
            _ => (Physical::INT64, None),
        };
        let repetition = if column.is_required() {
            Repetition::REQUIRED
        } else {
            Repetition::OPTIONAL
        };
        let field = Type::primitive_type_builder(column.name(), physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_converted_type(match column {
                _ if text => ConvertedType::UTF8,
                EventColumn::StartUtcUs => ConvertedType::TIMESTAMP_MICROS,
                _ => ConvertedType::NONE,
            });
        Arc::new(field.build().expect("the logical types suit the physical"))
    };
    let fields = EventColumn::ALL.iter().map(field).collect();
    let group = Type::group_type_builder("event").with_fields(fields);
    Arc::new(group.build().expect("a group of fields is a schema"))
}

fn timestamp() -> LogicalType {
    LogicalType::timestamp(true, TimeUnit::MICROS)
}

/// How the columns are encoded.
pub(super) fn properties() -> WriterProperties {
    let level = ZstdLevel::try_new(1).expect("zstd has a level 1");
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::DELTA_BINARY_PACKED)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_max_row_group_row_count(None)
        .set_write_batch_size(BATCH)
        .set_created_by(format!("redolab {}", env!("CARGO_PKG_VERSION")));
    for column in [EventColumn::Event, EventColumn::Workload] {
        let path = ColumnPath::from(column.name());
        properties = properties
            .set_column_dictionary_enabled(path.clone(), true)
            .set_column_encoding(path, Encoding::PLAIN);
    }
    properties.build()
}

/// The bytes of a part that holds `events`.
pub(super) fn encode<E: Event>(events: &[E], common: &Common<'_>) -> Result<Vec<u8>, ParquetError> {
    let bytes = Vec::with_capacity(events.len() * 16 + (8 << 10));
    let mut file = SerializedFileWriter::new(bytes, schema(), Arc::new(properties()))?;
    let mut group = file.next_row_group()?;
    for column in EventColumn::ALL {
        let Some(mut out) = group.next_column()? else {
            return Err(ParquetError::General("a column is missing".to_owned()));
        };
        match column {
            EventColumn::Event => text(&mut out, E::KIND.name(), events.len())?,
            EventColumn::Workload => text(&mut out, common.workload, events.len())?,
            _ if column.is_required() => required(&mut out, column, events, common)?,
            _ => optional(&mut out, column, events)?,
        }
        out.close()?;
    }
    group.close()?;
    file.into_inner()
}

fn text(
    out: &mut SerializedColumnWriter<'_>,
    text: &str,
    mut count: usize,
) -> Result<(), ParquetError> {
    let same = vec![ByteArray::from(text.as_bytes().to_vec()); count.min(BATCH)];
    while count > 0 {
        let some = same.len().min(count);
        let writer = out.typed::<ByteArrayType>();
        writer.write_batch(same.get(..some).unwrap_or_default(), None, None)?;
        count -= some;
    }
    Ok(())
}

fn required<E: Event>(
    out: &mut SerializedColumnWriter<'_>,
    column: EventColumn,
    events: &[E],
    common: &Common<'_>,
) -> Result<(), ParquetError> {
    let mut values = Vec::with_capacity(BATCH);
    let utc = |event: &E| common.utc_at_zero_ns + event.start_ns() as i64;
    for some in events.chunks(BATCH) {
        values.clear();
        match column {
            EventColumn::Row => values.resize(some.len(), i64::from(common.row)),
            EventColumn::Jobs => values.resize(some.len(), i64::from(common.jobs)),
            EventColumn::StartUtcUs => values.extend(some.iter().map(|e| utc(e).div_euclid(1000))),
            EventColumn::StartExtraNs => {
                values.extend(some.iter().map(|e| utc(e).rem_euclid(1000)))
            }
            _ => values.extend(some.iter().map(|e| signed(e.figure(column).unwrap_or(0)))),
        }
        out.typed::<Int64Type>().write_batch(&values, None, None)?;
    }
    Ok(())
}

fn optional<E: Event>(
    out: &mut SerializedColumnWriter<'_>,
    column: EventColumn,
    events: &[E],
) -> Result<(), ParquetError> {
    let (mut values, mut levels) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    for some in events.chunks(BATCH) {
        values.clear();
        levels.clear();
        for figure in some.iter().map(|event| event.figure(column)) {
            levels.push(i16::from(figure.is_some()));
            values.extend(figure.map(signed));
        }
        out.typed::<Int64Type>()
            .write_batch(&values, Some(&levels), None)?;
    }
    Ok(())
}

/// Nanoseconds and numbers of batches stay below 2^63 for centuries.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
