//! What every importer has to bear: any bytes, cut anywhere, give the same or the same refusal.

use analysis::import::{Import, Kind, Options};

/// Imports `bytes` as `kind` in one piece and in chunks of the length that the first byte says.
pub fn import(kind: Kind, bytes: &[u8]) {
    let step = 1 + usize::from(bytes.first().copied().unwrap_or(0));
    let read = |step: usize| {
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
        let outcome = import.finish();
        Ok::<_, analysis::import::Refusal>((outcome.rows, outcome.imported, outcome.diagnostics))
    };
    assert_eq!(read(step), read(bytes.len().max(1)));
}
