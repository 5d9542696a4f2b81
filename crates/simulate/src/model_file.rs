//! Files of models: a machine and a device as TOML, with the source of their values.
//!
//! Every value has a unit in its name and a range; what is missing, unknown or out of its range is
//! refused with file, line and key. Untrusted text.

mod device_file;

use crate::device_model::{DeviceModel, MOST_US, Place};
use crate::setup::Costs;
pub use device_file::ModelDevice;
use device_file::{DeviceTable, Sources};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// What a file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// Where its values come from.
    pub basis: ModelBasis,
    /// Processors of the machine.
    pub processors: u32,
    /// What things cost them.
    pub costs: Costs,
    /// The device.
    pub device: DeviceModel,
}

/// Where a model's values come from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelBasis {
    /// The source in words.
    pub source: String,
    /// The error of cells that were measured and not fitted, percent of their commits per second.
    pub error_pct: Option<f64>,
    /// The least and the most sessions of the cells that were fitted.
    pub jobs: Option<[u32; 2]>,
    /// The least and the most redo per commit of these cells, bytes.
    pub redo_bytes: Option<[u32; 2]>,
    /// The device whose values are of another source, with that source; `None` where they were
    /// fitted together with the machine's. No file has it.
    #[serde(skip)]
    pub other_device: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    model: Spanned<u32>,
    name: String,
    #[serde(default)]
    basis: ModelBasis,
    machine: Option<Machine>,
    device: DeviceTable,
    #[serde(default)]
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    processors: Spanned<u32>,
    work_us: Spanned<f64>,
    copy_us_per_kb: Spanned<f64>,
    turn_us: Spanned<f64>,
    operation_us: Spanned<f64>,
    wake_us: Spanned<f64>,
    switch_us: Spanned<f64>,
    idle_us: Spanned<f64>,
    poll_us: Spanned<f64>,
    contention: Spanned<f64>,
    work_variation: Spanned<f64>,
}

/// Why a model is refused: `FILE:LINE: KEY: ...`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {what}")]
pub struct ModelError {
    file: String,
    line: usize,
    what: String,
}

const PROCESSORS_MAX: u32 = 1024;

/// The text of a model, for its refusals.
struct Reader<'a> {
    text: &'a str,
    file: &'a Path,
}

impl Reader<'_> {
    fn refuse(&self, at: usize, what: String) -> ModelError {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        ModelError {
            file: self.file.display().to_string(),
            line: before.iter().filter(|byte| **byte == b'\n').count() + 1,
            what,
        }
    }

    fn within(
        &self,
        key: &str,
        at: usize,
        value: f64,
        (least, most): (f64, f64),
    ) -> Result<f64, ModelError> {
        match (least..=most).contains(&value) {
            true => Ok(value),
            false => Err(self.refuse(at, format!("{key} = {value}: use {least} to {most}"))),
        }
    }

    fn file(&self) -> Result<File, ModelError> {
        let found: File = toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.refuse(at, error.message().to_owned())
        })?;
        let version = *found.model.get_ref();
        match version {
            1 => Ok(found),
            _ => {
                let at = found.model.span().start;
                Err(self.refuse(at, format!("model = {version}: this version reads 1")))
            }
        }
    }

    fn basis(&self, of: ModelBasis) -> Result<ModelBasis, ModelError> {
        let at = |key: &str| self.text.find(&format!("\n{key} ")).map_or(0, |at| at + 1);
        if let Some(pct) = of.error_pct {
            self.within("error_pct", at("error_pct"), pct, (0.0, 1000.0))?;
        }
        for (key, range) in [("jobs", of.jobs), ("redo_bytes", of.redo_bytes)] {
            if let Some([least, most]) = range
                && (least == 0 || least > most)
            {
                let what =
                    format!("{key} = [{least}, {most}]: use the least, from 1, and the most");
                return Err(self.refuse(at(key), what));
            }
        }
        Ok(of)
    }

    fn costs(&self, of: &Machine) -> Result<Costs, ModelError> {
        let value = |key: &str, of: &Spanned<f64>, most: f64| {
            self.within(key, of.span().start, *of.get_ref(), (0.0, most))
        };
        let ns = |key: &str, of: &Spanned<f64>| Ok((1e3 * value(key, of, MOST_US)?).round() as u64);
        let costs = Costs {
            work_ns: ns("work_us", &of.work_us)?,
            copy_ns_per_kb: ns("copy_us_per_kb", &of.copy_us_per_kb)?,
            turn_ns: ns("turn_us", &of.turn_us)?,
            io_ns: ns("operation_us", &of.operation_us)?,
            wake_ns: ns("wake_us", &of.wake_us)?,
            switch_ns: ns("switch_us", &of.switch_us)?,
            idle_ns: ns("idle_us", &of.idle_us)?,
            poll_ns: ns("poll_us", &of.poll_us)?,
            contention: value("contention", &of.contention, 100.0)?,
            work_variation: value("work_variation", &of.work_variation, 10.0)?,
        };
        if costs.work_ns == 0 {
            let what = "work_us = 0: a session that does nothing between two commits takes no \
                        time; use at least 0.001";
            return Err(self.refuse(of.work_us.span().start, what.to_owned()));
        }
        Ok(costs)
    }
}

