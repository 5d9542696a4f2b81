//! Small tables as Parquet: columns of text, integers and reals, in one row group.

use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::basic::{TimeUnit, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// The values of a column; `None` is null.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Text(Vec<Option<String>>),
    Count(Vec<Option<u64>>),
    Real(Vec<Option<f64>>),
    /// Microseconds since 1970 UTC.
    Utc(Vec<Option<i64>>),
}

impl Values {
    fn kind(&self) -> (Physical, Option<LogicalType>, ConvertedType) {
        match self {
            Values::Text(_) => (
                Physical::BYTE_ARRAY,
                Some(LogicalType::String),
                ConvertedType::UTF8,
            ),
            Values::Count(_) => (Physical::INT64, None, ConvertedType::NONE),
            Values::Real(_) => (Physical::DOUBLE, None, ConvertedType::NONE),
            Values::Utc(_) => (
                Physical::INT64,
                Some(LogicalType::timestamp(true, TimeUnit::MICROS)),
                ConvertedType::TIMESTAMP_MICROS,
            ),
        }
    }
}

/// The bytes of a Parquet file with these columns, all of the same length.
pub(super) fn encode(columns: &[(&str, Values)]) -> Result<Vec<u8>, ParquetError> {
    let field = |(name, values): &(&str, Values)| {
        let (physical, logical, converted) = values.kind();
        let field = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .with_converted_type(converted);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    let schema = Arc::new(
        Type::group_type_builder("row")
            .with_fields(fields)
            .build()?,
    );
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_created_by(format!("redolab {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for (_, values) in columns {
        let Some(mut out) = group.next_column()? else {
            return Err(ParquetError::General("a column is missing".to_owned()));
        };
        match values {
            Values::Text(values) => put::<ByteArrayType, _>(&mut out, values, |text| {
                ByteArray::from(text.as_bytes().to_vec())
            })?,
            Values::Count(values) => put::<Int64Type, _>(&mut out, values, |count| {
                i64::try_from(*count).unwrap_or(i64::MAX)
            })?,
            Values::Real(values) => put::<DoubleType, _>(&mut out, values, |real| *real)?,
            Values::Utc(values) => put::<Int64Type, _>(&mut out, values, |us| *us)?,
        }
        out.close()?;
    }
    group.close()?;
    file.into_inner()
}

fn put<T: DataType, V>(
    out: &mut SerializedColumnWriter<'_>,
    values: &[Option<V>],
    convert: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let levels: Vec<i16> = values.iter().map(|v| i16::from(v.is_some())).collect();
    let present: Vec<T::T> = values.iter().flatten().map(convert).collect();
    out.typed::<T>()
        .write_batch(&present, Some(&levels), None)?;
    Ok(())
}
