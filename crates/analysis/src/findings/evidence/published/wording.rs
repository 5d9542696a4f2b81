//! What a document writes of its platforms: a name that differs by one letter from another one, and
//! sides of a comparison that the text calls unlike.

use crate::findings::catalogue;
use crate::findings::evidence::view::{Line, Tables, place};
use crate::findings::note::Note;
use crate::findings::{Caution, Info};
use std::collections::BTreeMap;

/// Times that the right name is there at least, where the misprint is there once.
const OTHERS_MIN: f64 = 3.0;
/// Characters of a word in which a letter may be wrong: shorter ones count things.
const WORD_MIN: usize = 3;

pub(super) fn collect(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    misprints(tables, notes);
    unlike(tables, notes);
}

fn misprints(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let mut names: BTreeMap<&str, (f64, Line<'_>)> = BTreeMap::new();
    for line in tables.lines("published_runs") {
        names.entry(line.text("platform")).or_insert((0.0, line)).0 += 1.0;
    }
    for line in tables.lines("platform_spelling") {
        let times = line.number("times").unwrap_or(1.0);
        names.entry(line.text("printed")).or_insert((0.0, line)).0 += times;
    }
    for (name, (times, line)) in &names {
        let mut others = names.iter().filter(|(_, (times, _))| *times >= OTHERS_MIN);
        let right = others.find(|(other, _)| is_misprint(name, other));
        let Some((right, _)) = right.filter(|_| *times == 1.0) else {
            continue;
        };
        let claim = format!(
            "`{name}` is there once and differs by one letter from `{right}`: a misprint ({})",
            place(line.table())
        );
        let note = Note::of(&catalogue::EVIDENCE_MISPRINT, Info, claim);
        notes.push(note.number("times", *times));
    }
}

/// Whether two names differ by one letter within a word. A digit or a last letter counts things.
fn is_misprint(a: &str, b: &str) -> bool {
    let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut apart = x.iter().zip(&y).enumerate().filter(|(_, (p, q))| p != q);
    let (Some((at, (p, q))), None) = (apart.next(), apart.next()) else {
        return false;
    };
    let is_letter =
        p.is_alphabetic() && q.is_alphabetic() && !p.to_lowercase().eq(q.to_lowercase());
    let behind = x
        .iter()
        .skip(at + 1)
        .take_while(|c| !c.is_whitespace())
        .count();
    let before = x
        .iter()
        .take(at)
        .rev()
        .take_while(|c| !c.is_whitespace())
        .count();
    x.len() == y.len() && is_letter && behind > 0 && before + 1 + behind >= WORD_MIN
}

fn unlike(tables: &Tables<'_>, notes: &mut Vec<Note>) {
    let mut files: BTreeMap<&str, Vec<Line<'_>>> = BTreeMap::new();
    for line in tables.lines("stated_unlike") {
        files.entry(&line.table().file).or_default().push(line);
    }
    for lines in files.values() {
        let sides = lines
            .iter()
            .map(|l| format!("{} against {}", l.text("one"), l.text("other")));
        let sides: Vec<String> = sides.collect();
        let place = lines.first().map(|l| place(l.table())).unwrap_or_default();
        let claim = format!(
            "the sides are not alike, as the text says: {} ({place})",
            sides.join(", ")
        );
        notes.push(
            Note::of(&catalogue::EVIDENCE_UNLIKE, Caution, claim)
                .number("differences", sides.len() as f64),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::is_misprint;

    #[test]
    fn a_letter_within_a_word_is_a_misprint_and_what_counts_is_none() {
        for (a, b, is) in [
            ("Exadata X9N-2 With PMEM", "Exadata X9M-2 With PMEM", true),
            ("Exadata X5-2", "Exadata X9-2", false),
            ("array A", "array B", false),
            ("srv-a", "srv-b", false),
            ("Exadata x9M-2", "Exadata X9M-2", false),
            ("flash", "flash", false),
        ] {
            assert_eq!(is_misprint(a, b), is, "{a}, {b}");
        }
    }
}
