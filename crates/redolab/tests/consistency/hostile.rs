//! Whole reports are found consistent, and evidence that is cut or damaged anywhere never makes a
//! rule panic or give a figure that is not a number.

use crate::generate;
use crate::samples::{AWR_TEXT, FIO, OUTLIERS};
use crate::{findings_of, found, import, import_in};
use evidence::{Kind, Outcome};
use proptest::prelude::*;
use std::path::Path;

/// Files of up to so many bytes are damaged.
const BYTES_MAX: u64 = 64 << 10;

/// Applies the rules, and looks at their figures.
fn applied(outcome: &Outcome) {
    for finding in findings_of(outcome) {
        let finite = finding.numbers.iter().all(|(_, value)| value.is_finite());
        assert!(finite, "{}: {:?}", finding.id, finding.numbers);
    }
}

/// The files of the importers' fuzz targets, with their kinds.
fn corpora() -> Vec<(Kind, Vec<u8>)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut all = Vec::new();
    for kind in Kind::all() {
        let folder = corpus.join(kind.name());
        let entries = std::fs::read_dir(&folder).expect("a folder for each kind");
        let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
        paths.sort();
        let small = |path: &std::path::PathBuf| {
            std::fs::metadata(path).is_ok_and(|m| m.len() <= BYTES_MAX && m.len() > 0)
        };
        let read = |path: &std::path::PathBuf| std::fs::read(path).expect("a file");
        all.extend(paths.iter().filter(|p| small(p)).map(|p| (kind, read(p))));
    }
    assert!(all.len() > 20, "{} files", all.len());
    all
}

#[test]
fn whole_reports_are_consistent() {
    for text in [AWR_TEXT, FIO, OUTLIERS] {
        let claims = findings_of(&import(&[text]));
        let claims: Vec<&String> = claims.iter().map(|f| &f.claim).collect();
        assert_eq!(claims, [""; 0]);
    }
    let lost = FIO.replace("\"2000\" : 990", "\"2000\" : 900");
    let findings = findings_of(&import(&[&lost]));
    assert_eq!(found(&findings, "evidence.buckets", "in_buckets"), 910.0);
}

/// Every seventh byte: no layout repeats itself at that distance, and a part costs as much as the
/// whole.
const STEP: usize = 7;

#[test]
fn evidence_that_is_cut_anywhere() {
    for made in generate::all(1, 4) {
        let kind: Kind = made.kind.parse().expect("a kind");
        for end in (0..made.text.len()).step_by(STEP) {
            let bytes = &made.text.as_bytes()[..end];
            if let Ok(part) = import_in(&[bytes], usize::MAX, Some(kind)) {
                applied(&part);
            }
        }
    }
    for text in [AWR_TEXT, FIO, OUTLIERS] {
        for end in (0..text.len()).step_by(STEP) {
            if let Ok(part) = import_in(&[&text.as_bytes()[..end]], usize::MAX, None) {
                applied(&part);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any damage to any file of the corpora, read as its own kind or as any other.
    #[test]
    fn evidence_that_is_damaged(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<u32>(), any::<u8>()), 0..12),
        other in any::<prop::sample::Index>(),
    ) {
        let all = corpora();
        let (kind, mut bytes) = all[which.index(all.len())].clone();
        for (at, byte) in edits {
            let at = at as usize % bytes.len();
            bytes[at] = byte;
        }
        let other = all[other.index(all.len())].0;
        for kind in [Some(kind), Some(other), None] {
            if let Ok(outcome) = import_in(&[&bytes], usize::MAX, kind) {
                applied(&outcome);
            }
        }
    }

    /// Any text at all, read as any kind.
    #[test]
    fn any_text(
        text in "[-0-9.,:;%()<>/a-zA-Z \\n\\t\"{}\\[\\]]{0,400}",
        kind in any::<prop::sample::Index>(),
    ) {
        let kinds: Vec<Kind> = Kind::all().collect();
        let kind = kinds[kind.index(kinds.len())];
        if let Ok(outcome) = import_in(&[text.as_bytes()], 17, Some(kind)) {
            applied(&outcome);
        }
    }
}