impl Model {
    /// Reads a model.
    ///
    /// # Errors
    /// What is wrong, with line, key and the range that is allowed.
    pub fn parse(text: &str, file: &Path) -> Result<Model, ModelError> {
        let from = Reader { text, file };
        let found = from.file()?;
        let Some(machine) = found.machine else {
            let what = "missing field `machine`: a file of a device is for --device";
            return Err(from.refuse(0, what.to_owned()));
        };
        let processors = *machine.processors.get_ref();
        if !(1..=PROCESSORS_MAX).contains(&processors) {
            let what = format!("processors = {processors}: use 1 to {PROCESSORS_MAX}");
            return Err(from.refuse(machine.processors.span().start, what));
        }
        Ok(Model {
            name: found.name,
            basis: from.basis(found.basis)?,
            processors,
            costs: from.costs(&machine)?,
            device: from.device(&found.device, &found.sources, false)?,
        })
    }

    /// This machine with another device, whose values were not fitted with the machine's.
    #[must_use]
    pub fn with_device(&self, other: ModelDevice) -> Model {
        let (name, source) = (other.name, other.basis.source);
        Model {
            name: format!("{} with device {name}", self.name),
            basis: ModelBasis {
                source: format!("machine: {}; device {name}: {source}", self.basis.source),
                error_pct: None,
                other_device: Some(format!("device {name} (not fitted here; {source})")),
                ..self.basis.clone()
            },
            device: other.device,
            ..self.clone()
        }
    }

    /// As [`Model::parse`] reads it.
    #[must_use]
    pub fn in_toml(&self) -> String {
        let quoted = |text: &str| {
            let plain = text.replace(|c: char| c.is_control(), " ");
            format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
        };
        let mut out = format!("model = 1\nname = {}\n", quoted(&self.name));
        let basis = &self.basis;
        out += &format!("\n[basis]\nsource = {}\n", quoted(&basis.source));
        if let Some(pct) = basis.error_pct {
            out += &format!("error_pct = {pct:.1}\n");
        }
        for (key, range) in [("jobs", basis.jobs), ("redo_bytes", basis.redo_bytes)] {
            if let Some([least, most]) = range {
                out += &format!("{key} = [{least}, {most}]\n");
            }
        }
        out += "\n[machine]\n";
        out += &format!("processors = {}\n", self.processors);
        for (key, value) in self.machine_values() {
            out += &format!("{key} = {value:?}\n");
        }
        out += &format!("\n[device]\nkind = \"{}\"\n", self.device.kind());
        for field in self.device.clone().fields() {
            let key = field.key;
            match (&field.place, &field.get()[..]) {
                (_, []) => {}
                (Place::List(_), all) => out += &format!("{key} = {all:?}\n"),
                (Place::Count(_), [one, ..]) => out += &format!("{key} = {one}\n"),
                (_, [one, ..]) => out += &format!("{key} = {one:?}\n"),
            }
        }
        out
    }

    fn machine_values(&self) -> Vec<(&'static str, f64)> {
        let us = |ns: u64| ns as f64 / 1e3;
        let of = &self.costs;
        vec![
            ("work_us", us(of.work_ns)),
            ("copy_us_per_kb", us(of.copy_ns_per_kb)),
            ("turn_us", us(of.turn_ns)),
            ("operation_us", us(of.io_ns)),
            ("wake_us", us(of.wake_ns)),
            ("switch_us", us(of.switch_ns)),
            ("idle_us", us(of.idle_ns)),
            ("poll_us", us(of.poll_ns)),
            ("contention", of.contention),
            ("work_variation", of.work_variation),
        ]
    }

    /// The model with one value so many times as large, for each of its values, by name; without
    /// those that would leave their range.
    #[must_use]
    pub fn varied(&self, factor: f64) -> Vec<(&'static str, Model)> {
        let text = self.in_toml();
        let machine = self
            .machine_values()
            .into_iter()
            .filter_map(|(key, value)| {
                let line = format!("\n{key} = {value:?}\n");
                let larger = format!("\n{key} = {:?}\n", value * factor);
                let model = Model::parse(&text.replacen(&line, &larger, 1), Path::new(key));
                Some((key, model.ok()?))
            });
        let devices = self.device.varied(factor).into_iter().map(|(key, device)| {
            let model = Model {
                device,
                ..self.clone()
            };
            (key, model)
        });
        machine.chain(devices).collect()
    }
}

#[cfg(test)]
mod tests;
