//! Devices in files: the table `[device]` of a model, and files that have nothing else.

use super::{File, ModelBasis, ModelError, Reader};
use crate::device_model::{DeviceModel, Field, Place};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Spanned, Value};

/// The values of `[device]`, by key.
pub(super) type DeviceTable = Spanned<BTreeMap<String, Spanned<Value>>>;
/// Where each of them comes from, in words.
pub(super) type Sources = BTreeMap<String, Spanned<String>>;

/// How a source begins.
const SOURCES: [&str; 5] = ["published", "standard", "fitted", "measured", "assumed"];

/// Files that come with redolab, by name.
pub(super) const SHIPPED: [(&str, &str); 8] = [
    ("hdd", include_str!("../../models/hdd.toml")),
    ("hdd-array", include_str!("../../models/hdd-array.toml")),
    ("sata", include_str!("../../models/sata.toml")),
    ("nvme", include_str!("../../models/nvme.toml")),
    ("pmem", include_str!("../../models/pmem.toml")),
    ("gp2-100", include_str!("../../models/gp2-100.toml")),
    ("gp3", include_str!("../../models/gp3.toml")),
    ("io2", include_str!("../../models/io2.toml")),
];

/// A device of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDevice {
    /// Its name.
    pub name: String,
    /// Where its values come from.
    pub basis: ModelBasis,
    /// Its values.
    pub device: DeviceModel,
}

impl ModelDevice {
    /// Reads a device, from a file of a device or of a model.
    ///
    /// # Errors
    /// What is wrong, with line, key and the range that is allowed.
    pub fn parse(text: &str, file: &Path) -> Result<ModelDevice, ModelError> {
        let from = Reader { text, file };
        let found = from.file()?;
        let needs = found.machine.is_none();
        from.named_device(found, needs)
    }

    /// A device that comes with redolab; `None` of an unknown name.
    #[must_use]
    pub fn shipped(name: &str) -> Option<ModelDevice> {
        let (name, text) = SHIPPED.iter().find(|(of, _)| *of == name)?;
        let device = ModelDevice::parse(text, Path::new(name));
        Some(device.expect("a test reads every shipped file"))
    }

    /// The names of the devices that come with redolab.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }
}

impl Reader<'_> {
    fn named_device(&self, found: File, has_sources: bool) -> Result<ModelDevice, ModelError> {
        Ok(ModelDevice {
            name: found.name,
            basis: self.basis(found.basis)?,
            device: self.device(&found.device, &found.sources, has_sources)?,
        })
    }

    /// The device; where `needs` is set, every value has a source.
    pub(super) fn device(
        &self,
        table: &DeviceTable,
        sources: &Sources,
        needs: bool,
    ) -> Result<DeviceModel, ModelError> {
        let (begins, values) = (table.span().start, table.get_ref());
        let Some(kind) = values.get("kind") else {
            return Err(self.refuse(begins, "missing field `kind`".to_owned()));
        };
        let named = kind.get_ref().as_str().unwrap_or_default();
        let kinds = DeviceModel::kinds();
        let names = kinds.each_ref().map(|(name, _)| *name).join(", ");
        let Some((_, mut device)) = kinds.into_iter().find(|(name, _)| *name == named) else {
            let what = format!("kind: unknown variant `{named}`: use {names}");
            return Err(self.refuse(kind.span().start, what));
        };
        let mut keys = vec!["kind"];
        for field in device.fields() {
            keys.push(field.key);
            match values.get(field.key) {
                Some(value) => self.value(field, value)?,
                None if field.needed => {
                    let what = format!("missing field `{}`", field.key);
                    return Err(self.refuse(begins, what));
                }
                None => {}
            }
        }
        if let Some((key, value)) = values.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            let what = format!("unknown field `{key}`, expected one of {}", keys.join(", "));
            return Err(self.refuse(value.span().start, what));
        }
        if let Some((key, what)) = device.contradiction() {
            let at = values.get(key).map_or(begins, |value| value.span().start);
            return Err(self.refuse(at, what));
        }
        self.sources(values, sources, needs)?;
        Ok(device)
    }

    fn value(&self, mut field: Field<'_>, value: &Spanned<Value>) -> Result<(), ModelError> {
        let (key, at, value) = (field.key, value.span().start, value.get_ref());
        let wrong = |what: &str| self.refuse(at, format!("{key}: use {what}"));
        let number = |value: &Value| {
            let whole = value.as_integer().map(|value| value as f64);
            let number = value.as_float().or(whole);
            self.within(
                key,
                at,
                number.ok_or_else(|| wrong("a number"))?,
                field.range,
            )
        };
        let values = match (&field.place, value) {
            (Place::List(_), Value::Array(list)) => {
                list.iter().map(number).collect::<Result<_, _>>()?
            }
            (Place::List(_), _) => return Err(wrong("numbers in brackets")),
            (Place::Count(_), Value::Float(_)) => return Err(wrong("a whole number")),
            _ => vec![number(value)?],
        };
        field.set(values);
        Ok(())
    }

    /// Sources are of values that are there, and begin with what they are.
    fn sources(
        &self,
        values: &BTreeMap<String, Spanned<Value>>,
        sources: &Sources,
        needs: bool,
    ) -> Result<(), ModelError> {
        for (key, source) in sources {
            let at = source.span().start;
            if !values.contains_key(key) {
                return Err(self.refuse(at, format!("{key}: [device] has no such value")));
            }
            let begins = source.get_ref().split_once(": ");
            if !begins.is_some_and(|(kind, _)| SOURCES.contains(&kind)) {
                let what = format!(
                    "{key}: begin with one of {}, and a colon",
                    SOURCES.join(", ")
                );
                return Err(self.refuse(at, what));
            }
        }
        let mut all = values.iter().filter(|(key, _)| *key != "kind");
        match all.find(|(key, _)| needs && !sources.contains_key(*key)) {
            Some((key, value)) => {
                let what = format!("{key} has no source: give one in [sources]");
                Err(self.refuse(value.span().start, what))
            }
            None => Ok(()),
        }
    }
}
