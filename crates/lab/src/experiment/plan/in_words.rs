//! Choices of a plan in the words of the command line, so that a plan reads as it was asked for.

use device::{IoEngine, StripeWidth, SyncMethod};
use redo::{LogFileSync, LogWriter, Triggers};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serializer};

/// The word for a sync method that is left to the experiment.
const AUTO: &str = "auto";

/// A module for `#[serde(with)]` that writes a value as a word and reads it from one.
macro_rules! in_words {
    ($name:ident, $type:ty, $word:expr, $read:expr) => {
        pub(super) mod $name {
            use super::*;

            pub(in super::super) fn serialize<S: Serializer>(
                value: &$type,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                let word: fn(&$type) -> String = $word;
                to.serialize_str(&word(value))
            }

            pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$type, D::Error> {
                let text = String::deserialize(from)?;
                let read: fn(&str) -> Result<$type, String> = $read;
                read(&text).map_err(D::Error::custom)
            }
        }
    };
}

in_words!(
    sync_method,
    Option<SyncMethod>,
    |method| method.map_or(AUTO, SyncMethod::name).to_owned(),
    |text| match text {
        AUTO => Ok(None),
        name => name.parse().map(Some).map_err(|e| format!("{e}, or auto")),
    }
);
in_words!(log_writer, LogWriter, |w| w.to_string(), |t| t.parse());
in_words!(
    log_file_sync,
    LogFileSync,
    |mode| mode.name().to_owned(),
    |text| text.parse()
);
in_words!(triggers, Triggers, |t| t.to_string(), |t| t.parse());
in_words!(stripe_width, StripeWidth, |w| w.to_string(), |t| t.parse());
in_words!(io, IoEngine, |io| io.name().to_owned(), |t| t.parse());

/// The shape of a log, field by field.
pub(super) mod shape {
    use redo::Shape;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct ShapeFields {
        block_bytes: Option<u32>,
        groups: u32,
        file_bytes: u64,
    }

    pub(in super::super) fn serialize<S: Serializer>(
        shape: &Shape,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let fields = ShapeFields {
            block_bytes: shape.block_bytes,
            groups: shape.groups,
            file_bytes: shape.file_bytes,
        };
        fields.serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Shape, D::Error> {
        let fields = ShapeFields::deserialize(deserializer)?;
        Ok(Shape::new()
            .block_bytes(fields.block_bytes)
            .groups(fields.groups)
            .file_bytes(fields.file_bytes))
    }
}
