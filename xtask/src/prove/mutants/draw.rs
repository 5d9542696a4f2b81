//! Which mutants are tried: the list that cargo-mutants prints, put in an order that a seed
//! decides.
//!
//! What lives here: reading the list, what is left out of it and why, and the draw. A mutant is a
//! piece of text in a file and what replaces it.

use crate::{Outcome, cargo};
use measure::workload::split_mix;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Crates whose mutants are tried.
pub const PACKAGES: &[&str] = &["redolab-redo", "redolab-device"];
/// Mutants of one function at most.
const PER_FUNCTION: usize = 4;
/// Beginnings of files that no build of the product compiles: the simulation and its histories,
/// models of interleavings, schedules, planted bugs, the bench's fused leader, tests.
const NOT_PRODUCT: &[&str] = &[
    "crates/redo/src/crash/",
    "crates/redo/src/interleavings/",
    "crates/redo/src/schedules",
    "crates/redo/src/planted.rs",
    "crates/redo/src/engine/fused.rs",
    "crates/redo/src/buffer/tests.rs",
    "crates/device/src/doorbell/drawn.rs",
];

/// A change of the product that some test has to notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The crate that it changes.
    pub package: String,
    /// From the root.
    pub file: String,
    /// What is changed, in the words of cargo-mutants, with file, line and column.
    pub name: String,
    /// The function that contains it, empty outside of functions.
    pub function: String,
    /// Line and column of the first character, from 1.
    from: (usize, usize),
    /// Line and column behind the last character.
    until: (usize, usize),
    replacement: String,
}

impl Mutant {
    fn read(value: &Value) -> Option<Mutant> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let point = |name: &str| {
            let point = value.get("span")?.get(name)?;
            let number = |key| usize::try_from(point.get(key)?.as_u64()?).ok();
            Some((number("line")?, number("column")?))
        };
        let function = value.get("function").and_then(|f| f.get("function_name"));
        Some(Mutant {
            package: text(value.get("package")?)?,
            file: text(value.get("file")?)?,
            name: text(value.get("name")?)?,
            function: function.and_then(Value::as_str).unwrap_or("").to_owned(),
            from: point("start")?,
            until: point("end")?,
            replacement: text(value.get("replacement")?)?,
        })
    }

    /// Whether a build of the product contains it, and it changes more than what people read.
    fn counts(&self) -> bool {
        let shown = ["Display for", "Debug for"];
        !shown.iter().any(|kind| self.function.contains(kind))
            && !NOT_PRODUCT.iter().any(|path| self.file.starts_with(path))
    }

    /// The changed text of its file; `None` when the text has no such place.
    pub fn applied(&self, text: &str) -> Option<String> {
        let (from, until) = (offset(text, self.from)?, offset(text, self.until)?);
        let (before, after) = (text.get(..from)?, text.get(until..)?);
        (from <= until).then(|| format!("{before}{}{after}", self.replacement))
    }
}

/// The byte at a line and a column of characters, both from 1.
fn offset(text: &str, (line, column): (usize, usize)) -> Option<usize> {
    let mut start = 0;
    for _ in 1..line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let rest = text.get(start..)?;
    let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.map(|at| start + at).nth(column.checked_sub(1)?)
}

/// Every mutant that counts, of both crates, as cargo-mutants lists them.
///
/// # Errors
/// When cargo-mutants fails or prints something else.
pub fn list(root: &Path) -> Outcome<Vec<Mutant>> {
    let mut command = cargo();
    command.args(["mutants", "--list", "--json"]);
    command.args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    let output = command.current_dir(root).output();
    let output = output.map_err(|e| format!("cargo mutants: {e}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("cargo mutants --list: {why}"));
    }
    read_list(&output.stdout)
}

fn read_list(json: &[u8]) -> Outcome<Vec<Mutant>> {
    let list: Vec<Value> =
        serde_json::from_slice(json).map_err(|e| format!("the list of cargo mutants: {e}"))?;
    let known: Option<Vec<Mutant>> = list.iter().map(Mutant::read).collect();
    let known = known.ok_or("the list of cargo mutants has fields that are not known here")?;
    Ok(known.into_iter().filter(Mutant::counts).collect())
}

/// The mutants of a crate in the order in which they are tried. The same list and seed give the
/// same order.
pub fn order(list: &[Mutant], package: &str, seed: u64) -> Vec<Mutant> {
    let mut left: Vec<&Mutant> = list.iter().filter(|m| m.package == package).collect();
    left.sort_by(|a, b| a.name.cmp(&b.name));
    let mut state = package.bytes().fold(seed, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let mut taken: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut drawn = Vec::new();
    while !left.is_empty() {
        let room = left.len() as u64;
        let at = usize::try_from(split_mix(&mut state) % room).unwrap_or(0);
        let mutant = left.swap_remove(at);
        let of_function = taken.entry((&mutant.file, &mutant.function)).or_default();
        if *of_function < PER_FUNCTION || mutant.function.is_empty() {
            *of_function += 1;
            drawn.push(mutant.clone());
        }
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"[
      {"package":"redolab-redo","file":"crates/redo/src/a.rs","name":"a:2:9: replace + with -",
       "function":{"function_name":"sum"},"replacement":"-","genre":"BinaryOperator",
       "span":{"start":{"line":2,"column":7},"end":{"line":2,"column":8}}},
      {"package":"redolab-redo","file":"crates/redo/src/a.rs","name":"b",
       "function":{"function_name":"<impl std::fmt::Display for A>::fmt"},"replacement":"",
       "span":{"start":{"line":1,"column":1},"end":{"line":1,"column":1}}},
      {"package":"redolab-redo","file":"crates/redo/src/crash/host.rs","name":"c",
       "function":null,"replacement":"",
       "span":{"start":{"line":1,"column":1},"end":{"line":1,"column":1}}}]"#;

    #[test]
    fn a_mutant_replaces_a_piece_of_text() {
        let list = read_list(LIST.as_bytes()).expect("it is a list");
        assert_eq!(list.len(), 1, "Display and the simulation do not count");
        let text = "fn sum(a: u8) {\n    ä + a\n}\n";
        let changed = list[0].applied(text).expect("it has the place");
        assert_eq!(changed, "fn sum(a: u8) {\n    ä - a\n}\n");
        assert_eq!(list[0].applied("one line"), None);
        assert!(read_list(b"[{}]").is_err());
    }

    #[test]
    fn a_seed_decides_the_order_and_no_function_is_drawn_often() {
        let one = read_list(LIST.as_bytes()).expect("it is a list").remove(0);
        let of = |function: usize, number: usize| Mutant {
            name: format!("{function}:{number}"),
            function: format!("f{function}"),
            ..one.clone()
        };
        let many: Vec<Mutant> = (0..300).map(|n| of(n % 30, n)).collect();
        let (first, again) = (order(&many, &one.package, 1), order(&many, &one.package, 1));
        assert_eq!(first, again);
        assert_ne!(first, order(&many, &one.package, 2));
        assert_eq!(first.len(), 30 * PER_FUNCTION);
        assert_eq!(order(&many, "redolab-device", 1), []);
    }
}
