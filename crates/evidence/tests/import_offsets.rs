//! Offsets from UTC that the user states of sources.

use evidence::{Import, Options};
use measure::imported::Severity;

const TRACE: &str = "*** 2024-05-06 07:00:00.000\nWAIT #1: nam='log file sync' ela= 5 tim=7\n";

#[test]
fn a_stated_offset_is_kept_with_its_source() {
    let stated = ["lg00.trc=+02:00", "absent.trc=-05:30"];
    let options = Options {
        utc_offsets: stated.map(|o| o.parse().expect(o)).to_vec(),
        ..Options::default()
    };
    let mut import = Import::new(options);
    for file in ["traces/lg00.trc", "traces/lg01.trc"] {
        let mut reading = import.open(file, "");
        reading.feed(TRACE.as_bytes()).expect("a trace");
        import.close(reading).1.expect("evidence");
    }
    let out = import.finish();
    let offset = |at: usize| {
        let facts = out.imported.sources[at].facts.iter();
        let found = facts.filter(|(name, _)| name == "UTC offset (stated)");
        found.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (offset(0), offset(1)),
        (vec!["+02:00".to_owned()], Vec::new())
    );
    let said = out
        .diagnostics
        .iter()
        .find(|d| d.id == "import.no_such_source");
    let said = said.expect("a warning");
    assert!(said.detail.contains("absent.trc"), "{}", said.detail);
    assert_eq!(said.severity, Severity::Warning);
}
