//! The devices of `iostat`, each summed up over its intervals.

use super::iostat_columns::{
    AWAIT, FLUSH_AWAIT, IostatFields, READ_AWAIT, UTIL, WRITE_AWAIT, WRITE_MB, WRITES,
};
use crate::origin::SourcedCell;
use crate::sheets::Sheets;
use measure::imported::Cell;
use measure::origin::OriginInput;
use std::collections::BTreeMap;

/// Devices that are summed up.
pub const DEVICES_MAX: usize = 4096;
/// What is given of a device over its intervals.
const COUNT: &str = "count of a of the device in intervals";
const MEAN: &str = "mean of a of the device in intervals";
const LARGEST: &str = "largest of the inputs of the device in intervals";
const WAITED: [&str; 4] = [
    "iostat.*.await_ms",
    "iostat.*.read_await_ms",
    "iostat.*.write_await_ms",
    "iostat.*.flush_await_ms",
];
/// The values of a column. An absent column has none, and so no mean.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    values: u64,
    sum: f64,
    largest: Option<f64>,
}

impl Column {
    fn add(&mut self, value: Option<f64>) {
        let Some(value) = value else {
            return;
        };
        self.values += 1;
        self.sum += value;
        self.largest = Some(self.largest.map_or(value, |l| l.max(value)));
    }

    fn mean(&self) -> Option<f64> {
        (self.values > 0).then(|| self.sum / self.values as f64)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Device {
    samples: u64,
    /// First and last line of its samples.
    lines: (u64, u64),
    writes: Column,
    write_mb: Column,
    util: Column,
    /// Waits of every kind: of all requests, of reads, of writes and of flushes.
    waited: Column,
}

/// The devices of a file.
#[derive(Debug, Default)]
pub struct IostatDevices {
    devices: BTreeMap<String, Device>,
}

impl IostatDevices {
    /// Adds a sample of an interval.
    pub fn add(&mut self, device: &str, found: &IostatFields, number: u64) {
        let is_known = self.devices.contains_key(device) || self.devices.len() < DEVICES_MAX;
        if !is_known {
            return;
        }
        let sum = self.devices.entry(device.to_owned()).or_default();
        let get = |i: usize| match found.get(i).map(|f| &f.cell) {
            Some(Cell::Real(value)) => Some(*value),
            _ => None,
        };
        let is_first = sum.samples == 0;
        let first = if is_first { number } else { sum.lines.0 };
        sum.lines = (first, number);
        sum.samples += 1;
        sum.writes.add(get(WRITES));
        sum.write_mb.add(get(WRITE_MB));
        sum.util.add(get(UTIL));
        for waits in [AWAIT, READ_AWAIT, WRITE_AWAIT, FLUSH_AWAIT] {
            sum.waited.add(get(waits));
        }
    }

    /// Gives each device's intervals in short, where one has several.
    pub fn give(&self, sheets: &mut Sheets) {
        if self.devices.values().all(|d| d.samples < 2) {
            return;
        }
        let columns = [
            ("device", "Device"),
            ("intervals", "Intervals"),
            ("writes_per_s", "Mean w/s"),
            ("write_mb_per_s", "Mean wMB/s"),
            ("util_pct", "Mean %util"),
            ("util_max_pct", "Max %util"),
            ("await_max_ms", "Max await ms"),
        ];
        let table = sheets.open(
            "iostat_devices",
            "iostat by device, intervals only",
            self.devices.values().map(|d| d.lines.0).min().unwrap_or(1),
            &columns,
        );
        for (name, d) in &self.devices {
            let numbers = [
                (d.writes.mean(), MEAN, vec!["iostat.*.writes_per_s".into()]),
                (
                    d.write_mb.mean(),
                    MEAN,
                    vec!["iostat.*.write_mb_per_s".into()],
                ),
                (d.util.mean(), MEAN, vec!["iostat.*.util_pct".into()]),
                (d.util.largest, LARGEST, vec!["iostat.*.util_pct".into()]),
                (
                    d.waited.largest,
                    LARGEST,
                    WAITED.map(OriginInput::from).into(),
                ),
            ];
            let samples = Cell::Count(d.samples);
            let mut row = vec![
                SourcedCell::label(name),
                SourcedCell::derived(samples, COUNT, vec!["iostat.*.device".into()]),
            ];
            let cells =
                numbers.map(|(v, formula, inputs)| SourcedCell::computed(v, formula, inputs));
            row.extend(cells);
            sheets.row_of_lines(table, d.lines, row);
            sheets.found -= 1;
        }
    }
}
