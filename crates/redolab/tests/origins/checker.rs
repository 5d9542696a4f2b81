//! Verifies every cell of an import against the files: characters that were read, factors, and
//! formulas with their inputs. It knows the JSON and the files, and none of the readers.

use crate::formula::{self, FormulaRow};
use crate::number::{Marks, printed, unit};
use crate::source::{SourceText, shown};
use serde_json::Value;
use std::collections::BTreeMap;

/// Characters of a file: line, column, length.
pub type Span = (u64, u64, u64);

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Cells that do not follow from the files.
    pub problems: Vec<String>,
    /// Characters that a cell was read or computed of, by file.
    pub read: BTreeMap<String, Vec<Span>>,
    /// Cells that were verified: read, derived.
    pub verified: [u64; 2],
}

/// An import and its files.
pub struct Import<'a> {
    pub json: &'a Value,
    pub files: &'a BTreeMap<String, SourceText>,
}

impl Import<'_> {
    pub fn check(&self) -> Report {
        let mut report = Report::default();
        let tables = self.tables();
        for (index, table) in tables.iter().enumerate() {
            let id = table["id"].as_str().unwrap_or_default();
            let rows = table["rows"].as_array().map_or(0, Vec::len);
            let origins = table["origins"].as_array().map_or(0, Vec::len);
            if rows != origins {
                report
                    .problems
                    .push(format!("{id}: {rows} rows and {origins} origins"));
                continue;
            }
            for row in 0..rows {
                self.row(index, row, &mut report);
            }
        }
        report
    }

    pub fn tables(&self) -> &[Value] {
        let tables = self.json["imported"]["tables"].as_array();
        tables.map_or(&[], Vec::as_slice)
    }

    fn row(&self, table: usize, row: usize, report: &mut Report) {
        let t = &self.tables()[table];
        let id = t["id"].as_str().unwrap_or_default();
        let place = |column: &str| format!("{id}.{row}.{column}");
        let origin = &t["origins"][row];
        let file = self.file_of(t, origin);
        let lines = [&origin["lines"][0], &origin["lines"][1]].map(|l| l.as_u64().unwrap_or(0));
        let last = self.files.get(&file).map_or(0, |f| f.lines.len() as u64);
        let is_in_file = 1 <= lines[0] && lines[0] <= lines[1] && lines[1] <= last.max(1);
        if !is_in_file {
            report
                .problems
                .push(format!("{}: lines {lines:?} of {last}", place("")));
        }
        let columns = t["columns"].as_array().map_or(&[][..], Vec::as_slice);
        for (at, column) in columns.iter().enumerate() {
            let key = column["key"].as_str().unwrap_or_default();
            let (cell, from) = (&t["rows"][row][at], &origin["cells"][at]);
            let problem = match from {
                _ if cell.is_null() && from.is_null() => continue,
                Value::Null if cell.is_number() => Err("a number without an origin".to_owned()),
                // A label of redolab's own.
                Value::Null => continue,
                Value::Array(_) => {
                    report.verified[0] += 1;
                    self.read(&file, id, key, cell, from, report)
                }
                _ => {
                    report.verified[1] += 1;
                    let spans = report.read.entry(file.clone()).or_default();
                    spans.extend(inputs(from).filter_map(span_of));
                    let row = FormulaRow {
                        import: self,
                        table,
                        row,
                        file: &file,
                        lines,
                    };
                    formula::verify(&row, cell, from)
                }
            };
            if let Err(what) = problem {
                report.problems.push(format!("{}: {what}", place(key)));
            }
        }
    }

    /// The file of a row.
    pub fn file_of(&self, table: &Value, origin: &Value) -> String {
        let own = origin["file"].as_str().or_else(|| table["file"].as_str());
        own.unwrap_or_default().to_owned()
    }

    /// How a file writes its numbers, by its kind and what redolab says of its commas.
    pub fn marks(&self, file: &str, table: &str) -> Marks {
        let notes = self.json["diagnostics"].as_array();
        let notes = notes.map_or(&[][..], Vec::as_slice);
        let is_comma = notes
            .iter()
            .any(|d| d["id"] == "awr.decimal_comma" && d["file"] == *file);
        match table {
            "iostat" | "pg_test_fsync" => Marks::NoGroups,
            _ if is_comma => Marks::Comma,
            _ => Marks::Usual,
        }
    }

    pub fn is_html(&self, file: &str) -> bool {
        let sources = self.json["imported"]["sources"].as_array();
        let mut sources = sources.into_iter().flatten();
        sources.any(|s| s["file"] == *file && s["kind"] == "awr-html")
    }

    /// The characters of a span, as people see them.
    pub fn characters(&self, file: &str, (line, column, length): Span) -> Option<String> {
        let text = self.files.get(file)?.at(line, column, length)?;
        Some(shown(&text, self.is_html(file)))
    }

    /// A cell that was read.
    fn read(
        &self,
        file: &str,
        table: &str,
        key: &str,
        cell: &Value,
        from: &Value,
        report: &mut Report,
    ) -> Result<(), String> {
        let span = span_of(from).ok_or("no place")?;
        let text = self.characters(file, span).ok_or("no such characters")?;
        report.read.entry(file.to_owned()).or_default().push(span);
        let factor = from
            .get(3)
            .map_or(Some(1.0), Value::as_f64)
            .ok_or("no factor")?;
        let Some(value) = cell.as_f64() else {
            let cell = cell.as_str().ok_or("neither text nor a number")?;
            return same_text(cell, &text);
        };
        let read = printed(&text, self.marks(file, table));
        let read = read.ok_or_else(|| format!("`{text}` is not a number, the cell is {value}"))?;
        allowed(table, key, &read.suffix, factor)?;
        let want = read.value * factor;
        if want == value {
            Ok(())
        } else {
            Err(format!(
                "`{text}` times {factor} is {want}, the cell is {value}"
            ))
        }
    }
}

