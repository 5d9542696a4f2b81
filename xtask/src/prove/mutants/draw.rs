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
/// Mutants of one function at most, and of a file's constants together.
const PER_FUNCTION: usize = 4;
/// Beginnings of files that no build of the product compiles: the simulation and its histories,
/// models of interleavings, schedules, planted bugs, tests.
const NOT_PRODUCT: &[&str] = &[
    "crates/redo/src/crash/",
    "crates/redo/src/interleavings/",
    "crates/redo/src/schedules",
    "crates/redo/src/planted.rs",
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
    /// The first line of that function, with its documentation and its attributes.
    declared: Option<usize>,
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
        let function = value.get("function");
        let declared = function.and_then(|f| f.get("span")?.get("start")?.get("line")?.as_u64());
        let function = function.and_then(|f| f.get("function_name"));
        Some(Mutant {
            package: text(value.get("package")?)?,
            file: text(value.get("file")?)?,
            name: text(value.get("name")?)?,
            function: function.and_then(Value::as_str).unwrap_or("").to_owned(),
            declared: declared.and_then(|line| usize::try_from(line).ok()),
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
            && !self.file.ends_with("/tests.rs")
            && !self.function.starts_with("tests::")
    }

    /// Whether its function, in the text of its file, is compiled without a feature and without a
    /// model of interleavings.
    fn is_compiled(&self, text: &str) -> bool {
        let Some(declared) = self.declared else {
            return true;
        };
        let lines = text.lines().skip(declared.saturating_sub(1)).map(str::trim);
        let mut above = lines.take_while(|line| line.starts_with("///") || line.starts_with("#["));
        above.all(|line| !line.starts_with("#[cfg(") || line.starts_with("#[cfg(not("))
    }

    /// Whether the block of items that contains it, in the text of its file, is compiled so: one
    /// may be there for models of interleavings alone.
    pub fn is_built(&self, text: &str) -> bool {
        let before: Vec<&str> = text.lines().take(self.from.0).collect();
        let opens = |line: &&str| line.starts_with("impl") || line.starts_with("mod ");
        let Some(opened) = before.iter().rposition(opens) else {
            return true;
        };
        let closed = before.iter().skip(opened).any(|line| *line == "}");
        let attributes = before.iter().take(opened).rev();
        let mut attributes = attributes.take_while(|line| line.starts_with("#["));
        closed
            || attributes.all(|line| !line.starts_with("#[cfg(") || line.starts_with("#[cfg(not("))
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
    let mut list = read_list(&output.stdout)?;
    let mut texts = BTreeMap::new();
    for mutant in &list {
        let path = root.join(&mutant.file);
        let text =
            std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        texts.insert(mutant.file.clone(), text);
    }
    list.retain(|mutant| {
        texts
            .get(&mutant.file)
            .is_some_and(|t| mutant.is_compiled(t))
    });
    Ok(list)
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
        if *of_function < PER_FUNCTION {
            *of_function += 1;
            drawn.push(mutant.clone());
        }
    }
    drawn
}

#[cfg(test)]
pub(super) mod tests {
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
       "span":{"start":{"line":1,"column":1},"end":{"line":1,"column":1}}},
      {"package":"redolab-redo","file":"crates/redo/src/a.rs","name":"e",
       "function":{"function_name":"tests::helper"},"replacement":"",
       "span":{"start":{"line":1,"column":1},"end":{"line":1,"column":1}}},
      {"package":"redolab-redo","file":"crates/redo/src/a/tests.rs","name":"d",
       "function":null,"replacement":"",
       "span":{"start":{"line":1,"column":1},"end":{"line":1,"column":1}}}]"#;

    /// A mutant that names itself `m` and its number; the order by names is that of the numbers.
    pub fn mutant(package: &str, number: usize) -> Mutant {
        Mutant {
            package: package.to_owned(),
            file: "crates/redo/src/a.rs".to_owned(),
            name: format!("m{number}"),
            function: format!("f{number}"),
            declared: None,
            from: (1, 1),
            until: (1, 1),
            replacement: String::new(),
        }
    }

    #[test]
    fn a_mutant_replaces_a_piece_of_text() {
        let list = read_list(LIST.as_bytes()).expect("it is a list");
        assert_eq!(
            list.len(),
            1,
            "Display, the simulation and tests do not count"
        );
        let text = "fn sum(a: u8) {\n    ä + a\n}\n";
        let changed = list[0].applied(text).expect("it has the place");
        assert_eq!(changed, "fn sum(a: u8) {\n    ä - a\n}\n");
        assert_eq!(list[0].applied("one line"), None);
        assert!(read_list(b"[{}]").is_err());
    }

    #[test]
    fn what_only_a_feature_compiles_does_not_count() {
        let at = |line| Mutant {
            declared: Some(line),
            ..mutant("redolab-redo", 1)
        };
        let text = "/// Always.\nfn a() {\n    #[cfg(test)]\n    b();\n}\n\n/// Sometimes.\n\
                    #[cfg(feature = \"x\")]\nfn c() {}\n#[cfg(not(loom))]\nfn d() {}\n";
        let compiled = [1, 7, 10].map(|line| at(line).is_compiled(text));
        assert_eq!(compiled, [true, false, true]);
    }

    #[test]
    fn what_a_block_for_models_contains_is_not_built() {
        let text = "#[cfg(loom)]\nimpl A {\n    fn a() {}\n}\n\n#[cfg(not(loom))]\nimpl A {\n    \
                    fn b() {}\n}\n\nfn c() {}\n";
        let at = |line| Mutant {
            from: (line, 1),
            ..mutant("redolab-redo", 1)
        };
        let built = [3, 8, 11].map(|line| at(line).is_built(text));
        assert_eq!(built, [false, true, true]);
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
