//! What every importer has to bear: any bytes, however they are cut into chunks, give the same or
//! the same refusal; the part before the end of some line never counts more than the whole; what
//! was read can be compared and shown.

use evidence::{Import, ImportRefusal, Kind, Options, Outcome, Reading, trace};

/// Imports `bytes` as `kind`, or as what they are recognised as, in one piece, in chunks of the
/// length that the first byte says, and up to the line that the last byte says.
pub fn bear(kind: Option<Kind>, bytes: &[u8]) {
    let step = 1 + usize::from(bytes.first().copied().unwrap_or(0));
    let whole = read(kind, bytes, bytes.len().max(1), false);
    let parts = read(kind, bytes, step, false);
    assert_eq!(told(&parts), told(&whole), "in chunks of {step}");
    let scanned = read(kind, bytes, step, true);
    assert_eq!(told(&scanned), told(&whole), "scanned in blocks of {step}");
    if let Ok(outcome) = &whole {
        let findings = analysis::findings::evidence::of(&outcome.imported);
        for finding in findings {
            let figures = finding.numbers.iter().all(|(_, value)| value.is_finite());
            assert!(figures, "{}: {:?}", finding.id, finding.numbers);
        }
    }
    if kind.is_none() && whole.is_err() {
        return;
    }
    let line = usize::from(bytes.last().copied().unwrap_or(0));
    let ends = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n');
    if let Some((cut, _)) = ends.clone().nth(line % ends.count().max(1)) {
        // Without its other half a file may be recognised as something else.
        let kind = whole.as_ref().ok().and_then(kind_of).or(kind);
        let part = read(kind, &bytes[..=cut], bytes.len(), false);
        assert!(waits(&part) <= waits(&whole), "cut behind byte {cut}");
    }
}

fn read(
    kind: Option<Kind>,
    bytes: &[u8],
    step: usize,
    scan: bool,
) -> Result<Outcome, ImportRefusal> {
    let options = Options {
        kind,
        ..Options::default()
    };
    let mut import = Import::new(options);
    let mut reading = import.open("f", "");
    for chunk in bytes.chunks(step) {
        if scan && reading.is_scannable() {
            absorb(&mut reading, chunk);
        } else {
            reading.feed(chunk)?;
        }
    }
    import.close(reading).1?;
    Ok(import.finish())
}

/// As the binary does it for long traces, with its scanners on this thread.
fn absorb(reading: &mut Reading, chunk: &[u8]) {
    let mut block = Vec::new();
    reading.cut_block(chunk, &mut block);
    if !block.is_empty() {
        let mut scanned = trace::Scanned::default();
        trace::scan(&block, &mut scanned);
        reading.absorb(&block, &mut scanned);
    }
}

/// All that an outcome says, as text: numbers that are none are alike there.
fn told(outcome: &Result<Outcome, ImportRefusal>) -> String {
    match outcome {
        Ok(o) => format!("{:?}\n{:?}\n{:?}", o.rows, o.imported, o.diagnostics),
        Err(refusal) => refusal.to_string(),
    }
}

fn kind_of(outcome: &Outcome) -> Option<Kind> {
    outcome.imported.sources.first()?.kind.parse().ok()
}

/// Waits that were counted, of all events and processes.
fn waits(outcome: &Result<Outcome, ImportRefusal>) -> u128 {
    let rows = outcome.iter().flat_map(|o| &o.rows);
    rows.flat_map(|r| r.waits.values())
        .map(|w| u128::from(w.count))
        .sum()
}
