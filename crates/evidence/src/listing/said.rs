//! What the words beside a listing say: which device holds the redo log, and settings with which
//! nothing that was acknowledged outlives a power cut.
//!
//! Invariant: a clause counts that names a log and one device, and denies nothing.

use crate::number::decimal;
use crate::quick::QuickWord;
use measure::imported::{Cell, Diagnostic, NOT_DURABLE, Severity, Table};
use std::collections::{BTreeMap, BTreeSet};

/// Id of the diagnostic by which a device was taken.
pub const LOG_DEVICE: &str = "import.log_device";
/// Tables whose lines are of devices, and the columns with their names.
const TABLES: [(&str, &str); 3] = [
    ("iostat", "device"),
    ("diskstats", "device"),
    ("ebpf_histogram", "of"),
];

/// Lines of prose are shorter.
const LINE_MAX: usize = 400;
/// Devices that are kept.
const DEVICES_MAX: usize = 16;
/// What a line contains that names a log.
const QUICK: [QuickWord; 4] = [
    QuickWord::new("redo"),
    QuickWord::new("wal"),
    QuickWord::new("journal"),
    QuickWord::new("log"),
];
/// Words of a log.
const LOGS: [&str; 13] = [
    "redo", "redo1", "redo01", "redolog", "redologs", "wal", "pg_wal", "pgwal", "pg_xlog",
    "journal", "log", "logs", "txlog",
];
/// Words of other logs, of what was, and of what is not.
const OTHERS: [&str; 22] = [
    "smart", "error", "errors", "kernel", "dmesg", "syslog", "system", "archive", "archived",
    "archives", "alert", "backup", "data", "not", "no", "never", "was", "were", "from", "old",
    "nicht", "kein",
];
/// Settings, and the values with which commits do not wait for a medium; none for a word that is
/// enough.
const SETTINGS: [(QuickWord, &str, &[&str]); 6] = [
    (QuickWord::exactly("nobarrier"), "nobarrier", &[]),
    (QuickWord::exactly("barrier=0"), "barrier=0", &[]),
    (QuickWord::exactly("fsync"), "fsync", &["off"]),
    (
        QuickWord::exactly("synchronous_commit"),
        "synchronous_commit",
        &["off"],
    ),
    (
        QuickWord::exactly("flush_log_at_trx_commit"),
        "innodb_flush_log_at_trx_commit",
        &["0", "2"],
    ),
    (
        QuickWord::exactly("DELAYED_DURABILITY"),
        "DELAYED_DURABILITY",
        &["FORCED"],
    ),
];
/// Words of a line that denies what it names.
const DENIES: [&str; 6] = ["not", "without", "removed", "never", "instead", "remove"];
/// How the names of devices begin.
const BEGINS: [&str; 9] = [
    "sd", "nvme", "vd", "xvd", "hd", "dm-", "md", "emcpower", "mmcblk",
];

/// What was said, with the first line that says it.
#[derive(Debug, Default)]
pub struct SaidBeside {
    /// The end of the lines before, where it names a log and no device yet.
    open: String,
    devices: BTreeMap<String, u64>,
    settings: BTreeMap<String, u64>,
}

impl SaidBeside {
    /// Takes a line.
    pub fn line(&mut self, line: &str, number: u64) {
        let bytes = line.as_bytes();
        if bytes.len() > LINE_MAX {
            return;
        }
        for (quick, name, values) in &SETTINGS {
            if quick.is_in(bytes)
                && let Some(setting) = setting_of(line, name, values)
            {
                self.settings.entry(setting).or_insert(number);
            }
        }
        let open = std::mem::take(&mut self.open);
        let is_about = QUICK.iter().any(|word| word.is_in(bytes));
        if (open.is_empty() && !is_about) || self.devices.len() == DEVICES_MAX {
            return;
        }
        let lower = line.trim().to_ascii_lowercase();
        // A row of figures goes on with no sentence.
        let has_figures = || {
            lower
                .split_whitespace()
                .any(|w| decimal(w).parse::<f64>().is_ok())
        };
        let begun = if open.is_empty() || has_figures() {
            ""
        } else {
            &open
        };
        let whole = format!("{begun} {lower}");
        let plain = without_brackets(&whole);
        let separated = plain.replace(" and ", ",").replace(" but ", ",");
        let clauses = separated
            .split([',', ';'])
            .flat_map(|part| part.split(". "));
        let mut last = "";
        for clause in clauses {
            last = clause;
            if let Some(device) = of_clause(clause) {
                self.devices.entry(device.to_owned()).or_insert(number);
                last = "";
            }
        }
        // A sentence may go on in the next line, and no further.
        let ends = lower.is_empty() || lower.ends_with('.') || !begun.is_empty();
        let goes_on = !ends && words_of(last).any(is_log);
        if goes_on && last.len() < LINE_MAX / 2 {
            last.clone_into(&mut self.open);
        }
    }