/// Whether a cell is what the characters say; a long text is cut.
fn same_text(cell: &str, text: &str) -> Result<(), String> {
    let cell = shown(cell, false);
    let json = serde_json::from_str(&format!("\"{text}\"")).unwrap_or_default();
    let json = shown(&surrogates(json, text), false);
    let length = cell.chars().count();
    let is_cut = [80, 100, 200].contains(&length);
    let bare = text.replace('"', "");
    let same = |text: &str| cell == text || is_cut && text.starts_with(&cell);
    if same(text) || same(&json) || same(&bare) || text.to_ascii_uppercase() == cell {
        Ok(())
    } else {
        Err(format!("`{text}` in the file, `{cell}` in the cell"))
    }
}

/// What a string of JSON says; half of a pair of escapes becomes a replacement character.
fn surrogates(parsed: String, text: &str) -> String {
    if !parsed.is_empty() {
        return parsed;
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = rest[at + 1..].chars().next().unwrap_or(' ');
        let code = rest.get(at + 2..at + 6).filter(|_| escape == 'u');
        let code = code.and_then(|hex| u32::from_str_radix(hex, 16).ok());
        out.push(match (escape, code) {
            (_, Some(code)) => char::from_u32(code).unwrap_or('\u{fffd}'),
            ('n', _) => '\n',
            ('t', _) => '\t',
            (c, _) => c,
        });
        rest = &rest[at + if code.is_some() { 6 } else { 2 }..];
    }
    out + rest
}

/// Whether the factor is the one of the unit that the suffix names, and else one of those that
/// headings name for the column.
fn allowed(table: &str, key: &str, suffix: &str, factor: f64) -> Result<(), String> {
    const MB: f64 = 1_048_576.0;
    let is = |factors: &[f64]| {
        let found = factors.iter().any(|f| (f / factor - 1.0).abs() < 1e-12);
        found
            .then_some(())
            .ok_or_else(|| format!("factor {factor} behind `{suffix}` in {key}"))
    };
    let column_time = [
        ("_ns", 1e-9),
        ("_us", 1e-6),
        ("_ms", 1e-3),
        ("_s", 1.0),
        ("seconds", 1.0),
    ];
    let column_time = column_time.iter().find(|(end, _)| key.ends_with(end));
    if suffix == "%" {
        return is(&[1.0]);
    }
    if let Some((what, _)) = unit(suffix, 1024.0) {
        let factor_of = |base| unit(suffix, base).map_or(1.0, |(_, f)| f);
        let is_rate = key.contains("per_s") && what == 't';
        return match (what, column_time) {
            ('t', Some((_, own))) if !is_rate => is(&[factor_of(1.0) / own]),
            ('b', _) if table == "ebpf_histogram" => is(&[factor_of(1024.0)]),
            ('b', _) if key.ends_with("_bytes") => is(&[factor_of(1024.0)]),
            ('b', _) if key.contains("mb_per_s") => is(&[factor_of(1024.0) / MB]),
            // fio prints thousands of the unit in its heading.
            ('b', Some(_)) if table.starts_with("fio") => is(&[1.0, 1e3, 1e6]),
            ('b', _) if table == "iostat" => is(&[1.0, 0.5, 1024.0, 1.0 / 1024.0, MB]),
            ('b', _) => is(&[factor_of(1000.0)]),
            _ => is(&[1.0]),
        };
    }
    if !suffix.is_empty() && factor != 1.0 {
        return Err(format!("factor {factor} behind `{suffix}`"));
    }
    match (table, key) {
        (_, "avg_wait_ms") => is(&[1.0, 0.001, 10.0, 1000.0]),
        ("pgbench_intervals", "latency_min_ms" | "latency_max_ms") => is(&[0.001]),
        (_, "time_s") => is(&[1.0, 0.01, 0.001]),
        // Hundredths of a second, or microseconds.
        ("system_event", "time_us") => is(&[1.0, 1e4]),
        ("stated_window", "seconds") => is(&[1.0, 60.0, 3600.0]),
        (_, "wait_time_under_ms") => is(&[1.0, 0.001]),
        ("iostat", "read_mb_per_s" | "write_mb_per_s" | "mb_per_s") => {
            is(&[1.0, 1.0 / 1024.0, 512.0 / MB])
        }
        ("iostat", "request_kb") => is(&[1.0, 0.5]),
        ("iostat_by_function" | "iostat_by_filetype", "write_mb_per_s" | "read_mb_per_s") => {
            is(&[1.0, 1.0 / MB])
        }
        (t, "mb_per_s") if t.starts_with("fio") => is(&[1.0 / MB, 1.0 / 1024.0, 1.0]),
        (t, "runtime_s") if t.starts_with("fio") => is(&[0.001, 1.0]),
        (t, "value_ns") if t.starts_with("fio") => is(&[1.0, 1000.0]),
        (t, k) if t.starts_with("fio") && k.ends_with("_us") => is(&[1.0, 0.001, 1000.0]),
        _ => is(&[1.0]),
    }
}

/// The inputs of a derived cell.
pub fn inputs(from: &Value) -> impl Iterator<Item = &Value> {
    from["inputs"].as_array().into_iter().flatten()
}

/// A span in JSON.
pub fn span_of(value: &Value) -> Option<Span> {
    let number = |i: usize| value.get(i)?.as_u64();
    Some((number(0)?, number(1)?, number(2)?))
}
