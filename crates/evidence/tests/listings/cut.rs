//! Files cut at any byte, in any chunks, with any damage: nothing panics, and a part never says
//! more than the whole.

use crate::formats::payload;
use crate::samples::{AWR_TEXT, FIO};
use crate::{import_in, number};
use evidence::{Kind, Outcome};
use proptest::prelude::*;

fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    let study = |text: &str| text.as_bytes().to_vec();
    let hlog = format!(
        "0.000,1.000,0.000,{}\n1.000,1.000,0.000,{}\n",
        payload(&[3, 4]),
        payload(&[5])
    );
    let json = "{\"sysstat\": {\"hosts\": [{\"statistics\": [{\"disk\": [\
        {\"disk_device\": \"a\", \"w/s\": 3.0, \"wkB/s\": 1.0}, {\"disk_device\": \"b\", \"w/s\": 4.0}]}]}]}}";
    let html = "<html class='awr'><h3>Foreground Wait Events</h3><table><tr><th>Event</th><th>Waits</th>\
        <th>Total Wait Time (s)</th><th>Avg wait</th></tr><tr><td>log file sync</td><td>12,345</td><td>678</td>\
        <td>54.9ms</td></tr></table>";
    vec![
        ("awr-text", study(AWR_TEXT)),
        ("fio", study(FIO)),
        ("hlog", hlog.into_bytes()),
        ("iostat-json", study(json)),
        ("awr-html", study(html)),
        (
            "outliers",
            study(include_str!("../../../../studies/000/outliers-320-351.txt")),
        ),
        (
            "iostat",
            study(include_str!("../../../../studies/001/iostat-21-29.txt")),
        ),
        (
            "r",
            study(include_str!(
                "../../../../studies/004/flash-logging-21-58.txt"
            )),
        ),
    ]
}

/// Where a text of `len` bytes is cut. A check cuts at every seventh byte, from one that the clock
/// draws and the test prints; `cargo xtask prove cut-evidence` cuts at every byte.
pub(crate) fn cuts(len: usize) -> impl Iterator<Item = usize> {
    const STEP: usize = 7;
    if std::env::var_os("REDOLAB_EVERY_BYTE").is_some() {
        return (0..len).step_by(1);
    }
    let nanos = std::time::UNIX_EPOCH
        .elapsed()
        .map_or(0, |t| t.subsec_nanos());
    let first = nanos as usize % STEP;
    println!("cut at every {STEP}th byte from {first} on");
    (first..len).step_by(STEP)
}

/// Cells of all tables.
fn rows(outcome: &Outcome) -> usize {
    outcome.imported.tables.iter().map(|t| t.rows.len()).sum()
}

#[test]
fn a_part_says_no_more_than_the_whole() {
    for (name, whole) in corpus() {
        let all = import_in(&[&whole], usize::MAX, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        for end in cuts(whole.len()) {
            // A part may be no evidence yet; it is then refused, and nothing else.
            if let Ok(part) = import_in(&[&whole[..end]], usize::MAX, None) {
                assert!(rows(&part) <= rows(&all), "{name} cut at {end}");
            }
        }
    }
}

#[test]
fn the_chunks_do_not_matter() {
    for (name, whole) in corpus() {
        let all = import_in(&[&whole], usize::MAX, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        for step in [1, 2, 7, 64] {
            let again = import_in(&[&whole], step, None).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(again.imported, all.imported, "{name} in chunks of {step}");
            assert_eq!(
                again.diagnostics, all.diagnostics,
                "{name} in chunks of {step}"
            );
        }
    }
}

#[test]
fn bounded_whatever_comes() {
    // A listing without an end keeps a bounded number of rows and counts the rest.
    let line = "sda 1.00 2.00 3.00\n";
    let text = format!("Device r/s w/s %util\n{}", line.repeat(60_000));
    let out = import_in(&[text.as_bytes()], 1 << 16, None).expect("evidence");
    let t = crate::table(&out, "iostat");
    assert!(t.rows.len() < 60_000 && number(t, 0, "writes_per_s") == 2.0);
    assert!(out.diagnostics.iter().any(|d| d.id == "listing.too_long"));
    // A long line, deep nesting, a million tags: refused or passed over, never a panic.
    let long = format!("Device r/s w/s\n{}\nsda 1 2\n", "x".repeat(3 << 20));
    let out = import_in(&[long.as_bytes()], 1 << 16, None).expect("evidence");
    assert_eq!(out.diagnostics[0].id, "listing.long_line");
    for (kind, text) in [
        (Kind::FioJson, "[".repeat(200_000)),
        (Kind::IostatJson, "{\"a\":".repeat(200_000)),
        (Kind::AwrHtml, "<table><tr>".repeat(100_000)),
        (Kind::AwrHtml, "<td>".repeat(100_000)),
        (Kind::AwrText, "-- --- ".repeat(100_000)),
        (Kind::Hlog, "0,0,0,HISTFAAAA\n".repeat(10_000)),
    ] {
        assert!(
            import_in(&[text.as_bytes()], 4096, Some(kind)).is_err(),
            "{kind}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any damage to any of the files, read as any kind.
    #[test]
    fn damage_is_survived(
        which in 0_usize..8,
        edits in prop::collection::vec((any::<u32>(), any::<u8>()), 0..12),
        kind in 0_usize..13,
        step in 1_usize..300,
    ) {
        let (_, mut bytes) = corpus().swap_remove(which);
        for (at, byte) in edits {
            let at = at as usize % bytes.len();
            bytes[at] = byte;
        }
        let kinds: Vec<Kind> = Kind::all().collect();
        let forced = import_in(&[&bytes], step, kinds.get(kind).copied());
        let free = import_in(&[&bytes], step, None);
        for out in [forced, free].into_iter().flatten() {
            prop_assert!(out.imported.sources.len() == 1);
        }
    }

    /// Any text at all, read as any kind.
    #[test]
    fn any_text_is_survived(
        text in "[-0-9.,:;%()<>/a-zA-Z \\n\\t\"{}\\[\\]]{0,400}",
        kind in 0_usize..13,
    ) {
        let kinds: Vec<Kind> = Kind::all().collect();
        if let Ok(out) = import_in(&[text.as_bytes()], 17, kinds.get(kind).copied()) {
            prop_assert!(out.imported.sources.len() == 1);
        }
    }
}