    /// Each device with its line.
    pub fn devices(&self) -> impl Iterator<Item = (String, u64)> {
        let each = self.devices.iter();
        each.map(|(device, line)| (device.clone(), *line))
    }

    /// Each setting as a fact.
    pub fn facts(self) -> impl Iterator<Item = (String, String)> {
        let each = self.settings.into_iter();
        each.map(|(setting, line)| (NOT_DURABLE.to_owned(), format!("{setting} (line {line})")))
    }
}

/// Devices that the lines of a file, which is no listing, say hold the log: device, file and line.
pub fn said_in(text: &[u8], file: &str) -> Vec<(String, String, u64)> {
    let mut said = SaidBeside::default();
    for (at, line) in text.split(|b| *b == b'\n').enumerate() {
        said.line(&String::from_utf8_lossy(line), at as u64 + 1);
    }
    let each = said.devices();
    each.map(|(device, line)| (device, file.to_owned(), line))
        .collect()
}

/// A setting and its value, if the line has it and does not deny it: `fsync = off`, `fsync | off`.
fn setting_of(line: &str, name: &str, values: &[&str]) -> Option<String> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '=' | '-');
    let words: Vec<&str> = line.split(|c: char| !is_part(c)).collect();
    if words
        .iter()
        .any(|w| DENIES.contains(&w.to_lowercase().as_str()))
    {
        return None;
    }
    if values.is_empty() {
        return words.contains(&name).then(|| name.to_owned());
    }
    let at = line.find(name)?;
    let is_begin = !line
        .get(..at)?
        .ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let rest = line.get(at + name.len()..)?;
    let value = rest.trim_start_matches([' ', '=', '|', ':', '\t', '\'', '"']);
    let value: String = value.chars().take_while(|c| c.is_alphanumeric()).collect();
    let is_apart = rest.len() > value.len() && !rest.starts_with(char::is_alphanumeric);
    (is_begin && is_apart && values.contains(&value.as_str())).then(|| format!("{name} = {value}"))
}

/// The device that the files say holds the log, if their tables have it, and no other one is said
/// to: device, file and line.
pub fn log_device(
    said: &[(String, String, u64)],
    tables: &[Table],
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<String> {
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for (id, key) in TABLES {
        for table in tables.iter().filter(|table| table.id == id) {
            let at = table.columns.iter().position(|c| c.key == key);
            let cells = table.rows.iter().filter_map(|row| row.get(at?));
            let names = cells.filter_map(|cell| match cell {
                Cell::Text(name) => Some(name.as_str()),
                _ => None,
            });
            // An eBPF tool prints `disk = sda`.
            known.extend(names.flat_map(|name| name.split([' ', '=', ',', '\''])));
        }
    }
    let of_tables = said.iter().filter_map(|(device, file, line)| {
        let of_it = |name: &&&str| **name == device.as_str();
        let whole = |name: &&&str| is_part_of(device, name);
        // Flushes are counted for the disk, and not for its parts.
        let found = known
            .iter()
            .find(whole)
            .or_else(|| known.iter().find(of_it))?;
        Some((*found, file, line))
    });
    let of_tables: Vec<_> = of_tables.collect();
    let (device, file, line) = *of_tables.first()?;
    if of_tables.iter().any(|(other, ..)| *other != device) {
        return None;
    }
    diagnostics.push(Diagnostic {
        severity: Severity::Note,
        id: LOG_DEVICE.to_owned(),
        file: file.clone(),
        line: Some(*line),
        column: None,
        detail: format!("{device} holds the log, as this line says; --log-device names another"),
        count: 1,
    });
    Some(device.to_owned())
}

/// Whether a device is a partition of a disk: `sdb1` of `sdb`, `nvme0n1p1` of `nvme0n1`.
fn is_part_of(device: &str, disk: &str) -> bool {
    let number = match disk.ends_with(|c: char| c.is_ascii_digit()) {
        true => device
            .strip_prefix(disk)
            .and_then(|rest| rest.strip_prefix('p')),
        false => device.strip_prefix(disk),
    };
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    disk.len() > 2 && number.is_some_and(is_number)
}

/// The words of a clause.
fn words_of(clause: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/');
    let words = clause.split(move |c: char| !is_part(c));
    words.filter(|w| !w.is_empty())
}

/// Whether a word is of a log.
fn is_log(word: &str) -> bool {
    word.split('/').any(|part| LOGS.contains(&part))
}

/// A text without what is in brackets.
fn without_brackets(text: &str) -> String {
    let mut depth = 0_u32;
    let kept = text.chars().filter(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    });
    kept.collect()
}

