//! The corpora of the fuzz targets, named by defect: each file is read as its kind without a panic,
//! the same in whatever chunks, and no part of it says more than the whole.

use evidence::{Import, ImportRefusal, Kind, Options, Outcome};
use std::path::Path;

fn read(kind: Kind, bytes: &[u8], step: usize) -> Result<Outcome, ImportRefusal> {
    let options = Options {
        kind: Some(kind),
        ..Options::default()
    };
    let mut import = Import::new(options);
    let mut reading = import.open("f", "");
    for chunk in bytes.chunks(step) {
        reading.feed(chunk)?;
    }
    import.close(reading).1?;
    Ok(import.finish())
}

/// Files of up to so many bytes are cut at each of them.
const SMALL_BYTES: usize = 2048;

/// Waits, their sum in nanoseconds, and lines of tables.
fn amounts(outcome: &Result<Outcome, ImportRefusal>) -> [u64; 3] {
    let Ok(outcome) = outcome else { return [0; 3] };
    let waits = || outcome.rows.iter().flat_map(|r| r.waits.values());
    [
        waits().map(|w| w.count).sum(),
        waits().map(|w| w.total_ns).sum(),
        outcome
            .imported
            .tables
            .iter()
            .map(|t| t.rows.len() as u64)
            .sum(),
    ]
}

fn files(kind: Kind) -> Vec<(String, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folder = corpus.join(kind.name());
    let entries = std::fs::read_dir(&folder);
    let each = entries.unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    each.map(|entry| {
        let path = entry.expect("an entry").path();
        (
            path.display().to_string(),
            std::fs::read(&path).expect("a file"),
        )
    })
    .collect()
}

/// Where a file is cut: at each byte of a small one; of others behind each line, and at about sixty
/// bytes that are not at the same place of each line.
fn cuts(bytes: &[u8]) -> Vec<usize> {
    if bytes.len() <= SMALL_BYTES {
        return (0..bytes.len()).collect();
    }
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
    let sampled = (0..bytes.len()).step_by(bytes.len() / 60 + 1);
    ends.map(|(at, _)| at + 1).chain(sampled).collect()
}

#[test]
fn every_file_of_the_corpora_is_survived() {
    let mut count = 0;
    for kind in Kind::all() {
        let mut evidence = 0;
        for (what, bytes) in files(kind) {
            count += 1;
            let whole = read(kind, &bytes, bytes.len().max(1));
            evidence += usize::from(whole.is_ok());
            if Path::new(&what).file_stem().is_some_and(|n| n == "whole") {
                let told = evidence::kind::recognise("f", &bytes);
                assert_eq!(told, Ok(kind), "{what}");
                assert!(whole.is_ok(), "{what}: {whole:?}");
            }
            for step in [1, 7, 64] {
                let parts = read(kind, &bytes, step);
                let figures = |r: &Result<Outcome, ImportRefusal>| {
                    let all = r.as_ref().map_err(ToString::to_string);
                    all.map(|o| (o.rows.clone(), o.imported.clone(), o.diagnostics.clone()))
                };
                assert_eq!(
                    figures(&parts),
                    figures(&whole),
                    "{what} in chunks of {step}"
                );
            }
        }
        assert!(evidence > 0, "no file of {kind} is evidence");
    }
    assert!(count > 20, "{count} files");
}

#[test]
fn no_cut_of_a_file_says_more() {
    let mut more = Vec::new();
    for kind in Kind::all() {
        for (what, bytes) in files(kind) {
            let whole = amounts(&read(kind, &bytes, bytes.len().max(1)));
            for cut in cuts(&bytes) {
                // A last line of two numbers counts also without an end, a number that is too large
                // may be cut to one that is not, and three numbers to two that fit the columns.
                let end = bytes[..cut].iter().rposition(|b| *b == b'\n');
                let cut = match kind {
                    Kind::CountElapsed => end.map_or(0, |at| at + 1),
                    _ if what.contains("rule_does_not_fit") => end.map_or(0, |at| at + 1),
                    _ => cut,
                };
                let part = amounts(&read(kind, &bytes[..cut], 4096));
                if part.iter().zip(whole).any(|(part, whole)| *part > whole) {
                    more.push(format!("{what} cut at {cut}: {part:?} of {whole:?}"));
                }
            }
        }
    }
    assert!(more.is_empty(), "{}", more.join("\n"));
}

/// UTF-16 of either order, with a mark and without, and lines that end as on Windows: the same is
/// read.
#[test]
fn the_encoding_changes_nothing() {
    let mut count = 0;
    for kind in Kind::all() {
        for (what, bytes) in files(kind) {
            let Ok(text) = String::from_utf8(bytes.clone()) else {
                continue;
            };
            // Two characters of ASCII tell UTF-16 without a mark.
            if text.contains('\r') || text.contains('\0') || !text.is_ascii() {
                continue;
            }
            let given = |bytes: &[u8]| {
                let read = read(kind, bytes, 4096);
                read.map_or_else(
                    |_| None,
                    |o| Some((o.rows, o.imported.tables, o.imported.series)),
                )
            };
            let want = given(&bytes);
            let units = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
                text.encode_utf16().flat_map(order).collect()
            };
            let (little, big) = (units(u16::to_le_bytes), units(u16::to_be_bytes));
            let marked = |mark: [u8; 2], units: &[u8]| [&mark[..], units].concat();
            let mut all = vec![
                ("a mark, little", marked([0xff, 0xfe], &little)),
                ("a mark, big", marked([0xfe, 0xff], &big)),
                ("CRLF", text.replace('\n', "\r\n").into_bytes()),
            ];
            if text.len() > 1 {
                all.extend([("little", little), ("big", big)]);
            }
            for (how, bytes) in all {
                count += 1;
                assert_eq!(given(&bytes), want, "{what}: {how}");
            }
        }
    }
    assert!(count > 100, "{count} files");
}
