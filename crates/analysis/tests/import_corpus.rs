//! The corpora of the fuzz targets, named by defect: each file is read as its kind without a panic,
//! the same in whatever chunks, and no part of it says more than the whole.

use analysis::import::{Import, Kind, Options, Outcome, Refusal};
use std::path::Path;

fn read(kind: Kind, bytes: &[u8], step: usize) -> Result<Outcome, Refusal> {
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

fn waits(outcome: &Result<Outcome, Refusal>) -> u64 {
    let rows = outcome.iter().flat_map(|o| &o.rows);
    rows.flat_map(|r| r.waits.values()).map(|w| w.count).sum()
}

#[test]
fn every_file_of_the_corpora_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut files = 0;
    for kind in Kind::all() {
        let folder = corpus.join(kind.name());
        let entries = std::fs::read_dir(&folder);
        let mut evidence = 0;
        for entry in entries.unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("an entry").path();
            let bytes = std::fs::read(&path).expect("a file");
            let what = path.display();
            files += 1;
            let whole = read(kind, &bytes, bytes.len().max(1));
            evidence += usize::from(whole.is_ok());
            if path.file_stem().is_some_and(|n| n == "whole") {
                let told = analysis::import::kind::recognise("f", &bytes);
                assert_eq!(told, Ok(kind), "{what}");
                assert!(whole.is_ok(), "{what}: {whole:?}");
            }
            for step in [1, 7, 64] {
                let parts = read(kind, &bytes, step);
                let figures = |r: &Result<Outcome, Refusal>| {
                    let all = r.as_ref().map_err(ToString::to_string);
                    all.map(|o| (o.rows.clone(), o.imported.clone(), o.diagnostics.clone()))
                };
                assert_eq!(
                    figures(&parts),
                    figures(&whole),
                    "{what} in chunks of {step}"
                );
            }
            // About sixty cuts a file, not at the same place of each line.
            for cut in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
                // A last line of two numbers counts also without an end, and a number that is too
                // large may be cut to one that is not.
                let end = bytes[..cut]
                    .iter()
                    .rposition(|b| *b == b'\n')
                    .map_or(0, |at| at + 1);
                let cut = if kind == Kind::CountElapsed { end } else { cut };
                let part = read(kind, &bytes[..cut], 4096);
                assert!(waits(&part) <= waits(&whole), "{what} cut at {cut}");
            }
        }
        assert!(evidence > 0, "no file of {kind} is evidence");
    }
    assert!(files > 20, "{files} files");
}