/// The one device that a clause about a log names.
fn of_clause(clause: &str) -> Option<&str> {
    let words: Vec<&str> = words_of(clause)
        .map(|w| w.trim_start_matches("/dev/"))
        .collect();
    // A mount point names a log, too: `/dev/sdb1 /pgwal`.
    let parts = || words.iter().flat_map(|w| w.split('/'));
    let has = |of: &[&str]| parts().any(|w| of.contains(&w));
    if !has(&LOGS) || has(&OTHERS) {
        return None;
    }
    let is_device = |w: &&&str| BEGINS.iter().any(|b| w.len() > b.len() && w.starts_with(b));
    let mut devices = words.iter().filter(is_device);
    devices.next().filter(|_| devices.next().is_none()).copied()
}

#[cfg(test)]
mod tests {
    use super::{SaidBeside, of_clause, setting_of};

    #[test]
    fn a_sentence_goes_on_in_the_next_line_and_a_table_is_none() {
        let said = |text: &str| {
            let mut said = SaidBeside::default();
            text.lines()
                .zip(1..)
                .for_each(|(line, n)| said.line(line, n));
            said.devices().map(|(device, _)| device).collect::<Vec<_>>()
        };
        let mail = "the redo logs\n(all groups) are on nvme2n1, data files on sdb";
        assert_eq!(said(mail), ["nvme2n1"]);
        for table in [
            "redo log disk:\nDevice r/s w/s\nsdb 1.0 2.0\nsdc 3.0 4.0",
            "log file sync\nsdb 0.00 310.20",
            "log file sync\n\nsdb is slow",
        ] {
            assert_eq!(said(table), Vec::<String>::new(), "{table}");
        }
    }

    #[test]
    fn settings_that_give_up_durability_are_found_where_they_are_set() {
        let of = [
            (
                "/dev/vdb on /pg type ext4 (rw,noatime,nobarrier)",
                "nobarrier",
                &[][..],
                true,
            ),
            ("nobarrier was removed in 4.19", "nobarrier", &[], false),
            ("fsync = off", "fsync", &["off"], true),
            (" fsync                | off", "fsync", &["off"], true),
            ("fsync 8.1 ops/sec", "fsync", &["off"], false),
            ("open_fsync = off", "fsync", &["off"], false),
            ("fsync = on  # off loses commits", "fsync", &["off"], false),
        ];
        for (line, name, values, is_set) in of {
            assert_eq!(setting_of(line, name, values).is_some(), is_set, "{line}");
        }
    }

    #[test]
    fn a_clause_names_a_log_and_one_device() {
        let of = [
            ("redo = nvme0n1", Some("nvme0n1")),
            ("redo is alone on sdd", Some("sdd")),
            ("the wal is on /dev/sdb1", Some("sdb1")),
            ("journal on nvme1n1", Some("nvme1n1")),
            ("data = sda", None),
            ("redo is not on sdd", None),
            ("redo was moved from sdb to sdc", None),
            ("archive log on sdc", None),
            ("redo on sdb or sdc", None),
            ("log file sync 12", None),
        ];
        for (clause, device) in of {
            assert_eq!(of_clause(clause), device, "{clause}");
        }
    }
}
