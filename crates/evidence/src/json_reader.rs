//! Evidence in JSON: `iostat -o JSON` and fio's `--output-format=json` and `json+`.

use super::awr::cell::GridCell;
use super::fio::Fio;
use super::gathered::Ended;
use super::head::Head;
use super::json::{Json, JsonItem, JsonStep, key};
use super::listing::{IostatSamples, IostatValue, iostat_reading};
use super::sheets::Sheets;
use super::{Gathered, Kind, Options, Sink};
use measure::imported::Severity;
use measure::printed;

/// Whether the head is iostat's JSON.
pub(super) fn is_iostat(head: &Head<'_>) -> bool {
    head.has("\"sysstat\"") && head.has("\"disk_device\"")
}

/// Whether the head is fio's JSON.
pub(super) fn is_fio(head: &Head<'_>) -> bool {
    head.has("\"fio version\"") || (head.has("\"jobs\"") && head.has("\"jobname\""))
}

/// Reads one file.
#[derive(Debug)]
pub struct JsonReader {
    json: Json,
    sheets: Sheets,
    what: What,
}

#[derive(Debug)]
enum What {
    Iostat(Box<Iostat>),
    Fio(Box<Fio>),
}

#[derive(Debug, Default)]
struct Iostat {
    samples: IostatSamples,
    device: GridCell,
    fields: Vec<(String, IostatValue)>,
    stamp: GridCell,
    report: Option<u64>,
    reports: u64,
}

impl JsonReader {
    /// A reader of the file of that name.
    #[must_use]
    pub fn new(kind: Kind, _options: &Options, file: &str) -> JsonReader {
        JsonReader {
            json: Json::default(),
            sheets: Sheets::new(file),
            what: match kind {
                Kind::IostatJson => What::Iostat(Box::default()),
                _ => What::Fio(Box::default()),
            },
        }
    }

    /// Takes the next text.
    pub fn feed(&mut self, text: &[u8], _sink: &mut Sink) {
        let (what, sheets) = (&mut self.what, &mut self.sheets);
        let mut each = |path: &[JsonStep], met: JsonItem<'_>| match what {
            What::Iostat(iostat) => iostat.met(path, met, sheets),
            What::Fio(fio) => fio.met(path, met, sheets),
        };
        // Line by line, so that samples know theirs.
        self.json.feed(text, &mut each);
    }

    /// Ends the file.
    pub fn end(mut self, sink: &mut Sink, out: &mut Gathered) -> Ended {
        let notes = &mut sink.notes;
        if let Some(broken) = &self.json.broken {
            let line = Some(broken.line);
            notes.add(Severity::Error, "json.broken", line, None, || {
                format!(
                    "not JSON from here on: {}; the part before was read",
                    broken.what
                )
            });
        } else if self.json.is_cut() {
            let line = Some(self.json.line);
            notes.add(Severity::Warning, "json.cut", line, None, || {
                "the file ends inside the JSON: what is whole was read".to_owned()
            });
        }
        let mut facts = Vec::new();
        match &mut self.what {
            What::Iostat(iostat) => {
                iostat.samples.end(&mut self.sheets, notes);
                facts.append(&mut iostat.samples.facts);
            }
            What::Fio(fio) => facts.append(&mut fio.facts),
        }
        out.yielded += self.sheets.found;
        out.tables.extend(self.sheets.into_tables(notes));
        Ended {
            lines: self.json.line.saturating_sub(1),
            facts,
        }
    }
}

impl Iostat {
    /// `sysstat.hosts[].statistics[].disk[]`.
    fn met(&mut self, path: &[JsonStep], met: JsonItem<'_>, sheets: &mut Sheets) {
        let keys = [key(path, 0), key(path, 1), key(path, 3), key(path, 5)];
        match met {
            JsonItem::Value(v) => {
                let name = path.last().and_then(|s| match s {
                    JsonStep::Key(k) => Some(k.as_str()),
                    JsonStep::Index(_) => None,
                });
                let Some(name) = name else { return };
                if keys[3] == Some("disk") {
                    if name == "disk_device" {
                        self.device = v.kept(usize::MAX);
                    } else if let Some(n) =
                        printed::plain(v.text).filter(|_| self.fields.len() < 64)
                    {
                        let found = IostatValue {
                            value: n,
                            scale: 1.0,
                            span: v.span,
                        };
                        self.fields.push((name.to_owned(), found));
                    }
                } else if name == "timestamp" {
                    self.stamp = v.kept(usize::MAX);
                } else if ["nodename", "release", "sysname", "number-of-cpus", "date"]
                    .contains(&name)
                    && self.samples.facts.len() < 16
                {
                    self.samples
                        .facts
                        .push((name.to_owned(), v.text.to_owned()));
                }
            }
            JsonItem::Close => {
                // An element of `disk` closes where its index is the last step.
                let element = path.len() == 7 && keys[3] == Some("disk");
                if !element || self.device.is_empty() {
                    return;
                }
                let report = match path.get(4) {
                    Some(JsonStep::Index(i)) => *i,
                    _ => 0,
                };
                if self.report != Some(report) {
                    self.report = Some(report);
                    self.reports += 1;
                    self.samples.next_report(&self.stamp, report == 0);
                }
                let pairs = self.fields.iter().map(|(k, v)| (k.as_str(), *v));
                let found = iostat_reading(pairs);
                let line = self.device.span.map_or(1, |s| u64::from(s.line));
                self.samples.sample(&self.device, &found, line, sheets);
                self.fields.clear();
                self.device = GridCell::default();
            }
        }
    }
}
