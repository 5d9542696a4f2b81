//! The first hour of three newcomers, as they would type it in a terminal of 80 columns: a DBA, an
//! engine developer, a storage evaluator.
//!
//! Invariants: each command is written as it is typed; every line that the terminal prints fits it;
//! nothing depends on how fast a device is. `REDOLAB_TEST_BINARY` names an installed binary, with
//! which `cargo xtask prove dist` runs the same scripts.

mod dba;
mod developer;
mod evaluator;

use crate::harness::{Done, Place};

/// Columns of the terminal.
const COLUMNS: usize = 80;
/// Options that keep a measurement short, whatever the device.
const SMALL: &str = "--log-file-size 8M --log-groups 2 --allow-busy";

/// A person at a terminal: what was typed so far is in the directory and in the store.
struct Terminal {
    place: Place,
}

impl Terminal {
    fn new() -> Terminal {
        let place = Place::new();
        Terminal { place }
    }

    /// Types a command, whose arguments contain no blanks.
    fn types(&self, line: &str) -> Done {
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("redolab"), "{line}");
        let arguments: Vec<&str> = words.collect();
        let mut command = self.place.command(&arguments);
        command.env("COLUMNS", COLUMNS.to_string());
        let child = command.spawn().expect("starts");
        let done = crate::harness::Running::of(child, line.to_owned()).wait();
        expect_narrow(line, &done.err);
        // Markdown and CSV are for other programs.
        if !line.contains("--format") {
            expect_narrow(line, &done.out);
        }
        done
    }

    /// The text of a file that a command wrote.
    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.path().join(name)).expect("it was written")
    }
}

/// No line is wider than the terminal, but for one that is a single word, such as a path.
fn expect_narrow(command: &str, text: &str) {
    for line in text.lines() {
        let fits = line.chars().count() <= COLUMNS || line.split_whitespace().count() == 1;
        assert!(fits, "{command}\n{line}\nis too wide in\n{text}");
    }
}

/// Log file sync has a column: its heading is short where the figures are long, and explained then.
fn expect_log_file_sync(text: &str) {
    let headings = ["log file sync (ms)", "LFS: log file sync"];
    assert!(
        headings.iter().any(|heading| text.contains(heading)),
        "{text}"
    );
}

/// A table of Markdown: its cells, line by line, the headings first. Each line has as many.
fn markdown_tables(text: &str) -> Vec<Vec<Vec<String>>> {
    let mut tables: Vec<Vec<Vec<String>>> = vec![Vec::new()];
    for line in text.lines() {
        let inner = line.strip_prefix('|').and_then(|l| l.strip_suffix('|'));
        let Some(inner) = inner else {
            tables.push(Vec::new());
            continue;
        };
        // An escaped bar is text.
        let inner = inner.replace("\\|", "¦");
        let cells: Vec<String> = inner.split('|').map(|c| c.trim().to_owned()).collect();
        if let Some(table) = tables.last_mut() {
            table.push(cells);
        }
    }
    tables.retain(|table| !table.is_empty());
    for table in &tables {
        let width = table[0].len();
        assert!(table.iter().all(|line| line.len() == width), "{table:?}");
        let is_rule = |cell: &String| cell.trim_matches([':', '-']).is_empty();
        assert!(table.len() > 2 && table[1].iter().all(is_rule), "{table:?}");
    }
    tables
}

/// Nothing of the text is HTML, and nobody is mentioned.
fn expect_plain_markdown(text: &str) {
    for (at, c) in text.char_indices() {
        let escaped = text[..at].ends_with('\\');
        // A note or a quotation begins with this sign; nothing here is one.
        assert!(escaped || !matches!(c, '<' | '>'), "{c} at {at}:\n{text}");
    }
    assert!(!text.contains('@'), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// Lines of CSV by the names of their columns.
fn csv_lines(text: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let lines = reader.deserialize();
    lines
        .map(|line| line.expect("CSV with a heading"))
        .collect()
}
